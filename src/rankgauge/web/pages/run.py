"""`/run`: one system: how its values are distributed, every query, groups, coverage, and what is odd in the files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgauge.comparison.values import values_of_results
from rankgauge.errors import MeasureError, RankgaugeError
from rankgauge.explanation.query.terms import check_explainable
from rankgauge.measures import parse
from rankgauge.show.cells import interval_text, is_missing
from rankgauge.show.model import Block, Column, Section, Table, Text, Tile, Tiles, chart_of
from rankgauge.web.served import several
from rankgauge.web.view import View, address, choice, measure_controls

if TYPE_CHECKING:
    from rankgauge.comparison.values import Values
    from rankgauge.measures import Measure
    from rankgauge.result import Result
    from rankgauge.stats.estimate import Estimate
    from rankgauge.web.site import Answer, Site

__all__ = ["run_page", "run_rows"]


def run_page(site: Site, run: str, measure: str = "", sort: str = "", down: bool = False, find: str = "") -> View:
    """One system; the table of queries is sorted by a column, downwards or upwards, and searched."""
    collection, wanted = site.collection, site.measure(measure)
    name = collection.run(run).name
    result = collection.result(name, several(wanted, collection.protocol))
    values = _values(result, wanted)
    findings, changed = site.findings(name, wanted), bool(site.files.changes(collection.read_at))
    names = [str(each) for each in result.measures]
    return View(
        name,
        lambda: _data(result, wanted, findings),
        [
            *_sections(
                result,
                wanted,
                collection.estimate(name, wanted),
                values,
                findings,
                changed,
            )
        ],
        template="run.html",
        crumbs=[("Leaderboard", address("/", measure=wanted))],
        controls=[choice("System", "run", collection.runs, name), *measure_controls(wanted)],
        pending=["checks"] if findings.pending else [],
        more={
            "query_page": address("/query", run=name, measure=_explainable(wanted)),
            "rows": address("/run/queries.json", run=name, measure=wanted),
            "columns": ["query", *(["group"] if collection.groups else []), *names],
            "counts": [str(each) for each in result.measures if _kind(result, each) == "count"],
            "sort": sort if sort in ("query", "group", *names) else names[0],
            "down": down,
            "find": find,
            "count": len(result.query_ids),
        },
    )


def _values(result: Result, measure: Measure) -> Values | str:
    """The values of queries; or why they have no mean whose distribution could be shown."""
    try:
        return values_of_results({result.name: result}, [str(measure)])[str(measure)]
    except RankgaugeError as error:
        return f"No distribution: {error}."


def _explainable(measure: Measure) -> Measure:
    """The measure, or the usual one where the measure cannot be told rank by rank."""
    try:
        check_explainable(measure)
    except MeasureError:
        return parse("nDCG@10")
    return measure


def run_rows(site: Site, run: str, measure: str = "") -> dict[str, Any]:
    """The rows of the table of queries: columns, and of each query its id, its text, its group and its values."""
    collection, wanted = site.collection, site.measure(measure)
    result = collection.result(run, several(wanted, collection.protocol))
    names = [str(each) for each in result.measures]
    columns = [result._selected(result.measured[each]).tolist() for each in result.measures]
    rows = zip(result.query_ids, *columns, strict=True)
    return {
        "run": run,
        "columns": ["query", *names],
        "rows": [[query, *(None if is_missing(each) else each for each in values)] for query, *values in rows],
        "texts": {query: text for query in result.query_ids if (text := collection.queries.get(query))},
        "groups": {query: group for query in result.query_ids if (group := collection.groups.get(query))},
    }


def _sections(
    result: Result, measure: Measure, found: Estimate, values: Values | str, findings: Answer, changed: bool
) -> Iterator[Section]:
    drawn = [] if result.design is None else [Text(result.design.words, "note")]
    yield Section("overview", "", [Tiles([*_tiles(result, measure, found, values)]), *drawn])
    shown = Text(values, "note") if isinstance(values, str) else chart_of("distribution", values)
    yield Section("distribution", "Distribution", [shown])
    if result.groups:
        charts = [] if isinstance(values, str) else [chart_of("groups", values)]
        yield Section("groups", "Groups of queries", [_groups(result, measure), *charts])
    yield Section("coverage", "Coverage", [*_coverage(result)])
    yield Section("checks", "File checks", [*_checks(findings, changed)])


def _tiles(result: Result, measure: Measure, found: Estimate, values: Values | str) -> Iterator[Tile]:
    own, per = result.own_aggregate(measure), "" if result.design is None else f" per {result.design.per}"
    if own != "mean":
        below = f"the {own.replace('_', ' ')} over queries"
    elif is_missing(found.low):
        below = values.lacking if not isinstance(values, str) else ""
    else:
        below = f"95 % interval {interval_text((found.low, found.high))}"
    yield Tile(f"{measure}{per * (own == 'mean')}", Column("", _kind(result, measure)), found.value, below)
    for beside in result.measures:
        if beside == measure:
            continue
        below = f"judged, the mean{per or ' over queries'}" if beside.name == "Judged" else ""
        yield Tile(f"{beside}{per}", Column("", "number"), result[beside], below)
    yield Tile("queries", Column("", "count"), result.evaluated, _counts(result))


def _kind(result: Result, measure: Measure) -> str:
    return "count" if result.own_aggregate(measure) == "sum" else "number"


def _counts(result: Result) -> str:
    counts = result.counts
    parts = [f"{counts['missing']:,} not answered"] if counts["missing"] else []
    parts += [f"{counts['without_relevant']:,} with nothing relevant"] if counts["without_relevant"] else []
    return ", ".join(parts) or "all answered"


def _groups(result: Result, measure: Measure) -> Table:
    parts = {"all": result, **result.by}
    columns: list[tuple[Column, list[Any]]] = [
        (Column("group"), [*parts]),
        (Column("queries", "count"), [each.evaluated for each in parts.values()]),
        *(
            (Column(str(each), _kind(result, each)), [part[each] for part in parts.values()])
            for each in result.measures
        ),
    ]
    return Table.of_columns("groups", f"{measure} by group of queries", columns)


def _coverage(result: Result) -> Iterator[Block]:
    counts = result.counts
    rows: list[list[Any]] = [
        ["queries evaluated", result.evaluated],
        ["answered by the run", counts["answered"]],
        ["not answered", counts["missing"]],
        ["with nothing relevant", counts["without_relevant"]],
        ["in the run, but without judgments", counts["unjudged"]],
    ]
    yield Table("coverage", "", [Column("what"), Column("queries", "count")], rows, sort=False)
    yield Text("What is not judged counts as not relevant.", "note")


def _checks(findings: Answer, changed: bool) -> Iterator[Block]:
    if changed:
        yield Text(
            "Files have changed since they were read; they are checked as they were when the check began.", "note"
        )
    if findings.pending:
        yield Text("Checking the files …", "computing")
    elif findings.problem:
        yield Text(f"The files were not checked: {findings.problem}", "note")
    elif not findings.value:
        yield Text("Nothing odd was found in the files.")
    else:
        (section,) = findings.value.sections()
        yield from section.blocks


def _data(result: Result, measure: Measure, findings: Answer) -> dict[str, Any]:
    from rankgauge.result import Evaluation

    found = findings.value
    return {
        "measure": str(measure),
        **Evaluation({result.name: result}).to_dict(),
        "findings": None if found is None else found.rows(),
        **({"problem": findings.problem} if findings.problem else {}),
    }
