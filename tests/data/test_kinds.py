"""Kinds of data by declaration: one that is declared here, and the one that the documentation adds."""

from __future__ import annotations

import builtins
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.data import catalogue
from engine.data.catalogue import KINDS, accepts, read_data, write_data
from engine.data.corrections import apply
from engine.data.found import Found, guess
from engine.data.kind import Kind, Look
from engine.data.profiler import profile_file
from engine.domain.datatypes import DataType
from engine.planning.tables.values import load_rows
from engine.toolbox.registry import builtin_tools
from engine.toolbox.script import StepInput, all_io, step_script, stored_input
from engine.toolbox.sources import global_names

ROOT = Path(__file__).parents[2]
TRACES = "@traces 2\na 1.5 2 3\nb 2.5 4 5\n"


def read_traces(path):
    import pandas as pd

    return pd.read_csv(path, sep=" ", skiprows=1, header=None, names=["cell", "start", "middle", "end"])


def write_traces(value, stem):
    with open(f"{stem}.traces", "w") as handle:
        handle.write(f"@traces {len(value)}\n" + value.to_csv(sep=" ", header=False, index=False))
    return f"{stem}.traces"


def traces(look: Look) -> Found | None:
    return Found("traces", guess(DataType.GRAPH, 0.9), "Traces") if look.first.startswith("@traces") else None


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> Kind:
    kind = Kind(type=DataType.GRAPH, records=True, read=read_traces, write=write_traces, in_text=traces)
    monkeypatch.setitem(catalogue.KINDS, DataType.GRAPH, kind)
    return kind


def test_a_kind_that_is_declared_is_recognised_read_profiled_corrected_and_written(declared, tmp_path: Path) -> None:
    path = tmp_path / "night.txt"
    path.write_text(TRACES)
    profile = profile_file(path)
    assert (profile.format, [found.type for found in profile.types], profile.rows) == ("traces", [DataType.GRAPH], 2)
    assert [column.name for column in profile.column_profiles] == ["cell", "start", "middle", "end"]
    assert profile.head["start"] == ["1.5", "2.5"]
    assert accepts(DataType.TABLE, DataType.GRAPH)
    fixed = apply(profile, {"middle": "code"})
    assert fixed.column("middle").scale == "code"  # type: ignore[union-attr]
    assert load_rows(profile)["end"].tolist() == [3, 5]
    assert write_data(read_data(path, "graph"), str(tmp_path / "again"), "graph").endswith("again.traces")
    assert (tmp_path / "again.traces").read_text() == TRACES


def test_a_new_kind_leaves_the_code_of_other_steps_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = builtin_tools().get("summarize_table")
    table = {"table": StepInput(path="t.csv", type=DataType.TABLE)}
    before = step_script(spec, table, {})
    assert "read_matrix" not in before
    kind = Kind(type=DataType.GRAPH, records=True, read=read_traces)
    monkeypatch.setitem(catalogue.KINDS, DataType.GRAPH, kind)
    assert step_script(spec, table, {}) == before
    own = step_script(spec, {"table": StepInput(path="t.txt", type=DataType.GRAPH)}, {})
    assert "table = read_traces('t.txt')" in own
    assert "def read_traces(path):" in own
    assert "def read_table" not in own


def test_what_reads_and_writes_needs_nothing_of_biodesk() -> None:
    namespace: dict = {}
    exec("\n".join(all_io().values()), namespace)
    for name in all_io():
        unknown = [n for n in global_names(namespace[name].__code__) if n not in namespace and not hasattr(builtins, n)]
        assert unknown == [], name


def test_every_type_has_a_kind_and_every_kind_names_itself() -> None:
    assert set(KINDS) >= set(DataType)
    assert all(kind.called.startswith(("a ", "an ", "single-cell data")) for kind in KINDS.values())
    assert stored_input("m.csv", DataType.COUNT_MATRIX).expression() == "read_matrix('m.csv', index_col=0)"
    ranking = [field.name for field in KINDS[DataType.RANKED_GENES].schema.fields]
    assert ranking == ["gene", "score"]  # the names that the reader of tables gives to a ranking without a header


def test_the_type_that_the_documentation_adds_works_in_a_copy(tmp_path: Path) -> None:
    """A newcomer's way by the page alone: one file; then a file is profiled and read by a step."""
    page = (ROOT / "docs" / "add-a-data-type.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    shutil.copytree(ROOT / "engine", tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "engine" / "data" / "kinds" / "plate.py").write_text(source)
    (tmp_path / "assay.txt").write_text("# plate 7\n\t1\t2\t3\nA\t0.1\t0.25\t0.3\nB\t0.4\t0.5\t0.6\n")
    code = (
        "from engine.data.profiler import profile_file\n"
        "from engine.toolbox.registry import builtin_tools\n"
        "from engine.toolbox.script import StepInput, step_script\n"
        "profile = profile_file('assay.txt')\n"
        "print(profile.best.type.value, profile.rows, [column.name for column in profile.column_profiles])\n"
        "step = StepInput(path='assay.txt', type=profile.best.type)\n"
        "exec(step_script(builtin_tools().get('summarize_table'), {'table': step}, {}))\n"
        "print(open('outputs/summary.csv').read())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path), "PATH": ""},
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("plate 6 ['row', 'column', 'value', 'well']\n")
    assert "value" in done.stdout
