"""What is read from a question's words alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agents.planning import words
from engine.agents.planning.columns import find_columns, find_levels, split_name
from engine.domain.profile import ColumnProfile


@pytest.mark.parametrize(
    ("question", "alpha"),
    [
        ("genes at FDR < 0.01", 0.01),
        ("at 1% FDR", 0.01),
        ("padj below 0.1", 0.1),
        ("adjusted p-value of 0.05", 0.05),
        ("q-value <= 0.2", 0.2),
        ("significance level 0,01", 0.01),
        ("which genes change?", None),
        ("p53 targets", None),
        ("FDR < 5", None),
    ],
)
def test_significance_is_read_from_words(question, alpha):
    assert words.significance(question) == alpha


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("at least 2-fold", 1.0),
        ("two-fold change", 1.0),
        ("log2 fold change > 1.5", 1.5),
        ("lfc of at least 0.58", 0.58),
        ("fold change above 4", 2.0),
        ("which genes change", None),
    ],
)
def test_fold_change_is_read_as_log2(question, expected):
    assert (
        words.minimum_log2_fold_change(question) == pytest.approx(expected)
        if expected
        else (words.minimum_log2_fold_change(question) is None)
    )


@pytest.mark.parametrize(("question", "n"), [("top 20 genes", 20), ("the ten most variable", 10), ("genes", None)])
def test_top_n_is_read_from_digits_and_words(question, n):
    assert words.top_n(question) == n


def test_genes_are_found_and_abbreviations_of_methods_are_not():
    question = "Is DUSP1 or ENSG00000120129 higher? Make a PCA, a UMAP and GSEA at FDR 0.05, please. Does KLF15 too?"
    assert words.genes(question) == ["DUSP1", "ENSG00000120129", "KLF15"]


def test_ordinary_words_at_a_sentence_start_are_not_genes():
    assert words.genes("Was the cat set? Met with rest. Impact of age.") == []


def test_clauses_split_at_sentences_and_at_then():
    assert words.clauses("Which genes change? Then find pathways; finally plot") == [
        "Which genes change", "find pathways", "plot",
    ]  # fmt: skip


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    words.significance(text)
    words.minimum_log2_fold_change(text)
    words.top_n(text)
    words.genes(text)
    assert all(part for part in words.clauses(text))


def column(name, *levels):
    return ColumnProfile(name=name, kind="category", distinct=len(levels), levels=dict.fromkeys(levels, 3))


@pytest.mark.parametrize(
    ("question", "names", "expected"),
    [
        ("change with dexamethasone", ["dex", "celltype", "geo_id"], ["dex"]),
        ("does hormone therapy help", ["horTh", "age", "time"], ["horTh"]),
        ("adjusted for tumour size and grade", ["tsize", "tgrade", "pnodes"], ["tsize", "tgrade"]),
        ("number of positive nodes", ["pnodes", "progrec"], ["pnodes"]),
        ("is flipper length related to body mass", ["bill_length_mm", "flipper_length_mm", "body_mass_g"],
         ["flipper_length_mm", "body_mass_g"]),
        ("do men and women differ", ["sex", "age"], ["sex"]),
        ("bilirubin in primary biliary cirrhosis", ["bili", "chol"], ["bili"]),
        ("survival in primary biliary cirrhosis", ["bili", "chol"], []),
        ("differs between speices", ["species", "island"], ["species"]),
        ("the weather", ["species", "island"], []),
    ],
)  # fmt: skip
def test_columns_are_found_however_loosely_named(question, names, expected):
    found = find_columns(question, [column(name) for name in names])
    assert [match.name for match in found if match.strength >= 0.55] == expected


def test_a_word_belongs_to_the_column_it_names_best():
    found = find_columns("petal length", [column("sepal length (cm)"), column("petal length (cm)")])
    assert [match.name for match in found] == ["petal length (cm)"]


def test_untreated_does_not_count_as_treated():
    levels = [level for level, _ in find_levels("cells left untreated", column("dex", "treated", "untreated"))]
    assert levels == ["untreated"]


@pytest.mark.parametrize("written", ["CD14+ Monocyte", "cd14+ monocytes", "CD14+_Monocyte"])
def test_levels_of_several_words_are_found(written):
    cells = column("cells", "CD14+ Monocyte", "CD19+ B")
    assert [level for level, _ in find_levels(f"what marks {written}?", cells)] == ["CD14+ Monocyte"]


def test_camel_case_and_underscores_split():
    assert split_name("bodyMass_g2") == ["body", "mass", "g", "2"]


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=12), max_size=5, unique=True))
def test_any_names_can_be_searched_for(question, names):
    found = find_columns(question, [column(name, "a", "b") for name in names])
    assert {match.name for match in found} <= set(names)
    assert all(0 < match.strength <= 1 for match in found)
