"""A thing whose amount is asked for, where the data hold one measurement and call it otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner


def _table(**more):
    draw = np.random.default_rng(8)
    rows = {"medium": ["PDA", "MEA", "V8"] * 15, "isolate": ["Bc03"] * 15 + ["Bc12"] * 15 + ["Bc21"] * 15,
            "conidia_per_ml": (draw.normal(1.2e6, 3e5, 45) // 1000 * 1000).astype(int)}  # fmt: skip
    return pd.DataFrame(rows | more)


@pytest.fixture(scope="module")
def plates(tmp_path_factory):
    path = tmp_path_factory.mktemp("plates") / "plates.csv"
    _table().to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize(
    ("question", "group"),
    [
        ("do we get more blobs on some media than others?", "medium"),
        ("which medium gives the most blobs", "medium"),
        ("just PDA: do the isolates differ in how many blobs they make", "isolate"),
        ("is sporulation higher on V8 than on PDA?", "medium"),
    ],
)
def test_an_unknown_thing_is_the_only_measurement(plates, question, group):
    plan = the_planner().plan(question, plates).plan
    last = plan.nodes[-1]
    assert (last.tool, last.params["value"], last.params["group"]) == ("compare_groups", "conidia_per_ml", group)
    assert not plan.open_questions
    heard = {span.text: span.value for span in plan.understood if span.taken_as == "column"}
    assert "conidia_per_ml" in heard.values(), "what was taken for the measurement stands beside the plan"


def test_of_two_measurements_an_unknown_thing_is_none(tmp_path):
    path = tmp_path / "two.csv"
    _table(radius_mm=np.random.default_rng(1).normal(40, 5, 45).round(1)).to_csv(path, index=False)
    plan = the_planner().plan("do we get more blobs on some media than others?", profile_files([path])).plan
    assert any(question.blocking for question in plan.open_questions)
