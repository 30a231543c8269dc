"""A lease: the right to work as a judge or a system, which one process has at a time and holds on to while it lives."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from typing import TYPE_CHECKING, Final

from sqlalchemy import insert, select, update

from rankgauge.errors import warn
from rankgauge.store import schema
from rankgauge.store.engine import StoreError
from rankgauge.store.operator import operator
from rankgauge.store.rows import now

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgauge.store.store import Store

__all__ = ["Lease"]

SECONDS: Final = 60.0  # after which a lease that nobody renews has run out
RENEWALS: Final = 3  # in that time


class Lease:
    """Held inside a `with` block and renewed meanwhile; where another process holds it, entering is refused.

    One that has run out, or whose process on this host has died, is taken over, which is said. `check` is for the work
    inside: it fails if the lease was lost.
    """

    def __init__(self, store: Store, name: str, *, seconds: float = SECONDS, holder: str = "") -> None:
        self.store, self.name, self.seconds = store, name, seconds
        self.holder = (
            holder or f"{operator()} on {socket.gethostname()} (process {os.getpid()}, since {now()[:19]} UTC)"
        )
        self._ended = threading.Event()
        self._lost: StoreError | None = None
        self._renewing = threading.Thread(target=self._renew, name=f"rankgauge-lease-{name}", daemon=True)

    def __enter__(self) -> Lease:
        before = self.take()
        if before:
            warn(f"{self.name} was in use by {before}, whose lease has run out; it is taken over")
        self._renewing.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._renewing.join()
        gone = schema.lock.delete().where(schema.lock.c.name == self.name, schema.lock.c.holder == self.holder)
        self.store.writer.write(lambda connection: connection.execute(gone))

    def check(self) -> None:
        """Fail if somebody else has taken the lease over."""
        if self._lost is not None:
            raise self._lost

    def take(self) -> str:
        """Hold it, or hold it on; refused where somebody else does. Who held one that has run out is returned."""
        return self.store.writer.write(self._taken)

    def _taken(self, connection: Connection) -> str:
        found = connection.execute(select(schema.lock).where(schema.lock.c.name == self.name)).mappings().first()
        until = time.time() + self.seconds
        if found is None:
            connection.execute(insert(schema.lock).values(name=self.name, holder=self.holder, until=until))
            return ""
        mine = found["holder"] == self.holder
        if not mine and found["until"] > time.time() and not _has_died(found["holder"]):
            left = max(1, round(found["until"] - time.time()))
            raise StoreError(
                f"{self.name} is in use by {found['holder']}; wait until it is done, or {left} seconds if it has died"
            )
        held = update(schema.lock).where(schema.lock.c.name == self.name, schema.lock.c.holder == found["holder"])
        if connection.execute(held.values(holder=self.holder, until=until)).rowcount == 0:
            return self._taken(connection)  # somebody took it in between
        return "" if mine else str(found["holder"])

    def _renew(self) -> None:
        while not self._ended.wait(self.seconds / RENEWALS):
            try:
                self.take()
            except StoreError as error:
                self._lost = error
                return


def _has_died(holder: str) -> bool:
    """Whether a holder was a process of this host that is no more."""
    found = re.search(rf" on {re.escape(socket.gethostname())} \(process (\d+),", holder)
    if found is None:
        return False
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
