"""`rankgauge dialects`: what other tools say of the same files, and which convention gives a number."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, reading_options, shared
from rankgauge.cli.output import TEXTS, output_options, write_text

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.dialects.reproduce import Candidate, Files, Row

__all__ = ["dialects"]

FORMATS = ("table", "json", "csv", "markdown")
HEADS = ("dialect", "value", "difference", "low", "high", "reason")


@command("dialects", needs={"told": "qrels"}, hints={"qrels": "--match looks for a number that files give"})
@click.argument("qrels", required=False, type=FILE)
@click.argument("run", required=False, type=FILE)
@shared("measure", "measures_from")
@click.option("--only", metavar="NAME,…", help="Only these dialects; with --match, nothing else.")
@click.option("--match", "told", metavar="NUMBER", help="Which convention gives this number? 0.6885, or 68.9%.")
@output_options(TEXTS)
@reading_options
def dialects(
    qrels: str | None,
    run: str | None,
    measure: str,
    only: str | None,
    told: str | None,
    output: Output,
    reading: Reading,
) -> None:
    """Say what other tools say of the same files, and why; without files, list the tools.

    \b
    Examples:
      rankgauge dialects
      rankgauge dialects qrels.txt run.txt -m nDCG@10
      rankgauge dialects qrels.txt run.txt -m nDCG@10 --only sklearn,xgboost --format markdown
      rankgauge dialects qrels.txt run.txt -m nDCG@10 --match 0.6885
    """
    if qrels is None:
        write_text(output.path, _listed(only, output.format))
        return
    if run is None:
        raise click.UsageError("Missing argument 'RUN': judgments without a run.")
    from rankgauge.cli.inputs import Inputs
    from rankgauge.dialects.reproduce import Files, Told, compare
    from rankgauge.measures import as_written

    chosen = _chosen(only)
    number = Told(told) if told is not None else None
    asked = as_written(measure)
    inputs = Inputs(reading, qrels, [run])
    (source,) = inputs.runs.values()
    files = Files(inputs.judgments.read(), source.kept())
    if number is not None:
        named = chosen if only else None
        text = _matches(files, asked, number, named, output.format, output.digits)
    else:
        heads = HEADS if output.format in ("json", "csv") else ("dialect", "value", "difference", "reason")
        rows = [_cells(row, output.digits, output.format) for row in compare(files, asked, chosen)]
        text = _shown(rows, heads, output.format)
    write_text(output.path, text)


def _chosen(only: str | None) -> list[Any]:
    from rankgauge.dialects import DIALECTS, find_dialect

    return [find_dialect(name.strip()) for name in only.split(",")] if only else list(DIALECTS.values())


def _listed(only: str | None, format: str) -> str:
    """The dialects: how each tool is called, what it does otherwise, and where it is wrong."""
    heads = ("dialect", "as called", "checked", "what differs", "defect")
    rows = [[each.name, each.call, each.checked, each.why, each.defect] for each in _chosen(only)]
    if format != "table":
        return _shown(rows, heads, format)
    width = max(len(row[0]) for row in rows)
    lines = []
    for name, call, checked, why, defect in rows:
        lines += [f"{name:<{width}}  {why}", f"{'':<{width}}  {call} ({checked})"]
        lines += [f"{'':<{width}}  defect: {defect}"] if defect else []
    return "\n".join(lines) + "\n"


def _cells(row: Row, digits: int, format: str) -> list[Any]:
    numbers = [row.value, row.difference, row.low, row.high]
    if format in ("json", "csv"):
        return [row.dialect, *numbers, row.reason]
    value, difference, low, high = ("" if number is None else f"{number:.{digits}f}" for number in numbers)
    signed = f"+{difference}" if row.difference and row.difference > 0 else difference
    band = (f"{low} to {high}" if row.exact else f"≤{low} to ≥{high}") if low else ""
    hidden = row.difference is not None and not float(difference)  # too small for these digits: nothing to explain
    return [row.dialect, value or band, difference.lstrip("-") if hidden else signed, "" if hidden else row.reason]


def _matches(files: Files, measure: Any, told: Any, only: list[Any] | None, format: str, digits: int) -> str:
    """The conventions that give the number, and a query that would tell them apart."""
    from rankgauge.dialects.reproduce import search, telling_query

    if sys.stderr.isatty() and only is None:
        click.echo("trying every dialect, and every one and two changed rules …", err=True)
    found = search(files, measure, told, only)
    query = telling_query(found) if len(found) > 1 else None
    heads = ("convention", "changes", "value", *([f"query {query}"] if query is not None else []))
    if format in ("json", "csv"):
        return _shown([[each.name, each.changes, each.value, *_of_query(each, query)] for each in found], heads, format)
    if not found:
        tried = "no dialect, and no one or two changed rules" if only is None else "no dialect of those asked for"
        return f"Nothing gives {told.text} for {measure}: {tried}.\n"
    rows = [[each.name, each.changes, f"{each.value:.{digits}f}", *_of_query(each, query, digits)] for each in found]
    note = f"Query {query!r} tells them apart." if query else "No query of these files tells them apart."
    return _shown(rows, heads, format) + (f"\n{note}\n" if len(found) > 1 else "")


def _of_query(candidate: Candidate, query: str | None, digits: int | None = None) -> list[Any]:
    """The value of the query that tells candidates apart, as a number or a text; none where it is not defined."""
    ends = candidate.ends(query) if query is not None else None
    if query is None or ends is None or ends[1] - ends[0] == float("inf"):
        return [] if query is None else ["" if digits is not None else None]
    if digits is None:
        return [ends[0] if ends[0] == ends[1] else None]
    return [" to ".join(dict.fromkeys(f"{end:.{digits}f}" for end in ends))]


def _shown(rows: Sequence[Sequence[Any]], heads: Sequence[str], format: str) -> str:
    if format == "json":
        data = [dict(zip(heads, (None if cell != cell else cell for cell in row), strict=True)) for row in rows]
        return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    if format == "csv":
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([heads, *rows])
        return stream.getvalue()
    texts = [[str(cell) for cell in row] for row in rows]
    if format == "markdown":
        lines = [heads, ["--"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in texts)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in [heads, *texts]]
    return "".join("  ".join(line).rstrip() + "\n" for line in lines)
