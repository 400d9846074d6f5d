"""What goes with a run that is deleted, what stays, and what the command line says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from growth_data import write_growth

from engine.api import NotFoundError, PlanError, open_engine
from engine.cli.main import main

QUESTION = "Does height differ between the treatments?"


@pytest.fixture
def engine(tmp_path):
    with open_engine(workspace=tmp_path / "ws", warm_workers=False, embedding_model="none") as opened:
        yield opened


@pytest.fixture
def upload(engine) -> Path:
    """A file as the app keeps one: in a folder of its own in the workspace."""
    home = engine.settings.workspace / "uploads" / "0123456789abcdef"
    home.mkdir(parents=True)
    write_growth(home / "growth.csv")
    return home / "growth.csv"


def finished(engine, data, question=QUESTION, **more) -> str:
    run_id = engine.ask(question, [data], auto_approve=True, **more)
    record = engine.wait(run_id, 120)
    assert record.status == "succeeded", record.error
    return run_id


def files(engine) -> set[str]:
    content = engine.settings.workspace / "artifacts" / "sha256"
    return {path.name for path in content.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_deleting_all_runs_leaves_no_file_of_them(engine, upload):
    first = finished(engine, upload)
    runs = [first, finished(engine, upload, "Describe height by treatment")]
    space, before = engine.space(runs), files(engine)
    assert before
    assert engine.delete_runs(runs) == space > 0
    assert files(engine) == set()
    assert not upload.exists()
    assert engine.runs() == []
    assert engine._parts.memory.episodic.store.episodes() == []
    with pytest.raises(NotFoundError):
        engine.record(first)


@pytest.mark.slow
def test_what_another_run_uses_stays_and_verifies(engine, upload):
    first, second = finished(engine, upload), finished(engine, upload)
    assert any(result.status == "cached" for result in engine.view(second).results.values())
    space = engine.space([first])
    assert space < engine.space([first, second])
    assert engine.delete_runs([first]) == space
    assert upload.exists()
    verified = engine.verify(second)
    assert verified.ok, verified.differences
    assert engine.report_html(second)


def test_a_file_outside_the_workspace_is_the_users(engine, tmp_path):
    own = tmp_path / "mine.csv"
    write_growth(own)
    engine.delete_runs([finished(engine, own)])
    assert own.exists()


@pytest.mark.parametrize(
    "place", ["uploads/../../mine.csv", "uploads/mine.csv", "uploads/a/b/mine.csv", "uploads/link"]
)
def test_a_path_that_only_seems_to_be_an_upload_is_left_alone(engine, upload, tmp_path, place):
    path = engine.settings.workspace / place
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.parent / "beside.txt"
    beside.write_text("not of the run")
    if place.endswith("link"):
        write_growth(tmp_path / "mine.csv")
        path.symlink_to(tmp_path / "mine.csv")
    else:
        write_growth(path)
    engine.delete_runs([finished(engine, path)])
    assert path.exists()
    assert beside.exists()
    assert upload.exists()


@pytest.mark.slow
def test_nothing_is_deleted_while_a_run_is_at_work(engine, upload, monkeypatch):
    run_id = finished(engine, upload)
    monkeypatch.setattr(engine._parts.beside.queue, "active", lambda: ["run_other"])
    with pytest.raises(PlanError, match="run_other"):
        engine.delete_runs([run_id])
    assert engine.has_run(run_id)


def test_conversations_are_named_found_and_deleted_whole(engine, upload):
    first = finished(engine, upload)
    talk = engine.record(first).conversation
    other = finished(engine, upload, "Describe height by treatment")
    second = finished(engine, upload, QUESTION + " Please once more.", conversation=talk)
    found = engine.conversation(second)
    assert (found.title, found.named) == (QUESTION, False)
    assert [record.run_id for record in found.runs] == [first, second]
    assert engine.rename_conversation(talk, "  Beans \n of May ").title == "Beans of May"
    assert [c.id for c in engine.conversations("beans of")] == [talk]
    assert {c.id for c in engine.conversations("GROWTH.csv")} == {talk, engine.record(other).conversation}
    assert engine.conversations("no such words") == []
    assert engine.rename_conversation(talk, " ").title == QUESTION
    engine.delete_conversation(talk)
    assert [record.run_id for record in engine.runs()] == [other]
    assert engine.memory.messages(talk) == []
    assert engine.verify(other).ok


# ==== command line ====


@pytest.fixture
def call(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    monkeypatch.setenv("BIODESK_EMBEDDING_MODEL", "none")
    write_growth(tmp_path / "growth.csv")

    def run(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--workspace", str(tmp_path / "ws")])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_runs_and_conversations_are_deleted_by_command(call, tmp_path):
    data = str(tmp_path / "growth.csv")
    code, out, _ = call("ask", QUESTION, "--data", data, "--yes", "--json", "--quiet")
    assert code == 0
    run_id = json.loads(out)["run_id"]
    code, out, err = call("ask", "Describe height by treatment", "--after", run_id, "--yes", "--json", "--quiet")
    assert code == 0, err
    second = json.loads(out)["run_id"]
    code, out, _ = call("conversations", "--json")
    assert [[turn["run_id"] for turn in talk["runs"]] for talk in json.loads(out)] == [[run_id, second]]
    code, out, _ = call("conversations", "rename", run_id, "Beans", "--json")
    assert (code, json.loads(out)["title"]) == (0, "Beans")
    code, _, err = call("runs", "delete", second)
    assert code == 2
    assert "--yes" in err
    code, out, _ = call("runs", "delete", second, "--yes", "--json")
    assert (code, json.loads(out)["deleted"]) == (0, [second])
    assert call("runs", "delete", second, "--yes")[0] == 2
    code, out, _ = call("conversations", "delete", run_id, "--yes")
    assert code == 0
    assert "freed" in out
    assert json.loads(call("runs", "--json")[1]) == []
