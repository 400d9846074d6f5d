"""The tool decorator and the built-in catalogue: what every tool promises its planner, its runner and its reader."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from types import FunctionType

import pytest

from engine.domain.datatypes import DataType
from engine.errors import NotFoundError
from engine.toolbox.checks import CHECKS
from engine.toolbox.registry import ToolRegistry, builtin_tools, field_modules, param, tool
from engine.toolbox.script import StepInput, step_script
from engine.toolbox.sources import function_source, global_names, with_called

SPECS = list(builtin_tools())
NAMED = pytest.mark.parametrize("spec", SPECS, ids=[spec.name for spec in SPECS])


def add_up(values):
    """Return the sum."""
    return sum(values)


def describe(function, **changes):
    facts = {"name": "doubled", "title": "Double", "description": "Doubles.", "domain": "tests",
        "task_type": "analysis",
             "inputs": {"table": "table: what to double"}, "outputs": {"result": "table"},
             "params": {"factor": param("By how much", minimum=0)}}  # fmt: skip
    return tool(**(facts | changes))(function)


def double(table, *, factor: float = 2.0):
    """Double a table."""
    return {"result": table * factor}


def test_decorated_function_is_returned_unchanged():
    decorated = describe(double)
    assert decorated is double
    assert decorated(3, factor=4.0) == {"result": 12.0}


def test_description_takes_types_and_defaults_from_the_signature():
    spec = describe(double).tool_spec
    factor = spec.param("factor")
    assert (factor.kind, factor.default, factor.required, factor.minimum) == ("number", 2.0, False, 0)
    assert spec.input("table").type is DataType.TABLE
    assert spec.input("table").description == "what to double"
    assert spec.source.startswith("def double(")
    assert spec.helper_sources == []


@pytest.mark.parametrize(
    "changes",
    [{"params": {}}, {"params": {"factor": param("a"), "more": param("b")}}, {"inputs": {"data": "table"}},
     {"inputs": {"table": "table", "factor": "table"}}],
)  # fmt: skip
def test_description_that_misses_the_signature_is_refused(changes):
    with pytest.raises(ValueError, match=r"'double'.*do not match its signature"):
        describe(double, **changes)


def test_unknown_data_type_is_refused():
    with pytest.raises(ValueError, match="spreadsheet"):
        describe(double, inputs={"table": "spreadsheet"})


def test_second_tool_of_a_name_is_refused_naming_both():
    spec = describe(double).tool_spec
    registry = ToolRegistry([spec])
    with pytest.raises(ValueError, match=r"'doubled': 'Double' and 'Twice'"):
        registry.add(spec.model_copy(update={"title": "Twice"}))


MOST_ROWS = 3


def first_rows(values):
    """Return as many as are taken."""
    return values[:MOST_ROWS]


def few(table, *, factor: float = 2.0):
    """Double the first rows."""
    return {"result": [factor * row for row in first_rows(table)] if len(table) <= 2 * MOST_ROWS else []}


def test_numbers_with_names_in_capitals_travel_with_a_tool_once():
    spec = describe(few).tool_spec
    assert [source for source in spec.helper_sources if "MOST_ROWS =" in source] == ["MOST_ROWS = 3\n"]
    namespace: dict = {}
    exec("\n".join([*spec.helper_sources, spec.source]), namespace)
    assert namespace["few"]([1, 2, 3, 4]) == {"result": [2, 4, 6]}


def test_a_name_that_stands_for_two_numbers_is_refused():
    other = FunctionType(first_rows.__code__, {"MOST_ROWS": 4}, "first_rows")
    own = FunctionType(few.__code__, {"MOST_ROWS": 3, "first_rows": other}, "few")
    own.__kwdefaults__, own.__annotations__ = few.__kwdefaults__, few.__annotations__
    with pytest.raises(ValueError, match="MOST_ROWS is 4 for one function and 3 for 'few'"):
        describe(own)


def test_two_functions_of_one_name_in_one_step_are_refused():
    inner = FunctionType(first_rows.__code__, {"MOST_ROWS": 3}, "first_rows")
    middle = FunctionType(twice_called.__code__, {"first_rows": inner, "few": few}, "twice_called")
    with pytest.raises(ValueError, match="Two functions of one step are called 'first_rows'"):
        with_called([middle])


def twice_called(values):
    """Call two functions."""
    return few(first_rows(values))


def test_functions_that_call_each_other_travel_both():
    assert list(with_called([is_even])) == ["is_odd", "is_even"]


def is_even(n):
    """Say whether a number is even."""
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    """Say whether a number is odd."""
    return n != 0 and is_even(n - 1)


def test_limits_of_groups_are_declared_by_the_number_that_the_tool_refuses_by():
    limited = [(spec, param.distinct) for spec in SPECS for param in spec.params if param.distinct]
    assert len(limited) > 10
    for spec, most in limited:
        numbers = dict(source.strip().split(" = ") for source in spec.helper_sources if source[:5].isupper())
        names = [name for name, value in numbers.items() if int(value) == most]
        assert any(f"> {name}:" in source for name in names for source in [spec.source, *spec.helper_sources]), (
            spec.name
        )


def test_unknown_tool_suggests_the_closest():
    registry = ToolRegistry(SPECS)
    with pytest.raises(NotFoundError) as error:
        registry.get("compare_group")
    assert "compare_groups" in error.value.advice


def test_source_leaves_out_the_decorator():
    assert function_source(add_up) == 'def add_up(values):\n    """Return the sum."""\n    return sum(values)\n'


def test_an_attribute_that_is_called_like_a_function_brings_nothing_along():
    assert list(with_called([totals])) == ["totals"]
    assert list(with_called([doubled_total])) == ["add_up", "doubled_total"]


def totals(frame):
    """Return what a method gives that is called like a function of this file."""
    return frame.add_up()


def doubled_total(values):
    """Use the function, inside another."""
    return [add_up(values) for _ in range(2)]


def test_source_that_several_tools_ship_is_cut_out_once():
    assert function_source(add_up) is function_source(add_up)


def test_catalogue_holds_the_table_statistics_and_figure_tools():
    names = {spec.name for spec in builtin_tools()}
    assert names >= {
        "summarize_table", "compare_groups", "anova", "correlation", "contingency", "linear_regression",
            "logistic_regression",
        "adjust_p_values", "join_tables", "filter_rows", "derive_column", "pivot_table", "box_plot", "scatter_plot",
            "histogram",
        "bar_plot",
    }  # fmt: skip


@NAMED
def test_tool_says_what_it_does_and_how_to_ask_for_it(spec):
    assert len(spec.description) > 60
    assert spec.title
    assert spec.domain
    assert spec.keywords
    assert spec.example
    assert spec.packages
    assert len(spec.params) == len({p.name for p in spec.params})


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.task_type == "analysis"], ids=lambda spec: spec.name)
def test_analysis_cites_a_published_method(spec):
    assert spec.citations
    for work in spec.citations:
        assert work.title
        assert work.year
        assert not work.doi or work.doi.startswith("10.")


@NAMED
def test_checks_of_a_tool_exist(spec):
    assert spec.checks or all(port.type is DataType.FIGURE for port in spec.outputs)
    assert set(spec.checks) <= set(CHECKS)


@NAMED
def test_points_of_figures_are_columns_of_a_table_of_the_same_tool(spec):
    for port in spec.outputs:
        if port.points is None:
            continue
        assert port.type is DataType.FIGURE
        table = spec.output(port.points.table)
        assert table is not None
        assert table.type is not DataType.FIGURE
        said = [port.points.x, port.points.y, port.points.label, port.points.colour]
        for name in (one.removeprefix("=") for text in said for one in text.split("|") if one.startswith("=")):
            assert spec.param(name) is not None, name
        assert port.points.log in ("", "x", "y", "both") or spec.param(port.points.log)


@NAMED
def test_params_are_described_and_point_to_what_exists(spec):
    inputs, params = {port.name for port in spec.inputs}, {p.name: p for p in spec.params}
    for p in spec.params:
        assert p.description
        if p.kind in ("column", "columns"):
            assert p.of in inputs
        if p.kind == "level":
            assert params[p.of].kind == "column"
        if p.choices:
            assert p.default is None or p.default in p.choices
        if p.minimum is not None and isinstance(p.default, int | float):
            assert p.minimum <= p.default


@NAMED
def test_step_of_a_tool_is_complete_python(spec):
    given = {port.name: StepInput(path=f"{port.name}.csv", type=port.type) for port in spec.inputs}
    code = step_script(spec, given, {p.name: p.default for p in spec.params if not p.required})
    compile(code, spec.name, "exec")
    namespace: dict = {"__name__": "step"}
    exec("from __future__ import annotations\n" + "\n".join([*spec.helper_sources, spec.source]), namespace)
    # Every name a function looks up globally must travel with it: nothing of the package is there in a sandbox.
    import builtins

    for function in [value for value in namespace.values() if callable(value) and hasattr(value, "__code__")]:
        missing = [n for n in global_names(function.__code__) if n not in namespace and not hasattr(builtins, n)]
        assert missing == [], f"{function.__name__} needs {missing}"


def test_no_tool_ships_what_it_does_not_use():
    """An attribute that is called like a function of its module would bring that along."""
    for spec in (spec for spec in SPECS if spec.runnable):
        parts = [node for source in [*spec.helper_sources, spec.source] for node in ast.parse(source).body]
        functions = {node.name: node for node in parts if isinstance(node, ast.FunctionDef)}
        used = {name.id for node in parts for name in ast.walk(node) if isinstance(name, ast.Name)}
        assert set(functions) - used <= {spec.function}, spec.name


def test_the_source_of_every_function_is_what_parsing_its_file_gives():
    """What the sandbox runs is cut out of the files without parsing them; a line too few would be another program."""
    checked = 0
    for name in field_modules():
        module = importlib.import_module(name)
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        for node in (n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)):
            function = getattr(module, node.name)
            if isinstance(function, FunctionType) and function.__module__ == name:
                lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
                assert function_source(function) == "\n".join(lines) + "\n", f"{name}.{node.name}"
                checked += 1
    assert checked > 400
