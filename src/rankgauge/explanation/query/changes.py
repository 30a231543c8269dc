"""What would raise a value: every swap of two ranks and every missing document inserted, evaluated as one Hits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.explanation.query.cases import Cases, evaluated
from rankgauge.explanation.query.explanation import Change
from rankgauge.explanation.query.worth import best_ranking, reach
from rankgauge.measures.bands.bands import prefers_better_higher

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.explanation.query.ranking import Ranking
    from rankgauge.measures import Measure

__all__ = ["changes"]

MUCH: Final = 3_000_000  # rows of one Hits: about a third of a second
MOST_HITS: Final = 30  # so many Hits, and no more, for a measure of which little is known


def changes(ranking: Ranking, measure: Measure, value: float, top: int) -> tuple[list[Change], str]:
    """The `top` changes that raise the value most, best first; and a note where there were too many to look at.

    Of the documents beyond the cut-off, any two of one grade are worth the same: the first one stands for them.
    """
    upper, lower, note = _pairs(ranking, measure, top)
    missed, places = _insertions(ranking, measure)
    points = np.concatenate([
        _in_batches(ranking, measure, len(upper), lambda part: _swapped(ranking, upper[part], lower[part])),
        _in_batches(ranking, measure, len(missed), lambda part: _inserted(ranking, missed[part], places[part])),
    ]) - value  # fmt: skip
    order = np.argsort(-points, kind="stable")
    raising = order[points[order] > 1e-12][:top].tolist()
    found = [
        _swap(ranking, upper[at], lower[at], value, points[at])
        if at < len(upper)
        else _insertion(ranking, missed[at - len(upper)], places[at - len(upper)], value, points[at])
        for at in raising
    ]
    return found, note


def _at_once(ranking: Ranking) -> int:
    """How many cases one Hits may hold."""
    return max(1, MUCH // max(1, len(ranking.judgments) + len(ranking.judged)))


def _in_batches(ranking: Ranking, measure: Measure, count: int, cases: Callable[[slice], Cases]) -> Floats:
    """The values of so many cases, as many of them at once as memory allows."""
    step = _at_once(ranking)
    parts = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    return np.concatenate([np.zeros(0), *(evaluated(ranking, cases(part), measure) for part in parts)])


def _pairs(ranking: Ranking, measure: Measure, top: int) -> tuple[Ints, Ints, str]:
    """The pairs of places, the upper one first, whose documents are not judged alike: all of them, or where these are
    very many, those among which the best are."""
    size, cut = len(ranking.docs), reach(ranking, measure)
    grade = np.nan_to_num(ranking.grade, nan=-np.inf)
    beyond = cut + np.unique(grade[cut:], return_index=True)[1]
    candidates = np.r_[np.arange(cut), np.sort(beyond)] if cut < size else np.arange(size)
    here, there = np.arange(cut)[:, None], candidates[None, :]
    differ = (here < there) & (grade[here] != grade[there])
    few, note = _at_once(ranking), ""
    if int(differ.sum()) > few and prefers_better_higher(measure):
        differ &= _first_among_equals(grade[:cut], grade[candidates], top)
    elif int(differ.sum()) > MOST_HITS * few:
        differ, note = _of_better_documents(differ, differ & (grade[here] < grade[there]), MOST_HITS * few)
    upper, at = np.nonzero(differ)
    return upper, candidates[at], note


def _first_among_equals(upper: Floats, lower: Floats, top: int) -> Bools:
    """Which swaps can be among the `top` best where a better document gains more, the higher it comes.

    Of two documents of one grade it is best to bring up the lower one, and of two to take the place of the upper one.
    So the swap of the i-th of its grade from above with the j-th of its grade from below has i · j − 1 before it.
    """
    from_above = _number_within(upper)
    from_below = _number_within(lower[::-1])[::-1]
    first: Bools = from_above[:, None] * from_below[None, :] <= top
    return first


def _number_within(grade: Floats) -> Ints:
    """1, 2, 3, … within each grade, in order."""
    number = np.zeros(len(grade), np.int64)
    for each in np.unique(grade):
        alike = grade == each
        number[alike] = np.arange(1, alike.sum() + 1)
    return number


def _of_better_documents(differ: Bools, better: Bools, most: int) -> tuple[Bools, str]:
    """Only swaps that bring a better document up, into the first ranks; and what is left out, in words."""
    upper, at = (axis[:most] for axis in np.nonzero(better))
    kept = np.zeros_like(differ)
    kept[upper, at] = True
    what = f"those that bring a better document into the first {int(upper.max(initial=0)) + 1:,} ranks"
    return kept, f"of {int(differ.sum()):,} swaps, {len(upper):,} were looked at: {what}"


def _swapped(ranking: Ranking, upper: Ints, lower: Ints) -> Cases:
    """A case a swap: the two documents take each other's rank and tie group."""
    judged, count = ranking.judged, len(upper)
    hit = np.full(len(ranking.docs), -1)
    hit[judged] = np.arange(len(judged))
    place = np.tile(judged, (count, 1))
    for here, there in ((upper, lower), (lower, upper)):
        rows = np.flatnonzero(hit[here] >= 0)
        place[rows, hit[here[rows]]] = there[rows]
    case, at = np.repeat(np.arange(count), len(judged)), place.ravel()
    grade = np.tile(ranking.grade[judged], count)
    return Cases(case, ranking.rank[at], ranking.first[at], ranking.tied[at], grade, np.full(count, len(ranking.docs)))


