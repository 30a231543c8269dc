"""What a command refuses rather than dropping or replacing it in silence: one mechanism, declared at the command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click
from click.core import ParameterSource

from rankgauge.errors import choices, options_are

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["FILE", "TARGET", "Strict", "Target"]


class File(click.Path):
    """A file that is read, or what a project holds: @labels, @SYSTEM, @SAMPLE."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Addresses after an @, else files."""
        if not incomplete.startswith("@"):
            return super().shell_complete(ctx, param, incomplete)
        from click.shell_completion import CompletionItem

        from rankgauge.cli.inputs import addresses

        known = addresses(ctx, samples=param.name in ("sample", "keep"))
        return [CompletionItem(each) for each in known if each.startswith(incomplete)]


class Target(click.Path):
    """A file that is written."""


FILE: Final = File(allow_dash=True)  # the shell completes it; whether it can be read is for the reader to say
TARGET: Final = Target(allow_dash=True)

# Another word for an option → the option; understood wherever there is the one and not the other.
SYNONYMS: Final = {
    **dict.fromkeys(("--metric", "--metrics", "--measures"), "--measure"),
    **dict.fromkeys(("--group-by", "--groups", "--segments"), "--by"),
    **dict.fromkeys(("--relevance-level", "--min-rel", "--threshold"), "--rel"),
    "--out": "--output",
    "--output-format": "--format",
    "--perquery": "--per-query",
    "--tie-break": "--ties",
}
CUTOFF: Final = "the cut-off is part of the measure, such as -m nDCG@10"
# An option that people guess → what to write instead.
GUESSES: Final = {
    **dict.fromkeys(("-k", "-K", "--k", "--cutoff", "--cut-off", "--at"), CUTOFF),
    "--gain": "the gain is part of the measure, such as -m 'nDCG(gain=exp)@10'",
    **{f"--{name}": f"write --format {name}" for name in ("json", "csv", "latex")},
    **{f"--{name}": f"write -o FILE.{name}" for name in ("html", "svg", "png", "tex", "md", "pdf")},
    "--qrels": "judgments are the first argument: QRELS RUN",
    **dict.fromkeys(("--run", "--runs"), "runs come after the judgments: QRELS RUN RUN"),
    **dict.fromkeys(("--confidence", "--confidence-level"), "write --alpha 0.05 for 95 %"),
    **dict.fromkeys(("--significance", "--bootstrap", "--ttest", "--t-test"), "'rankgauge compare' tests differences"),
}

# A parameter's name, `name=value` for one value of it, or several of these.
Named: TypeAlias = "str | tuple[str, ...]"


EVERY_OPTION: Final = "rankgauge.every-option"  # in the context: help shows all


def _show_every_option(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        ctx.meta[EVERY_OPTION] = True
        click.echo(ctx.get_help())
        ctx.exit()


HELP_ALL: Final = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_every_option,
    help="Show every option and exit.",
)  # fmt: skip


