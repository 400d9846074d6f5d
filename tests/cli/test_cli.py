"""The command line: every command, its exit code, and one JSON document on stdout when asked for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from growth_data import table_plan, write_growth

from engine.cli import commands
from engine.cli.main import build_parser, main

ROOT = Path(__file__).parents[2]
QUESTION = "Is growth higher in treated than in control?"


class Desk:
    """A workspace with one finished run, and a way to call commands on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = write_growth(folder / "growth.csv")
        self.workspace = folder / "ws"
        self.run_id = ""

    def words(self, *words: object) -> list[str]:
        return [*map(str, words), "--workspace", str(self.workspace)]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    from engine.api import open_engine

    made = Desk(tmp_path_factory.mktemp("desk"))
    with open_engine(workspace=made.workspace, warm_workers=False) as engine:
        made.run_id = engine.ask(QUESTION, [made.data], auto_approve=True)
        assert engine.wait(made.run_id, 120).status == "succeeded"
    return made


@pytest.fixture
def call(desk, capsys, monkeypatch):
    """Run a command in this process; return (exit code, stdout, stderr)."""
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")

    def run(*words: object) -> tuple[int, str, str]:
        code = main(desk.words(*words))
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


@pytest.fixture
def document(call):
    """Run a command with --json; return what its one document on stdout holds."""

    def run(*words: object, code: int = 0):
        found, stdout, stderr = call(*words, "--json")
        assert found == code, stdout + stderr
        return json.loads(stdout)

    return run


@pytest.fixture
def error(document):
    """Run a command that must fail; return its error, whose shape is checked."""

    def run(*words: object, code: int = 2) -> dict:
        found = document(*words, code=code)
        assert set(found) == {"error"}
        assert set(found["error"]) == {"code", "message", "advice", "details"}
        return found["error"]

    return run


# ==== question, plan, run ====


def test_ask_writes_the_folder_and_prints_the_run(desk, document, tmp_path):
    out = tmp_path / "out"
    run = document("ask", QUESTION, "--data", desk.data, "--yes", "--out", out)
    assert run["status"] == "succeeded"
    assert run["run_id"] != desk.run_id
    assert json.loads((out / "run.json").read_text(encoding="utf-8"))["run_id"] == run["run_id"]
    assert {path.name for path in out.iterdir()} >= {"report.md", "report.html", "notebook.ipynb", "provenance.json"}


def test_ask_tells_people_the_plan_and_progress_on_stderr_and_the_result_on_stdout(desk, call):
    code, stdout, stderr = call("ask", QUESTION, "--data", desk.data, "--yes")
    assert code == 0
    assert "compare_groups" in stderr
    assert "n1 reused an earlier result" in stderr
    assert "succeeded" in stdout
    assert "biodesk export run_" in stdout


def test_quiet_keeps_stderr_empty(desk, call):
    assert call("ask", QUESTION, "--data", desk.data, "--yes", "--quiet")[2] == ""


def test_an_analysis_that_fails_ends_with_1_and_the_document(desk, document, tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(table_plan(desk.data, n2="nothing > 1").model_dump_json())
    run = document("run", plan, code=1)
    assert run["status"] == "partial"
    assert [node["status"] for node in run["nodes"]] == ["succeeded", "failed", "skipped", "succeeded", "succeeded"]


def test_a_plan_is_made_written_changed_and_run(desk, document, call, tmp_path):
    path = tmp_path / "plan.json"
    made = document("plan", QUESTION, "--data", desk.data, "--out", path, "--set", "n1.test=welch_t")
    assert made["nodes"][0]["params"]["test"] == "welch_t"
    assert json.loads(path.read_text(encoding="utf-8")) == made
    run = document("run", path, "--set", "n1.test=mann_whitney")
    assert run["status"] == "succeeded"
    assert run["plan"]["nodes"][0]["params"]["test"] == "mann_whitney"
    code, stdout, _ = call("plan", QUESTION, "--data", desk.data)
    assert code == 0
    assert "n1" in stdout


def test_a_plan_runs_on_another_file_of_the_same_name(desk, document, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(table_plan(desk.data).model_dump_json())
    other = tmp_path / "growth.csv"
    other.write_text("".join(desk.data.read_text().splitlines(keepends=True)[:31]))
    run = document("run", path, "--data", other)
    assert run["plan"]["datasets"][0]["path"] == str(other)
    assert run["status"] == "succeeded"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is not a Biodesk plan"),
        ("{}", "is not a Biodesk plan: question"),
        ('{"question": "q", "nodes": [{"id": "1"}]}', "nodes.0"),
        ('{"question": "q", "surprise": 1}', "surprise"),
        ('{"question": "q"}', "The plan has no steps"),
        ('{"question": "q", "nodes": [{"id": "n1", "name": "n", "tool": "nothing"}]}', "no tool called 'nothing'"),
    ],
)
def test_a_file_that_is_no_plan_is_refused_and_says_where(error, tmp_path, content, words):
    path = tmp_path / "plan.json"
    path.write_text(content)
    assert words in error("run", path)["message"]


