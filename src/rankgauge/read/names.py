"""Column names as the field spells them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from rankgauge.errors import FormatError, choices, unknown
from rankgauge.read.rows import Ask

__all__ = ["SPELLINGS", "find_columns", "has_role", "is_beir", "looks_like_header", "normal", "number_role"]
__all__ += ["underscored"]

SPELLINGS: Final[dict[str, tuple[str, ...]]] = {
    "query_id": ("query_id", "qid", "topic_id", "q_id", "query", "topic"),
    "doc_id": ("doc_id", "docid", "docno", "document_id", "did", "pid", "corpus_id", "item_id", "doc"),
    "relevance": ("relevance", "rel", "grade", "label", "rating", "score"),
    "score": ("score", "sim", "similarity"),
    "rank": ("rank",),
}
# `query` may hold the text beside a `qid`, and `score` is a grade (as in BEIR) only where nothing else is.
UNSURE: Final = {"query_id": ("query", "topic"), "doc_id": ("doc",), "relevance": ("score",)}


def underscored(column: object) -> str:
    """A column's name with underscores for blanks and hyphens."""
    return re.sub(r"[\s-]+", "_", str(column).strip())


def normal(column: object) -> str:
    """A column's name as it is compared with what is known: case, blanks and hyphens do not matter."""
    return underscored(column).lower()


def _groups(role: str) -> tuple[tuple[str, ...], ...]:
    """The spellings of a role, the surest first: a column of an earlier group is taken before any of a later one."""
    unsure = UNSURE.get(role, ())
    return SPELLINGS[role][:1], tuple(name for name in SPELLINGS[role][1:] if name not in unsure), unsure


def number_role(ask: Ask) -> str:
    """The role of the third column."""
    if ask.kind == "judgments":
        return "relevance"
    return "rank" if ask.by == "rank" else "score"


def find_columns(names: Sequence[str], ask: Ask, name: str) -> tuple[str, str, str]:
    """The columns that hold the query, the document and the number."""
    _check_mapping(names, ask.columns or {}, name)
    query, doc = _column("query_id", names, ask, name), _column("doc_id", names, ask, name)
    number = _column(number_role(ask), names, ask, name)
    if ask.kind == "judgments" and normal(number) == "score" and has_role("rank", names) and not ask.columns:
        raise FormatError(
            f"{name}: has a rank and a score, so it looks like a run; are judgments and run swapped? "
            f"If not, {_how_to_map('relevance', number)}"
        )
    return query, doc, number


def looks_like_header(cells: Sequence[str], columns: Mapping[str, str] | None) -> bool:
    """Whether a first line names its columns: a query and a document among them."""
    ask = Ask("run", columns=columns)
    try:
        _check_mapping(cells, columns or {}, "")
        _column("query_id", cells, ask, "")
        _column("doc_id", cells, ask, "")
    except FormatError:
        return False
    return True


def has_role(role: str, names: Sequence[str], *, sure: bool = False) -> bool:
    """Whether a column is spelled as one of this role; `sure` leaves out the spellings that may mean something else."""
    spellings = set(SPELLINGS[role]).difference(UNSURE.get(role, ()) if sure else ())
    return any(normal(name) in spellings for name in names)


def is_beir(names: Sequence[str]) -> bool:
    """Whether these are the columns of BEIR's judgments, whose grade is called score."""
    return [normal(name) for name in names] == ["query_id", "corpus_id", "score"]


def _check_mapping(names: Sequence[str], columns: Mapping[str, str], name: str) -> None:
    for role, column in columns.items():
        if role not in SPELLINGS:
            words = f"columns maps {role!r}, which is no role"
            raise FormatError(unknown(words, role, SPELLINGS, f"expected {choices(SPELLINGS)}"))
        if column not in names:
            raise FormatError(f"{name}: there is no column {column!r}; the columns are {', '.join(map(str, names))}")


def _column(role: str, names: Sequence[str], ask: Ask, name: str) -> str:
    """The column of this role: as the caller mapped it, or the surest spelling."""
    if ask.columns and role in ask.columns:
        return ask.columns[role]
    taken = set((ask.columns or {}).values())
    for group in _groups(role):
        matching = [column for column in names if normal(column) in group and column not in taken]
        if len(matching) == 1:
            return matching[0]
        if matching:
            listed = " and ".join(map(repr, matching))
            raise FormatError(f"{name}: {listed} could each be the {role}; {_how_to_map(role, matching[0])}")
    raise FormatError(_missing(role, names, name))


def _missing(role: str, names: Sequence[str], name: str) -> str:
    understood = ", ".join(SPELLINGS[role])
    ranked = role == "score" and any(normal(column) == "rank" for column in names)
    hint = "; or order by the rank column: by='rank' (--order rank)" if ranked else ""
    return (
        f"{name}: no column for the {role}; found {', '.join(map(str, names)) or 'none'}; understood are {understood}; "
        f"{_how_to_map(role, 'NAME')}{hint}"
    )


def _how_to_map(role: str, column: str) -> str:
    return f"say which with columns={{{role!r}: {column!r}}} (--column {role}={column})"
