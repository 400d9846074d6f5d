"""Prediction, reduction and clusters against scikit-learn, SciPy, counting and published intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from table_steps import check_issues, run_step

from engine.toolbox.learning.clusters import cluster_samples
from engine.toolbox.learning.components import principal_component_analysis
from engine.toolbox.learning.folds import possible_folds, prepared_rows, split_rows
from engine.toolbox.learning.judging import calibration, feature_importance
from engine.toolbox.learning.measures import area_interval, area_under_curve
from engine.toolbox.learning.prediction import classify, predict_value

QUICK = {"repeats": 1}


def patients(n=120, seed=2):
    """Return patients whose state depends on a and b; c and text are noise, and three columns should not be used."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, n))
    ill = rng.random(n) < 1 / (1 + np.exp(-(2 * a + b)))
    table = pd.DataFrame({"patient": [f"P{i:03}" for i in range(n)], "a": a, "b": b, "c": c,
                          "ward": rng.choice(["north", "south"], n), "state": np.where(ill, "ill", "healthy")})  # fmt: skip
    table["code"] = table["state"].map({"ill": 7, "healthy": 3})
    table["study"] = "one"
    table["score"] = 3 * a + rng.normal(size=n)
    return table


def test_area_and_its_interval():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(1)
    truth, score = rng.random(60) < 0.4, rng.integers(0, 6, 60)
    assert area_under_curve(truth, score) == pytest.approx(roc_auc_score(truth, score))
    low, high = area_interval(0.8, 30, 40)
    for end in (low, high):  # the ends solve (A - t)^2 = z^2 V(t), Newcombe (2006), method 5
        half = 35 - 1
        variance = end * (1 - end) * (1 + half * (1 - end) / (2 - end) + half * end / (1 + end)) / (30 * 40)
        assert (0.8 - end) ** 2 == pytest.approx(1.959964**2 * variance, rel=1e-5)
    assert area_interval(1.0, 10, 10)[0] < 0.9
    assert area_interval(1.0, 10, 10)[1] == 1.0


def test_ids_constants_and_copies_of_the_outcome_are_left_out_and_said():
    frame, _, _, warnings = prepared_rows(patients(), "state", [], "", False)
    assert list(frame.columns) == ["a", "b", "c", "ward", "score"]
    text = " ".join(warnings)
    assert "ids or free text): patient" in text
    assert "give the answer away): code" in text
    assert "the same in every row): study" in text
    assert list(prepared_rows(patients(), "score", ["a", "b"], "", True)[0].columns) == ["a", "b"]
    doubled = patients().assign(twice=lambda t: 2 * t["score"] + 1)
    assert "twice" not in prepared_rows(doubled, "score", [], "", True)[0].columns


def test_a_subject_is_never_in_both_parts():
    table = pd.concat([patients(60), patients(60)], ignore_index=True)
    for outcome, number in (("state", False), ("score", True)):
        _, target, groups, _ = prepared_rows(table, outcome, ["a", "b"], "patient", number)
        assert groups is not None
        folds, _ = possible_folds(target, groups, 5, number)
        tested = []
        for train, test in split_rows(target, groups, folds, 1, number):
            assert not set(groups.iloc[train]) & set(groups.iloc[test])
            tested += list(test)
        assert sorted(tested) == list(range(120))


def test_a_label_that_depends_is_predicted_and_noise_is_not():
    result = classify(patients(), outcome="state", predictors=["a", "b", "c"], **QUICK)
    row = result["performance"].set_index("measure").loc["AUC"]
    assert row["value"] > 0.8
    assert "can be predicted better than by guessing" in result["findings"][0]["text"]
    noise = classify(patients(), outcome="ward", predictors=["a", "b", "c"], **QUICK)
    assert "cannot be shown" in noise["findings"][0]["text"]
    shares = patients()["state"].value_counts(normalize=True)
    found = result["performance"].set_index("measure")
    assert found.loc["accuracy", "baseline"] == pytest.approx(shares.max())
    predicted = result["predictions"]
    assert found.loc["accuracy", "value"] == pytest.approx((predicted["true"] == predicted["predicted"]).mean())
    assert found.loc["brier", "value"] == pytest.approx(
        ((predicted["probability ill"] - (predicted["true"] == "ill")) ** 2).mean()
    )


