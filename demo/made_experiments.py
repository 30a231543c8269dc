"""Made experiments, drawn by chance: nobody ran them. `python demo/made_experiments.py > demo/made_experiments.csv`.

Each change has a quality that is drawn; offline measures see it with noise, nDCG@10 with the least, and so does the
conversion rate, whose standard error is that of an A/B test of its length.
"""

from __future__ import annotations

import csv
import random
import sys

CHANGES = (
    "synonyms", "stemming", "spelling", "brand boost", "price filter", "title boost", "phrase match", "popularity",
    "freshness", "facets", "query rewrite", "vector recall", "hybrid fusion", "reranker small", "reranker large",
    "attributes", "category guess", "dedupe", "stock boost", "margin boost", "long tail", "autocomplete",
    "zero results", "two stages",
)  # fmt: skip
NOISE = {"nDCG@10": 0.006, "nDCG@5": 0.009, "nDCG@20": 0.007, "DCG@10": 0.04, "R@100": 0.02}
SCALE = {"DCG@10": 4.0, "R@100": 0.7}


def rows() -> list[list[str]]:
    """A row for each made experiment."""
    drawn = random.Random(3)
    made = []
    for at, change in enumerate(CHANGES, 1):
        quality = drawn.gauss(0.004, 0.015)
        offline = [SCALE.get(name, 1.0) * quality + drawn.gauss(0, noise) for name, noise in NOISE.items()]
        error = drawn.uniform(0.15, 0.45)
        online = 30 * quality + drawn.gauss(0, 0.2) + drawn.gauss(0, error)
        made.append([f"made {at:02}: {change}", *(f"{each:.4f}" for each in offline), f"{online:.2f}", f"{error:.2f}"])
    return made


def main() -> None:
    """The table, with its warning."""
    print("# MADE numbers for the documentation of rankgauge align: no such experiments were run.")
    print("# delta_…: change of the measure offline; conversion_lift: change of conversion online, in percent;")
    print("# standard_error: that of conversion_lift.")
    heads = ["experiment", *(f"delta_{name}" for name in NOISE), "conversion_lift", "standard_error"]
    csv.writer(sys.stdout, lineterminator="\n").writerows([heads, *rows()])


if __name__ == "__main__":
    main()
