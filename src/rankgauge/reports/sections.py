"""The sections of a report: each is one function from Facts to blocks, and a row in `SECTIONS`.

A section that yields nothing is left out, so a function may be added for facts that not every report has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.comparison.verdict import (
    BETTER,
    NOT_SIGNIFICANT,
    WORSE,
    change_text,
    one_unit,
    p_text,
    percent,
    same_words,
    verdict,
)
from rankgauge.errors import counted
from rankgauge.reports.facts import best_first
from rankgauge.reports.found import judges_agree, left_open, offline_and_online, two_stages
from rankgauge.reports.queries import every_query, example_queries
from rankgauge.reports.trust import Caution, cautions, checks, judged, reproduce, rules, ties
from rankgauge.show.cells import aged, interval_column, interval_text, is_missing, number_text
from rankgauge.show.marks import VERDICTS, decision_mark, letter
from rankgauge.show.model import Block, Bullets, Column, Mark, Table, Text, Tile, Tiles, chart_of, ranked, sentence
from rankgauge.show.sections.comparison import (
    DETECTABLE,
    MOST_BARS,
    details_table,
    highest,
    how_decided,
    p_cells,
    p_columns,
    pairs_table,
)
from rankgauge.show.sections.evaluation import sample_table
from rankgauge.stats.paired import TIE

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Compared
    from rankgauge.comparison.pairs import Pair
    from rankgauge.reports.facts import Facts

__all__ = ["SECTIONS"]

MATRIX: Final = 30  # systems, beyond which a matrix cannot be read and the list of pairs has to do
CAUTIONS: Final = 3  # that are said beside the verdict
NAMED: Final = 4  # systems, up to which a column has room for their names; beyond, letters stand for them


# ---- the answer ------------------------------------------------------------------------------------------------------


def summary(facts: Facts) -> Iterator[Block]:
    """The verdict as a sentence, the numbers behind it, one picture, and what could turn the decision."""
    values, versus = facts.first, facts.versus
    if versus is not None:
        yield Text(f"{verdict(versus, number_text)}.", VERDICTS[versus.decision])
        yield Tiles([*_tiles(facts, versus)])
    else:
        yield Text(_alone(facts), "lead" if len(facts.focus) < 2 else "warn")
        tiles = [Tile(f"{facts.measure}, {name}", Column("", "number"), values.mean(name)) for name in facts.focus]
        yield Tiles([*tiles, Tile("queries", Column("", "count"), len(values.queries), "evaluated")])
    if _has_bars(facts):
        yield chart_of("differences", values, pair=facts.focus)
    else:
        yield chart_of("distribution" if len(values.systems) == 1 else "forest", values)
    found = cautions(facts)
    yield from _bulleted([each for each in found if each.decisive][:CAUTIONS], len(found), facts.results.names)


def _has_bars(facts: Facts) -> bool:
    """Whether the picture of the summary is the difference on every query."""
    return len(facts.focus) == 2 and len(facts.first.queries) <= MOST_BARS


def _alone(facts: Facts) -> str:
    """The value where nothing was compared: of one system, or of too little to compare."""
    values, subject = facts.first, facts.subject
    queries, measure = counted(len(values.queries), "query", "queries"), f"{facts.measure}{values.per}"
    if len(facts.focus) == 2:
        apart, number = values.mean(subject) - values.mean(facts.focus[1]), len(values.queries)
        if number == 1 and abs(apart) <= TIE:
            return f"{same_words(*facts.focus, facts.measure, 1)}."
        clusters = facts.wanted.clusters is not None and number > 1
        return f"{one_unit(*facts.focus, apart, f' {measure}', clusters=clusters)}."
    ends = facts.interval_of[facts.measure][subject]
    sure = "" if is_missing(ends[0]) else f" ({percent(facts.wanted.settings.alpha)} interval {interval_text(ends)})"
    return f"{measure} of {subject} is {number_text(values.mean(subject))} over {queries}{sure}."


def _tiles(facts: Facts, versus: Pair) -> Iterator[Tile]:
    """Values, difference, how sure, queries won and lost."""
    values, level = facts.first, percent(versus.alpha)
    below = f"{versus.b}: {number_text(values.mean(versus.b))}"
    yield Tile(f"{facts.measure}, {versus.a}", Column("", "number"), values.mean(versus.a), below)
    relative = change_text(versus)
    change = f"{relative} {'more' if versus.difference > 0 else 'less'} than {versus.b}"
    yield Tile("difference", Column("", "signed"), versus.difference, change if relative and versus.difference else "")
    sure = f"p {p_text(versus.p, sign=True)}"
    if not is_missing(versus.interval[0]):
        sure += f"; {level} interval {interval_text(versus.interval, sign=True)}"
    yield Tile("how sure", Column(""), decision_mark(versus.decision), sure)
    share = f"{versus.losses:,} lost, {versus.ties:,} tied of {versus.queries:,}"
    yield Tile("queries won", Column("", "count"), versus.wins, share)


def _bulleted(shown: Sequence[Caution], every: int, names: Collection[str]) -> Iterator[Block]:
    if shown:
        words = [sentence(each.text, names) for each in shown]
        yield Bullets(words, "warning", links=[each.section for each in shown])
    if every > len(shown):
        yield Bullets([f"{counted(every - len(shown), 'more caution')} at the end."], links=["cautions"])


def every_caution(facts: Facts) -> Iterator[Block]:
    """All cautions, with their codes."""
    found = cautions(facts)
    if found:
        rows = [[each.code, sentence(each.text, facts.results.names)] for each in found]
        yield Table("cautions", "Cautions", [Column("code"), Column("caution")], rows, sort=False)


def headline(facts: Facts) -> Iterator[Block]:
    """For every measure the systems by their means, with intervals and what they are better than."""
    alpha = facts.wanted.settings.alpha
    for measure, values in facts.values.items():
        names = best_first(values)
        significance = _significance(facts, facts.comparison[measure], names) if facts.comparison is not None else []
        lettered = len(names) > NAMED and facts.comparison is not None and facts.wanted.settings.baseline is None
        columns: list[tuple[Column, list[Any]]] = [(Column("letter"), [*_short(names).values()])] if lettered else []
        columns += [(Column("system"), names), (Column("mean", "number"), [*map(values.mean, names)])]
        ends = facts.interval_of[measure]
        columns += [(interval_column(alpha, "mean"), [ends[name] for name in names])]
        yield Table.of_columns(
            f"systems-{measure}",
            f"{measure}{values.per}, {counted(len(values.queries), 'query', 'queries')}",
            [*columns, *significance],
            notes=[f"{values.definition}."] if values.definition else [],
            contests=ranked(range(len(names)), [1 + lettered]) if len(names) > 1 else [],
        )
    if facts.comparison is not None:
        known = not all(is_missing(low) for ends in facts.interval_of.values() for low, _ in ends.values())
        drawn = ", over draws of the sample" if facts.first.design is not None else ""
        ends_of = f"Intervals: t{drawn}" if known else f"No intervals: {facts.first.lacking}"
        yield Text(f"{how_decided(facts.comparison)} Significance level {alpha:g}. {ends_of}.", "note")
    if asked := _asked(facts):
        yield Text(f"{asked}.", "note")


def _asked(facts: Facts) -> str:
    """The moment at which each stored run began: as old are the answers behind its numbers."""
    stored = {name: result.peek.stored for name, result in facts.results.items() if result.peek is not None}
    began = {
        name: f"on {each['began'][:10]} at {each['began'][11:16]} UTC"
        for name, each in stored.items()
        if "began" in each
    }
    return f"Answers: {aged(began)}" if began else ""


def sampled(facts: Facts) -> Iterator[Block]:
    """The means per search and per query of the log that the queries are a sample of."""
    design = facts.results.first.design
    if design is not None:
        yield sample_table(facts.results)
        yield Text(f"{design.words} This report: per {design.per}.", "note")


def _significance(facts: Facts, compared: Compared, names: list[str]) -> list[tuple[Column, list[Any]]]:
    """Against the baseline: difference, p and decision; of several without one, which systems each one beats."""
    assert facts.comparison is not None
    baseline = facts.comparison.baseline
    if facts.wanted.settings.baseline is not None or len(names) == 2:
        pairs = [compared.pair(name, baseline) if name != baseline else None for name in names]
        return _decisions(facts, f"against {baseline}", pairs)
    short, apart = _short(names), " " if len(names) > NAMED else ", "
    found: dict[str, list[Any]] = {BETTER: [], NOT_SIGNIFICANT: [], WORSE: []}
    for name in names:
        decisions = {short[other]: compared.pair(name, other).decision for other in names if other != name}
        for decision, cells in found.items():
            cells.append(apart.join(other for other, each in decisions.items() if each == decision) or None)
    heads = ("better than", "not significant against", "worse than")
    return [(Column(head), cells) for head, cells in zip(heads, found.values(), strict=True)]


def _decisions(facts: Facts, head: str, pairs: list[Pair | None]) -> list[tuple[Column, list[Any]]]:
    """The difference, p and decision of each pair; None is the baseline itself."""
    marks = [Mark("baseline", "quiet") if pair is None else decision_mark(pair.decision) for pair in pairs]
    family = len(facts.comparison.pairs) if facts.comparison is not None else 1
    columns = p_columns(family)
    cells = [[None] * len(columns) if pair is None else [*p_cells(pair, family)] for pair in pairs]
    return [
        (Column(head, "signed"), [None if pair is None else pair.difference for pair in pairs]),
        *((column, [row[at] for row in cells]) for at, column in enumerate(columns)),
        (Column("decision"), marks),
    ]


def _short(names: list[str]) -> dict[str, str]:
    """How systems are called in a short column: by their names, or of many by letters."""
    return {name: letter(at) if len(names) > NAMED else name for at, name in enumerate(names)}


# ---- in words --------------------------------------------------------------------------------------------------------


def changes(facts: Facts) -> Iterator[Block]:
    """What changed, in sentences."""
    versus = facts.versus
    if facts.comparison is None or versus is None:
        return
    yield Bullets([*_sentences(facts, versus)])


def _sentences(facts: Facts, versus: Pair) -> Iterator[str]:
    assert facts.comparison is not None
    values, measure = facts.first, facts.measure
    yield (
        f"Query by query, {versus.a} is ahead of {versus.b} on {versus.wins:,}, behind on {versus.losses:,} and equal "
        f"on {versus.ties:,} of {versus.queries:,}."
    )
    yield from highest(facts.comparison.first) if len(values.systems) > 2 else ()
    yield from _other_measures(facts)
    yield from _by_group(facts)
    moved = values.difference(versus.a, versus.b)
    for at, verb in ((int(np.argmax(moved)), "gains"), (int(np.argmin(moved)), "loses")):
        if moved[at] and (moved[at] > 0) == (verb == "gains"):
            query = values.queries[at]
            text = f" ({facts.text_of(query)})" if facts.text_of(query) else ""
            before, after = values.of(versus.b)[at], values.of(versus.a)[at]
            numbers = f"{number_text(before)} with {versus.b}, {number_text(after)} with {versus.a}"
            yield f"Query {query}{text} {verb} most: {measure} {numbers}."


def _other_measures(facts: Facts) -> Iterator[str]:
    """Whether the other measures say the same as the first."""
    assert facts.comparison is not None
    assert facts.versus is not None
    for measure in list(facts.comparison)[1:]:
        pair = facts.comparison[measure].pair(*facts.focus)
        sure = f"{number_text(pair.difference, sign=True)}; p {p_text(pair.p, sign=True)}"
        if pair.ties == pair.queries:
            yield f"{measure} is the same on every query."
        elif pair.decision == NOT_SIGNIFICANT:
            yield f"{measure} shows no clear difference ({sure})."
        elif facts.versus.decision == NOT_SIGNIFICANT:
            yield f"By {measure}, {pair.a} is {pair.decision} ({sure})."
        else:
            agrees = "agrees" if facts.versus.decision == pair.decision else "disagrees"
            yield f"{measure} {agrees}: {pair.a} is {pair.decision} ({sure})."


def _by_group(facts: Facts) -> Iterator[str]:
    """In which group of queries the difference is largest, and in which smallest; or who gains and who loses."""
    assert facts.comparison is not None
    found = {name: part.pair(*facts.focus) for name, part in facts.comparison.first.groups.items()}
    if len(found) < 2:
        return
    low, high = (choose(found, key=lambda name: found[name].difference) for choose in (min, max))
    least, most = found[low].difference, found[high].difference
    if number_text(least) == number_text(most):
        return
    sizes = {name: counted(found[name].queries, "query", "queries") for name in (low, high)}
    if least < 0 < most:
        yield f"{low} loses {number_text(-least)} ({sizes[low]}), {high} gains {number_text(most)} ({sizes[high]})."
        return
    first, last, word = (high, low, "gain") if most > 0 else (low, high, "loss")
    of_first, of_last = (
        f"{name} ({number_text(found[name].difference, sign=True)}, {sizes[name]})" for name in (first, last)
    )
    yield f"The {word} is largest in {of_first} and smallest in {of_last}."


def _listed(names: Iterable[str]) -> str:
    *front, last = names
    return f"{', '.join(front)} and {last}" if front else last


# ---- every pair ------------------------------------------------------------------------------------------------------


def matrix(facts: Facts) -> Iterator[Block]:
    """The difference of every pair, row minus column, and all there is to know about each."""
    if facts.comparison is None:
        return
    comparison, compared, names = facts.comparison, facts.comparison.first, best_first(facts.first)
    if facts.wanted.settings.baseline is None and 2 < len(names) <= MATRIX:
        short = _short(names)
        lead = {name: f"{short[name]} {name}" if len(names) > NAMED else name for name in names}
        rows = [[lead[name], *(_against(compared, name, other) for other in names)] for name in names]
        note = "Row minus column. Coloured where the difference is significant; grey where it is not."
        heads = [Column("row − column"), *(Column(short[name], "signed", help=name) for name in names)]
        yield Table("matrix", f"{facts.measure}, every pair", heads, rows, sort=False, notes=[note])
    pairs = pairs_table(comparison, compared.pairs, True, len(compared.pairs))
    yield pairs._replace(caption=f"{facts.measure}, the pairs in detail")
    yield details_table(comparison, compared.pairs)
    yield Text(f"MDE: {DETECTABLE}.", "note")


def _against(compared: Compared, name: str, other: str) -> Mark:
    if name == other:
        return Mark(None, "self")
    pair = compared.pair(name, other)
    return Mark(pair.difference, decision_mark(pair.decision).kind)


# ---- groups of queries -----------------------------------------------------------------------------------------------


def groups(facts: Facts) -> Iterator[Block]:
    """Every group of queries: the mean of each system, the difference of the two in focus, and business numbers."""
    values, numbers = facts.first, facts.wanted.numbers
    if not values.groups:
        return
    parts = {"all": values, **{name: values.only(mask) for name, mask in values.groups.items()}}
    columns: list[tuple[Column, list[Any]]] = [(Column("group"), [*parts])]
    columns += [(Column("queries", "count"), [len(part.queries) for part in parts.values()])]
    columns += [(Column(name, "number"), [part.mean(name) for part in parts.values()]) for name in values.systems]
    if facts.comparison is not None:
        compared = {"all": facts.comparison.first, **facts.comparison.first.groups}
        pairs = [compared[name].pair(*facts.focus) for name in parts]
        columns += _decisions(facts, " − ".join(facts.focus), [*pairs])
    for name, found in numbers.items():
        means = [_mean_number(found, part.queries) for part in parts.values()]
        columns.append((Column(f"{name}, mean", "number", _decimals(means)), means))
    outside = len(values.queries) - int(np.any([*values.groups.values()], axis=0).sum())
    notes = [f"{counted(outside, 'query is', 'queries are')} in no group."] if outside else []
    if numbers:
        notes.append("Business columns: the mean over the queries of the group that have a number.")
    several = [*range(2, 2 + len(values.systems))] if len(values.systems) > 1 else []
    contests = [[(at, column) for column in several] for at in range(len(parts)) if several]
    yield Table.of_columns("groups", f"{facts.measure} by group of queries", columns, notes=notes, contests=contests)
    yield chart_of("groups", facts.comparison if facts.comparison is not None else values)


def _mean_number(numbers: Any, queries: list[str]) -> float | None:
    known = [numbers[query] for query in queries if query in numbers]
    return float(np.mean(known)) if known else None


def _decimals(numbers: Iterable[float | None]) -> int:
    """How many decimals a column of business numbers needs: none for whole ones, else four digits in all."""
    known = [abs(number) for number in numbers if number is not None]
    if all(number == round(number) for number in known):
        return 0
    return max(0, 4 - len(str(int(max(known)))) + (max(known) < 1))


# ---- charts ----------------------------------------------------------------------------------------------------------


def comparison_charts(facts: Facts) -> Iterator[Block]:
    """The systems beside each other, and what this set of queries could tell apart."""
    yield chart_of("forest", facts.comparison if facts.comparison is not None else facts.first)
    if facts.comparison is not None:
        yield chart_of("detectable", facts.comparison)
    yield chart_of("distribution", facts.first)


def depth_charts(facts: Facts) -> Iterator[Block]:
    """The measure at every cut-off, and precision against recall."""
    if any(each.definition.cutoff == "k" for each in facts.wanted.measures):
        yield chart_of("at-k", facts.results)
    yield chart_of("precision-recall", facts.results)


def query_charts(facts: Facts) -> Iterator[Block]:
    """The two systems in focus, query by query; their differences where the summary does not show them."""
    if len(facts.focus) == 2:
        kinds = ["scatter"] if _has_bars(facts) else ["differences", "scatter"]
        yield from (chart_of(kind, facts.first, pair=facts.focus) for kind in kinds)


# ---- the table of sections -------------------------------------------------------------------------------------------

# Key → title and function. The order is that of the page.
SECTIONS: Final[dict[str, tuple[str, Callable[[Facts], Iterator[Block]]]]] = {
    "summary": ("Summary", summary),
    "changes": ("Details", changes),
    "systems": ("Systems", headline),
    "sample": ("Sample", sampled),
    "charts": ("Charts", comparison_charts),
    "pairs": ("All pairs", matrix),
    "groups": ("Groups of queries", groups),
    "stages": ("Retriever and reranker", two_stages),
    "depth": ("By cut-off", depth_charts),
    "moves": ("Query by query", query_charts),
    "queries": ("Example queries", example_queries),
    "every-query": ("All queries", every_query),
    "experiments": ("Offline vs. online", offline_and_online),
    "judged": ("Judged documents", judged),
    "open": ("Unjudged documents: best and worst case", left_open),
    "judges": ("Agreement of judges", judges_agree),
    "ties": ("Tied scores", ties),
    "checks": ("File checks", checks),
    "cautions": ("Cautions", every_caution),
    "rules": ("Rules and fingerprints", rules),
    "reproduce": ("Reproduce this report", reproduce),
}
