"""Survival tools against published values (R's survival package, textbooks) and direct lifelines and SciPy calls."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.domain.datatypes import DataType
from engine.toolbox.checks import CHECKS, StepOutputs
from engine.toolbox.script import StepInput, step_script
from engine.toolbox.survival.curves import kaplan_meier, log_rank
from engine.toolbox.survival.data import survival_curve, survival_event_level
from engine.toolbox.survival.regression import cox_regression

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Development data lies beside the project, or where BIODESK_DEV_DATA says; it is never part of it."""


def classic(name):
    path = Path(os.environ.get("BIODESK_DEV_DATA", BESIDE)) / "classic" / name
    if not path.exists():
        pytest.skip(f"no classic/{name} in the development data; set BIODESK_DEV_DATA to their folder")
    return pd.read_csv(path)


@pytest.fixture(scope="module")
def lung():
    from lifelines.datasets import load_lung

    return load_lung()


@pytest.fixture(scope="module")
def rossi():
    from lifelines.datasets import load_rossi

    return load_rossi()


@pytest.fixture(scope="module")
def gbsg2():
    from lifelines.datasets import load_gbsg2

    return load_gbsg2()


# Kaplan-Meier


def test_lung_medians_are_those_of_r(lung):
    # survfit(Surv(time, status) ~ sex, data = lung): men 138, 112 events, 270 [212, 310]; women 90, 53, 426 [348, 550].
    table = kaplan_meier(lung, time="time", event="status", group="sex", interval="log")["km_table"].set_index("group")
    expected = {"1": [138, 112, 270, 212, 310], "2": [90, 53, 426, 348, 550]}
    for sex, numbers in expected.items():
        assert table.loc[sex, ["n", "events", "median", "lower_95", "upper_95"]].tolist() == numbers


def test_lung_survival_at_one_year_is_that_of_r(lung):
    # summary(survfit(Surv(time, status) ~ 1, data = lung), times = 365.25): 0.409 [0.345, 0.486], 65 at risk.
    result = kaplan_meier(lung, time="time", event="status", interval="log", at_times=["365.25"])
    row = result["survival_at"].iloc[0]
    assert row[["survival", "lower_95", "upper_95"]].tolist() == pytest.approx([0.409, 0.345, 0.486], abs=6e-4)
    assert row["at_risk"] == 65
    overall = result["km_table"].iloc[0]
    # print(survfit(Surv(time, status) ~ 1, data = lung)): n 228, events 165, median 310 [285, 363].
    assert overall[["n", "events", "median", "lower_95", "upper_95"]].tolist() == [228, 165, 310, 285, 363]


def test_default_band_is_that_of_lifelines(lung):
    from lifelines import KaplanMeierFitter

    curve = kaplan_meier(lung, time="time", event="status")["curve_table"].set_index("time")
    fitter = KaplanMeierFitter().fit(lung["time"], lung["status"])
    band = fitter.confidence_interval_.set_axis(["low", "high"], axis=1).reindex(curve.index)
    known = curve["survival"].between(0, 1, inclusive="neither")
    assert np.allclose(curve["survival"], fitter.survival_function_.iloc[:, 0].reindex(curve.index))
    assert np.allclose(curve.loc[known, "lower_95"], band.loc[known, "low"])
    assert np.allclose(curve.loc[known, "upper_95"], band.loc[known, "high"])


def test_curve_by_hand():
    # Deaths at 1 and 3 of five, one censored at 2: 4/5, then 4/5 x 2/3.
    curve = survival_curve(np.array([1.0, 2, 3, 4, 5]), np.array([1, 0, 1, 0, 0]), "log-log").set_index("time")
    assert curve["survival"].tolist() == pytest.approx([1, 0.8, 0.8, 8 / 15, 8 / 15, 8 / 15])
    assert curve["at_risk"].tolist() == [5, 5, 4, 3, 2, 1]


def test_median_that_is_not_reached_is_said(gbsg2):
    result = kaplan_meier(gbsg2, time="time", event="cens", group="tgrade", time_unit="days")
    table = result["km_table"].set_index("group")
    assert np.isnan(table.loc["I", "median"])
    assert any("tgrade = I: median survival was not reached" in finding["text"] for finding in result["findings"])
    assert table["n"].to_dict() == {"I": 81, "II": 444, "III": 161}


def test_survival_beyond_follow_up_is_not_reported(lung):
    result = kaplan_meier(lung, time="time", event="status", group="sex", at_times=["5000"])
    assert result["survival_at"] is None
    assert sum("nobody was followed to 5000" in text for text in result["warnings"]) == 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=2, max_size=30))
