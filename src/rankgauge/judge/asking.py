"""Ask a judge about every pair, and keep what becomes of each when it comes; what was answered is never asked again."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError
from rankgauge.judge import stored
from rankgauge.judge.answers import READER
from rankgauge.judge.askers import Asker, ModelJudge, Replayed, Said, Told, asker_of, with_model
from rankgauge.judge.chat import LONGEST_PAUSE
from rankgauge.judge.judged import Judged
from rankgauge.judge.money import Estimate, tokens_of
from rankgauge.judge.pairs import Pair
from rankgauge.judge.questions import Prepared, Question, grouped, prepare
from rankgauge.store.judgments import TRIAL
from rankgauge.store.lease import Lease
from rankgauge.store.rows import digest, parts
from rankgauge.store.store import Label
from rankgauge.systems.hits import Failed
from rankgauge.systems.workers import IN_A_ROW, Done, Pool

if TYPE_CHECKING:
    from rankgauge.judge.config import JudgeConfig
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store

__all__ = ["Progress", "answered_pairs", "ask_judge", "open_pairs", "plan_judge"]

Progress = Callable[[int, int, int, float], None]  # done, of how many, how many failed, what was spent


def open_pairs(project: Project, judges: Sequence[str]) -> list[Pair]:
    """The pairs of the project's pool that nobody but these judges has graded."""
    with project.store() as store:
        if not store.counts()["pair"]:
            raise InputError("the pool is empty; choose what to judge: rankgauge pool @SYSTEM…, or give PAIRS")
        return [Pair(query, doc) for query, doc in stored.pool(store, judges)]


def answered_pairs(project: Project, config: JudgeConfig) -> list[tuple[Pair, float | None]]:
    """The pairs that a judge, as it is set now, has answered, with texts and the grade."""
    with project.store() as store:
        config = with_model(store, config)
        labelled = dict.fromkeys(row[:2] for row in store.labels()[0] if row.judge == config.name)
        prepared = prepare(project, store, config, [Pair(*each) for each in labelled], 1) if labelled else None
        asked = [] if prepared is None else prepared.questions
        known = stored.answers(store, [each.answer for each in asked])
    return [(each.pair, known[each.answer].grade) for each in asked if each.answer in known]


# ---- a pass ----------------------------------------------------------------------------------------------------------


def ask_judge(
    project: Project,
    config: JudgeConfig,
    pairs: Sequence[Pair],
    *,
    repeats: int = 1,
    again: bool = False,
    progress: Progress | None = None,
    told: Told | None = None,
    trial: bool = False,
    latest_text: bool = False,
) -> Judged:
    """Ask about every pair that has no answer yet; `again` asks anew what failed or was refused.

    `told`: nobody is asked, for the answers are there; those that are stored already change nothing. The answers of a
    `trial` are kept, too, but neither they are labels nor what is shown a text of the project. A pair with another text
    of its document than is stored is refused; with `latest_text` it is the document's text from then on.
    """
    with ExitStack() as opened:
        store = opened.enter_context(project.store(write=True))
        lease = opened.enter_context(Lease(store, f"judge {config.name}"))
        config = with_model(store, config, served=told is None and not config.replay)
        prepared = prepare(project, store, config, pairs, repeats)
        known = stored.answers(store, [each.answer for each in prepared.questions])
        asked = prepared.asked(known, again or told is not None)
        if told is not None:
            asked = told.new(prepared.questions, asked, stored.raws(store, [each.answer for each in asked]))
            asker: Asker = told
        elif config.replay or not asked:
            asker = Replayed(config)
        else:
            real = asker_of(config, store)
            opened.callback(real.close)
            if isinstance(real, ModelJudge):
                real.budget.check(tokens_of(asked[0].text), real.most, config.where)
            asker = real
        if trial:
            asker.judge = asker.judge._replace(kind=TRIAL)
        if not trial:
            stored.keep_texts(store, prepared.pairs, pairs, latest_text=latest_text)
        prompt = config.prompt
        store.add_prompts([] if config.call else [{"hash": prompt.hash, "name": prompt.name, "text": prompt.text}])
        passing = _Pass(config, store, lease, asker, known, again, progress, len(prepared.questions))
        anew = {each.answer for each in asked}
        passing.reuse([each for each in prepared.questions if each.answer in known and each.answer not in anew])
        if told is not None:
            passing.take(asked, prepared.questions)
        elif config.replay:
            passing.lack(asked, "none is stored, and replay asks nothing")
        else:
            passing.run(asked)
        return passing.judged(prepared)


