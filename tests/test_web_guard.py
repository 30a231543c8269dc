"""Who may ask the app: every line of its defence, each with a request that gets through without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankgauge.web.access import Key
from rankgauge.web.guard import HEADERS, LARGEST
from rankgauge.web.worker import Worker
from web import HOST, Asked, asked, made, write

JUDGMENTS, RUNS = made(4, 2)
HERE = "/query?query=q02&run=s1"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("guard")
    qrels, runs = write(folder, JUDGMENTS, RUNS)
    worker = Worker()
    with asked(folder, qrels, runs, worker=worker) as each:
        yield each
    worker.stop()


def key_of(app: Asked) -> Key:
    assert isinstance(app.guard.access, Key)
    return app.guard.access


def cookie_of(app: Asked) -> str:
    answer = app.client.get(f"/?key={app.key}")
    return str(answer.headers["set-cookie"].partition(";")[0])


def test_without_the_key_there_is_nothing_to_see(app: Asked) -> None:
    for path in ("/", "/index.json", "/static/page.js", "/openapi.json", "/nowhere", HERE):
        app.client.cookies.clear()
        answer = app.client.get(path)
        assert answer.status_code == 403, path
        assert "rankgauge serve" in answer.text
    for wrong in ("", "x", app.key[:-1], app.key + "x", key_of(app).session):
        assert app.client.get("/", params={"key": wrong}).status_code == 403
        assert app.client.get("/", headers={"authorization": f"Bearer {wrong}"}).status_code == 403
    assert app.client.get("/", headers={"authorization": f"Basic {app.key}"}).status_code == 403


def test_the_key_becomes_a_cookie_of_this_port_and_leaves_the_address(app: Asked) -> None:
    answer = app.client.get(f"/run?run=s1&key={app.key}&measure=nDCG%4010")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/run?run=s1&measure=nDCG%4010"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("rankgauge-8765=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert app.key not in cookie
    app.client.cookies.clear()
    assert app.client.get("/", headers={"cookie": cookie.partition(";")[0]}).status_code == 200
    other = cookie.partition(";")[0].replace("8765", "8766")
    assert app.client.get("/", headers={"cookie": other}).status_code == 403
    assert app.client.get("/", headers={"cookie": cookie.partition(";")[0][:-1]}).status_code == 403


@pytest.mark.parametrize("path", ["//elsewhere.example/x", "/\\elsewhere.example"])
def test_the_key_leads_nowhere_else(app: Asked, path: str) -> None:
    answer = app.client.get(f"http://{HOST}{path}?key={app.key}")
    assert answer.status_code == 303
    assert not answer.headers["location"].startswith(("//", "/\\"))


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8765", 200), ("localhost:8765", 200), ("[::1]:8765", 200), ("localhost", 200), ("LOCALHOST:1", 200),
        ("evil.example", 421), ("evil.example:8765", 421), ("127.0.0.1.evil.example:8765", 421),
        ("localhost.evil:80", 421),
        ("0.0.0.0:8765", 421), ("192.168.1.1:8765", 421), ("", 421), ("evil.example:localhost", 421),
    ],
)  # fmt: skip
def test_a_name_that_somebody_else_gave_this_machine_is_refused(app: Asked, host: str, status: int) -> None:
    assert app.get("/", host=host).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "none"}, 403),
        ({"origin": f"http://{HOST}"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"https://{HOST}"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({}, 200),  # a program, which no page can be
    ],
)
def test_only_a_page_of_this_server_may_change_anything(app: Asked, headers: dict[str, str], status: int) -> None:
    known = {"cookie": cookie_of(app)}
    for path in ("/query/what-if", "/playground/what-if"):
        at = HERE if path.startswith("/query") else "/playground"
        answer = app.client.post(path, json={"at": at, "top": 0}, headers=known | headers)
        assert answer.status_code == status, path
    if status == 403:
        assert app.client.post("/reread", headers=known | headers).status_code == 403
    assert app.client.get("/", headers=known | headers).status_code == 200


def test_nothing_changes_by_being_looked_at(app: Asked) -> None:
    for path in ("/reread", "/query/what-if", "/playground/what-if"):
        assert app.get(path).status_code == 405


def test_what_is_larger_than_any_question_is_refused(app: Asked) -> None:
    known = {"authorization": f"Bearer {app.key}", "content-type": "application/json"}
    body = b'{"at": "' + b"x" * LARGEST + b'"}'
    assert app.client.post("/query/what-if", content=body, headers=known).status_code == 413

    def drip() -> Iterator[bytes]:  # without a length
        for start in range(0, len(body), 1 << 16):
            yield body[start : start + (1 << 16)]

    assert app.client.post("/query/what-if", content=drip(), headers=known).status_code == 413


@pytest.mark.parametrize(
    "path", ["/", "/index.json", HERE, "/static/app.js", "/nowhere", "/run?run=nobody", "/openapi.json"]
)
def test_every_answer_has_the_policy(app: Asked, path: str) -> None:
    answers: list[Any] = [app.get(path), app.client.get(path, headers={"host": "evil.example"})]
    for answer in answers:
        for name, value in HEADERS:
            assert answer.headers[name.decode()] == value.decode(), (path, name)
    policy = answers[0].headers["content-security-policy"]
    assert policy == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert (answers[0].headers["x-content-type-options"], answers[0].headers["referrer-policy"]) == (
        "nosniff",
        "same-origin",
    )
    assert "server" not in answers[0].headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/%2e%2e/pyproject.toml", "/static//etc/passwd",
        "/../../../../etc/passwd", "/static/app.js/../../app.py", "/static/app.js%00.css", "/run.json/../../x",
    ],
)  # fmt: skip
def test_no_path_of_a_request_reaches_the_file_system(app: Asked, path: str, tmp_path: Path) -> None:
    answer = app.get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text
    assert "import" not in answer.text


def test_keys_are_not_guessed_from_each_other(app: Asked, tmp_path: Path) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, RUNS)
    worker = Worker()
    with asked(tmp_path, qrels, runs, worker=worker) as other:
        assert len({app.key, key_of(app).session, other.key, key_of(other).session}) == 4
        assert min(map(len, (other.key, key_of(other).session))) >= 32
    worker.stop()
