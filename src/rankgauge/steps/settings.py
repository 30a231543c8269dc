"""What rankgauge.toml says of the loop, all of it checked before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError, choices, unknown
from rankgauge.judge.config import JudgeConfig, find_judge
from rankgauge.judge.evaluated import EVALUATE, TEXTS, evaluated
from rankgauge.judge.pool import ORDERS
from rankgauge.sampling.draw import METHODS
from rankgauge.steps.looped import ALL
from rankgauge.store.project import FILE
from rankgauge.systems.call import function_of
from rankgauge.systems.config import (
    TABLE,
    TEXT,
    Config,
    Documents,
    Key,
    check_keys,
    config_of,
    documents_of,
    is_texts,
    number,
    one_of,
)
from rankgauge.trust.judges.sets import POLICIES

if TYPE_CHECKING:
    from rankgauge.sampling.design import Per
    from rankgauge.stats.inference import Population
    from rankgauge.store.project import Project

__all__ = ["Settings", "read_settings"]

ALLOCATED: Final = Key(lambda value: isinstance(value, str | dict), '"equal", "neyman" or a table of stratum = number')
RANKS: Final = Key(
    lambda value: isinstance(value, list) and all(isinstance(each, str) or is_texts(each) for each in value),
    "a list of judges, those of one rank in brackets",
)
BAR: Final = Key(lambda value: isinstance(value, int | float | dict), "{ pairs = 30, queries = 8, kappa = 0.2 }")
QUERIES: Final = {
    "log": TEXT, "file": TEXT, "sample": number(2, whole=True), "method": one_of(*METHODS), "strata": TEXT,
    "allocate": ALLOCATED, "fold": one_of("text", "words"), "seed": number(0, whole=True), "columns": TABLE,
}  # fmt: skip
POOL: Final = {
    "depth": number(1, whole=True), "take": number(1, whole=True), "order": one_of(*ORDERS),
    "seed": number(0, whole=True),
}  # fmt: skip
# Section → its keys; tables of systems and judges, and [documents], are checked where they are read.
SECTIONS: Final[dict[str, dict[str, Key] | None]] = {
    "project": {"name": TEXT, "db": TEXT},
    "documents": None,
    "queries": QUERIES,
    "systems": None,
    "pool": POOL,
    "judges": None,
    "judge": {"by": TEXTS, "repeats": number(1, whole=True), "check": TEXT, "bar": BAR},
    "labels": {"from": RANKS, "policy": one_of(*POLICIES)},
    "evaluate": EVALUATE,
}
REPORT: Final = "out/report.html"


@dataclass(frozen=True)
class Settings:
    """The loop of a project: where its queries come from, which systems are asked, who judges, what is measured."""

    project: Project
    where: str
    queries: Mapping[str, Any]
    systems: Mapping[str, Config]  # each after the one that it reranks
    pool: Mapping[str, Any]
    judges: Mapping[str, JudgeConfig]
    repeats: int
    check: Path | None
    documents: Documents | None
    measures: tuple[str, ...]
    baseline: str | None
    per: Per
    population: Population | None
    report: Path

    @property
    def log(self) -> Path:
        """The log that queries are drawn of."""
        path = self.path(self.queries["log"])
        if not path.is_file():
            raise InputError(f"{path}: there is no such file; [queries] log names it")
        return path

    @property
    def first(self) -> str:
        """The system that the others are compared with."""
        return self.baseline or next(iter(self.systems))

    def path(self, name: str) -> Path:
        """A file of the project."""
        return self.project.folder / name

    def named(self, again: Iterable[str]) -> frozenset[str]:
        """The systems that are to be asked again: those of these names, or all."""
        names = {*again}
        for name in sorted(names - {*self.systems, ALL}):
            raise InputError(unknown(f"--again: there is no system {name!r}", name, self.systems))
        return frozenset(self.systems if ALL in names else names)


def read_settings(project: Project) -> Settings:
    """The settings of a project, checked: sections, keys, values, and the names that they use."""
    where = str(project.folder / FILE)
    told = project.settings
    for name, table in told.items():
        if name not in SECTIONS:
            raise InputError(unknown(f"{where}: there is no section [{name}]", name, SECTIONS))
        if not isinstance(table, dict):
            raise InputError(f"{where}: {name} is to be a section: [{name}]")
        keys = SECTIONS[name]
        if keys is not None:
            check_keys(table, keys, f"{where}: [{name}]")
    queries, judge = (told.get(name, {}) for name in ("queries", "judge"))
    _check_queries(queries, where)
    systems = _systems(project, where)
    judges = {name: find_judge(project, name) for name in judge.get("by", told.get("judges", {}))}
    measures, baseline, per, population = evaluated(project)
    _ = project.bar  # what is wrong with it is said now
    if baseline is not None and baseline not in systems:
        raise InputError(unknown(f"{where}: [evaluate] baseline = {baseline!r} is no system", baseline, systems))
    configs: tuple[Config | JudgeConfig, ...] = (*systems.values(), *judges.values())
    for each in configs:  # functions are looked up now: an hour later is too late
        for name in {"call", "embed"} & {*each.table}:
            function_of(each.table[name], each)
    check = project.folder / judge["check"] if "check" in judge else None
    if check is not None and not check.is_file():
        made = "rankgauge store export @people people.txt"
        raise InputError(f"{where}: [judge] check: there is no file {check}; to make one of stored labels: {made}")
    return Settings(
        project, where, queries, systems, told.get("pool", {}), judges, judge.get("repeats", 1), check,
        documents_of(told, project.folder, where), measures, baseline, per, population,
        project.folder / told.get("evaluate", {}).get("report", REPORT),
    )  # fmt: skip


def _check_queries(queries: Mapping[str, Any], where: str) -> None:
    place = f"{where}: [queries]"
    if "log" in queries and "file" in queries:
        raise InputError(f"{place} has a log to draw from and a file of queries; keep one")
    if "log" in queries and "sample" not in queries and not isinstance(queries.get("allocate"), dict):
        raise InputError(f"{place} has a log and no size of the sample; write sample = 300")
    if "log" not in queries and (extra := [key for key in queries if key not in ("file", "columns")]):
        raise InputError(f'{place} {extra[0]} is for drawing a sample; name the log: log = "log.csv"')


def _systems(project: Project, where: str) -> dict[str, Config]:
    """The systems, each after the one that it reranks."""
    tables = project.settings.get("systems", {})
    if not tables:
        raise InputError(f'{where}: there are no systems to ask; write one:\n  [systems.bm25]\n  kind = "fts5"')
    found = {
        name: config_of(name, table, f"{where}: [systems.{name}]", project.folder) for name, table in tables.items()
    }
    ordered: dict[str, Config] = {}
    while len(ordered) < len(found):
        ready = [name for name, each in found.items() if name not in ordered and (each.rerank in (None, *ordered))]
        if not ready:
            stuck = next(name for name in found if name not in ordered)
            known = choices(repr(name) for name in found if name != stuck) if len(found) > 1 else "none"
            rerank = found[stuck].rerank
            raise InputError(f"{where}: [systems.{stuck}] rerank = {rerank!r}; expected another system: {known}")
        ordered |= {name: found[name] for name in ready}
    return ordered
