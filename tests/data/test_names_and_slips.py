"""What names and cells of people's tables say: months and BL as occasions, mm and mM, slips of spelling, letters of arms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, with_codes

DRAW = np.random.default_rng(3)
N = 60


def profiled(tmp_path, table):
    table.to_csv(tmp_path / "t.csv", index=False)
    return profile_files([tmp_path / "t.csv"])[0]


def colonies():
    base = DRAW.poisson(6, N)
    return pd.DataFrame({
        "colony": [f"C{k}" for k in range(N)], "treatment": ["OA", "thymol", "control"] * (N // 3),
        **{f"mites300_{month}": base + DRAW.poisson(2, N) for month in ("Jun", "Jul", "Aug", "Oct")},
        "brood_frames_Aug": (DRAW.exponential(3, N) + 2).round(1), "alive_spring": DRAW.choice(["yes", "yes", "no"], N),
    })  # fmt: skip


def test_months_are_occasions_and_what_was_counted_in_august_is_no_time_to_death(tmp_path):
    structure = profiled(tmp_path, colonies()).structure
    assert [wide.labels for wide in structure.wide] == [["jun", "jul", "aug", "oct"]]
    assert structure.survival == {}


def test_bl_is_the_first_occasion_and_millimetres_are_no_dose(tmp_path):
    depth = DRAW.integers(4, 8, N)
    table = pd.DataFrame({"patient": [f"P{k % 12}" for k in range(N)], "PPD_BL_mm": depth,
                          "PPD_3m_mm": np.clip(depth - DRAW.integers(0, 3, N), 1, 8),
                          "PPD_6m_mm": np.clip(depth - DRAW.integers(0, 3, N), 1, 8),
                          "cell_mm": [4.9, 5.4] * (N // 2), "drug_mM": [0.1, 1, 10] * (N // 3)})  # fmt: skip
    structure = profiled(tmp_path, table).structure
    assert [wide.columns for wide in structure.wide] == [["PPD_BL_mm", "PPD_3m_mm", "PPD_6m_mm"]]
    assert structure.doses == ["drug_mM"]


def test_a_rare_spelling_in_another_case_is_a_slip_also_of_what_could_be_a_gene(tmp_path):
    table = pd.DataFrame({"sample": [f"S{k}" for k in range(16)], "condition": ["veh", "TGFb"] * 8, "x": range(16)})
    table.loc[1, "condition"] = "TGFB"
    profile = profiled(tmp_path, table)
    assert profile.column("condition").levels == {"veh": 8, "TGFb": 8}
    half = table.assign(condition=["TGFB", "TGFb"] * 8)
    assert profiled(tmp_path, half).column("condition").levels == {"TGFB": 8, "TGFb": 8}, "as many of each are two"


def test_an_umlaut_written_out_is_the_same_level(tmp_path):
    herds = ["Süd", "sued ", "Süd", "Nord"] * 6
    profile = profiled(tmp_path, pd.DataFrame({"goat": range(24), "herd": herds, "kg": DRAW.normal(40, 4, 24)}))
    assert profile.column("herd").levels == {"Süd": 18, "Nord": 6}
    assert "'sued ' as 'Süd'" in " ".join(profile.warnings)


def test_a_letter_is_the_word_it_stands_for_where_it_is_rare(tmp_path):
    sexes = ["male", "female"] * 12
    sexes[2] = "m"
    table = pd.DataFrame({"mouse": range(24), "sex": sexes, "g": DRAW.normal(25, 2, 24)})
    assert profiled(tmp_path, table).column("sex").levels == {"male": 12, "female": 12}
    often = table.assign(sex=["male", "m"] * 12)
    assert profiled(tmp_path, often).column("sex").levels == {"male": 12, "m": 12}, "half of the rows are no slip"


@pytest.mark.parametrize(
    ("common", "rare", "one"),
    [("N+", "n+", True), ("ko12", "ko-12", True), ("HCT116", "HCT-116", True), ("A", "a", False), ("D1", "D-1", False)],
)
def test_a_slip_in_few_rows_is_the_common_spelling_but_alleles_and_days_are_not(tmp_path, common, rare, one):
    cells = [common, "other"] * 30
    cells[4] = rare
    table = pd.DataFrame({"pot": range(60), "what": cells, "g": DRAW.normal(5, 1, 60)})
    assert (rare not in profiled(tmp_path, table).column("what").levels) == one


def test_letters_of_a_sex_are_one_in_both_cases(tmp_path):
    cells = [*"FM" * 28, *"fm"]
    table = pd.DataFrame({"fish": range(58), "sex": cells, "g": DRAW.normal(5, 1, 58)})
    assert profiled(tmp_path, table).column("sex").levels == {"F": 29, "M": 29}


def test_the_time_until_what_a_column_says_is_the_time_to_it(tmp_path):
    table = pd.DataFrame(
        {
            "Nr": range(N),
            "Dialyse": DRAW.integers(0, 2, N),
            "Tage_bis_Dialyse": DRAW.integers(1, 30, N),
            "x": DRAW.normal(0, 1, N),
        }
    )
    survival = profiled(tmp_path, table).structure.survival
    assert (survival["time"], survival["event"], survival["event_value"]) == ("Tage_bis_Dialyse", "Dialyse", "1")


def test_how_far_it_is_to_something_is_no_time_to_it(tmp_path):
    table = pd.DataFrame(
        {
            "plot": range(N),
            "road": DRAW.integers(0, 2, N),
            "dist_to_road_m": DRAW.integers(1, 900, N),
            "x": DRAW.normal(0, 1, N),
        }
    )
    assert profiled(tmp_path, table).structure.survival == {}


def test_a_pending_count_is_missing_and_the_count_is_a_part_of_its_total(tmp_path):
    total = DRAW.integers(5, 16, N)
    part = [str(k) for k in DRAW.binomial(total, 0.3)]
    part[7] = "pending"
    table = pd.DataFrame({"shop": [f"s{k}" for k in range(N)], "n_samples": total, "n_pos": part})
    profile = profiled(tmp_path, table)
    assert profile.column("n_pos").missing == 1
    assert profile.structure.part_of == {"n_pos": "n_samples"}
    part[7] = "sauce"  # a word that nobody knows, once among sixty counts
    assert profiled(tmp_path, table.assign(n_pos=part)).structure.part_of == {"n_pos": "n_samples"}


def test_letters_of_a_legend_belong_to_the_column_all_of_whose_letters_are_told(tmp_path):
    table = pd.DataFrame({"patient": [f"P{k}" for k in range(N)], "side": ["B", "L", "M"] * (N // 3),
                          "arm": ["A", "B"] * (N // 2), "depth": DRAW.normal(4, 1, N).round(1),
                          "vital": [0, 1, 2] * (N // 3)})  # fmt: skip
    codes = [("side", None, "side of the tooth"), ("depth", None, "probing depth"), ("A", None, "chlorhexidine gel"), ("B", None, "placebo gel"),
             ("vital", 0, "alive at last visit"), ("vital", 1, "dead, colon cancer"), ("vital", 2, "dead, other cause")]  # fmt: skip
    (profile,) = with_codes(table, codes, tmp_path / "gel.xlsx")
    assert profile.column("arm").codes == {"A": "chlorhexidine gel", "B": "placebo gel"}
    assert profile.column("side").codes == {}
    told = profile.column("vital").codes
    assert (told["1"], told["2"]) == ("dead, colon cancer", "dead, other cause"), "alike in short, so told whole"
