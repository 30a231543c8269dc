"""Shown: what every kind of result can do, whatever it is: say itself in a terminal, a notebook, a document, a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.show.model import Page, Section

__all__ = ["Shown", "clean"]

LINES, WIDTH = 25, 80  # of what a prompt shows


def clean(value: Any) -> Any:
    """The value as JSON has it: named tuples and mappings as objects, what is no finite number as None."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if hasattr(value, "_asdict"):
        return clean(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean(each) for each in value]
    if hasattr(value, "tolist"):  # numpy
        return clean(value.tolist())
    return value


class Shown:
    """A result that can be shown in every format.

    A kind of result names the module of `show/sections` (and the function in it, if that is not `sections`) that says
    what is shown of it, or has `sections` of its own.
    """

    shown_by: ClassVar[str] = ""

    @property
    def title(self) -> str:
        """What was found out, of what."""
        return type(self).__name__

    @property
    def subtitle(self) -> str:
        """What it rests on, for the head of a page."""
        return ""

    def sections(self, *args: Any, **choices: Any) -> Iterable[Section]:
        """What is shown, part by part; the choices are those of the kind of result."""
        module, _, function = self.shown_by.partition(":")
        sections = getattr(import_module(f"rankgauge.show.sections.{module}"), function or "sections")
        made: Iterable[Section] = sections(self, **choices)
        return made

    # A kind of result has its own choices by name instead of these.
    def data(self, *_: Any, **choices: Any) -> Any:
        """What JSON holds: everything, every digit. A kind of result says it here, or in `to_dict`."""
        return self.to_dict()

    def to_dict(self, *_: Any, **choices: Any) -> dict[str, Any]:
        """The same as a value: what is no finite number is None."""
        cleaned: dict[str, Any] = clean(self.data(**choices))
        return cleaned

    def page(self, **choices: Any) -> Page:
        """Everything that is shown, for a renderer."""
        from rankgauge.show.model import Page

        return Page(self.title, list(self.sections(**choices)), lambda: self.data(**choices), self.subtitle)

    def show(
        self,
        format: str = "table",
        *,
        digits: int = 4,
        table: str = "",
        notes: bool = False,
        quiet: bool = False,
        **choices: Any,
    ) -> str:
        """The result in one of the formats, ending in a newline; a text with all `notes`, or `quiet` without any.

        CSV and LaTeX hold one table: the key of another is given as `table`.
        """
        from rankgauge.show.formats import render
        from rankgauge.show.model import Options

        options = Options(digits, only=table, quiet=quiet)
        return str(render(self.page(**choices), format, options._replace(notes=None) if notes else options))

    # A kind of result whose frame holds more than its table does says so by its own function.
    def to_frame(self, *_: Any, **choices: Any) -> pl.DataFrame:
        """A polars frame of the table that CSV holds, or of another `table`: every digit, null where there is none."""
        from rankgauge.show.formats import FRAME
        from rankgauge.show.model import Options

        options = Options(only=choices.pop("table", ""))
        frame: pl.DataFrame = FRAME.render(self.page(**choices), options)
        return frame

    def to_markdown(self, **choices: Any) -> str:
        """For a pull request, a wiki or a chat."""
        return self.show("markdown", **choices)

    def to_latex(self, **choices: Any) -> str:
        """One table, for a paper to `\\input`."""
        return self.show("latex", **choices)

    def to_csv(self, **choices: Any) -> str:
        """For a spreadsheet: every digit."""
        return self.show("csv", **choices)

    def to_json(self, **choices: Any) -> str:
        """For a program: everything, every digit."""
        return self.show("json", **choices)

    def to_html(self, **choices: Any) -> str:
        """One page that loads nothing."""
        return self.show("html", **choices)

    def save(self, path: str | os.PathLike[str], *, digits: int = 4, table: str = "", **choices: Any) -> None:
        """Write it to a file, whole or not at all; the suffix decides about the format."""
        from rankgauge.show.formats import save
        from rankgauge.show.model import Options

        save(self.page(**choices), os.fsdecode(path), options=Options(digits, only=table))

    def __str__(self) -> str:
        return self.show().rstrip("\n")

    def __repr__(self) -> str:
        """The beginning, for a prompt; `print` shows all."""
        from rankgauge.show.model import Options
        from rankgauge.show.names import short
        from rankgauge.show.text import text

        lines = text(self.page(), Options(width=WIDTH)).rstrip("\n").split("\n")
        left = len(lines) - LINES
        shown = [*lines[: LINES - 1], f"… {left + 1:,} more lines: print(…)"] if left > 0 else lines
        return "\n".join(short(line, WIDTH) if len(line) > WIDTH else line for line in shown)

    def _repr_html_(self) -> str:
        from rankgauge.show.html import notebook

        return notebook(self.page())
