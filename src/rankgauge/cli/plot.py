"""`rankgauge plot`: a chart of runs as a PNG, an SVG or a page."""

from __future__ import annotations

import functools
import inspect
import os
from typing import TYPE_CHECKING, Any, Final

import click

from rankgauge.cli.agree import REPEATED
from rankgauge.cli.judgments import grades_given
from rankgauge.cli.options import FILE, complete_measures, measures_from_option, protocol_options, reading_options
from rankgauge.errors import choices, unknown

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.result import Evaluation

__all__ = ["plot_runs"]

# Kind → what it shows. Help must not import the charts: they load numpy.
KINDS: Final = {
    "forest": "the mean of every system with its interval",
    "differences": "the difference of two systems on every query, sorted",
    "scatter": "one system's value against another's, a point per query",
    "distribution": "how many queries have which value",
    "at-k": "a measure at every cut-off from 1 to 100",
    "precision-recall": "interpolated precision against recall",
    "groups": "every group of queries (--by)",
    "matrix": "the difference of every pair, and which are separable",
    "detectable": "the difference that so many queries could show",
    "unjudged": "the interval that unjudged documents leave open, of every run",
    "unjudged-pairs": "the same of the difference of every pair of runs",
    "noise": "what wrong labels would make of every run (--error-rate, --confusion)",
    "confusion": "which grades two judges gave to the same pairs (--second; no runs)",
    "judges": "the runs under each judge (--second)",
}
ENDINGS: Final = (".png", ".svg", ".html")
COMPARING: Final = frozenset({"forest", "matrix", "detectable"})  # of two systems or more


