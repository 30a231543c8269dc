"""What answers cost: prices, an estimate before anything is sent, and a budget that holds."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from rankgauge.errors import InputError, unknown
from rankgauge.systems.workers import Stop

__all__ = ["Budget", "Estimate", "Prices", "amount", "tokens_of", "worth"]

CHARACTERS: Final = 4.0  # of a token, where nothing is known yet
FRAME: Final = 64  # tokens that a server may put around a text
NAMES: Final = ("input", "output", "per", "currency")


class Prices(NamedTuple):
    """What so many tokens cost, read and written: `per` is how many the prices are of."""

    input: float
    output: float
    per: float
    currency: str = ""

    @classmethod
    def of(cls, table: Mapping[str, Any], where: str) -> Prices:
        """From a table: { input = 0.25, output = 2.0, per = 1_000_000 }."""
        for name in table:
            if name not in NAMES:
                raise InputError(unknown(f"{where} has no key {name!r}", name, NAMES))
        if "per" not in table:
            raise InputError(f"{where} have no unit; write how many tokens they are for: per = 1_000_000")
        for name in ("input", "output", "per"):
            value = table.get(name)
            fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
            if not fits or (name == "per" and value == 0):
                raise InputError(f"{where}: {name} = {value!r}; expected a number, such as {name} = 1.5")
        return cls(table["input"], table["output"], table["per"], str(table.get("currency", "")))

    def cost(self, read: float, written: float) -> float:
        """What so many tokens cost."""
        return (read * self.input + written * self.output) / self.per


def amount(cost: float, currency: str = "") -> str:
    """An amount of money, with enough digits to be one.

    >>> amount(1.5, "$"), amount(0.00123)
    ('$1.50', '0.0012')
    """
    digits = 2 if cost >= 1 or cost <= 0 else min(6, 1 - math.floor(math.log10(cost)))
    return f"{currency}{cost:,.{max(2, digits)}f}"


def worth(plan: Mapping[str, Any]) -> str:
    """What is planned, as the end of a sentence: tokens, their cost, and where the budget is less than that."""
    words = ""
    if plan.get("tokens_in"):
        words = f", about {plan['tokens_in']:,.0f} tokens to read and {plan['tokens_out']:,.0f} to write"
    if plan.get("cost") is None:
        return words
    words += f", about {amount(plan['cost'], plan['currency'])}"
    left = plan.get("budget_left")
    if left is None or plan["cost"] <= left:
        return words
    return f"{words}, more than the {amount(left, plan['currency'])} that the budget has left"


def tokens_of(text: str) -> int:
    """The most tokens that a text can be: one a byte, and what a server puts around it."""
    return len(text.encode("utf-8", "surrogatepass")) + FRAME


class Estimate(NamedTuple):
    """What a pass would take: calls, tokens and, where there are prices, their cost."""

    calls: int
    tokens_in: float
    tokens_out: float
    cost: float | None

    @classmethod
    def of(
        cls, characters: int, calls: int, seen: tuple[float, float] | None, most: int, prices: Prices | None
    ) -> Estimate:
        """From the characters to be sent; `seen`: what calls have read and written so far."""
        usual = (characters / CHARACTERS, calls * most / CHARACTERS)
        read, written = usual if seen is None else (calls * seen[0], calls * seen[1])
        return cls(calls, read, written, None if prices is None else prices.cost(read, written))


@dataclass
class Budget:
    """What may be spent: what is under way is reserved at its maximum, so that the cap holds whatever comes back."""

    prices: Prices | None
    cap: float | None
    spent: float = 0.0
    reserved: float = 0.0
    calls: int = 0  # under way
    dearer: float = 1.0  # how often the most that prices allow a server has charged
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def reserve(self, read: int, written: int) -> Iterator[Spending]:
        """Room for a call of at most so many tokens: waited for while others are under way, then there is none."""
        usual = 0.0 if self.prices is None else self.prices.cost(read, written)
        with self._changed:
            while (most := usual * self.dearer) + self.spent + self.reserved > (self.cap or math.inf):
                if not self.calls:
                    raise Stop(self._used_up(most))
                self._changed.wait()
            self.reserved, self.calls = self.reserved + most, self.calls + 1
        spending = Spending(most)
        try:
            yield spending
        finally:
            with self._changed:
                self.calls -= 1
                self.reserved = self.reserved - most if self.calls else 0.0  # sums of fractions leave a rest
                self.spent += spending.cost
                self.dearer = max(self.dearer, spending.cost / usual if usual else 1.0)
                self._changed.notify_all()

    def check(self, read: int, written: int, where: str) -> None:
        """Refuse a budget that has no room for one call."""
        if self.prices is not None and self.cap is not None:
            most = self.prices.cost(read, written)
            if self.spent + most > self.cap:
                raise InputError(f"{where}: {self._used_up(most)}")

    def _used_up(self, most: float) -> str:
        currency = self.prices.currency if self.prices is not None else ""
        cap, spent, one = (amount(each, currency) for each in (self.cap or 0.0, self.spent, most))
        return f"the budget of {cap} has no room for another answer: {spent} spent, one may cost {one}; raise budget"


@dataclass
class Spending:
    """What a call cost: all that was reserved, until the server says how much it was."""

    cost: float
