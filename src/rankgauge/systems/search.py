"""Ask a system every query and keep each answer when it comes; what is answered is not asked again."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rankgauge.errors import InputError, RankgaugeError, counted
from rankgauge.store.lease import Lease
from rankgauge.store.store import Answer, Query, Store
from rankgauge.store.transfer.files import check_system
from rankgauge.systems import stored
from rankgauge.systems.documents import fields_of
from rankgauge.systems.hits import Asked, Failed, Ranking, ranking_of
from rankgauge.systems.workers import INTERRUPTED, Done, Pool

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.systems.config import Config
    from rankgauge.systems.hits import System
    from rankgauge.systems.spare import Spare

__all__ = ["Outcome", "SearchOpen", "search", "search_files"]

Progress = Callable[[int, int, int], None]  # answered, of how many, how many failed
Answered = Ranking | str  # or why there is none
SLOWEST: Final = 3  # queries that are named
REASONS: Final = 5  # of failures that are named
OTHER_TEXT: Final = "had another text for a stored document; the stored text stays"
NOTES: Final = {
    "without scores": "came without scores; minus the rank is stored",
    "equal scores": "came with equal scores; the order they came in is kept, with minus the rank",
    "scores not falling": "came with scores that do not fall with the order; the order is kept, with minus the rank",
    "more than k": "came with more than k documents; the first k are kept",
}


class SearchOpen(RankgaugeError):
    """Some queries lack an answer."""

    exit_code: ClassVar[int] = 4


@dataclass
class Outcome:
    """What came of a search: how it went, for people."""

    system: str
    workers: int
    queries: int
    run: int | None = None
    before: int = 0
    stopped: str | None = None
    seconds: float = 0.0
    milliseconds: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    rankings: dict[str, Ranking] = field(default_factory=dict)  # where nothing is stored
    documents: int = 0
    unequal: int = 0  # answers with another text of a stored document
    whole: bool = False
    already: bool = False  # it was whole before anything was asked

    @property
    def lacking(self) -> int:
        """How many queries have no answer."""
        return self.queries - self.before - len(self.milliseconds)

    @property
    def interrupted(self) -> bool:
        """Whether it was ended by Ctrl-C, so that what lacks an answer was not even asked."""
        return self.stopped == INTERRUPTED

    def lines(self) -> list[str]:
        """How it went: what was asked, how long it took, what to know."""
        new = counted(len(self.milliseconds), "query", "queries")
        found = f"{new} answered, {counted(self.documents, 'document')}"
        if self.run is None:
            made = [f"{self.system}: {found}; nothing is stored, for there is no project here"]
        elif self.already:
            made = [f"@{self.system}:{self.run} is whole already; --again starts a new run"]
        else:
            earlier = f"; {self.before:,} were answered before" if self.before else ""
            made = [f"@{self.system}:{self.run}: {found}{earlier}"]
        made += [self._times()] if self.milliseconds else []
        if self.whole and self.lacking:
            made += [f"{counted(self.lacking, 'query has', 'queries have')} no results, for there was no answer"]
        made += [f"note: {counted(times, 'answer')} {NOTES[note]}" for note, times in self.notes.items()]
        return [*made, *([f"note: {counted(self.unequal, 'answer')} {OTHER_TEXT}"] if self.unequal else [])]

    def check(self, remedy: str = "the same command goes on with it; --allow-missing closes it") -> None:
        """Fail where queries lack an answer; `remedy` says what to do."""
        if self.lacking and not self.whole:
            lacking = f"{self.lacking:,} of {counted(self.queries, 'query', 'queries')} lack an answer"
            address = self.system if self.run is None else f"@{self.system}:{self.run} is open"
            raise SearchOpen(f"{address}: {lacking}; {remedy}\n  {self.why()}")

    def _times(self) -> str:
        ordered = sorted(self.milliseconds.values())
        shares = ", ".join(f"p{share} {_time(_rank(ordered, share))}" for share in (50, 95, 99))
        slow = sorted(self.milliseconds.items(), key=lambda each: (-each[1], each[0]))[:SLOWEST]
        named = ", ".join(f"{query} {_time(taken)}" for query, taken in slow)
        return f"{shares}, with {counted(self.workers, 'worker')}; slowest: {named}"

    def why(self) -> str:
        """What failed and why, the same reasons together."""
        by_reason = sorted(self.failed.items(), key=lambda each: (each[1], each[0]))
        groups = [(reason, [query for query, _ in each]) for reason, each in groupby(by_reason, key=lambda one: one[1])]
        groups.sort(key=lambda group: -len(group[1]))
        words = [f"{_named(queries)}: {reason}" for reason, queries in groups[:REASONS]]
        words += [counted(len(groups) - REASONS, "more reason")] if len(groups) > REASONS else []
        return "\n  ".join([*words, *([f"stopped: {self.stopped}"] if self.stopped else [])])


def _rank(ordered: Sequence[float], share: int) -> float:
    """The value at or below which this share of all lie: the nearest rank."""
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def _time(milliseconds: float) -> str:
    return f"{milliseconds:,.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def _named(queries: Sequence[str]) -> str:
    more = f" and {len(queries) - 3:,} more" if len(queries) > 3 else ""
    return ", ".join(queries[:3]) + more


# ---- in a project ----------------------------------------------------------------------------------------------------


def search(
    project: Project,
    config: Config,
    queries: Sequence[Query] | None,
    source: str,
    k: int,
    *,
    again: bool = False,
    allow_missing: bool = False,
    sample: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Ask the queries of a file, of a sample (the last one), or of the first stage's run; go on with an open run."""
    check_system(config.name, config.where)
    with ExitStack() as opened:
        store = opened.enter_context(project.store(write=True))
        lease = opened.enter_context(Lease(store, f"search {config.name}"))
        system = config.open(project)
        opened.callback(system.close)
        asked, scope = _asked(store, config, queries, source, k, sample)
        identity = config.identity | getattr(system, "about", {})
        scope |= {"depth": k}
        earlier = None if again else stored.earlier_run(store, config.name, identity, **scope)
        before = set() if earlier is None else stored.answered(store, earlier.number)
        left = [each for each in asked if each.query_id not in before]
        whole = earlier is not None and earlier.state == "whole"
        if config.rerank is not None and not whole:
            left = _with_texts(project, config, left, scope["over_run_id"])
        run = store.begin_run(config.name, identity, **scope) if earlier is None else earlier.number
        outcome = Outcome(config.name, config.limits.workers, len(asked), run, len(before))
        outcome.whole = outcome.already = whole
        if whole:
            return outcome

        def keep(answer: Answer, documents: Mapping[str, Mapping[str, Any]]) -> bool:
            lease.check()
            return store.add_answer(run, answer, documents) > 0

        _ask_all(config, system, left, k, keep, outcome, progress)
        outcome.whole = outcome.lacking == 0 or (allow_missing and not outcome.interrupted)
        if outcome.whole:
            store.end_run(run, "whole")
        outcome.failed = dict(stored.failures(store, run))
    return outcome


