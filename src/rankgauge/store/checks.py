"""Checks of judges: what was found where one was put to the test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import insert, select

from rankgauge.errors import counted
from rankgauge.shown import clean
from rankgauge.store import schema
from rankgauge.store.judgments import Judge, judge_id
from rankgauge.store.rows import now, written

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgauge.store.store import Store

__all__ = [
    "Checked",
    "add_check",
    "agreement_in_brief",
    "agreement_words",
    "checks",
    "checks_by_setting",
    "fooled_words",
]

PEOPLE, GULLIBLE = "people", "gullible"  # kinds of checks


class Checked(NamedTuple):
    """A check of a judge; `found` is what came out, as it was written."""

    judge: str
    kind: str
    at: str
    found: Mapping[str, Any]

    @property
    def words(self) -> str:
        """What came out, and when, in a sentence."""
        words = agreement_words if self.kind == PEOPLE else fooled_words
        return f"{words(self.judge, self.found)} ({self.at[:10]})."


def agreement_words(judge: str, found: Mapping[str, Any]) -> str:
    """How far a judge agrees with people."""
    found = clean(found)  # what is not defined is NaN before it is stored, and None after
    bias = found["bias"]["value"] or 0.0
    leaning = f"{abs(bias):.2f} {'higher' if bias > 0 else 'lower'} on average"
    leaning = leaning if round(abs(bias), 2) else "as high as they do"
    share = f"{100 * found['agreement']['value']:.0f} % of {counted(found['graded'], 'pair')}"
    agreed = f"{judge} gives {found['people']}'s grade on {share} ({_kappa(found, ', 95 % interval {} to {}')})"
    return f"{agreed} and grades {leaning}{_orders(judge, found, 'ranks {} first')}"


def agreement_in_brief(judge: str, found: Mapping[str, Any], paid: str = "") -> str:
    """The same in a line; `paid` is what the check cost."""
    found = clean(found)
    cost = f", {paid} for the check" if paid else ""
    return f"{judge} against {found['people']}: {_kappa(found, ' ({} to {})')}{cost}{_orders(judge, found, '{}')}"


def _kappa(found: Mapping[str, Any], interval: str) -> str:
    kappa = found["kappa"]
    ends = "" if kappa["low"] is None else interval.format(f"{kappa['low']:.2f}", f"{kappa['high']:.2f}")
    return "κ is not defined" if kappa["value"] is None else f"κ {kappa['value']:.2f}{ends}"


def _orders(judge: str, found: Mapping[str, Any], words: str) -> str:
    """A sentence on which system people rank first, and which the judge, where these are not the same."""
    people, best = found["people"], found.get("best", {})
    theirs, own = best.get(people), best.get(judge)
    if theirs is None or own is None or theirs == own:
        return ""
    who = "People rank" if people == "people" else f"{people} ranks"
    return f". {who} {theirs} first, {judge} {words.format(own)}"


def fooled_words(judge: str, found: Mapping[str, Any]) -> str:
    """How often a judge was fooled."""
    tried = counted(found["graded"], "attempt")
    if not found["raised"]:
        return f"{judge} raised its lowest grade in none of {tried} to fool it"
    share = f"{100 * found['raised'] / found['graded']:.0f} %"
    return f"{judge} raised its lowest grade in {found['raised']:,} of {tried} to fool it ({share})"


def add_check(store: Store, judge: Judge | int, kind: str, found: Any) -> None:
    """Keep what was found about a judge with these settings, or of this number."""
    row = {"kind": kind, "found": written(clean(found)), "at": now()}

    def added(connection: Connection) -> None:
        number = judge if isinstance(judge, int) else judge_id(connection, judge, {})
        connection.execute(insert(schema.judge_check).values(judge_id=number, **row))

    store.writer.write(added)


def checks(store: Store) -> list[Checked]:
    """The last check of every judge and kind, by the judges' names."""
    table, judge = schema.judge_check.c, schema.judge.c
    asked = select(judge.name, table.kind, table.at, table.found)
    asked = asked.join(schema.judge, judge.judge_id == table.judge_id)
    asked = asked.order_by(table.check_id)
    rows = store.read(lambda each: each.execute(asked).all())
    last = {(name, kind): Checked(name, kind, at, json.loads(found)) for name, kind, at, found in rows}
    return sorted(last.values(), key=lambda each: (each.judge, each.kind != PEOPLE))


def checks_by_setting(store: Store) -> list[tuple[int, Mapping[str, Any]]]:
    """The number of a judge and what was found, of every check against people, the last one last."""
    table = schema.judge_check.c
    asked = select(table.judge_id, table.found).where(table.kind == PEOPLE).order_by(table.check_id)
    return [(number, json.loads(found)) for number, found in store.read(lambda each: each.execute(asked).all())]
