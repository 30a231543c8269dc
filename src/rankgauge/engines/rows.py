"""The rows of runs in Spark: found where they lie, together, with their judgments, or counted."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rankgauge.engines.blocks import KIND, Block, Task, unanswered
from rankgauge.engines.jobs import (
    ID,
    ROW,
    SparkRun,
    answers,
    check_types,
    collected,
    count_rows,
    done,
    only,
    quoted,
    together,
)
from rankgauge.engines.joined import Universe, apart, found_in, sizes_of, without
from rankgauge.engines.labels import Labels
from rankgauge.engines.sparse import Key, Target, added, blocks_of_counts, targets_of
from rankgauge.errors import DuplicateError, InputError, ProtocolError, RankgaugeError, counted, warn
from rankgauge.matching.diagnose import warn_if_nothing_found
from rankgauge.protocol import REPEATING, Protocol
from rankgauge.read import Judgments, Run
from rankgauge.read.names import ask_of, find_columns, number_role
from rankgauge.read.rows import Ask, how_to_mend, no_rows
from rankgauge.validation.quick import Peek

if TYPE_CHECKING:
    from rankgauge.matching.hits import Hits
    from rankgauge.matching.match import Found

__all__ = ["Rows"]


class Rows:
    """The rows of one DataFrame, and what was found in them, rules by rules."""

    def __init__(self, run: SparkRun, name: str, system: str | None, labels: Labels, limits: dict[str, Any]) -> None:
        self.frame, self.mapped = run.origin, run.columns
        self.name, self.system, self.labels, self.limits = name, system, labels, limits
        if system is not None and system not in self.frame.columns:
            known = ", ".join(self.frame.columns)
            raise InputError(f"{name}: there is no column {system!r}; the columns are {known}")
        self._known: dict[Protocol, tuple[dict[str, list[Block]], Universe]] = {}

    def systems(self, protocol: Protocol) -> list[str]:
        """The systems, by name; one without a name where no column names them."""
        found = sorted(self._blocks(protocol)[0])
        if not found:
            raise no_rows(self.name, Ask("run"))
        return found

    def found(self, protocol: Protocol, system: str) -> Found:
        """What was found of a system."""
        blocks, universe = self._blocks(protocol)
        return found_in(blocks[system], universe, system or self.name, protocol)

    def warn_if_nothing_found(self, hits: Hits, protocol: Protocol, system: str) -> None:
        """Say so where no judged document was retrieved at all, with documents of both sides."""
        if len(hits.rank) or not hits.retrieved.any():
            return
        shown = hits.queries[int(hits.retrieved.argmax())]
        largest = [each.largest for each in self._blocks(protocol)[0][system] if each.largest is not None]
        docs = next((docs for query, docs in largest if query == shown), [])
        judged = self.labels.some([shown])
        assert judged is not None  # hits are of judged queries alone
        record = Judgments(judged.columns, source=judged.source)
        warn_if_nothing_found(record, Run({shown: dict.fromkeys(docs, 0.0)}, source=system or self.name), hits)

    def peek(self, hits: Hits, system: str) -> Peek:
        """The little that is kept of the run beside Hits."""
        blocks = self._blocks(hits.protocol)[0][system]
        rows = sum(sizes_of(blocks).values())
        samples: dict[str, list[str]] = {}
        for block in blocks[:20]:
            samples |= block.sample
        apart = hits.missing and hits.left_out
        there = {query for each in blocks for query in each.queries}
        missing = set(self._blocks(hits.protocol)[1].queries) - there if apart else ()
        extra = {query for each in blocks for query in each.others} if apart else ()
        return Peek(retrieved=samples, missing=missing, extra=extra, rows=rows)

    def _blocks(self, protocol: Protocol) -> tuple[dict[str, list[Block]], Universe]:
        if protocol not in self._known:
            self._known[protocol] = self._searched(protocol)
        return self._known[protocol]

    def _searched(self, protocol: Protocol) -> tuple[dict[str, list[Block]], Universe]:
        """The blocks of every system, no query in two of them; and the judged queries."""
        task, frame = self._task(protocol), self._selected(protocol)
        if self.labels.judged is None:
            blocks = done(self._with_judgments(frame, task), self._travelling(task))
        else:
            blocks = self._where_they_lie(frame, task)
        huge = {query for block in blocks for query in block.huge}
        more = self._counted(frame, task, huge) if huge else []
        blocks = [*without(blocks, huge), *more] if huge else blocks
        universe = self._universe(blocks, protocol)
        systems: dict[str, list[Block]] = {}
        for block in blocks:
            if not block.judged and (block.queries or block.others):
                systems.setdefault(block.system, []).append(block)
        return systems, universe

    def _universe(self, blocks: list[Block], protocol: Protocol) -> Universe:
        if self.labels.judged is not None:
            return self.labels.universe(protocol)
        judged = [each for each in blocks if each.judged]
        twice = sum(each.twice for each in judged)
        if twice:
            there = counted(twice, "judgment is", "judgments are")
            warn(f"judgments: {there} there twice with the same grade; counted once")
        return Universe.of(judged, "judgments")

    def _where_they_lie(self, frame: Any, task: Task) -> list[Block]:
        """Blocks of the rows as they lie, and of those queries together that lie apart; huge ones are named alone."""
        blocks = done(frame, task)
        if any(block.scattered for block in blocks):
            return done(together(frame, task), task._replace(whole=True))
        again = apart(blocks, judged=task.protocol.duplicates != "error")
        again -= {query for block in blocks for query in block.huge}
        sizes = sizes_of(blocks) if again else {}
        huge = [query for query in again if sizes[query] > task.huge]
        again -= {*huge}
        if huge:
            blocks = [*blocks, Block(huge=tuple(huge))]
        if not again:
            return blocks
        more = done(together(frame, task, again), task._replace(whole=True))
        named = [Block(huge=block.huge) for block in blocks if block.huge]
        return [*without(blocks, again), *named, *more]

    def _with_judgments(self, frame: Any, task: Task) -> Any:
        """The rows of every query with its judgments before them."""
        query, doc, number = self.labels.names
        check_types(frame, task.ask, self.name)
        judged = self.labels.origin.selectExpr(
            f"cast({quoted(query)} as string) as {ID}", f"cast({quoted(doc)} as string) as doc",
            f"cast({quoted(number)} as double) as number", "cast(null as string) as system", f"0 as {KIND}",
            f"monotonically_increasing_id() as {ROW}",
        )  # fmt: skip
        query, doc, number = (task.ask.columns or {}).values()
        ranked = frame.selectExpr(
            f"cast({quoted(query)} as string) as {ID}", f"cast({quoted(doc)} as string) as doc",
            f"cast({quoted(number)} as double) as number", f"{self._system_sql} as system", f"1 as {KIND}",
            f"monotonically_increasing_id() as {ROW}",
        )  # fmt: skip
        return judged.union(ranked).repartition(ID).sortWithinPartitions(ID, KIND, ROW)

    @property
    def _system_sql(self) -> str:
        return "cast(null as string)" if self.system is None else f"cast({quoted(self.system)} as string)"

    # ---- queries of millions -----------------------------------------------------------------------------------------

    def _counted(self, frame: Any, task: Task, huge: set[str]) -> list[Block]:
        """What is found in queries of too many documents for one task, by counting."""
        judged, protocol = self.labels.some(huge), task.protocol
        rows = self._numbered(frame, task, huge)
        rows = self._once(rows, protocol)
        targets: dict[Key, Target] = {}
        if judged is not None:
            pairs = [(query, doc) for query, doc, _ in Judgments(judged.columns)]
            wanted = frame.sparkSession.createDataFrame(pairs, "query string, doc string").hint("broadcast")
            targets = targets_of(collected(rows.join(wanted, on=["query", "doc"], how="left_semi")), judged, protocol)
        counts = added(map(pickle.loads, answers(rows, lambda batches: count_rows(batches, targets, protocol))))
        blocks = [*blocks_of_counts(counts, targets, judged, protocol)]
        if self.labels.judged is None and judged is not None:
            own = Judgments(judged.columns)
            blocks.append(Block(queries=sorted(own.queries), parts=unanswered(own, protocol), judged=True))
        return blocks

    def _numbered(self, frame: Any, task: Task, queries: Iterable[str]) -> Any:
        """Rows of some queries as system, query, doc, number and row."""
        query, doc, number = (quoted(name) for name in (task.ask.columns or {}).values())
        number = f"-cast({number} as double)" if task.ask.by == "rank" else f"cast({number} as double)"
        number = "-cast(row as double)" if task.protocol.order == "given" else number
        named = "''" if self.system is None else self._system_sql
        rows = frame.selectExpr("*", f"cast({query} as string) as {ID}", "monotonically_increasing_id() as row")
        rows = only(rows, queries)
        return rows.selectExpr(
            f"{named} as system", f"{ID} as query", f"cast({doc} as string) as doc", f"{number} as number", "row"
        )

    def _once(self, rows: Any, protocol: Protocol) -> Any:
        """The rows with every document once in its ranking, as the rules say."""
        kept = rows
        if protocol.same_id == "drop":
            kept = kept.where("doc != query")
        if protocol.only_positive:
            kept = kept.where("cast(number as float) > 0")
        keys = ["system", "query", "doc"]
        twice = _repeated(kept, keys)
        if twice is None:
            return rows
        if protocol.duplicates == "error" and protocol.depth is not None:  # beyond the depth it changes nothing
            place = "row_number() over (partition by system, query order by number desc, doc desc) as place"
            twice = _repeated(kept.selectExpr(*keys, place).where(f"place <= {protocol.depth}"), keys)
        if twice is not None and protocol.duplicates not in ("first", "best"):
            raise self._refused(twice, protocol)
        kept = kept.selectExpr(*keys, "number", "row", "struct(row, number) as start")
        picked = kept.groupBy(*keys).agg({"number": "max", "start": "min"})
        number = "`min(start)`.number" if protocol.duplicates == "first" else "`max(number)`"
        return picked.selectExpr(*keys, f"{number} as number", "`min(start)`.row as row")

    def _refused(self, row: Any, protocol: Protocol) -> RankgaugeError:
        """The error for a document that is there twice in a query that is counted."""
        name, query, doc = row["system"] or self.name, row["query"], row["doc"]
        there = f"{name}: document {doc!r} is there twice in the ranking of query {query!r}"
        if protocol.duplicates not in REPEATING:
            return DuplicateError(f"{there}; {how_to_mend()}")
        return ProtocolError(
            f"{there}, which has so many documents that they are counted, and duplicates={protocol.duplicates} "
            "cannot be counted; choose first or best, or raise huge="
        )

    @cached_property
    def _names(self) -> list[str]:
        return [name for name in self.frame.columns if name != self.system]

    def _task(self, protocol: Protocol) -> Task:
        ask = ask_of(self._names, Ask("run", self.mapped, protocol.by, protocol.duplicates))
        query, doc, number = find_columns(self._names, ask, self.name)
        ask = ask._replace(columns={"query_id": query, "doc_id": doc, number_role(ask): number})
        return Task(ask, protocol, self.name, query, self.labels.judged, self.system, **self.limits)

    def _travelling(self, task: Task) -> Task:
        """The same of rows that have their judgments with them."""
        ask = task.ask._replace(columns={"query_id": ID, "doc_id": "doc", number_role(task.ask): "number"})
        asked = Ask("judgments", {"query_id": ID, "doc_id": "doc", "relevance": "number"})
        system = None if self.system is None else "system"
        return task._replace(ask=ask, asked=asked, query=ID, system=system, whole=True)

    def _selected(self, protocol: Protocol) -> Any:
        names = [*(self._task(protocol).ask.columns or {}).values(), *([self.system] if self.system else [])]
        return self.frame.select(*map(quoted, dict.fromkeys(names)))


def _repeated(rows: Any, keys: list[str]) -> Any:
    """A row of these columns that is there more than once; None where there is none."""
    return next(iter(rows.groupBy(*keys).count().where("count > 1").limit(1).collect()), None)
