"""Checks → text for a terminal, Markdown for a pull request, JUnit XML for a CI server, JSON for machines."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.show.grid import markdown_grid, short, text_grid
from rankgauge.shown import clean

if TYPE_CHECKING:
    from rankgauge.comparison.gate.check import Check, Compared, Minimum
    from rankgauge.errors import Doubt

__all__ = ["FORMATS", "as_json", "as_junit", "as_markdown", "as_table"]

MARKS: Final = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️"}
NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
LOST_HEADS: Final = ["query", "candidate", "baseline", "difference"]


# ---- what there is to say -------------------------------------------------------------------------------------------


def headline(found: Check) -> str:
    """The answer and who was checked against whom."""
    against = f" against {found.baseline}" if found.baseline else ""
    return f"{found.answer.upper()}: {found.name}{against}"


def _number(value: float) -> str:
    return "–" if not math.isfinite(value) else f"{value:.4f}"


def _signed(value: float) -> str:
    return "–" if not math.isfinite(value) else f"{value:+.4f}"


def compared_cells(found: Check) -> tuple[list[str], list[list[str]]]:
    """A row for each measure that is compared."""
    heads = ["measure", "candidate", "baseline", "difference", "lower", "upper", "margin", "queries", "answer"]
    rows = [
        [
            each.measure, _number(each.candidate), _number(each.baseline), *map(_signed, each.bounds),
            f"{each.margin:g}", f"{each.queries:,}", each.answer.upper(),
        ]
        for each in found.compared
    ]  # fmt: skip
    return heads, rows


def minimum_cells(found: Check) -> tuple[list[str], list[list[str]]]:
    """A row for each minimum."""
    heads = ["measure", "mean", "lower", "upper", "minimum", "queries", "answer"]
    rows = [
        [each.measure, *map(_number, each.bounds), f"{each.minimum:g}", f"{each.queries:,}", each.answer.upper()]
        for each in found.minimums
    ]
    return heads, rows


def lost_cells(found: Check, measure: str) -> list[list[str]]:
    """The queries that lost most in a measure."""
    return [
        [short(each.query_id, 40), _number(each.candidate), _number(each.baseline), _signed(each.difference)]
        for each in found.lost_most
        if each.measure == measure
    ]


def notes(found: Check) -> Iterator[str]:
    """What the answers mean, what would settle them, what was dropped, and the drift."""
    for compared in found.compared:
        yield from _settling_words(compared)
    for minimum in found.minimums:
        yield from _settling_words(minimum)
    for pair in found.compared:
        if pair.dropped:
            query, why = next(iter(pair.dropped.items()))
            yield f"{pair.measure}: {len(pair.dropped):,} queries do not count, such as {short(query)}: {why}."
        if pair.drift:
            yield _drift_words(pair)
    yield from (f"Beware: {doubt.text}." for doubt in _doubts(found))
    if found.compared:
        yield "lower and upper: one-sided 95 % bounds of the difference. PASS: lower ≥ −margin; FAIL: upper < −margin."
    if found.minimums:
        yield "A minimum: PASS if the one-sided 95 % lower bound of the mean reaches it; FAIL if the upper does not."
    rules = {rule: found.protocol[rule] for rule in found.candidate.protocol.changed}
    if rules:
        yield f"Rules: {' '.join(f'{rule}={value}' for rule, value in rules.items())}"


def _doubts(found: Check) -> list[Doubt]:
    """Where the bounds should not be trusted; what is true of a difference and of a mean is said once."""
    tests: list[Compared | Minimum] = [*found.compared, *found.minimums]
    return [*dict.fromkeys(doubt for each in tests for doubt in each.doubts)]


def _settling_words(each: Compared | Minimum) -> Iterator[str]:
    if each.answer != "inconclusive":
        return
    if each.queries == 1:
        yield f"{each.measure} is inconclusive: one query has no bounds, because nothing shows how queries vary."
        return
    what = f"{each.measure} is inconclusive: {each.queries:,} queries cannot tell"
    if each.queries_needed is None:
        yield f"{what}, and what was observed is too close to the limit for any number of queries to settle it."
    else:
        yield f"{what}; about {each.queries_needed:,} like these would (power 0.80, at what was observed)."


def _drift_words(pair: Compared) -> str:
    assert pair.drift is not None
    bounds, words = pair.drift.bounds, f"{pair.measure} since the first of {pair.drift.baselines} baselines"
    text = f"{words}: {_signed(bounds.value)} (bounds {_signed(bounds.low)} to {_signed(bounds.high)})"
    if pair.drift.answer == "fail":
        return f"{text}. Small losses have added up to more than the margin."
    return f"{text}."


# ---- formats --------------------------------------------------------------------------------------------------------


def as_table(found: Check) -> str:
    """For a terminal."""
    parts = [f"{headline(found)}\n"]
    if found.compared:
        parts.append(text_grid(*compared_cells(found), left=1))
    if found.minimums:
        parts.append(text_grid(*minimum_cells(found), left=1))
    for each in found.compared:
        rows = lost_cells(found, each.measure)
        if rows:
            parts.append(f"Lost most {each.measure}:\n" + text_grid(LOST_HEADS, rows, left=1))
    return "\n".join([*parts, "\n".join(notes(found)) + "\n"])


def as_markdown(found: Check) -> str:
    """For a pull request: the answer and the numbers open, the queries folded away."""
    parts = [f"### {MARKS[found.answer]} {_escaped(headline(found))}\n"]
    if found.compared:
        parts.append(markdown_grid(*compared_cells(found), left=1))
    if found.minimums:
        parts.append(markdown_grid(*minimum_cells(found), left=1))
    parts.append("".join(f"- {_escaped(note)}\n" for note in notes(found)))
    for each in found.compared:
        rows = lost_cells(found, each.measure)
        if rows:
            table = markdown_grid(LOST_HEADS, [[_escaped(cell) for cell in row] for row in rows], left=1)
            head = f"<details><summary>The queries that lost most {each.measure}</summary>"
            parts.append(f"{head}\n\n{table}\n</details>\n")
    return "\n".join(parts)


def _escaped(text: str) -> str:
    """Names and ids as text, whatever they hold."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)


