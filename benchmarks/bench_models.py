"""What the layer of language models adds to a call, beside the same request sent with bare httpx2 in the same run.

    python benchmarks/bench_models.py [--rounds 100]

A server on this computer answers at once, so the time is all the client's. Compared are a bare httpx2 client that reads
the stream, the adapter of the OpenAI protocol alone, and the whole layer with its account and kept answers in a
workspace's database; where LiteLLM is installed, its adapter too. Reading an answer that was kept and opening an engine
without a model and with one follow.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.measuring import arguments, report, summary, target  # noqa: E402
from engine.adapters.models.connect import Connections  # noqa: E402
from engine.adapters.system import SystemClock  # noqa: E402
from engine.models.roster import targets  # noqa: E402
from engine.models.scope import Scope  # noqa: E402
from engine.models.service import Models  # noqa: E402
from engine.ports.models.chat import ChatMessage, ChatRequest, ModelAddress  # noqa: E402
from engine.settings import load_settings  # noqa: E402
from engine.text.redaction import Redactor  # noqa: E402
from storage.database import Database  # noqa: E402
from storage.models.calls import DuckModelCalls  # noqa: E402

LIMIT_MS = 20
WARM_UP = 5
PROMPT = "The counts of 24 samples are compared between two treatments, adjusted for the cell line. " * 60
WORDS = [f"word{number} " for number in range(100)]


class Server(BaseHTTPRequestHandler):
    """Streams a hundred words and says how many tokens they are."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a client that keeps its connection waits 40 ms for each answer

    def do_POST(self) -> None:
        """Answer at once."""
        self.rfile.read(int(self.headers["Content-Length"]))
        chunks = [{"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]} for word in WORDS]
        chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
        chunks += [{"choices": [], "usage": {"prompt_tokens": 1200, "completion_tokens": 100, "total_tokens": 1300}}]
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        body = "".join(f"data: {json.dumps({**head, **chunk})}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def milliseconds(rounds: int, *ways: Callable[[int], object]) -> list[list[float]]:
    """Return the times of each way, taken in turn so that all see the same load."""
    times: list[list[float]] = [[] for _ in ways]
    for number in range(WARM_UP + rounds):
        for place, way in enumerate(ways):
            began = time.perf_counter()
            way(number)
            if number >= WARM_UP:
                times[place].append((time.perf_counter() - began) * 1000)
    return times


def start_up(code: str) -> float:
    """Return the milliseconds of a new interpreter that runs this."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Measure, compare, report."""
    options = arguments(__doc__, rounds=100)
    import httpx2

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    messages = (ChatMessage(role="system", content=PROMPT), ChatMessage(role="user", content="Which genes?"))
    request = ChatRequest(messages=messages)
    with tempfile.TemporaryDirectory(prefix="biodesk-bench-") as place:
        settings, _ = load_settings(workspace=Path(place), model="lab/m", model_servers={"lab": {"base_url": url}})
        database = Database(Path(place) / "b.duckdb")
        redact = Redactor()
        connections = Connections(redact)
        models = Models(
            roster=targets(settings, dict),
            connect=connections.to,
            store=DuckModelCalls(database),
            clock=SystemClock(),
            settings=settings,
            redact=redact,
            when_closed=connections.close,
        )
        client = httpx2.Client(verify=False)
        adapter = connections.to(models.roster["fast"][0].address)
        body = {"model": "m", "stream": True, "stream_options": {"include_usage": True},
                "messages": [{"role": message.role, "content": message.content} for message in messages]}  # fmt: skip

        def bare(_: int) -> None:
            with client.stream("POST", f"{url}/chat/completions", json=body) as response:
                for event in httpx2.EventSource(response):
                    if event.data != "[DONE]":
                        json.loads(event.data)

        scope = Scope(run_id="r", conversation="c", emit=lambda event: None)

        def layer(number: int) -> None:
            models.ask("fast", messages, purpose="bench", scope=scope, variety=number)

        ways: dict[str, Callable[[int], object]] = {
            "bare httpx2": bare,
            "the adapter alone": lambda _: list(adapter.stream(request)),
            "the whole layer, account and kept answer written": layer,
            "an answer that was kept": lambda _: models.ask("fast", messages, purpose="bench", scope=scope, variety=0),
        }
        if importlib.util.find_spec("litellm"):
            address = ModelAddress(name="lab/m", model="openai/m", through="litellm", base_url=url, key="none")
            through = connections.to(address)
            ways["LiteLLM's adapter alone"] = lambda _: list(through.stream(request))
        times = dict(zip(ways, milliseconds(options.rounds, *ways.values()), strict=True))
        client.close()
        models.close()
        database.close()
    server.shutdown()
    rounds = max(3, options.rounds // 30)
    opened = "from engine.api import open_engine; import tempfile; folder = tempfile.mkdtemp()\n"
    rest = "with open_engine(workspace=folder, warm_workers=False, starter_knowledge=False{}): pass"
    opening = {"open an engine, no model": "", "open an engine, a model configured": ", model='ollama/m'"}
    starts: dict[str, list[float]] = {name: [] for name in opening}
    for _ in range(rounds):
        for name, more in opening.items():  # in turn, so that both see the same load
            starts[name].append(start_up(opened + rest.format(more)))
    rows = [summary(name, values, unit="ms", digits=2) for name, values in {**times, **starts}.items()]
    added = statistics.median(times["the whole layer, account and kept answer written"]) - statistics.median(
        times["bare httpx2"]
    )
    report("models", rows, [target("added to a call over bare httpx2, median", added, LIMIT_MS, unit=" ms")])


if __name__ == "__main__":
    main()
