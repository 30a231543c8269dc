"""XGBoost, LightGBM, CatBoost and scikit-learn: callables as each of them wants one. None is imported on import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.arrays.trainers.metric import Metric, metrics_of
from rankgauge.errors import InputError, MatchError, MeasureError, ProtocolError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgauge.dialects import Dialect
    from rankgauge.dtypes import Array, Floats, Ints

__all__ = ["CatBoostMetric", "LightGBMMetric", "Score", "XGBoostMetric", "catboost", "lightgbm", "sklearn", "xgboost"]


# ---- XGBoost --------------------------------------------------------------------------------------------------------


def xgboost(*measures: str, dialect: str | Dialect | None = "xgboost", name: str | None = None) -> XGBoostMetric:
    """For `xgboost.train(custom_metric=…, maximize=True)` and for `XGBRanker(eval_metric=…)`.

    By default the value is XGBoost's own; a minus behind (`ndcg@10-`) makes an empty query 0, as it does there. With
    `dialect=None` it is rankgauge's. Weights of queries are taken as XGBoost takes them.
    """
    minus = [measure.endswith("-") for measure in measures]
    found = metrics_of(tuple(measure.removesuffix("-") for measure in measures), dialect, name)
    return XGBoostMetric(
        [_emptied(metric, name) if less else metric for metric, less in zip(found, minus or [False], strict=True)]
    )


def _emptied(metric: Metric, name: str | None) -> Metric:
    """The metric under which an empty query counts 0, and its name as XGBoost has it: `ndcg@10-`."""
    less = metric.with_rules(empty="zero")
    less.name = name or "-_".join(metric.name.split("_", 1))
    return less


class XGBoostMetric:
    """`metric(predictions, DMatrix)`, as `xgboost.train` calls it, or `metric(labels, predictions)` of one query, as
    `XGBRanker` does."""

    def __init__(self, metrics: list[Metric]) -> None:
        self.metrics = metrics
        self.__name__ = metrics[0].name

    def __call__(self, first: Any, second: Any) -> Any:
        """(name, value), a list of these where there are several measures, or the value of one query."""
        if not hasattr(second, "get_uint_info"):
            return self._of_one(first, second)
        grades, weights = second.get_label(), second.get_weight()
        pointers = np.asarray(second.get_uint_info("group_ptr"), np.int64)
        groups = np.diff(pointers) if len(pointers) > 1 else np.array([len(grades)])
        weight = weights if len(weights) else None
        if weight is not None and len(weight) != len(groups):
            raise InputError(f"the DMatrix has {len(weight)} weights for {len(groups)} queries; give one a query")
        scores = np.asarray(first).reshape(len(grades))
        found = [(each.name, each.mean(grades, scores, groups=groups, weights=weight)) for each in self.metrics]
        return found if len(found) > 1 else found[0]

    def _of_one(self, grades: Any, scores: Any) -> float:
        if len(self.metrics) > 1:
            raise MeasureError("XGBRanker takes one metric of its user; name one measure")
        return self.metrics[0].mean(grades, scores)


# ---- LightGBM -------------------------------------------------------------------------------------------------------


def lightgbm(*measures: str, dialect: str | Dialect | None = "lightgbm", name: str | None = None) -> LightGBMMetric:
    """For `lightgbm.train(feval=…)` and for `LGBMRanker.fit(eval_metric=…)`.

    By default the value is LightGBM's own, with `dialect=None` rankgauge's. Weights of rows are taken as LightGBM takes
    them: a query weighs the mean of its rows.
    """
    return LightGBMMetric(metrics_of(measures, dialect, name))


class LightGBMMetric:
    """`metric(predictions, Dataset)`, as `lightgbm.train` calls it, or `metric(labels, predictions, weight, group)`, as
    `LGBMRanker` does."""

    def __init__(self, metrics: list[Metric]) -> None:
        self.metrics = metrics
        self.__name__ = metrics[0].name

    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> Any:
        """(name, value, True), or a list of these where there are several measures."""
        grades, scores = first, second
        if hasattr(second, "get_group"):
            grades, scores, weight, group = second.get_label(), first, second.get_weight(), second.get_group()
        if group is None:
            raise InputError("the data have no sizes of queries; give them as group=")
        groups = np.asarray(group, np.int64)
        weights = None if weight is None else _mean_weights(np.asarray(weight, np.float32), groups)
        shape = {"groups": groups, "weights": weights}
        found = [(each.name, each.mean(grades, scores, **shape), True) for each in self.metrics]
        return found if len(found) > 1 else found[0]


def _mean_weights(weights: NDArray[np.float32], groups: Ints) -> NDArray[np.float32]:
    """The mean weight of each query's rows, added up in order and in 32 bits, as LightGBM does."""
    starts, total = np.cumsum(groups) - groups, np.zeros(len(groups), np.float32)
    for place in range(int(groups.max(initial=0))):
        there = groups > place
        total[there] += weights[starts[there] + place]
    mean: NDArray[np.float32] = np.divide(total, groups, dtype=np.float32)
    return mean


