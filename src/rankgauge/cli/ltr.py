"""Learning-to-rank rows and scores where commands have judgments and runs: `--ltr`, `--scores`, `--query-sizes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.work import Reading
from rankgauge.errors import choices
from rankgauge.matching.rules import refusals
from rankgauge.protocol import RULES

if TYPE_CHECKING:
    from rankgauge.protocol import Protocol
    from rankgauge.read import Judgments, Run
    from rankgauge.read.ltr import Ltr
    from rankgauge.read.sources import Source

__all__ = ["LtrReading", "in_place_of_runs"]


def in_place_of_runs(given: Mapping[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options with the files of `--ltr` in the places of QRELS and RUN; what does not go together is refused."""
    ltr, sizes = given["ltr"], given["query_sizes"]
    context = click.get_current_context()
    rules = [each for each in given["scores"] if each in RULES["scores"]]
    scores = tuple(each for each in given["scores"] if each not in rules)
    if rules:
        options = options | {"protocol": replace(options["protocol"], scores=rules[-1])}
    if ltr is None:
        if scores:
            expected = choices(RULES["scores"])
            raise click.UsageError(
                f"--scores is {expected}, or with --ltr FILE a file of scores: {scores[0]!r}", context
            )
        if sizes:
            raise click.UsageError("--query-sizes is for the rows of --ltr FILE", context)
        for name in ("qrels", "runs"):
            if not options[name]:
                parameter = next(each for each in context.command.params if each.name == name)
                raise click.MissingParameter(ctx=context, param=parameter)
        return options
    if options["qrels"] is not None:
        raise click.UsageError(
            f"--ltr holds the judgments, and the files of --scores are the runs: what is {options['qrels']!r} for?",
            context,
        )
    if not scores:
        raise click.UsageError("--ltr needs the scores of a model for its rows: --scores FILE", context)
    reading: Reading = options["reading"]
    if reading != Reading({}):
        raise click.UsageError(
            "--column, --qrels-format and --run-format are for QRELS and RUN, not for --ltr", context
        )
    if options.get("dialect") is None and options["protocol"].depth is None:  # the rows are all that is known
        options = options | {"protocol": replace(options["protocol"], ideal="retrieved")}
    return options | {"qrels": ltr, "runs": scores, "reading": LtrReading({}, query_sizes=sizes)}


@dataclass(frozen=True, slots=True)
class LtrReading(Reading):
    """Reads rows for judgments, and scores of these rows for runs."""

    query_sizes: str | None = None
    rows: list[Ltr] = field(default_factory=list)

    def judgments(self, source: str | Source, *, repeated: bool = False) -> Judgments:
        """The labels of the rows, which are kept for the runs to come."""
        from rankgauge.read.ltr import read_ltr

        self.rows[:] = [read_ltr(source, self.query_sizes)]
        return self.rows[0].judgments()

    def run(self, source: str | Source, protocol: Protocol) -> Run:
        """The rows under the scores in a file."""
        from rankgauge.read.numbers import read_scores

        return self.rows[0].run(read_scores(source))

    def each(self, source: str | Source) -> Callable[[Protocol], Run]:
        """The same run for every protocol whose rules the labels keep to."""
        made: list[Run] = []

        def for_protocol(protocol: Protocol) -> Run:
            for bad, why in refusals(self.rows[0].grades, protocol):
                self.rows[0].refuse(bad, why)
            if not made:
                made.append(self.run(source, protocol))
            return made[0]

        return for_protocol
