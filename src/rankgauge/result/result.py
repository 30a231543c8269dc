"""Result: the values of one run, with everything that is needed to trust and to repeat them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import InputError, MeasureError
from rankgauge.measures import Measure, parse
from rankgauge.measures.aggregates import AGGREGATES, aggregate, quantile
from rankgauge.measures.bands.notes import open_values
from rankgauge.result.evaluation import Evaluation
from rankgauge.shown import Shown

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dialects import Dialect
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.matching.hits import Hits
    from rankgauge.measures.bands.bands import Band, TieBand
    from rankgauge.measures.bands.notes import TieNote
    from rankgauge.protocol import Protocol
    from rankgauge.read import Judgments
    from rankgauge.sampling.design import Design, Per
    from rankgauge.sampling.sample import Sample
    from rankgauge.show.model import Page
    from rankgauge.stats.estimate import Estimate
    from rankgauge.stats.inference import Population, Queries
    from rankgauge.validation.quick import Peek

__all__ = ["SAME", "Result"]

SAME = 5e-13  # values less apart are equal


@dataclass(frozen=True, eq=False, repr=False)
class Result(Shown, Mapping[str, float]):
    """The values of one run: `result["nDCG@10"]` is the mean over queries.

    A mapping from measure to mean (sum for counts, geometric mean for gm_map), with the values of every query, other
    aggregates, groups of queries, counts, the judged share, the protocol, definitions and a fingerprint. In a dialect,
    `own_hits` has what each measure was computed of.
    """

    name: str
    hits: Hits
    measured: dict[Measure, Floats]
    weights: Floats | None = None
    groups: dict[str, Bools] = field(default_factory=dict)
    selected: Bools | None = None
    dialect: Dialect | None = None
    judgments: Judgments | None = None
    peek: Peek | None = None
    own_hits: dict[Measure, Hits] = field(default_factory=dict)
    design: Design | None = None
    ignored_sample: str = ""  # that the run was made for, where nobody said whether its means are wanted

    # ---- one number -------------------------------------------------------------------------------------------------

    def __getitem__(self, measure: str | Measure) -> float:
        found = self.measure(measure)
        value = aggregate(self.own_aggregate(found), *self._counted(found))
        rounding = self.dialect.round_mean if self.dialect is not None else None
        return value if rounding is None else rounding(value)

    def __contains__(self, measure: object) -> bool:
        try:
            return isinstance(measure, (str, Measure)) and self.measure(measure) in self.measured
        except MeasureError:
            return False

    def get(self, measure: Any, default: Any = None) -> Any:
        """The value of a measure, or the default if it was not evaluated."""
        if measure not in self:
            return default
        return self[measure]

    def __iter__(self) -> Iterator[str]:
        return map(str, self.measured)

    def __len__(self) -> int:
        return len(self.measured)

    def own_aggregate(self, measure: Measure) -> str:
        """Which aggregate is the measure's value: the mean of most; in a dialect, what the tool takes."""
        own = "" if self.dialect is None else self.dialect.own(measure).aggregate
        return own or measure.definition.own_aggregate

    def aggregate(self, name: str, measure: str | Measure) -> float:
        """An aggregate by name: mean, median, geometric_mean, trimmed_mean, std, min, q25, q75, max, sum."""
        if name not in AGGREGATES:
            raise MeasureError(f"unknown aggregate {name!r}; there are {', '.join(AGGREGATES)}")
        return aggregate(name, *self._counted(self.measure(measure)))

    def median(self, measure: str | Measure) -> float:
        """The median over queries."""
        return self.aggregate("median", measure)

    def geometric_mean(self, measure: str | Measure) -> float:
        """The geometric mean over queries, each value at least 0.00001."""
        return self.aggregate("geometric_mean", measure)

    def trimmed_mean(self, measure: str | Measure) -> float:
        """The mean without the lowest and the highest tenth of the queries."""
        return self.aggregate("trimmed_mean", measure)

    def std(self, measure: str | Measure) -> float:
        """The standard deviation over queries."""
        return self.aggregate("std", measure)

    def quantile(self, measure: str | Measure, q: float) -> float:
        """A quantile over queries."""
        values, weights = self._counted(self.measure(measure))
        counted = ~np.isnan(values)
        return quantile(values[counted], q, None if weights is None else weights[counted])

    def summary(self, measure: str | Measure) -> dict[str, float]:
        """Every aggregate of a measure."""
        return {name: self.aggregate(name, measure) for name in AGGREGATES if name != "sum"}

    def of_sample(self, sample: Sample, per: Per, population: Population | None = None) -> Result:
        """The same values of the queries of a sample alone, as means of its log."""
        from rankgauge.sampling.design import Design

        design = Design.of(sample, self.hits.queries, per, population)
        inside: Bools = np.array([query in design.place for query in self.hits.queries], bool)
        chosen, weights = None if inside.all() else inside, design.weights(self.hits.queries)
        return replace(self, design=design, weights=weights, selected=chosen, ignored_sample="")

    def per(self, what: Per) -> Result:
        """The same result as means per search or per query of the sampled log."""
        if self.design is None:
            raise InputError(f"a mean per {what} is that of a log; evaluate with a sample of it: sample=")
        design = self.design.with_per(what)
        return replace(self, design=design, weights=design.weights(self.hits.queries))

    def estimate(self, measure: str | Measure, alpha: float = 0.05) -> Estimate:
        """The value with its interval, of a sample about its population; without ends where it is no mean."""
        from rankgauge.stats.estimate import Estimate
        from rankgauge.stats.inference import mean_estimates

        found = self.measure(measure)
        values = self._selected(self.measured[found])
        if self.own_aggregate(found) != "mean" or found in self.undefined or np.isnan(values).all():
            return Estimate(self[found])
        counted: Bools = ~np.isnan(values)
        bounded = found.definition.bounded
        (estimate,) = mean_estimates([values[counted]], self._drawn(counted), bounded=bounded, alpha=alpha)
        return estimate._replace(value=self[found])

    def _drawn(self, counted: Bools) -> Queries:
        """How the queries that count weigh, and how chance drew them."""
        from rankgauge.stats.inference import Queries

        if self.design is not None:
            return self.design.drawn([query for query, is_one in zip(self.query_ids, counted, strict=True) if is_one])
        weights = None if self.weights is None else self._selected(self.weights)[counted]
        return Queries(int(counted.sum()), weights)

    # ---- every query ------------------------------------------------------------------------------------------------

    @property
    def query_ids(self) -> list[str]:
        """The queries that were evaluated, in code-point order of their ids."""
        if self.selected is None:
            return self.hits.queries
        return [query for query, chosen in zip(self.hits.queries, self.selected.tolist(), strict=True) if chosen]

    @property
    def per_query(self) -> pl.DataFrame:
        """A polars frame: `query_id` and a column per measure; null where the protocol leaves a query out."""
        import polars as pl

        columns: dict[str, Any] = {"query_id": pl.Series(self.query_ids, dtype=pl.String)}
        for measure in self.measured:
            values = self._selected(self.measured[measure])
            texts = values.dtype == object
            columns[str(measure)] = pl.Series(values.tolist() if texts else values, nan_to_null=not texts)
        return pl.DataFrame(columns)

    def to_pandas(self) -> Any:
        """The values of every query as a pandas frame (needs pandas)."""
        import pandas as pd

        columns = {str(measure): self._selected(values) for measure, values in self.measured.items()}
        return pd.DataFrame({"query_id": self.query_ids, **columns})

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Query → measure → value; queries that the protocol leaves out of a measure are not there."""
        result: dict[str, dict[str, float]] = {query: {} for query in self.query_ids}
        for measure, values in self.measured.items():
            for query, value in zip(self.query_ids, self._selected(values).tolist(), strict=True):
                if value == value:
                    result[query][str(measure)] = value
        return result

    def ties(self, measure: str | Measure) -> TieBand:
        """What the order of equal scores makes of a measure: value, expectation, smallest and largest."""
        return self._ties(self.measure(measure), expect=True)

    @cached_property
    def undefined(self) -> dict[Measure, TieBand]:
        """Measure → its tie bands, where the dialect's tool does not define the order of equal scores and it matters:
        there the tool may give any value from the lowest to the highest."""
        undefined = [m for m in self.measures if self.dialect is not None and self.dialect.own(m).undefined_ties]
        if not undefined:
            return {}
        from rankgauge.measures.bands.bands import is_text

        bands = {m: self._settled(m, self._ties(m, expect=False)) for m in undefined if not is_text(m)}
        return {measure: band for measure, band in bands.items() if (band.high - band.low > SAME).any()}

    def _ties(self, measure: Measure, *, expect: bool) -> TieBand:
        from rankgauge.measures.bands.bands import tie_band

        computed, hits = self.computed(measure)
        band = tie_band(hits, computed, weights=self.weights, chosen=self.selected, expect=expect)
        if self.dialect is None:
            return band
        own = self.dialect.own(measure)
        value, low, high = map(own.values, (band.value, band.low, band.high))
        rounding, taken = self.dialect.round_mean, self.own_aggregate(measure)
        if own.log and band.draws is not None:
            draws = own.values(band.draws)
            band = replace(band, draws=draws, expected=np.where(np.isnan(band.expected), np.nan, draws.mean(axis=0)))
        elif own.log:
            band = replace(band, expected=own.values(band.expected))
        return replace(band, measure=measure, value=value, low=low, high=high, rounding=rounding, own_aggregate=taken)

    def _settled(self, measure: Measure, band: TieBand) -> TieBand:
        """The bands with those queries settled in which the tool's order of ties is known."""
        _, hits = self.computed(measure)
        known = self._selected(hits.retrieved) <= (self.dialect.stable_up_to if self.dialect else 0)
        low, high = (np.where(known, band.value, end) for end in (band.low, band.high))
        return replace(band, low=low, high=high, exact=band.exact | known)

    def computed(self, measure: Measure) -> tuple[Measure, Hits]:
        """What is computed under the name of a measure, and of what: in a dialect, the tool's own definition of it."""
        if self.dialect is None:
            return measure, self.hits
        return self.dialect.own(measure).measure, self.own_hits.get(measure, self.hits)

    # ---- what to know about it --------------------------------------------------------------------------------------

    @property
    def measures(self) -> list[Measure]:
        """The measures, in the order asked for."""
        return list(self.measured)

    @property
    def protocol(self) -> Protocol:
        """The rules of this evaluation."""
        return self.hits.protocol

    @property
    def by(self) -> dict[str, Result]:
        """Group of queries → the result of these queries alone."""
        return {
            name: replace(self, name=name, groups={}, selected=self._within(chosen))
            for name, chosen in self.groups.items()
            if self._within(chosen).any()
        }

    @property
    def group_of_query(self) -> list[str]:
        """For each query the name of its group, or nothing."""
        names = [""] * len(self.query_ids)
        for name, chosen in self.groups.items():
            for index in np.flatnonzero(self._selected(chosen)).tolist():
                names[index] = name
        return names

    @cached_property
    def counts(self) -> dict[str, int]:
        """Queries: evaluated, answered, missing from the run, without relevant documents, in the run but not judged."""
        chosen = slice(None) if self.selected is None else self.selected
        relevant = self.hits.relevant_judged()[chosen]
        answered = int(self.hits.answered[chosen].sum())
        return {
            "queries": len(relevant),
            "answered": answered,
            "missing": self.hits.missing if self.selected is None else len(relevant) - answered,
            "without_relevant": int((relevant == 0).sum()),
            "unjudged": self.hits.left_out if self.selected is None else 0,
        }

    @cached_property
    def averaged(self) -> dict[Measure, int]:
        """Measure → the number of queries that its value is taken of, without those that the rules leave out."""
        numbers = {each: self._selected(values) for each, values in self.measured.items() if values.dtype.kind != "O"}
        return {each: int((~np.isnan(values)).sum()) for each, values in numbers.items()}

    @property
    def evaluated(self) -> int:
        """The number of queries behind the first measure that is no sum; of all, where there is none."""
        means = [number for each, number in self.averaged.items() if self.own_aggregate(each) != "sum"]
        return means[0] if means else self.counts["queries"]

    @cached_property
    def judged(self) -> dict[int, float]:
        """Cut-off → mean share of the documents up to it that are judged, of answered queries; every cut-off in use."""
        cutoffs = sorted({m.cutoff for m in self.measured if isinstance(m.cutoff, int)}) or [10]
        answered = self._selected(self.hits.answered)
        shares = {k: self._selected(parse(f"Judged@{k}")(self.hits))[answered] for k in cutoffs}
        return {k: float(share.mean()) if len(share) else float("nan") for k, share in shares.items()}

    @property
    def definitions(self) -> dict[str, str]:
        """Measure → what it is, in words; in a dialect, with the tool's own definition before it."""
        own = {measure: self.computed(measure)[0] for measure in self.measured}
        before = {measure: f"{own[measure]}: " if self.dialect else "" for measure in self.measured}
        return {str(measure): before[measure] + own[measure].describe() for measure in self.measured}

    @property
    def notes(self) -> list[str]:
        """What to know about the numbers, a line each: equal scores that leave them open, findings of quick checks."""
        return Evaluation.of([self]).notes

    @property
    def quiet(self) -> bool:
        """Whether there is surely nothing to warn of: no sample, nothing told of the labels, no equal scores, and no
        tool's own rules."""
        told = self.judgments is not None and self.judgments.told
        return self.design is None and not (told or self.ignored_sample or self.hits.open or self.own_hits)

    @cached_property
    def open_values(self) -> list[TieNote]:
        """The measures whose first four decimals depend on the order of equal scores."""
        return open_values(self)

    @cached_property
    def oddities(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """What the quick checks find in the judgments, and in the run: a code and words each."""
        from rankgauge.validation.quick import quick_checks

        return quick_checks(self)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what was matched and of the protocol: equal content in any format gives one value."""
        import hashlib

        hits, digest = self.hits, hashlib.sha256()
        digest.update(repr(sorted(self.protocol.to_dict().items())).encode())
        if self.dialect is not None:
            digest.update(self.dialect.name.encode())
        digest.update("\n".join(hits.queries).encode())
        whole: tuple[Ints, ...] = (hits.retrieved, hits.judged, hits.query, hits.rank, hits.first, hits.tied)
        for ints in (*whole, hits.judgment_query):
            digest.update(np.ascontiguousarray(ints, "<i8").tobytes())
        for floats in (hits.grade, hits.judgment_grade):
            digest.update(np.ascontiguousarray(floats + 0.0, "<f8").tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def fingerprints(self) -> dict[str, str | None]:
        """Hashes of the judgments and of the rules alone: what two results that are compared must share."""
        import hashlib

        rules = repr(sorted(self.protocol.to_dict().items())) + (self.dialect.name if self.dialect else "")
        return {
            "judgments": self.judgments.fingerprint if self.judgments is not None else None,
            "protocol": hashlib.sha256(rules.encode()).hexdigest()[:16],
        }

    # ---- how it is shown --------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What was measured, of whom."""
        return f"{', '.join(self)} of {self.name}"

    def page(self, **choices: Any) -> Page:
        """What is shown of a single run."""
        return Evaluation.of([self]).page(**choices)

    def value_or_band(self, measure: Measure) -> float | Band:
        """A measure's value, or its band where the dialect's tool may give any value in it."""
        band = self.undefined.get(measure)
        return self[measure] if band is None else band.mean._replace(value=float("nan"))

    def query_rows(self) -> Iterator[tuple[str, str, list[Any]]]:
        """For each query its id, its group, and its values or their bands."""
        columns = [self._query_column(measure) for measure in self.measured]
        groups = self.group_of_query if self.groups else [""] * len(self.query_ids)
        for query, group, *values in zip(self.query_ids, groups, *columns, strict=True):
            yield query, group, values

    def _query_column(self, measure: Measure) -> list[Any]:
        values: list[Any] = self._selected(self.measured[measure]).tolist()
        bands = self.undefined.get(measure)
        if bands is None:
            return values
        uncertain = (bands.high != bands.low).tolist()
        nothing = float("nan")  # any value in the band, so no value
        return [bands.at(at)._replace(value=nothing) if uncertain[at] else value for at, value in enumerate(values)]

    # ---- inside -----------------------------------------------------------------------------------------------------

    def measure(self, measure: str | Measure) -> Measure:
        """The measure that was evaluated under this name; an error where none was."""
        read = parse if self.dialect is None else self.dialect.written
        found = measure if isinstance(measure, Measure) else read(measure)
        if found not in self.measured:
            raise MeasureError(f"{found} was not evaluated; there are {', '.join(self)}")
        return found

    def _selected(self, values: Any) -> Any:
        return values if self.selected is None else values[self.selected]

    def _within(self, chosen: Bools) -> Bools:
        return chosen if self.selected is None else chosen & self.selected

    def _counted(self, measure: Measure) -> tuple[Floats, Floats | None]:
        weights = None if self.weights is None else self._selected(self.weights)
        return self._selected(self.measured[measure]), weights

    __eq__ = object.__eq__
    __hash__ = object.__hash__
