"""`/funnel`: retriever and reranker apart, as `rankgauge funnel` has it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice, permutations
from typing import TYPE_CHECKING, Final

from rankgauge.errors import InputError
from rankgauge.explanation.funnel.stages import check_fit
from rankgauge.reports.found import funnel_lead
from rankgauge.show.model import Section, Text
from rankgauge.web.view import Control, View, address, choice, measure_controls

if TYPE_CHECKING:
    from rankgauge.explanation.funnel.outcome import Funnel
    from rankgauge.web.site import Answer, Site

__all__ = ["funnel_page"]

LOOKED_AT: Final = 5  # queries that tell whether a run may be a reranking of another one
CHOOSE: Final = (
    "A funnel has two stages: a retriever finds documents, and a reranker orders them anew, so that its run holds "
    "nothing that the retriever did not find."
)
NONE: Final = (
    "No run here looks like a reranking of another one: choose the two stages, or serve the retriever’s run, too."
)


def funnel_page(
    site: Site, retrieved: str = "", reranked: str = "", measure: str = "", candidates: str = "", restrict: bool = False
) -> View:
    """What the retriever found, and what the reranker made of it."""
    collection, wanted = site.collection, site.measure(measure)
    known = list(collection.runs)
    if len(known) < 2:
        raise InputError(f"there is only one run, {known[0]}; a funnel needs that of a retriever and a reranked one")
    check_fit(collection.protocol)
    number = _number(candidates)
    first, second = _chosen(site, retrieved, reranked)
    crumbs = [("Leaderboard", address("/", measure=wanted))]
    controls = [
        choice("Retrieved", "retrieved", known, first, "" if first else "choose"),
        choice("Reranked", "reranked", known, second, "" if second else "choose"),
        *measure_controls(wanted),
    ]
    stages = {"retrieved": first, "reranked": second}
    if not first or not second or first == second:
        problem = f"{first} is not a reranking of itself; choose another run." if first and second else NONE
        words = [Text(CHOOSE, "lead"), Text(problem, "note")]
        return View(
            "Funnel",
            lambda: stages | {"problem": problem},
            [Section("funnel", "", words)],
            subtitle="retriever and reranker", crumbs=crumbs, controls=controls,
        )  # fmt: skip
    answer = site.funnel(first, second, wanted, number, restrict)
    funnel: Funnel | None = answer.value
    found = funnel.to_dict if funnel is not None else lambda: {"problem": answer.problem}
    return View(
        f"{first} → {second}",
        lambda: stages | found(),
        _sections(funnel, answer),
        subtitle="retriever and reranker",
        crumbs=crumbs,
        controls=[*controls, *_which(candidates, restrict)],
        pending=["funnel"] if answer.pending else [],
    )


def _number(candidates: str) -> int | None:
    """How many candidates; all where nothing is said."""
    if not candidates:
        return None
    if not (candidates.isascii() and candidates.isdigit() and 0 < int(candidates[:10]) < 10**9):
        raise InputError(f"candidates: {candidates[:40]!r} is no whole number of 1 or more")
    return int(candidates)


def _which(candidates: str, restrict: bool) -> Iterator[Control]:
    """Which documents are candidates, and what becomes of others."""
    yield Control("Candidates, if not all", "candidates", candidates)
    yield Control("Restrict to candidates", "restrict", "true" if restrict else "", {"": "no", "true": "yes"})


def _sections(funnel: Funnel | None, answer: Answer) -> list[Section]:
    if funnel is not None:
        return [Section("answer", "", [Text(funnel_lead(funnel), "lead")]), *funnel.sections()]
    if answer.problem:
        problem = Text(f"This is no funnel: {answer.problem.rstrip('.')}.", "warn")
        return [Section("funnel", "", [Text(CHOOSE, "lead"), problem])]
    return [Section("funnel", "", [Text("Taking the stages apart …", "computing")])]


# ---- which two -------------------------------------------------------------------------------------------------------


def _chosen(site: Site, retrieved: str, reranked: str) -> tuple[str, str]:
    """The stages that are asked for; one that is not is that of a funnel, if there is one, or nothing."""
    for name in filter(None, (retrieved, reranked)):
        site.collection.run(name)
    if retrieved and reranked:
        return retrieved, reranked
    fitting = (each for each in _funnels(site) if retrieved in ("", each[0]) and reranked in ("", each[1]))
    return next(fitting, (retrieved, reranked))


def _funnels(site: Site) -> Iterator[tuple[str, str]]:
    """Retriever and reranker: what is known, then what the runs look like."""
    runs = site.collection.runs
    for reranked, retrieved in site.files.stages().items():
        if reranked in runs and retrieved in runs:
            yield retrieved, reranked
    found = cache(lambda name, query: set(runs[name].run_of(query).nested.get(query, ())))
    for first, second in permutations(runs, 2):
        answered = (query for query in site.collection.judgments.queries if query in runs[second].place)
        queries = [*islice(answered, LOOKED_AT)]
        if queries and all(found(second, query) <= found(first, query) for query in queries):
            yield first, second
