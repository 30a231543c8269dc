"""`rankgauge judge`: what is asked, what is kept, and what is never asked again."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from chat_server import MODEL, STONES, ChatServer, chatting, specimen
from command import Command
from rankgauge import Project
from rankgauge.errors import InputError
from rankgauge.judge.answers import READER
from rankgauge.judge.askers import REMINDER
from rankgauge.judge.asking import ask_judge, plan_judge
from rankgauge.judge.config import find_judge, judge_config
from rankgauge.judge.money import Budget, Prices, amount
from rankgauge.judge.pairs import Pair
from rankgauge.judge.questions import questions_of
from rankgauge.judge.reparse import Changed, Reread, read_again
from rankgauge.systems.workers import Stop

PRICES = {"input": 0.25, "output": 2.0, "per": 1_000_000, "currency": "$"}


def pair(number: int) -> Pair:
    fields = {"title": f"Stone {number}", "text": specimen(f"s{number}", number % len(STONES))}
    return Pair(f"q{number % 3}", f"d{number}", f"stones {number % 3}", None, fields)


@pytest.fixture
def folder(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    assert command("init", tmp_path / "stones").code == 0
    monkeypatch.chdir(tmp_path / "stones")
    lines = [
        {"query_id": each.query_id, "query": each.query, "doc_id": each.doc_id, "document": each.document}
        for each in map(pair, range(12))
    ]
    Path("pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("mine.py").write_text(
        "asked = []\n"
        "def grade(query, document):\n"
        "    asked.append((query['query_id'], document['doc_id']))\n"
        f"    return next(n for n, stone in enumerate({STONES}) if stone in document['text']), 'a stone'\n"
        "def odd(query, document):\n"
        "    return {'d1': 7, 'd2': (None, 'NUL \\0'), 'd3': 1.5, 'd4': True, 'd5': '2'}.get(document['doc_id'], 0)\n"
        "def broken(query, document):\n"
        "    raise ValueError('no stone')\n"
    )
    return tmp_path / "stones"


@pytest.fixture
def strict() -> Iterator[ChatServer]:
    with chatting("strict") as server:
        yield server


def config(server: ChatServer, **more: Any) -> Any:
    table = {"base_url": server.url, "model": MODEL, "pause": 0.01, **more}
    return judge_config("petra", table, "judge 'petra'", Path())


def stored(folder: Path, asked: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(folder / "rankgauge.db") as connection:
        return connection.execute(asked).fetchall()


# ---- a function ------------------------------------------------------------------------------------------------------


def test_a_function_judges_and_is_not_asked_twice(folder: Path, command: Command) -> None:
    said = command("judge", "pairs.jsonl", "--judge", "mine", "--call", "mine:grade", "-o", "labels.txt")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("mine graded 12 of 12 pairs.\n")
    labels = [line.split() for line in Path("labels.txt").read_text().splitlines()]
    assert {(doc, int(grade)) for _, _, doc, grade in labels} == {(f"d{n}", n % 4) for n in range(12)}
    asked = sys.modules["mine"].asked
    assert len(asked) == 12
    again = command("judge", "pairs.jsonl", "--judge", "mine", "--call", "mine:grade")
    assert again.out.startswith("mine graded 12 of 12 pairs; nothing was asked, for all answers are stored.")
    assert len(asked) == 12
    odd = {"query_id": "q9", "doc_id": "d99", "query": "stones", "document": {"text": "none of them"}}
    Path("more.jsonl").write_text(Path("pairs.jsonl").read_text() + json.dumps(odd) + "\n")
    for _ in range(2):  # what raises is asked again every time
        broken = command("judge", "more.jsonl", "--judge", "mine", "--call", "mine:grade")
        assert broken.out.startswith("mine graded 12 of 13 pairs; 12 of 13 answers were stored before."), broken.out
    assert "mine" in command("labels").out
    ((kind, reason),) = set(stored(folder, "SELECT kind, reason FROM judgment JOIN judge USING (judge_id)"))
    assert (kind, reason) == ("program", "a stone")


def test_what_is_no_grade_stays_open(folder: Path, command: Command) -> None:
    said = command("judge", "pairs.jsonl", "--judge", "odd", "--call", "mine:odd")
    assert said.code == 4
    assert "odd: 4 of 12 pairs have no grade; the same command goes on" in said.err
    assert 'failed: the function gave "7": not on the scale 0, 1, 2 or 3' in " ".join(said.out.split())
    grades = dict(stored(folder, "SELECT doc_id, grade FROM judgment"))
    assert [grades[f"d{n}"] for n in range(1, 6)] == [None, None, None, None, 2.0]
    assert {grades[f"d{n}"] for n in (0, 6, 7, 8, 9, 10, 11)} == {0.0}
    assert stored(folder, "SELECT reason FROM judgment WHERE doc_id = 'd2'") == [("NUL \ufffd",)]
    counted = json.loads(command("labels", "--format", "json").out)["judges"][0]
    assert (counted["graded"], counted["states"]) == (8, {"failed": 4})


def test_a_function_that_raises_leaves_nothing(folder: Path, command: Command) -> None:
    said = command("judge", "pairs.jsonl", "--judge", "bad", "--call", "mine:broken")
    assert said.code == 4
    assert 'no answer: the function raised ValueError: "no stone" (mine.py:8)' in " ".join(said.out.split())
    assert stored(folder, "SELECT COUNT(*) FROM judgment") == [(0,)]


def test_the_pool_is_judged_where_no_file_is_named(folder: Path, command: Command) -> None:
    assert "the pool is empty" in command("judge", "--judge", "mine", "--call", "mine:grade").err
    assert command("judge", "pairs.jsonl", "--judge", "mine", "--call", "mine:grade").code == 0
    said = command("judge", "--judge", "mine", "--call", "mine:grade")
    assert said.out.startswith("mine graded 12 of 12 pairs; nothing was asked")
    other = command("judge", "--judge", "odd", "--call", "mine:odd")
    assert (other.code, other.out) == (
        0, "Every pair of the pool has a grade; for grades of this judge, too, give PAIRS.\n",
    )  # fmt: skip


# ---- a model ---------------------------------------------------------------------------------------------------------


def test_the_pool_is_shown_as_the_file_was(folder: Path, strict: ChatServer, command: Command) -> None:
    words = ("--judge", "petra", "--base-url", strict.url, "--model", MODEL)
    assert command("judge", "pairs.jsonl", *words).code == 0
    sent = strict.bodies[0]["messages"][0]["content"]
    assert sent.index("title: Stone") < sent.index("text: Specimen")  # as in the file, which is not by name
    assert command("judge", *words).out.startswith("petra graded 12 of 12 pairs; nothing was asked")
    assert strict.calls == 12


def test_a_model_judges_and_is_asked_once_ever(folder: Path, strict: ChatServer) -> None:
    pairs = [*map(pair, range(12))]
    judged = ask_judge(Project("."), config(strict), pairs)
    assert (judged.graded, judged.calls, strict.calls) == (12, 12, 12)
    assert {key[1]: grade for key, (_, grade, _) in judged.outcomes.items()} == {f"d{n}": n % 4 for n in range(12)}
    rows = stored(folder, "SELECT state, calls, model, reader, raw IS NULL, tokens_in > 0 FROM judgment")
    assert set(rows) == {("graded", 1, MODEL, rows[0][3], 0, 1)}
    again = ask_judge(Project("."), config(strict), pairs)
    assert (again.graded, again.before, again.calls, strict.calls) == (12, 12, 0, 12)
    renamed = judge_config("other", dict(config(strict).table), "judge 'other'", Path())
    assert ask_judge(Project("."), renamed, pairs).calls == 0  # the same question has an answer
    assert len(Project(".").labels("other")) == 12
    assert strict.calls == 12
    changed = ask_judge(Project("."), config(strict, temperature=1), pairs[:2])
    assert (changed.calls, strict.calls) == (2, 14)


def test_stored_answers_are_looked_up_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each of them: a pass of many that goes on would never begin."""
    from rankgauge.judge import stored as looked

    times: list[int] = []
    keys = looked.keys

    def counted(store: Any, wanted: Any) -> set[str]:
        times.append(len(wanted))
        return keys(store, wanted)

    monkeypatch.setattr(looked, "keys", counted)
    mine = judge_config("mine", {"call": "mine:grade"}, "judge 'mine'", Path())
    for _ in range(2):
        ask_judge(Project("."), mine, [*map(pair, range(12))])
    assert times == [0, 12]


