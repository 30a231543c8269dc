"""A sample of queries: what was drawn of what, what was folded, and what an older sample has in common with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.sampling.draw import METHODS
from rankgauge.sampling.log import FOLDS
from rankgauge.show.cells import cell_text
from rankgauge.show.model import Block, Bullets, Column, Notes, Section, Table, Text

if TYPE_CHECKING:
    from rankgauge.sampling.sample import Sample

__all__ = ["FIXED", "sections", "sentences"]

SHOWN: Final = 10  # queries in a table for people
FIXED: Final = "a fixed list: what is measured on it says nothing of other queries, and there is no interval."


def sections(sample: Sample) -> Iterator[Section]:
    """The whole; programs get every query."""
    blocks: list[Block] = [Text(words) for words in sentences(sample)]
    if sample.fixed:
        blocks.append(Bullets([FIXED], "warning"))
    if sample.parts:
        blocks.append(_strata_table(sample))
    blocks += [_query_table(sample), Table.of_rows(sample.rows(), "queries")]
    if sample.shared is not None:
        rows = [row for row in sample.rows() if row["query_id"] in set(sample.shared.new)]
        blocks.append(Table.of_rows(rows, "new", heads=sample.rows()[0]))
    yield Section("sample", "Sample", [*blocks, Notes([*_notes(sample)])])


def sentences(sample: Sample) -> Iterator[str]:
    """What was drawn, what was folded, and what is new."""
    log = sample.log
    if log is not None:
        searches = int(log.traffic.sum())
        share = cell_text(float(sample.traffic.sum()) / searches, Column("", "share", 1))
        yield (
            f"{len(sample):,} of {counted(len(log), 'query', 'queries')} of {log.source}, method "
            f"{sample.how['method']}: {share} of {counted(searches, 'search', 'searches')}."
        )
        if log.spellings > len(log):
            such = "; ".join(" = ".join(each) for each in log.examples)
            yield (
                f"Folded {log.spellings - len(log):,} of {log.spellings:,} spellings ({FOLDS[sample.how['fold']]}), "
                f"such as {such}."
            )
    if sample.shared is not None:
        old = sample.shared
        yield (
            f"{len(old.kept):,} are in {old.source}, {counted(len(old.new), 'is', 'are')} new to judge, "
            f"{len(old.gone):,} of {old.source} left out."
        )


def _strata_table(sample: Sample) -> Table:
    columns = [Column("stratum"), *(Column(head, "count") for head in ("queries", "searches", "sampled", "sure"))]
    return Table("strata", "Drawn of the log", columns, [list(part) for part in sample.parts])


def _query_table(sample: Sample) -> Table:
    """The queries of most traffic."""
    kinds = {"query_id": "query", "traffic": "count", "inclusion": "number"}
    rows = sorted(sample.rows(), key=lambda row: (-row["traffic"], row["query_id"]))[:SHOWN]
    heads = [name for name in rows[0] if name != "need" or any(sample.needs)]
    caption = "Queries" if len(sample) <= SHOWN else f"The {SHOWN} queries of most traffic"
    cells: list[list[Any]] = [[row[name] for name in heads] for row in rows]
    return Table("most", caption, [Column(name, kinds.get(name, "text")) for name in heads], cells)


def _notes(sample: Sample) -> Iterator[str]:
    if sample.how:
        yield f"{sample.how['method']}: {METHODS[sample.how['method']]}; seed {sample.how['seed']}."
    yield "inclusion: how likely the query was to be drawn; sure: it is in every sample of this size."
    if len(sample) > SHOWN:
        yield "-o queries.tsv writes all of them."