@pytest.mark.slow
def test_repeated_rows_of_subjects_without_a_signal_are_not_recognised():
    rng = np.random.default_rng(3)
    noise = patients(40).assign(state=rng.permutation(["ill", "healthy"] * 20))
    copies = pd.concat([noise] * 4, ignore_index=True)
    alike = copies.assign(a=copies["a"] + rng.normal(0, 1e-3, len(copies)))
    named = {"outcome": "state", "predictors": ["a", "b", "c", "score"], "model": "forest", **QUICK}
    leaking = classify(alike, **named)
    assert leaking["performance"]["value"].iloc[0] > 0.95
    assert "patient repeats (40 values in 160 rows) and was not given as the subject" in leaking["warnings"][0]
    assert classify(alike, subject="patient", **named)["performance"]["value"].iloc[0] < 0.75
    kept_together = classify(copies, **named)  # exact copies are found without being told
    assert kept_together["performance"]["value"].iloc[0] < 0.75
    assert "120 rows are copies" in " ".join(kept_together["warnings"])


def test_a_number_is_predicted_as_well_as_its_noise_allows():
    result = predict_value(patients(300), outcome="score", predictors=["a", "b", "c"], **QUICK)
    row = result["performance"].set_index("measure")
    assert row.loc["R2", "value"] == pytest.approx(0.9, abs=0.04)  # 9 of 10 parts of the variance come from a
    assert row.loc["RMSE", "value"] == pytest.approx(1, abs=0.12)
    error = result["predictions"]["error"]
    assert row.loc["RMSE", "value"] == pytest.approx(np.sqrt((error**2).mean()))
    scaled = patients(300).assign(score=lambda t: 10 * t["score"])
    tenfold = predict_value(scaled, outcome="score", predictors=["a", "b", "c"], **QUICK)["performance"]
    assert tenfold["value"].iloc[1] == pytest.approx(10 * row.loc["RMSE", "value"], rel=1e-6)
    noise = predict_value(patients(), outcome="c", predictors=["a", "b"], **QUICK)
    assert "cannot be shown" in noise["findings"][0]["text"]


def test_gaps_are_filled_in_the_folds_and_said():
    table = patients()
    table.loc[[1, 5, 9], "a"] = np.nan
    table.loc[4, "ward"] = None
    table.loc[7, "state"] = None
    result = classify(table, outcome="state", predictors=["a", "b", "ward"], **QUICK)
    text = " ".join(result["warnings"])
    assert "1 of 120 rows were left out" in text
    assert "4 gaps in 2 predictors" in text
    assert len(result["predictions"]) == 119


@pytest.mark.slow
def test_importance_finds_what_the_label_depends_on():
    result = feature_importance(patients(200), outcome="state", predictors=["c", "b", "a"], model="linear", repeats=2)
    table = result["importance"]
    assert table["predictor"].tolist()[:2] == ["a", "b"]
    assert table.set_index("predictor").loc["a", "helped"] == 1
    noise = feature_importance(patients(), outcome="ward", predictors=["a", "b", "c"], model="linear", repeats=1)
    assert "hardly works" in noise["findings"][0]["text"]


