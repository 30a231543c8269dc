"""Errors of rankgauge's own: a sentence for the page, and the traceback for whoever runs the server."""

from __future__ import annotations

import traceback

from rankgauge.errors import RankgaugeError

__all__ = ["Fault", "fault", "fault_words"]


class Fault(RankgaugeError):
    """An error of rankgauge's own, or of the machine."""


def fault(error: BaseException) -> Fault:
    """Print the traceback of an error; return what a page says of it."""
    traceback.print_exception(error)
    return Fault(fault_words(error))


def fault_words(error: BaseException) -> str:
    """The sentence for an error whose traceback is on the terminal."""
    return f"an error in rankgauge itself ({type(error).__name__}); the terminal of 'rankgauge serve' shows the details"
