"""Quality → tables: one function for each section, each of which returns a Table."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.measures.gains import number_text
from rankgauge.show.grid import bar, short
from rankgauge.show.titled import Table
from rankgauge.shown import clean

if TYPE_CHECKING:
    from rankgauge.trust.judgments.noise import LabelNoise
    from rankgauge.trust.judgments.quality import Quality
    from rankgauge.trust.unjudged.choose import ToJudge

__all__ = [
    "QUALITY_FORMATS",
    "Look",
    "as_csv",
    "html",
    "left_out_table",
    "noise_tables",
    "pairs_table",
    "query_table",
    "runs_table",
    "show",
    "show_to_judge",
    "summary_table",
]

MANY: Final = 45  # pairs, beyond which a table shows the undecided ones first and no more than so many
NAMED: Final = 3
WIDTH: Final = 12  # of a bar


@dataclass(frozen=True, slots=True)
class Look:
    """What to show and how; `asked_only`: where leaving out or label noise was asked for, nothing besides."""

    per_query: bool = False
    digits: int = 4
    asked_only: bool = False


def summary_table(quality: Quality) -> Table:
    """The judgments: how many of each grade."""
    summary = quality.summary
    most = max(summary.grades.values())
    rows = [
        [number_text(grade), f"{count:,}", f"{count / summary.judgments:.1%}", bar(count, most).ljust(WIDTH)]
        for grade, count in sorted(summary.grades.items(), reverse=True)
    ]
    queries = counted(summary.queries, "query", "queries")
    title = f"{counted(summary.judgments, 'judgment')} of {queries} in {summary.source}"
    return Table(title, ["grade", "judgments", "share", ""], rows, 0, tuple(_summary_notes(quality)))


def _summary_notes(quality: Quality) -> Iterator[str]:
    summary = quality.summary
    spread = f"from {summary.fewest:,} to {summary.most:,}, median {summary.median:g}, mean {summary.mean:.1f}"
    yield f"Judgments per query: {spread}."
    lists = {"without relevant documents": summary.without_relevant, "of one grade only": summary.one_grade}
    for words, queries in lists.items():
        if queries:
            named = ", ".join(queries[:NAMED]) + (", …" if len(queries) > NAMED else "")
            yield f"Queries {words}: {len(queries):,} ({named})."
    if summary.negative:
        negative = counted(summary.negative, "judgment")
        yield f"{negative} of negative grade: pooled and left without a grade, so open below."


def runs_table(quality: Quality, digits: int = 4) -> Table:
    """The runs: judged share, value, and the interval that unjudged documents leave open."""
    k = _cutoff(quality)
    rows = []
    for each in quality.runs:
        value, low, high = each.bounds.mean
        numbers = (value, low, high, each.condensed, each.expected)
        shown = [_number(number, digits) for number in numbers]
        rows.append([short(each.name), _number(each.judged, 3), f"{int(each.bounds.open.sum()):,}", *shown])
    heads = ["run", f"Judged{k}", "open", quality.measure, "lowest", "highest", "condensed", "expected"]
    notes = [
        "Lowest, highest: over every way to grade the open documents, the ideal moving with them.",
        "Condensed: without the unjudged documents. Expected: if they are like judged ones at their depth; optimistic.",
    ]
    errors = [each.expected_error for each in quality.runs]
    if max(errors, default=0.0) > 0:
        notes.append(f"Expected values are sampled; their standard error is at most {max(errors):.1g}.")
    return Table(f"What unjudged documents leave open; the scale is {_scale(quality)}", heads, rows, 1, tuple(notes))


def pairs_table(quality: Quality, digits: int = 4) -> Table:
    """The pairs of runs: the interval of their difference, and whether judging more could turn it round."""
    ordered = sorted(quality.pairs, key=lambda pair: pair.bounds.settled)
    shown = quality.pairs if len(quality.pairs) <= MANY else ordered[:MANY]
    rows = []
    for pair in shown:
        value, low, high = (_number(number, digits, sign=True) for number in pair.bounds.mean)
        numbers = [_number(pair.judged, 3), f"{int(pair.bounds.open.sum()):,}", value, low, high]
        rows.append([short(pair.a, 18), short(pair.b, 18), *numbers, pair.verdict])
    heads = ["a", "b", f"Judged{_cutoff(quality)}", "open", "a − b", "lowest", "highest", "so"]
    left = len(quality.pairs) - len(shown)
    notes = (f"… and {counted(left, 'more pair')}, most of them settled; JSON has all.",) if left else ()
    return Table("Pairs: a document has one grade in both runs", heads, rows, 2, notes)


def left_out_table(quality: Quality, digits: int = 4) -> Table:
    """Leave one run out: what each would have lost as a newcomer."""
    rows = [
        [short(each.run), f"{each.alone:,}", *(_number(n, digits) for n in (each.value, each.without)),
         _number(-each.lost, digits, sign=True), str(each.rank), str(each.rank_without)]
        for each in quality.left_out
    ]  # fmt: skip
    heads = ["run", "judged for it alone", quality.measure, "without", "change", "rank", "rank without"]
    mean = sum(each.lost for each in quality.left_out) / max(1, len(quality.left_out))
    moved = sum(each.rank != each.rank_without for each in quality.left_out)
    note = f"A newcomer loses {mean:.{digits}f} on average; {moved} of {len(rows)} change their rank."
    return Table("Leave one run out: without the judgments that only it brought", heads, rows, 1, (note,))


def noise_tables(noise: LabelNoise, digits: int = 4) -> list[Table]:
    """Label noise: the distribution of each system's value, and how often the order of two is turned round."""
    rows = [[short(each.system), *(_number(number, digits) for number in each[1:])] for each in noise.scores]
    heads = ["run", noise.measure, "mean", "deviation", "2.5 %", "97.5 %"]
    note = f"{counted(len(noise.draws), 'draw')} of the true grades given the labels, seed {noise.seed}."
    tables = [Table("Label noise: values under the grades that the labels may stand for", heads, rows, 1, (note,))]
    if len(noise.systems) > 1:
        pairs = [
            [short(each.a, 18), short(each.b, 18), _number(each.difference, digits, sign=True), f"{each.flips:.3f}"]
            for each in noise.flips
        ]
        heads = ["a", "b", "a − b", "order turned round"]
        tables.append(Table("", heads, pairs[:MANY], 2))
    return tables


