"""The pool: which documents of which runs to judge, what counts most in the measure first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, get_args

import numpy as np

from rankgauge.errors import InputError, choices
from rankgauge.judge.pairs import Pair
from rankgauge.matching.ranking import whole
from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.read import JudgmentsSource, RunSource
from rankgauge.read.named import Runs, named
from rankgauge.read.rows import shortened
from rankgauge.shown import Shown

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.store.texts import Query

__all__ = ["Order", "Pool", "pool"]

Order: TypeAlias = Literal["weight", "rank", "rrf", "random"]
ORDERS: Final = get_args(Order)
# Document → its fields, or a function from the documents that are wanted to such a mapping.
Texts: TypeAlias = Mapping[str, Mapping[str, Any]] | Callable[[Collection[str]], Mapping[str, Mapping[str, Any]]]
NOTHING: Final[Mapping[str, Any]] = {}
EXAMPLES: Final = {"queries": '{"q1": "red shoes"}', "documents": '{"d1": {"title": "Red shoes"}}'}
RRF: Final = 60  # what reciprocal-rank fusion adds to a rank


@dataclass(frozen=True, eq=False, repr=False)
class Pool(Shown):
    """Pairs to judge, query by query; within a query in an order that tells nothing.

    `found` counts the pairs within the depth of a run, `judged` those of them that have a grade already; `runs` says
    how many of the chosen pairs each run found, `textless` names documents whose text is nowhere.
    """

    shown_by: ClassVar[str] = "pool"

    pairs: tuple[Pair, ...]
    depth: int
    take: int | None
    order: str
    found: int
    judged: int
    runs: dict[str, int]
    textless: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What was pooled."""
        return f"Pairs to judge: the first {self.depth} of {', '.join(self.runs)}"

    @property
    def queries(self) -> int:
        """How many queries have something to judge."""
        return len({pair.query_id for pair in self.pairs})

    def data(self) -> dict[str, Any]:
        """What JSON holds: the counts; the pairs are a file of their own."""
        names = ("depth", "take", "order", "found", "judged", "queries", "runs", "textless")
        return {"to_judge": len(self.pairs), **{name: getattr(self, name) for name in names}}


