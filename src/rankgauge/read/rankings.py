"""Rankings in JSON and in memory: what there is for each query is a list of documents, of pairs or of objects.

The responses of Elasticsearch, OpenSearch and Solr are such lists under other names, and so are MTEB's predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from rankgauge.errors import FormatError, way
from rankgauge.read.names import first_of, number_role
from rankgauge.read.rows import Ask, Content, Row, Rows, gather, no_rows, shortened

__all__ = ["Ranking", "answered_hits", "is_documents", "ranking_in", "rankings_in_item"]
__all__ += ["read_rankings", "refuse_others"]

SEVERAL: Final = (list, tuple, np.ndarray)
OR_SETS: Final = (*SEVERAL, set, frozenset)
BESIDE: Final = 'write JSON lines of {"query_id": …, "response": …}'
ALONE: Final = (
    "is the response for one query, and which one is not said; save each as QUERY.json in a folder and name the "
    f"folder, or {BESIDE}"
)
SEARCHES: Final = f"holds the responses of several searches without the ids of their queries; {BESIDE}"
SCORED: Final = (
    "holds the values of MTEB's measures, not a run; let MTEB save what was retrieved (prediction_folder=…) and name "
    "that folder"
)
PREDICTED_BY: Final = "mteb_model_meta"


class Ranking(NamedTuple):
    """What there is for one query; `shown` says that the order is the one that people saw, whatever the scores."""

    query: Any
    documents: Iterable[Any]
    shown: bool = False


def read_rankings(rankings: Sequence[Ranking], ask: Ask, name: str, checked: Callable[..., Row]) -> Content:
    """A run, by score where every document has one and otherwise in the order given; or judgments, of grade 1 without.

    `checked` makes a row of its number, a triple, what is asked and its place.
    """
    each = [(one, [_document(item, ask) for item in one.documents]) for one in rankings]
    scored = all(number is not None for _, documents in each for _, number in documents)
    falls = all(_descends(documents) for one, documents in each if one.shown) if scored else False
    given = ask.kind == "run" and (not scored or not falls or ask.by == "rank")

    def rows() -> Iterator[Row]:
        row = 0
        for one, documents in each:
            for place, (doc, number) in enumerate(documents, 1):
                row += 1
                value = -float(place) if given else 1.0 if number is None else number
                where = f"{name}, query {one.query!r}, document {place}"
                yield checked(row, (one.query, doc, value), ask._replace(by="score"), lambda _, where=where: where)

    found = gather(Rows(name, "document", rows), ask, may_be_empty=True)
    if isinstance(found, dict):
        for one, _ in each:
            found.setdefault(str(one.query), {})  # a query for which nothing was found
    if not each:
        raise no_rows(name, ask)
    return Content(found, by="rank", has_scores=False) if given else Content(found)


def _descends(documents: Sequence[tuple[Any, Any]]) -> bool:
    numbers = [number for _, number in documents]
    return all(isinstance(each, (int, float)) for each in numbers) and numbers == sorted(numbers, reverse=True)


def _document(item: Any, ask: Ask) -> tuple[Any, Any]:
    """A document and its number, None where it has none."""
    if isinstance(item, Mapping):
        columns = ask.columns or {}
        cells = {**_source_of(item), **item} if columns.get("doc_id") not in (None, *item) else item
        doc = columns.get("doc_id") or first_of("doc_id", list(cells), "id")
        number = columns.get(number_role(ask._replace(by="score")))
        number = (
            number if number in cells else first_of("relevance" if ask.kind == "judgments" else "score", list(cells))
        )
        if doc not in cells:
            import json

            raise FormatError(f"{shortened(json.dumps(item, default=str))} has no id; expected a document")
        return cells[doc], None if number is None else cells[number]
    if isinstance(item, SEVERAL) and len(item) == 2:
        return item[0], "null" if item[1] is None else item[1]
    return item, None


def _source_of(hit: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = hit.get("_source")
    return inner if isinstance(inner, Mapping) else {}


def is_documents(value: Any) -> bool:
    """Whether this is a list of documents: ids, pairs of id and number, or objects that have an id and no query."""
    if not isinstance(value, OR_SETS) or getattr(getattr(value, "dtype", None), "names", None):
        return False
    if getattr(value, "ndim", 1) == 0:
        return False
    first = next(iter(value), "")
    if isinstance(first, Mapping):
        return first_of("doc_id", list(first), "id") is not None and first_of("query_id", list(first)) is None
    if isinstance(first, SEVERAL):
        return len(first) == 2 and not isinstance(first[0], SEVERAL)
    return not isinstance(first, (set, frozenset))


def ranking_in(query: Any, value: Any) -> Ranking | None:
    """What there is for a query: a list of documents, or the response of a search engine; None if it is neither."""
    if is_documents(value):
        return Ranking(query, value)
    hits = answered_hits(value)
    return None if hits is None else Ranking(query, hits, shown=True)


def answered_hits(value: Any) -> list[Any] | None:
    """The documents in a response of Elasticsearch, OpenSearch (hits.hits) or Solr (response.docs)."""
    if type(value) is not dict and not isinstance(value, Mapping):  # a dict is soon told from others
        return None
    for outer, inner in (("hits", "hits"), ("response", "docs")):
        held = value.get(outer)
        if held is not None and isinstance(held, Mapping) and isinstance(held.get(inner), list):
            hits: list[Any] = held[inner]
            return hits
    return None


def rankings_of(loaded: Mapping[str, Any], name: str) -> list[Ranking] | None:
    """The rankings of an object of query → ranking; None where it holds something else."""
    loaded = _predicted(loaded, name) if PREDICTED_BY in loaded else loaded
    found = [_nested(query, value) for query, value in loaded.items()]
    return [each for each in found if each is not None] if None not in found else None


def _nested(query: str, value: Any) -> Ranking | None:
    plain = isinstance(value, Mapping) and not any(isinstance(each, (Mapping, list)) for each in value.values())
    return Ranking(query, list(value.items())) if plain else ranking_in(query, value)


def refuse_others(loaded: Mapping[str, Any], name: str) -> None:
    """Refuse what search engines and benchmarks write and what is no run, by what it is."""
    if answered_hits(loaded) is not None and first_of("query_id", list(loaded), "id") is None:
        raise FormatError(f"{name}: {ALONE}")
    responses = loaded.get("responses")
    if isinstance(responses, list) and any(answered_hits(each) is not None for each in responses):
        raise FormatError(f"{name}: {SEARCHES}")
    if "error" in loaded and isinstance(loaded.get("status"), int):
        raise FormatError(f"{name}: is an error of the search engine ({_why(loaded['error'])}); search again")
    if any(isinstance(loaded.get(each), str) for each in ("task_name", "mteb_dataset_name")):
        raise FormatError(f"{name}: {SCORED}")


def _why(error: Any) -> str:
    return shortened(
        str(error.get("reason") or error.get("type") or error) if isinstance(error, Mapping) else str(error)
    )


def _predicted(loaded: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """MTEB's predictions: subset → split → query → document → score, where there is one of each."""
    parts = {
        (subset, split): rankings
        for subset, splits in loaded.items()
        if subset != PREDICTED_BY and isinstance(splits, Mapping)
        for split, rankings in splits.items()
        if isinstance(rankings, Mapping)
    }
    if not parts:
        raise FormatError(f"{name}: is a file of MTEB's predictions that holds none; let MTEB save them again")
    if len(parts) > 1:
        held = "; ".join(map(", ".join, parts))
        how = _one_of_parts(name, *next(iter(parts)))
        raise FormatError(f"{name}: holds the predictions of several subsets and splits ({held}); {how}")
    one: Mapping[str, Any] = next(iter(parts.values()))
    return one


