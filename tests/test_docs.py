"""The documentation: its examples run, its tables are complete, its numbers are recomputed."""

from __future__ import annotations

import dataclasses
import inspect
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import rankgauge
from command import Command, real
from rankgauge.cli import COMMANDS
from rankgauge.comparison.doubts import CODES as DOUBTS
from rankgauge.comparison.pairs import Pair
from rankgauge.comparison.settings import ALSO, IDLE, METHODS
from rankgauge.dialects import DIALECTS, Own
from rankgauge.dialects.trec_eval import ROWS
from rankgauge.errors import RankgaugeError
from rankgauge.matching.grades import hits_of_grades
from rankgauge.measures import MEASURES, averaging, parse
from rankgauge.protocol import RULES
from rankgauge.read.formats import FORMATS
from rankgauge.read.layers import LAYERS
from rankgauge.read.names import SPELLINGS
from rankgauge.reports.sections import SECTIONS
from rankgauge.show.names import width_of
from rankgauge.show.text import WIDTH
from rankgauge.validation.validate import CODES

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "docs/formats.md", "docs/conventions.md", "docs/trec_eval.md"]
PAGES += ["docs/dialects.md", "docs/explain.md", "docs/validate.md", "docs/worked-examples.md", "docs/compare.md"]
PAGES += ["docs/bench.md", "docs/charts.md", "docs/gate.md", "docs/plan.md", "docs/report.md"]
PAGES += ["docs/judgments.md", "docs/agreement.md", "docs/funnel.md", "docs/align.md", "docs/arrays.md"]
PAGES += ["docs/trainers.md", "docs/index.md", "docs/first-steps.md", "docs/reference.md", "docs/project.md"]
PAGES += ["docs/python.md", "docs/search.md", "docs/pool.md", "docs/sample.md", "docs/judge.md", "docs/prompts.md"]
PAGES += ["docs/loop.md", "docs/serve.md", "docs/users.md", "docs/ledger.md", "docs/judging.md"]
PAGES += ["docs/scale.md"]
PAGES += ["docs/from-pytrec_eval.md", "docs/from-ir_measures.md", "docs/from-scikit-learn.md"]
PAGES += ["docs/from-ranx.md"]  # its examples run in tests/peers
GENERATED = {"docs/benchmarks.md", "docs/calibration.md"}  # `make bench` and `make test-calibration` write them


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


# ---- examples -------------------------------------------------------------------------------------------------------


def blocks(page: str, language: str) -> Iterator[tuple[int, list[str]]]:
    """The fenced blocks of a language: the line before the first one, and the lines."""
    lines = text_of(page).split("\n")
    starts = [number for number, line in enumerate(lines) if line == f"```{language}"]
    for start in starts:
        yield start + 1, lines[start + 1 : lines.index("```", start + 1)]


@pytest.mark.parametrize("page", [page for page in PAGES if list(blocks(page, "python"))])
def test_python_blocks_run(page: str, tmp_path: Path) -> None:
    """All blocks of a page in one namespace, each on the lines that it has on the page (so does a traceback)."""
    program: list[str] = []
    for before, lines in blocks(page, "python"):
        program += [""] * (before - len(program)) + lines
    file = tmp_path / "blocks.py"
    file.write_text("\n".join(program), encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "error", file], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the checkout after `make demo`."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "demo", folder / "demo", ignore=shutil.ignore_patterns("out", "__pycache__"))
    for script in ("rankers", "stages", "judge"):
        subprocess.run([sys.executable, f"demo/{script}.py", "demo/out"], cwd=folder, check=True)
    judges = ["demo/qrels.txt", "demo/out/model.txt", "--matrix", "-o", "demo/out/judge.csv"]
    assert real("agree", *judges, cwd=folder).code == 0
    (saving,) = re.findall(r"^    rankgauge (eval .* -o demo/baseline.json)$", text_of("docs/gate.md"), re.MULTILINE)
    assert real(*shlex.split(saving), cwd=folder).code == 0
    return folder


EXITS = {"FAIL": 1, "INCONCLUSIVE": 3}  # of a gate, by how its output begins


PROJECT, LOOP = "docs/project.md", "docs/loop.md"  # whose commands build on each other
ALONE = [page for page in PAGES if page not in (PROJECT, LOOP)]


