"""Strata against R's mantelhaen.test (UCBAdmissions, penicillin in rabbits), Rothman's trial and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from statsmodels.stats.contingency_tables import StratifiedTable
from table_steps import check_issues, run_step

from engine.toolbox.clinical.strata import stratified_risks

# R's UCBAdmissions (Bickel 1975): department -> men admitted, rejected, women admitted, rejected.
BERKELEY = {"A": (512, 313, 89, 19), "B": (353, 207, 17, 8), "C": (120, 205, 202, 391), "D": (138, 279, 131, 244),
            "E": (53, 138, 94, 299), "F": (22, 351, 24, 317)}  # fmt: skip
# R's ?mantelhaen.test, penicillin and rabbits (Agresti): cured and died without delay, cured and died after it.
RABBITS = {"1/8": (0, 6, 0, 5), "1/4": (3, 3, 0, 6), "1/2": (6, 0, 2, 4), "1": (5, 1, 6, 0), "4": (2, 0, 5, 0)}
# University Group Diabetes Program as in Rothman, Epidemiology: deaths and survivors on tolbutamide, on placebo.
DIABETES = {"below 55": (8, 98, 5, 115), "55 and more": (22, 76, 16, 69)}


def counted(cells, groups=("exposed", "unexposed"), states=("yes", "no")):
    """Return a row for each cell, with its number of subjects."""
    rows = [(name, group, state, four[2 * i + j]) for name, four in cells.items()
            for i, group in enumerate(groups) for j, state in enumerate(states)]  # fmt: skip
    return pd.DataFrame(rows, columns=["stratum", "group", "ill", "heads"])


COLUMNS = {"exposure": "group", "stratum": "stratum", "outcome": "ill", "event_value": "yes", "count": "heads",
           "exposed": "exposed", "reference": "unexposed"}  # fmt: skip


def common(cells, **params):
    result = stratified_risks(counted(cells), **(COLUMNS | params))
    return result["common"].set_index("measure"), result["tests"].set_index("test"), result


def test_berkeley_admissions_match_r():
    # mantelhaen.test(UCBAdmissions): common odds ratio 0.9046968 (0.7719074 to 1.0603298); X-squared 1.5246 and p =
    # 0.2169 without continuity correction
    rows, tests, result = common(BERKELEY, measure="odds ratio")
    found = rows.loc["odds ratio", ["adjusted", "lower_95", "upper_95"]].tolist()
    assert found == pytest.approx([0.9046968, 0.7719074, 1.0603298], abs=5e-8)
    cmh = tests.loc["Cochran-Mantel-Haenszel"]
    assert (cmh["chi_squared"], cmh["p_value"]) == (pytest.approx(1.5246, abs=5e-5), pytest.approx(0.2169, abs=5e-5))
    assert rows.loc["odds ratio", "crude"] == pytest.approx(1198 * 1278 / (1493 * 557))
    texts = [finding["text"] for finding in result["findings"]]
    assert "not shown to differ between exposed and unexposed: common odds ratio 0.905" in texts[0]
    assert "Simpson's paradox" in texts[1]
    assert "The odds ratios differ between the strata (from 0.349 in A to 1.22 in E)" in texts[2]


@pytest.mark.slow
def test_homogeneity_and_risk_ratio_match_statsmodels():
    for cells in (BERKELEY, DIABETES):
        rows, tests, _ = common(cells)
        other = StratifiedTable([np.array(four).reshape(2, 2) for four in cells.values()])
        alike = other.test_equal_odds(adjust=True)
        row = tests.loc["Breslow-Day with Tarone's correction"]
        assert (row["chi_squared"], row["p_value"]) == pytest.approx((alike.statistic, alike.pvalue))
        assert rows.loc["risk ratio", "adjusted"] == pytest.approx(other.riskratio_pooled)
        assert tests.loc["Cochran-Mantel-Haenszel", "p_value"] == pytest.approx(other.test_null_odds().pvalue)


def test_rothmans_trial_has_greenland_and_robins_variances():
    # Rothman, Epidemiology: An Introduction, chapter 8: crude risk difference 0.045, pooled 0.035 (printed 0.034 where
    # rounded before); risk ratio crude 1.44, pooled 1.33. Variances by the sums of Greenland and Robins (1985), by hand.
    rows, _, _ = common(DIABETES)
    assert rows.loc["risk difference", "crude"] == pytest.approx(0.045, abs=5e-4)
    assert rows.loc["risk ratio", ["crude", "adjusted"]].tolist() == pytest.approx([1.44, 1.33], abs=5e-3)
    strata = ((8, 106, 5, 120), (22, 98, 16, 85))
    up = sum(a * n0 / (n1 + n0) for a, n1, c, n0 in strata)
    down = sum(c * n1 / (n1 + n0) for a, n1, c, n0 in strata)
    spread = sum((n1 * n0 * (a + c) - a * c * (n1 + n0)) / (n1 + n0) ** 2 for a, n1, c, n0 in strata) / (up * down)
    limits = [up / down * math.exp(side * 1.959964 * math.sqrt(spread)) for side in (-1, 1)]
    assert rows.loc["risk ratio", ["lower_95", "upper_95"]].tolist() == pytest.approx(limits, rel=1e-6)
    weight = sum(n1 * n0 / (n1 + n0) for _, n1, _, n0 in strata)
    assert rows.loc["risk difference", "adjusted"] == pytest.approx((up - down) / weight)
    parts = [(a * (n1 - a) * n0**3 + c * (n0 - c) * n1**3) / (n1 * n0 * (n1 + n0) ** 2) for a, n1, c, n0 in strata]
    half = 1.959964 * math.sqrt(sum(parts)) / weight
    assert rows.loc["risk difference", "upper_95"] == pytest.approx((up - down) / weight + half, rel=1e-6)


def test_rabbits_match_r_though_strata_are_sparse():
    # mantelhaen.test(Rabbits): common odds ratio 7 (1.026713 to 47.725133); two strata say nothing of it
    rows, _, result = common(RABBITS, measure="odds ratio")
    found = rows.loc["odds ratio", ["adjusted", "lower_95", "upper_95"]].tolist()
    assert found == pytest.approx([7, 1.026713, 47.725133], rel=1e-6)
    assert rows.loc["odds ratio", "strata"] == 3
    assert any("2 of 5 strata say nothing" in text for text in result["warnings"])
    assert any("sparse" in text for text in result["warnings"])


ONE_SIDED = {  # group totals as (events, none) each; the last stratum has no event, or nothing else
    "no events": {"a": (18, 22, 9, 31), "b": (25, 30, 21, 39), "c": (0, 80, 0, 80)},
    "events only": {"a": (18, 22, 9, 31), "b": (25, 30, 21, 39), "c": (35, 0, 45, 0)},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_SIDED)
def test_strata_of_one_outcome_weigh_in_the_risks_but_not_in_the_odds(name, tmp_path):
    # Risk ratio and odds ratio by statsmodels over all three strata; the risk difference is the mean of the strata's
    # own with weights n1 n0 / n (Greenland and Robins 1985), by hand.
    cells = ONE_SIDED[name]
    rows, tests, result = common(cells)
    other = StratifiedTable([np.array(four).reshape(2, 2) for four in cells.values()])
    assert rows.loc["risk ratio", "adjusted"] == pytest.approx(other.riskratio_pooled)
    assert rows.loc["odds ratio", "adjusted"] == pytest.approx(other.oddsratio_pooled)
    four = np.array(list(cells.values()), dtype=float)
    n1, n0 = four[:, 0] + four[:, 1], four[:, 2] + four[:, 3]
    gap = np.average(four[:, 0] / n1 - four[:, 2] / n0, weights=n1 * n0 / (n1 + n0))
    assert rows.loc["risk difference", "adjusted"] == pytest.approx(gap)
    assert rows["strata"].to_dict() == {"risk ratio": 3, "risk difference": 3, "odds ratio": 2}
    useful = StratifiedTable([np.array(cells[key]).reshape(2, 2) for key in "ab"]).test_equal_odds(adjust=True)
    alike = tests.loc["Breslow-Day with Tarone's correction"]
    assert (alike["chi_squared"], alike["df"]) == (pytest.approx(useful.statistic), 1)
    assert any("1 of 3 strata say nothing of the odds ratio" in text for text in result["warnings"])
    for measure in ("auto", "odds ratio", "risk difference"):
        params = COLUMNS | {"measure": measure}
        (folder := tmp_path / measure).mkdir()
        assert run_step(stratified_risks, {"table": counted(cells)}, params, folder)[2] == []


# 85 and 45 of 100, 55 and 15 of 100: groups of one size in both strata, so nothing can confound, yet the crude odds
# ratio is 7/3 : 3/7 = 5.44 against odds ratios of 6.93 within strata.
BALANCED = {"mild": (85, 15, 45, 55), "grave": (55, 45, 15, 85)}


def test_odds_ratios_that_differ_without_confounding_are_not_called_confounded():
    rows, _, result = common(BALANCED, measure="odds ratio")
    assert rows.loc["odds ratio", "crude"] == pytest.approx(140 * 140 / (60 * 60))
    assert rows.loc["odds ratio", "adjusted"] == pytest.approx(85 * 55 / (15 * 45))
    assert rows.loc["risk difference", ["crude", "adjusted"]].tolist() == pytest.approx([0.4, 0.4])
    verdict = result["findings"][1]["text"]
    assert "no averages of their strata" in verdict
    assert "is confounded" not in verdict
    assert "is confounded by stratum" in common({"mild": (8, 32, 10, 90), "grave": (60, 40, 16, 24)},
                                                measure="odds ratio")[2]["findings"][1]["text"]  # fmt: skip
    chosen = stratified_risks(counted(BALANCED, states=("case", "control")), **(COLUMNS | {"event_value": "case"}))
    assert "The crude odds ratio" in chosen["findings"][1]["text"]
    assert "differs, 21 % too low: stratum may confound it" in chosen["findings"][1]["text"]


def test_subjects_heads_and_totals_give_the_same():
    table = counted(DIABETES)
    subjects = table.loc[table.index.repeat(table["heads"])].drop(columns="heads").sample(frac=1, random_state=3)
    wide = pd.DataFrame([(name, group, four[2 * i], four[2 * i] + four[2 * i + 1]) for name, four in DIABETES.items()
                         for i, group in enumerate(("exposed", "unexposed"))],
                        columns=["stratum", "group", "dead", "all"])  # fmt: skip
    heads = stratified_risks(table, **COLUMNS)["common"]
    rows = stratified_risks(subjects, **(COLUMNS | {"count": ""}))["common"]
    tally = {"exposure": "group", "stratum": "stratum", "events": "dead", "total": "all", "exposed": "exposed",
             "reference": "unexposed"}  # fmt: skip
    pd.testing.assert_frame_equal(heads, rows)
    pd.testing.assert_frame_equal(heads, stratified_risks(wide, **tally)["common"])


def test_cases_and_controls_give_the_odds_ratio_only():
    table = counted(DIABETES, states=("case", "control"))
    result = stratified_risks(table, **(COLUMNS | {"event_value": "case", "measure": "risk ratio"}))
    assert result["common"]["measure"].tolist() == ["odds ratio"]
    assert any("only the odds ratio" in text for text in result["warnings"])


def test_a_harmless_stratum_is_said_to_confound_little():
    cells = {"north": (20, 80, 10, 90), "south": (40, 160, 20, 180)}
    _, _, result = common(cells)
    assert "confounds little" in " ".join(finding["text"] for finding in result["findings"])
    assert result["common"].set_index("measure").loc["risk ratio", "adjusted"] == pytest.approx(2)


@pytest.mark.parametrize(
    ("cells", "measure"),
    [(BERKELEY, "odds ratio"), (RABBITS, "auto"), (DIABETES, "risk difference"),
     ({"a": (0, 9, 5, 4), "b": (0, 8, 3, 6)}, "auto")],
)  # fmt: skip
def test_step_runs_from_its_own_source_and_passes_its_checks(cells, measure, tmp_path):
    record, _, issues = run_step(stratified_risks, {"table": counted(cells)}, COLUMNS | {"measure": measure}, tmp_path)
    assert issues == []
    assert not any("nan" in finding["text"].split() for finding in record["findings"])


def test_a_common_measure_beyond_its_strata_is_caught(tmp_path):
    result = stratified_risks(counted(DIABETES), **COLUMNS)
    common, strata = result["common"], result["strata"]
    names = ["common_measure_amid_strata"]
    assert check_issues(names, {"common": common, "strata": strata}, tmp_path) == []
    wrong = common.assign(adjusted=9.0, upper_95=12.0)
    assert "common_beyond_strata" in check_issues(names, {"common": wrong, "strata": strata}, tmp_path)
    assert "interval_without_estimate" in check_issues(
        names, {"common": common.assign(upper_95=-9.0), "strata": strata}, tmp_path
    )


BAD = {
    "one stratum": ({"a": (3, 4, 5, 6)}, {}, "single level 'a'"),
    "nothing within": ({"a": (3, 4, 0, 0), "b": (0, 0, 5, 6)}, {}, "cannot be compared within"),
    "twice": (DIABETES, {"stratum": "group"}, "serves twice"),
    "measure": (DIABETES, {"measure": "hazard"}, "no measure 'hazard'"),
    "level": (DIABETES, {"exposed": "z"}, "no level 'z'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    cells, params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        stratified_risks(counted(cells), **(COLUMNS | params))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_three_groups_are_refused_by_name():
    table = counted(DIABETES)
    more = pd.concat([table, table.assign(group="both")])
    with pytest.raises(ValueError, match="has 3 groups"):
        stratified_risks(more, exposure="group", stratum="stratum", outcome="ill", event_value="yes")


@pytest.mark.parametrize(
    "question",
    [
        "is delayed calving tied to retained placenta within each breed? one pooled Mantel-Haenszel odds ratio, please",
        "Mantel-Haenszel risk ratio of retained placenta for twins, stratified by breed",
    ],
)
def test_a_plain_question_plans_it_with_its_columns(question, tmp_path):
    rng = np.random.default_rng(4)
    n = 160
    frame = pd.DataFrame({
        "cow": range(1, n + 1),
        "twins" if "twins" in question else "delayed_calving": rng.choice(["yes", "no"], n),
        "breed": rng.choice(["Angus", "Jersey", "Holstein"], n),
        "retained_placenta": rng.choice(["yes", "no"], n, p=[0.3, 0.7]),
    })  # fmt: skip
    frame.to_csv(tmp_path / "cows.csv", index=False)
    (step,) = the_planner().plan(question, profile_files([tmp_path / "cows.csv"])).plan.nodes
    assert step.tool == "stratified_risks"
    assert (step.params["exposure"], step.params["stratum"], step.params["outcome"]) == (
        frame.columns[1],
        "breed",
        "retained_placenta",
    )
