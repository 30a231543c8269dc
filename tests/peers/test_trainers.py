"""`rankgauge.trainers` inside CatBoost and a torch training loop: `make test-peers`."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ltr_samples import Part, drawn, real
from rankgauge import trainers
from rankgauge.arrays.trainers.metric import Metric
from rankgauge.errors import MatchError

SEEDS = range(3)
CLOSE = 1e-12


# ---- CatBoost -------------------------------------------------------------------------------------------------------


def pool_of(part: Part, **more: Any) -> Any:
    catboost = pytest.importorskip("catboost")
    return catboost.Pool(part.features, part.grades, group_id=part.qid, **more)


def catboost_run(train: Any, valid: Any, metric: Any, **more: Any) -> Any:
    catboost = pytest.importorskip("catboost")
    parameters = {"iterations": 5, "verbose": False, "thread_count": 2, "allow_writing_files": False, "random_seed": 1}
    model = catboost.CatBoostRanker(eval_metric=metric, **{"loss_function": "YetiRank", **parameters, **more})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(train, eval_set=valid, use_best_model=False)


def history(model: Any, part: str) -> list[float]:
    """The metric that was asked for; losses report one of their own beside it."""
    (values,) = (each for name, each in model.evals_result_[part].items() if name.startswith(("NDCG:top", "CatBoost")))
    return list(values)


@pytest.mark.parametrize(
    ("loss", "built_in", "measure"),
    [
        ("YetiRank", "NDCG:top=10;hints=skip_train~false", "nDCG@10"),
        ("QueryRMSE", "NDCG:top=3;type=Exp;hints=skip_train~false", "nDCG(gain=exp)@3"),
    ],
)
def test_catboost_while_it_trains(shared: Path, loss: str, built_in: str, measure: str) -> None:
    """The same model, trained twice: once with CatBoost's own metric, once with ours."""
    train, test = (pool_of(part) for part in real(shared))
    metric = trainers.catboost(measure, train, test)
    theirs, ours = (catboost_run(train, test, each, loss_function=loss) for each in (built_in, metric))
    features = real(shared)[1].features
    assert (theirs.predict(features) == ours.predict(features)).all()
    for part in ("learn", "validation"):
        assert history(ours, part) == pytest.approx(history(theirs, part), abs=CLOSE)
    assert len(set(history(ours, "validation"))) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_of_groups(seed: int) -> None:
    part, _ = drawn(seed)
    weight = (1 + np.random.default_rng(seed).random(len(part.groups)).astype(np.float32))[part.qid]
    pool = pool_of(part, group_weight=weight)
    metric = trainers.catboost("nDCG@3", pool)
    models = [catboost_run(pool, pool, each) for each in ("NDCG:top=3;hints=skip_train~false", metric)]
    assert history(models[1], "validation") == pytest.approx(history(models[0], "validation"), abs=CLOSE)


MEASURES = ["nDCG@5", "AP@5", "P@3", "R@5", "RR@5"]
NAMES = {"nDCG": "NDCG", "AP": "MAP", "P": "PrecisionAt", "R": "RecallAt", "RR": "MRR"}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", SEEDS)
def test_catboost_with_weights_of_groups_on_random_input(seed: int, measure: str) -> None:
    """MAP, PrecisionAt and RecallAt do not look at them; weights are 32-bit numbers there."""
    utils = pytest.importorskip("catboost.utils")
    part, scores = drawn(seed)
    weight = (1 + np.random.default_rng(seed).random(len(part.groups)).astype(np.float32))[part.qid]
    name, _, k = measure.partition("@")
    given = {"group_id": part.qid, "group_weight": weight}
    (theirs,) = utils.eval_metric(part.grades, scores, f"{NAMES[name]}:top={k}", **given)
    metric = trainers.catboost(measure, (part.grades, part.qid))
    ours = metric.get_final_error(*metric.evaluate([scores.astype(np.float64)], part.grades, weight))
    assert ours == pytest.approx(theirs, abs=CLOSE)
    own = trainers.catboost(measure, (part.grades, part.qid), dialect=None)
    assert own.evaluate([scores], part.grades, weight)[1] == pytest.approx(
        weight[np.r_[0, part.groups.cumsum()[:-1]]].sum()
    )


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", SEEDS)
def test_catboost_on_random_input(seed: int, measure: str) -> None:
    utils = pytest.importorskip("catboost.utils")
    part, scores = drawn(seed)
    name, _, k = measure.partition("@")
    (theirs,) = utils.eval_metric(part.grades, scores, f"{NAMES[name]}:top={k}", group_id=part.qid)
    metric = trainers.catboost(measure, (part.grades, part.qid))
    total, weight = metric.evaluate([scores.astype(np.float64)], part.grades, None)
    assert metric.get_final_error(total, weight) == pytest.approx(theirs, abs=CLOSE)
    assert weight == len(part.groups)


