"""Several runs at once, each read and matched in a process of its own: what was found comes back, never a run.

Processes are started afresh, without whatever program called this one, and given the judgments once. They read paths
alone; everything else, and every run about which there is an error to be said, is left to the caller, who then says the
same as if there were no other processes. They end with the caller, whatever its end is.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from copy import copy
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from rankgauge.errors import OPTIONS, RankgaugeError, RankgaugeWarning, warn, way
from rankgauge.matching.hits import Hits
from rankgauge.matching.match import match
from rankgauge.read import Judgments, RunSource
from rankgauge.read.part_files import size_of
from rankgauge.read.sources import may_be_parts
from rankgauge.validation.quick import Peek, peek

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rankgauge.protocol import Protocol

__all__ = ["Answer", "matched_ahead", "serve"]

PROGRAM: Final = "import sys; sys.path[:] = {path!r}; from rankgauge.jobs import serve; serve()"
THREADS: Final = "POLARS_MAX_THREADS"
PATIENCE: Final = 5.0  # seconds until a process whose pipe was closed has ended, too


class Answer(NamedTuple):
    """What there is to know of a run: its hits under each protocol with what was said meanwhile, and a first look."""

    matched: dict[Protocol, tuple[Hits, list[str]]]
    source: str
    peek: Peek

    def hits_under(self, rules: Protocol) -> Hits:
        """The hits; what was said when they were found is said now."""
        hits, said = self.matched[rules]
        for text in said:
            warn(text)
        return hits


class Task(NamedTuple):
    """A run, and the protocols under which it is to be matched; the first is the one that is looked at."""

    source: RunSource
    rules: Sequence[Protocol]


Asked = Callable[[str], Answer | None]


@contextmanager
def matched_ahead(
    jobs: int, judgments: Judgments, sources: Mapping[str, RunSource], rules: Sequence[Protocol]
) -> Iterator[Asked]:
    """Have so many processes at work on the runs; whoever asks for one waits for it, and does it himself for None."""
    tasks = {name: Task(_bare(each), rules) for name, each in sources.items() if _is_path(each)}
    if min(jobs, len(tasks)) < 2:
        yield lambda name: None
        return
    from concurrent.futures import ThreadPoolExecutor  # not cheap to import, and seldom needed
    from queue import SimpleQueue

    idle: SimpleQueue[_Worker] = SimpleQueue()
    workers: list[_Worker] = []
    futures: dict[str, Future[Answer | None]] = {}
    pool = ThreadPoolExecutor(min(jobs, len(tasks)))

    def ask(task: Task) -> Answer | None:
        worker = idle.get()
        try:
            return worker.ask(task)
        finally:
            idle.put(worker)

    ended = False
    try:  # from the first process on: Ctrl-C may come before the last is there
        for _ in range(min(jobs, len(tasks))):
            workers.append(_Worker(judgments, jobs))
            idle.put(workers[-1])
        futures |= {name: pool.submit(copy_context().run, ask, task) for name, task in tasks.items()}
        yield lambda name: _watched(futures[name].result(), sources[name]) if name in futures else None
        ended = True
    finally:
        for future in futures.values():
            future.cancel()
        for each in workers:
            each.end()
        pool.shutdown()
        if not ended:  # in the middle of their work, they leave their temporary files
            from rankgauge.read.spill import remove_leftovers

            remove_leftovers()


def _watched(answer: Answer | None, source: RunSource) -> Answer | None:
    """An answer, of which is told how many bytes were read for it."""
    if answer is not None and source.watch:
        source.watch(size_of(os.fsdecode(source.origin)))
    return answer


def _is_path(source: RunSource) -> bool:
    """Whether a run is in files, which another process can read as well as this one."""
    path = source.origin
    if type(source) is not RunSource or not isinstance(path, (str, os.PathLike)):
        return False
    return os.path.isfile(path) or may_be_parts(os.fsdecode(path))


def _bare(source: RunSource) -> RunSource:
    """The source without what was read of it, and without whoever watches."""
    made = copy(source)
    made.known = made.watch = None
    return made


class _Worker:
    """A process, and the pipes to it. It does not hear Ctrl-C: whoever does, ends it."""

    def __init__(self, judgments: Judgments, jobs: int) -> None:
        given = copy(judgments)
        given._explain = None  # which looks at the file again, and is asked only where there is an error
        options = OPTIONS.get()
        self.start = pickle.dumps((given, None if options is None else list(options)))
        threads = os.environ.get(THREADS, str(max(1, (os.cpu_count() or 1) // jobs)))
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, THREADS: threads},
            start_new_session=True,
        )

    def ask(self, task: Task) -> Answer | None:
        """What it found; None where there is something wrong with the run."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(self.start + pickle.dumps(task))
            self.process.stdin.flush()
            self.start = b""
            answer: Answer | None = pickle.load(self.process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise RankgaugeError(f"{os.fsdecode(task.source.origin)}: {self._ended()}") from None
        return answer

    def _ended(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        code = self.process.returncode
        how = f"was killed (signal {-code})" if code is not None and code < 0 else f"ended (code {code})"
        bounds = f"fewer {way('jobs', '--jobs')} or less {way('memory', '--memory')}"
        return f"the process that read it {how}; if memory was short, give {bounds}"

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()


# ---- in the process --------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer tasks from standard input on standard output, until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no answer
    judgments, options = pickle.load(sys.stdin.buffer)
    OPTIONS.set(options)
    with suppress(EOFError, BrokenPipeError):
        while True:
            _answer(judgments, pickle.load(sys.stdin.buffer), answers)


def _answer(judgments: Judgments, task: Task, answers: IO[bytes]) -> None:
    try:
        found = pickle.dumps(_found(judgments, task))
    except Exception:  # which the caller meets again, and says
        found = pickle.dumps(None)
    answers.write(found)
    answers.flush()


def _found(judgments: Judgments, task: Task) -> Answer:
    source = task.source.kept()
    matched = {rules: _matched(judgments, source, rules) for rules in task.rules}
    hits, _ = matched[task.rules[0]]
    run = source.opened(hits.protocol)
    return Answer(matched, run.source, peek(judgments, run, hits))


def _matched(judgments: Judgments, source: RunSource, rules: Protocol) -> tuple[Hits, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        hits = match(judgments, source.opened(rules), rules)
    return hits, [str(each.message) for each in said if issubclass(each.category, RankgaugeWarning)]
