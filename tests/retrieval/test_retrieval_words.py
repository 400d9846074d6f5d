"""Words: what meets what, and what a typing error is taken for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.retrieval.question.words import STOP, Speller, query_words, stem, words


@pytest.mark.parametrize(
    "family",
    [
        "align aligns aligned aligner aligning alignment alignments",
        "normalise normalize normalisation normalization normalised normalizing",
        "cluster clusters clustering clustered",
        "annotate annotation annotations annotator annotating",
        "map maps mapped mapper mapping",
        "assemble assembly assembler assembling assemblies",
        "predict prediction predictions predictor predicted",
        "quantify quantification",
        "classify classifier classification",
        "analyse analyze analysis analyses analysing",
        "tumour tumor tumours tumors",
    ],
)
def test_a_family_of_words_has_one_stem(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize("pair", ["gene genome", "protein proteome", "variant variance", "cell call", "read reference"])
def test_different_words_stay_different(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


def test_compounds_capitals_and_numbers_give_wholes_and_parts() -> None:
    assert words("RNA-seq") == ["rnaseq", "rna", "seq"]
    assert words("AlphaFold") == ["alphafold", "alpha", "fold"]
    assert words("bowtie2")[0] == "bowtie2"
    assert stem("bowtie") in words("bowtie2")
    assert words("read_alignment") == words("read alignment")
    assert words("GO:0006915")[-1] == "0006915"


def test_words_that_say_nothing_are_left_out() -> None:
    assert words("what is the use of this") == []
    assert words("!!! ... ???") == []
    assert words("") == []


@given(st.text(max_size=200))
def test_any_text_gives_words_without_blanks(text: str) -> None:
    for word in words(text):
        assert word
        assert word == word.strip()
        assert not any(char.isspace() for char in word)


@given(st.text(alphabet=st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=20))
def test_a_stem_is_never_empty_or_longer(word: str) -> None:
    assert 0 < len(stem(word)) <= len(word) + 1


def test_typing_errors_are_corrected_by_frequency_and_distance() -> None:
    speller = Speller(["differential expression", "expression of genes", "expulsion", "alignment"])
    assert speller.correct("diferential") == "differential"
    assert speller.correct("expresion") == "expression"
    assert speller.correct("aligmnent") == "alignment"
    assert speller.correct("expression") is None  # known, nothing to correct
    assert speller.correct("qwertyuiop") is None
    assert speller.correct("p53x9") is None  # never a name with digits
    assert speller.correct("gen") is None


def test_repeating_a_word_does_not_take_a_question_over() -> None:
    once, thrice = query_words("read mapping"), query_words("read read read mapping")
    assert once["read"] == 1.0
    assert 1.0 < thrice["read"] < 2.0
    assert "the" in STOP
