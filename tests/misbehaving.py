"""A local search server that does what the query says: answers well, or misbehaves in one of many ways."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["GOOD", "Server", "serving"]

GOOD = {"hits": [{"id": "a", "score": 3.0, "title": "A"}, {"id": "b", "score": 2.0}, {"id": "c", "score": 0.5}]}


class Server(ThreadingHTTPServer):
    """Counts what it is asked; `answers` has what to say to a query, in place of what the query says itself."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: Counter[str] = Counter()
        self.at: list[tuple[float, str]] = []
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: dict[str, Any] = {}
        self.status = 200
        self.pause = 0.0
        self.allowed: int | None = None  # requests beyond so many wait until it is more, or None
        self.lock = threading.Lock()
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what these tests are about."""


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    """One request: the query's text is the name of a method, with underscores for blanks."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        query = body.get("query") or body.get("q")
        self.answer(query if isinstance(query, str) else "", body)

    def do_GET(self) -> None:
        self.answer(parse_qs(urlsplit(self.path).query).get("q", [""])[0], None)

    def answer(self, query: str, body: Any) -> None:
        with self.server.lock:
            self.server.requests[query] += 1
            self.server.at.append((time.monotonic(), query))
            self.server.bodies.append(body)
            self.server.headers.append(dict(self.headers.items()))
            self.server.paths.append(self.path)
            first = self.server.requests[query] == 1
            number = self.server.requests.total()
        self.server.ended.wait(self.server.pause)
        while self.server.allowed is not None and number > self.server.allowed and not self.server.ended.wait(0.005):
            pass
        if query in self.server.answers:
            self.say(self.server.answers[query], self.server.status)
            return
        misbehave = getattr(self, f"say_{query.replace(' ', '_')}", None)
        self.say(GOOD) if misbehave is None else misbehave(first)

    def say(self, answer: Any, status: int = 200, length: int | None = None, **headers: str) -> None:
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""

    # ---- misbehaviours ----------------------------------------------------------------------------------------------

    def say_slow(self, first: bool) -> None:
        self.server.ended.wait()

    def say_dripping(self, first: bool) -> None:
        self.say(b"", length=1000)
        while not self.server.ended.wait(0.05):
            self.wfile.write(b" ")
            self.wfile.flush()

    def say_dripping_headers(self, first: bool) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not self.server.ended.wait(0.05):
            self.wfile.write(b"x")
            self.wfile.flush()

    def say_dropped(self, first: bool) -> None:
        self.close_connection = True
        self.connection.close()

    def say_dropped_once(self, first: bool) -> None:
        self.say_dropped(first) if first else self.say(GOOD)

    def say_cut_off(self, first: bool) -> None:
        self.say(json.dumps(GOOD).encode()[:30], length=200)
        self.close_connection = True

    def say_429_seconds(self, first: bool) -> None:
        self.say(b"busy", 429, Retry_After="1") if first else self.say(GOOD)

    def say_429_date(self, first: bool) -> None:
        at = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
        self.say(b"busy", 429, Retry_After=at) if first else self.say(GOOD)

    def say_429_hour(self, first: bool) -> None:
        self.say(b"busy", 429, Retry_After="3600")

    def say_500_once(self, first: bool) -> None:
        self.say(b"oops", 500) if first else self.say(GOOD)

    def say_500_always(self, first: bool) -> None:
        self.say(b"oops", 500)

    def say_partial(self, first: bool) -> None:
        self.say({**GOOD, "timed_out": True})

    def say_duplicate(self, first: bool) -> None:
        self.say({"hits": [GOOD["hits"][0], GOOD["hits"][0]]})

    def say_unsorted(self, first: bool) -> None:
        self.say({"hits": GOOD["hits"][::-1]})

    def say_tied(self, first: bool) -> None:
        self.say({"hits": [{"id": "b", "score": 1.0}, {"id": "a", "score": 1.0}]})

    def say_no_scores(self, first: bool) -> None:
        self.say({"hits": [{"id": "b"}, {"id": "a"}]})

    def say_nothing_found(self, first: bool) -> None:
        self.say({"hits": []})

    def say_html(self, first: bool) -> None:
        self.say(b"<!doctype html><title>Sign in</title>")

    def say_redirect(self, first: bool) -> None:
        self.say(b"", 302, Location=f"{self.server.url}/elsewhere?q=followed")

    def say_huge(self, first: bool) -> None:
        self.say(json.dumps({"hits": [], "padding": "x" * 300_000}).encode())

    def say_huge_when_unpacked(self, first: bool) -> None:
        self.say(gzip.compress(json.dumps({"padding": "x" * 300_000}).encode()), Content_Encoding="gzip")

    def say_wrong_type(self, first: bool) -> None:
        self.say({"hits": "three"})

    def say_no_such_path(self, first: bool) -> None:
        self.say({"response": {"docs": []}, "took": 3})

    def say_text_for_score(self, first: bool) -> None:
        self.say({"hits": [{"id": "a", "score": "3.5"}]})

    def say_numbers_for_ids(self, first: bool) -> None:
        self.say({"hits": [{"id": 155, "score": 3.5}, {"id": 7, "score": 1}]})

    def say_a_fraction_for_an_id(self, first: bool) -> None:
        self.say({"hits": [{"id": 155.5, "score": 3.5}]})

    def say_no_content(self, first: bool) -> None:
        self.send_response(204)
        self.end_headers()

    def say_gzip(self, first: bool) -> None:
        self.say(gzip.compress(json.dumps(GOOD).encode()), Content_Encoding="gzip")

    def say_broken_gzip(self, first: bool) -> None:
        self.say(b"this is not gzip", Content_Encoding="gzip")

    def say_not_UTF8(self, first: bool) -> None:
        self.say(b'{"hits": [{"id": "\xff"}]}')

    def say_NaN(self, first: bool) -> None:
        self.say(b'{"hits": [{"id": "a", "score": NaN}]}')

    def say_password(self, first: bool) -> None:
        self.say(b"who are you?", 401)

    def say_not_found(self, first: bool) -> None:
        self.say(b'{"error": "no such index"}', 404)

    def say_echo(self, first: bool) -> None:
        """What it was sent comes back in every part of an answer."""
        sent = " ".join([self.path, *self.headers.values(), json.dumps(self.server.bodies[-1])])
        self.say({"hits": [{"id": "echo", "score": 1.0, "title": sent}], "sent": sent})

    def say_echo_in_ids(self, first: bool) -> None:
        self.say({"hits": [{"id": self.server.bodies[-1]["key"], "score": 1.0}]})

    def say_echo_error(self, first: bool) -> None:
        sent = " ".join([self.path, *self.headers.values(), json.dumps(self.server.bodies[-1])])
        self.say(sent.encode(), 400)
