"""Tells raw counts from all numbers that only look like them, and what is wrong with the samples they are of.

Tests for counts applied to normalised values give small, wrong p-values without any error, so the
decision rests on the values themselves and whatever speaks against counts is said with its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.data.source import plural, some

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class Nature:
    """What kind of numbers a matrix holds."""

    kind: str
    """counts, binary, estimated, per_million, log, normalised, negative, intensities, unclear (counts or these)."""
    negative: int = 0
    non_integer: int = 0
    maximum: float = 0.0
    minimum: float = 0.0


FEW_BELOW = 0.01
"""Read counts have many small values, also where faint genes were left out; intensities begin where a detector sees."""
INTENSE, DIM, MANY_ROWS = 1000, 100, 50
"""Below the first hardly an intensity lies; whole numbers that begin between both, in so many rows, may be either."""


def _begins_at(above: np.ndarray) -> float:
    """Return the value below which few of the values above zero lie."""
    import numpy as np

    return float(np.quantile(above, FEW_BELOW)) if above.size else 0.0


def judge_values(array: np.ndarray, *, whole_columns: bool = True, measured: bool = False) -> Nature:
    """Say what kind of numbers these are.

    Args:
        array: features x samples.
        whole_columns: whether the columns hold every row of the file.
        measured: whether the headings say that these are intensities (of proteins, metabolites, probes).
    """
    import numpy as np

    present = array[np.isfinite(array)]
    if present.size == 0:
        return Nature(kind="normalised")
    negative = int((present < 0).sum())
    fractional = int((present % 1 != 0).sum())
    facts = {"negative": negative, "non_integer": fractional, "maximum": float(present.max()),
             "minimum": float(present.min())}  # fmt: skip
    if negative:
        return Nature(kind="negative", **facts)
    sums = np.nansum(array, axis=0)
    per_million = whole_columns and len(sums) > 1 and bool((np.abs(sums - 1e6) < 1e4).all())
    if per_million:
        return Nature(kind="per_million", **facts)
    above = present[present > 0]
    begins = _begins_at(above)
    if begins >= INTENSE or (measured and facts["maximum"] > 50 and (fractional or begins >= DIM)):
        return Nature(kind="intensities", **facts)
    if fractional == 0:
        unclear = begins >= DIM and len(array) >= MANY_ROWS
        return Nature(kind="binary" if facts["maximum"] <= 1 else "unclear" if unclear else "counts", **facts)
    whole = float((above % 1 == 0).mean()) if above.size else 0.0
    if facts["maximum"] <= 50:
        return Nature(kind="log", **facts)
    # RSEM and Salmon share reads between transcripts: most small counts stay whole.
    if facts["maximum"] > 1000 and whole >= 0.15:
        return Nature(kind="estimated", **facts)
    return Nature(kind="normalised", **facts)


def missing_warnings(name: str, array: np.ndarray, part: str) -> list[str]:
    """Return how many values are missing, `part` saying of which rows."""
    import numpy as np

    missing = int(np.isnan(array).sum())
    if not missing:
        return []
    rows = int(np.isnan(array).any(axis=1).sum())
    where = f"{plural(rows, 'row')} {part}".strip()
    return [f"{name} has {plural(missing, 'missing value')} in {where}; most methods need these filled or left out."]


def sample_warnings(name: str, array: np.ndarray, samples: list[str], nature: Nature, *, whole: bool) -> list[str]:
    """Return what is wrong with samples; their sums and copies can be judged only where they are `whole`."""
    import numpy as np

    warnings = []
    sums = np.nansum(array, axis=0)
    repeated = sorted({s for s in samples if samples.count(s) > 1}) if len(samples) <= 2000 else []
    if repeated:
        warnings.append(
            f"{name}: {plural(len(repeated), 'sample name')} used more than once ({some(repeated)}); make them unique."
        )
    if not whole:
        return warnings
    empty = [str(s) for s, total in zip(samples, np.nansum(np.abs(array), axis=0), strict=False) if total == 0]
    if empty:
        warnings.append(
            f"{name}: {plural(len(empty), 'sample')} with a total of zero ({some(empty)}); leave out or check."
        )
    filled = sums[sums > 0]
    if nature.kind in ("counts", "estimated", "unclear") and len(filled) > 1 and filled.max() > 10 * filled.min():
        warnings.append(
            f"{name}: library sizes differ {filled.max() / filled.min():,.0f}-fold (from {filled.min():,.0f} to "
            f"{filled.max():,.0f} reads); check the smallest samples before comparing."
        )
    if 1 < array.shape[1] <= 200:
        seen: dict[bytes, str] = {}
        for index, sample in enumerate(samples[: array.shape[1]]):
            key = np.ascontiguousarray(array[:, index]).tobytes()
            if key in seen and str(sample) not in empty:
                warnings.append(
                    f"{name}: samples {seen[key]!r} and {str(sample)!r} have identical values; one may be a copy."
                )
                break
            seen.setdefault(key, str(sample))
    return warnings
