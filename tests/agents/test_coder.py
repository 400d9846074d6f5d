"""Code that a model writes: it must have the form of a tool, goes back when it has not, and is written anew when it fails."""

from __future__ import annotations

import pandas as pd
import pytest
from growth_data import write_growth
from scripted import Scripted

from engine.agents.coder import DEEPER, REPAIRS, Coder, CodeWanted
from engine.agents.mender import StepMender
from engine.agents.reader import QuestionReader
from engine.data.profiler import profile_file
from engine.domain.datatypes import DataType
from engine.domain.plan import Dataset, TaskNode
from engine.domain.results import NodeResult
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.steps.mending import Mending
from engine.steps.repairs import Failure
from engine.toolbox.registry import builtin_tools
from engine.toolbox.script import file_input, step_script
from engine.toolbox.shelf import Shelf
from engine.toolbox.written import spec_of
from storage.tools.written_twin import WrittenTwin

CODE = """def ratio(table):
    import pandas as pd

    means = table.groupby("treatment")["growth"].mean()
    return {"result": pd.DataFrame({"ratio": [means["treated"] / means["control"]]}), "findings": [], "warnings": []}
"""
ANSWER = {
    "title": "Ratio of means", "description": "The ratio of the mean growth of both groups.",
    "inputs": [{"argument": "table", "file": "growth.csv", "type": "table"}],
    "outputs": [{"name": "result", "type": "table"}], "checks": ["tables_not_empty"], "code": CODE,
}  # fmt: skip
WANTED = CodeWanted(task="The ratio of means.", files=["growth.csv"], criteria=["It is above 0."])


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    return profile_file(write_growth(tmp_path_factory.mktemp("coder") / "growth.csv"))


def code(source):
    return ANSWER | {"code": source}


def test_code_becomes_a_tool_with_its_file_criteria_and_writer(profile):
    models = Scripted(ANSWER)
    wrote = Coder(models).write(WANTED, "How large is the ratio?", [profile])
    assert wrote.files == {"table": "growth.csv"}
    assert (wrote.tool.model, wrote.tool.criteria) == ("scripted/one", ["It is above 0."])
    assert models.roles == ["coder"]
    assert '"treated" (20)' in models.asked[0]
    assert "table: Read a delimited" in models.asked[0]


def test_code_that_is_no_tool_goes_back_with_what_is_wrong(profile):
    models = Scripted(
        code("import os\n" + CODE), ANSWER | {"inputs": [{"argument": "table", "file": "x", "type": "table"}]}, ANSWER
    )
    Coder(models).write(WANTED, "q", [profile])
    assert "Only functions may stand" in models.asked[1]
    assert "There is no file 'x'" in models.asked[2]


def test_code_that_never_is_a_tool_and_a_model_that_gives_up_are_said(profile):
    with pytest.raises(PlanError, match="form of a tool"):
        Coder(Scripted(*[code("x = 1")] * 3)).write(WANTED, "q", [profile])
    with pytest.raises(PlanError, match="does not write code for this part of the question: No"):
        Coder(Scripted(ANSWER | {"give_up": "No."})).write(WANTED, "q", [profile])


def test_failed_code_is_written_anew_first_by_the_coder_then_with_all_that_failed(profile):
    models = Scripted(*[code(CODE.replace("ratio(", f"ratio{n}(")) for n in range(9)])
    coder = Coder(models)
    failed = [(coder.write(WANTED, "q", [profile]).tool, "KeyError: 'treated'")]
    for _ in range(REPAIRS + DEEPER):
        failed.append((coder.rewrite(failed, "q"), "KeyError: 'mock'"))
    assert models.roles == ["coder"] * (1 + REPAIRS) + ["reasoning"] * DEEPER
    assert failed[-1][0].replaces == failed[-2][0].name
    assert "ratio0(" not in models.asked[3]
    assert "ratio0(" in models.asked[4]
    assert coder.rewrite(failed, "q") is None


