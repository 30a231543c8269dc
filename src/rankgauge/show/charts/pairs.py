"""Charts of pairs of systems: query by query, against each other, every pair, and what this set could detect."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count, groupby, pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.comparison.ranges import too_few
from rankgauge.comparison.verdict import NOT_SIGNIFICANT, p_text
from rankgauge.errors import InputError, counted
from rankgauge.show.cells import MISSING
from rankgauge.show.charts.source import caption, comparison_of, ends_of, pair_of, values_of
from rankgauge.show.charts.theme import BOLD_LETTER, WIDTH, Frame, altair, data, diagonal, told
from rankgauge.show.names import some_names
from rankgauge.stats import power
from rankgauge.stats.paired import TIE

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Compared
    from rankgauge.comparison.pairs import Pair
    from rankgauge.comparison.settings import Settings
    from rankgauge.comparison.values import Values
    from rankgauge.show.charts.source import Asked, Source, Two

__all__ = ["detectable", "differences", "matrix", "scatter"]

MANY: Final = 1_200  # bars, beyond which those in the middle are drawn together: a screen has no more columns
THIN: Final = 150  # bars, beyond which there is no gap between them
ENDS: Final = 300  # queries at either end that keep a bar of their own
LINE: Final = 16  # pixels of a line of words among the marks
APART: Final = 0.07  # of the height of all curves: a line of words
WORDS: Final = 0.2  # of the height of all bars: two lines of words
NEITHER: Final = "neither"  # is better: beside the keys `a` and `b`, which are no names either


# ---- query by query --------------------------------------------------------------------------------------------------


def differences(
    source: Source, measure: Asked = None, *, pair: Two = None, theme: str = "light", width: int = WIDTH
) -> Any:
    """The difference of two systems on every query, sorted: who wins where, and by how much."""
    alt, frame = altair(), Frame.of(theme, width)
    values = values_of(source, measure)
    a, b = pair_of(source, values, pair)
    rows = _bars(values, a, b)
    axis = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    scale = alt.Scale(domain=[0, len(values.queries)], nice=False)
    colour = alt.condition("datum.difference > 0", alt.value(frame.theme.gain), alt.value(frame.theme.loss))
    bars = alt.Chart(data(rows)).mark_bar(binSpacing=0, strokeWidth=0.7).encode(
        x=alt.X("from:Q", axis=axis, scale=scale, title="queries, by difference"), x2="to",
        y=alt.Y("difference:Q", title=f"{values.measure}: difference", scale=_around(values, a, b)), y2=alt.datum(0),
        color=colour, stroke=colour if len(rows) > THIN else alt.value(frame.theme.background),
        tooltip=[told("query"), *_both(a, b), told("words", title="difference")],
    )  # fmt: skip
    words = f"Each bar is a query; the dashed line is the mean difference, {_signed(_mean_difference(values, a, b))}"
    layers = [bars, *_annotations(frame, values, a, b)]
    return frame.chart(layers, f"{values.measure}: {a} − {b}", caption(values, words), (260, 320))


def _around(values: Values, a: str, b: str) -> Any:
    """A scale with room for the words in the corners: above zero and the bars of the right half, below the left."""
    apart = np.sort(values.difference(a, b))
    low, high, half = min(0.0, float(apart[0])), max(0.0, float(apart[-1])), len(apart) // 2
    room = WORDS * ((high - low) or 1.0)
    over, under = max(0.0, float(apart[-1 - half])), min(0.0, float(apart[half]))
    return altair().Scale(domain=[min(low, under - room), max(high, over + room)])


def _mean_difference(values: Values, a: str, b: str) -> float:
    return float(np.average(values.difference(a, b), weights=values.weights))


def _signed(number: float) -> str:
    return f"{number:+.4f}".replace("-", "−") if number else "0.0000"


def _bars(values: Values, a: str, b: str) -> list[dict[str, Any]]:
    """A row per query, largest difference first; queries of equal values are one row, and so are neighbours in the
    middle of very many."""
    apart, first, second = values.difference(a, b), values.of(a), values.of(b)
    order = np.lexsort((first, -apart)).tolist()
    rows: list[dict[str, Any]] = []
    for start, end in _spans(order, list(zip(apart.tolist(), first.tolist(), strict=True))):
        at = order[start:end]
        low, high = float(apart[at[-1]]), float(apart[at[0]])
        same = low == high and np.ptp(first[at]) == 0
        some = at[:1] if same else at
        row = {"from": start, "to": end, "query": some_names([values.queries[each] for each in at])}
        row |= _leads(values, at) | {
            "difference": float(apart[some].mean()),
            "a": float(first[some].mean()),
            "b": float(second[some].mean()),
        }
        rows.append(row | {"words": _signed(low) if same else f"{_signed(low)} to {_signed(high)}"})
    return rows


def _leads(values: Values, at: list[int]) -> dict[str, str]:
    """The query to whose page a mark leads; one of several queries leads nowhere."""
    return {"id": values.queries[at[0]]} if len(at) == 1 else {}


def _spans(order: list[int], values: list[tuple[float, float]]) -> Iterator[tuple[int, int]]:
    """Where each bar begins and ends in the order: equal values together; beyond many, neighbours in the middle."""
    bounds = [0, *np.cumsum([len(list(same)) for _, same in groupby(order, key=values.__getitem__)]).tolist()]
    number = len(bounds) - 1
    if number <= MANY:
        return pairwise(bounds)
    step = math.ceil((number - 2 * ENDS) / (MANY - 2 * ENDS))
    return pairwise([*bounds[:ENDS], *bounds[ENDS : number - ENDS : step], *bounds[number - ENDS :]])


def _annotations(frame: Frame, values: Values, a: str, b: str) -> list[Any]:
    """The mean difference as a line, and how many queries each system wins, in the corners that stay empty.

    A name has a line of its own: where it is cut, the number below it is not.
    """
    alt, apart = altair(), values.difference(a, b)
    tie = TIE * max(1.0, float(np.abs(values.table).max()))
    won, lost, number = int((apart > tie).sum()), int((apart < -tie).sum()), len(apart)
    mean = alt.Chart(data([{"difference": _mean_difference(values, a, b)}]))
    line = mean.mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=frame.theme.text)
    line = line.encode(y="difference:Q", tooltip=[told("difference", "+.4f", "mean difference")])
    top = {"x": "width", "y": 4, "align": "right", "baseline": "top", "color": frame.theme.gain}
    foot = {"x": 8, "y": "height", "dy": -LINE, "align": "left", "baseline": "bottom", "color": frame.theme.loss}
    score = "better: {:,} of {:,}".format
    needed = len(score(number, number)) * 13 * BOLD_LETTER
    limit = alt.expr(f"max(width * 2 / 3, {needed:g})")  # of the room that there is when it is drawn
    texts = [
        alt.Chart(data([{"words": f"{name}\n{score(count, number)}"}]))
        .mark_text(fontWeight=600, fontSize=13, limit=limit, lineBreak="\n", lineHeight=LINE, **place)
        .encode(text="words:N")
        for name, count, place in ((a, won, top), (b, lost, foot))
    ]
    return [line, *texts]


def scatter(
    source: Source, measure: Asked = None, *, pair: Two = None, theme: str = "light", width: int = WIDTH
) -> Any:
    """Every query as a point: one system's value against the other's; above the diagonal the first is better."""
    alt, frame = altair(), Frame.of(theme, width)
    values = values_of(source, measure)
    a, b = pair_of(source, values, pair)
    rows = _points(values, a, b)
    ends = ends_of(np.concatenate([values.of(a), values.of(b)]))
    scale = alt.Scale(domain=list(ends), nice=False)
    x = alt.X("b", type="quantitative", scale=scale, title=b)
    y = alt.Y("a", type="quantitative", scale=scale, title=a)
    largest = max(row["queries"] for row in rows)
    dots = _dots(frame, rows, (a, b), largest).encode(x=x, y=y)
    words = "Each point is a query" + ("; larger: several queries of the same values" if largest > 1 else "")
    layers, title = [diagonal(frame, x, y, ends), dots], f"{values.measure}: {a} against {b}"
    return frame.chart(layers, title, caption(values, words), min(frame.width - 90, 460))


def _dots(frame: Frame, rows: list[dict[str, Any]], pair: tuple[str, str], largest: int) -> Any:
    """The points, in the colour of the system that is better there, as large as there are queries."""
    alt, (a, b) = altair(), pair
    wins = {"a": frame.theme.gain, "b": frame.theme.loss, NEITHER: frame.theme.quiet}
    legend = frame.legend(dict(zip(wins, (a, b, NEITHER), strict=True)), title="better:", symbol=None)
    dot, opacity = (55, 0.65) if len(rows) < 1000 else (22, 0.45)
    sizes = alt.Scale(type="sqrt", domain=[1, max(2, largest)], range=[dot, dot if largest == 1 else 400])
    colours = alt.Scale(domain=list(wins), range=list(wins.values()))
    return alt.Chart(data(rows)).mark_point(filled=True, opacity=opacity).encode(
        tooltip=[told("query"), told("queries", ","), *_both(a, b)],
        size=alt.Size("queries:Q", scale=sizes, legend=None),
        color=alt.Color("better:N", legend=legend, scale=colours),
    )  # fmt: skip


def _both(a: str, b: str) -> list[Any]:
    """The values of the two systems, under their names."""
    return [told("a", ".4f", a), told("b", ".4f", b)]


def _points(values: Values, a: str, b: str) -> list[dict[str, Any]]:
    """A row per place: queries of the same two values are one point."""
    places: dict[tuple[float, float], list[int]] = {}
    for at, place in enumerate(zip(values.of(a).tolist(), values.of(b).tolist(), strict=True)):
        places.setdefault(place, []).append(at)
    tie = TIE * max(1.0, float(np.abs(values.table).max()))
    return [
        {"query": some_names([values.queries[each] for each in at]), **_leads(values, at), "queries": len(at),
         "a": first, "b": second,
         "better": NEITHER if abs(first - second) <= tie else "a" if first > second else "b"}
        for (first, second), at in places.items()
    ]  # fmt: skip


# ---- every pair ------------------------------------------------------------------------------------------------------


def matrix(source: Source, measure: Asked = None, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The difference of every pair, row − column; significant ones are coloured."""
    alt, frame = altair(), Frame.of(theme, width)
    compared, settings = comparison_of(source, measure)
    values = compared.values
    names = sorted(values.systems, key=lambda name: -compared.systems[name].mean)
    rows = _cells(compared)
    columns = [name for name in names if any(row["column"] == name for row in rows)]
    lines = [name for name in names if any(row["row"] == name for row in rows)]
    room = (frame.width - min(frame.label_limit, 8 * max(map(len, lines)) + 30)) / len(columns)
    angle = 0 if max(map(len, columns)) * 7 < room else -60 if frame.narrow else -40
    head = frame.names(columns, orient="top", labelAngle=angle, grid=False)
    tooltip = [told("row"), told("column"), told("difference", "+.4f"), told("interval"), told("p_words", title="p")]
    base = alt.Chart(data(rows)).encode(
        x=alt.X("column:N", sort=columns, title=None, axis=head),
        y=alt.Y("row:N", sort=lines, title=None, axis=frame.names(lines, grid=False)),
        tooltip=[*tooltip, told("significant")],
    )
    layers = [_cell_boxes(frame, base, rows), *_cell_texts(frame, base, room)]
    words = (
        f"Row − column. Coloured: significant, p ≤ {settings.alpha:g} "
        f"({_whose_p(settings)}{counted(len(compared.pairs), 'pair')}); grey: not significant"
    )
    against = ": every pair" if settings.baseline is None else f" − {settings.baseline}"
    height = max(len(lines) * (30 if frame.narrow else 38), 40)
    return frame.chart(layers, f"{values.measure}{against}", caption(values, words), height)


