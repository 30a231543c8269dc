"""The client of chat completions: what is sent, what is given up, what stops, and how many calls each costs."""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_server import MODEL, PERSONALITIES, STONES, ChatServer, chatting, specimen, until
from rankgauge.errors import InputError
from rankgauge.judge.chat import LONGEST_PAUSE, Ability, Chat, Reply, _is_empty, _reply, refused
from rankgauge.systems.hits import Failed
from rankgauge.systems.workers import Again, Busy, Done, Limits, Pool, Stop, TimedOut

pytest.importorskip("httpx2", reason="the extra loop is not installed")

URL = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, r"\$\{THE_KEY\} is not set; set it in the environment: export THE_KEY=…"),
        ("", r"\$\{THE_KEY\} is not set"),
        ("sk-1234567890\n", r"\$\{THE_KEY\} has a newline in it; set it again: export THE_KEY=…"),
        ("sk-1234\n567890", r"\$\{THE_KEY\} has a newline in it"),
        ("sk-1234 567890", r"\$\{THE_KEY\} has what no header can hold"),
        ("schlüssel", r"\$\{THE_KEY\} has what no header can hold"),
    ],
)
def test_a_bad_key_is_one_error_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, value: str | None, words: str
) -> None:
    monkeypatch.delenv("THE_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("THE_KEY", value)
    with pytest.raises(InputError, match=f"^the test: {words}") as error:
        Chat(URL, "m", "${THE_KEY}", where="the test")
    assert "1234" not in str(error.value)


def test_the_usual_variable_is_the_key_unless_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    with pytest.raises(InputError, match="OPENAI_API_KEY is empty; set it, or unset it"):
        Chat(URL, "m")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
    assert Chat(URL, "m").headers == {"Authorization": "Bearer ${OPENAI_API_KEY}"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"key": "sk-1234567890"}, r"key is written outright, and would be stored; write \$\{NAME\} for it"),
        ({"key": " "}, r"key is empty; write \$\{NAME\} for it"),
        ({"base_url": "api.example.com/v1"}, "base_url = 'api.example.com/v1' is no address"),
        ({"base_url": f"{URL}/chat/completions/"}, "leave /chat/completions out"),
        ({"base_url": f"{URL}?version=2"}, r"leave \?version=2 out"),
        ({"base_url": "http://me:1234@127.0.0.1/v1"}, r"base_url has a password, which would be stored; write \$"),
    ],
)
def test_what_cannot_be_a_server_is_one_error(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        Chat(**{"base_url": URL, "model": "m", **given})
    assert "1234" not in str(error.value)


def test_what_a_server_takes_can_be_kept() -> None:
    found = Ability("json_object", ("seed", "temperature"), True, 5)
    assert Ability.of(found.to_dict()) == found
    assert Ability.of(Ability().to_dict()) == Ability()


# ---- every personality -----------------------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "grade": {"type": "integer", "enum": [0, 1, 2, 3]}},
    "required": ["reason", "grade"],
    "additionalProperties": False,
}
PARAMETERS = {"temperature": 0, "seed": 7, "max_tokens": 200}
QUICK = Limits(workers=3, timeout=60, retries=4, pause=0.01)
IMPATIENT = QUICK._replace(timeout=0.2)  # for servers from which no answer comes, however long one waits
PAIRS = 6


class Asked(NamedTuple):
    """What came of asking about all specimens: a reply or an error each, and why the pool stopped."""

    replies: dict[str, Reply]
    errors: dict[str, str]
    stopped: str | None
    chat: Chat

    @property
    def contents(self) -> list[Any]:
        return [reply.response["choices"][0]["message"]["content"] for _, reply in sorted(self.replies.items())]


# A document may say what errors say.
NOISE = 'It says: {"code": "insufficient_quota", "param": "seed"}, temperature, response_format, ü, context length.'


def question(name: str) -> str:
    text = f"{specimen(name, int(name[1:]) % len(STONES))}\n{NOISE}"
    return f'Grade this:\n{text}\nAnswer in JSON with the keys "reason" and "grade".'


