"""How one offline column tracks the online one: correlations, directions, decisions, a line, and who sways them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.stats import correlation
from rankgauge.stats.correlation import Line, Share
from rankgauge.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints
    from rankgauge.trust.online.align import Settings
    from rankgauge.trust.online.units import Units


__all__ = ["ONLINE", "Decisions", "Tracked", "online_interval", "outcomes", "tracked"]

ONLINE: Final = ("better", "unclear", "worse")  # what the online difference says, in the order of decision tables


@dataclass(frozen=True, slots=True)
class Decisions:
    """What was shipped (or would be, by the offline difference) × what the online difference says.

    Rows are shipped and held back, columns are `ONLINE`; `mean` is the mean online difference of each row.
    """

    counts: Ints
    mean: tuple[float, float]
    recorded: bool  # whether the table says what was shipped

    @property
    def wrongly_shipped(self) -> int:
        """Shipped, and online it is worse."""
        return int(self.counts[0, 2])

    @property
    def wrongly_held(self) -> int:
        """Held back, and online it is better."""
        return int(self.counts[1, 0])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = {
            name: {**dict(zip(ONLINE, map(int, counts), strict=True)), "mean_online": mean}
            for name, counts, mean in zip(("shipped", "held_back"), self.counts, self.mean, strict=True)
        }
        wrong = {"wrongly_shipped": self.wrongly_shipped, "wrongly_held_back": self.wrongly_held}
        return {**rows, **wrong, "recorded": self.recorded}


@dataclass(frozen=True, eq=False)
class Tracked:
    """One offline column beside the online one.

    `coefficients` holds pearson, spearman and kendall, and where the table has what they need precision (weighted by
    1/error²), traffic (weighted by it) and corrected (for the noise of the differences). `signs` holds all, clear (only
    units whose online interval leaves 0 out) and traffic. `without` is Pearson's r without each unit in turn.
    """

    name: str
    coefficients: dict[str, Estimate]
    offline_reliability: float | None
    signs: dict[str, Share]
    undirected: int  # units of which one of the differences is 0
    decisions: Decisions
    line: Line
    per_step: Estimate
    predicted_mean: Estimate
    predicted: Estimate
    without: Floats
    slope_without: Floats
    more_than_first: Estimate | None = None  # Pearson's r minus that of the first column, of the same units

    @property
    def pearson(self) -> Estimate:
        """Pearson's r."""
        return self.coefficients["pearson"]

    @property
    def influence(self) -> Floats:
        """What each unit adds to Pearson's r: r minus r without it."""
        result: Floats = self.pearson.value - self.without
        return result

    def most_influential(self, number: int) -> list[int]:
        """The units whose absence moves r most, first the most."""
        moved = np.where(np.isnan(self.influence), np.inf, np.abs(self.influence))
        return [int(at) for at in np.argsort(-moved, kind="stable")[:number]]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the units, for JSON."""
        return {
            "offline": self.name,
            "coefficients": self.coefficients,
            "offline_reliability": self.offline_reliability,
            "sign_agreement": {kind: each.to_dict() for kind, each in self.signs.items()},
            "without_direction": self.undirected,
            "decisions": self.decisions.to_dict(),
            "slope": self.line.slope,
            "intercept": self.line.intercept,
            "deviation": self.line.scatter,
            "per_step": self.per_step,
            "predicted_mean": self.predicted_mean,
            "predicted": self.predicted,
            "more_than_first": self.more_than_first,
        }


def tracked(units: Units, name: str, settings: Settings) -> Tracked:
    """How this offline column tracks the online one."""
    x, y, alpha = units.offline[name], units.online, settings.alpha
    line = correlation.fitted(x, y)
    without, slopes = correlation.without_each(x, y)
    of_first = units.offline_error if name == next(iter(units.offline)) else None
    offline_reliability = None if of_first is None else correlation.reliability(x, of_first)
    return Tracked(
        name,
        _coefficients(units, x, offline_reliability, alpha),
        offline_reliability,
        _signs(units, x, alpha),
        int(((x == 0) | (y == 0)).sum()),
        _decisions(units, x, settings),
        line,
        line.slope_times(settings.step, alpha),
        line.mean_at(settings.step, alpha),
        line.next_at(settings.step, alpha),
        without,
        slopes,
        _against_first(units, name, alpha),
    )


def _against_first(units: Units, name: str, alpha: float) -> Estimate | None:
    first = next(iter(units.offline))
    if name == first:
        return None
    x, z = units.offline[name], units.offline[first]
    ours, theirs = (correlation.correlated("pearson", each, units.online, alpha) for each in (x, z))
    return correlation.dependent_difference(ours, theirs, correlation.pearson(x, z))


def _coefficients(units: Units, x: Floats, of_x: float | None, alpha: float) -> dict[str, Estimate]:
    y = units.online
    found = {kind: correlation.correlated(kind, x, y, alpha) for kind in correlation.COEFFICIENTS}
    weights = {"precision": None if units.error is None else 1 / units.error**2, "traffic": units.weight}
    for kind, weight in weights.items():
        if weight is not None:
            found[kind] = correlation.fisher(
                correlation.weighted_pearson(x, y, weight), correlation.effective_number(weight), alpha
            )
    known = [] if units.error is None else [correlation.reliability(y, units.error)]
    known += [] if of_x is None else [of_x]
    if known:
        found["corrected"] = correlation.corrected(found["pearson"], *known)
    return found


def online_interval(units: Units, alpha: float) -> tuple[Floats, Floats] | None:
    """The interval of each online difference; None without standard errors."""
    from scipy.special import ndtri

    if units.error is None:
        return None
    reach = -ndtri(alpha / 2) * units.error
    return units.online - reach, units.online + reach


def outcomes(units: Units, alpha: float) -> Ints:
    """For each unit a number of `ONLINE`: by its interval, or without standard errors by its sign."""
    low, high = online_interval(units, alpha) or (units.online, units.online)
    result: Ints = np.where(low > 0, 0, np.where(high < 0, 2, 1))
    return result


def _signs(units: Units, x: Floats, alpha: float) -> dict[str, Share]:
    """How often both differences point the same way; units of which one is 0 do not count."""
    directed = (x != 0) & (units.online != 0)
    same = directed & (np.sign(x) == np.sign(units.online))
    found = {"all": correlation.wilson(int(same.sum()), int(directed.sum()), alpha)}
    if units.error is not None:
        clear = directed & (outcomes(units, alpha) != 1)
        found["clear"] = correlation.wilson(int((same & clear).sum()), int(clear.sum()), alpha)
    if units.weight is not None:
        weight = units.weight[directed]
        enough = correlation.effective_number(weight) if weight.sum() > 0 else 0.0
        found["traffic"] = correlation.wilson(
            float(units.weight[same].sum()), float(weight.sum()), alpha, effective=enough
        )
    return found


def _decisions(units: Units, x: Floats, settings: Settings) -> Decisions:
    shipped = x > settings.above if units.shipped is None else units.shipped
    outcome = outcomes(units, settings.alpha)
    rows = (shipped, ~shipped)
    counts = np.array([np.bincount(outcome[row], minlength=len(ONLINE)) for row in rows])
    means = tuple(float(units.online[row].mean()) if row.any() else float("nan") for row in rows)
    return Decisions(counts, (means[0], means[1]), units.shipped is not None)
