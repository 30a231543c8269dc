"""Rows on disk, in parts: where a run's queries are scattered over its file, they are brought together here; and where
the rows of the same queries of several runs are looked at.

A folder of parts is locked by the process that fills it, and the lock ends with the process, however it ends: a folder
that nobody has locked is a leftover, and is removed when the next large run is read.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import InputError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Parts", "parts", "remove_leftovers"]

PREFIX: Final = "rankgauge-parts-"
LOCK: Final = "lock"
LENGTH: Final = 8  # bytes that say how long what follows is


class Parts:
    """Rows in files, one for each part; what is added to a part keeps its order.

    `what` they are of and what would help `instead` of more room are said where there is none.
    """

    def __init__(self, folder: str, number: int, what: str, instead: str) -> None:
        self.folder, self.number, self.what, self.instead = folder, number, what, instead

    def add(self, rows: pl.DataFrame, part: NDArray[np.uint16]) -> None:
        """Put rows behind those of their parts."""
        order = np.argsort(part, kind="stable")
        taken, sizes = rows[order], np.bincount(part, minlength=self.number).tolist()
        start = 0
        for each, size in enumerate(sizes):
            if size:
                self._append(each, taken.slice(start, size))
            start += size

    def _append(self, part: int, rows: pl.DataFrame) -> None:
        packed = io.BytesIO()
        rows.write_ipc(packed, compression="lz4")
        data = packed.getbuffer()
        try:
            with open(self._path(part), "ab") as file:
                file.write(len(data).to_bytes(LENGTH, "little"))
                file.write(data)
        except OSError as error:
            what = f"{self.folder}: the rows of {self.what} cannot be kept there ({error.strerror})"
            raise InputError(f"{what}; set TMPDIR to a folder with more room, or {self.instead}") from None

    def __iter__(self) -> Iterator[tuple[int, pl.DataFrame]]:
        """Each part that has any rows and these rows, which are removed as they are read."""
        for part in range(self.number):
            rows = self.take(part)
            if rows is not None:
                yield part, rows

    def take(self, part: int) -> pl.DataFrame | None:
        """The rows of a part, which are removed; None where it has none."""
        import polars as pl

        try:
            with open(self._path(part), "rb") as file:
                frames = [pl.read_ipc(each) for each in _packed(file)]
        except FileNotFoundError:
            return None
        os.remove(self._path(part))
        return pl.concat(frames)

    def _path(self, part: int) -> str:
        return os.path.join(self.folder, f"{part}.arrow")


def _packed(file: IO[bytes]) -> Iterator[bytes]:
    while length := file.read(LENGTH):
        yield file.read(int.from_bytes(length, "little"))


@contextmanager
def parts(number: int, what: str = "scattered queries", instead: str = "sort the run by query") -> Iterator[Parts]:
    """A folder for so many parts, which is removed afterwards."""
    folder, lock = _locked_folder()
    try:
        yield Parts(folder, number, what, instead)
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def _locked_folder() -> tuple[str, IO[bytes]]:
    """A new folder and its lock; whoever removes leftovers may have been quicker than the lock, then another one."""
    while True:
        folder = tempfile.mkdtemp(prefix=PREFIX)
        with suppress(FileNotFoundError):
            lock = open(os.path.join(folder, LOCK), "wb")  # noqa: SIM115  # as long as there is something to lock
            if _lock(lock) and os.path.exists(lock.name):
                return folder, lock
            lock.close()


def remove_leftovers() -> None:
    """Remove the folders of processes that ended before they could do so."""
    place = tempfile.gettempdir()
    with suppress(OSError):
        for name in os.listdir(place):
            if name.startswith(PREFIX):
                _remove_leftover(os.path.join(place, name))


def _remove_leftover(folder: str) -> None:
    with suppress(OSError), open(os.path.join(folder, LOCK), "r+b") as lock:
        if _lock(lock):
            shutil.rmtree(folder, ignore_errors=True)


def _lock(file: IO[bytes]) -> bool:
    """Whether the lock of this file was free, and is ours from now on."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
