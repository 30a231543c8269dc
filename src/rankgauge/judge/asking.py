"""Ask a judge about every pair, and keep what becomes of each when it comes; what was answered is never asked again."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from rankgauge.errors import InputError
from rankgauge.judge import stored
from rankgauge.judge.answers import READER, Reading, best, read_logprobs, read_response
from rankgauge.judge.chat import LONGEST_PAUSE, Ability, Chat, Reply
from rankgauge.judge.judged import Judged
from rankgauge.judge.money import Budget, Estimate, Prices, tokens_of
from rankgauge.judge.pairs import Pair
from rankgauge.judge.shown import shown_document
from rankgauge.read.rows import shortened
from rankgauge.store.judgments import TRIAL
from rankgauge.store.lease import Lease
from rankgauge.store.rows import digest, parts, written
from rankgauge.store.store import Judge, Label
from rankgauge.systems.call import called, function_of
from rankgauge.systems.config import documents_of
from rankgauge.systems.documents import fields_of
from rankgauge.systems.hits import Failed, cleaned
from rankgauge.systems.workers import Done, Pool, Stop

if TYPE_CHECKING:
    from rankgauge.judge.config import JudgeConfig
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store

__all__ = ["Question", "answered_pairs", "ask_judge", "open_pairs", "plan_judge", "questions_of"]

Progress = Callable[[int, int, int, float], None]  # done, of how many, how many failed, what was spent
REMINDER: Final = (
    "\n\nYour last answer could not be read. Give the grade itself, one of {grades}, "
    "and nothing that could be taken for another grade."
)


class Question(NamedTuple):
    """What is asked about a pair, once or again on purpose: the text to send, and the key of its answer."""

    pair: Pair
    repeat: int
    answer: str
    text: str
    cut: int

    def key(self, judge: str, attempt: int = 0) -> str:
        """The key of a label: that of the answer, by this judge about this pair."""
        return digest([self.answer, self.pair.query_id, self.pair.doc_id, judge, *([attempt] if attempt else [])])


class Said(NamedTuple):
    """What a judge said: the reading of it, and all that there is to keep."""

    reading: Reading
    raw: str | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    calls: int = 1
    expected: float | None = None
    mass: float | None = None
    answered: bool = True  # or it only cost something


class Asker(Protocol):
    """A judge who is ready to be asked."""

    judge: Judge

    def ask(self, question: Question) -> Said:
        """What the judge says."""

    def given_up(self, question: Question) -> Said | None:
        """What is to be kept of a question that got no answer in the end."""

    def close(self) -> None:
        """Let go of what is open."""


class Told(Asker, Protocol):
    """A judge whose answers are there already."""

    def new(
        self, questions: Sequence[Question], asked: Sequence[Question], seen: Mapping[str, Collection[str]]
    ) -> list[Question]:
        """Those that are asked, of all questions, and have an answer that was not seen before."""


# ---- what is asked ---------------------------------------------------------------------------------------------------


def questions_of(
    config: JudgeConfig, pairs: Sequence[Pair], repeats: int = 1, show: Sequence[str] = ()
) -> tuple[list[Question], list[Pair]]:
    """The questions about pairs, and the pairs that have no text to ask about."""
    questions, silent = [], []
    about = _about(config)
    for pair in pairs:
        shown = shown_document(pair.document, show or None, config.longest)
        if not pair.query or not shown.text:
            silent.append(pair)
            continue
        if config.call:
            text = written([pair.query_id, pair.query, pair.need, pair.doc_id, pair.document])
        else:
            text = config.prompt.rendered(pair.query, pair.need, shown.text, config.scale)
        for repeat in range(repeats):
            key = digest([*about, text, repeat])
            questions.append(Question(pair, repeat, key, text, 0 if config.call else shown.cut))
    return questions, silent


def _about(config: JudgeConfig) -> list[Any]:
    """What an answer depends on, beside the text that is sent and how often it was asked for."""
    if config.call:
        return ["call", config.call, config.scale.to_dict()]
    sent = (config.table.get("model"), config.table["base_url"], config.parameters)
    return [*sent, config.prompt.schema(config.scale), config.prompt.text, config.scale.to_dict()]


def with_texts(project: Project, store: Store, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with the texts that the project has, where they bring none of their own."""
    known = {query.query_id: query for query in store.queries()}
    fields = fields_of(project, {pair.doc_id for pair in pairs if not pair.document})
    made = []
    for pair in pairs:
        query = known.get(pair.query_id)
        made.append(
            pair._replace(
                query=pair.query or (query and query.text),
                need=pair.need or (query and query.need),
                document=pair.document or fields.get(pair.doc_id, {}),
            )
        )
    return made


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


# ---- who is asked ----------------------------------------------------------------------------------------------------


