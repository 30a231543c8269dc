"""Who is at this machine."""

from __future__ import annotations

import getpass
import os

__all__ = ["operator"]


def operator() -> str:
    """The name that the machine knows whoever runs this by."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return f"user {os.getuid()}"
