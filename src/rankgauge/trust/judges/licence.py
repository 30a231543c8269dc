"""The licence of a judge: a check that is large and good enough, and grades that can tell systems apart."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rankgauge.errors import Doubt, InputError, counted
from rankgauge.measures.gains import number_text
from rankgauge.validation.labels import CHANCE, ONE_GRADE, SCALE, UNCHECKED

__all__ = ["BAR", "OFF_SCALE", "Bar", "advice", "doubt_of_check", "doubts_of_grades", "kappa_of", "shares_order"]

OFF_SCALE: Final = "not on the scale"  # in the reason of an answer that has no grade
ENOUGH: Final = 20  # pairs, from which grades say something of a judge
TESTED: Final = 30  # pairs, from which agreement no better than chance is a finding
MOST: Final = 0.85  # share of one grade, from which a judge hardly grades
MOST_LOWEST: Final = 0.95  # the same of the lowest grade, which most documents may deserve
OUTSIDE: Final = 0.05  # share of answers outside the scale, from which it may be another one


class Bar(NamedTuple):
    """The size of a check that is enough, and the lower end of κ's interval that is."""

    pairs: int = 30
    queries: int = 8
    kappa: float = 0.2

    @classmethod
    def of(cls, given: Any, where: str) -> Bar:
        """From [judge] bar: a table of numbers, or κ alone."""
        table = given if isinstance(given, Mapping) else {"kappa": given}
        for name, value in table.items():
            whole = name in ("pairs", "queries")
            number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            if name not in cls._fields or not number or not (0 if whole else -1) <= value <= (10**9 if whole else 1):
                how = "bar = { pairs = 30, queries = 8, kappa = 0.2 }, with kappa between -1 and 1"
                raise InputError(f"{where} bar: {name} = {value!r}; expected {how}")
        return cls(**table)


BAR: Final = Bar()


def kappa_of(found: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """κ of a check, with the ends of its interval; None where there is none."""
    value, low, high = (found["kappa"][name] for name in ("value", "low", "high"))
    return tuple(None if each is None or each != each else each for each in (value, low, high))  # type: ignore[return-value]


def shares_order(orders: Any) -> bool | None:
    """Whether systems that differ significantly by people's labels do so by the judge's, the same way round.

    None where no two systems differ.
    """
    if orders is None or orders.kept is None or not (orders.kept or orders.lost or orders.turned):
        return None
    return not (orders.lost or orders.turned)


def advice(judge: str, people: str = "@people") -> str:
    """The command that checks a judge."""
    return f"rankgauge judge --judge {shlex.quote(judge)} --check {shlex.quote(people)}"


def doubt_of_check(judge: str, found: Mapping[str, Any], bar: Bar = BAR, people: str = "@people") -> Doubt | None:
    """Why a check is no licence; None where it is one."""
    value, low, high = kappa_of(found)
    again = f"check it again: {advice(judge, people)}"
    if "queries" not in found:
        words = f"The check of {judge} is of an earlier version, which did not count queries"
        return Doubt(UNCHECKED, f"{words}. C{again[1:]}")
    pairs, queries = found["graded"], found["queries"]
    large = pairs >= bar.pairs and queries >= bar.queries
    agreed = value == 1 or (low is not None and low >= bar.kappa)  # on every pair: κ is 1, and has no interval
    if large and (found.get("same_order") or agreed):
        return None
    of = counted(pairs, "pair")
    if value is not None and value < 0 and (high is None or high < 0):
        words = f"{judge} contradicts people: κ {value:.2f} on {of}. Do not use its grades"
        return Doubt(CHANCE if pairs >= TESTED else UNCHECKED, f"{words}. Change the prompt, or take another judge")
    if pairs >= TESTED and low is not None and low <= 0:
        words = f"{judge} agrees with people no better than chance can ({_kappa(value, low, high)} on {of})"
        words += ". Differences between systems may be its errors"
        return Doubt(CHANCE, f"{words}. Change the prompt, or take another judge")
    if not large:
        lack = [counted(bar.pairs - pairs, "more pair")] if pairs < bar.pairs else []
        lack += [counted(bar.queries - queries, "more query", "more queries")] if queries < bar.queries else []
        size = f"{of} of {counted(queries, 'query', 'queries')} ({_kappa(value, low, high)})"
        words = f"{judge} was checked on only {size}, too few to rely on"
        return Doubt(UNCHECKED, f"{words}. Have people grade {' of '.join(lack)}, then {again}")
    words = f"{judge} agrees with people less than is asked for: {_kappa(value, low, high)} on {of}"
    limit = f"the lower end is below {bar.kappa:g}" if low is not None else "κ has no interval"
    how = "Differences between systems may be its errors. Change the prompt, or take another judge"
    return Doubt(UNCHECKED, f"{words}, and {limit}. {how}")


def _kappa(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "κ is not defined"
    return f"κ {value:.2f}" if low is None or high is None else f"κ {value:.2f}, {low:.2f} to {high:.2f}"


def doubts_of_grades(
    judge: str, grades: Mapping[float, int], pairs: int, scale: Sequence[float], outside: int
) -> Iterator[Doubt]:
    """Why the grades of a judge tell little: one for all, one end of the scale, or another scale; `outside`: answers
    that were not on it."""
    used = [grade for grade in sorted(grades) if grades[grade]]
    total = sum(grades.values())
    if len(used) == 1 and pairs >= ENOUGH:
        words = f"{judge} gave grade {number_text(used[0])} to all {counted(pairs, 'pair')}"
        yield Doubt(ONE_GRADE, f"{words}, so that its grades tell no two documents apart. Check its prompt and scale")
    said = []
    if len(used) > 1 and scale and pairs >= ENOUGH:
        said += [*_one_end(judge, grades, used, total, scale)]
    if outside and outside >= OUTSIDE * (total + outside):
        ends = f"{number_text(scale[0])}–{number_text(scale[-1])}"
        answers = f"{counted(total + outside, 'answer')} by {judge}"
        said.append(f"{outside:,} of {answers} {'was' if outside == 1 else 'were'} not on its scale of {ends}")
    if said:
        yield Doubt(SCALE, f"{'. '.join(said)}. Check the scale in its prompt")


def _one_end(
    judge: str, grades: Mapping[float, int], used: Sequence[float], total: int, scale: Sequence[float]
) -> Iterator[str]:
    common = max(used, key=lambda grade: grades[grade])
    middle = (scale[0] + scale[-1]) / 2
    ends = f"a scale of {number_text(scale[0])}–{number_text(scale[-1])}"
    share = f"{grades[common]:,} of {total:,} grades are {number_text(common)}"
    if used[-1] < middle or used[0] > middle:
        yield f"{judge} used {number_text(used[0])}–{number_text(used[-1])} on {ends}: {share}"
    elif grades[common] > (MOST_LOWEST if common == scale[0] else MOST) * total:
        yield f"{judge} hardly used {ends}: {share}"
