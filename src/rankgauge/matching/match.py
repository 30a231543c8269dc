"""Judgments + Run → Hits: order, ties, duplicates, unjudged documents, missing queries, the ideal are settled here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rankgauge.matching.diagnose import warn_if_nothing_found
from rankgauge.matching.find import Found, counting, find
from rankgauge.matching.hits import Hits, Ideal
from rankgauge.matching.parts import GROUPED, assemble, under_rules
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read import Run, RunSource, read_judgments
from rankgauge.read.blocks import Streamed

if TYPE_CHECKING:
    from rankgauge.read import Judgments

__all__ = ["Found", "Hits", "Ideal", "counting", "find", "found_in", "match", "searching", "settled"]

# The rules that `find` does not look at: `settled` and the measures apply them to what was found.
LATER: Final = ("grades", "negative", "unjudged", "ideal", "ideal_depth", "empty", "rel", "depth")


def match(judgments: Any, run: Any, protocol: Protocol | Rules = DEFAULT) -> Hits:
    """The judged documents that a run retrieved, query by query, with their ranks and grades.

    Judgments and Run, or anything that they can be read from. Queries are in code-point order of their ids. There is a
    path for nested dicts and one for columns; both give equal Hits.
    """
    judged, protocol = read_judgments(judgments), Protocol.of(protocol)
    known = isinstance(run, Streamed) or (isinstance(run, Run) and run.by == protocol.by)
    ranked = run if known else RunSource.of(run).opened(protocol)
    hits = settled(found_in(judged, ranked, protocol), protocol)
    warn_if_nothing_found(judged, ranked, hits)
    return hits


def found_in(judgments: Judgments, run: Run | Streamed, protocol: Protocol) -> Found:
    """What is found in a run, in memory or block by block."""
    if not isinstance(run, Streamed):
        return find(judgments, run, protocol)
    from rankgauge.matching.joined import find_in_blocks  # large runs alone need it

    return find_in_blocks(judgments, run, protocol)


def searching(protocol: Protocol) -> Protocol:
    """The rules that `find` looks at, the others at their defaults: what is found under the one holds for the other."""
    ties = "worst" if protocol.ties in GROUPED else protocol.ties  # one group of ties is found like the other
    later: dict[str, Any] = {rule: getattr(DEFAULT, rule) for rule in LATER}
    return replace(protocol, ties=ties, **later)


def settled(found: Found, protocol: Protocol) -> Hits:
    """Hits of what was found, under the protocol's remaining rules."""
    parts = under_rules(found.parts, found.queries, protocol)
    return assemble(parts, found.queries, found.answered, protocol, left_out=found.left_out, missing=found.missing)
