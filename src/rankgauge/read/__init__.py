"""Any source → Judgments, Run."""

from rankgauge.read.formats import FORMATS
from rankgauge.read.readers import JudgmentsSource, RecordSource, RunSource, find_rows, read_judgments, read_run
from rankgauge.read.records import Columns, Judgments, Record, Run

__all__ = ["FORMATS", "Columns", "Judgments", "JudgmentsSource", "Record", "RecordSource", "Run", "RunSource"]
__all__ += ["find_rows", "read_judgments", "read_run"]
