"""A comparison: the systems, the pairs with their decisions, what else there is to know, and a table for papers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.comparison.settings import ALSO, IDLE
from rankgauge.comparison.verdict import NOT_SIGNIFICANT, OPTIMISTIC
from rankgauge.errors import counted
from rankgauge.show.cells import interval_column, number_text
from rankgauge.show.marks import DAGGERS, TESTS, beaten_letters, decision_mark, delta_column, legend, letter
from rankgauge.show.model import (
    Block,
    Bullets,
    Chart,
    Column,
    Later,
    Mark,
    Notes,
    Section,
    Table,
    Text,
    chart_of,
    ranked,
)
from rankgauge.show.names import some_names
from rankgauge.show.sections.evaluation import parted_checks

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Compared, Comparison
    from rankgauge.comparison.pairs import Pair
    from rankgauge.comparison.settings import Settings

__all__ = [
    "DETECTABLE",
    "adjusted_table",
    "details_table",
    "highest",
    "how_decided",
    "p_cells",
    "p_columns",
    "pairs_table",
    "sections",
]

CLEAREST: Final = 45  # pairs, beyond which a table shows the clearest only: ten systems have as many
MOST_BARS: Final = 500  # queries; a chart of more would make a page large
SPOKEN: Final = 3  # pairs, up to which there is a sentence for each
DETECTABLE: Final = "minimum detectable effect: a true difference of this size is found with a chance of 80 %"
DECIDES: Final = {
    True: "The adjusted p decides.",
    False: "Each pair's own p decides about it; take the adjusted one if the table told you which pair to look at.",
}
CHANGED: Final = 5  # queries that lost most, and as many that won most
RELATIVE: Final = Column("relative", "percent", 1, aside=True)  # the sentence has it too
PAIR: Final = (Column("system", key="a"), Column("baseline", key="b"))


def sections(
    comparison: Comparison, *, every_pair: bool = False, details: bool = False, deltas: str = "absolute"
) -> Iterator[Section]:
    """The answer: sentences, a table against the baseline, the queries that changed most; the rest with `details`.

    `every_pair`: all pairs, however many; `deltas` as in `model.DELTAS`.
    """
    verdicts = [*_verdicts(comparison)]
    blocks: list[Block] = [Bullets(verdicts, "lead")] if verdicts else []
    blocks.append(_paper_table(comparison, deltas))
    for measure, whole in comparison.measures.items():
        blocks += [*_answer(comparison, measure, whole, every_pair)]
        blocks += [*_details(comparison, measure, whole, every_pair, details)]
        for name, group in whole.groups.items():
            blocks += [*_answer(comparison, f"{measure}, {name}", group, every_pair, len(whole.groups))]
    blocks += [Notes(Later(lambda: _notes(comparison))), *_charts(comparison), Table.of_rows(comparison.rows())]
    yield Section("comparison", "Comparison", blocks)


def _verdicts(comparison: Comparison) -> Iterator[str]:
    """A sentence for every system that is compared with the baseline, where these are few; else for the best of them,
    and one that says what cannot be told apart from the best of all."""
    for each in comparison.values():
        pairs = each.against(comparison.baseline)
        if len(pairs) <= SPOKEN:
            yield from (f"{pair.verdict}." for pair in pairs)
        else:
            yield f"{max(pairs, key=lambda pair: each.systems[pair.a].mean).verdict}."
            yield from highest(each)


def highest(compared: Compared) -> Iterator[str]:
    """Which system has the highest mean, and which do not differ from it significantly, where all were compared."""
    best = max(compared.systems, key=lambda name: compared.systems[name].mean)
    pairs = compared.against(best)
    mean = f"{compared.values.measure}{compared.values.per}: {best}, {number_text(compared.systems[best].mean)}"
    if len(pairs) < len(compared.systems) - 1:
        yield f"Highest {mean}."
        return
    equals = [pair.a for pair in pairs if pair.adjusted_decision == NOT_SIGNIFICANT]
    others = f"not significantly different: {some_names(equals)}" if equals else "all others are worse"
    yield f"Highest {mean}; {others} (adjusted for {counted(len(compared.pairs), 'comparison')}). {OPTIMISTIC}"


def _charts(comparison: Comparison) -> Iterator[Chart]:
    """The intervals of systems, and every pair, or of two systems every query."""
    values = comparison.first.values
    yield chart_of("forest", comparison)
    if len(values.systems) > 2:
        yield chart_of("matrix", comparison)
    elif len(values.queries) <= MOST_BARS:
        yield chart_of("differences", comparison)


# ---- tables ----------------------------------------------------------------------------------------------------------


def _answer(comparison: Comparison, title: str, whole: Compared, every_pair: bool, groups: int = 0) -> Iterator[Block]:
    """The systems against the baseline, the pairs without it, and of two systems the queries that changed most."""
    baseline, family = comparison.baseline, max(1, groups) * len(whole.pairs)
    yield against_table(comparison, title, whole, family)
    others = [pair for pair in whole.pairs if baseline not in (pair.a, pair.b)]
    if others:
        yield pairs_table(comparison, others, every_pair, family)
    if not groups and len(whole.systems) == 2:
        yield from _changed_queries(whole.against(baseline)[0], whole)


def against_table(comparison: Comparison, title: str, compared: Compared, family: int) -> Table:
    """A row for each system: its mean, and what sets it apart from the baseline; `family` pairs were adjusted."""
    baseline = comparison.baseline
    columns = [Column("system"), Column("mean", "number"), Column("difference", "signed")]
    columns += [RELATIVE, interval_column(comparison.settings.alpha, "difference")]
    columns += [*p_columns(family), Column("verdict", key="decision")]
    rows: list[list[Any]] = [
        [baseline, compared.systems[baseline].mean, *[None] * (len(columns) - 3), Mark("baseline", "quiet")]
    ]
    for pair in compared.against(baseline):
        apart = (pair.difference, pair.relative, pair.interval, *p_cells(pair, family))
        rows.append([pair.a, compared.systems[pair.a].mean, *apart, decision_mark(pair.decision)])
    queries = counted(len(compared.values.queries), "query", "queries")
    return Table(
        "systems", f"{title}{compared.values.per}, {queries}", columns, rows, contests=ranked(range(len(rows)), [1])
    )


def _changed_queries(pair: Pair, compared: Compared) -> Iterator[Block]:
    """How many queries won and lost, and the ones that did so most."""
    counts = f"won {pair.wins:,}, lost {pair.losses:,}, tied {pair.ties:,}"
    yield Text(f"Queries of {pair.a} against {pair.b}: {counts}.")
    columns = [Column("query", "query", key="query_id"), Column(pair.b, "number"), Column(pair.a, "number")]
    columns.append(Column("difference", "signed"))
    lost, won = compared.changed(pair.a, pair.b, CHANGED)
    if lost or won:
        yield Table("changed", "Queries that lost and won most", columns, [*lost, *reversed(won)])


def _details(comparison: Comparison, title: str, whole: Compared, every_pair: bool, details: bool) -> Iterator[Block]:
    """The intervals of means, what else there is to know about every pair, and what was asked for beside it."""
    shown = whole.pairs if every_pair else clearest(whole.pairs)
    if details:
        yield systems_table(comparison, title, whole)
        yield details_table(comparison, shown)
        if len(whole.pairs) > 1:
            yield adjusted_table(comparison, shown)
    if comparison.settings.beside:
        yield from _beside_tables(comparison, shown)


def clearest(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """All pairs, or of many the ones with the smallest p, in the order of the systems."""
    if len(pairs) <= CLEAREST:
        return pairs
    places = sorted(range(len(pairs)), key=lambda at: (pairs[at].p, pairs[at].p_adjusted, -abs(pairs[at].d_z)))[
        :CLEAREST
    ]
    return [pairs[at] for at in sorted(places)]


def systems_table(comparison: Comparison, title: str, compared: Compared) -> Table:
    """The headline: the mean of every system, its interval, and how many others it is better than."""
    counts = len(compared.systems) > 2 and comparison.settings.baseline is None
    columns = [Column("system"), Column("mean", "number"), interval_column(comparison.settings.alpha, "mean")]
    columns += [Column(head, "count") for head in ("better than", "not significant", "worse than")] if counts else []
    rows = []
    for name, system in compared.systems.items():
        others = (system.better_than, system.not_significant, system.worse_than) if counts else ()
        rows.append([name, system.mean, system.interval, *others])
    queries = counted(len(compared.values.queries), "query", "queries")
    contests = ranked(range(len(rows)), [1])
    return Table("means", f"{title}{compared.values.per}, {queries}", columns, rows, contests=contests)


def pairs_table(comparison: Comparison, pairs: Sequence[Pair], every_pair: bool, family: int) -> Table:
    """The decisions: difference, interval, relative change, the p that decides; `family` pairs were adjusted."""
    shown = pairs if every_pair else clearest(pairs)
    columns = [*PAIR, Column("difference", "signed"), RELATIVE]
    columns += [interval_column(comparison.settings.alpha, "difference")]
    columns += [*p_columns(family), Column("verdict", key="decision")]
    rows = [
        [
            *(each.a, each.b, each.difference, each.relative, each.interval),
            *(*p_cells(each, family), decision_mark(each.decision)),
        ]
        for each in shown
    ]
    left = len(pairs) - len(shown)
    title = f"The {len(shown)} clearest of {len(pairs):,} pairs; --every-pair shows all" if left else ""
    return Table("pairs", title, columns, rows, search=len(rows) > 8)


def p_columns(family: int) -> list[Column]:
    """The pair's own p, and where there are several pairs the one that is adjusted for all of them."""
    return [Column("p", "p"), *([Column("adjusted p", "p", key="p_adjusted", aside=True)] if family > 1 else [])]


