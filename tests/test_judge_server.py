"""`judge` against every personality of a server: a pair ends with the right grade, failed or refused, never wrong."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from chat_server import MODEL, PERSONALITIES, STONES, ChatServer, chatting, specimen, until
from command import Command
from rankgauge import Project
from rankgauge.errors import InputError
from rankgauge.judge.asking import ask_judge
from rankgauge.judge.config import judge_config
from rankgauge.judge.judged import Judged
from rankgauge.judge.pairs import Pair, write_pairs
from rankgauge.judge.stored import raw_answers, spent

PAIRS = 12
QUICK = {"workers": 4, "timeout": 60, "pause": 0.01}


def pairs(number: int = PAIRS) -> list[Pair]:
    """Pairs of which the grade is the number of the document, modulo four."""
    made = [(f"d{at}", specimen(f"s{at}", at % len(STONES))) for at in range(number)]
    return [Pair("q1", doc, "stones of a kind", None, {"text": text}) for doc, text in made]


@pytest.fixture
def project(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Project:
    assert command("init", tmp_path / "stones").code == 0
    monkeypatch.chdir(tmp_path / "stones")
    return Project(tmp_path / "stones")


def judged_by(server: ChatServer, project: Project, number: int = PAIRS, again: bool = False, **table: Any) -> Judged:
    """What comes of having the server judge; whatever it is, no grade is wrong."""
    whole = {"base_url": server.url, "model": MODEL} | QUICK | table
    config = judge_config("petra", whole, "judge 'petra'", Path())
    judged = ask_judge(project, config, pairs(number), again=again)
    for (_, doc, _), (state, grade, reason) in judged.outcomes.items():
        assert (state, grade) in {("graded", int(doc[1:]) % 4), ("failed", None), ("refused", None)}, reason
    return judged


def states(judged: Judged) -> Counter[str]:
    """How pairs ended: graded, failed or refused, without an answer, or not asked at all."""
    ended = judged.states + Counter({"no answer": len(judged.errors)})
    return ended + Counter({"not asked": judged.pairs - ended.total()})


# Personality → calls for twelve pairs.
GRADED = {
    "strict": 12,
    "random lengths": 12,
    "odd characters": 12,
    "ignores the format": 12,
    "object only": 13,
    "no format": 14,
    "no format of pydantic": 14,
    "no temperature": 13,
    "no seed": 12,
    "no max_tokens": 13,
    "no limit at all": 14,
    "takes nothing": 16,
    "no logprobs": 12,
    "five logprobs": 12,
    "fenced": 12,
    "thinking": 12,
    "reasoning apart": 12,
    "content in parts": 12,
    "text grade": 12,
    "another model": 12,
    "same twice": 12,
    "200 with a refusal": 14,
    "429 with seconds": 24,
    "429 with a date": 24,
    "503 once": 24,
    "a gateway's page once": 24,
    "empty once": 24,
    "no choices once": 24,
    "200 with an error once": 24,
    "error in a choice once": 24,
    "dropped once": 24,
    "cut off once": 24,
}
# Asked once more with a reminder, to no avail.
FAILED = (
    "unclosed thinking",
    "truncated",
    "truncated under a schema",
    "truncated after a wrong grade",
    "wrong grade",
    "half grade",
    "two grades",
    "prose",
    "the scale echoed",
    "a token loop",
    "other keys",
    "tool call",
    "two choices",
)
REFUSED = ("refusal", "content filter", "refusing in words")
NO_ANSWER = {
    "429 always": 60,
    "503 always": 60,
    "empty always": 60,
    "no choices": 60,
    "200 with an error": 60,
    "error in a choice": 60,
    "dropped": 60,
    "cut off": 60,
    "200 with a bad request": 12,
    "no JSON": 12,
    "slow": 12,
    "slow once": 12,
    "dripping": 12,
    "dripping headers": 12,
}
STOPPED = (
    "HTML",
    "redirect",
    "wrong key",
    "200 with a wrong key",
    "forbidden",
    "no model",
    "no quota",
    "no money",
    "429 with an hour",
)
SLOW = ("429 with a date", "slow", "slow once", "dripping", "dripping headers")  # three pairs of these will do
PARTLY = {"too long": 12, "does not say": 14}  # two of the twelve get no answer


def test_every_personality_is_here() -> None:
    rows = [*GRADED, *FAILED, *REFUSED, *NO_ANSWER, *STOPPED, *PARTLY]
    assert sorted(rows) == sorted(name for name in PERSONALITIES if not name.startswith(("echo", "prose, ")))
    assert len(PERSONALITIES) >= 36
    once = {name for name in GRADED if name.endswith(" once") or name.startswith("429")}
    for name in GRADED.keys() - once - {"takes nothing"}:  # which gives up four things, one call each
        assert GRADED[name] <= 1.2 * PAIRS


@pytest.mark.parametrize("personality", GRADED)
def test_the_right_grade(project: Project, personality: str) -> None:
    number = 3 if personality in SLOW else PAIRS
    with chatting(personality) as server:
        judged = judged_by(server, project, number)
        assert (states(judged), judged.stopped) == ({"graded": number}, None)
        assert server.calls == GRADED[personality] * number / PAIRS
        before = server.calls
        assert states(judged_by(server, project, number)) == {"graded": number}
        assert server.calls == before


def test_what_no_database_takes_is_stored_as_a_sign_for_it(project: Project) -> None:
    with chatting("odd characters") as server:
        assert judged_by(server, project, 1).models == ("petro\ufffdgraph\ufffd",)
    with project.store() as store:
        (row,) = raw_answers(store, "petra")
    assert row.reason == "NUL \ufffd, half \ufffd, \u202e"


@pytest.mark.parametrize("personality", FAILED)
def test_no_grade_after_a_reminder(project: Project, personality: str) -> None:
    with chatting(personality) as server:
        assert states(judged_by(server, project)) == {"failed": PAIRS}
        assert server.calls == 2 * PAIRS
        assert states(judged_by(server, project)) == {"failed": PAIRS}
        assert server.calls == 2 * PAIRS
        server.personality = "strict"
        assert states(judged_by(server, project, again=True)) == {"graded": PAIRS}
        assert server.calls == 3 * PAIRS


@pytest.mark.parametrize("personality", ["prose", "tool call", "truncated", "refusal"])
def test_twenty_answers_without_a_grade_end_it(project: Project, personality: str) -> None:
    """Sixty pairs were paid for to the end, each asked for twice; the same command now pays for one more answer."""
    twice = 1 if personality == "refusal" else 2
    with chatting(personality) as server:
        judged = judged_by(server, project, 60)
        assert str(judged.stopped).startswith("20 answers in a row without a grade, the last: ")
        assert 20 <= judged.states.total() <= 23  # those of four workers that were under way
        assert server.calls == twice * judged.states.total()
        calls = server.calls
        again = judged_by(server, project, 60, workers=1)
        assert str(again.stopped).startswith("20 answers in a row without a grade")
        assert server.calls == calls + twice
        server.personality = "strict"
        assert states(judged_by(server, project, 60, again=True)) == {"graded": 60}


def test_a_grade_now_and_then_goes_on(project: Project) -> None:
    """One of eight has a grade: the twenty are to be in a row."""

    def eighth(text: str) -> int:
        return int(str(text.partition("Specimen s")[2].partition(" ")[0])) % 8

    with chatting("strict", grade_of=lambda text: 9 if eighth(text) else 0) as server:
        judged = judged_by(server, project, 60, workers=1)
        assert (judged.stopped, states(judged)) == (None, {"graded": 8, "failed": 52})


def test_what_the_server_charges_is_what_it_cost(project: Project, command: Command) -> None:
    """By the prices of the table it would be a hundredth of that; without prices it is said, too."""
    prices: Any = {"prices": {"input": 0.01, "output": 0.01, "per": 1_000_000, "currency": "$"}}
    with chatting(charge=0.0125) as server:
        judged = judged_by(server, project, **prices)
        assert judged.cost == pytest.approx(PAIRS * 0.0125)
        assert "$0.15." in str(judged)
        assert judged_by(server, project, seed=1).cost == pytest.approx(PAIRS * 0.0125)
        for wrong in (True, -1.0, "0.5", None):
            server.charge = wrong
            assert (judged_by(server, project, 1, seed=2, **prices).cost or 0) < 0.001
    with project.store() as store:
        assert spent(store, "petra") == pytest.approx(2 * PAIRS * 0.0125, abs=1e-4)


def test_a_budget_counts_what_the_server_charges(project: Project) -> None:
    """Many times as much as its prices say: the first answer shows it, and the cap holds from then on."""
    prices = {"input": 0.25, "output": 2.0, "per": 1_000_000}
    with chatting(charge=0.01) as server:
        judged = judged_by(server, project, 60, prices=prices, budget=0.055, workers=8)
        assert (judged.graded, server.calls) == (5, 5)
        assert judged.cost == pytest.approx(0.05)
        assert "the budget of 0.055 has no room for another answer: 0.050 spent" in str(judged.stopped)


@pytest.mark.parametrize("personality", REFUSED)
def test_a_refusal_is_none_of_both(project: Project, personality: str) -> None:
    with chatting(personality) as server:
        assert states(judged_by(server, project)) == {"refused": PAIRS}
        assert server.calls == PAIRS


@pytest.mark.parametrize("personality", NO_ANSWER)
def test_no_answer_and_the_same_command_goes_on(project: Project, personality: str) -> None:
    number = 3 if personality in SLOW else PAIRS
    with chatting(personality) as server:
        judged = judged_by(server, project, number, workers=PAIRS, timeout=0.2 if personality in SLOW else 60)
        assert (states(judged), judged.stopped) == ({"no answer": number}, None)
        calls = NO_ANSWER[personality] * number / PAIRS
        until(lambda: server.calls >= calls)  # what was given up may not have been read yet
        assert server.calls == calls
        server.personality = "strict"
        assert states(judged_by(server, project, number)) == {"graded": number}
        assert server.calls == calls + number


@pytest.mark.parametrize("personality", STOPPED)
def test_what_holds_for_all_stops_after_one_call(project: Project, personality: str) -> None:
    with chatting(personality) as server:
        judged = judged_by(server, project)
        assert server.calls == 1
        assert judged.stopped is not None
        assert judged.outcomes == {}
        server.personality = "strict"
        assert states(judged_by(server, project)) == {"graded": PAIRS}


@pytest.mark.parametrize("personality", PARTLY)
def test_what_is_wrong_with_one_document_is_its_own(project: Project, personality: str) -> None:
    with chatting(personality) as server:
        judged = judged_by(server, project)
        assert states(judged) == {"graded": PAIRS - 2, "no answer": 2}
        assert {doc for _, doc in judged.errors} == {"d0", "d10"}
        assert server.calls == PARTLY[personality]


@pytest.mark.parametrize(("personality", "calls"), [("strict", 12), ("no logprobs", 13), ("five logprobs", 13)])
def test_a_digit_with_its_probability(project: Project, personality: str, calls: int) -> None:
    with chatting(personality) as server:
        assert states(judged_by(server, project, prompt="digit")) == {"graded": PAIRS}
        assert server.calls == calls
    with sqlite3.connect(project.folder / "rankgauge.db") as connection:
        sure = dict(connection.execute("SELECT doc_id, expected FROM judgment").fetchall())
    expected = None if personality == "no logprobs" else pytest.approx(0.9 * 1 + 0.1 * 2, abs=1e-4)
    assert sure["d1"] == expected


@pytest.mark.parametrize("prompt", ["short", "criteria"])
def test_no_prompt_lets_a_wrong_grade_through(project: Project, prompt: str) -> None:
    """Whatever the server says, `judged_by` holds that no grade is wrong; what is well said is read."""
    for personality in ("strict", "ignores the format", "thinking", "no format", *FAILED, *REFUSED):
        with chatting(personality) as server:
            # A system may give a port a second time, and answers of the same model there count as this one's.
            ended = states(judged_by(server, project, 4, again=True, prompt=prompt, model=f"{MODEL}, {personality}"))
            if personality in FAILED + REFUSED:
                assert ended["graded"] == 0
            else:
                assert ended == {"graded": 4}


def test_a_server_that_takes_eight_at_once(project: Project) -> None:
    """Within twice the ideal time, with at most a tenth of the calls refused."""
    with chatting(at_once=8, delay=0.1) as server:
        judged = judged_by(server, project, 500, workers=32, timeout=60, pause=0.5)
        assert states(judged) == {"graded": 500}
        assert server.calls == 500 + server.statuses[429]
        assert server.statuses[429] <= 0.1 * server.calls
        assert server.at[-1] - server.at[0] <= 2 * server.slept / 8


@pytest.mark.parametrize("seed", range(3))
def test_a_budget_is_never_exceeded(project: Project, seed: int) -> None:
    """Whatever the length of answers, what the server counted is within it, and all but one answer's worth is used."""
    prices = {"input": 1.0, "output": 10.0, "per": 1_000}
    with chatting("random lengths", lengths=random.Random(seed), delay=0.01) as server:
        table: dict[str, Any] = {"prices": prices, "budget": 100.0, "workers": 32, "timeout": 60, "max_tokens": 100}
        judged = judged_by(server, project, 300, **table)
        counted = (server.tokens_in * prices["input"] + server.tokens_out * prices["output"]) / prices["per"]
        assert 90 < counted <= 100
        assert judged.cost == pytest.approx(counted)
        assert "the budget of 100.00 has no room for another answer" in str(judged.stopped)
        calls = server.calls
        with pytest.raises(InputError, match=r"the budget of 100\.00 has no room"):
            judged_by(server, project, 300, **table)
        assert server.calls == calls


