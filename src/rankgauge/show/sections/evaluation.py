"""Values of runs: a row per run, per group of queries or per query, what to know about the numbers, and tie bands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankgauge.protocol import SPOKEN
from rankgauge.result import judged_words
from rankgauge.show.cells import interval_column
from rankgauge.show.model import Chart, Column, Later, Notes, Section, Table, capital, chart_of, ranked

if TYPE_CHECKING:
    from rankgauge.measures import Measure
    from rankgauge.result import Evaluation, Result, TieBands

__all__ = ["band_sections", "measure_column", "parted_checks", "sample_table", "sections"]


def sections(evaluation: Evaluation, *, per_query: bool = False) -> Iterator[Section]:
    """The values of runs, or of every query of every run."""
    table = _query_table(evaluation) if per_query else _run_table(evaluation)
    charts = [] if per_query else _charts(evaluation)
    yield Section("values", "Values", [table, Notes(Later(lambda: _notes(evaluation))), *charts])


def _charts(evaluation: Evaluation) -> Iterator[Chart]:
    """The distribution over queries of one run, the intervals of several; groups of queries. By the first measure."""
    source = evaluation if len(evaluation) > 1 else evaluation.first
    measure = next((each for each in evaluation.measures if each.definition.aggregate != "none"), None)
    if measure is not None:
        yield chart_of("distribution" if len(evaluation) == 1 else "forest", source, measure=measure)
        if evaluation.first.groups:
            yield chart_of("groups", source, measure=measure)


def measure_column(measure: Measure, evaluation: Evaluation) -> Column:
    """The column of a measure's values: counts, texts or numbers."""
    counts = evaluation.first.own_aggregate(measure) == "sum"
    texts = measure.definition.aggregate == "none"
    return Column(str(measure), "count" if counts else "text" if texts else "number")


def _run_table(evaluation: Evaluation) -> Table:
    """The row of each run, then those of its groups of queries; the best run of every measure is marked."""
    if evaluation.first.design is not None:
        return sample_table(evaluation)
    grouped = any(result.groups for result in evaluation.values())
    columns = [Column("run"), *([Column("group")] if grouped else []), Column("queries", "count")]
    rows: list[list[Any]] = []
    whole = []
    for result in evaluation.values():
        whole.append(len(rows))
        for group, part in [("all", result), *result.by.items()]:
            lead = [result.name, group] if grouped else [result.name]
            values = [part.value_or_band(measure) for measure in part.measures]
            rows.append([*lead, part.evaluated, *values])
    best = [
        len(columns) + at
        for at, measure in enumerate(evaluation.measures)
        if measure.definition.needs != "nothing" and measure.definition.aggregate != "none"
    ]
    columns += [measure_column(measure, evaluation) for measure in evaluation.measures]
    contests = ranked(whole, best) if len(whole) > 1 else []
    return Table("values", "", columns, rows, contests=contests)


def sample_table(evaluation: Evaluation) -> Table:
    """Of each run, and of its groups of queries, the mean per search and per query, with intervals."""
    grouped = any(result.groups for result in evaluation.values())
    columns = [Column("run"), *([Column("group")] if grouped else []), Column("per"), Column("queries", "count")]
    for measure in evaluation.measures:
        column = measure_column(measure, evaluation)
        columns += [column, interval_column(0.05, str(measure))]
    rows: list[list[Any]] = []
    for result in evaluation.values():
        for group, part in [("all", result), *result.by.items()]:
            lead = [result.name, group] if grouped else [result.name]
            for per, own in (("search", part.per("search")), ("query", part.per("query"))):
                values = [(own.value_or_band(each), own.estimate(each)[1:]) for each in own.measures]
                rows.append([*lead, per, own.evaluated, *(cell for both in values for cell in both)])
    return Table("values", "", columns, rows)


def _query_table(evaluation: Evaluation) -> Table:
    grouped = any(result.groups for result in evaluation.values())
    columns = [Column("run"), Column("query", "query", key="query_id"), *([Column("group")] if grouped else [])]
    columns += [measure_column(measure, evaluation) for measure in evaluation.measures]
    rows = [
        [result.name, query, *([group] if grouped else []), *values]
        for result in evaluation.values()
        for query, group, values in result.query_rows()
    ]
    return Table("values", "", columns, rows, search=True)


# ---- what to know about the numbers ----------------------------------------------------------------------------------


def _notes(evaluation: Evaluation) -> Iterator[str]:
    """What may change the reading first; whose numbers these are, of which queries; the rules, early where unusual."""
    results = [*evaluation.values()]
    alarms, others = parted_checks(evaluation)
    yield from (f"Caution: {line}" for line in alarms)
    yield from (f"Caution: {doubt.text} ({doubt.code})." for doubt in [*evaluation.doubts, *evaluation.few])
    if evaluation.first.design is not None:
        yield evaluation.first.design.words
    loud = [note for note in evaluation.ties if note.startswith("Caution")]
    yield from loud
    rules = f"Rules: {' '.join(f'{rule}={value}' for rule, value in _rules(evaluation.first))}"
    unusual = bool(evaluation.protocol.changed)
    yield from _dialect_words(evaluation.first)
    yield f"Queries: {'; '.join(_count_words(results))}."
    if evaluation.first.judgments is not None and evaluation.first.judgments.credit:
        yield f"{capital(evaluation.first.judgments.credit)}."
    yield from [rules] if unusual else []
    yield from [note for note in evaluation.ties if note not in loud]
    for k in evaluation.first.judged:
        shares = {each.name: each.judged[k] for each in results if each.judged[k] == each.judged[k]}  # some retrieved
        yield from [f"{judged_words(results, k)}: {_spread(shares)}."] if shares else []
    yield from others
    yield from [] if unusual else [rules]


