"""`rankgauge plot`: a chart of runs as a PNG, an SVG or a page."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from rankgauge.cli.options import FILE, command, protocol_options, reading_options, shared
from rankgauge.cli.output import output_options
from rankgauge.errors import unknown

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Inputs, Reading
    from rankgauge.cli.output import Output
    from rankgauge.protocol import Protocol
    from rankgauge.result import Evaluation
    from rankgauge.trust.judges.agree import Agreement
    from rankgauge.trust.judgments.quality import LabelNoise, Quality

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
    "matrix": "the difference of every pair, and which are significant",
    "detectable": "the minimum detectable effect by number of queries",
    "unjudged": "best and worst case of every run (unjudged documents)",
    "unjudged-pairs": "best and worst case of every difference",
    "noise": "every run under wrong labels (--error-rate, --confusion)",
    "confusion": "the grades of two judges for the same pairs (--second)",
    "judges": "every run under each judge (--second)",
}
TRUST: Final = ("unjudged", "unjudged-pairs", "noise", "confusion", "judges")
COMPARING: Final = frozenset({"forest", "matrix", "detectable"})  # of two systems or more
OTHERS: Final = tuple(f"kind={kind}" for kind in KINDS if kind not in TRUST)
JUDGES: Final = ("kind=confusion", "kind=judges")
# Option → the kinds of chart that it changes something in.
NEEDS: Final = {
    "pair": ("kind=differences", "kind=scatter", "kind=detectable", "kind=confusion"),
    "last_k": "kind=at-k",
    "second": JUDGES,
    "repeated": JUDGES,
    "scale": tuple(f"kind={kind}" for kind in TRUST),
    "error_rate": "kind=noise",
    "confusion": "kind=noise",
    **dict.fromkeys(("by", "weights", "sample", "per", "population", "baseline", "dialect"), OTHERS),
}


def known_kind(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """The kind of chart; of another word, the nearest is named."""
    if value not in KINDS:
        raise click.BadParameter(unknown(f"there is no chart {value!r}", value.replace("_", "-"), KINDS))
    return value


def complete_kinds(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Kinds that begin with what was typed."""
    return [kind for kind in KINDS if kind.startswith(incomplete)]


