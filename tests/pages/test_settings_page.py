"""Settings: the models with their keys masked, a test at a click, what was spent, and nothing wrong without a model."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from model_server import fails, says, serving
from streamlit.testing.v1 import AppTest

from engine.domain.models import ModelCall, ModelTotals
from engine.settings import Settings
from pages.setting.rows import budget_rows, call_rows, disk_rows, model_rows, said_line

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-canary-0123456789abcd"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    from pages.parts.engine import _opened

    folder = tmp_path / "workspace"
    for name, value in {"WORKSPACE": folder, "WARM_WORKERS": "false", "STARTER_KNOWLEDGE": "false"}.items():
        monkeypatch.setenv(f"BIODESK_{name}", str(value))
    yield folder
    _opened.clear(str(folder))


def settings_page() -> AppTest:
    return AppTest.from_file(str(ROOT / "desk.py"), default_timeout=60).run().switch_page("pages/settings.py").run()


def text_of(at: AppTest) -> str:
    groups = (at.markdown, at.caption, at.warning, at.success, at.code)
    tables = "\n".join(table.value.to_string() for table in at.table)
    return "\n".join(str(element.value) for group in groups for element in group) + tables


def test_without_a_model_the_page_says_how_to_name_one(workspace):
    at = settings_page()
    assert not at.exception
    assert "No language model is used" in text_of(at)
    assert str(workspace / "settings.toml") in text_of(at).replace("\\", "")
    at.button(key="measure_disk").click().run()
    assert "biodesk.duckdb" in text_of(at).replace("\\", "")


def test_models_are_shown_and_tested_and_their_calls_counted(workspace, monkeypatch):
    with serving(says("yes")) as server:
        server.otherwise = fails(404, f"no such model for {KEY}")
        monkeypatch.setenv("LAB_API_KEY", KEY)
        monkeypatch.setenv("BIODESK_MODEL", "lab/m, lab/n")
        monkeypatch.setenv("BIODESK_MODEL_SERVERS", json.dumps({"lab": {"base_url": server.url}}))
        at = settings_page()
        assert "lab/m" in text_of(at)
        assert "...abcd" in text_of(at).replace("\\", "")
        at.button(key="test_fast").click().run()
        shown = text_of(at).replace("\\", "")
        assert "lab/m answers" in shown
        assert "lab/n does not answer" in shown
        assert KEY not in shown
        assert "18" in shown, "the tokens that the server counted"
        assert len(server.asked) == 2


def test_what_is_not_known_is_said_and_not_invented():
    known = {
        "model": "a/b",
        "address": "x",
        "host": "api.x",
        "key": "none",
        "reads": 128_000,
        "assumed": False,
        "usd_per_million": [2, 8.5],
    }
    first, second = model_rows([known, {**known, "assumed": True, "usd_per_million": None}])
    assert first["Price (dollars a million tokens)"] == "2 read, 8.5 written"
    assert first["Leaves this machine"] == "yes, to api.x"
    assert (second["Price (dollars a million tokens)"], second["Reads (tokens)"]) == ("not known", "128,000 assumed")
    call = ModelCall(at="2026-11-24T08:00:00.000Z", user="a", role="fast", model="a/b", purpose="t", prompt_tokens=9,
                     counted_by="estimated", outcome="model_timed_out")  # fmt: skip
    [row] = call_rows([call])
    assert (row["Tokens"], row["Dollars"], row["Outcome"]) == ("9 estimated", "not known", "timed out")
    assert "does not answer: gone Try again." in said_line(
        {"model": "a/b", "works": False, "says": "gone", "advice": "Try again.", "seconds": 1}
    )


def test_only_the_day_shows_what_was_spent_and_no_limit_is_none():
    rows = budget_rows(Settings(budget_call_usd=0), ModelTotals(prompt_tokens=1000, completion_tokens=200, usd=1.5))
    assert rows[0]["Limit (dollars)"] == "none"
    assert [row["Spent tokens"] for row in rows] == ["", "", "", "1,200"]
    assert rows[-1]["Spent dollars"] == "1.50"


def test_the_largest_comes_first_and_all_is_the_sum():
    assert [row["What"] for row in disk_rows({"a": 1, "b": 3_000})] == ["b", "a", "All"]


def test_models_and_limits_are_changed_on_the_page_and_hold_from_the_next_start_on(workspace):
    workspace.mkdir()
    own = '# mine\nstep_seconds = 60  # short\n\n[model_servers.lab]\nbase_url = "http://127.0.0.1:9/v1"\n'
    (workspace / "settings.toml").write_text(own)
    at = settings_page()
    at.text_input(key="set_model_fast").set_value("lab/m, ollama/n")
    at.button(key="save_models").click().run()
    assert not at.exception
    at.number_input(key="set_budget_run_usd").set_value(3.5)
    at.button(key="save_budgets").click().run()
    written = (workspace / "settings.toml").read_text()
    assert tomllib.loads(written) == {
        "step_seconds": 60, "model_fast": "lab/m, ollama/n", "budget_run_usd": 3.5,
        "model_servers": {"lab": {"base_url": "http://127.0.0.1:9/v1"}},
    }  # fmt: skip
    assert "# mine" in written
    assert "next start" in text_of(at)
    at.button(key="use_budgets").click().run()
    assert "lab/m" in text_of(at)


def test_what_does_not_fit_is_said_and_nothing_is_written(workspace, monkeypatch):
    monkeypatch.setenv("BIODESK_MODEL_JUDGE", "offline")
    monkeypatch.setenv("LAB_API_KEY", KEY)
    at = settings_page()
    assert at.text_input(key="set_model_judge").disabled
    for wrong, says_ in (("qwen3", "names no provider"), (f"lab/{KEY}", "holds a key")):
        at.text_input(key="set_model_fast").set_value(wrong)
        at.button(key="save_models").click().run()
        assert says_ in "\n".join(str(element.value) for element in [*at.error, *at.warning])
        assert KEY not in "\n".join(str(element.value) for element in [*at.error, *at.warning])
    assert not (workspace / "settings.toml").exists()


def test_where_others_can_open_the_app_nothing_is_changed_on_the_page(workspace, monkeypatch):
    monkeypatch.setenv("BIODESK_SERVE_SHARED", "yes")
    at = settings_page()
    assert "Others can open this app" in text_of(at)
    assert not [field for field in at.text_input if str(field.key).startswith("set_")]


def test_a_server_is_named_tested_and_taken_out_on_the_page(workspace, monkeypatch):
    with serving(says("yes")) as server:
        monkeypatch.setenv("LAB_KEY", KEY)
        at = settings_page()
        at.text_input(key="set_model").set_value("lab/m")
        at.text_input(key="set_server_name").set_value("lab")
        at.text_input(key="set_server_url_Another server").set_value(server.url)
        at.text_input(key="set_server_key_Another server").set_value("LAB_KEY")
        at.button(key="save_servers").click().run()
        assert not at.exception
        assert tomllib.loads((workspace / "settings.toml").read_text()) == {
            "model_servers": {"lab": {"base_url": server.url, "key_env": "LAB_KEY"}}
        }
        at.text_input(key="set_model").set_value("lab/m")
        at.button(key="save_models").click().run()
        at.button(key="use_models").click().run()
        at.button(key="test_server_lab").click().run()
        shown = text_of(at).replace("\\", "")
        assert "lab/m answers" in shown
        assert "Leaves this machine" in shown
        assert KEY not in shown
        at.selectbox(key="server_chosen").set_value("lab").run()
        at.button(key="drop_server").click().run()
        assert tomllib.loads((workspace / "settings.toml").read_text()) == {"model": "lab/m"}


def test_a_key_in_the_place_of_its_variable_is_refused_and_not_repeated(workspace):
    at = settings_page()
    at.text_input(key="set_server_name").set_value("lab")
    at.text_input(key="set_server_key_Another server").set_value(KEY)
    at.button(key="save_servers").click().run()
    told = "\n".join(str(element.value) for element in [*at.error, *at.warning])
    assert "a key itself is not kept" in told
    assert KEY not in told
    assert not (workspace / "settings.toml").exists()
