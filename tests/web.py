"""The app for tests: on files in a folder, asked in the process of the tests with the key that lets one in."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
from starlette.testclient import TestClient

from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.read import JudgmentsSource, RunSource
from rankgauge.web.access import Accounts, Key
from rankgauge.web.app import make_app
from rankgauge.web.desk import Desk
from rankgauge.web.files import Files
from rankgauge.web.guard import Guard
from rankgauge.web.kept import Cache
from rankgauge.web.log_in import add_log_in
from rankgauge.web.network import Network
from rankgauge.web.served import PATIENCE, Served
from rankgauge.web.worker import Worker

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store

HOST = "127.0.0.1:8765"
ALONE = Network()
Nested = dict[str, dict[str, float]]


def made(queries: int = 12, systems: int = 3, seed: int = 0) -> tuple[Nested, dict[str, Nested]]:
    """Judgments and runs with equal scores, unjudged documents, a query that nobody answers and one of no relevance."""
    chance = random.Random(seed)
    docs = [f"d{number}" for number in range(40)]
    judgments: Nested = {
        f"q{number:02}": {doc: float(chance.choice([0, 0, 1, 2, 3])) for doc in chance.sample(docs, 14)}
        for number in range(queries)
    }
    judgments["q00"] = dict.fromkeys(judgments["q00"], 0.0)
    runs: dict[str, Nested] = {}
    for system in range(systems):
        runs[f"s{system}"] = {
            query: {
                doc: round(chance.random() + judged.get(doc, 0) * system * 0.2, 1) for doc in chance.sample(docs, 25)
            }
            for query, judged in judgments.items()
            if query != "q01" or system
        }
    runs["s0"]["unjudged"] = {"d1": 2.0, "d2": 1.0}
    return judgments, runs


def write(folder: Path, judgments: Nested, runs: Mapping[str, Nested]) -> tuple[Path, list[Path]]:
    """The same as TREC files."""
    qrels = folder / "qrels.txt"
    lines = [f"{query} 0 {doc} {grade:g}" for query, docs in judgments.items() for doc, grade in docs.items()]
    qrels.write_text("\n".join(lines) + "\n")
    paths = []
    for name, run in runs.items():
        rows = [
            f"{query} Q0 {doc} {rank} {score!r} {name}"
            for query, docs in run.items()
            for rank, (doc, score) in enumerate(sorted(docs.items(), key=lambda each: -each[1]), 1)
        ]
        paths.append(folder / f"{name}.run")
        paths[-1].write_text("\n".join(rows) + "\n")
    return qrels, paths


@dataclass(frozen=True)
class Asked:
    """The app, and how to ask it as somebody who has the key; with users, as the one whose token it is given."""

    served: Served
    worker: Worker
    guard: Guard
    client: Any
    token: str = ""

    @property
    def key(self) -> str:
        """What lets one in."""
        return self.guard.access.key if isinstance(self.guard.access, Key) else self.token

    def get(self, address: str, **headers: str) -> httpx2.Response:
        """An answer."""
        answer: httpx2.Response = self.client.get(address, headers={"authorization": f"Bearer {self.key}"} | headers)
        return answer

    def data(self, address: str, seconds: float = 120.0) -> Any:
        """What a twin holds when nothing is pending any more."""
        end = time.monotonic() + seconds
        while True:
            answer = self.get(address)
            assert answer.status_code == 200, (address, answer.text)
            told = json.loads(answer.text)
            if "pending" not in told:
                return told
            assert time.monotonic() < end, (address, told)
            time.sleep(0.05)

    def post(self, address: str, body: Any, **headers: str) -> httpx2.Response:
        """An answer to what is sent."""
        known = {"authorization": f"Bearer {self.key}", "sec-fetch-site": "same-origin"}
        answer: httpx2.Response = self.client.post(address, json=body, headers=known | headers)
        return answer


@contextmanager
def asked(
    folder: Path,
    qrels: Path,
    runs: list[Path],
    *,
    protocol: Protocol = DEFAULT,
    cache: Path | None = None,
    worker: Worker | None = None,
    project: Project | None = None,
    store: Store | None = None,
    network: Network = ALONE,
    peer: str = "testclient",
    patience: float = PATIENCE,
    **more: Any,
) -> Iterator[Asked]:
    """The app on these files, everything read; with the tasks and the users of a project, asked from an address."""
    files = Files(JudgmentsSource(qrels), {path.stem: RunSource(path) for path in runs}, protocol, **more)
    served, own = Served(files, Cache(str(cache or folder / "cache")), patience), worker or Worker()
    desk = None if project is None or store is None else Desk(project, store, own)
    app, access = make_app(served, own, desk), network.access(store, 8765)
    if isinstance(access, Accounts):
        add_log_in(app, access)
    guard = network.guard(app, access)
    served.read()
    served.wait()
    try:
        with TestClient(guard, f"http://{HOST}", follow_redirects=False, client=(peer, 50000)) as client:
            yield Asked(served, own, guard, client)
    finally:
        served.cache.close()
        if worker is None:
            own.stop()
