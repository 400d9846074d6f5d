"""Every expression that stands in a question, the fullest first, and none that was cut off from what is not understood."""

from __future__ import annotations

from typing import NamedTuple

from engine.planning.formulas.arithmetic import FUNCTIONS, TWO_WAYS, Parser, TwoWays
from engine.planning.formulas.nodes import FormulaNode
from engine.planning.formulas.terms import BINDING, FormulaPiece


class FoundExpression(NamedTuple):
    """An expression with the pieces it was read from."""

    node: FormulaNode
    first: int
    last: int


def expressions(found: list[FormulaPiece], columns: list[str]) -> list[FoundExpression]:
    """Return every expression of at least one column and one step, the one with most columns first.

    Raises:
        TwoWays: when the fullest can be read in two ways.
    """
    able: list[FoundExpression] = []
    doubts: list[tuple[int, int]] = []
    for start in range(len(found)):
        if start and (
            found[start - 1].kind in FUNCTIONS or (found[start].kind == "minus" and not _is_sign(found, start))
        ):
            continue
        parser = Parser(found, start, columns)
        try:
            node = parser.sum()
        except TwoWays:
            doubts.append((start, parser.at))
            continue
        if node is not None and node.columns and node.steps:
            able.append(FoundExpression(node, start, parser.at))
    able.sort(key=lambda f: (-len(f.node.columns), -f.node.steps, f.first))
    if doubts and not any(f.first < doubts[0][0] and f.last >= doubts[0][1] for f in able[:1]):
        raise TwoWays(f"{TWO_WAYS}; write the formula with brackets, for example `(a - b) / c`.")
    if able and (part := _cut_off(found, able[0])):
        raise TwoWays(f"What stands beside {part!r} is no column or number; write the formula with the columns' names.")
    return able


_BEHIND = ("pow", "square", "cube")
_AFTER_DASH = frozenset(
    "and then please save call as for in with so i we the it this that to name thanks one use which".split()
)
_BEFORE_DASH = frozenset(
    "column columns variable variables col formula please new compute calculate derive add".split()
)


def _is_sign(found: list[FormulaPiece], at: int) -> bool:
    """Say whether a minus at the beginning makes what follows negative: `x = -girth`, not `leaf - girth`."""
    before, after = found[at - 1], found[at + 1] if at + 1 < len(found) else found[at]
    opens = before.kind in ("open", "comma") or before.text in "=:" or before.text.lower() in _BEFORE_DASH
    return opens and found[at].end == after.start


def _is_dash(found: list[FormulaPiece], at: int) -> bool:
    """Say whether a minus sign is a dash of the sentence: `new column - weight / height`."""
    if found[at].kind != "minus" or found[at].spoken or at == 0 or at + 1 >= len(found):
        return False
    loose = found[at].end < found[at + 1].start and found[at - 1].end < found[at].start
    return loose and found[at - 1].text.lower() in _BEFORE_DASH


def _cut_off(found: list[FormulaPiece], item: FoundExpression) -> str:
    """Return the sign that binds an expression to something that was not understood, or ""."""
    before = found[item.first - 1] if item.first else None
    after = found[item.last] if item.last < len(found) else None
    if (
        before is not None
        and before.kind in BINDING
        and not (before.kind == "minus" and _is_dash(found, item.first - 1))
    ):
        return before.text
    opening = item.first if found[item.first].kind == "open" else item.first - 1
    if opening > 0 and found[opening].kind == "open":  # `gcd(a + b)`: no function that is known
        name = found[opening - 1]
        if (
            name.kind not in ("comma", "open")
            and name.end == found[opening].start
            and name.text[:1].isalnum()
            and name.text.lower() != "mutate"
        ):
            return name.text
    if after is None:
        return ""
    beyond = found[item.last + 1] if item.last + 1 < len(found) else None
    if after.kind in ("word", "vague", "level"):  # `length squared` behind the column `wing`
        bound = beyond is not None and beyond.kind in (*_BEHIND, "times", "plus", "over") and beyond.text != "over"
        return after.text if bound else ""
    dash = after.kind == "minus" and not after.spoken and (beyond is None or beyond.text.lower() in _AFTER_DASH)
    time = after.kind == "over" and after.spoken
    return after.text if after.kind in (*BINDING, *_BEHIND) and not dash and not time else ""
