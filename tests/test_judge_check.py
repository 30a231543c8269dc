"""`rankgauge judge --check`: a judge beside people, what is kept of it, and what stands over labels."""

from __future__ import annotations

import html
import json
import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

import rankgauge
from command import Command
from rankgauge import Project
from rankgauge.errors import InputError
from rankgauge.judge.check import check_judge
from rankgauge.judge.config import find_judge
from rankgauge.store.checks import PEOPLE as PEOPLE_KIND
from rankgauge.store.checks import add_check
from rankgauge.store.doubts import Terms, label_doubts
from rankgauge.store.judgments import Judge
from rankgauge.store.store import Answer, Label
from rankgauge.validation.labels import family_of, same_family
from test_agree import EXPECTED

PEOPLE = {f"q{n}": {f"d{n}-{m}": (n + m) % 4 for m in range(6)} for n in range(8)}
MINE = """
def near(query, document):
    grade = int(document['text'].split()[1])
    return min(3, grade + (document['doc_id'][-1] == '0')), 'near'
def partly(query, document):
    return None if document['doc_id'][-1] == '1' else near(query, document)
def none(query, document):
    return None
"""


@pytest.fixture
def folder(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with texts, labels of a person, two runs, and judges that are functions."""
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    assert command("init", tmp_path / "shop").code == 0
    monkeypatch.chdir(tmp_path / "shop")
    Path("mine.py").write_text(MINE)
    with Path("rankgauge.toml").open("a") as file:
        for name in ("near", "partly", "none"):
            file.write(f'[judges.{name}]\ncall = "mine:{name}"\n')
    return tmp_path / "shop"


def fill(truth: dict[str, dict[str, int]]) -> None:
    """What people judged, with texts."""
    with Project(".").store(write=True) as store:
        store.add_queries([(query, f"about {query}") for query in truth], "test")
        texts = {doc: f"worth {grade}" for docs in truth.values() for doc, grade in docs.items()}
        store.add_documents([(doc, {"text": text}) for doc, text in texts.items()], "test")
        rows = [
            Label(query, doc, float(grade), f"{query} {doc}") for query in truth for doc, grade in truth[query].items()
        ]
        store.add_labels("ann", rows, "person")


def judged(name: str) -> Any:
    return find_judge(Project("."), name)


def run(name: str, worst: int) -> None:
    lines = [
        f"{query} Q0 {doc} 1 {(grade + at * worst) % 5} t\n"
        for query, docs in PEOPLE.items()
        for at, (doc, grade) in enumerate(docs.items())
    ]
    Path(name).write_text("".join(lines))


def test_a_check_is_what_agree_says(folder: Path, command: Command) -> None:
    fill(PEOPLE)
    said = command("judge", "--check", "@people", "--judge", "near")
    assert (said.code, said.err) == (0, "")
    theirs = {q: {d: min(3, g + d.endswith("0")) for d, g in docs.items()} for q, docs in PEOPLE.items()}
    pair = rankgauge.agree({"people": PEOPLE, "near": theirs}).pairs[0]
    kappa, share = pair.kappa["none"], 100 * pair.agreement.value
    agreed = f"near gives people's grade on {share:.0f} % of 48 pairs"
    first = f"{agreed} (κ {kappa.value:.2f}, 95 % interval {kappa.low:.2f} to"
    assert " ".join(said.out.split()).startswith(f"{first} {kappa.high:.2f}) and grades {pair.bias.value:.2f} higher")
    assert max(map(len, said.out.splitlines())) <= 80
    assert said.out.count("Krippendorff's α") == 3
    assert "under each judge" not in said.out  # no runs
    with sqlite3.connect("rankgauge.db") as connection:
        ((kind, found),) = connection.execute("SELECT kind, found FROM judge_check").fetchall()
    assert kind == "people"
    assert json.loads(found)["kappa"] == pytest.approx(kappa._asdict())
    kept = " ".join(command("store", "status").out.split())
    assert re.search(rf"{re.escape(first)} \S+\) and grades 0\.\d\d higher on average \(20\d\d-\d\d-\d\d\)\.", kept)
    again = check_judge(Project("."), judged("near"), "@people")
    assert (again.judged.calls, again.judged.before) == (0, 48)
    assert again.agreement.pairs[0].to_dict() == pair.to_dict()
    assert command("judge", "--check", "@people", "--judge", "near", "--dry-run").out == (
        "near: 48 pairs, 48 answers stored, 0 calls to make.\n"
    )


def test_a_check_ranks_the_systems_and_counts_what_failed(folder: Path, command: Command) -> None:
    fill(PEOPLE)
    run("good.run", 0)
    run("odd.run", 2)
    assert command("store", "import", "good.run", "odd.run", "--runs").code == 0
    said = command("judge", "--check", "@people", "--judge", "partly")
    assert said.code == 4
    assert "partly: 8 of 48 pairs have no grade" in said.err
    assert "No grade: 8 of 48 pairs (16.7 %), mostly failed: the function gave no grade." in " ".join(said.out.split())
    assert "nDCG@10 under each judge, 8 queries" in said.out
    assert re.search(r"^good +1\.0000", said.out, re.MULTILINE)
    none = command("judge", "--check", "@people", "--judge", "none")
    assert none.code == 2
    assert "none graded none of 48 pairs (failed: the function gave no grade)" in none.err


def test_people_may_be_a_file_or_one_judge(folder: Path, command: Command) -> None:
    fill(PEOPLE)
    lines = [f"{query} 0 {doc} {grade}\n" for query, docs in PEOPLE.items() for doc, grade in docs.items()]
    Path("gold.txt").write_text("".join(lines[:10]))
    assert "near gives gold's grade on" in command("judge", "--check", "gold.txt", "--judge", "near").out
    assert "near gives ann's grade on" in command("judge", "--check", "@labels:ann", "--judge", "near").out
    for human in ("@labels", "@labels:near"):
        with pytest.raises(InputError, match="holds labels of 'near', who cannot be checked against itself"):
            check_judge(Project("."), judged("near"), human)
    for words, why in (
        (["nobody.txt"], "nobody.txt"),
        (["@labels:zoe"], "there are no labels of 'zoe'; there are ann, near"),
        (["@people", "-o", "x.txt"], "--check"),
    ):
        refused = command("judge", "--judge", "near", "--check", *words)
        assert (refused.code, why in refused.err) == (2, True), refused.err
    both = command("judge", "gold.txt", "--judge", "near", "--check", "@people")
    assert both.code == 2


def test_a_judge_who_only_has_labels_is_checked_by_them(folder: Path, command: Command) -> None:
    fill(PEOPLE)
    Path("gpt.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, docs in PEOPLE.items() for d, g in docs.items()))
    assert command("store", "import", "gpt.txt", "--judge", "gpt", "--kind", "model").code == 0
    said = command("judge", "--check", "@people", "--judge", "gpt")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("gpt gives people's grade on 100 % of 48 pairs (κ 1.00) and grades as high")
    assert command("judge", "--check", "@people", "--judge", "nobody").code == 2


# ---- real labels -----------------------------------------------------------------------------------------------------


def serve(name: str, grades: dict[tuple[str, str], list[float]]) -> Any:
    """A judge that says what is known: the first grade of a pair, and others where it is asked again."""
    import mine  # type: ignore[import-not-found]

    def known(query: dict[str, Any], document: dict[str, Any]) -> float | None:
        told = grades.get((query["query_id"], document["doc_id"]), [])
        return told[query["repeat"]] if query["repeat"] < len(told) else None

    setattr(mine, name, known)
    scale = sorted({int(grade) for each in grades.values() for grade in each} | {0, 1})
    return find_judge(Project("."), name, {"call": f"mine:{name}", "scale": scale, "threads": 32})


def test_published_kappas(folder: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model labels of LLMJudge's development set, served by functions: the kappas that were published."""
    monkeypatch.syspath_prepend(str(folder))
    source = shared / "llmjudge-dev"
    human = source / "llm4eval_dev_qrel_2024.txt"
    fill(
        {
            q: {doc: int(grade) for doc, grade in docs.items()}
            for q, docs in rankgauge.read_judgments(human).nested.items()
        }
    )
    for at, name in enumerate(EXPECTED[:3]):  # the others are compared by agree, which is what a check does
        told = re.search(r"kappa[^:]*: (-?\d\.\d+)", (source / "expected" / name).read_text(), re.IGNORECASE)
        assert told is not None
        labels = rankgauge.read_judgments(source / "qrels_llm" / name.replace("_analysis", ""))
        config = serve(f"judge{at}", {(query, doc): [grade] for query, doc, grade in labels})
        found = check_judge(Project("."), config, str(human))
        pair = found.agreement.pairs[0]
        assert pair.shared == len(labels)
        assert pair.kappa["none"].value == pytest.approx(float(told[1]), abs=1e-12)


def test_repeats_of_a_real_model(folder: Path, shared: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """UMBRELA with llama3.2, asked four to six times: most pairs have several grades, the majority is agree's."""
    monkeypatch.syspath_prepend(str(folder))
    human, dirty = shared / "dl19/qrels.dl19-passage.txt", shared / "dl19/qrels_llm/umbrela_llama3.2_zeroshot.raw.txt"
    truth = rankgauge.read_judgments(human)
    fill({query: {doc: int(grade) for doc, grade in docs.items()} for query, docs in truth.nested.items()})
    grades: dict[tuple[str, str], list[float]] = {}
    for line in dirty.read_text().splitlines():
        query, _, doc, grade = line.split()
        grades.setdefault((query, doc), []).append(float(grade))
    found = check_judge(Project("."), serve("llama", grades), str(human), repeats=6)
    assert f"{found.judged.consistency:.3f}" == "0.630"
    counts = json.loads(command("labels", "--by", "llama", "--format", "json").out)["judges"][0]
    assert (counts["graded"], counts["conflicting"]) == (9260, 8245)
    said = rankgauge.agree({human.stem: human, "llama": dirty}, repeated="majority").pairs[0]
    pair = found.agreement.pairs[0]
    assert pair.matrix.tolist() == said.matrix.tolist()
    assert (f"{pair.kappa['none'].value:.3f}", f"{pair.bias.value:+.2f}") == ("0.131", "+0.58")
    assert found.judged.open == 0


# ---- over labels -----------------------------------------------------------------------------------------------------

SAID = "Nobody has checked near against people, and it gave 48 of 48 grades. Check it: rankgauge judge "


def outputs(command: Command) -> Iterator[str]:
    """Everything that rests on the labels of `near`."""
    for words in (
        ["eval", "@labels:near", "@good"],
        ["compare", "@labels:near", "@good", "@odd"],
        ["check", "@labels:near", "@good", "--baseline", "@odd", "--margin", "0.01"],
        ["funnel", "@labels:near", "--retrieved", "@odd", "--reranked", "@good"],
    ):
        yield " ".join(command(*words).out.split())
        yield command(*words, "--format", "json").out
    assert command("report", "@labels:near", "@good", "@odd", "-o", "report.html").code == 0
    yield Path("report.html").read_text(encoding="utf-8")


def test_a_warning_stands_over_labels_of_a_judge_never_checked(folder: Path, command: Command) -> None:
    fill(PEOPLE)
    run("good.run", 0)
    run("odd.run", 2)
    assert command("store", "import", "good.run", "odd.run", "--runs").code == 0
    Path("pairs.jsonl").write_text(
        "".join(json.dumps({"query_id": q, "doc_id": d}) + "\n" for q, docs in PEOPLE.items() for d in docs)
    )
    assert command("judge", "pairs.jsonl", "--judge", "near").code == 0
    for shown in outputs(command):
        assert SAID in shown, shown
        assert "RG403" in shown or shown.startswith("PASS"), shown
    assert SAID in command("dialects", "@labels:near", "@good", "--only", "sklearn").err
    remedy = next(re.finditer(r"Check it: rankgauge (.*?) \(RG403\)", next(outputs(command))))[1]
    assert remedy == "judge --judge near --check @people"
    with pytest.warns(rankgauge.RankgaugeWarning, match=SAID):
        rankgauge.evaluate(Project(".").labels("near"), Project(".").run("good"), protocol={"ties": "average"})
    assert SAID not in command("eval", "@people", "@good").out
    assert SAID not in command("eval", "@labels", "@good").out  # people are heard first
    assert command("judge", "--judge", "near", "--check", "@people").code == 0
    for shown in outputs(command):
        assert (SAID in shown, "RG403" in shown) == (False, False)
    assert "near gives people's grade on" in html.unescape(Path("report.html").read_text(encoding="utf-8"))
    told = json.loads(command("eval", "@labels:near", "@good", "--format", "json").out)["labels"]["checks"]
    assert told[0].startswith("near gives people's grade on")
    again = Path("rankgauge.toml").read_text().replace('"mine:near"', '"mine:partly"', 1)
    Path("rankgauge.toml").write_text(again)
    assert command("judge", "pairs.jsonl", "--judge", "near").code == 4
    shown = " ".join(command("eval", "@labels:near", "@good").out.split())
    words = "Nobody has checked near under this prompt and model against people, and it gave 40 of 40 grades."
    assert f"{words} Check it: rankgauge judge --judge near" in shown


def test_a_check_holds_for_a_prompt_and_a_model(folder: Path) -> None:
    fill(PEOPLE)
    grades = [(q, d, float(g)) for q, docs in PEOPLE.items() for d, g in docs.items()]
    about = {"model": "gpt-4o", "prompt": "p1", "scale": "s"}
    with Project(".").store(write=True) as store:
        store.add_prompts([{"hash": each, "name": each, "text": each} for each in ("p1", "p2")])
        for at, change in enumerate([{}, {"base_url": "http://other"}, {"model": "gpt-4.1"}, {"prompt": "p2"}]):
            labels = [Label(q, d, g, f"{at} {q} {d}") for q, d, g in grades]
            store.add_labels("gpt", labels, "model", **(about | change))
            if not at:
                enough = {"graded": 48, "queries": 8, "kappa": {"value": 0.5, "low": 0.3, "high": 0.7}}
                add_check(store, Judge("gpt", "model", about), PEOPLE_KIND, enough)
            rows = [row for row in store.labels()[0] if row.judge == "gpt"]
            other = "Nobody has checked gpt under this prompt and model against people, and it gave 48 of 48 grades."
            found = [doubt.text for doubt in label_doubts(store, rows, rows, Terms()) if doubt.code == "RG403"]
            assert [each.partition(" Check it")[0] for each in found] == [other] * bool(
                change and "base_url" not in change
            )


def test_a_judge_and_a_system_of_one_family(folder: Path, command: Command) -> None:
    fill(PEOPLE)
    run("good.run", 0)
    run("gpt-rerank.run", 2)
    assert command("store", "import", "good.run", "gpt-rerank.run", "--runs").code == 0
    with Project(".").store(write=True) as store:
        labels = [Label(q, d, float(g), f"j {q} {d}") for q, docs in PEOPLE.items() for d, g in docs.items()]
        store.add_labels("big", labels, "model", model="openai/gpt-4o-2024-08-06")
        for name, model in (("llm", "gpt-4o-mini"), ("other", "qwen3-reranker")):
            number = store.begin_run(name, {"kind": "rerank", "settings": {"model": model}})
            store.add_answer(number, Answer("q0", ["d0-1", "d0-0"], [2.0, 1.0]))
            store.end_run(number)
    said = "big (openai/gpt-4o-2024-08-06) judges "
    shown = command("compare", "@labels:big", "@good", "@gpt-rerank", "@llm", "@other", "--notes").out
    assert (
        f"{said}gpt-rerank, llm, of its own model family. Models tend to favour their own family. Add people or"
        in " ".join(shown.split())
    )
    assert f"{said}gpt-rerank" in command("ppi", "@people", "@labels:big", "@good", "@gpt-rerank").err
    for words in (
        ["eval", "@labels:big", "@llm"],
        ["funnel", "@labels:big", "--retrieved", "@llm", "--reranked", "@llm"],
    ):
        assert f"{said}llm, of its own model family." in " ".join(command(*words).out.split()), words
    for words in (
        ["agree", "@people", "@labels:big", "--runs", "@good", "@llm"],
        ["explain", "@labels:big", "@llm", "--query", "q0"],
        ["judgments", "@labels:big", "@llm"],
    ):
        done = command(*words)
        assert (done.code, f"{said}llm, of its own model family." in " ".join(done.err.split())) == (0, True), done.err
        assert ("Nobody has checked big against people" in done.err) is (words[0] != "agree")
    checked = command("judge", "--check", "@people", "--judge", "big")
    assert f"Caution: {said}gpt-rerank, llm, of" in " ".join(checked.out.split())
    with pytest.warns(rankgauge.RankgaugeWarning, match=f"{re.escape(said)}@llm"):
        rankgauge.evaluate(Project(".").labels("big"), Project(".").run("llm"), protocol={"ties": "average"})
    assert "own model family" not in command("compare", "@labels:big", "@good", "@other", "--notes").out
    assert "own model family" not in command("compare", "@people", "@llm", "@gpt-rerank", "--notes").out


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-mini", "gpt"),
        ("openai/gpt-4o", "gpt"),
        ("chatgpt-4o-latest", "gpt"),
        ("o3-mini", "gpt"),
        ("Meta-Llama-3.1-8B-Instruct", "llama"),
        ("meta-llama/Llama-3.2-3B", "llama"),
        ("claude-3-5-sonnet", "claude"),
        ("Qwen2.5-7B", "qwen"),
        ("gemini-2.0-flash", "gemini"),
        ("test-model", ""),
        ("4711", ""),
    ],
)
def test_families_of_models(model: str, family: str) -> None:
    assert family_of(model) == family
    assert bool(same_family({"j": [model]}, {"s": [f"x/{model}-rerank"]})) is bool(family)
    assert not same_family({"j": [model]}, {"bm25": [], "dense": ["bge-m3", "text-embedding-3-small"]})


def test_kappa_of_few_queries_has_no_interval() -> None:
    """One query says nothing of others: what is not defined is left out, before it is stored and after."""
    from rankgauge.store.checks import agreement_words

    nan = float("nan")
    found = {
        "people": "people", "graded": 2, "agreement": {"value": 0.5}, "bias": {"value": 0.0},
        "kappa": {"value": 0.3333, "low": nan, "high": nan},
    }  # fmt: skip
    assert (
        agreement_words("gpt", found)
        == "gpt gives people's grade on 50 % of 2 pairs (κ 0.33) and grades as high as they do"
    )
