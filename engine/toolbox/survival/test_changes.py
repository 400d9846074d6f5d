"""Cox regression of a state that began while subjects were watched, against the Stanford heart transplant data.

R's survival (?heart): coxph(Surv(start, stop, event) ~ transplant) on `heart`, whose rows are the same spans written out.
lifelines ships these spans; here they are built from one row a subject and must give the same ratio.
"""

import numpy as np
import pandas as pd
import pytest
from table_steps import run_step

from engine.toolbox.survival.regression import cox_regression


@pytest.fixture(scope="module")
def spans():
    from lifelines.datasets import load_stanford_heart_transplants

    return load_stanford_heart_transplants()


def one_row_a_patient(spans):
    rows = []
    for patient, part in spans.sort_values("start").groupby("id"):
        got = part["transplant"].max() == 1
        rows.append({"id": patient, "organ": "Y" if got else "N", "wait": part.loc[part["transplant"] == 1, "start"].min(),
                     "days": part["stop"].max(), "died": part["event"].max(), "age": part["age"].iloc[0]})  # fmt: skip
    return pd.DataFrame(rows)


def test_the_ratio_is_that_of_the_spans_written_out(spans, tmp_path):
    from lifelines import CoxTimeVaryingFitter

    table = one_row_a_patient(spans)
    record, tables, issues = run_step(
        cox_regression, {"survival": table},
        {"time": "days", "event": "died", "covariates": ["organ", "age"], "since": "wait"}, tmp_path,
    )  # fmt: skip
    assert not issues
    fitted = CoxTimeVaryingFitter().fit(
        spans[["id", "start", "stop", "event", "age", "transplant"]], id_col="id", start_col="start", stop_col="stop",
        event_col="event",
    )  # fmt: skip
    found = tables["cox_table"].set_index("covariate")
    assert found.loc["organ", "coef"] == pytest.approx(fitted.params_["transplant"], abs=1e-4)
    assert found.loc["age", "se"] == pytest.approx(fitted.standard_errors_["age"], rel=1e-3)
    counts = tables["diagnostics"].set_index("diagnostic")["value"]
    assert counts["subjects"] == spans["id"].nunique()
    assert counts["events"] == spans["event"].sum()
    assert any("immortal time" in text for text in record["warnings"])


def test_waiting_alone_looks_like_help_only_when_it_is_not_split(tmp_path):
    """Simulated: an organ that does nothing. Compared from the start it seems to halve the hazard."""
    rng = np.random.default_rng(8)
    days, wait = rng.exponential(300, 400).round() + 1, rng.exponential(200, 400).round() + 1
    got = wait < days
    table = pd.DataFrame(
        {"organ": np.where(got, "Y", "N"), "wait": np.where(got, wait, np.nan), "days": days, "died": 1}
    )
    asked = {"time": "days", "event": "died", "covariates": ["organ"]}
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
    naive = run_step(cox_regression, {"survival": table}, asked, tmp_path / "a")[1]["cox_table"]["hazard_ratio"][0]
    split = run_step(cox_regression, {"survival": table}, {**asked, "since": "wait"}, tmp_path / "b")[1]["cox_table"]
    assert naive < 0.6
    assert split["lower_95"][0] < 1 < split["upper_95"][0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"organ": ["Y", "N", "maybe"] * 20}, "has 3 states"),
        ({"wait": list(range(60))}, "in whom it did"),
        ({"wait": [np.nan] * 60}, "in whom it did"),
    ],
)
def test_a_time_that_does_not_say_when_the_state_began_is_refused(change, says):
    table = pd.DataFrame(
        {"organ": ["Y", "N", "N"] * 20, "wait": [5.0, np.nan, np.nan] * 20, "days": range(10, 70), "died": [1, 0] * 30}
    ).assign(**change)
    with pytest.raises(ValueError, match=says):
        cox_regression(table, time="days", event="died", covariates=["organ"], since="wait")


def test_start_and_since_exclude_each_other():
    table = pd.DataFrame({"organ": ["Y", "N"] * 9, "wait": 1.0, "days": range(5, 23), "died": 1, "in": 0.0})
    with pytest.raises(ValueError, match="leave one of them out"):
        cox_regression(table, time="days", event="died", covariates=["organ"], since="wait", start="in")


def test_at_a_landmark_the_state_is_that_of_the_day_and_the_subjects_are_those_still_followed(spans, tmp_path):
    """Against lifelines' fit of the table cut down by hand: alive past day 30, organ only if it came by then."""
    from lifelines import CoxPHFitter

    table = one_row_a_patient(spans)
    record, tables, issues = run_step(
        cox_regression, {"survival": table},
        {"time": "days", "event": "died", "covariates": ["organ", "age"], "since": "wait", "landmark": 30.0}, tmp_path,
    )  # fmt: skip
    assert not issues
    left = table[table["days"] > 30]
    by_hand = left.assign(organ=(left["wait"] <= 30).astype(float))[["days", "died", "organ", "age"]]
    fitted = CoxPHFitter().fit(by_hand, "days", "died")
    found = tables["cox_table"].set_index("covariate")
    assert found.loc["organ", "coef"] == pytest.approx(fitted.params_["organ"], abs=1e-4)
    counts = tables["diagnostics"].set_index("diagnostic")["value"]
    assert counts["subjects"] == len(left) < len(table)
    assert any(f"of {len(left)} subjects" in finding["text"] for finding in record["findings"])
    later = int((left["wait"] > 30).sum())
    assert any(f"{later} in whom it began later" in text for text in record["warnings"])


def test_rows_that_lack_a_value_do_not_shift_when_the_others_began(spans):
    table = one_row_a_patient(spans)
    table["age"] = table["age"].where(table.index % 7 != 0)
    asked = {"time": "days", "event": "died", "covariates": ["organ", "age"], "since": "wait"}
    whole = cox_regression(table, **asked)["cox_table"]["coef"]
    cut = cox_regression(table.dropna(subset=["age"]).reset_index(drop=True), **asked)["cox_table"]["coef"]
    assert whole.to_numpy() == pytest.approx(cut.to_numpy())
