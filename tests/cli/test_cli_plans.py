"""`plan` in all its forms and `analyses`: what a program reads, and what a person does."""

from __future__ import annotations

import json

import pytest
from growth_data import write_growth
from read_question import QUESTION, known_planner

from engine.api import read_plan
from engine.cli.main import main
from engine.toolbox.analyses import load_analyses
from engine.toolbox.registry import builtin_tools


@pytest.fixture
def planner(monkeypatch):
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    monkeypatch.setenv("BIODESK_EMBEDDING_MODEL", "none")
    return known_planner(monkeypatch)


@pytest.fixture
def call(tmp_path, capsys, planner):
    """Run a command in this process; return (exit code, stdout, stderr)."""

    def run(*words: object) -> tuple[int, str, str]:
        code = main([*map(str, words), "--workspace", str(tmp_path / "ws")])
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


# ==== one plan ====


def test_the_document_says_how_the_question_was_read(call, growth_csv):
    code, stdout, _ = call("plan", QUESTION, "--data", growth_csv, "--json")
    made = json.loads(stdout)
    assert code == 0
    assert made["understood"][2] == {
        "text": "treated", "start": QUESTION.index("treated"), "end": QUESTION.index("treated") + 7, "as": "level",
        "value": "treatment = treated", "strength": 0.9,
    }  # fmt: skip
    assert made["analysis"] == [{"id": "compare_groups", "probability": 0.72}]
    assert set(made["alternatives"][0]) == {"id", "probability", "says"}
    assert made["not_answered"] == ["Why it is higher: the data hold no cause."]
    (structure,) = made["structure"]
    assert structure["file"] == "growth.csv"
    assert {"unit", "repeated", "wide", "times", "doses"} <= set(structure)


def test_a_plan_file_is_the_document_and_can_be_read_again(call, growth_csv, tmp_path):
    path = tmp_path / "plan.json"
    code, stdout, _ = call("plan", QUESTION, "--data", growth_csv, "--out", path, "--json")
    assert code == 0
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(stdout)
    plan = read_plan(path)
    assert [found.taken_as for found in plan.understood] == ["column", "direction", "level", "level", "unused"]
    assert plan.model_dump(mode="json", by_alias=True) == {
        key: value for key, value in json.loads(stdout).items() if key not in ("structure", "goals", "model_estimate")
    }


def test_people_read_what_was_understood_what_is_left_out_and_what_else_it_could_mean(call, growth_csv):
    _, stdout, _ = call("plan", QUESTION, "--data", growth_csv)
    assert "asked for compare_groups\n" in stdout
    assert '"treated"' in stdout
    assert "level treatment = treated" in stdout
    assert 'not used: "at dawn"' in stdout
    assert "Why it is higher: the data hold no cause." in stdout
    assert "--as trend_test  Whether growth rises" in stdout


def test_a_question_is_planned_as_the_analysis_that_is_named(call, planner, growth_csv):
    _, stdout, _ = call("plan", QUESTION, "--data", growth_csv, "--as", "trend_test", "--json")
    assert json.loads(stdout)["analysis"][0]["id"] == "trend_test"
    code, stdout, _ = call("plan", QUESTION, "--data", growth_csv, "--as", "trend_tset", "--json")
    assert code == 2
    assert "trend_test" in json.loads(stdout)["error"]["advice"]


@pytest.mark.parametrize("command", [["plan"], ["ask", "--yes"]])
@pytest.mark.slow
def test_a_column_is_corrected_and_stays_so(call, planner, growth_csv, command):
    def scales() -> list[str]:
        return [column.scale for column in planner.calls[-1]["profiles"][0].column_profiles if column.name == "height"]

    assert call(command[0], QUESTION, *command[1:], "--data", growth_csv, "--column", "height=code")[0] == 0
    assert scales() == ["code"]
    assert call("plan", QUESTION, "--data", growth_csv)[0] == 0
    assert scales() == ["code"]
    assert call("plan", QUESTION, "--data", growth_csv, "--column", "height=")[0] == 0
    assert scales() == ["number"]


def test_a_column_name_may_hold_an_equals_sign(call, planner, tmp_path):
    data = write_growth(tmp_path / "g.csv")
    data.write_text(data.read_text().replace("height", "h=1"))
    assert call("plan", QUESTION, "--data", data, "--column", "h=1=code")[0] == 0
    assert planner.calls[-1]["profiles"][0].column("h=1").scale == "code"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([QUESTION, "--column", "height"], "not of the form NAME=ROLE"),
        ([QUESTION, "--column", "=code"], "not of the form NAME=ROLE"),
        ([QUESTION, "--column", "heigth=code"], "Did you mean height"),
        ([], "no question"),
        (["--batch", "x.jsonl", QUESTION], "does not go with a question"),
        (["--batch", "x.jsonl", "--out", "p.json"], "does not go with --out"),
        (["--batch", "x.jsonl"], "x.jsonl cannot be read"),
    ],
)
def test_what_cannot_be_planned_so_is_refused(call, growth_csv, words, said):
    data = [] if "--batch" in words else ["--data", growth_csv]
    code, stdout, stderr = call("plan", *words, *data)
    assert (code, stdout) == (2, "")
    assert said in stderr


# ==== many plans ====


