"""Users on both stores: passwords, guessing, sessions, tokens, and a line for every change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select, text, update

from rankgauge.errors import InputError
from rankgauge.raters import passwords, users
from rankgauge.raters.audit import audit_row
from rankgauge.store import schema
from rankgauge.store.engine import StoreError
from rankgauge.store.store import Store

HERE = "10.0.0.7"
RIGHT, WRONG = "correct horse", "wrong horse"


@pytest.fixture
def ann(store: Store) -> users.User:
    return users.add_user(store, "ann", "rater", RIGHT, "root")


def lines(store: Store) -> list[tuple[str, str, str, str | None]]:
    """The audit table without its times."""
    table = schema.audit.c
    asked = select(table.who, table.what, table.detail, table.address).order_by(table.audit_id)
    return [tuple(row) for row in store.read(lambda connection: connection.execute(asked).all())]


def everything(store: Store) -> str:
    """All that the tables of users hold, as text."""
    tables = (schema.user, schema.session, schema.token, schema.audit)
    return store.read(lambda each: repr([each.execute(select(table)).all() for table in tables]))


def later(**by: float) -> str:
    return (datetime.now(UTC) + timedelta(**by)).isoformat(timespec="milliseconds")


# ---- users -----------------------------------------------------------------------------------------------------------


def test_users_are_added_changed_and_listed(store: Store, ann: users.User) -> None:
    users.add_user(store, "Åsa@example.com", "viewer", None, "root")
    users.set_role(store, "ann", "admin", "root")
    users.disable(store, "ann", "root")
    assert [(each.name, each.role, each.disabled) for each in users.users(store)] == [
        ("ann", "admin", True),
        ("Åsa@example.com", "viewer", False),
    ]
    assert users.named_user(store, "ann") is None
    users.enable(store, "ann", "root")
    assert users.named_user(store, "ann") == (ann.number, "ann", "admin", False)


@pytest.mark.parametrize("name", ["", " ann", "ann ", "a,b", "a\nb", "a\x1b[2J", "x" * 101, "a\0b", "a\ud800"])
def test_a_name_that_could_be_mistaken_is_refused(store: Store, name: str) -> None:
    with pytest.raises(InputError, match="is no name for a user"):
        users.add_user(store, name, "rater", RIGHT, "root")
    assert users.users(store) == []


def test_mistakes_are_told(store: Store, ann: users.User) -> None:
    with pytest.raises(InputError, match="there is a user 'ann'"):
        users.add_user(store, "ann", "admin", RIGHT, "root")
    with pytest.raises(InputError, match="there is no role 'root'"):
        users.add_user(store, "bob", "root", RIGHT, "root")
    with pytest.raises(InputError, match="there is no user 'anne'; did you mean 'ann'"):
        users.disable(store, "anne", "root")
    for short in ("", "1234567", "x" * 1001):
        with pytest.raises(InputError, match="a password has 8 to 1,000 characters"):
            users.set_password(store, "ann", short, "root")
    assert users.users(store) == [ann]


def test_who_can_log_in_as_admin(store: Store, ann: users.User) -> None:
    assert not users.can_log_in(store, "admin")
    users.add_user(store, "proxied", "admin", None, "root")
    assert not users.can_log_in(store, "admin")
    users.add_user(store, "lead", "admin", RIGHT, "root")
    assert users.can_log_in(store, "admin")
    users.disable(store, "lead", "root")
    assert not users.can_log_in(store, "admin")


# ---- passwords and sessions ------------------------------------------------------------------------------------------


def test_passwords_are_stored_as_argon2id_of_19_mib(store: Store, ann: users.User) -> None:
    stored = str(store.read(lambda each: each.scalar(select(schema.user.c.password))))
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert passwords.NOBODY.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert passwords.kept(RIGHT) != passwords.kept(RIGHT)


def test_the_same_characters_are_the_same_password(store: Store) -> None:
    users.add_user(store, "bob", "rater", "cafe\u0301 creme", "root")
    assert users.log_in(store, "bob", "caf\u00e9 creme", HERE)


def test_an_unknown_name_costs_what_a_known_one_does(
    store: Store, ann: users.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    users.add_user(store, "proxied", "rater", None, "root")
    users.add_user(store, "gone", "rater", RIGHT, "root")
    users.disable(store, "gone", "root")
    computed: list[str] = []
    hasher = passwords._hasher()
    verify = hasher.verify

    class Counted:
        def verify(self, stored: str, password: bytes) -> bool:
            computed.append(stored)
            return bool(verify(stored, password))

    monkeypatch.setattr(passwords, "_hasher", Counted)
    told = set()
    for name in ("ann", "nobody", "proxied", "gone", "a\0b"):
        with pytest.raises(users.NotProved) as error:
            users.log_in(store, name, WRONG, HERE)
        told.add(str(error.value))
    assert len(computed) == 5
    assert all(stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$") for stored in computed)
    assert len(told) == 1


def test_no_more_than_two_are_computed_at_a_time(
    store: Store, ann: users.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, most, lock, two = 0, 0, threading.Lock(), threading.Barrier(2)

    class Slow:
        def verify(self, stored: str, password: bytes) -> bool:
            nonlocal busy, most
            with lock:
                busy += 1
                most = max(most, busy)
            two.wait(20)  # two are there at the same time
            with lock:
                busy -= 1
            return True

    monkeypatch.setattr(passwords, "_hasher", Slow)
    threads = [threading.Thread(target=users.log_in, args=(store, "ann", RIGHT, HERE)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most == 2


def test_a_session_begins_and_ends(store: Store, ann: users.User) -> None:
    first, second = (users.log_in(store, "ann", RIGHT, HERE) for _ in range(2))
    assert first != second
    assert len(first) >= 43  # 256 bits
    assert users.session_user(store, first) == users.session_user(store, second) == ann
    users.log_out(store, first)
    assert users.session_user(store, first) is None
    assert users.session_user(store, second) == ann
    users.log_out(store, "never there")
    assert [line[1] for line in lines(store)].count("logged out") == 1
    for secret in ("", "x", second[:-1], "a\0b", passwords.hash_of(second)):
        assert users.session_user(store, secret) is None


def test_a_log_in_ends_the_session_before_it(store: Store, ann: users.User) -> None:
    first = users.log_in(store, "ann", RIGHT, HERE)
    second = users.log_in(store, "ann", RIGHT, HERE, first)
    assert users.session_user(store, first) is None
    assert users.session_user(store, second) == ann


def disabled_for_a_moment(store: Store) -> None:
    users.disable(store, "ann", "root")
    users.enable(store, "ann", "root")


ENDS: dict[str, Callable[[Store], Any]] = {
    "disabled": lambda store: users.disable(store, "ann", "root"),
    "disabled, enabled": disabled_for_a_moment,
    "new password": lambda store: users.set_password(store, "ann", "another horse", "root"),
    "own new password": lambda store: users.change_password(store, "ann", RIGHT, "another horse", HERE),
}


@pytest.mark.parametrize("how", ENDS)
def test_sessions_end(store: Store, ann: users.User, how: str) -> None:
    users.add_user(store, "bob", "rater", RIGHT, "root")
    sessions = [users.log_in(store, "ann", RIGHT, HERE) for _ in range(2)]
    other = users.log_in(store, "bob", RIGHT, HERE)
    before = users.access_changes(store)
    ENDS[how](store)
    assert [users.session_user(store, each) for each in sessions] == [None, None]
    assert users.session_user(store, other) is not None
    assert users.access_changes(store) > before


def test_a_session_ends_after_a_week(store: Store, ann: users.User) -> None:
    secret = users.log_in(store, "ann", RIGHT, HERE)
    expires = str(store.read(lambda each: each.scalar(select(schema.session.c.expires))))
    assert later(days=6, hours=23) < expires < later(days=7, hours=1)
    store.writer.write(lambda each: each.execute(update(schema.session).values(expires=later(seconds=-1))))
    assert users.session_user(store, secret) is None
    users.log_in(store, "ann", RIGHT, HERE)
    assert len(store.read(lambda each: each.execute(select(schema.session)).all())) == 1  # what has ended is removed


def test_ones_own_password_needs_the_old_one(store: Store, ann: users.User) -> None:
    with pytest.raises(users.NotProved):
        users.change_password(store, "ann", WRONG, "another horse", HERE)
    with pytest.raises(InputError, match="8 to"):
        users.change_password(store, "ann", RIGHT, "short", HERE)
    secret = users.change_password(store, "ann", RIGHT, "another horse", HERE)
    assert users.session_user(store, secret) == ann
    with pytest.raises(users.NotProved):
        users.log_in(store, "ann", RIGHT, HERE)


def test_a_password_that_changes_meanwhile_lets_nobody_in(
    store: Store, ann: users.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = passwords.is_right

    def meanwhile(stored: str | None, password: str) -> bool:
        proved = right(stored, password)
        new = {"password": passwords._hasher().hash(b"another horse")}
        store.writer.write(lambda each: each.execute(update(schema.user).values(**new)))
        return proved

    monkeypatch.setattr("rankgauge.raters.users.is_right", meanwhile)
    with pytest.raises(users.NotProved, match="just been changed"):
        users.log_in(store, "ann", RIGHT, HERE)
    assert store.read(lambda each: each.execute(select(schema.session)).all()) == []


# ---- guessing --------------------------------------------------------------------------------------------------------


def failures(store: Store, who: str, address: str, number: int, minutes: float = 1) -> None:
    """Log-ins that have failed so long ago."""
    rows = [audit_row(who, users.FAILED, address=address) | {"at": later(minutes=-minutes)} for _ in range(number)]
    store.writer.write(lambda connection: connection.execute(insert(schema.audit), rows))


@pytest.mark.parametrize("name", ["ann", "nobody"])
def test_ten_failures_of_a_name_from_an_address_are_the_last(store: Store, ann: users.User, name: str) -> None:
    for _ in range(10):
        with pytest.raises(users.NotProved):
            users.log_in(store, name, WRONG, HERE)
    with pytest.raises(users.TooManyFailures, match="wait 15 minutes, or ask an admin for a new password") as locked:
        users.log_in(store, name, RIGHT, HERE)
    assert 890 < locked.value.seconds <= 900
    with pytest.raises(users.NotProved):
        users.log_in(store, "somebody else", RIGHT, HERE)
    if name == "ann":
        with pytest.raises(users.TooManyFailures):
            users.change_password(store, "ann", RIGHT, "another horse", HERE)


def test_failures_are_forgotten_after_a_quarter_of_an_hour(store: Store, ann: users.User) -> None:
    failures(store, "ann", HERE, 10, 15.1)
    failures(store, "ann", HERE, 9, 14.9)
    assert users.log_in(store, "ann", RIGHT, HERE)
    failures(store, "ann", HERE, 1, 14.9)
    with pytest.raises(users.TooManyFailures):
        users.log_in(store, "ann", RIGHT, HERE)


def test_nobody_keeps_anybody_out_from_another_address(store: Store, ann: users.User) -> None:
    failures(store, "ann", "10.0.0.8", 50)
    failures(store, "ann", "10.0.0.9", 50)
    with pytest.raises(users.TooManyFailures):
        users.log_in(store, "ann", RIGHT, "10.0.0.8")
    assert users.log_in(store, "ann", RIGHT, HERE)
    assert users.log_in(store, "ann", RIGHT, None)


def test_without_an_address_ten_failures_are_the_last_too(store: Store, ann: users.User) -> None:
    for _ in range(10):
        with pytest.raises(users.NotProved):
            users.log_in(store, "ann", WRONG, None)
    with pytest.raises(users.TooManyFailures):
        users.log_in(store, "ann", RIGHT, None)
    assert users.log_in(store, "ann", RIGHT, HERE)


@pytest.mark.parametrize(("minutes", "said"), [(1, "14 minutes"), (13.5, "2 minutes"), (14.5, "1 minute,")])
def test_the_minutes_left_are_told(store: Store, ann: users.User, minutes: float, said: str) -> None:
    failures(store, "ann", HERE, 3, 14.8)  # too old to count when the others still do
    failures(store, "ann", HERE, 10, minutes)
    with pytest.raises(users.TooManyFailures, match=f"wait {said}") as locked:
        users.log_in(store, "ann", RIGHT, HERE)
    assert abs(locked.value.seconds - (15 - minutes) * 60) < 5


@pytest.mark.parametrize("who", ["ann", "whoever"])
def test_a_new_password_and_enabling_unlock(store: Store, ann: users.User, who: str) -> None:
    new = "another horse battery"
    failures(store, who, HERE, 100)
    with pytest.raises(users.TooManyFailures):
        users.log_in(store, "ann", RIGHT, HERE)
    users.set_password(store, "ann", new, "root")
    assert users.log_in(store, "ann", new, HERE)
    failures(store, who, HERE, 100)
    users.set_role(store, "ann", "viewer", "root")
    with pytest.raises(users.TooManyFailures):
        users.log_in(store, "ann", new, HERE)
    users.enable(store, "ann", "root")
    assert users.log_in(store, "ann", new, HERE)
    with pytest.raises(users.NotProved):  # guessing goes on from nought, and ends as before
        users.log_in(store, "ann", WRONG, HERE)
    failures(store, "ann", HERE, 9)
    with pytest.raises(users.TooManyFailures):
        users.log_in(store, "ann", new, HERE)


def test_the_password_of_another_unlocks_nobody(store: Store, ann: users.User) -> None:
    users.add_user(store, "bob", "rater", RIGHT, "root")
    failures(store, "ann", HERE, 10)
    users.set_password(store, "bob", "another horse battery", "root")
    with pytest.raises(users.TooManyFailures):
        users.log_in(store, "ann", RIGHT, HERE)


def test_a_hundred_failures_from_an_address_are_the_last(store: Store, ann: users.User) -> None:
    failures(store, "whoever", HERE, 99)
    assert users.log_in(store, "ann", RIGHT, HERE)
    failures(store, "whoever", HERE, 1)
    with pytest.raises(users.TooManyFailures):
        users.log_in(store, "ann", RIGHT, HERE)
    assert users.log_in(store, "ann", RIGHT, "10.0.0.8")


def test_guessing_at_once_is_no_way_round(store: Store, ann: users.User) -> None:
    told: list[type[BaseException]] = []

    def guess() -> None:
        try:
            users.log_in(store, "ann", WRONG, HERE)
        except Exception as error:
            told.append(type(error))

    threads = [threading.Thread(target=guess) for _ in range(30)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(told) == 30
    assert told.count(users.NotProved) <= 11  # one more may be under way when the tenth fails


# ---- tokens ----------------------------------------------------------------------------------------------------------


def test_a_token_counts_until_it_ends(store: Store, ann: users.User) -> None:
    secret = users.add_token(store, "ann", "laptop", 90, "root")
    ((user, label, expires, used),) = users.tokens(store)
    assert (user, label, used) == ("ann", "laptop", None)
    assert later(days=89) < expires < later(days=91)
    assert users.token_user(store, secret) == ann
    store.writer.write(lambda connection: None)
    assert later(minutes=-1) < str(users.tokens(store)[0].last_used) < later(minutes=1)
    assert users.token_user(store, secret[:-1]) is None
    assert users.session_user(store, secret) is None
    store.writer.write(lambda each: each.execute(update(schema.token).values(expires=later(seconds=-1))))
    assert users.token_user(store, secret) is None


@pytest.mark.parametrize("label", ["", "  ", "two\nlines", "x" * 101])
def test_a_label_of_a_token_is_a_line_of_text(store: Store, ann: users.User, label: str) -> None:
    with pytest.raises(InputError, match="is no label for a token; take 1 to 100 letters"):
        users.add_token(store, "ann", label, 90, "root")
    assert users.tokens(store) == []
    users.add_token(store, "ann", "x" * 100, 90, "root")
    assert len(users.tokens(store)) == 1


def test_a_token_is_taken_back(store: Store, ann: users.User) -> None:
    secret, other = (users.add_token(store, "ann", label, 90, "root") for label in ("laptop", "ci"))
    with pytest.raises(InputError, match="has a token 'ci'"):
        users.add_token(store, "ann", "ci", 90, "root")
    before = users.access_changes(store)
    users.revoke_token(store, "ann", "laptop", "root")
    assert users.access_changes(store) > before
    assert users.token_user(store, secret) is None
    assert users.token_user(store, other) == ann
    with pytest.raises(InputError, match="has no token 'laptop'"):
        users.revoke_token(store, "ann", "laptop", "root")
    users.disable(store, "ann", "root")
    assert users.token_user(store, other) is None


# ---- who did what ----------------------------------------------------------------------------------------------------


def test_every_change_has_its_line(store: Store, ann: users.User) -> None:
    secret = users.log_in(store, "ann", RIGHT, HERE)
    users.log_out(store, secret)
    with pytest.raises(users.NotProved):
        users.log_in(store, "ann", WRONG, HERE)
    users.change_password(store, "ann", RIGHT, "another horse", HERE)
    users.set_password(store, "ann", RIGHT, "root")
    users.set_role(store, "ann", "viewer", "root")
    users.disable(store, "ann", "root")
    users.enable(store, "ann", "root")
    users.add_token(store, "ann", "ci", 30, "root")
    users.revoke_token(store, "ann", "ci", "root")
    assert lines(store) == [
        ("root", "user added", "ann: rater", None),
        ("ann", "logged in", "", HERE),
        ("ann", "logged out", "", None),
        ("ann", "log-in failed", "", HERE),
        ("ann", "new password", "ann", HERE),
        ("root", "new password", "ann", None),
        ("root", "role changed", "ann: viewer", None),
        ("root", "user disabled", "ann", None),
        ("root", "user enabled", "ann", None),
        ("root", "token added", "ann: ci, for 30 days", None),
        ("root", "token revoked", "ann: ci", None),
    ]


def test_no_change_without_its_line(store: Store, ann: users.User) -> None:
    """Where the line cannot be written, nothing is changed: both are one transaction."""
    secret = users.log_in(store, "ann", RIGHT, HERE)
    users.add_token(store, "ann", "ci", 30, "root")
    before = [users.users(store), users.tokens(store)]
    store.writer.write(lambda connection: connection.execute(text("ALTER TABLE audit RENAME TO elsewhere")))
    changes: list[Callable[[], Any]] = [
        lambda: users.add_user(store, "bob", "rater", None, "root"),
        lambda: users.set_role(store, "ann", "admin", "root"),
        lambda: users.disable(store, "ann", "root"),
        lambda: users.set_password(store, "ann", "another horse", "root"),
        lambda: users.log_out(store, secret),
        lambda: users.add_token(store, "ann", "laptop", 30, "root"),
        lambda: users.revoke_token(store, "ann", "ci", "root"),
    ]
    for change in changes:
        with pytest.raises(StoreError):
            change()
    store.writer.write(lambda connection: connection.execute(text("ALTER TABLE elsewhere RENAME TO audit")))
    assert [users.users(store), users.tokens(store)] == before
    assert users.session_user(store, secret) == ann


def test_no_secret_is_stored(store: Store, ann: users.User) -> None:
    secrets = [users.log_in(store, "ann", RIGHT, HERE), users.add_token(store, "ann", "ci", 30, "root")]
    secrets += [users.change_password(store, "ann", RIGHT, "another horse", HERE)]
    for name in ("ann", "my passw0rd, typed as a name"):
        with pytest.raises(users.NotProved):
            users.log_in(store, name, WRONG, HERE)
    stored = everything(store)
    assert passwords.hash_of(secrets[-1]) in stored
    for secret in (*secrets, RIGHT, WRONG, "another horse", "my passw0rd", passwords.hash_of("my passw0rd")[:16]):
        assert secret not in stored
    said = repr(lines(store))
    assert "argon2" not in said
    assert not any(passwords.hash_of(secret) in said for secret in secrets)
