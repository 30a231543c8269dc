"""Who did what: a line for every change, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, insert

from rankgauge.store import schema
from rankgauge.store.rows import now

__all__ = ["audit", "audit_row", "audited"]


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
