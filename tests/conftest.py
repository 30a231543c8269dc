"""What tests share: the command line, where the real data are, and how to skip without them."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from command import Command, Outcome, Sized, called
from peer_client import Peers
from rankgauge.measures import MEASURES, parse
from rankgauge.read.sources import find_source

pytest_plugins = ["browser", "stores"]

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
gc.disable()  # until the tests are collected: all that there is then stays

SHARED = Path(__file__).parents[2] / "shared" / "data"
DATA = SHARED.relative_to(Path(__file__).parents[2])
WANTING = "real data are not there"


def pytest_collection_finish() -> None:
    """Eleven thousand tests are a million objects, which no collection of garbage need go through again. What is
    imported from now on are modules that tests write, and write anew within a second: none is kept as compiled."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def no_surroundings() -> Iterator[None]:
    """Whoever runs the tests may have a store and a model of their own, which no test may ask."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RANKGAUGE_DB", "OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"):
            patch.delenv(name, raising=False)
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line about what was skipped for want of other people's data, which no clone has."""
    skipped = terminalreporter.getreports("skipped")
    files = Counter(report.nodeid.partition("::")[0] for report in skipped if WANTING in str(report.longrepr))
    if files:
        each = ", ".join(f"{Path(name).name} {number}" for name, number in sorted(files.items()))
        terminalreporter.write_line(f"{files.total()} skipped for want of other people's data ({DATA}): {each}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of Spark come first: of several processes one has them all, for others steal from the end."""
    items.sort(key=lambda item: "test_spark.py" not in item.nodeid)


DRAWN: dict[str, str] = {}  # specification → its picture; emptied where drawing anew is what is tested


@pytest.fixture(autouse=True, scope="session")
def drawn_once() -> Iterator[None]:
    """The same specification is drawn once, which takes a second: many tests look at the same pages."""
    if find_spec("vl_convert") is None:
        yield
        return
    import vl_convert

    draw = vl_convert.vegalite_to_svg

    def remembered(spec: Any, **how: Any) -> str:
        key = json.dumps([spec, how], sort_keys=True, default=str)
        if key not in DRAWN:
            DRAWN[key] = draw(spec, **how)
        return DRAWN[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", remembered)
        yield


@pytest.fixture
def command() -> Iterator[Command]:
    """The command in this process, from the words after `rankgauge` to exit code and both outputs."""
    measures = dict(MEASURES)

    def unbroken(*words: str | Path, stdin: str | bytes = "", cwd: Path | None = None) -> Outcome:
        outcome = called(*words, stdin=stdin, cwd=cwd)
        assert "Traceback" not in outcome.err, outcome.err  # all of it: what broke may not break again
        return outcome

    yield unbroken
    MEASURES.clear()
    MEASURES.update(measures)
    parse.cache_clear()


@pytest.fixture(params=["small", "big"])
def sized(request: pytest.FixtureRequest) -> Sized:
    """A file as readers are given it: by its path, and as a source that is too big for the plain readers."""
    return (lambda path: path) if request.param == "small" else lambda path: find_source(path)._replace(small=0)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real runs and judgments beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"{WANTING}: {DATA}")
    return SHARED


@pytest.fixture(scope="session")
def peers() -> Iterator[Peers]:
    """pytrec_eval and ir_measures in a process of their own."""
    for module in ("pytrec_eval", "ir_measures"):
        pytest.importorskip(module)
    worker = Peers()
    yield worker
    worker.stop()
