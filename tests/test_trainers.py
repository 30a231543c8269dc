"""`rankgauge.trainers` inside the trainers themselves: XGBoost, LightGBM, scikit-learn. CatBoost and torch: peers."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankgauge
from ltr_samples import drawn, real
from rankgauge import arrays, trainers
from rankgauge.arrays import CANDIDATES
from rankgauge.arrays.trainers.metric import Metric
from rankgauge.errors import InputError, MeasureError, ProtocolError, RankgaugeError

SEEDS = range(4)
CLOSE = 1e-12


# ---- LightGBM -------------------------------------------------------------------------------------------------------


def lightgbm_run(train: Any, valid: Any, *, rounds: int = 8, feval: Any, **more: Any) -> dict[str, Any]:
    lightgbm = pytest.importorskip("lightgbm")
    parameters = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [1, 3, 10], "verbose": -1,
                  "num_threads": 1, **more}  # fmt: skip
    record: dict[str, Any] = {}
    callbacks = [lightgbm.record_evaluation(record)]
    sets, names = [train, valid], ["train", "valid"]
    lightgbm.train(parameters, train, rounds, valid_sets=sets, valid_names=names, feval=feval, callbacks=callbacks)
    return record


ASKED = ("nDCG@1", "nDCG@3", "nDCG@10", "AP@1", "AP@3", "AP@10")


def assert_as_built_in(record: dict[str, Any], *, names: tuple[str, ...] = ("train", "valid")) -> None:
    for part in names:
        for key in ("ndcg@1", "ndcg@3", "ndcg@10", "map@1", "map@3", "map@10"):
            assert record[part][f"{key}_lightgbm"] == pytest.approx(record[part][key], abs=CLOSE), key


def test_lightgbm_while_it_trains(shared: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    train, test = real(shared)
    data = lightgbm.Dataset(train.features, train.grades, group=train.groups)
    valid = lightgbm.Dataset(test.features, test.grades, group=test.groups, reference=data)
    record = lightgbm_run(data, valid, feval=trainers.lightgbm(*ASKED))
    assert_as_built_in(record)
    assert len(set(record["valid"]["ndcg@10"])) == 8


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_lightgbm_on_random_input(seed: int, weighted: bool) -> None:
    """Ties, queries of one document, queries without relevant ones, whose 1 LightGBM adds without their weight."""
    lightgbm = pytest.importorskip("lightgbm")
    part, scores = drawn(seed)
    weight = np.random.default_rng(seed).random(len(scores)) if weighted else None
    quiet = {"verbose": -1, "min_data_in_leaf": 10**6}
    data = lightgbm.Dataset(part.features, part.grades, group=part.groups, params=quiet)
    valid = lightgbm.Dataset(
        part.features, part.grades, group=part.groups, weight=weight, init_score=scores, reference=data, params=quiet
    )
    record = lightgbm_run(data, valid, rounds=1, feval=trainers.lightgbm(*ASKED), min_data_in_leaf=10**6)
    assert_as_built_in(record, names=("valid",))
    grades = [part.grades[part.qid == query] for query in range(len(part.groups))]
    assert any(len(each) == 1 for each in grades)
    assert any(each.max() == 0 for each in grades)


def test_the_ranker_of_lightgbm(shared: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    train, test = real(shared)
    model = lightgbm.LGBMRanker(n_estimators=5, verbose=-1, n_jobs=1)
    sets = {"eval_X": (test.features,), "eval_y": (test.grades,), "eval_group": [test.groups], "eval_at": [10]}
    model.fit(train.features, train.grades, group=train.groups, eval_metric=trainers.lightgbm("ndcg@10"), **sets)
    found = model.evals_result_["valid_0"]
    assert found["ndcg@10_lightgbm"] == pytest.approx(found["ndcg@10"], abs=CLOSE)


def test_lightgbm_stops_early_by_it(shared: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    train, test = real(shared)
    data = lightgbm.Dataset(train.features, train.grades, group=train.groups)
    valid = lightgbm.Dataset(test.features, test.grades, group=test.groups, reference=data)
    record: dict[str, Any] = {}
    callbacks = [lightgbm.early_stopping(3, verbose=False), lightgbm.record_evaluation(record)]
    parameters = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
    feval = trainers.lightgbm("nDCG@10", dialect=None)
    model = lightgbm.train(parameters, data, 40, valid_sets=[valid], feval=feval, callbacks=callbacks)
    values = record["valid_0"]["ndcg@10_rankgauge"]
    assert model.best_iteration == int(np.argmax(values)) + 1 < len(values)


def test_lightgbm_keeps_dialects_in_one_list_apart(shared: Path) -> None:
    """Every dialect has its own name: none takes the place of another, and early stopping looks at each by itself."""
    lightgbm = pytest.importorskip("lightgbm")
    train, test = real(shared)
    data = lightgbm.Dataset(train.features, train.grades, group=train.groups)
    valid = lightgbm.Dataset(test.features, test.grades, group=test.groups, reference=data)
    record: dict[str, Any] = {}
    callbacks = [lightgbm.early_stopping(3, verbose=False), lightgbm.record_evaluation(record)]
    parameters = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
    dialects = (None, "lightgbm", "xgboost", "sklearn")
    feval = [trainers.lightgbm("nDCG@10", dialect=dialect) for dialect in dialects]
    model = lightgbm.train(parameters, data, 40, valid_sets=[valid], feval=feval, callbacks=callbacks)
    values = record["valid_0"]
    assert list(values) == ["ndcg@10_rankgauge", "ndcg@10_lightgbm", "ndcg@10_xgboost", "ndcg@10_sklearn"]
    assert len({tuple(each) for each in values.values()}) > 1
    assert {len(each) for each in values.values()} == {len(values["ndcg@10_rankgauge"])}
    assert model.best_iteration in {int(np.argmax(each)) + 1 for each in values.values()}
    assert len(values["ndcg@10_rankgauge"]) < 40


# ---- XGBoost --------------------------------------------------------------------------------------------------------


def xgboost_says(booster: Any, data: Any) -> dict[str, float]:
    """What a booster says of data, with all its digits."""
    pairs = [word.rpartition(":") for word in booster.eval(data).split("\t")[1:]]
    return {name.removeprefix("eval-"): float(value) for name, _, value in pairs}


def test_xgboost_while_it_trains(shared: Path) -> None:
    """XGBoost rounds what a user's metric gives to six decimals in its record: what it was given has them all."""
    xgboost = pytest.importorskip("xgboost")
    train, test = real(shared)
    data = xgboost.DMatrix(train.features, train.grades, group=train.groups)
    valid = xgboost.DMatrix(test.features, test.grades, group=test.groups)
    parameters = {"objective": "rank:ndcg", "eval_metric": ["ndcg@10", "ndcg@3-", "ndcg"], "nthread": 1}
    metric = trainers.xgboost("ndcg@10", "ndcg@3-", "ndcg")
    record: dict[str, Any] = {}
    booster = xgboost.train(
        parameters, data, 6, evals=[(data, "train"), (valid, "valid")], custom_metric=metric, evals_result=record,
        verbose_eval=False,
    )  # fmt: skip
    for part in ("train", "valid"):
        for ours, theirs in (("ndcg@10", "ndcg@10"), ("ndcg@3-", "ndcg@3-"), ("ndcg", "ndcg")):
            assert record[part][f"{ours}_xgboost"] == pytest.approx(record[part][theirs], abs=5.1e-7)
    for rows in (data, valid):
        exact = [value for _, value in metric(booster.predict(rows), rows)]
        assert exact == pytest.approx([*xgboost_says(booster, rows).values()], abs=CLOSE)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("grades", "metrics"), [(4, ["ndcg@1", "ndcg@5", "ndcg@5-"]), (1, ["map@3", "pre@5", "ndcg"])])
