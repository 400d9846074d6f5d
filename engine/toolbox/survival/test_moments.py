"""Survival at several moments: against lifelines, with their own units, and in one sentence."""

from __future__ import annotations

import pytest
from lifelines import KaplanMeierFitter
from lifelines.datasets import load_lung

from engine.toolbox.survival.curves import kaplan_meier

LUNG = load_lung().assign(dead=lambda t: t["status"], sex=lambda t: t["sex"].map({1: "men", 2: "women"}))
NAMES = {"time": "time", "event": "dead", "event_value": "1", "group": "sex"}


def test_each_moment_of_each_group_is_that_of_the_curve_and_all_are_told_in_one_sentence():
    result = kaplan_meier(LUNG, **NAMES, at_times=["90", "365"], time_unit="days")
    table = result["survival_at"].set_index(["group", "time"])["survival"]
    for group in ("men", "women"):
        own = LUNG[LUNG["sex"] == group]
        curve = KaplanMeierFitter().fit(own["time"], own["dead"])
        for moment in (90, 365):
            assert table[(group, moment)] == pytest.approx(float(curve.predict(moment)), abs=1e-9)
    text = result["findings"][0]["text"]
    assert text.startswith("Survival at 90 days was")
    assert "; at 365 days" in text
    assert len(result["findings"][0]["values"]) == 4


def test_a_moment_may_have_a_unit_of_its_own_and_is_told_as_said():
    result = kaplan_meier(LUNG, **NAMES, at_times=["3 months", "365"], time_unit="days")
    assert result["survival_at"]["time"].tolist() == pytest.approx([91.3125, 365] * 2)
    assert "Survival at 3 months (91.31 days)" in result["findings"][0]["text"]


@pytest.mark.parametrize(
    ("times", "unit", "said"), [(["soon"], "days", "not a number"), (["3 months"], "", "unit of 'time' is not known")]
)
def test_what_is_no_moment_is_refused(times, unit, said):
    with pytest.raises(ValueError, match=said):
        kaplan_meier(LUNG, **NAMES, at_times=times, time_unit=unit)
