"""How soon the app shows a leaderboard, against `rankgauge eval` of the same files, and how quick its pages are.

python bench/serve_speed.py WORK FOLDER     # one of the pieces below: prints its seconds, and what it found
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import quote

from cases import EVAL, Case
from measure import CommandFailed, Outcome, Timing, say, work_alone
from peers import OURS
from shapes import dataset

MEASURES: Final = ("nDCG@10", "R@100", "Judged@10")
PEAK: Final = 450  # megabytes that the server may take
TIMES: Final = 40  # requests of a kind
ROWS, MOST_ROWS = 10_000, 60  # of the table of queries: in all, and in the page
# Scroll through the table; for each step what the script took to paint it, in milliseconds.
SCROLL: Final = """async () => {
  const box = document.querySelector(".rows"), times = [];
  const real = window.requestAnimationFrame;
  window.requestAnimationFrame = (act) => real((now) => {
    const start = performance.now(); act(now); times.push(performance.now() - start);
  });
  for (let step = 1; step <= 60; step++) {
    box.scrollTop = step * 5000;
    await new Promise((done) => real(() => real(done)));
  }
  return times;
}"""
# What is asked → its title, and the milliseconds that it may take, at the 95th percentile.
LIMITS: Final = {
    "warm": ("warm pages", 100.0),
    "measure": ("a new measure", 1000.0),
    "query": ("a query's page", 150.0),
    "what-if": ("what if", 60.0),
}
SCROLLED: Final = ("a scroll in a table of 10,000 queries, median", 10.0)


@dataclass(frozen=True)
class Server:
    """The app in a process of its own."""

    process: subprocess.Popen[str]
    base: str
    key: str
    began: float

    def ask(self, path: str, body: Any = None) -> tuple[float, bytes]:
        """The seconds that an answer took, and the answer."""
        from urllib.request import Request, urlopen

        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        sent = None if body is None else json.dumps(body).encode()
        start = time.perf_counter()
        with urlopen(Request(f"{self.base}{path}", sent, headers), timeout=300) as answer:
            told = answer.read()
        return time.perf_counter() - start, told

    def complete(self) -> tuple[float, dict[str, Any]]:
        """The seconds from the start until the leaderboard has every value, and what it says."""
        while True:
            told = json.loads(self.ask("/index.json")[1])
            if "systems" in told:
                return time.perf_counter() - self.began, told
            time.sleep(0.02)

    @property
    def peak(self) -> float:
        """Megabytes at the most, of the server and of its worker."""
        pids = [self.process.pid, *_children(self.process.pid)]
        told = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
        return max(int(re.findall(r"VmHWM:\s+(\d+)", each)[0]) for each in told) / 1024


def _children(pid: int) -> list[int]:
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in told.split()]


@contextmanager
def served(folder: Path, cache: str) -> Iterator[Server]:
    """The app on the runs of a folder."""
    runs = sorted(map(str, folder.glob("run*.txt")))
    line = [sys.executable, "-m", "rankgauge", "serve", str(folder / "qrels.txt"), *runs, "--cache", cache]
    began = time.perf_counter()
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ((base, key),) = re.findall(r"(http://\S+)/\?key=(\S+)", process.stdout.readline())
        try:
            yield Server(process, base, key, began)
        finally:
            process.terminate()


# ---- the pieces of work ----------------------------------------------------------------------------------------------


def evaluated(folder: Path) -> tuple[float, str]:
    """The whole command on the same files."""
    runs = sorted(map(str, folder.glob("run*.txt")))
    words = [word for each in MEASURES for word in ("-m", each)]
    began = time.perf_counter()
    line = [sys.executable, "-m", "rankgauge", "eval", str(folder / "qrels.txt"), *runs, *words, "--format", "json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    told = {each["run"]: each["measures"]["nDCG@10"]["value"] for each in json.loads(done.stdout)["runs"]}
    return seconds, json.dumps({"values": sorted(told.values())})


def first(folder: Path) -> tuple[float, str]:
    """A first start: everything is read, and kept; that a request waits for it is an error."""
    with tempfile.TemporaryDirectory() as cache, served(folder, cache) as server:
        answer, _ = server.ask("/")
        seconds, told = server.complete()
        if answer > seconds / 2:
            raise SystemExit(f"the first page took {answer:.2f} s: it waited for the files")
        return seconds, json.dumps(
            {"values": sorted(each["nDCG@10"]["value"] for each in told["systems"]), "peak": server.peak}
        )


def second(folder: Path) -> tuple[float, str]:
    """A second start, on what the first has kept."""
    with tempfile.TemporaryDirectory() as cache:
        with served(folder, cache) as server:
            server.complete()
        with served(folder, cache) as server:
            seconds, told = server.complete()
            values = sorted(each["nDCG@10"]["value"] for each in told["systems"])
            return seconds, json.dumps({"values": values, "peak": server.peak})


def asked(folder: Path) -> tuple[float, str]:
    """Pages one after the other, when everything is read: seconds at the 95th percentile of each kind."""
    with tempfile.TemporaryDirectory() as cache, served(folder, cache) as server:
        _, told = server.complete()
        while "pending" in json.loads(server.ask("/index.json")[1]):
            time.sleep(0.1)
        names = [each["system"] for each in told["systems"]]
        rows = json.loads(server.ask(f"/run/queries.json?run={names[0]}")[1])["rows"]
        queries = [row[0] for row in rows[:: max(1, len(rows) // TIMES)]][:TIMES]
        server.ask(f"/run?run={names[0]}")
        warm = [server.ask(path)[0] for _ in range(TIMES // 2) for path in ("/", f"/run?run={names[0]}")]
        measures = [f"nDCG@{k}" for k in range(11, 16)]
        fresh = [server.ask(f"/?measure={quote(each)}")[0] for each in measures]
        pages = [f"/query?query={quote(each)}&run={names[at % len(names)]}" for at, each in enumerate(queries)]
        single = [server.ask(page)[0] for page in pages]
        changes = []
        for page in pages:
            doc = json.loads(server.ask(page.replace("/query?", "/query.json?"))[1])["rows"][7]["doc_id"]
            body = {"at": page, "move": [f"2:{doc}"], "top": 5}
            changes.append(server.ask("/query/what-if", body)[0])
        found = {"warm": warm, "measure": fresh, "query": single, "what-if": changes}
        return sum(map(sum, found.values())), json.dumps(
            {kind: sorted(times)[int(0.95 * len(times))] for kind, times in found.items()}
        )


def scrolled(folder: Path) -> tuple[float, str]:
    """A table of very many queries in Chromium: the median of what its script takes to follow a scroll."""
    from playwright.sync_api import sync_playwright

    chromium = next(
        filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")))
    )
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        (Path(made) / "qrels.txt").write_text("".join(f"q{at} 0 d 1\n" for at in range(ROWS)))
        (Path(made) / "run0.txt").write_text("".join(f"q{at} Q0 d 1 1.0 t\n" for at in range(ROWS)))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
        with served(Path(made), f"{made}/cache") as server:
            server.complete()
            page = browser.new_page()
            page.goto(f"{server.base}/run?run=run0&key={server.key}")
            page.locator(".window[data-ready]").wait_for()
            times = page.evaluate(SCROLL)
            rows = page.locator(".rows .line").count()
        browser.close()
    if rows > MOST_ROWS:
        raise SystemExit(f"{rows} rows are in the page")
    return median(times) / 1000, json.dumps({"scroll": median(times) / 1000})


WORKS: Final = {"eval": evaluated, "first": first, "second": second, "pages": asked, "scroll": scrolled}


# ---- measuring them --------------------------------------------------------------------------------------------------

SHAPE, QUICK = "served", "fifty"
FIRST = Case("serve", "a first start", SHAPE, (), {EVAL: 1 / 1.2}, peak_ceiling=PEAK)
SECOND = Case("serve", "a second start", SHAPE, (), {EVAL: 4})


def measure_serve(rounds: int, timeout: float, data: Path, quick: bool) -> Iterator[tuple[Case, Outcome]]:
    """Every case with what was measured."""
    shape = QUICK if quick else SHAPE
    folder = str(dataset(shape, data).qrels.parent.resolve())
    starts = {"first": Outcome(), "second": Outcome()}
    for _ in range(rounds):
        values: dict[str, Any] = {}
        for work in ("eval", "first", "second"):
            seconds, told = _worked(work, folder, timeout)
            values[work] = told.pop("values")
            say(f"serve {work}: {seconds:.2f} s {told}")
            for name, outcome in starts.items():
                if work in ("eval", name):
                    outcome.note(EVAL if work == "eval" else OURS, Timing(seconds, told.get("peak")))
        if not values["eval"] == values["first"] == values["second"]:
            starts["first"].problems.append("serve: the leaderboard and eval differ")
    for case, name in ((FIRST, "first"), (SECOND, "second")):
        yield replace(case, data=shape, floors={} if quick else case.floors), starts[name]
    yield from _pages(rounds, timeout, folder, quick)


def _pages(rounds: int, timeout: float, folder: str, quick: bool) -> Iterator[tuple[Case, Outcome]]:
    told = [_worked("pages", folder, timeout)[1] for _ in range(rounds)]
    limits = {kind: (f"{title}, 95th percentile", limit) for kind, (title, limit) in LIMITS.items()}
    if find_spec("playwright"):
        told = [each | _worked("scroll", folder, timeout)[1] for each in told]
        limits["scroll"] = SCROLLED
    for kind, (title, limit) in limits.items():
        allowed, outcome = f"{limit:g} ms", Outcome()
        for each in told:
            outcome.note(OURS, Timing(each[kind]))
        outcome.note(allowed, Timing(limit / 1000))
        say(f"serve {title}: {median(each[kind] for each in told) * 1000:.0f} ms")
        yield Case("serve", title, "", (), {} if quick else {allowed: 1}), outcome


def _worked(work: str, folder: str, timeout: float) -> tuple[float, dict[str, Any]]:
    try:
        timing, said = work_alone(__file__, work, timeout, folder)
    except CommandFailed as problem:
        raise SystemExit(f"serve {work}: {problem}") from None
    told: dict[str, Any] = json.loads(said)
    return timing.seconds, told


def main() -> None:
    """Do one piece of work and print its seconds and what it found."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    seconds, said = WORKS[sys.argv[1]](Path(sys.argv[2]))
    print(seconds, said.replace(" ", ""))


if __name__ == "__main__":
    main()
