"""Several runs side by side: of each the rows of the same queries, of as many queries at a time as memory has room for.

Runs in memory are cut. Of larger ones the rows that are wanted are held where there is room for all of them, and
otherwise first put into temporary files, a part for each group of queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import way
from rankgauge.read.blocks import Streamed
from rankgauge.read.records import Columns, Run
from rankgauge.read.spill import Parts, parts

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Beside", "side_by_side"]

MOST: Final = 512  # groups, each of which is a file for every run


class Beside:
    """Runs, of which the queries in code-point order are looked at in groups."""

    def __init__(self, runs: Mapping[Any, Run | Streamed], queries: Sequence[str], kept: ExitStack) -> None:
        self.queries = sorted(queries)
        large = {key: run for key, run in runs.items() if isinstance(run, Streamed)}
        rows = sum(run.pieces.number() for run in large.values())
        room = min((run.size.together for run in large.values()), default=1)
        number = max(1, min(-(-rows // room), len(self.queries), MOST))
        self.cuts = [at * len(self.queries) // number for at in range(number + 1)]
        self.runs, self.parts = {**runs}, {}
        for key, run in large.items():
            if number == 1:
                found = run.only(set(self.queries))
                self.runs[key] = found if len(found) else run  # which knows what it has instead
            else:
                self.parts[key] = self._apart(run, kept)

    def _apart(self, run: Streamed, kept: ExitStack) -> Parts:
        """The rows of the run in files, a part for each group."""
        number = {query: at for at, query in enumerate(self.queries)}
        group = np.searchsorted(self.cuts, np.arange(len(self.queries)), side="right").astype(np.uint16) - np.uint16(1)
        mine = kept.enter_context(ExitStack())
        bound = way("memory=", "--memory")
        instead = f"give more {bound}" if bound else "free some memory"

        def put(blocks: Iterator[Run]) -> Parts:
            import polars as pl

            mine.close()  # what was put before the file had to be read in another way
            found = mine.enter_context(parts(len(self.cuts) - 1, "a large run", instead))
            for block in blocks:
                rows = block.only(number.keys()).columns
                if len(rows):
                    query = np.array([number[each] for each in rows.queries], np.int32)[rows.query]
                    found.add(pl.DataFrame({"query": query, "doc": rows.doc, "number": rows.number}), group[query])
            return found

        return run.through(put)

    def __iter__(self) -> Iterator[tuple[list[str], dict[Any, Run]]]:
        """Each group: its queries, and their rows of every run. What was in files can be gone through once."""
        for at, (start, end) in enumerate(pairwise(self.cuts)):
            queries = self.queries[start:end]
            yield queries, {key: self._rows(key, run, at, queries) for key, run in self.runs.items()}

    def _rows(self, key: Any, run: Run | Streamed, at: int, queries: list[str]) -> Run:
        if not isinstance(run, Streamed):
            found = run.only(set(queries)) if len(self.cuts) > 2 else run
            return found if len(found) else Run({query: {} for query in queries}, by=run.by, source=run.source)
        frame = self.parts[key].take(at)
        return run.of_rows({query: {} for query in queries} if frame is None else self._columns(frame))

    def _columns(self, frame: pl.DataFrame) -> Columns:
        """The rows of a part."""
        there, query = np.unique(frame["query"].to_numpy(), return_inverse=True)
        names = [self.queries[each] for each in there.tolist()]
        return Columns(names, query.astype(np.int32), frame["doc"], frame["number"].to_numpy())


@contextmanager
def side_by_side(runs: Mapping[Any, Run | Streamed], queries: Sequence[str]) -> Iterator[Beside]:
    """The runs with these queries; temporary files are there as long as they are looked at."""
    with ExitStack() as kept:
        yield Beside(runs, queries, kept)
