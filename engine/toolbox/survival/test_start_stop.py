"""Spans of time, several rows a subject, ratios over time and landmarks in the survival tools."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from table_steps import run_step

from engine.toolbox.survival.curves import kaplan_meier, log_rank
from engine.toolbox.survival.data import survival_event_level
from engine.toolbox.survival.intervals import row_warnings
from engine.toolbox.survival.over_time import split_records
from engine.toolbox.survival.regression import cox_regression
from engine.toolbox.survival.test_partial_likelihood import bladder

HEART = {"time": "stop", "event": "event", "start": "start"}


@pytest.fixture(scope="module")
def heart():
    from lifelines.datasets import load_stanford_heart_transplants

    return load_stanford_heart_transplants()


@pytest.fixture(scope="module")
def lung():
    from lifelines.datasets import load_lung

    return load_lung()


def text_of(result):
    return " ".join([finding["text"] for finding in result["findings"]] + result["warnings"])


# Spans of time


def test_heart_transplants_are_those_of_r(heart):
    # coxph(Surv(start, stop, event) ~ age + transplant + surgery + year, data = heart), as in lifelines' tests
    published = {"age": (0.0272, 0.0137, 0.048), "year": (-0.1463, 0.0705, 0.038), "surgery": (-0.6372, 0.3672, 0.083),
                 "transplant": (-0.0103, 0.3138, 0.974)}  # fmt: skip
    result = cox_regression(heart, **HEART, covariates=list(published))
    table = result["cox_table"].set_index("term")
    for term, (coef, error, p_value) in published.items():
        found = table.loc[term, ["coef", "se", "p_value"]].tolist()
        assert found == pytest.approx([coef, error, p_value], abs=5e-4)
    assert "In a Cox model of 172 rows with 75 events" in text_of(result)


def test_whole_model_is_judged_on_those_at_risk(heart):
    # Likelihood and concordance written out: at risk is who entered before and has not ended
    covariates = ["age", "year", "surgery", "transplant"]
    result = cox_regression(heart, **HEART, covariates=covariates)
    coef = result["cox_table"].set_index("term").loc[covariates, "coef"].to_numpy()
    lead = heart[covariates].to_numpy() @ coef
    gain = agree = pairs = 0.0
    for moment in heart.loc[heart["event"] == 1, "stop"].unique():
        risk = ((heart["start"] < moment) & (heart["stop"] >= moment)).to_numpy()
        dead = ((heart["stop"] == moment) & (heart["event"] == 1)).to_numpy()
        for k in range(dead.sum()):
            share = k / dead.sum()
            gain += np.log(risk.sum() - k) - np.log(np.exp(lead[risk]).sum() - share * np.exp(lead[dead]).sum())
        gain += lead[dead].sum()
        for one in np.flatnonzero(dead):
            others = lead[risk & ~dead]
            agree += (others < lead[one]).sum() + 0.5 * (others == lead[one]).sum()
            pairs += len(others)
    facts = result["diagnostics"].set_index("diagnostic")["value"]
    assert facts["likelihood ratio test"] == pytest.approx(2 * gain, rel=1e-6)
    assert facts["concordance"] == pytest.approx(agree / pairs)


def test_cutting_follow_up_into_spans_changes_nothing(lung):
    table = lung[["time", "status", "age", "sex"]].assign(who=range(len(lung)))
    names = {"time": "time", "event": "status", "covariates": ["age", "sex"]}
    whole = cox_regression(table.drop(columns="who"), **names)
    spans = split_records(table.rename(columns={"status": "event"}), 200).drop(columns="period")
    spans = spans.rename(columns={"event": "status"}).assign(start=lambda t: t["start"].clip(lower=0))
    cut = cox_regression(spans.sample(frac=1, random_state=1), **names, start="start", subject="who")
    columns = ["coef", "hazard_ratio"]
    assert np.allclose(whole["cox_table"][columns], cut["cox_table"][columns], atol=1e-7)
    assert np.allclose(whole["cox_table"]["se"], cut["cox_table"]["model_se"], atol=1e-7)
    # ... and errors by subject are those of one row a subject
    one = cox_regression(table, **names, subject="who")
    assert np.allclose(one["cox_table"]["se"], cut["cox_table"]["se"], rtol=1e-6)
    facts = cut["diagnostics"].set_index("diagnostic")["value"]
    assert (facts["subjects"], facts["records"], facts["events"]) == (228, len(spans), 165)
    tested = [r["diagnostics"].query("diagnostic == 'proportional hazards'")["value"].to_numpy() for r in (whole, cut)]
    assert np.allclose(*tested, rtol=1e-4)


@pytest.mark.slow
def test_late_entry_undoes_the_bias_of_waiting():
    # Hazard exp(0.7 x); those with x = 1 join late, and who ended before joining is never seen
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, 6000)
    time = rng.exponential(np.exp(-0.7 * x))
    entry = np.where(x == 1, rng.uniform(0, 1.5, 6000), 0)
    seen = time > entry
    table = pd.DataFrame({"t": time.clip(max=2), "e": (time < 2).astype(int), "entry": entry, "x": x})[seen]
    late = cox_regression(table, time="t", event="e", covariates=["x"], start="entry")["cox_table"].iloc[0]
    assert late["coef"] == pytest.approx(0.7, abs=2.5 * late["se"])
    ignored = cox_regression(table, time="t", event="e", covariates=["x"])
    assert ignored["cox_table"]["coef"].iloc[0] < 0.3
    assert "set start to 'entry'" in text_of(ignored)


def test_recurrences_are_robust_by_subject(tmp_path):
    # Breslow's published values are in test_partial_likelihood; Efron's ties move them a little
    params = {"time": "stop", "event": "event", "covariates": ["rx", "size", "number"], "start": "start",
              "subject": "id"}  # fmt: skip
    record, tables, issues = run_step(cox_regression, {"survival": bladder()}, params, tmp_path)
    assert issues == []
    table = tables["cox_table"].set_index("term")
    assert table["coef"].to_dict() == pytest.approx({"rx": -0.46, "size": -0.043, "number": 0.172}, abs=0.006)
    assert table["se"].to_dict() == pytest.approx({"rx": 0.258, "size": 0.0756, "number": 0.0613}, rel=0.04)
    assert table["model_se"].to_dict() == pytest.approx({"rx": 0.2, "size": 0.069, "number": 0.0473}, rel=0.01)
    assert any("85 subjects in 178 rows with 112 events" in finding["text"] for finding in record["findings"])
    named = bladder().assign(id=lambda t: "p" + t["id"].astype(str)).sample(frac=1, random_state=3)
    again = cox_regression(named, **params)["cox_table"].set_index("term")
    assert again["se"].to_dict() == pytest.approx(table["se"].to_dict())


def test_rows_that_look_like_spans_or_repeat_are_said(heart):
    found = text_of(cox_regression(heart, time="stop", event="event", covariates=["age"]))
    assert "start lies below stop in every row" in found
    assert "id has 103 values in 172 rows" in found
    assert "rows look like spans" in text_of(kaplan_meier(heart, time="stop", event="event"))
    told = text_of(cox_regression(heart, **HEART, subject="id", covariates=["age"]))
    assert "rows look like spans" not in told
    assert "103 values" not in told


BAD = {
    "reversed": ({"start": "late"}, "do not start before they end"),
    "overlap": ({"start": "zero", "subject": "id"}, "overlap"),
    "negative": ({"start": "below"}, "negative values"),
    "covariate": ({"start": "age"}, "also serves otherwise"),
    "both": ({"start": "start", "landmark": 30.0}, "Leave one of them out"),
    "text": ({"start": "word"}, "not numbers"),
    "late landmark": ({"landmark": 1e6}, "Choose an earlier landmark"),
    "unit": ({"landmark": 1, "landmark_unit": "months"}, "is not known"),
}


def test_who_measured_is_no_subject():
    table = pd.DataFrame(
        {"days": range(1, 41), "Score (patient)": [30, 50, 60, 70, 80, 90, 100, 40] * 5, "patient": [*range(20)] * 2}
    )
    (found,) = row_warnings(table, "days", [])
    assert found.startswith("patient has 20 values")


@pytest.mark.parametrize("case", BAD)
def test_bad_spans_give_one_clear_sentence(heart, case):
    params, words = BAD[case]
    table = heart.assign(late=heart["stop"] + 1, zero=0.0, below=-1.0, word="x")
    with pytest.raises(ValueError) as caught:
        cox_regression(table, time="stop", event="event", covariates=["age"], **params)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


# Hazard ratios that change


def changing(n=1500, seed=6):
    """Hazard ratio e up to time 1, 1/e after it; the event comes before 3 or is not seen."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, n)
    spent = rng.exponential(1, n)
    early, late = np.exp(x - 0.5) * 0.6, np.exp(0.5 - x) * 0.6
    time = np.where(spent < early, spent / early, 1 + (spent - early) / late)
    return pd.DataFrame({"t": time.clip(max=3), "e": (time < 3).astype(int), "arm": np.where(x == 1, "new", "control")})


