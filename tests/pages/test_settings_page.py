"""Settings: the models with their keys masked, a test at a click, what was spent, and nothing wrong without a model."""

from __future__ import annotations

import json
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
        "key": "none",
        "reads": 128_000,
        "assumed": False,
        "usd_per_million": [2, 8.5],
    }
    first, second = model_rows([known, {**known, "assumed": True, "usd_per_million": None}])
    assert first["Price (dollars a million tokens)"] == "2 read, 8.5 written"
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
