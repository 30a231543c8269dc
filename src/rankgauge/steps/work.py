"""What each step of the loop does: it looks whether its inputs have changed, works, and remembers what it found."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, select

from rankgauge.comparison.compare import compare
from rankgauge.errors import InputError, counted
from rankgauge.evaluate import evaluate_runs
from rankgauge.judge.asking import ask_judge
from rankgauge.judge.check import check_judge
from rankgauge.judge.pairs import Pair, read_pairs, write_pairs
from rankgauge.judge.pool import Pool, pool
from rankgauge.judge.stored import keep_texts
from rankgauge.read import read_judgments
from rankgauge.read.tables import TEXTS
from rankgauge.sampling.sample import sample
from rankgauge.show.cells import aged
from rankgauge.shown import clean
from rankgauge.steps.looped import NOW, Answers, Looped, LoopOpen, Step
from rankgauge.steps.settings import Settings
from rankgauge.store import schema
from rankgauge.store.rows import ago, digest, insert_into, now, written
from rankgauge.store.store import Store
from rankgauge.store.transfer.files import read_queries
from rankgauge.systems import stored
from rankgauge.systems.call import sources_of
from rankgauge.systems.documents import corpus_hash, fields_of
from rankgauge.systems.search import search
from rankgauge.validation.labels import UNFIT
from rankgauge.writers.files import opened

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Comparison
    from rankgauge.judge.config import JudgeConfig
    from rankgauge.judge.judged import Judged
    from rankgauge.read import Judgments, Run
    from rankgauge.result import Evaluation
    from rankgauge.sampling.sample import Sample
    from rankgauge.steps.looped import Progress
    from rankgauge.systems.config import Config

__all__ = ["PAIRS", "Work", "drawn_from", "opened_work", "said_of"]

OUT: Final = "out"
PEOPLE: Final = "people"  # as a check calls them
RANKED: Final = ("program", "model")  # kinds of judges, as labels hear them
PAIRS: Final = f"{OUT}/pairs.jsonl"
QUERIES: Final = f"{OUT}/queries.tsv"


@contextmanager
def opened_work(settings: Settings, progress: Progress | None, again: Collection[str] = ()) -> Iterator[Work]:
    """The steps, with a store that is made where there is none."""
    project = settings.project
    (project.folder / OUT).mkdir(exist_ok=True)
    Store.open(project.address, create=True).close()
    with project.store(write=True) as store:
        yield Work(settings, store, progress, again)


class Due(NamedTuple):
    """A system of which a new run is due: the number of its last run when it became so, and why."""

    last: int | None
    why: str


class Work:
    """The steps, on one store; what an earlier step found is remembered there. `again`: systems to be asked anew."""

    def __init__(
        self, settings: Settings, store: Store, progress: Progress | None, again: Collection[str] = ()
    ) -> None:
        self.settings, self.store, self.progress, self.again = settings, store, progress, again
        self.project = settings.project
        self.steps: list[Step] = []
        self.judged: list[Judged] = []
        self.checked: list[Mapping[str, Any]] = []
        self.cautions: list[str] = []
        self.fresh: set[str] = set()  # systems all of whose answers this loop was given
        self.pooled = 0
        self.evaluation: Evaluation | None = None
        self.comparison: Comparison | None = None
        self.written: str | None = None

    def looped(self) -> Looped:
        """What came of it."""
        name = self.project.settings.get("project", {}).get("name") or self.project.folder.resolve().name
        return Looped(
            str(name), tuple(self.steps), self.pooled, tuple(self.judged), tuple(self.checked), self.evaluation,
            self.comparison, self.written, tuple(self.cautions), self._unfit(),
            self.answers if "numbers" in vars(self) else {},
        )  # fmt: skip

    def _unfit(self) -> tuple[str, ...]:
        """The judges that cannot judge, in words, where labels were given or used."""
        used = bool(self.judged) or "labels" in vars(self)
        return tuple(words for code, words in self.labels.remarks if code in UNFIT) if used else ()

    def _watched(self, name: str) -> Callable[..., None] | None:
        """How far a system or a judge is; what it has cost is said at the end."""
        watch = self.progress
        return None if watch is None else lambda done, total, failed, *_: watch(name, done, total, failed)

    # ---- what is remembered

    def known(self, name: str, inputs: Any | None = None) -> dict[str, Any] | None:
        """What a step found, where it was done with these inputs, or at all."""
        table = schema.step.c
        asked = select(table.inputs, table.found).where(table.name == name)
        row = self.store.read(lambda each: each.execute(asked).first())
        if row is None or (inputs is not None and row[0] != digest(inputs)):
            return None
        found: dict[str, Any] = json.loads(row[1])
        return found

    def keep(self, name: str, inputs: Any, found: Mapping[str, Any]) -> None:
        """Remember what a step found."""
        row = {"name": name, "inputs": digest(inputs), "found": written(found), "at": now()}

        def kept(connection: Connection) -> None:
            put = insert_into(connection.dialect.name, schema.step).values(**row)
            new = {column: put.excluded[column] for column in ("inputs", "found", "at")}
            connection.execute(put.on_conflict_do_update(index_elements=["name"], set_=new))

        self.store.writer.write(kept)

    # ---- sample

    def do_sample(self) -> Step:
        """Draw the queries of the log; a list of queries is taken as it is."""
        queries = self.settings.queries
        if "log" not in queries:
            return Step("sample", "no log to draw from; the queries are taken as they are", kept=True)
        inputs = self.sample_inputs
        before = self.known("sample", inputs)
        if before is not None and before["name"] in self.store.samples():
            return Step("sample", f"@{before['name']} has {counted(before['queries'], 'query', 'queries')}", kept=True)
        drawn = drawn_from(self.settings)
        name = self._name_of(drawn, digest(inputs))
        with opened(str(self.settings.path(QUERIES))) as stream:
            stream.write(drawn.to_tsv().encode())
        self.keep("sample", inputs, {"name": name, "queries": len(drawn)})
        return Step("sample", f"{counted(len(drawn), 'query', 'queries')} drawn by {drawn.how['method']}: @{name}")

    @property
    def sample_inputs(self) -> list[Any]:
        """What a sample rests on."""
        return [self.settings.queries, _file_hash(self.settings.log)]

    def _name_of(self, drawn: Sample, inputs: str) -> str:
        """The name under which a sample is stored: that of its method and size, and of its inputs where it is taken."""
        usual = f"{drawn.how['method']}-{len(drawn)}"
        known = self.store.samples()
        columns = (drawn.query_ids, drawn.traffic.tolist(), drawn.inclusion.tolist(), drawn.strata)
        same = usual in known and self.store.sampled(usual)[0] == sorted(zip(*columns, strict=True))
        return self.project.add_sample(drawn, usual if usual not in known or same else f"{usual}-{inputs[:6]}")

    @cached_property
    def sample_name(self) -> str | None:
        """The sample that was drawn, where there is one."""
        found = self.known("sample") if "log" in self.settings.queries else None
        if "log" in self.settings.queries and found is None:
            raise InputError("no sample was drawn yet; begin with it: rankgauge loop --until sample")
        return None if found is None else str(found["name"])

    @cached_property
    def sample(self) -> Sample | None:
        """The same, as evaluations take it."""
        return None if self.sample_name is None else self.project.sample(self.sample_name)

    # ---- search

    def do_search(self) -> Step:
        """Ask every system; one after the other, for one may rerank what another found."""
        number = None if self.sample_name is None else self.store.samples()[self.sample_name]
        given = self.settings.queries.get("file")
        queries = None if given is None else read_queries(str(self.settings.path(given)))
        runs, asked, due = {}, 0, self.due()
        if due:
            self.keep("again", sorted(due), due)
        for name, config in self.settings.systems.items():
            taken = None if config.rerank else queries
            how: dict[str, Any] = {"again": self.is_due(name, due), "sample": number, "progress": self._watched(name)}
            outcome = search(self.project, config, taken, given or "", config.depth, **how)
            if not outcome.whole:
                lacking = f"{outcome.lacking:,} of {counted(outcome.queries, 'query', 'queries')} lack an answer"
                on = f"go on: rankgauge loop, or without them: rankgauge search {name} --allow-missing"
                raise LoopOpen(f"search: @{name}:{outcome.run} is open: {lacking}; {on}\n  {outcome.why()}")
            self._keep_code(config)
            self._doubt_documents(config, outcome.run)
            runs[name] = outcome.run
            asked += len(outcome.milliseconds)
            self.fresh |= {name} if not outcome.already and not outcome.before else set()
        self.keep("search", runs, {"runs": runs})
        if due:
            self.keep("again", [], {})
        words = aged({each.run: each.age for each in self.answers.values()})
        of = counted(asked, "query was", "queries were")
        return Step("search", words + (f"; {of} asked" if asked else ""), kept=not asked)

    def due(self) -> dict[str, Due]:
        """The systems that are to be asked anew, with those that rerank them; what was interrupted is still to be done.

        A run that was begun since is gone on with, whatever is mended in the code meanwhile.
        """
        before = {
            name: Due(*each) for name, each in (self.known("again") or {}).items() if name in self.settings.systems
        }
        found = before if any(self._is_open(name, each) for name, each in before.items()) else {}
        for name, config in self.settings.systems.items():
            if name not in found and (why := self._why_again(config, found)):
                last = stored.last_run(self.store, name)
                found[name] = Due(None if last is None else last.number, why)
        return found

    def is_due(self, name: str, due: Mapping[str, Due]) -> bool:
        """Whether a new run is to be begun: none was since it became due."""
        last = stored.last_run(self.store, name)
        return name in due and due[name].last == (None if last is None else last.number)

    def _is_open(self, name: str, due: Due) -> bool:
        last = stored.last_run(self.store, name)
        return last is None or last.number == due.last or last.state != "whole"

    def _why_again(self, config: Config, due: Collection[str]) -> str:
        """The reason for which a system is to be asked anew."""
        if config.name in self.again:
            return "--again names it"
        code = self.known(f"code of {config.name}")
        if code is not None and code["code"] != digest(sources_of(config)):
            return "the code of its function has changed"
        return f"{config.rerank} is asked before it" if config.rerank in due else ""

    def _keep_code(self, config: Config) -> None:
        """Remember the code of the function that made a whole run."""
        code = digest(sources_of(config))
        if self.known(f"code of {config.name}", code) is None:
            self.keep(f"code of {config.name}", code, {"code": code})

    def _doubt_documents(self, config: Config, run: int | None) -> None:
        """Say where a system was not asked again though the documents have changed: of most, nobody knows whether they
        search this file."""
        name, before = f"documents of {config.name}", self.known(f"documents of {config.name}")
        if before is None or before["run"] != run:
            self.keep(name, self._documents, {"run": run})
        elif self.known(name, self._documents) is None:
            self.cautions.append(
                f"the documents have changed since {config.name} was asked; if it searches them, ask it again: "
                f"rankgauge loop --again {config.name}"
            )

    @cached_property
    def numbers(self) -> dict[str, int]:
        """System → the number of its run."""
        found = self.known("search")
        if found is None or set(found["runs"]) != set(self.settings.systems):
            raise InputError("the systems have not been asked yet; begin with that: rankgauge loop --until search")
        return {name: found["runs"][name] for name in self.settings.systems}

    @cached_property
    def answers(self) -> dict[str, Answers]:
        """System → its answers, with their age."""
        began = {name: stored.began_at(self.store, number) for name, number in self.numbers.items()}
        return {
            name: Answers(f"@{name}:{self.numbers[name]}", at, NOW if name in self.fresh else ago(at))
            for name, at in began.items()
        }

    @cached_property
    def runs(self) -> dict[str, Run]:
        """System → its run."""
        return {name: self.project.run(name, number) for name, number in self.numbers.items()}

    # ---- pool

    def do_pool(self) -> Step:
        """Choose what to judge, without what others than the judges of the loop have graded."""
        judged, inputs = self._people(), self.pool_inputs(self.numbers)
        before = self.known("pool", inputs)
        if before is not None and self.settings.path(PAIRS).is_file():
            self.pooled = before["pairs"]
            return Step("pool", f"{counted(before['pairs'], 'pair')} to judge in {PAIRS}", kept=True)
        made = self._pool(judged)
        write_pairs(made.pairs, str(self.settings.path(PAIRS)))
        keep_texts(self.store, made.pairs)
        self.pooled = len(made.pairs)
        self.keep("pool", inputs, {"pairs": len(made.pairs)})
        had = f", {made.judged:,} more have a grade" if made.judged else ""
        return Step(
            "pool",
            f"{counted(len(made.pairs), 'pair')} of {counted(made.queries, 'query', 'queries')} to judge{had}: {PAIRS}",
        )

    def pool_inputs(self, numbers: Mapping[str, int]) -> list[Any]:
        """What a pool of these runs rests on."""
        return [numbers, self.settings.pool, sorted(self._people()), self._documents]

    @cached_property
    def _documents(self) -> str | None:
        """What the documents are, where a file has them: judges are to see the texts that systems search."""
        return None if self.settings.documents is None else corpus_hash(self.settings.documents)

    def _people(self) -> set[tuple[str, str]]:
        """The pairs with a grade that counts, of somebody else than the judges of the loop."""
        rows, _ = self.store.labels()
        heard = self.project.rule.among(rows).heard - self.settings.judges.keys()
        return {row[:2] for row in rows if row.grade is not None and (row.ruling or row.judge in heard)}

    def _pool(self, judged: set[tuple[str, str]]) -> Pool:
        known = [(query, doc, 1.0) for query, doc in sorted(judged)]
        return pool(
            self.runs,
            **self.settings.pool,
            judged=known or None,
            queries={query.query_id: query for query in self.store.queries()},
            documents=lambda wanted: fields_of(self.project, wanted),
        )

    @property
    def pairs(self) -> list[Pair]:
        """What is to be judged."""
        path = self.settings.path(PAIRS)
        if not path.is_file():
            raise InputError(f"{path}: there are no pairs yet; begin with them: rankgauge loop --until pool")
        return read_pairs(str(path))

    # ---- judge

    def do_judge(self) -> Step:
        """Ask every judge; one that stops in the middle stops the loop."""
        if not self.settings.judges:
            return Step("judge", "there are no judges; the labels of the store count", kept=True)
        if (found := self.known("pool")) is not None and not found["pairs"]:
            return Step("judge", "every pair of the pool has a grade", kept=True)
        words = []
        for config in self.settings.judges.values():
            judged = ask_judge(
                self.project, config, self.pairs, repeats=self.settings.repeats, progress=self._watched(config.name)
            )
            self.judged.append(judged)
            _refuse_open(judged)
            words.append(f"{judged.judge} graded {judged.graded:,} of {counted(judged.pairs, 'pair')}")
            self._doubt(config)
            self._check(config, judged)
        self._rank()
        return Step("judge", "; ".join(words), kept=not any(each.calls for each in self.judged))

    def _doubt(self, config: JudgeConfig) -> None:
        """Say where grades are those of an older function: they may have been paid for, and stay."""
        name, code = f"code of judge {config.name}", digest(sources_of(config))
        if self.known(name) is None:
            self.keep(name, code, {"code": code})
        elif self.known(name, code) is None:
            self.cautions.append(
                f"{config.call} has changed since it graded. Its old grades are still used. To grade again, rename the "
                f"judge {config.name}, and write who counts under [labels]: from = {self._renamed(config.name)}"
            )

    def _renamed(self, name: str) -> str:
        """The judges who count, as [labels] from has them, with another name for one of them."""
        ranks = self.project.rule.among(self.store.labels()[0]).judges
        new = [[f"{name}-2" if judge == name else judge for judge in rank] for rank in ranks]
        return json.dumps([rank[0] if len(rank) == 1 else rank for rank in new], ensure_ascii=False)

    def _rank(self) -> None:
        """Say where some judges decide nothing: without a rule of the project, functions are heard before models."""
        names = {kind: [each.name for each in self.settings.judges.values() if each.kind == kind] for kind in RANKED}
        if all(names.values()) and "labels" not in self.project.settings:
            first, second = (", ".join(each) for each in names.values())
            vote = ", ".join(f'"{name}"' for each in names.values() for name in each)
            self.cautions.append(
                f"{second}'s grades are ignored where {first} graded: functions override models. To let both vote, "
                f"write from = [[{vote}]] under [labels]"
            )

    def _check(self, config: JudgeConfig, judged: Judged) -> None:
        """Put the judge beside people, where they have judged; again where it, they or the queries have changed."""
        path = self.settings.check
        if path is None:
            return
        queries = sorted(query.query_id for query in self.store.queries())
        ordered = [self.numbers, self.sample_name, self.settings.measures[0], self.settings.per]
        name, inputs = (
            f"check {config.name}",
            [_file_hash(path), judged.settings, self.settings.repeats, queries, ordered],
        )
        found = self.known(name, inputs)
        if found is None:
            said = said_of(path, queries)
            how: dict[str, Any] = {
                "repeats": self.settings.repeats,
                "progress": self._watched(config.name),
                "runs": self.runs,
            }
            check = check_judge(self.project, config, {PEOPLE: said}, **how)
            _refuse_open(check.judged)
            found = {"judge": config.name, "words": check.lead, **clean(check.found())}
            self.keep(name, inputs, found)
            found |= {"paid": check.judged.paid} if check.judged.paid else {}
        self.checked.append(found)

    # ---- evaluate, compare, report

    @cached_property
    def labels(self) -> Judgments:
        """The judgments of the project."""
        if self.settings.judges and not self.store.labels()[0]:
            raise InputError("nothing has been judged yet; begin with that: rankgauge loop --until judge")
        return self.project.labels()

    @property
    def _measured(self) -> dict[str, Any]:
        sampled = {"sample": self.sample, "per": self.settings.per, "population": self.settings.population}
        about = {} if self.sample is None else sampled
        return {"judgments": self.labels, "runs": self.runs, "measures": list(self.settings.measures), **about}

    @property
    def inputs(self) -> list[Any]:
        """What every value rests on."""
        sample = None if self.sample is None else [self.sample_name, self.settings.per]
        return [self.numbers, self.labels.stored, list(self.settings.measures), sample]

    @property
    def shown(self) -> list[Any]:
        """What the report shows."""
        return [self.inputs, self.settings.baseline, self.settings.population, self.labels.remarks]

    def do_evaluate(self) -> Step:
        """Measure every run; values are saved where they rest on something new."""
        self.evaluation = evaluate_runs(**self._measured)
        first = self.evaluation.measures[0]
        words = ", ".join(f"{name} {result[first]:.4f}" for name, result in self.evaluation.items())
        if self.known("evaluate", self.inputs) is not None:
            return Step("evaluate", f"{first}: {words}", kept=True)
        saved = self.project.save(self.evaluation)
        self.keep("evaluate", self.inputs, {"evaluations": saved})
        return Step("evaluate", f"{first}: {words}")

    def do_compare(self) -> Step:
        """Compare every system with the baseline, the first by default."""
        if len(self.runs) < 2:
            return Step("compare", "there is one system, and nothing to compare it with", kept=True)
        baseline = self.settings.first
        about = self._measured
        self.comparison = compare(about.pop("judgments"), about.pop("runs"), **about, baseline=baseline)
        pairs = self.comparison.first.against(baseline)
        return Step("compare", f"{counted(len(pairs), 'system')} against {baseline}")

    def do_report(self) -> Step:
        """Write the page; it stays as it is where nothing that it rests on has changed."""
        from rankgauge.reports.report import report

        path = self.settings.report
        self.written = os.fspath(path)
        inputs = self.shown
        if self.known("report", inputs) is not None and path.is_file():
            return Step("report", self.written, kept=True)
        about = self._measured
        texts = {query.query_id: query.text for query in self.store.queries() if query.text is not None}
        wanted = {doc for run in self.runs.values() for _, doc, _ in run}
        documents = {doc: _caption(fields) for doc, fields in fields_of(self.project, wanted).items()}
        made = report(
            about.pop("judgments"), about.pop("runs"), **about, baseline=self.settings.baseline, queries=texts,
            documents=documents, command="rankgauge loop", **self._stages(),
        )  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        made.save(path)
        self.keep("report", inputs, {"path": self.written})
        return Step("report", self.written)

    def _stages(self) -> dict[str, Any]:
        """The first stage, where all other systems rerank it."""
        first, *others = self.settings.systems
        reranked = bool(others) and all(self.settings.systems[each].rerank == first for each in others)
        return {"retrieved": {first: self.runs[first]}} if reranked else {}


def _refuse_open(judged: Judged) -> None:
    """End where pairs got no answer; what was answered and could not be read is counted, and no reason to end."""
    if judged.stopped is not None or judged.errors:
        why = judged.stopped or Counter(judged.errors.values()).most_common(1)[0][0]
        on = "go on: rankgauge loop, or without them: rankgauge loop --from evaluate"
        raise LoopOpen(f"judge: {judged.judge}: {judged.lacking}; {on}\n  {why}")


def _caption(fields: Mapping[str, Any]) -> str:
    """What a document is called on a page: its title, its text, or whatever it has first."""
    return str(next((fields[name] for name in TEXTS if name in fields), next(iter(fields.values()), "")))


def drawn_from(settings: Settings) -> Sample:
    """The sample of a log."""
    queries = dict(settings.queries)
    del queries["log"]
    return sample(os.fspath(settings.log), queries.pop("sample", None), **queries)


def said_of(path: Path, queries: Collection[str]) -> dict[str, dict[str, float]]:
    """What people said of these queries."""
    said: dict[str, dict[str, float]] = {query: {} for query in queries}
    for query, doc, grade in read_judgments(os.fspath(path)):
        said.get(query, {})[doc] = grade
    if not any(said.values()):
        raise InputError(f"{path}: has none of the queries that were asked; [judge] check names it")
    return {query: each for query, each in said.items() if each}


def _file_hash(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]