@pytest.mark.parametrize("seed", SEEDS)
def test_xgboost_on_random_input(seed: int, grades: int, metrics: list[str], weighted: bool) -> None:
    xgboost = pytest.importorskip("xgboost")
    part, scores = drawn(seed, grades=grades)
    # Smaller weights make its weighted value of empty queries pass 1, and XGBoost refuses to say it.
    weight = 1 + np.random.default_rng(seed).random(len(part.groups)) if weighted else None
    data = xgboost.DMatrix(part.features, part.grades, base_margin=scores, group=part.groups, weight=weight)
    parameters = {"objective": "rank:ndcg", "eval_metric": metrics, "verbosity": 0, "nthread": 1}
    booster = xgboost.train(parameters, data, num_boost_round=0)
    found = trainers.xgboost(*metrics)(booster.predict(data), data)
    assert [value for _, value in found] == pytest.approx([*xgboost_says(booster, data).values()], abs=1e-12)


def test_xgboost_without_a_cut_off() -> None:
    """It means 32, for each of its measures."""
    xgboost = pytest.importorskip("xgboost")
    part, scores = drawn(3)
    groups = [len(scores) - 5, 5]
    data = xgboost.DMatrix(scores[:, None], part.grades > 0, group=groups)
    booster = xgboost.train({"objective": "rank:map", "eval_metric": ["map", "pre"]}, data, 3)
    theirs = {name.removeprefix("eval-"): value for name, value in xgboost_says(booster, data).items()}
    assert groups[0] > 32
    for name in ("map", "pre"):
        _, ours = trainers.xgboost(name)(booster.predict(data), data)
        assert ours == pytest.approx(theirs[name], abs=1e-12)


