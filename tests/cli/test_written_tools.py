"""Commands of written tools: what is listed, shown, approved, taken back and written out."""

from __future__ import annotations

import json

import pytest

from engine.cli.main import main
from engine.domain.datatypes import DataType
from engine.toolbox.written import written_tool

CODE = 'def halves(table):\n    return {"result": table[["x"]] / 2, "findings": []}\n'
TOOL = written_tool(
    title="Halves", description="Halves of x.", source=CODE, inputs={"table": DataType.TABLE},
    outputs={"result": DataType.TABLE}, criteria=["They are halves."], question="What are halves?", model="lab/m",
)  # fmt: skip


@pytest.fixture
def run(open_engine, tmp_path, capsys):
    engine = open_engine(starter_knowledge=False)
    shelf = engine._parts.orchestrator.strategy.shelf
    shelf.keep(TOOL)
    shelf.worked(TOOL.name, "r1", 1.0)
    shelf.worked(TOOL.name, "r2", 1.0)
    engine.close()

    def command(*words: str) -> tuple[int, str]:
        code = main(["tools", *words, "--workspace", str(tmp_path / "workspace")])
        return code, capsys.readouterr().out

    return command


def test_a_written_tool_goes_its_way_by_commands(run, tmp_path):
    code, text = run("written")
    assert (code, text.split()[:2]) == (0, [TOOL.name, "proposed"])
    code, text = run("show", TOOL.name)
    assert code == 0
    assert "def halves(table)" in text
    assert "They are halves." in text
    assert run("approve", TOOL.name)[0] == 0
    code, text = run("written", "--json")
    assert json.loads(text)[0]["state"] == "approved"
    assert run("export", TOOL.name, "--out", str(tmp_path / "halves.py"))[0] == 0
    assert "@tool(" in (tmp_path / "halves.py").read_text()
    assert run("retire", TOOL.name)[0] == 0
    assert "retired" in run("written")[1]


def test_an_unknown_one_is_named(run):
    assert run("approve", "written_0000000000")[0] == 2