def _whose_p(settings: Settings) -> str:
    return "each pair for itself, of " if settings.method is None else f"{settings.method} over "


def _cells(compared: Compared) -> list[dict[str, Any]]:
    """A row per cell; a pair fills two cells, or one where there is a baseline."""
    rows: list[dict[str, Any]] = []
    both = len(compared.pairs) > len(compared.systems) - 1 or len(compared.systems) == 2
    for pair in compared.pairs:
        rows.append(_cell(pair, pair.a, pair.b, 1))
        if both:
            rows.append(_cell(pair, pair.b, pair.a, -1))
    return rows


def _cell(pair: Pair, row: str, column: str, sign: int) -> dict[str, Any]:
    low, high = sorted(sign * end for end in pair.interval)
    significant = pair.decision != NOT_SIGNIFICANT
    return {
        "row": row, "column": column, "difference": sign * pair.difference + 0.0,
        "interval": f"{_signed(low)} to {_signed(high)}" if low == low else MISSING,
        "p": pair.p, "p_words": p_text(pair.p),
        "significant": significant, "short": _signed(sign * pair.difference)[:-1].replace("0.", ".", 1),
        "sign": ("+" if sign * pair.difference > 0 else "−") if significant else "·",
    }  # fmt: skip


def _cell_boxes(frame: Frame, base: Any, rows: list[dict[str, Any]]) -> Any:
    alt = altair()
    most = max((abs(row["difference"]) for row in rows if row["significant"]), default=1.0) or 1.0
    colour = alt.condition("datum.significant", frame.shade("difference", most), alt.value(frame.theme.empty))
    return base.mark_rect(stroke=frame.theme.background, strokeWidth=2, cornerRadius=3).encode(color=colour)


