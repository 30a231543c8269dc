"""A second judge for the demo: a program that grades by words alone. Writes model.txt and people.txt.

Usage: python demo/judge.py OUTDIR

model.txt grades the pairs of qrels.txt by how many words of the query the product's text has (a word of the title
counts whole, one of the rest half); people.txt holds every third query of qrels.txt, as if people had judged no more.
The judge reads queries and products, never the grades.
"""

import csv
import json
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
STOPWORDS = frozenset(re.findall(r"\w+", "a an and at can for from i in is it my no of on or so t that the to with"))
FROM = ((0.9, 3), (0.7, 2), (0.5, 1))  # share of the query that is covered → grade


def words(text: str) -> list[str]:
    """The words of a text in lower case, without the commonest ones and without a plural s."""
    found = re.findall(r"[a-z0-9]+", text.lower())
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found if word not in STOPWORDS]


def grade(query: str, product: dict[str, str]) -> int:
    """From 0 to 3, by the share of the query's words that the product's text has."""
    title, whole = set(words(product["title"])), set(words(" ".join(product.values())))
    asked = words(query)
    covered = sum(1.0 if word in title else 0.5 if word in whole else 0.0 for word in asked) / max(1, len(asked))
    return next((level for share, level in FROM if covered >= share), 0)


def stand_in(query: dict[str, str], product: dict[str, str]) -> int:
    """The same as a judge of `rankgauge judge`."""
    return grade(query["query"], {name: text for name, text in product.items() if name != "doc_id"})


def main(folder: Path) -> None:
    """Write both files."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(HERE / "catalogue.jsonl", encoding="utf-8") as stream:
        products = {row["doc_id"]: row for row in map(json.loads, stream)}
    with open(HERE / "queries.tsv", encoding="utf-8", newline="") as stream:
        queries = {row["query_id"]: row["query"] for row in csv.DictReader(stream, delimiter="\t")}
    lines = [line.split() for line in (HERE / "qrels.txt").read_text(encoding="utf-8").splitlines()]
    graded = [f"{query} 0 {doc} {grade(queries[query], products[doc])}\n" for query, _, doc, _ in lines]
    third = sorted(queries)[::3]
    people = [" ".join(line) + "\n" for line in lines if line[0] in third]
    for name, rows in (("model.txt", graded), ("people.txt", people)):
        (folder / name).write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {os.path.relpath(__file__)} OUTDIR")
    main(Path(sys.argv[1]))
