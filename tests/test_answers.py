"""Reading what models answer: every way that counts, every way that never does, and real answers read by eye."""

from __future__ import annotations

import csv
import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgauge.judge.answers import (
    Expected,
    Preference,
    Reading,
    read_answer,
    read_logprobs,
    read_preference,
    read_response,
)
from rankgauge.judge.preference import both_ways, prefer
from rankgauge.judge.prompt import Prompt
from rankgauge.judge.scale import BINARY, GRADED, Scale

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data" / "llm-answers"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of real answers is not there")
PROMPT = Prompt.of("graded")
HALVES = Scale.of(["0", "0.5", "1"])


def grade(text: str, **choices: Any) -> float | None:
    return read_answer(text, GRADED, **choices).grade


# ---- real answers ----------------------------------------------------------------------------------------------------


def real_answers() -> dict[str, str]:
    with gzip.open(DATA / "answers.jsonl.gz", "rt", encoding="utf-8") as stream:
        return {str(row["id"]): row["answer"] for row in map(json.loads, stream)}


def read_by_us(text: str) -> str:
    found = grade(text)
    return "failed" if found is None else f"{found:g}"


@needs_data
def test_150_real_answers_are_read_as_by_eye() -> None:
    answers = real_answers()
    with open(DATA / "expected.csv", encoding="utf-8", newline="") as stream:
        expected = {row["id"]: row["expected"] for row in csv.DictReader(stream)}
    assert len(expected) == 150
    assert {each: read_by_us(answers[each]) for each in expected} == expected


@needs_data
def test_of_1966_real_answers_at_least_600_are_read() -> None:
    answers = real_answers()
    assert len(answers) == 1966
    read = sum(read_by_us(text) != "failed" for text in answers.values())
    assert read >= 600
    assert f"this reader finds a grade in {read};" in (ROOT / "docs" / "prompts.md").read_text(encoding="utf-8")


@needs_data
def test_a_real_refusal_is_one() -> None:
    states = {text: read_answer(text, GRADED).state for text in real_answers().values()}
    refused = [text for text, state in states.items() if state == "refused"]
    assert len(refused) >= 5
    assert all("suicide" in text for text in refused)


# ---- what counts -----------------------------------------------------------------------------------------------------

READ = {
    # the grade's own key in a complete object
    '{"reason": "It is.", "grade": 2}': 2,
    '{"grade": "2"}': 2,
    '{"grade": 2.0}': 2,
    '```json\n{"reason": "a } in a text", "grade": 1}\n```': 1,
    'Here it is:\n```\n{"grade": 3}\n```\nAsk me for more.': 3,
    '{"topic": 3, "exactness": 2, "coverage": 0, "use": 1, "grade": 1}': 1,
    'In a set {x, y} of things: {"grade": 1}': 1,
    '{"grade": 1}\n{"grade": 1}': 1,
    'Its topic is 3. Its use is 0. {"grade": 1}': 1,
    # alone, or first
    "0": 0,
    " 2 \n": 2,
    "1.": 1,
    "**2**": 2,
    '"2"': 2,
    "`2`": 2,
    "[2]": 2,
    "(2)": 2,
    "# 2": 2,
    "2/3": 2,
    "0\n\nThe passage says nothing of it, in 2 or 3 places.": 0,
    "**3**\n\nPerfect.": 3,
    "2 (Highly relevant)": 2,
    "1 (Related)\n\nIt is on the topic.": 1,
    # named on one line
    "Score: 0 (Irrelevant)": 0,
    "**Score:** 2": 2,
    "**Score: 2**": 2,
    "Final grade = 3": 3,
    "Relevance score: 0/3 (0% relevance)": 0,
    "Answer: 3": 3,
    "* Score: 0 (Irrelevant) - None of them has it.": 0,
    "Grade: 2 - Highly relevant": 2,
    "I would rate the relevance of the passage to the query “3 wood: score: 3” as a 0.": 0,
    "I’d rate this document a 1 because it is on the topic.": 1,
    "I'd rate this passage a score of 0, as it is a list of dates from 2001 to 2021.": 0,
    'I would rate it as "2 - Highly relevant" since it helps.': 2,
    "I would give it 2 out of 3.": 2,
    "On a scale of 0 to 3, I would rate this passage as a 2.": 2,
    "On a 4-point scale:\n\nScore: 2": 2,
    "It does not mention moles. Therefore, the relevance score is 0.": 0,
    "The passage should be rated as 1.": 1,
    "Score: 2\n\nIt names 3 shops. I would rate it as a 2.": 2,
    # after thinking, which is never read
    "<think>It could be a 3. Score: 3</think>\n\n1": 1,
    "It could be a 3. Score: 3\n</think>\n\n1": 1,
    '<THINKING>{"grade": 3}</THINKING>{"grade": 0}': 0,
    "<think>a<think>b</think>3</think>1": 1,
    "[THINK]3[/THINK]2": 2,
    '{"reason": "It is about the tag <think> and no </think> Score: 3", "grade": 0}': 0,
    'Sure: {"reason": "It says </think> Score: 3", "grade": 0}': 0,
}


