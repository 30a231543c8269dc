"""Random mutants: would a test notice? `make mutants`, or `python tools/mutants.py --number 6 --seed 1`.

Draws places of src/rankgauge at random, changes each in a copy of the sources, and runs the tests of its module against
the copy, then those around it while it survives. The working tree is never touched. A mutant that survives is a
test that is missing, or changes nothing that can be seen: read it. Without a mutant every test has to pass.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
SECONDS: Final = 900  # for the tests of one step; a mutant that takes longer hangs, and counts as killed
SWAPS: Final[dict[type[Any], type[Any]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES: Final = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
NAMES.update({"sum": "mean", "mean": "sum", "floor": "ceil", "ceil": "floor", "argmax": "argmin", "argmin": "argmax"})
UNREAD: Final = ("annotation", "returns", "decorator_list")  # fields of a node that no value depends on


class Mutant(NamedTuple):
    """A place in a module, by the number of its node, and what becomes of it."""

    path: Path
    node: int
    line: int
    change: str


def nodes_of(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but annotations, and what is for type checkers alone."""
    yield tree
    for name, field in ast.iter_fields(tree):
        if name in UNREAD or (isinstance(tree, ast.If) and ast.unparse(tree.test) == "TYPE_CHECKING"):
            continue
        for node in field if isinstance(field, list) else [field]:
            if isinstance(node, ast.AST) and not (isinstance(node, ast.AnnAssign) and node.value is None):
                yield from nodes_of(node)


def mutated(node: Any) -> bool:
    """Change the node in place, if it is one of a kind that is changed."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        node.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node.op = ast.UAdd()
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
        node.func.id = NAMES[node.func.id] if node.func.id != "sum" else "max"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in NAMES:
        node.func.attr = NAMES[node.func.attr]
    else:
        return False
    return True


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every mutant of a module."""
    for number, node in enumerate(list(nodes_of(ast.parse(path.read_text(encoding="utf-8"))))):
        if isinstance(node, ast.expr | ast.stmt) and (before := ast.unparse(node)) and mutated(node):
            yield Mutant(path, number, node.lineno, f"{before}  ->  {ast.unparse(node)}".replace("\n", " "))


def imports_of(path: Path) -> set[str]:
    """The modules of ours that a file imports, wherever it does."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rankgauge"):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def steps_of(mutant: Mutant, imports: dict[Path, set[str]], tests: dict[Path, set[str]]) -> Iterator[list[Path]]:
    """The tests to run, nearest first: those of the module, of what imports it, and of its package."""
    name = ".".join(mutant.path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    users = {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in imports if name in imports[path]
    }
    stem, package = name.rpartition(".")[2], name.split(".")[1]
    near = [test for test in tests if name in tests[test] or test.stem.startswith(f"test_{stem.rstrip('s')}")]
    around = [test for test in tests if users & tests[test] or test.stem.startswith(f"test_{package.rstrip('s')}")]
    wide = [test for test in tests if any(each.startswith(f"rankgauge.{package}.") for each in tests[test])]
    common = [ROOT / "tests" / f"test_{each}.py" for each in ("evaluate", "compare", "gate", "cli", "web", "loop")]
    done: set[Path] = set()
    for step in (near, around, wide, common):
        if left := [test for test in step if test not in done]:
            done.update(left)
            yield left


def survives(mutant: Mutant, step: list[Path], source: Path, more: list[str]) -> bool:
    """Whether every test of a step passes."""
    surroundings = os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *more, *map(str, step)]
    try:
        done = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode in (0, 5)  # 5: none of these is run without being asked for


def main() -> None:
    """Draw, run, say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=200, help="how many mutants  [200]")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing  [0]")
    parser.add_argument("--only", default="src", help="modules whose path has this in it, such as stats/  [src]")
    parser.add_argument("more", nargs="*", help="options of pytest, behind --, such as -n 2")
    asked = parser.parse_args()
    modules = sorted((ROOT / "src" / "rankgauge").rglob("*.py"))
    imports = {path: imports_of(path) for path in modules}
    tests = {path: imports_of(path) for path in sorted((ROOT / "tests").glob("test_*.py"))}
    every = [mutant for path in modules if asked.only in str(path) for mutant in mutants_of(path)]
    drawn = random.Random(asked.seed).sample(every, min(asked.number, len(every)))
    alive = 0
    for mutant in drawn:
        with tempfile.TemporaryDirectory() as folder:
            source = shutil.copytree(ROOT / "src", Path(folder) / "src", ignore=shutil.ignore_patterns("__pycache__"))
            tree = ast.parse(mutant.path.read_text(encoding="utf-8"))
            mutated(next(node for number, node in enumerate(nodes_of(tree)) if number == mutant.node))
            (source / mutant.path.relative_to(ROOT / "src")).write_text(ast.unparse(tree), encoding="utf-8")
            alone = all(survives(mutant, step, source, asked.more) for step in steps_of(mutant, imports, tests))
        alive += alone
        place = f"{mutant.path.relative_to(ROOT)}:{mutant.line}"
        print(f"{'survived' if alone else 'killed  '}  {place}  {mutant.change}", flush=True)
    print(f"{len(drawn) - alive} of {len(drawn)} mutants killed (seed {asked.seed}, of {len(every):,} possible)")


if __name__ == "__main__":
    main()
