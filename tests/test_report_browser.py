"""The report in a real browser, opened from disk with the network off, under its own policy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rankgauge
from browser import Seen, draw_all, opened
from test_report import EVIL, SCREENS, made, outcome

CHARTS = 12  # with groups and a second judge
PAPER = 703, 1017  # pixels of A4 within its margins


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on systems and queries whose names would be scripts if anybody let them."""
    judgments, runs = made(30, 3)
    judgments = {f"{EVIL}{query}": docs for query, docs in judgments.items()}
    named = {f"<i>{name}": {f"{EVIL}{q}": docs for q, docs in run.items()} for name, run in runs.items()}
    by = {query: f"<b>{at % 2}" for at, query in enumerate(judgments)}
    texts = dict.fromkeys(judgments, "<img src=x onerror=document.title='hacked'>")
    file = tmp_path_factory.mktemp("report") / "report.html"
    second = {"<u>second": judgments}
    made_of: dict[str, Any] = {"by": by, "queries": texts, "second": second, "command": "rankgauge report"}
    rankgauge.report(judgments, named, **made_of).save(file)
    return file


@pytest.fixture
def visit(browser: Any, path: Path) -> Iterator[Seen]:
    """The report, and at the end of every test: no complaint, no request but the file itself."""
    with opened(browser, path, 1280, "light") as seen:
        yield seen
        assert seen.complaints == []
        assert seen.requests == [path.as_uri()]


def column(visit: Seen, table: str, at: int) -> list[str]:
    cells = visit.page.locator(f"[data-table='{table}'] tbody tr:not([hidden]) > :nth-child({at})")
    return [str(text) for text in cells.all_inner_texts()]


def test_every_chart_is_drawn(visit: Seen) -> None:
    assert draw_all(visit) == CHARTS
    assert visit.page.locator(".live svg, .live canvas").count() == CHARTS
    assert visit.page.locator(".live svg g.mark-rect, .live svg g.mark-line, .live svg g.mark-symbol").count() > 8
    assert visit.page.locator(".still:visible").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_without_scripts_every_chart_is_a_picture_in_the_colours_of_the_theme(
    browser: Any, path: Path, theme: str
) -> None:
    with opened(browser, path, 1280, theme, scripts=False) as seen:
        pictures = seen.page.locator(".still svg")
        assert pictures.count() == CHARTS
        assert all(pictures.nth(at).is_visible() for at in range(CHARTS))
        assert not seen.page.locator("#theme, .tools").first.is_visible()
        words = seen.page.locator("[data-chart=forest] .still text").all_text_contents()
        assert {"<i>s0", "<i>s1", "<i>s2"} <= set(words)
        name = seen.page.locator("[data-chart=forest] .still text", has_text="<i>s0")
        ink = name.evaluate("element => getComputedStyle(element).fill")
        wanted = rankgauge.charts.THEMES[theme].text
        assert ink == f"rgb({', '.join(str(int(wanted[at : at + 2], 16)) for at in (1, 3, 5))})"
        assert (seen.complaints, seen.requests) == ([], [path.as_uri()])


@pytest.mark.parametrize("program", ["(0, eval)('1')", "new Function('return 1')()"])
def test_the_policy_refuses_text_as_program(program: str, browser: Any, path: Path) -> None:
    tried = f"done => setTimeout(() => {{ try {{ done({program}) }} catch (error) {{ done(error.name) }} }})"
    with opened(browser, path, 1280, "light") as seen:
        assert seen.page.evaluate(f"() => new Promise({tried})") == "EvalError"


def test_the_policy_refuses_another_script(browser: Any, path: Path) -> None:
    add = "added => { added.textContent = 'document.title = `no`'; document.head.append(added) }"
    with opened(browser, path, 1280, "light") as seen:
        seen.page.evaluate(f"() => ({add})(document.createElement('script'))")
        assert seen.page.title() != "no"
        assert any("Content Security Policy" in complaint for complaint in seen.complaints)


def test_nothing_given_by_a_user_runs_or_becomes_markup(visit: Seen) -> None:
    draw_all(visit)
    assert visit.page.title() == "nDCG@10 of 3 systems"
    assert visit.page.locator("main :is(script, img, i, b, u)").count() == 0
    assert EVIL in visit.page.locator("[data-table='every-query'] tbody").inner_text()


