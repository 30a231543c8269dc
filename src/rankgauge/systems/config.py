"""A system's table, from rankgauge.toml or from options: checked before anything starts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from rankgauge.errors import InputError, choices, unknown
from rankgauge.systems.hits import DUPLICATES
from rankgauge.systems.presets import PRESETS
from rankgauge.systems.workers import Limits

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.systems.hits import System

__all__ = [
    "FLAG",
    "FUNCTION",
    "KINDS",
    "LIMITS",
    "TABLE",
    "TEXT",
    "Config",
    "Documents",
    "Key",
    "check_keys",
    "config_of",
    "documents_of",
    "given_outright",
    "is_texts",
    "limits_in",
    "number",
    "one_of",
    "system_of",
]

PASSWORD: Final = re.compile(r"://[^/@]*:(?!\$\{)[^/@]+@")  # in an address, and not from the environment
PARAMETER: Final = re.compile(r"[?&]([^=&]+)=([^&]*)")  # name and value, in an address
# A header or parameter that opens doors, by how its name ends.
SECRET: Final = re.compile(r"(authorization|\bkey|[-_]key|apikey|token|secret|password|cookie)$", re.IGNORECASE)
USUAL: Final = Limits()
MILLION: Final = 10**6  # bytes of a megabyte


class Kind(NamedTuple):
    """A kind of system: where it is made, what its table must have, and what it may have."""

    made_by: str
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()


class Key(NamedTuple):
    """What a key may hold: a test, and the words for what is expected."""

    fits: Callable[[Any], bool]
    expected: str


def number(least: float, *, whole: bool = False, above: bool = False) -> Key:
    """A number from, or above, the least."""

    def fits(value: Any) -> bool:
        right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        return right and (value > least if above else value >= least)

    return Key(fits, f"{'a whole' if whole else 'a'} number {'above' if above else 'from'} {least:g}")


def is_texts(value: Any) -> bool:
    """Whether this is a list of texts."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) and each for each in value)


TEXT: Final = Key(lambda value: isinstance(value, str) and bool(value.strip()), "a text")
FLAG: Final = Key(lambda value: isinstance(value, bool), "true or false")
TABLE: Final = Key(lambda value: isinstance(value, dict), "a table")


def one_of(*words: str) -> Key:
    """One of these words."""
    return Key(lambda value: value in words, choices(f'"{word}"' for word in words))


# What may be changed without making another system of it: how hard it is worked.
LIMITS: Final = {
    "workers": number(1, whole=True),
    "timeout": number(0, above=True),
    "retries": number(0, whole=True),
    "pause": number(0),
    "per_second": number(0, above=True),
    "largest": number(0, above=True),
}
HTTP: Final = (
    *("method", "headers", "params", "body", "hits", "id", "score", "fields", "ids", "scores", "whole"),
    *("ascending", "embed", "threads"),
)
FUNCTION: Final = Key(lambda value: isinstance(value, str) and bool(value.partition(":")[2]), '"module:function"')
KEYS: Final[dict[str, Key]] = {
    **LIMITS,
    "kind": TEXT,
    "duplicates": one_of(*DUPLICATES),
    "rerank": TEXT,
    "candidates": number(1, whole=True),
    "depth": number(1, whole=True),
    "call": FUNCTION,
    "threads": LIMITS["workers"],
    "batch": Key(lambda value: value is True or LIMITS["workers"].fits(value), "true, or a whole number from 1"),
    "command": Key(lambda value: TEXT.fits(value) or is_texts(value), "a text, or a list of a program and its words"),
    "url": TEXT,
    "method": one_of("GET", "POST"),
    "headers": TABLE,
    "params": TABLE,
    "body": Key(lambda value: isinstance(value, (dict, list, str)), "a table, or JSON as a text"),
    **dict.fromkeys(("hits", "id", "score", "ids", "scores", "whole"), TEXT),
    "fields": Key(
        lambda value: value is False or TEXT.fits(value) or is_texts(value) or isinstance(value, dict),
        "a path, a list of names, a table of name = weight, or false",
    ),
    "ascending": FLAG,
    "embed": FUNCTION,
    "stemming": FLAG,
    "words": one_of("any", "all"),
    "documents": TEXT,
    "sql": TEXT,
    "file": TEXT,
    "format": TEXT,
    "model": TEXT,
    "api": one_of("cohere", "tei"),
    "text": Key(is_texts, "a list of fields"),
}
KINDS: Final[dict[str, Kind]] = {
    "fts5": Kind("fts5:Fts5", (), ("fields", "stemming", "words", "documents")),
    "call": Kind("call:Call", ("call",), ("batch", "threads")),
    "command": Kind("command:Command", ("command",)),
    "http": Kind("http:Http", ("url",), HTTP),
    **{name: Kind("http:Http", ("url",), HTTP) for name in PRESETS},
    "postgresql": Kind("postgresql:Postgresql", ("url", "sql"), ("embed", "threads")),
    "run": Kind("filed:Filed", ("file",), ("format",)),
    "rerank": Kind("rerank:HttpReranker", ("url", "rerank"), ("model", "api", "text", "headers", "batch")),
}
COMMON: Final = ("kind", "duplicates", "rerank", "candidates", "depth", *LIMITS)
DEPTH: Final = 100  # documents a query, where nobody says
RERANKERS: Final = {"call": "rerank:CallReranker", "rerank": "rerank:HttpReranker"}
# A key that only one kind can mean, where the table does not say the kind.
TELLING: Final = {"call": "call", "command": "command", "sql": "postgresql", "url": "http", "file": "run"}


