"""Answers in a file of their own, from when they come until the run is written: for a search outside a project."""

from __future__ import annotations

import json
import os
import threading
from itertools import count
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rankgauge.store.store import Answer

__all__ = ["Spare"]


class Spare:
    """A file of JSON lines beside a run's, under a name that no file has; it reads as a run."""

    def __init__(self, output: str) -> None:
        self._lock = threading.Lock()
        self.path, self._stream = _opened(output)

    def add(self, answer: Answer) -> None:
        """Write an answer, and have the system keep it."""
        rows = zip(answer.doc_ids, range(1, len(answer.doc_ids) + 1), answer.scores, strict=True)
        lines = [
            json.dumps({"query_id": answer.query_id, "doc_id": doc, "rank": rank, "score": score}, ensure_ascii=False)
            for doc, rank, score in rows
        ]
        with self._lock:
            self._stream.writelines(f"{line}\n" for line in lines)
            self._stream.flush()

    @property
    def holds(self) -> str:
        """Words for a message: the file that has the answers, where there are any."""
        return f"; what was answered is in {self.path}" if os.path.getsize(self.path) else ""

    def remove(self) -> None:
        """Remove the file: the run is written."""
        os.remove(self.path)

    def __enter__(self) -> Spare:
        return self

    def __exit__(self, *broken: object) -> None:
        self._stream.close()
        if os.path.exists(self.path) and not os.path.getsize(self.path):
            self.remove()


def _opened(output: str) -> tuple[str, TextIO]:
    for number in count(1):
        path = f"{output}.partial{'' if number == 1 else f'-{number}'}.jsonl"
        try:
            return path, open(path, "x", encoding="utf-8", errors="surrogatepass")
        except FileExistsError:
            continue
    raise AssertionError("unreachable: numbers do not end")
