"""The servers of models: where each is, what leaves this machine for it, a test, and a form to name or change one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.setting.editing import ABOVE, may_edit, remember_saved, tell_saved
from pages.setting.rows import said_line, server_rows

if TYPE_CHECKING:
    from engine.api import Engine

_NEW = "Another server"
_THROUGH = {"": "by what its name suggests", "openai": "in the OpenAI protocol", "litellm": "through LiteLLM"}
_LEAVES = (
    "For a server that is not on this computer, the question, names of files and columns, ranges, values of groups "
    "(not with `model_levels = false`), settings, findings and messages of errors leave it. Files and rows never do."
)


def draw_servers(engine: Engine) -> None:
    """Draw the servers and the form that changes them."""
    servers = engine.models.servers()
    st.markdown("**Servers**")
    if servers:
        rows = [{plain(name): plain(text) for name, text in row.items()} for row in server_rows(servers)]
        st.table(rows, border="horizontal", hide_index=True)
        st.caption(_LEAVES)
    for one in servers:
        name = one["name"]
        if one["models"] and st.button(f"Test {name}", key=f"test_server_{name}", icon=":material/network_check:"):
            with st.spinner("Asking ..."):
                st.session_state[f"tested_server_{name}"] = engine.models.test_server(name)
        for told in st.session_state.get(f"tested_server_{name}", ()):
            (st.success if told["works"] else st.warning)(plain(said_line(told)))
    with st.expander("Change servers", icon=":material/edit:", key="edit_servers"):
        if may_edit(engine):
            _edit(engine, {one["name"]: one for one in servers})
    tell_saved(engine, "servers")


def _edit(engine: Engine, servers: dict[str, dict[str, str]]) -> None:
    if engine.models.origins()["model_servers"] in ABOVE:
        st.caption("The servers are set in the environment, which goes before the file.")
        return
    chosen = str(st.selectbox("Server", [*servers, _NEW], key="server_chosen"))
    known = servers.get(chosen, {})
    with st.form("form_servers", border=False):
        # A form of its own for each server: what was typed for one must not be saved for another.
        name = chosen if known else str(st.text_input("Name", key="set_server_name", help="Stands before the slash."))
        fields = {
            "base_url": st.text_input(
                "Address", known.get("base_url", ""), key=f"set_server_url_{chosen}",
                placeholder=known.get("address", "http://127.0.0.1:8000/v1"), help="Up to /v1; empty for its own.",
            ),
            "key_env": st.text_input(
                "Variable that holds its key", known.get("key_env", ""), key=f"set_server_key_{chosen}",
                help="The name of a variable of the environment, not the key; empty for NAME_API_KEY, the keyring "
                "(`keyring set biodesk NAME`) or the file of keys.",
            ),
            "through": st.selectbox(
                "Asked", list(_THROUGH), list(_THROUGH).index(known.get("through", "")),
                key=f"set_server_through_{chosen}", format_func=lambda way: _THROUGH[way],
            ),
        }  # fmt: skip
        left, right = st.columns(2)
        save = left.form_submit_button("Save", key="save_servers", icon=":material/save:")
        gone = bool(known.get("set")) and right.form_submit_button(
            "Take out", key="drop_server", icon=":material/delete:"
        )
    if gone and attempt(lambda: engine.models.save_server(name, None)):
        remember_saved("servers")
    elif save and not gone:
        told = {field: str(value or "").strip() for field, value in fields.items()}
        if attempt(lambda: engine.models.save_server(name.strip(), told)):
            remember_saved("servers")
