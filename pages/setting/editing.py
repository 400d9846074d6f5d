"""Changing models and budgets on the page: what is saved is in the workspace's file and holds from the next start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt, reopen
from pages.parts.escape import plain
from pages.setting.rows import KINDS, ROLES

if TYPE_CHECKING:
    from engine.api import Engine

ABOVE = ("environment", "command line")
_SAVED = "settings_saved"
_CHAIN = "PROVIDER/MODEL, several with commas between in the order in which they are asked; `offline` is no model"


def edit_models(engine: Engine) -> None:
    """Draw the models of each role to be changed."""
    titles = {"model": "Every role that names none", **{f"model_{role}": title for role, title in ROLES.items()}}

    def fields(origins: Mapping[str, str]) -> dict[str, Any]:
        return {
            name: str(
                st.text_input(
                    title,
                    getattr(engine.settings, name),
                    key=f"set_{name}",
                    help=_CHAIN,
                    disabled=origins[name] in ABOVE,
                )
                or ""
            ).strip()
            for name, title in titles.items()
        }

    _form(engine, "Change models", "models", fields)
    st.caption("Keys are not written here: put them into the environment, the keyring or the file of keys.")


def edit_budgets(engine: Engine) -> None:
    """Draw the limits to be changed; 0 is no limit."""

    def fields(origins: Mapping[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for kind, title in KINDS.items():
            left, right = st.columns(2)
            for place, unit, says, step in ((left, "tokens", "tokens", 1000), (right, "usd", "dollars", 1.0)):
                name = f"budget_{kind}_{unit}"
                now = getattr(engine.settings, name)
                found[name] = place.number_input(
                    f"{title} ({says})", value=now, min_value=type(now)(0), step=type(now)(step), key=f"set_{name}",
                    help="0 is no limit", disabled=origins[name] in ABOVE,
                )  # fmt: skip
        return found

    _form(engine, "Change limits", "budgets", fields)


def _form(engine: Engine, title: str, key: str, fields: Any) -> None:
    """Draw a form, folded up; what is changed in it is saved, what is wrong is said and nothing is saved."""
    with st.expander(title, icon=":material/edit:", key=f"edit_{key}"):
        if not may_edit(engine):
            return
        origins = engine.models.origins()
        fixed = sorted(name for name in origins if origins[name] in ABOVE)
        if fixed:
            st.caption(plain(f"Set in the environment, which goes before the file: {', '.join(fixed)}."))
        with st.form(f"form_{key}", border=False):
            wanted = fields(origins)
            if st.form_submit_button("Save", key=f"save_{key}", icon=":material/save:"):
                _save(engine, key, {name: value for name, value in wanted.items() if origins[name] not in ABOVE})
    tell_saved(engine, key)


def may_edit(engine: Engine) -> bool:
    """Say whether settings are changed here, and tell the reader why where they are not."""
    shared = bool(os.environ.get("BIODESK_SERVE_SHARED"))
    if shared:
        st.caption(plain("Others can open this app: its settings are changed in settings.toml, by who owns it."))
    elif engine.read_only:
        st.caption("The workspace may only be read.")
    return not shared and not engine.read_only


def remember_saved(key: str) -> None:
    """Note which form was saved last."""
    st.session_state[_SAVED] = key


def _save(engine: Engine, key: str, wanted: Mapping[str, Any]) -> None:
    changed = {name: value for name, value in wanted.items() if value != getattr(engine.settings, name)}
    if not changed:
        st.caption("Nothing was changed.")
        return
    values = {name: None if value == "" else value for name, value in changed.items()}
    if attempt(lambda: engine.models.save(values)):
        remember_saved(key)


def tell_saved(engine: Engine, key: str) -> None:
    """Say that what was saved waits for the next start, and offer that where no run is at work."""
    if st.session_state.get(_SAVED) != key:
        return
    st.success(plain("Saved in settings.toml. It holds from the next start on."))
    busy = bool(engine.active())
    if st.button("Use it now", key=f"use_{key}", disabled=busy, help="A run is at work." if busy else None):
        del st.session_state[_SAVED]
        reopen()
        st.rerun()