def test_replay_needs_no_server(folder: Path, command: Command) -> None:
    with chatting("strict") as server:
        words = ["judge", "pairs.jsonl", "--judge", "gpt", "--base-url", server.url, "--model", MODEL]
        first = command(*words, "-o", "one.txt")
        assert first.code == 0
        assert server.calls == 12
    gone = command(*words, "-o", "two.txt")
    assert gone.code == 0
    assert gone.out.startswith("gpt graded 12 of 12 pairs; nothing was asked, for all answers are stored.")
    assert Path("one.txt").read_bytes() == Path("two.txt").read_bytes()
    replayed = command(*words, "--set", "replay=true", "--repeats", "2")
    assert replayed.code == 0  # every pair has a grade
    assert "12 calls" not in replayed.out
    assert command(*words, "--set", "replay=true", "--set", "seed=3").code == 4  # nobody asked so


def test_the_same_text_is_asked_once(folder: Path, strict: ChatServer) -> None:
    one = pair(1)
    judged = ask_judge(Project("."), config(strict), [one, one._replace(doc_id="copy")])
    assert (judged.graded, strict.calls) == (2, 1)


def test_a_dry_run_sends_and_stores_nothing(folder: Path, strict: ChatServer, command: Command) -> None:
    plan = plan_judge(Project("."), config(strict, prices=PRICES), [*map(pair, range(12))], repeats=2)
    text = questions_of(config(strict), [pair(0)])[0][0].text
    assert (plan["pair_count"], plan["answered"], plan["calls"]) == (12, 0, 24)
    assert plan["tokens_in"] == pytest.approx(24 * len(text) / 4, rel=0.05)
    assert plan["cost"] == pytest.approx((plan["tokens_in"] * 0.25 + plan["tokens_out"] * 2) / 1e6)
    assert (strict.calls, stored(folder, "SELECT COUNT(*) FROM judgment")) == (0, [(0,)])
    ask_judge(Project("."), config(strict, prices=PRICES), [*map(pair, range(3))])
    after = plan_judge(Project("."), config(strict, prices=PRICES), [*map(pair, range(12))])
    assert (after["answered"], after["calls"]) == (3, 9)
    assert after["tokens_in"] == pytest.approx(9 * strict.tokens_in / 3)
    words = ("--base-url", strict.url, "--model", MODEL, "--dry-run")
    said = command("judge", "pairs.jsonl", "--judge", "petra", *words).out
    assert said.startswith("petra: 12 pairs, 3 answers stored, 9 calls to make, about")


