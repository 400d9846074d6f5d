"""Days between two dates against the calendar of the standard library, and survival from dates against lifelines."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter
from plan_questions import profile_files, the_planner
from table_steps import run_step

from engine.errors import PlanError
from engine.toolbox.survival.curves import kaplan_meier
from engine.toolbox.tables.handling import derive_column

DAYS = [(date(2019, 2, 27), date(2019, 3, 1)), (date(2020, 2, 27), date(2020, 3, 1)), (date(1999, 12, 31), date(2001, 1, 1))]  # fmt: skip


def between(first, second, **more):
    table = pd.DataFrame({"in": first, "out": second} | more)
    return derive_column(table, name="days", expression="days_between(`in`, `out`)")


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y"])
def test_every_form_gives_the_days_of_the_calendar(form):
    result = between([a.strftime(form) for a, _ in DAYS], [b.strftime(form) for _, b in DAYS])
    assert result["derived"]["days"].tolist() == [(b - a).days for a, b in DAYS] == [2, 3, 367]


def test_dates_read_as_dates_and_times_of_day_count():
    result = between(pd.to_datetime(["2021-03-01", "2021-03-02"]), pd.to_datetime(["2021-03-03 12:00", None]))
    assert result["derived"]["days"].tolist()[0] == 2.5
    assert "1 of 2 rows have no days: a date is missing" in result["warnings"][0]
    texts = between(["2021-03-01T06:00", "2021-03-01"], ["2021-03-02 18:00:00", "2021-03-01"])
    assert texts["derived"]["days"].tolist() == [1.5, 0]


BAD = {
    "wrong order": (["2020-01-05", "2020-02-01"], ["2020-01-01", "2020-03-01"],
                    "In 1 of 2 rows 'out' lies before 'in' .row 1: 2020-01-05 to 2020-01-01"),
    "mixed forms": (["2020-01-05", "1.2.2020"], ["2020-02-01", "2020-03-01"], "'in' mixes forms of dates .1 as"),
    "day and month": (["13/02/2020", "02/13/2020"], ["14/03/2020", "15/03/2020"], "day first and with the month first"),
    "not settled": (["01/02/2020", "03/04/2020"], ["05/06/2020", "07/08/2020"], "whether day or month comes first"),
    "two digits": (["01/02/20", "03/04/20"], ["2021-01-01", "2021-01-02"], "years of two digits"),
    "no day": (["2020-02-30", "2020-03-01"], ["2021-01-01", "2021-01-02"], "'2020-02-30' .* no day of the calendar"),
    "words": (["soon", "2020-03-01"], ["2021-01-01", "2021-01-02"], "'soon' in column 'in' is no date"),
    "numbers": ([43831, 43832], ["2021-01-01", "2021-01-02"], "holds numbers, not dates"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_in_one_way_is_refused_by_its_value(case):
    first, second, words = BAD[case]
    with pytest.raises(ValueError, match=words) as error:
        between(first, second)
    assert "\n" not in str(error.value)


def test_the_other_column_settles_which_comes_first():
    result = between(["01/02/2020", "03/04/2020"], ["05/06/2020", "27/08/2020"])
    assert result["derived"]["days"].tolist() == [(date(2020, 6, 5) - date(2020, 2, 1)).days,
                                                  (date(2020, 8, 27) - date(2020, 4, 3)).days]  # fmt: skip


def registry(n=90):
    rng = np.random.default_rng(6)
    start = pd.Timestamp("2012-03-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    arm = np.where(np.arange(n) % 2, "watchful", "surgery")
    until, limit = rng.exponential(np.where(arm == "surgery", 900, 500), n).round(), rng.integers(200, 1200, n)
    stop = start + pd.to_timedelta(np.minimum(until, limit), unit="D")
    return pd.DataFrame({"patient": range(1, n + 1), "arm": arm, "born": (start - pd.Timedelta(days=20000)).strftime("%Y-%m-%d"),
                         "diagnosed": start.strftime("%Y-%m-%d"), "last_seen": stop.strftime("%Y-%m-%d"),
                         "vital_status": np.where(until <= limit, "dead", "alive")})  # fmt: skip


@pytest.mark.parametrize(
    ("question", "last"),
    [("survival curves of the arms, counted from diagnosis", "kaplan_meier"),
     ("log-rank test of the two arms", "log_rank"),
     ("hazard ratio of surgery against watchful waiting from diagnosed to last_seen", "cox_regression")],
)  # fmt: skip
def test_survival_is_planned_from_two_dates(question, last, tmp_path):
    registry().to_csv(tmp_path / "registry.csv", index=False)
    plan = the_planner().plan(question, profile_files([tmp_path / "registry.csv"])).plan
    made, *rest = plan.nodes
    assert made.params["expression"] == "days_between(`diagnosed`, `last_seen`)"
    step = next(node for node in rest if node.tool == last)
    assert (step.params["time"], step.params["event"], step.params["event_value"]) == (
        made.params["name"],
        "vital_status",
        "dead",
    )
    assert step.inputs["survival"] == f"{made.id}.derived"
    assert not plan.not_answered
    assert not any("could be the time" in text for text in plan.warnings)


def test_medians_from_dates_are_those_of_lifelines(tmp_path):
    table = registry()
    _, tables, _ = run_step(
        derive_column, {"table": table}, {"name": "days", "expression": "days_between(diagnosed, last_seen)"}, tmp_path
    )
    result = kaplan_meier(tables["derived"], time="days", event="vital_status", event_value="dead")
    days = (pd.to_datetime(table["last_seen"]) - pd.to_datetime(table["diagnosed"])).dt.days
    fitted = KaplanMeierFitter().fit(days, table["vital_status"] == "dead")
    assert f"{fitted.median_survival_time_:.0f}" in " ".join(finding["text"] for finding in result["findings"])


def test_a_table_that_counts_days_itself_keeps_its_own_clock(tmp_path):
    table = registry().assign(survival_days=lambda t: (pd.to_datetime(t["last_seen"]) - pd.to_datetime(t["diagnosed"])).dt.days)  # fmt: skip
    table.to_csv(tmp_path / "registry.csv", index=False)
    plan = the_planner().plan("Kaplan-Meier by arm", profile_files([tmp_path / "registry.csv"])).plan
    assert [node.params.get("time") for node in plan.nodes] == ["survival_days"] * len(plan.nodes)


def only_the_dead():
    """Return the registry with a date for those who died and none for the living."""
    table = registry().rename(columns={"last_seen": "deceased_on"})
    return table.assign(deceased_on=table["deceased_on"].where(table["vital_status"] == "dead"))


@pytest.mark.parametrize(
    "question", ["do the arms differ in survival", "Kaplan-Meier from diagnosed to deceased_on by arm"]
)
def test_a_date_of_death_alone_is_no_end_of_watching(question, tmp_path):
    only_the_dead().to_csv(tmp_path / "registry.csv", index=False)
    data = profile_files([tmp_path / "registry.csv"])
    assert data[0].structure.dated == {}
    with pytest.raises(PlanError, match="time"):
        the_planner().plan(question, data)


def test_times_that_lack_in_the_living_are_refused_for_their_bias():
    # lifelines on the full registry: half have died after the median below; of the dead alone, half long before.
    full, table = registry(), only_the_dead()
    days = (pd.to_datetime(full["last_seen"]) - pd.to_datetime(full["diagnosed"])).dt.days
    dead = full["vital_status"] == "dead"
    medians = [KaplanMeierFitter().fit(days[kept], dead[kept]).median_survival_time_ for kept in (dead | True, dead)]
    assert medians[1] < 0.75 * medians[0]
    with pytest.raises(ValueError, match=f"missing in {(~dead).sum()} of {(~dead).sum()} rows without the event"):
        kaplan_meier(table.assign(days=days.where(dead)), time="days", event="vital_status", event_value="dead")
    few = days.where(dead | (np.arange(len(days)) % 3 > 0))
    warnings = kaplan_meier(table.assign(days=few), time="days", event="vital_status", event_value="dead")["warnings"]
    assert any("looks more frequent than it is" in text for text in warnings)
    alike = days.where(np.arange(len(days)) % 4 > 0)
    warnings = kaplan_meier(table.assign(days=alike), time="days", event="vital_status", event_value="dead")["warnings"]
    assert not any("more frequent" in text for text in warnings)


def test_a_date_of_loss_that_most_never_came_to_ends_the_watching_of_those_who_did(tmp_path):
    table = registry().rename(columns={"diagnosed": "Insertion_Datum", "last_seen": "Letzte_Kontrolle"})
    lost = table["vital_status"] == "dead"
    table = table.assign(Verlust_Datum=table["Letzte_Kontrolle"].where(lost)).drop(columns="vital_status")
    table.to_csv(tmp_path / "implants.csv", index=False)
    data = profile_files([tmp_path / "implants.csv"])
    told = {"entry": "Insertion_Datum", "exit": "Letzte_Kontrolle", "came": "Verlust_Datum"}
    assert data[0].structure.dated == told
    plan = the_planner().plan("do the arms differ in survival", data).plan
    (node,) = [node for node in plan.nodes if node.tool == "log_rank"]
    derived = {n.params["name"]: n.params["expression"] for n in plan.nodes if n.tool == "derive_column"}
    assert {node.params["time"], node.params["event"]} == {*derived}
    made = table
    for name, expression in derived.items():
        made = derive_column(made, name=name, expression=expression)["derived"]
    days = (pd.to_datetime(table["Letzte_Kontrolle"]) - pd.to_datetime(table["Insertion_Datum"])).dt.days
    assert made[node.params["time"]].tolist() == days.tolist()
    assert (made[node.params["event"]] == "yes").tolist() == lost.tolist()


def test_who_has_no_day_of_death_was_seen_until_the_last_measurement(tmp_path):
    draw, n = np.random.default_rng(5), 40
    table = pd.DataFrame({"mouse": [f"m{k}" for k in range(n)], "vacc": ["PBS", "A"] * (n // 2)})
    for day in range(0, 15, 2):
        table[f"wt_d{day}_g"] = draw.normal(20, 1, n).round(1)
    dies = (draw.random(n) < np.where(table["vacc"] == "PBS", 0.8, 0.2)).astype(bool)
    table["death_dpi"] = np.where(dies, draw.integers(5, 11, n), np.nan)
    table.to_csv(tmp_path / "mice.csv", index=False)
    data = profile_files([tmp_path / "mice.csv"])
    assert data[0].structure.dated == {"came": "death_dpi", "until": "14"}
    plan = the_planner().plan("Is survival after challenge longer in A than in PBS?", data).plan
    derived = {n.params["name"]: n.params["expression"] for n in plan.nodes if n.tool == "derive_column"}
    assert derived["death_dpi or 14"] == "if_else(is_missing(`death_dpi`), 14, `death_dpi`)"
    assert any(node.tool == "log_rank" and node.params["time"] == "death_dpi or 14" for node in plan.nodes)
