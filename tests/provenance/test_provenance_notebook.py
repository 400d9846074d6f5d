from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest
from reporting_run import small_registry, with_failure

from engine.provenance.notebook import _modules, _providers, modules_of, notebook, to_json
from engine.provenance.notebook_cells import MODULE
from engine.provenance.scripts import redirect, split_script
from engine.toolbox.registry import ToolRegistry, builtin_tools
from engine.toolbox.script import step_script


def _cells(book):
    return {cell.id: cell.source for cell in book.cells}


def _numbers_in(source):
    """Return the name that a source sets to a number, where it is no function."""
    return re.findall(r"^([A-Z][A-Z0-9_]*) = -?[\d.e-]+$", source.strip())


def test_notebook_is_valid_and_the_same_every_time(small_run):
    view, store = small_run
    first = to_json(notebook(view, small_registry(), store))
    assert first == to_json(notebook(view, small_registry(), store))
    nbformat.validate(nbformat.reads(first, as_version=4))


def test_recorded_code_and_catalogue_give_the_same_notebook(small_run):
    view, store = small_run
    assert _cells(notebook(view, small_registry(), store)) == _cells(notebook(view, small_registry()))
    assert modules_of(view, small_registry(), store) == modules_of(view, small_registry())


def test_notebook_shows_the_code_that_ran_when_the_catalogue_changed(small_run):
    view, store = small_run
    changed = [
        spec.model_copy(update={"source": spec.source.replace("describe", "rewrite")}) for spec in small_registry()
    ]
    (text,) = modules_of(view, ToolRegistry(changed), store).values()
    assert "_describe(row.mean)" in text
    (text,) = modules_of(view, ToolRegistry([]), store).values()  # the tool is gone, its code is not
    assert "def group_means" in text


def test_notebook_pins_the_versions_that_ran_and_needs_no_biodesk(small_run):
    view, store = small_run
    cells = _cells(notebook(view, small_registry(), store))
    for name, version in view.results["n1"].versions.items():
        assert f"{name}=={version}" in cells["about"]
    modules = set()
    sources = [cell.source for cell in notebook(view, small_registry(), store).cells if cell.cell_type == "code"]
    for source in [*sources, *modules_of(view, small_registry(), store).values()]:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                modules |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add(node.module.split(".")[0])
    assert not modules & {"engine", "storage", "biodesk"}
    assert "scipy" in modules