def test_repeats_are_stored_singly(folder: Path, strict: ChatServer) -> None:
    judged = ask_judge(Project("."), config(strict), [pair(1), pair(2)], repeats=5)
    assert (judged.calls, judged.consistency, judged.graded) == (10, 1.0, 2)
    assert stored(folder, "SELECT repeat, COUNT(*) FROM judgment GROUP BY repeat") == [(n, 2) for n in range(5)]


def test_an_unreadable_answer_is_asked_for_once_more(folder: Path) -> None:
    with chatting("prose") as server:
        judged = ask_judge(Project("."), config(server), [pair(1)])
        assert (judged.states["failed"], judged.calls) == (1, 2)
        assert server.bodies[1]["messages"][0]["content"].endswith(REMINDER.format(grades="0, 1, 2, 3"))
        assert ask_judge(Project("."), config(server), [pair(1)]).calls == 0  # left to somebody else
        assert ask_judge(Project("."), config(server), [pair(1)], again=True).calls == 2
    assert stored(folder, "SELECT COUNT(*), MAX(grade) FROM judgment") == [(2, None)]


def test_stored_answers_are_read_again(folder: Path, strict: ChatServer, command: Command) -> None:
    ask_judge(Project("."), config(strict), [*map(pair, range(4))])
    assert read_again(Project("."), "petra").changed == ()
    with sqlite3.connect(folder / "rankgauge.db") as connection:  # as an older reader had it
        connection.execute("UPDATE judgment SET state = 'failed', grade = NULL, reader = '0' WHERE doc_id = 'd3'")
        connection.execute("UPDATE judgment SET grade = 3, reader = '0' WHERE doc_id = 'd2'")
    said = command("judge", "--judge", "petra", "--reparse")  # a judge by options alone: the name is enough
    assert (said.code, said.out) == (
        0,
        "petra: 2 stored answers are read otherwise than before, of 4.\n  q0 d3: failed → 3\n  q2 d2: 3 → 2\n",
    )
    assert strict.calls == 4
    rows = stored(folder, "SELECT grade, reader, raw IS NULL FROM judgment WHERE doc_id = 'd3' ORDER BY judgment_id")
    assert rows == [(None, "0", 0), (3.0, READER, 0)]  # what was read before stays
    assert read_again(Project("."), "petra").data() == {"judge": "petra", "reader": READER, "answers": 4, "changed": []}
    assert dict(Project(".").labels("petra").nested["q0"]) == {"d0": 0.0, "d3": 3.0}
    assert ask_judge(Project("."), config(strict), [*map(pair, range(4))]).calls == 0


