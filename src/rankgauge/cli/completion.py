"""`rankgauge completion`: the script that makes a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from rankgauge.cli.options import command
from rankgauge.errors import RankgaugeError


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      rankgauge completion bash >> ~/.bashrc
      rankgauge completion zsh > ~/.zfunc/_rankgauge
      rankgauge completion fish > ~/.config/fish/completions/rankgauge.fish
    """
    from rankgauge.cli import cli

    found = get_completion_class(shell)
    if found is None:
        raise RankgaugeError(f"no completion for {shell}")
    click.echo(found(cli, {}, "rankgauge", "_RANKGAUGE_COMPLETE").source())
