"""Deterministic synthetic TREC files in the shapes the benchmark measures.

Every data set lives in its own folder below the work folder (``bench/.data`` unless told otherwise), is written
beside its final place and renamed into it, and is reused when its recorded recipe still matches.

    python bench/shapes.py            # make everything
    python bench/shapes.py S M L      # only these
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DEFAULT_FOLDER = Path(__file__).resolve().parent / ".data"
RECIPE_VERSION = 1
BATCH_QUERIES = 500
MICRO = 1_000_000  # scores are whole millionths, so that six decimals print them exactly
SMALLEST_GAP = 12  # millionths between neighbouring scores: still distinct as float32 below 64


@dataclass(frozen=True)
class Shape:
    """The recipe of one set of judgments and the runs over it."""

    name: str
    queries: int
    documents: int
    judged_shares: dict[int, float]  # judgments of a query -> share of the queries that have so many
    grade_shares: tuple[float, ...]  # share of the judgments with grade 0, 1, 2, ...
    corpus: int
    query_id: str
    document_id: str
    boost: float  # how far a grade lifts a document up the ranking
    missed: float = 0.25  # share of the judged documents that no run retrieves
    runs: int = 1
    seed: int = 20

    @property
    def judged(self) -> int:
        """The largest number of judgments any query has."""
        return max(self.judged_shares)


@dataclass(frozen=True)
class Dataset:
    """The files of one generated data set."""

    name: str
    qrels: Path
    runs: tuple[Path, ...]
    rows: int

    @property
    def run(self) -> Path:
        """The only run, or the first of several."""
        return self.runs[0]


@dataclass(frozen=True)
class Judgments:
    """Judgments of a batch of queries: one row per query, padded; ``present`` tells real ones from padding."""

    queries: Ints
    documents: Ints
    grades: Ints
    present: NDArray[np.bool_]


MSMARCO_JUDGED = {1: 0.92, 2: 0.06, 3: 0.02}
GRADED = (0.72, 0.16, 0.08, 0.04)
SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape("S", 50, 1000, {215: 1.0}, GRADED, 528_155, "{}", "FT{:07d}", 1.2),
        Shape("M", 6980, 1000, MSMARCO_JUDGED, (0.0, 1.0), 8_841_823, "{}", "{}", 5.0),
        Shape("L", 100_000, 100, {20: 1.0}, GRADED, 3_000_000, "q{}", "doc{:07d}", 0.9),
        Shape("ten", 700, 1000, MSMARCO_JUDGED, (0.0, 1.0), 8_841_823, "{}", "{}", 5.0, runs=10),
        Shape("fifty", 1000, 10, {20: 1.0}, GRADED, 3_000_000, "q{}", "doc{:07d}", 0.9, runs=50),
        Shape("pooled", 5000, 100, {20: 1.0}, GRADED, 3_000_000, "q{}", "doc{:07d}", 0.9, runs=10),
        Shape("served", 7000, 100, {20: 1.0}, GRADED, 3_000_000, "q{}", "doc{:07d}", 0.9, runs=20),
        Shape("tiny", 1, 100, {10: 1.0}, GRADED, 3_000_000, "q{}", "doc{:07d}", 0.9),
    )
}
SCALING_STEPS = {"M-1x": 440, "M-4x": 1760}  # first queries of M; M itself is the 16x step
VARIANTS = ("M-rounded", "M-shuffled", "M-ragged")
RERANKED = {"M-1x-reranked": "M-1x", "M-reranked": "M"}  # a second stage -> its candidates
ALL_NAMES = (*SHAPES, *VARIANTS, *SCALING_STEPS, *RERANKED)


def dataset(name: str, folder: Path = DEFAULT_FOLDER) -> Dataset:
    """The named data set, generated now unless the work folder already holds it."""
    target = folder / name
    recipe = _recipe(name)
    if not _is_complete(target, recipe):
        started = time.perf_counter()
        print(f"generating {name} ...", end=" ", file=sys.stderr, flush=True)
        _generate(name, folder, recipe)
        print(f"{time.perf_counter() - started:.1f} s", file=sys.stderr)
    judged = "M" if name in VARIANTS else RERANKED.get(name, name)
    qrels = folder / judged / "qrels.txt"
    shape = SHAPES.get(name, SHAPES["M"])
    runs = sorted(target.glob("run*.txt"))
    return Dataset(name, qrels, tuple(runs), SCALING_STEPS.get(judged, shape.queries) * shape.documents)


def _recipe(name: str) -> dict[str, object]:
    shape = SHAPES.get(name, SHAPES["M"])
    recipe = {"version": RECIPE_VERSION, "numpy": np.__version__.split(".")[0], **asdict(shape)} | {"name": name}
    as_stored: dict[str, object] = json.loads(json.dumps(recipe))
    return as_stored


def _is_complete(target: Path, recipe: dict[str, object]) -> bool:
    try:
        return bool(json.loads((target / "recipe.json").read_text()) == recipe)
    except (OSError, ValueError):
        return False


def _generate(name: str, folder: Path, recipe: dict[str, object]) -> None:
    target = folder / name
    beside = folder / f".{name}.{os.getpid()}.part"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        _write_files(name, folder, beside)
        (beside / "recipe.json").write_text(json.dumps(recipe, indent=1) + "\n")
        shutil.rmtree(target, ignore_errors=True)
        beside.rename(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _write_files(name: str, folder: Path, into: Path) -> None:
    if name in SHAPES:
        _write_shape(SHAPES[name], into)
        return
    source = dataset(RERANKED.get(name, "M"), folder)
    if name in SCALING_STEPS:
        _write_head(source, SCALING_STEPS[name], into)
    else:
        rewrite: Callable[[Iterable[str]], Iterable[str]] = {
            "M-rounded": _rounded,
            "M-shuffled": _shuffled,
            "M-ragged": _ragged,
            **dict.fromkeys(RERANKED, _reranked),
        }[name]
        with source.run.open() as rows, (into / "run.txt").open("w") as out:
            out.writelines(rewrite(rows))


# Shapes


def _write_shape(shape: Shape, into: Path) -> None:
    rng = np.random.default_rng(shape.seed)
    query_numbers = np.sort(rng.choice(12 * shape.queries + 1_200_000, shape.queries, replace=False))
    batches = [query_numbers[i : i + BATCH_QUERIES] for i in range(0, shape.queries, BATCH_QUERIES)]
    judgments = [_draw_judgments(shape, batch, rng) for batch in batches]
    with (into / "qrels.txt").open("w") as out:
        for batch in judgments:
            out.writelines(_qrels_rows(shape, batch))
    for number in range(shape.runs):
        file_name = "run.txt" if shape.runs == 1 else f"run{number:02d}.txt"
        with (into / file_name).open("w") as out:
            _write_run(shape, judgments, shape.boost * (1 + 0.05 * number), rng, out)


def _draw_judgments(shape: Shape, queries: Ints, rng: np.random.Generator) -> Judgments:
    size = (len(queries), shape.judged)
    documents = _distinct_rows(rng, shape.corpus, np.empty((len(queries), 0), dtype=np.int64), shape.judged)
    grades = rng.choice(len(shape.grade_shares), size, p=shape.grade_shares).astype(np.int64)
    grades[:, 0] = np.maximum(grades[:, 0], 1)  # every query has something to find
    counts = rng.choice(list(shape.judged_shares), len(queries), p=list(shape.judged_shares.values()))
    return Judgments(queries, documents, grades, np.arange(shape.judged)[None, :] < counts[:, None])


def _distinct_rows(rng: np.random.Generator, below: int, taken: Ints, width: int) -> Ints:
    """Rows of ``width`` numbers, distinct within a row and from the numbers ``taken`` in the same row."""
    drawn: Ints = rng.integers(0, below, (len(taken), width))
    while True:
        ordered = np.sort(np.concatenate([taken, drawn], axis=1), axis=1)
        repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(repeated):
            return drawn
        drawn[repeated] = rng.integers(0, below, (len(repeated), width))


def _qrels_rows(shape: Shape, batch: Judgments) -> Iterator[str]:
    for query, documents, grades, present in zip(
        batch.queries.tolist(), batch.documents, batch.grades, batch.present, strict=True
    ):
        query_id = shape.query_id.format(query)
        for document, grade in zip(documents[present].tolist(), grades[present].tolist(), strict=True):
            yield f"{query_id} 0 {shape.document_id.format(document)} {grade}\n"


def _write_run(
    shape: Shape, judgments: Sequence[Judgments], boost: float, rng: np.random.Generator, out: TextIO
) -> None:
    prefix, _, rest = shape.document_id.partition("{")
    number_format = "%07d" if "07d" in rest else "%d"
    row = " Q0 " + prefix + number_format + " %d %.6f run\n"
    for batch in judgments:
        documents, scores = _draw_rankings(shape, batch, boost, rng)
        ranks = range(1, shape.documents + 1)
        for query, doc_row, score_row in zip(batch.queries.tolist(), documents, scores, strict=True):
            template = shape.query_id.format(query) + row
            out.writelines(map(template.__mod__, zip(doc_row.tolist(), ranks, score_row.tolist(), strict=True)))


def _draw_rankings(shape: Shape, batch: Judgments, boost: float, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Retrieved documents of each query, best first, and their descending scores."""
    fillers = _distinct_rows(rng, shape.corpus, batch.documents, shape.documents)
    merit = rng.exponential(1.0, (len(batch.queries), shape.judged + shape.documents))
    judged_merit = merit[:, : shape.judged] + boost * batch.grades
    lost = ~batch.present | (rng.random(judged_merit.shape) < shape.missed)
    merit[:, : shape.judged] = np.where(lost, -1.0, judged_merit)
    order = np.argsort(-merit, axis=1, kind="stable")[:, : shape.documents]
    documents = np.take_along_axis(np.concatenate([batch.documents, fillers], axis=1), order, axis=1)
    return documents, _descending_scores(rng, *documents.shape)


