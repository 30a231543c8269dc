"""A project as what is served: its labels, the last whole run of every system, and its texts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select

from rankgauge.errors import counted
from rankgauge.judge.evaluated import evaluated
from rankgauge.store import schema
from rankgauge.store.sources import Address, StoredLabels, StoredRun, sample_at, sample_of
from rankgauge.store.texts import newest_texts
from rankgauge.web.files import Files
from rankgauge.web.texts import Document, document_of

if TYPE_CHECKING:
    from rankgauge.protocol import Protocol
    from rankgauge.sampling.design import Per
    from rankgauge.stats.inference import Population
    from rankgauge.store.project import Project

__all__ = ["ProjectFiles", "files_of"]

KEPT: Final = 5_000  # texts of documents that are kept at a time


@dataclass(frozen=True, slots=True)
class ProjectFiles(Files):
    """Labels and runs of a project, as they are whenever they are read."""

    project: Project | None = None
    sampled: str | None = None  # the sample that was asked for; by default the one that the runs were made for

    def check(self) -> None:
        """Nothing is there before somebody has judged: pages say so, and judging goes on."""

    def again(self) -> ProjectFiles:
        """With the runs that have come since."""
        assert self.project is not None
        return files_of(
            self.project, self.protocol, self.measures, by=self.by, sampled=self.sampled, per=self.per,
            population=self.population,
        )  # fmt: skip

    def stages(self) -> Mapping[str, str]:
        """System → the one that it reranks, as rankgauge.toml has it."""
        assert self.project is not None
        systems = self.project.settings.get("systems", {})
        tables = {name: table for name, table in systems.items() if isinstance(table, dict)}
        return {name: table["rerank"] for name, table in tables.items() if "rerank" in table}

    def query_texts(self) -> Mapping[str, str]:
        """The texts of the store."""
        assert self.project is not None
        with self.project.store() as store:
            return {query.query_id: query.text for query in store.queries() if query.text}

    def document_texts(self) -> Mapping[str, Document]:
        """The texts of the store, read as they are asked for."""
        assert self.project is not None
        return StoredDocuments(self.project)

    def state(self) -> dict[str, Any]:
        """The last judgment and the last run."""
        assert self.project is not None
        columns = {"judgment": schema.judgment.c.judgment_id, "run": schema.run.c.run_id}
        with self.project.store() as store:
            asked = select(*(select(func.max(column)).scalar_subquery() for column in columns.values()))
            row = store.read(lambda connection: connection.execute(asked).one())
        return {what: number or 0 for what, number in zip(columns, row, strict=True)}

    def changes(self, then: Mapping[str, Any]) -> list[str]:
        """How many judgments and runs have come since."""
        now = self.state()
        more = {what: now[what] - then[what] for what in now}
        return [f"{counted(number, f'new {what}')} since this was read" for what, number in more.items() if number > 0]


class StoredDocuments(Mapping[str, Document]):
    """Document → its title and its text, as the store has it now; the last that were asked for are kept."""

    def __init__(self, project: Project) -> None:
        self.project, self.kept, self.lock = project, OrderedDict[str, Document | None](), Lock()

    def __getitem__(self, doc: str) -> Document:
        with self.lock:
            if doc not in self.kept:
                self.kept[doc] = self._read(doc)
            self.kept.move_to_end(doc)
            while len(self.kept) > KEPT:
                self.kept.popitem(last=False)
            found = self.kept[doc]
        if found is None:
            raise KeyError(doc)
        return found

    def _read(self, doc: str) -> Document | None:
        with self.project.store() as store:
            found = store.read(lambda connection: newest_texts(connection, [doc]))
        return document_of(found[doc].fields) if doc in found else None

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def files_of(
    project: Project,
    protocol: Protocol,
    measures: Sequence[str] = (),
    *,
    by: str | None = None,
    sampled: str | None = None,
    per: Per | None = None,
    population: Population | None = None,
) -> ProjectFiles:
    """The labels of a project and the last whole run of every system that has one, measured as [evaluate] says: in the
    order of its systems, the baseline first."""
    told = evaluated(project)
    with project.store() as store:
        whole = {run.system for run in store.runs() if run.state == "whole"}
    order = [told.baseline, *project.settings.get("systems", {}), *sorted(whole)]
    runs = {name: StoredRun(Address.of(f"@{name}", project)) for name in dict.fromkeys(order) if name in whole}
    labels = StoredLabels(Address.of("@labels", project))
    sample = sample_of(runs.values()) if sampled is None else sample_at(sampled, lambda: project)
    return ProjectFiles(
        labels, runs, protocol, tuple(measures or told.measures), by, sample=sample, per=per or told.per,
        population=population or told.population, project=project, sampled=sampled,
    )  # fmt: skip
