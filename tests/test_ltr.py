"""Learning-to-rank files: rows with qid: or with the sizes of queries, scores, and `rankgauge eval --ltr`."""

from __future__ import annotations

import gzip
import io
import json
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankgauge
from command import Command, Outcome, Sized
from rankgauge.errors import FormatError, InputError, RankgaugeError, RankgaugeWarning
from rankgauge.read.ltr import read_ltr
from rankgauge.read.ltr_blocks import read_label_blocks
from rankgauge.read.numbers import read_scores, read_sizes
from rankgauge.writers.ltr import write_ltr

LETOR = "2 qid:10 1:0.03 2:0.66 #docid = GX1 inc = 1\n0 qid:10 1:0.5 #docid = GX2\n1 qid:7 2:-1e-3 #docid = GX1\n"
Make = Callable[..., str]
Either = Callable[..., Any]


@pytest.fixture
def file(tmp_path: Path) -> Make:
    def make(content: bytes | str, name: str = "rows.txt") -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return make


@pytest.fixture
def either(file: Make, sized: Sized) -> Either:
    """Every file is read twice: as a small one, and as if it were too big for the plain readers."""
    return lambda *content: sized(file(*content))


def rows(path: Any, **more: Any) -> list[tuple[str, str, float]]:
    return list(read_ltr(path, **more).judgments())


