"""`rankgauge user`: who may judge and look, once the app asks for passwords."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from rankgauge.cli.options import command
from rankgauge.errors import InputError
from rankgauge.store.operator import operator

if TYPE_CHECKING:
    from rankgauge.store.store import Store

__all__ = ["user"]

ROLES: Final = ("rater", "viewer", "admin")  # of raters/users.py, which help must not import
LONGEST: Final = 10_000  # bytes of a line with a password
ROLE: Final = "A rater judges, a viewer looks at the analysis, an admin may do everything."


@click.group("user")
def user() -> None:
    """The project's users: who may judge, look, and change things in 'rankgauge serve'.

    A password is asked for on the terminal, or read from standard input; it is never an argument.

    \b
    Examples:
      rankgauge user add lead --role admin
      rankgauge user add ann --role rater
      rankgauge user disable ann
      rankgauge user token ann --label laptop --days 30
      rankgauge user list
    """


@command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help=ROLE)
@click.option("--no-password", "nameless", is_flag=True, help="For a proxy that says who asks, or for tokens alone.")
def add_one(name: str, role: str, nameless: bool) -> None:
    """Add a user; the password is asked for.

    \b
    Examples:
      rankgauge user add ann --role rater
      pass rankgauge/ann | rankgauge user add ann --role rater
      rankgauge user add ann@example.com --role viewer --no-password
    """
    from rankgauge.raters.users import add_user, check_new

    with _opened() as store:
        check_new(store, name)
        add_user(store, name, role, None if nameless else _password(), operator())
    click.echo(f"{name}: added, {role}", err=True)


@command("list")
def list_all() -> None:
    """Show the users with their roles, and the tokens with their ends.

    \b
    Examples:
      rankgauge user list
    """
    from rankgauge.raters.users import tokens, users
    from rankgauge.show.cells import printable

    with _opened() as store:
        rows = [(each.name, each.role, "disabled" if each.disabled else "") for each in users(store)]
        rows += [
            (each.user, "token", f"{each.label}, {_times(each.expires, each.last_used)}") for each in tokens(store)
        ]
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, role, more in sorted(rows, key=lambda row: (row[0], row[1] == "token")):
        click.echo(printable(f"{name:{width}}  {role:6}  {more}".rstrip()))


def _times(expires: str, used: str | None) -> str:
    return f"until {expires[:10]}, {f'last used {used[:10]}' if used else 'not used'}"


@command("disable")
@click.argument("name")
def disable_one(name: str) -> None:
    """Let nobody in by this name any more, at once; judgments stay.

    \b
    Examples:
      rankgauge user disable ann
    """
    from rankgauge.raters.users import disable

    with _opened() as store:
        disable(store, name, operator())
    click.echo(f"{name}: disabled", err=True)


@command("enable")
@click.argument("name")
def enable_one(name: str) -> None:
    """Let a user in again: one who was disabled, or whose log-ins failed too often.

    \b
    Examples:
      rankgauge user enable ann
    """
    from rankgauge.raters.users import enable

    with _opened() as store:
        enable(store, name, operator())
    click.echo(f"{name}: enabled", err=True)


@command("password")
@click.argument("name")
def new_password(name: str) -> None:
    """Give a user another password, which ends every log-in of theirs.

    \b
    Examples:
      rankgauge user password ann
    """
    from rankgauge.raters.users import known_user, set_password

    with _opened() as store:
        known_user(store, name)
        set_password(store, name, _password(), operator())
    click.echo(f"{name}: has a new password", err=True)


@command("role")
@click.argument("name")
@click.argument("role", type=click.Choice(ROLES))
def new_role(name: str, role: str) -> None:
    """Give a user another role, at once.

    \b
    Examples:
      rankgauge user role ann viewer
    """
    from rankgauge.raters.users import set_role

    with _opened() as store:
        set_role(store, name, role, operator())
    click.echo(f"{name}: {role}", err=True)


@command("token", excludes=[("days", "revoke")])
@click.argument("name")
@click.option("--label", required=True, metavar="TEXT", help="What the token is for.")
@click.option("--days", type=click.IntRange(1, 3650), default=90, help="How long it counts.  [90]")
@click.option("--revoke", is_flag=True, help="Take the token of this label back.")
def new_token(name: str, label: str, days: int, revoke: bool) -> None:
    """Print a new token, with which a program asks as this user: it is shown once.

    A program sends it with every request: Authorization: Bearer TOKEN.

    \b
    Examples:
      rankgauge user token ann --label laptop --days 30
      rankgauge user token ann --label laptop --revoke
    """
    from rankgauge.raters.users import add_token, revoke_token

    with _opened() as store:
        if revoke:
            revoke_token(store, name, label, operator())
            click.echo(f"{name}: the token {label!r} counts no more", err=True)
        else:
            click.echo(add_token(store, name, label, days, operator()))


for each in (add_one, list_all, disable_one, enable_one, new_password, new_role, new_token):
    user.add_command(each)


def _opened() -> Store:
    from rankgauge.cli.inputs import project

    return project().store(write=True)


def _password() -> str:
    """Asked for twice on a terminal; otherwise the first line of standard input."""
    if sys.stdin.isatty():
        asked: str = click.prompt("Password", hide_input=True, confirmation_prompt="The same again", err=True)
        return asked
    try:
        return sys.stdin.buffer.readline(LONGEST).decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise InputError("the password on standard input is no UTF-8") from None
