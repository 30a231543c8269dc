"""Prediction-powered values → a table, a picture, JSON, CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted
from rankgauge.show.grid import short
from rankgauge.show.sections.judgments import as_csv
from rankgauge.show.svg.judgments import range_rows
from rankgauge.show.titled import Table
from rankgauge.shown import clean
from rankgauge.stats.ppi import INTERVALS

if TYPE_CHECKING:
    from rankgauge.trust.ppi import Powered, PredictionPowered

__all__ = ["FEW", "FEW_WORDS", "PPI_FORMATS", "html", "powered_svg", "powered_table", "show"]

FEW: Final = 25  # queries judged by people, below which intervals of skewed values are too narrow
FEW_WORDS: Final = f"Fewer than {FEW} queries are judged by people: with skewed values the intervals are too narrow."


def powered_table(found: PredictionPowered, digits: int = 4) -> Table:
    """People alone, the model alone, and people with the model's help."""
    heads = ["", "people", "interval", "model", "with model", "interval", "λ", "narrower"]
    heads += ["needed"] if found.width is not None else []
    rows = [_row(each, found, digits) for each in [*found.systems, *found.pairs]]
    title = f"{found.measure} under people's judgments: {found.judged:,} of {found.queries:,} queries judged by them"
    return Table(title, heads, rows, 1, tuple(_notes(found)))


def _row(each: Powered, found: PredictionPowered, digits: int) -> list[str]:
    sign = "+" if each in found.pairs else ""
    one, other = each.people, each.powered
    cells = [short(each.name, 40), f"{one.value:{sign}.{digits}f}", f"[{one.low:.{digits}f}, {one.high:.{digits}f}]"]
    cells += [f"{each.model:{sign}.{digits}f}", f"{other.value:{sign}.{digits}f}"]
    cells += [f"[{other.low:.{digits}f}, {other.high:.{digits}f}]", f"{each.power:.3f}", f"{each.narrower:.1%}"]
    if found.width is not None:
        cells.append("–" if each.needed is None else f"{each.needed:,}")
    return cells


def _notes(found: PredictionPowered) -> Iterator[str]:
    yield f"Intervals of {100 * (1 - found.alpha):g} %: {INTERVALS[found.interval]}."
    if found.width is not None:
        for each in [*found.systems, *found.pairs]:
            more = None if each.needed is None else max(0, each.needed - found.judged)
            how = (
                f"all {counted(found.queries, 'query', 'queries')} do not suffice"
                if more is None
                else f"{more:,} more judged by people"
            )
            yield f"For an interval of {found.width:g}, {each.name}: {how}; {each.needed_alone:,} without the model."
    yield "Right on average if the queries that people judged are a random sample of all."
    if found.judged < FEW:
        yield FEW_WORDS


def powered_svg(found: PredictionPowered) -> str:
    """Two bars for each system: the interval of people alone, and with the model's help."""
    rows = []
    for each in found.systems:
        for name, one in ((f"{short(each.name, 18)}, people", each.people), ("with the model", each.powered)):
            words = f"{one.value:.4f} in [{one.low:.4f}, {one.high:.4f}]"
            rows.append((name, one.value, one.low, one.high, each.model, words))
    title = f"{found.measure} under people's judgments"
    return range_rows(title, "bar: interval; line: estimate; dashed: the model alone", rows)


def show(found: PredictionPowered, format: str = "table", digits: int = 4) -> str:
    """The whole in one of the formats, ending in a newline."""
    return PPI_FORMATS[format](found, digits)


def _as_csv(found: PredictionPowered, digits: int) -> str:
    heads = ["system", "people", "people_low", "people_high", "model", "powered", "powered_low", "powered_high"]
    rows = [
        [each.name, each.people.value, each.people.low, each.people.high, each.model, each.powered.value,
         each.powered.low, each.powered.high, each.power, each.needed]
        for each in [*found.systems, *found.pairs]
    ]  # fmt: skip
    return as_csv([*heads, "lambda", "needed"], rows)


def _as_json(found: PredictionPowered, digits: int) -> str:
    return json.dumps(clean(found.to_dict()), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


PPI_FORMATS: Final[dict[str, Callable[[PredictionPowered, int], str]]] = {
    "table": lambda found, digits: powered_table(found, digits).text(),
    "json": _as_json,
    "csv": _as_csv,
    "markdown": lambda found, digits: powered_table(found, digits).markdown(),
}


def html(found: PredictionPowered) -> str:
    """The picture and the table of a notebook."""
    return powered_svg(found) + powered_table(found).html()
