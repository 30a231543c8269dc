"""Results → text: tables for people, Markdown and LaTeX for documents; `machine` has what programs read."""

from __future__ import annotations

import html as html_escape
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rankgauge.band import Band
from rankgauge.machine import (
    MISSING,
    Look,
    as_csv,
    as_json,
    as_trec,
    lead_heads,
    measure_names,
    query_values,
    value_of,
)
from rankgauge.protocol import SPOKEN

if TYPE_CHECKING:
    from rankgauge.measures import Measure
    from rankgauge.result import Result

__all__ = ["FORMATS", "LATEX", "Cell", "Look", "bold", "html", "padded", "plain", "show"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, as text, and whether it is the best of its column."""

    text: str
    best: bool = False


def show(results: list[Result], format: str = "table", look: Look | None = None) -> str:
    """The results in one of the formats, ending in a newline."""
    return FORMATS[format](results, look or Look())


def plain(results: list[Result]) -> str:
    """The table of a `repr`."""
    return show(results).rstrip("\n")


# ---- what a table holds ---------------------------------------------------------------------------------------------


def _table(results: list[Result], look: Look) -> tuple[list[str], list[list[Cell]]]:
    """The heads of the columns and the rows below them."""
    heads = [*lead_heads(results, look, "query"), *measure_names(results)]
    rows = [row for result in results for row in (_query_rows(result, look) if look.per_query else _rows(result, look))]
    if not look.per_query and len(results) > 1:
        _mark_best(results, rows)
    return heads, rows


def _rows(result: Result, look: Look) -> Iterator[list[Cell]]:
    """The row of a run, then those of its groups of queries."""
    for group, part in [("all", result), *result.by.items()]:
        lead = [Cell(result.name), Cell(group)] if result.groups else [Cell(result.name)]
        count = Cell(str(part.counts["queries"]))
        yield [*lead, count, *(Cell(_number(value_of(part, measure), measure, look)) for measure in part.measures)]


def _query_rows(result: Result, look: Look) -> Iterator[list[Cell]]:
    for lead, values in query_values(result):
        pairs = zip(values, result.measures, strict=True)
        yield [*map(Cell, lead), *(Cell(_number(value, measure, look)) for value, measure in pairs)]


def _number(value: Any, measure: Measure, look: Look) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Band):
        return _range(value, measure, look)
    if math.isnan(value):
        return MISSING
    return str(round(value)) if measure.definition.aggregate == "sum" else f"{value:.{look.digits}f}"


def _range(band: Band, measure: Measure, look: Look) -> str:
    """From the lowest to the highest: one number where the digits shown are the same."""
    low, high = (_number(end, measure, look) for end in (band.low, band.high))
    if low == high:
        return low
    return f"{low} to {high}" if band.exact else f"≤{low} to ≥{high}"


def _mark_best(results: list[Result], rows: list[list[Cell]]) -> None:
    """Mark the best run of every measure that is better when higher (all that show the same digits)."""
    wholes = [row for row in rows if row[1].text == "all" or not any(result.groups for result in results)]
    for offset, measure in enumerate(reversed(results[0].measures), 1):
        numbers = [float(row[-offset].text) for row in wholes if _is_number(row[-offset].text)]
        if not numbers or measure.definition.needs == "nothing":
            continue
        for row in wholes:
            text = row[-offset].text
            row[-offset] = Cell(text, best=_is_number(text) and float(text) == max(numbers))


def _is_number(text: str) -> bool:
    return text != MISSING and " to " not in text


def footer(results: list[Result]) -> list[str]:
    """What to know about the numbers: queries, judged shares, rules, ties, quick checks."""
    from rankgauge.ties.notes import tie_notes  # these load numpy, which help must not
    from rankgauge.validate.quick import quick_notes

    first = results[0]
    shares = (f"Judged@{k}: {_spread({result.name: result.judged[k] for result in results})}." for k in first.judged)
    rules = " ".join(f"{rule}={value}" for rule, value in _rules(first))
    lines = [f"Queries: {'; '.join(_count_words(results))}.", *shares, f"Rules: {rules}"]
    return [*lines, *_dialect_words(first), *tie_notes(results), *quick_notes(results)]


def _dialect_words(result: Result) -> Iterator[str]:
    """Whose numbers these are, what it means by the names, and where it is wrong."""
    dialect = result.dialect
    if dialect is None:
        return
    own = [f"{measure} is {dialect.own(measure).measure}" for measure in result.measures]
    yield f"Dialect: {dialect.name}, as {dialect.call}; {dialect.why}. {'; '.join(own)}."
    if dialect.defect:
        yield f"A defect of {dialect.name}: {dialect.defect}."
    if result.undefined:
        yield f"A to B: {dialect.name} may give any value in between, by the order of ties; {dialect.undefined_ties}."


def _rules(result: Result) -> Iterator[tuple[str, Any]]:
    changed = result.protocol.changed
    for rule, value in result.protocol.to_dict().items():
        if rule in SPOKEN or rule in changed:
            yield rule, f"{value:g}" if isinstance(value, float) else value


def _count_words(results: list[Result]) -> Iterator[str]:
    counts = results[0].counts
    yield f"{counts['queries']:,} evaluated"
    for key, words in (("missing", "not answered"), ("unjudged", "without judgments, left out")):
        numbers = {result.name: result.counts[key] for result in results}
        if any(numbers.values()):
            yield f"{_whose(numbers)} {words}"
    if counts["without_relevant"]:
        yield f"{counts['without_relevant']:,} without relevant documents"


def _whose(numbers: dict[str, int]) -> str:
    """One number if it is the same for all runs, else whose is which."""
    if len(set(numbers.values())) == 1:
        return f"{next(iter(numbers.values())):,}"
    return ", ".join(f"{number:,} ({name})" for name, number in numbers.items() if number)


def _spread(shares: dict[str, float]) -> str:
    """A share, or each run's, or from the lowest to the highest of many."""
    if len({f"{share:.3f}" for share in shares.values()}) == 1:
        return f"{next(iter(shares.values())):.3f}"
    if len(shares) <= 4:
        return ", ".join(f"{share:.3f} ({name})" for name, share in shares.items())
    low, high = min(shares, key=lambda name: shares[name]), max(shares, key=lambda name: shares[name])
    return f"from {shares[low]:.3f} ({low}) to {shares[high]:.3f} ({high})"


# ---- formats --------------------------------------------------------------------------------------------------------


def _as_table(results: list[Result], look: Look) -> str:
    heads, rows = _table(results, look)
    texts = [[cell.text for cell in row] for row in rows]
    left = 1 + ("query" in heads) + ("group" in heads)
    widths = [max(len(text) for text in column) for column in zip(heads, *texts, strict=True)]
    lines = [
        "  ".join(padded(head, width, i < left) for i, (head, width) in enumerate(zip(heads, widths, strict=True)))
    ]
    for row in rows:
        cells = [padded(cell.text, width, i < left) for i, (cell, width) in enumerate(zip(row, widths, strict=True))]
        shown = [bold(text) if cell.best and look.bold else text for cell, text in zip(row, cells, strict=True)]
        lines.append("  ".join(shown).rstrip())
    return "\n".join([*(line.rstrip() for line in lines), *([""] if results else []), *footer(results)]) + "\n"


def padded(text: str, width: int, left: bool) -> str:
    """The text with blanks after it (left) or before it."""
    return text.ljust(width) if left else text.rjust(width)


def bold(text: str) -> str:
    """The text in bold, on a terminal."""
    return f"\x1b[1m{text}\x1b[0m"


def _as_markdown(results: list[Result], look: Look) -> str:
    heads, rows = _table(results, look)
    left = 1 + ("query" in heads) + ("group" in heads)
    lines = [heads, [":--" if i < left else "--:" for i in range(len(heads))]]
    lines += [[f"**{cell.text}**" if cell.best else cell.text.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


LATEX: Final = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _as_latex(results: list[Result], look: Look) -> str:
    heads, rows = _table(results, look)
    left = 1 + ("query" in heads) + ("group" in heads)
    body = [" & ".join(head.translate(LATEX) for head in heads) + r" \\", r"\midrule"]
    for row in rows:
        texts = (cell.text.replace(MISSING, "--").translate(LATEX) for cell in row)
        cells = (rf"\textbf{{{text}}}" if cell.best else text for text, cell in zip(texts, row, strict=True))
        body.append(" & ".join(cells) + r" \\")
    begin = rf"\begin{{tabular}}{{{'l' * left}{'r' * (len(heads) - left)}}}"
    return "\n".join([begin, r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]) + "\n"


FORMATS: Final[dict[str, Callable[[list[Result], Look], str]]] = {
    "table": _as_table,
    "json": as_json,
    "csv": as_csv,
    "markdown": _as_markdown,
    "latex": _as_latex,
    "trec": as_trec,
}


def html(results: list[Result]) -> str:
    """The table of a notebook."""
    heads, rows = _table(results, Look())
    escape = html_escape.escape
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{'<b>' * c.best}{escape(c.text)}{'</b>' * c.best}</td>" for c in row) + "</tr>"
        for row in rows
    )
    notes = "<br>".join(escape(line) for line in footer(results))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"{table}<p style='font-size:smaller'>{notes}</p>"
