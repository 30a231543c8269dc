"""The engine of Spark gives the same bits as `evaluate`, whatever way the rows lie, and the same errors in one line.

One Java for the whole file: a session with two threads, which is a server of Spark Connect, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankgauge
from command import COMMAND, Command, real
from rankgauge.errors import (
    DuplicateError,
    FormatError,
    InputError,
    MatchError,
    MeasureError,
    ProtocolError,
    RankgaugeError,
    options_are,
)
from rankgauge.measures import MEASURES, parse
from rankgauge.protocol import RULES, Protocol
from sparks import LOCAL, free_port, session_in

pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install rankgauge[spark]")
pytest.importorskip("pyarrow", reason="Spark needs pyarrow")
from pyspark.errors import PySparkException

from rankgauge.engines import spark
from rankgauge.engines.failures import in_one_line
from rankgauge.engines.jobs import MOST_BYTES, MOST_ROWS, answers, batches_by_rows
from rankgauge.engines.paths import check_server

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),  # what it calls of pandas
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets that py4j leaves to the collector
]

JUDGED = "query_id string, doc_id string, relevance double"
RANKED = "query_id string, doc_id string, score double"
PORT = "spark.connect.grpc.binding.port"
FEW = ["nDCG@10", "R@100", "RR"]
Row = tuple[str, str, float]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of two threads on this machine, which listens for clients of Spark Connect."""
    connect = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": LOCAL,
        PORT: str(free_port()),
    }
    with session_in(tmp_path_factory.mktemp("spark"), **connect) as made:
        yield made


# ---- the same bits ---------------------------------------------------------------------------------------------------


def judgments_of(dice: random.Random, grades: tuple[float, ...]) -> dict[str, dict[str, float]]:
    """Judgments of 30 queries: some without anything relevant, some of which the document is the query itself."""
    made = {f"q{at}": {f"d{doc}": dice.choice(grades) for doc in dice.sample(range(40), 12)} for at in range(30)}
    made["q3"] = dict.fromkeys(made["q3"], 0.0)
    made["q4"]["q4"] = 1.0
    return made


def rows_of(dice: random.Random, *, twice: bool) -> list[Row]:
    """A run with ties, scores of 0 and less, and close ones; it answers queries that are not judged, and not all."""
    scores = [-1.0, 0.0, 0.5, 0.5, 1.0, 1.0 + 1e-12, 2.0, 2.0, 3.25]
    rows = []
    for at in range(5, 36):
        docs = [f"d{doc}" for doc in dice.sample(range(60), dice.randint(1, 30))] + [f"q{at}"]
        docs += docs[:2] if twice and at % 4 == 0 else []
        rows += [(f"q{at}", doc, dice.choice(scores)) for doc in docs]
    return rows


