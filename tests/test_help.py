"""Help: what a person needs first, the rest with --help-all, and first guesses that are understood or answered."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from command import Command
from rankgauge.cli import COMMANDS, GUESSES, SYNONYMS, cli
from rankgauge.cli import strict as options
from rankgauge.protocol import RULES

QRELS = "q1 0 a 1\n"
RUN = "q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "a.run").write_text(RUN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def said(command: Command) -> Callable[..., str]:
    """What the command prints, or the error that it ends with."""

    def printed(*words: str) -> str:
        done = command(*words)
        return done.out or done.err

    return printed


def command_named(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def test_help_of_all_fits_a_screen(said: Callable[..., str]) -> None:
    lines = said("--help").splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    assert {word for line in lines if line.startswith("  ") for word in re.split("[ ,]+", line)} >= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_fits_a_screen(name: str, said: Callable[..., str]) -> None:
    lines = said(name, "--help").splitlines()
    assert len(lines) <= 50
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_one_of_the_helps(name: str, said: Callable[..., str]) -> None:
    command = command_named(name)
    usual = getattr(command, "usual", ())
    assert set(usual) <= {each.name for each in command.params}
    everything = said(name, "--help-all" if usual else "--help")
    for each in command.params:
        if isinstance(each, click.Option) and not each.hidden:
            assert max(each.opts, key=len) in everything


def test_rules(said: Callable[..., str]) -> None:
    listed = said("rules")
    for rule, values in RULES.items():
        assert f"--{rule.replace('_', '-')} " in listed
        explained = " ".join(said("rules", rule).split())
        for value, words in values.items():
            assert f"{value} {words}" in explained
    assert "smallest grade" in said("rules", "rel")
    assert "there is no rule 'tie'; did you mean 'ties'" in said("rules", "tie")


@pytest.mark.parametrize("guess", options.SYNONYMS)
def test_other_words_for_options_are_understood(guess: str, here: Path, said: Callable[..., str]) -> None:
    values = {"--measure": "R@1", "--rel": "1", "--ties": "id", "--format": "json", "--output": "x.json"}
    (here / "by.csv").write_text("query_id,group\nq1,x\n")
    value = {"--by": "by.csv", "--per-query": None}.get(options.SYNONYMS[guess], values.get(options.SYNONYMS[guess]))
    given, right = ([each] if value is None else [each, value] for each in (guess, options.SYNONYMS[guess]))
    assert said("eval", "qrels.txt", "a.run", *given) == said("eval", "qrels.txt", "a.run", *right)


@pytest.mark.parametrize("guess", options.GUESSES)
def test_other_guesses_are_answered(guess: str, here: Path, said: Callable[..., str]) -> None:
    answer = " ".join(said("eval", "qrels.txt", "a.run", guess, "10").split())
    assert f"No such option: {guess}; {options.GUESSES[guess]}" in answer


def test_guesses_of_commands(here: Path, said: Callable[..., str]) -> None:
    for guess, name in SYNONYMS.items():
        assert said(guess, "qrels.txt", "a.run") == said(name, "qrels.txt", "a.run")
    for guess, name in GUESSES.items():
        assert name in COMMANDS
        assert f"what you look for is 'rankgauge {name}'" in said(guess)
