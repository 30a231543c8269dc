"""rankgauge.arrays: the numbers of scikit-learn, the same numbers in every shape, and the rules for bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rankgauge
from rankgauge import arrays
from rankgauge.arrays import Value

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "nDCG": arrays.ndcg,
    "DCG": arrays.dcg,
    "P": arrays.precision,
    "R": arrays.recall,
    "RR": arrays.reciprocal_rank,
    "AP": arrays.average_precision,
    "ERR": arrays.err,
    "Success": arrays.hit_rate,
}
SKLEARN = {"nDCG": "ndcg_score", "DCG": "dcg_score"}


def a_matrix(seed: int, decimals: int, lines: int = 40, width: int = 30) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    return random.integers(0, 5, (lines, width)), random.random((lines, width)).round(decimals)


class TestScikitLearn:
    @pytest.mark.parametrize("name", SKLEARN)
    @pytest.mark.parametrize("k", [1, 3, 10, 29, 30, 50, None])
    @pytest.mark.parametrize("decimals", [0, 1, 2, 17])
    def test_the_same_mean(self, name: str, k: int | None, decimals: int) -> None:
        metrics = pytest.importorskip("sklearn.metrics")
        grades, scores = a_matrix(1, decimals)
        theirs = getattr(metrics, SKLEARN[name])(grades, scores, k=k)
        assert FUNCTIONS[name](grades, scores, k).mean == pytest.approx(theirs, abs=1e-12, rel=1e-12)

    @pytest.mark.parametrize("name", SKLEARN)
    def test_the_same_weighted_mean_and_values(self, name: str) -> None:
        metrics = pytest.importorskip("sklearn.metrics")
        grades, scores = a_matrix(2, 1)
        weights = np.random.default_rng(3).random(len(grades))
        score = getattr(metrics, SKLEARN[name])
        ours = FUNCTIONS[name](grades, scores, 7, weights=weights)
        assert ours.mean == pytest.approx(score(grades, scores, k=7, sample_weight=weights), abs=1e-12, rel=1e-12)
        each = [score(grades[i : i + 1], scores[i : i + 1], k=7) for i in range(len(grades))]
        assert ours.per_query == pytest.approx(each, abs=1e-12, rel=1e-12)


@pytest.mark.filterwarnings("ignore::rankgauge.errors.RankgaugeWarning")
@pytest.mark.parametrize("ties", ["average", "given"])
@pytest.mark.parametrize("k", [1, 3, 10, None])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_as_evaluate(name: str, k: int | None, ties: str) -> None:
    if name == "P" and k is None:
        pytest.skip("P has no value without k")
    grades, scores = a_matrix(4, 1, 12, 13)
    judgments = {f"{i:02}": {f"d{j:02}": int(g) for j, g in enumerate(line)} for i, line in enumerate(grades)}
    run = {f"{i:02}": {f"d{j:02}": float(s) for j, s in enumerate(line)} for i, line in enumerate(scores)}
    text = name if k is None else f"{name}@{k}"
    result = rankgauge.evaluate(judgments, run, text, protocol={"ties": ties})
    ours = FUNCTIONS[name](grades, scores, k, ties=ties)
    assert ours.per_query == pytest.approx(result.per_query[text].to_numpy(), abs=1e-12)
    assert ours.mean == pytest.approx(result[text], abs=1e-12)
    assert ours.measure == text
