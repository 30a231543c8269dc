"""The pages of who leads the judging in a real browser: deciding by keyboard, a task made, nothing in anybody's way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import select

from browser import Seen, check_every_look, watched
from lead_app import JUDGES, listening
from rankgauge.errors import RankgaugeWarning
from rankgauge.raters.disputes import Decision, adjudication, decide
from rankgauge.raters.tasks import task_of
from rankgauge.store import schema
from rankgauge.store.operator import operator
from rankgauge.web.desk import Desk

pytestmark = pytest.mark.filterwarnings("ignore::rankgauge.RankgaugeWarning")
PAGES = {
    "tasks": "/tasks",
    "agreement": "/agreement",
    "agreement-of-two": "/agreement?judge=annika&judge=bobbie",
    "adjudicate": "/adjudicate",
    "adjudicate-a-task": "/adjudicate?task=autumn&among=people&measure=AP",
    "judges": "/judges",
}


class App:
    """Where it listens, its key, and its desk."""

    def __init__(self, base: str, key: str, desk: Desk) -> None:
        self.base, self.key, self.desk = base, key, desk


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with listening(tmp_path_factory.mktemp("lead")) as found:
        yield App(*found)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[App]:
    """One whose store a test changes."""
    with listening(tmp_path) as found:
        yield App(*found)


@contextmanager
def visited(browser: Any, app: App, path: str, width: int = 1280, theme: Any = "light", **more: Any) -> Iterator[Seen]:
    """A page; at the end there was no complaint, and no request to anywhere else."""
    with watched(browser, width, 1000, color_scheme=theme, **more) as seen:
        seen.page.goto(f"{app.base}{path}{'&' if '?' in path else '?'}key={app.key}")
        yield seen
        assert [each for each in seen.complaints if "ERR_INTERNET_DISCONNECTED" not in each] == []
        assert [each for each in seen.requests if not each.startswith((app.base, "data:"))] == []
        assert seen.page.title() != "hacked"


def settled(seen: Seen) -> None:
    """Wait until nothing is pending, and a pair is there where one is to be decided."""
    seen.page.locator("main:not([data-pending])").wait_for()
    if "/adjudicate" in seen.page.url and seen.page.locator("#decide [data-part=columns]").count():
        seen.page.locator("#decide[data-shown]").wait_for()
        seen.page.wait_for_timeout(250)  # a key that comes sooner is one for the last


def rulings(app: App) -> list[tuple[Any, ...]]:
    """Every decision in the database: query, document, grade, note, who."""
    table, judge = schema.judgment.c, schema.judge.c
    asked = select(table.query_id, table.doc_id, table.grade, table.reason, judge.name)
    asked = asked.join(schema.judge, judge.judge_id == table.judge_id).where(table.ruling == 1)
    return [tuple(row) for row in app.desk.store.read(lambda c: c.execute(asked.order_by(table.judgment_id)).all())]


def text(seen: Seen, part: str) -> str:
    return seen.page.locator(f"#decide [data-part={part}]").inner_text()


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_in_the_way_of_anybody(browser: Any, app: App, name: str) -> None:
    """Whatever the width and the theme: axe has nothing grave to say, and nothing is beyond the edge."""
    with visited(browser, app, PAGES[name]) as seen:
        settled(seen)
        check_every_look(seen.page, 1000)


def test_deciding_by_keyboard_alone(browser: Any, own: App) -> None:
    """Every decision is in the database, in its order; names are on the page only when it is decided."""
    found = adjudication(own.desk.project, own.desk.store)
    with visited(browser, own, "/adjudicate") as seen:
        settled(seen)
        keys = seen.page.keyboard
        assert not any(name in seen.page.content() for name in ("annika", "bobbie", "evelyn"))
        assert f"by up to {found.open[0].effect:.4f}" in text(seen, "effect")
        keys.press("n")
        keys.type("by 2 the text <b>")
        keys.press("Enter")
        keys.press("2")
        seen.page.locator("[data-part=last]", has_text="annika").wait_for()
        assert all(judge in text(seen, "last-given") for judge in (*JUDGES, "gpt-9"))
        after = found.open[0].means["s1"][2.0]
        assert f"{after:.4f}" in text(seen, "outcome")
        settled(seen)
        keys.press("s")
        settled(seen)
        keys.press("0")
        seen.page.locator("[data-part=state]", has_text="Saved").wait_for()
        settled(seen)
        keys.press("u")
        settled(seen)
        assert seen.page.locator(".level[aria-pressed=true]").inner_text().startswith("0")
        keys.press("3")
        seen.page.locator("[data-part=done]", has_text="2").wait_for()
        settled(seen)
        seen.page.locator("[data-part=state]", has_text="Saved").wait_for()
    wanted = [
        (*found.open[0][:2], 2.0, "by 2 the text <b>", operator()),
        (*found.open[2][:2], 0.0, None, operator()),
        (*found.open[2][:2], 3.0, None, operator()),
    ]
    assert rulings(own) == wanted
    labels = own.desk.project.labels().nested
    assert labels[wanted[2][0]][wanted[2][1]] == 3.0
    assert [each.doc_id for each in adjudication(own.desk.project, own.desk.store).decided] == [
        found.open[2].doc_id, found.open[0].doc_id,
    ]  # fmt: skip


def test_what_was_decided_can_be_opened_again(browser: Any, own: App) -> None:
    """After a reload, too; also where nothing else is open."""
    found = adjudication(own.desk.project, own.desk.store, people=True)
    for at, each in enumerate(found.open):
        decide(own.desk.store, Decision(f"decision {at}", each.query_id, each.doc_id, 1.0, "first"), "chief")
    first = found.open[0]
    with visited(browser, own, "/adjudicate?among=people") as seen:
        settled(seen)
        assert "Nothing is to be decided" in seen.page.locator("#decide").inner_text()
        seen.page.locator(f"#decided a[href$='query={first.query_id}&doc={first.doc_id}']").click()
        settled(seen)
        assert first.doc_id in seen.page.locator("#decide .paper").inner_text()
        assert text(seen, "effect").startswith("chief decided for 1 on ")
        assert "annika" in text(seen, "given")
        assert seen.page.locator(".level[aria-pressed=true]").inner_text().startswith("1")
        seen.page.keyboard.press("3")
        seen.page.locator("[data-part=state]", has_text=re.compile("^Saved$")).wait_for()
        seen.page.locator("[data-part=end]", has_text="All decided").wait_for()
    assert rulings(own)[-1] == (first.query_id, first.doc_id, 3.0, "first", operator())
    assert own.desk.project.labels().nested[first.query_id][first.doc_id] == 3.0


def test_to_the_end_by_touch_and_with_the_network_gone_in_between(browser: Any, own: App) -> None:
    """What is decided offline is sent when the server is back, each once; what was skipped comes back."""
    found = adjudication(own.desk.project, own.desk.store, task_of(own.desk.store, "autumn"), people=True)
    path = "/adjudicate?task=autumn&among=people"
    with visited(browser, own, path, 390, has_touch=True, is_mobile=True) as seen:
        settled(seen)
        for at in range(len(found.open)):
            if at == 2:
                seen.page.locator("[data-part=state]", has_text=re.compile("^Saved$")).wait_for()
                seen.page.context.set_offline(True)
            if at == 4:
                seen.page.locator("[data-part=state]", has_text="Not saved: 2").wait_for()
                seen.page.context.set_offline(False)
                seen.page.locator("[data-part=state]", has_text="Saved").wait_for()
            seen.page.locator(f"#decide[data-shown] [data-part=place]:has-text('Disagreement {at + 1} of')").wait_for()
            seen.page.locator(".level").nth(1).tap()
        seen.page.locator("[data-part=end]", has_text="All decided").wait_for()
        seen.page.locator("[data-part=state]", has_text="Saved").wait_for()
    assert [row[:3] for row in rulings(own)] == [(each.query_id, each.doc_id, 1.0) for each in found.open]
    with visited(browser, own, path) as seen:
        settled(seen)
        assert "Nothing is to be decided" in seen.page.locator("#decide").inner_text()


def test_what_is_decided_when_the_session_ends_is_sent_after_the_log_in(browser: Any, own: App) -> None:
    first = adjudication(own.desk.project, own.desk.store).open[0]
    with visited(browser, own, "/adjudicate") as seen:
        settled(seen)
        ended = {"status": 401, "json": {"error": "log in first", "login": "/playground"}}
        seen.page.route("**/adjudicate", lambda route: route.fulfill(**ended))
        seen.page.wait_for_timeout(250)
        seen.page.keyboard.press("3")
        seen.page.wait_for_url("**/playground")
        assert rulings(own) == []
        seen.page.unroute("**/adjudicate")
        seen.page.goto(f"{own.base}/adjudicate")
        seen.page.locator("[data-part=state]", has_text="Saved").wait_for()
        seen.complaints[:] = [each for each in seen.complaints if "401" not in each]
    assert [row[:3] for row in rulings(own)] == [(first.query_id, first.doc_id, 3.0)]


def test_what_somebody_else_decided_is_said_and_not_overwritten(browser: Any, own: App) -> None:
    first = adjudication(own.desk.project, own.desk.store).open[0]
    with visited(browser, own, "/adjudicate") as seen:
        settled(seen)
        decide(own.desk.store, Decision("another", first.query_id, first.doc_id, 1.0), "chief")
        seen.page.keyboard.press("3")
        seen.page.locator("[data-part=flash]", has_text="chief decided meanwhile for 1").wait_for()
        seen.complaints[:] = [each for each in seen.complaints if "409" not in each]
    assert [row[2:] for row in rulings(own)] == [(1.0, None, "chief")]


def test_nothing_is_decided_about_a_document_that_nobody_sees(browser: Any, own: App) -> None:
    """While a text is on its way, neither the last card is there nor a key, a click or a note does anything."""
    first, second = adjudication(own.desk.project, own.desk.store).open[:2]
    with visited(browser, own, "/adjudicate") as seen:
        held: list[Any] = []

        def hold(route: Any) -> None:
            """The first text comes; what is asked ahead waits."""
            asked = parse_qs(urlsplit(route.request.url).query)
            if (asked["query"], asked["doc"]) == ([first.query_id], [first.doc_id]):
                route.continue_()
            else:
                held.append(route)

        seen.page.route("**/adjudicate/pair.json?*", hold)
        seen.page.reload()
        settled(seen)
        keys, paper = seen.page.keyboard, seen.page.locator("#decide .paper")
        keys.press("n")
        keys.type("of the first")
        seen.page.locator(".level").nth(2).click()
        seen.page.locator("[data-part=done]", has_text="1").wait_for()
        seen.page.locator("[data-part=place]", has_text="Disagreement 2 of").wait_for()
        assert "One moment" in paper.inner_text()
        assert first.doc_id not in paper.inner_text()
        assert text(seen, "query") == "…"
        seen.page.wait_for_timeout(250)
        for key in ("3", "s", "n"):
            keys.press(key)
            assert text(seen, "flash") == "One moment …"
        seen.page.locator(".level").nth(0).click()
        for act in ("skip", "note"):
            seen.page.locator(f".tools [data-act={act}]").click()
        assert seen.page.locator("#decide-note").is_hidden()
        assert text(seen, "place").startswith("Disagreement 2 of")
        assert text(seen, "done") == "1"
        while held:
            held.pop().continue_()
        seen.page.unroute("**/adjudicate/pair.json?*")
        settled(seen)
        assert second.doc_id in paper.inner_text()
        assert text(seen, "flash") == ""
        keys.press("n")
        assert seen.page.locator("#decide-note").input_value() == ""  # the note was one of the first
        keys.press("Escape")
        keys.press("1")
        seen.page.locator("[data-part=done]", has_text="2").wait_for()
        seen.page.locator("[data-part=state]", has_text=re.compile("^Saved$")).wait_for()
    wanted = [(*first[:2], 2.0, "of the first"), (*second[:2], 1.0, None)]
    assert [row[:4] for row in rulings(own)] == wanted


def test_a_text_that_does_not_come_is_not_decided_about(browser: Any, own: App) -> None:
    with visited(browser, own, "/adjudicate") as seen:
        refusal = {"status": 404, "json": {"error": "nobody has judged it"}}
        seen.page.route("**/adjudicate/pair.json?*", lambda route: route.fulfill(**refusal))
        seen.page.reload()
        settled(seen)
        assert text(seen, "flash") == "nobody has judged it"
        seen.page.keyboard.press("3")
        assert "could not be shown" in text(seen, "flash")
        assert text(seen, "done") == "0"
        seen.page.keyboard.press("s")
        seen.page.locator("[data-part=place]", has_text="Disagreement 2 of").wait_for()
        seen.page.unroute("**/adjudicate/pair.json?*")
        seen.page.keyboard.press("u")
        seen.page.locator("#decide .paper .lead-title").wait_for()  # asked for again
        seen.complaints[:] = [each for each in seen.complaints if "404" not in each]
    assert rulings(own) == []


def test_a_document_of_a_megabyte_is_folded(browser: Any, own: App) -> None:
    first = adjudication(own.desk.project, own.desk.store).open[0]
    document = (first.doc_id, {"title": "Long", "text": "shoes and " * 120_000})
    with pytest.warns(RankgaugeWarning, match="another text"):
        own.desk.store.add_documents([document], "test", latest_text=True)
    with visited(browser, own, "/adjudicate") as seen:
        settled(seen)
        words = seen.page.locator("#decide .paper .words")
        assert len(words.inner_text()) < 2_600
        seen.page.get_by_role("button", name="Show all 1,200,000 characters").click()
        assert words.evaluate("text => text.textContent.length") == 1_200_000
        assert words.locator("mark").count() == 2_000
        seen.page.keyboard.press("2")
        seen.page.locator("[data-part=state]", has_text=re.compile("^Saved$")).wait_for()
    assert [row[:3] for row in rulings(own)] == [(*first[:2], 2.0)]


def test_digits_count_by_their_place_on_other_keyboards(browser: Any, own: App) -> None:
    """On a French one the key of the 2 says é; single keys are switched off for all pages at once."""
    first = adjudication(own.desk.project, own.desk.store).open[0]
    pressed = "key => document.body.dispatchEvent(new KeyboardEvent('keydown', { ...key, bubbles: true }))"
    with visited(browser, own, "/adjudicate") as seen:
        settled(seen)
        seen.page.keyboard.press("?")
        seen.page.get_by_label("Single keys").uncheck()
        seen.page.keyboard.press("Escape")
        assert seen.page.evaluate("localStorage.getItem('rankgauge-keys')") == "off"
        seen.page.evaluate(pressed, {"key": "é", "code": "Digit2"})
        assert text(seen, "done") == "0"
        seen.page.keyboard.press("?")
        seen.page.get_by_label("Single keys").check()
        seen.page.keyboard.press("Escape")
        seen.page.evaluate(pressed, {"key": "é", "code": "Digit2"})
        seen.page.locator("[data-part=state]", has_text=re.compile("^Saved$")).wait_for()
    assert [row[:3] for row in rulings(own)] == [(*first[:2], 2.0)]


def test_on_a_phone_the_labels_come_first_and_the_menu_shows_where_one_is(browser: Any, app: App) -> None:
    with visited(browser, app, "/adjudicate", 390, has_touch=True, is_mobile=True) as seen:
        settled(seen)
        parts = (".asked", "[data-part=given-box]", ".paper", ".answer")  # something of each is in sight
        tops = [seen.page.locator(f"#decide {each}").bounding_box() for each in parts]
        assert [each["y"] for each in tops if each] == sorted(each["y"] for each in tops if each)
        around, here = (seen.page.locator(f".top nav{each}").bounding_box() for each in ("", " [aria-current]"))
        assert around is not None
        assert here is not None
        assert around["x"] <= here["x"]
        assert here["x"] + here["width"] <= around["x"] + around["width"]


def test_a_task_is_made_and_closed(browser: Any, own: App) -> None:
    with visited(browser, own, "/tasks") as seen:
        seen.page.get_by_label("Name", exact=True).fill("winter")
        seen.page.get_by_label("s1").uncheck()
        seen.page.get_by_label("Depth").fill("12")
        seen.page.get_by_label("Overlap").fill("2")
        seen.page.get_by_label("Raters").fill("ann, bob")
        seen.page.get_by_label("Scale").select_option("own")
        seen.page.get_by_label("Grades, one a line").fill("0 = Bad\n1 = Good: it helps")
        seen.page.get_by_label("Guidelines").fill("**Look** twice")
        seen.page.get_by_role("button", name="Make the task").click()
        seen.page.locator(".said", has_text="have no text for raters to read").wait_for()  # documents of this shop
        seen.page.reload()
        seen.page.get_by_role("heading", name="winter").wait_for()
        task = task_of(own.desk.store, "winter")
        assert (task.runs, task.overlap, task.raters) == (("@s2",), 2, ("ann", "bob"))
        assert (task.scale.grades, task.guidelines) == ((0.0, 1.0), "**Look** twice")
        seen.page.locator("section.task", has_text="winter").get_by_role("button", name="Close").click()
        seen.page.locator("section.task", has_text="winter").get_by_role("button", name="Open again").wait_for()
        assert task_of(own.desk.store, "winter").closed
        seen.page.get_by_label("Name", exact=True).fill("winter")
        seen.page.get_by_role("button", name="Make the task").click()
        seen.page.locator(".said.refused", has_text="already").wait_for()
        seen.complaints[:] = [each for each in seen.complaints if "422" not in each]


def test_the_ledger_is_drawn(browser: Any, app: App) -> None:
    with visited(browser, app, "/judges") as seen:
        settled(seen)
        seen.page.locator("[data-chart]").scroll_into_view_if_needed()
        seen.page.locator("[data-chart].done").wait_for()
        shown = seen.page.locator("main").inner_text()
        assert "annika" in shown
        assert "Bias by week" in shown