def test_answers_are_read_again_as_they_were_asked_for(folder: Path, strict: ChatServer) -> None:
    ask_judge(Project("."), config(strict), [*map(pair, range(4))])
    ask_judge(Project("."), config(strict, prompt="binary"), [pair(1)])  # grades to 1; the others were to 3
    ask_judge(Project("."), config(strict, prompt="digit"), [pair(5)])
    assert read_again(Project("."), "petra") == Reread("petra", 5, ())
    with sqlite3.connect(folder / "rankgauge.db") as connection:
        connection.execute("UPDATE judgment SET grade = 0 WHERE doc_id = 'd5'")
        connection.execute("UPDATE judgment SET raw = 'Score: 2' WHERE doc_id = 'd2'")  # as another tool has it
    changed = Changed("q2", "d5", 0, ("graded", 0.0), ("graded", 1.0))
    assert read_again(Project("."), "petra") == Reread("petra", 4, (changed,))
    sure = stored(folder, "SELECT DISTINCT round(expected, 2), round(mass, 2) FROM judgment WHERE doc_id = 'd5'")
    assert sure == [(1.1, 1.0)]  # carried over
    assert len(read_again(Project("."), "petra").changed) == 0


def test_nothing_to_read_again(folder: Path, strict: ChatServer, command: Command) -> None:
    assert (
        "nothing of judge 'gpt' is stored; rankgauge judge asks one"
        in command("judge", "--judge", "gpt", "--reparse").err
    )
    ask_judge(Project("."), config(strict), [pair(1)])
    assert "did you mean 'petra'" in command("judge", "--judge", "petr", "--reparse").err
    both = command("judge", "pairs.jsonl", "--judge", "petra", "--reparse")
    assert (both.code, "[PAIRS] and --reparse exclude each other" in both.err) == (2, True)


def test_pairs_without_a_text_are_counted_and_not_asked(folder: Path, strict: ChatServer, command: Command) -> None:
    judged = ask_judge(Project("."), config(strict), [pair(1), pair(2)._replace(document={}), Pair("q9", "d9")])
    assert (judged.graded, judged.open, len(judged.silent), strict.calls) == (1, 2, 2, 1)
    told = " ".join(judged.show().split())
    assert "1 pair has no grade (q2 d2): no text to judge; name its file: [documents] file" in told
    assert "1 pair has no grade (q9 d9): the query has no text; import it: rankgauge store import QUERIES" in told


def test_a_long_document_is_cut_and_that_is_stored(folder: Path, strict: ChatServer) -> None:
    long = pair(1)._replace(document={"text": specimen("s1", 1) + " and so on" * 1000})
    judged = ask_judge(Project("."), config(strict, longest=200), [long])
    assert (judged.graded, judged.cut) == (1, 1)
    ((cut,),) = stored(folder, "SELECT cut FROM judgment")
    assert cut > 9_000
    assert len(strict.bodies[0]["messages"][0]["content"]) < 3_000


def test_fields_are_shown_as_the_project_says(folder: Path, strict: ChatServer) -> None:
    Path("docs.jsonl").write_text(json.dumps({"doc_id": "d1", "text": specimen("s1", 1), "secret": "price 7"}) + "\n")
    with Path("rankgauge.toml").open("a") as file:
        file.write('[documents]\nfile = "docs.jsonl"\nshow = ["text"]\n')
    ask_judge(Project("."), config(strict), [Pair("q1", "d1", "stones")])
    sent = strict.bodies[0]["messages"][0]["content"]
    assert specimen("s1", 1) in sent
    assert "price" not in sent