def ask_all(server: ChatServer, pairs: int = PAIRS, limits: Limits = QUICK, **about: Any) -> Asked:
    how = {"logprobs": about.pop("logprobs", False), "one_token": about.pop("one_token", False)}
    schema = about.pop("schema", SCHEMA)
    chat = Chat(**{"base_url": server.url, "model": MODEL, "parameters": PARAMETERS, "limits": limits, **about})
    replies: dict[str, Reply] = {}
    errors: dict[str, str] = {}

    def keep(done: Done[str, Reply]) -> None:
        if done.result is None:
            errors[done.item] = str(done.error)
        else:
            replies[done.item] = done.result

    pool: Pool[str, Reply] = Pool(limits, longest_pause=LONGEST_PAUSE, alone=True)
    with closing(chat):
        pool.run([f"d{at}" for at in range(pairs)], lambda name: chat.ask(question(name), schema, **how), keep)
    return Asked(replies, errors, pool.stopped, chat)


# Personality → calls for six pairs, and the text of an answer, the error of every pair (✗), or why all stopped (■).
ONCE = 2 * PAIRS  # the first question about each is of no use
FIVE = 5 * PAIRS
OBJECT = r'{"reason": ".*", "grade": \d}'
WELL: dict[str, tuple[int, str]] = {
    "strict": (6, OBJECT),
    "random lengths": (6, OBJECT),
    "odd characters": (6, OBJECT),
    "ignores the format": (6, r"\d"),
    "object only": (7, OBJECT),
    "no format": (8, OBJECT),
    "no format of pydantic": (8, OBJECT),
    "no temperature": (7, OBJECT),
    "no seed": (7, OBJECT),
    "no max_tokens": (7, OBJECT),
    "no limit at all": (8, OBJECT),
    "takes nothing": (11, OBJECT),
    "no logprobs": (6, OBJECT),
    "five logprobs": (6, OBJECT),
    "fenced": (6, r"Here is my answer:\n```json\n(.|\n)*"),
    "thinking": (6, r"<think>.*</think>\n" + OBJECT),
    "reasoning apart": (6, OBJECT),
    "another model": (6, OBJECT),
    "same twice": (6, OBJECT),
    "unclosed thinking": (6, "<think>.*"),
    "truncated": (6, "The document.*"),
    "truncated under a schema": (6, '{"reason": "It is'),
    "truncated after a wrong grade": (6, ".*"),
    "wrong grade": (6, r".*9}"),
    "half grade": (6, r".*1\.5}"),
    "text grade": (6, r'.*"\d"}'),
    "two grades": (6, r"(.|\n)*"),
    "prose": (6, "The document.*"),
    "the scale echoed": (6, r"(.|\n)*"),
    "a token loop": (6, "( 1 cialis)+"),
    "refusing in words": (6, "I'm sorry.*"),
    "other keys": (6, '{"label".*'),
    "two choices": (6, OBJECT),
    "content filter": (6, ""),
    "429 with seconds": (ONCE, OBJECT),
    "429 with a date": (ONCE, OBJECT),
    "503 once": (ONCE, OBJECT),
    "a gateway's page once": (ONCE, OBJECT),
    "empty once": (ONCE, OBJECT),
    "no choices once": (ONCE, OBJECT),
    "200 with an error once": (ONCE, OBJECT),
    "200 with a refusal": (8, OBJECT),
    "error in a choice once": (ONCE, OBJECT),
    "dropped once": (ONCE, OBJECT),
    "cut off once": (ONCE, OBJECT),
}
# Whoever asks gives up, or on a busy machine the pool, which waits a little longer.
LATE = r"no (whole )?answer within 0\.2 seconds; allow more: timeout = "
FAILING: dict[str, tuple[int, str]] = {
    "429 always": (FIVE, "the server answered 429: .*slow down"),
    "503 always": (FIVE, "the server answered 503: .*the model is loading"),
    "empty always": (FIVE, "the server answered 200 with an empty answer$"),
    "no choices": (FIVE, "the server answered 200 without choices: "),
    "200 with a bad request": (PAIRS, "the server answered 200 with an error: .*bad request"),
    "error in a choice": (FIVE, "the server answered 200 with an error: .*upstream closed"),
    "200 with an error": (FIVE, "the server answered 200 with an error: .*Provider returned error"),
    "dropped": (FIVE, "the connection broke"),
    "cut off": (FIVE, "the connection broke"),
    "slow": (PAIRS, LATE),
    "slow once": (PAIRS, LATE),
    "dripping": (PAIRS, LATE),
    "dripping headers": (PAIRS, LATE),
    "no JSON": (PAIRS, "the answer is not JSON"),
}
STOPPING: dict[str, str] = {
    "HTML": "the server answered 200: .*Sign in.*; that is a page, not an API: check base_url, which often ends in /v1",
    "redirect": "the server redirects .307. to '/v2/chat/completions', which is not followed; .* as base_url",
    "wrong key": r'the server answered 401: .*; give its key: key = "\$\{NAME\}", and set NAME',
    "200 with a wrong key": "the server answered 401: .*User not found",
    "forbidden": "the server answered 403: .*; the key may not do this",
    "no model": f"the server answered 404: .*; check model, .*; served are {MODEL}",
    "no quota": "the server answered 429: .*; there is no quota left",
    "no money": "the server answered 402: .*Insufficient Balance",
    "429 with an hour": "the server answered 429: .*; run the same command again after 3,600 seconds",
}
ALONE = {"too long", "does not say", "content in parts", "tool call", "refusal"}  # each has a test of its own


