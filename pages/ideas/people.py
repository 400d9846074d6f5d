"""What people do to hypotheses: vote, pin, veto, merge, add one of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.ideas.said import marked
from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.words import shortened

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.discovery.hypotheses import Hypothesis, TournamentView

_TURN = "idea_add_turn"


def draw_marks(engine: Engine, view: TournamentView, one: Hypothesis) -> None:
    """Draw the buttons for one hypothesis; one that is set takes itself back."""
    calls, where = engine.hypotheses, view.tournament.id
    vote = marked(view, "vote", engine.user).get(one.id, 0)
    pinned, out = bool(marked(view, "pin").get(one.id)), bool(marked(view, "veto").get(one.id))
    with st.container(horizontal=True, gap="small", key="idea_marks"):
        about = "Counts as one comparison against an average one of the others."
        for value, label, icon in ((1, "Vote for", "thumb_up"), (-1, "Vote against", "thumb_down")):
            mine = vote == value
            _button(
                "Take vote back" if mine else label,
                f"idea_vote_{icon}",
                icon,
                lambda wanted=0 if mine else value: calls.vote(where, one.id, wanted),
                about,
                chosen=mine,
            )
        _button(
            "Unpin" if pinned else "Pin", "idea_pin", "keep_off" if pinned else "keep",
            lambda: calls.pin(where, one.id, on=not pinned), "Always among those rewritten, and never merged.",
            chosen=pinned,
        )  # fmt: skip
        _button(
            "Let it compete" if out else "Veto", "idea_veto", "undo" if out else "block",
            lambda: calls.veto(where, one.id, on=not out), "Takes it out of the competition.", chosen=out,
        )  # fmt: skip
        _merge(engine, view, one)


def _merge(engine: Engine, view: TournamentView, one: Hypothesis) -> None:
    calls, where = engine.hypotheses, view.tournament.id
    newest = next((mark for mark in reversed(view.marks) if mark.kind == "merge" and mark.hypothesis == one.id), None)
    if newest is not None and newest.into:
        _button("Part again", "idea_part", "call_split", lambda: calls.merge(where, one.id, ""), "", chosen=True)
        return
    others = {s.hypothesis: _text(view, s.hypothesis) for s in view.standings if s.hypothesis != one.id}
    if not others:
        return
    with st.popover("Merge", icon=":material/merge:", key="idea_merge"):
        into = st.selectbox(
            "It says the same as",
            list(others),
            format_func=lambda name: shortened(others[name], 90),
            key=f"idea_into_{one.id}",
        )
        st.caption("Its comparisons, evidence and tests then count for the other.")
        if into:
            _button("Merge into it", "idea_merge_now", "merge", lambda: calls.merge(where, one.id, into), "")


def _text(view: TournamentView, hypothesis: str) -> str:
    return next(one.text for one in view.hypotheses if one.id == hypothesis)


def _button(label: str, key: str, icon: str, act: Callable[[], object], about: str, *, chosen: bool = False) -> None:
    kind = "primary" if chosen else "secondary"
    if st.button(label, key=key, icon=f":material/{icon}:", help=about or None, type=kind) and attempt(act):
        st.rerun()


def draw_add(engine: Engine, view: TournamentView, *, working: bool) -> None:
    """Draw the field in which a person adds a hypothesis."""
    turn = int(st.session_state.get(_TURN, 0))  # the field is emptied only once its text was taken
    with st.form(f"idea_add_{turn}", border=False):
        left, right = st.columns([6, 1], vertical_alignment="bottom")
        text = left.text_input(
            "Add a hypothesis of your own",
            key=f"idea_own_{turn}",
            placeholder="One or two sentences that can be wrong",
        )
        added: list[Hypothesis] = []
        if right.form_submit_button("Add", icon=":material/add:") and attempt(
            lambda: added.append(engine.hypotheses.add(view.tournament.id, text))
        ):
            st.session_state[_TURN] = turn + 1
            st.session_state["idea_added"] = added[0].id
            st.rerun()
    if name := st.session_state.pop("idea_added", ""):
        more = "It is compared with the next batch." if working else "It is compared after 'Compare on' above."
        st.caption(plain(f"{name} competes. {more}"))
