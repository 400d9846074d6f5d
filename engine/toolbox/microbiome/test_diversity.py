"""Indices beside vegan's and scikit-bio's documented numbers, comparisons of groups, and what must be refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from taxa_steps import mice, run_taxa

from engine.toolbox.microbiome.diversity import alpha_diversity, diversity_of

DUNE_1 = [1, 4, 7, 4, 2]
"""The first site of the dune meadows that come with vegan: Achimill, Elymrepe, Lolipere, Poaprat, Poatriv."""
COUNTS, SHEET = mice()


def of(counts):
    return diversity_of(pd.DataFrame({"s": counts}, dtype=float)).iloc[0]


def test_the_first_dune_meadow_has_the_indices_that_vegan_gives():
    row = of([*DUNE_1, 0, 0])
    assert row["shannon"] == pytest.approx(1.440482, abs=5e-7)
    assert row["simpson"] == pytest.approx(0.7345679, abs=5e-8)
    assert row["inverse_simpson"] == pytest.approx(3.767442, abs=5e-7)
    assert row["richness"] == 5
    assert row["evenness"] == pytest.approx(0.8950216, abs=5e-8)


def test_chao1_and_simpson_by_hand():
    """Chao (1984), corrected for bias: 9 seen, 3 once and 3 twice are 9 + 3 * 2 / (2 * 4); Simpson (1949): 1 - 0.34."""
    assert of([0, 1, 1, 4, 2, 5, 2, 4, 1, 2])["chao1"] == pytest.approx(9.75)
    assert of([1, 0, 2, 5, 2])["simpson"] == pytest.approx(0.66)


def test_a_sample_of_one_taxon_has_no_diversity_and_no_evenness():
    row = of([7, 0])
    assert (row["shannon"], row["simpson"], row["richness"]) == (0, 0, 1)
    assert np.isnan(row["evenness"])


def test_shares_give_the_same_indices_without_chao1():
    counts = diversity_of(COUNTS.astype(float))
    shares = diversity_of(COUNTS / COUNTS.sum())
    assert shares["shannon"].to_numpy() == pytest.approx(counts["shannon"].to_numpy())
    assert "chao1" not in shares


def test_groups_of_cages_are_compared_by_cages_and_the_step_holds(tmp_path):
    params = {"group": "diet", "treated": "oats", "control": "hay", "unit": "cage"}
    record, tables, said = run_taxa(alpha_diversity, {"taxa": COUNTS, "samples": SHEET}, params, tmp_path)
    assert not said
    row = tables["comparison"].iloc[0]
    by_cage = tables["diversity"].groupby("cage").agg({"shannon": "mean", "diet": "first"})
    oats = by_cage["diet"] == "oats"
    theirs = stats.ttest_ind(by_cage.loc[oats, "shannon"], by_cage.loc[~oats, "shannon"])
    assert row["difference"] == pytest.approx(
        by_cage.loc[oats, "shannon"].mean() - by_cage.loc[~oats, "shannon"].mean(), rel=1e-5
    )
    assert row["p_value"] == pytest.approx(theirs.pvalue, rel=1e-3)
    text = record["findings"][0]["text"]
    assert text.startswith("Shannon diversity is ")
    assert "4 cages each, 24 samples" in text
    assert "random intercept for cage" in text


def test_the_index_that_is_asked_for_leads_and_its_direction_is_told():
    counts = COUNTS.copy()
    counts.loc[["G3", "G4", "G5"], SHEET.index[SHEET["diet"] == "hay"]] = 0
    result = alpha_diversity(counts, SHEET, group="diet", treated="oats", control="hay", index="richness")
    assert result["findings"][0]["text"].startswith(
        "Observed richness is higher with oats than with hay: 11.9 with oats against 9.00 with hay"
    )
    turned = alpha_diversity(counts, SHEET, group="diet", treated="hay", control="oats", index="richness")
    assert "is lower with hay than with oats" in turned["findings"][0]["text"]


def test_three_groups_are_told_from_high_to_low():
    sheet = SHEET.assign(site=np.resize(["a", "b", "c"], len(SHEET)))
    result = alpha_diversity(COUNTS, sheet, group="site")
    assert len(result["comparison"].query("index == 'shannon'")) == 3
    assert "by site" in result["findings"][0]["text"]
    assert "Welch's analysis of variance" in result["findings"][0]["text"]


def test_without_groups_every_sample_is_told():
    result = alpha_diversity(COUNTS, None)
    assert "on average over 24 samples" in result["findings"][0]["text"]
    assert "comparison" not in result


def test_a_rank_is_summed_first():
    counts = COUNTS.copy()
    counts.attrs["lineages"] = {name: f"p__{'P' if n % 2 else 'Q'};g__{name}" for n, name in enumerate(counts.index)}
    assert alpha_diversity(counts, None, rank="phylum")["diversity"]["richness"].tolist() == [2] * 24


@pytest.mark.parametrize(
    ("taxa", "samples", "params", "says"),
    [
        (COUNTS, None, {"group": "diet"}, "no list of the samples"),
        (COUNTS, SHEET, {"group": "breed"}, "breed"),
        (COUNTS, SHEET.assign(diet="hay"), {"group": "diet"}, "nothing to compare"),
        (COUNTS, SHEET.rename(index=lambda name: f"x{name[::-1]}"), {"group": "diet"}, "No sample of the sheet"),
        (COUNTS, pd.concat([SHEET, SHEET[:1]]), {"group": "diet"}, "several rows for m00"),
        (COUNTS / COUNTS.sum(), SHEET, {"group": "diet", "index": "chao1"}, "these values are no counts"),
        (-COUNTS, SHEET, {"group": "diet"}, "negative values"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(taxa, samples, params, says):
    with pytest.raises(ValueError, match=says):
        alpha_diversity(taxa, samples, **params)