def test_ratios_before_and_after_are_those_of_the_two_halves(tmp_path):
    # The partial likelihood falls into two factors: follow-up ended at the cut, and those who live beyond it
    params = {"time": "t", "event": "e", "covariates": ["arm"]}
    record, tables, issues = run_step(cox_regression, {"survival": changing()}, params, tmp_path)
    assert issues == []
    first, second = tables["over_time"].to_dict("records")
    cut = first["to"]
    assert cut == pytest.approx(changing().query("e == 1")["t"].median(), abs=0.01)
    ended = changing().assign(e=lambda d: np.where(d["t"] <= cut, d["e"], 0), t=lambda d: d["t"].clip(upper=cut))
    beyond = changing().query("t > @cut")
    for row, part in ((first, ended), (second, beyond)):
        known = cox_regression(part, **params)["cox_table"].iloc[0]
        columns = ["coef", "hazard_ratio", "se", "lower_95", "upper_95", "p_value"]
        assert [row[c] for c in columns] == pytest.approx(known[columns].tolist(), rel=1e-5)
        assert row["events"] == part["e"].sum()
    spread = np.hypot(first["se"], second["se"])  # the halves are independent
    assert second["change"] == pytest.approx(np.exp(second["coef"] - first["coef"]))
    from scipy.stats import norm

    assert second["p_change"] == pytest.approx(2 * norm.sf(abs(second["coef"] - first["coef"]) / spread), rel=1e-4)
    assert first["hazard_ratio"] > 1.5
    assert second["hazard_ratio"] < 0.8
    text = " ".join(finding["text"] for finding in record["findings"])
    assert "arm new against control, up to" in text
    assert any("set strata to arm (no ratio of their own then)" in warning for warning in record["warnings"])


