"""Cumulative incidence against R's cmprsk and Stata's stcompet (via statsmodels' own tests), and against counting."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from table_steps import check_issues, run_step

from engine.toolbox.survival.competing import competing_risks, gray_parts, incidence_curve


class MarsagliaMulticarry:
    """R's generator of before 1.7 (`RNGversion("1.6.2")`), so that the data of cmprsk's own tests can be made here."""

    def __init__(self, seed):
        for _ in range(50):
            seed = (69069 * seed + 1) % 2**32
        self.first = (69069 * seed + 1) % 2**32
        self.second = (69069 * self.first + 1) % 2**32

    def uniform(self):
        self.first = (36969 * (self.first & 0xFFFF) + (self.first >> 16)) % 2**32
        self.second = (18000 * (self.second & 0xFFFF) + (self.second >> 16)) % 2**32
        return (((self.first << 16) % 2**32) ^ (self.second & 0xFFFF)) * 2.328306437080797e-10

    def choice(self, n):
        return int(n * self.uniform())

    def exponential(self):
        """Ahrens and Dieter's (1972) algorithm SA."""
        sums = np.cumsum([math.log(2) ** k / math.factorial(k) for k in range(1, 17)])
        offset, u = 0.0, 2 * self.uniform()
        while u <= 1:
            offset, u = offset + sums[0], 2 * u
        u -= 1
        if u <= sums[0]:
            return offset + u
        smallest, i = min(self.uniform(), self.uniform()), 1
        while u > sums[i]:
            smallest, i = min(smallest, self.uniform()), i + 1
        return offset + smallest * sums[0]


@pytest.fixture(scope="module")
def cmprsk():
    """Data of cmprsk's tests/test.R: set.seed(2), 100 rows, three groups, two causes, two strata."""
    source = MarsagliaMulticarry(2)
    columns = {"time": [source.exponential() for _ in range(100)]}
    columns["group"] = ["abc"[source.choice(3)] for _ in range(100)]
    columns["cause"] = [source.choice(3) for _ in range(100)]
    columns["stratum"] = [source.choice(2) for _ in range(100)]
    return pd.DataFrame(columns)


def test_incidence_is_that_of_cmprsk(cmprsk):
    # cmprsk tests/test.Rout.save, cuminc(ss, cc) and cuminc(ss, cc, gg, strt): estimates at times 1, 2, 3
    for at, one, two in ((1, 0.2352861, 0.2567862), (2, 0.3287068, 0.3931580), (3, 0.4247898, 0.4631781)):
        table = competing_risks(cmprsk, time="time", event="cause", at=at)["incidence"].set_index("cause")
        assert table.loc[["1", "2"], "incidence"].tolist() == pytest.approx([one, two], abs=5e-8)
    table = competing_risks(cmprsk, time="time", event="cause", group="group", at=1)["incidence"]
    expected = {("a", "1"): 0.1311269, ("b", "1"): 0.2176471, ("c", "1"): 0.3816280, ("a", "2"): 0.2257601,
                ("b", "2"): 0.3117647, ("c", "2"): 0.2160508}  # fmt: skip
    found = table.set_index(["group", "cause"])["incidence"]
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=5e-8)


@pytest.mark.parametrize(
    ("groups", "cause", "statistic"),
    [("abc", "1", 3.393977), ("abc", "2", 1.989511), ("ac", "1", 3.5151549), ("ac", "2", 0.1400145)],
)
def test_grays_test_is_that_of_cmprsk_but_for_its_small_sample_variance(cmprsk, groups, cause, statistic):
    # The same file: Tests of cuminc(ss, cc, gg, strt), strata added up; here the variance is a plug-in one.
    scores, covariance = 0, 0
    for _, part in cmprsk[cmprsk["group"].isin(list(groups))].groupby("stratum"):
        states = part["cause"].map({0: "", 1: "1", 2: "2"})
        score, variance = gray_parts(part["time"], states, part["group"], list(groups), cause)
        scores, covariance = scores + score, covariance + variance
    found = scores[:-1] @ np.linalg.solve(covariance[:-1, :-1], scores[:-1])
    assert found == pytest.approx(statistic, rel=0.021)


