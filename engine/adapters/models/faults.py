"""What servers say when they do not answer, as the engine's errors: by status, and by words where one has many uses."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Mapping
from typing import Any

from engine.errors import (
    ContextTooLong,
    ModelAuthentication,
    ModelNotFound,
    ModelOverloaded,
    ModelQuotaSpent,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelUnavailable,
)

_SHOWN = 300
"""Letters of a server's message that are shown."""
_TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum context|too many (input )?tokens|(prompt|input|request) is too long"
    r"|reduce the length|exceeds? the (available|maximum) (context|input)|max(imum)? input",
    re.IGNORECASE,
)
_POLICY = re.compile(r"content.?(policy|filter|management)|safety (system|setting)|responsible ai", re.IGNORECASE)
_NO_MODEL = re.compile(r"model\b.{0,80}(not found|not exist|unknown|not supported|not a valid)|no such model"
                       r"|invalid model|unknown model", re.IGNORECASE | re.DOTALL)  # fmt: skip
_NO_MONEY = re.compile(r"insufficient.?(quota|credit|fund|balance)|billing|exceeded your current quota|out of credit"
                       r"|credit balance", re.IGNORECASE)  # fmt: skip
_BY_STATUS: dict[int, type[ModelUnavailable]] = {
    401: ModelAuthentication,
    402: ModelQuotaSpent,
    403: ModelAuthentication,
    404: ModelNotFound,
    408: ModelOverloaded,
    409: ModelOverloaded,
    413: ContextTooLong,
    425: ModelOverloaded,
    429: ModelRateLimited,
}
_BY_WORDS: tuple[tuple[re.Pattern[str], type[ModelUnavailable]], ...] = (
    (_TOO_LONG, ContextTooLong),
    (_POLICY, ModelRefused),
    (_NO_MODEL, ModelNotFound),
    (_NO_MONEY, ModelQuotaSpent),
)


def from_status(name: str, status: int, body: str, headers: Mapping[str, str]) -> ModelUnavailable:
    """Return the error for an answer with this status; `wait` is what Retry-After says, in seconds."""
    said = message_of(body)
    kind = kind_of(status, said)
    wait = retry_after(headers) if kind.retryable else None
    shown = f": {said[:_SHOWN]}" if said else "."
    return kind(f"{name} gave no answer (status {status}){shown}", wait=wait, details={"status": status})


def kind_of(status: int, said: str) -> type[ModelUnavailable]:
    """Return which error a status and a server's words are."""
    if status == 429:  # many providers answer an empty account with the status of a busy minute
        return ModelQuotaSpent if _NO_MONEY.search(said) else ModelRateLimited
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return ModelOverloaded
    if 300 <= status < 400:
        return ModelNotFound  # a redirect is not followed: it would carry the key to another address
    return next((kind for words, kind in _BY_WORDS if words.search(said)), ModelRejected)


def message_of(body: str) -> str:
    """Return what a server says is wrong: the message of its JSON, else its text."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        return " ".join(body.split())
    for key in ("error", "message", "detail", "msg"):
        if isinstance(found, dict) and found.get(key):
            found = found[key]
    if isinstance(found, dict):
        found = " ".join(str(found[key]) for key in ("code", "type") if found.get(key))
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)[:1000]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that Retry-After asks for, given in seconds or as a date; None without one."""
    said = headers.get("retry-after", "")
    try:
        if milliseconds := headers.get("retry-after-ms", ""):
            return max(0.0, float(milliseconds) / 1000)
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
