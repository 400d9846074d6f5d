"""The answer comes first: which sentence, which rows, which figure, which caveats, and how it is said aloud."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reporting_run import FolderStore, execute, small_plan, small_registry, with_failure

from engine.cli.show import outcome_text
from engine.data.structure.problems import REPEATED
from engine.domain.findings import FindingValue
from engine.domain.plan import LEFT_ASIDE, Chosen, OpenQuestion, Span
from engine.domain.profile import Profile
from engine.domain.report import Report
from engine.reporting.answers import _columns, behind, caveats
from engine.reporting.forms import html, markdown, run_json
from engine.reporting.forms.links import LinkPlaces, linked
from engine.reporting.spoken import MOST_WORDS, spoken
from engine.steps.synthesizer import synthesize
from engine.toolbox.registry import ToolRegistry


def registry(**facts):
    """Return the small catalogue, its comparison declared as the answer of `compare`."""
    specs = [spec.model_copy(update={"answers": ["compare"], **facts}) if spec.name == "group_means" else spec
             for spec in small_registry()]  # fmt: skip
    return ToolRegistry(specs)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    store = FolderStore(folder / "store")
    plan = small_plan(folder / "in")
    nodes = [node.model_copy(update={"priority": 2 if node.id == "n1" else 0}) for node in plan.nodes]
    plan = plan.model_copy(update={"nodes": nodes, "analysis": [Chosen(id="compare", probability=0.9)]})
    return execute(plan, small_registry(), store, folder / "work"), store


def asking(view, *spans):
    plan = view.plan.model_copy(update={"understood": [
        Span(text=value, start=0, end=1, taken_as=kind, value=value) for kind, value in spans]})  # fmt: skip
    return view.model_copy(update={"plan": plan, "report": None})


def test_only_the_step_that_answers_is_told_of(made):
    view, store = made
    report = synthesize(view, registry(), store)
    assert report.summary == [view.results["n1"].findings[0].text]
    assert [answer.node for answer in report.answers] == ["n1"]
    assert report.answers[0].figure == "n1_means_plot.png"
    assert {finding.node for finding in report.findings} == {"n1", "n2", "n3"}  # all else stays in the report


def test_the_finding_on_the_level_that_is_asked_about_answers(made):
    view, store = made
    report = synthesize(asking(view, ("level", "dose group = low")), registry(), store)
    assert report.summary[0].startswith("Mean growth in low")
    table = report.answers[0].table
    row = next(f for f in report.findings if f.text == report.summary[0]).row["group"]
    assert [table.rows[number][0] for number in table.marked] == [row]
    assert len(table.rows) == table.total == 2  # all groups, not only the one told of


def findings_in_place(view, *findings):
    """Return a run whose answering step found these: (sentence, row)."""
    own = view.results["n1"]
    like = own.findings[0]
    found = [like.model_copy(update={"id": f"f{n}", "text": text, "row": row, "values": []})
             for n, (text, row) in enumerate(findings)]  # fmt: skip
    return view.model_copy(update={"results": {**view.results, "n1": own.model_copy(update={"findings": found})}})


def test_of_all_groups_that_are_named_the_comparison_of_all_answers(made):
    every = ("The share of diab = 1 is not shown to differ between the groups.", {"comparison": "all groups"})
    two = ("The share of diab = 1 is not shown to differ between smoker 2 and smoker 0.", {"comparison": "2 vs 0"})
    view = asking(findings_in_place(made[0], every, two), *(("level", f"smoker = {n}") for n in range(3)))
    assert synthesize(view, registry(), made[1]).summary == [every[0]]


def test_what_is_only_held_constant_answers_nothing(made):
    asked = ("The hazard was lower with vitD.", {"term": "vitD"})
    held = ("The hazard was not shown to differ between smoker current and never.", {"term": "smoker=current"})
    view = asking(findings_in_place(made[0], asked, held), ("level", "smoker = current"))
    assert synthesize(view, registry(), made[1]).summary == [held[0]], "it is asked about, as far as that is known"
    own = view.results["n1"]
    params = {**own.params, "adjusted": ["smoker"]}
    view = view.model_copy(update={"results": {**view.results, "n1": own.model_copy(update={"params": params})}})
    assert synthesize(view, registry(), made[1]).summary == [asked[0]]


def test_declared_columns_are_shown_in_their_order(made):
    view, store = made
    report = synthesize(view, registry(shows={"means": ["mean", "group"]}), store)
    assert report.answers[0].table.columns == ["mean", "group"]


def test_a_failure_elsewhere_is_the_first_caveat_and_not_the_answer(made):
    broken = with_failure(made[0], registry())
    report = synthesize(broken, registry(), made[1])
    assert report.summary[0] == broken.results["n1"].findings[0].text
    assert "Logarithm" in report.caveats[0]
    assert "failed" in report.caveats[0]


def test_without_the_answering_step_nothing_else_is_passed_for_the_answer(made):
    view, store = made
    results = {key: result for key, result in view.results.items() if key != "n1"}
    report = synthesize(view.model_copy(update={"results": results}), registry(), store)
    assert report.answers == []
    assert report.summary[0] == "Incomplete result: 2 of 3 steps finished."
    assert not set(report.summary) & {finding.text for finding in report.findings}
    assert not set(report.summary) & {*report.caveats}, "what failed is said once"


def test_rows_that_stand_twice_limit_every_answer(made):
    view, store = made
    said = f"a.csv: 1 row {REPEATED}"
    profile = Profile(path="a.csv", name="a.csv", format="csv", bytes=1, sha256="0" * 64, types=[], summary="",
                      warnings=[said])  # fmt: skip
    assert said in synthesize(view.model_copy(update={"profiles": [profile]}), registry(), store).caveats
    noisy = view.results["n1"].model_copy(update={"warnings": ["One.", "Two.", "Three."]})
    noisy = view.model_copy(update={"profiles": [profile], "results": {**view.results, "n1": noisy}})
    assert said in synthesize(noisy, registry(), store).caveats, "what a step remarks comes after it"
    other = profile.model_copy(update={"warnings": ["a.csv: column 'x' is odd."]})
    assert (
        "a.csv: column 'x' is odd."
        not in synthesize(view.model_copy(update={"profiles": [other]}), registry(), store).caveats
    )


def test_at_most_three_caveats_and_none_is_dropped_in_silence(made):
    view = made[0]
    assert "The plate was not recorded." in caveats(view, synthesize(view, registry()).answers)
    plan = view.plan.model_copy(update={"not_answered": [f"part {n}" for n in range(5)]})
    told = caveats(view.model_copy(update={"plan": plan}), [])
    assert len(told) == 3
    assert "3 more things" in told[-1]
    assert len(synthesize(view.model_copy(update={"plan": plan}), registry()).limitations) >= 5


def test_every_form_begins_with_the_same_answer(made):
    view, store = made
    report = synthesize(view, registry(), store)
    view = view.model_copy(update={"report": report})
    page = re.sub(r"<[^>]+>", "", html.render(view, store, registry()).split("<main>")[1])
    text, printed = markdown.render(view, registry()), outcome_text(view, None)
    document = run_json.render(view, registry())
    sentence = report.summary[0]
    other = view.results["n3"].findings[0].text
    assert document["summary"] == [sentence]
    assert document["answers"][0]["table"]["name"] == "n1_means.csv"
    assert 0 < len(document["summary_spoken"].split()) <= MOST_WORDS
    assert page.index(sentence) < page.index("Details") < page.index(other)
    assert text.index(sentence) < text.index("| group |") < text.index("## Findings") < text.index(markdown._e(other))
    assert printed.index(sentence) < printed.index("n1_means_plot.png") < printed.index("What limits this answer")
    assert other not in printed


def test_numbers_of_the_answer_lead_to_its_cells(made):
    view, store = made
    view = asking(view, ("level", "dose group = low"))
    view = view.model_copy(update={"report": synthesize(view, registry(), store)})
    page = html.render(view, store, registry())
    target, shown = re.search(
        r'Mean growth in low is <a class="number" href="#(answer-1-row-\d-cell-\d)">([^<]+)', page
    ).groups()
    cell = re.search(rf'<td id="{target}"[^>]*>([^<]+)<', page)[1]
    assert float(cell) == pytest.approx(float(shown), abs=0.005)


def test_reports_stored_before_answers_were_load():
    old = {"title": "T", "question": "q", "summary": ["One."], "findings": [], "methods": [], "figures": [], "tables": [],
           "limitations": [], "next_steps": [], "citations": []}  # fmt: skip
    report = Report.model_validate(old)
    assert (report.answers, report.caveats, report.spoken) == ([], [], "")
    answer = {"text": "It is higher.", "node": "n1", "finding": "n1_f1", "rows": "sex is F"}
    later = Report.model_validate({**old, "answers": [answer]})
    assert later.answers[0].said == "Where sex is F: It is higher."
    assert Report.model_validate(later.model_dump()) == later


def test_behind_a_lead_only_the_first_word_is_written_small():
    text = "The share is higher in BAKA 1 than in A 2."
    assert behind("For sex F: ", text) == "the share is higher in BAKA 1 than in A 2."
    assert behind("", text) == text
    assert behind("For sex F: ", "TXNIP is higher.") == "TXNIP is higher."
    assert behind("For sex F: ", "A5 is higher.") == "A5 is higher."
    assert behind("For sex F: ", "All subjects: median survival 5 days.") == "median survival 5 days."
    assert behind("", "All subjects: median survival 5 days.").startswith("All subjects")


def test_the_code_of_an_event_is_no_number_of_the_result(made):
    finding = (
        made[0]
        .results["n1"]
        .findings[1]
        .model_copy(
            update={
                "text": "The hazard of cens = 1 was 2.5 times as high, of 1 stratum.",
                "values": [],
                "row": {"term": "x"},
            }
        )
    )
    cells = {"term": "x", "hazard_ratio": "2.5", "strata": "1"}
    pieces = linked(finding, LinkPlaces("row"), cells, {"event": "cens", "event_value": "1"})
    assert [(piece.text, piece.column) for piece in pieces if piece.target] == [
        ("2.5", "hazard_ratio"),
        ("1", "strata"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("BMI_kg is higher in men than in women: mean 27.318 (n = 20) against 24.4 (n = 21), difference 2.94269 (95 % CI "
         "-0.5 to 6.39), p = 1.2e-8.",
         "BMI kg is higher in men than in women, mean 27.3 against 24.4, difference 2.94, with 95 percent confidence "
         "between minus 0.5 and 6.39, p value below 0.001."),
        ("The share is 31.27 % ± 2.0 at 5 mg/L.", "The share is 31.3 percent plus or minus 2 at 5 mg per L."),
        ("p = 0.0496 here.", "p value 0.0496 here."),
    ],
)  # fmt: skip
def test_an_answer_can_be_said_aloud(text, said):
    assert spoken([text]) == said


@given(st.lists(st.text(max_size=400), max_size=4))
def test_what_is_spoken_is_short_and_without_signs(sentences):
    said = spoken(sentences)
    assert len(said.split()) <= MOST_WORDS
    assert not re.search(r"[=<>%_±×²|*#/\\()\[\]{}~^&@]", said)


def of_findings(view, *given):
    """Return the view with these findings (text, row) in place of those of its answering step."""
    result = view.results["n1"]
    made = [
        result.findings[0].model_copy(update={"id": f"n1_x{n}", "text": text, "row": row, "values": []})
        for n, (text, row) in enumerate(given)
    ]
    results = {**view.results, "n1": result.model_copy(update={"findings": made})}
    return view.model_copy(update={"results": results, "report": None})


def test_the_first_finding_answers_whatever_rows_are_called(made):
    view, store = made
    view = of_findings(
        view, ("Together it is 2.", {}), ("Group 5 of dose group weighs most.", {"left_out": "dose group 5"})
    )
    assert synthesize(view, registry(), store).summary == ["Together it is 2."]


def test_a_tool_says_which_questions_a_later_finding_answers(made):
    view, store = made
    view = of_findings(view, ("The mean is 2.", {}), ("It spreads by 3.", {"check": "spread"}))
    leads = registry(leads={"spread": "scatter|spread", "tail": "tail"})
    asked = view.record.model_copy(update={"question": "How much does it scatter?"})
    assert synthesize(view, leads, store).summary == ["The mean is 2."]
    assert synthesize(view.model_copy(update={"record": asked}), leads, store).summary == ["It spreads by 3."]
    both = view.record.model_copy(update={"question": "What are spread and tail?"})
    assert synthesize(view.model_copy(update={"record": both}), leads, store).summary == ["The mean is 2."]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Show the means, and how much does it scatter?", ["The mean is 2.", "It spreads by 3."]),
        ("How much does it scatter, and what is the mean?", ["It spreads by 3.", "The mean is 2."]),
        ("Compare the groups. Is the scatter large?", ["The mean is 2.", "It spreads by 3."]),
        ("How much do scatter and mean differ?", ["It spreads by 3."]),
    ],
)
def test_two_requests_of_one_step_are_answered_by_a_finding_each(made, question, told):
    view, store = made
    view = of_findings(view, ("The mean is 2.", {}), ("It spreads by 3.", {"check": "spread"}))
    leads = registry(leads={"spread": "scatter|spread"})
    asked = view.record.model_copy(update={"question": question})
    report = synthesize(view.model_copy(update={"record": asked}), leads, store)
    assert report.summary == told
    assert [bool(answer.figure) for answer in report.answers] == [True, False][: len(told)]  # it is shown once


def test_of_a_later_finding_of_each_group_none_is_the_answer(made):
    view, store = made
    view = of_findings(view, ("The mean is 2.", {}), ("In A 3.", {"check": "spread", "group": "A"}),
                       ("In B 4.", {"check": "spread", "group": "B"}))  # fmt: skip
    asked = view.record.model_copy(update={"question": "How much does it scatter?"})
    view = view.model_copy(update={"record": asked})
    assert synthesize(view, registry(leads={"spread": "scatter"}), store).summary == ["The mean is 2."]


def test_a_comparison_that_names_the_level_is_not_left_for_that_level_alone(made):
    view, store = made
    view = asking(of_findings(view, ("Growth is higher in low than in high: 3 against 2.", {"pair": "low vs high"}),
                              ("Growth in low: 3.", {"group": "low"})), ("level", "dose group = low"))  # fmt: skip
    assert synthesize(view, registry(), store).summary == ["Growth is higher in low than in high: 3 against 2."]


def test_of_three_groups_the_two_that_are_set_against_each_other_are_told(made):
    view, store = made
    view = asking(of_findings(view, ("Growth differs: against veh low 2 and high 3.", {}),
                              ("Growth is lower with low than with veh.", {"pair": "low vs veh"}),
                              ("Growth is lower with high than with veh.", {"pair": "high vs veh"})),
                  ("level", "dose group = high"), ("level", "dose group = veh"))  # fmt: skip
    assert synthesize(view, registry(), store).summary == ["Growth is lower with high than with veh."]


def test_what_tests_the_one_that_is_asked_about_goes_before_what_names_all(made):
    view, store = made
    told = ("2 of 3 genes differ: up Il6 38-fold, Tnf 9-fold.", {}), ("Il6 is up 38-fold.", {"gene": "Il6"})
    view = asking(of_findings(view, *told), ("level", "gene = Il6"))
    assert synthesize(view, registry(), store).summary == ["2 of 3 genes differ: up Il6 38-fold, Tnf 9-fold."]
    tested = [f.model_copy(update={"values": [FindingValue(name="p_value", value=0.01)]} if f.row else {})
              for f in view.results["n1"].findings]  # fmt: skip
    results = {**view.results, "n1": view.results["n1"].model_copy(update={"findings": tested})}
    view = view.model_copy(update={"results": results})
    assert synthesize(view, registry(), store).summary == ["Il6 is up 38-fold."]
    of_two = asking(view, ("level", "gene = Il6"), ("level", "gene = Tnf"))
    assert synthesize(of_two, registry(), store).summary == ["2 of 3 genes differ: up Il6 38-fold, Tnf 9-fold."]


def test_a_level_is_not_read_from_within_a_number(made):
    view, store = made
    told = ("A reads higher than B by 0.18.", {}), ("A lies from -1.41 to 1.04 off B in 95 %.", {"measure": "limits"})
    view = asking(of_findings(view, *told), ("level", "A = 1"), ("column", "A"))
    assert synthesize(view, registry(), store).summary == ["A reads higher than B by 0.18."]


def test_p_values_and_whole_intervals_are_never_cut_from_a_wide_table():
    header = [
        "gene",
        "n_1",
        "n_2",
        "sd_1",
        "sd_2",
        "ct_1",
        "ct_2",
        "fold",
        "lower_95",
        "upper_95",
        "se",
        "p_value",
        "p_adj",
    ]
    rows = {n: [f"g{n}", *(f"{n + at / 7:.4f}" for at in range(1, len(header)))] for n in (1, 2)}
    shown = _columns(header, rows, (), [])
    assert {"gene", "fold", "lower_95", "upper_95", "p_value", "p_adj"} <= {*shown}
    assert [header.index(name) for name in shown] == sorted(header.index(name) for name in shown)


@pytest.mark.parametrize("limits", [("low", "high"), ("change_lower", "change_upper"), ("percent_low", "percent_high")])
def test_limits_of_written_code_are_shown_both_or_not_at_all(limits):
    header = ["what", "a", "b", "c", "change", "se", *limits, "p_value", "d", "e"]
    rows = {n: [f"t{n}", *(f"{n + at / 7:.4f}" for at in range(1, len(header)))] for n in (1, 2)}
    shown = _columns(header, rows, (), [])
    assert {"change", *limits, "p_value"} <= {*shown}


def test_limits_that_name_what_they_are_of_go_before_those_that_do_not():
    header = ["term", "a", "b", "coef", "lower_95", "upper_95", "odds_ratio", "odds_ratio_lower_95", "odds_ratio_upper_95",
              "p_value"]  # fmt: skip
    rows = {n: [f"t{n}", *(f"{n + at / 7:.4f}" for at in range(1, len(header)))] for n in (1, 2)}
    shown = _columns(header, rows, (), [])
    assert {"odds_ratio", "odds_ratio_lower_95", "odds_ratio_upper_95", "p_value"} <= {*shown}
    assert ("lower_95" in shown) == ("upper_95" in shown)


def test_what_decides_stands_beside_what_describes(made):
    view, store = made
    report = synthesize(view, registry(shows={"means": ["group", "mean"], "means_plot": []}), store)
    (answer,) = report.answers
    assert [table.columns for table in answer.tables] == [["group", "mean"]]
    second = answer.table.model_copy(update={"name": "n1_tests.csv", "columns": ["pair", "p_adj"]})
    both = report.model_copy(update={"answers": [answer.model_copy(update={"beside": second})]})
    shown = view.model_copy(update={"report": both})
    assert "p_adj" in outcome_text(shown, None)
    assert "| pair | p_adj |" in markdown.render(shown, registry())
    assert "p_adj</th>" in html.render(shown, store, registry())


def test_the_rows_that_a_sentence_names_are_shown_and_no_others(made):
    view, store = made
    report = synthesize(view, registry(), store)
    result = view.results["n1"]
    leading = result.findings[0]
    assert leading.id == report.answers[0].finding
    named = result.model_copy(update={"findings": [leading.model_copy(update={"first": 1}), *result.findings[1:]]})
    table = (
        synthesize(view.model_copy(update={"results": {**view.results, "n1": named}}), registry(), store)
        .answers[0]
        .table
    )
    assert list(table.rows) == [1]
    assert table.total > 1


def test_words_left_aside_come_after_what_is_known_to_limit_the_answer(made):
    view, store = made
    asked = OpenQuestion(id=LEFT_ASIDE, text="The plan leaves aside 'meter': is that meant?", why="")
    plan = view.plan.model_copy(update={"open_questions": [asked], "warnings": ["A.", "B.", "C."]})
    view = view.model_copy(update={"plan": plan})
    assert caveats(view, synthesize(view, registry(), store).answers) == ["A.", "B.", "The plan leaves aside 'meter'."]
    lost = [f"no {at}" for at in range(3)]
    view = view.model_copy(update={"plan": plan.model_copy(update={"not_answered": lost})})
    assert caveats(view, synthesize(view, registry(), store).answers) == [f"Not answered: {text}" for text in lost]


def test_words_that_the_plan_leaves_aside_limit_the_answer(made):
    view, store = made
    asked = OpenQuestion(id=LEFT_ASIDE, text="The plan leaves aside 'drugs': is that meant?", why="")
    view = view.model_copy(update={"plan": view.plan.model_copy(update={"open_questions": [asked]})})
    report = synthesize(view, registry(), store)
    assert "The plan leaves aside 'drugs'." in caveats(view, report.answers)
    assert "The plan leaves aside 'drugs'." in report.limitations


def test_a_table_is_shown_by_the_rows_that_are_told_in_their_order(made):
    view, store = made
    result = view.results["n1"]
    leading = result.findings[0].model_copy(update={"told_only": True})
    pointing = [finding for finding in result.findings[1:] if finding.row]
    assert len(pointing) > 1
    turned = result.model_copy(update={"findings": [leading, *pointing[::-1]]})
    shown = synthesize(view.model_copy(update={"results": {**view.results, "n1": turned}}), registry(), store)
    cells = [row[0] for row in shown.answers[0].table.rows.values()]
    assert cells == [next(iter(finding.row.values())) for finding in pointing[::-1]]
