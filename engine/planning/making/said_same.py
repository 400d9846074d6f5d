"""Groups that the question says to be one: `'NaCl 0,9%' is NaCl`, `HCT116 and HCT-116 are the same line`, `pos and POS are the same`."""

from __future__ import annotations

import re
from itertools import permutations

from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Sheet
from engine.planning.tables.values import read_anew

_IS = r"\s*['\"”)]*\s*(?:=+|(?:is|means?|stands for|counts? as)(?:\s+(?:just|simply|also|really))?|is the same as)\s*(?:the\s+)?['\"“(]*\s*"
_SAME = r"\s*['\"”]*\s*(?:and|/|,|&)\s*['\"“]*\s*"
_ARE_ONE = r"\s*['\"”]*\s*(?:are|mean|is)\s+(?:(?:all|both|really|just)\s+)?(?:the\s+same|one|identical)\b"
MOST = 60
"""A column of more levels has names, not groups."""


def with_same_said(reading: Reading, data: Data) -> Data:
    """Return the data with a level read as another one where the question says that they are one; as they were where it does not."""
    sheets = [_read_so(sheet, reading) for sheet in data.sheets]
    return data if all(one is other for one, other in zip(sheets, data.sheets, strict=True)) else Data(sheets)


def _read_so(sheet: Sheet, reading: Reading) -> Sheet:
    same: dict[str, dict[str, str]] = {}
    for column in sheet.columns:
        if column.kind != "category" or len(column.levels) > MOST:
            continue
        named = [level for level in column.levels if level.strip() and level.strip() in reading.question]
        for one, other in permutations(named, 2):
            if _said(one, other, reading.question) and other not in same.get(column.name, {}):
                same.setdefault(column.name, {})[one] = other
    if not same:
        return sheet
    already: dict[str, dict[str, str]] = sheet.profile.types[0].read.get("same", dict[str, dict[str, str]]())
    merged = {name: {**already.get(name, {}), **same.get(name, {})} for name in {*already, *same}}
    profile = read_anew(sheet.profile, same=merged)
    told = [
        f"{profile.name}: {one!r} is read as {other!r} in {name!r}, as the question says."
        for name, pairs in same.items() for one, other in pairs.items()
    ]  # fmt: skip
    return Sheet(profile.model_copy(update={"warnings": [*profile.warnings, *told]}), sheet.made)


def _said(one: str, other: str, question: str) -> bool:
    """Say whether a question says that a level is another; what is only compared (`is A B`) is written with a quote or an equals sign."""
    a, b = (rf"(?<![\w.])['\"“]?{re.escape(text.strip())}['\"”]?" for text in (one, other))
    end = r"(?![\w%.-]|,\d)"
    is_other = re.search(
        rf"(?P<all>(?:^|[.;,(]\s*|\band\s+){a}{_IS}{b}{end})\s*(?:[.;,)]|$|\bas well\b|\btoo\b|\band\b)", question
    )
    if is_other and len(one) > 1:
        return True
    both = re.search(rf"{a}{_SAME}{b}{_ARE_ONE}", question) or re.search(rf"{b}{_SAME}{a}{_ARE_ONE}", question)
    return both is not None and (len(one), one) > (len(other), other)  # the longer one is written as the shorter
