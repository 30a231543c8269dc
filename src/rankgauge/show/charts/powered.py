"""The chart of prediction-powered values: people alone, and people with a model's help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.ranges import too_few
from rankgauge.comparison.verdict import percent
from rankgauge.errors import counted
from rankgauge.show.charts.systems import intervals, system_axis
from rankgauge.show.charts.theme import WIDTH, Frame, altair, data, told
from rankgauge.shown import clean

if TYPE_CHECKING:
    from rankgauge.trust.ppi import PredictionPowered

__all__ = ["ppi"]

ROW: Final = 56
ALONE, HELPED = "human", "human + LLM"


def ppi(source: PredictionPowered, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The interval of every system under human labels, without and with LLM labels; | is the LLM alone."""
    alt, frame = altair(), Frame.of(theme, width)
    rows = [
        {"system": each.name, "who": who, **clean(one), "model": each.model}
        for each in source.systems
        for who, one in ((ALONE, each.people), (HELPED, each.powered))
    ]
    both = [ALONE, HELPED]
    scale = alt.Scale(domain=both, range=[frame.theme.quiet, frame.theme.gain])
    named = {"value": "estimate", "low": "from", "high": "to", "model": "the LLM alone"}
    base = alt.Chart(data(rows)).encode(
        y=system_axis(frame, [each.name for each in source.systems]),
        yOffset=alt.YOffset("who:N", sort=both),
        color=alt.Color("who:N", scale=scale, legend=frame.legend(both, symbol=None), sort=both),
        tooltip=[told("system"), told("who", title="judged by"), *(told(n, ".4f", t) for n, t in named.items())],
    )
    layers = intervals(base, "value", f"mean {source.measure}", thick=8, size=80, opacity=0.45)
    tick = base.mark_tick(thickness=2, height=20)
    layers.insert(2, tick.encode(x="model:Q", color=alt.value(frame.theme.loss)))
    judged = f"{source.judged:,} of {counted(source.queries, 'query', 'queries')} judged by humans"
    few = too_few(source.judged, source.alpha)
    bars = "No intervals: too few queries" if few else f"Bars: {percent(source.alpha)} intervals"
    words = f"{judged}. {bars}. | the LLM alone."
    title = f"{source.measure} under human labels"
    return frame.chart(layers, title, words, ROW * max(1, len(source.systems)) + 10)
