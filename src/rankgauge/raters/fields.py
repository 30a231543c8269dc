"""A document as raters see it: its fields, with the words of the query marked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from rankgauge.read.tables import is_blank
from rankgauge.show.marking import TITLES, marked, words_of

__all__ = ["shown_fields"]


def shown_fields(
    document: Mapping[str, Any], query: str | None = None, wanted: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """The fields that are wanted, or all, those that are empty left out; the title is the first of them.

    >>> shown_fields({"text": "Red shoes", "title": "Shoe"}, "shoe", ["title"])
    [{'name': 'title', 'title': True, 'pieces': [['Shoe', 1]]}]
    """
    names = document if wanted is None else [name for name in wanted if name in document]
    texts = {name: words for name in names if (words := _text(document[name])).strip()}
    title = next((name for name in TITLES if name in texts), None)
    asked = words_of(query or "")
    return [
        {"name": name, "title": name == title, "pieces": [[text, int(on)] for text, on in marked(texts[name], asked)]}
        for name in sorted(texts, key=lambda name: name != title)
    ]


def _text(value: Any) -> str:
    """A field as text: members of a list one after the other, everything else that is none as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(each, str | int | float) for each in value):
        return " · ".join(map(str, value))
    return "" if is_blank(value) else json.dumps(value, ensure_ascii=False, default=str)
