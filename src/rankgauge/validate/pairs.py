"""What can be wrong between judgments and a run, and what findings do to the score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rankgauge.match.diagnose import CHANGES
from rankgauge.ties import tie_band
from rankgauge.validate.codes import Finding
from rankgauge.validate.judged import flipped
from rankgauge.validate.quick import reversal
from rankgauge.validate.table import EXAMPLES, Table, hits_of, mean_of

if TYPE_CHECKING:
    from rankgauge.measures import Measure
    from rankgauge.validate.table import Nested

__all__ = ["check_pair", "effects"]

LOOKED_AT = 200  # queries whose documents are compared: what is written differently is so everywhere


def check_pair(judged: Table, run: Table, measure: Measure) -> Iterator[Finding]:
    """Every finding about a run against judgments."""
    yield from _queries(judged, run, measure)
    ours, theirs = judged.nested, run.nested
    yield from _spelling(ours, theirs, run)
    hits = hits_of(ours, theirs)
    turned = reversal(hits, measure) if hits is not None else ""
    if turned:
        yield Finding("RG207", run.name, len(theirs), [f"{run.place(0)}: score {run.rows[0][3]:g}"], turned)


def _queries(judged: Table, run: Table, measure: Measure) -> Iterator[Finding]:
    """Queries that only one side has."""
    unjudged = [query for query in run.by_query if query not in judged.by_query]
    if unjudged:
        shown = [f"{run.place(run.by_query[query][0])}: query {query}" for query in unjudged[:EXAMPLES]]
        yield Finding("RG301", run.name, len(unjudged), shown, "none: they are left out")
    missing = [query for query in judged.by_query if query not in run.by_query]
    if missing:
        shown = [f"{judged.place(judged.by_query[query][0])}: query {query}" for query in missing[:EXAMPLES]]
        yield Finding("RG302", run.name, len(missing), shown, _without(judged, run, measure))


def _without(judged: Table, run: Table, measure: Measure) -> str:
    ours, theirs = judged.nested, run.nested
    answered = {query: docs for query, docs in ours.items() if query in theirs}
    whole, part = mean_of(ours, theirs, measure), mean_of(answered, theirs, measure)
    return "" if whole is None or part is None else f"{measure} is {whole:.4f} with them and {part:.4f} without"


def _spelling(judged: Nested, run: Nested, table: Table) -> Iterator[Finding]:
    """Ids that do not match, and would after a change: of queries, then of documents."""
    yield from _alike(judged.keys() - run.keys(), run.keys() - judged.keys(), 0, "query", table)
    shared = sorted(judged.keys() & run.keys())[:LOOKED_AT]
    matching = sum(len(judged[query].keys() & run[query].keys()) for query in shared)
    left = {doc for query in shared for doc in judged[query].keys() - run[query].keys()}
    right = {doc for query in shared for doc in run[query].keys() - judged[query].keys()}
    yield from _alike(left, right, matching, "document", table)


def _alike(left: set[str], right: set[str], matching: int, what: str, table: Table) -> Iterator[Finding]:
    for name, change in CHANGES.items():
        ours = {change(each): each for each in sorted(left)}
        pairs = [(ours[change(each)], each) for each in sorted(right) if change(each) in ours and change(each)]
        if len(pairs) > matching:
            shown = [f"{what} {ours!r} is judged, {theirs!r} is in the run" for ours, theirs in pairs[:EXAMPLES]]
            yield Finding("RG303", table.name, len(pairs), shown, f"none of them counts; they match after {name}")
            return


def effects(found: list[Finding], judged: Table, run: Table, measure: Measure) -> list[Finding]:
    """The findings with what they do to the score, where that can be measured."""
    ours, theirs = judged.nested, run.nested
    value = mean_of(ours, theirs, measure)
    if value is None:
        return found
    start = f"{measure} is {value:.4f}"
    measured = {finding.code: _effect(finding.code, ours, run, measure) for finding in found}
    return [replace(f, effect=start + measured[f.code]) if measured[f.code] else f for f in found]


def _effect(code: str, judged: Nested, run: Table, measure: Measure) -> str:
    """What the value would be without what was found."""
    if code == "RG202":
        return f" by score and {mean_of(judged, run.by_rank(), measure):.4f} by rank"
    if code in ("RG204", "RG206"):
        return _band(judged, run.nested, measure)
    if code == "RG104":
        return f", and {mean_of(flipped(judged), run.nested, measure):.4f} with the scale turned round"
    if code == "RG105":
        cut = {query: {doc: float(int(grade)) for doc, grade in docs.items()} for query, docs in judged.items()}
        return f", and {mean_of(cut, run.nested, measure):.4f} with the decimals cut off"
    return ""


def _band(judged: Nested, run: Nested, measure: Measure) -> str:
    hits = hits_of(judged, run)
    assert hits is not None
    band = tie_band(hits, measure).mean
    least = "" if band.exact else "at least "
    return f", and {least}{band.low:.4f} to {band.high:.4f} under other orders of equal scores"
