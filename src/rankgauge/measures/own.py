"""Measures of the user's own, from a Python file."""

from __future__ import annotations

import importlib.util
import os
import sys

from rankgauge.errors import MeasureError
from rankgauge.measures.table import MEASURES
from rankgauge.measures.text import parse

__all__ = ["load"]


def load(path: str) -> list[str]:
    """Run a file that defines measures with `@rankgauge.measure`; the names that it added."""
    if not os.path.isfile(path):
        raise MeasureError(f"{path}: no such file; expected a Python file with @rankgauge.measure functions")
    name = f"rankgauge_own_{os.path.splitext(os.path.basename(path))[0]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise MeasureError(f"{path}: is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    before = set(MEASURES)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise MeasureError(f"{path}: {_place(error, path)}{type(error).__name__}: {error}") from error
    parse.cache_clear()
    added = [measure for measure in MEASURES if measure not in before]
    if not added:
        raise MeasureError(f"{path}: defines no measure; put @rankgauge.measure() above a function of hits")
    return added


def _place(error: Exception, path: str) -> str:
    """The line of the user's file at which it went wrong."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: "
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"line {line}: " if line else ""
