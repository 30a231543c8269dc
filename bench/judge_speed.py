"""How quick judging is against what its server takes.

python bench/judge_speed.py WORK     # one of the pieces below: prints its seconds, and what it found
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

PAIRS, LATENCY, WORKERS = 10_000, 0.2, 64
MODEL: Final = "bench"
IDEAL: Final = "nothing but the waiting"
IDEAL_SECONDS = PAIRS * LATENCY / WORKERS
GROWTH = 1.2  # times the memory at a tenth that the end may take
WORDS = "a text that is as long as one that judges may be shown " * 8


# ---- the server, a process of its own --------------------------------------------------------------------------------


async def _connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    said = {"reason": "It is about what was asked.", "grade": 2}
    message = {"role": "assistant", "content": json.dumps(said)}
    usage = {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL, "usage": usage}
    content = json.dumps(about | {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    try:
        while True:
            asked = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(asked.partition(b"content-length:")[2].partition(b"\r")[0]))
            await asyncio.sleep(LATENCY)
            writer.write(head.encode() + content)
    except (ConnectionError, asyncio.IncompleteReadError):
        writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_connected, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server that answers every question after a while, until the block ends."""
    line = [sys.executable, os.path.abspath(__file__), "serve"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.communicate()


# ---- the pieces of work ----------------------------------------------------------------------------------------------


def judged() -> tuple[float, str]:
    """All pairs judged: the seconds; that memory grows, or a grade is missing, is an error."""
    from rankgauge.judge.asking import ask_judge
    from rankgauge.judge.config import judge_config
    from rankgauge.judge.pairs import Pair
    from rankgauge.store.project import init

    texts = [{"title": f"document {number}", "text": f"{number}: {WORDS}"} for number in range(PAIRS)]
    pairs = [Pair(f"q{at % 500}", f"doc{at}", f"query {at % 500}", None, fields) for at, fields in enumerate(texts)]
    memory: list[int] = []

    def noted(done: int, *_: Any) -> None:
        if done == PAIRS // 10:
            memory.append(_memory())

    with tempfile.TemporaryDirectory() as folder, serving() as url:
        table = {"base_url": url, "model": MODEL, "workers": WORKERS}
        config = judge_config("bench", table, "bench", Path(folder))
        before = time.process_time()
        judged = ask_judge(init(Path(folder, "shop")), config, pairs, progress=noted)
        processor = time.process_time() - before
    grown = _memory() / memory[0]
    print(f"{judged.seconds:.2f} s, {IDEAL_SECONDS / judged.seconds:.3f} of the ideal, {processor / PAIRS * 1000:.2f} ms CPU a pair, memory {grown:.3f}", file=sys.stderr)
    return judged.seconds, str(judged.graded)


def _memory() -> int:
    """Pages that the process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1])


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(_serve())
    if len(sys.argv) > 2:
        PAIRS = int(sys.argv[2]); IDEAL_SECONDS = PAIRS * LATENCY / WORKERS
    print(*judged())
