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

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from rankgauge.engines.blocks import (
    BLOCK,
    HUGE,
    KIND,
    Block,
    Judged,
    Task,
    blocks_of,
    packed,
    shipped,
    unanswered,
    unpacked,
)
from rankgauge.engines.failures import in_one_line
from rankgauge.engines.joined import Universe, apart, found_in, sizes_of, without
from rankgauge.engines.sparse import Key, Target, added, blocks_of_counts, counted_in, targets_of
from rankgauge.errors import DuplicateError, InputError, MeasureError, ProtocolError, counted, unknown, warn
from rankgauge.evaluate import dialect_under, measure_hits
from rankgauge.matching.diagnose import warn_if_nothing_found
from rankgauge.matching.duplicates import judgments_once
from rankgauge.matching.match import settled
from rankgauge.measures import AnyMeasure, Measure, parse, parse_all
from rankgauge.measures.aggregates import groups_of, query_table
from rankgauge.protocol import DEFAULT, REPEATING, Duplicates, Protocol, Rules
from rankgauge.read import Judgments, Run, read_judgments
from rankgauge.read.frames import frame_columns
from rankgauge.read.names import WhereThere, ask_of, find_columns, number_role
from rankgauge.read.rows import Ask, how_to_mend, no_rows
from rankgauge.result import Evaluation, Result
from rankgauge.validation.quick import Peek

if TYPE_CHECKING:
    from rankgauge.dialects import Dialect
    from rankgauge.matching.hits import Hits
    from rankgauge.matching.match import Found

__all__ = ["ARRAYS", "evaluate", "is_spark", "per_query", "register", "udf"]

BROADCAST: Final = 5_000_000  # judgments that every task may hold
ARRAYS: Final = (  # functions of `rankgauge.arrays`
    *("ndcg", "dcg", "precision", "recall", "reciprocal_rank", "average_precision", "err", "hit_rate"),
)
ID: Final = "__query"  # the column of query ids as text
ROW: Final = "__row"  # the column of places in the order given


def is_spark(source: object) -> bool:
    """Whether a source is a DataFrame of Spark, classic or Connect."""
    return type(source).__module__.startswith("pyspark.sql.") and type(source).__name__ == "DataFrame"


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
    limits: dict[str, Any] = {"rows": block, "huge": huge}
    labels = _Labels.of(judgments, columns, broadcast)
    about = {"groups": labels.groups(by), "weights": labels.weights(weights)}
    results: dict[str, Result] = {}
    for name, frame in _named(runs, system).items():
        rows = _Rows(frame, name or "run", system, labels, columns, limits)
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


def _named(runs: Any, system: str | None) -> dict[str, Any]:
    """Name → DataFrame."""
    named = dict(runs) if isinstance(runs, Mapping) else {"": runs}
    for name, frame in named.items():
        if not is_spark(frame):
            what = f"run {name!r}" if name else "runs"
            raise InputError(f"{what}: expected a DataFrame of Spark, got a {type(frame).__name__}")
    if system is not None and "" not in named:
        raise InputError("system= names a column of one DataFrame; these have their names already")
    return named