def _descending_scores(rng: np.random.Generator, rows: int, width: int) -> Floats:
    """BM25-like scores between about 6 and 25, steep at the top, no two within a row alike even as float32."""
    steepness = 1.0 / np.arange(1, width + 1)[::-1] ** 0.5
    gaps = SMALLEST_GAP + (rng.exponential(150_000.0, (rows, width)) * steepness).astype(np.int64)
    base = rng.integers(6 * MICRO, 12 * MICRO, (rows, 1))
    scores: Floats = (base + np.cumsum(gaps, axis=1))[:, ::-1] / MICRO
    return scores


# Variants of M


def _write_head(source: Dataset, queries: int, into: Path) -> None:
    documents = SHAPES["M"].documents
    with source.run.open() as rows, (into / "run.txt").open("w") as out:
        out.writelines(islice(rows, queries * documents))
    with source.run.open() as rows:
        kept = {row.split(" ", 1)[0] for row in islice(rows, queries * documents)}
    with source.qrels.open() as rows, (into / "qrels.txt").open("w") as out:
        out.writelines(row for row in rows if row.split(" ", 1)[0] in kept)


def _rounded(rows: Iterable[str]) -> Iterator[str]:
    for row in rows:
        head, score, tag = row.rsplit(" ", 2)
        yield f"{head} {round(float(score))} {tag}"


