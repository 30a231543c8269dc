"""Charts → PNG, SVG, and pages that load nothing and need no `eval`.

A page holds the chart library once, and of every chart its data once with six ways to draw them: light and dark, for
three widths. The script chooses by the reader's theme and by the room that there is, and again when either changes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rankgauge.errors import InputError
from rankgauge.show.charts.theme import THEMES, WIDTH, altair

if TYPE_CHECKING:
    from types import ModuleType

    Draw: TypeAlias = Callable[..., Any]  # takes theme= and width=, returns a chart

__all__ = ["FILES", "figure", "library_version", "page", "png", "policy", "script", "styles", "svg"]

# The pixels that a chart is made for: on a telephone, without margins, where there is less room than the next needs, …
WIDTHS: Final = {"narrow": 340, "middle": 560, "wide": WIDTH}
SCALE: Final = 2.0  # pixels of a PNG for each of the chart

# Draws every figure of the page, and again where the theme or the room has changed.
SNIPPET: Final = """
const dark = matchMedia("(prefers-color-scheme: dark)");
const chosen = () => document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
const drawn = new WeakMap();
async function draw(figure) {
  const width = Math.floor(figure.clientWidth), theme = chosen(), key = theme + width;
  if (width < 1 || drawn.get(figure) === key) return;
  drawn.set(figure, key);
  const made = JSON.parse(figure.querySelector("script").textContent);
  const spec = made.specs[theme][width < 560 ? "narrow" : width < 720 ? "middle" : "wide"];
  const options = {
    ast: true, mode: "vega-lite", renderer: "svg", tooltip: {theme},
    actions: {export: true, source: false, compiled: false, editor: false},
    downloadFileName: made.name,
  };
  const shown = await vegaEmbed(figure.querySelector("div"), {...spec, width, datasets: made.datasets}, options);
  await shown.view.resize().runAsync(); // a legend that took more lines than it was given makes room for itself
  figure.dataset.drawn = key;
}
const all = () => document.querySelectorAll("figure.rg-chart").forEach(draw);
const start = () => {
  const watch = new ResizeObserver(lodashDebounce(all, 150));
  document.querySelectorAll("figure.rg-chart").forEach((figure) => watch.observe(figure));
  dark.addEventListener("change", all);
  new MutationObserver(all).observe(document.documentElement, {attributeFilter: ["data-theme"]});
  all();
};
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
"""

STYLES: Final = """
:root { color-scheme: light dark; }
body { margin: 0; background: light-dark(%(light)s, %(dark)s); font-family: system-ui, sans-serif; }
figure.rg-chart { max-width: 960px; margin: 0 auto; position: relative; }
figure.rg-chart > div { width: 100%%; min-height: 40px; }
"""


def png(chart: Any, scale: float = SCALE) -> bytes:
    """The chart as a PNG, twice as fine as it is wide."""
    made: bytes = _converter().vegalite_to_png(_spec(chart), vl_version=library_version(), scale=scale)
    return made


def svg(chart: Any) -> str:
    """The chart as an SVG."""
    made: str = _converter().vegalite_to_svg(_spec(chart), vl_version=library_version())
    return made


def figure(draw: Draw, name: str = "chart") -> str:
    """A chart as a part of a page: its data once, and six ways to draw them. `script` must be on the same page."""
    specs: dict[str, dict[str, Any]] = {"light": {}, "dark": {}}
    datasets: dict[str, Any] = {}
    for theme, made in specs.items():
        for size, width in WIDTHS.items():
            made[size] = _spec(draw(theme=theme, width=width))
            datasets |= made[size].pop("datasets", {})
    text = json.dumps({"name": name, "specs": specs, "datasets": datasets}, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":  # ids and names stay text, whatever is in them
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<figure class="rg-chart"><div></div><script type="application/json">{text}</script></figure>'


@lru_cache(maxsize=1)
def script() -> str:
    """What draws the figures of a page: the chart library, whole, and a few lines of ours."""
    bundle: str = _converter().javascript_bundle(SNIPPET, vl_version=library_version())
    return bundle.replace("</script", "<\\/script")


def styles() -> str:
    """What figures need to look right."""
    return STYLES % {name: theme.background for name, theme in THEMES.items()}


def policy(*scripts: str) -> str:
    """A content-security policy under which nothing but these scripts runs, nothing is loaded and nothing evaluated."""
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def page(draws: Mapping[str, Draw]) -> bytes:
    """A page of charts, by their titles, that loads nothing."""
    title = "; ".join(draws)
    program = script()
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy(program)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{styles()}</style>",
    ]
    body = [figure(draw, name) for name, draw in draws.items()]
    text = "\n".join(['<!doctype html>\n<html lang="en"><head>', *head, "</head><body>", *body])
    return f"{text}\n<script>{program}</script>\n</body></html>\n".encode()


# Suffix → what a file of it holds: from a way to draw, its name, theme and width.
FILES: Final[dict[str, Callable[[Draw, str, str, int], bytes]]] = {
    ".png": lambda draw, name, theme, width: png(draw(theme=theme, width=width)),
    ".svg": lambda draw, name, theme, width: svg(draw(theme=theme, width=width)).encode(),
    ".html": lambda draw, name, theme, width: page({name: draw}),
}


def _spec(chart: Any) -> dict[str, Any]:
    """The chart as data. Checking it against the schema takes a second for thousands of rows; the tests do it."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ImportError:
        raise InputError("a chart as a file needs vl-convert: pip install 'rankgauge[charts]'") from None
    module: ModuleType = vl_convert
    return module


def library_version() -> str | None:
    """The version of the grammar that the charts are written in, where the converter knows it; else its latest."""
    written = ".".join(altair().SCHEMA_VERSION.lstrip("v").split(".")[:2])
    return written if written in _converter().get_vegalite_versions() else None