def _insertions(ranking: Ranking, measure: Measure) -> tuple[Ints, Ints]:
    """The judged documents that are missing, best first, and where they would be ideally, at most at the end."""
    ideal = {doc: place for place, doc in enumerate(best_ranking(ranking, measure).docs)}
    wanted = sorted((ideal[doc], i) for i, doc in enumerate(ranking.missed) if doc in ideal)
    missed = np.array([i for _, i in wanted], np.int64)
    places = np.array([min(place, len(ranking.docs)) for place, _ in wanted], np.int64)
    if ranking.protocol.ties == "average":
        places = np.r_[ranking.first, len(ranking.docs) + 1][places] - 1  # before a group of ties, never into it
    return missed, places


def _inserted(ranking: Ranking, missed: Ints, places: Ints) -> Cases:
    """A case an insertion: whatever stands there and below is pushed down by one, out of the depth at its end."""
    judged, count, size = ranking.judged, len(missed), len(ranking.docs)
    down = (judged[None, :] >= places[:, None]).astype(np.int64)
    new = places[:, None] + 1
    rank, first = (np.hstack([value[judged] + down, new]).ravel() for value in (ranking.rank, ranking.first))
    tied = np.tile(np.append(ranking.tied[judged], 1), count)
    grade = np.hstack([np.tile(ranking.grade[judged], (count, 1)), ranking.missed_grade[missed][:, None]]).ravel()
    case = np.repeat(np.arange(count), len(judged) + 1)
    depth = size + 1 if ranking.depth is None else min(size + 1, ranking.depth)
    keep = rank <= depth
    return Cases(case[keep], rank[keep], first[keep], tied[keep], grade[keep], np.full(count, depth))


def _swap(ranking: Ranking, upper: int, lower: int, value: float, points: float) -> Change:
    both = (int(upper), int(lower))
    docs, grades = tuple(ranking.docs[at] for at in both), tuple(graded(float(ranking.grade[at])) for at in both)
    return Change("swap", (both[0] + 1, both[1] + 1), docs, grades, value + float(points), float(points))


def _insertion(ranking: Ranking, missed: int, place: int, value: float, points: float) -> Change:
    grade = graded(float(ranking.missed_grade[missed]))
    return Change(
        "insert", (int(place) + 1,), (ranking.missed[missed],), (grade,), value + float(points), float(points)
    )


def graded(grade: float) -> float | None:
    """A grade, or None for NaN: unjudged."""
    return None if grade != grade else grade
