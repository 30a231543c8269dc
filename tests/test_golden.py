"""`rankgauge trec_eval` prints what trec_eval 10 printed, byte for byte, on files that are part of the tests."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

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
    assert outputs == sorted(case["expected"] for case in CASES)
