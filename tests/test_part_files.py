"""Several files as one run: part files in a folder, partitions, a glob; and addresses of Parquet."""

from __future__ import annotations

import gzip
import http.server
import json
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote

import polars as pl
import pytest

import rankgauge
from command import Command
from rankgauge.errors import InputError
from rankgauge.read import RunSource
from rankgauge.read.blocks import Streamed
from rankgauge.read.part_files import size_of
from test_stream import WRITTEN, Row, columns, in_blocks, in_memory, made, outcome

SEED = 40
KINDS = [*WRITTEN, "run.txt.zst"]


def named(kind: str, at: int) -> str:
    return kind.replace("run", f"part-{at:05}")


def parted(folder: Path, rows: list[Row], kind: str = "run.parquet", size: int = 77) -> list[list[Row]]:
    """The rows as part files of so many rows, and these rows."""
    folder.mkdir(exist_ok=True, parents=True)
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    for at, part in enumerate(parts):
        data = WRITTEN[kind.removesuffix(".zst")](part)
        (folder / named(kind, at)).write_bytes(packed(data) if kind.endswith(".zst") else data)
    return parts


def packed(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    return bytes(zstandard.ZstdCompressor().compress(data))


@pytest.fixture
def given(tmp_path: Path) -> tuple[Path, list[Row], Any]:
    """Judgments, the rows of a run, and what comes of them in one file."""
    judged, rows = made(SEED)
    (tmp_path / "qrels.txt").write_text(judged)
    (tmp_path / "whole.parquet").write_bytes(columns(rows))
    return tmp_path / "qrels.txt", rows, outcome(tmp_path / "qrels.txt", in_memory(tmp_path / "whole.parquet"))


def seen(found: Any) -> Any:
    """Values, counts and notes of an outcome: not what is known of the first lines of a file."""
    return found[0], found[1], found[3], found[4]


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_one_run(given: Any, tmp_path: Path, kind: str) -> None:
    qrels, rows, expected = given
    parted(tmp_path / "parts", rows, kind)
    (tmp_path / "parts" / "_SUCCESS").touch()
    (tmp_path / "parts" / ".part-00000.crc").write_bytes(b"crc")
    for path in (tmp_path / "parts", f"{tmp_path}/parts/part-*", f"{tmp_path}/par?s/"):
        for source in (RunSource(path), in_blocks(path, 13, piece=300)):
            assert isinstance(source.opened(), Streamed)
            assert seen(outcome(qrels, source)) == seen(expected)
    assert list(rankgauge.read_run(tmp_path / "parts")) == list(rankgauge.read_run(tmp_path / "whole.parquet"))


def test_their_order_is_that_of_their_names(given: Any, tmp_path: Path) -> None:
    qrels, rows, _ = given
    parts = parted(tmp_path / "parts", rows)
    assert [query for query, *_ in rankgauge.read_run(tmp_path / "parts")] == [query for query, *_ in rows]
    for at in range(len(parts)):
        (tmp_path / "parts" / named("run.parquet", at)).rename(tmp_path / "parts" / f"part-{9 - at}.parquet")
    turned = [row for part in reversed(parts) for row in part]
    expected = {"order": "given", "ties": "given"}
    (tmp_path / "turned.parquet").write_bytes(columns(turned))
    one, other = (outcome(qrels, RunSource(tmp_path / name), protocol=expected) for name in ("parts", "turned.parquet"))
    assert seen(one) == seen(other)


def test_a_row_is_named_by_its_part(given: Any, tmp_path: Path) -> None:
    qrels, rows, _ = given
    for kind, place in (("run.parquet", ", row {}"), ("run.txt", ":{}")):
        folder = tmp_path / kind
        parted(folder, [*rows[:100], rows[3], *rows[100:]], kind)
        first, second = (f"{folder / named(kind, at)}{place.format(line)}" for at, line in ((0, 4), (1, 24)))
        for source in (RunSource(folder), in_blocks(folder, 5, piece=200)):
            assert outcome(qrels, source)[1].startswith(f"{second}: document ")
            assert f"(first at {first})" in outcome(qrels, source)[1]
    bad = tmp_path / "run.txt" / named("run.txt", 2)
    bad.write_bytes(bad.read_bytes().replace(b" Q0 ", b" ", 1))
    assert outcome(qrels, RunSource(tmp_path / "run.txt"))[1].startswith(f"{bad}:1: expected 6 fields")
    columns_of = pl.read_parquet(tmp_path / "run.parquet" / named("run.parquet", 1))
    columns_of.with_columns(score=None).write_parquet(tmp_path / "run.parquet" / named("run.parquet", 1))
    said = f"{tmp_path / 'run.parquet' / named('run.parquet', 1)}, row 1: column 'score' has no value"
    assert outcome(qrels, RunSource(tmp_path / "run.parquet"))[1].startswith(said)


def test_commands_take_parts(given: Any, tmp_path: Path, command: Command, monkeypatch: Any) -> None:
    _, rows, _ = given
    monkeypatch.chdir(tmp_path)
    parted(tmp_path / "parts", rows, "run.csv")
    parted(tmp_path / "day=3", rows)
    usual = command("eval", "qrels.txt", "parts=whole.parquet", "--format", "csv")
    for run in ("parts", "parts/", "parts=parts/part-*.csv", "parts=day=3/part-*.parquet"):
        assert command("eval", "qrels.txt", run, "--format", "csv").out == usual.out
    assert command("eval", "qrels.txt", "day=3/part-*.parquet", "--format", "csv").out.splitlines()[1:] == [
        usual.out.splitlines()[1].replace("parts", "part-*")
    ]
    assert "RG201" not in command("validate", "qrels.txt", "parts").out
    parted(tmp_path / "twice", [*rows, rows[0]], "run.csv", 100)
    last = f"twice/part-{len(rows) // 100:05}.csv:{len(rows) % 100 + 2}"
    told = command("validate", "qrels.txt", "twice").out
    assert re.search(rf"{last}: query \S+ document \S+ first at\s+twice/part-00000.csv:2", told.replace(",", ""))
    assert command("convert", "parts", "joined.parquet").code == 0
    joined, whole = (sorted(rankgauge.read_run(f"{name}.parquet")) for name in ("joined", "whole"))
    assert joined == whole


@pytest.mark.parametrize("jobs", [None, 2])
def test_how_far_it_is_is_told(given: Any, tmp_path: Path, jobs: int | None) -> None:
    qrels, rows, _ = given
    parted(tmp_path / "parts", rows)
    size = sum(each.stat().st_size for each in (tmp_path / "parts").iterdir())
    assert size_of(str(tmp_path / "parts")) == size_of(f"{tmp_path}/parts/*") == size
    assert [size_of(path) for path in ("-", "@bm25", str(tmp_path / "none"), str(tmp_path))] == [0] * 4
    seen: list[int] = []
    source = RunSource(tmp_path / "parts")
    source.watch = seen.append
    with warnings.catch_warnings(action="ignore"):
        rankgauge.evaluate_runs(qrels, {"parts": source, "other": tmp_path / "parts"}, jobs=jobs)
    assert sum(seen) == size
    assert len(seen) == (1 if jobs else len(list((tmp_path / "parts").iterdir())))


def test_judgments_in_parts(given: Any, tmp_path: Path) -> None:
    qrels, _, expected = given
    (tmp_path / "judged").mkdir()
    lines = qrels.read_bytes().splitlines(keepends=True)
    (tmp_path / "judged" / "part-0.gz").write_bytes(gzip.compress(b"".join(lines[:50])))
    (tmp_path / "judged" / "part-1").write_bytes(b"".join(lines[50:]))
    (tmp_path / "judged" / "part-2").touch()
    assert seen(outcome(tmp_path / "judged", RunSource(tmp_path / "whole.parquet"))) == seen(expected)


@pytest.mark.parametrize("write", ["write_parquet", "write_ipc"])
def test_partitions_are_columns(given: Any, tmp_path: Path, write: str) -> None:
    qrels, rows, expected = given
    frame = pl.DataFrame(rows, schema=("query_id", "doc_id", "rank", "score"), orient="row")
    for (query,), part in frame.group_by("query_id", maintain_order=True):
        folder = tmp_path / "parts" / "day=1" / f"query_id={query}"
        folder.mkdir(parents=True)
        getattr(part.drop("query_id"), write)(folder / f"any.{write[6:].replace('ipc', 'arrow')}")
    assert seen(outcome(qrels, RunSource(tmp_path / "parts"))) == seen(expected)
    assert seen(outcome(qrels, RunSource(f"{tmp_path}/parts/day=*/*/*"))) == seen(expected)
    (tmp_path / "parts" / "day=1" / "query_id=__HIVE_DEFAULT_PARTITION__").mkdir()
    for each in folder.iterdir():
        each.rename(tmp_path / "parts" / "day=1" / "query_id=__HIVE_DEFAULT_PARTITION__" / each.name)
    with pytest.raises(InputError, match=r"PARTITION__/any\.\w+, row 1: column 'query_id' has no value"):
        rankgauge.evaluate(qrels, tmp_path / "parts")


def test_what_is_no_run_in_parts_is_refused(given: Any, tmp_path: Path) -> None:
    qrels, rows, _ = given
    parted(tmp_path / "parts", rows)

    def refused(path: Any, words: str, **how: Any) -> None:
        with pytest.raises(InputError, match=words):
            rankgauge.evaluate(qrels, path, **how)

    refused(f"{tmp_path}/none-*.csv", "none-.*: no file matches; check the path")
    (tmp_path / "parts" / "other.csv").write_bytes(WRITTEN["run.csv"](rows))
    refused(tmp_path / "parts", "is a folder; name a file in it .* or several as one run, in quotes")
    refused(
        f"{tmp_path}/parts/*", r"are of several formats: \S*other.csv \(csv\) and \S*part-00000.parquet \(parquet\)"
    )
    (tmp_path / "parts" / "more.csv").write_text("query_id,doc_id,rank\nq1,d1,1\n")
    refused(f"{tmp_path}/parts/*.csv", r"have different columns: \S*more.csv \(rank\) and \S*other.csv \(score\)")
    (tmp_path / "parts" / "more.csv").write_text("query_id,doc_id,similarity\nq1,d1,1\n")
    refused(f"{tmp_path}/parts/*.csv", r"different columns: \S*more.csv \(similarity\) and \S*other.csv \(score\)")
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "part-0.jsonl").write_text('{"query_id": "q1", "results": ["d1", "d2"]}\n')
    refused(tmp_path / "lists", r"part-0.jsonl: in several files a run is rows of trec, csv, .* by itself")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "part-0").touch()
    refused(tmp_path / "empty", "is empty, as all 1 files of it are")
    for lost in ("part-1.parquet", "part-1.csv.gz"):
        folder = tmp_path / f"with {lost}"
        folder.mkdir()
        (folder / "part-0.csv").write_bytes(WRITTEN["run.csv"](rows))
        (folder / lost).touch()
        refused(folder, f"{lost}: is empty, which no whole file of its kind is; fetch or write it again")
    refused({"q": {"d": 1.0}}, "is several files or an address", weights=f"{tmp_path}/parts/*.csv")


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet"])
def test_parts_whose_scores_are_in_other_columns_are_refused(name: str, tmp_path: Path) -> None:
    """A score and a similarity are on two scales; how a name is written makes no difference."""
    import polars as pl

    def write(part: int, column: str) -> None:
        frame = pl.DataFrame({"query_id": [f"q{part}"], "doc_id": ["d"], column: [1.0]})
        getattr(frame, {"jsonl": "write_ndjson"}.get(name, f"write_{name}"))(tmp_path / f"part-{part}.{name}")

    write(1, "score")
    write(2, "Score")
    assert len(rankgauge.read_run(tmp_path)) == 2
    write(2, "similarity")
    with pytest.raises(
        InputError, match=r"part-1.\w+ \(score\) and \S*part-2.\w+ \(similarity\); give each run by itself"
    ):
        rankgauge.read_run(tmp_path)
    assert len(rankgauge.read_run(tmp_path / f"part-2.{name}")) == 1


