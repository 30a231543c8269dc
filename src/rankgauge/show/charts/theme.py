"""How every chart looks: two themes, one palette that the colour-blind can tell apart, and the frame around the marks.

Colours of systems are those of Okabe and Ito (2008) without yellow, which vanishes on white, and with a dark grey for
black; on dark they are lighter. Better is blue and worse is orange, as in all other pictures here. From the eighth
system on, lines differ by their dashes and points by their shapes.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import Any, Final

from rankgauge.errors import InputError, choices, unknown
from rankgauge.show.cells import drawable
from rankgauge.show.charts.convert import altair, svg
from rankgauge.show.names import cut_apart
from rankgauge.show.svg import drawing

__all__ = ["FONT", "PALETTE", "THEMES", "WIDTH", "Frame", "Theme", "altair", "data", "diagonal", "theme_named", "told"]

PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#454B54")
DARK_PALETTE: Final = ("#3B9BE0", "#E8602C", "#1FB58A", "#D98BB9", "#F5BE3D", "#A9E0FF", "#69727C")  # the same, lighter
DASHES: Final = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
SHAPES: Final = ("circle", "diamond", "square", "triangle-up")
FONT: Final = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
WIDTH: Final = 720
HEADINGS: Final = ("title", "image")  # names that a tooltip takes for a heading and for a picture, unless they go on
NARROW: Final = 240  # pixels, below which nothing can be read
SYMBOL: Final = 36  # pixels of a symbol of a legend and of what is around it
LETTER, BOLD_LETTER = 0.54, 0.66  # the width of a letter, in units of the size of the font


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a theme."""

    name: str
    background: str
    text: str
    quiet: str
    line: str
    gain: str
    loss: str
    empty: str
    unknown: str
    lost: str  # before anyone could rank it
    systems: tuple[str, ...]


def _theme(name: str, classes: dict[str, str], unknown: str, lost: str, systems: tuple[str, ...]) -> Theme:
    """The colours of the pictures that are drawn by hand, and those of systems."""
    parts = ("bg", "text", "quiet", "line", "bar", "loss", "empty")
    back, text, quiet, line, gain, loss, empty = (classes[f"rg-{part}"].partition(":")[2] for part in parts)
    return Theme(name, back, text, quiet, line, gain, loss, empty, unknown, lost, systems)


THEMES: Final = {
    "light": _theme("light", drawing.LIGHT, "#a9b1ba", "#8c4a8f", PALETTE),
    "dark": _theme("dark", drawing.DARK, "#6d7883", "#b982bc", DARK_PALETTE),
}


def theme_named(name: str) -> Theme:
    """The theme of this name."""
    if name not in THEMES:
        raise InputError(unknown(f"theme={name!r} is not known", name, THEMES, f"expected {choices(THEMES)}"))
    return THEMES[name]


def data(rows: Sequence[dict[str, Any]]) -> Any:
    """Rows of a chart, however many: no limit applies to them. Put in afterwards, they are not checked row by row, and
    altair, which copies lists whenever something is added to a chart, leaves a tuple as it is. A number that is not
    finite has no place in a chart, and none in JSON."""
    made = altair().InlineData(values=[])
    made["values"] = tuple(map(_finite, rows))
    return made


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(cell, float) and not isfinite(cell) else cell for key, cell in row.items()}


def told(field: str, format: str = "", title: str | None = None) -> Any:
    """What a mark says when it is pointed at: a text or, with a format, a number."""
    kind = {"type": "quantitative", "format": format} if format else {"type": "nominal"}
    name = f"{title}\u200b" if title in HEADINGS else title
    return altair().Tooltip(field, **kind, **({} if name is None else {"title": name}))


