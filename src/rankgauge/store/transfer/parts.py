"""What imports of several kinds share: values out of JSON, each with its place, and all of a file at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from rankgauge.errors import DuplicateError, FormatError
from rankgauge.read.records import id_text
from rankgauge.read.rows import number_of_value
from rankgauge.store.store import Document, Pair, Query, Store
from rankgauge.store.transfer.files import Judged, keyed, on_purpose

__all__ = ["EXPORT", "Asked", "add_all", "checked", "grade_in", "id_in", "objects", "said", "whole", "words_in"]

EXPORT: Final = "export it again"


class Asked(NamedTuple):
    """What the user says about a file that says the rest itself."""

    judge: str | None = None
    kind: str | None = None
    system: str | None = None
    split: str | None = None
    repeats: bool = False
    latest_text: bool = False


def add_all(
    store: Store,
    path: str,
    queries: Iterable[Query],
    documents: Iterable[Document],
    pairs: Iterable[Pair],
    judged: list[Judged],
    asked: Asked,
) -> int:
    """All of it as one transaction; how many judgments are new."""

    def added(inside: Store) -> int:
        inside.add_queries(queries, path)
        inside.add_documents(documents, path, latest_text=asked.latest_text)
        inside.add_pairs(pairs, path)
        return inside.add_judgments(judged, path)

    return store.together(added)


def checked(judged: list[Judged], path: str, asked: Asked) -> list[Judged]:
    """The labels with their keys; a pair that one judge judged twice is refused, unless that was on purpose."""
    pairs = Counter((by.name, label.query_id, label.doc_id) for by, label in judged)
    if not asked.repeats and (twice := next((pair for pair, times in pairs.items() if times > 1), None)):
        judge, query, doc = twice
        words = f"{path}: {judge} judged query {query!r}, document {doc!r} twice; keep one judgment"
        raise DuplicateError(f"{words}, or {on_purpose()}")
    return keyed(judged)


def objects(holder: Any, name: str, place: str) -> list[dict[str, Any]]:
    """The objects in a list that must be there."""
    found = holder.get(name)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise FormatError(f"{place}: {name!r} is no list of objects; {EXPORT}")
    return found


def id_in(item: Mapping[str, Any], name: str, place: str) -> str:
    if item.get(name) in (None, ""):
        raise FormatError(f"{place}: has no {name!r}; {EXPORT}, or fill it in")
    try:
        return id_text(item[name])
    except FormatError as error:
        raise FormatError(f"{place}: {name}: {error}") from None


def words_in(item: Mapping[str, Any], name: str, place: str) -> str:
    if not isinstance(item.get(name), str):
        raise FormatError(f"{place}: {name!r} is no text; {EXPORT}, or fill it in")
    return str(item[name])


def said(value: Any) -> str | None:
    """What somebody wrote, where there is anything."""
    return None if value is None or value == "" else str(value)


def whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def grade_in(item: Mapping[str, Any], name: str, place: str) -> float:
    try:
        return number_of_value(item.get(name))
    except ValueError as error:
        raise FormatError(f"{place}: {name!r}: {error}; expected a grade") from None