def test_every_personality_has_its_row() -> None:
    rows = [*WELL, *FAILING, *STOPPING, *ALONE]
    assert sorted(rows) == sorted(name for name in PERSONALITIES if not name.startswith(("echo", "prose, ")))
    assert len(rows) >= 36


@pytest.mark.parametrize("personality", WELL)
def test_what_comes_back_and_how_many_calls_it_takes(personality: str) -> None:
    calls, content = WELL[personality]
    with chatting(personality) as server:
        asked = ask_all(server)
        assert (len(asked.replies), asked.errors, asked.stopped) == (PAIRS, {}, None)
        assert all(re.fullmatch(content, each or "") for each in asked.contents)
        assert server.calls == calls
        assert set(server.paths) == {"POST /v1/chat/completions"}
        given = sum(reply.calls for reply in asked.replies.values())
        assert given == (PAIRS if calls == ONCE else calls)
    if content == OBJECT:
        assert [json.loads(each)["grade"] for each in asked.contents] == [0, 1, 2, 3, 0, 1]


@pytest.mark.parametrize("personality", FAILING)
def test_what_fails_fails_pair_by_pair_with_the_reason(personality: str) -> None:
    calls, words = FAILING[personality]
    with chatting(personality) as server:
        asked = ask_all(server, limits=IMPATIENT if words == LATE else QUICK)
        assert (asked.replies, len(asked.errors), asked.stopped) == ({}, PAIRS, None)
        assert all(re.match(words, each) for each in asked.errors.values()), asked.errors
        until(lambda: server.calls >= calls)  # what was given up may not have been read yet
        assert server.calls == calls


@pytest.mark.parametrize("personality", ["slow", "dripping"])
def test_whoever_asks_gives_up_by_itself(personality: str) -> None:
    said = r"^no whole answer within 0\.2 seconds; allow more: timeout = …$"
    with (
        chatting(personality) as server,
        closing(Chat(server.url, MODEL, limits=IMPATIENT)) as chat,
        pytest.raises(TimedOut, match=said),
    ):
        chat.ask(question("d0"), SCHEMA)


def test_whoever_does_not_give_up_is_left_behind() -> None:
    """A header that never ends is an answer on its way, for as long as it takes."""
    with chatting("dripping headers") as server:
        errors = ask_all(server, 1, IMPATIENT).errors
        assert errors == {"d0": "no answer within 0.2 seconds; allow more: timeout = 1"}


