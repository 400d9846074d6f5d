"""What a plan is going to do, in words: each part is a button that offers what else it could be."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.running.params import field
from pages.running.plan import Picked, with_param

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.api import Engine, Profile, TaskDag

_AS_TEXT = """<style>
[class*="st-key-said_"] { display: block; line-height: 1.75; }
[class*="st-key-said_"] > [data-testid="stElementContainer"],
[class*="st-key-said_"] > [data-testid="stElementContainer"] * { display: inline; }
[class*="st-key-said_"] > [data-testid="stLayoutWrapper"] { display: inline-block; max-width: 100%; }
[class*="st-key-said_"] p { overflow-wrap: anywhere; }
[class*="st-key-said_"] [class*="st-key-part_"] button { padding: 0; min-height: 0; border: 0; text-align: left; }
[class*="st-key-said_"] [class*="st-key-part_"] button p {
  font-size: 1rem; white-space: normal; text-decoration: underline; text-underline-offset: 0.2em;
}
[class*="st-key-said_"] [class*="st-key-part_"] button > div { margin: 0; }
[class*="st-key-said_"] [class*="st-key-part_"] button > div > [aria-hidden="true"] { display: none; }
</style>"""
"""Words and parts flow as one sentence: a button is as high and as far apart as the words beside it, and underlined."""
_BLANK = "\N{ZERO WIDTH SPACE} \N{ZERO WIDTH SPACE}"
"""Blanks alone are dropped at the ends of a text on the way."""


class Choices(NamedTuple):
    """What came of the sentences of a plan: whether there is a newer one, and what was picked that it does not have."""

    planned: bool
    waiting: list[Picked]


class _Goal(NamedTuple):
    """A goal being drawn, and what planning again needs."""

    engine: Engine
    run_id: str
    plan: TaskDag
    goal: Any
    unsaved: bool
    waiting: list[Picked]
    """Filled while it is drawn."""

    def step(self, part: Any) -> Any:
        """Return the step that a part is of."""
        return self.plan.node(part.node)

    def later(self, part: Any, names: list[str], use: Callable[[], bool]) -> bool:
        """Note what was picked for a part, and that it was not planned with."""
        self.waiting.append(Picked(f"{part.label}: {', '.join(names) or 'nothing'}", use))
        return False


def load_style() -> None:
    """Let parts of a sentence look like its words; early, since browsers fetch what shows it only when it is there."""
    st.html(_AS_TEXT)


def draw_goals(
    engine: Engine, run_id: str, plan: TaskDag, profiles: list[Profile], *, key: str, unsaved: bool = False
) -> Choices:
    """Draw each goal of a plan as a sentence whose parts can be changed, and return what was.

    Args:
        engine: plans again with what is chosen.
        run_id: the run that waits for approval.
        plan: its newest plan.
        profiles: of the files of the run.
        key: the widgets' key; renewed with the plan.
        unsaved: True while there are changes that planning again would lose.
    """
    changed, waiting = False, []
    for number, goal in enumerate(engine.briefs(plan, profiles)):
        with st.container(border=True, gap="small", key=f"goal_{key}_{number}"):
            st.markdown(f"**{plain(goal.title)}**")
            with st.container(horizontal=True, gap=None, vertical_alignment="center", key=f"said_{key}_{number}"):
                drawn = _Goal(engine, run_id, plan, goal, unsaved, waiting)
                for clause in goal.clauses():
                    changed |= _clause(drawn, clause, f"{key}_{number}")
            if goal.why:
                st.caption(plain(" ".join(goal.why)))
    for number, (words, chosen) in enumerate(engine.rows_dropped(run_id).items()):
        label = f"Keep only the rows again where {plain(words)}"
        if st.button(label, key=f"rows_{key}_{number}", type="tertiary", icon=":material/undo:", disabled=unsaved):
            again = partial(engine.replan, run_id, chosen=chosen)
            changed |= attempt(again)
    return Choices(changed, waiting)


def draw_not_answered(plan: TaskDag) -> None:
    """Draw what a plan does not answer: above all that is to be chosen, which may fill a window."""
    if plan.not_answered:
        left = "".join(f"\n- {plain(text)}" for text in plan.not_answered)
        st.markdown(f":orange[:material/warning:] **Not answered by this plan**{left}")


def _clause(drawn: _Goal, clause: Any, key: str) -> bool:
    """Draw a clause, plain words that stand together in one piece, and say whether a part of it was chosen anew."""
    changed, words = False, ""
    for piece in clause:
        part = piece.part
        if part is None or not _pickable(drawn, part):
            words += piece.words
            continue
        if words:
            _words(words)
            words = ""
        step = "" if part.node in ("", drawn.goal.node) else f"{part.node}_"
        changed |= _part(drawn, piece.words, part, f"{key}_{step}{part.param or part.label}{part.column}")
    _words(f"{words} ")
    return changed


def _words(text: str) -> None:
    """Draw plain words of a sentence, with the blanks that part them from what stands beside them."""
    left, right = len(text) - len(text.lstrip()), len(text) - len(text.rstrip())
    st.markdown(f"{_BLANK * left}{plain(text.strip())}{_BLANK * right}", width="content")


def _pickable(drawn: _Goal, part: Any) -> bool:
    others = part is drawn.goal.choice and drawn.goal.others
    return bool(part.param or part.candidates or others)


def _part(drawn: _Goal, words: str, part: Any, key: str) -> bool:
    """Draw a part of a sentence as a button that opens what else it could be, and say whether that was chosen."""
    param = drawn.engine.tool(drawn.step(part).tool).param(part.param) if part.param else None
    with st.popover(
        plain(words),
        type="tertiary",
        icon=":material/help:" if part.asked else ":material/person:" if part.by_hand else None,
        key=f"part_{key}",
        disabled=drawn.unsaved,
        help="Keep or drop your changes first." if drawn.unsaved else plain(param.description) if param else None,
    ):
        changed = _choice(drawn, param, part, key)
        if part is drawn.goal.choice:
            changed |= _others(drawn, key)
    return changed


def _choice(drawn: _Goal, param: Any, part: Any, key: str) -> bool:
    """Draw what else a part could be and say whether it was chosen."""
    if param is None:
        return _adjusting(drawn, part, key) if part.candidates else False
    label = plain(f"{part.label}: {part.column}" if part.column else part.label)
    several = param.kind == "columns" and not part.column
    named = part.column or param.role == "rows" or part is drawn.goal.choice  # of these one is always chosen
    used = True
    if named:
        at = part.candidates.index(part.value) if part.value in part.candidates else None
        said = lambda name: part.called.get(name, name)  # noqa: E731 - what a name is called
        value = st.selectbox(
            label, part.candidates, index=at, key=f"pick_{key}", format_func=said, placeholder="Choose another"
        )
        value = part.value if value is None else value
    else:
        with _beside():
            value = field(
                param,
                part.value,
                key=f"pick_{key}",
                options=part.candidates,
                label=label,
                closed=True,
                called=part.called,
            )
            used = not several or st.button("Use these", key=f"use_{key}", type="primary")
    setting = param.kind not in ("column", "columns", "level", "texts")
    nothing = value in (None, "", [])
    if value == part.value or (nothing and param.role != "rows" and (setting or part.value in (None, "", []))):
        return False
    if param.role == "rows":
        return _again(drawn, {drawn.step(part).tool: {part.param: {part.value: value}}})
    if setting:
        return attempt(lambda: drawn.engine.edit_plan(drawn.run_id, _with_setting(drawn, param, part, value)))
    chosen, goal = {drawn.goal.tool: {part.param: part.chosen(value)}}, drawn.goal.node
    use = lambda: _again(drawn, chosen, goal=goal)  # noqa: E731 - now or when it is asked for
    return use() if used else drawn.later(part, list(value or []), use)


def _beside() -> Any:
    """Return where a field and its button stand side by side: above or below, the list that opens would cover it."""
    return st.container(horizontal=True, vertical_alignment="bottom")


def _with_setting(drawn: _Goal, param: Any, part: Any, value: Any) -> TaskDag:
    """Return the plan with a setting in its step, and in all that have the same value of it for the same reason.

    These are steps of its tool, steps whose result the same threshold decides, and steps that took it from the words.
    """
    plan, own = drawn.plan, drawn.step(part)
    for node in plan.nodes:
        same = drawn.engine.tool(node.tool).param(part.param)
        said = {step.settled.get(part.param) for step in (own, node)} == {"plan"}
        told = same is not None and param.decides and same.decides == param.decides
        alike = node.params.get(part.param) == part.value and (told or said or node.tool == own.tool)
        if node.id == own.id or alike:
            plan = with_param(plan, node.id, part.param, value)
    return plan


def _adjusting(drawn: _Goal, part: Any, key: str) -> bool:
    """Draw the columns that another analysis can adjust for, and say whether it was planned with some of them."""
    other = next(other for other in drawn.goal.others if other.adjusting)
    st.caption(f"Plans the question as: {plain(other.title)}.")
    with _beside():
        names = st.multiselect(plain(part.label), part.candidates, key=f"pick_{key}", placeholder="Columns")
        used = st.button("Adjust for these", key=f"use_{key}", type="primary", disabled=not names)
    if not names:
        return False
    chosen, analysis = {other.tool: other.adjusted(names)}, other.analysis
    use = lambda: _again(drawn, chosen, analysis=analysis)  # noqa: E731 - now or when it is asked for
    return use() if used else drawn.later(part, names, use)


def _others(drawn: _Goal, key: str) -> bool:
    """Draw the other analyses of the same columns and say whether one was taken."""
    changed = False
    for other in drawn.goal.others:
        title = f"Instead: {other.title}"
        if st.button(plain(title), key=f"other_{key}_{other.analysis}", type="tertiary", icon=":material/alt_route:"):
            changed |= _again(drawn, {other.tool: other.params}, analysis=other.analysis)
    return changed


def _again(drawn: _Goal, chosen: dict[str, dict[str, Any]], *, analysis: str = "", goal: str = "") -> bool:
    with st.spinner("Planning again..."):
        return attempt(lambda: drawn.engine.replan(drawn.run_id, analysis=analysis, chosen=chosen, goal=goal))
