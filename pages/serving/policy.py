"""What the browser may do with a page of the app: run the app's own scripts, and ask this server, nobody else.

Names are shown as typed (`pages/parts/escape.py`). This is the second wall: were one taken for HTML in spite of
that, the browser would neither run it nor fetch from another host for it.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import re
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

_PAGES = (("streamlit", "static/index.html"), ("streamlit_agraph", "frontend/build/index.html"))
"""The pages that are sent as HTML: the app's and that of the network drawing."""
_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_COMPONENTS = "/component/"
"""Below this are the pages of drawings. They may not open windows, which the network does when clicked twice."""
_HOST = re.compile(r"[\w.-]+(:\d+)?|\[[\da-fA-F:]+\](:\d+)?")

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


def _inline_scripts() -> Iterator[str]:
    """Yield the hash of each script that stands within a page we send: these may run, any other may not."""
    for package, file in _PAGES:
        found = importlib.util.find_spec(package)
        if found is not None and found.origin:
            page = Path(found.origin).parent / file
            for script in _INLINE.findall(page.read_bytes()):
                yield f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


class Policy:
    """Adds the policy to every answer of the server."""

    def __init__(self, app: Callable[[Message, Any, Send], Awaitable[None]]) -> None:
        self._app = app
        self._scripts = " ".join(["script-src 'self'", *_inline_scripts()])

    async def __call__(self, scope: Message, receive: Any, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = [(name.encode(), value.encode()) for name, value in self._headers(scope).items()]

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *headers]
            await send(message)

        await self._app(scope, receive, answered)

    def _headers(self, scope: Message) -> dict[str, str]:
        named = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
        # Not every browser counts a web socket to the same host as 'self'.
        socket = f" ws://{named} wss://{named}" if _HOST.fullmatch(named) else ""
        policy = [
            "default-src 'self'",
            self._scripts,
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            f"connect-src 'self'{socket}",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
        ]
        if scope["path"].startswith(_COMPONENTS):
            policy.append("sandbox allow-scripts allow-same-origin")
        return {
            "content-security-policy": "; ".join(policy),
            "referrer-policy": "same-origin",
            "x-content-type-options": "nosniff",
        }
