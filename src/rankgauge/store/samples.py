"""Samples as rows: which queries were drawn, and how likely each was."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, select

from rankgauge.store import schema

__all__ = ["Sampled", "sampled_rows"]


class Sampled(NamedTuple):
    """A query of a sample: its traffic, how likely it was to be drawn, and of what; None where that is not known."""

    query_id: str
    traffic: float | None = None
    inclusion: float | None = None
    stratum: str | None = None


def sampled_rows(connection: Connection, sample: int) -> list[Sampled]:
    table = schema.sampled.c
    asked = select(table.query_id, table.traffic, table.inclusion, table.stratum).where(table.sample_id == sample)
    return [Sampled(*row) for row in connection.execute(asked.order_by(table.query_id)).all()]