def parted_checks(evaluation: Evaluation) -> tuple[list[str], list[str]]:
    """What the quick checks found: first what no number should be read without."""
    checks, number = evaluation.checks, len(evaluation.alarms)
    return checks[:number], checks[number:]


def _dialect_words(result: Result) -> Iterator[str]:
    """Whose numbers these are, what it means by the names, and where it is wrong."""
    dialect = result.dialect
    if dialect is None:
        return
    own = {measure: dialect.own(measure).measure for measure in result.measures}
    same = "; ".join(f"{measure} is {theirs}" for measure, theirs in own.items())
    k = next((theirs.cutoff for theirs in own.values() if theirs.name == "nDCG" and theirs.cutoff), 10)
    called = f"nDCG@{k} there is {dialect.called(k)}" if "{k}" in dialect.call else f"as {dialect.call}"
    yield f"Dialect: {dialect.name} ({called}); {dialect.why}. {same}."
    if dialect.defect:
        yield f"A defect of {dialect.name}: {dialect.defect}."
    for why in dict.fromkeys(dialect.own(measure).undefined_ties for measure in result.undefined):
        yield f"A to B: {dialect.name} may give any value in between, by the order of ties; {why}."


def _rules(result: Result) -> Iterator[tuple[str, Any]]:
    changed = result.protocol.changed
    for rule, value in result.protocol.to_dict().items():
        if rule in SPOKEN or rule in changed:
            yield rule, f"{value:g}" if isinstance(value, float) else value


def _count_words(results: Sequence[Result]) -> Iterator[str]:
    first, counts = results[0], results[0].counts
    others: dict[int, list[str]] = {}
    for measure, number in first.averaged.items():
        if number != first.evaluated and first.own_aggregate(measure) != "sum":
            others.setdefault(number, []).append(str(measure))
    besides = "; ".join(f"{number:,} for {', '.join(names)}" for number, names in others.items())
    evaluated = {result.name: result.evaluated for result in results}
    yield f"{_whose(evaluated)} evaluated{f' ({besides})' if besides else ''}"
    for key, words in (("missing", "not answered"), ("unjudged", "without judgments, left out")):
        numbers = {result.name: result.counts[key] for result in results}
        if any(numbers.values()):
            yield f"{_whose(numbers)} {words}"
    if counts["without_relevant"]:
        left_out = ", left out" if min(first.averaged.values(), default=counts["queries"]) < counts["queries"] else ""
        yield f"{counts['without_relevant']:,} without relevant documents{left_out}"


def _whose(numbers: dict[str, int]) -> str:
    """One number if it is the same for all runs, else whose is which."""
    if len(set(numbers.values())) == 1:
        return f"{next(iter(numbers.values())):,}"
    return ", ".join(f"{number:,} ({name})" for name, number in numbers.items() if number)


def _spread(shares: dict[str, float]) -> str:
    """A share, or each run's, or from the lowest to the highest of many."""
    if len({f"{share:.3f}" for share in shares.values()}) == 1:
        return f"{next(iter(shares.values())):.3f}"
    if len(shares) <= 4:
        return ", ".join(f"{share:.3f} ({name})" for name, share in shares.items())
    low, high = min(shares, key=lambda name: shares[name]), max(shares, key=lambda name: shares[name])
    return f"from {shares[low]:.3f} ({low}) to {shares[high]:.3f} ({high})"


# ---- equal scores ----------------------------------------------------------------------------------------------------


def band_sections(ties: TieBands, *, per_query: bool = False) -> Iterator[Section]:
    """A row per run and measure, or per query; whether a band is exact, where one is not."""
    rows = ties.rows(per_query=per_query)
    columns = [Column("run"), Column("measure"), *([Column("query", "query", key="query_id")] if per_query else [])]
    columns += [Column(head, "number") for head in ("value", "low", "expected", "high")]
    notes = ["low and high are what some order of equal scores gives, expected is the mean over all orders."]
    if not all(row["exact"] for row in rows):
        columns.append(Column("exact", "yes"))
        notes.append("Not exact: too many orders to try, the band is at least as wide.")
    if any(row["standard_error"] for row in rows):
        columns.append(Column("±", "number", key="standard_error"))
        notes.append("±: the standard error of an expectation that was sampled.")
    cells = [[row[column.key or column.head] for column in columns] for row in rows]
    yield Section("ties", "Equal scores", [Table("ties", "", columns, cells, notes), Table.of_rows(rows)])
