"""A page of charts in a browser: offline, under a policy that evaluates nothing, on a telephone and on a desk."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rankgauge
from browser import launched, opened
from rankgauge import charts

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

QUERY = "<img src=x onerror=alert(1)>"
QRELS = {f"q{i}": {f"d{j}": (i * j) % 4 for j in range(8)} for i in range(1, 13)} | {QUERY: {"d1": 1, "d2": 0}}


def run_of(step: int) -> dict[str, dict[str, float]]:
    scored = {query: {doc: float((int(doc[1:]) * step) % 9) for doc in docs} for query, docs in QRELS.items()}
    return scored | {QUERY: {"d1": float(step), "d2": 3.0}}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every chart on one page."""
    names = ("</script><b>bold</b>", "other")
    by = {query: "one" if at % 2 else "two" for at, query in enumerate(QRELS)}
    found = {name: rankgauge.evaluate(QRELS, run_of(step), by=by) for name, step in zip(names, (2, 5), strict=True)}
    comparison = rankgauge.compare(None, found)
    some = {query: {doc: grade for doc, grade in docs.items() if doc != "d4"} for query, docs in QRELS.items()}
    runs = {name: run_of(step) for name, step in zip(names, (2, 5), strict=True)}
    quality = rankgauge.quality(some, runs, error_rate=0.2, draws=50)
    agreement = rankgauge.agree({names[0]: some, "second": QRELS}, runs=runs)
    own: dict[str, Any] = dict.fromkeys(("unjudged", "unjudged-pairs", "noise"), quality)
    own |= dict.fromkeys(("confusion", "judges"), agreement)
    own |= dict.fromkeys(("at-k", "precision-recall"), found)
    draws = {kind: functools.partial(draw, own.get(kind, comparison)) for kind, draw in charts.KINDS.items()}
    path = tmp_path_factory.mktemp("page") / "charts.html"
    path.write_bytes(charts.page(draws))
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


def wait_for_all(page: Page) -> None:
    """Until every chart is drawn."""
    page.wait_for_function(f"document.querySelectorAll('figure[data-drawn]').length == {len(charts.KINDS)}")


def test_the_page_has_a_policy_without_eval_and_names_no_address(page: Path) -> None:
    text = page.read_text()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert re.search(r"script-src 'sha256-[^']+';", policy)
    before, program, _ = text.partition(f"<script>{charts.script()}</script>")
    assert program
    assert not re.search(r"(src|href)=|https?://(?!vega\.github\.io/schema)", before.replace("\\u003cimg src=", ""))
    assert len(text) < 1_500_000
    assert text.count("</script>") == len(charts.KINDS) + 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_chart_is_drawn_offline_without_a_complaint(page: Path, browser: Browser, theme: str, width: int) -> None:
    with opened(browser, page, width, theme) as seen:
        wait_for_all(seen.page)
        assert seen.complaints == []
        assert seen.requests == [page.as_uri()]
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        colours = seen.page.evaluate(
            "[...document.querySelectorAll('figure svg.marks')].map((svg) => getComputedStyle(svg).backgroundColor)"
        )
        wanted = charts.THEMES[theme].background
        assert colours == [f"rgb({', '.join(str(int(wanted[at : at + 2], 16)) for at in (1, 3, 5))})"] * len(
            charts.KINDS
        )
        widths = seen.page.evaluate("[...document.querySelectorAll('figure svg.marks')].map((svg) => svg.clientWidth)")
        assert all(min(width, 960) * 0.9 < each <= min(width, 960) + 20 for each in widths)


def test_hovering_names_the_query_as_text(page: Path, browser: Browser) -> None:
    with opened(browser, page, 1280, "light") as seen:
        wait_for_all(seen.page)
        bars = seen.page.locator("figure").nth(list(charts.KINDS).index("differences")).locator("g.mark-rect path")
        shown = [bars.nth(at).get_attribute("aria-label") or "" for at in range(bars.count())]
        (worst,) = (at for at, label in enumerate(shown) if f"query: {QUERY}; " in label)
        bars.nth(worst).scroll_into_view_if_needed()
        box = bars.nth(worst).bounding_box()
        assert box is not None
        seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 4, steps=5)
        seen.page.locator("#vg-tooltip-element.visible", has_text=QUERY).wait_for(timeout=10_000)
        assert seen.page.locator("#vg-tooltip-element img").count() == 0
        assert seen.complaints == []


