"""The app in a real browser, under its own policy: every page and flow, by mouse, by finger and by keyboard."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import rankgauge
from browser import Seen, check_every_look, watched
from command import COMMAND
from web import Nested, made, write

pytestmark = pytest.mark.filterwarnings("ignore::rankgauge.RankgaugeWarning")
JUDGMENTS, RUNS = made(40, 3, seed=4)
RUNS["again"] = {query: {doc: -score for doc, score in docs.items()} for query, docs in RUNS["s1"].items()}
EVIL = "<img src=x onerror=document.title='hacked'>"
LONG = "very long " * 500
PAGES = {
    "leaderboard": "/",
    "run": "/run?run=s1",
    "query": "/query?query=q03&run=s1",
    "what-if": "/query?query=q03&run=s1&move=1%3Ad7&set=3%3Ad7",
    "compare": "/compare?run=s0&run=s1",
    "side-by-side": "/compare/query?query=q03&run=s0&run=s1",
    "funnel": "/funnel?retrieved=s1&reranked=again",
    "playground": "/playground",
    "problem": "/run?run=nobody",
}
MISTAKES = {"problem"}  # the browser itself says that a page was not there


class App:
    """A server in a process of its own, and where it is."""

    def __init__(self, folder: Path, judgments: Nested = JUDGMENTS, ranked: Mapping[str, Nested] = RUNS) -> None:
        qrels, runs = write(folder, judgments, ranked)
        queries = {query: f"query {query} d7 words" for query in judgments} | {
            "q05": EVIL,
            "q06": "שאילתה ארוכה",
            "q07": LONG,
        }
        (folder / "q.json").write_text(json.dumps(queries))
        docs = [
            {
                "doc_id": f"d{number}",
                "title": f"Title of d{number} {EVIL if number == 3 else ''}",
                "text": f"words {LONG[:300]}",
            }
            for number in range(36)  # the last ones have no text
        ]
        (folder / "d.jsonl").write_text("\n".join(map(json.dumps, docs)))
        (folder / "by.csv").write_text("query_id,group\n" + "".join(f"{q},g{int(q[1:]) % 2}\n" for q in judgments))
        self.folder, self.runs = folder, runs
        line = [
            *COMMAND, "serve", str(qrels), *map(str, runs), "--queries", str(folder / "q.json"), "--documents",
            str(folder / "d.jsonl"), "--by", str(folder / "by.csv"), "--cache", str(folder / "cache"),
        ]  # fmt: skip
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.base, self.key = re.findall(r"(http://[^/]+)/\?key=(\S+)", self.process.stdout.readline())[0]

    def address(self, path: str) -> str:
        return f"{self.base}{path}{'&' if '?' in path else '?'}key={self.key}"

    def stop(self) -> str:
        self.process.terminate()
        return self.process.communicate(timeout=120)[1]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    started = App(tmp_path_factory.mktemp("app"))
    yield started
    assert "Traceback" not in started.stop()


@contextmanager
def visited(
    browser: Any, app: App, path: str, width: int = 1280, theme: Any = "light", *, mistake: bool = False, **more: Any
) -> Iterator[Seen]:
    """A page; at the end there was no complaint, and no request to anywhere else."""
    with watched(browser, width, 1400, color_scheme=theme, **more) as seen:
        seen.page.goto(app.address(path))
        yield seen
        assert [each for each in seen.complaints if not (mistake and "404" in each)] == []
        assert [each for each in seen.requests if not each.startswith((app.base, "data:"))] == []
        assert seen.page.title() != "hacked"


def settled(seen: Seen) -> None:
    """Wait until nothing is pending."""
    seen.page.locator("main:not([data-pending])").wait_for()


def value(seen: Seen) -> float:
    return float(seen.page.locator(".large").inner_text())


def painted(seen: Seen) -> None:
    """Wait for the frame in which the page follows, and for the one after it."""
    seen.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def shows(seen: Seen, wanted: float) -> None:
    seen.page.locator(".large", has_text=f"{wanted:.4f}").wait_for()


def expected(moves: list[tuple[int, str]], grades: dict[str, float] | None = None, query: str = "q03") -> float:
    """The value after moves, by the library, on documents in the order shown."""
    ranks = rankgauge.explain(JUDGMENTS, RUNS["s1"], query, "R@1000").ranks
    order = sorted(ranks, key=lambda doc: ranks[doc])
    for rank, doc in moves:
        order = [each for each in order if each != doc]
        order.insert(rank - 1, doc)
    judged = {query: JUDGMENTS[query] | (grades or {})}
    return rankgauge.explain(judged, {query: {doc: -float(at) for at, doc in enumerate(order)}}, query).value


# ---- every page ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_in_the_way_of_anybody(browser: Any, app: App, name: str) -> None:
    """Whatever the width and the theme: axe has nothing grave to say, and nothing is beyond the edge."""
    with visited(browser, app, PAGES[name], mistake=name in MISTAKES) as seen:
        settled(seen)
        check_every_look(seen.page, 1400)


@pytest.mark.parametrize("name", ["run", "compare", "funnel"])
def test_charts_are_drawn_under_the_policy(browser: Any, app: App, name: str) -> None:
    with visited(browser, app, PAGES[name]) as seen:
        settled(seen)
        plots = seen.page.locator("[data-chart]")
        assert plots.count() > 0
        for at in range(plots.count()):
            plots.nth(at).scroll_into_view_if_needed()
            seen.page.locator("[data-chart].done").nth(at).wait_for()
        assert seen.page.locator(".live svg").count() == plots.count()
        text = "try { (0, eval)('1'); told('ran'); } catch { told('refused'); }"
        later = f"new Promise((told) => setTimeout(() => {{ {text} }}))"
        assert seen.page.evaluate(later) == "refused"


def test_a_page_without_charts_loads_no_library(browser: Any, app: App) -> None:
    for name in ("leaderboard", "query", "playground"):
        with visited(browser, app, PAGES[name]) as seen:
            settled(seen)
            assert [each for each in seen.requests if "vega" in each] == []


def test_the_page_is_there_before_the_verdicts(browser: Any, app: App) -> None:
    with visited(browser, app, "/?measure=AP&baseline=s2") as seen:
        seen.page.locator("[data-table=leaderboard] tbody tr").nth(3).wait_for()
        settled(seen)
        assert (
            "is better than s2" in seen.page.locator("main").inner_text()
            or "s2" in seen.page.locator("p.warn, p.bad, p.good").inner_text()
        )
        assert seen.page.locator("[data-table=leaderboard] tbody tr").count() == 4


def test_choosing_goes_to_an_address_that_says_it_all(browser: Any, app: App) -> None:
    with visited(browser, app, "/") as seen:
        seen.page.get_by_label("K", exact=True).select_option(label="20")
        seen.page.wait_for_url("**measure=nDCG%4020**")
        seen.page.get_by_label("Gain").select_option(label="exponential: 2^grade − 1")
        seen.page.wait_for_url("**gain%3Dexp**")
        seen.page.get_by_label("Queries").select_option("g1")
        seen.page.wait_for_url("**group=g1**")
        field = seen.page.get_by_label("Measure")
        field.fill("map")
        field.press("Enter")
        seen.page.wait_for_url("**measure=map**")
        assert seen.page.locator("h1").inner_text() == "AP"
        seen.page.go_back()
        assert "nDCG(gain=exp)@20" in seen.page.locator("h1").inner_text()


def test_light_and_dark_are_remembered(browser: Any, app: App) -> None:
    with visited(browser, app, "/playground") as seen:
        seen.page.locator("#theme").click()
        assert seen.page.locator("html").get_attribute("data-theme") == "dark"
        seen.page.reload()
        assert seen.page.locator("html").get_attribute("data-theme") == "dark"


# ---- one query -------------------------------------------------------------------------------------------------------


def doc_at(seen: Seen, rank: int) -> str:
    return str(seen.page.locator(f".ranked .card[data-rank='{rank}']").get_attribute("data-doc"))


def test_by_keyboard_alone(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        before, keys = value(seen), seen.page.keyboard
        assert round(before, 4) == round(rankgauge.explain(JUDGMENTS, RUNS["s1"], "q03").value, 4)
        for _ in range(3):
            keys.press("ArrowDown")
        doc = doc_at(seen, 3)
        keys.press("Alt+ArrowUp")
        seen.page.wait_for_url(f"**move=2%3A{doc}")
        shows(seen, expected([(2, doc)]))
        assert seen.page.evaluate("document.activeElement.dataset.doc") == doc
        keys.press("Alt+ArrowUp")
        seen.page.wait_for_url(f"**move=1%3A{doc}")
        shows(seen, expected([(1, doc)]))
        keys.press("3")
        seen.page.wait_for_url(f"**set=3%3A{doc}")
        shows(seen, expected([(1, doc)], {doc: 3.0}))
        assert seen.page.locator(".what-if").is_visible()
        keys.press("u")
        seen.page.wait_for_url(f"**set=u%3A{doc}")
        keys.press("Escape")
        seen.page.wait_for_url(re.compile(r"measure=nDCG%4010$"))
        shows(seen, before)
        assert not seen.page.locator(".what-if").is_visible()
        keys.press("j")
        seen.page.wait_for_url("**query=q04")
        keys.press("k")
        seen.page.wait_for_url("**query=q03")


def test_help_lists_the_keys_and_switches_them_off(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        seen.page.keyboard.press("?")
        told = seen.page.locator("#help")
        told.wait_for()
        assert "next, previous query" in told.inner_text()
        told.get_by_label("Single keys").uncheck()
        seen.page.keyboard.press("Escape")
        for key in ("j", "ArrowDown", "3", "u"):
            seen.page.keyboard.press(key)
        seen.page.reload()
        seen.page.keyboard.press("j")
        assert "query=q03" in seen.page.url
        assert "set=" not in seen.page.url


def test_by_buttons_and_by_the_list_of_grades(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        doc = doc_at(seen, 2)
        seen.page.get_by_label(f"Move {doc} down").click()
        seen.page.wait_for_url(f"**move=3%3A{doc}")
        shows(seen, expected([(3, doc)]))
        seen.page.get_by_label(f"Grade of {doc}").select_option("3")
        seen.page.wait_for_url(f"**set=3%3A{doc}")
        shows(seen, expected([(3, doc)], {doc: 3.0}))
        seen.page.get_by_role("link", name="as it was").click()
        shows(seen, expected([]))


def test_a_suggestion_is_tried_and_gives_what_it_promised(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        before = value(seen)
        first = seen.page.locator(".raises li").first
        promised = float(first.locator("strong").inner_text())
        first.get_by_role("link", name="Try").click()
        seen.page.locator(".what-if").wait_for()
        assert value(seen) == pytest.approx(before + promised, abs=1.5e-4)
        seen.page.reload()  # the link carries it
        assert value(seen) == pytest.approx(before + promised, abs=1.5e-4)


def dragged(seen: Seen, from_: Any, to: Any) -> tuple[dict[str, float], dict[str, float]]:
    start, end = from_.locator(".handle").bounding_box(), to.bounding_box()
    assert start is not None
    assert end is not None
    return (
        {"x": start["x"] + start["width"] / 2, "y": start["y"] + start["height"] / 2},
        {"x": start["x"] + start["width"] / 2, "y": end["y"] + 4},
    )


def test_by_mouse(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        cards, mouse = seen.page.locator(".ranked .card"), seen.page.mouse
        doc = doc_at(seen, 5)
        start, end = dragged(seen, cards.nth(4), cards.nth(1))
        mouse.move(start["x"], start["y"])
        mouse.down()
        mouse.move(end["x"], end["y"], steps=8)
        seen.page.locator(".dragged .rank", has_text="2").wait_for()
        shows(seen, expected([(2, doc)]))  # while it is in the hand
        assert seen.page.locator(".ranked .card .rank").all_inner_texts()[:6] == ["1", "2", "3", "4", "5", "6"]
        mouse.up()
        seen.page.wait_for_url(f"**move=2%3A{doc}")
        shows(seen, expected([(2, doc)]))


def test_a_drag_can_be_given_up(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        before, cards, mouse = value(seen), seen.page.locator(".ranked .card"), seen.page.mouse
        start, end = dragged(seen, cards.nth(6), cards.nth(0))
        mouse.move(start["x"], start["y"])
        mouse.down()
        mouse.move(end["x"], end["y"], steps=5)
        seen.page.keyboard.press("Escape")
        mouse.up()
        shows(seen, before)
        assert "move=" not in seen.page.url


def test_a_relevant_document_from_below_the_cut_is_dragged_in(browser: Any, app: App) -> None:
    with visited(browser, app, "/query?query=q03&run=s1&measure=nDCG%405") as seen:
        low, mouse = seen.page.locator(".ranked .low").first, seen.page.mouse
        doc = low.get_attribute("data-doc")
        start, end = dragged(seen, low, seen.page.locator(".ranked .card").first)
        mouse.move(start["x"], start["y"])
        mouse.down()
        mouse.move(end["x"], end["y"], steps=10)
        seen.page.locator(".dragged .rank", has_text="1").wait_for()
        mouse.up()
        seen.page.wait_for_url(f"**move=1%3A{doc}")


def test_by_finger(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"], 390, has_touch=True, is_mobile=True) as seen:
        cards = seen.page.locator(".ranked .card")
        doc = doc_at(seen, 3)
        start, end = dragged(seen, cards.nth(2), cards.nth(0))
        devtools = seen.page.context.new_cdp_session(seen.page)

        def touch(kind: str, *points: dict[str, float]) -> None:
            devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

        touch("touchStart", start)
        for step in range(1, 7):
            touch("touchMove", {"x": start["x"], "y": start["y"] + (end["y"] - start["y"]) * step / 6})
        shows(seen, expected([(1, doc)]))
        touch("touchEnd")
        seen.page.wait_for_url(f"**move=1%3A{doc}")
        shows(seen, expected([(1, doc)]))


def test_what_is_done_faster_than_the_server_answers_is_not_lost(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:

        def slowly(route: Any) -> None:
            time.sleep(0.15)
            route.continue_()

        seen.page.route("**/query/what-if", slowly)
        doc = doc_at(seen, 5)
        seen.page.locator(".ranked .card").nth(4).focus()
        for key in ("Alt+ArrowUp", "Alt+ArrowUp", "Alt+ArrowUp", "3"):
            seen.page.keyboard.press(key)
        seen.page.wait_for_url(f"**move=2%3A{doc}&set=3%3A{doc}")
        shows(seen, expected([(2, doc)], {doc: 3.0}))


def test_while_dragging_only_the_last_answer_is_shown(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        held: list[Any] = []
        seen.page.route("**/query/what-if", lambda route: held.append(route))
        cards, mouse, doc = seen.page.locator(".ranked .card"), seen.page.mouse, doc_at(seen, 6)
        start, first = dragged(seen, cards.nth(5), cards.nth(3))
        _, second = dragged(seen, cards.nth(5), cards.nth(0))
        mouse.move(start["x"], start["y"])
        mouse.down()
        for rank, place in ((4, first), (1, second)):
            mouse.move(place["x"], place["y"], steps=3)
            while not held or held[-1].request.post_data_json["move"] != [f"{rank}:{doc}"]:
                seen.page.wait_for_timeout(20)  # ranks on the way there may be asked for, too
        for route in reversed(held):  # the older answer comes last
            route.continue_()
            seen.page.wait_for_timeout(150)
        shows(seen, expected([(1, doc)]))
        seen.page.unroute("**/query/what-if")
        mouse.up()
        seen.page.wait_for_url(f"**move=1%3A{doc}")


def test_a_document_that_is_put_back_has_not_moved(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        before, cards, mouse = value(seen), seen.page.locator(".ranked .card"), seen.page.mouse
        start, end = dragged(seen, cards.nth(2), cards.nth(0))
        mouse.move(start["x"], start["y"])
        mouse.down()
        mouse.move(end["x"], end["y"], steps=4)
        seen.page.locator(".dragged .rank", has_text="1").wait_for()
        mouse.move(start["x"], start["y"] + 8, steps=4)
        seen.page.locator(".dragged .rank", has_text="3").wait_for()
        mouse.up()
        shows(seen, before)
        assert "move=" not in seen.page.url
        assert not seen.page.locator(".what-if").is_visible()


def test_a_document_is_dragged_out_of_what_counts_and_is_still_there(browser: Any, app: App) -> None:
    with visited(browser, app, "/query?query=q03&run=s1&measure=nDCG%405") as seen:
        cards, mouse, doc = seen.page.locator(".ranked .card"), seen.page.mouse, doc_at(seen, 2)
        start, end = dragged(seen, cards.nth(1), seen.page.locator(".ranked .low").last)
        mouse.move(start["x"], start["y"])
        mouse.down()
        mouse.move(end["x"], end["y"] + 60, steps=10)
        seen.page.locator(".dragged .rank", has_text="6").wait_for()
        assert seen.page.locator(".ranked .card .rank").all_inner_texts()[:5] == ["1", "2", "3", "4", "6"]
        mouse.up()
        seen.page.wait_for_url(f"**move=6%3A{doc}")
        assert seen.page.locator(".ranked .card .rank").all_inner_texts()[:5] == ["1", "2", "3", "4", "5"]
        assert seen.page.locator(f".ranked .low[data-doc='{doc}']").is_visible()


def test_after_back_the_controls_say_what_is_shown(browser: Any, app: App) -> None:
    with visited(browser, app, "/") as seen:
        seen.page.get_by_label("K", exact=True).select_option(label="5")
        seen.page.wait_for_url("**measure=nDCG%405**")
        seen.page.go_back()
        seen.page.locator("h1", has_text="nDCG@10").wait_for()
        assert seen.page.get_by_label("K", exact=True).input_value() == "nDCG@10"


def test_what_fills_in_takes_nothing_out_of_anybodys_hands(browser: Any, app: App) -> None:
    with visited(browser, app, "/?measure=nDCG%4017") as seen:
        field = seen.page.get_by_label("Measure")
        field.click()
        seen.page.keyboard.press("End")
        seen.page.keyboard.type("x")
        settled(seen)
        assert field.input_value() == "nDCG@17x"
        assert "nDCG%4017" in seen.page.url
        assert seen.page.locator("p.good, p.bad, p.warn").count() == 1


def test_two_systems_change_places(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["side-by-side"]) as seen:
        seen.page.get_by_label("Baseline").select_option("s1")
        seen.page.wait_for_url("**run=s1&run=s0**")


def test_a_server_that_is_gone_is_said(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        before = value(seen)
        seen.page.route("**/query/what-if", lambda route: route.abort())
        seen.page.locator(".ranked .card").nth(3).focus()
        seen.page.keyboard.press("Alt+ArrowUp")
        assert "does not answer" in seen.page.locator("[role=alert]").inner_text()
        assert value(seen) == before
        seen.complaints[:] = [each for each in seen.complaints if "ERR_FAILED" not in each]


def test_the_words_of_the_query_are_marked(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        assert "words" in seen.page.locator(".ranked mark").all_inner_texts()


@pytest.mark.parametrize("query", ["q00", "q01", "q05", "q06", "q07", "unjudged"])
def test_odd_queries_have_a_page(browser: Any, app: App, query: str) -> None:
    for width in (390, 1280):
        with visited(browser, app, f"/query?query={query}&run=s0", width) as seen:
            assert seen.page.locator(".large").is_visible()
            wide = seen.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_title_is_not_cut_through_a_line(browser: Any, app: App, width: int) -> None:
    with visited(browser, app, "/query?query=q07&run=s1", width) as seen:
        lines = "title => title.clientHeight / parseFloat(getComputedStyle(title).lineHeight)"
        assert seen.page.locator("h1").evaluate(lines) == pytest.approx(6, abs=0.02)


def test_the_playground_is_the_same_component(browser: Any, app: App) -> None:
    with visited(browser, app, "/playground?grades=3,0,u,2&measure=nDCG%405") as seen:
        shows(seen, rankgauge.ndcg([3, 0, None, 2], k=5))  # type: ignore[list-item]
        seen.page.locator(".ranked .card").nth(3).focus()
        seen.page.keyboard.press("Alt+ArrowUp")
        shows(seen, rankgauge.ndcg([3, 0, 2, None], k=5))  # type: ignore[list-item]
        assert seen.page.evaluate("document.activeElement.dataset.rank") == "3"
        assert seen.page.get_by_label("Grades, best rank first").input_value() == "3,0,2,u"
        seen.page.keyboard.press("1")
        shows(seen, rankgauge.ndcg([3, 0, 1, None], k=5, ideal=[3, 1, 0]))  # type: ignore[list-item]
        seen.page.get_by_role("link", name="worked example B").click()
        shows(seen, 0.9498)


# ---- the table of queries --------------------------------------------------------------------------------------------


def lines(seen: Seen) -> list[str]:
    return [str(text).split("\n")[0] for text in seen.page.locator(".rows .line a").all_inner_texts()]


def test_the_table_of_queries(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["run"]) as seen:
        seen.page.locator(".window[data-ready]").wait_for()
        values = rankgauge.evaluate(JUDGMENTS, RUNS["s1"]).to_dict()
        worst = sorted(values, key=lambda query: values[query]["nDCG@10"])
        shown = seen.page.locator(".rows .line").first.inner_text()
        assert f"{values[worst[0]]['nDCG@10']:.4f}" in shown
        seen.page.locator(".window").get_by_role("columnheader", name="nDCG@10").get_by_role("button").click()
        seen.page.wait_for_url("**down=true**")
        assert f"{values[worst[-1]]['nDCG@10']:.4f}" in seen.page.locator(".rows .line").first.inner_text()
        seen.page.get_by_label("Search queries").fill("query q1 g0")
        seen.page.wait_for_url("**find=query+q1+g0**")
        assert seen.page.locator(".window .count").inner_text() == "5 of 40 queries"
        seen.page.reload()
        seen.page.locator(".window[data-ready]").wait_for()
        assert seen.page.locator(".rows .line").count() == 5
        assert (
            seen.page.locator(".window").get_by_role("columnheader", name="nDCG@10").get_attribute("aria-sort")
            == "descending"
        )
        seen.page.get_by_label("Queries: arrow keys choose, Enter opens").focus()
        seen.page.keyboard.press("ArrowDown")
        goal = seen.page.locator(".rows .line.chosen a").get_attribute("href")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url(f"**{str(goal).split('query=')[1]}")
        assert seen.page.locator(".large").is_visible()


def test_of_ten_thousand_queries_few_are_in_the_page(browser: Any, tmp_path: Path) -> None:
    judgments = {f"q{number:05}": {"d1": 1.0} for number in range(10_000)}
    run = {query: {"d1": 1.0} if int(query[1:]) % 3 else {"d2": 1.0, "d1": 0.5} for query in judgments}
    app = App(tmp_path, judgments, {"s1": run})
    try:
        with visited(browser, app, "/run?run=s1&sort=query") as seen:
            seen.page.locator(".window[data-ready]").wait_for()
            rows, box = seen.page.locator(".rows .line"), seen.page.locator(".rows")
            counts = []
            for share in (0, 0.3, 0.9, 1):
                box.evaluate("(box, share) => { box.scrollTop = share * box.scrollHeight; }", share)
                painted(seen)
                counts.append(rows.count())
            assert 10 < min(counts) <= max(counts) <= 60
            assert "q09999" in rows.last.inner_text()
            seen.page.get_by_label("Search queries").fill("q0777")
            assert seen.page.locator(".window .count").inner_text() == "10 of 10,000 queries"
    finally:
        assert "Traceback" not in app.stop()


def test_a_mark_of_a_chart_opens_its_query(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["compare"]) as seen:
        settled(seen)
        place = seen.page.locator("[data-chart=differences-s1]")
        place.scroll_into_view_if_needed()
        place.locator(".live svg .mark-rect path").first.wait_for()
        place.locator(".live svg .mark-rect path").first.hover()
        assert place.locator(".live svg .mark-rect path").first.evaluate("mark => mark.style.cursor") == "pointer"
        place.locator(".live svg .mark-rect path").first.click()
        seen.page.wait_for_url("**/compare/query?**query=q**")
        assert seen.page.locator(".two .list").count() == 2
        assert seen.page.url.count("run=s1") == 1


def test_a_mark_of_several_queries_leads_nowhere(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["compare"] + "&measure=Success@10") as seen:
        settled(seen)
        place = seen.page.locator("[data-chart=scatter-s1]")
        place.scroll_into_view_if_needed()
        mark = place.locator(".live svg .mark-symbol.role-mark path").last
        mark.hover()
        assert mark.evaluate("mark => getComputedStyle(mark).cursor") != "pointer"
        mark.click()
        seen.page.wait_for_timeout(300)
        assert "/compare/query" not in seen.page.url


def test_a_file_that_changes_is_said_and_read_again(browser: Any, app: App) -> None:
    path = app.folder / "by.csv"
    with visited(browser, app, "/") as seen:
        seen.page.locator("main table").first.wait_for()  # it was read a first time
        path.write_text(path.read_text() + "nobody,g1\n")
        seen.page.reload()
        assert "by.csv has changed" in seen.page.locator(".banner").inner_text()
        with seen.page.expect_navigation(), seen.page.expect_response("**/reread") as answer:
            seen.page.get_by_role("button", name="Read again").click()
        assert answer.value.status == 202
        settled(seen)  # the page itself sees when everything was read
        assert seen.page.locator(".banner").all_inner_texts() == []


def test_it_prints_as_it_looks(browser: Any, app: App) -> None:
    with visited(browser, app, PAGES["query"]) as seen:
        seen.page.emulate_media(media="print")
        assert not seen.page.locator(".controls").is_visible()
        assert seen.page.locator(".large").is_visible()


# ---- the schema ------------------------------------------------------------------------------------------------------


def test_the_schema_holds_whatever_is_asked(app: App) -> None:
    """No server error, no status, type or shape that the schema does not tell of."""
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    line = [
        sys.executable, "-m", "schemathesis.cli", "run", f"{app.base}/openapi.json",
        "-H", f"Authorization: Bearer {app.key}", "--checks", checks, "--phases", "fuzzing",
        "--max-examples", "8", "--seed", "7", "--no-color",
    ]  # fmt: skip
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, cwd=app.folder)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"2[0-9] passed", done.stdout)
