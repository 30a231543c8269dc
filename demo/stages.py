"""The demo in two stages: two rerankers on the results of two retrievers, four TREC runs.

Usage: python demo/stages.py OUTDIR

Writes OUTDIR/stages/RETRIEVER+RERANKER.run for the retrievers `title` and `fields` and the rerankers `coverage` (how
many of the query's words a product has, rarer ones counting more) and `signals` (the six signals of rankers.py). A
reranker orders what a retriever found, and finds nothing itself. The judgments are never read here.
"""

import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import rankers

HERE = Path(__file__).resolve().parent
FIRST_STAGE = 0.01  # how much the first stage counts beside coverage: it settles what covers the query alike

Reranker = Callable[[rankers.Ranking, list[str]], rankers.Ranking]


def by_coverage(index: sqlite3.Connection, documents: int, first: rankers.Ranking, terms: list[str]) -> rankers.Ranking:
    """Order the first stage anew by the share of the query's words that each product has anywhere."""
    worths = [dict.fromkeys(rankers.matching(index, "fields", rankers.quoted(term)), 1.0) for term in terms]
    weights = rankers.rarity(worths, documents)
    best = max((score for _, score in first), default=0.0) or 1.0
    scored = ((doc_id, rankers.share(worths, weights, doc_id) + FIRST_STAGE * score / best) for doc_id, score in first)
    return rankers.best_first(scored)


def rerank_all(
    products: list[rankers.Product], queries: list[tuple[str, str]]
) -> dict[str, dict[str, rankers.Ranking]]:
    """Every reranker on every retriever; the result is keyed by retriever+reranker, then query_id."""
    first = rankers.rank_all(products, queries)
    index, vocabulary = rankers.build_index(products), rankers.words_of(products)
    categories = {product["doc_id"]: product["category"] for product in products}

    def by_signals(ranking: rankers.Ranking, terms: list[str]) -> rankers.Ranking:
        return rankers.rerank(index, ranking, terms, categories)

    rerankers: dict[str, Reranker] = {"coverage": partial(by_coverage, index, len(products)), "signals": by_signals}
    words = {query_id: rankers.content_terms(rankers.query_terms(query), vocabulary) for query_id, query in queries}
    runs = {
        f"{retriever}+{reranker}": {
            query_id: order(ranking, words[query_id]) for query_id, ranking in first[retriever].items()
        }
        for retriever in ("title", "fields")
        for reranker, order in rerankers.items()
    }
    index.close()
    return runs


def main(arguments: list[str]) -> int:
    """Write the four runs below the folder named on the command line."""
    if len(arguments) != 1:
        print("usage: python demo/stages.py OUTDIR", file=sys.stderr)
        return 2
    folder = Path(arguments[0]) / "stages"
    folder.mkdir(parents=True, exist_ok=True)
    catalogue, queries = rankers.load_catalogue(HERE / "catalogue.jsonl"), rankers.load_queries(HERE / "queries.tsv")
    for name, rankings in rerank_all(catalogue, queries).items():
        rankers.write_run(folder, name, rankings)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