def test_the_page_follows_the_theme_and_the_width(page: Path, browser: Browser) -> None:
    with opened(browser, page, 1280, "light") as seen:
        first = seen.page.locator("figure").first
        seen.page.wait_for_selector("figure[data-drawn='light960']")
        seen.page.emulate_media(color_scheme="dark")
        seen.page.wait_for_selector("figure[data-drawn='dark960']")
        seen.page.set_viewport_size({"width": 390, "height": 800})
        seen.page.wait_for_selector("figure[data-drawn='dark390']")
        seen.page.evaluate("document.documentElement.dataset.theme = 'light'")
        seen.page.wait_for_selector("figure[data-drawn='light390']")
        assert first.locator("svg.marks").count() == 1
        assert seen.complaints == []


def only_wide(draw: Any, theme: str, width: int) -> Any:
    """A chart that was made for a desk, without its title, as a report puts it wherever there is room."""
    chart = draw(theme=theme, width=720)
    chart.title = ""
    return chart


@pytest.mark.parametrize("width", [320, 390, 600])
@pytest.mark.parametrize("made", ["as asked", "wide"])
def test_no_word_leaves_the_picture(made: str, width: int, browser: Browser, tmp_path: Path) -> None:
    names = [f"input.{letter}_exp_rm3_passage_run2" for letter in "abc"]
    found = {name: rankgauge.evaluate(QRELS, run_of(step)) for name, step in zip(names, (2, 5, 7), strict=True)}
    kinds = ("scatter", "differences", "distribution", "at-k", "detectable", "forest")
    draws = {kind: functools.partial(charts.KINDS[kind], found) for kind in kinds}
    some = {query: dict(list(docs.items())[1:]) or docs for query, docs in QRELS.items()}
    runs = {name: run_of(step) for name, step in zip(names, (2, 5, 7), strict=True)}
    quality = rankgauge.quality(some, runs, error_rate=0.2, draws=50)
    agreement = rankgauge.agree({"a first judge of long name": some, "a second judge": QRELS}, runs=runs)
    draws |= {kind: functools.partial(charts.KINDS[kind], quality) for kind in ("unjudged", "unjudged-pairs", "noise")}
    draws |= {kind: functools.partial(charts.KINDS[kind], agreement) for kind in ("confusion", "judges")}
    many = {f"input.{at}_run": found[names[0]] for at in range(9)}  # its legend is as high as the marks
    draws["many"] = functools.partial(charts.at_k, many)
    if made == "wide":
        draws = {kind: functools.partial(only_wide, draw) for kind, draw in draws.items()}
    path = tmp_path / "charts.html"
    path.write_bytes(charts.page(draws))
    with opened(browser, path, width, "light") as seen:
        seen.page.wait_for_function(f"document.querySelectorAll('figure[data-drawn]').length == {len(draws)}")
        words = seen.page.evaluate("[...document.querySelectorAll('svg.marks text')].map((text) => text.innerHTML)")
        outside = seen.page.evaluate(
            """[...document.querySelectorAll("svg.marks")].flatMap((svg) => {
                 const room = svg.getBoundingClientRect();
                 return [...svg.querySelectorAll("text")].filter((text) => {
                   const box = text.getBoundingClientRect();
                   return box.left < room.left - 1 || box.right > Math.min(room.right, innerWidth) + 1 ||
                     box.top < room.top - 1 || box.bottom > room.bottom + 1;
                 }).map((text) => text.textContent);
               })"""
        )
    assert outside == []
    assert "neither" in words
    assert sum(f" of {len(QRELS)}<" in each or each.endswith(f" of {len(QRELS)}") for each in words) == 2