@command(
    "plot",
    usual=("measures", "pair", "baseline", "by", "last_k", "second", "error_rate", "theme", "width", "output"),
    needs=NEEDS,
    excludes=[("error_rate", "confusion"), ("weights", "sample")],
    renamed={"--to": "--last-k"},
)
@click.argument("kind", callback=known_kind, shell_complete=complete_kinds)
@click.argument("qrels", type=FILE)
@click.argument("runs", nargs=-1, type=FILE, metavar="[NAME=]RUN...")
@output_options(("png", "svg", "html"), required=True)
@shared("measures_from", measures="The measure.  [nDCG@10]")
@click.option("--pair", nargs=2, metavar="A B", help="Two systems or judges.  [the first two]")
@shared("baseline")
@click.option("--last-k", type=click.IntRange(2, 10_000), metavar="K", help="at-k: the last cut-off.  [100]")
@shared(
    second="confusion, judges: labels of another judge.",
    repeated="With --second: how to combine several grades for one pair.",
    error_rate="noise: the share of wrong labels.",
    confusion="noise: a matrix, rows true, columns label.",
    scale="unjudged, noise, confusion, judges: the grades, as 0,1,2,3.  [those that are there]",
)
@click.option("--theme", type=click.Choice(["light", "dark"]), default="light", help="Of a PNG or SVG.  [light]")
@click.option("--width", type=click.IntRange(240, 4000), default=720, help="Pixels of a PNG or SVG.  [720]")
@shared("dialect", "by", "weights", "sample", "per", "population")
@protocol_options
@reading_options
def plot_runs(kind: str, output: Output, theme: str, width: int, **asked: Any) -> None:
    """Draw one chart of runs as PNG, SVG, or a page (.html) that shows the numbers under the pointer.

    \b
    Examples:
      rankgauge plot forest qrels.txt bm25.run reranked.run -o forest.png
      rankgauge plot differences qrels.txt old=a.run new=b.run -o differences.html
      rankgauge plot at-k qrels.txt a.run b.run -m R@10 --last-k 1000 -o r.svg
      rankgauge plot groups qrels.txt a.run b.run --by segments.csv -o groups.svg
      rankgauge plot noise qrels.txt a.run b.run --error-rate 0.1 -o noise.svg
      rankgauge plot confusion human=qrels.txt --second llm=llm.txt -o matrix.svg
    """
    from rankgauge.show.formats import save
    from rankgauge.show.model import Chart, Page, Section

    draw = _draw(kind, **asked)
    look = draw if output.format == "html" else functools.partial(draw, theme=theme, width=width)
    save(Page(kind, [Section(kind, "", [Chart(kind, "", "", look)])], dict), output.path, output.format)


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
    last_k: int | None,
    reading: Reading,
    second: tuple[str, ...],
    **asked: Any,
) -> Any:
    """The chart as a function of theme and width."""
    from rankgauge.cli.inputs import Inputs
    from rankgauge.show import charts
    from rankgauge.show.charts.theme import altair

    altair()  # before there is work to be lost
    if kind != "confusion" and not runs:
        raise click.UsageError("Missing argument '[NAME=]RUN...'.")
    measure = _one_measure(kind, measures)
    more: dict[str, Any] = {name: value for name, value in (("pair", pair), ("last_k", last_k)) if value}
    if measure is not None and kind == "precision-recall":
        more["measure"] = measure
    inputs = Inputs(
        reading, None if second else qrels, runs, judges=(qrels, *second) if second else (),
        tables=[asked[name] for name in ("by", "weights", "sample", "confusion")],
    )  # fmt: skip
    inputs.warn_of_labels()
    if kind in SOURCES:
        source = SOURCES[kind](inputs, measure or "nDCG@10", **asked)
    else:
        about = {name: asked[name] for name in ("dialect", "by", "weights")}
        about |= inputs.sample(asked["sample"], asked["weights"], asked["per"], asked["population"])
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


# ---- judgments and judges --------------------------------------------------------------------------------------------


def _quality(inputs: Inputs, measure: str, *, protocol: Protocol, scale: Any, **others: Any) -> Quality:
    from rankgauge.trust.judgments.quality import quality

    return quality(inputs.judgments, inputs.runs, measure, scale=scale, protocol=protocol)


def _noise(
    inputs: Inputs, measure: str, *, protocol: Protocol, scale: Any, error_rate: Any, confusion: Any, **others: Any
) -> LabelNoise:
    from rankgauge.trust.judgments.quality import label_noise

    if error_rate is None and confusion is None:
        raise click.UsageError("noise needs --error-rate X or --confusion FILE, one of the two")
    wrong = {"error_rate": error_rate, "confusion": confusion}
    return label_noise(inputs.judgments, inputs.runs, measure, scale=scale, protocol=protocol, **wrong)


def _agreement(
    inputs: Inputs, measure: str, *, protocol: Protocol, scale: Any, repeated: str | None, **others: Any
) -> Agreement:
    from rankgauge.trust.judges.agree import agree

    if not inputs.judges:
        raise click.UsageError("this chart is of two judges; give the other's judgments: --second [NAME=]QRELS")
    rules = {"scale": scale, "repeated": repeated, "protocol": protocol}
    return agree(inputs.judges, runs=inputs.runs or None, measure=measure, **rules)


def _confusion(inputs: Inputs, measure: str, **asked: Any) -> Agreement:
    for run in inputs.runs.values():
        raise click.UsageError(f"confusion is of judges and shows no runs; leave {run.origin} out, or take judges")
    return _agreement(inputs, measure, **asked)


# Kind of chart → what it is made from.
SOURCES: Final[dict[str, Callable[..., Any]]] = {
    "unjudged": _quality,
    "unjudged-pairs": _quality,
    "noise": _noise,
    "confusion": _confusion,
    "judges": _agreement,
}
