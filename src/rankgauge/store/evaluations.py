"""Saved evaluations: what was measured of a run, by which labels and rules, and whether that still holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import insert, select

from rankgauge.errors import InputError, counted
from rankgauge.shown import clean
from rankgauge.store import schema
from rankgauge.store.labels import Labels
from rankgauge.store.rows import now
from rankgauge.store.runs import fingerprint

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgauge.read import Judgments
    from rankgauge.result import Evaluation, Result
    from rankgauge.store.store import Store

__all__ = ["Past", "Saved", "save", "saved"]


class Saved(NamedTuple):
    """An evaluation as it was saved; `labels` says which labels there were then, and by which rule they were heard."""

    number: int
    system: str
    run: int
    at: str
    labels: Mapping[str, Any]
    labels_hash: str
    protocol: Mapping[str, Any]
    means: Mapping[str, float | None]
    queries: Sequence[str]
    values: Mapping[str, Sequence[float | None]]
    run_hash: str
    version: str


def save(store: Store, evaluation: Evaluation) -> list[int]:
    """Keep the evaluation of every run; their numbers. Labels and runs must be those of the store."""
    rows = [_row(result) for result in evaluation.values()]

    def added(connection: Connection) -> list[int]:
        at = now()
        made = []
        for row in rows:
            row |= {"at": at, "run_hash": fingerprint(connection, row["run_id"])}
            key = schema.evaluation.c.evaluation_id
            made.append(int(connection.scalar(insert(schema.evaluation).values(**row).returning(key)) or 0))
        return made

    return store.writer.write(added)


def _row(result: Result) -> dict[str, Any]:
    from rankgauge import __version__

    labels = result.judgments.stored if result.judgments is not None else {}
    run = result.peek.stored if result.peek is not None else {}
    if not labels or not run:
        what = "labels" if not labels else f"run {result.name}"
        raise InputError(
            f"only what the store holds can be saved, and the {what} came from elsewhere; import it first: rankgauge "
            "store import, then eval @labels @SYSTEM --save"
        )
    if result.weights is not None and result.design is None:
        raise InputError("an evaluation with weights is not saved: its means are not comparable with others")
    rules = {**result.protocol.to_dict(), "dialect": result.dialect.name if result.dialect is not None else None}
    if result.design is not None:  # other weights, other means
        rules["sample"] = f"{result.design.sample.source} per {result.design.per}"
    values = {str(measure): result._selected(values) for measure, values in result.measured.items()}
    return {
        "run_id": run["run"],
        "labels": _json(labels),
        "labels_hash": result.fingerprints["judgments"],
        "protocol": _json(rules),
        "means": _json(dict(result)),
        "per_query": _json({"queries": list(result.query_ids), "values": values}),
        "fingerprint": result.fingerprint,
        "version": __version__,
    }


def _json(value: Any) -> str:
    return json.dumps(clean(value), ensure_ascii=False, separators=(",", ":"))


def saved(store: Store) -> list[Saved]:
    """Every evaluation, in the order in which they were saved."""
    table, run, system = schema.evaluation.c, schema.run.c, schema.system.c
    asked = select(schema.evaluation, system.name.label("name"))
    asked = asked.join(schema.run, run.run_id == table.run_id).join(schema.system, system.system_id == run.system_id)
    rows = store.read(lambda each: each.execute(asked.order_by(table.evaluation_id)).mappings().all())
    return [_saved(row) for row in rows]


def _saved(row: Any) -> Saved:
    every = json.loads(row["per_query"])
    return Saved(
        row["evaluation_id"],
        row["name"],
        row["run_id"],
        row["at"],
        json.loads(row["labels"]),
        row["labels_hash"],
        json.loads(row["protocol"]),
        json.loads(row["means"]),
        every["queries"],
        every["values"],
        row["run_hash"],
        row["version"],
    )


class Past:
    """What labels were and are, to say what has changed between two evaluations or since one."""

    def __init__(self, store: Store, rule: Labels) -> None:
        self.store, self.rule = store, rule
        self._known: dict[str, Judgments] = {}

    @cached_property
    def _runs(self) -> dict[int, str | None]:
        def hashes(connection: Connection) -> dict[int, str | None]:
            table = schema.run.c
            rows = connection.execute(select(table.run_id, table.state, table.fingerprint)).all()
            return {run: known if state != "open" else fingerprint(connection, run) for run, state, known in rows}

        return self.store.read(hashes)

    def then(self, evaluation: Saved) -> Judgments:
        """The labels that an evaluation was made with."""
        about = evaluation.labels
        return self._judgments(Labels.of(about["rule"]), about["last"], about["fresh"])

    def now(self, evaluation: Saved) -> Judgments:
        """The labels that the same address gives today."""
        return self._judgments(self._rule_now(evaluation), None, evaluation.labels["fresh"])

    def _rule_now(self, evaluation: Saved) -> Labels:
        by = evaluation.labels["by"]
        return self.rule.among(self._labels(None), by, people=evaluation.labels["address"] == "@people")

    def _labels(self, until: int | None) -> Any:
        return self.store.labels(until)[0]

    def _judgments(self, rule: Labels, until: int | None, fresh: bool) -> Judgments:
        key = json.dumps([rule.to_dict(), until, fresh])
        if key not in self._known:
            self._known[key] = rule.judgments(self._labels(until), fresh=fresh)
        return self._known[key]

    def stale(self, evaluation: Saved) -> list[str]:
        """Why an evaluation no longer holds: what has changed in labels and run since; nothing where it does."""
        return [*self._stale(evaluation)]

    def _stale(self, evaluation: Saved) -> Iterator[str]:
        if self.now(evaluation).fingerprint != evaluation.labels_hash:
            yield label_changes(self.then(evaluation), self.now(evaluation))
            was, rule = Labels.of(evaluation.labels["rule"]), self._rule_now(evaluation)
            if rule != was:
                yield f"the rule is now: {rule}"
        if self._runs.get(evaluation.run) != evaluation.run_hash:
            yield f"run {evaluation.run} has more answers"

    def between(self, before: Saved, after: Saved) -> list[str]:
        """What has changed between two evaluations, so that their means are not of the same thing."""
        return [*self._between(before, after)]

    def _between(self, before: Saved, after: Saved) -> Iterator[str]:
        if before.labels_hash != after.labels_hash:
            yield label_changes(self.then(before), self.then(after))
        for name in dict.fromkeys([*before.protocol, *after.protocol]):
            old, new = before.protocol.get(name), after.protocol.get(name)
            if old != new:
                yield f"{name}: {'none' if old is None else old} → {'none' if new is None else new}"
        if set(before.queries) != set(after.queries):
            fewer, more = len(before.queries), len(after.queries)
            yield f"queries: {fewer:,} → {more:,}" if fewer != more else f"{fewer:,} other queries"


def label_changes(before: Judgments, after: Judgments) -> str:
    """How many labels were added, changed and removed, in words."""
    old = {(query, doc): grade for query, doc, grade in before}
    new = {(query, doc): grade for query, doc, grade in after}
    counts = {
        "added": len(new.keys() - old.keys()),
        "changed": sum(old[pair] != new[pair] for pair in old.keys() & new.keys()),
        "removed": len(old.keys() - new.keys()),
    }
    said = [(count, word) for word, count in counts.items() if count]
    if not said:
        return "labels changed"
    first, *others = said
    return ", ".join([f"{counted(first[0], 'label')} {first[1]}", *(f"{count:,} {word}" for count, word in others)])
