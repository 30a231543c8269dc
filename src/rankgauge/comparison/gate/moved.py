"""Where the results of two runs differ though no value does, and where nobody judged what came in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgauge.comparison.gate.answers import Moved
from rankgauge.measures import parse
from rankgauge.read.records import Run

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.comparison.saved import Saved
    from rankgauge.comparison.values import Values
    from rankgauge.protocol import Protocol
    from rankgauge.read.readers import RunSource

__all__ = ["moved_between"]


def moved_between(new: Saved, old: Saved, values: Values) -> Moved | None:
    """Count the queries whose first results differ; None where a ranking is not there: of saved values, large files."""
    if new.result is None or new.result.judgments is None or new.run is None or old.run is None:
        return None
    rules, cutoff = new.result.protocol, parse(values.measure).cutoff
    depths = [each for each in (cutoff, rules.depth) if isinstance(each, int)]
    one, other = (_first(each, rules, min(depths, default=None), values.queries) for each in (new.run, old.run))
    if one is None or other is None:
        return None
    placed = ["query", "doc", "rank"]
    apart = {*_only(one, other, placed)["query"], *_only(other, one, placed)["query"]}
    judged = new.result.judgments.nested
    came = _only(one, other, ["query", "doc"]).select("query", "doc").iter_rows()
    unjudged = {query for query, doc in came if doc not in judged.get(values.queries[query], ())}
    return Moved(len(apart), len(unjudged), min(depths, default=None))


def _only(one: pl.DataFrame, other: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """The rows of the one that the other lacks."""
    return one.join(other, on=columns, how="anti")


def _first(source: RunSource, rules: Protocol, k: int | None, queries: list[str]) -> pl.DataFrame | None:
    """Query, document and rank of the first k results; None of a run too large to be held."""
    from rankgauge.matching.ranking import whole

    run = source.opened(rules)
    return whole(run.only({*queries}), rules, k).first(k, queries) if isinstance(run, Run) else None