def test_curves_never_rise_and_bands_hold_them(rows):
    times, events = np.array([float(row[0]) for row in rows]), np.array([int(row[1]) for row in rows])
    for interval in ("log", "log-log"):
        curve = survival_curve(times, events, interval)
        assert (np.diff(curve["survival"]) <= 1e-12).all()
        known = curve.dropna(subset=["lower_95"])
        assert (known["lower_95"] <= known["survival"] + 1e-12).all()
        assert (known["survival"] <= known["upper_95"] + 1e-12).all()
        assert curve["events"].sum() == events.sum()


# Log-rank


def test_lung_log_rank_is_that_of_r(lung):
    # survdiff(Surv(time, status) ~ sex, data = lung): expected 91.6 and 73.4, chisq 10.3 on 1 df, p = 0.001 (0.00131).
    result = log_rank(lung, time="time", event="status", group="sex")
    row = result["test_table"].iloc[0]
    assert row["statistic"] == pytest.approx(10.3, abs=0.05)
    assert row["p_value"] == pytest.approx(0.00131, abs=1e-5)
    counts = result["observed_expected"].set_index("group")
    assert counts["observed"].to_dict() == {"1": 112, "2": 53}
    assert counts["expected"].to_dict() == pytest.approx({"1": 91.6, "2": 73.4}, abs=0.05)
    assert "shorter survival" in result["findings"][1]["text"]
    assert result["findings"][1]["row"] == {"group": "1"}


def test_log_rank_agrees_with_scipy(gbsg2):
    from scipy.stats import CensoredData, logrank

    def censored(part):
        return CensoredData(uncensored=part.loc[part["cens"] == 1, "time"], right=part.loc[part["cens"] == 0, "time"])

    row = log_rank(gbsg2, time="time", event="cens", group="horTh")["test_table"].iloc[0]
    other = logrank(*(censored(part) for _, part in gbsg2.groupby("horTh")))
    assert row["p_value"] == pytest.approx(other.pvalue, rel=1e-6)
    assert row["statistic"] == pytest.approx(other.statistic**2, rel=1e-6)


@pytest.mark.parametrize("group", ["horTh", "menostat"])
def test_the_log_rank_sentence_gives_petos_ratio(gbsg2, group):
    # Peto: ln HR = (O - E) / V with variance 1 / V; V from the statistic, which lifelines computes: (O - E)^2 / V.
    result = log_rank(gbsg2, time="time", event="cens", group=group)
    row, counts = result["test_table"].iloc[0], result["observed_expected"].iloc[0]
    excess = counts["observed"] - counts["expected"]
    variance = excess**2 / row["statistic"]
    assert np.log(row["hazard_ratio"]) == pytest.approx(excess / variance, rel=1e-6)
    limits = [excess / variance + z / np.sqrt(variance) for z in (-1.959964, 1.959964)]
    assert np.log([row["lower_95"], row["upper_95"]]) == pytest.approx(limits, rel=1e-6)
    text = result["findings"][0]["text"]
    assert f"hazard ratio of {counts['group']} against " in text
    assert ("the data are compatible with anything from" in text) == (row["p_value"] >= 0.05)


def test_several_groups_get_holm_adjusted_pairs(lung):
    # survdiff(Surv(time, status) ~ ph.ecog, data = lung): chisq 22 on 3 df, p = 7e-05.
    table = log_rank(lung, time="time", event="status", group="ph.ecog")["test_table"]
    assert table.loc[0, "statistic"] == pytest.approx(22.0, abs=0.05)
    assert table.loc[0, "df"] == 3
    assert len(table) == 1 + 6
    pairs = table.iloc[1:].sort_values("p_value")
    assert pairs["p_adj"].iloc[0] == pytest.approx(6 * pairs["p_value"].iloc[0])
    assert (pairs["p_adj"].diff().dropna() >= -1e-12).all()


def test_observed_and_expected_events_have_the_same_sum(gbsg2):
    counts = log_rank(gbsg2, time="time", event="cens", group="tgrade")["observed_expected"]
    assert counts["observed"].sum() == pytest.approx(counts["expected"].sum())


# Cox


