"""A model behind a server that speaks OpenAI's chat completions: what is sent, and what the server makes of it.

Servers differ in what they take. What one refuses by name is given up, and it is asked again at once; what was given up
stays so (`Chat.ability`), found once for a server and model. Whether an answer is a grade is not decided here.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from rankgauge.errors import InputError
from rankgauge.read.rows import shortened
from rankgauge.systems.config import PASSWORD
from rankgauge.systems.hits import Failed, cleaned
from rankgauge.systems.http import BUSY, Sender
from rankgauge.systems.template import Secrets, filled
from rankgauge.systems.workers import Again, Busy, Limits, Stop

__all__ = ["FATAL", "LIMIT", "LIMITS", "LONGEST_PAUSE", "RUNGS", "Ability", "Chat", "Reply"]
__all__ += ["refused", "reply_of", "request_body"]

LIMITS: Final = Limits(workers=8, timeout=120.0, retries=4)  # of a judge: five tries
LONGEST_PAUSE: Final = 600.0  # seconds that a server may ask for
RUNGS: Final = ("json_schema", "json_object", "text")  # how an answer is asked for, from the strictest down
TOPS: Final = (20, 5)  # likeliest tokens to ask for; some servers give five at most
LIMIT: Final = "max_completion_tokens"  # what newer servers call max_tokens
DEFAULT_KEY: Final = "OPENAI_API_KEY"
NAME: Final = re.compile(r"\$\{[A-Za-z_]\w*\}", re.ASCII)
ENDPOINT: Final = "/chat/completions"
# What holds for every pair: status → what to do.
FATAL: Final = {
    401: 'give its key: key = "${NAME}", and set NAME',
    402: "pay, or take another server",
    403: "the key may not do this; take another key or model",
    404: "check model, and base_url, which often ends in /v1",
}
REFUSING: Final = (400, 422)  # something of what is sent
NAMED: Final = 10  # models that are named
CUT: Final = ("length", "content_filter")  # why an answer may be empty, and stay so
EMPTY: Final = "with an empty answer"
USAGE: Final = ("prompt_tokens", "completion_tokens")
NO_QUOTA: Final = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|billing_hard_limit|credit balance is too low", re.IGNORECASE
)
TOO_LONG: Final = re.compile(r"context[_ ](?:length|window|size)|(?:prompt|input) is too long", re.IGNORECASE)
# How servers speak of what is sent, where they do not call it by its name.
ALSO: Final = {"response_format": r"response[_ ]format|json_schema|json_object|structured[_ ]outputs?|grammar"}


class Ability(NamedTuple):
    """What a server and model take: how an answer may be asked for (None: not tried), and what was given up."""

    rung: str | None = None
    given_up: tuple[str, ...] = ()
    completion: bool = False  # the limit of an answer is called so, not max_tokens
    tops: int = TOPS[0]

    @property
    def limited(self) -> bool:
        """Whether the length of an answer can be limited."""
        return LIMIT not in self.given_up

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return self._asdict() | {"given_up": list(self.given_up)}

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Ability:
        """From what `to_dict` gave, in whatever version."""
        known = {name: found[name] for name in cls._fields if name in found}
        return cls(**known | {"given_up": tuple(found.get("given_up", ()))})

    def without(self, name: str) -> Ability:
        """The next best, where something is refused."""
        if name == "response_format":
            return self._replace(rung=RUNGS[RUNGS.index(self.rung or RUNGS[0]) + 1])
        if name == "max_tokens":
            return self._replace(completion=True)
        if name == "top_logprobs" and self.tops != TOPS[-1]:
            return self._replace(tops=TOPS[-1])
        return self._replace(given_up=tuple(sorted({*self.given_up, name})))

    def joined(self, other: Ability) -> Ability:
        """What was found out by one question and by another."""
        rungs = [RUNGS.index(each.rung) for each in (self, other) if each.rung is not None]
        return Ability(
            RUNGS[max(rungs)] if rungs else None,
            tuple(sorted({*self.given_up, *other.given_up})),
            self.completion or other.completion,
            min(self.tops, other.tops),
        )


class Reply(NamedTuple):
    """What a server answered, as it came: the model that it names, what it counted, the calls that it took, and what it
    charged for them, where it says so."""

    response: dict[str, Any]
    model: str | None
    tokens_in: int | None
    tokens_out: int | None
    calls: int
    cost: float | None = None


class Chat:
    """Asks a model; `parameters` go with every question (temperature, seed, max_tokens, …).

    `limited`: the limit of an answer's length is not given up.

    An error is `Failed` (of this question alone), `Again` (worth another attempt) or `Stop` (of every question); its
    `calls` and `tokens` say what it cost: None where nobody knows, for the connection broke.
    """

    def __init__(
        self,
        base_url: str,
        model: str | None = None,
        key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        limits: Limits = LIMITS,
        where: str = "judge",
        ability: Ability | None = None,
        *,
        limited: bool = False,
    ) -> None:
        self.where, self.given, self.parameters = where, model, dict(parameters or {})
        self.base_url = base_url.strip().rstrip("/")
        if PASSWORD.search(self.base_url):
            raise InputError(f"{where}: base_url has a password, which would be stored; write ${{NAME}}, and set NAME")
        if over := re.search(rf"{ENDPOINT}$|[?#].*", self.base_url):
            raise InputError(f"{where}: base_url = {base_url!r}; leave {over[0]} out, for {ENDPOINT} is put behind it")
        self.headers = _headers(key, where)
        self.secrets = Secrets([self.base_url, self.headers], where)
        for name, value in self.secrets.values.items():
            _check_sendable(name, value, where)
        self.sender = Sender(limits, self.secrets, self.base_url, where, "base_url")
        self.limited = limited
        self.ability = ability if ability is not None and (ability.limited or not limited) else Ability()
        self._lock = threading.Lock()

    @cached_property
    def served(self) -> tuple[str, ...]:
        """The models that the server names; none where it does not say."""
        try:
            answer = self._send("GET", "/models")
        except Failed as error:
            if not error.status:  # nobody is there to be asked
                raise InputError(f"{self.where}: lacks model, and {error}") from None
            return ()
        listed = answer.get("data") if isinstance(answer, dict) else None
        names = [each.get("id") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        return tuple(name for name in names if isinstance(name, str) and name)

    @cached_property
    def model(self) -> str:
        """The model that is asked: the one that was given, or the only one that is served."""
        if self.given:
            return self.given
        if len(self.served) == 1:
            return self.served[0]
        there = f"serves {_listed(self.served)}" if self.served else "does not say what it serves"
        raise InputError(f'{self.where}: lacks model, and {self.base_url} {there}; write model = "…"')

    def ask(
        self, text: str, schema: dict[str, Any] | None, *, one_token: bool = False, logprobs: bool = False
    ) -> Reply:
        """Ask, giving up what the server refuses by name; `schema`: of the object that the answer is to be."""
        ability, calls = self.ability, 0
        while True:
            how = {"one_token": one_token, "logprobs": logprobs}
            body = request_body(self.model, self.parameters, text, schema, ability, **how)
            calls += 1
            try:
                reply = _reply(self._send("POST", ENDPOINT, json=body), calls)
                break
            except Failed as error:
                name = refused(error, body, text)
                if name is None or (name == LIMIT and self.limited):
                    raise self._told(error, calls, text, name) from None
                ability = ability.without(name)
        if schema is not None and ability.rung is None:
            ability = ability._replace(rung=RUNGS[0])
        if ability != self.ability:  # kept only now, for it has helped
            with self._lock:
                self.ability = self.ability.joined(ability)
        return reply

    def close(self) -> None:
        """Let go of the connections."""
        self.sender.close()

    def _send(self, method: str, path: str, **parts: Any) -> Any:
        url, headers = self._sent
        return self.sender.send(method, url + path, headers=headers, **parts)

    @cached_property
    def _sent(self) -> tuple[str, dict[str, str]]:
        """The address and the headers of whatever is sent, with the values of what they name."""
        url, headers = (filled(each, {}, self.secrets.values) for each in (self.base_url, self.headers))
        return url, headers

    def _told(self, error: Failed, calls: int, prompt: str, needed: str | None) -> Failed:
        """An error as what it is: of one question, of a moment, or of every question."""
        said = f"the server answered {error.status}: {shortened(error.text)}"
        words = ""
        if needed is not None:
            words = f"{said}; without {needed}, a limit of its answers, no budget holds"
        elif error.status in FATAL:
            served = f"; served are {_listed(self.served)}" if error.status == 404 and self.served else ""
            words = f"{said}; {FATAL[error.status]}{served}"
        elif any(map(NO_QUOTA.search, _said(_without(prompt, error.text)))):
            words = f"{said}; there is no quota left"
        elif error.text.lstrip().startswith("<") and not isinstance(error, Again):
            words = f"{said}; that is a page, not an API: check base_url, which often ends in /v1"
        elif error.status is not None and 300 <= error.status < 400:
            words = str(error)
        told = Stop(words) if words else error
        told.calls, told.status, told.text = calls, error.status, error.text
        told.tokens = (0, 0) if error.tokens is None and error.status not in (None, 200) else error.tokens
        return told


def _headers(key: str | None, where: str) -> dict[str, str]:
    """The key as a header that names a variable; its value is put in when something is sent."""
    if key is None:
        if DEFAULT_KEY not in os.environ:
            return {}
        if not os.environ[DEFAULT_KEY].strip():
            raise InputError(f"{where}: {DEFAULT_KEY} is empty; set it, or unset it where the server wants no key")
        key = f"${{{DEFAULT_KEY}}}"
    if not NAME.fullmatch(key):
        found = "is written outright, and would be stored" if key.strip() else "is empty"
        raise InputError(f"{where}: key {found}; write ${{NAME}} for it, and set NAME in the environment")
    return {"Authorization": f"Bearer {key}"}


def _check_sendable(name: str, value: str, where: str) -> None:
    if not value.isascii() or not value.isprintable() or " " in value:
        found = "a newline" if value.splitlines() != [value] else "what no header can hold (a blank, or beyond ASCII)"
        raise InputError(f"{where}: ${{{name}}} has {found} in it; set it again: export {name}=…")


def request_body(
    model: str,
    parameters: Mapping[str, Any],
    text: str,
    schema: dict[str, Any] | None,
    ability: Ability,
    *,
    one_token: bool,
    logprobs: bool,
) -> dict[str, Any]:
    """What is sent: of all that is asked for, what the server is known to take."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # half a character cannot be sent
    body = {"model": model, "messages": [{"role": "user", "content": text}], **parameters}
    if one_token:
        body |= {"max_tokens": 1}
        body.pop(LIMIT, None)
    if logprobs:
        body |= {"logprobs": True, "top_logprobs": ability.tops}
    if schema is not None:
        body |= _format(ability.rung or RUNGS[0], schema)
    if ability.completion and "max_tokens" in body:
        body[LIMIT] = body.pop("max_tokens")
    if "logprobs" in ability.given_up:  # without which there are no likeliest ones
        body.pop("top_logprobs", None)
    return {name: value for name, value in body.items() if name not in ability.given_up}


