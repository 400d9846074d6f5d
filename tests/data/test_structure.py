"""What columns are and what rows are, found from values: tables made up here, in several languages and codings."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.data.columns.column import profile_column
from engine.data.corrections import apply
from engine.data.profiler import profile_file
from engine.data.structure.rows import look, structure_of
from engine.data.structure.scales import natural_order, unit_of
from engine.domain.profile import Structure
from engine.errors import DataError, PlanError

RNG = np.random.default_rng


def scale(values, name: str = "v1", **others) -> str:
    return {c.name: c for c in look(pd.DataFrame({name: values, **others}))[0]}[name].scale


def found(frame: pd.DataFrame) -> Structure:
    return look(frame)[1]


def subjects(frame: pd.DataFrame) -> list[str]:
    return [r.subject for r in found(frame).repeated]


# ---- Tables ---------------------------------------------------------------------------------------------------------


def crossover(people: int = 12) -> pd.DataFrame:
    rng = RNG(1)
    who = np.tile(np.arange(1, people + 1), 2)
    return pd.DataFrame({"response": rng.normal(size=2 * people), "group": np.repeat([1, 2], people), "ID": who})


def growth() -> pd.DataFrame:
    rng = RNG(2)
    rows = [
        {"gramm": round(40 + 8 * day * rng.uniform(0.8, 1.2)), "tag": day, "kueken": chick, "futter": 1 + chick % 3}
        for chick in range(1, 31) for day in range(0, 22, 3) if not (chick % 9 == 0 and day > 12)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def kinetics() -> pd.DataFrame:
    rng = RNG(3)
    rows = []
    for who in range(1, 11):
        weight = round(rng.normal(70, 9), 1)
        for hour in np.round(np.sort(rng.uniform(0.1, 24, 9)), 2):
            rows.append(
                {
                    "Subj": who,
                    "BW (kg)": weight,
                    "t (h)": hour,
                    "Conc (mg/L)": round(9 * np.exp(-0.1 * hour) + rng.uniform(0, 1), 2),
                }
            )
    return pd.DataFrame(rows)


def broods() -> pd.DataFrame:
    rng = RNG(4)
    rows = []
    for brood in range(501, 571):
        height, year = int(rng.integers(400, 540)), int(rng.choice([95, 96, 97]))
        rows += [
            {"parasites": int(rng.negative_binomial(1, 0.2)), "brood": brood, "altitude": height, "year": year}
            for _ in range(rng.integers(1, 9))
        ]
    return pd.DataFrame(rows)


def trial() -> pd.DataFrame:
    rng = RNG(5)
    rows = []
    for who in range(1, 41):
        base = {
            "centro": 1 + who % 2,
            "tratamiento": rng.choice(["placebo", "activo"]),
            "edad": int(rng.integers(18, 70)),
            "sujeto": who,
        }
        rows += [base | {"mes": month, "estado": rng.choice(["malo", "bueno"])} for month in range(5)]
    return pd.DataFrame(rows)


def restarting() -> pd.DataFrame:
    """Patient numbers start at 1 in each of three centres."""
    rng = RNG(6)
    rows = []
    for centre in ("Ulm", "Bonn", "Kiel"):
        for who in range(1, 11):
            age, sex = int(rng.integers(20, 80)), rng.choice(["m", "w"])
            rows += [
                {
                    "Zentrum": centre,
                    "Patient": who,
                    "Alter": age,
                    "Geschlecht": sex,
                    "Woche": week,
                    "Wert": rng.normal(),
                }
                for week in (0, 4, 8)
            ]
    return pd.DataFrame(rows)


def blocks() -> pd.DataFrame:
    rng = RNG(7)
    return pd.DataFrame([
        {"block": b, "variety": v, "yield": rng.normal(50, 5)} for b in range(1, 7) for v in ("Ajax", "Bintje", "Clara", "Desiree")
    ])  # fmt: skip


def patients(n: int = 80, seed: int = 8) -> pd.DataFrame:
    """One row a patient: nothing repeats."""
    rng = RNG(seed)
    return pd.DataFrame({
        "sex": rng.choice(["male", "female"], n), "treatment": rng.choice(["a", "b", "c"], n), "age": rng.integers(20, 80, n),
        "dose": rng.choice([0.0, 1.0, 10.0, 100.0], n), "year": rng.integers(2010, 2016, n), "children": rng.poisson(1.5, n),
        "site": rng.integers(1, 5, n), "species": rng.choice(["Adelie", "Gentoo", "Chinstrap"], n), "weight_kg": rng.normal(70, 9, n),
    })  # fmt: skip


LONG = {"crossover": crossover, "growth": growth, "kinetics": kinetics, "broods": broods, "trial": trial}
WHO = {"crossover": "ID", "growth": "kueken", "kinetics": "Subj", "broods": "brood", "trial": "sujeto"}


# ---- Scales ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "order"),
    [
        ([0, 1], ["0", "1"]), ([1, 2], ["1", "2"]), (["yes", "no"], ["no", "yes"]), (["ja", "nein"], ["nein", "ja"]),
        (["oui", "non"], ["non", "oui"]), (["sí", "no"], ["no", "sí"]), (["TRUE", "FALSE"], ["FALSE", "TRUE"]),
        ([True, False], ["False", "True"]), (["Y", "N"], ["N", "Y"]), (["mort", "vivant"], ["vivant", "mort"]),
        (["male", "female"], []), (["mutant", "wildtype"], []), ([0.0, 1.0], ["0", "1"]), (["pre", "post"], ["pre", "post"]),
    ],
)  # fmt: skip
def test_two_states_are_binary_in_every_coding(levels: list, order: list[str]) -> None:
    values = [levels[i] for i in RNG(0).integers(0, 2, 30)]
    column = look(pd.DataFrame({"v1": values, "v2": RNG(1).normal(size=30)}))[0][0]
    assert column.scale == "binary"
    assert column.order == order


@pytest.mark.parametrize(
    ("levels", "order"),
    [
        (["IV", "I", "III", "II"], ["I", "II", "III", "IV"]), (["Wk12", "Wk0", "Wk4"], ["Wk0", "Wk4", "Wk12"]),
        (["D8", "D0"], ["D0", "D8"]), (["high", "low", "medium"], ["low", "medium", "high"]),
        (["schwer", "keine", "mittel", "leicht"], ["keine", "leicht", "mittel", "schwer"]),
        (["élevé", "bas", "moyen"], ["bas", "moyen", "élevé"]), (["24h", "2h", "6h"], ["2h", "6h", "24h"]),
        (["10 mg", "0 mg", "2.5 mg"], ["0 mg", "2.5 mg", "10 mg"]), (["1 week", "2 days", "1 year"], ["2 days", "1 week", "1 year"]),
        (["Stage II", "Stage I", "Stage III"], ["Stage I", "Stage II", "Stage III"]), (["baseline", "week 4", "week 2"], ["baseline", "week 2", "week 4"]),
        (["60+", "<40", "40-59"], ["<40", "40-59", "60+"]), (["nie", "oft", "selten"], ["nie", "selten", "oft"]),
        (["P1", "P2", "P3"], []), (["tree3", "tree1"], []), (["red", "low", "high"], []), (["T1", "T2", "T3"], []), (["A", "B", "C"], []),
    ],
)  # fmt: skip
def test_levels_that_say_their_order(levels: list[str], order: list[str]) -> None:
    assert natural_order(levels) == order


def test_name_tells_whether_t1_to_t3_are_stages_or_names() -> None:
    assert natural_order(["T3", "T1", "T2"], "tumour stage") == ["T1", "T2", "T3"]
    assert scale(["T1", "T2", "T3"] * 8, "tumour stage") == "ordered"
    assert scale(["T1", "T2", "T3"] * 8, "treatment") == "category"


def test_numbers_by_what_their_values_do() -> None:
    rng = RNG(9)
    assert scale(rng.normal(5, 1, 60)) == "number"
    assert scale(rng.integers(40, 190, 60)) == "number"
    assert scale(rng.poisson(0.8, 200)) == "count"
    assert scale(rng.negative_binomial(1, 0.1, 200)) == "count"
    assert scale(rng.uniform(0, 1, 60)) == "share"
    assert scale(rng.uniform(0, 100, 60), "humidity_percent") == "share"
    assert scale(rng.uniform(0, 100, 60)) == "number"
    assert scale(np.repeat([0, 0.94, 1.88, 3.75, 7.5, 15, 30], [6, 3, 3, 3, 3, 3, 3])) == "ordered"
    assert scale(np.repeat([0.5, 1.0, 2.0], 20)) == "ordered"
    assert scale(np.tile([118, 484, 664, 1004, 1231], 6)) == "ordered"
    assert scale(np.tile(np.arange(5), 20)) == "ordered"
    assert scale(np.arange(1, 51)) == "code"
    assert scale(np.repeat(np.arange(1, 12), 16)) == "code"
    assert scale(np.repeat(np.arange(1001, 1041), 3)) == "code"
    assert scale([f"S-{i:03d}" for i in range(50)]) == "identifier"
    assert scale(["2024-01-05", "2024-02-09", "2023-12-24"] * 5) == "date"


def test_words_of_a_name_tip_the_balance() -> None:
    rng = RNG(10)
    assert scale(rng.integers(1, 5, 60), "grade") == "ordered"
    assert scale(rng.integers(1, 6, 60), "centre") == "code"
    assert scale(rng.choice([3, 8, 9, 17, 40], 60), "Zentrum Nr.") == "code"
    assert scale(rng.integers(5, 60, 60), "number of eggs") == "count"
    assert scale(rng.integers(0, 60, 60), "age_years") == "number"
    assert scale(rng.permutation(1000)[:60], "Patienten-Nr") in ("code", "number")
    assert scale(rng.integers(30, 100, 60) // 10 * 10, "patient performance") != "code"


def test_ages_and_measurements_are_never_codes() -> None:
    rng = RNG(11)
    for values in (rng.integers(20, 80, 5000), rng.integers(50, 110, 300), rng.normal(170, 9, 400).round()):
        assert (
            scale(values.astype(int), "v1", v2=rng.choice(["a", "b"], len(values)), v3=rng.normal(size=len(values)))
            == "number"
        )


def test_weight_of_a_subject_with_few_subjects_stays_a_number() -> None:
    columns = {c.name: c for c in look(kinetics())[0]}
    assert columns["BW (kg)"].scale == "number"
    assert columns["Subj"].scale == "code"


def test_answers_on_one_scale_are_ordered() -> None:
    rng = RNG(12)
    frame = pd.DataFrame({f"item{k}": rng.choice([1, 2, 3, 4, 5], 90, p=[0.05, 0.15, 0.3, 0.3, 0.2]) for k in "abcd"})
    assert {c.scale for c in look(frame)[0]} == {"ordered"}
    assert look(frame)[0][0].order == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("Weight (g)", "g"), ("conc_mg_l", "mg/l"), ("Age_days", "days"), ("SBP [mmHg]", "mmHg"), ("time.h", "h"),
        ("Dose (mg/kg)", "mg/kg"), ("VitC_mg_per_day", "mg/day"), ("Größe (cm)", "cm"), ("Konz. [µg/ml]", "µg/ml"),
        ("Follow-up (months)", "months"), ("Delta 15 N (o/oo)", "o/oo"), ("sex (m/f)", ""), ("smoker (yes/no)", ""), ("score (0-10)", ""),
        ("kg", ""), ("bdi.2m", ""), ("age", ""), ("group", ""), ("", ""), ("body weight", ""),
        ("body_mass_g", "g"), ("taxon g", ""), ("Geschlecht (m/w)", ""), ("speed (m/s)", "m/s"),
    ],
)  # fmt: skip
def test_units_in_names(name: str, unit: str) -> None:
    assert unit_of(name) == unit


# ---- Repeated subjects ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "subject", "count", "within", "between", "complete"),
    [
        (crossover, "ID", 12, ["group"], set(), True), (growth, "kueken", 30, ["tag"], {"futter"}, False),
        (kinetics, "Subj", 10, ["t (h)"], {"BW (kg)"}, False), (broods, "brood", 70, [], {"altitude", "year"}, False),
        (trial, "sujeto", 40, ["mes"], {"centro", "tratamiento", "edad"}, True),
    ],
)  # fmt: skip
def test_subjects_with_several_rows(
    make, subject: str, count: int, within: list[str], between: set[str], complete: bool
) -> None:
    first = found(make()).repeated[0]
    assert (first.subject, first.subjects, first.within, first.complete) == (subject, count, within, complete)
    assert set(first.between) == between
    assert first.confidence >= 0.7
    assert subject in first.why


def test_smaller_of_two_nested_units_comes_first() -> None:
    rng = RNG(29)
    rows = [
        {"brood": 10 * site + nest, "location": site, "altitude": 400 + 3 * (site // 2), "ticks": int(rng.poisson(3))}
        for site in range(1, 21)
        for nest in range(rng.integers(1, 4))
        for _ in range(rng.integers(2, 6))
    ]
    assert subjects(pd.DataFrame(rows))[:2] == ["brood", "location"]


def test_two_rows_a_patient_need_no_other_column() -> None:
    frame = pd.DataFrame({"v1": [f"K{i:02d}" for i in range(20) for _ in (0, 1)], "v2": RNG(13).normal(size=40)})
    first = found(frame).repeated[0]
    assert (first.subject, first.subjects, first.within, first.complete) == ("v1", 20, [], False)


def test_numbers_that_start_anew_in_each_centre() -> None:
    columns, structure = look(restarting())
    first = structure.repeated[0]
    assert (first.subject, first.subjects) == ("Patient", 30)
    assert "start anew in each Zentrum" in first.why
    assert {"Zentrum", "Alter", "Geschlecht"} <= set(first.between)
    assert first.within == ["Woche"]
    assert first.complete
    assert any("start anew" in note for note in next(c for c in columns if c.name == "Patient").notes)


def test_same_numbers_in_two_sexes_are_no_pairs() -> None:
    """Ten females 1..10 and ten males 1..10: twenty animals with a row each, not ten with two."""
    frame = pd.DataFrame(
        {
            "animal": [*range(1, 11)] * 2,
            "group": ["a"] * 10 + ["b"] * 10,
            "sex": ["f"] * 10 + ["m"] * 10,
            "mass": RNG(1).normal(size=20),
        }
    )
    assert subjects(frame) == []


def test_numbers_of_a_crossover_do_not_start_anew_in_each_period() -> None:
    rng = RNG(14)
    rows = [
        {"subject": s, "period": p, "treatment": "AB"[(p + s) % 2], "hour": h, "y": rng.normal()}
        for s in range(1, 13) for p in (1, 2) for h in (0, 1, 2, 4)
    ]  # fmt: skip
    first = found(pd.DataFrame(rows)).repeated[0]
    assert (first.subject, first.subjects) == ("subject", 12)
    assert {"period", "treatment", "hour"} <= set(first.within)


def test_blocks_are_found_but_less_surely() -> None:
    first = found(blocks()).repeated[0]
    assert (first.subject, first.subjects, first.within, first.complete) == ("block", 6, ["variety"], True)
    assert first.confidence <= 0.6 < found(trial()).repeated[0].confidence


def test_what_is_measured_at_ages_that_subjects_share_is_no_time() -> None:
    rng = RNG(3)
    rows = [(child, age, round(80 + 6 * age + rng.normal(0, 2), 1)) for child in range(1, 21) for age in (2, 4, 6, 8)]
    assert found(pd.DataFrame(rows, columns=["child", "age", "height_cm"])).times == ["age"]


def test_one_row_a_patient_is_not_repeated() -> None:
    for seed in range(12):
        frame = patients(seed=seed)
        assert subjects(frame) == []
        assert subjects(frame.set_axis([f"v{i}" for i in range(frame.shape[1])], axis=1)) == []


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"site": np.repeat(["north", "south", "east", "west", "mid"], 40), "y": RNG(1).normal(size=200)}),
        pd.DataFrame({"dose": np.repeat([0, 1, 2, 4, 8, 16], 6), "y": RNG(1).normal(size=36)}),
        pd.DataFrame({"year": np.repeat(np.arange(1990, 2010), 5), "catch": RNG(1).normal(size=100)}),
        pd.DataFrame({"variety": np.repeat(list("abcdef"), 5), "year": np.tile(np.arange(2001, 2006), 6), "yield": RNG(1).normal(size=30)}),
        pd.DataFrame({"hair": np.repeat(["black", "blond", "red", "brown"], 4), "eye": ["blue", "brown", "green", "hazel"] * 4, "n": RNG(1).poisson(20, 16)}),
        pd.DataFrame({"age": RNG(2).integers(20, 80, 500), "sex": RNG(3).choice(["m", "f"], 500), "bmi": RNG(4).normal(25, 3, 500)}),
        pd.DataFrame({"eggs": RNG(5).poisson(4, 300), "habitat": RNG(6).choice(["wood", "field"], 300), "temp": RNG(7).normal(size=300)}),
        pd.DataFrame({"species": ["setosa"] * 50 + ["virginica"] * 50, "length": RNG(8).normal(size=100)}),
    ],
)  # fmt: skip
def test_groups_years_ages_doses_and_counts_are_no_subjects(frame: pd.DataFrame) -> None:
    assert subjects(frame) == []


@pytest.mark.parametrize("kind", list(LONG))
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_order_of_rows_and_columns_does_not_matter(kind: str, seed: int) -> None:
    frame = LONG[kind]()
    mixed = frame.sample(frac=1, random_state=seed).reset_index(drop=True).sample(frac=1, axis=1, random_state=seed)
    before, after = look(frame), look(mixed)
    assert {c.name: (c.scale, c.order) for c in after[0]} == {c.name: (c.scale, c.order) for c in before[0]}
    facts = [
        [(r.subject, r.subjects, set(r.within), set(r.between), r.complete) for r in structure.repeated[:1]]
        for structure in (before[1], after[1])
    ]  # fmt: skip
    assert facts[0] == facts[1]


@pytest.mark.parametrize("kind", list(LONG))
def test_neutral_names_do_not_matter(kind: str) -> None:
    frame = LONG[kind]()
    names = {name: f"v{i}" for i, name in enumerate(frame.columns, 1)}
    columns, structure = look(frame.rename(columns=names))
    first = structure.repeated[0]
    assert first.subject == names[WHO[kind]]
    assert first.subjects == frame[WHO[kind]].nunique()
    before = {names[c.name] for c in look(frame)[0] if c.scale == "binary"}
    assert {c.name for c in columns if c.scale == "binary"} == before


@settings(max_examples=15, deadline=None)
@given(people=st.integers(6, 40), times=st.integers(2, 6), seed=st.integers(0, 1000))
@example(people=8, times=2, seed=201)  # by chance each value is larger than the one above it of the same person
def test_any_complete_long_table_is_recognised(people: int, times: int, seed: int) -> None:
    rng = RNG(seed)
    frame = pd.DataFrame({
        "who": np.repeat([f"k{i:02d}" for i in range(people)], times), "week": np.tile(np.arange(times) * 4, people),
        "value": rng.normal(size=people * times),
    }).sample(frac=1, random_state=seed)  # fmt: skip
    first = found(frame).repeated[0]
    assert (first.subject, first.subjects, first.within, first.complete) == ("who", people, ["week"], True)
    gap = found(frame.iloc[1:]).repeated[0]
    assert (gap.subject, gap.complete) == ("who", False)


# ---- Factors, families, totals --------------------------------------------------------------------------------------


def test_nested_and_crossed_factors() -> None:
    structure = found(growth())
    assert ("kueken", "futter") in structure.nested
    assert ("tag", "futter") in structure.crossed
    assert not any({"kueken", "tag"} <= set(pair) for pair in structure.crossed)  # two chicks lack later days


def wide(*names: str, n: int = 40, seed: int = 0, **others) -> list[tuple[str, list[str], list[str], bool]]:
    rng = RNG(seed)
    person = rng.normal(20, 6, n)
    frame = pd.DataFrame({name: person + rng.normal(0, 3, n) - i for i, name in enumerate(names)} | others)
    return [(w.name, w.columns, w.labels, w.ordered) for w in found(frame).wide]


@pytest.mark.parametrize(
    ("names", "labels", "ordered"),
    [
        (["bdi.pre", "bdi.2m", "bdi.4m"], ["pre", "2m", "4m"], True), (["pain_wk12", "pain_wk4", "pain_baseline"], ["baseline", "wk4", "wk12"], True),
        (["gewicht_vor", "gewicht_nach"], ["vor", "nach"], True), (["douleur avant", "douleur après"], ["avant", "apres"], True),
        (["t1_score", "t0_score"], ["t0", "t1"], True), (["sbp_visit1", "sbp_visit2", "sbp_visit3"], ["visit1", "visit2", "visit3"], True),
        (["preWeight", "postWeight"], ["pre", "post"], True), (["eye_left", "eye_right"], ["left", "right"], False),
        (["before", "after"], ["before", "after"], True), (["score1", "score2", "score3"], ["1", "2", "3"], True),
        (["crp 1 year", "crp 2 weeks"], ["2weeks", "1year"], True), (["1990", "1991", "1992"], ["1990", "1991", "1992"], True),
    ],
)  # fmt: skip
def test_one_measurement_in_several_columns(names: list[str], labels: list[str], ordered: bool) -> None:
    families = wide(*names)
    assert [(family[2], family[3]) for family in families] == [(labels, ordered)]
    assert sorted(families[0][1]) == sorted(names)


def test_two_families_are_kept_apart() -> None:
    families = wide("bdi_pre", "bdi_post", "hads_pre", "hads_post")
    assert sorted((name, columns) for name, columns, *_ in families) == [
        ("bdi", ["bdi_pre", "bdi_post"]),
        ("hads", ["hads_pre", "hads_post"]),
    ]


def test_predictors_genes_and_items_are_no_repeated_measure() -> None:
    rng = RNG(15)
    unrelated = pd.DataFrame({f"x{i}": rng.normal(10**i, 10**i, 50) for i in range(1, 6)})
    independent = pd.DataFrame({f"score{i}": rng.normal(size=50) for i in range(1, 6)})
    genes = pd.DataFrame({f"CD{i}": rng.normal(8, 1, 50) for i in (3, 4, 8, 19)})
    items = pd.DataFrame({f"item{i}": rng.integers(1, 6, 50) for i in range(1, 6)})
    for frame in (unrelated, independent, genes, items):
        assert found(frame).wide == []
    assert wide("a", "b", "c") == []


def test_told_and_measured_are_one_quantity() -> None:
    rng = RNG(16)
    weight, height = rng.normal(66, 12, 80), rng.normal(170, 9, 80)
    frame = pd.DataFrame({
        "Weight_kg": weight, "Height_cm": height, "reported weight": weight + rng.normal(0, 2, 80), "reported height": height + rng.normal(0, 2, 80),
    })  # fmt: skip
    assert sorted(found(frame).same_quantity) == [("Height_cm", "reported height"), ("Weight_kg", "reported weight")]
    frame.loc[3, ["Weight_kg", "Height_cm"]] = [166, 57]  # exchanged in one row
    assert len(found(frame).same_quantity) == 2
    neutral = frame.set_axis(["v1", "v2", "v3", "v4"], axis=1)
    assert sorted(found(neutral).same_quantity) == [("v1", "v3"), ("v2", "v4")]


def test_correlated_is_not_the_same() -> None:
    rng = RNG(17)
    length = rng.normal(50, 9, 100)
    frame = pd.DataFrame(
        {
            "length_mm": length,
            "width_mm": 0.3 * length + rng.normal(0, 1, 100),
            "mass_g": length * 3,
            "depth_mm": rng.normal(50, 9, 100),
        }
    )
    assert found(frame).same_quantity == []


def test_raters_of_the_same_levels() -> None:
    rng = RNG(18)
    truth = rng.choice(["benign", "malign", "unclear"], 60)
    other = np.where(rng.random(60) < 0.85, truth, rng.choice(["benign", "malign", "unclear"], 60))
    frame = pd.DataFrame(
        {"reader_1": truth, "reader_2": other, "first": rng.choice(["benign", "malign", "unclear"], 60)}
    )
    assert found(frame).same_quantity == [("reader_1", "reader_2")]


def test_parts_of_totals() -> None:
    rng = RNG(19)
    tested = rng.integers(20, 90, 30)
    positive = rng.binomial(tested, 0.3)
    named = pd.DataFrame(
        {"week": range(30), "tested": tested, "positive": positive, "temperature": rng.normal(size=30)}
    )
    assert found(named).part_of == {"positive": "tested"}
    neutral = pd.DataFrame({"v1": positive, "v2": tested - positive, "v3": tested, "v4": rng.poisson(900, 30)})
    assert found(neutral).part_of == {"v1": "v3", "v2": "v3"}
    broken = named.assign(positive=[tested[0] + 1, *positive[1:]])
    assert found(broken).part_of == {}
    unrelated = pd.DataFrame({"nodes": rng.poisson(2, 50), "platelets": rng.integers(150, 400, 50)})
    assert found(unrelated).part_of == {}


@pytest.mark.parametrize("whole", [1.0, 100.0])
def test_columns_that_add_up(whole: float) -> None:
    rng = RNG(20)
    parts = pd.DataFrame(rng.dirichlet([3, 2, 4], 40) * whole, columns=["sand", "silt", "clay"])
    assert found(parts.assign(pH=rng.normal(6, 1, 40))).compositions == [["sand", "silt", "clay"]]
    if whole == 100:
        assert found(parts.round(0)).compositions == [["sand", "silt", "clay"]]
    parts.loc[0, "sand"] += 0.2 * whole
    assert found(parts).compositions == []


def test_many_counts_are_parts_of_one_whole() -> None:
    rng = RNG(21)
    frame = pd.DataFrame(
        {
            f"taxon {k}": rng.negative_binomial(1, p, 25)
            for k, p in zip("abcdefghij", np.linspace(0.05, 0.4, 10), strict=True)
        }
    )
    assert found(frame.assign(plot=[f"p{i}" for i in range(25)])).compositions == [list(frame.columns)]


# ---- Times, doses, events -------------------------------------------------------------------------------------------


def test_times() -> None:
    assert found(growth()).times == ["tag"]
    assert found(kinetics()).times == ["t (h)"]
    assert found(trial()).times == ["mes"]
    assert found(
        pd.DataFrame({"visit": ["Wk0", "Wk4", "Wk12"] * 6, "y": range(18), "mg_per_day": [1.0, 2, 4] * 6})
    ).times == ["visit"]


def test_what_grows_in_every_subject_is_measured_where_another_column_is_called_a_time() -> None:
    days = [7, 14, 21] * 18
    volume = np.repeat(RNG(2).normal(100, 20, 18), 3) + 30.0 * np.array(days) + RNG(3).normal(0, 9, 54)
    frame = pd.DataFrame({"animal": np.repeat([f"A{k}" for k in range(18)], 3), "day": days, "volume": volume})
    assert found(frame).times == ["day"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("dose", [0.5, 1.0, 2.0]), ("v1", [0, 0.94, 1.88, 3.75, 7.5, 15, 30]), ("Konzentration (mg/L)", [0, 10, 20]), ("v1", [1, 10, 100, 1000]),
        ("v1", [0, 0.62, 1.85, 5.56, 16.67]),
    ],
)  # fmt: skip
def test_doses(name: str, values: list[float]) -> None:
    assert found(pd.DataFrame({name: np.repeat(values, 5), "y": RNG(1).normal(size=5 * len(values))})).doses == [name]


def test_outcomes_times_and_grades_are_no_doses() -> None:
    rng = RNG(22)
    assert found(kinetics()).doses == []
    frame = pd.DataFrame(
        {
            "grade": rng.integers(1, 4, 60),
            "hour": np.repeat([1, 2, 4, 8, 16, 32], 10),
            "visit": np.tile([1, 2, 3, 4, 5, 6], 10),
            "y": rng.normal(size=60),
        }
    )
    assert found(frame).doses == []


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"smoker": RNG(1).integers(0, 2, 60), "bmi": RNG(2).lognormal(3, 0.5, 60)}),
        pd.DataFrame({"hour": np.tile([0, 1, 2, 4], 15), "treated": RNG(1).integers(0, 2, 60), "conc": RNG(2).lognormal(size=60)}),
        pd.DataFrame({"year": RNG(3).integers(1990, 2010, 60), "status": RNG(1).integers(0, 2, 60)}),
        pd.DataFrame({"age": RNG(3).integers(20, 80, 60), "status": RNG(1).choice(["poor", "good"], 60), "days": RNG(1).integers(1, 90, 60)}),
        trial(), growth(), patients(),
    ],
)  # fmt: skip
def test_a_binary_column_and_a_number_are_no_survival(frame: pd.DataFrame) -> None:
    assert found(frame).survival == {}


def test_unit_in_words() -> None:
    assert found(growth()).unit == "one measurement of a kueken"
    assert found(crossover()).unit == "one measurement of a subject"
    assert found(pd.DataFrame({"patient": range(20), "crp": RNG(1).normal(size=20)})).unit == "one patient"
    assert found(patients()).unit == "row"


# ---- Robustness and cost --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1], "b": ["x"]}), pd.DataFrame({"a": [None, None, None]}),
        pd.DataFrame([[1, 2], [3, 4], [5, 6]], columns=["a", "a"]), pd.DataFrame({"a": [[1], [2], [1]], "b": [{"x": 1}, {}, None]}),
        pd.DataFrame({"": [1, 2, 3], "%": [1, np.inf, -np.inf], "()": ["", " ", "x"]}), pd.DataFrame({"a": [True, None, False], "b": pd.Categorical(["u", "v", "u"])}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01", None, "2021-01-01"])}), pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}),
        pd.DataFrame({1: [1, 2, 3, 4], 2: [0, 0, 1, 1]}),
    ],
)  # fmt: skip
def test_odd_tables_do_no_harm(frame: pd.DataFrame) -> None:
    columns, structure = look(frame)
    assert len(columns) == frame.columns.nunique()
    assert structure.repeated == []
    assert structure.survival == {}


CELL = st.one_of(
    st.none(),
    st.integers(-3, 5),
    st.floats(width=32),
    st.sampled_from(["", "a", "I", "<5", "2020-01-01", "yes", "ü"]),
    st.booleans(),
)


@settings(max_examples=80, deadline=None)
@given(
    data=st.lists(st.lists(CELL, min_size=4, max_size=4), min_size=0, max_size=25),
    names=st.lists(st.text(max_size=8), min_size=4, max_size=4),
)
def test_any_cells_and_names_are_looked_at(data: list, names: list[str]) -> None:
    columns, structure = look(pd.DataFrame(data, columns=names, dtype=object if len(data) % 2 else None))
    known = {c.name for c in columns}
    assert {r.subject for r in structure.repeated} | set(structure.times) | set(structure.doses) | set(
        structure.part_of
    ) <= known
    for column in columns:
        assert set(column.order) <= set(column.levels)


def test_cost() -> None:
    rng = RNG(27)
    frame = pd.DataFrame({"id": np.repeat(np.arange(200), 5), "visit": np.tile(np.arange(5), 200)})
    for i in range(28):
        frame[f"c{i}"] = [
            rng.normal(size=1000),
            rng.integers(0, 50, 1000),
            rng.choice(["x", "y"], 1000),
            rng.choice(list("abcdefgh"), 1000),
        ][i % 4]
    columns = [profile_column(str(name), frame[name]) for name in frame.columns]
    spent = []
    for _ in range(3):
        start = time.process_time()
        structure = look(frame, columns)[1]
        spent.append(time.process_time() - start)
    assert [r.subject for r in structure.repeated] == ["id"]
    assert min(spent) < 0.25  # generous: the machine may be busy


# ---- Corrections ----------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = RNG(28)
    frame = pd.DataFrame(
        {
            "v1": np.tile(np.arange(1, 4), 8),
            "v2": np.repeat(np.arange(1, 9), 3),
            "v3": rng.normal(size=24).round(3),
            "v4": ["x", "y", "z"] * 8,
        }
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_correction_changes_the_column_and_the_structure(file: Path) -> None:
    profile = profile_file(file)
    fixed = apply(profile, {"v1": "ordered, unit:mg", "v3": "ignore"})
    column = fixed.column("v1")
    assert column is not None
    assert (column.scale, column.order, column.unit, column.corrected) == (
        "ordered",
        ["1", "2", "3"],
        "mg",
        "ordered, unit:mg",
    )
    assert fixed.column("v3").roles == []  # type: ignore[union-attr]
    assert profile.column("v1").corrected == ""  # type: ignore[union-attr]
    assert fixed.structure.repeated[0].subject == "v2"
    measured = apply(profile, {"v2": "number"})
    assert "v2" not in [r.subject for r in measured.structure.repeated]
    json.dumps(measured.model_dump(mode="json"))


def test_a_role_stays_alone(file: Path) -> None:
    column = apply(profile_file(file), {"v4": "batch"}).column("v4")
    assert column is not None
    assert [(r.role, r.confidence) for r in column.roles] == [("batch", 1.0)]


def test_a_correction_corrects_a_correction(file: Path) -> None:
    once = apply(profile_file(file), {"v1": "category"})
    assert apply(once, {"v2": "code"}).column("v1").corrected == "category"  # type: ignore[union-attr]
    assert apply(once, {"v1": "ordered"}).column("v1").scale == "ordered"  # type: ignore[union-attr]


def test_wrong_corrections_name_the_choices(file: Path) -> None:
    profile = profile_file(file)
    with pytest.raises(PlanError, match="no column 'weight'") as column:
        apply(profile, {"weight": "number"})
    assert column.value.details["choices"] == ["v1", "v2", "v3", "v4"]
    for wrong in ("nominal", "", "ordered, whatever"):
        with pytest.raises(PlanError, match="cannot be") as role:
            apply(profile, {"v1": wrong})
        assert {"ordered", "covariate", "ignore"} <= set(role.value.details["choices"])


def test_a_file_that_is_gone_is_said(file: Path) -> None:
    profile = profile_file(file)
    file.unlink()
    with pytest.raises(DataError, match="cannot be read again"):
        apply(profile, {"v1": "ordered"})


def test_structure_from_profiles_alone() -> None:
    frame = trial()
    columns, structure = look(frame)
    assert structure_of(frame, columns) == structure
    assert structure_of(frame, [c for c in columns if c.name != "sujeto"]).repeated == []


def test_tables_and_cells_carry_their_structure(tmp_path: Path) -> None:
    import anndata

    from engine.data.kinds.single_cell import read_h5ad
    from engine.data.reading.delimited import read_delimited
    from engine.data.reading.textfile import read_text
    from engine.data.tables import examine

    path = tmp_path / "growth.csv"
    growth().to_csv(path, index=False)
    assert examine(path.name, read_delimited(path, read_text(path))).structure == found(growth())
    obs = pd.DataFrame(
        {"donor": np.repeat(["d1", "d2", "d3", "d4"], 25), "arm": np.repeat(["a", "b"], 50)},
        index=[f"c{i}" for i in range(100)],
    )
    cells = anndata.AnnData(RNG(1).poisson(1.0, (100, 5)).astype(float), obs=obs)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    first = read_h5ad(tmp_path / "cells.h5ad").structure.repeated[0]
    assert (first.subject, first.subjects, first.between) == ("donor", 4, ["arm"])
    fixed = apply(profile_file(tmp_path / "cells.h5ad"), {"donor": "ignore"})
    assert fixed.structure.repeated == []


def test_nobody_is_of_two_sexes_or_species() -> None:
    """Numbers 1 to 25 of each sex of each species: rows that are counted, not subjects that were measured four times."""
    groups = [(s, x) for s in ("Blue", "Orange") for x in ("F", "M") for _ in range(25)]
    frame = pd.DataFrame(groups, columns=["species", "sex"]).assign(
        index=[*range(1, 26)] * 4, length=RNG(2).normal(20, 3, 100)
    )
    assert subjects(frame) == []


def test_plates_of_each_dose_are_numbered_anew() -> None:
    frame = pd.DataFrame(
        [(dose, plate) for dose in (0, 10, 33, 100, 333) for plate in (1, 2, 3)], columns=["dose ug", "plate"]
    ).assign(colonies=RNG(3).poisson(25, 15))
    assert subjects(frame) == []


def test_ear_tags_and_weights_of_a_week_are_no_times() -> None:
    rng = RNG(4)
    frame = pd.DataFrame({"tag": range(7000, 7040), "pen": [*range(1, 9)] * 5, "drench": ["none", "ivm"] * 20}).assign(
        **{f"LW_wk{n}_kg": rng.normal(20 + n, 2, 40).round(1) for n in (0, 3, 6)}
    )
    columns, structure = look(frame)
    assert structure.times == []
    assert structure.survival == {}
    assert next(c for c in columns if c.name == "tag").scale in ("code", "identifier")
    assert all(set(item.within) == set() for item in structure.repeated)


def test_a_count_ends_with_n_and_a_plaque_is_no_plate() -> None:
    rng = RNG(7)
    frame = pd.DataFrame({"plaque_n": rng.poisson(1.5, 80), "mouse": [f"m{n // 4}" for n in range(80)]})
    assert next(c for c in look(frame)[0] if c.name == "plaque_n").scale == "count"


def test_what_grows_leaves_its_range_behind_and_is_one_measurement() -> None:
    rng = RNG(3)
    gain = rng.normal(3, 0.2, 40)
    weights = {f"BW wk{week} (kg)": 8 + week * gain + rng.normal(0, 0.3, 40) for week in (0, 2, 4, 6, 8)}
    assert pd.DataFrame(weights).max().iloc[0] < pd.DataFrame(weights).min().iloc[2]
    (family,) = found(pd.DataFrame(weights)).wide
    assert (family.columns, family.labels) == ([*weights], ["wk0", "wk2", "wk4", "wk6", "wk8"])
    without_times = pd.DataFrame({f"plate {n}": values for n, values in zip((1, 2, 3), weights.values(), strict=False)})
    assert found(without_times).wide == []


@pytest.mark.parametrize("name", ["Milch kg/Tag", "yield per day", "milk [kg/d]", "Milch pro Tag", "débit l/jour"])
def test_a_rate_is_measured_and_no_time(name: str):
    cows = np.repeat(np.arange(7311, 7341), 4)
    frame = pd.DataFrame({"cow": cows, "Tag": [0, 7, 14, 28] * 30, name: 20 + np.arange(120) % 37 * 0.5})
    columns, structure = look(frame)
    assert structure.times == ["Tag"]
    assert next(column for column in columns if column.name == name).role("time") == 0


def test_an_ordered_text_that_differs_within_subjects_is_no_time_by_that(tmp_path):
    path = tmp_path / "plots.csv"
    rows = [
        f"{6 * n + at},b{n},{level},{70.5 + n + at * 7 % 5}"
        for n in range(6)
        for at, level in enumerate(("v0", "v1", "v2", "v3"))
    ]
    path.write_text("plot,block,variety,yield_kg\n" + "\n".join(rows) + "\n")
    profile = profile_file(path)
    assert profile.types, profile.warnings
    assert "block" in [item.subject for item in profile.structure.repeated]


def test_one_row_typed_twice_hides_no_repeated_subject():
    """A calf's tag is no day (German `Tag`), and a doubled row is no second visit."""
    chance = np.random.default_rng(2)
    rows = [(f"FR{3300 + 7 * calf}", "ABC"[calf % 3], day, round(140 + day * 0.6 + chance.normal(0, 5), 1))
            for calf in range(40) for day in (0, 14, 28, 56)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["calf_tag", "farm", "day", "wt_kg"])
    for once in (frame, pd.concat([frame, frame[:1]], ignore_index=True)):
        repeated = look(once)[1].repeated
        assert [item.subject for item in repeated][:1] == ["calf_tag"]
        assert repeated[0].within[:1] == ["day"]
