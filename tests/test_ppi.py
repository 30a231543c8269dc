"""Prediction-powered means: against ppi_py, in a simulation, and through judgments and runs."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankgauge
from command import Command
from rankgauge.errors import InputError, MeasureError
from rankgauge.stats.inference import Queries, differences, mean_interval
from rankgauge.stats.ppi import needed, needed_alone, plain_mean, power, prediction_powered


def ppi_py() -> Any:
    """The package that wrote the method down; it silences every warning when it is imported, which is undone."""
    import warnings

    with warnings.catch_warnings():
        import ppi_py as package
    return package


def sample(seed: int, n: int, more: int, worth: float = 0.8) -> tuple[Any, Any, Any]:
    """True values of n, predictions of these and of others: as like each other as `worth` says, and off by 0.1."""
    random = np.random.default_rng(seed)
    truth = random.beta(2, 2, n + more)
    predicted = 0.1 + worth * truth + (1 - worth) * random.beta(2, 2, n + more)
    return truth[:n], predicted[:n], predicted[n:]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("lam", [None, 0.0, 1.0])
def test_equal_to_ppi_py(seed: int, lam: float | None) -> None:
    package = ppi_py()
    truth, predicted, others = sample(seed, 5 + 10 * seed, 40 + 50 * seed, worth=seed / 8)
    ours = prediction_powered(truth, predicted, others, alpha=0.1, interval="ppi_py", lam=lam)
    value = package.ppi_mean_pointestimate(truth, predicted, others, lam=lam)
    low, high = package.ppi_mean_ci(truth, predicted, others, alpha=0.1, lam=lam)
    assert ours.value == pytest.approx(float(np.ravel(value)[0]), abs=1e-12)
    assert (ours.low, ours.high) == pytest.approx((float(np.ravel(low)[0]), float(np.ravel(high)[0])), abs=1e-12)


def test_predictions_that_go_the_wrong_way_are_not_used() -> None:
    """λ is kept from 0 to 1, as there."""
    truth, predicted, others = sample(1, 30, 100)
    ours = prediction_powered(truth, 1 - predicted, 1 - others)
    assert power(truth, 1 - predicted, 1 - others) == 0.0
    assert ours == plain_mean(truth)


def test_people_alone_have_the_intervals_of_eval_and_compare() -> None:
    """Wilson's for values between 0 and 1, the flips' for differences; the package's are the textbook's."""
    truth, *_ = sample(2, 12, 10)
    queries = Queries(12)
    assert plain_mean(truth, bounded=True)[1:] == mean_interval(truth, queries)
    assert plain_mean(truth)[1:] == differences([truth], queries)[0].interval
    half = 1.959964 * truth.std() / np.sqrt(12)
    found = plain_mean(truth, interval="ppi_py")
    assert tuple(found) == pytest.approx((truth.mean(), truth.mean() - half, truth.mean() + half))


def test_the_interval_covers_as_often_as_it_says() -> None:
    """1,000 samples of 12 and 200: the mean of a Beta(2, 2) is 0.5, the predictions' is 0.65 and more."""
    hits, widths = 0, []
    for seed in range(1_000):
        truth, predicted, others = sample(seed, 12, 200)
        found = prediction_powered(truth, predicted, others)
        hits += found.low <= 0.5 <= found.high
        widths.append((found.width, plain_mean(truth).width))
        assert others.mean() > 0.55
    assert hits / 1_000 == pytest.approx(0.95, abs=4 * np.sqrt(0.05 * 0.95 / 1_000))
    mine, people = np.mean(widths, axis=0)
    assert mine < 0.65 * people


def test_the_interval_is_that_of_every_flip_made_wider() -> None:
    """Enumerated over eight queries: the ends of the mean of truth − λ · prediction, √(1 + v others / v own) as far."""
    truth, predicted, others = sample(5, 8, 30)
    lam = power(truth, predicted, others)
    corrected = truth - lam * predicted
    lows, highs = [], []
    for bits in range(1 << 7):
        part = np.array([bits >> at & 1 for at in range(8)], bool)
        means = [corrected[part].mean(), corrected[~part].mean()] if part.any() else [-np.inf, np.inf]
        lows.append(min(means))
        highs.append(max(means))
    k = int(0.05 * 128)
    centre = corrected.mean()
    wider = np.sqrt(1 + lam**2 * (others.var(ddof=1) / 30) / (corrected.var(ddof=1) / 8))
    ends = [centre + wider * (end - centre) + lam * others.mean() for end in (sorted(lows)[k], sorted(highs)[-1 - k])]
    found = prediction_powered(truth, predicted, others)
    assert lam > 0.3
    assert wider > 1.01
    assert tuple(found) == pytest.approx((centre + lam * others.mean(), *ends), abs=1e-9)


