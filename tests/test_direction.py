"""One direction: the first run is the baseline, and every command's difference is the other minus the baseline."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankgauge
from command import Command
from rankgauge import charts
from rankgauge.comparison.pairs import each_against_earlier
from test_charts import rows_of


def lines(kind: str) -> str:
    """Forty queries, seven judged documents in each: judgments (the people judged 25), a model's, and two runs."""
    random = np.random.default_rng(2)
    made: dict[str, list[str]] = {name: [] for name in ("qrels", "people", "model", "old", "new")}
    for query in range(40):
        for doc in range(8):
            grade, about = int(random.integers(0, 4)), f"q{query:02} 0 d{doc}"
            if doc < 7:
                made["qrels"].append(f"{about} {grade}\n")
                made["model"].append(f"{about} {int(np.clip(grade + random.integers(-1, 2), 0, 3))}\n")
            if doc < 7 and query < 25:
                made["people"].append(f"{about} {grade}\n")
            for name, noise in (("old", 0.8), ("new", 2.5)):
                made[name].append(f"q{query:02} Q0 d{doc} 1 {grade + random.normal(0, noise):.6f} t\n")
    return "".join(made[kind])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which new has lost against old."""
    folder = tmp_path_factory.mktemp("lost")
    for name in ("qrels", "people", "model"):
        (folder / f"{name}.txt").write_text(lines(name))
    for name in ("old", "new"):
        (folder / f"{name}.run").write_text(lines(name))
    return folder


@pytest.fixture(scope="module")
def loss(files: Path) -> float:
    """What new lost, from the two means."""
    old, new = (rankgauge.evaluate(files / "qrels.txt", files / f"{name}.run")["nDCG@10"] for name in ("old", "new"))
    assert new < old - 0.02
    return float(new - old)


def compared(data: Any) -> tuple[Any, ...]:
    (pair,) = data["measures"]["nDCG@10"]["pairs"]
    return pair["a"], pair["b"], pair["difference"]["value"]


def measured(data: Any) -> tuple[Any, ...]:
    old, new = (run["measures"]["nDCG@10"]["mean"] for run in data["runs"])
    return *reversed([run["run"] for run in data["runs"]]), new - old


def explained(data: Any) -> tuple[Any, ...]:
    """All queries that lost, and what the largest loss is."""
    assert all(each["points"] < 0 for each in data)
    return data[0]["a"]["run"], data[0]["b"]["run"], min(each["points"] for each in data)


def reported(data: Any) -> tuple[Any, ...]:
    first, tiles = data["sections"][0]["blocks"][:2]
    told = {tile["label"]: tile["value"] for tile in tiles["tiles"]}
    a, b = re.findall(r"^(\w+) is worse than (\w+) by ", first["words"])[0]
    assert first["kind"] == "bad"
    assert compared(data["comparison"]) == (a, b, told["difference"])
    (unjudged,) = data["evidence"]["unjudged"]["pairs"]
    assert (unjudged["a"], unjudged["b"], unjudged["difference"]["value"]) == (a, b, pytest.approx(told["difference"]))
    return a, b, told["difference"]


def checked(data: Any) -> tuple[Any, ...]:
    (each,) = data["measures"].values()
    assert data["lost_most"]
    assert all(query["difference"] < 0 for query in data["lost_most"])
    return "new", "old", each["difference"]["value"]


def covered(data: Any) -> tuple[Any, ...]:
    (pair,), (flip,) = data["pairs"], data["noise"]["pairs"]
    assert (flip["a"], flip["b"], flip["difference"]) == (
        pair["a"],
        pair["b"],
        pytest.approx(pair["difference"]["value"]),
    )
    return pair["a"], pair["b"], pair["difference"]["value"]


COMMANDS: dict[str, tuple[str, Any]] = {
    "eval": ("eval qrels.txt old.run new.run", measured),
    "compare": ("compare qrels.txt old.run new.run", compared),
    "compare --baseline": ("compare qrels.txt new.run old.run --baseline old", compared),
    "report": ("report qrels.txt old.run new.run", reported),
    "report --baseline": ("report qrels.txt new.run old.run --baseline old", reported),
    "check": ("check qrels.txt new.run --baseline old.run --margin 0.01", checked),
    "judgments": ("judgments qrels.txt old.run new.run --error-rate 0.1", covered),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_new_minus_old(name: str, files: Path, loss: float, command: Command) -> None:
    words, found = COMMANDS[name]
    done = command(*words.split(), "--format", "json", cwd=files)
    assert done.code == (3 if name == "check" else 0)  # a gate that cannot tell ends with 3
    assert found(json.loads(done.out)) == ("new", "old", pytest.approx(loss, abs=1e-12))


def test_explain_and_charts_agree_query_by_query(files: Path, loss: float, command: Command) -> None:
    results = {
        name: rankgauge.evaluate(files / "qrels.txt", files / f"{name}.run", name=name) for name in ("old", "new")
    }
    old, new = (result.to_dict() for result in results.values())
    apart = {query: new[query]["nDCG@10"] - old[query]["nDCG@10"] for query in old}
    words = ("explain", "qrels.txt", "old.run", "new.run", "--worst", "40", "--format", "json")
    told = json.loads(command(*words, cwd=files).out)
    assert explained(told) == ("new", "old", pytest.approx(min(apart.values())))
    assert {each["query_id"]: each["points"] for each in told} == pytest.approx(
        {query: change for query, change in apart.items() if change < 0}
    )
    drawn = rows_of(charts.differences(results), "difference", "from")
    shown = {query: row["difference"] for row in drawn for query in row["query"].split(", ")}
    assert shown == pytest.approx(apart)
    assert np.mean([*shown.values()]) == pytest.approx(loss)
    points = rows_of(charts.scatter(results), "better")
    assert all((row["a"] > row["b"]) == (apart[row["query"].split(", ")[0]] > 0) for row in points)


def test_a_plot_is_named_by_its_direction(files: Path, command: Command) -> None:
    for words in ("old.run new.run", "new.run old.run --baseline old", "new.run old.run --pair new old"):
        done = command("plot", "differences", "qrels.txt", *words.split(), "-o", "x.svg", cwd=files)
        assert (done.code, done.err) == (0, "")
        drawn = " ".join(re.findall(r"<text[^>]*>(?:<tspan[^>]*>)?([^<]+)", (files / "x.svg").read_text()))
        assert "new − old" in drawn, words
        assert "old − new" not in drawn, words


def test_estimates_from_a_model_have_the_same_direction(files: Path, command: Command) -> None:
    done = command("ppi", "people.txt", "model.txt", "old.run", "new.run", "--format", "json", cwd=files)
    data = json.loads(done.out)
    (pair,) = data["pairs"]
    assert (pair["a"], pair["b"]) == ("new", "old")
    people = [rankgauge.evaluate(files / "people.txt", files / f"{name}.run")["nDCG@10"] for name in ("new", "old")]
    model = [rankgauge.evaluate(files / "model.txt", files / f"{name}.run")["nDCG@10"] for name in ("new", "old")]
    assert pair["people"]["value"] == pytest.approx(people[0] - people[1])
    assert pair["model"] == pytest.approx(model[0] - model[1])
    assert max(pair["people"]["value"], pair["model"], pair["powered"]["value"]) < 0
    report = rankgauge.report(
        files / "people.txt",
        {name: files / f"{name}.run" for name in ("old", "new")},
        second={"model": files / "model.txt"},
        charts=False,
    )
    assert json.loads(report.to_json())["evidence"]["ppi"] == [data]


def test_turned_round_every_sign_turns(files: Path, loss: float, command: Command) -> None:
    """The same two files, the other one first: new is the baseline, and old has won."""
    compare = partial(command, "compare", "qrels.txt", "new.run", "old.run", cwd=files)
    assert compared(json.loads(compare("--format", "json").out)) == ("old", "new", pytest.approx(-loss))
    assert compare().out.startswith(f"old is better than new by {-loss:.4f} nDCG@10 (")
    lost = command("compare", "qrels.txt", "old.run", "new.run", cwd=files).out
    assert lost.startswith(f"new is worse than old by {-loss:.4f} nDCG@10 (")


def test_of_several_the_later_is_compared_with_the_earlier() -> None:
    assert each_against_earlier("abc") == [("b", "a"), ("c", "a"), ("c", "b")]
    assert each_against_earlier("a") == []