def test_components_are_those_of_scikit_learn_and_loadings_have_length_one():
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    table = patients()[["a", "b", "c", "score"]]
    result = principal_component_analysis(table)
    model = PCA().fit(StandardScaler().fit_transform(table))
    assert result["variance"]["share"].tolist() == pytest.approx(model.explained_variance_ratio_.tolist())
    loadings = result["loadings"].drop(columns="measure").to_numpy()
    assert np.abs(loadings) == pytest.approx(np.abs(model.components_.T))
    moved = principal_component_analysis(table * [1, 10, 100, 0.1] + 5)
    assert moved["variance"]["share"].tolist() == pytest.approx(result["variance"]["share"].tolist())
    assert "1 component rises" in result["findings"][0]["text"]


def blobs(gap, n=40):
    rng = np.random.default_rng(4)
    values = rng.normal(size=(3 * n, 4)) + gap * np.repeat(np.eye(3, 4), n, axis=0)
    return pd.DataFrame(values, columns=list("abcd")).assign(kind=np.repeat(["x", "y", "z"], n))


@pytest.mark.slow
def test_three_clouds_are_three_stable_groups_and_one_cloud_is_none():
    from sklearn.metrics import adjusted_rand_score

    apart = cluster_samples(blobs(8), resamples=20, most=5)
    assert len(apart["clusters"]) == 3
    assert apart["clusters"]["stability"].min() > 0.95
    assert adjusted_rand_score(blobs(8)["kind"], apart["members"]["cluster"]) == 1
    one = cluster_samples(blobs(0), resamples=20, most=5)
    assert "no sign of separate groups" in one["findings"][0]["text"]
    asked = cluster_samples(blobs(8), k=2, resamples=20, most=5)
    assert len(asked["clusters"]) == 2


def forecasts(n=3000, slope=1.0, shift=0.0):
    rng = np.random.default_rng(6)
    logit = rng.normal(-0.5, 1.2, n)
    happened = rng.random(n) < 1 / (1 + np.exp(-(shift + logit / slope)))
    return pd.DataFrame({"risk": 1 / (1 + np.exp(-logit)), "relapse": np.where(happened, "yes", "no")})


def test_calibration_finds_the_slope_and_shift_that_were_put_in():
    from sklearn.metrics import brier_score_loss

    table = forecasts()
    found = calibration(table, outcome="relapse", probability="risk")["calibration"].set_index("measure")
    assert found.loc["brier", "value"] == pytest.approx(brier_score_loss(table["relapse"] == "yes", table["risk"]))
    assert found.loc["slope", "value"] == pytest.approx(1, abs=0.12)
    assert found.loc["intercept", "value"] == pytest.approx(0, abs=0.12)
    extreme = calibration(forecasts(slope=2), outcome="relapse", probability="risk")
    assert extreme["calibration"].set_index("measure").loc["slope", "value"] == pytest.approx(0.5, abs=0.08)
    assert "too extreme" in extreme["findings"][0]["text"]
    low = calibration(forecasts(shift=1), outcome="relapse", probability="risk")
    assert "too low" in low["findings"][0]["text"]
    percent = calibration(table.assign(risk=100 * table["risk"]), outcome="relapse", probability="risk")["calibration"]
    assert percent["value"].tolist() == pytest.approx(found["value"].tolist())


