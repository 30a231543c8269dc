"""Notebooks: the bundled one runs, from frames to a report, and what it shows loads nothing."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import rankgauge
from rankgauge import charts
from rankgauge.raters.ledger import Account, Ledger, Week
from rankgauge.store.history import Entry, History

DEMO = Path(__file__).parents[1] / "demo"
NAMESPACES = "http://www.w3.org/"
ADDRESS = re.compile(r"""(?:https?:)?//[^\s"'<>)]+""")
PLAIN = {"text/plain"}


def loads_nothing(shown: str) -> None:
    """Neither a script nor an address, but for the namespaces of XML."""
    assert "<script" not in shown
    assert [found for found in ADDRESS.findall(shown) if not found.startswith(NAMESPACES)] == []


def outputs_of(notebook: Any) -> Iterator[dict[str, Any]]:
    """What the cells show, by its kind."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            assert output["output_type"] in ("execute_result", "stream"), output
            yield output.get("data", {"text/plain": output.get("text", "")})


def test_the_notebook_is_stored_without_what_it_showed() -> None:
    stored = json.loads((DEMO / "notebook.ipynb").read_text(encoding="utf-8"))
    assert all(cell["outputs"] == [] for cell in stored["cells"] if cell["cell_type"] == "code")
    assert all(cell["execution_count"] is None for cell in stored["cells"] if cell["cell_type"] == "code")


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_goes_from_frames_to_a_report(tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    for name in ("qrels.txt", "queries.tsv", "catalogue.jsonl"):
        shutil.copy(DEMO / name, tmp_path)
    subprocess.run([sys.executable, DEMO / "rankers.py", tmp_path / "out"], check=True, capture_output=True)
    notebook = nbformat.read(DEMO / "notebook.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = list(outputs_of(notebook))
    for each in shown:
        assert {*each} <= PLAIN | {"text/html", "image/svg+xml"}
        for part in each.values():
            loads_nothing(part)
    rich = [each.get("text/html", "") + each.get("image/svg+xml", "") for each in shown]
    assert sum("<svg" in part for part in rich) >= 4  # the evaluation, the comparison, the chart, the explanation
    page = (tmp_path / "out" / "notebook.html").read_text(encoding="utf-8")
    assert "reranked" in page
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)


# ---- charts by themselves --------------------------------------------------------------------------------------------

JUDGED = {f"q{at}": {"a": 2, "b": 1, "c": 0} for at in range(6)}
RUNS = {
    "old": {query: {"c": 3.0, "a": 2.0, "x": 1.0} for query in JUDGED},
    "new": {query: {"a": 3.0, "b": 2.0, "c": 1.0} for query in JUDGED},
}


def saved_evaluations() -> Iterator[Entry]:
    """Two evaluations of one system."""
    for at in (1, 2):
        yield Entry(at, "old", f"@old:{at}", f"2026-01-0{at}T00:00:00+00:00", 0.1 * at, None, 6, (), (), "1")


def _account(judge: str, bias: float) -> Account:
    weeks = (Week("2026-W01", 3, bias), Week("2026-W02", 4, -bias))
    return Account(judge, "person", 7, {"graded": 7}, 0, 1.5, 360.0, None, None, None, weeks, None, "")


def drawn() -> dict[str, Callable[[], Any]]:
    """Every chart of `rankgauge.charts`."""
    results = rankgauge.evaluate_runs(JUDGED, RUNS, by={query: query[-1] for query in JUDGED})
    comparison = rankgauge.compare(None, dict(results))
    quality = rankgauge.quality(JUDGED, RUNS, error_rate=0.1, draws=5)
    agreement = rankgauge.agree(JUDGED, {q: {**docs, "b": 2} for q, docs in JUDGED.items()}, runs=RUNS)
    funnel = rankgauge.funnel(JUDGED, retrieved=RUNS["old"], reranked={"new": RUNS["new"]}, restrict=True)
    table = {"nDCG@10": [0.1, 0.2, 0.3, 0.5], "online": [1.0, 2.0, 4.0, 3.0]}
    sources = {
        **dict.fromkeys(("forest", "differences", "scatter", "matrix", "detectable"), comparison),
        **dict.fromkeys(("distribution", "at_k", "precision_recall", "groups"), results),
        **dict.fromkeys(("unjudged", "unjudged_pairs", "noise"), quality),
        **dict.fromkeys(("confusion", "judges"), agreement),
        **dict.fromkeys(("funnel_ceiling", "funnel_depth", "funnel_parts"), funnel),
        "alignment": rankgauge.align(table, offline="nDCG@10", online="online"),
        "plan": rankgauge.plan(0.2),
        "drift": Ledger((_account("ann", 0.5), _account("bob", -0.25)), None),
        "history": History("nDCG@10", tuple(saved_evaluations())),
        "ppi": rankgauge.ppi({q: JUDGED[q] for q in ("q0", "q1", "q2")}, JUDGED, RUNS),
    }
    return {name: partial(getattr(charts, name), source) for name, source in sources.items()}


def test_every_chart_is_a_picture_in_a_notebook() -> None:
    """Also after altair has changed it: whatever a user makes of it stays a picture."""
    made = drawn()
    assert {*made} == {*charts.__all__} - {"KINDS", "PALETTE", "THEMES", "page", "png", "svg"}
    for draw in made.values():
        chart = draw()
        for each in (chart, chart.properties(height=100)):
            bundle = each._repr_mimebundle_(None, None)
            assert {*bundle} == {"image/svg+xml"}
            assert bundle["image/svg+xml"].startswith("<svg")
            loads_nothing(bundle["image/svg+xml"])