class ModelJudge:
    """A model behind a server; what it says is read here, and an answer that cannot be read is asked for once more."""

    def __init__(self, config: JudgeConfig, ability: Ability | None, spent: float) -> None:
        self.config, self.prompt, self.scale = config, config.prompt, config.scale
        self.chat = _chat(config, ability)
        self.budget = Budget(config.prices, config.table.get("budget"), spent)
        self.judge = Judge(config.name, config.kind, config.settings(self.chat.model, config.table["base_url"]))
        self.most = config.most
        self._begun: dict[str, list[Paid]] = {}  # of questions whose second answer has not come
        self._lost: dict[str, float] = {}  # what was paid for without an answer

    def ask(self, question: Question) -> Said:
        """What the model says; an unreadable answer is asked for once more, with a reminder."""
        replies = self._begun.setdefault(question.answer, [])
        if not replies:
            replies.append(self._reply(question, question.text))
        if replies[-1].reading.state == "failed" and len(replies) == 1:
            grades = ", ".join(self.scale.to_dict())
            with suppress(Stop):  # what was paid for is kept; whatever it is, it stops the next question
                replies.append(self._reply(question, question.text + REMINDER.format(grades=grades)))
        return self._said(question)

    def given_up(self, question: Question) -> Said | None:
        """The unreadable answer, where the second did not come; else what was paid for nothing."""
        if self._begun.get(question.answer):
            return self._said(question)
        lost = self._lost.pop(question.answer, 0.0)
        reading = Reading("failed", None, "no answer came, though it may have been paid for")
        return Said(reading, cost=lost, calls=0, answered=False) if lost else None

    def _said(self, question: Question) -> Said:
        replies, lost = self._begun.pop(question.answer), self._lost.pop(question.answer, 0.0)
        return said_of(replies, self.config, lost)

    def _reply(self, question: Question, text: str) -> Paid:
        """One answer, within the budget: what nobody says the cost of has cost the most that it could."""
        one = self.prompt.one_token
        with self.budget.reserve(tokens_of(text), self.most) as spending:
            try:
                reply = self.chat.ask(text, self.prompt.schema(self.scale), one_token=one, logprobs=one)
            except Failed as error:
                if error.tokens is not None and self.config.prices is not None:
                    spending.cost = self.config.prices.cost(*error.tokens)
                self._lost[question.answer] = self._lost.get(question.answer, 0.0) + spending.cost
                raise
            spending.cost = cost_of(reply, self.config.prices, spending.cost)
        return Paid(*reply, spending.cost, read_response(reply.response, self.scale, self.prompt))

    def close(self) -> None:
        """Let go of the connections."""
        self.chat.close()


class Paid(NamedTuple):
    """A reply, what it cost, and what it says."""

    response: dict[str, Any]
    model: str | None
    tokens_in: int | None
    tokens_out: int | None
    calls: int
    cost: float
    reading: Reading


def cost_of(reply: Reply, prices: Prices | None, most: float) -> float:
    """What a reply cost: by what the server counted, else the most that it could."""
    if prices is None or reply.tokens_in is None or reply.tokens_out is None:
        return most
    return prices.cost(reply.tokens_in, reply.tokens_out)


def said_of(replies: Sequence[Paid], config: JudgeConfig, lost: float = 0.0) -> Said:
    """What the replies to one question come to; `lost`: what was paid for without one."""
    responses = [each.response for each in replies]
    sure = read_logprobs(responses[-1], config.scale) if config.prompt.one_token else None
    return Said(
        best(each.reading for each in replies),
        json.dumps(responses, ensure_ascii=False),
        replies[-1].model,
        _total(each.tokens_in for each in replies),
        _total(each.tokens_out for each in replies),
        None if config.prices is None else lost + sum(each.cost for each in replies),
        sum(each.calls for each in replies),
        None if sure is None else sure.grade,
        None if sure is None else sure.mass,
    )