class TestReading:
    def test_label_query_and_docid(self, either: Either) -> None:
        assert rows(either(LETOR)) == [("10", "GX1", 2.0), ("10", "GX2", 0.0), ("7", "GX1", 1.0)]

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.replace("\n", "\r\n"),
            lambda text: "\ufeff" + text,
            lambda text: text.replace("\n", "\n\n"),
            lambda text: "# a comment, docid = none\n\n" + text,
            lambda text: text.removesuffix("\n"),
            lambda text: text.replace(" ", "  ").replace("qid", "\tqid"),
            lambda text: text.replace(" ", "\t").replace("docid\t=\t", "docid = "),
            lambda text: "  " + text,
        ],
        ids=["crlf", "bom", "blank lines", "comment", "no last newline", "blanks", "tabs", "indented"],
    )
    def test_however_it_is_laid_out(self, change: Callable[[str], str], either: Either) -> None:
        assert rows(either(change(LETOR))) == rows(either(LETOR, "other"))

    def test_without_docids_documents_are_numbered(self, either: Either) -> None:
        text = re.sub(r"#.*", "# by hand", LETOR)
        assert rows(either(text)) == [("10", "row1", 2.0), ("10", "row2", 0.0), ("7", "row3", 1.0)]
        assert rows(either(LETOR.replace("#docid = GX2", "")))[1] == ("10", "row2", 0.0)

    def test_a_docid_twice(self, either: Either) -> None:
        with pytest.warns(
            RankgaugeWarning, match=r"docid 'GX1' is there twice for query '10'; documents are called by"
        ):
            assert rows(either(LETOR.replace("GX2", "GX1")))[1] == ("10", "row2", 0.0)

    def test_rows_of_a_query_that_are_not_together(self, either: Either) -> None:
        path = either(LETOR + "3 qid:10 1:1 #docid = GX9\n")
        with pytest.warns(RankgaugeWarning, match=r"the rows of 1 query, such as '10', are not together"):
            found = read_ltr(path)
        assert found.groups.tolist() == [3, 1]
        assert found.qid.tolist() == [0, 0, 1, 0]

    def test_sizes_are_found_beside_the_file(self, either: Either) -> None:
        for suffix in (".query", ".group", ".query.gz"):
            path = either("2 1:1\n0 2:1\n1 3:4\n", f"rank{suffix}.test")
            sizes = b"2\n1\n"
            either(gzip.compress(sizes) if suffix.endswith("gz") else sizes, f"rank{suffix}.test{suffix}")
            assert rows(path) == [("1", "row1", 2.0), ("1", "row2", 0.0), ("2", "row3", 1.0)]

    def test_sizes_are_found_beside_a_compressed_file(self, either: Either) -> None:
        either("1\r\n2\r\n\r\n", "rank.test.query")
        assert [row[0] for row in rows(either(gzip.compress(b"2 1:1\n0 2:1\n1 3:4\n"), "rank.test.gz"))] == [
            "1",
            "2",
            "2",
        ]

    def test_sizes_may_stand_beside_qids_that_agree(self, either: Either) -> None:
        path = either(LETOR)
        assert rows(path, query_sizes=either("2\n1\n", "sizes")) == rows(path)
        with pytest.raises(
            InputError, match=r"sizes: does not begin a query at row 2 of .*rows.txt where its qid: does"
        ):
            read_ltr(path, either("1\n2\n", "sizes"))

    def test_it_is_recognised_as_judgments(self, either: Either) -> None:
        assert list(rankgauge.read_judgments(either(LETOR))) == rows(either(LETOR))
        either("2\n1\n", "rank.test.query")
        assert len(rankgauge.read_judgments(either("2 1:1\n0 2:1\n1 3:4\n", "rank.test")).queries) == 2

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("2 qid:1 1:1\nhigh qid:1 1:1\n", ":2: label 'high' is not a number: \"high qid:1 1:1\"; expected LABEL"),
            ("2 qid:1 1:1\nnan qid:1 1:1\n", ":2: label 'nan' is not a finite number"),
            ("2 qid:1 1:1\n1 qid: 1:1\n", ":2: qid: names no query"),
            ("2 qid:1 1:1\n\n1 1:1\n", ':3: has no qid:, and line 1 has one: "1 1:1'),
            ("2 1:1\n\n1 qid:1 1:1\n", ":3: has a qid:, and line 1 has none"),
            ("2 qid:1 1:1\n1 0.5 0.7\n", ':2: "0.5" is neither qid:QUERY nor FEATURE:VALUE'),
            ("2 1:0.5 qid:a\n", ':1: qid: stands behind a feature: "2 1:0.5 qid:a"; expected LABEL'),
            ("2,1,0.5\n", ":1: label '2,1,0.5' is not a number"),
            ("# nothing\n\n", ": holds no rows; expected LABEL"),
            ("2 1:1\n", ": its rows have no qid:, and there is neither .*rows.txt.query nor .*rows.txt.group; name"),
        ],
    )
    def test_what_is_refused(self, text: str, message: str, either: Either) -> None:
        with pytest.raises(InputError, match=re.escape("rows.txt") + message):
            read_ltr(either(text))

    def test_sizes_that_do_not_add_up(self, either: Either) -> None:
        path = either("2 1:1\n0 2:1\n1 3:4\n")
        message = r"sizes: the sizes of its 2 queries add up to 4, and .*rows.txt holds 3 rows; do the two"
        with pytest.raises(InputError, match=message):
            read_ltr(path, either("2\n2\n", "sizes"))
        with pytest.raises(InputError, match="the sizes of its 1 query add up to 2, and "):
            read_ltr(path, either("2\n", "sizes"))


def test_a_comment_right_behind_a_query() -> None:
    """The fast reader gives up where the careful one cuts the comment off."""
    assert read_label_blocks(io.BytesIO(b"1 qid:2#7 1:1\n0 qid:2 1:1\n")) is None


row = st.tuples(
    st.sampled_from(["0", "1", "2", "4", "-1", "0.5", "1e1", "+2", "x", "nan", ""]),
    st.sampled_from(["qid:1", "qid:2", "qid:2", "qid:2#docid=7", "qid:x", "1:0.5", "qid:", "3", ""]),
    st.sampled_from(["", "1:1 2:2", "1:1 # docid = d1", "#docid=d2 x", "# docid", "2:1 #docid = é # docid = 3"]),
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(row, min_size=1, max_size=6), st.sampled_from([" ", "\t", "  "]), st.sampled_from(["\n", "\r\n", "\n\n"])
)
def test_the_fast_reader_agrees_with_the_careful_one(lines: Any, blank: str, end: str) -> None:
    """Or gives up: it never reads anything else."""
    from rankgauge.read.ltr import _careful

    text = "".join(blank.join(filter(None, line)) + end for line in lines).encode()
    fast = read_label_blocks(io.BytesIO(text))
    if fast is None:
        return
    slow = _careful(io.BytesIO(text), "rows")
    assert fast.grade.tolist() == slow.grade.tolist()
    assert (fast.query is None) == (slow.query is None)
    assert fast.queries == slow.queries
    assert fast.docs == slow.docs
    if fast.query is not None and slow.query is not None:
        assert fast.query.tolist() == slow.query.tolist()


