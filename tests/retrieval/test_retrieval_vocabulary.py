"""Reading a question: abbreviations, other languages, names of files, and that English is left alone."""

from __future__ import annotations

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.retrieval.question.vocabulary import read, vocabulary_of

ENGLISH = frozenset(
    [
        "gene",
        "genes",
        "protein",
        "proteins",
        "alignment",
        "sequence",
        "multiple",
        "variants",
        "variant",
        "bam",
        "control",
        "structure",
        "structures",
        "tree",
        "differential",
        "expression",
        "prediction",
        "assembly",
        "resistance",
        "quality",
        "groups",
        "analyse",
        "analyses",
        "search",
    ]
)


def known(word: str) -> bool:
    return word.lower() in ENGLISH


def test_the_table_is_clean() -> None:
    text = files("engine.retrieval").joinpath("data", "vocabulary.tsv").read_text(encoding="utf-8")
    assert text.isascii()
    assert text.endswith("\n")
    seen: set[tuple[str, str]] = set()
    for line in text.splitlines()[1:]:
        language, said, meant = line.split("\t")
        assert language in {"short", "instead", "de", "fr", "es"}, line
        assert meant == meant.strip()
        for form in said.split("|"):
            assert form, line
            assert form == form.strip()
            assert (language, form) not in seen, f"{form!r} comes twice in {language}"
            seen.add((language, form))
            assert language in {"short", "instead"} or form == form.lower(), line


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("Differenzielle Genexpression zwischen zwei Gruppen", "differential gene expression groups"),
        ("Sequenzausrichtung mehrerer Proteine", "sequence alignment multiple protein"),
        ("Qualitätskontrolle von Sequenzierdaten", "quality control sequencing data"),
        ("arbre phylogénétique", "tree phylogenetic"),
        ("expresión diferencial de genes", "expression differential gene"),
        ("árbol filogenético de proteínas", "tree phylogenetic protein"),
        ("appel de variants à partir de fichiers bam", "calling variants à file bam"),
    ],
)
def test_other_languages_are_read_in_english(question: str, meant: str) -> None:
    assert read(question, known).text == meant


@pytest.mark.parametrize(
    "question",
    ["gene", "multiple sequence alignment", "analyses of structures", "resistance genes", "de novo assembly",
     "find la crosse virus genes", "control genes", "bwa/mem", "", "   ", "...", "prediction of the structure"],
)  # fmt: skip
def test_english_stays_as_it_is(question: str) -> None:
    reading = read(question, known)
    assert reading.text == question or reading.text == " ".join(question.split())
    assert reading.read_as == {}


def test_an_abbreviation_is_kept_and_spelt_out() -> None:
    reading = read("PPI network", known)
    assert reading.text == "PPI network"
    assert reading.extra == "protein-protein interaction"
    assert reading.read_as == {"PPI": "protein-protein interaction"}


def test_an_abbreviation_that_is_another_word_is_replaced() -> None:
    assert read("DE analysis", known).text == "differential expression analysis"
    assert read("de novo", known).text == "de novo"


@pytest.mark.parametrize("question", ["go to the store", "str of a number", "te deum", "ld a", "md of a clinic"])
def test_small_letters_are_not_taken_for_capitals(question: str) -> None:
    assert read(question, known).extra == ""


def test_a_file_is_its_kind_in_a_short_question_and_nothing_in_a_letter() -> None:
    assert read("sample_01_R1.fastq.gz to runs/a.bam", known).text == "fastq to bam"
    letter = "Hello, my boss gave me /data/x/*.fastq.gz and table.csv of forty mice to compare"
    assert read(letter, known).text == "my gave me and of forty mice to compare"
    assert read("bwa/mem v1.2 bam", known).text == "bwa/mem v1.2 bam"


@given(st.text(max_size=200))
def test_any_question_can_be_read(question: str) -> None:
    reading = read(question, known)
    assert reading.text.strip() or not question.strip()


def test_reading_twice_changes_nothing_more_in_another_language() -> None:
    once = read("Differenzielle Genexpression zwischen zwei Gruppen", known).text
    assert read(once, known).text == once


def test_a_damaged_table_says_where() -> None:
    with pytest.raises(ValueError, match="line 2 has 2 fields; expected 3"):
        vocabulary_of("language\tsaid\tmeant\nde\tgen\n")
    with pytest.raises(ValueError, match="expected language, said, meant"):
        vocabulary_of("word\tother\n")
