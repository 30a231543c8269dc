"""Systems behind HTTP: every misbehaviour of a server ends with the right ranking or an error, none in silence."""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from chat_server import until
from misbehaving import GOOD, Server, serving
from rankgauge.errors import InputError
from rankgauge.store.store import Query
from rankgauge.systems.config import config_of
from rankgauge.systems.http import Sender
from rankgauge.systems.search import Outcome, search_files
from rankgauge.systems.template import Secrets
from rankgauge.systems.workers import Limits, TimedOut

pytest.importorskip("httpx2", reason="the extra loop is not installed")

ABC = ["a", "b", "c"]
SHAPE: dict[str, Any] = {"hits": "hits", "id": "id", "score": "score", "whole": "!timed_out", "fields": "@"}
QUICK: dict[str, Any] = {"timeout": 60, "pause": 0.01, "retries": 2, "largest": 0.1, "workers": 2}
BODY = {"query": "{query}", "size": "{k}"}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def asked(server: Server, *texts: str, k: int = 10, **table: Any) -> Outcome:
    """What comes of asking the server these queries, whose ids are their texts."""
    whole = {"kind": "http", "url": server.url, "body": BODY} | SHAPE | QUICK | table
    whole = {name: value for name, value in whole.items() if value is not None}
    return search_files(config_of("mine", whole, "the test", Path()), [Query(text, text) for text in texts], k)


# Query → how often the server is asked, and the ranking, or what the error says.
# Of what never comes whoever asks gives up, or on a busy machine the pool, which waits a little longer.
LATE = r"^no (whole )?answer within 0\.2 seconds; allow more: timeout = "
MISBEHAVIOURS: dict[str, tuple[int, list[str] | str]] = {
    "fine": (1, ABC),
    "slow": (1, LATE),
    "dripping": (1, LATE),
    "dripping headers": (1, LATE),
    "dropped": (3, r"the connection broke"),
    "dropped once": (2, ABC),
    "cut off": (3, r"the connection broke"),
    "429 seconds": (2, ABC),
    "429 date": (2, ABC),
    "500 once": (2, ABC),
    "500 always": (3, r'the server answered 500: "oops"'),
    "partial": (1, r"the answer is not whole: !timed_out does not hold"),
    "duplicate": (1, r"document 'a' is there twice; .*duplicates = \"first\""),
    "unsorted": (1, ["c", "b", "a"]),
    "tied": (1, ["b", "a"]),
    "no scores": (1, ["b", "a"]),
    "nothing found": (1, []),
    "html": (1, r"the answer is not JSON .*<!doctype html>"),
    "redirect": (1, r"redirects \(302\) to 'http://127.*/elsewhere.*', which is not followed"),
    "huge": (1, r"the answer is larger than 0\.1 MB; ask for less, or allow more: largest"),
    "huge when unpacked": (1, r"the answer is larger than 0\.1 MB"),
    "wrong type": (1, r"hits = 'hits' finds .*three.* \(str\); expected a list"),
    "no such path": (1, r"hits = 'hits' finds nothing in the answer; there are response\.\{docs\}, took"),
    "text for score": (1, r'the score of document .a. is "3.5" \(str\); expected a number'),
    "numbers for ids": (1, ["155", "7"]),
    "a fraction for an id": (1, r"an id is text or an integer, got 155\.5"),
    "no content": (1, r"the server answered 204 without content; expected JSON"),
    "gzip": (1, ABC),
    "broken gzip": (1, r"the answer cannot be unpacked"),
    "not UTF8": (1, r"the answer is not UTF-8 text \(byte 19\)"),
    "NaN": (1, r"not JSON \(it holds NaN"),
    "password": (1, r"refuses us \(401.*\); give what it wants in headers, from \$\{NAME\}"),
    "not found": (1, r"the server answered 404: .*no such index"),
}


def test_every_misbehaviour_ends_with_the_ranking_or_an_error(server: Server) -> None:
    late = [query for query, (_, expected) in MISBEHAVIOURS.items() if expected == LATE]
    outcome = asked(server, *(query for query in MISBEHAVIOURS if query not in late), workers=8)
    outcome.failed.update(asked(server, *late, workers=8, timeout=0.2).failed)
    assert len(MISBEHAVIOURS) >= 16
    assert len(late) == 3
    for query, (requests, expected) in MISBEHAVIOURS.items():
        until(lambda: server.requests[query] >= requests)  # noqa: B023 (it is over before the next)
        assert server.requests[query] == requests, query
        if isinstance(expected, str):
            assert re.search(expected, outcome.failed[query]), (query, outcome.failed[query])
            assert query not in outcome.rankings
        else:
            assert outcome.rankings[query].doc_ids == expected, (query, outcome.failed)
    assert server.requests["followed"] == 0
    assert outcome.notes == {"scores not falling": 1, "equal scores": 1, "without scores": 1}


