"""A step reads what Python runs from and never the workspace, wherever a user put the two."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from engine.adapters.process_sandbox import ProcessSandbox
from engine.adapters.sandbox import selftest
from engine.adapters.sandbox.confine import landlock_version
from engine.adapters.sandbox.view import Places
from engine.adapters.sandbox.worker import find_bubblewrap
from engine.api import sandbox_self_test
from engine.bootstrap import make_sandbox
from engine.ports.sandbox import Job
from engine.runs.cancel import CancelSource
from engine.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
KINDS = {
    "bubblewrap": {"use_bubblewrap": True},
    "bubblewrap_around_each_job": {"use_bubblewrap": True, "isolations": ()},
    "namespaces": {"use_bubblewrap": False, "isolations": ("namespaces",)},
    "landlock": {"use_bubblewrap": False, "isolations": ("landlock",)},
}
WORKSPACES = {
    "Python's own folder": ".",
    "a folder in it": "desk",
    "a folder among the libraries": "lib/desk",
    "a folder among the programs": "bin/desk",
    "a folder among the packages": f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/desk",
    "the folder around Python's": "..",
    "a folder below one that is shown": "../shown/desk",
    "the same by a link": "../link/other",
}
STEP = """
import json, os, sys
import decimal, numpy
secret = os.path.join(sys.argv[0] and WORKSPACE, "biodesk.duckdb")
found = {"packages": numpy.__name__}
for name, path in (("secret", secret), ("up", "../../../biodesk.duckdb"), ("rest", REST), ("shown", SHOWN)):
    try:
        found[name] = open(path).read()
    except OSError as error:
        found[name] = ""
try:
    open(secret, "w").write("changed")
except OSError:
    pass
json.dump(found, open("found.json", "w"))
"""
TRIAL = """
import json, sys, tempfile
from pathlib import Path
from engine.adapters.process_sandbox import ProcessSandbox
from engine.ports.sandbox import Job
from engine.runs.cancel import CancelSource
step, kind, places, shown = json.load(sys.stdin)
told = {}
for name, place in places.items():
    workspace = Path(sys.prefix) / place
    folder = workspace / "runs" / "run" / "step"
    folder.mkdir(parents=True)
    (workspace / "biodesk.duckdb").write_text("all data")
    sandbox = ProcessSandbox(workspace / "runs", preload=("json",), hidden=(workspace,), readable=(Path(shown),), **kind)
    sandbox.warm()
    values = {"WORKSPACE": workspace, "REST": Path(sys.prefix) / "notes.txt", "SHOWN": Path(shown) / "open.txt"}
    code = "".join(f"{name} = {str(value)!r}\\n" for name, value in values.items()) + step
    result = sandbox.run(Job(id="s", code=code, workdir=folder), on_output=lambda *_: None, cancel=CancelSource())
    sandbox.close()
    assert result.ok, result
    told[name] = json.loads((folder / "found.json").read_text())
    told[name]["kept"] = (workspace / "biodesk.duckdb").read_text()
    told[name]["isolation"] = sandbox._found().isolation
json.dump(told, sys.stdout)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_the_workspace_is_hidden_wherever_it_lies(kind: str, tmp_path: Path) -> None:
    if "bubblewrap" in kind and find_bubblewrap() is None:
        pytest.skip("bubblewrap is not installed or cannot make namespaces on this machine")
    if kind == "landlock" and landlock_version() < 1:
        pytest.skip("this kernel has no Landlock")
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "open.txt").write_text("shown")
    (tmp_path / "link").symlink_to(tmp_path / "shown")
    venv.create(tmp_path / "python", with_pip=False, symlinks=True)
    (tmp_path / "python" / "notes.txt").write_text("private")
    packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    done = subprocess.run(
        [tmp_path / "python" / "bin" / "python", "-c", TRIAL],
        input=json.dumps([STEP, KINDS[kind], WORKSPACES, str(tmp_path / "shown")]),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *packages])},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name, found in json.loads(done.stdout).items():
        if kind == "namespaces" and found["isolation"] != "namespaces":
            pytest.skip("this user may not make namespaces without bubblewrap")
        expected = {"packages": "numpy", "secret": "", "up": "", "rest": "", "shown": "shown", "kept": "all data"}
        assert {**found, "isolation": None} == {**expected, "isolation": None}, name


