"""Who may use the app: everybody on this computer, or whoever holds the link with its token.

Without a token only connections to this computer's own address are served, whatever address the server was told to
listen on. With one, the link of `biodesk serve` is exchanged for a cookie, and nothing but the health check is
answered without it: no page, no web socket, no file, no upload.

In both cases a page of another host or port may ask nothing: a browser takes all ports of a computer for one site and
sends the cookie along with what another port's page asks.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

PARAMETER = "token"
_HEALTH = "/_stcore/health"

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

_HERE_ONLY = "This app serves its own computer only; `biodesk serve --host ADDRESS` opens it to who has its link."
_OWN_PAGES_ONLY = "This app answers its own pages only, not those of another address."
_NEEDS_LINK = "This app is opened with the link that `biodesk serve` printed; this address lacks its token."


class Gate:
    """Refuses what may not come in with status 403.

    Args:
        app: what serves those who may.
        token: the secret of the link; "" admits connections to this computer's own address only.
    """

    def __init__(self, app: Callable[[Message, Any, Send], Awaitable[None]], token: str = "") -> None:
        self._app = app
        self._token = token
        # Other servers on this computer are sent it, too, and must not learn the link from it.
        self._cookie = hmac.new(token.encode(), b"cookie", "sha256").hexdigest()

    async def __call__(self, scope: Message, receive: Any, send: Send) -> None:
        """Serve or refuse one request."""
        if scope["type"] == "lifespan" or scope.get("path") == _HEALTH:
            await self._app(scope, receive, send)
            return
        foreign = _foreign_origins(scope)
        if foreign and not _allowed(foreign):
            await _refuse(scope, send, _OWN_PAGES_ONLY)
            return
        if foreign and scope["type"] == "websocket":
            # Streamlit would ask another host for this one's address before it looks for the origin in its settings.
            scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"origin"]}
        if not self._token:
            if _came_to_own_address(scope):
                await self._app(scope, receive, send)
            else:
                await _refuse(scope, send, _HERE_ONLY)
        elif scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and self._has_link(scope):
            await self._welcome(scope, send)
        elif self._has_cookie(scope):
            await self._app(scope, receive, send)
        else:
            await _refuse(scope, send, _NEEDS_LINK)

    def _has_link(self, scope: Message) -> bool:
        return any(name == PARAMETER and _same(value, self._token) for name, value in _query(scope))

    def _has_cookie(self, scope: Message) -> bool:
        for name, value in scope["headers"]:
            if name == b"cookie":
                try:
                    found = SimpleCookie(value.decode("latin-1")).get(_cookie_name(scope))
                except CookieError:
                    continue
                if found is not None and _same(found.value, self._cookie):
                    return True
        return False

    async def _welcome(self, scope: Message, send: Send) -> None:
        """Store the cookie and lead on to the same address without the token.

        A page that leads on, no redirection: a browser that came by a link on another site would not send a strict
        cookie along with a redirection.
        """
        rest = urlencode([pair for pair in _query(scope) if pair[0] != PARAMETER])
        # One slash: two would name another host.
        target = quote("/" + scope["path"].lstrip("/\\"), safe="/") + (f"?{rest}" if rest else "")
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        cookie = f"{_cookie_name(scope)}={self._cookie}; Path=/; HttpOnly; SameSite=Strict{secure}"
        page = f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(target)}"><title>Biodesk</title>'
        await _answer(send, 200, "text/html; charset=utf-8", page, (b"set-cookie", cookie.encode()))


def _same(text: str, secret: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "replace"), secret.encode())


def _foreign_origins(scope: Message) -> list[str]:
    """Return what the browser says the asking page is of, where that is not the host and port that were asked."""
    host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1").lower()
    origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
    return [origin for origin in origins if origin.lower().partition("://")[2] != host]


def _allowed(origins: list[str]) -> bool:
    """Say whether whoever started the app named all of these as its addresses: a proxy may change the host."""
    from streamlit import config

    return set(origins) <= set(config.get_option("server.corsAllowedOrigins"))


def _came_to_own_address(scope: Message) -> bool:
    """Say whether the connection was made to an address that no other computer can reach."""
    try:
        address = ipaddress.ip_address((scope.get("server") or ("",))[0])
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _query(scope: Message) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _cookie_name(scope: Message) -> str:
    """Return a name that two servers on different ports of one computer do not share, as they share its cookies."""
    return f"biodesk_{(scope.get('server') or ('', 0))[1]}"


async def _refuse(scope: Message, send: Send, why: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})  # before it was accepted: the server answers with 403
    else:
        await _answer(send, 403, "text/plain; charset=utf-8", why)


async def _answer(send: Send, status: int, kind: str, text: str, *more: tuple[bytes, bytes]) -> None:
    body = text.encode()
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    headers += [(b"cache-control", b"no-store"), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
