"""A project: a folder with `rankgauge.toml` and a store; its labels and runs, by address."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError, choices
from rankgauge.read import read_judgments, read_run
from rankgauge.trust.judges.sets import POLICIES, Repeated

if TYPE_CHECKING:
    from rankgauge.read import Judgments, Run
    from rankgauge.store.store import Store

__all__ = ["Address", "Labels", "Project", "find_project", "init", "needed"]

FILE: Final = "rankgauge.toml"
STORE: Final = "rankgauge.db"
ADDRESS: Final = "RANKGAUGE_DB"
# Which kinds of judges are heard first, where the project does not say.
KINDS: Final = (("person", "imported"), ("program",), ("model",))
TEMPLATE: Final = """# A project of rankgauge. Everything is optional but [project].

[project]
name = {name}
# The store: a file beside this one by default; {variable} in the environment goes first. No password belongs here.
{db}
# Which judges are heard, the first first; judges in brackets are of one rank. Without it: people, programs, models.
# [labels]
# from = ["ann", ["bob", "eve"], "gpt"]
# policy = "majority"        # of several grades of one rank: majority, mean, first or last
"""
IGNORED: Final = "rankgauge.db*\nout/\n.rankgauge-cache/\n"


@contextmanager
def needed() -> Iterator[None]:
    """What is missing where the libraries of a store are not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sqlalchemy":
            raise
        raise InputError("a project needs SQLAlchemy: pip install 'rankgauge[loop]'") from None


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


def init(folder: str | os.PathLike[str], db: str | None = None) -> Project:
    """Make a project: the file, the folders, the store. A folder that has one is refused."""
    from rankgauge.store.engine import address_of
    from rankgauge.store.store import Store

    here = Path(folder)
    if (here / FILE).exists():
        raise InputError(f"{here / FILE}: there is a project already; work in it, or choose another folder")
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
        (here / FILE).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{error.filename or here}: {error.strerror}; choose a folder that can be written") from None
    return Project(here)


@dataclass(frozen=True)
class Labels:
    """How stored labels become judgments: whose, in which order, and what several grades of one rank come to."""

    judges: tuple[tuple[str, ...], ...] = ()
    policy: Repeated = "majority"

    def __str__(self) -> str:
        heard = " > ".join("+".join(rank) for rank in self.judges) or "people > programs > models"
        return f"labels of {heard}, {self.policy}"


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
        if given is None or (given.startswith("sqlite:///") and not given.startswith("sqlite:////")):
            name = STORE if given is None else given.removeprefix("sqlite:///")
            return f"sqlite:///{self.folder / name}"
        return str(given)

    def store(self, *, write: bool = False) -> Store:
        """The store, opened."""
        with needed():
            from rankgauge.store.store import Store

            return Store.open(self.address, write=write)

    # ---- labels and runs ---------------------------------------------------------------------------------------------

    @property
    def rule(self) -> Labels:
        """How this project makes judgments of labels."""
        wanted = self.settings.get("labels", {})
        policy = wanted.get("policy", "majority")
        if policy not in POLICIES:
            raise InputError(f"{self.folder / FILE}: [labels] policy = {policy!r}; expected {choices(POLICIES)}")
        ranks = tuple((each,) if isinstance(each, str) else tuple(each) for each in wanted.get("from", ()))
        return Labels(ranks, policy)

    def labels(self, by: str | None = None, *, people: bool = False, repeated: bool = False) -> Judgments:
        """Judgments of the stored labels by the project's rule; `by` one judge, or of `people` alone."""
        with self.store() as store:
            rows = store.labels()
            where = store.where
        known = {judge: kind for _, _, judge, kind, _, _ in rows}
        rule = Labels(((by,),), self.rule.policy) if by is not None else self.rule
        if people:
            rule = Labels((tuple(judge for judge, kind in known.items() if kind in KINDS[0]),), rule.policy)
        for judge in (each for rank in rule.judges for each in rank):
            if judge not in known:
                there = ", ".join(known) or "nobody yet: rankgauge store import QRELS --judge NAME"
                raise InputError(f"{where}: there are no labels of {judge!r}; there are {there}")
        if not rows:
            raise InputError(f"{where}: there are no labels yet; rankgauge store import QRELS --judge NAME")
        name = f"@labels:{by}" if by else "@people" if people else "@labels"
        heard = [*_heard(rows, rule, known)]
        judged = read_judgments(heard, repeated=True) if repeated else read_judgments(_settled(heard, rule.policy))
        judged.source = name
        return judged

    def run(self, system: str, number: int | None = None, *, partly: bool = False, **way: Any) -> Run:
        """A system's last whole run, or the one of a number; one that is not whole only where `partly` allows it."""
        with self.store() as store:
            found, state = store.run_of(system, number)
            if state != "whole" and not partly:
                raise InputError(
                    f"@{system}:{found} is {state}: not every query has an answer; @{system}:{found}? takes it"
                )
            rankings = {
                answer.query_id: dict(zip(answer.doc_ids, answer.scores, strict=True))
                for answer in store.answers(found)
            }
        made = read_run(rankings, **way)
        made.source = f"@{system}:{found}"
        return made

    def systems(self) -> list[str]:
        """The names of all systems."""
        from sqlalchemy import select

        from rankgauge.store import schema

        with self.store() as store:
            return sorted(set(store.read(lambda each: each.scalars(select(schema.system.c.name)).all())))


