"""Samples in a store: which queries were drawn, with their traffic, how likely each was to be drawn, and of what."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from rankgauge.store import schema, texts
from rankgauge.store.rows import inserted, now, parts
from rankgauge.store.texts import Query

__all__ = ["Sampled", "add_sample", "queries_of", "sampled"]


class Sampled(NamedTuple):
    """A query of a sample: its traffic, how likely it was to be drawn, and of what; None where that is not known."""

    query_id: str
    traffic: float | None = None
    inclusion: float | None = None
    stratum: str | None = None


def add_sample(
    connection: Connection, name: str, how: Mapping[str, Any], made: dict[str, dict[str, Any]], rows: Sequence[Sampled]
) -> int | None:
    """A sample under a name, with the rows of its queries; None where the name is that of another one."""
    table, listed = schema.sample.c, sorted(rows, key=lambda row: row.query_id)
    known = connection.scalar(select(table.sample_id).where(table.name == name))
    if known is not None:
        return int(known) if sampled(connection, known) == listed else None
    for part in parts(list(made)):
        asked = select(schema.query.c.query_id).where(schema.query.c.query_id.in_(part))
        for (query,) in connection.execute(asked).all():
            made[query] |= {"text": None}  # the most frequent spelling may be another by now
    texts.add_queries(connection, made, dict.fromkeys(made, name))
    row = {"name": name, "how": json.dumps(how, sort_keys=True), "at": now()}
    number = inserted(connection, schema.sample, row)
    for part in parts([each._asdict() | {"sample_id": number} for each in listed]):
        connection.execute(insert(schema.sampled), part)
    return number


def sampled(connection: Connection, sample: int) -> list[Sampled]:
    """The rows of a sample, by the ids of the queries."""
    table = schema.sampled.c
    asked = select(table.query_id, table.traffic, table.inclusion, table.stratum).where(table.sample_id == sample)
    return [Sampled(*row) for row in connection.execute(asked.order_by(table.query_id)).all()]


def queries_of(connection: Connection, sample: int) -> dict[str, Query]:
    """The queries of a sample."""
    table, asked = schema.query.c, schema.sampled.c
    wanted = select(table.query_id, table.text, table.need).join(schema.sampled, asked.query_id == table.query_id)
    found = connection.execute(wanted.where(asked.sample_id == sample)).all()
    return {query: Query(query, words, need) for query, words, need in found}
