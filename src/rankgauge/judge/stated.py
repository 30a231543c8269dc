"""Grades that plain text states: after the prompt's mark, alone or first, or named on one line; never a lone digit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from rankgauge.judge.scale import Scale

__all__ = ["Found", "bare", "plain", "stated"]

NUMBER: Final = r"[0-9]+(?:\.[0-9]+)?"
VALUE: Final = rf"[\"'“‘]?(?P<number>{NUMBER})[\"'”’]?(?:\s*(?:/|out of)\s*(?P<top>{NUMBER}))?"
# What may come after a grade that a line names: an end, a name in parentheses, a reason.
AFTER: Final = (
    r"(?=\s*$|\s*[.,;!](?:\s|$)|\s*\(|\s+[-–—]\s|\s*:\s"
    r"|\s+(?:because|since|as|due|which|indicating|meaning|given|based|in terms of|on (?:the|a|this))\b)"
)
BARE: Final = re.compile(rf"[(\[]?{VALUE}[)\]]?(?:\s+\((?P<name>[^()0-9]*)\))?(?P<point>\.?)", re.ASCII)
EMPHASIS: Final = re.compile(r"(?<![0-9])[*`]+|[*`]+(?![0-9])|__+")
LISTED: Final = re.compile(r"\s*\(?[0-9]+[.):]\s")
BULLET: Final = re.compile(r"\s*(?:[-•–>#]+\s+)*")


class Found(NamedTuple):
    """A grade that an answer states, and how it is written; None where the scale has no such grade."""

    grade: float | None
    written: str

    @classmethod
    def of(cls, value: Any, scale: Scale, top: str | None = None) -> Found:
        """A value; of so many, where the answer says it (`top`): any but the highest grade makes it another scale."""
        written = f"{value}/{top}" if top else str(value)
        other = top is not None and scale.grade_of(top) != scale.grades[-1]
        return cls(None if other else scale.grade_of(value), written)


def stated(rest: str, scale: Scale, mark: str | None, key: str) -> list[Found]:
    """The grades that the text outside of objects states, in any of the ways that count."""
    lines = [plain(line) for line in rest.strip().splitlines()]
    marked = [*_marked(rest, mark, scale)]
    found = [*_leading(lines, scale), *_named(lines, key, scale)]
    if found and not marked:  # in prose, whatever could be another grade speaks against it
        found += _ending(lines, scale)
    return [*marked, *found, *_other_scales(lines, scale)] if marked or found else []


def bare(rest: str, scale: Scale) -> list[Found]:
    """The numbers that stand alone on a line anywhere: none of them is a grade, but none may speak against one."""
    found = (BARE.fullmatch(plain(line)) for line in rest.splitlines())
    return [Found.of(each["number"], scale, each["top"]) for each in found if each]


def plain(line: str) -> str:
    """A line without its emphasis, bullet and heading."""
    return BULLET.sub("", EMPHASIS.sub("", line), count=1).strip()


def _marked(text: str, mark: str | None, scale: Scale) -> Iterator[Found]:
    """Whatever number stands behind the prompt's own mark; a range or a list is no grade."""
    if not mark or not mark.strip():
        return
    spaced = r"\s*".join(re.escape(word) for word in mark.split())
    for found in re.finditer(rf"{spaced}[ \t*]*(?P<said>[^\n]*)", text, re.IGNORECASE):
        said = EMPHASIS.sub("", found["said"]).strip()
        value = re.match(rf"{VALUE}{AFTER}", said, re.ASCII)
        if value and not _others(said, value, scale):
            yield Found.of(value["number"], scale, value["top"])
        elif re.match(r"[-−+~]?[0-9]", said):
            yield Found(None, said)


def _leading(lines: Sequence[str], scale: Scale) -> Iterator[Found]:
    """A grade that is the whole answer or its first line; a column of numbers is a list, or a loop of tokens."""
    first, *others = [BARE.fullmatch(line) for line in lines] or [None]
    if not first or (first["point"] and others):  # with a point it may number a list
        return
    yield from _with_name(first, first["name"], scale)
    if any(others):
        yield Found(None, " ".join(lines))


def _with_name(value: re.Match[str], name: str | None, scale: Scale) -> Iterator[Found]:
    """A grade, and the grade of the name behind it where the scale knows that."""
    yield Found.of(value["number"], scale, value["top"])
    called = scale.grade_called(name or "")
    if called is not None:
        yield Found(called, str(name))


SCALE: Final = re.compile(
    r"\bscale\b[^.0-9]{0,20}(?P<low>[0-9]+)\s*(?:-|–|—|to)\s*(?P<high>[0-9]+)"
    r"|\b(?P<from>[0-9]+)\s*(?:-|–|—|to)\s*(?P<to>[0-9]+)[ -]scale|\b(?P<points>[0-9]+)[ -]point scale",
    re.IGNORECASE,
)


def _other_scales(lines: Sequence[str], scale: Scale) -> Iterator[Found]:
    """The scales that an answer speaks of and that are not this one."""
    ends, points = (scale.grades[0], scale.grades[-1]), str(len(scale.grades))
    for found in (found for line in lines for found in SCALE.finditer(line)):
        told = [scale.grade_of(found[name]) for name in ("low", "high", "from", "to") if found[name]]
        if tuple(told) != ends and found["points"] != points:
            yield Found(None, found[0])


# ---- a grade that a line names ---------------------------------------------------------------------------------------

