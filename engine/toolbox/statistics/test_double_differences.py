"""Double differences against statsmodels, differences of means by hand and Card and Krueger's published table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from plan_questions import profile_files, the_planner
from table_steps import check_issues, run_step

from engine.toolbox.statistics.double_differences import difference_in_differences

COLUMNS = {"y": "pay", "group": "side", "time": "year", "unit": "shop", "treated": "law", "control": "none"}


def panel(shops=24, years=(2001, 2002, 2003, 2004), since=2003, effect=2.0, drift=0.0, seed=1):
    """Return a shop and year a row: shops and years differ, those under the law gain `effect` from `since` on."""
    rng = np.random.default_rng(seed)
    rows = []
    for shop in range(shops):
        law, level = shop % 2 == 0, rng.normal(0, 3)
        for year in years:
            pay = 20 + level + 0.7 * (year - years[0]) + rng.normal(0, 1)
            pay += law * (effect * (year >= since) + drift * (year - years[0]))
            rows.append((f"s{shop}", "law" if law else "none", year, pay))
    return pd.DataFrame(rows, columns=["shop", "side", "year", "pay"])


def test_two_periods_give_the_difference_of_the_mean_changes():
    table = panel(years=(2002, 2003))
    row = difference_in_differences(table, **COLUMNS)["effect"].iloc[0]
    wide = table.pivot_table(index=["shop", "side"], columns="year", values="pay").reset_index()
    wide["gain"] = wide[2003] - wide[2002]
    gains = {side: part["gain"].to_numpy() for side, part in wide.groupby("side")}
    assert row["estimate"] == pytest.approx(gains["law"].mean() - gains["none"].mean())
    # The sandwich of first differences by hand: within a group, residuals are gains about their mean.
    meat = sum(((gain - gain.mean()) ** 2).sum() / len(gain) ** 2 for gain in gains.values())
    assert row["se"] == pytest.approx(np.sqrt(meat * 24 / 23 * (48 - 1) / (48 - 2)))
    assert row["df"] == 23


@pytest.mark.parametrize("balanced", [True, False])
def test_several_periods_match_statsmodels_with_effects_of_shops_and_years(balanced):
    table = panel()
    table = table if balanced else table.drop(index=[1, 6, 19, 40, 41])
    row = difference_in_differences(table, **COLUMNS, start="2003")["effect"].iloc[0]
    data = table.assign(d=((table["side"] == "law") & (table["year"] >= 2003)).astype(float))
    full = smf.ols("pay ~ C(shop) + C(year) + d", data).fit()
    assert row["estimate"] == pytest.approx(full.params["d"])
    steps = pd.get_dummies(data["year"], drop_first=True, dtype=float)
    steps.columns = [f"y{name}" for name in steps]
    columns = pd.concat([data[["pay", "d"]], steps], axis=1)
    inside = columns - columns.groupby(data["shop"]).transform("mean")
    formula = "pay ~ 0 + d + " + " + ".join(steps)
    robust = smf.ols(formula, inside).fit(cov_type="cluster", cov_kwds={"groups": pd.factorize(data["shop"])[0]})
    assert row["se"] == pytest.approx(robust.bse["d"], rel=1e-9)


def test_different_subjects_before_and_after_are_clustered_by_their_village():
    rng = np.random.default_rng(5)
    rows = [(f"v{v}", "law" if v < 10 else "none", period, rng.normal(10 + v / 5 + (period == "late") * (v < 10), 2))
            for v in range(20) for period in ("early", "late") for _ in range(6)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["shop", "side", "year", "pay"])
    one_side = table[(table["year"] == "early") == (table["shop"].str[1:].astype(int) % 2 == 0)]
    row = difference_in_differences(one_side, **COLUMNS, before="early", after="late")["effect"].iloc[0]
    data = one_side.assign(t=one_side["side"] == "law", p=one_side["year"] == "late").astype({"t": float, "p": float})
    model = smf.ols("pay ~ t * p", data).fit(cov_type="cluster", cov_kwds={"groups": pd.factorize(data["shop"])[0]})
    assert (row["estimate"], row["se"]) == pytest.approx((model.params["t:p"], model.bse["t:p"]))


def test_card_and_krueger_mean_employment():
    # Card and Krueger (1994), table 3: New Jersey 20.44 to 21.03, Pennsylvania 23.33 to 21.17; change 2.76 (2.75 of the
    # rounded means)
    rows = [
        (f"{side}{i}", side, wave, mean + bump)
        for side, means in (("NJ", (20.44, 21.03)), ("PA", (23.33, 21.17)))
        for wave, mean in zip(("before", "after"), means, strict=True)
        for i, bump in enumerate((-1.0, 0.0, 1.0))
    ]
    table = pd.DataFrame(rows, columns=["shop", "side", "year", "pay"])
    result = difference_in_differences(table, **(COLUMNS | {"treated": "NJ", "control": "PA"}))
    assert result["effect"]["estimate"].iloc[0] == pytest.approx(2.75)
    assert result["means"].set_index(["group", "period"]).loc[("NJ", "after"), "mean"] == pytest.approx(21.03)
    assert any("few clusters (6 shop, 3 of them NJ)" in text for text in result["warnings"])


def test_groups_that_ran_apart_before_are_said_to():
    years = tuple(range(1996, 2004))
    apart = difference_in_differences(panel(years=years, since=2001, effect=0, drift=1.0), **COLUMNS, start="2001")
    alike = difference_in_differences(panel(years=years, since=2001, effect=1.5), **COLUMNS, start="2001")
    assert "moved apart" in apart["findings"][1]["text"]
    assert "the effect is in doubt" in apart["findings"][1]["text"]
    assert apart["effect"]["estimate"].iloc[1] == pytest.approx(1.0, abs=0.25)
    assert "are not shown to have moved apart" in alike["findings"][1]["text"]


def test_nothing_found_says_what_is_ruled_out():
    result = difference_in_differences(panel(effect=0.0, seed=2), **COLUMNS, start="2003")
    text = result["findings"][0]["text"]
    assert "is not shown to differ between law and none" in text
    assert "would be at odds with these data" in text


CALENDARS = {
    "quarters": (["Q3 2019", "Q4 2019", "Q1 2020", "Q2 2020", "Q3 2020", "Q1 2021"], ("Q2 2020", "2020-Q2", "2020q2")),
    "months": (["Jan", "Feb", "Mar", "Apr", "May", "Jun"], ("Apr", "april")),
    "months of years": (["Nov 2019", "Dec 2019", "Jan 2020", "Feb 2020", "Mar 2020", "Apr 2020"], ("Feb 2020",)),
    "days": ([f"2021-0{m}-01" for m in range(4, 10)], ("2021-07-01", "2021-07")),
    "weeks": ([f"week {n}" for n in (2, 4, 9, 10, 11, 12)], ("week 10", "10")),
    "baseline": (["baseline", *(f"T{n}" for n in (1, 2, 10, 11, 12))], ("T10",)),
}


@pytest.mark.parametrize("name", CALENDARS)
def test_periods_follow_the_calendar_not_the_alphabet(name):
    labels, starts = CALENDARS[name]
    table = panel(years=tuple(range(6)), since=3, drift=0.3).sample(frac=1, random_state=2)
    d = ((table["side"] == "law") & (table["year"] >= 3)).astype(float)
    true = smf.ols("pay ~ C(shop) + C(year) + d", table.assign(d=d)).fit().params["d"]
    named = table.assign(year=[labels[year] for year in table["year"]])
    for start in starts:
        result = difference_in_differences(named, **COLUMNS, start=start)
        assert result["effect"]["estimate"].iloc[0] == pytest.approx(true)
        assert result["means"].query("group == 'law'")["period"].tolist() == labels


@pytest.mark.parametrize(
    ("first", "second"), [("pre", "harvest"), ("sowing", "post"), ("Q4 2019", "Q1 2020"), ("no", "yes")]
)
def test_two_periods_are_put_in_order_where_they_have_one(first, second):
    table = panel(years=(0, 1), since=1)
    forth = difference_in_differences(table, **COLUMNS)["effect"]["estimate"].iloc[0]
    named = table.assign(year=table["year"].map({0: first, 1: second}))
    assert difference_in_differences(named, **COLUMNS)["effect"]["estimate"].iloc[0] == pytest.approx(forth)
    swapped = (
        named.rename(columns={"year": "pre_law"}) if first == "no" else named.replace({"year": {second: "spring"}})
    )
    words = "pre_law" if first == "no" else "year"
    if first != "pre":  # baseline tells the order whatever the other is called
        with pytest.raises(ValueError, match="name the one before and the one after"):
            difference_in_differences(swapped, **(COLUMNS | {"time": words}))


def test_changes_that_contradict_the_estimate_are_left_out():
    table = panel(seed=4)
    keep = ~((table["shop"].isin(["s0", "s2", "s4"])) & (table["year"] > 2002))
    holed = table.assign(pay=table["pay"] + 25.0 * table["shop"].isin(["s0", "s2", "s4"]))[keep]
    d = ((holed["side"] == "law") & (holed["year"] >= 2003)).astype(float)
    true = smf.ols("pay ~ C(shop) + C(year) + d", holed.assign(d=d)).fit().params["d"]
    result = difference_in_differences(holed, **COLUMNS, start="2003")
    text = result["findings"][0]["text"]
    assert f"difference in differences {true:.3g}"[:-1] in text
    assert "rose" not in text
    assert "fell" not in text
    assert any("means before and after are of different ones" in warning for warning in result["warnings"])
    assert "it rose by" in difference_in_differences(table, **COLUMNS, start="2003")["findings"][0]["text"]


BAD = {
    "words": (
        panel().assign(
            year=lambda t: t["year"].map(
                dict(zip(range(2001, 2005), ["sowing", "rain", "drought", "harvest"], strict=True))
            )
        ),
        {"start": "drought"},
        "words without an order",
    ),
    "two words": (panel(years=(1, 2)).assign(year=lambda t: t["year"].map({1: "wet", 2: "dry"})), {}, "came first"),
    "over new year": (
        panel().assign(year=lambda t: t["year"].map({2001: "Nov", 2002: "Dec", 2003: "Jan", 2004: "Feb"})),
        {"start": "Jan"},
        "without an order",
    ),
    "exchanged": (panel(), {"before": "2004", "after": "2002"}, "comes later"),
    "eight periods": (panel(), {}, "has 4 periods"),
    "start beyond": (panel(), {"start": "2010"}, "lie before the start"),
    "no period": (panel(), {"start": "spring"}, "'spring' is no period of 'year'"),
    "one unit": (panel(shops=3), {"start": "2003"}, "none has 1 shop"),
    "turned": (
        panel().assign(side=lambda t: np.where(t["year"] > 2002, "law", t["side"])),
        {"start": "2003"},
        "change",
    ),
    "same": (panel(), {"start": "2003", "control": "law"}, "both 'law'"),
    "twice": (panel(), {"start": "2003", "unit": "side"}, "serves twice"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    table, params, words = BAD[case]
    with pytest.raises(ValueError, match=words) as error:
        difference_in_differences(table, **(COLUMNS | params))
    assert "\n" not in str(error.value)


STEPS = {
    "panel": (panel(), {"start": "2003"}),
    "two periods": (panel(years=(2002, 2003)), {}),
    "no unit": (panel(years=(2002, 2003)), {"unit": ""}),
    "nobody named": (panel(years=(2002, 2003)), {"treated": "", "control": ""}),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    table, params = STEPS[name]
    record, _, issues = run_step(difference_in_differences, {"table": table}, COLUMNS | params, tmp_path)
    assert issues == []
    assert not any(" nan" in finding["text"] for finding in record["findings"])


def test_an_interval_that_contradicts_its_p_value_is_caught(tmp_path):
    effect = difference_in_differences(panel(), **COLUMNS, start="2003")["effect"]
    names = ["double_differences_consistent"]
    assert check_issues(names, {"effect": effect}, tmp_path) == []
    assert "interval_against_p" in check_issues(names, {"effect": effect.assign(p_value=0.4)}, tmp_path)


@pytest.mark.parametrize(
    ("question", "params"),
    [
        ("difference in differences of pay between the sides, 2002 to 2003, standard errors clustered by shop", {}),
        ("effect of the law on pay by diff-in-diff, shops as clusters, side and year; the law started in 2003",
         {"start": "2003"}),
        ("diff-in-diff of pay, law against none, from 2003 on, shops as clusters", {"start": "2003"}),
        ("diff-in-diff of pay by side; the shops under the law were treated with 7 posters since 2002", {"start": "2002"}),
        ("diff-in-diff of pay by side, the law 3 more than elsewhere, in force since year 2004", {"start": "2004"}),
        ("difference in differences of pay by side, law passed 2002, shop clustered", {"start": "2002"}),
        ("diff-in-diff of pay, law against none, which came in 2003, by year, shops as clusters", {"start": "2003"}),
    ],
)  # fmt: skip
def test_a_question_plans_it_with_unit_and_time(question, params, tmp_path):
    panel(years=(2001, 2002, 2003, 2004) if params else (2002, 2003)).to_csv(tmp_path / "shops.csv", index=False)
    plan = the_planner().plan(question, profile_files([tmp_path / "shops.csv"])).plan
    step = next(node for node in plan.nodes if node.tool == "difference_in_differences")
    expected = {"y": "pay", "group": "side", "time": "year", "unit": "shop"} | params
    assert {key: step.params.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("diff-in-diff of pay by side, shops as clusters, the law began in month Mar", "Mar"),
        ("diff-in-diff of pay by side over the months, from March on, shops as clusters", "March"),
        ("difference in differences of pay by side; shops were treated with 9 kg of leaflets", None),
    ],
)
def test_a_start_may_be_a_month_and_never_cuts_the_rows(question, start, tmp_path):
    table = panel(years=(0, 1, 2, 3), since=2)
    months = ["Jan", "Feb", "Mar", "Apr"]
    table.assign(year=[months[year] for year in table["year"]]).rename(columns={"year": "month"}).to_csv(
        tmp_path / "shops.csv", index=False
    )
    (step,) = the_planner().plan(question, profile_files([tmp_path / "shops.csv"])).plan.nodes
    assert step.tool == "difference_in_differences"
    assert (step.params["time"], step.params["unit"], step.params.get("start") or None) == ("month", "shop", start)
    if start:  # the same model with the months counted from 0
        params = {key: value for key, value in step.params.items() if key != "alpha"}
        named = table.assign(month=[months[year] for year in table["year"]])
        d = ((table["side"] == "law") & (table["year"] >= 2)).astype(float)
        true = smf.ols("pay ~ C(shop) + C(year) + d", table.assign(d=d)).fit().params["d"]
        assert difference_in_differences(named, **params)["effect"]["estimate"].iloc[0] == pytest.approx(true)
