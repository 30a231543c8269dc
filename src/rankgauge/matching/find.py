"""Every judged document in the ranking of its query: the part of `match` that takes time."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankgauge.errors import MatchError, counted, way
from rankgauge.matching.diagnose import no_query_in_common
from rankgauge.matching.nested import match_nested
from rankgauge.protocol import REPEATING
from rankgauge.read.records import Judgments

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools
    from rankgauge.matching.grouping import Grouped
    from rankgauge.matching.parts import Parts
    from rankgauge.protocol import Protocol
    from rankgauge.read.blocks import Streamed
    from rankgauge.read.records import Run

__all__ = ["Found", "asked_queries", "counting", "find"]


class Found(NamedTuple):
    """The judged documents of a run with their places, before the rules in `LATER`: these are quick to change."""

    parts: Parts
    queries: list[str]
    answered: Bools
    left_out: int
    missing: int

    def equals(self, other: Found) -> bool:
        """Whether the same was found, down to the ties."""
        return self.queries == other.queries and all(map(np.array_equal, self.parts, other.parts))


def find(judgments: Judgments, run: Run, protocol: Protocol, grouped: Grouped | None = None) -> Found:
    """Find every judged document of a run in memory.

    `grouped` are the run's rows where they were brought together before (by `whole`).
    """
    queries, answered, missing, left_out = asked_queries(judgments, run, protocol)
    if grouped is None and run.is_nested and not (run.is_columns and protocol.duplicates in REPEATING):
        parts = match_nested(_as_dicts(judgments), run, queries, protocol)
    else:
        from rankgauge.matching.columns import match_columns  # needs polars

        parts = match_columns(judgments, run, queries, protocol, grouped)
    return Found(parts, queries, answered, left_out, missing)


def asked_queries(judgments: Judgments, run: Run | Streamed, protocol: Protocol) -> tuple[list[str], Bools, int, int]:
    """The queries that count and which of them are answered; how many are missing, and how many are not judged."""
    judged = sorted(judgments.queries)
    answered_ids = run.answered
    known = [*map(answered_ids.__contains__, judged)]
    if not any(known):
        silent = protocol.missing == "zero" and not answered_ids and not set(run.queries).isdisjoint(judged)
        if not silent:  # a run may say of every query that it found nothing
            raise no_query_in_common(judgments, run)
    queries, answered, missing = counting(judged, known, run.source, protocol)
    return queries, answered, missing, len(answered_ids) - (len(judged) - missing)


def counting(queries: list[str], known: list[bool], source: str, protocol: Protocol) -> tuple[list[str], Bools, int]:
    """The judged queries that count, which of them the run answers, and how many it does not."""
    answered = np.array(known, bool)
    missing = [] if all(known) else [query for query, there in zip(queries, known, strict=True) if not there]
    if missing and protocol.missing == "error":
        zero, skip = (way(f"missing={rule!r}", f"--missing {rule}") for rule in ("zero", "skip"))
        raise MatchError(
            f"{source} does not answer {counted(len(missing), 'judged query', 'judged queries')}, "
            f"such as {missing[0]!r}; with {zero} they count 0, with {skip} they are left out"
        )
    if missing and protocol.missing == "skip":
        return list(compress(queries, known)), answered[answered], len(missing)
    return queries, answered, len(missing)


def _as_dicts(judgments: Judgments) -> Judgments:
    """Judgments as nested dicts, where a pair that was there twice is settled as it is in columns."""
    if judgments.is_nested:
        return judgments
    from rankgauge.matching.duplicates import judgments_once  # needs polars

    return Judgments(judgments_once(judgments), source=judgments.source)
