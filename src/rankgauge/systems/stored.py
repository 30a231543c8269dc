"""What a search asks of a store: the queries, the run that it goes on with, what is answered, what failed."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from rankgauge.errors import InputError, counted
from rankgauge.store import schema
from rankgauge.store.rows import digest
from rankgauge.store.store import Query, Sampled, Store
from rankgauge.store.texts import newest_texts
from rankgauge.systems.hits import Asked

__all__ = [
    "Earlier",
    "answered",
    "asked_in",
    "began_at",
    "earlier_run",
    "failures",
    "fields",
    "last_run",
    "last_sample",
    "sample_of",
    "scope_of",
]


class Earlier(NamedTuple):
    """A run of the same system, over the same queries, to the same depth."""

    number: int
    state: str


def sample_of(store: Store, queries: Sequence[Query], source: str) -> int:
    """The sample that has exactly these queries, which is made with them if there is none."""
    ids = {query.query_id for query in queries}
    store.add_queries(queries, source)
    if (known := sample_with(store, [*ids])) is not None:
        return known
    name = os.path.basename(source)
    how = {"method": "given", "source": name, "n": len(ids)}
    return store.add_sample(f"{name} {digest(sorted(ids))}", how, queries, [*map(Sampled, ids)])


def sample_with(store: Store, ids: Sequence[str] | None) -> int | None:
    """The sample that has exactly these queries, or the one that was made last; None where there is none."""
    return next((number for number in _samples(store) if ids is None or _ids_in(store, number) == {*ids}), None)


def last_sample(store: Store) -> int:
    """The sample that was made last; where there is none, all queries of the store are one."""
    there = _samples(store)
    if there:
        return there[0]
    table = schema.query.c
    rows = store.read(lambda each: each.execute(select(table.query_id, table.text).order_by(table.query_id)).all())
    if not rows:
        raise InputError(
            f"{store.where}: there are no queries yet; name a file of them: rankgauge search SYSTEM QUERIES"
        )
    return sample_of(store, [Query(*row) for row in rows], "all queries")


def _samples(store: Store) -> list[int]:
    table = schema.sample.c.sample_id
    return [*store.read(lambda each: each.scalars(select(table).order_by(table.desc())).all())]


def _ids_in(store: Store, sample: int) -> set[str]:
    table = schema.sampled.c
    return {*store.read(lambda each: each.scalars(select(table.query_id).where(table.sample_id == sample)).all())}


def asked_in(store: Store, sample: int) -> list[Asked]:
    """The queries of a sample with their texts; one without a text cannot be asked."""
    table, drawn = schema.query.c, schema.sampled.c
    found = select(table.query_id, table.text, table.need).join(schema.sampled, drawn.query_id == table.query_id)
    found = found.where(drawn.sample_id == sample).order_by(table.query_id)
    rows = store.read(lambda each: each.execute(found).all())
    silent = [query for query, text, _ in rows if text is None]
    if silent:
        queries = counted(len(silent), "query has", "queries have")
        words = f"{store.where}: {queries} no text, such as {silent[0]!r}"
        raise InputError(f"{words}; store the texts: rankgauge store import QUERIES --queries")
    return [Asked(query, text, need) for query, text, need in rows]


def earlier_run(store: Store, system: str, config: Mapping[str, Any], **scope: int | None) -> Earlier | None:
    """The last run of this system, as it is configured now, with this depth, sample and first stage."""
    run, about = schema.run.c, schema.system.c
    found = select(run.run_id, run.state).join(schema.system, about.system_id == run.system_id)
    found = found.where(about.name == system, about.hash == digest(config))
    found = found.where(*(run[name].is_not_distinct_from(value) for name, value in scope.items()))
    row = store.read(lambda each: each.execute(found.order_by(run.run_id.desc()).limit(1)).first())
    return None if row is None else Earlier(*row)


def last_run(store: Store, system: str) -> Earlier | None:
    """The last run of a system, however it was configured."""
    run, about = schema.run.c, schema.system.c
    found = select(run.run_id, run.state).join(schema.system, about.system_id == run.system_id)
    found = found.where(about.name == system).order_by(run.run_id.desc()).limit(1)
    row = store.read(lambda each: each.execute(found).first())
    return None if row is None else Earlier(*row)


def began_at(store: Store, run: int) -> str:
    """The moment at which a run began."""
    return str(store.read(lambda each: each.scalar(select(schema.run.c.began).where(schema.run.c.run_id == run))))


def scope_of(store: Store, run: int) -> tuple[int | None, list[str]]:
    """The sample of a run, and the queries that it has an answer for."""
    sample = store.read(lambda each: each.scalar(select(schema.run.c.sample_id).where(schema.run.c.run_id == run)))
    return sample, sorted(answered(store, run))


def answered(store: Store, run: int) -> set[str]:
    """The queries of a run that have an answer."""
    table = schema.answer.c
    asked = select(table.query_id).where(table.run_id == run, table.error.is_(None))
    return {*store.read(lambda each: each.scalars(asked).all())}


def failures(store: Store, run: int) -> list[tuple[str, str]]:
    """The queries of a run that failed, with the reason."""
    table = schema.answer.c
    asked = select(table.query_id, table.error).where(table.run_id == run, table.error.is_not(None))
    rows = store.read(lambda each: each.execute(asked.order_by(table.query_id)).all())
    return [(query, error) for query, error in rows]


def fields(store: Store, wanted: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """The fields of documents, as they are now; of those that the store has."""
    texts = store.read(lambda connection: newest_texts(connection, wanted))
    return {doc: text.fields for doc, text in texts.items()}
