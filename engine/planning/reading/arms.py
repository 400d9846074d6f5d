"""`in every group`, `per arm`: the only column that says what was given, by a control among its values or else by its name."""

from __future__ import annotations

from collections.abc import Sequence

from engine.data.structure.scales import tokens
from engine.planning.naming.mention import NO, YES, ColumnMention
from engine.planning.reading.contrast import control_level
from engine.planning.tables.sheets import Sheet, is_group
from engine.text.tokens import Token

_EACH = frozenset("each every per both all between the".split())
_GROUPS = frozenset("group groups arm arms treatment treatments".split())
_NAMED = frozenset(
    "group grp grps arm trt tx treatment randomised randomized allocation gruppe groupe grupo bras brazo".split()
)
WEAKLY = 0.7
"""How surely such words name the column: less than its own name."""


def groups_meant(words: Sequence[Token], sheet: Sheet) -> list[ColumnMention]:
    """Return `every group` as a mention of the only column whose names hold a control (`placebo`, `sham`), or that is called so."""
    here = [at for at, word in enumerate(words) if at and word.text in _GROUPS and words[at - 1].text in _EACH]
    able = [c for c in sheet.columns if here and is_group(c)]
    names = [c.name for c in able if _has_control([*c.levels])] or [c.name for c in able if {*tokens(c.name)} & _NAMED]
    return [ColumnMention(names[0], "", at, at, WEAKLY) for at in here] if len(names) == 1 else []


def _has_control(levels: Sequence[str]) -> bool:
    """Say whether one of names, none of them a mere yes or no or a number, is called like a control."""
    plain = {level.strip().lower() for level in levels}
    return bool(levels) and not plain & (YES | NO) and bool(control_level(levels))
