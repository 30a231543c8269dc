"""A funnel: the stages, the parts of 1, what rerankers won and could have won, the depth curve, whom they harmed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.explanation.funnel.outcome import METHOD
from rankgauge.explanation.funnel.system import LOSSES, PARTS
from rankgauge.measures.gains import number_text as grade_text
from rankgauge.show.cells import MISSING, interval_column, number_text
from rankgauge.show.model import Block, Chart, Column, Mark, Notes, Section, Table, capital, chart_of
from rankgauge.stats.paired import TIE

if TYPE_CHECKING:
    from rankgauge.explanation.funnel.outcome import Funnel, Harm

__all__ = ["funnel_charts", "harm_words", "overview", "sections"]

# Part → the head of its column.
HEADS: Final = {
    "unknown": "unknown",
    "misranked": "mis-ranked",
    "not_retrieved": "not retrieved",
    "no_relevant": "no relevant",
}
WORST, FEWER, NAMED = 5, 2, 3  # harmed queries that are shown, of one run and of several; documents of each


def sections(funnel: Funnel, *, per_query: bool = False) -> Iterator[Section]:
    """The charts, and the whole or every query."""
    blocks: list[Block] = [*funnel_charts(funnel)]
    if per_query:
        rows = [{"run": name, **row, "fallen": " ".join(row["fallen"])} for name in funnel for row in funnel.rows(name)]
        blocks += [_query_table(funnel), Notes(funnel.notes), Table.of_rows(rows)]
    else:
        blocks += [*overview(funnel, WORST if len(funnel) == 1 else FEWER), Table.of_rows(_flat(funnel))]
    yield Section("stages", "Two stages", blocks)


def overview(funnel: Funnel, harmed: int) -> Iterator[Block]:
    """Every table that there is something to say in, with so many harmed queries of each run; and what to know."""
    if funnel.cross is not None:
        yield _cross_table(funnel)
    yield from (make(funnel) for make in (_stages_table, _parts_table, _lift_table, _curve_table, _queries_table))
    yield from _harm_table(funnel, harmed)
    yield Notes([*funnel.notes, *_interval_note(funnel)])


def funnel_charts(funnel: Funnel) -> list[Chart]:
    """The parts of 1, ceilings against values, the depth curve."""
    return [chart_of(kind, funnel) for kind in ("funnel-parts", "funnel-ceiling", "funnel-depth")]


# ---- tables ----------------------------------------------------------------------------------------------------------


def _stages_table(funnel: Funnel) -> Table:
    """The stages: recall, value and judged share; of candidates also a random and the best order."""
    measure = str(funnel.measure)
    rows: list[list[Any]] = []
    for name, system in funnel.systems.items():
        if system.retriever not in [row[1] for row in rows if row[0] == "retrieved"]:
            rows.append(_stage_row(funnel, name, "retrieved", system.retriever, "before"))
            rows.append(_stage_row(funnel, name, "random", "in random order"))
            rows.append(_stage_row(funnel, name, "oracle", "in the best order (oracle)"))
        rows.append(_stage_row(funnel, name, "value", name, "after"))
    columns = [Column("stage"), Column("run"), Column(f"R@{funnel.depth}", "number"), Column(measure, "number")]
    columns += [interval_column(funnel.sampling.alpha, measure), Column(_judged(funnel), "number", 3, aside=True)]
    caption = f"{funnel.title}, {counted(len(funnel.query_ids), 'query', 'queries')}, {_candidates(funnel)}"
    note = "The best order of the candidates is the ceiling of every reranker; recall is not."
    return Table("stages", caption, columns, rows, [note], sort=False)


def _stage_row(funnel: Funnel, name: str, stat: str, run: str, when: str = "") -> list[Any]:
    """`when`: before or after reranking; candidates in another order have no recall and judged share of their own."""
    recall, judged = (funnel.mean(name, f"{share}_{when}") if when else None for share in ("recall", "judged"))
    stage = {"value": "reranked", "retrieved": "retrieved"}.get(stat, "candidates")
    return [stage, run, recall, funnel[name][stat].value, funnel[name][stat][1:], judged]


def _candidates(funnel: Funnel) -> str:
    sizes = [system.first.hits.retrieved[system.chosen] for system in funnel.systems.values()]
    low, high = min(int(each.min()) for each in sizes), max(int(each.max()) for each in sizes)
    return f"{high:,} candidates each" if low == high else f"{low:,} to {high:,} candidates each"


def _parts_table(funnel: Funnel) -> Table:
    """The parts of 1, which add up for every query and in the mean."""
    columns = [Column("run"), Column(str(funnel.measure), "number", key="value")]
    columns += [Column(head, "number", key=part) for part, head in HEADS.items()]
    rows = [[name, *(funnel[name][part].value for part in PARTS)] for name in funnel]
    notes = ["Each row adds up to 1. Mis-ranked is for the reranker to win, not retrieved for the retriever."]
    notes += [f"{capital(head)}: {PARTS[part]}." for part, head in HEADS.items()]
    return Table("stage-parts", "Value and losses", columns, rows, notes)


def _lift_table(funnel: Funnel) -> Table:
    """What the reranker won of what it could have won."""
    alpha = funnel.sampling.alpha
    columns = [Column("run"), Column("lift", "signed"), interval_column(alpha, "lift", "signed interval")]
    columns += [Column("headroom", "number", aside=True), Column("captured", "share")]
    columns += [interval_column(alpha, "captured", "share interval")._replace(aside=True)]
    columns += [Column(head, "count", aside=head == "unchanged") for head in ("helped", "unchanged", "harmed")]
    rows = []
    for name in funnel:
        lift, captured = funnel[name]["lift"], funnel[name]["captured"]
        row = [name, lift.value, lift[1:], funnel[name]["headroom"].value, captured.value, captured[1:]]
        rows.append([*row, *funnel.outcome(name).values()])
    note = "Lift: reranked − retrieved. Headroom: best order − retrieved. Captured: mean lift / mean headroom."
    return Table("stage-lift", "Lift of the reranker", columns, rows, [note])


def _curve_table(funnel: Funnel) -> Table:
    """If fewer candidates had been reranked, or none."""
    owner = {system.retriever: name for name, system in reversed(funnel.systems.items())}
    columns: list[tuple[Column, list[Any]]]
    columns = [(Column("first", "count"), [0, *(point.depth for point in next(iter(funnel.curve.values())))])]
    for retriever, name in reversed(owner.items()):
        whose, curve = f", {retriever}" if len(owner) > 1 else "", funnel.curve[name]
        columns.append((Column(f"recall{whose}", "number", aside=True), [None, *(point.recall for point in curve)]))
        columns.append((Column(f"best order{whose}", "number", aside=True), [None, *(point.oracle for point in curve)]))
    for name, curve in funnel.curve.items():
        columns.append((Column(name, "number"), [funnel.points(name)[0].value, *(point.value for point in curve)]))
    notes = [
        "First 0: not reranked.",
        *(harm_words(funnel, name) or f"{name}: {_peak(funnel, name)}" for name in funnel),
    ]
    caption = f"{funnel.measure} by number of candidates reranked"
    return Table.of_columns("stage-depth", caption, columns, notes=notes, sort=False)


def harm_words(funnel: Funnel, name: str) -> str:
    """The sentence on a reranker that does worse than its candidates as they were; nothing where it does not."""
    first, *_, last = funnel.points(name)
    peak, value, alone = funnel.peak(name), number_text(last.value), number_text(first.value)
    if last.value >= first.value or value == alone:
        return ""
    remedy = "Leave it out, or rerank fewer candidates"
    if peak.depth:
        remedy = f"Rerank only the first {peak.depth:,} ({number_text(peak.value)})"
    retriever = funnel.system(name).retriever
    return f"{name} scores {value} with all {last.depth:,}, less than {retriever} without it ({alone}). {remedy}."


def _peak(funnel: Funnel, name: str) -> str:
    points, peak = funnel.points(name), funnel.peak(name)
    last, deeper = points[-1], [point for point in points if point.depth >= peak.depth]
    if peak.depth == last.depth:
        return f"highest with all {last.depth:,}."
    if last.value >= peak.value - TIE:
        if not peak.depth:
            return "no higher than without it."
        if min(point.value for point in deeper) >= peak.value - TIE:
            return f"highest from the first {peak.depth:,} on."
        return f"highest with the first {peak.depth:,}, and with all {last.depth:,}."
    lost = number_text(peak.value - last.value)
    return f"highest with the first {peak.depth:,}; all {last.depth:,} lose {lost} of it."


def _cross_table(funnel: Funnel) -> Table:
    """Two retrievers × two rerankers: what each change brought."""
    assert funnel.cross is not None
    (old, new), (former, latter) = funnel.cross.retrievers, funnel.cross.rerankers
    words = {
        "retriever": "retriever",
        "reranker": "reranker",
        "total": "both",
        "interaction": "interaction",
        "retriever_alone": f"retriever, with {former}",
        "reranker_alone": f"reranker, on {old}",
    }
    losses = [part for part in LOSSES if part != "no_relevant"]  # what no stage can change
    columns = [Column("effect"), Column(str(funnel.measure), "signed", key="value")]
    columns += [interval_column(funnel.sampling.alpha, "value", "signed interval")]
    columns += [Column(HEADS[part], "signed", key=part, aside=part == "unknown") for part in losses]
    rows = []
    for effect, name in words.items():
        parts = funnel.effects[effect]
        rows.append([name, parts["value"].value, parts["value"][1:], *(parts[part].value for part in losses)])
    notes = ["Retriever and reranker are means over either other one, and add up to both."]
    notes += ["From the old pair, retriever, reranker and interaction add up to both as well."]
    caption = f"Two retrievers × two rerankers: {old} → {new}, {former} → {latter}"
    return Table("attribution", caption, columns, rows, notes, sort=False)


def _queries_table(funnel: Funnel) -> Table:
    """In how many queries each loss is the largest."""
    rows = []
    for name in funnel:
        largest = funnel.largest(name)
        rows.append([name, *largest.values(), len(funnel.query_ids) - sum(largest.values())])
    columns = [Column("run"), *(Column(HEADS[loss], "count", key=loss) for loss in LOSSES)]
    return Table("stage-losses", "Queries by their largest loss", [*columns, Column("nothing lost", "count")], rows)


def _harm_table(funnel: Funnel, most: int) -> Iterator[Table]:
    """The queries that rerankers harmed most, so many of each, with the documents that did it; none where none were."""
    rows = [[name, harm.query_id, _moves(harm), harm.change] for name in funnel for harm in funnel.harmed(name, most)]
    columns = [Column("run"), Column("query", "query"), Column("documents"), Column("change", "signed")]
    note = "Rank before → after, of documents that gain something; – : not reranked at all."
    if rows:
        yield Table("stage-harm", "Queries that the reranker harmed most", columns, rows, [note], search=len(rows) > 8)


def _moves(harm: Harm) -> str:
    moves = [
        f"{move.doc_id} ({grade_text(move.grade)}) {move.before} → {move.after or MISSING}"
        for move in harm.documents[:NAMED]
    ]
    return ", ".join(moves) + ", …" * (len(harm.documents) > NAMED)


def _query_table(funnel: Funnel) -> Table:
    """Every query of every reranked run."""
    numbers = ("retrieved", *PARTS)
    columns = [Column("run"), Column("query", "query"), Column("retrieved", "number")]
    columns += [Column(str(funnel.measure), "number", key="value")]
    columns += [Column(head, "number", key=part) for part, head in HEADS.items()]
    columns += [Column("lift", "signed"), Column(f"{_judged(funnel)} before", "number", 3)]
    columns += [Column("after", "number", 3), Column("largest loss"), Column("harmed"), Column("documents that fell")]
    rows = []
    for name in funnel:
        fallen = {harm.query_id: [Mark("harmed", "bad"), _moves(harm)] for harm in funnel.harmed(name)}
        for row in funnel.rows(name):
            cells = [row[column] for column in (*numbers, "lift", "judged_before", "judged_after")]
            loss, query = HEADS.get(row["largest_loss"]), row["query_id"]
            rows.append([name, query, *cells, loss, *fallen.get(query, ["", ""])])
    return Table("queries", "", columns, rows, search=len(rows) > 8)


def _judged(funnel: Funnel) -> str:
    return "Judged" if funnel.measure.cutoff is None else f"Judged@{funnel.measure.cutoff}"


def _interval_note(funnel: Funnel) -> Iterator[str]:
    """The method of the intervals (of a sample its own line has it), and why some have none."""
    sampling, queries = funnel.sampling, len(funnel.query_ids)
    if funnel.too_few:
        units = "queries" if sampling.clusters is None else "clusters of queries"
        yield f"No intervals of lift and captured: too few {units}."
    for name, system in funnel.systems.items():
        lost, captured = int((system.of("headroom") <= TIE).sum()), funnel[name]["captured"]
        if lost and captured.low != captured.low and (abs(system.of("lift")) > TIE).any() and not funnel.too_few:
            yield f"{name}: captured has no interval, because {lost:,} of {queries:,} queries have no headroom."
    if sampling.design is None:
        yield f"Intervals: {METHOD}."


def _flat(funnel: Funnel) -> Iterator[dict[str, Any]]:
    """For each reranked run its estimates with both ends, shares, counts and the depth of its peak."""
    for name, system in funnel.systems.items():
        row: dict[str, Any] = {"run": name, "candidates_of": system.retriever, "queries": len(system.query_ids)}
        for stat, (value, low, high) in funnel[name].items():
            row |= {stat: value, f"{stat}_low": low, f"{stat}_high": high}
        shares = ("recall_before", "recall_after", "judged_before", "judged_after")
        row |= {column: funnel.mean(name, column) for column in shares}
        yield row | funnel.outcome(name) | {"peak": funnel.peak(name).depth}