def test_the_fast_reader_does_not_give_up_on_plain_files() -> None:
    many = b"".join(b"%d qid:%d 1:0.5 2:0.25\n" % (i % 5, i // 10) for i in range(3000))
    for text in (many, many.replace(b"\n", b"\r\n"), re.sub(rb"qid:\d+ ", b"", many), LETOR.encode()):
        assert read_label_blocks(io.BytesIO(text)) is not None


def test_the_fast_reader_gives_up_where_a_query_stands_behind_a_feature() -> None:
    assert read_label_blocks(io.BytesIO(b"2 1:0.5 qid:a\n1 1:0.25 qid:a\n")) is None


def test_big_files_are_columns(file: Make) -> None:
    for text in (LETOR, re.sub("#.*", "", LETOR)):
        found = read_ltr(file(text))
        many = replace(found, few=0).judgments()
        assert many.is_columns
        assert list(many) == list(found.judgments())


class TestScores:
    @pytest.mark.parametrize("text", ["1\n-2.5\n1e-3\n", "1\r\n-2.5\r\n1e-3", "\ufeff1 \n\n -2.5\n# end\n1e-3\n\n"])
    def test_one_number_a_line(self, text: str, file: Make) -> None:
        assert read_scores(file(text)).numbers.tolist() == [1, -2.5, 0.001]

    def test_compressed_and_saved_by_numpy(self, file: Make) -> None:
        assert read_scores(file(gzip.compress(b"1\n2\n"), "p.txt.gz")).numbers.tolist() == [1, 2]
        for array in (np.array([1, 2], np.float32), np.array([[1.0], [2.0]])):
            saved = io.BytesIO()
            np.save(saved, array)
            assert read_scores(file(saved.getvalue(), "p.npy")).numbers.tolist() == [1, 2]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("1\n2 3\n", ':2: expected one score a line, got 2 fields: "2 3"'),
            ("score\n1\n", ":1: score 'score' is not a number"),
            ("1\n\nnan\n", ":3: score 'nan' is not a finite number"),
            ("1\n1_0\n", ":2: score '1_0' is not a number"),
            ("\n\n", ": holds no scores"),
        ],
    )
    def test_what_is_refused(self, text: str, message: str, file: Make) -> None:
        with pytest.raises(InputError, match=re.escape("rows.txt") + message):
            read_scores(file(text))

    @pytest.mark.parametrize("size", ["0", "-1", "2.5"])
    def test_sizes(self, size: str, file: Make) -> None:
        with pytest.raises(FormatError, match=rf"rows.txt:3: size {size} is not a number of rows; expected a whole"):
            read_sizes(file(f"2\n\n{size}\n"))


def refuses(outcome: Outcome, message: str) -> None:
    """Exit code 2, nothing on standard output, and the message."""
    assert (outcome.code, outcome.out) == (2, "")
    assert re.search(message, outcome.err), outcome.err


