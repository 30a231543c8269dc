"""A page of charts in a browser: offline, under a policy that evaluates nothing, on a telephone and on a desk."""

from __future__ import annotations

import functools
import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rankgauge
from browser import draw_all, opened
from rankgauge import charts

if TYPE_CHECKING:
    from playwright.sync_api import Browser

QUERY = "<img src=x onerror=alert(1)>"
QRELS = {f"q{i}": {f"d{j}": (i * j) % 4 for j in range(8)} for i in range(1, 13)} | {QUERY: {"d1": 1, "d2": 0}}


def run_of(step: int) -> dict[str, dict[str, float]]:
    scored = {query: {doc: float((int(doc[1:]) * step) % 9) for doc in docs} for query, docs in QRELS.items()}
    return scored | {QUERY: {"d1": float(step), "d2": 3.0}}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every chart on one page."""
    names = ("</script><b>bold</b>", "title")  # which a tooltip takes for a heading, where it is left to
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


def test_the_page_has_a_policy_without_eval_and_names_no_address(page: Path) -> None:
    text = page.read_text()
    (policy,) = map(unescape, re.findall(r'Content-Security-Policy" content="([^"]+)"', text))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert re.search(r"script-src 'sha256-[^']+' 'sha256-[^']+';", policy)
    assert not re.search(r"<[^>]*\s(src|href)=(?!\"#)|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    assert len(text) < 1_500_000
    assert text.count("</script>") == 3


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_chart_is_drawn_offline_without_a_complaint(page: Path, browser: Browser, theme: str, width: int) -> None:
    with opened(browser, page, width, theme) as seen:
        assert draw_all(seen) == len(charts.KINDS)
        assert seen.complaints == []
        assert seen.requests == [page.as_uri()]
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        inks = seen.page.evaluate(
            "[...document.querySelectorAll('.live .role-axis-label text')].map((text) => text.getAttribute('fill'))"
        )
        look = charts.THEMES[theme]
        assert inks
        assert set(inks) <= {look.text, look.quiet}
        share = "all => all.map((svg) => svg.clientWidth / svg.closest('.plot').clientWidth)"
        assert all(0.9 < each <= 1.01 for each in seen.page.locator(".live svg.marks").evaluate_all(share))


def test_hovering_names_the_query_as_text(page: Path, browser: Browser) -> None:
    with opened(browser, page, 1280, "light") as seen:
        draw_all(seen)
        bars = seen.page.locator("[data-chart='differences'] .live g.mark-rect path")
        shown = [bars.nth(at).get_attribute("aria-label") or "" for at in range(bars.count())]
        (worst,) = (at for at, label in enumerate(shown) if f"query: {QUERY}; " in label)
        bars.nth(worst).scroll_into_view_if_needed()
        box = bars.nth(worst).bounding_box()
        assert box is not None
        seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 4, steps=5)
        seen.page.locator("#vg-tooltip-element.visible", has_text=QUERY).wait_for()
        assert seen.page.locator("#vg-tooltip-element img").count() == 0
        assert seen.page.locator("#vg-tooltip-element h2").count() == 0
        assert seen.page.locator("#vg-tooltip-element td.key", has_text="title").count() == 1
        assert seen.complaints == []


def test_the_page_follows_the_theme_and_the_width(page: Path, browser: Browser) -> None:
    with opened(browser, page, 1280, "light") as seen:
        first = seen.page.locator(".plot").first
        seen.page.wait_for_selector(".plot[data-drawn^='light ']")
        wide = (first.get_attribute("data-drawn") or "").split()[1]
        seen.page.emulate_media(color_scheme="dark")
        seen.page.wait_for_selector(f".plot[data-drawn='dark {wide}']")
        seen.page.set_viewport_size({"width": 390, "height": 800})
        seen.page.wait_for_selector(".plot[data-drawn^='dark 3']")
        seen.page.locator("#theme").click()
        seen.page.wait_for_selector(".plot[data-drawn^='light 3']")
        assert first.locator("svg.marks").count() == 1
        assert seen.complaints == []


@pytest.mark.parametrize("width", [320, 390, 600])
def test_no_word_leaves_the_picture(width: int, browser: Browser, tmp_path: Path) -> None:
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
    path = tmp_path / "charts.html"
    path.write_bytes(charts.page(draws))
    with opened(browser, path, width, "light") as seen:
        assert draw_all(seen) == len(draws)
        words = seen.page.evaluate("[...document.querySelectorAll('svg.marks text')].map((text) => text.innerHTML)")
        outside = seen.page.evaluate(
            """[...document.querySelectorAll("svg.marks")].flatMap((svg) => {
                 const room = svg.getBoundingClientRect();
                 const shown = (text) => getComputedStyle(text).opacity !== "0";  // labels in each other's way are not
                 return [...svg.querySelectorAll("text")].filter(shown).filter((text) => {
                   const box = text.getBoundingClientRect();
                   return box.left < room.left - 1 || box.right > Math.min(room.right, innerWidth) + 1 ||
                     box.top < room.top - 1 || box.bottom > room.bottom + 1;
                 }).map((text) => text.textContent);
               })"""
        )
    assert outside == []
    assert "neither" in words
    assert sum(f" of {len(QRELS)}<" in each or each.endswith(f" of {len(QRELS)}") for each in words) == 2
