"""Values × systems → Comparison: which differences are real, how large they are, and what the set could detect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgauge.comparison.comparison import Compared, Comparison, System
from rankgauge.comparison.doubts import (
    doubts_of_answers,
    doubts_of_family,
    doubts_of_groups,
    doubts_of_pairs,
    doubts_of_results,
    doubts_of_sample,
)
from rankgauge.comparison.pairs import Family, compare_groups, compare_pairs
from rankgauge.comparison.settings import Also, Method, Settings
from rankgauge.comparison.value_tables import on_judgments, values_of_tables
from rankgauge.comparison.values import (
    Values,
    speaking_of,
    values_of_results,
    with_clusters,
    with_sample,
    without_weightless,
)
from rankgauge.comparison.verdict import OPPOSITE
from rankgauge.errors import Doubt, InputError
from rankgauge.evaluate import evaluate_runs
from rankgauge.measures import AnyMeasure
from rankgauge.measures.aggregates import groups_of, masks_of, query_table, weights_of
from rankgauge.measures.parser import measure_text
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read.named import named
from rankgauge.result import Evaluation, Result

if TYPE_CHECKING:
    from rankgauge.dialects import Dialect
    from rankgauge.read import Judgments
    from rankgauge.sampling.design import Per
    from rankgauge.sampling.sample import Sample
    from rankgauge.stats.inference import Population

__all__ = [
    "Comparison", "Settings", "Values", "compare", "compare_results", "compare_tables", "compare_values",
    "refuse_rules", "with_doubts",
]  # fmt: skip


def compare(
    judgments: Any,
    runs: Any,
    measures: AnyMeasure | Iterable[AnyMeasure] | None = None,
    *,
    baseline: str | None = None,
    method: Method | None = None,
    also: Also | Iterable[Also] = (),
    margin: float | None = None,
    rope: float | None = None,
    alpha: float = 0.05,
    flips: int = 100_000,
    seed: int = 0,
    protocol: Protocol | Rules = DEFAULT,
    dialect: str | Dialect | None = None,
    weights: Any = None,
    by: Any = None,
    clusters: Any = None,
    sample: Any = None,
    per: Per = "search",
    population: Population | None = None,
    memory: int | str | None = None,
    jobs: int | None = None,
) -> Comparison:
    """Compare systems on the same queries: every pair of them, or each against the baseline.

    `runs` maps the name of each system to its run, or is a list of paths, which are named by their stem. With
    judgments=None these are Results, by names or in a list, or a table of values: a path, a frame, or system → query →
    value. The sign-flip test of each pair decides about it; the p that is
    adjusted for all pairs stands beside it, or decides, where a `method` is given. `also` names what else to show. The
    measure is nDCG@10 unless said otherwise; `weights`, `by` (groups) and `clusters` (queries that belong together) are
    by query. `sample` is what `rankgauge.sample` drew, or the file of it: means and differences are `per` search or
    query of its log, and intervals and p speak of a `population`: this log, or future searches like those in it.
    `protocol`, `dialect`, `memory` and `jobs` (see `evaluate_runs`) are for runs; of a table, `missing="skip"` leaves
    queries out that lack a value.
    """
    also = (also,) if isinstance(also, str) else tuple(also)
    settings = Settings(baseline, method, also, alpha, margin, rope, flips, seed)
    wanted = _measures(measures)
    belonging = None if clusters is None else query_table(clusters, "cluster")
    protocol, drawn = Protocol.of(protocol), None
    if sample is not None:
        from rankgauge.sampling.design import sample_given

        drawn = sample_given(sample, weights, per)
    if judgments is None:
        listed = runs.values() if isinstance(runs, Mapping) else runs if isinstance(runs, list | tuple) else ()
        of_results = bool(listed) and all(isinstance(each, Result) for each in listed)
        refuse_rules(protocol, dialect, "results" if of_results else "values")
        about: dict[str, Any] = {"weights": weights, "groups": groups_of(by, None), "clusters": belonging}
        about |= {"sample": drawn, "per": per, "population": population}
        if of_results:
            results = _several(runs)
            if sample is not None or weights is not None:
                results = {name: replace(each, ignored_sample="") for name, each in results.items()}
            return compare_results(results, settings, wanted, **about)
        tables = runs if isinstance(runs, list) else [runs]
        return compare_tables(tables, wanted, settings, skip=protocol.missing == "skip", **about)
    evaluation = evaluate_runs(
        judgments, _several(runs), wanted or "nDCG@10", protocol=protocol, dialect=dialect, weights=weights, by=by,
        sample=sample if drawn is None else drawn, per=per, population=population, memory=memory, jobs=jobs,
    )  # fmt: skip
    return compare_results(evaluation, settings, clusters=belonging)


def compare_results(
    results: Mapping[str, Result], settings: Settings, measures: Sequence[str] | None = None, **about: Any
) -> Comparison:
    """Compare Results that rest on the same judgments and rules; their own weights and groups, or those given `about`
    queries (as for `compare_values`)."""
    made = compare_values(values_of_results(_several(results), measures), settings, **about)
    return with_doubts(made, Evaluation.of(results))


def with_doubts(made: Comparison, evaluation: Evaluation) -> Comparison:
    """The comparison of values with what the Results behind them say: equal scores, judged shares, labels."""
    apart = len({result.hits.answered.tobytes() for result in evaluation.values()}) > 1
    main = evaluation.first.measure(next(iter(made.measures)))
    unequal = doubts_of_answers(evaluation, main) if apart else ()
    doubts = [*unequal, *made.warnings, *evaluation.source_doubts]
    for name, compared in made.measures.items():
        doubts += doubts_of_results(evaluation, evaluation.first.measure(name), compared.pairs)
    return replace(made, warnings=list(dict.fromkeys(doubts)), evaluation=evaluation)


def compare_tables(
    tables: Sequence[Any],
    measures: Sequence[str] | None,
    settings: Settings,
    *,
    skip: bool = False,
    judgments: Judgments | None = None,
    **about: Any,
) -> Comparison:
    """Compare values from tables; `skip` leaves queries out that lack one, `judgments` are what they should rest on."""
    values = values_of_tables(tables, measures, skip=skip)
    if judgments is not None:
        values = {name: on_judgments(each, judgments) for name, each in values.items()}
    return compare_values(values, settings, **about)


def refuse_rules(protocol: Protocol, dialect: Any, what: str) -> None:
    """Values and results are there already: no rule can change them, but that a table may skip what lacks a value."""
    usual = DEFAULT.to_dict() | ({"missing": protocol.missing} if what == "values" else {})
    rules = [f"{rule}={value}" for rule, value in protocol.to_dict().items() if value != usual[rule]]
    rules += [] if dialect is None else [f"dialect={getattr(dialect, 'name', dialect)}"]
    if rules:
        raise InputError(
            f"{', '.join(rules)}: {what} were computed before, and rules can change them no more; leave this out, or "
            "give judgments and runs"
        )


def compare_values(
    values: Mapping[str, Values],
    settings: Settings,
    *,
    weights: Any = None,
    groups: Mapping[str, str] | None = None,
    clusters: Mapping[str, Any] | None = None,
    sample: Sample | None = None,
    per: Per = "search",
    population: Population | None = None,
) -> Comparison:
    """Compare the systems of every table of values, with what is known of their queries beside what they say."""
    measures: dict[str, Compared] = {}
    doubts: list[Doubt] = []
    for name, each in values.items():
        if weights is not None:
            each = replace(each, weights=weights_of(weights, each.queries))
        if groups is not None:
            each = replace(each, groups=masks_of(groups, each.queries))
        each = speaking_of(with_sample(each, sample, per), population)
        each = without_weightless(with_clusters(each, clusters))
        if len(each.systems) < 2:
            raise InputError(f"there is only one system, {each.systems[0]}; a comparison needs two or more")
        family, parts = compare_pairs(each, settings), compare_groups(each, settings)
        within = {group: _compared(each.only(each.groups[group]), part, settings) for group, part in parts.items()}
        measures[name] = replace(_compared(each, family, settings), groups=within)
        doubts += [
            *doubts_of_sample(each),
            *doubts_of_pairs(each, family.pairs),
            *doubts_of_family(name, family, settings),
        ]
        doubts += _doubts_of_groups(name, within, settings)
    return Comparison(measures, settings, list(dict.fromkeys(doubts)))


def _doubts_of_groups(measure: str, groups: Mapping[str, Compared], settings: Settings) -> Iterator[Doubt]:
    """What to doubt in single groups, and in the family that all of them are."""
    if not groups:
        return
    named = {name: replace(each.values, measure=f"{measure}, {name}", dropped={}) for name, each in groups.items()}
    yield from doubts_of_groups({name: [*doubts_of_pairs(named[name], groups[name].pairs)] for name in groups})
    first, *_ = groups.values()
    together = Family([pair for each in groups.values() for pair in each.pairs], first.flips, first.exact)
    yield from doubts_of_family(f"{measure}, groups", together, settings)


def _compared(values: Values, family: Family, settings: Settings) -> Compared:
    counts = {name: dict.fromkeys(OPPOSITE, 0) for name in values.systems}
    for pair in family.pairs:
        counts[pair.a][pair.decision] += 1
        counts[pair.b][OPPOSITE[pair.decision]] += 1
    systems = {
        name: System(mean, (low, high), *counts[name].values())
        for name, (mean, low, high) in values.intervals(settings.alpha).items()
    }
    return Compared(values, systems, family.pairs, family.flips, family.exact, effective=values.drawn.effective)


def _measures(measures: Any) -> list[str] | None:
    """The measures as they were written; None where none was."""
    several = isinstance(measures, Iterable) and not isinstance(measures, str)
    return None if measures is None else [measure_text(each) for each in (measures if several else [measures])]


def _several(runs: Any) -> dict[str, Any]:
    found = named(runs)
    if len(found) < 2:
        raise InputError(f"there is only one system ({', '.join(found) or 'none'}); a comparison needs two")
    return found
