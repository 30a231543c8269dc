"""SQLite's full-text search over the project's documents: BM25 with field weights, in a file beside the store."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError, unknown
from rankgauge.store.project import STORE
from rankgauge.systems.config import Documents, documents_of
from rankgauge.systems.documents import corpus, corpus_hash
from rankgauge.systems.hits import Asked, Failed, Hit

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.systems.config import Config

__all__ = ["Fts5", "expression_of", "words_of"]

VERSION: Final = 1  # of the index; another one is built anew


class Fts5:
    """An index that is built when there is none for these documents, and then only read."""

    batch = 1

    def __init__(self, config: Config, project: Project | None) -> None:
        documents = _documents(config, project)
        self.about = {"documents": corpus_hash(documents)}
        self.stemming = bool(config.table.get("stemming", False))
        self.every_word = config.table.get("words", "any") == "all"
        self._temporary = None if project is not None else tempfile.mkdtemp(prefix="rankgauge-fts5-")
        # Beside the store; of one on a server, where its file would be.
        beside = Path(self._temporary or config.folder, STORE) if project is None else project.file
        beside = beside or config.folder / STORE
        self.path = beside.with_name(f"{beside.name}.fts5-{'porter' if self.stemming else 'plain'}")
        self._here = threading.local()
        self._opened: list[sqlite3.Connection] = []
        try:
            self.weights = self._built(documents, config)
        except BaseException:  # nobody gets an index that could be closed
            self.close()
            raise

    def _built(self, documents: Documents, config: Config) -> list[float]:
        """Build the index where there is none for these documents; the weights of its columns."""
        stamp = f"{VERSION} {self.about['documents']}"
        if _stamp(self.path) != stamp:
            _build(self.path, documents, stamp, stemming=self.stemming)
        columns: list[str] = json.loads(_meta(self._connection(), "columns"))
        return _weights(config.table.get("fields"), columns, config.where)

    @staticmethod
    def about_of(config: Config, project: Project | None) -> dict[str, str]:
        """What the documents are."""
        return {"documents": corpus_hash(_documents(config, project))}

    def ask(self, asked: Sequence[Asked], k: int) -> Sequence[Iterable[Hit]]:
        """The best by BM25; of documents with one score the first of the corpus is first."""
        matched = expression_of(asked[0].text, self.weights, every=self.every_word)
        if matched is None:
            return [[]]
        weights = ", ".join(repr(weight) for weight in self.weights)
        select = f"SELECT rowid, bm25(content, {weights}) AS score FROM content WHERE content MATCH ?"
        ranked = f"SELECT name, -score FROM ({select} ORDER BY score, rowid LIMIT ?) JOIN document USING (rowid)"
        try:
            rows = self._connection().execute(f"{ranked} ORDER BY score, rowid", (matched, k)).fetchall()
        except sqlite3.Error as error:
            raise Failed(f"SQLite cannot answer: {error}") from None
        return [[Hit(name, score) for name, score in rows]]

    def close(self) -> None:
        """Close the index; without a project it is removed."""
        for connection in self._opened:
            connection.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _connection(self) -> sqlite3.Connection:
        """A connection a thread."""
        if not hasattr(self._here, "connection"):
            self._here.connection = _reader(self.path)
            self._opened.append(self._here.connection)
        found: sqlite3.Connection = self._here.connection
        return found


def words_of(text: str) -> list[str]:
    """The words of a text as the index has them: letters and digits, with the marks on them."""
    parts = "".join(char if unicodedata.category(char)[0] in "LNM" else " " for char in text).split()
    return [part for part in parts if any(unicodedata.category(char)[0] in "LN" for char in part)]


def expression_of(text: str, weights: Sequence[float], *, every: bool) -> str | None:
    """A query for SQLite: each word once, in quotes, so that none is ever syntax; None where there is no word."""
    words = [f'"{word}"' for word in dict.fromkeys(map(str.lower, words_of(text)))]
    if not words:
        return None
    joined = (" AND " if every else " OR ").join(words)
    columns = " ".join(f"c{at}" for at, weight in enumerate(weights) if weight)
    return f"{{{columns}}} : ({joined})"


def _documents(config: Config, project: Project | None) -> Documents:
    if "documents" in config.table:
        return Documents(str(config.folder / config.table["documents"]))
    settings: Mapping[str, Any] = project.settings if project is not None else {}
    found = documents_of(settings, config.folder, "rankgauge.toml")
    if found is None:
        words = f'{config.where}: which documents? Write [documents] with file = "documents.jsonl" into rankgauge.toml'
        raise InputError(f'{words}, or documents = "documents.jsonl" here')
    return found


def _weights(given: Any, columns: list[str], where: str) -> list[float]:
    """A weight for every column of the index; those that are not named do not count."""
    wanted = dict.fromkeys(given, 1.0) if isinstance(given, list) else given or dict.fromkeys(columns, 1.0)
    if not isinstance(wanted, dict):
        raise InputError(f"{where}: fields = {given!r}; expected a list of fields, or a table of field = weight")
    for name, weight in wanted.items():
        if name not in columns:
            raise InputError(unknown(f"{where}: the documents have no text field {name!r}", name, columns))
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not weight > 0:
            raise InputError(f"{where}: fields: {name} = {weight!r}; expected a weight above 0")
    return [float(wanted.get(name, 0.0)) for name in columns]


# ---- the index -------------------------------------------------------------------------------------------------------


def _reader(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)


def _meta(connection: sqlite3.Connection, name: str) -> str:
    return str(connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0])


def _stamp(path: Path) -> str | None:
    """What an index was made of; None where there is none that can be read."""
    if not path.is_file():
        return None
    try:
        with contextlib.closing(_reader(path)) as connection:
            return _meta(connection, "stamp")
    except (sqlite3.Error, TypeError):
        return None


def _build(path: Path, documents: Documents, stamp: str, *, stemming: bool) -> None:
    """Make an index beside its place, and put it there when it is whole."""
    columns = [*documents.fields] or _text_fields(documents)
    beside = path.with_name(f"{path.name}.{os.urandom(4).hex()}.partial")
    try:
        with contextlib.closing(sqlite3.connect(beside)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            tokens = "porter unicode61" if stemming else "unicode61"
            named = ", ".join(f"c{at}" for at in range(len(columns)))
            connection.execute(f"CREATE VIRTUAL TABLE content USING fts5({named}, content='', tokenize='{tokens}')")
            connection.execute("CREATE TABLE document (rowid INTEGER PRIMARY KEY, name TEXT NOT NULL)")
            connection.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            places = ", ".join("?" for _ in range(len(columns) + 1))
            for row, (name, fields) in enumerate(corpus(documents), 1):
                connection.execute("INSERT INTO document VALUES (?, ?)", (row, name))
                texts = [_text(fields.get(column)) for column in columns]
                connection.execute(f"INSERT INTO content (rowid, {named}) VALUES ({places})", (row, *texts))
            about = {"stamp": stamp, "columns": json.dumps(columns)}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", about.items())
            connection.commit()
        os.replace(beside, path)
    except sqlite3.Error as error:
        raise InputError(f"{path}: the index cannot be built: {error}; check the disk and its permissions") from None
    finally:
        with contextlib.suppress(OSError):
            os.remove(beside)


def _text_fields(documents: Documents) -> list[str]:
    """The fields that hold texts, as they first appear."""
    names = dict.fromkeys(
        name for _, fields in corpus(documents) for name, value in fields.items() if isinstance(value, str)
    )
    if not names:
        raise InputError(f"{documents.path}: no document has a field of text; name them: [documents] fields = […]")
    return list(names)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for each in value:
            yield _text(each)
    elif value is not None:
        yield str(value)
