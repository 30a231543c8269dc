"""Pictures of agreement: the confusion matrix of two judges, and the order of systems under two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted
from rankgauge.measures.gains import number_text
from rankgauge.show.grid import short
from rankgauge.show.svg.drawing import document, line, rect, text

if TYPE_CHECKING:
    from rankgauge.trust.judges.pairs import PairAgreement
    from rankgauge.trust.judges.systems import Systems

__all__ = ["confusion_svg", "orders_svg"]

WIDEST, LEFT, TOP = 560, 210, 190
SAME: Final = ((222, 235, 247), (18, 92, 160))  # on the diagonal, from rare to common
APART: Final = ((253, 236, 224), (190, 80, 20))  # off it


def confusion_svg(pair: PairAgreement) -> str:
    """The matrix as a picture: each row shaded by its shares, blue where both agree, orange where they do not."""
    names = [number_text(grade) for grade in pair.grades.tolist()]
    side = min(110.0, WIDEST / len(names))
    parts = [
        text(40, 58, short(f"{pair.a} (rows) and {pair.b} (columns)", 70), 28, weight=600),
        text(40, 92, _words(pair), 17, "rg-quiet"),
        text(LEFT + side * len(names) / 2, TOP - 44, f"grade by {short(pair.b, 40)}", 16, "rg-quiet", "middle"),
        text(40, TOP + side * len(names) / 2, f"by {short(pair.a, 14)}", 16, "rg-quiet"),
    ]
    for row, name in enumerate(names):
        parts += [text(LEFT - 16, TOP + side * (row + 0.5) + 6, name, 18, anchor="end")]
        parts += [text(LEFT + side * (row + 0.5), TOP - 14, name, 18, anchor="middle")]
        whole = max(1.0, float(pair.matrix[row].sum()))
        for column in range(len(names)):
            share = float(pair.matrix[row, column]) / whole
            parts += _cell(
                LEFT + side * column, TOP + side * row, side, int(pair.matrix[row, column]), share, row == column
            )
    parts += _marginals(pair, LEFT + side * len(names) + 40, TOP, side, names)
    return document(parts, round(TOP + side * len(names) + 60), _words(pair))


def _cell(x: float, y: float, side: float, count: int, share: float, same: bool) -> list[str]:
    low, high = SAME if same else APART
    colour = tuple(round(a + (b - a) * share**0.7) for a, b in zip(low, high, strict=True))
    on = "rg-dark" if sum(colour) > 420 else "rg-light"
    parts = [rect(x + 1, y + 1, side - 2, side - 2, "", "#{:02x}{:02x}{:02x}".format(*colour))]
    if side >= 40:
        parts += [text(x + side / 2, y + side / 2 + 2, f"{count:,}", 18 if side > 70 else 13, on, "middle", 600)]
    if side >= 60:
        parts += [text(x + side / 2, y + side / 2 + 22, f"{share:.0%}", 13, on, "middle")]
    return parts


def _marginals(pair: PairAgreement, x: float, y: float, side: float, names: list[str]) -> list[str]:
    """How often each judge gave each grade, as bars beside the matrix."""
    rows, columns = pair.matrix.sum(axis=1), pair.matrix.sum(axis=0)
    most = max(1.0, float(rows.max()), float(columns.max()))
    longest = 1100 - x
    parts = [text(x, y - 14, f"how often: {short(pair.a, 18)} above, {short(pair.b, 18)} below", 14, "rg-quiet")]
    for at in range(len(names)):
        for part, (counts, kind) in enumerate(((rows, "rg-bar"), (columns, "rg-loss"))):
            top = y + side * at + side * (0.14 + 0.38 * part)
            width = float(counts[at]) / most * longest
            parts += [rect(x, top, max(1.0, width), side * 0.32, kind)]
            parts += [text(x + width + 8, top + side * 0.24, f"{int(counts[at]):,}", 13, "rg-quiet")]
    return parts


def _words(pair: PairAgreement) -> str:
    plain, quadratic = pair.kappa["none"].value, pair.kappa["quadratic"].value
    numbers = f"κ {plain:.3f}, quadratic {quadratic:.3f}, bias {pair.bias.value:+.3f}"
    return f"{counted(pair.shared, 'pair')}, {pair.agreement.value:.0%} the same; {numbers}"


def orders_svg(systems: Systems, judge: str) -> str:
    """Systems in the order of the first judge on the left and of another on the right; crossing lines are swaps."""
    first = next(iter(systems.values))
    sides = [systems.values[first], systems.values[judge]]
    places = []
    for values in sides:
        order = sorted(values, key=lambda name: -values[name])
        places.append({name: at for at, name in enumerate(order)})
    step = 34
    height = 150 + step * len(systems.systems)
    parts = [
        text(40, 58, f"{systems.measure}: the order of systems under two judges", 28, weight=600),
        text(480, 100, short(first, 40), 16, "rg-quiet", "end"),
        text(720, 100, short(judge, 40), 16, "rg-quiet"),
    ]
    for name in systems.systems:
        left, right = (130 + step * place[name] for place in places)
        parts += [text(470, left + 5, f"{short(name, 34)}  {sides[0][name]:.4f}", 15, anchor="end")]
        parts += [text(730, right + 5, f"{sides[1][name]:.4f}  {short(name, 34)}", 15)]
        parts += [line(485, left, 715, right, "rg-cross" if left != right else "rg-line")]
    look = {"rg-cross": "stroke:#d0672b;stroke-width:2"}
    return document(parts, height, f"order under {first} and {judge}", light=look, dark=look)