def mixed(number: int) -> dict[str, Any]:
    """Rules by number: one value of each rule that is no refusal, so that a few numbers cover all."""
    refusing = ("error", "integer", "binary")
    chosen: dict[str, Any] = {}
    for place, (rule, values) in enumerate(RULES.items()):
        some = [value for value in values if value not in refusing]
        chosen[rule] = some[(number + place * (1 + number // len(some))) % len(some)]
    chosen["depth"] = None if number % 3 else 7
    chosen["rel"] = 1.0 + number % 2
    if chosen["ties"] == "average":
        chosen |= {"order": "score", "depth": None}
    return chosen


MIXED = [mixed(number) for number in range(13)]
MODES: dict[str, tuple[bool, dict[str, Any]]] = {  # whether queries lie together, and limits
    "where they lie": (True, {}),
    "small blocks": (True, {"block": 20}),
    "apart": (False, {}),
    "anywhere": (False, {"block": 50}),
    "with their judgments": (False, {"broadcast": 0, "block": 50}),
    "counted": (True, {"huge": 3, "block": 4}),
    "apart and counted": (False, {"huge": 9, "block": 100_000}),
}


def test_the_rules_that_are_tried_are_all_there_are() -> None:
    for rule, values in RULES.items():
        tried = {rules[rule] for rules in MIXED}
        assert tried == set(values) - {"error", "integer", "binary"}, rule


def every_measure() -> list[str]:
    """Every measure, cut where it can be."""
    names = []
    for name in MEASURES:
        with contextlib.suppress(RankgaugeError):
            names.append(str(parse(f"{name}@5")))
            continue
        names.append(name)
    return names


def outcome(evaluated: Callable[[], Any]) -> tuple[Any, ...]:
    """Everything about a result, bit for bit; or what was refused."""
    try:
        with warnings.catch_warnings(action="ignore"):
            result = evaluated()
    except RankgaugeError as error:
        return type(error), str(error)
    values = result.per_query.to_dict(as_series=False)
    return result.fingerprint, result.counts, repr(values), repr(dict(result))


def measured_under(rules: Protocol, judgments: Any, run: Any) -> list[str]:
    """Every measure that can be had under the rules."""
    hits = rankgauge.match(judgments, run, rules)
    measures = []
    for name in every_measure():
        with contextlib.suppress(MeasureError, ProtocolError):
            parse(name)(hits)
            measures.append(name)
    assert len(measures) > 5
    return measures


def tried() -> Iterator[Any]:
    """Each of the mixed rules in two modes, one where queries are found and one that does more; in all if slow."""
    for number in range(len(MIXED)):
        for place, mode in enumerate(MODES):
            quick = place in (number % 4, 4 + number % 3)
            yield pytest.param(number, mode, marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize(("number", "mode"), [*tried()])
def test_the_same_bits_under_every_rule(session: Any, number: int, mode: str) -> None:
    together, limits = MODES[mode]
    dice = random.Random(number)
    rules = Protocol(**MIXED[number])
    judgments = judgments_of(dice, (0, 0, 1, 2, 3) if number % 2 else (-1, 0, 0.5, 1, 2.5))
    rows = rows_of(dice, twice=rules.duplicates in ("first", "best") or "counted" not in mode)
    if not together:
        dice.shuffle(rows)
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row").with_row_index("rank")
    measures = measured_under(rules, judgments, frame)
    expected = outcome(lambda: rankgauge.evaluate(judgments, frame, measures, protocol=rules))
    listed = [(query, doc, float(grade)) for query, docs in judgments.items() for doc, grade in docs.items()]
    judged = session.createDataFrame(listed, JUDGED) if "broadcast" in limits else judgments
    ranked = session.createDataFrame(frame.rows(), f"rank long, {RANKED}")
    found = outcome(lambda: spark.evaluate(judged, ranked, measures, protocol=rules, **limits).first)
    assert found == expected
    assert isinstance(found[0], str)


SMALL = {"q1": {"a": 3.0, "b": 1.0}, "q2": {"c": 1.0}, "q3": {"d": 2.0}}
GOOD: list[Row] = [("q1", "b", 2.0), ("q1", "a", 1.0), ("q2", "x", 3.0), ("q2", "c", 3.0), ("q9", "z", 1.0)]


def nested(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Rows as dicts."""
    made: dict[str, dict[str, float]] = {}
    for query, doc, number in rows:
        made.setdefault(query, {})[doc] = number
    return made


def listed(judgments: dict[str, dict[str, float]]) -> list[Row]:
    """Dicts as rows."""
    return [(query, doc, float(grade)) for query, docs in judgments.items() for doc, grade in docs.items()]


def expected_of(judgments: Any, run: Any, measures: Any = "nDCG@10", **about: Any) -> Any:
    """What a run in memory gives, without warnings about ties."""
    return rankgauge.evaluate_runs(judgments, {"run": run}, measures, **about).first


def same(one: Any, other: Any) -> bool:
    """Whether two results are the same, bit for bit."""
    return outcome(lambda: one) == outcome(lambda: other)


class TestSystems:
    @pytest.fixture
    def runs(self) -> dict[str, list[Row]]:
        dice = random.Random(7)
        return {name: rows_of(dice, twice=False) for name in ("new", "old", "older")}

    @pytest.mark.parametrize("limits", [{}, {"block": 30}, {"broadcast": 0}, {"huge": 20, "block": 10}], ids=str)
    def test_by_a_column(self, session: Any, runs: dict[str, list[Row]], limits: dict[str, Any]) -> None:
        judgments = judgments_of(random.Random(1), (0, 1, 2))
        rows = [(name, *row) for name, each in runs.items() for row in each]
        frame = session.createDataFrame(rows, f"model string, {RANKED}")
        judged = session.createDataFrame(listed(judgments), JUDGED)
        evaluation = spark.evaluate(judged, frame, FEW, system="model", **limits)
        expected = rankgauge.evaluate_runs(judgments, {name: nested(each) for name, each in runs.items()}, FEW)
        assert list(evaluation) == list(expected)
        for name, result in evaluation.items():
            assert same(result, expected[name])
            assert result.name == name

    def test_compared(self, session: Any, runs: dict[str, list[Row]]) -> None:
        judgments = judgments_of(random.Random(1), (0, 1, 2))
        frames = {name: session.createDataFrame(each, RANKED) for name, each in runs.items()}
        mine = rankgauge.compare(None, spark.evaluate(judgments, frames, FEW))
        theirs = rankgauge.compare(judgments, {name: nested(each) for name, each in runs.items()}, FEW)
        found, expected = mine.data(), theirs.data()
        found.pop("notes"), expected.pop("notes")  # the quick checks look at more of a run in memory
        assert found == expected

    def test_groups_and_weights_are_columns_of_the_judgments(self, session: Any) -> None:
        about = {"q1": ("head", 5.0), "q2": ("tail", 1.0), "q3": ("tail", 2.0)}
        rows = [(*row, *about[row[0]]) for row in listed(SMALL)]
        judged = session.createDataFrame(rows, f"{JUDGED}, segment string, searches double")
        frame = session.createDataFrame(GOOD, RANKED)
        found = spark.evaluate(judged, frame, FEW, by="segment", weights="searches").first
        weights = {query: weight for query, (_, weight) in about.items()}
        by = {query: group for query, (group, _) in about.items()}
        expected = expected_of(SMALL, nested(GOOD), FEW, by=by, weights=weights)
        assert dict(found) == dict(expected)
        assert {name: dict(part) for name, part in found.by.items()} == {n: dict(p) for n, p in expected.by.items()}

    def test_the_query_itself_is_a_group(self, session: Any) -> None:
        """Its column is named once for the queries, once for the groups; another may have its name."""
        by = {query: query for query in SMALL}
        expected = expected_of(SMALL, nested(GOOD), FEW, by=by).by
        frame = session.createDataFrame(GOOD, RANKED)
        found = spark.evaluate(session.createDataFrame(listed(SMALL), JUDGED), frame, FEW, by="query_id").first.by
        assert {name: dict(part) for name, part in found.items()} == {n: dict(p) for n, p in expected.items()}
        rows = [("all", *row) for row in listed(SMALL)]
        judged = session.createDataFrame(rows, "query_id string, q string, doc_id string, relevance double")
        renamed = frame.withColumnRenamed("query_id", "q")
        found = spark.evaluate(judged, renamed, FEW, by="query_id", columns={"query_id": "q"}).first.by
        assert list(found) == ["all"]

    def test_values_of_queries_as_a_frame(self, session: Any) -> None:
        evaluation = spark.evaluate(SMALL, session.createDataFrame(GOOD, RANKED), "RR")
        rows = [tuple(row) for row in spark.per_query(evaluation, session).collect()]
        assert rows == [("run", "q1", 1.0), ("run", "q2", 0.5), ("run", "q3", 0.0)]

    def test_in_a_dialect(self, session: Any) -> None:
        frame = session.createDataFrame(GOOD, RANKED)
        found = spark.evaluate(SMALL, frame, ["ndcg_cut_10"], dialect="trec_eval").first
        assert dict(found) == dict(rankgauge.evaluate(SMALL, nested(GOOD), ["ndcg_cut_10"], dialect="trec_eval"))


# ---- what is wrong ---------------------------------------------------------------------------------------------------


BAD: dict[str, tuple[str, list[Any], type[Exception], str]] = {
    "null id": (
        RANKED, [*GOOD, ("q2", None, 1.0)], FormatError,
        "run, partition 1, row 3: column 'doc_id' has no value; fill it in or leave out the row",
    ),
    "null query": (RANKED, [*GOOD, (None, "d", 1.0)], FormatError, "row 3: column 'query_id' has no value"),
    "NaN": (RANKED, [*GOOD, ("q2", "d", float("nan"))], FormatError, "row 3: score nan is not a finite number"),
    "infinite": (RANKED, [("q2", "d", float("inf"))], FormatError, "score inf is not a finite number"),
    "duplicate": (
        RANKED, [*GOOD, ("q9", "z", 5.0)], DuplicateError,
        "run: document 'z' is there twice in the ranking of query 'q9'; mend the run, or choose with duplicates=",
    ),
    "duplicate in two partitions": (
        RANKED, [("q9", "z", 5.0), *GOOD], DuplicateError,
        "run: document 'z' is there twice in the ranking of query 'q9'",
    ),
    "text for a number": (
        RANKED.replace("double", "string"), [("q1", "a", "high")], FormatError,
        "the values in column 'score' are String, such as 'high'; expected numbers",
    ),
    "float ids": (
        RANKED.replace("doc_id string", "doc_id double"), [("q1", 1.5, 2.0)], FormatError,
        "the ids in column 'doc_id' are Float64, such as 1.5; expected text or integers",
    ),
    "no column": ("query_id string, title string, score double", GOOD, FormatError, "run: no column for the doc_id"),
    "no rows": (RANKED, [], InputError, "run: holds no rows"),
    "no query in common": (
        RANKED, [("Q1", "a", 1.0)], MatchError,
        "no query in common: judgments has 'q1', 'q2', 'q3', run has 'Q1'. Hint: they match after ignoring upper and",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_said_in_one_line(session: Any, what: str) -> None:
    schema, rows, kind, words = BAD[what]
    with pytest.raises(kind) as caught:
        spark.evaluate(SMALL, session.createDataFrame(rows, schema))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("broadcast", [0, 1000])
def test_judgments_that_are_wrong(session: Any, broadcast: int) -> None:
    frame = session.createDataFrame(GOOD, RANKED)

    def refused(rows: list[Any]) -> str:
        with pytest.raises(RankgaugeError) as caught:
            spark.evaluate(session.createDataFrame(rows, JUDGED), frame, broadcast=broadcast)
        return str(caught.value)

    assert "has no value" in refused([*listed(SMALL), ("q1", None, 1.0)])
    assert "nan is not a finite number" in refused([*listed(SMALL), ("q1", "e", float("nan"))])
    assert "'q1'" in refused([*listed(SMALL), ("q1", "a", 1.0)])
    with pytest.warns(rankgauge.RankgaugeWarning, match="1 judgment is there twice with the same grade"):
        found = spark.evaluate(
            session.createDataFrame([*listed(SMALL), ("q1", "a", 3.0)], JUDGED), frame, broadcast=broadcast
        )
    assert same(found.first, expected_of(SMALL, nested(GOOD)))


def test_missing_queries_may_be_an_error(session: Any) -> None:
    frame = session.createDataFrame(GOOD, RANKED)
    with pytest.raises(MatchError, match="run does not answer 1 judged query, such as 'q3'; with missing='zero'"):
        spark.evaluate(SMALL, frame, protocol={"missing": "error"})


@pytest.mark.parametrize("broadcast", [0, 1000])
def test_nothing_found_is_said_loudly(session: Any, broadcast: int) -> None:
    frame = session.createDataFrame([("q1", "A", 1.0), ("q1", "B", 0.5)], RANKED)
    judged = session.createDataFrame(listed(SMALL), JUDGED)
    with pytest.warns(
        rankgauge.RankgaugeWarning, match="NO JUDGED DOCUMENT.*judges 'a', 'b', run returns 'A', 'B'. Hint"
    ):
        spark.evaluate(judged, frame, broadcast=broadcast)


@pytest.mark.parametrize("limit", [{"broadcast": -1}, {"block": -1}, {"huge": 0}, {"block": 2.5}], ids=str)
def test_limits_that_are_none(session: Any, limit: dict[str, Any]) -> None:
    ((name, given),) = limit.items()
    with pytest.raises(InputError, match=rf"^{name}={given}: expected a whole number, [01] or more$"):
        spark.evaluate(SMALL, session.createDataFrame(GOOD, RANKED), **limit)


def test_what_is_no_frame_of_spark(session: Any) -> None:
    with pytest.raises(InputError, match="run 'q1': expected a DataFrame of Spark, got a dict"):
        spark.evaluate(SMALL, nested(GOOD))
    with pytest.raises(InputError, match="there are no runs; give a DataFrame, or DataFrames by the names of their"):
        spark.evaluate(SMALL, {}, "RR")
    with pytest.raises(InputError, match="there is no column 'model'; the columns are query_id, doc_id, score"):
        spark.evaluate(SMALL, session.createDataFrame(GOOD, RANKED), system="model")


@pytest.mark.parametrize("judged", ["a frame", "a dict"])
def test_columns_that_are_not_there(session: Any, judged: str) -> None:
    """A column that nobody has was mistyped, and another in its place would be another number."""
    table = pl.DataFrame([(*row, row[2]) for row in GOOD], ["query_id", "doc_id", "score", "bm25"], orient="row")
    frame = session.createDataFrame(table.rows(), f"{RANKED}, bm25 double")
    judgments = session.createDataFrame(listed(SMALL), JUDGED) if judged == "a frame" else SMALL
    for columns in ({"score": "bm_25"}, {"scores": "bm25"}, {"doc_id": "document"}):
        with pytest.raises(FormatError) as expected:
            rankgauge.evaluate(SMALL, table, columns=columns)
        with pytest.raises(FormatError) as found:
            spark.evaluate(judgments, frame, columns=columns)
        assert str(found.value).split("he columns are")[0] == str(expected.value).split("he columns are")[0]
    assert same(spark.evaluate(judgments, frame, columns={"score": "bm25"}).first, expected_of(SMALL, nested(GOOD)))


@pytest.mark.parametrize("limits", [{}, {"broadcast": 0}, {"huge": 1, "block": 1}], ids=str)
def test_names_that_spark_would_read(session: Any, limits: dict[str, Any]) -> None:
    """A dot and a backtick are letters of a name, which is not that of a field; and messages name it as it is."""
    names = {"query_id": "query.id", "doc_id": "doc`id", "score": "a.`score`"}
    frame = session.createDataFrame(GOOD, RANKED).toDF(*names.values())
    judged = session.createDataFrame(listed(SMALL), JUDGED).toDF("query.id", "doc`id", "rel.")
    columns = names | {"relevance": "rel."}
    found = spark.evaluate(judged, frame, FEW, columns=columns, **limits).first
    assert same(found, expected_of(SMALL, nested(GOOD), FEW))
    named = frame.selectExpr("*", "'mine' as `s.y`")
    assert list(spark.evaluate(judged, named, FEW, columns=columns, system="s.y", **limits)) == ["mine"]
    with pytest.raises(FormatError, match="column 'doc`id' has no value"):
        spark.evaluate(judged, frame.selectExpr("`query.id`", "string(null) as `doc``id`", "`a.``score```"),
                       columns=columns)  # fmt: skip


def test_a_rule_that_cannot_be_counted_is_refused(session: Any) -> None:
    frame = session.createDataFrame([*GOOD, ("q1", "b", 0.0)], RANKED)
    with pytest.raises(ProtocolError, match="duplicates=each cannot be counted; choose first or best, or raise huge="):
        spark.evaluate(SMALL, frame, protocol={"duplicates": "each"}, huge=1, block=1)


@pytest.mark.parametrize("limits", [{}, {"huge": 1, "block": 1}, {"huge": 1, "block": 1, "broadcast": 0}], ids=str)
def test_a_duplicate_beyond_the_depth(session: Any, limits: dict[str, Any]) -> None:
    """It changes nothing, in a query that is counted either; within the depth it is an error."""
    judgments = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"c": 1.0}}
    judged = session.createDataFrame(listed(judgments), JUDGED)
    rows = [("q1", "z", 9.0), ("q1", "a", 1.0), ("q1", "b", 2.0), ("q1", "a", 0.5), ("q2", "a", 0.5)]
    frame, table = session.createDataFrame(rows, RANKED), pl.DataFrame(rows, RANKED.split()[::2], orient="row")
    for depth in (2, 3):
        found = spark.evaluate(judged, frame, FEW, protocol={"depth": depth}, **limits).first
        assert same(found, expected_of(judgments, table, FEW, protocol={"depth": depth}))
    with pytest.raises(DuplicateError, match="document 'a' is there twice in the ranking of query 'q1'"):
        spark.evaluate(judged, frame, FEW, protocol={"depth": 4}, **limits)


def test_a_query_of_many_documents(session: Any) -> None:
    """Of 300,000 rows none is collected: their number is past what a task takes."""
    many = session.range(300_000).selectExpr("'q1' as query_id", "concat('d', id) as doc_id", "id % 1000 / 8 as score")
    frame = many.union(session.createDataFrame(GOOD[2:], RANKED))
    judgments = SMALL | {"q1": {"d999": 2.0, "d998": 1.0, "d5": 1.0, "none": 3.0}}
    found = spark.evaluate(judgments, frame, FEW, huge=10_000, block=5_000).first
    assert same(found, expected_of(judgments, pl.DataFrame(frame.toArrow()), FEW))
    assert found.hits.retrieved.tolist() == [300_000, 2, 0]


@pytest.mark.parametrize("given", [None, "1"])
def test_batches_end_by_their_rows(session: Any, given: str | None) -> None:
    """Adding up bytes takes Spark as long as the rows themselves; what somebody chose is there afterwards."""
    chosen = {MOST_ROWS: "50", MOST_BYTES: given}
    with settings(session, chosen):
        assert sizes_of_batches(session) == [50, 50, 20]
        assert {key: session.conf.get(key, None) for key in chosen} == chosen


def test_batches_without_a_limit_of_rows_keep_that_of_bytes(session: Any) -> None:
    with settings(session, {MOST_ROWS: "0", MOST_BYTES: str((1 << 31) - 1)}):
        assert sizes_of_batches(session) == [120]
    with settings(session, {MOST_ROWS: "0", MOST_BYTES: "1"}):
        if len(sizes := sizes_of_batches(session)) == 1:
            pytest.skip("this version of Spark does not count the bytes of batches")
        assert sizes == [1] * 120


@pytest.mark.parametrize("given", [None, "1"])
def test_two_jobs_at_once_leave_no_limit_behind(session: Any, given: str | None) -> None:
    with settings(session, {MOST_BYTES: given}):
        one, other = batches_by_rows(session.conf), batches_by_rows(session.conf)
        for each in (one, other):
            each.__enter__()
        for each in (one, other):
            each.__exit__(None, None, None)
        assert session.conf.get(MOST_BYTES, None) == given


@contextlib.contextmanager
def settings(session: Any, chosen: dict[str, str | None]) -> Iterator[None]:
    """A session with some settings, which are gone afterwards."""
    for key, value in chosen.items():
        session.conf.unset(key) if value is None else session.conf.set(key, value)
    try:
        yield
    finally:
        for key in chosen:
            session.conf.unset(key)


def sizes_of_batches(session: Any) -> list[int]:
    """How many rows the batches have that a task is given of 120."""
    frame = session.range(120).coalesce(1)
    return [*map(int, answers(frame, lambda batches: (b"%d" % batch.num_rows for batch in batches)))]


# ---- what is lost ----------------------------------------------------------------------------------------------------


def deadly(marker: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A task that hands rows on and kills the processes that take them: once, where there is a marker; else always."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import os

        import psutil

        for batch in batches:
            with contextlib.suppress(FileExistsError):
                if marker:
                    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                for worker in psutil.Process(os.getppid()).children():
                    if worker.pid != os.getpid():
                        worker.kill()
            yield batch

    return work


def test_a_worker_that_is_killed(session: Any, tmp_path: Path) -> None:
    """Spark tries the task again, and the numbers are the same; if it gives up, one line says so."""
    columns = ("concat('q', id div 100) query_id", "concat('d', id % 100) doc_id", "cast(id % 7 as double) score")
    frame = session.range(20_000).selectExpr(*columns)
    judgments = {"q3": {"d6": 1.0, "d13": 2.0}, "q150": {"d1": 1.0}}
    marker = tmp_path / "killed"
    found = spark.evaluate(judgments, frame.mapInArrow(deadly(str(marker)), RANKED), FEW).first
    assert marker.exists()
    assert same(found, expected_of(judgments, pl.DataFrame(frame.toArrow()), FEW))
    with pytest.raises(InputError) as caught:
        spark.evaluate(judgments, frame.mapInArrow(deadly(""), RANKED))
    assert str(caught.value).startswith("Spark could not finish the job: Python worker exited unexpectedly (crashed)")
    assert "\n" not in str(caught.value)


def test_of_a_command_the_remedy_is_its_option(session: Any) -> None:
    """What is wrong with rows is said by other processes, which know nothing of the command."""
    frame = session.createDataFrame([*GOOD, ("q9", "z", 5.0)], RANKED)
    for options, remedy in (({"--duplicates"}, "choose with --duplicates first"), (set(), "mend the run$")):
        with options_are(options), pytest.raises(DuplicateError, match=remedy):
            spark.evaluate(SMALL, frame)


def test_what_a_task_or_java_raises(session: Any) -> None:
    def broken(batches: Iterator[Any]) -> Iterator[Any]:
        raise ModuleNotFoundError("No module named 'rankgauge'")

    frame = session.createDataFrame(GOOD, RANKED)
    with pytest.raises(
        InputError, match=r"^Spark could not .*: No module .* PYSPARK_PYTHON set to a Python that has it"
    ):
        spark.evaluate(SMALL, frame.mapInArrow(broken, RANKED))
    with pytest.raises(InputError, match=r"^Spark could not finish the job: .*the disk is full.*more$"):
        spark.evaluate(SMALL, frame.selectExpr("query_id", "doc_id", "double(raise_error('the disk is full')) score"))


def test_a_column_of_another_type_than_declared(session: Any, tmp_path: Path) -> None:
    pl.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "score": ["high"]}).write_parquet(tmp_path / "part.parquet")
    frame = session.read.schema(RANKED).parquet(str(tmp_path))
    with pytest.raises(InputError, match=r"^Spark could not finish the job: .*part\.parquet\..* column .score"):
        spark.evaluate(SMALL, frame)


INTERRUPTED: dict[str, str] = {"while Java starts": "SparkSubmit", "while workers work": "pyspark.daemon"}


def in_group(group: int, word: str = "") -> list[int]:
    """The processes of a group that have a word in their command line."""
    found = subprocess.run(["ps", "-wweo", "pid,pgid,stat,args"], capture_output=True, text=True, check=True).stdout
    rows = (line.split(maxsplit=3) for line in found.splitlines()[1:])
    return [int(pid) for pid, own, state, *args in rows if own == str(group) and state[0] != "Z" and word in str(args)]


def until(true: Callable[[], object], seconds: float = 60) -> None:
    """Wait for something to be true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("when", INTERRUPTED)
def test_interrupted(session: Any, tmp_path: Path, when: str) -> None:
    """By Ctrl-C, which all processes of a terminal's foreground hear: one word, and none of them is left."""
    columns = ("string(id div 1000) query_id", "string(id % 1000) doc_id", "id / 7 score")
    session.range(3_000_000).selectExpr(*columns).write.parquet(str(tmp_path / "run.parquet"))
    (tmp_path / "qrels.csv").write_text("query_id,doc_id,relevance\n1,1,1\n")
    words = ["eval", "qrels.csv", str(tmp_path / "run.parquet"), "--engine", "spark", "--master", "local[1]"]
    with subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, start_new_session=True
    ) as command:
        try:
            until(lambda: in_group(command.pid, INTERRUPTED[when]))
            os.killpg(command.pid, signal.SIGINT)
            out, err = command.communicate(timeout=60)
            said = [line for line in err.decode().splitlines() if line and "pandas" not in line]
            assert (command.returncode, out, said) == (130, b"", ["interrupted"])
            until(lambda: not in_group(command.pid))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(command.pid, signal.SIGKILL)


@in_one_line()
def interrupted() -> None:
    """What Spark does when it is interrupted while it collects."""
    try:
        raise KeyboardInterrupt
    finally:
        raise PySparkException("Exception thrown in awaitResult")


def test_what_spark_makes_of_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted()


MASTERS: dict[str, str] = {
    "foo://x": "Spark does not start (Master must either be yarn or start with spark, k8s, or local)",
    "local[abc]": "Spark does not start (Could not parse Master URL: 'local[abc]')",
    "sc://localhost:0/;x": "Spark does not start ([INVALID_CONNECT_URL] ",
}


@pytest.mark.parametrize("master", MASTERS)
def test_a_master_that_is_wrong(session: Any, tmp_path: Path, master: str) -> None:
    """In a process of its own: here a session is there already."""
    if master.startswith("sc://"):
        pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    (tmp_path / "qrels.csv").write_text("query_id,doc_id,relevance\nq1,a,3\n")
    done = real("eval", "qrels.csv", tmp_path, "--engine", "spark", "--master", master, cwd=tmp_path)
    said = [line for line in done.err.splitlines() if "pandas" not in line]
    assert (done.code, len(said)) == (2, 1), done.err
    assert said[0].startswith(f"error: --master {master}: {MASTERS[master]}")
    assert "needs Java" not in said[0]


def test_a_server_that_does_not_answer() -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    server = f"sc://{LOCAL}:{free_port()}"
    with pytest.raises(InputError, match=f"--master {server}: nobody answers there, not in 0.5 seconds"):
        check_server(server, patience=0.5)


# ---- functions of SQL, Connect ---------------------------------------------------------------------------------------


def test_functions_of_sql(session: Any) -> None:
    spark.register(session, "ndcg", "recall")
    rows: list[tuple[Any, int]] = [([3.0, 2.0, 3.0, 0.0, 1.0, 2.0], 4), ([0.0, 1.0], 2), (None, 3)]
    session.createDataFrame(rows, "grades array<double>, k int").createOrReplaceTempView("rankings")
    found = session.sql("select ndcg(grades, k) as ndcg from rankings").collect()
    deep = session.sql("select ndcg(grades, 2, concat(grades, array(3.0D))) as deep from rankings limit 1").collect()
    assert [row["ndcg"] for row in found][:2] == [rankgauge.ndcg(grades, k) for grades, k in rows[:2]]
    assert found[2]["ndcg"] is None or found[2]["ndcg"] != found[2]["ndcg"]
    assert deep[0]["deep"] == rankgauge.ndcg(rows[0][0], 2, ideal=[*rows[0][0], 3.0])
    with pytest.raises(RankgaugeError, match="there is no function 'ndgc'; did you mean 'ndcg'"):
        spark.udf("ndgc")


@pytest.mark.parametrize("name", spark.ARRAYS)
def test_a_query_without_results_counts(session: Any, name: str) -> None:
    """Where it is judged: 0, of which a mean is made, and not NULL, which it leaves out."""
    spark.register(session, name)
    rows: list[tuple[Any, Any]] = [([1.0, 0.0], [1.0]), ([], [1.0, 2.0]), ([], []), (None, [1.0]), ([1.0], None)]
    session.createDataFrame(rows, "grades array<double>, ideal array<double>").createOrReplaceTempView("judged")
    with_ideal = [row[0] for row in session.sql(f"select {name}(grades, 2, ideal) from judged").collect()]
    own = float(getattr(rankgauge.arrays, name)([[1.0, 0.0]], [[2, 1]], 2))
    assert with_ideal == [own, 0.0, None, None, None]
    alone = [row[0] for row in session.sql(f"select {name}(grades, 2) from judged").collect()]
    assert alone[:4] == [own, None, None, None]


WRONG_ROWS: dict[str, str] = {
    "array(1.0D, -1.0D), 2": r"FormatError: ndcg of \"\[1.0, -1.0\]\": place 1: the grade is -1.0, and grades are",
    "array(1.0D, null), 2": "place 1: the grade is nan; expected a finite number",
    "array(1.0D, double('NaN')), 2": "place 1: the grade is nan; expected a finite number",
    "array('1', '0'), 2": "ndcg of .* expected numbers",
    "array(1), 2, array(-1)": "ideal has the grade -1; grades are 0 or more",
    "array(1), int(null)": "MeasureError: ndcg: k is (None|nan); expected a whole number, 1 or more",
    "array(1), 0": "ndcg: k is 0; expected a whole number, 1 or more",
    "array(1)": r"ndcg has 1 of its arguments; expected ndcg\(grades, 10\), or ",
    "3, 10": "ndcg: .*3.* is no array of grades",
    "array(1), 10, 'high'": "ndcg: .*high.* is no array of grades",
    "array(1), 2.7D": "ndcg: k is 2.7; expected a whole number, 1 or more",
    "array(1), '2'": "ndcg: k is '2'; expected a whole number, 1 or more",
}


@pytest.mark.parametrize("arguments", WRONG_ROWS)
def test_a_row_that_is_wrong_is_refused(session: Any, arguments: str) -> None:
    spark.register(session, "ndcg")
    with pytest.raises(PySparkException, match=WRONG_ROWS[arguments]):
        session.sql(f"select ndcg({arguments}) from range(3)").collect()


def test_on_the_command_line(session: Any, tmp_path: Path, command: Command) -> None:
    session.createDataFrame(GOOD, RANKED).write.parquet(str(tmp_path / "mine.parquet"))
    (tmp_path / "qrels.csv").write_text("query_id,doc_id,relevance\nq1,a,3\nq1,b,1\nq2,c,1\nq3,d,2\n")
    words = ("eval", "qrels.csv", str(tmp_path / "mine.parquet"), "-m", "nDCG@10", "--engine", "spark")
    done = command(*words, "--master", "local[2]", "--format", "json", cwd=tmp_path)
    assert done.code == 0, done.err
    value = json.loads(done.out)["runs"][0]["measures"]["nDCG@10"]["value"]
    assert value == expected_of(SMALL, nested(GOOD))["nDCG@10"]
    assert session.range(3).count() == 3  # a session that was there before is not stopped
    refused = command(*words, "--ltr", "rows.txt", "--predictions", "p.txt", cwd=tmp_path)
    assert refused.code == 2
    assert "--engine" in refused.err


def test_columns_on_the_command_line(session: Any, tmp_path: Path, command: Command) -> None:
    """Those of judgments and of runs apart, of a file that Spark does not read as of one that it reads."""
    frame = session.createDataFrame(GOOD, RANKED).withColumnRenamed("query_id", "topic_number")
    frame.write.parquet(str(tmp_path / "mine.parquet"))
    (tmp_path / "qrels.csv").write_text("q,doc_id,stars\nq1,a,3\nq1,b,1\nq2,c,1\nq3,d,2\n")
    pl.read_csv(tmp_path / "qrels.csv").write_parquet(tmp_path / "qrels.parquet")
    mapped = ("--qrels-column", "query_id=q", "--qrels-column", "relevance=stars")
    for qrels in ("qrels.csv", "qrels.parquet"):
        words = ("eval", tmp_path / qrels, tmp_path / "mine.parquet", "--engine", "spark", "--format", "json", *mapped)
        done = command(*words, "--run-column", "query_id=topic_number", cwd=tmp_path)
        assert done.code == 0, done.err
        value = json.loads(done.out)["runs"][0]["measures"]["nDCG@10"]["value"]
        assert value == expected_of(SMALL, nested(GOOD))["nDCG@10"]
        refused = command(*words, "--run-column", "query_id=topic_nummer", cwd=tmp_path)
        assert refused.code == 2
        assert "no file has a column 'topic_nummer'; did you mean 'topic_number'?" in refused.err


CONNECTED = """
import sys
from pyspark.sql import SparkSession
import rankgauge
from pyspark.errors import PySparkException

from rankgauge.engines import spark
from rankgauge.engines.failures import in_one_line
from rankgauge.engines.paths import check_server

session = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
judgments = {"q1": {"a": 3.0, "b": 1.0}, "q2": {"c": 1.0}, "q3": {"d": 2.0}}
rows = [("q1", "b", 2.0), ("q2", "x", 3.0), ("q2", "c", 3.0), ("q1", "a", 1.0), ("q9", "z", 1.0)]
run = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"x": 3.0, "c": 3.0}, "q9": {"z": 1.0}}
frame = session.createDataFrame(rows, "query_id string, doc_id string, score double")
judged = [(query, doc, grade) for query, docs in judgments.items() for doc, grade in docs.items()]
judged = session.createDataFrame(judged, "query_id string, doc_id string, relevance double")
expected = rankgauge.evaluate(judgments, run, ["nDCG@10", "AP"])
for limits in ({}, {"broadcast": 0}, {"huge": 1, "block": 1}):
    found = spark.evaluate(judged, frame, ["nDCG@10", "AP"], **limits).first
    assert found.fingerprint == expected.fingerprint, limits
    assert dict(found) == dict(expected), limits
assert spark.per_query(found, session).count() == 3
try:
    spark.evaluate(judged, frame.union(frame))
except rankgauge.RankgaugeError as error:
    print("refused:", error)
spark.register(session, "ndcg")
print(session.sql("select ndcg(array(1.0D, 0.0D), 2) as value").collect()[0].value)
print(type(frame).__module__)
"""


def test_over_connect(session: Any, tmp_path: Path) -> None:
    """In a process of its own: one is either classic or connected."""
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    script, server = tmp_path / "connected.py", f"sc://{LOCAL}:{session.sparkContext.getConf().get(PORT)}"
    script.write_text(CONNECTED)
    done = subprocess.run([sys.executable, "-W", "ignore", script, server], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    refused, value, module = done.stdout.splitlines()
    assert refused.startswith("refused: run: document ")
    assert value == "1.0"
    assert "connect" in module