@pytest.mark.parametrize(("text", "expected"), READ.items())
def test_a_grade_that_is_plainly_stated_is_read(text: str, expected: float) -> None:
    assert read_answer(text, GRADED)[:2] == ("graded", expected)


def test_two_answers_in_one_must_agree() -> None:
    for first, one in READ.items():
        for second, other in READ.items():
            if one != other and "think" not in second.casefold():
                assert read_answer(f"{first}\n\n{second}", GRADED).state == "failed"


def test_the_reason_comes_with_the_grade() -> None:
    assert read_answer('{"reason": "It is off.", "grade": 0}', GRADED) == Reading("graded", 0.0, "It is off.")
    assert read_answer("0", GRADED) == Reading("graded", 0.0, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "##final score: 2": 2,
        "M: 1\nT: 3\n##Final Score:  **2**.": 2,
        "It is about 3 things. ##final score:1 (Related)": 1,
        "##final score: <grade>\n##final score: 1": 1,
        "##final score: 2/3": 2,
        "The match is 3. The trust is 1. ##final score: 2": 2,
        "##final score: 1 or 2": None,
        "##final score: 1 or 2\n\nScore: 1": None,
        "##final score: 1-2": None,
        "##final score: 1, 2": None,
        "##final score: 1/10": None,
        "##final score: -1": None,
        "##final score: 1.5": None,
        "##final score: 7": None,
        "##final score: 2\n##final score: 1": None,
        "##final score: 2 ##final score: 1": None,
        '##final score: 2\n{"grade": 1}': None,
        "##final score:\n1. It is about moles.": None,
    }.items(),
)
def test_the_prompts_own_mark(text: str, expected: float | None) -> None:
    assert grade(text, prompt_mark="##final score:") == expected


def test_prose_does_not_speak_against_the_mark() -> None:
    assert grade("The match is 3.\nFinal score: 2", prompt_mark="final score:") == 2
    assert grade("The match is 3.\nFinal score: 2") is None


# ---- what never does -------------------------------------------------------------------------------------------------

