"""Reading the tables that steps stored: their rows, their p-values and the threshold they were held against."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path

from engine.domain.results import NodeResult
from engine.toolbox.registry import ToolRegistry

ROWS_READ = 2_000_000


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a stored table; none where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as handle:
            for number, row in enumerate(csv.DictReader(handle)):
                if number > ROWS_READ:
                    return
                yield {str(key): str(value or "") for key, value in row.items() if key is not None}
    except (OSError, csv.Error):
        return


def number_of(text: str) -> float | None:
    """Return the finite number a cell holds, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def is_p(column: str) -> bool:
    """Say whether a column holds p-values."""
    return re.search(r"^p$|(?:^|_)(?:p_?val\w*|p_?adj\w*|padj|fdr|q_?val\w*)", column.lower()) is not None


def is_adjusted(column: str) -> bool:
    """Say whether a column holds p-values adjusted for how many there are."""
    return re.search(r"(?:^|_)(?:p_?adj\w*|padj|fdr|q_?val\w*)", column.lower()) is not None


def alpha_of(result: NodeResult, registry: ToolRegistry) -> float | None:
    """Return the significance threshold that a step used, None where it has none."""
    spec = registry.get(result.tool) if result.tool in registry else None
    value = {**({p.name: p.default for p in spec.params} if spec else {}), **result.params}.get("alpha")
    return float(value) if isinstance(value, int | float) else None
