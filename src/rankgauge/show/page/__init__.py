"""The one layout of every page, and the policy under which a page shows and runs nothing but what is in it."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rankgauge.show.cells import minus, printable

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["environment", "layout", "macros", "own", "policy_of"]


@cache
def environment() -> Environment:
    """Templates, in which every text is escaped."""
    import jinja2

    made = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FunctionLoader(own),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters["words"] = _words
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}
    return made


def _words(text: str) -> str:
    """A text of the page: on one line, numbers with a minus sign."""
    return minus(printable(text))


@cache
def own(name: str) -> str:
    """A file of this folder."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def macros() -> Any:
    """The blocks of a page as functions, whose texts are escaped."""
    return environment().get_template("blocks.html").module


def layout(
    title: str,
    sections: Sequence[Any],
    *,
    subtitle: str = "",
    style: str = "",
    pictured: Iterable[str] = (),
    charts: Any = None,
    library: str = "",
) -> str:
    """The whole file.

    A section has key, title and body. `style` is added to that of every page, `pictured` are the styles that pictures
    bring along. `charts` are data for the script; `library`, which draws them, is there once and packed: the script
    unpacks it when the first chart comes into view.
    """
    style, script = own("tokens.css") + own("page.css") + style, own("page.js")
    policy = policy_of([script, library] if library else [script], [style, *pictured])
    shown = {"title": title, "subtitle": subtitle, "sections": sections, "charts": charts}
    around = {"style": style, "script": script, "policy": policy, "library": _packed(library)}
    return environment().get_template("layout.html").render(shown | around)


def policy_of(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """Nothing is fetched, no text is evaluated, and only these run and only these give a look."""
    allowed, looks = (" ".join(dict.fromkeys(map(_hash, texts))) for texts in (scripts, styles))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {looks}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _packed(library: str) -> str:
    return base64.b64encode(gzip.compress(library.encode(), 9, mtime=0)).decode() if library else ""
