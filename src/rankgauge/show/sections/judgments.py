"""Judgments: what they hold, what unjudged documents leave open, what to judge next, unfair pools, wrong labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.show.cells import number_text
from rankgauge.show.model import Block, Column, Mark, Section, Table, chart_of

if TYPE_CHECKING:
    from rankgauge.trust.judgments.coverage import PairCoverage
    from rankgauge.trust.judgments.noise import LabelNoise
    from rankgauge.trust.judgments.quality import Quality
    from rankgauge.trust.unjudged.bounds import Bounds
    from rankgauge.trust.unjudged.choose import ToJudgeList

__all__ = ["bounds_sections", "noise_blocks", "open_blocks", "sections", "to_judge_sections"]

MOST_PAIRS: Final = 45  # pairs, beyond which a table shows the undecided ones first and no more than so many
NAMED: Final = 3  # queries of a list
WIDEST: Final = 20  # queries that are shown of one run


def sections(quality: Quality, *, per_query: bool = False, asked_only: bool = False) -> Iterator[Section]:
    """Every part that there is something to say in; `asked_only`: where leaving out or label noise was asked for,
    nothing besides."""
    if per_query:
        yield Section("queries", "Every query", [_query_table(quality)])
        return
    asked = [_left_out_table(quality)] if quality.left_out else []
    blocks: list[Block] = [*asked, *(noise_blocks(quality.noise) if quality.noise is not None else ())]
    if not (blocks and asked_only):
        blocks = [*_usual_blocks(quality), *blocks]
    yield Section("judgments", "Judgments", [*blocks, Table.of_rows(_rows(quality, asked_only))])


def _usual_blocks(quality: Quality) -> Iterator[Block]:
    yield _summary_table(quality)
    if quality.runs:
        yield from open_blocks(quality)


def open_blocks(quality: Quality) -> Iterator[Block]:
    """What unjudged documents leave open, of every run and of every pair."""
    yield from (chart_of("unjudged", quality), _open_runs_table(quality))
    if quality.pairs:
        yield from (_open_pairs_table(quality), chart_of("unjudged-pairs", quality))


def _rows(quality: Quality, asked_only: bool) -> list[dict[str, Any]]:
    """A row per run, every digit; without runs, a row per grade; or what alone was asked for."""
    if not quality.runs:
        return [{"grade": grade, "judgments": count} for grade, count in quality.summary.grades.items()]
    if asked_only and quality.left_out:
        return [each._asdict() | {"lost": each.lost} for each in quality.left_out]
    if asked_only and quality.noise is not None:
        return [each._asdict() for each in quality.noise.scores]
    return [each.to_dict() for each in quality.runs]


# ---- what judgments hold ---------------------------------------------------------------------------------------------


def _summary_table(quality: Quality) -> Table:
    """How many judgments of each grade there are."""
    summary = quality.summary
    columns = [Column("grade", "grade"), Column("judgments", "count"), Column("share", "share"), Column("", "bar")]
    grades = sorted(summary.grades.items(), reverse=True)
    rows = [[grade, count, count / summary.judgments, count] for grade, count in grades]
    queries = counted(summary.queries, "query", "queries")
    title = f"{counted(summary.judgments, 'judgment')} of {queries} in {summary.source}"
    return Table("grades", title, columns, rows, [*_summary_notes(quality)])


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
        yield f"{negative} of negative grade: pooled and left without a grade, so unjudged below."


# ---- what unjudged documents leave open ------------------------------------------------------------------------------


def _open_runs_table(quality: Quality) -> Table:
    """The runs: judged share, value, and the interval that unjudged documents leave open."""
    columns = [Column("run"), Column(f"Judged{_cutoff(quality)}", "number", 3), Column("unjudged", "count", key="open")]
    columns += [Column(head, "number") for head in (quality.measure, "lowest", "highest", "condensed", "expected")]
    rows = [
        [each.name, each.judged, int(each.bounds.open.sum()), *each.bounds.mean, each.condensed, each.expected]
        for each in quality.runs
    ]
    notes = [
        "Lowest, highest: over all grades that unjudged documents could get; the ideal ranking is recomputed.",
        "Condensed: unjudged documents left out. Expected: if they are like judged ones at their depth; optimistic.",
    ]
    if any((each.judged_per_query != each.judged_per_query).any() for each in quality.runs):
        notes.insert(0, f"Judged{_cutoff(quality)}: of answered queries.")
    error = max((each.expected_error for each in quality.runs), default=0.0)
    notes += [f"Expected values are sampled; their standard error is at most {error:.1g}."] if error > 0 else []
    caption = f"Best and worst case once unjudged documents are judged (grades {_scale(quality)})"
    return Table("unjudged", caption, columns, rows, notes)


def _open_pairs_table(quality: Quality) -> Table:
    """The pairs of runs: the interval of their difference, and whether judging more could turn it round."""
    ordered = sorted(quality.pairs, key=lambda pair: pair.bounds.settled)
    shown = quality.pairs if len(quality.pairs) <= MOST_PAIRS else ordered[:MOST_PAIRS]
    columns = [Column("system", key="a"), Column("baseline", key="b")]
    columns += [Column(f"Judged{_cutoff(quality)}", "number", 3, aside=True)]
    columns += [Column("unjudged", "count", key="open", aside=True)]
    columns += [Column(head, "signed") for head in ("difference", "lowest")]
    columns += [Column("highest", "signed"), Column("verdict")]
    rows = [
        [pair.a, pair.b, pair.judged, int(pair.bounds.open.sum()), *pair.bounds.mean, _verdict(pair)] for pair in shown
    ]
    left = len(quality.pairs) - len(shown)
    notes = [f"… and {counted(left, 'more pair')}, most of them settled; JSON has all."] if left else []
    caption = "Differences between runs (a shared unjudged document gets one grade)"
    return Table("unjudged-pairs", caption, columns, rows, notes, search=len(rows) > 8)


def _verdict(pair: PairCoverage) -> Mark:
    return Mark(pair.verdict, "quiet" if pair.bounds.settled or not pair.bounds.open.any() else "warn")


def _query_table(quality: Quality) -> Table:
    """Every query of every run."""
    rows = quality.to_frame().to_dicts()
    columns = [Column("run"), Column("query", "query", key="query_id"), Column("unjudged", "count", key="open")]
    columns += _range_columns(quality.measure)
    columns += [Column(name, "number") for name in ("condensed", "expected", "judged")]
    cells = [[row[column.key or column.head] for column in columns] for row in rows]
    return Table("queries", "", columns, cells, search=True)


def _range_columns(measure: str) -> list[Column]:
    heads = {"value": measure, "low": "lowest", "high": "highest"}
    return [Column(head, "number", key=key) for key, head in heads.items()]


def _cutoff(quality: Quality) -> str:
    k = quality.sheet.scale.k if quality.sheet else None
    return "" if k is None else f"@{k}"


def _scale(quality: Quality) -> str:
    assert quality.sheet is not None
    return ", ".join(f"{grade:g}" for grade in quality.sheet.scale.grades.tolist())


# ---- unfair pools, wrong labels --------------------------------------------------------------------------------------


def _left_out_table(quality: Quality) -> Table:
    """Leave one run out: what each would have lost as a newcomer."""
    columns = [Column("run"), Column("judged for it alone", "count"), Column(quality.measure, "number")]
    columns += [Column("without", "number"), Column("change", "signed"), Column("rank", "rank")]
    columns += [Column("rank without", "rank")]
    rows = [
        [each.run, each.alone, each.value, each.without, -each.lost, each.rank, each.rank_without]
        for each in quality.left_out
    ]
    mean = sum(each.lost for each in quality.left_out) / max(1, len(rows))
    moved = sum(each.rank != each.rank_without for each in quality.left_out)
    note = f"A newcomer loses {number_text(mean)} on average; {moved} of {len(rows)} change their rank."
    return Table(
        "left-out", "Leave one run out: without the judgments that only this run brought", columns, rows, [note]
    )


def noise_sections(noise: LabelNoise) -> Iterator[Section]:
    """Label noise alone."""
    yield Section(
        "noise", "Label noise", [*noise_blocks(noise), Table.of_rows(each._asdict() for each in noise.scores)]
    )


def noise_blocks(noise: LabelNoise) -> Iterator[Block]:
    """Label noise: the distribution of each system's value, and how often the order of two is turned round."""
    title = "Label noise: values under the grades that the labels may stand for"
    yield chart_of("noise", noise)
    columns = [Column("run"), *(Column(head, "number") for head in (noise.measure, "mean", "deviation"))]
    columns += [Column("2.5 %", "number", key="low"), Column("97.5 %", "number", key="high")]
    note = f"{counted(len(noise.draws), 'draw')} of the true grades given the labels, seed {noise.seed}."
    yield Table("noise", title, columns, [list(each) for each in noise.scores], [note])
    if len(noise.systems) > 1:
        heads = [Column("system", key="a"), Column("baseline", key="b"), Column("difference", "signed")]
        heads += [Column("order reversed", "number", 3)]
        rows = [[each.a, each.b, each.difference, each.flips] for each in noise.flips[:MOST_PAIRS]]
        yield Table("noise-pairs", "", heads, rows)