def test_the_ranker_of_xgboost(shared: Path) -> None:
    """XGBRanker (3.2) weighs the queries of a user's metric by their sizes, and calls a query of one document 1: so its
    number is not the built-in one, but made of the right values."""
    xgboost = pytest.importorskip("xgboost")
    train, test = real(shared)
    metric = trainers.xgboost("ndcg@10")
    model = xgboost.XGBRanker(n_estimators=4, eval_metric=metric, n_jobs=1)
    model.fit(train.features, train.grades, qid=train.qid, eval_set=[(test.features, test.grades)], eval_qid=[test.qid],
              verbose=False)  # fmt: skip
    scores = model.predict(test.features)
    values = Metric("ndcg@10", "xgboost").per_query(test.grades, scores, groups=test.groups)
    record = model.evals_result()["validation_0"]["ndcg@10_xgboost"]
    assert record[-1] == pytest.approx(np.average(values, weights=test.groups), abs=5.1e-7)


def test_xgboost_stops_early_by_it_without_being_told_to_maximise(shared: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    train, test = real(shared)
    data = xgboost.DMatrix(train.features, train.grades, group=train.groups)
    valid = xgboost.DMatrix(test.features, test.grades, group=test.groups)
    parameters = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1}
    record: dict[str, Any] = {}
    booster = xgboost.train(
        parameters, data, 40, evals=[(valid, "valid")], custom_metric=trainers.xgboost("nDCG@10", dialect=None),
        evals_result=record, early_stopping_rounds=3, verbose_eval=False,
    )  # fmt: skip
    values = record["valid"]["ndcg@10_rankgauge"]
    assert booster.best_iteration == int(np.argmax(values)) < len(values) - 1


def test_xgboost_keeps_dialects_apart(shared: Path) -> None:
    """Also an empty query that counts 0: `ndcg@10-` is not `ndcg@10`."""
    xgboost = pytest.importorskip("xgboost")
    train, test = real(shared)
    data = xgboost.DMatrix(train.features, train.grades, group=train.groups)
    valid = xgboost.DMatrix(test.features, test.grades, group=test.groups)
    asked = [trainers.xgboost("ndcg@10", "ndcg@10-"), trainers.xgboost("nDCG@10", dialect=None)]

    def both(scores: Any, rows: Any) -> list[tuple[str, float]]:
        two, one = (metric(scores, rows) for metric in asked)
        return [*two, one]

    record: dict[str, Any] = {}
    parameters = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1}
    booster = xgboost.train(
        parameters, data, 40, evals=[(valid, "valid")], custom_metric=both, evals_result=record,
        early_stopping_rounds=3, verbose_eval=False,
    )  # fmt: skip
    values = record["valid"]
    assert list(values) == ["ndcg@10_xgboost", "ndcg@10-_xgboost", "ndcg@10_rankgauge"]
    last = values["ndcg@10_rankgauge"]  # XGBoost stops by the last one
    assert booster.best_iteration == int(np.argmax(last)) < len(last) - 1


