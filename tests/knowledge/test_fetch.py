"""Downloads from a server on this machine that breaks off, forgets ranges, lies and refuses on demand."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from engine.errors import DataError, EngineError, FetchError, Interrupted, NotFoundError, UserError
from engine.knowledge.importers.read import FORMATS, open_import
from engine.knowledge.sources import fetch as module
from engine.knowledge.sources.catalogue import SOURCES, RemoteFile, RemoteSource
from engine.knowledge.sources.fetch import fetch
from engine.runs.cancel import CancelSource

EDGES = ("source\tmetaedge\ttarget\n" + "Gene::1\tGiG\tGene::2\n" * 60_000).encode()
NODES = b"id\tname\tkind\nGene::1\tA1BG\tGene\nGene::2\tA2M\tGene\n"


class Server:
    """What the files are, how the server misbehaves, and what it was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"nodes.tsv": NODES, "edges.sif": EDGES}
        self.ranges = True
        self.break_after: list[int] = []
        """Bytes after which the next answers end."""
        self.status: list[int] = []
        """Statuses of the next answers."""
        self.etag = '"one"'
        self.if_range = True
        """False: ranges are given whatever version is asked for."""
        self.redirects: dict[str, str] = {}
        """File name -> where the server says it is."""
        self.length = True
        self.stops_at: int | None = None
        """Bytes after which an answer waits for `goes_on`."""
        self.goes_on = threading.Event()
        self.asked: list[tuple[str, str]] = []
        self.lock = threading.Lock()
        self.url = ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        state: Server = self.server.state  # type: ignore[attr-defined]
        name = self.path.rsplit("/", 1)[-1]
        wanted = self.headers.get("Range", "")
        self.close_connection = True
        with state.lock:
            state.asked.append((name, wanted))
            status = state.status.pop(0) if state.status else 200
            cut = state.break_after.pop(0) if state.break_after else None
        data = state.files.get(name)
        if name in state.redirects:
            self.send_response(302)
            self.send_header("Location", state.redirects[name])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if status != 200 or data is None:
            self.send_response(status if status != 200 else 404)
            self.send_header("Content-Length", "0")
            if status == 503:
                self.send_header("Retry-After", "3")
            self.end_headers()
            return
        start = 0
        match = re.fullmatch(r"bytes=(\d+)-", wanted)
        current = not state.if_range or self.headers.get("If-Range", state.etag) == state.etag
        if match and state.ranges and current:
            start = int(match[1])
            if start >= len(data):
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        if state.length:
            self.send_header("Content-Length", str(len(data) - start))
        self.send_header("Connection", "close")
        if state.etag:
            self.send_header("ETag", state.etag)
        self.end_headers()
        body = data[start:] if cut is None else data[start : start + cut]
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body[: state.stops_at])
            if state.stops_at is not None:
                state.goes_on.wait(60)
                self.wfile.write(body[state.stops_at :])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.state = state  # type: ignore[attr-defined]
    state.url = f"http://127.0.0.1:{httpd.server_address[1]}/data"
    source = RemoteSource(
        name="small",
        title="Small graph",
        description="",
        format="hetionet",
        files=[
            RemoteFile(name="nodes.tsv", url="https://example.invalid/nodes.tsv"),
            RemoteFile(
                name="edges.sif",
                url="https://example.invalid/edges.sif",
                bytes=len(EDGES),
                sha256=hashlib.sha256(EDGES).hexdigest(),
            ),
        ],
        license="CC0 1.0",
        homepage="https://example.invalid",
    )
    monkeypatch.setitem(SOURCES, "small", source)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    thread = threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield state
    httpd.shutdown()
    httpd.server_close()
    thread.join(5)


