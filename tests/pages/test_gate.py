"""What the gate lets in, asked directly."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pages.serving.gate import Gate


def answer(gate: Gate, **changes: Any) -> list[Any]:
    """Return what was sent in answer to a request; ["in"] when it was let in."""
    sent: list[Any] = []
    scope = {
        "type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [], "server": ("127.0.0.1", 80),
        **changes,
    }  # fmt: skip

    async def send(message: Any) -> None:
        sent.append(message.get("status", message["type"]))

    asyncio.run(gate(scope, None, send))
    return sent


async def inside(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "in"})


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_without_a_token_connections_to_this_computers_own_address_come_in(address: str) -> None:
    for kind in ("http", "websocket"):
        assert answer(Gate(inside), type=kind, server=(address, 80)) == ["in"]


@pytest.mark.parametrize("server", [("192.168.1.5", 80), ("::", 80), ("2001:db8::1", 80), ("host", 80), None])
def test_without_a_token_no_other_connection_does_whatever_the_server_listens_on(server: Any) -> None:
    assert answer(Gate(inside), server=server)[0] == 403
    assert answer(Gate(inside), type="websocket", server=server) == ["websocket.close"]
    assert answer(Gate(inside), type="lifespan", server=server) == ["in"]
    assert answer(Gate(inside), path="/_stcore/health", server=server) == ["in"]


def test_the_token_is_taken_from_the_link_of_a_page_only() -> None:
    gate = Gate(inside, "secret")
    assert answer(gate, query_string=b"token=secret")[0] == 200
    assert answer(gate, query_string=b"token=secret", method="POST")[0] == 403
    assert answer(gate, query_string=b"token=secret", type="websocket") == ["websocket.close"]
    assert answer(gate, query_string="token=gehe\u00efm".encode())[0] == 403


def cookie_of(token: str) -> bytes:
    """Return the cookie that the link gives."""
    given: list[bytes] = []

    async def send(message: Any) -> None:
        given.extend(value for name, value in message.get("headers", []) if name == b"set-cookie")

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": f"token={token}".encode(), "headers": []}
    asyncio.run(Gate(inside, token)({**scope, "server": ("127.0.0.1", 80)}, None, send))
    return given[0].split(b";")[0]


@pytest.mark.parametrize("form", ["{0}={1}", "x=1; {0}={1}", '{0}="{1}"'])
def test_the_cookie_of_this_port_lets_in(form: str) -> None:
    name, _, value = cookie_of("secret").decode().partition("=")
    assert "secret" not in value, "who is sent the cookie cannot make the link of it"
    cookie = form.format(name, value).encode()
    assert answer(Gate(inside, "secret"), headers=[(b"cookie", cookie)], method="POST") == ["in"]
    assert answer(Gate(inside, "secret"), headers=[(b"cookie", cookie)], server=("127.0.0.1", 81))[0] == 403
    assert answer(Gate(inside, "other"), headers=[(b"cookie", cookie)])[0] == 403
    assert answer(Gate(inside, "secret"), headers=[(b"cookie", b"biodesk_80=secret")])[0] == 403


FOREIGN = [
    b"http://127.0.0.1:9999",
    b"http://127.0.0.1",
    b"https://evil.example",
    b"http://localhost:80",
    b"null",
    b"http://[",
]


@pytest.mark.parametrize("token", ["", "secret"])
@pytest.mark.parametrize("origin", FOREIGN)
def test_a_page_of_another_host_or_port_is_refused_whatever_cookie_its_browser_sends(origin: bytes, token: str) -> None:
    headers = [(b"host", b"127.0.0.1:80"), (b"cookie", cookie_of("secret")), (b"origin", origin)]
    gate = Gate(inside, token)
    assert answer(gate, type="websocket", headers=headers) == ["websocket.close"]
    assert answer(gate, method="POST", headers=headers)[0] == 403
    own = [*headers[:2], (b"origin", b"http://127.0.0.1:80")]
    assert answer(gate, type="websocket", headers=own) == answer(gate, method="POST", headers=own) == ["in"]
    assert answer(gate, type="websocket", headers=[*own, headers[2]]) == ["websocket.close"]
    assert answer(gate, type="websocket", headers=headers[:2]) == ["in"], "no browser leaves it out"


def test_an_origin_named_in_the_settings_comes_in_and_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit import config

    named = {"server.corsAllowedOrigins": ["https://desk.example.org"]}
    monkeypatch.setattr(config, "get_option", named.__getitem__)
    seen: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.extend(name for name, _ in scope["headers"])
        await send({"type": "in"})

    headers = [(b"host", b"127.0.0.1:80"), (b"origin", b"https://desk.example.org")]
    assert answer(Gate(app), type="websocket", headers=headers) == ["in"]
    assert seen == [b"host"]
    headers[1] = (b"origin", b"https://desk.example.org.evil.example")
    assert answer(Gate(app), type="websocket", headers=headers) == ["websocket.close"]
