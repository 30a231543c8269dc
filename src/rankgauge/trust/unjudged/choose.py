"""Which unjudged documents to judge next: those whose grade would narrow the interval most.

For every candidate and every grade that it may turn out to have, the interval of its query is solved anew; of very many
candidates, only for those that weigh most in the widest intervals (LOOKED_AT). What is
narrowed is to be expected (grades as likely as among judged documents of that depth), and at least (the worst grade).
Judging several documents narrows less than the sum of what each would do alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from rankgauge.errors import InputError
from rankgauge.shown import Shown
from rankgauge.trust.unjudged.bounds import Open, open_of_pair, open_of_run, solved
from rankgauge.trust.unjudged.expected import bin_of, chances

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints
    from rankgauge.trust.unjudged.sheet import Sheet

__all__ = ["ToJudge", "ToJudgeList", "to_judge"]

LOOKED_AT: Final = 2_000  # candidates solved for every grade; of more, those that weigh most in the widest intervals


class ToJudge(NamedTuple):
    """A pair to judge: how much narrower the interval of the mean is to be expected, and how much at least."""

    query_id: str
    doc_id: str
    narrows: float
    at_least: float
    best_rank: int
    runs: int  # how many of the runs have it among their first k


@dataclass(frozen=True, eq=False, repr=False)
class ToJudgeList(Shown):
    """The pairs to judge, what tells most first."""

    shown_by: ClassVar[str] = "judgments:to_judge_sections"
    title = "Pairs to judge next"

    pairs: Sequence[ToJudge]

    def data(self, **choices: Any) -> list[dict[str, Any]]:
        """What JSON holds."""
        return [each._asdict() for each in self.pairs]


def to_judge(sheet: Sheet, number: int, settle: Sequence[str] = ()) -> list[ToJudge]:
    """The pairs whose judgment narrows most: the interval of the difference of two runs (`settle`, or the only two), or
    else the intervals of all runs together."""
    names = list(settle) or (list(sheet.results) if len(sheet.results) == 2 else [])
    if names and len(names) != 2:
        raise InputError(f"settle takes two runs, one against the other; got {len(names)}")
    if len(set(names)) < len(names):
        raise InputError(f"settle takes two runs, one against the other; got {names[0]} twice")
    pair = [sheet.known(name) for name in names]
    opened = [open_of_pair(sheet, *pair)] if pair else [open_of_run(sheet, name) for name in sheet.results]
    values = [sheet.values(pair[0]) - sheet.values(pair[1])] if pair else [sheet.values(n) for n in sheet.results]
    ranks, runs = _ranks(sheet, pair or list(sheet.results))
    narrows: dict[int, Floats] = {}
    for each, value in zip(opened, values, strict=True):
        for key, gained in _narrowing(sheet, each, value, ranks, number).items():
            narrows[key] = narrows.get(key, np.zeros(2)) + gained
    best = sorted(narrows, key=lambda key: (-narrows[key][0], key))[:number]
    many, found = len(sheet.pool.docs), []
    for key in best:
        expected, at_least = narrows[key].tolist()
        query, doc = sheet.queries[key // many], sheet.pool.docs[key % many]
        found.append(ToJudge(query, doc, expected, at_least, ranks[key], runs[key]))
    return found


def _ranks(sheet: Sheet, names: Sequence[str]) -> tuple[dict[int, int], dict[int, int]]:
    """Open document → its best rank, and in how many of the runs it is open."""
    ranks: dict[int, int] = {}
    runs: dict[int, int] = {}
    for name in names:
        top = sheet.pool.tops[name]
        left = top.only(top.open)
        for key, rank in zip((left.query * len(sheet.pool.docs) + left.doc).tolist(), left.rank.tolist(), strict=True):
            ranks[key] = min(rank, ranks.get(key, rank))
            runs[key] = runs.get(key, 0) + 1
    return ranks, runs


def _narrowing(sheet: Sheet, open: Open, value: Floats, ranks: dict[int, int], number: int) -> dict[int, Floats]:
    """Open document → by how much its judgment narrows the interval of the mean: expected, and at least."""
    levels = sheet.levels
    low, high = solved(sheet.scale, value, levels, open)
    counted = int((~np.isnan(value)).sum())
    rows = _candidates(open, high - low, max(LOOKED_AT, 2 * number))
    if not len(rows):
        return {}
    widths = _widths(sheet, open, levels, rows)
    keys = open.query[rows] * len(sheet.pool.docs) + open.doc[rows]
    likely = chances(sheet)[bin_of(np.array([ranks[key] for key in keys.tolist()]))]
    now = (high - low)[open.query[rows]]
    gained = np.stack([now - (likely * widths).sum(axis=1), now - widths.max(axis=1)], axis=1) / counted
    return dict(zip(keys.tolist(), gained, strict=True))


def _candidates(open: Open, width: Floats, most: int) -> Ints:
    """The open documents of queries that have a width; of many those with the largest share of it."""
    rows = np.flatnonzero(np.nan_to_num(width)[open.query] > 0)
    whole = np.bincount(open.query, np.abs(open.weight), len(width))
    share = np.abs(open.weight[rows]) * width[open.query[rows]] / np.maximum(whole[open.query[rows]], 1e-300)
    return rows if len(rows) <= most else np.sort(rows[np.argsort(-share, kind="stable")[:most]])


def _widths(sheet: Sheet, open: Open, levels: Ints, rows: Ints) -> Floats:
    """Candidate × gain (0 first): how wide the interval of its query is once the candidate has that gain."""
    gains = np.r_[0.0, sheet.scale.gains]
    sizes = np.bincount(open.query, minlength=len(levels))
    starts = sizes.cumsum() - sizes
    by_query = np.argsort(open.query, kind="stable")
    case, gain = np.repeat(np.arange(len(rows)), len(gains)), np.tile(gains, len(rows))
    query = open.query[rows][case]
    # The other open documents of each case.
    count = sizes[query]
    other_case = np.repeat(np.arange(len(case)), count)
    within = np.arange(len(other_case)) - np.repeat(count.cumsum() - count, count)
    other = by_query[starts[query][other_case] + within]
    kept = other != rows[case][other_case]
    fixed = open.fixed[query] + gain * open.weight[rows][case]
    held = levels[query] + (gain[:, None] >= sheet.scale.gains)
    # The value if every other open document gains nothing; 0 where nothing gains anything.
    setting = sheet.scale.setting(int(held.max(initial=0)))
    ideal = setting.ideal(held, np.zeros(1, np.int64)) @ setting.steps
    value = np.divide(fixed, ideal, out=np.zeros(len(fixed)), where=ideal > 0)
    rest = Open(other_case[kept], other[kept], open.weight[other[kept]], fixed)
    low, high = solved(sheet.scale, value, held, rest)
    return (high - low).reshape(len(rows), len(gains))