def _asked(
    store: Store,
    config: Config,
    queries: Sequence[Query] | None,
    source: str,
    k: int,
    sample: int | None = None,
) -> tuple[list[Asked], dict[str, int | None]]:
    """The queries, and what the run is of: a sample of queries, and of a second stage the run that it ranks."""
    if config.rerank is not None:
        if queries is not None:
            raise InputError(f"{config.where}: its queries are those of @{config.rerank}; leave QUERIES out")
        return _candidates(store, config, config.table.get("candidates", k))
    if queries is not None:
        sample = stored.sample_of(store, queries, source)
    elif sample is None:
        sample = stored.last_sample(store)
    return stored.asked_in(store, sample), {"sample_id": sample, "over_run_id": None}


def _candidates(store: Store, config: Config, most: int) -> tuple[list[Asked], dict[str, int | None]]:
    """The queries of the first stage's last whole run, each with its candidates, as yet without their texts."""
    first = store.run_of(config.rerank or "")
    if first.state != "whole":
        words = f"{config.where}: {first.address}, which it ranks, is {first.state}"
        raise InputError(f"{words}; go on with it: rankgauge search {first.system}")
    sample, answered = stored.scope_of(store, first.number)
    if sample is None:
        sample = stored.sample_of(store, [Query(query) for query in answered], first.address)
    ranked = {query: docs[:most] for query, docs, _ in store.rankings(first.number)}
    asked = [
        each._replace(candidates=[(doc, {}) for doc in ranked.get(each.query_id, ())])
        for each in stored.asked_in(store, sample)
    ]
    return asked, {"sample_id": sample, "over_run_id": first.number}