def test_grays_test_without_competing_events_is_near_the_log_rank_test():
    from lifelines.statistics import logrank_test

    rng = np.random.default_rng(5)
    times, groups = rng.exponential(1, 300), rng.choice(["a", "b"], 300)
    times = np.where(groups == "a", times * 1.3, times)
    states = np.where(rng.random(300) < 0.8, "1", "")
    scores, covariance = gray_parts(times, states, groups, ["a", "b"], "1")
    one = groups == "a"
    known = logrank_test(times[one], times[~one], states[one] == "1", states[~one] == "1").test_statistic
    assert scores[0] ** 2 / covariance[0, 0] == pytest.approx(known, rel=0.05)


def test_grays_p_is_near_that_of_permuted_groups():
    rng = np.random.default_rng(8)
    groups = np.repeat(["a", "b"], 40)
    times = rng.exponential(1, 80)
    states = np.where(rng.random(80) < np.where(groups == "a", 0.55, 0.35), "1", "2")
    states = np.where(rng.random(80) < 0.2, "", states)

    def statistic(labels):
        scores, covariance = gray_parts(times, states, labels, ["a", "b"], "1")
        return scores[0] ** 2 / covariance[0, 0]

    seen = statistic(groups)
    permuted = np.mean([statistic(rng.permutation(groups)) >= seen for _ in range(300)])
    assert chi2.sf(seen, 1) == pytest.approx(permuted, abs=0.06)


def test_standard_errors_are_those_of_stata():
    # statsmodels' test_incidence, checked there against R's cuminc (estimates) and Stata's stcompet (errors)
    times = [1, 1, 2, 4, 4, 4, 6, 6, 7, 8, 9, 9, 9, 1, 2, 2, 4, 4]
    states = np.array([1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]).astype(str)
    states[states == "0"] = ""
    expected = {"1": (4, 0.17037037, 0.08976251), "2": (4, 0.20740741, 0.10610391), "3": (6, 0.17777778, 0.11196147),
                "3 late": (9, 0.26666667, 0.12787781)}  # fmt: skip
    for cause, (moment, share, error) in expected.items():
        row = incidence_curve(times, states, cause[0]).set_index("time").loc[moment]
        assert (row["incidence"], row["se"]) == pytest.approx((share, error), abs=1e-7)


def test_without_censoring_incidence_is_the_share_and_its_error_binomial():
    rng = np.random.default_rng(1)
    states = rng.choice(["x", "y"], 50)
    end = incidence_curve(rng.exponential(1, 50), states, "x").iloc[-1]
    share = (states == "x").mean()
    assert end["incidence"] == pytest.approx(share)
    assert end["se"] == pytest.approx(math.sqrt(share * (1 - share) / 50), rel=1e-6)


def study(n=120, seed=3):
    rng = np.random.default_rng(seed)
    ends = ["alive", "relapse", "death without relapse"]
    donor = rng.choice(["sibling", "unrelated"], n)
    chance = {"sibling": [0.4, 0.2, 0.4], "unrelated": [0.3, 0.5, 0.2]}
    outcome = [rng.choice(ends, p=chance[name]) for name in donor]
    return pd.DataFrame({"months": rng.exponential(20, n).round(1) + 0.1, "outcome": outcome, "donor": donor,
                         "age": rng.integers(18, 70, n)})  # fmt: skip


def test_order_of_rows_unit_and_names_do_not_matter():
    table = study()
    names = {"time": "months", "event": "outcome", "group": "donor"}
    plain = competing_risks(table, **names)
    mixed = competing_risks(table.sample(frac=1, random_state=1), **names)
    pd.testing.assert_frame_equal(plain["tests"], mixed["tests"])
    days = competing_risks(table.assign(days=table["months"] * 30), time="days", event="outcome", group="donor")
    assert days["incidence"]["incidence"].tolist() == pytest.approx(plain["incidence"]["incidence"].tolist())
    codes = table.assign(outcome=table["outcome"].map({"alive": 0, "death without relapse": 1, "relapse": 2}))
    coded = competing_risks(codes, **names)
    assert coded["tests"]["statistic"].tolist() == pytest.approx(plain["tests"]["statistic"].tolist())
    assert "outcome 2" in " ".join(finding["text"] for finding in coded["findings"])


