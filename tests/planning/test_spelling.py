"""Slips of the pen in first questions: what a question is made of is put right, terms and names are left alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.planning.choosing.spelling import spelled
from engine.planning.tables.sheets import Data


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    draw, folder = np.random.default_rng(4), tmp_path_factory.mktemp("spelled")
    table = pd.DataFrame({"mouse": [f"m{k}" for k in range(40)], "genotype": ["WT", "KO"] * 20,
                          "latency_s": draw.normal(60, 9, 40).round(1), "weihgt": draw.normal(25, 2, 40).round(1)})  # fmt: skip
    table.to_csv(folder / "maze.csv", index=False)
    return profile_files([folder / "maze.csv"])


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("wich mice are slower, KO or WT", "which mice are slower, KO or WT"),
        ("Whitch group is diffrent in latency?", "which group is different in latency?"),
        ("is there a signficant diference betwen the groups", "is there a significant difference between the groups"),
        ("becuase of thier age", "because of their age"),
    ],
)
def test_words_that_questions_are_made_of_are_put_right(question, meant, profiles):
    assert spelled(question, Data.of(profiles)).text == meant


@pytest.mark.parametrize(
    "question",
    [
        "do litters of the donors differ",  # letters, doors
        "statin users against others",  # stating
        "DCX and Whsc1 by genotype",
        "is the weihgt higher in KO",  # so it is called
        "la mediana y la diferencia de latency entre los grupos",  # median, difference
        "which mice are slower",
    ],
)
def test_terms_names_and_other_languages_are_left_alone(question, profiles):
    assert spelled(question, Data.of(profiles)) is None


def test_a_slip_changes_no_plan_and_what_was_understood_is_shown_as_typed(profiles):
    right, typed = "is latency different between the genotypes", "is latency diffrent betwen the genotypes"
    as_meant, plan = (the_planner().plan(question, profiles).plan for question in (right, typed))
    assert plan.question == typed
    assert [(node.tool, node.params) for node in plan.nodes] == [(node.tool, node.params) for node in as_meant.nodes]
    assert not plan.not_answered
    assert not plan.open_questions
    assert all(typed[span.start : span.end] == span.text for span in plan.understood)
