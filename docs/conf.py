"""The documentation as a site: `make docs`, then open docs/_build/docs/index.html.

The pages are plain Markdown, readable wherever the repository is. Two of them become more in the site: the tables of
`index.md` are its navigation, and the names in the tables of `reference.md` get their docstrings.
"""

from __future__ import annotations

import re
from inspect import isclass
from operator import attrgetter
from typing import Any

import rankgauge

project = "rankgauge"
version = release = rankgauge.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]

# The source folder is the repository, so that a link between two files is the same link here and on a code host.
root_doc = "docs/index"
include_patterns = ["docs/*.md", "demo/README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns = [".*", "docs/_build", "src", "tests"]
myst_heading_anchors = 4
highlight_language = "text"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "rankgauge"
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # it would fetch pages, which a browser refuses under file://
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_extra_path = ["_extra"]  # index.html, which leads to docs/index.html


def navigation(text: str) -> str:
    """The page with a toctree for every section: the pages that its table links to, in that order."""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        caption, _, rest = section.partition("\n")
        pages = re.findall(r"\]\(([\w./-]+)\.md\)", rest)
        text += "\n".join(["\n```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```\n"])
    return text


def docstrings(text: str) -> str:
    """The page with what autodoc says of each name in place of its row in a table."""
    text = re.sub(r"^\| name .*\n\|[-|]+\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^\| `(rankgauge\.[\w.]+)` \| (.*) \|$", documented, text, flags=re.MULTILINE)


def documented(row: re.Match[str]) -> str:
    """What the site has of a public name: its docstring, or where it can have none the words of its row."""
    thing = attrgetter(row[1].partition(".")[2])(rankgauge)
    if isclass(thing):
        return f"```{{eval-rst}}\n.. autoclass:: {row[1]}\n   :members:\n```\n"
    if callable(thing):
        return f"```{{eval-rst}}\n.. autofunction:: {row[1]}\n```\n"
    return f"```{{py:data}} {row[1]}\n{row[2]}\n```\n"


def plain(text: str) -> str:
    """A line of a docstring as reStructuredText: what stands between backquotes is code, the rest is text."""
    parts = re.split(r"`([^`]+)`", text)
    for place, part in enumerate(parts):
        parts[place] = f"\\ ``{part}``\\ " if place % 2 else re.sub(r"([\\*_|`])", r"\\\1", part)
    return "".join(parts)


def without_markup(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with backquotes; examples stay as they are."""
    example = False
    for number, line in enumerate(lines):
        example = line.startswith(">>>") or (example and line != "")
        lines[number] = line if example else plain(line)


def extended(app: Any, page: str, source: list[str]) -> None:
    """The two pages that are more in the site than in the repository."""
    if page in MORE:
        source[0] = MORE[page](source[0])


def signature(app: Any, what: str, name: str, thing: Any, options: Any, arguments: str | None, returns: Any) -> Any:
    """Results are made by functions, not by calling their classes; and a default protocol is not spelled out."""
    if arguments is None:
        return None
    hidden = what == "class" and name not in CONSTRUCTED
    return ("", None) if hidden else (re.sub(r"= Protocol\(.*?\)", "= Protocol()", arguments), returns)


CONSTRUCTED = {"rankgauge.Protocol", "rankgauge.trainers.Accumulator"}
MORE = {"docs/index": navigation, "docs/reference": docstrings}


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", extended)
    app.connect("autodoc-process-docstring", without_markup)
    app.connect("autodoc-process-signature", signature)
