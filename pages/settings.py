"""Settings: which models are asked, what they may cost, what isolates steps, what the disk holds, and every setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.engine import attempt, run_page
from pages.parts.escape import plain
from pages.parts.frame import inside_frame
from pages.parts.tables import plain_table
from pages.parts.words import counted
from pages.setting.editing import edit_budgets, edit_models
from pages.setting.rows import ROLES, budget_rows, call_rows, disk_rows, model_rows, said_line
from pages.setting.servers import draw_servers

if TYPE_CHECKING:
    from engine.api import Engine

NEWEST_CALLS = 50


def draw(engine: Engine) -> None:
    """Draw the tabs."""
    models, costs, isolation, disk = st.tabs(["Models", "Budgets", "Isolation", "Disk"], key="settings_tabs")
    with models:
        _models(engine)
    with costs:
        _costs(engine)
    with isolation:
        _isolation(engine)
    with disk:
        _disk(engine)


def _models(engine: Engine) -> None:
    found = engine.models.describe()
    if not any(found.values()):
        st.caption(
            "No language model is used: questions are read and planned by the built-in rules. To name one, write"
        )
        st.code('model = "ollama/qwen3:8b"', language="toml")
        st.caption(plain(f"into {engine.settings.workspace / 'settings.toml'}, or below, and start Biodesk anew."))
        edit_models(engine)
        draw_servers(engine)
        return
    st.caption("A key goes to its server and nowhere else; its last letters are shown. The test asks for one word.")
    for role, title in ROLES.items():
        with st.container(horizontal=True, vertical_alignment="center", key=f"role_{role}"):
            st.markdown(f"**{title}**")
            if found[role] and st.button("Test", key=f"test_{role}", icon=":material/network_check:"):
                with st.spinner("Asking ..."):
                    st.session_state[f"tested_{role}"] = engine.models.test(role)  # type: ignore[arg-type]
        plain_table(model_rows(found[role]), "No model: the built-in rules do this.")
        for told in st.session_state.get(f"tested_{role}", ()):
            (st.success if told["works"] else st.warning)(plain(said_line(told)))
    edit_models(engine)
    draw_servers(engine)


def _costs(engine: Engine) -> None:
    plain_table(budget_rows(engine.settings, engine.models.spent_today()), "")
    st.caption("Dollars are limited where a model's price is known. The limits are settings: `budget_...`.")
    edit_budgets(engine)
    st.markdown("**Newest calls**")
    plain_table(call_rows(engine.models.calls(limit=NEWEST_CALLS)), "No model was asked yet.")
    if st.button("Forget kept answers", key="forget_answers", help="The same questions are asked anew."):
        attempt(lambda: st.caption(f"{counted(engine.models.forget_answers(), 'answer')} forgotten."))


def _isolation(engine: Engine) -> None:
    st.caption("Steps run cut off from the network, your files and each other, as far as this computer allows it.")
    if st.button("Test it now", key="test_sandbox", icon=":material/shield:"):
        with st.spinner("Trying to break out ..."):
            st.session_state["sandbox_facts"] = engine.sandbox_self_test()
    facts = st.session_state.get("sandbox_facts")
    if not facts:
        return
    st.markdown(plain(f"Sandbox: {facts['kind']}"))
    rows = [{"What": name, "Isolated": "yes" if yes else "no"} for name, yes in facts["isolation"].items()]
    plain_table(rows, "Nothing is isolated.")
    for text in facts["missing"]:
        st.caption(plain(text))


def _disk(engine: Engine) -> None:
    st.caption(plain(f"Everything is kept in {engine.settings.workspace}."))
    if st.button("Measure", key="measure_disk", icon=":material/hard_drive:"):
        st.session_state["disk_use"] = engine.disk_use()
    if held := st.session_state.get("disk_use"):
        plain_table(disk_rows(held), "")


if inside_frame():
    st.title("Settings")
    run_page(draw)
