"""Runs at paths that Spark reads, for the command line: files of tables, folders of them, addresses."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from rankgauge.engines.failures import said_by
from rankgauge.errors import InputError, choices, unknown
from rankgauge.result import Evaluation

__all__ = ["READERS", "evaluate_paths", "frame_at", "session_at"]

READERS: Final[dict[str, tuple[str, dict[str, str]]]] = {  # suffix → Spark's format and its options
    ".parquet": ("parquet", {}),
    ".orc": ("orc", {}),
    ".jsonl": ("json", {}),
    ".json": ("json", {}),
}
COMPRESSED: Final = (".gz", ".bz2", ".zst")
QUIET: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}


def evaluate_paths(judgments: str, runs: Mapping[str, str], measures: Any, *, master: str, **about: Any) -> Evaluation:
    """Measure runs at paths that Spark reads; judgments that it does not read are read here."""
    from rankgauge.engines.spark import evaluate

    with session_at(master) as session:
        frames = {name: frame_at(session, path) for name, path in runs.items()}
        judged = frame_at(session, judgments) if _format(judgments) is not None else judgments
        return evaluate(judged, frames, measures, **about)


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
