"""The reader has a version, which is stored with every answer: whoever changes what is read raises it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from rankgauge.judge.answers import READER, read_answer, read_logprobs, read_response
from rankgauge.judge.prompt import Prompt
from rankgauge.judge.scale import BINARY, GRADED, Scale
from rankgauge.store.rows import digest

# Version → what it makes of the answers below. What is read otherwise is a new version; an old one stays, for what it
# read is in stores.
KNOWN = {"2": "c9d78a5db7000e08"}

GRADES = ("0", "2", "3", "1.5", "7")
SAID = (
    "{g}", "{g}.", "**{g}**", "({g})", '"{g}"', "Grade {g}", "Score: {g}", "score = {g}", "**Score:** {g}",
    "##final score: {g}", "Relevance: {g} (Irrelevant)", "{g} out of 3", "{g}/3", "{g}/10", "{g} of 10", "{g} or 1",
    "{g}-3", "0–{g}", "{g}th", "- {g}", "{g}. It is", "I rate it {g}.", "I would rate this as a {g}.",
    "The grade is {g}, not 1.", "not {g}", "at least {g}", "grade: {g}; grade: 1", "Perfectly relevant",
    "Grade: Related ({g})", "{g} points", "of {g} parts", "20{g}6-01-{g}", '{{"grade": {g}}}', '{{"grade": "{g}"}}',
    '{{"reason": "as 1", "grade": {g}}}', '{{"score": {g}}}', '{{"grade": {g}', '{{"grade": {g}, "grade": 1}}',
    '```json\n{{"grade": {g}}}\n```', '{{"grade": {g}}}\n{{"grade": 1}}', "<think>it is 1</think>{g}", "<think>{g}",
    "it is 1</think>\n{g}", "[thinking]1[/thinking] Grade: {g}", "I cannot rate this. {g}",
    "I'm sorry, but I can't help. Score: {g}", "Final grade: {g}\n\n1", "1\n\nFinal grade: {g}",
)  # fmt: skip
AROUND = (
    "{}", "\n\n{}\n", "{}\n\nThe passage has 3 parts and was written in 2019.", "The passage is about 2 stones.\n{}",
    "Sure!\n\n{}\n\nIn short: it answers the query.", "Scale: 0 to 3.\n{}", "{} So it is a 1.", "Step 1. Read it.\n{}",
    "{}\n1", "> {}", "1) topic: {}\n2) use: 1",
)  # fmt: skip


def corpus() -> Iterator[Any]:
    """What is made of thousands of answers that are built here, and of whole responses."""
    for said, grade, around in product(SAID, GRADES, AROUND):
        text = around.format(said.format(g=grade))
        for scale, mark, cut in ((GRADED, None, False), (GRADED, "##final score:", False), (BINARY, None, True)):
            yield read_answer(text, scale, mark, truncated=cut)[:2]
        yield read_answer(text, Scale.of(["0", "0.5", "1", "1.5"]), key="score")[:2]
    for prompt, content, finish in product(("graded", "digit"), contents(), ("stop", "length", "content_filter", None)):
        for more in ({}, {"refusal": "No."}, {"tool_calls": [{"id": "a"}]}, {"reasoning_content": "3"}):
            choice: dict[str, Any] = {"message": {"content": content, **more}, "finish_reason": finish}
            one: dict[str, Any] = {"message": {"content": "1"}}
            several: tuple[list[Any], ...] = ([choice], [choice, choice], [choice, one], [{}], [])
            for choices in several:
                yield read_response({"choices": choices}, GRADED, Prompt.of(prompt))[:2]
    for tokens in ({"2": -0.1, " 1": -2.5, "▁3": -5.0}, {"\n": -0.1, "2": -1.0}, {"x": 0.0}, {"2": 0.5, "0.5": -1.0}):
        content = [{"token": token, "logprob": chance, "top_logprobs": None} for token, chance in tokens.items()]
        listed = [{**content[0], "top_logprobs": content}, *content[1:]]
        expected = read_logprobs({"choices": [{"logprobs": {"content": listed}}]}, GRADED)
        yield None if expected is None else [round(each, 9) for each in expected]


def contents() -> Iterator[Any]:
    yield from ("2", "", " ", None, '{"reason": "x", "grade": 2}', '{"reason": "x", "gr')
    yield [{"type": "text", "text": "Grade:"}, {"type": "text", "text": " 2"}]
    yield [{"type": "thinking", "text": "3"}, {"text": "2"}, "!"]


def test_the_readers_version_is_of_what_it_reads() -> None:
    read = [*corpus()]
    assert len(read) > 10_000
    assert {"graded", "failed", "refused"} <= {each[0] for each in read if each is not None}
    assert digest(read) == KNOWN[READER], "answers are read otherwise: raise READER, and add its row to KNOWN"


def test_no_two_versions_read_the_same() -> None:
    assert max(KNOWN, key=int) == READER
    assert len({*KNOWN.values()}) == len(KNOWN)