def _format(rung: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    if rung == "text":
        return {}
    strict = {"json_schema": {"name": "answer", "strict": True, "schema": schema}} if rung == "json_schema" else {}
    return {"response_format": {"type": rung, **strict}}


# ---- what comes back -------------------------------------------------------------------------------------------------


def _reply(answer: Any, calls: int) -> Reply:
    """A whole answer; one that lacks what an answer has is worth another attempt."""
    reply = reply_of(cleaned(answer) if isinstance(answer, dict) else {}, calls)
    tokens = (reply.tokens_in or 0, reply.tokens_out or 0)
    if lack := _lack(reply.response):
        raise _lacking(reply.response, lack, tokens if any(tokens) else None)
    return reply


def reply_of(response: dict[str, Any], calls: int = 1) -> Reply:
    """An answer with what it says of itself."""
    said, model = response.get("usage"), response.get("model")
    usage = said if isinstance(said, dict) else {}
    read, written = (_number(usage.get(name)) for name in USAGE)
    return Reply(response, model if isinstance(model, str) else None, read, written, calls, _charge(usage.get("cost")))


def _charge(value: Any) -> float | None:
    """What a server charged; None where it does not say, or something else than an amount."""
    right = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
    return float(value) if right else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _lack(response: Mapping[str, Any]) -> str:
    """What an answer lacks; nothing where there is something to read, or a reason why there is not."""
    choice = _first(response)
    if _error(response):
        return "with an error"
    if not isinstance(choice.get("message"), dict):
        return "without choices"
    message = choice["message"]
    told = message.get("refusal") or message.get("tool_calls") or choice.get("finish_reason") in CUT
    return EMPTY if not told and _is_empty(message.get("content")) else ""


def _first(response: Mapping[str, Any]) -> dict[str, Any]:
    listed = response.get("choices")
    choice = listed[0] if isinstance(listed, list) and listed else None
    return choice if isinstance(choice, dict) else {}


def _error(response: Mapping[str, Any]) -> Any:
    """An error inside an answer, or inside its choice where it came too late."""
    return response.get("error") or _first(response).get("error")


def _is_empty(content: Any) -> bool:
    """Whether there is no text in a message, which may come in parts."""
    if isinstance(content, list):
        return all(_is_empty(part.get("text", part) if isinstance(part, dict) else part) for part in content)
    return content is None or (isinstance(content, str) and not content.strip())


def _lacking(response: Mapping[str, Any], lack: str, tokens: tuple[int, int] | None) -> Failed:
    """The error of an answer that lacks something; of an error with a status of its own, as if that had come."""
    inner = _error(response)
    text = json.dumps({"error": inner} if inner else response, ensure_ascii=False)
    code = _number(inner.get("code")) if isinstance(inner, dict) else None
    status = code if code is not None and code >= 400 else 200
    kind = Busy if status == BUSY else Failed if status in REFUSING else Again
    told = "" if lack == EMPTY else f": {shortened(text)}"  # all else in an empty answer is of one call, as its id
    error = kind(f"the server answered 200 {lack}{told}")
    error.status, error.text, error.tokens = status, text, tokens
    return error


def refused(error: Failed, body: Mapping[str, Any], prompt: str) -> str | None:
    """What the server does not take of what it was sent; nothing where a document is too long, or it does not say."""
    text = _without(prompt, error.text)
    if error.status not in REFUSING or TOO_LONG.search(text):
        return None
    names = [name for name in body if name not in ("model", "messages")]
    for said in (*_said(text), text):
        places = {name: found.start() for name in names if (found := re.search(_spelt(name), said))}
        if places:
            return min(places, key=places.__getitem__)
    return None


def _spelt(name: str) -> str:
    return rf"\b(?:{ALSO.get(name, re.escape(name))})\b"


def _without(prompt: str, text: str) -> str:
    """What a server says without what it was sent: a document has no say in what is wrong."""
    return text.replace(json.dumps(prompt)[1:-1], "").replace(json.dumps(prompt, ensure_ascii=False)[1:-1], "")


def _said(text: str) -> list[str]:
    """What an error says of itself, the most telling first."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return []
    inner = parsed.get("error", parsed) if isinstance(parsed, dict) else None
    told = [inner.get(name) for name in ("param", "code", "type", "message")] if isinstance(inner, dict) else [inner]
    return [each for each in told if isinstance(each, str)]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
