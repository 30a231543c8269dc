"""Tasks: which pairs people are to judge, on which scale, how many of them each; and how far they are."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, insert, select, update

from rankgauge.errors import InputError, counted, unknown, warn
from rankgauge.judge.pairs import Pair
from rankgauge.judge.scale import GRADED, Scale
from rankgauge.judge.stored import keep_texts
from rankgauge.raters.audit import audit
from rankgauge.raters.openness import Openness, openness
from rankgauge.raters.users import users
from rankgauge.store import schema
from rankgauge.store.rows import identifier, inserted, now, parts, storable, written
from rankgauge.store.store import Query
from rankgauge.store.texts import newest_texts

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store

__all__ = ["Task", "close_task", "make_task", "open_task", "task_of", "task_queries", "tasks"]

LONGEST: Final = 200_000  # characters of guidelines


class Task(NamedTuple):
    """Pairs for people to judge. `fields`: those of a document that are shown, all without; `raters`: who may, or all.

    `gold` and `repeat` are shares of pairs, `runs` the addresses of what was pooled, `width` what unjudged documents
    left open of the measure when the task was made.
    """

    number: int
    name: str
    scale: Scale
    guidelines: str
    fields: tuple[str, ...] | None
    overlap: int
    raters: tuple[str, ...]
    gold: float
    repeat: float
    shows_models: bool
    runs: tuple[str, ...]
    width: float | None
    at: str
    closed: str | None

    def admits(self, rater: str) -> bool:
        """Whether a rater may judge here."""
        return not self.raters or rater in self.raters


# ---- what there is ---------------------------------------------------------------------------------------------------


def tasks(store: Store) -> list[Task]:
    """Every task, the last first."""
    asked = select(schema.task).order_by(schema.task.c.task_id.desc())
    return [_task(dict(row)) for row in store.read(lambda each: each.execute(asked).mappings().all())]


def task_of(store: Store, name: str) -> Task:
    """The task of a name."""
    known = {task.name: task for task in tasks(store)}
    if name not in known:
        none = "" if known else "there is none yet: rankgauge task make NAME PAIRS"
        raise InputError(unknown(f"{store.where}: there is no task {name!r}", name, known, none))
    return known[name]


def task_queries(store: Store, task: Task) -> list[str]:
    """The queries of a task, in its order."""
    table = schema.task_query.c
    asked = select(table.query_id).where(table.task_id == task.number).order_by(table.place)
    return [*store.read(lambda each: each.scalars(asked).all())]


def _task(row: Mapping[str, Any]) -> Task:
    about = {name: value for name, value in row.items() if name != "task_id"}
    about |= {name: tuple(json.loads(row[name])) for name in ("fields", "raters", "runs") if row[name] is not None}
    about |= {"scale": Scale.of(json.loads(row["scale"])), "shows_models": bool(row["shows_models"])}
    return Task(number=row["task_id"], **about)


# ---- making one ------------------------------------------------------------------------------------------------------


def make_task(
    project: Project,
    store: Store,
    name: str,
    pairs: Sequence[Pair],
    *,
    who: str,
    scale: Scale = GRADED,
    guidelines: str = "",
    fields: Sequence[str] | None = None,
    overlap: int = 1,
    raters: Sequence[str] = (),
    gold: float = 0.0,
    repeat: float = 0.0,
    shows_models: bool = False,
    runs: Sequence[str] = (),
    latest_text: bool = False,
) -> Task:
    """A task of these pairs, whole or not at all; queries come in the order in which judging them tells most.

    Another text of a document than is stored is refused; with `latest_text` it is the document's text from then on.
    """
    _check(store, name, pairs, overlap, raters, guidelines)
    pairs = _with_texts(store, pairs)
    _check_fields(pairs, fields)
    _check_raters(store, raters)
    known = _gold(project, store, pairs, scale, gold)
    every = [*pairs, *(pair for pair, _ in known)]
    opened = openness(project, runs, scale, dict.fromkeys(pair.query_id for pair in every))
    row = {
        "name": name, "scale": written(scale.to_dict()), "guidelines": guidelines, "overlap": overlap,
        "fields": None if fields is None else written([*fields]), "raters": written([*raters]), "gold": gold,
        "repeat": repeat, "shows_models": int(shows_models), "runs": written([*runs]), "width": opened.mean,
        "at": now(),
    }  # fmt: skip

    def made(inside: Store) -> int:
        keep_texts(inside, every, latest_text=latest_text)
        added: int = inside.writer.write(lambda connection: _added(connection, row, every, known, opened, who))
        return added

    number = store.together(made)
    return next(task for task in tasks(store) if task.number == number)


def _check(
    store: Store, name: str, pairs: Sequence[Pair], overlap: int, raters: Sequence[str], guidelines: str
) -> None:
    identifier(name, "the name of a task")
    storable(guidelines, "the guidelines")
    if not name.strip():
        raise InputError("a task needs a name")
    if any(task.name == name for task in tasks(store)):
        raise InputError(f"{store.where}: there is a task {name!r} already; give this one another name")
    if not pairs:
        raise InputError(f"task {name!r}: there is nothing to judge; pool deeper, or more runs")
    if overlap < 1:
        raise InputError(f"overlap={overlap}: give 1 or more raters a query")
    if raters and overlap > len(set(raters)):
        raise InputError(f"overlap={overlap}: only {counted(len(set(raters)), 'rater')} may judge; name more, or fewer")
    if len(guidelines) > LONGEST:
        raise InputError(f"the guidelines have {len(guidelines):,} characters; write at most {LONGEST:,}")


def _with_texts(store: Store, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with the texts that they lack and the store has; that some have none is said."""
    lacking = [pair[:2] for pair in pairs if not pair.document or pair.query is None]
    known = _texts(store, lacking) if lacking else {}
    made = []
    for pair in pairs:
        there = known.get(pair[:2], pair)
        query, need = (pair.query, pair.need) if pair.query is not None else (there.query, there.need)
        made.append(pair._replace(query=query, need=need, document=pair.document or there.document))
    bare = sum(not pair.document for pair in made)
    if bare:
        warn(f"of {counted(len(made), 'pair')}, {bare:,} {'has' if bare == 1 else 'have'} no text for raters to read")
    return made