@dataclass(frozen=True)
class Config:
    """A checked table: of a system of this name, found at `where`, with paths that start from `folder`."""

    name: str
    table: Mapping[str, Any]
    where: str
    folder: Path

    @property
    def kind(self) -> str:
        """What kind of system it is."""
        return str(self.table["kind"])

    @property
    def rerank(self) -> str | None:
        """The system whose candidates it ranks."""
        return self.table.get("rerank")

    @cached_property
    def limits(self) -> Limits:
        """How hard it may be worked."""
        return limits_in(self.table)

    @property
    def identity(self) -> dict[str, Any]:
        """What makes it this system: a change of it is another system under the same name."""
        return {name: value for name, value in self.table.items() if name not in (*LIMITS, "threads", "depth")}

    def identity_in(self, project: Project | None) -> dict[str, Any]:
        """The same with what its files hold; nothing is opened, or built."""
        about_of = getattr(self._class, "about_of", None)
        return self.identity | ({} if about_of is None else about_of(self, project))

    @property
    def depth(self) -> int:
        """How many documents a query it is asked for."""
        return int(self.table.get("depth", DEPTH))

    def open(self, project: Project | None) -> System:
        """The system, ready to be asked."""
        made: System = self._class(self, project)
        return made

    @property
    def _class(self) -> Any:
        made_by = RERANKERS[self.kind] if self.rerank else KINDS[self.kind].made_by
        module, _, name = made_by.partition(":")
        return getattr(import_module(f"rankgauge.systems.{module}"), name)


def check_keys(table: Mapping[str, Any], keys: Mapping[str, Key], where: str, what: str = "") -> None:
    """Refuse a key that is not known, and a value that does not fit its key."""
    for key, value in table.items():
        if key not in keys:
            of = f": {what}" if what else ""
            raise InputError(unknown(f"{where}{of} has no key {key!r}", key, keys))
        if not keys[key].fits(value):
            raise InputError(f"{where}: {key} = {value!r}; expected {keys[key].expected}")


def limits_in(table: Mapping[str, Any], usual: Limits = USUAL) -> Limits:
    """How hard others may be worked, as a table says; a function is called by one thread, unless it says threads."""
    given = {name: table[name] for name in LIMITS if name in table}
    if "call" in table:
        given["workers"] = table.get("threads", 1)
    if "largest" in given:
        given["largest"] = int(given["largest"] * MILLION)
    return usual._replace(**given)


