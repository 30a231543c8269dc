"""`judge --batch` and `--batch-results`: what files carry comes to the same labels as asking."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

import httpx2

from chat_server import MODEL, STONES, ChatServer, chatting, specimen
from command import Command
from rankgauge import Project
from rankgauge.errors import InputError
from rankgauge.judge.askers import REMINDER
from rankgauge.judge.asking import ask_judge
from rankgauge.judge.batch import Results, read_batch, write_batch
from rankgauge.judge.config import judge_config
from rankgauge.judge.pairs import Pair
from rankgauge.judge.prompt import Prompt
from rankgauge.judge.scale import GRADED
from rankgauge.judge.stored import keep_texts
from rankgauge.writers.files import opened

Line = dict[str, Any]
PRICES = {"input": 0.25, "output": 2.0, "per": 1_000_000, "currency": "$"}
EXPIRED = {"code": "batch_expired", "message": "This request could not be executed before the window expired."}
TOO_LONG = {"message": "This model's maximum context length is 4096 tokens.", "code": "context_length_exceeded"}


def pair(number: int) -> Pair:
    fields = {"title": f"Stone {number}", "text": specimen(f"s{number}", number % len(STONES))}
    return Pair(f"q{number % 3}", f"d{number}", f"stones {number % 3}", None, fields)


PAIRS = [pair(number) for number in range(12)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert command("init").code == 0
    lines = [
        {"query_id": each.query_id, "query": each.query, "doc_id": each.doc_id, "document": each.document}
        for each in PAIRS
    ]
    Path("pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chatting("strict") as made:
        yield made


def config(server: ChatServer, **more: Any) -> Any:
    table = {"base_url": server.url, "model": MODEL, "pause": 0.01, **more}
    return judge_config("petra", table, "judge 'petra'", Path())


def lines_of(path: str | Path) -> list[Line]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def answered(server: ChatServer, asked: list[Line]) -> list[Line]:
    """What the server makes of the lines of a batch, as OpenAI's output files have it."""
    with httpx2.Client() as client:
        made = []
        for line in asked:
            assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
            reply = client.post(server.url.removesuffix("/v1") + line["url"], json=line["body"])
            response = {"status_code": reply.status_code, "request_id": "r", "body": reply.json()}
            made.append({"id": "batch_req_1", "custom_id": line["custom_id"], "response": response, "error": None})
    return made


def errored(line: Line, error: Line, status: int | None = None) -> Line:
    """The line of an error file in place of an answer."""
    response = None if status is None else {"status_code": status, "request_id": "r", "body": {"error": error}}
    return {**line, "response": response, "error": error if status is None else None}


def put(path: str, lines: list[Line]) -> str:
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def rows(asked: str = "SELECT query_id, doc_id, repeat, state, grade, model, raw IS NULL, reader FROM judgment") -> Any:
    with sqlite3.connect("rankgauge.db") as connection:
        return sorted(connection.execute(asked).fetchall(), key=str)


# ---- out and in ------------------------------------------------------------------------------------------------------


