"""Tables as papers print them: marks, faces, deltas; what each format escapes; LaTeX that compiles."""

from __future__ import annotations

import shutil
import string
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rankgauge.comparison.compare import compare
from rankgauge.show.cells import cell_text, shown_rows
from rankgauge.show.html import notebook
from rankgauge.show.latex import latex, latex_text
from rankgauge.show.markdown import markdown
from rankgauge.show.marks import delta_column, letter, letters
from rankgauge.show.model import Column, Mark, Options, Page, Section, Table, ranked
from rankgauge.show.text import text as as_text

# Twelve queries each; worked by hand: low < middle < high everywhere but for one query, near is middle with noise.
LOW = {f"q{n:02d}": 0.10 + 0.01 * n for n in range(12)}
HIGH = {query: value + 0.30 + 0.001 * (int(query[1:]) % 3) for query, value in LOW.items()}
MIDDLE = {query: value + 0.15 + 0.002 * (int(query[1:]) % 2) for query, value in LOW.items()}
NEAR = {query: value + (0.01 if int(query[1:]) % 2 else -0.01) for query, value in MIDDLE.items()}
SYSTEMS = {"low": LOW, "high": HIGH, "middle": MIDDLE, "near": NEAR}
NASTY = [f"x{char}y" for char in string.punctuation] + [
    "<script>alert(1)</script>",
    r"\input{x}",
    "a_b",
    "_a_",
    "**b**",
]
NASTY += ["`code`", "~~gone~~", "[text](address)", "&amp;", "&#35;", "<!-- x -->"]


def cells_of(page: str) -> list[str]:
    """The texts of the cells of an HTML page, in order."""
    found: list[str] = []

    class Reader(HTMLParser):
        inside = False

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag in ("td", "th"):
                self.inside = True
                found.append("")

        def handle_endtag(self, tag: str) -> None:
            self.inside = self.inside and tag not in ("td", "th")

        def handle_data(self, data: str) -> None:
            if self.inside:
                found[-1] += data

    Reader().feed(page)
    return found


def rendered(markdown: str) -> str:
    page: str = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    return page


# ---- marks -----------------------------------------------------------------------------------------------------------


def test_letters() -> None:
    assert [letter(number) for number in (0, 25, 26, 27, 701, 702)] == ["a", "z", "aa", "ab", "zz", "aaa"]
    assert letters([3, 0]) == "ad"
    assert letters([0, 26]) == "a,aa"


@pytest.mark.parametrize(
    ("value", "baseline", "kind", "words"),
    [(0.5123, 0.5, "absolute", "+0.012"), (0.45, 0.5, "relative", "-10.0 %"), (0.45, 0.0, "relative", "–")],
)
def test_changes(value: float, baseline: float, kind: str, words: str) -> None:
    column, cells = delta_column({"a": value, "b": baseline}, "b", kind)
    assert [cell_text(cell, column, 3) for cell in cells] == [words, "–"]


def places(*values: float | None) -> list[str]:
    """How the cells of a contest are marked."""
    table = Table(
        "t", "", [Column("x", "number", 2)], [[value] for value in values], contests=ranked(range(len(values)), [0])
    )
    return [row[0].kind for row in shown_rows(table, Options())]


def test_best_and_second_go_by_the_digits_that_are_shown() -> None:
    assert places(0.71, 0.69, None, 0.70, 0.704) == ["best", "", "", "second", "second"]
    assert places(0.71, 0.69, 0.712) == ["best", "", "best"]
    assert places(0.2, 0.1, None) == ["best", "", ""]
    assert places(-0.1, -0.2, -0.3)[0] == "best"
    assert places(None, None, None) == ["", "", ""]


def table_of(text: str) -> list[str]:
    """The first table of a Markdown text, which the verdicts precede."""
    return text.partition("**Means over 12 queries.**\n\n")[2].split("\n\n")[0].splitlines()


class TestPairs:
    def test_letters_name_the_systems_that_are_worse(self) -> None:
        text = compare(None, SYSTEMS, "nDCG@10").show("markdown", digits=3)
        assert table_of(text) == [
            "|  | system | nDCG@10 |",
            "| :-- | :-- | :-- |",
            "| a | low | 0.155 |",
            "| b | high | **0.456**<sup>acd</sup> |",
            "| c | middle | <u>0.306</u><sup>a</sup> |",
            "| d | near | <u>0.306</u><sup>a</sup> |",
        ]
        assert "- Best in bold, second underlined. Superscripts: the systems that are" in text
        assert "(sign-flip test, adjusted by single-step max-T over 6 pairs, p ≤ 0.05)." in text

    def test_latex(self) -> None:
        text = compare(None, SYSTEMS, "nDCG@10").show("latex", digits=3)
        assert r"b & high & \textbf{0.456}\textsuperscript{acd} \\" in text
        assert r"c & middle & \underline{0.306}\textsuperscript{a} \\" in text
        comments, _, table = text.partition("\\begin{table}\n")
        assert comments.startswith("% needs \\usepackage{booktabs}\n% high is better than low by 0.3010 nDCG@10 (")
        assert all(line.startswith("% ") for line in comments.splitlines() if line)
        assert table.startswith("\\centering\n\\caption{Means over 12")
        assert r"p $\le$ 0.05" in text

    def test_daggers_and_deltas_against_a_baseline(self) -> None:
        found = compare(None, SYSTEMS, "nDCG@10", baseline="middle")
        text = found.show("markdown", digits=3)
        words = "\n- No clear winner: near − middle is 0.0000 nDCG@10 (95 % interval -0.0067 to 0.0067; "
        assert words in f"\n{text}"  # nothing is never negative
        assert table_of(text) == [
            "| system | nDCG@10 | Δ |",
            "| :-- | :-- | --: |",
            "| low | 0.155<sup>‡</sup> | -0.151 |",
            "| high | **0.456**<sup>†</sup> | +0.150 |",
            "| middle | <u>0.306</u> | – |",
            "| near | <u>0.306</u> | 0.000 |",
        ]
        assert "† significantly better than middle, ‡ significantly worse" in text
        assert r"low & 0.155\textsuperscript{\textdaggerdbl{}} & $-$0.151 \\" in found.show("latex", digits=3)
        relative = found.show("markdown", digits=3, deltas="relative")
        assert "| low | 0.155<sup>‡</sup> | -49.3 % |" in relative
        assert "| low | 0.155<sup>‡</sup> |\n" in found.show("markdown", digits=3, deltas="none")

    def test_a_count_has_no_best(self) -> None:
        assert "| a | low | 0.155 |" in compare(None, SYSTEMS, "NumRet").show("markdown", digits=3)
        assert "**0.456**<sup>" not in compare(None, SYSTEMS, "NumRet").show("markdown", digits=3)


