"""Passwords as they are stored, and secrets that nobody guesses."""

from __future__ import annotations

import hashlib
import secrets
import threading
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Final

from rankgauge.errors import InputError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

__all__ = ["TWO", "check_password", "hash_of", "is_right", "kept", "new_secret"]

SHORTEST, LONGEST = 8, 1000  # characters of a password
MEMORY, ROUNDS, LANES = 19 * 1024, 2, 1  # KiB; OWASP's setting for argon2id, some 35 ms
# Each takes 19 MiB and a core for a while: however many log in, no more are computed at a time.
TWO: Final = threading.BoundedSemaphore(2)
# What the password of somebody who is not there is compared with, so that it takes as long. Of a password nobody knows.
NOBODY: Final = "$argon2id$v=19$m=19456,t=2,p=1$c2egKwNYizLFxURjnsx+Lg$OVl4pTaIAQlCotxrJcbKYjBI67C18/84YfPtR9Tbe7E"


def check_password(password: str) -> None:
    """Refuse what is too short to be a password, or too long to be one."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InputError(f"a password has {SHORTEST} to {LONGEST:,} characters")


def kept(password: str) -> str:
    """The password as it is stored."""
    with TWO:
        return _hasher().hash(_bytes(password))


def is_right(stored: str | None, password: str) -> bool:
    """Whether it is the one that is stored; where none is, it is not, after the same time. The caller holds TWO."""
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return _hasher().verify(stored or NOBODY, _bytes(password)) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


def new_secret() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def hash_of(secret: str) -> str:
    """A secret as it is stored: random as it is, it needs no salt."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=ROUNDS, memory_cost=MEMORY, parallelism=LANES)


def _bytes(password: str) -> bytes:
    """The same characters are the same password, however a keyboard composes them."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")
