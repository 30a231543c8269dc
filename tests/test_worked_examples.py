"""docs/worked-examples.md: every number on the page is computed here."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from rankgauge.measures.aggregates import aggregate
from rankgauge.measures.gains import discount_function
from test_docs import Table, computed, quoted, table_of, tables, text_of, words_of

PAGE = "docs/worked-examples.md"
TABLES = tables(PAGE)
A, B = [3, 2, 3, 0, 1, 2, 0, 1, 0, 2], [3, 2, 3, 1, 2, 0, 1, 2, 0, 1]
CASES = [row for table in TABLES if "value" in table.heads for row in table.rows]


def shown(cell: str, value: float) -> bool:
    """Whether a cell shows this value, to as many digits as it has."""
    return f"{value:.{len(cell.partition('.')[2])}f}" == cell


def term_tables() -> list[Table]:
    return [table for table in TABLES if table.heads[0] == "rank"]


def test_every_table_is_checked() -> None:
    known = {"rank", "base", "from rank", "system"}
    assert [table.heads for table in TABLES if "value" not in table.heads and table.heads[0] not in known] == []
    assert len(CASES) == 34
    assert len(term_tables()) == 2


@pytest.mark.parametrize("case", CASES, ids=[f"{next(iter(case.values()))} {case['measure']}" for case in CASES])
def test_a_value(case: dict[str, str]) -> None:
    assert shown(case["value"], computed(case))


@pytest.mark.parametrize(("table", "grades"), list(zip(term_tables(), [A, B], strict=True)), ids="AB")
def test_rank_by_rank(table: Table, grades: list[int]) -> None:
    total = ideal_total = 0.0
    ideal = sorted(grades, reverse=True)
    assert [int(row["grade"]) for row in table.rows] == grades
    assert [int(row["ideal grade"]) for row in table.rows] == ideal
    for rank, row in enumerate(table.rows, 1):
        discount = float(discount_function("log2")(np.array([rank]))[0])
        gain, ideal_gain = 2 ** grades[rank - 1] - 1, 2 ** ideal[rank - 1] - 1
        total, ideal_total = total + gain / discount, ideal_total + ideal_gain / discount
        numbers = [rank, discount, grades[rank - 1], gain, gain / discount, total]
        numbers += [ideal[rank - 1], ideal_gain, ideal_gain / discount, ideal_total]
        assert [*row.values()] == [
            cell for cell, value in zip(row.values(), numbers, strict=True) if shown(cell, value)
        ]


def test_the_numbers_that_others_published() -> None:
    """As in the conformance table: the page shows them, and the tests above compute them."""
    values = {row["value"] for row in CASES}
    assert {"15.030923", "16.058637", "0.936002", "0.959454", "0.831516"} <= values
    assert {"7.754721", "8.217389", "0.943697", "0.887599", "0.915499", "19.0865", "0.7875"} <= values
    assert {"15.552817", "16.374102", "0.949842", "0.963285"} <= values
    assert {"0.5525", "0.3975", "0.3333", "0.4702"} <= values
    terms = [row["term"] for row in term_tables()[0].rows]
    assert [*terms[:3], terms[4], terms[5], terms[7], terms[9]] == [
        "7.0000",
        "1.8928",
        "3.5000",
        "0.3869",
        "1.0686",
        "0.3155",
        "0.8672",
    ]


@pytest.mark.parametrize("row", table_of(PAGE, "base"), ids=lambda row: row["base"])
def test_the_base_cancels(row: dict[str, str]) -> None:
    base = math.e if row["base"] == "e" else float(row["base"])
    dcg, ideal = (
        sum((2**grade - 1) / math.log(rank + 1, base) for rank, grade in enumerate(order, 1))
        for order in (A, sorted(A, reverse=True))
    )
    assert shown(row["DCG@10"], dcg)
    assert shown(row["ideal DCG@10"], ideal)
    assert shown(row["nDCG@10"], dcg / ideal)


@pytest.mark.parametrize("row", table_of(PAGE, "from rank"), ids=lambda row: row["from rank"])
def test_doubling_the_rank(row: dict[str, str]) -> None:
    before, after = discount_function("log2")(np.array([int(row["from rank"]), int(row["to rank"])]))
    assert int(row["to rank"]) == 2 * int(row["from rank"])
    assert shown(row["what is left of the gain"], before / after)


def test_mean_and_median() -> None:
    for row in table_of(PAGE, "system", "nDCG@10 of six queries"):
        values = np.array([float(word) for word in words_of(row["nDCG@10 of six queries"])])
        assert len(values) == 6
        assert shown(row["mean"], aggregate("mean", values))
        assert shown(row["median"], aggregate("median", values))
        assert shown(row["geometric mean"], aggregate("geometric_mean", values))


def test_the_cut_offs_are_those_asked_for() -> None:
    rows = [row for row in CASES if "K" in row]
    assert [row["K"] for row in rows] == ["1", "5", "10", "20", "50", "100"]
    assert [quoted(row["measure"])[0] for row in rows] == [f"nDCG@{row['K']}" for row in rows]


def test_no_number_stands_in_the_text_alone() -> None:
    """A decimal number in a sentence is one that a table on the page has, and the tables are computed."""
    known = {cell for table in TABLES for row in table.rows for cell in row.values()}
    prose = re.sub(r"^\|.*$|`[^`]*`", "", text_of(PAGE), flags=re.MULTILINE)
    numbers = re.findall(r"\d+\.\d+", prose)
    assert numbers
    assert [number for number in numbers if number not in known] == []
