"""What raters hold goes to others when they judge no more."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from rankgauge.store import schema
from rankgauge.store.rows import now

__all__ = ["release"]


def release(connection: Connection, judge: str) -> None:
    """Free what somebody holds who judges no more."""
    table, queries = schema.assignment.c, schema.task_query.c
    held = [table.judge == judge, table.done.is_(None), table.lapsed.is_(None)]
    rows = connection.execute(select(table.task_id, table.query_id).where(*held)).all()
    connection.execute(update(schema.assignment).where(*held).values(lapsed=now()))
    for task, query in rows:
        freed = update(schema.task_query).where(queries.task_id == task, queries.query_id == query)
        connection.execute(freed.values(open=queries.open + 1))
