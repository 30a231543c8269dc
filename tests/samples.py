"""Random judgments and runs, for the property tests and for other tools; and what a dialect says of them."""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

import rankgauge
from rankgauge import Dialect, RankgaugeWarning

Nested = dict[str, dict[str, float]]
Table = Mapping[str, Mapping[str, float]]

QUERIES = st.sampled_from(["q1", "q10", "q2", "ä", "7", "007"])
DOCS = st.sampled_from([*(f"d{i}" for i in range(12)), "é", "Z", "a-b", "10", "9", "d\U0001f600", "d\uffee"])
GRADES = st.sampled_from([-2, -1, 0, 0, 1, 1, 2, 3])
# Exact in float32, with many ties, so that tools that compare 32-bit numbers agree.
SCORES = st.sampled_from([-3.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 7.75]) | st.integers(-40, 40).map(lambda n: n / 8)


def nested(numbers: st.SearchStrategy[Any], *, most: int = 20) -> st.SearchStrategy[Nested]:
    """query → document → number."""
    return st.dictionaries(QUERIES, st.dictionaries(DOCS, numbers, min_size=1, max_size=most), min_size=1)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Nested, Nested]:
    """Judgments and a run that share at least one query."""
    judgments, run = draw(nested(GRADES)), draw(nested(SCORES))
    if not judgments.keys() & run.keys():
        run[next(iter(judgments))] = draw(st.dictionaries(DOCS, SCORES, min_size=1))
    return judgments, run


# ---- for other tools ------------------------------------------------------------------------------------------------


def random_files(
    seed: int,
    *,
    queries: int = 40,
    grades: tuple[int, ...] = (0, 0, 0, 1, 1, 2, 3),
    ties: bool = True,
    in_order: bool = False,
) -> tuple[Nested, Nested]:
    """Judgments and a run; every query is judged and answered, some with nothing relevant, some with unjudged.

    `in_order`: the documents of a query are listed by descending score, for tools that take a list.
    """
    dice = random.Random(seed)
    judgments: Nested = {}
    run: Nested = {}
    for number in range(queries):
        docs = [f"d{i:02}" for i in range(dice.randint(2, 14))]
        dice.shuffle(docs)
        top = dice.choice([*grades[3:], 0])
        judged: dict[str, float] = {doc: min(dice.choice(grades), top) for doc in docs if dice.random() < 0.8}
        judgments[str(number)] = judged or {docs[0]: 1}
        kept = docs[: dice.randint(2, len(docs))]
        scores = [dice.randint(0, 5) / 4 if ties else dice.random() for _ in kept]
        run[str(number)] = dict(zip(kept, sorted(scores, reverse=True) if in_order else scores, strict=True))
    return judgments, run


def ours(dialect: str | Dialect, judgments: Nested, run: Any, measure: str) -> dict[str, float]:
    """The value of every query in a dialect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        values = rankgauge.evaluate(judgments, run, measure, dialect=dialect).to_dict()
    return {query: each[measure] for query, each in values.items() if measure in each}


def mean(values: Mapping[str, float]) -> float:
    """Over queries."""
    return sum(values.values()) / len(values)


def labels(judgments: Nested, run: Nested, query: str) -> tuple[list[float], list[float]]:
    """Grades and scores of what was retrieved: all that a tool sees that is given a list."""
    return [judgments[query].get(doc, 0) for doc in run[query]], list(run[query].values())
