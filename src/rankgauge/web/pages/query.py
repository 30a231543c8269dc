"""`/query`: one value explained: the ranked list beside the ideal, and what would become of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rankgauge.explanation.query.explain import explained
from rankgauge.explanation.query.ranking import ranking_of_query
from rankgauge.explanation.query.terms import check_explainable
from rankgauge.show.cells import minus, number_text
from rankgauge.show.explained import with_text
from rankgauge.show.marking import words_of
from rankgauge.web.cards import Card, Cards, cards_of, ranked_cards
from rankgauge.web.view import View, address, choice, measure_controls
from rankgauge.web.what_if import WhatIf

if TYPE_CHECKING:
    from rankgauge.explanation.query.explanation import Explanation
    from rankgauge.measures import Measure
    from rankgauge.web.served import Collection
    from rankgauge.web.site import Site

__all__ = ["Explained", "Lists", "lists_of", "query_page"]

TOP: Final = 5  # changes that would raise the value


class Explained(NamedTuple):
    """What the component of ranked cards shows: the cards, against what they are changed, and where each change leads.

    `after` makes the address of further changes, `grades` are those that can be given, `at` is the address of what is
    shown, `as_it_was` that of what it was before any change.
    """

    cards: Cards
    run: str
    grades: list[str]
    at: str
    after: Callable[[WhatIf], str]
    as_it_was: str = ""
    before: str = ""
    change: str = ""

    @property
    def is_what_if(self) -> bool:
        """Whether anything is changed."""
        return bool(self.as_it_was)


def query_page(
    site: Site,
    query: str,
    run: str = "",
    measure: str = "",
    what_if: WhatIf | None = None,
    *,
    top: int = TOP,
) -> View:
    """One query of one run; with what is changed about it, if anything is."""
    collection, wanted, changed = site.collection, site.measure(measure), what_if or WhatIf()
    check_explainable(wanted)
    collection.check_query(query)
    name = collection.run(run or next(iter(collection.runs))).name
    explanation, cards = _cards(collection, query, name, wanted, changed, top)
    here = partial(address, "/query", query=query, run=name, measure=wanted)
    known = _as_it_was(collection, query, name, wanted, explanation) if changed != WhatIf() else {}
    shown = Explained(
        cards,
        name,
        collection.grades,
        here(**changed.parameters),
        lambda more: here(**changed.and_then(more).parameters),
        here() if known else "",
        **known,
    )
    queries = collection.run(name).hits.queries
    return View(
        collection.queries.get(query) or query,
        lambda: explanation.to_dict() | {"what_if": changed.parameters if known else None},
        template="query.html",
        badge=collection.groups.get(query, ""),
        crumbs=[
            ("Leaderboard", address("/", measure=wanted)),
            (name, address("/run", run=name, measure=wanted)),
            (query, ""),
        ],
        controls=[choice("System", "run", collection.runs, name), *measure_controls(wanted)],
        more={"explained": shown, "what_if": "/query/what-if", **_neighbours(query, queries, name, wanted)},
    )


def _cards(
    collection: Collection, query: str, name: str, measure: Measure, what_if: WhatIf, top: int
) -> tuple[Explanation, Cards]:
    """The value as it would be, by the code of `explain`."""
    protocol = collection.protocol
    judgments, ranked = what_if.of(collection.judgments, collection.run(name).run_of(query), query, protocol)
    ranking = ranking_of_query(judgments, ranked, query, protocol)
    explanation = explained(ranking, measure, protocol, top=top, name=name)
    if not ranking.given:
        nothing = "this query has no judgments, so that there is nothing to measure; grade documents to see"
        explanation = replace(explanation, notes=(nothing, *explanation.notes))
    words = words_of(collection.queries.get(query, ""))
    return explanation, cards_of(explanation, ranking, measure, collection.documents, words, what_if)


def _as_it_was(collection: Collection, query: str, name: str, measure: Measure, now: Explanation) -> dict[str, Any]:
    """The value without any change, and how far it is from it."""
    before, _ = _cards(collection, query, name, measure, WhatIf(), 0)
    change = number_text(now.value - before.value, sign=True)
    return {"before": minus(number_text(before.value)), "change": minus(change)}


def _neighbours(query: str, queries: list[str], run: str, measure: Measure) -> dict[str, Any]:
    """The queries before and after this one, and which of how many it is."""
    if query not in queries:
        return {"place": "", "previous": "", "next": ""}
    at = queries.index(query)
    to = partial(address, "/query", run=run, measure=measure)
    return {
        "place": f"{at + 1:,} of {len(queries):,}",
        "previous": to(query=queries[at - 1]) if at else "",
        "next": to(query=queries[at + 1]) if at + 1 < len(queries) else "",
    }


# ---- two rankings of one query ---------------------------------------------------------------------------------------


class Lists(NamedTuple):
    """Rankings side by side, each with its name and its value; `named` says how a document is called in a table."""

    title: str
    lists: list[tuple[str, str, list[Card], str]]
    named: Callable[[str], str]


def lists_of(site: Site, query: str, explanations: Sequence[Explanation]) -> Lists:
    """Two rankings, the baseline first; every document says where it stands in the other."""
    collection = site.collection
    old, new = explanations
    words = words_of(collection.queries.get(query, ""))
    made = [
        (
            each.run,
            minus(number_text(each.value)),
            ranked_cards(each, collection.documents, words, other),
            address("/query", query=query, run=each.run, measure=each.measure),
        )
        for each, other in ((old, new), (new, old))
    ]
    texts = {doc: each.title or each.text for doc, each in collection.documents.items()} if collection.documents else {}
    named = partial(with_text, texts=texts) if texts else str
    return Lists(collection.queries.get(query) or query, made, named)
