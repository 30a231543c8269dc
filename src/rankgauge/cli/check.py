"""`rankgauge check`: may this run replace the baseline?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import click

from rankgauge.cli.options import FILE, command, protocol_options, reading_options, shared
from rankgauge.cli.output import TEXTS, deliver, output_options, write_text
from rankgauge.cli.strict import TARGET
from rankgauge.errors import RankgaugeError, warn
from rankgauge.show.cells import printable

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.comparison.gate.outcome import Check
    from rankgauge.comparison.saved import Saved
    from rankgauge.protocol import Protocol
    from rankgauge.read.sources import Source

__all__ = ["check_run"]

EXITS: Final = {"pass": 0, "unchanged": 0, "fail": 1, "inconclusive": 3}
MARGIN: Final = (
    "how much may be lost? It is in units of the measure (0.01 is one point) and has no default, because only you know "
    "what does not matter; 'rankgauge plan' says what your queries can show"
)


@command(
    "check",
    usual=(
        "measures",
        "baseline",
        "margins",
        "minimums",
        "sample",
        "inconclusive",
        "unchanged",
        "markdown",
        "junit",
        "save_baseline",
        "output",
    ),
    needs={"baseline": "margins", "margins": "baseline", "measures": "baseline", "ratchet": "baseline"},
    requires=[("baseline", "minimums")],
    hints={"margins": MARGIN, "minimums": "there is nothing to check"},
    replaces={"save_baseline": "baseline"},
)
@click.argument("qrels", type=FILE)
@click.argument("run", type=FILE, metavar="[NAME=]RUN")
@click.option(
    "--baseline", type=FILE, metavar="[NAME=]FILE", help="A run, or what eval --per-query --format json saved."
)
@shared("measures", "measures_from", "sample", "per", "population", "memory")
@click.option(
    "--margin", "margins", multiple=True, metavar="[MEASURE=]M", help="The loss that does not matter; no default."
)
@click.option(
    "--min", "minimums", multiple=True, metavar="MEASURE=X", help="The mean must be at least X; repeat for more."
)
@click.option("--inconclusive", type=click.Choice(["pass", "fail"]), help="Exit with 0 or 1 instead of 3.")
@click.option(
    "--unchanged",
    type=click.Choice(["pass", "inconclusive", "fail"]),
    help="What it counts as when no judged value changed.  [exit 0]",
)
@click.option("--lost", type=click.IntRange(0), default=5, metavar="N", help="Name the N queries that lost most.  [5]")
@click.option("--markdown", type=TARGET, metavar="FILE", help="Write Markdown for a pull request, too.")
@click.option("--junit", type=TARGET, metavar="FILE", help="Write JUnit XML, too.")
@click.option("--save-baseline", type=TARGET, metavar="FILE", help="If the run passed, save its values as a baseline.")
@click.option("--ratchet", is_flag=True, help="If the run passed and is better, replace the baseline.")
@output_options(TEXTS)
@protocol_options
@reading_options
def check_run(
    output: Output,
    inconclusive: str | None,
    unchanged: str | None,
    markdown: str | None,
    junit: str | None,
    save_baseline: str | None,
    ratchet: bool,
    **asked: Any,
) -> int:
    """Check that a run is not worse than a baseline by more than a margin: PASS, FAIL, INCONCLUSIVE or UNCHANGED.

    PASS (exit 0): the one-sided 95 % lower bound of the mean difference is at least −margin. FAIL (exit 1): the upper
    bound is below −margin. INCONCLUSIVE (exit 3): too few queries to tell; the number needed is printed. UNCHANGED
    (exit 0): no judged value changed, so nothing was measured that could fail. --min tests a mean in the same way. Of
    several answers the worst counts. Misuse, a baseline on other judgments or under other rules, or two runs without
    any judged document, is exit 2.

    \b
    Examples:
      rankgauge check qrels.txt new.run --baseline old.run --margin 0.01
      rankgauge check qrels.txt new.run --min nDCG@10=0.5 --min R@100=0.8
      rankgauge eval qrels.txt old.run --per-query -o baseline.json
      rankgauge check qrels.txt new.run --baseline baseline.json --margin 0.01
    """
    from rankgauge.show.junit import junit as junit_xml

    check = _check(saved_to=save_baseline, ratchet=ratchet, **asked)
    if markdown is not None:
        write_text(markdown, check.show("markdown"))
    if junit is not None:
        write_text(junit, junit_xml(check, inconclusive, unchanged))
    deliver(check, output)
    answer = check.counts_as(inconclusive, unchanged)
    _save(check, answer, save_baseline, asked["baseline"] if ratchet else None)
    return EXITS[answer]


def _check(
    qrels: str,
    run: str,
    *,
    baseline: str | None,
    measures: tuple[str, ...],
    margins: tuple[str, ...],
    minimums: tuple[str, ...],
    lost: int,
    sample: str | None,
    per: str | None,
    population: str | None,
    memory: str | None,
    protocol: Protocol,
    reading: Reading,
    saved_to: str | None,
    ratchet: bool,
) -> Check:
    """Read the files and check."""
    from rankgauge.cli.inputs import Inputs
    from rankgauge.comparison.gate.check import check_result, margins_of, minimums_of
    from rankgauge.comparison.saved import Saved
    from rankgauge.measures import parse

    names = [str(parse(each)) for each in measures or ("nDCG@10",)] if baseline else []
    at_least = minimums_of(_numbers("--min", minimums, named=True))
    allowed = margins_of(names, _numbers("--margin", margins))
    old, given = _saved_values(qrels, run, baseline)
    if baseline is not None and (ratchet or saved_to):
        _check_replaced(baseline, old, saved_to, ratchet=ratchet)
    kept = old.values if old is not None and (ratchet or saved_to) else ()
    everything = tuple(dict.fromkeys([*names, *at_least, *kept]))  # a new baseline has all that the old one had
    runs = [run] if old is not None or baseline is None else [run, _apart(baseline, run)]
    inputs = Inputs(reading, qrels, runs, tables=[sample])
    if len(runs) > 1:
        list(inputs.runs.values())[1].origin = given  # a pipe gives its bytes once
    inputs.runs = {name: each.kept() for name, each in inputs.runs.items()} if len(runs) > 1 else inputs.runs
    sources = [*inputs.runs.values()]
    new, *others = inputs.evaluate(
        everything, protocol, memory=memory, **inputs.sample(sample, per=per, population=population)
    ).values()
    old = Saved.of(others[0], sources[1]) if others else old
    return check_result(new, old, allowed, at_least, lost=lost, run=sources[0])


def _check_replaced(baseline: str, old: Saved | None, saved_to: str | None, *, ratchet: bool) -> None:
    """Refuse to replace a run, or a file that holds more than the baseline."""
    from rankgauge.read.named import split_name

    name, path = split_name(baseline)
    if ratchet and (path == "-" or name):
        raise click.UsageError(
            "--ratchet replaces the whole file: the baseline must be alone in a file, without a name"
        )
    if ratchet and old is None:
        raise click.UsageError(
            "--ratchet replaces saved values, and the baseline is a run; --save-baseline makes a file"
        )
    same = saved_to and os.path.isfile(path) and os.path.isfile(saved_to) and os.path.samefile(saved_to, path)
    if same and old is None:
        raise click.UsageError(f"--save-baseline {saved_to}: the baseline is a run, and would be replaced")


def _saved_values(qrels: str, run: str, baseline: str | None) -> tuple[Saved | None, Source | None]:
    """The saved values, or None where the baseline is a run; and what they were read from."""
    from rankgauge.cli.inputs import one_standard_input
    from rankgauge.comparison.gate.baseline import baseline_at, saved_in
    from rankgauge.read.named import split_name

    if baseline is None:
        return None, None
    name, path = split_name(baseline)
    one_standard_input([qrels, split_name(run)[1], path])
    if path.startswith("@"):  # a run of the project
        return None, None
    source = baseline_at(path)
    return saved_in(source, name), source


def _apart(baseline: str, run: str) -> str:
    """The baseline, named so that it can be told from the run, even where it is the same file."""
    from rankgauge.read.named import split_name

    name, path = split_name(baseline)
    return f"baseline={path}" if name is None and path == split_name(run)[1] else baseline


def _numbers(option: str, texts: Iterable[str], *, named: bool = False) -> dict[str, float]:
    """`R@100=0.8` → {"R@100": 0.8}; a number alone has no name."""
    numbers: dict[str, float] = {}
    usual = 0.8 if named else 0.01
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            words = f"how much? Write {option} {text}={usual}" if _is_measure(text) else f"{number!r} is not a number"
            raise click.UsageError(f"{option} {text}: {words}") from None
        if named and not equals:
            raise click.UsageError(f"{option} {text}: of which measure? Write {option} nDCG@10={text}")
        if name in numbers:
            raise click.UsageError(f"{option} is given twice for {name or 'all measures'}")
        numbers[name] = value
    return numbers


def _is_measure(text: str) -> bool:
    from rankgauge.measures import parse

    try:
        parse(text)
    except RankgaugeError:
        return False
    return True


def _save(check: Check, answer: str, saved_to: str | None, ratcheted: str | None) -> None:
    """Only what passed becomes a baseline."""
    from rankgauge.comparison.gate.baseline import save_baseline

    if answer not in ("pass", "unchanged"):
        if saved_to or ratcheted:
            counts = "" if answer == check.answer else f", which counts as {answer}"
            warn(f"the baseline is not saved: the answer is {check.answer}{counts}")
        return
    if saved_to:
        save_baseline(check, saved_to)
    if ratcheted and answer == "unchanged":
        click.echo(printable(f"{check.baseline} stays: no judged value changed"), err=True)
    elif ratcheted and check.better:
        save_baseline(check, ratcheted)
        click.echo(printable(f"{check.baseline} now holds the values of {check.name}"), err=True)
    elif ratcheted:
        click.echo(printable(f"{check.baseline} stays: {check.name} passed and is not better"), err=True)
