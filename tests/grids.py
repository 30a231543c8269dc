"""Simulations of what is said of means: grids of cells, each a rate that is counted over random draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np

from rankgauge.comparison.gate.check import Evidence
from rankgauge.sampling.draw import pareto, proportional
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.inference import Answer, Interval, Queries, adjusted, differences, mean_interval

Floats = np.ndarray[Any, Any]
Ints = np.ndarray[Any, Any]
Random = np.random.Generator

FLIPS: Final = 2000
BATCH: Final = 40  # draws that share the signs of their flips
LOG: Final = 2000  # queries of a log, whose traffic is Zipf's
TRUE: Final = {"5 % lose 0.5": -0.025, "3 % lose 0.2, 0.5 or 1": -0.017, "lognormal": math.exp(0.5),
               "5 % lose 0.5, 40 % move 0.03": -0.025, "8 % failures": 0.92, "2 % failures": 0.98,
               "5 % failures, else near 1": 0.9025, "nDCG": 0.6, "RR": 0.5}  # fmt: skip
SHARES: Final = (0.01, 0.02, 0.05, 0.1, 0.2)  # of queries that lose
LOSSES: Final = (0.1, 0.5, 1.0)


class Rate(NamedTuple):
    """How often something was so, of the draws that count."""

    so: int
    draws: int

    @property
    def share(self) -> float:
        return self.so / self.draws if self.draws else float("nan")

    def error(self, share: float, others: float = math.inf) -> float:
        """Four standard errors of a share that is counted so often, next to one that was counted as often as others."""
        share = min(max(share, 0.01), 0.99)
        return 4 * math.sqrt(share * (1 - share) * (1 / max(self.draws, 1) + 1 / others))


def rate(held: Sequence[bool | None]) -> Rate:
    """The rate of those that count."""
    return Rate(sum(bool(each) for each in held), sum(each is not None for each in held))


def generator(*names: object) -> Random:
    """Random numbers of a cell, which no other cell has."""
    return np.random.default_rng(crc32(" ".join(map(str, names)).encode()))


def shaped(shape: str, random: Random, size: tuple[int, ...]) -> Floats:
    """Values by query, or differences: as they are met in evaluations."""
    some = random.random(size)
    match shape:
        case "normal":
            return random.normal(0, 0.2, size)
        case "heavy tails":
            return 0.1 * random.standard_t(3, size)
        case "RR − RR":
            return np.where(some < 0.3, 0.0, 1 / random.geometric(0.5, size) - 1 / random.geometric(0.5, size))
        case "60 % ties":
            return np.where(some < 0.6, 0.0, random.normal(0, 0.2, size))
        case "50 % ties":
            return np.where(some < 0.5, 0.0, random.normal(0, 0.2, size))
        case "85 % ties":
            return np.where(some < 0.85, 0.0, np.where(random.random(size) < 0.5, 0.5, -0.5))
        case "5 % lose 0.5":
            return np.where(some < 0.05, -0.5, 0.0)
        case "5 % lose 0.5, 40 % move 0.03":
            moved = np.where(random.random(size) < 0.5, 0.03, -0.03)
            return np.where(some < 0.05, -0.5, np.where(some < 0.45, moved, 0.0))
        case "3 % lose 0.2, 0.5 or 1":
            return np.where(some < 0.03, -random.choice([0.2, 0.5, 1.0], size), 0.0)
        case "lognormal":
            return random.lognormal(0, 1, size)
        case "nDCG":
            return random.beta(1.2, 0.8, size)
        case "RR":
            return random.choice([1.0, 0.5, 0.25, 0.0], size, p=[0.4, 0.15, 0.1, 0.35]).astype(float)
        case "8 % failures" | "2 % failures":
            return (some >= (0.08 if shape[0] == "8" else 0.02)).astype(float)
        case "5 % failures, else near 1":
            return np.where(some < 0.05, 0.0, random.beta(19, 1, size))
    raise KeyError(shape)


def held(ends: Interval | None, truth: float) -> bool | None:
    """Whether the interval holds the truth; None where there is none."""
    return None if ends is None else bool(ends[0] - 1e-12 <= truth <= ends[1] + 1e-12)


def answers(rows: Floats, queries: Queries, random: Random, alpha: float = 0.05) -> Iterator[Answer]:
    """The answer to every row: batches share the signs of their flips."""
    for start in range(0, len(rows), BATCH):
        seed = int(random.integers(1 << 30))
        yield from differences([*rows[start : start + BATCH]], queries, alpha=alpha, flips=FLIPS, seed=seed)


# ---- cells -----------------------------------------------------------------------------------------------------------


def pairs_cell(row: str, column: str, draws: int) -> Rate:
    """Intervals of plain pairs that hold the truth; or p of equal systems at or below 0.05."""
    random, shape, queries = generator("pairs", row, column), row.removeprefix("type I, "), int(column)
    found = answers(shaped(shape, random, (draws, queries)), Queries(queries), random)
    if shape != row:
        return rate([each.p <= 0.05 for each in found])
    return rate([held(each.interval, TRUE.get(shape, 0.0)) for each in found])


def weighted(row: str) -> Queries:
    """Zipf's weights, and clusters of several sizes."""
    if row.startswith("Zipf"):
        power, count = (1.5 if "1.5" in row else 1.0), int(row.split()[-2])
        return Queries(count, 1 / np.arange(1, count + 1) ** power)
    sizes = {
        "12 clusters of 5": [5] * 12,
        "30 clusters of 2": [2] * 30,
        "one cluster of 40, 20 of 1": [40] + [1] * 20,
        "8 clusters of 1 to 15": [1, 2, 3, 5, 8, 11, 13, 15],
    }[row]
    return Queries(sum(sizes), clusters=np.repeat(np.arange(len(sizes)), sizes))