def test_2000_random_intervals_hold_the_value_and_0_exactly_when_p_says_so() -> None:
    """Differences of graded values with many ties: p is that of what the interval was made of."""
    random, given, apart = np.random.default_rng(6), 0, 0
    for _ in range(2_000):
        n, more = int(random.integers(6, 13)), int(random.integers(0, 40))
        truth = random.choice([-0.5, 0.0, 0.0, 0.0, 0.25, 1.0], n) + float(random.choice([0.0, 0.2]))
        predicted, others = truth * random.integers(0, 2, n), random.choice([-0.5, 0.0, 0.25], more)
        found = prediction_powered(truth, predicted, others)
        if found.low != found.low:
            continue
        lam = power(truth, predicted, others)
        corrected = truth - lam * predicted
        added = lam**2 * others.var(ddof=1) / more if more > 1 else 0.0
        wider = np.sqrt(1 + added / (corrected.var(ddof=1) / n))
        (answer,) = differences([found.value + wider * (corrected - corrected.mean())], Queries(n))
        assert found.low <= found.value <= found.high
        assert (found.low > 0 or found.high < 0) == (answer.p <= 0.05)
        given, apart = given + 1, apart + (answer.p <= 0.05)
    assert given > 500
    assert apart > 50


def test_fewer_than_six_queries_that_differ_have_no_interval() -> None:
    """Where all but five are perfect, what people did not judge may fail more often."""
    predicted, others = np.zeros(20), np.zeros(40)
    for failures, known in ((0, False), (5, False), (6, True)):
        truth = np.where(np.arange(20) < failures, 0.0, 1.0)
        found = prediction_powered(truth, predicted, others)
        assert (found.value, found.low == found.low) == (truth.mean(), known)
        people = plain_mean(truth, bounded=True)
        assert 0 < people.low < people.value <= people.high <= 1


def test_how_many_are_needed() -> None:
    truth, predicted, others = sample(3, 40, 4_000)
    now = prediction_powered(truth, predicted, others, interval="ppi_py")
    assert needed(truth, predicted, others, now.width * (1 + 1e-9), interval="ppi_py") == 40
    assert needed(truth, predicted, others, now.width * (1 - 1e-3), interval="ppi_py") == 41
    assert needed(truth, predicted, others, prediction_powered(truth, predicted, others).width) in range(39, 43)
    more = needed(truth, predicted, others, 0.7 * now.width)
    assert more is not None
    assert 70 < more < 100
    assert needed(truth, predicted, others, 0.001) is None
    alone = needed_alone(truth, now.width)
    assert alone > 80
    sure = [2 * 1.96 * truth.std(ddof=1) / np.sqrt(n) for n in (alone, alone - 3)]
    assert sure[0] <= now.width < sure[1] * 1.02


def test_more_queries_by_people_do_make_it_as_narrow_as_was_said() -> None:
    """Drawn from the same population, with so many judged, the width is what was wanted."""
    truth, predicted, others = sample(4, 60, 600)
    wanted = 0.85 * prediction_powered(truth, predicted, others).width
    number = needed(truth, predicted, others, wanted)
    assert number is not None
    widths = [prediction_powered(*sample(seed, number, 660 - number)).width for seed in range(100)]
    assert np.mean(widths) == pytest.approx(wanted, rel=0.12)


# ---- judgments and runs ----------------------------------------------------------------------------------------------


def judged(queries: int, seed: int, errors: float) -> dict[str, dict[str, float]]:
    """Grades of eight documents a query; some of them wrong."""
    random, truth = np.random.default_rng(seed), np.random.default_rng(0)
    result: dict[str, dict[str, float]] = {}
    for at in range(queries):
        grades = truth.integers(0, 4, 8)
        wrong = np.clip(grades + random.integers(-1, 2, 8), 0, 3)
        chosen = np.where(random.random(8) < errors, wrong, grades)
        result[f"q{at:03}"] = {f"d{d}": float(grade) for d, grade in enumerate(chosen)}
    return result


def runs_of(truth: dict[str, dict[str, float]]) -> dict[str, dict[str, dict[str, float]]]:
    random = np.random.default_rng(9)
    return {
        name: {q: {d: g + noise * float(random.normal()) for d, g in docs.items()} for q, docs in truth.items()}
        for name, noise in (("good", 1.0), ("poor", 4.0))
    }


TRUTH, MODEL = judged(60, 1, 0.0), judged(60, 2, 0.3)
SOME = {query: TRUTH[query] for query in list(TRUTH)[:20]}
RUNS = runs_of(TRUTH)


