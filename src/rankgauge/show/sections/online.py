"""An alignment: correlations, directions, decisions, predictions, whom they rest on, which measure tracks best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.verdict import percent
from rankgauge.errors import counted
from rankgauge.show.cells import cell_text, interval_column, interval_text, number_text
from rankgauge.show.model import Block, Bullets, Column, Section, Table, capital, chart_of
from rankgauge.stats.choice import CRITERIA
from rankgauge.stats.correlation import COEFFICIENTS
from rankgauge.trust.online.tracked import ONLINE
from rankgauge.trust.online.units import measure_of

if TYPE_CHECKING:
    from rankgauge.stats.correlation import Share
    from rankgauge.trust.online.align import Alignment
    from rankgauge.trust.online.tracked import Tracked

__all__ = ["DECIDED", "overview", "prediction_words", "sections", "units_table", "warned"]

INFLUENTIAL: Final = 5
# What rows are → the two rows of decisions. An experiment is shipped or not; a query is better offline or not.
DECIDED: Final = {"experiments": ("shipped", "held back"), "queries": ("better offline", "not better offline")}
# Where grades come from → what DCG is to nDCG then.
DCG: Final = {
    "judgments": "DCG matters where grades are clicks.",
    "clicks": "With clicks for grades DCG estimates the reward; trust it first.",
}
# Column of the table of units → its kind; the others are differences.
KINDS: Final = {"standard_error": "plain", "weight": "plain", "shipped": "yes", "pearson_without": "number"}


def sections(alignment: Alignment, *, per_unit: bool = False) -> Iterator[Section]:
    """The whole; or the chart and a row for each experiment or query."""
    blocks: list[Block] = [chart_of("alignment", alignment)]
    blocks += [units_table(alignment)] if per_unit else [*overview(alignment)]
    blocks += warned(alignment)
    rows = alignment.rows() if per_unit else [_flat(alignment, each) for each in alignment.tracked]
    yield Section("experiments", capital(alignment.units.kind), [*blocks, Table.of_rows(rows)])


def overview(alignment: Alignment) -> Iterator[Table]:
    """Every table that there is something to say in."""
    makers = [_coefficients_table, _signs_table, _decisions_table, _line_table, _influence_table]
    yield from (make(alignment) for make in makers)
    if alignment.choice is not None:
        yield _measures_table(alignment)


def warned(alignment: Alignment) -> list[Bullets]:
    """What to be careful about, each with its code."""
    items = [f"{doubt.code}: {doubt.text}." for doubt in alignment.warnings]
    return [Bullets(items, "warning")] if items else []


def _amount(value: float) -> str:
    """A difference in the units of the table, in a sentence."""
    return cell_text(value, Column("", "amount"))


# ---- the first offline column ----------------------------------------------------------------------------------------


def _coefficients_table(alignment: Alignment) -> Table:
    """The correlations with their intervals."""
    names = {kind: each.name for kind, each in COEFFICIENTS.items()}
    names |= {"precision": "Pearson, weighted by precision", "traffic": "Pearson, weighted by traffic"}
    names |= {"corrected": "Pearson, corrected for noise"}
    units, each = alignment.units, alignment.first.coefficients
    rows = [[name, each[kind].value, each[kind][1:]] for kind, name in names.items() if kind in each]
    caption = f"{counted(len(units), units.one, units.kind)}: {alignment.first.name} (offline) and {units.online_name}"
    columns = [Column("correlation"), Column("value", "number"), interval_column(alignment.settings.alpha, "value")]
    return Table("correlations", f"{caption} (online)", columns, rows, [*_coefficient_notes(alignment)], sort=False)


def _coefficient_notes(alignment: Alignment) -> Iterator[str]:
    yield from (f"{each.name}: {each.interval}." for each in COEFFICIENTS.values())
    if "precision" in alignment.first.coefficients:
        yield "Weighted by precision, w = 1/error²: Fisher's z with the effective number (Σw)²/Σw² for n."
    if "traffic" in alignment.first.coefficients:
        yield "Weighted by traffic: Fisher's z with the effective number (Σw)²/Σw² for n."
    yield from _reliability_notes(alignment)


def _reliability_notes(alignment: Alignment) -> Iterator[str]:
    sides = {"online": alignment.reliability, "offline": alignment.first.offline_reliability}
    known = {side: share for side, share in sides.items() if share is not None}
    if not known:
        return
    words = ", ".join(f"{side} {share:.4f}" for side, share in known.items())
    if min(known.values()) <= 0:
        yield f"Not corrected for noise: the reliability, 1 − mean error²/variance, is {words}; it must be above 0."
        return
    yield "Corrected for noise, r/√reliability: Pearson's interval divided by it, as if it were known."
    yield f"Reliability, 1 − mean error²/variance: {words}."
    if abs(alignment.first.coefficients["corrected"].value) > 1:
        yield "Beyond 1: the errors are overestimated, or the rows are few; read it as high."


def _signs_table(alignment: Alignment) -> Table:
    """How often both differences point the same way."""
    names = {"all": "all", "clear": "online interval without 0", "traffic": "all, by traffic"}
    units, signs = alignment.units, alignment.first.signs
    rows = [[names[kind], each.part, each.whole, each.value, (each.low, each.high)] for kind, each in signs.items()]
    none = alignment.first.undirected
    notes = [f"Not counted: {counted(none, units.one, units.kind)} of which a difference is 0."] if none else []
    columns = [Column(units.kind), Column("same sign", "plain"), Column("of", "plain"), Column("share", "number")]
    columns.append(interval_column(alignment.settings.alpha, "share"))
    notes.append("Wilson's interval.")
    return Table("directions", "Same direction offline and online", columns, rows, notes, sort=False)


def _decisions_table(alignment: Alignment) -> Table:
    """What was shipped × what the online difference says."""
    decisions, decided = alignment.first.decisions, DECIDED[alignment.units.kind]
    rows = [
        [name, *counts.tolist(), mean]
        for name, counts, mean in zip(decided, decisions.counts, decisions.mean, strict=True)
    ]
    rule = f"{decided[0]} when {alignment.first.name} > {alignment.settings.above:g}"
    columns = [Column("as the table says" if decisions.recorded else rule, key="offline")]
    columns += [Column(f"online {word}", "count", aside=word == "unclear") for word in ONLINE]
    columns += [Column("mean online", "amount")]
    notes = [*_decision_words(alignment), _outcome_words(alignment), *_unweighted(alignment)]
    return Table("decisions", "Decisions", columns, rows, notes, sort=False)


def _unweighted(alignment: Alignment) -> list[str]:
    """Where there is traffic: that it does not count here."""
    if alignment.units.weight is None:
        return []
    return [f"Not weighted: every {alignment.units.one} counts once, whatever its traffic."]


def _outcome_words(alignment: Alignment) -> str:
    if alignment.units.error is None:
        return "Without standard errors online better and worse are signs alone, and unclear is 0."
    return f"Unclear: the online interval of {percent(alignment.settings.alpha)} covers 0."


def _decision_words(alignment: Alignment) -> list[str]:
    """The two mistakes, counted."""
    decisions = alignment.first.decisions
    shipped, held = (int(counts.sum()) for counts in decisions.counts)
    if alignment.units.kind == "queries":
        yes, no = DECIDED["queries"]
        return [
            f"{decisions.wrongly_shipped:,} of {shipped:,} queries are {yes} and worse online.",
            f"{decisions.wrongly_held:,} of {held:,} queries are {no} and better online.",
        ]
    would = "" if decisions.recorded else "would be "
    return [
        f"{decisions.wrongly_shipped:,} of {shipped:,} {would}shipped and should not have been (online worse).",
        f"{decisions.wrongly_held:,} of {held:,} {would}held back and should have been shipped (online better).",
    ]


def _line_table(alignment: Alignment) -> Table:
    """What a step offline says about online."""
    first, step = alignment.first, _amount(alignment.settings.step)
    rows = [
        [name, each.value, each[1:]]
        for name, each in (
            (f"a step of {step} adds", first.per_step),
            (f"mean online at {step}", first.predicted_mean),
            (f"one more {alignment.units.one} at {step}", first.predicted),
        )
    ]
    columns = [Column("", key="what"), Column("value", "amount")]
    columns += [interval_column(alignment.settings.alpha, "value", "amount interval")]
    line = f"online = {_amount(first.line.intercept)} {_amount(first.line.slope)} · offline"
    notes = [f"Least squares: {line}, deviation around it {first.line.scatter:.4g}."]
    notes += ["The last is a prediction interval.", *_unweighted(alignment)]
    return Table("prediction", f"Predicted {alignment.units.online_name}", columns, rows, notes, sort=False)


def prediction_words(alignment: Alignment) -> str:
    """The prediction in a sentence."""
    numbers = alignment.settings.step, *alignment.first.predicted
    step, value, low, high = (_amount(each).replace("-", "−") for each in numbers)
    ends = f"from {low} to {high} for one more {alignment.units.one}"
    return f"{alignment.first.name} {step} predicts {alignment.units.online_name} {value}, {ends}"


def _influence_table(alignment: Alignment) -> Table:
    """The units without which Pearson's r moves most."""
    first, units, step = alignment.first, alignment.units, alignment.settings.step
    x, slopes = units.offline[first.name], first.slope_without
    rows = [
        [units.names[at], *map(float, (x[at], units.online[at], first.without[at], slopes[at] * step))]
        for at in first.most_influential(INFLUENTIAL)
    ]
    columns = [Column(units.one), Column("offline", "amount"), Column("online", "amount")]
    columns += [Column("Pearson without", "number"), Column(f"{_amount(step)} adds without", "amount")]
    caption = f"Most influence on Pearson's r ({number_text(first.pearson.value)})"
    return Table("influence", caption, columns, rows, _unweighted(alignment), sort=False)


