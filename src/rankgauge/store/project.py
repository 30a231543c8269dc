"""A project: a folder with `rankgauge.toml` and a store; its labels and runs, by address."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import InputError, RankgaugeError, choices, counted
from rankgauge.read import Columns, Run
from rankgauge.sampling.log import NONE
from rankgauge.sampling.sample import Sample
from rankgauge.store.labels import Labels
from rankgauge.trust.judges.licence import BAR, Bar
from rankgauge.trust.judges.sets import POLICIES

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats
    from rankgauge.judge.judged import Judged
    from rankgauge.judge.pairs import Pair
    from rankgauge.judge.pool import Pool
    from rankgauge.read import Judgments
    from rankgauge.result import Evaluation, Result
    from rankgauge.store.doubts import Terms
    from rankgauge.store.history import History
    from rankgauge.store.status import LabelCounts, OtherSettings, Status
    from rankgauge.store.store import Rated, Sampled, Store

__all__ = ["Project", "find_project", "init"]

FILE: Final = "rankgauge.toml"
STORE: Final = "rankgauge.db"
SQLITE: Final = "sqlite:///"  # before the file of a store
ADDRESS: Final = "RANKGAUGE_DB"
MANY: Final = 20_000  # rows of a run, from which on columns are quicker than rows
TEMPLATE: Final = """# A project of rankgauge. Everything is optional but [project].

