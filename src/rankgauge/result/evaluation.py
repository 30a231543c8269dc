"""Evaluation: several runs measured on the same judgments, with what is common to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, ClassVar

from rankgauge.errors import Doubt
from rankgauge.measures import Measure
from rankgauge.measures.bands.notes import tie_notes, tie_warnings
from rankgauge.shown import Shown

if TYPE_CHECKING:
    from rankgauge.dialects import Dialect
    from rankgauge.measures.bands.bands import Band
    from rankgauge.protocol import Protocol
    from rankgauge.result.result import Result

__all__ = ["Evaluation", "TieBands", "judged_words"]


def judged_words(results: Iterable[Result], k: int) -> str:
    """What `Result.judged` is called: where queries went unanswered, it is not the measure, which counts these as 0."""
    unanswered = any(each.counts["answered"] < each.counts["queries"] for each in results)
    return f"Judged@{k}{' of answered queries' * unanswered}"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Shown, Mapping[str, "Result"]):
    """Several runs measured on the same judgments under the same rules: name → Result, in the order given.

    What is common to all of them is here, and `notes` has what to know about the numbers, over all runs.
    """

    shown_by: ClassVar[str] = "evaluation"

    results: dict[str, Result]

    @classmethod
    def of(cls, results: Mapping[str, Result] | Iterable[Result]) -> Evaluation:
        """Results that belong together, by the names given or by their own."""
        if isinstance(results, Evaluation):
            return results
        return cls(dict(results) if isinstance(results, Mapping) else {result.name: result for result in results})

    def __getitem__(self, name: str) -> Result:
        return self.results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def first(self) -> Result:
        """The result of the first run."""
        return next(iter(self.results.values()))

    @property
    def protocol(self) -> Protocol:
        """The rules of this evaluation."""
        return self.first.protocol

    @property
    def dialect(self) -> Dialect | None:
        """The dialect in which runs were measured, if any."""
        return self.first.dialect

    @property
    def definitions(self) -> dict[str, str]:
        """Measure → what it is, in words."""
        return self.first.definitions

    @property
    def ties(self) -> list[str]:
        """What other orders of equal scores would give, where that matters."""
        return tie_notes([*self.values()])

    @property
    def checks(self) -> list[str]:
        """What the quick checks found, a line each."""
        from rankgauge.validation.quick import quick_notes

        return quick_notes([*self.values()])

    @property
    def alarms(self) -> list[Doubt]:
        """What the quick checks found that no number should be read without: scores or grades that look reversed, ids
        that are written differently."""
        from rankgauge.validation.quick import quick_alarms

        return quick_alarms([*self.values()])

    @property
    def notes(self) -> list[str]:
        """What to know about the numbers, a line each: equal scores that leave them open, findings of quick checks."""
        return [*self.ties, *self.checks]

    @property
    def warnings(self) -> list[str]:
        """Why not to trust the sample, and every run in which equal scores decide about more than 0.005."""
        return [doubt.text for doubt in self.doubts] + tie_warnings([*self.results.values()])

    @property
    def doubts(self) -> list[Doubt]:
        """Why not to trust the labels, and the means per search and per query, as they stand."""
        designs = [result.design for result in self.results.values() if result.design is not None]
        sampled = dict.fromkeys(doubt for design in designs for doubt in design.doubts("search")) if designs else ()
        return [*sampled, *self.source_doubts]

    @property
    def few(self) -> list[Doubt]:
        """Why the intervals of a sample's means are only rough, where they are."""
        return [] if self.first.design is None else self.first.design.few("search", "query")

    @property
    def source_doubts(self) -> list[Doubt]:
        """Why not to trust what was measured: plain means of runs that were made for a sample, labels of a judge whom
        nobody checked, or of a system's own model family."""
        made_for = {each.ignored_sample: name for name, each in self.results.items() if each.ignored_sample}
        return [*(ignored_sample(name, sample) for sample, name in made_for.items()), *self.label_doubts]

    @property
    def names(self) -> list[str]:
        """The names of systems and judges, which keep their first letter in a sentence."""
        judgments = self.first.judgments
        return [*self.results, *(judgments.judges if judgments is not None else ())]

    @property
    def label_doubts(self) -> list[Doubt]:
        judgments = self.first.judgments
        if judgments is None or not judgments.told:
            return []
        from rankgauge.validation.labels import doubts_of_labels

        models = {name: () if each.peek is None else each.peek.models for name, each in self.results.items()}
        return doubts_of_labels(judgments, models)

    @property
    def measures(self) -> list[Measure]:
        """The measures, in the order asked for."""
        return self.first.measures

    # ---- how it is shown --------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What was measured, of whom."""
        return f"{', '.join(self.first)} of {', '.join(self)}"

    @property
    def tie_bands(self) -> TieBands:
        """What the order of equal scores leaves open, of every run and measure."""
        return TieBands(self)

    def data(self, *, per_query: bool = False) -> dict[str, Any]:
        """What JSON holds: everything about every run; with `per_query` the value of every query too."""
        first = self.first
        return {
            "runs": [_run_data(result, per_query) for result in self.values()],
            "protocol": first.protocol.to_dict(),
            **({"dialect": first.dialect.name} if first.dialect else {}),
            **({"labels": first.judgments.stored} if first.judgments is not None and first.judgments.stored else {}),
            **({"sample": first.design.data()} if first.design is not None else {}),
            "definitions": first.definitions,
            "notes": self.notes,
            **({"warnings": self.source_doubts} if self.source_doubts else {}),
            **({"fingerprints": first.fingerprints} if per_query else {}),
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything about every run, and the value of every query."""
        return super().to_dict(per_query=True)

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def ignored_sample(run: str, sample: str) -> Doubt:
    """The doubt about plain means of a run that was made for a sample: they are not those of the log."""
    return Doubt(
        "sample-ignored",
        f"{run} was made for a sample, @{sample}: values are plain means over judged queries, and not those of its "
        f"log; give sample=project.sample({sample!r}), or sample='none' where plain means are wanted",
    )


def _run_data(result: Result, per_query: bool) -> dict[str, Any]:
    data = {
        "run": result.name,
        **_part_data(result),
        "counts": result.counts,
        "judged": result.judged,
        "notes": result.notes,
        "fingerprint": result.fingerprint,
    }
    if result.groups:
        data["groups"] = {name: _part_data(part) for name, part in result.by.items()}
    return data | ({"per_query": _per_query_data(result)} if per_query else {})


def _part_data(result: Result) -> dict[str, Any]:
    measures = {str(measure): _measure_data(result, measure) for measure in result.measures}
    return {"queries": result.counts["queries"], "measures": measures}


def _per_query_data(result: Result) -> dict[str, dict[str, Any]]:
    """Query → measure → value, or both ends of its band."""
    data: dict[str, dict[str, Any]] = dict(result.to_dict())
    for measure, bands in result.undefined.items():
        for place, query in enumerate(bands.queries):
            band = bands.at(place)
            if band.low != band.high:
                data[query][str(measure)] = {"value": None, "low": band.low, "high": band.high, "exact": band.exact}
    return data


def _measure_data(result: Result, measure: Measure) -> Mapping[str, Any]:
    band = result.undefined.get(measure)
    if band is not None:
        ends = band.mean
        return {"mean": None, "value": None, "low": ends.low, "high": ends.high, "exact": ends.exact}
    queries = {"queries": result.averaged[measure]} if measure in result.averaged else {}
    return {"value": result[measure], **result.summary(measure), **queries, **_sample_data(result, measure)}


def _sample_data(result: Result, measure: Measure) -> dict[str, Any]:
    """The means of a sample, both with their intervals."""
    if result.design is None:
        return {}
    return {"per_search": result.per("search").estimate(measure), "per_query": result.per("query").estimate(measure)}


@dataclass(frozen=True, eq=False, repr=False)
class TieBands(Shown):
    """What the order of equal scores leaves open: value, lowest, expected and highest of every run and measure."""

    shown_by: ClassVar[str] = "evaluation:band_sections"

    evaluation: Evaluation

    @property
    def title(self) -> str:
        """What this is about."""
        return f"Equal scores: {self.evaluation.title}"

    def rows(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """A row per run and measure, or per query."""
        return [*self._rows(per_query)]

    def _rows(self, per_query: bool) -> Iterator[dict[str, Any]]:
        from rankgauge.measures.bands.bands import is_text

        for result in self.evaluation.values():
            for measure in filterfalse(is_text, result.measures):
                ties, lead = result.ties(measure), {"run": result.name, "measure": str(measure)}
                if per_query:
                    yield from (lead | {"query_id": query} | _band_data(ties[query]) for query in ties.queries)
                else:
                    yield lead | _band_data(ties.mean)

    def data(self, *, per_query: bool = False) -> dict[str, Any]:
        """What JSON holds."""
        return {"ties": self.rows(per_query=per_query)}


def _band_data(band: Band) -> dict[str, Any]:
    data: dict[str, Any] = {"value": band.value, "low": band.low, "expected": band.expected, "high": band.high}
    return data | {"exact": band.exact, "standard_error": band.error}
