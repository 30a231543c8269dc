"""rankgauge measures how good a ranking is, with NDCG@K at its centre.

    file, frame, dict ──read──▶ Judgments, Run ──match──▶ Hits ──measure──▶ values ──show──▶ people

>>> import rankgauge
>>> result = rankgauge.evaluate({"q1": {"d1": 3, "d2": 1}}, {"q1": {"d1": 0.9, "d3": 0.5}}, ["nDCG@10", "R@100"])
>>> round(result["nDCG@10"], 4), result["R@100"]
(0.8262, 0.5)
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

# Public name → its module, imported when the name is first used: `import rankgauge` itself costs next to nothing.
# `__init__.pyi` says the same to type checkers; a test makes it of this table.
_WHERE = {
    "Agreement": "trust.judges.agree",
    "Alignment": "trust.online.align",
    "Bounds": "trust.unjudged.bounds",
    "Check": "comparison.gate.outcome",
    "Comparison": "comparison.comparison",
    "DIALECTS": "dialects",
    "Dialect": "dialects",
    "Evaluation": "result",
    "Explanation": "explanation.query.explanation",
    "Finding": "validation.codes",
    "Funnel": "explanation.funnel.outcome",
    "Hits": "matching.hits",
    "InputError": "errors",
    "Judgments": "read",
    "LabelNoise": "trust.judgments.noise",
    "Leaderboard": "comparison.leaderboard.leaderboard",
    "Looped": "steps.looped",
    "Ltr": "read.ltr",
    "MatchError": "errors",
    "Measure": "measures",
    "MeasureError": "errors",
    "Plan": "comparison.plan",
    "Pool": "judge.pool",
    "PredictionPowered": "trust.ppi",
    "Project": "store.project",
    "Protocol": "protocol",
    "ProtocolError": "errors",
    "Quality": "trust.judgments.quality",
    "RankgaugeError": "errors",
    "RankgaugeWarning": "errors",
    "Report": "reports.report",
    "Result": "result",
    "Rules": "protocol",
    "Run": "read",
    "Sample": "sampling.sample",
    "TieBand": "measures.bands.bands",
    "agree": "trust.judges.agree",
    "align": "trust.online.align",
    "bench": "comparison.leaderboard.leaderboard",
    "check": "comparison.gate.check",
    "compare": "comparison.compare",
    "evaluate": "evaluate",
    "evaluate_runs": "evaluate",
    "explain": "explanation.query.explain",
    "funnel": "explanation.funnel.funnel",
    "label_noise": "trust.judgments.noise",
    "loop": "steps.loop",
    "match": "matching.match",
    "measure": "measures",
    "ndcg": "evaluate",
    "parse": "measures",
    "plan": "comparison.plan",
    "pool": "judge.pool",
    "ppi": "trust.ppi",
    "quality": "trust.judgments.quality",
    "read_judgments": "read",
    "read_ltr": "read.ltr",
    "read_run": "read",
    "report": "reports.report",
    "sample": "sampling.sample",
    "tie_band": "measures.bands.bands",
    "unjudged_bounds": "trust.unjudged.bounds",
    "validate": "validation.validate",
    "write": "writers.write",
    "write_ltr": "writers.ltr",
}
# Public module → where it is: `rankgauge.charts.forest(…)`.
_MODULES = {"arrays": "arrays", "charts": "show.charts", "trainers": "arrays.trainers"}
__all__ = [*_WHERE]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"rankgauge.{_MODULES[name]}")
    if name not in _WHERE:
        raise AttributeError(f"module 'rankgauge' has no attribute {name!r}")
    value = _plain(getattr(importlib.import_module(f"rankgauge.{_WHERE[name]}"), name), name)
    globals()[name] = value
    return value


def _plain(value: Any, name: str) -> Any:
    """A class as it is; a function with plain errors for wrong arguments."""
    return (
        importlib.import_module("rankgauge.calls").checked(value, name)
        if callable(value) and not isinstance(value, type)
        else value
    )


def __dir__() -> list[str]:
    return sorted([*_WHERE, *_MODULES, "__version__"])


class _Package(ModuleType):
    """One module bears the name of the function that people call: when Python binds it here, the function stays."""

    def __setattr__(self, name: str, value: Any) -> None:
        module = name == "evaluate" and isinstance(value, ModuleType)
        super().__setattr__(name, _plain(value.evaluate, name) if module else value)


sys.modules[__name__].__class__ = _Package