def test_new_code_takes_and_gives_what_the_old_did(profile):
    other = code(CODE) | {"outputs": [{"name": "other", "type": "table"}]}
    coder = Coder(Scripted(ANSWER, *[other] * 3))
    with pytest.raises(PlanError, match="form of a tool"):
        coder.rewrite([(coder.write(WANTED, "q", [profile]).tool, "no")], "q")


def test_what_no_tool_does_is_planned_as_code_that_a_person_reads_first(profile):
    registry = builtin_tools()
    shelf = Shelf(WrittenTwin(), registry, Clock())
    models = Scripted({"code": [WANTED.model_dump()]}, ANSWER)
    reader = QuestionReader(models, Planner(registry), registry, coder=Coder(models), shelf=shelf)
    plan = reader.plan("How large is the ratio of growth?", [profile], []).plan
    (node,) = plan.nodes
    assert node.inputs == {"table": "data:growth.csv"}
    assert shelf.record(node.tool).state == "draft"
    assert registry.is_aside(node.tool)
    assert any("code that a model wrote" in warning for warning in plan.warnings)
    assert any("scripted/one wrote code" in reason for reason in node.reasons)


WITH_PARAMS = """def ratio(table, *, value, group, above, below):
    import pandas as pd

    means = table.groupby(group)[value].mean()
    ratio = means[above] / means[below]
    found = {"text": f"The ratio is {ratio:.4f}.", "values": [{"name": "ratio", "value": ratio}], "output": "result"}
    return {"result": pd.DataFrame({"ratio": [ratio]}), "findings": [found], "warnings": []}
"""
PARAMS = [
    {"name": "value", "kind": "column", "of": "table", "description": "What is measured.", "value": "growth"},
    {"name": "group", "kind": "column", "of": "table", "description": "The groups.", "value": "treatment"},
    {"name": "above", "kind": "level", "of": "group", "description": "Group above the line.", "value": "treated"},
    {"name": "below", "kind": "level", "of": "group", "description": "Group below the line.", "value": "control"},
]


def test_code_that_worked_serves_another_question_by_its_parameters_alone(profile, tmp_path, monkeypatch):
    registry = builtin_tools()
    shelf = Shelf(WrittenTwin(), registry, Clock())
    models = Scripted({"code": [WANTED.model_dump()]}, code(WITH_PARAMS) | {"params": PARAMS})
    reader = QuestionReader(models, Planner(registry), registry, coder=Coder(models), shelf=shelf)
    (first,) = reader.plan("How large is the ratio of growth?", [profile], []).plan.nodes
    assert {p["name"]: first.params[p["name"]] for p in PARAMS} == {p["name"]: p["value"] for p in PARAMS}
    shelf.worked(first.tool, "run_1", 1.0)
    other = {"value": "height", "group": "treatment", "above": "control", "below": "treated"}
    again = Scripted({"see": [first.tool]}, {"goals": [{"tool": first.tool, "params": other}]})
    reader = QuestionReader(again, Planner(registry), registry, coder=Coder(again), shelf=shelf)
    (second,) = reader.plan("And of height, the other way round?", [profile], []).plan.nodes
    assert again.roles == ["reasoning", "reasoning"], "no code is written"
    assert "- above: level of group, required. Group above the line." in again.asked[1]
    assert (second.tool, {name: second.params[name] for name in other}) == (first.tool, other)

    monkeypatch.chdir(tmp_path)
    (tmp_path / "outputs").mkdir()
    guess = profile.serves_as(DataType.TABLE)
    data = Dataset(name="growth.csv", path=profile.path, sha256="", type=guess.type, read=guess.read)
    spec = spec_of(shelf.record(first.tool).tool)
    exec(step_script(spec, {"table": file_input(data.path, data, spec)}, other), {"__name__": "step"})
    means = pd.read_csv(profile.path).groupby("treatment")["height"].mean()
    (found,) = pd.read_csv(tmp_path / "outputs" / "result.csv")["ratio"]
    assert found == pytest.approx(means["control"] / means["treated"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({0: {"of": "tabel"}}, "The parameter 'value' is of 'tabel', which is no argument."),
        ({2: {"of": "table"}}, "The parameter 'above' is of 'table', which is no parameter of kind column."),
        ({3: {"value": 5.0}}, "below must be a text, not 5.0."),
        (
            {0: {"name": "measure"}},
            "ratio must take exactly its parameters as keyword-only arguments: measure, group, above, below.",
        ),
    ],
)
def test_parameters_of_code_that_do_not_fit_go_back(profile, change, says):
    params = [one | change.get(at, {}) for at, one in enumerate(PARAMS)]
    models = Scripted(code(WITH_PARAMS) | {"params": params}, code(WITH_PARAMS) | {"params": PARAMS})
    Coder(models).write(WANTED, "q", [profile])
    assert says in models.asked[1]