def test_every_line_gets_its_answer_in_order_whatever_the_others_hold(call, growth_csv, tmp_path):
    folder = tmp_path / "questions"
    write_growth(folder / "near.csv")
    lines = [
        json.dumps({"question": QUESTION, "data": ["near.csv"], "label": "kept apart"}).encode(),
        b"not json",
        b"",
        b"\xff\xfe",
        json.dumps({"question": "No file?", "data": ["absent.csv"]}).encode(),
        json.dumps({"question": "A word, not a list?", "data": "near.csv"}).encode(),
        json.dumps({"question": 7}).encode(),
        json.dumps([QUESTION]).encode(),
        b'{"question": "\\ud800 half a character"}',
        b"[" * 100_000,
        json.dumps({"question": "", "data": []}).encode(),
        json.dumps({"question": "Ünïcode?", "data": [str(growth_csv)]}).encode(),
    ]
    (folder / "b.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines))
    code, stdout, stderr = call("plan", "--batch", folder / "b.jsonl")
    answers = [json.loads(line) for line in stdout.splitlines()]
    assert code == 0
    assert all(set(answer) == {"question", "plan", "error"} for answer in answers)
    assert all((answer["plan"] is None) != (answer["error"] is None) for answer in answers)
    asked = [QUESTION, None, None, "No file?", "A word, not a list?", None, None, None, None, "", "Ünïcode?"]
    assert [answer["question"] for answer in answers] == asked
    assert [bool(answer["plan"]) for answer in answers] == [True, *[False] * 9, True]
    assert [answer["error"] and answer["error"]["code"] for answer in answers][1:5] == [
        "bad_input", "bad_input", "bad_data", "bad_input",
    ]  # fmt: skip
    assert all(set(answer["error"]) == {"code", "message", "advice"} for answer in answers if answer["error"])
    assert answers[0]["plan"]["structure"][0]["file"] == "near.csv"
    assert answers[0]["plan"]["understood"][0]["as"] == "column"
    assert stderr.splitlines()[-1] == "11 of 11"


def test_a_defect_in_one_line_costs_no_other(call, planner, growth_csv, tmp_path, monkeypatch):
    sound = planner.plan

    def breaks(question, *args, **more):
        if question == "break":
            raise ZeroDivisionError("as planned")
        return sound(question, *args, **more)

    monkeypatch.setattr(planner, "plan", breaks)
    rows = [{"question": text, "data": [str(growth_csv)]} for text in ("break", QUESTION)]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    code, stdout, stderr = call("plan", "--batch", tmp_path / "b.jsonl", "--quiet")
    first, second = map(json.loads, stdout.splitlines())
    assert (code, stderr) == (0, "")
    assert first["error"]["code"] == "defect"
    assert "ZeroDivisionError" in first["error"]["message"]
    assert second["error"] is None


# ==== what can be asked ====


def test_every_analysis_is_listed_with_the_tools_that_answer_it(call):
    code, stdout, _ = call("analyses", "--json")
    listed = {document["id"]: document for document in json.loads(stdout)}
    assert code == 0
    assert listed.keys() == load_analyses().keys()
    answered = {analysis: [t.name for t in builtin_tools() if analysis in t.answers] for analysis in listed}
    assert {key: document["tools"] for key, document in listed.items()} == answered
    assert any(answered.values())
    assert listed["compare_paired"]["slots"] == ["measure", "condition", "subject"]
    assert json.loads(call("analyses", "list", "--json")[1]) == list(listed.values())


def test_one_analysis_is_described(call):
    _, stdout, _ = call("analyses", "show", "compare_paired", "--json")
    one = json.loads(stdout)
    keys = {"id", "field", "asks", "slots", "examples", "tools"}
    assert keys <= set(one)
    assert not any("{" in text for text in one["examples"])
    _, stdout, _ = call("analyses", "show", "compare_paired")
    assert one["asks"] in stdout
    code, stdout, _ = call("analyses", "show", "compare_pared", "--json")
    assert code == 2
    assert "compare_paired" in json.loads(stdout)["error"]["advice"]


def test_an_analysis_that_no_tool_answers_says_so(call):
    unanswered = next(d["id"] for d in json.loads(call("analyses", "--json")[1]) if not d["tools"])
    assert "none yet" in call("analyses", "show", unanswered)[1]
    line = next(text for text in call("analyses")[1].splitlines() if text.split()[:1] == [unanswered])
    assert line.endswith("(no tool yet)")


def test_route_says_which_strategy_and_why_and_opens_no_workspace(call):
    code, stdout, _ = call("route", "Which combination of the six settings should we try next?", "--json")
    route = json.loads(stdout)
    assert code == 0
    assert (route["strategy"], route["method"]) == ("mcts", "heuristic")
    assert {"confidence", "reasons", "complexity", "estimated_steps", "domains"} <= route.keys()
    assert call("route", "what does TP53 bind")[1].startswith("react  (confidence ")
    assert call("route", "??", "--json")[0] == 2


def test_a_refusal_names_what_could_be_asked(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    monkeypatch.setenv("BIODESK_EMBEDDING_MODEL", "none")
    rows = "\n".join(f"T{at},{'abc'[at % 3]},{10 + at},{'no' if at % 4 else 'si'}" for at in range(40))
    (tmp_path / "fish.csv").write_text("tag,zone,size_cm,recapt\n" + rows)
    words = ["plan", "does survival differ by zone", "--data", tmp_path / "fish.csv", "--workspace", tmp_path / "ws"]
    assert main([*map(str, words)]) == 2
    told = capsys.readouterr().err
    assert "Ways on: " in told
    assert "--column size_cm=time --column recapt=event" in told
