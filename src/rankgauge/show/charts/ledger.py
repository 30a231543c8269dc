"""The chart of the ledger: the bias of every judge, week by week."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgauge.show.charts.theme import WIDTH, Frame, altair, data, told

if TYPE_CHECKING:
    from rankgauge.raters.ledger import Ledger

__all__ = ["drift"]


def drift(source: Ledger, *, theme: str = "light", width: int = WIDTH) -> Any:
    """A line per judge: the mean grade minus the others' on shared pairs, by the week in which it was given."""
    alt, frame = altair(), Frame.of(theme, width)
    rows = [{"judge": each.judge, **week._asdict()} for each in source.judges for week in each.weeks]
    names = [each.judge for each in source.judges if each.weeks]
    weeks = sorted({row["week"] for row in rows})
    x = alt.X("week:O", title=None, sort=weeks, axis=alt.Axis(grid=False, labelAngle=0, labelOverlap=True))
    y = alt.Y("bias:Q", title="bias", axis=alt.Axis(format="+.2f"))
    tooltip = [told("judge"), told("week"), told("bias", "+.3f"), told("shared", ",", "pairs")]
    base = alt.Chart(data(rows)).encode(x=x, y=y, color=frame.colour("judge", names), tooltip=tooltip)
    lines = base.mark_line(strokeWidth=2.5, strokeJoin="round").encode(strokeDash=frame.dash("judge", names))
    zero = alt.Chart(data([{"bias": 0}])).mark_rule(color=frame.theme.quiet, strokeDash=[5, 4]).encode(y="bias:Q")
    words = "Above 0 a judge gives more than the others do to the same pairs. A line that rises or falls is drift."
    layers = [zero, lines, base.mark_point(filled=True, size=60, opacity=1)]
    return frame.chart(layers, "Bias of judges by week", words, (240, 300))