def known_kind(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """The kind of chart; of another word, the nearest is named."""
    if value not in KINDS:
        raise click.BadParameter(unknown(f"there is no chart {value!r}", value.replace("_", "-"), KINDS))
    return value


def complete_kinds(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Kinds that begin with what was typed."""
    return [kind for kind in KINDS if kind.startswith(incomplete)]


@click.command("plot")
@click.argument("kind", callback=known_kind, shell_complete=complete_kinds)
@click.argument("qrels", type=FILE)
@click.argument("runs", nargs=-1, type=FILE, metavar="[NAME=]RUN...")
@click.option("-o", "--output", required=True, metavar="FILE", help=f"What to write: {choices(ENDINGS)}.")
@click.option(
    "-m", "--measure", "measures", multiple=True, help="The measure, one.  [nDCG@10]", shell_complete=complete_measures
)
@measures_from_option
@click.option("--pair", nargs=2, metavar="A B", help="Two systems: A − B; confusion: two judges.  [the first two]")
@click.option("--baseline", metavar="NAME", help="Compare each system with this one only.  [every pair]")
@click.option("--to", type=click.IntRange(2, 10_000), help="at-k: the last cut-off.  [100]")
@click.option(
    "--second", multiple=True, type=FILE, metavar="[NAME=]QRELS", help="confusion, judges: another judge's judgments."
)
@click.option("--repeated", type=click.Choice(REPEATED), help="With it: pairs judged more than once, which grade.")
@click.option("--error-rate", type=click.FloatRange(0, 1), metavar="X", help="noise: the share of wrong labels.")
@click.option("--confusion", type=FILE, metavar="FILE", help="noise: a matrix, rows true, columns label.")
@click.option(
    "--scale",
    metavar="LIST",
    callback=grades_given,
    help="unjudged, noise, confusion, judges: the grades, as 0,1,2,3.  [those that are there]",
)
@click.option("--theme", type=click.Choice(["light", "dark"]), default="light", help="Of a PNG or SVG.  [light]")
@click.option("--width", type=click.IntRange(240, 4000), default=720, help="Pixels of a PNG or SVG.  [720]")
@click.option("--dialect", metavar="NAME", help="Plot what another tool says; 'rankgauge dialects' lists them.")
@click.option("--by", metavar="FILE", help="Groups of queries: a table with a query and a group column.")
@click.option("--weights", metavar="FILE", help="Weights of queries: a table with a query and a weight column.")
@protocol_options
@reading_options
def plot_runs(kind: str, output: str, theme: str, width: int, **asked: Any) -> None:
    """Draw a chart of runs: KIND, the judgments, and one run or more.

    A PNG is twice as fine as its width says. A page (.html) loads nothing, shows the numbers under the pointer, and
    follows the reader's theme and the width of the window.

    \b
    Examples:
      rankgauge plot forest qrels.txt bm25.run reranked.run -o forest.png
      rankgauge plot differences qrels.txt old=a.run new=b.run --pair new old -o differences.html
      rankgauge plot at-k qrels.txt bm25.run reranked.run -m R@10 --to 1000 -o recall.svg
      rankgauge plot groups qrels.txt a.run b.run --by segments.csv -o groups.svg --theme dark
      rankgauge plot matrix qrels.txt runs/*.run -o matrix.png --width 1200
      rankgauge plot unjudged qrels.txt bm25.run reranked.run -o open.svg
      rankgauge plot noise qrels.txt bm25.run reranked.run --error-rate 0.1 -o noise.svg
      rankgauge plot confusion people=qrels.txt --second model=model.txt -o confusion.svg
      rankgauge plot judges people=qrels.txt bm25.run reranked.run --second model=model.txt -o judges.svg
    """
    ending = os.path.splitext(output)[1].lower()
    if ending not in ENDINGS:
        found = repr(ending) if ending else "a name without an ending"
        raise click.UsageError(f"-o {output}: a chart is written to {choices(ENDINGS)}, not to {found}")
    from rankgauge.show.files import save
    from rankgauge.show.model import Chart, Page, Section

    draw = _draw(kind, **asked)
    look = draw if ending == ".html" else functools.partial(draw, theme=theme, width=width)
    save(Page(kind, [Section(kind, "", [Chart(kind, "", "", look)])], dict), output)


plot_runs.help = f"{inspect.cleandoc(plot_runs.help or '')}\n\n\b\nKinds:\n" + "\n".join(
    f"  {kind:17} {words}" for kind, words in KINDS.items()
)


def _draw(
    kind: str,
    qrels: str,
    runs: tuple[str, ...],
    *,
    measures: tuple[str, ...],
    pair: tuple[str, str] | None,
    baseline: str | None,
    to: int | None,
    reading: Reading,
    second: tuple[str, ...],
    **asked: Any,
) -> Any:
    """The chart as a function of theme and width."""
    from rankgauge.cli.inputs import Inputs
    from rankgauge.cli.plotting import TRUST, check_options
    from rankgauge.show import charts
    from rankgauge.show.charts.theme import altair

    altair()  # before there is work to be lost
    check_options(kind, {"pair": pair, "baseline": baseline, "to": to, "runs": runs, "second": second, **asked})
    measure = _one_measure(kind, measures)
    more: dict[str, Any] = {name: value for name, value in (("pair", pair), ("to", to)) if value}
    if measure is not None and kind == "precision-recall":
        more["measure"] = measure
    inputs = Inputs(
        reading, None if second else qrels, runs, judges=(qrels, *second) if second else (),
        tables=[asked[name] for name in ("by", "weights", "confusion")],
    )  # fmt: skip
    if kind in TRUST:
        source = TRUST[kind](inputs, measure or "nDCG@10", **asked)
    else:
        about = {name: asked[name] for name in ("dialect", "by", "weights")}
        source = _source(kind, inputs.evaluate([measure or "nDCG@10"], asked["protocol"], **about), baseline)
    return functools.partial(charts.KINDS[kind], source, **more)


def _one_measure(kind: str, measures: tuple[str, ...]) -> str | None:
    """The measure asked for; several, or one that the chart would not show, are refused."""
    from rankgauge.measures import parse

    if len(measures) > 1:
        raise click.UsageError(
            f"a chart shows one measure, not {len(measures)} (-m {' -m '.join(measures)}); draw each"
        )
    if measures and kind == "precision-recall" and parse(measures[0]).name != "IPrec":
        raise click.UsageError(
            f"-m {measures[0]}: precision-recall shows interpolated precision at 11 levels of recall; leave -m out, or "
            "give IPrec with parameters, such as 'IPrec(rel=2)@0'"
        )
    return measures[0] if measures else None


def _source(kind: str, named: Evaluation, baseline: str | None) -> Any:
    """The results, or their comparison where the chart shows decisions."""
    from rankgauge.comparison.compare import Settings, compare_results

    if baseline is not None and baseline not in named:
        raise click.UsageError(unknown(f"--baseline: there is no system {baseline!r}", baseline, named))
    alone = kind == "forest" and baseline is None and len(named.first.query_ids) < 2  # means can be shown, not compared
    if len(named) < 2 or alone or (kind not in COMPARING and baseline is None) or kind in ("at-k", "precision-recall"):
        return named
    return compare_results(named, Settings(baseline=baseline))
