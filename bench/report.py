"""The figures as a table for the terminal and as the page docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cases import SECTION_TITLES, Measured
from measure import Timing
from peers import OURS, Tool

COLUMNS = ("what", "against", "ratio", "aim", "", f"{OURS} s", "peer s", f"{OURS} MB", "peer MB")
SCALING_COLUMNS = ("rows", "tool", "s after start-up", "s in all", "start-up s", "peak MB")
MEMORY_PEER = "pytrec_eval"

SECTION_NOTES = {
    "cold": (
        "A fresh process reads both TREC files, computes nDCG@10 and R@100 and prints the means; interpreter "
        "start-up and imports are part of the time. M is shaped like MS MARCO passage ranking (6,980 queries, 1,000 "
        "documents each, 1.1 judged), L has 100,000 queries of 100 documents with 20 judged, S 50 queries of 1,000 "
        "documents with 215 judged. *Rounded* has integer scores and so many ties, *shuffled* has the rows of the "
        "file in random order, *ragged* mixes tabs and runs of spaces between the fields."
    ),
    "memory": (
        "Judgments and run are dictionaries in memory; both libraries take turns in one process, with a garbage "
        "collection before each. pytrec_eval is timed from building its evaluator to the values per query; the "
        "means, which rankgauge's time includes, are left out of its time. S is called 20 times in a round and one "
        "query 2,000 times; the time is that of one call."
    ),
    "arrays": (
        "nDCG@10 of grades and scores in numpy arrays, equal scores averaged: `rankgauge.arrays.ndcg` against "
        "`sklearn.metrics.ndcg_score`, the same with `ignore_ties=True` (which averages nothing), a loop of it over "
        "queries of different length, which it does not take together, and `RetrievalNormalizedDCG` of torchmetrics. "
        "All in one process, in turn; the loop and torchmetrics are timed once. The answers must agree within 1e-12, "
        "those of torchmetrics, which computes in 32 bits, within 1e-6."
    ),
    "compare": (
        "The sign-flip test of all 1,225 pairs of 50 systems on 1,000 queries with step-down max-T, one pair of them, "
        "and `scipy.stats.permutation_test` (vectorised, one pair, 10,000 resamples) from the differences and from the "
        "two samples; seconds of the call alone, peak memory of the whole process. The p-values must be the same for "
        "1, 2 and 4 threads. The last row is the whole command, from files, 100,000 flips."
    ),
    "startup": "The command's `--help`, in a fresh process.",
    "ten": "Ten runs of 700 queries with 1,000 documents each: one rankgauge command against one script per run.",
    "explain": (
        "`rankgauge explain` of one query, nDCG@10, with every swap and insertion evaluated, against `rankgauge eval` "
        "of all queries on the same files: 1x means that explaining takes no longer than evaluating."
    ),
    "funnel": (
        "`rankgauge funnel` of a run and of its documents in another order, with parts, intervals and the depth curve, "
        "against `rankgauge eval` of the same two runs: 0.5x means that it takes twice as long."
    ),
    "scaling": (
        "The first 440 queries of M, four times as many, and all 6,980. Start-up is the same command on one query "
        "of 100 documents and is taken off the seconds drawn."
    ),
}


@dataclass(frozen=True)
class ScalingPoint:
    """One tool on one size of input."""

    tool: str
    rows: int
    whole: Timing
    start: Timing

    @property
    def after_start(self) -> float:
        """Seconds beyond start-up, kept above zero for the logarithmic chart."""
        return max(self.whole.seconds - self.start.seconds, 1e-3)


def comparison_rows(measured: Measured) -> list[list[str]]:
    """One row per peer for the time, and one for the memory where processes were measured."""
    case, ours = measured.case, measured.best.get(OURS)
    rows = []
    for tool, theirs in measured.best.items():
        if tool != OURS:
            ratio = theirs.seconds / ours.seconds if ours else None
            floor = case.floors.get(tool)
            missed = ratio is not None and floor is not None and ratio < floor
            verdict = _verdict(ratio, floor, missed)
            rows.append([case.title, tool, _times(ratio), _aim("≥", floor), verdict, *_raw(ours, theirs)])
    if ours and len(measured.best) == 1:
        rows.append([case.title, "", "-", "", "", *_raw(ours, None)])
    if ours and ours.peak_mb and case.peak_ceiling:
        met = "met" if ours.peak_mb <= case.peak_ceiling else "**MISSED**"
        name, aim = f"{case.title}, peak memory", f"≤ {case.peak_ceiling:g} MB"
        rows.append([name, "", f"{ours.peak_mb:.0f} MB", aim, met, *_raw(ours, None)])
    theirs_memory = measured.best.get(MEMORY_PEER)
    if ours and ours.peak_mb and theirs_memory and theirs_memory.peak_mb:
        ratio = ours.peak_mb / theirs_memory.peak_mb
        ceiling = case.memory_ceiling
        verdict = _verdict(ratio, ceiling, ceiling is not None and ratio > ceiling)
        name = f"{case.title}, peak memory"
        rows.append([name, MEMORY_PEER, _times(ratio), _aim("≤", ceiling), verdict, *_raw(ours, theirs_memory)])
    return rows


def _verdict(ratio: float | None, aim: float | None, missed: bool) -> str:
    if ratio is None or aim is None:
        return ""
    return "**MISSED**" if missed else "met"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def _aim(sign: str, aim: float | None) -> str:
    return "" if aim is None else f"{sign} {aim:g}x"


def _raw(ours: Timing | None, theirs: Timing | None) -> list[str]:
    both = (ours, theirs)
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
        "This page is written by `python bench/run.py`; run it again to measure your own machine.\n\n"
        "A time ratio is the peer's seconds divided by rankgauge's: 5x means rankgauge is five times as fast. A "
        "memory ratio is rankgauge's peak divided by pytrec_eval's: less is better. Tools take turns within each "
        f"round, and each figure is the best of {rounds} rounds. All tools must give the same nDCG@10 and R@100 to "
        "four decimals, or the benchmark fails. *Aim* is the ratio the project holds itself to."
    )


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
