"""Levels that say too little by themselves are told with the name of their column."""

from __future__ import annotations

import pytest

from engine.domain.plan import TaskDag, TaskNode
from engine.domain.profile import ColumnProfile
from engine.reporting.named import with_names

DM = ColumnProfile(name="DM", kind="category", scale="binary", levels={"ja": 3, "nein": 4})
ARM = ColumnProfile(name="arm", kind="category", scale="binary", levels={"new": 3, "old": 4})


def plan_of(name: str, expression: str) -> TaskDag:
    node = TaskNode(id="n1", tool="derive_column", name="", task_type="preprocessing", domain="tables",
                    params={"name": name, "expression": expression})  # fmt: skip
    return TaskDag(question="?", nodes=[node])


def test_a_bare_yes_or_no_is_told_with_its_column():
    text = (
        "KIM is higher in ja than in nein: mean 1.7 against 1.1, mean difference ja minus nein 0.6; there is no doubt."
    )
    said = with_names(text, None, [DM], {"group": "DM"})
    assert said == (
        "KIM is higher in DM ja than in DM nein: mean 1.7 against 1.1, mean difference DM ja minus DM nein 0.6; there is no doubt."
    )
    text = "KIM is not shown to differ between ja and nein: mean 1"
    assert (
        with_names(text, None, [DM], {"group": "DM"}) == "KIM is not shown to differ between DM ja and DM nein: mean 1"
    )


def test_what_a_step_was_not_given_and_names_that_speak_stay():
    text = "KIM is higher in ja than in nein: mean 1.7"
    assert with_names(text, None, [DM], {"group": "other"}) == text
    assert with_names("higher in new than in old", None, [ARM], {"group": "arm"}) == "higher in new than in old"


@pytest.mark.parametrize(
    ("name", "expression", "text", "said"),
    [
        ("CEA cut at 5", "if_else(`CEA` > 5, 'above 5', 'up to 5')",
         "The share of CEA cut at 5 = above 5 is 25.3 % (19 of 75), above 5.5 none",
         "The share of CEA above 5 is 25.3 % (19 of 75), above 5.5 none"),
        ("age cut at its median 54.5", "if_else(`age` > 54.5, 'above 54.5', 'up to 54.5')",
         "CEA is lower in above 54.5 than in up to 54.5: mean 4", "CEA is lower in age above 54.5 than in age up to 54.5: mean 4"),
        ("stage: III or IV and I or II", "if_else(`stage` in ['III', 'IV'], 'III or IV', if_else(`stage` in ['I', 'II'], 'I or II', ''))",
         "CEA is higher in III or IV than in I or II: mean 4", "CEA is higher in stage III or IV than in stage I or II: mean 4"),
        ("resp: CR or PR", "if_else(`resp` in ['CR', 'PR'], 'CR or PR', 'neither')",
         "The share of resp: CR or PR = CR or PR is 45 %", "The share of resp CR or PR is 45 %"),
    ],
)  # fmt: skip
def test_sides_of_a_number_and_levels_taken_together(name, expression, text, said):
    assert with_names(text, plan_of(name, expression), [], {"group": name}) == said


DEAD = ColumnProfile(name="dead", kind="integer", scale="binary", levels={"0": 3, "1": 4})
STATUS = ColumnProfile(name="status", kind="integer", scale="code", levels={"1": 3, "2": 4})
BD = ColumnProfile(name="Bd", kind="category", scale="binary", levels={"pos": 3, "neg": 4})
SICK = ColumnProfile(name="mastitis", kind="category", scale="binary", levels={"si": 3, "no": 4})


@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        (DEAD, "The hazard of dead = yes (1) was lower", "The hazard of death was lower"),
        (STATUS, "The hazard of status = died (2) was lower", "The hazard of death was lower"),
        (
            STATUS,
            "The hazard of status = transplanted (2) was lower",
            "The hazard of status = transplanted (2) was lower",
        ),
        (SICK, "The share of mastitis = si is higher", "The share of mastitis is higher"),
        (SICK, "The share of mastitis = no is higher", "The share of mastitis = no is higher"),
        (BD, "The odds of Bd = pos are higher", "The odds of Bd positive are higher"),
        (DEAD, "The hazard of dead = 1.5 was lower", "The hazard of dead = 1.5 was lower"),
    ],
)
def test_an_end_is_told_as_people_say_it(column: ColumnProfile, text: str, said: str):
    assert with_names(text, None, [column], {"event": column.name}) == said


def test_a_median_time_to_what_is_no_death_is_called_so():
    text = "Median survival was 17 weeks with boot and 8 weeks with TCC (76 events, outcome = healed)."
    outcome = ColumnProfile(name="outcome", kind="category", scale="binary", levels={"healed": 7, "still open": 4})
    assert with_names(text, None, [outcome], {"event": "outcome"}).startswith("Median time to healing was 17 weeks")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("yes (1)", "Survival is longer with A: half had died by 11 days (n = 9, 8 events, dead = yes (1))."),
        ("back at work (1)", "Time to back at work is longer with A: half had reached it by 11 days (n = 9, 8 events, dead = back at work (1))."),
    ],
)  # fmt: skip
def test_only_where_people_die_do_they_survive(told: str, said: str):
    dead = ColumnProfile(name="dead", kind="integer", scale="binary", levels={"0": 3, "1": 4})
    text = f"Survival is longer with A: half had the event by 11 days (n = 9, 8 events, dead = {told})."
    assert with_names(text, None, [dead], {"event": "dead"}) == said