class TestEval:
    def test_as_lightgbm_says(self, shared: Path, file: Make, command: Command) -> None:
        """A model that is really trained, and what LightGBM says of it."""
        lightgbm = pytest.importorskip("lightgbm")
        datasets = pytest.importorskip("sklearn.datasets")
        features, labels = datasets.load_svmlight_file(str(shared / "ltr-lightgbm/rank.train"))
        test = str(shared / "ltr-lightgbm/rank.test")
        features_of_test, labels_of_test = datasets.load_svmlight_file(test, n_features=features.shape[1])
        sizes = [np.loadtxt(shared / f"ltr-lightgbm/rank.{part}.query", dtype=int) for part in ("train", "test")]
        train = lightgbm.Dataset(features, labels, group=sizes[0])
        valid = lightgbm.Dataset(features_of_test, labels_of_test, group=sizes[1], reference=train)
        record: dict[str, Any] = {}
        parameters = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [1, 10], "verbose": -1,
                      "num_threads": 1}  # fmt: skip
        callbacks = [lightgbm.record_evaluation(record)]
        model = lightgbm.train(parameters, train, 10, valid_sets=[valid], valid_names=["v"], callbacks=callbacks)
        scores = file("".join(f"{score!r}\n" for score in model.predict(features_of_test).tolist()), "pred.txt")
        asked = [word for k in (1, 10) for word in ("-m", f"nDCG@{k}", "-m", f"AP@{k}")]
        done = command(
            "eval", "--ltr", test, "--predictions", scores, "--dialect", "lightgbm", *asked, "--format", "json"
        )
        found = json.loads(done.out)["runs"][0]["measures"]
        for k in (1, 10):
            assert found[f"nDCG@{k}"]["mean"] == pytest.approx(record["v"][f"ndcg@{k}"][-1], abs=1e-12)
            assert found[f"AP@{k}"]["mean"] == pytest.approx(record["v"][f"map@{k}"][-1], abs=1e-12)

    def test_several_models_and_all_outputs(self, file: Make, command: Command) -> None:
        path, one, two = file(LETOR), file("1\n2\n3\n", "one.txt"), file("2\n1\n3\n", "two.txt")
        done = command(
            "eval", "--ltr", path, "--predictions", one, "--predictions", f"best={two}", "-q", "--format", "csv"
        )
        lines = done.out.splitlines()
        assert [line.split(",")[:2] for line in lines[1:] if ",7," in line or ",10," in line] == [
            ["one", "10"], ["one", "7"], ["best", "10"], ["best", "7"],
        ]  # fmt: skip
        assert "1.0" in lines[-1]

    def test_models_are_compared_and_reported_as_they_are_evaluated(self, file: Make, command: Command) -> None:
        dice = np.random.default_rng(3)
        grades, qid = dice.integers(0, 4, 120), np.repeat(np.arange(20), 6)
        path = file("".join(f"{grade} qid:{query} 1:0\n" for grade, query in zip(grades, qid, strict=True)))
        words = ["--ltr", path]
        for name, noise in (("old", 3.0), ("new", 0.5)):
            scores = grades + dice.normal(size=120) * noise
            words += [
                "--predictions",
                f"{name}={file(''.join(f'{score!r}' + chr(10) for score in scores.tolist()), name)}",
            ]
        evaluated = json.loads(command("eval", *words, "--format", "json").out)["runs"]
        means = {each["run"]: each["measures"]["nDCG@10"]["mean"] for each in evaluated}
        compared = json.loads(command("compare", *words, "--format", "json").out)
        assert compared["protocol"]["ideal"] == "retrieved"
        assert {n: each["mean"]["value"] for n, each in compared["measures"]["nDCG@10"]["systems"].items()} == means
        done = command("report", *words, "--no-charts", "--format", "json")
        assert done.code == 0, done.err
        report = json.loads(done.out)
        assert {each["run"]: each["measures"]["nDCG@10"]["mean"] for each in report["runs"]} == means
        assert report["protocol"]["ideal"] == "retrieved"
        assert report["findings"] is not None

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["compare", "--ltr", "rows"], "--ltr goes with --predictions: the scores of a model for its rows"),
            (["compare", "--ltr", "rows", "--predictions", "p"], "two --predictions"),
            (["compare", "--ltr", "rows", "--predictions", "p", "--predictions", "q", "x"], "what is 'x' for?"),
            (["compare", "--ltr", "rows", "--predictions", "p", "--values", "v"], "exclude each other"),
            (["report", "--ltr", "rows"], "--ltr goes with --predictions"),
            (["report", "--ltr", "rows", "--predictions", "p", "x"], "what is 'x' for?"),
            (["report", "--ltr", "rows", "--predictions", "p", "--second", "x"], "exclude each other"),
            (["report"], "Missing argument 'QRELS'"),
            (["report", "qrels"], "Missing argument '[NAME=]RUN...'"),
        ],
    )
    def test_what_does_not_go_with_rows(self, words: list[str], message: str, command: Command) -> None:
        done = command(*words)
        assert done.code == 2
        assert message in done.err

    def test_the_ideal_is_said_to_be_the_candidates(self, file: Make, command: Command) -> None:
        words = "--ltr", file("1 qid:1 1:1\n3 qid:1 1:1\n"), "--predictions", file("2\n1\n", "p.txt")
        assert "ideal=retrieved" in command("eval", *words).out
        found = json.loads(command("eval", *words, "--format", "json").out)
        assert found["protocol"]["ideal"] == "retrieved"
        assert command("eval", *words, "--dialect", "lightgbm").code == 0

    def test_the_rule_about_scores(self, file: Make, command: Command) -> None:
        """Two scores that 32 bits cannot tell apart: with `--scores float32` beside the file they are tied."""
        path, scores = file("0 qid:1 1:1\n1 qid:1 1:1\n"), file("1.00000000001\n1.00000000002\n", "p.txt")
        words = ("eval", "--ltr", path, "--predictions", scores, "--ties", "given", "--format", "json")
        apart = command(*words)
        tied = command(*words, "--scores", "float32")
        values = [json.loads(each.out)["runs"][0]["measures"]["nDCG@10"]["mean"] for each in (apart, tied)]
        assert values == [1.0, pytest.approx(1 / np.log2(3), abs=1e-15)]

    @pytest.mark.parametrize(
        ("text", "dialect", "message"),
        [
            ("2 qid:1 1:1\n\n-1 qid:1 1:1\n", "lightgbm", ":3: label -1 is negative, and negative='error' takes none"),
            ("2 qid:1 1:1\n0.5 qid:1 1:1\n", "xgboost", ":2: label 0.5 is not a whole number, and grades='integer'"),
        ],
    )
    def test_labels_that_a_trainer_does_not_take(
        self, text: str, dialect: str, message: str, file: Make, command: Command
    ) -> None:
        path, scores = file(text), file("1\n2\n", "p.txt")
        done = command("eval", "--ltr", path, "--predictions", scores, "--dialect", dialect)
        refuses(done, re.escape("rows.txt" + message))

    def test_unequal_numbers(self, file: Make, command: Command) -> None:
        path, scores = file(LETOR), file("1\n2\n", "p.txt")
        done = command("eval", "--ltr", path, "--predictions", scores)
        refuses(done, r"p.txt: holds 2 scores, and .*rows.txt 3 rows; give one score a row")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ([], "Missing argument 'QRELS'"),
            (["qrels"], "Missing argument '[NAME=]RUN...'"),
            (["--ltr", "rows"], "--ltr goes with --predictions: the scores of a model for its rows"),
            (["--ltr", "rows", "--predictions", "p", "qrels"], "what is 'qrels' for?"),
            (["qrels", "run", "--predictions", "p"], "--predictions goes with --ltr"),
            (["--ltr", "rows", "--scores", "p"], "What --scores was is --predictions now."),
            (["qrels", "run", "--query-sizes", "p"], "--query-sizes goes with --ltr"),
            (["--ltr", "rows", "--predictions", "p", "--run-format", "trec"], "are for QRELS and RUN, not for --ltr"),
        ],
    )
    def test_what_does_not_go_together(self, words: list[str], message: str, command: Command) -> None:
        done = command("eval", *words)
        assert done.code == 2
        assert message in done.err

    def test_scores_or_rows_in_the_wrong_place(self, file: Make, command: Command) -> None:
        path, scores = file(LETOR), file("1\n2\n3\n", "p.txt")
        done = command("eval", path, scores)
        refuses(done, r"one number a line looks like a model's scores: .* --ltr ROWS --predictions")
        done = command("eval", path, path)
        refuses(done, r"holds labels and features, not a ranking; .* --ltr .*rows.txt --predictions")


