"""Samples of a log: what is folded, who is drawn and how likely, what stays, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from command import Command
from rankgauge.errors import InputError, RankgaugeError, RankgaugeWarning, options_are
from rankgauge.sampling.draw import METHODS, by_rank, pareto, permanent, proportional, shared_out, thirds
from rankgauge.sampling.log import folded, read_log
from rankgauge.sampling.sample import query_id_of, read_sample, sample
from rankgauge.store.project import Project, init
from rankgauge.store.store import Answer, Store

WORDS = ("red", "blue", "green", "shoes", "boots", "hat", "bag", "coat", "wool", "silk", "large", "small")


def zipf_log(queries: int = 400, seed: int = 1) -> dict[str, list[Any]]:
    """A query of four words each, the first the most frequent, in two segments."""
    texts = [" ".join(words) for words in itertools.permutations(WORDS, 4)][:queries]
    order = random.Random(seed).sample(range(queries), queries)
    counts = [max(1, round(2000 / (rank + 1))) for rank in range(queries)]
    segments = [("app", "web")[at % 2] for at in range(queries)]
    columns: dict[str, list[Any]] = {"query": texts, "count": counts, "segment": segments}
    return {name: [column[at] for at in order] for name, column in columns.items()}


# ---- folding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Red Shoes", "  red   shoes "), ("e-mail, please!", "E MAIL please"), ("ｷﾞﾀｰ", "ギター"), ("STRASSE", "straße"),
        ("Ἀχιλλεύς", "ἈΧΙΛΛΕΎΣ"), ("“red”\tshoes", "red shoes"), ("??", " ?? "), ("ﬁnd", "FIND"),
        ("red_shoes", "red shoes"),
    ],
)  # fmt: skip
def test_spellings_of_one_query_are_folded(one: str, other: str) -> None:
    assert folded(one) == folded(other)
    assert query_id_of(folded(one)) == query_id_of(folded(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("shoes", "shoe"),
        ("shoes", "shose"),
        ("c#", "c"),
        ("c++", "c"),
        ("100%", "100"),
        ("resume", "résumé"),
        ("?", "!"),
    ],
)
def test_other_queries_are_not_however_near(one: str, other: str) -> None:
    assert folded(one) != folded(other)
    assert query_id_of(folded(one)) != query_id_of(folded(other))
    assert folded(one, "words") != folded(other, "words")


def test_the_order_of_words_is_folded_where_that_is_asked_for() -> None:
    assert folded("shoes red") != folded("red shoes")
    assert folded("shoes red", "words") == folded("Red, shoes", "words") == "red shoes"


def test_ids_are_made_of_the_folded_text_fit_every_format_and_stay_apart() -> None:
    texts = ["red shoes", "red-shoes!", "x" * 5000, "x" * 5001, "#tag", "tag", "@labels", '"', "_ _", "___", "a\u200bb"]
    ids = {query_id_of(folded(text)) for text in texts}
    assert len(ids) == len({folded(text) for text in texts}) == len(texts) - 1
    assert "red_shoes" in ids
    for each in ids:
        assert not any(letter.isspace() for letter in each)
        assert each[0] not in '#@"'
        assert len(each) < 100


def test_traffic_is_added_up_and_the_most_frequent_spelling_kept() -> None:
    log = read_log(
        [
            {"query": "Wi-Fi", "count": 3, "need": "a network"},
            {"query": "wi fi", "count": 4, "need": None},
            {"query": "WI FI", "count": 4, "need": "another"},
            {"query": "hat", "count": 2, "need": "warm"},
        ]
    )
    assert (log.keys, log.queries, log.traffic.tolist()) == (["hat", "wi fi"], ["hat", "WI FI"], [2, 11])
    assert log.columns["need"] == ["warm", "another"]  # of the most searches
    assert (log.rows, log.spellings, log.examples) == (4, 4, [("WI FI", "wi fi", "Wi-Fi")])


def test_a_row_may_be_a_search(tmp_path: Path) -> None:
    """UBI's queries: a row a search, whose `query_id` is that of the search; also as exported."""
    searches = ["red shoes", "hat", "Red shoes", None, "bag", "hat", "hat"]
    rows = [{"query_id": f"s{at}", "user_query": query, "client_id": "c"} for at, query in enumerate(searches)]
    plain, wrapped = tmp_path / "ubi_queries.jsonl", tmp_path / "export.jsonl"
    plain.write_text("".join(json.dumps(row) + "\n" for row in rows))
    wrapped.write_text("".join(json.dumps({"_index": "ubi_queries", "_source": row}) + "\n" for row in rows))
    for path in (plain, wrapped):
        with pytest.warns(RankgaugeWarning, match=r"1 row of 7 hold no query; left out"):
            log = read_log(path)
        assert dict(zip(log.queries, log.traffic.tolist(), strict=True)) == {"bag": 1, "hat": 3, "Red shoes": 2}


