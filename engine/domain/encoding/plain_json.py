"""Documents as JSON that every reader takes: NaN and infinity, which JSON lacks, are null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast


def json_text(document: Any, *, ascii_only: bool = False, indent: int | None = None) -> str:
    """Return a document as JSON; what JSON has no form for (paths, dates) is text."""
    return json.dumps(plain(document), ensure_ascii=ascii_only, allow_nan=False, default=str, indent=indent)


def plain(value: Any) -> Any:
    """Return nested mappings and sequences with None in place of NaN and infinities."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    # What JSON holds is told apart by looking: a checker knows no more of it than that it is a mapping or a sequence.
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    return [plain(item) for item in cast("Sequence[Any]", value)] if isinstance(value, list | tuple) else value
