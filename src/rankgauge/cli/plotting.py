"""What the charts of trust are made from, once the options of `rankgauge plot` are parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from rankgauge.cli.inputs import Inputs
from rankgauge.errors import choices

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol
    from rankgauge.trust.judges.agree import Agreement
    from rankgauge.trust.judgments.quality import LabelNoise, Quality

__all__ = ["TRUST", "Asked", "check_options"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user gave: files, the measure, and what only these charts need."""

    qrels: str
    runs: tuple[str, ...]
    measure: str
    protocol: Protocol
    reading: Reading
    second: tuple[str, ...] = ()
    repeated: str | None = None
    scale: list[float] | None = None
    error_rate: float | None = None
    confusion: str | None = None

    @property
    def inputs(self) -> Inputs:
        """The files."""
        judges = (self.qrels, *self.second) if self.second else ()
        return Inputs(self.reading, None if judges else self.qrels, self.runs, judges=judges, tables=[self.confusion])


def _quality(asked: Asked) -> Quality:
    from rankgauge.trust.judgments.quality import quality

    inputs = asked.inputs
    return quality(inputs.judgments, inputs.runs, asked.measure, grades=asked.scale, protocol=asked.protocol)


def _noise(asked: Asked) -> LabelNoise:
    from rankgauge.trust.judgments.quality import label_noise

    if (asked.error_rate is None) == (asked.confusion is None):
        raise click.UsageError("noise needs --error-rate X or --confusion FILE, one of the two")
    inputs = asked.inputs
    return label_noise(
        inputs.judgments, inputs.runs, asked.measure, error_rate=asked.error_rate, confusion=asked.confusion,
        grades=asked.scale, protocol=asked.protocol,
    )  # fmt: skip


def _agreement(asked: Asked) -> Agreement:
    from rankgauge.trust.judges.agree import agree

    if not asked.second:
        raise click.UsageError("this chart is of two judges; give the other's judgments: --second [NAME=]QRELS")
    inputs = asked.inputs
    return agree(
        inputs.judges, runs=inputs.runs or None, measure=asked.measure, grades=asked.scale, repeated=asked.repeated,
        protocol=asked.protocol,
    )  # fmt: skip


def _confusion(asked: Asked) -> Agreement:
    if asked.runs:
        raise click.UsageError(f"confusion is of judges and shows no runs; leave {asked.runs[0]} out, or take judges")
    return _agreement(asked)


# Kind of chart → what it is made from.
TRUST: Final[dict[str, Callable[[Asked], Any]]] = {
    "unjudged": _quality,
    "unjudged-pairs": _quality,
    "noise": _noise,
    "confusion": _confusion,
    "judges": _agreement,
}

# Option → the kinds that it is for.
ONLY_FOR: Final[dict[str, tuple[str, ...]]] = {
    "pair": ("differences", "scatter", "detectable", "confusion"),
    "to": ("at-k",),
    "second": ("confusion", "judges"),
    "repeated": ("confusion", "judges"),
    "scale": tuple(TRUST),
    "error_rate": ("noise",),
    "confusion": ("noise",),
}
NOT_FOR_TRUST: Final = ("by", "weights", "baseline", "dialect")


def check_options(kind: str, given: dict[str, Any]) -> None:
    """Refuse options that the chart would not show, and a chart without the runs that it needs."""
    for name, kinds in ONLY_FOR.items():
        if given.get(name) not in (None, ()) and kind not in kinds:
            raise click.UsageError(f"--{name.replace('_', '-')} is for {choices(kinds)}, not for {kind}")
    for name in NOT_FOR_TRUST:
        if given.get(name) is not None and kind in TRUST:
            raise click.UsageError(f"--{name} changes nothing in {kind}; leave it out")
    if kind != "confusion" and not given["runs"]:
        raise click.UsageError("Missing argument '[NAME=]RUN...'.")
