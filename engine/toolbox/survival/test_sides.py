"""Two survival curves told of the group that was asked about: the ratio turns round with it, and nothing else changes."""

from __future__ import annotations

import pytest
from lifelines.datasets import load_lung

from engine.toolbox.survival.curves import log_rank

LUNG = load_lung().assign(dead=lambda t: t["status"], sex=lambda t: t["sex"].map({1: "men", 2: "women"}))
NAMES = {"time": "time", "event": "dead", "event_value": "1", "group": "sex"}


def test_the_ratio_is_of_the_group_that_is_told_of():
    found = {side: log_rank(LUNG, **NAMES, treated=side) for side in ("men", "women")}
    rows = {side: result["test_table"].iloc[0] for side, result in found.items()}
    assert rows["men"]["comparison"] == "men vs women"
    assert rows["men"]["hazard_ratio"] == pytest.approx(1 / rows["women"]["hazard_ratio"])
    assert rows["men"]["p_value"] == pytest.approx(rows["women"]["p_value"])
    assert "longer with women than with men" in found["women"]["findings"][0]["text"]


def test_without_sides_it_is_as_before():
    assert log_rank(LUNG, **NAMES)["test_table"].iloc[0]["comparison"] == "women vs men"


@pytest.mark.parametrize(
    ("sides", "said"),
    [({"treated": "men", "control": "men"}, "with itself"), ({"treated": "boys"}, "no level 'boys'"), ({"control": "x"}, "no level 'x'")],
)  # fmt: skip
def test_a_side_that_is_no_group_is_refused(sides, said):
    with pytest.raises(ValueError, match=said):
        log_rank(LUNG, **NAMES, **sides)