def console_examples(pages: Sequence[str] = ALONE) -> Iterator[tuple[str, str]]:
    """Each command shown after a `$`, with the output shown below it."""
    for page in pages:
        for _, lines in blocks(page, "console"):
            for example in "\n".join(lines).replace("\\\n", "").split("$ ")[1:]:
                command, _, output = example.partition("\n")
                yield command, output.rstrip("\n")


MOST_LINES = 60  # of an output that nobody asked to be long
# What asks for more, or for lines that are not wrapped: a format other than text, a report, six runs of two stages.
LONG = ("--format", "rankgauge report ", "rankgauge funnel demo/qrels.txt --retrieved demo/out/title.run --retrieved ")


@pytest.mark.parametrize(("line", "shown"), list(console_examples()))
def test_commands_print_what_is_shown(line: str, shown: str, checkout: Path, command: Command) -> None:
    program, *arguments = shlex.split(line)
    assert program == "rankgauge"
    done = command(*arguments, cwd=checkout)
    assert done.code == EXITS.get(shown.partition(":")[0], 0)
    assert [line for line in done.err.splitlines() if not line.startswith("warning: ")] == []
    assert shown
    # A page may show the table without the notes below it.
    lines = done.out.splitlines()
    assert lines[: len(shown.splitlines())] == shown.splitlines()
    if not any(asked in line for asked in LONG):
        assert [each for each in lines if width_of(each) > WIDTH] == []
        assert len(lines) <= MOST_LINES


def test_the_commands_of_a_project_build_on_each_other(checkout: Path) -> None:
    """From a qrels file and two runs to a comparison in four commands; what they print is another time every time."""
    pytest.importorskip("sqlalchemy", reason="a store needs SQLAlchemy")

    def timeless(text: str) -> list[str]:
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", text).splitlines()

    examples = list(console_examples([PROJECT]))
    assert (examples[0][0].split()[1], examples[3][0].split()[3]) == ("init", "compare")  # four commands
    for command, shown in examples:
        done = real(*shlex.split(command)[1:], cwd=checkout)
        assert (done.code, done.err) == (0, ""), command
        assert timeless(done.out)[: len(shown.splitlines())] == timeless(shown)
        assert [line for line in done.out.splitlines() if width_of(line) > WIDTH] == []


def test_the_commands_of_the_loop_build_on_each_other(checkout: Path) -> None:
    """From nothing to a report in two commands; the steps are told on standard error."""
    pytest.importorskip("httpx2", reason="the loop needs httpx2")
    (made, said), (looped, shown) = console_examples([LOOP])
    done = real(*shlex.split(made)[1:], cwd=checkout)
    assert (done.code, done.out, done.err) == (0, f"{said}\n", "")
    done = real(*shlex.split(looped)[1:], cwd=checkout)
    assert (done.code, done.out) == (0, f"{shown}\n")
    assert len(done.err.splitlines()) == 8
    assert len(shown.splitlines()) <= 25


@pytest.mark.parametrize("page", [page for page in PAGES if list(blocks(page, "console"))])
def test_outputs_fit_into_a_terminal(page: str) -> None:
    """Every line that a page shows, without exception, but for the commands themselves."""
    outputs = [
        line for _, lines in blocks(page, "console") for line in "\n".join(lines).replace("\\\n", "").split("\n")
    ]
    assert [line for line in outputs if width_of(line) > WIDTH and not line.startswith("$ ")] == []


RUNS = "demo/qrels.txt demo/out/title.run demo/out/fields.run demo/out/reranked.run"


@pytest.mark.parametrize(
    "command",
    [
        f"eval {RUNS}",
        f"eval {RUNS} -m nDCG@10 -m RR --by demo/queries.tsv:segment",
        f"eval {RUNS} --tie-band",
        f"compare {RUNS}",
        f"compare {RUNS} --details --notes",
        f"compare {RUNS} -m nDCG@10 -m RR -m R@50",
        f"compare {RUNS} --by demo/queries.tsv:segment",
        f"judgments {RUNS} --error-rate 0.1",
        f"validate {RUNS}",
        f"plan {RUNS}",
        "dialects demo/qrels.txt demo/out/fields.run",
        "funnel demo/qrels.txt --retrieved demo/out/fields.run --reranked demo/out/reranked.run",
        "explain demo/qrels.txt demo/out/title.run demo/out/reranked.run --worst 3 --documents demo/catalogue.jsonl",
        "explain demo/qrels.txt demo/out/title.run --worst 2 --documents demo/catalogue.jsonl",
        "measures",
        "measures nDCG@10",
        "rules",
        "rules ties",
    ],
)
def test_everyday_commands_print_a_screen_or_two(command: str, checkout: Path) -> None:
    done = real(*command.split(), cwd=checkout)
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line for line in lines if width_of(line) > WIDTH] == []
    assert 0 < len(lines) <= MOST_LINES


