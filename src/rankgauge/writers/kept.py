"""What takes long to make and comes out the same every time, kept in the user's folder of caches."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable
from typing import Final

from rankgauge.errors import InputError
from rankgauge.writers.files import opened

__all__ = ["FOLDER", "folder", "kept"]

FOLDER: Final = "RANKGAUGE_CACHE"  # names another folder; empty, nothing is kept
DIGEST: Final = hashlib.sha256().digest_size


def folder() -> str:
    """Where things are kept, as the system has it; empty where nothing is to be."""
    if (named := os.environ.get(FOLDER)) is not None:
        return named
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "rankgauge")
    usual = os.path.join(home, "AppData", "Local") if os.name == "nt" else os.path.join(home, ".cache")
    around = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME") or usual
    return os.path.join(around, "rankgauge")


def kept(name: str, make: Callable[[], bytes]) -> bytes:
    """The file of this name, made where it is missing or damaged. The name tells everything that it depends on.

    A folder that cannot be written to costs the time of making it again, and nothing else.
    """
    where = folder()
    path = os.path.join(where, name)
    if where and (found := _found(path)) is not None:
        return found
    made = make()
    if where:
        with contextlib.suppress(OSError, InputError):
            os.makedirs(where, exist_ok=True)
            with opened(path) as stream:
                stream.write(hashlib.sha256(made).digest() + made)
    return made


def _found(path: str) -> bytes | None:
    """What is kept, unless it is not what was written."""
    try:
        with open(path, "rb") as stream:
            digest, data = stream.read(DIGEST), stream.read()
    except OSError:
        return None
    return data if hashlib.sha256(data).digest() == digest else None