@dataclass(frozen=True)
class Address:
    """What stands for stored labels or a stored run: @labels, @labels:JUDGE, @people, @SYSTEM, @SYSTEM:7, @SYSTEM:7?"""

    text: str
    project: Project
    name: str
    judge: str | None = None
    number: int | None = None
    partly: bool = False

    @classmethod
    def of(cls, text: str, project: Project) -> Address:
        """The address that a text spells."""
        name, _, more = text.removeprefix("@").partition(":")
        if name in ("labels", "people"):
            return cls(text, project, name, judge=more or None)
        partly, more = more.endswith("?"), more.removesuffix("?")
        if not name or (more and not more.isdecimal()):
            raise InputError(f"{text}: is no address; write @labels, @labels:JUDGE, @people, @SYSTEM or @SYSTEM:NUMBER")
        return cls(text, project, name, number=int(more) if more else None, partly=partly)

    @property
    def is_labels(self) -> bool:
        """Whether labels are meant."""
        return self.name in ("labels", "people")

    def judgments(self, *, repeated: bool = False) -> Judgments:
        """The labels as judgments."""
        if not self.is_labels:
            raise InputError(
                f"{self.text}: is a run, and judgments are wanted; write @labels, @labels:JUDGE or @people"
            )
        return self.project.labels(self.judge, people=self.name == "people", repeated=repeated)

    def run(self, **way: Any) -> Run:
        """The run."""
        if self.is_labels:
            raise InputError(f"{self.text}: are labels, and a run is wanted; write @SYSTEM or @SYSTEM:NUMBER")
        return self.project.run(self.name, self.number, partly=self.partly, **way)


def _heard(rows: list[Any], rule: Labels, known: Mapping[str, str]) -> Iterator[tuple[str, str, float]]:
    """The grades that count: rulings, else those of the first rank of judges that has any."""
    ranks = rule.judges or tuple(tuple(j for j, kind in known.items() if kind in kinds) for kinds in KINDS)
    place = {judge: at for at, rank in enumerate(ranks) for judge in rank}
    found: dict[tuple[str, str], tuple[int, list[float]]] = {}
    for query, doc, judge, _, grade, ruling in rows:
        if judge not in place:
            continue
        rank = -1 if ruling else place[judge]
        best, grades = found.get((query, doc), (len(ranks), []))
        if ruling or rank < best:
            found[query, doc] = (rank, [grade])
        elif rank == best and not ruling:
            grades.append(grade)
    for (query, doc), (_, grades) in found.items():
        yield from ((query, doc, grade) for grade in grades)


def _settled(heard: list[tuple[str, str, float]], policy: Repeated) -> dict[str, dict[str, float]]:
    pairs: dict[tuple[str, str], list[float]] = {}
    for query, doc, grade in heard:
        pairs.setdefault((query, doc), []).append(grade)
    judged: dict[str, dict[str, float]] = {}
    for (query, doc), grades in pairs.items():
        judged.setdefault(query, {})[doc] = grades[0] if len(grades) == 1 else POLICIES[policy](grades)
    return judged
