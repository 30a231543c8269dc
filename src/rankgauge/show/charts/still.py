"""The still picture of a chart in a page: small, safe, and in the colours of the page, whatever its theme."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import fields
from typing import Any, Final

from rankgauge.show.charts.convert import specification, svg_of
from rankgauge.show.charts.theme import FONT, THEMES, Theme

__all__ = ["apart", "colour_rules", "dark_of_light", "still"]

STILL: Final = 520  # pixels, of which each is about one on a page
WRITTEN: Final = 720  # pixels that charts are made for
MANY: Final = 300  # points of one look, beyond which they are drawn as one path
# What a picture does without: roles and labels (the figure has them), classes, what is the default, what is not seen.
NEEDLESS: Final = re.compile(
    r' (?:role|aria-[a-z]+|class|pointer-events|stroke-miterlimit|font-family|xmlns:xlink|version)="[^"]*"'
    r'| opacity="1"|<path[^>]* (?:display="none"|opacity="0")[^>]*/>|<path(?![^>]* (?:fill|stroke)=)[^>]*/>'
)
PLACES: Final = re.compile(r'(?<= )(?:transform|d|x|y|x1|x2|y1|y2|width|height)="[^"]*"')
LONG: Final = re.compile(r"\d+\.\d{2,}(?:e-?\d+)?")
POINT: Final = re.compile(
    r'<path transform="translate\(([-\d.]+),([-\d.]+)\)" d="M([\d.]+),0A\3,\3,0,1,1,-\3,0A\3,\3,0,1,1,\3,0"([^>]*)/>'
)


def apart(chart: Any) -> tuple[str, str, dict[str, Any]]:
    """Its title, its caption, and the specification without them, for a page that has its own."""
    spec = specification(chart)
    title = spec.pop("title", {})
    spec.get("config", {}).pop("background", None)
    spec.pop("$schema", None)
    spec |= {"background": "transparent", "padding": 4}
    return " ".join(title.get("text", [])), " ".join(title.get("subtitle", [])), spec


def still(spec: dict[str, Any], name: str, width: int = STILL) -> str:
    """The picture; `name` sets what it refers to apart from that of other pictures on the page."""
    quiet = {**spec, "width": width, "config": {**spec.get("config", {}), "aria": False}}
    drawn = NEEDLESS.sub("", svg_of(_fitted(quiet, width)))
    drawn = PLACES.sub(lambda place: LONG.sub(_short, place[0]), drawn)
    drawn = re.sub(r'(?<= id=")|(?<=url\(#)', f"{name}-", drawn)
    return _few(drawn).replace("<svg ", f'<svg font-family="{FONT}" ', 1)


def _fitted(value: Any, width: int) -> Any:
    """The specification for less room, as the script of the page makes it."""
    if isinstance(value, list):
        return [_fitted(each, width) for each in value]
    if not isinstance(value, dict):
        return value
    made = {key: each if key in ("datasets", "values") else _fitted(each, width) for key, each in value.items()}
    if isinstance(value.get("labelLimit"), int):
        made["labelLimit"] = min(value["labelLimit"], width // 3)
    if isinstance(value.get("limit"), int | float):
        made["limit"] = round(min(1.0, width / WRITTEN) * value["limit"])
    if isinstance(value.get("columns"), int):
        made["columns"] = max(1, round(value["columns"] * width / WRITTEN))
        made["labelLimit"] = (width - 60) // made["columns"] - 36
    return made


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")


def _few(drawn: str) -> str:
    """Very many points of the same look as one path of dots, a seventh of the size."""
    looks: dict[tuple[str, str], list[re.Match[str]]] = defaultdict(list)
    for point in POINT.finditer(drawn):
        looks[point[3], point[4]].append(point)
    many = {look: points for look, points in looks.items() if len(points) > MANY}
    paths = {points[0].start(): _dots(points) for points in many.values()}

    def instead(point: re.Match[str]) -> str:
        return paths.get(point.start(), "") if (point[3], point[4]) in many else point[0]

    return POINT.sub(instead, drawn) if many else drawn


def _dots(points: list[re.Match[str]]) -> str:
    look = re.sub(r' (?:fill|stroke-width)="[^"]*"', "", points[0][4])
    colour = re.search(r' fill="([^"]*)"', points[0][4])
    way = "".join(f"M{point[1]},{point[2]}h0" for point in points)
    shade = f' stroke="{colour[1]}"' if colour else ""
    return f'<path d="{way}"{shade} stroke-width="{2 * float(points[0][3]):g}" stroke-linecap="round"{look}/>'


# ---- colours ---------------------------------------------------------------------------------------------------------


def dark_of_light() -> dict[str, str]:
    """Colour of the light theme → the same of the dark one: all that differs between the two."""
    return dict(zip(_shades(THEMES["light"]), _shades(THEMES["dark"]), strict=True))


def _shades(theme: Theme) -> list[str]:
    named = [getattr(theme, each.name) for each in fields(theme) if each.name not in ("name", "systems")]
    return [*named, *theme.systems]


def colour_rules(within: str, colours: dict[str, str]) -> str:
    """Rules under which every picture within has other colours."""
    return "".join(
        f'{within} [{side}="{light}" i]{{{side}:{colour}}}\n'
        for light, colour in colours.items()
        for side in ("fill", "stroke")
    )