def p_cells(pair: Pair, family: int) -> tuple[float, ...]:
    """The cells of these columns."""
    return (pair.p, pair.p_adjusted) if family > 1 else (pair.p,)


def details_table(comparison: Comparison, shown: Sequence[Pair]) -> Table:
    """What else there is to know about every pair."""
    columns = [*PAIR, Column("t-test p", "p", key="p_t", aside=True)]
    columns += [Column("d_z", "number", 3), interval_column(comparison.settings.alpha, "d_z", digits=2)]
    columns += [Column("g_z", "number", 3, aside=True), *(Column(head, "count") for head in ("won", "tied", "lost"))]
    columns += [Column("MDE", "number", help=DETECTABLE, key="detectable")]
    columns += [Column("P(better)", "number", 3, key="better", aside=True)]
    rows = [
        [
            *(each.a, each.b, each.p_t, each.d_z, each.d_z_interval, each.g_z),
            *(each.wins, each.ties, each.losses, each.detectable, each.better),
        ]
        for each in shown
    ]
    return Table("details", "", columns, rows, search=len(rows) > 8)


def adjusted_table(comparison: Comparison, shown: Sequence[Pair]) -> Table:
    """The intervals that hold for all comparisons at once, and their p."""
    columns = [*PAIR, Column("difference", "signed"), interval_column(comparison.settings.alpha, "difference")]
    columns += [Column("adjusted p", "p", key="p_adjusted")]
    rows = [[each.a, each.b, each.difference, each.simultaneous, each.p_adjusted] for each in shown]
    return Table("adjusted", f"Adjusted for {counted(shown[0].comparisons, 'comparison')}", columns, rows)