def test_rossi_coefficients_are_the_published_ones(rossi):
    # Allison's recidivism data; coxph output in Fox, Cox Proportional-Hazards Regression for Survival Data in R.
    published = {
        "fin": (-0.37942, 0.19138, 0.047),
        "age": (-0.05744, 0.02200, 0.009),
        "race": (0.31390, 0.30799, 0.308),
        "wexp": (-0.14980, 0.21222, 0.480),
        "mar": (-0.43370, 0.38187, 0.256),
        "paro": (-0.08487, 0.19576, 0.665),
        "prio": (0.09150, 0.02865, 0.001),
    }
    result = cox_regression(rossi, time="week", event="arrest", covariates=list(published))
    table = result["cox_table"].set_index("term")
    for term, (coef, error, p_value) in published.items():
        assert table.loc[term, "coef"] == pytest.approx(coef, abs=1e-5)
        assert table.loc[term, "se"] == pytest.approx(error, abs=1e-5)
        assert table.loc[term, "p_value"] == pytest.approx(p_value, abs=6e-4)
    facts = result["diagnostics"].set_index("diagnostic")
    # The same source: likelihood ratio test 33.3 on 7 df, p = 2.36e-05; n = 432, events = 114.
    assert facts.loc["likelihood ratio test", "value"] == pytest.approx(33.3, abs=0.05)
    assert facts.loc["likelihood ratio test", "p_value"] == pytest.approx(2.36e-5, rel=0.01)
    assert facts.loc["concordance", "value"] == pytest.approx(0.64, abs=0.005)
    assert facts.loc["events", "value"] == 114


def test_lung_hazard_ratio_of_sex_is_that_of_r(lung):
    # coxph(Surv(time, status) ~ sex, data = lung): -0.5310, 0.5880 [0.4237, 0.816], se 0.1672, p = 0.00149.
    row = cox_regression(lung, time="time", event="status", covariates=["sex"])["cox_table"].iloc[0]
    assert row["coef"] == pytest.approx(-0.5310, abs=1e-4)
    assert row[["hazard_ratio", "lower_95", "upper_95"]].tolist() == pytest.approx([0.5880, 0.4237, 0.816], abs=1e-4)
    assert row["p_value"] == pytest.approx(0.00149, abs=1e-5)


def test_larynx_stage_as_category_gives_the_textbook_ratios():
    # Klein and Moeschberger, larynx data, coxph(Surv(time, delta) ~ factor(stage) + age), Efron ties.
    larynx = classic("larynx.csv")
    table = cox_regression(larynx, time="time", event="delta", covariates=["stage", "age"], categorical=["stage"])
    table = table["cox_table"].set_index("term")
    published = {"stage: 2 vs 1": 0.14004, "stage: 3 vs 1": 0.64238, "stage: 4 vs 1": 1.70598, "age": 0.01903}
    assert table["coef"].to_dict() == pytest.approx(published, abs=2e-5)
    assert table.loc["stage: 4 vs 1", "reference"] == "1"


def test_pbc_model_is_that_of_r():
    # R's survival docs: coxph(Surv(time, status == 2) ~ age + edema + log(bili) + log(protime) + log(albumin), pbc).
    pbc = classic("pbc.csv")
    for name in ("bili", "protime", "albumin"):
        pbc[f"log({name})"] = np.log(pbc[name])
    published = {"age": 0.0396, "edema": 0.8963, "log(bili)": 0.8636, "log(protime)": 2.3868, "log(albumin)": -2.5069}
    result = cox_regression(pbc, time="time", event="status", event_value="2", covariates=list(published))
    assert result["cox_table"].set_index("term")["coef"].to_dict() == pytest.approx(published, abs=1e-4)
    assert any("2 of 418 rows were left out" in text for text in result["warnings"])
    assert any("other ends" in text and "compete" in text for text in result["warnings"])


def test_text_covariates_and_strata_agree_with_lifelines(gbsg2):
    from lifelines import CoxPHFitter

    result = cox_regression(
        gbsg2, time="time", event="cens", covariates=["horTh", "tgrade", "pnodes"], strata=["menostat"]
    )
    coded = pd.DataFrame(
        {
            "horTh: yes vs no": gbsg2["horTh"].eq("yes").astype(int),
            "tgrade: II vs I": gbsg2["tgrade"].eq("II").astype(int),
            "tgrade: III vs I": gbsg2["tgrade"].eq("III").astype(int),
            "pnodes": gbsg2["pnodes"],
            "menostat": gbsg2["menostat"],
            "time": gbsg2["time"],
            "cens": gbsg2["cens"],
        }
    )
    direct = CoxPHFitter().fit(coded, "time", "cens", strata=["menostat"]).summary
    table = result["cox_table"].set_index("term")
    assert list(table.index) == list(direct.index)
    assert np.allclose(table["coef"], direct["coef"])
    assert np.allclose(table["p_value"], direct["p"])
    text = next(f["text"] for f in result["findings"] if "horTh" in str(f["row"]))
    assert "% lower with horTh = yes than with no" in text
    assert "adjusted for tgrade, pnodes: hazard ratio 0.695" in text
    assert "30.5 % lower in horTh = yes than in horTh = no" in result["findings"][0]["text"]


