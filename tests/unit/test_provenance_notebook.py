from __future__ import annotations

import ast

import nbformat
import pytest
from reporting_run import FolderStore, execute, small_plan, small_registry, with_failure

from engine.provenance.notebook import notebook, to_json
from engine.provenance.notebook_cells import COMPARE, LOCATE, SHOW
from engine.provenance.scripts import redirect, split_script
from engine.toolbox.registry import ToolRegistry


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    store = FolderStore(folder / "store")
    return execute(small_plan(folder / "in"), small_registry(), store, folder / "work"), store


def _cells(book):
    return {cell.id: cell.source for cell in book.cells}


def test_notebook_is_valid_and_the_same_every_time(made):
    view, store = made
    first = to_json(notebook(view, small_registry(), store))
    assert first == to_json(notebook(view, small_registry(), store))
    nbformat.validate(nbformat.reads(first, as_version=4))


def test_recorded_code_and_catalogue_give_the_same_notebook(made):
    view, store = made
    assert to_json(notebook(view, small_registry(), store)) == to_json(notebook(view, small_registry()))


def test_notebook_shows_the_code_that_ran_when_the_catalogue_changed(made):
    view, store = made
    changed = [
        spec.model_copy(update={"source": spec.source.replace("describe", "rewrite")}) for spec in small_registry()
    ]
    cells = _cells(notebook(view, ToolRegistry(changed), store))
    assert "_describe(row.mean)" in cells["n1-tool"]
    cells = _cells(notebook(view, ToolRegistry([]), store))  # the tool is gone, its code is not
    assert "def group_means" in cells["n1-tool"]


def test_notebook_pins_the_versions_that_ran_and_needs_no_biodesk(made):
    view, store = made
    cells = _cells(notebook(view, small_registry(), store))
    for name, version in view.results["n1"].versions.items():
        assert f"{name}=={version}" in cells["about"]
    modules = set()
    for cell in notebook(view, small_registry(), store).cells:
        if cell.cell_type == "code":
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.Import):
                    modules |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    modules.add(node.module.split(".")[0])
    assert not modules & {"engine", "storage", "biodesk"}
    assert "scipy" in modules


def test_steps_that_failed_are_left_out_with_a_note(made):
    view, store = made
    cells = _cells(notebook(with_failure(view, small_registry()), small_registry(), store))
    assert "n1-run" in cells
    assert "n2-run" not in cells
    assert "This step is left out: it was not completed (failed: Counts must not be negative" in cells["n2-about"]
    assert "n3-about" in cells
    assert "n3-run" not in cells


def test_paths_are_replaced_in_the_syntax_tree_not_in_the_text():
    lines = (
        "table = read_data('inputs/a.csv', 'table', sep=';')\n"
        "b = read_data('inputs/é.csv', 'table')\n"
        "result = f(table, b, note='inputs/a.csv')\n"
        "save_result(result, {'x': 'table'}, 'outputs')\n"
    )
    assert redirect(lines, {"table": "DATA['é']", "b": "'r/b.csv'"}, "results/n1") == (
        "table = read_data(DATA['é'], 'table', sep=';')\n"
        "b = read_data('r/b.csv', 'table')\n"
        "result = f(table, b, note='inputs/a.csv')\n"
        "save_result(result, {'x': 'table'}, 'results/n1')\n"
    )
    with pytest.raises(ValueError, match="'b'"):
        redirect(lines, {"table": "x"}, "r")


def test_a_script_is_split_without_losing_a_line():
    parts = split_script("from __future__ import annotations\n\ndef f(x):\n    # why\n    return x\n\ny = f(1)\n")
    assert parts.functions == {"f": "def f(x):\n    # why\n    return x"}
    assert parts.lines == "y = f(1)\n"


def _namespace(folder, monkeypatch):
    monkeypatch.chdir(folder)
    space = {"DATA_FILES": {}, "RECORDED": {}, "__name__": "notebook"}
    exec(LOCATE + SHOW, space)
    return space


def test_data_are_found_by_content_in_the_places_promised(tmp_path, monkeypatch, capsys):
    space = _namespace(tmp_path, monkeypatch)
    (tmp_path / "data").mkdir()
    (tmp_path / "d.csv").write_text("other")
    (tmp_path / "data" / "d.csv").write_text("right")
    sha256 = space["sha256_of"](tmp_path / "data" / "d.csv")
    assert space["locate"]("d", ["d.csv"], "~/nowhere/d.csv", sha256) == "data/d.csv"
    (tmp_path / "data" / "d.csv").unlink()
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "d.csv").write_text("right")
    monkeypatch.setenv("BIODESK_DATA", str(tmp_path / "env"))
    assert space["locate"]("d", ["d.csv"], "~/nowhere/d.csv", sha256) == str(tmp_path / "env" / "d.csv")
    assert space["DATA_CHANGED"] == []
    (tmp_path / "env" / "d.csv").unlink()
    capsys.readouterr()
    assert space["locate"]("d", ["d.csv"], "~/nowhere/d.csv", sha256) == "d.csv"
    assert "DIFFERENT" in capsys.readouterr().out
    assert space["DATA_CHANGED"] == ["d"]
    (tmp_path / "d.csv").unlink()
    with pytest.raises(FileNotFoundError, match="BIODESK_DATA"):
        space["locate"]("d", ["d.csv"], "~/nowhere/d.csv", sha256)


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        ("a,b\nx,1.0\n", "identical"),
        ("a,b\nx,1.0000000001\n", "same numbers"),
        ("a,b\nx,1.001\n", "DIFFERENT"),
        ("a,b\ny,1.0\n", "DIFFERENT: the text in column a"),
        ("a,b\nx,\n", "DIFFERENT: column b misses other values"),
        ("a,b\nx,1.0\nx,1.0\n", "DIFFERENT: shape (2, 2) here"),
        (None, "MISSING"),
    ],
)
def test_the_last_cell_tells_same_from_different(tmp_path, monkeypatch, capsys, ours, words):
    space = _namespace(tmp_path, monkeypatch)
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "n1_t.csv").write_text("a,b\nx,1.0\n")
    sha256 = space["sha256_of"](tmp_path / "artifacts" / "n1_t.csv")
    if ours is not None:
        (tmp_path / "t.csv").write_text(ours)
    space["RECORDED"] = {"t.csv": {"name": "n1_t.csv", "sha256": sha256, "rows": 1}}
    exec(COMPARE, space)
    said = capsys.readouterr().out
    assert f"t.csv: {words}" in said
    same = words in ("identical", "same numbers")
    assert f"{int(same)} of 1 outputs are the same" in said
    assert ("NOT the same: t.csv" in said) != same