def test_values_of_runs_are_estimated() -> None:
    found = rankgauge.ppi(SOME, MODEL, RUNS, interval_width=0.05)
    for name, run in RUNS.items():
        human, model = rankgauge.evaluate(SOME, run).to_dict(), rankgauge.evaluate(MODEL, run).to_dict()
        truth = np.array([human[query]["nDCG@10"] for query in sorted(SOME)])
        predicted = np.array([model[query]["nDCG@10"] for query in sorted(SOME)])
        others = np.array([model[query]["nDCG@10"] for query in sorted(MODEL) if query not in SOME])
        assert found[name].powered == prediction_powered(truth, predicted, others)
        assert found[name].people.value == pytest.approx(rankgauge.evaluate(SOME, run)["nDCG@10"])
        assert found[name].model == pytest.approx(rankgauge.evaluate(MODEL, run)["nDCG@10"])
        assert 1 - found[name].powered.width / found[name].people.width == found[name].narrower > 0
    both = found["poor − good"]
    assert both.people.value == pytest.approx(found["poor"].people.value - found["good"].people.value)
    real = rankgauge.evaluate(TRUTH, RUNS["poor"])["nDCG@10"] - rankgauge.evaluate(TRUTH, RUNS["good"])["nDCG@10"]
    assert both.powered.low < real < both.powered.high < 0
    with pytest.raises(InputError, match="there is no 'best'; there are good, poor, poor − good"):
        found["best"]
    turned = rankgauge.ppi(SOME, MODEL, dict(reversed(RUNS.items())))["good − poor"].powered
    assert tuple(turned) == pytest.approx((-both.powered.value, -both.powered.high, -both.powered.low), abs=1e-12)


def without(judgments: dict[str, dict[str, float]], query: str, doc: str) -> dict[str, dict[str, float]]:
    less = {each: dict(docs) for each, docs in judgments.items()}
    del less[query][doc]
    return less


