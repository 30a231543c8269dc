"""Comparisons → text: tables for people, JSON and CSV for machines, Markdown and LaTeX for documents, HTML."""

from __future__ import annotations

import csv
import html as html_escape
import io
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.verdict import NOT_SEPARABLE, p_text, percent
from rankgauge.show.grid import (
    MISSING,
    Cell,
    Grid,
    html_table,
    latex_table,
    markdown_table,
    markdown_text,
    short,
    text_table,
)
from rankgauge.show.sections.paper import paper_latex, paper_markdown
from rankgauge.stats.methods import ALSO, INTERVALS

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Compared, Comparison
    from rankgauge.comparison.pairs import Pair

__all__ = ["COMPARISON_FORMATS", "Style", "html", "show"]

MANY: Final = 45  # pairs, beyond which a table shows the clearest only: ten systems have as many
NAME: Final = 18  # characters of a name in a row that holds two of them
DETAILED: Final = 10  # pairs, up to which a table has the details without being asked
SPOKEN: Final = 3  # pairs, up to which there is a sentence for each


@dataclass(frozen=True, slots=True)
class Style:
    """What to show and how."""

    digits: int = 4
    bold: bool = False
    every_pair: bool = False
    details: bool = False
    deltas: str = "absolute"


def show(comparison: Comparison, format: str = "table", style: Style | None = None) -> str:
    """The comparison in one of the formats, ending in a newline."""
    return COMPARISON_FORMATS[format](comparison, style or Style())


# ---- what the tables hold --------------------------------------------------------------------------------------------


def _grids(comparison: Comparison, style: Style) -> Iterator[Grid]:
    for measure, whole in comparison.measures.items():
        yield _systems(comparison, measure, whole, style)
        yield _pairs(comparison, whole, style, len(whole.pairs))
        if style.details or len(whole.pairs) <= DETAILED:
            yield _details(comparison, whole, style)
        if comparison.settings.beside:
            yield _beside(comparison, whole, style)
        for name, group in whole.groups.items():
            yield _systems(comparison, f"{measure}, {name}", group, style)
            yield _pairs(comparison, group, style, len(whole.groups) * len(group.pairs))


def _systems(comparison: Comparison, title: str, compared: Compared, style: Style) -> Grid:
    """The headline: the mean of every system, its interval, and how many others it is better than."""
    counted = len(compared.systems) > 2 and comparison.settings.baseline is None
    best = max(f"{system.mean:.{style.digits}f}" for system in compared.systems.values())
    rows = []
    for name, system in compared.systems.items():
        text = f"{system.mean:.{style.digits}f}"
        row = [Cell(short(name)), Cell(text, best=text == best), Cell(_range(system.interval, style))]
        counts = (system.better_than, system.not_separable_from, system.worse_than) if counted else ()
        rows.append([*row, *(Cell(str(count)) for count in counts)])
    heads = ["system", "mean", f"{percent(comparison.settings.alpha)} interval"]
    heads += ["better than", "not separable", "worse than"] if counted else []
    queries = len(compared.values.queries)
    return Grid(f"{title}, {queries:,} {'query' if queries == 1 else 'queries'}", heads, rows, 1)


def _pairs(comparison: Comparison, compared: Compared, style: Style, size: int) -> Grid:
    """The decisions: difference, interval, relative change, the p that decides."""
    shown = _shown(compared.pairs, style)
    family = size > 1 and comparison.settings.method != "none"
    heads = ["a", "b", "a − b", f"{percent(comparison.settings.alpha)} interval", "relative"]
    heads += ["adjusted p" if family else "p", "a is"]
    rows = [
        [Cell(text, best=pair.decision != NOT_SEPARABLE and at == 6) for at, text in enumerate(_pair_row(pair, style))]
        for pair in shown
    ]
    left = len(compared.pairs) - len(shown)
    title = f"The {len(shown)} clearest of {len(compared.pairs):,} pairs; --every-pair shows all" if left else ""
    return Grid(title, heads, rows, 2)


def _pair_row(pair: Pair, style: Style) -> list[str]:
    return [
        short(pair.a, NAME),
        short(pair.b, NAME),
        _signed(pair.difference, style.digits),
        _range(pair.interval, style),
        f"{100 * pair.relative:+.1f} %" if math.isfinite(pair.relative) else MISSING,
        p_text(pair.p_adjusted),
        pair.decision,
    ]


def _shown(pairs: list[Pair], style: Style) -> list[Pair]:
    """All pairs, or of many the ones with the smallest p, in the order of the systems."""
    if style.every_pair or len(pairs) <= MANY:
        return pairs
    clearest = sorted(range(len(pairs)), key=lambda at: (pairs[at].p_adjusted, -abs(pairs[at].d_z)))[:MANY]
    return [pairs[at] for at in sorted(clearest)]


def _details(comparison: Comparison, compared: Compared, style: Style) -> Grid:
    """What else there is to know about every pair."""
    interval = f"{percent(comparison.settings.alpha)} interval"
    heads = ["a", "b", "p alone", "p of t", "d_z", interval, "g_z", "won/tied/lost", "detectable", "P(a > b)"]
    rows = [[Cell(text) for text in _detail_row(pair, style)] for pair in _shown(compared.pairs, style)]
    return Grid("", heads, rows, 2)


def _detail_row(pair: Pair, style: Style) -> list[str]:
    row = [short(pair.a, NAME), short(pair.b, NAME), p_text(pair.p), p_text(pair.p_t), _number(pair.d_z, 3)]
    row += [_range(pair.d_z_interval, Style(2)), _number(pair.g_z, 3), f"{pair.wins}/{pair.ties}/{pair.losses}"]
    return [*row, _number(pair.detectable, style.digits), f"{pair.better:.3f}"]


