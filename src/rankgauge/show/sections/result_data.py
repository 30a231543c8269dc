"""Results → text for machines: CSV, JSON, trec_eval's lines; and what they have in common with the tables."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgauge.measures import Measure
    from rankgauge.result import Evaluation, Result

__all__ = [
    "Look",
    "as_csv",
    "as_json",
    "as_trec",
    "lead_heads",
    "measure_names",
    "query_values",
    "trec_line",
]
__all__ += ["value_of"]


@dataclass(frozen=True, slots=True)
class Look:
    """What to show and how."""

    per_query: bool = False
    digits: int = 4
    bold: bool = False


def lead_heads(results: list[Result], look: Look, query: str) -> list[str]:
    """The heads of the columns before the values."""
    group = ["group"] if any(result.groups for result in results) else []
    return ["run", query, *group] if look.per_query else ["run", *group, "queries"]


def measure_names(results: list[Result]) -> list[str]:
    return list(results[0]) if results else []


def value_of(result: Result, measure: Measure) -> Any:
    """A measure's value, or its band where the dialect's tool may give any value in it."""
    band = result.undefined.get(measure)
    return result[measure] if band is None else band.mean


def query_values(result: Result) -> Iterator[tuple[list[str], list[Any]]]:
    """For each query what stands before its values (run, query, group), and the values."""
    columns = [_query_column(result, measure) for measure in result.measures]
    groups = result.group_of_query if result.groups else None
    for index, (query, *values) in enumerate(zip(result.query_ids, *columns, strict=True)):
        yield [result.name, query, *([groups[index]] if groups else [])], values


def _query_column(result: Result, measure: Measure) -> list[Any]:
    """The value of every query, or its band."""
    values: list[Any] = result._selected(result.measured[measure]).tolist()
    bands = result.undefined.get(measure)
    if bands is None:
        return values
    open_ = (bands.high != bands.low).tolist()
    return [bands.at(i) if is_open else value for i, (value, is_open) in enumerate(zip(values, open_, strict=True))]


# ---- formats --------------------------------------------------------------------------------------------------------


def as_csv(evaluation: Evaluation, look: Look) -> str:
    """Every digit: a value read back is the value that was measured."""
    results = [*evaluation.values()]
    grouped = any(result.groups for result in results)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    banded = [any(measure in result.undefined for result in results) for measure in results[0].measures]
    names = zip(measure_names(results), banded, strict=True)
    heads = [head for name, is_banded in names for head in ([name, *_ends(name)] if is_banded else [name])]
    writer.writerow([*lead_heads(results, look, "query_id"), *heads])
    for result in results:
        for lead, values in query_values(result) if look.per_query else _run_values(result, grouped):
            cells = zip(values, banded, strict=True)
            writer.writerow([*lead, *(cell for value, is_banded in cells for cell in _csv_cells(value, is_banded))])
    return stream.getvalue()


def _run_values(result: Result, grouped: bool) -> Iterator[tuple[list[Any], list[Any]]]:
    for group, part in [("all", result), *result.by.items()]:
        lead = [result.name, group] if grouped else [result.name]
        yield [*lead, part.counts["queries"]], [value_of(part, measure) for measure in part.measures]


def _ends(name: str) -> list[str]:
    """The names of a band's ends, for machines."""
    return [f"{name}_low", f"{name}_high"]


def _csv_cells(value: Any, banded: bool) -> list[Any]:
    """A value; in columns with bands, no value and both ends, or the value as either end."""
    if hasattr(value, "low"):
        return ["", value.low, value.high]
    number = "" if isinstance(value, float) and math.isnan(value) else value
    return [number] * 3 if banded else [number]


def as_data(evaluation: Evaluation, look: Look) -> dict[str, Any]:
    """What the JSON holds, as a value."""
    return {
        "runs": [_run_data(result, look) for result in evaluation.values()],
        "protocol": evaluation.protocol.to_dict(),
        **({"dialect": evaluation.dialect.name} if evaluation.dialect else {}),
        "definitions": evaluation.definitions,
        "notes": evaluation.notes,
        **({"fingerprints": evaluation.first.fingerprints} if look.per_query else {}),
    }


def _run_data(result: Result, look: Look) -> dict[str, Any]:
    data = {
        "run": result.name,
        "queries": result.counts["queries"],
        "measures": {str(measure): _measure_data(result, measure) for measure in result.measures},
        "counts": result.counts,
        "judged": {str(k): _json_number(share) for k, share in result.judged.items()},
        "notes": result.notes,
        "fingerprint": result.fingerprint,
    }
    if result.groups:
        data["groups"] = {
            name: {
                "queries": part.counts["queries"],
                "measures": {str(measure): _measure_data(part, measure) for measure in part.measures},
            }
            for name, part in result.by.items()
        }
    return data | ({"per_query": _per_query_data(result)} if look.per_query else {})


def _per_query_data(result: Result) -> dict[str, dict[str, Any]]:
    """Query → measure → value, or both ends of its band."""
    data: dict[str, dict[str, Any]] = dict(result.to_dict())
    for measure, bands in result.undefined.items():
        for place, query in enumerate(bands.queries):
            band = bands.at(place)
            if band.low != band.high:
                data[query][str(measure)] = {"value": None, "low": band.low, "high": band.high, "exact": band.exact}
    return data


def _measure_data(result: Result, measure: Measure) -> dict[str, float | None]:
    band = value_of(result, measure)
    if hasattr(band, "low"):
        return {"value": None, "mean": None, "low": band.low, "high": band.high, "exact": band.exact}
    return {name: _json_number(value) for name, value in ({"value": result[measure]} | result.summary(measure)).items()}


def _json_number(value: float) -> float | None:
    return None if math.isnan(value) else value


def as_json(evaluation: Evaluation, look: Look) -> str:
    return json.dumps(as_data(evaluation, look), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_trec(evaluation: Evaluation, look: Look) -> str:
    """trec_eval's lines, with this project's names of the measures."""
    lines = []
    for result in evaluation.values():
        lines.append(trec_line("runid", "all", result.name))
        if look.per_query:
            for (_, query, *_), values in query_values(result):
                pairs = zip(result.measures, values, strict=True)
                lines += [line for measure, value in pairs for line in _trec_lines(measure, query, value)]
        numbers = [measure for measure in result.measures if measure.definition.aggregate != "none"]
        lines += [line for measure in numbers for line in _trec_lines(measure, "all", value_of(result, measure))]
    return "".join(lines)


def _trec_lines(measure: Measure, query: str, value: Any) -> list[str]:
    """The line of a value, or one for either end of a band."""
    named = zip(_ends(str(measure)), (value.low, value.high), strict=True) if hasattr(value, "low") else None
    return [trec_line(name, query, _trec_number(each, measure)) for name, each in named or [(str(measure), value)]]


def trec_line(measure: str, query: str, value: str) -> str:
    """A line as trec_eval prints it."""
    return f"{measure:<22}\t{query}\t{value}\n"


def _trec_number(value: Any, measure: Measure) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    if value is None or math.isnan(value):
        return "nan"
    return str(round(value)) if measure.definition.aggregate == "sum" else f"{value:6.4f}"
