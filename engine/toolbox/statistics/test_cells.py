"""Combinations of two factors and simple effects, against statsmodels' Tukey and pooled t-tests by scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from statsmodels.stats.multicomp import pairwise_tukeyhsd
from statsmodels.stats.multitest import multipletests
from table_steps import run_step

from engine.toolbox.statistics.anova import anova

STRAINS, DIETS = ("wild", "het", "ko"), ("chow", "fat")


@pytest.fixture(scope="module")
def mice() -> pd.DataFrame:
    rng = np.random.default_rng(17)
    rows = [(s, d, round(90 + 40 * (s == "ko") * (d == "fat") + 9 * (d == "fat") + rng.normal(0, 9), 1))
            for s in STRAINS for d in DIETS for _ in range(7)]  # fmt: skip
    return pd.DataFrame(rows, columns=["strain", "diet", "glucose"])


def pooled(table):
    """Return the pooled variance of the cells, its degrees of freedom and their means, by hand."""
    cells = table.groupby(["strain", "diet"])["glucose"]
    df = len(table) - cells.ngroups
    return float((cells.var() * (cells.count() - 1)).sum() / df), df, cells.mean()


@pytest.mark.slow
def test_all_combinations_are_tukeys_test_of_the_cells(mice, tmp_path):
    asked = {"value": "glucose", "factors": ["strain", "diet"], "compare": "cells", "post_hoc": "tukey"}
    record, tables, issues = run_step(anova, {"table": mice}, asked, tmp_path)
    assert not issues
    rows = tables["contrasts"].query("factor == 'strain:diet'")
    assert len(rows) == 15
    known = pairwise_tukeyhsd(mice["glucose"], mice["strain"] + ", " + mice["diet"])
    pairs = itertools.combinations(known.groupsunique, 2)
    p_of = {frozenset(pair): p for pair, p in zip(pairs, known.pvalues, strict=True)}
    for row in rows.itertuples():
        assert row.p_adj == pytest.approx(p_of[frozenset((row.group_1, row.group_2))], abs=1e-4)
    assert set(rows["adjustment"]) == {"Tukey (6 levels)"}
    clear = int((np.array(known.pvalues) < 0.05).sum())
    assert record["findings"][0]["text"].startswith(
        f"{clear} of the 15 pairs of combinations of strain and diet differ"
    )


@pytest.mark.slow
def test_holm_corrects_all_combinations_together(mice):
    result = anova(mice, value="glucose", factors=["strain", "diet"], compare="cells", post_hoc="holm")
    variance, df, means = pooled(mice)
    t = [abs(means[a] - means[b]) / np.sqrt(2 * variance / 7) for a, b in itertools.combinations(means.index, 2)]
    expected = multipletests(2 * stats.t.sf(t, df), method="holm")[1]
    found = result["contrasts"].query("factor == 'strain:diet'")["p_adj"]
    assert sorted(found) == pytest.approx(sorted(expected), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("factors", [["strain", "diet"], ["diet", "strain"]])
def test_simple_effects_are_within_the_factor_named_whatever_the_order(mice, factors, tmp_path):
    asked = {"value": "glucose", "factors": factors, "within": "strain", "post_hoc": "holm"}
    record, tables, issues = run_step(anova, {"table": mice}, asked, tmp_path)
    assert not issues
    rows = tables["contrasts"].query("factor == 'diet' and within != ''").dropna(subset=["within"]).set_index("within")
    variance, df, means = pooled(mice)
    t = [(means[s, "fat"] - means[s, "chow"]) / np.sqrt(2 * variance / 7) for s in STRAINS]
    expected = multipletests(2 * stats.t.sf(np.abs(t), df), method="holm")[1]
    for strain, p in zip(STRAINS, expected, strict=True):
        assert rows.loc[f"strain = {strain}", "p_adj"] == pytest.approx(p, rel=1e-8)
        assert abs(rows.loc[f"strain = {strain}", "effect"]) == pytest.approx(abs(means[strain, "fat"] - means[strain, "chow"]))  # fmt: skip
    assert "of the 3 comparisons within levels" in record["findings"][0]["text"]
    assert "where strain = ko" in record["findings"][1]["text"]


def test_what_cannot_be_compared_is_refused_by_name(mice):
    with pytest.raises(ValueError, match="'glucose' is no factor"):
        anova(mice, value="glucose", factors=["strain", "diet"], within="glucose")
    with pytest.raises(ValueError, match="control"):
        anova(mice, value="glucose", factors=["strain", "diet"], compare="cells", post_hoc="dunnett")


@pytest.mark.parametrize(("question", "params"), [
    ("two-way ANOVA of glucose on strain and diet, all combinations compared by Tukey", {"compare": "cells", "post_hoc": "tukey"}),
    ("ANOVA of glucose by strain and diet comparing every strain x diet combination, Holm", {"compare": "cells", "post_hoc": "holm"}),
    ("ANOVA of glucose by strain and diet, then diet within each strain", {"compare": "levels", "within": "strain"}),
    ("glucose by diet and strain: simple main effects of diet from the two-way ANOVA", {"within": "strain"}),
    ("two-way ANOVA: which of the strain by diet cells differ in glucose, Tukey HSD", {"compare": "cells"}),
    ("ANOVA of glucose by strain and diet with Tukey", {"compare": "levels"}),
])  # fmt: skip
def test_questions_ask_for_combinations_or_for_effects_within(mice, question, params, tmp_path):
    mice.to_csv(tmp_path / "mice.csv", index=False)
    plan = the_planner().plan(question, profile_files([tmp_path / "mice.csv"])).plan
    found = next(node.params for node in plan.nodes if node.tool == "anova")
    assert {key: found.get(key) for key in params} == params
    assert ("within" in params) == bool(found.get("within"))