def test_json_holds_what_is_said(folder: Path, strict: ChatServer, command: Command) -> None:
    words = ("judge", "pairs.jsonl", "--judge", "petra", "--base-url", strict.url, "--model", MODEL, "--format", "json")
    (plan,) = json.loads(command(*words, "--dry-run").out)["judges"]
    assert (plan["judge"], plan["pair_count"], plan["calls"], plan["cost"]) == ("petra", 12, 12, None)
    (batch,) = json.loads(command(*words, "--batch", "ask.jsonl").out)["judges"]
    assert (batch["questions"], batch["files"]) == (12, ["ask.jsonl"])
    first = command(*words, "-o", "labels.txt")
    (judged,) = json.loads(first.out)["judges"]
    assert (first.code, first.err, len(Path("labels.txt").read_text().splitlines())) == (0, "", 12)
    assert (judged["graded"], judged["open"], judged["calls"]) == (12, 0, 12)
    assert judged["grades"] == {"0": 3, "1": 3, "2": 3, "3": 3}
    (read,) = json.loads(command("judge", "--judge", "petra", "--reparse", "--format", "json").out)["judges"]
    assert read == {"judge": "petra", "reader": READER, "answers": 12, "changed": []}
    both = command(*words, "-o", "-")
    assert (len(both.out.splitlines()), json.loads(both.err)["judges"][0]["before"]) == (12, 12)
    done = ("judge", "--judge", "odd", "--call", "mine:odd", "--format", "json")
    assert json.loads(command(*done).out) == {"judges": []}  # every pair of the pool has a grade
    odd = command(*done[:1], "pairs.jsonl", *done[1:])
    assert (odd.code, json.loads(odd.out)["judges"][0]["failed"]) == (4, 4)


# ---- money -----------------------------------------------------------------------------------------------------------


def test_a_budget_is_kept_over_several_passes(folder: Path, strict: ChatServer) -> None:
    cost = {"prices": PRICES, "workers": 1}
    first = ask_judge(Project("."), config(strict, **cost), [pair(0)])
    assert first.cost == pytest.approx((strict.tokens_in * 0.25 + strict.tokens_out * 2) / 1e6)
    with pytest.raises(InputError, match=r"the budget of \$0\.0010 has no room for another answer"):
        ask_judge(Project("."), config(strict, **cost, budget=0.001), [pair(1)])
    most = 0.006
    judged = ask_judge(Project("."), config(strict, **cost, budget=most), [*map(pair, range(40))])
    spent = (strict.tokens_in * 0.25 + strict.tokens_out * 2) / 1e6
    assert judged.stopped is not None
    assert "the budget of $0.0060 has no room" in judged.stopped
    assert spent <= most
    assert 1 < judged.graded < 40


def test_what_is_under_way_is_reserved() -> None:
    budget = Budget(Prices.of(PRICES, "prices"), 1.0)
    with budget.reserve(1_000_000, 250_000) as spending:
        assert budget.reserved == 0.75
        spending.cost = 0.5
    assert (budget.reserved, budget.spent) == (0.0, 0.5)
    with budget.reserve(1_000_000, 0), pytest.raises(ZeroDivisionError), budget.reserve(400_000, 0):
        raise ZeroDivisionError
    assert budget.spent == pytest.approx(0.85)  # what nobody says the cost of has cost the most
    with pytest.raises(Stop, match="raise budget"), budget.reserve(1_000_000, 0):
        raise AssertionError


