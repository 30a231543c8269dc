"""The figures as a table for the terminal and as the page docs/benchmarks.md."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cases import SECTION_TITLES, Measured
from compare_speed import FAMILY_FLIPS, MANY_QUERIES, PAIR_FLIPS, QUERIES, SYSTEMS
from judge_speed import LOADS
from judging_speed import RATERS, SECONDS, THINK
from measure import Timing, best, memory_ratios, ratios
from peers import OURS, Tool
from search_speed import FOUND, IDEAL_SECONDS, LATENCY, WORKERS
from search_speed import QUERIES as ASKED
from shapes import SCALING_STEPS, SHAPES
from store_speed import DEPTH as RUN_DEPTH
from store_speed import JUDGMENTS as STORED
from store_speed import QUERIES as RUN_QUERIES
from store_speed import THREADS as WRITERS

COLUMNS = ("what", "against", "ratio", "rounds", "aim", "", f"{OURS} s", "peer s", f"{OURS} MB", "peer MB")
SCALING_COLUMNS = ("rows", "tool", "s after start-up", "s in all", "rounds", "start-up s", "peak MB")
MEMORY_PEER = "pytrec_eval"


def _shape(name: str) -> str:
    """The size of a data set in words."""
    shape = SHAPES[name]
    judged = sum(count * share for count, share in shape.judged_shares.items())
    return f"{shape.queries:,} queries of {shape.documents:,} documents with {judged:.3g} judged"


def _steps() -> str:
    """The sizes of the section on scaling."""
    *first, last = [*SCALING_STEPS.values(), SHAPES["M"].queries]
    return ", ".join(f"{count:,}" for count in first) + f" and all {last:,}"


SECTION_NOTES = {
    "cold": (
        "A fresh process reads both TREC files, computes nDCG@10 and R@100 and prints the means; interpreter "
        f"start-up and imports are part of the time. M is shaped like MS MARCO passage ranking ({_shape('M')}), L has "
        f"{_shape('L')}, S {_shape('S')}. *Rounded* has integer scores and therefore many ties, *shuffled* has the "
        "rows of the file in random order, *ragged* mixes tabs and runs of spaces between the fields."
    ),
    "memory": (
        "Judgments and run are dictionaries in memory; both libraries take turns in one process, with a garbage "
        "collection before each. pytrec_eval is timed from building its evaluator to the values per query; the "
        "means, which rankgauge's time includes, are left out of its time. Where a row counts the calls of a round, "
        "the time is that of one call, and the mean over eight seeds of hashes: pytrec_eval looks its measures up in "
        "a set, so that one query may take it twice as long in one process as in another."
    ),
    "arrays": (
        "nDCG@10 of grades and scores in numpy arrays, equal scores averaged: `rankgauge.arrays.ndcg` against "
        "`sklearn.metrics.ndcg_score`, the same with `ignore_ties=True` (which averages nothing), a loop of it over "
        "queries of different length, which it does not take together, and `RetrievalNormalizedDCG` of torchmetrics. "
        "All in one process, in turn; the loop and torchmetrics are timed once. The answers must agree within 1e-12, "
        "those of torchmetrics, which computes in 32 bits, within 1e-6."
    ),
    "compare": (
        f"`rankgauge.compare` of a table of values: all {math.comb(SYSTEMS, 2):,} pairs of {SYSTEMS} systems on "
        f"{QUERIES:,} queries with single-step max-T, one pair of them, and two systems on {MANY_QUERIES:,} queries; "
        f"against `scipy.stats.permutation_test` (vectorised, one pair, {PAIR_FLIPS:,} resamples) from the differences "
        "and from the two samples. rankgauge's time is that of the whole comparison with intervals, effect sizes and "
        "warnings, scipy's that of its one p-value; the peak is that of the process. All that is found must be the "
        f"same for 1, 2 and 4 threads. The last row is the whole command, from files, {FAMILY_FLIPS:,} flips."
    ),
    "store": (
        f"{STORED:,} judgments that are handed in one by one, each done when it is committed: by {WRITERS} threads, "
        "whose judgments one writer stores together, against one thread, which commits each by itself. Then a stored "
        f"run of {RUN_QUERIES:,} queries × {RUN_DEPTH} documents, read and evaluated, against the same run in Parquet, "
        "in seconds of the processor; the store may be at most 1.5 times as large as the file."
    ),
    "search": (
        f"`rankgauge search` of {ASKED:,} queries to a function that takes {LATENCY * 1000:g} ms, with {WORKERS} "
        "workers and every answer committed to SQLite before its worker asks on, against as many threads that only "
        f"wait ({IDEAL_SECONDS:g} seconds where nothing else runs). An answer has {FOUND} documents, in the second row "
        "with their texts; memory may grow by a fifth after the first tenth. Then `rankgauge pool` of ten runs of "
        f"{_shape('pooled')} against `rankgauge eval` of the same files, in seconds of the processor: 0.5x means that "
        "pooling takes twice as much."
    ),
    "judge": (
        "`rankgauge judge` of pairs by a server of chat completions in a process of its own, with every answer "
        "committed to SQLite before its worker asks on, against the seconds that this takes where nothing else takes "
        f"any: {LOADS['many'].ideal:g}; then in seconds of the processor, of which a pair may take 2 ms. A server that "
        "takes fewer at once than there are workers says so (429): at most a tenth of the calls. Memory may grow by a "
        "fifth after the first tenth."
    ),
    "serve": (
        f"`rankgauge serve` of twenty runs of {_shape('served')}, from the start of the process until the leaderboard "
        "has every value, against `rankgauge eval` of the same files with the same three measures; the second start "
        "finds what the first has kept. Values must be the same; the first page must not wait for the files; the peak "
        "is that of the server or of its worker. Then pages and changes one after the other, the slowest twentieth "
        "left out, and the table of queries in Chromium, against the milliseconds that they may take."
    ),
    "judging": (
        f"{RATERS} raters for {SECONDS:g} seconds, each with a log-in and a connection of its own, {THINK:g} seconds a "
        "judgment, and one in a hundred sent twice; a judgment is acknowledged when it is committed. Nothing may be "
        "lost or doubled, no query be in more hands than wanted, and no request be refused. Against the milliseconds "
        "that it may take; the comparison of twenty systems runs in the worker's process meanwhile, and may treble "
        "the time."
    ),
    "startup": "Fresh processes: the command's `--help`, and the smallest evaluation, nDCG@10 and R@100 from files.",
    "ten": f"Ten runs of {_shape('ten')}: one rankgauge command against one script per run.",
    "explain": (
        "`rankgauge explain` of one query, nDCG@10, with every swap and insertion evaluated, against `rankgauge eval` "
        "of all queries on the same files: 1x means that explaining takes no longer than evaluating."
    ),
    "funnel": (
        "`rankgauge funnel` of a run and of its documents in another order, with parts, intervals and the depth curve, "
        "against `rankgauge eval` of the same two runs: 0.5x means that it takes twice as long."
    ),
    "scaling": (
        f"The first {_steps()} queries of M. Start-up is the same command on one query of "
        f"{SHAPES['tiny'].documents:,} documents and is taken off the seconds drawn; *rounds* are the lowest and the "
        "highest seconds in all."
    ),
}


@dataclass(frozen=True)
class ScalingPoint:
    """One tool on one size of input."""

    tool: str
    rows: int
    timings: Sequence[Timing]
    start: Timing

    @property
    def whole(self) -> Timing:
        """The best of the rounds."""
        return best(self.timings)

    @property
    def after_start(self) -> float:
        """Seconds beyond start-up, kept above zero for the logarithmic chart."""
        return max(self.whole.seconds - self.start.seconds, 1e-3)


def comparison_rows(measured: Measured) -> list[list[str]]:
    """One row per peer for the time, and one for the memory where processes were measured."""
    return [*_time_rows(measured), *_peak_rows(measured), *_memory_rows(measured)]


def _time_rows(measured: Measured) -> Iterator[list[str]]:
    case, ours = measured.case, measured.timings.get(OURS)
    title = case.title if case.repetitions == 1 else f"{case.title}, {case.repetitions:,} calls"
    for tool, theirs in measured.timings.items():
        if tool != OURS:
            ratio = best(theirs).seconds / best(ours).seconds if ours else None
            floor = case.floors.get(tool)
            missed = ratio is not None and floor is not None and ratio < floor
            spread = _spread(ratios(theirs, ours)) if ours else ""
            aim = [_aim("≥", floor), _verdict(ratio, floor, missed)]
            yield [title, tool, _times(ratio), spread, *aim, *_raw(ours, theirs)]
    if ours and len(measured.timings) == 1:
        yield [title, "", "-", "", "", "", *_raw(ours, None)]


def _peak_rows(measured: Measured) -> Iterator[list[str]]:
    case, ours = measured.case, measured.timings.get(OURS)
    peaks = [timing.peak_mb for timing in ours or () if timing.peak_mb is not None]
    if ours and peaks and case.peak_ceiling:
        met = "met" if min(peaks) <= case.peak_ceiling else "**MISSED**"
        name, aim = f"{case.title}, peak memory", f"≤ {case.peak_ceiling:g} MB"
        spread = f"{min(peaks):.0f} – {max(peaks):.0f} MB"
        yield [name, "", f"{min(peaks):.0f} MB", spread, aim, met, *_raw(ours, None)]


def _memory_rows(measured: Measured) -> Iterator[list[str]]:
    case, ours, theirs = measured.case, measured.timings.get(OURS), measured.timings.get(MEMORY_PEER)
    our_peak, their_peak = (best(each).peak_mb if each else None for each in (ours, theirs))
    if ours and theirs and our_peak and their_peak:
        ratio, ceiling = our_peak / their_peak, case.memory_ceiling
        aim = [_aim("≤", ceiling), _verdict(ratio, ceiling, ceiling is not None and ratio > ceiling)]
        spread = _spread(memory_ratios(ours, theirs))
        yield [f"{case.title}, peak memory", MEMORY_PEER, _times(ratio), spread, *aim, *_raw(ours, theirs)]


def _spread(values: Sequence[float]) -> str:
    """The lowest and the highest ratio of the rounds."""
    return f"{min(values):.2f} – {max(values):.2f}x" if values else ""


def _verdict(ratio: float | None, aim: float | None, missed: bool) -> str:
    if ratio is None or aim is None:
        return ""
    return "**MISSED**" if missed else "met"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def _aim(sign: str, aim: float | None) -> str:
    return "" if aim is None else f"{sign} {aim:g}x"


def _raw(ours: Sequence[Timing] | None, theirs: Sequence[Timing] | None) -> list[str]:
    both = [best(timings) if timings else None for timings in (ours, theirs)]
    return [_seconds(t) for t in both] + [_megabytes(t) for t in both]


def _seconds(timing: Timing | None) -> str:
    if timing is None:
        return "-"
    return f"{timing.seconds:.3f}" if timing.seconds >= 0.01 else f"{timing.seconds * 1e6:.0f} µs"


def _megabytes(timing: Timing | None) -> str:
    return "-" if timing is None or timing.peak_mb is None else f"{timing.peak_mb:.0f}"


def scaling_rows(points: Iterable[ScalingPoint]) -> list[list[str]]:
    """One row per size and tool."""
    return [
        [
            f"{point.rows:,}",
            point.tool,
            f"{point.after_start:.3f}",
            _seconds(point.whole),
            f"{point.whole.seconds:.3f} – {max(timing.seconds for timing in point.timings):.3f}",
            _seconds(point.start),
            _megabytes(point.whole),
        ]
        for point in points
    ]


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns for the terminal."""
    cells = [list(columns), *([cell.replace("**", "") for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells)


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same table in Markdown, figures to the right."""
    rule = ["---", "---", *["---:"] * (len(columns) - 2)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [columns, rule, *rows])


def page(
    results: Sequence[Measured],
    points: Sequence[ScalingPoint],
    tools: Mapping[str, Tool],
    rounds: int,
    problems: Sequence[str],
    chart_name: str,
) -> str:
    """The whole of docs/benchmarks.md."""
    parts = ["# Benchmarks", _introduction(rounds), _machine(tools)]
    if problems:
        parts.append("\n".join(["## Failed checks", "", *(f"- {problem}" for problem in problems)]))
    for section, title in SECTION_TITLES.items():
        rows = [row for result in results if result.case.section == section for row in comparison_rows(result)]
        if section == "scaling" and points:
            picture = f"![Seconds after start-up over rows]({chart_name})"
            table = markdown_table(SCALING_COLUMNS, scaling_rows(points))
            parts += [f"## {title}", SECTION_NOTES[section], picture, table]
        elif rows:
            parts += [f"## {title}", SECTION_NOTES[section], markdown_table(COLUMNS, rows)]
    return "\n\n".join(parts) + "\n"


def _introduction(rounds: int) -> str:
    return (
        "This page is written as a whole by `make bench` (`python bench/run.py`) and never edited by hand; run it to "
        "measure your own machine.\n\n"
        "A time ratio is the peer's seconds divided by rankgauge's: 5x means rankgauge is five times as fast. A "
        "memory ratio is rankgauge's peak divided by pytrec_eval's: less is better. Tools take turns within each "
        f"round, and each figure is the best of {_counted(rounds, 'round')}; *rounds* are the lowest and the highest "
        "ratio of a single round: where they are far apart, the machine was busy with other things. All tools must "
        "give the same nDCG@10 and R@100 to four decimals, or the benchmark fails. *Aim* is the ratio the project "
        "holds itself to."
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _machine(tools: Mapping[str, Tool]) -> str:
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{tool.name} {tool.version}" for tool in tools.values())
    facts = (
        ("Processor", f"{_processor()}, {os.cpu_count()} cores"),
        ("Memory", f"{gigabytes:.0f} GiB"),
        ("System", f"{platform.system()} {platform.release()}"),
        ("Python", platform.python_version()),
        ("Tools", versions),
        ("Date", datetime.now(UTC).strftime("%Y-%m-%d")),
    )
    return "\n".join(f"- {name}: {value}" for name, value in facts)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
