"""Write three TREC runs over the demo catalogue: title.run, fields.run and reranked.run.

Usage: python demo/rankers.py OUTDIR

Everything is computed from catalogue.jsonl and queries.tsv beside this file, with an in-memory SQLite FTS5 index.
The judgments are never read here.
"""

import csv
import json
import math
import os
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEPTH = 50
FIELD_WEIGHTS = (2.0, 1.0, 1.0, 1.0)  # title, brand, category, description

STOPWORDS = frozenset(re.findall(r"\w+", "a an and at can for from i in is it my no of on or so t that the to with"))

# Words of shoppers -> words of the catalogue; each entry is one word or a phrase.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "bicycle": ("bike", "cycling"),
    "cafetiere": ("french press", "press pot"),
    "cold": ("thermal", "winter", "frosty"),
    "cycle": ("bike",),
    "dual": ("two",),
    "freezing": ("winter", "frost"),
    "hike": ("hiking", "trekking"),
    "jacket": ("shell",),
    "jogging": ("running",),
    "kids": ("child", "children"),
    "lawnmower": ("mower",),
    "leash": ("lead",),
    "leggings": ("tights",),
    "mattress": ("mat", "pad"),
    "moka": ("stovetop espresso",),
    "mount": ("arm",),
    "pruning": ("secateurs", "loppers"),
    "quiet": ("silent", "hush"),
    "rain": ("waterproof",),
    "rucksack": ("backpack", "daypack"),
    "screen": ("monitor", "display"),
    "seat": ("chair", "cushion"),
    "sofa": ("armchair",),
    "toddler": ("child", "toddlers"),
    "torch": ("headtorch", "headlamp", "lamp"),
    "trainers": ("running shoes",),
    "two": ("2", "dual", "duo"),
    "warm": ("winter",),
    "washing": ("laundry", "clothes"),
}

# How much each signal of the second stage counts; every signal lies between 0 and 1.
SIGNAL_WEIGHTS = {"first_stage": 1.0, "coverage": 1.0, "title": 0.6, "head": 0.7, "near": 0.4, "category": 0.5}
SYNONYM_WORTH = 0.8
UNITS = frozenset({"cm", "g", "Inch", "kg", "L", "m", "ml", "mm", "Size", "Tog", "V", "W", "x"})

Product = dict[str, str]
Ranking = list[tuple[str, float]]


def load_catalogue(path: Path) -> list[Product]:
    """Read one product per line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def load_queries(path: Path) -> list[tuple[str, str]]:
    """Read (query_id, query) pairs in file order."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [(row["query_id"], row["query"]) for row in csv.DictReader(lines, delimiter="\t")]


def title_head(title: str) -> str:
    """Return the noun a title is about: 'Steel Tent Pegs, Pack of 20' gives 'Pegs'."""
    core = re.split(r",| with | for | and ", title)[0]
    words = [word for word in core.split() if word[0].isalpha() and word not in UNITS]
    return words[-1] if words else core


def build_index(products: Iterable[Product]) -> sqlite3.Connection:
    """Index the titles without stemming, all fields with stemming, and the title heads for the second stage."""
    index = sqlite3.connect(":memory:")
    plain, stemmed = "unicode61 remove_diacritics 2", "porter unicode61 remove_diacritics 2"
    index.execute(f"CREATE VIRTUAL TABLE titles USING fts5(title, doc_id UNINDEXED, tokenize='{plain}')")
    columns = "title, brand, category, description, doc_id UNINDEXED"
    index.execute(f"CREATE VIRTUAL TABLE fields USING fts5({columns}, tokenize='{stemmed}')")
    index.execute(f"CREATE VIRTUAL TABLE heads USING fts5(head, doc_id UNINDEXED, tokenize='{stemmed}')")
    for product in products:
        index.execute("INSERT INTO titles VALUES (:title, :doc_id)", product)
        index.execute("INSERT INTO fields VALUES (:title, :brand, :category, :description, :doc_id)", product)
        index.execute("INSERT INTO heads VALUES (?, ?)", (title_head(product["title"]), product["doc_id"]))
    return index


def query_terms(query: str) -> list[str]:
    """Split a query into distinct lower-case words."""
    return list(dict.fromkeys(re.findall(r"\w+", query.lower())))


def content_terms(terms: list[str], vocabulary: list[str]) -> list[str]:
    """Drop stopwords, and put right a word of five letters or more that the catalogue does not know."""
    known = set(vocabulary) | set(SYNONYMS)
    content = [term for term in terms if term not in STOPWORDS] or terms
    return [term if term in known or len(term) < 5 else close_word(term, vocabulary) for term in content]


def close_word(term: str, vocabulary: list[str]) -> str:
    """Return the catalogue word spelt most like a term, or the term itself when none is close."""
    return next(iter(get_close_matches(term, vocabulary, n=1, cutoff=0.8)), term)


def quoted(term: str) -> str:
    """Make a term an FTS5 string, so that no character of it is read as query syntax."""
    return '"' + term.replace('"', '""') + '"'


def best_first(scores: Iterable[tuple[str, float]]) -> Ranking:
    """Sort by score, highest first; equal scores go by doc_id descending, the order trec_eval gives to ties."""
    rounded = [(doc_id, round(score, 6)) for doc_id, score in scores]
    return sorted(rounded, key=lambda pair: (pair[1], pair[0]), reverse=True)[:DEPTH]


def search(index: sqlite3.Connection, table: str, terms: list[str], weights: tuple[float, ...]) -> Ranking:
    """Rank a table by BM25 for any of the terms; FTS5 gives lower-is-better, so the sign is turned."""
    if not terms:
        return []
    match = " OR ".join(quoted(term) for term in terms)
    rank = f"bm25({table}, {', '.join(map(str, weights))})"
    rows = index.execute(f"SELECT doc_id, -{rank} FROM {table} WHERE {table} MATCH ?", (match,))
    return best_first(rows)


