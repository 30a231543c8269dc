"""What a suite is made of: data sets, each with judgments and the runs of systems; from a folder, a file or memory.

A folder has a folder per data set, as BEIR's are: `NAME/qrels/test.tsv` and `NAME/runs/SYSTEM.run`. Where files lie
elsewhere, or systems are called differently, a `suite.toml` says so:

    measures = ["nDCG@10", "R@100"]
    baseline = "bm25"

    [datasets.covid]
    qrels = "covid/qrels.txt"
    runs = "covid/runs/*.gz"

    [datasets.dl19]
    qrels = "dl19/qrels.txt"
    runs = { bm25 = "dl19/base.run", reranked = "dl19/new.run" }
    rules = { rel = 2 }
"""

from __future__ import annotations

import glob
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rankgauge.errors import FormatError, InputError, choices, unknown
from rankgauge.read.formats import bare_name
from rankgauge.read.named import named

__all__ = ["Dataset", "Suite", "find_suite"]

FILE: Final = "suite.toml"
SUITE_KEYS: Final = ("measures", "baseline", "rules", "datasets")
DATASET_KEYS: Final = ("qrels", "runs", "rules")


@dataclass(frozen=True, slots=True)
class Dataset:
    """Judgments, and the run of each system: paths, or whatever else can be read."""

    name: str
    judgments: Any
    runs: dict[str, Any]
    rules: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Suite:
    """Data sets, and what the suite says about how to measure them."""

    name: str
    datasets: dict[str, Dataset]
    measures: tuple[str, ...] = ()
    baseline: str | None = None
    home: str | None = None  # the folder of the suite, where it is one

    @property
    def systems(self) -> list[str]:
        """Every system that has a run somewhere, in order of first appearance."""
        return list(dict.fromkeys(system for each in self.datasets.values() for system in each.runs))

    def only(self, datasets: Sequence[str], systems: Sequence[str]) -> Suite:
        """These data sets and systems alone, in this order; none named are all."""
        kept = {name: self.datasets[name] for name in _known("data set", datasets, self.datasets)}
        wanted = _known("system", systems, self.systems)
        runs = {
            name: {system: each.runs[system] for system in wanted if system in each.runs} for name, each in kept.items()
        }
        return replace(self, datasets={name: replace(each, runs=runs[name]) for name, each in kept.items()})


def _known(what: str, asked: Sequence[str], there: Iterable[str]) -> list[str]:
    listed = list(there)
    for name in asked:
        if name not in listed:
            raise InputError(unknown(f"there is no {what} {name!r}", name, listed))
    return list(dict.fromkeys(asked)) or listed


def find_suite(source: Any, *, split: str = "test") -> Suite:
    """The suite in a folder, in a file, or in memory: data set → (judgments, {system: run})."""
    suite = _in_memory(source) if isinstance(source, Mapping) else _on_disk(os.fspath(source), split)
    if not suite.datasets:
        raise InputError(f"{suite.name}: has no data sets")
    for each in suite.datasets.values():
        if not each.runs:
            raise InputError(f"{suite.name}: data set {each.name} has no runs; give it one or leave it out")
    return suite


def _in_memory(source: Mapping[Any, Any]) -> Suite:
    datasets = {}
    for name, parts in source.items():
        pair = isinstance(parts, Sequence) and not isinstance(parts, str) and len(parts) == 2
        if not pair or not isinstance(parts[1], Mapping | list | tuple):
            raise InputError(f"data set {name!r}: expected (judgments, {{system: run}}), got {type(parts).__name__}")
        judgments, runs = parts
        datasets[str(name)] = Dataset(str(name), judgments, named(runs))
    return Suite("the suite", datasets)


def _on_disk(path: str, split: str) -> Suite:
    if os.path.isdir(path):
        inside = os.path.join(path, FILE)
        return _of_file(inside) if os.path.isfile(inside) else _of_folder(path, split)
    if not os.path.exists(path):
        beside = _listed(os.path.dirname(path) or ".")
        words = f"{path}: there is no such folder or file"
        raise InputError(unknown(words, os.path.basename(path), beside, "check the path"))
    if not path.lower().endswith(".toml"):
        raise InputError(f"{path}: a suite is a folder of data sets or a file {FILE}")
    return _of_file(path)


def _listed(folder: str) -> list[str]:
    """What is in a folder, hidden things left out, in order."""
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror or error})") from None


# ---- a folder --------------------------------------------------------------------------------------------------------


