"""trec_eval's names, sets of measures, parameters and lines: version 10's output, byte for byte.

A row of the table below is one of its measures: which of ours it is, its default parameters, and how it is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import MeasureError, unknown, warn
from rankgauge.matching.match import match
from rankgauge.measures import Measure, parse
from rankgauge.read import JudgmentsSource, RunSource
from rankgauge.result import Evaluation, Result

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats
    from rankgauge.matching.hits import Hits
    from rankgauge.protocol import Protocol

__all__ = ["Report", "trec_lines", "trec_report"]

CUTS: Final = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TENTHS: Final = tuple(tenth / 10 for tenth in range(11))


@dataclass(frozen=True, slots=True)
class Row:
    """One of trec_eval's measures. `ours` holds * where a parameter goes; `takes` is what its parameters are."""

    name: str
    ours: str
    takes: str = ""  # "cuts": whole numbers, one value each; "levels": decimals, one value each; or "gains", "numbers"
    default: tuple[float, ...] = ()


ROWS: Final = (
    Row("runid", "", "text"),
    Row("num_q", "NumQ", "summary"),
    Row("num_ret", "NumRet"),
    Row("num_rel", "NumRel"),
    Row("num_rel_ret", "NumRelRet"),
    Row("map", "AP"),
    Row("gm_map", "gm_map", "summary"),
    Row("Rprec", "Rprec"),
    Row("bpref", "Bpref"),
    Row("recip_rank", "RR"),
    Row("iprec_at_recall", "IPrec(levels=nearest)@*", "levels", TENTHS),
    Row("P", "P@*", "cuts", CUTS),
    Row("relstring", "relstring@*", "numbers", (10,)),
    Row("recall", "R@*", "cuts", CUTS),
    Row("infAP", "infAP"),
    Row("gm_bpref", "gm_bpref", "summary"),
    Row("Rprec_mult", "RprecMult@*", "levels", tuple(tenth / 10 for tenth in range(2, 21, 2))),
    Row("utility", "utility(a=*,b=*,c=*,d=*,documents=N)", "numbers", (1, -1, 0, 0)),
    Row("11pt_avg", "11pt_avg(levels=nearest,points=*)", "numbers", TENTHS),
    Row("binG", "binG"),
    Row("G", "G", "gains"),
    Row("dcg", "DCG", "gains"),
    Row("ideal_dcg", "IDCG", "gains"),
    Row("ndcg", "nDCG", "gains"),
    Row("ndcg_rel", "nDCGrel", "gains"),
    Row("Rndcg", "Rndcg", "gains"),
    Row("ndcg_cut", "nDCG@*", "cuts", CUTS),
    Row("map_cut", "AP@*", "cuts", CUTS),
    Row("relative_P", "CappedR@*", "cuts", CUTS),
    Row("success", "Success@*", "cuts", (1, 5, 10)),
    Row("set_P", "SetP"),
    Row("set_relative_P", "SetRelP"),
    Row("set_recall", "SetR"),
    Row("set_map", "SetAP"),
    Row("set_F", "SetF(beta=*)", "numbers", (1,)),
    Row("num_nonrel_judged_ret", "NumNonrelRet"),
    Row("rbp", "RBP(p=*,gain=graded)", "persistence", (0.9,)),
    Row("rbp_resid", "RBPResidual(p=*)", "persistence", (0.9,)),
    Row("unj", "Unjudged@*", "cuts", (5, 10, 20)),
)
BY_NAME: Final = {row.name: row for row in ROWS}
COUNTS: Final = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
SETS: Final = {
    "official": [*COUNTS, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"],
    "set": [*COUNTS, "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"],
    "all_trec": [row.name for row in ROWS if row.name not in ("dcg", "ideal_dcg")],
}


@dataclass(frozen=True, slots=True)
class Report:
    """What to print: the measures as given with -m, every query, the summary; the size of the collection."""

    measures: tuple[str, ...]
    per_query: bool = False
    summary: bool = True
    documents: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """One printed value: its name, its measure (None: the run's tag), whether it is for the summary only."""

    name: str
    measure: Measure | None
    summary_only: bool = False


def trec_report(judgments: JudgmentsSource, run: RunSource, protocol: Protocol, report: Report) -> str:
    """The whole output."""
    lines = list(_lines(report))
    judged, ranked = judgments.read(), run.read(protocol)
    hits = match(judged, ranked, protocol)
    values = {line.measure: _values(line.measure, hits) for line in lines if line.measure is not None}
    result = Result("", hits, values)
    printed = []
    if report.per_query:
        for index, query in enumerate(hits.queries):
            printed += [
                trec_line(line.name, query, _text(values[line.measure][index], line.measure))
                for line in lines
                if line.measure is not None and not line.summary_only
            ]
    if report.summary:
        for line in lines:
            if line.measure is None:
                printed.append(trec_line(line.name, "all", ranked.tag))
            elif line.measure.definition.aggregate != "none":
                printed.append(trec_line(line.name, "all", _text(result[line.measure], line.measure)))
    return "".join(printed)


def trec_line(measure: str, query: str, value: str) -> str:
    """A line as trec_eval prints it."""
    return f"{measure:<22}\t{query}\t{value}\n"


def trec_lines(evaluation: Evaluation, *, per_query: bool = False) -> str:
    """trec_eval's lines, with this project's names of the measures."""
    lines = []
    for result in evaluation.values():
        lines.append(trec_line("runid", "all", result.name))
        if per_query:
            for query, _, values in result.query_rows():
                pairs = zip(result.measures, values, strict=True)
                lines += [line for measure, value in pairs for line in _value_lines(measure, query, value)]
        numbers = [measure for measure in result.measures if measure.definition.aggregate != "none"]
        lines += [line for each in numbers for line in _value_lines(each, "all", result.value_or_band(each))]
    return "".join(lines)


def _value_lines(measure: Measure, query: str, value: Any) -> Iterator[str]:
    """The line of a value, or one for either end of a band."""
    ends = ("_low", "_high") if hasattr(value, "low") else ("",)
    for end in ends:
        yield trec_line(f"{measure}{end}", query, _text(getattr(value, end[1:]) if end else value, measure))


def _values(measure: Measure, hits: Hits) -> Floats:
    values = measure(hits)
    if measure.name == "RBPResidual":  # trec_eval counts nothing beyond the end where all that was retrieved is judged
        return np.where(hits.retrieved > hits.count(hits.grade >= 0), values, 0.0)
    return values


def _text(value: Any, measure: Measure) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    if value != value:
        return "nan"
    return str(round(value)) if measure.definition.aggregate == "sum" else f"{value:6.4f}"


# ---- which values are asked for -------------------------------------------------------------------------------------


def _lines(report: Report) -> Iterator[Line]:
    """The values asked for, in trec_eval's own order."""
    asked: dict[str, str | None] = {}
    for given in report.measures:
        name, dot, parameters = given.partition(".")
        for one in SETS.get(given, [name]):
            if one not in BY_NAME:
                one, parameters = _with_underscore(one, given)
                dot = "."
            if dot and given not in SETS and asked.get(one) is not None:
                warn(f"{one} is asked for twice with parameters; {one}.{asked[one]} counts, as in trec_eval")
            elif dot and given not in SETS:
                asked[one] = parameters
            else:
                asked.setdefault(one, None)
    for row in ROWS:
        if row.name in asked:
            yield from _values_of(row, asked[row.name], report.documents)


def _with_underscore(name: str, given: str) -> tuple[str, str]:
    """`ndcg_cut_10` as trec_eval prints it, though it wants to be asked with `ndcg_cut.10`."""
    measure, _, number = given.rpartition("_")
    if measure in BY_NAME and re.fullmatch(r"[-0-9.,=]+", number):
        return measure, number
    words = f"trec_eval has no measure {name!r} that works on judgments"
    raise MeasureError(unknown(words, name, [*BY_NAME, *SETS], f"it has {', '.join(BY_NAME)}"))


def _values_of(row: Row, parameters: str | None, documents: int) -> Iterator[Line]:
    name = f"{row.name}_{parameters}" if parameters else row.name
    if row.takes == "text":
        yield Line(row.name, None)
    elif row.takes in ("cuts", "levels"):
        numbers = sorted(_numbers(parameters, whole=row.takes == "cuts")) if parameters else row.default
        for number in numbers:
            suffix = f"{number:.0f}" if row.takes == "cuts" else f"{number:3.2f}"
            yield Line(f"{row.name}_{suffix}", parse(row.ours.replace("*", f"{number:.17g}")))
    elif row.takes == "gains":
        gain = f"(gain={{{parameters.replace('=', ':')}}})" if parameters else ""
        yield Line(name, parse(row.ours + gain))
    else:
        yield Line(name, _measure(row, parameters, documents), row.takes == "summary")


def _measure(row: Row, parameters: str | None, documents: int) -> Measure:
    """A measure of one value, with its parameters put in."""
    given = parameters.removeprefix("p=") if parameters and row.takes == "persistence" else parameters
    numbers = _numbers(given) if given else list(row.default)
    text = row.ours.replace("=N", f"={documents}")
    if row.name == "11pt_avg":
        return parse(text.replace("*", ";".join(map(repr, numbers))))
    if text.count("*") > len(numbers):
        raise MeasureError(f"{row.name}.{parameters}: expected {text.count('*')} numbers, got {len(numbers)}")
    for number in numbers:
        text = text.replace("*", f"{number:.17g}", 1)
    return parse(text)


def _numbers(text: str, *, whole: bool = False) -> list[float]:
    """`5,10,23.4` → numbers; where whole ones are wanted, trec_eval drops what follows the point."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise MeasureError(f"{text!r} is not a list of numbers such as 5,10,20") from None
    numbers = [float(int(number)) for number in numbers] if whole else numbers
    if whole and len(set(numbers)) < len(numbers):
        raise MeasureError(f"{text!r} has a cut-off twice")
    return numbers
