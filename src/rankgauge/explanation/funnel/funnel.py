"""Retriever and reranker apart: what each stage reached, what it lost, and what no reranker could have won.

    1 = value + unknown + mis-ranked + not retrieved + no relevant document

for every query and in the mean, exactly. *Oracle* is nDCG of the best order of the candidates: the ceiling of every
reranker, which recall is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from rankgauge.comparison.values import cluster_numbers
from rankgauge.errors import InputError, counted, unknown, warn
from rankgauge.explanation.funnel.outcome import Funnel, Harm, Point, Sampling
from rankgauge.explanation.funnel.stages import (
    Outside,
    check_answers,
    check_candidates,
    check_fit,
    first_stage,
    judged_in_all,
    second_stage,
)
from rankgauge.explanation.funnel.system import (
    LOSSES,
    PARTS,
    Cross,
    Move,
    Ranked,
    System,
    cross_of,
    joined,
    system_of,
    worth_of,
)
from rankgauge.matching.diagnose import warn_if_nothing_found
from rankgauge.measures import AnyMeasure, Measure, parse
from rankgauge.measures.aggregates import query_table, weights_of
from rankgauge.measures.bands.bands import tie_ends
from rankgauge.measures.bands.notes import TieNote
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read import Judgments, Run, RunSource, read_judgments
from rankgauge.read.blocks import Streamed
from rankgauge.read.named import named
from rankgauge.read.side_by_side import side_by_side
from rankgauge.result.evaluation import ignored_sample
from rankgauge.sampling.design import Design, Per, sample_given
from rankgauge.stats.inference import Population
from rankgauge.validation.labels import doubts_of_labels

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools

__all__ = ["LOSSES", "PARTS", "Cross", "Funnel", "Harm", "Move", "Point", "System", "funnel"]

_Key: TypeAlias = tuple[str, ...]  # of a run: the name of a retriever, or of that and of a reranker
BETWEEN = "+"  # stands between the names of a retriever and a reranker


def funnel(
    judgments: Any,
    *,
    retrieved: Any,
    reranked: Any,
    measure: AnyMeasure = "nDCG@10",
    recall_depth: int = 100,
    candidates: int | None = None,
    restrict: bool = False,
    protocol: Protocol | Rules = DEFAULT,
    weights: Any = None,
    sample: Any = None,
    per: Per = "search",
    population: Population | None = None,
    clusters: Any = None,
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int = 0,
    memory: int | str | None = None,
) -> Funnel:
    """Tell a retriever and its rerankers apart.

    `retrieved` is the run whose documents are the candidates (its first `candidates`, or all), `reranked` maps names to
    runs that order them anew. A reranked document that is no candidate is an error; `restrict` drops it. Recall is
    taken at `recall_depth`. With several retrievers (name → run), reranked runs are named "retriever+reranker"; two ×
    two are attributed, the first of each being the old one. `sample`, `per` and `population` are those of `compare`:
    means are per search or per query of the log that the sample was drawn from. `resamples` does nothing. Of large
    runs, as many queries at a time are held as take `memory` (as `evaluate` has it); the others wait in temporary
    files.

    >>> found = funnel({"q": {"a": 3, "b": 1}}, retrieved={"q": ["b", "c"]}, reranked={"x": {"q": ["c", "b"]}})
    >>> {part: round(each.value, 3) for part, each in found["x"].items() if part in PARTS}
    {'value': 0.174, 'unknown': 0.102, 'misranked': 0.0, 'not_retrieved': 0.725, 'no_relevant': 0.0}
    """
    protocol = Protocol.of(protocol)
    check_fit(protocol)
    wanted = parse(str(measure))
    _check_numbers(recall_depth=recall_depth, candidates=candidates)
    if not 0 < alpha < 1:
        raise InputError(f"alpha={alpha!r}: a level lies between 0 and 1")
    if resamples is not None:
        warn("resamples are no longer made: intervals are those of the sign-flip test; leave it out")
    sources, second = _stage(retrieved, "retrieved", memory), _stage(reranked, "reranked", memory)
    cells = _cells(list(sources), list(second))
    _refuse_unused(list(sources), cells)
    labels = read_judgments(judgments)
    drawn = None if sample is None and population is None else sample_given(sample, weights, per, population)
    design = None if drawn is None else Design.of(drawn, labels.queries, per, population)
    labels = labels if design is None else labels.only(set(design.queries))
    runs: dict[_Key, Run | Streamed] = {(name,): run.opened(protocol) for name, run in sources.items()}
    for name, cell in sorted(cells.items(), key=lambda each: list(sources).index(each[1][0])):
        runs[cell] = second[name].opened(protocol)
    systems = _measured(labels, runs, wanted, protocol, recall_depth, candidates, restrict=restrict)
    named = {system.name: system for system in systems.values()}
    sampling = _sampling(next(iter(named.values())), weights, design, clusters, alpha, seed)
    ties = [*_tie_bands(named, wanted, sampling)]
    for tie in ties:
        warn(_tie_warning(tie))
    plain = runs if sample is None and weights is None else {}
    notes = [*_sample_lines(sampling.design), *_cautions(labels, runs, plain, sampling.design), *_tie_line(ties)]
    notes += [*_notes_of(named, recall_depth, candidates), *_missing_cell(systems)]
    return Funnel(wanted, recall_depth, candidates, protocol, named, sampling, cross_of(systems, list(sources)), notes)


def _measured(
    labels: Judgments,
    runs: Mapping[_Key, Run | Streamed],
    measure: Measure,
    protocol: Protocol,
    depth: int,
    candidates: int | None,
    *,
    restrict: bool,
) -> dict[tuple[str, str], System]:
    """Every reranked run beside its candidates, as many queries at a time as memory has room for."""
    cells = [(key[0], key[1]) for key in runs if len(key) > 1]
    retrievers = dict.fromkeys(cell[0] for cell in cells)
    several = len(retrievers) > 1
    found: dict[tuple[str, str], list[System]] = {cell: [] for cell in cells}
    outside: dict[tuple[str, str], Outside] = {}
    with side_by_side(runs, labels.queries) as beside:
        judged = judged_in_all(labels, beside.runs.values(), protocol)
        for key, run in beside.runs.items():
            check_answers(judged, run, protocol, second=len(key) > 1)
        for queries, rows in beside:
            some = judged.only(set(queries))
            if not len(some):
                continue
            first = {name: first_stage(some, name, rows[name,], protocol, candidates) for name in retrievers}
            worth = worth_of(measure, next(iter(first.values())).hits)
            for cell in cells:
                name = BETWEEN.join(cell) if several else cell[1]
                stage, more = second_stage(some, name, rows[cell], protocol, first[cell[0]])
                outside[cell] = outside[cell].plus(more) if cell in outside else more
                found[cell].append(system_of(name, first[cell[0]], stage, more.documents, worth, depth))
        for cell in cells:
            check_candidates(outside[cell], runs[cell].source, cell[0], restrict=restrict)
        systems = {cell: joined(found[cell]) for cell in cells}
        for name in retrievers:
            hits = next(each.first.hits for cell, each in systems.items() if cell[0] == name)
            warn_if_nothing_found(judged, beside.runs[name,], hits)
    return systems


def _refuse_unused(retrievers: list[str], cells: Mapping[Any, tuple[str, str]]) -> None:
    unused = [str(name) for name in retrievers if name not in {retriever for retriever, _ in cells.values()}]
    if unused:
        raise InputError(
            f"no reranked run is named after {' and '.join(unused)}: give {unused[0]}{BETWEEN}RERANKER too, or leave "
            f"the retrieved run {unused[0]} out"
        )


def _check_numbers(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
            raise InputError(f"{name}={number!r}: give a whole number, 1 or more")


def _stage(runs: Any, default: str, memory: int | str | None) -> dict[Any, RunSource]:
    """Name → run; a run alone that has no name gets the usual one."""
    found = named(runs, alone=default)
    if not found:
        raise InputError(f"{default}: there is no run; give one")
    return {name: RunSource.of(run).within(memory) for name, run in found.items()}


def _cells(retrievers: list[Any], names: list[Any]) -> dict[Any, tuple[str, str]]:
    """Name of a reranked run → its retriever and its reranker."""
    found: dict[Any, tuple[str, str]] = {}
    for name in names:
        if isinstance(name, tuple) and len(name) == 2:
            cell = (str(name[0]), str(name[1]))
        elif len(retrievers) == 1:
            cell = (str(retrievers[0]), str(name))
        else:
            cell = _split(str(name), retrievers)
        if cell[0] not in retrievers:
            raise InputError(unknown(f"{name!r}: there is no retrieved run {cell[0]!r}", cell[0], retrievers))
        found[name] = cell
    return found


def _split(name: str, retrievers: list[str]) -> tuple[str, str]:
    """bm25+bert → bm25, bert: the longest name of a retriever that it begins with."""
    fitting = [each for each in retrievers if name.startswith(each + BETWEEN) and len(name) > len(each) + 1]
    if not fitting:
        raise InputError(
            f"{name}: with several retrieved runs, name each reranked run after its own, as in "
            f"{retrievers[0]}{BETWEEN}{name}=FILE; the retrieved runs are {', '.join(retrievers)}"
        )
    longest = max(fitting, key=len)
    return longest, name.removeprefix(longest + BETWEEN)


def _sampling(system: System, weights: Any, design: Design | None, clusters: Any, alpha: float, seed: int) -> Sampling:
    queries = system.query_ids
    if not queries:
        raise InputError("no query has a relevant document, and empty='skip' leaves such queries out")
    counts = None if weights is None else weights_of(weights, queries)
    if design is not None:
        design = replace(design, queries=[*system.first.hits.queries])
        counts = design.weights(queries)
    belonging = None if clusters is None else cluster_numbers(queries, query_table(clusters, "cluster"))
    return Sampling(counts, belonging, alpha, seed, design)


# ---- what to know, a line each ---------------------------------------------------------------------------------------


def _sample_lines(design: Design | None) -> list[str]:
    """Which mean it is, and of which sample."""
    return [] if design is None else [f"Means are per {design.per}. {design.words}"]


def _cautions(
    labels: Judgments, runs: Mapping[_Key, Run | Streamed], plain: Mapping[_Key, Run | Streamed], design: Design | None
) -> Iterator[str]:
    """Why not to trust labels and means: those of `plain` runs, for which neither a sample nor weights were given."""
    models = {key[1]: [*chain.from_iterable(run.models.values())] for key, run in runs.items() if len(key) > 1}
    made_for: dict[str, str] = {}
    for key, run in plain.items():
        made_for.setdefault(run.stored.get("sample", ""), BETWEEN.join(key))
    doubts = doubts_of_labels(labels, models)
    doubts += [ignored_sample(name, sample) for sample, name in made_for.items() if sample]
    doubts += [] if design is None else design.doubts()
    for doubt in doubts:
        yield f"Caution: {doubt.text} ({doubt.code})."


MOST_CANDIDATES: Final = 0.95  # of the candidates, below which a reranked run is said to hold fewer of them


def _notes_of(systems: Mapping[str, System], depth: int, candidates: int | None) -> Iterator[str]:
    """Everything worth a line."""
    if candidates is not None and candidates < depth:
        yield f"R@{depth} is that of {counted(candidates, 'candidate')}: what lies deeper was not given to rerankers."
    for system in {system.retriever: system for system in systems.values()}.values():
        missing = system.first.hits.retrieved == 0
        yield from _unanswered(
            system.first, "no candidates: all of it counts as not retrieved", missing & _graded(system)
        )
    for system in systems.values():
        yield from _of_system(system)


def _missing_cell(cells: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Of two retrievers × two rerankers three are there: which run would let each change be attributed."""
    there = set(cells)
    retrievers, rerankers = (sorted({cell[at] for cell in there}) for at in (0, 1))
    if len(retrievers) == 2 and len(rerankers) == 2 and len(there) == 3:
        ((retriever, reranker),) = set(product(retrievers, rerankers)) - there
        run = f"{retriever}{BETWEEN}{reranker}"
        yield f"With {run} too, what each retriever and each reranker brings would be attributed; that run is missing."


