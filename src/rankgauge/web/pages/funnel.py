"""`/funnel`: retriever and reranker apart, as `rankgauge funnel` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgauge.errors import InputError
from rankgauge.explanation.funnel.stages import check_fit
from rankgauge.reports.found import funnel_lead
from rankgauge.show.model import Section, Text
from rankgauge.web.view import View, address, choice, measure_controls

if TYPE_CHECKING:
    from rankgauge.web.site import Site

__all__ = ["funnel_page"]


def funnel_page(site: Site, retrieved: str = "", reranked: str = "", measure: str = "") -> View:
    """What the retriever found, and what the reranker made of it."""
    collection, wanted = site.collection, site.measure(measure)
    known = list(collection.runs)
    if len(known) < 2:
        raise InputError(f"there is only one run, {known[0]}; a funnel needs that of a retriever and a reranked one")
    check_fit(collection.protocol)
    first = collection.run(retrieved or known[0]).name
    second = collection.run(reranked or next(name for name in known if name != first)).name
    if first == second:
        raise InputError(f"{first} is not a reranking of itself; choose another run")
    answer = site.funnel(first, second, wanted)
    funnel = answer.value
    if funnel is not None:
        sections = [Section("answer", "", [Text(funnel_lead(funnel), "lead")]), *funnel.sections()]
    elif answer.problem:
        sections = [Section("funnel", "", [Text(f"This is no funnel: {answer.problem}", "warn")])]
    else:
        sections = [Section("funnel", "", [Text("Taking the stages apart …", "computing")])]
    return View(
        f"{first} → {second}",
        lambda: (
            {"retrieved": first, "reranked": second}
            | (funnel.to_dict() if funnel is not None else {"problem": answer.problem})
        ),
        sections,
        subtitle="retriever and reranker",
        crumbs=[("Leaderboard", address("/", measure=wanted))],
        controls=[
            choice("Retrieved", "retrieved", known, first),
            choice("Reranked", "reranked", known, second),
            *measure_controls(wanted),
        ],
        pending=["funnel"] if answer.pending else [],
    )
