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
    """Where Chromium is; without one the test is skipped, saying how to get it."""
    known = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in known if name and (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium, or name one in CHROMIUM")
    return found


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS.split())
        yield browser
        browser.close()


@dataclass(frozen=True, slots=True)
class Seen:
    """A page, what its console said, and what it asked for besides itself."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened(browser: Browser, path: Path, width: int, theme: Any, *, scripts: bool = True) -> Iterator[Seen]:
    """A file, opened with the network off."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=theme, offline=True, java_script_enabled=scripts
    )
    seen = Seen(context.new_page())
    seen.page.on("console", lambda message: seen.complaints.append(message.text))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(path.as_uri())
    yield seen
    context.close()


def draw_all(seen: Seen) -> int:
    """Bring every chart into view, wait until the live one is there, and count them."""
    places = seen.page.locator(".plot")
    for at in range(places.count()):
        places.nth(at).scroll_into_view_if_needed()
        seen.page.locator(".plot.done").nth(at).wait_for(state="attached")
    return places.count()


# Widths and themes in which every page is looked at.
LOOKS: list[tuple[int, Any]] = [(1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")]


def check_every_look(page: Page, height: int, looks: list[tuple[int, Any]] = LOOKS) -> None:
    """Whatever the width and the theme: axe has nothing grave to say, and nothing is beyond the edge."""
    from axe_playwright_python.sync_playwright import Axe

    for width, theme in looks:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme)
        page.locator(f"html[data-theme={theme}]").wait_for(state="attached")
        page.wait_for_timeout(200)  # until colours have changed
        found = Axe().run(page).response["violations"]
        grave = [each for each in found if each["impact"] in ("serious", "critical")]
        told = [(each["id"], [node["html"][:200] for node in each["nodes"]][:3]) for each in grave]
        assert told == [], (width, theme)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, (width, theme)
