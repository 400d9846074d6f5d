"""Residuals of records with entries and ties against R's survival package, and against likelihoods written out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, root

from engine.toolbox.survival.partial_likelihood import (
    cluster_covariance,
    cox_residuals,
    fit_cox,
    interval_concordance,
    interval_hazards_test,
)

# Therneau and Grambsch (2000), appendix E, data set 2; coxph(Surv(start, stop, event) ~ x, test2)
TEST2 = pd.DataFrame(
    {"start": [1, 2, 5, 2, 1, 7, 3, 4, 8, 8], "stop": [2, 3, 6, 7, 8, 9, 9, 9, 14, 17],
     "event": [1, 1, 1, 1, 1, 1, 1, 0, 0, 0], "x": [1, 0, 0, 1, 0, 1, 1, 1, 0, 0]}
)  # fmt: skip

# Recurrences of bladder cancer (Byar 1980; Wei, Lin and Weissfeld 1989), R's bladder2: a subject is
# rx number size: months of recurrences (at most four), `+` the month up to which it was followed after the last one.
BLADDER = """
1 1 3:1+;1 2 1:4+;1 1 1:7+;1 5 1:10+;1 4 1:6 10+;1 1 1:14+;1 1 1:18+;1 1 3:5 18+;1 1 1:12 16 18+;1 3 3:23+;
1 1 3:10 15 23+;1 1 1:3 16 23;1 3 1:3 9 21 23+;1 2 3:7 10 16 24;1 1 1:3 15 25;1 1 2:26+;1 8 1:1 26+;1 1 4:2 26;
1 1 2:25 28+;1 1 4:29+;1 1 2:29+;1 4 1:29+;1 1 6:28 30;1 1 5:2 17 22 30+;1 2 1:3 6 8 12;1 1 3:12 15 24 31+;1 1 2:32+;
1 2 1:34+;1 2 1:36+;1 3 1:29 36+;1 1 2:37+;1 4 1:9 17 22 24;1 5 1:16 19 23 29;1 1 2:41+;1 1 1:3 43+;1 2 6:6 43+;
1 2 1:3 6 9 44+;1 1 1:9 11 20 26;1 1 1:18 48+;1 1 3:49+;1 3 1:35 51+;1 1 7:17 53+;1 3 1:3 15 46 51;1 1 1:59+;
1 3 2:2 15 24 30;1 1 3:5 14 19 27;1 2 3:2 8 12 13;2 1 3:1+;2 1 1:1+;2 8 1:5;2 1 2:9+;2 1 1:10+;2 1 1:13+;2 2 6:3 14+;
2 5 3:1 3 5 7;2 5 1:18+;2 1 3:17 18+;2 5 1:2 19+;2 1 1:17 19 21+;2 1 1:22+;2 1 3:25+;2 1 5:25+;2 1 1:25+;
2 1 1:6 12 13 26+;2 1 1:6 27+;2 2 1:2 29+;2 8 3:26 35 36+;2 1 1:38+;2 1 1:22 23 27 32;2 6 1:4 16 23 27;
2 3 1:24 26 29 40;2 3 2:41+;2 1 1:41+;2 1 1:1 27 43+;2 1 1:44+;2 6 1:2 20 23 27;2 1 2:45+;2 1 4:2 46+;2 1 4:46+;
2 3 3:49+;2 1 1:50+;2 4 1:4 24 47 50+;2 3 4:54+;2 2 1:38 54+;2 1 3:59+
"""


def bladder():
    rows = []
    for number, text in enumerate(BLADDER.replace("\n", "").split(";"), start=1):
        facts, months = text.split(":")
        rx, tumours, size = (int(part) for part in facts.split())
        begin = 0
        for month in months.split():
            end = int(month.rstrip("+"))
            rows.append((number, rx, tumours, size, begin, end, int(not month.endswith("+"))))
            begin = end
    return pd.DataFrame(rows, columns=["id", "rx", "number", "size", "start", "stop", "event"])


def solve(table, terms, **options):
    """Return the coefficients at which the score residuals add up to 0."""

    def score(beta):
        return cox_residuals(table["start"], table["stop"], table["event"], table[terms], beta, **options)[0].sum(
            axis=0
        )

    return root(score, np.zeros(len(terms)), tol=1e-10).x


def information(table, terms, beta, **options):
    """Return the observed information by differences of the score."""

    def score(at):
        return cox_residuals(table["start"], table["stop"], table["event"], table[terms], at, **options)[0].sum(axis=0)

    steps = 1e-5 * np.eye(len(terms))
    return -np.array([(score(beta + step) - score(beta - step)) / 2e-5 for step in steps])


def test_residuals_of_start_stop_data_are_those_of_r():
    # survival's tests/book4.Rout.save: resid(fit, 'scor') and resid(fit, 'scho'), Efron
    beta = [brentq(lambda b: cox_residuals(TEST2["start"], TEST2["stop"], TEST2["event"], TEST2[["x"]], [b])[0].sum(),
                   -2, 2)]  # fmt: skip
    score, schoenfeld, records = cox_residuals(TEST2["start"], TEST2["stop"], TEST2["event"], TEST2[["x"]], beta)
    known = [0.2553039, -0.2183386, -0.4744295, -0.1101520, 0.1137126, 0.2491954, 0.1057078, -0.4119611, 0.2454808,
             0.2454808]  # fmt: skip
    assert score.ravel() == pytest.approx(known, abs=5e-8)
    known = [0.5052761, -0.3286599, -0.5949242, 0.2539781, -0.7460219, 0.4551759, 0.4551759]
    assert schoenfeld.ravel() == pytest.approx(known, abs=5e-8)
    assert records.tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_residuals_of_plain_data_with_ties_are_those_of_r():
    # survival's tests/book2.Rout.save (data set 1 of the same appendix), coefficient 1.676857
    time, event, x = [9, 1, 1, 6, 6, 8], [1, 1, 0, 1, 1, 0], [[0], [1], [1], [1], [0], [0]]
    score, schoenfeld, _ = cox_residuals([0] * 6, time, event, x, [1.676857])
    known = [0.2208584, 0.1132780, -0.0442340, -0.1029199, -0.4078409, 0.2208584]
    assert score.ravel() == pytest.approx(known, abs=1e-6)
    assert schoenfeld.ravel() == pytest.approx([0, 0.157512, 0.421244, -0.578756], abs=1e-6)


def test_strata_are_kept_apart():
    # survival's tests/book4.R: the data three times, shifted in time, as three strata have the same residuals each
    parts = [TEST2.assign(start=TEST2["start"] + k, stop=TEST2["stop"] + k, group=k) for k in (1, 2, 3)]
    three = pd.concat(parts, ignore_index=True)
    score, schoenfeld, _ = cox_residuals(
        three["start"], three["stop"], three["event"], three[["x"]], [-0.3], three["group"]
    )
    once, each, _ = cox_residuals(TEST2["start"], TEST2["stop"], TEST2["event"], TEST2[["x"]], [-0.3])
    assert np.allclose(score, np.tile(once, (3, 1)))
    assert np.allclose(schoenfeld, np.tile(each, (3, 1)))


def test_robust_errors_of_recurrences_are_those_of_r():
    # survival's tests/bladder.Rout.save: coxph(Surv(start, stop, event) ~ rx + size + number + cluster(id), bladder2,
    # method='breslow'): n = 178, 112 events, coef, se(coef), robust se; Wald test 11.76
    table, terms = bladder(), ["rx", "size", "number"]
    assert (len(table), table["event"].sum(), table["id"].nunique()) == (178, 112, 85)
    beta = solve(table, terms, efron=False)
    assert beta == pytest.approx([-0.45979, -0.04256, 0.17164], abs=5e-6)
    covariance = np.linalg.inv(information(table, terms, beta, efron=False))
    assert np.sqrt(np.diag(covariance)) == pytest.approx([0.19996, 0.06903, 0.04733], abs=6e-6)
    score, _, _ = cox_residuals(table["start"], table["stop"], table["event"], table[terms], beta, efron=False)
    robust = cluster_covariance(score, covariance, table["id"])
    assert np.sqrt(np.diag(robust)) == pytest.approx([0.25801, 0.07555, 0.06131], abs=6e-6)
    assert beta @ np.linalg.solve(robust, beta) == pytest.approx(11.76, abs=5e-3)


def test_lifelines_solves_the_efron_score_of_recurrences():
    table, terms = bladder(), ["rx", "size", "number"]
    model, _ = fit_cox(table[[*terms, "start", "event"]].assign(time=table["stop"]), [], 0.0, "start")
    assert model.params_.to_numpy() == pytest.approx(solve(table, terms), abs=1e-6)
    known = np.sqrt(np.diag(np.linalg.inv(information(table, terms, model.params_.to_numpy()))))
    assert model.summary["se(coef)"].to_numpy() == pytest.approx(known, rel=1e-5)


def test_cluster_moves_are_what_a_clusters_weight_does():
    # The score with case weights written out; the slope of its root in the weight of each of 40 subjects
    rng = np.random.default_rng(4)
    clusters, x = np.repeat(np.arange(40), 2), rng.normal(size=80)
    start = rng.uniform(0, 0.5, 80)
    stop = start + rng.exponential(np.exp(-0.5 * x - np.repeat(rng.normal(0, 0.8, 40), 2)))
    event = (stop < 2).astype(int)
    stop = stop.clip(max=2)

    def estimate(weights):
        def score(beta):
            risk, total = weights * np.exp(beta * x), 0.0
            for one in np.flatnonzero(event):
                there = (start < stop[one]) & (stop >= stop[one])
                total += weights[one] * (x[one] - (risk * x)[there].sum() / risk[there].sum())
            return total

        return brentq(score, -5, 5, xtol=1e-13)

    moves = [
        (estimate(1 + 1e-4 * (clusters == one)) - estimate(1 - 1e-4 * (clusters == one))) / 2e-4 for one in range(40)
    ]
    table = pd.DataFrame({"x": x, "start": start, "stop": stop, "event": event})
    beta = np.array([estimate(np.ones(80))])
    score, _, _ = cox_residuals(start, stop, event, x[:, None], beta)
    robust = cluster_covariance(score, np.linalg.inv(information(table, ["x"], beta)), clusters)
    assert robust[0, 0] == pytest.approx(np.square(moves).sum(), rel=1e-5)


def test_without_entries_test_and_concordance_are_those_of_lifelines():
    from lifelines.datasets import load_rossi
    from lifelines.statistics import proportional_hazard_test

    terms = ["fin", "age", "prio"]
    table = load_rossi().rename(columns={"week": "time", "arrest": "event"})[[*terms, "time", "event"]]
    plain, _ = fit_cox(table, [], 0.0)
    known = proportional_hazard_test(plain, table, time_transform="km").summary.loc[terms]
    entered = table.assign(start=0.0)
    model, _ = fit_cox(entered, [], 0.0, "start")
    statistics, p_values = interval_hazards_test(model, entered, [])
    assert dict(zip(model.params_.index, statistics, strict=True)) == pytest.approx(
        known["test_statistic"].to_dict(), rel=1e-4
    )
    assert dict(zip(model.params_.index, p_values, strict=True)) == pytest.approx(known["p"].to_dict(), rel=1e-4)
    found = interval_concordance(0 * table["time"], table["time"], table["event"], table[terms] @ plain.params_[terms])
    assert found == pytest.approx(plain.concordance_index_, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.integers(1, 6), st.booleans(), st.integers(-2, 2)), min_size=3, max_size=14
    ),
    st.floats(-1, 1),
)
def test_score_is_the_slope_of_the_efron_likelihood_written_out(rows, beta):
    start, length, event, x = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    stop = start + length

    def likelihood(b):
        total, risk = 0.0, np.exp(b * x)
        for moment in np.unique(stop[event == 1]):
            dead = (stop == moment) & (event == 1)
            at_risk = risk[(start < moment) & (stop >= moment)].sum()
            total += b * x[dead].sum()
            total -= sum(np.log(at_risk - k / dead.sum() * risk[dead].sum()) for k in range(dead.sum()))
        return total

    score, _, _ = cox_residuals(start, stop, event, x[:, None], [beta])
    slope = (likelihood(beta + 1e-5) - likelihood(beta - 1e-5)) / 2e-5
    assert score.sum() == pytest.approx(slope, abs=1e-5)
