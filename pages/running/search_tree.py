"""What a run searched: each tree drawn with the way to the best end open, beside a table of all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.drawing import DRAWN_WIDTH, graph_color, graph_node, narrow_only, placed_graph, wide_only
from pages.parts.escape import plain
from pages.parts.words import shortened

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.discovery.search_tree import SearchTree, TreeRow

ROW, INDENT = 24, 26
"""Pixels of a drawn row, and how far each choice stands to the right of the one before it."""
LETTERS = 80
SHOWN = 12
"""Rows of a table that are seen without scrolling."""


def draw_searches(engine: Engine, run_id: str, *, opened: bool) -> None:
    """Draw what a run searched, folded where something else is the answer; nothing for a run without a search."""
    for number, tree in enumerate(engine.search_trees(run_id)):
        if tree.view is not None:
            key = f"search_{run_id}_{number}"
            title = f"What was searched: {tree.title[0].lower()}{tree.title[1:]}"
            with st.expander(title, icon=":material/account_tree:", expanded=opened, key=key):
                _draw(tree, key)


def _draw(tree: SearchTree, key: str) -> None:
    st.markdown(plain(tree.told))
    rows = list(tree.rows())
    with wide_only(f"{key}_about"):
        st.caption("A click on a choice opens or closes what follows it. Green leads to the best end that was found.")
    chosen = _drawn(rows, key)
    with wide_only(f"{key}_chosen"):
        row = next((row for row in rows if row.place == chosen), None)
        if row is not None:
            st.markdown(f"**{plain(f'{row.place} {row.choice}'.strip())}**: {plain(row.state.told)}")
        with st.expander("The tree as a table", icon=":material/table:", type="compact", key=f"{key}_table"):
            _table(rows, f"{key}_rows")
    with narrow_only(f"{key}_table"):
        _table(list(tree.in_short().rows()), f"{key}_short")


def _drawn(rows: list[TreeRow], key: str) -> str:
    """Draw the rows that are open and return the place of the one that was clicked last, or ""."""
    state: dict[str, Any] = st.session_state.setdefault(
        f"{key}_state", {"open": {row.place for row in rows if row.leads}, "chosen": "", "clicks": 0}
    )
    seen = list(_seen(rows, state["open"]))
    nodes = [_node(row, at, row.place == state["chosen"]) for at, row in enumerate(seen)]
    links = [{"source": _id(row.place.rpartition(".")[0]), "target": _id(row.place)} for row in seen if row.place]
    alt = f"The search tree, {len(seen)} of {len(rows)} choices open; the table below says the same"
    # A drawing that changed is a new one: what was clicked in the last would be clicked in this one too.
    clicked = placed_graph(nodes, links, height=len(seen) * ROW, key=f"{key}_{state['clicks']}", alt=alt, arrows=False)
    if clicked:
        place = clicked.removeprefix("choice ")
        state["open"] ^= {place}
        state.update(chosen=place, clicks=state["clicks"] + 1)
        st.rerun(scope="app")
    return state["chosen"]


def _seen(rows: list[TreeRow], opened: set[str]) -> list[TreeRow]:
    """Return the rows of which every choice before them is open."""
    shown: set[str] = set()
    for row in rows:
        before = row.place.rpartition(".")[0]
        if not row.place or (before in shown and before in opened):
            shown.add(row.place)
    return [row for row in rows if row.place in shown]


def _id(place: str) -> str:
    return f"choice {place}"


def _node(row: TreeRow, at: int, chosen: bool) -> dict[str, Any]:  # noqa: FBT001 - one node, three facts
    more = f" [{len(row.state.choices)}]" if row.state.choices else ""
    label = f"{shortened(row.choice, LETTERS)}{more}   {row.state.visits:,} x, best {row.state.best:.2f}"
    color = graph_color("green" if row.leads else "gray")
    node = graph_node(_id(row.place), f"{row.choice}: {row.state.told}", label, color, selected=chosen)
    node["symbolSize"] = 10
    node["label"] |= {"position": "right"}
    return {**node, "x": 8 + row.depth * INDENT * DRAWN_WIDTH / 1000, "y": (at + 0.5) * ROW}


def _table(rows: list[TreeRow], key: str) -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {
            "Place": row.place or "0",
            "Choice": row.choice,
            "Visits": row.state.visits,
            "Mean value": row.state.value,
            "Best value": row.state.best,
            "Prior": row.state.prior,
            "Leads to the best": row.leads,
            "Not shown": row.state.hidden,
        }
        for row in rows
    )
    digits = {name: st.column_config.NumberColumn(format="%.3f") for name in ("Mean value", "Best value", "Prior")}
    height: Any = "content" if len(rows) <= SHOWN else 35 * (SHOWN + 1)
    st.dataframe(frame, hide_index=True, height=height, column_config=digits, key=key, alt="Choices of the search")
