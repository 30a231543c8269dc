"""Labels and runs of a project by their addresses, and as sources, which are read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, Self

from rankgauge.errors import InputError, unknown, warn, way
from rankgauge.read import JudgmentsSource, RunSource
from rankgauge.sampling import is_unwanted

if TYPE_CHECKING:
    from rankgauge.protocol import Protocol
    from rankgauge.read import Judgments, Run
    from rankgauge.sampling.sample import Sample
    from rankgauge.store.project import Project

__all__ = ["Address", "StoredLabels", "StoredRun", "sample_at", "sample_of", "warn_of_another"]


class Address(NamedTuple):
    """What stands for stored labels or a stored run: @labels, @labels:JUDGE, @people, @SYSTEM, @SYSTEM:7, @SYSTEM:7?"""

    text: str
    project: Project
    name: str
    judge: str | None = None
    number: int | None = None
    partly: bool = False

    @classmethod
    def of(cls, text: str, project: Project) -> Address:
        """The address that a text spells."""
        name, _, more = text.removeprefix("@").partition(":")
        if name in ("labels", "people"):
            return cls(text, project, name, judge=more or None)
        partly, more = more.endswith("?"), more.removesuffix("?")
        if not name or (more and not more.isdecimal()):
            raise InputError(f"{text}: is no address; write @labels, @labels:JUDGE, @people, @SYSTEM or @SYSTEM:NUMBER")
        return cls(text, project, name, number=int(more) if more else None, partly=partly)

    @property
    def is_labels(self) -> bool:
        """Whether labels are meant."""
        return self.name in ("labels", "people")

    @property
    def sample(self) -> str | None:
        """The sample that the run was made for; None where that is a list of queries which nobody drew."""
        if self.is_labels:
            return None
        with self.project.store() as store:
            name = store.run_of(self.name, self.number).sample
        return name if name in self.project.samples() else None

    def read(self) -> Judgments | Run:
        """What it stands for, where both are welcome."""
        if self.is_labels:
            return self.judgments()
        if self.name not in self.project.systems():
            words = f"{self.text}: is neither labels nor a run"
            raise InputError(unknown(words, self.text, self.project.addresses()))
        return self.run()

    def judgments(self, *, repeated: bool = False, fresh: bool = False) -> Judgments:
        """The labels as judgments."""
        if not self.is_labels:
            raise InputError(
                f"{self.text}: are no labels, and judgments are wanted; write @labels, @labels:JUDGE or @people"
            )
        return self.project.labels(self.judge, people=self.name == "people", repeated=repeated, fresh=fresh)

    def run(self, by: str = "score") -> Run:
        """The run."""
        if self.is_labels:
            raise InputError(f"{self.text}: are labels, and a run is wanted; write @SYSTEM or @SYSTEM:NUMBER")
        return self.project.run(self.name, self.number, partly=self.partly, by=by)


class StoredLabels(JudgmentsSource):
    """Labels of the project."""

    settles = True

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
    """A run of the project; with `warns`, reading one that is not complete warns of the queries without an answer."""

    blocks = None

    def __init__(self, address: Address, *, warns: bool = False) -> None:
        super().__init__(address.text)
        self.address, self.warns = address, warns

    @property
    def rows(self) -> Run:
        """The run, which is in no file."""
        return self.read()

    @property
    def models(self) -> list[str]:
        """The models that the system names."""
        return [model for models in self.read().models.values() for model in models]

    def _read(self, protocol: Protocol) -> Run:
        run = self.address.run(by=protocol.by)
        for code, words in run.remarks if self.warns else ():
            warn(f"{run.source}: {words} lack an answer, and have no results ({code})")
        return run


# ---- the sample that means are of ------------------------------------------------------------------------------------


def sample_of(runs: Iterable[RunSource]) -> Sample | None:
    """The sample that all these runs of a project were made for."""
    found = [*runs]
    addresses = [run.address for run in found if isinstance(run, StoredRun)]
    if not addresses or len(addresses) < len(found):
        return None
    names = {each.sample for each in addresses}
    if names == {None}:
        return None
    if len(names) > 1:
        how = way("sample=", "--sample @NAME")
        warn(f"the runs were made for different queries, so that no sample is used{how and f'; name one: {how}'}")
        return None
    return addresses[0].project.sample(str(names.pop()))


def warn_of_another(sample: Sample, runs: Iterable[RunSource]) -> None:
    """Say so where runs of a project were made for another sample than the one that means are of."""
    names = {run.address.sample for run in runs if isinstance(run, StoredRun)} - {None}
    others = sorted(f"@{name}" for name in names if f"@{name}" != sample.source)
    if others and sample.source.startswith("@"):
        warn(f"means are those of {sample.source}, and the runs were made for {', '.join(others)}")


def sample_at(given: str, project: Callable[[], Project]) -> Sample | None:
    """The sample in a file, or at an address of the project; None where nobody wants one: `none`."""
    from rankgauge.sampling.sample import read_sample

    if is_unwanted(given):
        return None
    return project().sample(given.removeprefix("@")) if given.startswith("@") else read_sample(given)
