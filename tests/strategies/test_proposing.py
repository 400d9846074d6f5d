"""The way from the route to a plan or an answer: look-ups by name, what is done instead, and what is said of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from growth_data import write_growth

from engine.api import open_engine
from engine.domain.report import Report
from engine.domain.results import Route, RunRecord
from engine.errors import PlanError
from engine.strategies.proposing import Proposing


@pytest.fixture
def engine(tmp_path):
    with open_engine(workspace=tmp_path / "ws", warm_workers=False, embedding_model="none") as opened:
        yield opened


def routes(engine, run_id: str) -> list[str]:
    return [event.route.strategy for event in engine.events(run_id) if event.kind == "route_chosen"]


def test_look_ups_by_name_answer_from_the_file_and_make_no_plan(engine, tmp_path):
    data = write_growth(tmp_path / "growth.csv")
    record = engine.wait(engine.ask("what columns does this file have", [data], strategy="react"), 60)
    view = engine.view(record.run_id)
    assert (record.status, view.plan, record.route.method) == ("succeeded", None, "forced")
    assert "growth" in view.report.summary[0]


def test_look_ups_by_name_that_find_nothing_are_refused_and_say_so(engine):
    record = engine.wait(engine.ask("zzq of the qqx", strategy="react"), 60)
    assert (record.status, record.error_code) == ("failed", "bad_plan")
    assert "No look-up answers this" in record.error


def test_what_a_missing_strategy_is_asked_for_is_looked_up_and_the_way_is_named(engine):
    question = "Propose several new rival hypotheses about how EGFR could drive resistance, and rank them"
    record = engine.wait(engine.ask(question), 60)
    assert record.status == "succeeded", record.error
    assert routes(engine, record.run_id) == ["tournament", "react"]
    assert (record.route.strategy, record.route.worded_as) == ("react", "tournament")
    first = engine.view(record.run_id).report.summary[0]
    assert "a tournament of new hypotheses, has a way of its own (`biodesk hypotheses run`)" in first


def test_where_nothing_is_known_either_the_refusal_names_the_missing_strategy(engine):
    question = "Which combination of the nine knobs should we try next to get the best xqzzy within 20 trials?"
    record = engine.wait(engine.ask(question), 60)
    assert record.status == "failed"
    assert "candidates other than links of the graph and plans on files, is not in this version" in record.error
    assert "checked plan" in record.advice


def test_a_plan_of_a_question_worded_for_another_strategy_is_made_and_warned_of(engine, tmp_path):
    data = write_growth(tmp_path / "growth.csv")
    question = "Propose hypotheses for why growth is higher in treated than in control, and rank them"
    run_id = engine.ask(question, [data])
    engine.wait(run_id, 60)
    plan = engine.view(run_id).plan
    assert "a tournament of new hypotheses, which has a way of its own (`biodesk hypotheses run`)" in plan.warnings[0]
    assert engine.record(run_id).route.worded_as == "tournament"
    plain = engine.ask("Is growth higher in treated than in control?", [data])
    engine.wait(plain, 60)
    assert not any("tournament" in warning for warning in engine.view(plain).plan.warnings)


def test_what_is_asked_of_the_desk_says_react_and_a_forced_plan_skips_it(engine):
    record = engine.wait(engine.ask("What can you do?"), 60)
    assert routes(engine, record.run_id) == ["react"]
    forced = engine.wait(engine.ask("What can you do?", strategy="dag"), 60)
    assert forced.route.strategy in ("dag", "react")
    assert forced.route.method == "forced"


def test_what_is_looked_up_in_place_of_a_plan_of_files_says_that_no_analysis_was_planned():
    lists = ("findings", "methods", "figures", "tables", "limitations", "next_steps", "citations")
    told = Report(title="t", question="q", summary=["It has 12 columns."], **{name: [] for name in lists})
    known = SimpleNamespace(answer=lambda *_, **__: told)
    records = SimpleNamespace(update=lambda record, _, **told: record.model_copy(update=told))
    proposing = Proposing(records, None, None, known, None, None)
    refused = PlanError("The breakpoints are not given.", advice="Say which count.")
    route = Route(strategy="dag", method="forced", confidence=0.9, reasons=["It names files."])
    record = RunRecord(run_id="r", user="", question="q", status="planning", created_at="", data=["mic.xlsx"])
    rerouted, answer = proposing._instead(record, [], route, refused)
    said = (
        "This was looked up; no analysis of the files could be planned: The breakpoints are not given. Say which count."
    )
    assert (answer.caveats, answer.limitations) == ([said], [said])
    assert rerouted.route.strategy == "react"
    assert proposing._instead(record.model_copy(update={"data": []}), [], route, refused)[1].caveats == []
