"""Random judgments and runs for the property tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

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
