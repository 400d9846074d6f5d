"""Units against NIST SP 811 (2008, appendix B), defined temperatures and the usual clinical factors."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_questions import profile_files, the_planner
from table_steps import check_issues, run_step

from engine.toolbox.tables.units import conversion, convert_units, plain_unit, read_unit, unit_in_name

# NIST SP 811, appendix B.8, factors as printed there (bushels and yields follow from the US bushel weights of the USDA).
NIST = [("lb", "kg", 0.45359237, 9), ("oz", "g", 28.34952, 6), ("stone", "kg", 6.350293, 6), ("inches", "cm", 2.54, 9),
        ("feet", "m", 0.3048, 9), ("yards", "m", 0.9144, 9), ("miles", "km", 1.609344, 9), ("acres", "ha", 0.4046873, 5),
        ("gallons", "L", 3.785412, 6), ("mmHg", "kPa", 0.1333224, 6), ("psi", "kPa", 6.894757, 6), ("kcal", "kJ", 4.184, 9),
        ("mph", "km/h", 1.609344, 9), ("gal/min", "L/s", 0.06309020, 6), ("lb/acre", "kg/ha", 1.120851, 5),
        ("atm", "kPa", 101.325, 9), ("days", "h", 24, 9), ("ppb", "mg/kg", 1e-3, 9), ("g/dL", "g/L", 10, 9)]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "factor", "digits"), NIST)
def test_factors_are_those_of_nist(first, second, factor, digits):
    found, offset = conversion(first, second, None, None, "x")
    assert found == pytest.approx(factor, rel=10.0**-digits)
    assert offset == 0


@pytest.mark.parametrize(("text", "celsius"), [(32, 0), (212, 100), (98.6, 37), (-40, -40)])
def test_fahrenheit_meets_its_fixed_points(text, celsius):
    factor, offset = conversion("°F", "°C", None, None, "temp")
    assert text * factor + offset == pytest.approx(celsius, abs=1e-9)
    factor, offset = conversion("Celsius", "kelvin", None, None, "temp")
    assert celsius * factor + offset == pytest.approx(celsius + 273.15)


@pytest.mark.parametrize(
    ("first", "second", "mass", "value", "expected"),
    # AMA Manual of Style, conversion of laboratory values: glucose 0.0555, creatinine 88.4, cholesterol 0.0259, 25-OH-D 2.496
    [("mg/dL", "mmol/L", 180.16, 100, 5.55), ("mg/dL", "µmol/L", 113.12, 1, 88.4), ("mg/dL", "mmol/L", 386.65, 100, 2.59),
     ("ng/mL", "nmol/L", 400.64, 10, 24.96), ("umol/l", "mg/dl", 113.12, 88.4, 1.0), ("ng/mL", "nM", 382, 382, 1000)],
)  # fmt: skip
def test_mass_to_amount_has_the_clinical_factors(first, second, mass, value, expected):
    assert value * conversion(first, second, mass, None, "x")[0] == pytest.approx(expected, rel=2e-3)


def test_bushels_of_wheat_are_the_usdas_tonnes():
    # USDA: 1 bushel of wheat per acre is 0.06725 t/ha, of maize 0.06277
    assert conversion("bu/acre", "t/ha", None, 60, "x")[0] == pytest.approx(0.06725, abs=5e-6)
    assert conversion("bushels per acre", "tonnes per hectare", None, 56, "x")[0] == pytest.approx(0.06277, abs=5e-6)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([pair[:2] for pair in NIST] + [("F", "C"), ("C", "K")]), st.floats(-1e4, 1e4))
def test_there_and_back_is_the_same(pair, value):
    factor, offset = conversion(*pair, None, None, "x")
    back, shift = conversion(*pair[::-1], None, None, "x")
    assert (value * factor + offset) * back + shift == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "symbol"),
    [("pounds", "lb"), ("µmol/l", "umol/L"), ("milligrams per deciliter", "mg/dL"), ("MG/DL", "mg/dL"), ("° Fahrenheit", "F"),
     ("kilos", "kg"), ("mcg", "ug"), ("kg/m²", "kg/m2"), ("litres", "L")],
)  # fmt: skip
def test_units_are_read_as_people_write_them(text, symbol):
    assert read_unit(text) == read_unit(symbol)
    assert plain_unit(symbol) == symbol


@pytest.mark.parametrize(
    ("name", "wanted", "unit"),
    [("glucose_mg_dl", "mmol/L", "mg/dl"), ("Body weight [lbs]", "", "lbs"), ("temp (°F)", "", "°F"), ("vitamin_d", "nmol/L", ""),
     ("temp_f", "°C", "f"), ("crea", "µmol/L", ""), ("age", "d", ""), ("mass_g", "mg", "g")],
)  # fmt: skip
def test_the_unit_is_read_from_the_name(name, wanted, unit):
    assert unit_in_name(name, wanted)[0] == unit


CALVES = pd.DataFrame({"calf": range(6), "weight_lb": [150, 180, np.nan, 200, 72, 160], "weight": [1.0, 2, 3, 4, 5, 6]})


def test_column_is_added_and_the_old_one_stays():
    result = convert_units(CALVES, column="weight_lb")
    assert list(result["converted"].columns) == ["calf", "weight_lb", "weight_kg", "weight"]
    assert result["converted"]["weight_kg"].tolist()[:2] == pytest.approx([68.0388555, 81.6466266])
    assert result["converted"]["weight_kg"].isna().sum() == 1
    assert any("1 of 6 values" in text for text in result["warnings"])
    assert any("in kg already (row 5: 72)" in text for text in result["warnings"])
    assert convert_units(CALVES, column="weight_lb", decimals=1)["converted"]["weight_kg"].tolist()[0] == 68.0


def test_several_columns_are_converted_each_beside_its_own(tmp_path):
    table = pd.DataFrame({"before_lb": [100.0, 220.0], "after_lb": [110.0, 200.0], "sex": ["f", "m"]})
    result = convert_units(table, column="before_lb", further=["after_lb"], to_unit="kg")
    assert list(result["converted"].columns) == ["before_lb", "before_kg", "after_lb", "after_kg", "sex"]
    assert result["converted"]["after_kg"].tolist() == pytest.approx([49.8951607, 90.718474])
    assert len(result["conversion"]) == 2
    told = [finding["text"] for finding in result["findings"]]
    assert told[0] == "before_kg holds before_lb in kg (2 values) and after_kg holds after_lb in kg (2 values)."
    assert len(told) == 3
    tables = {"converted": result["converted"].assign(after_kg=1.0), "conversion": result["conversion"]}
    assert check_issues(["conversion_is_the_factor"], tables, tmp_path) == ["conversion_differs"]


def test_a_unit_that_is_asked_against_the_name_is_said():
    result = convert_units(CALVES, column="weight_lb", from_unit="g", to_unit="mg")
    assert any("says lb, but it was taken to be g" in text for text in result["warnings"])


BAD = {
    "unknown unit": ({"column": "weight"}, "is not known"),
    "no molar mass": ({"column": "glucose", "from_unit": "mg/dL", "to_unit": "mmol/L"}, "molar mass.*180.16 g/mol"),
    "no bushel": ({"column": "weight", "from_unit": "bu/acre", "to_unit": "t/ha"}, "A bushel is a volume"),
    "other things": ({"column": "weight", "from_unit": "kg", "to_unit": "cm"}, "measure different things"),
    "to temperature": ({"column": "weight", "from_unit": "kg", "to_unit": "°C"}, "measure different things"),
    "same": ({"column": "weight", "from_unit": "kg", "to_unit": "kg"}, "already"),
    "no target": ({"column": "weight", "from_unit": "kg"}, "wanted in is not said"),
    "nonsense": ({"column": "weight", "from_unit": "blobs", "to_unit": "kg"}, "'blobs' is not known"),
    "text": ({"column": "word", "from_unit": "lb"}, "not numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        convert_units(CALVES.assign(glucose=90.0, word="heavy"), **params)


def said(question, param):
    """Return the unit that the words of a parameter find in a question, in the order they are tried."""
    spec = convert_units.tool_spec.param(param)
    for line in spec.words:
        value, _, pattern = line.partition(":")
        if re.search(rf"\b(?:{pattern.strip()})", question, re.IGNORECASE):
            return value
    return ""


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [("glucose from mg/dl to mmol/l", "mg/dL", "mmol/L"), ("I need Celsius, they sent it in Fahrenheit and so", "°F", "°C"),
     ("creatinine umol/L -> mg/dL for column x", "µmol/L", "mg/dL"), ("What are my values in µmol/l?", "", "µmol/L"),
     ("x is in pounds, I need kilograms", "lb", "kg"), ("lbs 2 kg", "lb", "kg"), ("need it in mm not inch", "in", "mm"),
     ("bushels per acre -> tonnes per hectare", "bu/acre", "t/ha"), ("express it in kPa instead of mmHg", "mmHg", "kPa"),
     ("x is in inches first and should be in centimetres", "in", "cm"), ("my level is ng/ml and reviewers want nanomolar", "ng/mL", "nmol/L"),
     ("The Americans sent it in Fahrenheit. Please change it to Celsius.", "°F", "°C"), ("F -> C", "°F", "°C")],
)  # fmt: skip
def test_units_are_understood_in_questions(question, first, second):
    assert (said(question, "from_unit"), said(question, "to_unit")) == (first, second)


@pytest.mark.parametrize(
    ("table", "params"),
    [(CALVES, {"column": "weight_lb", "decimals": 2}), (pd.DataFrame({"temp_F": [98.6, 101.2]}), {"column": "temp_F", "to_unit": "°C"}),
     (pd.DataFrame({"glucose": [90, None, 110]}), {"column": "glucose", "from_unit": "mg/dL", "to_unit": "mmol/L", "molar_mass": 180.16})],
)  # fmt: skip
def test_step_runs_from_its_own_source_and_passes_its_checks(table, params, tmp_path):
    _, _, issues = run_step(convert_units, {"table": table}, params, tmp_path)
    assert issues == []


def test_a_wrong_factor_is_caught(tmp_path):
    result = convert_units(CALVES, column="weight_lb")
    tables = {"converted": result["converted"], "conversion": result["conversion"]}
    assert check_issues(["conversion_is_the_factor"], tables, tmp_path) == []
    wrong = tables | {"converted": tables["converted"].assign(weight_kg=1.0)}
    assert check_issues(["conversion_is_the_factor"], wrong, tmp_path) == ["conversion_differs"]


def test_a_plain_question_plans_column_units_and_molar_mass(tmp_path):
    path = tmp_path / "blood.csv"
    rng = np.random.default_rng(1)
    pd.DataFrame({"patient": [f"p{n}" for n in range(30)], "glucose": rng.normal(100, 12, 30).round(1),
                  "height": rng.normal(170, 8, 30).round(0)}).to_csv(path, index=False)  # fmt: skip
    planner = the_planner()
    plan = planner.plan("convert glucose from mg/dl to mmol/l, molar mass 180.16", profile_files([path])).plan
    step = next(node for node in plan.nodes if node.tool == "convert_units")
    assert {key: step.params[key] for key in ("column", "from_unit", "to_unit", "molar_mass")} == {
        "column": "glucose", "from_unit": "mg/dL", "to_unit": "mmol/L", "molar_mass": 180.16}  # fmt: skip
