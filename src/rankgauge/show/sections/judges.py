"""Agreement → tables: one function for each section, each of which returns a Table."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted
from rankgauge.measures.gains import number_text
from rankgauge.show.grid import short
from rankgauge.show.sections.judgments import as_csv
from rankgauge.show.titled import Table
from rankgauge.stats.agreement import LEVELS, WEIGHTS
from rankgauge.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankgauge.trust.judges.agree import Agreement, Dispute
    from rankgauge.trust.judges.pairs import PairAgreement

__all__ = [
    "AGREEMENT_FORMATS",
    "UNTESTED",
    "binarised_table",
    "confusion_table",
    "grades_table",
    "html",
    "matrix_csv",
    "orders_table",
    "overall_table",
    "pairs_table",
    "queries_table",
    "show",
    "show_disputes",
    "show_matrix",
    "values_table",
]

DETAILED: Final = 3  # pairs of judges, up to which each has its own tables
MISSING: Final = "–"
UNTESTED: Final = "There is one query only, on which no difference can be tested."
NAMES: Final = {"none": "κ", "linear": "κ linear", "quadratic": "κ quadratic"}


def overall_table(found: Agreement) -> Table:
    """All judges together: Krippendorff's alpha and Fleiss' kappa with their intervals."""
    overall = found.overall
    rows = [[f"Krippendorff's α, {level}", *_estimate(overall.alpha[level]), f"{overall.pairs:,}"] for level in LEVELS]
    rows.append(["Fleiss' κ", *_estimate(overall.fleiss), f"{overall.complete:,}"])
    judges = ", ".join(f"{short(judge)} ({len(each):,})" for judge, each in found.sets.judgments.items())
    level = f"{100 * (1 - found.alpha):g} %"
    notes = (f"Intervals of {level} are of resampled queries: the pairs of a query stay together.",)
    return Table(f"{len(found.sets.judges)} judges: {judges}", ["", "value", "interval", "pairs"], rows, 1, notes)


def pairs_table(found: Agreement) -> Table:
    """Every two judges: agreement, kappas, bias."""
    rows = []
    for pair in found.pairs:
        numbers = [_number(pair.agreement.value, 3)]
        for name in WEIGHTS:
            numbers += [" ".join(_estimate(pair.kappa[name], 3))]
        numbers += [_number(pair.alpha["ordinal"].value, 3), _number(pair.bias.value, 3, sign=True)]
        rows.append([short(pair.a, 20), short(pair.b, 20), f"{pair.shared:,}", *numbers])
    heads = ["a", "b", "pairs", "same", *(NAMES[name] for name in WEIGHTS), "α ordinal", "bias"]
    return Table("", heads, rows, 2, ("Bias: the mean of b − a; above 0, b is the more lenient.",))


def confusion_table(pair: PairAgreement) -> Table:
    """How often a gave the grade of the row and b that of the column."""
    names = [number_text(grade) for grade in pair.grades.tolist()]
    rows = [
        [name, *(f"{int(count):,}" for count in row), f"{int(row.sum()):,}"]
        for name, row in zip(names, pair.matrix, strict=True)
    ]
    rows.append(["all", *(f"{int(count):,}" for count in pair.matrix.sum(axis=0)), f"{pair.shared:,}"])
    note = f"{pair.b} gave more to {pair.over:.1%} of the pairs and less to {pair.under:.1%}."
    return Table(f"Rows: {short(pair.a, 40)}; columns: {short(pair.b, 40)}", ["", *names, "all"], rows, 1, (note,))


def binarised_table(pair: PairAgreement) -> Table:
    """Agreement on whether a document has at least a grade."""
    rows = [
        [number_text(each.grade), *(_number(number, 3) for number in each[1:])]
        for each in pair.binarised
    ]  # fmt: skip
    return Table(
        "Grades from here up against those below", ["from grade", "same", "κ", "share of a", "share of b"], rows
    )


def grades_table(pair: PairAgreement) -> Table:
    """Each grade: how often both gave it, and what b gave where a gave it."""
    rows = [
        [number_text(each.grade), f"{each.a:,}", f"{each.b:,}", f"{each.both:,}", *(_number(n, 3) for n in each[4:])]
        for each in pair.per_grade
    ]
    return Table("", ["grade", "by a", "by b", "by both", "b given a", "a given b", "mean of b given a"], rows)


def queries_table(found: Agreement) -> Table:
    """Every query of every two judges."""
    rows = [
        [short(pair.a, 20), short(pair.b, 20), each.query_id, f"{each.shared:,}", _number(each.agreement, 3),
         _number(each.bias, 3, sign=True), _number(each.kappa, 3)]
        for pair in found.pairs
        for each in pair.queries
    ]  # fmt: skip
    return Table("", ["a", "b", "query", "pairs", "same", "bias", NAMES["quadratic"]], rows, 3)


def values_table(found: Agreement, digits: int = 4) -> Table:
    """The value of every system under every judge."""
    systems = found.systems
    assert systems is not None
    judges = list(systems.values)
    order = sorted(systems.systems, key=lambda name: -systems.values[judges[0]][name])
    rows = [[short(name), *(f"{systems.values[judge][name]:.{digits}f}" for judge in judges)] for name in order]
    title = f"{systems.measure} under each judge, {counted(systems.queries, 'query', 'queries')}"
    return Table(title, ["run", *(short(judge, 24) for judge in judges)], rows)


def orders_table(found: Agreement) -> Table:
    """The order of systems against that of the first judge, and what becomes of significant differences."""
    systems = found.systems
    assert systems is not None
    rows, notes = [], []
    for each in systems.orders:
        numbers = [_number(number, 3) for number in (each.tau_b, each.tau_ap, each.rbo, each.tau_top)]
        counts = [MISSING if count is None else str(count) for count in each.moved.values()]
        rows.append([short(each.judge), *numbers, *counts])
        notes += [f"{each.judge} turns a significant difference round: {a} and {b}." for a, b in each.turned]
    top = systems.orders[0].top
    heads = ["judge", "τ_b", "τ_AP", "RBO", f"τ_b of top {top}", "kept", "lost", "gained", "turned round"]
    reference = next(iter(systems.values))
    notes.append(f"Kept, lost, gained, turned round: significant differences under {reference} and under the judge.")
    if any(each.kept is None for each in systems.orders):
        notes.append(UNTESTED)
    return Table(f"Order of systems against {reference}", heads, rows, 1, tuple(notes))


def show_disputes(found: Agreement, disputes: Sequence[Dispute], format: str) -> str:
    """The pairs to adjudicate, in one of the formats."""
    judges = found.sets.judges
    heads = ["query_id", "doc_id", *judges, "apart"]
    if format == "json":
        named = [
            {"query_id": each.query_id, "doc_id": each.doc_id, "grades": dict(zip(judges, each.grades, strict=True)),
             "apart": each.apart} for each in disputes
        ]  # fmt: skip
        return json.dumps(named, ensure_ascii=False, indent=1) + "\n"
    cells = [
        [
            each.query_id,
            each.doc_id,
            *("" if g is None else number_text(g) for g in each.grades),
            number_text(each.apart),
        ]
        for each in disputes
    ]
    if format == "csv":
        return as_csv(heads, cells)
    table = Table("", heads, cells, 2)
    return table.markdown() if format == "markdown" else table.text()


def matrix_csv(pair: PairAgreement) -> str:
    """The confusion matrix as `rankgauge judgments --confusion` reads it: rows a (true), columns b (label)."""
    names = [number_text(grade) for grade in pair.grades.tolist()]
    return as_csv(["true", *names], ([n, *map(int, row)] for n, row in zip(names, pair.matrix, strict=True)))


def show_matrix(pair: PairAgreement, format: str) -> str:
    """The confusion matrix of two judges in one of the formats; as CSV `judgments --confusion` reads it."""
    if format == "csv":
        return matrix_csv(pair)
    if format == "json":
        data = {key: pair.to_dict()[key] for key in ("a", "b", "grades", "confusion")}
        return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    table = confusion_table(pair)
    return table.markdown() if format == "markdown" else table.text()


# ---- formats ---------------------------------------------------------------------------------------------------------


def tables(found: Agreement) -> list[Table]:
    """Every section that there is something to say in."""
    parts = [overall_table(found), pairs_table(found)]
    if len(found.pairs) <= DETAILED:
        for pair in found.pairs:
            parts += [confusion_table(pair), binarised_table(pair), grades_table(pair)] if pair.shared else []
    return parts + ([values_table(found), orders_table(found)] if found.systems is not None else [])


def show(found: Agreement, format: str = "table", *, per_query: bool = False) -> str:
    """The whole in one of the formats, ending in a newline."""
    return AGREEMENT_FORMATS[format](found, per_query)


def _as_table(found: Agreement, per_query: bool) -> str:
    return "\n".join(table.text() for table in ([queries_table(found)] if per_query else tables(found)))


def _as_markdown(found: Agreement, per_query: bool) -> str:
    return "\n".join(table.markdown() for table in ([queries_table(found)] if per_query else tables(found)))


def _as_json(found: Agreement, per_query: bool) -> str:
    data = found.to_dict()
    if per_query:
        data["per_query"] = found.to_frame().to_dicts()
    return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _as_csv(found: Agreement, per_query: bool) -> str:
    """A row per two judges (or per two judges and query), every digit."""
    if per_query:
        rows = found.to_frame().to_dicts()
        return as_csv(list(rows[0]), (row.values() for row in rows))
    flat = []
    for pair in found.pairs:
        row: dict[str, float | str | int] = {"a": pair.a, "b": pair.b, "shared": pair.shared}
        named = {f"kappa_{name}": each for name, each in pair.kappa.items()}
        named |= {f"alpha_{name}": each for name, each in pair.alpha.items()}
        for name, each in {"agreement": pair.agreement, **named, "bias": pair.bias}.items():
            row |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
        flat.append(row)
    return as_csv(list(flat[0]), (row.values() for row in flat))


AGREEMENT_FORMATS: Final[dict[str, Callable[[Agreement, bool], str]]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
}


def html(found: Agreement) -> str:
    """The sections of a notebook, with the pictures of the confusion matrices."""
    from rankgauge.show.svg.judges import confusion_svg

    pictures = "".join(confusion_svg(pair) for pair in found.pairs[:DETAILED] if pair.shared)
    return pictures + "".join(table.html() for table in tables(found))


def _number(value: float, digits: int, *, sign: bool = False) -> str:
    if not math.isfinite(value):
        return MISSING
    value = 0.0 if round(value, digits) == 0 else value  # never -0.0000
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def _estimate(each: Estimate, digits: int = 4) -> list[str]:
    """The value and its interval as texts."""
    if not math.isfinite(each.low):
        return [_number(each.value, digits), MISSING]
    return [_number(each.value, digits), f"[{each.low:.{digits}f}, {each.high:.{digits}f}]"]
