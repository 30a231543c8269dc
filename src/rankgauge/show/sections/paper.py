"""A comparison as papers print it: one row per system, one column per measure, with marks of significance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rankgauge.comparison.verdict import BETTER, WORSE
from rankgauge.errors import MeasureError
from rankgauge.show.grid import MISSING, Cell, Grid, latex_table, markdown_table, markdown_text, ranked
from rankgauge.show.marks import DAGGERS, change, legend, letter, letters

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Compared, Comparison
    from rankgauge.show.sections.comparison import Style

__all__ = ["paper_grid", "paper_latex", "paper_markdown"]

# Method → how a paper calls it.
TESTS: Final = {
    "maxt": "sign-flip test, step-down max-T over {pairs} pairs",
    "holm": "sign-flip test, Holm over {pairs} pairs",
    "bh": "sign-flip test, Benjamini-Hochberg over {pairs} pairs",
    "by": "sign-flip test, Benjamini-Yekutieli over {pairs} pairs",
    "tukey": "two-way Tukey HSD over {pairs} pairs",
    "randomised-tukey": "randomised Tukey HSD over {pairs} pairs",
    "none": "sign-flip test, {pairs} pairs, not adjusted",
}
NEEDS: Final = r"% needs \usepackage{booktabs}" + "\n"


def paper_grid(comparison: Comparison, style: Style) -> Grid:
    """Systems × measures; a letter for each system, or its difference from the baseline."""
    baseline = comparison.settings.baseline
    names = list(comparison.first.systems)
    heads, columns = ["system"], [[Cell(name) for name in names]]
    if baseline is None:
        heads, columns = ["", *heads], [[Cell(letter(at)) for at in range(len(names))], *columns]
    left = len(heads)
    for measure, compared in comparison.measures.items():
        heads.append(measure)
        columns.append(_values(measure, compared, baseline, style))
        if baseline is not None and style.deltas != "none":
            heads.append("Δ")
            columns.append(_deltas(compared, baseline, style))
    return Grid("", heads, [list(row) for row in zip(*columns, strict=True)], left)


def _values(measure: str, compared: Compared, baseline: str | None, style: Style) -> list[Cell]:
    marks = _daggers(compared) if baseline is not None else _letters(compared)
    cells = [
        Cell(f"{system.mean:.{style.digits}f}", mark=marks.get(name, "")) for name, system in compared.systems.items()
    ]
    return ranked(cells) if _higher_is_better(measure) else cells


def _higher_is_better(measure: str) -> bool:
    """Whether a measure has a best: counts of documents have none. A measure from a table is taken to have one."""
    from rankgauge.measures import parse

    try:
        return parse(measure).definition.needs != "nothing"
    except MeasureError:
        return True


def _deltas(compared: Compared, baseline: str, style: Style) -> list[Cell]:
    against = compared.systems[baseline].mean
    return [
        Cell(MISSING if name == baseline else change(system.mean, against, style.deltas, style.digits))
        for name, system in compared.systems.items()
    ]


def _daggers(compared: Compared) -> dict[str, str]:
    return {pair.a: DAGGERS.get(pair.decision, "") for pair in compared.pairs}


def _letters(compared: Compared) -> dict[str, str]:
    """System → the letters of those that it is better than."""
    place = {name: at for at, name in enumerate(compared.systems)}
    beaten: dict[str, list[int]] = {name: [] for name in place}
    for pair in compared.pairs:
        if pair.decision == BETTER:
            beaten[pair.a].append(place[pair.b])
        elif pair.decision == WORSE:
            beaten[pair.b].append(place[pair.a])
    return {name: letters(numbers) for name, numbers in beaten.items()}


def _caption(comparison: Comparison, style: Style) -> str:
    settings, first = comparison.settings, comparison.first
    pairs = len(first.pairs)
    test = TESTS[settings.method].format(pairs=f"{pairs:,}") if pairs > 1 else "sign-flip test"
    lead = f"Means over {len(first.values.queries):,} queries."
    systems = len(first.systems)
    return legend(lead, test, settings.alpha, baseline=settings.baseline, deltas=style.deltas, systems=systems)


def paper_latex(comparison: Comparison, style: Style) -> str:
    """The table as a float of booktabs, the legend as its caption."""
    return NEEDS + latex_table(paper_grid(comparison, style), caption=_caption(comparison, style))


def paper_markdown(comparison: Comparison, style: Style) -> str:
    """The table with its legend below."""
    return f"{markdown_table(paper_grid(comparison, style))}\n{markdown_text(_caption(comparison, style))}\n"
