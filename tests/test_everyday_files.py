"""Files such as people have: each gives what its TREC twin gives, or is refused with a way out that works."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pathlib
import pickle
import re
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import zstandard

import rankgauge
from command import COMMAND, Command, Sized
from rankgauge.errors import DuplicateError, FormatError, InputError, MatchError
from rankgauge.read import RunSource, layers, sources
from rankgauge.read.trec_blocks import read_blocks

GRADES = {"q1": {"d1": 2, "d2": 0, "d3": 1}, "q2": {"d1": 0, "d4": 3, "d5": 1}, "q3": {"d6": 1}}
SCORES = {
    "q1": {"d2": 9.5, "d1": 7.25, "d9": 3.0},
    "q2": {"d5": 4.5, "d4": 4.25, "d1": 1.0},
    "q3": {"d7": 2.5, "d6": 2.0},
}
MEASURES = ["nDCG@10", "RR", "R@2"]

Nested = dict[str, dict[str, Any]]
Row = tuple[str, str, float, int]


def rows(nested: Nested) -> list[Row]:
    """Query, document, number and rank."""
    each = ((query, docs) for query, docs in nested.items())
    return [(query, doc, docs[doc], rank) for query, docs in each for rank, doc in enumerate(docs, 1)]


def table(nested: Nested, names: str, separator: str = ",", change: Callable[[Any], Any] = str) -> str:
    """Lines of the query, the document and the number, under a header where there is one."""
    lines = [separator.join((query, doc, change(number))) for query, doc, number, _ in rows(nested)]
    return "\n".join([names, *lines] if names else lines) + "\n"


def comma(number: float) -> str:
    return str(number).replace(".", ",")


def hits(docs: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A response of Elasticsearch or OpenSearch."""
    found = [{"_index": "shop", "_id": doc, "_score": score, "_source": {"title": "…"}} for doc, score in docs.items()]
    return {
        "took": 3,
        "timed_out": False,
        "_shards": {"total": 1},
        "hits": {"total": {"value": 9}, "hits": found},
    } | more


def solr(docs: dict[str, float]) -> dict[str, Any]:
    """A response of Solr."""
    found = [{"id": doc, "score": score} for doc, score in docs.items()]
    return {"responseHeader": {"status": 0, "QTime": 1}, "response": {"numFound": 9, "start": 0, "docs": found}}


def lines(items: Any) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


TREC_RUN = "".join(f"{query} Q0 {doc} {rank} {score} x\n" for query, doc, score, rank in rows(SCORES))
TREC_QRELS = "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade, _ in rows(GRADES))
QUEPID_SNAPSHOT = "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position,title\r\n" + "".join(
    f'(3/5/26) Weekly,2026-03-05T12:00:00Z,8,{query},{doc},{rank},"Great, {doc}"\r\n'
    for query, doc, _, rank in rows(SCORES)
)

# Name of the file (one that ends in / is a folder) → its content.
RUNS: dict[str, str | bytes | dict[str, str]] = {
    "semicolons.csv": table(SCORES, "query_id;doc_id;score", ";", comma),
    "excel.csv": b"\xef\xbb\xbfsep=;\r\nquery_id;doc_id;score;title, long\r\n"
    + "".join(f"{query};{doc};{comma(score)};a, b\r\n" for query, doc, score, _ in rows(SCORES)).encode(),
    "excel of three columns.csv": '"SEP=;"\n' + table(SCORES, "", ";", comma),
    "tab and comma.tsv": table(SCORES, "qid\tdocno\tscore", "\t", comma),
    "three columns.csv": table(SCORES, ""),
    "three columns.txt": table(SCORES, "", " "),
    "three columns.tsv": table(SCORES, "", "\t"),
    "three columns of semicolons.csv": table(SCORES, "", ";", comma),
    "three columns of ranks.csv": "".join(f"{query},{doc},{rank}\n" for query, doc, _, rank in rows(SCORES)),
    "six columns.csv": TREC_RUN.replace(" ", ","),
    "lists.json": json.dumps({query: list(docs) for query, docs in SCORES.items()}),
    "lists of objects.json": json.dumps(
        {query: [{"id": doc, "score": score} for doc, score in docs.items()] for query, docs in SCORES.items()}
    ),
    "lists of pairs.json": json.dumps({query: list(docs.items()) for query, docs in SCORES.items()}, indent=2),
    "columns.json": json.dumps(
        dict(zip(("query_id", "doc_id", "score"), zip(*(row[:3] for row in rows(SCORES)), strict=True), strict=True))
    ),
    "a ranking a line.jsonl": lines({"query_id": query, "results": list(docs)} for query, docs in SCORES.items()),
    "lines.json": lines({"qid": query, "pid": doc, "score": score} for query, doc, score, _ in rows(SCORES)),
    "elasticsearch/": {f"{query}.json": json.dumps(hits(docs), indent=1) for query, docs in SCORES.items()},
    "opensearch.jsonl": lines({"query_id": query, "response": hits(docs)} for query, docs in SCORES.items()),
    "a query beside.jsonl": lines(hits(docs, query_id=query) for query, docs in SCORES.items()),
    "responses.json": json.dumps({query: hits(docs) for query, docs in SCORES.items()}),
    "solr/": {f"{query}.json": json.dumps(solr(docs)) for query, docs in SCORES.items()},
    "solr.jsonl": lines({"query": query, "response": solr(docs)} for query, docs in SCORES.items()),
    "quepid snapshot.csv": QUEPID_SNAPSHOT,
    "mteb/": {
        "Shop_predictions.json": json.dumps({"mteb_model_meta": {"model_name": "m"}, "default": {"test": SCORES}})
    },
    "mteb 1.json": json.dumps(SCORES),
    "chunks.csv": table(SCORES, "question_id,chunk_id,similarity"),
    "urls.csv": table(SCORES, "query,url,relevance_score"),
    "camel.jsonl": lines(
        {"queryId": query, "productId": doc, "_score": score} for query, doc, score, _ in rows(SCORES)
    ),
    "utf-16.csv": table(SCORES, "query_id\tdoc_id\tscore", "\t").encode("utf-16"),
    "old mac.run": TREC_RUN.replace("\n", "\r"),
}
QRELS: dict[str, str | bytes | dict[str, str]] = {
    "semicolons.csv": table(GRADES, "query_id;doc_id;relevance", ";", lambda grade: f"{grade},0"),
    "three columns.csv": table(GRADES, ""),
    "three columns.txt": table(GRADES, "", " "),
    "four columns.csv": TREC_QRELS.replace(" ", ","),
    "pairs.json": json.dumps({query: list(docs.items()) for query, docs in GRADES.items()}),
    "objects.json": json.dumps(
        {query: [{"doc_id": doc, "grade": grade} for doc, grade in docs.items()] for query, docs in GRADES.items()}
    ),
    "beir/": {
        "qrels/test.tsv": table(GRADES, "query-id\tcorpus-id\tscore", "\t"),
        "qrels/train.tsv": "query-id\tcorpus-id\tscore\nq9\td1\t1\n",
        "corpus.jsonl": '{"_id": "d1", "text": "…"}\n',
    },
    "quepid.csv": table(GRADES, "query,docid,rating"),
    "ir_datasets.csv": "query_id,doc_id,relevance,iteration\n"
    + "".join(f"{query},{doc},{grade},0\n" for query, doc, grade, _ in rows(GRADES)),
    "products.csv": table(GRADES, "query,product_id,judgment"),
    "utf-16.txt": TREC_QRELS.encode("utf-16"),
}


