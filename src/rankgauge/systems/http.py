"""A system behind HTTP: what is sent, how it is sent, and what the answer means. Presets are rows of one table."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError
from rankgauge.read.rows import shortened
from rankgauge.systems.call import called, embed_of
from rankgauge.systems.hits import Asked, Failed, Hit, hit_of
from rankgauge.systems.presets import PRESETS
from rankgauge.systems.template import Secrets, filled, in_path, placeholders_in
from rankgauge.systems.workers import Again, Busy, TimedOut

if TYPE_CHECKING:
    from httpx2 import Client, Response

    from rankgauge.store.project import Project
    from rankgauge.systems.config import Config
    from rankgauge.systems.workers import Limits

__all__ = ["Http", "Sender", "expression", "vector_of"]

BUSY: Final = 429  # too many at once
PASSING: Final = (408, 409, 425, BUSY)  # and 5xx: worth another attempt
SENT: Final = ("url", "params", "headers", "body")


class Sender:
    """Sends requests and gives back the JSON of the answer; whatever else comes back is an error with words."""

    def __init__(self, limits: Limits, secrets: Secrets, url: str, where: str, name: str = "url") -> None:
        import httpx2

        if not url.startswith(("http://", "https://", "${")):
            raise InputError(f"{where}: {name} = {url!r} is no address; write http://… or https://…")
        for library in ("httpx2", "httpcore2"):  # what they log has addresses and headers, secrets included
            logging.getLogger(library).setLevel(logging.CRITICAL)
        self.library, self.limits, self.secrets, self.name = httpx2, limits, secrets, name
        self._context = httpx2.create_ssl_context()  # for all, for it takes a while
        self._address = lru_cache(8)(httpx2.URL)  # taking an address apart takes a while, too
        self._own = threading.local()
        self._clients: list[Client] = []

    @property
    def _client(self) -> Client:
        """The client of this thread: one for all would look at every connection before and after every request."""
        if not hasattr(self._own, "client"):
            self._own.client = self.library.Client(
                follow_redirects=False,  # the headers would go with it
                timeout=self.limits.timeout,
                verify=self._context,
            )
            self._clients.append(self._own.client)
        client: Client = self._own.client
        return client

    def send(self, method: str, url: str, **parts: Any) -> Any:
        """What the server says, as JSON."""
        try:
            response, content = self._answer(method, url, **parts)
            text = self.secrets.hidden(content.decode(errors="replace"))  # before it is cut: half a secret is one, too
            try:
                return self._parsed(response, content, text)
            except Failed as error:
                error.status, error.text = response.status_code, text
                raise
        except Failed as error:
            error.args = (self.secrets.hidden(str(error)),)
            raise

    def _answer(self, method: str, url: str, **parts: Any) -> tuple[Response, bytes]:
        errors = self.library
        late = time.monotonic() + self.limits.timeout
        try:
            with self._client.stream(method, self._address(url), **parts) as response:
                content = bytearray()
                for part in response.iter_bytes():
                    content += part
                    if len(content) > self.limits.largest:
                        limit = f"{self.limits.largest / 10**6:g} MB"
                        raise Failed(f"the answer is larger than {limit}; ask for less, or allow more: largest = …")
                    if time.monotonic() > late:
                        raise self._late()
                return response, bytes(content)
        except errors.ConnectTimeout:
            raise _unsent(f"the server did not take the connection within {self.limits.timeout:g} seconds") from None
        except errors.TimeoutException:
            raise self._late() from None
        except errors.ConnectError as error:
            raise _unsent(f"no server answers there ({error}); start it, or check {self.name}") from None
        except errors.DecodingError as error:
            raise Failed(f"the answer cannot be unpacked ({error}); check the server") from None
        except (errors.UnsupportedProtocol, errors.InvalidURL, errors.LocalProtocolError) as error:
            raise Failed(f"the request cannot be sent ({error}); check {self.name} and headers") from None
        except errors.TransportError as error:
            raise Again(f"the connection broke ({str(error) or type(error).__name__})") from None

    def _late(self) -> TimedOut:
        return TimedOut(f"no whole answer within {self.limits.timeout:g} seconds; allow more: timeout = …")

    def _parsed(self, response: Response, content: bytes, text: str) -> Any:
        if response.status_code >= 300:
            raise self._refused(response, text)
        if not content.strip():
            raise Failed(f"the server answered {response.status_code} without content; expected JSON")
        try:
            content.decode()
            return json.loads(text, parse_constant=_refuse)
        except UnicodeDecodeError as error:
            raise Failed(f"the answer is not UTF-8 text (byte {error.start + 1}); expected JSON") from None
        except (ValueError, RecursionError) as error:
            raise Failed(f"the answer is not JSON ({error}): {shortened(text)}") from None

    def _refused(self, response: Response, text: str) -> Failed:
        status, said = response.status_code, f": {shortened(text)}" if text.strip() else ""
        if status in PASSING or status >= 500:
            passing = Busy if status == BUSY else Again
            return passing(f"the server answered {status}{said}", pause_of(response.headers.get("retry-after")))
        if 300 <= status < 400:
            to = response.headers.get("location", "")
            words = f"the server redirects ({status}) to {to!r}, which is not followed"
            return Failed(f"{words}; write that address as {self.name}")
        if status in (401, 403):
            return Failed(f"the server refuses us ({status}{said}); give what it wants in headers, from ${{NAME}}")
        return Failed(f"the server answered {status}{said}")

    def close(self) -> None:
        """Let go of the connections."""
        for client in self._clients:
            client.close()


def _unsent(words: str) -> Again:
    error = Again(words)
    error.status = 0
    return error


def _refuse(name: str) -> Any:
    raise ValueError(f"it holds {name}, which is no number of JSON")


def pause_of(header: str | None) -> float | None:
    """The seconds that a Retry-After asks for: a number, or a date."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            at = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


