"""Follow-up that ends in several ways (0, 1, 2) under a method for one: the end that is meant is taken from words, or asked.

Invented data; the counts are those of the codes that were drawn.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_file
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools
from engine.toolbox.survival.data import survival_event_level


@pytest.fixture(scope="module", params=[("ftime", "fstatus"), ("fu_days", "end_type"), ("months", "status")])
def transplants(request, tmp_path_factory):
    rng, n = np.random.default_rng(9), 120
    time, event = request.param
    ended = rng.choice([0, 1, 2], n, p=[0.3, 0.4, 0.3])
    path = tmp_path_factory.mktemp("ends") / "grafts.csv"
    pd.DataFrame(
        {"pid": range(1, n + 1), time: rng.exponential(300, n).round() + 1, event: ended,
         "donor": rng.choice(["sibling", "unrelated"], n), "age": rng.integers(18, 70, n)}
    ).to_csv(path, index=False)  # fmt: skip
    return profile_file(path), event


def test_an_end_in_codes_is_what_the_data_say_it_is(tmp_path):
    """`status` 1 and 2 say by themselves neither yes nor no: the structure of the data knows that 2 is the event."""
    rng, n = np.random.default_rng(3), 120
    path = tmp_path / "grafts.csv"
    pd.DataFrame(
        {"pid": range(1, n + 1), "time": rng.exponential(300, n).round() + 1, "status": rng.choice([1, 2], n),
         "relapse": rng.choice(["no", "yes"], n), "arm": rng.choice(["x", "y"], n)}
    ).to_csv(path, index=False)  # fmt: skip
    profile = profile_file(path)
    known = {"survival": {"time": "time", "event": "status", "event_value": "2"}}
    profile = profile.model_copy(update={"structure": profile.structure.model_copy(update=known)})
    plan = Planner(builtin_tools()).plan("Cumulative incidence of relapse by arm, allowing for death", [profile]).plan
    (made,) = [node for node in plan.nodes if node.tool == "derive_column"]
    assert (
        made.params["expression"]
        == "if_else(`relapse` == 'yes', 'relapse', if_else(`status` == 2, 'status', 'censored'))"
    )


CODES = "0 = still in remission, 1 = rejection, 2 = death"


@pytest.mark.parametrize(
    ("question", "code"),
    [("Kaplan-Meier of rejection by donor. {event}: " + CODES, "1"),
     ("log-rank test of death by donor; {event}: " + CODES, "2"),
     ("Kaplan-Meier curves of rejection (1) by donor", "1"),
     ("Kaplan-Meier by donor, {event} 2 is the event", "2")],
)  # fmt: skip
def test_the_end_that_words_name_is_the_event(transplants, question, code):
    profile, event = transplants
    plan = Planner(builtin_tools()).plan(question.format(event=event), [profile]).plan
    steps = [node for node in plan.nodes if node.tool in ("kaplan_meier", "log_rank")]
    assert steps
    assert {(node.params["event"], node.params["event_value"]) for node in steps} == {(event, code)}
    assert {node.params.get("group") for node in steps} == {"donor"}


def test_without_a_word_for_it_the_end_is_asked_before_anything_runs(transplants):
    plan = Planner(builtin_tools()).plan("Log-rank test of donor types", [transplants[0]]).plan
    (asked,) = [question for question in plan.open_questions if question.param == "event_value"]
    assert asked.blocking
    assert set(asked.choices) == {"0", "1", "2"}


def test_what_a_code_is_said_to_mean_leaves_out_no_rows(transplants):
    profile, event = transplants
    question = f"Kaplan-Meier by donor for {event} 1; 0 = censored, 1 = rejection, 2 = death without rejection"
    plan = Planner(builtin_tools()).plan(question, [profile]).plan
    assert not [node for node in plan.nodes if "condition" in node.params]


def test_other_ends_are_censored_with_the_name_of_what_would_be_better():
    chosen, warnings = survival_event_level(["0", "1", "2", "1"], "1", "end")
    assert chosen == "1"
    (told,) = [warning for warning in warnings if "other ends" in warning]
    assert ": 2." in told
    assert "overstates" in told
    assert "competing_risks" in told
    assert not [
        w for w in survival_event_level(["alive", "died", "lost to follow-up"], "died", "end")[1] if "ends" in w
    ]


@pytest.mark.parametrize(("usual", "clock"), [("relapse", "days"), ("death", "os_days")])
@pytest.mark.parametrize(
    ("question", "wanted"),
    [("Cumulative incidence of relapse by arm, allowing for death", "relapse"),
     ("Cumulative incidence of death by arm, with relapse as a competing risk", "death"),
     ("risk of relapse by arm with death competing, cumulative incidence", "relapse"),
     ("cumulative incidence of relapse by arm (competing risk: death)", "relapse"),
     ("cumulative incidence of relapse competing with death, by arm", "relapse"),
     ("cumulative incidence of death before relapse by arm", "death")],
)  # fmt: skip
def test_the_end_that_is_asked_about_is_not_the_one_that_competes(tmp_path, usual, clock, question, wanted):
    rng, n = np.random.default_rng(3), 120
    other = "death" if usual == "relapse" else "relapse"
    ends = {name: rng.choice([0, 1], n, p=[0.6, 0.4]) for name in (usual, other)}
    path = tmp_path / "cohort.csv"
    frame = {"id": range(n), clock: rng.exponential(500, n).round() + 1, **ends, "arm": rng.choice(["A", "B"], n)}
    pd.DataFrame(frame).to_csv(path, index=False)
    profile = profile_file(path)
    assert profile.structure.survival["event"] == usual
    plan = Planner(builtin_tools()).plan(question, [profile]).plan
    made = next(node for node in plan.nodes if node.params.get("expression"))
    assert made.params["expression"].startswith(f"if_else(`{wanted}` == 1, '{wanted}'")
    answer = next(node for node in plan.nodes if node.priority == 2)
    assert answer.params["event_value"] == wanted