# ---- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "has no server; write base_url"),
        ({"model": "m"}, "has no server"),
        ({"base_url": "http://x/v1", "modle": "m"}, "has no key 'modle'; did you mean 'model'"),
        ({"base_url": "http://x/v1", "prompt": "nope"}, "there is no prompt 'nope'"),
        ({"base_url": "http://x/v1", "scale": {"1": "yes"}}, "has one grade, 1; a scale has two or more"),
        ({"base_url": "http://x/v1", "prices": {"input": 1, "output": 2}}, "have no unit"),
        ({"base_url": "http://x/v1", "prices": "prices.json"}, "expected a table: { input"),
        ({"base_url": "http://x/v1", "prices": {"input": -1, "output": 2, "per": 1000}}, "input = -1; expected a num"),
        ({"base_url": "http://x/v1", "budget": 3.0}, "a budget needs prices"),
        ({"base_url": "http://x/v1", "budget": 0}, "budget = 0; expected a number above 0"),
        ({"call": "mine:grade", "model": "m"}, "a judge that is a function (call) has no model"),
        ({"call": "mine"}, "call = 'mine'; expected \"module:function\""),
        ("gpt", "expected a table of settings"),
    ],
)
def test_a_table_that_is_wrong(folder: Path, table: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        judge_config("x", table, "f.toml: [judges.x]", Path())
    assert said in str(error.value)
    assert str(error.value).startswith(("f.toml: [judges.x]", "there is no prompt"))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('{"query_id": "q", "query": "x"}\n', "pairs.jsonl:1: has no doc_id"),
        ('{"query_id": "q", "doc_id": "d"}\n' * 2, "document 'd' of query 'q' is there twice; keep one"),
        ("", "is empty; expected one row a line"),
        ("q1 0 d1 2\n", "rankgauge judgments pairs.jsonl"),
    ],
)
def test_pairs_that_are_wrong(folder: Path, command: Command, lines: str, said: str) -> None:
    Path("pairs.jsonl").write_text(lines)
    done = command("judge", "pairs.jsonl", "--judge", "mine", "--call", "mine:grade")
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_judge_that_is_not_there(folder: Path, command: Command) -> None:
    assert "name the judge: --judge NAME" in command("judge", "pairs.jsonl").err
    assert "there is no [judges.gpt]; write it" in command("judge", "pairs.jsonl", "--judge", "gpt").err
    with Path("rankgauge.toml").open("a") as file:
        file.write('[judges.words]\ncall = "mine:grade"\n')
    assert "did you mean 'words'" in command("judge", "pairs.jsonl", "--judge", "word").err
    assert command("judge", "pairs.jsonl").out.startswith("words graded 12 of 12 pairs.")  # the only one
    assert find_judge(Project("."), "words").call == "mine:grade"


def test_two_judges_at_once_and_a_second_process(folder: Path, command: Command) -> None:
    from rankgauge.store.lease import Lease

    with Path("rankgauge.toml").open("a") as file:
        file.write('[judges.one]\ncall = "mine:grade"\n[judges.two]\ncall = "mine:odd"\n')
    said = command("judge", "pairs.jsonl", "--judge", "one", "--judge", "two")
    assert said.code == 4
    assert "one graded 12 of 12 pairs." in said.out
    assert "two graded 8 of 12 pairs." in said.out
    with Project(".").store(write=True) as store, Lease(store, "judge one", holder="eve on another host"):
        refused = command("judge", "pairs.jsonl", "--judge", "one")
    assert (refused.code, "judge one is in use by eve" in refused.err) == (2, True)


def test_a_plan_counts_what_again_asks(folder: Path, command: Command) -> None:
    words = ("judge", "pairs.jsonl", "--judge", "odd", "--call", "mine:odd")
    assert command(*words).code == 4
    assert command(*words, "--dry-run").out == "odd: 12 pairs, 12 answers stored, 0 calls to make.\n"
    assert command(*words, "--again", "--dry-run").out == "odd: 12 pairs, 12 answers stored, 4 calls to make.\n"


def test_a_plan_says_where_the_budget_is_too_small(folder: Path, strict: ChatServer, command: Command) -> None:
    with Path("rankgauge.toml").open("a") as file:
        file.write(f'[judges.petra]\nbase_url = "{strict.url}"\nmodel = "{MODEL}"\nbudget = 0.5\n')
        file.write('prices = { input = 1, output = 2, per = 1_000, currency = "$" }\n')
    said = command("judge", "pairs.jsonl", "--dry-run")
    assert "more than the $0.50 that the budget has left" in " ".join(said.out.split())
    assert max(map(len, said.out.splitlines())) <= 80
    refused = command("judge", "pairs.jsonl")
    assert (refused.code, strict.calls) == (2, 0)
    assert refused.err.startswith(
        f"error: {folder / 'rankgauge.toml'}: [judges.petra]: the budget of $0.50 has no room"
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            '{"query_id": "q", "doc_id": "d", "document": "a text"}',
            """pairs.jsonl:1: document is 'a text'; expected its""",
        ),
        ('{"query_id": "q"}', "pairs.jsonl:1: has no doc_id; a pair has query_id, query, need, doc_id and document"),
        ('{"query_id": "q", "doc_id": "d"}\n' * 2, "document 'd' of query 'q' is there twice; keep one\n"),
    ],
)
def test_pairs_that_are_none(folder: Path, command: Command, line: str, words: str) -> None:
    Path("pairs.jsonl").write_text(line)
    said = command("judge", "pairs.jsonl", "--judge", "words", "--call", "mine:grade")
    assert said.code == 2
    assert words in said.err
    assert ("rankgauge judgments pairs.jsonl" in said.err) == ("has no" in words)


