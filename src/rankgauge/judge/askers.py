"""Who is asked: a model behind a server, a function, or nobody, where what is stored is all there is."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from rankgauge.errors import InputError
from rankgauge.judge import stored
from rankgauge.judge.answers import Reading, best, read_logprobs, read_response
from rankgauge.judge.chat import Ability, Chat, Reply
from rankgauge.judge.money import Budget, Prices, tokens_of
from rankgauge.read.rows import shortened
from rankgauge.store.store import Judge
from rankgauge.systems.call import called, function_of
from rankgauge.systems.hits import Failed, cleaned
from rankgauge.systems.workers import Stop
from rankgauge.trust.judges.licence import OFF_SCALE

if TYPE_CHECKING:
    from rankgauge.judge.config import JudgeConfig
    from rankgauge.judge.questions import Question
    from rankgauge.judge.scale import Scale
    from rankgauge.store.store import Store

__all__ = ["REMINDER", "Asker", "FunctionJudge", "ModelJudge", "Paid", "Replayed", "Said", "Told", "asker_of"]
__all__ += ["cost_of", "reminded", "said_of", "with_model"]

REMINDER: Final = (
    "\n\nYour last answer could not be read. Give the grade itself, one of {grades}, "
    "and nothing that could be taken for another grade."
)


def reminded(text: str, scale: Scale) -> str:
    """A question whose answer could not be read, as it is asked once more."""
    return text + REMINDER.format(grades=", ".join(scale.to_dict()))


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


class ModelJudge:
    """A model behind a server; what it says is read here, and an answer that cannot be read is asked for once more."""

    def __init__(self, config: JudgeConfig, ability: Ability | None, spent: float) -> None:
        self.config, self.prompt, self.scale = config, config.prompt, config.scale
        self.chat = _chat(config, ability)
        self.budget = Budget(config.prices, config.table.get("budget"), spent)
        self.judge = Judge(config.name, config.kind, config.settings(self.chat.model, config.table["base_url"]))
        self.most, self.schema = config.most, config.prompt.schema(config.scale)
        self._begun: dict[str, list[Paid]] = {}  # of questions whose second answer has not come
        self._lost: dict[str, float] = {}  # what was paid for without an answer

    def ask(self, question: Question) -> Said:
        """What the model says; an unreadable answer is asked for once more, with a reminder."""
        replies = self._begun.setdefault(question.answer, [])
        if not replies:
            replies.append(self._reply(question, question.text))
        if replies[-1].reading.state == "failed" and len(replies) == 1:
            with suppress(Stop):  # what was paid for is kept; whatever it is, it stops the next question
                replies.append(self._reply(question, reminded(question.text, self.scale)))
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
                reply = self.chat.ask(text, self.schema, one_token=one, logprobs=one)
            except Failed as error:
                if error.tokens is not None and self.config.prices is not None:
                    spending.cost = self.config.prices.cost(*error.tokens)
                self._lost[question.answer] = self._lost.get(question.answer, 0.0) + spending.cost
                raise
            cost = cost_of(reply, self.config.prices, spending.cost)
            spending.cost = cost or 0.0
        return Paid(*reply._replace(cost=cost), read_response(reply.response, self.scale, self.prompt))

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
    cost: float | None
    reading: Reading


def cost_of(reply: Reply, prices: Prices | None, most: float) -> float | None:
    """What a reply cost: what the server charged, or by the tokens that it counted, else the most that it could."""
    if reply.cost is not None or prices is None:
        return reply.cost
    if reply.tokens_in is None or reply.tokens_out is None:
        return most
    return prices.cost(reply.tokens_in, reply.tokens_out)


def said_of(replies: Sequence[Paid], config: JudgeConfig, lost: float = 0.0) -> Said:
    """What the replies to one question come to; `lost`: what was paid for without one."""
    responses = [each.response for each in replies]
    costs = [each.cost for each in replies if each.cost is not None]
    sure = read_logprobs(responses[-1], config.scale) if config.prompt.one_token else None
    return Said(
        best(each.reading for each in replies),
        json.dumps(responses, ensure_ascii=False),
        replies[-1].model,
        _total(each.tokens_in for each in replies),
        _total(each.tokens_out for each in replies),
        lost + sum(costs) if costs else None,
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
            return Reading("failed", None, f"the function gave {shortened(repr(grade))}: {OFF_SCALE} {known}")
        return Reading("graded", found, reason)

    def close(self) -> None:
        """Nothing is open."""


class Replayed:
    """Nobody: what is stored is all there is."""

    def __init__(self, config: JudgeConfig) -> None:
        about = config.settings(config.table.get("model"), config.table.get("base_url"))
        self.judge = Judge(config.name, config.kind, about)

    def ask(self, question: Question) -> Said:
        raise AssertionError(question)

    def given_up(self, question: Question) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing is open."""


def asker_of(config: JudgeConfig, store: Store) -> ModelJudge | FunctionJudge:
    if config.call:
        return FunctionJudge(config)
    model, base_url = config.table.get("model"), config.table["base_url"]
    found = stored.ability(store, base_url, model) if model else None
    return ModelJudge(config, None if found is None else Ability.of(found), stored.spent(store, config.name))


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
