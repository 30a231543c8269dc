"""Whose labels values rest on: judges whom nobody checked, and judges of a system's own model family."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from rankgauge.errors import Doubt

if TYPE_CHECKING:
    from rankgauge.read import Judgments

__all__ = ["FAMILY", "UNCHECKED", "doubt_of", "doubts_of_labels", "family_of", "same_family"]

UNCHECKED: Final = "RG403"
FAMILY: Final = "RG404"
# Words that begin names of models of many families.
VENDORS: Final = frozenset({"openai", "meta", "google", "anthropic", "local", "my", "the", "model", "test", "default"})
SPELLED: Final = {"chatgpt": "gpt"}


def doubts_of_labels(judgments: Judgments | None, systems: Mapping[str, Collection[str]]) -> list[Doubt]:
    """Why not to trust labels: of judges not checked, or of models like those that the systems name."""
    if judgments is None:
        return []
    found = [doubt_of(code, what) for code, what in judgments.remarks if code == UNCHECKED]
    return [*found, *(doubt_of(FAMILY, what) for what in [same_family(judgments.models, systems)] if what)]


def doubt_of(code: str, what: str) -> Doubt:
    """The finding of a code as a doubt, with its remedy."""
    from rankgauge.validation.codes import CODES  # where there is something to say

    remedy = CODES[code].remedy
    if code == UNCHECKED:  # the first judge that is named, so that the remedy can be pasted
        remedy = remedy.replace("NAME", shlex.quote(what.partition(" (")[0].partition(", ")[0]))
    return Doubt(code, f"{CODES[code].title}: {what}; {remedy}")


def same_family(judges: Mapping[str, Collection[str]], systems: Mapping[str, Collection[str]]) -> str:
    """The judges and systems of one family, in words; each has a name and the models that it names."""
    found = {}
    for judge, model in ((judge, model) for judge, models in judges.items() for model in models):
        family = family_of(model)
        alike = [name for name, models in systems.items() if any(family in _words(each) for each in (name, *models))]
        if alike:
            of_model = f" ({model})" if model != judge else ""
            found[f"{judge}{of_model} judges {', '.join(alike)}"] = True
    return "; ".join(found)


def family_of(model: str) -> str:
    """The family that a model's name begins with: gpt of openai/gpt-4o-mini; nothing where the name tells none."""
    return next((word for word in _words(model.rpartition("/")[2]) if word not in VENDORS), "")


def _words(name: str) -> Iterator[str]:
    """The words of a name without their numbers; OpenAI's o1, o3, … are of the family of its others."""
    for word in re.findall(r"[a-z0-9]+", name.casefold()):
        letters = re.match(r"[a-z]{2,}", word)
        if re.fullmatch(r"o\d", word):
            yield "gpt"
        elif letters:
            yield SPELLED.get(letters[0], letters[0])
