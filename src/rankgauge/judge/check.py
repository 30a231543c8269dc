"""How far a judge can be trusted: it judges what people judged, and both are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from rankgauge.errors import Doubt, InputError, RankgaugeError, counted
from rankgauge.judge.asking import Progress, ask_judge
from rankgauge.judge.evaluated import evaluated
from rankgauge.judge.judged import Judged
from rankgauge.judge.pairs import Pair
from rankgauge.judge.scale import GRADED
from rankgauge.measures import parse_all
from rankgauge.protocol import DEFAULT
from rankgauge.read.named import named
from rankgauge.shown import Shown, clean
from rankgauge.store.checks import PEOPLE, add_check, agreement_words
from rankgauge.store.judgments import Judge
from rankgauge.store.sources import Address
from rankgauge.trust.judges.agree import Agreement, agree
from rankgauge.trust.judges.licence import BAR, Bar, doubt_of_check, shares_order
from rankgauge.trust.judges.sets import POLICIES, judged_once
from rankgauge.trust.judges.systems import systems_of
from rankgauge.validation.labels import doubt_of_family, same_family

if TYPE_CHECKING:
    from rankgauge.judge.config import JudgeConfig
    from rankgauge.read import Judgments, Run
    from rankgauge.store.project import Project
    from rankgauge.trust.judges.sets import Sets
    from rankgauge.trust.judges.systems import Systems

__all__ = ["JudgeCheck", "check_judge", "people_of"]


@dataclass(frozen=True, eq=False, repr=False)
class JudgeCheck(Shown):
    """A judge beside people: `agreement` of the two, and what became of the pairs (`judged`).

    `unranked` says why the project's systems are not ranked under both, `family` which are of the judge's own. A check
    below the `bar` is no licence, and `against` is what to write to check it again.
    """

    shown_by: ClassVar[str] = "checked"

    judged: Judged
    agreement: Agreement
    unranked: str = ""
    family: str = ""
    bar: Bar = BAR
    against: str = "@people"

    @property
    def title(self) -> str:
        """Who was checked, against whom."""
        return f"{self.judged.judge} checked against {self.people}"

    @property
    def people(self) -> str:
        """Whose judgments it was checked against."""
        return self.agreement.sets.judges[0]

    @property
    def lead(self) -> str:
        """The answer."""
        return agreement_words(self.judged.judge, self.found())

    @property
    def best(self) -> dict[str, str]:
        """The best system by people and by the judge, where systems were ranked and one is alone at the top."""
        systems = self.agreement.systems
        return systems.best if systems else {}

    @property
    def doubts(self) -> list[Doubt]:
        """Why not to trust the judge, or what is said of systems."""
        doubt = doubt_of_check(self.judged.judge, clean(self.found()), self.bar, self.against)
        doubts = [] if doubt is None else [doubt]
        return [*doubts, *self.judged.doubts, *([doubt_of_family(self.family)] if self.family else [])]

    def found(self) -> dict[str, Any]:
        """What is kept of it."""
        pair, systems = self.agreement.pairs[0].to_dict(), self.agreement.systems
        states = {state: self.judged.states[state] for state in ("refused", "failed")}
        return {
            "people": self.people,
            "pair_count": self.judged.pairs,
            "graded": pair["shared"],
            "queries": pair["queries"],
            **states,
            "no_answer": self.judged.open - sum(states.values()),
            "agreement": pair["agreement"],
            "kappa": pair["kappa"]["none"],
            "kappa_quadratic": pair["kappa"]["quadratic"],
            "bias": pair["bias"],
            "best": self.best,
            "same_order": shares_order(systems.orders[0]) if systems else None,
        }

    def data(self) -> dict[str, Any]:
        """What JSON holds."""
        return {
            "judge": self.judged.judge,
            **self.found(),
            **({"warnings": self.doubts} if self.doubts else {}),
            "judged": self.judged.data(),
            "agreement_in_full": self.agreement.data(),
        }


def check_judge(
    project: Project,
    judge: JudgeConfig | str,
    human: Any,
    *,
    repeats: int = 1,
    again: bool = False,
    progress: Progress | None = None,
    runs: Mapping[str, Run] | None = None,
) -> JudgeCheck:
    """Have a judge grade the pairs that people graded, compare both, and keep what came out.

    `human` is a file of judgments (or what else `evaluate` takes), "@people" or "@labels:NAME". A judge who is a name
    alone is taken by the labels that are stored. Both order the systems of `runs`, without them the last whole run of
    every system, as the loop does: by the first measure of [evaluate], over the sample that the runs were made for.
    """
    name = judge if isinstance(judge, str) else judge.name
    people, truth = people_of(project, human, name)
    pairs = [Pair(query, doc) for query, doc, _ in truth]
    setting: Judge | int
    if isinstance(judge, str):
        judged, setting = _stored(project, judge, pairs)
    else:
        judged = ask_judge(project, judge, pairs, repeats=repeats, again=again, progress=progress)
        setting = Judge(name, judged.kind, judged.settings)
    found = replace(
        _compared(project, people, truth, judged, runs),
        bar=project.bar,
        against=human if isinstance(human, str) else project.people,
    )
    if judged.stopped is None:
        with project.store(write=True) as store:
            add_check(store, setting, PEOPLE, found.found())
    return found


def people_of(project: Project, human: Any, judge: str) -> tuple[str, Judgments]:
    """What people said, and what they are called; several grades of a pair become one by the project's policy."""
    if not (isinstance(human, str) and human.startswith("@")):
        ((name, source),) = named(human, "people", alone="people").items()
        return name if name != judge else f"{name} (people)", judged_once(source, project.rule.policy)
    address = Address.of(human, project)
    truth = address.judgments()
    heard = {each for rank in truth.stored["rule"]["judges"] for each in rank}
    if judge in heard:
        others = "write @people, @labels:NAME or a file" if address.name == "labels" else "write @labels:NAME or a file"
        raise InputError(f"{human}: holds labels of {judge!r}, who cannot be checked against itself; {others}")
    return address.judge or address.name, truth