[project]
name = {name}
# The store: a file beside this one by default; {variable} in the environment goes first. No password belongs here.
{db}
"""
REST: Final = """\
# Which judges are heard, the first first; judges in brackets are of one rank. Without it: people, programs, models.
# [labels]
# from = ["ann", ["bob", "eve"], "gpt"]
# policy = "majority"        # of several grades of one rank: majority, mean, first or last
# Texts, and systems that 'rankgauge search NAME' asks: fts5, call, command, http, elasticsearch, postgresql, …
# [documents]
# file = "documents.jsonl"
# [systems.bm25]
# kind = "fts5"
"""
# How a store comes to labels.
WAYS: Final = (
    "import some: rankgauge store import QRELS --judge NAME; have a model judge: [judges.NAME] in rankgauge.toml, then "
    "rankgauge judge PAIRS or rankgauge loop; or people: rankgauge task make and rankgauge serve, or rankgauge "
    "judge-page PAIRS"
)
IGNORED: Final = "rankgauge.db*\nout/\n.rankgauge-cache/\n"


def find_project(folder: str | os.PathLike[str] | None = None) -> Project:
    """The project in a folder, or in the nearest folder above the working directory."""
    if folder is not None:
        if not (Path(folder) / FILE).is_file():
            raise InputError(f"{folder}: is no project, it has no {FILE}; make one: rankgauge init {folder}")
        return Project(folder)
    here = Path.cwd()
    for each in (here, *here.parents):
        if (each / FILE).is_file():
            return Project(each)
    raise InputError(
        f"there is no project here: neither this folder nor one above has {FILE}; make one: rankgauge init"
    )


def init(folder: str | os.PathLike[str], db: str | None = None, rest: str = REST) -> Project:
    """Make a project: the file, which ends with `rest`, the folders, the store. A folder that has one is refused; where
    somebody wrote the file, and nothing else is there, it gets its store."""
    from rankgauge.store.engine import address_of
    from rankgauge.store.store import Store

    here = Path(folder)
    if (here / FILE).exists():
        project = Project(here)
        if rest != REST or db is not None or project.file is None or project.file.exists():
            raise InputError(f"{here / FILE}: there is a project already; work in it, or choose another folder")
        Store.open(project.address, create=True).close()
        return project
    if db is not None and address_of(db).password is not None:
        raise InputError(
            "the address has a password, which would be written to a file; leave it out and set PGPASSWORD, or set "
            f"{ADDRESS} in the environment instead of --db"
        )
    try:
        for made in (here, here / "prompts", here / "out"):
            made.mkdir(parents=True, exist_ok=True)
        line = f'db = "{db}"' if db is not None else f'# db = "sqlite:///{STORE}"'
        name = here.resolve().name.replace("\\", "").replace('"', "")
        project = Project(here, {"project": {"db": db} if db else {}})
        Store.open(project.address, create=True).close()
        if not (here / ".gitignore").exists():
            (here / ".gitignore").write_text(IGNORED, encoding="utf-8")
        text = TEMPLATE.format(name=f'"{name}"', variable=ADDRESS, db=line)
        (here / FILE).write_text(text + rest, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{error.filename or here}: {error.strerror}; choose a folder that can be written") from None
    return Project(here)


class Project:
    """A folder with queries, runs and judgments: `Project("shop").labels()`, `.run("bm25")`."""

    def __init__(self, folder: str | os.PathLike[str] = ".", settings: Mapping[str, Any] | None = None) -> None:
        self.folder = Path(folder)
        self._given = settings

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """What the file says."""
        if self._given is not None:
            return self._given
        path = self.folder / FILE
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{self.folder}: is no project, it has no {FILE}; make one: rankgauge init") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: {error}; mend it, or compare with what 'rankgauge init' writes") from None

    @property
    def address(self) -> str:
        """Where the store is: as the environment says, or the file, or beside it."""
        given = os.environ.get(ADDRESS) or self.settings.get("project", {}).get("db")
        if given is None or (given.startswith(SQLITE) and not given.startswith(f"{SQLITE}/")):
            name = STORE if given is None else given.removeprefix(SQLITE)
            return f"{SQLITE}{self.folder / name}"
        return str(given)

    @property
    def file(self) -> Path | None:
        """The file of the store; None where it is on a server."""
        return Path(self.address.removeprefix(SQLITE)) if self.address.startswith(SQLITE) else None

    def store(self, *, write: bool = False) -> Store:
        """The store, opened."""
        from rankgauge.store.store import Store

        return Store.open(self.address, write=write)

    # ---- labels and runs ---------------------------------------------------------------------------------------------

    @property
    def rule(self) -> Labels:
        """How this project makes judgments of labels."""
        wanted = self.settings.get("labels", {})
        if not isinstance(wanted, dict):
            raise InputError(f"{self.folder / FILE}: labels = {wanted!r}; expected a table: [labels]")
        policy, named = wanted.get("policy", "majority"), wanted.get("from", [])
        ranks_of = [[each] if isinstance(each, str) else each for each in named] if isinstance(named, list) else [None]
        if not all(isinstance(rank, list) and all(isinstance(each, str) for each in rank) for rank in ranks_of):
            expected = 'names of judges in their order, such as ["people", ["one", "other"]]'
            raise InputError(f"{self.folder / FILE}: [labels] from = {named!r}; expected {expected}")
        if not isinstance(policy, str) or policy not in POLICIES:
            raise InputError(f"{self.folder / FILE}: [labels] policy = {policy!r}; expected {choices(POLICIES)}")
        return Labels(tuple(tuple(rank or ()) for rank in ranks_of), policy)

    def labels(
        self, by: str | None = None, *, people: bool = False, repeated: bool = False, fresh: bool = False
    ) -> Judgments:
        """Judgments of the stored labels by the project's rule; `by` one judge, or of `people` alone.

        `fresh`: without labels of documents whose text has changed since. `repeated`: every grade that is heard.
        """
        from rankgauge.store import checks, doubts

        with self.store() as store:
            rows, last = store.labels()
            rule = self._heard(rows, by, store.where, people=people)
            heard = [*rule.counted(row for row in rows if not (fresh and row.outdated))]
            doubtful = doubts.label_doubts(store, rows, heard, self._terms(store))
            models = doubts.models(store, heard)
            known = [each.words for each in checks.checks(store) if each.judge in rule.heard]
        judged = rule.judgments(rows, repeated=repeated, fresh=fresh)
        judged.source = f"@labels:{by}" if by else "@people" if people else "@labels"
        outdated = len({row[:2] for row in heard if row.outdated})
        older = [("RG401", f"{counted(outdated, 'pair')} of {len(judged):,}")] if outdated else []
        judged.remarks = [*older, *((doubt.code, doubt.text) for doubt in doubtful)]
        judged.models = models
        about = {"address": judged.source, "by": by, "rule": rule.to_dict(), "fresh": fresh}
        judged.stored = about | {"last": last, "outdated": outdated} | ({"checks": known} if known else {})
        return judged

    @property
    def bar(self) -> Bar:
        """How large and how good the check of a judge has to be."""
        told = self._judging
        return Bar.of(told["bar"], f"{self.folder / FILE}: [judge]") if "bar" in told else BAR

    @property
    def people(self) -> str:
        """What judges are checked against: the file of [judge] check, else the labels of people."""
        return str(self._judging.get("check", "@people"))

    @property
    def _judging(self) -> Mapping[str, Any]:
        """The section [judge]."""
        told = self.settings.get("judge", {})
        return told if isinstance(told, dict) else {}

    def _terms(self, store: Store) -> Terms:
        """What is asked of judges, with their settings as rankgauge.toml has them."""
        from rankgauge.store.doubts import Setting, Terms

        judges, found = self.settings.get("judges", {}), {}
        if judges:
            from rankgauge.judge.askers import with_model
            from rankgauge.judge.config import find_judge

            for name in judges if isinstance(judges, dict) else ():
                try:
                    config = with_model(store, find_judge(self, name))
                except RankgaugeError:  # judging says what is wrong with it; labels are there all the same
                    continue
                about = config.settings(config.table.get("model"), None)
                found[name] = Setting(name, *(about.get(each) for each in Setting._fields[1:]))
        return Terms(self.bar, self.people, found)

    def _heard(self, rows: Sequence[Rated], by: str | None, where: str, *, people: bool = False) -> Labels:
        """The rule with the judges that there are; that there is none is an error."""
        rule = self.rule.among(rows, by, people=people)
        if not rule.judges:
            there = ", ".join(dict.fromkeys(row.judge for row in rows))
            of = f" of {by!r}" if by is not None else " of people" if people else ""
            ask = f"there are {there}" if there else WAYS
            raise InputError(f"{where}: there are no labels{of or ' yet'}; {ask}")
        return rule

    def run(self, system: str, number: int | None = None, *, partly: bool = False, by: str = "score") -> Run:
        """A system's last whole run, or the one of a number; one that is not whole only where `partly` allows it."""
        with self.store() as store:
            found = store.run_of(system, number)
            if found.state != "whole" and not partly:
                lacking = f"{found.lacking:,} of {counted(found.queries, 'query', 'queries')} lack an answer"
                raise InputError(
                    f"{found.address} is {found.state}: {lacking}; go on with 'rankgauge search {system}', or take "
                    f"what is there: {found.address}?"
                )
            over = [row.address for row in store.runs() if row.number == found.over] if found.over else []
            made = _run_of([*store.rankings(found.number)], by)
            made.models = {system: store.models(found.number)}
            drawn = found.sample is not None and _are_drawn(store.sampled(found.sample)[0])
        made.source = found.address + "?" * (found.state != "whole")
        made.tag = system
        made.stored = {"system": system, "run": found.number, "state": found.state, "lacking": found.lacking}
        made.stored = made.stored | {"began": found.began}
        made.stored = made.stored | ({"over": over[0]} if over else {}) | ({"sample": found.sample} if drawn else {})
        if found.lacking:
            made.remarks = [("RG402", f"{found.lacking:,} of {counted(found.queries, 'query', 'queries')}")]
        return made

    def search(
        self,
        system: str,
        queries: str | os.PathLike[str] | Mapping[str, str] | None = None,
        k: int = 100,
        *,
        again: bool = False,
        allow_missing: bool = False,
        **settings: Any,
    ) -> Run:
        """Ask a system every query of a file, of a mapping or of the last sample; its run, which is stored.

        The system is a table of rankgauge.toml; `settings` are keys of it, or the whole: `call="engine:search"`. What
        is answered is not asked again; that queries lack an answer is an error, unless it is allowed.
        """
        from rankgauge.store.store import Query
        from rankgauge.store.transfer.files import read_queries
        from rankgauge.systems.config import system_of
        from rankgauge.systems.search import search

        asked, source = None, "queries"
        if isinstance(queries, Mapping):
            asked = [Query(query, text) for query, text in queries.items()]
        elif queries is not None:
            source = os.fspath(queries)
            asked = read_queries(source)
        config = system_of(self, system, settings)
        outcome = search(self, config, asked, source, k, again=again, allow_missing=allow_missing)
        outcome.check("the same call goes on with it; allow_missing=True closes it")
        return self.run(system, outcome.run)

    def pool(self, *systems: str, **how: Any) -> Pool:
        """What to judge of the last runs of systems, or of all: what the labels lack, with the project's texts.

        `how` is that of `rankgauge.pool`: depth, take, order, seed, why. The pairs are stored, too.
        """
        from rankgauge.judge.pooled import pool_of

        return pool_of(self, {name: self.run(name) for name in systems or self.systems()}, **how)

    def add_sample(self, sample: Sample, name: str | None = None) -> str:
        """Store a sample and its queries, under a name or that of its method and size; the name."""
        from rankgauge.store.store import Query, Sampled

        called = name or f"{sample.how.get('method', 'sample')}-{len(sample)}"
        queries = [Query(*row) for row in zip(sample.query_ids, sample.queries, sample.needs, strict=True)]
        columns = (sample.traffic.tolist(), sample.inclusion.tolist(), sample.strata)
        rows = [Sampled(*row) for row in zip(sample.query_ids, *columns, strict=True)]
        with self.store(write=True) as store:
            store.add_sample(called, sample.how, queries, rows)
        return called

    def sample(self, name: str) -> Sample:
        """The stored sample of a name: `evaluate(…, sample=project.sample("traffic-300"))`."""
        with self.store() as store:
            rows, queries = store.sampled(name)
            if not _are_drawn(rows):
                words = "is a list of queries without traffic and inclusion, of which nobody knows how they were drawn"
                raise InputError(f"{store.where}: {name!r} {words}; draw a sample: rankgauge sample LOG --n 300")
        numbers = (np.array([row.traffic for row in rows]), np.array([row.inclusion for row in rows]))
        known = [queries[row.query_id] for row in rows]
        ids, strata = [row.query_id for row in rows], [row.stratum or NONE for row in rows]
        return Sample(f"@{name}", ids, [each.text for each in known], *numbers, strata, [each.need for each in known])

    def samples(self) -> list[str]:
        """The names of all samples that were drawn, the last one last."""
        with self.store() as store:
            return [name for name in store.samples() if _are_drawn(store.sampled(name)[0])]

    def addresses(self) -> list[str]:
        """Every address of labels and of last runs."""
        with self.store() as store:
            judges = dict.fromkeys(row.judge for row in store.labels()[0])
        named = [f"@{system}" for system in self.systems()]
        return ["@labels", "@people", *(f"@labels:{judge}" for judge in judges), *named]

    def label_counts(self, by: str | None = None, *, fresh: bool = False) -> LabelCounts:
        """Whose labels there are and what they come to; `by` one judge alone, `fresh` without outdated ones."""
        from rankgauge.store.doubts import label_doubts
        from rankgauge.store.status import label_counts

        with self.store() as store:
            rows, _ = store.labels()
            rule = self._heard(rows, by, store.where)
            heard = [*rule.counted(row for row in rows if not (fresh and row.outdated))]
            found = label_doubts(store, rows, heard, self._terms(store))
        return label_counts(rows, rule, fresh=fresh, doubts=found)

    def other_settings(self, judge: str) -> OtherSettings:
        """The labels of a judge in force that were given under other settings than those of rankgauge.toml."""
        from rankgauge.store.status import other_settings

        with self.store() as store:
            rows, _ = store.labels()
            rule = self._heard(rows, None, store.where)
            rule = rule if judge in rule.heard else self._heard(rows, judge, store.where)
            now = self._terms(store).settings.get(judge)
            if now is None:
                raise InputError(f"{self.folder / FILE}: has no settings of {judge!r}; write them: [judges.{judge}]")
            return other_settings(store, [*rule.counted(rows)], now)

    def judge(
        self,
        judge: str,
        pairs: str | os.PathLike[str] | Iterable[tuple[str, str] | Pair] | None = None,
        *,
        repeats: int = 1,
        again: bool = False,
        latest_text: bool = False,
        **settings: Any,
    ) -> Judged:
        """Have a judge grade pairs: of a file, of (query, document), or what the pool lacks; the answers are stored.

        The judge is a table of rankgauge.toml; `settings` are keys of it, or the whole: `call="mine:grade"`. What is
        answered is not asked again; pairs without a grade are counted: `.open`, `.reasons`. Another text of a document
        than is stored is refused; with `latest_text` it is the document's text from then on.
        """
        from rankgauge.judge.asking import ask_judge, open_pairs
        from rankgauge.judge.config import find_judge
        from rankgauge.judge.pairs import Pair, read_pairs

        config = find_judge(self, judge, settings)
        if pairs is None:
            asked = open_pairs(self, [judge])
        elif isinstance(pairs, str | os.PathLike):
            asked = read_pairs(os.fspath(pairs))
        else:
            asked = [pair if isinstance(pair, Pair) else Pair(*pair) for pair in pairs]
        return ask_judge(self, config, asked, repeats=repeats, again=again, latest_text=latest_text)

    def status(self) -> Status:
        """What the store holds, what is open, what is stale."""
        from rankgauge.store.status import status

        with self.store() as store:
            return status(store, self.rule)

    # ---- evaluations -------------------------------------------------------------------------------------------------

    def save(self, evaluation: Evaluation | Result) -> list[int]:
        """Keep what was measured of stored runs on stored labels; the numbers of the evaluations."""
        from rankgauge.result import Evaluation
        from rankgauge.store.evaluations import save

        with self.store(write=True) as store:
            return save(store, evaluation if isinstance(evaluation, Evaluation) else Evaluation.of([evaluation]))

    def history(self, measure: str | None = None, systems: Collection[str] = ()) -> History:
        """A measure over time, of the evaluations that were saved."""
        from rankgauge.store.history import history

        with self.store() as store:
            return history(store, self.rule, measure, systems)

    def systems(self) -> list[str]:
        """The names of all systems that have a run."""
        with self.store() as store:
            return sorted({run.system for run in store.runs()})


def _are_drawn(rows: Sequence[Sampled]) -> bool:
    """Whether these are queries of a sample, and not of a list that somebody wrote."""
    return all(row.traffic is not None and row.inclusion is not None for row in rows)


def _run_of(rankings: Sequence[tuple[str, list[str], Floats]], by: str) -> Run:
    """The rankings as a run: nested, or columns where there are many, which is quicker; queries without documents too.

    By rank, the order is the one in which they were stored.
    """
    sizes = [len(docs) for _, docs, _ in rankings]
    numbers = [-np.arange(1.0, len(docs) + 1) if by == "rank" else scores for _, docs, scores in rankings]
    if sum(sizes) < MANY:
        pairs = zip(rankings, numbers, strict=True)
        return Run({query: dict(zip(docs, each.tolist(), strict=True)) for (query, docs, _), each in pairs}, by=by)
    import polars as pl

    place = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    docs = pl.Series([*chain.from_iterable(docs for _, docs, _ in rankings)], dtype=pl.String)
    return Run(Columns([query for query, *_ in rankings], place, docs, np.concatenate(numbers)), by=by)
