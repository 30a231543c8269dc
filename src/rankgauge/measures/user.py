"""Measures of the user's own, from a Python file."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import MeasureError, RankgaugeError
from rankgauge.measures.parser import as_written, parse
from rankgauge.measures.registry import MEASURES, Definition

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats
    from rankgauge.matching.hits import Hits

__all__ = ["load"]


def load(path: str) -> list[str]:
    """Run a file that defines measures with `@rankgauge.measure`; the names that it added."""
    if not os.path.isfile(path):
        raise MeasureError(f"{path}: no such file; expected a Python file with @rankgauge.measure functions")
    before = dict(MEASURES)
    module = _run(path)
    parse.cache_clear()
    as_written.cache_clear()
    added = [name for name, definition in MEASURES.items() if before.get(name) is not definition]
    if not added:
        raise MeasureError(f"{path}: defines no measure; put @rankgauge.measure() above a function of hits")
    for name in added:
        if name in before and before[name].function.__module__ != module:
            MEASURES[name] = before[name]
            raise MeasureError(f"{path}: {name} is a measure already; give yours another name")
        MEASURES[name] = _guarded(MEASURES[name], path)
    return added


def _run(path: str) -> str:
    """Run the file as a module; the module's name."""
    name = f"rankgauge_own_{os.path.splitext(os.path.basename(path))[0]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise MeasureError(f"{path}: is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _failure(path, error) from error
    return name


def _guarded(definition: Definition, path: str) -> Definition:
    """The definition with its function watched: whatever goes wrong in it is said with the user's file and line."""
    function = definition.function

    @functools.wraps(function)
    def watched(hits: Hits, *args: Any, **parameters: Any) -> Floats:
        try:
            values = np.asarray(function(hits, *args, **parameters))
        except RankgaugeError:
            raise
        except Exception as error:
            raise _failure(path, error) from error
        if values.shape != (len(hits.queries),):
            raise MeasureError(
                f"{path}: {definition.name} gave values of shape {values.shape}; "
                f"expected one value per query, here {len(hits.queries)}"
            )
        return values

    return replace(definition, function=watched)


def _failure(path: str, error: BaseException) -> MeasureError:
    reason = error.msg if isinstance(error, SyntaxError) else error
    kind = "" if isinstance(error, RankgaugeError) else f"{type(error).__name__}: "
    return MeasureError(f"{path}: {_place(error, path)}{kind}{reason}")


def _place(error: BaseException, path: str) -> str:
    """The line of the user's file at which it went wrong."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: "
    trace, line = error.__traceback__, None
    while trace is not None:
        if os.path.abspath(trace.tb_frame.f_code.co_filename) == os.path.abspath(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"line {line}: " if line else ""
