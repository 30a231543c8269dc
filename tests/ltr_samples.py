"""Learning-to-rank data for tests: the set that LightGBM brings, and random queries of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import rankgauge


class Part(NamedTuple):
    """Rows with features."""

    features: Any
    grades: Any
    groups: Any

    @property
    def qid(self) -> Any:
        return np.repeat(np.arange(len(self.groups)), self.groups)


def real(shared: Path) -> tuple[Part, Part]:
    """Training and test rows of LightGBM's example."""
    datasets = pytest.importorskip("sklearn.datasets")
    folder = shared / "ltr-lightgbm"
    train, labels = datasets.load_svmlight_file(str(folder / "rank.train"))
    test, labels_of_test = datasets.load_svmlight_file(str(folder / "rank.test"), n_features=train.shape[1])
    sizes = [rankgauge.read_ltr(folder / f"rank.{part}").groups for part in ("train", "test")]
    return Part(train.toarray(), labels, sizes[0]), Part(test.toarray(), labels_of_test, sizes[1])


def drawn(seed: int, queries: int = 40, *, grades: int = 4, steps: int = 6) -> tuple[Part, Any]:
    """Random rows, some queries without relevant documents and some of one document, and scores with many ties."""
    dice = np.random.default_rng(seed)
    groups = dice.integers(1, 15, queries)
    labels = dice.integers(0, grades + 1, groups.sum()) * np.repeat(dice.random(queries) < 0.8, groups)
    scores = dice.integers(-steps, steps, groups.sum()) / 7
    return Part(dice.normal(size=(len(labels), 3)), labels.astype(np.float64), groups), scores.astype(np.float32)
