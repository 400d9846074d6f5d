"""From a question to a verified report, on the real engine with the real sandbox."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from growth_data import table_plan, write_growth
from waiting import until

from engine.api import LimitExceeded, PlanError, read_plan, verify_path

QUESTION = (
    "Does hormone therapy (horTh) prolong survival of breast cancer patients, adjusted for age, tumour size and grade?"
)
RUN_KEYS = {"run_id", "status", "question", "route", "plan", "nodes", "findings", "citations", "usage", "warnings",
            "open_questions"}  # fmt: skip


@pytest.fixture(scope="module")
def survival(survival_csv, tmp_path_factory):
    """The survival example, answered once: (engine, run id, exported folder)."""
    from engine.api import open_engine

    folder = tmp_path_factory.mktemp("survival")
    with open_engine(workspace=folder / "ws", warm_workers=False) as engine:
        run_id = engine.ask(QUESTION, [survival_csv], auto_approve=True)
        engine.wait(run_id, 120)
        engine.bundle(run_id, folder / "out")
        yield engine, run_id, folder / "out"


def finish(engine, run_id: str):
    record = engine.wait(run_id, 120)
    assert run_id not in engine.active()
    return record


# ==== a question, end to end ====


def test_the_survival_question_succeeds_with_every_step(survival):
    engine, run_id, _ = survival
    view = engine.view(run_id)
    assert view.record.status == "succeeded", view.record.error
    assert {node.tool for node in view.plan.nodes} == {"kaplan_meier", "log_rank", "cox_regression"}
    assert {result.status for result in view.results.values()} == {"succeeded"}
    assert view.record.sandbox["kind"]


def test_the_numbers_are_those_of_another_package(survival, survival_csv):
    # statsmodels, which shares no code with the steps; its log-rank also prints as 8.56 in R's survdiff.
    from statsmodels.duration.hazard_regression import PHReg
    from statsmodels.duration.survfunc import survdiff

    engine, run_id, _ = survival
    data = pd.read_csv(survival_csv)
    chi_square, p_value = survdiff(data["time"], data["cens"], data["horTh"])
    logrank = table_of(engine, run_id, "log_rank", "statistic").iloc[0]
    assert logrank["statistic"] == pytest.approx(chi_square, rel=1e-6)
    assert logrank["statistic"] == pytest.approx(8.56, abs=0.01)
    assert logrank["p_value"] == pytest.approx(p_value, rel=1e-6)
    formula = "time ~ C(horTh) + age + tsize + C(tgrade)"
    fit = PHReg.from_formula(formula, data=data, status=data["cens"], ties="efron").fit()
    reference = dict(zip(fit.model.exog_names, fit.params, strict=True))
    cox = table_of(engine, run_id, "cox_regression", "hazard_ratio").set_index("term")
    therapy = next(term for term in cox.index if "horTh" in term)
    assert "yes" in therapy
    assert cox.loc[therapy, "coef"] == pytest.approx(reference["C(horTh)[T.yes]"], rel=1e-3)
    assert cox.loc["age", "coef"] == pytest.approx(reference["age"], rel=1e-3)
    assert cox.loc[therapy, "upper_95"] < 1


def table_of(engine, run_id: str, tool: str, column: str) -> pd.DataFrame:
    """Return the table of a tool's step that has this column."""
    result = next(r for r in engine.view(run_id).results.values() if r.tool == tool)
    artifact = next(a for a in result.artifacts if column in a.columns)
    return pd.read_csv(engine.artifact(artifact.sha256))


def test_the_folder_holds_what_its_contract_names(survival):
    _, run_id, out = survival
    for name in ("report.md", "report.html", "notebook.ipynb", "run.json", "plan.json", "provenance.json", "artifacts"):
        assert (out / name).exists(), name
    assert read_plan(out / "plan.json").question == QUESTION
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert set(run) >= RUN_KEYS
    assert run["run_id"] == run_id


