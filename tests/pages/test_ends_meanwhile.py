"""A run that ends while a page about it is being drawn: the page must not stay as it was before the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("pages/ask.py", "pages/plan_run.py")
QUESTION = "Is the value higher in treated than in control (group)?"
TABLE = "sample,group,value\n" + "".join(
    f"s{k},{'treated' if k % 2 else 'control'},{10 + (k % 2) * 4 + (k * 7 % 5) * 0.3:.2f}\n" for k in range(24)
)


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """Return the engine the pages use, on a workspace of this test alone."""
    from pages.parts.engine import _opened

    folder = str(tmp_path / "workspace")
    monkeypatch.setenv("BIODESK_WORKSPACE", folder)
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    yield _opened(folder)
    _opened.clear(folder)
    st.cache_data.clear()


@pytest.fixture
def ends_after_view(engine, monkeypatch):
    """Return a function that makes a run seem at work until the page has read it: then it is over, as it truly is."""
    from engine.api import Engine

    view, active = Engine.view, Engine.active

    def begin(run_id: str, status: str, **before: Any) -> None:
        over: list[bool] = []

        def seen(self: Any, wanted: str) -> Any:
            found = view(self, wanted)
            if over or wanted != run_id:
                return found
            over.append(True)
            earlier = found.record.model_copy(update={"status": status, "error": ""})
            return found.model_copy(update={"record": earlier, "report": None, **before})

        monkeypatch.setattr(Engine, "view", seen)
        monkeypatch.setattr(Engine, "active", lambda self: active(self) if over else [run_id])

    return begin


def asked(engine: Any, folder: Path, *, auto_approve: bool) -> str:
    table = folder / "values.csv"
    table.write_text(TABLE)
    run_id = engine.ask(QUESTION, [table], auto_approve=auto_approve)
    engine.wait(run_id, timeout=120)
    return run_id


def opened(page: str, run_id: str) -> AppTest:
    """Draw a page about a run with nothing else drawn before."""
    at = AppTest.from_file(str(ROOT / "desk.py"), default_timeout=120)
    at.query_params["run"] = run_id
    at.switch_page(page).run()
    assert not at.exception
    return at


def test_a_run_that_ends_meanwhile_is_shown_with_its_answer(engine, tmp_path, ends_after_view):
    run_id = asked(engine, tmp_path, auto_approve=True)
    ends_after_view(run_id, "running")
    at = opened(PAGES[0], run_id)
    assert [expander.label for expander in at.expander if expander.label == "Details"]


@pytest.mark.slow
def test_a_run_that_ends_meanwhile_can_be_run_again(engine, tmp_path, ends_after_view):
    run_id = asked(engine, tmp_path, auto_approve=True)
    ends_after_view(run_id, "running")
    at = opened(PAGES[1], run_id)
    assert [button.key for button in at.button if button.key == "rerun"]
    assert not [button for button in at.button if button.label == "Stop run"]


@pytest.mark.parametrize("page", PAGES)
def test_a_plan_that_is_ready_meanwhile_is_shown(engine, tmp_path, ends_after_view, page):
    run_id = asked(engine, tmp_path, auto_approve=False)
    ends_after_view(run_id, "planning", plan=None)
    at = opened(page, run_id)
    assert [button.key for button in at.button if button.label == "Run this plan"]