@pytest.mark.parametrize("personality", STOPPING)
def test_what_holds_for_every_question_costs_one_call(personality: str) -> None:
    with chatting(personality) as server:
        asked = ask_all(server)
        assert (asked.replies, server.calls) == ({}, 1)
        assert len(asked.errors) <= (personality == "429 with an hour")
        assert re.match(STOPPING[personality], str(asked.stopped)), asked.stopped
        assert server.paths["GET /v1/models"] == (personality == "no model")


@pytest.mark.parametrize(
    ("personality", "message"),
    [
        ("content in parts", {"content": [{"type": "text", "text": '{"reas'}, {"type": "text", "text": "…"}]}),
        ("tool call", {"content": None, "tool_calls": [{"function": {"arguments": '{"grade": 0}'}}]}),
        ("refusal", {"content": None, "refusal": "I'm sorry, I cannot assist with that request."}),
    ],
)
def test_an_answer_that_is_no_text_comes_back_as_it_is(personality: str, message: dict[str, Any]) -> None:
    with chatting(personality) as server:
        asked = ask_all(server)
        assert (len(asked.replies), asked.errors, server.calls) == (PAIRS, {}, PAIRS)
        said = asked.replies["d0"].response["choices"][0]["message"]
        assert message.keys() <= said.keys()
        assert said["content"] is None or isinstance(said["content"], list)
        assert said.get("refusal") == message.get("refusal")


# ---- what a server takes ---------------------------------------------------------------------------------------------

FOUND = {
    "strict": Ability("json_schema"),
    "object only": Ability("json_object"),
    "no format": Ability("text"),
    "no format of pydantic": Ability("text"),
    "no temperature": Ability("json_schema", ("temperature",)),
    "no max_tokens": Ability("json_schema", completion=True),
    "no limit at all": Ability("json_schema", ("max_completion_tokens",), completion=True),
    "takes nothing": Ability("text", ("seed", "temperature"), completion=True),
}


@pytest.mark.parametrize("personality", FOUND)
def test_what_a_server_takes_is_found_once_and_used_the_next_time(personality: str) -> None:
    with chatting(personality) as server:
        found = ask_all(server).chat.ability
        assert found == FOUND[personality]
        assert found.limited == (personality != "no limit at all")
        before = server.calls
        kept = Ability.of(json.loads(json.dumps(found.to_dict())))
        assert len(ask_all(server, ability=kept).replies) == PAIRS
        assert server.calls == before + PAIRS
        sent = server.bodies[-1]
        assert ("max_completion_tokens" in sent, "max_tokens" in sent) == (
            found.completion and found.limited,
            not found.completion,
        )
        assert not sent.keys() & {*found.given_up}
        assert sent.get("response_format", {}).get("type", "text") == found.rung


def test_what_is_sent_is_what_servers_document() -> None:
    with chatting() as server:
        ask_all(server, 1)
        assert server.bodies == [
            {
                "model": MODEL,
                "messages": [{"role": "user", "content": question("d0")}],
                "temperature": 0,
                "seed": 7,
                "max_tokens": 200,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
                },
            }
        ]
        ask_all(server, 1, schema=None, one_token=True, logprobs=True)
        more = {"max_tokens": 1, "logprobs": True, "top_logprobs": 20}
        assert {name: server.bodies[-1][name] for name in more} == more
        assert "response_format" not in server.bodies[-1]


@pytest.mark.parametrize(
    ("personality", "calls", "found"),
    [("strict", 6, Ability()), ("five logprobs", 7, Ability(tops=5)), ("no logprobs", 7, Ability(None, ("logprobs",)))],
)
def test_probabilities_are_asked_for_as_far_as_they_are_given(personality: str, calls: int, found: Ability) -> None:
    with chatting(personality) as server:
        asked = ask_all(server, schema=None, one_token=True, logprobs=True)
        assert (server.calls, asked.chat.ability) == (calls, found)
        given = asked.replies["d2"].response["choices"][0].get("logprobs")
        assert (given is None) == (personality == "no logprobs")
        assert given is None or [each["token"] for each in given["content"][0]["top_logprobs"]] == ["2", "3"]


