"""A yes or no is said where question and finding speak of the same groups in the same direction, and nowhere else."""

from __future__ import annotations

import pytest

from engine.domain.plan import Span
from engine.domain.report import Answer
from engine.reporting.verdict import verdict

FOUND = "Adjusted mean seeds is lower in snr3 than in Col-0: 43.7 against 51.9, difference 8.17 (95 % CI 4.34 to 12.0), p = 5.6e-4."
RISES = "foci rises as area rises: pearson r = 0.37 (95 % CI 0.19 to 0.53), n = 99, p = 1.6e-4."


def spans(question: str, **told: str) -> list[Span]:
    """Return what words were taken for: `snr3="line = snr3"` is a level, `seeds="seeds"` a column."""
    found = []
    for words, value in told.items():
        text = words.replace("_", " ")
        at = question.find(text)
        if at >= 0:
            found.append(
                Span(
                    text=text,
                    start=at,
                    end=at + len(text),
                    taken_as="level" if " = " in value else "column",
                    value=value,
                )
            )
    return found


def said(question: str, text: str = FOUND) -> str:
    told = {
        "snr3": "line = snr3",
        "Col-0": "line = Col-0",
        "seeds": "seeds",
        "foci": "foci",
        "area": "area",
        "line": "line",
    }
    return verdict(question, spans(question, **told), text)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Does snr3 make less seeds than Col-0?", "Yes"),
        ("does snr3 have fewer seeds", "Yes"),
        ("has snr3 fewer seeds then Col-0?", "Yes"),
        ("Are there fewer seeds in snr3 than in Col-0? plants are the replicates", "Yes"),
        ("Does Col-0 make fewer seeds than snr3?", "No"),
        ("is the number of seeds higher in Col-0 than in snr3?", "Yes"),
        ("is the number of seeds higher in snr3?", "No"),
        ("Sheet pods: do the seeds differ between the line snr3 and Col-0?", "Yes"),
        ("which line makes fewer seeds, snr3 or Col-0?", ""),
        ("how many fewer seeds does snr3 make than Col-0?", ""),
        ("is it snr3 or Col-0 that makes fewer seeds", ""),
        ("does snr3 germinate less than Col-0", ""),  # not what was measured
        ("is snr3 less fertile than Col-0 (seeds)?", ""),  # less of one thing may be more of another
        ("does snr3 make fewer seeds than the others?", ""),  # not these two
        ("compare the seeds of snr3 and Col-0", ""),
    ],
)
def test_yes_and_no_follow_groups_and_direction(question, answer):
    assert said(question) == answer


def test_a_finding_that_is_not_clear_says_neither():
    unclear = "Mean seeds is not shown to differ between snr3 and Col-0: 43.7 against 44.9, p = 0.5."
    assert said("Does snr3 make less seeds than Col-0?", unclear) == ""
    partly = "seeds differs by block (p = 0.01); not shown to change with line (p = 0.6)."
    assert said("do the seeds differ between the line?", partly) == ""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is there a relationship between foci and area? How strong", "Yes"),
        ("do the foci increase with area?", "Yes"),
        ("do the foci decrease with area?", "No"),
        ("do bigger nuclei (area) have more foci?", "Yes"),
        ("do bigger nuclei (area) have fewer foci?", "No"),
        ("are bigger nuclei (area) slower (foci)?", ""),  # a direction of what was measured that nobody knows
    ],
)
def test_a_relation_is_confirmed_by_its_sign(question, answer):
    assert said(question, RISES) == answer


def test_the_answer_goes_on_behind_its_verdict_and_stands_alone_for_another_question():
    answer = Answer(
        text="foci rises as area rises.", node="n1", finding="f", rows="tx C", led_by="For tx C: ", verdict="Yes"
    )
    assert answer.said == "Yes, for tx C: foci rises as area rises."
    assert answer.told == "For tx C: foci rises as area rises."
    assert Answer(text="the share is lower.", node="n1", finding="f", verdict="No").said == "No: the share is lower."


