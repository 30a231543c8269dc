"""Match: the rules, both paths equal, and nothing depends on the order of rows."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgauge.errors import DuplicateError, FormatError, MatchError, RankgaugeWarning
from rankgauge.matching.columns import match_columns
from rankgauge.matching.find import Found
from rankgauge.matching.grouping import Grouped
from rankgauge.matching.match import Hits, find, match, settled
from rankgauge.matching.nested import match_nested
from rankgauge.matching.parts import LONG, Parts, joined, regrouped
from rankgauge.protocol import RULES, Duplicates, IdealDepth, Protocol, Ties
from rankgauge.read import Judgments, Run, read_judgments, read_run
from rankgauge.read.records import Columns
from samples import Nested, Table, pairs

RAISING = {("missing", "error"), ("negative", "error"), ("order", "rank")}
RAISING |= {("grades", "integer"), ("grades", "binary")}


def settings_of(rule: str) -> st.SearchStrategy[str]:
    """Any setting of a rule under which there are Hits."""
    return st.sampled_from([setting for setting in RULES[rule] if (rule, setting) not in RAISING])


PROTOCOLS = st.builds(Protocol, **{rule: settings_of(rule) for rule in RULES if rule != "order"})
COUNTS = ("answered", "retrieved", "judged")
ROWS = ("query", "rank", "first", "tied", "grade", "judgment_query", "judgment_grade")


def assert_equal(one: Hits, other: Hits) -> None:
    assert one.queries == other.queries
    assert (one.missing, one.left_out) == (other.missing, other.left_out)
    for name in (*COUNTS, *ROWS):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def columns_of(nested: Table, order: random.Random | None = None) -> Columns:
    """The same rows as columns, in a random order if asked."""
    rows = [(query, doc, number) for query, docs in nested.items() for doc, number in docs.items()]
    if order:
        order.shuffle(rows)
    queries = list(dict.fromkeys(query for query, _, _ in rows))
    index = np.array([queries.index(query) for query, _, _ in rows], np.int32)
    docs = pl.Series([doc for _, doc, _ in rows], dtype=pl.String)
    return Columns(queries, index, docs, np.array([number for _, _, number in rows], np.float64))


def hits_of(judgments: Table, run: Table, protocol: Protocol = Protocol()) -> Hits:  # noqa: B008
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        return match(Judgments(judgments), Run(run), protocol)


def by_columns(judgments: Columns, run: Columns, protocol: Protocol) -> Hits:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        return match(Judgments(judgments), Run(run), protocol)


def matched_by(path: Callable[..., Parts], judgments: Judgments, run: Run, protocol: Protocol) -> Hits:
    """What `match` gives where it takes this path."""
    found = find(judgments, run, protocol)
    return settled(found._replace(parts=path(judgments, run, found.queries, protocol)), protocol)


def specified_order(run: dict[str, float], ties: str) -> list[str]:
    """The order of a ranking in one line."""
    if ties in ("given", "reversed"):
        return sorted(run if ties == "given" else reversed(run), key=lambda doc: -run[doc])
    if ties == "id-ascending":
        return sorted(run, key=lambda doc: (-run[doc], doc))
    return sorted(run, key=lambda doc: (run[doc], doc), reverse=True)


def follows_no_order(protocol: Protocol) -> bool:
    return protocol.ties not in ("given", "reversed") and protocol.ideal_order != "given"


class TestPaths:
    @given(pairs(), PROTOCOLS)
    def test_sorting_counting_and_columns_agree(self, data: tuple[Nested, Nested], protocol: Protocol) -> None:
        judgments, run = data
        sorting = hits_of(judgments, run, protocol)
        assert_equal(sorting, matched_by(partial(match_nested, small=0), Judgments(judgments), Run(run), protocol))
        assert_equal(sorting, by_columns(columns_of(judgments), columns_of(run), protocol))

    @given(pairs(), PROTOCOLS.filter(follows_no_order), st.randoms(use_true_random=False))
    def test_the_order_of_rows_changes_nothing(
        self, data: tuple[Nested, Nested], protocol: Protocol, order: random.Random
    ) -> None:
        judgments, run = data
        shuffled = by_columns(columns_of(judgments, order), columns_of(run, order), protocol)
        assert_equal(hits_of(judgments, run, protocol), shuffled)

    def test_judgments_are_looked_up_in_batches_of_whole_queries(self) -> None:
        judgments: Nested = {f"q{q}": {f"d{i}": i % 3 for i in range(q + 1)} for q in range(5)}
        run: Nested = {query: {f"d{i}": float(i) for i in range(4)} for query in judgments}
        columns = Judgments(columns_of(judgments)), Run(columns_of(run))
        assert_equal(hits_of(judgments, run), matched_by(partial(match_columns, batch=2), *columns, Protocol()))

    @given(pairs(), st.sampled_from(["worst", "best"]))
    def test_ties_by_grade_follow_the_specification(self, data: tuple[Nested, Nested], ties: Ties) -> None:
        judgments, run = data
        hits = hits_of(judgments, run, Protocol(ties=ties))
        sign = -1 if ties == "best" else 1
        for query, name in enumerate(hits.queries):
            grades, scores = judgments[name], run.get(name, {})
            keys = {doc: (-scores[doc], sign * grades.get(doc, 0), sign * (doc in grades)) for doc in scores}
            ranking = sorted(scores, key=keys.__getitem__)
            expected = [(rank, grades[doc]) for rank, doc in enumerate(ranking, 1) if doc in grades]
            mine = hits.query == query
            assert list(zip(hits.rank[mine].tolist(), hits.grade[mine].tolist(), strict=True)) == expected

    @given(pairs(), st.sampled_from(["id", "id-ascending", "given", "reversed"]))
    def test_ranks_follow_the_specification(self, data: tuple[Nested, Nested], ties: Ties) -> None:
        judgments, run = data
        hits = hits_of(judgments, run, Protocol(ties=ties))
        for query, name in enumerate(hits.queries):
            ranking = specified_order(run.get(name, {}), ties)
            expected = [(rank, judgments[name][doc]) for rank, doc in enumerate(ranking, 1) if doc in judgments[name]]
            mine = hits.query == query
            assert list(zip(hits.rank[mine].tolist(), hits.grade[mine].tolist(), strict=True)) == expected

    @given(pairs())
    def test_tie_groups_cover_the_rank(self, data: tuple[Nested, Nested]) -> None:
        judgments, run = data
        hits = hits_of(judgments, run)
        assert ((hits.first <= hits.rank) & (hits.rank < hits.first + hits.tied)).all()

    def test_equal_hashes_are_told_apart_by_their_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With a hash that is always the same, everything collides, and every answer must still be right."""
        from rankgauge.matching import grouping

        judgments = {"q": {"a": 1, "b": 2, "x": 3}, "r": {"a": 0}}
        run = {"q": {"a": 3.0, "c": 2.0, "b": 1.0}, "r": {"b": 1.0, "a": 1.0}}
        expected = by_columns(columns_of(judgments), columns_of(run), Protocol())
        monkeypatch.setattr(grouping, "hash_of", lambda docs: np.full(len(docs), 7 << 40, np.uint64))
        assert_equal(by_columns(columns_of(judgments), columns_of(run), Protocol()), expected)
        assert isinstance(grouping.group(columns_of(run)), Grouped)

    def test_many_queries_in_scattered_rows(self) -> None:
        """More queries than 16 bits can number, so the radix sort takes two passes."""
        order = random.Random(3)
        run = {f"q{i}": {f"d{i % 7}": float(i % 5), f"d{i % 3 + 7}": 1.0} for i in range(70_000)}
        judgments = {query: {next(iter(docs)): 1.0} for query, docs in run.items()}
        shuffled = by_columns(columns_of_many(judgments), columns_of_many(run, order), Protocol())
        assert_equal(hits_of(judgments, run), shuffled)