@pytest.mark.slow
def test_over_time_needs_a_doubt_and_knows_subjects():
    plain = changing().assign(who=range(1500))
    assert cox_regression(plain.query("t <= 0.9"), time="t", event="e", covariates=["arm"])["over_time"] is None
    twice = pd.concat([plain, plain])
    names = {"time": "t", "event": "e", "covariates": ["arm"]}
    once = cox_regression(plain, **names, subject="who")["over_time"]
    both = cox_regression(twice, **names, subject="who")["over_time"]
    naive = cox_regression(twice, **names)["over_time"]
    assert both["se"].tolist() == pytest.approx(once["se"].tolist(), rel=0.02)  # rows told twice tell nothing more
    assert (naive["se"] < 0.75 * both["se"]).all()


def test_numbers_are_advised_to_be_cut():
    from lifelines.datasets import load_rossi

    result = cox_regression(load_rossi(), time="week", event="arrest", covariates=["fin", "age", "prio"])
    assert "cut age into ranges and set strata to them" in text_of(result)
    assert set(result["over_time"]["term"]) == {"age"}


# Landmarks


def test_curves_after_a_landmark_are_conditional_survival(lung):
    # S(365 | 90) = S(365) / S(90), and the log-rank and Cox results are those of the rows beyond 90
    names = {"time": "time", "event": "status"}
    whole = kaplan_meier(lung, **names, at_times=["90", "365"])["survival_at"].set_index("time")["survival"]
    result = kaplan_meier(lung, **names, at_times=["365"], landmark=90, time_unit="days")
    assert result["survival_at"]["survival"].iloc[0] == pytest.approx(whole[365] / whole[90])
    assert result["curve_table"]["time"].iloc[0] == 90
    assert result["findings"][0]["text"].startswith("All subjects: survival at 365 days is")
    gone = int((lung["time"] <= 90).sum())
    assert f"Landmark at 90 days: {gone} of 228 subjects" in text_of(result)
    assert "immortal time" in text_of(result)
    beyond = lung[lung["time"] > 90]
    for tool, more, output in ((log_rank, {"group": "sex"}, "test_table"),
                               (cox_regression, {"covariates": ["sex", "age"]}, "cox_table")):  # fmt: skip
        pd.testing.assert_frame_equal(tool(lung, **names, **more, landmark=90)[output],
                                      tool(beyond, **names, **more)[output])  # fmt: skip


