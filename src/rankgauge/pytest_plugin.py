"""The pytest plugin: `gauge`, a fixture that evaluates runs and asserts that they are not worse than a baseline.

pytest loads this in every project where rankgauge is installed, so nothing else is imported before the fixture is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rankgauge.comparison.gate.outcome import Check
    from rankgauge.result import Result

__all__ = ["Gauge", "assert_no_regression", "gauge"]


def assert_no_regression(
    judgments: Any,
    run: Any,
    *,
    baseline: Any = None,
    measures: Any = None,
    margin: float | Mapping[str, float] | None = None,
    minimums: Mapping[str, float] | None = None,
    inconclusive: str = "fail",
    unchanged: str = "pass",
    **more: Any,
) -> Check:
    """Raise AssertionError, with the table as its message, unless the gate passes.

    What cannot be told (`inconclusive`) fails, too, unless "pass" is asked for; where no judged value changed
    (`unchanged`) it passes, unless "inconclusive" or "fail" is. The arguments are those of `rankgauge.check`; the check
    is returned.
    """
    __tracebackhide__ = True
    from rankgauge.comparison.gate.check import check
    from rankgauge.errors import InputError

    if inconclusive not in ("pass", "fail"):
        raise InputError(f"inconclusive={inconclusive!r} is not known; expected pass or fail")
    if unchanged not in ("pass", "inconclusive", "fail"):
        raise InputError(f"unchanged={unchanged!r} is not known; expected pass, inconclusive or fail")
    outcome = check(judgments, run, baseline, measures, margin=margin, minimums=minimums, **more)
    if outcome.counts_as(inconclusive, unchanged) == "fail":
        raise AssertionError(f"\n{outcome}")
    return outcome


class Gauge:
    """What the fixture `gauge` gives: evaluate and assert, with paths relative to the root of the project."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def evaluate(self, judgments: Any, run: Any, measures: Any = "nDCG@10", **more: Any) -> Result:
        """`rankgauge.evaluate`."""
        from rankgauge.evaluate import evaluate

        return evaluate(self._found(judgments), self._found(run), measures, **more)

    def assert_no_regression(self, judgments: Any, run: Any, *, baseline: Any = None, **more: Any) -> Check:
        """Fail the test, with the table as its message, unless the gate passes."""
        __tracebackhide__ = True
        return assert_no_regression(self._found(judgments), self._found(run), baseline=self._found(baseline), **more)

    def _found(self, source: Any) -> Any:
        """A path from the root of the project; anything else as it is."""
        if isinstance(source, (str, Path)) and str(source) != "-":
            return os.path.relpath(self.root / source)
        return source


@pytest.fixture(scope="session")
def gauge(request: pytest.FixtureRequest) -> Gauge:
    """Evaluate runs, and assert that they are not worse than a baseline: `gauge.assert_no_regression(…)`."""
    return Gauge(request.config.rootpath)
