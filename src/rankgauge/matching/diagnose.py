"""Why judgments and a run do not meet: samples of both sides, and the hint that most often helps."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from rankgauge.errors import MatchError, warn
from rankgauge.read.records import Record, id_text

if TYPE_CHECKING:
    from rankgauge.matching.hits import Hits
    from rankgauge.read.blocks import Streamed
    from rankgauge.read.records import Judgments, Run

__all__ = ["CHANGES", "Side", "alike", "no_query_in_common", "sides_of", "warn_if_nothing_found"]

SAMPLES = 3
PREFIX = "removing a prefix that one side has (such as 'q' or 'doc-') and the zeros after it"
PREFIXES = "replacing one side's prefix, with the zeros after it, by the other's"
BOTH = ("trimming blanks", "ignoring upper and lower case", "removing leading zeros", PREFIXES)
SEARCHED = 10_000
LETTERS_BEFORE, ZEROS_BEFORE = re.compile(r"^\D+(0+(?=\d))?"), re.compile(r"^0+(?=.)")  # 000 is 0
PARTS, FILE_SUFFIX = re.compile(r"[/:_#-]"), re.compile(r"\.[a-z]{1,5}$")

Side: TypeAlias = tuple[Collection[str], Mapping[str, int]]  # ids that are judged, and ids of the run with their rows


def no_query_in_common(judgments: Judgments, run: Run | Streamed) -> MatchError:
    """The error for two sides without a shared query."""
    answered = run.answered
    ours, theirs = judgments.queries, [query for query in run.queries if query in answered]
    return MatchError(
        f"no query in common: {judgments.source} has {_samples(ours)}, {run.source} has {_samples(theirs)}"
        f"{_hint(ours, theirs)}"
    )


def warn_if_nothing_found(judgments: Judgments, run: Run | Streamed, hits: Hits) -> None:
    """No judged document retrieved at all is a legitimate zero, and most often a mistake: say so loudly."""
    if len(hits.rank) or not hits.retrieved.any():
        return
    shared = hits.queries[int(hits.retrieved.argmax())]
    ours, theirs = _docs(judgments, shared), _docs(run if isinstance(run, Record) else run.ranking(shared), shared)
    warn(
        "NO JUDGED DOCUMENT WAS RETRIEVED, for any query: every measure is 0. "
        f"For query {shared!r}, {judgments.source} judges {_samples(ours)}, {run.source} returns {_samples(theirs)}"
        f"{_hint(ours, theirs)}"
    )


def _docs(record: Record, query: str) -> list[str]:
    if record.is_nested:
        return [id_text(doc) for doc in islice(record.nested[query], SEARCHED)]
    columns = record.columns
    rows = (columns.query == columns.queries.index(query)).nonzero()[0][:SEARCHED]
    return [str(doc) for doc in columns.doc.gather(rows)]


def _samples(ids: list[str]) -> str:
    shown = ", ".join(repr(identifier) for identifier in ids[:SAMPLES])
    return f"{shown}, …" if len(ids) > SAMPLES else shown or "none"


def _hint(ours: Iterable[str], theirs: Iterable[str]) -> str:
    """What would make the two sides meet: leading zeros, a prefix, a suffix, blanks, the case."""
    left, right = set(islice(ours, SEARCHED)), set(islice(theirs, SEARCHED))
    for name, change in CHANGES.items():
        changed_left, changed_right = ({change(each) for each in side} - {""} for side in (left, right))
        if changed_left & (right | changed_right if name in BOTH else right) or left & changed_right:
            return f". Hint: they match after {name}"
    return ""


def sides_of(pairs: Iterable[Side], most: int) -> tuple[list[Side], int]:
    """What only one side of each pair has, down to so many ids of the run; and how many ids both sides have."""
    sides: list[Side] = []
    matching = looked_at = 0
    for ours, theirs in pairs:
        looked_at += len(theirs)
        if looked_at > most and sides:
            break
        matching += sum(each in ours for each in theirs)
        only_ours = [each for each in ours if each not in theirs]
        sides.append((only_ours, {each: row for each, row in theirs.items() if each not in ours}))
    return sides, matching


def alike(sides: list[Side], matching: int) -> tuple[list[tuple[str, str, int]], str]:
    """Pairs of ids that one change makes equal (and the row of the second), and the name of the change.

    None where no more would match after it than match as they are.
    """
    if sum(min(len(left), len(right)) for left, right in sides) <= matching:
        return [], ""
    for name, change in CHANGES.items():
        pairs = [pair for left, right in sides if left and right for pair in _equal_after(change, left, right)]
        if len(pairs) > matching:
            both = name == PREFIX and any(change(one) != one and change(two) != two for one, two, _ in pairs)
            return pairs, PREFIXES if both else name
    return [], ""


def _equal_after(
    change: Callable[[str], str], left: Iterable[str], right: Mapping[str, int]
) -> Iterator[tuple[str, str, int]]:
    """Each id of the left with the first of the right that the change makes equal to it."""
    changed = {change(each): each for each in sorted(left)}
    for each in sorted(right):
        new = change(each)
        if new and new in changed:
            yield changed.pop(new), each, right[each]


CHANGES: dict[str, Callable[[str], str]] = {
    "trimming blanks": str.strip,
    "ignoring upper and lower case": str.lower,
    "removing leading zeros": lambda text: ZEROS_BEFORE.sub("", text),
    "removing a trailing '.0' (numbers read as floats)": lambda text: text.removesuffix(".0"),
    PREFIX: lambda text: LETTERS_BEFORE.sub("", text),
    PREFIXES: lambda text: LETTERS_BEFORE.sub("", text),
    "keeping only what follows the last '/', ':', '_', '-' or '#'": lambda text: PARTS.split(text)[-1],
    "removing a file suffix": lambda text: FILE_SUFFIX.sub("", text),
}
