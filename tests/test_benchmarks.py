"""The stopwatch in bench/: it runs, its page is complete with the spread of every ratio, and two checkouts compare."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPREAD = re.compile(r"(\d+\.\d\d) – (\d+\.\d\d)x")


def bench(script: str, *arguments: str | Path) -> str:
    """What a script of bench/ prints; it must succeed."""
    command = [sys.executable, str(ROOT / "bench" / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_has_the_spread_of_every_ratio(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    some = ["--quick", "--rounds", "2", "--only", "startup", "--tools", "rankgauge,ir_measures"]
    bench("run.py", *some, "--data", tmp_path, "--report", page)
    text = page.read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    heads, _, *figures = rows
    assert [row[0] for row in figures] == ["--help", "eval of one query of 100 documents"]
    for row in figures:
        spread = SPREAD.fullmatch(row[heads.index("rounds")])
        assert spread is not None
        low, high = map(float, spread.groups())
        assert low <= float(row[heads.index("ratio")].removesuffix("x")) <= high
    assert "best of 2 rounds" in text


def test_judging_is_measured_against_its_server(tmp_path: Path) -> None:
    pytest.importorskip("httpx2", reason="the extra loop is not installed")
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    printed = bench("run.py", "--quick", "--rounds", "1", "--only", "judge", "--tools", "rankgauge", "--data", tmp_path)
    assert re.search(r"500 pairs at 200 ms, 64 workers +nothing but the waiting +0\.\d+x", printed)


def test_a_checkout_is_timed_against_another(tmp_path: Path) -> None:
    printed = bench("versus.py", ROOT, "--only", "help,small", "--rounds", "2", "--data", tmp_path)
    heads, *rows = printed.split("\n\n")[1].splitlines()
    assert heads.split()[:4] == ["what", "ratio", "median", "rounds"]
    assert [row.split("  ")[0] for row in rows] == ["--help", "eval, one query of 100 documents"]
    assert all(SPREAD.search(row) and row.endswith("same") for row in rows)


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "bench" / "versus.py"), str(tmp_path), "--only", "help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{tmp_path} is no checkout of rankgauge" in done.stderr
