"""An alignment → tables, JSON, CSV; a function for each table."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted
from rankgauge.show.grid import MISSING, short
from rankgauge.show.sections.judgments import as_csv
from rankgauge.show.titled import Table
from rankgauge.shown import clean
from rankgauge.stats.choice import CRITERIA
from rankgauge.stats.correlation import COEFFICIENTS
from rankgauge.trust.online.tracked import ONLINE
from rankgauge.trust.online.units import measure_of

if TYPE_CHECKING:
    from rankgauge.stats.correlation import Share
    from rankgauge.stats.estimate import Estimate
    from rankgauge.trust.online.align import Alignment
    from rankgauge.trust.online.tracked import Tracked

__all__ = [
    "ALIGN_FORMATS", "DECIDED", "amount", "coefficient_names", "decision_words", "html", "page_tables",
    "prediction_words", "show", "sign_names", "tables", "wide",
]  # fmt: skip

INFLUENTIAL: Final = 5
WIDE: Final = 32  # of the name of a column or a unit
# What rows are → the two rows of decisions. An experiment is shipped or not; a query is better offline or not.
DECIDED: Final = {"experiments": ("shipped", "held back"), "queries": ("better offline", "not better offline")}
# Where grades come from → what DCG is to nDCG then.
DCG: Final = {
    "judgments": "DCG matters where grades are clicks.",
    "clicks": "With clicks for grades DCG estimates the reward; trust it first.",
}


def amount(value: float, digits: int = 4) -> str:
    """A difference in the units of the table, with as many digits as count."""
    return f"{value:+.{digits}g}" if math.isfinite(value) else MISSING


def number(value: float, digits: int) -> str:
    """A coefficient or a share."""
    return f"{value:.{digits}f}" if math.isfinite(value) else MISSING


def _ends(each: Estimate | Share, digits: int, text: Callable[[float, int], str] = number) -> str:
    return f"[{text(each.low, digits)}, {text(each.high, digits)}]" if math.isfinite(each.low) else MISSING


# ---- the first offline column ----------------------------------------------------------------------------------------


def coefficient_names(found: Alignment) -> dict[str, str]:
    """Coefficient → what people call it; only those that there are."""
    names = {kind: each.name for kind, each in COEFFICIENTS.items()}
    names |= {"precision": "Pearson, weighted by precision", "traffic": "Pearson, weighted by traffic"}
    names |= {"corrected": "Pearson, corrected for noise"}
    return {kind: name for kind, name in names.items() if kind in found.first.coefficients}


def coefficients_table(found: Alignment, digits: int) -> Table:
    """The correlations with their intervals."""
    rows = [
        [name, number(each.value, digits), _ends(each, digits)]
        for kind, name in coefficient_names(found).items()
        for each in [found.first.coefficients[kind]]
    ]
    units = found.units
    title = (
        f"{counted(len(units), units.one, units.kind)}: {found.first.name} (offline) and {units.online_name} (online)"
    )
    return Table(title, ["correlation", "value", "interval"], rows, 1, tuple(_coefficient_notes(found)))


def _coefficient_notes(found: Alignment) -> Iterator[str]:
    yield f"Intervals of {100 * (1 - found.settings.alpha):g} %:"
    yield from (f"  {each.name}: {each.interval}." for each in COEFFICIENTS.values())
    if "precision" in found.first.coefficients:
        yield "  Weighted by precision, w = 1/error²: Fisher's z with the effective number (Σw)²/Σw² for n."
    if "traffic" in found.first.coefficients:
        yield "  Weighted by traffic: Fisher's z with the effective number (Σw)²/Σw² for n."
    yield from _reliability_notes(found)


def _reliability_notes(found: Alignment) -> Iterator[str]:
    known = {"online": found.reliability, "offline": found.first.offline_reliability}
    known = {side: share for side, share in known.items() if share is not None}
    if not known:
        return
    told = ", ".join(f"{side} {share:.4f}" for side, share in known.items())
    if min(share for share in known.values() if share is not None) <= 0:
        yield f"Not corrected for noise: the reliability, 1 − mean error²/variance, is {told}; it must be above 0."
        return
    yield "  Corrected for noise, r/√reliability: Pearson's interval divided by it, as if it were known."
    yield f"Reliability, 1 − mean error²/variance: {told}."
    if abs(found.first.coefficients["corrected"].value) > 1:
        yield "Beyond 1: the errors are overestimated, or the rows are few; read it as high."


def sign_names(found: Alignment) -> dict[str, str]:
    """Kind of share → what people call it."""
    names = {"all": "all", "clear": "online interval without 0", "traffic": "all, by traffic"}
    return {kind: name for kind, name in names.items() if kind in found.first.signs}


def signs_table(found: Alignment, digits: int) -> Table:
    """How often both differences point the same way."""
    rows = [
        [name, f"{each.part:,.10g}", f"{each.whole:,.10g}", number(each.value, digits), _ends(each, digits)]
        for kind, name in sign_names(found).items()
        for each in [found.first.signs[kind]]
    ]
    none = found.first.undirected
    notes = (
        [f"Not counted: {counted(none, found.units.one, found.units.kind)} of which a difference is 0."] if none else []
    )
    heads = [found.units.kind, "same sign", "of", "share", "interval"]
    return Table("Same direction offline and online", heads, rows, 1, (*notes, "Wilson's interval."))


def decisions_table(found: Alignment, digits: int) -> Table:
    """What was shipped × what the online difference says."""
    made = found.first.decisions
    rows = [
        [name, *(f"{count:,}" for count in counts.tolist()), amount(mean, digits)]
        for name, counts, mean in zip(DECIDED[found.units.kind], made.counts, made.mean, strict=True)
    ]
    above = f"{found.first.name} > {found.settings.above:g}"
    how = "as the table says" if made.recorded else f"{DECIDED[found.units.kind][0]} when {above}"
    heads = [how, *(f"online {word}" for word in ONLINE), "mean online"]
    notes = (*decision_words(found), _outcome_words(found), *_unweighted(found))
    return Table("Decisions", heads, rows, 1, notes)


def _unweighted(found: Alignment) -> list[str]:
    """Where there is traffic: that it does not count here."""
    if found.units.weight is None:
        return []
    return [f"Not weighted: every {found.units.one} counts once, whatever its traffic."]


def _outcome_words(found: Alignment) -> str:
    if found.units.error is None:
        return "Without standard errors online better and worse are signs alone, and unclear is 0."
    return f"Unclear: the online interval of {100 * (1 - found.settings.alpha):g} % covers 0."


def decision_words(found: Alignment) -> list[str]:
    """The two mistakes, counted."""
    made = found.first.decisions
    shipped, held = (int(counts.sum()) for counts in made.counts)
    if found.units.kind == "queries":
        yes, no = DECIDED["queries"]
        return [
            f"{made.wrongly_shipped:,} of {shipped:,} queries are {yes} and worse online.",
            f"{made.wrongly_held:,} of {held:,} queries are {no} and better online.",
        ]
    would = "" if made.recorded else "would be "
    return [
        f"{made.wrongly_shipped:,} of {shipped:,} {would}shipped and should not have been (online worse).",
        f"{made.wrongly_held:,} of {held:,} {would}held back and should have been shipped (online better).",
    ]


def line_table(found: Alignment, digits: int) -> Table:
    """What a step offline says about online."""
    first, step = found.first, amount(found.settings.step)
    rows = [
        [name, amount(each.value, digits), _ends(each, digits, amount)]
        for name, each in (
            (f"a step of {step} adds", first.per_step),
            (f"mean online at {step}", first.predicted_mean),
            (f"one more {found.units.one} at {step}", first.predicted),
        )
    ]
    line = f"online = {amount(first.line.intercept)} {amount(first.line.slope)} · offline"
    notes = (
        f"Least squares: {line}, deviation around it {first.line.scatter:.4g}.",
        "The last is a prediction interval.",
        *_unweighted(found),
    )
    return Table(f"Predicted {found.units.online_name}", ["", "value", "interval"], rows, 1, notes)


def prediction_words(found: Alignment) -> str:
    """The prediction in a sentence."""
    numbers = found.settings.step, *found.first.predicted
    step, value, low, high = (amount(each).replace("-", "−") for each in numbers)
    ends = f"from {low} to {high} for one more {found.units.one}"
    return f"{found.first.name} {step} predicts {found.units.online_name} {value}, {ends}"


def influence_table(found: Alignment, digits: int) -> Table:
    """The units without which Pearson's r moves most."""
    first, units = found.first, found.units
    rows = [
        [
            short(units.names[at], WIDE),
            amount(float(units.offline[first.name][at]), digits),
            amount(float(units.online[at]), digits),
            number(float(first.without[at]), digits),
            amount(float(first.slope_without[at] * found.settings.step), digits),
        ]
        for at in first.most_influential(INFLUENTIAL)
    ]
    heads = [units.one, "offline", "online", "Pearson without", f"{amount(found.settings.step)} adds without"]
    title = f"Most influence on Pearson's r ({number(first.pearson.value, digits)})"
    return Table(title, heads, rows, 1, tuple(_unweighted(found)))


