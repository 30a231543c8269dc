"""The pipeline as one function: read → match → measure → Result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import InputError, MeasureError, ProtocolError, counted, nearest, warn
from rankgauge.matching.hits import Hits
from rankgauge.matching.match import match
from rankgauge.measures import Measure, as_written, parse
from rankgauge.measures.aggregates import checked_weights
from rankgauge.measures.bands.notes import tie_warnings
from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.read import Judgments, Run, read_judgments, read_run
from rankgauge.read.records import id_text
from rankgauge.result import Result
from rankgauge.validation.peek import Peek, peek

if TYPE_CHECKING:
    from rankgauge.dialects import Dialect
    from rankgauge.matching.hits import Bools, Floats

__all__ = [
    "chosen_dialect",
    "evaluate",
    "evaluate_in_dialect",
    "groups_of",
    "masks_of",
    "measure_hits",
    "measure_in_dialect",
    "measure_run",
    "ndcg",
    "query_table",
    "reader",
    "weights_of",
]


def evaluate(
    judgments: Any,
    run: Any,
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    *,
    protocol: Protocol | Mapping[str, Any] = DEFAULT,
    dialect: str | Dialect | None = None,
    weights: Any = None,
    by: Any = None,
    name: str = "",
) -> Result:
    """Measure a run against judgments.

    Judgments and run may be paths, frames, dicts of dicts or rows; `weights` maps queries to weights, `by` queries to
    groups (a mapping, a frame or a file with a query column; or the name of a column of the judgments frame). `dialect`
    names another tool, whose number is then reproduced: it brings its own protocol and definitions. Where equal scores
    decide about more than 0.005 of a value, a RankgaugeWarning says so; `result.notes` has all there is to say.

    >>> evaluate({"q1": {"d1": 2, "d2": 1}}, {"q1": {"d2": 0.9, "d1": 0.4}}, "nDCG@10")["nDCG@10"]
    0.8597186998521971
    """
    parsed = _parsed(measures, as_written if dialect is not None else parse)
    protocol = protocol if isinstance(protocol, Protocol) else Protocol.from_dict(protocol)
    groups = groups_of(by, judgments)
    if dialect is not None:
        spoken = chosen_dialect(dialect, protocol)
        judged, read = read_judgments(judgments), reader(run)
        return evaluate_in_dialect(spoken, judged, read, parsed, weights=weights, groups=groups, name=name)
    judged, ranked = read_judgments(judgments), read_run(run, by=protocol.by, duplicates=protocol.duplicates)
    result = measure_run(judged, ranked, protocol, parsed, weights=weights, groups=groups, name=name or ranked.source)
    if not result.hits.averaged and (result.hits.tied > 1).any():
        for message in tie_warnings([result]):
            warn(message)
    return result


def _parsed(measures: Any, read: Callable[[str], Measure]) -> list[Measure]:
    single = isinstance(measures, (str, Measure)) or not isinstance(measures, Iterable)
    wanted = [measures] if single else list(measures)
    for each in wanted:
        if not isinstance(each, (str, Measure)):
            raise MeasureError(f"a measure is a text such as 'nDCG@10', not {each!r}")
    return [read(str(each)) for each in wanted]


def measure_run(
    judgments: Judgments, run: Run, protocol: Protocol, measures: Iterable[Measure], *, name: str, **more: Any
) -> Result:
    """Match and measure what was read already; `more` is what `measure_hits` takes."""
    hits = match(judgments, run, protocol)
    seen = peek(judgments, run, hits)
    return measure_hits(hits, measures, name=name, judgments=judgments, seen=seen, **more)


def measure_hits(
    hits: Hits,
    measures: Iterable[Measure],
    *,
    weights: Any = None,
    groups: Mapping[str, str] | None = None,
    name: str = "",
    judgments: Judgments | None = None,
    seen: Peek | None = None,
) -> Result:
    """The second half of `evaluate`, for Hits that are there already."""
    values = {measure: measure(hits) for measure in measures}
    return Result(
        name,
        hits,
        values,
        weights_of(weights, hits.queries) if weights is not None else None,
        masks_of(groups, hits.queries) if groups is not None else {},
        judgments=judgments,
        peek=seen,
    )


def chosen_dialect(dialect: str | Dialect, protocol: Protocol) -> Dialect:
    """The dialect of this name; it cannot be combined with rules."""
    if protocol != DEFAULT:
        raise ProtocolError(f"a dialect brings its own rules; give either the dialect or {protocol}")
    from rankgauge.dialects import find_dialect

    return find_dialect(dialect)


def reader(run: Any) -> Callable[[Protocol], Run]:
    """How to read a run for a protocol; once for each way of reading it."""

    @functools.cache
    def read(by: str, duplicates: str) -> Run:
        return read_run(run, by=by, duplicates=duplicates)

    return lambda protocol: read(protocol.by, protocol.duplicates)


def evaluate_in_dialect(
    dialect: Dialect,
    judgments: Judgments,
    read: Callable[[Protocol], Run],
    measures: Iterable[Measure],
    *,
    name: str,
    **more: Any,
) -> Result:
    """What another tool says of what can be read; `more` is what `measure_in_dialect` takes."""
    result = measure_in_dialect(dialect, measures, lambda rules: match(judgments, read(rules), rules), **more)
    ranked = read(dialect.protocol)
    seen = peek(judgments, ranked, result.hits)
    return replace(result, name=name or ranked.source, judgments=judgments, peek=seen)


def measure_in_dialect(
    dialect: Dialect,
    measures: Iterable[Measure],
    matched: Callable[[Protocol], Hits],
    *,
    weights: Any = None,
    groups: Mapping[str, str] | None = None,
) -> Result:
    """What another tool says: its rules and definitions, rounded as it rounds, under the names that were asked for."""
    own = {measure: dialect.own(measure) for measure in measures}
    protocols = dict.fromkeys([dialect.protocol, *(each.protocol for each in own.values())])
    hits = {protocol: matched(protocol) for protocol in protocols}
    values = {measure: each.rounded(each.measure(hits[each.protocol])) for measure, each in own.items()}
    main = hits[dialect.protocol]
    if dialect.undefined_ties and ((main.tied > 1) & (main.retrieved[main.query] > dialect.stable_up_to)).any():
        warn(f"{dialect.name}: the files hold equal scores, and their order is not defined: {dialect.undefined_ties}")
    weight = weights_of(weights, main.queries) if weights is not None else None
    masks = masks_of(groups, main.queries) if groups is not None else {}
    own_hits = {measure: hits[each.protocol] for measure, each in own.items()}
    return Result("", main, values, weight, masks, dialect=dialect, own_hits=own_hits)


def ndcg(
    grades: Iterable[float],
    k: int | None = None,
    *,
    gain: str | Mapping[float, float] = "linear",
    discount: str = "log2",
    ideal: Iterable[float] | None = None,
) -> float:
    """nDCG@k of grades in rank order; `ideal` are the grades of all judgments, when more were judged than retrieved.

    >>> round(ndcg([3, 2, 3, 0, 1, 2, 0, 1, 0, 2], k=10, gain="exp"), 6)
    0.936002
    """
    from rankgauge.matching.grades import hits_of_grades
    from rankgauge.measures.gains import gain_text

    text = f"nDCG(gain={gain_text(gain)},discount={discount})" + (f"@{k}" if k is not None else "")
    return float(parse(text)(hits_of_grades(grades, ideal))[0])


def weights_of(weights: Any, queries: list[str]) -> Floats:
    """One weight per query; a query without one is an error."""
    table = query_table(weights, "weight")
    missing = [query for query in queries if query not in table]
    if missing:
        raise InputError(
            f"no weight for {counted(len(missing), 'query', 'queries')}, such as {missing[0]!r}; give every query one"
        )
    try:
        result = np.array([float(table[query]) for query in queries])
    except (TypeError, ValueError) as error:
        raise InputError(f"a weight is not a number: {error}") from None
    return checked_weights(result)


def masks_of(groups: Mapping[str, str], queries: list[str]) -> dict[str, Bools]:
    """Group → which queries are in it, in order of first appearance; queries in no group are in none."""
    known = [groups.get(query) for query in queries]
    present = set(known)
    names = [name for name in dict.fromkeys(groups.values()) if name in present]
    if not names:
        known_one = nearest(queries[0], list(groups)[:1000]) or next(iter(groups), "none")
        raise InputError(f"no query is in any group: a query is {queries[0]!r}, the groups know {known_one!r}")
    return {name: np.fromiter((group == name for group in known), bool, len(known)) for name in names}


def groups_of(by: Any, judgments: Any) -> dict[str, str] | None:
    """Query → group, from a mapping, a frame, a file, or the name of a column of the judgments frame."""
    if by is None:
        return None
    if isinstance(by, str):
        from rankgauge.read.query_tables import column_of_frame

        column = column_of_frame(judgments, by)
        if column is not None:
            return column
    return {query: str(group) for query, group in query_table(by, "group").items() if group not in (None, "")}


def query_table(source: Any, what: str) -> dict[str, Any]:
    """Query → value, from a mapping, a frame or a file."""
    if isinstance(source, Mapping):
        return {id_text(query): value for query, value in source.items()}
    from rankgauge.read.query_tables import read_query_table

    return read_query_table(source, what)
