"""Shares within a margin against Newcombe's published intervals and the score test worked out by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from scipy.optimize import minimize_scalar
from table_steps import run_step

from engine.toolbox.statistics.share_margins import share_equivalence, unwanted_event

COUNTS = {"group": "arm", "events": "cured", "total": "n", "treated": "short", "control": "long"}


def counted(first, second):
    return pd.DataFrame({"arm": ["short", "long"], "cured": [first[0], second[0]], "n": [first[1], second[1]]})


@pytest.mark.parametrize(
    ("first", "second", "limits"),
    # Newcombe (1998) Stat Med 17:873, table II, method 6 (Miettinen and Nurminen)
    [((56, 70), (48, 80), (0.0528, 0.3382)), ((9, 10), (3, 10), (0.1700, 0.8406))],
)
def test_the_interval_is_miettinen_and_nurminens_as_published(first, second, limits):
    row = share_equivalence(counted(first, second), **COUNTS, margin=0.1, alpha=0.025)["equivalence"].iloc[0]
    assert (row["lower"], row["upper"]) == pytest.approx(limits, abs=5e-5)


def score_p(first, second, margin):
    """Return the p-value that the first share is not lower by the margin, the likelihood maximised by search."""
    (e, n), (f, m) = first, second

    def minus(p):
        a, b = p - margin, p
        return -(e * math.log(a) + (n - e) * math.log(1 - a) + f * math.log(b) + (m - f) * math.log(1 - b))

    p = minimize_scalar(minus, bounds=(margin + 1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-13}).x
    a = p - margin
    variance = (a * (1 - a) / n + p * (1 - p) / m) * (n + m) / (n + m - 1)
    return stats.norm.sf((e / n - f / m + margin) / math.sqrt(variance))


@pytest.mark.parametrize(("first", "second"), [((170, 200), (175, 200)), ((40, 60), (45, 62))])
def test_the_one_sided_test_is_the_restricted_score_test(first, second):
    result = share_equivalence(counted(first, second), **COUNTS, margin=10, kind="not_lower")
    row = result["equivalence"].iloc[0]
    assert row["p_value"] == pytest.approx(score_p(first, second, 0.1), rel=1e-4)
    assert row["shown"] == int(row["p_value"] < 0.05)


def test_shown_and_not_shown_are_said_in_points():
    clear = share_equivalence(counted((425, 500), (430, 500)), **COUNTS, margin=0.1, kind="not_lower")
    text = clear["findings"][0]["text"]
    assert text.startswith("cured among n is not rarer in short than in long by 10.0 percentage points or more: 85.0 %")
    vague = share_equivalence(counted((17, 20), (18, 20)), **COUNTS, margin=0.1, kind="equivalence")
    assert vague["findings"][0]["text"].startswith("It is not shown that cured among n is alike")
    assert "still possible" in vague["findings"][1]["text"]


@pytest.mark.parametrize(
    ("what", "bad"),
    [("status = dead", True), ("infected = yes", True), ("cured = yes", False), ("infected = no", False),
     ("relapse free = yes", False), ("germinated = 1", False), ("virus_eradicated = yes", False),
     ("pain_relieved = 1", False), ("falls_prevented = yes", False), ("oedema_resolved = no", True),
     ("infection_cleared = yes", False), ("death = alive", False), ("outcome = no relapse", False),
     ("infection = cleared", False), ("state = alive", False), ("healed = no", True), ("relapse = 1", True),
     ("weight_loss = yes", None), ("colour = red", None), ("uncured = yes", None)],
)  # fmt: skip
def test_a_bad_event_is_known_by_its_name(what, bad):
    assert unwanted_event(what) is bad


def test_not_worse_looks_at_the_side_that_is_bad():
    rows = [(arm, state) for arm, e in (("new", 30), ("old", 12)) for state in ["yes"] * e + ["no"] * (100 - e)]
    table = pd.DataFrame(rows, columns=["arm", "infected"])
    result = share_equivalence(table, group="arm", outcome="infected", event_value="yes", treated="new", control="old",
                               margin=0.1, kind="not_worse")  # fmt: skip
    assert result["equivalence"].iloc[0]["kind"] == "not higher"
    assert not result["equivalence"].iloc[0]["shown"]
    assert any("taken to be bad" in text for text in result["warnings"])


def test_an_event_of_which_nobody_knows_whether_it_is_good_is_asked():
    rows = [(arm, state) for arm, e in (("new", 30), ("old", 12)) for state in ["yes"] * e + ["no"] * (100 - e)]
    table = pd.DataFrame(rows, columns=["arm", "weight_loss"])
    params = {"group": "arm", "outcome": "weight_loss", "event_value": "yes", "treated": "new", "control": "old"}
    with pytest.raises(ValueError, match="not_lower if it is good, or to not_higher if it is bad"):
        share_equivalence(table, **params, margin=0.1, kind="not_worse")
    assert share_equivalence(table, **params, margin=0.1, kind="not_lower")["equivalence"].iloc[0]["shown"]


def test_one_point_is_a_hundredth():
    table = counted((450, 500), (452, 500))
    one, other = (share_equivalence(table, **COUNTS, margin=m)["equivalence"].iloc[0] for m in (1, 0.01))
    assert (one["margin_high"], one["p_value"]) == (0.01, other["p_value"])


BAD = {
    "no margin": (counted((5, 9), (4, 9)), {"margin": 0}, "margin is 0"),
    "few": (counted((2, 4), (4, 9)), {"margin": 0.1}, "Only 4 subjects"),
    "kind": (counted((5, 9), (4, 9)), {"margin": 0.1, "kind": "superior"}, "no kind 'superior'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    table, params, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        share_equivalence(table, **COUNTS, **params)


@pytest.mark.parametrize("kind", ["equivalence", "not_lower", "not_higher"])
def test_step_runs_from_its_own_source_and_passes_its_checks(kind, tmp_path):
    table = counted((50, 80), (48, 82))
    _, _, issues = run_step(share_equivalence, {"table": table}, COUNTS | {"margin": 0.15, "kind": kind}, tmp_path)
    assert issues == []


@pytest.mark.parametrize(
    ("question", "kind"),
    [("is the paste as good as the control dressing for healed, with a margin of 10 percent", "not_worse"),
     ("are paste and control dressing equivalent for healed within 12 percentage points", "equivalence")],
)  # fmt: skip
def test_a_share_with_a_margin_is_planned_as_one(question, kind, tmp_path):
    rows = [(c, s) for c, e in (("paste", 70), ("control", 74)) for s in ["yes"] * e + ["no"] * (90 - e)]
    table = pd.DataFrame(rows, columns=["dressing", "healed"]).assign(patient=range(1, 181))
    table.to_csv(tmp_path / "wounds.csv", index=False)
    (step,) = the_planner().plan(question, profile_files([tmp_path / "wounds.csv"])).plan.nodes
    assert step.tool == "share_equivalence"
    assert step.params["kind"] == kind
    assert step.params["margin"] == pytest.approx(0.10 if kind == "not_worse" else 0.12)
    assert (step.params["outcome"], step.params["group"], step.params["event_value"]) == ("healed", "dressing", "yes")
