"""Numbers that nobody here computed: trec_eval's own expected output, NIST's published scores, gdeval's."""

from __future__ import annotations

import csv
import warnings
from functools import cache
from pathlib import Path

import pytest

import rankgauge
from command import Command
from rankgauge import Result
from rankgauge.errors import RankgaugeWarning

PARAMETERS = (
    "-q -m iprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 "
    "-m utility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -m ndcg.1=3,2=9,4=4.5 -m ndcg_cut.10,20,23.4 -m success.2,5,20"
)


@pytest.mark.parametrize(
    ("options", "qrels", "results", "expected"),
    [
        ("", "qrels.test", "results.test", "out.test"),
        ("", "qrels.test.with-comments", "results.test", "out.test"),
        ("", "qrels.comment.test", "results.comment.test", "out.comment.test"),
        ("-m all_trec", "qrels.test", "results.test", "out.test.a"),
        ("-m all_trec -q", "qrels.test", "results.test", "out.test.aq"),
        ("-m all_trec -q -c", "qrels.test", "results.trunc", "out.test.aqc"),
        ("-m all_trec -q -c -M100", "qrels.test", "results.trunc", "out.test.aqcM"),
        ("-m all_trec -m relstring.20 -q -l2", "qrels.rel_level", "results.test", "out.test.aql"),
        (PARAMETERS, "qrels.test", "results.test", "out.test.meas_params"),
    ],
)
def test_trec_eval_byte_for_byte(
    command: Command, shared: Path, options: str, qrels: str, results: str, expected: str
) -> None:
    folder = shared / "trec_eval"
    outcome = command("trec_eval", *options.split(), folder / qrels, folder / results)
    assert outcome.code == 0
    assert all("more than 6 fields" in line for line in outcome.err.splitlines())
    assert outcome.out.encode() == (folder / expected).read_bytes()


def evaluated(qrels: Path, run: Path, measures: list[str]) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        return rankgauge.evaluate(qrels, run, measures)


@cache
def nist_scores(path: Path) -> dict[tuple[str, str], dict[str, float]]:
    """(run, section) → measure → published value."""
    table: dict[tuple[str, str], dict[str, float]] = {}
    with path.open() as stream:
        for row in csv.DictReader(stream):
            table.setdefault((row["run"], row["section"]), {})[row["measure"]] = float(row["value"])
    return table


DL19_RUNS = [
    "TUW19-p3-re", "UNH_bm25", "bm25base_rm3_p", "bm25tuned_p",
    "idst_bert_p1", "ms_duet_passage", "p_exp_rm3_bert", "srchvrs_ps_run2",
]  # fmt: skip
# NIST's binary measures count grade 2 and more in one section and grade 1 and more in the other.
LEVELS = {"passages-eval": 2, "trec_eval": 1}


@pytest.mark.parametrize("section", LEVELS)
@pytest.mark.parametrize("run", DL19_RUNS)
def test_nist_scores_of_deep_learning_2019(shared: Path, run: str, section: str) -> None:
    published = nist_scores(shared / "dl19" / "nist_published_scores.csv")[run, section]
    compared = {name: value for name, value in published.items() if name != "num_q"}
    protocol = rankgauge.Protocol(rel=LEVELS[section])
    result = rankgauge.evaluate(
        shared / "dl19/qrels.dl19-passage.txt", shared / f"dl19/runs/input.{run}.gz", list(compared), protocol=protocol
    )
    assert len(compared) > 3
    for name, value in compared.items():
        assert round(result[name], 4) == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize("run", DL19_RUNS)
def test_gdeval_exponential_ndcg_and_err(shared: Path, run: str) -> None:
    result = evaluated(
        shared / "dl19/qrels.dl19-passage.txt",
        shared / f"dl19/runs/input.{run}.gz",
        ["nDCG(gain=exp)@10", "ERR@10"],
    )
    values = result.to_dict()
    with (shared / f"dl19/gdeval/gdeval.k10.input.{run}.csv").open() as stream:
        rows = list(csv.reader(stream))[1:]
    assert len(rows) == 44
    for _, query, ndcg, err in rows:
        mine = {name: result[name] for name in result} if query == "amean" else values[query]
        assert f"{mine['nDCG(gain=exp)@10']:.5f}" == ndcg
        assert f"{mine['ERR@10']:.5f}" == err


def covid_runs() -> list[str]:
    folder = Path(__file__).parents[2] / "shared/data/covid1/runs"
    return sorted(path.name.removesuffix(".gz") for path in folder.glob("*.gz")) or ["(no shared data)"]


@pytest.mark.parametrize("run", covid_runs())
def test_trec_covid_leaderboard(shared: Path, run: str) -> None:
    with (shared / "covid1/leaderboard.csv").open() as stream:
        published = next(row for row in csv.DictReader(stream) if run in row.values())
    names = {"ndcg@10": "nDCG@10", "p@5": "P@5", "bpref": "Bpref", "map": "AP"}
    wanted = {ours: float(published[column]) for column in published for name, ours in names.items()
              if column.lower().replace("_", "@") == name}  # fmt: skip
    assert set(wanted) == set(names.values())
    result = evaluated(shared / "covid1/qrels.covid-round1.txt", shared / f"covid1/runs/{run}.gz", list(wanted))
    for name, value in wanted.items():
        assert round(result[name], 4) == pytest.approx(value, abs=1e-9), name


def test_cacm_precision(shared: Path) -> None:
    result = evaluated(shared / "cacm/qrels.cacm.txt", shared / "cacm/run.cacm-bm25.txt", ["P@30"])
    assert round(result["P@30"], 4) == 0.1942