class Pauses(list[float]):
    """Stands for waiting."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def test_fetches_all_files_with_progress_and_a_note_of_their_origin(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    paths = fetch("small", tmp_path / "new", base_url=server.url, progress=lambda *at: seen.append(at))
    assert [path.name for path in paths] == ["nodes.tsv", "edges.sif"]
    assert [path.read_bytes() for path in paths] == [NODES, EDGES]
    assert seen[-1] == ("edges.sif", len(EDGES), len(EDGES))
    assert [at[1] for at in seen if at[0] == "edges.sif"] == sorted(at[1] for at in seen if at[0] == "edges.sif")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "edges.sif",
        "edges.sif.origin.json",
        "nodes.tsv",
        "nodes.tsv.origin.json",
    ]
    note = json.loads((tmp_path / "new" / "nodes.tsv.origin.json").read_text())
    assert note["sha256"] == hashlib.sha256(NODES).hexdigest()
    assert (note["checked"], note["license"], note["bytes"]) == ("recorded", "CC0 1.0", len(NODES))
    source, batches, _ = open_import("auto", paths)
    assert (source.license, source.url) == ("CC0 1.0", f"{server.url}/nodes.tsv")
    assert sum(len(batch) for batch in batches) == 60_002


def test_what_is_there_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    paths = fetch("small", tmp_path, base_url=server.url)
    server.asked.clear()
    assert fetch("small", tmp_path, base_url=server.url) == paths
    assert server.asked == []
    paths[0].write_bytes(b"changed")
    fetch("small", tmp_path, base_url=server.url)
    assert server.asked == [("nodes.tsv", "")]
    assert paths[0].read_bytes() == NODES
    fetch("small", tmp_path, base_url=server.url, again=True)
    assert len(server.asked) == 3


def test_a_broken_connection_is_resumed_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.break_after = [len(NODES), 700_000, 300_000]
    pauses = Pauses()
    paths = fetch("small", tmp_path, base_url=server.url, pause=pauses)
    assert paths[1].read_bytes() == EDGES
    assert [wanted for name, wanted in server.asked if name == "edges.sif"] == ["", "bytes=700000-", "bytes=1000000-"]
    assert pauses == [1.0, 1.0]


def test_a_part_of_an_earlier_try_is_resumed(server: Server, tmp_path: Path) -> None:
    server.break_after = [len(NODES), 500_000]
    with pytest.raises(FetchError, match=r"500,000 bytes came and are kept") as error:
        fetch("small", tmp_path, base_url=server.url, attempts=1, pause=Pauses())
    assert "edges.sif could not be fetched from 127.0.0.1" in error.value.message
    assert error.value.retryable
    assert (tmp_path / "edges.sif.part").stat().st_size == 500_000
    assert not (tmp_path / "edges.sif").exists()
    server.asked.clear()
    paths = fetch("small", tmp_path, base_url=server.url, pause=Pauses())
    assert paths[1].read_bytes() == EDGES
    assert server.asked == [("edges.sif", "bytes=500000-")]


def test_a_server_without_ranges_gives_the_whole_again(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.break_after = [len(NODES), 500_000]
    paths = fetch("small", tmp_path, base_url=server.url, pause=Pauses())
    assert paths[1].read_bytes() == EDGES
    assert server.asked[-1] == ("edges.sif", "bytes=500000-")


def test_a_newer_file_is_not_glued_to_the_part_of_an_older_one(server: Server, tmp_path: Path) -> None:
    server.files["nodes.tsv"] = NODES + b"Gene::3\tOLD\tGene\n" * 50_000
    server.break_after = [400_000]
    with pytest.raises(FetchError):
        fetch("small", tmp_path, base_url=server.url, attempts=1)
    newer = NODES + b"Gene::4\tNEWER\tGene\n" * 50_000
    server.files["nodes.tsv"], server.etag = newer, '"two"'
    assert fetch("small", tmp_path, base_url=server.url, pause=Pauses())[0].read_bytes() == newer


def test_without_an_etag_another_size_gives_the_newer_file_away(server: Server, tmp_path: Path) -> None:
    server.etag = ""
    server.files["nodes.tsv"] = NODES + b"Gene::3\tOLD\tGene\n" * 50_000
    server.break_after = [400_000]
    with pytest.raises(FetchError):
        fetch("small", tmp_path, base_url=server.url, attempts=1)
    newer = server.files["nodes.tsv"] = NODES + b"Gene::4\tNEWER\tGene\n" * 50_000
    assert fetch("small", tmp_path, base_url=server.url, pause=Pauses())[0].read_bytes() == newer


def test_a_part_without_its_note_is_begun_anew(server: Server, tmp_path: Path) -> None:
    (tmp_path / "nodes.tsv.part").write_bytes(b"something else")
    assert fetch("small", tmp_path, base_url=server.url)[0].read_bytes() == NODES


def test_a_complete_part_only_needs_its_name(server: Server, tmp_path: Path) -> None:
    (tmp_path / "nodes.tsv.part").write_bytes(NODES)
    state = {"url": f"{server.url}/nodes.tsv", "validator": "", "total": len(NODES)}
    (tmp_path / "nodes.tsv.part.json").write_text(json.dumps(state))
    assert fetch("small", tmp_path, base_url=server.url)[0].read_bytes() == NODES
    assert [name for name, _ in server.asked] == ["edges.sif"]


def test_a_part_longer_than_the_file_is_begun_anew(server: Server, tmp_path: Path) -> None:
    (tmp_path / "nodes.tsv.part").write_bytes(NODES * 2)
    state = {"url": f"{server.url}/nodes.tsv", "validator": "", "total": None}
    (tmp_path / "nodes.tsv.part.json").write_text(json.dumps(state))
    assert fetch("small", tmp_path, base_url=server.url)[0].read_bytes() == NODES


def test_a_wrong_checksum_keeps_nothing(server: Server, tmp_path: Path) -> None:
    server.files["edges.sif"] = EDGES.replace(b"GiG", b"GcG")
    with pytest.raises(DataError, match=r"edges.sif from 127.0.0.1:\d+ is not the file that was published") as error:
        fetch("small", tmp_path, base_url=server.url)
    assert "Fetch again" in error.value.advice
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nodes.tsv", "nodes.tsv.origin.json"]


def test_a_resumed_file_with_a_wrong_checksum_is_fetched_whole_once_more(server: Server, tmp_path: Path) -> None:
    (tmp_path / "edges.sif.part").write_bytes(b"x" * 1000)
    state = {"url": f"{server.url}/edges.sif", "validator": "", "total": len(EDGES)}
    (tmp_path / "edges.sif.part.json").write_text(json.dumps(state))
    assert fetch("small", tmp_path, base_url=server.url)[1].read_bytes() == EDGES
    assert [wanted for name, wanted in server.asked if name == "edges.sif"] == ["bytes=1000-", ""]


def test_404_is_final_and_says_where_to_look(server: Server, tmp_path: Path) -> None:
    del server.files["nodes.tsv"]
    with pytest.raises(FetchError, match=r"nodes.tsv is not there any more: .* answers 404") as error:
        fetch("small", tmp_path, base_url=server.url, pause=Pauses())
    assert "https://example.invalid" in error.value.advice
    assert len(server.asked) == 1


def test_403_is_final(server: Server, tmp_path: Path) -> None:
    server.status = [403]
    with pytest.raises(FetchError, match=r"nodes.tsv was refused: .* answers 403"):
        fetch("small", tmp_path, base_url=server.url, pause=Pauses())


def test_a_busy_server_is_asked_again_after_the_time_it_names(server: Server, tmp_path: Path) -> None:
    server.status = [503, 500, 500]
    pauses = Pauses()
    assert fetch("small", tmp_path, base_url=server.url, pause=pauses)[0].read_bytes() == NODES
    assert sum(pauses) == 3 + 2 + 4  # Retry-After, then twice as long each time
    server.status = [500] * 9
    with pytest.raises(FetchError, match=r"the server answers 500"):
        fetch("small", tmp_path, base_url=server.url, again=True, attempts=3, pause=Pauses())


def test_an_error_page_is_not_taken_for_data(server: Server, tmp_path: Path) -> None:
    server.files["nodes.tsv"] = b"<!DOCTYPE html><html><body>Sign in</body></html>"
    with pytest.raises(DataError, match=r"nodes.tsv is a web page"):
        fetch("small", tmp_path, base_url=server.url)
    assert list(tmp_path.iterdir()) == []


def test_an_answer_without_a_length_is_taken(server: Server, tmp_path: Path) -> None:
    server.length = False
    assert [path.read_bytes() for path in fetch("small", tmp_path, base_url=server.url)] == [NODES, EDGES]


PACKED = gzip.compress(b"".join(b"Gene::%d\tG%d\tGene\n" % (n, n * n) for n in range(40_000)))


def test_a_gzip_cut_off_without_a_length_is_fetched_again(server: Server, tmp_path: Path) -> None:
    server.length = False
    server.files["nodes.tsv"] = PACKED
    server.break_after = [len(PACKED) // 2]
    assert fetch("small", tmp_path, base_url=server.url, pause=Pauses())[0].read_bytes() == PACKED
    assert [asked for asked in server.asked if asked[0] == "nodes.tsv"] == [("nodes.tsv", "")] * 2


def test_a_gzip_that_is_always_cut_off_is_no_file(server: Server, tmp_path: Path) -> None:
    server.length = False
    server.files["nodes.tsv"] = PACKED[:-9]
    pauses = Pauses()
    with pytest.raises(FetchError, match=r"nodes.tsv could not be fetched.*ended in its middle") as error:
        fetch("small", tmp_path, base_url=server.url, attempts=3, pause=pauses)
    assert "kept" not in error.value.message
    assert len(server.asked) == 3
    assert not (tmp_path / "nodes.tsv").exists()


@pytest.mark.parametrize("data", [PACKED[:-9], PACKED[:5000] + b"x" * 50 + PACKED[5050:]], ids=["short", "damaged"])
def test_a_damaged_gzip_of_the_right_length_is_refused(server: Server, tmp_path: Path, data: bytes) -> None:
    server.files["nodes.tsv"] = data
    with pytest.raises(DataError, match=r"^nodes.tsv is a gzip file that is damaged or cut short"):
        fetch("small", tmp_path, base_url=server.url, pause=Pauses())
    assert list(tmp_path.iterdir()) == []


def test_two_versions_of_one_length_are_not_joined_when_nothing_tells_them_apart(
    server: Server, tmp_path: Path
) -> None:
    server.etag = ""
    server.files["nodes.tsv"] = NODES + b"Gene::3\tOLD\tGene\n" * 50_000
    server.break_after = [400_000]
    with pytest.raises(FetchError) as error:
        fetch("small", tmp_path, base_url=server.url, attempts=1)
    assert "kept" not in error.value.message
    newer = server.files["nodes.tsv"] = NODES + b"Gene::4\tNEW\tGene\n" * 50_000
    server.asked.clear()
    assert fetch("small", tmp_path, base_url=server.url, pause=Pauses())[0].read_bytes() == newer
    assert server.asked[0] == ("nodes.tsv", "")


def test_a_pinned_file_is_resumed_without_an_etag(server: Server, tmp_path: Path) -> None:
    server.etag = ""
    server.break_after = [len(NODES), 500_000]
    assert fetch("small", tmp_path, base_url=server.url, pause=Pauses())[1].read_bytes() == EDGES
    assert server.asked[-1] == ("edges.sif", "bytes=500000-")


def test_a_server_that_passes_over_if_range_is_noticed_by_its_tag(server: Server, tmp_path: Path) -> None:
    newer = NODES + b"Gene::4\tNEW\tGene\n" * 50_000
    server.files["nodes.tsv"], server.etag = newer, '"two"'
    (tmp_path / "nodes.tsv.part").write_bytes((NODES + b"Gene::3\tOLD\tGene\n" * 50_000)[:400_000])
    state = {"url": f"{server.url}/nodes.tsv", "validator": '"one"', "total": len(newer)}
    (tmp_path / "nodes.tsv.part.json").write_text(json.dumps(state))
    server.if_range = False
    assert fetch("small", tmp_path, base_url=server.url, pause=Pauses())[0].read_bytes() == newer


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/nodes.tsv", "file:///etc/hostname", "data:text/plain,x"])
def test_a_redirect_away_from_the_web_is_refused(server: Server, tmp_path: Path, target: str) -> None:
    server.redirects["nodes.tsv"] = target
    with pytest.raises(FetchError):
        fetch("small", tmp_path, base_url=server.url, attempts=1, pause=Pauses())
    assert not (tmp_path / "nodes.tsv").exists()
    server.redirects["nodes.tsv"] = f"{server.url}/moved.tsv"
    server.files["moved.tsv"] = NODES
    assert fetch("small", tmp_path, base_url=server.url)[0].read_bytes() == NODES


def test_cancel_keeps_what_came(server: Server, tmp_path: Path) -> None:
    cancel = CancelSource()

    def stop(name: str, there: int, total: int) -> None:
        if name == "edges.sif":
            cancel.cancel()

    with pytest.raises(Interrupted, match=r"download of edges.sif was stopped; [1-9].* bytes are kept"):
        fetch("small", tmp_path, base_url=server.url, progress=stop, cancel=cancel)
    kept = (tmp_path / "edges.sif.part").stat().st_size
    assert 0 < kept < len(EDGES)
    server.asked.clear()
    assert fetch("small", tmp_path, base_url=server.url)[1].read_bytes() == EDGES
    assert server.asked == [("edges.sif", f"bytes={kept}-")]


def test_cancel_ends_the_waiting(server: Server, tmp_path: Path) -> None:
    cancel = CancelSource()
    server.status = [500] * 50
    with pytest.raises(Interrupted):
        fetch("small", tmp_path, base_url=server.url, cancel=cancel, attempts=50, pause=lambda _: cancel.cancel())


def test_offline_is_one_clear_sentence(server: Server, tmp_path: Path) -> None:
    pauses = Pauses()
    with pytest.raises(FetchError, match=r"nodes.tsv could not be fetched from 127.0.0.1:9") as error:
        fetch("small", tmp_path, base_url="http://127.0.0.1:9/", attempts=3, pause=pauses)
    assert "import the file by its path" in error.value.advice
    assert pauses == [1.0, 1.0, 1.0]


def test_a_silent_server_is_given_up(server: Server, tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(FetchError, match=r"silent for too long|timed out"):
            fetch("small", tmp_path, base_url=url, attempts=1, timeout=0.3, pause=Pauses())


def test_no_room_is_found_out_before_writing(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shutil import _ntuple_diskusage  # type: ignore[attr-defined]

    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: _ntuple_diskusage(100, 90, 10))
    with pytest.raises(FetchError, match=r"nodes.tsv needs \d+ more bytes .* where 10 are free"):
        fetch("small", tmp_path, base_url=server.url)


def test_one_file_is_fetched_once_at_a_time(server: Server, tmp_path: Path) -> None:
    refused: list[str] = []

    def meanwhile(name: str, there: int, total: int) -> None:
        if not refused:
            with pytest.raises(FetchError, match=r"nodes.tsv is being fetched already") as error:
                fetch("small", tmp_path, base_url=server.url)
            refused.append(error.value.message)

    fetch("small", tmp_path, base_url=server.url, progress=meanwhile)
    assert refused
    fetch("small", tmp_path, base_url=server.url, again=True)


KILLED = """
import sys
from pathlib import Path
from engine.knowledge.sources.fetch import fetch