def pool(
    runs: Runs,
    *,
    depth: int = 10,
    take: int | None = None,
    order: Order = "weight",
    judged: Any = None,
    queries: Mapping[str, Query | str] | None = None,
    documents: Texts | None = None,
    seed: int = 0,
    protocol: Protocol = DEFAULT,
    why: bool = False,
) -> Pool:
    """What to judge of several runs: the union of their first `depth` documents, without what is `judged`.

    `take` keeps so many of a query: by `order` those of most weight in nDCG (the sum over runs of 1 / log2(rank + 1)),
    of the best rank, by reciprocal-rank fusion, or at random. The same runs and seed give the same pairs, in whatever
    order the runs are given.
    """
    if order not in ORDERS:
        raise InputError(f"order={order!r}; expected {choices(ORDERS)}")
    for name, value in (("depth", depth), ("take", take)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise InputError(f"{name}={value!r}: give a whole number from 1")
    _check_texts("queries", queries, "query id → text")
    if not callable(documents):
        _check_texts("documents", documents, "id → fields")
    named_runs = named(runs)
    union, asked = _union(named_runs, depth, protocol, weighed=take is not None or why)
    left = _unjudged(union, asked, judged)
    chosen = _chosen(left, take, order, asked, seed)
    fields = documents(set(chosen["doc"].to_list())) if callable(documents) else documents or {}
    pairs = _pairs(chosen, asked, queries or {}, fields, list(named_runs) if why else ())
    textless = tuple(dict.fromkeys(pair.doc_id for pair in pairs if not pair.document))
    finders = dict(chosen["by"].explode().value_counts().iter_rows())
    counts = {name: finders.get(at, 0) for at, name in enumerate(named_runs)}
    return Pool(pairs, depth, take, order, len(union), len(union) - len(left), counts, textless)


def _check_texts(name: str, texts: Any, of: str) -> None:
    if texts is not None and not isinstance(texts, Mapping):
        found = f"{shortened(str(texts))} ({type(texts).__name__})"
        raise InputError(f"{name} is {found}; expected a dict of {of}, such as {EXAMPLES[name]}")


def _union(runs: Mapping[str, Any], depth: int, protocol: Protocol, *, weighed: bool) -> tuple[pl.DataFrame, list[str]]:
    """Query (its place), document, who has it (`by`), and with `weighed` at which `ranks`, of what weight.

    Also the queries, in order of ids.
    """
    import polars as pl

    ranked = [whole(RunSource.of(each).read(protocol), protocol, depth) for each in runs.values()]
    asked = sorted({query for each in ranked for query in each.queries})
    frames = [each.first(depth, asked).with_columns(by=pl.lit(at)) for at, each in enumerate(ranked)]
    rank = pl.col("rank")
    weights = {
        "ranks": rank,
        "weight": (1 / (rank + 1).log(2)).sort().sum(),  # sorted, so that the runs may come in any order
        "best": rank.min(),
        "rrf": (1 / (RRF + rank)).sort().sum(),
    }
    return pl.concat(frames).group_by("query", "doc").agg("by", **weights if weighed else {}), asked


def _unjudged(union: pl.DataFrame, asked: Sequence[str], judged: Any) -> pl.DataFrame:
    """The pairs that have no grade yet."""
    if judged is None:
        return union
    import polars as pl

    judgments = judged.read() if isinstance(judged, JudgmentsSource) else JudgmentsSource.of(judged).read()
    place = {query: at for at, query in enumerate(asked)}
    known = [(place[query], doc) for query, doc, _ in judgments if query in place]
    rows = pl.DataFrame(known, {"query": union.schema["query"], "doc": pl.String}, orient="row")
    return union.join(rows, on=["query", "doc"], how="anti")


def _chosen(left: pl.DataFrame, take: int | None, order: str, asked: Sequence[str], seed: int) -> pl.DataFrame:
    """So many of every query, query by query; the documents of a query are shuffled by a number of their own."""
    import polars as pl

    pairs = zip(left["query"].to_list(), left["doc"].to_list(), strict=True)
    dice = b"".join(_dice(seed, asked[query], doc) for query, doc in pairs)
    rows = left.with_columns(dice=pl.Series(np.frombuffer(dice, ">u8").astype(np.uint64)))
    if take is not None:
        by = {"weight": -pl.col("weight"), "rank": pl.col("best"), "rrf": -pl.col("rrf"), "random": pl.col("dice")}
        rows = rows.sort("query", by[order], "dice").group_by("query", maintain_order=True).head(take)
    return rows.sort("query", "dice")


def _dice(seed: int, query: str, doc: str) -> bytes:
    """A number of a pair's own, the same in every pool: 8 bytes, the highest first."""
    return hashlib.blake2b(f"{seed}\0{query}\0{doc}".encode(), digest_size=8).digest()


def _pairs(
    chosen: pl.DataFrame,
    asked: Sequence[str],
    texts: Mapping[str, Query | str],
    fields: Mapping[str, Any],
    names: Sequence[str],
) -> tuple[Pair, ...]:
    """The rows with their texts; with the names of the runs, who found them where."""
    words = [_words(texts.get(query)) for query in asked]
    found = zip(chosen["by"], chosen["ranks"], chosen["weight"], strict=True) if names else ()
    why: Iterable[Any] = (_why(*each, names) for each in found) if names else repeat(None, len(chosen))
    rows = zip(chosen["query"].to_list(), chosen["doc"].to_list(), why, strict=True)
    return tuple(
        [Pair(asked[at], doc, words[at][0], words[at][1], fields.get(doc, NOTHING), each) for at, doc, each in rows]
    )


def _words(known: Query | str | None) -> tuple[str | None, str | None]:
    """The text and the need of a query."""
    return (known, None) if known is None or isinstance(known, str) else (known.text, known.need)


def _why(by: Iterable[int], ranks: Iterable[int], weight: float, names: Sequence[str]) -> dict[str, Any]:
    return {"weight": weight, "ranks": dict(sorted((names[at], rank) for at, rank in zip(by, ranks, strict=True)))}
