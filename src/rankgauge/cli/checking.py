"""What `rankgauge check` does once its options are parsed: read, check, deliver."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from rankgauge.cli.inputs import Inputs, one_standard_input, split_name
from rankgauge.comparison.gate.baseline import save_baseline, saved_at
from rankgauge.comparison.gate.check import Check, check_result, margins_of, minimums_of
from rankgauge.comparison.saved import Saved
from rankgauge.errors import InputError, RankgaugeError, warn
from rankgauge.measures import parse
from rankgauge.show.junit import junit
from rankgauge.writers.write import opened

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol

__all__ = ["Asked", "checked", "deliver"]

EXITS: Final = {"pass": 0, "fail": 1, "inconclusive": 3}
TEXTS: Final = {".md": "markdown", ".json": "json", ".txt": "table"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked to be checked, printed and saved."""

    baseline: str | None
    measures: tuple[str, ...]
    margins: tuple[str, ...]
    minimums: tuple[str, ...]
    markdown: str | None
    junit: str | None
    save_baseline: str | None
    ratchet: bool
    format: str | None
    output: str


def checked(qrels: str, run: str, asked: Asked, protocol: Protocol, reading: Reading, lost: int) -> Check:
    """Read the files and check."""
    _refuse_nonsense(asked)
    measures = [str(parse(each)) for each in asked.measures or ("nDCG@10",)] if asked.baseline else []
    minimums = minimums_of(_numbers("--min", asked.minimums, named=True))
    margins = margins_of(measures, _numbers("--margin", asked.margins))
    old = _old_values(qrels, run, asked)
    if asked.ratchet and old is None:
        raise click.UsageError(
            "--ratchet replaces saved values, and the baseline is a run; --save-baseline makes a file"
        )
    kept = old.values if old is not None and (asked.ratchet or asked.save_baseline) else ()
    everything = tuple(dict.fromkeys([*measures, *minimums, *kept]))  # a new baseline has all that the old one had
    runs = [run] if old is not None or asked.baseline is None else [run, _apart(asked.baseline, run)]
    new, *others = Inputs(reading, qrels, runs).evaluate(everything, protocol).values()
    return check_result(new, old or (Saved.of(others[0]) if others else None), margins, minimums, lost=lost)


def _refuse_nonsense(asked: Asked) -> None:
    if asked.baseline is None and not asked.minimums:
        raise click.UsageError("nothing to check: give --baseline FILE with --margin M, or --min MEASURE=X")
    if asked.baseline is None and (asked.margins or asked.measures or asked.ratchet):
        raise click.UsageError("-m, --margin and --ratchet go with --baseline FILE")
    if asked.ratchet and asked.baseline is not None and (asked.baseline == "-" or split_name(asked.baseline)[0]):
        raise click.UsageError(
            "--ratchet replaces the whole file: the baseline must be alone in a file, without a name"
        )
    if asked.baseline is not None and not asked.margins:
        raise click.UsageError(
            "--margin is missing: how much may be lost? It is in units of the measure (0.01 is one point) and has no "
            "default, because only you know what does not matter; 'rankgauge plan' says what your queries can show"
        )


def _old_values(qrels: str, run: str, asked: Asked) -> Saved | None:
    """The saved values, or None where the baseline is a run."""
    if asked.baseline is None:
        return None
    name, path = split_name(asked.baseline)
    one_standard_input([qrels, split_name(run)[1], path])
    found = saved_at(path, name)
    if found is None and path == "-":
        raise InputError("standard input holds no saved values; a baseline that is a run must be a file")
    return found


def _apart(baseline: str, run: str) -> str:
    """The baseline, named so that it can be told from the run, even where it is the same file."""
    name, path = split_name(baseline)
    return f"baseline={path}" if name is None and path == split_name(run)[1] else baseline


def _numbers(option: str, texts: Iterable[str], *, named: bool = False) -> dict[str, float]:
    """`R@100=0.8` → {"R@100": 0.8}; a number alone has no name."""
    found: dict[str, float] = {}
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
        if name in found:
            raise click.UsageError(f"{option} is given twice for {name or 'all measures'}")
        found[name] = value
    return found


def _is_measure(text: str) -> bool:
    try:
        parse(text)
    except RankgaugeError:
        return False
    return True


def deliver(found: Check, asked: Asked, inconclusive: str | None) -> int:
    """Print, write and save; the exit code."""
    text = asked.format or TEXTS.get(os.path.splitext(asked.output)[1].lower(), "table")
    if asked.markdown is not None:
        _write(asked.markdown, found.show("markdown"))
    if asked.junit is not None:
        _write(asked.junit, junit(found, inconclusive))
    _write(asked.output, found.show(text))
    answer = inconclusive if found.answer == "inconclusive" and inconclusive else found.answer
    _save(found, asked, answer)
    return EXITS[answer]


def _save(found: Check, asked: Asked, answer: str) -> None:
    """Only what passed becomes a baseline."""
    wanted = asked.save_baseline or asked.ratchet
    if wanted and answer != "pass":
        warn(f"the baseline is not saved: the answer is {found.answer}")
        return
    if asked.save_baseline:
        save_baseline(found, asked.save_baseline)
    if asked.ratchet and asked.baseline is not None:
        if found.better:
            save_baseline(found, split_name(asked.baseline)[1])
            click.echo(f"{found.baseline} now holds the values of {found.name}", err=True)
        else:
            click.echo(f"{found.baseline} stays: {found.name} passed and is not better", err=True)


def _write(path: str, text: str) -> None:
    with opened(path) as stream:
        stream.write(text.encode())
