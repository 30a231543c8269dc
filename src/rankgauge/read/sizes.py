"""How much of a large run is held in memory at a time."""

from __future__ import annotations

from typing import Final, NamedTuple

from rankgauge.errors import InputError

__all__ = ["FIRST", "HELD", "BlockSize", "bytes_of"]

ABOVE: Final = 64 << 20  # bytes of a file, from which on it is read block by block
PIECE: Final = 4 << 20  # bytes that are read together
HELD: Final = 1_000_000  # rows of a run that is held as a whole beside its blocks
FIRST: Final = 2_000  # rows that are held of any other
MOST: Final = 1 << 20  # rows of a block: more take more memory, and no less time
FEWEST: Final = 1 << 14
ROW: Final = 256  # bytes that a row of a block takes while it is matched
KEPT: Final = 100  # bytes that it takes beside the rows of other runs
SHARE: Final = 4  # of the free memory, a block takes one part in so many
UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MEMORY: Final = "/proc/meminfo"
CONTAINER: Final = "/sys/fs/cgroup/memory.max"


class BlockSize(NamedTuple):
    """From how many bytes on a file is read in blocks, how many rows a block has, and how many rows are held besides.

    A block of 0 rows is one that takes a quarter of the memory that is free, or less where more would not help; `room`
    is for rows of several runs, likewise. The file is read in pieces of so many bytes, of which blocks are made.
    """

    above: int = ABOVE
    rows: int = 0
    held: int = HELD
    piece: int = PIECE
    room: int = 0

    @classmethod
    def within(cls, memory: int | str) -> BlockSize:
        """Blocks that stay within so many bytes, `2GB` or a number."""
        size = bytes_of(memory)
        return cls(min(ABOVE, size // SHARE), _rows(size), room=max(size // KEPT, 1))

    @property
    def wanted(self) -> int:
        """How many rows a block is to have."""
        return self.rows or _rows(_free() // SHARE)

    @property
    def together(self) -> int:
        """How many rows of all runs are to be held together, where those of the same queries are looked at."""
        return self.room or _free() // SHARE // KEPT


def bytes_of(memory: int | str) -> int:
    """`2GB`, `500M` or a number of bytes."""
    text = str(memory).strip().upper().removesuffix("B").removesuffix("I")
    unit = UNITS.get(text[-1:], 1)
    try:
        size = int(float(text[:-1] if unit > 1 else text) * unit)
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise InputError(f"{memory!r} is not a size of memory; expected one such as 2GB or 500MB")
    return size


def _rows(memory: int) -> int:
    return min(max(memory // ROW, FEWEST), MOST)


def _free() -> int:
    """The bytes of memory that are free, as far as the system tells; in a container no more than it may have."""
    try:
        with open(MEMORY) as lines:
            table = dict(line.split(":", 1) for line in lines)
        free = int(table["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        return MOST * ROW * SHARE
    try:
        with open(CONTAINER) as limit:
            return min(free, int(limit.read()))
    except (OSError, ValueError):
        return free
