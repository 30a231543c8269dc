"""Guidelines, written as Markdown → HTML that is safe to show: everything is escaped first, and only then marked up.

Headings, paragraphs, lists, quotes, rules and code; bold, italic, links to http and https, images of allowed hosts.
HTML in the text stays text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from html import escape, unescape
from typing import Final
from urllib.parse import urlsplit

from rankgauge.show.html import CONTROL

__all__ = ["guidelines_html"]

DEEPEST: Final = 4  # lists within lists
HIGHEST: Final = 3  # the level of the first heading: those above it are the page's
FENCE: Final = re.compile(r" {0,3}(```|~~~)")
HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
RULE: Final = re.compile(r" {0,3}(?:-[ \t]*){3,}$|(?:\*[ \t]*){3,}$|(?:_[ \t]*){3,}$")
ITEM: Final = re.compile(r"( {0,3}(?:[-*+]|(\d{1,9})[.)])[ \t]+)\S")
QUOTE: Final = re.compile(r" {0,3}>[ ]?")
# Every part ends where another one could begin, so that no text takes long.
INLINE: Final = re.compile(
    r"""\\(?P<plain>[\\`*_\[\]()\#+.!~>-])
    | `(?P<code>[^`]+)`
    | !\[(?P<alt>[^\[\]]*)\]\((?P<image>[^()\s]+)\)
    | \[(?P<words>[^\[\]]+)\]\((?P<link>[^()\s]+)\)
    | \*\*(?P<bold>(?:[^*]|\*(?!\*))+)\*\*
    | \*(?P<italic>[^*\s](?:[^*]*[^*\s])?)\*
    | (?<!\w)__(?P<bold_too>[^_]+)__(?!\w)
    | (?<!\w)_(?P<italic_too>[^_\s](?:[^_]*[^_\s])?)_(?!\w)""",
    re.VERBOSE,
)
TAGS: Final = {"bold": "strong", "bold_too": "strong", "italic": "em", "italic_too": "em"}


def guidelines_html(text: str, images: Collection[str] = ()) -> str:
    """The markup of guidelines; images are shown from these hosts alone.

    >>> guidelines_html("# Judge *the text*, <b>not</b> the picture")
    '<h3>Judge <em>the text</em>, &lt;b&gt;not&lt;/b&gt; the picture</h3>'
    """
    plain = text.expandtabs(4).translate(CONTROL)
    return "\n".join(_blocks(plain.splitlines(), frozenset(images), 0))


def _blocks(lines: Sequence[str], images: frozenset[str], depth: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        block = next((make for matches, make in BLOCKS if matches(lines[at])), _paragraph)
        block = _paragraph if depth >= DEEPEST and block in (_list, _quote) else block
        at, made = block(lines, at, images, depth)
        if made:
            yield made


def _end(lines: Sequence[str], at: int, test: Callable[[str], object]) -> int:
    """Where the lines that pass a test end."""
    while at < len(lines) and test(lines[at]):
        at += 1
    return at


def _is_blank(line: str) -> bool:
    return not line.strip()


def _blank(lines: Sequence[str], at: int, images: frozenset[str], depth: int) -> tuple[int, str]:
    return at + 1, ""


def _fence(lines: Sequence[str], at: int, images: frozenset[str], depth: int) -> tuple[int, str]:
    found = FENCE.match(lines[at])
    mark = found[1] if found else ""
    end = _end(lines, at + 1, lambda line: not line.strip().startswith(mark))
    return end + 1, f"<pre><code>{escape(chr(10).join(lines[at + 1 : end]))}</code></pre>"


def _heading(lines: Sequence[str], at: int, images: frozenset[str], depth: int) -> tuple[int, str]:
    found = HEADING.match(lines[at])
    level = min(6, HIGHEST - 1 + len(found[1])) if found else HIGHEST
    words = found[2] or "" if found else ""
    return at + 1, f"<h{level}>{_inline(words, images)}</h{level}>"


def _rule(lines: Sequence[str], at: int, images: frozenset[str], depth: int) -> tuple[int, str]:
    return at + 1, "<hr>"


def _quote(lines: Sequence[str], at: int, images: frozenset[str], depth: int) -> tuple[int, str]:
    end = _end(lines, at, QUOTE.match)
    inner = [QUOTE.sub("", line, count=1) for line in lines[at:end]]
    return end, f"<blockquote>{''.join(_blocks(inner, images, depth + 1))}</blockquote>"


def _list(lines: Sequence[str], at: int, images: frozenset[str], depth: int) -> tuple[int, str]:
    """Items of one kind, each with the lines below it that are set in, or that go on with its words."""
    first = ITEM.match(lines[at])
    number = first[2] if first else None
    items = []
    while at < len(lines) and (found := ITEM.match(lines[at])) and bool(found[2]) == bool(number):
        deep = len(found[1])
        inner = [lines[at][deep:]]
        at += 1
        while at < len(lines) and _goes_on(lines, at, deep):
            inner.append(lines[at].removeprefix(" " * deep))
            at += 1
        items.append(f"<li>{_item(inner, images, depth)}</li>")
        following = _end(lines, at, _is_blank)
        at = following if following < len(lines) and ITEM.match(lines[following]) else at
    tag = "ol" if number else "ul"
    start = f' start="{int(number)}"' if number and int(number) != 1 else ""
    return at, f"<{tag}{start}>{''.join(items)}</{tag}>"


def _goes_on(lines: Sequence[str], at: int, deep: int) -> bool:
    """Whether a line is part of the item above it."""
    line = lines[at]
    if _is_blank(line):
        return at + 1 < len(lines) and lines[at + 1].startswith(" " * deep) and not _is_blank(lines[at + 1])
    return line.startswith(" " * deep) or (not _is_blank(lines[at - 1]) and _is_words(line))


def _item(lines: Sequence[str], images: frozenset[str], depth: int) -> str:
    """What an item holds; one that is words alone is no paragraph."""
    end = _end(lines, 0, _is_words)
    return _inline("\n".join(lines[:end]), images) + "".join(_blocks(lines[end:], images, depth + 1))


def _is_words(line: str) -> bool:
    return not any(matches(line) for matches, _ in BLOCKS)


def _paragraph(lines: Sequence[str], at: int, images: frozenset[str], depth: int) -> tuple[int, str]:
    end = _end(lines, at + 1, _is_words)
    return end, f"<p>{_inline(chr(10).join(map(str.strip, lines[at:end])), images)}</p>"


Block = Callable[[Sequence[str], int, frozenset[str], int], tuple[int, str]]
BLOCKS: Final[tuple[tuple[Callable[[str], object], Block], ...]] = (
    (_is_blank, _blank),
    (FENCE.match, _fence),
    (HEADING.match, _heading),
    (RULE.match, _rule),
    (QUOTE.match, _quote),
    (ITEM.match, _list),
)


# ---- within a line ---------------------------------------------------------------------------------------------------


def _inline(text: str, images: frozenset[str]) -> str:
    return _marked(escape(text), images)


def _marked(escaped: str, images: frozenset[str], depth: int = 0) -> str:
    """Escaped text with its marks as tags."""

    def tag(found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        inner = found[kind]
        if kind == "plain":
            return inner
        if kind == "code":
            return f"<code>{inner}</code>"
        if kind == "image":
            return _image(found["alt"], inner, images)
        if kind == "link":
            return _link(_marked(found["words"], images, depth + 1), inner)
        return f"<{TAGS[kind]}>{_marked(inner, images, depth + 1)}</{TAGS[kind]}>"

    return INLINE.sub(tag, escaped) if depth <= DEEPEST else escaped


def _link(words: str, to: str) -> str:
    """A link to http or https; of any other only the words are left."""
    if not _host(to):
        return words
    return f'<a href="{to}" target="_blank" rel="noopener noreferrer">{words}</a>'


def _image(alt: str, source: str, images: frozenset[str]) -> str:
    if _host(source) in images:
        return f'<img src="{source}" alt="{alt}" loading="lazy" referrerpolicy="no-referrer">'
    return _link(alt or source, source)


def _host(address: str) -> str:
    """The host of an address of http or https; nothing of any other, or where browsers would read it otherwise."""
    plain = unescape(address)
    if not plain.lower().startswith(("http://", "https://")) or "\\" in plain:
        return ""
    try:
        return urlsplit(plain).hostname or ""
    except ValueError:
        return ""
