"""Labels and runs of a project as sources, which are read when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rankgauge.read import JudgmentsSource, RunSource

if TYPE_CHECKING:
    from rankgauge.protocol import Protocol
    from rankgauge.read import Judgments, Run
    from rankgauge.store.project import Address

__all__ = ["StoredLabels", "StoredRun"]


class StoredLabels(JudgmentsSource):
    """Labels of the project."""

    def __init__(self, address: Address, *, fresh: bool = False) -> None:
        super().__init__(address.text)
        self.address, self.fresh = address, fresh

    def again(self) -> Self:
        """The same, as they are now."""
        return self._with({})

    @property
    def rows(self) -> Judgments:
        """The labels, which are in no file."""
        return self.read()

    def _read(self, repeated: bool) -> Judgments:
        return self.address.judgments(repeated=repeated, fresh=self.fresh)


class StoredRun(RunSource):
    """A run of the project."""

    blocks = None

    def __init__(self, address: Address) -> None:
        super().__init__(address.text)
        self.address = address

    @property
    def rows(self) -> Run:
        """The run, which is in no file."""
        return self.read()

    @property
    def models(self) -> list[str]:
        """The models that the system names."""
        return [model for models in self.read().models.values() for model in models]

    def _read(self, protocol: Protocol) -> Run:
        return self.address.run(by=protocol.by)
