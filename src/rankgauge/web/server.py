"""What answers are made of: files or a project, read; the worker; and what is around every page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fastapi.responses import Response
from pydantic import BaseModel

from rankgauge.errors import RankgaugeError
from rankgauge.show.model import Block, Bullets, Section, Text, capital, sentence
from rankgauge.web.markup import DESK_PAGES, PAGES, Around
from rankgauge.web.served import Absent
from rankgauge.web.site import Site
from rankgauge.web.view import Control, View

if TYPE_CHECKING:
    from fastapi import Request

    from rankgauge.web.desk import Desk
    from rankgauge.web.roles import Person
    from rankgauge.web.served import Served
    from rankgauge.web.worker import Worker

__all__ = ["NEVER", "Problem", "Server", "Unreadable", "as_json", "responses", "twin_of"]

NEVER: Final = {"cache-control": "no-store"}
TYPED: Final = ("measure", "grades", "ideal", "candidates")  # what a page takes as text
REFUSED: Final = {
    401: "nobody has logged in", 403: "no key, another role, or a page of somewhere else", 413: "over 1 MB",
    421: "another host",
}  # fmt: skip


class Problem(BaseModel):
    """What is wrong, in the library's own words."""

    error: str


def twin_of(path: str) -> str:
    """The address of a page's data."""
    return "/index.json" if path == "/" else f"{path}.json"


def as_json(data: Any, status: int = 200) -> Response:
    """Data for a program."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return Response(text, status, {**NEVER, "content-type": "application/json"})


def responses(html: bool) -> dict[int | str, dict[str, Any]]:
    """What a page may answer, for the schema."""
    own = "text/html" if html else "application/json"
    told: dict[int | str, dict[str, Any]] = {
        status: {"description": words, "content": {"text/plain": {}, own: {}}} for status, words in REFUSED.items()
    }
    for status, words in ((404, "not there"), (422, "not understood"), (503, "nothing could be read")):
        content: dict[str, Any] = {"content": {"text/html": {}}} if html else {"model": Problem}
        told[status] = {"description": words, **content}
    return told


class Server(NamedTuple):
    """What answers are made of; the desk is where people judge, on a project."""

    served: Served
    worker: Worker
    desk: Desk | None = None

    @property
    def site(self) -> Site | None:
        """The newest collection; None where nothing was read yet."""
        collection = self.served.collection
        return None if collection is None else Site(self.served.files, collection, self.worker)

    def view(self, make: Callable[..., View], parameters: Mapping[str, Any], person: Person) -> View:
        """The page that is asked for; while files are read for the first time, one that says so.

        A page says by its parameters what it is made of: the site, the desk, the person who asks.
        """
        wanted = signature(make).parameters
        given: dict[str, Any] = {"desk": self.desk, "person": person}
        given = {name: each for name, each in given.items() if name in wanted}
        if "site" in wanted:
            site = self.site
            if site is None and self.served.failure and self.desk is not None:
                return _nothing_yet(self.served.failure)
            if site is None and self.served.failure:
                raise Unreadable(self.served.failure)
            if site is None:
                return _reading(self.served)
            given["site"] = site
        view = make(**given, **parameters)
        labels = given["site"].collection.judgments.credit if "site" in given else ""
        return replace(view, subtitle=" · ".join(filter(None, [view.subtitle, labels])))

    def form(self, make: Callable[..., View], parameters: Mapping[str, Any], person: Person) -> View | None:
        """What there is to choose on a page of which something typed was refused, as it was typed; None where the page
        cannot be made without it either."""
        typed = [name for name in TYPED if parameters.get(name)]
        for refused in [*([name] for name in typed), typed]:
            try:
                view = self.view(make, {**parameters, **dict.fromkeys(refused, "")}, person)
            except RankgaugeError:
                continue
            return replace(view, controls=[_as_typed(each, parameters, refused) for each in view.controls])
        return None

    @property
    def known_site(self) -> Site:
        """The newest collection; that there is none is why nothing can be answered."""
        site = self.site
        if site is None and self.desk is not None:
            raise Absent(self.served.failure or "it is still being read")
        if site is None:
            raise Unreadable(self.served.failure or "the files are still being read")
        return site

    def around(self, path: str, request: Request) -> Around:
        """What is around a page."""
        collection, query = self.served.collection, request.url.query
        changed = [] if collection is None or path in DESK_PAGES else self.served.files.changes(collection.read_at)
        again = collection is not None and self.served.reading is not None and path not in DESK_PAGES
        asked = f"?{query}" if query else ""
        charts = f"{'/index' if path == '/' else path}.charts{asked}"
        chosen = {name: request.query_params[name] for name in ("measure", "group") if name in request.query_params}
        single = collection is not None and len(collection.runs) < 2
        pages = {to: name for to, name in PAGES.items() if not (single and to in ("/compare", "/funnel"))}
        nav = pages | (DESK_PAGES if self.desk is not None else {})
        banners = [] if path in DESK_PAGES else self._banners(changed)
        return Around(
            path, f"{path}{asked}", charts, f"{twin_of(path)}{asked}", banners,
            bool(changed) and not again, again, nav, chosen, request.state.user,
        )  # fmt: skip

    def _banners(self, changed: list[str]) -> list[str]:
        """What is to be said about the files, on every page."""
        served, now = self.served, self.served.reading
        if served.collection is None:
            return [*served.cache.problems]
        if now is not None:
            return [f"Reading again: {now.done} of {now.all}, now {now.what}"]
        failed = [f"Reading again failed: {served.failure}"] if served.failure else []
        every = [*served.cache.problems, *served.collection.problems, *failed, *changed]
        return [capital(words.rstrip(".")) for words in every]


class Unreadable(RankgaugeError):
    """Nothing could be read."""


def _as_typed(control: Control, parameters: Mapping[str, Any], refused: Sequence[str]) -> Control:
    """A field for text with what was typed; a choice among values is that of the page."""
    is_field = control.name in refused and not control.values
    return control._replace(chosen=parameters[control.name]) if is_field else control


def _nothing_yet(words: str) -> View:
    """What is shown of a project in which nobody has judged, or searched."""
    lead = sentence(words)
    ways = ["Make a task for raters: the page Tasks.", "Judge: the page Judge. Then read again."]
    blocks: list[Block] = [Text(lead, "lead"), Bullets(ways)]
    return View("Nothing to measure yet", lambda: {"nothing": words}, [Section("nothing", "", blocks)])


def _reading(served: Served) -> View:
    """What is shown before there is anything."""
    now = served.reading
    done, number, what = (now.done, now.all, now.what) if now is not None else (0, 1, "")
    data = {"reading": {"done": done, "all": number, "what": what}}
    more = {"done": done, "all": number, "what": what}
    return View("Reading the files", lambda: data, template="reading.html", pending=["reading"], more=more)
