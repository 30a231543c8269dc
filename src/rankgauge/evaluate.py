"""The pipeline: read → match → measure → Result. Every command, comparison, report and gate goes through it.

evaluate        one run → Result
evaluate_runs   several runs on one set of judgments → Evaluation: name → Result
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rankgauge.errors import InputError, MatchError, MeasureError, ProtocolError, warn
from rankgauge.matching.hits import Hits
from rankgauge.matching.match import match
from rankgauge.measures import AnyMeasure, Measure, parse, parse_all
from rankgauge.measures.aggregates import groups_of, masks_of, query_table, weights_of
from rankgauge.protocol import DEFAULT, Duplicates, Protocol, Rules
from rankgauge.read import Judgments, JudgmentsSource, RunSource, read_judgments
from rankgauge.read.formats import bare_name
from rankgauge.read.named import Runs, named, named_one
from rankgauge.read.readers import check_mapped
from rankgauge.result import Evaluation, Result
from rankgauge.validation.quick import peek

if TYPE_CHECKING:
    from rankgauge.dialects import Dialect
    from rankgauge.dialects.dialect import Owned
    from rankgauge.dtypes import Floats
    from rankgauge.jobs import Answer
    from rankgauge.read import Run
    from rankgauge.read.blocks import Streamed
    from rankgauge.sampling.design import Per
    from rankgauge.sampling.sample import Sample
    from rankgauge.stats.inference import Population

__all__ = ["dialect_under", "evaluate", "evaluate_runs", "measure_hits", "ndcg"]


def evaluate(
    judgments: Any,
    run: Any,
    measures: AnyMeasure | Iterable[AnyMeasure] = "nDCG@10",
    *,
    protocol: Protocol | Rules = DEFAULT,
    dialect: str | Dialect | None = None,
    weights: Any = None,
    by: Any = None,
    sample: Any = None,
    per: Per = "search",
    population: Population | None = None,
    name: str = "",
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates | None = None,
    memory: int | str | None = None,
) -> Result:
    """Measure a run against judgments.

    Judgments and run may be paths, frames, dicts of dicts or rows; `weights` maps queries to weights, `by` queries to
    groups (a mapping, a frame or a file with a query column; or the name of a column of the judgments frame). `sample`
    is what `rankgauge.sample` drew, or the file of it: values are then means `per` search or query of its log, of which
    `result.estimate` has the interval; "none" says that plain means are wanted of a run that was made for a sample. The
    interval is about the `population`: the "log" itself (the default), or "future" searches like those in it.
    `dialect` names another tool, whose number is then reproduced: it brings its own definitions and protocol, of which
    only `rel` can be given. `columns` maps roles (query_id, doc_id, relevance, score, rank) to the names of columns,
    where judgments and run have them; `duplicates` is the protocol's rule for a document twice in one ranking. A large
    file is read in blocks of whole queries, which take `memory` ("2GB", or a number of bytes) or less: by default a
    quarter of what is free. Where equal scores decide about more than 0.005 of a value, a RankgaugeWarning says so;
    `result.notes` has all there is to say.

    >>> evaluate({"q1": {"d1": 2, "d2": 1}}, {"q1": {"d2": 0.9, "d1": 0.4}}, "nDCG@10")["nDCG@10"]
    0.8597186998521971
    """
    name, run = named_one(run, name)
    source = RunSource.of(run, columns=columns).within(memory)
    asked = _asked(
        judgments, [source], measures, Protocol.of(protocol), dialect, weights=weights, by=by, sample=sample, per=per,
        population=population, columns=columns, duplicates=duplicates,
    )  # fmt: skip
    result = asked.of_run(name, source)
    if dialect is None and not result.quiet:
        for message in Evaluation({name: result}).warnings:
            warn(message)
    return result


def evaluate_runs(
    judgments: Any,
    runs: Runs,
    measures: AnyMeasure | Iterable[AnyMeasure] = "nDCG@10",
    *,
    protocol: Protocol | Rules = DEFAULT,
    dialect: str | Dialect | None = None,
    weights: Any = None,
    by: Any = None,
    sample: Any = None,
    per: Per = "search",
    population: Population | None = None,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates | None = None,
    memory: int | str | None = None,
    keep_going: bool = False,
    jobs: int | None = None,
) -> Evaluation:
    """Measure several runs, by their names, against one set of judgments, which is read once.

    Runs are a mapping from names, or a list of paths, which are named by their stem. The other arguments are those of
    `evaluate`. A run is read, measured and let go before the next is read. `keep_going` leaves a run out that cannot be
    read or matched, with a warning, rather than stopping at it. `jobs` files are read and matched at once, each in a
    process of its own and in `memory` of its own, with the same results, warnings and errors.

    >>> runs = {"old": {"q": {"x": 2.0, "d": 1.0}}, "new": {"q": {"d": 2.0, "x": 1.0}}}
    >>> {name: result["RR"] for name, result in evaluate_runs({"q": {"d": 1}}, runs, "RR").items()}
    {'old': 0.5, 'new': 1.0}
    """
    sources = {name: RunSource.of(run, columns=columns).within(memory) for name, run in named(runs).items()}
    asked = _asked(
        judgments, sources.values(), measures, Protocol.of(protocol), dialect, weights=weights, by=by, sample=sample,
        per=per, population=population, columns=columns, duplicates=duplicates,
    )  # fmt: skip
    results: dict[str, Result] = {}
    with _at_once(jobs, asked, sources) as answer:
        for name, each in sources.items():
            try:
                results[name] = asked.of_run(name, each, answer(name))
            except (InputError, MatchError) as error:
                if not keep_going:
                    raise
                warn(f"{name} is left out: {error}")
    if not results:
        raise InputError("no run is left: none of them can be read" if sources else "there is no run; give one")
    return Evaluation(results)


def _at_once(
    jobs: int | None, asked: _Asked, sources: dict[str, RunSource]
) -> AbstractContextManager[Callable[[str], Answer | None]]:
    """What other processes find of each run, where there are to be some; nothing otherwise."""
    if jobs is None:
        return nullcontext(lambda name: None)
    from rankgauge.jobs import matched_ahead  # whose modules are slow to import

    rules = [asked.protocol] if asked.dialect is None else asked.dialect.protocols(asked.measures)
    return matched_ahead(jobs, asked.judgments, sources, rules)


def dialect_under(dialect: str | Dialect, protocol: Protocol) -> Dialect:
    """The dialect of this name; of the rules it can be combined with the smallest relevant grade alone."""
    if protocol != replace(DEFAULT, rel=protocol.rel):
        rules = replace(protocol, rel=DEFAULT.rel)
        raise ProtocolError(f"a dialect brings its own rules; give either the dialect or {rules} (rel goes with both)")
    from rankgauge.dialects import find_dialect

    tool = find_dialect(dialect)
    return tool if protocol == DEFAULT else tool.with_rel(protocol.rel)


class _Asked(NamedTuple):
    """What is asked of every run: measures under rules, on one set of judgments.

    `about` has the weights and groups of queries, and the sample that they are.
    """

    judgments: Judgments
    measures: list[Measure]
    protocol: Protocol
    dialect: Dialect | None
    about: dict[str, Any]
    weighed: bool  # whether it was said how queries count: by weights, by a sample, or by none

    def of_run(self, name: str, source: RunSource, answer: Answer | None = None) -> Result:
        """Read a run, match it and measure it; of the run no more is kept than the Result holds, and of a large one no
        more than a block is ever read. What another process has found already is the answer."""
        judgments, source = self.judgments, source if self.dialect is None else source.kept()
        opened: list[Run | Streamed] = []  # once for each set of rules, first for the main one

        def hits_under(rules: Protocol) -> Hits:
            if answer is not None:
                return answer.hits_under(rules)
            opened.append(source.opened(rules))
            return match(judgments, opened[-1], rules)

        def kept(hits: Hits) -> dict[str, Any]:
            run = opened[0] if answer is None else answer
            own = name or (run.source if run.source == source.kind else bare_name(run.source))
            seen = peek(judgments, run, hits) if not isinstance(run, tuple) else run.peek
            ignored = "" if self.weighed else seen.stored.get("sample", "")
            return {"name": own, "judgments": judgments, "peek": seen, "ignored_sample": ignored}

        return measure_hits(hits_under, self.measures, self.protocol, self.dialect, kept, **self.about)


def _asked(
    judgments: Any,
    runs: Collection[RunSource],
    measures: AnyMeasure | Iterable[AnyMeasure],
    protocol: Protocol,
    dialect: str | Dialect | None,
    *,
    weights: Any,
    by: Any,
    sample: Any,
    per: Per,
    population: Population | None,
    columns: Mapping[str, str] | None,
    duplicates: Duplicates | None,
) -> _Asked:
    """What is asked, checked before anything large is read, and the judgments, which are."""
    protocol = protocol if duplicates is None else replace(protocol, duplicates=duplicates)
    tool = None if dialect is None else dialect_under(dialect, protocol)
    parsed = parse_all(measures, parse if tool is None else tool.written)
    about: dict[str, Any] = {"groups": groups_of(by, judgments), "per": per, "population": population}
    about["weights"] = None if weights is None else query_table(weights, "weight")
    if sample is not None or population is not None:
        from rankgauge.sampling.design import sample_given

        about["sample"] = sample_given(sample, weights, per, population)
    if columns:
        judgments = JudgmentsSource.of(judgments, columns=columns)
        check_mapped(columns, [judgments, *runs], "columns:")
    weighed = sample is not None or weights is not None
    return _Asked(read_judgments(judgments), parsed, protocol, tool, about, weighed)


def measure_hits(
    hits_under: Callable[[Protocol], Hits],
    measures: Iterable[Measure],
    protocol: Protocol,
    dialect: Dialect | None = None,
    kept: Callable[[Hits], dict[str, Any]] = lambda _: {},
    *,
    weights: Mapping[str, Any] | None = None,
    groups: Mapping[str, str] | None = None,
    sample: Sample | None = None,
    per: Per = "search",
    population: Population | None = None,
) -> Result:
    """The measures of what is matched under the rules; in a dialect under the tool's own, and rounded as it rounds.

    `kept` says what else the Result is to hold beside these Hits.
    """
    own_hits: dict[Measure, Hits] = {}
    if dialect is None:
        hits = hits_under(protocol)
        values = {measure: measure(hits) for measure in measures}
    else:
        hits, values, own_hits = _measured_by(dialect, hits_under, measures)
    result = Result(
        hits=hits,
        measured=values,
        weights=None if weights is None else weights_of(weights, hits.queries),
        groups={} if groups is None else masks_of(groups, hits.queries),
        dialect=dialect,
        own_hits=own_hits,
        **{"name": "", **kept(hits)},
    )
    return result if sample is None else result.of_sample(sample, per, population)


def _measured_by(
    dialect: Dialect, hits_under: Callable[[Protocol], Hits], measures: Iterable[Measure]
) -> tuple[Hits, dict[Measure, Floats], dict[Measure, Hits]]:
    """What was matched under a tool's rules, its values, and what each was computed of."""
    own = {measure: dialect.own(measure) for measure in measures}
    hits = {rules: hits_under(rules) for rules in dialect.protocols(own)}
    main = next(iter(hits))
    for measure, each in own.items():
        if hits[each.protocol].queries != hits[main].queries:
            one, other = sorted([each.protocol.missing, main.missing])
            raise MeasureError(
                f"{dialect.name} has missing={one} for some of these measures and missing={other} for others, such as "
                f"{measure}, and the run does not answer all queries; evaluate them one at a time"
            )
    values = {measure: each.values(each.measure(hits[each.protocol])) for measure, each in own.items()}
    _warn_of_undefined_ties(dialect, [(each, hits[each.protocol]) for each in own.values()])
    return hits[main], values, {measure: hits[each.protocol] for measure, each in own.items()}


def _warn_of_undefined_ties(dialect: Dialect, computed: list[tuple[Owned, Hits]]) -> None:
    """Say once why the order of equal scores is open, of the first measure in which it is."""
    for own, hits in computed:
        long = hits.retrieved[hits.query] > dialect.stable_up_to
        if own.undefined_ties and ((hits.tied > 1) & long).any():
            warn(f"{dialect.name}: the files hold equal scores, and their order is not defined: {own.undefined_ties}")
            return


def ndcg(
    grades: Iterable[float],
    k: int | None = None,
    *,
    gain: str | Mapping[float, float] = "linear",
    discount: str = "log2",
    ideal: Iterable[float] | None = None,
) -> float:
    """nDCG@k of grades in rank order; `ideal` are the grades of all judgments, when more were judged than retrieved.

    >>> round(ndcg([3, 2, 3, 0, 1, 2, 0, 1, 0, 2], k=10, gain="exp"), 6)
    0.936002
    """
    from rankgauge.matching.grades import hits_of_grades
    from rankgauge.measures.gains import gain_text

    text = f"nDCG(gain={gain_text(gain)},discount={discount})" + (f"@{k}" if k is not None else "")
    return float(parse(text)(hits_of_grades(grades, ideal))[0])