PER = "foci is 1.30 higher per um2 of area, others held equal (95 % CI 0.7 to 1.9), p = 2e-5."
HAZARD = "The hazard of foci was 28 % lower per um2 of area: hazard ratio 0.72 (95 % interval 0.6 to 0.8), p = 1e-5."


def test_an_effect_per_unit_is_a_relation_and_a_hazard_answers_only_who_asks_of_it():
    assert said("do bigger nuclei (area) have more foci?", PER) == "Yes"
    assert said("do the foci decrease with area?", PER) == "No"
    assert said("do bigger nuclei (area) take longer to get foci?", HAZARD) == ""


PACE = "seeds falls in both: by 5.33 per day in snr3 (95 % CI 4.2 to 6.5) and 8.04 in Col-0; 2.71 per day slower in snr3 than in Col-0 (95 % CI 1.4 to 4.0), p = 4.2e-4."


@pytest.mark.parametrize(
    ("question", "answer"),
    [("do the seeds fall slower in snr3 than in Col-0?", "Yes"), ("do the seeds fall faster in snr3 than in Col-0?", "No"),
     ("do the seeds fall faster in Col-0?", "Yes"), ("is snr3 better than Col-0 (seeds)?", "")],
)  # fmt: skip
def test_a_pace_is_confirmed_where_the_sentence_says_it_in_so_many_words(question, answer):
    assert said(question, PACE) == answer


def test_what_goes_with_something_else_answers_nothing():
    by_site = "seeds differs by site (p = 0.01): mean A 5, B 4."
    assert said("do the seeds differ between the line?", by_site) == ""
    assert said("do the seeds differ between the line?", by_site.replace("site", "line")) == "Yes"


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("did they gain weight during the diet", "w12 is lower than w0 in the same subjects: mean 80", "No"),
        ("did they lose weight during the diet", "w12 is lower than w0 in the same subjects: mean 80", "Yes"),
        ("has it fallen", "w0 is higher than w12 in the same subjects: mean 80", "Yes"),
        ("did they lose more than the others", "w12 is lower than w0 in the same subjects: mean 80", ""),
        ("did they do better", "w12 is lower than w0 in the same subjects: mean 80", ""),
        ("how much did they lose", "w12 is lower than w0 in the same subjects: mean 80", ""),
        ("did they lose weight", "w12 is not shown to differ from w0: mean 80", ""),
        ("did they lose weight", "w12 is lower than pain in the same subjects: mean 80", ""),
    ],
)
def test_what_has_risen_or_fallen_over_a_course_is_told(question, text, answer):
    assert verdict(question, [], text, [["w0", "w6", "w12"]]) == answer


def test_a_column_of_yes_and_no_names_the_group_that_is_asked_about():
    question = "are smoking mothers' babies lighter?"
    taken = spans(question, smoking="smoker", babies="birth_g")
    assert (
        verdict(question, taken, "birth_g is 284 lower in smoker = yes than in smoker = no (95 % CI 79 to 489)")
        == "Yes"
    )
    assert (
        verdict(question, taken, "birth_g is 284 higher in smoker = yes than in smoker = no (95 % CI 79 to 489)")
        == "No"
    )


def test_a_trend_over_ordered_groups_is_told():
    question = "do pieces rise with knowledge?"
    taken = spans(question, pieces="pieces", knowledge="knowledge")
    assert verdict(question, taken, "pieces rises over knowledge (no < rough < good; n = 40), from 2 to 4") == "Yes"
    assert verdict(question, taken, "pieces falls over knowledge (no < rough < good; n = 40), from 4 to 2") == "No"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("is sepsis less common with drug than placebo", "Yes"),
        ("is sepsis more frequent with placebo than with drug", "Yes"),
        ("is sepsis more common with drug", "No"),
        ("is sepsis rarer with drug", "Yes"),
        ("do patients on drug have more low sepsis values", ""),  # not more of it
    ],
)
def test_how_often_something_is_may_be_asked_in_many_words(question, answer):
    taken = spans(question, sepsis="sepsis", drug="arm = drug", placebo="arm = placebo")
    text = "The share of sepsis is lower in drug than in placebo: 9.2 % (27 of 295) against 16.9 % (52 of 307)"
    assert verdict(question, taken, text) == answer
