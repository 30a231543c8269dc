"""A sample of a log's queries, as it is drawn, written, read again, and set beside an older one."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple

import numpy as np

from rankgauge.errors import FormatError, InputError, choices, unknown, way
from rankgauge.read.tables import is_blank, query_column, read_query_table, read_table
from rankgauge.sampling.draw import (
    METHODS,
    THIRDS,
    by_rank,
    given_shares,
    neyman_shares,
    pareto,
    permanent,
    proportional,
    shared_out,
    thirds,
)
from rankgauge.sampling.log import NONE, Log, read_log
from rankgauge.shown import Shown

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

__all__ = ["FIELDS", "Method", "Part", "Sample", "Shared", "query_id_of", "read_sample", "sample"]

Method = Literal["traffic", "random", "strata", "top"]
FIELDS: Final = ("query_id", "query", "traffic", "inclusion", "stratum", "need")
LONGEST: Final = 60  # characters of a folded query that are its id; of a longer one it is the beginning and a hash


class Part(NamedTuple):
    """A stratum: how many queries and searches the log has in it, how many were drawn, and how many of these surely."""

    stratum: str
    queries: int
    searches: int
    sampled: int
    sure: int


class Shared(NamedTuple):
    """What a sample has in common with an older one, by id: what stays, what is new to judge, what is left out."""

    source: str
    kept: list[str]
    new: list[str]
    gone: list[str]


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Shown):
    """Queries that were drawn, each with its traffic and how likely it was to be drawn; ids are unique.

    `how`, `parts` and `log` say how they were drawn; of a sample that was read from a file they are not known.
    """

    shown_by: ClassVar[str] = "sample"

    source: str
    query_ids: list[str]
    queries: list[str | None]
    traffic: Floats
    inclusion: Floats
    strata: list[str]
    needs: list[str | None]
    how: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[Part] = ()
    log: Log | None = None
    shared: Shared | None = None

    def __len__(self) -> int:
        return len(self.query_ids)

    @property
    def title(self) -> str:
        """How many queries, of what."""
        return f"{len(self):,} queries of {self.source}"

    @cached_property
    def place(self) -> dict[str, int]:
        """Query → where it is."""
        return {query: at for at, query in enumerate(self.query_ids)}

    @property
    def fixed(self) -> bool:
        """Whether it is a fixed list (`top`): nobody left anything to chance."""
        return set(self.strata) == {"top"}

    @property
    def blind(self) -> bool:
        """Whether inclusion does not grow with traffic: searches of queries that were not drawn may be most of all."""
        if set(self.strata) == {"random"}:
            return bool((self.inclusion < 1).any())
        names = np.array(self.strata, object)
        for stratum in set(self.strata):
            uncertain = (names == stratum) & (self.inclusion < 1)
            if len(set(self.inclusion[uncertain].tolist())) == 1 < len(set(self.traffic[uncertain].tolist())):
                return True
        return False

    def rows(self) -> list[dict[str, Any]]:
        """A row for each query, as files have them."""
        columns = (self.query_ids, self.queries, map(_whole, self.traffic.tolist()), self.inclusion.tolist())
        return [dict(zip(FIELDS, row, strict=True)) for row in zip(*columns, self.strata, self.needs, strict=True)]

    def to_tsv(self) -> str:
        """The queries as a table with tabs: what `--sample` takes."""
        stream = io.StringIO()
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(["" if cell is None else cell for cell in row.values()] for row in self.rows())
        return stream.getvalue()

    def data(self, **choices: Any) -> dict[str, Any]:
        """Everything that JSON holds."""
        log = self.log
        about = {"rows": log.rows, "spellings": log.spellings, "queries": len(log), "blank": log.blank} if log else None
        return {
            "how": dict(self.how),
            "log": about,
            "strata": [part._asdict() for part in self.parts],
            "drawn": self.rows(),
            "shared": self.shared,
        }


def sample(
    log: Any,
    n: int | None = None,
    *,
    method: Method = "traffic",
    strata: str | None = None,
    allocate: str | Mapping[str, int] = "equal",
    pilot: Any = None,
    fold: str = "text",
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    keep: Any = None,
) -> Sample:
    """Draw n queries of a log: a path, a frame, or dicts; a row a query with a count, or a row a search.

    `method` says how likely each is to be drawn: by `traffic`, at `random`, so many of each of the `strata` (a column
    of the log, else the thirds of traffic), or the `top` by traffic. `allocate` shares n out to strata: equal, neyman
    (from the values of a `pilot`: a table with a query and a value column), or stratum → number. Spellings of a
    query are folded: case, blanks and punctuation, with `fold="words"` the order of words too. `columns` names
    columns of the log: query, count, need, id. `keep` is an older sample, with which this one is compared.

    >>> drawn = sample({"query": ["Red shoes", "red  shoes!", "hat", "bag"], "count": [5, 4, 1, 2]}, 2)
    >>> drawn.query_ids[-1], float(drawn.traffic[-1]), float(drawn.inclusion[-1])
    ('red_shoes', 9.0, 1.0)
    """
    if method not in METHODS:
        raise InputError(unknown(f"there is no method {method!r}", method, METHODS, f"there are {choices(METHODS)}"))
    _refuse_unused(method, strata, allocate, pilot)
    found = read_log(log, columns={**(columns or {}), **({"stratum": strata} if strata else {})}, fold=fold)
    if len(found) < 2:
        raise InputError(f"{found.source}: holds one query, {found.queries[0]!r}; there is nothing to draw")
    wanted, names = _wanted(found, n, method, allocate, pilot)
    taken, inclusion = _drawn(found, names, wanted, method, permanent(found.keys, seed))
    how: dict[str, Any] = {"method": method, "n": len(taken), "seed": seed, "fold": fold}
    how |= {"strata": strata or "traffic", "allocate": allocate} if method == "strata" else {}
    needs = found.columns.get("need") or [None] * len(found)
    made = Sample(
        found.source,
        _ids(found, taken.tolist()),
        [found.queries[at] for at in taken.tolist()],
        found.traffic[taken].astype(np.float64),
        inclusion[taken],
        [names[at] for at in taken.tolist()],
        [needs[at] for at in taken.tolist()],
        how,
        [*_parts(found, names, taken, inclusion)],
        found,
        None,
    )
    return made if keep is None else _beside(made, read_sample(keep))


def _refuse_unused(method: str, strata: Any, allocate: Any, pilot: Any) -> None:
    """What is asked for and would change nothing."""
    if method != "strata" and (strata is not None or allocate != "equal"):
        raise InputError(f"strata and their allocation are for the method strata, not for {method}")
    if (pilot is not None) != (allocate == "neyman"):
        how = way("pilot=", "--pilot FILE")
        raise InputError(f"neyman allocates by the values of a pilot, and only neyman does; give both: {how}")


def _wanted(
    log: Log, n: int | None, method: str, allocate: str | Mapping[str, int], pilot: Any
) -> tuple[dict[str, int], list[str]]:
    """Stratum → how many queries are drawn of it, and the stratum of every query."""
    if method != "strata":
        return {method: _number(log, n)}, [method] * len(log)
    given = log.columns.get("stratum")
    named = thirds(log.traffic.astype(np.float64)) if given is None else given
    names = [NONE if name is None else name for name in named]
    sizes = dict(sorted(Counter(names).items(), key=_order))
    if isinstance(allocate, str) and allocate in ("equal", "neyman"):
        shares = dict.fromkeys(sizes, 1.0) if allocate == "equal" else _neyman(log, names, sizes, pilot)
        return shared_out(_number(log, n), shares, sizes), names
    text = allocate if isinstance(allocate, str) else ",".join(f"{name}={size}" for name, size in allocate.items())
    wanted = given_shares(text, sizes)
    if n is not None and n != sum(wanted.values()):
        raise InputError(f"the numbers of the strata add up to {sum(wanted.values()):,}, and n is {n:,}; leave n out")
    return wanted, names


def _order(item: tuple[str, int]) -> tuple[int, str]:
    """Head, torso and tail as they follow each other; other strata by name."""
    return (THIRDS.index(item[0]) if item[0] in THIRDS else len(THIRDS)), item[0]


def _number(log: Log, n: int | None) -> int:
    if n is None:
        raise InputError(f"how many queries? Say {way('n=300', '--n 300')}")
    if n < 2:
        raise InputError(f"{n} queries are too few; draw 2 or more")
    if n > len(log):
        raise InputError(
            f"{log.source}: has {len(log):,} distinct queries, and {n:,} are asked for; take all of them with "
            f"{way(f'n={len(log)}', f'--n {len(log)}') or f'sample = {len(log)} in rankgauge.toml'}"
        )
    return n


def _neyman(log: Log, names: list[str], sizes: Iterable[str], pilot: Any) -> dict[str, float]:
    values = read_query_table(pilot, "value")
    of_stratum: dict[str, list[float]] = {name: [] for name in sizes}
    for query, stratum in zip(_ids(log, range(len(log))), names, strict=True):
        if not is_blank(values.get(query)):
            of_stratum[stratum].append(float(values[query]))
    where = np.array(names, object)
    return neyman_shares(of_stratum, {name: float(log.traffic[where == name].sum()) for name in sizes})


def _drawn(log: Log, names: list[str], wanted: Mapping[str, int], method: str, u: Floats) -> tuple[Ints, Floats]:
    """The places of the queries that are drawn, and how likely every query of the log was to be."""
    chance = np.ones(len(log))
    if method == "top":
        return by_rank(log.traffic.astype(np.float64), wanted["top"]), chance
    where, taken = np.array(names, object), []
    for stratum, n in wanted.items():
        at = np.flatnonzero(where == stratum)
        traffic = np.ones(len(at)) if method == "random" else log.traffic[at].astype(np.float64)
        chance[at] = proportional(traffic, n)
        taken.append(at[pareto(chance[at], u[at], n)])
    return np.sort(np.concatenate(taken)), chance


def _parts(log: Log, names: list[str], taken: Ints, inclusion: Floats) -> Iterable[Part]:
    where = np.array(names, object)
    for stratum in dict(sorted(dict.fromkeys(names, 0).items(), key=_order)):
        at = where == stratum
        drawn = taken[at[taken]]
        sure = int((inclusion[drawn] >= 1).sum())
        yield Part(stratum, int(at.sum()), int(log.traffic[at].sum()), len(drawn), sure)


# ---- ids -------------------------------------------------------------------------------------------------------------


def query_id_of(key: str) -> str:
    """The id of a folded query: itself with underscores, which no folded query has; else its beginning and a hash.

    >>> query_id_of("red shoes")
    'red_shoes'
    """
    if len(key) <= LONGEST and "_" not in key and key[:1] not in ("#", "@", '"') and key.isprintable():
        return key.replace(" ", "_")
    begun = "".join(letter for letter in key[:LONGEST].replace(" ", "_") if letter.isalnum() or letter == "_")
    return f"{begun.strip('_')}-{blake2b(key.encode(), digest_size=6).hexdigest()}"


def _ids(log: Log, places: Iterable[int]) -> list[str]:
    """The ids of queries: made of their folded texts, or those that the log has, if these are asked for."""
    given = log.columns.get("id")
    if given is None:
        return [query_id_of(log.keys[at]) for at in places]
    seen: dict[str, str] = {}
    for query, each in zip(log.queries, given, strict=True):
        if each is None:
            raise FormatError(f"{log.source}: query {query!r} has no id; fill it in, or leave the ids out")
        if each in seen:
            raise FormatError(
                f"{log.source}: the id {each!r} is that of {seen[each]!r} and of {query!r}; give each its own"
            )
        seen[each] = query
    return [str(given[at]) for at in places]


# ---- files -----------------------------------------------------------------------------------------------------------


def read_sample(source: Any) -> Sample:
    """The sample in a file or a frame with the columns query_id, traffic and inclusion, and stratum, query and need."""
    if isinstance(source, Sample):
        return source
    table = read_table(source, "the sample", loose=True)
    ids = table.ids(query_column(table))
    names = {name: next(iter(table.called([name])), None) for name in FIELDS[1:]}
    for name in ("traffic", "inclusion"):
        if names[name] is None:
            raise FormatError(
                f"{table.source}: no column {name!r} among {', '.join(table.names)}; a sample is what 'rankgauge "
                "sample LOG --n 300 -o queries.tsv' writes"
            )
    twice = (
        next((at for at, query in enumerate(ids) if ids.index(query) < at), None) if len(set(ids)) < len(ids) else None
    )
    if twice is not None:
        raise FormatError(f"{table.place(twice)}: query {ids[twice]!r} is there twice; keep one row")
    if not ids:
        raise FormatError(f"{table.source}: holds no queries; draw some: rankgauge sample LOG --n 300 -o queries.tsv")

    def above(limit: float) -> Any:
        def checked(cell: Any) -> float:
            number = table.number(cell)
            if not 0 < number <= limit:
                raise ValueError(f"{cell!r} is out of range")
            return number

        return checked

    traffic = table.convert(str(names["traffic"]), above(np.inf), "a number above 0")
    inclusion = table.convert(str(names["inclusion"]), above(1.0), "a probability above 0, at most 1")
    texts: dict[str, list[str | None]] = {
        name: [None] * len(ids) if names[name] is None else [_text(cell) for cell in table.cells(str(names[name]))]
        for name in ("query", "stratum", "need")
    }
    strata = [name if name is not None else NONE for name in texts["stratum"]]
    return Sample(
        table.source, ids, texts["query"], np.array(traffic), np.array(inclusion), strata, texts["need"]
    )  # fmt: skip


def _text(cell: Any) -> str | None:
    return None if is_blank(cell) else str(cell)


def _whole(number: float) -> float:
    return int(number) if number.is_integer() else number


def _beside(new: Sample, old: Sample) -> Sample:
    kept = [query for query in new.query_ids if query in old.place]
    fresh = [query for query in new.query_ids if query not in old.place]
    gone = [query for query in old.query_ids if query not in new.place]
    return replace(new, shared=Shared(old.source, kept, fresh, gone))
