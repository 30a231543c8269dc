"""How far judgments can be trusted: what they hold, what they leave open, and what an error in them would do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from rankgauge.errors import InputError, unknown
from rankgauge.matching.grades import numbered
from rankgauge.measures import AnyMeasure, parse
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read import Judgments, read_judgments
from rankgauge.read.named import Runs, named
from rankgauge.shown import Shown
from rankgauge.trust.judgments.coverage import (
    LeftOut,
    PairCoverage,
    RunCoverage,
    cover_pairs,
    cover_run,
    leave_one_run_out,
)
from rankgauge.trust.judgments.noise import LabelNoise, label_noise
from rankgauge.trust.unjudged.choose import ToJudge, to_judge
from rankgauge.trust.unjudged.sheet import Sheet, grades_of, sheet_of

if TYPE_CHECKING:
    import polars as pl


__all__ = ["LabelNoise", "LeftOut", "Quality", "Summary", "ToJudge", "label_noise", "quality", "summarise"]


class Summary(NamedTuple):
    """Counts of judgments: by grade, by query, and the queries that can tell no systems apart."""

    source: str
    queries: int
    judgments: int
    grades: dict[float, int]
    without_relevant: list[str]
    one_grade: list[str]
    fewest: int
    median: float
    mean: float
    most: int

    @property
    def negative(self) -> int:
        """How many are of negative grade: pooled, and left without a grade."""
        return sum(count for grade, count in self.grades.items() if grade < 0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        per_query = {"min": self.fewest, "median": self.median, "mean": self.mean, "max": self.most}
        return {
            "source": self.source,
            "queries": self.queries,
            "judgments": self.judgments,
            "grades": {f"{grade:g}": count for grade, count in self.grades.items()},
            "queries_without_relevant": self.without_relevant,
            "queries_with_one_grade": self.one_grade,
            "judgments_per_query": per_query,
        }


def summarise(judgments: Judgments, protocol: Protocol) -> Summary:
    """The summary of judgments; relevant is what the protocol calls so."""
    rows = numbered(judgments)
    grades, counts = np.unique(rows.number, return_counts=True)
    highest, lowest = np.full(len(rows.queries), -np.inf), np.full(len(rows.queries), np.inf)
    np.maximum.at(highest, rows.query, rows.number)
    np.minimum.at(lowest, rows.query, rows.number)
    nothing = highest < protocol.rel if protocol.rel > 0 else highest < 0
    per_query = np.bincount(rows.query, minlength=len(rows.queries))

    def named(chosen: Any) -> list[str]:
        return sorted(query for query, taken in zip(rows.queries, chosen.tolist(), strict=True) if taken)

    return Summary(
        judgments.source,
        len(rows.queries),
        len(rows),
        dict(zip(grades.tolist(), counts.tolist(), strict=True)),
        named(nothing),
        named(highest == lowest),
        int(per_query.min()),
        float(np.median(per_query)),
        float(per_query.mean()),
        int(per_query.max()),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Quality(Shown):
    """What is known of a set of judgments: `print(quality)` is the tables, `to_dict()` the JSON.

    With runs: how much of them is judged, and the interval that the rest leaves open, of each and of every pair.
    """

    shown_by: ClassVar[str] = "judgments"

    summary: Summary
    measure: str
    left_out: list[LeftOut] = field(default_factory=list)
    noise: LabelNoise | None = None
    sheet: Sheet | None = None
    seed: int = 0
    chosen: Sequence[tuple[str, str]] | None = None  # pairs of runs, where not all of them are wanted

    @property
    def title(self) -> str:
        """What this is about."""
        return f"Judgments in {self.summary.source}"

    @cached_property
    def runs(self) -> list[RunCoverage]:
        """Each run: the judged share, the value, the interval, the condensed and the expected value."""
        sheet = self.sheet
        return [cover_run(sheet, name, self.seed) for name in sheet.results] if sheet is not None else []

    @cached_property
    def pairs(self) -> list[PairCoverage]:
        """Each pair of runs: the judged share of both, and the interval of the difference."""
        return cover_pairs(self.sheet, self.chosen) if self.sheet is not None else []

    def run(self, name: str) -> RunCoverage:
        """What was found for a run."""
        return _known(name, {each.name: each for each in self.runs})

    def pair(self, a: str, b: str) -> PairCoverage:
        """What was found for a − b."""
        known = {f"{each.a} − {each.b}": each for each in self.pairs}
        if self.sheet is not None and f"{b} − {a}" in known:
            return cover_pairs(self.sheet, [(a, b)])[0]
        return _known(f"{a} − {b}", known)

    def to_judge(self, number: int = 10, settle: Sequence[str] = ()) -> list[ToJudge]:
        """The pairs whose judgment would narrow the intervals most; `settle`: that of the difference of two runs."""
        if self.sheet is None:
            raise InputError("what to judge next depends on runs; give one or more")
        return to_judge(self.sheet, number, settle)

    def data(self, *, per_query: bool = False, asked_only: bool = False) -> dict[str, Any]:
        """Everything that JSON holds; the queries where they are asked for."""
        data: dict[str, Any] = {"judgments": self.summary.to_dict()}
        if self.sheet is not None:
            data |= {"measure": self.measure, "grades": self.sheet.scale.grades.tolist()}
            data |= {"protocol": self.sheet.protocol.to_dict(), "runs": [each.to_dict() for each in self.runs]}
            data["pairs"] = [each.to_dict() for each in self.pairs]
        if self.left_out:
            data["left_out"] = [each._asdict() | {"lost": each.lost} for each in self.left_out]
        if self.noise is not None:
            data["noise"] = self.noise.to_dict()
        return data | ({"per_query": self.to_frame().to_dicts()} if per_query else {})

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per run and query: value, interval, open documents, condensed, expected."""
        import polars as pl

        frames = []
        for each in self.runs:
            frame = each.bounds.to_frame().insert_column(0, pl.lit(each.name).alias("run"))
            columns = {"condensed": each.condensed_per_query, "expected": each.expected_per_query}
            columns["judged"] = each.judged_per_query
            frames.append(frame.with_columns(pl.Series(n, c, nan_to_null=True) for n, c in columns.items()))
        return pl.concat(frames) if frames else pl.DataFrame()