class _Pass:
    """The work of one judge: questions with the same text are asked once, and every outcome is stored as it comes."""

    def __init__(
        self,
        config: JudgeConfig,
        store: Store,
        lease: Lease,
        asker: Asker,
        known: Mapping[str, stored.Stored],
        again: bool,
        progress: Progress | None,
        questions: int,
    ) -> None:
        self.config, self.store, self.lease, self.asker = config, store, lease, asker
        self.known, self.again, self.progress, self.questions = known, again, progress, questions
        self.lock = threading.Lock()
        self.done: dict[tuple[str, str, int], tuple[str, float | None, str | None]] = {}
        self.counts: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.errors: dict[tuple[str, str], str] = {}
        self.cost: float | None = None if config.prices is None else 0.0
        self.seconds = 0.0
        self.barren = 0  # answers in a row that have no grade
        self.pool: Pool[list[Question], Said] | None = None
        self.thin = 0
        self.stopped: str | None = None
        self.ability: Any = None

    def reuse(self, questions: Sequence[Question]) -> None:
        """Give the answers that are stored to the pairs that ask for them."""
        name = self.asker.judge.name
        labels = []
        for each in questions:
            row = self.known[each.answer]
            self._count(each, row.state, row.grade, row.reason)
            self.thin += row.mass is not None and row.mass < THIN
            labels.append(row.label(each, each.key(name)))
        self.counts["before"] = len(labels)
        if self.counts["open"] == len(labels) >= IN_A_ROW:  # one more such answer is enough
            self.barren = IN_A_ROW - 1
        have = stored.keys(self.store, [label.key for label in labels])
        if new := [label for label in labels if label.key not in have]:
            self.store.add_judgments([(self.asker.judge, label) for label in new], name)

    def run(self, questions: Sequence[Question]) -> None:
        """Ask, with all workers."""
        model = not self.config.call
        pool: Pool[list[Question], Said] = Pool(
            self.config.limits,
            longest_pause=LONGEST_PAUSE,
            alone=model,  # the first shows what the server takes
            steps=4 if model else 1,  # an answer and one more, and waiting for room in the budget before each
        )
        self.pool, began = pool, time.perf_counter()
        pool.run(grouped(questions), lambda group: self.asker.ask(group[0]), self._keep)
        self.seconds, self.stopped = time.perf_counter() - began, pool.stopped

    def take(self, questions: Sequence[Question], wanted: Sequence[Question]) -> None:
        """Keep answers that are there already; what is wanted and has none stays open."""
        for part in parts(grouped(questions)):
            self._keep(*map(self._told, part))
        self.lack(wanted, "the files have no line for it")

    def lack(self, questions: Iterable[Question], why: str) -> None:
        """Say of those that have no answer why it is so."""
        for question in questions:
            if (*question.pair[:2], question.repeat) not in self.done:
                self.errors.setdefault(question.pair[:2], why)

    def _told(self, group: list[Question]) -> Done[list[Question], Said]:
        try:
            return Done(group, self.asker.ask(group[0]), None, 1, 0.0)
        except Failed as error:
            return Done(group, None, str(error), 1, 0.0)

    def _keep(self, *several: Done[list[Question], Said]) -> None:
        """Store what became of questions, all at once, then count it."""
        self.lease.check()
        kept = [(done, done.result or self.asker.given_up(done.item[0])) for done in several]
        found = [(done, question, said) for done, said in kept if said is not None for question in done.item]
        if found:
            labels = [self._label(question, said, done.milliseconds) for done, question, said in found]
            self.store.add_judgments([(self.asker.judge, label) for label in labels], self.config.name)
            self._keep_ability()
        with self.lock:
            for done, said in kept:
                self._tally(done, said)
            if self.progress is not None:
                self.progress(len(self.done), self.questions, len(self.errors) + self.counts["open"], self.cost or 0.0)

    def _tally(self, done: Done[list[Question], Said], said: Said | None) -> None:
        for question in done.item:
            if said is None or not said.answered:
                self.errors[question.pair[:2]] = done.error or "no answer"
            else:
                self._count(question, *said.reading)
        if said is not None:
            self._add_up(said)
            self._give_up(said)

    def _give_up(self, said: Said) -> None:
        """Stop asking a model that gives no grades: every answer is paid for, and asked for twice."""
        if self.config.call or not said.answered:
            return
        self.barren = 0 if said.reading.state == "graded" else self.barren + 1
        if self.barren >= IN_A_ROW and self.pool is not None and self.pool.stopped is None:
            words = f"{IN_A_ROW} answers in a row without a grade, the last: {said.reading.reason}"
            self.pool.stopped = f"{words}; check the prompt and the model"

    def _label(self, question: Question, said: Said, milliseconds: float) -> Label:
        attempt = self.known[question.answer].attempts if question.answer in self.known else 0
        pair, key = question.pair, question.key(self.asker.judge.name, attempt)
        return Label(
            pair.query_id, pair.doc_id, said.reading.grade, key if said.answered else digest([key, time.time_ns()]),
            question.repeat, said.reading.state, said.reading.reason,
            doc_hash=digest(pair.document), raw=said.raw, reader=READER if said.raw is not None else None,
            model=said.model, tokens_in=said.tokens_in, tokens_out=said.tokens_out, cost=said.cost,
            milliseconds=milliseconds or None, calls=said.calls, answer=question.answer if said.answered else None,
            cut=question.cut, expected=said.expected, mass=said.mass,
        )  # fmt: skip

    def _keep_ability(self) -> None:
        chat = getattr(self.asker, "chat", None)
        if chat is not None and chat.ability != self.ability:
            self.ability = chat.ability
            stored.keep_ability(self.store, chat.base_url, chat.model, self.ability.to_dict())

    def _count(self, question: Question, state: str, grade: float | None, reason: str | None) -> None:
        self.done[(*question.pair[:2], question.repeat)] = (state, grade, reason)
        self.counts["open"] += state != "graded"

    def _add_up(self, said: Said) -> None:
        self.counts["calls"] += said.calls
        self.counts["tokens_in"] += said.tokens_in or 0
        self.counts["tokens_out"] += said.tokens_out or 0
        self.cost = self.cost if said.cost is None else (self.cost or 0.0) + said.cost
        if said.model is not None:
            self.models[said.model] += 1
        self.thin += said.mass is not None and said.mass < THIN

    def judged(self, prepared: Prepared) -> Judged:
        """What came of it."""
        earlier = stored.models(self.store, self.config.name)
        return Judged(
            judge=self.config.name,
            kind=self.config.kind,
            scale=self.config.scale,
            pairs=len(prepared.pairs),
            repeats=prepared.repeats,
            before=self.counts["before"],
            outcomes=dict(self.done),
            errors=dict(self.errors),
            silent={pair[:2]: "document" if pair.query else "query" for pair in prepared.silent},
            cut=sum(bool(question.cut) for question in prepared.questions if question.repeat == 0),
            calls=self.counts["calls"],
            tokens=(self.counts["tokens_in"], self.counts["tokens_out"]),
            cost=self.cost,
            currency=self.config.currency,
            models=tuple(dict.fromkeys([*self.models, *earlier])),
            thin=self.thin,
            seconds=self.seconds,
            stopped=self.stopped,
            settings=self.asker.judge.settings,
        )


