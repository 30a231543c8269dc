"""What is measured, against whom, and the ratios aimed at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from measure import Timing
from peers import NAMES, OURS

EXACT_PEERS = (OURS, "pytrec_eval", "trec_eval")  # these break ties alike, so their answers can be compared


@dataclass(frozen=True)
class Case:
    """One comparison; ``floors`` are least ratios peer / rankgauge in seconds."""

    section: str
    title: str
    data: str
    tools: tuple[str, ...]
    floors: Mapping[str, float] = field(default_factory=dict)
    memory_ceiling: float | None = None  # most of pytrec_eval's peak memory rankgauge may take
    repetitions: int = 1
    peak_ceiling: float | None = None  # most megabytes rankgauge may take


@dataclass(frozen=True)
class Measured:
    """A case with the timings, one per round, of each tool that was run."""

    case: Case
    timings: Mapping[str, list[Timing]]


SECTION_TITLES = {
    "cold": "Cold, from files",
    "memory": "In memory, from dictionaries",
    "arrays": "Arrays, as a training loop has them",
    "startup": "Start-up",
    "ten": "Ten runs over one set of judgments",
    "explain": "Explaining one query",
    "funnel": "Two stages apart",
    "compare": "Comparing systems",
    "store": "A project's store",
    "search": "Live systems and pools",
    "judge": "Judging",
    "serve": "The app",
    "judging": "Raters in the app",
    "scaling": "Scaling",
}

COLD = (
    Case("cold", "M", "M", NAMES, {"pytrec_eval": 5, "trec_eval": 5, "ir_measures": 8}, 0.7),
    Case("cold", "L", "L", NAMES, {"pytrec_eval": 4, "trec_eval": 20}),
    Case("cold", "S", "S", NAMES, {"ir_measures": 1}),
    Case("cold", "M rounded", "M-rounded", EXACT_PEERS, {"pytrec_eval": 4}),
    Case("cold", "M shuffled", "M-shuffled", EXACT_PEERS, {"pytrec_eval": 3}),
    Case("cold", "M ragged", "M-ragged", EXACT_PEERS, {"pytrec_eval": 3}),
)

BOTH = (OURS, "pytrec_eval")
MEMORY = (
    Case("memory", "M", "M", BOTH, {"pytrec_eval": 12}),
    Case("memory", "S", "S", BOTH, {"pytrec_eval": 4}, repetitions=20),
    Case("memory", "L", "L", BOTH, {"pytrec_eval": 2.5}),
    Case("memory", "M rounded", "M-rounded", BOTH, {"pytrec_eval": 1}),
    Case("memory", "M shuffled", "M-shuffled", BOTH, {"pytrec_eval": 1}),
    Case("memory", "one query of 100 documents", "tiny", BOTH, {"pytrec_eval": 0.7}, repetitions=2000),
)

HELP = Case("startup", "--help", "", (OURS, "ir_measures"), {"ir_measures": 1})
SMALL = Case("startup", "eval of one query of 100 documents", "tiny", (OURS, "pytrec_eval", "ir_measures"))
TEN = Case("ten", "ten runs in one command", "ten", EXACT_PEERS, {"pytrec_eval": 5})
EVAL = f"{OURS} eval"  # what explaining is compared with
EXPLAIN = Case("explain", "one query of M", "M", (OURS, EVAL), {EVAL: 0.83})
QUICK_EXPLAIN = Case("explain", "one of the first 440 queries of M", "M-1x", (OURS, EVAL))
FUNNEL = Case("funnel", "M and its documents in another order", "M-reranked", (OURS, EVAL), {EVAL: 0.5})
QUICK_FUNNEL = Case("funnel", "the first 440 queries of M", "M-1x-reranked", (OURS, EVAL))
SCALING = tuple(
    Case("scaling", title, data, (OURS, "pytrec_eval", "ir_measures"))
    for title, data in (("start", "tiny"), ("1x", "M-1x"), ("4x", "M-4x"), ("16x", "M"))
)

QUICK_COLD = (Case("cold", "S", "S", NAMES), Case("cold", "first 440 queries of M", "M-1x", NAMES))
QUICK_MEMORY = (
    Case("memory", "S", "S", BOTH),
    Case("memory", "first 440 queries of M", "M-1x", BOTH),
    Case("memory", "one query of 100 documents", "tiny", BOTH, repetitions=200),
)
