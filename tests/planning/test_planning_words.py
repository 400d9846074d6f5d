"""What is read from a question's words alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.profile import ColumnProfile, Profile, Structure, TypeGuess, WideMeasure
from engine.planning.naming import numbers
from engine.planning.naming.hints import wide_mentions
from engine.planning.naming.overlaps import find
from engine.planning.reading.read import read
from engine.planning.tables.sheets import Data, is_id
from engine.text.names import name_parts
from engine.text.times import timed
from engine.text.tokens import tokens


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
    assert value(numbers.significance(question)) == alpha


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
    assert value(numbers.minimum_log2_fold_change(question)) == (pytest.approx(expected) if expected else None)


@pytest.mark.parametrize(("question", "n"), [("top 20 genes", 20), ("the ten most variable", 10), ("genes", None)])
def test_top_n_is_read_from_digits_and_words(question, n):
    assert value(numbers.top_n(question)) == n


def test_genes_are_found_and_abbreviations_of_methods_are_not():
    question = "Is DUSP1 or ENSG00000120129 higher? Make a PCA, a UMAP and GSEA at FDR 0.05, please. Does KLF15 too?"
    assert [gene for gene, _, _ in numbers.genes(question)] == ["DUSP1", "ENSG00000120129", "KLF15"]


def test_ordinary_words_at_a_sentence_start_are_not_genes():
    assert numbers.genes("Was the cat set? Met with rest. Impact of age.") == []


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    for said in (numbers.significance(text), numbers.minimum_log2_fold_change(text), numbers.top_n(text)):
        assert said is None or 0 <= said.start < said.end <= len(text)
    assert all(text[start:end] for _, start, end in numbers.genes(text))


def value(said):
    return None if said is None else said.value


def column(name, *levels, scale="category", kind="category", **facts):
    facts = {"distinct": len(levels), "levels": dict.fromkeys(levels, 3)} | facts
    return ColumnProfile(name=name, kind=kind, scale=scale, **facts)


def table(*columns, **structure) -> Data:
    guess = TypeGuess(type="table", confidence=0.9)
    profile = Profile(path="/t.csv", name="t.csv", format="csv", bytes=1, sha256="0" * 64, types=[guess], summary="",
                      column_profiles=list(columns), structure=Structure(**structure))  # fmt: skip
    return Data.of([profile])


def columns_in(question, columns):
    return list(dict.fromkeys(mention.column for mention in find(question, columns)))


def levels_in(question, column):
    return [mention.level for mention in find(question, [column]) if mention.level]


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
        ("differs between speices", ["species", "island"], ["species"]),
        ("the weather", ["species", "island"], []),
    ],
)  # fmt: skip
def test_columns_are_found_however_loosely_named(question, names, expected):
    assert columns_in(question, [column(name) for name in names]) == expected


def test_a_word_belongs_to_the_column_it_names_best():
    found = columns_in("petal length", [column("sepal length (cm)"), column("petal length (cm)")])
    assert found == ["petal length (cm)"]


def test_untreated_does_not_count_as_treated():
    assert levels_in("cells left untreated", column("dex", "treated", "untreated")) == ["untreated"]


@pytest.mark.parametrize("written", ["CD14+ Monocyte", "cd14+ monocytes", "CD14+_Monocyte"])
def test_levels_of_several_words_are_found(written):
    cells = column("cells", "CD14+ Monocyte", "CD19+ B")
    assert levels_in(f"what marks {written}?", cells) == ["CD14+ Monocyte"]


def test_camel_case_and_underscores_split():
    assert name_parts("bodyMass_g2") == ["body", "mass", "g", "2"]


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=12), max_size=5, unique=True))
def test_any_names_can_be_searched_for(question, names):
    found = find(question, [column(name, "a", "b") for name in names])
    words = tokens(question)
    assert {mention.column for mention in found} <= set(names)
    assert all(0 < mention.strength <= 1 and 0 <= mention.first <= mention.last < len(words) for mention in found)
    used = [at for mention in found for at in range(mention.first, mention.last + 1)]
    assert len(used) == len(set(used)), "a word is used once"


# ==== times, numbers and letters ====


@pytest.mark.parametrize("said", ["week twelve", "Wk12", "w12", "the twelfth week", "12 weeks", "wk 12"])
@pytest.mark.parametrize("level", ["Wk12", "week 12", "W12"])
def test_a_point_in_time_is_found_in_whatever_form(said, level):
    visits = column("visit", "Wk0", level, "Wk24")
    assert levels_in(f"compare {said} with the start", visits) == [level]


def test_time_words_have_one_form():
    assert {timed(("wk", "12")), timed(("12", "weeks")), timed(("w", "12"))} == {"week12"}
    assert timed(("group", "12")) == ""


@pytest.mark.parametrize(
    ("question", "levels"),
    [
        ("group 1 vs group 2", ["1", "2"]),
        ("is it higher in groups 2 and 3", ["2", "3"]),
        ("the second group against the first group", ["2", "1"]),
        ("I have 2 questions", []),
    ],
)
def test_a_number_is_a_level_beside_its_column_only(question, levels):
    groups = column("group", "1", "2", "3", scale="code", kind="integer")
    assert levels_in(question, groups) == levels


def test_numbers_in_a_row_are_levels_of_the_only_column_that_has_them():
    years = column("YEAR", "95", "96", "97", scale="code", kind="integer")
    other = column("run", "1", "2", scale="code", kind="integer")
    assert [(m.column, m.level) for m in find("differ between 95, 96 and 97", [years, other])] == [
        ("YEAR", "95"), ("YEAR", "96"), ("YEAR", "97"),
    ]  # fmt: skip


@pytest.mark.parametrize("question", ["a plan for the mice", "I want a test", "is A the best"])
def test_a_letter_alone_is_no_level(question):
    assert levels_in(question, column("arm", "A", "B")) == []


def test_a_letter_beside_its_column_is_one():
    assert levels_in("arm A against arm B", column("arm", "A", "B")) == ["A", "B"]


def test_a_word_is_not_cut_in_two():
    assert columns_in("is EXON12 linked", [column("EXON1"), column("EXON2")]) == []


@pytest.mark.parametrize("question", ["the third brood", "brood 3", "broods 1 and 3", "at brood 3"])
def test_a_label_of_a_wide_measure_names_its_column(question):
    wide = WideMeasure(name="brood", columns=["brood_1", "brood_2", "brood_3"], labels=["1", "2", "3"], ordered=True)
    assert "brood_3" in {m.column for m in wide_mentions(tokens(question), Structure(wide=[wide]))}


# ==== what a sentence makes of what it names ====

PEOPLE = (
    column("sex", "male", "female", scale="binary"),
    column("arm", "placebo", "drug"),
    column("age", scale="number", kind="integer", minimum=18, maximum=90),
    column("weight", scale="number", kind="number"),
    column("week", "0", "4", "12", scale="ordered", kind="integer"),
)


@pytest.mark.parametrize(
    ("question", "restriction"),
    [
        ("women only: does weight differ by arm", ("sex", "in", ("female",))),
        ("weight by arm, only in women", ("sex", "in", ("female",))),
        ("weight by arm without the women", ("sex", "not in", ("female",))),
        ("weight by arm, leave out week 0", ("week", "not in", ("0",))),
        ("weight by arm in those older than 60", ("age", ">", ("60",))),
        ("weight by arm for age below 40", ("age", "<", ("40",))),
        ("weight by arm from week 4 on", ("week", ">=", ("4",))),
    ],
)
def test_rows_to_keep_or_leave_out_are_read(question, restriction):
    found = read(question, table(*PEOPLE)).restrictions
    assert restriction in {(item.column, item.op, item.values) for item in found if item.sure}


@pytest.mark.parametrize("question", ["does weight differ between men and women", "is weight higher in the drug arm"])
def test_groups_to_compare_restrict_nothing(question):
    assert not [item for item in read(question, table(*PEOPLE)).restrictions if item.sure]


@pytest.mark.parametrize(
    ("question", "outcome", "cause"),
    [
        ("effect of arm on weight", "weight", "arm"),
        ("does age influence weight", "weight", "age"),
        ("does weight depend on age", "weight", "age"),
        ("predict weight from age", "weight", "age"),
        ("does weight differ between arms", "weight", "arm"),
    ],
)
def test_grammar_tells_what_depends_on_what(question, outcome, cause):
    reading = read(question, table(*PEOPLE))
    assert reading.is_a(outcome, "outcome")
    assert reading.is_a(cause, "cause", "by")
    assert not reading.is_a(outcome, "cause")


@pytest.mark.parametrize(
    "words", ["adjusted for age", "controlling for age", "taking age into account", "corrected for age"]
)
def test_what_is_held_constant_is_read(words):
    assert read(f"effect of arm on weight, {words}", table(*PEOPLE)).is_a("age", "adjust")


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("drug versus placebo", ("drug", "placebo")),
        ("is it higher in placebo than in drug", ("placebo", "drug")),
        ("what changes from placebo to drug", ("drug", "placebo")),
    ],
)
def test_the_direction_is_the_one_the_words_fix(question, order):
    (found,) = read(question, table(*PEOPLE)).contrasts
    assert found.explicit
    assert found.levels == order


def test_data_are_masked_by_their_kind():
    assert (
        read("Does weight differ between drug and placebo?", table(*PEOPLE)).masked
        == "Does NUM differ between LEV and LEV?"
    )


@given(st.text(max_size=120))
def test_any_question_can_be_read(question):
    reading = read(question, table(*PEOPLE))
    spans = reading.spans()
    assert all(span.text == question[span.start : span.end] for span in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))


# ==== words of laboratories, other languages, states and codes ====


@pytest.mark.parametrize(
    ("question", "names", "expected"),
    [
        ("is body weight higher", ["Körpergewicht", "Alter"], ["Körpergewicht"]),
        ("the treatment group", ["Behandlungsgruppe", "Dosis"], ["Behandlungsgruppe"]),
        ("does mercury rise", ["Hg_ug_kg", "lake"], ["Hg_ug_kg"]),
        ("how does salt act", ["NaCl_mM", "RIN"], ["NaCl_mM"]),
        ("length of stay", ["LOS_d", "age"], ["LOS_d"]),
        ("a predictive model", ["PCT (ug/L)", "age"], []),
        ("the concentration", ["diet", "conc"], ["conc"]),
    ],
)
def test_columns_are_found_in_compounds_abbreviations_and_other_languages(question, names, expected):
    assert (
        columns_in(question, [column(name, scale="number", kind="number", distinct=30) for name in names]) == expected
    )


CELLS = [
    column("area", scale="number", kind="number", distinct=90),
    column("benign", "0", "1", scale="binary", kind="integer"),
    column("dx", "1", "2", scale="binary", kind="integer"),
    column("screen", "neg", "pos", "unclear"),
    column("faecal_PCR", "NEG", "POS", "unclear"),
]


@pytest.mark.parametrize(
    ("question", "levels"),
    [
        ("is area normal in the benign ones", {"benign": ["1"]}),
        ("area of cells without benign", {"benign": ["0"]}),
        ("can area tell malignant (1) from healthy (2)", {"dx": ["1", "2"]}),
        ("area coloured by type (1 malignant, 2 healthy)", {"dx": ["1", "2"]}),
        ("is area larger in PCR positive", {"faecal_PCR": ["POS"]}),
        ("is area larger in a positive screen", {"screen": ["pos"]}),
        ("does area depend on benign", {}),
    ],
)
def test_states_and_codes_are_levels_of_the_column_that_is_meant(question, levels):
    reading = read(question, table(*CELLS))
    found = {name: reading.levels(name) for name in reading.levels_named()}
    assert found == levels


def test_a_row_of_visits_names_all_of_them_before_or_after_the_unit():
    names = ["sbp_wk0", "sbp_wk4", "sbp_wk8"]
    wide = WideMeasure(name="sbp", columns=names, labels=["wk0", "wk4", "wk8"], ordered=True)
    structure = Structure(wide=[wide])
    for question in ("pressure at weeks 0, 4 and 8", "pressure after 0, 4 and 8 weeks"):
        assert {m.column for m in wide_mentions(tokens(question), structure)} == set(names)
    assert not wide_mentions(tokens("pressure of 4 and 8 patients"), structure)


def test_two_of_a_kind_are_both_and_no_level():
    flowcell = column("flowcell", "1", "2", scale="binary", kind="integer")
    assert read("the libraries ran on two flowcells", table(flowcell)).levels_named() == []
    assert read("in the second flowcell", table(flowcell)).levels("flowcell") == ["2"]


@pytest.mark.parametrize("name", ["pup", "cow_no", "Cell ID", "piglet"])
def test_numbers_of_what_was_observed_are_ids_and_counts_of_it_are_not(name):
    facts = {"scale": "number", "kind": "integer", "distinct": 14, "minimum": 1}
    assert is_id(column(name, **facts))
    assert not is_id(column("n_" + name + "s", **facts))
    assert not is_id(column(name, **{**facts, "minimum": 0}))


@pytest.mark.parametrize(
    ("question", "names", "expected"),
    [
        ("feno in asthma", ["FeNO_ppb", "age"], ["FeNO_ppb"]),
        ("did hba1c before treatment differ", ["HbA1c_pre", "sex"], ["HbA1c_pre"]),
        ("is CD4 lower", ["CD4_count", "CD8_count"], ["CD4_count"]),
        ("atopic children", ["atopy", "age"], ["atopy"]),
        ("the anaemic ones", ["anaemia", "age"], ["anaemia"]),
        ("exon12 deletion", ["EXON1", "EXON2"], []),
    ],
)
def test_a_name_is_found_as_people_write_it(question, names, expected):
    assert (
        columns_in(question, [column(name, scale="number", kind="number", distinct=40) for name in names]) == expected
    )


def test_a_word_between_two_groups_is_no_part_of_one():
    drug = column("drug", "naproxen12", "naproxeno", "ibuprofeno")
    first = next(m for m in find("naproxeno vs ibuprofeno", [drug]) if m.level == "naproxeno")
    assert (first.first, first.last) == (0, 0)


def test_a_quantity_names_the_only_column_in_its_unit():
    sheet = table(
        column("storage_C", scale="ordered", kind="integer", distinct=4),
        column("logCFU_g", scale="number", kind="number", distinct=90),
        column("h", scale="number", kind="number", distinct=9),
    )
    assert "storage_C" in read("one line per temperature", sheet).named()


def test_numbers_after_only_keep_no_rows():
    died = column("status", "dead", "alive", scale="binary")
    found = read("112 of 138 men died but only 53 of 90 women", table(*PEOPLE, died)).restrictions
    assert not [item for item in found if item.sure]
