"""Files of more than 8 MiB, which are read as a whole table: every row arrives."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankgauge

QUERIES, DOCS = 4000, 100
HEADS = {"csv": "query_id,doc_id,score\n", "tsv": "query_id\tdoc_id\tscore\n", "msmarco": ""}


def rows(separator: str, ranks: bool) -> str:
    """A document per line, best first, with a rank or with a score."""
    numbers = range(1, DOCS + 1) if ranks else range(DOCS, 0, -1)
    lines = [separator.join(("{query}", f"document-{number:03}", str(number))) for number in numbers]
    ranking = "\n".join(lines) + "\n"
    return "".join(ranking.replace("{query}", str(query)) for query in range(100_000, 100_000 + QUERIES))


@pytest.mark.parametrize("format", HEADS)
def test_no_row_of_a_big_file_is_lost(format: str, tmp_path: Path) -> None:
    """polars 1 read on behind what had been looked at, and lost the first 4 KB."""
    file = tmp_path / f"run.{format}"
    file.write_text(HEADS[format] + rows("," if format == "csv" else "\t", format == "msmarco"), encoding="utf-8")
    assert file.stat().st_size > 8 << 20
    run = rankgauge.read_run(file, format=format)
    assert sum(1 for _ in run) == QUERIES * DOCS
    assert next(iter(run))[0] == "100000"
