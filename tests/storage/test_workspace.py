"""A workspace: made for its owner alone, held by one process, and refused with a sentence when unusable."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.errors import IntegrityError, StorageError, WorkspaceInUse
from storage.workspace import Workspace

ROOT = Path(__file__).parents[2]
posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX file modes, signals or fork")

HOLD = """
import sys, time
from pathlib import Path
from storage.workspace import Workspace
space = Workspace.open(Path(sys.argv[1]), read_only=len(sys.argv) > 2)
print("held", flush=True)
time.sleep(60)
"""


@contextmanager
def held_by_another_process(folder: Path, *more: str) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), *more], stdout=subprocess.PIPE, cwd=ROOT, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def as_ordinary_user() -> Iterator[Path]:
    """Give a folder in which file modes count, dropping root's rights for the while where need be."""
    folder = Path(tempfile.mkdtemp(prefix="biodesk-test-"))
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        for place in [folder, *folder.rglob("*")]:
            if place.is_dir():
                place.chmod(0o700)
        shutil.rmtree(folder)


@posix_only
def test_a_new_workspace_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "a" / "b") as space:
        for folder in (space.folder, space.artifacts, space.runs, space.vectors):
            assert folder.stat().st_mode & 0o777 == 0o700
        assert space.db_path == tmp_path / "a" / "b" / "biodesk.duckdb"
        assert (space.folder / "workspace.lock").stat().st_mode & 0o777 == 0o600


@posix_only
def test_the_rights_of_a_folder_that_exists_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine").chmod(0o750)
    with Workspace.open(tmp_path / "mine"):
        assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o750


def test_the_lock_file_says_who_holds_it_since_when(tmp_path: Path) -> None:
    with Workspace.open(tmp_path):
        told = json.loads((tmp_path / "workspace.lock").read_text())
    assert told["pid"] == os.getpid()
    assert told["host"] == platform.node()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", told["started"])


def test_a_held_workspace_is_refused_with_the_process_the_host_and_what_to_do(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path) as holder, pytest.raises(WorkspaceInUse) as refused:
        Workspace.open(tmp_path)
    assert refused.value.message == (
        f"Biodesk is already using this workspace (process {holder.pid} on host {platform.node()})."
    )
    assert refused.value.advice == "Wait until it is done or close it, or give another folder with --workspace."
    assert refused.value.exit_code == 3


def test_a_workspace_opened_twice_in_one_process_is_refused_too(tmp_path: Path) -> None:
    with Workspace.open(tmp_path), pytest.raises(WorkspaceInUse, match=f"process {os.getpid()} on host"):
        Workspace.open(tmp_path)
    Workspace.open(tmp_path).close()


def test_a_reader_is_refused_beside_a_writer_and_a_writer_beside_a_reader(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path), pytest.raises(WorkspaceInUse, match="already using"):
        Workspace.open(tmp_path, read_only=True)
    with held_by_another_process(tmp_path, "read only"), pytest.raises(WorkspaceInUse, match="already using"):
        Workspace.open(tmp_path)


def test_a_refused_writer_beside_a_reader_is_not_told_of_a_process_that_is_gone(tmp_path: Path) -> None:
    Workspace.open(tmp_path).close()
    with held_by_another_process(tmp_path, "read only"), pytest.raises(WorkspaceInUse) as refused:
        Workspace.open(tmp_path)
    assert "process" not in refused.value.message


@posix_only
def test_two_readers_hold_a_workspace_together(tmp_path: Path) -> None:
    Workspace.open(tmp_path).close()
    with held_by_another_process(tmp_path, "read only"), Workspace.open(tmp_path, read_only=True) as space:
        assert space.read_only


