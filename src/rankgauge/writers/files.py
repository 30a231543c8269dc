"""A file that is written: whole or not at all, compressed where its suffix says so."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import time
from collections.abc import Iterator
from typing import IO, Final, cast

from rankgauge.errors import InputError
from rankgauge.read.layers import split_suffixes

__all__ = ["STANDARD_OUTPUT", "check_target", "opened"]

BITE: Final = 1 << 18
ABANDONED: Final = 3600.0  # seconds in which a file that is still being written has changed

STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


@contextlib.contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """A stream to write to, compressed where the suffix says so; the file is there at the end, or nothing is."""
    if path in STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = os.path.realpath(path)
    try:
        # A device or a pipe is written to; a file is replaced.
        special = os.path.exists(path) and not os.path.isfile(path)
        with open(path, "wb") if special else _beside(path) as stream, _compressed(stream, path) as plain:
            yield plain
    except OSError as error:
        raise _unwritable(path, error) from error


def check_target(path: str) -> None:
    """Refuse a path that cannot be written to, before there is work to be lost."""
    real = os.path.realpath(path)
    folder = os.path.dirname(real)
    if path in STANDARD_OUTPUT or (os.path.exists(real) and not os.path.isfile(real) and not os.path.isdir(real)):
        return
    if os.path.isdir(real):
        raise _unwritable(real, IsADirectoryError())
    if not os.path.isdir(folder):
        raise _unwritable(real, FileNotFoundError())
    if not os.access(folder, os.W_OK):
        raise _unwritable(real, PermissionError())


@contextlib.contextmanager
def _compressed(stream: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    _, layer = split_suffixes(path)
    if layer is None:
        yield stream
        return
    # Rows are gathered first: compressors are slow when they are fed in small bites.
    with io.BufferedWriter(cast("io.RawIOBase", layer.open(stream, "wb")), BITE) as plain:
        yield plain


@contextlib.contextmanager
def _beside(path: str) -> Iterator[IO[bytes]]:
    folder, name = os.path.split(path)
    _remove_leftovers(folder, name)
    beside = os.path.join(folder, f".{name}.{os.urandom(4).hex()}.partial")
    try:
        with open(beside, "xb") as stream:
            yield stream
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(beside)
        raise


def _remove_leftovers(folder: str, name: str) -> None:
    """What a writer of this file left behind when it was killed: nobody has written to it for a long time."""
    with contextlib.suppress(OSError):
        for each in os.scandir(folder or "."):
            ours = re.fullmatch(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}\.partial", each.name)
            if ours and time.time() - each.stat().st_mtime > ABANDONED:
                os.remove(each.path)


def _unwritable(path: str, error: OSError) -> InputError:
    folder = os.path.dirname(path)
    if isinstance(error, FileNotFoundError) and not os.path.isdir(folder):
        return InputError(f"{path}: there is no folder {folder}; make it first (mkdir -p)")
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path}: is a folder; name a file in it")
    if isinstance(error, PermissionError):
        return InputError(f"{path}: permission denied; write elsewhere, or make the folder writable (chmod +w)")
    return InputError(f"{path}: cannot be written ({error.strerror or error})")