def _tie_bands(systems: Mapping[str, System], measure: Measure, sampling: Sampling) -> Iterator[TieNote]:
    """The runs of which equal scores decide about more than 0.005, or about more than the lift."""
    lifts: dict[tuple[bool, str], list[float]] = {}
    stages: dict[tuple[bool, str], Ranked] = {}
    for system in systems.values():
        for stage in (system.first, system.second):
            key = (stage is system.first, stage.name)  # several systems have the candidates of one retriever
            stages[key] = stage
            lifts.setdefault(key, []).append(abs(sampling.mean(system.of("lift"))))
    chosen = next(iter(systems.values())).chosen
    for key, stage in stages.items():
        low, high = (sampling.mean(end[chosen]) for end in tie_ends(stage.hits, measure))
        share = float((stage.hits.tied > 1).mean()) if len(stage.hits) else 0.0
        note = TieNote(stage.name, measure, sampling.mean(measure(stage.hits)[chosen]), low, high, share)
        if f"{low:.4f}" != f"{high:.4f}" and (note.wide or high - low > min(lifts[key])):
            yield note


def _tie_warning(note: TieNote) -> str:
    """The sentence for such a run."""
    return (
        f"{note.run}: {note.measure} is {note.value:.4f} only by the order of equal scores, which could give "
        f"{note.range}; hold the lift against that, break ties where the run is made (see rankgauge eval --tie-band)"
    )


