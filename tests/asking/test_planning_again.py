"""What is asked reaches the planner: the analysis wanted, the conversation's last plan, and columns as corrected."""

from __future__ import annotations

import pytest
from growth_data import write_growth
from read_question import QUESTION, known_planner

from engine.api import NotFoundError, PlanError, UserError, open_engine
from engine.errors import EngineError


@pytest.fixture
def planner(monkeypatch):
    return known_planner(monkeypatch)


@pytest.fixture
def engine(tmp_path, planner):
    with open_engine(workspace=tmp_path / "ws", warm_workers=False, embedding_model="none") as opened:
        yield opened


def asked(engine, growth_csv, **more) -> str:
    run_id = engine.ask(QUESTION, [growth_csv], **more)
    record = engine.wait(run_id, 60)
    assert record.status == "awaiting_approval", record.error
    return run_id


def scale(profile, column: str = "height") -> str:
    return profile.column(column).scale


# ==== analysis and conversation ====


def test_the_analysis_wanted_reaches_the_planner_of_a_plan_and_of_a_run(engine, planner, growth_csv):
    assert engine.plan(QUESTION, [growth_csv], analysis="trend_test").analysis[0].id == "trend_test"
    run_id = asked(engine, growth_csv, analysis="compare_paired")
    assert [call["analysis"] for call in planner.calls] == ["trend_test", "compare_paired"]
    assert engine.record(run_id).analysis == "compare_paired"  # so that a resumed run is planned as that one too


@pytest.mark.parametrize("call", ["plan", "ask"])
def test_an_analysis_that_does_not_exist_is_refused_with_the_nearest(engine, growth_csv, call):
    with pytest.raises(UserError) as refused:
        getattr(engine, call)(QUESTION, [growth_csv], analysis="compare_pared")
    assert "compare_paired" in refused.value.advice
    assert engine.runs() == []


def test_a_follow_up_knows_the_last_plan_of_its_own_conversation_only(engine, planner, growth_csv):
    first = asked(engine, growth_csv)
    asked(engine, growth_csv)  # another conversation
    talk = engine.record(first).conversation
    asked(engine, growth_csv, conversation=talk)
    assert [call["previous"] and call["previous"].version for call in planner.calls] == [None, None, 1]
    engine.plan("and for the women only?", [growth_csv], conversation=talk)
    assert planner.calls[-1]["previous"].question == QUESTION
    engine.plan("and for the women only?", [growth_csv])
    assert planner.calls[-1]["previous"] is None


def test_planning_again_makes_a_version_that_says_so(engine, planner, growth_csv):
    run_id = asked(engine, growth_csv)
    plan = engine.replan(run_id, analysis="trend_test")
    assert (plan.version, plan.analysis[0].id) == (2, "trend_test")
    assert engine.view(run_id).plan == plan
    edited = [event for event in engine.events(run_id) if event.kind == "plan_edited"]
    assert edited[-1].changes[0] == "The question was planned again."
    assert any("mann_whitney" in text for text in edited[-1].changes)
    assert plan.nodes[0].settled == {}  # nobody changed it by hand
    engine.replan(run_id)
    assert planner.calls[-1]["analysis"] == "trend_test"
    assert planner.calls[-1]["previous"] is None  # its own plan is not what it follows


def test_only_a_run_that_waits_is_planned_again(engine, growth_csv):
    run_id = asked(engine, growth_csv)
    engine.cancel(run_id)
    with pytest.raises(PlanError, match="no plan waiting"):
        engine.replan(run_id)
    with pytest.raises(NotFoundError):
        engine.replan("run_never")


# ==== columns ====


def test_a_correction_is_remembered_for_the_content_of_a_file(tmp_path, planner, growth_csv):
    with open_engine(workspace=tmp_path / "ws", warm_workers=False, embedding_model="none") as engine:
        found = scale(engine.profile([growth_csv])[0])
        assert found != "code"
        assert scale(engine.correct_column(growth_csv, "height", "code, unit:mm")) == "code"
    again = write_growth(tmp_path / "elsewhere" / "same content.csv")
    with open_engine(workspace=tmp_path / "ws", warm_workers=False, embedding_model="none") as engine:
        (profile,) = engine.profile([again])
        assert (scale(profile), profile.column("height").unit) == ("code", "mm")
        engine.plan(QUESTION, [again])
        assert scale(planner.calls[-1]["profiles"][0]) == "code"
        run_id = asked(engine, again)
        assert scale(engine.view(run_id).profiles[0]) == "code"
        assert scale(engine.correct_column(again, "height", "")) == found
        engine.replan(run_id)
        assert scale(planner.calls[-1]["profiles"][0]) == found
        assert scale(engine.view(run_id).profiles[0]) == found
        again.write_text(again.read_text().replace("p0,", "p00,"))
        engine.correct_column(growth_csv, "height", "code")
        assert scale(engine.profile([again])[0]) == found  # another file now


@pytest.mark.parametrize("call", ["plan", "ask"])
def test_columns_given_with_a_question_are_applied_and_remembered(engine, planner, growth_csv, call):
    run_id = getattr(engine, call)(QUESTION, [growth_csv], columns={"height": "code"})
    if call == "ask":
        engine.wait(run_id, 60)
    assert scale(planner.calls[-1]["profiles"][0]) == "code"
    assert scale(engine.profile([growth_csv])[0]) == "code"


@pytest.mark.parametrize("columns", [{"heigth": "code"}, {"height": "nonsense"}, {"height": "code", "growth": "no"}])
def test_a_correction_that_is_refused_leaves_nothing_behind(engine, planner, growth_csv, columns):
    before = engine.profile([growth_csv])[0]
    with pytest.raises(EngineError) as refused:
        engine.plan(QUESTION, [growth_csv], columns=columns)
    assert refused.value.exit_code == 2
    assert refused.value.advice
    assert engine.profile([growth_csv])[0] == before
    assert planner.calls == []


def test_a_column_of_several_files_is_corrected_in_each(engine, growth_csv, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("height,colour\n" + "".join(f"{n},red\n" for n in range(30)))
    corrections = engine._parts.orchestrator.plans.corrections
    both = corrections.profile([growth_csv, other], {"height": "code", "colour": "text"})
    assert [scale(profile) for profile in both] == ["code", "code"]
    assert engine.profile([growth_csv])[0].column("growth").corrected == ""