def test_a_plan_that_is_not_there_or_in_the_way_is_refused(desk, error, tmp_path):
    assert "cannot be read" in error("run", tmp_path / "nowhere.json")["message"]
    assert "cannot be written" in error("plan", QUESTION, "--data", desk.data, "--out", tmp_path)["message"]


def test_resume_and_cancel_say_when_there_is_nothing_to_do(desk, error):
    assert "nothing to resume" in error("resume", desk.run_id)["message"]
    assert "already over" in error("cancel", desk.run_id)["message"]


# ==== what is known of runs ====


def test_runs_are_listed_newest_first(desk, document, call):
    listed = document("runs")
    assert desk.run_id in [run["run_id"] for run in listed]
    assert [run["created_at"] for run in listed] == sorted((run["created_at"] for run in listed), reverse=True)
    assert len(document("runs", "--limit", "1")) == 1
    assert desk.run_id in call("runs")[1]


def test_an_empty_workspace_says_how_to_begin(capsys, tmp_path):
    assert main(["runs", "--workspace", str(tmp_path / "new")]) == 0
    assert "biodesk ask QUESTION" in capsys.readouterr().out


def test_show_prints_a_run(desk, document, call):
    assert document("show", desk.run_id)["run_id"] == desk.run_id
    text = call("show", desk.run_id)[1]
    assert "succeeded" in text
    assert QUESTION in text


def test_events_are_lines_for_people_and_one_array_for_programs(desk, document, call):
    listed = document("events", desk.run_id)
    lines = [json.loads(line) for line in call("events", desk.run_id)[1].splitlines()]
    assert lines == listed
    assert [event["seq"] for event in listed] == list(range(1, len(listed) + 1))
    assert document("events", desk.run_id, "--after", listed[-2]["seq"]) == [listed[-1]]
    followed = call("events", desk.run_id, "--follow")[1].splitlines()
    assert len(followed) == len(listed)


@pytest.mark.parametrize(
    ("form", "begins"), [("md", b"#"), ("html", b"<!"), ("pdf", b"%PDF"), ("notebook", b"{"), ("json", b"{")]
)
def test_each_form_of_export_is_written(desk, document, tmp_path, form, begins):
    path = tmp_path / f"report.{form}"
    assert document("export", desk.run_id, "--format", form, "--out", path)["path"] == str(path)
    assert path.read_bytes().startswith(begins)


def test_an_export_that_cannot_be_made_is_refused(desk, error, tmp_path):
    assert "not available" in error("export", desk.run_id, "--format", "prov", "--out", tmp_path / "x")["message"]
    assert "is a folder" in error("export", desk.run_id, "--format", "md", "--out", tmp_path)["message"]
    assert "invalid choice" in error("export", desk.run_id, "--format", "docx", "--out", tmp_path / "x")["message"]


def test_verify_ends_with_0_for_what_is_sound_and_1_for_what_was_changed(desk, document, call, tmp_path):
    assert document("verify", desk.run_id)["ok"] is True
    assert "nothing differs" in call("verify", desk.run_id)[1]
    record = tmp_path / "provenance.json"
    assert call("export", desk.run_id, "--format", "json", "--out", record)[0] == 0
    assert document("verify", record)["ok"] is True
    record.write_text(record.read_text().replace("growth", "grwoth", 1))
    code, stdout, _ = call("verify", record)
    assert code == 1
    assert "NOT verified" in stdout
    assert "digest" in stdout
    assert document("verify", record, code=1)["differences"]


@pytest.mark.parametrize("words", [("show",), ("events",), ("resume",), ("cancel",), ("verify",)])
def test_a_run_that_is_not_there_is_refused(error, words):
    found = error(*words, "run_nowhere")
    assert found["code"] == "not_found"
    assert "run_nowhere" in found["message"]
    assert "biodesk runs" in found["advice"]


# ==== data, tools, machine ====


def test_profile_says_what_a_file_can_serve_as(desk, document, call):
    (found,) = document("profile", desk.data)
    assert set(found) >= {"path", "types", "rows", "columns", "summary", "warnings"}
    assert found["rows"] == 40
    assert "growth.csv" in call("profile", desk.data)[1]


def test_profiling_nothing_is_refused(error, tmp_path):
    assert "nowhere.csv" in error("profile", tmp_path / "nowhere.csv")["message"]


def test_tools_are_listed_and_shown(document, call):
    listed = document("tools", "list")
    assert {"name", "title", "domain", "description", "runnable"} <= set(listed[0])
    assert "kaplan_meier" in call("tools", "list")[1]
    spec = document("tools", "show", "kaplan_meier")
    assert [port["type"] for port in spec["inputs"]] == ["survival_table"]
    for tool in listed:
        assert tool["name"] in call("tools", "show", tool["name"])[1]


def test_a_tool_that_is_not_there_names_those_that_are_alike(error):
    assert "kaplan_meier" in error("tools", "show", "kaplan_mayer")["advice"]


