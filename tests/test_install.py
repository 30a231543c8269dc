"""Every row of the README's table in a fresh environment: the wheel, with what the row names and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import httpx2
import pytest
from packaging.requirements import Requirement

from web import made, write

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| .+ \| (?P<how>.*`rankgauge .*) \|$", re.MULTILINE)
LINE = "pip install 'rankgauge[charts]'"


class Case(NamedTuple):
    """A command of the README with real names in it: its words, its folder, its standard input, how it may end."""

    words: str
    folder: str = "."
    stdin: str = ""
    codes: Sequence[int] = (0,)


# Command of the README → the same on files that are there.
CASES = {
    "eval QRELS RUN… -m nDCG@10 -m R@100": Case("eval qrels.txt s0.run s1.run -m nDCG@10 -m R@100"),
    "compare QRELS A B": Case("compare qrels.txt s0.run s1.run"),
    "explain QRELS OLD NEW --worst 5": Case("explain qrels.txt s0.run s1.run --worst 5"),
    "serve QRELS A B --open": Case("serve qrels.txt s0.run s1.run --open"),
    "report QRELS A B -o report.html": Case("report qrels.txt s0.run s1.run -o report.html"),
    "check QRELS NEW --baseline OLD --margin 0.01": Case(
        "check qrels.txt s1.run --baseline s0.run --margin 0.01", codes=(0, 1, 3)
    ),
    "funnel QRELS --retrieved A --reranked B": Case("funnel qrels.txt --retrieved s1.run --reranked again.run"),
    "pool RUN… -o pairs.jsonl": Case("pool s0.run s1.run -o pairs.jsonl"),
    "task make NAME PAIRS": Case("task make autumn out/pairs.jsonl", "shop"),
    "serve": Case("serve", "shop"),
    "judge-page PAIRS -o judge.html": Case("judge-page shop/out/pairs.jsonl -o judge.html"),
    "user add NAME --role rater": Case("user add ann --role rater", "team", "correct horse battery\n"),
    "judge --judge gpt": Case("judge --judge stand-in", "shop"),
    "judgments QRELS RUN…": Case("judgments qrels.txt s0.run s1.run"),
    "agree A B --runs RUN…": Case("agree qrels.txt other.txt --runs s0.run s1.run"),
    "ppi HUMAN LLM RUN…": Case("ppi few.txt qrels.txt s0.run s1.run"),
    "align TABLE": Case("align table.csv"),
    "plan --deviation 0.2 --difference 0.02": Case("plan --deviation 0.2 --difference 0.02"),
    "init NAME --example": Case("init example --example"),
    "loop NAME": Case("loop example"),
    "search bm25 queries.tsv": Case("search bm25 out/queries.tsv", "shop"),
    "sample log.csv --n 300 -o queries.tsv": Case("sample log.csv --n 30 -o queries.tsv"),
    "init": Case("init new"),
    "store import …": Case("store import people.txt --judge ann", "shop"),
    "labels": Case("labels", "shop"),
    "history": Case("history", "shop"),
    "validate QRELS RUN…": Case("validate qrels.txt s0.run", codes=(0, 1)),
    "dialects QRELS RUN": Case("dialects qrels.txt s0.run"),
    "bench SUITE": Case("bench suite.toml"),
    "plot forest QRELS RUN… -o forest.png": Case("plot forest qrels.txt s0.run s1.run -o forest.png"),
    "measures NAME": Case("measures nDCG"),
    "rules NAME": Case("rules ties"),
    "trec_eval …": Case("trec_eval qrels.txt s0.run"),
    "convert IN OUT": Case("convert s0.run s0.csv"),
}


def rows() -> Iterator[tuple[str, str]]:
    """Every command of the table, with the extra that its row names."""
    for row in ROW.finditer((ROOT / "README.md").read_text(encoding="utf-8")):
        extra = "".join(re.findall(r"`rankgauge\[(\w+)\]`", row["how"]))
        for command in re.findall(r"`rankgauge(?: ([^`]+))`", row["how"]):
            yield command, extra


# ---- environments ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the wheel."""

    folder: Path

    @cached_property
    def line(self) -> list[str]:
        """The command line of this environment."""
        return [str(self.folder / "bin" / "python"), "-I", "-m", "rankgauge"]

    @cached_property
    def surroundings(self) -> dict[str, str]:
        """The environment variables: nobody looks at a browser, and nothing comes from elsewhere."""
        known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RANKGAUGE"))}
        return known | {"BROWSER": "true"}

    def run(self, words: Sequence[str], cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """A command, to its end."""
        line = [*self.line, *words]
        return subprocess.run(
            line, cwd=cwd, env=self.surroundings, input=stdin, capture_output=True, text=True, timeout=300
        )

    def served(self, words: Sequence[str], cwd: Path, paths: Sequence[str]) -> dict[str, httpx2.Response]:
        """Pages of a server, which is stopped afterwards."""
        process = subprocess.Popen(
            [*self.line, *words, "--cache", str(cwd / "cache")],
            cwd=cwd, env=self.surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            ((base, key),) = re.findall(r"(http://\S+)/\?key=(\S+)", process.stdout.readline())
            with httpx2.Client(base_url=base, headers={"authorization": f"Bearer {key}"}, timeout=120) as client:
                while "Reading the files" in client.get("/").text:
                    pass
                return {path: client.get(path) for path in paths}
        finally:
            process.terminate()
            process.communicate(timeout=60)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    built = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def installed(wheel: Path, folder: Path, extra: str = "") -> Environment:
    """An environment that pip makes, from the index that it is set up for."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    asked = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", asked], check=True)
    return Environment(folder)


def linked(wheel: Path, folder: Path, extra: str = "") -> Environment:
    """An environment of links to what is installed here, and of that only what the wheel asks for."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    with ZipFile(wheel) as file:
        file.extractall(packages)
        (metadata,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        asked = re.findall(r"^Requires-Dist: (.*)$", file.read(metadata).decode(), re.MULTILINE)
    for name in sorted(needed(asked, {"", extra})):
        found = distribution(name)
        for top in {part.parts[0] for part in found.files or () if part.parts[0] not in ("..", "__pycache__")}:
            link = packages / top
            if not link.exists():
                link.symlink_to(Path(str(found.locate_file(top))).resolve())
    return Environment(folder)


def needed(asked: Sequence[str], extras: set[str]) -> set[str]:
    """The names of all distributions that requirements lead to."""
    found: set[str] = set()
    left = [(Requirement(each), extras) for each in asked]
    while left:
        each, extras = left.pop()
        if each.marker is not None and not any(each.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        try:
            known = distribution(each.name)
        except PackageNotFoundError:
            pytest.fail(f"{each.name} is not installed here: make test")
        if each.name not in found:
            found.add(each.name)
            left += [(Requirement(more), {"", *each.extras}) for more in known.requires or ()]
    return found


# ---- the rows --------------------------------------------------------------------------------------------------------


def prepared(folder: Path) -> Path:
    """Files for the commands."""
    judgments, runs = made(40, 2)
    runs["again"] = {query: {doc: -score for doc, score in docs.items()} for query, docs in runs["s1"].items()}
    folder.mkdir()
    qrels, _ = write(folder, judgments, runs)
    lines = qrels.read_text().splitlines(keepends=True)
    (folder / "few.txt").write_text("".join(line for line in lines if line < "q20"))
    (folder / "other.txt").write_text("".join(re.sub(r"3$", "2", line, flags=re.MULTILINE) for line in lines))
    (folder / "suite.toml").write_text('[datasets.one]\nqrels = "qrels.txt"\nruns = "s?.run"\n')
    shutil.copy(ROOT / "demo" / "log.csv", folder / "log.csv")
    shutil.copy(ROOT / "demo" / "made_experiments.csv", folder / "table.csv")
    return folder


def add_projects(here: Environment, folder: Path) -> None:
    """Projects for the commands, made by the environment, too."""
    for words in (["init", "shop", "--example"], ["loop", "shop"], ["init", "team"]):
        done = here.run(words, folder)
        assert done.returncode == 0, done.stderr


def trouble(here: Environment, case: Case, folder: Path) -> str:
    """What went wrong with a command; nothing where it did what it is there for."""
    words, where = case.words.split(), folder / case.folder
    if words[0] == "serve":
        answers = here.served(words, where, ["/", "/index.json"]).values()
        return "".join(answer.text for answer in answers if answer.status_code != 200)
    done = here.run(words, where, case.stdin)
    right = done.returncode in case.codes and "Traceback" not in done.stderr
    return "" if right else f"exit {done.returncode}: {done.stderr[-500:]}"


def test_every_command_of_the_readme_is_tried() -> None:
    assert {command for command, _ in rows()} == {*CASES}
    assert {extra for _, extra in rows()} == {"", "charts"}


@pytest.mark.parametrize("how", [linked, pytest.param(installed, marks=pytest.mark.slow)])
def test_every_row_of_the_readme_works_with_what_it_names(how: Any, wheel: Path, tmp_path: Path) -> None:
    """By default in environments of links, which take a second; `make test-slow` has pip make them."""
    troubles: dict[str, str] = {}
    for extra in dict.fromkeys(extra for _, extra in rows()):
        here = how(wheel, tmp_path / f"environment-{extra}", extra)
        folder = prepared(tmp_path / f"files-{extra}")
        if not extra:
            add_projects(here, folder)
        for command in (command for command, named in rows() if named == extra):
            if words := trouble(here, CASES[command], folder):
                troubles[command] = words
    assert troubles == {}


def test_without_charts_pages_and_reports_are_there_and_say_what_to_install(wheel: Path, tmp_path: Path) -> None:
    here = linked(wheel, tmp_path / "environment")
    folder = prepared(tmp_path / "files")
    plot = here.run(CASES["plot forest QRELS RUN… -o forest.png"].words.split(), folder)
    assert (plot.returncode, plot.stderr) == (2, f"error: charts need an extra: {LINE}\n")
    report = here.run(CASES["report QRELS A B -o report.html"].words.split(), folder)
    assert (report.returncode, report.stderr) == (0, "")
    pages = here.served(["serve", "qrels.txt", "s0.run", "s1.run"], folder, ["/", "/run?run=s1", "/run.charts?run=s1"])
    texts = {"report": (folder / "report.html").read_text(), "run": pages["/run?run=s1"].text}
    for text in map(unescape, texts.values()):
        assert f"Charts need an extra: {LINE}." in text
        assert ("<table" in text, '<figure class="chart"' in text) == (True, False)
    assert "<svg" in texts["report"]  # a drawing of our own: a query rank by rank
    assert pages["/"].status_code == 200
    told = pages["/run.charts?run=s1"].json()["charts"]
    assert {each["problem"] for each in told.values()} == {f"No chart of this: charts need an extra: {LINE}."}
