"""Spark on this machine: rankgauge, hand-written SQL and MLlib on the same Parquet, in interleaved rounds.

    python bench/spark_speed.py [M L] [--rounds 4]

Needs pyspark, pyarrow and a Java beside rankgauge. Every contender is warmed once; the best of the rounds counts. The
SQL is what people write: a window for ranks, a join, sums. `checked` computes three measures and makes the checks that
rankgauge makes (nulls, numbers that are none, documents twice); `alone` is nDCG@10 without any. `rows to Python alone`
is what Spark, as it is set by default, takes to hand the rows to processes that do nothing with them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import shapes

MEASURES = ["nDCG@10", "R@100", "RR"]
RANKS = """
select query_id, doc_id, row_number() over (partition by query_id order by score desc, doc_id desc) as place from run
"""
IDEAL = """
select query_id, sum(relevance / log2(place + 1)) as ideal from (
  select query_id, relevance, row_number() over (partition by query_id order by relevance desc) as place from judgments
) where place <= 10 group by query_id
"""
ALONE = f"""
with ranked as ({RANKS}), ideals as ({IDEAL}),
gained as (
  select r.query_id, sum(j.relevance / log2(r.place + 1)) as gain
  from ranked r join judgments j on r.query_id = j.query_id and r.doc_id = j.doc_id
  where r.place <= 10 group by r.query_id
)
select avg(case when ideal > 0 then coalesce(gain, 0) / ideal else 0 end) as ndcg
from ideals left join gained on ideals.query_id = gained.query_id
"""
THREE = f"""
with ranked as ({RANKS}), ideals as ({IDEAL}),
relevant as (select query_id, count_if(relevance >= 1) as wanted from judgments group by query_id),
gained as (
  select r.query_id, sum(case when r.place <= 10 then j.relevance / log2(r.place + 1) end) as gain,
    count_if(r.place <= 100 and j.relevance >= 1) as found,
    min(case when j.relevance >= 1 then r.place end) as first
  from ranked r join judgments j on r.query_id = j.query_id and r.doc_id = j.doc_id group by r.query_id
)
select avg(case when ideal > 0 then coalesce(gain, 0) / ideal else 0 end) as ndcg,
  avg(case when wanted > 0 then coalesce(found, 0) / wanted else 0 end) as recall, avg(coalesce(1 / first, 0)) as rr
from relevant left join ideals on relevant.query_id = ideals.query_id
  left join gained on relevant.query_id = gained.query_id
"""
CHECKS = (
    "select count(*) from run where query_id is null or doc_id is null or score is null or isnan(score)",
    "select count(*) from (select 1 from run group by query_id, doc_id having count(*) > 1)",
)


def parquet_of(name: str, folder: Path, source: Path) -> tuple[Path, Path]:
    """The judgments and the run of a shape as Parquet: the run in two files."""
    import rankgauge

    data = shapes.dataset(name, source)
    made = folder / name
    if not (made / "done").exists():
        (made / "run").mkdir(parents=True, exist_ok=True)
        rankgauge.read_judgments(data.qrels).to_frame().write_parquet(made / "judgments.parquet")
        rows = rankgauge.read_run(data.run).to_frame()
        half = _boundary(rows)
        rows[:half].write_parquet(made / "run" / "part-0.parquet")
        rows[half:].write_parquet(made / "run" / "part-1.parquet")
        (made / "done").touch()
    return made / "judgments.parquet", made / "run"


def _boundary(rows: pl.DataFrame) -> int:
    """The first row of the query in the middle."""
    query = rows["query_id"]
    return int((query == query[len(query) // 2]).arg_true()[0])


def contenders(session: Any, judgments: Any, run: Any) -> dict[str, Callable[[], float]]:
    """What is measured, each giving its nDCG@10."""
    from rankgauge.engines import spark

    def ours() -> float:
        return spark.evaluate(judgments, run, MEASURES).first["nDCG@10"]

    def ours_alone() -> float:
        return spark.evaluate(judgments, run, "nDCG@10").first["nDCG@10"]

    def shipped() -> float:
        rows = run.select("query_id", "doc_id", "score")
        return float(rows.mapInArrow(lambda batches: (each for each in batches if False), run.schema).count())

    def three() -> float:
        assert all(session.sql(check).collect()[0][0] == 0 for check in CHECKS)
        return float(session.sql(THREE).collect()[0]["ndcg"])

    def alone() -> float:
        return float(session.sql(ALONE).collect()[0]["ndcg"])

    def mllib() -> float:
        ranked = session.sql(
            "select query_id, transform(sort_array(collect_list(struct(score, doc_id)), false), x -> x.doc_id) "
            "as found from run group by query_id"
        )
        judged = session.sql(
            "select query_id, collect_list(doc_id) as wanted, collect_list(relevance) as grades from judgments "
            "where relevance >= 1 group by query_id"
        )
        from pyspark.mllib.evaluation import RankingMetrics

        pairs = ranked.join(judged, "query_id").select("found", "wanted").rdd.map(lambda row: (row[0], row[1]))
        return float(RankingMetrics(pairs).ndcgAt(10))

    return {
        "rankgauge, three": ours, "SQL, three, checked": three, "MLlib ndcgAt": mllib,
        "rankgauge, nDCG@10": ours_alone, "SQL, nDCG@10 alone": alone, "rows to Python alone": shipped,
    }  # fmt: skip


def main() -> None:
    """Print a table of the best times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="*", default=["M", "L"])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--data", type=Path, default=shapes.DEFAULT_FOLDER, help="where the shapes are, or are made")
    parser.add_argument("--folder", type=Path, default=shapes.DEFAULT_FOLDER / "spark", help="where the Parquet is")
    asked = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "4g")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for name in asked.shapes or ["M", "L"]:
        judgments, run = (session.read.parquet(str(path)) for path in parquet_of(name, asked.folder, asked.data))
        judgments.createOrReplaceTempView("judgments")
        run.createOrReplaceTempView("run")
        known = contenders(session, judgments, run)
        values = {each: work() for each, work in known.items()}
        times: dict[str, list[float]] = {each: [] for each in known}
        for _ in range(asked.rounds):
            for each, work in known.items():
                started = time.perf_counter()
                work()
                times[each].append(time.perf_counter() - started)
        ours = min(times["rankgauge, three"])
        for each, taken in times.items():
            best = min(taken)
            print(f"{name}  {each:22} {best:7.2f} s  {best / ours:5.2f}x  nDCG@10 {values[each]:.6f}", flush=True)
    session.stop()


if __name__ == "__main__":
    main()