class Http:
    """Requests made of templates, and answers taken apart by JMESPath."""

    batch = 1

    def __init__(self, config: Config, project: Project | None) -> None:
        preset = PRESETS.get(config.kind, {})
        table = {"method": "POST" if "body" in config.table else "GET"} | preset | dict(config.table)
        if "ids" in config.table:
            table.pop("hits", None)
        self.where = config.where
        self.template = {name: table[name] for name in SENT if name in table}
        self.template["body"] = _body(self.template.get("body"), config.where)
        self.secrets = Secrets(self.template, config.where)
        self.method = table["method"]
        self.sender = Sender(config.limits, self.secrets, table["url"], config.where)
        self.embed = embed_of(config)
        self._check(table)
        names = ("hits", "id", "score", "fields", "ids", "scores", "whole")
        paths = {name: table[name] for name in names if isinstance(table.get(name), str)}
        self.paths = paths
        self.found = {name: expression(path, name, config.where) for name, path in paths.items()}
        self.ascending = bool(table.get("ascending", False))

    def _check(self, table: Mapping[str, Any]) -> None:
        used = placeholders_in(self.template)
        if not used & {"query", "need", "vector"}:
            body = ', such as body = { query = "{query}", size = "{k}" }'
            raise InputError(
                f"{self.where}: nothing that is sent has {{query}} in it; put it into url, params or body{body}"
            )
        if ("vector" in used) != (self.embed is not None):
            words = (
                "{vector} is sent, and nothing makes it"
                if "vector" in used
                else "embed makes a {vector} that is not sent"
            )
            raise InputError(f'{self.where}: {words}; write embed = "module:function", and "{{vector}}" where it goes')
        if not isinstance(table.get("fields", ""), (str, bool)):
            raise InputError(f"{self.where}: fields = {table['fields']!r}; expected a path, or false")
        if ("hits" in table) == ("ids" in table):
            raise InputError(f"{self.where}: give the path of hits and of the id in a hit, or of ids (and scores)")
        if "hits" in table and "id" not in table:
            raise InputError(f'{self.where}: lacks id, the path of the id in a hit; write id = "_id"')

    def ask(self, asked: Sequence[Asked], k: int) -> Sequence[Iterable[Hit]]:
        """The hits that the server names."""
        query = asked[0]
        values: dict[str, Any] = {"query": query.text, "k": k, "need": query.need or ""}
        if self.embed is not None:
            values["vector"] = vector_of(self.embed, query.text)
        known = self.secrets.values
        parts = {
            "params": filled(self.template.get("params"), values, known),
            "headers": filled(self.template.get("headers"), values, known),
            "json": filled(self.template["body"], values, known),
        }
        url = in_path(self.template["url"], values, known)
        answer = self.sender.send(self.method, url, **{name: part for name, part in parts.items() if part is not None})
        return [self._hits(answer)]

    def close(self) -> None:
        """Let go of the connections."""
        self.sender.close()

    def _hits(self, answer: Any) -> list[Hit]:
        if "whole" in self.found and not self.found["whole"](answer):
            raise Failed(f"the answer is not whole: {self.paths['whole']} does not hold")
        listed = self._list("hits" if "hits" in self.found else "ids", answer)
        if "ids" in self.found:
            beside = [self._beside(name, answer, len(listed)) for name in ("scores", "fields")]
            hits = [hit_of(*each) for each in zip(listed, *beside, strict=True)]
        else:
            hits = [self._hit(each) for each in listed]
        for hit in hits:
            if any(f"${{{name}}}" in hit.doc_id for name in self.secrets.values):
                raise Failed(f"a document's id holds the value of a variable: {hit.doc_id!r}; write the value outright")
        return hits

    def _hit(self, hit: Any) -> Hit:
        parts = {name: self.found[name](hit) for name in ("id", "score", "fields") if name in self.found}
        if self.paths.get("fields") == "@" and isinstance(
            hit, Mapping
        ):  # all but what is of this answer, not of the text
            own = (self.paths["id"], self.paths.get("score"))
            parts["fields"] = {name: each for name, each in hit.items() if name not in own and not name.startswith("_")}
        if parts["id"] is None:
            raise Failed(f"id = {self.paths['id']!r} finds nothing in a hit; there are {_keys(hit)}")
        if "score" in parts and parts["score"] is None and self.paths["score"].startswith("to_number"):
            raise Failed(f"score = {self.paths['score']!r} finds no number in a hit; there are {_keys(hit)}")
        return hit_of(parts["id"], parts.get("score"), parts.get("fields"))

    def _beside(self, name: str, answer: Any, length: int) -> list[Any]:
        """An array beside the ids, as long as they are."""
        if name not in self.found:
            return [None] * length
        listed = self._list(name, answer)
        if len(listed) != length:
            raise Failed(f"there are {length:,} ids and {len(listed):,} {name}; expected one each")
        return listed

    def _list(self, name: str, answer: Any) -> list[Any]:
        found = self.found[name](answer)
        if found is None:
            raise Failed(f"{name} = {self.paths[name]!r} finds nothing in the answer; there are {_keys(answer)}")
        if not isinstance(found, list):
            what = f"{shortened(json.dumps(found, ensure_ascii=False))} ({type(found).__name__})"
            raise Failed(f"{name} = {self.paths[name]!r} finds {what}; expected a list")
        return found


