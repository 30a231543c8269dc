"""Explanations → text: a table with bars for people, Markdown for documents, JSON for machines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from rankgauge.measures.gains import number_text
from rankgauge.show.grid import bar, short

if TYPE_CHECKING:
    from rankgauge.explanation.query.difference import Difference
    from rankgauge.explanation.query.explanation import Change, Explanation, Row

__all__ = ["as_json", "as_markdown", "as_table", "cells", "change_words", "difference_markdown", "difference_table"]
__all__ += ["coloured", "grade_text", "headline", "kept_rows", "number", "share_cells", "signed"]

UNJUDGED: Final = "–"
FIRST_ROWS, MOST_ROWS = 10, 60


def headline(found: Explanation) -> str:
    """What was measured, of what."""
    if not found.query:
        return f"{found.measure} of the grades given"
    where = f" in {short(found.run, 60)}" if found.run else ""
    return f"{found.measure} of query {short(found.query, 60)}{where}"


def number(value: float | None, digits: int = 4) -> str:
    """A value for people."""
    return UNJUDGED if value is None or math.isnan(value) else f"{value:.{digits}f}"


def signed(points: float) -> str:
    """A difference for people: nothing has no sign, and one with a value that was left out is none."""
    if math.isnan(points):
        return UNJUDGED
    return f"{points:+.4f}" if points else "0.0000"


def grade_text(grade: float | None) -> str:
    """A grade for people; – is unjudged."""
    return UNJUDGED if grade is None else number_text(grade)


def kept_rows(rows: Sequence[Row]) -> list[Row | int]:
    """The first rows and those that add something; a number stands for so many ranks that do not."""
    kept: list[Row | int] = []
    shown = 0
    for row in rows:
        if row.rank <= FIRST_ROWS or (row.contribution and shown < MOST_ROWS):
            kept.append(row)
            shown += 1
        elif kept and isinstance(kept[-1], int):
            kept[-1] += 1
        else:
            kept.append(1)
    return kept


def change_words(change: Change) -> str:
    """A change in words."""
    if change.kind == "insert":
        return f"insert {short(change.doc_ids[0])} (grade {grade_text(change.grades[0])}) at rank {change.ranks[0]}"
    (upper, lower), (one, other) = change.ranks, map(short, change.doc_ids)
    grades = " and ".join(grade_text(grade) if grade is not None else "unjudged" for grade in change.grades)
    return f"swap ranks {upper} and {lower}: {one} and {other} (grades {grades})"


# ---- a table for people ---------------------------------------------------------------------------------------------


def as_table(found: Explanation) -> str:
    """The explanation as text, ending in a newline."""
    heads, rows = cells(found)
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = [headline(found), "", *_big(found), "", _line(heads, heads, widths)]
    lines += [_line(row, heads, widths) for row in rows]
    return "\n".join([*lines, *_below(found)]) + "\n"


def _big(found: Explanation) -> Iterator[str]:
    """The value, and where it comes from."""
    yield f"  {found.measure} = {number(found.value)}"
    if found.dcg is not None and found.measure.startswith("nDCG"):
        yield f"  DCG {number(found.dcg)} of an ideal DCG {number(found.idcg)}"
    elif found.dcg is None:
        yield f"  the ideal ranking has {number(found.ideal_value)}"


def _columns(found: Explanation) -> list[tuple[str, Callable[[Row], str]]]:
    """The columns about a rank: head and text."""
    discounted = any(row.discount is not None for row in [*found.rows, *found.ideal])
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("rank", lambda row: str(row.rank)),
        ("document", lambda row: short(row.doc_id)),
        ("grade", lambda row: grade_text(row.grade)),
    ]
    if discounted:
        columns.append(("gain", lambda row: grade_text(row.gain)))
        columns.append(("discount", lambda row: number(row.discount)))
        columns.append(("term", lambda row: number(row.term)))
    return [*columns, ("adds", lambda row: number(row.contribution)), ("so far", lambda row: number(row.total))]


def cells(found: Explanation) -> tuple[list[str], list[list[str]]]:
    """The heads and the rows of the table; a column of bars has no head."""
    columns = _columns(found)
    heads = [*(head for head, _ in columns), "", "│ ideal", "grade", "adds", "so far"]
    most = max((abs(row.contribution) for row in [*found.rows, *found.ideal]), default=0.0)
    ours, ideal = kept_rows(found.rows), {row.rank: row for row in found.ideal}
    lines, last = [], 0
    for row in ours:
        if isinstance(row, int):
            lines.append(["…", f"{row:,} more", *[""] * (len(columns) - 1), "│ …", "", "", ""])
            last += row
            continue
        last = row.rank
        lines.append([*(text(row) for _, text in columns), bar(row.contribution, most), *_ideal(ideal.get(row.rank))])
    for rank in range(last + 1, min(len(found.ideal), FIRST_ROWS) + 1):
        blank = [str(rank), *[""] * (len(columns) - 1), ""]
        lines.append([*blank, *_ideal(ideal[rank])])
    return heads, lines


def _ideal(row: Row | None) -> list[str]:
    if row is None:
        return ["│", "", "", ""]
    return [f"│ {short(row.doc_id)}", grade_text(row.grade), number(row.contribution), number(row.total)]


def _line(row: list[str], heads: list[str], widths: list[int]) -> str:
    left = ("document", "", "│ ideal")
    texts = [
        text.ljust(width) if head in left else text.rjust(width)
        for text, head, width in zip(row, heads, widths, strict=True)
    ]
    return "  ".join(texts).rstrip()


def _below(found: Explanation) -> Iterator[str]:
    """What belongs to no rank, the levels, what would raise the value, notes."""
    if found.rest:
        yield f"      {found.rest.words}: {number(found.rest.contribution)}"
    if found.levels:
        yield from ("", "Level by level:")
        for level in found.levels:
            where = f"rank {level.rank}" if level.rank else "never reached"
            yield f"  {level.name:<12} {number(level.value)}  adds {number(level.contribution)}  {where}"
    if found.would_raise:
        yield from ("", "What would raise it most:")
        yield from (f"  {change.points:+.4f}  {change_words(change)}" for change in found.would_raise)
    for note in found.notes:
        yield from ("", f"Note: {note}.")


# Patterns of the text and their ANSI colours: the title and the value bold, bars blue, losses red, gains green.
COLOURS: Final = (
    (re.compile(r"\A.+"), "1"),
    (re.compile(r"(?<=\n)  \S+ = [-–0-9.]+$", re.MULTILINE), "1"),
    (re.compile(r"(?<=  )[▏▎▍▌▋▊▉█]+(?=$|  )", re.MULTILINE), "34"),
    (re.compile(r"(?<=  )░+$", re.MULTILINE), "31"),
    (re.compile(r"(?<=\n  )\+[0-9.]+(?=  )"), "32"),
)


def coloured(text: str) -> str:
    """A table for a terminal."""
    for pattern, colour in COLOURS:
        text = pattern.sub(lambda found, colour=colour: f"\x1b[{colour}m{found[0]}\x1b[0m", text)  # type: ignore[misc]
    return text


# ---- two runs -------------------------------------------------------------------------------------------------------


def share_cells(found: Difference) -> tuple[list[str], list[list[str]]]:
    """The documents that make the difference, and the first of those that do not."""
    heads = ["document", "grade", "rank in A", "adds in A", "rank in B", "adds in B", "A − B"]
    shares = [share for i, share in enumerate(found.shares) if i < FIRST_ROWS or share.points][:MOST_ROWS]
    rows = [
        [
            short(share.doc_id), grade_text(share.grade), _rank(share.rank_a), number(share.a), _rank(share.rank_b),
            number(share.b), signed(share.points),
        ]
        for share in shares
    ]  # fmt: skip
    if len(shares) < len(found.shares):
        rows.append([f"… {len(found.shares) - len(shares):,} more", *[""] * 6])
    return heads, rows


def _rank(rank: int | None) -> str:
    return UNJUDGED if rank is None else str(rank)


def _two(found: Difference) -> list[str]:
    lines = [f"{found.measure} of query {short(found.query, 60)}: A − B = {signed(found.points)}"]
    return lines + [f"  {letter} = {number(each.value)}  {short(each.run, 60)}" for letter, each in _letters(found)]


def _letters(found: Difference) -> tuple[tuple[str, Explanation], tuple[str, Explanation]]:
    return ("A", found.a), ("B", found.b)


def difference_table(found: Difference) -> str:
    """Two runs side by side, as text."""
    heads, rows = share_cells(found)
    most = max((abs(share.points) for share in found.shares), default=0.0)
    bars = [bar(share.points, most) for share in found.shares]
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = [*_two(found), "", _line(heads, heads, widths)]
    lines += [f"{_line(row, heads, widths)}  {mark}".rstrip() for row, mark in zip(rows, [*bars, ""], strict=False)]
    return "\n".join([*lines, *_below_two(found)]) + "\n"


def _below_two(found: Difference) -> Iterator[str]:
    """What belongs to no rank, and the notes on either run."""
    if found.rest:
        yield f"  {found.rest.words}: {found.rest.contribution:+.4f}"
    yield from (f"Note on {letter}: {note}." for letter, each in _letters(found) for note in each.notes)


def difference_markdown(found: Difference) -> str:
    """Two runs side by side, as Markdown."""
    heads, rows = share_cells(found)
    title, *runs = _two(found)
    lines = [f"### {_escaped(title)}", "", *(f"- {_escaped(line.strip())}" for line in runs), ""]
    lines += [f"| {' | '.join(heads)} |", f"|{'--:|' * len(heads)}"]
    lines += [f"| {' | '.join(map(_escaped, row))} |" for row in rows]
    below = [f"- {_escaped(line.strip())}" for line in _below_two(found)]
    return "\n".join([*lines, *([""] if below else []), *below]) + "\n"


# ---- documents and machines -----------------------------------------------------------------------------------------


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>|#" else char for char in text)


def as_markdown(found: Explanation) -> str:
    """The explanation as Markdown: a heading, a table, a list."""
    heads, rows = cells(found)
    drop = heads.index("")
    lines = [f"### {_escaped(headline(found))}: {number(found.value)}", ""]
    lines += [line.strip() + "  " for line in list(_big(found))[1:]] + [""]
    for row in ([head.strip("│ ") for head in heads], ["--:"] * len(heads), *rows):
        kept = [cell for i, cell in enumerate(row) if i != drop]
        lines.append(f"| {' | '.join(cell if cell == '--:' else _escaped(cell.lstrip('│ ')) for cell in kept)} |")
    below = [_escaped(line) for line in _below(found)]
    return "\n".join([*lines, "", *(f"- {line.strip()}" if line.startswith(" ") else line for line in below)]) + "\n"


def as_json(found: Sequence[Explanation] | Explanation | Difference) -> str:
    """Everything, every digit; several explanations as a list."""
    data: Any = [each.to_dict() for each in found] if isinstance(found, Sequence) else found.to_dict()
    return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