def _compared(
    project: Project, people: str, truth: Judgments, judged: Judged, runs: Mapping[str, Run] | None
) -> JudgeCheck:
    grades: dict[tuple[str, str], list[float]] = {}
    for (query, doc, _), (_, grade, _) in judged.outcomes.items():
        if grade is not None:
            grades.setdefault((query, doc), []).append(grade)
    if not grades:
        why = next(iter(judged.reasons), "there is no answer")
        raise InputError(f"{judged.judge} graded none of {counted(judged.pairs, 'pair')} ({why}); mend that, try again")
    said: dict[str, dict[str, float]] = {}
    for (query, doc), each in grades.items():
        said.setdefault(query, {})[doc] = POLICIES[project.rule.policy](each)
    agreement, unranked = agree({people: truth, judged.judge: said}), ""
    runs = _runs(project, said) if runs is None else runs
    if len(runs) > 1:
        try:
            ranked = replace(agreement, systems=_ranked(project, agreement.sets, runs))
            return JudgeCheck(judged, ranked, family=_family(project, judged, runs))
        except RankgaugeError as error:  # a run that these judgments do not fit is no reason to show nothing
            unranked = str(error)
    return JudgeCheck(judged, agreement, unranked)


def _ranked(project: Project, sets: Sets, runs: Mapping[str, Run]) -> Systems:
    """The systems under both, as the loop measures them: its queries, its weights, its measure."""
    wanted = evaluated(project)
    samples = {run.stored.get("sample") for run in runs.values()}
    sample = project.sample(name) if len(samples) == 1 and (name := next(iter(samples))) else None
    asked = [set(run.queries) for run in runs.values()]
    queries = set(sample.query_ids) if sample else set.union(*asked) if len(samples) == 1 else set.intersection(*asked)
    measure = parse_all(wanted.measures)[0]
    return systems_of(sets, runs, measure, DEFAULT, queries=queries, sample=sample, per=wanted.per)


def _family(project: Project, judged: Judged, runs: Mapping[str, Run]) -> str:
    """The systems of the judge's own model family, in words."""
    return same_family(
        project.labels(judged.judge).models, {name: run.models.get(name, ()) for name, run in runs.items()}
    )


def _runs(project: Project, queries: Mapping[str, Any]) -> dict[str, Run]:
    """The last whole run of every system that has answered any of the queries."""
    with project.store() as store:
        whole = dict.fromkeys(run.system for run in store.runs() if run.state == "whole")
    runs = {system: project.run(system) for system in sorted(whole)}
    return {system: run for system, run in runs.items() if not queries.keys().isdisjoint(run.queries)}


def _stored(project: Project, judge: str, pairs: Sequence[Pair]) -> tuple[Judged, int]:
    """What is stored of a judge about these pairs, and the number of its settings."""
    with project.store() as store:
        rows = [row for row in store.labels()[0] if row.judge == judge]
    wanted = {pair[:2] for pair in pairs}
    outcomes: dict[tuple[str, str, int], tuple[str, float | None, str | None]] = {}
    times: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if row[:2] in wanted:
            outcomes[(row.query_id, row.doc_id, times[row[:2]])] = (row.state, row.grade, None)
            times[row[:2]] += 1
    found = Judged(judge, rows[-1].kind, GRADED, len(pairs), before=len(outcomes), outcomes=outcomes)
    return found, rows[-1].setting
