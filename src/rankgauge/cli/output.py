"""The one way out: the suffix of -o decides, what cannot be written is refused first, and files are written whole."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from rankgauge.cli.strict import TARGET
from rankgauge.show.formats import FORMATS, SUFFIXES
from rankgauge.show.model import Options

if TYPE_CHECKING:
    from rankgauge.shown import Shown

__all__ = ["PICTURES", "TEXTS", "Output", "deliver", "output_options", "write_text"]

EVERY: Final = tuple(FORMATS)
PLAIN: Final = ("", ".txt")  # suffixes of a file that may hold any text
PICTURES: Final = tuple(name for name, each in FORMATS.items() if each.picture)
TEXTS: Final = tuple(name for name in FORMATS if name not in PICTURES)
ONE_TABLE: Final = ("csv", "latex")  # formats that hold one table of several
DRAWN: Final = frozenset({"html", *PICTURES})  # not for a terminal


class Output(NamedTuple):
    """Where a result goes and how it is shown; `table` is the key of the table for CSV, or of the chart."""

    path: str = "-"
    format: str = "table"
    digits: int = 4
    table: str = ""
    notes: bool = False
    quiet: bool = False

    @property
    def is_terminal(self) -> bool:
        """Whether people look at it as it is printed."""
        return self.path == "-" and sys.stdout.isatty()

    def refuse_pictures(self, **tables: bool) -> None:
        """Refuse a picture where a table alone is asked for."""
        for name, asked in tables.items():
            if asked and self.format in PICTURES:
                option = name.replace("_", "-")
                raise click.UsageError(
                    f"--{option} is a table, which a picture does not show; write .csv, .json or .md"
                )

    @property
    def has_notes(self) -> bool:
        """Whether the format holds what to know about the numbers, which then need not be said elsewhere."""
        return self.format not in ("csv", "svg", "png")

    @property
    def options(self) -> Options:
        """What a renderer is told: as wide as the terminal, and in colours, only where there is one."""
        options = Options(self.digits, only=self.table, more="--notes", quiet=self.quiet)
        options = options._replace(notes=None) if self.notes else options
        if not self.is_terminal:
            return options
        import shutil  # it loads compression, too, which takes a while

        return options._replace(width=shutil.get_terminal_size().columns, colours="NO_COLOR" not in os.environ)


def deliver(result: Shown, output: Output, **choices: Any) -> None:
    """Print a result, or write it; the choices are those of its `sections`."""
    from rankgauge.show.formats import render

    write_text(output.path, render(result.page(**choices), output.format, output.options))


def write_text(path: str, text: str | bytes) -> None:
    """Print, or write beside and rename."""
    if path == "-" and isinstance(text, str):
        click.echo(text, nl=False)
        return
    from rankgauge.writers.files import opened

    with opened(path) as stream:
        stream.write(text if isinstance(text, bytes) else text.encode(errors="replace"))


# ---- options ---------------------------------------------------------------------------------------------------------


class FormatName(click.Choice[str]):
    """A format by its name, or by the suffix of its files: markdown or md."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = SUFFIXES.get(f".{value}", value)
        return super().convert(name if name in self.choices else value, param, ctx)


def output_options(
    formats: Sequence[str] = EVERY,
    *,
    own: Sequence[str] = (),
    suffixes: Mapping[str, str] | None = None,
    default: str = "table",
    required: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """-o, --format, --digits and --table; the command gets them as one `output`, its format decided.

    `formats`: those that there are here. `own`: formats of this command alone, which it writes itself, and `suffixes`
    of theirs. `default`: what to print, and to write to a name without a suffix; `required`: there is always a file.
    """
    offered = (*formats, *own)
    add = _declarations(offered, required, default)

    def declared(command: Callable[..., Any]) -> Any:
        @functools.wraps(command)
        def with_output(*args: Any, **options: Any) -> Any:
            path, digits, table = options.pop("output"), options.pop("digits", 4), options.pop("table_key", None) or ""
            notes, quiet = options.pop("all_notes", False), options.pop("quiet", False)
            chosen = chosen_format(path, options.pop("format"), offered, "" if required else default, suffixes or {})
            _refuse_nonsense(path, chosen, table, offered)
            return command(*args, output=Output(path, chosen, digits, table, notes, quiet), **options)

        return functools.reduce(lambda wrapped, option: option(wrapped), reversed(add), with_output)

    return declared


def _declarations(offered: Sequence[str], required: bool, default: str) -> list[Callable[[Any], Any]]:
    place, otherwise = ("", "") if required else ("  [standard output]", f", or {default}")
    usual: dict[str, Any] = {} if required else {"default": "-"}
    to = click.option(
        "-o", "--output", type=TARGET, required=required, metavar="FILE",
        help=f"Write to a file; its suffix names the format.{place}", **usual,
    )  # fmt: skip
    words = f"{', '.join(offered)}.  [by -o's suffix{otherwise}]"
    options = [to, click.option("--format", "format", type=FormatName(offered), metavar="FORMAT", help=words)]
    if not DRAWN.issuperset(offered):
        decimals = ("--digits", "--decimals", "digits")
        options.append(click.option(*decimals, type=click.IntRange(0, 17), default=4, help="Decimals in tables.  [4]"))
        words = "Of several tables, the one that CSV or LaTeX holds; of several charts, the one that is drawn."
        options.append(click.option("--table", "table_key", metavar="KEY", help=words))
        options.append(click.option("--notes", "all_notes", is_flag=True, help="Show all notes below the table."))
        options.append(click.option("--quiet", is_flag=True, help="Show the table alone."))
    return options


def chosen_format(
    path: str, format: str | None, offered: Collection[str], default: str, own: Mapping[str, str] | None = None
) -> str:
    """The format that the suffix names, the one that is asked for where the suffix allows it, or the default."""
    from rankgauge.read.layers import split_suffixes
    from rankgauge.show.formats import format_of

    special = path == "-" or (os.path.exists(path) and not os.path.isfile(path))
    suffix = "" if special else split_suffixes(path)[0]
    if own and suffix in own and format in (None, own[suffix]):
        return own[suffix]
    if format is None:
        return default if suffix == "" and default else format_of(path, offered)
    named = SUFFIXES.get(suffix, format)
    picture = format in FORMATS and FORMATS[format].picture
    if named != format and not (suffix == "" or (suffix in PLAIN and not picture)):
        raise click.UsageError(f"{path}: {suffix} is not for {format}, but for {named}; leave out the one or the other")
    return format


def _refuse_nonsense(path: str, format: str, table: str, offered: Sequence[str]) -> None:
    if path == "-" and format in DRAWN and sys.stdout.isatty():
        text = next((f", or --format {each}" for each in offered if each not in DRAWN), "")
        raise click.UsageError(f"{format} is not for a terminal: give -o FILE.{format}{text}")
    if table and format not in ONE_TABLE and not (format in FORMATS and FORMATS[format].picture):
        raise click.UsageError(f"--table chooses what CSV, LaTeX or a picture holds; {format} has all of them")