def test_violated_proportional_hazards_are_warned_of(rossi):
    from lifelines import CoxPHFitter
    from lifelines.statistics import proportional_hazard_test

    result = cox_regression(rossi, time="week", event="arrest", covariates=["fin", "age", "prio"])
    used = rossi[["week", "arrest", "fin", "age", "prio"]]
    model = CoxPHFitter().fit(used, "week", "arrest")
    direct = proportional_hazard_test(model, used, time_transform="km").summary["p"]
    facts = result["diagnostics"]
    tested = facts[facts["diagnostic"] == "proportional hazards"].set_index("term")["p_value"]
    assert tested.to_dict() == pytest.approx(direct.to_dict())
    assert any("Proportional hazards are doubtful for age" in text for text in result["warnings"])


def test_few_events_per_term_are_warned_of(lung):
    small = lung.head(40)
    covariates = ["age", "sex", "ph.karno", "pat.karno", "wt.loss"]
    result = cox_regression(small, time="time", event="status", covariates=covariates)
    assert any("events per estimated term" in text for text in result["warnings"])
    assert any("rows were left out because a value is missing" in text for text in result["warnings"])


def test_near_separation_is_never_silent(lung):
    table = lung[["time", "status"]].assign(marker=lung["status"].astype(float))
    problem = ""
    try:
        problem = " ".join(cox_regression(table, time="time", event="status", covariates=["marker"])["warnings"])
    except ValueError as err:
        problem = str(err)
    assert "did not converge" in problem or "fit is not reliable" in problem


# Events


@pytest.mark.parametrize(
    ("write", "event_value"),
    [
        (lambda x: x, "1"),
        (lambda x: x, "1.0"),
        (lambda x: x.astype(float), "1"),
        (lambda x: x + 1, "2"),
        (lambda x: x.astype(bool), "1"),
        (lambda x: x.astype(bool), "TRUE"),
        (lambda x: x.map({0: "alive", 1: "dead"}), "dead"),
        (lambda x: x.map({0: "alive", 1: "dead"}), "Dead"),
        (lambda x: x.map({0: "Alive", 1: "Dead"}), "1"),
        (lambda x: x.map({0: "0:LIVING", 1: "1:DECEASED"}), "1"),
        (lambda x: x.map({0: "FALSE", 1: "TRUE"}), "1"),
    ],
)
def test_every_way_to_write_the_event_gives_the_same_result(lung, write, event_value):
    table = lung[["time", "sex"]].assign(status=write(lung["status"]))
    row = cox_regression(table, time="time", event="status", event_value=event_value, covariates=["sex"])
    assert row["cox_table"].loc[0, "hazard_ratio"] == pytest.approx(0.5880, abs=1e-4)


def test_one_and_two_with_one_as_event_is_warned_of(lung):
    table = lung[["time"]].assign(status=lung["status"] + 1)
    result = kaplan_meier(table, time="time", event="status")
    assert result["km_table"].loc[0, "events"] == 63
    assert any("set event_value to 2" in text for text in result["warnings"])


def test_named_level_wins_over_its_meaning():
    assert survival_event_level(["alive", "dead"], "alive", "status")[0] == "alive"
    assert survival_event_level(["0", "1"], "0", "status")[0] == "0"


