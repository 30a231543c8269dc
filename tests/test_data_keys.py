"""The JSON and CSV of every command: the same thing has the same name, and a value with ends is value, low, high."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command import Command, called
from rankgauge.cli import COMMANDS, cli

RUNS = "a.run b.run c.run"
RERANKED = "a+x=reranked/ax.run a+y=reranked/ay.run b+x=reranked/bx.run b+y=reranked/by.run"
# What is asked of the commands that have JSON.
ASKED = {
    "eval": f"eval qrels.txt {RUNS} -m nDCG@10 -m GMAP -m NumQ --per-query --by by.tsv",
    "eval, undefined ties": "eval qrels.txt a.run --dialect sklearn --per-query",
    "eval --tie-band": "eval qrels.txt a.run b.run --tie-band --per-query",
    "compare": f"compare qrels.txt {RUNS} --by by.tsv --also bca --also wilcoxon --rope 0.01 --margin 0.02",
    "report": f"report qrels.txt {RUNS} --by by.tsv --second model.txt --no-charts",
    "check": "check qrels.txt b.run --baseline a.run --margin 0.01 --min nDCG@10=0.4",
    "plan": "plan qrels.txt a.run b.run --difference 0.02 --interval-width 0.1 --query-count 50",
    "plan, known": "plan --deviation 0.2 --difference 0.02 --query-count 50 --systems 3",
    "explain": "explain qrels.txt a.run b.run --query q01",
    "explain --worst": "explain qrels.txt a.run --worst 2",
    "funnel": f"funnel qrels.txt --retrieved a.run --retrieved b.run --reranked {RERANKED} --per-query",
    "judgments": "judgments qrels.txt a.run b.run",
    "judgments --leave-one-out": "judgments qrels.txt a.run b.run --leave-one-out",
    "judgments --error-rate": "judgments qrels.txt a.run b.run --error-rate 0.1 --draws 20",
    "judgments --per-query": "judgments qrels.txt a.run b.run --per-query",
    "judgments --to-judge": "judgments qrels.txt a.run b.run --to-judge 5",
    "agree": f"agree qrels.txt model.txt --runs {RUNS}",
    "agree --per-query": "agree qrels.txt model.txt --per-query",
    "agree --adjudicate": "agree qrels.txt model.txt --adjudicate",
    "ppi": "ppi few.txt model.txt a.run b.run --width 0.05",
    "align": "align experiments.csv",
    "align, queries": "align experiments.csv --unit queries --per-unit",
    "bench": "bench suite --no-cache --baseline a",
    "validate": f"validate qrels.txt {RUNS}",
    "dialects": "dialects qrels.txt a.run",
    "sample": "sample log.csv --n 3 --keep queries.tsv",
    "eval --sample": f"eval qrels.txt {RUNS} --sample queries.tsv --by by.tsv",
    "compare --sample": f"compare qrels.txt {RUNS} --sample queries.tsv --per query",
    "check --sample": "check qrels.txt b.run --baseline a.run --margin 0.01 --min nDCG@10=0.4 --sample queries.tsv",
    "labels": "labels",
    "history": "history",
    "store status": "store status",
    "loop": "loop help-centre",
    "judge": "judge pairs.jsonl --judge words",
    "judge --dry-run": "judge pairs.jsonl --judge words --dry-run",
    "judge --batch": "judge pairs.jsonl --judge model --batch ask.jsonl",
    "judge --reparse": "judge --judge words --reparse",
}
# Other names of a value's ends. The smallest and largest of many values (beside their median) are no ends, and
# "interval" is a level of Krippendorff's alpha.
NOT_ENDS = {"min", "max", "lower", "upper", "lowest", "highest", "smallest", "largest", "interval"}
DIGESTS = {"fingerprints", "definitions", "tables"}  # by what they are of
OTHER_NAMES = {"query", "queryid", "qid", "doc", "document", "docid"}


def other_names(name: str) -> set[str]:
    """Names that queries and documents do not have; of a sample, `query` is the text beside the `query_id`."""
    return OTHER_NAMES - {"query"} if name == "sample" else OTHER_NAMES


KINDS = {"queries": int, "dropped": int, "measure": str, "run": str, "system": str, "query_id": str, "doc_id": str}
KINDS |= {"protocol": dict, "pairs": list, "notes": list, "warnings": list, "judges": list}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Judgments, another judge's, runs with unjudged documents and ties, rerankings, a suite, experiments."""
    folder, dice = tmp_path_factory.mktemp("files"), random.Random(5)
    docs, queries = [f"d{number:02}" for number in range(14)], [f"q{number:02}" for number in range(14)]
    judged = {query: {doc: dice.choice([0, 0, 1, 2, 3]) for doc in dice.sample(docs, 11)} for query in queries}
    model = {
        q: {doc: g if dice.random() < 0.7 else dice.choice([0, 1, 2]) for doc, g in judged[q].items()} for q in judged
    }

    def write(name: str, lines: Iterator[str]) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(f"{line}\n" for line in lines))

    def run(name: str, noise: float, digits: int, among: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
        taken = among or {query: dice.sample(docs, 11) for query in queries}
        scores = {
            (q, doc): round(judged[q].get(doc, 0) + noise * dice.random(), digits) for q in queries for doc in taken[q]
        }
        write(name, (f"{query} Q0 {doc} 1 {score} x" for (query, doc), score in scores.items()))
        return taken

    for name, table, some in (("qrels", judged, queries), ("model", model, queries), ("few", judged, queries[:6])):
        write(f"{name}.txt", (f"{q} 0 {doc} {grade}" for q in some for doc, grade in table[q].items()))
    found = {name: run(f"{name}.run", noise, digits) for name, noise, digits in (("a", 9, 1), ("b", 4, 6), ("c", 2, 6))}
    for name, noise in (("ax", 2), ("ay", 1), ("bx", 2), ("by", 1)):
        run(f"reranked/{name}.run", noise, 6, found[name[0]])
    write("by.tsv", iter(["query_id\tgroup", *(f"{q}\t{'odd' if int(q[1:]) % 2 else 'even'}" for q in queries)]))
    rows = (f"{q}\t{10 + at}\t{0.3 + at / 100}\ttraffic" for at, q in enumerate(queries))
    write("queries.tsv", iter(["query_id\ttraffic\tinclusion\tstratum", *rows]))
    write("log.csv", iter(["query,count", *(f"{q},{at + 1}" for at, q in enumerate(queries))]))
    for dataset in ("one", "two"):
        rows = (f"{q}\t{doc}\t{grade}" for q in queries for doc, grade in judged[q].items())
        write(f"suite/{dataset}/qrels/test.tsv", iter(["query-id\tcorpus-id\tscore", *rows]))
        for name in ("a", "b", "c")[: 3 if dataset == "one" else 2]:
            write(f"suite/{dataset}/runs/{name}.run", iter((folder / f"{name}.run").read_text().splitlines()))
    numbers = (
        (n / 100 + dice.random() / 50, n / 100 + dice.random() / 20, n / 50 + dice.random() / 40) for n in range(12)
    )
    rows = (f"e{at},{x:.4f},{z:.4f},{y - 0.1:.4f},0.01,{100 + at}" for at, (x, z, y) in enumerate(numbers))
    write("experiments.csv", iter(["experiment,delta_nDCG@10,delta_P@5,online,se,traffic", *rows]))
    return folder


@pytest.fixture(scope="module")
def project(files: Path) -> Path:
    """A project in the same folder, with an evaluation that was saved."""
    pytest.importorskip("sqlalchemy", reason="a store needs SQLAlchemy")
    pairs = [
        {"query_id": "q01", "query": "hats", "doc_id": doc, "document": {"title": "a hat"}} for doc in ("d1", "d2")
    ]
    (files / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (files / "words.py").write_text("def grade(query, document):\n    return 1, 'a hat'\n")
    assert called("init", ".", cwd=files).code == 0
    with (files / "rankgauge.toml").open("a") as file:
        file.write('[judges.words]\ncall = "words:grade"\n')
        file.write('[judges.model]\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n')
    for words in (
        "store import qrels.txt --judge ann",
        "store import a.run --system a",
        "eval @labels @a --save",
        "init help-centre --example",
        "judge pairs.jsonl --judge words",
    ):
        assert called(*words.split(), cwd=files).code == 0
    return files


@pytest.fixture
def asked(name: str, files: Path, request: pytest.FixtureRequest) -> str:
    """What is asked, where what it needs has been made."""
    if ASKED[name].split()[0] in ("labels", "history", "store", "loop", "judge"):
        request.getfixturevalue("project")
    return ASKED[name]


def said(command: Command, files: Path, asked: str, format: str) -> str:
    outcome = command(*asked.split(), "--format", format, cwd=files)
    assert outcome.code in (0, 1, 3), outcome.err
    return outcome.out


def formats_of(name: str) -> list[str]:
    found: Any = cli.get_command(None, name)  # type: ignore[arg-type]
    kinds = [option.type for option in found.params if option.name == "format"]
    return [each for kind in kinds for each in getattr(kind, "choices", ())]


def objects(data: Any, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object, and the key that it is the value of."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        if key not in DIGESTS:
            yield from objects(value, str(key) if isinstance(data, dict) else name)
    if isinstance(data, dict):
        yield name, data


@pytest.mark.parametrize("name", ASKED)
def test_json_names_the_same_thing_alike(name: str, asked: str, command: Command, files: Path) -> None:
    data = json.loads(said(command, files, asked, "json"))
    for where, each in objects(data):
        keys = each.keys()
        ends = keys & NOT_ENDS
        assert not ends or "median" in keys or where == "alpha", (where, ends)
        assert not keys & other_names(name), (where, keys)
        assert ("low" in keys) == ("high" in keys), (where, keys)
        assert not [key for key in keys if key.endswith("_interval")]
        for key, kind in KINDS.items():
            assert key not in each or isinstance(each[key], kind), (where, key, each[key])
        assert all(isinstance(note, str) for note in each.get("notes", ()))
        assert all(warning.keys() == {"code", "text"} for warning in each.get("warnings", ()))


@pytest.mark.parametrize("name", ASKED)
def test_csv_names_the_same_thing_alike(name: str, asked: str, command: Command, files: Path) -> None:
    if "csv" not in formats_of(asked.split()[0]) and "store" not in asked:
        pytest.skip("this command has no CSV")
    heads = next(csv.reader(io.StringIO(said(command, files, asked, "csv"))))
    assert not set(heads) & (NOT_ENDS | other_names(name))
    for head in heads:
        if head.endswith(("low", "high")):
            both = {head.removesuffix("low").removesuffix("high") + end for end in ("low", "high")}
            assert both <= set(heads)
            assert "interval" not in head.removeprefix("alpha_interval")


def test_every_command_with_json_is_asked() -> None:
    with_json = {name for name in COMMANDS if "json" in formats_of(name)}
    assert with_json - {"measures"} <= {asked.split()[0] for asked in ASKED.values()}