# ---- escaping --------------------------------------------------------------------------------------------------------


def page_of(heads: list[str], rows: list[list[Any]], caption: str = "") -> Page:
    table = Table("t", caption, [Column(head) for head in heads], rows)
    return Page("", [Section("s", "", [table])], dict)


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1, max_size=4))
def test_every_name_survives_markdown_and_html(names: list[str]) -> None:
    page = page_of(["system", "value"], [[name, Mark("0.5", note="a")] for name in names])
    texts = ["system", "value", *(text for name in names for text in (name, "0.5a"))]
    assert cells_of(rendered(markdown(page, Options()))) == texts
    assert cells_of(notebook(page)) == texts


def test_nasty_names_survive_markdown_and_html() -> None:
    page = page_of(["system"], [[Mark(name, "best")] for name in NASTY], "<b>*")
    assert cells_of(rendered(markdown(page, Options()))) == ["system", *NASTY]
    assert cells_of(notebook(page)) == ["system", *NASTY]
    assert "<script>" not in notebook(page)
    assert "<b>*</b>" not in rendered(markdown(page, Options()))


def test_a_line_break_in_a_name_stays_in_its_cell() -> None:
    page = page_of(["system"], [["a\nb\x1b[1m"]])
    assert as_text(page, Options()) == "system\na�b�[1m\n"
    assert latex(page, Options()).count("a?b?[1m") == 1
    assert "| a�b�\\[1m |" in markdown(page, Options())


def test_what_latex_reads_as_something_else() -> None:
    assert latex_text(r"50 %_#{}&$~^\|<>") == (
        r"50 \%\_\#\{\}\&\$\textasciitilde{}\textasciicircum{}\textbackslash{}\textbar{}\textless{}\textgreater{}"
    )
    assert latex_text("-0.5 to -0.1, TUW19-3-re") == "$-$0.5 to $-$0.1, TUW19-3-re"


# ---- LaTeX -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def compiled(tmp_path: Path) -> object:
    """Compile tables; the text of the pages, or nothing where no tool tells it."""
    if shutil.which("pdflatex") is None:
        pytest.skip("there is no pdflatex; 'make test-latex' installs it from Debian's packages")

    def run(body: str) -> str:
        lead = r"\documentclass{article}\usepackage[landscape,margin=1cm]{geometry}\usepackage{booktabs}"
        page = f"{lead}\\begin{{document}}\\footnotesize\n{body}\n\\end{{document}}\n"
        (tmp_path / "page.tex").write_text(page, encoding="utf-8")
        words = ["pdflatex", "-no-shell-escape", "-halt-on-error", "-interaction=nonstopmode", "page.tex"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stdout[-3000:].decode(errors="replace")
        assert b"Missing character" not in (tmp_path / "page.log").read_bytes()
        if shutil.which("pdftotext") is None:
            return ""
        subprocess.run(["pdftotext", "-layout", "page.pdf"], cwd=tmp_path, check=True)
        return (tmp_path / "page.txt").read_text(encoding="utf-8")

    return run


@pytest.mark.latex
def test_latex_compiles(compiled: object) -> None:
    assert callable(compiled)
    systems = {f"{name} {nasty}": SYSTEMS[name] for name, nasty in zip(SYSTEMS, NASTY, strict=False)}
    body = compare(None, SYSTEMS, ["nDCG@10"]).show("latex")
    body += compare(None, systems, "x", baseline=next(iter(systems)), margin=0.01, rope=0.01).show("latex")
    nasty = page_of(["", "Δ_"], [[name, Mark("–", note="†")] for name in NASTY[:30]], "50 % of $x_1 & more…")
    text = compiled(body + latex(nasty, Options()))
    if text:
        for word in ("middle", "0.4560", "step-down max-T over 6 pairs", "x%y", "x\\y", "x|y", "x<y", "x#y"):
            assert word in text


@pytest.mark.parametrize(("deltas", "there"), [("absolute", True), ("relative", True), ("none", False)])
def test_deltas_stand_beside_values_unless_there_are_to_be_none(deltas: str, there: bool) -> None:
    found = compare(None, SYSTEMS, "nDCG@10", baseline="middle")
    assert ("| system | nDCG@10 | Δ |" in found.show("markdown", deltas=deltas)) is there
    assert "Δ |" not in compare(None, SYSTEMS, "nDCG@10").show("markdown", deltas=deltas)