# ---- scikit-learn ---------------------------------------------------------------------------------------------------


@pytest.fixture
def routing() -> Any:
    sklearn = pytest.importorskip("sklearn")
    with sklearn.config_context(enable_metadata_routing=True):
        yield sklearn


@pytest.mark.usefixtures("routing")
class TestScikitLearn:
    def test_as_ndcg_score_says(self) -> None:
        """In folds of whole queries: the mean of scikit-learn's own value over the queries of each fold."""
        from sklearn.linear_model import Ridge
        from sklearn.metrics import ndcg_score
        from sklearn.model_selection import GroupKFold, cross_val_score

        part, _ = drawn(3, queries=60)
        several = np.repeat(part.groups > 1, part.groups)  # scikit-learn refuses lists of one
        features, grades, qid = part.features[several].round(1), part.grades[several], part.qid[several]
        scorer = trainers.sklearn("nDCG@5")
        found = cross_val_score(
            Ridge(), features, grades, cv=GroupKFold(3), scoring=scorer, params={"qid": qid, "groups": qid}
        )
        for value, (fit, score) in zip(found, GroupKFold(3).split(features, grades, qid), strict=True):
            scores = Ridge().fit(features[fit], grades[fit]).predict(features[score])
            theirs = [
                ndcg_score([grades[score][qid[score] == query]], [scores[qid[score] == query]], k=5)
                for query in np.unique(qid[score])
            ]
            assert value == pytest.approx(np.mean(theirs), abs=CLOSE)

    def test_a_search_over_a_ranker(self) -> None:
        """The queries reach the ranker, the folds and the scorer, in other processes too."""
        xgboost = pytest.importorskip("xgboost")
        from sklearn.model_selection import GridSearchCV, GroupKFold

        part, _ = drawn(5, queries=60)
        ranker = xgboost.XGBRanker(n_estimators=3, n_jobs=1).set_fit_request(qid=True)
        scorer = trainers.sklearn("nDCG@10", dialect="xgboost")
        search = GridSearchCV(ranker, {"max_depth": [1, 3]}, cv=GroupKFold(3), scoring=scorer, refit=False)
        search.fit(part.features, part.grades, qid=part.qid, groups=part.qid)
        values = search.cv_results_["mean_test_score"]
        assert np.isfinite(values).all()
        assert values[0] != values[1]
        pickle.loads(pickle.dumps(scorer))

    def test_without_queries(self) -> None:
        from sklearn.linear_model import Ridge

        part, _ = drawn(1)
        model = Ridge().fit(part.features, part.grades)
        with pytest.raises(InputError, match="the scorer was told no queries; pass them on"):
            trainers.sklearn()(model, part.features, part.grades)


def test_scikit_learn_without_routing() -> None:
    pytest.importorskip("sklearn")
    with pytest.raises(ProtocolError, match=r"enable it first: sklearn.set_config\(enable_metadata_routing=True\)"):
        trainers.sklearn("nDCG@10")


# ---- the accumulator ------------------------------------------------------------------------------------------------


