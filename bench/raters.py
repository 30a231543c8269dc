"""Raters at work on a real server: each logs in, judges what it is given, and sends again whatever is not acknowledged.

python bench/raters.py FOLDER [--db URL] [--raters 200] [--seconds 60] [--kills 0] [--think 0.8] [--compare]

It makes a project in FOLDER with a task and its users, serves it, has raters judge, kills the server now and then, and
counts: what was acknowledged and is there, is lost, is there twice; queries in more hands than wanted. Prints JSON.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any, Final
from urllib.parse import urlencode

from sqlalchemy import func, select

PASSWORD: Final = "a long password of nobody"
TASK: Final = "load"
DOCS: Final = 8  # pairs of a query
OVERLAP: Final = 2
AGAIN: Final = 0.01  # of judgments are sent twice on purpose
SYSTEMS, COMPARED = 20, 400  # of a comparison that runs beside


@dataclass
class Tally:
    """What raters have seen: the keys that were acknowledged, how long that took, and what was refused."""

    acknowledged: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    retries: int = 0
    logged_in: int = 0


class Rater(threading.Thread):
    """Somebody who judges until told to stop, over one connection, which is made again when it breaks."""

    def __init__(self, name: str, port: int, think: float, tally: Tally, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.called, self.port, self.think, self.tally, self.stop = name, port, think, tally, stop
        self.chance = random.Random(name)
        self.connection: http.client.HTTPConnection | None = None
        self.cookie = ""

    def run(self) -> None:
        """Log in, then judge."""
        try:
            self._log_in()
            self.tally.logged_in += 1
            sheets: dict[str, Any] = {}  # those that are at hand, as a page keeps them
            while not self.stop.is_set():
                told = self._ask("/judge/queries", {"task": TASK, "ahead": 3, "before": 0, "have": [*sheets]})
                if told is None:
                    return
                sheets |= {sheet["id"]: sheet for sheet in told["queries"]}
                if not sheets:
                    self.tally.errors.append(f"{self.called}: nothing left to judge")
                    return
                sheet = sheets.pop(next(iter(sheets)))
                for pair in sheet["pairs"]:
                    if pair["mine"] is None and not self._judge(sheet, pair):
                        return
        except Exception as error:  # it counts as an error, and the others go on
            self.tally.errors.append(f"{self.called}: {error!r}")

    def _judge(self, sheet: dict[str, Any], pair: dict[str, Any]) -> bool:
        """Grade a pair; whether to go on."""
        if self.stop.wait(self.chance.uniform(0.5, 1.5) * self.think):
            return False
        body = {
            "task": TASK, "key": str(uuid.UUID(int=self.chance.getrandbits(128))), "query_id": sheet["query_id"],
            "doc_id": pair["doc_id"], "hash": pair["hash"], "state": "graded",
            "grade": self.chance.choice([0, 1, 2, 3]), "note": "", "ms": 800, "made": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        for _ in range(2 if self.chance.random() < AGAIN else 1):
            begun = time.perf_counter()
            told = self._ask("/judge/judgment", body)
            if told is None:
                return False
            self.tally.times.append(time.perf_counter() - begun)
        self.tally.acknowledged.append(str(body["key"]))
        return True

    def _log_in(self) -> None:
        form = urlencode({"name": self.called, "password": PASSWORD})
        kind = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
        while not self.stop.is_set():
            answer = self._once("POST", "/login", form, kind)
            if answer is not None and answer[0] == 303:
                self.cookie = answer[1].split(";")[0]
                return
            if answer is not None and answer[0] < 500:
                raise RuntimeError(f"log-in: {answer[0]} {answer[2][:200]!r}")
            time.sleep(0.2)

    def _ask(self, path: str, body: dict[str, Any]) -> Any:
        """An answer, asked for until there is one; None where it is time to stop, or it was refused."""
        headers = {"content-type": "application/json", "sec-fetch-site": "same-origin"}
        pause, end = 0.05, time.monotonic() + 60
        while time.monotonic() < end:
            answer = self._once("POST", path, json.dumps(body), headers)
            if answer is not None and answer[0] == 200:
                return json.loads(answer[2])
            if answer is not None and answer[0] < 500:
                self.tally.errors.append(f"{self.called}: {path}: {answer[0]} {answer[2][:200]!r}")
                return None
            self.tally.retries += 1
            time.sleep(pause)
            pause = min(1.0, 2 * pause)
        self.tally.errors.append(f"{self.called}: {path}: no answer in a minute")
        return None

    def _once(self, method: str, path: str, body: str, headers: dict[str, str]) -> tuple[int, str, bytes] | None:
        """Status, cookie and body; None where the connection broke."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            known = {"cookie": self.cookie} if self.cookie else {}
            self.connection.request(method, path, body.encode(), headers | known)
            answer = self.connection.getresponse()
            return answer.status, answer.getheader("set-cookie") or "", answer.read()
        except (OSError, http.client.HTTPException):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return None


# ---- the project and the server --------------------------------------------------------------------------------------


