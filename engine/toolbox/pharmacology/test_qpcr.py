"""Relative expression against Livak and Schmittgen's own table, Pfaffl's formula and Welch's test by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from table_steps import check_issues, run_step

from engine.toolbox.pharmacology.qpcr import qpcr_relative

# Livak and Schmittgen (2001) Methods 25:402, table 2: six wells each of c-myc and GAPDH in brain and kidney
LIVAK = {
    ("brain", "c-myc"): [30.72, 30.34, 30.58, 30.34, 30.50, 30.43],
    ("brain", "GAPDH"): [23.70, 23.56, 23.47, 23.65, 23.69, 23.68],
    ("kidney", "c-myc"): [27.06, 27.03, 27.03, 27.10, 26.99, 26.94],
    ("kidney", "GAPDH"): [22.76, 22.61, 22.62, 22.60, 22.61, 22.76],
}
NAMES = {"ct": "Ct", "gene": "gene", "group": "treatment", "sample": "sample"}


def wells(effect=2.0, seed=2, n=4):
    """Return wells in triplicate of two targets and two references in treated and control samples."""
    rng, rows = np.random.default_rng(seed), []
    for group in ("control", "LPS"):
        for i in range(n):
            load = rng.normal(0, 0.4)
            for gene, base in (("IL6", 28 - effect * (group == "LPS")), ("TNF", 26), ("GAPDH", 18), ("ACTB", 17)):
                mine = base + load + rng.normal(0, 0.2)
                rows += [(f"{group}{i}", group, gene, mine + rng.normal(0, 0.05)) for _ in range(3)]
    return pd.DataFrame(rows, columns=["sample", "treatment", "gene", "Ct"])


def deltas(table, target, references):
    means = table.groupby(["treatment", "sample", "gene"])["Ct"].mean().unstack()
    value = means[target] - means[references].mean(axis=1)
    return value.loc["LPS"], value.loc["control"]


def test_livaks_kidney_has_5_6_times_the_c_myc_of_brain():
    rows = [(tissue, tissue, gene, ct) for (tissue, gene), values in LIVAK.items() for ct in values]
    table = pd.DataFrame(rows, columns=["sample", "tissue", "gene", "Ct"])
    result = qpcr_relative(table, ct="Ct", gene="gene", group="tissue", sample="sample", control="brain")
    row = result["folds"].iloc[0]
    assert row["delta_delta_ct"] == pytest.approx(-2.50, abs=6e-3)  # the paper: -2.50
    assert row["fold_change"] == pytest.approx(5.6, abs=0.06)  # the paper: 5.6
    assert result["samples"].set_index("sample")["delta_ct"].to_dict() == pytest.approx(
        {"brain": 6.86, "kidney": 4.37}, abs=6e-3
    )
    assert np.isnan(row["p_value"])
    assert any("no biological replicate" in text for text in result["warnings"])


def test_samples_are_compared_by_welch_after_averaging_wells():
    table = wells()
    row = qpcr_relative(table, **NAMES)["folds"].set_index("gene").loc["IL6"]
    one, other = deltas(table, "IL6", ["ACTB", "GAPDH"])
    test = stats.ttest_ind(one, other, equal_var=False)
    assert row["delta_delta_ct"] == pytest.approx(one.mean() - other.mean())
    assert row["p_value"] == pytest.approx(test.pvalue)
    limits = test.confidence_interval()
    assert (row["lower_95"], row["upper_95"]) == pytest.approx((2**-limits.high, 2**-limits.low))
    assert (row["n_1"], row["n_2"]) == (4, 4)


def test_the_sentence_has_direction_and_size():
    result = qpcr_relative(wells(), **NAMES)
    assert result["findings"][1]["text"].startswith("IL6 is up ")
    assert "TNF is not shown to differ" in result["findings"][2]["text"]
    down = qpcr_relative(wells(effect=-2.0), **NAMES)
    assert down["findings"][1]["text"].startswith("IL6 is down to 0.")
    assert any("recognised by name" in text for text in result["warnings"])


def test_every_gene_has_a_finding_on_its_row():
    folds = qpcr_relative(wells(), **NAMES)
    for row in folds["folds"].to_dict("records"):
        place = {"comparison": row["comparison"], "gene": row["gene"]}
        (own,) = (one for one in folds["findings"] if one.get("row") == place)
        assert own["text"].startswith(f"{row['gene']} is ")
        assert own["values"][0]["value"] == pytest.approx(row["fold_change"])


def test_the_first_sentence_names_every_gene():
    result = qpcr_relative(wells(), **NAMES)
    first, folds = result["findings"][0], result["folds"].set_index("gene")["fold_change"]
    assert first["text"].startswith("In LPS relative to control 1 of 2 genes differ: up IL6")
    assert "not shown to differ: TNF" in first["text"]
    assert {value["name"]: value["value"] for value in first["values"]} == {
        "fold change IL6": folds["IL6"], "fold change TNF": folds["TNF"]}  # fmt: skip


def test_the_first_sentence_names_what_goes_up_also_where_a_gene_cannot_be_tested():
    table = wells()
    once = (table["gene"] == "TNF") & (table["treatment"] == "LPS") & (table["sample"] != "LPS0")
    result = qpcr_relative(table[~once], **NAMES, control="control", references=["GAPDH", "ACTB"])
    text = result["findings"][0]["text"]
    assert text.startswith("In LPS relative to control 1 of 1 genes differ: up IL6")
    assert "; too few samples for a test: TNF" in text
    down = qpcr_relative(wells(effect=-2.0), **NAMES, control="control", references=["GAPDH", "ACTB"])
    assert ": down IL6" in down["findings"][0]["text"]


def test_the_column_of_gene_names_is_no_outcome_of_a_model(tmp_path):
    wells().to_csv(tmp_path / "wells.csv", index=False)
    files = profile_files([tmp_path / "wells.csv"])
    plan = the_planner().plan("which genes go up with LPS? normalise to GAPDH", files).plan
    assert [node.tool for node in plan.nodes] == ["qpcr_relative"]


def test_efficiencies_follow_pfaffl():
    table = wells()
    result = qpcr_relative(table, **NAMES, references=["GAPDH"], efficiencies=["IL6=1.9", "GAPDH=95"])
    row = result["folds"].set_index("gene").loc["IL6"]
    means = table.groupby(["treatment", "gene"])["Ct"].mean().unstack()
    gap = means.loc["control"] - means.loc["LPS"]
    assert row["fold_change"] == pytest.approx(1.9 ** gap["IL6"] / 1.95 ** gap["GAPDH"])


def test_wide_and_long_tables_agree():
    table = wells()
    wide = table.groupby(["sample", "treatment", "gene"])["Ct"].mean().unstack().add_prefix("Ct_").reset_index()
    one = qpcr_relative(wide, cts=["Ct_IL6", "Ct_TNF", "Ct_GAPDH", "Ct_ACTB"], group="treatment")
    two = qpcr_relative(table, **NAMES)
    assert one["folds"]["fold_change"].tolist() == pytest.approx(two["folds"]["fold_change"].tolist())
    assert one["folds"]["p_value"].tolist() == pytest.approx(two["folds"]["p_value"].tolist())


def test_order_loading_and_swapping_do_not_matter():
    plain = qpcr_relative(wells(), **NAMES)["folds"].set_index("gene")
    mixed = wells().sample(frac=1, random_state=1)
    mixed["Ct"] += mixed["sample"].map({name: i for i, name in enumerate(sorted(mixed["sample"].unique()))})
    again = qpcr_relative(mixed, **NAMES)["folds"].set_index("gene").loc[plain.index]
    assert again["fold_change"].tolist() == pytest.approx(plain["fold_change"].tolist())
    swapped = qpcr_relative(wells(), **NAMES, treated="control", control="LPS")["folds"].set_index("gene")
    assert (1 / swapped["fold_change"]).tolist() == pytest.approx(plain["fold_change"].tolist())


def test_genes_and_samples_are_found_where_none_is_named():
    plain = qpcr_relative(wells(), **NAMES)["folds"]
    found = qpcr_relative(wells(), ct="Ct", group="treatment")
    pd.testing.assert_frame_equal(found["folds"], plain)
    assert any("sample was taken" in text for text in found["warnings"])
    with pytest.raises(ValueError, match="No column of samples"):
        qpcr_relative(wells().drop(columns="sample"), ct="Ct", group="treatment")


def test_undetermined_wells_and_blanks_are_left_out_and_said():
    table = wells().astype({"Ct": object})
    table.loc[0, "Ct"] = "Undetermined"
    table.loc[1, "Ct"] = np.nan
    table.loc[len(table)] = ["NTC", "NTC", "IL6", 39.0]
    table.loc[2, "Ct"] = float(table.loc[2, "Ct"])
    result = qpcr_relative(table, **NAMES)
    said = " ".join(result["warnings"])
    assert "2 wells without a Ct" in said
    assert "1 wells without template" in said
    rough = wells()
    rough.loc[0, "Ct"] += 3
    assert any("differ by more than 0.5 cycles" in text for text in qpcr_relative(rough, **NAMES)["warnings"])


def test_last_cycles_and_donors_in_both_groups_are_said():
    table = wells()
    assert not any("several groups" in text for text in qpcr_relative(table, **NAMES)["warnings"])
    donors = table.assign(sample=table["sample"].str[-1])
    result = qpcr_relative(donors, **NAMES)
    assert any("4 samples have the same name in several groups" in text for text in result["warnings"])
    plain = qpcr_relative(table, **NAMES)["folds"]
    pd.testing.assert_frame_equal(result["folds"], plain)  # samples of one name in two groups stay apart
    table.loc[[0, 1], "Ct"] = 40.0
    assert any("exactly 40" in text for text in qpcr_relative(table, **NAMES)["warnings"])


def test_two_references_are_their_geometric_mean():
    # 2^-Ct is an amount: the geometric mean of two amounts has the mean of their Ct (Vandesompele et al. 2002)
    table = wells(n=1)
    folds = qpcr_relative(table, **NAMES, references=["GAPDH", "ACTB"])["folds"].set_index("gene")
    amount = 2.0 ** -table.groupby(["treatment", "gene"])["Ct"].mean().unstack()
    relative = amount["IL6"] / np.sqrt(amount["GAPDH"] * amount["ACTB"])
    assert folds.loc["IL6", "fold_change"] == pytest.approx(relative["LPS"] / relative["control"])


BAD = {
    "no form": ({"ct": ""}, "one of these two forms"),
    "no sample": ({"sample": "", "gene": "sample"}, "No column of samples"),
    "no reference": ({"gene": "odd"}, "usual reference gene"),
    "unknown reference": ({"references": ["B2M"]}, "no level 'B2M'"),
    "no cycles": ({"ct": "big"}, "between 0 and 60"),
    "words": ({"ct": "odd"}, "not numbers"),
    "one group": ({"group": "same"}, "one group"),
    "control": ({"control": "mock"}, "no level 'mock'"),
    "efficiency": ({"efficiency": 1.1}, "not possible"),
    "efficiency of what": ({"efficiencies": ["MYC=1.9"]}, "not understood"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = wells().assign(big=lambda t: t["Ct"] * 100, same="x", odd=lambda t: "gene" + t["gene"])
    with pytest.raises(ValueError, match=r".") as error:
        qpcr_relative(table, **(NAMES | params))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("params", [{}, {"references": ["gapdh"]}, {"gene": ""}])
def test_step_runs_from_its_own_source_and_passes_its_checks(params, tmp_path):
    record, tables, issues = run_step(qpcr_relative, {"table": wells()}, NAMES | params, tmp_path)
    assert issues == []
    assert not any("nan" in finding["text"].split() for finding in record["findings"])
    wrong = tables["folds"].assign(fold_change=7.0)
    assert "fold_differs" in check_issues(["folds_match_cycles"], {"folds": wrong}, tmp_path)


def test_plain_questions_plan_it(tmp_path):

    planner = the_planner()
    wells().to_csv(tmp_path / "qpcr.csv", index=False)
    plan = planner.plan(
        "delta-delta Ct from Ct of each gene and sample: LPS against control treatment",
        profile_files([tmp_path / "qpcr.csv"]),
    ).plan
    (step,) = [node for node in plan.nodes if node.tool == "qpcr_relative"]
    assert [step.params.get(key) for key in ("ct", "group", "control")] == ["Ct", "treatment", "control"]
    assert step.params.get("sample", "sample") == "sample"


def test_references_that_move_apart_are_said(tmp_path):
    rng = np.random.default_rng(4)
    rows = [(f"s{n}", "drug" if n < 5 else "control", gene, base + 1.2 * (gene == "ACTB" and n < 5) + rng.normal(0, 0.1))
            for n in range(10) for gene, base in (("GAPDH", 18), ("ACTB", 17), ("IL6", 26))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["sample", "group", "gene", "ct"])
    asked = {"ct": "ct", "gene": "gene", "group": "group", "sample": "sample", "references": ["GAPDH", "ACTB"],
             "control": "control"}  # fmt: skip
    warned = qpcr_relative(table, **asked)["warnings"]
    assert any("GAPDH and ACTB move apart by 1.2" in text for text in warned)
    steady = table.assign(ct=table["ct"] - 1.2 * ((table["gene"] == "ACTB") & (table["group"] == "drug")))
    assert not any("move apart" in text for text in qpcr_relative(steady, **asked)["warnings"])


def test_donors_that_had_every_treatment_are_compared_with_themselves():
    table = wells(effect=1.0, seed=5)
    table["sample"] = table["sample"].str.extract(r"(\d+)$")[0].radd("D")
    result = qpcr_relative(table, **NAMES, paired=True)
    means = table.groupby(["treatment", "sample", "gene"])["Ct"].mean().unstack()
    delta = means["IL6"] - means[["ACTB", "GAPDH"]].mean(axis=1)
    test = stats.ttest_rel(delta.loc["LPS"], delta.loc["control"])
    row = result["folds"].set_index("gene").loc["IL6"]
    assert row["p_value"] == pytest.approx(test.pvalue)
    assert (row["lower_95"], row["upper_95"]) == pytest.approx(tuple(2 ** -np.array(test.confidence_interval()[::-1])))
    assert "paired t on delta Ct" in result["findings"][0]["text"]
    with pytest.raises(ValueError, match="no pairs"):
        qpcr_relative(wells(), **NAMES, paired=True)


def test_the_column_of_genes_is_known_by_its_reference_genes(tmp_path):
    table = wells().rename(columns={"gene": "Probe", "treatment": "Arm"})
    table.to_csv(tmp_path / "plate.csv", index=False)
    question = "Fold change of IL6 and TNF by LPS vs control, normalised to GAPDH; each donor got both treatments"
    plan = the_planner().plan(question, profile_files([tmp_path / "plate.csv"])).plan
    params = plan.nodes[-1].params
    assert (params["gene"], params["group"], params["references"]) == ("Probe", "Arm", ["GAPDH"])
    assert params["paired"] is True
    assert not any(node.tool == "filter_rows" for node in plan.nodes)
