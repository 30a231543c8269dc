"""`/compare`: two to five systems: the sentence, the difference with its interval, and the queries behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from rankgauge.errors import InputError
from rankgauge.explanation.query.explain import difference, explain
from rankgauge.show.cells import interval_column, number_text
from rankgauge.show.marks import VERDICTS, decision_mark
from rankgauge.show.model import Block, Bullets, Chart, Column, Mark, Notes, Section, Table, Text, chart_of, sentence
from rankgauge.show.sections.comparison import (
    against_table,
    details_table,
    how_decided,
    p_cells,
    p_columns,
    pairs_table,
    systems_table,
)
from rankgauge.show.sections.explanation import shares_table
from rankgauge.web.pages.query import Lists, lists_of
from rankgauge.web.site import without_results
from rankgauge.web.view import Control, View, address, choice, measure_controls

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Comparison
    from rankgauge.measures import Measure
    from rankgauge.web.site import Answer, Site

__all__ = ["compare_page", "compare_query"]

MOST: Final = 5  # systems
CHANGED: Final = 20  # queries that won most, and as many that lost most
CAUTIONS: Final = 3
MANY: Final = 12  # rows, beyond which a table is searched


def compare_page(site: Site, run: Sequence[str] = (), measure: str = "", group: str = "") -> View:
    """Systems against the first of them."""
    collection, wanted = site.collection, site.measure(measure)
    names = _chosen(site, run)
    answer = site.comparison(names, wanted, group)
    comparison: Comparison | None = answer.value
    controls = [*_systems(site, names), *measure_controls(wanted)]
    controls += [choice("Queries", "group", collection.group_names, group, "all")] if collection.groups else []
    title = f"{' and '.join(names[1:])} against {names[0]}" if len(names) == 2 else f"{len(names)} systems"
    return View(
        title,
        lambda: {"runs": names, **(comparison.to_dict() if comparison is not None else {"problem": answer.problem})},
        [*_sections(site, answer, comparison, wanted, names, group)],
        crumbs=[("Leaderboard", address("/", measure=wanted, group=group))],
        controls=controls,
        pending=["comparison"] if answer.pending else [],
        query_pages={f"changed-{name}": _query_page(names, name, wanted, group)() for name in names[1:]},
    )


def _query_page(names: Sequence[str], name: str, measure: Measure, group: str) -> Callable[..., str]:
    """Where a query is shown under the baseline and this system; the way back has the others."""
    others = [each for each in names[1:] if each != name]
    return partial(address, "/compare/query", run=[names[0], name, *others], measure=measure, group=group)


def _chosen(site: Site, run: Sequence[str]) -> list[str]:
    """The systems asked for; without any, the baseline and the one that comes next."""
    known = list(site.collection.runs)
    names = [site.collection.run(name).name for name in dict.fromkeys(run)] or known[:2]
    if len(names) == 1:
        names = [names[0], *[name for name in known if name != names[0]][:1]]
    if len(names) < 2:
        raise InputError(f"there is only one system, {names[0]}; a comparison needs two or more runs")
    if len(names) > MOST:
        raise InputError(f"{len(names)} systems are too many to look at; choose at most {MOST}")
    return names


def _systems(site: Site, names: list[str]) -> Iterator[Control]:
    """The baseline, each of the others, and one more; two that are the same change places."""
    known = list(site.collection.runs)
    for at, name in enumerate(names):
        free = known
        others = {} if at < 1 or len(names) == 2 else {"": "none"}
        yield Control("Baseline" if at == 0 else "System", "run", name, others | {each: each for each in free})
    left = [each for each in known if each not in names]
    if left and len(names) < MOST:
        yield Control("And", "run", "", {"": "–", **{each: each for each in left}})


def _sections(
    site: Site, answer: Answer, comparison: Comparison | None, measure: Measure, names: list[str], group: str
) -> Iterator[Section]:
    if comparison is None:
        words = Text("Comparing the systems …", "computing")
        problem = Text(f"Nothing can be compared: {answer.problem}.", "warn")
        yield Section("comparison", "", [problem if answer.problem else words])
        return
    pairs = comparison.first.against(comparison.baseline)
    verdicts = [Text(f"{pair.verdict}.", VERDICTS[pair.decision]) for pair in pairs]
    whole, baseline = comparison.first, comparison.baseline
    answer_table = against_table(comparison, str(measure), whole, len(whole.pairs))
    yield Section("comparison", "", [*verdicts, *_cautions(comparison), answer_table])
    for name in names[1:]:
        blocks = [*_charts(comparison, name), *_changed(site, comparison, name, measure, group)]
        yield Section(f"changed-{name}", f"{name} against {baseline}, query by query", blocks)
    if whole.groups:
        yield Section("groups", "Groups of queries", [_groups(comparison)])
    yield Section("details", "Details", [*_details(comparison, str(measure), names)])


def _cautions(comparison: Comparison) -> Iterator[Block]:
    """What could change the decision."""
    labels = [] if comparison.evaluation is None else comparison.evaluation.label_doubts
    names = comparison.first.systems if comparison.evaluation is None else comparison.evaluation.names
    others = [doubt for doubt in comparison.warnings if doubt not in labels]
    if told := [*labels, *others[:CAUTIONS]]:
        yield Bullets([sentence(doubt.text, names) for doubt in told], "warning")


def _groups(comparison: Comparison) -> Table:
    """A row for each group and system: what sets it apart from the baseline there."""
    baseline = comparison.baseline
    family = sum(len(part.pairs) for part in comparison.first.groups.values())
    rows = [
        [group, pair.queries, pair.a, part.systems[baseline].mean, part.systems[pair.a].mean, pair.difference,
         pair.interval, *p_cells(pair, family), decision_mark(pair.decision)]
        for group, part in comparison.first.groups.items()
        for pair in part.against(baseline)
    ]  # fmt: skip
    columns = [Column("group"), Column("queries", "count"), Column("system"), Column(baseline, "number")]
    columns += [Column("mean", "number"), Column("difference", "signed")]
    columns += [interval_column(comparison.settings.alpha, "difference"), *p_columns(family), Column("verdict")]
    return Table("groups", "", columns, rows, search=len(rows) > MANY)


def _details(comparison: Comparison, measure: str, names: list[str]) -> Iterator[Block]:
    """Means with intervals, every pair, and how it was decided."""
    whole = comparison.first
    yield systems_table(comparison, measure, whole)
    if len(names) > 2:
        yield pairs_table(comparison, whole.pairs, True, len(whole.pairs))._replace(caption="Every pair")
    yield details_table(comparison, whole.pairs)._replace(caption="Effect sizes, and what could be detected")
    yield Notes([*comparison.notes, how_decided(comparison)])
    alone = without_results(comparison)
    yield from [chart_of("forest", alone), *([chart_of("matrix", alone)] if len(names) > 2 else [])]


def _charts(comparison: Comparison, name: str) -> Iterator[Chart]:
    values, pair = comparison.first.values, (name, comparison.baseline)
    yield chart_of("differences", values, pair=pair, key=f"differences-{name}")
    yield chart_of("scatter", values, pair=pair, key=f"scatter-{name}")


def _changed(site: Site, comparison: Comparison, name: str, measure: Measure, group: str) -> Iterator[Block]:
    baseline = comparison.baseline
    pair = comparison.first.pair(name, baseline)
    yield Text(f"Queries: won {pair.wins:,}, lost {pair.losses:,}, tied {pair.ties:,}.")
    lost, won = comparison.first.changed(name, baseline, CHANGED)
    columns = [Column("query", "query", key="query_id"), Column("text"), Column(baseline, "number")]
    columns += [Column(name, "number"), Column("difference", "signed")]
    texts = site.collection.queries
    if not texts:
        del columns[1]
    to = _query_page([*comparison.first.systems], name, measure, group)
    for key, title, changes in (("won", "Gained most", won), ("lost", "Lost most", lost)):
        rows = [
            [Mark(query, address=to(query=query)), *([texts.get(query, "")] if texts else []), *numbers]
            for query, *numbers in changes
        ]
        if rows:
            yield Table(f"{key}-{name}", title, columns, rows)


# ---- one query -------------------------------------------------------------------------------------------------------


def compare_query(site: Site, query: str, run: Sequence[str] = (), measure: str = "", group: str = "") -> View:
    """The rankings of two systems side by side: who moved, and which document gained what.

    Of more systems than two the first two are shown; the way back has all of them.
    """
    collection, wanted = site.collection, site.measure(measure)
    collection.check_query(query)
    every = _chosen(site, run)
    names = every[:2]
    explained = [
        explain(
            collection.judgments, collection.run(name).run_of(query), query, wanted, protocol=collection.protocol,
            top=0, name=name,
        )
        for name in names
    ]  # fmt: skip
    old, new = explained
    found = difference(new, old)
    lists: Lists = lists_of(site, query, [old, new])
    words = f"{names[1]} − {names[0]}: {number_text(found.points, sign=True)} {wanted}."
    blocks = [shares_table(found, lists.named)._replace(caption="Documents behind the difference")]
    return View(
        lists.title,
        lambda: found.to_dict(),
        [Section("shares", "Which document gained what", blocks)],
        template="side_by_side.html",
        crumbs=[("Compare", address("/compare", run=every, measure=wanted, group=group))],
        controls=[*_two(site, names), *measure_controls(wanted)],
        more={"lists": lists, "points": found.points, "words": words, "measure": str(wanted), "query": query},
    )


def _two(site: Site, names: list[str]) -> Iterator[Control]:
    for label, name in zip(("Baseline", "System"), names, strict=True):
        yield Control(label, "run", name, {each: each for each in site.collection.runs})
