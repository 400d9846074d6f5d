"""Codes in words: by the key in a column's name and by what the question says, never by a guess."""

from __future__ import annotations

import pytest

from engine.domain.profile import ColumnProfile
from engine.text.codes import in_words, meanings, reworded, without_key


def column(name: str, *levels: str) -> ColumnProfile:
    return ColumnProfile(name=name, kind="integer", levels=dict.fromkeys(levels, 5), distinct=len(levels))


SEX, STATUS = column("sex", "1", "2"), column("status", "1", "2")


@pytest.mark.parametrize(
    ("name", "levels", "expected"),
    [
        ("sex (1=m 2=f)", "12", {"1": "male", "2": "female"}),
        ("grp(1=drug 2=plac)", "12", {"1": "drug", "2": "plac"}),
        ("anaemia_0no_1yes", "01", {"0": "no", "1": "yes"}),
        ("outcome [dead=1, alive=0]", "01", {"1": "dead", "0": "alive"}),
        ("dose (1=5 2=10)", "12", {}),
        ("week_2", "12", {}),
    ],
)
def test_a_key_in_the_name_tells_codes(name: str, levels: str, expected: dict[str, str]) -> None:
    assert meanings([column(name, *levels)]).get(name, {}) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Do men live longer? status 2 = died", {"status": {"2": "died"}}),
        ("status (1 = censored, 2 = died of cancer) by sex", {"status": {"1": "censored", "2": "died of cancer"}}),
        ("does status differ by sex (1 male / 2 female)?", {"sex": {"1": "male", "2": "female"}}),
        ("sex: male = 1, female = 2; who dies?", {"sex": {"1": "male", "2": "female"}}),
        ("do women (sex 2) or men (sex = 1) live longer?", {"sex": {"2": "women", "1": "men"}}),
        ("status 1 is alive and 2 is dead, which sex lives longer", {"status": {"1": "alive", "2": "dead"}}),
        ("status = 2 (died) by sex", {"status": {"2": "died"}}),
        (
            "both are coded 1 = yes, 2 = no: are they linked?",
            {"sex": {"1": "yes", "2": "no"}, "status": {"1": "yes", "2": "no"}},
        ),
        ("only status = 2 please", {}),
        ("1 = good, 2 = bad", {}),  # of either column
        ("is sex 1 better than sex 2?", {}),
        ("status 2 = died does it depend on sex", {"status": {"2": "died"}}),
        ("status 1 died in hospital, 2 alive. by sex", {"status": {"1": "died in hospital", "2": "alive"}}),
        ("in sex 1 patients 2 died", {}),
    ],
)
def test_a_question_tells_codes(question: str, expected: dict[str, dict[str, str]]) -> None:
    assert meanings([SEX, STATUS], question) == expected


def test_letters_are_codes_too() -> None:
    diagnosis = column("diagnosis", "M", "B")
    assert meanings([diagnosis], "M = malignant, B = benign") == {"diagnosis": {"M": "malignant", "B": "benign"}}


@pytest.mark.parametrize(
    ("name", "known"), [("fall", True), ("had_stroke", True), ("sex", False), ("cens", False), ("am", False)]
)
def test_a_state_is_yes_or_no(name: str, known: bool) -> None:
    assert meanings([column(name, "0", "1")]) == ({name: {"0": "no", "1": "yes"}} if known else {})


def test_the_question_goes_before_the_name() -> None:
    own = column("arm (1=a 2=b)", "1", "2")
    assert meanings([own], "arm 1 = placebo, 2 = drug")[own.name] == {"1": "placebo", "2": "drug"}


def test_two_codes_of_one_meaning_tell_nothing() -> None:
    assert meanings([column("group (1=case 2=case)", "1", "2")]) == {}


def test_a_code_stays_beside_its_words() -> None:
    assert in_words("2", {"2": "died"}) == "died (2)"
    assert in_words("2", {"2": "died"}, "165 rows") == "died (2; 165 rows)"
    assert in_words("2", None) == "2"
    assert in_words("drug", {}, "60") == "drug (60)"


@pytest.mark.parametrize(
    ("name", "bare"),
    [("sex (1=m 2=f)", "sex"), ("sex_1m_2f", "sex"), ("dose (mg)", "dose (mg)"), ("wk_2", "wk_2"), ("p:1=a 2=b", "p")],
)
def test_a_name_without_its_key(name: str, bare: str) -> None:
    assert without_key(name) == bare


def test_sentences_say_codes_in_words() -> None:
    known = {"sex (1=m 2=f)": {"1": "male", "2": "female"}, "status": {"2": "died"}}
    said = reworded("Where sex (1=m 2=f) is 2, the hazard of status = 2 was 2.5 times that of status = 1.", known)
    assert said == "Where sex is female (2), the hazard of status = died (2) was 2.5 times that of status = 1."
    assert reworded("sex (1=m 2=f) is 1 or 2; status 2.5", known) == "sex is male (1) or female (2); status 2.5"
    assert reworded("status = 2 (died)", known) == "status = 2 (died)"
    assert reworded("status = 20", known) == "status = 20"


def test_what_follows_a_code_in_parentheses_goes_into_its_own() -> None:
    known = {"Feed (1=std, 2=new)": {"1": "std", "2": "new"}}
    said = reworded("Weight is higher in Feed (1=std, 2=new) 2 (32.4) than in Feed (1=std, 2=new) 1 (30.2).", known)
    assert said == "Weight is higher in Feed new (2; 32.4) than in Feed std (1; 30.2)."


def test_an_article_after_the_name_of_a_column_is_no_code():
    known = {"arm": {"A": "placebo", "B": "metformin"}}
    text = "Changes in the metformin arm: A change of 2 was seen; arm: A, arm A against arm B."
    assert reworded(text, known) == (
        "Changes in the metformin arm: A change of 2 was seen; arm: placebo (A), arm placebo (A) against arm metformin (B)."
    )
