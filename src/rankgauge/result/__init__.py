"""The values of one run, and of several, with everything that is needed to trust and to repeat them."""

from rankgauge.result.evaluation import Evaluation, TieBands, judged_words
from rankgauge.result.result import SAME, Result

__all__ = ["SAME", "Evaluation", "Result", "TieBands", "judged_words"]
