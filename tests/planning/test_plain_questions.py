"""Shares, what is common, what looks wrong, what is highest, trends of a share; the same in German. The data are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(5)
ROWS = 90


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


def profiled(folder, name: str, frame: pd.DataFrame, **options: bool) -> list[Profile]:
    path = folder / name
    frame.to_csv(path, **{"index": False, **options})
    return profile_files([path])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plain")


@pytest.fixture(scope="module")
def cultures(folder) -> list[Profile]:
    frame = pd.DataFrame(
        {
            "patient_id": [f"P{n:03d}" for n in range(ROWS)], "ward": RNG.choice(["A", "B", "C"], ROWS),
            "sex": RNG.choice(["m", "f"], ROWS), "age": RNG.normal(60, 10, ROWS).round(),
            "organism": RNG.choice(["E. coli", "K. pneumoniae", "S. aureus"], ROWS),
            "cipro": RNG.choice(["S", "I", "R"], ROWS), "sbp": RNG.normal(130, 15, ROWS).round(),
            "died": RNG.integers(0, 2, ROWS),
        }
    )  # fmt: skip
    return profiled(folder, "cultures.csv", frame)


@pytest.fixture(scope="module")
def herd(folder) -> list[Profile]:
    frame = pd.DataFrame(
        {
            "KuhNr": range(1, ROWS + 1), "Rasse": RNG.choice(["Holstein", "Jersey", "Fleckvieh"], ROWS),
            "Behandlung": RNG.choice(["Kontrolle", "Wirkstoff"], ROWS), "Gewicht_kg": RNG.normal(600, 50, ROWS).round(),
            "Milch_vorher": RNG.normal(28, 4, ROWS).round(1), "Milch_nachher": RNG.normal(31, 4, ROWS).round(1),
            "Zellzahl": RNG.lognormal(5.2, 0.8, ROWS).round(), "krank": RNG.integers(0, 2, ROWS),
        }
    )  # fmt: skip
    return profiled(folder, "herd.csv", frame)


@pytest.fixture(scope="module")
def offers(folder) -> list[Profile]:
    months = pd.date_range("2022-01-01", periods=24, freq="MS").strftime("%Y-%m")
    given = RNG.integers(40, 90, 48)
    frame = pd.DataFrame({"month": np.repeat(months, 2), "clinic": ["East", "West"] * 24, "vaccine_offers": given})
    frame["vaccinated"] = (given * RNG.uniform(0.5, 0.8, 48)).astype(int)
    return profiled(folder, "offers.csv", frame)


def step(plan: TaskDag, tool: str) -> dict:
    assert not [q for q in plan.open_questions if q.blocking]
    found = [node.params for node in plan.nodes if node.tool == tool]
    assert found, f"no {tool} in {[node.tool for node in plan.nodes]}"
    return found[0]


# ==== shares ====


@pytest.mark.parametrize(
    ("question", "group"),
    [
        ("how many % of E. coli are cipro R?", None),
        ("what percentage of E. coli have cipro R", None),
        ("percent of E. coli isolates with cipro R per ward", "ward"),
    ],
)
def test_a_share_of_some_rows_keeps_these_and_counts_the_other_level(planner, cultures, question, group) -> None:
    plan = planner.plan(question, cultures).plan
    params = step(plan, "proportion_test")
    assert (params["event"], params["event_value"], params.get("group")) == ("cipro", "R", group)
    assert step(plan, "filter_rows")["condition"] == "`organism` in ['E. coli']"


@pytest.mark.parametrize(
    ("question", "expression", "happened", "group"),
    [
        ("what percentage of patients has sbp over 140 in each sex", "`sbp` > 140", "above 140", "sex"),
        ("how many patients have sbp under 120 per ward, in percent", "`sbp` >= 120", "below 120", "ward"),
    ],
)
def test_a_share_on_one_side_of_a_number_counts_that_side(planner, cultures, question, expression, happened, group):
    plan = planner.plan(question, cultures).plan
    assert expression in step(plan, "derive_column")["expression"]
    params = step(plan, "proportion_test")
    assert (params["event_value"], params["group"]) == (happened, group)
    assert all(node.tool != "filter_rows" for node in plan.nodes)


def test_the_same_number_cuts_rows_where_something_else_is_counted(planner, cultures) -> None:
    plan = planner.plan("what percentage of the patients over 60 died, per ward", cultures).plan
    assert step(plan, "proportion_test")["event"] == "died"
    assert "60" in step(plan, "filter_rows")["condition"]


@pytest.mark.parametrize(
    "question", ["is vaccination getting better over the months", "vaccinated out of vaccine_offers, does it go up with the months?"]
)  # fmt: skip
def test_a_count_of_a_total_over_months_is_a_trend_of_the_share(planner, offers, question) -> None:
    params = step(planner.plan(question, offers).plan, "trend_test")
    assert (params["events"], params["total"], params["group"]) == ("vaccinated", "vaccine_offers", "month")


# ==== what is wrong, common, highest ====


@pytest.mark.parametrize(
    "question",
    ["anything wrong in this file?", "is the list correct before I send it to the registry?", "please check my data for errors", "Stimmt etwas nicht in der Tabelle?"],
)  # fmt: skip
def test_who_asks_whether_data_are_right_gets_what_is_odd_and_what_is_missing(planner, cultures, question) -> None:
    plan = planner.plan(question, cultures).plan
    assert step(plan, "find_outliers") is not None
    assert step(plan, "missing_values") is not None
    assert not plan.open_questions


def test_outliers_alone_bring_no_missing_values_along(planner, cultures) -> None:
    plan = planner.plan("Are there outliers in sbp?", cultures).plan
    assert all(node.tool != "missing_values" for node in plan.nodes)


@pytest.mark.parametrize("question", ["how many patients per ward", "number of patients in each ward"])
def test_how_many_are_in_each_group_is_counted(planner, cultures, question) -> None:
    assert step(planner.plan(question, cultures).plan, "summarize_table")["group_by"] == "ward"


@pytest.mark.parametrize(
    "question", ["biggest 5 sbp values, with patient and ward", "show me the 5 patients with the highest sbp"]
)
def test_the_highest_rows_are_listed(planner, cultures, question) -> None:
    params = step(planner.plan(question, cultures).plan, "filter_rows")
    assert (params["sort_by"], params["order"], params["top_n"]) == ("sbp", "descending", 5)


@pytest.mark.parametrize("seed", range(4))
def test_the_most_common_taxa_of_a_meadow_are_told_by_their_shares(planner, folder, seed) -> None:
    draw = np.random.default_rng(seed)
    taxa = ["Bellis perennis", "Poa annua", "Trifolium repens", "Plantago major", "Lolium perenne", "Galium verum"]
    meadow = pd.DataFrame(draw.poisson(draw.uniform(1, 20, 6), (40, 6)), columns=taxa).assign(
        mowing=["cut", "uncut"] * 20
    )
    question = "which 3 species are the most common and what percent of all plants"
    params = step(planner.plan(question, profiled(folder, f"m{seed}.csv", meadow)).plan, "community_composition")
    assert (params["most"], params.get("group")) == (3, None)


# ==== German ====


@pytest.mark.parametrize(
    ("question", "tool", "params"),
    [
        ("Unterscheidet sich die Zellzahl zwischen den Rassen?", "compare_groups", {"value": "Zellzahl", "group": "Rasse"}),
        ("Ist das Gewicht bei Wirkstoff höher als bei Kontrolle?", "compare_groups", {"treated": "Wirkstoff", "control": "Kontrolle"}),
        ("Ist die Zellzahl bei den Jersey höher?", "compare_groups", {"value": "Zellzahl", "group": "Rasse"}),
        ("Hat die Behandlung einen Einfluss auf die Zellzahl?", "compare_groups", {"value": "Zellzahl", "group": "Behandlung"}),
        ("Ist die Milch nachher höher als vorher?", "compare_columns_paired", {"first": "Milch_nachher", "second": "Milch_vorher"}),
        ("Milch vorher und nachher, hat sie sich verändert?", "compare_columns_paired", {"first": "Milch_nachher"}),
        ("Wie viele Kühe sind pro Rasse krank?", "proportion_test", {"event": "krank", "group": "Rasse"}),
        ("Anteil krank nach Behandlung", "proportion_test", {"event": "krank", "group": "Behandlung"}),
        ("Wie hoch ist das mittlere Gewicht pro Rasse?", "summarize_table", {"columns": ["Gewicht_kg"], "group_by": "Rasse"}),
        ("Hängt das Gewicht mit der Zellzahl zusammen?", "correlation", {"x": "Gewicht_kg", "y": "Zellzahl"}),
        ("zeig mir die 3 Kühe mit dem kleinsten Gewicht", "filter_rows", {"sort_by": "Gewicht_kg", "order": "ascending", "top_n": 3}),
    ],
)  # fmt: skip
def test_the_commonest_questions_are_understood_in_german(planner, herd, question, tool, params) -> None:
    plan = planner.plan(question, herd).plan
    assert params.items() <= step(plan, tool).items()
    assert plan.question == question
    assert all(question[span.start : span.end] == span.text for span in plan.understood)


# ==== guesses ====


@pytest.mark.parametrize(
    "question",
    ["Wieviel Methan stossen die Kühe aus?", "how much methane do they lose through the heat", "Wieviel Futter verlieren die Ställe durch die Hitze?", "are the ferrets worse off with the vaccine"],
)  # fmt: skip
def test_what_is_not_in_the_data_is_named_and_nothing_is_offered_for_it(planner, herd, question) -> None:
    with pytest.raises(PlanError, match="Nothing in them is called"):
        planner.plan(question, herd)


def test_a_guess_is_refused_with_what_is_measured_and_grouped(planner, herd) -> None:
    with pytest.raises(PlanError) as refused:
        planner.plan("how much methane do they lose through the heat", herd)
    advice = refused.value.advice or ""
    assert "Measured are Gewicht_kg, Milch_vorher" in advice
    assert "groups are Rasse, Behandlung" in advice
    assert "KuhNr" not in advice
    assert refused.value.details["ways_on"]


def test_two_columns_that_are_all_there_is_are_asked_about(planner, folder) -> None:
    table = pd.DataFrame({"arm": ["a", "b"] * 15, "weight": RNG.normal(20, 2, 30).round(1)})
    plan = planner.plan("compare cholesterol between a and b", profiled(folder, "two.csv", table)).plan
    assert any("cholesterol" in question.text for question in plan.open_questions)


def test_a_vague_wording_is_answered_by_the_step_of_the_columns_that_are_named(planner, herd) -> None:
    plan = planner.plan("Behandlung wirkt auf Zellzahl?", herd).plan
    params = next(node.params for node in plan.nodes if node.tool == "compare_groups")
    assert (params["value"], params["group"]) == ("Zellzahl", "Behandlung")
    assert any(q.blocking for q in plan.open_questions)  # the wording says little, so it is asked


def test_the_only_column_that_fits_is_taken_and_said(planner, folder) -> None:
    table = pd.DataFrame(
        {"arm": ["a", "b"] * 20, "weight": RNG.normal(20, 2, 40).round(1), "height": RNG.normal(9, 1, 40).round(1)}
    )
    plan = planner.plan(
        "is there a difference in weight", profiled(folder, "one.csv", table), analysis="compare_groups"
    ).plan
    assert step(plan, "compare_groups")["group"] == "arm"


def test_the_only_other_number_is_not_offered_for_a_relation_to_something_else(planner, folder) -> None:
    table = pd.DataFrame(
        {"site": list("abcdef") * 5, "depth_m": RNG.normal(9, 2, 30), "oxygen_mg": RNG.normal(7, 1, 30)}
    )
    with pytest.raises(PlanError, match="second measurement"):
        planner.plan("is oxygen correlated with salinity?", profiled(folder, "lake.csv", table))


@pytest.mark.parametrize(
    "question", ["which genes go together with glucose?", "which genes follow the glucose of the samples"]
)
def test_relating_every_gene_to_a_number_of_the_samples_is_refused_by_name(planner, folder, question) -> None:
    samples = [f"S{n}" for n in range(12)]
    counts = pd.DataFrame(
        RNG.negative_binomial(5, 0.02, (200, 12)), index=[f"GENE{n}" for n in range(200)], columns=samples
    )
    sheet = pd.DataFrame({"sample": samples, "arm": ["a", "b"] * 6, "glucose": RNG.normal(5, 1, 12).round(2)})
    files = profiled(folder, "counts.csv", counts, index=True) + profiled(folder, "samples.csv", sheet)
    with pytest.raises(PlanError, match=r"each gene of counts\.csv to 'glucose'"):
        planner.plan(question, files)


def test_a_column_that_is_always_called_alike_is_not_taken_from_what_merely_fits(planner, folder) -> None:
    sheet = pd.DataFrame({"well": range(16), "treatment": ["LPS", "Ctrl"] * 8, "RIN": RNG.normal(8, 1, 16).round(1)})
    with pytest.raises(PlanError, match="cycles"):
        planner.plan("relative expression by ddCt, LPS against Ctrl", profiled(folder, "rna.csv", sheet))