def test_a_table_is_sorted_by_mouse_and_by_keyboard(visit: Seen) -> None:
    table = "[data-table='every-query']"
    head = visit.page.locator(f"{table} thead th").last
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    down = [float(text.replace("−", "-")) for text in column(visit, "every-query", 7)]
    assert down == sorted(down, reverse=True)
    assert len(set(down)) > 5
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(text.replace("−", "-")) for text in column(visit, "every-query", 7)] == sorted(down)
    first = visit.page.locator(f"{table} thead th").first
    first.locator("button").press("Space")
    assert (head.get_attribute("aria-sort"), first.get_attribute("aria-sort")) == ("none", "ascending")
    numbers = [int(text.rsplit("q", 1)[1]) for text in column(visit, "every-query", 1)]
    assert numbers == list(range(30))


def test_a_table_is_searched(visit: Seen) -> None:
    field = visit.page.get_by_label("Search in nDCG@10 of every query")
    field.fill("q17")
    assert [text.rsplit("q", 1)[1] for text in column(visit, "every-query", 1)] == ["17"]
    assert visit.page.locator("[data-table='every-query'] .count").inner_text() == "1 of 30 rows"
    field.fill("no such thing")
    assert column(visit, "every-query", 1) == []
    field.fill("")
    assert len(column(visit, "every-query", 1)) == 30


def test_hovering_tells_the_query(visit: Seen) -> None:
    draw_all(visit)
    bar = visit.page.locator("[data-chart='differences'] g.mark-rect path").first
    bar.scroll_into_view_if_needed()
    bar.hover(force=True)
    tooltip = visit.page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    text = tooltip.inner_text()
    assert EVIL in text
    assert tooltip.locator("script").count() == 0
    assert tooltip.evaluate("element => getComputedStyle(element).position") == "fixed"
    sizes = tooltip.locator("td").evaluate_all("all => all.map(e => parseFloat(getComputedStyle(e).fontSize))")
    assert max(sizes) < 16


def test_the_other_theme_is_a_click_away(visit: Seen) -> None:
    draw_all(visit)
    background = "() => getComputedStyle(document.body).backgroundColor"
    axis = "() => document.querySelector('[data-chart=forest] .live .role-axis-label text').getAttribute('fill')"
    light, ink = visit.page.evaluate(background), visit.page.evaluate(axis)
    visit.page.locator("#theme").click()
    assert visit.page.locator("html").get_attribute("data-theme") == "dark"
    assert visit.page.evaluate(background) != light
    for _ in range(300):
        if visit.page.evaluate(axis) != ink:
            break
        visit.page.wait_for_timeout(100)
    assert visit.page.evaluate(axis) != ink


