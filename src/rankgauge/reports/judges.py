"""The section on other judges: how well they agree, and what the choice of judge does to systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.verdict import percent
from rankgauge.errors import counted
from rankgauge.measures.gains import number_text as grade_text
from rankgauge.reports.charts import chart
from rankgauge.show.cells import interval_text, number_text
from rankgauge.show.model import Block, Bullets, Column, Fold, Table, Text
from rankgauge.show.sections.judges import UNTESTED
from rankgauge.show.sections.ppi import FEW, FEW_WORDS
from rankgauge.stats.agreement import LEVELS, WEIGHTS

if TYPE_CHECKING:
    from rankgauge.reports.facts import Facts
    from rankgauge.stats.estimate import Estimate
    from rankgauge.trust.judges.agree import Agreement
    from rankgauge.trust.judges.pairs import PairAgreement
    from rankgauge.trust.judges.systems import Orders, Systems
    from rankgauge.trust.ppi import PredictionPowered

__all__ = ["judges_agree"]

DETAILED: Final = 3  # pairs of judges, up to which each has its own matrix
DISPUTED: Final = 50  # pairs of query and document that are listed
NAMED: Final = 5  # pairs of systems that a sentence names
APART: Final = 2.0
KAPPAS: Final = {"none": "κ", "linear": "κ, linear weights", "quadratic": "κ, quadratic weights"}


def judges_agree(facts: Facts) -> Iterator[Block]:
    """Coefficients with intervals, confusion, systems under each judge, what to adjudicate; nothing for one judge."""
    found = facts.evidence.agreement
    if found is None:
        return
    yield Text(" ".join(_sentence(pair) for pair in found.pairs[:DETAILED]), "lead")
    yield _coefficients(found)
    for at, pair in enumerate(found.pairs[:DETAILED]):
        if pair.shared:
            yield from chart(facts, "confusion", pair, key=f"confusion-{at + 1}")
    for at, pair in enumerate(found.pairs[:DETAILED]):
        if pair.shared:
            yield _confusion(pair, at + 1)
            yield _by_grade(pair, at + 1)
    if found.systems is not None:
        yield from _systems(facts, found, found.systems)
    yield from _disputes(found)
    for each in facts.evidence.powered:
        yield from _powered(each)
    for why in facts.evidence.unpowered:
        yield Text(f"No estimate of what the first judge would say of all queries. {why.rstrip('.')}.", "note")


def _sentence(pair: PairAgreement) -> str:
    if not pair.shared:
        return f"{pair.a} and {pair.b} have no judged pair in common."
    kappa, bias = pair.kappa["quadratic"], pair.bias.value
    leaning = "is as lenient" if not round(bias, 4) else "is more lenient" if bias > 0 else "is stricter"
    by = f" by {number_text(abs(bias))} of a grade" if round(bias, 4) else ""
    return (
        f"{pair.a} and {pair.b} gave the same grade to {100 * pair.agreement.value:.0f} % of "
        f"{counted(pair.shared, 'pair')} (quadratic κ {number_text(kappa.value)}, "
        f"{interval_text((kappa.low, kappa.high))}); {pair.b} {leaning}{by}."
    )


# ---- coefficients ----------------------------------------------------------------------------------------------------


def _coefficients(found: Agreement) -> Table:
    level = percent(found.alpha)
    columns = [
        Column("judges"),
        Column("coefficient"),
        Column("value", "number"),
        Column(f"{level} interval", "interval"),
    ]
    rows = []
    for pair in found.pairs:
        named = [("same grade", pair.agreement), *((KAPPAS[name], pair.kappa[name]) for name in WEIGHTS)]
        named += [(f"Krippendorff's α, {name}", pair.alpha[name]) for name in LEVELS] if len(found.pairs) > 1 else []
        named += [("bias, the second minus the first", pair.bias)]
        rows += [[f"{pair.a} and {pair.b}", name, *_estimate(each), pair.shared] for name, each in named]
    everyone = "all" if len(found.pairs) > 1 else f"{found.pairs[0].a} and {found.pairs[0].b}"
    overall = found.overall
    rows += [[everyone, f"Krippendorff's α, {name}", *_estimate(overall.alpha[name]), overall.pairs] for name in LEVELS]
    rows.append([everyone, "Fleiss' κ", *_estimate(overall.fleiss), overall.complete])
    note = "Intervals are of resampled queries: the pairs of a query stay together."
    columns.append(Column("pairs", "count", help="of query and document"))
    if len(found.pairs) == 1:  # who they are is said above
        columns, rows = columns[1:], [row[1:] for row in rows]
    return Table("agreement", "Coefficients of agreement", columns, rows, search=len(rows) > 20, notes=[note])


def _estimate(each: Estimate) -> list[Any]:
    return [each.value, (each.low, each.high)]


def _confusion(pair: PairAgreement, number: int) -> Table:
    names = [grade_text(grade) for grade in pair.grades.tolist()]
    columns = [Column(f"{pair.a} ↓  {pair.b} →"), *(Column(name, "count") for name in names), Column("all", "count")]
    rows: list[list[Any]] = [
        [name, *(int(count) for count in row), int(row.sum())] for name, row in zip(names, pair.matrix, strict=True)
    ]
    rows.append(["all", *(int(count) for count in pair.matrix.sum(axis=0)), pair.shared])
    note = f"{pair.b} gave more to {100 * pair.over:.1f} % of the pairs and less to {100 * pair.under:.1f} %."
    caption = f"Grades by {pair.a} and {pair.b}"
    return Table(f"confusion-{number}", caption, columns, rows, sort=False, notes=[note])


def _by_grade(pair: PairAgreement, number: int) -> Table:
    columns = [Column("from grade", "grade"), Column("same", "share", 1), Column("κ", "number")]
    columns += [Column(f"from there up, {name}", "share", 1) for name in (pair.a, pair.b)]
    rows = [list(each) for each in pair.binarised]
    return Table(f"binarised-{number}", "Grades from here up against those below", columns, rows)


# ---- systems ---------------------------------------------------------------------------------------------------------


def _systems(facts: Facts, found: Agreement, systems: Systems) -> Iterator[Block]:
    judges = list(systems.values)
    ranked = sorted(systems.systems, key=lambda name: -systems.values[judges[0]][name])
    rows = [[name, *(systems.values[judge][name] for judge in judges)] for name in ranked]
    columns = [Column("system"), *(Column(judge, "number") for judge in judges)]
    note = f"On the {counted(systems.queries, 'query', 'queries')} that all judges have, each of which counts alike."
    yield Table("judged-by", f"{systems.measure} under each judge", columns, rows, notes=[note])
    yield from chart(facts, "judges", found)
    yield _orders(systems)
    said = [words for order in systems.orders for words in _changed(order)]
    if said:
        yield Bullets(said)


def _orders(systems: Systems) -> Table:
    top = systems.orders[0].top
    columns = [Column("judge"), *(Column(head, "number") for head in ("τ_b", "τ_AP", "RBO", f"τ_b of the best {top}"))]
    columns += [Column(head, "count") for head in ("kept", "lost", "gained", "turned round")]
    rows = [
        [each.judge, each.tau_b, each.tau_ap, each.rbo, each.tau_top, *each.moved.values()] for each in systems.orders
    ]
    first = next(iter(systems.values))
    note = f"Kept, lost, gained, turned round: differences that are significant under {first} and under the judge."
    note += f" {UNTESTED}" if any(each.kept is None for each in systems.orders) else ""
    return Table("orders", f"The order of systems against {first}", columns, rows, notes=[note])


def _moved(order: Orders) -> dict[str, list[tuple[str, str]]]:
    return {"lost": order.lost, "gained": order.gained, "turned round": order.turned}


def _changed(order: Orders) -> Iterator[str]:
    """Which significant differences are not what they are under the first judge."""
    for how, pairs in _moved(order).items():
        named = "; ".join(f"{a} and {b}" for a, b in pairs[:NAMED])
        more = f"; and {len(pairs) - NAMED:,} more" if len(pairs) > NAMED else ""
        if pairs:
            yield f"Significant differences {how} under {order.judge}: {named}{more}."


# ---- what to adjudicate, and all queries -----------------------------------------------------------------------------


def _disputes(found: Agreement) -> Iterator[Block]:
    disputes = found.disputes(APART)
    if not disputes:
        return
    columns = [Column("query", "query"), Column("document"), *(Column(name, "grade") for name in found.sets.judges)]
    rows = [[each.query_id, each.doc_id, *each.grades, each.apart] for each in disputes[:DISPUTED]]
    shown = f"the {DISPUTED} farthest of {len(disputes):,}" if len(disputes) > DISPUTED else f"{len(disputes):,}"
    table = Table("disputes", f"Two grades apart or more: {shown}", [*columns, Column("apart", "grade")], rows)
    yield Fold("adjudicate", "Pairs to adjudicate", [table], f"{len(disputes):,}")


def _powered(found: PredictionPowered) -> Iterator[Block]:
    level = percent(found.alpha)
    columns = [Column("system"), Column("people", "number"), Column(f"{level} interval", "interval")]
    columns += [Column("model", "number"), Column("with the model", "number"), Column("its interval", "interval")]
    columns += [Column("narrower by", "share", 1)]
    rows = [
        [each.name, each.people.value, (each.people.low, each.people.high), each.model, each.powered.value,
         (each.powered.low, each.powered.high), each.narrower]
        for each in [*found.systems, *found.pairs]
    ]  # fmt: skip
    note = (
        f"Prediction-powered: {found.judged:,} of {found.queries:,} queries are judged by people, all by the model. "
        "Right on average if the queries that people judged are a random sample of all."
    )
    note += f" {FEW_WORDS}" if found.judged < FEW else ""
    yield Table(
        "ppi",
        f"{found.measure} of all {found.queries:,} queries as people would judge them",
        columns,
        rows,
        notes=[note],
    )