# ---- drawing ---------------------------------------------------------------------------------------------------------


def test_inclusion_grows_with_traffic_until_it_is_sure() -> None:
    chance = proportional(np.array([90.0, 20, 10, 7, 3, 2, 1]), 4)
    assert chance.tolist() == pytest.approx([1, 1, 20 / 23, 14 / 23, 6 / 23, 4 / 23, 2 / 23], rel=1e-15)
    assert chance.sum() == pytest.approx(4)
    assert proportional(np.array([5.0, 3, 3, 1]), 4).tolist() == [1.0] * 4
    assert proportional(np.ones(7), 3).tolist() == pytest.approx([3 / 7] * 7)


def test_the_order_is_that_of_pareto_sampling() -> None:
    """Of two queries and one draw, the first has the chance r (r − 1 − ln r) / (r − 1)², r the squared odds."""
    chance = np.array([0.7, 0.3])
    odds = (0.7 / 0.3) ** 2
    expected = odds * (odds - 1 - math.log(odds)) / (odds - 1) ** 2
    u = permanent([f"query {at}" for at in range(200_000)]).reshape(-1, 2)
    drawn = np.mean([pareto(chance, each, 1)[0] == 0 for each in u])
    assert abs(drawn - expected) < 4 * math.sqrt(expected * (1 - expected) / len(u))


def test_permanent_numbers_are_even_and_a_query_keeps_its_own() -> None:
    u = permanent([f"query {at}" for at in range(100_000)], 3)
    assert np.abs(np.histogram(u, 20, (0, 1))[0] / 5000 - 1).max() < 0.06
    assert u.min() > 0
    assert u.max() < 1
    assert permanent(["query 17"], 3)[0] == u[17] != permanent(["query 17"], 4)[0]
    known = int.from_bytes(blake2b(b"red shoes", digest_size=8, key=b"rankgauge sample 0").digest()) / 2**64
    assert permanent(["red shoes"])[0] == pytest.approx(known, abs=2**-52) == pytest.approx(0.5941764296830451)


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_log_decides_nothing(method: Any) -> None:
    log = zipf_log()
    shuffled = random.Random(5).sample(range(400), 400)
    other = {name: [column[at] for at in shuffled] for name, column in log.items()}
    one, two = (sample(each, 40, method=method).to_tsv() for each in (log, other))
    assert one == two
    assert len(one.splitlines()) == 41
    if method != "top":
        assert one != sample(log, 40, method=method, seed=1).to_tsv()


@pytest.mark.parametrize("method", METHODS)
def test_a_larger_sample_takes_the_smaller_one_in(method: Any) -> None:
    small, large = (sample(zipf_log(1500), n, method=method) for n in (300, 400))
    assert set(small.query_ids) < set(large.query_ids)


def test_next_months_log_keeps_most_of_the_sample() -> None:
    log, moved = zipf_log(2000), zipf_log(2000)
    change = np.random.default_rng(2).uniform(0.8, 1.2, 2000)
    moved["count"] = [max(1, round(count * each)) for count, each in zip(log["count"], change, strict=True)]
    old = sample(log, 300)
    new = sample(moved, 300, keep=old)
    assert new.shared is not None
    assert len(new.shared.kept) >= 0.85 * 300
    assert sorted([*new.shared.kept, *new.shared.new]) == sorted(new.query_ids)
    assert sorted([*new.shared.kept, *new.shared.gone]) == sorted(old.query_ids)
    other = sample(moved, 300, seed=1, keep=old)
    assert other.shared is not None
    assert len(other.shared.kept) < 0.5 * 300