# ---- what to judge next ----------------------------------------------------------------------------------------------


def to_judge_sections(to_judge: ToJudgeList) -> Iterator[Section]:
    """The pairs whose judgment would narrow the intervals most."""
    columns = [Column("query_id", "query"), Column("doc_id"), Column("narrows", "number", 5)]
    columns += [Column("at_least", "number", 5), Column("best_rank", "rank"), Column("runs", "count")]
    note = "Narrows: by how much the interval of the mean is expected to become narrower; at_least: whatever the grade."
    rows = [[getattr(each, column.head) for column in columns] for each in to_judge.pairs]
    yield Section("to-judge", to_judge.title, [Table("to-judge", "", columns, rows, [note])])


# ---- one run, or a difference of two ---------------------------------------------------------------------------------


def bounds_sections(bounds: Bounds) -> Iterator[Section]:
    """The range of the mean and of the queries with the widest ones."""
    columns = [Column("", "query", key="query_id"), Column("unjudged", "count", key="open")]
    columns += _range_columns(bounds.measure)
    rows: list[list[Any]] = [["mean", int(bounds.open.sum()), *bounds.mean]]
    widest = (bounds.low - bounds.high).argsort(kind="stable")[:WIDEST].tolist()  # NaN is last
    rows += [[bounds.queries[at], int(bounds.open[at]), *bounds[bounds.queries[at]]] for at in widest]
    more = len(bounds.queries) - WIDEST
    notes = (
        [f"The widest first; {counted(more, 'more query is', 'more queries are')} in to_frame()."] if more > 0 else []
    )
    blocks = [Table("bounds", bounds.title, columns, rows, notes), Table.of_rows(bounds.to_frame().to_dicts())]
    yield Section("bounds", bounds.title, blocks)
