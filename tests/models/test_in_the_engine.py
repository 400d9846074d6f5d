"""The layer inside an opened engine: nothing of it without a model, an account of a run with one, no key anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from growth_data import write_growth
from model_room import HELLO
from model_server import fails, says, serving

from engine.cli.main import main
from engine.errors import EngineError, ModelAuthentication
from engine.models import keys
from engine.models.scope import Scope

ROOT = Path(__file__).parents[2]
CANARY, SECOND = "sk-canary-5f2a9c7e1b", "sk-canary-in-the-file"
QUESTION = "Is growth different between the treatments?"
ALONE = dict.fromkeys(("model_plans", "model_code", "model_repairs", "model_report"), False)
"""The layer alone: nobody but the test asks a model."""


@pytest.fixture(autouse=True)
def _no_keys_of_this_account(tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "secrets_path", lambda: tmp_path / "no" / "secrets.toml")


def test_without_a_model_no_agent_and_no_client_is_imported_by_a_whole_run(tmp_path):
    script = f"""
import sys
from engine.api import open_engine
with open_engine(workspace={str(tmp_path / "ws")!r}, warm_workers=False, starter_knowledge=False) as engine:
    run = engine.ask({QUESTION!r}, [{str(write_growth(tmp_path / "growth.csv"))!r}], auto_approve=True)
    engine.wait(run)
    print(engine.record(run).status, engine.record(run).usage.model_calls)
print(*[name for name in sys.modules if name.startswith("engine.agents")])
print(*{{name.partition(".")[0] for name in sys.modules}} & {{"httpx2", "httpx", "litellm", "keyring", "openai"}})
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["succeeded 0", "", ""]


def test_a_run_tells_of_its_calls_and_has_their_sum(open_engine, tmp_path):
    with serving(says("Yes.")) as server:
        engine = open_engine(
            **ALONE, starter_knowledge=False, model="lab/m", model_servers={"lab": {"base_url": server.url}}
        )
        run = engine.ask(QUESTION, [write_growth(tmp_path / "growth.csv")], auto_approve=False)
        engine.wait(run)
        parts, record = engine._parts, engine.record(run)
        scope = Scope(run_id=run, user=record.user, emit=parts.records.log.emit)
        parts.models.ask("fast", HELLO, purpose="test", scope=scope, shown=True)
        engine.approve(run)
        engine.wait(run)
        kinds = [event.kind for event in engine.events(run)]
        assert "model_call" in kinds
        assert "text_delta" in kinds
        usage = engine.record(run).usage
        assert (usage.model_calls, usage.prompt_tokens, usage.completion_tokens) == (1, 11, 7)
        assert usage.seconds > 0
        assert engine.models.spent_today().calls == 1
        assert len(server.asked) == 1
        engine.delete_runs([run])
        assert parts.models.store.forget_answers() == 0, "answers go with their run"
        assert engine.models.spent_today().calls == 1, "what it cost stays counted"


def test_a_key_is_in_nothing_that_is_written(open_engine, tmp_path, monkeypatch, capfd, caplog):
    monkeypatch.setenv("LAB_API_KEY", CANARY)
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(f'other = "{SECOND}"\n')
    secrets.chmod(0o600)
    monkeypatch.setattr(keys, "secrets_path", lambda: secrets)
    caplog.set_level("DEBUG")
    refused = [fails(401, f"Incorrect API key provided: {key}") for key in (CANARY, SECOND)]
    with serving(refused[0], says(f"your keys are {CANARY} and {SECOND}"), *refused) as server:
        address = {"base_url": server.url}
        chosen = {"model": "lab/m, other/m", "model_servers": {"lab": address, "other": address}}
        engine = open_engine(**ALONE, starter_knowledge=False, **chosen)
        run = engine.ask(QUESTION, [write_growth(tmp_path / "growth.csv")], auto_approve=False)
        engine.wait(run)
        models, log = engine._parts.models, engine._parts.records.log
        scope = Scope(run_id=run, emit=log.emit)
        told = [models.ask("fast", HELLO, purpose="t", scope=scope, shown=True).text]
        with pytest.raises(ModelAuthentication) as caught:
            models.ask("fast", HELLO, purpose="t", scope=scope, reuse=False)
        told += [f"{caught.value.message} {caught.value.details}", str(models.describe()), str(models.test("fast"))]
        engine.approve(run)
        engine.wait(run)
        engine.bundle(run, tmp_path / "bundle")
        told += [event.model_dump_json() for event in engine.events(run)]
        engine.close()
    sent = [asked["headers"]["authorization"] for asked in server.asked[:2]]
    assert sent == [f"Bearer {CANARY}", f"Bearer {SECOND}"], "the keys did go where they belong"
    out = capfd.readouterr()
    folders = [tmp_path / "workspace", tmp_path / "bundle"]
    written = [path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert len(written) > 20
    for key in (CANARY, SECOND):
        assert [text for text in [*told, out.out, out.err, caplog.text] if key in text] == []
        assert [data for data in written if key.encode() in data] == []


def test_a_key_in_a_prompt_does_not_leave_this_computer(open_engine, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", CANARY)
    from dataclasses import replace

    with serving() as server:
        engine = open_engine(
            **ALONE, starter_knowledge=False, model="lab/m", model_servers={"lab": {"base_url": server.url}}
        )
        messages = [replace(HELLO[1], content=f"A cell of the table says {CANARY}. \ud800")]
        engine._parts.models.ask("fast", messages, purpose="t")
    assert CANARY not in json.dumps(server.asked[0]["body"])


def test_a_wrong_name_is_refused_before_anything_is_opened(open_engine, tmp_path):
    with pytest.raises(EngineError, match="names no provider"):
        open_engine(model="large")
    assert not (tmp_path / "workspace").exists()


def test_doctor_lists_each_role_and_tests_it_when_asked(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    monkeypatch.setenv("LAB_API_KEY", CANARY)
    with serving(says("yes")) as server:
        server.otherwise = fails(404, "no such model")
        monkeypatch.setenv("BIODESK_MODEL_SERVERS", json.dumps({"lab": {"base_url": server.url}}))
        monkeypatch.setenv("BIODESK_MODEL_FAST", "lab/a")
        monkeypatch.setenv("BIODESK_MODEL_CODER", "lab/b")
        assert main(["doctor", "--test-models", "--workspace", str(tmp_path / "ws")]) == 0
        out = capsys.readouterr().out
        assert len(server.asked) == 2
    assert f"coder: lab/b at {server.url}, key ...7e1b (from the environment, LAB_API_KEY)" in out
    assert "reads 32,768 tokens, assumed, price not known" in out
    assert "lab/b answers" in out
    assert "lab/a DOES NOT ANSWER" in out
    assert "LiteLLM:" in out


def test_an_engine_with_a_model_closes_at_once_also_with_a_request_under_way(open_engine):
    import threading

    from model_server import hangs

    with serving(hangs("Yes, ")) as server:
        engine = open_engine(
            **ALONE, starter_knowledge=False, model="lab/m", model_servers={"lab": {"base_url": server.url}}
        )
        faults: list[EngineError] = []

        def ask() -> None:
            try:
                engine._parts.models.ask("fast", HELLO, purpose="t")
            except EngineError as err:
                faults.append(err)

        thread = threading.Thread(target=ask)
        thread.start()
        assert server.heard.wait(10)
        began = time.monotonic()
        engine.close()
        assert time.monotonic() - began < 5
        thread.join(5)
        assert faults