class TestConvert:
    def test_letor_to_lightgbm_and_back(self, file: Make, tmp_path: Path, command: Command) -> None:
        assert command("convert", file(LETOR), tmp_path / "rank.train", "--to", "lightgbm") == (0, "", "")
        assert (tmp_path / "rank.train").read_text() == "2 1:0.03 2:0.66\n0 1:0.5\n1 2:-1e-3\n"
        assert (tmp_path / "rank.train.query").read_text() == "2\n1\n"
        assert command("convert", tmp_path / "rank.train", tmp_path / "back.letor.gz") == (0, "", "")
        back = gzip.decompress((tmp_path / "back.letor.gz").read_bytes()).decode()
        assert back == "2 qid:1 1:0.03 2:0.66\n0 qid:1 1:0.5\n1 qid:2 2:-1e-3\n"

    def test_the_data_that_lightgbm_brings_there_and_back(self, shared: Path, tmp_path: Path, command: Command) -> None:
        source = shared / "ltr-lightgbm/rank.test"
        assert command("convert", source, tmp_path / "rows.letor") == (0, "", "")
        assert command("convert", tmp_path / "rows.letor", tmp_path / "rank.test", "--to", "lightgbm") == (0, "", "")
        assert (tmp_path / "rank.test").read_text().split() == source.read_text().split()
        sizes = [(folder / "rank.test.query").read_text().split() for folder in (tmp_path, source.parent)]
        assert sizes[0] == sizes[1]

    def test_labels_as_judgments_and_judgments_as_labels(self, file: Make, tmp_path: Path, command: Command) -> None:
        assert command("convert", file(LETOR), tmp_path / "qrels.trec") == (0, "", "")
        assert (tmp_path / "qrels.trec").read_text() == "10 0 GX1 2\n10 0 GX2 0\n7 0 GX1 1\n"
        assert command("convert", tmp_path / "qrels.trec", tmp_path / "again.letor") == (0, "", "")
        assert (tmp_path / "again.letor").read_text().splitlines()[0] == "2 qid:10 # docid = GX1"
        assert rows(str(tmp_path / "again.letor")) == rows(file(LETOR))

    @pytest.mark.parametrize("name", ["run.txt", "run.jsonl", "run.json", "run.parquet"])
    @pytest.mark.parametrize("few", [0, 50_000])
    def test_equal_scores_stay_in_the_order_of_the_rows(self, name: str, few: int, file: Make, tmp_path: Path) -> None:
        """So that a trainer's dialect, whose ties are as given, says the same of the files as of the rows."""
        rows = file("1 qid:1 1:1\n3 qid:1 1:1\n2 qid:1 1:1\n0 qid:1 1:1\n", "rank.test")
        scores = file("0.5\n0.5\n0.75\n0.5\n", "p.txt")
        rankgauge.write(replace(read_ltr(rows), few=few).run(read_scores(scores)), tmp_path / name)
        run = rankgauge.read_run(tmp_path / name)
        assert list(run.nested["1"]) == ["row3", "row1", "row2", "row4"]
        ranked = 3 + 1 / np.log2(3) + 7 / 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankgaugeWarning)
            found = rankgauge.evaluate(rankgauge.read_judgments(rows), run, "nDCG@5", dialect="lightgbm")
        assert found["nDCG@5"] == pytest.approx(ranked / (7 + 3 / np.log2(3) + 1 / 2), abs=1e-12)

    def test_scores_as_a_run(self, file: Make, tmp_path: Path, command: Command) -> None:
        scores = file("1\n2\n3\n", "p.txt")
        assert command("convert", scores, tmp_path / "run.trec", "--ltr", file(LETOR), "--tag", "mine") == (0, "", "")
        text = "10 Q0 GX2 1 2.0 mine\n10 Q0 GX1 2 1.0 mine\n7 Q0 GX1 1 3.0 mine\n"
        assert (tmp_path / "run.trec").read_text() == text

    def test_what_is_refused(self, file: Make, tmp_path: Path, command: Command) -> None:
        scattered = file("2 qid:1 1:1\n1 qid:2 1:1\n0 qid:1 1:1\n", "scattered")
        done = command("convert", scattered, tmp_path / "rank", "--to", "lightgbm")
        refuses(done, "the rows of query '1' are not together, and sizes alone cannot say so")
        assert not {"rank", "rank.query"} & {path.name for path in tmp_path.iterdir()}
        done = command("convert", file(LETOR), "-", "--to", "lightgbm")
        refuses(done, "sizes of queries in a second file; name a file, or write letor")
        done = command("convert", file("q 0 a 2\n", "qrels"), tmp_path / "rank", "--to", "lightgbm")
        refuses(done, r"holds no learning-to-rank rows .* but trec")
        with pytest.raises(FormatError, match="the query id 'a#b' holds #, which begins a comment"):
            rankgauge.write(rankgauge.read_judgments({"a#b": {"d": 1}}), tmp_path / "x.letor")
        with pytest.raises(FormatError, match="letor is a format of labels and has no scores"):
            rankgauge.write(rankgauge.read_run({"q": {"d": 1}}), tmp_path / "x.letor")


