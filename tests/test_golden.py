"""`rankgauge trec_eval` prints what trec_eval printed, byte for byte, on files that are part of the tests; the dialects
of its version 9 and of gdeval give what these gave."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankgauge
from command import real

GOLDEN = Path(__file__).parent / "golden"
with (GOLDEN / "cases.tsv").open(encoding="utf-8", newline="") as stream:
    CASES = list(csv.DictReader(stream, delimiter="\t"))


@pytest.mark.parametrize("case", CASES, ids=[case["expected"] for case in CASES])
def test_trec_eval_prints_the_same_bytes(case: dict[str, str]) -> None:
    done = real("trec_eval", *case["options"].split(), case["qrels"], case["run"], cwd=GOLDEN)
    assert done.out.encode(errors="surrogateescape") == (GOLDEN / case["expected"]).read_bytes()
    assert done.code == 0


def test_every_output_is_compared() -> None:
    outputs = sorted(path.name for path in GOLDEN.glob("*.out"))
    assert outputs == sorted([*(case["expected"] for case in CASES), "close.9.out"])


def test_the_last_line_counts_what_is_skipped_for_want_of_data(tmp_path: Path) -> None:
    """In a folder beside which there is no data, as in a clone."""
    here = Path(__file__).parent
    folder = tmp_path / "clone" / "tests"
    folder.mkdir(parents=True)
    shutil.copy(here / "conftest.py", folder)
    (folder / "test_one.py").write_text("def test_a(shared): ...\ndef test_b(shared): ...\ndef test_c(): ...\n")
    (folder / "test_two.py").write_text("import pytest\n\ndef test_d(): pytest.skip('no browser')\n")
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder.parent)]
    command = [sys.executable, "-m", "pytest", *options, str(folder)]
    paths = os.pathsep.join([str(here), *sys.path])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 skipped for want of other people's data (shared/data): test_one.py 2" in done.stdout.splitlines()


def values_of_close_scores(dialect: str, measures: list[str]) -> list[str]:
    """The lines of close.9.out, as a dialect has them."""
    result = rankgauge.evaluate(GOLDEN / "close.qrels", GOLDEN / "close.run", measures, dialect=dialect)
    queries = [*result.to_dict().items(), ("all", dict(result))]
    names = [str(rankgauge.parse(measure)) for measure in measures]
    return [f"{query} {values[name]:.4f}" for query, values in queries for name in names]


def test_version_9_compares_32_bit_scores() -> None:
    """Scores that only 64 bits tell apart: tied in version 9, and not in version 10."""
    rows = [line.split() for line in (GOLDEN / "close.9.out").read_text(encoding="utf-8").splitlines()]
    theirs, measures = (
        [f"{query} {value}" for _, query, value in rows],
        list(dict.fromkeys(name for name, _, _ in rows)),
    )
    assert values_of_close_scores("trec_eval-9", measures) == theirs
    assert values_of_close_scores("pytrec_eval", measures) == theirs
    other = values_of_close_scores("trec_eval", measures)
    assert sum(one != two for one, two in zip(other, theirs, strict=True)) > 10


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
@pytest.mark.parametrize("name", ["graded", "ties", "missing"])
def test_gdeval_has_exponential_gains_and_err(name: str) -> None:
    files, measures = (GOLDEN / f"{name}.qrels", GOLDEN / f"{name}.run"), ["nDCG(gain=exp)@10", "ERR@10"]
    with (GOLDEN / f"{name}.gdeval.csv").open(encoding="utf-8", newline="") as stream:
        theirs = {row["topic"]: [row["ndcg@10"], row["err@10"]] for row in csv.DictReader(stream)}
    dialect = rankgauge.evaluate(*files, ["nDCG@10", "ERR@10"], dialect="gdeval").to_dict()
    assert {
        query: [f"{value:.5f}" for value in values.values()] for query, values in dialect.items() if values
    } == theirs
    ours = rankgauge.evaluate(*files, measures).to_dict()
    assert {query: [f"{ours[query][measure]:.5f}" for measure in measures] for query in theirs} == theirs
    assert len(theirs) > 8
