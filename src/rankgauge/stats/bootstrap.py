"""Resamples of units with replacement, for the ranks of systems; intervals of means are stats/inference.py's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["draws"]


def draws(
    units: int, resamples: int, seed: tuple[int, ...], drawn: int | None = None
) -> Iterator[tuple[slice, Floats]]:
    """Which resamples, and how often each of them holds every unit; of so many units drawn, or as many as there are."""
    number = units if drawn is None else drawn
    at_once = max(1, min(resamples, (1 << 21) // units))
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        chosen = random.integers(0, units, (size, number)) + units * np.arange(size)[:, None]
        times = np.bincount(chosen.ravel(), minlength=size * units).reshape(size, units)
        yield slice(start, start + size), times.astype(np.float64)
