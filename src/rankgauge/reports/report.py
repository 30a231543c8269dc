"""Judgments and runs → one page that can be sent to anybody: the answer, the evidence, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from rankgauge import __version__
from rankgauge.comparison.settings import Method, Settings
from rankgauge.errors import InputError, counted
from rankgauge.measures import AnyMeasure, parse_all
from rankgauge.measures.aggregates import query_table
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read import JudgmentsSource, RunSource, read_judgments
from rankgauge.read.named import Runs, named
from rankgauge.read.tables import read_groups_and_numbers, read_texts
from rankgauge.reports.facts import Facts, Source, Wanted, gather
from rankgauge.reports.sections import SECTIONS
from rankgauge.result import Evaluation
from rankgauge.sampling import NO_SAMPLE
from rankgauge.sampling.design import Per, sample_given
from rankgauge.show.data import section_data
from rankgauge.show.model import Chart, Section
from rankgauge.shown import Shown, clean
from rankgauge.trust.judges.sets import Repeated

if TYPE_CHECKING:
    from rankgauge.stats.inference import Population
    from rankgauge.trust.online.align import Alignment

__all__ = ["Report", "Source", "Wanted", "report"]


@dataclass(frozen=True, eq=False, repr=False)
class Report(Shown):
    """A report: `save("report.html")`, where the suffix says which format, or `to_html()`, `to_markdown()`, …"""

    facts: Facts

    def sections(self, **choices: Any) -> list[Section]:
        """What the report tells, part by part."""
        return self._sections

    @cached_property
    def _sections(self) -> list[Section]:
        """Every section that has something to tell, in order."""
        made = []
        for key, (title, tell) in SECTIONS.items():
            blocks = [block for block in tell(self.facts) if self.facts.wanted.charts or not isinstance(block, Chart)]
            made += [Section(key, title, blocks)] if blocks else []
        return made

    @property
    def title(self) -> str:
        """The title given, or what was measured of whom."""
        systems = list(self.facts.results)
        names = " and ".join(systems) if len(systems) < 3 else f"{len(systems)} systems"
        return self.facts.wanted.title or f"{self.facts.measure} of {names}"

    @property
    def subtitle(self) -> str:
        """What the report rests on."""
        facts, first = self.facts, self.facts.results.first
        judged = f"judgments {first.fingerprints['judgments']}"
        if first.judgments is not None and first.judgments.credit:
            judged = f"{first.judgments.credit}, {judged}"
        counts = [counted(len(facts.results), "system"), counted(len(facts.first.queries), "query", "queries")]
        return " · ".join([f"{', '.join(facts.values)}{facts.first.per}", *counts, judged])

    def to_dict(self) -> dict[str, Any]:
        """Everything, every digit: what the sections show, and the comparison and the results behind it."""
        comparison = self.facts.comparison
        return {
            "rankgauge": __version__,
            "title": self.title,
            "subtitle": self.subtitle,
            "command": self.facts.wanted.command,
            "measure": self.facts.measure,
            "focus": list(self.facts.focus),
            **clean(Evaluation.of(self.facts.results).data()),
            "comparison": comparison.to_dict() if comparison is not None else None,
            "examples": [each.to_dict() for each in self.facts.explained],
            "funnel": self.facts.funnel.to_dict() if self.facts.funnel is not None else None,
            "evidence": self.facts.evidence.to_dict(),
            "findings": None if self.facts.findings is None else self.facts.findings.rows(),
            "experiments": None if self.facts.wanted.experiments is None else self.facts.wanted.experiments.to_dict(),
            "sections": [section_data(section) for section in self.sections()],
        }


def report(
    judgments: Any,
    runs: Runs,
    measures: AnyMeasure | Iterable[AnyMeasure] = "nDCG@10",
    *,
    title: str = "",
    by: Any = None,
    weights: Any = None,
    sample: Any = None,
    per: Per = "search",
    population: Population | None = None,
    clusters: Any = None,
    queries: Any = None,
    documents: Any = None,
    experiments: Any = None,
    examples: int = 3,
    charts: bool = True,
    retrieved: Any = None,
    candidates: int | None = None,
    restrict: bool = False,
    keep_going: bool = False,
    command: str = "",
    judge: str = "",
    second: Runs | None = None,
    repeated: Repeated | None = None,
    protocol: Protocol | Rules = DEFAULT,
    baseline: str | None = None,
    method: Method | None = None,
    alpha: float = 0.05,
    flips: int = 100_000,
    seed: int = 0,
) -> Report:
    """Report on runs, a mapping from names or a list of paths; one run is enough.

    `by` are groups of queries; other columns of its table that hold numbers are shown beside the measure. `queries` and
    `documents` are texts by id. `experiments` is a table as `align` takes it, or what that found. `examples` says how
    many queries of each kind are shown rank by rank. `retrieved` is the run that all runs are rerankings of, or its
    name and the run; `candidates` and `restrict` are as `funnel` takes them, `keep_going` as `evaluate_runs` does.
    `second` are the judgments of other judges by their names: how well they agree with the first, who is called
    `judge` (else by the stem of the path), and what they would make of the systems; `repeated` as in `agree`.
    `baseline`, `method`, `alpha`, `flips`, `seed`, `sample`, `per` and `population` are those of `compare`.

    >>> made = report({"q": {"a": 1}, "r": {"b": 1}}, {"x": {"q": {"a": 1.0}, "r": {"c": 1.0}}}, charts=False)
    >>> [section.title for section in made.sections()][:2]
    ['Summary', 'Systems']
    """
    source = _source(judgments, runs, retrieved, second, judge)
    asked = Settings(baseline, method, alpha=alpha, flips=flips, seed=seed)
    groups, numbers = (None, {}) if by is None else read_groups_and_numbers(by)
    wanted = Wanted(
        parse_all(measures),
        Protocol.of(protocol),
        asked,
        title,
        command,
        examples,
        groups,
        numbers,
        None if weights is None else query_table(weights, "weight"),
        None if clusters is None else query_table(clusters, "cluster"),
        {} if queries is None else read_texts(queries, "query_id"),
        {} if documents is None else read_texts(documents, "doc_id"),
        charts,
        _aligned(experiments, asked.alpha),
        candidates,
        restrict,
        repeated,
        keep_going,
        sample=None
        if sample is None and population is None
        else sample_given(sample, weights, per, population) or NO_SAMPLE,
        per=per,
        population=population,
    )
    return Report(gather(source, wanted))


def _aligned(experiments: Any, alpha: float) -> Alignment | None:
    """The alignment of a table of experiments, where there is one."""
    from rankgauge.trust.online.align import Alignment, align

    return experiments if experiments is None or isinstance(experiments, Alignment) else align(experiments, alpha=alpha)


def _source(judgments: Any, runs: Any, retrieved: Any, second: Any, judge: str) -> Source:
    """What is reported on; a run is asked for more than once, and kept where it is small."""
    systems, first = named(runs), {} if retrieved is None else named(retrieved, alone="retrieved")
    others = {} if second is None else named(second, "judges", alone="second")
    if not systems:
        raise InputError("there is no run; give one or more")
    return Source(
        JudgmentsSource.of(judgments),
        {name: _kept(run) for name, run in systems.items()},
        {str(name): _kept(run) for name, run in first.items()},
        {name: read_judgments(each, repeated=True) for name, each in others.items()},
        judge or (next(iter(named(judgments))) if isinstance(judgments, str | PathLike) else "judgments"),
    )


def _kept(run: Any) -> RunSource:
    source = RunSource.of(run)
    return source.kept() if source.is_small else source
