"""Judgments + Run → Hits: order, ties, duplicates, unjudged documents, missing queries, the ideal are settled here."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import MatchError, counted, way
from rankgauge.matching.diagnose import no_query_in_common, warn_if_nothing_found
from rankgauge.matching.hits import Hits, Ideal
from rankgauge.matching.nested import match_nested
from rankgauge.matching.parts import GROUPED, Parts, assemble, under_rules
from rankgauge.protocol import DEFAULT, REPEATING, Protocol, Rules
from rankgauge.read import Judgments, Run, RunSource, read_judgments

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools
    from rankgauge.matching.grouping import Grouped

__all__ = ["Found", "Hits", "Ideal", "find", "match", "searching", "settled"]

# The rules that `find` does not look at: `settled` and the measures apply them to what was found.
LATER: Final = ("grades", "negative", "unjudged", "ideal", "ideal_depth", "empty", "rel", "depth")


def match(judgments: Any, run: Any, protocol: Protocol | Rules = DEFAULT) -> Hits:
    """The judged documents that a run retrieved, query by query, with their ranks and grades.

    Judgments and Run, or anything that they can be read from. Queries are in code-point order of their ids. There is a
    path for nested dicts and one for columns; both give equal Hits.
    """
    judged, protocol = read_judgments(judgments), Protocol.of(protocol)
    ranked = run if isinstance(run, Run) and run.by == protocol.by else RunSource.of(run).read(protocol)
    hits = settled(find(judged, ranked, protocol), protocol)
    warn_if_nothing_found(judged, ranked, hits)
    return hits


@dataclass(frozen=True, eq=False, slots=True)
class Found:
    """The judged documents of a run with their places, before the rules in `LATER`: these are quick to change."""

    parts: Parts
    queries: list[str]
    answered: Bools
    left_out: int
    missing: int

    def equals(self, other: Found) -> bool:
        """Whether the same was found, down to the ties."""
        columns = [each.name for each in fields(Parts)]
        pairs = [(getattr(self.parts, name), getattr(other.parts, name)) for name in columns]
        return self.queries == other.queries and all(np.array_equal(one, two) for one, two in pairs)


def searching(protocol: Protocol) -> Protocol:
    """The rules that `find` looks at, the others at their defaults: what is found under the one holds for the other."""
    ties = "worst" if protocol.ties in GROUPED else protocol.ties  # one group of ties is found like the other
    later: dict[str, Any] = {rule: getattr(DEFAULT, rule) for rule in LATER}
    return replace(protocol, ties=ties, **later)


def find(judgments: Judgments, run: Run, protocol: Protocol, grouped: Grouped | None = None) -> Found:
    """Find every judged document in the ranking of its query: the part of `match` that takes time.

    `grouped` are the run's rows where they were brought together before (by `whole`).
    """
    queries = sorted(judgments.queries)
    answered_ids = run.answered
    answered = np.fromiter(map(answered_ids.__contains__, queries), bool, len(queries))
    missing = [] if answered.all() else list(compress(queries, (~answered).tolist()))
    silent = (
        protocol.missing == "zero" and run.is_nested and not answered_ids and not run.nested.keys().isdisjoint(queries)
    )
    if len(missing) == len(queries) and not silent:  # a run may say of every query that it found nothing
        raise no_query_in_common(judgments, run)
    if missing and protocol.missing == "error":
        zero, skip = (way(f"missing={rule!r}", f"--missing {rule}") for rule in ("zero", "skip"))
        raise MatchError(
            f"{run.source} does not answer {counted(len(missing), 'judged query', 'judged queries')}, "
            f"such as {missing[0]!r}; with {zero} they count 0, with {skip} they are left out"
        )
    if missing and protocol.missing == "skip":
        queries, answered = list(compress(queries, answered.tolist())), answered[answered]
    if grouped is None and run.is_nested and not (run.is_columns and protocol.duplicates in REPEATING):
        parts = match_nested(_as_dicts(judgments), run, queries, protocol)
    else:
        from rankgauge.matching.columns import match_columns  # needs polars

        parts = match_columns(judgments, run, queries, protocol, grouped)
    left_out = len(answered_ids) - (len(judgments.queries) - len(missing))
    return Found(parts, queries, answered, left_out, len(missing))


def settled(found: Found, protocol: Protocol) -> Hits:
    """Hits of what was found, under the protocol's remaining rules."""
    parts = under_rules(found.parts, found.queries, protocol)
    return assemble(parts, found.queries, found.answered, protocol, left_out=found.left_out, missing=found.missing)


def _as_dicts(judgments: Judgments) -> Judgments:
    """Judgments as nested dicts, where a pair that was there twice is settled as it is in columns."""
    if judgments.is_nested:
        return judgments
    from rankgauge.matching.duplicates import judgments_once  # needs polars

    return Judgments(judgments_once(judgments), source=judgments.source)
