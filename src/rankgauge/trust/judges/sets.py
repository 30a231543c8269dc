"""Judgment sets → one table of pairs × judges; what to do where a set judges a pair more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from rankgauge.errors import DuplicateError, InputError, choices, counted, warn
from rankgauge.matching.parts import checked
from rankgauge.measures.gains import number_text
from rankgauge.read import Columns, Judgments, JudgmentsSource, read_judgments

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Floats, Ints


__all__ = ["POLICIES", "Sets", "judged_once", "sets_of"]

EXAMPLES: Final = 3


def _majority(grades: list[float]) -> float:
    """The grade given most often; of several the one nearest to the mean, and of two equally near the lower."""
    most = max(grades.count(grade) for grade in grades)
    often = sorted({grade for grade in grades if grades.count(grade) == most})
    mean = sum(grades) / len(grades)
    return min(often, key=lambda grade: (abs(grade - mean), grade))


# Policy → what becomes of the grades that one judge gave to one pair, in the order given.
Repeated: TypeAlias = Literal["first", "last", "majority", "mean"]
POLICIES: Final[dict[Repeated, Callable[[list[float]], float]]] = {
    "first": lambda grades: grades[0],
    "last": lambda grades: grades[-1],
    "majority": _majority,
    "mean": lambda grades: sum(grades) / len(grades),
}


@dataclass(frozen=True, eq=False)
class Sets:
    """What several judges said: pair × judge, NaN where a judge did not; the scale; the sets themselves."""

    judges: list[str]
    judgments: dict[str, Judgments]
    queries: list[str]
    query: Ints  # the query of each pair, as an index
    docs: list[str]
    table: Floats
    grades: Floats

    @property
    def codes(self) -> Ints:
        """The table with grades as places in the scale, −1 where missing."""
        known = ~np.isnan(self.table)
        places = np.searchsorted(self.grades, np.where(known, self.table, self.grades[0]))
        return np.where(known, places, -1).astype(np.int64)


def sets_of(sources: Mapping[str, Any], *, grades: Iterable[float] | None = None, repeated: str | None = None) -> Sets:
    """The table of several judgment sets."""
    if len(sources) < 2:
        there = f"there is only one judge ({', '.join(sources)})" if sources else "there is no judge"
        raise InputError(f"{there}; agreement needs two sets or more")
    judgments = {name: judged_once(source, repeated) for name, source in sources.items()}
    queries = sorted(set().union(*(judged.queries for judged in judgments.values())))
    whole = _joined(judgments, queries)
    table = np.stack([whole[f"judge{at}"].to_numpy() for at in range(len(judgments))], axis=1)
    table = table.astype(np.float64)
    if not ((~np.isnan(table)).sum(axis=1) >= 2).any():
        raise InputError(_nothing_shared(judgments))
    query = whole["query"].to_numpy().astype(np.int64)
    return Sets(list(judgments), judgments, queries, query, whole["doc"].to_list(), table, _scale(table, grades))


def _joined(judgments: Mapping[str, Judgments], queries: list[str]) -> pl.DataFrame:
    """Query (an index), document, and a column of grades per judge, in the order of the ids."""
    import polars as pl

    place = {query: at for at, query in enumerate(queries)}
    whole = None
    for at, judged in enumerate(judgments.values()):
        rows = judged.columns
        index = np.array([place[query] for query in rows.queries], np.int64)[rows.query]
        frame = pl.DataFrame({"query": index, "doc": rows.doc, f"judge{at}": rows.number})
        keys = ["query", "doc"]
        whole = frame if whole is None else whole.join(frame, on=keys, how="full", coalesce=True)
    assert whole is not None
    return whole.sort("query", "doc").with_columns(pl.col("^judge.*$").fill_null(float("nan")))


def _scale(table: Floats, grades: Iterable[float] | None) -> Floats:
    there = np.unique(table[~np.isnan(table)])
    if grades is None:
        return there
    scale = np.array(sorted(set(map(float, grades))))
    outside = np.setdiff1d(there, scale)
    if len(outside):
        known = ", ".join(map(number_text, scale.tolist()))
        raise InputError(f"a judge gave grade {number_text(float(outside[0]))}, which is outside the scale {known}")
    return scale


def _nothing_shared(judgments: Mapping[str, Judgments]) -> str:
    shown = []
    for name, judged in judgments.items():
        query, doc, _ = next(iter(judged))
        shown.append(f"{name} has query {query!r}, document {doc!r}")
    return f"no pair is judged by two judges; are the ids written alike? {'; '.join(shown)}"


# ---- a pair more than once -------------------------------------------------------------------------------------------


def judged_once(source: Any, repeated: str | None = None) -> Judgments:
    """Judgments with every pair once: repeated grades that agree are told, others refused unless a policy is named."""
    if repeated is not None and repeated not in POLICIES:
        raise InputError(f"repeated={repeated!r} is no policy; expected {choices(POLICIES)}")
    by_rule = repeated is None and isinstance(source, JudgmentsSource) and source.settles
    judged = checked(read_judgments(source, repeated=not by_rule))
    if judged.is_nested:
        return judged
    rows = judged.columns
    groups = _repeated(rows)
    if not groups:
        return judged
    conflicts = {pair: grades for pair, grades in groups.items() if len(set(grades)) > 1}
    if conflicts and repeated is None:
        raise DuplicateError(_refusal(judged.source, rows, groups, conflicts))
    if not conflicts:
        pairs = counted(len(groups), "pair is", "pairs are")
        warn(f"{judged.source}: {pairs} judged more than once with the same grade; counted once")
    settled = POLICIES[repeated or "first"]
    return _settled(judged, {pair: settled(grades) for pair, grades in groups.items()})


def _repeated(rows: Columns) -> dict[tuple[int, str], list[float]]:
    """(query, document) → grades in the order given, of pairs that are there more than once."""
    import polars as pl

    frame = pl.DataFrame({"query": rows.query, "doc": rows.doc, "number": rows.number})
    several = frame.filter(pl.struct("query", "doc").is_duplicated())
    grouped = several.group_by("query", "doc", maintain_order=True).agg("number")
    return {(query, doc): grades for query, doc, grades in grouped.iter_rows()}


def _settled(judged: Judgments, grades: Mapping[tuple[int, str], float]) -> Judgments:
    """The judgments with one row for every pair, at the place of its first."""
    rows = judged.columns
    pairs = list(zip(rows.query.tolist(), rows.doc.to_list(), strict=True))
    first = dict(zip(reversed(pairs), reversed(range(len(pairs))), strict=True))
    places = np.array(sorted(first.values()), np.int64)
    number = [grades.get(pairs[at], rows.number[at]) for at in places.tolist()]
    columns = Columns(rows.queries, rows.query[places], rows.doc.gather(places), np.array(number, np.float64))
    return Judgments(columns, source=judged.source)


def _refusal(
    name: str, rows: Columns, groups: Mapping[Any, list[float]], conflicts: Mapping[tuple[int, str], list[float]]
) -> str:
    examples = []
    for (query, doc), grades in list(conflicts.items())[:EXAMPLES]:
        given = ", ".join(map(number_text, grades))
        examples.append(f"query {rows.queries[query]!r}, document {doc!r} has grades {given}")
    pairs = len(rows) - sum(map(len, groups.values())) + len(groups)
    return (
        f"{name}: {len(rows):,} rows judge {counted(pairs, 'pair')}; {counted(len(groups), 'pair is', 'pairs are')} "
        f"there more than once, {len(conflicts):,} of them with different grades, such as {'; '.join(examples)}. Keep "
        f"one grade for each, or name a policy: --repeated {'|'.join(POLICIES)} (repeated= in Python)"
    )
