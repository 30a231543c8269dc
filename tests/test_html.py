"""The page: whatever it is given stays text, every block is there, nothing is loaded."""

from __future__ import annotations

import re
from functools import partial
from html.parser import HTMLParser
from typing import Any

import pytest

from rankgauge.errors import InputError
from rankgauge.show.formats import FORMATS, render
from rankgauge.show.html import anchor, html, notebook, places
from rankgauge.show.model import (
    Block,
    Bullets,
    Chart,
    Code,
    Column,
    Fold,
    Mark,
    Notes,
    Options,
    Page,
    Picture,
    Section,
    Table,
    Text,
    Tile,
    Tiles,
    ranked,
)
from rankgauge.show.svg.drawing import document, text

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;{{ 7 * 7 }}\x1b[31m"
SAFE = {"div", "p", "h2", "h3", "ul", "li", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "sup", "a", "span"}
SAFE |= {
    "button",
    "input",
    "details",
    "summary",
    "figure",
    "figcaption",
    "pre",
    "code",
    "section",
    "svg",
    "rect",
    "text",
}
SAFE |= {"style"}


class Tags(HTMLParser):
    """What a browser would make of it: tags, attributes, text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def shown(*blocks: Block, title: str = "one") -> Page:
    return Page(title, [Section("first", "", list(blocks))], dict)


def main_of(page: Page, **options: Any) -> str:
    """What is between the header and the scripts."""
    (inner,) = re.findall(r"<main id=\"main\">(.*)</main>", html(page, Options(**options)), re.DOTALL)
    return str(inner)


def policy_of(page: str) -> str:
    (policy,) = (each["content"] or "" for tag, each in Tags(page).tags if "http-equiv" in each)
    return policy


def everywhere(evil: str) -> list[Block]:
    """Every block with the same text wherever a text may be."""
    columns = [Column(evil, help=evil), Column(evil, "number"), Column(evil, "grade"), Column(evil, "bar")]
    row = [Mark(evil, "good", evil, evil), Mark(evil, "bad"), evil, evil]
    return [
        *(Text(evil, kind) for kind in ("", "lead", "head", "note", "warning")),
        Bullets([evil], "warning", evil),
        Notes([evil]),
        Tiles([Tile(evil, Column(evil), evil, evil)]),
        Code(evil),
        Table(evil, evil, columns, [row, row], [evil], search=True, foot=1),
        Fold(evil, evil, [Text(evil)], evil),
        Picture(evil, evil, lambda: document([text(0, 0, evil, 12)], 10, evil)),
    ]


@pytest.mark.parametrize("evil", [EVIL, "<b>x</b>", "]]><svg onload=alert(1)>", "javascript:alert(1)"])
def test_whatever_is_given_stays_text(evil: str) -> None:
    page = Page(evil, [Section("first", evil, everywhere(evil))], dict, evil)
    for inner in (main_of(page), notebook(page)):
        seen = Tags(inner)
        assert {tag for tag, _ in seen.tags} <= SAFE | {"h4"}
        attributes = {name for _, each in seen.tags for name in each}
        assert not {name for name in attributes if name.startswith("on")} | (attributes & {"src", "style", "srcdoc"})
        assert all((each.get("href") or "#").startswith("#at-") or "href" not in each for _, each in seen.tags)
        assert "".join(seen.words).count(evil.replace("\x1b", "\ufffd")[:20]) > 15


def test_the_page_has_one_policy_and_names_nothing_outside() -> None:
    text = html(Page("one", [Section("first", "One", everywhere("x"))], dict), Options())
    assert text.count("<!doctype html>") == 1
    assert not re.search(r"<[^>]*\s(?:src|srcset)=|<link|@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert policy_of(text).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy_of(text)


def test_cells_have_every_digit_their_marks_and_a_minus() -> None:
    rows = [["a", 0.123456789, (-0.5, 0.25), Mark(2, link="f"), -3.5], ["b", 0.2, (None, None), 3, 7.0]]
    columns = [Column("name"), Column("x", "number"), Column("ends", "signed interval", divided=True)]
    columns += [Column("grade", "grade"), Column("", "bar")]
    table = Table(
        "t", "", columns, [*rows, ["all", Mark(0.3, note="a†"), (0, 1), None, None]], contests=ranked([0, 1], [1])
    )
    inner = main_of(shown(table))
    assert '<td class="n" data-v="0.123456789">0.1235</td>' in inner
    assert '<td class="n best" data-v="0.2">0.2000</td>' in inner
    assert '<td class="n divided" data-v="-0.5 0.25">−0.5000 to +0.2500</td>' in inner
    assert '<td class="n divided">–</td>' in inner
    assert f'<td class="n" data-v="2"><a href="#{anchor("f")}">2</a></td>' in inner
    assert '<span class="grade g3">3</span>' in inner
    assert '<rect width="50.0" height="8"/></svg></td>' in inner
    assert 'class="n bar loss" data-v="-3.5"' in inner
    assert "0.3000<sup>a†</sup>" in inner


def test_rows_at_the_foot_are_apart_and_programs_have_their_own_tables() -> None:
    table = Table("t", "", [Column("a")], [["x"], ["y"], ["z"]], foot=1)
    inner = main_of(shown(table, Table.of_rows([{"secret": 1}])))
    body, foot = re.findall(r"<tbody>(.*?)</tbody>.*?<tfoot>(.*?)</tfoot>", inner, re.DOTALL)[0]
    assert (body.count("<tr>"), foot.count("<tr>")) == (2, 1)
    assert "secret" not in inner


def test_the_style_of_a_picture_is_allowed_by_its_hash() -> None:
    page = html(shown(Picture("p", "", lambda: document([], 10, "x"))), Options())
    (styles,) = re.findall("style-src ([^;]*);", policy_of(page))
    assert styles.count("sha256-") == 2


def test_a_picture_is_the_only_one_or_the_one_that_is_named() -> None:
    one, other = (Picture(key, "", partial("<svg>{}</svg>".format, key)) for key in "ab")
    page = shown(Text("x"), Fold("f", "f", [one]), other)
    assert render(shown(Text("x"), Fold("f", "f", [one])), "svg") == "<svg>a</svg>\n"
    assert render(page, "svg", Options(only="b")) == "<svg>b</svg>\n"
    with pytest.raises(InputError, match="a file holds one picture; there are a or b"):
        render(page, "svg")
    with pytest.raises(InputError, match="there is no picture 'c'; there are a or b"):
        render(page, "svg", Options(only="c"))
    for kind in (name for name, each in FORMATS.items() if each.picture):
        with pytest.raises(InputError, match="there is no picture here"):
            render(shown(Text("x")), kind)


def test_a_chart_that_cannot_be_drawn_is_a_note_and_so_are_all_without_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def draw() -> Any:
        raise InputError("no such thing")

    page = shown(Chart("c", "", "", draw))
    assert '<p class="note">No chart of this: no such thing.</p>' in main_of(page)
    assert "no such thing" not in notebook(page)
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    two = shown(Text("before"), Chart("c", "", "", draw), Chart("d", "", "", draw), Text("after"))
    for made in (main_of(two), str(places(two.sections, Options())[0].body)):
        assert made.count("Charts need an extra: pip install &#39;rankgauge[charts]&#39;.") == 1
        assert ("before" in made, "after" in made, "figure" in made) == (True, True, False)
    assert "extra" not in notebook(two)
