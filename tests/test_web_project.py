"""Every page of a project, behind a real server: the example after its loop, each address asked several times."""

from __future__ import annotations

import json
import operator
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from html import unescape
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import httpx2
import pytest
from starlette.testclient import TestClient

from command import COMMAND, real
from rankgauge.show.model import Chart, Section, Text, every_block
from rankgauge.web import jobs
from rankgauge.web.markup import DESK_PAGES, PAGES, Around, markup
from rankgauge.web.pages.compare import compare_page
from rankgauge.web.site import Site
from rankgauge.web.view import View
from web import HOST, Asked, asked, made, write

TIMES = 3  # that an address is asked after its answer is complete
ALIKE = 2  # addresses of one path with the same parameters
LINK = re.compile(r'(?:href|data-charts|data-rows)="(/[^"]*)"')
WAITING = re.compile(r'data-pending="[^"]+"|"pending"')


class Server:
    """A server of the example, its log, and how to ask it."""

    def __init__(self, project: Path) -> None:
        line = [*COMMAND, "serve", str(project), "--cache", str(project / "cache")]
        self.log = project / "serve.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        ((base, key),) = re.findall(r"(http://\S+)/\?key=(\S+)", self.process.stdout.readline())
        self.client = httpx2.Client(base_url=base, headers={"authorization": f"Bearer {key}"}, timeout=60)

    def get(self, address: str) -> httpx2.Response:
        """The answer when nothing is pending any more; it is asked for again, as often as a reader would."""
        end = time.monotonic() + 60
        while True:
            answer = self.client.get(address)
            if not WAITING.search(answer.text) or answer.status_code >= 400:
                return answer
            assert time.monotonic() < end, (address, answer.text[:500])
            time.sleep(0.05)

    def errors(self) -> str:
        """The output of the server."""
        return self.log.read_text()

    def stop(self) -> None:
        """End the server."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        self.client.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    for words in (("init", "ex", "--example"), ("loop", "ex")):
        outcome = real(*words, cwd=folder)
        assert outcome.code == 0, outcome.err
    running = Server(folder / "ex")
    try:
        yield running
    finally:
        running.stop()


def kind(address: str) -> tuple[str, ...]:
    """What addresses have in common that show the same of other queries."""
    parts = urlsplit(address)
    given = parse_qs(parts.query)
    runs = (*given.get("run", ()), *given.get("retrieved", ()), *given.get("reranked", ()))
    return (parts.path, *sorted(given), *runs)


def twins(address: str) -> list[str]:
    """An address with those of its data and of its charts."""
    parts = urlsplit(address)
    if parts.path not in {*PAGES, *DESK_PAGES, "/run", "/query", "/compare/query"}:
        return [address]
    stem = "/index" if parts.path == "/" else parts.path
    query = f"?{parts.query}" if parts.query else ""
    return [address, *(f"{stem}{ending}{query}" for ending in (".json", ".charts"))]


def test_no_page_of_a_project_answers_500_however_often_it_is_asked(site: Server) -> None:
    start = [*PAGES, *DESK_PAGES, *(f"/run?{urlencode({'run': run})}" for run in ("bm25", "stemmed", "reranked"))]
    left, seen, alike, failed = list(start), set(start), Counter[tuple[str, ...]](), []
    while left:
        address = left.pop(0)
        for each in twins(address):
            answers = [site.get(each) for _ in range(TIMES)]
            failed += [(each, answer.status_code) for answer in answers if answer.status_code >= 400]
        for link in map(unescape, LINK.findall(site.get(address).text)):
            to = urljoin(address, link)
            if to not in seen and not to.startswith("/static/") and alike[kind(to)] < ALIKE:
                seen.add(to)
                alike[kind(to)] += 1
                left.append(to)
    paths = {urlsplit(address).path for address in seen}
    assert {*PAGES, *DESK_PAGES, "/run", "/query", "/compare/query"} <= paths
    assert failed == []
    assert "Traceback" not in site.errors()


def test_the_page_of_a_system_has_checked_what_is_stored(site: Server) -> None:
    for run in ("bm25", "stemmed", "reranked"):
        told = site.get(f"/run.json?run={run}").json()
        assert isinstance(told["findings"], list)
        assert "The files were not checked" not in site.get(f"/run?run={run}").text


def test_every_page_with_values_says_whose_labels_they_rest_on(site: Server) -> None:
    stages = "retrieved=stemmed&reranked=reranked"
    for address in ("/", "/compare", f"/funnel?{stages}", "/run?run=bm25"):
        assert "labels by stand-in" in unescape(site.get(address).text), address
    first = unescape(site.get("/").text)
    assert "On this log, stemmed is better than bm25 by 0.0140 nDCG@5 per search" in first
    assert "stand-in agrees with people less than is asked for" in first
    assert "labels by" not in site.get("/playground").text


def test_every_face_of_a_project_has_the_same_means(site: Server) -> None:
    rows = {row["system"]: row for row in site.get("/index.json").json()["systems"]}
    funnel = site.get("/funnel.json?retrieved=stemmed&reranked=reranked&measure=nDCG@5").json()
    page = unescape(site.get("/funnel?retrieved=stemmed&reranked=reranked&measure=nDCG@5").text)
    folder = site.log.parent
    stages = ("@labels", "--retrieved", "@stemmed", "--reranked", "@reranked", "-m", "nDCG@5", "--format", "json")
    command = json.loads(real("funnel", *stages, cwd=folder).out)
    runs = ("@labels", "@stemmed", "@reranked", "-m", "nDCG@5", "--format", "json")
    measured = json.loads(real("eval", *runs, cwd=folder).out)["runs"]
    evaluated = {run["run"]: run["measures"]["nDCG@5"]["per_search"] for run in measured}
    for system, stage in (("stemmed", "retrieved"), ("reranked", "value")):
        for told in (funnel["systems"]["reranked"], command["systems"]["reranked"]):
            assert (told["parts"] | told)[stage] == pytest.approx(rows[system]["nDCG@5"], rel=1e-12)
        assert evaluated[system] == pytest.approx(rows[system]["nDCG@5"], rel=1e-12)
    looped = real("loop", cwd=folder).out
    for system in ("stemmed", "reranked"):
        assert f"{rows[system]['nDCG@5']['value']:.4f}" in looped
        assert f"{rows[system]['nDCG@5']['value']:.4f}" in page
    assert "Per search, reranked scores " in page


# ---- what fails ------------------------------------------------------------------------------------------------------


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Asked]:
    qrels, runs = write(tmp_path, *made())
    with asked(tmp_path, qrels, runs) as each:
        yield each


def test_a_part_that_fails_leaves_the_rest_of_the_page(app: Asked, capfd: pytest.CaptureFixture[str]) -> None:
    app.served.files.runs["s1"].__dict__["lock"] = Lock()  # which no other process can be given
    told = app.data("/run.json?run=s1")
    page = app.get("/run?run=s1")
    words = "an error in rankgauge itself (TypeError); the terminal of 'rankgauge serve' shows the details"
    assert (told["findings"], told["problem"]) == (None, words)
    assert len(told["runs"][0]["per_query"]) == 12
    assert (page.status_code, f"The files were not checked: {words}" in unescape(page.text)) == (200, True)
    assert all(f'<section id="{key}"' in page.text for key in ("overview", "queries", "distribution", "coverage"))
    assert capfd.readouterr().err.count("in _asked") == 1  # however often the page is looked at
    assert app.data("/run.json?run=s2")["findings"] is not None


def test_a_section_that_cannot_be_shown_is_a_sentence() -> None:
    good, bad = Section("good", "", [Text("Still there.")]), Section("bad", "Charts", [Text(5)])  # type: ignore[arg-type]
    page = unescape(markup(View("Page", dict, [bad, good]), Around("/")))
    assert "Still there." in page
    assert '<h2 id="bad-title">Charts</h2>' in page
    assert "This part cannot be shown: an error in rankgauge itself (" in page


def test_a_chart_that_fails_leaves_the_others(app: Asked) -> None:
    charts = {block.key: block for block in chart_blocks(app)}
    (first, chart), *_ = charts.items()
    drawn = jobs.drawn(charts | {first: chart._replace(draw=partial(operator.truediv, 1, 0))})["charts"]
    assert drawn.pop(first)["problem"].startswith("No chart of this: an error in rankgauge itself (ZeroDivisionError)")
    assert drawn
    assert all("spec" in each for each in drawn.values())


def chart_blocks(app: Asked) -> list[Chart]:
    app.data("/compare.json?run=s0&run=s1")
    assert app.served.collection is not None
    site = Site(app.served.files, app.served.collection, app.worker)
    return [each for each in every_block(compare_page(site, ["s0", "s1"]).sections) if isinstance(each, Chart)]


@pytest.mark.parametrize("path", ["/query", "/query.json", "/query.charts"])
def test_a_500_is_a_page_of_ours_with_the_way_back(app: Asked, path: str) -> None:
    object.__setattr__(app.served.collection, "documents", None)
    client = TestClient(app.guard, f"http://{HOST}", raise_server_exceptions=False)
    answer = client.get(f"{path}?query=q03&run=s1", headers={"authorization": f"Bearer {app.key}"})
    words = "rror in rankgauge itself (AttributeError); the terminal of 'rankgauge serve' shows the details"
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"]
    if path == "/query":
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert f"An e{words}." in unescape(answer.text)
        assert '<a href="/">Leaderboard</a>' in answer.text
    else:
        assert answer.json() == {"error": f"an e{words}"}