def test_doctor_says_what_works_and_where_each_setting_comes_from(document, call, desk):
    found = document("doctor")
    assert found["settings"]["workspace"] == {"value": str(desk.workspace), "from": "command line"}
    assert found["settings"]["warm_workers"]["from"] == "environment"
    assert found["packages"]["pandas"]
    assert set(found["sandbox"]) >= {"kind", "available", "isolation", "missing"}
    assert found["workspace"]["state"] == "free"
    assert found["workspace"]["leftover"] == 0
    left = desk.workspace / "runs" / "leftover" / "step"
    left.mkdir(parents=True)
    text = call("doctor")[1]
    assert f"could not be deleted: 1, in {left.parent}" in text
    for name in found["settings"]:
        assert f"{name} = " in text


def test_doctor_makes_no_workspace(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    assert main(["doctor", "--json", "--workspace", str(tmp_path / "new")]) == 0
    assert json.loads(capsys.readouterr().out)["workspace"]["state"] == "new"
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_demo_answers_a_built_in_question(call, tmp_path):
    code, stdout, stderr = call("demo", "--out", tmp_path / "demo")
    assert code == 0, stderr
    assert f"Report:   {tmp_path / 'demo' / 'report.html'}" in stdout
    assert (tmp_path / "demo" / "notebook.ipynb").is_file()


def test_every_command_is_parsed_and_done():
    assert build_parser() is build_parser()  # made once, however many commands a process carries out
    parsed = next(action for action in build_parser()._actions if action.dest == "command").choices
    assert set(parsed) == set(commands.COMMANDS)


# ==== wrong use ====


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("askk", "q"),
        ("ask",),
        ("ask", "q", "--strategy", "guess"),
        ("ask", "q", "--unknown"),
        ("run",),
        ("events", "r", "--after", "x"),
        ("export", "r"),
        ("tools",),
        ("tools", "show"),
        ("serve", "--port", "http"),
        ("runs", "--limit", "many"),
    ],
)
def test_wrong_use_ends_with_2_and_a_sentence_that_leads_to_help(capsys, words):
    assert main(list(words)) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert "--help" in out.err
    assert len(out.err.strip().splitlines()) == 1
    assert main([*words, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "bad_input"


def test_a_setting_that_cannot_be_is_refused(error, monkeypatch):
    monkeypatch.setenv("BIODESK_QUEUE_SIZE", "0")
    assert "'queue_size' cannot be" in error("runs")["message"]


def test_a_model_without_a_provider_is_refused(error):
    found = error("runs", "--model", "large")
    assert "'large'" in found["message"]
    assert "offline" in found["advice"]


def test_a_defect_of_ours_is_a_sentence_for_people_and_has_the_traceback_for_programs(call, error, monkeypatch):
    def broken(options):
        raise ZeroDivisionError("by zero")

    monkeypatch.setitem(commands.COMMANDS, "runs", broken)
    code, _, stderr = call("runs")
    assert code == 1
    assert "ZeroDivisionError" in stderr
    assert len(stderr.strip().splitlines()) == 1
    assert "Traceback" in error("runs", code=1)["details"]["traceback"]


def test_an_interruption_ends_with_4(call, error, monkeypatch):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setitem(commands.COMMANDS, "runs", interrupted)
    assert call("runs")[0] == 4
    assert error("runs", code=4)["code"] == "interrupted"


def test_a_reader_that_goes_away_is_no_error(desk):
    line = f"{sys.executable} -m engine tools list --workspace {desk.workspace} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_the_module_and_its_help_work_as_a_program():
    done = subprocess.run([sys.executable, "-m", "engine", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    for name in commands.COMMANDS:
        assert name in done.stdout


# ==== what a run searched ====


def test_what_a_run_searched_is_shown_choice_by_choice_and_stands_in_its_report(call, document, desk, tmp_path):
    run_id = document("ask", "Why might imatinib affect EGFR?", "--strategy", "mcts")["run_id"]
    (tree,) = document("runs", "tree", run_id)
    assert (tree["space"], tree["state"]) == ("paths", "complete")
    code, short, _ = call("runs", "tree", run_id)
    _, whole, _ = call("runs", "tree", run_id, "--all")
    assert code == 0
    stars = [line for line in short.splitlines() if re.match(r"\* +\d", line)]
    assert len(stars) == tree["best"].count(">")
    assert stars[-1].endswith("EGFR")
    assert set(stars) <= set(whole.splitlines())
    assert len(whole) >= len(short)
    for form in ("md", "html", "pdf"):
        path = tmp_path / f"report.{form}"
        assert call("export", run_id, "--format", form, "--out", path)[0] == 0
    assert "What was searched" in (tmp_path / "report.md").read_text()
    folded = (tmp_path / "report.html").read_text().split("<details", 1)[1]
    assert "What was searched" in folded
    assert "leads to the best" in folded


def test_a_run_that_searched_nothing_says_so_and_one_that_is_not_there_is_refused(call, desk):
    code, out, _ = call("runs", "tree", desk.run_id)
    assert (code, "searched nothing" in out) == (0, True)
    assert call("runs", "tree", "run_none")[0] == 2
