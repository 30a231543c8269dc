"""Hits → one value per query. One table; a new measure is one decorated function."""

from rankgauge.measures import graded, precision, sets
from rankgauge.measures.parser import SPELLINGS, as_written, parse, parse_all
from rankgauge.measures.registry import MEASURES, AnyMeasure, Definition, Measure, averaging, measure

FILLED_BY = (graded, precision, sets)

__all__ = ["FILLED_BY", "MEASURES", "SPELLINGS", "AnyMeasure", "Definition", "Measure", "as_written", "averaging"]
__all__ += ["measure", "parse", "parse_all"]
