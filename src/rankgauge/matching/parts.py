"""Parts: what a path of `match` found, and its assembly into Hits under the protocol's remaining rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankgauge.errors import FormatError, InputError
from rankgauge.matching.hits import ZERO, Hits, every, positions_within
from rankgauge.matching.unpack import numbers_of
from rankgauge.protocol import DEFAULT, SIGNED

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read.records import Judgments, Record

    Rows = tuple[Ints, Ints, Ints, Ints, Floats]  # the columns of hits: query, rank, first, tied, grade

__all__ = ["GROUPED", "Parts", "assemble", "by_rank", "check_finite", "checked", "in_ideal_order", "joined"]
__all__ += ["order_by_rank", "ordered", "refusals", "regrouped", "stable_order", "under_rules"]

GROUPED = ("average", "worst", "best")  # ties that both paths leave at the first rank of their group

FEW_JUDGMENTS = 300  # judgments that are quicker sorted by two keys
LONG = 1 << 16  # rows from which on several columns are moved at a time
DENSE = 16  # so many possible keys for each that is there are still quicker gone through than sorted


class Parts(NamedTuple):
    """One row per judgment, ordered by query and then grade, and one per hit, ordered by query and then rank."""

    retrieved: Ints
    judgment_query: Ints
    judgment_grade: Floats
    query: Ints
    rank: Ints
    first: Ints
    tied: Ints
    grade: Floats


def ordered(parts: Parts, protocol: Protocol = DEFAULT, *, ranked: bool = False) -> Parts:
    """The same rows in their order; `ranked` says that the hits are in theirs already."""
    judgment_query, judgment_grade = in_ideal_order(parts.judgment_query, parts.judgment_grade, protocol)
    hits = (parts.query, parts.rank, parts.first, parts.tied, parts.grade)
    return Parts(parts.retrieved, judgment_query, judgment_grade, *(hits if ranked else by_rank(*hits)))


def joined(parts: list[Parts]) -> Parts:
    """Parts of neighbouring queries as one, the queries numbered on."""
    if len(parts) == 1:
        return parts[0]
    offsets = np.cumsum([0, *(len(part.retrieved) for part in parts[:-1])]).tolist()
    moved = [
        part._replace(judgment_query=part.judgment_query + offset, query=part.query + offset)
        for part, offset in zip(parts, offsets, strict=True)
    ]
    return Parts(*_column_by_column(np.concatenate, zip(*moved, strict=True), sum(len(part.query) for part in parts)))


def regrouped(columns: Sequence[Any], order: Ints) -> Sequence[Any]:
    """The same rows, of which the first column has the query, with the queries in another order: `order` has the number
    that each had before."""
    query, *others = columns
    sizes = np.bincount(query, minlength=len(order))
    starts = sizes.cumsum() - sizes
    new_sizes = sizes[order]
    shift = starts[order] - (new_sizes.cumsum() - new_sizes)
    if not shift.any():
        return columns
    rows = np.arange(len(query))
    rows += np.repeat(shift, new_sizes)
    return [
        np.repeat(np.arange(len(order)), new_sizes),
        *_column_by_column(lambda column: column[rows], others, len(rows)),
    ]


def _column_by_column(work: Callable[[Any], Any], columns: Iterable[Any], rows: int) -> Iterable[Any]:
    """What the work makes of each column, of several at a time where they are long."""
    if rows <= LONG:
        return map(work, columns)
    from rankgauge.matching.grouping import in_threads

    return in_threads(work, columns)


def assemble(
    parts: Parts, queries: list[str], answered: Bools, protocol: Protocol, *, left_out: int, missing: int
) -> Hits:
    """Hits of these parts under the rules that remain: what is taken out, and what the ideal is made of."""
    judged = np.bincount(parts.judgment_query, minlength=len(queries))
    query, grade = parts.judgment_query, parts.judgment_grade
    keep = grade >= ZERO
    if not every(keep) and protocol.negative not in SIGNED:
        query, grade = query[keep], grade[keep]
    hits = Hits(
        queries, answered, parts.retrieved, judged, parts.query, parts.rank, parts.first, parts.tied, parts.grade,
        query, grade, protocol, left_out, missing,
    )  # fmt: skip
    if protocol.depth is not None:
        hits = _cut(hits, protocol.depth)
    if protocol.unjudged == "condensed":
        hits = _condense(hits)
    return _ideal_of_retrieved(hits) if protocol.ideal == "retrieved" else hits


def _ideal_of_retrieved(hits: Hits) -> Hits:
    """The ideal of a tool that knows only what was retrieved. An unjudged document counts 0 there, and only where
    negative grades are part of the ideal does it matter that it comes before them."""
    query, grade = hits.query, hits.grade
    if hits.signed:
        unjudged = hits.retrieved - np.bincount(query, minlength=len(hits.queries))
        query = np.concatenate([query, np.repeat(np.arange(len(hits.queries)), unjudged)])
        grade = np.concatenate([grade, np.zeros(int(unjudged.sum()))])
    else:
        query, grade = query[grade >= 0], grade[grade >= 0]
    query, grade = in_ideal_order(query, grade, hits.protocol)
    return replace(hits, judgment_query=query, judgment_grade=grade)


def in_ideal_order(query: Ints, grade: Floats, protocol: Protocol) -> tuple[Ints, Floats]:
    """Judgments ordered by query, then as the protocol says: by descending grade, or as given."""
    if protocol.ideal_order == "grade":
        return _by_grade(query, grade)
    order = np.argsort(query, kind="stable")
    return query[order], grade[order]


def by_rank(query: Ints, rank: Ints, first: Ints, tied: Ints, grade: Floats) -> Rows:
    """The hits ordered by query, then rank, then grade (ranks are equal only where ties are averaged)."""
    key = _rank_key(query, rank)
    if (key[1:] > key[:-1]).all():
        return query, rank, first, tied, grade
    order = np.lexsort((-grade, key)) if (tied > 1).any() else stable_order(key)
    return query[order], rank[order], first[order], tied[order], grade[order]


def order_by_rank(query: Ints, rank: Ints) -> Ints:
    """An argsort by query, then rank."""
    return stable_order(_rank_key(query, rank))


def _rank_key(query: Ints, rank: Ints) -> Ints:
    key = query * (int(rank.max(initial=0)) + 1)
    key += rank
    return key


def stable_order(key: Ints) -> Ints:
    """A stable argsort of keys of 0 or more.

    Dense and distinct keys name their own places; where key and place fit into one number, a sort of these is quicker.
    """
    size, highest = len(key), int(key.max(initial=0))
    if highest < DENSE * size:
        taken = np.zeros(highest + 1, bool)
        taken[key] = True
        in_order = taken.nonzero()[0]
        if len(in_order) == size:
            places = np.empty(highest + 1, np.int64)
            places[key] = np.arange(size)
            return places[in_order]
    bits = size.bit_length()
    if highest.bit_length() + bits > 62:
        return np.argsort(key, kind="stable")
    packed = (key << bits) | np.arange(size)
    packed.sort()
    return packed & ((1 << bits) - 1)


def _by_grade(query: Ints, grade: Floats) -> tuple[Ints, Floats]:
    """Judgments ordered by query, then descending grade. Many whole grades are quicker sorted as one integer key, and
    few different ones quicker still by counting them."""
    few = len(grade) < FEW_JUDGMENTS
    highest, lowest = (0.0, 0.0) if few else (float(grade.max()), float(grade.min()))
    if few or highest - lowest >= 2**20 or not (grade == np.floor(grade)).all():
        order = np.lexsort((-grade, query))
        return query[order], grade[order]
    span = int(highest - lowest) + 1
    key = query * span
    key += (highest - grade).astype(np.int64)
    if (key[1:] >= key[:-1]).all():
        return query, grade
    if int(key.max()) < DENSE * len(key):
        counts = np.bincount(key, minlength=(int(query.max()) + 1) * span)
        query = np.repeat(np.arange(len(counts) // span), counts.reshape(-1, span).sum(axis=1))
        return query, np.repeat(highest - np.arange(len(counts), dtype=np.float64) % span, counts)
    key.sort()
    query = key // span
    return query, (highest - (key - query * span)).astype(np.float64, copy=False)


def _cut(hits: Hits, depth: int) -> Hits:
    """Only the first `depth` documents of each ranking."""
    keep = hits.rank <= depth
    kept = {name: getattr(hits, name)[keep] for name in ("query", "rank", "first", "tied", "grade")}
    return replace(hits, retrieved=np.minimum(hits.retrieved, depth), **kept)


def _condense(hits: Hits) -> Hits:
    """Take unjudged documents, and those of negative grade, out of the rankings."""
    keep = hits.grade >= 0
    query, first = hits.query[keep], hits.first[keep]
    retrieved = np.bincount(query, minlength=len(hits.queries))
    rank = positions_within(query, 1)
    group = positions_within_group(query, first)
    starts = rank - group
    tied = np.bincount(np.cumsum(group == 0) - 1)[np.cumsum(group == 0) - 1] if len(group) else group
    rank, grade = starts if hits.averaged else rank, hits.grade[keep]
    return replace(hits, retrieved=retrieved, query=query, rank=rank, first=starts, tied=tied, grade=grade)


def positions_within_group(query: Ints, first: Ints) -> Ints:
    """0, 1, 2, … within each group of equal query and first rank."""
    if not len(query):
        return query
    new = np.r_[True, (query[1:] != query[:-1]) | (first[1:] != first[:-1])]
    return positions_within(np.cumsum(new) - 1)


# ---- what grades may be, and ties by grade ---------------------------------------------------------------------------


def checked(judgments: Judgments) -> Judgments:
    """The same judgments: at least one, and every grade a finite number."""
    if not len(judgments):
        raise InputError(f"{judgments.source}: holds no judgment; expected query, document and grade of one or more")
    if judgments.is_nested:
        numbers_of(judgments, list(judgments.nested.values()), judgments.queries)
    else:
        check_finite(judgments)
    return judgments


def check_finite(record: Record) -> None:
    """Refuse a number that is not finite."""
    columns = record.columns
    numbers = columns.number
    if len(numbers) and not (np.isfinite(numbers.min()) and np.isfinite(numbers.max())):
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        where = f"{record.source}, row {row + 1}, query {columns.queries[columns.query[row]]!r}"
        raise FormatError(
            f"{where}, document {columns.doc[row]!r}: {record.number} {numbers[row]} is not a finite number"
        )


def under_rules(parts: Parts, queries: list[str], protocol: Protocol) -> Parts:
    """The parts with grades and ties as the protocol says."""
    if protocol.grades == "truncate":
        parts = parts._replace(judgment_grade=np.trunc(parts.judgment_grade), grade=np.trunc(parts.grade))
    for bad, why in refusals(parts.judgment_grade, protocol):
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            query, grade = queries[parts.judgment_query[row]], parts.judgment_grade[row]
            raise FormatError(f"query {query!r}: grade {grade:g} {why}")
    return _by_grade_in_ties(parts, protocol.ties) if protocol.ties in ("worst", "best") else parts


def refusals(grades: Floats, protocol: Protocol) -> Iterator[tuple[Bools, str]]:
    """Which grades the protocol does not take, and why."""
    if protocol.grades == "integer":
        yield grades != np.floor(grades), "is not a whole number, and grades='integer' takes no other"
    if protocol.grades == "binary":
        yield (grades != 0) & (grades != 1), "is neither 0 nor 1, and grades='binary' takes no other"
    if protocol.negative == "error":
        yield grades < 0, "is negative, and negative='error' takes none"


def _by_grade_in_ties(parts: Parts, ties: str) -> Parts:
    """Ranks within each group of equal scores by grade: the unjudged come between grade 0 and the negative ones.

    The hits of a group are in descending order of grade, all at the group's first rank.
    """
    place = positions_within_group(parts.query, parts.first)
    group = np.cumsum(place == 0) - 1
    judged = np.bincount(group)[group] if len(group) else group
    place = place + np.where(parts.grade < 0, parts.tied - judged, 0)
    rank = parts.first + (place if ties == "best" else parts.tied - 1 - place)
    query, rank, first, tied, grade = by_rank(parts.query, rank, parts.first, parts.tied, parts.grade)
    return parts._replace(query=query, rank=rank, first=first, tied=tied, grade=grade)
