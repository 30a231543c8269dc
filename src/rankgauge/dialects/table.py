"""Dialects: what other tools mean by the name of a measure.

A dialect is a protocol, the tool's own definition of each measure that it has, and how it rounds what it prints. It
also says how the tool is called, which version was checked, and where its convention is a defect.
"""

from __future__ import annotations

from typing import Final

from rankgauge.dialects.dialect import Dialect, Own, Owned, Rounding
from rankgauge.dialects.presets import PRESETS
from rankgauge.errors import ProtocolError, unknown

__all__ = ["DIALECTS", "Dialect", "Own", "Owned", "Rounding", "find_dialect"]

DIALECTS: Final[dict[str, Dialect]] = {dialect.name: dialect for dialect in PRESETS}


def find_dialect(name: str | Dialect) -> Dialect:
    """The dialect of this name.

    >>> find_dialect("sklearn").protocol.ideal
    'retrieved'
    """
    if isinstance(name, Dialect):
        return name
    if name in DIALECTS:
        return DIALECTS[name]
    raise ProtocolError(unknown(f"unknown dialect {name!r}", name, DIALECTS, "'rankgauge dialects' lists all"))
