"""A judge that is asked by files: batches as OpenAI's servers take them, sent by whoever likes, and what came back.

A line asks one question; its custom_id is the key of the answer, so what comes back finds its pair in any order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rankgauge.errors import FormatError, InputError, counted
from rankgauge.judge import stored
from rankgauge.judge.answers import Reading, read_response
from rankgauge.judge.askers import Paid, Said, cost_of, reminded, said_of
from rankgauge.judge.asking import ask_judge
from rankgauge.judge.chat import FATAL, LIMIT, Ability, refused, reply_of, request_body
from rankgauge.judge.money import Budget, Estimate, tokens_of
from rankgauge.judge.pairs import Pair
from rankgauge.judge.questions import Question, grouped, prepare
from rankgauge.read.cells import json_lines
from rankgauge.read.rows import shortened
from rankgauge.read.sources import find_source
from rankgauge.store.store import Judge
from rankgauge.systems.hits import Failed, cleaned
from rankgauge.systems.http import PASSING
from rankgauge.writers.files import opened

if TYPE_CHECKING:
    from rankgauge.judge.config import JudgeConfig
    from rankgauge.judge.judged import Judged
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store

__all__ = ["Batch", "Results", "read_batch", "write_batch"]

LINES: Final = 50_000  # that a file may have
BYTES: Final = 200_000_000
URL: Final = "/v1/chat/completions"
OK: Final = 200
SUFFIX: Final = ".jsonl"
STATES: Final = ("graded", "refused", "failed")  # which of several answers counts


# ---- out -------------------------------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """What was written: the files, how many questions, and what they may cost; `left` have no room in the budget."""

    judge: str
    pair_count: int
    answered: int
    without_text: int
    questions: int
    left: int
    files: tuple[str, ...]
    tokens_in: float
    tokens_out: float
    cost: float | None
    currency: str
    older: tuple[str, ...] = ()  # files of an earlier batch, which would be taken for parts of this one


def write_batch(
    project: Project,
    config: JudgeConfig,
    pairs: Sequence[Pair],
    path: str,
    *,
    repeats: int = 1,
    again: bool = False,
    lines: int = LINES,
    size: int = BYTES,
    latest_text: bool = False,
) -> Batch:
    """Write the questions that have no answer, so many lines and bytes a file; nothing is sent.

    `again`: also those that failed or were refused, with a reminder where an answer could not be read.
    """
    _check(config, path)
    with project.store() as store:
        if not latest_text:
            stored.check_texts(store, pairs)
        prepared = prepare(project, store, config, pairs, repeats)
        known = stored.answers(store, [each.answer for each in prepared.questions])
        seen, spent, ability = (
            stored.used(store, config.name),
            stored.spent(store, config.name),
            _ability(store, config),
        )
    asked = prepared.asked(known, again)
    unread = {key for key, row in known.items() if row.state == "failed" and _is_answer(row.raw)}
    groups = grouped(
        each._replace(text=reminded(each.text, config.scale)) if each.answer in unread else each for each in asked
    )
    several = [group[0] for group in groups]
    within = _within_budget(several, config, spent)
    files = _write([_line(each, config, ability) for each in within], Path(path), lines, size)
    characters = sum(len(each.text) for each in within)
    estimate = Estimate.of(characters, len(within), seen, config.most, config.prices)
    return Batch(
        config.name, len(prepared.pairs), len(prepared.questions) - len(asked), len(prepared.silent), len(within),
        len(several) - len(within), files, estimate.tokens_in, estimate.tokens_out, estimate.cost, config.currency,
        _older(Path(path), files),
    )  # fmt: skip


def _check(config: JudgeConfig, path: str = "") -> None:
    """Refuse what no batch can be written for."""
    if config.call or config.replay:
        kind = "a function (call)" if config.call else "one that only replays"
        raise InputError(f"{config.where}: the judge is {kind}; a batch is for a model behind a server")
    if not config.table.get("model"):
        raise InputError(f'{config.where}: lacks model, which every line of a batch names; write model = "…"')
    if path and not path.endswith(SUFFIX):
        raise InputError(f"{path}: a batch is a file of JSON lines; name it so, such as batch{SUFFIX}")


def _ability(store: Store, config: JudgeConfig) -> Ability:
    """What the server and model are known to take; a schema where nothing is known."""
    found = stored.ability(store, config.table["base_url"], config.table["model"])
    ability = Ability() if found is None else Ability.of(found)
    return ability if ability.limited or "budget" not in config.table else Ability()


def _is_answer(raw: str | None) -> bool:
    """Whether a stored answer is one, and not an error."""
    return raw is not None and "choices" in json.loads(raw)[-1]


def _within_budget(questions: Sequence[Question], config: JudgeConfig, spent: float) -> list[Question]:
    """The questions that cost no more than there is, each at its most: all of them are under way at once."""
    if config.prices is None or "budget" not in config.table or not questions:
        return [*questions]
    budget = Budget(config.prices, config.table["budget"], spent)
    budget.check(tokens_of(questions[0].text), config.most, config.where)
    within = []
    for each in questions:
        budget.spent += config.prices.cost(tokens_of(each.text), config.most)
        if budget.spent > config.table["budget"]:
            break
        within.append(each)
    return within


def _line(question: Question, config: JudgeConfig, ability: Ability) -> bytes:
    asked = {"custom_id": question.answer, "method": "POST", "url": URL, "body": _body(question, config, ability)}
    return json.dumps(asked, ensure_ascii=False).encode() + b"\n"


def _body(question: Question, config: JudgeConfig, ability: Ability) -> dict[str, Any]:
    one = config.prompt.one_token
    schema = config.prompt.schema(config.scale)
    model, parameters = config.table["model"], config.parameters
    return request_body(model, parameters, question.text, schema, ability, one_token=one, logprobs=one)


def _write(lines: Sequence[bytes], path: Path, most: int, size: int) -> tuple[str, ...]:
    """Write one file, or several with numbers: each beside first, and all of them named at the end."""
    parts = [*_parts(lines, most, size)]
    names = (
        [str(path)] if len(parts) == 1 else [str(path.with_stem(f"{path.stem}-{at + 1}")) for at in range(len(parts))]
    )
    with ExitStack() as stack:
        for name, part in zip(names, parts, strict=True):
            stack.enter_context(opened(name)).writelines(part)
    return tuple(names)


def _parts(lines: Sequence[bytes], most: int, size: int) -> Iterator[Sequence[bytes]]:
    begun = total = 0
    for at, line in enumerate(lines):
        if len(line) > size:
            raise InputError(f"a question has {len(line):,} bytes, and a file of a batch {size:,}; lower longest")
        total += len(line)
        if at - begun == most or total > size:
            yield lines[begun:at]
            begun, total = at, len(line)
    if lines:
        yield lines[begun:]


def _older(path: Path, files: Collection[str]) -> tuple[str, ...]:
    name = re.compile(rf"{re.escape(path.stem)}(?:-[0-9]+)?{re.escape(path.suffix)}")
    there = [str(each) for each in path.parent.iterdir() if name.fullmatch(each.name)]
    return tuple(sorted({*there} - {*files})) if files else ()


# ---- and in ----------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """What came back for a question: the body of the answer, or an error, and the status of either."""

    status: int | None
    body: dict[str, Any]

    @property
    def raw(self) -> str:
        return json.dumps([self.body], ensure_ascii=False)


class Results:
    """The lines of output and error files, by the keys of the questions that they answer."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths, self.lines = paths, dict[str, list[Line]]()
        self.taken: set[str] = set()
        for path in paths:
            for key, line in _read(path):
                if line not in self.lines.setdefault(key, []):
                    self.lines[key].append(line)

    @property
    def foreign(self) -> int:
        """How many answers are to none of the questions that were looked up."""
        return len(self.lines.keys() - self.taken)

    def check(self) -> None:
        """Refuse files of which nothing was wanted."""
        if not self.lines.keys() & self.taken:
            held = (
                f"{', '.join(self.paths)}: {counted(len(self.lines), 'answer')}, none to a question of this judge here"
            )
            how = "read it in the project that wrote the batch, with the same judge, pairs and options"
            raise InputError(f"{held}; {how}")


