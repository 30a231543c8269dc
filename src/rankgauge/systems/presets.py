"""Search engines as presets of `http`: a row each, as their own documentation has requests and answers.

Any field can be overridden in the system's table. `whole` is what must hold for an answer to be all of it.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["PRESETS"]

_LUCENE: Final[dict[str, Any]] = {
    "method": "POST",
    "body": {"size": "{k}", "query": {"multi_match": {"query": "{query}"}}},
    "hits": "hits.hits",
    "id": "_id",
    "score": "_score",
    "fields": "_source",
    "whole": "timed_out == `false` && _shards.failed == `0`",
}
# Engine → what the table of a system has, where the user's does not say otherwise.
PRESETS: Final[dict[str, dict[str, Any]]] = {
    "elasticsearch": _LUCENE,
    "opensearch": _LUCENE,
    "solr": {
        "method": "GET",
        "params": {"q": "{query}", "rows": "{k}", "fl": "*,score", "wt": "json"},
        "hits": "response.docs",
        "id": "id",
        "score": "score",
        "fields": "@",
        "whole": "!(responseHeader.partialResults)",
    },
    "vespa": {
        "method": "POST",
        "body": {"yql": "select * from sources * where userQuery()", "query": "{query}", "hits": "{k}"},
        "hits": "root.children || `[]`",  # left out where nothing is found
        "id": "fields.documentid || id",
        "score": "relevance",
        "fields": "fields",
        "whole": "root.coverage.full && !(root.errors)",
    },
    "algolia": {
        "method": "POST",
        "body": {"query": "{query}", "hitsPerPage": "{k}"},
        "hits": "hits",
        "id": "objectID",
        "fields": "@",
    },
    "typesense": {
        "method": "GET",
        "params": {"q": "{query}", "per_page": "{k}"},
        "hits": "hits",
        "id": "document.id",
        "score": "text_match",
        "fields": "document",
        "whole": "!search_cutoff",
    },
    "meilisearch": {
        "method": "POST",
        "body": {"q": "{query}", "limit": "{k}", "showRankingScore": True},
        "hits": "hits",
        "id": "id",
        "score": "_rankingScore",
        "fields": "@",
    },
    "qdrant": {
        "method": "POST",
        "body": {"query": "{vector}", "limit": "{k}", "with_payload": True},
        "hits": "result.points",
        "id": "id",
        "score": "score",
        "fields": "payload",
    },
    "weaviate": {
        "method": "POST",
        "hits": "data.Get.*[] | []",
        "id": "_additional.id",
        "score": "to_number(_additional.score)",  # a text
        "fields": "@",
        "whole": "!errors",
    },
    "chroma": {
        "method": "POST",
        "body": {"query_embeddings": ["{vector}"], "n_results": "{k}"},
        "ids": "ids[0]",
        "scores": "distances[0]",
        "ascending": True,
    },
}
