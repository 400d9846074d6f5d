"""Which entity is in focus, and the way that led to it: kept in the address, so that refresh, links and Back work.

The address says which entity is shown. What this session remembers fills it in only when the page is opened anew
from another one, whose address knows nothing of entities; an address that lost its entity on this very page means
that the user went back to the start.
"""

from __future__ import annotations

import streamlit as st

ENTITY = "entity"
"""The query parameter, and the session's key of the last entity that was found."""
TRAIL = "entity_trail"
ARRIVED = "arrived"
"""The session's key by which the frame says that another page was shown before; it counts for one run."""
_SEARCH = "entity_search"
_CLEAR = "entity_search_clear"
_LONGEST = 8


def settle_focus() -> None:
    """Bring address and session in line; to be called at the top of the page, whichever tab is open."""
    arrived = st.session_state.pop(ARRIVED, False)
    if st.query_params.get(ENTITY):
        return
    kept = st.session_state.get(ENTITY, "")
    if kept and arrived:
        st.query_params[ENTITY] = kept
    else:
        st.session_state.pop(ENTITY, None)


def asked_entity() -> str:
    """Return the entity the address asks for, which need not exist, or ""."""
    return st.query_params.get(ENTITY, "")


def shown_entity(node_id: str) -> None:
    """Remember that an entity is shown; one that was on the trail ends it, as it does for whoever goes back."""
    st.session_state[ENTITY] = node_id
    trail: list[str] = st.session_state.setdefault(TRAIL, [])
    if node_id in trail:
        del trail[trail.index(node_id) + 1 :]
    else:
        trail.append(node_id)
        del trail[:-_LONGEST]


def way_here() -> list[str]:
    """Return the ids of the entities on the way to the one in focus, oldest first."""
    return st.session_state.get(TRAIL, [])[:-1]


def go_to(node_id: str) -> None:
    """Point the address to an entity and empty the search; for a button's callback, or before a rerun."""
    st.query_params[ENTITY] = node_id
    st.session_state[_CLEAR] = True


def search_text(placeholder: str) -> str:
    """Draw the field that searches and return what is in it."""
    if st.session_state.pop(_CLEAR, False):
        # Set, not taken away: the browser keeps what was typed until it is told otherwise.
        st.session_state[_SEARCH] = ""
    return st.text_input(
        "Find an entity",
        key=_SEARCH,
        label_visibility="collapsed",
        icon=":material/search:",
        placeholder=placeholder,
    )
