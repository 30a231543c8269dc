"""Runs pytrec_eval and ir_measures in a process of their own: one JSON request a line, one JSON answer a line.

pytrec_eval can hang or bring its process down on odd input, so whoever asks bounds the time and starts anew.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import ir_measures
import pytrec_eval

Values = dict[str, dict[str, float]]  # query → measure → value


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Both peers' value of every query and measure, and the means of ir_measures."""
    judgments, run, level = request["judgments"], request["run"], request["level"]
    asked = request["ir_measures"]
    found, means = from_ir_measures(judgments, run, asked) if asked else ({}, {})
    return {
        "pytrec_eval": from_pytrec_eval(judgments, run, request["pytrec_eval"], level),
        "ir_measures": found,
        "means": means,
    }


def from_pytrec_eval(judgments: Any, run: Any, names: list[str], level: int) -> Values:
    """Query → measure → value."""
    if not names:
        return {}
    values: Values = pytrec_eval.RelevanceEvaluator(judgments, set(names), relevance_level=level).evaluate(run)
    return values


def from_ir_measures(
    judgments: Any, run: Any, texts: list[str]
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Query → measure → value, and measure → mean."""
    measures = {ir_measures.parse_measure(text): text for text in texts}
    found: Values = {}
    for metric in ir_measures.iter_calc(list(measures), judgments, run):
        found.setdefault(metric.query_id, {})[measures[metric.measure]] = metric.value
    means = ir_measures.calc_aggregate(list(measures), judgments, run)
    return found, {measures[each]: value for each, value in means.items()}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
