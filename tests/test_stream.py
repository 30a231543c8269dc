"""Large runs are read in blocks of whole queries: every value, note, warning and error is that of the run in memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankgauge import bench, check, compare, evaluate, evaluate_runs, funnel
from rankgauge.errors import InputError, RankgaugeError, options_are
from rankgauge.explanation.funnel import funnel as funnel_of
from rankgauge.explanation.funnel.stages import first_stage
from rankgauge.matching.hits import Hits
from rankgauge.matching.joined import hits_joined
from rankgauge.matching.match import match
from rankgauge.measures import MEASURES
from rankgauge.protocol import RULES
from rankgauge.read import RunSource, read_judgments, read_run
from rankgauge.read.blocks import Streamed
from rankgauge.read.sizes import FEWEST, MOST, ROW, BlockSize, bytes_of
from rankgauge.read.sources import find_source
from rankgauge.read.spill import PREFIX, parts

Row = tuple[str, str, int, float]
CUT = {"k": "@5", "recall": "@0.4", "multiple": "@0.6"}
EVERY = [name + CUT.get(row.cutoff or "", "") for name, row in MEASURES.items()]
SIZES = ((1, 200), (13, 1 << 20), (50, 700), (10_000, 200))  # rows of a block, bytes of a piece


def made(seed: int, *, scattered: bool = False, twice: int = 0, queries: int = 24) -> tuple[str, list[Row]]:
    """Judgments as text and the rows of a run: ties, queries that one side alone has, queries without relevant ones."""
    chance = random.Random(seed)
    rows: list[Row] = []
    judged = ["lost 0 d1 1", "lost 0 d2 0"]
    for query in chance.sample(range(100), queries):
        docs = chance.sample(range(60), chance.randint(1, 40))
        scores = sorted(-chance.choice([1.0, 2.0, chance.random(), 1 + chance.random() * 1e-9]) for _ in docs)
        ranked = enumerate(zip(docs, scores, strict=True), 1)
        rows += [(f"q{query}", f"d{doc}", rank, -score) for rank, (doc, score) in ranked]
        grades = [0] if query % 5 == 0 else [-1, 0, 1, 2, 3]
        if query % 7:
            judged += [f"q{query} 0 d{doc} {chance.choice(grades)}" for doc in chance.sample(range(60), 15)]
    for row in chance.sample(rows, twice):
        rows.insert(rows.index(row) + 1, (*row[:2], row[2] + 40, chance.random()))
    if scattered:
        chance.shuffle(rows)
    chance.shuffle(judged)
    return "".join(f"{line}\n" for line in judged), rows


def trec(rows: list[Row]) -> bytes:
    return "".join(f"{query} Q0 {doc} {rank} {score!r} tag\n" for query, doc, rank, score in rows).encode()


def delimited(rows: list[Row], by: str = ",") -> bytes:
    lines = [("score", "query_id", "rank", "doc_id"), *((repr(score), q, rank, doc) for q, doc, rank, score in rows)]
    return "".join(f"{by.join(map(str, cells))}\n" for cells in lines).encode()


def json_lines(rows: list[Row]) -> bytes:
    names = ("query_id", "doc_id", "rank", "score")
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()


def columns(rows: list[Row], write: str = "write_parquet", **how: Any) -> bytes:
    import polars as pl

    names = ("query_id", "doc_id", "rank", "score")
    file = io.BytesIO()
    getattr(pl.DataFrame(rows, schema=names, orient="row"), write)(file, **how)
    return file.getvalue()


WRITTEN: dict[str, Callable[[list[Row]], bytes]] = {
    "run.txt": trec,
    "run.txt.gz": lambda rows: gzip.compress(trec(rows)),
    "run.csv": delimited,
    "run.tsv": lambda rows: delimited(rows, "\t"),
    "run.excel.csv": lambda rows: b"sep=;\r\n" + delimited(rows, ";"),
    "run.csv.gz": lambda rows: gzip.compress(delimited(rows)),
    "run.jsonl": json_lines,
    "run.parquet": lambda rows: columns(rows, row_group_size=17),
    "run.arrow": lambda rows: columns(rows, "write_ipc", record_batch_size=17),
}


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Judgments and a run as files."""

    def write(qrels: str, run: bytes | list[Row], name: str = "run.txt") -> tuple[Path, Path]:
        (tmp_path / "qrels.txt").write_text(qrels)
        (tmp_path / name).write_bytes(run if isinstance(run, bytes) else WRITTEN[name](run))
        return tmp_path / "qrels.txt", tmp_path / name

    return write


