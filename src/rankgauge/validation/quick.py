"""The checks that need little but Hits: quick enough to be part of every evaluation, one line each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import counted
from rankgauge.measures import Measure, parse
from rankgauge.measures.aggregates import aggregate
from rankgauge.validation.codes import CODES
from rankgauge.validation.sample import sample_notes

if TYPE_CHECKING:
    from rankgauge.matching.hits import Hits
    from rankgauge.result import Result

__all__ = ["SHORT", "quick_checks", "quick_notes", "reversal"]

SHORT: Final = 0.1  # of the usual length
DEEP: Final = 10  # documents, from which on a reversed ranking can be told from a bad one
MUCH_BETTER: Final = 1.5
AT_LEAST: Final = 0.02
LEVELS: Final = 3
LOOKED_AT: Final = 2_000  # queries, to tell whether it is worth looking at all of them


def quick_notes(results: list[Result]) -> list[str]:
    """One line for each finding, with the run that it is about where there are several."""
    notes: dict[str, None] = {}
    for result in results:
        whose = f" ({result.name})" if len(results) > 1 else ""
        of_judgments, of_run = result.oddities
        notes |= dict.fromkeys(_line(code, what) for code, what in of_judgments)
        notes |= dict.fromkeys(_line(code, what + whose) for code, what in of_run)
    return [*notes]


def quick_checks(result: Result) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What is odd in the judgments, and what in the run: a code and words each."""
    of_run = [*_ranked(result.hits)]
    if result.peek is not None:
        of_run += sample_notes(result.peek, by_score=result.protocol.order == "score")
    return [*_judged(result.hits)], of_run


def _line(code: str, what: str) -> str:
    return f"{code} {CODES[code].title}: {what}."


def _judged(hits: Hits) -> Iterator[tuple[str, str]]:
    grades = hits.judgment_grade
    decimals = int(np.count_nonzero(grades != np.floor(grades)))
    if decimals:
        yield "RG105", counted(decimals, "judgment")
    elif len(grades) and 0 < grades.min() < grades.max() < 100:
        counts = np.bincount(grades.astype(np.int64))
        levels = counts[counts > 0]
        if len(levels) >= LEVELS and levels[0] < levels[-1]:
            yield "RG104", f"{counted(int(levels[0]), 'judgment')} of the lowest grade, {levels[-1]:,} of the highest"


def _ranked(hits: Hits) -> Iterator[tuple[str, str]]:
    sizes = hits.retrieved[hits.retrieved > 0]
    usual = float(np.median(sizes)) if len(sizes) else 0.0
    short = int(np.count_nonzero(sizes < SHORT * usual))
    if short:
        yield "RG205", f"{counted(short, 'query', 'queries')}; usual are {usual:g} documents"
    constant = set(hits.query[(hits.tied > 1) & (hits.tied == hits.retrieved[hits.query])].tolist())
    if constant:
        yield "RG206", counted(len(constant), "query", "queries")
    turned = reversal(hits, parse("nDCG@10"))
    if turned:
        yield "RG207", turned


def reversal(hits: Hits, measure: Measure) -> str:
    """What the measure is both ways round, where rankings are much better upside down; nothing where they are not."""
    if hits.averaged or not len(hits) or np.median(hits.retrieved) <= DEEP:
        return ""
    if len(hits.queries) > LOOKED_AT and not _is_much(*_both_ways(_first(hits, LOOKED_AT), measure)):
        return ""
    value, turned = _both_ways(hits, measure)
    much = _is_much(value, turned)
    return f"{measure} is {value:.4f} by score and {turned:.4f} the other way round" if much else ""


def _is_much(value: float, turned: float) -> bool:
    return turned > max(MUCH_BETTER * value, value + AT_LEAST)


def _both_ways(hits: Hits, measure: Measure) -> tuple[float, float]:
    """The mean of the measure, and what it is when every ranking is turned upside down."""
    rank = hits.retrieved[hits.query] + 1 - hits.rank
    order = np.lexsort((rank, hits.query))
    upside_down = replace(hits, rank=rank[order], grade=hits.grade[order], first=rank[order], tied=np.ones_like(rank))
    return aggregate("mean", measure(hits)), aggregate("mean", measure(upside_down))


def _first(hits: Hits, number: int) -> Hits:
    """The hits of the first so many queries."""
    rows, judged = (slice(int(np.searchsorted(each, number))) for each in (hits.query, hits.judgment_query))
    return replace(
        hits,
        queries=hits.queries[:number],
        answered=hits.answered[:number],
        retrieved=hits.retrieved[:number],
        judged=hits.judged[:number],
        query=hits.query[rows],
        rank=hits.rank[rows],
        first=hits.first[rows],
        tied=hits.tied[rows],
        grade=hits.grade[rows],
        judgment_query=hits.judgment_query[judged],
        judgment_grade=hits.judgment_grade[judged],
    )
