"""How a question was read: its words marked by what each was taken for, what else it could mean, what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.words import MARKS, TAKEN, shortened

if TYPE_CHECKING:
    from engine.api import Engine, TaskDag

ALTERNATIVES_SHOWN = 3


def marked(question: str, spans: Sequence[Any]) -> str:
    """Return a question as Markdown, its words on the colour of what they were taken for.

    Words that nothing in the plan answers to are struck through as well, for who does not see the colour.
    """
    parts, at = [], 0
    for span in _shown(question, spans):
        words = plain(question[span.start : span.end])
        parts += [plain(question[at : span.start]), _on(TAKEN[span.taken_as][1], words)]
        at = span.end
    return " ".join("".join([*parts, plain(question[at:])]).splitlines())


def _shown(question: str, spans: Sequence[Any]) -> list[Any]:
    """Return the spans to mark, in order: within the question, without overlap, beginning and ending with a letter."""
    shown, at = [], 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        start, end = max(0, span.start), min(span.end, len(question))
        words = question[start:end]
        start, end = start + len(words) - len(words.lstrip()), end - len(words) + len(words.rstrip())
        if span.taken_as in TAKEN and at <= start < end:
            shown.append(span.model_copy(update={"start": start, "end": end}))
            at = end
    return shown


def legend(spans: Sequence[Any]) -> str:
    """Return what the colours in a marked question stand for, only those that occur."""
    used = {TAKEN[span.taken_as][1] for span in spans if span.taken_as in TAKEN}
    return " ".join(_on(color, name) for color, name in MARKS.items() if color in used)


def with_legend(plan: TaskDag) -> str:
    """Return the marked question of a plan with its legend below, as Markdown."""
    colors = legend(plan.understood)
    return marked(plan.question, plan.understood) + (f"  \n:small[Marked: {colors}]" if colors else "")


def _on(color: str, words: str) -> str:
    # Coloured as well as on colour: a background alone is hardly seen in the light theme.
    return f":{color}-background[:{color}[{f'~~{words}~~' if color == 'red' else words}]]"


def draw_understood(engine: Engine, plan: TaskDag, *, key: str, question: bool = True) -> None:
    """Draw how the question was read, as text and as a table.

    Args:
        engine: knows what the analyses are called.
        plan: the plan, with what was understood.
        key: the widgets' key.
        question: False when the marked question stands elsewhere already.
    """
    if question and plan.understood:
        st.markdown(with_legend(plan))
    if plan.understood or plan.analysis:
        with st.expander("Word by word", icon=":material/table:", type="compact", key=f"understood_{key}"):
            _table(plan, titles_of(engine), key)


def _table(plan: TaskDag, titles: dict[str, str], key: str) -> None:
    import pandas as pd

    rows = [
        {"Words": "the question", "Taken for": "an analysis", "Which": titles.get(c.id, c.id)} for c in plan.analysis
    ]
    for span in plan.understood:
        if span.taken_as in TAKEN:
            rows.append({"Words": span.text, "Taken for": TAKEN[span.taken_as][0], "Which": span.value})
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height="content" if len(rows) <= 12 else 440,
        key=f"understood_rows_{key}",
        alt="Words of the question and what each was taken for",
    )


def draw_alternatives(engine: Engine, run_id: str, plan: TaskDag, *, unsaved: bool = False) -> bool:
    """Draw what else the question could mean as buttons and say whether it was planned again as one of them.

    Args:
        engine: plans again.
        run_id: the run that waits for approval.
        plan: its newest plan.
        unsaved: True while there are changes that planning again would lose.
    """
    others = plan.alternatives[:ALTERNATIVES_SHOWN]
    if not others:
        return False
    titles = titles_of(engine)
    waits = must_choose(plan)
    with st.container(horizontal=not waits, vertical_alignment="center", gap="small", key=f"alternatives_{run_id}"):
        st.markdown(
            "**Which of these is meant? Nothing runs before you chose.**" if waits else "**Did you mean**",
            width="content",
        )
        clicked = [
            other for other in others if _alternative(other, titles, f"{run_id}_{plan.version}", unsaved=unsaved)
        ]
    if not clicked:
        return False
    with st.spinner("Planning again..."):
        return attempt(lambda: engine.replan(run_id, analysis=clicked[0].id))


def must_choose(plan: TaskDag) -> bool:
    """Say whether a plan waits for the choice among what its question could mean."""
    others = {other.id for other in plan.alternatives}
    return any(q.blocking and not q.param and others & {*q.choices} for q in plan.open_questions)


def _alternative(other: Any, titles: dict[str, str], key: str, *, unsaved: bool) -> bool:
    title = titles.get(other.id, other.id)
    return st.button(
        plain(shortened(str(other.says or title), 150)),
        key=f"mean_{key}_{other.id}",
        icon=":material/alt_route:",
        disabled=unsaved,
        help="Keep or drop your changes first." if unsaved else plain(f"Plans the question again as: {title}."),
    )


def titles_of(engine: Engine) -> dict[str, str]:
    """Return what each analysis is called."""
    return {analysis.id: analysis.name for analysis in engine.analyses()}
