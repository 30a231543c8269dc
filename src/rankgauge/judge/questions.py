"""What a judge is asked: a question for every pair and repeat, each with the key by which its answer is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rankgauge.errors import InputError
from rankgauge.judge import stored
from rankgauge.judge.pairs import Pair
from rankgauge.judge.shown import shown_document
from rankgauge.store.rows import digest, written
from rankgauge.systems.config import documents_of
from rankgauge.systems.documents import fields_of

if TYPE_CHECKING:
    from rankgauge.judge.config import JudgeConfig
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store

__all__ = ["Prepared", "Question", "grouped", "prepare", "questions_of"]


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
