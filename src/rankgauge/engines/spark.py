"""Judgments and runs in Spark: the same `match` and the same measures, for blocks of whole queries where they lie.

    from rankgauge.engines import spark

    evaluation = spark.evaluate(judgments, runs, ["nDCG@10", "R@100"], system="model")
    spark.per_query(evaluation, session)

Every partition cuts its rows into blocks of whole queries and finds the judged documents in them; what is found comes
back, the rows never do. Queries whose rows lie in several places are looked at again with their rows together, those of
millions of documents by counting. The machines of the cluster need rankgauge, too. A frame has the order in which Spark
gives its rows, for rules that look at the order given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rankgauge.engines.blocks import BLOCK, HUGE
from rankgauge.engines.failures import in_one_line
from rankgauge.engines.functions import ARRAYS, register, udf
from rankgauge.engines.jobs import SparkJudgments, SparkRun, is_spark
from rankgauge.engines.labels import Labels
from rankgauge.engines.rows import Rows
from rankgauge.errors import InputError
from rankgauge.evaluate import dialect_under, measure_hits
from rankgauge.matching.match import settled
from rankgauge.measures import AnyMeasure, Measure, parse, parse_all
from rankgauge.protocol import DEFAULT, Duplicates, Protocol, Rules
from rankgauge.read import JudgmentsSource
from rankgauge.read.readers import check_mapped
from rankgauge.result import Evaluation, Result

if TYPE_CHECKING:
    from rankgauge.dialects import Dialect
    from rankgauge.matching.hits import Hits

__all__ = ["ARRAYS", "evaluate", "is_spark", "per_query", "register", "udf"]

BROADCAST: Final = 5_000_000  # judgments that every task may hold


@in_one_line()
def evaluate(
    judgments: Any,
    runs: Any,
    measures: AnyMeasure | Iterable[AnyMeasure] = "nDCG@10",
    *,
    protocol: Protocol | Rules = DEFAULT,
    dialect: str | Dialect | None = None,
    system: str | None = None,
    weights: Any = None,
    by: Any = None,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates | None = None,
    broadcast: int = BROADCAST,
    huge: int = HUGE,
    block: int = BLOCK,
) -> Evaluation:
    """Measure runs that Spark holds against judgments, which Spark or this program holds.

    `runs` is a DataFrame, with `system` as the column that names the systems in it, or DataFrames by the names of their
    systems. `by` and `weights` may name a column of the judgments. More judgments than `broadcast` stay in Spark and
    are brought to the rows of their queries; a query of more documents than `huge` is counted, not collected; `block`
    is how many rows a task looks at together. The other arguments are those of `rankgauge.evaluate`.
    """
    protocol = Protocol.of(protocol)
    protocol = protocol if duplicates is None else replace(protocol, duplicates=duplicates)
    tool = None if dialect is None else dialect_under(dialect, protocol)
    parsed = parse_all(measures, parse if tool is None else tool.written)
    limits: dict[str, Any] = {"rows": _limit("block", block), "huge": _limit("huge", huge)}
    judged = (SparkJudgments if is_spark(judgments) else JudgmentsSource).of(judgments, columns=columns)
    ranked = _named(runs, system, columns)
    check_mapped(columns or {}, [judged, *ranked.values()], "columns:")
    labels = Labels.of(judged, _limit("broadcast", broadcast, 0))
    about = {"groups": labels.groups(by), "weights": labels.weights(weights)}
    results: dict[str, Result] = {}
    for name, run in ranked.items():
        rows = Rows(run, name or "run", system, labels, limits)
        rules = tool.protocol if tool is not None else protocol
        for each in rows.systems(rules):
            results[each or name or "run"] = _result(rows, each, parsed, protocol, tool, about)
    return Evaluation(results)


def per_query(evaluation: Evaluation | Result, session: Any) -> Any:
    """The value of every query as a DataFrame of a Spark session: system, query_id and a column for each measure."""
    import polars as pl

    results = [*Evaluation.of([evaluation] if isinstance(evaluation, Result) else evaluation).values()]
    frames = [each.per_query.insert_column(0, pl.lit(each.name).alias("system")) for each in results]
    return session.createDataFrame(pl.concat(frames).to_arrow(compat_level=pl.CompatLevel.oldest()))


def _limit(name: str, given: Any, least: int = 1) -> int:
    """A limit, if it can be one."""
    if not isinstance(given, int) or given < least:
        raise InputError(f"{name}={given!r}: expected a whole number, {least} or more")
    return given


def _named(runs: Any, system: str | None, columns: Mapping[str, str] | None) -> dict[str, SparkRun]:
    """Name → run."""
    named = dict(runs) if isinstance(runs, Mapping) else {"": runs}
    if not named:
        raise InputError("there are no runs; give a DataFrame, or DataFrames by the names of their systems")
    for name, frame in named.items():
        if not isinstance(frame, SparkRun) and not is_spark(frame):
            what = f"run {name!r}" if name else "runs"
            raise InputError(f"{what}: expected a DataFrame of Spark, got a {type(frame).__name__}")
    if system is not None and "" not in named:
        raise InputError("system= names a column of one DataFrame; these have their names already")
    return {name: SparkRun.of(frame, columns=columns) for name, frame in named.items()}


def _result(
    rows: Rows, system: str, measures: list[Measure], protocol: Protocol, dialect: Dialect | None, about: Any
) -> Result:
    """The measures of one system."""

    def hits_under(rules: Protocol) -> Hits:
        hits = settled(rows.found(rules, system), rules)
        rows.warn_if_nothing_found(hits, rules, system)
        return hits

    def kept(hits: Hits) -> dict[str, Any]:
        name = system or rows.name
        return {"name": name, "judgments": rows.labels.record, "peek": rows.peek(hits, system)}

    return measure_hits(hits_under, measures, protocol, dialect, kept, **about)