class TestAccumulator:
    def test_batches_add_up(self) -> None:
        part, scores = drawn(2)
        total = trainers.Accumulator("nDCG@5", "AP", "RR@3")
        for begin in range(0, len(part.groups), 7):
            rows = (part.qid >= begin) & (part.qid < begin + 7)
            total.update(part.grades[rows], scores[rows], groups=part.groups[begin : begin + 7])
        whole = {"groups": part.groups}
        assert total.compute() == {
            "nDCG@5": pytest.approx(arrays.ndcg(part.grades, scores, 5, **whole).mean, abs=CLOSE),
            "AP": pytest.approx(arrays.average_precision(part.grades, scores, None, **whole).mean, abs=CLOSE),
            "RR@3": pytest.approx(arrays.reciprocal_rank(part.grades, scores, 3, **whole).mean, abs=CLOSE),
        }
        total.reset()
        assert np.isnan(total.compute()["AP"])

    def test_masks_query_ids_and_weights(self) -> None:
        padded = trainers.Accumulator("nDCG@2")
        padded.update([[1, 0, 0], [0, 2, 9]], [[1, 2, 3], [1, 2, 9]], mask=[[1, 1, 1], [1, 1, 0]], weights=[1, 3])
        named = trainers.Accumulator("nDCG@2")
        named.update([1, 0, 0, 2, 0], [1, 1, 2, 2, 3], qid=["a", "b", "a", "b", "a"], weights=[1, 3])
        assert padded.compute() == {"nDCG@2": 0.75}
        assert named.compute() == {"nDCG@2": 0.75}

    def test_processes_add_up(self) -> None:
        parts = [drawn(seed) for seed in range(3)]
        each = [trainers.Accumulator("nDCG@5", dialect="lightgbm") for _ in parts]
        for total, (part, scores) in zip(each, parts, strict=True):
            total.update(part.grades, scores, groups=part.groups)
        every = trainers.Accumulator("nDCG@5", dialect="lightgbm")
        for total in each:
            every.merge(total)
        columns = [np.concatenate(column) for column in zip(*[(p.grades, s, p.groups) for p, s in parts], strict=True)]
        wanted = Metric("nDCG@5", "lightgbm").mean(columns[0], columns[1], groups=columns[2])
        assert every.compute()["nDCG@5"] == pytest.approx(wanted, abs=CLOSE)
        with pytest.raises(InputError, match="are not the same measures under the same rules"):
            every.merge(trainers.Accumulator("nDCG@5"))

    def test_an_empty_batch_adds_nothing(self) -> None:
        total = trainers.Accumulator("nDCG@5")
        for nothing, shape in (([], {}), ([], {"qid": []}), ([], {"groups": []}), ([[]], {})):
            total.update(nothing, nothing, **shape)
        assert total.state.tolist() == [[0.0, 0.0]]
        total.update([1, 0], [2, 1])
        assert total.state.tolist() == [[1.0, 1.0]]

    @pytest.mark.parametrize("weight", [np.nan, -1.0, np.inf])
    def test_weights_are_checked(self, weight: float) -> None:
        total = trainers.Accumulator("nDCG@5")
        with pytest.raises(rankgauge.InputError, match=r"weights are finite numbers, 0 or more$"):
            total.update([[1, 0], [1, 0]], [[2, 1], [2, 1]], weights=[1.0, weight])
        total.update([[1, 0]], [[2, 1]], weights=[0.0])
        assert total.state.tolist() == [[0.0, 0.0]]

    def test_a_bad_batch_leaves_it_as_it_was(self) -> None:
        total = trainers.Accumulator("nDCG@5", "RR")
        total.update([[1, 0]], [[1, 2]])
        before = total.compute()
        for grades, scores, more in (
            ([[1, 0]], [[1, float("nan")]], {}),
            ([[1, 0]], [[1, 2]], {"weights": [1, 2]}),
            ([1, 0], [1, 2], {"groups": [3]}),
        ):
            with pytest.raises(RankgaugeError):
                total.update(grades, scores, **more)
            assert total.compute() == before


