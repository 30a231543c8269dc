"""What the charts of trust are made from, once the options of `rankgauge plot` are parsed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from rankgauge.errors import choices

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.protocol import Protocol
    from rankgauge.trust.judges.agree import Agreement
    from rankgauge.trust.judgments.quality import LabelNoise, Quality

__all__ = ["TRUST", "check_options"]


def _quality(inputs: Inputs, measure: str, *, protocol: Protocol, scale: Any, **others: Any) -> Quality:
    from rankgauge.trust.judgments.quality import quality

    return quality(inputs.judgments, inputs.runs, measure, grades=scale, protocol=protocol)


def _noise(
    inputs: Inputs, measure: str, *, protocol: Protocol, scale: Any, error_rate: Any, confusion: Any, **others: Any
) -> LabelNoise:
    from rankgauge.trust.judgments.quality import label_noise

    if (error_rate is None) == (confusion is None):
        raise click.UsageError("noise needs --error-rate X or --confusion FILE, one of the two")
    wrong = {"error_rate": error_rate, "confusion": confusion}
    return label_noise(inputs.judgments, inputs.runs, measure, grades=scale, protocol=protocol, **wrong)


def _agreement(
    inputs: Inputs, measure: str, *, protocol: Protocol, scale: Any, repeated: str | None, **others: Any
) -> Agreement:
    from rankgauge.trust.judges.agree import agree

    if not inputs.judges:
        raise click.UsageError("this chart is of two judges; give the other's judgments: --second [NAME=]QRELS")
    rules = {"grades": scale, "repeated": repeated, "protocol": protocol}
    return agree(inputs.judges, runs=inputs.runs or None, measure=measure, **rules)


def _confusion(inputs: Inputs, measure: str, **asked: Any) -> Agreement:
    for run in inputs.runs.values():
        raise click.UsageError(f"confusion is of judges and shows no runs; leave {run.origin} out, or take judges")
    return _agreement(inputs, measure, **asked)


# Kind of chart → what it is made from.
TRUST: Final[dict[str, Callable[..., Any]]] = {
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
