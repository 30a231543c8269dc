"""What Spark says when it gives up, in one line: of Java's stack traces the one sentence that helps."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rankgauge.errors import InputError

__all__ = ["heed_interrupt", "in_one_line", "said_by"]

LIBRARIES: Final = ("pyspark", "py4j", "grpc")
LONGEST: Final = 300
ELSEWHERE: Final = "ModuleNotFoundError"  # its workers have another Python
EMPTY: Final = "Exception thrown in awaitResult"  # of which the cause says more


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn what Spark raises into an error of one line; everything else passes."""
    try:
        yield
    except Exception as error:
        heed_interrupt(error)
        if type(error).__module__.split(".")[0] not in LIBRARIES:
            raise
        said, lost = said_by(error), "nothing was written; Spark's own log says more"
        if ELSEWHERE in said:
            lost = f"start the session with PYSPARK_PYTHON set to a Python that has it, such as {sys.executable}"
        raise InputError(f"Spark could not finish the job: {said}; {lost}") from None


def heed_interrupt(error: BaseException | None) -> None:
    """Raise KeyboardInterrupt where an error is what Spark made of one."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        error = error.__cause__ or error.__context__


def said_by(error: Exception | str) -> str:
    """The sentence of an error of Spark that says what happened."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (_of_python(lines) or _of_java(lines)).strip()[:LONGEST].rstrip(".;: ")


def _of_python(lines: list[str]) -> str:
    """What a task in Python raised: the line after its traceback."""
    starts = (at for at, line in enumerate(lines) if line.startswith("Traceback"))
    return next((line for line in lines[next(starts, len(lines)) + 1 :] if not line[0].isspace()), "")


def _of_java(lines: list[str]) -> str:
    """What a job ended with; else what Java raised, after a colon as Py4J has it, or its cause; else the first line."""
    aborted = [line for line in lines if "Job aborted" in line]
    raised = [line for line in lines if line.startswith((": ", "Caused by: ")) and EMPTY not in line]
    return [*aborted, *raised, *lines][0].rsplit("Exception: ", 1)[-1]