def _beside_tables(comparison: Comparison, shown: Sequence[Pair]) -> Iterator[Table]:
    """What was asked for beside the decision, a row each: the other tests with what they control."""
    settings = comparison.settings
    tests = [[pair.a, pair.b, *row] for pair in shown for row in _other_tests(pair, settings)]
    columns = [*PAIR, Column("method"), Column("controls"), Column("p", "p"), Column("probability", "number", 3)]
    used = [any(row[at] is not None for row in tests) for at in range(len(columns))]
    if tests:
        rows = [[*compress(row, used)] for row in tests]
        yield Table("beside", "Beside the decision", [*compress(columns, used)], rows)


def _other_tests(pair: Pair, settings: Settings) -> Iterator[list[Any]]:
    """Method, what it controls, its p or its probability."""
    if settings.rope is not None:
        yield [f"|difference| < {settings.rope:g}", "posterior", None, pair.within_rope]
    if settings.margin is not None:
        yield [f"TOST ±{settings.margin:g}", "equivalence", pair.tost, None]
    yield from ([name, ALSO[name], pair.others[name]["p"], None] for name in settings.also if name not in IDLE)


# ---- as papers print it ----------------------------------------------------------------------------------------------


def _paper_table(comparison: Comparison, deltas: str) -> Table:
    """Systems × measures, with marks of significance; a letter for each system, or its difference from the baseline."""
    baseline, names = comparison.settings.baseline, list(comparison.first.systems)
    lead: dict[Column, list[Any]] = {} if baseline else {Column(""): [letter(at) for at in range(len(names))]}
    columns: list[tuple[Column, Sequence[Any]]] = [*lead.items(), (Column("system"), names)]
    best = []
    for measure, compared in comparison.measures.items():
        if _has_a_best(measure):
            best.append(len(columns))
        means = {name: system.mean for name, system in compared.systems.items()}
        marks = _marks(compared, baseline)
        columns.append((Column(measure, "number"), [Mark(means[name], note=marks.get(name, "")) for name in names]))
        if baseline is not None and deltas != "none":
            columns.append(delta_column(means, baseline, deltas))
    return Table.of_columns(
        "paper",
        f"Means{comparison.first.values.per} over {counted(len(comparison.first.values.queries), 'query', 'queries')}.",
        columns,
        notes=[_legend(comparison, deltas)],
        contests=ranked(range(len(names)), best),
        formats=frozenset({"markdown", "latex", "html"}),
    )


