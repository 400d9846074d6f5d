"""The export for real: two processes at once, and one that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import until

from engine.adapters import embedding_export, embedding_files
from engine.adapters.embedding_onnx import OnnxModel

ROOT = Path(__file__).resolve().parents[2]


def start(target: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "engine.adapters.embedding_export", str(source()), str(target)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)


def source() -> Path:
    return embedding_files.find_default().folder


@pytest.mark.slow
def test_a_killed_export_leaves_nothing_in_place_and_two_at_once_leave_one(tmp_path: Path) -> None:
    sha256 = embedding_files.find_default().sha256
    target = tmp_path / "models" / sha256
    killed = start(target)
    until(lambda: killed.poll() is not None or list((tmp_path / "models").glob(".making-*")))
    assert killed.poll() is None, "the export ended before it began"
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not target.exists()
    left = next((tmp_path / "models").glob(".making-*"))
    os.utime(left, (0, 0))

    both = [start(target), start(target)]
    assert [process.wait() for process in both] == [0, 0]
    manifest = embedding_export.read_manifest(target, sha256)
    assert manifest is not None
    assert manifest["lowest_cosine"] > 0.99999
    assert manifest["model_sha256"] == embedding_files.hash_file(target / "model.onnx")
    assert [path.name for path in (tmp_path / "models").iterdir()] == [sha256]
    vector = OnnxModel(target).embed([embedding_export.CANARY])[0]
    assert abs(float((vector * manifest["canary"]).sum()) - 1) < 1e-4
