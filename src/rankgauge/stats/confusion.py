"""Confusion matrices: truth (rows) against label (columns), and how likely each truth is given the label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import InputError

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

__all__ = ["truth_given_label"]

ROUNDS: Final = 10_000
STILL: Final = 1e-12


def truth_given_label(matrix: Floats, labels: Ints, names: Sequence[str]) -> Floats:
    """Label × truth: the chances of each truth, given the label.

    Counts of pairs that were judged by both say it directly: each column, as shares. Rows of chances that add up to 1
    say how likely each label is given the truth; how common each truth is then follows from the labels at hand (the
    prevalence under which these are most likely), and Bayes' rule turns the chances round.
    """
    _check(matrix, names)
    sums = matrix.sum(axis=1)
    joint = matrix
    if np.allclose(sums, 1.0, rtol=0, atol=1e-6):
        joint = _prevalence(matrix, labels)[:, None] * matrix
    whole = joint.sum(axis=0)
    lost = [
        name for name, count, there in zip(names, labels.tolist(), whole.tolist(), strict=True) if count and not there
    ]
    if lost:
        raise InputError(
            f"the matrix never has label {lost[0]} (its column is all 0), and the judgments hold it; give it a count"
        )
    identity = np.eye(len(names))
    return np.where(whole[:, None] > 0, joint.T / np.where(whole > 0, whole, 1.0)[:, None], identity)


def _check(matrix: Floats, names: Sequence[str]) -> None:
    size = len(names)
    if matrix.shape != (size, size):
        shape = " × ".join(map(str, matrix.shape)) or "a number"
        raise InputError(
            f"the confusion matrix is {shape}; expected {size} × {size}, a row and a column for each grade of the "
            f"scale ({', '.join(names)}), rows true, columns label"
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any() or not matrix.any():
        raise InputError("the confusion matrix holds counts or chances: finite numbers, 0 or more, not all 0")


def _prevalence(chances: Floats, labels: Ints) -> Floats:
    """How common each truth is: the shares under which the labels at hand are most likely (EM)."""
    seen = labels / max(1, labels.sum())
    shares = np.full(len(chances), 1 / len(chances))
    for _ in range(ROUNDS):
        expected = shares @ chances
        weight = np.divide(seen, expected, out=np.zeros(len(seen)), where=expected > 0)
        updated = shares * (chances @ weight)
        updated = updated / updated.sum() if updated.sum() > 0 else shares
        if np.abs(updated - shares).max() < STILL:
            return updated
        shares = updated
    return shares
