"""What the first sentences of steps say, and which of their findings a question is led to: readers forward these as they are."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from engine.planning.naming.numbers import beside
from engine.toolbox.asked import ASKS_HIGHEST, ASKS_LOWEST
from engine.toolbox.clinical.baseline import table_one
from engine.toolbox.pharmacology.compare_curves import compare_dose_response
from engine.toolbox.pharmacology.dose_curves import LEVEL_WORDS
from engine.toolbox.pharmacology.enzymes import enzyme_kinetics
from engine.toolbox.pharmacology.pharmacokinetics import pharmacokinetics
from engine.toolbox.statistics.groups import compare_groups
from engine.toolbox.statistics.meta_analysis import meta_analysis, sides_of_arms
from engine.toolbox.statistics.screening import compare_columns
from engine.toolbox.statistics.summaries import summarize_table
from engine.toolbox.statistics.trend import trend_test
from engine.toolbox.survival.curves import kaplan_meier
from engine.toolbox.tables.columns import called_level, format_number, format_p, shared_name
from engine.toolbox.tables.figures import scatter_plot
from engine.toolbox.tables.lines import line_plot
from engine.toolbox.tables.missing import missing_values
from engine.toolbox.tables.wording import several_told

DRAW = np.random.default_rng(5)


def first(function, table, **params) -> str:
    return function(table, **params)["findings"][0]["text"]


def led(function, question: str) -> list[str]:
    """Return the findings of a tool that a question is led to, by the names they are declared with."""
    return [name for name, words in function.tool_spec.leads.items() if re.search(words, question, re.IGNORECASE)]


def test_where_nothing_differs_no_pair_is_told_by_itself():
    table = pd.DataFrame({"ph": DRAW.normal(6, 1, 30), "field": list("ABC") * 10})
    text = first(compare_groups, table, value="ph", group="field")
    assert "none of 3 pairs differs (Tukey HSD)" in text
    assert "not shown: " not in text
    assert "compatible with differences of up to" in text


def test_means_over_doses_stand_in_the_order_of_the_doses():
    table = pd.DataFrame({"dose": [0, 5, 50] * 4, "wt": [3.0, 9, 6] * 4}) + 0
    assert first(summarize_table, table, columns=["wt"], group_by="dose") == (
        "Mean wt is 3.00 (SD 0, n = 4) at dose 0, 9.00 (SD 0, n = 4) at 5 and 6.00 (SD 0, n = 4) at 50."
    )


def test_who_has_several_rows_is_counted_beside_all():
    table = pd.DataFrame({"who": [f"P{k}" for k in (*range(20), 1, 2, 2)]})
    finding = summarize_table(table, columns=["who"], count=True)["findings"][0]
    assert finding["text"] == "20 different who in 23 rows, 2 of them with more than one."
    assert {value["name"]: value["value"] for value in finding["values"]} == {"n": 20, "n_several": 2}


def test_a_trend_names_the_groups_between_the_ends():
    table = pd.DataFrame({"dose": np.repeat([0, 1, 2], 10), "y": np.repeat([1.0, 4, 9], 10) + np.tile([-0.5, 0.5], 15)})
    text = first(trend_test, table, value="y", group="dose")
    assert "from a median of 1.00 at 0 to 9.00 at 2 (4.00 at 1)" in text


def test_rows_with_gaps_say_what_they_lack():
    table = pd.DataFrame({"a": [1, None, 3, 4], "b": [1, None, None, 4], "c": range(4)})
    assert "(row 2 lacks a and b, row 3 lacks b)" in first(missing_values, table)


def test_lines_of_subjects_are_counted_and_groups_told_as_groups():
    table = pd.DataFrame([(f"{g}{k}", g, day, k + day * (1 + (g == "B"))) for g in "AB" for k in range(5) for day in (0, 7)],
                         columns=["pup", "diet", "day", "g"])  # fmt: skip
    text = first(line_plot, table, value="g", x="day", group="diet", subject="pup", show="both")
    assert text == (
        "10 lines of pup are drawn; from first to last day, mean g rises in all 2 groups of diet: the changes lie "
        "between 7.00 (A) and 14.0 (B)."
    )


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        (["VC_pre", "VC_post"], "VC"),
        (["w0", "w12"], "w"),
        (["pain_w0", "pain_w8"], "pain_w"),
        (["pre", "post"], "value"),
    ],
)
def test_columns_of_one_measurement_are_called_by_whole_words(columns, name):
    assert shared_name(columns) == name


def test_points_that_a_log_axis_leaves_out_are_not_said_to_be_missing():
    table = pd.DataFrame({"dose": [0.0, 0, 1, 10, 100, 1000], "y": [1.0, 2, 3, 4, 5, 6]})
    text = first(scatter_plot, table, x="dose", y="y", log="x")
    assert text.startswith("4 of 6 rows are drawn (the others have no value of one of the two that can be drawn)")


def test_a_table_of_characteristics_begins_with_its_groups_and_what_differs():
    table = pd.DataFrame({"arm": ["drug"] * 40 + ["none"] * 40, "age": np.r_[np.arange(40) + 10, np.arange(40)] * 1.0,
                          "male": ["yes", "no"] * 40})  # fmt: skip
    text = first(table_one, table, group="arm", columns=["age", "male"])
    assert text.startswith("drug (n = 40) and none (n = 40) differ in 1 of 2 characteristics by more than 0.1 standard "
                           "deviations: age (mean 29.5 against 19.5)")  # fmt: skip


def test_of_three_groups_the_two_that_lie_furthest_apart_are_named():
    table = pd.DataFrame(
        {
            "site": np.repeat(["a", "b", "c"], 30),
            "age": np.r_[np.arange(30), np.arange(30) + 20, np.arange(30) + 3] * 1.0,
        }
    )
    assert "age (mean 34.5 in b against 14.5 in a)" in first(table_one, table, group="site", columns=["age"])


def test_a_few_measurements_of_two_groups_are_told_one_by_one():
    table = pd.DataFrame({"sow": ["old"] * 30 + ["young"] * 30, "litter": np.r_[DRAW.normal(14, 1, 30), DRAW.normal(11, 1, 30)],
                          "fat": DRAW.normal(18, 2, 60)})  # fmt: skip
    found = stats.ttest_ind(*(table.loc[table["sow"] == s, "litter"] for s in ("old", "young")), equal_var=False)
    low, high = found.confidence_interval()
    text = first(compare_columns, table, group="sow", columns=["litter", "fat"], treated="old", control="young")
    size = table.groupby("sow")["litter"].mean()
    assert text.startswith(
        f"litter is {format_number(size['old'] - size['young'])} higher in old than in young (95 % CI {format_number(low)} to "
        f"{format_number(high)}, adjusted {format_p(2 * found.pvalue)}); fat is not shown to differ between old and young"
    )


TRIALS = pd.DataFrame(
    {"cases (iron)": [4, 9, 3], "N iron": [100, 120, 90], "cases (sugar)": [11, 20, 12], "N sugar": [100, 118, 92]}
)


def test_pooled_trials_are_told_by_what_was_given():
    text = first(meta_analysis, TRIALS, arms=[*TRIALS.columns], measure="risk_ratio", model="fixed")
    ratio = float(re.search(r"risk ratio ([\d.]+)", text)[1])  # pyright: ignore[reportOptionalSubscript]
    assert text.startswith(
        f"Over the 3 studies together the risk is {100 * (1 - ratio):.1f} % lower with iron than with sugar"
    )


@pytest.mark.parametrize(
    ("arms", "sides"),
    [
        (["ev.trt", "n.trt", "ev.ctl", "n.ctl"], ("trt", "ctl")),
        (
            ["cases vaccinated", "total vaccinated", "cases unvaccinated", "total unvaccinated"],
            ("vaccinated", "unvaccinated"),
        ),
        (["tpos", "tneg", "cpos", "cneg"], ()),  # no word of its own
        (["e1", "n1", "e2", "n2"], ()),
    ],
)
def test_sides_are_named_by_what_sets_their_columns_apart(arms, sides):
    assert sides_of_arms(arms) == sides


def test_groups_that_are_numbered_keep_their_order_and_their_column():
    time = np.r_[np.arange(1, 11), np.arange(3, 13), np.arange(2, 12)]
    table = pd.DataFrame({"stage": np.repeat(["I", "II", "III"], 10), "months": time, "died": 1})
    text = first(kaplan_meier, table, time="months", event="died", group="stage")
    assert [text.index(f"with stage {level} (") for level in ("I", "II", "III")] == sorted(
        text.index(f"with stage {level} (") for level in ("I", "II", "III")
    )
    assert called_level("IV", "stage") == "stage IV"
    assert called_level("IV", "") == "IV"


def part(name: str, p: float) -> dict:
    return {"name": name, "p": p, "size": "2 higher", "where": f"per unit of {name}", "interval": "95 % CI 1 to 3"}


def test_of_two_predictors_the_first_is_told_first_though_it_shows_nothing():
    text = several_told([part("a", 0.4), part("b", 0.01)], "y")
    assert text.startswith("y is not shown to change with a (95 % CI 1 to 3, p = 0.4); it is 2 higher per unit of b")
    assert text.endswith("each is adjusted for the other.")
    more = several_told([part("a", 0.4), part("b", 0.01), part("c", 0.02)], "y", held=["age", "sex"])
    assert more.startswith("y is 2 higher per unit of b")
    assert more.endswith("each is adjusted for the others, age and sex.")


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("at what dose is growth 10 percent lower", 10),
        ("which dose cuts the yield by 25 %", 25),
        ("concentration that inhibits 90 % of it", 90),
        ("EC20 please", 20),
        ("half of them dead", None),
        ("does it reduce growth of 12 plants", None),
    ],
)
def test_the_part_of_an_effect_is_read_from_everyday_words(question, part):
    found = beside(question, "|".join(LEVEL_WORDS))
    assert (found.value if found else None) == part


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("when is the level highest", ["tmax"]),
        ("at which time does it peak", ["tmax"]),
        ("what peak is reached", ["cmax"]),
        ("half-life please", ["half_life"]),
        ("AUC of everybody", ["auc_inf"]),
        ("give AUC and half-life", ["half_life", "auc_inf"]),  # of several none leads
        ("how was it taken up", []),
    ],
)
def test_the_quantity_that_is_asked_for_leads(question, names):
    assert led(pharmacokinetics, question) == names


def test_constants_of_each_state_or_their_comparison():
    assert led(enzyme_kinetics, "Km and Vmax for each buffer") == ["n_curves"]
    assert led(enzyme_kinetics, "is Km higher in each buffer") == []
    assert led(compare_dose_response, "are the curves of the runs the same") == ["n_groups"]
    assert led(compare_dose_response, "which line is more sensitive") == []


@pytest.mark.parametrize(
    ("question", "low", "high"),
    [
        ("Which bait works best? Least damage wins.", True, False),
        ("which hive is best, more honey is better", False, True),
        ("which hive is best", False, False),
        ("wich hive has the most honey", False, True),
        ("which bait leaves the fewest rats", True, False),
    ],
)
def test_the_best_is_the_least_or_the_most_as_the_question_says(question, low, high):
    assert bool(re.search(ASKS_LOWEST, question, re.IGNORECASE)) == low
    assert bool(re.search(ASKS_HIGHEST, question, re.IGNORECASE)) == high


def test_small_studies_that_were_never_published_are_led_to():
    assert "intercept" in led(meta_analysis, "could small trials be unpublished?")
    assert "intercept" not in led(meta_analysis, "the pooled odds ratio of the published trials")
