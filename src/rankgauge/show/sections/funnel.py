"""Funnel → tables: one function for each section, each of which returns a Table; and the formats."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.explanation.funnel.system import LOSSES, PARTS
from rankgauge.measures.gains import number_text
from rankgauge.show.grid import MISSING, short
from rankgauge.show.titled import Table
from rankgauge.stats.paired import TIE

if TYPE_CHECKING:
    from rankgauge.explanation.funnel.outcome import Funnel, Harm
    from rankgauge.stats.estimate import Estimate

__all__ = ["FORMATS", "HEADS", "Look", "html", "last_lines", "show", "tables"]

# Part → the head of its column.
HEADS: Final = {
    "unknown": "unknown",
    "misranked": "mis-ranked",
    "not_retrieved": "not retrieved",
    "no_relevant": "no relevant",
}
WORST, FEWER, NAMED = 5, 2, 3  # harmed queries that are shown, of one run and of several; documents of each


@dataclass(frozen=True, slots=True)
class Look:
    """What to show and how."""

    per_query: bool = False
    digits: int = 4


# ---- sections --------------------------------------------------------------------------------------------------------


def stages_table(funnel: Funnel, digits: int = 4) -> Table:
    """The stages: recall, value and judged share; of candidates also a random and the best order."""
    measure, k = str(funnel.measure), funnel.measure.cutoff
    rows, seen = [], set()
    for name, system in funnel.systems.items():
        found = funnel[name]
        if system.retriever not in seen:
            seen.add(system.retriever)
            shares = [funnel.mean(name, column) for column in ("recall_before", "judged_before")]
            rows.append(_stage_row("retrieved", system.retriever, found["retrieved"], shares, digits))
            rows.append(_stage_row("", "  in random order", found["random"], None, digits))
            rows.append(_stage_row("", "  in the best order (oracle)", found["oracle"], None, digits))
        shares = [funnel.mean(name, column) for column in ("recall_after", "judged_after")]
        rows.append(_stage_row("reranked", name, found["value"], shares, digits))
    queries = counted(len(funnel.query_ids), "query", "queries")
    heads = ["stage", "run", f"R@{funnel.depth}", measure, _level(funnel), "Judged" if k is None else f"Judged@{k}"]
    return Table(f"{measure} in two stages, {queries}, {_candidates(funnel)}", heads, rows, 2)


def _stage_row(stage: str, name: str, value: Estimate, shares: list[float] | None, digits: int) -> list[str]:
    recall, judged = ("", "") if shares is None else (_number(shares[0], digits), _number(shares[1], 3))
    return [
        stage,
        name if shares is None else short(name),
        recall,
        _number(value.value, digits),
        _ends(value, digits),
        judged,
    ]


def _candidates(funnel: Funnel) -> str:
    sizes = [system.first.hits.retrieved[system.chosen] for system in funnel.systems.values()]
    low, high = min(int(each.min()) for each in sizes), max(int(each.max()) for each in sizes)
    return f"{high:,} candidates each" if low == high else f"{low:,} to {high:,} candidates each"


def parts_table(funnel: Funnel, digits: int = 4) -> Table:
    """The parts of 1, which add up for every query and in the mean."""
    rows = [[short(name), *(_number(funnel[name][part].value, digits) for part in PARTS)] for name in funnel]
    heads = ["run", str(funnel.measure), *HEADS.values()]
    note = "Each row adds up to 1. Mis-ranked is for the reranker to win, not retrieved for the retriever."
    return Table("What was reached, and where the rest was lost", heads, rows, 1, (note,))


def lift_table(funnel: Funnel, digits: int = 4) -> Table:
    """What the reranker won of what it could have won."""
    level = _level(funnel)
    rows = []
    for name in funnel:
        found, outcome = funnel[name], funnel.outcome(name)
        lift, captured = found["lift"], found["captured"]
        row = [short(name), _number(lift.value, digits, sign=True), _ends(lift, digits, sign=True)]
        row += [_number(found["headroom"].value, digits), _share(captured.value), _ends(captured, 1, share=True)]
        rows.append([*row, *(f"{outcome[key]:,}" for key in ("helped", "unchanged", "harmed"))])
    heads = ["run", "lift", level, "headroom", "captured", level, "helped", "unchanged", "harmed"]
    note = "Lift: reranked − retrieved. Headroom: best order − retrieved. Captured: mean lift / mean headroom."
    return Table("What the reranker won of what it could have won", heads, rows, 1, (note,))


def curve_table(funnel: Funnel, digits: int = 4) -> Table:
    """If fewer candidates had been reranked."""
    several = len({system.retriever for system in funnel.systems.values()}) > 1
    owner = {system.retriever: name for name, system in reversed(funnel.systems.items())}
    depths = [point.depth for point in next(iter(funnel.curve.values()))]
    heads, columns = ["first"], [[f"{depth:,}" for depth in depths]]
    for retriever, name in reversed(owner.items()):
        for head, attribute in (("recall", "recall"), ("best order", "oracle")):
            heads.append(f"{head}, {short(retriever, 14)}" if several else head)
            columns.append(_along(funnel, name, attribute, digits))
    for name in funnel:
        heads.append(short(name))
        columns.append(_along(funnel, name, "value", digits))
    notes = [f"{short(name)}: {_peak(funnel, name, digits)}" for name in funnel]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Table(f"{funnel.measure} if only the first candidates had been reranked", heads, rows, 0, tuple(notes))


def _along(funnel: Funnel, name: str, attribute: str, digits: int) -> list[str]:
    return [_number(float(getattr(point, attribute)), digits) for point in funnel.curve[name]]


def _peak(funnel: Funnel, name: str, digits: int) -> str:
    peak, last = funnel.peak(name), funnel.curve[name][-1]
    if peak.depth == last.depth:
        return f"highest with all {last.depth:,}."
    if last.value >= peak.value - TIE:
        return f"highest from the first {peak.depth:,} on."
    lost = _number(peak.value - last.value, digits)
    return f"highest with the first {peak.depth:,}; all {last.depth:,} lose {lost} of it."


def cross_table(funnel: Funnel, digits: int = 4) -> Table:
    """Two retrievers × two rerankers: what each change brought."""
    assert funnel.cross is not None
    rows = []
    (old, new), (former, latter) = funnel.cross.retrievers, funnel.cross.rerankers
    words = {
        "retriever": f"retriever: {old} → {new}",
        "reranker": f"reranker: {former} → {latter}",
        "total": "both",
        "interaction": "interaction",
        "retriever_alone": f"retriever, with {former}",
        "reranker_alone": f"reranker, on {old}",
    }
    for effect, name in words.items():
        found = funnel.effects[effect]
        value = found["value"]
        changes = [_number(found[part].value, digits, sign=True) for part in LOSSES if part in found]
        rows.append(
            [short(name, 40), _number(value.value, digits, sign=True), _ends(value, digits, sign=True), *changes]
        )
    heads = ["effect", str(funnel.measure), _level(funnel), *(HEADS[part] for part in LOSSES if part != "no_relevant")]
    notes = (
        "Retriever and reranker are means over either other one, and add up to both; from the old pair, retriever,",
        "reranker and interaction add up to both as well.",
    )
    return Table("Two retrievers × two rerankers", heads, rows, 1, notes)


def queries_table(funnel: Funnel, digits: int = 4) -> Table:
    """In how many queries each loss is the largest."""
    rows = []
    for name in funnel:
        found = funnel.largest(name)
        none = len(funnel.query_ids) - sum(found.values())
        rows.append([short(name), *(f"{found[loss]:,}" for loss in LOSSES), f"{none:,}"])
    heads = ["run", *(HEADS[loss] for loss in LOSSES), "nothing lost"]
    return Table("Queries by their largest loss", heads, rows, 1)


def harm_table(funnel: Funnel, digits: int = 4) -> Table | None:
    """The queries that rerankers harmed most, with the documents that did it; None where there are none."""
    rows = [
        [short(name), harm.query_id, _moves(harm), _number(harm.change, digits, sign=True)]
        for name in funnel
        for harm in funnel.harmed(name, WORST if len(funnel) == 1 else FEWER)
    ]
    if not rows:
        return None
    note = "Rank before → after, of documents that gain something; – : not reranked at all."
    return Table("Harmed most by the reranker", ["run", "query", "documents", "change"], rows, 3, (note,))


def _moves(harm: Harm) -> str:
    shown = [
        f"{short(move.doc_id, 20)} ({number_text(move.grade)}) {move.before} → {move.after or MISSING}"
        for move in harm.documents[:NAMED]
    ]
    return ", ".join(shown) + (", …" if len(harm.documents) > NAMED else "")


def query_table(funnel: Funnel, digits: int = 4) -> Table:
    """Every query of every reranked run."""
    names = ("retrieved", "value", "unknown", "misranked", "not_retrieved", "no_relevant", "lift")
    judged = "Judged" if funnel.measure.cutoff is None else f"Judged@{funnel.measure.cutoff}"
    heads = ["run", "query", "retrieved", str(funnel.measure), *HEADS.values(), "lift", f"{judged} before", "after"]
    rows = []
    for name in funnel:
        fallen = {harm.query_id: _moves(harm) for harm in funnel.harmed(name)}
        for row in funnel.rows(name):
            numbers = [_number(row[column], digits, sign=column == "lift") for column in names]
            shares = [_number(row[column], 3) for column in ("judged_before", "judged_after")]
            query = row["query_id"]
            harm = ["harmed", fallen[query]] if query in fallen else ["", ""]
            rows.append([short(name), query, *numbers, *shares, HEADS.get(row["largest_loss"], MISSING), *harm])
    return Table("", [*heads, "largest loss", "harmed", "documents that fell"], rows, 2)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _level(funnel: Funnel) -> str:
    return f"{100 * (1 - funnel.sampling.alpha):g} % interval"


def _number(value: float | None, digits: int, *, sign: bool = False) -> str:
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value + 0.0:{'+' * sign}.{digits}f}"


def _share(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %" if math.isfinite(value) else MISSING


def _ends(estimate: Estimate, digits: int, *, sign: bool = False, share: bool = False) -> str:
    ends = (estimate.low, estimate.high)
    if not all(map(math.isfinite, ends)):
        return MISSING
    if share:
        return f"{100 * ends[0]:.{digits}f} to {_share(ends[1], digits)}"
    return " to ".join(_number(end, digits, sign=sign) for end in ends)


# ---- formats ---------------------------------------------------------------------------------------------------------


def tables(funnel: Funnel, look: Look | None = None) -> list[Table]:
    """Every section that there is something to say in."""
    look = look or Look()
    if look.per_query:
        return [query_table(funnel, look.digits)]
    found = [cross_table] if funnel.cross is not None else []
    found += [stages_table, parts_table, lift_table, curve_table, queries_table]
    made = [make(funnel, look.digits) for make in found]
    harm = harm_table(funnel, look.digits)
    return [*made, *([harm] if harm is not None else [])]


def show(funnel: Funnel, format: str = "table", look: Look | None = None) -> str:
    """The whole in one of the formats, ending in a newline."""
    return FORMATS[format](funnel, look or Look())


def _as_table(funnel: Funnel, look: Look) -> str:
    notes = "" if look.per_query else "".join(f"\n{line}" for line in last_lines(funnel)) + "\n"
    return "\n".join(table.text() for table in tables(funnel, look)) + notes


def _as_markdown(funnel: Funnel, look: Look) -> str:
    notes = "" if look.per_query else "".join(f"\n{line}\n" for line in last_lines(funnel))
    return "\n".join(table.markdown() for table in tables(funnel, look)) + notes


def last_lines(funnel: Funnel) -> Iterator[str]:
    """What to know about the numbers, a line each."""
    from rankgauge.stats.ratios import resamples_for

    sampling = funnel.sampling
    drawn = sampling.resamples or resamples_for(len(funnel.query_ids))
    yield from funnel.notes
    yield f"Intervals: BCa bootstrap over queries, paired, {drawn:,} resamples, seed {sampling.seed}."


def _as_json(funnel: Funnel, look: Look) -> str:
    return json.dumps(funnel.to_dict(per_query=look.per_query), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _as_csv(funnel: Funnel, look: Look) -> str:
    """A row per reranked run (or per run and query), every digit."""
    rows = [{"run": name, **row} for name in funnel for row in funnel.rows(name)] if look.per_query else _flat(funnel)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(list(rows[0]))
    for row in rows:
        writer.writerow([_csv_cell(value) for value in row.values()])
    return stream.getvalue()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(value)
    return "" if value is None or value != value else value


def _flat(funnel: Funnel) -> list[dict[str, Any]]:
    """For each reranked run its estimates with both ends, shares, counts and the depth of its peak."""
    rows = []
    for name, system in funnel.systems.items():
        row: dict[str, Any] = {"run": name, "candidates_of": system.retriever, "queries": len(system.query_ids)}
        for stat, (value, low, high) in funnel[name].items():
            row |= {stat: value, f"{stat}_low": low, f"{stat}_high": high}
        shares = ("recall_before", "recall_after", "judged_before", "judged_after")
        row |= {column: funnel.mean(name, column) for column in shares}
        rows.append(row | funnel.outcome(name) | {"peak": funnel.peak(name).depth})
    return rows


def _as_html(funnel: Funnel, look: Look) -> str:
    from rankgauge.show.svg.drawing import page

    return page(f"{funnel.measure} in two stages", html(funnel, look)).decode()


def html(funnel: Funnel, look: Look | None = None) -> str:
    """The picture and the tables, for a notebook or a page."""
    from html import escape

    from rankgauge.show.svg.funnel import funnel_svg

    made = "".join(f"<div class='rg-wide'>{table.html()}</div>" for table in tables(funnel, look))
    notes = "".join(f"<p style='font-size:smaller'>{escape(line)}</p>" for line in last_lines(funnel))
    return funnel_svg(funnel) + made + notes


FORMATS: Final[dict[str, Callable[[Funnel, Look], str]]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
    "html": _as_html,
}
