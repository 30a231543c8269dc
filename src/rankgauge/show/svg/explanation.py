"""Explanations → SVG: the ranked list beside the ideal one, what each rank adds, the value in big figures.

A picture stands by itself, is readable in light and dark surroundings, and is wide enough for a slide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rankgauge.show.cells import number_text
from rankgauge.show.explained import beside_ideal, change_words, grade_text, headline, kept_rows
from rankgauge.show.names import short
from rankgauge.show.svg.drawing import document, rect, text

if TYPE_CHECKING:
    from rankgauge.explanation.query.explanation import Change, Difference, Explanation, Row, Share

__all__ = ["difference_svg", "svg"]

LINE, MOST_ROWS, MOST_CHANGES = 32, 15, 4
LEFT, RIGHT = 40, 640  # where the ranking and the ideal begin
SCALE: Final = ((158, 202, 225), (18, 92, 160))  # the lowest grade that gains, the highest


def svg(explanation: Explanation) -> str:
    """The picture of an explanation."""
    left, right = _cut(kept_rows(explanation.rows)), _cut(kept_rows(explanation.ideal))
    top = max((row.grade or 0.0 for row in [*explanation.rows, *explanation.ideal]), default=0.0)
    most = max((abs(row.contribution) for row in [*explanation.rows, *explanation.ideal]), default=0.0)
    parts = _title(headline(explanation), number_text(explanation.value), beside_ideal(explanation))
    parts += _stacks(explanation, top)
    parts += [*_heads(LEFT, "ranked", explanation), *_heads(RIGHT, "ideal", explanation)]
    parts += [*_list(LEFT, left, top, most), *_list(RIGHT, right, top, most)]
    y = 282 + LINE * max(len(left), len(right), 1)
    if explanation.rest:
        value, words = number_text(explanation.rest.contribution), explanation.rest.words
        parts.append(text(LEFT, y, f"{value}  {words}: belongs to no rank", 16))
        y += LINE
    changes = explanation.would_raise[:MOST_CHANGES]
    height = y + 26 * len(changes) + (44 if changes else 0)
    return document([*parts, *_foot(y, changes)], height, f"value {number_text(explanation.value)}")


def difference_svg(difference: Difference) -> str:
    """The picture of two runs side by side."""
    shares, more = difference.shares[:MOST_ROWS], len(difference.shares[MOST_ROWS:])
    top = max((share.grade or 0.0 for share in shares), default=0.0)
    most = max((abs(share.points) for share in shares), default=0.0)
    new, old = (short(name, 12) for name in difference.names)
    title = f"{difference.measure} of query {short(difference.query, 40)}: {new} − {old}"
    parts = _title(title, number_text(difference.points, sign=True), "")
    values = (difference.b.value, difference.a.value)
    for i, (name, value) in enumerate(zip(reversed(difference.names), values, strict=True)):
        parts.append(text(480, 126 + 36 * i, f"{number_text(value)}  {short(name, 40)}", 20))
    heads = (
        (LEFT, "document", "start"), (420, "grade", "middle"), (530, f"rank in {old}", "end"),
        (640, f"in {new}", "end"), (892, f"worse in {new}", "end"), (908, f"better in {new}", "start"),
        (1160, "difference", "end"),
    )  # fmt: skip
    parts += [text(x, 236, head, 14, "rg-quiet", anchor) for x, head, anchor in heads]
    parts += [part for i, share in enumerate(shares) for part in _share(274 + LINE * i, share, top, most)]
    end = 274 + LINE * len(shares)
    left = difference.rest
    rest = f"{left.contribution:+.4f}  {left.words}: belongs to no rank" if left else ""
    parts += [text(LEFT, end, f"… {more:,} more" if more else "", 15, "rg-quiet"), text(480, end, rest, 15)]
    return document(parts, end + 24, f"value {number_text(difference.points)}")


# ---- parts of it ----------------------------------------------------------------------------------------------------


def _title(title: str, big: str, subtitle: str) -> list[str]:
    size = 30 if len(title) < 60 else 22
    return [
        text(LEFT, 58, short(title, 90), size, weight=600),
        text(LEFT, 164, big, 84, weight=700),
        text(LEFT, 196, subtitle, 17, "rg-quiet"),
    ]


def _stacks(explanation: Explanation, top: float) -> list[str]:
    """The value and the ideal as bars, made up of what each rank adds."""
    sums = [sum(max(row.contribution, 0.0) for row in rows) for rows in (explanation.rows, explanation.ideal)]
    whole = max(*sums, 1e-300)
    normal = explanation.dcg is not None and explanation.measure.startswith("nDCG")
    names = ("DCG", "ideal DCG") if explanation.dcg is not None else ("ranked", "ideal")
    values = (explanation.dcg, explanation.idcg) if normal else (explanation.value, explanation.ideal_value)
    parts: list[str] = []
    for i, (rows, name, value) in enumerate(zip((explanation.rows, explanation.ideal), names, values, strict=True)):
        y = 98 + 50 * i
        parts += [text(512, y + 25, name, 17, "rg-quiet", "end"), rect(524, y, 560, 36, "rg-empty")]
        parts += [text(1160, y + 25, number_text(value, 3), 17, "rg-text", "end")]
        parts += _segments(524, y, rows, 560 / whole, top)
    return parts


def _segments(x: float, y: float, rows: Sequence[Row], scale: float, top: float) -> list[str]:
    parts = []
    for row in rows:
        width = max(row.contribution, 0.0) * scale
        if width >= 0.5:
            parts.append(_chip_box(x, y, width - min(1.5, width / 5), 36, row.grade, top))
        if width >= 22:
            parts.append(text(x + width / 2, y + 24, str(row.rank), 15, _on(row.grade, top), "middle"))
        x += width
    return parts


def _heads(x: int, name: str, explanation: Explanation) -> list[str]:
    discounted = any(row.discount is not None for row in explanation.rows)
    heads = [(x, name, "start"), (x + 206, "grade", "middle"), (x + 520, "adds", "end")]
    heads += [(x + 352, "gain ÷ discount", "end")] if discounted else []
    rule = f'<line class="rg-line" x1="{x}" x2="{x + 520}" y1="248" y2="248" stroke-width="1"/>'
    return [*(text(at, 238, head, 14, "rg-quiet", anchor) for at, head, anchor in heads), rule]


def _list(x: int, rows: list[Row | int], top: float, most: float) -> list[str]:
    parts = []
    for i, row in enumerate(rows):
        y = 274 + LINE * i
        if isinstance(row, int):
            parts.append(text(x + 36, y, f"… {row:,} more", 15, "rg-quiet"))
        else:
            parts += _row(x, y, row, top, most)
    return parts


def _row(x: int, y: int, row: Row, top: float, most: float) -> list[str]:
    at, longest = (x + 366, 90) if row.discount is not None else (x + 246, 200)
    width = abs(row.contribution) / most * longest if most else 0.0
    known = "rg-text" if row.grade is not None else "rg-quiet"
    worth = f"{grade_text(row.gain)} ÷ {number_text(row.discount, 3)}" if row.discount is not None else ""
    return [
        text(x + 24, y, str(row.rank), 16, "rg-quiet", "end"),
        text(x + 36, y, short(row.doc_id, 19), 16 if len(row.doc_id) < 16 else 12, known),
        *_chip(x + 190, y - 17, row.grade, top),
        text(x + 352, y, worth, 15, "rg-quiet", "end"),
        rect(at, y - 15, width, 20, "rg-bar" if row.contribution >= 0 else "rg-loss") if width >= 0.5 else "",
        text(x + 520, y, number_text(row.contribution), 16, "rg-text" if row.contribution else "rg-quiet", "end"),
    ]


def _share(y: int, share: Share, top: float, most: float) -> list[str]:
    width = abs(share.points) / most * 170 if most else 0.0
    ranks = ("–" if rank is None else str(rank) for rank in (share.rank_a, share.rank_b))
    at, loss = (900.0, "rg-bar") if share.points >= 0 else (900.0 - width, "rg-loss")
    return [
        text(LEFT, y, short(share.doc_id, 36), 16),
        *_chip(404, y - 17, share.grade, top),
        *(text(530 + 110 * i, y, rank, 16, "rg-text", "end") for i, rank in enumerate(ranks)),
        rect(at, y - 15, width, 20, loss) if width >= 0.5 else "",
        text(1160, y, number_text(share.points, sign=True), 16, "rg-text" if share.points else "rg-quiet", "end"),
    ]


def _foot(y: int, changes: Sequence[Change]) -> list[str]:
    """What would raise the value."""
    parts = [text(LEFT, y + 6, "What would raise it most", 17, weight=600)] if changes else []
    for i, change in enumerate(changes):
        parts += [text(LEFT + 72, y + 36 + 26 * i, f"{change.points:+.4f}", 16, "rg-text", "end")]
        parts += [text(LEFT + 88, y + 36 + 26 * i, change_words(change), 16, "rg-quiet")]
    return parts


def _cut(rows: list[Row | int]) -> list[Row | int]:
    """No more rows than a picture holds."""
    if len(rows) <= MOST_ROWS:
        return rows
    return [*rows[:MOST_ROWS], sum(row if isinstance(row, int) else 1 for row in rows[MOST_ROWS:])]


# ---- drawing --------------------------------------------------------------------------------------------------------


def _chip(x: float, y: float, grade: float | None, top: float) -> list[str]:
    """A grade in its colour; a dash is an unjudged document."""
    if grade is None:
        return [text(x + 16, y + 16, grade_text(grade), 15, "rg-quiet", "middle")]
    return [
        _chip_box(x, y, 32, 22, grade, top),
        text(x + 16, y + 16, grade_text(grade), 15, _on(grade, top), "middle"),
    ]


def _chip_box(x: float, y: float, width: float, height: float, grade: float | None, top: float) -> str:
    if grade is None or grade <= 0:
        return rect(x, y, width, height, "rg-chip0")
    return rect(x, y, width, height, "", "#{:02x}{:02x}{:02x}".format(*_colour(grade, top)))


def _colour(grade: float, top: float) -> tuple[int, ...]:
    share = 1.0 if top <= 1 else min(1.0, max(0.0, (grade - 1) / (top - 1)))
    return tuple(round(low + (high - low) * share) for low, high in zip(*SCALE, strict=True))


def _on(grade: float | None, top: float) -> str:
    """The class of a text on a chip."""
    if grade is None or grade <= 0:
        return "rg-on0"
    return "rg-dark" if sum(_colour(grade, top)) > 420 else "rg-light"
