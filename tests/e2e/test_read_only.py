"""A workspace that may only be read - a backup, a mount, somebody else's - is read, and nothing else is tried on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from growth_data import write_growth

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "Is growth higher in treated than in control?"

READER = """
import contextlib, io, json, os, sys
from engine.cli.main import main
workspace, run_id, question = sys.argv[1:]
os.environ["BIODESK_WORKSPACE"] = workspace
commands = [
    ["runs"], ["show", run_id], ["events", run_id], ["verify", run_id],
    ["export", "--format=html", run_id, "--out", "report.html"],
    ["export", "--format=notebook", run_id, "--out", "again.ipynb"],
    ["ask", "--yes", question, "--data", "growth.csv", "--quiet"], ["resume", "run_none"], ["cancel", "run_none"],
]
said = {}
for words in commands:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    said[" ".join(words[:2])] = code, out.getvalue(), err.getvalue()
from streamlit.testing.v1 import AppTest
for page in ("ask", "plan_run", "memory", "provenance"):
    app = AppTest.from_file("ROOT/desk.py", default_timeout=120)
    if page != "ask":
        app.switch_page(f"pages/{page}.py")
    app.query_params["run"] = run_id
    app.run()
    text = [element.value for element in app.main if element.type in ("title", "alert", "info", "warning", "error")]
    said["page " + page] = bool(app.exception), text, [warning.value for warning in app.warning]
print(json.dumps(said))
""".replace("ROOT", str(ROOT))


def bound_by_rights() -> list[str]:
    """Return how to start a process that the rights of files bind; root is not bound by them."""
    if os.geteuid():
        return []
    if not (setpriv := shutil.which("setpriv")):
        pytest.skip("Root may write everything, and there is no setpriv to give that up.")
    return [setpriv, "--bounding-set=-dac_override,-dac_read_search"]


@pytest.mark.parametrize("copied", [pytest.param("whole", marks=pytest.mark.slow), "without what a copy may lack"])
def test_a_workspace_without_the_right_to_write_is_read_shown_verified_and_exported(copied, tmp_path, monkeypatch):
    from engine.api import open_engine

    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    before = bound_by_rights()
    data = write_growth(tmp_path / "growth.csv")
    workspace = tmp_path / "desk"
    with open_engine(workspace=workspace) as engine:
        run_id = engine.ask(QUESTION, [data], auto_approve=True)
        assert engine.wait(run_id, 120).status == "succeeded"
    if copied != "whole":  # an archive may leave out what is empty, and what the run needed only while it was going on
        shutil.rmtree(workspace / "runs")
        shutil.rmtree(workspace / "vectors", ignore_errors=True)
        (workspace / "workspace.lock").unlink()
    entries = [workspace, *workspace.rglob("*")]
    held = {entry: (entry.stat().st_size, entry.stat().st_mtime_ns) for entry in entries}
    for entry in entries:
        entry.chmod(0o555 if entry.is_dir() else 0o444)
    try:
        done = subprocess.run(
            [*before, sys.executable, "-c", READER, str(workspace), run_id, QUESTION],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert [workspace, *workspace.rglob("*")] == entries
        assert {entry: (entry.stat().st_size, entry.stat().st_mtime_ns) for entry in entries} == held
    finally:
        for entry in entries:
            entry.chmod(0o700 if entry.is_dir() else 0o600)
    said = json.loads(done.stdout.splitlines()[-1])
    refused = {command: said.pop(command) for command in ("ask --yes", "resume run_none", "cancel run_none")}
    pages = {name: said.pop(name) for name in list(said) if name.startswith("page ")}
    assert {command: (code, err) for command, (code, _, err) in said.items()} == dict.fromkeys(said, (0, ""))
    assert said["runs"][1].startswith(run_id)
    assert "nothing differs" in said[f"verify {run_id}"][1]
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert json.loads((tmp_path / "again.ipynb").read_text())["cells"]
    for code, out, err in refused.values():
        assert (bool(code), out, len(err.splitlines())) == (True, "", 1), err
    assert "for reading only" in refused["ask --yes"][2]
    for page, (failed, text, warnings) in pages.items():
        assert not failed, page
        assert not warnings, page
        assert any("may only be read" in line for line in text[:2]), (page, text)
