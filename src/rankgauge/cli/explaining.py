"""What `rankgauge explain` does once its options are parsed: read, explain, deliver."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import click

from rankgauge.cli.eval import is_terminal
from rankgauge.cli.inputs import Inputs
from rankgauge.errors import FormatError
from rankgauge.explanation.query.difference import difference
from rankgauge.explanation.query.explain import Difference, Explanation, explain, wanted_measure, worst_queries
from rankgauge.show.sections.explanation import coloured
from rankgauge.show.svg.page import PICTURES, picture, show
from rankgauge.writers.write import opened

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol

__all__ = ["Wanted", "deliver", "explain_files", "explain_grades"]

Found: TypeAlias = Sequence[Explanation] | Explanation | Difference
TEXTS = {".md": "markdown", ".json": "json", ".txt": "table"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asked to be explained."""

    query: str | None
    worst: int | None
    grades: str | None
    ideal_grades: str | None
    measure: str | None
    gain: str | None
    k: int | None
    top: int
    protocol: Protocol


def explain_grades(wanted: Wanted, files: tuple[str, ...]) -> Explanation:
    """The explanation of a list of grades."""
    if files or wanted.query is not None or wanted.worst is not None:
        raise click.UsageError("--grades is explained by itself: leave out the files, --query and --worst")
    ideal = None if wanted.ideal_grades is None else _grades("--ideal-grades", wanted.ideal_grades, unjudged=False)
    return explain(
        grades=_grades("--grades", wanted.grades or ""),
        ideal=None if ideal is None else [grade for grade in ideal if grade is not None],
        measure=wanted.measure, gain=wanted.gain, k=wanted.k, protocol=wanted.protocol, top=wanted.top,
    )  # fmt: skip


def explain_files(wanted: Wanted, files: tuple[str, ...], reading: Reading) -> Found:
    """The explanation of one query, of the worst ones, or of two runs side by side."""
    _check_files(wanted, files)
    qrels, *paths = files
    inputs = Inputs(reading, qrels, paths)
    measure = wanted_measure(wanted.measure, wanted.gain, wanted.k)
    judged = inputs.judgments
    if wanted.worst is not None:
        ((name, run),) = inputs.runs.items()
        return worst_queries(judged, run, wanted.worst, measure, protocol=wanted.protocol, top=wanted.top, name=name)
    found = [
        explain(judged, run, wanted.query, measure, protocol=wanted.protocol, top=wanted.top, name=name)
        for name, run in inputs.runs.items()
    ]
    return found[0] if len(found) == 1 else difference(*found)


def _check_files(wanted: Wanted, files: tuple[str, ...]) -> None:
    if wanted.ideal_grades is not None:
        raise click.UsageError("--ideal-grades goes with --grades; with files, the ideal is made of all judgments")
    if len(files) not in (2, 3):
        raise click.UsageError("give QRELS and one run, or two to compare; or --grades 3,2,3,0,u,2")
    if (wanted.query is None) == (wanted.worst is None):
        raise click.UsageError("which query? Give --query ID, or --worst N for those of the lowest values")
    if wanted.worst is not None and len(files) == 3:
        raise click.UsageError("--worst is of one run; to put two side by side, give --query ID")


def _grades(option: str, text: str, *, unjudged: bool = True) -> list[float | None]:
    """`3,2,u` → 3, 2, unjudged; blanks separate as commas do."""
    if not text.strip():
        return []
    parts = re.split(r"\s*,\s*|\s+", text.strip())
    return [_grade(part, f"{option}, place {place}", unjudged) for place, part in enumerate(parts, 1)]


def _grade(part: str, where: str, unjudged: bool) -> float | None:
    if part.lower() == "u":
        if unjudged:
            return None
        raise FormatError(f"{where}: the ideal is made of judgments, so u (unjudged) is none of it; leave it out")
    try:
        grade = float(part)
    except ValueError:
        found = f"{part!r} is neither a number nor u (unjudged)" if part else "nothing is there"
        raise FormatError(f"{where}: {found}; write 3,2,0,u,1") from None
    if not math.isfinite(grade):
        raise FormatError(f"{where}: {part!r} is not a finite number")
    return grade


def deliver(found: Found, format: str | None, output: str) -> None:
    """Print, or write what the suffix of the file says."""
    suffix = os.path.splitext(output)[1].lower()
    if suffix in PICTURES and format is not None:
        raise click.UsageError(f"--format is for text; {output} is to be a picture")
    if format is None and suffix and suffix not in {*PICTURES, *TEXTS}:
        known = ", ".join([*TEXTS, *PICTURES])
        raise click.UsageError(f"{output}: {suffix} is nothing that can be written; name the file {known}, or --format")
    text = format or TEXTS.get(suffix, "table")
    if suffix in PICTURES:
        data = picture(found, suffix)
    else:
        shown = show(found, text)
        data = (coloured(shown) if text == "table" and output == "-" and is_terminal() else shown).encode()
    with opened(output) as stream:
        stream.write(data)
