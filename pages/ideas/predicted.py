"""Predictions of a hypothesis: what would contradict it, the test that could show it, and what tests showed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.words import number, p_text

if TYPE_CHECKING:
    from engine.api import Engine, TaskDag
    from engine.domain.discovery.hypotheses import ExecutedTest, Hypothesis, Prediction, TournamentView

_PLANS = "idea_plans"


def draw_predictions(engine: Engine, view: TournamentView, one: Hypothesis) -> None:
    """Draw the predictions with their tests."""
    if not one.predictions:
        st.caption("It states no prediction.")
    for place, prediction in enumerate(one.predictions):
        with st.container(border=True, gap="small", key=f"idea_prediction_{place}"):
            st.markdown(f"**{place + 1}.** {plain(prediction.says)}")
            st.markdown(f"**Against it would speak:** {plain(prediction.contradicted_by)}")
            done = [test for test in view.tests if (test.hypothesis, test.prediction) == (one.id, place)]
            for test in done:
                _executed(test)
            if not done:
                _waiting(engine, view, one, place, prediction)


def _executed(test: ExecutedTest) -> None:
    if test.p is None:
        st.caption(plain(f"Tested, without a p-value: {test.why or 'the run gave none.'}"))
    else:
        way = {True: "as predicted", False: "against the prediction", None: "in either direction"}[test.as_predicted]
        st.markdown(
            plain(
                f"Tested, {way}: p = {p_text(test.p)}, e-value for it {number(round(test.e_for, 3))}, "
                f"against it {number(round(test.e_against, 3))}"
            )
        )
    if test.run:
        link = {"run": test.run}
        st.page_link("pages/plan_run.py", label="Open the run", icon=":material/account_tree:", query_params=link)


def _waiting(engine: Engine, view: TournamentView, one: Hypothesis, place: int, prediction: Prediction) -> None:
    if not prediction.question:
        st.caption("Untestable here: no data at hand could show it.")
        return
    files = ", ".join(path.rsplit("/", 1)[-1] for path in prediction.files or view.tournament.aims.files)
    st.caption(plain(f"Could be asked of {files or 'the data'}: {prediction.question}"))
    plans: dict[tuple[str, str, int], TaskDag | None] = st.session_state.setdefault(_PLANS, {})
    key = (view.tournament.id, one.id, place)
    if key not in plans:
        if st.button("Plan the test", key=f"idea_plan_{place}", icon=":material/account_tree:"):
            with st.spinner("Planning..."):
                planned = attempt(lambda: _plan(engine, view.tournament.id, plans))
            if planned and key in plans:
                st.rerun()
        return
    plan = plans[key]
    if plan is None:
        st.caption("The planner knows no test of it on these files.")
        return
    _steps(engine, plan)
    if st.button("Run the test", key=f"idea_test_{place}", type="primary", icon=":material/play_arrow:"):
        with st.spinner("Running the test...", show_time=True):
            ran = attempt(lambda: engine.hypotheses.test(view.tournament.id, one.id, place))
        if ran:
            st.rerun()


def _plan(engine: Engine, tournament_id: str, plans: dict[tuple[str, str, int], Any]) -> None:
    for hypothesis, place, plan in engine.hypotheses.tests(tournament_id):
        plans[(tournament_id, hypothesis, place)] = plan


def _steps(engine: Engine, plan: TaskDag) -> None:
    from pages.parts.words import setting

    rows = [
        {
            "Step": plain(node.name),
            "Tool": plain(engine.tool(node.tool).title),
            "Settings": plain("; ".join(f"{name} = {setting(value)}" for name, value in node.params.items())),
        }
        for node in plan.nodes
    ]
    st.table(rows, border="horizontal", hide_index=True)
