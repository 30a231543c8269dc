"""A whole store as one file and back: a tar of JSON lines, one member a table, with counts and hashes."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from typing import IO, Any, Final

from sqlalchemy import Connection, LargeBinary, Table, func, insert, select, text

from rankgauge.read.layers import LAYERS, split_suffixes
from rankgauge.read.sources import find_source
from rankgauge.store import schema
from rankgauge.store.engine import StoreError, reading, writing
from rankgauge.store.rows import MANY
from rankgauge.store.store import Store
from rankgauge.writers.files import opened

__all__ = ["dump", "restore"]

CONTENTS: Final = "contents.json"


def dump(store: Store, path: str) -> dict[str, int]:
    """Write everything that is stored to a file, whole or not at all; how many rows each table has.

    The same store gives the same bytes; .gz, .zst and their like compress.
    """
    suffix, _ = split_suffixes(path)
    if suffix not in ("", ".tar"):
        raise StoreError(f"{path}: a dump is a tar; name it dump.tar, or dump.tar{LAYERS[0].suffixes[0]}")
    with reading(store.engine) as connection, opened(path) as stream:
        members = {table.name: _written(connection, table) for table in schema.STORED}
        about = {name: {"rows": rows, "sha256": _sha(data)} for name, (rows, data) in members.items()}
        contents = {"format": "rankgauge-store", "version": len(schema.MIGRATIONS), "tables": about}
        with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
            _add(archive, CONTENTS, json.dumps(contents, indent=1).encode() + b"\n")
            for name, (_, data) in members.items():
                _add(archive, f"{name}.jsonl", data)
    return {name: rows for name, (rows, _) in members.items()}


def _written(connection: Connection, table: Table) -> tuple[int, bytes]:
    """The rows as JSON lines, in the order of their keys."""
    lines = io.BytesIO()
    count = 0
    for row in connection.execute(select(table).order_by(*table.primary_key.columns)).mappings():
        values = {name: _plain(value) for name, value in row.items()}
        lines.write(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        count += 1
    return count, lines.getvalue()


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes | memoryview) else value


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def restore(store: Store, path: str) -> dict[str, int]:
    """Put a dump into an empty store, whole or not at all; how many rows each table has."""
    if any(store.counts().values()):
        raise StoreError(f"{store.where}: holds something already; restore into a new project: rankgauge init FOLDER")
    with find_source(path).open() as stream, writing(store.engine) as connection:
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                return _restored(connection, archive, path)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise StoreError(f"{path}: is no whole dump ({error}); nothing was restored") from None


def _restored(connection: Connection, archive: tarfile.TarFile, path: str) -> dict[str, int]:
    tables = {table.name: table for table in schema.STORED}
    about: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for member in archive:
        stream = archive.extractfile(member)
        assert stream is not None
        if not about:
            about = _contents(member.name, stream, path)
            continue
        name = member.name.removesuffix(".jsonl")
        data = stream.read()
        if name not in tables or name not in about or _sha(data) != about[name]["sha256"]:
            raise StoreError(f"{path}: {member.name} was changed or cut off; nothing was restored")
        counts[name] = _inserted(connection, tables[name], data)
    if set(counts) != set(about):
        lacking = ", ".join(sorted(set(about) - set(counts))) or CONTENTS
        raise StoreError(f"{path}: is cut off, {lacking} is missing; nothing was restored")
    return counts


def _contents(name: str, stream: IO[bytes], path: str) -> dict[str, Any]:
    try:
        contents = json.loads(stream.read()) if name == CONTENTS else {}
    except ValueError:
        contents = {}
    if contents.get("format") != "rankgauge-store":
        raise StoreError(f"{path}: is no dump of a store; rankgauge store dump writes one")
    if contents["version"] > len(schema.MIGRATIONS):
        words = f"is of version {contents['version']}, and this rankgauge knows version {len(schema.MIGRATIONS)}"
        raise StoreError(f"{path}: {words}; upgrade rankgauge")
    tables: dict[str, Any] = contents["tables"]
    return tables


def _inserted(connection: Connection, table: Table, data: bytes) -> int:
    binary = [column.name for column in table.columns if isinstance(column.type, LargeBinary)]
    count = 0
    for rows in _batches(data):
        for row in rows:
            for name in binary:
                row[name] = None if row[name] is None else base64.b64decode(row[name])
        connection.execute(insert(table), rows)
        count += len(rows)
    (key, *others) = table.primary_key.columns
    if (
        count
        and not others
        and key.autoincrement
        and connection.dialect.name == "postgresql"
        and key.type.python_type is int
    ):
        last = connection.scalar(select(func.max(key)))
        connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table.name}', '{key.name}'), {last})"))
    return count


def _batches(data: bytes) -> Iterator[list[dict[str, Any]]]:
    lines = data.splitlines()
    return ([json.loads(line) for line in lines[at : at + MANY]] for at in range(0, len(lines), MANY))