# ---- several offline columns -----------------------------------------------------------------------------------------


def measures_table(found: Alignment, digits: int) -> Table:
    """Every offline column, and how often it was chosen."""
    assert found.choice is not None
    rows = [
        [
            short(each.name, WIDE),
            *(number(each.coefficients[kind].value, digits) for kind in COEFFICIENTS),
            _of(each.signs["all"]),
            f"{found.choice.chosen[each.name]:,}",
            MISSING if each.more_than_first is None else amount(each.more_than_first.value, digits),
            MISSING if each.more_than_first is None else _ends(each.more_than_first, digits, amount),
        ]
        for each in found.tracked
    ]
    heads = ["offline", *(each.name for each in COEFFICIENTS.values()), "same sign", "chosen"]
    heads += ["Pearson − first", "interval"]
    return Table(
        f"Which offline column tracks {found.units.online_name} best", heads, rows, 1, tuple(_choice_notes(found))
    )


def _of(share: Share) -> str:
    return f"{share.part:,.10g} of {share.whole:,.10g}"


def _choice_notes(found: Alignment) -> Iterator[str]:
    choice = found.choice
    assert choice is not None
    yield f"Chosen: for each {found.units.one} in turn on all the others, by {CRITERIA[choice.by].words}."
    ends = f"{number(choice.held_out.value, 2)}, {_ends(choice.held_out, 2)}"
    yield f"Held out, what was chosen has the sign of {_of(choice.held_out)} {found.units.kind} ({ends});"
    yield f"  {choice.best}, chosen on all, has that of {_of(choice.flattered)}, which flatters: they chose it."
    yield "Pearson − first: Zou's interval (2007); one that covers 0 does not tell the two apart."
    yield from _unweighted(found)
    yield from _dcg_notes(found)


