"""Which queries are drawn, and how likely each was to be: by permanent random numbers, so that samples overlap.

A query's random number is a hash of the seed and its folded text. It is the same in next month's log, so most of the
sample is drawn again, and a larger sample takes the smaller one in.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import InputError, unknown

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

__all__ = [
    "METHODS",
    "THIRDS",
    "by_rank",
    "given_shares",
    "neyman_shares",
    "pareto",
    "permanent",
    "proportional",
    "shared_out",
    "thirds",
]

METHODS: Final = {
    "traffic": "likely as its traffic: for the mean per search",
    "random": "every query equally likely: for the mean per query",
    "strata": "so many of each stratum, by traffic inside: for means by segment too",
    "top": "the queries of most traffic: a fixed list, from which nothing follows about other queries",
}
THIRDS: Final = ("head", "torso", "tail")
SURE: Final = 1e-12  # nearer to 1 than this is rounding
LEAST: Final = 2  # of a stratum: one query says nothing of how queries differ


def permanent(keys: Iterable[str], seed: int = 0) -> Floats:
    """For each folded query a number between 0 and 1, the same wherever the query is met."""
    salt = f"rankgauge sample {seed}".encode()
    hashes = [blake2b(key.encode(), digest_size=8, key=salt).digest() for key in keys]
    bits = np.frombuffer(b"".join(hashes), ">u8") >> np.uint64(12)
    return (bits.astype(np.float64) + 0.5) / 2.0**52  # never 0, never 1


def proportional(traffic: Floats, n: int) -> Floats:
    """min(1, c · traffic), with c such that n are expected: what reaches 1 is sure, and the rest share what is left."""
    sure = np.zeros(len(traffic), bool)
    while True:
        left = n - int(sure.sum())
        chance = np.where(sure, 1.0, traffic * (left / max(float(traffic[~sure].sum()), 1.0)))
        reached = chance >= 1.0 - SURE
        if (reached == sure).all():
            return chance
        sure = reached


def pareto(chance: Floats, u: Floats, n: int) -> Ints:
    """The places of the n queries that are drawn: Pareto order sampling (Rosén 1997). Of equals, the first."""
    uncertain = chance < 1
    order = np.full(len(u), -1.0)  # what is sure comes first
    odds = chance[uncertain] / (1 - chance[uncertain])
    order[uncertain] = u[uncertain] / (1 - u[uncertain]) / odds
    return np.sort(np.argsort(order, kind="stable")[:n])


def by_rank(traffic: Floats, n: int) -> Ints:
    """The places of the n queries of most traffic; of equals, the first."""
    return np.sort(np.argsort(-traffic, kind="stable")[:n])


def thirds(traffic: Floats) -> list[str]:
    """Head, torso or tail: the queries that make up the first, second and last third of all searches.

    Queries of equal traffic are in one stratum, so that the order of the log decides nothing.
    """
    _, place = np.unique(-traffic, return_inverse=True)
    searches = np.bincount(place, traffic)
    before = np.concatenate([[0.0], np.cumsum(searches)[:-1]]) / searches.sum()
    named = [THIRDS[min(int(3 * share), 2)] for share in before]
    return [named[at] for at in place.tolist()]


def shared_out(n: int, shares: Mapping[str, float], sizes: Mapping[str, int]) -> dict[str, int]:
    """How many queries of each stratum: n by these shares (Sainte-Laguë), two at least, and no more than there are."""
    given = {name: min(LEAST, size) for name, size in sizes.items()}
    if sum(given.values()) > n:
        raise InputError(
            f"{n:,} queries are too few for {len(sizes):,} strata: each needs {LEAST}; ask for {LEAST * len(sizes):,} "
            "or more, or merge strata"
        )
    waiting = [(-shares[name] / (2 * given[name] + 1), name) for name in sizes if given[name] < sizes[name]]
    heapq.heapify(waiting)
    for _ in range(n - sum(given.values())):
        _, name = heapq.heappop(waiting)
        given[name] += 1
        if given[name] < sizes[name]:
            heapq.heappush(waiting, (-shares[name] / (2 * given[name] + 1), name))
    return given


def neyman_shares(values: Mapping[str, Sequence[float]], traffic: Mapping[str, float]) -> dict[str, float]:
    """Stratum → its traffic × the standard deviation of a pilot's values in it: what makes the mean surest."""
    shares = {}
    for name in traffic:
        pilot = values.get(name, ())
        if len(pilot) < LEAST:
            raise InputError(
                f"the pilot has {len(pilot)} values in stratum {name!r}, and {LEAST} are needed to see how they "
                "differ; measure more of its queries, or allocate equally"
            )
        shares[name] = traffic[name] * float(np.std(pilot, ddof=1))
    if not any(shares.values()):
        raise InputError("the values of the pilot do not differ within any stratum; allocate equally")
    return shares


def given_shares(text: str, sizes: Mapping[str, int]) -> dict[str, int]:
    """`head=50,torso=100,tail=150` → queries by stratum; every stratum has a number, and has so many queries."""
    given: dict[str, int] = {}
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        if not equals or not number.strip().isdecimal():
            raise InputError(f"allocate {text!r}: {part!r} is not STRATUM=NUMBER; write equal, neyman or a=50,b=100")
        if name.strip() in given:
            raise InputError(f"allocate {text!r}: {name.strip()!r} has two numbers; keep one")
        given[name.strip()] = int(number)
    for name in given:
        if name not in sizes:
            raise InputError(unknown(f"allocate: there is no stratum {name!r}", name, sizes))
    for name, size in sizes.items():
        if name not in given:
            raise InputError(f"allocate: how many queries of stratum {name!r}? Write {name}=NUMBER, too")
        if not min(LEAST, size) <= given[name] <= size:
            raise InputError(
                f"allocate: {given[name]:,} queries of stratum {name!r}, which has {size:,}; take {min(LEAST, size)} "
                f"to {size:,}"
            )
    return given
