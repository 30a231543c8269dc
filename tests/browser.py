"""A headless Chromium for tests that must see a page as a reader does: offline, and with every complaint noted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


def chromium() -> str:
    """Where Chromium is, rather the one without a window, which takes a third less of the processor; without any the
    test is skipped, saying how to get one."""
    known = ("chromium-headless-shell", os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in known if name and (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium-headless-shell, or name one in CHROMIUM")
    return found


PATIENCE = 120_000  # milliseconds: a machine that is busy with other things is no mistake of a page


@pytest.fixture(scope="module")  # while it is there, no test of another kind can have an event loop
def browser() -> Iterator[Browser]:
    """The browser."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS.split())
        yield started
        started.close()


@dataclass(frozen=True, slots=True)
class Seen:
    """A page, what its console said, and what it asked for besides itself."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def watched(browser: Browser, width: int = 1280, height: int = 800, **how: Any) -> Iterator[Seen]:
    """An empty page of a context of its own, everything about which is noted."""
    context = browser.new_context(viewport={"width": width, "height": height}, **how)
    context.set_default_timeout(PATIENCE)
    seen = Seen(context.new_page())
    seen.page.on("console", lambda message: seen.complaints.append(message.text))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    try:
        yield seen
    finally:
        context.close()


@contextmanager
def opened(browser: Browser, path: Path, width: int, theme: Any, *, scripts: bool = True) -> Iterator[Seen]:
    """A file, opened with the network off."""
    with watched(browser, width, color_scheme=theme, offline=True, java_script_enabled=scripts) as seen:
        seen.page.goto(path.as_uri())
        yield seen


def draw_all(seen: Seen) -> int:
    """Bring every chart into view, wait until the live one is there, and count them."""
    places = seen.page.locator(".plot")
    for at in range(places.count()):
        places.nth(at).evaluate("(place) => place.scrollIntoView()")
        seen.page.locator(".plot.done").nth(at).wait_for(state="attached")
    return places.count()


# Widths and themes in which every page is looked at.
LOOKS: list[tuple[int, Any]] = [(1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")]


def check_every_look(page: Page, height: int, looks: list[tuple[int, Any]] = LOOKS) -> None:
    """Whatever the width and the theme: axe has nothing grave to say, and nothing is beyond the edge."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    for at, (width, theme) in enumerate(looks):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme)
        page.locator(f"html[data-theme={theme}]").wait_for(state="attached")
        page.wait_for_timeout(200)  # until colours have changed
        known = width in {before for before, _ in looks[:at]}  # in another theme colours alone are others
        only = {"runOnly": ["color-contrast"]} if known else {}
        found = axe.run(page, options={"resultTypes": ["violations"], **only}).response["violations"]
        grave = [each for each in found if each["impact"] in ("serious", "critical")]
        told = [(each["id"], [node["html"][:200] for node in each["nodes"]][:3]) for each in grave]
        assert told == [], (width, theme)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, (width, theme)