@pytest.mark.parametrize(("personality", "calls"), [("too long", 6), ("does not say", 7)])
def test_what_is_wrong_with_one_question_changes_nothing_for_the_others(personality: str, calls: int) -> None:
    """A long document is no reason to send no limit; nor is a server that sends back what it was sent."""
    with chatting(personality) as server:
        asked = ask_all(server)
        assert (set(asked.errors), len(asked.replies), server.calls) == ({"d0"}, PAIRS - 1, calls)
        assert asked.errors["d0"].startswith("the server answered 400: ")
        assert asked.chat.ability == Ability("json_schema")
        assert {"temperature", "max_tokens"} <= server.bodies[-1].keys()


def test_half_a_character_is_sent_as_what_can_be_sent() -> None:
    with chatting() as server, closing(Chat(server.url, MODEL, limits=QUICK)) as chat:
        chat.ask("half \ud83d, whole \ud83d\ude00", None)
        assert server.bodies[0]["messages"][0]["content"] == "half \ufffd, whole \U0001f600"


def test_what_two_questions_found_out_is_put_together() -> None:
    one, other = Ability("json_object", ("seed",)), Ability("json_schema", ("temperature",), True, 5)
    assert one.joined(other) == other.joined(one) == Ability("json_object", ("seed", "temperature"), True, 5)
    assert Ability().joined(Ability()) == Ability()
    assert Ability.of({"rung": "text", "of another version": 1}) == Ability("text")


# ---- models, money, secrets ------------------------------------------------------------------------------------------


def test_no_model_is_the_one_that_is_served() -> None:
    with chatting() as server:
        asked = ask_all(server, model=None)
        assert len(asked.replies) == PAIRS
        assert {body["model"] for body in server.bodies} == {MODEL}
        assert server.paths["GET /v1/models"] == 1


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (["a", "b"], "serves a, b; write model"),
        ([*map(str, range(12))], "serves 0, .*, 9 and 2 more;"),
        ([], "does not say what it serves"),
        (None, "does not say what it"),
    ],
)
def test_no_model_is_an_error_unless_one_is_served(models: list[str] | None, words: str) -> None:
    with chatting(models=models) as server, pytest.raises(InputError, match=f"lacks model, and http.*/v1 {words}"):
        ask_all(server, model=None)


def test_the_model_that_answered_is_told() -> None:
    with chatting("another model") as server:
        assert {reply.model for reply in ask_all(server).replies.values()} == {"petrograph-0-mini"}


def test_tokens_are_what_the_server_counted() -> None:
    with chatting() as server:
        replies = ask_all(server).replies.values()
        assert sum(reply.tokens_in or 0 for reply in replies) == server.tokens_in > 0
        assert sum(reply.tokens_out or 0 for reply in replies) == server.tokens_out > 0


@pytest.mark.parametrize(
    ("personality", "kind", "tokens"),
    [
        ("empty always", Again, "as counted"),
        ("no choices", Again, "as counted"),
        ("429 always", Busy, (0, 0)),
        ("503 always", Again, (0, 0)),
        ("too long", Failed, (0, 0)),
        ("wrong key", Stop, (0, 0)),
        ("no quota", Stop, (0, 0)),
        ("200 with an error", Again, (0, 0)),
        ("dropped", Again, None),
        ("cut off", Again, None),
        ("slow", TimedOut, None),
    ],
)
def test_an_error_says_what_it_cost(personality: str, kind: type[Failed], tokens: Any) -> None:
    limits = IMPATIENT if kind is TimedOut else QUICK
    with chatting(personality) as server, closing(Chat(server.url, MODEL, limits=limits)) as chat:
        with pytest.raises(Failed) as raised:
            chat.ask(question("d0"), SCHEMA)
        until(lambda: server.calls > 0)
        assert type(raised.value) is kind
        counted = (server.tokens_in, server.tokens_out)
        assert raised.value.tokens == (counted if tokens == "as counted" else tokens)
        assert raised.value.calls == server.calls == 1


