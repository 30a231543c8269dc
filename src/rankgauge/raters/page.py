"""The page on which people judge as one file: pairs, scale, guidelines, look and script, and no server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError, unknown
from rankgauge.raters.fields import shown_fields
from rankgauge.raters.keys import scale_levels
from rankgauge.show.guidelines import guidelines_html
from rankgauge.show.html import CONTROL
from rankgauge.show.page import environment, own, policy_of

if TYPE_CHECKING:
    from rankgauge.judge.pairs import Pair
    from rankgauge.judge.scale import Scale

__all__ = ["hand_outs", "judge_page"]

LOOK: Final = ("app.css", "judge.css")  # on those that reports have
SCRIPTS: Final = ("card.js", "judge.js")


def judge_page(
    pairs: Sequence[Pair], name: str, scale: Scale, guidelines: str = "", fields: Iterable[str] | None = None
) -> str:
    """The whole file; `fields` are those of documents that are shown, if not all."""
    wanted = None if fields is None else _checked(pairs, [*fields])
    data = {
        "id": _digest([sorted(pair[:2] for pair in pairs), scale.to_dict()]),  # by which the browser knows it again
        "name": name,
        "scale": scale_levels(scale),
        "guidelines": guidelines_html(guidelines),
        "queries": hand_outs(pairs, wanted),
    }
    style = "".join([own("tokens.css"), own("page.css"), *map(_static, LOOK)])
    common, script = own("page.js"), "".join(map(_static, SCRIPTS))
    made = _template("judge_file.html").render(
        name=name,
        data=data,
        style=style,
        common=common,
        script=script,
        task="",
        policy=policy_of([common, script], [style]),
    )
    return str(made).translate(CONTROL).rstrip() + "\n"


def hand_outs(pairs: Sequence[Pair], fields: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The pairs by query, as the page takes them: those of a query together, in the order of the first of each."""
    place = {query: at for at, query in enumerate(dict.fromkeys(pair.query_id for pair in pairs))}
    ordered = sorted(pairs, key=lambda pair: place[pair.query_id])
    return [_hand_out(query, [*several], fields) for query, several in groupby(ordered, key=lambda pair: pair.query_id)]


def _hand_out(query: str, pairs: Sequence[Pair], fields: Sequence[str] | None) -> dict[str, Any]:
    text = next((pair.query for pair in pairs if pair.query), None)
    shown = [{"doc_id": pair.doc_id, "fields": shown_fields(pair.document, text, fields)} for pair in pairs]
    need = next((pair.need for pair in pairs if pair.need), None)
    return {"id": query, "query_id": query, "query": text, "need": need, "pairs": shown}


def _checked(pairs: Sequence[Pair], fields: Sequence[str]) -> Sequence[str]:
    """Refuse a field that no document has."""
    known = dict.fromkeys(name for pair in pairs for name in pair.document)
    for name in fields:
        if name not in known:
            raise InputError(unknown(f"no document has a field {name!r}", name, known, "" if known else "none has any"))
    return fields


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _static(name: str) -> str:
    """A file that pages of the app load."""
    return files("rankgauge").joinpath("web", "static", name).read_text(encoding="utf-8")


def _template(name: str) -> Any:
    import jinja2

    def found(name: str) -> str:
        return files("rankgauge").joinpath("web", "templates", name).read_text(encoding="utf-8")

    return environment().overlay(loader=jinja2.FunctionLoader(found)).get_template(name)