def weights_cell(row: str, column: str, draws: int) -> Rate:
    """The same of weights and clusters, whose queries are alike."""
    random, queries = generator("weights", row, column), weighted(row)
    values = shaped(column, random, (draws, queries.number))
    if queries.clusters is not None:
        values = values + shaped(column, random, (draws, int(queries.clusters.max()) + 1))[:, queries.clusters]
    truth = TRUE.get(column, 0.0) * (1 if queries.clusters is None else 2)
    return rate([held(each.interval, truth) for each in answers(values, queries, random)])


class Draw(NamedTuple):
    """A sample of a log: the values of its queries, how these were drawn, and the mean of the whole log."""

    values: Floats
    queries: Queries
    truth: float


def sampled(shape: str, per: str, size: int, draws: int, random: Random) -> Iterator[Draw]:
    """Samples of a log as `rankgauge sample` draws them: by traffic; or "random", of 300 queries."""
    traffic = np.full(300, 1.0) if per == "random" else 1e5 / np.arange(1, LOG + 1)
    chance = np.full(300, size / 300) if per == "random" else proportional(traffic, size)
    weights = np.ones(len(traffic)) if per == "query" else traffic
    for _ in range(draws):
        whole = shaped("normal" if shape == "dense" else shape, random, (len(traffic),))
        at = pareto(chance, random.random(len(traffic)), size)
        queries = Queries(size, weights[at] / chance[at], inclusion=chance[at], population="log")
        yield Draw(whole[at], queries, float(np.average(whole, weights=weights)))


def samples_cell(row: str, column: str, draws: int) -> Rate:
    """Intervals over samples of a log that hold the mean of the whole log; or, of other searches, of their source."""
    per, _, shape = row.partition(", ")
    about, shape = ("future", shape.removesuffix(", other searches")) if "other" in shape else ("log", shape)
    random, found = generator("samples", row, column), []
    for drawn in sampled(shape, per.removeprefix("per "), int(column), draws, random):
        truth = TRUE.get(shape, 0.0) if about == "future" else drawn.truth
        if shape in ("nDCG", "8 % failures"):
            found.append(held(mean_interval(drawn.values, drawn.queries), truth))
            continue
        queries = drawn.queries.read_as("future" if about == "future" else "log")
        (answer,) = answers(drawn.values[None], queries, random)
        found.append(held(answer.interval, truth))
    return rate(found)