def columns_of_many(nested: Table, order: random.Random | None = None) -> Columns:
    rows = [(query, doc, number) for query, docs in nested.items() for doc, number in docs.items()]
    if order:
        order.shuffle(rows)
    index = {query: i for i, query in enumerate(dict.fromkeys(query for query, _, _ in rows))}
    query, doc, number = zip(*rows, strict=True)
    return Columns(
        list(index), np.array([index[q] for q in query], np.int32), pl.Series(doc), np.array(number, np.float64)
    )


def test_the_same_was_found_where_queries_and_places_are_the_same() -> None:
    judgments: Nested = {"q": {"a": 1, "b": 0}}
    run: Nested = {"q": {"a": 2.0, "b": 1.0}}
    same, turned = found_of(judgments, run), found_of(judgments, {"q": {"a": 1.0, "b": 2.0}})
    renamed = found_of({"r": judgments["q"]}, {"r": run["q"]})
    assert same.equals(found_of(judgments, run))
    assert not same.equals(turned)  # of the same queries
    assert not same.equals(renamed)  # of the same places


def found_of(judgments: Nested, run: Nested) -> Found:
    return find(read_judgments(judgments), read_run(run), Protocol())


class TestRules:
    def test_ties_go_by_document_id_descending_in_code_point_order(self) -> None:
        hits = hits_of({"q": {"d1": 1, "d2": 1, "d10": 1, "é": 1}}, {"q": dict.fromkeys(["d1", "d10", "d2", "é"], 1.0)})
        order = sorted(["d1", "d10", "d2", "é"], reverse=True)
        assert order == ["é", "d2", "d10", "d1"]
        assert hits.rank.tolist() == [1, 2, 3, 4]
        single = hits_of({"q": {"d10": 1}}, {"q": dict.fromkeys(["d1", "d10", "d2", "é"], 1.0)})
        assert single.rank.tolist() == [3]

    def test_given_order_of_ties_and_of_everything(self) -> None:
        run = {"q": {"a": 1.0, "b": 2.0, "c": 1.0}}
        assert hits_of({"q": {"c": 1}}, run, Protocol(ties="given")).rank.tolist() == [3]
        assert hits_of({"q": {"a": 1}}, run, Protocol(ties="given")).rank.tolist() == [2]
        assert hits_of({"q": {"a": 1}}, run, Protocol(order="given")).rank.tolist() == [1]
        assert by_columns(columns_of({"q": {"a": 1}}), columns_of(run), Protocol(order="given")).rank.tolist() == [1]

    def test_average_keeps_the_first_rank_of_the_group(self) -> None:
        hits = hits_of(
            {"q": {"b": 1, "c": 2}}, {"q": {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}}, Protocol(ties="average")
        )
        assert (hits.rank.tolist(), hits.first.tolist(), hits.tied.tolist()) == ([2, 2], [2, 2], [3, 3])

    def test_scores_are_compared_as_64_bit_numbers(self) -> None:
        hits = hits_of({"q": {"a": 1}}, {"q": {"a": 0.900000001, "b": 0.9}})
        assert hits.rank.tolist() == [1]

    def test_scores_as_32_bit_numbers(self) -> None:
        run = {"q": {"a": 0.900000001, "b": 0.9, "c": 1e300, "d": 2e300}}
        for protocol, ranks in (
            (Protocol(scores="float32"), [2, 4]),
            (Protocol(scores="float32", ties="given"), [1, 3]),
        ):
            for hits in (
                hits_of({"q": {"a": 1, "c": 1}}, run, protocol),
                by_columns(columns_of({"q": {"a": 1, "c": 1}}), columns_of(run), protocol),
            ):
                assert hits.rank.tolist() == ranks

    def test_documents_that_score_0_or_less_are_taken_out(self) -> None:
        judgments = {"q": {"a": 1, "b": 1, "c": 1}, "r": {"a": 1}}
        run = {"q": {"b": 1e-50, "a": 0.5, "x": 2.0, "c": -1.0}, "r": {"a": -1.0}}
        for ties in ("id", "average"):
            protocol = Protocol(scores="float32-positive", ties=ties)
            for hits in (
                hits_of(judgments, run, protocol),
                by_columns(columns_of(judgments), columns_of(run), protocol),
            ):
                found = (hits.rank.tolist(), hits.retrieved.tolist(), hits.answered.tolist())
                assert found == ([2], [2, 0], [True, True])
        given = Protocol(scores="float32-positive", order="given")
        assert hits_of(judgments, run, given).retrieved.tolist() == [4, 1]

    def test_grades_cut_or_refused(self) -> None:
        judgments, run = {"q": {"a": 1.9, "b": -0.5, "c": 2}}, {"q": {"a": 3.0, "b": 2.0}}
        hits = hits_of(judgments, run, Protocol(grades="truncate"))
        assert (hits.grade.tolist(), hits.judgment_grade.tolist()) == ([1, 0], [2, 1, 0])
        with pytest.raises(FormatError, match=r"query 'q': grade 1.9 is not a whole number"):
            hits_of(judgments, run, Protocol(grades="integer"))
        with pytest.raises(FormatError, match=r"query 'q': grade -0.5 is negative"):
            hits_of(judgments, run, Protocol(negative="error"))

    def test_negative_grades_as_they_are(self) -> None:
        hits = hits_of({"q": {"a": -1, "b": 2}}, {"q": {"a": 2.0}}, Protocol(negative="as-is"))
        assert (hits.grade.tolist(), hits.judgment_grade.tolist()) == ([-1], [2, -1])

    def test_the_query_itself_is_dropped(self) -> None:
        judgments, run = {"q": {"q": 1, "a": 1}, "r": {"r": 1}}, {"q": {"q": 3.0, "a": 2.0}, "r": {"r": 1.0}}
        for hits in (
            hits_of(judgments, run, Protocol(same_id="drop")),
            by_columns(columns_of(judgments), columns_of(run), Protocol(same_id="drop")),
        ):
            assert (hits.rank.tolist(), hits.retrieved.tolist(), hits.judged.tolist()) == ([1], [1, 0], [2, 1])

    def test_ideal_of_what_was_retrieved(self) -> None:
        judgments, run = {"q": {"a": 1, "b": 2, "c": -1, "d": 3}}, {"q": {"u": 4.0, "c": 3.0, "a": 2.0, "b": 1.0}}
        assert hits_of(judgments, run, Protocol(ideal="retrieved")).judgment_grade.tolist() == [2, 1]
        signed = hits_of(judgments, run, Protocol(ideal="retrieved", negative="as-is"))
        assert signed.judgment_grade.tolist() == [2, 1, 0, -1]

    def test_ideal_as_given(self) -> None:
        judgments, run = {"q": {"a": 1, "b": 3, "c": 2}}, {"q": {"a": 1.0}}
        assert hits_of(judgments, run, Protocol(ideal_order="given")).judgment_grade.tolist() == [1, 3, 2]

    def test_ideal_end(self) -> None:
        hits = hits_of({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}})
        assert (hits.ideal_end(5), hits.ideal_end(None)) == (5, None)
        ends: list[tuple[IdealDepth, Any, Any]] = [("all", None, None), ("returned", [1, 0], [2, 0])]
        for depth, at_one, at_all in ends:
            cut = hits_of({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, Protocol(ideal_depth=depth))
            found = [cut.ideal_end(1), cut.ideal_end(None)]
            assert [end if end is None else np.asarray(end).tolist() for end in found] == [at_one, at_all]

    @pytest.mark.parametrize(
        ("duplicates", "ranks", "ideal"),
        [("each", [1, 2, 4], [2, 1, 1]), ("once", [1, 2], [2, 1, 1]), ("distinct", [1, 2, 4], [2, 2, 1, 1])],
    )
    def test_a_document_twice_that_counts(self, duplicates: Duplicates, ranks: list[int], ideal: list[int]) -> None:
        rows = [("q", "a", 1.0), ("q", "b", 2.0), ("q", "a", 3.0), ("q", "x", 1.5), ("r", "a", 1.0), ("q", "x", 0.5)]
        run = read_run(rows, duplicates=duplicates)
        hits = match({"q": {"a": 2, "b": 1, "c": 1}}, run, Protocol(duplicates=duplicates))
        assert (hits.rank.tolist(), hits.retrieved.tolist()) == (ranks, [5])
        assert hits.judgment_grade.tolist() == ideal

    def test_negative_grades_stay_in_hits_but_not_in_the_ideal(self) -> None:
        hits = hits_of({"q": {"a": -1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}})
        assert hits.grade.tolist() == [-1, 2]
        assert hits.judgment_grade.tolist() == [2]
        assert hits.judged.tolist() == [2]

    def test_condensed_takes_out_unjudged_and_negative(self) -> None:
        run = {"q": {"u": 5.0, "n": 4.0, "a": 3.0, "v": 2.0, "b": 1.0}}
        hits = hits_of({"q": {"n": -1, "a": 0, "b": 1}}, run, Protocol(unjudged="condensed"))
        assert (hits.rank.tolist(), hits.grade.tolist(), hits.retrieved.tolist()) == ([1, 2], [0, 1], [2])

    def test_depth_cuts_the_ranking(self) -> None:
        hits = hits_of({"q": {"a": 1, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, Protocol(depth=2))
        assert (hits.rank.tolist(), hits.retrieved.tolist()) == ([1], [2])

    def test_missing_queries(self) -> None:
        judgments, run = {"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": {"a": 1.0}, "x": {"a": 1.0}}
        zero = hits_of(judgments, run)
        assert (zero.queries, zero.answered.tolist(), zero.missing, zero.left_out) == (
            ["q1", "q2"],
            [True, False],
            1,
            1,
        )
        assert hits_of(judgments, run, Protocol(missing="skip")).queries == ["q1"]
        with pytest.raises(MatchError, match=r"does not answer 1 judged query, such as 'q2'"):
            hits_of(judgments, run, Protocol(missing="error"))

    def test_queries_are_in_code_point_order(self) -> None:
        run = {query: {"a": 1.0} for query in ("10", "9", "a", "Z", "é")}
        assert hits_of({query: {"a": 1} for query in run}, run).queries == ["10", "9", "Z", "a", "é"]

    def test_integers_match_their_decimal_spelling(self) -> None:
        by_text: Any = {"1": {"10": 1, "11": 0, "7": 2}}
        by_number: Any = {1: {10: 1.5, 11: 2.5, 99: 9.0}}
        expected = hits_of(by_text, {"1": {"10": 1.5, "11": 2.5, "99": 9.0}})
        assert_equal(hits_of(by_text, by_number), expected)
        judged_by_number: Any = {1: {10: 1, 11: 0, 7: 2}}
        assert_equal(hits_of(judged_by_number, {"1": {"10": 1.5, "11": 2.5, "99": 9.0}}), expected)
        wide: Any = {1: {number: float(number % 50) for number in range(3_000)}}
        assert_equal(
            hits_of(by_text, wide), hits_of(by_text, {"1": {str(doc): score for doc, score in wide[1].items()}})
        )

    def test_leading_zeros_are_other_ids(self) -> None:
        with pytest.raises(MatchError, match="leading zeros"):
            hits_of({"007": {"a": 1}}, {"7": {"a": 1.0}})

    def test_inputs_are_never_changed(self) -> None:
        judgments, run = {"q": {"a": 1, "b": 0}}, {"q": {"b": 1.0, "a": 2.0}}
        copy = {"q": {"a": 1, "b": 0}}, {"q": {"b": 1.0, "a": 2.0}}
        hits_of(judgments, run, Protocol(unjudged="condensed", ties="average"))
        assert (judgments, run) == copy
        columns = columns_of(run)
        before = columns.number.copy()
        by_columns(columns_of(judgments), columns, Protocol())
        assert np.array_equal(columns.number, before)


class TestBadInput:
    def test_no_query_in_common_shows_both_sides(self) -> None:
        with pytest.raises(MatchError, match=r"has 'q1'.*has '1'.*prefix"):
            hits_of({"q1": {"a": 1}}, {"1": {"a": 1.0}})

    def test_no_judged_document_is_a_loud_zero(self) -> None:
        with pytest.warns(RankgaugeWarning, match=r"NO JUDGED DOCUMENT.*'doc-1'.*'1'.*Hint"):
            hits = match(Judgments({"q": {"doc-1": 1}}), Run({"q": {"1": 1.0}}))
        assert len(hits) == 0

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), "x", None])
    @pytest.mark.parametrize("rows", [3, 3_000])
    def test_numbers_that_are_none(self, bad: Any, rows: int) -> None:
        run: Any = {"q": {f"d{i}": float(i) for i in range(rows)}, "r": {"bad": bad}}
        with pytest.raises(FormatError, match=r"query 'r', document 'bad': score .* is not a finite number"):
            hits_of({"q": {"d1": 1}, "r": {"d1": 1}}, run)
        with pytest.raises(FormatError, match=r"query 'r', document 'bad': relevance"):
            hits_of(run, {"q": {"d1": 1.0}, "r": {"d1": 1.0}})

    def test_a_document_twice_in_columns(self) -> None:
        columns = Columns(["q"], np.zeros(3, np.int32), pl.Series(["a", "b", "a"]), np.array([1.0, 2.0, 3.0]))
        judgments = columns_of({"q": {"a": 1}})
        with pytest.raises(DuplicateError, match=r"document 'a' is there twice in the ranking of query 'q'"):
            by_columns(judgments, columns, Protocol())
        assert by_columns(judgments, columns, Protocol(duplicates="first")).rank.tolist() == [2]
        assert by_columns(judgments, columns, Protocol(duplicates="best")).rank.tolist() == [1]

    @pytest.mark.parametrize("form", ["columns", "nested"])
    def test_judgments_twice_beside_a_run_of_either_form(self, form: str) -> None:
        """A dict cannot hold a pair twice, so the way from columns to dicts must not lose one."""
        run = Run({"q": {"a": 1.0}}) if form == "nested" else Run(columns_of({"q": {"a": 1.0}}))
        same = Columns(["q"], np.zeros(2, np.int32), pl.Series(["a", "a"]), np.array([1.0, 1.0]))
        other = Columns(["q"], np.zeros(2, np.int32), pl.Series(["a", "a"]), np.array([1.0, 2.0]))
        with pytest.warns(RankgaugeWarning, match="1 judgment is there twice"):
            assert match(Judgments(same), run).judged.tolist() == [1]
        with pytest.raises(DuplicateError, match="judged 1 and 2"):
            match(Judgments(other), run)
        with pytest.raises(DuplicateError, match="'a' is there twice for query 'q'"):
            _ = Run(other).nested

    @pytest.mark.parametrize("more", [0, 3_000])
    def test_numbers_that_are_equal_only_as_floats(self, more: int) -> None:
        """Decimals are compared as 64-bit floats, however many rows there are; whole numbers that have none are not."""
        filler = {f"x{i}": float(-i) for i in range(more)}
        high, low = Decimal("0.1000000000000000001"), Decimal("0.1")
        hits = hits_of({"q": {"a": 1}}, {"q": {"a": high, "b": low, **filler}})  # type: ignore[dict-item]
        assert (hits.rank.tolist(), hits.tied.tolist()) == ([2], [2])
        with pytest.raises(FormatError, match="has more digits than numbers are compared by"):
            hits_of({"q": {"a": 1}}, {"q": {"a": 2**60 + 1, "b": 2**60, **filler}})

    @pytest.mark.parametrize("kind", [int, float, bool, np.int64, np.float32, np.float64, Decimal, Fraction])
    def test_numbers_of_any_real_kind(self, kind: Any) -> None:
        """As 64-bit floats on every path, also where they add up to more than their own kind can hold."""
        largest = {np.int64: 2**62, np.float32: 1e38, np.float64: 1e308, float: 1e308}.get(kind, 3)
        run = {"q": {f"d{i}": kind(score) for i, score in enumerate([largest, 0, largest, 1, largest, largest])}}
        judgments = {"q": {f"d{i}": kind(i % 4) for i in range(0, 6, 2)}}
        plain: Nested = {"q": {doc: float(score) for doc, score in run["q"].items()}}
        grades: Nested = {"q": {doc: float(grade) for doc, grade in judgments["q"].items()}}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            hits = match(Judgments(judgments), Run(run))
        assert_equal(hits, hits_of(grades, plain))
        assert_equal(hits, matched_by(partial(match_nested, small=0), Judgments(judgments), Run(run), Protocol()))

    @pytest.mark.parametrize("number", [1j, np.complex64(1 + 0j), np.complex128(1)])
    @pytest.mark.parametrize("before", [{}, {"b": 1.0}, {"b": np.float64(1)}])
    def test_complex_numbers_are_refused(self, number: Any, before: dict[str, Any]) -> None:
        """Also where the warning that numpy gives of them is not heard."""
        odd, plain = {"q": {**before, "a": number}}, {"q": {"a": 1}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(FormatError, match=r"query 'q', document 'a': score .* is not a number"):
                match(Judgments(plain), Run(odd))
            with pytest.raises(FormatError, match=r"query 'q', document 'a': relevance .* is not a number"):
                match(Judgments(odd), Run(plain))

    def test_an_empty_list_of_results_is_no_answer(self) -> None:
        judgments, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {}}
        assert hits_of(judgments, run, Protocol(missing="skip")).queries == ["q"]
        assert hits_of(judgments, run).missing == 1

    def test_judgments_twice_in_columns(self) -> None:
        run = columns_of({"q": {"a": 1.0}})
        same = Columns(["q"], np.zeros(2, np.int32), pl.Series(["a", "a"]), np.array([1.0, 1.0]))
        with pytest.warns(RankgaugeWarning, match="1 judgment is there twice"):
            assert match(Judgments(same), Run(run)).judged.tolist() == [1]
        other = Columns(["q"], np.zeros(2, np.int32), pl.Series(["a", "a"]), np.array([1.0, 2.0]))
        with pytest.raises(DuplicateError, match="judged 1 and 2"):
            match(Judgments(other), Run(run))


