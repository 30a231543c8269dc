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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgauge import arrays as arrays
    from rankgauge import charts as charts
    from rankgauge import trainers as trainers
    from rankgauge.agree import Agreement as Agreement
    from rankgauge.agree import agree as agree
    from rankgauge.align import Alignment as Alignment
    from rankgauge.align import align as align
    from rankgauge.bench import Leaderboard as Leaderboard
    from rankgauge.bench import bench as bench
    from rankgauge.compare import Comparison as Comparison
    from rankgauge.compare import compare as compare
    from rankgauge.dialects import DIALECTS as DIALECTS
    from rankgauge.dialects import Dialect as Dialect
    from rankgauge.errors import InputError as InputError
    from rankgauge.errors import MatchError as MatchError
    from rankgauge.errors import MeasureError as MeasureError
    from rankgauge.errors import ProtocolError as ProtocolError
    from rankgauge.errors import RankgaugeError as RankgaugeError
    from rankgauge.errors import RankgaugeWarning as RankgaugeWarning
    from rankgauge.evaluate import evaluate as evaluate
    from rankgauge.evaluate import ndcg as ndcg
    from rankgauge.explain import Explanation as Explanation
    from rankgauge.explain import explain as explain
    from rankgauge.funnel import Funnel as Funnel
    from rankgauge.funnel import funnel as funnel
    from rankgauge.gate import Check as Check
    from rankgauge.gate import check as check
    from rankgauge.match import Hits as Hits
    from rankgauge.match import match as match
    from rankgauge.measures import Measure as Measure
    from rankgauge.measures import measure as measure
    from rankgauge.measures import parse as parse
    from rankgauge.plan import Plan as Plan
    from rankgauge.plan import plan as plan
    from rankgauge.ppi import PredictionPowered as PredictionPowered
    from rankgauge.ppi import ppi as ppi
    from rankgauge.protocol import Protocol as Protocol
    from rankgauge.quality import LabelNoise as LabelNoise
    from rankgauge.quality import Quality as Quality
    from rankgauge.quality import label_noise as label_noise
    from rankgauge.quality import quality as quality
    from rankgauge.read import Judgments as Judgments
    from rankgauge.read import Run as Run
    from rankgauge.read import read_judgments as read_judgments
    from rankgauge.read import read_run as read_run
    from rankgauge.read.ltr import Ltr as Ltr
    from rankgauge.read.ltr import read_ltr as read_ltr
    from rankgauge.report import Report as Report
    from rankgauge.report import report as report
    from rankgauge.result import Result as Result
    from rankgauge.ties import TieBand as TieBand
    from rankgauge.ties import tie_band as tie_band
    from rankgauge.unjudged import Bounds as Bounds
    from rankgauge.unjudged import unjudged_bounds as unjudged_bounds
    from rankgauge.validate import Finding as Finding
    from rankgauge.validate import validate as validate
    from rankgauge.write import write as write
    from rankgauge.write_ltr import write_ltr as write_ltr

__version__ = "0.1.0"

# Public name → its module, imported when the name is first used: `import rankgauge` itself costs next to nothing.
_WHERE = {
    "Agreement": "agree",
    "Alignment": "align",
    "Bounds": "unjudged",
    "Check": "gate",
    "Comparison": "compare",
    "DIALECTS": "dialects",
    "Dialect": "dialects",
    "Explanation": "explain",
    "Finding": "validate",
    "Funnel": "funnel",
    "Hits": "match",
    "InputError": "errors",
    "Judgments": "read",
    "LabelNoise": "quality",
    "Leaderboard": "bench",
    "Ltr": "read.ltr",
    "MatchError": "errors",
    "Measure": "measures",
    "MeasureError": "errors",
    "Plan": "plan",
    "PredictionPowered": "ppi",
    "Protocol": "protocol",
    "ProtocolError": "errors",
    "Quality": "quality",
    "RankgaugeError": "errors",
    "RankgaugeWarning": "errors",
    "Report": "report",
    "Result": "result",
    "Run": "read",
    "TieBand": "ties",
    "bench": "bench",
    "check": "gate",
    "agree": "agree",
    "align": "align",
    "compare": "compare",
    "evaluate": "evaluate",
    "explain": "explain",
    "funnel": "funnel",
    "label_noise": "quality",
    "match": "match",
    "measure": "measures",
    "ndcg": "evaluate",
    "parse": "measures",
    "plan": "plan",
    "ppi": "ppi",
    "quality": "quality",
    "read_judgments": "read",
    "read_ltr": "read.ltr",
    "read_run": "read",
    "report": "report",
    "tie_band": "ties",
    "unjudged_bounds": "unjudged",
    "validate": "validate",
    "write": "write",
    "write_ltr": "write_ltr",
}
__all__ = [*_WHERE]

# Modules that are imported when they are first named: `rankgauge.charts.forest(…)`.
_MODULES = ("arrays", "charts", "trainers")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"rankgauge.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'rankgauge' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"rankgauge.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_WHERE, *_MODULES, "__version__"])


class _Package(ModuleType):
    """A verb's module bears the verb's name; when Python binds the module here, the public name stays the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, getattr(value, name) if name in _WHERE and isinstance(value, ModuleType) else value)


sys.modules[__name__].__class__ = _Package
