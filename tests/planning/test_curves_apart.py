"""A curve through the rows of two compounds is that of neither: what tells series of doses apart is not left aside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

DOSES = [0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0]


def plate(potency, seed=1):
    """Return wells in triplicate of compounds on lines; `potency` gives the IC50 of each pair."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            (compound, line, "P1" if at % 2 else "P2", dose, round(90 / (1 + dose / half) + rng.normal(0, 3), 2))
            for (compound, line), half in potency.items()
            for dose in DOSES
            for at in range(3)
        ],
        columns=["cmpd", "line", "plate", "conc_uM", "signal"],
    )


DIFFERENT = {("A-1", "wt"): 0.3, ("A-1", "ko"): 3.0, ("B-2", "wt"): 5.0, ("B-2", "ko"): 30.0}
ALIKE = dict.fromkeys(DIFFERENT, 1.0)


def curves(tmp_path, question, potency):
    plate(potency).to_csv(tmp_path / "plate.csv", index=False)
    plan = the_planner().plan(question, profile_files([tmp_path / "plate.csv"])).plan
    return plan, next(node for node in plan.nodes if node.tool == "dose_response")


@pytest.mark.parametrize(
    "question", ["what is the IC50 of both drugs in the two lines", "what is the IC50 per line", "what is the IC50"]
)
def test_each_compound_on_each_line_has_a_curve_of_its_own(tmp_path, question):
    plan, node = curves(tmp_path, question, DIFFERENT)
    made = next(one for one in plan.nodes if one.id == node.inputs["table"].partition(".")[0])
    assert {*node.params["group"].split(" / ")} == {"cmpd", "line"}
    assert made.params["name"] == node.params["group"]
    assert "`cmpd`" in made.params["expression"]
    assert "`line`" in made.params["expression"]


def test_rows_of_one_compound_need_no_curve_for_the_other(tmp_path):
    _, node = curves(tmp_path, "what is the IC50 of A-1 per line", DIFFERENT)
    assert node.params["group"] == "line"


def test_compounds_that_do_not_differ_are_not_set_apart(tmp_path):
    _, node = curves(tmp_path, "what is the IC50 per line", ALIKE)
    assert node.params["group"] == "line"
    assert not curves(tmp_path, "what is the IC50", ALIKE)[1].params.get("group")


def test_what_a_person_chose_stays(tmp_path):
    plate(DIFFERENT).to_csv(tmp_path / "plate.csv", index=False)
    files = profile_files([tmp_path / "plate.csv"])
    chosen = {"dose_response": {"group": "line"}}
    plan = the_planner().plan("what is the IC50", files, chosen=chosen).plan
    assert next(n for n in plan.nodes if n.tool == "dose_response").params["group"] == "line"
