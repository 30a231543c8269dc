"""Every picture, once: from a Result, several, or a Comparison to a chart, for notebooks, reports, files and the web.

>>> from rankgauge import charts, evaluate
>>> results = {name: evaluate({"q": {"a": 1}}, {"q": {"a": score, "b": 1.0}}) for name, score in (("x", 2), ("y", 0))}
>>> charts.scatter(results).to_dict()["title"]["text"]
['nDCG@10: x against y']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rankgauge.show.charts.convert import png, svg
from rankgauge.show.charts.depth import at_k, precision_recall
from rankgauge.show.charts.funnel import funnel_ceiling, funnel_depth, funnel_parts
from rankgauge.show.charts.history import history
from rankgauge.show.charts.ledger import drift
from rankgauge.show.charts.online import alignment
from rankgauge.show.charts.pairs import detectable, differences, matrix, scatter
from rankgauge.show.charts.plans import plan
from rankgauge.show.charts.powered import ppi
from rankgauge.show.charts.systems import distribution, forest, groups
from rankgauge.show.charts.theme import PALETTE, THEMES
from rankgauge.show.charts.trust import confusion, judges, noise, unjudged, unjudged_pairs
from rankgauge.show.model import Chart, Options, Page, Section

__all__ = [
    "KINDS", "PALETTE", "THEMES", "alignment", "at_k", "confusion", "detectable", "differences", "distribution",
    "drift", "forest", "funnel_ceiling", "funnel_depth", "funnel_parts", "groups", "history", "judges", "matrix",
    "noise", "page", "plan", "png", "ppi", "precision_recall", "scatter", "svg", "unjudged", "unjudged_pairs",
]  # fmt: skip

# Kind, as the command line spells it → the function.
KINDS: Final[dict[str, Callable[..., Any]]] = {
    "forest": forest,
    "differences": differences,
    "scatter": scatter,
    "distribution": distribution,
    "at-k": at_k,
    "precision-recall": precision_recall,
    "groups": groups,
    "matrix": matrix,
    "detectable": detectable,
    "unjudged": unjudged,
    "unjudged-pairs": unjudged_pairs,
    "noise": noise,
    "confusion": confusion,
    "judges": judges,
}


def page(draws: Mapping[str, Callable[..., Any]]) -> bytes:
    """A page of charts that loads nothing: from names to functions without arguments that draw them."""
    from rankgauge.show.html import html

    sections = [Section(name, "", [Chart(name, "", "", draw)]) for name, draw in draws.items()]
    return html(Page("; ".join(draws), sections, dict), Options()).encode()