def test_the_run_document_keeps_its_contract(survival):
    engine, run_id, out = survival
    run = engine.run_json(run_id)
    written, told = json.loads((out / "run.json").read_text(encoding="utf-8")), json.loads(json.dumps(run))
    for dataset in told["plan"]["datasets"]:  # others are not told where on this machine the files lie
        dataset["path"] = f"data/{dataset['name']}"
    assert written == told
    assert set(run["route"]) >= {
        "strategy",
        "confidence",
        "method",
        "reasons",
        "complexity",
        "estimated_steps",
        "domains",
    }
    for node in run["plan"]["nodes"]:
        assert set(node) >= {"id", "name", "tool", "depends_on", "params", "inputs"}
    for node in run["nodes"]:
        assert set(node) >= {"id", "status", "attempts", "seconds", "verdict", "artifacts"}
        assert set(node["verdict"]) >= {"passed", "quality", "issues"}
        for artifact in node["artifacts"]:
            assert set(artifact) >= {"name", "type", "sha256", "bytes"}
            assert (out / "artifacts" / artifact["name"]).stat().st_size == artifact["bytes"]
    names = {artifact["name"] for node in run["nodes"] for artifact in node["artifacts"]}
    for finding in run["findings"]:
        assert set(finding) >= {"id", "node", "text", "values", "artifact", "grounding", "evidence"}
        assert finding["artifact"] in names
        # What names a table row was read again there; what names none was computed by a step whose checks passed.
        read_again = any("findings_match_tables" in text for text in finding["evidence"])
        assert finding["grounding"] == ("grounded" if read_again else "inferred")
    assert any(finding["grounding"] == "grounded" for finding in run["findings"])
    assert "score" not in (run["claims"] or {})
    assert set(run["usage"]) == {"model_calls", "prompt_tokens", "completion_tokens", "usd", "seconds"}
    assert run["usage"]["model_calls"] == 0
    assert [citation["n"] for citation in run["citations"]] == list(range(1, len(run["citations"]) + 1))
    assert len({finding["id"] for finding in run["findings"]}) == len(run["findings"])


def test_the_doubtful_coding_of_the_event_is_told(survival):
    engine, run_id, _ = survival
    assert any("cens" in warning for warning in engine.run_json(run_id)["warnings"])


