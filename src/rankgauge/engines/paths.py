"""Runs at paths that Spark reads, for the command line: files of tables, folders of them, addresses."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Final

from rankgauge.engines.failures import heed_interrupt, said_by
from rankgauge.engines.jobs import SparkJudgments, SparkRun
from rankgauge.errors import InputError, choices, unknown
from rankgauge.read import JudgmentsSource, RunSource

__all__ = ["READERS", "check_server", "frame_at", "judgments_at", "run_at", "session_at"]

READERS: Final[dict[str, tuple[str, dict[str, str]]]] = {  # suffix → Spark's format and its options
    ".parquet": ("parquet", {}),
    ".orc": ("orc", {}),
    ".jsonl": ("json", {}),
    ".json": ("json", {}),
}
COMPRESSED: Final = (".gz", ".bz2", ".zst")
QUIET: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
PATIENCE: Final = 10.0  # seconds for a server to answer


def judgments_at(session: Any, source: JudgmentsSource) -> JudgmentsSource:
    """Judgments at a path that Spark reads; what it does not read stays as it is."""
    if _format(str(source.origin)) is None:
        return source
    return SparkJudgments(frame_at(session, source.origin), columns=source.columns)


def run_at(session: Any, source: RunSource) -> SparkRun:
    """A run at a path that Spark reads."""
    return SparkRun(frame_at(session, str(source.origin)), columns=source.columns)


@contextmanager
def session_at(master: str) -> Iterator[Any]:
    """A session of Spark: the one that is there, which stays, or a new one at a master or (sc://…) a server."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("Spark is not installed; install it with: pip install 'rankgauge[spark]'") from None
    known = SparkSession.getActiveSession()
    if known is not None:
        yield known
        return
    with _unlogged():
        session = _started(SparkSession.builder.appName("rankgauge"), master)
        try:
            yield session
        finally:
            with suppress(Exception):  # an interrupt leaves little that could be told to stop
                session.stop()


@contextmanager
def _unlogged() -> Iterator[None]:
    """Without the stack traces that Py4J logs when it is interrupted."""
    nowhere = logging.NullHandler()
    logging.root.addHandler(nowhere)
    try:
        yield
    finally:
        logging.root.removeHandler(nowhere)


def _started(builder: Any, master: str) -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        if master.startswith("sc://"):
            check_server(master)
            return builder.remote(master).getOrCreate()
        with tempfile.TemporaryFile() as said:
            _start_java(master, said)
        return builder.getOrCreate()
    except InputError:
        raise
    except Exception as error:  # of Java, in many lines
        heed_interrupt(error)
        raise _not_started(master, error) from None


def _not_started(master: str, why: Exception | str, remedy: str = "") -> InputError:
    return InputError(f"--master {master}: Spark does not start ({said_by(why)}){remedy}")


def check_server(master: str, patience: float = PATIENCE) -> None:
    """Refuse a server of Spark Connect that does not answer, for which Spark itself would wait for many minutes."""
    try:
        import grpc
        from pyspark.sql.connect.client import DefaultChannelBuilder
    except ImportError as error:
        raise _not_started(master, error, "; install what it needs with: pip install 'pyspark[connect]'") from None
    with DefaultChannelBuilder(master).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(patience)
        except grpc.FutureTimeoutError:
            raise InputError(f"--master {master}: nobody answers there, not in {patience:g} seconds") from None


def _start_java(master: str, said: IO[bytes]) -> None:
    """Start Java and in it Spark; what Java says in vain is said in one line."""
    from pyspark import SparkConf, SparkContext, java_gateway

    launch: Any = java_gateway.launch_gateway  # which has no types
    conf = SparkConf().setMaster(master).setAppName("rankgauge").setAll([*QUIET.items()])
    try:
        with _uninterrupted():
            gateway = launch(conf, {"stderr": said})
    except Exception as error:
        said.seek(0)
        lines = said.read().decode(errors="replace").splitlines()
        thrown = next((line for line in lines if "Exception: " in line), None)
        remedy = "; it needs Java 17 or newer, on the path or at JAVA_HOME"
        raise _not_started(master, thrown or error, "" if thrown else remedy) from None
    SparkContext(conf=conf, gateway=gateway)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for as long as Java takes to start, which would be left behind; what it starts never hears of it."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def frame_at(session: Any, path: str) -> Any:
    """The DataFrame at a path, by its suffix; a folder without one is of Parquet."""
    found = _format(path)
    if found is None:
        suffix = os.path.splitext(path)[1] or path
        raise InputError(unknown(f"{path}: Spark reads no such file", suffix, READERS, f"expected {choices(READERS)}"))
    form, options = found
    try:
        return session.read.format(form).options(**options).load(path)
    except Exception as error:  # of Java, in many lines
        heed_interrupt(error)
        raise InputError(f"{path}: Spark cannot read it ({said_by(error)})") from None


def _format(path: str) -> tuple[str, dict[str, str]] | None:
    bare = path.rstrip("/*")
    for suffix in COMPRESSED:
        bare = bare.removesuffix(suffix)
    suffix = os.path.splitext(bare)[1].lower()
    return READERS.get(suffix) or (READERS[".parquet"] if "://" in path or os.path.isdir(path) else None)