def test_hits_have_what_the_design_says() -> None:
    assert {"queries", "retrieved", "judged", "query", "rank", "first", "tied", "grade"} <= {
        f.name for f in fields(Hits)
    }


def test_frames_and_dicts_give_equal_hits() -> None:
    judgments = {"q1": {"d1": 2.0, "d2": 0.0}, "q2": {"d3": 1.0}}
    run = {"q1": {"d2": 0.9, "d1": 0.4}, "q2": {"d3": 0.1}}
    frame = pl.DataFrame({"qid": ["q1", "q2", "q1"], "docno": ["d1", "d3", "d2"], "rel": [2, 1, 0]})
    ranked = pl.DataFrame({"qid": ["q1", "q1", "q2"], "docno": ["d2", "d1", "d3"], "score": [0.9, 0.4, 0.1]})
    assert_equal(match(read_judgments(frame), read_run(ranked)), hits_of(judgments, run))


@pytest.mark.parametrize(
    ("ours", "theirs", "hint"),
    [
        (["q1", "q2"], ["1", "2"], "removing a prefix that one side has"),
        (["1", "2"], ["q1", "q2"], "removing a prefix that one side has"),
        (["A1"], ["a1"], "ignoring upper and lower case"),
        (["topic-1"], ["query-01"], "replacing one side's prefix, with the zeros after it, by the other's"),
        (["apple"], ["pear"], ""),
    ],
)  # fmt: skip
def test_the_hint_names_what_would_make_the_sides_meet(ours: list[str], theirs: list[str], hint: str) -> None:
    judgments, run = ({query: {"d": 1} for query in side} for side in (ours, theirs))
    with pytest.raises(MatchError) as refused:
        hits_of(judgments, run)
    _, _, words = str(refused.value).partition(". Hint: they match after ")
    assert words.startswith(hint) if hint else not words


