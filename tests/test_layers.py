"""Imports point one way: a module knows only its own layer and those before it, and no two modules know each other."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
# From the bottom to the top; a module belongs to the longest name that it begins with.
ROOMS = (
    "errors dtypes shown stats protocol calls read writers sampling matching measures dialects validation result "
    "arrays jobs evaluate dialects.reproduce dialects.answers dialects.trec_eval comparison explanation trust show "
    "reports engines store systems judge raters steps web pytest_plugin cli __main__"
)
LAYERS = ROOMS.split()
UPWARDS = {"shown", "store.project"}  # a result shows itself, a project searches and pools: the ways up


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


@cache
def graph() -> dict[str, set[str]]:
    """Module → the modules that it imports."""
    return {name: imports_of(ast.parse(path.read_bytes())) for name, path in MODULES.items()}


def layer(module: str) -> int:
    """The place of a module among the layers."""
    name = module.removeprefix("rankgauge.")
    return LAYERS.index(max((each for each in LAYERS if f"{name}.".startswith(f"{each}.")), key=len))


def test_a_module_knows_only_its_layer_and_those_before_it() -> None:
    edges = [(name, known) for name, all_known in graph().items() for known in all_known if known != "rankgauge"]
    assert len(edges) > 100
    upwards = [(name, known) for name, known in edges if layer(name) < layer(known)]
    assert [edge for edge in upwards if edge[0].removeprefix("rankgauge.") not in UPWARDS] == []
    assert graph()["rankgauge"] == set()


def test_nobody_goes_round_the_layers_through_the_package() -> None:
    """`import rankgauge` is an import of everything; only the version may come from there."""
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                assert "rankgauge" not in [alias.name for alias in node.names], name
            if isinstance(node, ast.ImportFrom) and node.module == "rankgauge":
                assert {f"rankgauge.{alias.name}" for alias in node.names} <= {"rankgauge.__version__", *MODULES}, name


def test_no_module_is_part_of_a_cycle() -> None:
    assert len(list(TopologicalSorter(graph()).static_order())) == len(MODULES)
