"""The chart of an alignment: every experiment or query, offline against online."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.show.charts.theme import WIDTH, Frame, altair, data, told
from rankgauge.trust.online.tracked import online_interval, outcomes

if TYPE_CHECKING:
    from rankgauge.trust.online.align import Alignment

__all__ = ["alignment"]

STEPS: Final = 60
FEW: Final = 100  # points, up to which they are large
ROOM: Final = 0.6  # of the width, up to which a name stands to the right of its point
NAMED: Final = 3  # of the points that sway the correlation most
MOST: Final = 2_000  # points, beyond which a picture shows every so manieth
# What the two differences say of a unit: the same, the opposite, or nothing that is sure.
KINDS: Final = ("same direction", "opposite", "unclear online")


def alignment(alignment: Alignment, *, theme: str = "light", width: int = WIDTH) -> Any:
    """Offline against online with intervals, the line of least squares and its prediction interval; hover for names."""
    alt, frame = altair(), Frame.of(theme, width)
    rows, band = _rows(alignment), _band(alignment)
    x_ends = _span([row["offline"] for row in rows])
    y_ends = _span([row[end] for row in rows for end in ("low", "high")])
    axis = alt.Axis(format="+~g", labelExpr="datum.value == 0 ? '0' : datum.label")
    x_scale, y_scale = (alt.Scale(domain=list(ends), nice=False) for ends in (x_ends, y_ends))
    x = alt.X("offline:Q", title=f"{alignment.first.name} (offline)", scale=x_scale, axis=axis)
    y = alt.Y("online:Q", title=f"{alignment.units.online_name} (online)", scale=y_scale, axis=axis)
    layers = [
        *_against(frame, x_ends, y_ends),
        *_fit(frame, band, x, y),
        *_zero(frame),
        *_points(frame, alignment, rows, x, y),
        *_names(frame, rows, x, y),
    ]
    words = "Line: least squares, blue shade: prediction interval, orange: opposite directions"
    words += f"; named: most influence on Pearson's r. {_headline(alignment)}"
    units = alignment.units
    drawn = f" ({len(rows):,} of them drawn)" if len(rows) < len(units) else ""
    title = f"{alignment.first.name} and {units.online_name}, {len(units):,} {units.kind}{drawn}"
    return frame.chart(layers, title, words, (280, 400))


def _rows(alignment: Alignment) -> list[dict[str, Any]]:
    """A row per point, with what to say when it is pointed at."""
    units, which = alignment.units, _kinds(alignment)
    x, y = units.offline[alignment.first.name], units.online
    low, high = online_interval(units, alignment.settings.alpha) or (y, y)
    rows, telling = [], set(alignment.first.most_influential(NAMED)) if len(units) <= MOST else set()
    for at in _thinned(alignment):
        row: dict[str, Any] = {"name": units.names[at], "offline": float(x[at]), "online": float(y[at])}
        row |= {"label": units.names[at] if at in telling else ""}
        row |= {"low": float(low[at]), "high": float(high[at]), "says": KINDS[which[at]]}
        row |= {"without": float(alignment.first.without[at]) if np.isfinite(alignment.first.without[at]) else None}
        row |= {} if units.weight is None else {"weight": float(units.weight[at])}
        rows.append(row)
    return rows


def _band(alignment: Alignment) -> list[dict[str, float]]:
    """The line and the prediction interval along it."""
    places = np.linspace(*_span(alignment.units.offline[alignment.first.name].tolist()), STEPS).tolist()
    ends = [alignment.first.line.next_at(x, alignment.settings.alpha) for x in places]
    return [
        {"offline": x, "online": each.value, "low": each.low, "high": each.high}
        for x, each in zip(places, ends, strict=True)
    ]


def _against(frame: Frame, x: tuple[float, float], y: tuple[float, float]) -> list[Any]:
    """The corners in which the two say opposite things."""
    alt = altair()
    corners = [
        {"x": x[0], "x2": 0.0, "y": 0.0, "y2": y[1]},
        {"x": 0.0, "x2": x[1], "y": y[0], "y2": 0.0},
    ]
    box = alt.Chart(data(corners)).mark_rect(color=frame.theme.loss, opacity=0.09)
    return [box.encode(x="x:Q", x2="x2", y="y:Q", y2="y2")]


def _fit(frame: Frame, band: list[dict[str, float]], x: Any, y: Any) -> list[Any]:
    alt = altair()
    along = alt.Chart(data(band))
    area = along.mark_area(color=frame.theme.gain, opacity=0.13, clip=True)
    line = along.mark_line(color=frame.theme.quiet, strokeDash=[6, 4], strokeWidth=2, clip=True)
    return [area.encode(x=x, y="low:Q", y2="high"), line.encode(x=x, y=y)]


def _zero(frame: Frame) -> list[Any]:
    rule = altair().Chart(data([{"zero": 0.0}])).mark_rule(color=frame.theme.quiet, strokeWidth=1)
    return [rule.encode(x="zero:Q"), rule.encode(y="zero:Q")]


def _points(frame: Frame, alignment: Alignment, rows: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    """The units, in the colour of what they say, as large as their traffic; bars are their intervals."""
    alt = altair()
    shades = dict(zip(KINDS, (frame.theme.gain, frame.theme.loss, frame.theme.quiet), strict=True))
    said = [kind for kind in KINDS if any(row["says"] == kind for row in rows)]
    scale = alt.Scale(domain=said, range=[shades[kind] for kind in said])
    legend = frame.legend(said, symbol="circle")
    legend.columns = 1 if frame.narrow else len(said)  # as many when the axis has taken its room as before
    colour = alt.Color("says:N", scale=scale, legend=legend)
    tooltip = [told("name", title=alignment.units.one), told("offline", "+.4~g"), told("online", "+.4~g")]
    if alignment.units.error is not None:
        tooltip += [told("low", "+.4~g", "online, from"), told("high", "+.4~g", "online, to")]
    tooltip += [told("without", ".4f", "Pearson without it")]
    base = alt.Chart(data(rows)).encode(x=x, color=colour, tooltip=tooltip)
    dot, opacity = (90, 0.9) if len(rows) <= FEW else (28, 0.55)
    points = base.mark_point(filled=True, size=dot, opacity=opacity).encode(y=y)
    if alignment.units.weight is not None:
        sizes = alt.Scale(type="sqrt", range=[dot / 4, 5 * dot])
        points = points.encode(size=alt.Size("weight:Q", scale=sizes, legend=None))
        points.encoding.tooltip.append(told("weight", ",", "traffic"))
    if alignment.units.error is None:
        return [points]
    return [base.mark_rule(strokeWidth=1.2, opacity=0.7).encode(y="low:Q", y2="high"), points]


def _names(frame: Frame, rows: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    """The names of the units that sway the correlation most, beside their points."""
    alt = altair()
    low, high = _span([row["offline"] for row in rows])
    sides = (("left", 10, "<="), ("right", -10, ">"))
    return [
        alt.Chart(data(rows))
        .transform_filter(f"datum.label && datum.offline {which} {low + ROOM * (high - low)}")
        .mark_text(align=side, dx=away, dy=-8, fontWeight=600, limit=frame.width // 3)
        .encode(x=x, y=y, text="label:N")
        for side, away, which in sides
    ]


# ---- what points say -------------------------------------------------------------------------------------------------


def _kinds(alignment: Alignment) -> list[int]:
    """For each unit a number of `KINDS`."""
    x, y = alignment.units.offline[alignment.first.name], alignment.units.online
    unclear = (outcomes(alignment.units, alignment.settings.alpha) == 1) | (x == 0)
    same = np.sign(x) == np.sign(y)
    result: list[int] = np.where(unclear, 2, np.where(same, 0, 1)).tolist()
    return result


def _thinned(alignment: Alignment) -> list[int]:
    """The units that are drawn: all, or evenly spread ones of very many."""
    number = len(alignment.units)
    return list(range(0, number, math.ceil(number / MOST)))


def _span(values: list[float]) -> tuple[float, float]:
    """From the least to the most and a little further, 0 included."""
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.06 * ((high - low) or 1.0)
    return low - room, high + room


def _headline(alignment: Alignment) -> str:
    """The correlation and the share in a line."""
    r, same = alignment.first.pearson, alignment.first.signs["all"]
    ends = f" ({r.low:.2f} to {r.high:.2f})" if math.isfinite(r.low) else ""
    agree = (
        f"same direction {same.part:,.10g} of {same.whole:,.10g} ({same.low:.2f} to {same.high:.2f})"
        if same.whole
        else ""
    )
    return "; ".join(filter(None, [f"Pearson {r.value:.2f}{ends}", agree]))
