"""Users of a project: who they are, how they log in, and what ends that. Every change has a line in the audit table."""

from __future__ import annotations

import hmac
import secrets
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, update

from rankgauge.errors import InputError, RankgaugeError, counted, unknown
from rankgauge.raters.audit import audit
from rankgauge.raters.leases import release
from rankgauge.raters.passwords import TWO, check_password, hash_of, is_right, kept, new_secret
from rankgauge.store import schema
from rankgauge.store.rows import inserted, is_storable, now

if TYPE_CHECKING:
    from rankgauge.store.store import Store

__all__ = [
    "ROLES", "SESSION", "NotProved", "Token", "TooManyFailures", "User", "access_changes", "add_token", "add_user",
    "can_log_in", "change_password", "check_new", "disable", "enable", "known_user", "log_in", "log_out", "named_user",
    "revoke_token", "session_user", "set_password", "set_role", "token_user", "tokens", "users",
]  # fmt: skip

# Role → what whoever has it may do.
ROLES: Final = {"rater": "judges", "viewer": "looks at the analysis", "admin": "may do everything"}
SESSION: Final = timedelta(days=7)
WINDOW: Final = timedelta(minutes=15)
FAILURES, FAILURES_THERE = 10, 100  # of a name from an address, and of all names: an office has one address
LONGEST: Final = 100  # characters of a name

# What is said in the audit table.
ADDED, ROLE, DISABLED, ENABLED, PASSWORD = "user added", "role changed", "user disabled", "user enabled", "new password"
LOGGED_IN, FAILED, LOGGED_OUT = "logged in", "log-in failed", "logged out"
TOKEN, REVOKED = "token added", "token revoked"
UNLOCKING: Final = (PASSWORD, ENABLED)  # after these, failures of the name are counted from nought
ENDING: Final = (ROLE, DISABLED, PASSWORD, LOGGED_OUT, REVOKED)  # after these, what is remembered of users is not true

_NAMELESS: Final = secrets.token_bytes(32)  # of this process


class User(NamedTuple):
    """Somebody who may ask."""

    number: int
    name: str
    role: str
    disabled: bool


class Token(NamedTuple):
    """What a program shows in place of a password; the secret itself is not known here."""

    user: str
    label: str
    expires: str
    last_used: str | None


class NotProved(RankgaugeError):
    """Nobody of this name has this password."""