PICTURES = {
    "explain": "docs/explain.md",
    "plan": "docs/plan.md",
    "open": "docs/judgments.md",
    "agreement": "docs/agreement.md",
    "align": "docs/align.md",
    "funnel": "docs/funnel.md",
    "funnel-ceiling": "docs/funnel.md",
    "funnel-depth": "docs/funnel.md",
}


@pytest.mark.parametrize(("name", "page"), PICTURES.items())
def test_the_picture_of_a_page_is_the_one_that_is_drawn(name: str, page: str, checkout: Path) -> None:
    whole = text_of(page).replace("\\\n", "")  # a long command goes on in the next line
    (line,) = re.findall(rf"^    rankgauge (.*) -o docs/{name}.svg$", whole, re.MULTILINE)
    assert real(*shlex.split(line), "-o", "drawn.svg", cwd=checkout).code == 0
    assert (checkout / "drawn.svg").read_text(encoding="utf-8") == text_of(f"docs/{name}.svg")


def test_the_workflow_checks_what_it_says(checkout: Path, tmp_path: Path) -> None:
    """The step of the workflow as GitHub would run it, on the demo's runs."""
    yaml = pytest.importorskip("yaml")
    ((_, lines),) = blocks("docs/gate.md", "yaml")
    (job,) = yaml.safe_load("\n".join(lines))["jobs"].values()
    (command,) = (step["run"] for step in job["steps"] if "rankgauge check" in step.get("run", ""))
    (tmp_path / "judged").mkdir()
    for source, target in (
        ("qrels.txt", "judged/qrels.txt"),
        ("baseline.json", "judged/baseline.json"),
        ("out/fields.run", "candidate.run"),
    ):
        shutil.copy(checkout / "demo" / source, tmp_path / target)
    program, *arguments = shlex.split(command)
    assert program == "rankgauge"
    done = real(*arguments, cwd=tmp_path)
    assert (done.code, done.err) == (1, "")
    assert " ".join(done.out.split()).startswith("FAIL: 1 of 2 measures fails: candidate loses at least ")
    assert (tmp_path / "check.md").read_text(encoding="utf-8").startswith("### ❌ FAIL")
    assert {path.name for path in tmp_path.glob("check.*")} == {"check.md", "check.xml"}


def test_every_chart_is_listed_with_what_it_needs() -> None:
    from rankgauge.cli.plot import KINDS

    rows = table_of("docs/charts.md", "kind", "function")
    assert [quoted(row["kind"])[0] for row in rows] == list(KINDS)
    assert all(quoted(row["function"])[0] == f"charts.{quoted(row['kind'])[0].replace('-', '_')}" for row in rows)


def test_the_pictures_of_the_page_on_charts_are_the_ones_that_are_drawn(checkout: Path) -> None:
    lines = re.findall(r"^    rankgauge (plot .*) -o (docs/\S+\.svg)$", text_of("docs/charts.md"), re.MULTILINE)
    assert len(lines) == 2
    for line, target in lines:
        assert real(*shlex.split(line), "-o", "drawn.svg", cwd=checkout).code == 0
        drawn, kept = (re.findall(r">([^<>]+)</text>", each) for each in (
            (checkout / "drawn.svg").read_text(encoding="utf-8"), text_of(target)
        ))  # fmt: skip
        assert drawn == kept  # the words and numbers; where they stand depends on the fonts of the machine
        assert len(text_of(target)) < 60_000


def test_the_readme_shows_a_command() -> None:
    assert list(blocks("README.md", "console"))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)", text_of(page)):
        linked = (ROOT / page).parent / target
        assert linked.exists() or str(linked.resolve().relative_to(ROOT)) in GENERATED, target


