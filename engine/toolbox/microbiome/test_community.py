"""Shares of communities worked by hand, and what must be refused."""

from __future__ import annotations

import pandas as pd
import pytest
from taxa_steps import mice, run_taxa

from engine.toolbox.microbiome.community import community_composition, percent, taxa_named

HAND = pd.DataFrame(
    {"a1": [60, 30, 10], "a2": [20, 70, 10], "b1": [5, 5, 190], "b2": [100, 50, 50]},
    index=["Ruminococcus", "Blautia", "[Other] x"],
)
GROUPS = pd.DataFrame({"site": ["a", "a", "b", "b"]}, index=["a1", "a2", "b1", "b2"])


def test_shares_are_of_each_sample_and_means_of_each_group():
    """a: Blautia (30 + 70) / 2 = 50 %, Ruminococcus 40 %; b: [Other] x (95 + 25) / 2 = 60 %, of reads it would be 60 too."""
    result = community_composition(HAND, GROUPS, group="site", most=2)
    text = result["findings"][0]["text"]
    assert text.startswith("A: Blautia 50.0 %, Ruminococcus 40.0 %; b: [Other] x 60.0 %, Ruminococcus 26.2 %")
    table = result["composition"].set_index(["group", "taxon"])
    assert table.loc[("b", "Ruminococcus"), "mean_percent"] == pytest.approx((2.5 + 50) / 2)
    assert table.loc[("a", "Blautia"), "n_first"] == 1
    assert table.loc[("b", "Ruminococcus"), ["n_first", "n_found", "n"]].tolist() == [1, 2, 2]


def test_a_taxon_that_is_named_is_counted_where_it_is_first():
    result = community_composition(HAND, GROUPS, group="site", most=1, of_interest=["blautia", "Nobody"])
    assert "Blautia is number one in 1 of 2 a and 0 of 2 b samples" in result["findings"][0]["text"]
    assert any("Nobody" in warning for warning in result["warnings"])


def test_small_and_large_samples_count_alike():
    large = HAND.assign(a1=HAND["a1"] * 1000)
    ours, theirs = (community_composition(t, GROUPS, group="site")["composition"] for t in (HAND, large))
    pd.testing.assert_frame_equal(ours, theirs)


def test_a_close_place_behind_is_told():
    counts = pd.DataFrame({"s": [500, 301, 199], "t": [500, 300, 200]}, index=["A", "B", "C"])
    assert "close behind" not in community_composition(counts, None, most=2)["findings"][0]["text"]
    near = pd.DataFrame({"s": [500, 250, 250], "t": [500, 251, 249]}, index=["A", "B", "C"])
    assert "(close behind: C 24.95 %)" in community_composition(near, None, most=2)["findings"][0]["text"]


def test_the_step_holds_with_groups_and_without(tmp_path):
    counts, sheet = mice()
    for name, inputs, params in (
        ("groups", {"taxa": counts, "samples": sheet}, {"group": "diet", "most": 3}),
        ("alone", {"taxa": counts}, {}),
    ):
        folder = tmp_path / name
        folder.mkdir()
        record, tables, said = run_taxa(community_composition, inputs, params, folder)
        assert not said
        assert record["findings"]
        assert tables["shares"].drop(columns="sample").sum(axis=1).tolist() == pytest.approx([100] * 24)


def test_names_are_found_whatever_their_signs():
    assert taxa_named(["Escherichia-Shigella", "Blautia"], ["escherichia shigella", "Blau"]) == (
        ["Escherichia-Shigella"],
        ["Blau"],
    )
    assert [percent(x) for x in (20.34, 0.649, 0.0, 0.0123)] == ["20.3 %", "0.65 %", "0 %", "0.012 %"]


@pytest.mark.parametrize(
    ("taxa", "samples", "params", "says"),
    [
        (HAND, None, {"group": "site"}, "no list of the samples"),
        (HAND, GROUPS, {"group": "farm"}, "farm"),
        (HAND * 0, GROUPS, {}, "every value is 0"),
        (HAND - 50, GROUPS, {}, "negative values"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(taxa, samples, params, says):
    with pytest.raises(ValueError, match=says):
        community_composition(taxa, samples, **params)
