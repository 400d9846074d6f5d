"""Starts Streamlit apps on free ports and finds a browser to drive them with."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

import psutil
from waiting import comes_about

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

SLOW = 180_000
"""Milliseconds to wait for what should take two seconds: only an app that stands still takes this long."""
PORTS = range(20_000, 30_000)
"""Below the ports that systems hand out for outgoing connections, which the browser makes all the time."""
ATTEMPTS = 5
COLD = {"BIODESK_WARM_WORKERS": "false"}
"""For a server that computes nothing: to import what steps need takes a quarter of a minute of a processor."""


def find_chromium() -> str:
    """Return the browser to drive, or "" when this machine has none."""
    given = os.environ.get("BIODESK_CHROMIUM", "")
    return given or next((path for name in NAMES if (path := shutil.which(name))), "")


def free_port() -> int:
    """Return a port nobody listens on now; whoever starts a server on it must be ready to find it taken."""
    chance = random.SystemRandom()
    for _ in range(1000):
        port = chance.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    message = f"None of 1000 ports tried between {PORTS.start} and {PORTS.stop} is free."
    raise OSError(message)


@contextlib.contextmanager
def serving(script: Path, cwd: Path, *, switch: Path | None = None, **environment: str) -> Iterator[str]:
    """Run a Streamlit app on a free port and give its address.

    Args:
        script: the app.
        cwd: the folder it runs in.
        switch: a file that, while it exists, names the steps to be held; see `held_steps`.
        environment: variables set for the server alone.
    """
    start = [str(ROOT / "tests" / "held_steps.py"), str(switch), "streamlit"] if switch else ["-m", "streamlit"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BIODESK_")}
    variables = {**kept, "PYTHONPATH": str(ROOT), **environment}
    with tempfile.TemporaryFile() as log:
        server, port = _started([sys.executable, *start, "run", str(script)], cwd, variables, log)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            _stop(server)
        log.seek(0)
        # One may be on its way when its page is left; a browser that goes on asking for it fills the log.
        assert log.read().count(b"does not exist anymore") < 5


def _started(command: list[str], cwd: Path, variables: dict[str, str], log: IO[bytes]) -> tuple[subprocess.Popen, int]:
    """Start the server and return it with its port, once it listens; on another port when one was taken meanwhile."""
    for _ in range(ATTEMPTS):
        port = free_port()
        options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
        options += ["--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none"]
        server = subprocess.Popen([*command, *options], cwd=cwd, env=variables, stdout=log, stderr=log)
        if comes_about(partial(_decided, server, port), SLOW / 1000) and server.poll() is None:
            return server, port
        _stop(server)
    log.seek(0)
    message = f"The app did not start in {ATTEMPTS} attempts. It said:\n{log.read().decode(errors='replace')[-4000:]}"
    raise AssertionError(message)


def _decided(server: subprocess.Popen, port: int) -> bool:
    """Say whether the server has ended or answers."""
    return server.poll() is not None or (_listens(server, port) and _healthy(port))


def _listens(server: subprocess.Popen, port: int) -> bool:
    """Say whether it is this server, and no other program, that answers at the port."""
    with contextlib.suppress(psutil.Error):
        found = psutil.Process(server.pid).net_connections(kind="tcp")
        return any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in found)
    return False


def _healthy(port: int) -> bool:
    address = f"http://127.0.0.1:{port}/_stcore/health"
    with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(address, timeout=10) as answer:
        return answer.status == 200
    return False


def _stop(server: subprocess.Popen) -> None:
    server.send_signal(signal.SIGINT)
    try:
        server.wait(timeout=30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