def test_an_error_counts_every_call() -> None:
    with chatting("does not say") as server, closing(Chat(server.url, MODEL, None, PARAMETERS, QUICK)) as chat:
        with pytest.raises(Failed) as raised:
            chat.ask(question("d0"), SCHEMA)
        assert raised.value.calls == server.calls == 2


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({"hint": "seed, temperature", "error": {"param": "temperature", "message": "seed"}}, "temperature"),
        ({"error": {"message": "Unknown field: seed. Known are temperature, max_tokens"}}, "seed"),
        ({"error": "structured outputs need a newer model"}, "response_format"),
        ({"error": {"message": "top_logprobs is too large", "param": None}}, "top_logprobs"),
        ({"error": {"message": "logprobs are not given"}}, "logprobs"),
        ({"error": {"message": "the model m is not loaded", "param": "model"}}, None),
        ("not JSON at all: temperature", "temperature"),
        ([1, "seed"], "seed"),
        ("nothing known", None),
    ],
)
def test_what_is_refused_is_what_is_named_first_where_it_tells_most(said: Any, name: str | None) -> None:
    error = Failed("no")
    error.status, error.text = 400, said if isinstance(said, str) else json.dumps(said)
    names = ("model", "messages", "max_tokens", "temperature", "seed", "logprobs", "top_logprobs", "response_format")
    assert refused(error, dict.fromkeys(names), "the prompt") == name
    error.status = 500
    assert refused(error, dict.fromkeys(names), "the prompt") is None


def test_one_token_is_one_token_whatever_the_limit_is_called() -> None:
    with chatting("no max_tokens") as server:
        ask_all(server, 1, schema=None, one_token=True, parameters={"max_completion_tokens": 500})
        limits = [{name: body[name] for name in body if "max_" in name} for body in server.bodies]
        assert limits == [{"max_tokens": 1}, {"max_completion_tokens": 1}]


def test_a_server_that_is_not_there_costs_nothing() -> None:
    with chatting() as gone:
        url = gone.url
    with pytest.raises(Again, match=r"no server answers there \(.*\); start it, or check base_url") as raised:
        Chat(url, MODEL, limits=QUICK).ask("?", None)
    assert raised.value.tokens == (0, 0)


def test_a_key_goes_to_the_server_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "sk-right-1234567890")
    with chatting(key="sk-right-1234567890") as server:
        assert len(ask_all(server, key="${THE_KEY}").replies) == PAIRS
        monkeypatch.setenv("THE_KEY", "sk-wrong-1234567890")
        asked = ask_all(server, key="${THE_KEY}")
        assert "Incorrect API key provided: Bearer ${THE_KEY}" in str(asked.stopped)
        assert "1234567890" not in f"{asked.stopped} {asked.errors} {vars(asked.chat)['headers']}"
        asked = ask_all(server)
        assert server.headers[-1].get("authorization") is None
        assert "Incorrect API key provided: None" in str(asked.stopped)


# ---- many at once ----------------------------------------------------------------------------------------------------


def test_a_server_that_takes_eight_at_once_is_asked_eight_at_once() -> None:
    limits = Limits(workers=32, timeout=60, retries=4, pause=0.02)
    with chatting(at_once=8, delay=0.02) as server:
        asked = ask_all(server, 300, limits)
        assert (len(asked.replies), asked.errors, asked.stopped) == (300, {}, None)
        assert server.statuses[429] <= 0.1 * server.calls


# ---- whatever comes back ---------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 500) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["choices", "message", "content", "usage", "error", "code"]), inner)
    ),
    max_leaves=12,
)


@given(answer=anything)
def test_whatever_the_JSON_it_is_a_reply_or_an_error_with_words(answer: Any) -> None:
    try:
        reply = _reply(answer, 1)
    except Failed as error:
        words = str(error)
    else:
        words, message = "", reply.response["choices"][0]["message"]
        assert not _is_empty(message["content"])
    assert not words or re.match(
        "the server answered 200 (without choices|with an error|with an empty answer): ", words
    )
