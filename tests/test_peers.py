"""Agreement with pytrec_eval and ir_measures on random judgments and runs, to 1e-12.

With ties, negative grades, missing and empty queries; scores are exact in 32 bits, because pytrec_eval compares those,
and every query has a grade of 0 or more, because pytrec_eval hangs or crashes without one.
"""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgauge
from peer_client import Peers
from rankgauge import Protocol, RankgaugeWarning
from samples import Nested, pairs

# pytrec_eval's name → how it is asked for.
PYTREC_EVAL = {
    "ndcg": "ndcg", "ndcg_cut_5": "ndcg_cut.5", "map": "map", "map_cut_5": "map_cut.5", "P_5": "P.5", "P_2": "P.2",
    "recall_5": "recall.5", "recip_rank": "recip_rank", "Rprec": "Rprec", "bpref": "bpref", "infAP": "infAP",
    "success_1": "success.1", "set_P": "set_P", "set_recall": "set_recall", "set_F": "set_F", "set_map": "set_map",
    "set_relative_P": "set_relative_P", "iprec_at_recall_0.40": "iprec_at_recall.0.40", "11pt_avg": "11pt_avg",
    "binG": "binG", "G": "G", "ndcg_rel": "ndcg_rel", "Rndcg": "Rndcg", "Rprec_mult_0.60": "Rprec_mult.0.60",
    "relative_P_5": "relative_P.5", "utility": "utility", "num_ret": "num_ret", "num_rel": "num_rel",
    "num_rel_ret": "num_rel_ret", "num_nonrel_judged_ret": "num_nonrel_judged_ret",
}  # fmt: skip
IR_MEASURES = [
    "nDCG", "nDCG@3", "nDCG@10", "P@1", "P@5", "P(rel=2)@5", "R@5", "R(rel=2)@5", "RR", "RR(rel=2)", "AP", "AP@5",
    "AP(rel=2)", "Rprec", "Rprec(rel=2)", "Bpref", "Bpref(rel=2)", "Success@3", "SetP", "SetR", "SetF", "SetAP",
    "IPrec@0.3", "infAP", "NumRet", "NumRelRet",
]  # fmt: skip


@st.composite
def askable(draw: st.DrawFn) -> tuple[Nested, Nested]:
    """Judgments and a run that the peers survive."""
    judgments, run = draw(pairs())
    for docs in judgments.values():
        if max(docs.values()) < 0:
            docs[next(iter(docs))] = draw(st.sampled_from([0, 1, 2]))
    return judgments, run


def evaluated(judgments: Nested, run: Nested, measures: list[str], level: int) -> dict[str, dict[str, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        return rankgauge.evaluate(judgments, run, measures, protocol=Protocol(rel=level)).to_dict()


@settings(max_examples=300)
@given(data=askable(), level=st.sampled_from([1, 1, 2]))
def test_pytrec_eval_and_ir_measures(peers: Peers, data: tuple[Nested, Nested], level: int) -> None:
    judgments, run = data
    answer = peers.ask(judgments, run, list(PYTREC_EVAL.values()), IR_MEASURES, level)
    ours = evaluated(judgments, run, list(PYTREC_EVAL), level)
    for query, values in answer["pytrec_eval"].items():
        for name, value in values.items():
            canonical = str(rankgauge.parse(name))
            assert ours[query][canonical] == pytest.approx(value, abs=1e-12), (query, name)
    ours = evaluated(judgments, run, IR_MEASURES, 1)
    assert answer["ir_measures"].keys() == ours.keys()
    for query, values in answer["ir_measures"].items():
        for name, value in values.items():
            assert ours[query][str(rankgauge.parse(name))] == pytest.approx(value, abs=1e-12), (query, name)