def _shuffled(rows: Iterable[str]) -> Iterable[str]:
    kept = list(rows)
    order = np.random.default_rng(21).permutation(len(kept))
    return map(kept.__getitem__, order.tolist())


def _ragged(rows: Iterable[str]) -> Iterator[str]:
    rng = np.random.default_rng(22)
    separators = ("\t", " ", "  ", "   ", " \t", "\t\t")
    templates = ["".join("%s" + separators[s] for s in picks) + "%s\n" for picks in rng.integers(0, 6, (997, 5))]
    choices = rng.integers(0, len(templates), 65_536).tolist()
    for number, row in enumerate(rows):
        yield templates[choices[number & 65_535]] % tuple(row.split())


def _reranked(rows: Iterable[str]) -> Iterator[str]:
    """The documents of every query in another order, near the first one: what a second stage makes of them."""
    rng = np.random.default_rng(23)
    for _, group in groupby(rows, key=lambda row: row.split(" ", 1)[0]):
        parts = [row.split() for row in group]
        scores = np.round([float(part[4]) for part in parts] + rng.normal(0, 1, len(parts)), 6)
        for rank, at in enumerate(np.argsort(-scores, kind="stable").tolist(), 1):
            query, zero, document, *_ = parts[at]
            yield f"{query} {zero} {document} {rank} {scores[at]:.6f} reranked\n"


def main() -> None:
    """Generate the named data sets, or all of them."""
    parser = argparse.ArgumentParser(description="Generate the benchmark's data sets.")
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(ALL_NAMES)}; all when none is named")
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER, help="work folder")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(ALL_NAMES)
    if unknown:
        parser.error(f"no such data set: {', '.join(sorted(unknown))}")
    for name in arguments.names or ALL_NAMES:
        made = dataset(name, arguments.data)
        print(f"{name}: {made.rows:,} rows, {made.run.stat().st_size / 1e6:.0f} MB in {made.run.name}")


if __name__ == "__main__":
    main()
