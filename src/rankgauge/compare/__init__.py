"""Values × systems → Comparison: which differences are real, how large they are, and what the set could detect."""

from __future__ import annotations

__all__: list[str] = []
