"""Run the commands of the documentation again and put what they print, and draw, into its pages.

    make refresh        then look at `git diff docs README.md`: only what a change meant to change may be there

A page may show the beginning of an output; it keeps as many lines as it shows now, or all if it shows all. In the
reference, each name has the first sentence of its docstring.
"""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from operator import attrgetter
from pathlib import Path

import rankgauge

ROOT = Path(__file__).parents[1]
DEMO = ("rankers", "stages", "judge")


def checkout(folder: Path) -> None:
    """A folder that looks like the checkout after `make demo`, with the files that the pages make on their way."""
    shutil.copytree(ROOT / "demo", folder / "demo", ignore=shutil.ignore_patterns("out", "__pycache__"))
    (folder / "docs").mkdir()
    for script in DEMO:
        subprocess.run([sys.executable, f"demo/{script}.py", "demo/out"], cwd=folder, check=True)
    printed("rankgauge agree demo/qrels.txt demo/out/model.txt --matrix -o demo/out/judge.csv", folder)
    (saving,) = re.findall(r"^    (rankgauge eval .* -o demo/baseline.json)$", text_of("docs/gate.md"), re.MULTILINE)
    printed(saving, folder)


def text_of(page: str) -> str:
    """The text of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def printed(command: str, folder: Path) -> list[str]:
    """What a command prints."""
    arguments = [sys.executable, "-m", "rankgauge", *shlex.split(command)[1:]]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    if done.returncode not in (0, 1, 3):
        print(f"{command}\n{done.stderr}", file=sys.stderr)
    return done.stdout.rstrip("\n").split("\n")


def timeless(lines: list[str]) -> list[str]:
    """The lines without the times in them, which are others every time."""
    return [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", line) for line in lines]


def refreshed(page: str, folder: Path) -> str:
    """The page with the outputs of its commands as they are now."""

    def again(block: re.Match[str]) -> str:
        parts = re.split(r"^(?=\$ )", block[1], flags=re.MULTILINE)
        return "```console\n" + "".join(map(example, parts)) + "```"

    def example(part: str) -> str:
        whole = re.match(r"\$ ((?:.*\\\n)*.*)\n", part)
        if whole is None:
            return part
        shown = part[whole.end() :].rstrip("\n").split("\n")
        lines = printed(whole[1].replace("\\\n", ""), folder)
        lines = shown if timeless(lines) == timeless(shown) else lines
        kept = lines if len(shown) >= len(lines) or shown[-1] == lines[-1] else lines[: len(shown)]
        after = "\n" * (len(part) - len(part.rstrip("\n")))
        return part[: whole.end()] + "\n".join(kept).rstrip("\n") + after

    return re.sub(r"```console\n(.*?)```", again, with_summaries(text_of(page)), flags=re.DOTALL)


def with_summaries(text: str) -> str:
    """The text with each row `| `rankgauge.NAME` | … |` as the docstring of NAME has it; data keeps its words."""

    def row(match: re.Match[str]) -> str:
        thing = attrgetter(match[1])(rankgauge)
        return f"| `rankgauge.{match[1]}` | {summary(thing) if callable(thing) else match[2]} |"

    return re.sub(r"^\| `rankgauge\.([\w.]+)` \| (.*) \|$", row, text, flags=re.MULTILINE)


def summary(thing: object) -> str:
    """The first sentence of a docstring, as a cell of a table."""
    paragraph = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return re.sub(r"(?<=\.)\s.*", "", paragraph).replace("|", "\\|")


def main() -> None:
    """Every page, or the ones that are named."""
    pages = sys.argv[1:] or ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkout(folder)
        for page in pages:
            (ROOT / page).write_text(refreshed(page, folder), encoding="utf-8")
            for command in re.findall(
                r"^    (rankgauge .* -o docs/\S+\.svg)$", text_of(page).replace("\\\n", ""), re.M
            ):
                printed(command, folder)
        for picture in (folder / "docs").glob("*.svg"):
            shutil.copy(picture, ROOT / "docs" / picture.name)


if __name__ == "__main__":
    main()
