"""How quick a search is against what its system takes, and a pool against an evaluation of the same runs.

python bench/search_speed.py WORK FOLDER     # one of the pieces below: prints its seconds, and what it found
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from cases import EVAL, Case
from measure import Outcome, take_turns
from peers import MEASURES, OURS
from shapes import dataset

QUERIES, LATENCY, WORKERS = 2_000, 0.05, 16
FOUND = 100  # documents of an answer
IDEAL: Final = "nothing but the waiting"
IDEAL_SECONDS = QUERIES * LATENCY / WORKERS
GROWTH = 1.2  # times the memory at a tenth that the end may take
TEXTS = 5_000  # documents that have a text


# ---- the pieces of work ----------------------------------------------------------------------------------------------


class Engine:
    """A system that takes its time; it notes the memory after a tenth of the queries."""

    asked = 0
    memory = 0

    def ids(self, query: str, k: int) -> list[Any]:
        """Ids and scores."""
        self._wait()
        start = int(query)
        return [(f"doc{(start * 31 + rank) % 8_000_000:07}", 30.0 - rank / 8) for rank in range(k)]

    def texts(self, query: str, k: int) -> list[Any]:
        """The same with fields, of documents that come again and again."""
        self._wait()
        places = [(int(query) * 31 + rank) % TEXTS for rank in range(k)]
        words = "a text that is as long as one that judges may be shown " * 4
        return [
            {"id": f"doc{place:07}", "score": 30.0 - rank / 8, "title": f"document {place}", "text": words}
            for rank, place in enumerate(places)
        ]

    def _wait(self) -> None:
        time.sleep(LATENCY)
        self.asked += 1
        if self.asked == QUERIES // 10:
            self.memory = _memory()


ENGINE = Engine()
ids, texts = ENGINE.ids, ENGINE.texts


def _memory() -> int:
    """Pages that the process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1])


def searched(function: str) -> tuple[float, str]:
    """All queries asked: the seconds; that memory grows is an error."""
    from rankgauge.store.project import init
    from rankgauge.store.store import Query
    from rankgauge.systems.config import config_of
    from rankgauge.systems.search import search
    from search_speed import ENGINE  # the one that the search imports, where this file is run as a script

    with tempfile.TemporaryDirectory() as folder:
        table = {"kind": "call", "call": f"search_speed:{function}", "threads": WORKERS}
        config = config_of("engine", table, "bench", Path(__file__).resolve().parent)
        queries = [Query(f"q{number}", str(number)) for number in range(QUERIES)]
        outcome = search(init(Path(folder, "shop")), config, queries, "bench", FOUND)
    grown = _memory() / ENGINE.memory
    if not outcome.whole or grown > GROWTH:
        raise SystemExit(f"memory has grown to {grown:.2f} times what it was at a tenth; {outcome.why()}")
    return outcome.seconds, str(outcome.documents)


def waited() -> tuple[float, str]:
    """As many threads that do nothing but wait as long for as many queries."""
    left = iter(range(QUERIES))

    def wait() -> None:
        while next(left, None) is not None:
            time.sleep(LATENCY)

    threads = [threading.Thread(target=wait) for _ in range(WORKERS)]
    began = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return time.perf_counter() - began, str(QUERIES * FOUND)


def commanded(folder: Path, *words: str) -> tuple[float, str]:
    """A whole command in this process; the processor's seconds since it began."""
    from rankgauge.cli import cli

    os.chdir(folder)
    with open(os.devnull, "w") as silence:
        sys.stdout = silence
        cli.main([*words], standalone_mode=False)
        sys.stdout = sys.__stdout__
    return time.process_time(), "done"


def _runs(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("run*.txt"))]


def pooled(folder: Path) -> tuple[float, str]:
    """What to judge of ten runs, as a file."""
    with tempfile.TemporaryDirectory() as made:
        return commanded(folder, "pool", *_runs(folder), "-o", f"{made}/pairs.jsonl")


def evaluated(folder: Path) -> tuple[float, str]:
    """The same runs evaluated."""
    return commanded(folder, "eval", "qrels.txt", *_runs(folder), *(word for each in MEASURES for word in ("-m", each)))


WORKS: Final[dict[str, Callable[[Path], tuple[float, str]]]] = {
    "ids": lambda _: searched("ids"),
    "texts": lambda _: searched("texts"),
    "wait": lambda _: waited(),
    "pool": pooled,
    "eval": evaluated,
}


# ---- measuring them --------------------------------------------------------------------------------------------------

TITLE = f"{QUERIES:,} queries at {LATENCY * 1000:g} ms, {WORKERS} workers"
SEARCHES = {
    "ids": Case("search", TITLE, "", (), {IDEAL: 0.9}),
    "texts": Case("search", f"{TITLE}, with texts", "", ()),
}
POOL = Case("search", "a pool of ten runs, processor time", "pooled", (), {EVAL: 0.5})
QUICK_POOL = Case("search", "a pool of fifty small runs, processor time", "fifty", ())


def measure_search(rounds: int, timeout: float, data: Path, quick: bool) -> Iterator[tuple[Case, Outcome]]:
    """Every case with what was measured."""
    for work, case in SEARCHES.items():
        yield case, take_turns(f"search {case.title}", __file__, {OURS: work, IDEAL: "wait"}, rounds, timeout)
    case = QUICK_POOL if quick else POOL
    folder = str(dataset(case.data, data).qrels.parent.resolve())
    yield case, take_turns(f"search {case.title}", __file__, {OURS: "pool", EVAL: "eval"}, rounds, timeout, folder)


def main() -> None:
    """Do one piece of work and print its seconds and what it found."""
    seconds, said = WORKS[sys.argv[1]](Path(sys.argv[2]))
    print(seconds, said)


if __name__ == "__main__":
    main()