def test_what_replay_lacks_is_said(folder: Path, command: Command) -> None:
    said = command("judge", "pairs.jsonl", "--judge", "words", "--call", "mine:grade", "--set", "replay=true")
    assert said.code == 4
    assert "12 pairs have no grade (q0 d0, q1 d1, …): no answer: none is stored, and replay asks nothing" in " ".join(
        said.out.split()
    )


def test_one_pair_of_one_has_no_grade(folder: Path, command: Command) -> None:
    Path("one.jsonl").write_text(Path("pairs.jsonl").read_text().splitlines(keepends=True)[1])
    said = command("judge", "one.jsonl", "--judge", "odd", "--call", "mine:odd")
    assert "odd: 1 of 1 pair has no grade" in said.err


def test_a_server_that_is_gone_is_not_asked_for_its_model(folder: Path, command: Command) -> None:
    with chatting("strict") as server:
        url = server.url
    said = command("judge", "pairs.jsonl", "--judge", "gpt", "--base-url", url)
    assert said.code == 2
    assert "lacks model, and no server answers there" in said.err


def test_another_model_at_the_same_address_is_asked_anew(folder: Path, command: Command) -> None:
    """A judge may leave its model to its server; what is answered is answered by that model, and by no other."""
    with chatting("strict") as server:
        words = ("judge", "pairs.jsonl", "--judge", "gpt", "--base-url", server.url)
        for model, calls in (("first-1", 12), ("first-1", 12), ("second-1", 24)):
            server.models = [model]
            assert command(*words).code == 0
            assert server.calls == calls
        assert server.paths["GET /v1/models"] == 3
        labels = command("labels", "--by", "gpt").out
    assert command(*words).code == 0  # with the server gone, by what it served last
    assert command("labels", "--by", "gpt").out == labels
    assert stored(folder, "SELECT DISTINCT model FROM judge ORDER BY 1") == [("first-1",), ("second-1",)]


def test_empty_answers_have_one_reason(folder: Path, command: Command) -> None:
    with chatting("empty always") as server:
        words = ("--base-url", server.url, "--model", MODEL, "--set", "retries=0", "--set", "workers=1")
        said = command("judge", "pairs.jsonl", "--judge", "gpt", *words)
    assert "12 pairs have no grade (q0 d0, q1 d1, …): no answer: the server answered 200 with an empty" in " ".join(
        said.out.split()
    )


def test_a_function_that_is_not_there_is_looked_for_among_those_of_the_module(folder: Path, command: Command) -> None:
    said = command("judge", "pairs.jsonl", "--judge", "words", "--call", "os:nobody")
    assert said.err.endswith("os has no function 'nobody'; define it\n") or len(said.err) < 500
    said = command("judge", "pairs.jsonl", "--judge", "words", "--call", "mine:grad")
    assert "did you mean 'grade'? There are grade, odd, broken" in said.err


@pytest.mark.parametrize(
    ("cost", "text"),
    [(0.0, "$0.00"), (-0.5, "$-0.50"), (12345.678, "$12,345.68"), (1.0, "$1.00"), (0.999, "$1.00"), (0.5, "$0.50"),
     (0.05, "$0.050"), (0.00123, "$0.0012"), (0.0000123, "$0.000012"), (1e-9, "$0.000000")],
)  # fmt: skip
def test_an_amount_has_digits_enough_to_be_one(cost: float, text: str) -> None:
    assert amount(cost, "$") == text