@posix_only
def test_the_lock_of_a_killed_process_does_not_block(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert json.loads((tmp_path / "workspace.lock").read_text())["pid"] == holder.pid
        with Workspace.open(tmp_path):
            assert json.loads((tmp_path / "workspace.lock").read_text())["pid"] == os.getpid()


@posix_only
def test_a_program_started_meanwhile_does_not_keep_the_lock_of_a_killed_process(tmp_path: Path) -> None:
    code = HOLD.replace(
        "time.sleep(60)",
        "import subprocess; print(subprocess.Popen(['sleep', '60'], close_fds=False).pid, flush=True); time.sleep(60)",
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        child = int(holder.stdout.readline())
        try:
            holder.kill()
            holder.wait()
            os.kill(child, 0)
            Workspace.open(tmp_path).close()
        finally:
            os.kill(child, signal.SIGKILL)


@posix_only
def test_a_forked_child_that_lives_on_does_not_keep_a_lock_the_parent_gave_back(tmp_path: Path) -> None:
    code = """
import os, signal, sys, time
from pathlib import Path
from storage.workspace import Workspace
space = Workspace.open(Path(sys.argv[1]))
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
try:
    space.close()
    Workspace.open(Path(sys.argv[1])).close()
    print("free")
finally:
    os.kill(child, signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "free\n", done.stderr


@posix_only
def test_a_forked_child_that_closes_its_copy_leaves_the_lock_with_the_parent(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from engine.errors import WorkspaceInUse
from storage.workspace import Workspace
folder = Path(sys.argv[1])
space = Workspace.open(folder)
child = os.fork()
if child == 0:
    space.close()
    os._exit(0)
os.waitpid(child, 0)
try:
    Workspace.open(folder)
except WorkspaceInUse as error:
    assert f"process {os.getpid()} on" in error.message, error.message
    print("still held")
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "still held\n"), done.stderr


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    space = Workspace.open(tmp_path)
    space.close()
    other = Workspace.open(tmp_path)
    space.close()
    with pytest.raises(WorkspaceInUse):
        Workspace.open(tmp_path)
    other.close()


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="is a file, but it must be a folder") as refused:
        Workspace.open(tmp_path / "file")
    assert "--workspace" in refused.value.advice
    with pytest.raises(StorageError, match="cannot be used"):
        Workspace.open(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_file_where_a_folder_of_the_workspace_belongs_is_refused_and_the_lock_let_go(tmp_path: Path) -> None:
    (tmp_path / "artifacts").write_text("mine")
    with pytest.raises(StorageError, match="cannot be used"):
        Workspace.open(tmp_path)
    (tmp_path / "artifacts").unlink()
    Workspace.open(tmp_path).close()


@posix_only
def test_a_folder_that_may_not_be_written_is_refused() -> None:
    with as_ordinary_user() as folder:
        (folder / "locked").mkdir(mode=0o500)
        for place in (folder / "locked", folder / "locked" / "below"):
            with pytest.raises(StorageError, match="cannot be used: Permission denied") as refused:
                Workspace.open(place)
            assert "--workspace" in refused.value.advice


def test_reading_a_workspace_that_does_not_exist_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="There is no workspace at"):
        Workspace.open(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()
    with pytest.raises(StorageError, match="There is no workspace at"):
        Workspace.open(tmp_path, read_only=True)
    assert list(tmp_path.iterdir()) == []


@posix_only
def test_reading_changes_nothing_in_the_workspace() -> None:
    with as_ordinary_user() as folder:
        Workspace.open(folder).close()
        folder.chmod(0o500)
        with Workspace.open(folder, read_only=True) as space:
            assert sorted(place.name for place in space.folder.iterdir()) == [
                "artifacts",
                "runs",
                "vectors",
                "workspace.lock",
            ]


MADE = "2026-03-01T10:20:30.456Z"


def test_results_of_another_database_are_refused(tmp_path: Path) -> None:
    with Workspace.open(tmp_path) as space:
        space.require_history(MADE)
        (space.artifacts / "sha256").mkdir()
        (space.artifacts / "sha256" / "abc").write_text("a result")
        space.require_history(MADE)
        for other in ("2025-03-01T10:20:30.456Z", "2026-03-01T10:20:30Z"):
            with pytest.raises(IntegrityError, match="another one"):
                space.require_history(other)


@pytest.mark.parametrize("told", [b"", MADE[:-1].encode(), b"2026-0", bytes(24), b"\xff\xfe\x00" * 8, b"a database"])
def test_what_tells_of_no_database_is_written_anew(told: bytes, tmp_path: Path) -> None:
    with Workspace.open(tmp_path) as space:
        (space.artifacts / "sha256").mkdir()
        (space.artifacts / "sha256" / "abc").write_text("a result")
        (space.artifacts / "database").write_bytes(told)
        space.require_history(MADE)
        assert (space.artifacts / "database").read_text() == MADE
        assert sorted(place.name for place in space.artifacts.iterdir()) == ["database", "sha256"]


def test_what_the_results_belong_to_is_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Workspace.open(tmp_path) as space:
        space.require_history("2025-03-01T10:20:30.456Z")

        def fail(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(StorageError):
            space.require_history(MADE)
        assert (space.artifacts / "database").read_text() == "2025-03-01T10:20:30.456Z"
        monkeypatch.undo()
