"""Plans for gene lists, rankings, results, single cells and survival: which file is what, chains, and refusals."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.toolbox.enrichment.sets import over_representation
from engine.toolbox.registry import builtin_tools

ALL = ["TP53", "MYC", "EGFR", "KRAS", "BRCA1", "BRCA2", "PTEN", "RB1", "CDK4", "CCND1", "VEGFA", "HIF1A", "FOS", "JUN"]
ALL += "CD4 CD8A IL6 IL2 TNF IFNG STAT1 STAT3 JAK1 JAK2 AKT1 MTOR PIK3CA NRAS BRAF RAF1 MAPK1 MAPK3 ATM ATR CHEK1 CHEK2".split()
ALL += "GAPDH ACTB ALB INS GCG APOE APP PSEN1 SNCA HTT CFTR DMD HBB HBA1 F8 F9 LDLR PCSK9 LEP LEPR ESR1 AR PGR ERBB2".split()
ALL += "CDH1 CDH2 VIM SNAI1 TWIST1 ZEB1 NOTCH1 WNT1 AXIN2 APC SMAD2 SMAD4 SOX2 NANOG KLF4 PAX6 GATA1 RUNX1 FLT3 KIT".split()


@pytest.fixture(scope="module")
def planner():
    from engine.adapters.embedding import load_embedder

    return Planner(builtin_tools(), load_embedder("all-MiniLM-L6-v2").embed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("genes")
    rng = np.random.default_rng(3)
    files = {"hits": ALL[:20], "list_a": ALL[:20], "list_b": ALL, "measured": ALL, "up": ALL[:15], "down": ALL[15:30]}
    for name, genes in files.items():
        (path / f"{name}.txt").write_text("\n".join(genes) + "\n")
    (path / "sets.gmt").write_text(
        "".join(f"SET_{n}\thttp://x\t" + "\t".join(ALL[n : n + 30]) + "\n" for n in range(4))
    )
    scores = sorted(rng.normal(0, 2, len(ALL)), reverse=True)
    (path / "ranking.rnk").write_text(
        "".join(f"{gene}\t{score:.4f}\n" for gene, score in zip(ALL, scores, strict=True))
    )
    pd.DataFrame({"gene": ALL, "score": scores}).to_csv(path / "ranking.csv", index=False)
    table = {"gene": ALL, "log2FoldChange": scores, "pvalue": rng.uniform(0, 1, len(ALL))}
    pd.DataFrame({**table, "padj": table["pvalue"]}).to_csv(path / "de.csv", index=False)
    return path


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    anndata = pytest.importorskip("anndata")
    path, rng, rows = tmp_path_factory.mktemp("cells"), np.random.default_rng(0), 240
    genes = ["CD3D", "MS4A1", "CD14", "LYZ", "NKG7", *(f"GENE{n}" for n in range(60))]
    counts = rng.negative_binomial(2, 0.2, (rows, len(genes))).astype(np.float32)
    donor = np.array([f"P{n % 6}" for n in range(rows)])
    obs = pd.DataFrame(
        {"donor": donor, "cell_type": rng.choice(["T cell", "B cell", "Monocyte"], rows)}, dtype="category"
    )
    obs["condition"] = pd.Categorical(np.where(np.isin(donor, ["P0", "P1", "P2"]), "control", "stimulated"))
    obs.index = [f"c{n}" for n in range(rows)]
    for name, columns in (("full", list(obs)), ("no_donors", ["cell_type", "condition"]), ("plain", [])):
        anndata.AnnData(counts, obs=obs[columns].copy(), var=pd.DataFrame(index=genes)).write_h5ad(
            path / f"{name}.h5ad"
        )
    return path


def steps(planner, question, *paths):
    plan = planner.plan(question, profile_files(list(paths))).plan
    return plan, {node.tool: node for node in plan.nodes}


# ==== gene lists, rankings, results ====


@pytest.mark.parametrize(
    ("question", "genes", "background"),
    [
        ("Which sets are enriched among the hits, with measured.txt as background?", "hits", "measured"),
        ("pathway enrichment of list_a, with list_b as the universe", "list_a", "list_b"),
        ("Which pathways are in list_a? list_b holds all genes that were tested", "list_a", "list_b"),
        ("Which gene sets are over-represented? All genes on the array are in the second file", "list_a", "list_b"),
    ],
)  # fmt: skip
def test_two_lists_are_told_apart_by_what_is_said_of_them(planner, folder, question, genes, background):
    files = [folder / f"{name}.txt" for name in (genes, background)]
    for order in (files, files[::-1]):
        plan, found = steps(planner, question, *order, folder / "sets.gmt")
        inputs = found["over_representation"].inputs
        assert (inputs["genes"], inputs["background_list"]) == (f"data:{genes}.txt", f"data:{background}.txt")
        assert [q.id for q in plan.open_questions if "background" in q.text] == []


def test_a_list_that_contains_the_other_is_proposed_as_background_and_asked(planner, folder):
    plan, found = steps(
        planner, "pathway enrichment please", folder / "list_b.txt", folder / "list_a.txt", folder / "sets.gmt"
    )
    assert found["over_representation"].inputs["background_list"] == "data:list_b.txt"
    asked = next(q for q in plan.open_questions if "background" in q.text)
    assert asked.proposed == "list_b.txt"
    assert asked.required


def test_two_lists_neither_of_which_is_a_background_are_both_tested(planner, folder):
    plan, _ = steps(
        planner, "pathway enrichment of these two lists", folder / "up.txt", folder / "down.txt", folder / "sets.gmt"
    )
    tested = [(node.inputs["genes"], node.params["label"]) for node in plan.nodes if node.tool == "over_representation"]
    assert tested == [("data:up.txt", "up"), ("data:down.txt", "down")]
    assert all("background_list" not in node.inputs for node in plan.nodes)


def test_results_are_tested_up_and_down_against_all_that_was_tested(planner, folder):
    plan, _ = steps(planner, "Which pathways are enriched in these results?", folder / "de.csv", folder / "sets.gmt")
    by_id = {node.id: node for node in plan.nodes}
    tested = [node for node in plan.nodes if node.tool == "over_representation"]
    assert [by_id[node.inputs["genes"].split(".")[0]].params["direction"] for node in tested] == ["up", "down"]
    assert {node.inputs["background"] for node in tested} == {"data:de.csv"}
    assert {"rank_genes", "gsea_preranked"} <= {node.tool for node in plan.nodes}


@pytest.mark.parametrize("name", ["ranking.rnk", "ranking.csv"])
@pytest.mark.parametrize("question", ["GSEA of this ranking", "gene set enrichment of my ranked genes"])
def test_a_ranking_with_and_without_header_goes_to_gsea(planner, folder, name, question):
    _, found = steps(planner, question, folder / name, folder / "sets.gmt")
    assert set(found) == {"gsea_preranked"}


def test_a_list_without_gene_sets_is_refused_with_what_is_missing(planner, folder):
    with pytest.raises(PlanError, match="gene set file"):
        steps(planner, "Which pathways are enriched in my list?", folder / "hits.txt")


def test_a_file_that_is_not_used_is_named(planner, folder):
    plan, found = steps(planner, "volcano plot please", folder / "de.csv", folder / "sets.gmt")
    assert "volcano_plot" in found
    assert any("sets.gmt was not used" in text for text in plan.warnings)


def test_a_list_as_background_gives_the_hypergeometric_numbers():
    # Drawing 10 of 40 genes, 8 of which are in the set, and finding 5: computed by counting, not by the tool's formula.
    from math import comb

    genes = ALL[:40]
    sets, query = {"SET": [*genes[:8], "ELSEWHERE"]}, [*genes[:5], *genes[20:25], "NOT_TESTED"]
    result = over_representation(query, sets, None, genes, min_size=1)
    row = result["enrichment"].iloc[0]
    expected = sum(comb(8, k) * comb(32, 10 - k) for k in range(5, 9)) / comb(40, 10)
    assert (row["overlap"], row["term_size"], row["query_size"], row["background_size"]) == (5, 8, 10, 40)
    assert row["p_value"] == pytest.approx(expected, rel=1e-9)
    assert any("NOT_TESTED" in text for text in result["warnings"])


def test_a_list_and_a_table_as_background_agree():
    rng = random.Random(4)
    sets = {f"SET_{n}": rng.sample(ALL, 20) for n in range(6)}
    table = pd.DataFrame({"feature": ALL, "log2_fold_change": 0.0, "p_value": 0.5, "p_adj": 0.5})
    by_list, by_table = (
        over_representation(ALL[:15], sets, *given)["enrichment"] for given in ((None, ALL), (table, None))
    )
    pd.testing.assert_frame_equal(by_list, by_table)


# ==== cells ====


def test_types_of_plain_cells_take_the_whole_chain_in_order(planner, cells):
    plan, _ = steps(planner, "Which cell types are in these data?", cells / "plain.h5ad")
    chain = ["sc_qc", "sc_normalize", "sc_highly_variable", "sc_embed", "sc_cluster", "sc_annotate"]
    assert [node.tool for node in plan.nodes] == chain
    assert all(
        later.inputs["adata"] == f"{earlier.id}.adata"
        for earlier, later in zip(plan.nodes, plan.nodes[1:], strict=False)
    )


def test_what_the_words_say_of_a_step_on_the_way_is_kept(planner, cells):
    _, found = steps(planner, "Find the marker genes of clusters at resolution 0.5", cells / "plain.h5ad")
    assert found["sc_cluster"].params["resolution"] == 0.5
    assert found["sc_markers"].params["group_by"] == "cluster"


def test_labels_that_are_there_are_not_made_again(planner, cells):
    plan, found = steps(planner, "What are the marker genes of each cell type?", cells / "full.h5ad")
    assert found["sc_markers"].params["group_by"] == "cell_type"
    assert not {"sc_cluster", "sc_annotate"} & set(found)
    assert any("taken literally" in text for text in plan.warnings)


def test_two_named_kinds_are_compared_with_each_other(planner, cells):
    _, found = steps(planner, "Which marker genes distinguish Monocyte from B cell?", cells / "full.h5ad")
    params = found["sc_markers"].params
    assert (params["group_by"], params["groups"], params["reference"]) == ("cell_type", ["Monocyte"], "B cell")


def test_conditions_are_compared_with_donors_as_replicates(planner, cells):
    _, found = steps(planner, "Which genes change in stimulated vs control cells?", cells / "full.h5ad")
    params = found["sc_pseudobulk_de"].params
    assert [params[key] for key in ("condition", "treated", "control", "sample_key")] == [
        "condition",
        "stimulated",
        "control",
        "donor",
    ]


def test_conditions_without_donors_are_refused(planner, cells):
    with pytest.raises(PlanError, match="not replicates"):
        steps(planner, "Which genes change in stimulated vs control cells?", cells / "no_donors.h5ad")


def test_shares_of_kinds_are_compared_between_conditions(planner, cells):
    _, found = steps(
        planner, "Do the proportions of cell types differ between stimulated and control?", cells / "full.h5ad"
    )
    params = found["sc_composition"].params
    assert [params[key] for key in ("group_by", "condition", "sample_key")] == ["cell_type", "condition", "donor"]


def test_a_gene_in_one_kind_is_shown_in_all_and_said_so(planner, cells):
    plan, found = steps(planner, "Is LYZ expressed in monocytes?", cells / "full.h5ad")
    assert found["sc_gene_expression"].params["genes"] == ["LYZ"]
    assert found["sc_gene_expression"].params["group_by"] == "cell_type"
    assert any("Monocyte" in text for text in plan.notes)


def test_quality_alone_stays_quality(planner, cells):
    _, found = steps(planner, "filter bad cells with more than 10% mitochondrial reads", cells / "plain.h5ad")
    assert set(found) == {"sc_qc"}
    assert found["sc_qc"].params["max_mito_percent"] == 10


# ==== survival ====


@pytest.fixture(scope="module")
def rossi(tmp_path_factory):
    datasets = pytest.importorskip("lifelines.datasets")
    path = tmp_path_factory.mktemp("survival") / "rossi.csv"
    datasets.load_rossi().to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("question", "tools", "group"),
    [
        ("plot survival curves by race", ["kaplan_meier", "log_rank"], "race"),
        ("Is time to arrest different by fin, log-rank test?", ["kaplan_meier", "log_rank"], "fin"),
        ("Do those with fin 1 differ in time to arrest by log-rank?", ["kaplan_meier", "log_rank"], "fin"),
        ("hazard ratio of fin adjusted for age and prio", ["kaplan_meier", "log_rank", "cox_regression"], "fin"),
    ],
)
def test_curves_come_with_a_test_and_a_test_with_curves(planner, rossi, question, tools, group):
    plan, found = steps(planner, question, rossi)
    assert [node.tool for node in plan.nodes] == tools
    assert {found[tool].params["group"] for tool in tools[:2]} == {group}


def test_covariates_stand_in_the_order_named(planner, rossi):
    _, found = steps(planner, "Cox regression: hazard of fin, adjusted for prio and age", rossi)
    assert found["cox_regression"].params["covariates"] == ["fin", "prio", "age"]


def test_which_factors_takes_every_column_that_can_be_one(planner, rossi):
    _, found = steps(planner, "Which factors are associated with time to arrest, Cox model?", rossi)
    assert found["cox_regression"].params["covariates"] == ["fin", "age", "race", "wexp", "mar", "paro", "prio"]
