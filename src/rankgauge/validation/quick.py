"""The checks that are part of every evaluation, one line each: they need Hits, and a peek at judgments and run.

`validate` looks at every row; an evaluation has no time for that. It looks at the first rows (ranks against scores,
ranks from 0, a query's own id, ids written differently), and says how many queries it looked at.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from rankgauge.errors import Doubt, RankgaugeWarning, counted
from rankgauge.matching.diagnose import alike, sides_of
from rankgauge.matching.match import match
from rankgauge.matching.order import as_float32
from rankgauge.measures import Measure, parse
from rankgauge.measures.aggregates import aggregate
from rankgauge.read.records import Run
from rankgauge.read.sizes import FIRST, HELD

if TYPE_CHECKING:
    from rankgauge.dtypes import Array, Floats, Ints
    from rankgauge.matching.diagnose import Side
    from rankgauge.matching.hits import Hits
    from rankgauge.read.blocks import Streamed
    from rankgauge.read.records import Judgments, Nested, Record
    from rankgauge.result import Result

__all__ = ["ALARMS", "SHORT", "Peek", "contradicting", "peek", "quick_alarms", "quick_checks", "quick_notes"]
__all__ += ["reversal", "same_in_32_bits"]

ALARMS: Final = ("RG104", "RG202", "RG207", "RG303")  # findings that no number should be read without
SHORT: Final = 0.1  # of the usual length
DEEP: Final = 10  # documents, from which on a reversed ranking can be told from a bad one
MUCH_BETTER: Final = 1.5
AT_LEAST: Final = 0.02
LEVELS: Final = 3
LOOKED_AT: Final = 2_000  # queries, to tell whether it is worth looking at all of them
QUERIES: Final = 20  # that are peeked at, or fewer if they have more rows than this
ROWS: Final = FIRST
MOST_ROWS: Final = HELD  # of a run whose scores are looked at as 32-bit numbers, too
T = TypeVar("T", bound=Sized)
WIDTH: Final = 6  # query Q0 doc rank score tag
MOST_DOCUMENTS: Final = 2_000  # documents of the run whose spelling is tried in other ways


def quick_notes(results: list[Result]) -> list[str]:
    """One line for each finding, the worst first."""
    return [f"{code} {title}: {what}." for code, title, what in _findings(results)]


def quick_alarms(results: list[Result]) -> list[Doubt]:
    """The findings that turn a number round or make it void, the worst first."""
    return [Doubt(code, f"{title}: {what}") for code, title, what in _findings(results) if code in ALARMS]


def _findings(results: list[Result]) -> list[tuple[str, str, str]]:
    """Code, title and words of each finding, the worst first; and of which runs, where there are several."""
    notes: dict[tuple[str, str], list[str]] = {}
    for result in results:
        of_judgments, of_run = result.oddities
        notes |= {found: [] for found in of_judgments}
        for found in of_run:
            notes.setdefault(found, []).append(result.name)
    if not notes:
        return []
    from rankgauge.validation.codes import CODES, SEVERITIES  # where there is something to say

    some = len(results) > 1
    told = [(code, what + f" ({', '.join(runs)})" * (some and bool(runs))) for (code, what), runs in notes.items()]
    told.sort(key=lambda each: (each[0] not in ALARMS, SEVERITIES.index(CODES[each[0]].severity)))
    return [(code, CODES[code].title, what) for code, what in told]


def quick_checks(result: Result) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What is odd in the judgments, and what in the run: a code and words each."""
    remarks = () if result.judgments is None else result.judgments.remarks
    judged = [*remarks]
    if remarks:  # as stored labels alone have them
        from rankgauge.validation.labels import JUDGES

        judged = [each for each in remarks if each[0] not in JUDGES]  # which are doubts of their own
    of_run = [*_ranked(result.hits), *_in_32_bits(result)]
    if result.peek is not None:
        of_run = [*result.peek.remarks, *of_run]
        of_run += sample_notes(result.peek, by_score=result.protocol.order == "score")
    return [*judged, *_judged(result.hits)], of_run


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


def _in_32_bits(result: Result) -> Iterator[tuple[str, str]]:
    """The first measure whose value is another one where scores are compared as 32-bit numbers."""
    narrow = result.peek.in_32_bits() if result.peek is not None and result.dialect is None else None
    if narrow is None:
        return
    weights = None if result.weights is None else result._selected(result.weights)
    for measure in result.measures:
        value, other = (
            result[measure],
            aggregate(result.own_aggregate(measure), result._selected(measure(narrow)), weights),
        )
        if f"{value:.4f}" != f"{other:.4f}":
            yield "RG209", f"{measure} is {value:.4f}, and {other:.4f} where they are compared as 32-bit numbers"
            return


