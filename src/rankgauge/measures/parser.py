"""A measure's text: parsed and printed as inverses, in this project's spelling and in those that people already type.

ours           nDCG@10   nDCG(gain=exp)@10   P(rel=2)@5   RBP(p=0.9)
ir_measures    nDCG(dcg='exp-log2')@10   AP(rel=2)   RR@10   IPrec@0.1   SetP
trec_eval      ndcg_cut_10 or ndcg_cut.10   map   P_5   recall_100   recip_rank   iprec_at_recall_0.10
ranx           ndcg@10   ndcg_burges@10   map@100   mrr   hit_rate@5   precision@5-l2   rbp.95
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from rankgauge.errors import MeasureError, unknown, way
from rankgauge.measures.gains import discount_function, gain_text
from rankgauge.measures.registry import MEASURES, Definition, Measure

__all__ = ["SPELLINGS", "as_written", "measure_text", "parse", "parse_all", "resolve"]

SHAPE: Final = re.compile(r"(?P<name>[A-Za-z0-9_.\-]+?)(\((?P<inner>.*)\))?(@(?P<cut>[^@()]+?))?(-l(?P<level>\d+))?")
SEVERAL: Final = re.compile(r"[,;]\s*[A-Za-z]")  # what stands between two measures
INNER_PART: Final = re.compile(r"((?:[^,{}]|\{[^{}]*\})+)(?:,|$)")

# Other tools' names, lower case → ours with its parameters. A "*" stands for the number at the end: ndcg_cut_10.
SPELLINGS: Final[dict[str, str]] = {
    # trec_eval
    "ndcg_cut*": "nDCG@*",
    "map_cut*": "AP@*",
    "map": "AP",
    "p*": "P@*",
    "recall*": "R@*",
    "recip_rank": "RR",
    "success*": "Success@*",
    "relative_p*": "CappedR@*",
    "unj*": "Unjudged@*",
    "iprec_at_recall*": "IPrec@*",
    "rprec_mult*": "RprecMult@*",
    "dcg": "DCG",
    "ideal_dcg": "IDCG",
    "rbp": "RBP(p=0.9,gain=graded)",
    "rbp_resid": "RBPResidual(p=0.9)",
    "set_p": "SetP",
    "set_recall": "SetR",
    "set_relative_p": "SetRelP",
    "set_map": "SetAP",
    "set_f": "SetF",
    # ranx
    "ndcg_burges": "nDCG(gain=exp)",
    "dcg_burges": "DCG(gain=exp)",
    "mrr": "RR",
    "precision": "P",
    "recall": "R",
    "hit_rate": "Success",
    "hits": "NumRelRet",
    "f1": "F",
    "r-precision": "Rprec",
    "rbp.*": "RBP(p=0.*,gain=linear)",
    # what people say
    "hitrate": "Success",
    "hit": "Success",
    "idcg": "IDCG",
    "gmap": "gm_map",
    "capped_recall": "CappedR",
    "r_cap": "CappedR",
}
LARGEST: Final = 10**9
RANGES: Final = {
    "rel": (0.0, math.inf),
    "beta": (0.0, math.inf),
    "recall": (0.0, 1.0),
    "multiple": (0.0, math.inf),
    "max": (0.0, 1000.0),
    "p": (0.0, 1.0),
}
PARAMETER_SPELLINGS: Final = {"cutoff": "k", "gains": "gain", "dcg": "gain", "max_rel": "max"}
VALUE_SPELLINGS: Final = {"exp-log2": "exp", "log2": "linear"}


@lru_cache(maxsize=4096)
def parse(text: str) -> Measure:
    """The measure that a text stands for; `str(parse(text))` is its canonical spelling."""
    if not isinstance(text, str):
        raise MeasureError(f"parse takes the text of one measure, such as 'nDCG@10', not {text!r}")
    written = as_written(text)
    parameters = written.definition.parameters
    return Measure(written.name, tuple(pair for pair in written.parameters if pair[1] != parameters[pair[0]].default))


@lru_cache(maxsize=4096)
def as_written(text: str) -> Measure:
    """The measure with every parameter that the text names, those at our defaults too: another tool's defaults are not
    ours, and what is written goes before either."""
    name, given = _parts(text)
    return _checked(MEASURES[name], given, text)


def parse_all(measures: Any, read: Callable[[str], Measure] = parse) -> list[Measure]:
    """One measure or several, given as texts, as measures or as those of ir_measures."""
    several = type(measures) is list or (isinstance(measures, Iterable) and not isinstance(measures, (str, Measure)))
    given = measures if several else [measures]
    found = [read(each if type(each) is str else measure_text(each)) for each in given]
    if not found:
        raise MeasureError(f"there is no measure in the list; name one, such as nDCG@10. {_SEE_ALL}")
    return found


def measure_text(given: Any) -> str:
    """The text of a measure: of ours, or of ir_measures', whose texts we read."""
    if isinstance(given, (str, Measure)) or type(given).__module__.partition(".")[0] == "ir_measures":
        return str(given)
    raise MeasureError(f"a measure is a text such as 'nDCG@10', not {given!r}")


