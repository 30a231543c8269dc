"""Which of two documents is better: asked both ways round, for models like what comes first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rankgauge.judge.answers import Preference, read_preference
from rankgauge.judge.prompt import Prompt
from rankgauge.judge.scale import GRADED, Scale
from rankgauge.judge.shown import shown_pair

__all__ = ["both_ways", "prefer"]


def prefer(
    ask: Callable[[str, dict[str, Any] | None], Any],
    query: str,
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    *,
    need: str | None = None,
    prompt: Prompt | None = None,
    scale: Scale = GRADED,
    show: Sequence[str] | None = None,
    longest: int | None = None,
) -> Preference:
    """Compare two documents, given by their fields: A is the first of them, B the second.

    `ask` takes a text and a JSON schema and gives a chat completion as parsed JSON.
    """
    prompt = prompt or Prompt.of("pairwise")
    one, other = (each.text for each in shown_pair(first, second, show, longest))
    texts = [prompt.rendered_pair(query, need, documents, scale) for documents in ((one, other), (other, one))]
    answers = [read_preference(ask(text, prompt.schema(scale)), prompt) for text in texts]
    return both_ways(*answers)


def both_ways(one: Preference, other: Preference) -> Preference:
    """What two answers come to, of which `other` was asked with the documents in the other order."""
    for each in (one, other):
        if each.choice is None:
            return each
    turned = {"A": "B", "B": "A"}.get(str(other.choice), other.choice)
    if one.choice != turned:
        return Preference("failed", None, "the choice turns with the order of the documents")
    return one