def written(folder: Path, name: str, content: str | bytes | dict[str, str]) -> Path:
    """A file, or a folder of files."""
    path = folder / name.rstrip("/")
    for each, text in content.items() if isinstance(content, dict) else [("", content)]:
        target = path / each if each else path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the TREC twins."""
    (tmp_path / "twin.run").write_text(TREC_RUN)
    (tmp_path / "twin.qrels").write_text(TREC_QRELS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(judgments: Any, run: Any, **how: Any) -> dict[str, float]:
    result = rankgauge.evaluate(judgments, run, MEASURES, **how)
    return {measure: result[measure] for measure in MEASURES}


def printed(command: Command, *words: str | Path) -> str:
    """The values as `eval` prints them, every digit."""
    outcome = command("eval", *words, "--format", "csv", *(word for each in MEASURES for word in ("-m", each)))
    assert outcome.code == 0, outcome.err
    return outcome.out.partition("\n")[2].partition(",")[2]


def test_the_table_has_forty_files() -> None:
    assert len(RUNS) + len(QRELS) + len(REFUSED) >= 40


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_read(name: str, here: Path, command: Command, sized: Sized) -> None:
    path = written(here, name, RUNS[name])
    assert values("twin.qrels", RunSource(sized(path))) == values("twin.qrels", "twin.run")
    assert printed(command, "twin.qrels", path) == printed(command, "twin.qrels", "twin.run")


@pytest.mark.parametrize("name", QRELS)
def test_judgments_are_read(name: str, here: Path, command: Command, sized: Sized) -> None:
    path = written(here, name, QRELS[name])
    assert values(sized(path), "twin.run") == values("twin.qrels", "twin.run")
    assert printed(command, path, "twin.run") == printed(command, "twin.qrels", "twin.run")


# ---- refused by what they are, with a way that works -----------------------------------------------------------------


def workbook() -> bytes:
    """An Excel workbook with one sheet, as small as they come."""
    cells = [("query_id", "doc_id", "score"), *(row[:3] for row in rows(SCORES))]
    sheet = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>" for row in cells
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{sheet}</sheetData></worksheet>")
    return stream.getvalue()


def saved_as_csv(path: Path) -> Path:
    """What a spreadsheet does on "Save As": the cells of the sheet between commas."""
    sheet = zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml").decode()
    found = [re.findall("<t>(.*?)</t>", row) for row in re.findall("<row>(.*?)</row>", sheet)]
    return written(path.parent, "saved.csv", "".join(",".join(row) + "\n" for row in found))


def archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("my.run", TREC_RUN)
    return stream.getvalue()


def unpacked(path: Path) -> Path:
    zipfile.ZipFile(path).extractall(path.parent / "unpacked")
    return path.parent / "unpacked" / "my.run"


def database() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE run (query_id TEXT, doc_id TEXT, score REAL)")
    connection.executemany("INSERT INTO run VALUES (?, ?, ?)", [row[:3] for row in rows(SCORES)])
    connection.commit()
    return connection.serialize()


def selected(path: Path) -> Path:
    found = sqlite3.connect(path).execute("SELECT query_id, doc_id, score FROM run")
    stream = io.StringIO()
    csv.writer(stream).writerows([[name for name, *_ in found.description], *found])
    return written(path.parent, "selected.csv", stream.getvalue())


def recoded(encoding: str) -> Callable[[Path], Path]:
    """What iconv does."""
    return lambda path: written(path.parent, "recoded.run", path.read_bytes().decode(encoding))


def instead(name: str) -> Callable[[Path], Path]:
    """The file that the refusal asks for, which whoever has the one also has."""
    return lambda path: written(path.parent, name, RUNS.get(name, TREC_RUN))


def each_in_a_folder(path: Path) -> Path:
    found = {f"{query}.json": json.dumps(hits(docs)) for query, docs in SCORES.items()}
    return written(path.parent, "answers/", found)


def beside_the_query(path: Path) -> Path:
    pairs = zip(SCORES, json.loads(path.read_text())["responses"], strict=True)
    return written(path.parent, "answers.jsonl", lines({"query_id": query, "response": each} for query, each in pairs))


# Name of the file → its content, what is said, and what the way out makes of the file.
REFUSED: dict[str, tuple[str | bytes, str, Callable[[Path], Any]]] = {
    "run.xlsx": (workbook(), "is an Excel workbook or another Office file; save the sheet as CSV", saved_as_csv),
    "run.csv": (workbook(), "is an Excel workbook or another Office file; save the sheet as CSV", saved_as_csv),
    "run.pkl": (
        pickle.dumps(SCORES),
        "is a pickle, which is a program; load it in Python and give the object to rankgauge.evaluate",
        lambda path: pickle.loads(path.read_bytes()),
    ),
    "run.zip": (archive(), "is a ZIP archive; unpack it (unzip) and name the file that was in it", unpacked),
    "run.sqlite": (database(), "is an SQLite database; write a table as CSV: sqlite3 -csv -header FILE", selected),
    "run.pdf": (b"%PDF-1.7\n%\xe2\xe3\n", "is a PDF; give the table that it was made of", instead("chunks.csv")),
    "page.run": (
        "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n",
        "is a web page; fetch the file itself: the download gave a page instead",
        instead("fetched.run"),
    ),
    "pointer.run": (
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n",
        "is a pointer of Git LFS; fetch the file that it stands for: git lfs pull",
        instead("fetched.run"),
    ),
    "windows.run": (
        TREC_RUN.replace("d9", "dé").encode("windows-1252"),
        'is not UTF-8 text: "q1 Q0 d� 3 3.0 x"; convert the file first (iconv -f WINDOWS-1252 -t UTF-8)',
        recoded("windows-1252"),
    ),
    "no mark.run": (
        TREC_RUN.encode("utf-16-le"),
        "looks like UTF-16 without its first two bytes; convert it first (iconv -f UTF-16LE -t UTF-8)",
        recoded("utf-16-le"),
    ),
    "mixed line ends.run": (
        TREC_RUN.replace("\n", "\r", 2),
        "holds a carriage return, which may be the end of a line",
        lambda path: written(path.parent, "mended.run", path.read_bytes().replace(b"\r", b"\n")),
    ),
    "response.json": (
        json.dumps(hits(SCORES["q1"])),
        "is the response for one query, and which one is not said; save each as QUERY.json in a folder and name the "
        "folder, or write JSON lines of",
        each_in_a_folder,
    ),
    "searches.json": (
        json.dumps({"took": 9, "responses": [hits(docs) for docs in SCORES.values()]}),
        "holds the responses of several searches without the ids of their queries; write JSON lines of",
        beside_the_query,
    ),
    "failed.json": (
        json.dumps({"error": {"reason": "no such index [shop]"}, "status": 404}),
        'is an error of the search engine ("no such index [shop]"); search again',
        each_in_a_folder,
    ),
    "Shop.json": (
        json.dumps({"task_name": "Shop", "mteb_version": "2.1", "scores": {"test": [{"ndcg_at_10": 0.5}]}}),
        "holds the values of MTEB's measures, not a run; let MTEB save what was retrieved (prediction_folder=…)",
        instead("mteb/"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_has_a_way_that_works(name: str, here: Path, command: Command) -> None:
    content, message, mend = REFUSED[name]
    path = written(here, name, content)
    outcome = command("eval", "twin.qrels", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("error:") == 1
    assert message in outcome.err
    with pytest.raises(InputError, match=re.escape(message)):
        rankgauge.read_run(path)
    mended = mend(path)
    assert values("twin.qrels", mended) == values("twin.qrels", "twin.run")
    if isinstance(mended, Path):
        assert printed(command, "twin.qrels", mended) == printed(command, "twin.qrels", "twin.run")


def test_predictions_of_several_subsets(here: Path, command: Command) -> None:
    """The refusal names them, and what it says takes one out."""
    other = {query: {"d1": 1.0} for query in SCORES}
    content = {"mteb_model_meta": {"model_name": "m"}, "en's": {"test": SCORES, "dev": other}, "de": {"test": other}}
    folder = written(here, "it's/", {"Shop_predictions.json": json.dumps(content)})
    parts = "holds the predictions of several subsets and splits (en's, test; en's, dev; de, test)"
    for source in (folder, folder / "Shop_predictions.json"):
        outcome = command("eval", "twin.qrels", source)
        assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
        assert parts in outcome.err
    way_out = outcome.err.partition("; write one to a file: ")[2]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(way_out, shell=True, check=True, cwd=here, env=os.environ | {"PATH": path})
    assert printed(command, "twin.qrels", "en's-test.json") == printed(command, "twin.qrels", "twin.run")
    with pytest.raises(FormatError, match=re.escape(parts)) as refused:
        rankgauge.read_run(folder)
    given = eval(str(refused.value).partition("; give one as the run: ")[2], {"json": json, "pathlib": pathlib})
    assert values("twin.qrels", given) == values("twin.qrels", "twin.run")


def test_predictions_that_hold_none(here: Path) -> None:
    path = written(here, "Shop_predictions.json", json.dumps({"mteb_model_meta": {"model_name": "m"}, "en": {}}))
    with pytest.raises(FormatError, match=r"is a file of MTEB's predictions that holds none; let MTEB save them again"):
        rankgauge.read_run(path)


@pytest.mark.parametrize("address", ["https://example.org/a.run", "s3://bucket/a.run", "HTTP://example.org/qrels"])
def test_an_address_is_refused(address: str, here: Path, command: Command) -> None:
    said = f"{address}: is an address, and only Parquet is read from one; download the file first and name it"
    assert command("eval", "twin.qrels", address).err == f"error: {said}\n"
    with pytest.raises(InputError, match=re.escape(said)):
        rankgauge.evaluate(address, SCORES)


# ---- asked: every hint names what there is where it was given --------------------------------------------------------


def hint(text: str, pattern: str) -> list[str]:
    """The words of an option in a message."""
    found = re.search(pattern, text)
    assert found, text
    return found[0].split()


def test_a_rank_or_a_score_is_asked_for(here: Path, command: Command) -> None:
    path = written(here, "counts down.tsv", "q1\td2\t3\nq1\td1\t2\nq1\td9\t1\nq2\td5\t2\nq2\td4\t1\n")
    outcome = command("eval", "twin.qrels", path)
    assert outcome.code == 2
    assert "the third field may be a rank or a score; say which: --run-format msmarco for ranks" in outcome.err
    chosen = hint(outcome.err, "--run-format headless")
    two = {query: SCORES[query] for query in ("q1", "q2")}
    (here / "two.run").write_text("".join(f"{query} Q0 {doc} 1 {score} x\n" for query, doc, score, _ in rows(two)))
    assert printed(command, "twin.qrels", path, *chosen) == printed(command, "twin.qrels", "two.run")
    assert printed(command, "twin.qrels", path, "--run-format", "msmarco") != printed(command, "twin.qrels", "two.run")
    assert command("convert", path, "out.run", "--run").err.count("--from headless") == 1
    assert command("convert", path, "out.run", "--run", "--from", "headless").code == 0
    assert printed(command, "twin.qrels", "out.run") == printed(command, "twin.qrels", "two.run")
    with pytest.raises(InputError, match=r"say which: format='msmarco' for ranks, format='headless' for scores"):
        rankgauge.read_run(path)
    assert values("twin.qrels", rankgauge.read_run(path, format="headless")) == values("twin.qrels", "two.run")


@pytest.mark.parametrize("third", ["9.5 7 3", "-1 -2 -3", "3 3 1", "9 7 3", "100 50 1"])
def test_scores_are_told_from_ranks(third: str, tmp_path: Path) -> None:
    content = "".join(f"q1 d{at} {number}\n" for at, number in enumerate(third.split()))
    run = rankgauge.read_run(written(tmp_path, "a.txt", content))
    assert (run.by, list(run.nested["q1"].values())) == ("score", [float(each) for each in third.split()])


@pytest.mark.parametrize("third", ["9 10 11", "3 1 2", "2 1 0"])
def test_what_may_be_either_is_asked_for(third: str, tmp_path: Path) -> None:
    content = "".join(f"q1 d{at} {number}\n" for at, number in enumerate(third.split()))
    with pytest.raises(FormatError, match="the third field may be a rank or a score; say which"):
        rankgauge.read_run(written(tmp_path, "a.txt", content))


@pytest.mark.parametrize("third", ["1 2 3", "0 1 2", "1 5 9"])
def test_ranks_are_told_from_scores(third: str, tmp_path: Path) -> None:
    content = "".join(f"q1 d{at} {number}\n" for at, number in enumerate(third.split()))
    assert rankgauge.read_run(written(tmp_path, "a.txt", content)).by == "rank"


def test_a_column_is_asked_for(here: Path, command: Command) -> None:
    run = written(here, "my.csv", table(SCORES, "q,d,points"))
    outcome = command("eval", "twin.qrels", run)
    assert hint(outcome.err, r"--column query_id=NAME")
    chosen = [word for each in ("query_id=q", "doc_id=d", "score=points") for word in ("--column", each)]
    assert printed(command, "twin.qrels", run, *chosen) == printed(command, "twin.qrels", "twin.run")
    with pytest.raises(FormatError, match=r"say which with columns={'query_id': 'NAME'}$"):
        rankgauge.evaluate("twin.qrels", run)
    columns = {"query_id": "q", "doc_id": "d", "score": "points"}
    assert values("twin.qrels", run, columns=columns) == values("twin.qrels", "twin.run")


def test_a_column_is_named_where_it_is_and_for_a_side(here: Path, command: Command) -> None:
    qrels = written(here, "my.csv", table(GRADES, "id,thing,stars"))
    run = written(here, "run.csv", table(SCORES, "thing,id,score").replace("thing,id", "id,thing"))
    twin = printed(command, "twin.qrels", "twin.run")
    both = ["--column", "query_id=id", "--column", "doc_id=thing", "--column", "relevance=stars"]
    assert printed(command, qrels, run, *both) == twin
    assert printed(command, qrels, "twin.run", *both) == twin
    crossed = written(here, "crossed.csv", table(SCORES, "thing,id,score"))
    sides = ["--qrels-column", "query_id=id", "--qrels-column", "doc_id=thing", "--qrels-column", "relevance=stars"]
    sides += ["--run-column", "query_id=thing", "--run-column", "doc_id=id"]
    assert printed(command, qrels, crossed, *sides) == twin
    for option in ("--column", "--run-column"):
        outcome = command("eval", "twin.qrels", run, *both[:4], option, "score=scoer")
        assert outcome.code == 2
        assert f"{option} score=scoer: no file has a column 'scoer'; did you mean 'score'?" in outcome.err
    with pytest.raises(FormatError, match="no file has a column 'scoer'"):
        rankgauge.evaluate(GRADES, pl.read_csv(run), columns={"query_id": "id", "doc_id": "thing", "score": "scoer"})


def test_a_document_twice_is_asked_about(here: Path, command: Command) -> None:
    run = written(here, "twice.run", TREC_RUN + "q3 Q0 d6 3 1.0 x\n")
    outcome = command("eval", "twin.qrels", run)
    assert "or choose with --duplicates first|best\n" in outcome.err
    assert printed(command, "twin.qrels", run, "--duplicates", "first") == printed(command, "twin.qrels", "twin.run")
    with pytest.raises(DuplicateError, match=r"or choose with duplicates='first' or 'best'$"):
        rankgauge.evaluate("twin.qrels", run)
    assert values("twin.qrels", run, duplicates="first") == values("twin.qrels", "twin.run")
    refused = command("trec_eval", "twin.qrels", run)
    assert refused.code == 2
    assert refused.err.endswith("a ranking holds a document once: mend the run\n")


def test_repeated_documents_beyond_the_depth_do_not_matter(here: Path, command: Command) -> None:
    """As trec_eval has it: -M cuts the ranking before it looks for documents that are there twice."""
    run = written(here, "twice.run", TREC_RUN + "q3 Q0 d6 3 1.0 x\n")
    cut, twin = (command("trec_eval", "-M", "2", "-m", "map", "twin.qrels", each) for each in (run, "twin.run"))
    assert (cut.code, cut.out) == (0, twin.out)
    assert command("trec_eval", "-M", "3", "twin.qrels", run).code == 2
    assert printed(command, "twin.qrels", run, "--depth", "2") == printed(
        command, "twin.qrels", "twin.run", "--depth", "2"
    )
    assert (
        "twice.run:9: document 'd6' is there twice for query 'q3' (first at line 8)"
        in command("eval", "twin.qrels", run, "--depth", "3").err
    )


# ---- what they hold --------------------------------------------------------------------------------------------------


def test_the_same_in_memory() -> None:
    twin = values(GRADES, SCORES)
    for run in (
        {query: list(docs.items()) for query, docs in SCORES.items()},
        {query: [{"id": doc, "score": score} for doc, score in docs.items()] for query, docs in SCORES.items()},
        {query: list(docs) for query, docs in SCORES.items()},
        {query: hits(docs) for query, docs in SCORES.items()},
        dict(zip(("qid", "pid", "score"), zip(*(row[:3] for row in rows(SCORES)), strict=True), strict=True)),
        [{"qid": query, "url": doc, "position": rank} for query, doc, _, rank in rows(SCORES)],
        pl.DataFrame([{"qid": query, "doc": doc, "rank": rank} for query, doc, _, rank in rows(SCORES)]),
    ):
        assert values(GRADES, run) == twin


def test_a_response_is_in_the_order_that_people_saw(here: Path) -> None:
    """Sorted by price, say: there are no scores, or they do not fall."""
    answers = {"q1": hits({"d2": 1.0, "d1": 7.0}), "q2": hits({"d4": 1.0, "d5": 0.5})}
    run = rankgauge.read_run(written(here, "a.json", json.dumps(answers)))
    assert (run.by, run.nested) == ("rank", {"q1": {"d2": -1.0, "d1": -2.0}, "q2": {"d4": -1.0, "d5": -2.0}})
    unscored = {"q1": hits({"d2": None, "d1": None})}
    assert rankgauge.read_run(written(here, "b.json", json.dumps(unscored))).nested == {"q1": {"d2": -1.0, "d1": -2.0}}


def test_quepid_writes_what_is_not_rated(here: Path) -> None:
    path = written(here, "ratings.csv", table(GRADES, "query,docid,rating") + "red shoes\nq1,d9,\n")
    with pytest.warns(rankgauge.RankgaugeWarning, match=r"ratings\.csv: 2 rows have no rating, as Quepid writes it"):
        assert rankgauge.read_judgments(path).nested == GRADES
    other = written(here, "other.csv", table(GRADES, "query,docid,grade") + "q1,d9,\n")
    with pytest.raises(FormatError, match=r"other\.csv:9: relevance is empty; fill it in, or leave the row out"):
        rankgauge.read_judgments(other)


def test_ids_with_blanks_between_tabs(here: Path) -> None:
    path = written(here, "a.tsv", "red shoes\td1\t2\nred shoes\td2\t0\n")
    assert rankgauge.read_judgments(path).nested == {"red shoes": {"d1": 2.0, "d2": 0.0}}


def test_folders_that_cannot_be_told(here: Path, command: Command) -> None:
    two = {"A_predictions.json": json.dumps(SCORES), "B_predictions.json": json.dumps(SCORES)}
    folder = written(here, "two/", two)
    with pytest.raises(InputError, match=r"name one: .*A_predictions\.json or .*B_predictions\.json$"):
        rankgauge.read_run(folder)
    assert values("twin.qrels", folder / "A_predictions.json") == values("twin.qrels", "twin.run")
    data = written(here, "beir/", QRELS["beir/"])
    with pytest.raises(InputError, match="is a data set of BEIR, which holds judgments and no run; name a run"):
        rankgauge.read_run(data)
    broken = written(here, "broken/", {"q1.json": json.dumps(hits(SCORES["q1"])), "q2.json": "{"})
    with pytest.raises(InputError, match=r"broken/q2\.json: is not JSON .*expected the response for query 'q2'"):
        rankgauge.read_run(broken)


def test_a_run_that_found_nothing(here: Path, command: Command) -> None:
    outcome = command("eval", "twin.qrels", written(here, "empty.run", ""))
    assert 'is empty; expected one row a line; if the run found nothing, say so in JSON ({"q1": [], …}' in outcome.err
    nothing = written(here, "nothing.json", json.dumps({query: [] for query in GRADES}))
    assert printed(command, "twin.qrels", nothing) == "3,0.0,0.0,0.0\n"
    assert "nan" not in command("eval", "twin.qrels", nothing).out
    with pytest.raises(MatchError):
        rankgauge.evaluate("twin.qrels", nothing, protocol={"missing": "error"})


@pytest.mark.parametrize("words", [["eval"], ["compare"], ["report", "--no-charts", "--format", "json"]])
def test_one_bad_run_of_many(words: list[str], here: Path, command: Command) -> None:
    written(here, "empty.run", "")
    written(here, "other.run", "zz Q0 d1 1 1.0 x\n")
    (here / "second.run").write_text(TREC_RUN)
    name, *more = words
    runs = ["twin.run", "empty.run", "second.run", "other.run"]
    stopped = command(name, "twin.qrels", *runs, *more)
    assert (stopped.code, stopped.out) == (2, "")
    going = command(name, "twin.qrels", *runs, *more, "--keep-going")
    assert going.code == 0
    assert "warning: empty is left out: empty.run: is empty" in going.err
    assert "warning: other is left out: no query in common" in going.err
    for each in ("twin", "second"):
        assert each in going.out
    none = command("eval", "twin.qrels", "empty.run", "other.run", "--keep-going")
    assert (none.code, none.out) == (2, "")
    assert "error: no run is left" in none.err


def test_a_comparison_needs_two_that_are_left(here: Path, command: Command) -> None:
    written(here, "empty.run", "")
    outcome = command("compare", "twin.qrels", "twin.run", "empty.run", "--keep-going")
    assert outcome.code == 2
    assert "twin alone is left, and two runs are needed for a comparison" in outcome.err


# ---- hostile ---------------------------------------------------------------------------------------------------------


def test_half_a_character_is_refused_with_its_place(here: Path, sized: Sized) -> None:
    path = written(
        here, "a.jsonl", '{"qid": "q1", "pid": "d1", "score": 1}\n{"qid": "q1", "pid": "\\ud800", "score": 1}\n'
    )
    with pytest.raises(FormatError, match=r"a\.jsonl:2: the id '\\ud800' holds half a character"):
        rankgauge.read_run(sized(path))
    for content in ('{"q1": {"\\udc00": 1}}', '{"q1": ["\\udc00"]}'):
        with pytest.raises(FormatError, match=r"b\.json, query 'q1', document .*holds half a character"):
            rankgauge.read_run(sized(written(here, "b.json", content)))
    whole = written(here, "c.jsonl", '{"qid": "q1", "pid": "\\ud83d\\ude00", "score": 1}\n')
    assert rankgauge.read_run(sized(whole)).nested == {"q1": {"\U0001f600": 1.0}}


def test_a_byte_order_mark_within_a_file_is_part_of_an_id(here: Path, sized: Sized) -> None:
    """Wherever a block of the fast reader begins: it gives up where it begins with one."""
    content = "\ufeffq1 Q0 d1 1 2.0 x\n\ufeffq1 Q0 d1 1 2.0 x\n"
    assert list(rankgauge.read_run(sized(written(here, "a.run", content))).nested) == ["q1", "\ufeffq1"]
    assert read_blocks(io.BytesIO(content.encode()), "run", block=20) is None


def test_a_carriage_return_in_a_field(here: Path, sized: Sized) -> None:
    """The row reader and the fast one take it for the same."""
    path = written(here, "a.csv", 'qid,pid,score\nq1,"d\r1",2\nq1,d2,1\n')
    assert rankgauge.read_run(sized(path)).nested == {"q1": {"d\r1": 2.0, "d2": 1.0}}


ODD_TABLES: dict[str, tuple[str, str | bytes, str]] = {
    "a field too many at the end": (
        "a.csv",
        "qid,pid,score\nq1,d1,2\nq1,d2,1,",
        r"a\.csv:3: expected 3 fields .*got 4",
    ),
    "a quote that ends in another line": (
        "a.csv",
        'qid,pid,score,note\nq1,d1,2,"Great\nq1,d2,1,"b"\nq1,d3,1,"c"\n',
        r"a\.csv:2: ',' expected after '\"'",
    ),
    "a header that is no UTF-8": ("a.csv", b"qid,pid,score,n\xe9\nq1,d1,2,x\n", r"a\.csv:1: byte 16 is not UTF-8"),
    "a tab among blanks": ("a.txt", "q1 d1 2.5\nq1 \td2 1.5\n", ""),
}


@pytest.mark.parametrize("case", ODD_TABLES)
def test_both_readers_say_the_same(case: str, here: Path, sized: Sized) -> None:
    name, content, message = ODD_TABLES[case]
    path = sized(written(here, name, content))
    if message:
        with pytest.raises(FormatError, match=message):
            rankgauge.read_run(path)
    else:
        assert rankgauge.read_run(path).nested == {"q1": {"d1": 2.5, "d2": 1.5}}


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_line_without_an_end_is_refused(pack: Callable[[bytes], bytes], here: Path) -> None:
    path = written(here, "bomb", pack(b"a" * (65 << 20)))
    with pytest.raises(InputError, match=r"bomb:1: a line is longer than 64 MiB; expected one row a line"):
        rankgauge.read_run(path)


LONG, BEFORE = 1 << 12, 4_000  # more lines before it than a buffer holds
LONG_LINES = {
    "long.run": ("", "q1 Q0 {doc} {n} -{n} x\n"),
    "long.csv": ("qid,pid,score\n", "q1,{doc},-{n}\n"),
    "long.tsv": ("qid\tpid\tscore\n", "q1\t{doc}\t-{n}\n"),
    "three.txt": ("", "q1 {doc} -{n}\n"),
    "ranks.tsv": ("", "q1\t{doc}\t{n}\n"),
    "long.jsonl": ("", '{{"qid": "q1", "pid": "{doc}", "score": -{n}}}\n'),
    "old mac.run": ("", "q1 Q0 {doc} {n} -{n} x\r"),
}


@pytest.mark.parametrize("name", LONG_LINES)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_line_that_is_too_long_is_named(name: str, pack: Callable[[bytes], bytes], here: Path, sized: Sized) -> None:
    """Wherever it is, by every reader; one byte less is read."""
    header, row = LONG_LINES[name]
    before = header + "".join(row.format(doc=f"d{n}", n=n) for n in range(1, BEFORE))
    number = BEFORE + bool(header)

    def source(longer: int, *rest: str) -> sources.Source:
        long = row.format(doc="d" * (LONG + longer - len(row.format(doc="", n=BEFORE)) + 1), n=BEFORE)
        path = written(here, name, pack("".join([before, long, *rest]).encode()))
        return sources.find_source(sized(path))._replace(longest=LONG)

    last = row.format(doc="last", n=BEFORE + 1)
    for longer, *rest in ((1, ""), (1, last), (LONG * 40, last)):
        with pytest.raises(
            InputError, match=rf"{name}:{number}: a line is longer than .* MiB; expected one row a line"
        ):
            rankgauge.read_run(source(longer, *rest))
    assert len(rankgauge.read_run(source(0, last))) == BEFORE + 1


def test_json_is_one_line_however_long(here: Path, sized: Sized) -> None:
    path = written(here, "run.json", json.dumps(SCORES | {"q9": {"d" * 99: 1.0}}))
    assert len(rankgauge.read_run(sources.find_source(sized(path))._replace(longest=64))) == 9


def test_zstd_is_read_once_through(here: Path) -> None:
    """What is left of a block is not copied for every read."""
    reader = layers._ZstdReader(io.BytesIO(zstandard.ZstdCompressor().compress(b"a" * (40 << 20))))
    pieces = list(iter(lambda: reader.read(1 << 16), b""))
    assert b"".join(pieces) == b"a" * (40 << 20)
    assert isinstance(reader.pending, io.BytesIO)


ODD: dict[str, tuple[Any, str]] = {
    "bytes that are no text": ({"q1": {b"\xff": 1.0}}, r"the id b'\\xff' is not UTF-8 text"),
    "a row of such": ([("q1", b"\xff", 1.0)], r"row 1: the id b'\\xff' is not UTF-8 text"),
    "too many digits": ({"q1": {10**5000: 1.0}}, "an id is an integer of too many digits; give it as text"),
    "a complex score": (
        {"q1": {"d1": np.complex128(1 + 2j)}},
        r"run, query 'q1', document 'd1': score np.complex128\(1\+2j\) is not a number",
    ),
    "a complex score that is not the first": (
        {"q1": {"d1": 1.0, "d2": 2j}},
        "run, query 'q1', document 'd2': score 2j is not a number",
    ),
    "a complex score among many": (
        {f"q{n}": {f"d{m}": 1.0 for m in range(99)} for n in range(2, 40)} | {"q1": {"d1": 1.0, "d2": np.complex64(2)}},
        r"run, query 'q1', document 'd2': score np.complex64\(2\+0j\) is not a number",
    ),
    "a row of such a score": (
        [("q1", "d1", 1.0), ("q1", "d2", np.complex128(1 + 2j))],
        r"run, row 2: score np.complex128\(1\+2j\) is not a number \(query 'q1', document 'd2'\)",
    ),
    "a column of such": (
        {"qid": ["q1"], "pid": ["d1"], "score": np.array([2j])},
        r"run, row 1: score .*2j\)? is not a number \(query 'q1', document 'd1'\)",
    ),
    "half a character in a query": (
        {"\ud800": {"d1": 1.0}, "q1": {"d1": 1.0}},
        r"run, query '\\ud800': the id '\\ud800' holds half a character",
    ),
    "half a character in a row": (
        [("q1", "d1", 1.0), ("q1", "\ud800", 1.0)],
        r"run, row 2: the id '\\ud800' holds half a character .* \(query 'q1', document '\\ud800'\)",
    ),
    "half a character in a column": (
        {"qid": ["q1"], "pid": ["\ud800"], "score": [1.0]},
        r"run, row 1: the id '\\ud800' holds half a character .* \(query 'q1', document '\\ud800'\)",
    ),
    "half a character in a list": (
        {"q1": ["d1", "\ud800"]},
        r"run, query 'q1', document 2: the id '\\ud800' holds half a character",
    ),
    "an array": ([("q1", "d1", np.ones(2))], r"score array\(\[1., 1.\]\) is not a number"),
    "a date": ([("q1", "d1", np.datetime64("2020-01-01"))], r"score np.datetime64\('2020-01-01'\) is not a number"),
    "a huge score": ({"q1": {"d1": 10**400}}, "score 1000000.*… is not a finite number"),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")  # as outside of tests, where it is no error
def test_odd_values_in_memory(case: str) -> None:
    run, message = ODD[case]
    with pytest.raises(InputError, match=message):
        rankgauge.evaluate(GRADES, run)


HALF = {"q1": {"d1": 2.0, "\ud800": 1.0}}


@pytest.mark.parametrize(
    ("what", "act"),
    [
        ("judgments", lambda: rankgauge.read_judgments(HALF)),
        ("run", lambda: rankgauge.validate(GRADES, HALF)),
        ("run", lambda: rankgauge.explain(GRADES, HALF, "q1")),
        ("run", lambda: rankgauge.read_run(HALF).to_frame()),
        ("run", lambda: rankgauge.write(rankgauge.read_run(HALF), "out.run")),
    ],
)
@pytest.mark.usefixtures("here")
def test_half_a_character_in_a_dict_is_named_wherever_ids_are_read(what: str, act: Callable[[], Any]) -> None:
    with pytest.raises(FormatError, match=rf"^{what}, query 'q1', document '\\ud800': the id .* half a character"):
        act()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("number", [2j, np.complex128(2), "x", 10**5000], ids=["complex", "numpy", "word", "huge"])
def test_what_is_no_number_is_named_wherever_numbers_are_read(number: Any) -> None:
    run = rankgauge.read_run({"q1": {"d1": 2.0, "d2": number}})
    for act in (run.to_frame, lambda: rankgauge.write(run, "out.run"), lambda: list(run)):
        with pytest.raises(FormatError, match=r"^run, query 'q1', document 'd2': score .* is not a (finite )?number"):
            act()


def test_a_weight_beyond_all_numbers() -> None:
    with pytest.raises(InputError, match="a weight is not a number: int too large"):
        rankgauge.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}}, weights={"q1": 10**400})


@pytest.mark.parametrize("missing", ["", " ", "nan", "NaN", "<NA>"])
def test_a_missing_group_is_no_group(missing: str, here: Path, command: Command) -> None:
    path = written(here, "by.csv", f"query_id,group\nq1,head\nq2,{missing}\nq3,tail\n")
    outcome = command("eval", "twin.qrels", "twin.run", "--by", path, "--format", "csv")
    assert [line.split(",")[1] for line in outcome.out.splitlines()[1:]] == ["all", "head", "tail"]
    assert "by.csv: 1 query has no group, such as 'q2'; left out of every group" in outcome.err
    none = written(here, "none.csv", f"query_id,group\nq1,{missing}\n")
    refused = command("eval", "twin.qrels", "twin.run", "--by", none)
    assert refused.code == 2
    assert "none.csv: gives no query a group, every cell is empty; fill in the groups" in refused.err


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, ""])
def test_a_missing_group_in_memory(missing: Any) -> None:
    with pytest.warns(rankgauge.RankgaugeWarning, match="1 query has no group, such as 'q2'"):
        result = rankgauge.evaluate(GRADES, SCORES, by={"q1": "a", "q2": missing, "q3": "b"})
    assert list(result.groups) == ["a", "b"]


def test_a_baseline_through_a_pipe(here: Path) -> None:
    """The pipe is read once, though it may hold saved values or a run."""
    line = f"{' '.join(COMMAND)} check twin.qrels twin.run --baseline <(cat twin.run) --margin 0.1"
    done = subprocess.run(["bash", "-c", line], cwd=here, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("UNCHANGED: both runs return the same top 10 for all 3 judged queries. ")
