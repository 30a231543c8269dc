"""Plans → text: tables with a curve of bars for people, Markdown for documents, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.plan.questions import QUESTIONS
from rankgauge.show.grid import bar, markdown_grid, text_grid
from rankgauge.shown import clean
from rankgauge.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankgauge.comparison.plan.plan import Answer, Plan

__all__ = ["FORMATS", "as_json", "as_markdown", "as_table", "show"]

BAR: Final = 32


def show(found: Plan, format: str = "table") -> str:
    """The plan in one of the formats, ending in a newline."""
    return FORMATS[format](found)


def headline(found: Plan) -> str:
    """What the plan rests on."""
    return f"Deviation of the differences: {found.deviation.value:.4f} ({found.deviation.words})."


def needed_cells(found: Plan) -> tuple[list[str], list[list[str]]]:
    """Sizes down, questions across: the queries that each needs."""
    by_place = {(answer.size, answer.question): answer for answer in found.answers}
    sizes = sorted({answer.size for answer in found.answers})
    rows = [[size_text(size), *(_queries_text(by_place.get((size, q))) for q in found.questions)] for size in sizes]
    return ["size", *found.questions], rows


def set_cells(found: Plan) -> tuple[list[str], list[list[str]]]:
    """Sets down, questions across: the smallest size that each shows."""
    rows = [[f"{n:,}", *(size_text(sizes[q]) for q in found.questions)] for n, sizes in found.sets.items()]
    return ["queries", *found.questions], rows


def _queries_text(answer: Answer | None) -> str:
    if answer is None:
        return ""
    return f"{answer.queries:,}" if answer.at_most is None else f"{answer.queries:,} (≤ {answer.at_most:,})"


def size_text(size: float) -> str:
    """A size for people; more digits where it is small."""
    return f"{size:.4f}" if size >= 0.001 else f"{size:.2g}"


def notes(found: Plan) -> Iterator[str]:
    """What the columns mean, and what to beware of."""
    for question in found.questions:
        yield f"{question}: {QUESTIONS[question].words(found.setting)}."
    if found.deviation.interval and found.answers:
        yield "≤: so many if the deviation is at the upper end of its interval."
    if found.deviation.smallest is not None:
        low, high = found.deviation.smallest, found.deviation.largest
        yield f"The deviation is the mean over all pairs of systems; of single pairs it is {low:.4f} to {high:.4f}."
    if found.deviation.systems and found.deviation.queries < 25:
        yield f"Beware: a pilot of {found.deviation.queries} queries is small; look at the upper end."


def as_table(found: Plan) -> str:
    """Tables for a terminal; the bars are the curve."""
    parts = [headline(found) + "\n"]
    if found.answers:
        heads, rows = needed_cells(found)
        parts.append("Queries needed\n" + text_grid(heads, rows, left=0))
    if found.sets:
        heads, rows = set_cells(found)
        first = [sizes[found.questions[0]] for sizes in found.sets.values()]
        bars = [bar(size, max(first), BAR) if len(first) > 1 else "" for size in first]
        lines = text_grid(heads, rows, left=0).splitlines()
        drawn = [f"{line}  {each}".rstrip() for line, each in zip(lines, ["", *bars], strict=True)]
        parts.append("What a set of queries shows\n" + "\n".join(drawn) + "\n")
    return "\n".join([*parts, "\n".join(notes(found)) + "\n"])


def as_markdown(found: Plan) -> str:
    """The same as Markdown."""
    parts = [headline(found) + "\n"]
    if found.answers:
        parts.append("**Queries needed**\n\n" + markdown_grid(*needed_cells(found), left=0))
    if found.sets:
        parts.append("**What a set of queries shows**\n\n" + markdown_grid(*set_cells(found), left=0))
    return "\n".join([*parts, "".join(f"- {note}\n" for note in notes(found))])


def as_data(found: Plan) -> dict[str, Any]:
    """What the JSON holds, as a value."""
    pilot, setting = found.deviation, found.setting
    data = {
        "deviation": Estimate(pilot.value, *pilot.interval or ()),
        "pilot": {"measure": pilot.measure, "queries": pilot.queries, "systems": pilot.systems}
        if pilot.systems
        else None,
        "power": setting.power,
        "alpha": setting.alpha,
        "systems": setting.systems,
        "comparisons": setting.comparisons,
        "expected": setting.expected,
        "needed": [
            {"question": each.question, "size": each.size, "queries": each.queries, "at_most": each.at_most}
            for each in found.answers
        ],
        "sets": [{"queries": queries, **sizes} for queries, sizes in found.sets.items()],
    }
    cleaned: dict[str, Any] = clean(data)
    return cleaned


def as_json(found: Plan) -> str:
    """For machines."""
    return json.dumps(as_data(found), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


FORMATS: Final[dict[str, Callable[[Plan], str]]] = {"table": as_table, "markdown": as_markdown, "json": as_json}
