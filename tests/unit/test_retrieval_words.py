"""Words: what meets what, and what a typing error is taken for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.retrieval.lexical import Field, LexicalIndex, query_words
from engine.retrieval.words import STOP, Speller, fold, name_key, stem, words


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


def test_accents_and_spelling_of_names_do_not_matter() -> None:
    assert fold("Rényi") == "Renyi"
    assert name_key("bwa-mem2") == name_key("BWA_MEM2") == name_key("bwa mem2") == "bwamem2"


def test_typing_errors_are_corrected_by_frequency_and_distance() -> None:
    speller = Speller(["differential expression", "expression of genes", "expulsion", "alignment"])
    assert speller.correct("diferential") == "differential"
    assert speller.correct("expresion") == "expression"
    assert speller.correct("aligmnent") == "alignment"
    assert speller.correct("expression") is None  # known, nothing to correct
    assert speller.correct("qwertyuiop") is None
    assert speller.correct("p53x9") is None  # never a name with digits
    assert speller.correct("gen") is None


def reference(documents: list[list[str]], query: list[str]) -> list[float]:
    """BM25 with k1 1.2 and b 0.75, written out."""
    import math

    average = max(1.0, sum(map(len, documents)) / len(documents))
    scores = []
    for document in documents:
        total = 0.0
        for word in query:
            frequency = sum(word in other for other in documents)
            if not frequency:
                continue
            idf = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
            tf = document.count(word) / (1 - 0.75 + 0.75 * len(document) / average)
            total += idf * tf * 2.2 / (tf + 1.2)
        scores.append(total)
    return scores


letters = st.lists(st.sampled_from("abcdefg"), max_size=12)


@given(st.lists(letters, min_size=1, max_size=8), st.lists(st.sampled_from("abcdefgh"), max_size=5, unique=True))
def test_scores_are_those_of_bm25(documents: list[list[str]], query: list[str]) -> None:
    index = LexicalIndex.build([{"text": document} for document in documents], {"text": Field(1.0, 0.75)})
    found = index.scores(dict.fromkeys(query, 1.0))
    assert found.tolist() == pytest.approx(reference(documents, query), rel=1e-4, abs=1e-5)


def test_a_field_of_more_weight_counts_more() -> None:
    fields = {"name": Field(3.0, 0.0), "text": Field(1.0, 0.0)}
    index = LexicalIndex.build([{"name": ["map"], "text": []}, {"name": [], "text": ["map"]}, {"text": ["x"]}], fields)
    scores = index.scores({"map": 1.0})
    assert scores[0] > scores[1] > scores[2] == 0
    assert index.known("map")
    assert not index.known("y")
    assert sorted(index.rows_of("map").tolist()) == [0, 1]
    assert index.idf("y") == 0


def test_repeating_a_word_does_not_take_a_question_over() -> None:
    once, thrice = query_words("read mapping"), query_words("read read read mapping")
    assert once["read"] == 1.0
    assert 1.0 < thrice["read"] < 2.0
    assert "the" in STOP