NEVER = {
    "nothing": [
        "",
        " \n",
        "The passage is relevant.",
        "Highly relevant",
        "Score:",
        "Score: two",
        "III",
        "２",
        "²",
        "٣",
    ],
    "a digit by itself": [
        *("It has 2 shoes.", "The passage lists 3 of them", "Passage 1: 2", "grade 2", "3D", "version 2.0", "1:30"),
        *("2 stars", "2%", "Score: 2%", "Score: 2 stars", "2?", "Score: 2?", "1st", "Rate: 2", "H2", "2½", "Score: 2+"),
        *("I am a score of 0", "Please provide a score of 0", " 1 cialis 1 cialis 2", ":04:13:14:13", ",\n\n2\n\n,r"),
    ],
    "a range": [
        *(
            "1 or 2",
            "1-2",
            "0–3",
            "0 to 3",
            "between 1 and 2",
            "Score: 1 or 2",
            "Score: 1-2",
            "Grade: 1–2",
            "Score: 1, 2",
        ),
        *("Score: [0-3]", "Score: 1 2", "I would rate this as a 2, or even a 3.", "I would rate it as 1 to 2."),
        *("at least 2", "I would rate this as no more than a 2", "I would rate it higher than a 2.", "Score: ~2"),
    ],
    "a list number": [
        *(
            "1. The passage is about moles",
            "1.\n\nThe passage is about moles",
            "Here is the score:\n\n1. 0 (Irrelevant)",
        ),
        *("1. Score: 0 (Irrelevant)\n2. Score: 0 (Irrelevant)", "1) 2\n2) 3", "0: Irrelevant", "2: Highly relevant"),
    ],
    "a date": ["2020-01-02", "1/2/2020", "Score: 2020", "Score: 1/2/2020", "    0-2020 2", "2 May"],
    "another scale": [
        *("1/10", "Score: 1/10", "2 out of 5", "Score: 2 (out of 10)", "I would rate it 2 out of 10.", "Score: 2 / 5"),
        *("I would rate it as a 2 on a scale of 1 to 5.", "Score: 2 on a 1-5 scale", "On a 5-point scale.\nScore: 2"),
        "On a scale of 1 to 10:\n\nScore: 3",
    ],
    "a half grade": ["2.5", "0.5", "Score: 1.5", "Score: 2 1/2", "Score: 2½", "Score: 2 and a half", '{"grade": 1.5}'],
    "outside the scale": ["7", "-1", "Score: 7", "Score: -1", '{"grade": 5}', '{"grade": -1}', '{"grade": 1e400}'],
    "several": [
        *(
            '{"grade": 1} {"grade": 2}',
            '{"grade": 1, "grade": 2}',
            "Score: 2\nScore: 3",
            "0\n\nScore: 1",
            '0\n{"grade": 2}',
        ),
        *(
            "0\n1\n2\n3",
            "2\n2\n2\n2",
            "0 = Irrelevant\n1 = Related\n2 = Highly relevant",
            "Score: 0 (Perfectly relevant)",
        ),
        *("I would rate the first as a 1 and the second as a 3.", "I would rate it as a 1.\n\nWait, I see. Score: 1"),
        *("I would rate it as a 1. But for its last line it deserves a 2.", "Score: 2. Actually, 1.", "Score: 1\n\n2."),
        *('Score: 1\n{"grade": 2}', "0 (Related)", "0 (Irrelevant)\n1 (Related)"),
    ],
    "somebody else's": [
        *("The hotel is rated 3.", "The reviewer gives it a rating of 3.", "Credit score: 2", "It has a score of 3."),
        *(
            'The page says "Score: 3".',
            "None of the passages have a score of 3, so it is.",
            "The score is 3 for others.",
        ),
    ],
    "not meant": [
        *(
            "I would not rate this as a 3.",
            "If it had a price, I would rate it as 3.",
            "I would rate it as 3 if it were new.",
        ),
        "It would be graded, for example, with Score: 2",
    ],
    "no grade in JSON": [
        *(
            '{"score": 2}',
            '{"Grade": 2}',
            '{"a": {"grade": 2}}',
            '{"grade": null}',
            '{"grade": true}',
            '{"grade": [2]}',
        ),
        *('{"grade": "1 or 2"}', '{"grade": "high"}', '{"grade": NaN}', "{'grade': 2}", "{grade: 2}", "Grade: {grade}"),
    ],
    "JSON that is cut or broken": [
        *(
            '{"reason": "It", "grade": 2',
            '{"a": {"grade": 2}, "gra',
            '{"label": "1"',
            '{"reason": "so "it" is", "grade": 2}',
        ),
        *(
            '    Score: "1","count":130,"label":"1"}',
            'Score: 2 {"',
            "2\n\n{",
            '[{"grade": 2}, {"gra',
            '{"a":' * 5000,
        ),
    ],
    "thinking": ["<think>Score: 2", "<think>1</think><think>Score: 2", "<think>2</think>", "a</think>b</think>2"],
}


@pytest.mark.parametrize("text", [text for texts in NEVER.values() for text in texts])
def test_what_is_not_plainly_stated_is_never_a_grade(text: str) -> None:
    reading = read_answer(text, GRADED)
    assert reading[:2] == ("failed", None)
    assert reading.reason
    assert len(reading.reason) < 300