def resolve(name: str) -> tuple[str, dict[str, str]]:
    """Our name for any spelling, complete or not, and the parameters that it carries."""
    if f"{name.lower()}*" in SPELLINGS:
        return SPELLINGS[f"{name.lower()}*"].partition("@")[0].partition("(")[0], {}
    return _parts(name)


def _parts(text: str) -> tuple[str, dict[str, str]]:
    """Our name of the measure, and its parameters as text."""
    found = SHAPE.fullmatch(text.strip())
    if not found or SEVERAL.search(found["cut"] or ""):
        one = f"one measure at a time ({way('several are a list', '-m for each') or 'several are a list'})"
        hint = one if SEVERAL.search(text) else "one like nDCG@10 or P(rel=2)@5"
        raise MeasureError(f"{text!r} is not a measure; write {hint}. {_SEE_ALL}")
    name, given = _resolve(found["name"], text)
    if found["inner"]:
        given |= _inner(found["inner"], text)
    if found["cut"] is not None:
        cutoff = MEASURES[name].cutoff
        if cutoff is None:
            raise MeasureError(f"{text}: {name} has no cut-off, so nothing can stand behind '@'")
        if cutoff in given:
            raise MeasureError(f"{text}: {cutoff} is there twice")
        given[cutoff] = found["cut"]
    if found["level"]:
        given["rel"] = found["level"]
    return name, given


_SEE_ALL: Final = "'rankgauge measures' lists all"


def _resolve(name: str, text: str) -> tuple[str, dict[str, str]]:
    """Our name for a name, and the parameters that the name itself carries."""
    if name in MEASURES:
        return name, {}
    lower = name.lower()
    known = {key.lower(): key for key in MEASURES} | {
        other.lower(): key for key, row in MEASURES.items() for other in row.also
    }
    spelled = _spelling(lower)
    if spelled is not None:
        return _parts(spelled)
    if lower in known:
        return known[lower], {}
    raise MeasureError(_unknown(name, text, tuple(MEASURES)))


def _spelling(lower: str) -> str | None:
    if lower in SPELLINGS:
        return SPELLINGS[lower]
    found = re.fullmatch(r"(.*?[a-z])([_.])(\d*\.?\d+)", lower)
    if not found:
        return None
    for pattern in (f"{found[1]}.*" if found[2] == "." else "", f"{found[1]}*"):
        if pattern in SPELLINGS:
            return SPELLINGS[pattern].replace("*", found[3])
    return None