def test_code_that_worked_is_offered_to_the_next_question(profile):
    registry = builtin_tools()
    shelf = Shelf(WrittenTwin(), registry, Clock())
    models = Scripted(
        ANSWER, {"not_answered": ["Nothing."]}, {"goals": [{"tool": "x", "files": {"table": "growth.csv"}}]}
    )
    tool = Coder(models).write(WANTED, "q", [profile]).tool
    shelf.keep(tool)
    reader = QuestionReader(models, Planner(registry), registry, coder=Coder(models), shelf=shelf)
    with pytest.raises(PlanError, match="Nothing"):
        reader.plan("The ratio?", [profile], [])
    assert tool.name not in models.asked[1]  # nobody has seen it work
    shelf.worked(tool.name, "r1", 1.0)
    models.answers[2]["goals"][0]["tool"] = tool.name
    plan = reader.plan("The ratio?", [profile], []).plan
    assert f"{tool.name}: Ratio of means" in models.asked[2]
    assert [node.tool for node in plan.nodes] == [tool.name]
    assert any("What left this machine" in note for note in plan.notes)


def test_where_no_code_is_written_the_rest_is_answered_and_it_is_said(profile):
    registry = builtin_tools()
    shelf = Shelf(WrittenTwin(), registry, Clock())
    goal = {"analysis": "compare_groups", "tool": "compare_groups", "params": {"value": "growth", "group": "treatment"}}
    models = Scripted({"goals": [goal], "code": [WANTED.model_dump()]}, ANSWER | {"give_up": "Too few."})
    reader = QuestionReader(models, Planner(registry), registry, coder=Coder(models), shelf=shelf)
    plan = reader.plan("Do they differ, and how large is the ratio?", [profile], []).plan
    assert [node.tool for node in plan.nodes] == ["compare_groups"]
    assert any("The ratio of means" in left for left in plan.not_answered)


def test_without_a_coder_no_code_is_offered_or_taken(profile):
    registry = builtin_tools()
    models = Scripted({"code": [WANTED.model_dump()]}, {"not_answered": ["No tool does it."]})
    with pytest.raises(PlanError, match="No tool does it"):
        QuestionReader(models, Planner(registry), registry).plan("How large?", [profile], [])
    assert "Code cannot be written here" in models.asked[0]


class Clock:
    def now(self):
        return "2026-01-01T00:00:00Z"


def test_a_failed_step_of_written_code_runs_other_code_and_one_of_the_catalogue_keeps_its_own(profile):
    registry = builtin_tools()
    shelf = Shelf(WrittenTwin(), registry, Clock())
    models = Scripted(
        ANSWER, code(CODE.replace("ratio", "share")), {"summary": "", "root_cause": "few", "change": {"test": "ranks"}}
    )
    coder = Coder(models)
    tool = coder.write(WANTED, "q", [profile]).tool
    shelf.keep(tool)
    mending = Mending(StepMender(models), coder, shelf)
    node = TaskNode(id="n1", name="x", tool=tool.name)
    result = NodeResult(node="n1", tool=tool.name, status="failed", error="KeyError")
    spec, fix = mending.again("r", "q", node, result, [Failure(spec_of(tool), "KeyError")], [])
    assert spec.function == "share"
    assert fix.change == {}
    assert registry.is_aside(spec.name)
    known = registry.get("compare_groups")
    spec, fix = mending.again("r", "q", node, result, [Failure(known, "KeyError")], [])
    assert spec is known
    assert fix.change == {"test": "ranks"}
