"""LiteLLM: which build may be used, and a provider that speaks a protocol of its own, as far as it is installed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import Behaviour, serving

from engine.adapters.models import litellm_build
from engine.adapters.models.litellm_chat import LiteLLMModel, load
from engine.adapters.models.loop import LoopThread
from engine.errors import BrokenAnswer, ModelOverloaded, ModelUnavailable
from engine.ports.models.chat import ChatMessage, ChatReply, ChatRequest, ToolCall, ToolOffer

ROOT = Path(__file__).parents[2]
ASKED = ChatRequest(
    messages=(ChatMessage(role="system", content="Be short."), ChatMessage(role="user", content="Is TP53 a gene?")),
    tools=(ToolOffer(name="look", description="Look.", parameters={"type": "object", "properties": {"gene": {}}}),),
    max_output_tokens=64,
    seconds=60,
)
needs_litellm = pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="LiteLLM is not installed")


# ==== which build ====


def installed(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    def of(name: str) -> str:
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", of)


@pytest.mark.parametrize(
    ("version", "usable", "says"),
    [
        ("1.83.10", True, ""),
        ("1.110.2", True, ""),
        ("2.0.0rc1", True, ""),
        ("1.82.7", False, "steals credentials"),
        ("1.82.8", False, "steals credentials"),
        ("1.83.9", False, "older than 1.83.10"),
        ("1.9.0", False, "older than 1.83.10"),
        (None, False, ""),
    ],
)
def test_a_build_is_judged_by_its_version(monkeypatch, version, usable, says):
    installed(monkeypatch, version)
    found = litellm_build.build()
    assert (found["version"], found["usable"]) == (version or "", usable)
    assert says in " ".join(found["warnings"])
    if not usable:
        with pytest.raises(ModelUnavailable) as caught:
            load()
        assert not caught.value.reached


def test_what_a_stolen_build_left_behind_is_found(monkeypatch, tmp_path):
    installed(monkeypatch, "1.110.2")
    (tmp_path / "litellm_init.pth").write_text("import os\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = litellm_build.build()
    assert not found["usable"]
    assert "change every key" in found["warnings"][0]


def test_the_table_is_read_as_a_file_without_importing_anything(monkeypatch, tmp_path):
    (tmp_path / "litellm").mkdir()
    (tmp_path / "litellm" / "__init__.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "litellm" / litellm_build._PRICES).write_text('{"m": {"mode": "chat"}}')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    litellm_build.price_table.cache_clear()
    try:
        assert litellm_build.price_table() == {"m": {"mode": "chat"}}
    finally:
        litellm_build.price_table.cache_clear()


@needs_litellm
def test_importing_it_asks_no_server_and_reads_no_env_file(tmp_path):
    (tmp_path / ".env").write_text("BIODESK_INTRUDER=1\n")
    script = """
import os, socket, sys
def refused(*_):
    raise SystemExit("a connection was tried")
socket.socket.connect = socket.getaddrinfo = refused
from engine.adapters.models.litellm_chat import load
load()
assert "BIODESK_INTRUDER" not in os.environ
assert "litellm.proxy.proxy_server" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


# ==== a protocol of its own ====


@pytest.fixture(scope="module")
def loop() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


def events(*payloads: dict[str, Any]) -> Behaviour:
    def behave(handler: Any) -> None:
        handler.begin()
        for payload in payloads:
            handler.wfile.write(f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n".encode())

    return behave


START = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [],
         "model": "claude", "stop_reason": None, "usage": {"input_tokens": 21, "output_tokens": 1}}}  # fmt: skip
TEXT = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes, it"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " is."}},
    {"type": "content_block_stop", "index": 0},
]


def wish(index: int, gene: str) -> list[dict[str, Any]]:
    block = {"type": "tool_use", "id": f"toolu_{gene}", "name": "look", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": json.dumps({"gene": gene})}
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        {"type": "content_block_delta", "index": index, "delta": piece},
        {"type": "content_block_stop", "index": index},
    ]


def end(reason: str) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """Import it before the clock of a call runs: it takes seconds."""
    if importlib.util.find_spec("litellm") is not None:
        load()


def claude(url: str, loop: LoopThread) -> LiteLLMModel:
    options = {"api_base": url}
    return LiteLLMModel(
        "anthropic/claude", model="anthropic/claude-sonnet-4-5", key="k", loop=loop, redact=str, options=options
    )


@needs_litellm
def test_an_answer_with_wishes_has_the_providers_own_count(loop):
    behaviour = events(START, *TEXT, *wish(1, "TP53"), *wish(2, "MYC"), *end("tool_use"))
    with serving(behaviour) as server:
        *_, whole = claude(server.url, loop).stream(ASKED)
    assert isinstance(whole, ChatReply)
    assert whole.text == "Yes, it is."
    assert whole.tool_calls == (
        ToolCall(id="toolu_TP53", name="look", arguments='{"gene": "TP53"}'),
        ToolCall(id="toolu_MYC", name="look", arguments='{"gene": "MYC"}'),
    )
    assert (whole.prompt_tokens, whole.completion_tokens, whole.counted_by) == (21, 9, "provider")
    assert server.asked[0]["path"].endswith("/messages")


@needs_litellm
@pytest.mark.parametrize("pieces", [[START, *TEXT], [START, *TEXT[:2]], [START]])
def test_an_answer_that_just_stops_has_failed(loop, pieces):
    with serving(events(*pieces)) as server, pytest.raises(BrokenAnswer):
        list(claude(server.url, loop).stream(ASKED))


@needs_litellm
def test_a_fault_in_the_middle_is_one(loop):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with serving(events(START, *TEXT[:2], error)) as server, pytest.raises((BrokenAnswer, ModelOverloaded)):
        list(claude(server.url, loop).stream(ASKED))
