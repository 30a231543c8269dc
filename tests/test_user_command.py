"""`rankgauge user`: passwords asked for or piped, never an argument; one line for a mistake."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import click
import pytest
import sqlalchemy

from command import COMMAND, Command
from rankgauge.cli import cli
from rankgauge.raters import users
from rankgauge.store.project import find_project

PASSWORD = "correct horse"


@pytest.fixture
def call(shop: Path, command: Command) -> Command:
    """The command in a project with an admin."""
    done = command("user", "add", "lead", "--role", "admin", stdin=f"{PASSWORD}\n")
    assert (done.code, done.out, done.err) == (0, "", "lead: added, admin\n")
    return command


def logs_in(name: str, password: str) -> bool:
    with find_project().store(write=True) as store:
        try:
            return bool(users.log_in(store, name, password, None))
        except users.NotProved:
            return False


def test_users_are_added_listed_and_changed(call: Command) -> None:
    assert logs_in("lead", PASSWORD)
    assert call("user", "add", "ann@example.com", "--role", "viewer", "--no-password").code == 0
    assert call("user", "list").out == "ann@example.com  viewer\nlead             admin\n"
    assert call("user", "role", "lead", "rater").err == "lead: rater\n"
    assert call("user", "disable", "lead").err == "lead: disabled\n"
    assert call("user", "list").out.endswith("lead             rater   disabled\n")
    assert not logs_in("lead", PASSWORD)
    assert call("user", "enable", "lead").err == "lead: enabled\n"
    assert call("user", "password", "lead", stdin="another horse\r\nmore\n").err == "lead: has a new password\n"
    assert logs_in("lead", "another horse")
    assert not logs_in("lead", PASSWORD)


def test_who_changed_what_is_shown_the_newest_first(call: Command, shop: Path) -> None:
    (shop / "qrels.txt").write_text("q 0 d 1\n")
    assert call("user", "add", "ann", "--role", "rater", "--no-password").code == 0
    assert call("store", "import", "qrels.txt", "--judge", "eve").code == 0
    listed = json.loads(call("store", "audit", "--format", "json").out)
    assert [(each["what"], each["detail"]) for each in listed["changes"]][::2] == [
        ("imported", "qrels.txt, of eve"),
        ("user added", "lead: admin"),
    ]
    who = listed["changes"][0]["who"]
    newest = call("store", "audit", "--last", "1", "--who", who)
    assert newest.out.startswith("3 changes; the last 1, the newest first.\n")
    assert call("store", "audit", "--who", "nobody").out == "Nothing has been changed yet.\n"


IMPORTS = {
    "labels": ("q 0 d 1\n", ["--judge", "eve"], "judgment"),
    "run": ("q Q0 d 1 2.5 t\n", ["--system", "bm25"], "run"),
    "queries": ("query_id\tquery\nq\tred shoes\n", ["--queries"], "query"),
    "exported": (
        json.dumps(
            {
                "query_id": "q",
                "doc_id": "d",
                "judge": "eve",
                "state": "graded",
                "grade": 1,
                "note": "",
                "ms": 900,
                "made": "2026-11-01T10:00:00Z",
                "key": "0" * 32,
            }
        ),
        [],
        "judgment",
    ),
}


@pytest.mark.parametrize("kind", IMPORTS)
def test_an_import_and_its_line_are_one_transaction(call: Command, shop: Path, kind: str) -> None:
    text, options, table = IMPORTS[kind]
    name = "x.jsonl" if kind == "exported" else "x.tsv" if kind == "queries" else "x.txt"
    (shop / name).write_text(text)
    with find_project().store(write=True) as store:

        def told(words: str) -> Any:
            with store.engine.begin() as connection:
                done = connection.execute(sqlalchemy.text(words))
                return [*done.scalars()] if done.returns_rows else None

        rows, lines = f"SELECT count(*) FROM {table}", "SELECT detail FROM audit WHERE what = 'imported'"
        told("ALTER TABLE audit RENAME TO away")
        assert call("store", "import", name, *options).code != 0
        assert told(rows) == [0]
        told("ALTER TABLE away RENAME TO audit")
        assert call("store", "import", name, *options).code == 0
        assert told(rows) == [1]
        assert [detail.split(",")[0] for detail in told(lines)] == [name]


def test_a_token_is_shown_once_and_taken_back(call: Command) -> None:
    secret = call("user", "token", "lead", "--label", "ci", "--days", "30").out.strip()
    with find_project().store(write=True) as store:
        user = users.token_user(store, secret)
        assert user is not None
        assert user.name == "lead"
    listed = call("user", "list").out
    assert "token   ci, until 20" in listed
    assert "last used 20" in listed
    assert secret not in listed
    assert call("user", "token", "lead", "--label", "ci", "--revoke").err == "lead: the token 'ci' counts no more\n"
    with find_project().store(write=True) as store:
        assert users.token_user(store, secret) is None


@pytest.mark.parametrize(
    ("words", "stdin", "told"),
    [
        (["add", "lead", "--role", "admin"], PASSWORD, "there is a user 'lead'"),
        (["add", "a,b", "--role", "admin"], PASSWORD, "is no name for a user"),
        (["add", "ann", "--role", "rater"], "", "a password has 8 to 1,000 characters"),
        (["add", "ann", "--role", "rater"], "short\n", "a password has 8 to 1,000 characters"),
        (["add", "ann", "--role", "rater"], b"\xff\xfe\xff\xfe\xff\xfe\xff\xfe", "is no UTF-8"),
        (["add", "ann", "--role", "boss"], PASSWORD, "boss"),
        (["add", "ann"], PASSWORD, "--role"),
        (["add", "ann", PASSWORD, "--role", "rater"], "", "unexpected extra argument"),
        (["password", "leed"], PASSWORD, "there is no user 'leed'; did you mean 'lead'"),
        (["disable", "nobody"], "", "there is no user 'nobody'"),
        (["token", "nobody", "--label", "x"], "", "there is no user 'nobody'"),
        (["token", "lead", "--label", "x", "--revoke"], "", "lead has no token 'x'"),
        (["token", "lead", "--label", "x", "--days", "0"], "", "--days"),
        (["token", "lead", "--label", "x", "--days", "5", "--revoke"], "", "exclude each other"),
    ],
)
def test_mistakes_are_one_line(call: Command, words: list[str], stdin: str | bytes, told: str) -> None:
    before = call("user", "list").out
    done = call("user", *words, stdin=stdin)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert PASSWORD not in done.err.replace(f"({PASSWORD})", "")
    assert call("user", "list").out == before


def test_outside_a_project_it_says_so(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("user", "list").code == 2


def test_no_option_takes_a_password() -> None:
    group = cli.get_command(click.Context(cli), "user")
    assert isinstance(group, click.Group)
    for each in group.commands.values():
        taken = [name for option in each.params if not getattr(option, "is_flag", False) for name in option.opts]
        assert not any("password" in name for name in taken), each.name


def test_on_a_terminal_it_is_asked_for_twice_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    command("init", tmp_path)
    monkeypatch.chdir(tmp_path)
    ours, theirs = os.openpty()
    line = [*COMMAND, "user", "add", "ann", "--role", "rater"]
    process = subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, start_new_session=True)
    os.close(theirs)
    shown = ""
    for question in ("Password", "The same again"):
        end = time.monotonic() + 60
        while question not in shown and time.monotonic() < end:
            shown += os.read(ours, 1000).decode()
        os.write(ours, f"{PASSWORD}\n".encode())
    while "added, rater" not in shown and time.monotonic() < end:
        shown += os.read(ours, 1000).decode()
    assert process.wait(60) == 0
    os.close(ours)
    assert PASSWORD not in shown
    assert logs_in("ann", PASSWORD)