def quality(
    judgments: Any,
    runs: Runs | None = None,
    measure: AnyMeasure = "nDCG@10",
    *,
    scale: Iterable[float] | None = None,
    leave_one_out: bool = False,
    pool_depth: int | None = None,
    error_rate: float | None = None,
    confusion: Any = None,
    draws: int = 1_000,
    seed: int = 0,
    protocol: Protocol | Rules = DEFAULT,
) -> Quality:
    """How complete judgments are, and with runs how far their values can be trusted.

    `scale`: the grades there are (else those that are used). `leave_one_out` asks how unfair the judgments are to a run
    that had no part in choosing what to judge; `error_rate` or `confusion` what wrong labels would do.

    >>> quality({"q": {"a": 2, "b": 0}}).summary.grades
    {0.0: 1, 2.0: 1}
    """
    protocol = Protocol.of(protocol)
    judged = read_judgments(judgments)
    summary, measure = summarise(judged, protocol), parse(str(measure))
    scale = list(scale) if scale is not None else None
    systems = {} if runs is None else named(runs)
    if not systems:
        if leave_one_out or error_rate is not None or confusion is not None:
            raise InputError("leaving runs out and label noise are about runs; give one or more")
        grades_of(np.array(list(summary.grades)), scale)
        return Quality(summary, str(measure))
    sheet = sheet_of(judged, systems, measure, grades=scale, protocol=protocol)
    noise = None
    if error_rate is not None or confusion is not None:
        noise = label_noise(judged, sheet.runs, measure, error_rate=error_rate, confusion=confusion, scale=scale,
                            draws=draws, seed=seed, protocol=protocol)  # fmt: skip
    if leave_one_out and len(systems) < 2:
        raise InputError("leaving a run out of the pool needs two runs or more")
    left_out = leave_one_run_out(sheet, pool_depth) if leave_one_out else []
    return Quality(summary, str(measure), left_out, noise, sheet, seed)


Found = TypeVar("Found")


def _known(name: str, known: Mapping[str, Found]) -> Found:
    if name not in known:
        raise InputError(unknown(f"there is no {name}", name, known, "" if known else "there are no runs"))
    return known[name]