def test_the_end_asked_for_comes_first_and_kaplan_meier_is_told_apart():
    result = competing_risks(study(), time="months", event="outcome", group="donor", event_value="Relapse", at=12)
    assert result["incidence"]["cause"].iloc[0] == "relapse"
    assert "incidence of relapse differs" in result["findings"][0]["text"]
    assert (result["incidence"]["one_minus_km"] >= result["incidence"]["incidence"] - 1e-12).all()
    assert any("Kaplan-Meier with the other ends censored" in text for text in result["warnings"])


def test_cause_specific_hazards_are_those_of_a_cox_model_with_the_others_censored():
    from lifelines import CoxPHFitter

    table = study()
    hazards = competing_risks(table, time="months", event="outcome", covariates=["age"])["hazards"].set_index("cause")
    direct = pd.DataFrame({"t": table["months"], "e": table["outcome"] == "relapse", "age": table["age"]})
    model = CoxPHFitter().fit(direct, "t", "e")
    assert hazards.loc["relapse", "coef"] == pytest.approx(model.params_["age"], rel=1e-6)


def test_a_column_of_causes_beside_a_yes_no_column_gives_the_same():
    table = study()
    dead = (table["outcome"] != "alive").map({True: "yes", False: "no"})
    apart = table.assign(ended=dead, cause=table["outcome"].where(table["outcome"] != "alive"))
    one = competing_risks(table, time="months", event="outcome", group="donor")["tests"]
    two = competing_risks(apart, time="months", event="ended", event_value="yes", cause_column="cause", group="donor")
    pd.testing.assert_frame_equal(one, two["tests"])


def test_a_late_moment_and_missing_rows_are_said():
    table = study()
    table.loc[[1, 2], "donor"] = None
    table.loc[5, "outcome"] = None
    result = competing_risks(table, time="months", event="outcome", group="donor", at=9, at_unit="years")
    text = " ".join(result["warnings"])
    assert "9 years are 108 months" in text
    assert "Nobody of one group was followed to 108" in text
    assert "donor (2)" in text
    assert "outcome (1)" in text
    assert competing_risks(table, time="months", event="outcome")["tests"] is None


BAD = {
    "nothing competes": ({"event": "dead"}, "nothing competes"),
    "codes without 0": ({"event": "code"}, "none of them is 0"),
    "negative": ({"time": "below"}, "negative times"),
    "unknown end": ({"event_value": "stroke"}, "no level 'stroke'"),
    "twice": ({"event": "months"}, "serves twice"),
    "many ends": ({"event": "row"}, "at most 8"),
    "text as time": ({"time": "donor"}, "not numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = study().assign(dead=[0, 1] * 60, code=[1, 2, 3] * 40, below=-1.0, row=range(120))
    with pytest.raises(ValueError, match=r".") as error:
        competing_risks(table, **{"time": "months", "event": "outcome"} | params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("params", [{}, {"group": "donor"}, {"covariates": ["age"], "at": 12.0}])
def test_step_runs_from_its_own_source_and_passes_its_checks(params, tmp_path):
    given = {"time": "months", "event": "outcome", "event_value": "relapse"} | params
    record, _, issues = run_step(competing_risks, {"survival": study()}, given, tmp_path)
    assert issues == []
    assert "probability of relapse" in " ".join(finding["text"] for finding in record["findings"])


def test_incidences_that_do_not_add_up_are_caught(tmp_path):
    curves = competing_risks(study(), time="months", event="outcome")["curve_table"]
    assert check_issues(["incidences_add_up"], {"curve_table": curves}, tmp_path) == []
    found = check_issues(["incidences_add_up"], {"curve_table": curves.assign(event_free=1.0)}, tmp_path)
    assert "incidences_do_not_add_up" in found
    found = check_issues(["incidences_add_up"], {"curve_table": curves.assign(upper_95=0.0)}, tmp_path)
    assert "incidence_inconsistent" in found


def test_a_plain_question_plans_it_with_the_right_columns(tmp_path):
    from plan_questions import profile_files, the_planner

    path = tmp_path / "transplants.csv"
    study().to_csv(path, index=False)
    planner = the_planner()
    question = "How likely is relapse within 24 months when some die before, by donor type?"
    node = planner.plan(question, profile_files([path])).plan.nodes[-1]
    expected = {"time": "months", "event": "outcome", "event_value": "relapse", "group": "donor", "at": 24.0}
    assert node.tool == "competing_risks"
    assert {key: node.params[key] for key in expected} == expected
