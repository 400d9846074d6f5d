"""A small parser of arithmetic, written (`weight / height ** 2`) or said (`ratio of a to b`, `a minus b`, `log of a`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from engine.planning.formulas.nodes import (
    ATOM,
    POWER,
    PRODUCT,
    FormulaNode,
    call,
    column,
    join,
    named,
    number,
    percent_change,
)
from engine.planning.formulas.terms import FormulaPiece
from engine.text.names import one_word

FUNCTIONS = ("log2", "log10", "log1p", "log", "sqrt", "exp", "abs")
_LOGS = ("log2", "log10", "log")
TWO_WAYS = "It can be read in two ways"


class TwoWays(ValueError):
    """Words of arithmetic that can be read in two ways."""


class Parser:
    """Reads an expression from one place of the pieces on; every method returns None where there is none."""

    def __init__(self, found: list[FormulaPiece], at: int, columns: list[str]) -> None:
        self.found, self.at, self.columns = found, at, columns

    def peek(self, ahead: int = 0) -> str:
        """Return the kind of a piece ahead."""
        return self.found[self.at + ahead].kind if self.at + ahead < len(self.found) else ""

    def take(self, *kinds: str) -> FormulaPiece | None:
        """Return the next piece and step over it when it is of one of these kinds."""
        if self.peek() not in kinds or not self.peek():
            return None
        self.at += 1
        return self.found[self.at - 1]

    def attempt(self, read: Callable[[], FormulaNode | None]) -> FormulaNode | None:
        """Return what `read` reads, or None with nothing stepped over."""
        start = self.at
        node = read()
        if node is None:
            self.at = start
        return node

    def sum(self) -> FormulaNode | None:
        """Read terms with plus and minus between them."""
        node, said = self.product(), False
        while node is not None and self.peek() in ("plus", "minus"):
            start = self.at
            sign = self.take("plus", "minus")
            assert sign is not None
            first = self.at
            right = self.product()
            if right is None:
                self.at = start
                break
            said = said or sign.spoken
            inner = next((p for p in self.found[first : self.at] if p.kind in ("over", "times", "per")), None)
            if sign.spoken and node.binds == PRODUCT and self._divided(start):
                raise TwoWays(TWO_WAYS)
            if said and inner is not None and inner.spoken and right.binds == PRODUCT:
                return self._said_on(node, sign, first)
            plus = sign.kind == "plus"
            node = join(node, "+" if plus else "-", right, sign.kind)
        return self._after_comma(node)

    def _divided(self, end: int) -> bool:
        """Say whether what stands before a place was divided in words: `a divided by b minus c`."""
        return any(p.kind in ("over", "per") and p.spoken for p in self.found[max(0, end - 2) : end])

    def _said_on(self, node: FormulaNode, sign: FormulaPiece, first: int) -> FormulaNode:
        """Read `a minus b divided by a` as it is said: the whole difference is divided, as by one of its own columns."""
        self.at = first
        right = self.power()
        operator = self.take("over", "per", "times")
        divisor = self.power()
        if (
            right is None
            or divisor is None
            or operator is None
            or not set(divisor.columns) & set(node.columns + right.columns)
        ):
            raise TwoWays(TWO_WAYS)
        left = join(node, "+" if sign.kind == "plus" else "-", right, sign.kind)
        whole = join(
            left, "*" if operator.kind == "times" else "/", divisor, "times" if operator.kind == "times" else "per"
        )
        return whole if self.peek() not in ("over", "times") else self._scaled(whole)

    def _scaled(self, node: FormulaNode) -> FormulaNode:
        operator, factor = self.take("over", "times"), self.power()
        if operator is None or factor is None:
            raise TwoWays(TWO_WAYS)
        return join(node, "*" if operator.kind == "times" else "/", factor, operator.kind)

    def _after_comma(self, node: FormulaNode | None) -> FormulaNode | None:
        """Read `..., divided by c`: what stands before the comma is divided as a whole."""
        if (
            node is not None
            and self.peek() == "comma"
            and self.peek(1) in ("over", "times")
            and self.found[self.at + 1].spoken
        ):
            self.at += 1
            return self._scaled(node)
        return node

    def product(self) -> FormulaNode | None:
        """Read factors with times and divided by between them."""
        node = self.power()
        while node is not None and self.peek() in ("times", "over", "per"):
            start = self.at
            sign = self.take("times", "over", "per")
            right = self.power()
            if right is None or sign is None:
                self.at = start
                break
            node = join(node, "*" if sign.kind == "times" else "/", right, "times" if sign.kind == "times" else "per")
        return node

    def power(self) -> FormulaNode | None:
        """Read an atom with what follows it: squared, in thousands, as a percentage of another."""
        if self.peek() == "minus" and self.found[self.at].text in "-−–":
            self.at += 1
            inner = self.power()
            return (
                None
                if inner is None
                else FormulaNode(f"-{inner.within(POWER)}", f"minus_{inner.name}", PRODUCT, inner.columns, inner.steps)
            )
        node = self.attempt(self.prefixed) or self.attempt(self.atom)
        after = {"square": ("**", 2, "squared"), "cube": ("**", 3, "cubed"), "thousand": ("/", 1000, "in_thousands"),
                 "million": ("/", 1e6, "in_millions"), "percent": ("*", 100, "percent")}  # fmt: skip
        while node is not None and (sign := self.take(*after, "pow", "percentof", "shareof", "subtracted")):
            if sign.kind in after:
                operator, value, word = after[sign.kind]
                node = named(join(node, operator, number(value), word), f"{node.name}_{word}")
                continue
            right = self.attempt(self.power)
            if right is None:
                self.at -= 1
                break
            if sign.kind == "pow":
                node = join(node, "**", right, "to_the")
            elif sign.kind == "subtracted":
                node = join(right, "-", node, "minus")
            else:
                share = join(node, "/", right, "per")
                percent = named(join(share, "*", number(100), "times"), f"{node.name}_percent_of_{right.name}")
                node = percent if sign.kind == "percentof" else share
        return node

    def atom(self) -> FormulaNode | None:
        """Read a column, a number, pi or an expression in brackets."""
        if piece := self.take("column"):
            return self._ratio_after(column(piece.text))
        if piece := self.take("number"):
            return number(float(piece.text))
        if self.take("pi"):
            return FormulaNode(f"{math.pi!r}", "pi", ATOM)
        if self.take("open") and (node := self.sum()) is not None and self.take("close"):
            return node._replace(name=node.name)
        return None

    def _ratio_after(self, first: FormulaNode) -> FormulaNode:
        """Read `a to b ratio`, `a/b ratio`, `a-b ratio` where the word stands behind."""
        start = self.at
        while self.take("minus"):
            pass
        if self.take("to", "over", "and"):
            while self.take("minus"):
                pass
            second = self.take("column")
            if second and (self.take("ratio")):
                return join(first, "/", column(second.text), "per")
        self.at = start
        return first

    def prefixed(self) -> FormulaNode | None:
        """Read what begins with a word: a function, `ratio of`, `percent change from`, `sum of`."""
        piece = self.take(*FUNCTIONS, "inverse", "cuberoot", "squareof", "cubeof", "double", "half", "ratio", "difference", "changepct", "losspct",
                          "change", "loss", "fold", "logfold", "sum", "mean", "product", "subtract", "over")  # fmt: skip
        if piece is None or (piece.kind == "over" and piece.text.lower() != "divide"):
            return None
        if piece.kind in FUNCTIONS:
            return self._function(piece)
        if piece.kind in ("inverse", "cuberoot", "squareof", "cubeof", "double", "half"):
            self.take("of")
            inner = self.power()
            if inner is None:
                return None
            return {
                "inverse": lambda: named(join(number(1), "/", inner, "per"), f"inverse_{inner.name}"),
                "squareof": lambda: named(join(inner, "**", number(2), ""), f"{inner.name}_squared"),
                "cubeof": lambda: named(join(inner, "**", number(3), ""), f"{inner.name}_cubed"),
                "cuberoot": lambda: FormulaNode(
                    f"{inner.within(ATOM)} ** (1 / 3)", f"cube_root_{inner.name}", POWER, inner.columns, inner.steps + 1
                ),
                "double": lambda: named(join(number(2), "*", inner, ""), f"double_{inner.name}"),
                "half": lambda: named(join(inner, "/", number(2), ""), f"half_{inner.name}"),
            }[piece.kind]()
        if piece.kind in ("sum", "mean"):
            return self._list(piece.kind)
        return self._pair(piece.kind)

    def _function(self, piece: FormulaPiece) -> FormulaNode | None:
        said = self.take("of") is not None
        bracket = self.peek() == "open"
        if piece.kind in _LOGS and self.peek() == "ratio":
            inner = self.prefixed()
        else:
            inner = (
                self.power()
                if said or bracket or self.peek() in ("column", "difference", "ratio", "pi", "number")
                else None
            )
        if inner is None:
            return None
        follows = self.peek()
        if (
            piece.kind in _LOGS
            and not bracket
            and follows == "plus"
            and self.found[self.at + 1 : self.at + 2]
            and self.found[self.at + 1].text == "1"
        ):
            self.at += 2
            return call(piece.kind, join(inner, "+", number(1), "plus"))
        if (
            said
            and not bracket
            and follows in ("plus", "minus", "times", "over", "per")
            and self.peek(1) not in FUNCTIONS
        ):
            raise TwoWays(TWO_WAYS)
        return call(piece.kind, inner)

    def _list(self, kind: str) -> FormulaNode | None:
        """Read `sum of a, b and c` and `sum of item 1 to item 9`."""
        self.take("of", "between")
        items: list[FormulaNode] = []
        while item := self.take("column"):
            items.append(column(item.text))
            if self.peek() in ("to", "minus", "through") and self.peek(1) == "column":
                self.at += 1
                last = self.take("column")
                run = self._run(items[-1].columns[0], last.text if last else "")
                if not run:
                    return None
                items += [column(name) for name in run]
            ahead = 2 if self.peek() == "comma" and self.peek(1) in ("and", "plus") else 1
            if self.peek() not in ("comma", "and", "plus") or self.peek(ahead) != "column":
                break
            self.at += ahead
        if len(items) < 2:
            return None
        node = items[0]
        for item in items[1:]:
            node = join(node, "+", item, "plus")
        names = [item.name for item in items]
        short = f"{kind}_of_" + ("_".join(names) if len(names) < 4 else f"{names[0]}_to_{names[-1]}")
        return named(node if kind == "sum" else join(node, "/", number(len(items)), ""), short)

    def _run(self, first: str, last: str) -> list[str]:
        """Return the columns after one up to another, as they stand in the file, when they are numbered items of one thing."""
        if first not in self.columns or last not in self.columns:
            return []
        between = self.columns[self.columns.index(first) + 1 : self.columns.index(last) + 1]
        stem = re.sub(r"\d+", "#", first)
        return between if between and all(re.sub(r"\d+", "#", name) == stem for name in between) else []

    def _pair(self, kind: str) -> FormulaNode | None:
        """Read two columns with the words that join them: `from a to b`, `of a and b`, `between a and b`."""
        began = self.take("of", "between", "from", "in")
        a = self.attempt(self.atom)
        joined = self.take("to", "and", "over", "per", "minus", "from", "by", "versus", "comma", "times") if a else None
        b = self.attempt(self.power) if joined else None
        if a is None or b is None or joined is None or not (a.columns and b.columns):
            return None
        if kind in ("change", "loss", "changepct", "losspct") and (
            began is None or began.kind != "from" or joined.kind != "to"
        ):
            return None
        if kind in ("fold", "logfold") and began is not None and began.kind == "from":
            a, b = b, a  # from a to b: b is so many times a
        if kind == "fold" or kind == "logfold":
            fold = join(a, "/", b, "per")
            return named(fold, f"fold_change_{one_word(fold.name)}") if kind == "fold" else call("log2", fold)
        if kind in ("changepct", "losspct"):
            return percent_change(a, b, loss=kind == "losspct")
        return {
            "ratio": lambda: join(a, "/", b, "per"), "over": lambda: join(a, "/", b, "per"), "product": lambda: join(a, "*", b, "times"),
            "difference": lambda: join(a, "-", b, "minus"), "change": lambda: join(b, "-", a, "minus"),
            "loss": lambda: join(a, "-", b, "minus"), "subtract": lambda: join(b, "-", a, "minus"),
        }[kind]()  # fmt: skip
