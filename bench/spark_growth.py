"""How time and memory on Spark grow with the rows, and what one query of millions of documents takes.

    python bench/spark_growth.py 1 4 16 64            # million rows, 1,000 of a query
    python bench/spark_growth.py 1 --huge 5            # and a query of 5 million documents among 10,000 small ones

The Parquet is made, measured and deleted. Processor time is that of Java and of the Python workers, without the driver;
memory is the most that one Python worker held, looked at twenty times a second. Every size is warmed once. Needs
pyspark, pyarrow, psutil and a Java beside rankgauge.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

MILLION: Final = 1_000_000
DOCUMENTS: Final = 1_000  # of a query
EVERY: Final = 0.05  # seconds between two looks
RUN: Final = (
    "concat('q', id div {docs}) as query_id", "concat('d', id % {docs} * 7919) as doc_id",
    "double(pmod(xxhash64(id), 1000000)) / 1000 as score",
)  # fmt: skip
JUDGED: Final = ("concat('q', id div 3) as query_id", "concat('d', id % 3 * 7919) as doc_id", "id % 3 + 1 as relevance")


class Watch:
    """The processes below Java: what they used, and the most that one of them held."""

    def __init__(self, java: int) -> None:
        self.java, self.most, self.ended = psutil.Process(java), 0, threading.Event()

    def seconds(self) -> float:
        """Processor time of Java and its workers, those that have ended among them."""
        times = [each.cpu_times() for each in (self.java, *self.java.children(recursive=True))]
        return float(sum(each.user + each.system + each.children_user + each.children_system for each in times))

    def look(self) -> None:
        """Keep the largest resident size of a worker, until told to end."""
        while not self.ended.wait(EVERY):
            for each in self.java.children(recursive=True):
                try:
                    self.most = max(self.most, each.memory_info().rss)
                except psutil.NoSuchProcess:
                    continue


@contextmanager
def watched(java: int) -> Iterator[Watch]:
    """A watch that looks while something is done."""
    watch = Watch(java)
    thread = threading.Thread(target=watch.look)
    thread.start()
    try:
        yield watch
    finally:
        watch.ended.set()
        thread.join()


def measured(session: Any, name: str, rows: int, judgments: Any, run: Any) -> None:
    """Print a row of the table."""
    from rankgauge.engines import spark

    spark.evaluate(judgments, run, ["nDCG@10", "R@100", "RR"])
    with watched(session.sparkContext._gateway.proc.pid) as watch:
        used, started = watch.seconds(), time.perf_counter()
        value = spark.evaluate(judgments, run, ["nDCG@10", "R@100", "RR"]).first["nDCG@10"]
        taken, used = time.perf_counter() - started, watch.seconds() - used
    per_row = f"{used / rows * 1e9:5.0f} ns of processor time a row"
    print(f"{name:28} {taken:7.2f} s  {per_row}  worker {watch.most / MILLION:5.0f} MB  {value:.6f}", flush=True)


def frame_in(folder: Path, frame: Any) -> Any:
    """A frame as Parquet."""
    frame.write.parquet(str(folder))
    return frame.sparkSession.read.parquet(str(folder))


def grown(session: Any, folder: Path, millions: int) -> None:
    """A run of so many million rows."""
    rows = millions * MILLION
    run = frame_in(folder / "run", session.range(rows).selectExpr(*(each.format(docs=DOCUMENTS) for each in RUN)))
    judgments = frame_in(folder / "judged", session.range(rows // DOCUMENTS * 3).selectExpr(*JUDGED))
    measured(session, f"{millions} million rows", rows, judgments, run)


def with_a_huge_query(session: Any, folder: Path, millions: int) -> None:
    """One query of so many million documents among 10,000 of a hundred."""
    small = session.range(MILLION).selectExpr(*(each.format(docs=100) for each in RUN))
    large = session.range(millions * MILLION).selectExpr("'huge' as query_id", "concat('d', id) as doc_id", RUN[2])
    judged = session.range(30_000).selectExpr(*JUDGED)
    more = session.range(50).selectExpr("'huge' as query_id", "concat('d', id * 997) as doc_id", "id % 3 as relevance")
    run, judgments = frame_in(folder / "run", small.union(large)), frame_in(folder / "judged", judged.union(more))
    measured(session, f"a query of {millions} million", (millions + 1) * MILLION, judgments, run)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", nargs="*", type=int, default=[1, 4, 16, 64])
    parser.add_argument("--huge", type=int, default=0, help="million documents of one query")
    parser.add_argument(
        "--folder", type=Path, help="where the Parquet is made; default: the folder for temporary files"
    )
    asked = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    quiet: dict[str, Any] = {"spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.driver.memory": "4g"}
    quiet["spark.ui.showConsoleProgress"] = "false"
    session = SparkSession.builder.master("local[2]").config(map=quiet).getOrCreate()
    sizes = [(grown, each) for each in asked.millions] + [(with_a_huge_query, asked.huge)] * bool(asked.huge)
    for work, size in sizes:
        folder = Path(tempfile.mkdtemp(prefix="rankgauge-bench-", dir=asked.folder))
        try:
            work(session, folder, size)
        finally:
            shutil.rmtree(folder)
    session.stop()


if __name__ == "__main__":
    main()
