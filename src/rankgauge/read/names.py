"""Column names as the field spells them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from rankgauge.errors import FormatError, choices, unknown, way
from rankgauge.read.rows import Ask

__all__ = ["SPELLINGS", "WhereThere", "ask_of", "bare", "check_roles", "find_columns", "first_of"]
__all__ += ["JUDGED", "has_role", "is_beir"]
__all__ += ["is_quepid", "looks_like_header", "normal", "number_role", "underscored"]

SPELLINGS: Final[dict[str, tuple[str, ...]]] = {
    "query_id": ("query_id", "qid", "topic_id", "q_id", "question_id", "query", "topic", "query_text", "question"),
    "doc_id": (
        *("doc_id", "docno", "document_id", "did", "pid", "corpus_id", "item_id", "product_id", "passage_id"),
        *("chunk_id", "doc", "document", "item", "product", "passage", "chunk", "url"),
    ),
    "relevance": ("relevance", "rel", "grade", "label", "rating", "judgment", "judgement", "score", "relevance_score"),
    "score": ("score", "sim", "similarity", "relevance_score"),
    "rank": ("rank", "position", "doc_position"),
}
# `query` may hold the text beside a `qid`, `url` the address beside an id, and `score` is a grade (as in BEIR) only
# where nothing else is.
UNSURE: Final = {
    "query_id": ("query", "topic", "query_text", "question"),
    "doc_id": ("doc", "document", "item", "product", "passage", "chunk", "url"),
    "relevance": ("score", "relevance_score"),
}
QUEPID: Final = ["query", "docid", "rating"]
# What a row has that somebody judged on a page of `rankgauge judge-page`.
JUDGED: Final = frozenset({"query_id", "doc_id", "judge", "state", "grade", "made", "ms", "key"})


class WhereThere(dict[str, str]):
    """Columns by role that are mapped in a file that has them; in another the names decide."""


def underscored(column: object) -> str:
    """A column's name with underscores for blanks and hyphens."""
    return re.sub(r"[\s-]+", "_", str(column).strip())


def normal(column: object) -> str:
    """A column's name with underscores for blanks and hyphens, in lower case."""
    return underscored(column).lower()


def bare(column: object) -> str:
    """A column's name as it is compared with what is known: `Query ID`, `query-id` and `queryId` are one."""
    return normal(column).replace("_", "")


@cache
def _groups(role: str) -> tuple[set[str], ...]:
    """The spellings of a role, the surest first: a column of an earlier group is taken before any of a later one."""
    unsure = UNSURE.get(role, ())
    sure = [name for name in SPELLINGS[role][1:] if name not in unsure]
    return tuple({bare(name) for name in group} for group in (SPELLINGS[role][:1], sure, unsure))


def ask_of(names: Sequence[str], ask: Ask) -> Ask:
    """What to ask of a table with these columns: a run that has ranks and no scores is one of ranks."""
    if ask.kind != "run" or ask.by == "rank" or (ask.columns and "score" in ask.columns):
        return ask
    ranked = has_role("rank", names) or "rank" in (ask.columns or {})
    return ask._replace(by="rank", scored=False) if ranked and not has_role("score", names) else ask


def number_role(ask: Ask) -> str:
    """The role of the third column."""
    if ask.kind == "judgments":
        return "relevance"
    return "rank" if ask.by == "rank" else "score"


def find_columns(names: Sequence[str], ask: Ask, name: str) -> tuple[str, str, str]:
    """The columns that hold the query, the document and the number."""
    ask = ask._replace(columns=_mapped(names, ask.columns, name))
    query, doc = _column("query_id", names, ask, name), _column("doc_id", names, ask, name)
    number = _column(number_role(ask), names, ask, name)
    if ask.kind == "judgments" and bare(number).endswith("score") and has_role("rank", names) and not ask.columns:
        raise FormatError(
            f"{name}: has a rank and a score, so it looks like a run; are judgments and run swapped? "
            f"If not, {_how_to_map('relevance', number)}"
        )
    return query, doc, number


def looks_like_header(cells: Sequence[str], columns: Mapping[str, str] | None) -> bool:
    """Whether a first line names its columns: a query and a document among them."""
    try:
        ask = Ask("run", columns=_mapped(cells, columns, ""))
        _column("query_id", cells, ask, "")
        _column("doc_id", cells, ask, "")
    except FormatError:
        return False
    return True


def has_role(role: str, names: Sequence[str], *, sure: bool = False) -> bool:
    """Whether a column is spelled as one of this role; `sure` leaves out the spellings that may mean something else."""
    spellings = set().union(*_groups(role)[: 2 if sure else 3])
    return any(bare(name) in spellings for name in names)


def first_of(role: str, names: Sequence[str], *more: str) -> str | None:
    """The column that is most surely of this role, or has one of the other names; None where there is none."""
    first, sure, unsure = _groups(role)
    for group in (first, sure, set(map(bare, more)), unsure):
        found = next((name for name in names if bare(name) in group), None)
        if found is not None:
            return found
    return None


def is_beir(names: Sequence[str]) -> bool:
    """Whether these are the columns of BEIR's judgments, whose grade is called score."""
    return [normal(name) for name in names] == ["query_id", "corpus_id", "score"]


def is_quepid(names: Sequence[str]) -> bool:
    """Whether these are the columns of Quepid's ratings, where a query or document may have none."""
    return list(names) == QUEPID


def check_roles(columns: Mapping[str, str]) -> None:
    """Refuse a mapping of what is no role."""
    for role in columns:
        if role not in SPELLINGS:
            words = f"columns maps {role!r}, which is no role"
            raise FormatError(unknown(words, role, SPELLINGS, f"expected {choices(SPELLINGS)}"))


def _mapped(names: Sequence[str], columns: Mapping[str, str] | None, name: str) -> dict[str, str]:
    """The columns that the caller named and that are there; one that is not is an error, unless it may be elsewhere."""
    check_roles(columns or {})
    mapped = {role: column for role, column in (columns or {}).items() if column in names}
    for column in () if isinstance(columns, WhereThere) else (columns or {}).values():
        if column not in names:
            raise FormatError(f"{name}: there is no column {column!r}; the columns are {', '.join(map(str, names))}")
    return mapped


def _column(role: str, names: Sequence[str], ask: Ask, name: str) -> str:
    """The column of this role: as the caller mapped it, or the surest spelling."""
    if ask.columns and role in ask.columns:
        return ask.columns[role]
    taken = set((ask.columns or {}).values())
    for group in _groups(role):
        matching = [column for column in names if bare(column) in group and column not in taken]
        if len(matching) == 1:
            return matching[0]
        if matching:
            listed = " and ".join(map(repr, matching))
            raise FormatError(f"{name}: {listed} could each be the {role}; {_how_to_map(role, matching[0])}")
    raise FormatError(_missing(role, names, name))


def _missing(role: str, names: Sequence[str], name: str) -> str:
    understood = ", ".join(SPELLINGS[role])
    return (
        f"{name}: no column for the {role}; found {', '.join(map(str, names)) or 'none'}; understood are {understood}; "
        f"{_how_to_map(role, 'NAME')}"
    )


def _how_to_map(role: str, column: str) -> str:
    how = way(f"columns={{{role!r}: {column!r}}}", f"--column {role}={column}")
    return f"say which with {how}" if how else f"call it {role}"
