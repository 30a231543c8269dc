"""How quick judging is against what its server takes.

python bench/judge_speed.py WORK -     # one of the pieces below: prints its seconds, and those of the processor
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from cases import Case
from measure import CommandFailed, Outcome, Timing, say, work_alone
from peers import OURS


class Load(NamedTuple):
    """So many pairs, judged by a server that takes so long, and takes so many at once."""

    pairs: int
    latency: float
    workers: int
    at_once: int

    @property
    def ideal(self) -> float:
        """The seconds of nothing but the waiting."""
        return self.pairs * self.latency / self.at_once


LOADS: Final = {
    "many": Load(10_000, 0.2, 64, 64),
    "few": Load(500, 0.2, 64, 64),
    "busy": Load(500, 0.1, 32, 8),
}
MODEL: Final = "bench"
IDEAL: Final = "nothing but the waiting"
ALLOWED: Final = "2 ms a pair"
ALLOWED_SECONDS: Final = 0.002
GROWTH = 1.2  # times the memory at a tenth that the end may take
REFUSED = 0.1  # of the calls at most, where a server is busy
WORDS = "a text that is as long as one that judges may be shown " * 8


# ---- the server, a process of its own --------------------------------------------------------------------------------


class Server:
    """Gives every question the same answer after a while; where it is asked too much at once, it says so."""

    def __init__(self, load: Load) -> None:
        self.load, self.now, self.asked, self.refused = load, 0, 0, 0
        message = {"role": "assistant", "content": json.dumps({"reason": "It is what was asked for.", "grade": 2})}
        usage = {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420}
        about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL, "usage": usage}
        self.answer = _response("200 OK", about | {"choices": [{"message": message, "finish_reason": "stop"}]})
        self.refusal = _response("429 Too Many Requests", {"error": {"message": "too many at once"}})

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request after another."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r")[0]))
                writer.write(await self._completion())
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()

    async def _completion(self) -> bytes:
        self.asked += 1
        if self.now >= self.load.at_once:
            self.refused += 1
            return self.refusal
        self.now += 1
        await asyncio.sleep(self.load.latency)
        self.now -= 1
        return self.answer

    async def serve(self) -> None:
        """Print the port, serve until the input ends, print the share of what was refused."""
        server = await asyncio.start_server(self.connected, "127.0.0.1", 0, backlog=1024)
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        print(self.refused / self.asked, flush=True)
        os._exit(0)


def _response(status: str, answer: dict[str, Any]) -> bytes:
    content = json.dumps(answer)
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n\r\n{content}".encode()


@contextmanager
def serving(work: str) -> Iterator[str]:
    """The address of a server, until the block ends; that it refused too much is an error."""
    line = [sys.executable, os.path.abspath(__file__), "serve", work]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        refused = float(process.communicate()[0])
    if refused > REFUSED:
        raise SystemExit(f"the server refused {refused:.1%} of the calls")


# ---- the pieces of work ----------------------------------------------------------------------------------------------


def judged(work: str) -> tuple[float, float]:
    """All pairs judged: the seconds, and those of the processor; that memory grows is an error."""
    from rankgauge.judge.asking import ask_judge
    from rankgauge.judge.config import judge_config
    from rankgauge.judge.pairs import Pair
    from rankgauge.store.project import init

    load = LOADS[work]
    texts = [{"title": f"document {number}", "text": f"{number}: {WORDS}"} for number in range(load.pairs)]
    pairs = [Pair(f"q{at % 500}", f"doc{at}", f"query {at % 500}", None, fields) for at, fields in enumerate(texts)]
    memory: list[int] = []

    def noted(done: int, *_: Any) -> None:
        if done == load.pairs // 10:
            memory.append(_memory())

    with tempfile.TemporaryDirectory() as folder, serving(work) as url:
        table = {"base_url": url, "model": MODEL, "workers": load.workers}
        config = judge_config("bench", table, "bench", Path(folder))
        project = init(Path(folder, "shop"))
        before = time.process_time()
        judged = ask_judge(project, config, pairs, progress=noted)
        processor = time.process_time() - before
    grown = _memory() / memory[0]
    if judged.open or grown > GROWTH:
        raise SystemExit(
            f"memory has grown to {grown:.2f} times what it was at a tenth; {judged.open:,} pairs are open"
        )
    return judged.seconds, processor


def _memory() -> int:
    """Pages that the process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1])


# ---- measuring them --------------------------------------------------------------------------------------------------


def _title(load: Load) -> str:
    busy = f", {load.at_once} at once" if load.at_once < load.workers else ""
    return f"{load.pairs:,} pairs at {load.latency * 1000:g} ms{busy}, {load.workers} workers"


AIMS: Final = {"many": 0.9, "busy": 0.5}


def measure_judge(rounds: int, timeout: float, quick: bool) -> Iterator[tuple[Case, Outcome]]:
    """Every case with what was measured."""
    for work in ("few",) if quick else ("many", "busy"):
        load = LOADS[work]
        waiting, processor = Outcome(), Outcome()
        for _ in range(rounds):
            try:
                timing, said = work_alone(__file__, work, timeout, "-")
            except CommandFailed as problem:
                waiting.problems.append(f"judge {_title(load)}: {problem}")
                continue
            say(f"judge {_title(load)}: {timing.seconds:.2f} s, {float(said) / load.pairs * 1000:.2f} ms a pair")
            waiting.note(OURS, timing)
            processor.note(OURS, Timing(float(said)))
        waiting.note(IDEAL, Timing(load.ideal))
        yield Case("judge", _title(load), "", (), {IDEAL: AIMS[work]} if work in AIMS else {}), waiting
        if work == "many":
            processor.note(ALLOWED, Timing(load.pairs * ALLOWED_SECONDS))
            yield Case("judge", "the same, processor time", "", (), {ALLOWED: 1}), processor


def main() -> None:
    """Do one piece of work and print its seconds, and those of the processor; or serve one."""
    if sys.argv[1] == "serve":
        asyncio.run(Server(LOADS[sys.argv[2]]).serve())
    print(*judged(sys.argv[1]))


if __name__ == "__main__":
    main()