# ---- CatBoost -------------------------------------------------------------------------------------------------------


def catboost(measure: str = "nDCG@10", *pools: Any, dialect: str | Dialect | None = "catboost") -> CatBoostMetric:
    """For `CatBoostRanker(eval_metric=…)`: an object with evaluate, is_max_optimal and get_final_error.

    CatBoost tells a metric of its user the labels and predictions of a data set, and not its groups. So name every pool
    that is fitted or evaluated, `catboost("nDCG@10", train, valid)`, or its (labels, group ids): a data set is known by
    its labels. By default the value is CatBoost's own, with `dialect=None` rankgauge's.
    """
    return CatBoostMetric(Metric(measure, dialect), [_labels_and_groups(pool) for pool in pools])


class CatBoostMetric:
    """A metric that knows the groups of the pools it was made for."""

    no_jit = True  # CatBoost would try to compile it, and complain

    def __init__(self, metric: Metric, known: list[tuple[Floats, Array]]) -> None:
        if not known:
            raise InputError("CatBoost tells a metric no groups; name the pools: catboost('nDCG@10', train, valid)")
        for at, (labels, ids) in enumerate(known):
            for other_labels, other_ids in known[:at]:
                if np.array_equal(labels, other_labels) and not np.array_equal(ids, other_ids):
                    raise InputError("two pools have the same labels in different groups, and labels tell pools apart")
        self.metric, self.known = metric, known

    def is_max_optimal(self) -> bool:
        """More is better."""
        return True

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """The sum of the queries' values and of their weights."""
        labels = np.asarray(target, np.float64)
        ids = next((ids for known, ids in self.known if np.array_equal(known, labels)), None)
        if ids is None:
            raise MatchError(
                f"a data set of {len(labels)} rows has the labels of none of the pools that the metric was made for; "
                "name all that are fitted or evaluated: catboost('nDCG@10', train, valid)"
            )
        starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
        values = self.metric.per_query(labels, np.asarray(approxes[0]), groups=np.diff(np.r_[starts, len(ids)]))
        weights = (
            np.ones(len(starts)) if weight is None else self.metric.weights(np.asarray(weight, np.float64)[starts])
        )
        counts = ~np.isnan(values)
        return float((values * weights)[counts].sum()), float(weights[counts].sum())

    def get_final_error(self, error: float, weight: float) -> float:
        """The mean."""
        return error / weight if weight else 0.0


def _labels_and_groups(pool: Any) -> tuple[Floats, Array]:
    """The labels, in the 32 bits that CatBoost keeps, and the group of every row."""
    labels, ids = (pool.get_label(), pool.get_group_id_hash()) if hasattr(pool, "get_group_id_hash") else pool
    grades = np.asarray(labels, np.float32).astype(np.float64)
    groups = np.asarray(ids)
    if groups.shape != grades.shape:
        raise InputError(f"a pool has {len(grades)} labels and {len(groups)} group ids; give every row its group")
    return grades, groups


# ---- scikit-learn, whose scorer is told the queries by metadata routing ---------------------------------------------


def sklearn(
    measure: str = "nDCG@10",
    *,
    dialect: str | Dialect | None = "sklearn",
    response_method: str | tuple[str, ...] = "predict",
) -> Any:
    """A scorer for `cross_val_score(…, scoring=…, params={"qid": qid})`, `GridSearchCV` and the like.

    It asks for `qid`, the query of every row, which scikit-learn passes on when metadata routing is enabled. By default
    the value is the mean of `sklearn.metrics.ndcg_score` over queries, with `dialect=None` it is rankgauge's.
    """
    from sklearn import get_config
    from sklearn.metrics import make_scorer

    if not get_config()["enable_metadata_routing"]:
        raise ProtocolError(
            "scikit-learn tells a scorer the queries only by metadata routing; enable it first: "
            "sklearn.set_config(enable_metadata_routing=True)"
        )
    return make_scorer(Score(Metric(measure, dialect)), response_method=response_method).set_score_request(qid=True)


class Score:
    """`score(labels, predictions, qid=…)`, which can be sent to other processes."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.__name__ = metric.name

    def __call__(self, y_true: Any, y_pred: Any, *, qid: Any = None) -> float:
        if qid is None:
            raise InputError("the scorer was told no queries; pass them on: cross_val_score(…, params={'qid': qid})")
        return self.metric.mean(y_true, y_pred, qid=qid)