def _one_of_parts(name: str, subset: str, split: str) -> str:
    """How to take one subset and split out of a file."""
    import shlex

    one = f"json.loads(pathlib.Path({name!r}).read_bytes())[{subset!r}][{split!r}]"
    command = shlex.quote(f"import json, pathlib; print(json.dumps({one}))")
    in_python = way(f"give one as the run: {one}")
    return in_python or f"write one to a file: python -c {command} > {shlex.quote(f'{subset}-{split}.json')}"


def rankings_in_item(item: Mapping[str, Any], place: str) -> list[Ranking] | None:
    """The rankings in an object of several: one beside its query, or query → ranking; None where it is a row."""
    one = _beside_query(item, place)
    if one is not None:
        return [one]
    named = first_of("query_id", list(item)) is not None
    return (
        None
        if named or not all(isinstance(each, (list, Mapping)) for each in item.values())
        else rankings_of(item, place)
    )


def _beside_query(item: Mapping[str, Any], place: str) -> Ranking | None:
    """`{"query_id": …, "results": […]}`, and whatever else stands beside."""
    query = first_of("query_id", list(item), "id")
    doc = first_of("doc_id", list(item))
    if query is None or (doc is not None and not isinstance(item[doc], list)):
        return None
    if answered_hits(item) is not None:
        return ranking_in(item[query], item)
    held = [value for key, value in item.items() if key != query and isinstance(value, (list, Mapping))]
    found = [ranking for value in held if (ranking := ranking_in(item[query], value)) is not None]
    for value in held if not found else ():
        if isinstance(value, Mapping):
            refuse_others(value, place)
    return found[0] if len(found) == 1 else None