def _cell_texts(frame: Frame, base: Any, room: float) -> list[Any]:
    """The difference where it fits, else its sign; bold where it is significant."""
    alt = altair()
    field = "difference" if room > 62 else "short" if room > 36 else "sign"
    text = alt.Text("difference:Q", format="+.4f") if field == "difference" else alt.Text(f"{field}:N")
    looks: dict[str, dict[str, Any]] = {
        "datum.significant": {"fontWeight": 700},
        "!datum.significant": {"color": frame.theme.quiet},
    }
    size = 12 if room > 44 else 10
    return [base.transform_filter(of).mark_text(fontSize=size, **look).encode(text=text) for of, look in looks.items()]


# ---- what could be detected ------------------------------------------------------------------------------------------


def detectable(
    source: Source, measure: Asked = None, *, pair: Two = None, theme: str = "light", width: int = WIDTH
) -> Any:
    """The minimum detectable effect by number of queries, with power 0.80, for systems that scatter as these do."""
    alt, frame = altair(), Frame.of(theme, width)
    compared, settings = comparison_of(source, measure)
    values = compared.values
    chosen = [compared.pair(*pair_of(source, values, pair))] if pair is not None else compared.pairs
    if math.isnan(chosen[0].deviation):
        raise InputError("one query does not tell how differences scatter; a curve needs two queries or more")
    rows = _curves(chosen, len(values.queries), settings.alpha)
    base = alt.Chart(data(rows)).encode(
        x=alt.X("queries:Q", scale=alt.Scale(type="log", nice=False)).axis(tickCount=5, format=",d", grid=False),
        y=alt.Y("difference:Q", title=f"minimum detectable effect, {values.measure}"),
        color=frame.colour("pair", list(dict.fromkeys(row["pair"] for row in rows))),
        tooltip=[told("pair"), told("queries", ","), told("difference", ".4f")],
    )
    lines, marked = base.mark_line(strokeWidth=2.5), base.transform_filter("datum.here")
    here = marked.mark_point(filled=True, size=110, opacity=1)
    label = marked.mark_text(align="left", dx=9, dy=-9, fontWeight=600)
    texts = label.encode(y="label:Q", text=alt.Text("difference:Q", format=".4f"))
    shown = f"Of {len(chosen):,} pairs those that scatter least, midway and most. " if len(chosen) > 3 else ""
    words = f"{shown}Power 80 %, paired t-test, two-sided, alpha {settings.alpha:g}. "
    words += "Points: this set" if any(row["here"] for row in rows) else "This set has too few queries"
    title = "Minimum detectable effect by number of queries"
    return frame.chart([lines, here, texts], title, caption(values, words), (260, 320))


