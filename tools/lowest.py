"""The lowest versions of the dependencies that pyproject.toml claims, as constraints for pip.

python tools/lowest.py > constraints.txt     # numpy>=2.0 becomes numpy==2.0
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
CLAIM = re.compile(r"(?P<name>[\w.-]+)(?:\[\w+\])?>=(?P<version>[\w.]+)(?P<marker>\s*;.*)?")


def claims(project: dict[str, Any]) -> Iterator[str]:
    """The requirements of the package and of its extras."""
    yield from project["dependencies"]
    for extra in project["optional-dependencies"].values():
        yield from extra


def lowest(claim: str) -> str:
    """The constraint that allows only the lowest version of a requirement."""
    parts = CLAIM.fullmatch(claim)
    if parts is None:
        raise SystemExit(f"{PROJECT.name}: {claim!r} claims no lowest version; write it as name>=version")
    return f"{parts['name']}=={parts['version']}{parts['marker'] or ''}"


def main() -> None:
    """Print one constraint per line."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    for claim in claims(project):
        print(lowest(claim))


if __name__ == "__main__":
    main()