THIN: Final = 0.5  # of the probability on the scale's grades, below which an answer of one token says little


# ---- without asking --------------------------------------------------------------------------------------------------


def plan_judge(
    project: Project,
    config: JudgeConfig,
    pairs: Sequence[Pair],
    repeats: int = 1,
    *,
    again: bool = False,
    latest_text: bool = False,
) -> dict[str, Any]:
    """What a pass would ask, and what it might cost; nothing is sent or stored."""
    with project.store() as store:
        config = with_model(store, config)
        if not latest_text:
            stored.check_texts(store, pairs)
        prepared = prepare(project, store, config, pairs, repeats)
        known = stored.answers(store, [each.answer for each in prepared.questions])
        seen, spent = stored.used(store, config.name), stored.spent(store, config.name)
    left = {each.answer: each for each in prepared.asked(known, again)}
    estimate = Estimate.of(
        sum(len(each.text) for each in left.values()), 0 if config.replay else len(left), seen, config.most,
        config.prices,
    )  # fmt: skip
    return {
        "judge": config.name,
        "pair_count": len(prepared.pairs),
        "without_text": len(prepared.silent),
        "answered": len(prepared.questions) - sum(each.answer not in known for each in prepared.questions),
        **({} if config.call else estimate._asdict()),
        **({"calls": len(left)} if config.call else {"currency": config.currency}),
        **({"budget_left": max(0.0, config.table["budget"] - spent)} if "budget" in config.table else {}),
    }