def _scale(pair: Pair, queries: int, alpha: float) -> float:
    """What makes the curve of a t-test meet the effect that this set's own interval can show."""
    by_t = power.detectable(pair.deviation, queries, alpha=alpha)
    return pair.detectable / by_t if math.isfinite(pair.detectable) and 0 < by_t < math.inf else 1.0


def _curves(pairs: list[Pair], queries: int, alpha: float) -> list[dict[str, Any]]:
    """A curve per pair, from where something could be significant; of many pairs those that scatter least, midway and
    most."""
    ordered = sorted(pairs, key=lambda pair: pair.deviation)
    if len(ordered) > 3:
        ordered = [ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]]
    low, high = min(10, queries), max(1000, 10 * queries)
    fewest = next(number for number in count(2) if not too_few(number, alpha))
    steps = sorted({queries, *(round(number) for number in np.geomspace(max(low, fewest), high, 60))})
    rows: list[dict[str, Any]] = [
        {"pair": f"{pair.a} − {pair.b}", "queries": number, "here": number == queries,
         "difference": _scale(pair, queries, alpha) * power.detectable(pair.deviation, number, alpha=alpha)}
        for pair in ordered
        for number in steps
        if number >= fewest
    ]  # fmt: skip
    gap, below = APART * max(row["difference"] for row in rows), -math.inf
    for row in (row for row in rows if row["here"]):  # from the lowest to the highest
        row["label"] = below = max(row["difference"], below + gap)
    return rows
