"""A page before it is markup: sections of the one model, what its twin holds, and what there is to choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from rankgauge.measures import MEASURES, Measure, parse
from rankgauge.show.model import Section
from rankgauge.shown import clean

__all__ = ["Control", "View", "address", "choice", "measure_controls", "with_parameter"]

CUTOFFS: Final = (1, 3, 5, 10, 20, 50, 100)
GAINS: Final = {"linear": "linear: the grade", "exp": "exponential: 2^grade − 1", "binary": "binary: relevant or not"}
USUAL: Final = ("nDCG@10", "nDCG(gain=exp)@10", "RR@10", "AP", "P@10", "R@100", "ERR@10", "RBP", "Success@10", "Bpref")


def address(path: str, **parameters: Any) -> str:
    """A path with parameters; those that are empty are left out, lists are there as often as they have members."""
    pairs = [
        (name, str(each))
        for name, value in parameters.items()
        for each in (value if isinstance(value, list | tuple) else [value])
        if each not in (None, "")
    ]
    return f"{path}?{urlencode(pairs)}" if pairs else path


class Control(NamedTuple):
    """Something to choose: the parameter that it sets, its values with their words, and the one that is chosen.

    Without values it is a field for text, with `hints` of what may be typed.
    """

    label: str
    name: str
    chosen: str
    values: Mapping[str, str] = {}
    hints: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A page: its title, what its twin holds, its sections, and whatever else its template needs.

    `crumbs` are the pages above it with their addresses, `pending` what is still being computed, `query_pages`
    for sections the address (without the query) that the marks of their charts lead to. `state` says of what the charts
    are, where that changes under one address.
    """

    title: str
    data: Callable[[], Mapping[str, Any]]
    sections: Sequence[Section] = ()
    template: str = "page.html"
    subtitle: str = ""
    badge: str = ""
    crumbs: Sequence[tuple[str, str]] = ()
    controls: Sequence[Control] = ()
    pending: Sequence[str] = ()
    query_pages: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    state: str = ""

    def twin(self) -> dict[str, Any]:
        """The page as data: the same numbers at full precision."""
        told: dict[str, Any] = clean(self.data())
        return told | ({"pending": list(self.pending)} if self.pending else {})


def measure_controls(measure: Measure, discounts: Mapping[str, str] | None = None) -> list[Control]:
    """The measure as text, and its cut-off, gain and discount, where it has them, as choices of whole measures."""
    names = list(dict.fromkeys([*USUAL, *(name for name, row in MEASURES.items() if row.cutoff is None)]))
    controls = [Control("Measure", "measure", str(measure), hints=names)]
    parameters = measure.definition.parameters
    if measure.definition.cutoff == "k" and isinstance(measure.cutoff, int):
        cutoffs = sorted({*CUTOFFS, measure.cutoff})
        values = {str(with_parameter(measure, "k", k)): f"{k:,}" for k in cutoffs}
        controls.append(Control("K", "measure", str(measure), values))
    if "gain" in parameters and parameters["gain"].annotation == "Gain":
        controls.append(_parameter(measure, "gain", "linear", GAINS))
    if "discount" in parameters and discounts:
        controls.append(_parameter(measure, "discount", "log2", discounts))
    return controls


def _parameter(measure: Measure, name: str, usual: str, known: Mapping[str, str]) -> Control:
    """The values of a parameter, each as the whole measure that has it."""
    chosen = dict(measure.parameters).get(name, usual)
    values = {**known, **({} if chosen in known else {chosen: str(chosen)})}
    options = {str(with_parameter(measure, name, value)): words for value, words in values.items()}
    return Control(name.capitalize(), "measure", str(with_parameter(measure, name, chosen)), options)


def with_parameter(measure: Measure, name: str, value: Any) -> Measure:
    """The same measure with another value of a parameter."""
    others = [(key, each) for key, each in measure.parameters if key != name]
    made = replace(measure, parameters=(*others, (name, value)))
    return parse(str(made))


def choice(label: str, name: str, values: Iterable[str], chosen: str, none: str = "") -> Control:
    """Something to choose by name; `none`: how it is called that nothing is."""
    listed = {"": none} if none else {}
    return Control(label, name, chosen, listed | {value: value for value in values})
