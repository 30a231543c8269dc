"""Hits → one value per query. One table; a new measure is one decorated function."""

from rankgauge.measures import graded, precision, sets
from rankgauge.measures.parser import SPELLINGS, as_written, parse, parse_all
from rankgauge.measures.registry import MEASURES, Definition, Measure, averaging, measure

FILLED_BY = (graded, precision, sets)

__all__ = ["FILLED_BY", "MEASURES", "SPELLINGS", "Definition", "Measure", "as_written", "averaging", "measure", "parse"]
__all__ += ["parse_all"]
