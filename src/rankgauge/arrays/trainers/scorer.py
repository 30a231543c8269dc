"""A scikit-learn scorer that is told the queries by metadata routing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgauge.arrays.trainers.metric import Metric
from rankgauge.errors import InputError, ProtocolError

if TYPE_CHECKING:
    from rankgauge.dialects import Dialect

__all__ = ["Score", "sklearn"]


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
