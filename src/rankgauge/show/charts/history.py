"""The chart of a history: a line per system over time, broken where values cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rankgauge.show.charts.theme import WIDTH, Frame, altair, data, told

if TYPE_CHECKING:
    from rankgauge.store.history import History

__all__ = ["history"]

TICKS: Final = 6
DAY: Final = 86_400  # seconds


def history(source: History, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The values of every system over time; a dashed line stands where labels, rules or queries changed."""
    alt, frame = altair(), Frame.of(theme, width)
    rows, names = [*_rows(source)], list(source.systems)
    axis = alt.Axis(grid=False, labelOverlap=True, **_ticks(rows))
    x = alt.X("at:T", title=None, axis=axis, scale=alt.Scale(type="utc", padding=16))
    y = alt.Y("value:Q", title=source.measure, scale=alt.Scale(zero=False))
    colour = frame.colour("system", names)
    tooltip = [told("system"), told("run"), told("when"), told("value", ".4f"), told("stale")]
    base = alt.Chart(data(rows)).encode(x=x, y=y, color=colour, detail="part:N", tooltip=tooltip)
    lines = base.mark_line(strokeWidth=2.5, strokeJoin="round").encode(strokeDash=frame.dash("system", names))
    layers = [*_breaks(frame, rows, x), lines, base.mark_point(filled=True, size=60, opacity=1)]
    return frame.chart(layers, f"{source.measure} over time", _words(source), (240, 300))


def _rows(source: History) -> Iterator[dict[str, Any]]:
    for system, parts in source.lines.items():
        for number, part in enumerate(parts):
            for entry in part:
                yield {
                    "system": system,
                    "part": f"{system} {number}",
                    "at": entry.at,
                    "when": entry.at[:16].replace("T", " "),
                    "run": entry.run,
                    "value": entry.value,
                    "broken": "; ".join(entry.broken),
                    "stale": "; ".join(entry.stale) or "no",
                }


def _ticks(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Where the axis says when: at some of the evaluations, by day, or by minute where all are of two days."""
    times = sorted({datetime.fromisoformat(row["at"]).timestamp() for row in rows})
    step = max(1, -(-len(times) // TICKS))
    days = times[-1] - times[0] > 2 * DAY
    return {"values": [1000 * at for at in times[::step]], "format": "%d %b %Y" if days else "%d %b %H:%M"}


def _breaks(frame: Frame, rows: list[dict[str, Any]], x: Any) -> list[Any]:
    """Where something changed, and what; what several systems share is said once."""
    found = {(row["at"], row["broken"]): row for row in rows if row["broken"]}
    if not found:
        return []
    alt, marks = altair(), [{"at": at, "broken": broken} for at, broken in found]
    base = alt.Chart(data(marks)).encode(x=x, tooltip=[told("broken", title="changed")])
    rule = base.mark_rule(color=frame.theme.quiet, strokeDash=[5, 4])
    look = {"align": "right", "baseline": "top", "dx": -5, "color": frame.theme.quiet, "fontSize": 11, "limit": 180}
    return [rule, base.mark_text(**look).encode(text="broken:N", y=alt.value(0))]


def _words(source: History) -> str:
    words = "A point per saved evaluation, at the time when it was saved (UTC)."
    broken = any(entry.broken for entry in source.entries)
    return (
        f"{words} A dashed line: labels, rules or queries changed, and values are not comparable." if broken else words
    )
