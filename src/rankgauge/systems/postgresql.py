"""A system that is a statement of SQL, asked in a read-only transaction with a time limit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError
from rankgauge.systems.call import embed_of
from rankgauge.systems.hits import Asked, Failed, Hit, hit_of
from rankgauge.systems.http import vector_of
from rankgauge.systems.template import Secrets, filled
from rankgauge.systems.workers import Again, TimedOut

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.systems.config import Config

__all__ = ["Postgresql"]

LATE: Final = "57014"  # query_canceled


class Postgresql:
    """`:query`, `:k`, `:need` and `:vector` are bound, never pasted in; the statement returns id, score and fields."""

    batch = 1

    def __init__(self, config: Config, project: Project | None) -> None:
        from sqlalchemy import create_engine, text

        from rankgauge.store.engine import address_of

        self.secrets = Secrets(config.table["url"], config.where)
        self.limits, self.where = config.limits, config.where
        self.statement = text(config.table["sql"])
        bound = set(self.statement._bindparams)
        if not bound & {"query", "need", "vector"} or bound - {"query", "k", "need", "vector"}:
            names = ", ".join(f":{name}" for name in sorted(bound)) or "none"
            raise InputError(f"{config.where}: sql binds {names}; expected :query and :k (:need, :vector)")
        self.bound = bound
        if ("vector" in bound) != ("embed" in config.table):
            raise InputError(f'{config.where}: :vector goes with embed = "module:function", and embed with :vector')
        self.embed = embed_of(config)
        url = address_of(filled(config.table["url"], {}, self.secrets.values))
        if url.get_backend_name() != "postgresql":
            raise InputError(f"{config.where}: url is no address of PostgreSQL; write postgresql://USER@HOST/NAME")
        try:
            self.engine = create_engine(
                url,
                pool_size=self.limits.workers,
                max_overflow=self.limits.workers,
                connect_args={"connect_timeout": 10},
            ).execution_options(postgresql_readonly=True)
        except ImportError:
            raise InputError(f"{config.where}: PostgreSQL needs a driver: pip install 'rankgauge[postgres]'") from None

    def ask(self, asked: Sequence[Asked], k: int) -> Sequence[Iterable[Hit]]:
        """The rows, in the order in which they come."""
        query = asked[0]
        values: dict[str, Any] = {"query": query.text, "k": k, "need": query.need or ""}
        if self.embed is not None:
            values["vector"] = json.dumps(vector_of(self.embed, query.text))
        return [self._hits({name: values[name] for name in self.bound})]

    def _hits(self, values: dict[str, Any]) -> list[Hit]:
        from sqlalchemy import text
        from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

        try:
            with self.engine.begin() as connection:
                limit = text("SELECT set_config('statement_timeout', :milliseconds, true)")
                connection.execute(limit, {"milliseconds": str(max(1, round(self.limits.timeout * 1000)))})
                found = connection.execute(self.statement, values)
                names = list(found.keys())
                rows = found.fetchall()
        except DBAPIError as error:
            words = self.secrets.hidden(str(error.orig).strip().splitlines()[0] if str(error.orig) else "no reason")
            state = getattr(error.orig, "sqlstate", None)
            if state == LATE:
                raise TimedOut(f"no answer within {self.limits.timeout:g} seconds; allow more: timeout = …") from None
            if error.connection_invalidated or (state is None and isinstance(error, OperationalError)):
                raise Again(f"PostgreSQL cannot be reached: {words}") from None
            raise Failed(f"PostgreSQL says: {words}") from None
        except SQLAlchemyError as error:
            raise Failed(self.secrets.hidden(f"PostgreSQL cannot be asked: {error}")) from None
        if "id" not in names:
            raise Failed(f"the statement returns {', '.join(names)}, and no id; write SELECT … AS id, … AS score")
        return [_hit(dict(zip(names, row, strict=True))) for row in rows]

    def close(self) -> None:
        """Let go of the connections."""
        self.engine.dispose()


def _hit(row: dict[str, Any]) -> Hit:
    doc, score = row.pop("id"), row.pop("score", None)
    return hit_of(str(doc) if hasattr(doc, "hex") and not isinstance(doc, (bytes, float)) else doc, score, row or None)
