"""Differential abundance beside centred log ratios worked by hand, truth that was put in, and input that must be refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from taxa_steps import mice, run_taxa

from engine.toolbox.microbiome.differential import differential_abundance

COUNTS, SHEET = mice()
DIETS = {"group": "diet", "treated": "oats", "control": "hay"}


def by_taxon(result):
    return result["differences"].set_index("taxon")


def test_without_cages_it_is_welchs_test_of_centred_log_ratios():
    table = by_taxon(differential_abundance(COUNTS, SHEET, **DIETS))
    logs = np.log2(COUNTS + 0.5)
    clr = logs - logs.mean()
    oats = (SHEET["diet"] == "oats").to_numpy()
    theirs = stats.ttest_ind(clr.loc[:, oats], clr.loc[:, ~oats], axis=1, equal_var=False)
    assert table.loc[COUNTS.index, "p_value"].to_numpy() == pytest.approx(theirs.pvalue)
    adjusted = multipletests(theirs.pvalue, method="fdr_bh")[1]
    assert table.loc[COUNTS.index, "p_adj"].to_numpy() == pytest.approx(adjusted)
    assert table.loc["G4", "log2_ratio"] == pytest.approx(clr.loc["G4", oats].mean() - clr.loc["G4", ~oats].mean())


def test_what_was_put_in_is_found_with_its_direction_and_the_step_holds(tmp_path):
    inputs = {"taxa": COUNTS, "samples": SHEET}
    record, tables, said = run_taxa(differential_abundance, inputs, {**DIETS, "unit": "cage"}, tmp_path)
    assert not said
    table = tables["differences"].set_index("taxon")
    assert set(table.index[table["p_adj"] < 0.05]) == {"G0", "G1"}
    assert table.loc["G0", "lower_95"] < 3 < table.loc["G0", "upper_95"]
    text = record["findings"][0]["text"]
    assert text.startswith(
        "2 of 12 tested genera differ between oats and hay at a false discovery rate of 5 %; higher with oats: G0 ("
    )
    assert "lower with oats: G1 (-" in text
    assert "4 cages each, 24 samples" in text


def test_turned_round_every_sign_turns():
    ours = by_taxon(differential_abundance(COUNTS, SHEET, **DIETS, unit="cage"))
    turned = by_taxon(differential_abundance(COUNTS, SHEET, group="diet", treated="hay", control="oats", unit="cage"))
    assert turned.loc[ours.index, "log2_ratio"].to_numpy() == pytest.approx(-ours["log2_ratio"].to_numpy(), abs=1e-6)
    assert turned.loc[ours.index, "p_adj"].to_numpy() == pytest.approx(ours["p_adj"].to_numpy(), rel=1e-4)


def test_the_depth_of_a_sample_changes_next_to_nothing():
    """The pseudocount alone knows of it."""
    deep = COUNTS.copy()
    deep.iloc[:, 3] *= 20
    ours, theirs = (by_taxon(differential_abundance(t, SHEET, **DIETS)) for t in (COUNTS, deep))
    assert theirs.loc[ours.index, "log2_ratio"].to_numpy() == pytest.approx(ours["log2_ratio"].to_numpy(), abs=0.01)


def test_rare_taxa_are_not_tested_and_that_is_said():
    counts = COUNTS.copy()
    counts.loc["rare"] = 0
    counts.loc["rare", ["m00", "m01"]] = 4
    result = differential_abundance(counts, SHEET, **DIETS)
    assert "rare" not in set(result["differences"]["taxon"])
    assert any(
        "found in at least 3 of 24 samples (1 others are not); 0.5 added to every count" in w
        for w in result["warnings"]
    )
    assert "rare" in set(differential_abundance(counts, SHEET, **DIETS, min_prevalence=0.05)["differences"]["taxon"])


def test_that_shares_add_up_to_a_whole_is_one_caveat():
    result = differential_abundance(COUNTS, SHEET, **DIETS)
    assert sum("add up to a whole" in warning for warning in result["warnings"]) == 1


def test_nothing_found_names_the_clearest():
    sheet = SHEET.assign(diet=np.resize(["oats", "hay"], len(SHEET)))
    text = differential_abundance(COUNTS, sheet, **DIETS)["findings"][0]["text"]
    assert text.startswith("0 of 12 tested genera differ")
    assert "the clearest is G" in text


def test_three_groups_have_one_p_and_a_row_for_each_pair():
    sheet = SHEET.assign(diet=np.where(SHEET["cage"].isin(["cage6", "cage7"]), "straw", SHEET["diet"]))
    result = differential_abundance(COUNTS, sheet, group="diet", unit="cage", of_interest=["G0"])
    table = result["differences"]
    assert len(table) == 3 * 12
    assert table.groupby("taxon")["p_adj"].nunique().max() == 1
    assert "G0 (highest with oats" in result["findings"][3]["text"]
    assert sum("G0 is" in finding["text"] for finding in result["findings"]) == 3


def test_a_named_taxon_is_told_of_whatever_its_rank():
    result = differential_abundance(COUNTS, SHEET, **DIETS, unit="cage", of_interest=["g7", "Nobody"])
    assert result["findings"][0]["text"].startswith("G7 is not shown to differ")
    assert result["findings"][1]["text"].startswith("2 of 12 tested genera")
    assert any("Nobody" in warning for warning in result["warnings"])


def test_shares_are_taken_with_half_the_smallest_for_none():
    shares = COUNTS / COUNTS.sum()
    result = differential_abundance(shares, SHEET, **DIETS)
    assert any("half the smallest share" in warning for warning in result["warnings"])
    assert {"G0", "G1"} <= set(result["differences"].query("p_adj < 0.05")["taxon"])


@pytest.mark.parametrize(
    ("taxa", "samples", "params", "says"),
    [
        (COUNTS, SHEET, {"group": "breed"}, "breed"),
        (COUNTS, SHEET, {**DIETS, "treated": "barley"}, "no level 'barley'"),
        (COUNTS, SHEET.assign(diet="hay"), {"group": "diet"}, "nothing to compare"),
        (COUNTS[:2], SHEET, DIETS, "need at least 3"),
        (COUNTS, SHEET.iloc[[0, *range(12, 20)]], DIETS, "oats has 1"),
        (COUNTS, SHEET, {**DIETS, "min_prevalence": 1.1}, "No taxon is found"),
        (np.log2(COUNTS / COUNTS.sum() + 1e-6), SHEET, DIETS, "before any logarithm"),
        (COUNTS, pd.concat([SHEET, SHEET[:1]]), DIETS, "several rows for m00"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(taxa, samples, params, says):
    with pytest.raises(ValueError, match=says):
        differential_abundance(taxa, samples, **params)
