"""The chart of prediction-powered values: people alone, and people with a model's help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rankgauge.show.charts.source import counted
from rankgauge.show.charts.systems import system_axis
from rankgauge.show.charts.theme import WIDTH, Frame, altair, data

if TYPE_CHECKING:
    from rankgauge.trust.ppi import PredictionPowered

__all__ = ["ppi"]

ROW: Final = 56
ALONE, HELPED = "people alone", "with the model"


def ppi(source: PredictionPowered, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The interval of every system under people's judgments, without and with the model's; | is the model alone."""
    alt, frame = altair(), Frame.of(theme, width)
    rows = [
        {"system": each.name, "who": who, "value": one.value, "low": one.low, "high": one.high, "model": each.model}
        for each in source.systems
        for who, one in ((ALONE, each.people), (HELPED, each.powered))
    ]
    both = [ALONE, HELPED]
    scale = alt.Scale(domain=both, range=[frame.theme.quiet, frame.theme.gain])
    form = {"type": "quantitative", "format": ".4f"}
    named = {"value": "estimate", "low": "from", "high": "to", "model": "the model alone"}
    base = alt.Chart(data(rows)).encode(
        y=system_axis(frame, [each.name for each in source.systems]),
        yOffset=alt.YOffset("who", type="nominal", sort=both),
        color=alt.Color("who", type="nominal", scale=scale, legend=frame.legend(both, symbol=None), sort=both),
        tooltip=[alt.Tooltip("system", type="nominal"), alt.Tooltip("who", type="nominal", title="judged by"),
                 *(alt.Tooltip(name, title=title, **form) for name, title in named.items())],
    )  # fmt: skip
    x = alt.X("value", type="quantitative", scale=alt.Scale(zero=False), title=f"mean {source.measure}")
    layers = [
        base.mark_rule(strokeWidth=8, opacity=0.45, strokeCap="butt").encode(
            x=alt.X("low", type="quantitative", scale=alt.Scale(zero=False)), x2="high"
        ),
        base.mark_point(filled=True, size=80, opacity=1).encode(x=x),
        base.mark_tick(thickness=2, height=20).encode(
            x=alt.X("model", type="quantitative"), color=alt.value(frame.theme.loss)
        ),
        base.mark_text(dy=-11, fontWeight=600).encode(x=x, text=alt.Text("value", **form)),
    ]
    level = f"{100 * (1 - source.alpha):g} %"
    words = (
        f"{source.judged:,} of {counted(source.queries)} judged by people. Bars: {level} intervals. | the model alone"
    )
    title = f"{source.measure} under people's judgments"
    return frame.chart(layers, title=title, caption=f"{words}.", height=ROW * max(1, len(source.systems)) + 10)