def _of_folder(home: str, split: str) -> Suite:
    names = [name for name in _listed(home) if os.path.isdir(os.path.join(home, name))]
    if not names or {"qrels", "runs"}.intersection(names):
        raise InputError(
            f"{home}: expected a folder per data set, {os.path.join(home, 'NAME', 'qrels', split)}.tsv and "
            f"{os.path.join(home, 'NAME', 'runs', 'SYSTEM')}.run, or a {FILE}"
        )
    return Suite(home, {name: _dataset_folder(name, os.path.join(home, name), split) for name in names}, home=home)


def _dataset_folder(name: str, folder: str, split: str) -> Dataset:
    runs = os.path.join(folder, "runs")
    if not os.path.isdir(runs):
        raise InputError(f"{folder}: has no folder of runs; expected {os.path.join(runs, 'SYSTEM')}.run")
    files = [os.path.join(runs, file) for file in _listed(runs)]
    return Dataset(name, _qrels_of(folder, split), _named(files))


def _qrels_of(folder: str, split: str) -> str:
    """`qrels/SPLIT.tsv` in any format, or a file `qrels.…` beside the runs."""
    inside = os.path.join(folder, "qrels")
    splits = _listed(inside) if os.path.isdir(inside) else []
    found = [os.path.join(inside, file) for file in splits if bare_name(file) == split]
    found = found or [os.path.join(folder, file) for file in _listed(folder) if file.startswith("qrels.")]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{folder}: has several files of judgments, {', '.join(found)}; keep one, or name it in {FILE}"
        )
    others = f"; there is {choices(splits)}: choose with --split, or name the file in {FILE}" if splits else ""
    raise InputError(f"{folder}: has no judgments; expected {os.path.join(inside, split)}.tsv{others}")


def _named(files: Iterable[str]) -> dict[str, Any]:
    """System → its file: the name without suffixes."""
    runs: dict[str, Any] = {}
    for file in files:
        name = bare_name(file)
        if name in runs:
            raise InputError(f"{runs[name]} and {file} are both the run of {name}; keep one")
        runs[name] = file
    return runs


# ---- a file ----------------------------------------------------------------------------------------------------------


def _of_file(path: str) -> Suite:
    try:
        with open(path, "rb") as stream:
            told = tomllib.load(stream)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: is not TOML: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    _check_keys(path, told, SUITE_KEYS)
    home = os.path.dirname(path) or "."
    rules, measures = _table(path, "rules", told.get("rules", {})), told.get("measures", [])
    tables = _table(path, "datasets", told.get("datasets", {}))
    if not isinstance(measures, list) or not all(isinstance(each, str) for each in measures):
        raise FormatError(f'{path}: measures is a list of texts, such as ["nDCG@10", "R@100"]')
    baseline = told.get("baseline")
    if baseline is not None and not isinstance(baseline, str):
        raise FormatError(f"{path}: baseline is the name of a system, not {baseline!r}")
    datasets = {name: _dataset_table(path, home, name, each, rules) for name, each in tables.items()}
    return Suite(path, datasets, tuple(measures), baseline, home)


def _dataset_table(path: str, home: str, name: str, told: Any, rules: dict[str, Any]) -> Dataset:
    where = f"datasets.{name}"
    _check_keys(path, _table(path, where, told), DATASET_KEYS, where)
    if not isinstance(told.get("qrels"), str):
        raise FormatError(f'{path}: {where} has no judgments; expected qrels = "FILE"')
    own = _table(path, f"{where}.rules", told.get("rules", {}))
    return Dataset(name, os.path.join(home, told["qrels"]), _runs(path, home, where, told.get("runs")), rules | own)


def _runs(path: str, home: str, where: str, told: Any) -> dict[str, Any]:
    if isinstance(told, dict) and all(isinstance(each, str) for each in told.values()):
        return {system: os.path.join(home, file) for system, file in told.items()}
    patterns = [told] if isinstance(told, str) else told
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise FormatError(f'{path}: {where}.runs is a pattern such as "runs/*.run", a list of them, or SYSTEM = "FILE"')
    files: list[str] = []
    for pattern in patterns:
        found = sorted(glob.glob(os.path.join(glob.escape(home), pattern)))
        if not found:
            raise InputError(f"{path}: {where}.runs: no file matches {os.path.join(home, pattern)}")
        files += found
    return _named(dict.fromkeys(files))


def _table(path: str, where: str, told: Any) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise FormatError(f"{path}: {where} is a table, not {told!r}")
    return told


def _check_keys(path: str, told: Mapping[str, Any], known: Sequence[str], where: str = "") -> None:
    for key in told:
        if key not in known:
            words = f"{path}: unknown key {'.'.join(filter(None, (where, key)))!r}"
            raise FormatError(unknown(words, key, known, f"expected {choices(known)}"))