def make_project(folder: Path, db: str | None, raters: int, queries: int, *, compared: bool) -> Any:
    """A project with a task, users who judge, and runs to compare."""
    from rankgauge.judge.pairs import Pair
    from rankgauge.raters.passwords import kept
    from rankgauge.raters.tasks import make_task
    from rankgauge.raters.users import add_user
    from rankgauge.store import schema
    from rankgauge.store.project import ADDRESS, init
    from rankgauge.store.store import Answer, Label

    if db is not None:
        os.environ[ADDRESS] = db  # an address of a test's own, which init would not write
    project = init(folder)
    words = "a text of some length, as documents have it, so that an answer is not all too small " * 5
    pairs = [
        Pair(f"q{query}", f"d{query}-{doc}", f"query {query}", None, {"title": f"Document {doc}", "text": words})
        for query in range(queries)
        for doc in range(DOCS)
    ]
    with project.store(write=True) as store:
        make_task(project, store, TASK, pairs, overlap=OVERLAP, who="bench")
        add_user(store, "admin", "admin", PASSWORD, "bench")
        hashed = kept(PASSWORD)
        rows = [
            {
                "name": f"r{number}",
                "role": "rater",
                "password": hashed,
                "disabled": 0,
                "at": "2026-01-01T00:00:00.000+00:00",
            }
            for number in range(raters)
        ]
        store.writer.write(lambda connection: connection.execute(schema.user.insert(), rows))
        if compared:
            chance = random.Random(0)
            asked = [f"c{query}" for query in range(COMPARED)]
            labels = [
                Label(query, f"d{doc}", float(chance.randrange(4)), f"{query} {doc}")
                for query in asked
                for doc in range(30)
            ]
            store.add_labels("gold", labels)
            for system in range(SYSTEMS):
                docs = [f"d{doc}" for doc in range(100)]
                answers = [
                    Answer(query, chance.sample(docs, 50), [float(50 - at) for at in range(50)]) for query in asked
                ]
                store.add_run(f"s{system:02}", {}, answers)
    return project


@dataclass
class Server:
    """`rankgauge serve` on the project, in a process of its own, which can be killed and started again."""

    folder: Path
    port: int
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Serve, and wait until it answers."""
        command = [sys.executable, "-m", "rankgauge", "serve", str(self.folder), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        if not re.search(r"http://\S+", first):
            raise RuntimeError(f"the server did not start: {first!r}")

    def kill(self) -> None:
        """As if the power had gone."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """As Ctrl-C does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    @property
    def seconds(self) -> float:
        """Processor time of the server so far, without that of its worker."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server on a port that is free."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    server = Server(folder, port)
    server.start()
    try:
        yield server
    finally:
        server.stop()


# ---- the load --------------------------------------------------------------------------------------------------------


def load(project: Any, raters: int, seconds: float, kills: int, think: float, *, compared: bool) -> dict[str, Any]:
    """Have raters judge; what came of it."""
    tally, stop = Tally(), threading.Event()
    with serving(project.folder) as server:
        threads = [Rater(f"r{number}", server.port, think, tally, stop) for number in range(raters)]
        for thread in threads:
            thread.start()
        while tally.logged_in < raters and not tally.errors and any(thread.is_alive() for thread in threads):
            time.sleep(0.05)
        tally.times.clear()
        before, already, begun = server.seconds, len(tally.acknowledged), time.monotonic()
        beside = _compare(server.port) if compared else None
        for _ in range(kills):
            time.sleep(seconds / (kills + 1))
            server.kill()
            server.start()
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
        took, spent = time.monotonic() - begun, server.seconds - before
        stop.set()
        for thread in threads:
            thread.join(90)
        if beside is not None:
            beside.join(60)
    number = len(tally.acknowledged) - already
    times = sorted(1000 * each for each in tally.times)
    cut = quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
    return _stored(project, tally) | {
        "raters": raters, "seconds": took, "errors": tally.errors[:5], "failed": len(tally.errors),
        "retries": tally.retries, "per_second": number / took, "p50": cut[49], "p95": cut[94], "p99": cut[98],
        "cpu_ms": None if kills else 1000 * spent / max(1, number), "load": os.getloadavg()[0],
        "client_cpu": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
    }  # fmt: skip


def _compare(port: int) -> threading.Thread:
    """Have the worker compare systems meanwhile, again and again under other measures."""

    def asked() -> None:
        admin = Rater("admin", port, 0, Tally(), threading.Event())
        admin._log_in()
        for cutoff in range(10, 16):
            admin._once("GET", f"/index.json?measure=nDCG@{cutoff}&baseline=s00", "", {})
            time.sleep(1)

    thread = threading.Thread(target=asked, daemon=True)
    thread.start()
    return thread


def _stored(project: Any, tally: Tally) -> dict[str, int]:
    """What is in the database of what was acknowledged."""
    from rankgauge.store import schema

    with project.store() as store:
        keys = store.read(lambda each: each.scalars(select(schema.judgment.c.key)).all())
        hands = select(schema.assignment.c.query_id, func.count()).where(schema.assignment.c.lapsed.is_(None))
        counts = store.read(lambda each: each.execute(hands.group_by(schema.assignment.c.query_id)).all())
        pairs = select(func.count()).select_from(schema.judgment).where(schema.judgment.c.task_id.is_not(None))
        same = schema.judgment.c
        per = select(same.query_id, same.doc_id, same.judge_id).where(same.task_id.is_not(None)).distinct()
        distinct = store.read(lambda each: each.scalar(select(func.count()).select_from(per.subquery())))
        rows = store.read(lambda each: each.scalar(pairs))
    there = set(keys)
    return {
        "acknowledged": len(tally.acknowledged), "stored": int(rows or 0),
        "lost": sum(key not in there for key in tally.acknowledged), "twice": int(rows or 0) - int(distinct or 0),
        "over": sum(number > OVERLAP for _, number in counts),
    }  # fmt: skip


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--db")
    parser.add_argument("--raters", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--think", type=float, default=0.8)
    parser.add_argument("--compare", action="store_true")
    given = parser.parse_args()
    wanted = given.raters * given.seconds / max(given.think, 0.02)
    queries = int(wanted / DOCS / OVERLAP) + 8 * given.raters
    project = make_project(given.folder, given.db, given.raters, queries, compared=given.compare)
    print(json.dumps(load(project, given.raters, given.seconds, given.kills, given.think, compared=given.compare)))


if __name__ == "__main__":
    main()
