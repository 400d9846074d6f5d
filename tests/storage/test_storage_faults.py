"""What the stores do when the process is killed, the disk is full or a file is damaged: all provoked for real."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest
from waiting import until

from engine.domain.events import EngineEvent, TextMessage
from engine.domain.results import NodeResult, RunRecord
from engine.errors import IntegrityError, SchemaTooNew, StorageError, WorkspaceInUse
from storage.database import Database
from storage.runs.artifacts import FileArtifacts
from storage.runs.store import DuckRunStore
from storage.vectors.store import LanceVectors
from storage.workspace import Workspace

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills processes and limits files the POSIX way")

NO_ROOM = "There is no room left on the disk"


def python(code: str, *arguments: object, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, **more)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, Callable[[int], None]]]:
    """Give an empty file system of 3 MB and a function that changes its size."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(*options: str) -> int:
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(place)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    if not shutil.which("mount") or mount("size=3m"):
        pytest.skip("a small disk needs the right to mount a tmpfs")
    try:
        yield (
            place,
            lambda megabytes: subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(place)], check=True),
        )
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def texts(count: int, length: int) -> list[TextMessage]:
    return [TextMessage(run_id="run_1", text=os.urandom(length // 2).hex()) for _ in range(count)]


def append_until_refused(store: DuckRunStore, *, batch: int, length: int) -> tuple[list[EngineEvent], StorageError]:
    """Return the events the store took and the error it ended with."""
    acknowledged: list[EngineEvent] = []
    for _ in range(2000):
        try:
            acknowledged += store.append_events(texts(batch, length))
        except StorageError as error:
            return acknowledged, error
    pytest.fail("the disk never filled up")


WRITER = """
import json, sys
from pathlib import Path
from engine.domain.events import TextMessage
from engine.domain.results import NodeResult, RunRecord
from storage.runs.store import DuckRunStore

store = DuckRunStore(Path(sys.argv[1]))
fill = "x" * int(sys.argv[2])
store.create_run(RunRecord(run_id="run_1", user="ada", question="?", status="running", created_at="2026"))
for turn in range(100_000):
    batch = [TextMessage(run_id=f"run_{1 + n % 2}", text=f"{turn} {n} {fill}") for n in range(1 + turn % 7)]
    for event in store.append_events(batch):
        print(json.dumps(["event", event.run_id, event.seq, event.text[:20]]))
    store.save_result("run_1", NodeResult(node=f"n{turn % 5}", tool="t", status="succeeded", attempts=turn + 1))
    print(json.dumps(["result", f"n{turn % 5}", turn + 1]), flush=True)
"""


@pytest.mark.parametrize(("said", "fill"), [(1, 10), (40, 10), (150, 300), (60, 60_000)])
def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path: Path, said: int, fill: int) -> None:
    path = tmp_path / "b.duckdb"
    command = [sys.executable, "-c", WRITER, str(path), str(fill)]
    with (tmp_path / "acks").open("w") as acks, subprocess.Popen(command, stdout=acks, cwd=ROOT) as writer:
        until(lambda: writer.poll() is not None or (tmp_path / "acks").read_bytes().count(b"\n") >= said, pause=0.005)
        assert writer.poll() is None
        writer.send_signal(signal.SIGKILL)
    told = [json.loads(line) for line in (tmp_path / "acks").read_text().splitlines(keepends=True) if line[-1] == "\n"]
    assert told
    store = DuckRunStore(path)
    events = {run: {e.seq: e.text[:20] for e in store.events(run, limit=10**7)} for run in ("run_1", "run_2")}
    results = store.results("run_1")
    for line in told:
        if line[0] == "event":
            assert events[line[1]][line[2]] == line[3]
        else:
            assert results[line[1]].attempts >= line[2]
    for stored in events.values():
        assert sorted(stored) == list(range(1, len(stored) + 1))
    assert store.run("run_1") is not None
    following = store.append_events([TextMessage(run_id="run_1", text="after")])
    assert following[0].seq == len(events["run_1"]) + 1
    store.close()


def test_a_disk_that_fills_up_gets_a_sentence_and_the_store_works_again_once_there_is_room(small_disk) -> None:
    place, resize = small_disk
    store = DuckRunStore(place / "b.duckdb")
    acknowledged, full = append_until_refused(store, batch=5, length=8000)
    assert full.message.startswith(NO_ROOM)
    assert "finished steps are kept" in full.advice
    assert acknowledged
    assert store.events("run_1") == acknowledged
    resize(60)
    acknowledged += store.append_events(texts(1, 10))
    assert store.events("run_1") == acknowledged
    store.close()
    again = DuckRunStore(place / "b.duckdb")
    assert again.events("run_1") == acknowledged
    again.close()


def test_a_disk_that_is_full_at_a_checkpoint_does_not_cost_the_session(small_disk) -> None:
    """DuckDB gives an open file up when it cannot checkpoint (every 16 MB of log); the store opens it anew."""
    place, resize = small_disk
    resize(17)
    store = DuckRunStore(place / "b.duckdb")
    acknowledged, full = append_until_refused(store, batch=10, length=16_000)
    assert full.message.startswith(NO_ROOM)
    seen = len(acknowledged)
    assert seen > 500
    with pytest.raises(StorageError, match=NO_ROOM):
        store.append_events(texts(500, 16_000))
    assert [e.seq for e in store.events("run_1")] == list(range(1, seen + 1))
    resize(80)
    assert store.append_events(texts(1, 10))[0].seq == seen + 1
    store.close()
    again = DuckRunStore(place / "b.duckdb", read_only=True)
    assert [e.seq for e in again.events("run_1")] == list(range(1, seen + 2))
    again.close()


def test_a_workspace_on_a_full_disk_is_refused_with_a_sentence(small_disk) -> None:
    place, resize = small_disk
    resize(1)
    with pytest.raises(OSError, match="No space left"):
        (place / "filler").write_bytes(bytes(2 << 20))
    with pytest.raises(StorageError, match=NO_ROOM):
        Workspace.open(place)
    (place / "filler").unlink()
    Workspace.open(place).close()


def test_an_artifact_that_finds_no_room_leaves_nothing_behind(small_disk, tmp_path: Path) -> None:
    place, resize = small_disk
    store = FileArtifacts(place / "artifacts")
    kept = store.put_bytes(b"kept")
    source = tmp_path / "large.bin"
    source.write_bytes(os.urandom(5_000_000))
    for put in (lambda: store.put_file(source), lambda: store.put_bytes(source.read_bytes())):
        with pytest.raises(StorageError, match=NO_ROOM):
            put()
        assert [f.name for f in place.rglob("*") if f.is_file()] == [kept]
    resize(20)
    assert store.verify(store.put_file(source)) == hashlib.sha256(source.read_bytes()).hexdigest()


def test_a_limit_on_the_size_of_files_is_told_like_a_full_disk_and_leaves_nothing_behind(tmp_path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from engine.errors import StorageError
from storage.runs.artifacts import FileArtifacts
store = FileArtifacts(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    store.put_bytes(bytes(3_000_000))
except StorageError as error:
    print(error.message)
print(sorted(f.name for f in Path(sys.argv[1]).rglob("*") if f.is_file()))
"""
    done = python(code, tmp_path / "artifacts")
    message, left = done.stdout.splitlines()
    assert message.startswith(NO_ROOM)
    assert "an artifact of 3,000,000 bytes could not be stored" in message
    assert left == "[]"


def test_a_killed_write_of_an_artifact_is_never_seen_and_is_cleared_away_after_an_hour(tmp_path: Path) -> None:
    folder = tmp_path / "artifacts"
    code = """
import os, sys
from pathlib import Path
from storage.runs.artifacts import FileArtifacts
def pieces():
    yield b"half of it"
    os.kill(os.getpid(), 9)
FileArtifacts(Path(sys.argv[1]))._store(pieces(), "a test")
"""
    assert python(code, folder).returncode == -signal.SIGKILL
    (leftover,) = (f for f in folder.rglob("*") if f.is_file())
    assert leftover.suffix == ".part"
    store = FileArtifacts(folder)
    assert not store.has(hashlib.sha256(b"half of it").hexdigest())
    assert leftover.exists()
    kept = store.put_bytes(b"kept")
    two_hours_ago = time.time() - 7200
    for file in (leftover, store.path(kept)):
        os.utime(file, (two_hours_ago, two_hours_ago))
    FileArtifacts(folder)
    assert not leftover.exists()
    assert store.verify(kept) == kept


def test_a_large_file_is_stored_without_being_loaded(tmp_path: Path) -> None:
    source = tmp_path / "large.bin"
    with source.open("wb") as file:
        file.truncate(96 << 20)
    store = FileArtifacts(tmp_path / "artifacts")
    tracemalloc.start()
    try:
        sha256 = store.put_file(source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert store.path(sha256).stat().st_size == 96 << 20
    assert peak < 8 << 20


def test_a_folder_for_artifacts_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="could not be stored at"):
        FileArtifacts(tmp_path / "file")


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Give a database with 3,000 events, all of them in the main file."""
    path = tmp_path / "biodesk.duckdb"
    store = DuckRunStore(path)
    store.append_events(texts(3000, 200))
    store.close()
    return path


def flip(path: Path, every: int, start: int) -> None:
    data = bytearray(path.read_bytes())
    for at in range(start, len(data), every):
        data[at] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize("harm", ["header", "blocks", "cut", "other content"])
def test_a_damaged_database_is_named_and_the_artifacts_are_said_to_be_intact(filled: Path, harm: str) -> None:
    if harm == "header":
        flip(filled, 10**9, 20)
    elif harm == "blocks":
        flip(filled, 5000, 12_500)
    elif harm == "cut":
        filled.write_bytes(filled.read_bytes()[:6000])
    else:
        filled.write_bytes(b"gene,a,b\nTP53,1,2\n" * 1000)
    with pytest.raises(IntegrityError) as damaged:
        DuckRunStore(filled).events("run_1")
    assert str(filled) in damaged.value.message
    assert (
        f"the files in {filled.parent / 'artifacts'} are stored apart from it and are intact" in damaged.value.message
    )
    assert "\n" not in damaged.value.message
    assert "backup" in damaged.value.advice


def test_damage_in_the_write_ahead_log_is_told_and_not_skipped(tmp_path: Path) -> None:
    path = tmp_path / "b.duckdb"
    code = WRITER.replace("100_000", "60") + "\nimport os; os.kill(os.getpid(), 9)"
    assert python(code, path, 300).returncode == -signal.SIGKILL
    log = tmp_path / "b.duckdb.wal"
    size = log.stat().st_size
    assert size > 10_000
    flip(log, 10**9, size // 2)
    with pytest.raises(IntegrityError, match="is damaged"):
        DuckRunStore(path)
    assert log.stat().st_size == size


def test_an_empty_file_left_by_a_process_that_died_at_the_start_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "b.duckdb"
    path.touch()
    store = DuckRunStore(path)
    assert store.append_events(texts(1, 10))[0].seq == 1
    store.close()
    (tmp_path / "c.duckdb").touch()
    (tmp_path / "c.duckdb.wal").write_bytes(b"a log that belongs to something")
    with pytest.raises(IntegrityError, match="is damaged"):
        DuckRunStore(tmp_path / "c.duckdb")


def test_a_file_of_a_newer_duckdb_asks_for_an_update_and_is_not_called_damaged(filled: Path) -> None:
    data = bytearray(filled.read_bytes())
    data[12:20] = struct.pack("<Q", 2000)
    # The header's checksum, as DuckDB computes it: words times a constant, joined by exclusive or.
    checksum = 5381
    for (word,) in struct.iter_unpack("<Q", bytes(data[8:4096])):
        checksum ^= word * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    data[:8] = struct.pack("<Q", checksum)
    filled.write_bytes(data)
    with pytest.raises(SchemaTooNew, match="newer release of DuckDB") as refused:
        DuckRunStore(filled)
    assert "Update Biodesk" in refused.value.advice


def test_a_row_of_a_newer_form_or_of_nonsense_is_refused_with_a_sentence(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    store = DuckRunStore(database)
    store.create_run(RunRecord(run_id="run_1", user="ada", question="?", status="queued", created_at="2026"))
    store.save_result("run_1", NodeResult(node="de", tool="t", status="succeeded", cache_key="k"))
    with database.writing() as connection:
        connection.execute("UPDATE runs SET version = 2")
        connection.execute("""UPDATE results SET payload = '{"node": "de"}'""")
    with pytest.raises(SchemaTooNew, match=r"The stored state of run .* has form 2"):
        store.run("run_1")
    with pytest.raises(IntegrityError, match=r"The stored result of step .* cannot be read back"):
        store.results("run_1")
    database.close()


def test_a_database_another_process_holds_names_that_process(tmp_path: Path) -> None:
    path = tmp_path / "b.duckdb"
    code = """
import sys
from pathlib import Path
from storage.runs.store import DuckRunStore
store = DuckRunStore(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        for read_only in (False, True):
            with pytest.raises(WorkspaceInUse, match=rf"already using this workspace \(process {holder.pid}\)"):
                DuckRunStore(path, read_only=read_only)
        holder.kill()


def test_a_folder_or_nothing_in_the_databases_place_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "b.duckdb").mkdir()
    with pytest.raises(StorageError, match="is a folder, but the database file should be there"):
        DuckRunStore(tmp_path / "b.duckdb")
    with pytest.raises(StorageError, match="There is no workspace at"):
        DuckRunStore(tmp_path / "none.duckdb", read_only=True)
    assert not (tmp_path / "none.duckdb").exists()
    with pytest.raises(StorageError):
        DuckRunStore(tmp_path / "nowhere" / "b.duckdb")


def test_a_store_open_for_reading_refuses_to_write_and_leaves_the_file_alone(filled: Path) -> None:
    before = filled.read_bytes()
    store = DuckRunStore(filled, read_only=True)
    assert len(store.events("run_1")) == 3000
    with pytest.raises(StorageError, match="open for reading only"):
        store.append_events(texts(1, 10))
    store.close()
    assert filled.read_bytes() == before


def test_a_forked_child_is_refused_and_cannot_harm_the_parents_file(tmp_path: Path) -> None:
    code = """
import os, sys, warnings
from pathlib import Path
from engine.domain.events import TextMessage
from engine.errors import StorageError
from storage.runs.store import DuckRunStore
warnings.simplefilter("ignore")
store = DuckRunStore(Path(sys.argv[1]))
store.append_events([TextMessage(run_id="r", text="parent")])
child = os.fork()
if child == 0:
    try:
        store.append_events([TextMessage(run_id="r", text="child")])
    except StorageError as error:
        store.close()
        os._exit(7 if "cannot be used in its child" in error.message else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
store.append_events([TextMessage(run_id="r", text="parent again")])
store.close()
print([e.text for e in DuckRunStore(Path(sys.argv[1])).events("r")])
"""
    done = python(code, tmp_path / "b.duckdb")
    assert done.stdout == "['parent', 'parent again']\n", done.stderr


def test_a_write_that_is_interrupted_stores_nothing_and_lets_the_next_one_in(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")

    def interrupted() -> None:
        with database.writing() as connection:
            connection.execute("INSERT INTO plans VALUES ('run_1', 1, 'plan', 1, '{}')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    store = DuckRunStore(database)
    assert store.plan_versions("run_1") == []
    assert store.append_events(texts(1, 10))[0].seq == 1
    database.close()


def test_closing_waits_for_the_write_under_way(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    inside, finish = threading.Event(), threading.Event()

    def write() -> None:
        with database.writing() as connection:
            inside.set()
            finish.wait(10)
            connection.execute("INSERT INTO plans VALUES ('run_1', 1, 'plan', 1, '{}')")

    writer = threading.Thread(target=write)
    writer.start()
    inside.wait(10)
    closer = threading.Thread(target=database.close)
    closer.start()
    finish.set()
    writer.join(10)
    closer.join(10)
    with duckdb.connect(str(tmp_path / "b.duckdb")) as connection:
        assert connection.execute("SELECT count(*) FROM plans").fetchall() == [(1,)]


def test_the_database_asks_no_network_for_extensions_and_reads_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    database = Database(tmp_path / "b.duckdb")
    with database.reading() as connection:
        names = ["autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access"]
        rows = connection.execute(
            "SELECT name, value FROM duckdb_settings() WHERE list_contains(?, name)", [names]
        ).fetchall()
    assert dict(rows) == dict.fromkeys(names, "false")
    with pytest.raises(StorageError), database.reading() as connection:
        connection.execute(f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')").fetchall()
    database.close()


@pytest.mark.parametrize("harm", ["data", "manifests", "folder gone", "a file in the folder's place"])
def test_vectors_that_are_damaged_or_gone_are_made_again(tmp_path: Path, harm: str) -> None:
    folder = tmp_path / "vectors"
    LanceVectors(folder).add("tools", ["a", "b"], np.eye(2, dtype=np.float32))
    if harm.startswith(("folder", "a file")):
        shutil.rmtree(folder)
        if harm.startswith("a file"):
            folder.write_text("not a folder")
        index = LanceVectors(folder)
        assert index.ids("tools") == []
    else:
        part = "data" if harm == "data" else "_versions"
        for file in folder.glob(f"*.lance/{part}/*"):
            file.write_bytes(b"xx")
        index = LanceVectors(folder)
        with pytest.raises(IntegrityError, match=r"The vectors of tools in .* cannot be read") as damaged:
            index.search("tools", [1.0, 0.0], top=1)
        assert "rebuild the index" in damaged.value.advice
        index.drop("tools")
    index.add("tools", ["c", "d"], np.eye(2, dtype=np.float32))
    assert [hit.id for hit in index.search("tools", [1.0, 0.1], top=2)] == ["c", "d"]
    assert LanceVectors(folder).ids("tools") == ["c", "d"]


def test_vectors_that_find_no_room_get_a_sentence(small_disk) -> None:
    place, _ = small_disk
    index = LanceVectors(place / "vectors")
    rows = np.eye(2500, 512, dtype=np.float32) + 0.5
    with pytest.raises(StorageError, match=NO_ROOM):
        index.add("tools", [str(n) for n in range(2500)], rows)
