"""Which content files have: hashed once, and taken for the same as long as size, time and inode are.

Whoever trusts that has the file hashed again later: a file may change without any of these changing.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from rankgauge.comparison.leaderboard.cells import digest_of

if TYPE_CHECKING:
    from rankgauge.web.kept import Cache

__all__ = ["Contents", "State", "state_of"]

State = tuple[int, int, int]

KEPT: Final = "contents.json"


def state_of(path: str | os.PathLike[str]) -> State | None:
    """Size, time and inode of a file; None where there is none."""
    try:
        told = os.stat(path)
    except OSError:
        return None
    return told.st_size, told.st_mtime_ns, told.st_ino


class Contents:
    """Path and state of files → the hash of what is in them, kept from start to start."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        try:
            told = json.loads(cache.file(KEPT) or b"[]")
            self.known = {
                (str(path), (int(size), int(time), int(node))): str(found) for path, size, time, node, found in told
            }
        except (ValueError, TypeError):
            self.known = {}  # it is damaged: everything is hashed again

    def trusted(self, path: str | os.PathLike[str], state: State | None) -> str | None:
        """The hash of a file that is as it was when it was hashed."""
        return None if state is None else self.known.get((os.path.abspath(path), state))

    def may_be_known(self, state: State) -> bool:
        """Whether what is in a file can have been seen before, under another name or at another time."""
        return any(state[0] == size for _, (size, _, _) in [*self.known])

    def hashed(self, path: str | os.PathLike[str], state: State) -> str | None:
        """The hash of a file, from now on known; None where it is not as it was any more."""
        found = digest_of(path)
        if state_of(path) != state:
            return None
        self.known[os.path.abspath(path), state] = found
        return found

    def verified(self, path: str | os.PathLike[str], state: State) -> bool:
        """Whether a file that was trusted has the content that it was trusted to have; else that is forgotten."""
        if self.trusted(path, state) == digest_of(path):
            return True
        self.known.pop((os.path.abspath(path), state), None)
        self.save()
        return False

    def save(self) -> None:
        """Keep what is known for the next start."""
        told = [[path, *state, found] for (path, state), found in [*self.known.items()]]
        self.cache.keep(KEPT, json.dumps(told).encode())
