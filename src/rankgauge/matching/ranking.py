"""The rank of every document of a run, judged or not; and where the documents of one run stand in another.

`match` ranks judged documents only: a measure needs no more. What unjudged documents leave open needs more, and so
do two stages of one pipeline: which documents are candidates, which of them lie within the first N, and in what order
the second stage put those. The order is the protocol's, as in `match`, and equal scores are ordered for every document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.matching.columns import order_within, scores_of
from rankgauge.matching.duplicates import run_once
from rankgauge.matching.hits import positions_within
from rankgauge.matching.order import descending_within
from rankgauge.read.records import Run

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.matching.grouping import Grouped
    from rankgauge.protocol import Protocol

__all__ = ["Whole", "whole"]

WINDOW: Final = 1 << 16  # keys looked at at once: few enough to stay in the processor's cache


@dataclass(frozen=True, eq=False, slots=True)
class Whole:
    """A run in its order. A position counts its documents query by query and by rank; `order` maps it to a place of
    `rows` (None: the two are the same)."""

    rows: Grouped
    order: Ints | None

    @property
    def queries(self) -> list[str]:
        """The run's queries, in the order of the positions."""
        return self.rows.columns.queries

    @property
    def starts(self) -> Ints:
        """The first position of every query."""
        return self.rows.starts

    @property
    def sizes(self) -> Ints:
        """How many documents every query has."""
        return self.rows.ends - self.rows.starts

    @property
    def rank(self) -> Ints:
        """The rank at every position."""
        return np.arange(len(self.rows.query)) - self.rows.starts[self.rows.query] + 1

    def places(self, positions: Ints) -> Ints:
        """The places of positions."""
        return positions if self.order is None else self.order[positions]

    def docs(self, positions: Ints) -> list[str]:
        """The documents at positions."""
        found: list[str] = self.rows.docs(self.places(positions)).to_list()
        return found

    def first(self, depth: int | None, queries: Sequence[str]) -> pl.DataFrame:
        """Query (its place among these, which hold all of the run's), document and rank of the first ranks."""
        import polars as pl

        place = {query: at for at, query in enumerate(queries)}
        index = np.array([place[query] for query in self.queries], np.int64)
        order = np.argsort(index)
        sizes = (self.sizes if depth is None else np.minimum(self.sizes, depth))[order]
        before = positions_within(np.repeat(np.arange(len(order)), sizes))
        docs = self.rows.docs(self.places(np.repeat(self.starts[order], sizes) + before))
        return pl.DataFrame({"query": np.repeat(index[order], sizes), "doc": docs, "rank": before + 1})

    def kept(self, run: Run, keep: Bools) -> Run:
        """The run without the positions that are not to be kept; what is left stays in the order given."""
        places = np.flatnonzero(keep) if self.order is None else np.sort(self.order[keep])
        rows = places if self.rows.row is None else np.sort(self.rows.row[places])
        return Run(self.rows.columns.take(rows), by=run.by, tag=run.tag, source=run.source)

    def ranks_in(self, other: Whole) -> Ints:
        """For every position the rank that its document has in another run, for the same query; 0: it is not there."""
        place = self._places_in(other)
        rank = np.empty(len(other.rows.query) + 1, np.int64)
        rank[-1] = 0  # of place −1
        rank[slice(0, -1) if other.order is None else other.order] = other.rank
        found = rank[place]
        return found if self.order is None else found[self.order]

    def _places_in(self, other: Whole) -> Ints:
        """For every place the place of its document in another run, for the same query; −1: it is not there."""
        mine, theirs = self.rows, other.rows
        place = np.full(len(mine.query), -1, np.int64)
        if self.queries == other.queries and np.array_equal(mine.ends, theirs.ends) and _same_hashes(mine, theirs):
            for start in range(0, len(place), WINDOW):
                window = slice(start, start + WINDOW)
                place[mine.places_of_keys(window)] = theirs.places_of_keys(window)
            return place
        at, there = self._pairs(other)
        place[at] = there
        known = np.flatnonzero(place >= 0)
        docs, found = mine.docs(known), theirs.docs(place[known])
        for i in np.flatnonzero((docs != found).to_numpy()).tolist():  # two documents of one hash
            query = theirs.query[place[known[i]]]
            place[known[i]] = theirs.look_through(str(docs[i]), int(theirs.starts[query]), int(theirs.ends[query]))
        return place

    def _pairs(self, other: Whole) -> tuple[Ints, Ints]:
        """The places of documents whose hash is there in the other run, for the same query; and the places there."""
        mine, theirs = self.rows, other.rows
        number = {query: i for i, query in enumerate(other.queries)}
        known = np.array([number.get(query, len(number)) for query in self.queries], np.uint64)
        shift, bits = max(mine.shift, theirs.shift), len(number).bit_length()
        wanted = _mixed(mine.keys, known[mine.query], shift, bits)
        ordered = _mixed(theirs.keys, theirs.query.astype(np.uint64), shift, bits)
        at = np.searchsorted(ordered, wanted)
        inside = np.flatnonzero(at < len(ordered))
        inside = inside[ordered[at[inside]] == wanted[inside]]
        return mine.places_of_keys(inside), theirs.places_of_keys(at[inside])


def whole(run: Run, protocol: Protocol, depth: int | None = None) -> Whole:
    """Order a run, every document of it; equal scores only as far as the first `depth` need it."""
    rows, _ = run_once(run, protocol)
    if protocol.order == "given":
        return Whole(rows, None)
    scores = scores_of(rows, protocol)
    order = None if descending_within(scores, rows.starts) else order_within(scores, rows)
    return Whole(rows, _with_ties(rows, order, scores if order is None else scores[order], protocol.ties, depth))


def _same_hashes(one: Grouped, other: Grouped) -> bool:
    """Whether every query has the same documents in both, by the 50 bits or more of their hashes that the keys hold."""
    limit = np.uint64(1 << one.shift)
    ends = range(0, len(one.keys), WINDOW)
    return all(((one.keys[at : at + WINDOW] ^ other.keys[at : at + WINDOW]) < limit).all() for at in ends)


def _mixed(keys: NDArray[np.uint64], query: NDArray[np.uint64], shift: int, bits: int) -> NDArray[np.uint64]:
    """Query and hash as one number, so that the keys of all queries are in one ascending order."""
    hashed = (keys >> np.uint64(shift)) << np.uint64(shift)
    return (query << np.uint64(64 - bits)) | (hashed >> np.uint64(bits))


def _with_ties(rows: Grouped, order: Ints | None, ordered: Floats, ties: str, depth: int | None) -> Ints | None:
    """The order with equal scores as the rule says; they are as given so far."""
    if ties == "given":
        return order
    import polars as pl

    same = (ordered[1:] == ordered[:-1]) & (rows.query[1:] == rows.query[:-1])
    if not same.any():
        return order
    tied = np.flatnonzero(np.r_[same, False] | np.r_[False, same])
    group = np.cumsum(~np.r_[False, same][tied]) - 1
    if depth is not None:
        begins = tied[np.flatnonzero(np.diff(group, prepend=-1))]
        early = (begins - rows.starts[rows.query[begins]] < depth)[group]
        tied, group = tied[early], group[early]
    result = np.arange(len(ordered)) if order is None else order
    places = result[tied]
    frame = pl.DataFrame({"group": group, "place": places}).with_row_index("at")
    if ties == "reversed":
        frame = frame.sort(["group", "at"], descending=[False, True])
    else:
        frame = frame.with_columns(doc=rows.docs(places)).sort(["group", "doc"], descending=[False, ties == "id"])
    result[tied] = frame["place"].to_numpy()
    return result
