"""Comparisons: both texts, who won, and the judge's reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.escape import plain
from pages.parts.paging import first_shown
from pages.parts.words import when

if TYPE_CHECKING:
    from engine.domain.discovery.hypotheses import Match, TournamentView

SHOWN = 8


def draw_matches(view: TournamentView, hypothesis: str = "") -> None:
    """Draw the comparisons of a tournament, or of one hypothesis, newest first."""
    found = [one for one in view.matches if not hypothesis or hypothesis in (one.first, one.second)]
    found.sort(key=lambda one: one.number, reverse=True)
    if not found:
        st.caption("Nothing was compared yet.")
        return
    texts = {one.id: one.text for one in view.hypotheses}
    start = first_shown(len(found), SHOWN, f"ideas_matches_{hypothesis or view.tournament.id}")
    for match in found[start : start + SHOWN]:
        with st.container(border=True, gap="small", key=f"idea_match_{match.number}"):
            _match(match, texts)


def _match(match: Match, texts: dict[str, str]) -> None:
    columns = st.columns(2)
    for column, side, name in zip(columns, ("first", "second"), (match.first, match.second), strict=True):
        won = ":material/trophy: " if winner(match) == side else ""
        column.caption(f"{won}Shown {side} · {plain(name)}")
        column.markdown(plain(texts.get(name, name)))
    st.markdown(f"**{outcome(match)}.** {plain(match.reason or 'No reason was given.')}")
    ahead = [f"{name.replace('_', ' ')}: {side}" for name, side in match.criteria.items() if side != "equal"]
    told = [f"Comparison {match.number + 1}", f"by {match.by or 'nobody named'}", when(match.at), *ahead]
    st.caption(plain(" · ".join(part for part in told if part)))


def winner(match: Match) -> str:
    """Return `first`, `second`, or "" for a tie."""
    if match.score == 0.5:
        return ""
    return "first" if match.score > 0.5 else "second"


def outcome(match: Match) -> str:
    """Return who won and how sure the judge was."""
    said = f"The {winner(match)} won" if winner(match) else "A tie"
    return f"{said} (confidence {match.confidence})" if match.confidence else said