def _result(
    rows: _Rows, system: str, measures: list[Measure], protocol: Protocol, dialect: Dialect | None, about: Any
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


# ---- judgments -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Labels:
    """Judgments: here, as `record`, and with every pair once as `judged`; or in Spark, as `frame`."""

    origin: Any
    names: tuple[str, str, str] = ("", "", "")
    record: Judgments | None = None
    judged: Judged | None = None

    @classmethod
    def of(cls, judgments: Any, columns: Mapping[str, str] | None, broadcast: int) -> _Labels:
        """The judgments, collected where they are few enough."""
        mapped = _mapped(columns, "relevance")
        if not is_spark(judgments):
            record = read_judgments(judgments, columns=mapped if hasattr(judgments, "columns") else None)
            return cls(judgments, record=record, judged=Judged.of(judgments_once(record), record.source))
        ask = Ask("judgments", mapped)
        names = find_columns(judgments.columns, ask, "judgments")
        if judgments.count() > broadcast:
            _check_types(judgments, ask, "judgments")
            return cls(judgments, names)
        record = read_judgments(_collected(judgments.select(*map(_quoted, dict.fromkeys(names)))), columns=mapped)
        if not len(record):
            raise no_rows("judgments", ask)
        return cls(judgments, names, record, Judged.of(judgments_once(record), record.source))

    def some(self, queries: Iterable[str]) -> Judged | None:
        """The judgments of a few queries."""
        if self.judged is not None:
            own = self.judged.some(queries)
            return None if own is None else Judged(own.columns, own.source)
        query, doc, number = map(_quoted, self.names)
        rows = _only(self.origin.selectExpr("*", f"cast({query} as string) as {ID}"), queries)
        rows = rows.selectExpr(f"{ID} as query_id", f"cast({doc} as string) as doc_id", f"{number} as relevance")
        record = read_judgments(_collected(rows))
        return Judged.of(judgments_once(record), "judgments") if len(record) else None

    def universe(self, protocol: Protocol) -> Universe:
        """All judged queries, of judgments that are here."""
        assert self.judged is not None
        own = Judgments(self.judged.columns)
        return Universe(sorted(own.queries), lambda: unanswered(own, protocol), self.judged.source)

    def groups(self, by: Any) -> dict[str, str] | None:
        """Query → group; `by` may be a column of the judgments."""
        if isinstance(by, str) and is_spark(self.origin) and by in self.origin.columns:
            return groups_of(by, self._column(by))
        return groups_of(_collected(by) if is_spark(by) else by, self.origin)

    def weights(self, weights: Any) -> dict[str, Any] | None:
        """Query → weight; `weights` may be a column of the judgments."""
        if weights is None:
            return None
        if isinstance(weights, str) and is_spark(self.origin) and weights in self.origin.columns:
            return query_table(self._column(weights).rename({weights: "weight"}), "weight")
        return query_table(_collected(weights) if is_spark(weights) else weights, "weight")

    def _column(self, column: str) -> Any:
        """A column of the judgments, once for every query."""
        query = self.names[0]
        return _collected(self.origin.select(_quoted(query), _quoted(column)).distinct()).rename({query: "query_id"})


# ---- runs ------------------------------------------------------------------------------------------------------------


class _Rows:
    """The rows of one DataFrame, and what was found in them, rules by rules."""

    def __init__(
        self,
        frame: Any,
        name: str,
        system: str | None,
        labels: _Labels,
        columns: Mapping[str, str] | None,
        limits: dict[str, Any],
    ) -> None:
        self.frame, self.name, self.system, self.labels, self.limits = frame, name, system, labels, limits
        self.mapped = _mapped(columns, "score", "rank")
        if system is not None and system not in frame.columns:
            raise InputError(f"{name}: there is no column {system!r}; the columns are {', '.join(frame.columns)}")
        self._known: dict[Protocol, tuple[dict[str, list[Block]], Universe]] = {}

    def systems(self, protocol: Protocol) -> list[str]:
        """The systems, by name; one without a name where no column names them."""
        found = sorted(self._blocks(protocol)[0])
        if not found:
            raise no_rows(self.name, Ask("run"))
        return found

    def found(self, protocol: Protocol, system: str) -> Found:
        """What was found of a system."""
        blocks, universe = self._blocks(protocol)
        return found_in(blocks[system], universe, system or self.name, protocol)

    def warn_if_nothing_found(self, hits: Hits, protocol: Protocol, system: str) -> None:
        """Say so where no judged document was retrieved at all, with documents of both sides."""
        record = self.labels.record
        if len(hits.rank) or not hits.retrieved.any() or record is None:
            return
        shown = hits.queries[int(hits.retrieved.argmax())]
        largest = [each.largest for each in self._blocks(protocol)[0][system] if each.largest is not None]
        docs = next((docs for query, docs in largest if query == shown), [])
        warn_if_nothing_found(record, Run({shown: dict.fromkeys(docs, 0.0)}, source=system or self.name), hits)

    def peek(self, hits: Hits, system: str) -> Peek:
        """The little that is kept of the run beside Hits."""
        blocks = self._blocks(hits.protocol)[0][system]
        rows = sum(sizes_of(blocks).values())
        samples: dict[str, list[str]] = {}
        for block in blocks[:20]:
            samples |= block.sample
        apart = hits.missing and hits.left_out
        there = {query for each in blocks for query in each.queries}
        missing = set(self._blocks(hits.protocol)[1].queries) - there if apart else ()
        extra = {query for each in blocks for query in each.others} if apart else ()
        return Peek(retrieved=samples, missing=missing, extra=extra, rows=rows)

    def _blocks(self, protocol: Protocol) -> tuple[dict[str, list[Block]], Universe]:
        if protocol not in self._known:
            self._known[protocol] = self._searched(protocol)
        return self._known[protocol]

    def _searched(self, protocol: Protocol) -> tuple[dict[str, list[Block]], Universe]:
        """The blocks of every system, no query in two of them; and the judged queries."""
        task, frame = self._task(protocol), self._selected(protocol)
        if self.labels.judged is None:
            blocks = _done(self._with_judgments(frame, task), self._travelling(task))
        else:
            blocks = self._where_they_lie(frame, task)
        huge = {query for block in blocks for query in block.huge}
        more = self._counted(frame, task, huge) if huge else []
        blocks = [*without(blocks, huge), *more] if huge else blocks
        universe = self._universe(blocks, protocol)
        systems: dict[str, list[Block]] = {}
        for block in blocks:
            if not block.judged and (block.queries or block.others):
                systems.setdefault(block.system, []).append(block)
        return systems, universe

    def _universe(self, blocks: list[Block], protocol: Protocol) -> Universe:
        if self.labels.judged is not None:
            return self.labels.universe(protocol)
        judged = [each for each in blocks if each.judged]
        twice = sum(each.twice for each in judged)
        if twice:
            there = counted(twice, "judgment is", "judgments are")
            warn(f"judgments: {there} there twice with the same grade; counted once")
        return Universe.of(judged, "judgments")

    def _where_they_lie(self, frame: Any, task: Task) -> list[Block]:
        """Blocks of the rows as they lie, and of those queries together that lie apart; huge ones are named alone."""
        blocks = _done(frame, task)
        if any(block.scattered for block in blocks):
            return _done(_together(frame, task), task._replace(whole=True))
        again = apart(blocks, judged=task.protocol.duplicates != "error")
        again -= {query for block in blocks for query in block.huge}
        sizes = sizes_of(blocks) if again else {}
        huge = [query for query in again if sizes[query] > task.huge]
        again -= {*huge}
        if huge:
            blocks = [*blocks, Block(huge=tuple(huge))]
        if not again:
            return blocks
        more = _done(_together(frame, task, again), task._replace(whole=True))
        named = [Block(huge=block.huge) for block in blocks if block.huge]
        return [*without(blocks, again), *named, *more]

    def _with_judgments(self, frame: Any, task: Task) -> Any:
        """The rows of every query with its judgments before them."""
        query, doc, number = self.labels.names
        _check_types(frame, task.ask, self.name)
        judged = self.labels.origin.selectExpr(
            f"cast({_quoted(query)} as string) as {ID}", f"cast({_quoted(doc)} as string) as doc",
            f"cast({_quoted(number)} as double) as number", "cast(null as string) as system", f"0 as {KIND}",
            f"monotonically_increasing_id() as {ROW}",
        )  # fmt: skip
        query, doc, number = (task.ask.columns or {}).values()
        ranked = frame.selectExpr(
            f"cast({_quoted(query)} as string) as {ID}", f"cast({_quoted(doc)} as string) as doc",
            f"cast({_quoted(number)} as double) as number", f"{self._system_sql} as system", f"1 as {KIND}",
            f"monotonically_increasing_id() as {ROW}",
        )  # fmt: skip
        return judged.union(ranked).repartition(ID).sortWithinPartitions(ID, KIND, ROW)

    @property
    def _system_sql(self) -> str:
        return "cast(null as string)" if self.system is None else f"cast({_quoted(self.system)} as string)"

    # ---- queries of millions -----------------------------------------------------------------------------------------

    def _counted(self, frame: Any, task: Task, huge: set[str]) -> list[Block]:
        """What is found in queries of too many documents for one task, by counting."""
        judged, protocol = self.labels.some(huge), task.protocol
        rows = self._numbered(frame, task, huge)
        rows = self._once(rows, protocol)
        targets: dict[Key, Target] = {}
        if judged is not None:
            pairs = [(query, doc) for query, doc, _ in Judgments(judged.columns)]
            wanted = frame.sparkSession.createDataFrame(pairs, "query string, doc string").hint("broadcast")
            targets = targets_of(_collected(rows.join(wanted, on=["query", "doc"], how="left_semi")), judged, protocol)
        tables = rows.mapInArrow(lambda batches: _count(batches, targets, protocol), "counts binary").toArrow()
        counts = added(pickle.loads(each.as_py()) for each in tables["counts"])
        blocks = [*blocks_of_counts(counts, targets, judged, protocol)]
        if self.labels.judged is None and judged is not None:
            own = Judgments(judged.columns)
            blocks.append(Block(queries=sorted(own.queries), parts=unanswered(own, protocol), judged=True))
        return blocks

    def _numbered(self, frame: Any, task: Task, queries: Iterable[str]) -> Any:
        """Rows of some queries as system, query, doc, number and row."""
        query, doc, number = (_quoted(name) for name in (task.ask.columns or {}).values())
        number = f"-cast({number} as double)" if task.ask.by == "rank" else f"cast({number} as double)"
        number = "-cast(row as double)" if task.protocol.order == "given" else number
        named = "''" if self.system is None else self._system_sql
        rows = frame.selectExpr("*", f"cast({query} as string) as {ID}", "monotonically_increasing_id() as row")
        rows = _only(rows, queries)
        return rows.selectExpr(
            f"{named} as system", f"{ID} as query", f"cast({doc} as string) as doc", f"{number} as number", "row"
        )

    def _once(self, rows: Any, protocol: Protocol) -> Any:
        """The rows with every document once in its ranking, as the rules say."""
        kept = rows
        if protocol.same_id == "drop":
            kept = kept.where("doc != query")
        if protocol.only_positive:
            kept = kept.where("cast(number as float) > 0")
        keys = ["system", "query", "doc"]
        twice = kept.groupBy(*keys).count().where("count > 1").limit(1).collect()
        if not twice:
            return rows
        name, query, doc = twice[0]["system"] or self.name, twice[0]["query"], twice[0]["doc"]
        there = f"{name}: document {doc!r} is there twice in the ranking of query {query!r}"
        if protocol.duplicates == "error":
            raise DuplicateError(f"{there}; {how_to_mend()}")
        if protocol.duplicates in REPEATING:
            raise ProtocolError(
                f"{there}, which has so many documents that they are counted, and duplicates={protocol.duplicates} "
                "cannot be counted; choose first or best, or raise huge="
            )
        kept = kept.selectExpr(*keys, "number", "row", "struct(row, number) as start")
        picked = kept.groupBy(*keys).agg({"number": "max", "start": "min"})
        number = "`max(number)`" if protocol.duplicates == "best" else "`min(start)`.number"
        return picked.selectExpr(*keys, f"{number} as number", "`min(start)`.row as row")

    @cached_property
    def _names(self) -> list[str]:
        return [name for name in self.frame.columns if name != self.system]

    def _task(self, protocol: Protocol) -> Task:
        ask = ask_of(self._names, Ask("run", self.mapped, protocol.by, protocol.duplicates))
        query, doc, number = find_columns(self._names, ask, self.name)
        ask = ask._replace(columns={"query_id": query, "doc_id": doc, number_role(ask): number})
        return Task(ask, protocol, self.name, query, self.labels.judged, self.system, **self.limits)

    def _travelling(self, task: Task) -> Task:
        """The same of rows that have their judgments with them."""
        ask = task.ask._replace(columns={"query_id": ID, "doc_id": "doc", number_role(task.ask): "number"})
        asked = Ask("judgments", {"query_id": ID, "doc_id": "doc", "relevance": "number"})
        system = None if self.system is None else "system"
        return task._replace(ask=ask, asked=asked, query=ID, system=system, whole=True)

    def _selected(self, protocol: Protocol) -> Any:
        names = [*(self._task(protocol).ask.columns or {}).values(), *([self.system] if self.system else [])]
        return self.frame.select(*map(_quoted, dict.fromkeys(names)))


# ---- Spark -----------------------------------------------------------------------------------------------------------


def _done(frame: Any, task: Task) -> list[Block]:
    """What the tasks of a frame find; the first problem is raised."""
    table = frame.mapInArrow(lambda batches: _work(batches, task), "block binary").toArrow()
    blocks = [unpacked(data.as_py()) for data in table["block"]]
    for block in blocks:
        if block.problem is not None:
            raise block.problem
    return blocks


def _work(batches: Iterable[Any], task: Task) -> Iterator[Any]:
    """What one task does, in a process of its own."""
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    place = "" if context is None or task.whole else f", partition {context.partitionId()}"
    for block in blocks_of(batches, task, place):
        yield pa.RecordBatch.from_pydict({"block": pa.array([packed(block)], pa.binary())})


def _count(batches: Iterable[Any], targets: Mapping[Key, Target], protocol: Protocol) -> Iterator[Any]:
    """What one task counts, in a process of its own."""
    import pyarrow as pa

    counts = shipped(counted_in(batches, targets, protocol))
    yield pa.RecordBatch.from_pydict({"counts": pa.array([counts], pa.binary())})


def _together(frame: Any, task: Task, queries: Iterable[str] | None = None) -> Any:
    """The rows of these queries, or of all, with those of a query together, in the order given where that matters."""
    row = [f"monotonically_increasing_id() as {ROW}"] if _looks_at_order(task.protocol) else []
    frame = frame.selectExpr("*", f"cast({_quoted(task.query)} as string) as {ID}", *row)
    frame = frame if queries is None else _only(frame, queries)
    return frame.repartition(ID).sortWithinPartitions(ID, *([ROW] if row else []))


def _only(frame: Any, queries: Iterable[str]) -> Any:
    """The rows of these queries."""
    ids = frame.sparkSession.createDataFrame([(each,) for each in sorted(queries)], f"{ID} string")
    return frame.join(ids.hint("broadcast"), on=ID, how="left_semi")


def _check_types(frame: Any, ask: Ask, name: str) -> None:
    """Refuse columns of the wrong type, which Spark would turn into text and numbers."""
    names = find_columns(frame.columns, ask, name)
    frame_columns(_collected(frame.select(*map(_quoted, dict.fromkeys(names))).limit(1)), ask, name)


def _looks_at_order(protocol: Protocol) -> bool:
    """Whether rules look at the order in which rows are given."""
    ordered = protocol.order == "given" or protocol.ties in ("given", "reversed")
    return ordered or protocol.duplicates in ("first", *REPEATING)


def _quoted(column: str) -> str:
    """A column's name in Spark's SQL."""
    return "`" + column.replace("`", "``") + "`"


def _mapped(columns: Mapping[str, str] | None, *numbers: str) -> WhereThere | None:
    roles = ("query_id", "doc_id", *numbers)
    return WhereThere({role: name for role, name in (columns or {}).items() if role in roles}) or None


def _collected(frame: Any) -> Any:
    """A small DataFrame as a frame of polars."""
    import polars as pl

    return pl.DataFrame(frame.toArrow())


# ---- arrays in rows --------------------------------------------------------------------------------------------------


def udf(name: str = "ndcg") -> Any:
    """A function of columns: a measure of `rankgauge.arrays`, of the grades of a row in rank order and a cut-off.

    The ideal is made of the grades of the row; a third column may hold the grades of all judgments. A row without
    grades has no value.
    """
    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    if name not in ARRAYS:
        raise MeasureError(unknown(f"there is no function {name!r}", name, ARRAYS))

    def work(grades, k, *ideal):  # type: ignore[no-untyped-def]  # Spark reads the annotations below
        return pd.Series(_measured_rows(name, grades, k, *ideal), dtype="float64")

    work.__annotations__ = {"grades": pd.Series, "k": pd.Series, "ideal": pd.Series, "return": pd.Series}
    work.__name__ = name
    made: Any = pandas_udf  # whose types know of no function with as many columns as there are
    return made(work, "double")


def register(session: Any, *names: str) -> None:
    """Make measures of arrays functions of SQL: `select ndcg(grades, 10) from rankings`; all where none is named."""
    for name in names or ARRAYS:
        session.udf.register(name, udf(name))


def _measured_rows(name: str, grades: Any, k: Any, ideal: Any = None) -> Any:
    """The values of rows: one call for all that have the same cut-off."""
    import numpy as np

    from rankgauge import arrays

    values = np.full(len(grades), np.nan)
    there = np.array([each is not None and len(each) > 0 for each in grades], bool)
    for cut in set(k[there].tolist()):
        rows = np.flatnonzero(there & (k == cut).to_numpy())
        some = [np.asarray(grades.iloc[row], np.float64) for row in rows]
        order = [-np.arange(len(each), dtype=np.float64) for each in some]
        more = {} if ideal is None else {"ideal": [np.asarray(ideal.iloc[row], np.float64) for row in rows]}
        values[rows] = getattr(arrays, name)(some, order, int(cut), **more).per_query
    return values