@dataclass(frozen=True, slots=True)
class Frame:
    """What is around the marks: theme, width, and how text and legends fit into it."""

    theme: Theme
    width: int = WIDTH

    @staticmethod
    def of(theme: str, width: int) -> Frame:
        """A frame, checked."""
        if not isinstance(width, int) or width < NARROW:
            raise InputError(f"width={width!r}: give a whole number of pixels, {NARROW} or more")
        return Frame(theme_named(theme), width)

    @property
    def narrow(self) -> bool:
        """Whether it is made for a telephone."""
        return self.width < 560

    @property
    def label_limit(self) -> int:
        """The pixels that a name may take beside the marks."""
        return self.width // 3 if self.narrow else 220

    def chart(self, layers: Sequence[Any], title: str, caption: str, height: int | tuple[int, int]) -> Any:
        """The layers as one chart, exactly as wide as the frame; of two heights the first is for a telephone."""
        alt = altair()
        size = 15 if self.narrow else 18
        made = alt.layer(*layers).properties(
            title=alt.TitleParams(
                text=_wrapped(title, self.width, size * BOLD_LETTER),
                subtitle=_wrapped(caption, self.width, (11 if self.narrow else 12) * LETTER),
            ),
            width=self.width,
            height=height if isinstance(height, int) else height[not self.narrow],
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding", resize=True),
            padding=12,
        )
        made = made.configure(**self._config(size))
        object.__setattr__(made, "__class__", _still_in_notebooks())  # altair takes its own way with attributes
        return made

    def legend(
        self, names: Sequence[str] | Mapping[str, str], *, symbol: str | None = "stroke", title: str | None = None
    ) -> Any:
        """A legend above the marks, in as many columns as fit into the room that there is when it is drawn.

        Names may be those of keys in the data: then it is the names that are shown.
        """
        alt = altair()
        shown = list(names.values()) if isinstance(names, Mapping) else names
        letter = 12 * BOLD_LETTER
        room = "width" if title is None else f"(width - {len(title) * letter + 10:g})"
        columns = f"max(1, floor({room} / {max(map(len, shown)) * letter + SYMBOL:g}))"
        kept: dict[str, Any] = {"symbolSize": 80} if symbol is None else {"symbolType": symbol}
        if title is not None:
            kept |= {"titleColor": self.theme.quiet, "titleOrient": "left", "titleFontWeight": "normal"}
        if isinstance(names, Mapping):
            kept["labelExpr"] = f"({json.dumps({key: drawable(name) for key, name in names.items()})})[datum.value]"
        limit = alt.expr(f"max(20, {room} - {SYMBOL})")
        return alt.Legend(title=title, orient="top", columns=alt.expr(columns), labelLimit=limit, **kept)

    def names(self, among: Sequence[str] = (), **more: Any) -> Any:
        """An axis of names; those that are cut can still be told apart."""
        look = {"labelLimit": self.label_limit, "labelColor": self.theme.text, "ticks": False, "domain": False}
        shown = cut_apart(map(drawable, among), int(self.label_limit / (12 * LETTER)))
        if any(name != cut for name, cut in shown.items()):
            look["labelExpr"] = f"({json.dumps(shown)})[datum.label]"
        return altair().Axis(**(look | more))

    def colour(self, field: str, names: Sequence[str], *, symbol: str | None = "stroke") -> Any:
        """The colours of names, with a legend."""
        shades = [self.theme.systems[at % len(PALETTE)] for at in range(len(names))]
        scale = altair().Scale(domain=list(names), range=shades)
        return altair().Color(field, type="nominal", scale=scale, legend=self.legend(names, symbol=symbol))

    def dash(self, field: str, names: Sequence[str]) -> Any:
        """The dashes of lines: other ones when colours are used a second time."""
        return altair().StrokeDash(field, type="nominal", scale=_again(names, DASHES), legend=self.legend(names))

    def shape(self, field: str, names: Sequence[str], *, legend: bool = False) -> Any:
        """The shapes of points: other ones when colours are used a second time."""
        shown = self.legend(names, symbol=None) if legend else None
        return altair().Shape(field, type="nominal", scale=_again(names, SHAPES), legend=shown)

    def shade(self, field: str, most: float = 1.0) -> Any:
        """From a loss over nothing to a gain, as large as the most."""
        colours = [self.theme.loss, self.theme.empty, self.theme.gain]
        scale = altair().Scale(domain=[-most, 0, most], range=colours, interpolate="lab")
        return altair().Color(field, type="quantitative", scale=scale, legend=None)

    def _config(self, size: int) -> dict[str, Any]:
        theme = self.theme
        quiet = {"labelColor": theme.quiet, "titleColor": theme.quiet}
        return {
            "background": theme.background,
            "font": FONT,
            "view": {"stroke": None},
            "axis": {
                **quiet, "gridColor": theme.line, "domainColor": theme.line, "tickColor": theme.line,
                "gridOpacity": 0.7, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
                "titlePadding": 8, "labelPadding": 6, "labelFlush": False,
            },
            "axisX": {"tickCount": 5 if self.narrow else 8},
            "legend": {"labelColor": theme.text, "labelFontSize": 12, "symbolStrokeWidth": 3, "symbolSize": 160},
            "title": {
                "anchor": "start", "frame": "bounds", "color": theme.text, "subtitleColor": theme.quiet,
                "fontSize": size, "fontWeight": 600, "subtitleFontSize": 11 if self.narrow else 12,
                "subtitlePadding": 6, "offset": 14,
            },
            "text": {"color": theme.text, "fontSize": 12},
        }  # fmt: skip


def _again(names: Sequence[str], looks: Sequence[Any]) -> Any:
    """The scale of looks of which the next is used when all colours have been."""
    return altair().Scale(
        domain=list(names), range=[looks[at // len(PALETTE) % len(looks)] for at in range(len(names))]
    )


def diagonal(frame: Frame, x: Any, y: Any, ends: tuple[float, float]) -> Any:
    """Where both sides are equal."""
    corners = data([{x.shorthand: end, y.shorthand: end} for end in ends])
    line = altair().Chart(corners).mark_line(color=frame.theme.quiet, strokeDash=[5, 4], strokeWidth=1)
    return line.encode(x=x, y=y)


def _wrapped(text: str, width: int, letter: float) -> list[str]:
    """Lines of letters of this width that fit."""
    return textwrap.wrap(text, max(20, int((width - 24) / letter))) or [""]


@cache
def _still_in_notebooks() -> type:
    """Altair's chart, which a notebook shows as SVG: it needs no network, and stays when the notebook is sent on."""
    alt = altair()

    class LayerChart(alt.LayerChart):  # type: ignore[name-defined, misc]
        def _repr_mimebundle_(self, *args: Any, **kwds: Any) -> Any:
            return {"image/svg+xml": svg(self)}

    return LayerChart
