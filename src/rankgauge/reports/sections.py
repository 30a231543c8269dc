"""The sections of a report: each is one function from Facts to blocks, and a row in `SECTIONS`.

A section that yields nothing is left out, so a function may be added for facts that not every report has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.comparison.verdict import BETTER, NOT_SEPARABLE, WORSE, p_text, percent, verdict
from rankgauge.errors import counted
from rankgauge.reports.charts import comparison_charts, depth_charts, group_charts, query_charts
from rankgauge.reports.experiments import offline_and_online
from rankgauge.reports.funnel import two_stages
from rankgauge.reports.judges import judges_agree
from rankgauge.reports.open import left_open
from rankgauge.reports.queries import every_query, example_queries
from rankgauge.reports.trust import careful, checks, judged, reproduce, rules, ties
from rankgauge.show.cells import interval_text, number_text
from rankgauge.show.model import Block, Bullets, Chart, Column, Mark, Section, Table, Text, Tile, Tiles, capital
from rankgauge.show.model import ranked as ranking

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Compared
    from rankgauge.comparison.pairs import Pair
    from rankgauge.reports.facts import Facts

__all__ = ["SECTIONS", "sections"]

MATRIX: Final = 30  # systems, beyond which a matrix cannot be read and the list of pairs has to do
NAMED: Final = 4  # systems, up to which a column has room for their names; beyond, letters stand for them
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def sections(facts: Facts) -> list[Section]:
    """Every section that has something to tell, in order."""
    made = [Section(key, title, [*filter(_wanted(facts), tell(facts))]) for key, (title, tell) in SECTIONS.items()]
    return [section for section in made if section.blocks]


def _wanted(facts: Facts) -> Callable[[Block], bool]:
    return lambda block: facts.wanted.charts or not isinstance(block, Chart)


# ---- the answer ------------------------------------------------------------------------------------------------------


def summary(facts: Facts) -> Iterator[Block]:
    """The numbers that are seen first, and what they mean."""
    values, subject = facts.first, facts.subject
    number, signed = Column("", "number"), Column("", "signed")
    level = percent(facts.wanted.settings.alpha)
    about = f"{level} interval {interval_text(facts.interval_of[facts.measure][subject])}"
    tiles = [Tile(f"{facts.measure}, {subject}", number, values.mean(subject), about)]
    versus = facts.versus
    if versus is not None:
        ends = f"{level} interval {interval_text(versus.interval, sign=True)}"
        tiles.append(Tile(f"against {versus.b}", signed, versus.difference, ends))
        won = f"{versus.wins:,} won, {versus.ties:,} equal, {versus.losses:,} lost"
        word = Mark(_word(versus), {BETTER: "good", WORSE: "bad"}.get(versus.decision, ""))
        tiles.append(Tile("verdict", Column(""), word, f"{_p(facts)} {p_text(versus.p_adjusted, sign=True)}"))
        tiles.append(Tile("queries", Column("", "count"), len(values.queries), won))
    else:
        for other in facts.focus[1:]:
            apart = values.mean(subject) - values.mean(other)
            tiles.append(Tile(f"against {other}", signed, apart, "no test: see below"))
        tiles.append(Tile("queries", Column("", "count"), len(values.queries), "evaluated"))
    yield Tiles(tiles)
    yield from careful(facts)


def _signed(pair: Pair) -> str:
    return number_text(pair.difference, sign=True)


def _word(pair: Pair) -> str:
    return {BETTER: "better", WORSE: "worse"}.get(pair.decision, "not separable")


def _is_family(facts: Facts) -> bool:
    """Whether p-values are adjusted over several pairs."""
    comparison = facts.comparison
    return comparison is not None and len(comparison.pairs) > 1 and comparison.settings.method != "none"


def _p(facts: Facts) -> str:
    return "adjusted p" if _is_family(facts) else "p"


def headline(facts: Facts) -> Iterator[Block]:
    """For every measure the systems by their means, with intervals and what they are better than."""
    level, baseline = percent(facts.wanted.settings.alpha), facts.wanted.settings.baseline
    for measure, values in facts.values.items():
        compared = facts.comparison[measure] if facts.comparison is not None else None
        ranked = sorted(values.systems, key=lambda name: -values.mean(name))
        lettered = compared is not None and baseline is None and len(ranked) > NAMED
        columns = [*([Column("letter")] if lettered else []), Column("system"), Column("mean", "number")]
        columns += [Column(f"{level} interval", "interval", key="mean")]
        columns += _significance_columns(facts, compared)
        rows: list[list[Any]] = []
        for at, name in enumerate(ranked):
            row = [*([letter(at)] if lettered else []), name, values.mean(name), facts.interval_of[measure][name]]
            rows.append([*row, *_significance(compared, ranked, at, baseline)])
        yield Table(
            f"systems-{measure}",
            f"{measure}, {counted(len(values.queries), 'query', 'queries')}",
            columns,
            rows,
            notes=[f"{values.definition}."] if values.definition else [],
            contests=ranking(range(len(rows)), [1 + lettered]) if len(rows) > 1 else [],
        )
    if facts.comparison is not None:
        yield Text(_how_decided(facts), "note")


def _significance_columns(facts: Facts, compared: Compared | None) -> list[Column]:
    if compared is None:
        return []
    baseline = facts.wanted.settings.baseline
    if baseline is not None or len(compared.systems) == 2:
        against = baseline or "the other"
        return [Column(f"against {against}", "signed"), Column(_p(facts), "p"), Column("decision")]
    return [Column("better than"), Column("not separable from"), Column("worse than")]


def _significance(compared: Compared | None, ranked: list[str], at: int, baseline: str | None) -> list[Any]:
    """Against the baseline: difference, p and decision; else the letters of the systems that it beats."""
    if compared is None:
        return []
    name = ranked[at]
    if baseline is not None or len(ranked) == 2:
        other = baseline if baseline is not None else next(each for each in ranked if each != name)
        if other == name:
            return [None, None, Mark("baseline", "quiet")]
        pair = compared.pair(name, other)
        return [pair.difference, pair.p_adjusted, decision_mark(pair.decision)]
    found: dict[str, list[str]] = {BETTER: [], NOT_SEPARABLE: [], WORSE: []}
    for place, other in enumerate(ranked):
        if other != name:
            called = letter(place) if len(ranked) > NAMED else other
            found[compared.pair(name, other).decision].append(called)
    apart = " " if len(ranked) > NAMED else ", "
    return [apart.join(found[decision]) or None for decision in (BETTER, NOT_SEPARABLE, WORSE)]


def letter(place: int) -> str:
    """a, b, …, z, then a number: how a system is called in a short column."""
    return LETTERS[place] if place < len(LETTERS) else str(place + 1)


def decision_mark(decision: str) -> Mark:
    """A decision in its colour."""
    return Mark(decision, {BETTER: "good", WORSE: "bad"}.get(decision, "quiet"))


def _how_decided(facts: Facts) -> str:
    comparison = facts.comparison
    assert comparison is not None
    first, settings = comparison.first, comparison.settings
    drawn = f"all {first.flips:,} flips" if first.exact else f"{first.flips:,} random flips, seed {settings.seed}"
    family = comparison.family
    words = f"p: sign-flip test of the mean difference on the same queries, two-sided, {drawn}"
    if family["size"] > 1 and settings.method != "none":
        words += f"; adjusted over {family['size']:,} pairs by {settings.method} ({family['controls']})"
    return f"{words}. Decisions at the level {settings.alpha:g}. Intervals: t."


# ---- in words --------------------------------------------------------------------------------------------------------


def changes(facts: Facts) -> Iterator[Block]:
    """What changed, in sentences."""
    versus = facts.versus
    if facts.comparison is None or versus is None:
        return
    words = verdict(versus, facts.measure, facts.wanted.settings.alpha, family=_is_family(facts), number=number_text)
    yield Text(f"{capital(words) if versus.decision == NOT_SEPARABLE else words}.", "lead")
    yield Bullets([*_sentences(facts, versus)])


def _sentences(facts: Facts, versus: Pair) -> Iterator[str]:
    values, measure = facts.first, facts.measure
    yield (
        f"Query by query, {versus.a} is ahead of {versus.b} on {versus.wins:,}, behind on {versus.losses:,} and equal "
        f"on {versus.ties:,} of {versus.queries:,}."
    )
    yield from _level_with(facts)
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


def _level_with(facts: Facts) -> Iterator[str]:
    """Which others cannot be told from the best one."""
    assert facts.comparison is not None
    compared, best = facts.comparison.first, facts.subject
    pairs = [compared.pair(best, p.a if p.b == best else p.b) for p in compared.pairs if best in (p.a, p.b)]
    if len(pairs) < 2:
        return
    level = [pair.b for pair in pairs if pair.decision == NOT_SEPARABLE]
    yield (
        f"{best} has the highest mean; not separable from it: {_listed(level)}."
        if level
        else f"{best} is better than each of the {len(pairs):,} others that it was compared with."
    )


def _other_measures(facts: Facts) -> Iterator[str]:
    assert facts.comparison is not None
    for measure in list(facts.comparison)[1:]:
        pair = facts.comparison[measure].pair(*facts.focus)
        same = facts.versus is not None and facts.versus.decision == pair.decision
        words = f"{'also ' * same}{_word(pair)}"
        p = f"{_p(facts)} {p_text(pair.p_adjusted, sign=True)}"
        yield f"By {measure}, {pair.a} is {words} ({_signed(pair)}; {p})."


def _by_group(facts: Facts) -> Iterator[str]:
    assert facts.comparison is not None
    groups = facts.comparison.first.groups
    if len(groups) < 2:
        return
    found = {name: part.pair(*facts.focus) for name, part in groups.items()}
    most, least = max(found, key=lambda g: found[g].difference), min(found, key=lambda g: found[g].difference)
    yield (
        f"The difference is largest in {most} ({_signed(found[most])}, {found[most].queries:,} queries) and "
        f"smallest in {least} ({_signed(found[least])}, {found[least].queries:,} queries)."
    )


def _listed(names: Iterable[str]) -> str:
    *front, last = names
    return f"{', '.join(front)} and {last}" if front else last


# ---- every pair ------------------------------------------------------------------------------------------------------


def matrix(facts: Facts) -> Iterator[Block]:
    """The difference of every pair, row minus column, and all there is to know about each."""
    if facts.comparison is None:
        return
    compared, values = facts.comparison.first, facts.first
    ranked = sorted(values.systems, key=lambda name: -values.mean(name))
    if facts.wanted.settings.baseline is None and 2 < len(ranked) <= MATRIX:
        short = {name: letter(at) if len(ranked) > NAMED else name for at, name in enumerate(ranked)}
        lead = {name: f"{short[name]} {name}" if len(ranked) > NAMED else name for name in ranked}
        rows = [[lead[name], *(_against(compared, name, other) for other in ranked)] for name in ranked]
        note = "Row minus column. Coloured where the difference is significant; grey where the two are not separable."
        heads = [Column("row − column"), *(Column(short[name], "signed", help=name) for name in ranked)]
        yield Table("matrix", f"{facts.measure}, every pair", heads, rows, sort=False, notes=[note])
    yield _pair_table(facts, compared)


def _against(compared: Compared, name: str, other: str) -> Mark:
    if name == other:
        return Mark(None, "self")
    pair = compared.pair(name, other)
    return Mark(pair.difference, decision_mark(pair.decision).kind)


def _pair_table(facts: Facts, compared: Compared) -> Table:
    level = percent(facts.wanted.settings.alpha)
    columns = [
        *(Column("a"), Column("b"), Column("a − b", "signed", key="difference")),
        Column(f"{level} interval", "interval", key="difference"),
        *(Column(_p(facts), "p"), Column("a is"), Column("relative", "percent", 1), Column("d_z", "number", 3)),
        *(Column("won", "count"), Column("equal", "count"), Column("lost", "count")),
        Column("detectable", "number", help="the smallest true difference that this set would show, chance 80 %"),
    ]
    rows = [
        [
            *(pair.a, pair.b, pair.difference, pair.interval, pair.p_adjusted, decision_mark(pair.decision)),
            *(pair.relative, pair.d_z, pair.wins, pair.ties, pair.losses, pair.detectable),
        ]
        for pair in compared.pairs
    ]
    note = "Detectable: the smallest true difference that this set of queries would show with a chance of 80 %."
    return Table("pairs", f"{facts.measure}, the pairs in detail", columns, rows, search=len(rows) > 8, notes=[note])


# ---- groups of queries -----------------------------------------------------------------------------------------------


def groups(facts: Facts) -> Iterator[Block]:
    """Every group of queries: the mean of each system, the difference of the two in focus, and business numbers."""
    values, numbers = facts.first, facts.wanted.numbers
    if not values.groups:
        return
    compared = facts.comparison.first if facts.comparison is not None else None
    columns = [Column("group"), Column("queries", "count"), *(Column(name, "number") for name in values.systems)]
    if compared is not None:
        a, b = facts.focus
        columns += [Column(f"{a} − {b}", "signed"), Column(_p(facts), "p"), Column("decision")]
    parts = {"all": values, **{name: values.only(mask) for name, mask in values.groups.items()}}
    business = {name: [_mean_number(found, part.queries) for part in parts.values()] for name, found in numbers.items()}
    columns += [Column(f"{name}, mean", "number", _decimals(means)) for name, means in business.items()]
    rows = []
    for at, (name, part) in enumerate(parts.items()):
        row = [name, len(part.queries), *(part.mean(system) for system in values.systems)]
        row += _group_difference(facts, compared, name)
        rows.append([*row, *(means[at] for means in business.values())])
    outside = len(values.queries) - int(np.any([*values.groups.values()], axis=0).sum())
    notes = [f"{outside:,} queries are in no group."] if outside else []
    if numbers:
        notes.append("Business columns: the mean over the queries of the group that have a number.")
    several = len(values.systems) > 1
    contests = [[(at, 2 + system) for system in range(len(values.systems))] for at in range(len(rows)) if several]
    yield Table("groups", f"{facts.measure} by group of queries", columns, rows, notes=notes, contests=contests)
    yield from group_charts(facts)


def _group_difference(facts: Facts, compared: Compared | None, name: str) -> list[Any]:
    if compared is None:
        return []
    part = compared if name == "all" and name not in compared.groups else compared.groups[name]
    pair = part.pair(*facts.focus)
    return [pair.difference, pair.p_adjusted, decision_mark(pair.decision)]


def _mean_number(numbers: Any, queries: list[str]) -> float | None:
    known = [numbers[query] for query in queries if query in numbers]
    return float(np.mean(known)) if known else None


def _decimals(numbers: Iterable[float | None]) -> int:
    """How many decimals a column of business numbers needs: none for whole ones, else four digits in all."""
    known = [abs(number) for number in numbers if number is not None]
    if all(number == round(number) for number in known):
        return 0
    return max(0, 4 - len(str(int(max(known)))) + (max(known) < 1))


# ---- the table of sections -------------------------------------------------------------------------------------------

# Key → title and function. The order is that of the page.
SECTIONS: Final[dict[str, tuple[str, Callable[[Facts], Iterator[Block]]]]] = {
    "summary": ("Summary", summary),
    "changes": ("What changed", changes),
    "systems": ("Systems", headline),
    "charts": ("Charts", comparison_charts),
    "pairs": ("Every pair", matrix),
    "groups": ("Groups of queries", groups),
    "stages": ("Two stages", two_stages),
    "depth": ("At every depth", depth_charts),
    "moves": ("Query by query", query_charts),
    "queries": ("Queries worth a look", example_queries),
    "every-query": ("Every query", every_query),
    "experiments": ("Offline beside online", offline_and_online),
    "judged": ("How much was judged", judged),
    "open": ("What unjudged documents leave open", left_open),
    "judges": ("How well judges agree", judges_agree),
    "ties": ("Equal scores", ties),
    "checks": ("Checks of the files", checks),
    "rules": ("Rules and fingerprints", rules),
    "reproduce": ("Make it again", reproduce),
}
