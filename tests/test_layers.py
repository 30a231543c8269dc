"""Imports point one way: a module knows only its own layer and those before it, and no two modules know each other."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
FIRST = [
    "errors",
    "grid",
    "sections",
    "marks",
    "drawing",
    "band",
    "stats",
    "protocol",
    "read",
    "match",
    "measures",
    "aggregate",
    "dialects",
    "ties",
    "validate",
]
LATER = [
    "machine",
    "show",
    "result",
    "tie_table",
    "grades",
    "arrays",
    "evaluate",
    "trainers",
    "reproduce",
    "write",
    "write_ltr",
    "explain",
    "saved",
    "compare",
    "regrade",
    "unjudged",
    "quality",
    "agree",
    "ppi",
    "funnel",
    "align",
    "charts",
    "bench",
    "plan",
    "gate",
    "report",
    "pytest_plugin",
    "trec_eval",
    "cli",
]
LAYERS = [*FIRST, *LATER, "__main__"]


def imports_of(tree: ast.AST) -> set[str]:
    """The modules of the package that a tree imports anywhere, except for type checkers."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
        found |= {alias.name for alias in node.names} if isinstance(node, ast.Import) else imports_of(node)
    return found & MODULES.keys()


MODULES = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
MODULES = {name.removesuffix(".__init__"): path for name, path in MODULES.items()}
GRAPH = {name: imports_of(ast.parse(path.read_bytes())) for name, path in MODULES.items()}


def test_a_module_knows_only_its_layer_and_those_before_it() -> None:
    layer = {name: LAYERS.index(name.split(".")[1]) for name in MODULES if name != "rankgauge"}
    edges = [(name, known) for name, all_known in GRAPH.items() for known in all_known if known != "rankgauge"]
    assert len(edges) > 100
    assert [edge for edge in edges if layer[edge[0]] < layer[edge[1]]] == []
    assert GRAPH["rankgauge"] == set()


def test_no_module_is_part_of_a_cycle() -> None:
    assert len(list(TopologicalSorter(GRAPH).static_order())) == len(MODULES)
