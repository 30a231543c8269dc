"""A local server of chat completions with many personalities: it answers well, or misbehaves in one way.

It knows the right grade of a document from a kind of stone named in its text, which no reader takes for a grade, and it
counts what it is asked: calls, tokens, how many at once. A personality is a function of `PERSONALITIES`.
"""

from __future__ import annotations

import asyncio
import html
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import quote

__all__ = ["MODEL", "PERSONALITIES", "STONES", "ChatServer", "chatting", "specimen", "until"]

MODEL = "petrograph-1"
STONES = ("quartzite", "feldspar", "obsidian", "tourmaline")  # the grade is the place
SPECIMEN = re.compile(rf"Specimen (\S+) is ({'|'.join(STONES)})\.")
Json = dict[str, Any]


def specimen(name: str, grade: int) -> str:
    """The text of a document that is worth this grade."""
    return f"Specimen {name} is {STONES[grade]}."


def _grade_of(text: str) -> int:
    found = SPECIMEN.search(text)
    return STONES.index(found[2]) if found else 0


class Hangup(Exception):
    """The connection is to be closed."""


class ChatServer:
    """Serves on a port of its own, in a thread of its own, until it is closed."""

    def __init__(self, personality: str = "strict", **settings: Any) -> None:
        self.personality = personality
        self.at_once: int | None = None  # more get 429
        self.delay = 0.0
        self.allowed: int | None = None  # calls beyond so many wait until it is more, or None
        self.key: str | None = None
        self.charge: Any = None  # what an answer costs by its `usage`
        self.models: list[str] | None = [MODEL]
        self.lengths: random.Random | None = None  # of reasons, in words
        self.grade_of: Callable[[str], int] = _grade_of
        for name, value in settings.items():
            setattr(self, name, value)
        self.bodies: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.paths: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.asked: Counter[str] = Counter()  # how often each specimen
        self.at: list[float] = []
        self.slept = 0.0  # as long as answers took at least, which on a busy machine is more than the delay
        self.tokens_in = self.tokens_out = self.now = self.most = self.waiting = self.connections = 0
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ended: asyncio.Event | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> int:
        """How often it was asked for an answer."""
        return len(self.bodies)

    def close(self) -> None:
        assert self._ended is not None
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(60)
        self._loop.close()

    # ---- HTTP --------------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._ended.wait()
        server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.rstrip().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                content = await reader.readexactly(int(headers.get("content-length", 0)))
                method, path, _ = first.split()
                self.paths[f"{method} {path}"] += 1
                await self._answer(method, path, headers, content, writer)
        except (Hangup, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.connections -= 1
            writer.close()

    async def _answer(
        self, method: str, path: str, headers: dict[str, str], content: bytes, writer: asyncio.StreamWriter
    ) -> None:
        if method == "GET" and path.endswith("/v1/models") and self.models is not None:
            listed = [{"id": name, "object": "model"} for name in self.models]
            return await send(writer, 200, {"object": "list", "data": listed})
        if method != "POST" or not path.endswith("/v1/chat/completions"):
            return await send(writer, 404, {"detail": "Not Found"})
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self._completion(Ask(self, writer, json.loads(content)), headers)
        finally:
            self.now -= 1

    async def _completion(self, ask: Ask, headers: dict[str, str]) -> None:
        self.bodies.append(ask.body)
        number = self.calls
        self.headers.append(headers)
        self.at.append(time.monotonic())
        ask.times = self.asked[ask.name] = self.asked[ask.name] + 1
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            await ask.refuse(401, f"Incorrect API key provided: {headers.get('authorization')}")
        elif self.at_once is not None and self.now > self.at_once:
            await ask.refuse(429, "Rate limit reached: too many at once", code="rate_limit_exceeded")
        else:
            began = time.monotonic()
            await asyncio.sleep(self.delay)
            self.slept += time.monotonic() - began
            await self._allowed(number)
            await PERSONALITIES[self.personality](ask)

    async def _allowed(self, number: int) -> None:
        if self.allowed is None or number <= self.allowed:
            return
        self.waiting += 1
        while self.allowed is not None and number > self.allowed:
            await asyncio.sleep(0.005)
        self.waiting -= 1


async def send(
    writer: asyncio.StreamWriter, status: int, answer: Json | str, *, length: int | None = None, **headers: str
) -> None:
    """An answer with headers; `length` may lie."""
    content = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
    kind = "text/html" if isinstance(answer, str) else "application/json"
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {length or len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + content)
    await writer.drain()


@contextmanager
def chatting(personality: str = "strict", **settings: Any) -> Iterator[ChatServer]:
    server = ChatServer(personality, **settings)
    try:
        yield server
    finally:
        server.close()


def until(reached: Callable[[], bool]) -> None:
    """Wait for what comes soon."""
    deadline = time.monotonic() + 60
    while not reached() and time.monotonic() < deadline:
        time.sleep(0.002)
    assert reached()


# ---- one call --------------------------------------------------------------------------------------------------------


@dataclass
class Ask:
    """A call, with what is needed to answer it in any way; `times`: how often this specimen was asked about."""

    server: ChatServer
    writer: asyncio.StreamWriter
    body: Json
    times: int = 0

    @property
    def text(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])

    @property
    def name(self) -> str:
        found = SPECIMEN.search(self.text)
        return found[1] if found else ""

    @property
    def grade(self) -> int:
        return self.server.grade_of(self.text)

    @property
    def first(self) -> bool:
        return self.times == 1

    @property
    def rung(self) -> str:
        """How the answer is asked for."""
        return str(self.body.get("response_format", {}).get("type", "text"))

    @property
    def limit(self) -> int | None:
        """Tokens that the answer may have."""
        return self.body.get("max_tokens") or self.body.get("max_completion_tokens")

    @property
    def reason(self) -> str:
        words = self.server.lengths.randint(1, 2 * (self.limit or 100)) if self.server.lengths else 6
        return " ".join(("it is a stone of the kind wanted " * (words // 8 + 1)).split()[:words])

    @property
    def object(self) -> Json:
        """The answer as an object, with the keys of the schema or of the prompt."""
        schema = self.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        keys = list(schema.get("properties", {})) or re.findall(r'"(\w+)"', self.text.partition("with the")[2])
        return {key: self.reason if key == "reason" else self.preference if key == "preference" else self.grade
                for key in keys or ("reason", "grade")}  # fmt: skip

    @property
    def preference(self) -> str:
        grades = [STONES.index(stone) for _, stone in SPECIMEN.findall(self.text)]
        return "tie" if grades[0] == grades[-1] else "A" if grades[0] > grades[-1] else "B"

    @property
    def fair(self) -> str:
        """The right answer as it was asked for: an object, or the grade alone."""
        wants_object = self.rung != "text" or "JSON" in self.text
        return json.dumps(self.object) if wants_object else str(self.grade)

    async def say(self, content: Any, finish: str = "stop", model: str = MODEL, **message: Any) -> None:
        """An answer, cut at the limit of its length."""
        told = content if isinstance(content, str) else json.dumps(content)
        words = re.findall(r"\s*(?:\w+|[^\w\s])", told)
        if self.limit is not None and len(words) > self.limit and isinstance(content, str):
            content, words, finish = "".join(words[: self.limit]), words[: self.limit], "length"
        choice: Json = {"index": 0, "message": {"role": "assistant", "content": content, **message}}
        choice["finish_reason"] = finish
        if self.body.get("logprobs"):
            choice["logprobs"] = {"content": [self.likely()]}
        await self.answer({"choices": [choice], "model": model}, len(words))

    def likely(self) -> Json:
        """The right grade with nine tenths of the mass, the next one with the rest."""
        shares = {str(self.grade): -0.10536, str((self.grade + 1) % 4): -2.302585}
        tops = [{"token": token, "logprob": share, "bytes": [ord(token)]} for token, share in shares.items()]
        return {**tops[0], "top_logprobs": tops[: self.body.get("top_logprobs", 0)]}

    async def answer(self, response: Json, tokens: int = 8) -> None:
        """Whatever is said with a status of 200, and counted."""
        sent = len(re.findall(r"\w+|[^\w\s]", self.text))
        self.server.tokens_in += sent
        self.server.tokens_out += tokens
        self.server.statuses[200] += 1
        usage = {"prompt_tokens": sent, "completion_tokens": tokens, "total_tokens": sent + tokens}
        usage |= {} if self.server.charge is None else {"cost": self.server.charge}
        about = {"id": f"chatcmpl-{self.server.calls}", "object": "chat.completion", "created": 1, "model": MODEL}
        await send(self.writer, 200, {**about, "usage": usage, **response})

    async def refuse(self, status: int, message: str, **error: Any) -> None:
        """An error as OpenAI writes it."""
        self.server.statuses[status] += 1
        told = {"message": message, "type": "invalid_request_error", "param": None, "code": None, **error}
        await send(self.writer, status, {"error": told})

    async def plain(self, status: int, answer: Json | str, **headers: Any) -> None:
        """Any other answer."""
        self.server.statuses[status] += 1
        await send(self.writer, status, answer, **headers)


Personality = Callable[[Ask], Awaitable[None]]
PERSONALITIES: dict[str, Personality] = {}


def named(function: Personality) -> Personality:
    """A personality is called as its function is, with blanks."""
    PERSONALITIES[function.__name__.strip("_").replace("_", " ")] = function
    return function


# ---- well-behaved, each in its way -----------------------------------------------------------------------------------


@named
async def strict(ask: Ask) -> None:
    await ask.say(ask.fair)


@named
async def ignores_the_format(ask: Ask) -> None:
    """Takes everything, heeds nothing."""
    await ask.say(str(ask.grade))


@named
async def object_only(ask: Ask) -> None:
    if ask.rung == "json_schema":
        await ask.refuse(400, "'response_format.type' must be 'json_object' or 'text'", param="response_format")
    else:
        await ask.say(ask.fair)


@named
async def no_format(ask: Ask) -> None:
    if "response_format" in ask.body:
        await ask.refuse(400, "Unrecognized request argument supplied: response_format")
    else:
        await ask.say(ask.fair)


@named
async def no_format_of_pydantic(ask: Ask) -> None:
    """As servers made with FastAPI say it, with what they were sent."""
    if "response_format" in ask.body:
        place = {"type": "extra_forbidden", "loc": ["body", "response_format"], "msg": "Extra inputs are not permitted"}
        await ask.plain(422, {"detail": [{**place, "input": ask.body["response_format"]}]})
    else:
        await ask.say(ask.fair)


def without(*names: str) -> Personality:
    """Refuses parameters, one after another, in the words of OpenAI."""

    async def refusing(ask: Ask) -> None:
        name = next((name for name in names if name in ask.body), None)
        if name is None:
            await ask.say(ask.fair)
        else:
            words = f"Unsupported parameter: '{name}' is not supported with this model."
            instead = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
            await ask.refuse(400, words + instead, param=name, code="unsupported_parameter")

    return refusing


PERSONALITIES["no temperature"] = without("temperature")
PERSONALITIES["no seed"] = without("seed")
PERSONALITIES["no max_tokens"] = without("max_tokens")
PERSONALITIES["no limit at all"] = without("max_tokens", "max_completion_tokens")
PERSONALITIES["no logprobs"] = without("logprobs", "top_logprobs")
PERSONALITIES["takes nothing"] = without("response_format", "temperature", "seed", "max_tokens")


@named
async def five_logprobs(ask: Ask) -> None:
    if ask.body.get("top_logprobs", 0) > 5:
        await ask.refuse(400, "top_logprobs must be between 0 and 5")
    else:
        await ask.say(ask.fair)


@named
async def fenced(ask: Ask) -> None:
    await ask.say(f"Here is my answer:\n```json\n{json.dumps(ask.object, indent=2)}\n```")


@named
async def thinking(ask: Ask) -> None:
    wrong = (ask.grade + 1) % 4
    await ask.say(f'<think>It could be {{"reason": "so", "grade": {wrong}}}, no.</think>\n{ask.fair}')


@named
async def reasoning_apart(ask: Ask) -> None:
    await ask.say(ask.fair, reasoning_content=f"grade: {(ask.grade + 1) % 4}")


@named
async def content_in_parts(ask: Ask) -> None:
    half = len(ask.fair) // 2
    await ask.say([{"type": "text", "text": part} for part in (ask.fair[:half], ask.fair[half:])])


@named
async def text_grade(ask: Ask) -> None:
    """The grade is a text, not a number."""
    await ask.say(json.dumps(ask.object | {"grade": str(ask.grade)}))


@named
async def another_model(ask: Ask) -> None:
    await ask.say(ask.fair, model="petrograph-0-mini")


@named
async def same_twice(ask: Ask) -> None:
    """Two choices that agree."""
    choice = {"message": {"role": "assistant", "content": ask.fair}, "finish_reason": "stop"}
    await ask.answer({"choices": [{"index": at, **choice} for at in range(2)]}, 40)


@named
async def odd_characters(ask: Ask) -> None:
    """What no database takes."""
    await ask.say(json.dumps(ask.object | {"reason": "NUL \x00, half \ud800, \u202e"}), model="petro\x00graph\udfff")


@named
async def random_lengths(ask: Ask) -> None:
    """Reasons of any length, cut at the limit."""
    await ask.say(ask.fair)


# ---- answers that are no grade ---------------------------------------------------------------------------------------


def saying(template: str, **how: Any) -> Personality:
    """Says a text in which {right} and {wrong} are grades."""

    async def said(ask: Ask) -> None:
        await ask.say(template.format(right=ask.grade, wrong=(ask.grade + 1) % 4), **how)

    return said


PERSONALITIES["unclosed thinking"] = saying('<think>The grade could be {wrong}. {{"grade": {wrong}}}')
PERSONALITIES["truncated"] = saying("The document is about a stone, and the grade would be", finish="length")
PERSONALITIES["truncated under a schema"] = saying('{{"reason": "It is', finish="length")
PERSONALITIES["truncated after a wrong grade"] = saying('{{"reason": "grade {wrong}", "grade":', finish="length")
PERSONALITIES["wrong grade"] = saying('{{"reason": "It is a stone.", "grade": 9}}')
PERSONALITIES["half grade"] = saying('{{"reason": "It is a stone.", "grade": 1.5}}')
PERSONALITIES["two grades"] = saying('{{"grade": {right}}}\n{{"grade": {wrong}}}')
PERSONALITIES["prose"] = saying("The document was written in 2013 and names 2 stones, of which 1 is wanted.")
PERSONALITIES["the scale echoed"] = saying(
    "The grades are:\n0 = Irrelevant\n1 = Related\n2 = Highly relevant\n3 = Perfect"
)
PERSONALITIES["a token loop"] = saying(" 1 cialis" * 60, finish="length")
PERSONALITIES["refusing in words"] = saying("I'm sorry, but I cannot help with grading this content.")
PERSONALITIES["other keys"] = saying('{{"label": {right}, "confidence": 3}}')


@named
async def tool_call(ask: Ask) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "grade", "arguments": f'{{"grade": {ask.grade}}}'}}
    await ask.say(None, "tool_calls", tool_calls=[call])


@named
async def two_choices(ask: Ask) -> None:
    """They differ."""
    said = [json.dumps(ask.object | {"grade": grade}) for grade in (ask.grade, (ask.grade + 1) % 4)]
    choices = [
        {"index": at, "message": {"role": "assistant", "content": each}, "finish_reason": "stop"}
        for at, each in enumerate(said)
    ]
    await ask.answer({"choices": choices}, 40)


@named
async def refusal(ask: Ask) -> None:
    await ask.say(None, refusal="I'm sorry, I cannot assist with that request.")


@named
async def content_filter(ask: Ask) -> None:
    await ask.say("", "content_filter")


# ---- what may pass ---------------------------------------------------------------------------------------------------


def once(misbehaving: Personality) -> Personality:
    """Misbehaves at the first question about a specimen."""

    async def first(ask: Ask) -> None:
        await (misbehaving if ask.first else strict)(ask)

    return first


def busy(**headers: str) -> Personality:
    async def refusing(ask: Ask) -> None:
        await ask.plain(429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, **headers)

    return refusing


async def until_date(ask: Ask) -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    await ask.plain(429, {"error": {"message": "slow down"}}, Retry_After=at)


PERSONALITIES["429 with seconds"] = once(busy(Retry_After="0.2"))
PERSONALITIES["429 with a date"] = once(until_date)
PERSONALITIES["429 with an hour"] = busy(Retry_After="3600")
PERSONALITIES["429 always"] = busy()


async def unavailable(ask: Ask) -> None:
    await ask.plain(503, {"error": {"message": "the model is loading", "type": "unavailable_error"}})


async def gateway(ask: Ask) -> None:
    await ask.plain(502, "<html><title>502 Bad Gateway</title></html>")


PERSONALITIES["503 once"] = once(unavailable)
PERSONALITIES["503 always"] = unavailable
PERSONALITIES["a gateway's page once"] = once(gateway)
PERSONALITIES["empty always"] = saying("")
PERSONALITIES["empty once"] = once(saying(" \n"))


@named
async def prose_then_nothing(ask: Ask) -> None:
    await (PERSONALITIES["prose"] if ask.first else unavailable)(ask)


PERSONALITIES["prose, then nothing"] = PERSONALITIES.pop("prose then nothing")


@named
async def no_choices(ask: Ask) -> None:
    await ask.answer({"choices": []}, 0)


@named
async def _200_with_an_error(ask: Ask) -> None:
    await ask.plain(200, {"error": {"message": "Provider returned error", "code": 502}})


@named
async def _200_with_a_wrong_key(ask: Ask) -> None:
    await ask.plain(200, {"error": {"message": "User not found.", "code": 401}})


@named
async def _200_with_a_refusal(ask: Ask) -> None:
    if "response_format" in ask.body:
        await ask.plain(200, {"error": {"message": "response_format is not supported", "code": 400}})
    else:
        await ask.say(ask.fair)


@named
async def _200_with_a_bad_request(ask: Ask) -> None:
    await ask.plain(200, {"error": {"message": "bad request", "code": 400}})


@named
async def error_in_a_choice(ask: Ask) -> None:
    """Cut off in the middle by the server, with a wrong grade so far."""
    message = {"role": "assistant", "content": str((ask.grade + 1) % 4)}
    error = {"code": 502, "message": "upstream closed"}
    await ask.answer({"choices": [{"index": 0, "message": message, "finish_reason": "error", "error": error}]})


PERSONALITIES["error in a choice once"] = once(error_in_a_choice)
PERSONALITIES["no choices once"] = once(no_choices)
PERSONALITIES["200 with an error once"] = once(_200_with_an_error)


@named
async def dropped(ask: Ask) -> None:
    raise Hangup


@named
async def cut_off(ask: Ask) -> None:
    await ask.plain(200, {"choices": []}, length=500)
    raise Hangup


PERSONALITIES["dropped once"] = once(dropped)
PERSONALITIES["cut off once"] = once(cut_off)


# ---- what does not come back, and what is of one question ------------------------------------------------------------


@named
async def slow(ask: Ask) -> None:
    await asyncio.sleep(3600)


@named
async def dripping(ask: Ask) -> None:
    await ask.plain(200, "", length=10_000)
    while True:
        ask.writer.write(b" ")
        await ask.writer.drain()
        await asyncio.sleep(0.05)


@named
async def dripping_headers(ask: Ask) -> None:
    ask.writer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        ask.writer.write(b"x")
        await ask.writer.drain()
        await asyncio.sleep(0.05)


PERSONALITIES["slow once"] = once(slow)


@named
async def too_long(ask: Ask) -> None:
    """Names the limit, but it is the document that does not fit: of the first specimen alone."""
    if ask.name.endswith("0"):
        words = "'max_tokens' is too large: 64. This model's maximum context length is 4096 tokens."
        await ask.refuse(400, words, param="max_tokens")
    else:
        await ask.say(ask.fair)


@named
async def does_not_say(ask: Ask) -> None:
    """Why it takes nothing, though what it was sent comes back."""
    if ask.name.endswith("0"):
        await ask.plain(400, {"message": f"bad request: {ask.text}", "got": ask.text + " temperature"})
    else:
        await ask.say(ask.fair)


@named
async def no_JSON(ask: Ask) -> None:
    await ask.plain(200, 'data: {"choices": []}')


def echoed(ask: Ask) -> str:
    """What it was sent as a secret, in a header and in the address, written in several ways."""
    sent = ask.server.headers[-1].get("authorization", "")
    return f"{sent} {json.dumps(sent)} {quote(sent)} {quote(sent, safe='')} {html.escape(sent)} {[*ask.server.paths]}"


@named
async def echo(ask: Ask) -> None:
    await ask.say(json.dumps(ask.object | {"reason": echoed(ask)}), model=echoed(ask), reasoning_content=echoed(ask))


@named
async def echo_in_prose(ask: Ask) -> None:
    await ask.say(f"The key is {echoed(ask)}.")


@named
async def echo_in_an_error(ask: Ask) -> None:
    await ask.plain(400, {"message": echoed(ask)})


@named
async def echo_while_busy(ask: Ask) -> None:
    await ask.plain(503, f"<p>{echoed(ask)}</p>")


@named
async def echo_in_a_refusal(ask: Ask) -> None:
    await ask.refuse(401, echoed(ask))


@named
async def echo_in_a_redirect(ask: Ask) -> None:
    await ask.plain(302, "", Location=f"http://127.0.0.1/{echoed(ask)}")


# ---- what holds for every question -----------------------------------------------------------------------------------


@named
async def HTML(ask: Ask) -> None:
    await ask.plain(200, "<!doctype html><title>Sign in</title>")


@named
async def redirect(ask: Ask) -> None:
    await ask.plain(307, "", Location="/v2/chat/completions")


@named
async def wrong_key(ask: Ask) -> None:
    await ask.refuse(401, "Incorrect API key provided.", code="invalid_api_key")


@named
async def forbidden(ask: Ask) -> None:
    await ask.refuse(403, "Country, region, or territory not supported")


@named
async def no_model(ask: Ask) -> None:
    await ask.refuse(404, f"The model `{ask.body['model']}` does not exist", code="model_not_found")


@named
async def no_quota(ask: Ask) -> None:
    words = "You exceeded your current quota, please check your plan and billing details."
    await ask.refuse(429, words, type="insufficient_quota", code="insufficient_quota")


@named
async def no_money(ask: Ask) -> None:
    await ask.refuse(402, "Insufficient Balance")