def test_early_stopping_by_rankgauge_s_own_definition(shared: Path) -> None:
    parts = real(shared)
    train, test = (pool_of(part) for part in parts)
    metric = trainers.catboost("nDCG@10", train, test, dialect=None)
    model = catboost_run(train, test, metric, iterations=60, early_stopping_rounds=4)
    values = history(model, "validation")
    assert len(values) < 60
    assert model.get_best_iteration() == int(np.argmax(values))
    wanted = Metric("nDCG@10", None).mean(parts[1].grades, model.predict(parts[1].features), groups=parts[1].groups)
    assert values[-1] == pytest.approx(wanted, abs=CLOSE)


def test_a_pool_that_was_not_named() -> None:
    part, scores = drawn(1)
    metric = trainers.catboost("nDCG@3", (part.grades, part.qid))
    with pytest.raises(MatchError, match="a data set of 2 rows has the labels of none of the pools"):
        metric.evaluate([scores[:2]], [1.0, 0.0], None)


def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    """Those for CatBoost and torch; the page's others run with all other documentation."""
    for module in ("catboost", "torch", "lightgbm", "xgboost"):
        pytest.importorskip(module)
    text = (Path(__file__).parents[2] / "docs/trainers.md").read_text(encoding="utf-8")
    meeting = f'torch.distributed.init_process_group("gloo", init_method="file://{tmp_path}/m", rank=0, world_size=1)'
    begin = f"import torch\nimport torch.distributed\n{meeting}\n"
    program = begin + "\n".join(re.findall(r"^```py(?:thon)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "catboost.CatBoostRanker(" in program
    assert "total.reduce(" in program


# ---- torch ----------------------------------------------------------------------------------------------------------


def batches(part: Part, scores: Any, step: int) -> Any:
    """Padded batches of tensors, as a loader gives them."""
    torch = pytest.importorskip("torch")
    width = int(part.groups.max())
    starts = np.cumsum(part.groups) - part.groups
    for begin in range(0, len(part.groups), step):
        lines = range(begin, min(begin + step, len(part.groups)))
        there = torch.tensor([[place < part.groups[line] for place in range(width)] for line in lines])
        at = torch.tensor([[min(starts[line] + place, len(scores) - 1) for place in range(width)] for line in lines])
        yield torch.tensor(part.grades)[at], torch.tensor(scores)[at].requires_grad_(), there


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64"])
def test_a_training_loop(kind: str) -> None:
    torch = pytest.importorskip("torch")
    part, scores = drawn(4)
    scores = torch.tensor(scores).to(getattr(torch, kind)).to(torch.float64).numpy()
    total = trainers.Accumulator("nDCG@5", "RR")
    for grades, predictions, mask in batches(part, scores, 6):
        total.update(grades, predictions.to(getattr(torch, kind)), mask=mask)
    for name, value in total.compute().items():
        assert value == pytest.approx(Metric(name, None).mean(part.grades, scores, groups=part.groups), abs=CLOSE)


def worker(rank: int, address: str, results: Any) -> None:
    import torch.distributed as distributed

    distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    part, scores = drawn(4)
    total = trainers.Accumulator("nDCG@5", "RR")
    for number, (grades, predictions, mask) in enumerate(batches(part, scores, 6)):
        if number % 2 == rank:
            total.update(grades, predictions, mask=mask)
    total.reduce(distributed.all_reduce)
    results.put(total.compute())
    distributed.destroy_process_group()


def test_two_processes(tmp_path: Path) -> None:
    """Each sees every other batch; after the reduction both know the mean over all queries."""
    torch = pytest.importorskip("torch")
    context = torch.multiprocessing.get_context("spawn")
    results = context.Queue()
    address = f"file://{tmp_path / 'meeting'}"
    processes = [context.Process(target=worker, args=(rank, address, results)) for rank in range(2)]
    for process in processes:
        process.start()
    found = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    part, scores = drawn(4)
    for each in found:
        for name, value in each.items():
            assert value == pytest.approx(Metric(name, None).mean(part.grades, scores, groups=part.groups), abs=CLOSE)
