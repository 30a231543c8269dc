"""A comparison: the systems, the pairs with their decisions, what else there is to know, and a table for papers."""

from __future__ import annotations

from collections import UserList
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.settings import ALSO, INTERVALS
from rankgauge.errors import counted
from rankgauge.show.cells import interval_column
from rankgauge.show.marks import DAGGERS, TESTS, beaten_letters, decision_mark, delta_column, legend, letter
from rankgauge.show.model import Block, Bullets, Chart, Column, Mark, Notes, Section, Table, chart_of, ranked

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Compared, Comparison
    from rankgauge.comparison.pairs import Pair

__all__ = ["DETECTABLE", "details_table", "how_decided", "p_head", "pairs_table", "sections"]

CLEAREST: Final = 45  # pairs, beyond which a table shows the clearest only: ten systems have as many
DETAILED: Final = 10  # pairs, up to which there are details without being asked for
MOST_BARS: Final = 500  # queries; a chart of more would make a page large
SPOKEN: Final = 3  # pairs, up to which there is a sentence for each
DETECTABLE: Final = "the smallest true difference that this set of queries would show with a chance of 80 %"


def sections(
    comparison: Comparison, *, every_pair: bool = False, details: bool = False, deltas: str = "absolute"
) -> Iterator[Section]:
    """The whole; `every_pair` and `details` however many there are, `deltas` as in `marks.DELTAS`."""
    blocks = [_paper_table(comparison, deltas), *_tables(comparison, every_pair, details)]
    verdicts = [f"{pair.verdict}." for each in comparison.values() if len(each.pairs) <= SPOKEN for pair in each.pairs]
    blocks += [Bullets(verdicts)] if verdicts else []
    blocks += [Notes(_Lines(comparison)), *_charts(comparison), Table.of_rows(comparison.rows())]
    yield Section("comparison", "Comparison", blocks)


def _charts(comparison: Comparison) -> Iterator[Chart]:
    """The intervals of systems, and every pair, or of two systems every query."""
    values = comparison.first.values
    yield chart_of("forest", comparison)
    if len(values.systems) > 2:
        yield chart_of("matrix", comparison)
    elif len(values.queries) <= MOST_BARS:
        yield chart_of("differences", comparison)


# ---- tables ----------------------------------------------------------------------------------------------------------


def _tables(comparison: Comparison, every_pair: bool, details: bool) -> Iterator[Block]:
    for measure, whole in comparison.measures.items():
        shown = whole.pairs if every_pair else clearest(whole.pairs)
        yield systems_table(comparison, measure, whole)
        yield pairs_table(comparison, whole, shown, len(whole.pairs))
        if details or len(whole.pairs) <= DETAILED:
            yield details_table(comparison, shown)
        if comparison.settings.beside:
            yield _beside_table(comparison, shown)
        for name, group in whole.groups.items():
            some = group.pairs if every_pair else clearest(group.pairs)
            yield systems_table(comparison, f"{measure}, {name}", group)
            yield pairs_table(comparison, group, some, len(whole.groups) * len(group.pairs))