def matching(index: sqlite3.Connection, table: str, expression: str) -> set[str]:
    """Return the doc_ids that match an FTS5 expression."""
    rows = index.execute(f"SELECT doc_id FROM {table} WHERE {table} MATCH ?", (expression,))
    return {doc_id for (doc_id,) in rows}


def term_worth(index: sqlite3.Connection, table: str, term: str, column: str = "") -> dict[str, float]:
    """Say how well each document holds a term: 1 for the word itself, a little less for a synonym."""
    worth: dict[str, float] = {}
    for synonym in SYNONYMS.get(term, ()):
        worth.update(dict.fromkeys(matching(index, table, column + quoted(synonym)), SYNONYM_WORTH))
    worth.update(dict.fromkeys(matching(index, table, column + quoted(term)), 1.0))
    return worth


def share(worths: list[dict[str, float]], weights: list[float], doc_id: str) -> float:
    """Weighted average over the query terms of what a document holds of each."""
    total = sum(weights)
    return sum(weight * worth.get(doc_id, 0.0) for weight, worth in zip(weights, worths, strict=True)) / total


def rarity(worths: list[dict[str, float]], documents: int) -> list[float]:
    """Weigh each term by how few documents hold it (inverse document frequency)."""
    return [math.log(1 + documents / (1 + len(worth))) for worth in worths]


def category_shares(first: Ranking, categories: dict[str, str]) -> dict[str, float]:
    """Let the ten best documents of the first stage vote for the category the shopper means."""
    votes: defaultdict[str, float] = defaultdict(float)
    for doc_id, score in first[:10]:
        votes[categories[doc_id]] += score
    total = sum(votes.values())
    return {category: vote / total for category, vote in votes.items()} if total else {}


def nearness(index: sqlite3.Connection, terms: list[str]) -> dict[str, float]:
    """Give each document the share of neighbouring query words that also stand close together in it."""
    pairs = [f"NEAR({quoted(left)} {quoted(right)}, 3)" for left, right in pairwise(terms)]
    counts: defaultdict[str, float] = defaultdict(float)
    for pair in pairs:
        for doc_id in matching(index, "fields", pair):
            counts[doc_id] += 1 / len(pairs)
    return counts


def rerank(index: sqlite3.Connection, first: Ranking, terms: list[str], categories: dict[str, str]) -> Ranking:
    """Order the first stage anew by a weighted sum of six signals, each between 0 and 1."""
    anywhere = [term_worth(index, "fields", term) for term in terms]
    in_title = [term_worth(index, "fields", term, "title : ") for term in terms]
    in_head = [term_worth(index, "heads", term) for term in terms]
    weights = rarity(anywhere, len(categories))
    near = nearness(index, terms)
    votes = category_shares(first, categories)
    best = max((first_score for _, first_score in first), default=0.0) or 1.0

    def score(doc_id: str, first_score: float) -> float:
        signals = {
            "first_stage": first_score / best,
            "coverage": share(anywhere, weights, doc_id),
            "title": share(in_title, weights, doc_id),
            "head": max(worth.get(doc_id, 0.0) for worth in in_head),
            "near": near.get(doc_id, 0.0),
            "category": votes.get(categories[doc_id], 0.0),
        }
        return sum(SIGNAL_WEIGHTS[name] * value for name, value in signals.items())

    return best_first((doc_id, score(doc_id, first_score)) for doc_id, first_score in first)


def run_lines(name: str, rankings: dict[str, Ranking]) -> Iterable[str]:
    """Yield TREC run lines: query, Q0, document, rank, score, tag."""
    for query_id, ranking in rankings.items():
        for rank, (doc_id, score) in enumerate(ranking, start=1):
            yield f"{query_id} Q0 {doc_id} {rank} {score:.6f} {name}\n"


def write_run(folder: Path, name: str, rankings: dict[str, Ranking]) -> None:
    """Write a run beside its final place, then rename it, so that no half-written run is ever seen."""
    target = folder / f"{name}.run"
    partial = folder / f"{name}.run.partial"
    partial.write_text("".join(run_lines(name, rankings)), encoding="utf-8", newline="\n")
    os.replace(partial, target)


def words_of(products: list[Product]) -> list[str]:
    """List the distinct words of titles and descriptions, sorted."""
    return sorted(
        {word for product in products for word in query_terms(product["title"] + " " + product["description"])}
    )


def rank_all(products: list[Product], queries: list[tuple[str, str]]) -> dict[str, dict[str, Ranking]]:
    """Rank every query with the three rankers; the result is keyed by run name, then query_id."""
    index = build_index(products)
    vocabulary = words_of(products)
    categories = {product["doc_id"]: product["category"] for product in products}
    runs: dict[str, dict[str, Ranking]] = {"title": {}, "fields": {}, "reranked": {}}
    for query_id, query in queries:
        terms = query_terms(query)
        runs["title"][query_id] = search(index, "titles", terms, (1.0,))
        runs["fields"][query_id] = search(index, "fields", terms, FIELD_WEIGHTS)
        runs["reranked"][query_id] = rerank(
            index, runs["fields"][query_id], content_terms(terms, vocabulary), categories
        )
    index.close()
    return runs


def main(arguments: list[str]) -> int:
    """Write the three runs to the folder named on the command line."""
    if len(arguments) != 1:
        print("usage: python demo/rankers.py OUTDIR", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    runs = rank_all(load_catalogue(HERE / "catalogue.jsonl"), load_queries(HERE / "queries.tsv"))
    for name, rankings in runs.items():
        write_run(folder, name, rankings)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
