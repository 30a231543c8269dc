"""The model of what is shown and its renderings: one page of every block, hostile texts, widths, contests."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgauge.errors import InputError
from rankgauge.measures.bands.bands import Band
from rankgauge.show import formats
from rankgauge.show.cells import shown_rows
from rankgauge.show.charts.theme import Frame
from rankgauge.show.data import csv_text, json_text, section_data
from rankgauge.show.formats import FORMATS
from rankgauge.show.latex import latex
from rankgauge.show.markdown import markdown
from rankgauge.show.model import (
    Bullets,
    Chart,
    Code,
    Column,
    Fold,
    Mark,
    Notes,
    Options,
    Page,
    Section,
    Table,
    Text,
    Tile,
    Tiles,
    ranked,
    sentence,
)
from rankgauge.show.names import cut_apart, short, width_of
from rankgauge.show.text import text


def page(*blocks: Any, data: Any = None) -> Page:
    return Page("a page", [Section("one", "One", blocks)], lambda: data)


def table(columns: list[Column], rows: list[list[Any]], **more: Any) -> Table:
    return Table("t", more.pop("caption", ""), columns, rows, **more)


def never() -> Any:
    raise AssertionError("a chart was drawn")


NUMBERS = table(
    [Column("run"), Column("nDCG@10", "number"), Column("95 % interval", "interval", key="nDCG@10")],
    [["a", 0.73834, (0.6, 0.8)], ["b", 0.80511, (float("nan"), 0.9)], ["c", None, (0.1, 0.2)]],
    caption="Means",
    notes=["A note."],
    contests=ranked(range(3), [1]),
)


def test_text_aligns_words_left_and_numbers_right() -> None:
    assert text(page(NUMBERS, Notes(["Rules: none."])), Options()) == (
        "Means\n"
        "run  nDCG@10     95 % interval\n"
        "a     0.7383  0.6000 to 0.8000\n"
        "b     0.8051                 –\n"
        "c          –  0.1000 to 0.2000\n"
        "A note.\n"
        "\nRules: none.\n"
    )


def test_digits_are_those_of_the_column_or_those_asked_for() -> None:
    shown = table([Column("x", "number"), Column("y", "number", 1)], [[0.123456, 0.123456]])
    assert text(page(shown), Options(digits=2)) == "   x    y\n0.12  0.1\n"


def test_nothing_has_no_sign() -> None:
    shown = table([Column("x", "signed")], [[-0.00001], [0.0], [-0.5], [0.5]])
    assert text(page(shown), Options()).split() == ["x", "0.0000", "0.0000", "-0.5000", "+0.5000"]


def test_the_best_and_the_second_are_marked_by_the_digits_shown() -> None:
    kinds = [row[1].kind for row in shown_rows(NUMBERS, Options())]
    assert kinds == ["", "best", ""]
    three = table([Column("x", "number")], [[0.12341], [0.12342], [0.1]], contests=ranked(range(3), [0]))
    assert [row[0].kind for row in shown_rows(three, Options())] == ["best", "best", ""]
    assert [row[0].kind for row in shown_rows(three, Options(digits=5))] == ["second", "best", ""]


def test_bands_are_ranges_for_people_and_three_columns_for_programs() -> None:
    band = Band(0.5, 0.5, 0.25, 0.75, exact=False)
    shown = table([Column("x", "number")], [[band], [0.5]])
    assert text(page(shown), Options(digits=2)).split("\n")[1].strip() == "≤0.25 to ≥0.75"
    assert csv_text(page(shown), Options()) == "x,x_low,x_high\n0.5,0.25,0.75\n0.5,0.5,0.5\n"


def test_csv_has_every_digit_and_both_ends() -> None:
    rows = list(csv.reader(io.StringIO(csv_text(page(NUMBERS), Options()))))
    assert rows == [
        ["run", "nDCG@10", "nDCG@10_low", "nDCG@10_high"],
        ["a", "0.73834", "0.6", "0.8"],
        ["b", "0.80511", "", "0.9"],
        ["c", "", "0.1", "0.2"],
    ]


def test_csv_takes_the_table_for_programs_or_the_one_that_is_named() -> None:
    rows = Table.of_rows([{"query_id": "q", "value": 0.1 + 0.2}])
    assert csv_text(page(NUMBERS, rows), Options()) == "query_id,value\nq,0.30000000000000004\n"
    assert csv_text(page(NUMBERS, rows), Options(only="t")).startswith("run,")
    with pytest.raises(InputError, match="no table 'x'; there are t or rows"):
        csv_text(page(NUMBERS, rows), Options(only="x"))
    assert "query_id" not in text(page(NUMBERS, rows), Options())


def test_json_has_null_for_what_is_missing() -> None:
    made = json.loads(json_text(page(data={"x": float("nan"), "b": Band(1, 2, 3, float("inf"), True)}), Options()))
    assert made["x"] is None
    assert made["b"] == {"value": 1, "expected": 2, "low": 3, "high": None, "exact": True, "error": 0.0}


def test_charts_are_drawn_only_where_they_can_be() -> None:
    drawn = page(Chart("c", "A chart", "how to read it", never), NUMBERS)
    for render in (text, markdown, latex, json_text, csv_text):
        assert render(drawn, Options())
    assert section_data(drawn.sections[0])["blocks"][0]["type"] == "table"


EVIL = "<b>&\x1b[31m|*x*_y_$%#\\`=1+1{}~^"


@pytest.mark.parametrize("render", [text, markdown, latex, csv_text])
def test_hostile_texts_stay_texts(render: Any) -> None:
    cells = [[EVIL, "=1+1"], ["+x", "@y"], ["-3", "-x"]]
    shown = table([Column("run"), Column(EVIL)], cells, caption=EVIL, notes=[EVIL])
    made = render(page(shown, Text(EVIL), Bullets([EVIL]), Notes([EVIL])), Options())
    assert "\x1b" not in made
    if render is markdown:
        assert "<b>" not in made.replace("\\<b", "")
        assert "\\|\\*x\\*" in made
        assert "|*x*" not in made
    if render is latex:
        body = "\n".join(line for line in made.split("\n") if not line.startswith("%"))
        assert r"\textless{}b\textgreater{}\&" in body
        assert r"\$\%\#\textbackslash{}" in body
    if render is csv_text:
        rows = list(csv.reader(io.StringIO(made)))
        assert [row[0] for row in rows[2:]] == ["'+x", "-3"]
        assert [row[1] for row in rows[1:]] == ["'=1+1", "'@y", "'-x"]


def test_wide_characters_count_as_two() -> None:
    assert width_of("検索") == 4
    shown = table([Column("run"), Column("x", "number")], [["検索", 0.5], ["ab", 0.25]])
    lines = text(page(shown), Options()).splitlines()
    assert [width_of(line) for line in lines] == [12, 12, 12]
    assert short("検索検索検索", 7) == "検…索"
    assert width_of(short("検索検索検索", 7)) <= 7


def test_a_table_that_does_not_fit_is_continued_below() -> None:
    columns = [Column("run"), *(Column(f"measure{at}", "number") for at in range(6))]
    shown = table(columns, [["a-long-name-of-a-system-that-is-cut", *(at / 10 for at in range(6))]])
    made = text(page(shown), Options(width=48))
    assert max(map(width_of, made.splitlines())) <= 48
    assert made.count("run") == 2
    assert all(f"measure{at}" in made for at in range(6))
    whole = text(page(shown), Options())
    assert len(whole.splitlines()) == 2
    assert "a-long-name-of-a-system-that-is-cut" in whole


def test_what_is_but_rounding_has_no_bar() -> None:
    columns = [Column("difference", "signed"), Column("", "bar")]
    made = text(page(table(columns, [[number, number] for number in (1e-17, -1e-17, 0.0)])), Options())
    assert made.splitlines()[1:] == ["    0.0000"] * 3


def test_what_follows_a_divider_stays_together() -> None:
    columns = [Column("rank", "rank"), Column("document"), Column("adds", "number"), Column("ideal", divided=True)]
    columns += [Column("grade", "grade"), Column("adds", "number")]
    shown = table(columns, [[1, "d1", 0.5, "d2", 3, 0.5]])
    assert text(page(shown), Options(width=40)).splitlines()[0] == "rank  document    adds"
    assert text(page(shown), Options(width=40)).splitlines()[3] == "rank  │ ideal  grade    adds"
    assert text(page(shown), Options(width=20)).count("rank") == 4  # where it does not fit by itself, it is


@pytest.mark.parametrize(("width", "lines"), [(60, 3), (44, 4), (36, 7)])
def test_the_words_of_the_last_column_are_not_cut_where_names_can_be(width: int, lines: int) -> None:
    """With room for all, on two lines of their own, and in a part of its own, which has room."""
    columns = [Column("system"), Column("mean", "number"), Column("p", "p"), Column("verdict")]
    rows = [["a-long-name-of-a-system", 0.5, 0.01, "better"], ["b", 0.5, 0.5, "not significant"]]
    made = text(page(table(columns, rows)), Options(width=width))
    assert "not significant" in made if width != 44 else re.search(r"not\n +significant", made)
    assert max(map(width_of, made.splitlines())) <= width
    assert len(made.splitlines()) == lines


def test_a_table_that_is_too_wide_does_without_what_stands_aside_then_with_shorter_bars_then_without() -> None:
    columns = [Column("document"), Column("grade", "grade", aside=True), Column("adds", "number"), Column("", "bar")]
    columns.append(Column("ideal", divided=True))
    made = [text(page(table(columns, [["d1", 3, 0.5, 0.5, "i" * wide]])), Options()) for wide in (39, 40, 46, 56, 57)]
    assert ["grade" in each for each in made] == [True, False, False, False, False]
    assert [each.count("█") for each in made] == [12, 12, 12, 2, 0]
    assert [max(map(width_of, each.splitlines())) for each in made] == [80, 74, 80, 80, 77]


def test_texts_of_documents_are_cut_where_no_terminal_is_and_ids_are_not() -> None:
    long = "d1: " + "text " * 20
    made = text(page(table([Column("document", "titled"), Column("x", "number")], [[long, 0.5]])), Options())
    assert max(map(width_of, made.splitlines())) == 80
    assert "…" in made
    assert long in text(page(table([Column("document"), Column("x", "number")], [[long, 0.5]])), Options())


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "html"])
def test_quiet_shows_tables_alone(format: str) -> None:
    whole = page(Text("A sentence."), NUMBERS, Notes(["Below."]), data={"words": "A sentence."})
    loud, quiet = (str(formats.render(whole, format, Options(quiet=each))) for each in (False, True))
    for words in ("A sentence.", "A note.", "Below."):
        assert words in loud
        assert words not in quiet
    assert "0.8051" in quiet
    assert "A sentence." in str(formats.render(whole, "json", Options(quiet=True)))


def test_long_sentences_are_wrapped_at_the_width_of_the_terminal_or_at_80() -> None:
    words = " ".join(["word"] * 40)
    for options, width in ((Options(), 80), (Options(width=60), 60), (Options(width=100), 100)):
        lines = text(page(Text(words)), options).splitlines()
        assert width - 5 <= max(map(len, lines)) <= width
        assert " ".join(" ".join(lines).split()) == words
    assert text(page(Text("a" * 200)), Options()).splitlines() == ["a" * 200]  # a word, such as a path, stays whole


def test_three_notes_stand_below_a_table_and_the_rest_on_request() -> None:
    for number in range(6):
        notes = [f"note {at}" for at in range(number)]
        lines = text(page(NUMBERS, Notes(notes)), Options(more="--notes")).splitlines()
        shown = [line for line in lines if "note " in line]
        assert shown == notes[:3]
        more = [line for line in lines if "more" in line]
        assert more == ([f"{number - 3} more: --notes"] if number > 3 else [])
        whole = text(page(NUMBERS, Notes(notes)), Options(notes=None)).splitlines()
        assert [line for line in whole if "note " in line] == notes
        assert not any("more" in line for line in whole)


def test_quiet_is_the_table_alone() -> None:
    alone = NUMBERS._replace(notes=())
    blocks = (Text("before"), Bullets(["a bullet"]), NUMBERS, Notes(["a note"] * 5))
    assert formats.render(page(*blocks), "table", Options(quiet=True)) == text(page(alone), Options())
    assert "A note." in text(page(*blocks), Options())


def test_what_stands_aside_is_left_out_where_there_is_no_room() -> None:
    columns = [Column("document"), Column("term", "number", aside=True), Column("adds", "number")]
    narrow = table(columns, [["d1", 0.25, 0.5]])
    wide = table(columns, [["d" * 66, 0.25, 0.5]])
    assert "term" in text(page(narrow), Options())
    assert text(page(wide), Options()).splitlines()[0].split() == ["document", "adds"]
    assert text(page(wide), Options(width=120)).splitlines()[0].split() == ["document", "term", "adds"]
    for name in ("markdown", "latex", "html", "csv"):
        assert "term" in str(FORMATS[name].render(page(wide), Options())), name


def test_colours_only_where_they_are_asked_for() -> None:
    assert "\x1b" not in text(page(NUMBERS), Options())
    assert "\x1b[1m 0.8051\x1b[0m" in text(page(NUMBERS), Options(colours=True))


def test_every_block_has_words() -> None:
    tile = Tile("value", Column("x", "number"), 0.5, "of nDCG@10")
    fold = Fold("f", "More", [Text("inside")], "3")
    parts = page(
        Tiles([tile]), Code("rankgauge eval"), fold, Bullets(["one"], title="Changes"), Text("Care", "warning")
    )
    plain = text(parts, Options())
    for words in (
        "value: 0.5000 (of nDCG@10)",
        "    rankgauge eval",
        "More (3)",
        "inside",
        "Changes:\n  one",
        "Caution: Care",
    ):
        assert words in plain
    written = markdown(parts, Options())
    for words in ("- value: **0.5000** (of nDCG@10)", "```sh\nrankgauge eval\n```", "<summary>More (3)</summary>"):
        assert words in written


def test_marks_are_superscripts_in_documents() -> None:
    shown = table([Column("x", "number")], [[Mark(0.5, "best", note="ab")]])
    assert "| **0.5000**<sup>ab</sup> |" in markdown(page(shown), Options())
    assert r"\textbf{0.5000}\textsuperscript{ab}" in latex(page(shown), Options())
    assert "0.5000ab" in text(page(shown), Options())


# ---- names that are cut ----------------------------------------------------------------------------------------------

ALIKE = ["bm25-monot5-base-k-top100", "bm25-monobert-large-k-top100", "bm25-monoelectra-k-top100", "bm25"]


def test_names_that_are_cut_stay_different() -> None:
    assert len({short(name, 18) for name in ALIKE}) < len(ALIKE)
    shown = cut_apart(ALIKE, 18)
    assert [*shown.values()] == ["…monot5-base…", "…monobert-large…", "…monoelectra…", "bm25"]
    assert cut_apart(["a" * 20, "b" * 20], 9) == {"a" * 20: "aaaa…aaaa", "b" * 20: "bbbb…bbbb"}


@given(st.lists(st.text("ab-", min_size=1, max_size=40), min_size=1, max_size=12, unique=True), st.integers(8, 30))
def test_any_names_stay_different_and_fit(names: list[str], width: int) -> None:
    shown = cut_apart(names, width)
    assert [*shown] == names
    assert len(set(shown.values())) == len(names)
    assert all(width_of(each) <= width for each in shown.values())
    assert all(shown[name] == name for name in names if len(name) <= width)


def test_a_narrow_table_and_an_axis_keep_names_apart() -> None:
    names = [f"a-rather-long-name-of-a-system-{part}-with-an-equally-long-end-of-its-name" for part in ("one", "two")]
    columns = [Column("system"), *(Column(f"number {at}", "number") for at in range(4))]
    table = Table("t", "", columns, [[name, 1.0, 2.0, 3.0, 4.0] for name in names])
    lines = text(Page("", [Section("s", "", [table])], dict), Options(width=70)).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["…one…", "…two…"]
    axis = Frame.of("light", 400).names(names).to_dict()
    assert axis["labelExpr"] == f"({json.dumps(dict(zip(names, ('…one…', '…two…'), strict=True)))})[datum.label]"
    assert "labelExpr" not in Frame.of("light", 400).names(["short"]).to_dict()


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("there is no run 'x'", "There is no run 'x'."),
        ("no, it is not.", "No, it is not."),
        ("pe/rankgauge.db: there is no store", "pe/rankgauge.db: there is no store."),
        ("shop: is no project", "shop: is no project."),
        ("gm_map is not a mean", "gm_map is not a mean."),
        ("nDCG@10: few queries", "nDCG@10: few queries."),
        ("other answers 3 of 5", "other answers 3 of 5."),
    ],
)
def test_a_name_at_the_beginning_of_a_sentence_keeps_its_spelling(message: str, shown: str) -> None:
    assert sentence(message, ["other"]) == shown
