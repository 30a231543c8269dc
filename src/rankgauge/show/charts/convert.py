"""Charts → Vega-Lite, SVG and PNG, by the libraries of the extra `charts`, imported when the first chart is drawn."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError
from rankgauge.show.cells import drawable
from rankgauge.writers.kept import kept

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["NEEDED", "altair", "is_installed", "library", "png", "specification", "svg", "svg_of", "svg_to_png"]

NEEDED: Final = "charts need an extra: pip install 'rankgauge[charts]'"
SCALE: Final = 2.0  # pixels of a PNG for each of the chart


def altair() -> ModuleType:
    """The library, imported when the first chart is asked for."""
    try:
        import altair
    except ImportError:
        raise InputError(NEEDED) from None
    return altair


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ImportError:
        raise InputError(NEEDED) from None
    module: ModuleType = vl_convert
    return module


def is_installed() -> bool:
    """Whether charts can be drawn here; nothing is imported."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None


def specification(chart: Any) -> dict[str, Any]:
    """The chart as data. Checking it against the schema takes a second for thousands of rows; the tests do it."""
    spec: dict[str, Any] = _cleaned(chart.to_dict(validate=False))
    return spec


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return drawable(value)
    if isinstance(value, dict):
        return {drawable(key): _cleaned(each) for key, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list | tuple) else value


def png(chart: Any, scale: float = SCALE) -> bytes:
    """The chart as a PNG, twice as fine as it is wide."""
    made: bytes = _converter().vegalite_to_png(specification(chart), vl_version=_version(), scale=scale)
    return made


def svg(chart: Any) -> str:
    """The chart as an SVG."""
    return svg_of(specification(chart))


def svg_of(spec: dict[str, Any]) -> str:
    """A specification as an SVG."""
    made: str = _converter().vegalite_to_svg(spec, vl_version=_version())
    return made


def svg_to_png(picture: str) -> bytes:
    """A picture drawn by hand as a PNG, twice as fine."""
    made: bytes = _converter().svg_to_png(picture, scale=SCALE)
    return made


@cache
def library() -> str:
    """Vega, Vega-Lite and vega-embed with its interpreter of expressions, as one script; made once for all reports."""
    return kept(f"vega-{_converter().__version__}-{_version()}.js", _bundle).decode()


def _bundle() -> bytes:
    made = _converter().javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_version())
    return f"(()=>{{{made}}})();".encode()


@cache
def _version() -> str | None:
    """The version of the grammar that the charts are written in, where the converter knows it; else its latest."""
    written = ".".join(altair().SCHEMA_VERSION.lstrip("v").split(".")[:2])
    return written if written in _converter().get_vegalite_versions() else None
