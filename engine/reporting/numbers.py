"""Numbers look the same wherever they are shown: enough digits to use, not more than were measured.

The exact value stays in the artifact; these functions only decide what is shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

_P_NAMES = re.compile(r"(^|_)(p|q|padj|pval|pvalue|p_?adj|p_?val(ue)?|q_?val(ue)?|fdr)(_|$)", re.IGNORECASE)
_IDENTIFIER_NAMES = re.compile(r"(^|_)(id|ids|entrez|year|barcode|accession|row|zip|code)($|_)", re.IGNORECASE)
_INTEGER = re.compile(r"[-+]?\d+")


def format_number(value: object, digits: int = 4, *, padded: bool = False) -> str:
    """Return a number with thousands separators and about `digits` significant digits; other values as text.

    Digits before the decimal point are never rounded away: 12345.6 is `12,346`, not `12,350`. With `padded`,
    zeros that were measured are kept: 0.67001 is `0.6700`.
    """
    if value is None:
        return "NA"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "NA"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return _format_float(value, digits, padded=padded)


def _format_float(value: float, digits: int, *, padded: bool) -> str:
    size = abs(value)
    if value == 0:
        return "0"
    if size >= 1e15 or size < 1e-3:
        return _short_exponent(f"{value:.{digits - 1}e}", strip=True)
    if value == int(value) or size >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    text = f"{value:#.{digits}g}" if padded else f"{value:.{digits}g}"
    # Rounding can reach the next power of ten: 999.96 is shown as 1,000.
    return text if abs(float(text)) < 10 ** (digits - 1) else f"{float(text):,.0f}"


def format_p(value: object) -> str:
    """Return a p-value: three digits down to 0.001, below that as 1.2e-8.

    Zero stays `0`: an underflow and an empty count of permutations both give it, and only the tool knows which.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
        return format_number(value)
    number = float(value)
    if not 0 <= number <= 1:
        return format_number(number)
    if number == 0 or number == 1:
        return f"{number:.0f}"
    if number > 0.999:
        return ">0.999"
    if number >= 0.001:
        return f"{number:.3g}"
    return _short_exponent(f"{number:.1e}")


def _short_exponent(text: str, *, strip: bool = False) -> str:
    mantissa, _, exponent = text.partition("e")
    if strip and "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"


def is_p_column(name: str) -> bool:
    """Say whether a column of this name holds p-values or their adjusted form."""
    return _P_NAMES.search(name) is not None


def parse_number(text: str) -> float | None:
    """Return the number a table cell holds, or None when it is not a finite number written plainly."""
    stripped = text.strip()
    if not stripped or stripped[0] not in "+-.0123456789":
        return None
    try:
        number = float(stripped)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in stripped else None


def format_cell(text: str, column: str) -> str:
    """Return a table cell as shown: numbers shortened by what their column holds, other text unchanged."""
    number = parse_number(text)
    if number is None:
        return text
    stripped = text.strip()
    if _INTEGER.fullmatch(stripped):
        plain = _IDENTIFIER_NAMES.search(column) is not None or (stripped[0] == "0" and len(stripped) > 1)
        return stripped if plain or abs(number) < 10_000 else f"{int(stripped):,}"
    if is_p_column(column):
        return format_p(number)
    return format_number(number, padded=len(re.sub(r"\D|[eE].*|^0\.0*", "", stripped)) >= 4)


_MISSING = frozenset({"", "NA", "NaN", "nan", "None", "inf", "-inf"})


def holds_numbers(cells: Iterable[str]) -> bool:
    """Say whether the cells of a column are numbers, some of which may be missing."""
    filled = [text for text in cells if text.strip() not in _MISSING]
    return bool(filled) and all(parse_number(text) is not None for text in filled)


def shown_cells(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[bool], list[list[str]]]:
    """Return which columns of a table hold numbers, and its rows as they are shown."""
    numeric = [holds_numbers(cells[at] for cells in rows) for at in range(len(columns))]
    shown = [
        [
            format_cell(text, name) if number else text
            for name, number, text in zip(columns, numeric, cells, strict=True)
        ]
        for cells in rows
    ]
    return numeric, shown
