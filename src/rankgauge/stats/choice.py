"""Which of several columns follows another best, judged on rows that had no say in the choice.

For each row in turn a column is chosen on all the others, and the row tells whether the chosen column has its sign.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from rankgauge.stats.correlation import SAME, is_constant, kendall, pearson, spearman, without_each

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

__all__ = ["CRITERIA", "QUICK", "SLOW", "Criterion", "first_of_best", "nested"]

SLOW: Final = 2_000  # rows, beyond which criteria that start anew for every row are too slow
EQUAL: Final = 1e-9  # scores that differ by less are the same: rounding leaves columns that are multiples apart


def nested(columns: Floats, y: Floats, by: str = "pearson") -> tuple[Ints, Floats]:
    """Leave each row out, choose by the others, look at the row. `columns` is column × row; of equals, the first.

    For each row the column that was chosen without it, and whether that column agrees with it in sign: 1 or 0, and NaN
    where one of the two is 0 and so has no sign.
    """
    scores = np.stack([CRITERIA[by].without_each(x, y) for x in columns])
    column = first_of_best(scores)
    signs = np.sign(columns[column, np.arange(len(y))]) * np.sign(y)
    return column, np.where(signs == 0, np.nan, (signs > 0).astype(np.float64))


def first_of_best(scores: Floats) -> Ints:
    """The best column (of column, or of column × row for each row): of those equal but for rounding, the first.

    Scores are shares and correlations, so that a tolerance has no unit; NaN is the worst.
    """
    known = np.where(np.isnan(scores), -np.inf, scores)
    found: Ints = np.argmax(known >= known.max(axis=0) - EQUAL, axis=0)
    return found


class Criterion(NamedTuple):
    """How well a column follows another, more being better: of all rows, and without each of them in turn."""

    words: str
    whole: Callable[[Floats, Floats], float]
    quick: Callable[[Floats, Floats], Floats] | None = None

    def without_each(self, x: Floats, y: Floats) -> Floats:
        """The score without each row in turn; anew for every row where there is no quicker way."""
        if self.quick is not None:
            return self.quick(x, y)
        kept = ~np.eye(len(y), dtype=bool)
        found: Floats = np.array([self.whole(x[rows], y[rows]) for rows in kept])
        return found


def _share(x: Floats, y: Floats) -> float:
    """The share of the rows that have two signs on which these are the same."""
    signs = np.sign(x) * np.sign(y)
    return float((signs > 0).sum() / (signs != 0).sum()) if (signs != 0).any() else float("nan")


def _shares(x: Floats, y: Floats) -> Floats:
    signs = np.sign(x) * np.sign(y)
    same, counted = (signs > 0).astype(np.float64), (signs != 0).astype(np.float64)
    left = counted.sum() - counted
    found: Floats = np.divide(same.sum() - same, left, out=np.full(len(y), np.nan), where=left > 0)
    return found


def _prediction(x: Floats, y: Floats) -> float:
    """Minus the mean square error of a line, each row predicted from the others, as a share of the variance of y."""
    a = x - x.mean()
    width = float(a @ a)
    if width <= SAME * float((x**2).sum()):
        return float("nan")
    left = y - y.mean() - (a @ y / width) * a
    free = 1 - 1 / len(x) - a**2 / width
    if free.min() <= SAME:
        return float("nan")
    error, variance = float(((left / free) ** 2).mean()), float(y.var())
    return -error / variance if not is_constant(y) else 0.0


CriterionName: TypeAlias = Literal["pearson", "spearman", "kendall", "sign", "prediction"]
CRITERIA: Final = {
    "pearson": Criterion("the highest Pearson correlation", pearson, lambda x, y: without_each(x, y)[0]),
    "spearman": Criterion("the highest Spearman correlation", spearman),
    "kendall": Criterion("the highest Kendall τ_b", kendall),
    "sign": Criterion("the highest share of equal signs", _share, _shares),
    "prediction": Criterion("the smallest error of a line that predicts each from the others", _prediction),
}
QUICK: Final = tuple(name for name, each in CRITERIA.items() if each.quick is not None)