BAD = {
    "one label": (classify, {"outcome": "study"}, "nothing to predict"),
    "many labels": (classify, {"outcome": "patient"}, "at most 12"),
    "itself": (classify, {"outcome": "state", "predictors": ["state"]}, "cannot be a predictor too"),
    "nothing left": (classify, {"outcome": "state", "predictors": ["patient", "code"]}, "No column is left"),
    "text": (predict_value, {"outcome": "ward"}, "not numbers"),
    "one predictor": (feature_importance, {"outcome": "state", "predictors": ["a"]}, "at least two columns"),
    "nothing named": (feature_importance, {}, "was not said"),
    "one measure": (principal_component_analysis, {"measures": ["a"]}, "at least two columns"),
    "text measure": (cluster_samples, {"measures": ["a", "ward"]}, "not numbers"),
    "too many groups": (cluster_samples, {"measures": ["a", "b"], "k": 100}, "at most 60"),
    "no probability": (calibration, {"outcome": "state", "probability": "a"}, "between 0 and 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    function, params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        function(patients(), **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="at least 10"):
        classify(patients(8), outcome="state", predictors=["a", "b"])
    few = patients().assign(state=["ill"] * 3 + ["healthy"] * 117)
    with pytest.raises(ValueError, match="only 3 rows of ill"):
        classify(few, outcome="state", predictors=["a", "b"])


STEPS = {
    "classify": (classify, patients(), {"outcome": "state", "repeats": 1}),
    "predict": (predict_value, patients(), {"outcome": "score", "predictors": ["a", "b"], "repeats": 1}),
    "importance": (feature_importance, patients(60), {"outcome": "state", "model": "linear", "repeats": 1}),
    "pca": (principal_component_analysis, patients(), {"measures": ["a", "b", "c", "score"], "group": "state"}),
    "clusters": (cluster_samples, blobs(8, 20), {"resamples": 10, "most": 4}),
    "calibration": (calibration, forecasts(300), {"outcome": "relapse", "probability": "risk"}),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    function, table, params = STEPS[name]
    _, _, issues = run_step(function, {"table": table}, params, tmp_path)
    assert issues == []


def test_impossible_results_are_caught(tmp_path):
    tables = {key: value for key, value in classify(patients(), outcome="state", predictors=["a"], **QUICK).items()
              if isinstance(value, pd.DataFrame)}  # fmt: skip
    names = ["performance_possible", "every_row_predicted"]
    assert check_issues(names, tables, tmp_path) == []
    wrong = tables | {"performance": tables["performance"].assign(value=1.2)}
    assert "performance_out_of_range" in check_issues(names, wrong, tmp_path)
    assert "confusion_total" in check_issues(names, tables | {"confusion": tables["confusion"].head(1)}, tmp_path)


PLANS = {
    "Can the state be predicted from a, b and c, and how well on new patients?": (
        "classify", {"outcome": "state", "predictors": ["a", "b", "c"]}),
    "PCA of a, b, c and score, coloured by state": (
        "principal_component_analysis", {"measures": ["a", "b", "c", "score"], "group": "state"}),
    "Are there natural groups among the patients by a, b and c, how many?": (
        "cluster_samples", {"measures": ["a", "b", "c"]}),
    "How well can the score be predicted from a, b and c in unseen patients, cross-validated?": (
        "predict_value", {"outcome": "score", "predictors": ["a", "b", "c"]}),
    "Which of a, b and c are most important to predict state, permutation importance?": (
        "feature_importance", {"outcome": "state", "predictors": ["a", "b", "c"]}),
    "Calibration curve of risk for relapse": ("calibration", {"outcome": "state", "probability": "risk"}),
}  # fmt: skip


@pytest.mark.parametrize("question", PLANS)
def test_a_plain_question_plans_it_with_the_right_columns(question, tmp_path):
    from plan_questions import profile_files, the_planner

    tool, params = PLANS[question]
    path = tmp_path / "patients.csv"
    if tool == "calibration":
        forecasts(200).to_csv(path, index=False)
        params = {"outcome": "relapse", "probability": "risk"}
    else:
        names = {"a": "albumin", "b": "bilirubin", "c": "calcium"}
        patients().drop(columns=["code", "study"]).rename(columns=names).to_csv(path, index=False)
        for short, long in names.items():
            question = question.replace(f" {short},", f" {long},").replace(f" {short} ", f" {long} ")
        params = {k: [names.get(n, n) for n in v] if isinstance(v, list) else v for k, v in params.items()}
    planner = the_planner()
    node = planner.plan(question, profile_files([path])).plan.nodes[-1]
    assert node.tool == tool
    found = {key: sorted(v) if isinstance(v := node.params.get(key), list) else v for key in params}
    assert found == {key: sorted(value) if isinstance(value, list) else value for key, value in params.items()}