def _body(body: Any, where: str) -> Any:
    """A body as a value; a text is JSON."""
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except ValueError as error:
        raise InputError(
            f'{where}: body is not JSON ({error}); places stand in quotes there, such as "{{k}}"'
        ) from None


def expression(path: str, name: str, where: str) -> Callable[[Any], Any]:
    """A path of JMESPath as a function of an answer."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        compiled = jmespath.compile(path)
    except JMESPathError as error:
        words = str(error).splitlines()[0]
        raise InputError(f"{where}: {name} = {path!r} is no path of JMESPath ({words})") from None

    def found(value: Any) -> Any:
        try:
            return compiled.search(value)
        except JMESPathError as error:
            raise Failed(f"{name} = {path!r} cannot be looked up: {str(error).splitlines()[0]}") from None

    return found


def vector_of(embed: Callable[..., Any], text: str) -> list[float]:
    """The vector of a text, as numbers that JSON can hold."""
    vector = called(embed, text)
    vector = vector.tolist() if hasattr(vector, "tolist") else vector
    try:
        numbers = [float(each) for each in vector]
    except (TypeError, ValueError):
        raise Failed(f"embed returned {shortened(str(vector))}; expected a list of numbers") from None
    if not numbers or not all(map(math.isfinite, numbers)):
        raise Failed("embed returned no finite numbers; expected a list of numbers")
    return numbers


def _keys(answer: Any) -> str:
    """What is there, where a path finds nothing: two levels of keys."""
    if not isinstance(answer, Mapping):
        return f"no keys, for it is {shortened(json.dumps(answer, ensure_ascii=False))}"
    named = [
        f"{name}.{{{', '.join(map(str, inner))}}}" if isinstance(inner, Mapping) and inner else str(name)
        for name, inner in answer.items()
    ]
    return ", ".join(named[:20]) or "no keys at all"