def anchors_of(page: Path) -> set[str]:
    """What a link to a heading of the page ends in, as code hosts and the site make it of the heading's words."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES)
def test_links_to_headings_lead_to_one(page: str) -> None:
    for target, anchor in re.findall(r"\]\(([\w./-]*)#([^)]+)\)", text_of(page)):
        linked = (ROOT / page).parent / target if target else ROOT / page
        assert anchor in anchors_of(linked), f"{target}#{anchor}"


def test_every_page_is_tested() -> None:
    assert {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} - GENERATED <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_wrapped(page: str) -> None:
    assert [line for line in text_of(page).split("\n") if len(line) > 120 and not line.startswith("|")] == []


def test_the_tree_for_newcomers_names_every_room_and_module() -> None:
    tree = re.search(r"^    src/rankgauge/\n((?:      .*\n)+)", text_of("CONTRIBUTING.md"), re.MULTILINE)
    assert tree is not None
    named = set(re.findall(r"^      (\S+)", tree[1], re.MULTILINE))
    top = (ROOT / "src/rankgauge").glob("*.py"), (ROOT / "src/rankgauge").glob("*/__init__.py")
    rooms = {path.name for path in top[0]} | {f"{path.parent.name}/" for path in top[1]}
    assert named == rooms - {"__init__.py", "__main__.py", "dtypes.py"}


# ---- tables ---------------------------------------------------------------------------------------------------------


class Table(NamedTuple):
    heads: list[str]
    rows: list[dict[str, str]]


def tables(page: str) -> list[Table]:
    """The tables of a page, cells without their backquotes."""
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text_of(page), re.MULTILINE):
        heads, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines())
        found.append(Table(heads, [dict(zip(heads, row, strict=True)) for row in rows]))
    return found


def table_of(page: str, *heads: str) -> list[dict[str, str]]:
    """The rows of the one table with these heads."""
    (found,) = (table for table in tables(page) if table.heads[: len(heads)] == list(heads))
    return found.rows


def quoted(cell: str) -> list[str]:
    """What a cell has in backquotes."""
    return re.findall(r"`([^`]+)`", cell)


def words_of(cell: str) -> list[str]:
    return [word for part in quoted(cell) for word in part.split()]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_mentions_every_command(command: str) -> None:
    assert f"`rankgauge {command}" in text_of("README.md")


def test_every_rule_and_setting_is_explained() -> None:
    rows = table_of("docs/conventions.md", "rule", "setting")
    listed = [(*quoted(row["rule"]), *quoted(row["setting"])) for row in rows]
    assert listed == [(rule, setting) for rule, settings in RULES.items() for setting in settings]
    assert all(len(row["what happens"]) > 20 and len(row["why"]) > 20 for row in rows)


def test_every_rule_and_setting_is_shown_at_work() -> None:
    shown = {rules for case in CASES for rules in words_of(case.get("rules", ""))}
    wanted = {f"{rule}={setting}" for rule, settings in RULES.items() for setting in settings}
    assert wanted | {"rel=2", "depth=2"} == shown


def test_the_measures_that_average_over_ties_are_listed() -> None:
    (line,) = re.findall(r"Ties are averaged exactly for (.*?); any other", text_of("docs/conventions.md"), re.DOTALL)
    assert quoted(line) == averaging()


def test_every_dialect_is_listed_as_it_is() -> None:
    rows = table_of("docs/dialects.md", "dialect", "as called")
    listed = [(*quoted(row["dialect"]), *quoted(row["as called"]), row["checked"], row["what differs"]) for row in rows]
    assert listed == [(each.name, each.called(), each.checked, each.why) for each in DIALECTS.values()]
    assert [row["defect"] for row in rows] == [each.defect for each in DIALECTS.values()]
    rules = table_of("docs/dialects.md", "dialect", "rules")
    changed = {
        each.name: [f"{rule}={value}" for rule, value in each.protocol.changed.items()] for each in DIALECTS.values()
    }
    assert {quoted(row["dialect"])[0]: quoted(row["rules"]) for row in rules} == changed
    assert {quoted(row["dialect"])[0]: row["measures"] for row in rules} == {
        each.name: "; ".join(own_words(key, own) for key, own in each.measures.items() if own_words(key, own))
        for each in DIALECTS.values()
    }


def own_words(key: str, own: Own) -> str:
    """A tool's own definition of a measure, as the page has it: nothing where it is as ours."""
    settings = {**own.parameters, **own.rules}
    words = [f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings.items()]
    words += [f"{own.rounding.digits} digits"] if own.rounding else []
    words += [f"the {own.aggregate} over queries"] if own.aggregate and not own.log else []
    words += [own.ours] if own.ours else []
    words += ["the logarithm for each query"] if own.log else []
    words += ["ties have no order"] if own.undefined_ties else []
    return f"`{key}`: {', '.join(words)}" if words else ""


