"""A small parser of arithmetic, written (`weight / height ** 2`) or said (`ratio of a to b`, `a minus b`, `log of a`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from engine.planning.terms import BINDING, Piece

_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4
_FUNCTIONS = ("log2", "log10", "log1p", "log", "sqrt", "exp", "abs")
_LOGS = ("log2", "log10", "log")
_SPOKEN_ORDER = "It can be read in two ways"


class TwoWays(ValueError):
    """Words of arithmetic that can be read in two ways."""


class Node(NamedTuple):
    """A part of an expression: as the evaluator reads it, as a name, and how tightly it binds."""

    text: str
    name: str
    binds: int
    columns: tuple[str, ...] = ()
    steps: int = 0

    def within(self, binds: int) -> str:
        """Return the text, in brackets where what stands around it binds more tightly."""
        return self.text if self.binds >= binds else f"({self.text})"


def slug(text: str) -> str:
    """Return a text as one word."""
    return re.sub(r"\W+", "_", text).strip("_")


def _column(name: str) -> Node:
    return Node(f"`{name}`", slug(name), _ATOM, (name,))


def _number(value: float) -> Node:
    return Node(f"{value:.16g}", f"{value:g}".replace(".", "p").replace("-", "minus"), _ATOM)


def _join(a: Node, sign: str, b: Node, word: str) -> Node:
    binds = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER}[sign]
    left, right = a.within(binds + (sign == "**")), b.within(binds + (sign in "-/**"))
    return Node(f"{left} {sign} {right}", f"{a.name}_{word}_{b.name}", binds, a.columns + b.columns, a.steps + b.steps + 1)


def _call(function: str, a: Node, name: str = "") -> Node:
    return Node(f"{function}({a.text})", f"{name or function}_{a.name}", _ATOM, a.columns, a.steps + 1)


def _named(a: Node, name: str) -> Node:
    return a._replace(name=name)


def _percent_change(first: Node, last: Node, *, loss: bool = False) -> Node:
    over = _join(_join(first, "-", last, "minus") if loss else _join(last, "-", first, "minus"), "/", first, "per")
    word = "loss" if loss else "change"
    return _named(_join(over, "*", _number(100), "times"), f"percent_{word}_{first.name}_to_{last.name}")


class _Parser:
    """Reads an expression from one place of the pieces on; every method returns None where there is none."""

    def __init__(self, found: list[Piece], at: int, columns: list[str]) -> None:
        self.found, self.at, self.columns = found, at, columns

    def peek(self, ahead: int = 0) -> str:
        """Return the kind of a piece ahead."""
        return self.found[self.at + ahead].kind if self.at + ahead < len(self.found) else ""

    def take(self, *kinds: str) -> Piece | None:
        """Return the next piece and step over it when it is of one of these kinds."""
        if self.peek() not in kinds or not self.peek():
            return None
        self.at += 1
        return self.found[self.at - 1]

    def attempt(self, read: Callable[[], Node | None]) -> Node | None:
        """Return what `read` reads, or None with nothing stepped over."""
        start = self.at
        node = read()
        if node is None:
            self.at = start
        return node

    def sum(self) -> Node | None:
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
            if sign.spoken and node.binds == _PRODUCT and self._divided(start):
                raise TwoWays(_SPOKEN_ORDER)
            if said and inner is not None and inner.spoken and right.binds == _PRODUCT:
                return self._said_on(node, sign, first)
            plus = sign.kind == "plus"
            node = _join(node, "+" if plus else "-", right, sign.kind)
        return self._after_comma(node)

    def _divided(self, end: int) -> bool:
        """Say whether what stands before a place was divided in words: `a divided by b minus c`."""
        return any(p.kind in ("over", "per") and p.spoken for p in self.found[max(0, end - 2) : end])

    def _said_on(self, node: Node, sign: Piece, first: int) -> Node:
        """Read `a minus b divided by a` as it is said: the whole difference is divided, as by one of its own columns."""
        self.at = first
        right = self.power()
        operator = self.take("over", "per", "times")
        divisor = self.power()
        if right is None or divisor is None or operator is None or not set(divisor.columns) & set(node.columns + right.columns):
            raise TwoWays(_SPOKEN_ORDER)
        left = _join(node, "+" if sign.kind == "plus" else "-", right, sign.kind)
        whole = _join(left, "*" if operator.kind == "times" else "/", divisor, "times" if operator.kind == "times" else "per")
        return whole if self.peek() not in ("over", "times") else self._scaled(whole)

    def _scaled(self, node: Node) -> Node:
        operator, factor = self.take("over", "times"), self.power()
        if operator is None or factor is None:
            raise TwoWays(_SPOKEN_ORDER)
        return _join(node, "*" if operator.kind == "times" else "/", factor, operator.kind)

    def _after_comma(self, node: Node | None) -> Node | None:
        """Read `..., divided by c`: what stands before the comma is divided as a whole."""
        if node is not None and self.peek() == "comma" and self.peek(1) in ("over", "times") and self.found[self.at + 1].spoken:
            self.at += 1
            return self._scaled(node)
        return node

    def product(self) -> Node | None:
        """Read factors with times and divided by between them."""
        node = self.power()
        while node is not None and self.peek() in ("times", "over", "per"):
            start = self.at
            sign = self.take("times", "over", "per")
            right = self.power()
            if right is None or sign is None:
                self.at = start
                break
            node = _join(node, "*" if sign.kind == "times" else "/", right, "times" if sign.kind == "times" else "per")
        return node

    def power(self) -> Node | None:
        """Read an atom with what follows it: squared, in thousands, as a percentage of another."""
        if self.peek() == "minus" and self.found[self.at].text in "-−–":
            self.at += 1
            inner = self.power()
            return None if inner is None else Node(f"-{inner.within(_POWER)}", f"minus_{inner.name}", _PRODUCT, inner.columns, inner.steps)
        node = self.attempt(self.prefixed) or self.attempt(self.atom)
        after = {"square": ("**", 2, "squared"), "cube": ("**", 3, "cubed"), "thousand": ("/", 1000, "in_thousands"),
                 "million": ("/", 1e6, "in_millions"), "percent": ("*", 100, "percent")}  # fmt: skip
        while node is not None and (sign := self.take(*after, "pow", "percentof", "shareof", "subtracted")):
            if sign.kind in after:
                operator, value, word = after[sign.kind]
                node = _named(_join(node, operator, _number(value), word), f"{node.name}_{word}")
                continue
            right = self.attempt(self.power)
            if right is None:
                self.at -= 1
                break
            if sign.kind == "pow":
                node = _join(node, "**", right, "to_the")
            elif sign.kind == "subtracted":
                node = _join(right, "-", node, "minus")
            else:
                share = _join(node, "/", right, "per")
                percent = _named(_join(share, "*", _number(100), "times"), f"{node.name}_percent_of_{right.name}")
                node = percent if sign.kind == "percentof" else share
        return node

    def atom(self) -> Node | None:
        """Read a column, a number, pi or an expression in brackets."""
        if piece := self.take("column"):
            return self._ratio_after(_column(piece.text))
        if piece := self.take("number"):
            return _number(float(piece.text))
        if self.take("pi"):
            return Node(f"{math.pi!r}", "pi", _ATOM)
        if self.take("open") and (node := self.sum()) is not None and self.take("close"):
            return node._replace(name=node.name)
        return None

    def _ratio_after(self, first: Node) -> Node:
        """Read `a to b ratio`, `a/b ratio`, `a-b ratio` where the word stands behind."""
        start = self.at
        while self.take("minus"):
            pass
        if self.take("to", "over", "and"):
            while self.take("minus"):
                pass
            second = self.take("column")
            if second and (self.take("ratio")):
                return _join(first, "/", _column(second.text), "per")
        self.at = start
        return first

    def prefixed(self) -> Node | None:
        """Read what begins with a word: a function, `ratio of`, `percent change from`, `sum of`."""
        piece = self.take(*_FUNCTIONS, "inverse", "cuberoot", "squareof", "cubeof", "double", "half", "ratio", "difference", "changepct", "losspct",
                          "change", "loss", "fold", "logfold", "sum", "mean", "product", "subtract", "over")  # fmt: skip
        if piece is None or (piece.kind == "over" and piece.text.lower() != "divide"):
            return None
        if piece.kind in _FUNCTIONS:
            return self._function(piece)
        if piece.kind in ("inverse", "cuberoot", "squareof", "cubeof", "double", "half"):
            self.take("of")
            inner = self.power()
            if inner is None:
                return None
            return {
                "inverse": lambda: _named(_join(_number(1), "/", inner, "per"), f"inverse_{inner.name}"),
                "squareof": lambda: _named(_join(inner, "**", _number(2), ""), f"{inner.name}_squared"),
                "cubeof": lambda: _named(_join(inner, "**", _number(3), ""), f"{inner.name}_cubed"),
                "cuberoot": lambda: Node(f"{inner.within(_ATOM)} ** (1 / 3)", f"cube_root_{inner.name}", _POWER, inner.columns, inner.steps + 1),
                "double": lambda: _named(_join(_number(2), "*", inner, ""), f"double_{inner.name}"),
                "half": lambda: _named(_join(inner, "/", _number(2), ""), f"half_{inner.name}"),
            }[piece.kind]()
        if piece.kind in ("sum", "mean"):
            return self._list(piece.kind)
        return self._pair(piece.kind)

    def _function(self, piece: Piece) -> Node | None:
        said = self.take("of") is not None
        bracket = self.peek() == "open"
        if piece.kind in _LOGS and self.peek() == "ratio":
            inner = self.prefixed()
        else:
            inner = self.power() if said or bracket or self.peek() in ("column", "difference", "ratio", "pi", "number") else None
        if inner is None:
            return None
        follows = self.peek()
        if piece.kind in _LOGS and not bracket and follows == "plus" and self.found[self.at + 1 : self.at + 2] and self.found[self.at + 1].text == "1":
            self.at += 2
            return _call(piece.kind, _join(inner, "+", _number(1), "plus"))
        if said and not bracket and follows in ("plus", "minus", "times", "over", "per") and self.peek(1) not in _FUNCTIONS:
            raise TwoWays(_SPOKEN_ORDER)
        return _call(piece.kind, inner)

    def _list(self, kind: str) -> Node | None:
        """Read `sum of a, b and c` and `sum of item 1 to item 9`."""
        self.take("of", "between")
        items: list[Node] = []
        while item := self.take("column"):
            items.append(_column(item.text))
            if self.peek() in ("to", "minus", "through") and self.peek(1) == "column":
                self.at += 1
                last = self.take("column")
                run = self._run(items[-1].columns[0], last.text if last else "")
                if not run:
                    return None
                items += [_column(name) for name in run]
            ahead = 2 if self.peek() == "comma" and self.peek(1) in ("and", "plus") else 1
            if self.peek() not in ("comma", "and", "plus") or self.peek(ahead) != "column":
                break
            self.at += ahead
        if len(items) < 2:
            return None
        node = items[0]
        for item in items[1:]:
            node = _join(node, "+", item, "plus")
        names = [item.name for item in items]
        short = f"{kind}_of_" + ("_".join(names) if len(names) < 4 else f"{names[0]}_to_{names[-1]}")
        return _named(node if kind == "sum" else _join(node, "/", _number(len(items)), ""), short)

    def _run(self, first: str, last: str) -> list[str]:
        """Return the columns after one up to another, as they stand in the file, when they are numbered items of one thing."""
        if first not in self.columns or last not in self.columns:
            return []
        between = self.columns[self.columns.index(first) + 1 : self.columns.index(last) + 1]
        stem = re.sub(r"\d+", "#", first)
        return between if between and all(re.sub(r"\d+", "#", name) == stem for name in between) else []

    def _pair(self, kind: str) -> Node | None:
        """Read two columns with the words that join them: `from a to b`, `of a and b`, `between a and b`."""
        began = self.take("of", "between", "from", "in")
        a = self.attempt(self.atom)
        joined = self.take("to", "and", "over", "per", "minus", "from", "by", "versus", "comma", "times") if a else None
        b = self.attempt(self.power) if joined else None
        if a is None or b is None or joined is None or not (a.columns and b.columns):
            return None
        if kind in ("change", "loss", "changepct", "losspct") and (began is None or began.kind != "from" or joined.kind != "to"):
            return None
        if kind in ("fold", "logfold") and began is not None and began.kind == "from":
            a, b = b, a  # from a to b: b is so many times a
        if kind == "fold" or kind == "logfold":
            fold = _join(a, "/", b, "per")
            return _named(fold, f"fold_change_{slug(fold.name)}") if kind == "fold" else _call("log2", fold)
        if kind in ("changepct", "losspct"):
            return _percent_change(a, b, loss=kind == "losspct")
        return {
            "ratio": lambda: _join(a, "/", b, "per"), "over": lambda: _join(a, "/", b, "per"), "product": lambda: _join(a, "*", b, "times"),
            "difference": lambda: _join(a, "-", b, "minus"), "change": lambda: _join(b, "-", a, "minus"),
            "loss": lambda: _join(a, "-", b, "minus"), "subtract": lambda: _join(b, "-", a, "minus"),
        }[kind]()  # fmt: skip


class Found(NamedTuple):
    """An expression with the pieces it was read from."""

    node: Node
    first: int
    last: int


def expressions(found: list[Piece], columns: list[str]) -> list[Found]:
    """Return every expression of at least one column and one step, the one with most columns first.

    Raises:
        TwoWays: when the fullest can be read in two ways.
    """
    able: list[Found] = []
    doubts: list[tuple[int, int]] = []
    for start in range(len(found)):
        if start and (found[start - 1].kind in _FUNCTIONS or found[start].kind == "minus" and not _is_sign(found, start)):
            continue
        parser = _Parser(found, start, columns)
        try:
            node = parser.sum()
        except TwoWays:
            doubts.append((start, parser.at))
            continue
        if node is not None and node.columns and node.steps:
            able.append(Found(node, start, parser.at))
    able.sort(key=lambda f: (-len(f.node.columns), -f.node.steps, f.first))
    if doubts and not any(f.first < doubts[0][0] and f.last >= doubts[0][1] for f in able[:1]):
        raise TwoWays(f"{_SPOKEN_ORDER}; write the formula with brackets, for example `(a - b) / c`.")
    if able and (part := _cut_off(found, able[0])):
        raise TwoWays(f"What stands beside {part!r} is no column or number; write the formula with the columns' names.")
    return able


_BEFORE_DASH = frozenset("column columns variable variables col formula please new compute calculate derive add".split())


def _is_sign(found: list[Piece], at: int) -> bool:
    """Say whether a minus at the beginning makes what follows negative: `x = -girth`, not `leaf - girth`."""
    before, after = found[at - 1], found[at + 1] if at + 1 < len(found) else found[at]
    opens = before.kind in ("open", "comma") or before.text in "=:" or before.text.lower() in _BEFORE_DASH
    return opens and found[at].end == after.start


def _is_dash(found: list[Piece], at: int) -> bool:
    """Say whether a minus sign is a dash of the sentence: `new column - weight / height`."""
    if found[at].kind != "minus" or found[at].spoken or at == 0 or at + 1 >= len(found):
        return False
    loose = found[at].end < found[at + 1].start and found[at - 1].end < found[at].start
    return loose and found[at - 1].text.lower() in _BEFORE_DASH


def _cut_off(found: list[Piece], item: Found) -> str:
    """Return the sign that binds an expression to something that was not understood, or ""."""
    before = found[item.first - 1] if item.first else None
    after = found[item.last] if item.last < len(found) else None
    if before is not None and before.kind in BINDING and not (before.kind == "minus" and _is_dash(found, item.first - 1)):
        return before.text
    if item.first > 1 and before is not None and before.kind == "open":  # `gcd(a + b)`: no function that is known
        name = found[item.first - 2]
        if name.kind not in ("comma", "open") and name.end == before.start and name.text[:1].isalnum() and name.text.lower() != "mutate":
            return name.text
    dash = after is not None and after.kind == "minus" and not after.spoken
    time = after is not None and after.kind == "over" and after.spoken
    if after is not None and after.kind in ("word", "vague", "level") and item.last + 1 < len(found):
        beyond = found[item.last + 1]  # `length squared` behind the column `wing`
        if beyond.kind in ("pow", "square", "cube", "times", "plus") or (beyond.kind == "over" and beyond.text != "over"):
            return f"{after.text} {beyond.text}"
    return after.text if after is not None and after.kind in (*BINDING, "square", "cube") and not dash and not time else ""