@lru_cache(maxsize=256)  # a table of values may call its measure anything, and is asked again and again
def _unknown(name: str, text: str, known: tuple[str, ...]) -> str:
    names = [*known, *(key.rstrip("*") for key in SPELLINGS)]
    if f"{name.lower()}*" in SPELLINGS:
        return f"{text} needs a number: write {name}_10 or {SPELLINGS[f'{name.lower()}*'].replace('*', '10')}"
    words = f"unknown measure {text!r}"
    return unknown(words, name, names, _SEE_ALL, lambda close: text.replace(name, _our_spelling(close), 1))


def _our_spelling(close: str) -> str:
    return next((key for key in MEASURES if key.lower() == close.lower()), close)


def _inner(inner: str, text: str) -> dict[str, str]:
    """The parameters between the parentheses, as text."""
    given: dict[str, str] = {}
    parts = INNER_PART.findall(inner)
    if ",".join(parts) != inner.rstrip(","):
        raise MeasureError(f"{text}: cannot tell the parameters apart in ({inner}); write name=value,name=value")
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals:
            raise MeasureError(
                f"{text}: {part.strip()!r} is not a parameter; write it as name=value: nDCG(gain=exp)@10"
            )
        name = PARAMETER_SPELLINGS.get(key.strip(), key.strip())
        if name in given:
            raise MeasureError(f"{text}: {name} is there twice")
        value = value.strip().strip("'\"")
        given[name] = VALUE_SPELLINGS.get(value, value) if key.strip() == "dcg" else value
    return given


def _checked(definition: Definition, given: dict[str, str], text: str) -> Measure:
    """Known parameters with right values, in the order of the signature."""
    for name in given:
        if name not in definition.parameters:
            raise MeasureError(
                f"{text}: {definition.name} has no parameter {name!r}; it has "
                f"{', '.join(definition.parameters) or 'none'}"
            )
    values: list[tuple[str, Any]] = []
    for name, parameter in definition.parameters.items():
        if name in given:
            values.append((name, _value(name, given[name], parameter, text)))
        elif parameter.default is inspect.Parameter.empty:
            raise MeasureError(f"{text}: {definition.name} needs a cut-off; write {definition.name}@10")
    return Measure(definition.name, tuple(values))


def _value(name: str, value: str, parameter: inspect.Parameter, text: str) -> Any:
    """A parameter's text as the type that the signature names."""
    kind = _kind(parameter)
    try:
        if kind.startswith("int"):
            if not 1 <= int(value) <= LARGEST:
                raise ValueError
            return int(value)
        if kind.startswith("float"):
            return _in_range(name, float(value), text)
        if kind.startswith("tuple"):
            return tuple(float(part) for part in value.strip("()[] ").split(";"))
    except ValueError:
        wanted = f"a whole number, 1 or more and at most {LARGEST:,}" if kind.startswith("int") else "a number"
        raise MeasureError(f"{text}: {name} is {wanted}, not {value!r}") from None
    if kind == "number":
        return _number_or_text(name, value, text)
    if kind == "Gain":
        return gain_text(value)
    if kind == "Discount":
        discount_function(value)
    return value


def _kind(parameter: inspect.Parameter) -> str:
    """The annotation's name, written as text or not; without one, the type of the default; without that, k is a whole
    number and anything else a number where it looks like one."""
    annotation = parameter.annotation
    if annotation is parameter.empty and parameter.default in (None, parameter.empty):
        return "int" if parameter.name == "k" else "number"
    if annotation is parameter.empty:
        return type(parameter.default).__name__
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _number_or_text(name: str, value: str, text: str) -> Any:
    try:
        number = _in_range(name, float(value), text)
    except ValueError:
        return value
    return int(number) if number.is_integer() else number


def _in_range(name: str, value: float, text: str) -> float:
    low, high = RANGES.get(name, (-math.inf, math.inf))
    if not (math.isfinite(value) and low <= value <= high):
        wanted = f"a number from {low:g} to {high:g}" if math.isfinite(high) else f"a finite number, {low:g} or more"
        raise MeasureError(f"{text}: {name} is {wanted if math.isfinite(low) else 'a finite number'}, not {value:g}")
    return value
