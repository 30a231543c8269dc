"""Run the benchmark, print the ratios, write the whole of docs/benchmarks.md and its chart.

    python bench/run.py                           # everything, best of 5
    python bench/run.py --only cold,startup       # some sections; no page is written
    python bench/run.py --quick                   # small data, one round: does it all still run and agree?
    python bench/run.py --python ranx=venv/bin/python

Exits with 1 when an answer is wrong, a command fails or an import is too heavy; a missed aim is only marked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cases
import startup
from arrays_speed import measure_arrays
from cases import Case, Measured
from chart import scaling_chart
from compare_speed import measure_compare
from in_memory import measure_in_fresh_process
from judge_speed import measure_judge
from judging_speed import measure_judging
from measure import Outcome, best, interleave, say
from peers import NAMES, OURS, Tool, installed_tools
from report import COLUMNS, SCALING_COLUMNS, ScalingPoint, comparison_rows, page, plain_table, scaling_rows
from search_speed import measure_search
from serve_speed import measure_serve
from shapes import DEFAULT_FOLDER, RERANKED, Dataset, dataset
from store_speed import measure_store

SECTIONS = tuple(cases.SECTION_TITLES)
DEFAULT_REPORT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
CHART_NAME = "scaling.svg"
CHART_TITLE = "Seconds after start-up to score a run from its file"


@dataclass
class Bench:
    """The settings of a run, and what has been found so far."""

    tools: dict[str, Tool]
    rounds: int
    timeout: float
    data: Path
    quick: bool
    results: list[Measured] = field(default_factory=list)
    points: list[ScalingPoint] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def keep(self, case: Case, outcome: Outcome) -> None:
        """Note the outcome of a case and show it."""
        self.results.append(Measured(case, outcome.timings))
        self.problems += outcome.problems
        for problem in outcome.problems:
            say(f"FAILED {problem}")

    def measure_cold(self, case: Case) -> Outcome:
        """Measure the tools of a case in fresh processes."""
        made = dataset(case.data, self.data)
        warm(made)
        tools = [self.tools[name] for name in case.tools if name in self.tools]
        commands = {tool.name: tool.commands(made.qrels, made.runs) for tool in tools}
        return interleave(f"{case.section} {case.title}", commands, self.rounds, self.timeout)

    def cold(self) -> None:
        """From files, in fresh processes."""
        for case in cases.QUICK_COLD if self.quick else cases.COLD:
            self.keep(case, self.measure_cold(case))

    def ten(self) -> None:
        """Ten runs in one command against one command per run."""
        self.keep(cases.TEN, self.measure_cold(cases.TEN))

    def explain(self) -> None:
        """One query explained against all of them evaluated, on the same files."""
        case = cases.QUICK_EXPLAIN if self.quick else cases.EXPLAIN
        if OURS not in self.tools:
            return
        made = dataset(case.data, self.data)
        warm(made)
        ours = self.tools[OURS]
        commands = {
            OURS: [ours.explain_command(made.qrels, made.run)],
            cases.EVAL: ours.commands(made.qrels, made.runs),
        }
        label = f"{case.section} {case.title}"
        self.keep(case, interleave(label, commands, self.rounds, self.timeout, answers_expected=False))

    def funnel(self) -> None:
        """Two stages told apart against both of them evaluated, on the same files."""
        case = cases.QUICK_FUNNEL if self.quick else cases.FUNNEL
        if OURS not in self.tools:
            return
        second = dataset(case.data, self.data)
        first = dataset(RERANKED[case.data], self.data)
        warm(first)
        warm(second)
        ours = self.tools[OURS]
        commands = {
            OURS: [ours.funnel_command(first.qrels, first.run, second.run)],
            cases.EVAL: ours.commands(first.qrels, [first.run, second.run]),
        }
        label = f"{case.section} {case.title}"
        self.keep(case, interleave(label, commands, self.rounds, self.timeout, answers_expected=False))

    def memory(self) -> None:
        """From dictionaries, in one process."""
        for case in cases.QUICK_MEMORY if self.quick else cases.MEMORY:
            made = dataset(case.data, self.data)
            tools = [name for name in case.tools if name in self.tools]
            label = f"memory {case.title}"
            outcome = measure_in_fresh_process(
                label, made.qrels, made.run, tools, self.rounds, self.timeout, case.repetitions
            )
            self.keep(case, outcome)

    def arrays(self) -> None:
        """From arrays, against scikit-learn and torchmetrics."""
        for case, outcome in measure_arrays(self.rounds, self.timeout, self.quick):
            self.keep(case, outcome)

    def compare(self) -> None:
        """Comparing systems: against scipy, and the whole command."""
        for case, outcome in measure_compare(self.rounds, self.timeout, self.data):
            self.keep(case, outcome)

    def store(self) -> None:
        """A project's store: judgments that are committed, and a run against a file."""
        for case, outcome in measure_store(self.rounds, self.timeout):
            self.keep(case, outcome)

    def search(self) -> None:
        """A live system that is asked, and a pool of its runs."""
        for case, outcome in measure_search(self.rounds, self.timeout, self.data, self.quick):
            self.keep(case, outcome)

    def judge(self) -> None:
        """A model that is asked about pairs."""
        for case, outcome in measure_judge(self.rounds, self.timeout, self.quick):
            self.keep(case, outcome)

    def serve(self) -> None:
        """The app: how soon there is something to see, and how quick its pages are."""
        for case, outcome in measure_serve(self.rounds, self.timeout, self.data, self.quick):
            self.keep(case, outcome)

    def judging(self) -> None:
        """Raters who judge in the app, many at once."""
        for case, outcome in measure_judging(self.rounds, self.timeout, self.quick):
            self.keep(case, outcome)

    def startup(self) -> None:
        """The help texts, the smallest evaluation, and what an import pulls in."""
        self.keep(cases.HELP, startup.measure_help(self.tools, self.rounds, self.timeout))
        self.keep(cases.SMALL, self.measure_cold(cases.SMALL))
        if OURS in self.tools:
            self.problems += startup.import_problems(self.tools[OURS].python)

    def scaling(self) -> None:
        """Time over size of input, less start-up."""
        steps = cases.SCALING[:3] if self.quick else cases.SCALING
        outcomes = {case.data: self.measure_scaling_step(case) for case in steps}
        start = outcomes.pop("tiny")
        for data, outcome in outcomes.items():
            rows = dataset(data, self.data).rows
            for tool, timings in outcome.timings.items():
                if tool in start.timings:
                    self.points.append(ScalingPoint(tool, rows, timings, best(start.timings[tool])))

    def measure_scaling_step(self, case: Case) -> Outcome:
        """One size of input, taken from another section where that has measured it already."""
        for result in self.results:
            if result.case.section in ("cold", "startup") and result.case.data == case.data:
                return Outcome({tool: timings for tool, timings in result.timings.items() if tool in case.tools})
        outcome = self.measure_cold(case)
        self.problems += outcome.problems
        return outcome


