"""Answers of models read, the same way whatever was granted: a grade that is plainly stated, or none.

A grade is read from its key in a complete JSON object, after the prompt's own mark, where it stands alone or first, or
where one line names it; all that are found must agree. Never a digit by itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from rankgauge.judge.prompt import CHOICES, Prompt
from rankgauge.judge.scale import Scale, spelt
from rankgauge.judge.stated import Found, bare, plain, stated
from rankgauge.systems.hits import cleaned
from rankgauge.trust.judges.licence import OFF_SCALE

__all__ = ["READER", "Expected", "Preference", "Reading", "best", "read_answer", "read_logprobs"]
__all__ += ["read_preference", "read_response", "read_responses", "without_thinking"]

READER: Final = (
    "2"  # raised with every change of what is read, so that stored answers can be read again; a test holds it
)
State: TypeAlias = Literal["graded", "failed", "refused"]


class Reading(NamedTuple):
    """What an answer says: its grade and the reason it gives, or why there is no grade."""

    state: State
    grade: float | None
    reason: str | None


class Preference(NamedTuple):
    """What a comparison says: A, B or tie and the reason it gives, or why there is none."""

    state: State
    choice: str | None
    reason: str | None


class Expected(NamedTuple):
    """The expected grade over the probabilities of the scale's tokens, and how much probability these have in all."""

    grade: float
    mass: float


def _failed(why: str) -> Reading:
    return Reading("failed", None, why)


TRUNCATED: Final = "truncated: the answer ends before a grade; allow more tokens"


# ---- a whole response ------------------------------------------------------------------------------------------------

FILTERED: Final = ("content_filter", "safety", "refusal", "recitation", "blocklist", "prohibited_content")
CUT: Final = ("length", "max_tokens")
SPOKEN: Final = ("text", "output_text")  # the parts of a content that are the answer


class _Said(NamedTuple):
    """What a choice says, whether it was cut off; or the reading that is plain without a text."""

    text: str = ""
    cut: bool = False
    reading: Reading | None = None


def read_responses(responses: Sequence[Any], scale: Scale, prompt: Prompt) -> Reading:
    """What the answers to one question say."""
    return best(read_response(each, scale, prompt) for each in responses)


def best(readings: Iterable[Reading]) -> Reading:
    """The first of several that could be read, or why the last could not."""
    several = [*readings]
    found = next((each for each in several if each.state != "failed"), several[-1])
    return found._replace(reason=cleaned(found.reason))  # what is escaped in an answer comes out here


def read_response(response: Any, scale: Scale, prompt: Prompt) -> Reading:
    """What a chat completion, as parsed JSON, says of a document."""
    readings = [said.reading or _read_said(said, scale, prompt) for said in _choices(response)]
    if len({reading[:2] for reading in readings}) > 1:
        return _failed(f"{len(readings)} choices differ")
    return readings[0]


def _read_said(said: _Said, scale: Scale, prompt: Prompt) -> Reading:
    cut = said.cut and not prompt.one_token  # one token is all that was allowed
    return read_answer(said.text, scale, prompt.mark, prompt.keys[-1], cut)


def _choices(response: Any) -> list[_Said]:
    """What every choice of a response says."""
    choices = response.get("choices") if isinstance(response, Mapping) else None
    if not isinstance(choices, list) or not choices:
        told = response.get("error") if isinstance(response, Mapping) else None
        words = told.get("message") if isinstance(told, Mapping) else told
        return [_Said(reading=_failed(f"an error instead of an answer: {words}"[:200] if words else "no choices"))]
    return [_said(choice) for choice in choices]


def _said(choice: Any) -> _Said:
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        return _Said(reading=_failed("a choice without a message"))
    finish = str(choice.get("finish_reason") or "").casefold()
    content = message.get("content")
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    refusal = message.get("refusal") or next((part.get("refusal") for part in parts if part.get("refusal")), None)
    if refusal or finish in FILTERED:
        return _Said(reading=Reading("refused", None, str(refusal or f"finish_reason {finish}")))
    if message.get("tool_calls") or message.get("function_call"):
        return _Said(reading=_failed("a call of a tool instead of an answer"))
    return _Said(_joined(content), finish in CUT)


