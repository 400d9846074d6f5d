"""Enrichment tools against SciPy, numbers worked by hand, GSEApy itself and the airway experiment.

Airway (Himes et al. 2014, GEO GSE52778) and the MSigDB hallmarks are real data kept beside the repository; their tests
skip without them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import gseapy
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, fisher_exact, hypergeom

from engine.data.catalogue import write_data
from engine.data.kinds.genes import read_gene_sets
from engine.data.kinds.matrix import read_matrix
from engine.data.kinds.table import read_table
from engine.toolbox.bulk_rna.gene_lists import rank_genes, select_genes
from engine.toolbox.checks import CHECKS, StepOutputs
from engine.toolbox.enrichment import sets as enrichment
from engine.toolbox.enrichment.sets import gsea_preranked, over_representation, summarize_gene_sets
from engine.toolbox.script import step_script, stored_input

DATA = Path(__file__).parents[2].parent / "shared" / "data"
HALLMARKS = DATA / "gene_sets" / "h.all.v7.0.symbols.gmt"
needs_data = pytest.mark.skipif(
    not (DATA / "airway").is_dir() or not HALLMARKS.is_file(), reason="the real data are not beside the repository"
)
GENES = [f"G{k:04d}" for k in range(2000)]


def table_of(scores):
    """A differential expression table in which gene k has this statistic."""
    from scipy.stats import norm

    p_value = 2 * norm.sf(np.abs(scores))
    return pd.DataFrame(
        {
            "feature": GENES,
            "base_mean": 100.0,
            "log2_fold_change": np.asarray(scores) / 2,
            "lfc_se": 0.5,
            "stat": scores,
            "p_value": p_value,
            "p_adj": false_discovery_control(p_value),
        }
    )


@pytest.fixture(scope="module")
def planted():
    """2,000 genes of which UP rise and DOWN fall; NULL sets are drawn by chance."""
    rng = np.random.default_rng(5)
    scores = rng.normal(0, 1, len(GENES))
    scores[:60] += 5
    scores[60:120] -= 5
    sets = {"UP": GENES[:40], "DOWN": GENES[60:100], "SMALL": GENES[:5], "OUTSIDE": [f"X{k}" for k in range(30)]}
    for k in range(30):
        sets[f"NULL_{k}"] = [GENES[j] for j in rng.choice(np.arange(120, 2000), 40, replace=False)]
    return table_of(scores), sets


def test_over_representation_by_hand():
    # 10 genes, set of 4, list of 3 with 2 hits: P(X >= 2) = (C(4,2) C(6,1) + C(4,3)) / C(10,3) = 40 / 120.
    background = table_of(np.linspace(-3, 3, len(GENES))).head(10)
    sets = {"S": [*GENES[:4], "not measured"]}
    result = over_representation([GENES[0], GENES[1], GENES[9]], sets, background, min_size=1)["enrichment"]
    row = result.iloc[0]
    assert row["p_value"] == pytest.approx(1 / 3, rel=1e-12)
    assert (row["overlap"], row["term_size"], row["query_size"], row["background_size"]) == (2, 4, 3, 10)
    assert row["fold_enrichment"] == pytest.approx(2 * 10 / (3 * 4))
    assert row["odds_ratio"] == pytest.approx(2 * 5 / (1 * 2))
    assert row["genes"] == "G0000;G0001"


def test_of_one_set_the_first_sentence_tells_its_overlap_and_test():
    sets = {"MY_LIST": GENES[:20] + GENES[500:520]}
    found = over_representation(GENES[:100], sets, min_size=2, background_list=GENES)
    odds, p = fisher_exact([[20, 80], [20, 1880]], alternative="greater")
    text = found["findings"][0]["text"]
    assert "20 of its 40 genes where 2.0 are expected" in text
    assert f"odds ratio {odds:.3g}" in text
    assert f"{p:.1e}".replace("e-", "e-") in text


def test_the_sets_that_stand_out_are_named_first(planted):
    listed = {f"SET_{k}": GENES[20 * k : 20 * k + 20] for k in range(6)}
    text = over_representation(GENES[:40], listed, min_size=2, background_list=GENES)["findings"][0]["text"]
    assert "2 of 6 gene sets" in text
    assert re.search(r"most clearly set 0 \(20 of 20\); set 1 \(20 of 20\)", text, re.IGNORECASE)


@settings(max_examples=60, deadline=None)
@given(st.integers(12, 60), st.data())
def test_over_representation_agrees_with_fisher(n_all, data):
    query = data.draw(st.integers(1, n_all - 1))
    size = data.draw(st.integers(1, n_all - 1))
    start = data.draw(st.integers(0, n_all - size))
    background = table_of(np.linspace(-3, 3, len(GENES))).head(n_all)
    sets = {"S": GENES[start : start + size], "ALL": GENES[:n_all]}
    result = over_representation(GENES[:query], sets, background, min_size=1)["enrichment"].set_index("term_id")
    hits = len(set(GENES[:query]) & set(sets["S"]))
    square = [[hits, query - hits], [size - hits, n_all - query - size + hits]]
    odds, p_value = fisher_exact(square, alternative="greater")
    assert result.loc["S", "p_value"] == pytest.approx(p_value, rel=1e-9)
    assert result.loc["S", "p_value"] == pytest.approx(hypergeom.sf(hits - 1, n_all, size, query), rel=1e-9)
    if np.isfinite(odds) and np.isfinite(result.loc["S", "odds_ratio"]):
        assert result.loc["S", "odds_ratio"] == pytest.approx(odds, rel=1e-9)
    assert result.loc["ALL", "p_value"] == pytest.approx(1.0)


def test_adjustment_covers_every_set_tested_also_those_without_a_hit(planted):
    table, sets = planted
    result = over_representation(GENES[:60], sets, table)["enrichment"]
    assert len(result) == 32
    assert (result["overlap"] == 0).any()
    np.testing.assert_allclose(result["p_adj"], false_discovery_control(result["p_value"]))
    assert result["term_id"][0] == "UP"


def test_over_representation_gives_the_p_values_of_gseapy(planted):
    table, sets = planted
    genes = [*GENES[:30], *GENES[200::9]]
    mine = over_representation(genes, sets, table)["enrichment"].set_index("term_id")
    theirs = gseapy.enrich(gene_list=genes, gene_sets=sets, background=GENES, outdir=None).results.set_index("Term")
    shared = mine.index.intersection(theirs.index)
    assert len(shared) > 5
    np.testing.assert_allclose(mine.loc[shared, "p_value"], theirs.loc[shared, "P-value"].astype(float), rtol=1e-9)


def test_the_background_is_the_genes_that_could_have_been_found(planted):
    # A set of 40 of the 1,700 genes that were not filtered, 59 listed, 39 hits: the tail of the hypergeometric.
    table, sets = planted
    table = table.copy()
    table.loc[[0, 1999], ["p_value", "p_adj"]] = np.nan
    table.loc[1700:1998, "p_adj"] = np.nan
    for choice, size, words in (
        ("findable", 1699, "1,699 genes with an adjusted p-value"),
        ("tested", 1998, "1,998 genes with a p-value"),
    ):
        result = over_representation(GENES[:60], sets, table, background_genes=choice)
        row = result["enrichment"].set_index("term_id").loc["UP"]
        assert (row["background_size"], row["query_size"], row["term_size"], row["overlap"]) == (size, 59, 39, 39)
        assert row["p_value"] == pytest.approx(hypergeom.sf(38, size, 39, 59), rel=1e-9)
        assert f"against a background of {words}" in result["findings"][0]["text"]
        assert any(f"{2000 - size:,} genes without" in warning for warning in result["warnings"])
        assert any("G0000" in warning and "left out" in warning for warning in result["warnings"])


def test_a_table_without_adjusted_p_values_gives_the_tested_genes_as_background(planted):
    table, sets = planted
    result = over_representation(GENES[:60], sets, table.drop(columns="p_adj"))
    assert "2,000 genes with a p-value" in result["findings"][0]["text"]


def test_a_missing_background_is_said(planted):
    _, sets = planted
    result = over_representation(GENES[:60], sets, None)
    assert any("background is all" in warning for warning in result["warnings"])
    assert "against a background of" in result["findings"][0]["text"]


def test_ensembl_genes_are_translated_for_sets_of_symbols():
    # Ensembl: ENSG00000120129 DUSP1, ENSG00000141510 TP53, ENSG00000124762 CDKN1A, ENSG00000111640 GAPDH.
    ids = ["ENSG00000120129", "ENSG00000141510.12", "ENSG00000124762", "ENSG00000111640"]
    background = table_of(np.linspace(-3, 3, len(GENES))).head(4).assign(feature=ids)
    sets = {"P53": ["TP53", "CDKN1A"], "GLYCOLYSIS": ["GAPDH", "PGK1"]}
    result = over_representation(ids[1:3], sets, background, min_size=1)
    row = result["enrichment"].set_index("term_id").loc["P53"]
    assert row["genes"] == "CDKN1A;TP53"
    assert row["p_value"] == pytest.approx(1 / 6)
    assert any("translated to symbols" in warning for warning in result["warnings"])


@pytest.mark.parametrize(
    ("genes", "sets", "words"),
    [
        (["A"], {}, "library is empty"),
        (["tp53", "Cdkn1a"], {"S": ["TP53", "CDKN1A"]}, "capitals only"),
        (["7157", "1026"], {"S": ["TP53", "CDKN1A"]}, "same kind of identifier"),
        (["ENSMUSG00000059552"], {"S": ["TP53", "CDKN1A"]}, "mouse gene set library"),
        (["TP53"], {"S": ["TP53", "CDKN1A"]}, "None of the 1 gene sets has 10 to 500"),
    ],
)
def test_lists_that_cannot_be_tested_are_refused(genes, sets, words):
    with pytest.raises(ValueError, match=words):
        over_representation(genes, sets, None)


def test_gsea_finds_both_planted_sets_with_their_sign(planted):
    table, sets = planted
    result = gsea_preranked(rank_genes(table)["ranked"], sets, permutations=500)
    scores = result["enrichment"].set_index("term_id")
    assert scores.loc["UP", "nes"] > 2
    assert scores.loc["DOWN", "nes"] < -2
    assert set(scores.index[scores["p_adj"] < 0.05]) == {"UP", "DOWN"}
    assert {"SMALL", "OUTSIDE"}.isdisjoint(scores.index)
    text = " ".join(finding["text"] for finding in result["findings"])
    told = ", ".join(f"{name} {scores.loc[name, 'nes']:+.2f}" for name in ("UP", "DOWN"))
    assert result["findings"][0]["text"].endswith(f"; most clearly, with NES: {told}.")
    assert "UP is increased" in text
    assert "DOWN is decreased" in text


def test_enrichment_score_is_the_running_sum_of_the_paper(planted):
    table, sets = planted
    ranked = rank_genes(table)["ranked"]
    result = gsea_preranked(ranked, sets, permutations=100)["enrichment"].set_index("term_id")
    # Subramanian et al. 2005: steps of |r| / N_R at hits and 1 / (N - N_H) at misses, weight 1.
    for term in ("UP", "DOWN", "NULL_3"):
        hit = ranked["feature"].isin(sets[term]).to_numpy()
        weight = ranked["score"].abs().to_numpy()
        running = np.cumsum(np.where(hit, weight / weight[hit].sum(), -1 / (~hit).sum()))
        expected = running[np.abs(running).argmax()]
        assert result.loc[term, "es"] == pytest.approx(expected, abs=1e-6)


def test_gsea_gives_the_numbers_of_a_direct_call_and_the_same_twice(planted):
    table, sets = planted
    ranked = rank_genes(table)["ranked"]
    mine = gsea_preranked(ranked, sets, permutations=200, seed=7)["enrichment"].set_index("term_id")
    theirs = gseapy.prerank(
        rnk=ranked[["feature", "score"]].copy(),
        gene_sets={term: sets[term] for term in sets if term in mine.index},
        permutation_num=200,
        seed=7,
        ascending=None,
        threads=1,
        outdir=None,
        no_plot=True,
    ).res2d.set_index("Term")
    for column, name in (("nes", "NES"), ("es", "ES"), ("p_value", "NOM p-val"), ("p_adj", "FDR q-val")):
        np.testing.assert_allclose(mine[column], theirs.loc[mine.index, name].astype(float), rtol=1e-9)
    again = gsea_preranked(ranked, sets, permutations=200, seed=7)["enrichment"].set_index("term_id")
    pd.testing.assert_frame_equal(mine, again)


def test_turning_the_ranking_turns_the_scores(planted):
    table, sets = planted
    ranked = rank_genes(table)["ranked"]
    turned = ranked.assign(score=-ranked["score"]).iloc[::-1].reset_index(drop=True)
    one = gsea_preranked(ranked, sets, permutations=100)["enrichment"].set_index("term_id")["es"]
    other = gsea_preranked(turned, sets, permutations=100)["enrichment"].set_index("term_id")["es"]
    np.testing.assert_allclose(one.loc[["UP", "DOWN"]], -other.loc[["UP", "DOWN"]], atol=1e-9)


def test_rankings_that_cannot_be_tested_are_refused(planted):
    table, sets = planted
    ranked = rank_genes(table)["ranked"]
    with pytest.raises(ValueError, match="needs all genes"):
        gsea_preranked(ranked.head(20), sets)
    with pytest.raises(ValueError, match="no column 'score'"):
        gsea_preranked(ranked.drop(columns="score"), sets)
    with pytest.raises(ValueError, match="None of the 34 gene sets"):
        gsea_preranked(ranked, sets, min_size=400)


def test_library_is_described(planted):
    result = summarize_gene_sets({"A_B": ["x", "y", "z"], "KEGG_C": ["z"]})
    assert result["sets"][["term_id", "size", "only_here"]].to_numpy().tolist() == [["A_B", 3, 2], ["KEGG_C", 1, 0]]
    assert result["sets"]["term_name"].tolist() == ["A B", "C"]
    assert "2 sets with 3 different genes" in result["findings"][0]["text"]


TOOLS = [over_representation, gsea_preranked, summarize_gene_sets]


@pytest.mark.parametrize("function", TOOLS, ids=lambda function: function.__name__)
def test_step_runs_from_its_text_alone_and_passes_its_checks(function, tmp_path, monkeypatch, planted):
    spec = function.tool_spec
    monkeypatch.chdir(tmp_path)
    table, sets = planted
    sets = {term: genes for term, genes in sets.items() if term != "OUTSIDE"}
    data = {
        "genes": GENES[:60],
        "gene_sets": sets,
        "background": table,
        "background_list": GENES,
        "ranked": rank_genes(table)["ranked"],
    }
    inputs = {}
    for port in spec.inputs:
        written = write_data(data[port.name], port.name, port.type.value)
        inputs[port.name] = stored_input(written, port.type)
    code = step_script(spec, inputs, {})
    assert not re.search(r"\b(?:import|from) engine\b", code)
    exec(compile(code, spec.name, "exec"), {"__name__": "step"})
    record = json.loads(Path("outputs/result.json").read_text())
    assert set(record["outputs"]) == {port.name for port in spec.outputs}
    step = StepOutputs(
        params={},
        files={key: Path("outputs") / entry["file"] for key, entry in record["outputs"].items()},
        types={key: entry["type"] for key, entry in record["outputs"].items()},
        findings=record["findings"],
    )
    assert [issue.message for check in spec.checks for issue in CHECKS[check](step)] == []


def test_check_catches_an_impossible_overlap(planted, tmp_path):
    table, sets = planted
    result = over_representation(GENES[:60], sets, table)["enrichment"]
    result.loc[0, "overlap"] = result.loc[0, "term_size"] + 1
    result.to_csv(tmp_path / "enrichment.csv", index=False)
    files = {"enrichment": tmp_path / "enrichment.csv"}
    step = StepOutputs(params={}, files=files, types={"enrichment": "enrichment_table"})
    assert [issue.code for issue in CHECKS["overlaps_possible"](step)] == ["impossible_overlap"]


def test_check_catches_a_score_of_the_wrong_sign(planted, tmp_path):
    table, sets = planted
    result = gsea_preranked(rank_genes(table)["ranked"], sets, permutations=100)["enrichment"]
    result.loc[0, "nes"] *= -1
    result.to_csv(tmp_path / "enrichment.csv", index=False)
    files = {"enrichment": tmp_path / "enrichment.csv"}
    step = StepOutputs(params={}, files=files, types={"enrichment": "enrichment_table"})
    assert [issue.code for issue in CHECKS["gsea_values_valid"](step)] == ["bad_score"]


@needs_data
@pytest.mark.slow
def test_airway_up_genes_lead_with_tnfa_signalling():
    from engine.toolbox.bulk_rna.differential import differential_expression

    table = differential_expression(
        read_matrix(DATA / "airway" / "airway_rawcounts.csv", index_col=0),
        read_table(DATA / "airway" / "airway_metadata.csv", index_col=0),
        condition="dex",
        treated="treated",
        control="control",
        covariates=["celltype"],
    )["de_table"]
    genes = select_genes(table, direction="up", min_abs_lfc=1.0)["genes"]
    result = over_representation(genes, read_gene_sets(HALLMARKS), table)["enrichment"]
    assert result["term_id"][0] == "HALLMARK_TNFA_SIGNALING_VIA_NFKB"
    row = result.iloc[0]
    expected = hypergeom.sf(row["overlap"] - 1, row["background_size"], row["term_size"], row["query_size"])
    assert row["p_value"] == pytest.approx(expected)


@needs_data
def test_hallmarks_are_fifty_sets():
    sets = summarize_gene_sets(read_gene_sets(HALLMARKS))["sets"]
    assert len(sets) == 50
    assert sets["size"].between(30, 200).all()


def test_module_holds_the_three_tools():
    names = {value.tool_spec.name for value in vars(enrichment).values() if hasattr(value, "tool_spec")}
    assert names == {"over_representation", "gsea_preranked", "summarize_gene_sets"}


def test_an_empty_list_is_a_result_and_not_a_failure():
    genes = [f"G{n}" for n in range(40)]
    tested = pd.DataFrame({"feature": genes, "p_value": 0.5, "p_adj": 0.9, "log2_fold_change": 0.1})
    result = over_representation([], {"S": genes[:12]}, tested, label="higher in treated")
    assert list(result["enrichment"]["overlap"]) == [0]
    assert list(result["enrichment"]["p_value"]) == [1.0]
    assert "no gene was selected" in result["findings"][0]["text"]