def test_a_moment_in_another_unit_comes_first_with_its_interval(lung):
    # summary(survfit(Surv(time, status) ~ 1, lung), times = 365.25): 0.409, as tests/toolbox/test_survival.py has it
    result = kaplan_meier(lung.rename(columns={"time": "days"}), time="days", event="status", at=1, at_unit="years",
                          interval="log")  # fmt: skip
    assert result["survival_at"]["time"].tolist() == [365.25]
    value = result["findings"][0]["values"][0]
    assert (value["value"], value["low"], value["high"]) == pytest.approx((0.409, 0.345, 0.486), abs=6e-4)
    assert (
        "survival at 1 year (365.25 days) is 40.9 % (95 % interval 34.5 to 48.6 %; 65 at risk)"
        in result["findings"][0]["text"]
    )
    assert "1 years are 365.25 days" in text_of(result)


@pytest.mark.slow
def test_a_landmark_takes_the_time_out_that_responders_must_have_lived():
    # Response does nothing: who lives until it comes (uniform on 0 to 2) has responded
    rng = np.random.default_rng(9)
    time, comes = rng.exponential(1, 4000), rng.uniform(0, 2, 4000)
    response = np.where(comes < time, "yes", "no")
    at_one = np.where((comes < time) & (comes < 1), "yes", "no")
    table = pd.DataFrame({"months": time.clip(max=3), "dead": (time < 3).astype(int), "ever": response, "by1": at_one})
    names = {"time": "months", "event": "dead"}
    naive = cox_regression(table, **names, covariates=["ever"])["cox_table"].iloc[0]
    fair = cox_regression(table, **names, covariates=["by1"], landmark=1)["cox_table"].iloc[0]
    assert naive["hazard_ratio"] < 0.5
    assert fair["lower_95"] < 1 < fair["upper_95"]


def test_a_landmark_in_another_unit_is_turned_and_said(lung):
    table = lung.rename(columns={"time": "days"})
    result = log_rank(table, time="days", event="status", group="sex", landmark=3, landmark_unit="months")
    assert "3 months are 91.3125 days" in text_of(result)
    with pytest.raises(ValueError, match="is not known"):
        log_rank(lung, time="time", event="status", group="sex", landmark=3, landmark_unit="months")


@pytest.mark.parametrize(
    ("function", "params"),
    [(kaplan_meier, {"group": "sex", "landmark": 90.0, "at_times": ["365"]}), (log_rank, {"group": "sex", "landmark": 90.0}),
     (cox_regression, {"covariates": ["sex", "age"], "landmark": 90.0})],
)  # fmt: skip
def test_steps_with_a_landmark_run_from_their_own_source(function, params, lung, tmp_path):
    _, _, issues = run_step(function, {"survival": lung}, {"time": "time", "event": "status", **params}, tmp_path)
    assert issues == []


# Which level is the event


@pytest.mark.parametrize(
    ("levels", "wanted", "column", "chosen", "said"),
    [
        (["1", "2"], "2", "status", "2", "coded 1 and 2 without words, and 2 was taken"),
        (["1", "2"], "1", "status", "1", "1 was taken as the event as asked"),
        (["0", "1"], "0", "died", "0", "0 usually means censored"),
        (["alive", "dead"], "alive", "status", "alive", "though its words mean no event"),
        (["0:LIVING", "1:DECEASED"], "0", "status", "0:LIVING", "though its words mean no event"),
        (["0=dead", "1=alive"], "1", "status", "1=alive", "though its words mean no event"),
        (["0=dead", "1=alive"], "0", "status", "0=dead", ""),
        (["0", "1"], "1", "alive", "1", "as the name may say"),
        (["No", "Yes"], "Yes", "censored", "Yes", "as the name may say"),
        (["No", "Yes"], "1", "relapse", "Yes", "'Yes' in relapse was taken as the event and 'No' as no event"),
        (["Dead", "Alive"], "1", "vital", "Dead", "'Dead' in vital was taken as the event"),
        (["dead", "alive"], "dead", "vital", "dead", ""),
        (["0", "1"], "1", "status", "1", ""),
    ],
)
def test_the_level_taken_as_the_event_is_said_where_it_may_be_another(levels, wanted, column, chosen, said):
    found, warnings = survival_event_level(levels, wanted, column)
    assert found == chosen
    assert said in " ".join(warnings) if said else warnings == []
