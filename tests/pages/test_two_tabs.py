"""A plan that is saved elsewhere while somebody changes it here: neither change is lost without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
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
    monkeypatch.setenv("BIODESK_EMBEDDING_MODEL", "none")
    yield _opened(folder)
    _opened.clear(folder)
    st.cache_data.clear()


def test_a_version_saved_elsewhere_is_told_and_keeps_what_it_holds(engine, tmp_path):
    table = tmp_path / "values.csv"
    table.write_text(TABLE)
    run_id = engine.ask(QUESTION, [table])
    engine.wait(run_id, timeout=120)
    at = AppTest.from_file(str(ROOT / "desk.py"), default_timeout=60)
    at.query_params["run"] = run_id
    at.run()
    at.switch_page("pages/plan_run.py").run()
    (step,) = engine.view(run_id).plan.nodes
    at.selectbox(key=f"edit_{run_id}_0_{step.id}_test").set_value("kruskal").run()
    assert not at.button(key="editor_save").disabled

    plan = engine.view(run_id).plan  # the other tab is quicker
    theirs = step.model_copy(update={"params": {**step.params, "test": "mann_whitney"}})
    engine.edit_plan(run_id, plan.model_copy(update={"nodes": [theirs]}))

    at.button(key="editor_save").click().run()
    assert not at.exception
    assert any("Version 2 of this plan was saved elsewhere" in warning.value for warning in at.warning)
    assert at.button(key="editor_save").disabled
    assert at.button(key="editor_run").disabled
    assert at.selectbox(key=f"edit_{run_id}_0_{step.id}_test").value == "kruskal"
    assert engine.view(run_id).plan.version == 2
    assert engine.view(run_id).plan.node(step.id).params["test"] == "mann_whitney"

    at.button(key="editor_drop").click().run()
    assert not at.warning
    assert at.selectbox(key=f"edit_{run_id}_1_{step.id}_test").value == "mann_whitney"
    at.selectbox(key=f"edit_{run_id}_1_{step.id}_test").set_value("welch_t").run()
    at.button(key="editor_save").click().run()
    assert not at.warning
    assert engine.view(run_id).plan.version == 3
    assert at.button(key="editor_save").disabled
