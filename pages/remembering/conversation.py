"""The working memory of a conversation: what is kept word for word, what was summed up, and how full it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.frame import Tab
from pages.parts.session import RUN
from pages.parts.words import counted, shortened, when

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.memory import Message

TITLES = "conversation_titles"
SHOWN = 30
"""Messages drawn at first, the newest; each has a button, and a thousand of them take a browser half a minute."""
TITLED = 30
"""Conversations called by their first message; to read every one of thousands would hold up the page."""


def draw_conversation(engine: Engine) -> None:
    """Draw the conversation of the open run, or one that is chosen."""
    memory = engine.memory
    known = memory.conversations()
    if not known:
        st.caption("The questions and answers of a conversation are kept here, in full or summed up.")
        st.page_link("pages/ask.py", label="Ask the first question", icon=":material/forum:")
        return
    ids = [name for name, _, _ in known]
    times = {name: (newest, messages) for name, newest, messages in known}
    titles = _titles(engine, ids)
    opened = _open_one(engine)
    chosen = st.selectbox(
        "Conversation",
        ids,
        index=ids.index(opened) if opened in ids else 0,
        format_func=lambda name: f"{when(times[name][0])}  {titles[name]} ({counted(times[name][1], 'message')})",
        key="conversation",
    )
    view = memory.view(chosen)
    share = min(1.0, view.tokens / view.budget) if view.budget else 0.0
    kind = "counted" if view.exact else "estimated, no tokenizer of a model is known here"
    st.progress(share, text=f"{view.tokens:,} of {view.budget:,} tokens ({kind})")
    st.caption(plain(f"The budget is {engine.memory.budget_in_words()}"))
    if view.compressed_messages:
        st.caption(f"{counted(view.compressed_messages, 'older message')} summed up; the originals are kept.")
    for message in view.pinned[-SHOWN:]:
        st.markdown(f":material/keep: {plain(shortened(message.text, 400))}")
    for summary in view.summaries:
        with st.expander(
            f"Messages {summary.first} to {summary.last} in short "
            f"({summary.tokens_before:,} to {summary.tokens:,} tokens)",
            icon=":material/compress:",
            key=f"summary_{summary.first}_{summary.last}_{summary.level}",
        ):
            st.markdown(plain(summary.text))
    _messages(engine, chosen, view.messages)


def _messages(engine: Engine, conversation: str, messages: list[Message]) -> None:
    """Draw the newest messages, and more of the earlier ones each time they are asked for."""
    key = f"messages_shown_{conversation}"
    shown = int(st.session_state.get(key, SHOWN))
    left = max(0, len(messages) - shown)
    if left and st.button(
        f"Show earlier ({left:,} more)", key=f"earlier_{conversation}", type="tertiary", icon=":material/expand_less:"
    ):
        st.session_state[key] = shown + SHOWN
        st.rerun()
    for message in messages[left:]:
        _message(engine, conversation, message)


def _message(engine: Engine, conversation: str, message: Message) -> None:
    memory = engine.memory
    label, change = ("Unpin", memory.unpin_message) if message.pinned else ("Pin", memory.pin_message)
    with st.chat_message("user" if message.role == "user" else "assistant"):
        st.markdown(plain(shortened(message.text, 700)))
        if st.button(
            label,
            # A click in a tab that still shows the other state, or another conversation, does nothing.
            key=f"{label.lower()}_message_{conversation}_{message.number}",
            type="tertiary",
            help="A pinned message is never summed up.",
        ) and attempt(lambda: change(conversation, message.number)):
            st.rerun()


def _open_one(engine: Engine) -> str:
    run_id = st.session_state.get(RUN, "")
    return engine.record(run_id).conversation if run_id and engine.has_run(run_id) else ""


def _titles(engine: Engine, conversations: list[str]) -> dict[str, str]:
    """Return what each is called: the newest by their first message, read once a session; the rest by their id."""
    known: dict[str, str] = st.session_state.setdefault(TITLES, {})
    given = engine.memory.titles()
    for name in conversations[:TITLED]:
        if name not in known:
            messages = engine.memory.messages(name)
            known[name] = shortened(messages[0].text, 70) if messages else name
    return {name: shortened(given.get(name) or known.get(name, name), 70) for name in conversations}


CONVERSATION = Tab("Conversation", draw_conversation, order=30)
