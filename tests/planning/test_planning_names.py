"""Columns and levels by the words of a trade, by short forms and by what stands beside them."""

from __future__ import annotations

import pytest
from test_planning_words import column, table

from engine.domain.profile import WideMeasure
from engine.planning.naming.lexicon import in_terms, synonyms
from engine.planning.naming.overlaps import find
from engine.planning.reading.read import read, within
from engine.planning.reading.requests import cuts
from engine.text.names import name_parts


def number(name, **facts):
    return column(name, scale="number", kind="number", distinct=50, **facts)


def named(question: str, *names: str) -> set[str]:
    return {m.column for m in find(question, [number(name) for name in names])}


@pytest.mark.parametrize(
    ("question", "names", "wanted"),
    [
        ("Does the packed cell volume fall with the eyelid colour score?", ("PCV_pct", "FAMACHA", "tag"), {"PCV_pct", "FAMACHA"}),
        ("shoot fresh weight of the pots", ("shoot_fw_g", "root_dw_g"), {"shoot_fw_g"}),
        ("is the fasting blood sugar higher", ("fbg_mmol", "chol"), {"fbg_mmol"}),
        ("length of stay by age", ("los_d", "age"), {"los_d", "age"}),
        ("does total length depend on head length", ("totlngth", "hdlngth", "skullw"), {"totlngth", "hdlngth"}),
        ("self esteem against sleep", ("selfest", "sleep_h"), {"selfest", "sleep_h"}),
        ("measured height on stated height", ("cm_stadiometer", "cm_said", "kg_said"), {"cm_stadiometer", "cm_said"}),
        ("age and time since diagnosis", ("Time_d", "Months_since_dx", "age"), {"Months_since_dx", "age"}),
    ],
)  # fmt: skip
def test_columns_are_found_by_the_words_of_a_trade_and_by_short_forms(question, names, wanted):
    assert named(question, *names) == wanted


@pytest.mark.parametrize(
    ("question", "names", "wanted"),
    [
        ("does the catch depend on the fishing area and the gear", ("captura_kg", "zona", "arte", "talla_cm"), {"captura_kg", "zona", "arte"}),
        ("is the yield of the mature plots higher, by block", ("rdto_kg_ha", "maduro", "bloque", "altura_planta"), {"rdto_kg_ha", "maduro", "bloque"}),
        ("hour of fishing and length of the fish", ("heure", "taille_cm", "prise_kg"), {"heure", "taille_cm"}),
        ("smoking and length of stay", ("tabagismo", "tempo_internacao", "idade"), {"tabagismo", "tempo_internacao"}),
        ("does lameness change the milk yield", ("zoppia", "latte_kg", "razza"), {"zoppia", "latte_kg"}),
        ("trips and bycatch", ("fahrt", "beifang_kg", "tiefe"), {"fahrt", "beifang_kg"}),
        ("do the weeds lower the yield in each plot", ("onkruid", "opbrengst", "perceel", "ras"), {"onkruid", "opbrengst", "perceel"}),
        ("did the jab change how much they ate", ("gevaccineerd", "voeropname", "leeftijd"), {"gevaccineerd", "voeropname"}),
    ],
)  # fmt: skip
def test_columns_in_other_languages_are_found_by_english_words(question, names, wanted):
    assert named(question, *names) == wanted


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("it is broken down further", ("fractura",)),
        ("is it mature", ("geslacht", "geschlecht")),
        ("more tillers", ("number",)),
        ("the better unit", ("servicio", "mejoria")),
        ("hits and doses", ("sd", "vas")),
    ],
)
def test_everyday_english_names_no_foreign_column(question, names):
    assert named(question, *names) == set()


def test_a_plural_of_the_lexicon_hides_no_meaning_of_its_singular():
    assert named("set the trials against the doses", "attempt", "dosis") == {"attempt", "dosis"}


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("how many are there", ("plaque_n", "area")),
        ("suppose the callipers fall apart", ("sp", "CL", "FL")),
        ("kg lost", ("control",)),
        ("gene EXON12", ("EXON1",)),
    ],
)
def test_words_of_questions_name_no_columns(question, names):
    assert named(question, *names) == set()


def test_a_term_is_one_word_and_the_lexicon_has_no_empty_or_single_groups():
    assert in_terms(("wet", "fresh", "weight")) == ("wet", "freshweight")
    assert in_terms(("no", "such", "thing")) == ("no", "such", "thing")
    assert all(len(group) > 1 for groups in synonyms().values() for group in groups)


@pytest.mark.parametrize(
    ("question", "levels", "level"),
    [
        ("only the moxidectin lambs", ("ivm", "mox", "nil"), "mox"),
        ("the knockouts against the rest", ("Nlrp3KO", "WT"), "Nlrp3KO"),
        ("women only", ("f", "m"), "f"),
    ],
)
def test_levels_by_the_words_of_a_trade(question, levels, level):
    found = find(question, [column("x", *levels)])
    assert {m.level for m in found if m.level} == {level}


