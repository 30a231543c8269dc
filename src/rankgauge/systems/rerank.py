"""A second stage: the candidates of another system's run, scored by a function or by a service over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rankgauge.read.rows import shortened
from rankgauge.systems.call import called, function_of
from rankgauge.systems.hits import Asked, Failed, Hit, score_of
from rankgauge.systems.http import Sender
from rankgauge.systems.template import Secrets, filled

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.systems.config import Config

__all__ = ["CallReranker", "HttpReranker"]

AT_ONCE: Final = 32  # documents of one request


class Api(NamedTuple):
    """What a service calls things: the texts that are sent; the list that comes back, and the score in it."""

    texts: str
    results: str | None
    score: str


APIS: Final = {
    "cohere": Api("documents", "results", "relevance_score"),
    "tei": Api("texts", None, "score"),
}


class CallReranker:
    """`f(query, documents)`, which gives a score to every document: a dict of its fields, with its id."""

    batch = 1

    def __init__(self, config: Config, project: Project | None) -> None:
        self.function = function_of(config.table["call"], config)

    def ask(self, asked: Sequence[Asked], k: int) -> Sequence[Iterable[Hit]]:
        """The candidates by the scores that the function returns."""
        query = asked[0]
        documents = [{"id": doc, **fields} for doc, fields in query.candidates]
        scores = called(self.function, query.text, documents) if documents else []
        scores = scores.tolist() if hasattr(scores, "tolist") else scores
        if not isinstance(scores, (list, tuple)) or len(scores) != len(documents):
            found = f"{len(scores):,} scores" if isinstance(scores, (list, tuple)) else shortened(str(scores))
            raise Failed(f"the function returned {found}; expected {len(documents):,}, one a document in their order")
        return [_by_score(query, scores)]

    def close(self) -> None:
        """Nothing is open."""


class HttpReranker:
    """A service that takes a query and texts, and gives back an index and a score for each of them."""

    batch = 1

    def __init__(self, config: Config, project: Project | None) -> None:
        table = config.table
        self.secrets = Secrets({"url": table["url"], "headers": table.get("headers", {})}, config.where)
        self.sender = Sender(config.limits, self.secrets, table["url"], config.where)
        self.url, self.headers = table["url"], table.get("headers", {})
        self.api = APIS[table.get("api", "cohere")]
        self.fields, self.model = table.get("text", ()), table.get("model")
        size = table.get("batch", AT_ONCE)
        self.at_once = AT_ONCE if size is True else size

    def ask(self, asked: Sequence[Asked], k: int) -> Sequence[Iterable[Hit]]:
        """The candidates by the scores that the service gives them, some at a time."""
        query = asked[0]
        texts = [self._text(doc, fields) for doc, fields in query.candidates]
        scores: list[Any] = []
        for start in range(0, len(texts), self.at_once):
            scores += self._scores(query.text, texts[start : start + self.at_once])
        return [_by_score(query, scores)]

    def _text(self, doc: str, fields: Mapping[str, Any]) -> str:
        wanted = self.fields or [name for name, value in fields.items() if isinstance(value, str)]
        text = "\n".join(str(fields[name]) for name in wanted if fields.get(name))
        if not text:
            raise Failed(f"document {doc!r} has no text in {', '.join(wanted) or 'any field'}; name others: text = […]")
        return text

    def _scores(self, query: str, texts: list[str]) -> list[Any]:
        body = {"query": query, self.api.texts: texts} | ({"model": self.model} if self.model else {})
        known = self.secrets.values
        sent = {"json": body, "headers": filled(self.headers, {}, known)}
        answer = self.sender.send("POST", filled(self.url, {}, known), **sent)
        results = answer.get(self.api.results) if self.api.results and isinstance(answer, Mapping) else answer
        if not isinstance(results, list):
            raise Failed(
                f"the service answered {shortened(str(answer))}; expected a list of index and {self.api.score}"
            )
        found: dict[int, Any] = {}
        for each in results:
            index = each.get("index") if isinstance(each, Mapping) else None
            if not isinstance(index, int) or not 0 <= index < len(texts) or index in found:
                raise Failed(f"the service answered {shortened(str(each))}; expected each of {len(texts)} indexes once")
            found[index] = each.get(self.api.score)
        if len(found) != len(texts):
            raise Failed(f"the service scored {len(found):,} of {len(texts):,} documents; expected every one")
        return [found[index] for index in range(len(texts))]

    def close(self) -> None:
        """Let go of the connections."""
        self.sender.close()


def _by_score(query: Asked, scores: Sequence[Any]) -> list[Hit]:
    """The candidates, best first; of equal scores, the one that the first stage had before the other."""
    pairs = [(doc, score_of(score, doc)) for (doc, _), score in zip(query.candidates, scores, strict=True)]
    return [Hit(doc, score) for doc, score in sorted(pairs, key=lambda pair: -pair[1])]