def test_a_batch_comes_to_the_same_labels_as_asking(server: ChatServer, command: Command, folder: Path) -> None:
    words = ("--judge", "petra", "--base-url", server.url, "--model", MODEL)
    assert command("init", "asked").code == 0
    live = command("--project", "asked", "judge", "pairs.jsonl", *words, "-o", "live.txt")
    assert live.code == 0
    calls, bodies = server.calls, sorted(map(json.dumps, server.bodies))

    said = command("judge", "pairs.jsonl", *words, "--batch", "ask.jsonl")
    assert (said.code, server.calls) == (0, calls)  # nothing is sent
    assert said.out.startswith("petra: 12 pairs, 0 answers stored, 12 questions written, about ")
    asked = lines_of("ask.jsonl")
    assert sorted(json.dumps(line["body"]) for line in asked) == bodies  # what asking sends
    assert len({line["custom_id"] for line in asked}) == 12

    done = answered(server, asked)
    whole = list(done)
    done[1] = errored(done[1], TOO_LONG, 400)
    done[2] = errored(done[2], EXPIRED)
    missing = done.pop(3)
    foreign = [{**done[0], "custom_id": "invoice-7"}, errored({**done[0], "custom_id": "invoice-8"}, EXPIRED)]
    random.Random(7).shuffle(done)
    output = put("output.jsonl", [line for line in done if line["response"]] + foreign[:1])
    errors = put("errors.jsonl", [line for line in done if not line["response"]] + foreign[1:])
    taken = command("judge", "pairs.jsonl", *words, "--batch-results", errors, output, "-o", "some.txt")
    assert (taken.code, server.calls) == (4, calls + 12)
    told = " ".join(taken.out.split())
    assert told.startswith("petra graded 9 of 12 pairs.")
    assert "2 lines of the files answer no question of this command" in told
    assert "failed: the batch has an error for it:" in told
    assert "maximum context length is 4096 tokens" in told
    assert "no answer: the batch has an error for it:" in told
    assert "batch_expired" in told
    assert "no answer: the files have no line for it" in told
    some, every = (set(Path(name).read_text().splitlines()) for name in ("some.txt", "live.txt"))
    assert some < every
    assert len(every - some) == 3

    rest = command("judge", "pairs.jsonl", *words, "--batch-results", put("rest.jsonl", [whole[2], missing, whole[1]]))
    assert rest.code == 0
    command("judge", "pairs.jsonl", *words, "-o", "batch.txt")
    assert sorted(Path("batch.txt").read_text().splitlines()) == sorted(every)
    assert server.calls == calls + 12
    with sqlite3.connect(folder / "asked" / "rankgauge.db") as connection:
        columns = "query_id, doc_id, repeat, grade, reason, model, tokens_in, tokens_out, calls, answer, key, cut"
        as_asked = sorted(connection.execute(f"SELECT {columns} FROM judgment"))
    graded = rows(f"SELECT {columns} FROM judgment WHERE state = 'graded'")
    later = [each for each in graded if each[-3:-1] not in {row[-3:-1] for row in as_asked}]
    assert len(graded) == 12
    assert [each[1] for each in later] == ["d1"]  # whose error was there before, so that it is the second attempt
    assert {each[:-2] for each in graded} == {each[:-2] for each in as_asked}


def test_twice_changes_nothing_in_any_order(server: ChatServer) -> None:
    write_batch(Project("."), config(server), PAIRS, "ask.jsonl")
    done = answered(server, lines_of("ask.jsonl"))
    with chatting("prose") as prose:
        unreadable = answered(prose, lines_of("ask.jsonl")[:2])
    bad = put("errors.jsonl", [errored(done[0], TOO_LONG, 400), errored(done[1], TOO_LONG, 400)])
    worse = put("unread.jsonl", unreadable)
    good = put("output.jsonl", done[1:])

    def read(*paths: str) -> Any:
        read_batch(Project("."), config(server), PAIRS, Results(paths))
        return rows()

    first = read(bad)
    assert read(bad) == read(bad, bad) == first
    second = read(worse)
    assert len(second) == len(first) + 2
    assert read(bad) == read(worse) == read(bad, worse) == second
    third = read(good, bad)
    assert read(worse, bad, good) == read(good) == read(bad) == third
    assert len(third) == len(second) + 11
    grades = dict(rows("SELECT doc_id, grade FROM judgment WHERE grade IS NOT NULL"))
    assert grades == {f"d{n}": float(n % 4) for n in range(12) if n != 0}
    judged = read_batch(Project("."), config(server), PAIRS, Results([bad, good]))
    assert (judged.graded, judged.open, judged.calls, judged.before) == (11, 1, 0, 12)


@pytest.mark.parametrize("order", [0, 1])
def test_of_several_answers_one_with_a_grade_counts(server: ChatServer, order: int) -> None:
    write_batch(Project("."), config(server), PAIRS[:1], "ask.jsonl")
    good = put("good.jsonl", answered(server, lines_of("ask.jsonl")))
    with chatting("refusal") as shy:
        bad = put("bad.jsonl", answered(shy, lines_of("ask.jsonl")))
    judged = read_batch(Project("."), config(server), PAIRS[:1], Results([[bad, good], [good, bad]][order]))
    assert (judged.graded, len(rows())) == (1, 1)


