"""A project with judges who differ, and the app on it, for tests of the pages of who leads the judging."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.testclient import TestClient

from rankgauge.judge.pairs import Pair
from rankgauge.protocol import DEFAULT
from rankgauge.raters.tasks import make_task
from rankgauge.raters.users import add_token, add_user
from rankgauge.store.project import Project, init
from rankgauge.store.store import Answer, Label
from rankgauge.web.access import Key
from rankgauge.web.app import make_app
from rankgauge.web.desk import Desk
from rankgauge.web.guard import Guard
from rankgauge.web.kept import Cache
from rankgauge.web.network import Network
from rankgauge.web.projects import files_of
from rankgauge.web.served import Served
from rankgauge.web.worker import Worker
from web import HOST, Asked, made

EVIL = "<img src=x onerror=document.title='hacked'>"
JUDGES = ("annika", "bobbie", f"evelyn {EVIL}")


def shop(folder: Path, queries: int = 8, seed: int = 5) -> Project:
    """Three judges, one of whose name is hostile, a model, two systems; a task of half of the pairs."""
    chance = random.Random(seed)
    judged, runs = made(queries, 3, seed=seed)
    project = init(folder)
    with project.store(write=True) as store:
        texts = [(query, f"query {query} shoes {EVIL if query == 'q03' else ''}") for query in judged]
        store.add_queries(texts, "test")
        docs = {doc: None for docs in judged.values() for doc in docs}
        fields = [
            (doc, {"title": f"Title of {doc} {EVIL}", "text": f"These shoes are {doc}. " * 6, "price": "12"})
            for doc in docs
        ]
        store.add_documents(fields, "test")
        pairs = [
            Pair(
                query,
                doc,
                text,
                None,
                {"title": f"Title of {doc} {EVIL}", "text": f"These shoes are {doc}. " * 6, "price": "12"},
            )
            for query, text in texts[: queries // 2]
            for doc in judged[query]
        ]
        make_task(project, store, "autumn", pairs, who="lead", overlap=2, guidelines="# How\n\nBy the text.")
        for at, judge in enumerate(JUDGES):
            labels: list[Label] = []
            for query, grades in judged.items():
                for doc, grade in grades.items():
                    given = float(chance.choice([grade, grade, grade, 3 - grade]))
                    note = f"=1+1 {EVIL}" if chance.random() < 0.3 else None
                    week = f"2026-0{1 + at}-{5 + 7 * (int(query[1:]) % 3):02}T10:00:{len(labels) % 60:02}.000+00:00"
                    key = f"{judge} {query} {doc}"
                    labels.append(
                        Label(query, doc, given, key, reason=note, milliseconds=1500.0 + len(labels), at=week)
                    )
            store.add_labels(judge, labels, "person")
        store.add_labels(
            "gpt-9", [Label(q, d, 1.0, f"gpt {q} {d}", cost=0.01) for q, ds in judged.items() for d in ds], "model"
        )
        for name in ("s1", "s2"):
            answers = []
            for query, found in runs[name].items():
                order = sorted(found, key=lambda doc: -found[doc])
                answers.append(Answer(query, order, [found[doc] for doc in order]))
            store.add_run(name, {}, answers)
    return project


@contextmanager
def _served(folder: Path, role: str, port: int) -> Iterator[tuple[Served, Worker, Desk, Guard, str]]:
    """The app on a project, behind its guard, everything read; who is no admin has a token.

    What was found is never good for longer than it is true.
    """
    project = shop(folder / "shop")
    served, worker = Served(files_of(project, DEFAULT, ("nDCG@10",)), Cache(str(folder / "cache"))), Worker()
    with project.store(write=True) as store:
        desk = Desk(project, store, worker)
        desk.looks.fresh = 0.0
        token = ""
        if role != "admin":
            add_user(store, "vic", role, None, "test")
            token = add_token(store, "vic", "test", 1, "test")
        network = Network()
        guard = network.guard(make_app(served, worker, desk), network.access(store, port))
        served.read()
        served.wait()
        try:
            yield served, worker, desk, guard, token
        finally:
            served.cache.close()
            worker.stop()


@contextmanager
def leading(folder: Path, role: str = "admin") -> Iterator[tuple[Asked, Desk]]:
    """The app, asked by somebody of this role."""
    with (
        _served(folder, role, 8765) as (served, worker, desk, guard, token),
        TestClient(guard, base_url=f"http://{HOST}", follow_redirects=False) as client,
    ):
        yield Asked(served, worker, guard, client, token), desk


@contextmanager
def listening(folder: Path) -> Iterator[tuple[str, str, Desk]]:
    """The app at an address of this machine: where it is, its key, and its desk."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        with _served(folder, "admin", port) as (_, _, desk, guard, _):
            assert isinstance(guard.access, Key)
            server = uvicorn.Server(uvicorn.Config(guard, log_level="warning", lifespan="off"))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
            thread.start()
            try:
                yield f"http://127.0.0.1:{port}", guard.access.key, desk
            finally:
                server.should_exit = True
                thread.join(10)
