"""Files that people have and that hold no rows of text or columns: named by what they are, with the way out."""

from __future__ import annotations

import re
from typing import Final

from rankgauge.errors import InputError

__all__ = ["refuse_address", "refuse_foreign"]

SAVE_AS: Final = "save the sheet as CSV (File → Save As)"
ADDRESS: Final = re.compile(r"(?:https?|ftp|s3|gs|abfss?|hdfs|hf)://", re.IGNORECASE)

# How a file begins → what it is, and what to do.
FOREIGN: Final = (
    (
        rb"PK\x03\x04(?s:.){26}(?:\[Content_Types\]|_rels/|docProps/|xl/)",
        "an Excel workbook or another Office file",
        SAVE_AS,
    ),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook", SAVE_AS),
    (rb"PK\x03\x04(?s:.){26}mimetypeapplication/vnd\.oasis", "an OpenDocument sheet", SAVE_AS),
    (rb"PK\x03\x04", "a ZIP archive", "unpack it (unzip) and name the file that was in it"),
    (
        rb"\x80[\x02-\x05]",
        "a pickle, which is a program",
        "load it in Python and give the object to rankgauge.evaluate",
    ),
    (
        rb"SQLite format 3\0",
        "an SQLite database",
        'write a table as CSV: sqlite3 -csv -header FILE "SELECT …" > NEW.csv',
    ),
    (rb"%PDF-", "a PDF", "give the table that it was made of"),
    (rb"(?i:\s*<(?:!doctype html|html))", "a web page", "fetch the file itself: the download gave a page instead"),
    (rb"version https://git-lfs", "a pointer of Git LFS", "fetch the file that it stands for: git lfs pull"),
)


def refuse_address(path: str) -> None:
    """Nothing is fetched: an address is refused."""
    if ADDRESS.match(path):
        raise InputError(f"{path}: is an address, and nothing is fetched; download the file first and name it")


def refuse_foreign(head: bytes, name: str) -> None:
    """Refuse a file by what it is."""
    for begins, what, advice in FOREIGN:
        if re.match(begins, head):
            raise InputError(f"{name}: is {what}; {advice}")
