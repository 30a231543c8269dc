"""The tie bands of results, as a table for people and as data for machines."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.measures.bands.bands import is_text
from rankgauge.show.grid import markdown_grid, text_grid

if TYPE_CHECKING:
    from rankgauge.measures.bands.bands import Band
    from rankgauge.result import Result

__all__ = ["TIE_FORMATS", "show_ties", "ties_data"]

HEADS: Final = ["value", "low", "expected", "high"]
NOTE: Final = (
    "low and high are what some order of equal scores gives, expected is the mean over all orders.\n"
    "≤ and ≥: too many orders to try, the band is at least as wide. ±: sampled, with its standard error.\n"
)


def show_ties(results: list[Result], format: str = "table", *, per_query: bool = False, digits: int = 4) -> str:
    """The tie bands of every run and measure: value, smallest, expected, largest."""
    return TIE_FORMATS[format](results, per_query, digits)


def _bands(results: list[Result], per_query: bool) -> Iterator[tuple[list[str], Band]]:
    """The names that lead a row, and its band."""
    for result in results:
        for measure in result.measures:
            if not is_text(measure):
                ties = result.ties(measure)
                if per_query:
                    yield from (([result.name, str(measure), query], ties[query]) for query in ties.queries)
                else:
                    yield [result.name, str(measure)], ties.mean


def _lead(per_query: bool, query: str = "query") -> list[str]:
    return ["run", "measure", *[query] * per_query]


def _cells(band: Band, digits: int) -> list[str]:
    low, high = ("", "") if band.exact else ("≤", "≥")
    expected = "–" if math.isnan(band.expected) else f"{band.expected:.{digits}f}"
    error = f" ±{band.error:.{digits}f}" if band.error else ""
    return [
        f"{band.value:.{digits}f}",
        f"{low}{band.low:.{digits}f}",
        expected + error,
        f"{high}{band.high:.{digits}f}",
    ]


def _as_table(results: list[Result], per_query: bool, digits: int) -> str:
    rows = [[*names, *_cells(band, digits)] for names, band in _bands(results, per_query)]
    return text_grid([*_lead(per_query), *HEADS], rows, left=2 + per_query) + "\n" + NOTE


def _as_markdown(results: list[Result], per_query: bool, digits: int) -> str:
    rows = [[*names, *_cells(band, digits)] for names, band in _bands(results, per_query)]
    return markdown_grid([*_lead(per_query), *HEADS], rows, left=2 + per_query)


def _as_csv(results: list[Result], per_query: bool, digits: int) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*_lead(per_query, "query_id"), *HEADS, "exact", "standard_error"])
    for names, band in _bands(results, per_query):
        expected = "" if math.isnan(band.expected) else band.expected
        writer.writerow([*names, band.value, band.low, expected, band.high, str(band.exact).lower(), band.error])
    return stream.getvalue()


def ties_data(results: list[Result], per_query: bool) -> list[dict[str, Any]]:
    """What the JSON holds, as a value."""
    keys = _lead(per_query, "query_id")
    return [dict(zip(keys, names, strict=True)) | _band_data(band) for names, band in _bands(results, per_query)]


def _band_data(band: Band) -> dict[str, Any]:
    data = {"value": band.value, "low": band.low, "expected": band.expected, "high": band.high}
    numbers = {name: None if math.isnan(number) else number for name, number in data.items()}
    return numbers | {"exact": band.exact, "standard_error": band.error}


def _as_json(results: list[Result], per_query: bool, digits: int) -> str:
    return json.dumps({"ties": ties_data(results, per_query)}, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


TIE_FORMATS: Final[dict[str, Callable[[list[Result], bool, int], str]]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
}
