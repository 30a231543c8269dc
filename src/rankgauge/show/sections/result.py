"""Results → text: tables for people, Markdown and LaTeX for documents; `machine` has what programs read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.protocol import SPOKEN
from rankgauge.show.grid import (
    MISSING,
    Cell,
    Grid,
    html_table,
    latex_table,
    markdown_table,
    ranked,
    text_table,
)
from rankgauge.show.sections.result_data import (
    Look,
    as_csv,
    as_json,
    as_trec,
    lead_heads,
    measure_names,
    query_values,
    value_of,
)

if TYPE_CHECKING:
    from rankgauge.measures import Measure
    from rankgauge.measures.bands.band import Band
    from rankgauge.result import Evaluation, Result

__all__ = ["FORMATS", "Look", "html", "show"]


def show(evaluation: Evaluation, format: str = "table", look: Look | None = None) -> str:
    """The results in one of the formats, ending in a newline."""
    return FORMATS[format](evaluation, look or Look())


# ---- what a table holds ---------------------------------------------------------------------------------------------


def _table(evaluation: Evaluation, look: Look) -> Grid:
    """The heads of the columns and the rows below them."""
    results = [*evaluation.values()]
    heads = [*lead_heads(results, look, "query"), *measure_names(results)]
    rows = [row for result in results for row in (_query_rows(result, look) if look.per_query else _rows(result, look))]
    if not look.per_query and len(results) > 1:
        _mark_best(results, rows)
    return Grid("", heads, rows, 1 + ("query" in heads) + ("group" in heads))


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
    if hasattr(value, "low"):
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
    """Mark the best run of every measure that is better when higher (all that show the same digits), and the second."""
    wholes = [row for row in rows if row[1].text == "all" or not any(result.groups for result in results)]
    for offset, measure in enumerate(reversed(results[0].measures), 1):
        if measure.definition.needs == "nothing" or measure.definition.aggregate == "none":
            continue
        for row, cell in zip(wholes, ranked([row[-offset] for row in wholes]), strict=True):
            row[-offset] = cell


def footer(evaluation: Evaluation) -> list[str]:
    """What to know about the numbers: queries, judged shares, rules, ties, quick checks."""
    results, first = [*evaluation.values()], evaluation.first
    shares = (f"Judged@{k}: {_spread({result.name: result.judged[k] for result in results})}." for k in first.judged)
    rules = " ".join(f"{rule}={value}" for rule, value in _rules(first))
    lines = [f"Queries: {'; '.join(_count_words(results))}.", *shares, f"Rules: {rules}"]
    return [*lines, *_dialect_words(first), *evaluation.notes]


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


def _as_table(evaluation: Evaluation, look: Look) -> str:
    table = text_table(_table(evaluation, look), with_bold=look.bold)
    return table + "".join(f"{line}\n" for line in ["", *footer(evaluation)])


def _as_markdown(evaluation: Evaluation, look: Look) -> str:
    return markdown_table(_table(evaluation, look))


def _as_latex(evaluation: Evaluation, look: Look) -> str:
    return latex_table(_table(evaluation, look))


FORMATS: Final[dict[str, Callable[[Evaluation, Look], str]]] = {
    "table": _as_table,
    "json": as_json,
    "csv": as_csv,
    "markdown": _as_markdown,
    "latex": _as_latex,
    "trec": as_trec,
}


def html(evaluation: Evaluation) -> str:
    """The table of a notebook."""
    from html import escape

    notes = "<br>".join(map(escape, footer(evaluation)))
    return f"{html_table(_table(evaluation, Look()))}<p style='font-size:smaller'>{notes}</p>"