@pytest.mark.parametrize("query", ["slow", "dripping"])
def test_whoever_asks_gives_up_by_itself(server: Server, query: str) -> None:
    said = r"^no whole answer within 0\.2 seconds; allow more: timeout = …$"
    sender = Sender(Limits(timeout=0.2), Secrets("", "here"), server.url, "here")
    with closing(sender), pytest.raises(TimedOut, match=said):
        sender.send("POST", server.url, json={"query": query})


def test_the_order_returned_is_the_ranking(server: Server) -> None:
    rankings = asked(server, "fine", "unsorted", "tied", "no scores").rankings
    assert rankings["fine"].scores == [3.0, 2.0, 0.5]
    assert rankings["unsorted"].scores == [-1.0, -2.0, -3.0]
    assert rankings["tied"].scores == rankings["no scores"].scores == [-1.0, -2.0]


def test_a_document_twice_is_taken_once_where_that_is_allowed(server: Server) -> None:
    hits = [{"id": "a", "score": 1.0}, {"id": "b", "score": 3.0}, {"id": "a", "score": 2.0}]
    server.answers["twice"] = {"hits": hits}
    assert asked(server, "twice", duplicates="first").rankings["twice"].doc_ids == ["a", "b"]
    assert asked(server, "twice", duplicates="best").rankings["twice"][:2] == (["b", "a"], [3.0, 2.0])
    assert asked(server, "twice", duplicates="first", k=1).rankings["twice"].doc_ids == ["a"]


def test_a_pause_is_one_for_all_workers(server: Server) -> None:
    server.pause = 0.1
    asked(server, "429 seconds", *(f"q{at}" for at in range(40)), workers=4)
    begun = [at for at, query in server.at if query == "429 seconds"]
    assert begun[1] - begun[0] >= 1.0
    times = sorted(at for at, _ in server.at)
    silence, end = max((after - before, after) for before, after in pairwise(times))
    assert silence > 0.5  # of the second, for on a busy machine what was sent before it comes late
    assert sum(at >= end for at in times) > 10


def test_an_hour_is_not_waited_for(server: Server) -> None:
    began = time.monotonic()
    outcome = asked(server, "429 hour", "q1", "q2", workers=1, retries=0)
    assert time.monotonic() - began < 100
    assert sum(server.requests.values()) == 1
    assert "busy" in outcome.failed["429 hour"]
    assert outcome.stopped is not None
    assert "again after 3,600 seconds" in outcome.stopped
    assert outcome.lacking == 3


def test_twenty_failures_in_a_row_are_enough(server: Server) -> None:
    server.answers = {f"q{at:02}": {"nothing": 1} for at in range(5, 60)}
    outcome = asked(server, *(f"q{at:02}" for at in range(60)), workers=1)
    assert sum(server.requests.values()) == 25
    assert len(outcome.rankings) == 5
    assert outcome.stopped is not None
    assert outcome.stopped.startswith("20 failures in a row, the last: hits = 'hits' finds nothing")


def test_no_more_requests_a_second_than_allowed(server: Server) -> None:
    began = time.monotonic()
    asked(server, *(f"q{at}" for at in range(6)), per_second=10, workers=6)
    assert max(at for at, _ in server.at) - began >= 5 / 10


def test_a_server_that_is_not_there() -> None:
    with serving() as gone:
        pass
    failed = asked(gone, "q").failed["q"]
    assert failed.startswith("no server answers there (")
    assert failed.endswith("; start it, or check url")


# ---- what is sent ---------------------------------------------------------------------------------------------------


