"""Judging in a real browser against the real server: every grade is counted in the database, whatever happens."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("fastapi", reason="needs the app")
pytest.importorskip("sqlalchemy", reason="a store needs SQLAlchemy")

from sqlalchemy import select

from browser import LOOKS, Seen, check_every_look, watched
from command import COMMAND
from rankgauge.judge.pairs import Pair
from rankgauge.judge.scale import BINARY
from rankgauge.raters import users
from rankgauge.raters.tasks import make_task
from rankgauge.store import schema
from rankgauge.store.project import Project, init

if TYPE_CHECKING:
    from playwright.sync_api import Page

PASSWORD = "correct horse"
WAIT = 220  # milliseconds, longer than a key is too quick
EVIL = "<img src=x onerror=document.title='hacked'></script><script>document.title='hacked'</script>"
# Task → its queries, documents a query, and what else it has.
TASKS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "keyboard": (5, 10, {}),
    "click": (5, 10, {}),
    "tap": (5, 10, {}),
    "reload": (2, 3, {}),
    "offline": (4, 3, {}),
    "killed": (5, 3, {}),
    "waits": (3, 2, {}),
    "logged out": (3, 2, {}),
    "tabs": (3, 3, {}),
    "back": (3, 2, {}),
    "refused": (2, 2, {}),
    "aside": (2, 2, {}),
    "busy": (2, 2, {}),
    "noted": (2, 2, {}),
    "forbidden": (2, 2, {}),
    "counted": (4, 3, {"repeat": 0.5}),
    "looks": (2, 4, {"guidelines": "# How\n\nBy the *text*."}),
    "two raters": (6, 2, {"overlap": 1, "scale": BINARY}),
    "hostile " + EVIL: (1, 2, {"guidelines": EVIL}),
}


def pairs(task: str, queries: int, docs: int) -> list[Pair]:
    query = EVIL if EVIL in task else "red shoes"
    about = {"title": f"Shoes {query}", "text": f"Words. {query}"}
    return [Pair(f"{task} q{at}", f"{task} d{doc}", query, None, about) for at in range(queries) for doc in range(docs)]


class App:
    """A project with tasks and raters, and its server, which can be killed and started again at the same place."""

    def __init__(self, folder: Path) -> None:
        self.project = init(folder)
        with self.project.store(write=True) as store:
            for name, role in (("lead", "admin"), ("ann", "rater"), ("bob", "rater")):
                users.add_user(store, name, role, PASSWORD, "root")
            for task, (queries, docs, more) in TASKS.items():
                make_task(self.project, store, task, pairs(task, queries, docs), who="lead", **more)
            self.token = users.add_token(store, "lead", "tests", 1, "lead")
            self.secrets = {name: users.log_in(store, name, PASSWORD, None) for name in ("ann", "bob")}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        line = [*COMMAND, "serve", str(self.project.folder), "--port", str(self.port)]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert re.search(re.escape(self.base), self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)

    def stop(self) -> str:
        self.process.terminate()
        return self.process.communicate(timeout=20)[1]

    def cookie(self, rater: str) -> Any:
        return {"name": f"rankgauge-{self.port}", "value": self.secrets[rater], "url": self.base}

    def judged(self, task: str) -> list[tuple[str, str, str, str, float | None, str | None]]:
        """Judge, query, document, state, grade and note of every judgment of a task, in the order stored."""
        table, judge, tasks = schema.judgment.c, schema.judge.c, schema.task.c
        asked = select(judge.name, table.query_id, table.doc_id, table.state, table.grade, table.reason)
        asked = asked.join(schema.judge, judge.judge_id == table.judge_id)
        asked = asked.join(schema.task, tasks.task_id == table.task_id)
        asked = asked.where(tasks.name == task).order_by(table.judgment_id)
        with Project(self.project.folder).store() as store:
            return [tuple(each) for each in store.read(lambda connection: connection.execute(asked).all())]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    started = App(tmp_path_factory.mktemp("judged"))
    yield started
    assert "Traceback" not in started.stop()


QUIET = ("ERR_CONNECTION", "ERR_INTERNET", "ERR_EMPTY", "ERR_SOCKET", "Failed to load resource")


@contextmanager
def visited(
    browser: Any, app: App, task: str, rater: str = "ann", width: int = 1280, *, trouble: bool = False, **more: Any
) -> Iterator[Seen]:
    """The page of a task, opened by a rater who has logged in; at the end nobody has complained."""
    before = more.pop("before", "")
    with watched(browser, width, 844, **more) as seen:
        seen.page.context.add_cookies([app.cookie(rater)])
        if before:
            seen.page.context.add_init_script(before)
        go(seen.page, app, task)
        yield seen
        assert [each for each in seen.complaints if not (trouble and any(known in each for known in QUIET))] == []
        assert [each for each in seen.requests if not each.startswith((app.base, "blob:", "data:"))] == []
        assert seen.page.title() != "hacked"


def go(page: Page, app: App, task: str) -> None:
    from urllib.parse import urlencode

    page.goto(f"{app.base}/judge?{urlencode({'task': task})}")
    page.locator("#judge[data-shown], dialog[open]").first.wait_for()


def part(page: Page, name: str) -> Any:
    return page.locator(f'[data-part="{name}"]')


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.wait_for_timeout(WAIT)
        page.keyboard.press(key)


def shown(page: Page) -> tuple[str, str]:
    """The hand-out and the document on the card."""
    return tuple(json.loads(page.locator("#judge").get_attribute("data-shown") or "[]"))


def saved(page: Page) -> None:
    page.locator("[data-part=state]", has_text="All saved").wait_for()


def finished(page: Page) -> None:
    part(page, "end").wait_for()
    saved(page)
    assert "That was the last one" in part(page, "end").inner_text()


def once(rows: list[Any]) -> bool:
    return len({row[:3] for row in rows}) == len(rows)


# ---- fifty by keyboard, by click, by tap -----------------------------------------------------------------------------


def test_fifty_by_keyboard(browser: Any, app: App) -> None:
    with visited(browser, app, "keyboard") as seen:
        press(seen.page, *"0123x" * 9)
        press(seen.page, "s", "n")
        seen.page.keyboard.type("a note")
        seen.page.keyboard.press("Escape")
        press(seen.page, *"01230")  # the last of them is the one that was skipped
        finished(seen.page)
        assert part(seen.page, "judged").inner_text() == "50"
        assert "Since you opened this page: 50 documents in " in part(seen.page, "end").inner_text()
    rows = app.judged("keyboard")
    assert (len(rows), once(rows), {row[0] for row in rows}) == (50, True, {"ann"})
    assert Counter(row[4] for row in rows) == {0: 11, 1: 10, 2: 10, 3: 10, None: 9}
    assert [row[3:] for row in rows if row[5]] == [("graded", 0.0, "a note")]


@pytest.mark.parametrize("act", ["click", "tap"])
def test_fifty_by_click_and_by_tap(browser: Any, app: App, act: str) -> None:
    with visited(browser, app, act, width=390, has_touch=True, is_mobile=True) as seen:
        for number in range(50):
            seen.page.locator("#judge[data-shown]").wait_for()
            before = seen.page.locator("#judge").get_attribute("data-shown")
            getattr(seen.page.locator(".level").nth(number % 4), act)()
            seen.page.locator(f"#judge:not([data-shown='{before}'])").wait_for()
        finished(seen.page)
    rows = app.judged(act)
    assert (len(rows), once(rows)) == (50, True)
    assert Counter(row[4] for row in rows) == {0: 13, 1: 13, 2: 12, 3: 12}


def test_what_is_counted_is_what_the_server_has(browser: Any, app: App) -> None:
    """Neither a grade whose answer is on its way nor a repetition counts twice; what was before counts."""
    slow = """
        const ask = window.fetch;
        window.fetch = async (where, ...rest) => {
            const answer = await ask(where, ...rest);
            if (where === "/judge/judgment") await new Promise((on) => setTimeout(on, 700));
            return answer;
        };
        window.counted = [];
        addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
            window.counted.push(Number(document.querySelector("[data-part=judged]").textContent));
        }).observe(document.querySelector("[data-part=judged]"), { childList: true, characterData: true }));
    """
    with visited(browser, app, "counted", before=slow) as seen:
        page = seen.page
        press(page, *"12")
        page.locator(".level").nth(3).dblclick()  # the last of one query, and the first of the next
        saved(page)
        assert max(page.evaluate("window.counted")) == 4
        press(page, "2")
        page.wait_for_timeout(100)
        page.reload()
        page.locator("#judge[data-shown]").wait_for()
        saved(page)
        assert max(page.evaluate("window.counted")) == 5
    with visited(browser, app, "counted") as seen:  # another browser, which has seen none of it
        while not part(seen.page, "end").is_visible():
            press(seen.page, "0")
            saved(seen.page)
        said = part(seen.page, "end").inner_text()
        tally = [int(each) for each in part(seen.page, "end").locator(".tally b").all_inner_texts()]
    assert len(app.judged("counted")) > 12
    assert ("12 documents are judged" in said, tally) == (True, [7, 1, 2, 2])


# ---- what may happen -------------------------------------------------------------------------------------------------


def test_a_reload_goes_on_where_it_was(browser: Any, app: App) -> None:
    with visited(browser, app, "reload") as seen:
        page = seen.page
        press(page, "1", "s")
        was = shown(page)
        saved(page)
        page.reload()
        page.locator("#judge[data-shown]").wait_for()
        assert shown(page) == was
        assert part(page, "judged").inner_text() == "1"
        press(page, "2", "u", "u", "3", "1", "1", "1", "0")  # the last of them is the one that was skipped
        finished(page)
    rows = app.judged("reload")
    assert [row[4] for row in rows] == [1, 2, 3, 1, 1, 1, 0]
    assert len({row[:3] for row in rows}) == 6


def test_offline_for_a_while(browser: Any, app: App) -> None:
    with visited(browser, app, "offline", trouble=True) as seen:
        page = seen.page
        press(page, "1")
        saved(page)
        page.wait_for_timeout(500)  # the queries ahead come
        page.context.set_offline(True)
        press(page, *"12312312")
        page.locator("[data-part=state]", has_text="Offline, 8 waiting").wait_for()
        assert len(app.judged("offline")) == 1
        page.context.set_offline(False)
        saved(page)
        press(page, "0", "0", "0")
        finished(page)
    rows = app.judged("offline")
    assert (len(rows), once(rows)) == (12, True)


def test_the_server_is_killed_and_comes_back(browser: Any, app: App) -> None:
    with visited(browser, app, "killed", trouble=True) as seen:
        page = seen.page
        press(page, "1", "2")
        page.wait_for_timeout(500)
        app.kill()
        press(page, "3", "0", "1")
        page.locator("[data-part=state]", has_text="Offline, 3 waiting").wait_for()
        app.start()
        page.locator("[data-part=state]", has_text="All saved").wait_for()
        press(page, "2")
        saved(page)
    rows = app.judged("killed")
    assert [row[4] for row in rows] == [1, 2, 3, 0, 1, 2]
    assert once(rows)


def test_what_waits_is_sent_after_a_reload(browser: Any, app: App) -> None:
    with visited(browser, app, "waits", trouble=True) as seen:
        page = seen.page
        page.route("**/judge/judgment", lambda route: route.abort())
        press(page, "1", "2")
        page.locator("[data-part=state]", has_text="2 waiting").wait_for()
        page.unroute("**/judge/judgment")
        page.reload()
        page.locator("#judge[data-shown]").wait_for()
        saved(page)
    assert [row[4] for row in app.judged("waits")] == [1, 2]


def test_a_session_that_ends_leads_to_the_log_in_and_back(browser: Any, app: App) -> None:
    with visited(browser, app, "logged out", rater="bob", trouble=True) as seen:
        page = seen.page
        press(page, "1")
        saved(page)
        page.context.clear_cookies()
        press(page, "2")
        part(page, "halt").wait_for()
        assert "You are logged out" in part(page, "halt").inner_text()
        page.keyboard.press("Enter")
        page.locator("#password").wait_for()
        page.locator("#name").fill("bob")
        page.locator("#password").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.locator("#judge[data-shown]").wait_for()
        saved(page)
        press(page, "3")
        saved(page)
    assert [row[4] for row in app.judged("logged out")] == [1, 2, 3]


def test_one_tab_judges_at_a_time(browser: Any, app: App) -> None:
    with visited(browser, app, "tabs") as seen:
        first = seen.page
        press(first, "1")
        saved(first)
        second = first.context.new_page()
        go(second, app, "tabs")
        assert "another tab" in part(second, "halt").inner_text()
        second.get_by_role("button", name="Judge here instead").click()
        second.locator("#judge[data-shown]").wait_for()
        part(first, "halt").wait_for()
        press(second, "2", "3")
        saved(second)
        first.bring_to_front()
        press(first, "0")  # nothing is judged in the tab that was left
        first.get_by_role("button", name="Judge here instead").click()
        first.locator("[data-part=judged]", has_text="3").wait_for()
        press(first, "0")
        saved(first)
    rows = app.judged("tabs")
    assert ([row[4] for row in rows], once(rows)) == ([1, 2, 3, 0], True)


def test_back_across_queries_replaces_a_grade(browser: Any, app: App) -> None:
    with visited(browser, app, "back") as seen:
        page = seen.page
        first = shown(page)
        press(page, "1", "1", "1", "u", "Backspace", "Control+z")
        assert shown(page) == first
        assert page.locator(".level[aria-pressed=true]").get_attribute("data-grade") == "1"
        press(page, "3", "1", "1", "1")
        finished(page)
    rows = app.judged("back")
    assert len(rows) == 7
    assert [row[4] for row in rows if row[2] == first[1] and row[1] == first[0].partition(":")[2]] == [1, 3]


def test_a_refusal_stops_the_page(browser: Any, app: App) -> None:
    with visited(browser, app, "refused", trouble=True) as seen:
        page = seen.page
        refused = {
            "status": 422,
            "content_type": "application/json",
            "body": '{"error": "grade 1 is not of the scale"}',
        }
        page.route("**/judge/judgment", lambda route: route.fulfill(**refused))
        press(page, "1")
        part(page, "halt").wait_for()
        assert "Grade 1 is not of the scale." in part(page, "halt").inner_text()
        assert "1 grade waits here" in part(page, "halt").inner_text()
        press(page, "2", "3")  # nothing goes on
        page.keyboard.press("Escape")
        assert part(page, "halt").is_visible()
        page.unroute("**/judge/judgment")
        page.get_by_role("button", name="Try again").click()
        saved(page)
        press(page, "2")
        saved(page)
    assert [row[4] for row in app.judged("refused")] == [1, 2]


def test_what_is_refused_for_good_is_set_aside(browser: Any, app: App, tmp_path: Path) -> None:
    with visited(browser, app, "aside", trouble=True, accept_downloads=True) as seen:
        page = seen.page
        refused = {"status": 403, "content_type": "application/json", "body": '{"error": "it was not given to you"}'}
        page.route("**/judge/judgment", lambda route: route.fulfill(**refused))
        press(page, "1")
        part(page, "halt").wait_for()
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download what waits").click()
        waiting.value.save_as(tmp_path / "waiting.jsonl")
        assert json.loads((tmp_path / "waiting.jsonl").read_text())["grade"] == 1
        page.unroute("**/judge/judgment")
        page.get_by_role("button", name="Set this one aside and go on").click()
        press(page, "2")
        page.locator("[data-part=state]", has_text="All saved · 1 set aside").wait_for()
    assert [row[4] for row in app.judged("aside")] == [2]


def test_a_store_that_takes_nothing_is_waited_for(browser: Any, app: App) -> None:
    with visited(browser, app, "busy", trouble=True) as seen:
        page = seen.page
        page.route("**/judge/judgment", lambda route: route.fulfill(status=503, body='{"error": "the disk is full"}'))
        press(page, "1", "2")
        page.locator("[data-part=state]", has_text="Offline, 2 waiting").wait_for()
        page.unroute("**/judge/judgment")
        saved(page)
    assert [row[4] for row in app.judged("busy")] == [1, 2]


def test_a_note_on_a_grade_is_stored_with_it(browser: Any, app: App) -> None:
    with visited(browser, app, "noted") as seen:
        page = seen.page
        press(page, "2", "u", "n")
        page.keyboard.type("after all")
        page.keyboard.press("Enter")
        saved(page)
    assert [row[4:] for row in app.judged("noted")] == [(2, None), (2, "after all")]


def test_a_browser_that_keeps_nothing_still_sends(browser: Any, app: App) -> None:
    forbidden = (
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('', 'SecurityError'); }});"
    )
    with visited(browser, app, "forbidden", before=forbidden) as seen:
        press(seen.page, "1", "2", "3", "0")
        assert "Grades are still sent" in part(seen.page, "unkept").inner_text()
        finished(seen.page)
    assert [row[4] for row in app.judged("forbidden")] == [1, 2, 3, 0]


def test_two_raters_share_a_task(browser: Any, app: App) -> None:
    with visited(browser, app, "two raters", "ann") as ann, visited(browser, app, "two raters", "bob") as bob:
        for _ in range(8):
            for seen in (ann, bob):
                if part(seen.page, "sheet").is_visible():
                    press(seen.page, "1")
        finished(ann.page)
        finished(bob.page)
    rows = app.judged("two raters")
    assert (len(rows), len({row[1:3] for row in rows})) == (12, 12)
    assert {row[0] for row in rows} == {"ann", "bob"}


# ---- for everybody ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"from": 0.5, "to": 0.3}, "Grades so far have removed 40 % of the doubt about which system is better."),
        ({"from": 0.5, "to": 0.499}, "Grades so far have removed less than 1 % of the doubt"),
        ({"from": 0.0, "to": 0.0}, None),
        (None, None),
    ],
)
def test_what_grades_have_done_is_said_in_plain_words(
    browser: Any, app: App, told: dict[str, float] | None, words: str | None
) -> None:
    with visited(browser, app, "looks") as seen:

        def narrowed(route: Any) -> None:
            answer = route.fetch()
            route.fulfill(response=answer, json=answer.json() | {"narrowed": told})

        seen.page.route("**/judge/queries", narrowed)
        go(seen.page, app, "looks")
        assert part(seen.page, "narrowed").is_visible() == (words is not None)
        assert (words or "") in part(seen.page, "narrowing").inner_text()
        seen.page.unroute_all(behavior="wait")


def test_hostile_names_and_texts_are_text(browser: Any, app: App) -> None:
    task = "hostile " + EVIL
    with visited(browser, app, task) as seen:
        press(seen.page, "1", "l", "Escape", "1")
        finished(seen.page)
        assert seen.page.locator("#judge img, #judge script").count() == 0
    assert len(app.judged(task)) == 2


def test_nothing_is_in_the_way_of_anybody(browser: Any, app: App) -> None:
    with visited(browser, app, "looks") as seen:
        page = seen.page
        press(page, "1", "u")
        check_every_look(page, 844, [*LOOKS, (1920, "light")])


def test_the_menu_of_who_leads_has_room_on_a_telephone(browser: Any, app: App) -> None:
    with app.project.store(write=True) as store:
        app.secrets["lead"] = users.log_in(store, "lead", PASSWORD, None)
    with watched(browser, 390) as seen:
        seen.page.context.add_cookies([app.cookie("lead")])
        seen.page.goto(f"{app.base}/tasks")
        menu = seen.page.locator(".top nav").bounding_box()
        assert menu is not None
        assert menu["width"] > 340
        check_every_look(seen.page, 800, [(390, "light")])


# ---- every role, and the schema --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/login", "/password", "/judge"])
def test_the_ways_in_keep_nobody_out(browser: Any, app: App, path: str) -> None:
    """axe finds nothing serious, in both themes, on a large and on a small screen."""
    with watched(browser) as seen:
        if path != "/login":
            seen.page.context.add_cookies([app.cookie("ann")])
        answer = seen.page.goto(f"{app.base}{path}")
        assert answer is not None
        assert answer.status == 200
        check_every_look(seen.page, 800)


@pytest.mark.parametrize("role", ["rater", "viewer", "admin"])
def test_the_schema_holds_whatever_a_role_asks(app: App, role: str, tmp_path: Path) -> None:
    """No server error, no status, type or shape that the schema does not tell of."""
    with app.project.store(write=True) as store:
        if role not in {each.name for each in users.users(store)}:
            users.add_user(store, role, role, None, "test")
        token = users.add_token(store, role, "schema", 1, "test")
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    line = [
        sys.executable, "-m", "schemathesis.cli", "run", str(tmp_path / "openapi.json"), "--url", app.base,
        "-H", f"Authorization: Bearer {token}", "--checks", checks, "--phases", "fuzzing",
        "--exclude-path", "/logout", "--max-examples", "4" if role == "admin" else "2", "--seed", "7", "--no-color",
    ]  # fmt: skip
    asked = Request(f"{app.base}/openapi.json", headers={"authorization": f"Bearer {app.token}"})
    with urlopen(asked) as answer:
        (tmp_path / "openapi.json").write_bytes(answer.read())
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"[4-9][0-9] passed", done.stdout), done.stdout[-500:]