def test_head_torso_and_tail_are_thirds_of_the_searches() -> None:
    traffic = np.array([30.0, 20, 10, 10, 5, 5, 5, 5])
    assert thirds(traffic) == ["head", "torso", "torso", "torso", "tail", "tail", "tail", "tail"]
    assert set(thirds(np.ones(9))) == {"head"}  # nothing tells them apart


def test_strata_get_what_was_asked_for() -> None:
    assert shared_out(300, {"a": 1, "b": 1, "c": 1}, {"a": 20, "b": 500, "c": 900}) == {"a": 20, "b": 140, "c": 140}
    assert shared_out(100, {"a": 3, "b": 1}, {"a": 500, "b": 500}) == {"a": 75, "b": 25}
    assert shared_out(10, {"a": 0, "b": 1}, {"a": 50, "b": 50}) == {"a": 2, "b": 8}
    log = zipf_log()
    parts = sample(log, 60, method="strata").parts  # five queries have a third of the searches, and all are drawn
    assert [(part.stratum, part.sampled) for part in parts] == [("head", 5), ("torso", 27), ("tail", 28)]
    assert (parts[0].queries, parts[0].searches, parts[0].sure) == (5, 2000 + 1000 + 667 + 500 + 400, 5)
    by_segment = sample(log, method="strata", strata="segment", allocate={"app": 30, "web": 10})
    assert [by_segment.strata.count(name) for name in ("app", "web")] == [30, 10]
    assert by_segment.inclusion[np.array(by_segment.strata) == "web"].sum() <= 10


