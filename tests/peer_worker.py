"""Runs pytrec_eval and ir_measures in a process of their own: one JSON request a line, one JSON answer a line.

pytrec_eval can hang or bring its process down on odd input, so whoever asks bounds the time and starts anew.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import ir_measures
import pytrec_eval


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Both peers' value of every query and measure."""
    judgments, run, level = request["judgments"], request["run"], request["level"]
    evaluator = pytrec_eval.RelevanceEvaluator(judgments, set(request["pytrec_eval"]), relevance_level=level)
    measures = {ir_measures.parse_measure(text): text for text in request["ir_measures"]}
    found: dict[str, dict[str, float]] = {}
    for metric in ir_measures.iter_calc(list(measures), judgments, run):
        found.setdefault(metric.query_id, {})[measures[metric.measure]] = metric.value
    return {"pytrec_eval": evaluator.evaluate(run), "ir_measures": found}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