# ---- several offline columns, every unit -----------------------------------------------------------------------------


def _measures_table(alignment: Alignment) -> Table:
    """Every offline column, and how often it was chosen."""
    assert alignment.choice is not None
    columns = [
        Column("offline"),
        *(Column(each.name, "number", aside=name != "pearson") for name, each in COEFFICIENTS.items()),
    ]
    columns += [Column("same sign", "plain"), Column("of", "plain"), Column("chosen", "count", aside=True)]
    columns.append(Column("Pearson − first", "signed", key="more_than_first"))
    columns.append(interval_column(alignment.settings.alpha, "more_than_first", "signed interval"))
    rows = []
    for each in alignment.tracked:
        same, more = each.signs["all"], each.more_than_first
        row = [each.name, *(each.coefficients[kind].value for kind in COEFFICIENTS), same.part, same.whole]
        row += [alignment.choice.chosen[each.name], *((None, None) if more is None else (more.value, more[1:]))]
        rows.append(row)
    caption = f"Which measure tracks {alignment.units.online_name} best"
    return Table("measures", caption, columns, rows, [*_choice_notes(alignment)])


def _of(share: Share) -> str:
    return f"{share.part:,.10g} of {share.whole:,.10g}"


def _choice_notes(alignment: Alignment) -> Iterator[str]:
    choice, units = alignment.choice, alignment.units
    assert choice is not None
    yield f"Chosen: for each {units.one} in turn on all the others, by {CRITERIA[choice.by].words}."
    held = choice.held_out
    ends = f"{number_text(held.value, 2)}, {interval_text((held.low, held.high), 2)}"
    yield f"Held out, what was chosen has the sign of {_of(held)} {units.kind} ({ends})."
    flatters = ", which flatters: they chose it" if choice.flattered.value > held.value else ""
    yield f"{choice.best}, chosen on all, has that of {_of(choice.flattered)}{flatters}."
    yield "Pearson − first: Zou's interval (2007); one that covers 0 does not tell the two apart."
    yield from _unweighted(alignment)
    yield from _dcg_notes(alignment)