def means_cell(row: str, column: str, draws: int) -> Rate:
    """Intervals of means of values between 0 and 1 that hold the truth."""
    random, queries = generator("means", row, column), Queries(int(column))
    shape = row.removeprefix("Zipf, ")
    if shape != row:
        queries = Queries(int(column), 1 / np.arange(1, int(column) + 1))
    values = shaped(shape, random, (draws, int(column)))
    return rate([held(mean_interval(each, queries), TRUE[shape]) for each in values])


def families_cell(row: str, column: str, draws: int) -> Rate:
    """Families of systems: a false claim among equal ones, by adjusted and by own p; all intervals holding at once."""
    random, (what, shape) = generator("families", row, column), row.split(", ")
    systems, queries = map(int, column.split(" × "))
    pairs, found = list(itertools.combinations(range(systems), 2)), []
    gaps = np.arange(systems) * (0.05 if what == "joint coverage" else 0.0)
    for _ in range(draws):
        table = shaped(shape, random, (queries, systems)) + shaped(shape, random, (queries, 1)) + gaps
        columns = [table[:, a] - table[:, b] for a, b in pairs]
        seed = int(random.integers(1 << 30))
        own = differences(columns, Queries(queries), flips=FLIPS, seed=seed)
        several = adjusted(own, columns, Queries(queries), flips=FLIPS, seed=seed)
        if what == "own p":
            found.append(min(each.p for each in own) <= 0.05)
        elif what == "adjusted p":
            found.append(min(each.p for each in several) <= 0.05)
        else:
            ends = zip(several, pairs, strict=True)
            found.append(all(held(each.interval, gaps[a] - gaps[b]) is not False for each, (a, b) in ends))
    return rate(found)


def gate_answers(values: Floats, queries: Queries, margin: float, random: Random) -> list[str]:
    """The gate's own answers, row by row."""
    said = []
    for each in answers(values, queries, random, alpha=0.1):
        bounds = Estimate(each.value, *(each.interval or (-1.0, 1.0)))
        changed = not each.nothing_changed
        said.append(Evidence(queries.number, [], each, bounds, 1e-12, changed, reach=1.0).answer(-margin))
    return said


def rare_losses(random: Random, size: tuple[int, int], share: float, loss: float, beside: bool) -> Floats:
    """A share of the queries loses so much; of the others none, or 40 %, moves by 0.03."""
    lost = random.random(size) < share
    others = np.where(random.random(size) < 0.5, 0.03, -0.03) * (random.random(size) < 0.4)
    return np.where(lost, -loss, others if beside else 0.0)


def gate_cell(row: str, column: str, draws: int) -> Rate:
    """False PASS where rare losses are beyond the margin (the worst of several shares and losses), or UNCHANGED."""
    random, queries, worst = generator("gate", row, column), int(column), Rate(0, draws)
    unchanged = 0
    for share, loss in itertools.product(SHARES, LOSSES):
        if "three" in row and queries * share < 3:
            continue
        values = rare_losses(random, (draws, queries), share, loss, "move" in row)
        said = gate_answers(values, Queries(queries), 0.8 * share * loss, random)
        worst = max(worst, Rate(said.count("pass"), draws))
        unchanged += said.count("unchanged")
    return Rate(unchanged, draws * len(SHARES) * len(LOSSES)) if "UNCHANGED" in row else worst


def power_cell(row: str, column: str, draws: int) -> Rate:
    """PASS where nothing is lost."""
    random, queries = generator("power", row, column), int(column)
    changed, spread, margin = {
        "all change": (1.0, 0.15, 0.05), "a third changes": (1 / 3, 0.2, 0.03), "a tenth changes": (0.1, 0.2, 0.02),
    }[row]  # fmt: skip
    values = random.normal(0, spread, (draws, queries)) * (random.random((draws, queries)) < changed)
    return rate([each == "pass" for each in gate_answers(values, Queries(queries), margin, random)])


