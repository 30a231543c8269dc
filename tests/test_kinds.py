"""Every kind of result × every format: hostile names are escaped, every digit is there, what is missing is one sign."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

import rankgauge
from rankgauge.dialects import DIALECTS
from rankgauge.dialects.answers import Conventions, DialectList, DialectValues
from rankgauge.dialects.reproduce import Files, Told, compare, search
from rankgauge.explanation.query.explain import worst_queries
from rankgauge.explanation.query.explanation import Explanations, difference
from rankgauge.judge.check import JudgeCheck
from rankgauge.judge.gullible import Gullibility, Tried
from rankgauge.judge.judged import Judged
from rankgauge.judge.scale import Scale
from rankgauge.measures import parse
from rankgauge.raters.audit import Audit, Change
from rankgauge.raters.disputes import Adjudication, Decided, Disputed, Given, Who
from rankgauge.raters.ledger import Account, Ledger, Week
from rankgauge.raters.progress import Progress, RaterProgress, TaskList
from rankgauge.raters.tasks import Task
from rankgauge.read import RunSource, read_judgments
from rankgauge.show.formats import FORMATS
from rankgauge.shown import Shown
from rankgauge.stats.correlation import wilson
from rankgauge.stats.estimate import Estimate
from rankgauge.steps.looped import Looped, Step
from rankgauge.store.history import Entry, History
from rankgauge.store.labels import Labels
from rankgauge.store.status import JudgeCounts, LabelCounts, OtherSettings, Status
from rankgauge.trust.judges.agree import ConfusionMatrix, Disputes
from rankgauge.trust.judges.pairs import Brief
from rankgauge.trust.unjudged.choose import ToJudgeList

pytestmark = pytest.mark.filterwarnings("ignore::rankgauge.errors.RankgaugeWarning")

EVIL = "<script>alert(1)</script>|*x*_y_`$%#&\\input{z}\x1b[31m=1+1"
OLD, NEW = f"=old {EVIL}", f"+new {EVIL}"
TEXTS = [name for name, each in FORMATS.items() if not each.picture]
PROGRESS = Progress(
    Task(1, f"task {EVIL}", Scale.of([0, 1]), EVIL, None, 2, (EVIL,), 0.0, 0.0, False, (EVIL,), 0.123456, "2026", None),
    3, 9, 18, 5, 1,
    (RaterProgress(EVIL, 5, 1, 1, 2, 1.23456789, "2026-01-01T00:00:00.000+00:00"),),
)  # fmt: skip
BRIEF = Brief(3, Estimate(0.5), Estimate(float("nan")), Estimate(0.5, 0.25, 0.75))
CHECKED = {
    "words": f"it agrees {EVIL}",
    "people": EVIL,
    "kappa": {"value": 0.5, "low": 0.2, "high": 0.7},
    "best": {"people": OLD, "judge": NEW},
}


@cache
def data() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    """Judgments and two runs on thirty queries, every name of which is hostile."""
    source = random.Random(7)
    judged: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, dict[str, float]]] = {OLD: {}, NEW: {}}
    for at in range(30):
        query = f"q{at:02d} {EVIL}"
        docs = [f"d{number} {EVIL}" for number in range(12)]
        judged[query] = {doc: source.choice([0, 0, 1, 2, 3]) for doc in docs[:9]} | {docs[0]: 3, docs[1]: 0}
        for name, skill in ((OLD, 0.5), (NEW, 1.5)):
            scores = {doc: skill * judged[query].get(doc, 0) + source.random() for doc in docs}
            runs[name][query] = {doc: round(score, 2) for doc, score in scores.items()}
    return judged, runs


def second() -> dict[str, dict[str, int]]:
    """Another judge, who sometimes gives one grade more."""
    return {
        q: {d: min(3, g + (at % 3 == 0)) for at, (d, g) in enumerate(docs.items())} for q, docs in data()[0].items()
    }


def files() -> Files:
    judged, runs = data()
    return Files(read_judgments(judged), RunSource.of(runs[OLD]).kept())


def suite() -> dict[str, Any]:
    """Two data sets."""
    judged, runs = data()
    return {f"set {EVIL}": (judged, runs), "other": (judged, runs)}


def stored() -> dict[str, Shown]:
    """What a store would give, if names in it were hostile."""
    entries = [
        Entry(
            at,
            OLD,
            f"@{OLD}:{at}",
            f"2026-01-0{at}T00:00:00+00:00",
            0.1 * at,
            None,
            30,
            (EVIL,) * (at > 1),
            (EVIL,),
            "1",
        )
        for at in (1, 2)
    ]
    judges = (JudgeCounts(f"ann {EVIL}", "person", 3, 2, 1, {0.0: 1, 2.0: 2}, {"skipped": 1}, 1),)
    counts = dict.fromkeys(("query", "document", "pair", "system", "run", "judge", "judgment", "evaluation"), 1)
    return {
        "Pool": rankgauge.pool(data()[1], depth=3, take=2, judged=data()[0]),
        "Judged": Judged(
            f"gpt {EVIL}",
            "model",
            Scale.of({0: f"bad {EVIL}", 1: "good"}),
            4,
            outcomes={
                (EVIL, "d1", 0): ("graded", 1.0, EVIL),
                ("q", EVIL, 0): ("failed", None, EVIL),
                ("q", EVIL, 1): ("failed", None, EVIL),
            },
            errors={("q", EVIL): EVIL},
            silent={(EVIL, EVIL): "document"},
            cost=0.123,
            currency=EVIL,
            calls=3,
            models=(EVIL, "other"),
        ),
        "Looped": Looped(
            f"loop {EVIL}",
            (Step("sample", EVIL), Step("judge", EVIL, kept=True)),
            4,
            (Judged(f"gpt {EVIL}", "model", Scale.of({0: "bad", 1: "good"}), 4, cost=0.5, currency=EVIL),),
            (CHECKED | {"judge": f"gpt {EVIL}"},),
            rankgauge.evaluate_runs(*data(), ["nDCG@10", "P@5"]),
            rankgauge.compare(*data(), ["nDCG@10"], baseline=OLD),
            f"{EVIL}.html",
        ),
        "JudgeCheck": JudgeCheck(
            Judged(
                f"b {EVIL}",
                "model",
                Scale.of({0: EVIL, 1: "good"}),
                4,
                outcomes={(EVIL, "d", 0): ("failed", None, EVIL)},
            ),
            rankgauge.agree({f"a {EVIL}": data()[0], f"b {EVIL}": second()}),
            EVIL,
        ),
        "Gullibility": Gullibility(
            EVIL, "0", 2, (Tried(EVIL, wilson(1, 2), Judged(EVIL, "model", Scale.of({0: EVIL, 1: "good"}), 2)),)
        ),
        "History": History("nDCG@10", tuple(entries)),
        "Ledger": Ledger(
            (
                Account(
                    f"ann {EVIL}",
                    "person",
                    2,
                    {"graded": 2, "unsure": 1},
                    1,
                    1.5,
                    360.0,
                    BRIEF,
                    BRIEF,
                    None,
                    (Week("2026-W01", 3, 0.5), Week("2026-W02", 1, -0.5)),
                    0.25,
                    "2026-01-01T00:00:00+00:00",
                ),
                Account(EVIL, "model", 0, {"failed": 1}, 0, None, None, None, None, None, (), None, ""),
            ),
            f"task {EVIL}",
        ),
        "Adjudication": Adjudication(
            "nDCG@10",
            (
                Disputed(
                    EVIL, "d1", (Given("A", "graded", 1.0, EVIL, False), Given("B", "unsure", None, "", True)), 1.0
                ),
            ),
            (Decided(EVIL, EVIL, (Who("A", EVIL, "person", None),), 1.0, EVIL, "2026-01-01T00:00:00+00:00", EVIL),),
            {OLD: 0.5},
            7,
            f"task {EVIL}",
            (EVIL,),
        ),
        "Progress": PROGRESS,
        "TaskList": TaskList((PROGRESS,)),
        "Audit": Audit((Change("2026-01-01T00:00:00+00:00", EVIL, EVIL, EVIL, "127.0.0.1"),), 2),
        "LabelCounts": LabelCounts(Labels(((f"ann {EVIL}",),)), 1, 2, 1, 1, 1, judges),
        "OtherSettings": OtherSettings(f"gpt {EVIL}", 3, ((EVIL, EVIL, 2.0, f"model {EVIL}"), (OLD, EVIL, 0.0, EVIL))),
        "Status": Status(f"store {EVIL}", "SQLite", 12_345, counts, (EVIL,), (EVIL,), (EVIL,)),
    }


@cache
def results() -> dict[str, Shown]:
    """A result of every kind."""
    judged, runs = data()
    query, measure = next(iter(judged)), parse("nDCG@10")
    evaluation = rankgauge.evaluate_runs(judged, runs, ["nDCG@10", "P@5"], by={q: f"g{q[1]} {EVIL}" for q in judged})
    quality = rankgauge.quality(judged, runs, leave_one_out=True, error_rate=0.1, draws=20)
    agreement = rankgauge.agree({f"a {EVIL}": judged, f"b {EVIL}": second()}, runs=runs)
    old, new = (rankgauge.explain(judged, runs[name], query, name=name) for name in (OLD, NEW))
    people = dict(list(judged.items())[:12])
    table = {f"e{at} {EVIL}": (at / 100, at / 50 + 0.001 * (at % 3), 0.01) for at in range(12)}
    return {
        "Result": evaluation[OLD],
        "Evaluation": evaluation,
        "TieBands": evaluation.tie_bands,
        "Comparison": rankgauge.compare(judged, runs, by={q: f"g{q[1]} {EVIL}" for q in judged}),
        "Check": rankgauge.check(judged, runs[OLD], runs[NEW], margin=0.01, minimums={"nDCG@10": 0.5}),
        "Plan": rankgauge.plan(0.2, differences=[0.02], query_counts=[50, 100]),
        "Leaderboard": rankgauge.bench(suite(), cache=False),
        "Explanation": old,
        "Explanations": Explanations(worst_queries(judged, runs[OLD], 2, name=OLD)),
        "Difference": difference(new, old),
        "Funnel": rankgauge.funnel(judged, retrieved={OLD: runs[OLD]}, reranked={NEW: runs[NEW]}),
        "Quality": quality,
        "LabelNoise": quality.noise,  # type: ignore[dict-item]
        "ToJudgeList": ToJudgeList(quality.to_judge(5)),
        "Bounds": rankgauge.unjudged_bounds(judged, runs[OLD]),
        "Agreement": agreement,
        "Disputes": Disputes(agreement.sets.judges, agreement.disputes(1)),
        "ConfusionMatrix": ConfusionMatrix(agreement.pairs[0]),
        "PredictionPowered": rankgauge.ppi(people, second(), runs),
        "Alignment": rankgauge.align(
            {"experiment": [*table], "nDCG@10": [row[0] for row in table.values()],
             f"clicks {EVIL}": [row[1] for row in table.values()]}, offline=["nDCG@10"], online=f"clicks {EVIL}",
        ),
        "Sample": rankgauge.sample(
            {"query": [f"{EVIL} {at // 2}{'!' * (at % 2)}" for at in range(40)], "count": [*range(1, 41)]}, 15
        ),
        "Findings": rankgauge.validate(judged, runs[OLD]),
        "DialectList": DialectList([*DIALECTS.values()]),
        "DialectValues": DialectValues(compare(files(), measure, [DIALECTS["sklearn"], DIALECTS["xgboost"]])),
        "Conventions": Conventions(measure, "0.5", search(files(), measure, Told("0.5"), [DIALECTS["sklearn"]])),
        "Report": rankgauge.report(judged, runs, second={f"b {EVIL}": second()}),
        **stored(),
    }  # fmt: skip


def kinds_of_results(kind: type[Shown] = Shown) -> Iterator[type[Shown]]:
    for each in kind.__subclasses__():
        if each.__module__.startswith("rankgauge."):
            yield each
        yield from kinds_of_results(each)


NAMES = [
    *("Result", "Evaluation", "TieBands", "Comparison", "Check", "Plan", "Leaderboard", "Explanation", "Explanations"),
    *("Difference", "Funnel", "Quality", "LabelNoise", "ToJudgeList", "Bounds", "Agreement", "Disputes"),
    *("ConfusionMatrix", "PredictionPowered", "Alignment", "Findings", "DialectList", "DialectValues", "Conventions"),
    *("Report", "History", "LabelCounts", "Status", "Pool", "Judged", "JudgeCheck", "Gullibility", "Sample", "Looped"),
    *("Ledger", "Adjudication", "Progress", "TaskList", "Audit", "OtherSettings"),
]


OWN_FRAME = ("Funnel", "Quality", "Agreement")  # a row per query, which is more than their table has


def test_every_kind_of_result_is_tested_here() -> None:
    assert {type(each).__name__ for each in results().values()} == {*NAMES}
    assert {each.__name__ for each in kinds_of_results()} == {*NAMES}


@cache
def in_a_notebook(kind: str) -> str:
    """What a notebook shows, for the tests that look at it; drawing the pictures takes a while."""
    return str(results()[kind]._repr_html_())


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("kind", NAMES)
def test_every_kind_in_every_format(kind: str, format: str) -> None:
    shown = results()[kind].show(format)
    assert shown.endswith("\n")
    assert "\x1b" not in shown
    CHECKS[format](shown)


def of_text(shown: str) -> None:
    assert not re.search(r"\bnan\b", shown)
    assert not re.search(r"\bNone\b", shown)


def of_markdown(shown: str) -> None:
    of_text(shown)
    page = MarkdownIt("commonmark").enable("table").render(shown)
    assert "<script>" not in page
    assert "<em>x</em>" not in page
    assert "<em>y</em>" not in page


def of_latex(shown: str) -> None:
    body = "\n".join(line for line in shown.splitlines() if not line.startswith("%"))
    of_text(body)
    assert "\\input" not in body
    assert not re.search(r"(?<!\\)[_#%$](?!-\$|\\)", re.sub(r"\$[^$\\]*(?:\\[a-z]+)?\$", "", body))


def of_html(shown: str) -> None:
    assert "<script>alert" not in shown
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?https?:", shown)


def of_json(shown: str) -> None:
    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is not JSON")

    json.loads(shown, parse_constant=refuse)


def of_csv(shown: str) -> None:
    rows = list(csv.reader(io.StringIO(shown)))
    assert len({len(row) for row in rows}) == 1
    for cell in (cell for row in rows for cell in row):
        assert cell not in ("nan", "None", "inf", "–")
        if cell.startswith(("=", "+", "-", "@")):
            float(cell)  # a number, and no formula


CHECKS = dict(zip(TEXTS, (of_text, of_markdown, of_latex, of_html, of_json, of_csv), strict=True))


def numbers_of(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from numbers_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers_of(each)


@pytest.mark.parametrize("kind", [name for name in NAMES if name not in ("DialectList", "Findings")])
def test_json_and_csv_have_every_digit(kind: str) -> None:
    """What is read back from JSON is the value, and CSV says the same as JSON does."""
    result = results()[kind]
    numbers = {*numbers_of(json.loads(result.show("json")))}
    assert all(math.isfinite(number) for number in numbers)
    cells = [cell for row in csv.reader(io.StringIO(result.show("csv"))) for cell in row]
    long = [float(cell) for cell in cells if re.fullmatch(r"-?\d+\.\d{6,}(?:e-?\d+)?", cell)]
    assert [number for number in long if not any(abs(number) == abs(each) for each in numbers)] == []


@pytest.mark.parametrize("kind", NAMES)
def test_a_file_has_what_is_shown(kind: str, tmp_path: Path) -> None:
    """The suffix decides, compressed or not; a result says itself in a notebook."""
    result = results()[kind]
    result.save(tmp_path / "x.json")
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == result.show("json")
    assert "<script>alert" not in in_a_notebook(kind)
    assert "https:" not in re.sub(r"http://www.w3.org/\S+", "", in_a_notebook(kind))


@pytest.mark.parametrize("kind", NAMES)
def test_a_prompt_shows_the_beginning(kind: str) -> None:
    """At most 25 lines of 80 characters, whatever the names; `print` shows all."""
    lines = repr(results()[kind]).split("\n")
    assert 0 < len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert str(results()[kind]) == results()[kind].show().rstrip("\n")


@pytest.mark.parametrize("kind", NAMES)
def test_a_notebook_shows_pictures_that_load_nothing(kind: str) -> None:
    shown = in_a_notebook(kind)
    assert "<script" not in shown
    assert "<img" not in shown
    assert not re.search(r"""(?:src|href|url\()\s*=?\s*["']?(?:https?:)?//""", shown)
    if kind in ("Evaluation", "Comparison", "Plan", "Explanation", "Report"):
        assert "<svg" in shown


@pytest.mark.parametrize("kind", [name for name in NAMES if name not in OWN_FRAME])
def test_a_frame_is_the_table_that_csv_holds(kind: str) -> None:
    frame, (head, *rows) = results()[kind].to_frame(), csv.reader(io.StringIO(results()[kind].to_csv()))
    assert [name.lstrip("'") for name in head] == [re.sub("[^ -~–]", "�", name) for name in frame.columns]
    assert frame.height == len(rows)
    for row, cells in zip(rows, frame.iter_rows(), strict=True):
        for text, cell in zip(row, cells, strict=True):
            assert (text == "") == (cell is None or cell == "")
            if isinstance(cell, float):
                assert float(text) == cell


@pytest.mark.parametrize("kind", NAMES)
def test_latex_is_one_table_that_a_paper_can_input(kind: str) -> None:
    """No preamble, one tabular; where there are more, a comment says how to get them, and that works."""
    result = results()[kind]
    shown = result.to_latex()
    assert shown.count(r"\begin{tabular}") == shown.count(r"\end{tabular}") == 1
    assert "documentclass" not in shown
    assert not re.search(r"^[^%]*usepackage", shown, re.MULTILINE)
    for line in re.findall(r"^% one table of .*: (.+)$", shown, re.MULTILINE):
        for key in line.split(", ") if kind != "Report" else []:
            assert result.to_latex(table=key).count(r"\begin{tabular}") == 1
    with pytest.raises(rankgauge.InputError, match="there is no table 'strange'"):
        result.to_latex(table="strange")
