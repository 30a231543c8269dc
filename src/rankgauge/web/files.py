"""What to serve: where judgments, runs and texts are, by which rules runs are measured, and what has changed since."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankgauge.read.sources import find_source
from rankgauge.read.tables import read_texts
from rankgauge.web.contents import state_of
from rankgauge.web.texts import Document, read_documents

if TYPE_CHECKING:
    from rankgauge.protocol import Protocol
    from rankgauge.read import JudgmentsSource, RecordSource, RunSource
    from rankgauge.sampling.design import Per
    from rankgauge.sampling.sample import Sample
    from rankgauge.stats.inference import Population

__all__ = ["Files", "is_file", "table_path"]


@dataclass(frozen=True, slots=True)
class Files:
    """What to serve: where judgments, runs and texts are, and by which rules runs are measured."""

    judgments: JudgmentsSource
    runs: Mapping[str, RunSource]
    protocol: Protocol
    measures: tuple[str, ...] = ("nDCG@10",)
    by: str | None = None
    queries: str | None = None
    documents: str | None = None
    sample: Sample | None = None  # of a log, of which means are
    per: Per = "search"
    population: Population | None = None

    def query_texts(self) -> Mapping[str, str]:
        """The texts of queries."""
        return {} if self.queries is None else read_texts(self.queries, "query_id")

    def document_texts(self) -> Mapping[str, Document]:
        """The texts of documents."""
        return {} if self.documents is None else read_documents(self.documents)

    def again(self) -> Files:
        """What to serve as it is now."""
        return self

    def stages(self) -> Mapping[str, str]:
        """System → the one whose documents it is known to rerank."""
        return {}

    def state(self) -> dict[str, Any]:
        """What everything is like now."""
        return {path: state_of(path) for path in self.paths}

    def changes(self, then: Mapping[str, Any]) -> list[str]:
        """What has become of the files since: a sentence for each that has changed or is gone."""
        return [*_changes(then)]

    def check(self) -> None:
        """Refuse what is not there, before anybody is told that it is served."""
        for source in (self.judgments, *self.runs.values()):
            if isinstance(source.origin, (str, os.PathLike)):
                find_source(source.origin)
        for table in filter(None, (self.by, self.queries, self.documents)):
            find_source(table_path(table))

    @property
    def paths(self) -> list[str]:
        """Every file."""
        sources = [self.judgments, *self.runs.values()]
        tables = [table_path(each) for each in (self.by, self.queries, self.documents) if each]
        return [*(os.fspath(each.origin) for each in sources if is_file(each)), *tables]


def table_path(named: str) -> str:
    """The file of FILE or FILE:COLUMN."""
    return named if os.path.exists(named) else named.rpartition(":")[0] or named


def is_file(source: RecordSource) -> bool:
    """Whether a source is a file."""
    return isinstance(source.origin, (str, os.PathLike)) and os.path.isfile(source.origin)


def _changes(read_at: Mapping[str, Any]) -> Iterator[str]:
    for path, then in read_at.items():
        now = state_of(path)
        if then is None:
            continue  # it was never there
        if now is None:
            yield f"{os.path.basename(path)} is gone; what was read of it is still shown"
        elif now != then:
            yield f"{os.path.basename(path)} has changed since it was read"
