"""How stored labels become judgments: a ruling wins, then the judges by rank, then a policy for several of one rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rankgauge.read import read_judgments
from rankgauge.trust.judges.sets import POLICIES, Repeated

if TYPE_CHECKING:
    from rankgauge.read import Judgments
    from rankgauge.store.store import Rated

__all__ = ["Labels"]

PEOPLE: Final = ("person", "imported")
# Which kinds of judges are heard first, where the project does not say.
KINDS: Final = (PEOPLE, ("program",), ("model",))


@dataclass(frozen=True)
class Labels:
    """Whose labels are heard, in which order, and what several grades of one rank come to.

    `judges` are ranks of names, the first first; without them all are heard: people, then programs, then models.
    """

    judges: tuple[tuple[str, ...], ...] = ()
    policy: Repeated = "majority"
    rulings: bool = True  # of whoever made them

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Labels:
        """A rule as `to_dict` writes it."""
        return cls(tuple(map(tuple, written["judges"])), written["policy"], written["rulings"])

    def to_dict(self) -> dict[str, Any]:
        """The rule as JSON holds it."""
        return asdict(self)

    def __str__(self) -> str:
        return f"labels of {' > '.join(' + '.join(rank) for rank in self.judges)}, {self.policy}"

    @property
    def heard(self) -> frozenset[str]:
        """All judges who are heard."""
        return frozenset(judge for rank in self.judges for judge in rank)

    def among(self, rows: Iterable[Rated], by: str | None = None, *, people: bool = False) -> Labels:
        """The rule with the judges that there are: `by` one alone, `people` alone, or all as this rule has them."""
        known = {row.judge: row.kind for row in rows}
        ranks = self.judges or tuple(tuple(judge for judge in known if known[judge] in kinds) for kinds in KINDS)
        if by is not None or people:
            alone = [judge for judge, kind in known.items() if (kind in PEOPLE if by is None else judge == by)]
            ranks = (tuple(alone),)
        there = (tuple(judge for judge in rank if judge in known) for rank in ranks)
        return Labels(tuple(filter(None, there)), self.policy, rulings=by is None and not people)

    def counted(self, rows: Iterable[Rated]) -> Iterator[Rated]:
        """The labels that count: rulings, else those of the first rank of judges that has any."""
        place = {judge: at for at, rank in enumerate(self.judges) for judge in rank}
        pairs: dict[tuple[str, str], tuple[int, list[Rated]]] = {}
        for row in rows:
            if row.grade is None or not (row.judge in place or (row.ruling and self.rulings)):
                continue
            rank = -1 if row.ruling else place[row.judge]
            best, heard = pairs.get(row[:2], (len(place), []))
            if row.ruling or rank < best:
                pairs[row[:2]] = (rank, [row])  # of rulings the last holds
            elif rank == best:
                heard.append(row)
        for _, heard in pairs.values():
            yield from heard

    def judgments(self, rows: Iterable[Rated], *, repeated: bool = False, fresh: bool = False) -> Judgments:
        """One grade a pair, or with `repeated` every one that counts; `fresh`: none of an older text."""
        heard = [*self.counted(row for row in rows if not (fresh and row.outdated))]
        if repeated:
            return read_judgments([(row.query_id, row.doc_id, row.grade) for row in heard], repeated=True)
        pairs: dict[tuple[str, str], list[float]] = {}
        for row in heard:
            pairs.setdefault(row[:2], []).append(row.grade or 0.0)
        judged: dict[str, dict[str, float]] = {}
        for (query, doc), grades in pairs.items():
            judged.setdefault(query, {})[doc] = grades[0] if len(grades) == 1 else POLICIES[self.policy](grades)
        return read_judgments(judged)
