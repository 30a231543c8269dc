"""Documents as judges see them: `field: text`, cut, between fences that no text can forge."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from rankgauge.store.rows import digest

__all__ = ["Shown", "closing", "harmless", "opening", "shown_document", "shown_pair"]

CODE: Final = 12  # hex digits of a document's hash in its fences
WORD: Final = 40  # characters that a cut goes back at most to the end of a word, which not every script marks
# What a reader does not see and a model does: control characters, changes of direction, tags, halves of characters.
UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")
LINES: Final = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class Shown(NamedTuple):
    """A document with its fences, and how many characters were cut off; no text where there is nothing to show."""

    text: str
    cut: int


def harmless(text: str) -> str:
    """The text with every line end as a newline, and � for what nobody sees."""
    return UNSEEN.sub("�", LINES.sub("\n", text))


def opening(code: str) -> str:
    """The line before a document."""
    return f"<<<<< document {code}"


def closing(code: str) -> str:
    """The line after a document."""
    return f">>>>> document {code}"


def shown_document(
    fields: Mapping[str, Any], show: Sequence[str] | None = None, longest: int | None = None, beside: str = ""
) -> Shown:
    """The fields in the order of `show` (all of them without it), cut at a word after `longest` characters.

    The fences carry the document's hash; where a text holds that (or what stands `beside` it does), the hash of this.
    """
    text, cut = _cut(_lines(fields, show), longest)
    if not text.strip():
        return Shown("", 0)
    code = digest(fields)[:CODE]
    while code in text or code in beside:
        code = hashlib.sha256(code.encode()).hexdigest()[:CODE]
    mark = [f"[… {cut:,} more characters are not shown]"] if cut else []
    return Shown("\n".join([opening(code), text, *mark, closing(code)]), cut)


def shown_pair(
    first: Mapping[str, Any], second: Mapping[str, Any], show: Sequence[str] | None = None, longest: int | None = None
) -> tuple[Shown, Shown]:
    """Two documents for a comparison: neither holds a fence of the other."""
    one, other = _lines(first, show), _lines(second, show)
    return shown_document(first, show, longest, other), shown_document(second, show, longest, one)


def _lines(fields: Mapping[str, Any], show: Sequence[str] | None) -> str:
    given = ((name, _text(fields[name])) for name in (fields if show is None else show) if name in fields)
    return "\n".join(f"{harmless(str(name))}: {harmless(text)}" for name, text in given if text.strip())


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cut(text: str, longest: int | None) -> tuple[str, int]:
    """The text up to the last word that ends within `longest` characters, and how many were left out."""
    if longest is None or len(text) <= longest:
        return text, 0
    end = longest
    while end > max(longest - WORD, 0) and not text[end].isspace():
        end -= 1
    kept = text[: end if text[end].isspace() else longest].rstrip()
    return kept, len(text) - len(kept)