def test_folders_of_other_tools_keep_their_meaning(tmp_path: Path) -> None:
    (tmp_path / "part-1.json").write_text('{"hits": {"hits": [{"_id": "d1", "_score": 2.0}]}}')
    assert list(rankgauge.read_run(tmp_path)) == [("part-1", "d1", 2.0)]
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    assert list(rankgauge.read_judgments(tmp_path)) == [("q1", "d1", 1.0)]


# ---- addresses -------------------------------------------------------------------------------------------------------


class Ranges(http.server.BaseHTTPRequestHandler):
    """A server of one file, of which ranges can be asked for."""

    protocol_version = "HTTP/1.1"
    data: ClassVar[bytes] = b""
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        start, end = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "bytes=0-").groups()  # type: ignore[union-attr]
        first = int(start) if start else max(0, len(self.data) - int(end))
        body = self.data[first : int(end) + 1 if start and end else len(self.data)]
        there = self.path.startswith("/run.parquet")
        self.send_response(206 if there else 404)
        self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{len(self.data)}")
        self.send_header("Content-Length", str(len(body) if there else 0))
        self.send_header("Last-Modified", "Tue, 01 Jan 2030 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(body if there else b"")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def served() -> Iterator[Callable[[bytes], str]]:
    """The address of bytes."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def at(data: bytes) -> str:
        Ranges.data = data
        return f"http://127.0.0.1:{server.server_port}"

    yield at
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_address_of_parquet_is_read(given: Any, served: Any, command: Command) -> None:
    qrels, rows, expected = given
    address = served(columns(rows, row_group_size=17))
    assert seen(outcome(qrels, RunSource(f"{address}/run.parquet"))) == seen(expected)
    signed = f"{address}/run.parquet?signature=secret"
    assert seen(outcome(qrels, RunSource(signed))) == seen(expected)
    assert "/run.parquet?signature=secret" in Ranges.asked
    told = command("eval", str(qrels), f"{address}/none.parquet?signature=secret")
    assert told.code == 2
    assert told.err.startswith(f"error: {address}/none.parquet: cannot be read from there (")
    assert told.err.endswith("; check the address and the rights to it\n")
    assert (told.err.count("\n"), "secret" in told.err) == (1, False)
    served(b"no Parquet at all, but long enough for its end to be looked at")
    told = command("eval", str(qrels), f"{address}/run.parquet")
    assert (told.code, told.err.count("\n")) == (2, 1)


class Bucket(http.server.BaseHTTPRequestHandler):
    """What S3, Google and Azure have in common: keys under a bucket, listed by prefix; ranges of an object."""

    protocol_version = "HTTP/1.1"
    objects: ClassVar[dict[str, bytes]] = {}
    signed: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        self.signed.add(self.headers.get("Authorization", "").partition(" ")[0])
        path, _, asked = self.path.partition("?")
        key = unquote(path).removeprefix("/devstoreaccount1").removeprefix("/bucket/")
        if "list-type=2" in asked:
            return self._answer(200, self._listed(parse_qs(asked)["prefix"][0]))
        if key not in self.objects:
            return self._answer(404, b"")
        data, wanted = self.objects[key], re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if wanted is None:
            return self._answer(200, data)
        start, end = wanted.groups()
        first = int(start) if start else max(0, len(data) - int(end))
        part = data[first : int(end) + 1 if start and end else len(data)]
        return self._answer(206, part, **{"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(data)}"})

    def do_HEAD(self) -> None:
        self.do_GET()

    def _listed(self, prefix: str) -> bytes:
        rows = "".join(
            f"<Contents><Key>{key}</Key><LastModified>2030-01-01T00:00:00.000Z</LastModified><Size>{len(data)}</Size>"
            "</Contents>"
            for key, data in self.objects.items()
            if key.startswith(prefix)
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>".encode()

    def _answer(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        known = {"Content-Length": str(len(body)), "ETag": '"x"', "Last-Modified": "Tue, 01 Jan 2030 00:00:00 GMT"}
        for name, value in (known | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, bytes]]:
    """The objects of a bucket, which the environment says is here."""
    Bucket.objects, Bucket.signed = {}, set()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    account = {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    (tmp_path / "account.json").write_text(json.dumps(account))
    for name, value in {
        "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "here", "AWS_ALLOW_HTTP": "true",
        "GOOGLE_SERVICE_ACCOUNT": str(tmp_path / "account.json"),
        "AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": url,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    yield Bucket.objects
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("scheme", ["s3", "s3a", "gs", "az"])
def test_the_stores_of_three_clouds_are_read(given: Any, bucket: dict[str, bytes], scheme: str) -> None:
    """The same to the last bit as the file; Azure lists otherwise, of which one file is read."""
    qrels, rows, expected = given
    bucket["run.parquet"] = columns(rows, row_group_size=17)
    assert seen(outcome(qrels, RunSource(f"{scheme}://bucket/run.parquet"))) == seen(expected)
    assert {"s3": "AWS4-HMAC-SHA256", "s3a": "AWS4-HMAC-SHA256", "gs": "", "az": "SharedKey"}[scheme] in Bucket.signed


@pytest.mark.parametrize("scheme", ["s3", "gs"])
@pytest.mark.parametrize("within", ["runs/*.parquet", "runs/"])
def test_a_folder_at_an_address(given: Any, bucket: dict[str, bytes], scheme: str, within: str) -> None:
    qrels, rows, expected = given
    half = len(rows) // 2
    bucket["runs/part-1.parquet"], bucket["runs/_SUCCESS"] = columns(rows[:half]), b""
    bucket["runs/part-2.parquet" if "*" in within else "runs/day=1/part-2.parquet"] = columns(rows[half:])
    assert seen(outcome(qrels, RunSource(f"{scheme}://bucket/{within}"))) == seen(expected)


def test_what_is_not_at_an_address_is_said(given: Any, bucket: dict[str, bytes], command: Command) -> None:
    qrels, rows, _ = given
    bucket["run.parquet"] = columns(rows)
    assert command("eval", str(qrels), "s3://bucket/run.parquet").code == 0
    for address, words in (
        ("s3://bucket/none.parquet", "s3://bucket/none.parquet: cannot be read from there (object-store error: Object"),
        ("s3://bucket/none/", "s3://bucket/none/: cannot be read from there (no Parquet file is there); check the"),
        ("s3://bucket/runs", "only Parquet is read from one (a folder of it: s3://bucket/runs/); download the file"),
        ("s3://bucket/a.run", "s3://bucket/a.run: is an address, and only Parquet is read from one; download the file"),
    ):
        told = command("eval", str(qrels), address)
        assert (told.code, told.err.count("\n"), words in told.err) == (2, 1, True), told.err
        assert "run.parquet" not in told.err  # what polars asked for there before


def test_secrets_in_an_address_are_not_said(command: Command, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    told = command("eval", os.fspath(tmp_path / "qrels.txt"), "https://me:secret@example.org/a.run?key=secret")
    assert told.err.startswith("error: https://example.org/a.run: is an address, and only Parquet is read from one")
    assert "secret" not in told.err