# Bad input


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({}, {"time": "tiem"}, "no column 'tiem'"),
        ({}, {"event_value": "relapse"}, "has no level 'relapse'; its levels are 0, 1"),
        ({}, {"event": "time"}, "both the column 'time'"),
        ({}, {"event": "age"}, "distinct values"),
        ({"time": -1}, {}, "negative"),
        ({"time": "<5"}, {}, "'<5'"),
        ({"status": 0}, {}, "has no level '1'"),
        ({"sex": None}, {"group": "sex"}, "missing values: sex"),
        ({}, {"group": "age"}, "distinct values; expected at most 12 groups"),
    ],
)
def test_bad_tables_give_one_clear_sentence(lung, change, options, said):
    table = lung[["time", "status", "sex", "age"]].astype(object).assign(**change)
    with pytest.raises(ValueError) as caught:
        kaplan_meier(table, **({"time": "time", "event": "status"} | options))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_log_rank_needs_two_groups(lung):
    with pytest.raises(ValueError, match="has one group"):
        log_rank(lung[lung["sex"] == 1], time="time", event="status", group="sex")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"covariates": []}, "No covariate was given"),
        ({"covariates": ["sex", "constant"]}, "'constant' is '5' in all 228"),
        ({"covariates": ["age", "twice"]}, "repeat each other"),
        ({"covariates": ["time", "age"]}, "is the time or the event"),
        ({"covariates": ["name"]}, "228 levels as text"),
        ({"covariates": ["age"], "strata": ["age"]}, "both a covariate and a stratum"),
        ({"covariates": ["mixed"]}, "'<40'"),
    ],
)
def test_impossible_cox_models_give_one_clear_sentence(lung, options, said):
    table = lung.assign(
        constant=5,
        twice=2 * lung["age"] + 1,
        name=[f"patient {number}" for number in range(len(lung))],
        mixed=lung["age"].map(lambda age: "<40" if age < 40 else str(age)),
    )
    with pytest.raises(ValueError) as caught:
        cox_regression(table, time="time", event="status", **options)
    assert said in str(caught.value)


# As a step


CASES = [
    (
        kaplan_meier,
        {"time": "time", "event": "cens", "group": "tgrade", "at_times": ["365", "1000"], "time_unit": "days"},
    ),
    (log_rank, {"time": "time", "event": "cens", "group": "tgrade"}),
    (
        cox_regression,
        {"time": "time", "event": "cens", "covariates": ["horTh", "age", "pnodes"], "strata": ["menostat"]},
    ),
]


@pytest.mark.parametrize(("function", "params"), CASES, ids=[case[0].__name__ for case in CASES])
def test_step_runs_on_its_own_and_passes_its_checks(function, params, gbsg2, tmp_path, monkeypatch):
    import json

    monkeypatch.chdir(tmp_path)
    gbsg2.to_csv("data.csv", index=False)
    spec = function.tool_spec
    script = step_script(spec, {"survival": StepInput(path="data.csv", type=DataType.SURVIVAL_TABLE)}, params)
    assert not re.search(r"\b(?:import|from) engine\b", script)
    exec(compile(script, "step.py", "exec"), {"__name__": "step"})
    record = json.loads(Path("outputs/result.json").read_text())
    assert {port.name for port in spec.outputs if not port.optional} <= set(record["outputs"])
    files = {name: Path("outputs") / facts["file"] for name, facts in record["outputs"].items()}
    types = {name: facts["type"] for name, facts in record["outputs"].items()}
    step = StepOutputs(params=params, files=files, types=types, findings=record["findings"])
    assert [issue.message for name in spec.checks for issue in CHECKS[name](step)] == []
    assert any(finding.get("row") for finding in record["findings"])


def test_hazard_ratio_that_does_not_fit_is_found_out(gbsg2, tmp_path):
    table = cox_regression(gbsg2, time="time", event="cens", covariates=["age", "pnodes"])["cox_table"]
    table.loc[0, "hazard_ratio"] *= 1.5
    table.to_csv(tmp_path / "cox_table.csv", index=False)
    step = StepOutputs(params={}, files={"cox_table": tmp_path / "cox_table.csv"}, types={"cox_table": "table"})
    assert [issue.code for issue in CHECKS["hazard_ratios_consistent"](step)] == ["hazard_ratio_inconsistent"]


def test_what_is_only_adjusted_for_stays_out_of_the_first_sentence():
    from lifelines import CoxPHFitter
    from lifelines.datasets import load_gbsg2

    data = load_gbsg2()
    result = cox_regression(
        data, time="time", event="cens", event_value="1", covariates=["horTh", "age", "tsize", "tgrade"],
        adjusted=["age", "tsize", "tgrade"],
    )  # fmt: skip
    first = result["findings"][0]["text"]
    assert "horTh" in first
    assert not any(f"per unit of {name}" in first for name in ("age", "tsize"))
    coded = pd.get_dummies(data[["time", "cens", "horTh", "age", "tsize", "tgrade"]], drop_first=True, dtype=float)
    expected = CoxPHFitter().fit(coded, "time", "cens").hazard_ratios_["horTh_yes"]
    assert f"{100 * (1 - expected):.1f} % lower" in first
