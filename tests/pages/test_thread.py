"""One thread: earlier turns stay, what was taken over is said and undone, refusals are calm, conversations have names."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from growth_data import write_growth
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "Does height differ between the treatments?"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a workspace and the runs of a conversation in it: an answer, a follow-up that waits, a refusal."""
    from pages.parts.engine import _opened

    folder = tmp_path_factory.mktemp("thread")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIODESK_WORKSPACE", str(folder / "ws"))
        patch.setenv("BIODESK_WARM_WORKERS", "false")
        patch.setenv("BIODESK_EMBEDDING_MODEL", "none")
        engine = _opened(str(folder / "ws"))
        data = write_growth(folder / "growth.csv")
        runs = [engine.ask(QUESTION, [data], auto_approve=True)]
        engine.wait(runs[0], 120)
        for question in ("only growth over 9", "and for the <b>toddlers</b> only"):
            runs.append(engine.ask(question, [data], conversation=runs[0]))
            engine.wait(runs[-1], 60)
        assert [engine.record(run).status for run in runs] == ["succeeded", "awaiting_approval", "failed"]
        yield engine, runs
        _opened.clear(str(folder / "ws"))
        st.cache_data.clear()


@pytest.fixture
def engine(place, monkeypatch):
    monkeypatch.setenv("BIODESK_WORKSPACE", str(place[0].settings.workspace))
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    return place[0]


def at_run(run_id: str = "", page: str = "pages/ask.py") -> AppTest:
    at = AppTest.from_file(str(ROOT / "desk.py"), default_timeout=60)
    if run_id:
        at.query_params["run"] = run_id
    at = at.run()
    at = at.switch_page(page).run() if page != "pages/ask.py" else at
    assert not at.exception
    return at


def shown(at: AppTest) -> str:
    groups = (at.markdown, at.caption, at.warning, at.error, at.title)
    return "\n".join(str(element.value) for group in groups for element in group)


def keys(at: AppTest) -> list[str]:
    return [str(button.key) for button in at.button]


def test_earlier_turns_stay_in_short_and_open_whole(engine, place):
    _, (first, second, third) = place
    at = at_run(second)
    assert {f"turn_open_{first}", f"turn_open_{third}"} <= {*keys(at)}
    assert engine.view(first).report.summary[0].split()[0] in shown(at)
    at = at.button(key=f"turn_open_{first}").click().run()
    assert at.query_params["run"] in (first, [first])
    assert f"turn_open_{second}" in keys(at)
    assert f"turn_open_{first}" not in keys(at)


def test_a_turn_that_was_marked_as_wrong_says_so_in_short_and_whole(engine, place):
    _, (first, second, _) = place
    assert "Marked as wrong" not in shown(at_run(second))
    engine.memory.doubt(first)
    try:
        assert shown(at_run(second)).count("Marked as wrong") == 1
        assert "Marked as wrong" in shown(at_run(first))
        assert "Marked as wrong" in shown(at_run(first, "pages/plan_run.py"))
    finally:
        engine.memory.doubt(first, wrong=False)


def test_what_was_taken_over_is_said(engine, place):
    at = at_run(place[1][1])
    assert "Taken over" in shown(at)
    assert "growth \\> 9" in shown(at)
    assert "ask_alone" in keys(at)
    assert "ask_alone" not in keys(at_run(place[1][0]))


def test_what_was_taken_over_is_undone_by_planning_the_question_alone(engine, place, tmp_path):
    data = write_growth(tmp_path / "growth.csv")
    run_id = engine.ask("and with height over 45 too", [data], conversation=place[1][0])
    engine.wait(run_id, 60)
    assert engine.view(run_id).plan.follows
    at_run(run_id).button(key="ask_alone").click().run()
    plan = engine.view(run_id).plan
    assert (plan.version, plan.follows) == (2, "")
    assert engine.record(run_id).alone
    engine.delete_runs([run_id])


def test_a_refusal_is_a_calm_card_and_no_failure(engine, place):
    at = at_run(place[1][2])
    text = shown(at)
    assert "This cannot be answered as it stands" in text
    assert "\\<b\\>toddlers\\</b\\>" in text
    assert not at.error
    assert not at.warning
    assert "Failed" not in text
    assert "refused_alone" in keys(at)
    assert not any(key.startswith("resume_") for key in keys(at))


def test_columns_that_are_missing_can_be_named_on_the_refusal(engine, tmp_path):
    path = tmp_path / "homes.csv"
    lines = [f"{'ab'[n % 2]},{20 + n * 7 % 50},{n * 5 % 3 % 2}" for n in range(40)]
    path.write_text("\n".join(["home,age,fall", *lines]))
    run_id = engine.ask("Does survival differ between the homes?", [path])
    assert engine.wait(run_id, 60).status == "failed"
    at = at_run(run_id)
    assert at.button(key=f"way_use_{run_id}_0").disabled
    at.selectbox(key=f"way_{run_id}_0_time").set_value("age")
    at = at.selectbox(key=f"way_{run_id}_0_event").set_value("fall").run()
    at = at.button(key=f"way_use_{run_id}_0").click().run()
    asked = at.query_params["run"]
    again = asked[0] if isinstance(asked, list) else asked
    assert again != run_id
    assert engine.wait(again, 60).status == "awaiting_approval"
    (goal,) = engine.briefs(engine.view(again).plan, engine.view(again).profiles)
    assert goal.sentence().startswith("Comparison of survival curves. Outcome: fall is yes (1; ")
    engine.cancel(again)
    engine.delete_runs([run_id])