class TestWriting:
    def test_what_scikit_learn_reads(self, tmp_path: Path) -> None:
        datasets = pytest.importorskip("sklearn.datasets")
        sparse = pytest.importorskip("scipy.sparse")
        dice = np.random.default_rng(3)
        features = np.where(dice.random((8, 5)) < 0.5, 0, dice.normal(size=(8, 5)))
        grades, qid = dice.integers(0, 5, 8), [3, 3, 3, 9, 9, 1, 1, 1]
        for matrix in (features, sparse.csr_matrix(features)):
            write_ltr(tmp_path / "rows.letor", grades, qid=qid, features=matrix)
            read, labels, queries = datasets.load_svmlight_file(
                str(tmp_path / "rows.letor"), n_features=5, query_id=True, zero_based=False
            )
            assert (read.toarray() == features).all()
            assert labels.tolist() == grades.tolist()
            assert queries.tolist() == qid

    def test_sizes_beside_and_documents(self, tmp_path: Path) -> None:
        write_ltr(tmp_path / "rank.gz", [1, 0, 2.5], groups=[1, 2], format="lightgbm")
        assert (tmp_path / "rank.query").read_text() == "1\n2\n"
        assert rows(str(tmp_path / "rank.gz")) == [("1", "row1", 1.0), ("2", "row2", 0.0), ("2", "row3", 2.5)]
        write_ltr(tmp_path / "rows", [1, 0], qid=["a", "b"], docs=["x", "y"])
        assert rows(str(tmp_path / "rows")) == [("a", "x", 1.0), ("b", "y", 0.0)]

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({}, "either as qid= .* or as groups="),
            ({"qid": ["a"], "groups": [1]}, "either as qid= .* or as groups="),
            ({"qid": ["a"]}, "there are 2 grades, and the queries hold 1 rows"),
            ({"groups": [3]}, "there are 2 grades, and the queries hold 3 rows"),
            ({"groups": [2], "features": [[1.0]]}, r"features have the shape \(1, 1\); expected \(2, features\)"),
            ({"groups": [2], "docs": ["x"]}, "there are 2 grades and 1 docs"),
            (
                {"groups": [2], "format": "csv"},
                "unknown format 'csv' of learning-to-rank rows; expected letor or lightgbm",
            ),
            ({"qid": ["a b", "c"]}, "the query id 'a b' is empty or holds a blank or #"),
        ],
    )
    def test_what_is_refused(self, more: dict[str, Any], message: str, tmp_path: Path) -> None:
        with pytest.raises(RankgaugeError, match=message):
            write_ltr(tmp_path / "rows", [1, 0], **more)
        assert list(tmp_path.iterdir()) == []

    def test_a_grade_that_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(FormatError, match="row 2: grade nan is not a finite number"):
            write_ltr(tmp_path / "rows", [1, float("nan")], groups=[2])