def query_table(quality: Quality, digits: int = 4) -> Table:
    """Every query of every run."""
    heads = ["run", "query", "open", quality.measure, "lowest", "highest", "condensed", "expected"]
    names = ("value", "low", "high", "condensed", "expected")
    rows = [
        [short(row["run"]), row["query_id"], str(row["open"]), *(_number(row[name], digits) for name in names)]
        for row in quality.to_frame().iter_rows(named=True)
    ]
    return Table("", heads, rows, 2)


def show_to_judge(pairs: Sequence[ToJudge], format: str) -> str:
    """The pairs to judge, in one of the formats."""
    rows = [each._asdict() for each in pairs]
    if format == "json":
        return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
    heads = ["query_id", "doc_id", "narrows", "at_least", "best_rank", "runs"]
    if format == "csv":
        return as_csv(heads, ([row[head] for head in heads] for row in rows))
    cells = [
        [each.query_id, short(each.doc_id), f"{each.narrows:.5f}", f"{each.at_least:.5f}", str(each.best_rank),
         str(each.runs)] for each in pairs
    ]  # fmt: skip
    note = "Narrows: by how much the interval of the mean is expected to become narrower; at_least: whatever the grade."
    table = Table("", heads, cells, 2, (note,))
    return table.text() if format == "table" else table.markdown()


# ---- formats ---------------------------------------------------------------------------------------------------------


def show(quality: Quality, format: str = "table", look: Look | None = None) -> str:
    """The whole in one of the formats, ending in a newline."""
    return QUALITY_FORMATS[format](quality, look or Look())


def tables(quality: Quality, look: Look | None = None) -> list[Table]:
    """Every section that there is something to say in; or those alone that had to be asked for, where some were."""
    look = look or Look()
    if look.per_query:
        return [query_table(quality, look.digits)]
    asked = [left_out_table(quality, look.digits)] if quality.left_out else []
    asked += noise_tables(quality.noise, look.digits) if quality.noise is not None else []
    if asked and look.asked_only:
        return asked
    found = [summary_table(quality)]
    found += [runs_table(quality, look.digits)] if quality.runs else []
    found += [pairs_table(quality, look.digits)] if quality.pairs else []
    return found + asked


def _as_table(quality: Quality, look: Look) -> str:
    return "\n".join(table.text() for table in tables(quality, look))


def _as_markdown(quality: Quality, look: Look) -> str:
    return "\n".join(table.markdown() for table in tables(quality, look))


def _as_json(quality: Quality, look: Look) -> str:
    data = quality.to_dict()
    if look.per_query:
        data["per_query"] = quality.to_frame().to_dicts()
    return json.dumps(clean(data), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _as_csv(quality: Quality, look: Look) -> str:
    """A row per run (or per run and query), every digit; without runs, a row per grade.

    Where leaving runs out or label noise had to be asked for and nothing else is wanted, a row per run of that."""
    if not quality.runs:
        return as_csv(["grade", "judgments"], quality.summary.grades.items())
    if look.asked_only and quality.left_out:
        rows = [each._asdict() | {"lost": each.lost} for each in quality.left_out]
    elif look.asked_only and quality.noise is not None:
        rows = quality.noise.to_frame().to_dicts()
    else:
        rows = quality.to_frame().to_dicts() if look.per_query else [each.to_dict() for each in quality.runs]
    return as_csv(list(rows[0]), (row.values() for row in rows))


def as_csv(heads: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV; what is missing is empty."""
    import csv
    import io

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow(["" if value is None or value != value else value for value in row])
    return stream.getvalue()


QUALITY_FORMATS: Final[dict[str, Callable[[Quality, Look], str]]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
}


def html(quality: Quality) -> str:
    """The sections of a notebook, with the pictures of the intervals and of label noise."""
    from rankgauge.show.svg.judgments import intervals_svg, noise_svg

    picture = intervals_svg(quality) if quality.runs else ""
    picture += noise_svg(quality.noise) if quality.noise is not None else ""
    return picture + "".join(table.html() for table in tables(quality))


def _number(value: float | None, digits: int, *, sign: bool = False) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    value = 0.0 if round(value, digits) == 0 else value  # never -0.0000
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def _cutoff(quality: Quality) -> str:
    k = quality.sheet.scale.k if quality.sheet else None
    return "" if k is None else f"@{k}"


def _scale(quality: Quality) -> str:
    assert quality.sheet is not None
    return ", ".join(map(number_text, quality.sheet.scale.grades.tolist()))
