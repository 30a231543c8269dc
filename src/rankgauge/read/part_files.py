"""Several files as one run: the part files that a folder or a quoted glob stands for, in the order of their names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["PART", "is_glob", "part_columns", "part_files", "size_of"]

PART: Final = "part"  # how the names of part files begin
PATTERN: Final = frozenset("*?[")  # what makes a pattern of a path
HIDDEN: Final = (".", "_")  # how the names of what is no data begin: _SUCCESS, .crc
PARTITION: Final = re.compile(r"([^=/\\]+)=([^=/\\]*)")  # a folder that is named for the value of a column
NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"


def is_glob(path: str) -> bool:
    """Whether a path is no file's, but a pattern of several."""
    return _is_pattern(path) and not os.path.exists(path)


def _is_pattern(path: str) -> bool:
    return not PATTERN.isdisjoint(path)


def part_files(path: str) -> list[str]:
    """The files that a glob matches, in folders too, or the part files in a folder; none in a folder of other files."""
    if is_glob(path):
        from glob import glob

        return [file for each in sorted(glob(path, recursive=True)) for file in _files(each)]
    found: list[str] = []
    for each in _named_parts(path) if os.path.isdir(path) else ():
        if not each:
            return []
        found.append(each)
    return found


def size_of(path: str) -> int:
    """How many bytes a file has, or all parts of it; nothing where it is neither."""
    return os.path.getsize(path) if os.path.isfile(path) else sum(map(os.path.getsize, part_files(path)))


def _files(path: str) -> Iterator[str]:
    """The files of data in a folder and in those in it; a file itself."""
    if not os.path.isdir(path):
        yield path
        return
    for name in _visible(path):
        yield from _files(os.path.join(path, name))


def _named_parts(folder: str, inside: bool = False) -> Iterator[str]:
    """The files that are named as parts or lie inside of partitions; '' for anything else, after which nobody looks."""
    for name in _visible(folder):
        path = os.path.join(folder, name)
        if not os.path.isdir(path):
            yield path if inside or name.startswith(PART) else ""
        elif PARTITION.fullmatch(name):
            yield from _named_parts(path, inside=True)
        else:
            yield ""


def _visible(folder: str) -> list[str]:
    return sorted(each for each in os.listdir(folder) if not each.startswith(HIDDEN))


def part_columns(file: str, path: str) -> dict[str, str | None]:
    """The columns that the folders between a path and a part file of it stand for: `day=3/part-0.parquet`."""
    from urllib.parse import unquote  # which takes longer to import than a small file to read

    root = path
    while _is_pattern(root):
        root = os.path.dirname(root)
    folders = os.path.dirname(os.path.relpath(file, root or os.curdir)).split(os.sep)
    pairs = [found.groups() for found in map(PARTITION.fullmatch, folders) if found]
    return {unquote(name): None if value == NO_VALUE else unquote(value) for name, value in pairs}