def _joined(content: Any) -> str:
    """The text of a content, which may be a list of parts; what a model thought is no part of it."""
    if isinstance(content, str):
        return content
    spoken = map(_spoken, content if isinstance(content, list) else [])
    return "".join(text for text in spoken if isinstance(text, str))


def _spoken(part: Any) -> Any:
    if isinstance(part, Mapping):
        return part.get("text") if part.get("type", SPOKEN[0]) in SPOKEN else None
    return part


# ---- one answer ------------------------------------------------------------------------------------------------------

TAG: Final = re.compile(r"[<\[](?P<end>/?)(?:think|thinking|thought|reasoning)[>\]]", re.IGNORECASE)
REFUSAL: Final = re.compile(
    r"\W*(?:(?:(?:I['’]m |I am )?(?:very |so )?sorry|I apologi[sz]e|unfortunately)[,.!;:]* (?:but )?)?"
    r"(?:as an? [\w ]{2,30}, )?I(?: cannot| can['’]t| can not| won['’]t| will not| must decline to| refuse to"
    r"| decline to|(?: am|['’]m) (?:unable|not able) to) (?:\w+ly )?"
    r"(?:provide|assist|help|rate|grade|score|judge|evaluate|assess|comply|fulfil|engage|discuss|continue|answer|give"
    r"|do|create|generate|respond|process|complete|support|participate)",
    re.IGNORECASE,
)


def without_thinking(text: str) -> str | None:
    """The answer without what the model thought before it; None where it never stopped thinking."""
    if TAG.search(text) is None:
        return text
    inside = [(start, end) for start, end, _ in _objects(text)[0]]  # a reason may speak of <think>
    tags = [tag for tag in TAG.finditer(text) if not any(start < tag.start() < end for start, end in inside)]
    kept, at, depth, unopened = [""], 0, 0, 0
    for tag in tags:
        if not tag["end"]:
            kept.append(text[at : tag.start()] if not depth else "")
            depth += 1
        elif depth:
            depth -= 1
        else:  # servers may leave the beginning of the thinking out
            kept, unopened = [], unopened + 1
        at = tag.end()
    return None if depth or unopened > 1 else "".join([*kept, text[at:]])


def read_answer(
    text: str, scale: Scale, prompt_mark: str | None = None, key: str = "grade", truncated: bool = False
) -> Reading:
    """What the text of an answer says; `truncated` where the server ended it, so that only a whole object counts."""
    answer = without_thinking(text)
    if answer is None:
        return _failed(TRUNCATED)
    if not answer.strip():
        return _failed(TRUNCATED if truncated else "the answer is empty")
    objects, rest, broken = _apart(answer)
    values = [each[key] for each in objects if key in each]
    found = [Found.of(value, scale) for value in values]
    if truncated and not found:
        return _failed(TRUNCATED)
    if broken:
        return _failed("the answer holds a JSON object that is not complete")
    found += stated(rest, scale, prompt_mark, key)
    if not values and REFUSAL.match(answer):
        return Reading("refused", None, _short(answer))
    if not found and objects:
        return _failed(f"the answer's JSON has no key {key!r}")
    return _agreed([*found, *bare(rest, scale)] if found else [], scale, _reason(objects))


def _reason(objects: Sequence[Mapping[str, Any]]) -> str | None:
    reasons = [each["reason"] for each in objects if isinstance(each.get("reason"), str)]
    return reasons[0] if reasons else None


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 200 else f"{words[:199]}…"


def _agreed(found: Sequence[Found], scale: Scale, reason: str | None) -> Reading:
    """The one grade that all of them are."""
    if not found:
        return _failed("the answer states no grade")
    for each in found:
        if each.grade is None:
            return _failed(f"{_short(each.written)}: {OFF_SCALE} {scale.listed}")
    grades = sorted({each.grade for each in found if each.grade is not None})
    if len(grades) > 1:
        return _failed(f"the answer states several grades: {', '.join(map(spelt, grades))}")
    return Reading("graded", grades[0], reason)


