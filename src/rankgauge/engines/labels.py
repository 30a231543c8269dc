"""Judgments for runs in Spark: collected where they are few enough, else left where they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rankgauge.engines.blocks import Judged, unanswered
from rankgauge.engines.jobs import ID, SparkJudgments, check_types, collected, is_spark, only, quoted
from rankgauge.engines.joined import Universe
from rankgauge.matching.duplicates import judgments_once
from rankgauge.measures.aggregates import groups_of, query_table
from rankgauge.protocol import Protocol
from rankgauge.read import Judgments, JudgmentsSource, read_judgments
from rankgauge.read.names import find_columns
from rankgauge.read.rows import Ask, no_rows

__all__ = ["Labels"]


@dataclass(frozen=True, eq=False)
class Labels:
    """Judgments: here, as `record`, and with every pair once as `judged`; or in Spark, as `frame`."""

    origin: Any
    names: tuple[str, str, str] = ("", "", "")
    record: Judgments | None = None
    judged: Judged | None = None

    @classmethod
    def of(cls, source: JudgmentsSource, broadcast: int) -> Labels:
        """The judgments, collected where they are few enough."""
        judgments = source.origin
        if not isinstance(source, SparkJudgments):
            record = source.read()
            return cls(judgments, record=record, judged=Judged.of(judgments_once(record), record.source))
        ask = Ask("judgments", source.columns)
        names = find_columns(judgments.columns, ask, "judgments")
        if judgments.count() > broadcast:
            check_types(judgments, ask, "judgments")
            return cls(judgments, names)
        record = read_judgments(collected(judgments.select(*map(quoted, dict.fromkeys(names)))), columns=source.columns)
        if not len(record):
            raise no_rows("judgments", ask)
        return cls(judgments, names, record, Judged.of(judgments_once(record), record.source))

    def some(self, queries: Iterable[str]) -> Judged | None:
        """The judgments of a few queries."""
        if self.judged is not None:
            own = self.judged.some(queries)
            return None if own is None else Judged(own.columns, own.source)
        query, doc, number = map(quoted, self.names)
        rows = only(self.origin.selectExpr("*", f"cast({query} as string) as {ID}"), queries)
        rows = rows.selectExpr(f"{ID} as query_id", f"cast({doc} as string) as doc_id", f"{number} as relevance")
        record = read_judgments(collected(rows))
        return Judged.of(judgments_once(record), "judgments") if len(record) else None

    def universe(self, protocol: Protocol) -> Universe:
        """All judged queries, of judgments that are here."""
        assert self.judged is not None
        own = Judgments(self.judged.columns)
        return Universe(sorted(own.queries), lambda: unanswered(own, protocol), self.judged.source)

    def groups(self, by: Any) -> dict[str, str] | None:
        """Query → group; `by` may be a column of the judgments."""
        if isinstance(by, str) and is_spark(self.origin) and by in self.origin.columns:
            return groups_of("group", self._column(by, "group"))
        return groups_of(collected(by) if is_spark(by) else by, self.origin)

    def weights(self, weights: Any) -> dict[str, Any] | None:
        """Query → weight; `weights` may be a column of the judgments."""
        if weights is None:
            return None
        if isinstance(weights, str) and is_spark(self.origin) and weights in self.origin.columns:
            return query_table(self._column(weights, "weight"), "weight")
        return query_table(collected(weights) if is_spark(weights) else weights, "weight")

    def _column(self, column: str, name: str) -> Any:
        """A column of the judgments under another name, once for every query."""
        columns = self.origin.selectExpr(f"{quoted(self.names[0])} as query_id", f"{quoted(column)} as {name}")
        return collected(columns.distinct())