def _beside(comparison: Comparison, compared: Compared, style: Style) -> Grid:
    """What was asked for beside the decision, each with what it controls."""
    settings = comparison.settings
    heads = ["a", "b"]
    heads += [f"P(|a − b| < {settings.rope:g})"] if settings.rope is not None else []
    heads += [f"p of TOST ±{settings.margin:g}"] if settings.margin is not None else []
    heads += [name if name in INTERVALS else f"{name} ({ALSO[name]})" for name in settings.also]
    rows = [[Cell(text) for text in _beside_row(pair, settings.also, style)] for pair in _shown(compared.pairs, style)]
    return Grid("Beside the decision", heads, rows, 2)


def _beside_row(pair: Pair, also: tuple[str, ...], style: Style) -> list[str]:
    row = [short(pair.a, NAME), short(pair.b, NAME)]
    row += [] if pair.within_rope is None else [f"{pair.within_rope:.3f}"]
    row += [] if pair.tost is None else [p_text(pair.tost)]
    for name in also:
        row.append(_range(pair.intervals[name], style) if name in INTERVALS else p_text(pair.others[name]["p"]))
    return row


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else MISSING


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}" if math.isfinite(value) else MISSING


def _range(interval: tuple[float, float], style: Style) -> str:
    low, high = interval
    if not (math.isfinite(low) and math.isfinite(high)):
        return MISSING
    return f"{low:.{style.digits}f} to {high:.{style.digits}f}"


def _verdicts(comparison: Comparison, style: Style) -> Iterator[str]:
    """The sentences, where they are few enough to be read."""
    for compared in comparison.measures.values():
        if len(compared.pairs) <= SPOKEN:
            for pair in compared.pairs:
                yield f"{pair.verdict}."


def _notes(comparison: Comparison) -> Iterator[str]:
    """How the p-values came about, and what not to trust."""
    first, settings = comparison.first, comparison.settings
    drawn = f"all {first.flips:,} flips" if first.exact else f"{first.flips:,} random flips, seed {settings.seed}"
    yield f"p: sign-flip test of the mean difference, two-sided, {drawn}.{_family_words(comparison)}"
    if len(first.pairs) <= DETAILED:
        yield "Detectable: the smallest true difference that this set would show with a chance of 80 %."
    if first.values.weights is not None or first.values.clusters is not None:
        what = "clusters and weights" if first.values.clusters is not None else "weights"
        yield f"With {what} the queries tell as much as {first.effective:.1f} independent ones."
    if first.groups and settings.method != "none":
        size = len(first.groups) * len(first.pairs)
        yield f"Groups of queries: {size:,} comparisons, adjusted as one family."
    yield from (f"WARNING {doubt.code}: {doubt.text}." for doubt in comparison.warnings)


def _family_words(comparison: Comparison) -> str:
    family = comparison.family
    if family["size"] < 2:
        return ""
    controls = {
        "FWER": "the chance of any false claim among them is at most",
        "FDR": "the expected share of false claims among those made is at most",
        "nothing": "each pair for itself errs with a chance of",
    }[family["controls"]]
    return f" {family['method']} over {family['size']:,} pairs: {controls} {100 * comparison.settings.alpha:g} %."


# ---- formats ---------------------------------------------------------------------------------------------------------


def _as_table(comparison: Comparison, style: Style) -> str:
    parts = [text_table(grid, with_bold=style.bold) for grid in _grids(comparison, style)]
    verdicts = list(_verdicts(comparison, style))
    parts += ["\n".join(verdicts) + "\n"] if verdicts else []
    return "\n".join([*parts, "\n".join(_notes(comparison)) + "\n"])


def _as_markdown(comparison: Comparison, style: Style) -> str:
    parts = [paper_markdown(comparison, style), *map(markdown_table, _grids(comparison, style))]
    verdicts = [f"- {markdown_text(text)}\n" for text in _verdicts(comparison, style)]
    notes = "\n\n".join(map(markdown_text, _notes(comparison)))
    return "\n".join([*parts, *(["".join(verdicts)] if verdicts else []), notes + "\n"])


def _as_latex(comparison: Comparison, style: Style) -> str:
    parts = [paper_latex(comparison, style), *map(latex_table, _grids(comparison, style))]
    return "\n".join([*parts, "".join(f"% {line}\n" for line in _notes(comparison))])


def _as_csv(comparison: Comparison, style: Style) -> str:
    """A row per measure, group and pair, every digit."""
    rows = list(comparison.rows())
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _csv_cell(value) for name, value in row.items()} for row in rows)
    return stream.getvalue()


def _csv_cell(value: Any) -> Any:
    return "" if isinstance(value, float) and not math.isfinite(value) else value


def _as_json(comparison: Comparison, style: Style) -> str:
    return json.dumps(comparison.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


COMPARISON_FORMATS: Final[dict[str, Callable[[Comparison, Style], str]]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
    "latex": _as_latex,
}


def html(comparison: Comparison) -> str:
    """The tables of a notebook."""
    escape = html_escape.escape
    tables = "".join(map(html_table, _grids(comparison, Style())))
    verdicts = "".join(f"<li>{escape(text)}</li>" for text in _verdicts(comparison, Style()))
    notes = "<br>".join(escape(line) for line in _notes(comparison))
    return f"{tables}<ul>{verdicts}</ul><p style='font-size:smaller'>{notes}</p>"