def test_the_notebook_can_be_read_without_running_it_and_holds_no_code_twice(small_run):
    view, store = small_run
    book = notebook(view, small_registry(), store)
    cells = {cell.id: cell for cell in book.cells}
    for node, result in view.results.items():
        said = "".join(o.get("text", "") for o in cells[f"{node}-run"].outputs)
        assert all(finding.text in said for finding in result.findings)
        figures = [o for o in cells[f"{node}-run"].outputs if "image/png" in o.get("data", {})]
        assert len(figures) == sum(a.name.endswith(".png") for a in result.artifacts)
        tables = [o.data["text/html"] for o in cells[f"{node}-run"].outputs if "text/html" in o.get("data", {})]
        assert len(tables) == sum(a.name.endswith(".csv") for a in result.artifacts)
    sources = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    (text,) = modules_of(view, small_registry(), store).values()
    defined = [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert "def " not in sources
    assert len(defined) == len(set(defined))
    assert str(Path.home()) not in to_json(book) + text
    assert all(str(Path(dataset.path).parent) not in to_json(book) for dataset in view.plan.datasets)


def test_a_step_whose_functions_are_older_has_a_module_of_its_own(small_run):
    view, _ = small_run
    shared = "def helper(x):\n    return {}\n\n\ndef {}(table):\n    return helper(table)\n\n\n"
    steps = [
        (view.plan.node(node), view.results[node], split_script(shared.format(value, tool)))
        for node, value, tool in (("n1", 1, "first"), ("n2", 2, "second"), ("n3", 1, "third"))
    ]
    texts, place = _modules(steps)
    assert place["n1"] == place["n3"] != place["n2"]
    assert "return 1" in texts[place["n1"]]
    assert "return 2" in texts[place["n2"]]
    assert "def second" not in texts[place["n1"]]


def test_steps_that_failed_are_left_out_with_a_note(small_run):
    view, store = small_run
    cells = _cells(notebook(with_failure(view, small_registry()), small_registry(), store))
    assert "n1-run" in cells
    assert "n2-run" not in cells
    assert "This step is left out: it was not completed (failed: Counts must not be negative" in cells["n2-about"]
    assert "n3-about" in cells
    assert "n3-run" not in cells


def test_paths_are_replaced_in_the_syntax_tree_not_in_the_text():
    lines = (
        "table = read_data('inputs/a.csv', 'table', sep=';')\n"
        "b = read_matrix('inputs/é.csv', index_col=0)\n"
        "result = f(table, b, note='inputs/a.csv')\n"
        "save_result(result, {'x': 'table'}, 'outputs')\n"
    )
    assert redirect(lines, {"table": "DATA['é']", "b": "'r/b.csv'"}, "results/n1") == (
        "table = read_data(DATA['é'], 'table', sep=';')\n"
        "b = read_matrix('r/b.csv', index_col=0)\n"
        "result = f(table, b, note='inputs/a.csv')\n"
        "save_result(result, {'x': 'table'}, 'results/n1')\n"
    )
    with pytest.raises(ValueError, match="'b'"):
        redirect(lines, {"table": "x"}, "r")


def test_a_script_is_split_without_losing_a_line():
    parts = split_script("from __future__ import annotations\n\ndef f(x):\n    # why\n    return x\n\ny = f(1)\n")
    assert parts.functions == {"f": "def f(x):\n    # why\n    return x"}
    assert parts.lines == "y = f(1)\n"


@pytest.mark.parametrize(
    "tool", [tool for tool in builtin_tools() if any(map(_numbers_in, tool.helper_sources))], ids=lambda tool: tool.name
)
def test_numbers_stand_where_the_functions_look_them_up(tool):
    """A notebook imports the functions of its steps from one file: a number that stayed in the cell was not there (NameError)."""
    parts = split_script(step_script(tool, {}, {}))
    numbers = {name for source in tool.helper_sources for name in _numbers_in(source)}
    assert numbers <= parts.functions.keys()
    assert not any(f"{name} =" in parts.lines for name in numbers)


def _namespace(folder, monkeypatch):
    monkeypatch.chdir(folder)
    space = {"__name__": "notebook"}
    exec(MODULE, space)
    return space


def test_data_are_found_by_content_in_the_places_promised(tmp_path, monkeypatch, capsys):
    space = _namespace(tmp_path, monkeypatch)
    (tmp_path / "data").mkdir()
    (tmp_path / "d.csv").write_text("other")
    (tmp_path / "data" / "d.csv").write_text("right")
    sha256 = space["sha256_of"](tmp_path / "data" / "d.csv")
    assert space["locate"]("d", ["d.csv"], sha256) == "data/d.csv"
    (tmp_path / "data" / "d.csv").unlink()
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "d.csv").write_text("right")
    monkeypatch.setenv("BIODESK_DATA", str(tmp_path / "env"))
    assert space["locate"]("d", ["d.csv"], sha256) == str(tmp_path / "env" / "d.csv")
    assert space["DATA_CHANGED"] == []
    (tmp_path / "env" / "d.csv").unlink()
    capsys.readouterr()
    assert space["locate"]("d", ["d.csv"], sha256) == "d.csv"
    assert "DIFFERENT" in capsys.readouterr().out
    assert space["DATA_CHANGED"] == ["d"]
    (tmp_path / "d.csv").unlink()
    with pytest.raises(FileNotFoundError, match="BIODESK_DATA"):
        space["locate"]("d", ["d.csv"], sha256)


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        ("a,b,c\nx,1.0,u\ny,2.0,v\n", "identical"),
        ("a,b,c\nx,1.0000000001,u\ny,2.0,v\n", "same numbers"),
        ("a,b,c\ny,2.0,v\nx,1.0,u\n", "same numbers in another order of rows"),
        ("a,b,c\ny,2.5,v\nx,1.001,u\n", "DIFFERENT: b of a x is 1.001 here, 1.0 recorded; 2 of 4 values"),
        ("a,b,c\nx,1.0,u\nz,2.0,v\n", "DIFFERENT: a y only in the record"),
        ("a,b,c\nx,1.0,u\ny,,v\n", "DIFFERENT: b of a y is nan here, 2.0 recorded; 1 of 4 values"),
        ("a,b,c\nx,1.0,u\ny,2.0,w\n", "DIFFERENT: c of a y is w here, v recorded"),
        ("a,b,c\nx,1.0,u\ny,2.0,v\nz,1.0,v\n", "DIFFERENT: a z only here"),
        ("a,b\nx,1.0\ny,2.0\n", "DIFFERENT: column c is only in the record"),
        (None, "MISSING"),
    ],
)
def test_the_last_cell_tells_same_from_different(tmp_path, monkeypatch, capsys, ours, words):
    space = _namespace(tmp_path, monkeypatch)
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "n1_t.csv").write_text("a,b,c\nx,1.0,u\ny,2.0,v\n")
    sha256 = space["sha256_of"](tmp_path / "artifacts" / "n1_t.csv")
    if ours is not None:
        (tmp_path / "t.csv").write_text(ours)
    space["compare_all"]({"t.csv": {"name": "n1_t.csv", "sha256": sha256, "rows": 2}}, [])
    said = capsys.readouterr().out
    assert f"t.csv: {words}" in said
    same = words.startswith(("identical", "same numbers"))
    assert f"{int(same)} of 1 outputs are the same" in said
    assert ("NOT the same: t.csv" in said) != same


def test_what_is_installed_is_read_once_for_all_notebooks():
    assert "numpy" in _providers()["numpy"]
    assert _providers() is _providers()
