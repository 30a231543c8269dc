"""Any source → Judgments, Run."""

from rankgauge.read.formats import FORMATS
from rankgauge.read.readers import find_rows, read_judgments, read_run
from rankgauge.read.records import Columns, Judgments, Record, Run

__all__ = ["FORMATS", "Columns", "Judgments", "Record", "Run", "find_rows", "read_judgments", "read_run"]
