"""Judgments + Run → Hits: order, ties, duplicates, unjudged documents, missing queries, the ideal are settled here."""

from __future__ import annotations

from itertools import compress
from typing import Any

import numpy as np

from rankgauge.errors import MatchError, counted
from rankgauge.match.diagnose import no_query_in_common, warn_if_nothing_found
from rankgauge.match.hits import Hits, Ideal
from rankgauge.match.nested import match_nested
from rankgauge.match.parts import assemble
from rankgauge.match.rules import under_rules
from rankgauge.protocol import DEFAULT, REPEATING, Protocol
from rankgauge.read import Judgments, Run, read_judgments, read_run

__all__ = ["Hits", "Ideal", "match"]


def match(judgments: Any, run: Any, protocol: Protocol = DEFAULT) -> Hits:
    """The judged documents that a run retrieved, query by query, with their ranks and grades.

    Judgments and Run, or anything that they can be read from. Queries are in code-point order of their ids. There is a
    path for nested dicts and one for columns; both give equal Hits.
    """
    return _match(read_judgments(judgments), read_run(run, by=protocol.by, duplicates=protocol.duplicates), protocol)


def _match(judgments: Judgments, run: Run, protocol: Protocol) -> Hits:
    queries = sorted(judgments.queries)
    answered_ids = run.answered
    answered = np.fromiter(map(answered_ids.__contains__, queries), bool, len(queries))
    missing = [] if answered.all() else list(compress(queries, (~answered).tolist()))
    if len(missing) == len(queries):
        raise no_query_in_common(judgments, run)
    if missing and protocol.missing == "error":
        raise MatchError(_missing_message(run, missing))
    if missing and protocol.missing == "skip":
        queries, answered = list(compress(queries, answered.tolist())), answered[answered]
    if run.is_nested and not (run.is_columns and protocol.duplicates in REPEATING):
        parts = match_nested(_as_dicts(judgments), run, queries, protocol)
    else:
        from rankgauge.match.columns import match_columns  # needs polars

        parts = match_columns(judgments, run, queries, protocol)
    parts = under_rules(parts, queries, protocol)
    left_out = len(answered_ids) - (len(judgments.queries) - len(missing))
    hits = assemble(parts, queries, answered, protocol, left_out=left_out, missing=len(missing))
    warn_if_nothing_found(judgments, run, hits)
    return hits


def _as_dicts(judgments: Judgments) -> Judgments:
    """Judgments as nested dicts, where a pair that was there twice is settled as it is in columns."""
    if judgments.is_nested:
        return judgments
    from rankgauge.match.duplicates import judgments_once  # needs polars

    return Judgments(judgments_once(judgments), source=judgments.source)


def _missing_message(run: Run, missing: list[str]) -> str:
    return (
        f"{run.source} does not answer {counted(len(missing), 'judged query', 'judged queries')}, "
        f"such as {missing[0]!r}; with missing='zero' they count 0, with missing='skip' they are left out"
    )
