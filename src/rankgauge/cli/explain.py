"""`rankgauge explain`: one query's value, rank by rank."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, protocol_options, reading_options, shared
from rankgauge.cli.output import deliver, output_options
from rankgauge.errors import FormatError

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.explanation.query.explanation import Explanation
    from rankgauge.protocol import Protocol
    from rankgauge.shown import Shown

__all__ = ["explain_values"]


@command(
    "explain",
    usual=("query", "worst", "queries", "documents", "measure", "ranked_grades", "k", "top", "output", "format"),
    needs={"ideal_grades": "ranked_grades", "queries": "files", "documents": "files"},
    requires=[("files", "ranked_grades")],
    excludes=[("files", "ranked_grades"), ("query", "worst", "ranked_grades")],
    renamed={"--grades": "--ranked-grades"},
)
@click.argument("files", nargs=-1, type=FILE, metavar="[QRELS [NAME=]RUN [[NAME=]RUN]]")
@click.option("--query", metavar="ID", help="The query to explain.  [the only one]")
@click.option(
    "--worst", type=click.IntRange(1), metavar="N", help="The N queries that lost most; of one run, the lowest."
)
@shared("queries", "documents")
@shared("measures_from", measure={"default": None})
@click.option("--ranked-grades", metavar="LIST", help="Explain these grades, in rank order: 3,2,3,0,u,2 (u: unjudged).")
@click.option(
    "--ideal-grades", metavar="LIST", help="With --ranked-grades: the grades of all judged documents.  [those ranked]"
)
@click.option("--gain", help="nDCG's gain, without -m: linear, exp, binary or {grade:gain,…}.  [linear]")
@click.option("-k", type=click.IntRange(1), help="nDCG's cut-off, without -m.  [10]")
@click.option("--top", type=click.IntRange(0), default=5, metavar="N", help="Show the N most valuable changes.  [5]")
@output_options()
@partial(protocol_options, without=("grades",))
@reading_options
def explain_values(
    output: Output,
    files: tuple[str, ...],
    ranked_grades: str | None,
    ideal_grades: str | None,
    reading: Reading,
    query: str | None,
    worst: int | None,
    queries: str | None,
    documents: str | None,
    **asked: Any,
) -> None:
    """Explain a value rank by rank, beside the ideal ranking, with the changes that would raise it most.

    One query of a run, its worst queries, two runs side by side, or a list of grades.

    \b
    Examples:
      rankgauge explain qrels.txt run.txt --query 17 -m nDCG@10
      rankgauge explain qrels.txt run.txt --query 17 -o q17.svg
      rankgauge explain qrels.txt run.txt --worst 3 -m AP
      rankgauge explain qrels.txt old.run new.run --worst 5
      rankgauge explain qrels.txt old.run new.run --query 17
      rankgauge explain --ranked-grades 3,2,3,0,u,2 --gain exp -k 10
    """
    from rankgauge.read.tables import read_texts

    if ranked_grades is not None:
        deliver(_grades_explained(ranked_grades, ideal_grades, **asked), output)
        return
    texts = {"queries": queries and read_texts(queries, "query_id")}
    texts |= {"documents": documents and read_texts(documents, "doc_id")}
    deliver(_files_explained(files, reading, query, worst, **asked), output, **texts)


def _grades_explained(ranked: str, ideal: str | None, **asked: Any) -> Explanation:
    from rankgauge.explanation.query.explain import explain

    best = None if ideal is None else _grades("--ideal-grades", ideal, unjudged=False)
    known = None if best is None else [grade for grade in best if grade is not None]
    return explain(ranked_grades=_grades("--ranked-grades", ranked), ideal_grades=known, **asked)


def _files_explained(
    files: tuple[str, ...],
    reading: Reading,
    query: str | None,
    worst: int | None,
    *,
    measure: str | None,
    gain: str | None,
    k: int | None,
    protocol: Protocol,
    top: int,
) -> Shown:
    """The explanation of one query, of the worst ones, or of two runs side by side."""
    from rankgauge.cli.inputs import Inputs
    from rankgauge.explanation.query.explain import difference, explain, most_lost, wanted_measure, worst_queries
    from rankgauge.explanation.query.explanation import Explanations

    if len(files) not in (2, 3):
        raise click.UsageError("give QRELS and one run, or two to compare: the first is the baseline")
    qrels, *paths = files
    inputs = Inputs(reading, qrels, paths)
    inputs.warn_of_labels()
    chosen = wanted_measure(measure, gain, k)
    rules: dict[str, Any] = {"protocol": protocol, "top": top}
    if worst is not None and len(inputs.runs) == 2:
        return Explanations(most_lost(inputs.judgments, inputs.runs, worst, chosen, **rules))
    if worst is not None:
        ((name, run),) = inputs.runs.items()
        return Explanations(worst_queries(inputs.judgments, run, worst, chosen, name=name, **rules))
    explained = [explain(inputs.judgments, run, query, chosen, name=name, **rules) for name, run in inputs.runs.items()]
    return explained[0] if len(explained) == 1 else difference(*reversed(explained))


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
        bad = f"{part!r} is neither a number nor u (unjudged)" if part else "nothing is there"
        raise FormatError(f"{where}: {bad}; write 3,2,0,u,1") from None
    if not math.isfinite(grade):
        raise FormatError(f"{where}: {part!r} is not a finite number")
    return grade
