"""Views → HTML: the templates of this folder, on the blocks and the look that reports have."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rankgauge import __version__
from rankgauge.show.html import CONTROL, Part, places
from rankgauge.show.model import Options, Section, Text
from rankgauge.show.page import environment, own
from rankgauge.web.faults import fault
from rankgauge.web.roles import HOME, Person, may
from rankgauge.web.view import address

if TYPE_CHECKING:
    from jinja2 import Environment

    from rankgauge.web.view import View

__all__ = ["LIBRARY", "STATIC", "Around", "explained_markup", "markup", "static", "versioned"]

LIBRARY: Final = f"vega-{__version__}.js"  # what draws charts, made once
TYPES: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
# Name → where it is: the look and the script that reports have, too, and what pages of the app have besides.
STATIC: Final = {
    **dict.fromkeys(("tokens.css", "page.css", "page.js"), "report"),
    **dict.fromkeys(("app.css", "app.js", "run.js", "query.js", "judge.css", "judge.js", "icon.svg"), "app"),
    **dict.fromkeys(("lead.css", "tasks.js", "adjudicate.js", "card.js"), "app"),
}
PAGES: Final = {"/": "Leaderboard", "/compare": "Compare", "/funnel": "Funnel", "/playground": "Playground"}
# On a project, where people judge.
DESK_PAGES: Final = {
    "/judge": "Judge", "/tasks": "Tasks", "/adjudicate": "Adjudicate", "/agreement": "Agreement", "/judges": "Judges",
}  # fmt: skip


class Around(NamedTuple):
    """What is around a page: its path, its own address and its charts', and what is to be said about the files."""

    path: str
    address: str = ""
    charts: str = ""
    twin: str = ""
    banners: Sequence[str] = ()
    stale: bool = False
    reading: bool = False
    nav: Mapping[str, str] = PAGES
    kept: Mapping[str, str] = {}  # what is chosen, and stays so on other pages
    person: Person | None = None

    @property
    def home(self) -> str:
        """Where this person begins."""
        return "/" if self.person is None else HOME[self.person.role]

    def may(self, path: str) -> bool:
        """Whether this person may see another page."""
        return self.person is None or may(self.person.role, "GET", path)

    def to(self, path: str) -> str:
        """The address of another page."""
        return address(path, **self.kept) if path in PAGES and path != "/playground" else path


@cache
def static(name: str) -> tuple[bytes, str]:
    """A file that pages load, and its type."""
    text = own(name) if STATIC[name] == "report" else _file(f"static/{name}")
    return text.encode(), TYPES[name[name.rindex(".") :]]


@cache
def versioned(name: str) -> str:
    """The address of such a file, which changes with it."""
    return f"/static/{name}?v={hashlib.sha256(static(name)[0]).hexdigest()[:12]}"


@cache
def _file(name: str) -> str:
    return files("rankgauge.web").joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    import jinja2

    def found(name: str) -> str | None:
        """A template of this folder."""
        try:
            return _file(f"templates/{name}")
        except FileNotFoundError:
            return None

    both = jinja2.ChoiceLoader([jinja2.FunctionLoader(found), jinja2.FunctionLoader(own)])
    made = environment().overlay(loader=both)
    made.globals |= {"static": versioned}
    return made


def markup(view: View, around: Around) -> str:
    """The whole page."""
    sections = [_part(each) for each in view.sections]
    made = _environment().get_template(view.template)
    text = made.render(view=view, sections=sections, around=around, library=LIBRARY, **view.more)
    return text.translate(CONTROL)


def _part(section: Section) -> Part:
    """A section as markup; one that cannot be shown is a sentence, and the rest of the page is there."""
    try:
        (part,) = places([section], Options())
    except Exception as error:
        failed = Text(f"This part cannot be shown: {fault(error)}.", "note")
        (part,) = places([section._replace(blocks=[failed])], Options())
    return part


def explained_markup(view: View) -> str:
    """The part of a page that a change of the ranking changes."""
    made: Any = _environment().get_template("explained.html").render(view=view, **view.more)
    return str(made).translate(CONTROL)
