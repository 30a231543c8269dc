"""The documentation as a site: it builds without a warning, holds together, and needs no network."""

from __future__ import annotations

import inspect
import json
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest

import rankgauge
from browser import opened

ROOT = Path(__file__).parents[1]
NAMES = [f"docs/{path.stem}" for path in (ROOT / "docs").glob("*.md")] + ["demo/README", "CHANGELOG", "CONTRIBUTING"]
START = "docs/index.html"
REFERENCE = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^\| `rankgauge\.([\w.]+)` \|", REFERENCE, re.MULTILINE)


# ---- the pages that the site makes more of --------------------------------------------------------------------------


def public_names() -> list[str]:
    """All of rankgauge, and what can be called in its public modules."""
    names = list(rankgauge.__all__)
    for name in vars(rankgauge)["_MODULES"]:
        module = getattr(rankgauge, name)
        names += [f"{name}.{each}" for each in module.__all__ if callable(getattr(module, each))]
    return names


def test_every_public_name_is_in_the_reference_once() -> None:
    assert sorted(LISTED) == sorted(public_names())


def test_the_reference_says_what_docstrings_say() -> None:
    refresh = runpy.run_path(str(ROOT / "tools/refresh.py"))
    assert refresh["with_summaries"](REFERENCE) == REFERENCE  # else: make refresh
    assert "| `rankgauge.evaluate` | Measure a run against judgments. |" in REFERENCE
    assert inspect.getdoc(rankgauge.Protocol) != refresh["summary"](rankgauge.Protocol) == "The rules of an evaluation."


def test_docstrings_become_text_with_code() -> None:
    conf = runpy.run_path(str(ROOT / "docs/conf.py"))
    lines = ["Take `a_b` and *runs; see c_ or |x|.", "", ">>> f(*a_)", "`x`", "", "So *it* goes."]
    conf["without_markup"](None, "function", "f", None, None, lines)
    assert lines == [
        r"Take \ ``a_b``\  and \*runs; see c\_ or \|x\|.", "", ">>> f(*a_)", "`x`", "", r"So \*it\* goes."
    ]  # fmt: skip


# ---- the site -------------------------------------------------------------------------------------------------------


@dataclass
class Read(HTMLParser):
    """What a page links to, what it loads, and which places in it can be linked to."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        self.links += [values["href"]] if tag == "a" and "href" in values else []
        self.loads += [values[name] for name in ("src", "data", "poster", "srcset") if name in values]
        self.loads += [values["href"]] if tag == "link" and "href" in values else []
        self.loads += re.findall(r"url\(([^)]*)\)", values.get("style", ""))


def read(page: Path) -> Read:
    found = Read()
    found.feed(page.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module, reason=f"needs {module}: pip install --group docs")
    folder = tmp_path_factory.mktemp("site")
    (command,) = re.findall(r"^\t@\$\(BIN\)/python (-m sphinx .*) docs/_build$", (ROOT / "Makefile").read_text(), re.M)
    done = subprocess.run([sys.executable, *command.split(), folder], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def local(page: Path, link: str) -> tuple[Path, str] | None:
    """The file and the place in it that a link of a page leads to, or nothing if it leads out of the site."""
    parts = urlsplit(urljoin(page.as_uri(), link))
    return (Path(unquote(parts.path)), unquote(parts.fragment)) if parts.scheme == "file" else None


def test_the_site_holds_together_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = {page: read(page) for page in site.rglob("*.html")}
    assert {site / f"{name}.html" for name in NAMES} <= pages.keys()
    broken, foreign = [], []
    for page, found in pages.items():
        for link in found.links + found.loads:
            target = local(page, link)
            if target is None:
                foreign += [(page.name, link)] if link in found.loads and not link.startswith("data:") else []
            elif not target[0].exists() or (target[1] and target[1] not in read_once(pages, target[0]).places):
                broken.append((page.relative_to(site), link))
    assert (broken, foreign) == ([], [])
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\"']+", styles) == []
    assert {f"rankgauge.{name}" for name in LISTED} <= pages[site / "docs/reference.html"].places
    reached, waiting = set(), {site / START}
    while waiting:
        page = waiting.pop()
        reached.add(page)
        targets = {target[0] for link in pages[page].links if (target := local(page, link))}
        waiting |= (targets & pages.keys()) - reached
    assert {site / f"{name}.html" for name in NAMES} <= reached
    assert read(site / "index.html").links == [START]
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    known = json.loads(index[index.index("(") + 1 : index.rindex(")")])["docnames"]
    assert set(known) == set(NAMES)


def read_once(pages: dict[Path, Read], page: Path) -> Read:
    """A page of the site; what is none, a picture say, has no places."""
    return pages.get(page, Read())


def test_the_site_is_searched_offline(site: Path, browser: Any) -> None:
    with opened(browser, site / "search.html", 1280, "light") as seen:
        seen.page.goto(f"{(site / 'search.html').as_uri()}?q=krippendorff")
        results = seen.page.locator("#search-results li a").first
        results.wait_for()
        assert "Agreement between judges" in seen.page.locator("#search-results").inner_text()
        assert [request for request in seen.requests if not request.startswith("file:")] == []
        assert seen.complaints == []