def same_in_32_bits(query: Array, score: Floats) -> Ints:
    """The rows whose score is not that of the row before, of the same query, but is in 32 bits."""
    narrow = as_float32(score)
    same = (query[1:] == query[:-1]) & (score[1:] != score[:-1]) & (narrow[1:] == narrow[:-1])
    return np.flatnonzero(same) + 1


def _narrow(judgments: Judgments, run: Run, hits: Hits) -> Hits | None:
    """The hits where scores are compared as 32-bit numbers, if that makes some equal."""
    rules = hits.protocol
    if rules.order != "score" or rules.scores != "float64":
        return None
    if run.is_columns:
        close = len(same_in_32_bits(run.columns.query, run.columns.number)) > 0
    else:
        close = any(map(_meet_in_32_bits, _first(run.nested).values()))
    if not close:
        return None
    with warnings.catch_warnings(action="ignore", category=RankgaugeWarning):
        return match(judgments, run, replace(rules, scores="float32"))


def _narrow_rows(judgments: Judgments, rows: Nested, hits: Hits, source: str) -> Hits | None:
    """The same of rows in memory; the run that they were is let go."""
    return _narrow(judgments, Run(rows, source=source), hits)


def _meet_in_32_bits(ranking: Mapping[str, float]) -> bool:
    """Whether scores of a ranking that are different numbers are the same in 32 bits."""
    scores = [*ranking.values()]
    narrow = as_float32(np.array(scores, np.float64))
    if (narrow[1:] < narrow[:-1]).all():  # as in most rankings, and soon known
        return False
    different = len({*narrow.tolist()})
    return different < len(scores) and different < len({*scores})


def reversal(hits: Hits, measure: Measure) -> str:
    """What the measure is both ways round, where rankings are much better upside down; nothing where they are not."""
    if hits.averaged or not len(hits) or np.median(hits.retrieved) <= DEEP:
        return ""
    if len(hits.queries) > LOOKED_AT and not _is_much(*_both_ways(_start(hits, LOOKED_AT), measure)):
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


def _start(hits: Hits, number: int) -> Hits:
    """The hits of the first so many queries."""
    rows, judged = (slice(int(np.searchsorted(each, number))) for each in (hits.query, hits.judgment_query))
    kept = dict.fromkeys(("queries", "answered", "retrieved", "judged"), slice(number))
    kept |= dict.fromkeys(("query", "rank", "first", "tied", "grade"), rows)
    kept |= dict.fromkeys(("judgment_query", "judgment_grade"), judged)
    return replace(hits, **{name: getattr(hits, name)[part] for name, part in kept.items()})


# ---- the first rows --------------------------------------------------------------------------------------------------


class Peek(NamedTuple):
    """The little that is kept of judgments and a run beside Hits: a result must not hold millions of rows.

    `head` is the start of the run's file (all of it where `whole`; ranks are nowhere else), `retrieved` holds documents
    of the first queries, `rows` is how many the run has.

    `narrow` is what is found where scores are compared as 32-bit numbers, if that may be something else; of a few rows
    in memory it is what finds it, for whoever asks.

    `stored` and `remarks` are the run's own, `models` those that its system names.

    `judged` (of the same queries) is there only where most judged documents were not found, `missing` and `extra`
    (ids of queries) only where both sides have queries that the other has not: else there is nothing to compare.
    """

    head: bytes = b""
    whole: bool = False
    retrieved: Mapping[str, Collection[str]] = {}
    judged: Mapping[str, Collection[str]] = {}
    missing: Collection[str] = ()
    extra: Collection[str] = ()
    rows: int = 0
    narrow: Hits | Callable[[], Hits | None] | None = None
    stored: Mapping[str, Any] = {}
    remarks: Sequence[tuple[str, str]] = ()
    models: Collection[str] = ()

    def in_32_bits(self) -> Hits | None:
        """What is found where scores are compared as 32-bit numbers, if that may be something else."""
        return self.narrow() if callable(self.narrow) else self.narrow


def peek(judgments: Judgments, run: Run | Streamed, hits: Hits) -> Peek:
    """What is kept of these two, of which Hits were made."""
    early = run if isinstance(run, Run) else run.early
    retrieved = _documents(early)
    few = 2 * len(hits) < len(hits.judgment_grade)
    judged = _documents(judgments, retrieved) if few else {}
    apart = hits.missing and hits.left_out
    ours, theirs = (set(judgments.queries), set(run.queries)) if apart else (set(), set())
    rows, models = len(run), tuple(chain.from_iterable(run.models.values())) if run.models else ()
    narrow: Any = None
    if rows <= ROWS and early.is_nested:
        narrow = partial(_narrow_rows, judgments, early.nested, hits, run.source)
    elif rows <= MOST_ROWS and rows == len(early):
        narrow = _narrow(judgments, early, hits)
    return Peek(
        run.head, run.whole_head, retrieved, judged, ours - theirs, theirs - ours, rows, narrow, run.stored,
        run.remarks, models,
    )  # fmt: skip