def _read(path: str) -> Iterator[tuple[str, Line]]:
    source = find_source(path)
    found = False
    try:
        for number, item in json_lines(source):
            yield _parsed(cleaned(item), f"{source.name}:{number}")
            found = True
    except FormatError as error:
        raise FormatError(f"{error}; download the file again, for nothing of it was stored") from None
    if not found:
        raise FormatError(f"{source.name}: is empty; expected what a server made of a batch")


def _parsed(item: Mapping[str, Any], place: str) -> tuple[str, Line]:
    key, response, error = item.get("custom_id"), item.get("response"), item.get("error")
    if isinstance(key, str) and "body" in item:
        raise FormatError(f"{place}: is a question of a batch; expected what the server made of it")
    if not isinstance(key, str) or not isinstance(response or error, Mapping):
        raise FormatError(f"{place}: expected a line of a batch's output, with custom_id, and response or error")
    if not isinstance(response, Mapping):
        return key, Line(None, {"error": error})
    status, body = response.get("status_code"), response.get("body")
    if not isinstance(status, int):
        raise FormatError(f"{place}: the response has no status_code; expected a line of a batch's output")
    return key, Line(status, dict(body) if isinstance(body, Mapping) else {"error": {"message": shortened(str(body))}})


class BatchJudge:
    """A judge whose answers are lines of files; `ability` learns what a server refused by name."""

    def __init__(self, project: Project, config: JudgeConfig, results: Results) -> None:
        _check(config)
        self.config, self.results = config, results
        self.chosen: dict[str, Line] = {}
        self.judge = Judge(config.name, config.kind, config.settings(config.table["model"], config.table["base_url"]))
        with project.store() as store:
            self.known = self.ability = _ability(store, config)

    def also(self, project: Project, pairs: Sequence[Pair], repeats: int) -> list[Pair]:
        """The pairs, and those of the pool that have a line though somebody else has graded them meanwhile."""
        given = {pair[:2] for pair in pairs}
        with project.store() as store:
            everybody = {row.judge for row in store.labels()[0]}
            others = [Pair(*each) for each in stored.pool(store, everybody) if each not in given]
            questions = prepare(project, store, self.config, others, repeats).questions if others else []
        more = {each.pair[:2]: each.pair for each in questions if each.answer in self.results.lines}
        return [*pairs, *more.values()]

    def new(
        self, questions: Sequence[Question], asked: Sequence[Question], seen: Mapping[str, Collection[str]]
    ) -> list[Question]:
        """Those that are asked and have a line, which is not stored already; `questions` are all that there are."""
        self.results.taken.update(each.answer for each in questions)
        for key in {each.answer for each in asked} & self.results.lines.keys():
            lines = [line for line in self.results.lines[key] if line.raw not in seen.get(key, ())]
            if lines:  # whatever order they came in: one with a grade, if there is one
                self.chosen[key] = min(lines, key=lambda line: (STATES.index(self._reading(line).state), line.raw))
        return [each for each in asked if each.answer in self.chosen]

    def ask(self, question: Question) -> Said:
        """What its line says."""
        line = self.chosen[question.answer]
        if line.status == OK:
            reply = reply_of(line.body)
            prices = self.config.prices
            most = 0.0 if prices is None else prices.cost(tokens_of(question.text), self.config.most)
            return said_of([Paid(*reply._replace(cost=cost_of(reply, prices, most)), self._reading(line))], self.config)
        return self._refused(question, line)

    def _refused(self, question: Question, line: Line) -> Said:
        """An error: what the server does not take is left out next time, what passes leaves the pair open."""
        told = json.dumps(line.body.get("error", line.body), ensure_ascii=False)
        error = Failed(f"the batch has an error for it: {shortened(told)}")
        error.status, error.text = line.status, json.dumps(line.body, ensure_ascii=False)
        name = refused(error, _body(question, self.config, self.known), question.text)
        if name is not None and not (name == LIMIT and "budget" in self.config.table):
            self.ability = self.ability.joined(self.known.without(name))
            raise Failed(f"the server takes no {name}; the next batch goes without it")
        if line.status is None or line.status >= 500 or line.status in (*PASSING, *FATAL):
            raise error
        return Said(Reading("failed", None, str(error)), line.raw, calls=1)

    def given_up(self, question: Question) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing is open."""

    def _reading(self, line: Line) -> Reading:
        return read_response(line.body, self.config.scale, self.config.prompt)


def read_batch(
    project: Project,
    config: JudgeConfig,
    pairs: Sequence[Pair],
    results: Results,
    repeats: int = 1,
    *,
    latest_text: bool = False,
) -> Judged:
    """Keep what files say of pairs, and of others of the pool that have a line; what is stored already stays."""
    judge = BatchJudge(project, config, results)
    every = judge.also(project, pairs, repeats)
    judged = ask_judge(project, config, every, repeats=repeats, told=judge, latest_text=latest_text)
    if judge.ability != judge.known:
        with project.store(write=True) as store:
            found = judge.ability.to_dict()
            stored.keep_ability(store, config.table["base_url"].strip().rstrip("/"), config.table["model"], found)
    return judged
