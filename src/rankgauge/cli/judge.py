"""`rankgauge judge`: have models, or functions, grade pairs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from rankgauge.cli.options import FILE, command
from rankgauge.cli.strict import TARGET
from rankgauge.errors import FormatError, counted

if TYPE_CHECKING:
    from rankgauge.judge.batch import Batch
    from rankgauge.judge.config import JudgeConfig
    from rankgauge.judge.judged import Judged
    from rankgauge.judge.pairs import Pair
    from rankgauge.judge.reparse import Reread
    from rankgauge.store.project import Project

__all__ = ["judge_pairs"]

LISTED: Final = 10  # answers that are read otherwise than before


@command(
    "judge",
    usual=(
        *("judges", "model", "base_url", "prompt", "repeats", "dry_run", "again", "reparse", "check", "gullible"),
        *("batch", "batch_results", "output", "format"),
    ),
    excludes=[
        ("dry_run", "reparse", "batch", "output"),
        ("dry_run", "reparse", "batch", "batch_results"),
        ("again", "reparse", "batch_results"),
        ("pairs", "check", "reparse"),
        ("check", "output"),
        *(("gullible", each) for each in ("pairs", "repeats", "again", "reparse", "check", "output")),
        *(("gullible", each) for each in ("batch", "batch_results")),
        *(("latest_text", each) for each in ("gullible", "check", "reparse")),
    ],
    needs={"latest_text": "pairs"},
    spread=["--batch-results"],
)
@click.argument("pairs", required=False, type=FILE, metavar="[PAIRS]")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="A table [judges.NAME], or a new name; repeat for a vote.  [the only one]",
)
@click.option("--model", metavar="NAME", help="The model.  [OPENAI_MODEL, or what is served]")
@click.option("--base-url", metavar="URL", help="Its server, which speaks chat completions.  [OPENAI_BASE_URL]")
@click.option("--prompt", metavar="NAME", help="graded, short, criteria, binary, digit, or a file.  [graded]")
@click.option("--call", metavar="MODULE:FUNCTION", help="The judge is a function: f(query, document).")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of the judge's table.")
@click.option(
    "--repeats", type=click.IntRange(1, 100), default=1, metavar="N", help="Ask N times about every pair.  [1]"
)
@click.option("--dry-run", is_flag=True, help="Say what would be asked, and what it might cost; send nothing.")
@click.option("--again", is_flag=True, help="Ask anew what failed or was refused.")
@click.option("--latest-text", is_flag=True, help="Replace stored texts of documents by those of PAIRS.")
@click.option("--reparse", is_flag=True, help="Read stored answers with the reader of today; ask nothing.")
@click.option("--check", metavar="HUMAN", help="Judge what people judged, and compare: @people, @labels:NAME, a file.")
@click.option(
    "--gullible", type=click.IntRange(1), metavar="N", help="Ask again about N pairs of the lowest grade, with tricks."
)
@click.option("--batch", type=TARGET, metavar="FILE.jsonl", help="Write the questions as a batch; send nothing.")
@click.option(
    "--batch-results", multiple=True, type=FILE, metavar="FILE...", help="Take the answers from a batch's files."
)
@click.option("-o", "--output", type=TARGET, metavar="QRELS", help="Write the judge's grades to a file, too.")
@click.option("--format", type=click.Choice(["table", "json"]), default="table", help="What is printed.  [table]")
def judge_pairs(
    pairs: str | None,
    judges: tuple[str, ...],
    repeats: int,
    dry_run: bool,
    again: bool,
    latest_text: bool,
    reparse: bool,
    check: str | None,
    gullible: int | None,
    batch: str | None,
    batch_results: tuple[str, ...],
    output: str | None,
    format: str,
    settings: tuple[str, ...],
    **options: Any,
) -> None:
    """Have models or functions grade pairs, and keep every answer when it comes.

    PAIRS is what 'rankgauge pool' wrote; without it, the project's pool is judged. What was answered is never asked
    again: the same command goes on where it stopped. A failure is never a grade. Exit code 4: pairs have no grade.
    To look at judgments: 'rankgauge judgments'.

    \b
    Examples:
      rankgauge judge --judge gpt --dry-run
      rankgauge judge pairs.jsonl --judge gpt --repeats 3
      rankgauge judge --judge local --base-url http://localhost:8000/v1
      rankgauge judge --judge words --call mine:grade -o labels.txt
      rankgauge judge --judge gpt --check @people
      rankgauge judge --judge gpt --gullible 50
      rankgauge judge --judge gpt --batch ask.jsonl
      rankgauge judge --judge gpt --batch-results output.jsonl errors.jsonl
    """
    from rankgauge.cli.inputs import project
    from rankgauge.judge.asking import ask_judge, plan_judge
    from rankgauge.judge.reparse import read_again

    where = project()
    say = partial(_say, format == "json", output == "-")
    if check is not None and not (dry_run or batch or batch_results):
        _check(where, _checked(where, judges, settings, options), check, say, repeats=repeats, again=again)
        return
    if reparse:
        say([read_again(where, name) for name in _names(where, judges)], _again)
        return
    configs = _configs(where, judges, settings, options)
    if gullible is not None:
        _fool(where, configs, gullible, say, dry_run=dry_run)
        return
    asked = _pairs(where, pairs, configs) if check is None else _judged_by(where, check, configs)
    if not asked and not batch_results:
        say([])
    elif dry_run:
        say(
            [plan_judge(where, config, asked, repeats, again=again, latest_text=latest_text) for config in configs],
            _plan,
        )
    elif batch is not None:
        say([_batch(where, configs, asked, batch, repeats=repeats, again=again, latest_text=latest_text)], _written)
    else:
        shown = _progress if sys.stderr.isatty() else None
        results = (
            _from_files(where, configs, asked, batch_results, repeats=repeats, latest_text=latest_text)
            if batch_results
            else [
                ask_judge(where, each, asked, repeats=repeats, again=again, progress=shown, latest_text=latest_text)
                for each in configs
            ]
        )
        say(results)
        if output is not None:
            _write(where, configs, asked, output)
        _refuse_open(results)


def _configs(
    where: Project, names: Sequence[str], settings: tuple[str, ...], options: dict[str, Any]
) -> list[JudgeConfig]:
    """The judges that are named, or the only one that there is."""
    from rankgauge.judge.config import find_judge
    from rankgauge.systems.config import given_outright

    outright = given_outright(settings, **options)
    if len(names) > 1 and outright:
        raise click.UsageError("options describe one judge; write several as tables of rankgauge.toml: [judges.NAME]")
    return [find_judge(where, name, outright) for name in _names(where, names)]


def _names(where: Project, given: Sequence[str]) -> list[str]:
    there = where.settings.get("judges", {})
    if not given and not (isinstance(there, dict) and len(there) == 1):
        known = f"there are {', '.join(there)}" if isinstance(there, dict) and there else "such as --judge gpt"
        raise click.UsageError(f"name the judge: --judge NAME ({known})")
    return [*(given or there)]


def _pairs(where: Project, path: str | None, configs: Sequence[JudgeConfig]) -> list[Pair]:
    """The pairs of a file, or those of the pool that nobody else has graded."""
    from rankgauge.judge.asking import open_pairs
    from rankgauge.judge.pairs import read_pairs

    if path is None:
        return open_pairs(where, [config.name for config in configs])
    try:
        return read_pairs(path)
    except FormatError as error:
        raise FormatError(f"{error}. To look at judgments: rankgauge judgments {path}") from None


def _judged_by(where: Project, human: str, configs: Sequence[JudgeConfig]) -> list[Pair]:
    """The pairs that people judged."""
    from rankgauge.judge.check import people_of
    from rankgauge.judge.pairs import Pair

    return [Pair(query, doc) for query, doc, _ in people_of(where, human, configs[0].name)[1]]


def _checked(
    where: Project, names: Sequence[str], settings: tuple[str, ...], options: dict[str, Any]
) -> Sequence[JudgeConfig | str]:
    """The judges to check: those that can be asked, or by name one who only has labels."""
    there = where.settings.get("judges", {})
    if len(names) == 1 and not settings and not any(options.values()) and names[0] not in there:
        with where.store() as store:
            if any(row.judge == names[0] for row in store.labels()[0]):
                return names
    return _configs(where, names, settings, options)


def _check(
    where: Project, judges: Sequence[JudgeConfig | str], human: str, say: Callable[..., None], **how: Any
) -> None:
    """Each judge beside people."""
    from rankgauge.judge.check import check_judge

    shown = _progress if sys.stderr.isatty() else None
    checked = [check_judge(where, judge, human, progress=shown, **how) for judge in judges]
    say(checked)
    _refuse_open([each.judged for each in checked])


def _fool(
    where: Project, configs: Sequence[JudgeConfig], number: int, say: Callable[..., None], *, dry_run: bool
) -> None:
    """Each judge, put to the test."""
    from rankgauge.judge.asking import plan_judge
    from rankgauge.judge.gullible import fool_judge, tricks_of

    if dry_run:
        say([plan_judge(where, each, tricks_of(where, each, number), latest_text=True) for each in configs], _plan)
        return
    shown = _progress if sys.stderr.isatty() else None
    fooled = [fool_judge(where, config, number, progress=shown) for config in configs]
    say(fooled)
    tried = [each.judged for found in fooled for each in found.tried]
    _refuse_open([each for each in tried if each.stopped or each.errors])


def _batch(where: Project, configs: Sequence[JudgeConfig], pairs: Sequence[Pair], path: str, **how: Any) -> Batch:
    """The questions of one judge: a batch has one model."""
    from rankgauge.judge.batch import write_batch

    if len(configs) > 1:
        raise click.UsageError("a batch has one model; write one for each judge: --judge NAME --batch FILE.jsonl")
    return write_batch(where, configs[0], pairs, path, **how)


def _from_files(
    where: Project, configs: Sequence[JudgeConfig], pairs: Sequence[Pair], paths: Sequence[str], **how: Any
) -> list[Judged]:
    """What the files of batches say, of whichever judge."""
    from rankgauge.judge.batch import Results, read_batch

    results = Results(paths)
    judged = [read_batch(where, config, pairs, results, **how) for config in configs]
    results.check()
    return [replace(each, foreign=results.foreign) for each in judged]


def _say(as_json: bool, err: bool, results: Sequence[Any], lines: Callable[[Any], Iterator[str]] | None = None) -> None:
    """Print what came of every judge: as one object of JSON, or in words."""
    if as_json:
        from rankgauge.shown import clean

        held = [clean(each.data() if hasattr(each, "data") else each) for each in results]
        click.echo(json.dumps({"judges": held}, indent=2, ensure_ascii=False), err=err)
    elif not results:
        _echo(["Every pair of the pool has a grade; for grades of this judge, too, give PAIRS."], err)
    for each in results if not as_json else ():
        if lines:
            _echo(lines(each), err)
        else:
            click.echo(each.show(notes=True), nl=False, err=err)


def _echo(sentences: Iterable[str], err: bool) -> None:
    from rankgauge.show.text import wrapped

    for sentence in sentences:
        click.echo("\n".join(wrapped(sentence)), err=err)


def _plan(plan: dict[str, Any]) -> Iterator[str]:
    from rankgauge.judge.money import worth

    words = f"{plan['judge']}: {counted(plan['pair_count'], 'pair')}, {counted(plan['answered'], 'answer')} stored"
    yield f"{words}, {counted(plan['calls'], 'call')} to make{worth(plan)}."
    yield from _silent(plan)


def _silent(plan: Mapping[str, Any]) -> Iterator[str]:
    if plan["without_text"]:
        yield f"{counted(plan['without_text'], 'pair has', 'pairs have')} no text to judge."


def _written(batch: Batch) -> Iterator[str]:
    from rankgauge.judge.money import worth

    known = f"{batch.judge}: {counted(batch.pair_count, 'pair')}, {counted(batch.answered, 'answer')} stored"
    if not batch.files:
        yield f"{known}; nothing is left to ask, and nothing was written."
    else:
        yield f"{known}, {counted(batch.questions, 'question')} written{worth(batch._asdict())}; nothing was sent."
        yield from (f"  {name}" for name in batch.files)
        yield "Next: send it as a batch, then the same command with --batch-results FILE... for --batch."
    if batch.left:
        yield f"The budget has no room for {counted(batch.left, 'more question')}, each at its most."
    if batch.older:
        yield f"Caution: of an earlier batch, and no part of this one: {', '.join(batch.older)}."
    yield from _silent(batch._asdict())


def _again(read: Reread) -> Iterator[str]:
    words = f"{read.judge}: {counted(len(read.changed), 'stored answer is', 'stored answers are')} read otherwise"
    yield f"{words} than before, of {read.answers:,}."
    for each in read.changed[:LISTED]:
        yield f"  {each.query_id} {each.doc_id}: {_spelt(*each.before)} → {_spelt(*each.now)}"
    if len(read.changed) > LISTED:
        yield f"  … and {len(read.changed) - LISTED:,} more"


def _spelt(state: str, grade: float | None) -> str:
    return state if grade is None else f"{grade:g}"


def _progress(done: int, questions: int, failed: int, cost: float) -> None:
    words = f"{done:,} of {questions:,} answered" + (f", {failed:,} without a grade" if failed else "")
    words += f", cost {cost:,.4f}" if cost else ""
    click.echo(f"\r\033[K{words}", err=True, nl=done >= questions)


def _write(where: Project, configs: Sequence[JudgeConfig], pairs: Sequence[Pair], output: str) -> None:
    """The grades of these pairs: of one judge, or by vote of several."""
    from rankgauge.read import read_judgments
    from rankgauge.writers.write import write

    grades = where.labels(configs[0].name) if len(configs) == 1 else where.labels()
    wanted = {pair[:2] for pair in pairs}
    judged: dict[str, dict[str, float]] = {}
    for query, doc, grade in grades:
        if (query, doc) in wanted:
            judged.setdefault(query, {})[doc] = grade
    write(read_judgments(judged), output)


def _refuse_open(results: Sequence[Judged]) -> None:
    """End with an error where pairs have no grade."""
    from rankgauge.judge.judged import JudgingOpen

    left = [judged for judged in results if judged.open]
    if not left:
        return
    words = [f"{judged.judge}: {judged.lacking}" for judged in left]
    stopped = [f"stopped: {judged.stopped}" for judged in left if judged.stopped]
    how = "the same command goes on with what was not answered; --again asks anew what failed"
    raise JudgingOpen(f"{'; '.join(words)}; {how}" + "".join(f"\n  {each}" for each in stopped))
