"""A plan in brief: what will be done, with what, and what is still to be asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from pages.parts.escape import plain
from pages.parts.tables import plain_table
from pages.parts.words import setting
from pages.running.params import field

if TYPE_CHECKING:
    from engine.api import Engine, TaskDag


class Picked(NamedTuple):
    """Columns that were picked and are not in the plan yet: only a click says that they are all."""

    says: str
    use: Callable[[], bool]
    """Plans again with them and says whether that could be done."""


def draw_warnings(warnings: Sequence[str]) -> None:
    """Draw what speaks against the data or design, a line each."""
    if warnings:
        st.markdown("  \n".join(f":orange[:material/warning:] {plain(warning)}" for warning in warnings))


def draw_written_code(engine: Engine, plan: TaskDag, *, key: str) -> None:
    """Draw the code that a model wrote for this question, open: a person reads it before it runs."""
    written = {record.tool.name: record for record in engine.written.records()}
    for node in ordered(plan):
        record = written.get(node.tool)
        if record is not None:
            title = plain(f"Code of {node.name}, written by {record.tool.model}")
            with st.expander(title, expanded=True, key=f"code_{key}_{node.id}"):
                st.code(record.tool.source, language="python")


def draw_steps(plan: TaskDag, *, key: str, told: bool = False) -> None:
    """Draw the steps, a line each, and their settings to unfold; an only step not again where it was told above."""
    rows, lines = [], []
    for number, node in enumerate(ordered(plan), start=1):
        decided = {name: value for name, value in node.params.items() if value not in (None, "", [])}
        lines.append(f"{number}. {plain(node.name)}" + (f": {plain(' '.join(node.reasons))}" if node.reasons else ""))
        reads = ", ".join(read_from(plan, ref) for ref in node.inputs.values())
        settings = [f"{name} = {setting(value)}" for name, value in decided.items()]
        rows.append({"Step": f"{number}. {node.name}", "Done with": "; ".join([f"{node.tool} on {reads}", *settings])})
    if len(lines) > 1 or not told:
        st.markdown("\n".join(lines))
    with st.expander("Settings of the steps", icon=":material/tune:", type="compact", key=f"settings_{key}"):
        plain_table(rows, "")  # its cells break into lines: nothing is cut in a narrow window
    for note in plan.notes:
        st.caption(plain(note))


def answering_step(engine: Engine, plan: TaskDag) -> str:
    """Return the step whose tool carries out what was asked, the one that matters most; "" where none says so."""
    asked, tools = {chosen.id for chosen in plan.analysis}, {tool.name: tool for tool in engine.tools()}
    able = [node for node in ordered(plan) if node.tool in tools and asked & set(tools[node.tool].answers)]
    # A picture that was asked for as well shows what another step found.
    found = [node for node in able if tools[node.tool].task_type != "visualization"] or able
    return max(found, key=lambda node: node.priority).id if found else ""


def ordered(plan: TaskDag) -> list[Any]:
    """Return the steps in the order in which they run; a plan with a circle in the order it is written."""
    try:
        return plan.order()
    except ValueError:
        return list(plan.nodes)


def step_name(plan: TaskDag) -> Callable[[Any], str]:
    """Return the function that names a step for a choice."""
    names = {node.id: node.name for node in plan.nodes}
    return lambda node_id: names.get(str(node_id), str(node_id))


def read_from(plan: TaskDag, ref: str) -> str:
    """Return where an input comes from, in words."""
    if ref.startswith("data:"):
        return ref.removeprefix("data:")
    node_id, _, output = ref.partition(".")
    node = plan.node(node_id)
    return f"{output.replace('_', ' ')} of {node.name if node else node_id}"


def to_answer(plan: TaskDag) -> list[Any]:
    """Return the open questions but the one that the buttons below "Did you mean" answer."""
    others = {other.id for other in plan.alternatives}
    return [question for question in plan.open_questions if question.param or not others & set(question.choices)]


def draw_questions(
    engine: Engine, plan: TaskDag, choose: Callable[[str, str, Any], None], *, key: str, blocking: bool
) -> TaskDag:
    """Draw what the planner could not know, with what it proposes and why; return the plan with the answers.

    Args:
        engine: knows the parameters.
        plan: the plan as far as it was answered.
        choose: plans again with a column (tool, parameter, column): what is asked of its levels depends on it.
        key: the widgets' key.
        blocking: True for the questions without whose answer nothing runs, False for the others.
    """
    open_questions = [question for question in to_answer(plan) if question.blocking is blocking]
    if not open_questions:
        return plan
    title = "Answer this first: it decides what comes out" if blocking else "Please check before it runs"
    st.markdown(f"**{title}**")
    for question in open_questions:
        node = plan.node(question.node)
        param = engine.tool(node.tool).param(question.param) if node and question.param else None
        if node is None or param is None:
            st.markdown(plain(question.text))
            st.caption(plain(question.why))
            continue
        value = node.params.get(param.name, question.proposed)
        if question.blocking and not plan.answers(question):
            value = None  # what is only proposed is not chosen yet
        answer = field(
            param.model_copy(update={"required": question.blocking}),
            value,
            key=f"question_{key}_{question.id}",
            options=question.choices,
            label=plain(question.text),
            closed=bool(question.choices),
        )
        st.caption(plain(question.why))
        if answer != value and not (answer in (None, "", []) and value in (None, "", [])):
            if param.kind == "column":
                choose(node.tool, param.name, answer)
            for node_id in (node.id, *question.also):
                plan = with_param(plan, node_id, param.name, answer)
    return plan


def with_param(plan: TaskDag, node_id: str, name: str, value: Any) -> TaskDag:
    """Return the plan with one parameter of one step set by hand."""
    nodes = [
        node.model_copy(update={"params": {**node.params, name: value}, "settled": {**node.settled, name: "edit"}})
        if node.id == node_id
        else node
        for node in plan.nodes
    ]
    return plan.model_copy(update={"nodes": nodes})


def draw_problems(engine: Engine, plan: TaskDag, *, asked: bool = False) -> bool:
    """Show what does not fit in a plan and say whether it can run; `asked` where its open questions stand above."""
    issues = engine.check_plan(plan)
    for issue in issues:
        if asked and issue.code == "open_question":
            continue
        color = "red" if issue.severity == "error" else "orange"
        st.markdown(f":{color}[:material/error:] {plain(issue.message)}")
    return bool(plan.nodes) and not any(issue.severity == "error" for issue in issues)


def use_picked(waiting: Sequence[Picked]) -> bool:
    """Plan again with all that was picked and say whether that could be done."""
    return all(picked.use() for picked in waiting)


def not_in_plan(waiting: Sequence[Picked], otherwise: str) -> str:
    """Return what was picked and waits, in a sentence; where there is none what is said `otherwise`."""
    return f"Not in the plan yet: {'; '.join(picked.says for picked in waiting)}." if waiting else otherwise


def draw_run(waiting: Sequence[Picked], *, key: str, disabled: bool, unsaved: bool = False) -> bool:
    """Draw the button that runs a plan and say whether to run it.

    While something is picked that the plan does not have, the button plans with that: nobody has read that plan yet.

    Args:
        waiting: what was picked and is not in the plan.
        key: the button's key.
        disabled: True for a plan that cannot run.
        unsaved: True while there are changes that planning again would lose.
    """
    label = "Use what you picked" if waiting else "Run this plan"
    clicked = st.button(
        label, key=key, type="primary", icon=":material/play_arrow:", disabled=unsaved if waiting else disabled
    )
    if clicked and waiting and use_picked(waiting):
        st.rerun()
    return clicked and not waiting


def run_it(engine: Engine, run_id: str, stored: TaskDag, plan: TaskDag) -> None:
    """Store a changed plan as a new version, then let it run."""
    if plan != stored:
        engine.edit_plan(run_id, plan)
    engine.approve(run_id)
