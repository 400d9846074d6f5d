"""Written tools: the form that code must have, and the way from a draft to the catalogue."""

from __future__ import annotations

import types

import pytest

from engine.domain.datatypes import DataType
from engine.errors import NotFoundError, UserError
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.shelf import Shelf
from engine.toolbox.written import as_module, spec_of, written_tool
from storage.tools.written_twin import WrittenTwin

CODE = """def half(value):
    return value / 2


def halves(table):
    import pandas as pd

    return {"result": pd.DataFrame({"half": table["x"].map(half)}), "findings": []}
"""


def made(source=CODE, **more):
    given = {"inputs": {"table": DataType.TABLE}, "outputs": {"result": DataType.TABLE}}
    return written_tool(title="Halves", description="Halves of x.", source=source, **{**given, **more})


class Clock:
    def __init__(self):
        self.ticks = 0

    def now(self):
        self.ticks += 1
        return f"2026-01-01T00:00:{self.ticks:02}Z"


@pytest.fixture
def shelf():
    return Shelf(WrittenTwin(), ToolRegistry(), Clock())


def test_code_of_the_right_form_is_a_tool():
    tool = made()
    assert tool.function == "halves"
    assert tool.packages == ["pandas"]
    assert spec_of(tool).input("table").type is DataType.TABLE
    assert made().name == tool.name
    assert made(CODE.replace("/ 2", "/ 2.0")).name != tool.name
    assert made(checks=["tables_not_empty"]).name != tool.name


@pytest.mark.parametrize(
    ("source", "more", "says"),
    [
        ("def f(table:", {}, "is no Python"),
        ("x = 1", {}, "defines no function"),
        ("import os\n" + CODE, {}, "Only functions may stand"),
        (CODE.replace("halves(table)", "halves(data)"), {}, "exactly its inputs"),
        (CODE.replace("halves(table)", "halves(table, *, k=1)"), {}, "exactly its parameters"),
        (CODE.replace("halves(table)", "halves(table, **more)"), {}, "name each of its arguments"),
        (CODE.replace("import pandas as pd", "import requests"), {}, "'requests' cannot be imported"),
        (CODE, {"outputs": {}}, "declares no output"),
        (CODE, {"checks": ["no_such"]}, "There is no check 'no_such'"),
        ("def f(table):\n    return '" + "x" * 20_000 + "'\n", {}, "characters of code"[:10]),
    ],
)
def test_what_is_no_tool_is_named(source, more, says):
    with pytest.raises(ValueError, match=says):
        made(source, **more)


def test_a_tool_goes_up_by_what_it_does_and_what_people_decide(shelf):
    tool = made()
    shelf.keep(tool, by="m")
    registry = shelf._registry
    assert tool.name in registry
    assert list(registry) == []
    with pytest.raises(UserError, match="not worked"):
        shelf.approve(tool.name, by="ada")
    shelf.worked(tool.name, "r1", 0.5)
    assert shelf.record(tool.name).state == "draft"
    shelf.worked(tool.name, "r1", 0.95)
    shelf.worked(tool.name, "r1", 0.95)  # the same run once more is no second one
    assert shelf.record(tool.name).state == "worked"
    shelf.worked(tool.name, "r2", 1.0)
    assert shelf.record(tool.name).state == "proposed"
    shelf.approve(tool.name, by="ada")
    assert [spec.name for spec in registry] == [tool.name]
    shelf.worked(tool.name, "r3", 1.0)
    assert shelf.record(tool.name).state == "approved"
    shelf.retire(tool.name, by="ada")
    assert list(registry) == []
    assert registry.get(tool.name).title == "Halves"


def test_what_stands_on_the_shelf_is_there_after_a_restart():
    store, registry = WrittenTwin(), ToolRegistry()
    first = Shelf(store, ToolRegistry(), Clock())
    first.keep(made())
    for run in ("r1", "r2"):
        first.worked(made().name, run, 1.0)
    first.approve(made().name, by="ada")
    again = Shelf(store, registry, Clock())
    assert again.record(made().name).state == "approved"
    assert [spec.name for spec in registry] == [made().name]


def test_an_unknown_tool_is_named(shelf):
    with pytest.raises(NotFoundError, match="written_x"):
        shelf.record("written_x")
    shelf.worked("compare_groups", "r1", 1.0)  # of the catalogue: nothing to learn
    assert shelf.records() == []


def test_a_tool_written_out_is_a_module_that_describes_itself(tmp_path):
    path = tmp_path / "halves_tool.py"
    path.write_text(as_module(made(checks=["tables_not_empty"])))
    module = types.ModuleType("halves_tool")
    module.__file__ = str(path)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    spec = module.__dict__["halves"].tool_spec
    assert (spec.name, spec.title, spec.checks) == ("halves", "Halves", ["tables_not_empty"])
    assert "def half(value)" in spec.helper_sources[0]
