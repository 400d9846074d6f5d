"""`biodesk serve` for real: who is let in, how it ends and what it leaves behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from waiting import comes_about
from websockets.sync.client import connect

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0


class Served:
    """A running server: its process, address and the token of its link."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.said = folder / "said"
        command = [sys.executable, "-m", "engine", "--workspace", "w", "serve", "--port", "0", *options]
        with self.said.open("wb") as log:
            environment = {**os.environ, "PYTHONPATH": str(ROOT), "BIODESK_EMBEDDING_MODEL": "none"}
            self.process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        found = re.search(r"http://[^:/]+:(\d+)/(?:\?token=(\S+))?", line)
        assert found, f"{line}{self.said.read_text()}"
        self.port, self.token = int(found[1]), found[2] or ""
        self.wait_for(lambda: self.get("/_stcore/health")[0] == 200)

    def wait_for(self, true) -> None:
        def heard() -> bool:
            with contextlib.suppress(OSError):
                return bool(true())
            return False

        assert comes_about(heard, PATIENCE, pause=0.1), f"The server said: {self.said.read_text()[-2000:]}"

    def get(self, path: str, cookie: str = "", host: str = "127.0.0.1") -> tuple[int, str, str]:
        """Return status, the cookie that is set and the body."""
        request = urllib.request.Request(f"http://{host}:{self.port}{path}", headers={"Cookie": cookie})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers.get("set-cookie", ""), answer.read().decode(errors="replace")
        except urllib.error.HTTPError as err:
            with err:
                return err.code, err.headers.get("set-cookie", ""), err.read().decode(errors="replace")

    def upgrade(self, cookie: str = "", origin: str = "") -> socket.socket:
        """Ask for the web socket of the pages and return the connection, the first line of the answer unread."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        lines = [
            "GET /_stcore/stream HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", f"Cookie: {cookie}",
            f"Origin: {origin or f'http://127.0.0.1:{self.port}'}", "", "",
        ]  # fmt: skip
        connection.sendall("\r\n".join(lines).encode())
        return connection


@contextlib.contextmanager
def served(folder: Path, *options: str) -> Iterator[Served]:
    server = Served(folder, *options)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()
        if server.process.stdout is not None:
            server.process.stdout.close()


@contextlib.contextmanager
def a_page(server: Served) -> Iterator[None]:
    """Have a page open that has opened the engine, which started the warm worker."""

    def has_worker() -> bool:
        with contextlib.suppress(psutil.Error):  # one may end while it is looked at
            family = psutil.Process(server.process.pid).children(recursive=True)
            return any("sandbox_worker" in " ".join(child.cmdline()) for child in family)
        return False

    with connect(f"ws://127.0.0.1:{server.port}/_stcore/stream") as page:
        page.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        server.wait_for(has_worker)
        yield


@pytest.mark.parametrize("name", ["SIGTERM", pytest.param("SIGKILL", marks=pytest.mark.slow)])
def test_a_server_that_ends_leaves_no_process_behind_and_no_words_of_libraries(name: str, tmp_path: Path) -> None:
    with served(tmp_path) as server, a_page(server):
        family = psutil.Process(server.process.pid).children(recursive=True)
        server.process.send_signal(number := getattr(signal, name))
        assert server.process.wait(30) == (-number if name == "SIGKILL" else 0)
        _, left = psutil.wait_procs(family, timeout=20)
        assert not [child for child in left if child.status() != psutil.STATUS_ZOMBIE]
        said = server.said.read_text()
        assert not [word for word in ("Traceback", "leaked", "terminate called", "Exception") if word in said], said


def test_without_the_link_nothing_but_the_health_check_is_answered(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0") as server:
        paths = ["/", "/memory", "/_stcore/host-config", "/_stcore/upload_file/a/b", "/media/x", "/static/index.html",
                 "/component/x", "/?token=", "/?token=wrong", f"/?token={server.token}x", "//_stcore/health"]  # fmt: skip
        assert {path: server.get(path)[0] for path in paths} == dict.fromkeys(paths, 403)
        name = f"biodesk_{server.port}"
        for cookie in ("", name, f"{name}=", f"{name}=wrong", f"other={server.token}"):
            assert server.get("/", cookie)[0] == 403
            with server.upgrade(cookie) as refused:
                assert refused.recv(12) == b"HTTP/1.1 403"
        assert server.get("/_stcore/health")[0] == 200
        status, cookie, body = server.get(f"/memory?token={server.token}&episode=7")
        assert status == 200
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        assert "url=/memory?episode=7" in body
        assert server.token not in body
        given = cookie.split(";")[0]
        assert [server.get(path, given)[0] for path in ("/", "/memory", "/_stcore/host-config")] == [200] * 3
        with server.upgrade(f"a=b; {given}") as admitted:
            assert admitted.recv(12) == b"HTTP/1.1 101"
        for origin in ("http://127.0.0.1:9999", "http://0.0.0.0:1", "http://page.example"):
            with server.upgrade(given, origin) as refused:
                assert refused.recv(12) == b"HTTP/1.1 403"
        other = server.get(f"//example.org/?token={server.token}")[2]
        assert "url=/example.org/" in other
        command = " ".join(psutil.Process(server.process.pid).cmdline())
        server.process.terminate()
        server.process.wait(20)
        assert server.token not in server.said.read_text()
        assert server.token not in command


def test_this_computer_needs_no_link_unless_it_is_asked_for(tmp_path: Path) -> None:
    with served(tmp_path, "--user", "me") as server:
        assert not server.token
        assert server.get("/")[0] == 200
        for origin, status in (("", b"101"), ("http://127.0.0.1:9999", b"403"), ("http://page.example", b"403")):
            with server.upgrade(origin=origin) as asked:
                assert asked.recv(12) == b"HTTP/1.1 " + status
        assert "Rejecting" not in server.said.read_text(), "Streamlit asks another host for its address before it does"
        process = psutil.Process(server.process.pid)
        assert process.cmdline()[1] == str(ROOT / "app.py")
        listening = [c.laddr for c in process.net_connections() if c.status == psutil.CONN_LISTEN]
        assert listening == [("127.0.0.1", server.port)]
        environment = process.environ()
        assert environment["BIODESK_WORKSPACE"] == str(tmp_path / "w")
        assert environment["BIODESK_USER"] == "me"
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 0
    with served(tmp_path, "--token") as server:
        assert server.get("/")[0] == 403
        assert server.get(f"/?token={server.token}")[0] == 200
        server.process.send_signal(signal.SIGHUP)
        assert server.process.wait(30) == 0
        assert "Traceback" not in server.said.read_text()


def refused(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "engine", "--workspace", str(folder / "w"), "serve", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)


def test_a_port_in_use_and_addresses_that_are_none_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = refused(tmp_path, "--port", port)
    assert (found.returncode, found.stdout) == (2, "")
    assert f"port {port}" in found.stderr
    found = refused(tmp_path, "--host", "192.0.2.1")  # of nobody (RFC 5737)
    assert (found.returncode, len(found.stderr.strip().splitlines())) == (2, 1), found.stderr
    assert not (tmp_path / "w").exists()


def test_a_workspace_in_use_is_said_before_the_server_starts(tmp_path: Path) -> None:
    from storage.workspace import Workspace

    with Workspace.open(tmp_path / "w"):
        found = refused(tmp_path, "--port", "0")
    assert found.returncode == 3
    assert f"process {os.getpid()}" in found.stderr
