"""What a tournament was asked for, how it was gone about, what its reviews say together, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.escape import plain

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.discovery.hypotheses import TournamentView

_FORMS = {
    "md": ("Markdown", "md", "text/markdown"),
    "json": ("JSON", "json", "application/json"),
    "aims": ("Specific aims", "aims.md", "text/markdown"),
}


def draw_about(view: TournamentView) -> None:
    """Draw plan, aims, bounds, the newest meta-review and what could not be made."""
    state = view.tournament
    for title, text in (("How it was gone about", state.plan), ("Literature", state.literature)):
        if text:
            st.markdown(f"**{title}.** {plain(text)}")
    _wishes(view)
    for meta in view.meta_reviews[-1:]:
        st.markdown(f"**What the reviews say together (round {meta.round}).** {plain(meta.summary)}")
        for title in ("strengths", "weaknesses", "recurring_themes", "gaps", "recommendations"):
            if said := getattr(meta, title):
                st.markdown(
                    f"{title.replace('_', ' ').capitalize()}\n" + "\n".join(f"- {plain(text)}" for text in said)
                )
    left_out = [(one.stage, one.what, one.why) for one in view.skipped]
    if left_out:
        st.markdown("**Left out**")
        rows = [{"Stage": plain(stage), "What": plain(what), "Why": plain(why)} for stage, what, why in left_out]
        st.table(rows, border="horizontal", hide_index=True)
    bounds = "; ".join(f"{name.replace('_', ' ')} {value}" for name, value in state.bounds)
    st.caption(plain(f"Bounds: {bounds}"))


def _wishes(view: TournamentView) -> None:
    aims = view.tournament.aims
    told = {
        "Preferred": aims.preferences,
        "Attributes": "; ".join(aims.attributes),
        "Constraints": "; ".join(aims.constraints),
        "Files": ", ".join(path.rsplit("/", 1)[-1] for path in aims.files),
    }
    for title, text in told.items():
        if text:
            st.markdown(f"**{title}:** {plain(text)}")


def draw_take_away(engine: Engine, tournament_id: str) -> None:
    """Draw the menu of documents; each is written when it is asked for."""
    with st.popover("Download", icon=":material/download:", key="ideas_download"):
        for form, (label, ending, kind) in _FORMS.items():
            st.download_button(
                label,
                data=lambda form=form: engine.hypotheses.document(tournament_id, form).encode(),
                file_name=f"{tournament_id}.{ending}",
                mime=kind,
                key=f"ideas_download_{form}",
                on_click="ignore",
                type="tertiary",
            )
