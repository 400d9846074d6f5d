"""One hypothesis: what it says and why, how it was read and compared, where it comes from, what would contradict it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.ideas.address import look_at
from pages.ideas.compared import draw_matches
from pages.ideas.people import draw_marks
from pages.ideas.predicted import draw_predictions
from pages.ideas.said import REFLECTIONS, VERDICTS, marked, origin_of, places_of, rating_of
from pages.parts.escape import plain
from pages.parts.words import shortened, when

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.discovery.hypotheses import Hypothesis, HypothesisReview, TournamentView

MOST_LINKS = 24


def draw_hypothesis(engine: Engine, view: TournamentView, one: Hypothesis) -> None:
    """Draw a hypothesis of a tournament."""
    st.markdown(f"**{plain(one.text)}**")
    _place(view, one)
    draw_marks(engine, view, one)
    parts: dict[str, Callable[[Engine, TournamentView, Hypothesis], None]] = {
        "Mechanism": _mechanism,
        "Evidence": _evidence,
        "Reviews": _reviews,
        "Predictions and tests": draw_predictions,
        "Lineage": _lineage,
        "Comparisons": lambda _, seen, idea: draw_matches(seen, idea.id),
    }
    for tab, draw in zip(st.tabs(list(parts)), parts.values(), strict=True):
        with tab:
            draw(engine, view, one)


def _place(view: TournamentView, one: Hypothesis) -> None:
    standing = next((s for s in view.standings if s.hypothesis == one.id), None)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="idea_place"):
        if standing is None:
            into = next((m.into for m in reversed(view.marks) if m.kind == "merge" and m.hypothesis == one.id), "")
            st.badge(f"Counts for {into}" if into else "Not rated", icon=":material/merge:", color="gray")
        elif standing.status == "competing":
            st.badge(f"Place {places_of(view.standings)[one.id]}", icon=":material/leaderboard:")
        else:
            st.badge(standing.status.capitalize(), icon=":material/block:", color="gray")
        if standing is not None:
            verdict = VERDICTS[standing.verdict]
            st.badge(verdict.label, icon=verdict.icon, color=verdict.color)  # type: ignore[arg-type]
        if marked(view, "pin").get(one.id):
            st.badge("Pinned", icon=":material/keep:", color="violet")
        if standing is not None:
            st.caption(rating_of(standing), width="content")
    st.caption(plain(" · ".join(part for part in (one.id, origin_of(one), when(one.at)) if part)))


def _mechanism(_: Engine, __: TournamentView, one: Hypothesis) -> None:
    if not one.explanation and not one.experiment:
        st.caption("Neither a mechanism nor an experiment was given.")
    for title, text in (("Why it may hold", one.explanation), ("How it would be tested", one.experiment)):
        if text:
            st.markdown(f"**{title}.** {plain(text)}")
    if one.by not in ("", "built-in") and one.method != "user":
        st.caption(plain(f"In the words of {one.by}: nothing of this was checked but what stands under evidence."))


def _evidence(engine: Engine, view: TournamentView, one: Hypothesis) -> None:
    merged = [mark.hypothesis for mark in view.marks if mark.kind == "merge" and mark.into == one.id]
    items = [item for other in view.hypotheses if other.id in (one.id, *merged) for item in other.support]
    if not items:
        st.caption("No evidence was named for or against it.")
    for speaks, title in (("for", "For it"), ("against", "Against it"), ("context", "Beside it, counted for nothing")):
        rows = [
            {"Says": plain(item.says), "Stated by": plain(item.source), "Strength (0-1)": f"{item.strength:.2f}"}
            for item in items
            if item.speaks == speaks
        ]
        if rows:
            st.markdown(f"**{title}**")
            st.table(rows, border="horizontal", hide_index=True)
    _runs([item.source for item in items])
    _entities(engine, list(dict.fromkeys([*one.entities, *(node for item in items for node in item.nodes)])))


def _runs(sources: list[str]) -> None:
    runs = dict.fromkeys(source[4:].partition("#")[0] for source in sources if source.startswith("run:"))
    for run_id in runs:
        link = {"run": run_id}
        st.page_link(
            "pages/plan_run.py", label=plain(f"Run {run_id}"), icon=":material/account_tree:", query_params=link
        )


def _entities(engine: Engine, ids: list[str]) -> None:
    names = engine.knowledge.names(ids[:MOST_LINKS]) if ids else {}
    if not names:
        return
    st.caption("In the Knowledge Graph")
    with st.container(horizontal=True, gap="small", key="idea_entities"):
        for node_id, name in names.items():
            st.page_link(
                "pages/knowledge_graph.py", label=plain(name), icon=":material/hub:", query_params={"entity": node_id}
            )


def _reviews(_: Engine, view: TournamentView, one: Hypothesis) -> None:
    found = sorted((r for r in view.reviews if r.hypothesis == one.id), key=lambda r: r.round, reverse=True)
    if not found:
        why = next((s.why for s in view.skipped if s.stage == "review" and s.what == one.id), "")
        st.caption(plain(f"It was not reviewed. {why}".strip()))
        return
    _review(found[0])
    for older in found[1:]:
        with st.expander(f"Round {older.round}: {older.overall:.1f} of 10", key=f"idea_review_{older.round}"):
            _review(older)


def _review(review: HypothesisReview) -> None:
    rows = [
        {
            "Criterion": name.replace("_", " "),
            "Score (1-10)": str(score),
            "Why": plain(review.feedback.get(name, "")),
        }
        for name, score in review.scores.items()
    ]
    rows.append({"Criterion": "mean", "Score (1-10)": f"{review.overall:.1f}", "Why": plain(review.summary)})
    st.table(rows, border="horizontal", hide_index=True)
    told = {
        "Against what is known": ": ".join(filter(None, (REFLECTIONS[review.reflection], review.reflection_reason))),
        "Advice": review.advice,
        "Concerns": review.concerns,
    }
    for title, text in told.items():
        if text.strip():
            st.markdown(f"**{title}:** {plain(text)}")
    st.caption(plain(f"By {review.by or 'nobody named'}, round {review.round}"))


def _lineage(_: Engine, view: TournamentView, one: Hypothesis) -> None:
    parents = [other for other in view.hypotheses if other.id in one.parents]
    children = [other for other in view.hypotheses if one.id in other.parents]
    if not parents and not children:
        st.caption("It was made from no other, and none was made from it.")
    for title, family in (("Made from", parents), ("Rewritten into", children)):
        if family:
            st.markdown(f"**{title}**")
        for other in family:
            st.button(
                plain(shortened(other.text, 160)),
                key=f"idea_kin_{other.id}",
                type="tertiary",
                icon=":material/subdirectory_arrow_right:",
                help=plain(f"{other.id}, {origin_of(other)}"),
                on_click=look_at,
                args=(view.tournament.id, other.id),
            )
    if one.transcript:
        which = "look-ups" if one.method == "tools" else "debate"
        with st.expander(f"The {which} it came from", icon=":material/forum:", key="idea_debate"):
            st.text(one.transcript)
