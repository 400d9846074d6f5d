"""What words and the names of levels deny."""

from __future__ import annotations

import re

NEGATORS = frozenset("not no non never without".split())
"""Words that make the opposite of what follows them."""
_DENIED = re.compile(rf"(?:{'|'.join(NEGATORS)})[\s_-]+(.+)|non(.+)", re.IGNORECASE)


def denied_part(name: str) -> str:
    """Return what a name denies, `smoker` of `non-smoker` and `never smoker`; "" where it denies nothing."""
    found = _DENIED.fullmatch(name.strip())
    return (found[1] or found[2]) if found else ""