def test_a_link_opens_the_query_that_it_leads_to(visit: Seen) -> None:
    link = visit.page.locator("[data-table='every-query'] tbody a").first
    fold = visit.page.locator(f"details{link.get_attribute('href')}")
    assert fold.get_attribute("open") is None
    link.click()
    fold.locator(".inner").wait_for()
    assert fold.get_attribute("open") is not None


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of every outcome."""
    folder = tmp_path_factory.mktemp("reports")
    files = {case: folder / f"{case}.html" for case in SCREENS}
    for case, file in files.items():
        rankgauge.report(*outcome(case)).save(file)
    return files


@pytest.mark.parametrize(
    ("theme", "width", "scripts"),  # every two of these together
    [("light", 390, True), ("light", 1280, False), ("dark", 390, False), ("dark", 1280, True)],
)
def test_the_first_screen_has_the_decision(
    browser: Any, reports: dict[str, Path], theme: str, width: int, scripts: bool
) -> None:
    """The verdict in its colour and the four numbers, before anything else and without scrolling."""
    colours = {}
    for case, (words, kind, _, _) in SCREENS.items():
        with opened(browser, reports[case], width, theme, scripts=scripts) as seen:
            first = seen.page.locator("#summary p").first
            assert first.get_attribute("class") == kind
            assert first.inner_text().replace("−0.", "-0.").startswith(words)
            tiles = seen.page.locator("#summary .tiles")
            for part in (first, tiles):
                place = part.bounding_box()
                assert place is not None
                assert place["y"] + place["height"] <= 800, (case, place)
            colours[case] = first.evaluate("element => getComputedStyle(element).color")
            links = seen.page.locator("#summary .warning a")
            assert [links.nth(at).inner_text() for at in range(links.count())] == ["evidence"] * links.count()
            assert seen.complaints == []
    assert colours["no clear winner"] == colours["no difference"] == colours["too few"]
    assert len({colours["win"], colours["loss"], colours["too few"]}) == 3


@pytest.mark.parametrize("case", SCREENS)
def test_the_first_page_has_the_whole_summary(browser: Any, reports: dict[str, Path], case: str) -> None:
    """On paper: sentence, tiles, picture and cautions before the first page ends, and no word on a bar."""
    with opened(browser, reports[case], PAPER[0], "light", scripts=False) as seen:
        seen.page.emulate_media(media="print")
        place = seen.page.locator("#summary").bounding_box()
        assert place is not None
        assert place["y"] + place["height"] <= PAPER[1]
        cut = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length"
        tiles = seen.page.locator("#summary .tile")
        assert tiles.evaluate_all(cut) == 0
        assert len(tiles.evaluate_all("all => [...new Set(all.map(e => e.offsetTop))]")) == 1
        picture = seen.page.locator("#summary .still svg")
        words, bars = picture.locator("text:has-text('better:')"), picture.locator("path[stroke-width='0.7']")
        assert (words.count(), bars.count() > 0) == (2, True)
        boxes = "all => all.map(e => e.getBoundingClientRect()).map(b => [b.left, b.top, b.right, b.bottom])"
        touching = [
            (word, bar)
            for word in words.evaluate_all(boxes)
            for bar in bars.evaluate_all(boxes)
            if word[0] < bar[2] and bar[0] < word[2] and word[1] < bar[3] and bar[1] < word[3]
        ]
        assert touching == []


def test_a_caution_leads_to_its_evidence(visit: Seen) -> None:
    draw_all(visit)  # what is drawn later moves what is below
    links = visit.page.locator("#summary ul a")
    assert 1 <= links.count() <= 4
    for at in range(links.count()):
        there = visit.page.locator(str(links.nth(at).get_attribute("href")))
        assert there.count() == 1
        links.nth(at).click()
        seen = "element => Math.abs(element.getBoundingClientRect().top) < innerHeight"
        for _ in range(300):  # it may scroll smoothly
            if there.evaluate(seen):
                break
            visit.page.wait_for_timeout(100)
        assert there.evaluate(seen)


def test_it_prints_whole_and_on_white(visit: Seen, tmp_path: Path) -> None:
    draw_all(visit)
    visit.page.locator("#theme").click()
    visit.page.emulate_media(media="print")
    assert visit.page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not visit.page.locator("nav").is_visible()
    data = visit.page.pdf(path=str(tmp_path / "report.pdf"), prefer_css_page_size=True)
    assert seen_in_print(visit) == [CHARTS, 0]
    assert data.startswith(b"%PDF")
    assert len(data) > 50_000


def seen_in_print(visit: Seen) -> list[int]:
    """How many pictures, and how many live charts, are on paper."""
    return [visit.page.locator(f"{kind}:visible").count() for kind in (".still svg", ".live")]


def test_every_column_is_in_sight_and_no_button_covers_the_command(browser: Any, path: Path) -> None:
    with opened(browser, path, 1280, "light") as seen:
        last = seen.page.locator("[data-table=details] thead th").last
        box, around = last.bounding_box(), seen.page.locator("[data-table=details] .scroll").bounding_box()
        assert box is not None
        assert around is not None
        assert box["x"] + box["width"] <= around["x"] + around["width"]
    with opened(browser, path, 390, "light") as seen:
        code, copy = (seen.page.locator(f"#reproduce .code {each}").bounding_box() for each in ("pre", ".copy"))
        assert code is not None
        assert copy is not None
        assert code["x"] + code["width"] <= copy["x"]


@pytest.mark.parametrize("width", [390, 1140])
def test_a_table_that_is_too_wide_scrolls_in_its_box(browser: Any, path: Path, width: int) -> None:
    with opened(browser, path, width, "light") as seen:
        boxes = ".scroll:visible"
        wide = seen.page.locator(boxes).evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length")
        assert wide > 0
        looks = "all => [...new Set(all.map(e => getComputedStyle(e).overflowX))]"
        assert seen.page.locator(boxes).evaluate_all(looks) == ["auto"]
        assert "gradient" in seen.page.locator(boxes).first.evaluate("e => getComputedStyle(e).backgroundImage")
        cut = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.id)"
        assert seen.page.locator("section, .table, details").evaluate_all(cut) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_telephone(browser: Any, path: Path, theme: str) -> None:
    with opened(browser, path, 390, theme) as seen:
        assert draw_all(seen) == CHARTS
        assert seen.page.evaluate("() => document.documentElement.scrollWidth") == 390
        widths = seen.page.locator(".plot").evaluate_all("all => all.map(e => [e.scrollWidth, e.clientWidth])")
        assert all(needed <= there for needed, there in widths)
        assert seen.page.locator("html").get_attribute("data-theme") == theme
        assert (seen.complaints, seen.requests) == ([], [path.as_uri()])