def _first(nested: Mapping[str, T]) -> Mapping[str, T]:
    """The first queries with their documents, as few as hold enough rows."""
    if len(nested) == 1:
        return nested
    result: dict[str, T] = {}
    rows = 0
    for query, docs in islice(nested.items(), QUERIES):
        if rows >= ROWS:
            break
        result[query] = docs
        rows += len(docs)
    return result


def _documents(record: Record, wanted: Collection[str] | None = None) -> Mapping[str, Collection[str]]:
    """The documents of the wanted queries, or of the first."""
    if record.is_nested:
        nested = record.nested
        return _first(nested) if wanted is None else {query: nested[query] for query in wanted if query in nested}
    columns = record.columns
    rows = np.arange(min(len(columns), ROWS))
    if wanted is not None:
        numbers = [number for number, query in enumerate(columns.queries) if query in wanted]
        rows = np.flatnonzero(np.isin(columns.query, numbers))
    result: dict[str, list[str]] = {}
    for number, doc in zip(columns.query[rows].tolist(), columns.doc.gather(rows).to_list(), strict=True):
        result.setdefault(columns.queries[number], []).append(doc)
    return {**result}


def contradicting(query: Array, rank: Ints, score: Floats) -> Ints:
    """Where a document has a worse rank and a better score than the one before it by rank; ordered by query and rank.

    The rows of a query stand together, and queries are numbered in their order.
    """
    same = query[1:] == query[:-1]
    order = None if ((rank[1:] >= rank[:-1]) | ~same).all() else np.lexsort((rank, query))
    if order is not None:
        rank, score = rank[order], score[order]  # the queries stay where they are
    after = np.flatnonzero((score[1:] > score[:-1]) & (rank[1:] > rank[:-1]) & same) + 1
    return after if order is None else order[after]


def sample_notes(peek: Peek, *, by_score: bool = True) -> Iterator[tuple[str, str]]:
    """Code and words for each finding in the first rows."""
    sample = _sample(peek.head)
    if sample is not None:
        query, rank, _ = sample
        queries = int(query.max()) + 1
        if by_score:
            yield from _counted("RG202", len({*query[contradicting(*sample)].tolist()}), queries, peek.whole)
        yield from _counted("RG203", len({*query[rank == 0].tolist()}), queries, peek.whole)
    itself = sum(query in docs for query, docs in peek.retrieved.items())
    yield from _counted("RG208", itself, len(peek.retrieved), whole=False)
    yield from _spelling(peek)


def _counted(code: str, count: int, looked_at: int, whole: bool) -> Iterator[tuple[str, str]]:
    if count:
        first = "the first query" if looked_at == 1 else f"{count:,} of the first {looked_at:,} queries"
        yield code, f"{count:,} of {counted(looked_at, 'query', 'queries')}" if whole else first


def _sample(head: bytes) -> tuple[Ints, Ints, Floats] | None:
    """Number of the query, rank and score of the first rows, grouped by query; None where ranks are something else."""
    head = head[: head.rfind(b"\n") + 1]
    fields = head.split()
    if len(fields) != WIDTH * head.count(b"\n") or b"#" in head:
        rows = (line.split()[:WIDTH] for line in head.splitlines())
        fields = [field for row in rows if len(row) == WIDTH and not row[0].startswith(b"#") for field in row]
    queries = fields[::WIDTH]
    numbers = {query: number for number, query in enumerate(dict.fromkeys(queries))}
    query = np.array([*map(numbers.__getitem__, queries)], np.int64)
    try:
        rank = np.array([*map(int, fields[3::WIDTH])], np.int64)
        score = np.array([*map(float, fields[4::WIDTH])])
    except (ValueError, OverflowError):
        return None
    order = np.argsort(query, kind="stable")
    return (query[order], rank[order], score[order]) if len(query) else None


def _spelling(peek: Peek) -> Iterator[tuple[str, str]]:
    """Ids of queries, then of documents, that would match after a change."""
    judged = ((set(map(str, docs)), peek.retrieved[query]) for query, docs in peek.judged.items())
    documents = sides_of(((ours, dict.fromkeys(map(str, theirs), 0)) for ours, theirs in judged), MOST_DOCUMENTS)
    queries: list[Side] = [(peek.missing, dict.fromkeys(peek.extra, 0))]
    for what, (sides, matching) in (("query", (queries, 0)), ("document", documents)):
        pairs, change = alike(sides, matching)
        if pairs:
            ours_id, theirs_id, _ = pairs[0]
            yield "RG303", f"{what} {ours_id!r} is judged, {theirs_id!r} is in the run; they match after {change}"
