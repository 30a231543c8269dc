"""Who did what: a line for every change, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sqlalchemy import Connection, func, insert, select

from rankgauge.shown import Shown
from rankgauge.store import schema
from rankgauge.store.rows import now

if TYPE_CHECKING:
    from rankgauge.store.store import Store

__all__ = ["Audit", "Change", "audit", "audit_row", "audited", "changes"]


class Change(NamedTuple):
    """A line: when, who did what, to what, and from which address, where it came over the network."""

    at: str
    who: str
    what: str
    detail: str
    address: str | None


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Shown):
    """The latest changes of a store, the newest first, and how many there are in all."""

    shown_by: ClassVar[str] = "stored:audit_sections"

    changes: tuple[Change, ...]
    number: int

    @property
    def title(self) -> str:
        """What it is."""
        return "Who changed what"

    def data(self) -> dict[str, Any]:
        """What JSON holds."""
        return {"number": self.number, "changes": [each._asdict() for each in self.changes]}


def changes(store: Store, who: str | None = None, last: int = 20) -> Audit:
    """The last so many changes, of one person or of all."""
    table = schema.audit.c
    among = [] if who is None else [table.who == who]
    asked = select(table.at, table.who, table.what, table.detail, table.address).where(*among)
    asked = asked.order_by(table.audit_id.desc()).limit(last)

    def found(connection: Connection) -> Audit:
        number = connection.scalar(select(func.count()).select_from(schema.audit).where(*among)) or 0
        return Audit(tuple(Change(*row) for row in connection.execute(asked)), number)

    return store.read(found)


def audit(connection: Connection, who: str, what: str, detail: str = "", address: str | None = None) -> None:
    """A line. No secret belongs in it."""
    connection.execute(insert(schema.audit), [audit_row(who, what, detail, address)])


def audit_row(who: str, what: str, detail: str = "", address: str | None = None) -> dict[str, Any]:
    """The row of a line, for many at a time."""
    return {"at": now(), "who": who, "what": what, "detail": detail, "address": address}


def audited(connection: Connection, rows: Iterable[dict[str, Any]]) -> None:
    """Several lines."""
    listed = [*rows]
    if listed:
        connection.execute(insert(schema.audit), listed)