@pytest.mark.parametrize(
    "question", ["do the two agree", "does one of them count more", "patients with and without it"]
)
def test_counting_words_and_persons_are_no_levels(question):
    assert not find(question, [column("mouse", "#01", "#02"), column("site", "Case", "Rest"), column("sex", "f", "m")])


def test_what_codes_stand_for_may_be_said_in_the_name():
    found = find("among the women", [column("sex_1m_2f", "1", "2", scale="binary", kind="integer")])
    assert [(m.column, m.level) for m in found] == [("sex_1m_2f", "2")]


def test_untreated_is_the_zero_of_the_only_dose():
    from engine.domain.profile import RoleGuess

    dose = column("rate_g_ha", "0", "50", "100", scale="ordered", kind="integer",
                  roles=[RoleGuess(role="dose", confidence=0.9, why="")])  # fmt: skip
    reading = read("among the unsprayed pots", table(dose, number("weight")))
    assert [(m.column, m.level) for m in reading.mentions] == [("rate_g_ha", "0")]


def test_a_time_is_the_level_of_the_only_column_in_its_unit():
    age = column("age_mo", "3", "6", "9", scale="ordered", kind="integer")
    reading = read("cell area at nine months", table(age, column("group", "a", "b")))
    assert [(m.column, m.level) for m in reading.mentions] == [("age_mo", "9")]


def test_a_measure_named_apart_from_its_occasion_is_one_column():
    names = [f"{stem}_m{n}" for stem in ("kg_lost", "selfest") for n in (1, 2, 3)]
    wide = [
        WideMeasure(name=stem.replace("_", " "), columns=[f"{stem}_m{n}" for n in (1, 2, 3)],
                    labels=["m1", "m2", "m3"], ordered=True) for stem in ("kg_lost", "selfest")
    ]  # fmt: skip
    reading = read(
        "self esteem by arm in the third month", table(*map(number, names), column("arm", "A", "B"), wide=wide)
    )
    assert set(reading.columns()) == {"selfest_m3", "arm"}


def test_a_paraphrase_of_a_name_in_brackets_names_nothing_else():
    reading = read(
        "hours to the verified result (rec_ver_tat)", table(number("rec_ver_tat"), column("result", "a", "b"))
    )
    assert reading.columns() == ["rec_ver_tat"]


def test_a_part_of_the_name_of_a_method_names_no_column():
    data = table(column("risk", "a", "b"), column("ill", "no", "yes", scale="binary"))
    assert "risk" in read("absolute risk reduction", data).columns()
    assert "risk" not in read("absolute risk reduction", data, frozenset({("absolut", "risk", "reduct")})).columns()


def test_the_state_itself_stands_before_its_opposite():
    data = table(column("smoker", "no", "yes", scale="binary"), number("weight"))
    (contrast,) = read("weight of smoker vs non smoker", data).contrasts
    assert (contrast.column, contrast.levels[:2], contrast.explicit) == ("smoker", ("yes", "no"), True)


def test_requests_are_cut_where_words_add_one_and_each_says_its_own():
    data = table(column("arm", "A", "B"), column("sex", "f", "m"), number("age"), number("days"))
    reading = read("table of age by arm, and then curves of days by sex", data)
    named = [m.first for m in reading.mentions]
    places = cuts(reading, reading.requests[0]._replace(first=0, last=len(reading.words) - 1), named)
    assert any(place.clear for place in places)
    first, second = reading.requests if len(reading.requests) == 2 else (places[-1].left, places[-1].right)
    reading.requests = [first, second]
    assert set(within(reading, first, data).columns()) == {"age", "arm"}
    assert set(within(reading, second, data).columns()) == {"days", "sex"}


def test_lists_of_columns_are_not_cut():
    data = table(column("arm", "A", "B"), number("age"), number("weight"), number("height"))
    reading = read("compare age, weight, height between the arms", data)
    assert not any(place.clear for place in cuts(reading, reading.requests[0], [m.first for m in reading.mentions]))


def test_then_after_a_comparative_is_than():
    data = table(column("sex", "male", "female"), number("days"))
    reading = read("women live longer then men?? show a plot of days and then a table", data)
    first = reading.requests[0]
    assert reading.words[first.last].text == "men"
    assert len(reading.requests) == 2
    (contrast,) = reading.contrasts
    assert contrast.explicit


@pytest.mark.parametrize(
    ("name", "parts"),
    [("agegrp", ["age", "grp"]), ("ageband", ["age", "band"]), ("BMIcat", ["bmi", "cat"]), ("agegrp_2", ["age", "grp", "2"]),
     ("average", ["average"]), ("subgroup", ["subgroup"]), ("husband", ["husband"])],
)  # fmt: skip
def test_a_number_cut_into_groups_is_named_by_both(name: str, parts: list[str]):
    assert name_parts(name) == parts
