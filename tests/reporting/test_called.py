"""Columns stand in an answer as people call them, and their own names stay beside the words."""

from __future__ import annotations

import pytest

from engine.domain.plan import Span
from engine.domain.profile import ColumnProfile, Profile, Structure, WideMeasure
from engine.reporting.called import alone, as_called, as_spelt


def column(name: str, scale: str = "number", label: str = "") -> ColumnProfile:
    return ColumnProfile(name=name, kind="number", scale=scale, label=label)  # pyright: ignore[reportArgumentType]


def told(
    text: str, columns: list[ColumnProfile], words: str = "", value: str = "", question: str = "", wide=(), strength=0.8
):
    profile = Profile(
        path="a.csv", name="a.csv", format="csv", bytes=1, sha256="0" * 64, types=[], summary="",
        column_profiles=columns, structure=Structure(wide=list(wide)),
    )  # fmt: skip
    asked = question or f"is the {words} different"
    at = asked.find(words)
    spans = (
        [Span(text=words, start=at, end=at + len(words), taken_as="column", value=value, strength=strength)]
        if words
        else []
    )
    params = {"value": [c.name for c in columns]}
    return as_called(text, [profile], spans, asked, params)


def test_a_short_name_is_told_with_the_words_of_the_question_once():
    text = "HL_mm differs between species; HL_mm is highest in agilis."
    said = told(text, [column("HL_mm")], "head length", "HL_mm")
    assert said == "Head length (HL_mm) differs between species; HL_mm is highest in agilis."


def test_a_legend_goes_before_the_question_and_holds_of_any_column():
    said = told("Rate of tx is higher.", [column("tx", "binary", label="treatment arm")], "arm", "tx")
    assert said == "Rate of treatment arm (tx) is higher."


@pytest.mark.parametrize(
    ("name", "words", "question", "strength"),
    [
        ("Jaffe (umol/L)", "jaffe", "", 0.8),  # says no more
        ("body weight", "heavy mass", "", 0.8),  # a name in plain words needs none
        ("wt_g", "heavy", "which one is most heavy", 0.8),  # how it is, not what it is called
        ("wt_g", "heavier", "", 0.8),
        ("vitD_nmolL", "vitD_nmolL", "", 1.0),  # itself
        ("NO3_uM", "day 3", "", 0.8),
        ("NO3_uM", "nitrate", "", 0.5),  # too unsure
    ],
)
def test_words_that_say_no_more_or_are_no_name_are_not_told(name, words, question, strength):
    text = f"{name} is higher in a than in b."
    assert told(text, [column(name)], words, name, question, strength=strength) == text


def test_a_name_within_a_formula_or_another_name_stays():
    text = "log(HL_mm - 3) and HL_mm_2 and `HL_mm` and HL_mm = 2 are left."
    assert told(text, [column("HL_mm")], "head length", "HL_mm") == text


def test_occasions_of_one_measurement_are_told_by_what_tells_them_apart():
    wide = [WideMeasure(name="kccq", columns=["KCCQ_0", "KCCQ_12wk"], labels=["0", "12wk"], ordered=True)]
    columns = [column("KCCQ_0", label="score at the start"), column("KCCQ_12wk")]
    text = "KCCQ_12wk - KCCQ_0 is higher in rehab than in usual care."
    assert told(text, columns, wide=wide) == "The change in KCCQ from 0 to 12wk is higher in rehab than in usual care."
    text = "KCCQ is lower in KCCQ_0 than in KCCQ_12wk: 1 against 2."
    assert told(text, columns, wide=wide) == "KCCQ is lower at 0 than at 12wk: 1 against 2."
    text = "KCCQ_12wk is higher than KCCQ_0 in the same subjects: mean 56 against 50."
    assert (
        told(text, columns, wide=wide) == "KCCQ is higher at 12wk than at 0 in the same subjects: mean 56 against 50."
    )


def test_an_occasion_is_told_as_the_question_says_it():
    labels = ["bl", "3m", "6m"]
    wide = [WideMeasure(name="hba 1 c", columns=[f"hba1c_{x}" for x in labels], labels=labels, ordered=True)]
    text = "Adjusted mean hba1c_6m is lower in drug than in usual care."
    columns = [column(f"hba1c_{x}") for x in labels]
    asked = "Is HbA1c at 6 months lower on the drug?"
    assert told(text, columns, question=asked, wide=wide) == text.replace("hba1c_6m", "HbA1c at 6 months (hba1c_6m)")
    assert "hba1c at 6m (hba1c_6m)" in told(text, columns, question="is it lower", wide=wide)
    text = "hba1c is lower in hba1c_6m than in hba1c_bl: 1 against 2."
    asked = "did HbA1c fall within 6 months?"
    assert told(text, columns, question=asked, wide=wide) == "hba1c is lower at 6 months than at baseline: 1 against 2."


def test_a_unit_in_a_legend_is_no_name():
    assert told("BMI is higher.", [column("BMI", label="kg/m2")]) == "BMI is higher."
    assert told("MDS is higher.", [column("MDS", label="diet score 0-9")]) == "Diet score 0-9 (MDS) is higher."


def test_a_group_whose_words_are_known_needs_no_column_that_says_nothing():
    known = {"arm": {"1": "study drug", "2": "usual care"}, "smoker": {"1": "current"}, "trt": {"1": "yes", "0": "no"}}
    text = "Lower in arm study drug (1) than in arm usual care (2; n = 9)."
    assert alone(text, known) == "Lower in study drug (1) than in usual care (2; n = 9)."
    text = "Higher in smoker current (1) and with trt yes (1)."  # these words say nothing alone
    assert alone(text, known) == text


def spelt(text: str, **levels: str) -> str:
    spans = [Span(text=words, start=0, end=1, taken_as="level", value=value) for words, value in levels.items()]
    return as_spelt(text, spans)


def test_levels_of_few_letters_are_told_once_as_the_question_spells_them():
    text = "x is higher in G than in Y: G has 3."
    assert spelt(text, green="hue = G", yellow="hue = Y") == "x is higher in green (G) than in yellow (Y): G has 3."
    assert spelt(text, women="hue = G") == text  # begins otherwise: not spelt out, but meant
    assert spelt("x is higher in green than in G-2.", green="hue = green") == "x is higher in green than in G-2."


def test_what_a_column_counts_is_told_where_its_name_does_not():
    assert told("count is highest in A.", [column("count")], "beetles", "count") == "Count of beetles is highest in A."
    assert told("count is highest in A.", [column("count")], "count", "count") == "count is highest in A."
    assert told("seeds is highest in A.", [column("seeds")], "count", "seeds").startswith("seeds")


def test_words_cut_out_of_a_sentence_are_no_name():
    wide = [WideMeasure(name="HGS", columns=["HGS0", "HGS8"], labels=["0", "8"], ordered=True)]
    text = "HGS8 is higher than HGS0 in the same subjects."
    said = told(text, [column("HGS0"), column("HGS8")], "strength between the start", "HGS0", wide=wide)
    assert said == "Strength is higher at 8 than at 0 in the same subjects."
    assert told(text, [column("HGS0"), column("HGS8")], "end", "HGS8", wide=wide).startswith("HGS is higher at 8")
