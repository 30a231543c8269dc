"""What unjudged documents do to a value: the interval that they leave open, exactly; what to expect; what to judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.trust.unjudged.bounds import Bounds, bounds_of_pair, bounds_of_run
from rankgauge.trust.unjudged.sheet import Sheet, sheet_of

if TYPE_CHECKING:
    from rankgauge.measures import Measure

__all__ = ["Bounds", "Sheet", "bounds_of_pair", "bounds_of_run", "sheet_of", "unjudged_bounds"]


def unjudged_bounds(
    judgments: Any,
    run: Any,
    minus: Any = None,
    measure: str | Measure = "nDCG@10",
    *,
    scale: Iterable[float] | None = None,
    protocol: Protocol | Mapping[str, Any] = DEFAULT,
) -> Bounds:
    """The interval that unjudged documents leave open: of a run, or of its difference to another (`minus`).

    Exact: the smallest and the largest nDCG over every way to grade the run's unjudged documents at ranks up to k, the
    ideal moving with them. `scale`: the grades there are; without it, the grades that the judgments hold.

    >>> unjudged_bounds({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, measure="nDCG(gain=exp)@10", scale=[0, 1, 2, 3])
    nDCG(gain=exp)@10 of run: 1.0000 in [0.7098, 1.0000], 1 open document
    """
    runs = {"run": run} if minus is None else {"run": run, "minus": minus}
    sheet = sheet_of(judgments, runs, measure, grades=scale, protocol=protocol)
    return bounds_of_run(sheet, "run") if minus is None else bounds_of_pair(sheet, "run", "minus")
