"""What a sample is worth: the mean per search and per query of a log from values of the queries that were drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from rankgauge.errors import Doubt, InputError, counted, unknown
from rankgauge.sampling import is_unwanted
from rankgauge.sampling.sample import Sample, read_sample
from rankgauge.stats.inference import FEW_QUERIES, POPULATIONS, Population, Queries

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints

__all__ = ["NO_LOG", "PER", "Design", "Per", "sample_given"]

Per = Literal["search", "query"]
PER: Final[tuple[Per, ...]] = ("search", "query")
NO_LOG: Final = "without a sample there is no log that intervals could be about"


def sample_given(sample: Any, weights: Any, per: str = "search", population: str | None = None) -> Sample | None:
    """The sample, which brings the weights of queries; None where there is none, or plain means are wanted: "none"."""
    if per not in PER:
        raise InputError(unknown(f"there is no mean per {per}", per, PER))
    if population not in (None, *POPULATIONS):
        raise InputError(unknown(f"there is no population {population!r}", str(population), POPULATIONS))
    if sample is None or is_unwanted(sample):
        if population == "log":
            raise InputError(f"population='log': {NO_LOG}; give sample=, or leave population out")
        return None
    if weights is not None:
        raise InputError("a sample brings the weights of its queries; give either weights or a sample")
    if isinstance(sample, str) and sample != "-" and not os.path.exists(sample):
        stored = f"project.sample({sample.removeprefix('@')!r})"
        raise InputError(
            f"sample={sample!r}: there is no such file; where it is the name of a stored one, give {stored}"
        )
    return read_sample(sample)


@dataclass(frozen=True, eq=False)
class Design:
    """A sample, those of its queries that were evaluated, and whether means are per search or per query."""

    sample: Sample
    queries: list[str]
    outside: int = 0  # queries that were evaluated and are not in the sample
    per: Per = "search"
    population: Population = "log"  # that intervals and p speak of: the log, or future searches like it

    @classmethod
    def of(
        cls, sample: Sample, queries: Sequence[str], per: Per = "search", population: Population | None = None
    ) -> Design:
        """The design of an evaluation of these queries."""
        inside = [query for query in queries if query in sample.place]
        if not inside:
            raise InputError(
                f"{sample.source}: none of its queries was evaluated: one is {sample.query_ids[0]!r}, and "
                f"{next(iter(queries), 'nothing')!r} was evaluated; judgments, runs and sample need the same ids"
            )
        return cls(sample, inside, len(queries) - len(inside), per, population or "log")

    def drawn(self, queries: Sequence[str]) -> Queries:
        """How these queries of the sample weigh, and how chance drew them.

        Of a group of which chance drew no query, it is not known how much of the log belongs to it.
        """
        at = np.array([self.place[query] for query in queries], np.int64)
        silent = self.population == "log" and not self._drawn[at].any() and bool(self._drawn.any())
        return Queries(
            len(at),
            self._weights[at],
            inclusion=self._inclusion[at],
            strata=self._strata[at],
            population=self.population,
            known=self._knows_its_error and not self.sample.fixed and not silent,
        )

    def with_per(self, per: Per) -> Design:
        """The same for the other mean."""
        return replace(self, per=per)

    def with_population(self, population: Population) -> Design:
        """The same, whose intervals speak of the other population."""
        if population not in POPULATIONS:
            raise InputError(unknown(f"there is no population {population!r}", population, POPULATIONS))
        return replace(self, population=population)

    @cached_property
    def place(self) -> dict[str, int]:
        """Query that was evaluated → where it is."""
        return {query: at for at, query in enumerate(self.queries)}

    @cached_property
    def _at(self) -> Ints:
        return np.array([self.sample.place[query] for query in self.queries], np.int64)

    @cached_property
    def _inclusion(self) -> Floats:
        return self.sample.inclusion[self._at]

    @cached_property
    def _drawn(self) -> Bools:
        """Whether a query was left to chance."""
        return self._inclusion < 1

    @cached_property
    def _strata(self) -> Ints:
        return np.unique(np.array(self.sample.strata)[self._at], return_inverse=True)[1]

    @cached_property
    def _weights(self) -> Floats:
        """1 / inclusion, times the traffic for a mean per search."""
        return (self.sample.traffic[self._at] if self.per == "search" else 1.0) / self._inclusion

    @cached_property
    def _knows_its_error(self) -> bool:
        """Whether what was evaluated tells how the mean varies: it says nothing of a stratum of which no query that
        chance drew was evaluated, nor, where none was left to chance, of queries that lack."""
        drawn, strata = self.sample.inclusion < 1, np.array(self.sample.strata)
        seen = self._at[drawn[self._at]]
        return {*strata[drawn]} == {*strata[seen]} and (len(seen) > 0 or len(self.queries) == len(self.sample))

    def weights(self, queries: Sequence[str]) -> Floats:
        """One weight per query; 0 for one that is not in the sample."""
        known = self._weights.tolist()
        return np.array([known[self.place[query]] if query in self.place else 0.0 for query in queries])

    def effective(self, per: Per) -> float:
        """How many queries of equal weight tell as much about a mean as those left to chance; infinite of a census."""
        return self.with_per(per).drawn(self.queries).effective

    def few(self, *pers: Per) -> list[Doubt]:
        """Why the interval of a mean is only rough: too few queries, by their weights, were left to chance."""
        least = min(pers, key=self.effective)
        effective = self.effective(least)
        if self.sample.fixed or not self._knows_its_error or effective >= FEW_QUERIES:
            return []
        chances = counted(self.drawn(self.queries).chances, "query", "queries")
        words = f"{chances} left to chance, worth {effective:.1f} of equal weight for a mean per {least}"
        rough = f"below {FEW_QUERIES} its interval is only rough; judge more queries"
        return [Doubt("few-queries", f"{self.sample.source}: {words}; {rough}")]

    def doubts(self, per: Per | None = None) -> list[Doubt]:
        """Why the mean, or its interval, should not be trusted as it stands."""
        sample, found = self.sample, []
        if sample.fixed:
            words = "is a fixed list (top): nothing follows about other queries, and there is no interval"
            found.append(Doubt("fixed-list", f"{sample.source} {words}"))
        if sample.blind and (per or self.per) == "search":
            found.append(
                Doubt(
                    "random-per-search",
                    f"{sample.source} was not drawn by traffic: of the mean per search the interval is too narrow, "
                    "because queries of much traffic were hardly drawn; trust the mean per query, or draw by traffic",
                )
            )
        lacking = [query for query in sample.query_ids if query not in self.place]
        if lacking:
            found.append(
                Doubt(
                    "sample-lacking",
                    f"{len(lacking):,} of {counted(len(sample), 'sampled query', 'sampled queries')} "
                    f"({self._share(lacking):.0%} of searches) were not evaluated, such as {lacking[0]!r}: the mean is "
                    "that of queries like the others; judge them (one for which no system finds anything has nothing "
                    "to judge, and is a 0 that the mean lacks)",
                )
            )
        return found

    def _share(self, queries: Sequence[str]) -> float:
        """The share of all searches that these sampled queries stand for."""
        searches = self.sample.traffic / self.sample.inclusion
        return float(searches[[self.sample.place[query] for query in queries]].sum() / searches.sum())

    @property
    def words(self) -> str:
        """What the means and intervals are, in a line."""
        traffic, chance = "weights traffic / inclusion", "weights 1 / inclusion"
        size = f"{len(self.queries):,} of {counted(len(self.sample), 'query', 'queries')}"
        outside = f"; {self.outside:,} evaluated and not in it, left out" if self.outside else ""
        how = "" if self.sample.fixed else f" {self._about}"
        return f"Sample: {self.sample.source}, {size}{outside}. Per search: {traffic}; per query: {chance}.{how}"

    @property
    def _about(self) -> str:
        """The population that intervals are about, and how many queries tell of it."""
        if not self._knows_its_error:
            return "No intervals: too few of the queries that chance drew were evaluated."
        if self.population == "future":
            words = "Intervals are about future searches like those of this log: every query counts as drawn by chance."
        elif not self._drawn.any():
            return f"All {counted(len(self.queries), 'query', 'queries')} of the log: no uncertainty of sampling."
        else:
            words = "Intervals are about this log: how far another draw could move the mean."
        sizes = ", ".join(f"{self.effective(per):,.1f} per {per}" for per in PER)
        return f"{words} Effective number of queries: {sizes}."

    def data(self) -> dict[str, Any]:
        """What JSON holds of it."""
        about = {"source": self.sample.source, "queries": len(self.sample), "evaluated": len(self.queries)}
        sizes = {per: self.effective(per) for per in PER} if not self.sample.fixed and self._knows_its_error else {}
        return about | {
            "per": self.per,
            "population": self.population,
            "effective_queries": {f"per_{per}": size if isfinite(size) else None for per, size in sizes.items()},
            "fixed": self.sample.fixed,
            "warnings": [*self.doubts("search"), *self.few(*PER)],
        }
