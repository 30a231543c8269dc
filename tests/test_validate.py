"""`validate`: every code found where it is, silence where it is not, real findings in real files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import rankgauge
from rankgauge.errors import InputError
from rankgauge.read.rows import Ask
from rankgauge.read.sources import find_source
from rankgauge.read.trec import read_trec
from rankgauge.show.formats import FORMATS
from rankgauge.validation.checks import look_inverted
from rankgauge.validation.validate import CODES, SEVERITIES, Finding, validate

DEEP = "".join(f"q Q0 d{i:02} {i + 1} {50 - i} A\n" for i in range(20))
REVERSED = "".join(f"q Q0 d{i:02} {i + 1} {i} A\n" for i in range(20))

REAL_NOTES = {
    "TUW19-p3-re": [
        "RG205 a ranking is much shorter than is usual in this run: 2 queries; usual are 1000 documents.",
        "RG203 ranks start at 0: 6 of the first 6 queries.",
    ],
    "UNH_bm25": ["Ties: another order of equal scores gives nDCG@10 0.4492 to 0.4499."],
    "p_exp_rm3_bert": [],
}
# Code → judgments, run, and what the first example, the count and the effect hold.
CASES: dict[str, tuple[str, str, str, int, str]] = {
    "RG101": ("q 0 a 1\nq 0 a 1\n", "q Q0 a 1 9 A\n",
              "qrels.txt:2: query q, document a: 1, and 1 at line 1", 1, "counts once"),
    "RG102": ("q 0 a 1\nq 0 a 2\nq 0 b 1\n", "q Q0 b 1 9 A\nq Q0 a 2 8 A\n",
              "qrels.txt:2: query q, document a: 2, and 1 at line 1", 1,
              "1.0000 with the first of the grades, 1.0000 with the lowest, 0.8597 with the highest"),
    "RG103": ("q 0 a 1\np 0 a 0\n", "q Q0 a 1 9 A\n", "qrels.txt:2: query p", 1,
              "cannot exceed 0.5000; nDCG@10 is 0.5000 with them and 1.0000 without"),
    "RG104": ("q 0 a 1\nq 0 b 2\nq 0 c 3\nq 0 d 3\n", "q Q0 a 1 9 A\n", "1: 1, 2: 1, 3: 2", 4, "turned round"),
    "RG105": ("q 0 a 1.5\nq 0 b 1\n", "q Q0 b 1 9 A\n", "qrels.txt:1: grade 1.5", 1, "0.4693, and 0.6131 with the"),
    "RG201": ("q 0 a 1\n", "q Q0 a 1 7 A\nq Q0 b 2 8 A\nq Q0 a 3 9 A\n",
              "run.txt:3: query q, document a, first at line 1", 1,
              "0.6309 with the first of each, 1.0000 with the best-scored, 1.5000 if all of them count"),
    "RG202": ("q 0 a 1\n", "q Q0 a 1 1 A\nq Q0 b 2 2 A\n", "run.txt:2: query q", 1, "0.6309 by score and 1.0000"),
    "RG203": ("q 0 a 1\n", "q Q0 a 0 9 A\nq Q0 b 1 8 A\n", "run.txt:1: query q", 1, "1 of 1 query; none by score"),
    "RG204": ("q 0 a 1\n", "q Q0 a 1 9 A\nq Q0 b 2 9 A\nq Q0 c 3 8 A\n", "2 documents score 9", 1, "0.6309 to 1.0000"),
    "RG205": ("q 0 d01 1\n", DEEP + DEEP.replace("q ", "r ") + "p Q0 a 1 1 A\n", "query p: 1 document", 1, "usual"),
    "RG206": ("q 0 a 1\n", "q Q0 a 1 9 A\nq Q0 b 2 9 A\n", "run.txt:1: query q", 1, "0.6309 to 1.0000"),
    "RG207": ("q 0 d00 1\n", REVERSED, "run.txt:1: score 0", 1, "0.0000 by score and 1.0000 the other way round"),
    "RG208": ("q 0 a 1\n", "q Q0 q 1 9 A\nq Q0 a 2 8 A\n", "run.txt:1: query q", 1,
              "1 of 1 query; nDCG@10 is 0.6309 with them and 1.0000 without"),
    "RG209": ("q 0 a 1\n", "q Q0 a 1 0.900000001 A\nq Q0 b 2 0.9 A\n", "run.txt:2: score 0.9", 1,
              "nDCG@10 is 1.0000, and 0.6309 in 32 bits"),
    "RG301": ("q 0 a 1\n", "q Q0 a 1 9 A\np Q0 a 1 9 A\n", "run.txt:2: query p", 1, "left out"),
    "RG302": ("q 0 a 1\np 0 a 1\n", "q Q0 a 1 9 A\n", "qrels.txt:2: query p", 1, "0.5000 with them and 1.0000 without"),
    "RG303": ("q 0 7 1\n", "q Q0 doc-007 1 9 A\n", "run.txt:1: document '7' is judged, 'doc-007' is in the run", 1,
              "(such as 'q' or 'doc-') and the zeros after it; nDCG@10 is 0.0000, and 1.0000 then"),
}  # fmt: skip


def files(folder: Path, qrels: str, run: str) -> tuple[Path, Path]:
    (folder / "qrels.txt").write_text(qrels)
    (folder / "run.txt").write_text(run)
    return folder / "qrels.txt", folder / "run.txt"


def found(findings: list[Finding], code: str) -> Finding:
    (one,) = (finding for finding in findings if finding.code == code)
    return one


def test_every_code_has_a_case() -> None:
    assert CASES.keys() == {code for code in CODES if code < "RG4"}  # those of a project are tested with one
    assert {kind.severity for kind in CODES.values()} == set(SEVERITIES)


@pytest.mark.parametrize("code", CASES)
def test_a_finding(code: str, tmp_path: Path) -> None:
    qrels, run, example, count, effect = CASES[code]
    finding = found(validate(*files(tmp_path, qrels, run)), code)
    assert example in finding.examples[0]
    assert finding.count == count
    assert effect in finding.effect
    assert code not in [each.code for each in validate(*files(tmp_path, qrels, run), ignore=[code.lower()])]


def test_nothing_is_found_in_sound_files(tmp_path: Path) -> None:
    assert validate(*files(tmp_path, "q 0 d00 1\nq 0 d09 0\nq 0 d19 1\n", DEEP)) == []
    assert validate({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}) == []


def test_every_document_with_a_prefix_and_zeros_is_found() -> None:
    judgments = {f"q{i}": {f"doc{j:05}": 1 for j in range(30)} for i in range(10)}
    finding = found(validate(judgments, {query: {str(j): 1.0 + j for j in range(30)} for query in judgments}), "RG303")
    assert finding.count == 300
    assert "removing a prefix that one side has (such as 'q' or 'doc-') and the zeros after it" in finding.effect
    zeros = found(validate({"q": {"000": 1}}, {"q": {"0": 1.0}}), "RG303")
    assert zeros.effect.endswith("leading zeros; nDCG@10 is 0.0000, and 1.0000 then")


def test_prefixes_of_both_sides_are_named_as_the_warning_names_them() -> None:
    judgments, run = {"q": {"d1": 1, "d2": 0}}, {"q": {"doc-1": 2.0, "doc-2": 1.0}}
    finding = found(validate(judgments, run), "RG303")
    with pytest.warns(rankgauge.RankgaugeWarning, match="NO JUDGED") as warned:
        rankgauge.evaluate(judgments, run)
    words = "they match after replacing one side's prefix, with the zeros after it, by the other's"
    assert words in finding.effect
    assert str(warned[-1].message).endswith(words)


def test_queries_whose_ids_are_written_differently() -> None:
    finding = found(validate({"007": {"a": 1}}, {"7": {"a": 1.0}}), "RG303")
    assert finding.examples == ["run, row 1: query '007' is judged, '7' is in the run"]
    assert finding.effect.endswith("leading zeros; nDCG@10 is 1.0000 then")


def test_frames_and_tables_are_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("query_id,doc_id,rank,score\nq,a,1,1\nq,b,2,2\n")
    assert found(validate({"q": {"a": 1}}, path), "RG202").effect == "nDCG@10 is 0.6309 by score and 1.0000 by rank"
    path.write_text("query_id,doc_id,score\nq,a,1\nq,a,2\n")
    assert found(validate({"q": {"a": 1}}, path), "RG201").examples == [
        f"{path}:3: query q, document a, first at line 2"
    ]


def test_usual_grades_do_not_look_inverted() -> None:
    assert not look_inverted([0, 0, 0, 1, 1, 2, 3, 3, 3])
    assert not look_inverted([1.0] * 9)
    assert not look_inverted([1, 1, 1, 2, 2, 3])


def test_an_unknown_code_is_an_error() -> None:
    with pytest.raises(InputError, match=r"unknown code 'zzz'; there are RG101"):
        validate({"q": {"a": 1}}, ignore=["zzz"])


@pytest.mark.parametrize("format", [name for name, each in FORMATS.items() if not each.picture])
def test_formats_hold_everything(format: str) -> None:
    shown = validate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}).show(format)
    for text in ("RG206", "warning", CODES["RG206"].title, CODES["RG206"].remedy, "run, row 1", "0.6309 to 1.0000"):
        assert text in shown


def test_notes_below_a_table() -> None:
    judgments: Any = {"q": {f"d{i}": i / 2 for i in range(4)}}
    run = {"q": {f"d{i}": 1.0 for i in range(4)}}
    with pytest.warns(rankgauge.RankgaugeWarning, match=r"nDCG@10 is 1\.0000 only by the order of equal scores"):
        found = rankgauge.evaluate(judgments, run)
    shown = found.show(notes=True)
    assert repr(found).endswith("\n3 more: show(notes=True)")
    assert "RG105 grades have decimals, which trec_eval and ranx cut off: 2 judgments." in shown
    assert "RG206 a ranking has one score for all documents: 1 query." in shown
    upside_down = rankgauge.evaluate({"q": {"d00": 1}}, {"q": {f"d{i:02}": i for i in range(20)}})
    assert "RG207" in repr(upside_down)
    short = {str(i): {f"d{j}": -j for j in range(1 if i == 3 else 20)} for i in range(4)}
    assert "RG205" in repr(rankgauge.evaluate({str(i): {"d0": 1} for i in range(4)}, short))
    inverted = rankgauge.evaluate({"q": {"a": 1, "b": 2, "c": 3, "d": 3}}, {"q": {"c": 2, "d": 1}})
    assert "RG104" in repr(inverted)


@pytest.mark.filterwarnings("ignore:NO JUDGED DOCUMENT WAS RETRIEVED")
def test_notes_on_the_first_rows_of_a_run(tmp_path: Path) -> None:
    for code, words in {
        "RG202": "1 of 1 query",
        "RG203": "1 of 1 query",
        "RG208": "the first query",
        "RG303": "document '7' is judged, 'doc-007' is in the run; they match after removing a prefix",
    }.items():
        notes = rankgauge.evaluate(*files(tmp_path, *CASES[code][:2])).notes
        assert [note for note in notes if note.startswith(f"{code} {CODES[code].title}: {words}")], notes
    qrels, run = files(tmp_path, "q 0 a 1\n", "q Q0 a 0 1 A\np Q0 a 1 1 A\np Q0 b 2 2 A\n")
    assert rankgauge.evaluate(qrels, run).notes == [
        "RG202 the rank column contradicts the scores: 1 of 2 queries.",
        "RG203 ranks start at 0: 1 of 2 queries.",
    ]
    assert rankgauge.evaluate(qrels, run, protocol={"order": "rank"}).notes == [
        "RG203 ranks start at 0: 1 of 2 queries."
    ]
    content = read_trec(find_source(run), Ask("run"), sample=20)
    sampled = rankgauge.read_run(run)
    sampled.head, sampled.whole_head = content.head, content.whole_head
    assert rankgauge.evaluate(qrels, sampled).notes == ["RG203 ranks start at 0: the first query."]


def test_notes_on_what_is_held_as_dicts_and_frames() -> None:
    own = {"q": {"q": 2.0, "a": 1.0}}
    spelled = {"q": {"7": 1, "8": 1, "a": 1}}, {"q": {"007": 3.0, "008": 2.0, "a": 1.0}}
    padded = {"01": {"a": 1}, "q": {"a": 1}}, {"1": {"a": 1.0}, "q": {"a": 1.0}}
    for held in (lambda run: run, lambda run: rankgauge.read_run(run).to_frame()):
        itself = rankgauge.evaluate({"q": {"a": 1}}, held(own)).notes
        assert itself == ["RG208 a document has the id of its query: the first query."]
        (documents,) = rankgauge.evaluate(spelled[0], held(spelled[1])).notes
        assert documents.endswith("'7' is judged, '007' is in the run; they match after removing leading zeros.")
        (queries,) = rankgauge.evaluate(padded[0], held(padded[1])).notes
        assert queries.startswith("RG303 ids would match if they were written alike: query '01' is judged, '1' is in")


def test_many_queries_are_looked_at_in_part_first() -> None:
    judgments = {f"q{i:04}": {"d00": 1} for i in range(2_500)}
    forwards = {query: {f"d{i:02}": -float(i) for i in range(12)} for query in judgments}
    backwards = {query: {f"d{i:02}": float(i) for i in range(12)} for query in judgments}
    assert "RG207" not in repr(rankgauge.evaluate(judgments, forwards))
    shown = repr(rankgauge.evaluate(judgments, backwards))
    assert "nDCG@10 is 0.0000 by score and 1.0000 the other way round" in " ".join(shown.split())


def test_real_findings(shared: Path, tmp_path: Path) -> None:
    qrels = shared / "covid1/qrels.covid-round1.txt"
    hierarchy = found(validate(qrels, shared / "covid1/runs/yn-r1-hierarchy.gz"), "RG202")
    assert (hierarchy.count, hierarchy.effect) == (30, "nDCG@10 is 0.0294 by score and 0.3018 by rank")
    noted = rankgauge.evaluate(qrels, shared / "covid1/runs/yn-r1-hierarchy.gz").notes
    assert "RG202 the rank column contradicts the scores: 7 of the first 7 queries." in noted
    for run in ("DA_IICT_narr_qe", "UIowaS_Run2"):
        assert found(validate(qrels, shared / f"covid1/runs/{run}.gz"), "RG203").count == 30
        noted = rankgauge.evaluate(qrels, shared / f"covid1/runs/{run}.gz").notes
        assert any(note.startswith("RG203 ranks start at 0: ") for note in noted)
    cranfield = (shared / "cranfield/original/cranqrel").read_text().splitlines()
    (tmp_path / "qrels.txt").write_text("".join("{} 0 {} {}\n".format(*line.split()) for line in cranfield))
    assert [finding.code for finding in validate(tmp_path / "qrels.txt")] == ["RG104"]


def test_real_findings_of_deep_learning_2019(shared: Path) -> None:
    qrels, runs = shared / "dl19/qrels.dl19-passage.txt", shared / "dl19/runs"
    assert found(validate(qrels, runs / "input.TUW19-p3-re.gz"), "RG203").count == 200
    tied = found(validate(qrels, runs / "input.UNH_bm25.gz"), "RG204")
    assert tied.count == 101_249
    assert tied.effect == "nDCG@10 is 0.4495, and 0.4492 to 0.4499 under other orders of equal scores"
    negative = {finding.code for finding in validate(qrels, runs / "input.p_exp_rm3_bert.gz")}
    assert negative == {"RG204", "RG301"}  # scores below 0, and nothing reversed about them
    noted = {run: rankgauge.evaluate(qrels, runs / f"input.{run}.gz").notes for run in REAL_NOTES}
    assert noted == REAL_NOTES


def test_scores_that_32_bits_cannot_tell_apart_are_noted_with_both_values() -> None:
    judgments, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 0.900000001, "b": 0.9}, "r": {"a": 2.0, "b": 1.0}}
    words = (
        "RG209 scores differ only beyond 32 bits: RR is 1.0000, and 0.7500 where they are compared as 32-bit numbers."
    )
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    for held in (run, rows):
        assert rankgauge.evaluate(judgments, held, ["R@10", "RR"]).notes == [words]
        with warnings.catch_warnings(action="ignore", category=rankgauge.RankgaugeWarning):
            narrow = rankgauge.evaluate(judgments, held, "RR", protocol={"scores": "float32"})
        assert narrow["RR"] == 0.75
        assert not [note for note in narrow.notes if note.startswith("RG209")]
    assert rankgauge.evaluate(judgments, run, "R@10").notes == []
    assert rankgauge.evaluate(judgments, run, "RR", dialect="trec_eval").notes == []
    weighed = rankgauge.evaluate(judgments, run, "RR", weights={"q": 3, "r": 1}).notes
    assert "RR is 1.0000, and 0.6250 where" in weighed[0]