@pytest.mark.parametrize(
    ("people", "model", "more", "said"),
    [
        (without(SOME, "q003", "d1"), MODEL, {}, r"1 of 20 queries is not judged .*'q003': people 7, model 8, both 7"),
        (SOME, without(MODEL, "q003", "d1"), {}, "people 8, model 7, both 7"),
        ({**SOME, "new": {"a": 1.0}}, MODEL, {}, "not by the model, such as 'new'"),
        ({"q000": SOME["q000"]}, MODEL, {}, "people judged 1 query"),
        (SOME, MODEL, {"interval": "wald"}, "expected flips or ppi_py"),
        (SOME, MODEL, {"alpha": 1.0}, "between 0 and 1"),
        (SOME, MODEL, {"interval_width": 0.0}, "a width above 0"),
        (
            {**SOME, "q000": dict.fromkeys(SOME["q000"], 0.0)},
            MODEL,
            {"protocol": {"empty": "skip"}},
            "leave 1 query out",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused(people: Any, model: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        rankgauge.ppi(people, model, RUNS, **more)


def test_only_means_of_named_runs_are_estimated() -> None:
    with pytest.raises(MeasureError, match="only means"):
        rankgauge.ppi(SOME, MODEL, RUNS, "gm_map")
    with pytest.raises(InputError, match="name the systems"):
        rankgauge.ppi(SOME, MODEL, {})


def test_the_interval_of_real_queries_holds_the_mean_of_all(shared: Path) -> None:
    """A third of the queries of Deep Learning 2019 judged by people, all by a model."""
    human = rankgauge.read_judgments(shared / "dl19/qrels.dl19-passage.txt").nested
    model = shared / "dl19/qrels_llm/umbrela_gpt4o_zeroshot.txt"
    runs = {name: rankgauge.read_run(shared / f"dl19/runs/input.{name}.gz") for name in ("idst_bert_p1", "bm25tuned_p")}
    some = {query: human[query] for query in sorted(human)[::3]}
    found = rankgauge.ppi(some, model, runs)
    assert (found.judged, found.queries) == (15, 43)
    for name, run in runs.items():
        real = rankgauge.evaluate(human, run)["nDCG@10"]
        assert found[name].powered.low < real < found[name].powered.high
        assert found[name].powered.width < found[name].people.width


# ---- forms, and the command ------------------------------------------------------------------------------------------


def test_forms() -> None:
    found = rankgauge.ppi(SOME, MODEL, RUNS, interval_width=0.05)
    assert [each["system"] for each in json.loads(found.show("json"))["systems"]] == ["good", "poor"]
    rows = list(csv.DictReader(io.StringIO(found.show("csv"))))
    assert float(rows[0]["powered_low"]) == found["good"].powered.low
    assert "| good |" in found.show("markdown")
    assert "20 of 60 queries judged by them" in found.show(notes=True)
    assert "Fewer than 25 queries" in found.show(notes=True)
    frame = found.to_frame()
    assert frame["system"].to_list() == [each.name for each in [*found.systems, *found.pairs]]
    assert frame["powered_low"].to_list() == [each.powered.low for each in [*found.systems, *found.pairs]]
    assert "<svg" in found._repr_html_()


def test_where_queries_hardly_differ_peoples_interval_is_named() -> None:
    human = {f"q{at}": {"a": 1} for at in range(10)}
    model = {f"q{at}": {"a": 1} for at in range(30)}
    run = {query: {"z": 2.0} if query in ("q1", "q2", "q25") else {"a": 1.0} for query in model}
    found = rankgauge.ppi(human, model, {"x": run, "y": {query: {"a": 1.0} for query in model}}, "P@1")
    assert np.isnan([found["x"].powered.low, found["x"].narrower, found["y − x"].powered.low]).all()
    assert 0.3 < found["x"].people.low < found["x"].people.value == 0.8
    told = " ".join(found.show(notes=True).split())
    assert "x, y, y − x: fewer than 6 human-judged queries differ, too few for an interval of human + LLM." in told
    assert json.loads(found.show("json"))["systems"][0]["powered"]["low"] is None


def test_the_t_interval_is_understood_and_said_to_be_gone() -> None:
    with pytest.warns(rankgauge.RankgaugeWarning, match="intervals of kind t are no longer made") as said:
        found = rankgauge.ppi(SOME, MODEL, RUNS, interval="t")
    assert len(said) == 1
    assert found.to_dict() == rankgauge.ppi(SOME, MODEL, RUNS).to_dict()


def test_the_command(command: Command, tmp_path: Path) -> None:
    rankgauge.write(rankgauge.read_judgments(SOME), tmp_path / "people.txt")
    rankgauge.write(rankgauge.read_judgments(MODEL), tmp_path / "model.txt")
    rankgauge.write(rankgauge.read_judgments(without(SOME, "q003", "d1")), tmp_path / "partly.txt")
    rankgauge.write(rankgauge.read_run(RUNS["good"]), tmp_path / "good.run")

    cli = partial(command, "ppi", cwd=tmp_path)
    done = cli("people.txt", "model.txt", "good.run", "--interval-width", "0.02")
    assert (done.code, done.err) == (0, "")
    assert "human + LLM" in done.out
    assert cli("people.txt", "model.txt", "good.run", "-o", "p.svg").code == 0
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    refused = cli("partly.txt", "model.txt", "good.run")
    assert refused.code == 2
    assert "let both judge them in full, or leave them to the model: --partly skip" in refused.err
    left = cli("partly.txt", "model.txt", "good.run", "--partly", "skip", "--notes")
    told = " ".join(left.out.split())
    assert "Left to the LLM: 1 query of which humans judged other pairs than it, such as q003." in told
    assert "if the human-judged queries that are left are a random sample of all" in told
    assert "19 of 60 queries judged by them" in left.out


def test_a_query_judged_in_part_is_left_out_as_if_nobody_had_judged_it() -> None:
    """Its model's labels stay: it is one of the queries that the model alone judged."""
    partly, nobody = without(SOME, "q003", "d1"), {query: docs for query, docs in SOME.items() if query != "q003"}
    with pytest.raises(InputError, match=r"partly='skip'"):
        rankgauge.ppi(partly, MODEL, RUNS)
    found, wanted = rankgauge.ppi(partly, MODEL, RUNS, partly="skip"), rankgauge.ppi(nobody, MODEL, RUNS)
    assert found.to_dict() == wanted.to_dict() | {"left_out": ["q003"]}
    with pytest.raises(InputError, match="there is no partly='skpi'; did you mean 'skip'"):
        rankgauge.ppi(partly, MODEL, RUNS, partly="skpi")  # type: ignore[arg-type]
    two = {query: SOME[query] for query in ("q000", "q003")}
    with pytest.raises(InputError, match="people judged 1 query in full; an interval needs two or more"):
        rankgauge.ppi(without(two, "q003", "d1"), MODEL, RUNS, partly="skip")


def test_a_width_that_nobody_can_reach_is_refused() -> None:
    truth = np.array([0.1, 0.5, 0.9])
    assert needed_alone(truth, 1e-3) > 10**6
    with pytest.raises(InputError, match=r"an interval of width 1e-12 takes more than 1,000,000,000 queries"):
        needed_alone(truth, 1e-12)


def test_the_rules_are_stated_where_they_are_not_the_usual_ones() -> None:
    human = {f"q{i}": {"a": 1 + i % 2, "b": 1} for i in range(4)}
    model = {f"q{i}": {"a": 1, "b": i % 2} for i in range(9)}
    run = {query: {"a": 1.0 + (len(query) % 2), "b": 1.5} for query in model}
    stated = rankgauge.ppi(human, model, {"x": run}, protocol={"ties": "average", "rel": 2}).show()
    assert "Rules: ties=average, rel=2.0." in stated
    assert "Rules" not in rankgauge.ppi(human, model, {"x": run}).show()
