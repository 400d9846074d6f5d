"""Facts: who says what with which confidence, contradictions side by side, and the door to the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.frame import Tab
from pages.parts.paging import first_shown
from pages.parts.words import counted, number

if TYPE_CHECKING:
    from engine.api import Engine

_TURN = "fact_turn"
"""Counts the facts remembered here, so that each new one starts with empty fields."""


_NARROW = st.column_config.Column(width="small")
_WIDE = st.column_config.Column(width="medium")

SHOWN = 50
"""Statements on a page of the table."""
_NOTE = "fact_note"
"""What to say of the fact that was remembered last, once."""


def draw_facts(engine: Engine) -> None:
    """Draw the facts, the form for a new one and the contradictions."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="fact_filter"):
        entity = st.text_input("About", key="fact_entity", placeholder="A gene, a sample, a treatment; empty shows all")
        retracted = st.toggle("Retracted too", key="fact_show_retracted", help="What was taken back can be restored.")
    views = engine.memory.facts(entity, retracted=retracted)
    if views:
        start = first_shown(len(views), SHOWN, f"facts_page_{entity}_{retracted}")
        shown = views[start : start + SHOWN]
        if len(views) > SHOWN:
            st.caption(f"Statements {start + 1:,} to {start + len(shown):,} of {len(views):,}")
        _table(shown)
        _change(engine, shown)
    elif entity.strip():
        _near(engine, entity)
    else:
        st.caption(
            "Facts that you or your analyses state are kept here with their source, e.g. what a sample code means."
        )
    _new(engine)
    _contradictions(engine)


def _near(engine: Engine, question: str) -> None:
    """Say that nothing mentions it, and show what is near in meaning, where meanings can be compared."""
    from engine.api import EngineError

    try:
        views = engine.memory.facts_near(question)
    except EngineError:
        views = []
    near = " These are the nearest in meaning; whether one answers is for you to say." if views else ""
    st.caption(f"No fact is remembered about that.{near}")
    if views:
        _table(views)


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
            "State": _state(view),
            "Id": view.fact.id,
        }
        for view in views
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height="content" if len(rows) <= 10 else 320,
        column_config={"Support": _NARROW, "Contradicted by": _NARROW, "State": _WIDE, "Id": _NARROW},
        key="facts_table",
        alt="Facts",
    )


def _state(view: Any) -> str:
    """Return what holds for a statement: of several sources some may have been taken back."""
    back = sum(fact.retracted for fact in view.facts)
    if back == len(view.facts):
        return "retracted"
    state = "in the graph" if any(fact.in_graph for fact in view.facts) else "held"
    return f"{state}, {back} of {len(view.facts)} retracted" if back else state


def _change(engine: Engine, views: list[Any]) -> None:
    # A statement is known by its first fact, and every button by the fact it acts on: what another tab removed is
    # simply not there, and no other fact takes its place under a button.
    by_id = {view.facts[0].id: view for view in views}
    chosen = st.selectbox("Fact", list(by_id), format_func=lambda i: _line(by_id[i].fact), key="fact_chosen")
    if chosen not in by_id:
        return
    view = by_id[chosen]
    if len(view.facts) > 1:
        st.caption(f"{len(view.facts)} sources state this. Each is retracted, restored and forgotten by itself.")
    for fact in view.facts:
        _one_source(engine, fact)


def _one_source(engine: Engine, fact: Any) -> None:
    memory = engine.memory
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"fact_source_of_{fact.id}"):
        state = "retracted" if fact.retracted else "in the graph" if fact.in_graph else "held"
        st.markdown(plain(f"{fact.source}: confidence {number(fact.confidence)}, {state}"), width="content")
        if fact.retracted:
            _button(f"fact_restore_{fact.id}", "Restore", "redo", lambda: memory.restore(fact.id))
        else:
            _button(f"fact_retract_{fact.id}", "Retract", "undo", lambda: memory.retract(fact.id))
            if st.button(
                "Send to the graph",
                key=f"fact_graph_{fact.id}",
                type="tertiary",
                icon=":material/hub:",
                help="One way: the graph never changes a fact.",
            ):
                _send(engine, fact.id)
        with st.popover("Forget", icon=":material/delete:", type="tertiary", key=f"fact_forget_{fact.id}"):
            st.markdown(f"This removes for good that {plain(fact.source)} states: {plain(_line(fact))}.")
            if fact.in_graph:
                st.caption("It leaves the knowledge graph as well.")
            _button(f"fact_forget_now_{fact.id}", "Forget it", "delete", lambda: memory.remove(fact.id), kind="primary")


def _button(key: str, label: str, icon: str, act: Callable[[], object], kind: Any = "tertiary") -> None:
    if st.button(label, key=key, type=kind, icon=f":material/{icon}:"):
        with st.spinner("Changing it..."):
            changed = attempt(act)
        if changed:
            st.rerun()


def _send(engine: Engine, fact_id: str) -> None:
    sent: list[Any] = []
    with st.spinner("Finding its entities and storing it in the graph..."):
        ok = attempt(lambda: sent.append(engine.memory.to_graph([fact_id])))
    if ok:
        skipped = sent[0].skipped
        if skipped:
            st.caption(plain(f"It could not be sent: {'; '.join(str(reason) for reason in skipped)}"))
        for text in sent[0].opposed:
            st.warning(plain(text))
        if not skipped and not sent[0].opposed:
            st.rerun()


def _new(engine: Engine) -> None:
    # The fields are emptied only once the fact is remembered: what was refused stays there to be mended.
    turn = int(st.session_state.get(_TURN, 0))
    with (
        st.expander("Remember a fact", icon=":material/add:", key="new_fact"),
        st.form("fact_form"),
    ):
        left, middle, right = st.columns(3)
        subject = left.text_input("Subject", placeholder="sample S7", key=f"fact_subject_{turn}")
        predicate = middle.text_input("Predicate", placeholder="is a duplicate of", key=f"fact_predicate_{turn}")
        target = right.text_input("Object", placeholder="sample S3", key=f"fact_object_{turn}")
        source = left.text_input("Source", value=engine.user, key=f"fact_source_{turn}")
        confidence = middle.slider("Confidence", 0.0, 1.0, 0.8, 0.05, key=f"fact_confidence_{turn}")
        done: list[Any] = []
        if st.form_submit_button("Remember") and attempt(
            lambda: done.append(engine.memory.state(subject, predicate, target, source, confidence))
        ):
            st.session_state[_TURN] = turn + 1
            st.session_state[_NOTE] = _remembered(done[0])
            st.rerun()
    note = st.session_state.pop(_NOTE, "")
    if note:
        st.caption(plain(note))


def _remembered(stated: Any) -> str:
    """Return what became of a statement that its source may have made before."""
    fact, before = stated.fact, stated.before
    if before is None:
        return ""
    if before == fact:
        return f"{fact.source} had stated this already, with the same confidence; nothing changed."
    back = " It had been retracted and is held again." if before.retracted else ""
    change = f" from {number(before.confidence)} to {number(fact.confidence)}"
    sure = "" if before.confidence == fact.confidence else f" Its confidence went{change}."
    return f"{fact.source} had stated this already.{sure}{back}"


def _contradictions(engine: Engine) -> None:
    pairs = engine.memory.contradictions()
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


FACTS = Tab("Facts", draw_facts, order=20)