QUOTED: Final = re.compile(r'"([^"]*)(?:"|$)|“([^”]*)(?:”|$)')
RANGE: Final = re.compile(rf"{NUMBER}(?:(?:\s*[-–—,]\s*(?:or |and )?|\s+(?:to|or|and|through)\s+){NUMBER})+")
ENDING: Final = re.compile(
    rf"\b(?:an?|as|to|is|be|just|only|actually,?)\s+(?P<number>{NUMBER})\s*(?:[.;!]\s|[.;!]?$)", re.I
)
SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+")
SUPPOSED: Final = re.compile(r"\b(?:if|unless|otherwise|suppose|example|instance|e\.g)\b", re.IGNORECASE)
LIMITED: Final = re.compile(
    r"\b(?:than|least|most|up to|above|below|almost|nearly|between|closer|instead|either|not|nor|never|no)\b"
    r"[^,]{0,20}$",
    re.IGNORECASE,
)
CHANGED: Final = re.compile(
    r"\b(?:on second thought|reconsider|correction|revis|scratch that|let me re|wait,|actually,)", re.IGNORECASE
)
ADJECTIVES: Final = r"(?:(?:my|the|its|final|overall|relevance|relevancy|passage|document)\s+)*"
THING: Final = r"(?:the|this|that)\s+(?:\w+\s+)?(?:passage|document|result|page|text)"


@cache
def _ways(key: str) -> list[re.Pattern[str]]:
    """How a sentence names a grade."""
    noun = rf"(?:score|grade|rating|relevance|relevancy|label|judge?ment|verdict|answer|{re.escape(key)})"
    so = r"(?:(?:therefore|thus|so|hence),?\s+)"
    behind = rf"(?P<value>{VALUE}){AFTER}"
    verbs = "rate|grade|score|give|assign|judge|label|classify|mark"
    patterns = (
        # Score: 0 (Irrelevant); Final grade = 2
        rf"^{so}?{ADJECTIVES}{noun}(?:\s+score)?\s*(?:is\s*)?[:=]\s*{behind}",
        # Therefore, the score is 0; the relevance of the passage is 0
        rf"(?:^|,\s+|\band\s+){so}(?:the|my)\s+{ADJECTIVES}(?:score|grade|rating)\s+is\s+(?:an?\s+)?{behind}",
        rf"^{so}?(?:my|the)?\s*(?:final|overall|relevance)\s+(?:score|grade|rating)\s+is\s+(?:an?\s+)?{behind}",
        rf"^{so}?(?:the\s+)?relevance(?:\s+of\s+{THING}(?:\s+to\s+[^0-9:;,]{{0,150}}?)?)?\s+is\s+(?:an?\s+)?{behind}",
        # I would rate the relevance of the passage as a 0; I give it 2 out of 3
        rf"\b(?:I|we)(?:['’](?:d|ll)|\s+would|\s+will|\s+must)?(?:\s+\w+ly|\s+also|\s+still)?\s+(?:{verbs})\b"
        rf"(?P<gap>[^0-9:;]{{0,300}}?)\b(?:as|at|an?|of)\s+{behind}",
        rf"\b(?:I|we)(?:['’](?:d|ll)|\s+would|\s+will)?\s+(?:rate|give|score)\b"
        rf"(?P<gap>[^0-9:;]{{0,300}}?)\s(?=[0-9.]+\s*(?:/|out of))"
        rf"{behind}",
        # The passage should be rated as 0
        rf"^{so}?{THING}\s+(?:is|should be|can be)\s+(?:rated|graded|scored)\s+(?:as\s+)?(?:an?\s+)?{behind}",
    )
    return [re.compile(pattern, re.IGNORECASE | re.ASCII) for pattern in patterns]


def _named(lines: Sequence[str], key: str, scale: Scale) -> Iterator[Found]:
    """The grades that lines name; not in a numbered list, a supposition, or an answer that corrects itself."""
    if any(CHANGED.search(line) for line in lines):
        return
    ways = _ways(key)
    for line in lines:
        if LISTED.match(line):
            continue
        for sentence in SENTENCE.split(_said(line)):
            if not SUPPOSED.search(sentence):
                yield from _named_in(sentence, ways, scale)


def _ending(lines: Sequence[str], scale: Scale) -> Iterator[Found]:
    """The grades that end a sentence: "but it deserves a 2."."""
    for found in (found for line in lines for found in ENDING.finditer(_said(line))):
        if scale.grade_of(found["number"]) is not None:
            yield Found.of(found["number"], scale)


def _said(line: str) -> str:
    """A line without what it quotes, and without ranges."""
    return RANGE.sub("…", QUOTED.sub(_quoted, line))


def _quoted(found: re.Match[str]) -> str:
    """What was quoted is not said, but for a grade in quotes."""
    inside = found[1] or found[2] or ""
    grade = re.fullmatch(rf"\s*({NUMBER})\s*(?:[-–—:=(].*)?", inside)
    return grade[1] if grade else "“”"


def _named_in(sentence: str, ways: Sequence[re.Pattern[str]], scale: Scale) -> Iterator[Found]:
    for way in ways:
        for found in way.finditer(sentence):
            if LIMITED.search(found.groupdict().get("gap") or ""):
                continue
            if _others(sentence, found, scale):
                yield Found(None, sentence)
            named = re.match(r"\s*\(([^()]*)\)", sentence[found.end() :])
            yield from _with_name(found, named and named[1], scale)


def _others(text: str, value: re.Match[str], scale: Scale) -> bool:
    """Whether other grades than the one that was found stand in a text, or another highest one."""
    apart = f"{text[: value.start('number')]} {text[value.end() :]}"
    if any(scale.grade_of(top) != scale.grades[-1] for top in re.findall(r"\bout of ([0-9.]*[0-9])", apart)):
        return True
    numbers = re.findall(rf"(?<![\w.]){NUMBER}(?![\w%]|\.[0-9])", apart)
    grades = {scale.grade_of(number) for number in numbers} - {None}
    return bool(grades - {scale.grade_of(value["number"])})