def test_where_no_word_is_understood_analysis_and_columns_are_chosen_by_hand(engine, tmp_path):
    data = write_growth(tmp_path / "growth.csv")
    run_id = engine.ask("Which unicorns fly?", [data])
    assert engine.wait(run_id, 60).status == "failed"
    at = at_run(run_id)
    if not at.toggle(key=f"by_hand_{run_id}").value:
        at = at.toggle(key=f"by_hand_{run_id}").set_value(True).run()
    what = at.selectbox(key=f"by_hand_what_{run_id}")
    at = what.set_value(
        next(n for n, text in enumerate(what.options) if text.startswith("Comparison of independent"))
    ).run()
    key = f"{run_id}_compare_groups"
    at.selectbox(key=f"by_hand_{key}_value").set_value("height")
    at = at.selectbox(key=f"by_hand_{key}_group").set_value("treatment").run()
    assert not at.button(key=f"by_hand_use_{key}").disabled
    at = at.button(key=f"by_hand_use_{key}").click().run()
    assert not at.exception
    asked = at.query_params["run"]
    again = asked[0] if isinstance(asked, list) else asked
    assert engine.wait(again, 60).status == "awaiting_approval"
    (goal,) = engine.briefs(engine.view(again).plan, engine.view(again).profiles)
    assert "Outcome: height." in goal.sentence()
    engine.cancel(again)
    engine.delete_runs([run_id])


def test_refusals_do_not_fill_the_list_of_the_start_page(engine, tmp_path):
    run_id = engine.ask("Which unicorns fly?", [write_growth(tmp_path / "growth.csv")])
    assert engine.wait(run_id, 60).status == "failed"
    at = at_run()
    assert "Biodesk" in shown(at)
    assert f"past_{run_id}" not in keys(at)
    at = at.toggle(key="also_refused").set_value(True).run()
    assert f"past_{run_id}" in keys(at)
    listed = at_run(page="pages/plan_run.py")
    assert f"open_plan_run_{run_id}" not in keys(listed)
    assert "could not be planned" in shown(listed)
    engine.delete_runs([run_id])


def test_a_row_of_the_history_opens_by_its_text(engine, place):
    at = at_run(page="pages/plan_run.py")
    at = at.button(key=f"open_plan_run_{place[1][0]}").click().run()
    assert at.query_params["run"] in (place[1][0], [place[1][0]])


def test_a_run_is_deleted_from_the_history_after_one_question_with_its_space(engine, place, tmp_path):
    data = write_growth(tmp_path / "growth.csv")
    run_id = engine.ask("Describe growth by treatment", [data])
    engine.wait(run_id, 60)
    at = at_run(page="pages/plan_run.py")
    at = at.button(key=f"delete_plan_run_{run_id}").click().run()
    assert "It frees" in shown(at)
    assert engine.has_run(run_id)
    at = at.button(key=f"sure_delete_{run_id}").click().run()
    assert not engine.has_run(run_id)
    assert f"open_plan_run_{run_id}" not in keys(at)


def test_a_conversation_is_renamed_found_and_deleted(engine, place, tmp_path):
    data = write_growth(tmp_path / "growth.csv")
    run_id = engine.ask("Describe height by treatment", [data])
    engine.wait(run_id, 60)
    at = at_run(run_id)
    at.text_input(key=f"name_{run_id}").set_value("Beans of [May](http://x)")
    assert at.text_input(key=f"name_{run_id}").proto.form_id == "name_conversation"  # Enter in it keeps the name, too
    at = at.button(key="keep_name").click().run()
    assert "**Beans of \\[May\\]" in shown(at)
    assert engine.conversation(run_id).named
    at = at.button(key="delete_conversation").click().run()
    assert any("The whole conversation (1 question" in button.label for button in at.button)
    at = at.button(key="delete_whole").click().run()
    assert not engine.has_run(run_id)
    assert "Earlier questions" in shown(at)


def test_an_answer_without_a_plan_is_drawn_with_its_sources(engine):
    run_id = engine.ask("What is known about EGFR?")
    assert engine.wait(run_id, 60).status == "succeeded"
    text = shown(at_run(run_id))
    assert "Starter knowledge" in text
    for page in ("pages/plan_run.py", "pages/provenance.py"):
        at_run(run_id, page)
    engine.delete_runs([run_id])


def test_the_figure_of_the_last_answer_is_shown_again(engine, place):
    data = engine.record(place[1][0]).data
    first = engine.ask(QUESTION, data, auto_approve=True)
    engine.wait(first, 120)
    drawn = engine.ask("plot it", data, conversation=first)
    engine.wait(drawn, 60)
    assert engine.view(drawn).plan is None
    at = at_run(drawn)
    assert "was drawn already" in shown(at)
    figure = engine.view(drawn).report.figures[0].artifact
    assert any(figure.name in str(button) for button in at.get("download_button"))
