"""The same measures inside a training loop: callables as XGBoost, LightGBM, CatBoost and scikit-learn want them.

By default each gives the trainer's own value, to the last digit; `dialect=None` gives rankgauge's, any other dialect
that of another tool, so that two trainers can be compared by one number. No trainer is imported here.

>>> from rankgauge import trainers
>>> trainers.lightgbm("nDCG@10")([0.3, 0.9, 0.2], [2, 0, 1], None, [2, 1])
Traceback (most recent call last):
...
rankgauge.errors.FormatError: query 0, place 0: the grade is 0.3; expected a whole number
>>> trainers.lightgbm("nDCG@10")([2, 0, 1], [0.3, 0.9, 0.2], None, [2, 1])
('ndcg@10_lightgbm', 0.8154648767857287, True)
"""

from __future__ import annotations

from rankgauge.arrays.trainers.callables import catboost, lightgbm, sklearn, xgboost
from rankgauge.arrays.trainers.metric import Accumulator

__all__ = ["Accumulator", "catboost", "lightgbm", "sklearn", "xgboost"]
