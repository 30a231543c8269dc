"""Agreement of judges: coefficients, confusion, grades, systems under each judge, pairs to adjudicate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.show.cells import interval_column
from rankgauge.show.model import Block, Bullets, Column, Section, Table, chart_of
from rankgauge.stats.agreement import LEVELS, WEIGHTS

if TYPE_CHECKING:
    from rankgauge.trust.judges.agree import Agreement, ConfusionMatrix, Disputes
    from rankgauge.trust.judges.pairs import PairAgreement
    from rankgauge.trust.judges.systems import Orders, Systems

__all__ = ["agreement_table", "dispute_sections", "disputes_table", "judge_blocks", "matrix_sections", "sections"]
__all__ += ["system_blocks"]

DETAILED: Final = 3  # pairs of judges, up to which each has its own tables
NAMED: Final = 5  # pairs of systems that a sentence names
UNTESTED: Final = "Fewer than two queries have a value of every system: no difference can be tested."
KAPPAS: Final = {"none": "κ", "linear": "κ linear", "quadratic": "κ quadratic"}


def sections(agreement: Agreement, *, per_query: bool = False) -> Iterator[Section]:
    """All judges, every two of them, and with runs what the choice of judge does to systems."""
    if per_query:
        yield Section("queries", "Every query", [_queries_table(agreement)])
        return
    blocks = [*judge_blocks(agreement)]
    blocks += system_blocks(agreement, agreement.systems) if agreement.systems is not None else []
    yield Section("judges", "Agreement of judges", [*blocks, Table.of_rows(agreement.rows())])


def judge_blocks(agreement: Agreement) -> Iterator[Block]:
    """The coefficients, and for few judges the matrices behind them."""
    yield agreement_table(agreement)
    if len(agreement.pairs) > DETAILED:
        return
    for at, pair in enumerate(agreement.pairs, 1):
        if pair.shared:
            yield chart_of("confusion", pair, key=f"confusion-{at}")
            yield from (_confusion_table(pair, at), _binarised_table(pair, at), _grades_table(pair, at))


def agreement_table(agreement: Agreement) -> Table:
    """Every coefficient of every two judges, and of all together, with its interval."""
    columns = [Column("judges"), Column("coefficient"), Column("value", "number")]
    columns += [interval_column(agreement.alpha, "value"), Column("pairs", "count")]
    rows = [row for pair in agreement.pairs for row in _pair_rows(pair, len(agreement.pairs) > 1)]
    first, overall = agreement.pairs[0], agreement.overall
    everyone = "all" if len(agreement.pairs) > 1 else f"{first.a} and {first.b}"
    rows += [
        [everyone, f"Krippendorff's α, {name}", overall.alpha[name].value, overall.alpha[name][1:], overall.pairs]
        for name in LEVELS
    ]
    rows.append([everyone, "Fleiss' κ", overall.fleiss.value, overall.fleiss[1:], overall.complete])
    if len(agreement.pairs) == 1:  # who they are is said above
        columns, rows = columns[1:], [row[1:] for row in rows]
    judges = ", ".join(f"{judge} ({len(each):,})" for judge, each in agreement.sets.judgments.items())
    caption = f"{len(agreement.sets.judges)} judges: {judges}"
    notes = [pair.no_interval for pair in agreement.pairs[:DETAILED] if pair.no_interval]
    notes.append("Intervals are over queries: the pairs of a query stay together.")
    notes.append("Bias: the mean of the second minus the first; above 0, the second is the more lenient.")
    return Table("agreement", caption, columns, rows, notes, search=len(rows) > 20)


def _pair_rows(pair: PairAgreement, several: bool) -> Iterator[list[Any]]:
    named = {"same grade": pair.agreement} | {KAPPAS[name]: pair.kappa[name] for name in WEIGHTS}
    named |= {f"Krippendorff's α, {name}": pair.alpha[name] for name in LEVELS} if several else {}
    for name, each in (named | {"bias": pair.bias}).items():
        yield [f"{pair.a} and {pair.b}", name, each.value, each[1:], pair.shared]


def _confusion_table(pair: PairAgreement, number: int) -> Table:
    """How often a gave the grade of the row and b that of the column."""
    names = [f"{grade:g}" for grade in pair.grades.tolist()]
    columns = [Column("", key="true"), *(Column(name, "count") for name in names), Column("all", "count")]
    rows: list[list[Any]] = [
        [name, *map(int, row), int(row.sum())] for name, row in zip(names, pair.matrix, strict=True)
    ]
    rows.append(["all", *map(int, pair.matrix.sum(axis=0)), pair.shared])
    note = f"{pair.b} gave more to {pair.over:.1%} of the pairs and less to {pair.under:.1%}."
    caption = f"Rows: {pair.a}; columns: {pair.b}"
    return Table(f"confusion-{number}", caption, columns, rows, [note], foot=1, sort=False)


def _binarised_table(pair: PairAgreement, number: int) -> Table:
    """Agreement on whether a document has at least a grade."""
    columns = [Column("from grade", "grade"), *(Column(head, "number", 3) for head in ("same", "κ"))]
    columns += [Column(f"share of {judge}", "number", 3) for judge in ("a", "b")]
    rows = [list(each) for each in pair.binarised]
    return Table(f"binarised-{number}", "Agreement at each relevance threshold", columns, rows)


def _grades_table(pair: PairAgreement, number: int) -> Table:
    """Each grade: how often both gave it, and what b gave where a gave it."""
    columns = [Column("grade", "grade"), *(Column(head, "count") for head in ("by a", "by b", "by both"))]
    columns += [Column(head, "number", 3) for head in ("b given a", "a given b", "mean of b given a")]
    return Table(f"grades-{number}", "", columns, [list(each) for each in pair.per_grade])


def _queries_table(agreement: Agreement) -> Table:
    """Every query of every two judges."""
    columns = [Column("a"), Column("b"), Column("query", "query", key="query_id")]
    columns += [
        Column("pairs", "count", key="shared"),
        Column("same", "number", 3, key="agreement"),
        Column("bias", "signed", 3),
    ]
    columns += [Column(KAPPAS["quadratic"], "number", 3, key="kappa")]
    rows = [
        [pair.a, pair.b, each.query_id, each.shared, each.agreement, each.bias, each.kappa]
        for pair in agreement.pairs
        for each in pair.queries
    ]
    return Table("queries", "", columns, rows, search=True)


# ---- systems under each judge ----------------------------------------------------------------------------------------


def system_blocks(agreement: Agreement, systems: Systems) -> Iterator[Block]:
    """The value of every system under every judge, and what becomes of their order."""
    judges = list(systems.values)
    order = sorted(systems.systems, key=lambda name: -systems.values[judges[0]][name])
    rows = [[name, *(systems.values[judge][name] for judge in judges)] for name in order]
    per = f" per {systems.per}" if systems.per else ""
    title = f"{systems.measure}{per} under each judge, {counted(systems.queries, 'query', 'queries')}"
    yield Table("judged-by", title, [Column("run"), *(Column(judge, "number") for judge in judges)], rows)
    yield chart_of("judges", agreement)
    yield _orders_table(systems)
    changed = [words for each in systems.orders for words in _changed(each)]
    yield from [Bullets(changed)] if changed else []


def _orders_table(systems: Systems) -> Table:
    """The order of systems against that of the first judge, and what becomes of significant differences."""
    top, reference = systems.orders[0].top, next(iter(systems.values))
    columns = [Column("judge"), *(Column(head, "number", 3) for head in ("τ_b", "τ_AP", "RBO", f"τ_b of top {top}"))]
    columns += [Column(head, "count") for head in ("kept", "lost", "gained", "turned round")]
    rows = [
        [each.judge, each.tau_b, each.tau_ap, each.rbo, each.tau_top, *each.moved.values()] for each in systems.orders
    ]
    notes = [f"Kept, lost, gained, turned round: significant differences under {reference} and under the judge."]
    notes += [UNTESTED] if any(each.kept is None for each in systems.orders) else []
    return Table("orders", f"Order of systems against {reference}", columns, rows, notes)


def _changed(order: Orders) -> Iterator[str]:
    """Which significant differences are not what they are under the first judge."""
    for how, pairs in (("lost", order.lost), ("gained", order.gained), ("turned round", order.turned)):
        named = "; ".join(f"{a} and {b}" for a, b in pairs[:NAMED])
        more = f"; and {len(pairs) - NAMED:,} more" if len(pairs) > NAMED else ""
        if pairs:
            yield f"Significant differences {how} under {order.judge}: {named}{more}."


# ---- what to adjudicate ----------------------------------------------------------------------------------------------


def disputes_table(disputes: Disputes, most: int | None = None) -> Table:
    """The pairs on which judges are far apart, the farthest first."""
    columns = [Column("query", "query", key="query_id"), Column("document", key="doc_id")]
    columns += [*(Column(judge, "grade") for judge in disputes.judges), Column("apart", "grade")]
    rows = [[each.query_id, each.doc_id, *each.grades, each.apart] for each in disputes.pairs[:most]]
    return Table("disputes", "", columns, rows, search=len(rows) > 20)


def dispute_sections(disputes: Disputes) -> Iterator[Section]:
    """The pairs to adjudicate, all of them."""
    yield Section("disputes", disputes.title, [disputes_table(disputes)])


def matrix_sections(matrix: ConfusionMatrix) -> Iterator[Section]:
    """The confusion matrix of two judges; as CSV `judgments --confusion` reads it: rows a (true), columns b (label)."""
    pair = matrix.pair
    names = [f"{grade:g}" for grade in pair.grades.tolist()]
    rows = [
        {"true": name, **dict(zip(names, map(int, row), strict=True))}
        for name, row in zip(names, pair.matrix, strict=True)
    ]
    blocks: list[Block] = [chart_of("confusion", pair), _confusion_table(pair, 1), Table.of_rows(rows)]
    yield Section("confusion", matrix.title, blocks)