def _check_raters(store: Store, raters: Iterable[str]) -> None:
    """Say which raters are no users, where there are users."""
    known = {user.name for user in users(store)}
    missing = [name for name in raters if known and name not in known]
    if missing:
        warn(f"there is no user {missing[0]!r}; add them: rankgauge user add {missing[0]}")


def _check_fields(pairs: Iterable[Pair], fields: Sequence[str] | None) -> None:
    there = {name for pair in pairs for name in pair.document}
    for name in fields or ():
        if name not in there:
            none = "no document has any field"
            raise InputError(unknown(f"no document has a field {name!r}", name, sorted(there), "" if there else none))


def _gold(
    project: Project, store: Store, pairs: Sequence[Pair], scale: Scale, share: float
) -> list[tuple[Pair, float]]:
    """Pairs whose grade is known, people having given it: of the task's queries rather than of others."""
    if not share:
        return []
    rows, _ = store.labels()
    rule = project.rule.among(rows, people=True)
    asked, queries = {pair[:2] for pair in pairs}, {pair.query_id for pair in pairs}
    grades: dict[tuple[str, str], set[float | None]] = {}
    for row in rule.counted(rows):
        grades.setdefault(row[:2], set()).add(row.grade)
    sure = [pair for pair, given in grades.items() if len(given) == 1 and given <= set(scale.grades)]
    others = (pair for pair in sure if pair not in asked)
    candidates = sorted(others, key=lambda pair: (pair[0] not in queries, chance(*pair)))
    wanted = max(1, round(share * len(pairs)))
    if not candidates:
        raise InputError("gold: no other pair has a grade of people on this scale; judge some first, or leave gold out")
    if len(candidates) < wanted:
        warn(f"gold: {counted(len(candidates), 'pair')} of {wanted:,} that were wanted; people have graded no more")
    chosen = candidates[:wanted]
    texts = _texts(store, chosen)
    return [(texts[pair], float(next(iter(grades[pair])) or 0.0)) for pair in chosen]


def _texts(store: Store, pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], Pair]:
    """Stored pairs with the texts of today."""
    queries = {query.query_id: query for query in store.queries()}
    documents = store.read(lambda connection: newest_texts(connection, {doc for _, doc in pairs}))
    found = {}
    for query, doc in pairs:
        known = queries.get(query, Query(query))
        found[query, doc] = Pair(query, doc, known.text, known.need, documents[doc].fields if doc in documents else {})
    return found


def _added(
    connection: Connection,
    row: Mapping[str, Any],
    pairs: Sequence[Pair],
    gold: Sequence[tuple[Pair, float]],
    opened: Openness,
    who: str,
) -> int:
    number = inserted(connection, schema.task, row)
    grades = {pair[:2]: grade for pair, grade in gold}
    seen = _hashes(connection, {pair.doc_id for pair in pairs})
    again, sizes = _again(pairs, row["name"], row["repeat"]), Counter(pair.query_id for pair in pairs)
    held = [
        {
            "task_id": number, "query_id": pair.query_id, "doc_id": pair.doc_id, "hash": seen.get(pair.doc_id),
            "gold": grades.get(pair[:2]), "again": int(pair[:2] in again),
        }
        for pair in pairs
    ]  # fmt: skip
    queries = [
        {"task_id": number, "query_id": query, "place": place, "pairs": sizes[query], "open": row["overlap"]}
        for place, query in enumerate(opened.order)
    ]
    for table, rows in ((schema.task_query, queries), (schema.task_pair, held)):
        for part in parts(rows):
            connection.execute(insert(table), part)
    audit(connection, who, "task made", f"{row['name']}: {len(pairs)} pairs")
    return number


def _hashes(connection: Connection, docs: Collection[str]) -> dict[str, str]:
    return {doc: text.hash for doc, text in newest_texts(connection, docs).items()}


def _again(pairs: Sequence[Pair], name: str, share: float) -> set[tuple[str, str]]:
    """The pairs that every rater is asked twice."""
    wanted = max(1, round(share * len(pairs))) if share else 0
    return {pair[:2] for pair in sorted(pairs, key=lambda pair: chance(name, *pair[:2]))[:wanted]}


def chance(*words: str) -> bytes:
    """A number of its own for anything that has a name, the same every time."""
    return hashlib.blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()


# ---- closing and opening ---------------------------------------------------------------------------------------------


def close_task(store: Store, name: str, who: str) -> None:
    """Take no more judgments; what was given stays."""
    _set(store, name, now(), "task closed", who)


def open_task(store: Store, name: str, who: str) -> None:
    """Take judgments again."""
    _set(store, name, None, "task opened", who)


def _set(store: Store, name: str, closed: str | None, what: str, who: str) -> None:
    task = task_of(store, name)

    def done(connection: Connection) -> None:
        connection.execute(update(schema.task).where(schema.task.c.task_id == task.number).values(closed=closed))
        audit(connection, who, what, name)

    store.writer.write(done)
