"""A straight line through points: what follows from a step, with intervals, and what each point does to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.stats.correlation import SAME
from rankgauge.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["Line", "fitted", "without_each"]


@dataclass(frozen=True, slots=True)
class Line:
    """y = intercept + slope · x by least squares, and what its intervals need. `scatter` is NaN where nothing is left
    over to estimate it from."""

    slope: float
    intercept: float
    scatter: float  # the standard deviation around the line, n − 2 degrees of freedom
    number: int
    middle: float  # the mean of x
    width: float  # Σ(x − middle)²
    is_perfect: bool = False  # whether all points lie on it, but for rounding

    def slope_times(self, step: float, alpha: float = 0.05) -> Estimate:
        """What a step of x adds to y."""
        return self._interval(self.slope * step, self.scatter * abs(step) / np.sqrt(self.width), alpha)

    def mean_at(self, x: float, alpha: float = 0.05) -> Estimate:
        """The mean of y at x."""
        return self._interval(self.intercept + self.slope * x, self.scatter * np.sqrt(self._leverage(x)), alpha)

    def next_at(self, x: float, alpha: float = 0.05) -> Estimate:
        """The y of one more point at x: a prediction interval."""
        return self._interval(self.intercept + self.slope * x, self.scatter * np.sqrt(1 + self._leverage(x)), alpha)

    def _leverage(self, x: float) -> float:
        return 1 / self.number + (x - self.middle) ** 2 / self.width

    def _interval(self, value: float, error: float, alpha: float) -> Estimate:
        from scipy.special import stdtrit

        reach = float(stdtrit(self.number - 2, 1 - alpha / 2) * error) if self.number > 2 else float("nan")
        return Estimate(float(value), float(value - reach), float(value + reach))


def fitted(x: Floats, y: Floats) -> Line:
    """The line of least squares; x must vary."""
    a, b = x - x.mean(), y - y.mean()
    width = float(a @ a)
    slope = float(a @ b) / width
    left = float(((b - slope * a) ** 2).sum())
    scatter = float(np.sqrt(left / (len(x) - 2))) if len(x) > 2 else float("nan")
    perfect = left <= (SAME * float(np.abs(y).max())) ** 2 * len(x)
    return Line(slope, float(y.mean() - slope * x.mean()), scatter, len(x), float(x.mean()), width, perfect)


def without_each(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Pearson's r and the slope without each of the points in turn; NaN where what is left does not vary."""
    number = len(x)
    a, b = x - x.mean(), y - y.mean()
    # Taking point i out of centred sums takes n/(n − 1) times its product out.
    scale = number / (number - 1)
    xx, yy, xy = (float(p @ q) - scale * p * q for p, q in ((a, a), (b, b), (a, b)))
    flat_x = xx <= SAME * float(a @ a)
    flat_y = yy <= SAME * float(b @ b)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where(flat_x | flat_y, np.nan, np.clip(xy / np.sqrt(np.abs(xx * yy)), -1.0, 1.0))
        slope = np.where(flat_x, np.nan, xy / xx)
    return r, slope
