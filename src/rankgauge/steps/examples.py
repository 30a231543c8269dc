"""A small project that runs offline: documents, a log, two systems, a reranker, a judge and what people said."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from rankgauge.errors import InputError
from rankgauge.store.project import Project, init

__all__ = ["init_example"]

SETTINGS = "settings.toml"  # what its rankgauge.toml says after [project]


def init_example(folder: str | os.PathLike[str], db: str | None = None) -> Project:
    """Make a project with an example in it; a file of the same name is not replaced."""
    packed = files("rankgauge.steps").joinpath("example").iterdir()
    texts = {each.name: each.read_text(encoding="utf-8") for each in packed if each.is_file()}
    settings = texts.pop(SETTINGS)
    for name in texts:
        if os.path.lexists(path := Path(folder, name)):
            raise InputError(f"{path}: is there already; choose a new folder for the example")
    project = init(folder, db, settings)
    for name, text in texts.items():
        (project.folder / name).write_text(text, encoding="utf-8", newline="\n")
    return project