def tell(name, there, total):
    print(there, flush=True)

fetch("do", Path(sys.argv[1]), base_url=sys.argv[2], progress=tell)
"""


def test_what_came_before_a_kill_is_kept(server: Server, tmp_path: Path) -> None:
    data = b"format-version: 1.2\n\n[Term]\nid: DOID:4\nname: disease\n" + b"! comment\n" * 300_000
    server.files["doid.obo"] = data
    server.stops_at = len(data) // 2
    command = [sys.executable, "-c", KILLED, str(tmp_path), server.url]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}
    ) as child:
        assert child.stdout is not None
        for _ in range(3):
            assert child.stdout.readline()
        child.kill()
    server.goes_on.set()
    kept = (tmp_path / "doid.obo.part").stat().st_size
    assert 0 < kept < len(data)
    assert not (tmp_path / "doid.obo").exists()
    server.stops_at = None
    server.asked.clear()
    assert fetch("do", tmp_path, base_url=server.url)[0].read_bytes() == data
    assert server.asked == [("doid.obo", f"bytes={kept}-")]


def test_bad_arguments_are_told(tmp_path: Path, server: Server) -> None:
    with pytest.raises(NotFoundError, match=r"no resource 'nothing' to fetch; there are hetionet, primekg"):
        fetch("nothing", tmp_path)
    with pytest.raises(UserError, match=r"not http or https"):
        fetch("small", tmp_path, base_url="file:///etc")
    (tmp_path / "file").write_text("x")
    with pytest.raises(EngineError, match=r"cannot be made"):
        fetch("small", tmp_path / "file", base_url=server.url)


def test_single_addresses_can_be_replaced(server: Server, tmp_path: Path) -> None:
    packed = gzip.compress(NODES)
    server.files["other.gz"] = packed
    urls = {"nodes.tsv": f"{server.url}/other.gz", "edges.sif": f"{server.url}/edges.sif"}
    paths = fetch("small", tmp_path, urls=urls)
    assert paths[0].read_bytes() == packed
    _, batches, _ = open_import("hetionet", paths)
    assert sum(len(batch) for batch in batches) == 60_002


def test_the_catalogue_is_sound() -> None:
    assert set(SOURCES) >= {"hetionet", "primekg", "go", "hpo", "do", "cl", "hgnc", "goa-human"}
    for name, source in SOURCES.items():
        assert source.name == name
        assert source.format in FORMATS
        assert source.license
        for file in source.files:
            assert file.url.startswith("https://")
            assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert "/" not in file.name
