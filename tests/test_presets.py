"""Every preset against a local server that answers as the engine's documentation says: whole, partial, empty, error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from misbehaving import Server, serving
from rankgauge.store.store import Query
from rankgauge.systems.config import KINDS, Config, config_of
from rankgauge.systems.hits import Asked
from rankgauge.systems.presets import PRESETS
from rankgauge.systems.search import Outcome, search_files

pytest.importorskip("httpx2", reason="the extra loop is not installed")

SHARDS = {"total": 5, "successful": 5, "skipped": 0, "failed": 0}
LUCENE_HITS = [
    {"_index": "shop", "_id": "d1", "_score": 2.5, "_source": {"title": "red"}},
    {"_index": "shop", "_id": "d2", "_score": 1.5, "_source": {"title": "blue"}},
]


def _lucene(hits: list[Any], **more: Any) -> dict[str, Any]:
    total = {"value": len(hits), "relation": "eq"}
    return {"took": 3, "timed_out": False, "_shards": SHARDS, "hits": {"total": total, "hits": hits}} | more


def _solr(docs: list[Any], **header: Any) -> dict[str, Any]:
    found = {"numFound": len(docs), "start": 0, "maxScore": 2.5, "numFoundExact": True, "docs": docs}
    return {"responseHeader": {"status": 0, "QTime": 2, **header}, "response": found}


def _vespa(root: dict[str, Any], *, full: bool = True) -> dict[str, Any]:
    coverage = {
        "coverage": 100 if full else 60,
        "documents": 2,
        "full": full,
        "nodes": 1,
        "results": 1,
        "resultsFull": 1,
    }
    fields = {"totalCount": len(root.get("children", []))}
    return {"root": {"id": "toplevel", "relevance": 1.0, "fields": fields, "coverage": coverage} | root}


class Case(NamedTuple):
    """What an engine answers, and what the request must have; `partial` where it can say so, `silent` its scores."""

    whole: Any
    empty: Any
    partial: Any = None
    error: tuple[int, Any] = (400, {"message": "bad request"})
    sent: dict[str, Any] | None = None
    path: str = ""
    scores: tuple[float, float] = (2.5, 1.5)
    fields: Any = None
    table: Mapping[str, Any] = MappingProxyType({})


GRAPH = "{ Get { Product(limit: {k}, bm25: {query: {query:json}}) { title _additional { id score } } } }"
CASES: dict[str, Case] = {
    "elasticsearch": Case(
        _lucene(LUCENE_HITS),
        _lucene([]),
        _lucene(LUCENE_HITS, timed_out=True),
        (404, {"error": {"type": "index_not_found_exception", "reason": "no such index [shop]"}, "status": 404}),
        {"size": 10, "query": {"multi_match": {"query": "red"}}},
        fields={"title": "red"},
    ),
    "opensearch": Case(
        _lucene(LUCENE_HITS),
        _lucene([]),
        _lucene(LUCENE_HITS, _shards=SHARDS | {"successful": 4, "failed": 1}),
        (400, {"error": {"type": "parsing_exception", "reason": "unknown query"}, "status": 400}),
        {"size": 10, "query": {"multi_match": {"query": "red"}}},
        fields={"title": "red"},
    ),
    "solr": Case(
        _solr([{"id": "d1", "title": "red", "score": 2.5}, {"id": "d2", "title": "blue", "score": 1.5}]),
        _solr([]),
        _solr([{"id": "d1", "score": 2.5}], partialResults=True),
        (400, {"error": {"msg": "undefined field x", "code": 400}}),
        path="q=red&rows=10&fl=%2A%2Cscore&wt=json",
        fields={"title": "red"},
    ),
    "vespa": Case(
        _vespa(
            {
                "children": [
                    {"id": "id:shop:doc::1", "relevance": 2.5, "fields": {"documentid": "d1", "title": "red"}},
                    {"id": "d2", "relevance": 1.5, "source": "shop", "fields": {"title": "blue"}},
                ]
            }
        ),
        _vespa({}),
        _vespa({"children": [{"id": "d1", "relevance": 2.5, "fields": {}}]}, full=False),
        (504, {"root": {"errors": [{"code": 12, "summary": "Timed out"}]}}),
        {"yql": "select * from sources * where userQuery()", "query": "red", "hits": 10},
        fields={"documentid": "d1", "title": "red"},
    ),
    "algolia": Case(
        {"hits": [{"objectID": "d1", "title": "red"}, {"objectID": "d2"}], "nbHits": 2, "page": 0, "hitsPerPage": 10},
        {"hits": [], "nbHits": 0, "page": 0, "hitsPerPage": 10},
        error=(403, {"message": "Invalid Application-ID or API key", "status": 403}),
        sent={"query": "red", "hitsPerPage": 10},
        scores=(-1.0, -2.0),
        fields={"title": "red"},
    ),
    "typesense": Case(
        {
            "found": 2,
            "out_of": 9,
            "search_cutoff": False,
            "hits": [
                {"document": {"id": "d1", "title": "red"}, "text_match": 2.5},
                {"document": {"id": "d2"}, "text_match": 1.5},
            ],
        },
        {"found": 0, "out_of": 9, "search_cutoff": False, "hits": []},
        {"found": 1, "search_cutoff": True, "hits": [{"document": {"id": "d1"}, "text_match": 2.5}]},
        (401, {"message": "Forbidden - a valid `x-typesense-api-key` header must be sent."}),
        path="q=red&per_page=10&query_by=title",
        fields={"id": "d1", "title": "red"},
        table={"params": {"q": "{query}", "per_page": "{k}", "query_by": "title"}},
    ),
    "meilisearch": Case(
        {"hits": [{"id": "d1", "title": "red", "_rankingScore": 0.9}, {"id": 2, "_rankingScore": 0.5}], "limit": 10},
        {"hits": [], "limit": 10, "estimatedTotalHits": 0},
        error=(404, {"message": "Index `shop` not found.", "code": "index_not_found", "type": "invalid_request"}),
        sent={"q": "red", "limit": 10, "showRankingScore": True},
        scores=(0.9, 0.5),
        fields={"title": "red"},
    ),
    "qdrant": Case(
        {
            "result": {
                "points": [
                    {"id": "d1", "version": 3, "score": 2.5, "payload": {"title": "red"}},
                    {"id": 2, "score": 1.5},
                ]
            },
            "status": "ok",
            "time": 0.001,
        },
        {"result": {"points": []}, "status": "ok", "time": 0.001},
        error=(404, {"status": {"error": "Not found: Collection `shop` doesn't exist!"}, "time": 0.0}),
        sent={"query": [3.0, 0.5], "limit": 10, "with_payload": True},
        fields={"title": "red"},
        table={"embed": "vectors_of_presets:embed"},
    ),
    "weaviate": Case(
        {
            "data": {
                "Get": {
                    "Product": [
                        {"title": "red", "_additional": {"id": "d1", "score": "2.5"}},
                        {"title": "blue", "_additional": {"id": "d2", "score": "1.5"}},
                    ]
                }
            }
        },
        {"data": {"Get": {"Product": []}}},
        {"data": {"Get": {"Product": None}}, "errors": [{"message": "explorer: shard is down", "path": ["Get"]}]},
        (422, {"error": [{"message": "no query"}]}),
        {"query": '{ Get { Product(limit: 10, bm25: {query: "red"}) { title _additional { id score } } } }'},
        fields={"title": "red"},
        table={"body": {"query": GRAPH}},
    ),
    "chroma": Case(
        {"ids": [["d1", "d2"]], "distances": [[0.1, 0.4]], "documents": [["red", None]], "include": ["distances"]},
        {"ids": [[]], "distances": [[]], "include": ["distances"]},
        {"ids": [["d1", "d2"]], "distances": [[0.1]]},
        (404, {"error": "NotFoundError", "message": "Collection does not exist"}),
        {"query_embeddings": [[3.0, 0.5]], "n_results": 10},
        scores=(-0.1, -0.4),
        table={"embed": "vectors_of_presets:embed"},
    ),
}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vectors_of_presets.py").write_text("def embed(text):\n    return [len(text), 0.5]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def asked(server: Server, engine: str, answer: Any, status: int = 200) -> Outcome:
    """What comes of one query to an engine that says this."""

    class Says(dict[str, Any]):
        def __contains__(self, _: object) -> bool:
            return True

        def __getitem__(self, _: str) -> Any:
            return answer

    server.answers, server.status = Says(), status
    return search_files(config(server, engine), [Query("q", "red")], 10)


def config(server: Server, engine: str) -> Config:
    table = {"kind": engine, "url": server.url, "retries": 0, **CASES[engine].table}
    return config_of("mine", table, "the test", Path())


def test_every_preset_is_here() -> None:
    assert CASES.keys() == PRESETS.keys()
    assert PRESETS.keys() < KINDS.keys()


@pytest.mark.parametrize("engine", CASES)
def test_a_whole_answer(server: Server, engine: str) -> None:
    case = CASES[engine]
    outcome = asked(server, engine, case.whole)
    assert outcome.failed == {}
    second = "2" if engine in ("meilisearch", "qdrant") else "d2"  # numbers are kept as they are written
    assert outcome.rankings["q"][:2] == (["d1", second], list(case.scores))
    if case.sent is not None:
        assert server.bodies == [case.sent]
    else:
        assert server.paths[0].partition("?")[2] == case.path
    system = config(server, engine).open(None)
    assert next(iter(system.ask([Asked("q", "red")], 10)[0])).fields == case.fields
    system.close()


@pytest.mark.parametrize("engine", CASES)
def test_none_found_is_an_answer(server: Server, engine: str) -> None:
    outcome = asked(server, engine, CASES[engine].empty)
    assert (outcome.failed, outcome.rankings["q"].doc_ids) == ({}, [])


@pytest.mark.parametrize("engine", [engine for engine, case in CASES.items() if case.partial is not None])
def test_a_partial_answer_is_refused(server: Server, engine: str) -> None:
    outcome = asked(server, engine, CASES[engine].partial)
    assert outcome.rankings == {}
    words = "there are 2 ids and 1 scores" if engine == "chroma" else "the answer is not whole: "
    assert outcome.failed["q"].startswith(words)


@pytest.mark.parametrize("engine", CASES)
def test_an_error_is_said_in_the_words_of_the_engine(server: Server, engine: str) -> None:
    status, answer = CASES[engine].error
    outcome = asked(server, engine, answer, status)
    assert outcome.rankings == {}
    assert str(status) in outcome.failed["q"]
    assert json.dumps(answer)[:40] in outcome.failed["q"]


@pytest.mark.parametrize("engine", CASES)
def test_an_answer_of_another_engine_is_refused(server: Server, engine: str) -> None:
    for other, case in CASES.items():
        alike = {"elasticsearch", "opensearch"}
        if other != engine and not {engine, other} <= alike:
            outcome = asked(server, engine, case.whole)
            assert outcome.rankings == {}, (engine, other)
            assert outcome.failed["q"]
