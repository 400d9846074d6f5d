"""Words and names of records and questions: identifiers survive, case and endings do not matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.memory.episodes.reading import DOMAIN, ENTITY, TOOL, identifiers, name_key, read, words

TEXTS = st.text(max_size=80)


def forms(text: str) -> list[str]:
    return [word.form for word in words(text)]


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("TP53", "tp53"),
        ("rs12345", "rs12345"),
        ("(cg05575921)", "cg05575921"),
        ("5KIR,", "5kir"),
        ("ENSG00000141510.18", "ensg00000141510"),
        ("R47H", "r47h"),
        ("p.R47H", "r47h"),
        ("IL-6", "il6"),
        ("il6", "il6"),
        ("16S", "16s"),
        ("CXCR5+", "cxcr5"),
        ("TNF-α2", "tnfalpha2"),
    ],
)
def test_identifiers_stay_whole_and_are_equal_or_not(written: str, form: str) -> None:
    (word,) = words(f"What of {written} here?")[:1]
    assert (word.form, word.is_identifier) == (form, True)
    assert identifiers(f"What of {written} here?")


def test_a_name_of_several_parts_is_found_by_each_of_them_too() -> None:
    assert forms("GO:0006915") == ["go0006915"]
    assert forms("melanoma2_os.csv") == ["melanoma2oscsv", "os", "csv"]


def test_other_words_lose_case_endings_and_stop_words() -> None:
    assert len(set(forms("The clusters were clustered; clustering again."))) == 1
    assert forms("single-cell, anti-dsDNA and 12-month") == forms("Single cell anti dsDNA month")
    assert forms("86,412 cells at 0.05, 20 % and 1e-200") == forms("cell")
    assert forms("tumours and leukaemia") == forms("tumor and leukemia")
    assert forms("the of and \u2014 !!! ...") == forms("") == []


@given(TEXTS)
def test_words_never_fail_and_a_text_has_those_of_its_halves(text: str) -> None:
    assert forms(f"{text} {text}") == forms(text) * 2
    assert all(word.form and word.form == word.form.lower() for word in words(text))


def test_names_are_compared_without_case_hyphens_and_spaces() -> None:
    assert name_key("Single-cell") == name_key("single_cell")
    assert name_key("PD-L1") == name_key("pd l1")
    assert name_key("ENSG00000141510.18") == name_key("ensg00000141510")


def test_a_question_names_what_is_remembered_in_the_longest_form() -> None:
    there = {ENTITY: {"parusmajor", "tp53", "ad"}, TOOL: {"bwamem"}, DOMAIN: {"singlecell", "ecology"}}
    query = "the Parus major data, mapped with BWA-MEM, single cell, TP-53, ad hoc"
    asked = read(query, lambda group, key: key in there[group])
    assert asked.names == {
        ENTITY: {"parusmajor": "Parus major", "tp53": "TP-53"},
        TOOL: {"bwamem": "BWA-MEM"},
        DOMAIN: {"singlecell": "single cell"},
    }
    hinted = read(query, lambda group, key: key in there[group], tools=["nothing"], domains=["Ecology", "genomics"])
    assert hinted.names[DOMAIN] == {"ecology": "Ecology"}
    assert "nothing" not in hinted.names[TOOL]