def test_only_the_parts_of_pythons_folder_that_are_needed_are_read(tmp_path: Path) -> None:
    read = Places(tmp_path).read_paths()
    assert not {sys.prefix, sys.base_prefix} & set(read) - {"/usr"}
    for needed in (sys.executable, os.__file__, json.__file__):
        assert any(Path(needed).is_relative_to(path) for path in read)


def test_a_file_that_is_shown_by_name_can_be_read_in_a_hidden_folder(tmp_path: Path) -> None:
    workspace = tmp_path / "desk"
    folder = workspace / "runs" / "step"
    folder.mkdir(parents=True)
    for name in ("given.csv", "other.csv"):
        (workspace / name).write_text(name)
    sandbox = ProcessSandbox(workspace / "runs", preload=("json",), hidden=(workspace,))
    try:
        code = f"import os\nfor n in ('given.csv', 'other.csv'): print(os.path.exists({str(workspace)!r} + '/' + n))"
        job = Job(id="s", code=code, workdir=folder, readable=(workspace / "given.csv",))
        result = sandbox.run(job, on_output=lambda *_: None, cancel=CancelSource())
        seen = result.stdout.split()
        assert seen[0] == "True"
        if sandbox.report().isolation["workspace"]:
            assert seen[1] == "False"
    finally:
        sandbox.close()


def test_what_steps_of_a_workspace_run_in_hides_it(tmp_path: Path) -> None:
    workspace = tmp_path / "desk"
    folder = workspace / "runs" / "step"
    folder.mkdir(parents=True)
    (workspace / "biodesk.duckdb").write_text("all data")
    settings = Settings(workspace=workspace, warm_workers=False)
    sandbox = make_sandbox(settings, workspace / "runs")
    try:
        code = f"print(open({str(workspace / 'biodesk.duckdb')!r}).read())"
        result = sandbox.run(Job(id="s", code=code, workdir=folder), on_output=lambda *_: None, cancel=CancelSource())
        holds = sandbox.report().isolation["workspace"]
        assert ("all data" in result.stdout) is not holds
        found = sandbox_self_test(settings, tmp_path / "trial")
        assert found["isolation"]["workspace"] is holds
    finally:
        sandbox.close()
    assert sorted(path.name for path in workspace.iterdir()) == ["biodesk.duckdb", "runs"], "the canary is taken away"


def test_the_self_test_says_whether_it_met_the_worker_that_steps_are_forks_of(tmp_path: Path) -> None:
    sandbox = ProcessSandbox(tmp_path, preload=("decimal", "scanpy"), warm_wait=0.0)
    try:
        if not sandbox.should_be_warm:
            pytest.skip("steps start cold on this machine")
        assert any("fresh interpreter" in text for text in sandbox.report().missing)
        sandbox.warm()
        assert not any("fresh interpreter" in text for text in sandbox.report().missing)
    finally:
        sandbox.close()


@pytest.mark.parametrize("there_is", [False, True])
def test_a_wall_that_nothing_was_tried_on_is_not_called_standing(there_is: bool, tmp_path: Path) -> None:
    hidden = tmp_path / "not" / "yet"
    if there_is:
        hidden = tmp_path / "file"
        hidden.write_text("where a folder should be")
    sandbox = ProcessSandbox(tmp_path / "runs", preload=(), hidden=(hidden,), use_bubblewrap=False, isolations=())
    try:
        report = sandbox.report()
    finally:
        sandbox.close()
    assert not report.isolation["workspace"]
    assert any("not tried" in sentence and "workspace" in sentence for sentence in report.missing) is there_is
    assert not (tmp_path / "not").exists(), "what was made for the test is taken away"


def test_the_self_test_listens_where_it_says_it_does_in_a_folder_of_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "team@lab@2"
    folder.mkdir()
    with selftest._listeners(folder) as (_, local, waiting):
        named = [*local, *map(selftest._told, waiting[1:])]
        paths = [Path(name) for name in named if name.startswith("/")]
        assert len(paths) == 2
        assert all(path.is_socket() and path.parent == folder for path in paths)
        assert {path.name for path in tmp_path.iterdir()} == {folder.name}
