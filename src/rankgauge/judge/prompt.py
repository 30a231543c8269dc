"""Prompts: text files with {query}, {need}, {document} and {scale}, filled in one pass, and the answer they ask for."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from rankgauge.errors import InputError, choices, unknown
from rankgauge.judge.scale import GRADED, SCALES, Scale
from rankgauge.judge.shown import harmless
from rankgauge.store.rows import digest

__all__ = ["CHOICES", "FOLDER", "PACKAGED", "Prompt", "copy_prompts", "packaged"]

FOLDER: Final = "prompts"  # of a project, and of this package
PACKAGED: Final = ("graded", "short", "criteria", "binary", "digit", "pairwise")
CHOICES: Final = ("A", "B", "tie")  # what a prompt with two documents is answered with
PAIR: Final = ("first", "second")
VARIABLES: Final = ("query", "need", "document", "scale", *PAIR)
PLACE: Final = re.compile(r"(?P<open>\{+) *(?P<name>[A-Za-z_]\w*) *\}(?P<close>\}*)", re.ASCII)
KEYS: Final = ("reason", "grade")  # of an answer, where a prompt does not say it
HEAD: Final = ("answer", "mark", "scale")  # what the first lines of a prompt may say, after an @


@dataclass(frozen=True)
class Prompt:
    """A prompt, and the shape of the answer that it asks for.

    `text` is the whole file, `hash` its hash: a changed prompt is another setting of a judge. `keys` are those of the
    answer's JSON object, the one that decides last; an answer that is `plain`, or `one_token`, is no object. `mark` is
    what stands before the grade in plain text, such as `##final score:`; `scale` is the one it is written for.
    """

    name: str
    text: str
    hash: str
    body: str
    keys: tuple[str, ...] = KEYS
    mark: str | None = None
    one_token: bool = False
    plain: bool = False
    scale: Scale = GRADED

    @classmethod
    def of(cls, given: str | os.PathLike[str], folder: str | os.PathLike[str] = ".") -> Prompt:
        """A prompt by its name (the project's own before the one of the package), or a file."""
        name = os.fspath(given)
        own = Path(folder, FOLDER)
        if (path := own / f"{name}.txt").is_file():
            return cls.read(name, _text_of(path), str(path))
        if name in PACKAGED:
            return cls.read(name, packaged(name), name)
        if not os.path.dirname(name) and not os.path.splitext(name)[1]:
            known = dict.fromkeys([*PACKAGED, *sorted(path.stem for path in own.glob("*.txt"))])
            raise InputError(unknown(f"there is no prompt {name!r}", name, known))
        path = Path(folder, name)
        return cls.read(path.stem, _text_of(path), str(path))

    @classmethod
    def read(cls, name: str, text: str, where: str) -> Prompt:
        """A prompt from its text, checked."""
        head, body = _head(text, where)
        if not body.strip():
            raise InputError(f"{where}: the prompt is empty; write what to ask, with {{query}} and {{document}}")
        names = _variables(body, where, text.count("\n") - body.count("\n") + 1)
        pair = names & {*PAIR}
        if pair and (pair != {*PAIR} or "document" in names):
            raise InputError(f"{where}: a comparison of two documents has {{first}} and {{second}}, no {{document}}")
        if not pair and "document" not in names:
            raise InputError(f"{where}: has no {{document}}; write {{document}} where the document is to stand")
        keys, one_token = _keys(head.get("answer"), "preference" if pair else "grade", where)
        scale = head.get("scale", "graded")
        if scale not in SCALES:
            raise InputError(unknown(f"{where}: @scale: {scale}; there is no such scale", scale, SCALES))
        mark = head.get("mark")
        plain = one_token or (mark is not None and "answer" not in head)
        return cls(name, text, digest(text), body, keys, mark, one_token, plain, SCALES[scale])

    @property
    def pairwise(self) -> bool:
        """Whether it compares two documents."""
        return self.keys[-1:] == ("preference",)

    def rendered(self, query: str, need: str | None, document: str, scale: Scale) -> str:
        """The text to send, of a document as `shown_document` makes it; a line whose variables are empty is dropped."""
        if self.pairwise:
            raise InputError(f"prompt {self.name}: compares two documents, and a judge grades one; take 'graded'")
        return self._filled({"query": harmless(query), "need": harmless(need or ""), "document": document}, scale)

    def rendered_pair(self, query: str, need: str | None, documents: tuple[str, str], scale: Scale) -> str:
        """The text to send of a comparison, of two documents as `shown_pair` makes them."""
        if not self.pairwise:
            raise InputError(f"prompt {self.name}: grades one document; to compare two, take 'pairwise'")
        both = dict(zip(PAIR, documents, strict=True))
        return self._filled({"query": harmless(query), "need": harmless(need or ""), **both}, scale)

    def schema(self, scale: Scale) -> dict[str, Any] | None:
        """The strict JSON schema of the answer: every key required and no other; None where it is to be plain text."""
        if self.plain:
            return None
        return {
            "type": "object",
            "properties": {key: self._property(key, scale) for key in self.keys},
            "required": list(self.keys),
            "additionalProperties": False,
        }

    def check(self, scale: Scale) -> None:
        """Refuse a scale that one token cannot say."""
        long = [word for word in scale.to_dict() if len(word) > 1]
        if self.one_token and long:
            what = f"asks for one digit, and the scale has {long[0]}"
            raise InputError(f"prompt {self.name}: {what}; take the prompt 'short', or grades from 0 to 9")

    def _property(self, key: str, scale: Scale) -> dict[str, Any]:
        if key == "reason":
            return {"type": "string"}
        if key == "preference":
            return {"type": "string", "enum": list(CHOICES)}
        kind = "integer" if all(isinstance(number, int) for number in scale.numbers) else "number"
        words = {"description": scale.words} if key == self.keys[-1] else {}
        return {"type": kind, "enum": scale.numbers, **words}

    def _filled(self, values: Mapping[str, str], scale: Scale) -> str:
        self.check(scale)
        told = {**values, "scale": scale.words}
        lines = (_line(part, told) if "{" in part else part for part in _parts(self.body))
        return "\n".join(line for line in lines if line is not None).strip("\n")


@lru_cache(8)  # a prompt is filled for every pair
def _parts(body: str) -> tuple[str, ...]:
    """The lines of a prompt; those in a row that have no places are one part."""
    runs = groupby(body.split("\n"), lambda line: "{" in line)
    return tuple(part for places, run in runs for part in (run if places else ["\n".join(run)]))


def packaged(name: str) -> str:
    """The text of a prompt of this package."""
    return files("rankgauge.judge").joinpath(FOLDER, f"{name}.txt").read_text(encoding="utf-8")


def copy_prompts(folder: str | os.PathLike[str]) -> None:
    """Put the prompts of this package into a project, where a team may change them; what is there stays."""
    own = Path(folder, FOLDER)
    try:
        own.mkdir(parents=True, exist_ok=True)
        for name in PACKAGED:
            if not os.path.lexists(path := own / f"{name}.txt"):
                path.write_text(packaged(name), encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{error.filename or own}: {error.strerror}; prompts cannot be written there") from None


def _text_of(path: Path) -> str:
    """The text of a file, the same from every system: UTF-8, lines that end in a newline."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such prompt; write it, or take {choices(PACKAGED)}") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start + 1:,} is not UTF-8; save the prompt as UTF-8") from None
    if "\0" in text:
        raise InputError(f"{path}: holds NUL, as UTF-16 does; save the prompt as UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _head(text: str, where: str) -> tuple[dict[str, str], str]:
    """What the first lines say of the answer, each after an @, and what comes after them."""
    told: dict[str, str] = {}
    lines = text.split("\n")
    while lines and lines[0].startswith("@"):
        name, _, value = lines.pop(0)[1:].partition(":")
        if name.strip() not in HEAD:
            tail = f"a first line may be {choices(f'@{known}: …' for known in HEAD)}"
            raise InputError(unknown(f"{where}: does not know the line '@{name.strip()}'", name.strip(), HEAD, tail))
        if not value.strip():
            raise InputError(f"{where}: the line @{name.strip()} says nothing; expected @{name.strip()}: …")
        told[name.strip()] = value.strip()
    return told, "\n".join(lines)


def _keys(given: str | None, last: str, where: str) -> tuple[tuple[str, ...], bool]:
    """The keys of the answer, the one that decides last, and whether one token is asked for."""
    if given == "digit" and last == "grade":
        return ("grade",), True
    keys = tuple(key.strip() for key in given.split(",")) if given else (KEYS[0], last)
    if keys[-1] != last or len({*keys}) < len(keys) or not all(re.fullmatch(r"[A-Za-z_]\w*", key) for key in keys):
        expected = f"keys of which the last is {last}, such as @answer: reason, {last}"
        raise InputError(f"{where}: @answer: {given}; expected {expected}")
    return keys, False


def _variables(body: str, where: str, first: int) -> set[str]:
    """The variables of a prompt, which begins at this line of its file; {{word}} stands for {word} itself."""
    names = set()
    for found in PLACE.finditer(body):
        name, doubled = found["name"], len(found["open"]) > 1
        line = f"{where}:{first + body.count(chr(10), 0, found.start())}"
        if doubled and name in VARIABLES:
            raise InputError(f"{line}: {found[0]}; a variable has one brace on each side: {{{name}}}")
        if not doubled and name not in VARIABLES:
            tail = (
                f"a prompt has {{query}}, {{need}}, {{document}} and {{scale}}; {{{{{name}}}}} is the text {{{name}}}"
            )
            raise InputError(unknown(f"{line}: there is no {{{name}}}", name, VARIABLES, tail, "{{{}}}".format))
        names |= {name} - {name if doubled else ""}
    return names


def _line(line: str, values: Mapping[str, str]) -> str | None:
    """A line filled in one pass; None where its variables are all empty."""
    used = [found["name"] for found in PLACE.finditer(line) if found["name"] in values]
    if used and not any(values[name].strip() for name in used):
        return None
    return PLACE.sub(lambda found: _place(found, values), line)


def _place(found: re.Match[str], values: Mapping[str, str]) -> str:
    if len(found["open"]) > 1:
        return found[0].replace("{{", "{", 1).replace("}}", "}", 1)
    return values[found["name"]] + found["close"]
