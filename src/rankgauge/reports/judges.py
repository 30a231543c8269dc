"""The section on other judges: how well they agree, and what the choice of judge does to systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted
from rankgauge.show.cells import interval_text, number_text
from rankgauge.show.model import Block, Fold, Text
from rankgauge.show.sections.judges import DETAILED, disputes_table, judge_blocks, system_blocks
from rankgauge.show.sections.ppi import powered_table
from rankgauge.trust.judges.agree import Disputes

if TYPE_CHECKING:
    from rankgauge.reports.facts import Facts
    from rankgauge.trust.judges.agree import Agreement
    from rankgauge.trust.judges.pairs import PairAgreement

__all__ = ["judges_agree"]

DISPUTED: Final = 50  # pairs of query and document that are listed
APART: Final = 2.0


def judges_agree(facts: Facts) -> Iterator[Block]:
    """Coefficients with intervals, confusion, systems under each judge, what to adjudicate; nothing for one judge."""
    agreement = facts.evidence.agreement
    if agreement is None:
        return
    yield Text(" ".join(_sentence(pair) for pair in agreement.pairs[:DETAILED]), "lead")
    yield from judge_blocks(agreement)
    if agreement.systems is not None:
        yield from system_blocks(agreement, agreement.systems)
    yield from _disputes(agreement)
    yield from map(powered_table, facts.evidence.powered)
    for why in facts.evidence.unpowered:
        yield Text(f"No estimate of what the first judge would say of all queries. {why.rstrip('.')}.", "note")


def _sentence(pair: PairAgreement) -> str:
    if not pair.shared:
        return f"{pair.a} and {pair.b} have no judged pair in common."
    kappa, bias = pair.kappa["quadratic"], pair.bias.value
    leaning = "is as lenient" if not round(bias, 4) else "is more lenient" if bias > 0 else "is stricter"
    by = f" by {number_text(abs(bias))} of a grade" if round(bias, 4) else ""
    return (
        f"{pair.a} and {pair.b} gave the same grade to {100 * pair.agreement.value:.0f} % of "
        f"{counted(pair.shared, 'pair')} (quadratic κ {number_text(kappa.value)}, "
        f"{interval_text((kappa.low, kappa.high))}); {pair.b} {leaning}{by}."
    )


def _disputes(agreement: Agreement) -> Iterator[Block]:
    disputes = Disputes(agreement.sets.judges, agreement.disputes(APART))
    if disputes.pairs:
        yield Fold("adjudicate", disputes.title, [disputes_table(disputes, DISPUTED)], f"{len(disputes.pairs):,}")
