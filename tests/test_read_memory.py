"""Reading what a program holds: frames of any library, dicts of dicts, iterables of rows."""

from __future__ import annotations

import builtins
import copy
import json
from collections import namedtuple
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, cast

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgauge import evaluate, evaluate_runs
from rankgauge.errors import DuplicateError, FormatError, InputError, RankgaugeWarning
from rankgauge.read import read_judgments, read_run
from rankgauge.read.frames import numbered

ROWS = [("q1", "d1", 2.0), ("q2", "d1", 0.5), ("q1", "dé", -1.0)]
NESTED = {"q1": {"d1": 2.0, "dé": -1.0}, "q2": {"d1": 0.5}}
TABLE = {
    name: list(values) for name, values in zip(("query_id", "doc_id", "score"), zip(*ROWS, strict=True), strict=True)
}


class Stream:
    """An object of no known library that speaks the Arrow stream protocol."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.table = pa.table(table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def pandas_categories(table: dict[str, Any]) -> Any:
    return pd.DataFrame(table).astype({"query_id": "category"})


LIBRARIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "pandas": pd.DataFrame,
    "pandas objects": lambda table: pd.DataFrame(table, dtype=object),
    "pyarrow": pa.table,
    "pyarrow batches": lambda table: pa.RecordBatchReader.from_batches(
        pa.table(table).schema, pa.table(table).to_batches()
    ),
    "arrow stream": Stream,
}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    return LIBRARIES[request.param]


Library = Callable[[dict[str, Any]], Any]


class TestFrames:
    def test_rows(self, library: Library) -> None:
        run = read_run(library(TABLE))
        assert run.nested == NESTED
        assert run.queries == ["q1", "q2"]
        assert run.source == "run"

    def test_the_score_is_the_grade_of_judgments_where_nothing_else_is(self, library: Library) -> None:
        assert read_judgments(library(TABLE)).nested == NESTED

    def test_ranks(self, library: Library) -> None:
        run = read_run(library({"qid": ["q", "q"], "pid": ["a", "b"], "rank": [1, 2], "score": [0, 1]}), by="rank")
        assert run.nested == {"q": {"a": -1.0, "b": -2.0}}
        assert run.by == "rank"

    def test_integer_ids_are_their_decimal_spelling(self, library: Library) -> None:
        assert read_run(library({"qid": [7, 7], "pid": [1, 12], "sim": [1, 0]})).nested == {"7": {"1": 1.0, "12": 0.0}}

    def test_float_ids_are_refused(self, library: Library) -> None:
        with pytest.raises(FormatError, match="pandas makes floats of integers where some are missing"):
            read_run(library({"qid": [1.0, 2.0], "pid": ["a", "b"], "score": [1, 2]}))

    def test_mapped_columns(self, library: Library) -> None:
        frame = library({"a": ["q"], "b": ["d"], "c": [1]})
        columns = {"query_id": "a", "doc_id": "b", "relevance": "c"}
        assert read_judgments(frame, columns=columns).nested == {"q": {"d": 1.0}}

    def test_unknown_columns(self, library: Library) -> None:
        with pytest.raises(
            FormatError, match="run: no column for the query_id; found a, b, c; understood are query_id, "
        ):
            read_run(library({"a": ["q"], "b": ["d"], "c": [1]}))

    def test_a_missing_id(self, library: Library) -> None:
        with pytest.raises(FormatError, match="run, row 2: "):
            read_run(library({"qid": ["q", None], "pid": ["a", "b"], "score": [1, 2]}))

    @pytest.mark.parametrize("score", [float("nan"), float("inf")])
    def test_a_score_that_is_not_finite(self, library: Library, score: float) -> None:
        with pytest.raises(FormatError, match=r"run, row 2: (score (nan|inf) is not a finite number|.*has no value)"):
            read_run(library({"qid": ["q", "q"], "pid": ["a", "b"], "score": [1.0, score]}))

    def test_a_score_of_text(self, library: Library) -> None:
        with pytest.raises(FormatError, match=r"expected numbers|is not a number"):
            read_run(library({"qid": ["q"], "pid": ["a"], "score": ["1"]}))

    def test_a_rank_that_is_no_integer(self, library: Library) -> None:
        with pytest.raises(FormatError, match=r"run, row 2: rank 1.5 is not an integer"):
            read_run(library({"qid": ["q", "q"], "pid": ["a", "b"], "rank": [1.0, 1.5]}), by="rank")

    def test_no_ranks(self, library: Library) -> None:
        with pytest.raises(FormatError, match="no column for the rank"):
            read_run(library(TABLE), by="rank")

    def test_no_rows(self, library: Library) -> None:
        table = {"qid": np.array([], object), "pid": np.array([], object), "score": np.array([], float)}
        assert len(read_run(library(table))) == 0

    TWICE: ClassVar = {"qid": ["q", "q", "q"], "pid": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]}

    @pytest.mark.parametrize(("which", "score"), [("first", 1.0), ("best", 3.0)])
    def test_a_document_twice_as_the_caller_chooses(self, library: Library, which: str, score: float) -> None:
        run = read_run(library(self.TWICE), duplicates=which)
        assert (run.nested, len(run)) == ({"q": {"a": score, "b": 2.0}}, 2)

    def test_a_document_twice_is_explained_with_both_rows(self, library: Library) -> None:
        try:
            error = read_run(library(self.TWICE)).explain("q", "a")
        except DuplicateError as raised:
            error = raised
        assert str(error).startswith("run, row 3: document 'a' is there twice for query 'q' (first at row 1); ")


def test_frames_are_not_changed() -> None:
    frame, table = pd.DataFrame(TABLE), pl.DataFrame(TABLE)
    read_run(frame, duplicates="best")
    read_run(table, duplicates="best")
    assert frame.equals(pd.DataFrame(TABLE))
    assert table.equals(pl.DataFrame(TABLE))


def test_other_ways_to_hold_text() -> None:
    for dtype in (pl.Categorical, pl.Enum(["q1", "q2"]), pl.Binary):
        assert read_run(pl.DataFrame(TABLE).cast({"query_id": dtype})).nested == NESTED
    assert read_run(pandas_categories(TABLE)).nested == NESTED
    with pytest.raises(FormatError, match="are bytes that are not UTF-8 text"):
        read_run(pl.DataFrame(TABLE | {"doc_id": [b"\xff"] * 3}))
    with pytest.raises(FormatError, match=r"the ids in column 'doc_id' are List\(Int64\), .* turn them into text"):
        read_run(pl.DataFrame(TABLE | {"doc_id": [[1]] * 3}))


def test_whole_numbers_and_truths_are_grades() -> None:
    for grades in ([1, 0, 1], [True, False, True], np.array([1, 0, 1], np.uint8)):
        frame = pl.DataFrame(TABLE | {"grade": grades})
        assert read_judgments(frame).nested == {"q1": {"d1": 1.0, "dé": 1.0}, "q2": {"d1": 0.0}}


def test_pandas_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame(TABLE)
    real = builtins.__import__

    def refuse(name: str, *args: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "pyarrow":
            raise ImportError("no pyarrow")
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.setattr(pd.DataFrame, "__arrow_c_stream__", refuse, raising=False)
    assert read_run(frame).nested == NESTED


def test_a_stream_that_breaks() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise RuntimeError("gone")

    with pytest.raises(InputError, match="this Broken cannot be read as a frame"):
        read_run(Broken())


class TestDictsOfColumns:
    """One rule in memory and in a file of JSON."""

    COLUMNS: ClassVar[dict[str, Any]] = {"qid": ["q", "q"], "pid": ["a", "b"], "score": [1.0, 2]}
    BAD: ClassVar[dict[str, tuple[dict[str, Any], str]]] = {
        "no score": ({"score": None, "points": [1, 2]}, "no column for the score; found qid, pid, points"),
        "two queries": ({"topic_id": ["q", "q"]}, "'qid' and 'topic_id' could each be the query_id"),
        "uneven": (
            {"pid": ["a"]},
            r"the columns are not equally long \(qid 2, pid 1, score 2\); give every row a value",
        ),
        "a word": ({"score": [1.0, "x"]}, "row 2: score 'x' is not a number"),
    }

    def either(self, columns: dict[str, Any], folder: Path) -> list[Any]:
        (folder / "columns.json").write_text(json.dumps(columns))
        return [columns, folder / "columns.json"]

    def test_they_are_rows(self, tmp_path: Path) -> None:
        for source in self.either(self.COLUMNS, tmp_path):
            assert read_run(source).nested == {"q": {"a": 1.0, "b": 2.0}}
        for source in self.either(self.COLUMNS | {"qid": ["q", 1]}, tmp_path):
            assert read_run(source).nested == {"q": {"a": 1.0}, "1": {"b": 2.0}}

    def test_any_kind_of_column(self) -> None:
        for kind in (tuple, np.array, pd.Series, pl.Series, pa.array, lambda each: np.array(each, object)):
            columns = {name: kind(each) for name, each in self.COLUMNS.items()}
            assert read_run(columns).nested == {"q": {"a": 1.0, "b": 2.0}}

    def test_names_that_are_given(self, tmp_path: Path) -> None:
        columns = {"query_id": "q", "doc_id": "d", "score": "points"}
        table = dict(zip(columns.values(), self.COLUMNS.values(), strict=True))
        for source in self.either(table, tmp_path):
            assert read_run(source, columns=columns).nested == {"q": {"a": 1.0, "b": 2.0}}
            assert evaluate({"q": {"a": 1}}, source, "RR", columns=columns)["RR"] == 0.5

    @pytest.mark.parametrize("case", BAD)
    def test_what_is_refused(self, case: str, tmp_path: Path) -> None:
        change, message = self.BAD[case]
        columns = {name: each for name, each in (self.COLUMNS | change).items() if each is not None}
        for source in self.either(columns, tmp_path):
            with pytest.raises(FormatError, match=message):
                read_run(source)

    def test_systems_may_be_called_as_columns_are(self) -> None:
        rows = [("q", "a", 1.0), ("q", "b", 2.0)]
        for runs in ({"query": rows, "document": rows[:1]}, {"query": pd.DataFrame(self.COLUMNS), "document": rows}):
            assert list(evaluate_runs({"q": {"a": 1}}, runs)) == ["query", "document"]

    def test_an_array_of_no_dimension(self) -> None:
        with pytest.raises(FormatError, match=r"query 'qid' maps to array\(1\) \(ndarray\); expected"):
            read_run({"qid": np.array(1), "pid": np.array(1)})


class TestDicts:
    def test_kept_as_they_are(self) -> None:
        given = copy.deepcopy(NESTED)
        assert read_run(given).nested is given
        assert read_judgments(given).nested is given
        assert given == NESTED

    def test_integer_ids(self) -> None:
        assert list(read_run({7: {12: 1.0}})) == [("7", "12", 1.0)]
        assert list(read_run({np.int64(7): {np.int64(12): 1}})) == [("7", "12", 1.0)]

    def test_two_spellings_of_one_query(self) -> None:
        with pytest.raises(FormatError, match="two query ids have the same spelling"):
            read_run({7: {"a": 1.0}, "7": {"a": 1.0}})

    def test_of_lists_of_documents(self) -> None:
        run = read_run({"q": ["b", "a"], 7: ("c", 12)})
        assert run.nested == {"q": {"b": -1.0, "a": -2.0}, "7": {"c": -1.0, "12": -2.0}}
        assert read_run({"q": ["b"]}, by="rank").nested == {"q": {"b": -1.0}}
        assert read_judgments({"q": {"a"}, "p": ["b", "c"]}).nested == {"q": {"a": 1.0}, "p": {"b": 1.0, "c": 1.0}}
        assert evaluate({"q": {"a"}}, {"q": ["b", "a"]}, ["RR"])["RR"] == 0.5

    @pytest.mark.parametrize(
        ("lists", "message"),
        [
            ({"q": {"a", "b"}}, "query 'q' maps to a set, which has no order"),
            ({"q": ["a", "b", "a"]}, "run, document 3: document 'a' is there twice for query 'q'"),
            ({"q": ["a", None]}, "run, query 'q', document 2: an id is text or an integer, got None"),
            ({"q": ["a"], "p": {"b": 1.0}}, r"query 'q' maps to \['a'\] \(list\); .* everywhere a list"),
        ],
    )
    def test_bad_lists_of_documents(self, lists: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            read_run(lists)

    @pytest.mark.parametrize("inner", ["d1", 1.0, None])
    def test_of_something_else(self, inner: object) -> None:
        with pytest.raises(FormatError, match=r"run: query 'q1' maps to .*; expected a dict of document → number"):
            read_run({"q1": inner})

    def test_no_ranks_and_no_columns(self) -> None:
        with pytest.raises(InputError, match="a dict has scores and no ranks"):
            read_run(NESTED, by="rank")
        with pytest.raises(FormatError, match="columns= names columns, and a dict has none"):
            read_run(NESTED, columns={"score": "x"})

    def test_empty(self) -> None:
        assert len(read_run({})) == 0


def generator() -> Iterator[tuple[str, str, float]]:
    yield from ROWS


class TestRows:
    @pytest.mark.parametrize("rows", [ROWS, tuple(ROWS), generator(), [list(row) for row in ROWS]])
    def test_triples(self, rows: Any) -> None:
        assert read_run(rows).nested == NESTED

    def test_dicts(self) -> None:
        rows = [{"topic": query, "docno": doc, "rel": grade, "more": 1} for query, doc, grade in ROWS]
        assert read_judgments(rows).nested == NESTED

    def test_the_named_tuples_of_ir_measures(self) -> None:
        assert read_run([ir_measures.ScoredDoc(*row) for row in ROWS]).nested == NESTED
        assert read_judgments([ir_measures.Qrel(*cast("Any", row)) for row in ROWS]).nested == NESTED

    def test_named_tuples_with_a_rank(self) -> None:
        Hit = namedtuple("Hit", "qid rank pid")
        assert read_run([Hit("q", 1, "a"), Hit("q", 2, "b")], by="rank").nested == {"q": {"a": -1.0, "b": -2.0}}

    def test_rows_of_arrays(self) -> None:
        assert read_run(np.array(ROWS, dtype=object)).nested == NESTED
        names = [("query_id", "U9"), ("doc_id", "U9"), ("score", "f8")]
        assert read_run(np.array(ROWS, dtype=names)).nested == NESTED
        assert read_run(np.array([(1, 2, 3)])).nested == {"1": {"2": 3.0}}

    def test_exact_numbers(self) -> None:
        assert read_run([("q", "a", Decimal("0.5")), ("q", "b", Fraction(1, 4))]).nested == {"q": {"a": 0.5, "b": 0.25}}

    def test_integer_ids(self) -> None:
        assert read_run([(7, np.int32(12), np.float32(0.5))]).nested == {"7": {"12": 0.5}}

    @pytest.mark.parametrize("row", [("q", "0", "d", 1), ("q", "d"), "qd1", 7, None])
    def test_rows_of_another_shape_are_not_guessed(self, row: object) -> None:
        with pytest.raises(FormatError, match=r"judgments, row 2: expected \(query, document, relevance\), got "):
            read_judgments([("q", "d", 1), row])

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (("q", "d", "1"), "run, row 1: score '1' is not a number"),
            (("q", "d", None), "run, row 1: score None is not a number"),
            (("q", "d", float("nan")), "run, row 1: score nan is not a finite number"),
            ((1.0, "d", 1), "run, row 1: an id is text or an integer, got 1.0 .*pandas makes floats"),
            (("q", None, 1), r"run, row 1: an id is text or an integer, got None \(NoneType\)"),
        ],
    )
    def test_bad_values(self, row: object, message: str) -> None:
        with pytest.raises(FormatError, match=message):
            read_run([row])

    def test_plain_triples_have_no_rank_and_no_names(self) -> None:
        with pytest.raises(FormatError, match="row 1: a plain triple has no rank"):
            read_run(ROWS, by="rank")
        with pytest.raises(FormatError, match="row 1: a plain triple has no named columns"):
            read_run(ROWS, columns={"score": "x"})

    def test_a_document_twice(self) -> None:
        with pytest.raises(DuplicateError, match=r"run, row 4: .* \(first at row 1\)"):
            read_run([*ROWS, ROWS[0]])
        with pytest.raises(DuplicateError, match=r"run, row 4: .* \(first in an earlier row\)"):
            read_run(iter([*ROWS, ROWS[0]]))
        assert read_run(iter([*ROWS, ("q1", "d1", 9.0)]), duplicates="best").nested["q1"]["d1"] == 9.0

    def test_a_judgment_twice(self) -> None:
        with pytest.warns(RankgaugeWarning, match="judgments: 2 judgments are there twice with the same grade"):
            assert read_judgments(ROWS + ROWS[:2]).nested == NESTED
        with pytest.raises(
            DuplicateError, match=r"judgments, row 4: .* has grade 3 here and 2 before \(first at row 1\)"
        ):
            read_judgments([*ROWS, ("q1", "d1", 3)])


@pytest.mark.parametrize("source", [7, None, b"run.txt", 1.5])
def test_sources_that_are_none(source: object) -> None:
    with pytest.raises(
        InputError, match=r"run cannot be read from \w+; expected a path, a frame, a dict of dicts or rows"
    ):
        read_run(source)


@given(
    st.dictionaries(
        st.text(max_size=3),
        st.dictionaries(st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    )
)
def test_rows_frames_and_dicts_are_equal(nested: dict[str, dict[str, float]]) -> None:
    rows = list(read_run(nested))
    frame = pl.DataFrame(rows, schema={"qid": pl.String, "pid": pl.String, "score": pl.Float64}, orient="row")
    assert read_run(rows).nested == read_run(frame).nested == nested


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5))))
def test_ids_are_numbered_as_they_come_together_or_scattered(lengths: list[tuple[str, int]]) -> None:
    ids = [each for each, length in lengths for _ in range(length)]
    distinct = [*dict.fromkeys(ids)]
    found, index = numbered(pl.Series(ids, dtype=pl.String))
    assert found == distinct
    assert index.tolist() == [distinct.index(each) for each in ids]
    assert index.dtype == np.int32
