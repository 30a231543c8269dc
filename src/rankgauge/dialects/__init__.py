"""Other tools' conventions: what they mean by the name of a measure."""

from rankgauge.dialects.dialect import Dialect, Own, Owned, Rounding
from rankgauge.dialects.presets import DIALECTS, find_dialect

__all__ = ["DIALECTS", "Dialect", "Own", "Owned", "Rounding", "find_dialect"]
