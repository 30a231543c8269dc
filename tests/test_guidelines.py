"""Guidelines: Markdown becomes markup, and whatever else is in them stays text."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest

from rankgauge.errors import InputError
from rankgauge.judge.scale import BINARY, GRADED, Scale
from rankgauge.raters.fields import shown_fields
from rankgauge.raters.keys import TAKEN, scale_keys, scale_levels
from rankgauge.show.guidelines import guidelines_html

TAGS = {"h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "strong", "em", "code", "pre", "a", "img", "blockquote", "hr"}
ATTRIBUTES = {"href", "target", "rel", "src", "alt", "loading", "referrerpolicy", "start"}
LINK = 'target="_blank" rel="noopener noreferrer"'


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("# One\n## Two ##", "<h3>One</h3>\n<h4>Two</h4>"),
        ("###### Six", "<h6>Six</h6>"),
        ("two\nlines\n\nnext", "<p>two\nlines</p>\n<p>next</p>"),
        ("- a\n- b\n  goes on\n\n- c", "<ul><li>a</li><li>b\ngoes on</li><li>c</li></ul>"),
        ("- a\n  - b\n    1. c\n- d", "<ul><li>a<ul><li>b<ol><li>c</li></ol></li></ul></li><li>d</li></ul>"),
        ("1. a\n2. b\n- c", "<ol><li>a</li><li>b</li></ol>\n<ul><li>c</li></ul>"),
        ("3) a", '<ol start="3"><li>a</li></ol>'),
        ("**b *and* more** _it_ __b__", "<p><strong>b <em>and</em> more</strong> <em>it</em> <strong>b</strong></p>"),
        ("doc_id_of 2*3*4 * x", "<p>doc_id_of 2<em>3</em>4 * x</p>"),
        ("`a *b* <c>`", "<p><code>a *b* &lt;c&gt;</code></p>"),
        ("```\n# <no>\n```\nafter", "<pre><code># &lt;no&gt;</code></pre>\n<p>after</p>"),
        ("> said\n> - so", "<blockquote><p>said</p><ul><li>so</li></ul></blockquote>"),
        ("a\n\n---\nb", "<p>a</p>\n<hr>\n<p>b</p>"),
        ("\\*as it is\\*", "<p>*as it is*</p>"),
        ("[here](https://x.y/?a=1&b=2)", f'<p><a href="https://x.y/?a=1&amp;b=2" {LINK}>here</a></p>'),
        ("", ""),
    ],
)  # fmt: skip
def test_marks_become_markup(text: str, made: str) -> None:
    assert guidelines_html(text) == made


class Found(HTMLParser):
    """Every tag and attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.values: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.values += attrs


EVIL = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "# <svg onload=alert(1)>",
    "- <iframe srcdoc='x'>",
    "```\n</code></pre><script>1</script>\n```",
    "`</code><script>1</script>`",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert`1`)",
    "[x](data:text/html,<script>1</script>)",
    "[x](//evil.example)",
    '[x](https://a.b/"onmouseover="alert(1))',
    "[x](https://a.b/'><script>1</script>)",
    "[**<b onclick=1>**](https://a.b/)",
    '![" onerror="alert(1)](https://ok.example/a.png)',
    "![x](https://evil.example/a.png)",
    "![x](https://ok.example@evil.example/a.png)",
    "![x](https://evil.example\\@ok.example/a.png)",
    "![x](https://ok.example.evil.example/a.png)",
    "![x](http://[ok.example/a.png)",
    "&lt;script&gt;",
    "\0<scr\0ipt>",
]


@pytest.mark.parametrize("text", EVIL)
def test_nothing_but_the_few_tags_comes_out(text: str) -> None:
    found = Found(guidelines_html(text, ["ok.example"]))
    assert found.tags <= TAGS
    assert {name for name, _ in found.values} <= ATTRIBUTES
    for name, value in found.values:
        if name in ("href", "src"):
            assert (value or "").startswith("https://")
        assert name != "src" or (value or "").startswith("https://ok.example/")


def test_images_come_from_allowed_hosts_alone() -> None:
    text = "![a cat](https://ok.example/cat.png)"
    assert guidelines_html(text, ["ok.example"]).startswith('<p><img src="https://ok.example/cat.png" alt="a cat"')
    assert guidelines_html(text) == f'<p><a href="https://ok.example/cat.png" {LINK}>a cat</a></p>'


@pytest.mark.parametrize(
    "part", ["**a", "*a ", "[", "[a](", "`", "_a ", "> ", "- ", "- a\n\n", "\n", "a\n\n", "![", "\\", "```", "# "]
)
def test_no_text_takes_long(part: str) -> None:
    began = time.process_time()
    guidelines_html(part * 20_000)
    assert time.process_time() - began < 2  # a hundredth of what it takes where the time is quadratic


def test_lists_within_lists_end() -> None:
    assert guidelines_html("\n".join(" " * 2 * deep + "- a" for deep in range(500))).count("<ul>") == 4


# ---- keys ------------------------------------------------------------------------------------------------------------


def test_keys_are_the_grades_where_these_are_digits() -> None:
    assert scale_keys(GRADED) == ("0", "1", "2", "3")
    assert scale_keys(BINARY) == ("0", "1")
    assert scale_keys(Scale.of([1, 5, 9])) == ("1", "5", "9")


def test_keys_of_other_scales_go_in_order() -> None:
    assert scale_keys(Scale.of([0, 0.5, 1])) == ("1", "2", "3")
    assert scale_keys(Scale.of([0, 100])) == ("1", "2")
    assert scale_keys(Scale.of([*range(11)])) == (*"0123456789", "a")
    many = scale_keys(Scale.of([*range(25)]))
    assert len(set(many)) == 25
    assert not set(many) & set(TAKEN)
    with pytest.raises(InputError, match="has 40 grades; people can choose among 29"):
        scale_keys(Scale.of([*range(40)]))


def test_words_of_a_scale_have_a_name_and_a_meaning() -> None:
    assert scale_levels(BINARY)[1] == {
        "grade": 1, "text": "1", "key": "1", "name": "Relevant",
        "meaning": "it helps somebody who asks this, at least in part.",
    }  # fmt: skip
    words = scale_levels(Scale.of(["bad", "good"]))
    assert [(each["key"], each["name"], each["meaning"]) for each in words] == [("0", "bad", ""), ("1", "good", "")]


# ---- fields ----------------------------------------------------------------------------------------------------------


def test_fields_of_a_document_begin_with_its_title() -> None:
    document = {"text": "Shoes for running.", "brand": None, "name": "Runner", "tags": ["red", 3], "size": {"eu": 44}}
    shown = shown_fields(document, "running shoe")
    assert [(each["name"], each["title"]) for each in shown] == [
        ("name", True), ("text", False), ("tags", False), ("size", False),
    ]  # fmt: skip
    assert shown[1]["pieces"] == [["Shoes", 1], [" for ", 0], ["running", 1], [".", 0]]
    assert [each["pieces"][0][0] for each in shown[2:]] == ["red · 3", '{"eu": 44}']
    assert [each["name"] for each in shown_fields(document, None, ["tags", "brand", "nothing"])] == ["tags"]
    assert shown_fields({}) == shown_fields({"text": " "}) == []
