"""A new tournament: what is asked for, how large it is and when it stops, and what that will take at most."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.ideas.address import look_at
from pages.parts.engine import attempt, show_error
from pages.parts.escape import plain
from pages.parts.uploads import save_upload
from pages.parts.words import counted

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.discovery.hypotheses import Aims, Bounds

EXAMPLE = "Which approved drugs could be of use against breast cancer?"
"""The starter graph knows enough to make hypotheses on it."""
GOAL = "idea_goal"
"""The session's key of the goal as it is typed."""
_GIVEN = "idea_given"
"""The session's key of the files that came with a goal from another page."""
_ESTIMATE = "idea_estimate"
_PARTS = {
    "making": "to make them",
    "review": "to review",
    "ranking": "to compare",
    "evolution": "to rewrite",
    "meta_review": "to sum up",
    "checks": "to look for harm and read claims",
}


def draw_form(engine: Engine) -> None:
    """Draw the form, what it would take, and the button that starts."""
    goal = st.text_area(
        "Goal",
        key=GOAL,
        height=80,
        placeholder="What do you want to find out? Name a disease, drug, gene or pathway.",
    )
    seeds = st.text_area(
        "Hypotheses of your own, one a line",
        key="idea_seeds",
        height=80,
        placeholder="They compete from the start; none is needed.",
    )
    about = _about(engine)
    bounds = _size()
    if not goal.strip():
        st.button(
            "Take an example goal",
            key="idea_example",
            icon=":material/lightbulb:",
            on_click=_take,
            args=(EXAMPLE,),
            help=EXAMPLE,
        )
        return
    from engine.domain.discovery.hypotheses import Aims

    aims = Aims(goal=goal, seeds=seeds.splitlines(), **about)
    if not _estimated(engine, aims, bounds):
        return
    if st.button("Start", key="idea_start", type="primary", icon=":material/play_arrow:"):
        begun: list[str] = []
        if attempt(lambda: begun.append(engine.hypotheses.run(aims, bounds))):
            _leave_out()
            look_at(begun[0])
            st.rerun()


def draw_offer(goal: str, files: Sequence[str]) -> None:
    """Draw, on another page, the way from a goal that was asked there to the form with it and its files."""
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="idea_offer"):
        st.markdown(
            ":material/emoji_objects: This is worded like a goal for a tournament: hypotheses are made, reviewed and "
            "compared two by two, and come in an order that says how sure it is.",
            width="stretch",
        )
        if st.button(
            "Let hypotheses compete",
            key="idea_offered",
            icon=":material/arrow_forward:",
            help="Opens Hypotheses with this goal and its files filled in; nothing starts by itself.",
        ):
            look_at("")
            st.session_state.update({GOAL: goal, _GIVEN: list(files)})
            st.switch_page("pages/hypotheses.py")


def _take(goal: str) -> None:
    st.session_state[GOAL] = goal


def _given() -> list[str]:
    """Say which files came with the goal, and return those that are still there."""
    files = [name for name in st.session_state.get(_GIVEN, ()) if Path(name).is_file()]
    if files:
        with st.container(horizontal=True, vertical_alignment="center", key="idea_came_along"):
            names = plain(", ".join(Path(name).name for name in files))
            st.caption(f":material/attach_file: Came with the goal: {names}", width="content")
            st.button("Leave them out", key="idea_without", type="tertiary", on_click=_leave_out)
    return files


def _leave_out() -> None:
    st.session_state.pop(_GIVEN, None)


def _about(engine: Engine) -> dict[str, Any]:
    """Draw what is folded and return it by the names of `Aims`."""
    with st.expander("Preferences, attributes and constraints", icon=":material/tune:", key="idea_wishes"):
        preferences = st.text_input("Preferred", key="idea_preferences", placeholder="e.g. drugs that are taken orally")
        left, right = st.columns(2)
        attributes = left.text_area("Good hypotheses are (one a line)", key="idea_attributes", height=80)
        constraints = right.text_area("They must keep to (one a line)", key="idea_constraints", height=80)
    given = _given()
    with st.expander("Data and literature", icon=":material/attach_file:", key="idea_material"):
        files = st.file_uploader("Data that predictions may be tested on", accept_multiple_files=True, key="idea_files")
        literature = st.text_area("Literature: texts to take into account", key="idea_literature", height=120)
    folder = engine.settings.workspace / "uploads"
    return {
        "preferences": preferences,
        "attributes": attributes.splitlines(),
        "constraints": constraints.splitlines(),
        "literature": [literature],
        "files": list(dict.fromkeys([*given, *(str(save_upload(file, file.name, folder)) for file in files or ())])),
    }