def config_of(name: str, table: Any, where: str, folder: Path) -> Config:
    """The table of a system, checked; what it must have, what it may have, and what each key holds."""
    if not isinstance(table, dict):
        raise InputError(f'{where}: expected a table of settings, such as kind = "fts5"')
    table = dict(table)
    if "kind" not in table:
        told = next((kind for key, kind in TELLING.items() if key in table), None)
        if told is None:
            raise InputError(f"{where}: has no kind; write kind = {choices(f'{kind!r}' for kind in KINDS)}")
        table["kind"] = told
    kind = table["kind"]
    if kind not in KINDS:
        raise InputError(unknown(f"{where}: there is no kind {kind!r}", kind, KINDS))
    row = KINDS[kind]
    check_keys(table, {key: KEYS[key] for key in (*COMMON, *row.needs, *row.may)}, where, kind)
    for key in row.needs:
        if key not in table:
            raise InputError(f"{where}: lacks {key}; write {key} = {KEYS[key].expected}")
    _check_rerank(table, where)
    _check_threads(table, where)
    _check_secrets(table, where)
    return Config(name, table, where, folder)


def _check_secrets(table: Mapping[str, Any], where: str) -> None:
    """What is secret comes from the environment, for the table is stored."""
    url = table.get("url", "")
    named = {"url": PARAMETER.findall(url)} | {key: table.get(key, {}).items() for key in ("headers", "params")}
    for key, values in named.items():
        for name, value in values:
            if SECRET.search(name) and isinstance(value, str) and value and "{" not in value:
                _refuse_secret(where, f"{key} has the value of {name}")
    if PASSWORD.search(url):
        _refuse_secret(where, "url has a password")


def _check_threads(table: Mapping[str, Any], where: str) -> None:
    if "threads" in table and not {"call", "embed"} & {*table}:
        raise InputError(f"{where}: threads are those that call a function; write workers = {table['threads']}")


def _refuse_secret(where: str, what: str) -> NoReturn:
    how = "write ${NAME} for it, and set NAME in the environment"
    raise InputError(f"{where}: {what}, which would be stored; {how}")


def _check_rerank(table: Mapping[str, Any], where: str) -> None:
    if "candidates" in table and "rerank" not in table:
        raise InputError(f'{where}: candidates goes with rerank = "SYSTEM"')
    if "rerank" in table and table["kind"] not in RERANKERS:
        known = choices(f"'{kind}'" for kind in RERANKERS)
        raise InputError(f"{where}: a {table['kind']} system ranks no candidates; expected kind = {known}")


def system_of(project: Project | None, name: str, outright: Mapping[str, Any]) -> Config:
    """The system of this name: its table in the project's file, with what is given outright."""
    known = project.settings.get("systems", {}) if project is not None else {}
    known = known if isinstance(known, dict) else {}
    table = known.get(name, {})
    file = project.folder / "rankgauge.toml" if project is not None else None
    if name not in known and not outright:
        words = f"{file}: there is no [systems.{name}]"
        how = 'write it, such as kind = "fts5", or give the system by options (--call, --url, --set)'
        raise InputError(unknown(words, name, known) if known else f"{words}; {how}")
    place = f"{file}: [systems.{name}]" if name in known else f"system {name!r}"
    folder = project.folder if project is not None else Path()
    return config_of(name, {**table, **outright} if isinstance(table, dict) else table, place, folder)


def given_outright(settings: Sequence[str], **options: Any) -> dict[str, Any]:
    """A table of options and of KEY=VALUE, the value as TOML writes it, or else a text."""
    table = {name: value for name, value in options.items() if value is not None}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: expected KEY=VALUE, such as --set workers=8")
        try:
            table[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            table[key.strip()] = value
    return table


# ---- documents -------------------------------------------------------------------------------------------------------


class Documents(NamedTuple):
    """Where the texts of documents are: [documents] of rankgauge.toml."""

    path: str
    id: str | None = None
    fields: tuple[str, ...] = ()
    show: tuple[str, ...] = ()  # what judges see, in this order; all of them where it is empty


def documents_of(settings: Mapping[str, Any], folder: Path, where: str) -> Documents | None:
    """The project's documents, where it names any."""
    table = settings.get("documents")
    if table is None:
        return None
    names = Key(is_texts, "a list of names")
    place = f"{where}: [documents]"
    if isinstance(table, dict):
        check_keys(table, {"file": TEXT, "id": TEXT, "fields": names, "show": names}, place)
    if not isinstance(table, dict) or "file" not in table:
        raise InputError(f'{place} lacks file; write file = "documents.jsonl"')
    return Documents(
        str(folder / table["file"]), table.get("id"), tuple(table.get("fields", ())), tuple(table.get("show", ()))
    )
