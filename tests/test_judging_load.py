"""Raters at work on a real server, on both stores: nothing is lost, nothing is there twice, no query in too many hands.

No times are looked at: `bench/` has them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stores import new_database

for needed in ("sqlalchemy", "fastapi", "argon2"):
    pytest.importorskip(needed, reason=f"judging needs {needed}")

ROOT = Path(__file__).parents[1]
CLEAN = {"lost": 0, "twice": 0, "over": 0, "failed": 0}


def raters(folder: Path, address: str, *words: str) -> dict[str, Any]:
    script = [sys.executable, str(ROOT / "bench" / "raters.py"), str(folder), "--db", address, "--raters", "20"]
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.getenv("PYTHONPATH")]))}
    done = subprocess.run([*script, "--think", "0.1", *words], capture_output=True, text=True, timeout=300, env=known)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    return new_database(request.getfixturevalue("server"))


def test_twenty_raters_for_ten_seconds(address: str, tmp_path: Path) -> None:
    told = raters(tmp_path / "shop", address, "--seconds", "10")
    assert {name: told[name] for name in CLEAN} == CLEAN, told
    assert told["acknowledged"] >= 100, told
    assert told["stored"] >= told["acknowledged"], told


def test_a_server_that_is_killed_three_times(address: str, tmp_path: Path) -> None:
    told = raters(tmp_path / "shop", address, "--seconds", "9", "--kills", "3")
    assert {name: told[name] for name in CLEAN} == CLEAN, told
    assert told["retries"] >= 3, told
    assert told["stored"] >= told["acknowledged"] >= 50, told