def _with_texts(project: Project, config: Config, asked: Sequence[Asked], first: int | None) -> list[Asked]:
    """The same queries, their candidates with their fields; one without a text cannot be ranked."""
    wanted = {doc for each in asked for doc, _ in each.candidates}
    texts = fields_of(project, wanted)
    if silent := wanted - set(texts):
        words = f"{config.where}: {len(silent):,} of {counted(len(wanted), 'candidate')} of @{config.rerank}:{first}"
        file = '\n  [documents]\n  file = "documents.jsonl"'
        raise InputError(f"{words} have no text, such as {min(silent)!r}; name their file:{file}")
    return [each._replace(candidates=[(doc, texts[doc]) for doc, _ in each.candidates]) for each in asked]


# ---- asking ----------------------------------------------------------------------------------------------------------


def search_files(
    config: Config, queries: Sequence[Query], k: int, progress: Progress | None = None, spare: Spare | None = None
) -> Outcome:
    """The same without a project: nothing is stored, the rankings are in the outcome, and in a spare file."""
    if config.rerank is not None:
        raise InputError(
            f"{config.where}: rerank takes the run of another system, which a project keeps: rankgauge init"
        )
    outcome = Outcome(config.name, config.limits.workers, len(queries))
    with ExitStack() as opened:
        system = config.open(None)
        opened.callback(system.close)

        def keep(answer: Answer, _: Mapping[str, Any]) -> bool:
            if answer.error is None:
                outcome.rankings[answer.query_id] = Ranking(answer.doc_ids, answer.scores, {})
                if spare is not None:
                    spare.add(answer)
            return False

        asked = [Asked(query.query_id, query.text or "", query.need) for query in queries]
        _ask_all(config, system, asked, k, keep, outcome, progress)
    outcome.rankings = {
        each.query_id: outcome.rankings[each.query_id] for each in asked if each.query_id in outcome.rankings
    }
    return outcome


def _ask_all(
    config: Config,
    system: System,
    asked: Sequence[Asked],
    k: int,
    keep: Callable[[Answer, Mapping[str, Mapping[str, Any]]], bool],
    outcome: Outcome,
    progress: Progress | None,
) -> None:
    """Ask with all workers; each answer is kept before its worker asks the next.

    `keep` says whether a stored document has another text.
    """
    batches = [asked[at : at + system.batch] for at in range(0, len(asked), system.batch)]
    pool: Pool[Sequence[Asked], list[Answered]] = Pool(config.limits)
    lock = threading.Lock()
    rules = {
        "duplicates": config.table.get("duplicates", "error"),
        "ascending": bool(getattr(system, "ascending", False)),
    }

    def work(batch: Sequence[Asked]) -> list[Answered]:
        return [_answered(hits, k, rules) for hits in system.ask(batch, k)]

    def kept(done: Done[Sequence[Asked], list[Answered]]) -> None:
        results: Iterable[Answered] = done.result or [done.error or ""] * len(done.item)
        for each, result in zip(done.item, results, strict=True):
            about: dict[str, Any] = {"milliseconds": done.milliseconds, "attempts": done.attempts}
            if isinstance(result, str):
                unequal = keep(Answer(each.query_id, [], [], **about, error=result), {})
            else:
                unequal = keep(Answer(each.query_id, result.doc_ids, result.scores, **about), result.fields)
            with lock:
                outcome.unequal += unequal
                _count(outcome, each.query_id, result, done.milliseconds)
                if progress is not None:
                    progress(outcome.queries - outcome.lacking, outcome.queries, len(outcome.failed))

    began = time.perf_counter()
    pool.run(batches, work, kept)
    outcome.seconds, outcome.stopped = time.perf_counter() - began, pool.stopped


def _answered(hits: Any, k: int, rules: Mapping[str, Any]) -> Answered:
    try:
        return ranking_of(hits, k, **rules)
    except Failed as error:
        return str(error)


def _count(outcome: Outcome, query: str, result: Answered, milliseconds: float) -> None:
    if isinstance(result, str):
        outcome.failed[query] = result
        return
    outcome.milliseconds[query] = milliseconds
    outcome.documents += len(result.doc_ids)
    outcome.notes.update(result.notes)
