"""The reader of questions: what it shows a model, what it does with answers that do not fit, and what leaves the machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from growth_data import write_growth
from scripted import Scripted

from engine.agents.describe import files_text, tool_text
from engine.agents.reader import ROUNDS, QuestionReader
from engine.data.profiler import profile_file
from engine.domain.plan import OpenQuestion
from engine.domain.profile import ColumnProfile
from engine.errors import ModelUnavailable, PlanError
from engine.planning.making.finish import doubts_of
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

FIT = {
    "goals": [
        {
            "analysis": "compare_groups",
            "tool": "compare_groups",
            "params": {"value": "growth", "group": "treatment", "treated": "treated", "control": "control"},
        }
    ],
    "words": [{"words": "grow", "means": "column", "value": "growth"}],
}
MISFIT = {"goals": [{"analysis": "compare_groups", "tool": "compare_groups", "params": {"value": "size"}}]}


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    return profile_file(write_growth(tmp_path_factory.mktemp("reader") / "growth.csv"))


def read(profile, *answers: dict[str, Any], near: Iterable[str] = ("compare_groups",), levels: bool = True):
    models, registry = Scripted(*answers), builtin_tools()
    reader = QuestionReader(models, Planner(registry), registry, levels)
    return models, lambda: reader.plan("Do treated plants grow more?", [profile], list(near)).plan


def test_a_reading_becomes_a_plan_that_says_who_read(profile):
    models, plan = read(profile, FIT)
    made = plan()
    assert {"value": "growth", "group": "treatment"}.items() <= next(
        n for n in made.nodes if n.priority == 2
    ).params.items()
    assert any("scripted/one" in note for note in made.notes)
    assert "## compare_groups:" in models.asked[0]
    assert "## correlation:" not in models.asked[0]
    assert "correlation: " in models.asked[0]


def test_what_does_not_fit_goes_back_to_the_model(profile):
    models, plan = read(profile, MISFIT, FIT)
    plan()
    assert "no column" not in models.asked[0]
    assert "there is no column 'size'" in models.asked[1]


def test_a_reading_that_never_fits_ends_after_its_rounds(profile):
    models, plan = read(profile, *[MISFIT] * ROUNDS)
    with pytest.raises(PlanError, match="No reading of the model fits"):
        plan()
    assert len(models.asked) == ROUNDS


def test_a_tool_asked_for_is_shown_with_its_parameters(profile):
    models, plan = read(profile, {"see": ["correlation", "no_such_tool"]}, FIT)
    plan()
    assert "## correlation:" in models.asked[1]


def test_what_a_good_answer_meets_is_written_before_it_runs(profile):
    _, plan = read(profile, FIT | {"criteria": ["An interval of the difference is given."]})
    assert "A good answer meets: An interval of the difference is given." in plan().notes


def test_tools_that_are_shown_already_or_do_not_exist_are_named_instead_of_shown_again(profile):
    models, plan = read(profile, {"see": ["compare_groups", "no_such_tool"]}, FIT)
    plan()
    assert "compare_groups is shown with its parameters already" in models.asked[1]
    assert "There is no tool 'no_such_tool'" in models.asked[1]
    assert models.asked[1].count("## compare_groups:") == 1


def test_what_the_model_asks_stands_in_the_plan(profile):
    _, plan = read(profile, FIT | {"ask": {"text": "Fresh or dry weight?", "choices": ["fresh", "dry"]}})
    (asked,) = [question for question in plan().open_questions if question.id == "reader_0"]
    assert asked.text == "Fresh or dry weight?"


def test_no_row_and_without_consent_no_level_is_shown(profile, tmp_path):
    text = files_text([profile])
    assert '"treated" (20)' in text
    assert "p17" not in text  # an id of a row
    alone = files_text([profile], levels=False)
    assert "treated" not in alone
    assert "2 different values" in alone


def test_of_a_measurement_the_range_is_told_and_no_single_value(tmp_path):
    path = tmp_path / "trees.csv"
    rows = [f"t{tree},{age},{30 + 7 * tree + age},{age // 2}" for tree in range(4) for age in (1, 2, 5)]
    path.write_text("tree,age,girth_mm,fruits\n" + "\n".join(rows) + "\n")
    lines = files_text([profile_file(path)]).splitlines()
    (girth,) = [line for line in lines if '"girth_mm"' in line]
    assert "31 to 56" in girth
    assert "values" not in girth


def number(name: str, high: float = 2.0, **more: Any) -> ColumnProfile:
    return ColumnProfile(name=name, kind="number", scale="number", minimum=0.5, maximum=high, distinct=30, **more)


def described(profile, columns: list[ColumnProfile]) -> list[str]:
    text = files_text([profile.model_copy(update={"column_profiles": columns})])
    return [line for line in text.splitlines() if line.startswith("- ")]


def test_columns_that_a_number_tells_apart_are_told_in_one_line_with_every_name(profile):
    wells = [number(f"{row}{n}", 2 + n / 10, missing=n == 3) for row in "ABCDE" for n in range(1, 13)]
    time, alone, together = described(profile, [number("hours", 24), number("A13", 90.0), *wells])
    assert ("hours" in time, "A13" in alone) == (True, True), "another range is told by itself"
    for well in wells:
        assert f'"{well.name}"' in together
    assert together.endswith('"E12", 60 columns alike, over all of them: number; 0.5 to 3.2; 5 missing')


def test_many_alike_columns_of_any_names_are_told_together_and_few_are_not(profile):
    genes = [number(name) for name in "MYC KRAS PTEN IL RELA TBX FAS TNF JAK STAT RORC GATA".split()]
    (line,) = described(profile, genes)
    assert '"MYC", "KRAS", "PTEN"' in line
    assert len(described(profile, genes[:-1])) == len(genes) - 1


@pytest.mark.parametrize(
    "other",
    [{"unit": "mg"}, {"notes": ["3 cells such as `np` are read as missing."]}, {"label": "weight"}, {"maximum": 20.0},
     {"scale": "count"}, {"levels": {"1": 3, "2": 4}, "scale": "ordered"}],
)  # fmt: skip
def test_of_alike_columns_one_of_which_more_is_to_be_said_stands_alone(profile, other):
    days = [number(f"d{n}") for n in range(8)]
    days[4] = days[4].model_copy(update=other)
    together, alone = described(profile, days)
    assert '"d4"' in alone
    assert ('"d4"' in together, '"d5"' in together) == (False, True)


def test_groups_with_the_same_levels_stay_one_by_one(profile):
    items = [
        ColumnProfile(name=f"item{n}", kind="category", scale="binary", levels={"yes": 9, "no": 9}) for n in range(20)
    ]
    coded = [item.model_copy(update={"minimum": 0.0, "maximum": 1.0, "kind": "integer"}) for item in items]
    assert len(described(profile, items)) == len(described(profile, coded)) == 20


def test_an_order_of_levels_is_told_once(tmp_path):
    path = tmp_path / "doses.csv"
    path.write_text(
        "dose,score\n"
        + "".join(f"{d},{n}.{d}\n" for d, k in (("high", 9), ("low", 8), ("medium", 7)) for n in range(k))
    )
    (line,) = [line for line in files_text([profile_file(path)]).splitlines() if '"dose"' in line]
    assert 'values, in order "low" (8), "medium" (7), "high" (9)' in line


@pytest.mark.parametrize("levels", [True, False])
def test_what_does_not_fit_names_values_only_with_consent(profile, levels):
    wrong = FIT["goals"][0] | {"params": {"value": "growth", "group": "treatment", "treated": "mock"}}
    models, plan = read(profile, {"goals": [wrong]}, FIT, levels=levels)
    plan()
    assert "'treatment' has no value 'mock'" in models.asked[1]
    assert ("'control'" in models.asked[1]) == levels


def unless_sure(profile, rules, *answers):
    models, registry = Scripted(*answers), builtin_tools()
    reader, faults = QuestionReader(models, Planner(registry), registry), list[str]()
    question = "Do treated plants grow more?"
    return models, faults, lambda: reader.unless_sure(rules, question, [profile], [], None, faults)


def refusing():
    raise PlanError("The rules know nothing of it.", advice="Ask otherwise.", details={"ways_on": []})


def sure(profile):
    registry = builtin_tools()
    return Planner(registry).plan(
        "Compare growth between treated and control plants", [profile], analysis="compare_groups"
    )


def test_no_model_is_asked_where_the_rules_are_sure(profile):
    models, faults, plan = unless_sure(profile, lambda: sure(profile))
    plan()
    assert not models.asked
    assert not faults


def less_sure(profile):
    made = sure(profile)
    chosen = [one.model_copy(update={"probability": 0.6}) for one in made.plan.analysis]
    return replace(made, plan=made.plan.model_copy(update={"analysis": chosen}))


def test_where_rules_that_are_less_sure_and_the_reader_agree_nothing_changes(profile):
    rules = less_sure(profile)
    models, faults, plan = unless_sure(profile, lambda: rules, FIT)
    assert plan() is rules
    assert len(models.asked) == 1
    assert not faults


def test_a_reader_is_heard_where_rules_that_are_less_sure_read_something_else(profile):
    goal = {"analysis": "describe_table", "tool": "summarize_table", "params": {"columns": ["growth"]}}
    _, _, plan = unless_sure(profile, lambda: less_sure(profile), {"goals": [goal]})
    made = plan().plan
    assert [one.id for one in made.analysis] == ["describe_table"]
    assert any("scripted/one" in note for note in made.notes)


def test_what_a_reader_asks_beside_an_equal_reading_is_asked(profile):
    _, _, plan = unless_sure(profile, lambda: less_sure(profile), FIT | {"ask": {"text": "Fresh or dry?"}})
    assert plan().plan.unanswered()


def doubted(profile, **params):
    """Return a plan of the rules that leaves something open, with settings in place of its own."""
    made = sure(profile)
    nodes = [node.model_copy(update={"params": node.params | params}) for node in made.plan.nodes]
    return replace(made, plan=made.plan.model_copy(update={"nodes": nodes, "not_answered": ["Something."]}))


@pytest.mark.parametrize(
    ("treated", "control", "warned"), [("control", "treated", True), ("treated", "control", False)]
)
def test_a_model_that_turns_what_the_rules_compare_is_warned_of(profile, treated, control, warned):
    _, _, plan = unless_sure(profile, lambda: doubted(profile, treated=treated, control=control), FIT)
    assert any("the other way round" in warning for warning in plan().plan.warnings) == warned


def test_a_model_reads_what_the_rules_refuse(profile):
    models, faults, plan = unless_sure(profile, refusing, FIT)
    assert any("scripted/one" in note for note in plan().plan.notes)
    assert not faults
    assert "The rules know nothing of it." in models.asked[0]


@pytest.mark.parametrize("levels", [True, False])
def test_a_reader_is_told_what_the_rules_leave_open_and_values_only_with_consent(profile, levels):
    made = sure(profile)
    which = OpenQuestion(id="q", text="Which group?", why="Two are possible.", choices=["treated", "control"])
    taste = OpenQuestion(id="t", text="Which colours?", why="Taste.", required=False)
    rules = replace(made, plan=made.plan.model_copy(update={"open_questions": [which, taste]}))
    models, registry = Scripted(FIT), builtin_tools()
    reader = QuestionReader(models, Planner(registry), registry, levels)
    reader.unless_sure(lambda: rules, "Do the treated grow more?", [profile], [], None, [])
    second = "'control'" if levels else "'...'"
    assert f"Which group? Two are possible. Choices: 'treated', {second}." in models.asked[0]
    assert "Which colours?" not in models.asked[0]


def test_where_both_refuse_the_model_says_why_and_the_rules_what_to_do(profile):
    _, _, plan = unless_sure(profile, refusing, {"not_answered": ["No file has weights of roots."]})
    with pytest.raises(PlanError, match="No file has weights of roots") as raised:
        plan()
    assert raised.value.advice == "Ask otherwise."


ASKS = {
    "ask": {"text": "Which sheet is meant?", "choices": ["roots", "leaves"]},
    "not_answered": ["No roots are read."],
}


def test_a_reader_that_only_asks_is_heard_before_a_doubtful_plan_runs(profile):
    models, faults, plan = unless_sure(profile, lambda: doubted(profile), ASKS)
    made = plan().plan
    first = made.open_questions[0]
    assert (first.text, first.choices, first.blocking) == ("Which sheet is meant?", ["roots", "leaves"], True)
    assert "ask again with the answer" in first.why
    assert made.not_answered == ["Something.", "No roots are read."]
    assert [node.tool for node in made.nodes] == [node.tool for node in sure(profile).plan.nodes]
    assert not faults
    assert len(models.asked) == 1


def test_a_reader_that_only_asks_where_the_rules_refuse_is_what_the_refusal_says(profile):
    _, _, plan = unless_sure(profile, refusing, ASKS)
    with pytest.raises(
        PlanError, match=r"No roots are read\. Which sheet is meant\? Choices: 'roots', 'leaves'"
    ) as raised:
        plan()
    assert "ask again with the answer" in raised.value.advice


def test_no_code_is_written_for_what_waits_for_an_answer(profile):
    waits = {"code": [{"task": "Ratio of medians.", "files": ["growth.csv"], "criteria": ["Above 0."]}], **ASKS}
    models, _, plan = unless_sure(profile, lambda: doubted(profile), waits)
    assert plan().plan.open_questions[0].id == "reader_0"
    assert len(models.asked) == 1


def test_a_goal_without_an_analysis_is_for_the_first_that_its_tool_answers(profile):
    goal = {name: value for name, value in FIT["goals"][0].items() if name != "analysis"}
    _, faults, plan = unless_sure(profile, refusing, {**FIT, "goals": [goal]})
    assert [found.id for found in plan().plan.analysis] == ["compare_groups"]
    assert not faults


def test_other_sheets_of_a_workbook_are_named(profile):
    from engine.domain.profile import TypeGuess

    guess = profile.types[0]
    on = {name: [TypeGuess(type=guess.type, confidence=1.0, read={"sheet": name})] for name in ("rotarod", "maze")}
    book = profile.model_copy(update={"name": "book.xlsx", "types": on["rotarod"]})
    book = book.model_copy(update={"others": [book.model_copy(update={"types": on["maze"]})]})
    text = files_text([book])
    assert 'File "book.xlsx" sheet "rotarod":' in text
    assert 'Not read: sheet "maze" (' in text
    assert "Not read" not in files_text([profile])


def test_a_reading_that_does_not_fit_leaves_what_the_rules_said(profile):
    _, faults, plan = unless_sure(profile, refusing, *[MISFIT] * ROUNDS)
    with pytest.raises(PlanError, match="The rules know nothing"):
        plan()
    assert "did not fit" in faults[0]


def test_a_plan_of_the_rules_in_place_of_a_reading_that_does_not_fit_says_so(profile):
    doubtful = sure(profile)
    doubtful = replace(doubtful, plan=doubtful.plan.model_copy(update={"not_answered": ["Something."]}))
    _, faults, plan = unless_sure(profile, lambda: doubtful, *[MISFIT] * ROUNDS)
    assert plan().plan.warnings[0] == faults[0]
    assert "did not fit" in faults[0]


def test_without_an_answer_the_rules_stand_and_it_is_said(profile):
    class Away:
        def ask(self, *args, **more):
            raise ModelUnavailable("the server is away")

    registry, faults = builtin_tools(), list[str]()
    doubtful = sure(profile)
    doubtful = replace(doubtful, plan=doubtful.plan.model_copy(update={"not_answered": ["Something."]}))
    reader = QuestionReader(Away(), Planner(registry), registry)
    assert reader.unless_sure(lambda: doubtful, "Do they grow?", [profile], [], None, faults) is doubtful
    assert "the server is away" in faults[0]


def test_what_goes_on_from_a_question_that_a_model_read_is_read_by_one_too(profile):
    models, registry = Scripted(FIT), builtin_tools()
    reader = QuestionReader(models, Planner(registry), registry)
    before = sure(profile).plan
    told = before.model_copy(update={"told": {"goals": [{"tool": "compare_groups"}]}})
    rules = sure(profile)
    question = "Do treated plants grow more?"
    assert reader.unless_sure(lambda: rules, question, [profile], [], before, []) is rules
    assert not models.asked
    reader.unless_sure(lambda: rules, question, [profile], [], told, [])
    assert len(models.asked) == 1


def test_rules_that_are_sure_and_may_have_overheard_a_number_have_a_model_asked(profile):
    question = "Does the treatment raise growth by 15 %?"
    rules = Planner(builtin_tools()).plan(question, [profile])
    assert doubts_of(rules.plan) == 0
    models, registry = Scripted(FIT), builtin_tools()
    reader = QuestionReader(models, Planner(registry), registry)
    read = reader.unless_sure(lambda: rules, question, [profile], [], None, [])
    assert read is not rules
    assert len(models.asked) == 1
    assert "The number 15 has no part in the plan." in models.asked[0]
    away = QuestionReader(Scripted(), Planner(registry), registry)
    assert away.unless_sure(lambda: rules, question, [profile], [], None, []) is rules


def test_a_sheet_that_explains_a_table_is_shown_as_it_is_with_consent(tmp_path):
    path = tmp_path / "mic.xlsx"
    values = pd.DataFrame(
        {"isolate": [f"i{at}" for at in range(40)], "CIP": [0.25, 0.5, 1, 2] * 10, "MEM": [1, 2, 4, 8] * 10}
    )
    with pd.ExcelWriter(path) as book:
        values.to_excel(book, sheet_name="MIC", index=False)
        pd.DataFrame([["CIP", 0.25, 0.5], ["MEM", 2, 8]], columns=["drug", "S <=", "R >"]).to_excel(
            book, sheet_name="key", index=False
        )
    profile = profile_file(path)
    assert '"CIP | 0.25 | 0.5"' in files_text([profile])
    assert "R >" not in files_text([profile], levels=False)


def test_what_a_legend_says_is_told_and_its_codes_only_with_consent(tmp_path):
    path = tmp_path / "stays.csv"
    rows = "".join(f"{at},{at % 2},{at % 3 + 1}\n" for at in range(24))
    path.write_text("# chg: 0 = before washing, 1 = since\n# ward: ward of admission\nstay,chg,ward\n" + rows)
    text = files_text([profile_file(path)])
    assert 'by a legend "0" for "before washing", "1" for "since"' in text
    assert 'called "ward of admission" by a legend' in text
    assert "before washing" not in files_text([profile_file(path)], levels=False)


def test_what_a_guard_refuses_goes_back_too(profile):
    rows = {"goals": [{"analysis": "filter_rows", "tool": "filter_rows"}]}
    models, plan = read(profile, rows, FIT)
    plan()
    assert "The question does not say which rows to keep." in models.asked[1]


def test_a_refused_setting_is_given_up_at_last_and_said(profile):
    goal = FIT["goals"][0]
    wrong = FIT | {"goals": [goal | {"params": goal["params"] | {"top_n": 5}}]}
    models, plan = read(profile, *[wrong] * ROUNDS)
    made = plan()
    assert "has no parameter 'top_n' (it has " in models.asked[1]
    assert any("top_n = 5" in warning for warning in made.warnings)


def test_a_look_at_tools_costs_no_reading(profile):
    models, plan = read(profile, {"see": ["correlation"]}, *[MISFIT] * (ROUNDS - 1), FIT)
    plan()
    assert len(models.asked) == ROUNDS + 1


def test_an_answer_that_the_reading_takes_for_granted_is_a_limit_of_it(profile):
    _, plan = read(profile, FIT | {"ask": {"text": "Fresh or dry?", "choices": ["fresh", "dry"], "taken": "dry"}})
    made = plan()
    assert any("Fresh or dry? Taken: dry." in warning for warning in made.warnings)
    assert not made.unanswered()


def test_a_question_that_no_answer_is_honest_for_stops_the_plan(profile):
    _, plan = read(profile, FIT | {"ask": {"text": "Fresh or dry?", "choices": ["fresh", "dry"]}})
    (asked,) = plan().unanswered()
    assert asked.text == "Fresh or dry?"


def test_why_no_reading_fitted_is_told_with_what_the_rules_refuse(profile):
    _, _, plan = unless_sure(profile, refusing, *[MISFIT] * ROUNDS)
    with pytest.raises(PlanError, match=r"The rules know nothing.*there is no column 'size'"):
        plan()


def test_tools_for_which_the_files_hold_nothing_are_not_shown(profile):
    models, plan = read(profile, FIT, near=("sc_markers", "compare_groups"))
    plan()
    assert "sc_markers" not in models.asked[0]
    assert "correlation" in models.asked[0]


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ("nonlinear_fit", "- group: column of table, of at most 20 different values. "),
        ("anova", "- factors: columns of table, at least 2 of them, at most 4 of them, required. "),
        ("meta_analysis", "- arms: columns of table, at least 4 of them, at most 6 of them. "),
    ],
)
def test_how_much_a_tool_takes_before_it_refuses_is_told(tool, line):
    assert line in tool_text(builtin_tools().get(tool))


def further(prompt: str) -> str:
    return prompt.partition("Further tools")[2].partition("What did not fit")[0]


def test_of_tools_of_other_fields_than_the_nearest_only_the_name_is_told(profile):
    models, plan = read(profile, {"see": ["roc_curve"]}, FIT)
    plan()
    first, then = map(further, models.asked)
    assert "linear_regression: Linear regression" in first, "of the field of the tool that is near"
    assert re.search(r"^Of clinical: .*\broc_curve, ", first, re.MULTILINE)
    assert "roc_curve: " not in first
    assert "risk_measures: Risk ratio" in then, "a field that was looked into is near"
    assert len(first) < 2_600


def test_tools_that_need_what_a_file_is_by_itself_are_told(profile, tmp_path):
    path = tmp_path / "cohort.csv"
    rows = (f"p{n},{100 + 37 * n % 900},{n % 3 > 0:d},{'ab'[n % 2]}" for n in range(60))
    path.write_text("patient,os_days,died,arm\n" + "\n".join(rows) + "\n")
    models, plan = read(profile_file(path), {"goals": [], "not_answered": ["Nothing."]})
    with pytest.raises(PlanError):
        plan()
    assert "log_rank: " in further(models.asked[0])


@pytest.mark.parametrize("near", [(), ("no_such_tool",)])
def test_where_no_tool_is_near_all_are_told_but_steps_that_answer_nothing(profile, near):
    models, plan = read(profile, FIT, near=near)
    plan()
    told = further(models.asked[0])
    assert "roc_curve: " in told
    assert "unfold_plate" not in told


def test_how_dates_and_names_are_written_is_told_without_one_of_them(tmp_path):
    frame = pd.DataFrame({
        "cow": [f"H{at % 9}-{at:03d}" for at in range(40)], "milk": [20 + at / 7 for at in range(40)],
        "calved": [f"{1 + at % 28:02d}/{1 + at % 12:02d}/2022" for at in range(40)],
    })  # fmt: skip
    frame.to_csv(tmp_path / "cows.csv", index=False)
    text = files_text([profile_file(tmp_path / "cows.csv")], levels=False)
    assert 'written as "99/99/9999"' in text
    assert 'written as "A9-999"' in text
    assert "H3-003" not in text
    assert "/2022" not in text


def test_features_of_a_matrix_are_named_with_consent_unless_they_are_numbers(tmp_path):
    acids = ["Citrulline", "Leucine", "Cholate", "Glucose", "Serine", "Proline", "Taurine", "Alanine"]
    names = [f"{acid}{mark}" for mark in ("", " 13C", "-d3", " oxide", "-P") for acid in acids]
    values = {f"s{at}": [1000.5 + 97 * at + 31.7 * (row * at % 13) for row in range(40)] for at in range(8)}
    for column, shown in (
        (names, {'"Citrulline"', '"Alanine-P"'}),
        ([f"F{at:03d}" for at in range(40)], {'"F000"', "..."}),
    ):
        pd.DataFrame({"feature": column, **values}).to_csv(tmp_path / "areas.csv", index=False)
        profile = profile_file(tmp_path / "areas.csv")
        (line,) = [line for line in files_text([profile]).splitlines() if line.startswith("Names of features")]
        assert all(name in line for name in shown)
        assert "F039" not in line
        assert "Names of features" not in files_text([profile], levels=False)


def test_remarks_of_a_column_that_is_empty_else_are_told_with_consent_and_its_index_always(tmp_path):
    path = tmp_path / "layout.csv"
    rows = [f"w{n},{'wt' if n % 2 else 'ko'},{'no cells added?' if n == 3 else ''}" for n in range(24)]
    path.write_text("well,strain,note\n" + "\n".join(rows) + "\n")
    profile = profile_file(path)
    assert "no cells added?" in files_text([profile])
    assert "no cells added?" not in files_text([profile], levels=False)
    assert 'sample_sheet ("well" is its index then)' in files_text([profile], levels=False)
    assert "w7" not in files_text([profile])


def test_tools_far_from_what_is_asked_are_named_only(profile):
    planner, question = Planner(builtin_tools()), "Compare growth between treated and control plants"
    near = planner.nearest(question, [profile])
    assert near[0] == "compare_groups"
    models, registry = Scripted(FIT), builtin_tools()
    reader = QuestionReader(models, planner, registry)
    far = ["scatter_plot", "histogram", "correlation", "box_plot"]  # found by words of the question, the farthest last
    reader.unless_sure(lambda: less_sure(profile), question, [profile], far, None, [])
    shown = re.findall(r"^## (\w+):", models.asked[0], re.MULTILINE)
    assert "scatter_plot" in shown
    assert not {"correlation", "box_plot"} & {*shown}
    assert "box_plot: " in models.asked[0]
