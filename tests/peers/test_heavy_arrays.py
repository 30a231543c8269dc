"""rankgauge.arrays with the libraries that are heavy to install: torch, jax, and the values of torchmetrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankgauge import arrays
from rankgauge.errors import InputError

GRADES = np.array([[3, 0, 2, 1], [0, 1, 0, 2]])
SCORES = np.array([[0.25, 0.75, 0.5, 0.5], [0.125, 0.5, 2.0, -1.0]])  # bfloat16 holds them exactly
FUNCTIONS = [
    arrays.ndcg, arrays.dcg, arrays.precision, arrays.recall, arrays.reciprocal_rank, arrays.average_precision,
    arrays.err, arrays.hit_rate,
]  # fmt: skip


def drawn(seed: int, decimals: int) -> tuple[Any, Any, Any]:
    """Grades, 32-bit scores and sizes of 30 queries."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 25, 30)
    total = int(sizes.sum())
    return random.integers(0, 4, total), random.random(total).round(decimals).astype(np.float32), sizes


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
class TestTensors:
    @pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16", "float8_e5m2"])
    def test_torch(self, function: Any, kind: str) -> None:
        torch = pytest.importorskip("torch")
        grades, scores = torch.tensor(GRADES), torch.tensor(SCORES).to(getattr(torch, kind))
        expected = function(GRADES, SCORES, 3).per_query.tolist()
        assert function(grades, scores, 3).per_query.tolist() == expected
        assert function(grades.T.contiguous().T, scores, 3).per_query.tolist() == expected
        qid = torch.tensor([0] * 4 + [1] * 4)
        assert function(grades.ravel(), scores.ravel(), 3, qid=qid).per_query.tolist() == expected
        masked = function(grades, scores, 3, mask=torch.ones(2, 4, dtype=torch.bool), weights=torch.ones(2))
        assert masked.per_query.tolist() == expected

    def test_torch_with_gradients(self, function: Any) -> None:
        torch = pytest.importorskip("torch")
        scores = torch.tensor(SCORES, requires_grad=True)
        kept = scores.detach().clone()
        assert function(GRADES, scores * 1.0, 3).per_query.tolist() == function(GRADES, SCORES, 3).per_query.tolist()
        assert torch.equal(scores.detach(), kept)
        assert scores.grad is None

    def test_lists_of_tensors(self, function: Any) -> None:
        torch = pytest.importorskip("torch")
        grades, scores = ([torch.tensor(line[: 4 - i]) for i, line in enumerate(each)] for each in (GRADES, SCORES))
        expected = function([line.tolist() for line in grades], [line.tolist() for line in scores], 3)
        assert function(grades, scores, 3).per_query.tolist() == expected.per_query.tolist()

    @pytest.mark.parametrize("kind", ["float64", "bfloat16"])
    def test_equally_long_lists_of_tensors_with_gradients(self, function: Any, kind: str) -> None:
        torch = pytest.importorskip("torch")
        grades = [torch.tensor(line) for line in GRADES]
        scores = [torch.tensor(line, requires_grad=True).to(getattr(torch, kind)) for line in SCORES]
        expected = function(GRADES, SCORES, 3).per_query.tolist()
        assert function(grades, scores, 3).per_query.tolist() == expected
        mask = [torch.ones(4, dtype=torch.bool)] * 2
        weights = [torch.tensor(1.0, requires_grad=True), torch.tensor(2.0)]
        assert function(grades, scores, 3, mask=mask, weights=weights).per_query.tolist() == expected
        single = function(list(grades[0]), list(scores[0]), 3)
        assert single.per_query.tolist() == expected[:1]
        assert function([list(each) for each in grades], [list(each) for each in scores], 3).mean == np.mean(expected)

    @pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
    def test_tensors_that_are_no_arrays(self, function: Any) -> None:
        torch = pytest.importorskip("torch")
        with pytest.raises(InputError, match=r"grades is a sparse tensor; make it dense: grades\.to_dense\(\)"):
            function(torch.tensor(GRADES).to_sparse(), SCORES, 3)
        nested = torch.nested.nested_tensor([torch.tensor([0.5, 1.0]), torch.tensor([1.0])])
        with pytest.raises(InputError, match=r"scores is a nested tensor; give a list of tensors, scores\.unbind\(\)"):
            function([[1, 0], [1]], nested, 3)
        assert len(function([[1, 0], [1]], nested.unbind(), 3)) == 2

    @pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
    def test_jax(self, function: Any, kind: str) -> None:
        jax = pytest.importorskip("jax.numpy")
        grades, scores = jax.asarray(GRADES), jax.asarray(SCORES, getattr(jax, kind))
        expected = function(GRADES, SCORES, 3).per_query.tolist()
        assert function(grades, scores, 3).per_query.tolist() == expected
        assert function(grades, scores, 3, mask=jax.ones((2, 4), bool)).per_query.tolist() == expected


class TestTorchmetrics:
    """torchmetrics computes in 32 bits."""

    @pytest.mark.parametrize("decimals", [1, 2, 7])
    @pytest.mark.parametrize("k", [1, 3, 10, None])
    @pytest.mark.parametrize("seed", range(3))
    def test_ndcg(self, seed: int, k: int | None, decimals: int) -> None:
        retrieval, torch = pytest.importorskip("torchmetrics.retrieval"), pytest.importorskip("torch")
        grades, scores, sizes = drawn(seed, decimals)
        index = torch.tensor(np.repeat(np.arange(len(sizes)), sizes))
        theirs = retrieval.RetrievalNormalizedDCG(top_k=k)(torch.tensor(scores), torch.tensor(grades), indexes=index)
        ours = arrays.ndcg(torch.tensor(grades), torch.tensor(scores), k, qid=index)
        assert float(ours) == pytest.approx(float(theirs), abs=1e-6)

    @pytest.mark.parametrize(
        ("name", "function"),
        [
            ("RetrievalPrecision", arrays.precision),
            ("RetrievalRecall", arrays.recall),
            ("RetrievalMRR", arrays.reciprocal_rank),
            ("RetrievalHitRate", arrays.hit_rate),
        ],
    )
    @pytest.mark.parametrize("k", [1, 5, 30])
    def test_binary_measures_without_ties(self, name: str, function: Any, k: int) -> None:
        """It leaves the order of equal scores open here, so there are none; 0.5 more keeps clear of its cut at 0."""
        retrieval, torch = pytest.importorskip("torchmetrics.retrieval"), pytest.importorskip("torch")
        grades, scores, sizes = drawn(7, 7)
        assert len(np.unique(scores)) == len(scores)
        index = torch.tensor(np.repeat(np.arange(len(sizes)), sizes))
        theirs = getattr(retrieval, name)(top_k=k)(torch.tensor(scores) + 0.5, torch.tensor(grades) > 0, indexes=index)
        ours = function(grades, scores, k, groups=sizes)
        assert float(ours) == pytest.approx(float(theirs), abs=1e-6)

    def test_average_precision_of_everything(self) -> None:
        retrieval, torch = pytest.importorskip("torchmetrics.retrieval"), pytest.importorskip("torch")
        grades, scores, sizes = drawn(8, 7)
        index = torch.tensor(np.repeat(np.arange(len(sizes)), sizes))
        theirs = retrieval.RetrievalMAP()(torch.tensor(scores) + 0.5, torch.tensor(grades) > 0, indexes=index)
        assert float(arrays.average_precision(grades, scores, None, groups=sizes)) == pytest.approx(
            float(theirs), abs=1e-6
        )
