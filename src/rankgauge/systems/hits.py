"""What a system finds, and the ranking it comes to: the order returned is the ranking, for it is what users see."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, islice, repeat
from operator import ge, gt
from typing import Any, Final, NamedTuple, Protocol

from rankgauge.errors import FormatError
from rankgauge.read.records import id_text
from rankgauge.read.rows import shortened

__all__ = ["DUPLICATES", "Asked", "Failed", "Hit", "Ranking", "System", "cleaned", "hit_of", "plain_hits", "ranking_of"]
__all__ += ["score_of"]

LONGEST: Final = 1_000  # bytes of an id, as a store takes it
MANY: Final = 10_000  # hits of an answer, above which only as many are looked at as are needed
SHORT: Final = LONGEST // 4  # characters: no longer in bytes than an id may be
UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
DUPLICATES: Final = ("error", "first", "best")  # what to do with a document that is there twice


class Failed(Exception):
    """A query got no answer; the message is what the user is told.

    Of a server: `status` and `text` of what it answered, 0 where no connection came about; `calls` that were made, and
    `tokens` in and out that they cost, where that is known.
    """

    status: int | None = None
    text: str = ""
    calls: int = 1
    tokens: tuple[int, int] | None = None


class Asked(NamedTuple):
    """A query that is asked; of a second stage, with the candidates that are to be ranked."""

    query_id: str
    text: str
    need: str | None = None
    candidates: Sequence[tuple[str, Mapping[str, Any]]] = ()


class Hit(NamedTuple):
    """A document that was found."""

    doc_id: str
    score: float | None = None
    fields: Mapping[str, Any] | None = None


_made: Final = partial(tuple.__new__, Hit)  # of a tuple of all three


class Ranking(NamedTuple):
    """An answer: documents best first, with scores that fall; `notes` say what became of what the system gave."""

    doc_ids: list[str]
    scores: list[float]
    fields: dict[str, Mapping[str, Any]]
    notes: tuple[str, ...] = ()


class System(Protocol):
    """Whatever can be asked: several queries at once, where it takes several; what it has opened it closes."""

    batch: int

    def ask(self, asked: Sequence[Asked], k: int) -> Sequence[Iterable[Hit]]:
        """The hits of every query, best first; `Failed` where there is no answer."""
        ...

    def close(self) -> None:
        """Let go of connections, processes and files."""
        ...


def hit_of(doc: Any, score: Any = None, fields: Any = None) -> Hit:
    """A hit of what a system gave for it; an id is text or an integer, a score a finite number or none."""
    try:
        name = id_text(doc)
    except FormatError as error:
        raise Failed(str(error)) from None
    if not name or "\0" in name or (len(name) > SHORT and len(name.encode()) > LONGEST):
        raise Failed(f"a document's id is {name[:60]!r}; expected a text of at most {LONGEST:,} bytes, without NUL")
    shown = cleaned(fields) if fields and isinstance(fields, Mapping) else None
    return Hit(name, None if score is None else score_of(score, name), shown)


def plain_hits(given: Sequence[Any]) -> Iterable[Hit] | None:
    """The hits of (id, score), where all are plain: looked at all together, which takes a third of one by one.

    None where one is not, or there are so many that looking at all of them may be in vain.
    """
    if len(given) > MANY or {*map(type, given)} != {tuple} or {*map(len, given)} != {2}:
        return None
    docs, scores = zip(*given, strict=True)
    if {*map(type, docs)} != {str} or {*map(type, scores)} != {float} or not all(map(math.isfinite, scores)):
        return None
    sizes, text = [*map(len, docs)], "".join(docs)
    if min(sizes) == 0 or max(sizes) > SHORT or not text.isascii() or "\0" in text:
        return None
    return map(_made, zip(docs, scores, repeat(None)))


def cleaned(value: Any) -> Any:
    """A value with � where a text holds what no database takes."""
    if isinstance(value, str):
        return value if value.isascii() and "\0" not in value else UNSTORABLE.sub("\ufffd", value)
    if value is None or isinstance(value, (int, float)):  # before it is asked whether it is a mapping, which takes long
        return value
    if isinstance(value, Mapping):
        return {cleaned(str(name)): cleaned(each) for name, each in value.items()}
    return [cleaned(each) for each in value] if isinstance(value, (list, tuple)) else value


def score_of(score: Any, doc: str) -> float:
    """A score as a number; a text is none, for it may be anything."""
    try:
        if type(score) is not float and isinstance(score, (str, bytes, bool)):
            raise TypeError
        number = float(score)
    except (TypeError, ValueError, OverflowError):
        found = f"{shortened(str(score))} ({type(score).__name__})"
        raise Failed(f"the score of document {doc!r} is {found}; expected a number") from None
    if not math.isfinite(number):
        raise Failed(f"the score of document {doc!r} is {number!r}; expected a finite number")
    return number


def ranking_of(hits: Iterable[Hit], k: int, *, duplicates: str = "error", ascending: bool = False) -> Ranking:
    """The ranking that hits come to, cut at k.

    Scores are kept where they fall with the order (with `ascending`, where they rise: distances, kept as negatives).
    Where they are missing, equal or against the order, minus the rank takes their place, so that nothing that reads
    scores changes the order.
    """
    found = _once(hits, duplicates, ascending, k + 1)
    notes = ["more than k"] if len(found) > k else []
    found = found[:k]
    given = [(-hit.score if ascending else hit.score) + 0.0 for hit in found if hit.score is not None]
    if len(given) < len(found):
        notes += ["without scores"]
    elif not all(map(gt, given, given[1:])):
        notes += ["equal scores" if all(map(ge, given, given[1:])) else "scores not falling"]
    if len(notes) > notes.count("more than k"):
        given = [-float(rank) for rank in range(1, len(found) + 1)]
    fields = {hit.doc_id: hit.fields for hit in found if hit.fields is not None}
    return Ranking([hit.doc_id for hit in found], given, fields, tuple(notes))


def _once(hits: Iterable[Hit], duplicates: str, ascending: bool, most: int) -> list[Hit]:
    """Every document once: the first, or the best by score; without leave, twice is an error.

    No more are looked at than are needed for `most`: there may be millions.
    """
    ahead = iter(hits)
    first = list(ahead if duplicates == "best" else islice(ahead, most))
    if len({hit.doc_id for hit in first}) == len(first):
        return first
    return _told_apart(chain(first, ahead), duplicates, ascending, most)


def _told_apart(hits: Iterable[Hit], duplicates: str, ascending: bool, most: int) -> list[Hit]:
    """The same, hit by hit: for some are there twice."""
    places: dict[str, int] = {}
    kept: list[Hit | None] = []
    for hit in hits:
        at = places.setdefault(hit.doc_id, len(kept))
        if at == len(kept):
            kept.append(hit)
            if len(kept) == most and duplicates != "best":
                break
            continue
        if duplicates == "error":
            raise Failed(f'document {hit.doc_id!r} is there twice; mend the system, or write duplicates = "first"')
        first = kept[at]
        if duplicates == "best" and first is not None and _better(hit.score, first.score, ascending):
            places[hit.doc_id], kept[at] = len(kept), None
            kept.append(hit)
    return [hit for hit in kept if hit is not None]


def _better(score: float | None, other: float | None, ascending: bool) -> bool:
    return score is not None and (other is None or (score < other if ascending else score > other))
