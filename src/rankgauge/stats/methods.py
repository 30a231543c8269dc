"""The names of the methods and what each of them controls; imports nothing, so that help can list them."""

from __future__ import annotations

from typing import Final

__all__ = ["ALSO", "INTERVALS", "METHODS", "RANKS", "TUKEYS"]

# Method → what it controls. FWER: the chance of any false claim in the family; FDR: the expected share of false ones.
METHODS: Final = {
    "maxt": "FWER",
    "holm": "FWER",
    "bh": "FDR",
    "by": "FDR",
    "tukey": "FWER",
    "randomised-tukey": "FWER",
    "none": "nothing",
}
TUKEYS: Final = frozenset({"tukey", "randomised-tukey"})
RANKS: Final = {"wilcoxon": "descriptive", "sign": "descriptive"}
INTERVALS: Final = {"bca": "bootstrap interval", "studentised": "bootstrap interval"}
# What can be shown beside the decision.
ALSO: Final = {**{name: METHODS[name] for name in METHODS if name != "none"}, **RANKS, **INTERVALS}
