"""Takes keys out of texts, in every form in which a server, a library or a log might repeat them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from urllib.parse import quote

SHORTEST = 8
"""A shorter key would be found in ordinary words."""
MARK = "[key]"


class Redactor:
    """Knows the keys in use. Calling it with a text returns the text without them."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._forms: tuple[str, ...] = ()
        self.know(keys)

    def know(self, keys: Iterable[str]) -> None:
        """Take out these keys too from now on."""
        forms = {form for key in keys if len(key) >= SHORTEST for form in _forms(key)}
        # The longest first, so that no form leaves a rest of another.
        self._forms = tuple(sorted({*self._forms, *forms}, key=len, reverse=True))

    def __call__(self, text: str) -> str:
        """Return the text with every known key replaced by a mark."""
        for form in self._forms:
            text = text.replace(form, MARK)
        return text


def _forms(key: str) -> set[str]:
    """Return a key as it is, as JSON, URLs and basic authentication write it, and the part of it servers show."""
    return {key, json.dumps(key)[1:-1], quote(key, safe=""), base64.b64encode(key.encode()).decode()}


def masked(key: str) -> str:
    """Return a key as a person may see it: its last four letters, where it is long enough not to be told by them."""
    return f"...{key[-4:]}" if len(key) >= 16 else "..."
