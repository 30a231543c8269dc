"""Jobs of Spark: a frame and what every task does with its rows → what the tasks found; columns in Spark's SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Final

from rankgauge.engines.blocks import Block, Task, blocks_of, packed, shipped, unpacked
from rankgauge.engines.sparse import Key, Target, counted_in
from rankgauge.errors import OPTIONS, options_are
from rankgauge.protocol import REPEATING, Protocol
from rankgauge.read.frames import frame_columns
from rankgauge.read.names import find_columns
from rankgauge.read.readers import JudgmentsSource, RecordSource, RunSource
from rankgauge.read.rows import Ask

__all__ = ["ID", "MOST_BYTES", "MOST_ROWS", "ROW", "SparkJudgments", "SparkRun", "answers", "batches_by_rows"]
__all__ += ["check_types", "collected", "count_rows", "done", "is_spark", "looks_at_order", "only", "quoted"]
__all__ += ["together"]

ID: Final = "__query"  # the column of query ids as text
ROW: Final = "__row"  # the column of places in the order given
MOST_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
MOST_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
UNLIMITED: Final = str((1 << 31) - 1)  # the number of bytes that Spark takes for no limit


def is_spark(source: object) -> bool:
    """Whether a source is a DataFrame of Spark, classic or Connect."""
    return type(source).__module__.startswith("pyspark.sql.") and type(source).__name__ == "DataFrame"


class _InSpark(RecordSource):
    """Records that are a DataFrame of Spark."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.origin.columns)


class SparkJudgments(_InSpark, JudgmentsSource):
    """Judgments that are a DataFrame of Spark."""


class SparkRun(_InSpark, RunSource):
    """A run that is a DataFrame of Spark."""


def done(frame: Any, task: Task) -> list[Block]:
    """What the tasks of a frame find; the first problem is raised."""
    names = list(frame.columns)
    plain = frame.toDF(*(f"c{at}" for at in range(len(names))))  # Spark would take a.b for a field of a
    blocks = [*map(unpacked, answers(plain, lambda batches: _work(batches, names, task)))]
    for block in blocks:
        if block.problem is not None:
            raise block.problem
    return blocks


def answers(frame: Any, work: Callable[[Iterable[Any]], Iterator[bytes]]) -> list[bytes]:
    """What the tasks of a frame make of its rows, each in a process of its own, where errors name the same options."""
    known = OPTIONS.get()
    options = None if known is None else tuple(known)

    def batches_of_answers(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        with nullcontext() if options is None else options_are(options):
            for answer in work(batches):
                yield pa.RecordBatch.from_pydict({"answer": pa.array([answer], pa.binary())})

    with batches_by_rows(frame.sparkSession.conf):
        table = frame.mapInArrow(batches_of_answers, "answer binary").toArrow()
    return [each.as_py() for each in table["answer"]]


@contextmanager
def batches_by_rows(settings: Any) -> Iterator[None]:
    """Have Spark end a batch by its rows alone: to end it by its bytes, too, it adds these up anew after every row, and
    that takes as long as all else that it does with the row."""
    from pyspark.errors import PySparkException

    given = settings.get(MOST_BYTES, None)  # what somebody chose
    if given == UNLIMITED or int(settings.get(MOST_ROWS)) <= 0:  # lifted by another job, or all that ends a batch
        yield
        return
    with suppress(PySparkException):  # of clusters that let nobody choose
        settings.set(MOST_BYTES, UNLIMITED)
    try:
        yield
    finally:
        with suppress(PySparkException):
            settings.unset(MOST_BYTES) if given is None else settings.set(MOST_BYTES, given)


def _work(batches: Iterable[Any], names: list[str], task: Task) -> Iterator[bytes]:
    """What one task does."""
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    place = "" if context is None or task.whole else f", partition {context.partitionId()}"
    named = (pa.RecordBatch.from_arrays(batch.columns, names) for batch in batches)
    for block in blocks_of(named, task, place):
        yield packed(block)


def count_rows(batches: Iterable[Any], targets: Mapping[Key, Target], protocol: Protocol) -> Iterator[bytes]:
    """What one task counts."""
    yield shipped(counted_in(batches, targets, protocol))


def together(frame: Any, task: Task, queries: Iterable[str] | None = None) -> Any:
    """The rows of these queries, or of all, with those of a query together, in the order given where that matters."""
    row = [f"monotonically_increasing_id() as {ROW}"] if looks_at_order(task.protocol) else []
    frame = frame.selectExpr("*", f"cast({quoted(task.query)} as string) as {ID}", *row)
    frame = frame if queries is None else only(frame, queries)
    return frame.repartition(ID).sortWithinPartitions(ID, *([ROW] if row else []))


def only(frame: Any, queries: Iterable[str]) -> Any:
    """The rows of these queries."""
    ids = frame.sparkSession.createDataFrame([(each,) for each in sorted(queries)], f"{ID} string")
    return frame.join(ids.hint("broadcast"), on=ID, how="left_semi")


def check_types(frame: Any, ask: Ask, name: str) -> None:
    """Refuse columns of the wrong type, which Spark would turn into text and numbers."""
    names = find_columns(frame.columns, ask, name)
    frame_columns(collected(frame.select(*map(quoted, dict.fromkeys(names))).limit(1)), ask, name)


def looks_at_order(protocol: Protocol) -> bool:
    """Whether rules look at the order in which rows are given."""
    ordered = protocol.order == "given" or protocol.ties in ("given", "reversed")
    return ordered or protocol.duplicates in ("first", *REPEATING)


def quoted(column: str) -> str:
    """A column's name in Spark's SQL."""
    return "`" + column.replace("`", "``") + "`"


def collected(frame: Any) -> Any:
    """A small DataFrame as a frame of polars."""
    import polars as pl

    return pl.DataFrame(frame.toArrow())
