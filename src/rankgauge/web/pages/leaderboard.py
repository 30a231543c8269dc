"""`/`: where every system stands, with intervals, what cannot be told apart, and the change against the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.comparison.verdict import NOT_SIGNIFICANT
from rankgauge.errors import counted
from rankgauge.show.cells import number_text
from rankgauge.show.marks import VERDICTS, decision_mark, letter
from rankgauge.show.model import Block, Bullets, Column, Mark, Section, Table, Text, ranked, sentence
from rankgauge.show.sections.comparison import p_columns
from rankgauge.show.sections.evaluation import measure_column
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.macro import groups_of
from rankgauge.web.served import several
from rankgauge.web.view import View, address, choice, measure_controls

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Comparison
    from rankgauge.measures import Measure
    from rankgauge.result import Evaluation
    from rankgauge.sampling.design import Design, Per
    from rankgauge.web.site import Answer, Site

__all__ = ["leaderboard"]

COMPUTING: Final = "computing …"
CAUTIONS: Final = 5  # that are said beside the verdict
OTHER: Final[dict[Per, Per]] = {"search": "query", "query": "search"}


def leaderboard(site: Site, measure: str = "", group: str = "", baseline: str = "") -> View:
    """Every system by its mean, the best first."""
    collection, wanted = site.collection, site.measure(measure)
    names = list(collection.runs)
    against = collection.run(baseline or names[0]).name
    evaluation = collection.evaluation(names, several(wanted, collection.protocol), group)
    estimates = {name: collection.estimate(name, wanted, group) for name in names}
    order = sorted(names, key=lambda name: -estimates[name].value)
    answer = site.comparison(names, wanted, group) if len(names) > 1 else None
    comparison = answer.value if answer is not None else None
    rows = [*_standings(evaluation, wanted, estimates, order, comparison, against)]
    pending = ["verdicts"] if answer is not None and answer.pending else []
    blocks = [*_blocks(rows, answer, wanted, against, group, evaluation)]
    queries, design = counted(evaluation.first.evaluated, "query", "queries"), evaluation.first.design
    controls = [*measure_controls(wanted)]
    controls += [choice("Queries", "group", collection.group_names, group, "all")] if collection.groups else []
    controls += [choice("Baseline", "baseline", names, against)] if len(names) > 1 else []
    return View(
        f"{wanted}" if design is None else f"{wanted} per {design.per}",
        lambda: _data(evaluation, wanted, rows, against, group),
        [Section("leaderboard", "", blocks)],
        subtitle=f"of {counted(len(names), 'system')} on {queries}{_place(design, group)}",
        controls=controls,
        pending=pending,
    )


def _place(design: Design | None, group: str) -> str:
    """Where the queries come from."""
    return (f" in {group}" if group else "") + (f" of {design.sample.source}" if design is not None else "")


def _standings(
    evaluation: Evaluation,
    measure: Measure,
    estimates: dict[str, Estimate],
    order: Sequence[str],
    comparison: Comparison | None,
    baseline: str,
) -> Iterator[dict[str, Any]]:
    """A row for each system: rank, value with its interval, what stands beside it, and the change."""
    letters = _letters(comparison, order) if comparison is not None else {}
    for place, name in enumerate(order, 1):
        result = evaluation[name]
        row: dict[str, Any] = {"rank": place, "system": name, str(measure): estimates[name]}
        if result.design is not None:
            other = OTHER[result.design.per]
            row[f"per {other}"] = result.per(other)[measure]
        for beside in result.measures:
            if beside != measure:
                row[str(beside)] = result[beside]
        if comparison is not None:
            row |= {"groups": letters[name], **_change(comparison, name, baseline)}
        yield row


def _change(comparison: Comparison, name: str, baseline: str) -> dict[str, Any]:
    if name == baseline:
        return {"difference": None, "p": None, "p_adjusted": None, "decision": "baseline"}
    pair = comparison.pair(name, baseline)
    difference = Estimate(pair.difference, *pair.interval)
    return {"difference": difference, "p": pair.p, "p_adjusted": pair.p_adjusted, "decision": pair.decision}


def _letters(comparison: Comparison, order: Sequence[str]) -> dict[str, str]:
    """System → the letters of the groups of which no two differ significantly."""
    apart = np.zeros((len(order), len(order)), bool)
    place = {name: at for at, name in enumerate(order)}
    for pair in comparison.pairs:
        a, b = place[pair.a], place[pair.b]
        apart[a, b] = apart[b, a] = pair.adjusted_decision != NOT_SIGNIFICANT
    groups = groups_of(len(order), apart)
    return {
        name: " ".join(letter(number) for number, group in enumerate(groups) if at in group)
        for name, at in place.items()
    }


def _blocks(
    rows: list[dict[str, Any]],
    answer: Answer | None,
    measure: Measure,
    baseline: str,
    group: str,
    evaluation: Evaluation,
) -> Iterator[Block]:
    comparison: Comparison | None = answer.value if answer is not None else None
    design, column = evaluation.first.design, measure_column(measure, evaluation)
    if comparison is not None:
        best = next(row["system"] for row in rows if row["system"] != baseline)
        pair = comparison.pair(best, baseline)
        yield Text(f"{pair.verdict}.", VERDICTS[pair.decision])
    elif answer is None:
        first = rows[0]
        value = number_text(first[str(measure)].value, 0 if column.kind == "count" else 4)
        yield Text(f"{measure} of {first['system']} is {value}.", "lead")
    elif answer.problem:
        yield Text(f"Nothing is compared: {answer.problem}.", "note")
    else:
        yield Text("Comparing the systems …", "computing")
    doubts = [*evaluation.label_doubts, *(design.doubts() if design is not None else ())]
    doubts += design.few(design.per) if design is not None and comparison is None else []
    doubts = [*dict.fromkeys([*doubts, *(comparison.warnings if comparison is not None else ())])]
    if doubts:
        yield Bullets([sentence(doubt.text, evaluation.names) for doubt in doubts[:CAUTIONS]], "warning")
    yield _table(rows, answer, measure, baseline, group, column)
    yield Text(f"{measure.describe()}", "note")
    if design is not None:
        yield Text(design.words, "note")


def _table(
    rows: list[dict[str, Any]], answer: Answer | None, measure: Measure, baseline: str, group: str, column: Column
) -> Table:
    beside = [key for key in rows[0] if ("@" in key or key.startswith("per ")) and key != str(measure)]
    columns: list[tuple[Column, list[Any]]] = [
        (Column("rank", "rank"), [row["rank"] for row in rows]),
        (Column("system"), [_system(row, measure) for row in rows]),
        (column, [row[str(measure)].value for row in rows]),
        (Column("95 % interval", "span", key="interval"), [row[str(measure)] for row in rows]),
    ]
    columns += [(Column(name, "number"), [row[name] for row in rows]) for name in beside]
    if answer is not None and not answer.problem:
        columns += _changes(rows, measure, baseline, group, answer.pending)
    notes = [] if answer is None or answer.pending or answer.problem else [_legend(baseline)]
    contests = ranked(range(len(rows)), [2]) if len(rows) > 1 else []
    return Table.of_columns("leaderboard", "", columns, notes=notes, contests=contests)


def _system(row: dict[str, Any], measure: Measure) -> Mark:
    return Mark(row["system"], address=address("/run", run=row["system"], measure=measure))


def _changes(
    rows: list[dict[str, Any]], measure: Measure, baseline: str, group: str, pending: bool
) -> list[tuple[Column, list[Any]]]:
    heads = [Column("change", "signed", help=f"system − {baseline}"), *p_columns(len(rows) - 1), Column("verdict")]
    if pending:
        return [(column, [Mark(COMPUTING, "quiet")] * len(rows)) for column in heads[:1]]
    differences = [None if row["difference"] is None else row["difference"].value for row in rows]
    marks = [_verdict(row, measure, baseline, group) for row in rows]
    p = [[row[name] for row in rows] for name in ("p", "p_adjusted")[: len(heads) - 2]]
    cells = [differences, *p, marks, [row["groups"] for row in rows]]
    heads.append(Column("group", help="no two systems of one letter differ significantly", key="groups"))
    return [*zip(heads, cells, strict=True)]


def _verdict(row: dict[str, Any], measure: Measure, baseline: str, group: str) -> Mark:
    if row["decision"] == "baseline":
        return Mark("baseline", "quiet")
    to = address("/compare", run=[baseline, row["system"]], measure=measure, group=group)
    return decision_mark(row["decision"])._replace(address=to)


def _legend(baseline: str) -> str:
    words = "Systems that share a letter are not distinguishable: no two of them differ significantly"
    return (
        f"Change: system − {baseline}; p and verdict are each pair's own. {words} (sign-flip test, adjusted for every "
        "pair by max-T)."
    )


def _data(
    evaluation: Evaluation, measure: Measure, rows: list[dict[str, Any]], baseline: str, group: str
) -> dict[str, Any]:
    return {
        "measure": str(measure),
        "group": group or None,
        "baseline": baseline,
        "queries": evaluation.first.counts["queries"],
        "systems": rows,
        "protocol": evaluation.protocol.to_dict(),
        "definitions": evaluation.definitions,
    }