def _has_a_best(measure: str) -> bool:
    """Whether a measure has a best: counts of documents have none. A measure from a table is taken to have one."""
    from rankgauge.errors import MeasureError
    from rankgauge.measures import parse

    try:
        return parse(measure).definition.needs != "nothing"
    except MeasureError:
        return True


def _marks(compared: Compared, baseline: str | None) -> dict[str, str]:
    if baseline is not None:
        return {pair.a: DAGGERS.get(pair.adjusted_decision, "") for pair in compared.pairs}
    return beaten_letters(list(compared.systems), compared.pairs)


def _legend(comparison: Comparison, deltas: str) -> str:
    settings, first = comparison.settings, comparison.first
    pairs = len(first.pairs)
    test = TESTS[settings.adjusting].format(pairs=f"{pairs:,}") if pairs > 1 else "sign-flip test"
    return legend(test, settings.alpha, baseline=settings.baseline, deltas=deltas, systems=len(first.systems))


# ---- notes -----------------------------------------------------------------------------------------------------------


def _notes(comparison: Comparison) -> Iterator[str]:
    """What could change the decision first, then how the p-values came about."""
    first, settings = comparison.first, comparison.settings
    evaluation = comparison.evaluation
    alarms, others = ([], []) if evaluation is None else parted_checks(evaluation)
    yield from (f"Caution: {line}" for line in alarms)
    yield from (f"Caution: {doubt.text} ({doubt.code})." for doubt in comparison.warnings)
    yield from [] if evaluation is None else evaluation.ties
    yield from others
    yield how_decided(comparison)
    if first.values.design is not None:
        yield f"{first.values.design.words} Here: per {first.values.design.per}."
    if first.values.weights is not None or first.values.clusters is not None:
        what = "clusters and weights" if first.values.clusters is not None else "weights"
        chance = " that were left to chance" if first.values.population == "log" else ""
        if np.isfinite(first.effective):
            yield f"With {what} the queries{chance} count as much as {first.effective:.1f} independent ones."
    if idle := [name for name in settings.also if name in IDLE]:
        yield f"{' and '.join(idle)}: no longer made; the interval is the one that belongs to p."
    if first.groups and settings.adjusting != "none":
        size = len(first.groups) * len(first.pairs)
        yield f"Groups of queries: {size:,} comparisons, adjusted as one family."


def how_decided(comparison: Comparison) -> str:
    """The test behind the p-values, and what is controlled over all pairs."""
    first, settings, family = comparison.first, comparison.settings, comparison.family
    drawn = f"all {first.flips:,} flips" if first.exact else f"{settings.flips:,} random flips, seed {settings.seed}"
    words = f"p: sign-flip test of the mean difference, two-sided, {drawn}; the interval is that of the same test."
    if family["size"] < 2:
        return words
    controls = {
        "FWER": "the chance of any false claim among them is at most",
        "FDR": "the expected share of false claims among those made is at most",
        "nothing": "each pair for itself errs with a chance of",
    }[family["controls"]]
    adjusted = f"{family['method']} over {family['size']:,} pairs: {controls} {100 * settings.alpha:g} %."
    return f"{words} Adjusted p: {adjusted} {DECIDES[settings.method is not None]}"
