"""Questions on tables of taxa: the analysis that is meant, its groups, and the cage that samples share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

GENERA = [
    "Bacteroides", "Alistipes", "Muribaculum", "Blautia", "Roseburia", "Akkermansia", "Lactobacillus", "Bilophila",
    "Turicibacter", "Oscillibacter", "Parabacteroides", "Ruminococcus",
]  # fmt: skip


@pytest.fixture(scope="module")
def planner():
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def mice(tmp_path_factory):
    """24 mice in 8 cages of one diet each, one of them in another spelling of it."""
    folder, chance = tmp_path_factory.mktemp("mice"), np.random.default_rng(2)
    names = [f"K{n:02d}" for n in range(24)]
    diet = ["fibre" if n // 3 % 2 else "standard" for n in range(24)]
    diet[4] = "Fibre"
    sheet = pd.DataFrame(
        {"mouse": names, "diet": diet, "cage": [f"c{n // 3}" for n in range(24)], "sex": ["F", "M"] * 12}
    )
    sheet["weight_g"] = chance.normal(27, 3, 24).round(1)
    sheet.to_csv(folder / "mice.csv", index=False)
    counts = pd.DataFrame(chance.negative_binomial(2, 0.005, (12, 24)), index=GENERA, columns=names)
    counts.index.name = "Genus"
    counts.to_csv(folder / "genera.tsv", sep="\t")
    return profile_files([folder / "genera.tsv", folder / "mice.csv"])


@pytest.fixture(scope="module")
def traps(tmp_path_factory):
    """Beetles in the columns of one file, with the habitat of each trap beside them."""
    folder, chance = tmp_path_factory.mktemp("traps"), np.random.default_rng(2)
    taxa = [
        "Carabus nemoralis",
        "Abax parallelus",
        "Poecilus cupreus",
        "Amara aenea",
        "Harpalus rufipes",
        "Nebria brevicollis",
    ]
    frame = pd.DataFrame(chance.poisson(6, (20, 6)), columns=taxa)
    frame.insert(0, "trap", [f"T{n:02d}" for n in range(20)])
    frame["habitat"] = ["wood", "field"] * 10
    frame.to_csv(folder / "traps.csv", index=False)
    return profile_files([folder / "traps.csv"])


def answer(planner, question, files):
    plan = planner.plan(question, files).plan
    assert not any(asked.blocking for asked in plan.open_questions), plan.open_questions
    return plan, max(plan.nodes, key=lambda node: node.priority)


@pytest.mark.parametrize(
    ("question", "tool", "params"),
    [
        ("Shannon diversity by diet, 3 mice a cage", "alpha_diversity", {"group": "diet", "unit": "cage", "index": "shannon"}),
        ("Shannon by diet? all mice, several to a cage", "alpha_diversity", {"treated": "fibre", "control": "standard"}),
        ("Chao1 and richness per mouse, compare diet", "alpha_diversity", {"index": "chao1", "group": "diet"}),
        ("Is the flora of fibre mice less diverse than that of standard mice?", "alpha_diversity", {"group": "diet"}),
        ("which genera differ between fibre and standard, FDR < 10 %, cage taken into account", "differential_abundance",
         {"group": "diet", "unit": "cage", "treated": "fibre", "control": "standard", "alpha": 0.1}),
        ("What are the three most abundant genera of each diet, and in how many mice is Akkermansia number one?",
         "community_composition", {"group": "diet", "most": 3, "of_interest": ["Akkermansia"]}),
        ("which bacteria go up with fibre? (cage!!)", "differential_abundance",
         {"group": "diet", "unit": "cage", "treated": "fibre", "direction": "up"}),
        ("top 4 genera by diet", "community_composition", {"group": "diet", "most": 4}),
        ("Do the gut communities differ between the diets, PERMANOVA with cages", "permanova", {"group": "diet", "unit": "cage"}),
        ("PCoA of the mice on Bray-Curtis, coloured by diet", "ordination", {"group": "diet", "metric": "bray_curtis"}),
    ],
)  # fmt: skip
def test_a_question_is_planned_with_its_groups_and_the_cage(planner, mice, question, tool, params):
    plan, node = answer(planner, question, mice)
    assert node.tool == tool
    assert {key: node.params.get(key) for key in params} == params
    assert node.inputs == {"taxa": "data:genera.tsv", "samples": "data:mice.csv"}
    assert not plan.not_answered


def test_a_mouse_that_is_left_out_is_left_out_of_table_and_list(planner, mice):
    plan, node = answer(planner, "Which genera differ between fibre and standard? Leave out K05", mice)
    tools = [one.tool for one in plan.nodes]
    assert tools == ["filter_rows", "keep_samples_of_taxa", "differential_abundance"]
    kept = plan.nodes[1].id
    assert node.inputs == {"taxa": f"{kept}.kept", "samples": f"{kept}.samples"}
    assert plan.nodes[0].params["condition"] == "`mouse` not in ['K05']"


def test_taxa_are_not_compared_as_reads_of_genes_unless_that_is_asked(planner, mice):
    vague = planner.plan("What differs between fibre and standard?", mice).plan
    assert [chosen.id for chosen in vague.analysis] == ["differential_abundance"]
    named = planner.plan("DESeq2: which genera differ between fibre and standard?", mice).plan
    assert "differential_expression" in {node.tool for node in named.nodes} | {one.id for one in named.alternatives}


def test_a_taxon_in_small_letters_is_told_of(planner, mice):
    _, node = answer(planner, "which genera change with fibre against standard, akkermansia too?", mice)
    assert node.params["of_interest"] == ["akkermansia"]


def test_how_abundant_something_is_asks_for_no_weight(planner, mice):
    plan, _ = answer(planner, "most abundant genera by diet", mice)
    assert all(span.value != "weight_g" for span in plan.understood)


@pytest.mark.parametrize(
    ("question", "tool", "params"),
    [
        ("Shannon by habitat", "alpha_diversity", {"group": "habitat"}),
        ("top 2 species in each habitat", "community_composition", {"group": "habitat", "most": 2}),
        ("do the communities differ between wood and field, permanova", "permanova", {"group": "habitat"}),
    ],
)
def test_one_file_may_be_taxa_and_list_of_samples(planner, traps, question, tool, params):
    _, node = answer(planner, question, traps)
    assert node.tool == tool
    assert {key: node.params.get(key) for key in params} == params


def test_samples_of_one_file_are_left_out_too(planner, traps):
    plan, node = answer(planner, "Shannon by habitat, leave out T03", traps)
    assert [one.tool for one in plan.nodes] == ["filter_rows", "keep_samples_of_taxa", "alpha_diversity"]
    assert node.inputs["samples"].endswith(".samples")


@pytest.fixture(scope="module")
def plots(tmp_path_factory):
    """OTUs with lineages; three treatments, each in all five blocks."""
    folder, chance = tmp_path_factory.mktemp("plots"), np.random.default_rng(4)
    names = [f"P{n:02d}" for n in range(30)]
    counts = pd.DataFrame(
        chance.negative_binomial(2, 0.02, (40, 30)), index=[f"OTU_{n}" for n in range(40)], columns=names
    )
    counts.index.name = "#OTU ID"
    counts["taxonomy"] = [f"k__Bacteria; p__P{n % 4}; g__G{n % 9}" for n in range(40)]
    counts.to_csv(folder / "otus.tsv", sep="\t")
    sheet = pd.DataFrame({"plot": names, "treatment": np.repeat(["control", "compost", "biochar"], 10)})
    sheet["block"], sheet["pH"] = [f"B{n % 5}" for n in range(30)], chance.normal(6, 0.4, 30).round(2)
    sheet.to_csv(folder / "plots.csv", index=False)
    return profile_files([folder / "otus.tsv", folder / "plots.csv"])


@pytest.mark.parametrize(
    ("question", "tool", "params"),
    [
        ("does biochar have another community than control? permanova within blocks", "permanova",
         {"unit": "block", "treated": "biochar", "control": "control"}),
        ("which genera differ between compost and control, block held constant", "differential_abundance",
         {"unit": "block", "rank": "genus"}),
        ("which phyla change with compost vs control", "differential_abundance", {"rank": "phylum", "unit": None}),
        ("the 3 most abundant phyla in every treatment", "community_composition", {"rank": "phylum", "most": 3}),
        ("is evenness lower with compost than with control", "alpha_diversity", {"index": "evenness"}),
    ],
)  # fmt: skip
def test_ranks_are_read_and_a_block_that_is_named_holds_its_plots_together(planner, plots, question, tool, params):
    plan = planner.plan(question, plots).plan
    node = max(plan.nodes, key=lambda one: one.priority)
    assert node.tool == tool
    assert {key: node.params.get(key) for key in params} == params
    assert not plan.not_answered


def test_otus_by_name_are_no_list_of_genes(planner, plots):
    plan = planner.plan("which OTUs differ compost / control at FDR 0.1, give direction", plots).plan
    assert [chosen.id for chosen in plan.analysis] == ["differential_abundance"]


def test_a_block_that_is_not_named_is_left_aside(planner, plots):
    plan = planner.plan("PERMANOVA of the treatments", plots).plan
    assert plan.nodes[-1].params.get("unit") is None