@pytest.mark.parametrize(
    ("text", "why"),
    {
        "": "the answer is empty",
        "So it is.": "the answer states no grade",
        "7": "7: not on the scale 0, 1, 2 or 3",
        "1/10": "1/10: not on the scale 0, 1, 2 or 3",
        "0\n\nScore: 1": "the answer states several grades: 0, 1",
        '{"score": 1}': "the answer's JSON has no key 'grade'",
        '{"grade": 1': "the answer holds a JSON object that is not complete",
        "<think>Hm": "truncated: the answer ends before a grade; allow more tokens",
    }.items(),
)
def test_a_failure_says_why(text: str, why: str) -> None:
    assert read_answer(text, GRADED) == Reading("failed", None, why)


def test_a_half_grade_is_one_where_the_scale_has_it() -> None:
    for text in ("0.5", '{"grade": 0.5}', '{"grade": "0.5"}', "Score: 0.5", "I would rate it as 0.5."):
        assert read_answer(text, HALVES)[:2] == ("graded", 0.5)
    assert read_answer("2", HALVES).state == "failed"
    assert read_answer("1", BINARY)[:2] == ("graded", 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot provide a score for this passage. Is there anything else?",
        "I’m unable to rate this content.",
        "As an AI language model, I cannot judge that.",
        "I cannot rate this. Score: 0",
    ],
)
def test_a_refusal_in_words(text: str) -> None:
    assert read_answer(text, GRADED) == Reading("refused", None, text)


def test_not_finding_something_is_no_refusal() -> None:
    assert grade("I cannot find moles in it. Score: 0") == 0
    assert grade('I cannot help it: {"grade": 1}') == 1


def test_a_truncated_answer_counts_only_with_a_whole_object() -> None:
    assert grade('{"grade": 2}  2 2 2', truncated=True) == 2
    for text in ("2", "0\n\nThe passage", "Score: 2", '{"reason": "It', '{"score": 2}', ""):
        assert "truncated" in str(read_answer(text, GRADED, truncated=True).reason)


# ---- properties ------------------------------------------------------------------------------------------------------

NAMING = re.compile(
    r"score|grade|rating|rate|relevan|label|judg|verdict|answer|give|assign|classify|mark", re.IGNORECASE
)
NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "1.",
    "2)",
    "1-2",
    "0–3",
    "1 or 2",
    "1/10",
    "2.5",
    "2020-01-02",
    "3%",
    "(2)",
    '"1"',
    "**3**",
)
WORDS = (
    "The",
    "passage",
    "is",
    "about",
    "moles,",
    "a",
    "as",
    "of",
    "not.",
    "I",
    "would",
    "say:",
    "=",
    "-",
    "out of",
    "{x}",
)


@given(st.lists(st.lists(st.sampled_from(WORDS + NUMBERS), min_size=2).map(" ".join), min_size=1))
def test_no_text_without_a_mark_a_bare_or_a_leading_grade_is_graded(lines: list[str]) -> None:
    assert grade("\n".join(["So it is", *lines])) is None


@given(
    st.lists(st.sampled_from([*WORDS, *NUMBERS, "\n", "\n\n", "Score:", "rate", "{", "}", '{"grade": 2}', "</think>"]))
)
def test_whatever_is_graded_states_it(parts: list[str]) -> None:
    text = " ".join(parts)
    reading = read_answer(text, GRADED)
    first = (text.split("</think>")[-1].strip().splitlines() or [""])[0]
    if reading.state == "graded":
        assert f"{reading.grade:g}" in text
        assert '"grade"' in text or NAMING.search(text) or re.fullmatch(r"\W*[0-3]\W*", first)


@given(
    st.text() | st.from_regex(r"(<think>|</think>|Score: [0-3]|\{\"grade\": [0-3]\}|[\"{}\n ]){0,8}"), st.integers(0, 3)
)
def test_no_reason_can_change_the_grade(reason: str, given: int) -> None:
    text = json.dumps({"reason": reason, "grade": given})
    for answer in (text, f"```json\n{text}\n```", f"<think>3 or 2</think>{text}"):
        assert grade(answer) == given


