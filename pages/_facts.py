"""Facts: who says what with which confidence, contradictions side by side, and the door to the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._engine import attempt
from pages._words import counted, number, plain

if TYPE_CHECKING:
    from engine.api import Engine


def draw_facts(engine: Engine) -> None:
    """Draw the facts, the form for a new one and the contradictions."""
    entity = st.text_input("About", key="fact_entity", placeholder="A gene, a sample, a treatment; empty shows all")
    views = engine.memory.facts(entity)
    if views:
        _table(views)
        _change(engine, views)
    else:
        st.caption(
            "No fact is remembered about that."
            if entity.strip()
            else "Facts that you or your analyses state are kept here with their source, e.g. what a sample code means."
        )
    _new(engine)
    _contradictions(engine)


def _table(views: list[Any]) -> None:
    import pandas as pd

    rows = [
        {
            "Subject": view.fact.subject,
            "Predicate": view.fact.predicate,
            "Object": view.fact.object,
            "Sources": ", ".join(view.sources),
            "Support": round(float(view.support), 3),
            "Contradicted by": len(view.contradicts),
            "State": "retracted" if view.fact.retracted else "in the graph" if view.fact.in_graph else "held",
            "Id": view.fact.id,
        }
        for view in views
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height="content" if len(rows) <= 10 else 320,
        key="facts_table",
        alt="Facts",
    )


def _change(engine: Engine, views: list[Any]) -> None:
    semantic = engine.memory.semantic
    by_id = {view.fact.id: view for view in views}
    with st.container(horizontal=True, vertical_alignment="bottom", key="fact_change"):
        chosen = st.selectbox("Fact", list(by_id), format_func=lambda i: _line(by_id[i].fact), key="fact_chosen")
        if chosen not in by_id:
            return
        fact = by_id[chosen].fact
        label, act = ("Restore", semantic.restore) if fact.retracted else ("Retract", engine.memory.retract)
        if st.button(label, key="fact_retract", icon=":material/undo:"):
            with st.spinner("Changing it..."):
                changed = attempt(lambda: act(fact.id))
            if changed:
                st.rerun()
        if st.button("Forget", key="fact_forget", icon=":material/delete:"):
            with st.spinner("Forgetting it..."):
                gone = attempt(lambda: engine.memory.forget(fact.id))
            if gone:
                st.rerun()
        if st.button(
            "Send to the graph",
            key="fact_graph",
            icon=":material/hub:",
            help="One way: the graph never changes a fact.",
        ):
            _send(engine, fact.id)


def _send(engine: Engine, fact_id: str) -> None:
    sent: list[Any] = []
    with st.spinner("Finding its entities and storing it in the graph..."):
        ok = attempt(lambda: sent.append(engine.memory.to_graph([fact_id])))
    if ok:
        skipped = sent[0].skipped
        if skipped:
            st.caption(plain(f"It could not be sent: {'; '.join(str(reason) for reason in skipped)}"))
        else:
            st.rerun()


def _new(engine: Engine) -> None:
    with (
        st.expander("Remember a fact", icon=":material/add:", key="new_fact"),
        st.form("fact_form", clear_on_submit=True),
    ):
        left, middle, right = st.columns(3)
        subject = left.text_input("Subject", placeholder="sample S7")
        predicate = middle.text_input("Predicate", placeholder="is a duplicate of")
        target = right.text_input("Object", placeholder="sample S3")
        source = left.text_input("Source", value=engine.user)
        confidence = middle.slider("Confidence", 0.0, 1.0, 0.8, 0.05)
        if st.form_submit_button("Remember") and attempt(
            lambda: engine.memory.semantic.add(subject, predicate, target, source, confidence)
        ):
            st.rerun()


def _contradictions(engine: Engine) -> None:
    pairs = engine.memory.semantic.contradictions()
    if not pairs:
        return
    st.markdown(f":orange[:material/warning:] **{counted(len(pairs), 'contradiction')}**")
    for one, other in pairs[:20]:
        for column, view in zip(st.columns(2), (one, other), strict=True):
            with column, st.container(border=True):
                st.markdown(plain(_line(view.fact)))
                st.caption(plain(f"Support {number(float(view.support))} from {', '.join(view.sources)}"))


def _line(fact: Any) -> str:
    return f"{fact.subject} {fact.predicate} {fact.object}"
