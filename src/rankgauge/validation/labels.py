"""Whose labels values rest on: judges not licensed by a check, of another setting, or of a system's own family."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rankgauge.errors import Doubt

if TYPE_CHECKING:
    from rankgauge.read import Judgments

__all__ = ["CHANCE", "FAMILY", "JUDGES", "MIXED", "ONE_GRADE", "SCALE", "UNCHECKED", "UNFIT", "doubt_of_family"]
__all__ += ["doubts_of_labels", "family_of", "same_family", "several_models"]

UNCHECKED: Final = "RG403"
FAMILY: Final = "RG404"
ONE_GRADE: Final = "RG405"
CHANCE: Final = "RG406"
SCALE: Final = "RG407"
MIXED: Final = "RG408"
JUDGES: Final = (UNCHECKED, ONE_GRADE, CHANCE, SCALE, MIXED)  # of whom stored labels have doubts, in whole sentences
UNFIT: Final = (ONE_GRADE, CHANCE)  # of judges that cannot judge
# Words that begin names of models of many families.
VENDORS: Final = frozenset({"openai", "meta", "google", "anthropic", "local", "my", "the", "model", "test", "default"})
SPELLED: Final = {"chatgpt": "gpt"}


def doubts_of_labels(judgments: Judgments | None, systems: Mapping[str, Collection[str]]) -> list[Doubt]:
    """Why not to trust labels: those of some judges, or of models like those that the systems name."""
    if judgments is None:
        return []
    found = [Doubt(code, what) for code, what in judgments.remarks if code in JUDGES]
    return [*found, *(doubt_of_family(what) for what in [same_family(judgments.models, systems)] if what)]


def doubt_of_family(what: str) -> Doubt:
    """The doubt about judges and systems of one family."""
    how = "Models tend to favour their own family. Add people or another model as judge"
    return Doubt(FAMILY, f"{what}, of its own model family. {how}")


def several_models(judge: str, models: Sequence[str]) -> str:
    """The models that answered under one name, in words."""
    number = "Two" if len(models) == 2 else f"{len(models)}"
    return f"{number} models answered under the name {judge}: {', '.join(models)}"


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