def test_events_are_numbered_without_gap_and_end_with_the_run(survival):
    engine, run_id, _ = survival
    events = engine.events(run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    kinds = [event.kind for event in events]
    assert kinds[0] == "run_queued"
    assert kinds[-1] == "run_finished"
    assert kinds.count("run_finished") == 1
    for early, late in (
        ("route_chosen", "plan_proposed"),
        ("plan_proposed", "plan_approved"),
        ("plan_approved", "run_started"),
        ("run_started", "node_started"),
    ):
        assert kinds.index(early) < kinds.index(late)
    assert engine.events(run_id, after=events[-2].seq) == [events[-1]]


# ==== proof ====


def test_a_sound_run_and_its_folder_are_verified(survival):
    engine, run_id, out = survival
    for result in (engine.verify(run_id), verify_path(out)):
        assert result.ok, result.differences
        assert result.files > 5
        assert result.findings > 0


def test_one_changed_byte_in_the_folder_is_found_and_named(survival, tmp_path):
    import shutil

    _, _, out = survival
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    table = next(path for path in sorted((copy / "artifacts").iterdir()) if path.suffix == ".csv")
    flip_a_byte(table)
    result = verify_path(copy)
    assert not result.ok
    assert any(table.name in text and "has changed" in text for text in result.differences)


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.chmod(0o644)
    path.write_bytes(bytes(content))


@pytest.mark.slow
def test_one_changed_byte_in_the_workspace_is_found_and_named(engine, growth_csv):
    run_id = engine.run_plan(table_plan(growth_csv))
    assert finish(engine, run_id).status == "succeeded"
    assert engine.verify(run_id).ok
    artifact = engine.view(run_id).results["n3"].artifacts[0]
    flip_a_byte(engine.artifact(artifact.sha256))
    result = engine.verify(run_id)
    assert not result.ok
    assert any(artifact.name in text for text in result.differences)


def test_data_that_changed_after_the_run_is_found(engine, growth_csv):
    run_id = engine.run_plan(table_plan(growth_csv))
    finish(engine, run_id)
    growth_csv.write_text(growth_csv.read_text().replace("p39", "p40"))
    result = engine.verify(run_id)
    assert any("growth.csv has changed" in text for text in result.differences)


# ==== plans as graphs ====


def test_an_edited_plan_runs_only_what_changed(engine, growth_csv):
    first = engine.run_plan(table_plan(growth_csv))
    assert finish(engine, first).status == "succeeded"
    second = engine.run_plan(table_plan(growth_csv, n2="ratio > 0.2"))
    assert finish(engine, second).status == "succeeded"
    statuses = {node: result.status for node, result in engine.view(second).results.items()}
    assert statuses == {"n1": "cached", "n2": "succeeded", "n3": "succeeded", "n4": "cached", "n5": "cached"}
    assert {engine.view(second).results[n].from_run for n in ("n1", "n4", "n5")} == {first}
    started = {event.node for event in engine.events(second) if event.kind == "node_started"}
    assert started == {"n2", "n3"}
    cached = engine.view(second).results["n1"].artifacts[0].sha256
    assert cached == engine.view(first).results["n1"].artifacts[0].sha256
    assert engine.verify(second).ok


def test_editing_a_run_that_is_over_makes_a_successor_that_waits_for_approval(engine, growth_csv):
    first = engine.run_plan(table_plan(growth_csv))
    finish(engine, first)
    edited = engine.set_params(engine.view(first).plan, {"n4.condition": "height > 50"})
    second, issues = engine.edit_plan(first, edited)
    assert issues == []
    assert second != first
    assert (engine.record(second).status, engine.record(second).parent) == ("awaiting_approval", first)
    engine.approve(second)
    assert finish(engine, second).status == "succeeded"
    started = {event.node for event in engine.events(second) if event.kind == "node_started"}
    assert started == {"n4", "n5"}


def test_a_failed_step_stops_only_what_needs_it(engine, growth_csv):
    run_id = engine.run_plan(table_plan(growth_csv, n2="no_such_column > 1"))
    assert finish(engine, run_id).status == "partial"
    results = engine.view(run_id).results
    assert {n: r.status for n, r in results.items()} == {
        "n1": "succeeded", "n2": "failed", "n3": "skipped", "n4": "succeeded", "n5": "succeeded"
    }  # fmt: skip
    assert "no_such_column" in results["n2"].error
    assert "Traceback" not in results["n2"].error
    assert "n2" in results["n3"].error
    kinds = [(event.kind, getattr(event, "node", "")) for event in engine.events(run_id)]
    assert ("node_skipped", "n3") in kinds
    assert ("node_started", "n3") not in kinds
    report = engine.report_markdown(run_id)
    assert "no_such_column" in report


def test_a_run_with_nothing_done_is_failed(engine, growth_csv):
    plan = table_plan(growth_csv, n1="nothing / 2", n4="nothing > 1")
    run_id = engine.run_plan(plan)
    assert finish(engine, run_id).status == "failed"


@pytest.mark.slow
def test_running_again_from_a_step_repeats_it_and_what_needs_it(engine, growth_csv):
    first = engine.run_plan(table_plan(growth_csv))
    finish(engine, first)
    again = engine.rerun(first, from_node="n2")
    assert finish(engine, again).status == "succeeded"
    started = {event.node for event in engine.events(again) if event.kind == "node_started"}
    assert started == {"n2", "n3"}
    assert engine.record(again).parent == first


def test_a_failed_run_can_be_resumed_and_keeps_what_succeeded(engine, growth_csv):
    run_id = engine.run_plan(table_plan(growth_csv, n2="no_such_column > 1"))
    finish(engine, run_id)
    before = {event.seq for event in engine.events(run_id)}
    engine.resume(run_id)
    assert finish(engine, run_id).status == "partial"
    later = [event for event in engine.events(run_id) if event.seq not in before]
    assert {event.node for event in later if event.kind == "node_started"} == {"n2"}
    resumed = next(event for event in later if event.kind == "run_resumed")
    assert sorted(resumed.kept) == ["n1", "n4", "n5"]


@pytest.mark.slow
def test_what_succeeded_cannot_be_resumed_and_what_is_over_cannot_be_cancelled(engine, growth_csv):
    run_id = engine.run_plan(table_plan(growth_csv))
    finish(engine, run_id)
    with pytest.raises(PlanError, match="succeeded; there is nothing to resume"):
        engine.resume(run_id)
    with pytest.raises(PlanError, match="is already over"):
        engine.cancel(run_id)


def test_a_plan_waits_for_approval_and_an_answer_changes_it(engine, survival_csv):
    run_id = engine.ask(QUESTION, [survival_csv])
    assert finish(engine, run_id).status == "awaiting_approval"
    assert engine.view(run_id).results == {}
    plan = engine.view(run_id).plan
    same, _ = engine.edit_plan(run_id, engine.set_params(plan, {"n1.time_unit": "days"}))
    assert same == run_id
    assert engine.view(run_id).plan_versions == [1, 2]
    edited = next(event for event in engine.events(run_id) if event.kind == "plan_edited")
    assert edited.changes == ["Step n1: time_unit is 'days' instead of None."]
    engine.cancel(run_id)
    assert engine.record(run_id).status == "cancelled"


def test_a_plan_on_data_that_changed_since_is_refused_and_leaves_no_run_behind(engine, growth_csv):
    plan = table_plan(growth_csv)
    growth_csv.write_text(growth_csv.read_text().replace("p39", "p40"))
    from engine.api import DataError

    with pytest.raises(DataError, match=r"growth\.csv has changed since the plan was made"):
        engine.run_plan(plan)
    assert engine.runs() == []


@pytest.mark.slow
def test_two_runs_at_once_do_not_mix(engine, tmp_path):
    paths = [write_growth(tmp_path / name / "growth.csv") for name in "ab"]
    paths[1].write_text(paths[1].read_text().replace("treated", "fed"))
    runs = [engine.run_plan(table_plan(path)) for path in paths]
    for run_id in runs:
        assert finish(engine, run_id).status == "succeeded"
    tables = [engine.artifact(engine.view(r).results["n3"].artifacts[0].sha256).read_text() for r in runs]
    assert "treated" in tables[0]
    assert "fed" not in tables[0]
    assert "fed" in tables[1]


# ==== one stage right after the other ====

GROWTH = "Is growth higher in treated than in control?"


@pytest.mark.slow
def test_a_plan_can_be_approved_the_moment_it_is_shown(engine, growth_csv):
    run_id = engine.ask(GROWTH, [growth_csv])
    until(lambda: engine.record(run_id).status == "awaiting_approval")
    engine.approve(run_id)
    assert finish(engine, run_id).status == "succeeded"


@pytest.mark.slow
def test_a_run_can_be_resumed_the_moment_it_is_cancelled(engine, growth_csv):
    run_id = engine.run_plan(table_plan(growth_csv))
    engine.cancel(run_id)
    until(lambda: engine.record(run_id).status == "cancelled")
    engine.resume(run_id)
    assert finish(engine, run_id).status == "succeeded"


def test_parameters_set_with_the_question_survive_an_interruption(open_engine, growth_csv, held):
    held.write_text("n1")  # the first run is at work until it is cancelled, so the second one waits
    engine = open_engine(parallel_runs=1)
    first = engine.run_plan(table_plan(growth_csv))
    waiting = engine.ask(GROWTH, [growth_csv], changes={"n1.test": "welch_t"})
    engine.cancel(waiting)
    engine.cancel(first)
    assert finish(engine, waiting).status == "cancelled"
    assert engine.view(waiting).plan is None
    engine.resume(waiting)
    assert finish(engine, waiting).status == "awaiting_approval"
    assert engine.view(waiting).plan.node("n1").params["test"] == "welch_t"


@pytest.mark.slow
def test_a_full_queue_refuses_with_the_limit_and_the_run_can_be_resumed_later(open_engine, growth_csv, held):
    held.write_text("n1")  # the first run is at work until it is cancelled, so the second one waits
    engine = open_engine(parallel_runs=1, queue_size=1)
    runs = [engine.run_plan(table_plan(growth_csv))]
    until(lambda: engine.record(runs[0]).status == "running")
    runs.append(engine.run_plan(table_plan(growth_csv)))
    with pytest.raises(LimitExceeded, match="1 runs are already waiting"):
        engine.ask(GROWTH, [growth_csv])
    refused = engine.runs()[0]
    assert refused.status == "interrupted"
    for run_id in runs:
        engine.cancel(run_id)
        finish(engine, run_id)
    engine.resume(refused.run_id)
    assert finish(engine, refused.run_id).status == "awaiting_approval"


@pytest.mark.slow
def test_what_was_reused_is_not_counted_as_time_spent(engine, growth_csv):
    first = engine.run_plan(table_plan(growth_csv))
    assert finish(engine, first).usage.seconds > 0
    second = engine.run_plan(table_plan(growth_csv))
    assert finish(engine, second).usage.seconds == 0
