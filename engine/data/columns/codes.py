"""Numbers that stand for `missing`: -99 among values from 0 on, 999 far beyond the ages of a study.

A code that enters as a number moves every mean; a value that is taken for a code is lost. So a code above the values
counts only on strong evidence: all nines or eights, several times or far beyond, among values that have no long tail.
"""

from __future__ import annotations

from engine.data.source import Column
from engine.text.names import name_parts

BELOW = ("-9", "-99", "-999", "-9999")
ABOVE = ("88", "99", "888", "999", "8888", "9999", "99999")
_NAMING = frozenset(
    "id ids no nr num number code zip postcode plz serial barcode index position pos rank chrom".split()
)
"""Words of columns whose numbers name something or count along: 999 is one of them like any other."""


def missing_codes(series: Column, name: str) -> list[str]:
    """Return the codes for a missing value in a column of numbers, none where there are none.

    Args:
        series: the column as read.
        name: what it is called.
    """
    if series.dtype.kind not in "if":
        return []
    present = series.dropna()
    below = set(present[present < 0])
    if len(below) == 1 and len(present) >= 5 and present[present >= 0].nunique() >= 2:
        return [code for code in BELOW if float(code) in below]
    return _codes_above(present, name)


def _codes_above(present: Column, name: str) -> list[str]:
    if _NAMING & set(name_parts(name)):
        return []
    for code in ABOVE:  # the smallest first: 888 and 999 beside each other are two codes of one column
        found = [other for other in ABOVE if float(other) >= float(code) and bool((present == float(other)).any())]
        rest = present[present < float(code)]
        coded = int((present >= float(code)).sum())
        all_codes = coded == int(present.isin([float(other) for other in found]).sum())
        if found and found[0] == code and all_codes and _beyond(rest, float(code), coded):
            return found
    return []


def _beyond(rest: Column, code: float, times: int) -> bool:
    """Say whether a code lies so far from all other values that it cannot be one of them.

    One that occurs once must be five times the largest value and five times the range away, several times twice that.
    Values with a long tail (counts, prices, titres) reach far by themselves; prices also like to end with a nine.
    """
    if len(rest) < max(5, times) or rest.nunique() < 2 or bool((rest < 0).any()):
        return False
    low, middle, high = (float(rest.quantile(share)) for share in (0.25, 0.5, 0.75))
    top, bottom = float(rest.max()), float(rest.min())
    nearly, log_spaced = float(rest.quantile(0.95)), False
    if low > 0:  # 10, 20, 40 ... 320: such values go on by themselves
        log_spaced = code / nearly < nearly / low
    few = rest.nunique() <= 10 and bool((rest % 1 == 0).all()) and top <= 20
    tail = top - middle > 4 * (high - low) and not few
    nines = float((rest.round(2).mod(1).sub(0.99).abs() < 1e-6).mean() + (rest % 10 == 9).mean()) > 0.3
    counted_along = bool((rest.sort_values().diff().dropna() == 1).all())
    counts = bottom == 0 and bool((rest % 1 == 0).all()) and not few
    if tail or nines or log_spaced or (times < 2 and (counted_along or counts)):
        return False
    far = 2 if times > 1 else 5
    return code >= far * top and code >= top + far * (top - bottom)
