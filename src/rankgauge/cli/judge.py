"""`rankgauge judge`: have models, or functions, grade pairs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from rankgauge.cli.options import FILE, command
from rankgauge.cli.strict import TARGET
from rankgauge.errors import FormatError, counted

if TYPE_CHECKING:
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
        "output",
    ),
    excludes=[
        ("dry_run", "reparse", "output"),
        ("pairs", "check", "reparse"),
        ("check", "output"),
        *(("gullible", each) for each in ("pairs", "repeats", "again", "reparse", "check", "output")),
    ],
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
@click.option("--reparse", is_flag=True, help="Read stored answers with the reader of today; ask nothing.")
@click.option("--check", metavar="HUMAN", help="Judge what people judged, and compare: @people, @labels:NAME, a file.")
@click.option(
    "--gullible", type=click.IntRange(1), metavar="N", help="Ask again about N pairs of the lowest grade, with tricks."
)
@click.option("-o", "--output", type=TARGET, metavar="QRELS", help="Write the judge's grades to a file, too.")
def judge_pairs(
    pairs: str | None,
    judges: tuple[str, ...],
    repeats: int,
    dry_run: bool,
    again: bool,
    reparse: bool,
    check: str | None,
    gullible: int | None,
    output: str | None,
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
    """
    from rankgauge.cli.inputs import project
    from rankgauge.store.project import needed

    with needed():
        from rankgauge.judge.asking import ask_judge, plan_judge
        from rankgauge.judge.reparse import read_again
    where = project()
    if check is not None and not dry_run:
        _check(where, _checked(where, judges, settings, options), check, repeats=repeats, again=again)
        return
    if reparse:
        for name in _names(where, judges):
            _say_again(read_again(where, name))
        return
    configs = _configs(where, judges, settings, options)
    if gullible is not None:
        _fool(where, configs, gullible, dry_run=dry_run)
        return
    asked = _pairs(where, pairs, configs) if check is None else _judged_by(where, check, configs)
    if not asked:
        click.echo("Every pair of the pool has a grade; to have this judge grade them, too, give PAIRS.")
        return
    if dry_run:
        for config in configs:
            _say_plan(config, plan_judge(where, config, asked, repeats))
        return
    shown = _progress if sys.stderr.isatty() else None
    results = [ask_judge(where, config, asked, repeats=repeats, again=again, progress=shown) for config in configs]
    for judged in results:
        click.echo(judged.show(notes=True), nl=False, err=output == "-")
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


def _check(where: Project, judges: Sequence[JudgeConfig | str], human: str, **how: Any) -> None:
    """Each judge beside people."""
    from rankgauge.judge.check import check_judge

    shown = _progress if sys.stderr.isatty() else None
    found = [check_judge(where, judge, human, progress=shown, **how) for judge in judges]
    for each in found:
        click.echo(each.show(notes=True), nl=False)
    _refuse_open([each.judged for each in found])


def _fool(where: Project, configs: Sequence[JudgeConfig], number: int, *, dry_run: bool) -> None:
    """Each judge, put to the test."""
    from rankgauge.judge.asking import plan_judge
    from rankgauge.judge.gullible import fool_judge, tricks_of

    shown = _progress if sys.stderr.isatty() else None
    for config in configs:
        if dry_run:
            _say_plan(config, plan_judge(where, config, tricks_of(where, config, number)))
            continue
        found = fool_judge(where, config, number, progress=shown)
        click.echo(found.show(notes=True), nl=False)
        _refuse_open([each.judged for each in found.tried if each.judged.stopped or each.judged.errors])


def _say_plan(config: JudgeConfig, plan: dict[str, Any]) -> None:
    from rankgauge.judge.money import amount

    words = f"{config.name}: {counted(plan['pairs'], 'pair')}, {counted(plan['answered'], 'answer')} stored"
    words += f", {counted(plan['calls'], 'call')} to make"
    if plan.get("tokens_in"):
        words += f", about {plan['tokens_in']:,.0f} tokens to read and {plan['tokens_out']:,.0f} to write"
    if plan.get("cost") is not None:
        currency = config.prices.currency if config.prices is not None else ""
        words += f", about {amount(plan['cost'], currency)}"
    click.echo(f"{words}.")
    if plan["without_text"]:
        click.echo(f"{counted(plan['without_text'], 'pair has', 'pairs have')} no text to judge.")


def _say_again(read: Reread) -> None:
    words = f"{read.judge}: {counted(len(read.changed), 'stored answer is', 'stored answers are')} read otherwise"
    click.echo(f"{words} than before, of {read.answers:,}.")
    for each in read.changed[:LISTED]:
        (state, grade), (now, new) = each.before, each.now
        click.echo(f"  {each.query_id} {each.doc_id}: {_spelt(state, grade)} → {_spelt(now, new)}")
    if len(read.changed) > LISTED:
        click.echo(f"  … and {len(read.changed) - LISTED:,} more")


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
    words = [f"{judged.judge}: {judged.open:,} of {counted(judged.pairs, 'pair')} have no grade" for judged in left]
    stopped = [f"stopped: {judged.stopped}" for judged in left if judged.stopped]
    how = "the same command goes on with what was not answered; --again asks anew what failed"
    raise JudgingOpen(f"{'; '.join(words)}; {how}" + "".join(f"\n  {each}" for each in stopped))