# ---- JSON ------------------------------------------------------------------------------------------------------------

TWICE: Final = "a key that is there twice"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that is there twice with two values has neither."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        made[name] = TWICE if name in made and made[name] != value else value
    return made


BEGUN: Final = re.compile(r"\{\s*(?:[\"'“}]|\Z)")  # other braces are text
DECODER: Final = json.JSONDecoder(object_pairs_hook=_object)


def _objects(text: str) -> tuple[list[tuple[int, int, dict[str, Any]]], bool]:
    """The complete objects of a text (from, to, what it is), and whether one begins that is not complete.

    What is inside of such a one, or after it, may be anything: nothing is read there.
    """
    objects: list[tuple[int, int, dict[str, Any]]] = []
    at = 0
    while found := BEGUN.search(text, at):
        try:
            value, at = DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            return objects, True
        objects.append((found.start(), at, value))
    return objects, False


def _apart(text: str) -> tuple[list[dict[str, Any]], str, bool]:
    """The complete objects of a text, what stands around them, and whether one begins that is not complete."""
    objects, broken = _objects(text)
    ends = [0, *(end for _, end, _ in objects)]
    starts = [*(start for start, _, _ in objects), len(text)]
    around = "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return [value for _, _, value in objects], around, broken


# ---- log-probabilities -----------------------------------------------------------------------------------------------


def read_logprobs(response: Any, scale: Scale) -> Expected | None:
    """The expected grade of an answer of one token, from the probabilities of the tokens that could have been it."""
    chances: dict[float, float] = {}
    for token, chance in _first_tokens(response).items():
        grade = scale.grade_of(token.replace("▁", " "))
        if grade is not None:
            chances[grade] = chances.get(grade, 0.0) + chance
    mass = math.fsum(chances.values())
    if mass <= 0:
        return None
    return Expected(math.fsum(grade * chance for grade, chance in chances.items()) / mass, min(mass, 1.0))


def _first_tokens(response: Any) -> dict[str, float]:
    """The tokens that could have come first, blanks apart, each with its probability."""
    try:
        content = response["choices"][0]["logprobs"]["content"]
        first = next(each for each in content if each["token"].strip())
        listed = [first, *(first.get("top_logprobs") or [])]
        return {each["token"]: math.exp(min(each["logprob"], 0.0)) for each in listed}
    except (KeyError, IndexError, TypeError, AttributeError, StopIteration):
        return {}


# ---- comparisons -----------------------------------------------------------------------------------------------------


def read_preference(response: Any, prompt: Prompt) -> Preference:
    """What a chat completion says of two documents: A, B or tie."""
    read = [
        Preference(said.reading.state, None, said.reading.reason) if said.reading else _preferred(said, prompt)
        for said in _choices(response)
    ]
    if len({each[:2] for each in read}) > 1:
        return Preference("failed", None, f"{len(read)} choices differ")
    return read[0]


def _preferred(said: _Said, prompt: Prompt) -> Preference:
    answer = without_thinking(said.text)
    objects, rest, broken = _apart(answer or "")
    key = prompt.keys[-1]
    values = [each[key] for each in objects if key in each]
    if answer is None or (said.cut and not values):
        return Preference("failed", None, TRUNCATED)
    if not values and REFUSAL.match(answer):
        return Preference("refused", None, _short(answer))
    first = plain((rest.strip().splitlines() or [""])[0]).strip(".\"'()[] ")
    choices = {_choice(value) for value in [*values, *([first] if _choice(first) else [])]}
    if broken or len(choices) != 1 or choices == {None}:
        return Preference("failed", None, f"the answer states no one of {', '.join(CHOICES)}")
    return Preference("graded", choices.pop(), _reason(objects))


def _choice(value: Any) -> str | None:
    """The choice as it is written: A and B as they are, for an a is a word."""
    word = value.strip() if isinstance(value, str) else ""
    return word if word in CHOICES[:2] else CHOICES[2] if word.casefold() == CHOICES[2] else None
