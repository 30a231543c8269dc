"""Hits: all that a measure needs to know, and nothing else.

One row per judged document that was retrieved, ordered by query and then rank; one row per judgment for the ideal,
ordered by query and then grade; a few counts per query. Where the run has millions of rows, Hits has thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.protocol import DEFAULT, SIGNED, Protocol

if TYPE_CHECKING:
    from rankgauge.dtypes import Array, Bools, Floats, Ints

__all__ = ["ZERO", "Hits", "Ideal", "every", "fixed", "positions_within", "some", "sum_by"]


@lru_cache(maxsize=256, typed=True)
def fixed(number: float) -> Array:
    """A number as numpy has it: comparing a few others with Python's takes three times as long."""
    return np.array(number)


ZERO: Final = fixed(0.0)
ONE: Final = fixed(1)


def some(mask: Bools) -> bool:
    """Whether any is true: numpy's own `any` of a few takes ten times as long."""
    return 1 in mask.tobytes()


def every(mask: Bools) -> bool:
    """Whether all are true."""
    return 0 not in mask.tobytes()


class Ideal(NamedTuple):
    """All judgments of grade 0 or more, ordered by query and then gain: what a perfect ranking would return."""

    query: Ints
    rank: Ints
    gain: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Hits:
    """The judged documents that a run retrieved, with their ranks and grades.

    `first` is the first rank of the group of documents that share a score, `tied` the size of that group; the rank lies
    between `first` and `first + tied - 1`, and is `first` where ties are averaged.
    """

    queries: list[str]
    answered: Bools
    retrieved: Ints
    judged: Ints
    query: Ints
    rank: Ints
    first: Ints
    tied: Ints
    grade: Floats
    judgment_query: Ints
    judgment_grade: Floats
    protocol: Protocol = DEFAULT
    left_out: int = 0
    missing: int = 0

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def signed(self) -> bool:
        """Whether negative grades gain what they are."""
        return self.protocol.negative in SIGNED

    @property
    def averaged(self) -> bool:
        """Whether tied documents share the expectation over their orders."""
        return self.protocol.ties == "average"

    @property
    def open(self) -> bool:
        """Whether equal scores leave a place open: that of a judged document was chosen by a rule for ties."""
        return some(self.tied > ONE) and not self.averaged

    def sum(self, values: Floats | Bools) -> Floats:
        """The sum of a value per hit, for every query, added up in rank order."""
        return sum_by(self.query, values, len(self.queries))

    def count(self, mask: Bools) -> Floats:
        """How many hits of every query are marked."""
        return sum_by(self.query, mask, len(self.queries))

    def relevant(self, rel: float | None = None) -> Bools:
        """Which hits are relevant: of grade `rel` or more (the protocol's, when not given)."""
        return _at_least(self.grade, self.protocol.rel if rel is None else rel)

    def relevant_judged(self, rel: float | None = None) -> Floats:
        """How many documents of every query are judged relevant, retrieved or not."""
        mask = _at_least(self.judgment_grade, self.protocol.rel if rel is None else rel)
        return sum_by(self.judgment_query, mask, len(self.queries))

    def divisible(self, ideal: Floats) -> Bools:
        """Which queries have an ideal DCG to divide by; the others are empty. With negative grades, tools differ."""
        above: Bools = ideal > ZERO
        if self.protocol.negative not in ("as-is-ratio", "as-is-summed"):
            return above
        total = sum_by(self.judgment_query, self.judgment_grade, len(self.queries))
        there: Bools = ideal != 0
        return there & (total != 0) if self.protocol.negative == "as-is-summed" else there

    def ideal(self, gain: Callable[[Floats], Floats], *, follows: bool = False) -> Ideal:
        """The ideal ranking under a gain: the only place where one is built.

        Judgments are kept in descending grade; a gain that does not follow the grades reorders them.
        """
        query, gains = self.judgment_query, gain(self.judgment_grade)
        if not follows and self.protocol.ideal_order == "grade":
            rises = gains[1:] > gains[:-1]  # of one query alone they mostly never do, and no more need be asked
            if some(rises) and (rises & (query[1:] == query[:-1])).any():
                gains = gains[np.lexsort((-gains, query))]
        return Ideal(query, positions_within(query, 1), gains)

    def ideal_end(self, k: int | None) -> int | Ints | None:
        """The rank at which the ideal of a measure at k ends, for all queries or for each; None: it is not cut."""
        if self.protocol.ideal_depth == "k":
            return k
        if self.protocol.ideal_depth == "all":
            return None
        return self.retrieved if k is None else np.minimum(self.retrieved, k)


def _at_least(grade: Floats, rel: float) -> Bools:
    return grade >= (fixed(rel) if rel > 0 else ZERO)


def sum_by(group: Ints, values: Floats | Bools, groups: int) -> Floats:
    """The sum of the values of each group, added up in order."""
    result: Floats = np.bincount(group, values, groups)  # type: ignore[assignment]  # numpy's stubs forget the weights
    return result


def positions_within(group: Ints, start: int = 0) -> Ints:
    """0, 1, 2, … within each group, or from another start; the groups are numbered in ascending order."""
    rows = np.arange(start, start + len(group))
    if not len(group) or group.item(0) == group.item(-1):
        return rows
    sizes = np.bincount(group)
    return rows - (sizes.cumsum() - sizes)[group]
