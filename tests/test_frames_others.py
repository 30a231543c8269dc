"""Frames of other engines: DuckDB's relations come as Arrow streams, lazy frames are not collected whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankgauge
from rankgauge.errors import FormatError

JUDGMENTS = {"q1": {"a": 3, "b": 1}, "q2": {"c": 1}, "7": {"8": 2}}
RUN = {"q1": {"b": 2.0, "a": 1.5, "x": 1.0}, "q2": {"x": 3.0, "c": 2.5}, "7": {"8": 0.5}}
MEASURES = ["nDCG@10", "R@100", "RR"]


def table(nested: dict[str, dict[str, Any]], number: str) -> pl.DataFrame:
    """Dicts as a frame."""
    rows = [(query, doc, float(value)) for query, docs in nested.items() for doc, value in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", number], orient="row")


EXPECTED = rankgauge.evaluate(JUDGMENTS, RUN, MEASURES)


def same(found: rankgauge.Result) -> bool:
    """Whether a result is that of the dicts, bit for bit."""
    return found.fingerprint == EXPECTED.fingerprint and dict(found) == dict(EXPECTED)


class TestDuckDB:
    @pytest.fixture
    def base(self, tmp_path: Path) -> Any:
        duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
        base = duckdb.connect(str(tmp_path / "base.db"))
        for name, nested, number in (("qrels", JUDGMENTS, "relevance"), ("runs", RUN, "score")):
            table(nested, number).write_parquet(tmp_path / f"{name}.parquet")
            base.sql(f"create table {name} as select * from read_parquet('{tmp_path / name}.parquet')")
        return base

    def test_relations(self, base: Any) -> None:
        judged, ranked = base.sql("select * from qrels"), base.sql("select * from runs order by score desc")
        assert same(rankgauge.evaluate(judged, ranked, MEASURES))
        assert same(rankgauge.evaluate(judged, ranked, MEASURES)), "a relation can be read again"

    def test_a_query_over_files(self, base: Any, tmp_path: Path) -> None:
        ranked = base.sql(
            f"select query_id as qid, doc_id as docno, score from read_parquet('{tmp_path}/runs.parquet')"
        )
        assert same(rankgauge.evaluate(base.sql("select * from qrels"), ranked, MEASURES))

    def test_several_systems(self, base: Any) -> None:
        runs = {"one": base.sql("select * from runs"), "other": base.sql("select * from runs")}
        for result in rankgauge.evaluate_runs(base.sql("select * from qrels"), runs, MEASURES).values():
            assert same(result)

    def test_errors_are_those_of_frames(self, base: Any) -> None:
        bad = base.sql("select query_id, doc_id, case when doc_id = 'x' then null else score end as score from runs")
        with pytest.raises(FormatError, match=r"run, row \d: column 'score' has no value"):
            rankgauge.evaluate(JUDGMENTS, bad)


class TestLazy:
    @pytest.fixture
    def files(self, tmp_path: Path) -> Path:
        table(JUDGMENTS, "relevance").write_parquet(tmp_path / "qrels.parquet")
        table(RUN, "score").write_parquet(tmp_path / "runs.parquet")
        return tmp_path

    def test_scans(self, files: Path) -> None:
        judged, ranked = (pl.scan_parquet(files / f"{name}.parquet") for name in ("qrels", "runs"))
        assert same(rankgauge.evaluate(judged, ranked, MEASURES))

    def test_what_is_not_read_is_not_computed(self, files: Path) -> None:
        """A column that cannot be computed is of no consequence where it is not asked for."""
        bad = pl.scan_parquet(files / "runs.parquet").with_columns(text=pl.col("doc_id").cast(pl.Int64))
        with pytest.raises(pl.exceptions.PolarsError):
            bad.collect()
        assert same(rankgauge.evaluate(JUDGMENTS, bad, MEASURES))

    def test_columns_are_found_and_mapped(self, files: Path) -> None:
        ranked = pl.scan_parquet(files / "runs.parquet").rename({"score": "worth"})
        assert same(rankgauge.evaluate(JUDGMENTS, ranked, MEASURES, columns={"score": "worth"}))
        with pytest.raises(FormatError, match="run: no column for the score; found query_id, doc_id, worth"):
            rankgauge.evaluate(JUDGMENTS, ranked, MEASURES)