def test_neyman_gives_more_to_the_stratum_that_differs_more() -> None:
    """n ∝ traffic × deviation: of equal traffic, three times the deviation is three times the queries."""
    log = {"query": [f"q{at}" for at in range(400)], "count": [10] * 400, "segment": ["app", "web"] * 200}
    pilot = {
        "query_id": [f"q{at}" for at in range(20)],
        "value": [0.5 + (0.3, 0.1)[at % 2] * (-1) ** (at // 2) for at in range(20)],
    }
    drawn = sample(log, 80, method="strata", strata="segment", allocate="neyman", pilot=pilot)
    assert [drawn.strata.count(name) for name in ("app", "web")] == [60, 20]


def test_neyman_counts_the_traffic_of_a_stratum_and_not_of_its_queries() -> None:
    """Three times the queries of the same traffic each: three times the traffic, of the same deviation."""
    log = {"query": [f"q{at}" for at in range(400)], "count": [10] * 400, "segment": ["app", "app", "app", "web"] * 100}
    values = [0.2, 0.8, 0.5, 0.2, 0.8, 0.2, 0.5, 0.8] * 2
    pilot = {"query_id": [f"q{at}" for at in range(16)], "value": values}
    web = values[3::4]
    app = [value for at, value in enumerate(values) if at % 4 != 3]
    ratio = 3 * np.std(app, ddof=1) / np.std(web, ddof=1)
    drawn = sample(log, 80, method="strata", strata="segment", allocate="neyman", pilot=pilot)
    assert drawn.strata.count("app") == round(80 * ratio / (1 + ratio))
    assert drawn.strata.count("app") > 50


def test_top_is_a_fixed_list(command: Command, tmp_path: Path) -> None:
    drawn = sample(zipf_log(), 10, method="top")
    assert sorted(drawn.traffic, reverse=True) == [2000, 1000, 667, 500, 400, 333, 286, 250, 222, 200]
    assert (drawn.fixed, set(drawn.inclusion.tolist())) == (True, {1.0})
    assert by_rank(np.array([1.0, 3, 1, 3]), 3).tolist() == [0, 1, 3]
    assert "says nothing of other queries" in drawn.show()
    assert drawn.parts[0].sure == 10
    (tmp_path / "log.csv").write_text("query,count\na,2\nb,1\nc,1\n")
    done = command("sample", "log.csv", "--n", "2", "--method", "top", "-o", "queries.tsv", cwd=tmp_path)
    assert "Caution: a fixed list: what is measured on it says nothing of other queries" in done.err


def test_shares_drawn_are_the_inclusion_probabilities() -> None:
    """By band of traffic; 3,000 samples in the simulation below."""
    traffic = np.array([max(1, round(2000 / rank)) for rank in range(1, 2001)], float)
    chance, keys = proportional(traffic, 200), [f"query {at}" for at in range(2000)]
    drawn = np.zeros(2000)
    for seed in range(400):
        drawn[pareto(chance, permanent(keys, seed), 200)] += 1 / 400
    for low, high in ((0, 0.05), (0.05, 0.2), (0.2, 0.5), (0.5, 1)):
        band = (chance >= low) & (chance < high)
        error = math.sqrt(float((chance[band] * (1 - chance[band])).sum()) / 400)
        assert abs(drawn[band].sum() - chance[band].sum()) < max(4 * error, 0.01 * chance[band].sum())
    assert drawn[chance == 1].min() == pytest.approx(1)


# ---- files -----------------------------------------------------------------------------------------------------------


def test_every_format_of_a_log_gives_the_same_sample(tmp_path: Path) -> None:
    log = zipf_log()
    frame = pl.DataFrame(log)
    frame.write_csv(tmp_path / "log.csv")
    frame.write_csv(tmp_path / "log.tsv", separator="\t")
    frame.write_ndjson(tmp_path / "log.jsonl")
    frame.write_parquet(tmp_path / "log.parquet")
    expected = sample(log, 50).to_tsv()
    for name in ("log.csv", "log.tsv", "log.jsonl", "log.parquet"):
        assert sample(tmp_path / name, 50).to_tsv() == expected
    searches = [query for query, count in zip(log["query"], log["count"], strict=True) for _ in range(count)]
    assert sample(frame, 50).to_tsv() == sample({"user_query": searches}, 50).to_tsv() == expected


def test_a_sample_comes_back_as_it_was_written(tmp_path: Path) -> None:
    log = {
        "query": ['"a"\tb\nc', "=1+1", " x ", "ünï", "#x", "plain"],
        "n": [5, 4, 3, 2, 1, 1],
        "why": ["tab\there", *[""] * 5],
    }
    drawn = sample(log, 4, columns={"count": "n", "need": "why"})
    (tmp_path / "queries.tsv").write_text(drawn.to_tsv(), newline="")
    again = read_sample(tmp_path / "queries.tsv")
    assert again.rows() == drawn.rows()
    assert again.to_tsv() == drawn.to_tsv()
    assert drawn.rows()[0].keys() == {"query_id", "query", "traffic", "inclusion", "stratum", "need"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("term_id,count\n1,2\n", "no column holds the queries; there are term_id, count; call it query, or name it"),
        ("query,count\na,2\nb,-1\n", r"log.csv:3: column 'count': '-1' is negative; expected a whole number"),
        ("query,count\na,2\nb,1.5\n", r"log.csv:3: column 'count': '1.5' is a fraction; expected a whole number"),
        ("query;count\na;2\nb;2.000\n", r"log.csv:3: column 'count': '2.000' may have its thousands .*write 2000"),
        ('query,count\na,"2,000"\n', r"log.csv:2: column 'count': '2,000' may have its thousands parted; write 2000"),
        ("query,count\na,2\nb,\n", r"log.csv:3: column 'count': the cell is empty"),
        ("query,count\na,2\nb,many\n", r"log.csv:3: column 'count': 'many' is not a number"),
        ("query,count\na,2\nb,1e300\n", r"log.csv:3: column 'count': '1e300' is too large"),
        ("query,count\na,2\nA!,3\n", r"holds one query, 'A!'; there is nothing to draw"),
        ("query,count\na,2\nb,3\nc,1\n", r"has 3 distinct queries, and 9 are asked for; take all of them with --n 3\n"),
        ("query,count\n", "holds no queries"),
        ("", "log.csv"),
    ],
)
def test_bad_logs(command: Command, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "log.csv").write_text(text)
    outcome = command("sample", "log.csv", "--n", "9", "-o", "queries.tsv", cwd=tmp_path)
    assert (outcome.code, outcome.out) == (2, "")
    assert re.search(message, outcome.err), outcome.err
    assert len([line for line in outcome.err.splitlines() if line.startswith("error")]) == 1
    assert not (tmp_path / "queries.tsv").exists()


def test_where_no_option_says_how_many_the_settings_do() -> None:
    """`rankgauge loop` has no --n: it is rankgauge.toml that says how many."""
    with (
        options_are({"--project"}),
        pytest.raises(InputError, match=r"all of them with sample = 3 in rankgauge\.toml$"),
    ):
        sample({"query": ["a", "b", "c"], "count": [3, 2, 1]}, 9)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"n": None}, "how many queries"),
        ({"n": 1}, "too few; draw 2"),
        ({"method": "trafic"}, "did you mean 'traffic'"),
        ({"fold": "stems"}, "there is no way 'stems' to fold"),
        ({"strata": "segment"}, "are for the method strata"),
        ({"method": "strata", "strata": "segmnt"}, "did you mean 'segment'"),
        ({"method": "strata", "allocate": "neyman"}, "by the values of a pilot"),
        ({"method": "strata", "allocate": "head=1"}, "how many queries of stratum|take"),
        ({"method": "strata", "allocate": "head=3,torso=9,tail=9,x=1"}, "there is no stratum 'x'"),
        ({"method": "strata", "allocate": "equally"}, "is not STRATUM=NUMBER"),
        ({"method": "strata", "allocate": {"head": 3, "torso": 9, "tail": 9}}, "add up to 21, and n is 40"),
        ({"n": 3, "method": "strata"}, "too few for 3 strata"),
        ({"method": "strata", "allocate": "neyman", "pilot": {"query_id": ["x"], "value": [1.0]}}, "has 0 values in"),
        ({"columns": {"query": "qurey"}}, "did you mean 'query'"),
        ({"columns": {"id": "segment"}}, "is that of"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(RankgaugeError, match=message):
        sample(zipf_log(), **({"n": 40} | asked))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query_id\ttraffic\na\t1\n", "no column 'inclusion'"),
        ("query_id\ttraffic\tinclusion\na\t1\t0\n", r"queries.tsv:2: column 'inclusion': '0' is out of range"),
        ("query_id\ttraffic\tinclusion\na\t1\t1.5\n", "out of range; expected a probability"),
        ("query_id\ttraffic\tinclusion\na\t-1\t1\n", "out of range; expected a number above 0"),
        ("query_id\ttraffic\tinclusion\na\t1\t1\na\t1\t1\n", r"queries.tsv:3: query 'a' is there twice"),
        ("query_id\ttraffic\tinclusion\n", "holds no queries"),
    ],
)
def test_bad_samples(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "queries.tsv").write_text(text)
    with pytest.raises(RankgaugeError, match=message):
        read_sample(tmp_path / "queries.tsv")