def sample_gate_cell(row: str, column: str, draws: int) -> Rate:
    """False PASS with a sample of a log: the margin is 0.01, the loss 0.025 of all searches or queries."""
    random, (per, shape) = generator("sample gate", row, column), row.split(", ", 1)
    said: list[str] = []
    for drawn in sampled(shape, per.removeprefix("per "), int(column), draws, random):
        if drawn.truth < -0.01:
            said += gate_answers(drawn.values[None], drawn.queries, 0.01, random)
    return rate([each == "pass" for each in said])


# ---- grids -----------------------------------------------------------------------------------------------------------


class Grid(NamedTuple):
    """A table of cells: what its rates are, its columns, and each row with the rates it should have, in percent.

    An expected rate is one that was simulated before with other random numbers, in some 400 draws.
    """

    title: str
    words: str
    cell: Any
    columns: tuple[str, ...]
    rows: dict[str, tuple[int, ...]]
    draws: int = 1000


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))


def columns(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GRIDS: Final = {
    "pairs": Grid(
        "Pairs of systems", "95 % intervals that hold the true difference, of those that are given; and p ≤ 0.05 of "
        "equal systems (type I), by the number of queries.", pairs_cell, columns("6 8 10 15 25 50 100 200"), {
            "normal": numbers("97 96 94 97 96 95 96 95"),
            "heavy tails": numbers("96 95 96 95 95 95 97 96"),
            "RR − RR": numbers("99 96 95 95 95 94 95 98"),
            "60 % ties": numbers("100 100 100 99 94 95 94 96"),
            "85 % ties": numbers("100 100 100 100 99 98 98 96"),
            "5 % lose 0.5": numbers("100 100 100 100 100 99 98 96"),
            "3 % lose 0.2, 0.5 or 1": numbers("100 100 100 100 100 100 93 90"),
            "lognormal": numbers("89 86 85 87 88 88 89 95"),
            "type I, normal": numbers("3 4 6 3 4 5 4 5"),
            "type I, 60 % ties": numbers("0 0 0 1 6 5 6 4"),
        },
    ),
    "weights": Grid(
        "Weights and clusters", "95 % intervals that hold the true difference.", weights_cell,
        ("normal", "60 % ties", "lognormal"), {
            "Zipf, 30 queries": numbers("95 96 88"),
            "Zipf, 60 queries": numbers("94 95 87"),
            "Zipf, 200 queries": numbers("96 94 90"),
            "Zipf^1.5, 60 queries": numbers("94 96 92"),
            "12 clusters of 5": numbers("94"),
            "30 clusters of 2": numbers("96"),
            "one cluster of 40, 20 of 1": numbers("93"),
            "8 clusters of 1 to 15": numbers("96"),
        },
    ),
    "samples": Grid(
        "Samples of a log by traffic", "95 % intervals that hold the mean of the whole log (2,000 queries, traffic as "
        "1 / rank), of those that are given; by the number of queries that were drawn.", samples_cell,
        columns("15 30 60 100 150 300 1900"), {
            "per search, dense": numbers("96 94 94 96 95 95 95"),
            "per search, 50 % ties": numbers("97 93 95 94 95 96 95"),
            "per search, 5 % lose 0.5": numbers("100 100 98 98 98 94 92"),
            "per search, 5 % lose 0.5, 40 % move 0.03": numbers("62 74 82 90 92 93 98"),
            "per search, nDCG": numbers("98 96 96 98 96 94 96"),
            "per search, 8 % failures": numbers("92 95 90 95 96 95 91"),
            "per search, dense, other searches": numbers("95 94 94 96 96 95 90"),
            "per query, dense": numbers("100 94 95 96 96 96 94"),
            "per query, 50 % ties": numbers("100 98 95 96 94 96 97"),
            "per query, 5 % lose 0.5": numbers("100 100 100 100 96 93 95"),
            "per query, nDCG": numbers("98 95 96 93 95 94 91"),
            "per query, 8 % failures": numbers("99 97 93 90 92 94 93"),
        }, 400,
    ),
    "random samples": Grid(
        "Random samples of 300 queries", "95 % intervals that hold the mean of the 300.", samples_cell,
        columns("10 30 100 200 290 299"), {
            "random, dense": numbers("96 96 96 96 95 95"),
            "random, nDCG": numbers("96 96 96 94 93 100"),
        }, 600,
    ),
    "means": Grid(
        "Means of values between 0 and 1", "95 % intervals that hold the true mean.", means_cell,
        columns("5 8 10 15 25 50 100 200"), {
            "nDCG": numbers("99 99 98 97 95 95 95 95"),
            "RR": numbers("97 97 97 97 96 95 95 95"),
            "8 % failures": numbers("99 97 96 97 96 96 95 95"),
            "2 % failures": numbers("90 85 98 97 91 92 95 95"),
            "5 % failures, else near 1": numbers("99 99 99 98 89 91 94 95"),
            "Zipf, nDCG": numbers("100 100 99 98 97 96 95 95"),
        },
    ),
    "families": Grid(
        "Families", "Draws with at least one false claim among equal systems, by adjusted and by own p; and those in "
        "which all simultaneous intervals hold at once. Columns: systems × queries.", families_cell,
        ("2 × 8", "2 × 50", "6 × 8", "6 × 50", "6 × 200", "20 × 50"), {
            "adjusted p, normal": numbers("5 5 5 5 5 5"),
            "adjusted p, RR − RR": numbers("5 5 5 5 5 5"),
            "adjusted p, 60 % ties": numbers("2 5 5 5 5 5"),
            "joint coverage, normal": numbers("95 95 95 95 95 95"),
            "own p, normal": numbers("5 5 40 40 40 93"),
        }, 100,
    ),
    "gate": Grid(
        "The gate where rare losses are beyond the margin", "PASS, which is wrong, in the worst of 15 cases: 1, 2, 5, "
        "10 or 20 % of the queries lose 0.1, 0.5 or 1, and the margin is 0.8 of the true loss; and UNCHANGED, in the "
        "mean of the 15.", gate_cell, columns("15 30 50 100 200 500"), {
            "only these change, PASS": numbers("0 1 1 1 3 2"),
            "only these change, UNCHANGED": numbers("44 29 18 8 3 0"),
            "40 % of the others move, PASS": numbers("63 55 49 30 11 6"),
            "40 % of the others move, three losses expected, PASS": numbers("5 10 3 12 7 6"),
        }, 200,
    ),
    "power": Grid(
        "The gate where nothing is lost", "PASS, which is right. All change: sd 0.15, margin 0.05; a third: sd 0.2, "
        "margin 0.03; a tenth: sd 0.2, margin 0.02.", power_cell, columns("15 25 50 100"), {
            "all change": numbers("32 51 77 97"),
            "a third changes": numbers("19 41 61 83"),
            "a tenth changes": numbers("16 31 55 90"),
        },
    ),
    "sample gate": Grid(
        "The gate with a sample", "PASS, which is wrong: the loss in the log is beyond the margin of 0.01.",
        sample_gate_cell, columns("15 30 60 150 300"), {
            "per search, 5 % lose 0.5": numbers("0 0 0 0 0"),
            "per query, 5 % lose 0.5": numbers("0 0 0 0 0"),
            "per search, 5 % lose 0.5, 40 % move 0.03": numbers("32 18 5 2 2"),
            "per query, 5 % lose 0.5, 40 % move 0.03": numbers("1 4 16 2 0"),
        }, 400,
    ),
}  # fmt: skip


def off(found: Rate, expected: int) -> float:
    """How far a rate is from the expected one, in the errors that are allowed (four standard errors, and rounding)."""
    middle = (found.share + expected / 100) / 2
    return abs(found.share - expected / 100) / (found.error(middle, 400) + 0.005)
