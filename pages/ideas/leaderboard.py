"""The order of the hypotheses, with how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.ideas.address import look_at
from pages.ideas.following import is_at_work
from pages.ideas.said import VERDICTS, marked, places_of
from pages.parts.escape import plain
from pages.parts.words import shortened

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.discovery.hypotheses import TournamentView

POLL_SECONDS = 2.0
_LINES = 62
"""Height of a row in pixels: three lines of a statement."""
_STATEMENT = 96
"""Letters of a statement that a row has room for."""
_ORDER = "ideas_order"


def draw_leaderboard(engine: Engine, tournament_id: str, *, working: bool) -> None:
    """Draw the table, anew while the tournament is at work, and the choice of one hypothesis."""
    if working:
        st.fragment(_table, run_every=POLL_SECONDS)(engine, tournament_id)
    else:
        _table(engine, tournament_id)


def _table(engine: Engine, tournament_id: str) -> None:
    view = engine.hypotheses.show(tournament_id)
    if not view.standings:
        working = is_at_work(engine, tournament_id)
        st.caption("The first hypotheses are being made." if working else "It has no hypothesis.")
        return
    # A click is on the row that was drawn, which may have moved since.
    drawn: list[str] = st.session_state.get(_ORDER, {}).get(tournament_id, [])
    rows = rows_of(view)
    st.caption(plain(" ".join(view.says)))
    st.session_state[_ORDER] = {tournament_id: [row["Id"] for row in rows]}
    picked = _frame(rows, key=f"ideas_table_{tournament_id}")
    if picked is not None and picked < len(drawn):
        look_at(tournament_id, drawn[picked])
        st.rerun()
    texts = {one.id: one.text for one in view.hypotheses}
    chosen = st.selectbox(
        "Open a hypothesis",
        [row["Id"] for row in rows],
        index=None,
        format_func=lambda name: shortened(texts.get(name or "", ""), 110),
        key=f"ideas_choice_{tournament_id}",
        placeholder="Its evidence, reviews, predictions, comparisons; or click the start of its row above",
        label_visibility="collapsed",
    )
    if chosen:
        look_at(tournament_id, chosen)
        st.rerun()


def rows_of(view: TournamentView) -> list[dict[str, Any]]:
    """Return the rows of the table, best first."""
    texts = {one.id: one.text for one in view.hypotheses}
    places, pinned, votes = places_of(view.standings), marked(view, "pin"), _votes(view)
    return [
        {
            "Place": places.get(one.hypothesis, ""),
            "Id": one.hypothesis,
            "Hypothesis": shortened(texts[one.hypothesis], _STATEMENT),
            "Rating": round(one.rating),
            "90 % interval": f"{one.low:.0f} to {one.high:.0f}",
            "Best (%)": round(100 * one.chance_best),
            "Top 3 (%)": round(100 * one.chance_top),
            "Matches": one.matches,
            "Tests": VERDICTS[one.verdict].label.replace(" by tests", ""),
            "State": ", ".join(
                filter(
                    None,
                    (
                        "" if one.status == "competing" else one.status,
                        "pinned" if pinned.get(one.hypothesis) else "",
                        votes.get(one.hypothesis, ""),
                    ),
                )
            ),
        }
        for one in view.standings
    ]


def _votes(view: TournamentView) -> dict[str, str]:
    newest = {(m.hypothesis, m.by): m.value for m in sorted(view.marks, key=lambda m: m.at) if m.kind == "vote"}
    sums: dict[str, int] = {}
    for (name, _), value in newest.items():
        sums[name] = sums.get(name, 0) + value
    return {name: f"votes {value:+d}" for name, value in sums.items() if value}


def _frame(rows: list[dict[str, Any]], *, key: str) -> int | None:
    """Draw the rows and return the one that is chosen, by its number."""
    import pandas as pd

    column = st.column_config
    event = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height="content" if len(rows) <= 6 else 440,
        row_height=_LINES,
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config={
            "Place": column.TextColumn(width=55, help="Hypotheses that share places cannot be told apart yet"),
            "Id": column.TextColumn(width=84, help="As the sentences above and the lines of 'Over time' name it"),
            "Hypothesis": column.TextColumn(width=262),
            "Rating": column.NumberColumn(width=55, help="Elo units; an average hypothesis has 1200"),
            "90 % interval": column.TextColumn(width=92),
            "Best (%)": column.NumberColumn(width=62, help="Chance to be the best"),
            "Top 3 (%)": column.NumberColumn(width=66, help="Chance to be among the best three"),
            "Matches": column.NumberColumn(width=60, help="Comparisons it took part in"),
            "Tests": column.TextColumn(width=78),
            "State": column.TextColumn(width=60),
        },
        alt="Hypotheses, best first",
    )
    chosen = event["selection"]["rows"]
    return int(chosen[0]) if chosen else None