def test_the_demos_sample_is_the_one_that_its_page_draws() -> None:
    demo = Path(__file__).parents[1] / "demo"
    made = sample(demo / "log.csv", 40, columns={"id": "query_id"})
    assert (demo / "sample.tsv").read_text() == made.to_tsv()


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command_writes_the_queries_and_says_what_was_folded(command: Command, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("query,count\nRed shoes,5\nred  SHOES,4\nhat,3\nbag,1\n")
    outcome = command("sample", "log.csv", "--n", "2", "-o", "queries.tsv", cwd=tmp_path)
    assert (outcome.code, outcome.out) == (0, "")
    assert "2 of 3 queries of log.csv" in outcome.err
    said = outcome.err.replace("\n  ", "  ")
    assert "Folded 1 of 4 spellings (case, blanks and punctuation), such as Red shoes = red  SHOES" in said
    assert max(map(len, outcome.err.splitlines())) <= 80
    assert (tmp_path / "queries.tsv").read_text() == sample(tmp_path / "log.csv", 2).to_tsv()
    printed = command("sample", "log.csv", "--n", "2", "--format", "tsv", cwd=tmp_path)
    assert printed.out == (tmp_path / "queries.tsv").read_text()
    kept = command(
        "sample", "log.csv", "--n", "3", "--keep", "queries.tsv", "--format", "csv", "--table", "new", cwd=tmp_path
    )
    assert kept.out.splitlines()[0] == "query_id,query,traffic,inclusion,stratum,need"
    assert len(kept.out.splitlines()) == 2
    said = command("sample", "log.csv", "--n", "3", "--keep", "queries.tsv", cwd=tmp_path).out
    assert "2 are in queries.tsv, 1 is new to judge" in said


def test_in_a_project_the_sample_is_stored(command: Command, tmp_path: Path) -> None:
    init(tmp_path)
    (tmp_path / "log.csv").write_text("query,count,need\nRed shoes,5,to run\nhat,3,\nbag,2,\ncoat,1,\n")
    outcome = command("sample", "log.csv", "--n", "3", cwd=tmp_path)
    assert outcome.code == 0
    assert "stored as @traffic-3" in outcome.err
    project, drawn = Project(tmp_path), sample(tmp_path / "log.csv", 3)
    assert project.sample("traffic-3").rows() == drawn.rows()
    assert command("sample", "log.csv", "--n", "3", cwd=tmp_path).code == 0  # the same again is no other
    (tmp_path / "log.csv").write_text("query,count\nRED shoes,9\nhat,3\nbag,2\ncoat,1\n")
    again = command("sample", "log.csv", "--n", "3", cwd=tmp_path)
    assert again.code == 2
    assert "there is a sample 'traffic-3' of other queries; give this one another name: --name NAME" in again.err
    assert command("sample", "log.csv", "--n", "3", "--name", "june", cwd=tmp_path).code == 0
    assert project.sample("june").queries[-1] == "Red shoes"  # a known query keeps its text
    kept = command("sample", "log.csv", "--n", "3", "--name", "july", "--keep", "@june", cwd=tmp_path)
    assert "3 are in @june, 0 are new to judge" in kept.out
    with pytest.raises(RankgaugeError, match="there is no sample 'jun'; did you mean 'june'"):
        project.sample("jun")
    assert project.samples() == ["traffic-3", "june", "july"]
    assert command("store", "export", "@traffic-3", "out.tsv", cwd=tmp_path).code == 0
    assert (tmp_path / "out.tsv").read_text() == drawn.to_tsv()
    assert read_sample(tmp_path / "out.tsv").rows() == drawn.rows()
    refused = command("store", "export", "@june", "june.jsonl", cwd=tmp_path)
    assert (refused.code, "a sample of queries is written as a table; name it queries.tsv" in refused.err) == (2, True)
    outside = command("sample", tmp_path / "log.csv", "--n", "3", "--name", "x", cwd=tmp_path.parent)
    assert "--name is for a project" in outside.err


def test_a_sample_is_stored_whole_or_not_at_all_on_both_engines(store: Store) -> None:
    from rankgauge.store.store import Query, Sampled

    queries = [Query("a", "A", "need"), Query("b", "B")]
    rows = [Sampled("a", 2.0, 0.5, "traffic"), Sampled("b", 1.0, 1 / 3, "traffic")]
    number = store.add_sample("s", {"method": "traffic"}, queries, rows)
    assert store.sampled("s") == (rows, {"a": queries[0], "b": queries[1]})
    assert store.samples() == {"s": number}
    assert store.add_sample("s", {"method": "traffic"}, queries, rows[::-1]) == number
    with pytest.raises(RankgaugeError, match="of other queries"):
        store.add_sample("s", {}, [Query("c", "C")], rows[:1])
    with pytest.raises(RankgaugeError, match="cannot be stored"):
        store.add_sample("t", {}, [Query("c", "C\0")], [Sampled("c", 1.0, 1.0, "x")])
    assert (store.counts()["query"], store.counts()["sample"], store.counts()["sampled"]) == (2, 1, 2)
    run = store.begin_run("bm25", {}, sample_id=number)
    store.add_answer(run, Answer("a", ["d"], [1.0]))
    assert (store.run_of("bm25").queries, store.run_of("bm25").lacking) == (2, 1)