def test_what_is_answered_is_not_written(server: ChatServer, command: Command) -> None:
    ask_judge(Project("."), config(server), PAIRS[:5])
    twins = [*PAIRS, PAIRS[7]._replace(doc_id="copy")]
    batch = write_batch(Project("."), config(server), twins, "ask.jsonl")
    assert (batch.pair_count, batch.answered, batch.questions, len(lines_of("ask.jsonl"))) == (13, 5, 7, 7)
    put("output.jsonl", answered(server, lines_of("ask.jsonl")))
    assert read_batch(Project("."), config(server), twins, Results(["output.jsonl"])).graded == 13
    Path("ask.jsonl").unlink()
    words = ("--judge", "petra", "--base-url", server.url, "--model", MODEL, "--batch", "ask.jsonl")
    said = command("judge", "pairs.jsonl", *words)
    assert said.out == "petra: 12 pairs, 12 answers stored; nothing is left to ask, and nothing was\n  written.\n"
    assert not Path("ask.jsonl").exists()


def test_what_failed_is_asked_again_with_a_reminder(server: ChatServer) -> None:
    write_batch(Project("."), config(server), PAIRS[:3], "ask.jsonl")
    asked = lines_of("ask.jsonl")
    with chatting("prose") as prose:
        done = [*answered(prose, asked[:1]), errored(answered(prose, asked[1:2])[0], TOO_LONG, 400)]
    with chatting("refusal") as shy:
        done += answered(shy, asked[2:])
    judged = read_batch(Project("."), config(server), PAIRS[:3], Results([put("output.jsonl", done)]))
    assert dict(judged.states) == {"failed": 2, "refused": 1}
    assert write_batch(Project("."), config(server), PAIRS[:3], "more.jsonl").questions == 0
    assert write_batch(Project("."), config(server), PAIRS[:3], "more.jsonl", again=True).questions == 3
    more = lines_of("more.jsonl")
    assert [line["custom_id"] for line in more] == [line["custom_id"] for line in asked]
    reminded = [line["body"]["messages"][0]["content"].endswith(REMINDER.format(grades="0, 1, 2, 3")) for line in more]
    assert reminded == [True, False, False]  # an error is no answer that could not be read
    put("second.jsonl", answered(server, more))
    for paths in (["second.jsonl"], ["output.jsonl"], ["second.jsonl", "output.jsonl"]):
        assert read_batch(Project("."), config(server), PAIRS[:3], Results(paths)).graded == 3
    assert len(rows()) == 6


def test_repeats_and_log_probabilities(server: ChatServer) -> None:
    judge = config(server, prompt="digit")
    assert write_batch(Project("."), judge, PAIRS[:2], "ask.jsonl", repeats=3).questions == 6
    asked = lines_of("ask.jsonl")
    assert {line["body"]["max_tokens"] for line in asked} == {1}
    assert all(line["body"]["logprobs"] and "response_format" not in line["body"] for line in asked)
    done = put("output.jsonl", answered(server, asked))
    few = read_batch(Project("."), judge, PAIRS[:2], results := Results([done]))
    assert (few.graded, results.foreign) == (2, 4)  # asked with other options
    judged = read_batch(Project("."), judge, PAIRS[:2], results := Results([done]), repeats=3)
    assert (judged.graded, judged.consistency, results.foreign) == (2, 1.0, 0)
    sure = rows("SELECT repeat, doc_id, round(expected, 2), round(mass, 2) FROM judgment")
    assert sure == [(repeat, f"d{n}", n + 0.1, 1.0) for repeat in range(3) for n in range(2)]


def test_a_pair_that_somebody_graded_meanwhile_keeps_its_answer(server: ChatServer, command: Command) -> None:
    words = ("--judge", "petra", "--base-url", server.url, "--model", MODEL)
    with Project(".").store(write=True) as store:
        keep_texts(store, PAIRS)
    assert command("judge", *words, "--batch", "ask.jsonl").code == 0
    put("output.jsonl", answered(server, lines_of("ask.jsonl"))[:6])
    Path("ann.txt").write_text("q0 0 d0 1\nq1 0 d1 1\nq2 0 d11 1\n")
    assert command("store", "import", "ann.txt", "--judge", "ann").code == 0
    said = command("judge", *words, "--batch-results", "output.jsonl")
    assert said.out.startswith("petra graded 6 of 11 pairs.")  # without d11, which has a grade and no line
    assert said.code == 4
    assert len(rows("SELECT * FROM judgment WHERE answer IS NOT NULL")) == 6