def _dcg_notes(found: Alignment) -> Iterator[str]:
    """DCG beside nDCG at the same cut-off."""
    measures = {str(measure): each for each in found.tracked if (measure := measure_of(each.name)) is not None}
    for name, each in measures.items():
        plain = name.removeprefix("n")
        if name.startswith("nDCG") and plain in measures:
            ours, theirs = each.pearson.value, measures[plain].pearson.value
            both = f"{plain} beside {name}: Pearson {theirs:.4f} and {ours:.4f}."
            yield f"{both} {DCG[found.settings.labels]}"


# ---- formats ---------------------------------------------------------------------------------------------------------


def tables(found: Alignment, digits: int = 4) -> list[Table]:
    """Every table that there is something to say in."""
    made = [coefficients_table, signs_table, decisions_table, line_table, influence_table]
    made += [] if found.choice is None else [measures_table]
    return [make(found, digits) for make in made]


def _warned(found: Alignment) -> list[str]:
    return [f"WARNING {doubt.code}: {doubt.text}." for doubt in found.warnings]


def show(found: Alignment, format: str = "table", digits: int = 4, *, per_unit: bool = False) -> str:
    """The whole in one of the formats, ending in a newline; `per_unit`: a row for each experiment or query instead."""
    return ALIGN_FORMATS[format](found, digits, per_unit)


def wide(found: Alignment, digits: int = 4) -> Table:
    """A row for each unit."""
    rows = found.rows()
    cells = [[_cell(value, digits) for value in row.values()] for row in rows]
    heads = [head.removeprefix("offline: ") for head in rows[0]]
    return Table(f"Every {found.units.one}", heads, cells, 1)


def _cell(value: object, digits: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return amount(value, digits) if isinstance(value, float) else short(str(value), WIDE)


def _as_table(found: Alignment, digits: int, per_unit: bool) -> str:
    shown = [wide(found, digits)] if per_unit else tables(found, digits)
    parts = [table.text() for table in shown]
    warned = _warned(found)
    return "\n".join([*parts, "\n".join(warned) + "\n"] if warned else parts)


def _as_markdown(found: Alignment, digits: int, per_unit: bool) -> str:
    parts = [table.markdown() for table in ([wide(found, digits)] if per_unit else tables(found, digits))]
    return "\n".join([*parts, *(f"- {line}\n" for line in _warned(found))])


def _as_json(found: Alignment, digits: int, per_unit: bool) -> str:
    data = clean(found.rows()) if per_unit else found.to_dict()
    return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _as_csv(found: Alignment, digits: int, per_unit: bool) -> str:
    """A row per offline column (or per unit), every digit."""
    if per_unit:
        rows = found.rows()
        return as_csv(list(rows[0]), (row.values() for row in rows))
    flat = [_flat(found, each) for each in found.tracked]
    return as_csv(list(flat[0]), (row.values() for row in flat))


def _flat(found: Alignment, each: Tracked) -> dict[str, float | str | int | None]:
    row: dict[str, float | str | int | None] = {"offline": each.name, "online": found.units.online_name}
    row["number"] = len(found.units)
    for kind, one in {**each.coefficients, "per_step": each.per_step, "predicted": each.predicted}.items():
        row |= {kind: one.value, f"{kind}_low": one.low, f"{kind}_high": one.high}
    for kind, share in each.signs.items():
        row |= {f"sign_{kind}": share.value, f"sign_{kind}_low": share.low, f"sign_{kind}_high": share.high}
    row |= {"wrongly_shipped": each.decisions.wrongly_shipped, "wrongly_held_back": each.decisions.wrongly_held}
    return row | {"chosen": None if found.choice is None else found.choice.chosen[each.name]}


ALIGN_FORMATS: Final[dict[str, Callable[[Alignment, int, bool], str]]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
}


def page_tables(found: Alignment) -> str:
    """The warnings and the tables, for a page."""
    from html import escape

    warned = "".join(f"<p>{escape(line)}</p>" for line in _warned(found))
    return warned + "".join(f'<div class="rg-wide">{table.html()}</div>' for table in tables(found))


def html(found: Alignment) -> str:
    """The picture, the warnings and the tables, for a notebook."""
    return found.svg() + page_tables(found)