class TooManyFailures(RankgaugeError):
    """Somebody guesses; log-ins are refused for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, ceil(seconds))
        minutes = counted(ceil(self.seconds / 60), "minute")
        super().__init__(f"too many log-ins have failed; wait {minutes}, or ask an admin for a new password")


# ---- users -----------------------------------------------------------------------------------------------------------


def add_user(store: Store, name: str, role: str, password: str | None, who: str) -> User:
    """A new user; without a password, for a proxy that says who asks, or for tokens."""
    check_new(store, name)
    _check_role(role)
    row = {"name": name, "role": role, "password": _stored(password), "disabled": 0, "at": now()}

    def added(connection: Connection) -> User:
        _check_free(connection, name)
        audit(connection, who, ADDED, f"{name}: {role}")
        return User(inserted(connection, schema.user, row), name, role, False)

    return store.writer.write(added)


def check_new(store: Store, name: str) -> None:
    """Refuse a name that no user may have, or that one has."""
    odd = name != name.strip() or not name.isprintable() or "," in name or not is_storable(name)
    if odd or not 0 < len(name) <= LONGEST:
        raise InputError(f"{name[:60]!r}: is no name for a user; take 1 to {LONGEST} letters, without a comma")
    store.read(lambda connection: _check_free(connection, name))


def _check_free(connection: Connection, name: str) -> None:
    if _find(connection, schema.user.c.name == name) is not None:
        raise InputError(f"there is a user {name!r}; change it with 'rankgauge user role' or 'rankgauge user password'")


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise InputError(unknown(f"there is no role {role!r}", role, ROLES))


def users(store: Store) -> list[User]:
    """All of them, by their names."""
    rows = store.read(lambda connection: connection.execute(_users().order_by(schema.user.c.name)).all())
    return [_user(row) for row in rows]


def known_user(store: Store, name: str) -> User:
    """The user of a name, who has to be there."""
    return store.read(lambda connection: _known(connection, name))


def named_user(store: Store, name: str) -> User | None:
    """The user of a name, where there is one who is not disabled."""
    if not is_storable(name):
        return None
    return store.read(lambda connection: _find(connection, schema.user.c.name == name, schema.user.c.disabled == 0))


def can_log_in(store: Store, role: str) -> bool:
    """Whether somebody of a role has a password and is not disabled."""
    table = schema.user.c
    asked = (table.role == role, table.disabled == 0, table.password.is_not(None))
    return store.read(lambda connection: _find(connection, *asked)) is not None


def disable(store: Store, name: str, who: str) -> None:
    """Let nobody in by this name any more; log-ins that are there end, and queries in their hands go to others."""
    _change(store, name, who, DISABLED, {"disabled": 1}, ends=True)
    store.writer.write(lambda connection: release(connection, name))


def enable(store: Store, name: str, who: str) -> None:
    """Let somebody in again."""
    _change(store, name, who, ENABLED, {"disabled": 0})


def set_role(store: Store, name: str, role: str, who: str) -> None:
    """Another role, at once."""
    _check_role(role)
    _change(store, name, who, ROLE, {"role": role}, detail=f": {role}")


def set_password(store: Store, name: str, password: str, who: str) -> None:
    """Another password; log-ins that are there end."""
    _change(store, name, who, PASSWORD, {"password": _stored(password)}, ends=True)


def _stored(password: str | None) -> str | None:
    if password is None:
        return None
    check_password(password)
    return kept(password)


def _change(
    store: Store, name: str, who: str, what: str, values: dict[str, Any], *, detail: str = "", ends: bool = False
) -> None:
    """Change a user, with a line about it; `ends`: the log-ins, too."""

    def changed(connection: Connection) -> None:
        user = _known(connection, name)
        connection.execute(update(schema.user).where(schema.user.c.user_id == user.number).values(**values))
        if ends:
            _end_sessions(connection, user)
        audit(connection, who, what, f"{name}{detail}")

    store.writer.write(changed)


def _users() -> Select[Any]:
    table = schema.user.c
    return select(table.user_id, table.name, table.role, table.disabled)


def _user(row: Any) -> User:
    return User(row[0], row[1], row[2], bool(row[3]))


def _find(connection: Connection, *where: ColumnElement[bool]) -> User | None:
    row = connection.execute(_users().where(*where).limit(1)).first()
    return None if row is None else _user(row)


def _known(connection: Connection, name: str) -> User:
    found = _find(connection, schema.user.c.name == name)
    if found is None:
        names = [row[1] for row in connection.execute(_users().order_by(schema.user.c.name))]
        none = "" if names else "there are none yet: rankgauge user add NAME --role ROLE"
        raise InputError(unknown(f"there is no user {name!r}", name, names, none))
    return found


# ---- log-ins ---------------------------------------------------------------------------------------------------------


def log_in(store: Store, name: str, password: str, address: str | None, before: str | None = None) -> str:
    """The secret of a new session, which ends the one of `before`."""
    user, stored = _proved(store, name, password, address)

    def begun(connection: Connection) -> str:
        _check_still(connection, user, stored)
        connection.execute(delete(schema.session).where(schema.session.c.expires <= now()))
        if before is not None:
            connection.execute(delete(schema.session).where(schema.session.c.hash == hash_of(before)))
        audit(connection, user.name, LOGGED_IN, address=address)
        return _begin_session(connection, user)

    return store.writer.write(begun)


def change_password(store: Store, name: str, password: str, new: str, address: str | None) -> str:
    """One's own password, by whoever knows the old one; the secret of a new session, for all others have ended."""
    user, stored = _proved(store, name, password, address)
    check_password(new)
    values = {"password": kept(new)}

    def changed(connection: Connection) -> str:
        _check_still(connection, user, stored)
        connection.execute(update(schema.user).where(schema.user.c.user_id == user.number).values(**values))
        _end_sessions(connection, user)
        audit(connection, user.name, PASSWORD, user.name, address)
        return _begin_session(connection, user)

    return store.writer.write(changed)


def log_out(store: Store, secret: str) -> None:
    """End a session."""

    def ended(connection: Connection) -> None:
        user = _find_by_session(connection, secret)
        connection.execute(delete(schema.session).where(schema.session.c.hash == hash_of(secret)))
        if user is not None:
            audit(connection, user.name, LOGGED_OUT)

    store.writer.write(ended)


def session_user(store: Store, secret: str) -> User | None:
    """Whose session it is, where it goes on."""
    return store.read(lambda connection: _find_by_session(connection, secret))


def _find_by_session(connection: Connection, secret: str) -> User | None:
    table = schema.session.c
    asked = _users().join(schema.session, table.user_id == schema.user.c.user_id)
    asked = asked.where(table.hash == hash_of(secret), table.expires > now(), schema.user.c.disabled == 0)
    row = connection.execute(asked).first()
    return None if row is None else _user(row)


def _begin_session(connection: Connection, user: User) -> str:
    secret, expires = new_secret(), _later(SESSION)
    row = {"hash": hash_of(secret), "user_id": user.number, "expires": expires}
    connection.execute(insert(schema.session).values(**row))
    return secret


def _end_sessions(connection: Connection, user: User) -> None:
    connection.execute(delete(schema.session).where(schema.session.c.user_id == user.number))


def _proved(store: Store, name: str, password: str, address: str | None) -> tuple[User, str]:
    """The user whose password this is, and how it is stored. Failures are counted, two at a time and no more."""
    with TWO:
        user, stored = store.read(lambda connection: _login_of(connection, name))
        who = _nameless(name) if user is None else user.name
        store.read(lambda connection: _check_failures(connection, who, address))
        if is_right(stored, password) and user is not None and stored is not None:
            return user, stored
        store.writer.write(lambda connection: audit(connection, who, FAILED, address=address))
    raise NotProved("there is no user of this name with this password")


