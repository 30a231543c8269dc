"""What a run that is read in blocks takes, in memory and in processor time, against the same run in memory.

python bench/stream_speed.py                      # 28 million rows, 1 GB: in memory, in blocks, scattered in blocks
python bench/stream_speed.py --millions 280       # 10 GB: in blocks, and as many more in the scattered run
python bench/stream_speed.py --only "in blocks" --millions 280 --folder /mnt/large
python bench/stream_speed.py --only "in blocks" --millions 100 --judged 5000    # what rows alone take

The files are made, measured and deleted. Every way has a process of its own; all must print the same values.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

DOCUMENTS: Final = 1_000  # of a query
AT_ONCE: Final = 2_000  # queries that are written together
JUDGED: Final = 3  # documents of a query
FITS: Final = 100  # million rows, up to which the run is read as a whole, too

# Way → which file it reads, and the size of its blocks (None: the run is read as a whole).
WAYS: Final = {
    "in memory": ("run.txt", None),
    "in blocks": ("run.txt", 0),
    "scattered, in memory": ("scattered.txt", None),
    "scattered, in blocks": ("scattered.txt", 0),
    "Parquet, in memory": ("run.parquet", None),
    "Parquet, in blocks": ("run.parquet", 0),
    "Arrow, in memory": ("run.arrow", None),
    "Arrow, in blocks": ("run.arrow", 0),
}

MEASURED: Final = """
import resource, sys
import rankgauge
from rankgauge.read import RunSource
from rankgauge.read.sizes import BlockSize

qrels, run, blocks = sys.argv[1:]
source = RunSource(run)
source.blocks = None if blocks == "None" else BlockSize(above=int(blocks))
result = rankgauge.evaluate(qrels, source, ["nDCG@10", "R@100"], name="run")
used = resource.getrusage(resource.RUSAGE_SELF)
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
print(used.ru_utime + used.ru_stime, peak, result["nDCG@10"].hex(), result["R@100"].hex(), sep="\\t")
"""


def rows_of(first: int, queries: int, documents: int, seed: int) -> pl.DataFrame:
    """Rankings of neighbouring queries, in the order of their scores."""
    random = np.random.default_rng([seed, first])
    scores = -np.sort(-random.random((queries, documents)), axis=1).ravel().round(6)
    docs = (random.integers(0, 1_000, (queries, documents)) + np.arange(documents) * 1_000 + seed * 10**6).ravel()
    ranks = np.tile(np.arange(1, documents + 1), queries)
    query = np.repeat(np.arange(first, first + queries), documents)
    return pl.DataFrame({"query": query, "q0": "Q0", "doc": docs, "rank": ranks, "score": scores, "tag": "made"})


def write_runs(folder: Path, queries: int, judged_queries: int | None = None) -> None:
    """A run whose queries lie together, and judgments of all its queries or of the first so many."""
    with open(folder / "run.txt", "wb") as run, open(folder / "qrels.txt", "wb") as qrels:
        for first in range(0, queries, AT_ONCE):
            rows = rows_of(first, min(AT_ONCE, queries - first), DOCUMENTS, seed=0)
            _write(rows, run)
            wanted = pl.col("query") < (queries if judged_queries is None else judged_queries)
            judged = rows.filter(wanted & (pl.int_range(pl.len()) % (DOCUMENTS // JUDGED) == 7))
            _write(judged.select("query", "q0", "doc", grade=pl.col("rank") % 4), qrels)


def scatter(folder: Path, queries: int) -> None:
    """As large a run whose every query has rows in all of the file."""
    parts = -(-queries // AT_ONCE)
    with open(folder / "scattered.txt", "wb") as run:
        for part in range(parts):
            first, last = part * DOCUMENTS // parts, (part + 1) * DOCUMENTS // parts
            if last > first:
                rows = rows_of(0, queries, last - first, seed=part)
                _write(rows.sample(fraction=1, shuffle=True, seed=part), run)


def pack(folder: Path, name: str) -> None:
    """The run whose queries lie together as a file of columns."""
    names = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
    text = pl.scan_csv(folder / "run.txt", separator=" ", has_header=False, new_columns=names, infer_schema=False)
    numbers = text.with_columns(pl.col("rank").cast(pl.Int32), pl.col("score").cast(pl.Float64))
    (numbers.sink_parquet if name.endswith(".parquet") else numbers.sink_ipc)(folder / name)


def _write(rows: pl.DataFrame, file: object) -> None:
    rows.write_csv(file, include_header=False, separator=" ")  # type: ignore[call-overload]


def measured(folder: Path, way: str) -> tuple[float, float, list[str]]:
    """Seconds of the processor, peak megabytes and values."""
    name, blocks = WAYS[way]
    command = [sys.executable, "-c", MEASURED, str(folder / "qrels.txt"), str(folder / name), str(blocks)]
    seconds, peak, *values = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(peak), values


def main() -> None:
    """Make the runs, measure every way, say what was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--millions", type=int, default=28, help="rows, in millions")
    parser.add_argument("--judged", type=int, help="how many queries are judged; all of them by default")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", action="append", choices=list(WAYS))
    parser.add_argument("--folder", help="where the files are made")
    given = parser.parse_args()
    queries = given.millions * 1_000_000 // DOCUMENTS
    ways = given.only or [way for way, (_, blocks) in WAYS.items() if blocks == 0 or given.millions <= FITS]
    with tempfile.TemporaryDirectory(prefix="rankgauge-bench-", dir=given.folder) as made:
        folder = Path(made)
        write_runs(folder, queries, given.judged)
        if any(WAYS[way][0] == "scattered.txt" for way in ways):
            scatter(folder, queries)
        for name in {WAYS[way][0] for way in ways} - {"run.txt", "scattered.txt"}:
            pack(folder, name)
        known: dict[str, tuple[float, list[str]]] = {}
        for _ in range(given.rounds):
            for way in ways:
                file, _ = WAYS[way]
                seconds, peak, values = measured(folder, way)
                base, expected = known.setdefault(file, (seconds, values))
                same = "same values" if values == expected else f"OTHER VALUES: {values}, not {expected}"
                each = seconds / given.millions * 1e3
                print(f"{way:22} {each:6.0f} ns a row  {seconds / base:5.2f} ×  {peak:7.0f} MB  {same}", flush=True)


if __name__ == "__main__":
    main()
