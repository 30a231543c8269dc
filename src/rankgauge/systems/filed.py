"""A run in a file, as if it had just been run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankgauge.read import read_run
from rankgauge.store.rows import digest
from rankgauge.store.transfer.files import answers_of
from rankgauge.systems.hits import Asked, Failed, Hit

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.systems.config import Config

__all__ = ["Filed"]


class Filed:
    """The rankings of a file; a query that it lacks is a failure, for nobody knows whether anything was found."""

    batch = 1

    def __init__(self, config: Config, project: Project | None) -> None:
        run = read_run(str(config.folder / config.table["file"]), format=config.table.get("format"))
        self.source = config.table["file"]
        self.answers = {answer.query_id: answer for answer in answers_of(run)}
        self.about = {"run": digest([answer[:3] for answer in self.answers.values()])}

    @staticmethod
    def about_of(config: Config, project: Project | None) -> dict[str, str]:
        """What the file holds."""
        return Filed(config, project).about

    def ask(self, asked: Sequence[Asked], k: int) -> Sequence[Iterable[Hit]]:
        """The documents of the file, by their scores."""
        found = self.answers.get(asked[0].query_id)
        if found is None:
            raise Failed(f"{self.source} has no such query; add it, or ask others")
        hits = [Hit(*pair) for pair in zip(found.doc_ids, found.scores, strict=True)]
        return [sorted(hits, key=lambda hit: -(hit.score or 0.0))]

    def close(self) -> None:
        """Nothing is open."""