def clearest(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """All pairs, or of many the ones with the smallest p, in the order of the systems."""
    if len(pairs) <= CLEAREST:
        return pairs
    places = sorted(range(len(pairs)), key=lambda at: (pairs[at].p_adjusted, -abs(pairs[at].d_z)))[:CLEAREST]
    return [pairs[at] for at in sorted(places)]


def systems_table(comparison: Comparison, title: str, compared: Compared) -> Table:
    """The headline: the mean of every system, its interval, and how many others it is better than."""
    counts = len(compared.systems) > 2 and comparison.settings.baseline is None
    columns = [Column("system"), Column("mean", "number"), interval_column(comparison.settings.alpha, "mean")]
    columns += [Column(head, "count") for head in ("better than", "not separable", "worse than")] if counts else []
    rows = []
    for name, system in compared.systems.items():
        others = (system.better_than, system.not_separable_from, system.worse_than) if counts else ()
        rows.append([name, system.mean, system.interval, *others])
    queries = counted(len(compared.values.queries), "query", "queries")
    contests = ranked(range(len(rows)), [1])
    return Table("systems", f"{title}, {queries}", columns, rows, contests=contests)


def pairs_table(comparison: Comparison, compared: Compared, shown: Sequence[Pair], family: int) -> Table:
    """The decisions: difference, interval, relative change, the p that decides; `family` pairs were adjusted."""
    columns = [Column("a"), Column("b"), Column("a − b", "signed", key="difference")]
    columns += [interval_column(comparison.settings.alpha, "difference"), Column("relative", "percent", 1)]
    columns += [Column(p_head(comparison, family), "p", key="p_adjusted"), Column("a is", key="decision")]
    rows = [
        [each.a, each.b, each.difference, each.interval, each.relative, each.p_adjusted, decision_mark(each.decision)]
        for each in shown
    ]
    left = len(compared.pairs) - len(shown)
    title = f"The {len(shown)} clearest of {len(compared.pairs):,} pairs; --every-pair shows all" if left else ""
    return Table("pairs", title, columns, rows, search=len(rows) > 8)


def p_head(comparison: Comparison, family: int) -> str:
    """How the p that decides is called, where so many pairs were adjusted together."""
    return "adjusted p" if family > 1 and comparison.settings.method != "none" else "p"


def details_table(comparison: Comparison, shown: Sequence[Pair]) -> Table:
    """What else there is to know about every pair."""
    columns = [Column("a"), Column("b"), Column("p alone", "p", key="p"), Column("p of t", "p", key="p_t")]
    columns += [Column("d_z", "number", 3), interval_column(comparison.settings.alpha, "d_z", digits=2)]
    columns += [Column("g_z", "number", 3), *(Column(head, "count") for head in ("won", "tied", "lost"))]
    columns += [Column("detectable", "number", help=DETECTABLE), Column("P(a > b)", "number", 3, key="better")]
    rows = [
        [
            *(each.a, each.b, each.p, each.p_t, each.d_z, each.d_z_interval, each.g_z),
            *(each.wins, each.ties, each.losses, each.detectable, each.better),
        ]
        for each in shown
    ]
    return Table("details", "", columns, rows, search=len(rows) > 8)


def _beside_table(comparison: Comparison, shown: Sequence[Pair]) -> Table:
    """What was asked for beside the decision, each with what it controls."""
    settings = comparison.settings
    columns = [Column("a"), Column("b")]
    columns += [Column(f"P(|a − b| < {settings.rope:g})", "number", 3)] if settings.rope is not None else []
    columns += [Column(f"p of TOST ±{settings.margin:g}", "p")] if settings.margin is not None else []
    columns += [
        Column(name, "interval") if name in INTERVALS else Column(f"{name} ({ALSO[name]})", "p")
        for name in settings.also
    ]
    return Table("beside", "Beside the decision", columns, [_beside_row(pair, settings.also) for pair in shown])


def _beside_row(pair: Pair, also: Sequence[str]) -> list[Any]:
    row: list[Any] = [pair.a, pair.b]
    row += [each for each in (pair.within_rope, pair.tost) if each is not None]
    return row + [pair.intervals[name] if name in INTERVALS else pair.others[name]["p"] for name in also]


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
        f"Means over {counted(len(comparison.first.values.queries), 'query', 'queries')}.",
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
        return {pair.a: DAGGERS.get(pair.decision, "") for pair in compared.pairs}
    return beaten_letters(list(compared.systems), compared.pairs)


def _legend(comparison: Comparison, deltas: str) -> str:
    settings, first = comparison.settings, comparison.first
    pairs = len(first.pairs)
    test = TESTS[settings.method].format(pairs=f"{pairs:,}") if pairs > 1 else "sign-flip test"
    return legend(test, settings.alpha, baseline=settings.baseline, deltas=deltas, systems=len(first.systems))


# ---- notes -----------------------------------------------------------------------------------------------------------


class _Lines(UserList[str]):
    """The lines of the notes; the checks behind them are made where they are shown, and CSV does not show them."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @cached_property
    def data(self) -> list[str]:  # type: ignore[override]
        return [*_notes(self.comparison)]


def _notes(comparison: Comparison) -> Iterator[str]:
    """How the p-values came about, what not to trust, and what there is to know about the runs."""
    first, settings = comparison.first, comparison.settings
    yield how_decided(comparison)
    if len(first.pairs) <= DETAILED:
        yield "Detectable: the smallest true difference that this set would show with a chance of 80 %."
    if first.values.weights is not None or first.values.clusters is not None:
        what = "clusters and weights" if first.values.clusters is not None else "weights"
        yield f"With {what} the queries tell as much as {first.effective:.1f} independent ones."
    if first.groups and settings.method != "none":
        size = len(first.groups) * len(first.pairs)
        yield f"Groups of queries: {size:,} comparisons, adjusted as one family."
    yield from (f"WARNING {doubt.code}: {doubt.text}." for doubt in comparison.warnings)
    yield from comparison.notes


def how_decided(comparison: Comparison) -> str:
    """The test behind the p-values, and what is controlled over all pairs."""
    first, settings, family = comparison.first, comparison.settings, comparison.family
    drawn = f"all {first.flips:,} flips" if first.exact else f"{first.flips:,} random flips, seed {settings.seed}"
    words = f"p: sign-flip test of the mean difference, two-sided, {drawn}."
    if family["size"] < 2:
        return words
    controls = {
        "FWER": "the chance of any false claim among them is at most",
        "FDR": "the expected share of false claims among those made is at most",
        "nothing": "each pair for itself errs with a chance of",
    }[family["controls"]]
    return f"{words} {family['method']} over {family['size']:,} pairs: {controls} {100 * settings.alpha:g} %."
