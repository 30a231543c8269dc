"""Charts of trust: what unjudged documents leave open, what wrong labels would do, how well judges agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import InputError, counted
from rankgauge.measures import parse
from rankgauge.measures.gains import number_text
from rankgauge.show.charts.source import defined, kind_of
from rankgauge.show.charts.systems import BINS, ROW, Ridge, intervals, ridges, system_axis
from rankgauge.show.charts.theme import WIDTH, Frame, altair, data, told
from rankgauge.shown import clean
from rankgauge.trust.judges.agree import Agreement
from rankgauge.trust.judges.pairs import PairAgreement
from rankgauge.trust.judgments.quality import LabelNoise, Quality

if TYPE_CHECKING:
    from rankgauge.show.charts.source import Two
    from rankgauge.trust.judges.agree import Orders, Systems
    from rankgauge.trust.judgments.coverage import PairCoverage

__all__ = ["confusion", "judges", "noise", "unjudged", "unjudged_pairs"]

MOST_PAIRS: Final = 30  # of more, those that are open come first and the others are left to tables
NAMED: Final = 14  # systems, up to which each has a colour and a place in the legend
TWO_LINES: Final = 42  # pixels of a pair's row


# ---- what unjudged documents leave open ------------------------------------------------------------------------------


def unjudged(source: Quality, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The value of every run between its best and worst case once unjudged documents are judged, best first."""
    alt, frame = altair(), Frame.of(theme, width)
    quality = _quality(source)
    rows = [
        clean(each.bounds.mean) | {"system": each.name, "condensed": clean(each.condensed), "judged": each.judged,
                                   "expected": clean(each.expected), "open": int(each.bounds.open.sum())}
        for each in sorted(quality.runs, key=lambda each: -each.bounds.mean.value)
    ]  # fmt: skip
    if not rows:
        raise InputError("this chart shows runs, and there is none; give one or more")
    tooltip = [told("system"), *_range_tooltip(".4f"), told("condensed", ".4f"), told("expected", ".4f")]
    tooltip += [told("judged", ".1%"), told("open", ",", "unjudged documents")]
    base = alt.Chart(data(rows)).encode(y=system_axis(frame, [row["system"] for row in rows]), tooltip=tooltip)
    layers = _range_marks(base, f"mean {quality.measure}", alt.value(frame.theme.gain))
    marks = (("expected", "diamond", 110, frame.theme.loss), ("condensed", "cross", 55, frame.theme.quiet))
    for field, shape, size, colour in marks:
        mark = base.mark_point(filled=True, shape=shape, size=size, color=colour, opacity=1)
        layers.insert(-2, mark.encode(x=f"{field}:Q"))
    words = "Bars: over all grades of unjudged documents. ● as judged, ◆ expected (optimistic), ✚ condensed"
    title = f"{quality.measure}: best and worst case"
    return frame.chart(layers, title, _caption(quality, words), len(rows) * ROW + 10)


