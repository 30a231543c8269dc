"""Results → text: tables for people, JSON and CSV for machines, Markdown and LaTeX for documents, trec_eval's lines."""

from __future__ import annotations

import csv
import html as html_escape
import io
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rankgauge.grid import MISSING, Cell, Grid, html_table, latex_table, markdown_table, ranked, text_table
from rankgauge.protocol import SPOKEN

if TYPE_CHECKING:
    from rankgauge.measures import Measure
    from rankgauge.result import Result

__all__ = ["FORMATS", "Look", "html", "plain", "show"]


@dataclass(frozen=True, slots=True)
class Look:
    """What to show and how."""

    per_query: bool = False
    digits: int = 4
    bold: bool = False


def show(results: list[Result], format: str = "table", look: Look | None = None) -> str:
    """The results in one of the formats, ending in a newline."""
    return FORMATS[format](results, look or Look())


def plain(results: list[Result]) -> str:
    """The table of a `repr`."""
    return show(results).rstrip("\n")


# ---- what a table holds ---------------------------------------------------------------------------------------------


def _table(results: list[Result], look: Look) -> Grid:
    """The heads of the columns and the rows below them."""
    heads = [*_lead(results, look, "query"), *_measure_names(results)]
    rows = [row for result in results for row in (_query_rows(result, look) if look.per_query else _rows(result, look))]
    if not look.per_query and len(results) > 1:
        _mark_best(results, rows)
    return Grid("", heads, rows, 1 + ("query" in heads) + ("group" in heads))


def _lead(results: list[Result], look: Look, query: str) -> list[str]:
    """The heads of the columns before the values."""
    group = ["group"] if any(result.groups for result in results) else []
    return ["run", query, *group] if look.per_query else ["run", *group, "queries"]


def _measure_names(results: list[Result]) -> list[str]:
    return list(results[0]) if results else []


def _rows(result: Result, look: Look) -> Iterator[list[Cell]]:
    """The row of a run, then those of its groups of queries."""
    for group, part in [("all", result), *result.by.items()]:
        lead = [Cell(result.name), Cell(group)] if result.groups else [Cell(result.name)]
        count = Cell(str(part.counts["queries"]))
        yield [*lead, count, *(Cell(_number(part[measure], measure, look)) for measure in part.measures)]


def _query_rows(result: Result, look: Look) -> Iterator[list[Cell]]:
    for lead, values in _query_values(result):
        pairs = zip(values, result.measures, strict=True)
        yield [*map(Cell, lead), *(Cell(_number(value, measure, look)) for value, measure in pairs)]


def _query_values(result: Result) -> Iterator[tuple[list[str], list[Any]]]:
    """For each query what stands before its values (run, query, group), and the values."""
    columns = [result._selected(values).tolist() for values in result.measured.values()]
    groups = result.group_of_query if result.groups else None
    for index, (query, *values) in enumerate(zip(result.query_ids, *columns, strict=True)):
        yield [result.name, query, *([groups[index]] if groups else [])], values


def _number(value: Any, measure: Measure, look: Look) -> str:
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return MISSING
    return str(round(value)) if measure.definition.aggregate == "sum" else f"{value:.{look.digits}f}"


def _mark_best(results: list[Result], rows: list[list[Cell]]) -> None:
    """Mark the best run of every measure that is better when higher (all that show the same digits), and the second."""
    wholes = [row for row in rows if row[1].text == "all" or not any(result.groups for result in results)]
    for offset, measure in enumerate(reversed(results[0].measures), 1):
        if measure.definition.needs == "nothing" or measure.definition.aggregate == "none":
            continue
        for row, cell in zip(wholes, ranked([row[-offset] for row in wholes]), strict=True):
            row[-offset] = cell


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
    notes = ["", *footer(results)] if results else []
    return text_table(_table(results, look), with_bold=look.bold) + "".join(f"{line}\n" for line in notes)


