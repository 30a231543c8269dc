"""Files that people have and that hold no rows of text or columns: named by what they are, with the way out."""

from __future__ import annotations

import re
from typing import Final

from rankgauge.errors import InputError

__all__ = ["addressed", "is_address", "refuse_foreign"]

SAVE_AS: Final = "save the sheet as CSV (File → Save As)"
SCHEME: Final = "://"
ADDRESS: Final = r"(?i:https?|ftp|s3a?|gs|gcs|az|abfss?|adl|hdfs|hf)://"
# Addresses that polars reads, of Parquet files and of folders that hold some: what comes before the host or after the
# path may be a secret.
STORED: Final = "s3a?|gs|gcs|az|abfss?|adl|hf"
PARQUET: Final = (
    rf"(?i)((?:https?|{STORED})://)(?:[^/?#]*@)?([^?#]+\.(?:parquet|pq))(?=[?#]|$)",
    rf"(?i)((?:{STORED})://)(?:[^/?#]*@)?([^?#]+/)$",
)

# How a file begins, and what comes next → what it is, and what to do.
FOREIGN: Final = (
    (
        b"PK\x03\x04",
        rb"(?s:.){26}(?:\[Content_Types\]|_rels/|docProps/|xl/)",
        "an Excel workbook or another Office file",
        SAVE_AS,
    ),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", "an old Excel workbook", SAVE_AS),
    (b"PK\x03\x04", rb"(?s:.){26}mimetypeapplication/vnd\.oasis", "an OpenDocument sheet", SAVE_AS),
    (b"PK\x03\x04", b"", "a ZIP archive", "unpack it (unzip) and name the file that was in it"),
    (
        b"\x80",
        rb"[\x02-\x05]",
        "a pickle, which is a program",
        "load it in Python and give the object to rankgauge.evaluate",
    ),
    (
        b"SQLite format 3\0",
        b"",
        "an SQLite database",
        'write a table as CSV: sqlite3 -csv -header FILE "SELECT …" > NEW.csv',
    ),
    (b"%PDF-", b"", "a PDF", "give the table that it was made of"),
    (b"<", rb"(?i:!doctype html|html)", "a web page", "fetch the file itself: the download gave a page instead"),
    (b"version https://git-lfs", b"", "a pointer of Git LFS", "fetch the file that it stands for: git lfs pull"),
)


def is_address(path: str) -> bool:
    """Whether this is no path, but says how to get there."""
    return SCHEME in path and re.match(ADDRESS, path) is not None


def addressed(path: str) -> str | None:
    """What to call an address of Parquet, without any secret in it; None for a path. Other addresses are refused."""
    if not is_address(path):
        return None
    if found := next(filter(None, (re.match(each, path) for each in PARQUET)), None):
        return "".join(found.groups())
    shown = re.sub(r"[?#].*|(?<=://)[^/]*@", "", path)
    what = "is an address, and only Parquet is read from one"
    folder = f" (a folder of it: {shown}/)" if re.match(rf"(?i)(?:{STORED})://.*/[^./]+$", shown) else ""
    raise InputError(f"{shown}: {what}{folder}; download the file first and name it")


def refuse_foreign(head: bytes, name: str) -> None:
    """Refuse a file by what it is."""
    bare = head.lstrip()
    for start, then, what, advice in FOREIGN:
        if bare.startswith(start) and re.match(then, bare[len(start) :]):
            raise InputError(f"{name}: is {what}; {advice}")
