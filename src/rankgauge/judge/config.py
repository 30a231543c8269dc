"""A judge's table, from rankgauge.toml or from options: checked before anything is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError, unknown
from rankgauge.judge.chat import LIMITS as USUAL
from rankgauge.judge.money import Prices
from rankgauge.judge.prompt import Prompt
from rankgauge.judge.scale import Scale
from rankgauge.systems.config import FLAG, FUNCTION, LIMITS, TABLE, TEXT, Key, check_keys, limits_in, number
from rankgauge.systems.workers import Limits

if TYPE_CHECKING:
    from rankgauge.store.project import Project

__all__ = ["JudgeConfig", "find_judge", "judge_config"]

LONGEST: Final = 8_000  # characters of a document that are shown
MAX_TOKENS: Final = 1_000  # of an answer, reasons and thinking included
PARAMETERS: Final = {"temperature": number(0), "seed": number(0, whole=True), "max_tokens": number(1, whole=True)}
KEYS: Final[dict[str, Key]] = {
    "model": TEXT,
    "base_url": TEXT,
    "key": Key(lambda value: isinstance(value, str), 'the name of an environment variable: "${NAME}"'),
    "call": FUNCTION,
    "replay": FLAG,
    "prompt": TEXT,
    "scale": Key(lambda value: isinstance(value, str | dict | list), "a name, a file, or a table of grade = words"),
    "longest": number(1, whole=True),
    **PARAMETERS,
    "parameters": TABLE,
    "prices": Key(lambda value: isinstance(value, dict), "a table: { input = 0.25, output = 2.0, per = 1_000_000 }"),
    "budget": number(0, above=True),
    "threads": number(1, whole=True),
    **LIMITS,
}
ENVIRONMENT: Final = {"base_url": "OPENAI_BASE_URL", "model": "OPENAI_MODEL"}


@dataclass(frozen=True)
class JudgeConfig:
    """A checked table: of a judge of this name, found at `where`, with paths that start from `folder`."""

    name: str
    table: Mapping[str, Any]
    where: str
    folder: Path
    prompt: Prompt
    scale: Scale
    prices: Prices | None

    @property
    def call(self) -> str | None:
        """The function that judges, where it is not a model."""
        return self.table.get("call")

    @property
    def kind(self) -> str:
        """What a store calls such a judge."""
        return "program" if self.call else "model"

    @property
    def replay(self) -> bool:
        """Whether only stored answers are read."""
        return bool(self.table.get("replay", False))

    @property
    def longest(self) -> int:
        """How many characters of a document are shown."""
        return int(self.table.get("longest", LONGEST))

    @property
    def limits(self) -> Limits:
        """How hard it may be worked."""
        return limits_in(self.table, USUAL)

    @property
    def parameters(self) -> dict[str, Any]:
        """What goes with every question."""
        told = {name: self.table[name] for name in PARAMETERS if name in self.table}
        usual = {"temperature": 0, "max_tokens": MAX_TOKENS}
        return {**usual, **self.table.get("parameters", {}), **told}

    @property
    def currency(self) -> str:
        """Of the prices."""
        return "" if self.prices is None else self.prices.currency

    @property
    def most(self) -> int:
        """How many tokens an answer may have."""
        return 1 if self.prompt.one_token else int(self.parameters["max_tokens"])

    def settings(self, model: str | None, base_url: str | None) -> dict[str, Any]:
        """What makes it this judge, as a store has it: a change of it is another setting under the same name."""
        from rankgauge.store.rows import written

        about = {"scale": written(self.scale.to_dict())}
        if self.call:
            return about | {"parameters": written({"call": self.call})}
        sent = {**self.parameters, "longest": self.longest}
        return about | {
            "model": model, "base_url": base_url, "parameters": written(sent), "prompt": self.prompt.hash,
        }  # fmt: skip


def judge_config(name: str, table: Any, where: str, folder: Path) -> JudgeConfig:
    """The table of a judge, checked: what it may have, what each key holds, and the files that it names."""
    if not isinstance(table, dict):
        raise InputError(f'{where}: expected a table of settings, such as model = "…"')
    table = {**{key: value for key, value in _told().items() if "call" not in table}, **table}
    check_keys(table, KEYS, where)
    for key in ("model", "base_url", "key", "prompt", "prices", "budget", "parameters", *PARAMETERS):
        if "call" in table and key in table:
            raise InputError(f"{where}: a judge that is a function (call) has no {key}; leave one of the two out")
    if "threads" in table and "call" not in table:
        raise InputError(f"{where}: threads are those that call a function; write workers = {table['threads']}")
    if "call" not in table and "base_url" not in table:
        how = f'write base_url = "http://localhost:8000/v1", or set {ENVIRONMENT["base_url"]}'
        raise InputError(f"{where}: has no server; {how}; for a function of your own: call = …")
    prompt = Prompt.of(table.get("prompt", "graded"), folder)
    if prompt.pairwise:
        how = "in Python: rankgauge.judge.preference.prefer; to grade, take graded"
        raise InputError(f"{where}: prompt {prompt.name} compares two documents, and a judge grades one; {how}")
    scale = Scale.of(table["scale"], folder, f"{where}: scale") if "scale" in table else prompt.scale
    prompt.check(scale)
    prices = Prices.of(table["prices"], f"{where}: prices") if "prices" in table else None
    if "budget" in table and prices is None:
        raise InputError(f"{where}: a budget needs prices; write prices = {KEYS['prices'].expected.partition(': ')[2]}")
    return JudgeConfig(name, table, where, folder, prompt, scale, prices)


def find_judge(project: Project, name: str, outright: Mapping[str, Any] | None = None) -> JudgeConfig:
    """The judge of this name: its table in rankgauge.toml, with what is given outright."""
    file = project.folder / "rankgauge.toml"
    known = project.settings.get("judges", {})
    known = known if isinstance(known, dict) else {}
    if name not in known and not outright:
        words = f"{file}: there is no [judges.{name}]"
        how = "write it, with model and base_url, or call; or give the judge by options (--model, --base-url, --set)"
        raise InputError(unknown(words, name, known) if known else f"{words}; {how}")
    place = f"{file}: [judges.{name}]" if name in known else f"judge {name!r}"
    table = known.get(name, {})
    return judge_config(
        name, {**table, **(outright or {})} if isinstance(table, dict) else table, place, project.folder
    )


def _told() -> dict[str, str]:
    """What the environment says of the server."""
    return {key: os.environ[name] for key, name in ENVIRONMENT.items() if os.environ.get(name)}
