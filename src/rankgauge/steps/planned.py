"""What each step of the loop would do, and why; or why there is nothing to do. Nothing is asked, sent or stored."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rankgauge.errors import InputError, counted
from rankgauge.judge.asking import plan_judge
from rankgauge.judge.money import worth
from rankgauge.judge.pairs import Pair, read_pairs
from rankgauge.steps.looped import Step
from rankgauge.steps.work import PAIRS, Work, drawn_from, said_of
from rankgauge.store.engine import StoreError
from rankgauge.store.transfer.files import read_queries
from rankgauge.systems import stored

if TYPE_CHECKING:
    from rankgauge.steps.settings import Settings
    from rankgauge.store.store import Store
    from rankgauge.systems.config import Config

__all__ = ["planned"]

NEVER = "was never asked this, as it is now"


def planned(settings: Settings, again: Collection[str] = ()) -> Iterator[Step]:
    """A step or, of several judges, several; `kept` where there is nothing to do."""
    with _opened(settings) as store:
        plan = _Plan(settings, None if store is None else Work(settings, store, None, again))
        yield plan.sample()
        yield plan.search()
        yield plan.pool()
        yield from plan.judge()
        yield plan.evaluate()
        yield plan.compare()
        yield plan.report()


@contextmanager
def _opened(settings: Settings) -> Iterator[Store | None]:
    """The store, for reading; none where the loop has yet to make it."""
    project = settings.project
    if project.file is not None and not project.file.is_file():
        yield None
        return
    try:
        store = project.store()
    except StoreError:
        if project.file is not None:
            raise
        yield None  # on a server, where there may be none yet
        return
    with store:
        yield store


class _Plan:
    """The steps in their order: what one would change, those after it have to do, too."""

    def __init__(self, settings: Settings, work: Work | None) -> None:
        self.settings, self.work = settings, work
        self.due = {} if work is None else work.due()
        self.after = ""  # the step before that would run
        self.runs: dict[str, int] = {}  # that are whole, and stay
        queries = settings.queries
        self.queries: int | None = len(drawn_from(settings)) if "log" in queries else None
        self.given = read_queries(str(settings.path(queries["file"]))) if "file" in queries else None
        self.queries = len(self.given) if self.given is not None else self.queries

    @property
    def many(self) -> str:
        return "the stored queries" if self.queries is None else counted(self.queries, "query", "queries")

    def _step(self, name: str, why: str, what: str, unchanged: str) -> Step:
        """A step that would run for a reason, else for none: because this is `unchanged`."""
        if why:
            self.after = self.after or name
        return Step(name, f"would run, {why}: {what}" if why else f"nothing to do, {unchanged}: {what}", kept=not why)

    def _remembered(self, name: str, inputs: Any, never: str, changed: str) -> str:
        """Why a step that remembers its inputs would run."""
        if self.after:
            return f"after {self.after}"
        if self.work is None or self.work.known(name) is None:
            return never
        return changed if self.work.known(name, inputs) is None else ""

    def sample(self) -> Step:
        """Of a log; a list is taken as it is."""
        queries = self.settings.queries
        what = f"{self.many} of {queries.get('log') or queries.get('file') or 'the store'}"
        if "log" not in queries:
            return self._step("sample", "", what, "the queries are taken as they are")
        inputs = None if self.work is None else self.work.sample_inputs
        why = self._remembered("sample", inputs, "nothing was drawn yet", "the log or [queries] has changed")
        if not why and self.work is not None and self.work.sample_name not in self.work.store.samples():
            why = "the store has it no more"
        return self._step("sample", why, what, "log and [queries] are as before")

    def search(self) -> Step:
        """Of every system."""
        due = {name: why for name, config in self.settings.systems.items() if (why := self._asked(config))}
        same = {*due.values()}
        told = f"{', '.join(due)}: {same.pop()}" if len(same) == 1 else "; ".join(map(": ".join, due.items()))
        why = f"after {self.after}" if self.after else told
        what = f"{self.many}, asked of {', '.join(self.settings.systems)}"
        return self._step("search", why, what, "all have answered, and none has changed")

    def _asked(self, config: Config) -> str:
        """Why a system would be asked; else the number of its run is noted."""
        if self.after or self.work is None:
            return NEVER
        store = self.work.store
        sample, over = self._scope(config)
        if sample is None or (config.rerank and over is None):
            return f"{config.rerank} is asked before it" if config.rerank else NEVER
        scope = {"sample_id": sample, "over_run_id": over, "depth": config.depth}
        earlier = stored.earlier_run(store, config.name, config.identity_in(self.settings.project), **scope)
        if earlier is None:
            return NEVER
        if self.work.is_due(config.name, self.due):
            return self.due[config.name].why
        if earlier.state != "whole":
            return f"@{config.name}:{earlier.number} lacks answers"
        self.runs[config.name] = earlier.number
        return ""

    def _scope(self, config: Config) -> tuple[int | None, int | None]:
        """The sample that a system would be asked, and the run that it would rerank, where these are there."""
        assert self.work is not None
        store = self.work.store
        if config.rerank:
            over = self.runs.get(config.rerank)
            return (None, None) if over is None else (stored.scope_of(store, over)[0], over)
        if self.work.sample_name is not None:
            return store.samples()[self.work.sample_name], None
        return stored.sample_with(store, None if self.given is None else [each.query_id for each in self.given]), None

    def pool(self) -> Step:
        """Where runs, rules or people's labels have changed."""
        settings = self.settings
        depth = settings.pool.get("take") or settings.pool.get("depth", 10) * len(settings.systems)
        what = f"at most {depth:,} of every query"
        what += f", {depth * self.queries:,} pairs" if self.queries is not None else ""
        inputs = None if self.work is None or self.after else self.work.pool_inputs(self.runs)
        changed = "runs, [pool] or people's labels have changed"
        why = self._remembered("pool", inputs, "nothing was chosen yet", changed)
        why = why or ("" if settings.path(PAIRS).is_file() else f"{PAIRS} is not there")
        return self._step("pool", why, what, "runs, [pool] and people's labels are as before")

    def judge(self) -> Iterator[Step]:
        """What is left for every judge, and what it might cost."""
        if not self.settings.judges:
            yield self._step("judge", "", "the labels of the store count", "there are no judges")
        pooled, checked = self._pairs()
        anew = f"after {self.after}" if self.after else ""
        for name, config in self.settings.judges.items():
            if pooled is None:
                words = f"{name}: the pairs are not known before the pool; --until pool makes it"
                yield self._step("judge", anew or "after pool", words, "")
            elif not pooled:
                yield self._step("judge", anew, name, "every pair of the pool has a grade")
            else:
                plan = plan_judge(self.settings.project, config, [*pooled, *checked], self.settings.repeats)
                also = f" and {len(checked):,} of the check" if checked else ""
                of = " of the pool as it is" if anew else ""
                words = f"{name}: {counted(len(pooled), 'pair')}{of}{also}, {counted(plan['calls'], 'call')} to make"
                why = anew or ("pairs lack an answer" if plan["calls"] else "")
                yield self._step("judge", why, f"{words}{worth(plan)}", "every pair has an answer")

    def _pairs(self) -> tuple[list[Pair] | None, list[Pair]]:
        """The pairs of the pool, where there is one, and what is asked for the check beside them."""
        path = self.settings.path(PAIRS)
        if not path.is_file() or self.work is None:
            return None, []
        queries = [query.query_id for query in self.work.store.queries()]
        chosen = self.work.known("pool")
        pooled = [] if chosen is not None and not chosen["pairs"] else read_pairs(str(path))
        said = {} if self.settings.check is None else said_of(self.settings.check, queries)
        judged = [Pair(query, doc) for query, each in said.items() for doc in each]
        known = {pair[:2] for pair in pooled}
        return pooled, [pair for pair in judged if pair[:2] not in known]

    def evaluate(self) -> Step:
        """Where anything that values rest on has changed."""
        what = f"{', '.join(self.settings.measures)} of {', '.join(self.settings.systems)}"
        changed = "runs, labels, measures or the sample have changed"
        why = self._remembered("evaluate", self._inputs, "nothing was measured yet", changed)
        return self._step("evaluate", why, what, "runs, labels, measures and the sample are as before")

    @property
    def _inputs(self) -> Any:
        """What values rest on; something that nobody has remembered, where it is not there yet."""
        try:
            return None if self.work is None or self.after else self.work.inputs
        except InputError:
            return []

    def compare(self) -> Step:
        """Always, where there are two."""
        if len(self.settings.systems) < 2:
            return Step("compare", "nothing to do, there is one system, and nothing to compare it with", kept=True)
        return Step("compare", f"would run, as ever: against {self.settings.first}")

    def report(self) -> Step:
        """Where what it shows has changed."""
        path = self.settings.report
        inputs = self.work.shown if self.work is not None and self._inputs else []
        why = self._remembered("report", inputs, "it was never written", "what it shows has changed")
        why = why or ("" if path.is_file() else "it is not there")
        return self._step("report", why, os.fspath(path), "what it shows is as before")
