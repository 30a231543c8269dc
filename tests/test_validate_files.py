"""`validate` on files of every kind: what a plain reading finds, by either reader, with the lines that it stands on."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest

from rankgauge.errors import InputError, MeasureError
from rankgauge.read.sources import Source, find_source
from rankgauge.validation import table
from rankgauge.validation.validate import Finding, validate

Line = tuple[int, str, str, int, float]
FAST = table._fast_run


def random_run(chance: random.Random) -> list[str]:
    """Lines of a run in which everything is wrong at times."""
    rows = []
    for query in ("q1", "q2", "d3", "04")[: chance.randint(1, 4)]:
        docs = chance.sample([f"d{i}" for i in range(30)], chance.choice([1, 2, 25, 30]))
        each = chance.choice([1, 1, 1, 40])  # documents of one rank
        start, flat, rising = chance.choice([0, 1, 1]), chance.random() < 0.2, chance.random() < 0.3
        for place, doc in enumerate(docs):
            score = 5.0 if flat else (place if rising else len(docs) - place) * chance.choice([1, 1, 0.5])
            rows.append(f"{query} Q0 {doc} {start + place // each} {score} A")
    rows += chance.sample(rows, chance.choice([0, 0, 1]))
    if chance.random() < 0.3:
        chance.shuffle(rows)
    return rows


def ragged(rows: list[str], chance: random.Random) -> list[str]:
    """The same rows with blanks, comments and empty lines where people put them."""
    lines = []
    for row in rows:
        lines += chance.choice([[], [], [""], ["# a comment"], ["  "]])
        lines.append(chance.choice(["", " ", "\t"]) + row.replace(" ", chance.choice([" ", "\t", "  "])))
    return lines


def choose_reader(monkeypatch: pytest.MonkeyPatch, fast: bool) -> Callable[[Path], Source]:
    """Files as sources for the fast reader, or for the line reader."""
    monkeypatch.setattr(table, "_fast_run", FAST if fast else lambda file: None)
    return lambda path: find_source(path)._replace(small=-1 if fast else 1 << 20)


def parsed(lines: list[str]) -> list[Line]:
    fields = [(number, line.split()) for number, line in enumerate(lines, 1)]
    return [(n, f[0], f[2], int(f[3]), float(f[4])) for n, f in fields if f and not f[0].startswith("#")]


def expected(rows: list[Line]) -> Iterator[tuple[str, int, int]]:
    """Code, count, and the line of the first example, found one row at a time."""
    queries: dict[str, list[Line]] = {}
    for row in rows:
        queries.setdefault(row[1], []).append(row)
    seen: set[tuple[str, str]] = set()
    again = [row[0] for row in rows if row[1:3] in seen or seen.add(row[1:3])]  # type: ignore[func-returns-value]
    rises, zeros, constant, itself, tied, ties = [], [], [], [], 0, []
    for query, own in queries.items():
        by_rank = sorted(own, key=lambda row: row[3])
        rises += [b[0] for a, b in pairwise(by_rank) if b[4] > a[4] and b[3] > a[3]][:1]
        zeros += [row[0] for row in own if row[3] == 0][:1]
        counts = Counter(row[4] for row in own)
        tied += len(own) - len(counts)
        ties += [row[0] for row in own if counts[row[4]] > 1][:1]
        constant += [own[0][0]] * (len(own) > 1 and len(counts) == 1)
        itself += [row[0] for row in own if row[2] == query][:1]
    usual = median(map(len, queries.values()))
    short = [own[-1][0] for own in queries.values() if len(own) < 0.1 * usual]
    found = {"RG201": again, "RG202": rises, "RG203": zeros, "RG205": short, "RG206": constant, "RG208": itself}
    yield from ((code, len(lines), lines[0]) for code, lines in found.items() if lines)
    if tied:
        yield "RG204", tied, ties[0]


@pytest.mark.parametrize("fast", [False, True], ids=["line reader", "fast reader"])
@pytest.mark.parametrize("untidy", [False, True], ids=["regular", "ragged"])
def test_what_a_plain_reading_finds(fast: bool, untidy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = choose_reader(monkeypatch, fast)
    path, codes = tmp_path / "a.run", set()
    for seed in range(60):
        chance = random.Random(seed)
        lines = random_run(chance)
        lines = ragged(lines, chance) if untidy else lines
        path.write_text("\n".join(lines) + chance.choice(["\n", ""]))
        found = [each for each in validate({"q1": {"d1": 1}}, source(path)) if each.code.startswith("RG2")]
        shown = {(each.code, each.count, int(each.examples[0].split(":")[1])) for each in found}
        wanted = set(expected(parsed(lines)))
        assert {each for each in shown if each[0] != "RG207"} == wanted
        codes |= {code for code, _, _ in wanted}
    assert codes == {"RG201", "RG202", "RG203", "RG204", "RG205", "RG206", "RG208"}


def test_both_readers_say_the_same_to_the_letter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    for seed in range(40):
        chance = random.Random(seed)
        rows = [
            f"q{chance.randint(1, 3)} 0 d{chance.randint(0, 20)} {chance.choice(['0', '1', '2.5'])}" for _ in range(30)
        ]
        qrels.write_text("\n".join(ragged(rows, chance)))
        run.write_text("\n".join(ragged(random_run(chance), chance)))
        said = []
        for fast in (True, False):
            source = choose_reader(monkeypatch, fast)
            said.append(validate(source(qrels), source(run)))
        assert said[0] == said[1] != []


def test_ranks_that_are_no_numbers_are_no_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "a.run"
    run.write_text("q Q0 a first 1 A\nq Q0 b second 2 A\n")
    for fast in (True, False):
        source = choose_reader(monkeypatch, fast)
        assert validate({"q": {"b": 1}}, source(run)) == []


# ---- pairs that are there twice, in every format ---------------------------------------------------------------------

TWICE = [("q", "a", 1), ("q", "b", 3), ("q", "a", 2)]
NAMES = ("query_id", "doc_id", "relevance")
DICTS = [dict(zip(NAMES, row, strict=True)) for row in TWICE]
CELLS = "".join(",".join(map(str, row)) + "\n" for row in [NAMES, *TWICE])


def sources(folder: Path) -> Iterator[tuple[str, Any, str]]:
    """What it is, the source, and how its example begins."""
    frame = pl.DataFrame(DICTS)
    texts = {
        "csv": (CELLS, ":4: {}, and 1 at line 2"),
        "tsv": (CELLS.replace(",", "\t"), ":4: {}, and 1 at line 2"),
        "jsonl": ("\n\n".join(map(json.dumps, DICTS)), ":5: {}, and 1 at line 1"),
        "json": (json.dumps(DICTS), ", entry 3: {}, and 1 at entry 1"),
        "nested.json": ('{"q": {"a": 1, "b": 3, "a": 2}}', ", entry 3: {}, and 1 at entry 1"),
        "txt": ("".join(f"{q} 0 {d} {n}\n" for q, d, n in TWICE), ":3: {}, and 1 at line 1"),
    }
    for suffix, (text, place) in texts.items():
        path = folder / f"qrels.{suffix}"
        path.write_text(text)
        yield suffix, path, f"{path}{place}"
    for suffix, write in (("parquet", frame.write_parquet), ("arrow", frame.write_ipc)):
        write(folder / f"qrels.{suffix}")
        yield suffix, folder / f"qrels.{suffix}", f"{folder / 'qrels.'}{suffix}, row 3: {{}}, and 1 at row 1"
    for name, rows in {"frame": frame, "dicts": DICTS, "triples": TWICE, "generator": iter(TWICE)}.items():
        yield name, rows, "judgments, row 3: {}, and 1 at row 1"


def found(findings: list[Finding], code: str) -> Finding:
    (one,) = (finding for finding in findings if finding.code == code)
    return one


def test_conflicting_judgments_are_a_finding_in_every_format(tmp_path: Path) -> None:
    effect = "nDCG@10 is {:.4f} with the first of the grades, {:.4f} with the lowest, {:.4f} with the highest"
    half = 0.6309297535714575
    values = ((1 + 3 * half) / (3 + half), (1 + 3 * half) / (3 + half), (2 + 3 * half) / (3 + 2 * half))
    for name, source, place in sources(tmp_path):
        finding = found(validate(source, {"q": {"a": 2.0, "b": 1.0}}), "RG102")
        assert finding.examples == [place.format("query q, document a: 2")], name
        assert finding.effect == effect.format(*values)


def test_repeated_documents_are_a_finding_in_every_format(tmp_path: Path) -> None:
    run = [{"query_id": q, "doc_id": d, "score": s} for q, d, s in TWICE]
    path = tmp_path / "run.tsv"
    path.write_text("q\ta\t1\nq\tb\t2\nq\ta\t3\n")  # MS MARCO: ranks, and lines
    assert found(validate({"q": {"a": 1}}, path), "RG201").examples == [
        f"{path}:3: query q, document a, first at line 1"
    ]
    for source in (run, pl.DataFrame(run), iter(run)):
        finding = found(validate({"q": {"a": 1}}, source), "RG201")
        assert finding.examples == ["run, row 3: query q, document a, first at row 1"]


def test_lines_of_a_table_with_empty_lines_and_line_breaks_in_cells(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text('query_id,doc_id,score,title\n\nq,a,3,"two\nlines"\nq,b,2,x\n\nq,q,1,y\n')
    assert found(validate({"q": {"a": 1}}, path), "RG208").examples == [f"{path}:7: query q"]


def test_ranks_of_an_ms_marco_run_from_0(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv"
    path.write_text("q\ta\t0\nq\tb\t1\n")
    assert [each.code for each in validate({"q": {"a": 1}}, path)] == ["RG203"]


# ---- the rest --------------------------------------------------------------------------------------------------------


def test_an_id_of_another_query_is_not_written_differently() -> None:
    judgments = {"p": {"a": 1, "b": 1}, "q": {"c": 1, "d": 1}}
    assert validate(judgments, {"p": {"c": 2.0, "d": 1.0}, "q": {"a": 2.0, "b": 1.0}}) == []


def test_runs_have_the_names_that_they_are_given() -> None:
    judgments, tied = {"q": {"a": 1.5}}, {"q": {"a": 1.0, "b": 1.0}}
    findings = validate(judgments, tied, tied, names=["old", "new"])
    assert {each.source for each in findings} == {"judgments", "old", "new"}
    assert found(findings, "RG105").effect.endswith("with the decimals cut off (old)")
    with pytest.raises(InputError, match="got 1 name for 2 runs"):
        validate(judgments, tied, tied, names=["old"])


def test_nothing_in_common_is_told() -> None:
    finding = found(validate({"p": {"a": 1}}, {"q": {"a": 1.0}}), "RG302")
    assert finding.effect.startswith("no query in common")


@pytest.mark.parametrize("rows", [{}, [], {"q": {}}])
def test_sources_without_rows(rows: Any) -> None:
    with pytest.raises(InputError, match="holds no rows"):
        validate(rows)
    with pytest.raises(InputError, match="holds no rows"):
        validate({"q": {"a": 1}}, rows)


def test_numbers_that_are_none() -> None:
    with pytest.raises(InputError, match="run, query 'q', document 'a': score None is not a finite number"):
        validate({"q": {"a": 1}}, {"q": {"a": None}})
    with pytest.raises(MeasureError, match="relstring is a text"):
        validate({"q": {"a": 1}}, measure="relstring")