# ---- what they have in common ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_rankgauge_s_own_definition_is_that_of_arrays(seed: int) -> None:
    part, scores = drawn(seed)
    shape = {"groups": part.groups}
    expected = arrays.ndcg(part.grades, scores, 5, gain="exp", **shape)
    assert (
        Metric("nDCG(gain=exp)@5", None).per_query(part.grades, scores, **shape).tolist() == expected.per_query.tolist()
    )
    assert CANDIDATES.ties == "average"
    name, value, more = trainers.lightgbm("nDCG(gain=exp)@5", dialect=None)(part.grades, scores, None, part.groups)
    assert (name, value, more) == ("ndcg(gain=exp)@5_rankgauge", pytest.approx(expected.mean, abs=CLOSE), True)


@pytest.mark.parametrize("dialect", ["lightgbm", "xgboost", "catboost", "sklearn"])
@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_what_evaluate_says_in_the_dialect(dialect: str, seed: int) -> None:
    part, scores = drawn(seed)
    nested: list[dict[str, dict[str, float]]] = [{}, {}]
    for row, query in enumerate(part.qid.tolist()):
        for table, number in zip(nested, (part.grades[row], scores[row]), strict=True):
            table.setdefault(f"{query:03}", {})[str(row)] = float(number)
    result = rankgauge.evaluate(nested[0], nested[1], "nDCG@5", dialect=dialect)
    ours = Metric("nDCG@5", dialect).per_query(part.grades, scores, groups=part.groups)
    assert ours == pytest.approx([each["nDCG@5"] for each in result.to_dict().values()], abs=CLOSE)


def test_names_and_words() -> None:
    assert trainers.xgboost("AP@3").__name__ == "map@3_xgboost"
    assert trainers.lightgbm("nDCG@3", name="mine").__name__ == "mine"
    shown = repr(Metric("nDCG@3", "lightgbm"))
    assert shown.startswith("ndcg@3_lightgbm (nDCG(gain=exp)@3, dialect lightgbm; ties=given")


def test_what_is_refused() -> None:
    with pytest.raises(MeasureError, match=r"there is no preset of RR@3 for lightgbm, only of nDCG, AP"):
        trainers.lightgbm("RR@3")
    with pytest.raises(MeasureError, match="name='x' is for one measure, and 2 are asked for"):
        trainers.lightgbm("nDCG@1", "nDCG@3", name="x")
    with pytest.raises(MeasureError, match="XGBRanker takes one metric of its user; name one measure"):
        trainers.xgboost("nDCG@1", "nDCG@3")([1, 0], [1, 2])
    with pytest.raises(InputError, match="the data have no sizes of queries; give them as group="):
        trainers.lightgbm()([1, 0], [1, 2], None, None)
    with pytest.raises(ProtocolError, match="haystack orders documents as they are given and looks at no scores"):
        trainers.lightgbm("nDCG", dialect="haystack")
    for dialect in ("ir_measures", "trec_eval", "sentence-transformers"):
        with pytest.raises(
            rankgauge.ProtocolError, match=r"by document id, and arrays have none; expected None or ranx"
        ):
            trainers.lightgbm("nDCG@10", dialect=dialect)
    with pytest.raises(rankgauge.MeasureError, match="the grade 2000 gains"):
        trainers.lightgbm("nDCG@10")([2000, 0, 1], [0.3, 0.9, 0.2], None, [2, 1])
    with pytest.raises(rankgauge.MeasureError, match="P needs a cut-off"):
        trainers.xgboost("pre", dialect=None)
    with pytest.raises(InputError, match="CatBoost tells a metric no groups; name the pools"):
        trainers.catboost("nDCG@10")
    with pytest.raises(InputError, match="two pools have the same labels in different groups"):
        trainers.catboost("nDCG@10", ([1, 0], [1, 1]), ([1, 0], [1, 2]))
    with pytest.raises(InputError, match="a pool has 2 labels and 1 group ids; give every row its group"):
        trainers.catboost("nDCG@10", ([1, 0], [1]))


def test_no_trainer_is_imported() -> None:
    import subprocess

    program = (
        "import sys; from rankgauge import trainers; trainers.xgboost(); trainers.Accumulator(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"xgboost", "lightgbm", "catboost", "sklearn", "torch", "pandas", "polars", "scipy.stats"}
