"""The page on which people judge as one file: in a real browser, from the disk, with the network off."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("jinja2", reason="a page needs Jinja2")
pytest.importorskip("sqlalchemy", reason="a store needs SQLAlchemy")

from browser import Seen, check_every_look, watched
from command import Command
from rankgauge.judge.pairs import Pair
from rankgauge.judge.scale import BINARY, GRADED, Scale
from rankgauge.raters.page import hand_outs, judge_page
from rankgauge.store.project import Project

if TYPE_CHECKING:
    from playwright.sync_api import Page

EVIL = "<img src=x onerror=document.title='hacked'></script><script>document.title='hacked'</script>"
GUIDELINES = f"# Judge\n\nBy **the text** alone. {EVIL} [more](https://a.example/) [x](javascript:alert(1))"
LONG = "some words about shoes " * 200
WAIT = 220  # milliseconds, longer than a key is too quick


def pairs(queries: int = 3, docs: int = 4) -> list[Pair]:
    return [
        Pair(f"q{query}", f"d{doc}", f"red shoes{'!' * query}", "to wear" if query == 0 else None,
             {"title": f"Shoes {doc} of {query}", "brand": "Lunnet", "text": "Shoes that are red."})
        for query in range(queries)
        for doc in range(docs)
    ]  # fmt: skip


@contextmanager
def visited(
    browser: Any, path: Path, width: int = 1280, theme: Any = "light", before: str = "", **more: Any
) -> Iterator[Seen]:
    """The file, with the network off; at the end nothing was asked for, and nobody complained."""
    with watched(browser, width, 844, color_scheme=theme, offline=True, **more) as seen:
        if before:
            seen.page.context.add_init_script(before)
        seen.page.goto(path.as_uri())
        yield seen
        assert seen.complaints == []
        assert [each for each in seen.requests if not each.startswith(("file:", "blob:", "data:"))] == []
        assert seen.page.title() != "hacked"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    def write(
        given: list[Pair] | None = None, scale: Scale = GRADED, guidelines: str = GUIDELINES, **more: Any
    ) -> Path:
        path = tmp_path_factory.mktemp("file") / "judge.html"
        path.write_text(judge_page(given or pairs(), "shop", scale, guidelines, **more), encoding="utf-8")
        return path

    return write


def begin(page: Page, name: str = "ann") -> None:
    page.locator("#judge-name").fill(name)
    page.keyboard.press("Enter")
    page.locator("#judge[data-shown]").wait_for()


def go_on(page: Page, name: str = "ann") -> None:
    page.locator(".names button", has_text=name).click()
    page.locator("#judge[data-shown]").wait_for()


def press(page: Page, *keys: str) -> None:
    """Keys as a person presses them: none within the time that a new document guards."""
    for key in keys:
        page.wait_for_timeout(WAIT)
        page.keyboard.press(key)


def part(page: Page, name: str) -> Any:
    return page.locator(f'[data-part="{name}"]')


def shown(page: Page) -> tuple[str, str]:
    """The query and the document on the card."""
    return tuple(json.loads(page.locator("#judge").get_attribute("data-shown") or "[]"))


def exported(page: Page, folder: Path) -> list[dict[str, Any]]:
    with page.expect_download() as waiting:
        page.locator("#judge-export").click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def by_pair(rows: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[str, Any, str]]:
    return {(row["query_id"], row["doc_id"]): (row["state"], row["grade"], row["note"]) for row in rows}


# ---- judged, exported, imported --------------------------------------------------------------------------------------


def test_judged_by_keyboard_exported_and_imported_twice(
    browser: Any, written: Callable[..., Path], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with visited(browser, written(), accept_downloads=True) as seen:
        page = seen.page
        begin(page)
        assert page.locator("h1:visible").inner_text() == "red shoes"
        assert part(page, "need").inner_text() == "to wear"
        assert page.locator(".paper mark").all_inner_texts() == ["Shoes", "Shoes", "red"]
        press(page, "3", "n")
        page.keyboard.type("not red at all")
        page.keyboard.press("Enter")
        press(page, "0", "s", "x")  # d1 with a note, d2 skipped, d3 unsure
        assert shown(page) == ("q1", "d0")
        press(page, "1", "1", "u", "u", "2")  # back over one grade and then another: it is replaced
        page.reload()
        go_on(page)
        assert shown(page) == ("q1", "d2")
        assert part(page, "judged").inner_text() == "5"
        press(page, "l")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        assert shown(page) == ("q1", "d3")
        press(page, "3", "0")
        assert shown(page) == ("q2", "d0")
        press(page, "u", "u")
        assert page.locator(".level[aria-pressed=true]").get_attribute("data-grade") == "3"
        press(page, "n")
        page.keyboard.type("a second thought")
        page.keyboard.press("Escape")
        press(page, "u")
        rows = exported(page, tmp_path)
        assert len({row["key"] for row in rows}) == len(rows) == 8
        assert {row["judge"] for row in rows} == {"ann"}
        assert list(rows[0]) == ["query_id", "doc_id", "judge", "state", "grade", "note", "ms", "made", "key"]
        assert by_pair(rows) == {
            ("q0", "d0"): ("graded", 3, ""),
            ("q0", "d1"): ("graded", 0, "not red at all"),
            ("q0", "d2"): ("skipped", None, ""),
            ("q0", "d3"): ("unsure", None, ""),
            ("q1", "d0"): ("graded", 2, ""),
            ("q1", "d1"): ("graded", 1, ""),
            ("q1", "d2"): ("graded", 0, ""),
            ("q1", "d3"): ("graded", 3, "a second thought"),
        }
        assert all(200 < row["ms"] < 60_000 for row in rows)
    assert command("init").code == 0
    for _ in range(2):
        assert command("store", "import", "judged-shop-ann.jsonl").code == 0
        with Project(tmp_path).store() as store:
            assert store.counts()["judgment"] == 8
    assert Project(tmp_path).labels("ann").nested["q1"] == {"d0": 2.0, "d1": 1.0, "d2": 0.0, "d3": 3.0}


def test_skipped_ones_come_back_at_the_end(browser: Any, written: Callable[..., Path]) -> None:
    with visited(browser, written(pairs(2, 2))) as seen:
        page = seen.page
        begin(page)
        press(page, "s", "1", "s")
        page.reload()
        go_on(page)
        assert shown(page) == ("q1", "d1")
        press(page, "1")
        assert shown(page) == ("q0", "d0")
        press(page, "s", "2")
        assert shown(page) == ("q0", "d0")
        press(page, "s")
        assert "the only one left" in part(page, "flash").inner_text()
        press(page, "x")
        end = part(page, "end")
        end.wait_for()
        assert "That was the last one. Thank you!" in end.inner_text()
        assert "4 documents are judged" in end.inner_text()
        press(page, "u")
        assert shown(page) == ("q0", "d0")
        assert part(page, "flash").inner_text().startswith("You could not tell")


def test_by_click_and_by_tap(browser: Any, written: Callable[..., Path], tmp_path: Path) -> None:
    path = written(pairs(2, 5))
    for name, act in (("click", "click"), ("tap", "tap")):
        with visited(browser, path, 390, has_touch=True, is_mobile=True, accept_downloads=True) as seen:
            page = seen.page
            begin(page, name)
            for number in range(10):  # without a pause: never a click or a tap is too quick
                getattr(page.locator(".level").nth(number % 4), act)()
            part(page, "end").wait_for()
            assert Counter(row["grade"] for row in exported(page, tmp_path)) == {0: 3, 1: 3, 2: 2, 3: 2}


# ---- keys ------------------------------------------------------------------------------------------------------------


def test_a_key_that_is_too_quick_or_held_does_nothing(browser: Any, written: Callable[..., Path]) -> None:
    with visited(browser, written()) as seen:
        page = seen.page
        begin(page)
        press(page, "2")
        page.keyboard.press("2")  # at once
        assert "was ignored" in part(page, "flash").inner_text()
        assert part(page, "judged").inner_text() == "1"
        page.wait_for_timeout(WAIT)
        page.keyboard.down("3")
        for _ in range(6):  # held: the browser repeats it
            page.wait_for_timeout(WAIT)
            page.keyboard.down("3")
        page.keyboard.up("3")
        assert part(page, "judged").inner_text() == "2"
        page.locator(".level").nth(1).focus()
        page.wait_for_timeout(WAIT)
        page.keyboard.down("Enter")
        for _ in range(3):
            page.wait_for_timeout(WAIT)
            page.keyboard.down("Enter")
        page.keyboard.up("Enter")
        assert part(page, "judged").inner_text() == "3"


def test_keys_can_be_switched_off(browser: Any, written: Callable[..., Path]) -> None:
    with visited(browser, written()) as seen:
        page = seen.page
        begin(page)
        press(page, "?")
        page.get_by_label("Single keys").uncheck()
        page.keyboard.press("Escape")
        press(page, "2", "x", "s")
        assert part(page, "judged").inner_text() == "0"
        page.locator(".level").nth(2).click()
        assert part(page, "judged").inner_text() == "1"
        press(page, "Control+z")
        assert shown(page) == ("q0", "d0")


def test_marks_guidelines_and_long_texts(browser: Any, written: Callable[..., Path]) -> None:
    given = [
        Pair("q", "long", "shoes", None, {"title": "A title", "text": LONG}),
        Pair("q", "none", "shoes"),
        Pair("q", "hebrew", "shoes", None, {"text": "נעליים shoes אדומות"}),
    ]
    with visited(browser, written(given)) as seen:
        page = seen.page
        begin(page)
        assert len(page.locator(".paper .words").inner_text()) < 2_600
        page.get_by_role("button", name="Show all 4,600 characters").click()
        assert len(page.locator(".paper .words").inner_text()) >= 4_599
        press(page, "h")
        assert "none" in page.locator("mark").first.evaluate("mark => getComputedStyle(mark).boxShadow")
        press(page, "h")
        assert part(page, "guide").get_attribute("open") is not None
        press(page, "g")
        assert part(page, "guide").get_attribute("open") is None
        press(page, "1")
        assert "There is no text of this document here" in part(page, "paper").inner_text()
        press(page, "0")
        assert page.locator(".paper .words").evaluate("text => getComputedStyle(text).direction") == "rtl"


def test_a_document_of_a_megabyte(browser: Any, written: Callable[..., Path]) -> None:
    with visited(
        browser, written([Pair("q", "d", "red shoes", None, {"text": "red words and shoes " * 52_000})])
    ) as seen:
        begin(seen.page)
        seen.page.get_by_role("button", name="Show all 1,040,000 characters").click()
        assert seen.page.locator(".paper .words").evaluate("text => text.textContent.length") == 1_040_000
        assert seen.page.locator("mark").count() == 2_000
        press(seen.page, "1")
        part(seen.page, "end").wait_for()


def test_one_tab_judges_at_a_time(browser: Any, written: Callable[..., Path]) -> None:
    with visited(browser, written(pairs(1, 3))) as seen:
        begin(seen.page)
        press(seen.page, "1")
        second = seen.page.context.new_page()
        second.goto(seen.page.url)
        second.locator(".names button").click()
        second.get_by_role("button", name="Judge here instead").click()
        second.locator("#judge[data-shown]").wait_for()
        assert part(second, "judged").inner_text() == "1"
        part(seen.page, "halt").wait_for()
        press(second, "2", "3")
        part(second, "end").wait_for()
        seen.page.get_by_role("button", name="Judge here instead").click()
        part(seen.page, "end").wait_for()
        assert part(seen.page, "judged").inner_text() == "3"


@pytest.mark.parametrize(
    ("scale", "keys", "grades"),
    [
        (BINARY, "10", [1, 0]),
        (Scale.of([0, 0.5, 1]), "23", [0.5, 1]),
        (Scale.of([*range(11)]), "9a", [9, 10]),
        (Scale.of(["bad", "fair", "good"]), "20", [2, 0]),
    ],
)  # fmt: skip
def test_scales_of_any_kind(
    browser: Any, written: Callable[..., Path], tmp_path: Path, scale: Scale, keys: str, grades: list[float]
) -> None:
    with visited(browser, written(pairs(1, 2), scale, ""), accept_downloads=True) as seen:
        begin(seen.page)
        press(seen.page, *keys)
        part(seen.page, "end").wait_for()
        assert [row["grade"] for row in exported(seen.page, tmp_path)] == grades


# ---- what is kept ----------------------------------------------------------------------------------------------------

FORBIDDEN = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }});"
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"


@pytest.mark.parametrize("before", [FORBIDDEN, FULL])
def test_a_browser_that_keeps_nothing_says_so(
    browser: Any, written: Callable[..., Path], tmp_path: Path, before: str
) -> None:
    with visited(browser, written(pairs(1, 3)), before=before, accept_downloads=True) as seen:
        page = seen.page
        begin(page)
        press(page, "1", "2", "u", "3")
        assert "Export your grades before you close it" in part(page, "unkept").inner_text()
        assert part(page, "state").inner_text() == "Not kept: export it"
        rows = exported(page, tmp_path)
        assert [row["grade"] for row in rows] == [1, 3]


def test_raters_on_one_browser_are_not_mixed(browser: Any, written: Callable[..., Path], tmp_path: Path) -> None:
    with visited(browser, written(pairs(1, 3)), accept_downloads=True) as seen:
        page = seen.page
        begin(page, "ann")
        press(page, "1", "2")
        page.locator("#judge-other").click()
        begin(page, 'b"o\\b <i>')
        assert part(page, "judged").inner_text() == "0"
        press(page, "3")
        assert [(row["judge"], row["grade"]) for row in exported(page, tmp_path)] == [('b"o\\b <i>', 3)]
        page.locator("#judge-other").click()
        go_on(page)
        assert part(page, "judged").inner_text() == "2"


def test_hidden_time_is_left_out(browser: Any, written: Callable[..., Path], tmp_path: Path) -> None:
    hide = """(hidden) => {
        Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    with visited(browser, written(pairs(1, 2)), accept_downloads=True) as seen:
        page = seen.page
        begin(page)
        page.clock.install()
        page.evaluate(hide, True)
        page.clock.fast_forward(3_600_000)
        page.evaluate(hide, False)
        press(page, "1")
        (row,) = exported(page, tmp_path)
        assert 200 <= row["ms"] < 600_000


# ---- hostile, for everybody ------------------------------------------------------------------------------------------


def test_nothing_runs_that_is_in_the_data(browser: Any, written: Callable[..., Path], tmp_path: Path) -> None:
    ids = [EVIL, "</script>", "<!--", "a'b\"c", "{{7*7}}", "../x", "\u2028"]
    given = [Pair(EVIL, doc, EVIL, EVIL, {"title": EVIL, EVIL: EVIL, "text": f"{EVIL} img src"}) for doc in ids]
    words = {0: f"{EVIL}: {EVIL}", 1: "good"}
    with visited(browser, written(given, Scale.of(words)), accept_downloads=True) as seen:
        page = seen.page
        begin(page, EVIL[:80])
        press(page, "n")
        page.keyboard.type(EVIL)
        page.keyboard.press("Enter")
        press(page, "0", "l", "Escape", "1", "1", "1", "1", "1", "1")
        part(page, "end").wait_for()
        rows = exported(page, tmp_path)
        assert [row["doc_id"] for row in rows] == ids
        assert (rows[0]["query_id"], rows[0]["note"]) == (EVIL, EVIL)
        assert page.locator("#judge img, #judge script").count() == 0
        assert part(page, "prose").locator("a").count() == 1


@pytest.mark.parametrize("stage", ["who", "card", "note", "list", "help", "end"])
def test_nothing_is_in_the_way_of_anybody(browser: Any, written: Callable[..., Path], stage: str) -> None:
    with visited(browser, written(pairs(1, 3))) as seen:
        page = seen.page
        if stage != "who":
            begin(page)
            press(page, "1", "2", "u")
        press(page, *{"note": "n", "list": "l", "help": "?", "end": "22"}.get(stage, ""))
        check_every_look(page, 844)


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.jsonl").write_text('{"query_id":"q","doc_id":"d","document":{"title":"A","text":"B","x":"C"}}\n')
    Path("queries.tsv").write_text("query_id\ttext\tneed\nq\tred shoes\tto wear\n")
    Path("g.md").write_text("# How\n")
    told = ["--guidelines", "g.md", "--queries", "queries.tsv", "--fields", "text,title", "--scale", "binary"]
    done = command("judge-page", "pairs.jsonl", "-o", "judge.html", *told)
    assert (done.code, done.out, done.err) == (0, "wrote judge.html: 1 pair of 1 query\n", "")
    page = Path("judge.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('id="judge-data">')[2].partition("</script>")[0])
    assert (data["name"], data["guidelines"]) == ("pairs", "<h3>How</h3>")
    assert [level["name"] for level in data["scale"]] == ["Not relevant", "Relevant"]
    (query,) = data["queries"]
    assert (query["query"], query["need"]) == ("red shoes", "to wear")
    assert [field["name"] for field in query["pairs"][0]["fields"]] == ["title", "text"]
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-o", "judge.txt"], "judge.txt: is a page; name it so: judge.html"),
        (["-o", "judge.html", "--fields", "titel"], "no document has a field 'titel'; did you mean 'title'?"),
        (["-o", "judge.html", "--scale", "nowhere.toml"], "there is no file nowhere.toml"),
        (["-o", "judge.html", "--guidelines", "bad.md"], "bad.md: "),
    ],
)
def test_the_command_refuses(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], error: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.jsonl").write_text('{"query_id":"q","doc_id":"d","document":{"title":"A"}}\n')
    Path("bad.md").write_bytes(b"\xff\xfe")
    done = command("judge-page", "pairs.jsonl", *words)
    assert (done.code, error in done.err) == (2, True), done.err
    assert not Path("judge.html").exists()


def test_pairs_of_a_query_stand_together() -> None:
    given = [Pair("b", "1"), Pair("a", "1"), Pair("b", "2", "text of b")]
    found = [(each["query_id"], each["query"], [pair["doc_id"] for pair in each["pairs"]]) for each in hand_outs(given)]
    assert found == [("b", "text of b", ["1", "2"]), ("a", None, ["1"])]