def unjudged_pairs(source: Quality, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The difference of every pair between its best and worst case once unjudged documents are judged.

    What could be turned round is orange. Of more than 30 pairs the open ones are shown, the widest first.
    """
    alt, frame = altair(), Frame.of(theme, width)
    quality = _quality(source)
    rows = _comparable(quality)
    shown = sorted(rows[:MOST_PAIRS], key=lambda row: -float(row["value"]))
    axis = frame.names(labelExpr="split(datum.label, '\\n')")
    tooltip = [
        told("a"),
        told("b"),
        *_range_tooltip("+.4f"),
        told("open", ",", "unjudged documents"),
        told("so", title="verdict"),
    ]
    y = alt.Y("pair:N", sort=[row["pair"] for row in shown], title=None, axis=axis)
    base = alt.Chart(data(shown)).encode(y=y, tooltip=tooltip)
    colour = alt.condition("datum.settled", alt.value(frame.theme.gain), alt.value(frame.theme.loss))
    zero = alt.Chart(data([{"value": 0}])).mark_rule(color=frame.theme.quiet, strokeDash=[5, 4])
    layers = [zero.encode(x="value:Q"), *_range_marks(base, f"difference of {quality.measure}", colour, "+.4f")]
    words = "Bars: over all grades of unjudged documents, each having one grade in both runs"
    words += ". Blue: the order stays; orange: unjudged documents decide"
    words += _not_shown(len(shown), len(rows), len(quality.pairs))
    title = f"Differences of {quality.measure}: best and worst case"
    return frame.chart(layers, title, _caption(quality, words), len(shown) * TWO_LINES + 10)


def _comparable(quality: Quality) -> list[dict[str, Any]]:
    """The pairs that have a query in common: first those that are open, the widest first."""
    if not quality.pairs:
        raise InputError("this chart compares runs, and there is one at most; give two or more")
    rows = [_pair(pair) for pair in quality.pairs if pair.bounds.mean.value == pair.bounds.mean.value]
    if not rows:
        raise InputError("this chart compares runs on the queries that both have, and no two have one in common")
    return sorted(rows, key=lambda row: (row["settled"], row["low"] - row["high"]))


def _not_shown(shown: int, rows: int, pairs: int) -> str:
    words = f". {shown} of {rows:,} pairs, the open ones first" if shown < rows else ""
    return words + (f". Pairs without a common query, and not shown: {pairs - rows:,}" if rows < pairs else "")


def _quality(source: Any) -> Quality:
    if not isinstance(source, Quality) or source.sheet is None:
        without = " without runs" if isinstance(source, Quality) else ""
        raise InputError(
            f"this chart needs what rankgauge.quality(judgments, runs) returns; got {kind_of(source)}{without}"
        )
    return source


def _pair(pair: PairCoverage) -> dict[str, Any]:
    ends: dict[str, Any] = clean(pair.bounds.mean)
    return ends | {
        "a": pair.a, "b": pair.b, "pair": f"{pair.a}\n− {pair.b}",
        "settled": pair.bounds.settled or ends["low"] == ends["high"], "open": int(pair.bounds.open.sum()),
        "so": pair.verdict,
    }  # fmt: skip


def _range_marks(base: Any, title: str, colour: Any, format: str = ".4f") -> list[Any]:
    """The interval, the value in it, and its number above."""
    bar, point, text = intervals(base, "value", title, thick=9, size=95, opacity=0.4, format=format)
    return [bar.encode(color=colour), point.encode(color=colour), text]


def _range_tooltip(format: str) -> list[Any]:
    return [told("value", format, "as judged"), told("low", format, "lowest"), told("high", format, "highest")]


def _caption(quality: Quality, words: str) -> str:
    assert quality.sheet is not None
    result = next(iter(quality.sheet.results.values()))
    scale = ", ".join(map(number_text, quality.sheet.scale.grades.tolist()))
    definition = defined(result.definitions[quality.measure])
    return f"{counted(len(quality.sheet.queries), 'query', 'queries')}. {words}. The scale is {scale}. {definition}."


# ---- wrong labels ----------------------------------------------------------------------------------------------------


def noise(source: LabelNoise | Quality, *, theme: str = "light", width: int = WIDTH) -> Any:
    """What each system's value is over draws of the true grades, with the value as labelled."""
    frame = Frame.of(theme, width)
    found = source.noise if isinstance(source, Quality) else source
    if not isinstance(found, LabelNoise):
        raise InputError(
            f"this chart needs label noise: rankgauge.label_noise(judgments, runs, error_rate=0.1), or quality(…) with "
            f"an error rate or a confusion matrix; got {kind_of(source)}"
        )
    low, high = float(min(found.draws.min(), found.value.min())), float(max(found.draws.max(), found.value.max()))
    room = (high - low) * 0.02 or 0.01
    edges = np.linspace(low - room, high + room, 2 * BINS + 1)
    rows = [
        Ridge(each.system, draws, each.mean, each.value, f"{each.value:.4f} · {each.low:.4f} to {each.high:.4f}")
        for draws, each in zip(found.draws.T, found.scores, strict=True)
    ]
    layers = ridges(frame, rows, edges, title=found.measure, counted="draws", names=("mean of draws", "as labelled"))
    words = f"{counted(len(found.draws), 'draw')} of the true grades given the labels. ◆ their mean, | as labelled"
    definition = defined(parse(found.measure).definition.summary)
    words += f". At the right the value as labelled and the middle 95 % of the draws. {found.measure}: {definition}"
    return frame.chart(layers, f"{found.measure} under label noise", words, len(rows) * 80)


# ---- judges ----------------------------------------------------------------------------------------------------------


def confusion(source: Agreement | PairAgreement, *, pair: Two = None, theme: str = "light", width: int = WIDTH) -> Any:
    """How often one judge gave the grade of the row and another that of the column, shaded by shares of the row."""
    alt, frame = altair(), Frame.of(theme, width)
    found = _two(source, pair)
    rows, names = _cells(found), [number_text(grade) for grade in found.grades.tolist()]
    look: dict[str, Any] = {"ticks": False, "domain": False, "grid": False, "labelColor": frame.theme.text}
    look |= {"labelAngle": 0, "labelFontSize": 13, "titleLimit": frame.width}
    names_told = [told("a", title=found.a), told("b", title=found.b)]
    base = alt.Chart(data(rows)).encode(
        x=alt.X("b:N", sort=names, title=f"grade by {found.b}", axis=alt.Axis(orient="top", **look)),
        y=alt.Y("a:N", sort=names, title=f"grade by {found.a}", axis=alt.Axis(**look)),
        tooltip=[*names_told, told("pairs", ","), told("share", ".1%", "of the row")],
    )
    side = max(18, min(84, round((frame.width - 110) / len(names))))
    box = base.mark_rect(stroke=frame.theme.background, strokeWidth=2, cornerRadius=3)
    layers = [box.encode(color=frame.shade("shade"))]
    if side > 26:
        numbers = base.mark_text(fontWeight=600, fontSize=13 if side > 44 else 10, dy=-7 if side > 44 else 0)
        layers.append(numbers.encode(text=alt.Text("pairs:Q", format=",d")))
    if side > 44:
        layers.append(base.mark_text(fontSize=11, dy=9).encode(text=alt.Text("share:Q", format=".0%")))
    height = len(names) * min(side, 62)
    return frame.chart(layers, f"{found.a} and {found.b}", _agreed(found), height)


def _two(source: Any, pair: Two) -> PairAgreement:
    if isinstance(source, Agreement):
        if pair is None and len(source.pairs) > 1:
            known = ", ".join(f"{each.a} and {each.b}" for each in source.pairs)
            raise InputError(f"this chart shows two judges; choose a pair: {known}")
        source = source.pairs[0] if pair is None else source.either_way(*pair)
    if not isinstance(source, PairAgreement):
        raise InputError(f"this chart needs what rankgauge.agree returns; got {kind_of(source)}")
    if not source.shared:
        raise InputError(f"{source.a} and {source.b} have no judged pair in common")
    return source


def _cells(pair: PairAgreement) -> list[dict[str, Any]]:
    """A row per cell; shares of agreement are above 0 in `shade`, the others below."""
    names, rows = [number_text(grade) for grade in pair.grades.tolist()], []
    for a, counts in zip(names, pair.matrix, strict=True):
        whole = max(1.0, float(counts.sum()))
        for b, count in zip(names, counts.tolist(), strict=True):
            share = count / whole
            shade = share if a == b else -share
            rows.append({"a": a, "b": b, "pairs": int(count), "share": share, "shade": 0.85 * shade})
    return rows


def _agreed(pair: PairAgreement) -> str:
    plain, quadratic = (_short(pair.kappa[weights].value) for weights in ("none", "quadratic"))
    bias, same = _short(pair.bias.value, sign="+"), f"{100 * pair.agreement.value:.0f} %"
    return (
        f"{counted(pair.shared, 'pair')} judged by both, {same} with the same grade (blue). κ {plain}, quadratic "
        f"{quadratic}; {pair.b} − {pair.a} is {bias} on average. Per cent: of the row."
    )


def _short(number: float, sign: str = "") -> str:
    return f"{number:{sign}.3f}".replace("-", "−") if number == number else "–"


def judges(source: Agreement, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The value of every system under each judge: lines that cross are systems that change places."""
    alt, frame = altair(), Frame.of(theme, width)
    if not isinstance(source, Agreement) or source.systems is None:
        raise InputError(
            "this chart needs what rankgauge.agree(…, runs={'a': run, 'b': run}) returns; "
            f"got {kind_of(source)}{' without runs' if isinstance(source, Agreement) else ''}"
        )
    systems = source.systems
    few = len(systems.systems) <= NAMED
    first = next(iter(systems.values))
    names = sorted(systems.systems, key=lambda name: -systems.values[first][name])
    moved = alt.condition("datum.moved", alt.value(frame.theme.loss), alt.value(frame.theme.gain))
    base = _under_each(frame, systems).encode(color=frame.colour("system", names) if few else moved)
    lines = base.mark_line(strokeWidth=2.5)
    lines = lines.encode(strokeDash=frame.dash("system", names)) if few else lines
    orders = ". ".join(_order_words(each) for each in systems.orders)
    words = f"{counted(systems.queries, 'query', 'queries')} that all judges have. Against {first}: {orders}."
    words += "" if few else " Orange: systems whose place is not the same under all."
    title = f"{systems.measure} of {counted(len(names), 'system')} under each judge"
    return frame.chart([lines, base.mark_point(filled=True, size=60, opacity=1)], title, words, (300, 380))


def _under_each(frame: Frame, systems: Systems) -> Any:
    """Judges beside each other, values upwards."""
    alt, judged = altair(), list(systems.values)
    below = alt.Axis(labelAngle=0, labelLimit=frame.width // len(judged), labelColor=frame.theme.text)
    scale = alt.Scale(type="point", padding=0.3)
    y = alt.Y("value:Q", title=f"mean {systems.measure}", scale=alt.Scale(zero=False)).axis(tickCount=6)
    return alt.Chart(data(_places(systems.values))).encode(
        x=alt.X("judge:N", sort=judged, title=None, scale=scale, axis=below),
        y=y,
        detail="system:N",
        tooltip=[told("system"), told("judge"), told("value", ".4f"), alt.Tooltip("place:Q")],
    )


def _places(values: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """A row per judge and system; equal values share a place."""
    rows = []
    places = {
        judge: {name: 1 + sum(other > value for other in each.values()) for name, value in each.items()}
        for judge, each in values.items()
    }
    for judge, each in values.items():
        for name, value in each.items():
            moved = len({place[name] for place in places.values()}) > 1
            row = {"judge": judge, "system": name, "value": value, "place": places[judge][name], "moved": moved}
            rows.append(row)
    return rows


def _order_words(order: Orders) -> str:
    counts = f"{order.kept} significant differences kept, {len(order.lost)} lost, {len(order.turned)} turned round"
    counts = "one query, so that no difference was tested" if order.kept is None else counts
    return f"{order.judge} τ {_short(order.tau_b)}, τ_AP {_short(order.tau_ap)}, {counts}"
