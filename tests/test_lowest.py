"""The lowest versions that pyproject.toml claims, as `make test-lowest` installs them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_dependency_is_held_at_the_lowest_version_that_is_claimed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    claimed = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    done = subprocess.run([sys.executable, ROOT / "tools/lowest.py"], capture_output=True, text=True, check=True)
    held = [claim.replace("[binary]", "").replace(">=", "==", 1) for claim in claimed]  # a constraint has no extras
    assert done.stdout.splitlines() == held
