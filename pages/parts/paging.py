"""Long lists a page at a time."""

from __future__ import annotations

import streamlit as st


def first_shown(count: int, size: int, key: str) -> int:
    """Draw what turns the pages of a list, when it has more than one; return how many entries come before the page.

    Args:
        count: entries in the list.
        size: entries on a page.
        key: keeps the page of this list while it is looked at.
    """
    pages = max(1, -(-count // size))
    if pages == 1:
        return 0
    if int(st.session_state.get(key, 1)) > pages:
        st.session_state[key] = pages  # the list got shorter
    return (st.pagination(pages, key=key) - 1) * size