@pytest.mark.parametrize("part", ["{", "{ ", "<think>", "</think>", '"', "I rate ", "1 or ", "the ", '{"a":1}', "2\n"])
def test_a_loop_of_tokens_fails(part: str) -> None:
    assert read_answer(part * 20_000 + "so", GRADED).state == "failed"


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert read_answer(text, GRADED).state in ("graded", "failed", "refused")


# ---- whole responses -------------------------------------------------------------------------------------------------


def response(content: Any, finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}]}


def read(answer: Any) -> Reading:
    return read_response(answer, GRADED, PROMPT)


def test_a_response_is_read_like_its_text() -> None:
    assert read(response('{"reason": "It is.", "grade": 2}')) == Reading("graded", 2.0, "It is.")
    assert read(response("so so")).state == "failed"


def test_parts_are_joined_and_thinking_is_left_out() -> None:
    parts = [
        {"type": "thinking", "thinking": "3"},
        {"type": "text", "text": '{"gra'},
        {"type": "text", "text": 'de": 1}'},
    ]
    assert read(response(parts)).grade == 1
    assert read(response([{"type": "reasoning", "text": "3"}])).reason == "the answer is empty"
    assert read(response("1", reasoning_content="Score: 3", reasoning="3")).grade == 1
    assert read(response(None, reasoning_content='{"grade": 3}')).reason == "the answer is empty"


def test_a_response_that_was_cut() -> None:
    assert "truncated" in str(read(response('{"reason": "It', "length")).reason)
    assert "truncated" in str(read(response("<think>It", "length")).reason)
    assert "truncated" in str(read(response(None, "length", reasoning_content="It")).reason)
    assert read(response('{"grade": 2} and so', "length")).grade == 2


def test_one_token_ends_by_its_length() -> None:
    assert read_response(response("2", "length"), GRADED, Prompt.of("digit")).grade == 2
    assert "truncated" in str(read(response("2", "length")).reason)


def test_refusals_and_filters() -> None:
    assert read(response(None, refusal="I will not.")) == Reading("refused", None, "I will not.")
    assert read(response([{"type": "refusal", "refusal": "No."}])) == Reading("refused", None, "No.")
    assert read(response('{"grade": 2}', "content_filter")) == Reading("refused", None, "finish_reason content_filter")
    assert read(response('{"grade": 2}', refusal=None)).grade == 2


def test_a_tool_call_is_no_answer() -> None:
    assert "tool" in str(read(response('{"grade": 2}', "tool_calls", tool_calls=[{"function": {}}])).reason)
    assert read(response('{"grade": 2}', tool_calls=[])).grade == 2


def test_choices_must_agree() -> None:
    two = response('{"reason": "a", "grade": 1}')["choices"] + response('{"reason": "b", "grade": 1}')["choices"]
    assert read({"choices": two}) == Reading("graded", 1.0, "a")
    other = response('{"grade": 2}')["choices"]
    assert read({"choices": [*two, *other]}) == Reading("failed", None, "3 choices differ")
    assert read({"choices": two + response("so")["choices"]}).state == "failed"


@pytest.mark.parametrize(
    "answer",
    [
        *(None, [], "2", {}, {"choices": None}, {"choices": []}, {"choices": [None]}, {"choices": [{"message": "2"}]}),
        *({"choices": [{"message": {"content": 2}}]}, {"choices": [{"text": "2"}]}, {"choices": {"0": {}}}),
    ],
)
def test_what_is_no_completion_fails(answer: Any) -> None:
    assert read(answer).state == "failed"
    assert read_preference(answer, Prompt.of("pairwise")).state == "failed"
    assert read_logprobs(answer, GRADED) is None


def test_an_error_in_a_response_is_said() -> None:
    assert read({"error": {"message": "no such model"}}).reason == "an error instead of an answer: no such model"