def _tie_line(notes: Sequence[TieNote]) -> Iterator[str]:
    """The line below the tables."""
    if notes:
        bands = ", ".join(f"{note.range} ({note.run})" for note in notes)
        yield f"Caution, ties: another order of equal scores gives {notes[0].measure} {bands}."


def _of_system(system: System) -> Iterator[str]:
    second = system.second
    if second.dropped:
        documents = counted(second.dropped, "reranked document")
        yield f"{system.name}: {documents} dropped, being no candidates of {system.retriever}."
    missing = (second.hits.retrieved == 0) & (system.first.hits.retrieved > 0)
    yield from _unanswered(second, "a value of 0", missing & _graded(system))
    before, after = (float(stage.hits.retrieved.sum()) for stage in (system.first, second))
    if before and after < MOST_CANDIDATES * before:
        deepest = int(second.hits.retrieved.max(initial=0))
        first_only = second.deepest <= deepest  # all that was reranked
        saw = f" If it saw only the first {deepest:,}, say --candidates {deepest}." if first_only else ""
        yield f"{system.name} holds {after / before:.1%} of the candidates of {system.retriever}.{saw}"


def _graded(system: System) -> Bools:
    """The queries that count and have a relevant document: of the others the rules say what they are worth."""
    return system.chosen & ~system.worth.empty


def _unanswered(stage: Ranked, what: str, missing: Bools) -> Iterator[str]:
    """The queries that a stage does not answer, and what becomes of them."""
    at = np.flatnonzero(missing).tolist()
    if at:
        named = ", ".join(stage.hits.queries[each] for each in at[:3]) + (", …" if len(at) > 3 else "")
        yield f"{stage.name} has {counted(len(at), 'judged query', 'judged queries')} with {what} ({named})."