def test_every_format_and_its_suffixes_are_listed() -> None:
    listed = {quoted(row["format"])[0]: tuple(quoted(row["suffixes"])) for row in table_of("docs/formats.md", "format")}
    assert listed == {name: each.suffixes for name, each in FORMATS.items()}


def test_every_compression_and_its_suffixes_are_listed() -> None:
    listed = {row["compression"]: tuple(quoted(row["suffixes"])) for row in table_of("docs/formats.md", "compression")}
    assert listed == {layer.name: layer.suffixes for layer in LAYERS}


def test_every_column_name_is_listed() -> None:
    listed = {quoted(row["role"])[0]: tuple(quoted(row["names"])) for row in table_of("docs/formats.md", "role")}
    assert listed == SPELLINGS


def test_every_measure_of_trec_eval_is_listed() -> None:
    listed = {word for row in table_of("docs/trec_eval.md", "set") for word in words_of(row["measures"])}
    assert {row.name for row in ROWS} - listed == {"dcg", "ideal_dcg"}
    assert "`dcg` and `ideal_dcg` are in no set" in text_of("docs/trec_eval.md")


def test_every_finding_is_listed() -> None:
    rows = table_of("docs/validate.md", "code")
    listed = {quoted(row["code"])[0]: (row["severity"], row["what"], row["what to do"]) for row in rows}
    assert listed == {code: tuple(kind) for code, kind in CODES.items()}


def test_every_warning_and_method_of_compare_is_listed() -> None:
    rows = {quoted(row["code"])[0]: row["when"] for row in table_of("docs/compare.md", "code", "when")}
    assert rows == DOUBTS
    methods = {quoted(row["method"])[0]: row["controls"] for row in table_of("docs/compare.md", "method", "controls")}
    assert methods == METHODS
    page = text_of("docs/compare.md")
    assert [name for name in ALSO if f"`{name}`" not in page and name not in IDLE] == []
    assert [name for name in IDLE if name not in page] == []


def test_every_number_of_a_pair_is_explained() -> None:
    listed = {word for row in table_of("docs/compare.md", "number", "what it is") for word in quoted(row["number"])}
    own = {"a", "b", "queries", "both_zero", "exact", "others", "measure", "alpha", "comparisons", "simultaneous"}
    own |= {"interval", "relative_interval", "constant", "census"}
    made = {"mean", "verdict", "difference_simultaneous"}
    assert listed | own == {field.name for field in dataclasses.fields(Pair)} | made


def test_every_function_over_arrays_is_listed() -> None:
    rows = table_of("docs/arrays.md", "function", "measure")
    listed = {quoted(row["function"])[0]: quoted(row["measure"])[0] for row in rows}
    functions = {name: getattr(rankgauge.arrays, name) for name in rankgauge.arrays.__all__ if name in listed}
    assert {name: function([1], [1]).measure for name, function in functions.items()} == listed
    assert {name for name in rankgauge.arrays.__all__ if name.islower()} - listed.keys() == {"measured", "rows_of"}
    for row in rows:
        (own,) = quoted(row["its own parameters"])
        defaults = {
            name: each.default
            for name, each in inspect.signature(functions[quoted(row["function"])[0]]).parameters.items()
        }
        for pair in own.split(", "):
            name, _, value = pair.partition("=")
            assert str(defaults[name]) in (value, f"{value}.0")


def test_every_section_of_a_report_is_listed() -> None:
    rows = table_of("docs/report.md", "section")
    assert [row["section"] for row in rows] == [title for title, _ in SECTIONS.values()]