def _total(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


class FunctionJudge:
    """A function of the user's: `f(query, document)` returns a grade, None, or (grade, reason)."""

    def __init__(self, config: JudgeConfig) -> None:
        self.config = config
        self.function = function_of(config.call or "", config)
        self.judge = Judge(config.name, config.kind, config.settings(None, None))

    def ask(self, question: Question) -> Said:
        """What the function returns."""
        pair = question.pair
        query = {"query_id": pair.query_id, "query": pair.query, "need": pair.need, "repeat": question.repeat}
        answer = called(self.function, query, {"doc_id": pair.doc_id, **pair.document})
        grade, reason = answer if isinstance(answer, tuple | list) and len(answer) == 2 else (answer, None)
        return Said(self._reading(grade, None if reason is None else cleaned(str(reason))), calls=1)

    def given_up(self, question: Question) -> None:
        """Nothing: a function costs nothing."""

    def _reading(self, grade: Any, reason: str | None) -> Reading:
        if grade is None:
            return Reading("failed", None, reason or "the function gave no grade")
        found = self.config.scale.grade_of(grade.item() if hasattr(grade, "item") else grade)
        if found is None:
            known = self.config.scale.listed
            return Reading("failed", None, f"the function gave {shortened(repr(grade))}; expected {known}")
        return Reading("graded", found, reason)

    def close(self) -> None:
        """Nothing is open."""


def _asker(config: JudgeConfig, store: Store) -> ModelJudge | FunctionJudge:
    if config.call:
        return FunctionJudge(config)
    model, base_url = config.table.get("model"), config.table["base_url"]
    found = stored.ability(store, base_url, model) if model else None
    return ModelJudge(config, None if found is None else Ability.of(found), stored.spent(store, config.name))


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
) -> Judged:
    """Ask about every pair that has no answer yet; `again` asks anew what failed or was refused.

    `told`: nobody is asked, for the answers are there; those that are stored already change nothing. The answers of a
    `trial` are kept, too, but neither they are labels nor what is shown a text of the project.
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
            asker = _Replayed(config, store)
        else:
            real = _asker(config, store)
            opened.callback(real.close)
            if isinstance(real, ModelJudge):
                real.budget.check(tokens_of(asked[0].text), real.most, config.where)
            asker = real
        if trial:
            asker.judge = asker.judge._replace(kind=TRIAL)
        prompt = config.prompt
        store.add_prompts([] if config.call else [{"hash": prompt.hash, "name": prompt.name, "text": prompt.text}])
        if not trial:
            stored.keep_texts(store, prepared.pairs)
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


def with_model(store: Store, config: JudgeConfig, *, served: bool = False) -> JudgeConfig:
    """The judge with the model that it means where its table names none, for answers are kept by it.

    `served`: the server is asked for the one that it has; where it is gone, it is the one that the judge had last.
    """
    if config.call or config.table.get("model"):
        return config
    model = stored.last_model(store, config.name)
    if served:
        chat = _chat(config, None)
        try:
            model = chat.model
        except InputError:
            if model is None:
                raise
        finally:
            chat.close()
    return config if model is None else replace(config, table={**config.table, "model": model})


def _chat(config: JudgeConfig, ability: Ability | None) -> Chat:
    table = config.table
    return Chat(
        table["base_url"], table.get("model"), table.get("key"), config.parameters, config.limits, config.where,
        ability, limited="budget" in table,
    )  # fmt: skip


class Prepared(NamedTuple):
    pairs: list[Pair]
    questions: list[Question]
    silent: list[Pair]
    repeats: int

    def asked(self, known: Mapping[str, stored.Stored], again: bool) -> list[Question]:
        """The questions that have no answer; `again`: none with a grade."""
        done = {key for key, row in known.items() if not again or row.state == "graded"}
        return [each for each in self.questions if each.answer not in done]


def prepare(project: Project, store: Store, config: JudgeConfig, pairs: Sequence[Pair], repeats: int) -> Prepared:
    if not pairs:
        raise InputError("there is nothing to judge; choose pairs first: rankgauge pool RUN…")
    documents = documents_of(project.settings, project.folder, str(project.folder / "rankgauge.toml"))
    texts = with_texts(project, store, pairs)
    questions, silent = questions_of(config, texts, repeats, documents.show if documents is not None else ())
    return Prepared(texts, questions, silent, repeats)


def grouped(questions: Iterable[Question]) -> list[list[Question]]:
    """The questions that have one answer together."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.answer, []).append(question)
    return [*groups.values()]


class _Replayed:
    """Nobody: what is stored is all there is."""

    def __init__(self, config: JudgeConfig, store: Store) -> None:
        model = config.table.get("model")
        served = model or stored.last_model(store, config.name)
        self.judge = Judge(config.name, config.kind, config.settings(served, config.table.get("base_url")))

    def ask(self, question: Question) -> Said:
        raise AssertionError(question)

    def given_up(self, question: Question) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing is open."""


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
        self.cost = self.seconds = 0.0
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
        began = time.perf_counter()
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
                self.progress(len(self.done), self.questions, len(self.errors) + self.counts["open"], self.cost)

    def _tally(self, done: Done[list[Question], Said], said: Said | None) -> None:
        for question in done.item:
            if said is None or not said.answered:
                self.errors[question.pair[:2]] = done.error or "no answer"
            else:
                self._count(question, *said.reading)
        if said is not None:
            self._add_up(said)

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
        self.cost += said.cost or 0.0
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
            silent=tuple(pair[:2] for pair in prepared.silent),
            cut=sum(bool(question.cut) for question in prepared.questions if question.repeat == 0),
            calls=self.counts["calls"],
            tokens=(self.counts["tokens_in"], self.counts["tokens_out"]),
            cost=None if self.config.prices is None else self.cost,
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
    project: Project, config: JudgeConfig, pairs: Sequence[Pair], repeats: int = 1, *, again: bool = False
) -> dict[str, Any]:
    """What a pass would ask, and what it might cost; nothing is sent or stored."""
    with project.store() as store:
        config = with_model(store, config)
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