def _dcg_notes(alignment: Alignment) -> Iterator[str]:
    """DCG beside nDCG at the same cut-off."""
    measures = {str(measure): each for each in alignment.tracked if (measure := measure_of(each.name)) is not None}
    for name, each in measures.items():
        plain = name.removeprefix("n")
        if name.startswith("nDCG") and plain in measures:
            ours, theirs = each.pearson.value, measures[plain].pearson.value
            both = f"{plain} beside {name}: Pearson {theirs:.4f} and {ours:.4f}."
            yield f"{both} {DCG[alignment.settings.labels]}"


def units_table(alignment: Alignment, most: int | None = None) -> Table:
    """A row for each unit; of very many, so many of those with the most influence."""
    rows = alignment.rows()
    number = len(rows)
    if most is not None and number > most:
        rows = [rows[at] for at in alignment.first.most_influential(most)]
    columns = [
        Column(head.removeprefix("offline: "), "text" if isinstance(cell, str) else KINDS.get(head, "amount"), key=head)
        for head, cell in rows[0].items()
    ]
    notes = [f"Of {number:,} those with the most influence on Pearson's r."] if len(rows) < number else []
    cells = [list(row.values()) for row in rows]
    return Table("every-unit", f"Every {alignment.units.one}", columns, cells, notes, search=len(rows) > 8)


def _flat(alignment: Alignment, each: Tracked) -> dict[str, Any]:
    """An offline column in a row, every digit."""
    row: dict[str, Any] = {"offline": each.name, "online": alignment.units.online_name, "number": len(alignment.units)}
    for kind, one in {**each.coefficients, "per_step": each.per_step, "predicted": each.predicted}.items():
        row |= {kind: one.value, f"{kind}_low": one.low, f"{kind}_high": one.high}
    for kind, share in each.signs.items():
        row |= {f"sign_{kind}": share.value, f"sign_{kind}_low": share.low, f"sign_{kind}_high": share.high}
    row |= {"wrongly_shipped": each.decisions.wrongly_shipped, "wrongly_held_back": each.decisions.wrongly_held}
    return row | {"chosen": None if alignment.choice is None else alignment.choice.chosen[each.name]}
