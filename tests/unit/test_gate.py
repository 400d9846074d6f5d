"""What the gate lets in, asked directly."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pages._gate import Gate


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


@pytest.mark.parametrize("cookie", [b"biodesk_80=secret", b"x=1; biodesk_80=secret", b'biodesk_80="secret"'])
def test_the_cookie_of_this_port_lets_in(cookie: bytes) -> None:
    assert answer(Gate(inside, "secret"), headers=[(b"cookie", cookie)], method="POST") == ["in"]
    assert answer(Gate(inside, "secret"), headers=[(b"cookie", cookie)], server=("127.0.0.1", 81))[0] == 403
    assert answer(Gate(inside, "other"), headers=[(b"cookie", cookie)])[0] == 403