def test_every_column_criterion_and_warning_of_align_is_listed() -> None:
    from rankgauge.stats.choice import CRITERIA
    from rankgauge.trust.online.doubts import CODES as ALIGN_DOUBTS
    from rankgauge.trust.online.units import ROLES

    page = "docs/align.md"
    rows = {quoted(row["option"])[0]: tuple(quoted(row["recognised"])) for row in table_of(page, "column", "option")}
    assert rows == {f"--{role.replace('_', '-')}": names for role, names in ROLES.items()}
    chosen = {quoted(row["by"])[0]: row["chosen is"] for row in table_of(page, "by")}
    assert chosen == {name: each.words for name, each in CRITERIA.items()}
    assert {quoted(row["code"])[0]: row["when"] for row in table_of(page, "code", "when")} == ALIGN_DOUBTS


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_explains_itself(name: str) -> None:
    summary, *rest = MEASURES[name].help.split("\n")
    starts = [line.partition(": ")[0] for line in rest if ": " in line and not line.startswith(" ")]
    assert len(summary) > 20
    assert [start for start in starts if start != "Parameters"] == [
        "Formula",
        "Fewer than k",
        "Nothing relevant",
        "Paper",
    ]
    assert all(re.match(r"[^:]+: \S", line) for line in rest if line and not line.startswith(" "))


# ---- numbers --------------------------------------------------------------------------------------------------------

CASES = [row for table in tables("docs/conventions.md") if "value" in table.heads for row in table.rows]


def grades_of(cell: str) -> list[float | None]:
    """`3×2 ? 0` → 3, 3, unjudged, 0."""
    grades: list[float | None] = []
    for word in words_of(cell):
        grade, _, times = word.partition("×")
        grades += [None if grade == "?" else float(grade)] * int(times or 1)
    return grades


def rows_of(cell: str) -> list[dict[str, Any]]:
    """`q1: a=2#1 b=1#2; q2: c=5` → rows with a number, and a rank where there is one."""
    rows: list[dict[str, Any]] = []
    for part in quoted(cell)[0].split(";"):
        query, _, docs = part.rpartition(":")
        for word in docs.split():
            doc, number, rank = re.fullmatch(r"(\w+)=([-.\d]+)(?:#(\d+))?", word).groups()  # type: ignore[union-attr]
            row = {"query_id": query.strip() or "q", "doc_id": doc, "number": float(number)}
            rows.append(row | ({"rank": int(rank)} if rank else {}))
    return rows


def protocol_of(cell: str) -> rankgauge.Protocol:
    rules = dict(rule.split("=") for rule in words_of(cell))
    numbers = {name: int(rules.pop(name)) for name in ("rel", "depth") if name in rules}
    return rankgauge.Protocol.from_dict(rules | numbers)


def computed(case: dict[str, str]) -> float:
    """The value of a row: of lists of grades, or of judgments and a run under some rules."""
    (measure,) = quoted(case["measure"])
    if "grades by rank" in case:
        ideal = [grade for grade in grades_of(case["all judgments"]) if grade is not None]
        return float(parse(measure)(hits_of_grades(grades_of(case["grades by rank"]), ideal))[0])
    judgments = [row | {"relevance": row["number"]} for row in rows_of(case["judgments"])]
    run = [row | {"score": row["number"]} for row in rows_of(case["run"])]
    return rankgauge.evaluate(judgments, run, measure, protocol=protocol_of(case["rules"]))[measure]


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
@pytest.mark.parametrize("case", CASES, ids=[next(iter(case.values())) for case in CASES])
def test_a_number_of_the_page_on_conventions(case: dict[str, str]) -> None:
    if case["value"] == "error":
        with pytest.raises(RankgaugeError):
            computed(case)
        return
    digits = len(case["value"].partition(".")[2])
    assert digits >= 1
    assert f"{computed(case):.{digits}f}" == case["value"]


def test_no_table_of_the_page_on_conventions_claims_an_unchecked_number() -> None:
    unchecked = [table for table in tables("docs/conventions.md") if "value" not in table.heads]
    assert len(CASES) > 60
    for table in unchecked:
        assert not re.search(r"\d\.\d", str(table.rows))
    for case in CASES:
        elsewhere = {key: cell for key, cell in case.items() if key not in ("value", "run", "measure", "judgments")}
        assert not re.search(r"\d\.\d", str(elsewhere))
