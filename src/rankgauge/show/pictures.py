"""A page's one picture → SVG and PNG: its first chart or drawing, or the one that is named."""

from __future__ import annotations

from rankgauge.errors import InputError, choices
from rankgauge.show.model import Chart, Options, Page, Picture, every_block

__all__ = ["png", "svg"]


def svg(page: Page, options: Options) -> str:
    """The picture as an SVG, ending in a newline."""
    from rankgauge.show.charts.convert import svg as chart_svg

    picture = _picture(page, options)
    drawn = picture.draw() if isinstance(picture, Picture) else chart_svg(picture.draw())
    return f"{drawn.rstrip()}\n"


def png(page: Page, options: Options) -> bytes:
    """The picture as a PNG."""
    from rankgauge.show.charts.convert import png as chart_png
    from rankgauge.show.charts.convert import svg_to_png

    picture = _picture(page, options)
    return svg_to_png(picture.draw()) if isinstance(picture, Picture) else chart_png(picture.draw())


def _picture(page: Page, options: Options) -> Chart | Picture:
    """The one that is named; else the first chart, or the only drawing."""
    pictures = [block for block in every_block(page.sections) if isinstance(block, Chart | Picture)]
    chosen = [block for block in pictures if options.only in ("", block.key)]
    known = f"; there are {choices([block.key for block in pictures])}" if pictures else ""
    if not chosen:
        raise InputError(f"there is no picture {options.only!r}{known}" if options.only else "there is no picture here")
    if len(chosen) > 1 and isinstance(chosen[0], Picture):
        raise InputError(f"a file holds one picture{known}; choose one: --table KEY, or write a page (.html)")
    return chosen[0]
