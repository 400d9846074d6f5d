"""Past analyses: found by a question with the score broken into its signals; pinned, corrected, forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.frame import Tab
from pages.parts.paging import first_shown
from pages.parts.words import counted, duration, number, shortened

if TYPE_CHECKING:
    from engine.api import Engine

SHOWN = 30
_SIGNALS = {
    "fingerprint": "Words",
    "near": "Words or like ones",
    "tools": "Tools",
    "domains": "Fields",
    "entities": "Entities",
    "semantic": "Meaning",
}


def draw_episodes(engine: Engine) -> None:
    """Draw the search and either what it recalls or the newest analyses."""
    query = st.text_input(
        "Find by a question",
        key="recall_query",
        placeholder="Describe what you are about to do, or name a gene, a tool, a file",
    )
    if query.strip():
        _recalled(engine, query)
        return
    count = engine.memory.episode_count()
    if not count:
        st.caption("Every finished analysis is kept here: what was asked, which steps answered it, what was learned.")
        st.page_link("pages/ask.py", label="Ask the first question", icon=":material/forum:")
        return
    start = first_shown(count, SHOWN, "episodes_page")
    episodes = engine.memory.episodes(limit=SHOWN, offset=start)
    if count > SHOWN:
        st.caption(f"{start + 1:,} to {start + len(episodes):,} of {count:,}, pinned ones first, then the newest")
    for episode in episodes:
        _card(engine, episode)


def _recalled(engine: Engine, query: str) -> None:
    found: list[Any] = []
    with st.spinner("Searching..."):
        ok = attempt(lambda: found.append(engine.memory.recall(query, top=10, explain=True)))
    if not ok:
        return
    recall = found[0]
    st.caption(
        f"{counted(len(recall.episodes), 'analysis', 'analyses')} of "
        f"{recall.considered:,} considered pass the relevance gate ({duration(recall.seconds)})."
    )
    for note in recall.notes:
        st.caption(plain(note))
    if not recall.episodes:
        st.markdown("Nothing relevant is remembered for this.")
    for item in recall.episodes:
        _card(engine, item.episode, item)
    if recall.below:
        with st.expander(f"Kept out by the gate ({len(recall.below)})", icon=":material/filter_alt:", key="below_gate"):
            for item in recall.below:
                st.markdown(plain(shortened(item.episode.task, 120)))
                st.caption(plain(f"Relevance {item.score:.2f}. {item.why}"))


def _card(engine: Engine, episode: Any, item: Any = None) -> None:
    with st.container(border=True, key=f"episode_{episode.id}"):
        with st.container(horizontal=True, vertical_alignment="center", key=f"episode_head_{episode.id}"):
            st.markdown(f"**{plain(shortened(episode.task, 130))}**", width="stretch")
            if item is not None:
                st.badge(f"Relevance {item.score:.2f}", icon=":material/target:", color="blue")
            if episode.doubted:
                st.badge("Marked as wrong", icon=":material/block:", color="red")
            if episode.pinned:
                st.badge("Pinned", icon=":material/keep:", color="orange")
            st.badge("Done" if episode.success else "Failed", color="green" if episode.success else "red")
        asked = [f"asked by {episode.user}"] if episode.user not in ("", engine.settings.user) else []
        tools = ", ".join(episode.tools[:8]) or "no tools"
        st.caption(plain(" · ".join([episode.at[:10], *asked, tools])))
        if item is not None:
            _why(item)
        if episode.result_summary:
            st.markdown(plain(shortened(episode.result_summary, 300)))
        if episode.lessons:
            st.markdown(f":material/lightbulb: {plain(shortened(episode.lessons, 300))}")
        _actions(engine, episode)


def _why(item: Any) -> None:
    st.markdown(f":material/manage_search: {plain(item.why)}")
    signals = item.signals.model_dump()
    with st.container(horizontal=True, gap="medium", key=f"signals_{item.episode.id}"):
        for name, label in _SIGNALS.items():
            st.caption(f"{label} **{number(round(float(signals[name]), 2))}**", width="content")


def _actions(engine: Engine, episode: Any) -> None:
    memory = engine.memory
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"episode_actions_{episode.id}"):
        if episode.run_id and engine.has_run(episode.run_id):
            st.page_link(
                "pages/plan_run.py",
                label="Open the run",
                icon=":material/account_tree:",
                query_params={"run": episode.run_id},
            )
        if st.button(
            "Unpin" if episode.pinned else "Pin",
            # A click in a tab that still shows the other state does nothing.
            key=f"{'unpin' if episode.pinned else 'pin'}_{episode.id}",
            type="tertiary",
            icon=":material/keep:",
            help="A pinned analysis is favoured when it is relevant.",
        ) and attempt(lambda: memory.pin(episode.id, pinned=not episode.pinned)):
            st.rerun()
        if st.button(
            "It was right" if episode.doubted else "Mark as wrong",
            key=f"{'trust' if episode.doubted else 'doubt'}_{episode.id}",
            type="tertiary",
            icon=":material/block:",
            help="An analysis marked as wrong is kept and never recalled.",
        ) and attempt(lambda: memory.doubt(episode.id, wrong=not episode.doubted)):
            st.rerun()
        with st.popover("Correct", icon=":material/edit:", type="tertiary", key=f"edit_{episode.id}"):
            lessons = st.text_area("Lessons", episode.lessons, key=f"lessons_{episode.id}")
            result = st.text_area("Result", episode.result_summary, key=f"result_{episode.id}")
            if st.button("Save", key=f"save_{episode.id}", type="primary") and attempt(
                lambda: memory.edit_episode(episode.id, lessons=lessons, result_summary=result)
            ):
                st.rerun()
        with st.popover("Forget", icon=":material/delete:", type="tertiary", key=f"forget_{episode.id}"):
            st.markdown(
                "This removes the memory, what was said in its run and what it taught the graph for good. "
                "The run itself, if it is still here, stays."
            )
            if st.button("Forget it", key=f"forget_now_{episode.id}", type="primary"):
                with st.spinner("Forgetting it..."):
                    gone = attempt(lambda: memory.remove(episode.id))
                if gone:
                    st.rerun()


def draw_context(engine: Engine) -> None:
    """Draw what the planner would be told for a question."""
    query = st.text_input("Question", key="context_query", placeholder="Which genes change with dexamethasone?")
    budget = st.slider(
        "Budget, in tokens", 200, 8000, min(max(engine.settings.recall_tokens, 200), 8000), 100, key="context_budget"
    )
    if not query.strip():
        st.caption("Write a question to see which past analyses would go with it, and what they would add to the plan.")
        return
    told: list[Any] = []
    with st.spinner("Searching..."):
        # The planner gives the question's fields as a hint; without them it would be told something else.
        domains = engine.domains_of(query)
        ok = attempt(lambda: told.append(engine.memory.context(query, budget=budget, domains=domains)))
    if not ok:
        return
    if domains:
        st.caption(plain(f"Fields of the question: {', '.join(domains)}"))
    context = told[0]
    for note in context.recall.notes:
        st.caption(plain(note))
    if not context.text:
        if not context.recall.episodes:
            st.markdown("Nothing relevant is remembered, so the planner is told nothing.")
        return
    st.caption(f"{counted(len(context.told), 'episode')}, about {context.tokens:,} of {budget:,} tokens")
    st.code(context.text, language=None, wrap_lines=True)


EPISODES = Tab("Past analyses", draw_episodes, order=10)
CONTEXT = Tab("What the planner sees", draw_context, order=40)