def _login_of(connection: Connection, name: str) -> tuple[User | None, str | None]:
    """The user and the password, where both are there and the user is not disabled."""
    if not is_storable(name):
        return None, None
    user = _find(connection, schema.user.c.name == name)
    if user is None or user.disabled:
        return user, None
    return user, connection.scalar(select(schema.user.c.password).where(schema.user.c.user_id == user.number))


def _nameless(name: str) -> str:
    """What stands for a name that nobody has: it may be a password, typed into the wrong field."""
    typed = name.encode("utf-8", "surrogatepass")
    return f"nobody {hmac.digest(_NAMELESS, typed, 'sha256').hex()[:16]}"


def _check_failures(connection: Connection, who: str, address: str | None) -> None:
    """Refuse whoever has failed too often from an address since an admin let them in again."""
    table = schema.audit.c
    unlocked = select(func.max(table.audit_id)).where(table.what.in_(UNLOCKING), table.detail == who)
    last = connection.scalar(unlocked) or 0
    recent = select(table.at).where(table.what == FAILED, table.at > _later(-WINDOW), table.audit_id > last)
    recent = recent.where(table.address == address).order_by(table.at.desc()).limit(1)
    ends = [connection.scalar(recent.where(table.who == who).offset(FAILURES - 1))]
    ends += [connection.scalar(recent.offset(FAILURES_THERE - 1))] if address is not None else []
    until = max((datetime.fromisoformat(end) + WINDOW for end in ends if end is not None), default=None)
    if until is not None:
        raise TooManyFailures((until - datetime.now(UTC)).total_seconds())


def _check_still(connection: Connection, user: User, stored: str) -> None:
    """Refuse whoever was disabled, or got another password, since."""
    if _login_of(connection, user.name)[1] != stored:
        raise NotProved("the password has just been changed; log in with the new one")


def access_changes(store: Store) -> int:
    """How often something was taken from somebody: another number, and what is remembered of users is not true.

    A count, for numbers of lines may be committed in another order than they were given.
    """
    asked = select(func.count()).where(schema.audit.c.what.in_(ENDING))
    return store.read(lambda connection: int(connection.scalar(asked) or 0))


def _later(by: timedelta) -> str:
    return (datetime.now(UTC) + by).isoformat(timespec="milliseconds")


# ---- tokens ----------------------------------------------------------------------------------------------------------


def add_token(store: Store, name: str, label: str, days: int, who: str) -> str:
    """The secret of a new token, which is not known any more afterwards."""
    secret = f"rankgauge_{new_secret()}"
    if not label.strip() or not label.isprintable() or len(label) > LONGEST:
        raise InputError(f"{label[:60]!r}: is no label for a token; take 1 to {LONGEST} letters")

    def added(connection: Connection) -> str:
        user = _known(connection, name)
        if connection.execute(select(schema.token.c.hash).where(*_labelled(user, label))).first() is not None:
            raise InputError(f"{name} has a token {label!r}; take another label, or revoke that one with --revoke")
        row = {"hash": hash_of(secret), "user_id": user.number, "name": label, "expires": _later(timedelta(days=days))}
        connection.execute(insert(schema.token).values(**row))
        audit(connection, who, TOKEN, f"{name}: {label}, for {days} days")
        return secret

    return store.writer.write(added)


def revoke_token(store: Store, name: str, label: str, who: str) -> None:
    """Take a token back."""

    def revoked(connection: Connection) -> None:
        user = _known(connection, name)
        if not connection.execute(delete(schema.token).where(*_labelled(user, label))).rowcount:
            raise InputError(f"{name} has no token {label!r}; 'rankgauge user list' shows all")
        audit(connection, who, REVOKED, f"{name}: {label}")

    store.writer.write(revoked)


def _labelled(user: User, label: str) -> tuple[ColumnElement[bool], ...]:
    return schema.token.c.user_id == user.number, schema.token.c.name == label


def tokens(store: Store) -> list[Token]:
    """All of them, by their users."""
    table, user = schema.token.c, schema.user.c
    asked = select(user.name, table.name, table.expires, table.last_used)
    asked = asked.join(schema.user, user.user_id == table.user_id).order_by(user.name, table.name)
    return store.read(lambda connection: [Token(*row) for row in connection.execute(asked).all()])


def token_user(store: Store, secret: str) -> User | None:
    """Whose token it is, where it still counts; that it was used is noted."""
    table, hashed = schema.token.c, hash_of(secret)
    asked = _users().join(schema.token, table.user_id == schema.user.c.user_id)
    asked = asked.where(table.hash == hashed, table.expires > now(), schema.user.c.disabled == 0)
    row = store.read(lambda connection: connection.execute(asked).first())
    if row is None:
        return None
    used = update(schema.token).where(table.hash == hashed).values(last_used=now())
    store.writer.submit(lambda connection: connection.execute(used))
    return _user(row)