def lazy(run: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(run)


def in_memory(run: Any) -> RunSource:
    """The run as a whole, as large files were always read."""
    source = RunSource(find_source(run)._replace(small=0) if isinstance(run, Path) else run)
    source.blocks = source.blocks if isinstance(run, Path) else None
    return source


def in_blocks(run: Any, rows: int = 13, **sizes: int) -> RunSource:
    source = RunSource(run)
    source.blocks = BlockSize(above=0, rows=rows, **sizes)
    return source


def exact(value: Any) -> Any:
    """A number to its last bit; what is a text is one."""
    return value.hex() if isinstance(value, float) else value


def outcome(qrels: Path, source: RunSource, measures: Any = "nDCG@10", **rules: Any) -> Any:
    """All that can be seen of an evaluation: values to the last bit, counts, notes, warnings; or the error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = evaluate(qrels, source, measures, name="x", **rules)
        except RankgaugeError as error:
            return type(error).__mro__[-3].__name__, str(error)
    values = {str(each): [*map(exact, array.tolist())] for each, array in result.measured.items()}
    hits, peek = result.hits, result.peek
    assert peek is not None
    counts = (hits.queries, hits.answered.tolist(), hits.retrieved.tolist(), hits.left_out, hits.missing)
    listed = all(isinstance(docs, list) for docs in peek.retrieved.values())  # a run of odd lines is held as dicts
    seen = [peek.rows, peek.head, peek.whole, peek.missing, peek.extra, (peek.retrieved, peek.judged) if listed else ()]
    return values, counts, seen, result.notes, sorted(str(each.message) for each in said)


@contextmanager
def both(qrels: Path, run: Any, measures: Any = "nDCG@10", **rules: Any) -> Iterator[Any]:
    """The outcome in memory, which that of every size of blocks must equal."""
    expected = outcome(qrels, in_memory(run), measures, **rules)
    for rows, piece in SIZES:
        found = outcome(qrels, in_blocks(run, rows, piece=piece), measures, **rules)
        if len(found) > 2 and not expected[2][-1]:
            found[2][-1] = ()
        assert found == expected, (rows, piece)
    yield expected


# ---- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("name", WRITTEN)
def test_every_measure_of_every_format_is_that_of_the_run_in_memory(files: Any, name: str, scattered: bool) -> None:
    judged, rows = made([*WRITTEN].index(name), scattered=scattered, queries=12)
    qrels, run = files(judged, rows, name)
    with both(qrels, run, EVERY) as (values, counts, *_):
        assert len(values) == len(EVERY)
        assert counts[3:] == (len({row[0] for row in rows} - {*counts[0]}), 1)


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize(("rule", "value"), [(rule, value) for rule, values in RULES.items() for value in values])
def test_under_every_rule(files: Any, rule: str, value: str, scattered: bool) -> None:
    """In blocks of one row each, or of several pieces: which, goes by turns."""
    qrels, run = files(*made(5, scattered=scattered, twice=6 if rule == "duplicates" else 0, queries=12))
    protocol: Any = {rule: value}
    expected = outcome(qrels, in_memory(run), EVERY, protocol=protocol)
    turn = ([*RULES[rule]].index(value) + [*RULES].index(rule) + scattered) % 2
    rows, piece = ((1, 1 << 20), (13, 900))[turn]
    assert outcome(qrels, in_blocks(run, rows, piece=piece), EVERY, protocol=protocol) == expected


@pytest.mark.parametrize("scattered", [False, True])
def test_documents_twice_beyond_the_depth(files: Any, scattered: bool) -> None:
    qrels, run = files(*made(8, scattered=scattered, twice=5))
    for depth in (3, 1000):
        with both(qrels, run, protocol={"depth": depth}):
            pass


@pytest.mark.parametrize("dialect", ["trec_eval", "ranx", "sklearn", "gdeval", "ir_measures"])
def test_in_the_dialect_of_another_tool(files: Any, dialect: str) -> None:
    qrels, run = files(*made(9, scattered=True, queries=12))
    with both(qrels, run, dialect=dialect):
        pass


@pytest.mark.parametrize("order", ["ABA", "ABAB", "BAAB", "AABB", "ABCA"])
def test_a_query_that_comes_back_where_a_piece_begins(files: Any, order: str) -> None:
    rows = [(query, f"d{i}{rank}", rank, i + 1 / 2**rank) for i, query in enumerate(order) for rank in (1, 2, 3)]
    judged = "".join(f"{query} 0 d{i}2 1\n" for i, query in enumerate(order))
    piece = len(trec(rows[:3]))
    padded = b"".join(line.ljust(piece // 3 + 4) + b"\n" for line in trec(rows).splitlines())
    qrels, run = files(judged, padded)
    expected = outcome(qrels, in_memory(run))
    assert outcome(qrels, in_blocks(run, 1, piece=3 * (piece // 3 + 5))) == expected


def test_hits_are_the_same_arrays(files: Any) -> None:
    qrels, run = files(*made(10, scattered=True))
    whole = match(qrels, in_memory(run))
    hits = match(qrels, in_blocks(run, 5))
    for field in ("query", "rank", "first", "tied", "grade", "judgment_query", "judgment_grade", "retrieved", "judged"):
        one, other = getattr(whole, field), getattr(hits, field)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_of_a_long_run_only_its_first_rows_are_held(files: Any) -> None:
    qrels, run = files(*made(11))
    source = in_blocks(run, 20, held=50, piece=300)
    streamed = source.opened()
    assert isinstance(streamed, Streamed)
    assert streamed.through(lambda blocks: sum(map(len, blocks))) == len(streamed) == len(in_memory(run).read())
    assert 50 < len(streamed.early) < len(streamed)
    known, expected = outcome(qrels, in_blocks(run, 20, held=0)), outcome(qrels, in_memory(run))
    assert (known[0], known[1], known[2]) == (expected[0], expected[1], expected[2])


def test_blocks_are_whole_queries_of_about_the_size_asked(files: Any) -> None:
    _, run = files(*made(12))
    streamed = in_blocks(run, 30, piece=100).opened()
    assert isinstance(streamed, Streamed)
    blocks = streamed.through(lambda each: [(block.queries, len(block)) for block in each])
    assert [query for queries, _ in blocks for query in queries] == in_memory(run).read().queries
    assert len(blocks) > 5
    assert all(30 <= size < 30 + 40 for _, size in blocks[:-1])


def test_small_files_and_other_formats_are_read_as_a_whole(files: Any, tmp_path: Path) -> None:
    _, run = files(*made(13))
    assert not isinstance(RunSource(run).opened(), Streamed)
    assert isinstance(in_blocks(run).opened(), Streamed)
    known = RunSource(find_source(run))  # as `check` gives its baseline
    known.blocks = BlockSize(above=0)
    assert isinstance(known.opened(), Streamed)
    _, packed = files("", gzip.compress(columns(made(13)[1])), "run.parquet.gz")
    assert not isinstance(in_blocks(packed).opened(), Streamed)
    _, stream = files("", columns(made(13)[1], "write_ipc_stream"), "stream.arrow")
    assert not isinstance(in_blocks(stream).opened(), Streamed)
    nested = tmp_path / "run.json"
    nested.write_text('{"q1": {"d1": 1.0}}')
    assert len(in_blocks(nested).opened()) == 1
    ranked = tmp_path / "rankings.jsonl"
    ranked.write_text('{"query_id": "q1", "results": ["d1", "d2"]}\n')
    assert not isinstance(in_blocks(ranked).opened(), Streamed)


# ---- errors and warnings ---------------------------------------------------------------------------------------------


def spoilt(at: int, line: bytes, name: str = "run.txt") -> bytes:
    lines = WRITTEN[name](made(20)[1]).splitlines(keepends=True)
    lines[at:at] = [line + b"\n"]
    return b"".join(lines)


@pytest.mark.parametrize("at", [2, 150, 300])
@pytest.mark.parametrize(
    "line",
    [b"q1 Q0 d1 1", b"q1 Q0 d1 1 x tag", b"q1 Q0 d1 1 nan tag", b"q1 Q0 d1 1 1_0 tag", b"q1 Q0 d\xff 1 2 tag"],
)
def test_a_bad_line_is_named(files: Any, at: int, line: bytes) -> None:
    qrels, run = files(made(20)[0], spoilt(at, line))
    with both(qrels, run) as (_, message):
        assert message.startswith(f"{run}:{at + 1}: ")


@pytest.mark.parametrize("name", ["run.csv", "run.jsonl"])
@pytest.mark.parametrize("line", [b"1,q1", b'{"query_id": "q1"}', b'"', b",,,1", b"1,q1,1,d1,,", b"{", b"nan,q1,1,d1"])
def test_a_bad_row_of_a_table_is_named(files: Any, name: str, line: bytes) -> None:
    qrels, run = files(made(20)[0], spoilt(101, line, name), name)
    with both(qrels, run) as (_, message):
        assert message.startswith(f"{run}:102: ")


@pytest.mark.parametrize("name", ["run.parquet", "run.arrow", "lazy"])
@pytest.mark.parametrize("bad", [{"score": float("nan")}, {"score": None}, {"doc_id": None}, {"query_id": None}])
def test_a_bad_row_of_columns_is_named(files: Any, name: str, bad: dict[str, Any]) -> None:
    names = ("query_id", "doc_id", "rank", "score")
    rows = made(20)[1]
    rows[101] = tuple({**dict(zip(names, rows[101], strict=True)), **bad}.values())
    qrels, run = files(made(20)[0], WRITTEN.get(name, columns)(rows), name)
    with both(qrels, lazy(run) if name == "lazy" else run) as (_, message):
        assert message.startswith(f"{'run' if name == 'lazy' else run}, row 102: ")


@pytest.mark.parametrize("name", ["run.parquet", "run.arrow", "lazy"])
def test_a_row_of_columns_that_is_there_twice_is_named(files: Any, name: str) -> None:
    judged, rows = made(21)
    qrels, run = files(judged, WRITTEN.get(name, columns)([*rows[:200], rows[40], *rows[200:]]), name)
    with both(qrels, lazy(run) if name == "lazy" else run) as (_, message):
        assert message.startswith(f"{'run' if name == 'lazy' else run}, row 201: document ")
        assert "(first at row 41)" in message


@pytest.mark.parametrize("name", ["run.parquet", "run.arrow"])
def test_damaged_and_strange_columns(files: Any, name: str) -> None:
    judged, rows = made(20)
    whole = WRITTEN[name](rows)
    for spoilt in (whole[:-20], whole[:500] + b"\xff" * 900 + whole[1400:], whole[:8]):
        qrels, run = files(judged, spoilt, name)
        for source in (in_memory(run), in_blocks(run)):
            with pytest.raises(InputError, match=rf"run\.{name[4:]}: not a whole {name[4:]} file"):
                evaluate(qrels, source)
    floats = [(1.5, *row[1:]) for row in rows]
    with both(*files(judged, WRITTEN[name](floats), name)) as (_, message):  # type: ignore[arg-type]
        assert "the ids in column 'query_id' are Float64, such as 1.5" in message
    with both(*files(judged, WRITTEN[name]([]), name)) as (_, message):
        assert "holds no rows" in message


def test_of_columns_no_more_is_read_than_is_needed(files: Any) -> None:
    import polars as pl

    judged, rows = made(29)
    qrels, run = files(judged, rows, "run.parquet")
    seen: list[int] = []
    source = RunSource(find_source(run)._replace(watch=seen.append))
    source.blocks = BlockSize(above=0, rows=1, piece=16 * 20)
    streamed = source.opened()
    assert isinstance(streamed, Streamed)
    assert [len(piece) for piece in streamed.pieces.quick() if piece] == [20] * (len(rows) // 20) + [len(rows) % 20]
    assert sum(seen) == run.stat().st_size
    assert streamed.pieces.number() == len(rows)
    bad = pl.scan_parquet(run).with_columns(text=pl.col("doc_id").cast(pl.Int64))
    assert outcome(qrels, RunSource(bad))[:2] == outcome(qrels, in_memory(run))[:2]
    with pytest.raises(InputError, match=r"run: this LazyFrame cannot be collected \(.*\); mend its plan"):
        evaluate(qrels, bad.with_columns(doc_id=pl.col("text")))


def test_a_path_with_stars_is_a_path(files: Any) -> None:
    judged, rows = made(29)
    with both(*files(judged, columns(rows), "run[1]*.parquet")) as (values, *_):
        assert values


def test_a_document_twice_is_named_with_both_lines(files: Any) -> None:
    rows = made(21)[1]
    first, second = 40, 200
    for again in (41, second):
        for_it = [*rows[:again], rows[first], *rows[again:]]
        qrels, run = files(made(21)[0], for_it)
        with both(qrels, run) as (_, message):
            assert message.startswith(f"{run}:{again + 1}: document ")
            assert f"(first at line {first + 1})" in message


def test_of_several_documents_twice_the_one_is_named_that_is_first(files: Any) -> None:
    judged, rows = made(22, scattered=True)
    qrels, run = files(judged, [*rows, *rows[50:80:7], *rows[20:40:9]])
    with both(qrels, run) as (_, message):
        assert "(first at line 21)" in message


def test_lines_that_go_on_after_the_tag_are_one_warning(files: Any) -> None:
    qrels, run = files(made(20)[0], spoilt(70, b"q1 Q0 other 1 0.5 tag and more"))
    with both(qrels, run) as (*_, said):
        assert any("1 line has more than 6 fields, the first is line 71" in each for each in said)


@pytest.mark.parametrize("line", [b"# a comment", b"", b"q1\tQ0  other 1 0.5 tag ", b"q1 Q0 other 1 0.5 tag\r"])
def test_comments_and_blanks(files: Any, line: bytes) -> None:
    qrels, run = files(made(20)[0], spoilt(70, line))
    with both(qrels, run):
        pass


def test_what_is_said_of_a_run_that_does_not_meet_the_judgments(files: Any) -> None:
    judged, rows = made(23)
    for changed in (
        [(query.upper(), *rest) for query, *rest in rows],
        [(q, f"x{doc}", *rest) for q, doc, *rest in rows],
    ):
        qrels, run = files(judged, changed)
        with both(qrels, run):
            pass
    with both(*files(judged, b"# nothing\n")) as (_, message):
        assert "holds no rows" in message
    with both(*files(judged, rows), protocol={"missing": "error"}) as (_, message):
        assert "does not answer 1 judged query, such as 'lost'" in message


def test_what_is_wrong_with_judgments_is_said_as_in_memory(files: Any) -> None:
    judged, rows = made(24)
    line = judged.splitlines()[3]
    for more in (line, line.rpartition(" ")[0] + " 9"):
        qrels, run = files(f"{judged}{more}\n", rows)
        with both(qrels, run):
            pass


def test_quoted_fields_with_line_ends_across_blocks(files: Any) -> None:
    head, *lines = delimited(made(25)[1]).splitlines()
    body = b"".join(b'%b,"a ""note""\nin two lines"\n' % line for line in lines)
    qrels, run = files(made(25)[0], head + b",note\n" + body, "run.csv")
    with both(qrels, run) as (values, *_):
        assert values


# ---- how much memory -------------------------------------------------------------------------------------------------


def test_memory_bounds_blocks(files: Any) -> None:
    assert [bytes_of(each) for each in ("2GB", "2gib", "1.5M", " 7k ", "100", 5, "3B")] == [
        2 << 30, 2 << 30, 3 << 19, 7 << 10, 100, 5, 3,
    ]  # fmt: skip
    for bad in ("", "much", "-1GB", "0", "nan", "inf", "GB"):
        with pytest.raises(InputError, match="is not a size of memory; expected one such as 2GB"):
            bytes_of(bad)
    assert BlockSize.within(ROW * 20_000).rows == 20_000
    assert (BlockSize.within("1K").rows, BlockSize.within("1T").rows) == (FEWEST, MOST)
    assert 0 < BlockSize().wanted <= MOST
    judged, rows = made(26)
    qrels, run = files(judged, [(query, doc, rank, 1 / rank) for query, doc, rank, _ in rows])
    assert isinstance(RunSource(run).within("1K").opened(), Streamed)
    small, usual = evaluate(qrels, run, memory="1K", name="x"), evaluate(qrels, run, name="x")
    assert small["nDCG@10"].hex() == usual["nDCG@10"].hex()
    assert evaluate_runs(qrels, [run], memory=1000).first["nDCG@10"] == usual["nDCG@10"]


def test_commands_take_memory(files: Any, command: Any) -> None:
    qrels, run = files(*made(27, scattered=True))
    new, old = f"x={run}", f"old={run}"
    lines = run.read_text().splitlines(keepends=True)
    other = run.with_name("other.run")  # another one, for a gate says of equal rankings that they are, if it holds both
    kept = sorted({line.split()[0] for line in lines})[::2]
    other.write_text("".join(line for line in lines if line.split()[0] in kept))
    for arguments in (
        ["eval", str(qrels), new],
        ["compare", str(qrels), new, old],
        ["check", str(qrels), new, "--min", "nDCG@10=0"],
        ["check", str(qrels), new, "--baseline", f"old={other}", "--margin", "1"],
        ["funnel", str(qrels), "--retrieved", old, "--reranked", new],
    ):
        usual, bounded = command(*arguments), command(*arguments, "--memory", "1K")
        assert usual == bounded
        assert usual.code == 0
        assert "'lots' is not a size of memory" in command(*arguments, "--memory", "lots").err


Stages = tuple[Path, Path, Path]


@pytest.fixture
def stages(files: Any) -> Callable[..., Stages]:
    """Judgments, a retrieved run and one that reranks its first documents, with scores of its own."""

    def write(seed: int, name: str = "run.txt", extra: Sequence[Row] = (), **how: Any) -> Stages:
        judged, rows = made(seed, **how)
        qrels, second = files(judged, [*(row for row in rows if row[2] < 20), *extra], name)
        second = second.rename(second.with_name(f"second{name[3:]}"))
        return qrels, files(judged, [(query, doc, rank, -float(rank)) for query, doc, rank, _ in rows], name)[1], second

    return write


def in_groups(stages: tuple[Any, ...], memory: Any, **how: Any) -> Any:
    """All that a funnel says; where it refuses, why."""
    qrels, first, second = stages
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = funnel(qrels, retrieved={"first": first}, reranked={"x": second}, memory=memory, **how)
        except RankgaugeError as error:
            return str(error)
        words = "".join(map(str, (each.message for each in said)))
        return found.to_json(per_query=True) + words, found.to_csv()


@pytest.mark.parametrize("name", ["run.txt", "run.parquet"])
def test_a_funnel_of_large_runs_holds_a_few_queries_at_a_time(stages: Any, name: str, monkeypatch: Any) -> None:
    held: list[int] = []

    def spied(judgments: Any, name: str, run: Any, *more: Any) -> Any:
        held.append(len(run))
        return first_stage(judgments, name, run, *more)

    monkeypatch.setattr(funnel_of, "first_stage", spied)
    given = stages(32, name, scattered=True)
    for rules in ({}, {"missing": "skip"}, {"missing": "error"}, {"order": "given"}, {"ties": "given"}):
        usual = in_groups(given, None, protocol=rules)
        assert usual == in_groups(given, "1K", protocol=rules) == in_groups(given, "10K", protocol=rules)
    whole = max(held)
    held.clear()
    in_groups(given, "1K")
    assert max(held) <= 40 < whole / 5  # a query
    assert len(held) > 20
    held.clear()
    in_groups(given, "20K")
    assert 1 < len(held) < 20
    for candidates in (1, 3, 30):  # some of the reranked documents are none, then
        usual = in_groups(given, None, candidates=candidates, restrict=True)
        assert usual == in_groups(given, "1K", candidates=candidates, restrict=True)


def test_what_is_wrong_with_stages_is_said_of_all_groups_of_queries(stages: Any, tmp_path: Path) -> None:
    qrels, first, second = stages(34)
    _, rows = made(34)
    alone = next(row[0] for row in rows if f"{row[0]} " in qrels.read_text())
    (tmp_path / "none.txt").write_text("none 0 d1 1\n")
    (tmp_path / "half.run").write_bytes(trec([row for row in rows if row[0] != alone]))
    added = "".join(f"{row[0]} Q0 other{row[2]} {row[2]} 1 t\n" for row in rows)
    (tmp_path / "others.run").write_text(added)
    (tmp_path / "more.run").write_text(second.read_text() + added)
    (tmp_path / "unjudged.run").write_text("x Q0 d1 1 1 t\ny Q0 d1 1 1 t\n")
    refused = []
    for given, how in (
        ((tmp_path / "none.txt", first, second), {}),
        ((qrels, first, tmp_path / "more.run"), {}),
        ((qrels, first, second), {"candidates": 2}),
        ((qrels, first, tmp_path / "others.run"), {"restrict": True}),
        ((qrels, tmp_path / "half.run", first), {}),
        ((qrels, tmp_path / "half.run", first), {"restrict": True}),
        ((qrels, first, tmp_path / "half.run"), {"protocol": {"missing": "error"}}),
        ((qrels, first, tmp_path / "unjudged.run"), {}),
        ((qrels, first, tmp_path / "unjudged.run"), {"protocol": {"missing": "skip"}}),
    ):
        usual = in_groups(given, None, **how)
        assert isinstance(usual, str), how
        assert usual == in_groups(given, "1K", **how)
        refused.append(usual)
    assert len({*refused}) == 7
    others = tmp_path / "others.run"
    assert "NO JUDGED DOCUMENT" in in_groups((qrels, others, others), None)[0]
    assert in_groups((qrels, others, others), None) == in_groups((qrels, others, others), "1K")


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
def test_stages_in_memory_and_in_files_are_looked_at_together(stages: Any) -> None:
    qrels, first, second = stages(35)
    usual = in_groups((qrels, first, second), None)
    for given in (
        (qrels, first, read_run(second)),
        (qrels, read_run(first), second),
        (qrels, read_run(first).nested, second),
    ):
        assert in_groups(given, "1K") == usual
    names = {"a+x": second, "a+y": first, "b+x": second, "b+y": first}
    runs = {"a": first, "b": read_run(first)}
    both = [funnel(qrels, retrieved=runs, reranked=names, memory=each).to_json() for each in (None, "1K")]
    assert both[0] == both[1]


def test_hits_of_neighbouring_queries_are_hits_of_all(files: Any) -> None:
    qrels, path = files(*made(37))
    judgments, run = read_judgments(qrels), read_run(path)
    queries = sorted(judgments.queries)
    parts = [{*queries[start : start + 4]} for start in range(0, len(queries), 4)]
    each = [match(judgments.only(part), run.only(part)) for part in parts]
    whole, joined = match(judgments, run.only({*queries})), hits_joined(each)
    for name in Hits.__slots__:
        assert np.array_equal(getattr(whole, name), getattr(joined, name)), name
    assert whole.missing == 1


def test_a_funnel_says_where_no_room_is_left(stages: Any, monkeypatch: Any) -> None:
    given = stages(36)

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rankgauge.read.spill.open", full, raising=False)
    monkeypatch.setattr("rankgauge.read.spill._locked_folder", lambda: ("parts", io.BytesIO()))
    said = in_groups(given, "1K")
    assert said.startswith("parts: the rows of a large run cannot be kept there (No space left on device); set TMPDIR")
    assert said.endswith("or give more memory=")
    for options, remedy in (({"--memory"}, "or give more --memory"), ({"--depth"}, "or free some memory")):
        with options_are(options):
            assert in_groups(given, "1K").endswith(remedy)


def test_a_funnel_names_both_places_of_a_document_that_is_twice_in_a_large_run(files: Any) -> None:
    judged, rows = made(33)
    again = next(row for row in rows if f"{row[0]} 0" in judged)
    qrels, run = files(judged, [*rows, again])
    said = []
    for memory in (None, "1K"):
        with pytest.raises(RankgaugeError) as error:
            funnel(qrels, retrieved=run, reranked={"x": run}, memory=memory)
        said.append(str(error.value))
    assert said[0] == said[1]
    assert said[0].startswith(f"{run}:{len(rows) + 1}: ")


def test_functions_take_memory(files: Any, monkeypatch: Any) -> None:
    seen: list[Streamed] = []
    through = Streamed.through
    monkeypatch.setattr(Streamed, "through", lambda run, work: through(seen.append(run) or run, work))  # type: ignore[func-returns-value]
    judged, tied = made(28, scattered=True)
    rows = [(query, doc, rank, 1 / rank) for query, doc, rank, _ in tied]
    qrels, run = files(judged, rows)
    runs = {"a": run, "b": {query: {doc: rank} for query, doc, rank, _ in rows}}
    usual, bounded = (compare(qrels, runs, memory=memory).to_json() for memory in (None, "1K"))
    assert (usual, len(seen)) == (bounded, 1)
    usual, bounded = (bench({"one": (qrels, runs)}, memory=memory).to_json() for memory in (None, "1K"))
    assert (usual, len(seen)) == (bounded, 2)
    usual, bounded = (check(qrels, run, minimums={"AP": 0}, memory=memory).to_json() for memory in (None, "1K"))
    assert (usual, len(seen)) == (bounded, 3)
    for function in (compare, bench):
        with pytest.raises(InputError, match="is not a size of memory"):
            function(*((qrels, runs) if function is compare else ({"one": (qrels, runs)},)), memory="much")


# ---- temporary files -------------------------------------------------------------------------------------------------

WAITING = """
import sys, time
from rankgauge.read import RunSource, read_judgments, read_run
from rankgauge.read.sizes import BlockSize

source = RunSource(sys.argv[1])
source.blocks = BlockSize(above=0, rows=20)

def work(blocks):
    rows = 0
    for block in blocks:
        rows += len(block)
        if streamed.is_scattered and rows == len(block):
            print("reading", flush=True)
            sys.stdin.readline()
    return rows

streamed = source.opened()
print(streamed.through(work), flush=True)
"""


@contextmanager
def reader(run: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of a scattered run, with its temporary files in the folder."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", WAITING, str(run)], env=environment, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reading\n"
        try:
            yield process
        finally:
            process.kill()


def kept(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if each.name.startswith(PREFIX)]


def test_what_a_killed_process_left_is_removed_at_the_next_start(files: Any, tmp_path: Path) -> None:
    qrels, run = files(*made(30, scattered=True))
    folder = tmp_path / "temporary"
    folder.mkdir()
    with reader(run, folder) as killed:
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
    assert len(kept(folder)) == 1
    assert any((folder / kept(folder)[0]).glob("*.arrow"))
    with reader(run, folder) as living:
        assert len(kept(folder)) == 1  # its own
        asked = [sys.executable, "-m", "rankgauge", "eval", str(qrels), str(run), "--memory", "1K"]
        environment = {**os.environ, "TMPDIR": str(folder)}
        done = subprocess.run(asked, env=environment, capture_output=True, check=True, text=True)
        assert "nDCG@10" in done.stdout
        assert len(kept(folder)) == 1  # that of the living one is left alone
        out, _ = living.communicate("\n")
        assert int(out) == len(in_memory(run).read())
    assert kept(folder) == []


def test_temporary_files_are_removed_after_an_error(files: Any, tmp_path: Path, monkeypatch: Any) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    judged, rows = made(31, scattered=True)
    qrels, run = files(judged, [*rows, rows[3]])
    with pytest.raises(InputError, match="there twice"):
        evaluate(qrels, in_blocks(run))
    assert kept(tmp_path) == []
    with parts(2):
        assert len(kept(tmp_path)) == 1
    assert kept(tmp_path) == []


def test_a_disk_that_is_full_is_said(tmp_path: Path, monkeypatch: Any) -> None:
    import shutil
    import tempfile

    import polars as pl

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with parts(1) as folder:
        shutil.rmtree(folder.folder)
        with pytest.raises(InputError, match=r"the rows of scattered queries cannot be kept there .* set TMPDIR"):
            folder.add(pl.DataFrame({"query": [1]}), np.zeros(1, np.uint16))
