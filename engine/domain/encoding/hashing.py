"""Canonical JSON and tagged hashes: the same value has the same name on every machine.

SHA-256 is used everywhere because it is what users can check with the tools they have
(`sha256sum`), and what the provenance record promises.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys, no spaces and no NaN, so that equal values give equal text.

    Raises:
        ValueError: for NaN or infinities, which have no JSON form.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_text(text: str) -> str:
    """Return the hexadecimal SHA-256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sha256_bytes(data: bytes) -> str:
    """Return the hexadecimal SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_value(value: Any) -> str:
    """Return the hexadecimal SHA-256 of the canonical JSON of `value`."""
    return sha256_text(canonical_json(value))
