"""The whole loop over real HTTP: a model reads, writes code that fails and writes it anew, the answer is told and doubted."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
from growth_data import write_growth
from model_server import Handler, piece, serving, usage_chunk

from engine.cli.main import main

QUESTION = "Wie gross ist das Verhaeltnis der Mediane von growth?"
CODE = """def median_ratio(table):
    import pandas as pd

    medians = table.groupby("treatment")["growth"].median()
    ratio = float(medians["{level}"] / medians["control"])
    result = pd.DataFrame({{"comparison": ["treated over control"], "ratio": [ratio]}})
    text = f"The median growth of treated is {{ratio:.3f}} times that of control."
    values = [{{"name": "ratio", "value": ratio}}]
    row = {{"comparison": "treated over control"}}
    return {{"result": result, "findings": [{{"text": text, "values": values, "output": "result", "row": row}}]}}
"""


def written(level: str) -> dict[str, Any]:
    return {
        "title": "Ratio of medians", "description": "The ratio of the median growth of treated to that of control.",
        "inputs": [{"argument": "table", "file": "growth.csv", "type": "table"}],
        "outputs": [{"name": "result", "type": "table"}],
        "checks": ["tables_not_empty", "findings_match_tables"], "code": CODE.format(level=level),
    }  # fmt: skip


class Analyst:
    """A model that answers by what is asked of it."""

    def __init__(self) -> None:
        self.codes = [written("Treated"), written("treated")]  # the first names a level that is not there

    def __call__(self, handler: Handler) -> None:
        (system, *_), asked = self._texts(handler)
        answer = self._answer(system, asked)
        handler.begin()
        handler.data(piece({"role": "assistant", "content": json.dumps(answer)}))
        handler.data(piece({}, "stop"))
        handler.data(usage_chunk({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}))
        handler.data("[DONE]")

    def _texts(self, handler: Handler) -> tuple[list[str], str]:
        messages = handler.body["messages"]
        return [message["content"] for message in messages], messages[-1]["content"]

    def _answer(self, system: str, asked: str) -> dict[str, Any]:
        if system.startswith("You read questions"):
            return {
                "code": [
                    {
                        "task": "Ratio of the medians of growth by treatment.",
                        "files": ["growth.csv"],
                        "criteria": ["It is above 0."],
                    }
                ]
            }
        if system.startswith("You write one Python function"):
            return self.codes.pop(0)
        if system.startswith("You put a finished analysis"):
            return {"sentences": [{"text": "Der Median ist hoeher.", "findings": ["n1_f1"]}]}
        if system.startswith("You review"):
            return {"points": [{"kind": "doubt", "step": "n1", "text": "A ratio without an interval."}]}
        return {"strategy": "dag", "confidence": 0.9, "why": "data"}


def test_code_is_read_by_a_person_written_anew_and_told(open_engine, tmp_path):
    path = write_growth(tmp_path / "growth.csv")
    with serving() as server:
        server.otherwise = Analyst()
        given = {"model": "lab/m", "model_servers": {"lab": {"base_url": server.url}}, "model_code_held": False}
        engine = open_engine(starter_knowledge=False, **given)
        run = engine.ask(QUESTION, [path], auto_approve=True)
        engine.wait(run)
        assert engine.record(run).status == "awaiting_approval", "nobody has read the code"
        planned = engine.view(run).plan
        assert any("code that a model wrote" in warning for warning in planned.warnings)
        engine.approve(run)
        engine.wait(run)
        view = engine.view(run)
        assert view.record.status == "succeeded", [result.error for result in view.results.values()]
        (node,) = view.plan.nodes
        assert node.tool != planned.nodes[0].tool, "the plan is the one that ran"
        assert view.record.approved_version == view.plan.version == 2
        assert view.results[node.id].tool == node.tool
        assert any("wrote the code anew" in warning for warning in view.results[node.id].warnings)
        (sentence,) = view.report.summary
        assert "times that of control" in sentence
        assert view.report.in_words.text == "Der Median ist hoeher."
        assert [doubt.text for doubt in view.report.doubts] == ["A ratio without an interval."]
        assert view.record.usage.model_calls == len(server.asked)
        begun, over = (
            [e.agent for e in engine.events(run) if e.kind == kind] for kind in ("agent_started", "agent_finished")
        )
        assert begun == over
        assert begun[0] == "read the question"
        assert {"put the answer in words", "review the result"} <= {*begun}
        assert engine.verify(run).ok
        assert {record.tool.name: record.state for record in engine.written.records()}[node.tool] == "worked"


def test_the_number_is_the_one_that_pandas_gives(open_engine, tmp_path):
    import pandas as pd

    path = write_growth(tmp_path / "growth.csv")
    medians = pd.read_csv(path).groupby("treatment")["growth"].median()
    with serving() as server:
        server.otherwise = Analyst()
        given = {"model": "lab/m", "model_servers": {"lab": {"base_url": server.url}}, "model_code_held": False}
        engine = open_engine(starter_knowledge=False, **given)
        run = engine.ask(QUESTION, [path], auto_approve=False)
        engine.wait(run)
        engine.approve(run)
        engine.wait(run)
        (finding,) = engine.view(run).report.findings
    assert finding.values[0].value == medians["treated"] / medians["control"]
    assert finding.grounding == "grounded"


def test_a_command_shows_the_code_and_waits_until_it_is_told_to_run_it(open_engine, tmp_path, capsys):
    path = write_growth(tmp_path / "growth.csv")
    workspace = tmp_path / "workspace"
    with serving() as server:
        server.otherwise = Analyst()
        workspace.mkdir()
        servers = f'[model_servers.lab]\nbase_url = "{server.url}"\n'
        (workspace / "settings.toml").write_text(
            f'model = "lab/m"\nwarm_workers = false\nstarter_knowledge = false\nmodel_code_held = false\n{servers}'
        )
        place = ["--workspace", str(workspace)]
        assert main(["ask", QUESTION, "--data", str(path), "--yes", *place]) == 4
        told = capsys.readouterr().err
        assert "def median_ratio(table)" in told
        run_id = told.rsplit("biodesk resume ", 1)[1].split()[0]
        assert main(["resume", run_id, *place]) == 2
        assert main(["resume", run_id, "--run-written-code", *place]) == 0
        assert "times that of control" in capsys.readouterr().out


class Reader(Analyst):
    """A model that reads a question with rows, which the rules cannot."""

    def _answer(self, system: str, asked: str) -> dict[str, Any]:
        if not system.startswith("You read questions"):
            return super()._answer(system, asked)
        params = {"value": "growth", "group": "treatment", "treated": "treated", "control": "control"}
        rows = [{"column": "height", "op": "<", "values": [55]}]
        return {"goals": [{"analysis": "compare_groups", "tool": "compare_groups", "params": params, "rows": rows}]}


def test_what_a_person_chooses_changes_that_and_nothing_else_of_what_a_model_read(open_engine, tmp_path):
    path = write_growth(tmp_path / "growth.csv")
    with serving() as server:
        server.otherwise = Reader()
        engine = open_engine(starter_knowledge=False, model="lab/m", model_servers={"lab": {"base_url": server.url}})
        run = engine.ask("Wachsen die Behandelten unter 55 cm schneller?", [path], auto_approve=False)
        engine.wait(run)
        before, asked = engine.view(run).plan, len(server.asked)
        after = engine.replan(run, chosen={"compare_groups": {"value": "height"}})
        rows, answer = (next(n for n in after.nodes if n.tool == tool) for tool in ("filter_rows", "compare_groups"))
        assert rows.params["condition"] == "`height` < 55"
        assert (answer.params["value"], answer.params["treated"]) == ("height", "treated")
        assert set(before.notes) <= set(after.notes), "who read it is still said"
        turned = engine.replan(run, chosen={"compare_groups": {"treated": "control", "control": "treated"}})
        answer = next(n for n in turned.nodes if n.tool == "compare_groups")
        assert (answer.params["value"], answer.params["treated"]) == ("height", "control"), "choices add up"
        assert any(n.tool == "filter_rows" for n in turned.nodes)
        assert len(server.asked) == asked, "no model is asked again"


class OfSheet(Analyst):
    """A model that reads a question on a sheet which the question does not name."""

    def _answer(self, system: str, asked: str) -> dict[str, Any]:
        if not system.startswith("You read questions"):
            return super()._answer(system, asked)
        goal = {"tool": "compare_groups", "params": {"value": "latency_s", "group": "drug"}}
        return {"sheets": {"tests.xlsx": "maze"}, "goals": [goal]}


def test_the_sheet_that_a_model_chose_is_what_is_shown_of_the_file_and_stays_chosen(open_engine, tmp_path):
    path = tmp_path / "tests.xlsx"
    sheets = {"rotarod": {"fall_s": [60 + 3 * (n % 7) for n in range(24)]}, "maze": {"drug": ["none", "low"] * 12}}
    sheets["maze"]["latency_s"] = [20.5 + n % 9 for n in range(24)]
    with pd.ExcelWriter(path) as writer:
        for title, columns in sheets.items():
            pd.DataFrame({"mouse": range(24), **columns}).to_excel(writer, sheet_name=title, index=False)
    with serving() as server:
        server.otherwise = OfSheet()
        engine = open_engine(starter_knowledge=False, model="lab/m", model_servers={"lab": {"base_url": server.url}})
        run = engine.ask("Gibt es einen Unterschied?", [path], auto_approve=False)
        engine.wait(run)
        assert [column.name for column in engine.view(run).profiles[0].column_profiles] == [
            "mouse",
            "drug",
            "latency_s",
        ]
        engine.replan(run, analysis="correlation", chosen={"correlation": {"x": "mouse", "y": "latency_s"}})
        assert engine.view(run).plan.datasets[0].read["sheet"] == "maze"