@pytest.mark.parametrize("personality", ["empty always", "dropped"])
def test_what_was_paid_for_nothing_is_remembered(project: Project, personality: str) -> None:
    """By the next pass, too, which asks again: no answer is no reason to leave a pair."""
    table: dict[str, Any] = {"prices": {"input": 1.0, "output": 1.0, "per": 1_000}, "budget": 1_000.0, "max_tokens": 50}
    with chatting(personality) as server:
        judged = judged_by(server, project, 3, **table)
        assert states(judged) == {"no answer": 3}
        lost = (server.tokens_in + server.tokens_out) / 1_000
        assert judged.cost == pytest.approx(lost) if lost else (judged.cost or 0) > 15 * 0.3
        server.personality = "strict"
        again = judged_by(server, project, 3, **table)
        assert states(again) == {"graded": 3}
    with project.store() as store:
        assert spent(store, "petra") == pytest.approx((judged.cost or 0) + (again.cost or 0))


def test_an_unreadable_answer_is_kept_where_the_second_does_not_come(project: Project) -> None:
    with chatting("prose, then nothing") as server:
        assert states(judged_by(server, project)) == {"failed": PAIRS}
        assert server.calls == 6 * PAIRS


@pytest.mark.parametrize("known", [False, True])
def test_no_budget_without_a_limit(project: Project, known: bool) -> None:
    with chatting("no limit at all") as server:
        if known:
            assert states(judged_by(server, project, 2)) == {"graded": 2}
        before = server.calls
        prices = {"input": 1.0, "output": 1.0, "per": 1_000}
        judged = judged_by(server, project, budget=1_000.0, prices=prices)
        assert server.calls == before + 2
        assert "without max_completion_tokens, a limit of its answers, no budget holds" in str(judged.stopped)


def test_a_connection_is_kept_by_its_worker_and_closed_at_the_end(project: Project) -> None:
    kept: Counter[int] = Counter()
    with chatting(delay=0.01) as server:
        config = judge_config("petra", {"base_url": server.url, "model": MODEL, "workers": 6}, "judge 'petra'", Path())
        ask_judge(project, config, pairs(100), progress=lambda *_: kept.update([server.connections]))
        assert max(kept) == 6
        until(lambda: server.connections == 0)


def test_the_command_says_what_stopped_it_and_what_to_do(project: Project, command: Command) -> None:
    write_pairs(pairs(), "pairs.jsonl")
    with chatting("wrong key") as server:
        done = command("judge", "pairs.jsonl", "--judge", "petra", "--base-url", server.url, "--model", MODEL)
        assert (done.code, server.calls) == (4, 1)
        assert "petra: 12 of 12 pairs have no grade" in done.err
        assert 'stopped: the server answered 401: "{"error": {"message": "Incorrect API key provided."' in done.err
        assert done.err.rstrip().endswith('; give its key: key = "${NAME}", and set NAME')