def _size() -> Bounds:
    """Draw budget and stop rule."""
    from engine.domain.discovery.hypotheses import Bounds

    usual = Bounds()
    with st.expander("Size, budget and stop rule", icon=":material/speed:", key="idea_size"):
        first, second, third = st.columns(3)
        made = first.number_input("Hypotheses", 2, 200, usual.hypotheses, key="idea_count", help="In the first round")
        rounds = second.number_input("Rounds of rewriting", 0, 20, usual.iterations, key="idea_rounds")
        evolve = third.number_input("Rewritten in each", 1, 50, usual.evolve, key="idea_evolve")
        each = first.number_input(
            "Comparisons per hypothesis", 1.0, 20.0, usual.matches_each, 0.5, key="idea_each", help="At most"
        )
        stop = second.number_input(
            "Stop when the best is the best with (%)", 50, 100, round(100 * usual.stop_at), 5, key="idea_stop"
        )
        calls = third.number_input("Calls at most (0: no limit)", 0, 1_000_000, usual.calls, 100, key="idea_calls")
        usd = first.number_input("Dollars at most (0: as set)", 0.0, 10_000.0, usual.usd, 1.0, key="idea_usd")
        alpha = second.number_input(
            "False verdicts of tests (%)", 1, 50, round(100 * usual.alpha), key="idea_alpha", help="Expected at most"
        )
        seed = third.number_input("Random seed", 0, 2**31 - 1, usual.seed, key="idea_seed")
        tests = st.toggle("Run tests of predictions without asking", usual.run_tests, key="idea_tests")
    return Bounds(
        hypotheses=made, iterations=rounds, evolve=evolve, matches_each=each, stop_at=stop / 100, calls=calls, usd=usd,
        alpha=alpha / 100, seed=seed, run_tests=tests,
    )  # fmt: skip


def _estimated(engine: Engine, aims: Aims, bounds: Bounds) -> bool:
    """Say what it would take at most; where it cannot be begun say why, and return False."""
    asked = aims.model_dump_json() + bounds.model_dump_json()
    known = st.session_state.get(_ESTIMATE)
    if known is None or known[0] != asked:  # a model may be asked whether a goal does harm: once is enough
        try:
            with st.spinner("Reading the goal..."):
                known = (asked, engine.hypotheses.expected(aims, bounds), None)
        except Exception as err:  # noqa: BLE001 - a border: shown below as a sentence
            known = (asked, None, err)
        st.session_state[_ESTIMATE] = known
    if known[2] is not None:
        _refused(known[2])
        return False
    st.caption(_cost(engine, known[1], bounds))
    return True


def _refused(err: Exception) -> None:
    """Say why nothing can be begun, and what can be done instead."""
    show_error(err)
    with st.container(horizontal=True, vertical_alignment="center", key="idea_choices"):
        st.button(
            "Take the example goal", key="idea_instead", icon=":material/lightbulb:", on_click=_take, args=(EXAMPLE,)
        )
        st.page_link("pages/knowledge_graph.py", label="See what the graph knows", icon=":material/hub:")
        st.caption("Or change what is written above.", width="content")


def _cost(engine: Engine, expected: Any, bounds: Bounds) -> str:
    parts = [f"{getattr(expected, name):,} {words}" for name, words in _PARTS.items() if getattr(expected, name)]
    said = f"At most about {counted(expected.total, 'call')}: {', '.join(parts)}. "
    if not any(engine.models.describe().values()):
        return said + "The built-in rules answer them: no model, no cost, some seconds."
    most = bounds.usd or engine.settings.budget_run_usd
    limit = f"Not more than ${most:,.2f} are spent." if most else "No limit of dollars is set."
    return plain(f"{said}Models answer them. {limit}")