def test_the_prompts_key_and_mark_are_read(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("@mark: ##final score:\n{query} {document}\n", encoding="utf-8")
    own = Prompt.of("own.txt", tmp_path)
    assert read_response(response("So. ##final score: 3"), GRADED, own).grade == 3
    assert read(response("So. ##final score: 3")).grade is None


# ---- log-probabilities -----------------------------------------------------------------------------------------------


def logprobs(*tokens: tuple[str, float], blank: bool = False) -> dict[str, Any]:
    """A response whose first token, behind a blank one or not, could have been one of these."""
    top = [{"token": token, "logprob": math.log(chance) if chance else -9999.0} for token, chance in tokens]
    first = {**top[0], "top_logprobs": top}
    return {"choices": [{"logprobs": {"content": [{"token": " ", "logprob": 0.0}, first] if blank else [first]}}]}


def test_the_expected_grade_and_the_mass_on_the_scale() -> None:
    found = read_logprobs(logprobs(("2", 0.5), (" 1", 0.2), ("1", 0.1), ("The", 0.1), ("7", 0.05), ("0", 0.0)), GRADED)
    assert found is not None
    assert found.grade == pytest.approx((2 * 0.5 + 1 * 0.3) / 0.8)
    assert found.mass == pytest.approx(0.8)
    assert read_logprobs(logprobs(("3", 1.0), blank=True), GRADED) == Expected(3.0, 1.0)


def test_no_mass_on_the_scale_is_no_grade() -> None:
    assert read_logprobs(logprobs(("The", 0.9), ("7", 0.1)), GRADED) is None
    assert read_logprobs(response("2"), GRADED) is None
    assert read_logprobs({"choices": [{"logprobs": {"content": [{"token": "2", "logprob": None}]}}]}, GRADED) is None


# ---- comparisons -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "choice"),
    {
        '{"reason": "B says it.", "preference": "B"}': "B",
        '{"preference": "Tie"}': "tie",
        "A": "A",
        "**B**\n\nIt says more.": "B",
        "tie.": "tie",
        "A is better, as B lacks it.": None,
        '{"preference": "C"}': None,
        '{"preference": "A"} {"preference": "B"}': None,
        '{"preference": "A"': None,
        '{"preference": null}': None,
        "<think>A": None,
        "": None,
    }.items(),
)
def test_a_preference_is_read_where_it_is_stated(text: str, choice: str | None) -> None:
    read = read_preference(response(text), Prompt.of("pairwise"))
    assert (read.choice, read.state) == (choice, "graded" if choice else "failed")


def test_a_comparison_that_is_cut_or_refused() -> None:
    pairwise = Prompt.of("pairwise")
    assert read_preference(response("A", "length"), pairwise).state == "failed"
    assert read_preference(response("I cannot judge that."), pairwise).state == "refused"
    assert read_preference(response("A", refusal="No."), pairwise) == Preference("refused", None, "No.")


def test_both_ways_round() -> None:
    a, b, tie = (Preference("graded", choice, None) for choice in ("A", "B", "tie"))
    lost = Preference("failed", None, "the answer is empty")
    assert both_ways(a, b) == a
    assert both_ways(b, a) == b
    assert both_ways(tie, tie) == tie
    assert both_ways(a, lost) == lost
    for one, other in ((a, a), (b, b), (a, tie), (tie, b)):
        assert both_ways(one, other) == Preference("failed", None, "the choice turns with the order of the documents")


def test_two_documents_are_asked_about_both_ways_round() -> None:
    asked: list[str] = []

    def longer(text: str, schema: Any) -> dict[str, Any]:
        """Prefers the longer document, wherever it stands."""
        assert schema["required"] == ["reason", "preference"]
        asked.append(text)
        sizes = [len(part) for part in re.findall(r"<<<<< (?s:.*?)>>>>>", text)]
        return response(json.dumps({"reason": "so", "preference": "A" if sizes[0] > sizes[1] else "B"}))

    short, long = {"title": "Red"}, {"title": "Red shoes"}
    assert prefer(longer, "shoes", short, long) == Preference("graded", "B", "so")
    assert prefer(longer, "shoes", long, short) == Preference("graded", "A", "so")
    assert len(asked) == 4
    assert asked[0] == asked[3] != asked[1] == asked[2]
    assert prefer(lambda *_: response("A"), "shoes", short, long).state == "failed"