def test_a_query_is_put_into_parsed_values(server: Server) -> None:
    odd = 'say "hi" \\ {k} ${HOME} & x=1/ü'
    body = {
        "query": "{query}",
        "n": "{k}",
        "text": "size {k}",
        "graph": "{ Get(q: {query:json}) { id } }",
        "need": "{need}",
    }
    asked(server, odd, body=body, params={"p": "{query}"}, url=server.url + "/find/{query}")
    (sent,) = server.bodies
    assert sent["query"] == odd
    assert sent["n"] == 10
    assert sent["text"] == "size 10"
    assert sent["need"] == ""
    assert sent["graph"] == '{ Get(q: "say \\"hi\\" \\\\ {k} ${HOME} & x=1/ü") { id } }'
    assert server.paths[0].startswith("/find/say%20%22hi%22%20%5C%20%7Bk%7D%20%24%7BHOME%7D%20%26%20x%3D1%2F%C3%BC?p=")


def test_an_address_may_come_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_AT", server.url)
    assert asked(server, "fine", url="${SEARCH_AT}/find").rankings["fine"].doc_ids == ABC
    assert server.paths == ["/find"]
    monkeypatch.setenv("SEARCH_AT", "ftp://secret.example")
    failed = asked(server, "fine", url="${SEARCH_AT}/find").failed["fine"]
    assert failed.startswith("the request cannot be sent (")
    assert "secret.example" not in failed


def test_a_vector_is_made_of_the_query(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vectors_here.py").write_text(
        "import numpy\ndef embed(text):\n    return numpy.array([len(text), 0.5])\ndef bad(text):\n    return 'x'\n"
    )
    monkeypatch.chdir(tmp_path)
    body = {"query": "{query}", "vector": "{vector}"}
    asked(server, "four", body=body, embed="vectors_here:embed")
    assert server.bodies[0]["vector"] == [4.0, 0.5]
    assert "embed returned" in asked(server, "four", body=body, embed="vectors_here:bad").failed["four"]
    with pytest.raises(InputError, match=r"\{vector\} is sent, and nothing makes it; write embed"):
        asked(server, "four", body=body)


def test_what_is_wrong_with_a_table_is_said_before_anything_is_sent(server: Server) -> None:
    for table, words in (
        ({"hits": "hits["}, r"hits = 'hits\[' is no path of JMESPath"),
        ({"headers": {"Authorization": "${NOT_SET_ANYWHERE}"}}, r"\$\{NOT_SET_ANYWHERE\} is not set; .*export NOT_SET"),
        ({"body": {"size": 3}}, r"nothing that is sent has \{query\} in it"),
        ({"body": '{"size": {k}}'}, r"body is not JSON .*in quotes there"),
        ({"id": None}, "lacks id, the path of the id in a hit"),
        ({"hits": None}, "give the path of hits and of the id in a hit, or of ids"),
        ({"url": "localhost:9200"}, r"url = 'localhost:9200' is no address; write http://"),
        ({"url": "http://bob:hidden@localhost/{query}"}, r"url has a password, .*; write \$\{NAME\} for it"),
        ({"timeout": 0}, "timeout = 0; expected a number above 0"),
        ({"workers": 2.5}, "workers = 2.5; expected a whole number from 1"),
        ({"hit": "x"}, "http has no key 'hit'; did you mean 'hits'"),
        ({"kind": "elastic"}, "there is no kind 'elastic'; did you mean 'elasticsearch'"),
    ):
        with pytest.raises(InputError, match=words):
            asked(server, "q", **table)
    assert not server.requests


def test_good_is_what_the_server_says(server: Server) -> None:
    """The table above is worth something: what is expected is what is sent."""
    assert [hit["id"] for hit in GOOD["hits"]] == ABC


def _json(text: str, times: int) -> str:
    for _ in range(times):
        text = json.dumps(text)
    return text


def test_a_secret_is_found_however_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = 'k3y/&<"\\é𝄞 +\n'
    monkeypatch.setenv("A_KEY", secret)
    ways = [secret, quote(secret), quote(secret, safe="").lower(), quote_plus(secret), html.escape(secret)]
    ways += [_json(secret, times) for times in range(1, 5)]
    ways.append(json.dumps(secret).replace("/", r"\/").replace("&", r"\u0026").replace("<", r"\u003C"))  # PHP, Go
    hidden = Secrets("${A_KEY}", "here").hidden
    for spelt in ways:
        assert hidden(f"before {spelt} after").replace("\\", "").replace('"', "") == "before ${A_KEY} after"
    assert hidden(json.dumps({"key": secret})) == '{"key": "${A_KEY}"}'
    assert hidden("k3y and others") == "k3y and others"
