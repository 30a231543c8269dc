"""Two retrievers × two rerankers: what each change brought, and what both did together.

The effect of a new retriever is the mean of what it brings under either reranker (Shapley's share), and that of a
new reranker likewise; the two add up to the whole change. The interaction is what the one changes in the effect of the
other: the effects alone, measured from the old pair, and the interaction add up to the whole change as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rankgauge.explanation.funnel.system import PARTS

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats
    from rankgauge.explanation.funnel.system import System

__all__ = ["EFFECTS", "Cross", "cross_of"]

# Effect → what it is, in words.
EFFECTS: Final = {
    "retriever": "the new retriever for the old one, mean over the two rerankers",
    "reranker": "the new reranker for the old one, mean over the two retrievers",
    "interaction": "what the new retriever changes in the effect of the new reranker",
    "total": "both new for both old",
    "retriever_alone": "the new retriever, with the old reranker",
    "reranker_alone": "the new reranker, on the old retriever",
}
SHOWN: Final = tuple(part for part in PARTS if part != "no_relevant")  # what no stage can change is left out


@dataclass(frozen=True, eq=False, slots=True)
class Cross:
    """The names of old and new; effect → part → its value for every query."""

    retrievers: tuple[str, str]
    rerankers: tuple[str, str]
    effects: dict[str, dict[str, Floats]]


def cross_of(cells: Mapping[tuple[str, str], System], retrievers: Sequence[str]) -> Cross | None:
    """The effects of two retrievers × two rerankers, the first of each being the old; None where there are not four."""
    rerankers = tuple(dict.fromkeys(reranker for _, reranker in cells))
    if len(retrievers) != 2 or len(rerankers) != 2 or len(cells) != 4:
        return None
    old, new = ([cells[retriever, reranker] for reranker in rerankers] for retriever in retrievers)
    effects: dict[str, dict[str, Floats]] = {name: {} for name in EFFECTS}
    for part in SHOWN:
        (v00, v01), (v10, v11) = ([cell.of(part) for cell in row] for row in (old, new))
        found = {
            "retriever": ((v10 - v00) + (v11 - v01)) / 2,
            "reranker": ((v01 - v00) + (v11 - v10)) / 2,
            "interaction": (v11 - v10) - (v01 - v00),
            "total": v11 - v00,
            "retriever_alone": v10 - v00,
            "reranker_alone": v01 - v00,
        }
        for name, values in found.items():
            effects[name][part] = values
    return Cross((retrievers[0], retrievers[1]), (rerankers[0], rerankers[1]), effects)
