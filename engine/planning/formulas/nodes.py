"""Parts of an expression: as the evaluator of tables reads them, with a readable name and the columns they take."""

from __future__ import annotations

from typing import NamedTuple

from engine.text.names import one_word

SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4
"""How tightly a part binds."""


class FormulaNode(NamedTuple):
    """A part of an expression: as the evaluator reads it, as a name, and how tightly it binds."""

    text: str
    name: str
    binds: int
    columns: tuple[str, ...] = ()
    steps: int = 0

    def within(self, binds: int) -> str:
        """Return the text, in brackets where what stands around it binds more tightly."""
        return self.text if self.binds >= binds else f"({self.text})"


def column(name: str) -> FormulaNode:
    """Return a column as a part."""
    return FormulaNode(f"`{name}`", one_word(name), ATOM, (name,))


def number(value: float) -> FormulaNode:
    """Return a number as a part."""
    return FormulaNode(f"{value:.16g}", f"{value:g}".replace(".", "p").replace("-", "minus"), ATOM)


def join(a: FormulaNode, sign: str, b: FormulaNode, word: str) -> FormulaNode:
    """Return two parts with a sign between them, in brackets where that is needed."""
    binds = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "**": POWER}[sign]
    left, right = a.within(binds + (sign == "**")), b.within(binds + (sign in "-/**"))
    return FormulaNode(
        f"{left} {sign} {right}", f"{a.name}_{word}_{b.name}", binds, a.columns + b.columns, a.steps + b.steps + 1
    )


def call(function: str, a: FormulaNode, name: str = "") -> FormulaNode:
    """Return a function of a part."""
    return FormulaNode(f"{function}({a.text})", f"{name or function}_{a.name}", ATOM, a.columns, a.steps + 1)


def named(a: FormulaNode, name: str) -> FormulaNode:
    """Return the part under another name."""
    return a._replace(name=name)


def percent_change(first: FormulaNode, last: FormulaNode, *, loss: bool = False) -> FormulaNode:
    """Return the change from the first to the last in percent of the first."""
    over = join(join(first, "-", last, "minus") if loss else join(last, "-", first, "minus"), "/", first, "per")
    word = "loss" if loss else "change"
    return named(join(over, "*", number(100), "times"), f"percent_{word}_{first.name}_to_{last.name}")