class Strict(click.Command):
    """A command that refuses an option given twice, and what does not go together.

    `needs`: option → those of which one must be there for it to mean something. `excludes`: rows of options of which
    one alone is answered; options in brackets go together. `requires`: rows of which one must be there. `renamed`: an
    old spelling → the new one. `hints`: option → what to add where it is missing. No file is both read and written, but
    for `replaces`: an option that writes → the one that reads what it may replace. `spread`: options that take every
    file that follows, as a shell makes them of a pattern. `usual`: the options that most
    people need, which `--help` shows; `--help-all` shows all.
    """

    def __init__(
        self,
        *args: Any,
        needs: Mapping[str, Named] | None = None,
        excludes: Sequence[Sequence[Named]] = (),
        requires: Sequence[Sequence[str]] = (),
        renamed: Mapping[str, str] | None = None,
        hints: Mapping[str, str] | None = None,
        replaces: Mapping[str, str] | None = None,
        spread: Sequence[str] = (),
        usual: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.usual, self.spread = usual, spread
        if usual:
            self.params.append(HELP_ALL)
        self.needs, self.excludes, self.requires = dict(needs or {}), excludes, requires
        self.renamed, self.hints, self.replaces = dict(renamed or {}), dict(hints or {}), dict(replaces or {})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        spelled = list(self._spread_out(self._respelled(args)))
        try:
            rest = super().parse_args(ctx, spelled)
        except click.NoSuchOption as error:
            if error.option_name not in GUESSES:
                raise
            words = f"No such option: {error.option_name}; {GUESSES[error.option_name]}"
            raise click.UsageError(words, ctx) from None
        except click.BadParameter as error:
            old = next((each for each in getattr(error.param, "opts", ()) if each in self.renamed), None)
            if old is None:
                raise
            words = f"{error.message} What {old} was is {self.renamed[old]} now."
            raise click.BadParameter(words, ctx, error.param) from None
        self._check_together(ctx)
        self._check_files(ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        with options_are({spelling for each in self.params for spelling in each.opts}):
            return super().invoke(ctx)

    # ---- spellings ---------------------------------------------------------------------------------------------------

    def _respelled(self, args: Sequence[str]) -> Iterator[str]:
        """The arguments with options under their new names, and a word about it.

        Short options become long ones, for click looks for them among these first, by likeness, which takes time.
        """
        options = [each for each in self.params if isinstance(each, click.Option)]
        known = {spelling: max(each.opts, key=len) for each in options for spelling in each.opts}
        left = iter(args)
        for argument in left:
            old, equals, value = argument.partition("=")
            if old in self.renamed and old not in known:
                new = self.renamed[old]
                click.echo(f"warning: {old} is {new} now; the old name goes with the next version", err=True)
                argument = new + equals + value
            elif old in SYNONYMS and old not in known and SYNONYMS[old] in known:
                argument = SYNONYMS[old] + equals + value
            yield known.get(argument, argument)
            if argument == "--":  # names of files follow, whatever they look like
                yield from left

    def _spread_out(self, args: Iterable[str]) -> Iterator[str]:
        """The arguments with an option before each of the values that follow it."""
        option, taken = "", False
        for argument in args:
            if argument.startswith("-") and argument != "-":
                option, taken = argument if argument in self.spread else "", False
            elif option:
                if taken:
                    yield option
                taken = True
            yield argument

    def make_parser(self, ctx: click.Context) -> Any:
        """click's parser, which refuses an option that is there twice."""
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_once_each(args: list[str]) -> tuple[dict[str, Any], list[str], list[click.Parameter]]:
            values, rest, order = parse(args)
            if not ctx.resilient_parsing:
                self._refuse_repeated(ctx, order)
            return values, rest, order

        parser.parse_args = parse_once_each  # type: ignore[method-assign]
        return parser

    def _refuse_repeated(self, ctx: click.Context, order: list[click.Parameter]) -> None:
        """The last of an option's values would win in silence."""
        options = [each for each in order if isinstance(each, click.Option) and not (each.multiple or each.count)]
        names = [each.name for each in options]
        for option in options:
            if names.count(option.name) > 1:
                spellings = dict.fromkeys(max(each.opts, key=len) for each in options if each.name == option.name)
                several = f"{' and '.join(spellings)} exclude each other" if len(spellings) > 1 else None
                raise click.UsageError(several or f"{''.join(spellings)} is given twice; it is taken once", ctx)

    # ---- help --------------------------------------------------------------------------------------------------------

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The usual options, or all."""
        every = not self.usual or EVERY_OPTION in ctx.meta
        shown = [each for each in self.get_params(ctx) if every or each.name in self.usual or not each.expose_value]
        with formatter.section("Options"):
            formatter.write_dl([record for each in shown if (record := each.get_help_record(ctx))])
        if not every:
            rules = "; 'rankgauge rules' explains the rules" if any(each.name == "ties" for each in self.params) else ""
            formatter.write_paragraph()
            formatter.write_text(f"More options: --help-all{rules}.")

    # ---- options that go together or exclude each other --------------------------------------------------------------

    def _check_together(self, ctx: click.Context) -> None:
        for name, needed in self.needs.items():
            if self._given(ctx, name) and not self._given(ctx, needed):
                raise self._error(ctx, f"{self._spelled(name)} goes with {self._spelled(needed)}", needed)
        for row in self.excludes:
            several = [each for each in row if self._given(ctx, each)]
            if len(several) > 1:
                words = " and ".join(self._spelled(self._first(ctx, each)) for each in several)
                raise self._error(ctx, f"{words} exclude each other; give one of them", several[0])
        for each in self.requires:
            if not self._given(ctx, tuple(each)):
                raise self._error(ctx, f"give {self._spelled(tuple(each))}", tuple(each))

    def _given(self, ctx: click.Context, named: Named) -> bool:
        """Whether the user gave it, or one of them."""
        if not isinstance(named, str):
            return any(self._given(ctx, each) for each in named)
        name, equals, value = named.partition("=")
        if equals:
            return str(ctx.params.get(name)) == value
        here = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        return here and ctx.params.get(name) not in (False, (), None, {})

    def _first(self, ctx: click.Context, named: Named) -> str:
        return named if isinstance(named, str) else next(each for each in named if self._given(ctx, each))

    def _spelled(self, named: Named) -> str:
        """As the user writes it: --to-judge; FILE for an argument; at-k or --format csv for one value."""
        if not isinstance(named, str):
            return choices(map(self._spelled, named))
        name, _, value = named.partition("=")
        parameter = next(each for each in self.params if each.name == name)
        if isinstance(parameter, click.Option):
            return f"{max(parameter.opts, key=len)} {value}".rstrip()
        return value or parameter.make_metavar(click.Context(self))

    def _error(self, ctx: click.Context, words: str, named: Named) -> click.UsageError:
        names = (named,) if isinstance(named, str) else named
        hint = next((self.hints[each] for each in names if each in self.hints), None)
        return click.UsageError(f"{words}: {hint}" if hint else words, ctx)

    # ---- files -------------------------------------------------------------------------------------------------------

    def _check_files(self, ctx: click.Context) -> None:
        """Refuse to write what is read, one file twice, and what cannot be written: before there is work to be lost."""
        targets = [(name, path) for name, path in self._paths(ctx, Target) if path != "-"]
        if not targets:
            return
        from rankgauge.writers.files import check_target

        sources = [(name, each) for name, path in self._paths(ctx, File) for each in _files_in(path)]
        for at, (name, path) in enumerate(targets):
            check_target(path)
            for role, other in sources:
                if self.replaces.get(name) != role and _same_file(path, other):
                    words = (
                        f"{self._spelled(name)} {path}: this file is read ({self._spelled(role)}) and would be replaced"
                    )
                    raise click.UsageError(words, ctx)
            for role, other in targets[:at]:
                if os.path.realpath(path) == os.path.realpath(other) and not _is_special(path):
                    raise click.UsageError(f"{self._spelled(role)} and {self._spelled(name)} both write {path}", ctx)

    def _paths(self, ctx: click.Context, kind: type[click.Path]) -> Iterator[tuple[str, str]]:
        """(name of the parameter, path) of every file of a kind."""
        for each in self.params:
            value = ctx.params.get(each.name or "")
            if type(each.type) is kind and value is not None:
                yield from ((each.name or "", str(path)) for path in (value if isinstance(value, tuple) else (value,)))


def _files_in(text: str) -> tuple[str, str, str]:
    """FILE, NAME=FILE or FILE:COLUMN → what may be the file."""
    return text, text.partition("=")[2], text.rpartition(":")[0]


def _same_file(one: str, other: str) -> bool:
    return os.path.isfile(one) and os.path.isfile(other) and os.path.samefile(one, other)


def _is_special(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)
