"""A reranker and a judge, as functions: replace them by yours."""

import re

COMMON = frozenset(
    re.findall(r"\w+", "a an and are can do for from how i in is it me my of on or the to what with you")
)


def words(text: str) -> set[str]:
    """The words of a text that tell something, without a plural s."""
    found = re.findall(r"[a-z0-9]+", text.lower())
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found if word not in COMMON}


def score(query: str, documents: list[dict[str, str]]) -> list[float]:
    """A number for every candidate, the higher the better: the share of the title that was asked for."""
    asked, titles = words(query), [words(each["title"]) for each in documents]
    return [len(asked & title) / len(asked | title) - place / 100 for place, title in enumerate(titles)]


def grade(query: dict[str, str], document: dict[str, str]) -> int:
    """From 0 to 3, by the share of the query's words that the article has: a stand-in for a person or a model."""
    asked, there = words(query["query"]), words(f"{document['title']} {document['text']}")
    share = len(asked & there) / max(1, len(asked))
    return 3 if share > 0.9 else 2 if share > 0.7 else 1 if share > 0.5 else 0
