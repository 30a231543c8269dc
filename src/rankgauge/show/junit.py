"""A check → JUnit XML, for a CI server: a test for every measure, with the table as the message of what failed."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING

from rankgauge.comparison.gate.answers import counted_as
from rankgauge.show.cells import drawable

if TYPE_CHECKING:
    from rankgauge.comparison.gate.outcome import Check

__all__ = ["junit"]


def junit(check: Check, inconclusive: str | None = None, unchanged: str | None = None) -> str:
    """The file; an inconclusive test is skipped where that counts as passing. An unchanged one passes, and says so."""
    names = [f"{each.measure} may lose {each.margin:g}" for each in check.compared]
    names += [f"{each.measure} is at least {each.minimum:g}" for each in check.minimums]
    suite = ElementTree.Element("testsuite", name="rankgauge check", tests=str(len(names)), errors="0")
    for test, name in zip(check.tests, names, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname="rankgauge.check", name=drawable(name))
        counts, words = counted_as(test.answer, inconclusive, unchanged), drawable(f"{test.measure}: {test.answer}")
        if test.answer == "inconclusive" and counts == "pass":
            ElementTree.SubElement(case, "skipped", message=words, type=test.answer).text = drawable(check.show())
        elif counts in ("fail", "inconclusive"):
            ElementTree.SubElement(case, "failure", message=words, type=test.answer).text = drawable(check.show())
        elif test.answer == "unchanged":
            ElementTree.SubElement(case, "system-out").text = f"{words}\n{drawable(check.title)}"
    for kind, name in (("failure", "failures"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{kind}"))))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=False) + "\n"