# ---- what the server takes -------------------------------------------------------------------------------------------


def test_a_schema_unless_the_store_knows_better(server: ChatServer) -> None:
    write_batch(Project("."), config(server), PAIRS[:1], "ask.jsonl")
    (line,) = lines_of("ask.jsonl")
    schema = Prompt.of("graded").schema(GRADED)
    strict = {"name": "answer", "strict": True, "schema": schema}
    assert line["body"]["response_format"] == {"type": "json_schema", "json_schema": strict}
    server.personality = "object only"
    ask_judge(Project("."), config(server), PAIRS[:1])
    write_batch(Project("."), config(server), PAIRS, "more.jsonl")
    assert {line["body"]["response_format"]["type"] for line in lines_of("more.jsonl")} == {"json_object"}


def test_what_is_refused_by_name_is_left_out_of_the_next_batch(server: ChatServer) -> None:
    server.personality = "no max_tokens"
    for written in (12, 12):
        assert write_batch(Project("."), config(server), PAIRS, "ask.jsonl").questions == written
        put("output.jsonl", answered(server, lines_of("ask.jsonl")))
        judged = read_batch(Project("."), config(server), PAIRS, Results(["output.jsonl"]))
        if judged.graded:
            break
        assert {*judged.errors.values()} == {"the server takes no max_tokens; the next batch goes without it"}
        assert rows() == []
    assert judged.graded == 12
    assert {"max_completion_tokens"} <= lines_of("ask.jsonl")[0]["body"].keys()


@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
def test_what_may_pass_leaves_the_pair_open(server: ChatServer, status: int) -> None:
    write_batch(Project("."), config(server), PAIRS[:1], "ask.jsonl")
    line = errored(lines_of("ask.jsonl")[0], {"message": "not now"}, status)
    line.pop("body")
    judged = read_batch(Project("."), config(server), PAIRS[:1], Results([put("errors.jsonl", [line])]))
    assert (judged.open, len(judged.errors), rows()) == (1, 1, [])
    assert write_batch(Project("."), config(server), PAIRS[:1], "ask.jsonl").questions == 1


# ---- files, tokens, money --------------------------------------------------------------------------------------------


def test_large_batches_are_several_files(server: ChatServer) -> None:
    whole = write_batch(Project("."), config(server), PAIRS, "ask.jsonl")
    assert whole.files == ("ask.jsonl",)
    lines = Path("ask.jsonl").read_bytes().splitlines(keepends=True)
    Path("ask.jsonl").unlink()
    five = write_batch(Project("."), config(server), PAIRS, "ask.jsonl", lines=5)
    assert five.files == ("ask-1.jsonl", "ask-2.jsonl", "ask-3.jsonl")
    assert [len(lines_of(name)) for name in five.files] == [5, 5, 2]
    assert b"".join(Path(name).read_bytes() for name in five.files) == b"".join(lines)
    size = len(lines[0]) + len(lines[1])
    pairs = write_batch(Project("."), config(server), PAIRS, "two.jsonl", size=size + 50)
    assert len(pairs.files) == 6
    assert all(Path(name).stat().st_size <= size + 50 for name in pairs.files)
    again = write_batch(Project("."), config(server), PAIRS, "ask.jsonl", lines=6)
    assert (again.files, again.older) == (("ask-1.jsonl", "ask-2.jsonl"), ("ask-3.jsonl",))
    with pytest.raises(InputError, match="bytes, and a file of a batch 100; lower longest"):
        write_batch(Project("."), config(server), PAIRS, "none.jsonl", size=100)
    assert not list(Path().glob("none*")) + list(Path().glob(".*.partial"))


