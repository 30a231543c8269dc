"""Runs at paths that Spark reads, for the command line: files of tables, folders of them, addresses."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from rankgauge.engines.failures import said_by
from rankgauge.engines.jobs import SparkJudgments, SparkRun
from rankgauge.errors import InputError, choices, unknown
from rankgauge.read import JudgmentsSource, RunSource

__all__ = ["READERS", "frame_at", "judgments_at", "run_at", "session_at"]

READERS: Final[dict[str, tuple[str, dict[str, str]]]] = {  # suffix → Spark's format and its options
    ".parquet": ("parquet", {}),
    ".orc": ("orc", {}),
    ".jsonl": ("json", {}),
    ".json": ("json", {}),
}
COMPRESSED: Final = (".gz", ".bz2", ".zst")
QUIET: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}


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
    session = _started(SparkSession.builder.appName("rankgauge"), master)
    try:
        yield session
    finally:
        session.stop()


def _started(builder: Any, master: str) -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        if master.startswith("sc://"):
            return builder.remote(master).getOrCreate()
        return builder.master(master).config(map=QUIET).getOrCreate()
    except Exception as error:  # of Java, in many lines
        remedy = "it needs Java 17 or newer, on the path or at JAVA_HOME"
        raise InputError(f"--master {master}: Spark does not start ({said_by(error)}); {remedy}") from None


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
        raise InputError(f"{path}: Spark cannot read it ({said_by(error)})") from None


def _format(path: str) -> tuple[str, dict[str, str]] | None:
    bare = path.rstrip("/*")
    for suffix in COMPRESSED:
        bare = bare.removesuffix(suffix)
    suffix = os.path.splitext(bare)[1].lower()
    return READERS.get(suffix) or (READERS[".parquet"] if "://" in path or os.path.isdir(path) else None)