def warm(made: Dataset) -> None:
    """Read the files once, so that no tool pays for a cold disk."""
    for path in (made.qrels, *made.runs):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def show(bench: Bench) -> None:
    """Print the tables and the problems."""
    rows = [
        [f"{measured.case.section} {row[0]}", *row[1:]]
        for measured in bench.results
        for row in comparison_rows(measured)
    ]
    if rows:
        print(plain_table(COLUMNS, rows))
    if bench.points:
        print("\n" + plain_table(SCALING_COLUMNS, scaling_rows(bench.points)))
    missed = sum("MISSED" in cell for row in rows for cell in row)
    print(f"\n{missed} aims missed, {len(bench.problems)} checks failed")
    for problem in bench.problems:
        print(f"FAILED {problem}")


def write_page(bench: Bench, report: Path) -> None:
    """Write the page and, when scaling was measured, the chart beside it."""
    report.parent.mkdir(parents=True, exist_ok=True)
    if bench.points:
        series: dict[str, list[tuple[float, float]]] = {}
        for point in bench.points:
            series.setdefault(point.tool, []).append((point.rows, point.after_start))
        (report.parent / CHART_NAME).write_text(scaling_chart(CHART_TITLE, series))
    text = page(bench.results, bench.points, bench.tools, bench.rounds, bench.problems, CHART_NAME)
    report.write_text(text, encoding="utf-8")
    say(f"wrote {report}")


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Benchmark rankgauge against its peers.")
    parser.add_argument("--rounds", type=int, help="rounds per comparison, the best counts (5; 1 with --quick)")
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"sections, of {','.join(SECTIONS)}")
    parser.add_argument("--tools", default=",".join(NAMES), help=f"tools, of {','.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="small data and one round")
    parser.add_argument("--timeout", type=float, default=300, help="seconds any one command may take")
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER, help="folder of the generated data")
    parser.add_argument("--python", action="append", default=[], metavar="TOOL=PATH", help="interpreter of a tool")
    parser.add_argument("--report", type=Path, help="page to write; by default docs/benchmarks.md after a full run")
    arguments = parser.parse_args(given)
    for option, known in (("only", SECTIONS), ("tools", NAMES)):
        unknown = set(getattr(arguments, option).split(",")) - set(known)
        if unknown:
            parser.error(f"--{option}: unknown: {', '.join(sorted(unknown))}")
    if any("=" not in item for item in arguments.python):
        parser.error("--python: expected TOOL=PATH")
    return arguments


def main() -> int:
    """Run the sections asked for."""
    given = parse_arguments()
    sections, names = given.only.split(","), given.tools.split(",")
    pythons = dict(item.split("=", 1) for item in given.python)
    rounds = given.rounds or (1 if given.quick else 5)
    tools = installed_tools([name for name in NAMES if name in names], pythons)
    bench = Bench(tools, rounds, given.timeout, given.data, given.quick)
    for section in SECTIONS:
        if section in sections:
            getattr(bench, section)()
    show(bench)
    full = not given.quick and set(sections) == set(SECTIONS) and OURS in tools
    report = given.report or (DEFAULT_REPORT if full else None)
    if report:
        write_page(bench, report)
    return 1 if bench.problems else 0


if __name__ == "__main__":
    sys.exit(main())