def _as_markdown(results: list[Result], look: Look) -> str:
    return markdown_table(_table(results, look))


def _as_latex(results: list[Result], look: Look) -> str:
    return latex_table(_table(results, look))


def _as_csv(results: list[Result], look: Look) -> str:
    """Every digit: a value read back is the value that was measured."""
    grouped = any(result.groups for result in results)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*_lead(results, look, "query_id"), *_measure_names(results)])
    for result in results:
        writer.writerows(_csv_queries(result) if look.per_query else _csv_rows(result, grouped))
    return stream.getvalue()


def _csv_queries(result: Result) -> Iterator[list[Any]]:
    for lead, values in _query_values(result):
        yield [*lead, *map(_csv_number, values)]


def _csv_rows(result: Result, grouped: bool) -> Iterator[list[Any]]:
    for group, part in [("all", result), *result.by.items()]:
        lead = [result.name, group] if grouped else [result.name]
        yield [*lead, part.counts["queries"], *(_csv_number(part[measure]) for measure in part.measures)]


def _csv_number(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value


def as_data(results: list[Result], look: Look) -> dict[str, Any]:
    """What the JSON holds, as a value."""
    return {
        "runs": [_run_data(result, look) for result in results],
        "protocol": results[0].protocol.to_dict() if results else {},
        **({"dialect": results[0].dialect.name} if results and results[0].dialect else {}),
        "definitions": results[0].definitions if results else {},
        **({"fingerprints": results[0].fingerprints} if results and look.per_query else {}),
    }


def _run_data(result: Result, look: Look) -> dict[str, Any]:
    data = {
        "run": result.name,
        "queries": result.counts["queries"],
        "measures": {str(measure): _measure_data(result, measure) for measure in result.measures},
        "counts": result.counts,
        "judged": {str(k): _json_number(share) for k, share in result.judged.items()},
        "fingerprint": result.fingerprint,
    }
    if result.groups:
        data["groups"] = {
            name: {
                "queries": part.counts["queries"],
                "measures": {str(measure): _measure_data(part, measure) for measure in part.measures},
            }
            for name, part in result.by.items()
        }
    return data | ({"per_query": result.to_dict()} if look.per_query else {})


def _measure_data(result: Result, measure: Measure) -> dict[str, float | None]:
    summary = {name: _json_number(value) for name, value in result.summary(measure).items()}
    own = {"value": _json_number(result[measure])}
    return summary if measure.definition.aggregate == "mean" else summary | own


def _json_number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _as_json(results: list[Result], look: Look) -> str:
    return json.dumps(as_data(results, look), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _as_trec(results: list[Result], look: Look) -> str:
    """trec_eval's lines, with this project's names of the measures."""
    lines = []
    for result in results:
        lines.append(trec_line("runid", "all", result.name))
        if look.per_query:
            for query, values in result.to_dict().items():
                lines += [trec_line(str(m), query, _trec_number(values.get(str(m)), m)) for m in result.measures]
        lines += [
            trec_line(str(m), "all", _trec_number(result[m], m))
            for m in result.measures
            if m.definition.aggregate != "none"
        ]
    return "".join(lines)


def trec_line(measure: str, query: str, value: str) -> str:
    """A line as trec_eval prints it."""
    return f"{measure:<22}\t{query}\t{value}\n"


def _trec_number(value: Any, measure: Measure) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    if value is None or math.isnan(value):
        return "nan"
    return str(round(value)) if measure.definition.aggregate == "sum" else f"{value:6.4f}"


FORMATS: Final[dict[str, Callable[[list[Result], Look], str]]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
    "latex": _as_latex,
    "trec": _as_trec,
}


def html(results: list[Result]) -> str:
    """The table of a notebook."""
    notes = "<br>".join(map(html_escape.escape, footer(results)))
    return f"{html_table(_table(results, Look()))}<p style='font-size:smaller'>{notes}</p>"
