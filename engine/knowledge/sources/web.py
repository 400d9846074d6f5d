"""What a download needs of the web and nothing of what is downloaded: addresses, headers, and notes on the disk."""

from __future__ import annotations

import http.client
import json
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from engine.errors import FetchError, UserError


class WebOnly(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only; urllib would go on by FTP as well."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Return the request a redirect leads to.

        Raises:
            FetchError: when it leads away from the web.
        """
        check_address(newurl, f"{urllib.parse.urlsplit(req.full_url).netloc} leads on to another address, but ")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def opener() -> urllib.request.OpenerDirector:
    """Return what opens addresses on the web."""
    return urllib.request.build_opener(WebOnly)


def check_address(url: str, before: str = "") -> None:
    """Refuse an address that is not on the web.

    Raises:
        UserError: for an address that was given; FetchError for one that a server gave.
    """
    if urllib.parse.urlsplit(url).scheme in ("http", "https"):
        return
    if before:
        message = f"{before}{url!r} is not http or https."
        raise FetchError(message, advice="Look at the source's page for the right address.")
    raise UserError(f"The address {url!r} is not http or https.", advice="Correct the address.")


def reason(error: object) -> str:
    """Return why a connection failed, as part of a sentence."""
    if isinstance(error, http.client.IncompleteRead):
        return "the connection ended before the file did"
    if isinstance(error, TimeoutError):
        return "the server was silent for too long"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).rstrip(".")


def marks_of(headers: Any) -> list[str]:
    """Return what an answer says of the file's version, the surest first; a weak tag proves no byte."""
    tag, changed = headers.get("ETag") or "", headers.get("Last-Modified") or ""
    return [mark for mark in ("" if tag.startswith("W/") else tag, changed) if mark]


def content_range(text: str) -> tuple[int, int | None]:
    """Return (first byte, total or None) of `bytes 100-199/200`; -1 when it says something else."""
    span, _, total = text.removeprefix("bytes").strip().partition("/")
    first = span.partition("-")[0].strip()
    return (int(first) if first.isdigit() else -1), (int(total) if total.strip().isdigit() else None)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file, an empty one when there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write an object to a file, whole or not at all."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_text(json.dumps(value, indent=1), encoding="utf-8")
    temporary.replace(path)
