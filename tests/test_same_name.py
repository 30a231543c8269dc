"""Same name, different number: every convention that tells tools apart, and the tests that hold its numbers.

A case a row, in the words of its numbers. Its tests are of two kinds: the small case itself, and the tool on random
input.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DIALECTS, PEERS, HEAVY = "test_dialects.py", "test_dialect_peers.py", "peers/test_heavy.py"
MEASURES, WORKED = "test_measures.py", "test_worked_examples.py"

# What is told apart → where its numbers are tested.
CASES: dict[str, list[tuple[str, str]]] = {
    # one ranking: a=3, b=2, c=1, d=0; c, d, a are returned; NDCG@3
    "0.5250 linear, ideal of all judgments: trec_eval, pytrec_eval, ir_measures, ranx, BEIR, MTEB": [
        (DIALECTS, "test_one_ranking_eight_numbers"), (PEERS, "test_ir_measures"), (HEAVY, "test_ranx"),
        ("test_peers.py", "test_pytrec_eval_and_ir_measures"), ("test_conformance.py", "test_trec_eval_byte_for_byte"),
    ],
    "0.4791 exponential: gdeval, ranx's ndcg_burges, Elasticsearch, Quepid": [
        (DIALECTS, "test_one_ranking_eight_numbers"), (HEAVY, "test_ranx"),
        ("test_conformance.py", "test_gdeval_exponential_ndcg_and_err"),
    ],
    "0.48 rounded before averaging: OpenSearch": [
        (DIALECTS, "test_one_ranking_eight_numbers"), (DIALECTS, "test_rounding"),
    ],
    "0.6885 ideal of what was retrieved: scikit-learn, torchmetrics, CatBoost": [
        (DIALECTS, "test_one_ranking_eight_numbers"), (PEERS, "test_scikit_learn"), (HEAVY, "test_torchmetrics"),
        (HEAVY, "test_catboost"),
    ],
    "0.5897 the same, exponential: XGBoost, LightGBM, TF-Ranking, CatBoost type=Exp": [
        (DIALECTS, "test_one_ranking_eight_numbers"), (DIALECTS, "test_other_definitions_of_one_ranking"),
        (PEERS, "test_xgboost"), (PEERS, "test_lightgbm"), (HEAVY, "test_catboost"),
    ],
    "0.7039 binary: sentence-transformers, LlamaIndex, MLflow, PySpark": [
        (DIALECTS, "test_one_ranking_eight_numbers"), (HEAVY, "test_sentence_transformers"),
        (HEAVY, "test_llamaindex"), (HEAVY, "test_mlflow"), (HEAVY, "test_spark"),
    ],
    "0.5137 original discount: pyNTCIREVAL": [
        (DIALECTS, "test_one_ranking_eight_numbers"), (PEERS, "test_pyntcireval"),
    ],
    "0.7232 catalyst's linear_rank": [(DIALECTS, "test_other_definitions_of_one_ranking")],
    "0.3911 C/W/L's SDCG": [(PEERS, "test_scaled_dcg_of_cwl")],
    "0.7039, 1.4693, 0.4791 Spark's graded API by the order of labels; PySpark ignores grades": [
        (DIALECTS, "test_spark_takes_the_ideal_as_the_labels_are_given"), (HEAVY, "test_spark_graded"),
        (HEAVY, "test_spark"),
    ],
    # small cases
    "three equal scores: 1.0, 0.5, 0.7103, CatBoost 0.5; scikit-learn's ignore_ties and ranx beyond 15 unspecified": [
        (DIALECTS, "test_three_equal_scores_the_last_is_relevant"), (MEASURES, "test_three_conventions_for_one_tie"),
        (DIALECTS, "test_the_ends_are_those_of_the_orders"), (DIALECTS, "test_a_number_where_no_order_matters"),
        (HEAVY, "test_ranx_of_plain_dicts"),
    ],
    "scores 0.900000001 and 0.9: RR 0.5 in 32 bits, 1.0 in 64; torchmetrics 0.8155": [
        (DIALECTS, "test_scores_that_32_bits_cannot_tell_apart"), (PEERS, "test_pytrec_eval_with_close_scores"),
    ],
    "one of five documents of grade 3: 0.3392; Elasticsearch and MLflow 1.0": [
        (DIALECTS, "test_where_the_ideal_comes_from"),
    ],
    "2 of 5 relevant documents: 0.5531; 1.0 of what was retrieved": [(DIALECTS, "test_where_the_ideal_comes_from")],
    "ten of 20 documents of grade 3: 1.0; Quepid, LlamaIndex, Haystack 0.6454": [
        (DIALECTS, "test_where_the_ideal_comes_from"), (HEAVY, "test_haystack"),
    ],
    "[d1, d1]: an error; Spark, LlamaIndex, MSnDCG 1.631; NTCIREVAL 2.0; Haystack, MLflow 1.0": [
        (DIALECTS, "test_a_document_twice"), (DIALECTS, "test_a_document_twice_is_an_error_elsewhere"),
    ],
    "one perfect query, one empty: 0.5; skipped or counted 1: 1.0; XGBoost's minus 0.5; failures": [
        (DIALECTS, "test_one_perfect_query_one_without_relevant_documents"), (PEERS, "test_the_options_of_xgboost"),
        (DIALECTS, "test_the_options_of_xgboost"), (DIALECTS, "test_a_query_without_relevant_documents_fails"),
        (DIALECTS, "test_gdeval_through_ir_measures_counts_an_empty_query"),
    ],
    "two judged queries, one answered: 0.5 here and ir_measures; 1.0 trec_eval 9, pytrec_eval, BEIR, MTEB": [
        (DIALECTS, "test_two_judged_queries_one_answered"),
        (DIALECTS, "test_an_unanswered_query_that_is_empty_too_follows_the_rule_of_empty_ones"),
    ],
    "AP@1: 0.3333; 1.0 by min(R, k) or hits": [
        (DIALECTS, "test_average_precision_at_one"), (HEAVY, "test_torchmetrics_binary"),
        (HEAVY, "test_spark"), (HEAVY, "test_catboost"), (HEAVY, "test_sentence_transformers"),
        (PEERS, "test_lightgbm"),
    ],
    "AP@3 of [1, 0, 1, 1, 0]: 0.5556; 0.8333 by hits": [(DIALECTS, "test_average_precision_at_three")],
    "P@5, three returned: 0.4; 0.667 by what was returned: XGBoost, CatBoost, OpenSearch": [
        (DIALECTS, "test_precision_of_less_than_k"), (DIALECTS, "test_precision_of_opensearch"),
        (PEERS, "test_xgboost"), (HEAVY, "test_catboost"),
    ],
    "relevant at rank 33: XGBoost's ndcg 0.0, ndcg@40 0.1966": [(DIALECTS, "test_xgboost_means_32")],
    "ERR@3 of [1, 0, 3]: 0.1992, 0.3802, NTCIREVAL 0.4375": [
        (DIALECTS, "test_other_measures_of_one_ranking"), (MEASURES, "test_one_ranking_many_numbers"),
        (PEERS, "test_pyntcireval_err_and_rbp"),
    ],
    "RBP(p=0.8) of [1, 0, 3]: 0.328; ranx 0.584; trec_eval 10 and NTCIREVAL 0.1947": [
        (DIALECTS, "test_other_measures_of_one_ranking"), (MEASURES, "test_one_ranking_many_numbers"),
        (DIALECTS, "test_a_parameter_that_is_written_goes_before_the_tools_own"),
    ],
    "ndcg_cut_2 1.0; -M2 -m ndcg 0.7654": [(MEASURES, "test_a_cut_run_is_not_a_cut_measure")],
    "A and B: 0.5525 > 0.3975 linear, 0.3333 < 0.4702 exponential": [
        (DIALECTS, "test_the_gain_decides_which_system_wins"),
    ],
    "averaged ties: 0.7420981285 @2 to 0.8882323551 @7": [(DIALECTS, "test_averaged_ties")],
    "P@1 and Judged@1 of one tie agree; ir_measures 1.0 and 0.0": [
        (MEASURES, "test_precision_and_judged_see_one_order"),
        (DIALECTS, "test_ir_measures_says_two_things_of_one_list"),
    ],
    # the worked examples
    "A: 0.936002; the wrong ideal; an eleventh document 0.7875": [
        (WORKED, "test_the_numbers_that_others_published"), (WORKED, "test_rank_by_rank"), (WORKED, "test_a_value"),
    ],
    "B: 0.949842, linear 0.963285": [(WORKED, "test_a_value"), (WORKED, "test_rank_by_rank")],
    "from rank r to 2r: 0.631, 0.747, 0.788, 0.870": [(WORKED, "test_doubling_the_rank")],
}  # fmt: skip


def names_of(file: str) -> set[str]:
    """The functions of a test file."""
    tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("case", CASES)
def test_every_case_is_tested(case: str) -> None:
    assert CASES[case]
    assert [(file, name) for file, name in CASES[case] if name not in names_of(file)] == []