def test_a_disk_that_fills_leaves_no_half_batch(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: str) -> Any:
        if path == "ask-2.jsonl":
            raise InputError(f"{path}: cannot be written (No space left on device)")
        return opened(path)

    monkeypatch.setattr("rankgauge.judge.batch.opened", broken)
    with pytest.raises(InputError, match="No space left"):
        write_batch(Project("."), config(server), PAIRS, "ask.jsonl", lines=5)
    assert not list(Path().glob("ask*")) + list(Path().glob(".*.partial"))


def test_tokens_cost_and_a_budget(server: ChatServer, command: Command) -> None:
    judge = config(server, prices=PRICES)
    batch = write_batch(Project("."), judge, PAIRS, "ask.jsonl")
    characters = sum(len(line["body"]["messages"][0]["content"]) for line in lines_of("ask.jsonl"))
    assert batch.tokens_in == characters / 4
    assert batch.cost == pytest.approx((batch.tokens_in * 0.25 + batch.tokens_out * 2) / 1e6)
    few = write_batch(Project("."), config(server, prices=PRICES, budget=0.01), PAIRS, "few.jsonl")
    assert 0 < few.questions < 12
    assert few.questions + few.left == 12
    with pytest.raises(InputError, match=r"the budget of \$0\.0010 has no room for another answer"):
        write_batch(Project("."), config(server, prices=PRICES, budget=0.001), PAIRS, "none.jsonl")
    judged = read_batch(
        Project("."), judge, PAIRS, Results([put("output.jsonl", answered(server, lines_of("few.jsonl")))])
    )
    assert judged.cost == pytest.approx((server.tokens_in * 0.25 + server.tokens_out * 2) / 1e6)
    assert rows("SELECT SUM(cost) FROM judgment")[0][0] == pytest.approx(judged.cost)
    words = ("--judge", "petra", "--base-url", server.url, "--model", MODEL)
    prices = ("--set", "prices={ input = 0.25, output = 2.0, per = 1_000_000, currency = '$' }")
    said = command("judge", "pairs.jsonl", *words, *prices, "--set", "budget=0.01", "--batch", "x.jsonl").out
    assert ", about $0." in said
    assert "The budget has no room for " in said


# ---- what is wrong ---------------------------------------------------------------------------------------------------

GOOD = {"custom_id": "a", "response": {"status_code": 200, "body": {"choices": []}}, "error": None}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (json.dumps(GOOD).encode(), "x.jsonl: 1 answer, none to a question of this judge here; read it in the project"),
        (b"", "x.jsonl: is empty"),
        (b"\n\n", "x.jsonl: is empty; expected what a server made of a batch"),
        (b"hello\n", "x.jsonl:1: is not JSON: Expecting value at column 1; download the file again"),
        (json.dumps(GOOD).encode() + b'\n{"custom_id": "b", "resp', "x.jsonl:2: is not JSON:"),
        (b'{"custom_id": "\xff"}\n', "x.jsonl:1: "),
        (b"[1]\n", "x.jsonl:1: expected one JSON object a line"),
        (b'{"custom_id": 7, "response": {"status_code": 200}}\n', "x.jsonl:1: expected a line of a batch's output"),
        (b'{"custom_id": "a", "response": null, "error": null}\n', "x.jsonl:1: expected a line of a batch's output"),
        (b'{"custom_id": "a", "response": {"body": {}}}\n', "x.jsonl:1: the response has no status_code"),
        (b'{"custom_id": "a", "method": "POST", "body": {}}\n', "x.jsonl:1: is a question of a batch"),
        (b'{"query_id": "q", "doc_id": "d"}\n', "x.jsonl:1: expected a line of a batch's output"),
    ],
)
def test_files_that_are_wrong(server: ChatServer, command: Command, content: bytes, said: str) -> None:
    words = ("--judge", "petra", "--base-url", server.url, "--model", MODEL)
    write_batch(Project("."), config(server), PAIRS, "ask.jsonl")
    put("good.jsonl", answered(server, lines_of("ask.jsonl")))
    Path("x.jsonl").write_bytes(content)
    alone = command("judge", "pairs.jsonl", *words, "--batch-results", "x.jsonl")
    assert (alone.code, alone.out, alone.err.count("\n")) == (2, "", 1)
    assert said in alone.err
    both = command("judge", "pairs.jsonl", *words, "--batch-results", "good.jsonl", "x.jsonl")
    if "none to a question" in said:  # among others it is counted
        assert (both.code, "1 line of the files answers no question" in both.out) == (0, True)
        return
    assert (both.code, rows()) == (2, [])  # nothing is stored by halves
    assert command("judge", "pairs.jsonl", *words, "--batch-results", "good.jsonl").code == 0


