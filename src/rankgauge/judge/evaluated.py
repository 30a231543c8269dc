"""The section [evaluate] of rankgauge.toml: what is measured, for the loop, the app and the check of a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rankgauge.errors import InputError, RankgaugeError
from rankgauge.measures import parse_all
from rankgauge.sampling.design import PER
from rankgauge.stats.inference import POPULATIONS
from rankgauge.store.project import FILE
from rankgauge.systems.config import TEXT, Key, check_keys, is_texts, one_of

if TYPE_CHECKING:
    from rankgauge.sampling.design import Per
    from rankgauge.stats.inference import Population
    from rankgauge.store.project import Project

__all__ = ["EVALUATE", "TEXTS", "Evaluated", "evaluated"]

TEXTS: Final = Key(is_texts, "a list of texts")
EVALUATE: Final = {
    "measures": TEXTS, "baseline": TEXT, "per": one_of(*PER), "population": one_of(*POPULATIONS), "report": TEXT,
}  # fmt: skip
MEASURES: Final = ("nDCG@10", "R@100")


class Evaluated(NamedTuple):
    """What is measured: the measures, the system that others are compared with, what a mean of a sample is
    per, and what population its intervals speak of."""

    measures: tuple[str, ...]
    baseline: str | None
    per: Per
    population: Population | None = None


def evaluated(project: Project) -> Evaluated:
    """Read [evaluate] and check it by itself: whoever looks at a project need not be able to run its systems."""
    where = f"{project.folder / FILE}: [evaluate]"
    told = project.settings.get("evaluate", {})
    check_keys(told, EVALUATE, where)
    measures = tuple(told.get("measures", MEASURES))
    try:
        parse_all(measures)
    except RankgaugeError as error:
        raise InputError(f"{where} measures: {error}") from None
    return Evaluated(measures, told.get("baseline"), told.get("per", PER[0]), told.get("population"))