def as_data(found: Check) -> dict[str, Any]:
    """What the JSON holds, as a value."""
    data = {
        "answer": found.answer,
        "candidate": found.name,
        "baseline": found.baseline or None,
        "measures": {each.measure: _compared_data(each) for each in found.compared},
        "minimums": {each.measure: _minimum_data(each) for each in found.minimums},
        "lost_most": [
            {
                "query_id": each.query_id,
                "candidate": each.candidate,
                "baseline": each.baseline,
                "difference": each.difference,
                "measure": each.measure,
            }
            for each in found.lost_most
        ],
        "warnings": list(_doubts(found)),
        "protocol": found.protocol,
        "fingerprints": found.fingerprints,
    }
    cleaned: dict[str, Any] = clean(data)
    return cleaned


def _compared_data(each: Compared) -> dict[str, Any]:
    drift = each.drift and {
        "first": each.drift.first, "difference": each.drift.bounds, "baselines": each.drift.baselines,
    }  # fmt: skip
    return {
        "candidate": each.candidate,
        "baseline": each.baseline,
        "difference": each.bounds,
        "margin": each.margin,
        "answer": each.answer,
        "queries": each.queries,
        "dropped": len(each.dropped),
        "dropped_ids": each.dropped,
        "queries_needed": each.queries_needed,
        "drift": drift,
    }


def _minimum_data(each: Minimum) -> dict[str, Any]:
    return {
        **each.bounds._asdict(),
        "minimum": each.minimum,
        "answer": each.answer,
        "queries": each.queries,
        "queries_needed": each.queries_needed,
    }


def as_json(found: Check) -> str:
    """For machines."""
    return json.dumps(as_data(found), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_junit(found: Check, inconclusive: str | None = None) -> str:
    """For a CI server: a test for every measure; an inconclusive one is skipped where that counts as passing."""
    tests: list[tuple[Compared | Minimum, str]]
    tests = [(each, f"{each.measure} may lose {each.margin:g}") for each in found.compared]
    tests += [(each, f"{each.measure} is at least {each.minimum:g}") for each in found.minimums]
    table = NOT_XML.sub("�", as_table(found))
    suite = ElementTree.Element("testsuite", name="rankgauge check", tests=str(len(tests)), errors="0")
    for each, name in tests:
        case = ElementTree.SubElement(suite, "testcase", classname="rankgauge.check", name=NOT_XML.sub("�", name))
        passes = each.answer == "pass" or (each.answer == "inconclusive" and inconclusive == "pass")
        if each.answer != "pass":
            words = NOT_XML.sub("�", f"{each.measure}: {each.answer}")
            outcome = ElementTree.SubElement(case, "skipped" if passes else "failure", message=words, type=each.answer)
            outcome.text = table
    for kind in ("failure", "skipped"):
        suite.set(f"{kind}s".replace("skippeds", "skipped"), str(len(suite.findall(f"testcase/{kind}"))))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=False) + "\n"


FORMATS: Final[dict[str, Callable[[Check], str]]] = {"table": as_table, "markdown": as_markdown, "json": as_json}