def test_a_body_that_is_no_object_is_an_error(server: ChatServer) -> None:
    write_batch(Project("."), config(server), PAIRS[:1], "ask.jsonl")
    line = {"custom_id": lines_of("ask.jsonl")[0]["custom_id"], "response": {"status_code": 502, "body": "<html>"}}
    judged = read_batch(Project("."), config(server), PAIRS[:1], Results([put("output.jsonl", [line])]))
    assert "<html>" in next(iter(judged.errors.values()))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--batch", "ask.csv"], "ask.csv: a batch is a file of JSON lines; name it so, such as batch.jsonl"),
        (["--batch", "-"], "-: a batch is a file of JSON lines"),
        (["--batch", "nowhere/ask.jsonl"], "there is no folder"),
        (["--batch", "pairs.jsonl"], "this file is read"),
        (["--batch", "ask.jsonl", "--dry-run"], "exclude each other"),
        (["--batch", "ask.jsonl", "--batch-results", "x.jsonl"], "exclude each other"),
        (["--batch-results", "x.jsonl", "--again"], "exclude each other"),
        (["--batch-results", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_options_that_are_wrong(server: ChatServer, command: Command, words: list[str], said: str) -> None:
    given = ("--judge", "petra", "--base-url", server.url, "--model", MODEL)
    refused = command("judge", "pairs.jsonl", *given, *words)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err
    assert not Path("ask.jsonl").exists()


def test_judges_that_take_no_batch(server: ChatServer, command: Command) -> None:
    lacks = command("judge", "pairs.jsonl", "--judge", "x", "--base-url", server.url, "--batch", "ask.jsonl")
    assert "lacks model, which every line of a batch names" in lacks.err
    call = command("judge", "pairs.jsonl", "--judge", "x", "--call", "mine:grade", "--batch", "ask.jsonl")
    assert "the judge is a function (call); a batch is for a model behind a server" in call.err
    assert server.paths.total() == 0
    tables = "".join(f'[judges.{name}]\nmodel = "{name}"\nbase_url = "{server.url}"\n' for name in ("one", "two"))
    with Path("rankgauge.toml").open("a") as file:
        file.write(tables)
    both = command("judge", "pairs.jsonl", "--judge", "one", "--judge", "two", "--batch", "ask.jsonl")
    assert "a batch has one model; write one for each judge" in both.err


def test_the_files_of_two_judges_are_read_together(server: ChatServer, command: Command) -> None:
    with Path("rankgauge.toml").open("a") as file:
        for name in ("one", "two"):
            file.write(f'[judges.{name}]\nmodel = "{name}"\nbase_url = "{server.url}"\n')
    for name in ("one", "two"):
        assert command("judge", "pairs.jsonl", "--judge", name, "--batch", f"{name}.jsonl").code == 0
        put(f"from-{name}.jsonl", answered(server, lines_of(f"{name}.jsonl")))
    words = ("--judge", "one", "--judge", "two", "--batch-results", "from-one.jsonl", "from-two.jsonl")
    said = command("judge", "pairs.jsonl", *words)
    assert said.code == 0
    assert "one graded 12 of 12 pairs." in said.out
    assert "two graded 12 of 12 pairs." in said.out
    assert "no question of this command" not in said.out


def test_no_key_is_in_a_batch(server: ChatServer, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_PETRA", "sk-9c31")
    words = ("--judge", "petra", "--base-url", server.url, "--model", MODEL, "--set", "key=${SECRET_OF_PETRA}")
    said = command("judge", "pairs.jsonl", *words, "--batch", "ask.jsonl")
    assert said.code == 0
    assert "sk-9c31" not in Path("ask.jsonl").read_text() + said.out + said.err
    monkeypatch.delenv("SECRET_OF_PETRA")  # which nobody needs to write one
    assert command("judge", "pairs.jsonl", *words, "--batch", "ask.jsonl").code == 0
