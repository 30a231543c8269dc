"""Charts of trust: their numbers are those of `quality`, `label_noise` and `agree`, which others check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankgauge
from rankgauge import charts

QRELS = {f"q{i}": {f"d{j}": (i * j) % 4 for j in range(8)} for i in range(1, 13)}
HOLES = {query: {doc: grade for doc, grade in docs.items() if doc not in ("d3", "d6")} for query, docs in QRELS.items()}
OTHERS = {query: {doc: min(3, grade + (doc < "d2")) for doc, grade in docs.items()} for query, docs in QRELS.items()}
RUNS: dict[str, Any] = {
    f"s-{step}": {
        query: {doc: float((int(doc[1:]) * step + int(query[1:])) % 9) for doc in docs} for query, docs in QRELS.items()
    }
    for step in (2, 4, 5)
}


def rows_of(chart: Any, *fields: str) -> list[dict[str, Any]]:
    (rows,) = (rows for rows in chart.to_dict()["datasets"].values() if rows and set(fields) <= rows[0].keys())
    return list(rows)


def caption_of(chart: Any) -> str:
    return " ".join(chart.to_dict()["title"]["subtitle"])


def test_unjudged_shows_the_bounds_of_every_run_best_first() -> None:
    rows = rows_of(charts.unjudged(rankgauge.quality(HOLES, RUNS, "nDCG@3")), "expected")
    for row in rows:
        mean = rankgauge.unjudged_bounds(HOLES, RUNS[row["system"]], measure="nDCG@3").mean
        assert (row["value"], row["low"], row["high"]) == mean
        assert row["low"] <= row["value"] < row["high"]
        plain = rankgauge.evaluate(HOLES, RUNS[row["system"]], "nDCG@3", protocol={"unjudged": "condensed"})
        assert row["condensed"] == pytest.approx(plain["nDCG@3"], abs=1e-15)
    assert [row["value"] for row in rows] == sorted((row["value"] for row in rows), reverse=True)
    assert len(rows) == len(RUNS)


def test_pairs_are_bounded_jointly_and_coloured_by_what_is_settled() -> None:
    chart = charts.unjudged_pairs(rankgauge.quality(HOLES, RUNS, "nDCG@3"))
    rows = rows_of(chart, "settled")
    assert len(rows) == 3
    for row in rows:
        found = rankgauge.unjudged_bounds(HOLES, RUNS[row["a"]], RUNS[row["b"]], "nDCG@3")
        assert (row["value"], row["low"], row["high"]) == found.mean
        assert row["settled"] == (row["low"] > 0 or row["high"] < 0)
        assert row["pair"] == f"{row['a']}\n− {row['b']}"
    assert "orange: unjudged documents decide" in caption_of(chart)


def test_of_many_pairs_the_open_ones_are_shown() -> None:
    """Nine copies of a run that nothing can part, and one run that differs: 45 pairs, of which 9 are open."""
    runs = {f"same{at}": RUNS["s-2"] for at in range(9)} | {"other": RUNS["s-5"]}
    quality = rankgauge.quality(HOLES, runs, "nDCG@3")
    chart = charts.unjudged_pairs(quality)
    rows = rows_of(chart, "settled")
    assert (len(quality.pairs), len(rows)) == (45, 30)
    assert sum(not row["settled"] for row in rows) == 9
    assert "30 of 45 pairs, the open ones first" in caption_of(chart)


def test_noise_counts_every_draw_once() -> None:
    noise = rankgauge.label_noise(QRELS, RUNS, "nDCG@3", error_rate=0.3, draws=200)
    chart = charts.noise(noise)
    bars, marks = rows_of(chart, "draws"), rows_of(chart, "diamond")
    for at, name in enumerate(RUNS):
        own = [row for row in bars if row["system"] == name]
        assert sum(row["draws"] for row in own) == 200
        for row in own:
            column = noise.draws[:, at]
            assert row["draws"] == int(((column >= row["from"]) & (column < row["to"])).sum())
        (mark,) = (row for row in marks if row["system"] == name)
        assert mark["tick"] == noise.value[at]
        assert mark["diamond"] == pytest.approx(noise.draws[:, at].mean(), abs=1e-12)
    whole = rankgauge.quality(QRELS, RUNS, "nDCG@3", error_rate=0.3, draws=200)
    assert charts.noise(whole).to_dict() == chart.to_dict()


def test_noise_that_moves_nothing_is_one_bar_each() -> None:
    chart = charts.noise(rankgauge.label_noise(QRELS, RUNS, "nDCG@3", confusion=np.eye(4) * 10, draws=20))
    assert [row["draws"] for row in rows_of(chart, "draws")] == [20] * len(RUNS)


def test_the_confusion_matrix_has_every_pair_in_its_cell() -> None:
    found = rankgauge.agree({"one-two": QRELS, "other": OTHERS})
    chart = charts.confusion(found)
    rows = rows_of(chart, "share")
    for row in rows:
        count = sum(
            (QRELS[query][doc], OTHERS[query][doc]) == (int(row["a"]), int(row["b"]))
            for query, docs in QRELS.items()
            for doc in docs
        )
        assert row["pairs"] == count
        assert (row["shade"] >= 0) == (row["a"] == row["b"] or row["pairs"] == 0)
    assert len(rows) == 16
    assert sum(row["pairs"] for row in rows) == sum(map(len, QRELS.values()))
    for grade in "0123":
        assert sum(row["share"] for row in rows if row["a"] == grade) == pytest.approx(1.0)
    assert "other − one-two is +" in caption_of(chart)  # a hyphen in a name stays one


def test_judges_show_the_values_under_each() -> None:
    chart = charts.judges(rankgauge.agree({"one": QRELS, "other": OTHERS}, runs=RUNS, measure="nDCG@3"))
    rows = rows_of(chart, "place")
    for row in rows:
        judgments = QRELS if row["judge"] == "one" else OTHERS
        assert row["value"] == rankgauge.evaluate(judgments, RUNS[row["system"]], "nDCG@3")["nDCG@3"]
    for judge in ("one", "other"):
        own = sorted((row for row in rows if row["judge"] == judge), key=lambda row: -row["value"])
        assert [row["place"] for row in own] == [1, 2, 3]


def test_of_many_systems_those_that_move_are_coloured() -> None:
    runs = {f"r{step}": {q: {d: float(int(d[1:]) * step % 11) for d in docs} for q, docs in QRELS.items()}
            for step in range(1, 17)}  # fmt: skip
    chart = charts.judges(rankgauge.agree({"one": QRELS, "other": OTHERS}, runs=runs, measure="nDCG@3"))
    rows = rows_of(chart, "moved")
    places: dict[str, set[int]] = {}
    for row in rows:
        places.setdefault(row["system"], set()).add(row["place"])
    assert {row["system"] for row in rows if row["moved"]} == {name for name, each in places.items() if len(each) > 1}
    assert "Orange: systems whose place is not the same" in caption_of(chart)


# ---- people's judgments and a model's --------------------------------------------------------------------------------


def test_ppi_shows_people_alone_and_with_the_model() -> None:
    some = {query: QRELS[query] for query in list(QRELS)[:6]}
    found = rankgauge.ppi(some, OTHERS, RUNS, "nDCG@3")
    chart = charts.ppi(found)
    rows = {(row["system"], row["who"]): row for row in rows_of(chart, "who")}
    assert len(rows) == 2 * len(RUNS)
    for each in found.systems:
        for who, one in (("human", each.people), ("human + LLM", each.powered)):
            row = rows[each.name, who]
            ends = [None if end != end else end for end in (one.low, one.high)]
            assert (row["value"], row["low"], row["high"], row["model"]) == (one.value, *ends, each.model)
    assert caption_of(chart).startswith("6 of 12 queries judged by humans.")