@pytest.mark.parametrize("size", [3, 900])  # rows of a query: few, and so many that columns are moved together
def test_parts_are_joined_and_put_in_order(size: int) -> None:
    """Against a stable sort of all rows by their query's new place."""
    chance = np.random.default_rng(size)
    query = np.repeat(np.arange(200), chance.integers(0, size, 200))
    assert (len(query) > LONG) == (size == 900)
    grade, (rank, first, tied) = chance.random(len(query)), chance.integers(0, 1000, (3, len(query)))
    whole = Parts(np.zeros(200, np.int64), query, grade, query, rank, first, tied, grade)

    def some(start: int, end: int) -> Parts:
        rows = (query >= start) & (query < end)
        part = query[rows] - start
        return Parts(
            whole.retrieved[start:end], part, grade[rows], part, rank[rows], first[rows], tied[rows], grade[rows]
        )

    for made, right in zip(joined([some(0, 90), some(90, 200)]), whole, strict=True):
        assert np.array_equal(made, right)
    order = chance.permutation(200)
    place = np.argsort(order)[query]
    rows = np.argsort(place, kind="stable")
    for made, right in zip(regrouped(whole[3:], order), [place, *whole[4:]], strict=True):
        assert np.array_equal(made, right[rows])


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_a_run_that_was_made_columns_of_still_knows_what_it_did_not_answer(missing: Any) -> None:
    """A pool looks at columns; what is evaluated after it is what is evaluated before."""
    judgments = {query: {"d1": 1, "d2": 0} for query in ("q1", "q2", "q3")}
    rows: Nested = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {}, "q3": {"d2": 2.0, "d1": 1.0}}
    rules = Protocol(missing=missing)
    before = match(judgments, Run(rows), rules)
    looked_at = Run(rows)
    assert looked_at.columns.queries == ["q1", "q2", "q3"]
    assert looked_at.answered == looked_at.only({"q1", "q2", "q3", "q4"}).answered == {"q1", "q3"}
    assert looked_at.only({"q1", "q2"}).answered == {"q1"}
    after = match(judgments, looked_at, rules)
    assert (before.missing, before.queries) == (after.missing, after.queries) == (1, [*before.queries])
    assert np.array_equal(before.answered, after.answered)
