"""Plans for questions nobody wrote rules for one by one: wordings, directions, designs and the classic traps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.profile import Profile
from engine.errors import DataError, PlanError
from engine.examples import example_files, examples
from engine.planning.binding.files import methods_named
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools
from engine.toolbox.typecheck import check_plan

GENES = ["DUSP1", "KLF15", "PER1", "FKBP5", "TP53", "MYC", "VCAM1", "ACTB", "GAPDH", "EGFR"]


@pytest.fixture(scope="module")
def planner():
    from engine.adapters.embedding import load_embedder

    return Planner(builtin_tools(), load_embedder("all-MiniLM-L6-v2").embed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("planner")


def counts_file(folder, samples, name="counts.csv", *, values=None):
    rng = np.random.default_rng(1)
    genes = [*GENES, *(f"GENE{n}" for n in range(90))]
    values = rng.negative_binomial(5, 0.05, (len(genes), len(samples))) if values is None else values
    path = folder / name
    pd.DataFrame(values, index=pd.Index(genes, name="gene"), columns=samples).to_csv(path)
    return path


def sheet_file(folder, name="samples.csv", **columns):
    path = folder / name
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def paired(folder):
    samples = [f"s{n}" for n in range(8)]
    files = [
        counts_file(folder, samples),
        sheet_file(folder, id=samples, dex=["control", "treated"] * 4, donor=[f"D{n // 2}" for n in range(8)]),
    ]
    gmt = folder / "sets.gmt"
    gmt.write_text("".join(f"SET_{n}\thttp://x\t" + "\t".join(GENES) + "\n" for n in range(3)))
    return profile_files([*files, gmt])


def node(plan, tool):
    found = [item for item in plan.nodes if item.tool == tool]
    assert found, f"no {tool} in {[item.tool for item in plan.nodes]}"
    return found[0]


WORDINGS = [
    "Which genes change with dexamethasone? The cell lines are paired donors. Then find enriched hallmark pathways.",
    "What does dex do to gene expression? Which pathways are affected?",
    "differentially expressed genes treated vs control accounting for donor, then pathway analysis",
    "wich genes go up or down when cells get dexametasone, pls, and what pathways",
    "Compare expression of treated against control samples and test gene sets",
    "effect of treatment on the transcriptome, and enriched gene sets",
    "Find DEGs between treated and control; run enrichment on hallmarks",
    "Please run DESeq2 for dex and a GSEA afterwards",
    "Are there genes regulated by dex? Use over-representation of the sets for interpretation",
    "How do cells respond transcriptionally to dexamethasone, and what biological processes are involved?",
]


@pytest.mark.parametrize("question", WORDINGS)
def test_every_wording_gives_the_paired_design_and_the_right_direction(planner, paired, question):
    plan = planner.plan(question, paired).plan
    params = node(plan, "differential_expression").params
    assert (params["condition"], params["treated"], params["control"]) == ("dex", "treated", "control")
    assert params["covariates"] == ["donor"]
    assert {item.tool for item in plan.nodes} & {"over_representation", "gsea_preranked"}
    problems = [issue for issue in check_plan(plan, builtin_tools()) if issue.severity == "error"]
    assert [
        issue.code for issue in problems if issue.code != "open_question"
    ] == []  # that the words were vague is asked


@pytest.mark.parametrize("question", WORDINGS)
def test_quality_control_comes_without_being_asked(planner, paired, question):
    tools = [item.tool for item in planner.plan(question, paired).plan.nodes]
    assert tools.index("count_qc") < tools.index("differential_expression")
    assert "sample_pca" in tools


def test_over_representation_uses_the_tested_genes_as_background(planner, paired):
    plan = planner.plan("Which genes change? Over-representation of hallmark sets", paired).plan
    tested = node(plan, "differential_expression").id
    assert node(plan, "over_representation").inputs["background"] == f"{tested}.de_table"


@pytest.mark.parametrize(
    ("question", "treated", "control"),
    [
        ("Which genes are higher in control than in treated?", "control", "treated"),
        ("genes up in treated relative to control", "treated", "control"),
        ("compare control and treated", "treated", "control"),
        ("what changes from control to treated genes", "treated", "control"),
        ("control versus treated differential expression", "control", "treated"),
    ],
)
def test_the_direction_is_the_one_the_words_say(planner, paired, question, treated, control):
    plan = planner.plan(question, paired).plan
    params = node(plan, "differential_expression").params
    assert (params["treated"], params["control"]) == (treated, control)
    if treated == "control":
        assert any(item.param == "control" for item in plan.open_questions), "an unusual direction must be pointed out"


def test_what_pairs_the_samples_is_not_what_is_compared(planner, paired):
    plan = planner.plan("Which genes are up-regulated more than 2-fold in treated, paired by donor?", paired).plan
    params = node(plan, "differential_expression").params
    assert (params["condition"], params["treated"], params["covariates"]) == ("dex", "treated", ["donor"])
    assert node(plan, "select_genes").params["direction"] == "up"


def test_what_pairs_comes_after_what_is_compared_and_is_no_group(planner, paired):
    plan = planner.plan("how many genes go up and how many down with dexamethasone, matched by donor", paired).plan
    params = node(plan, "differential_expression").params
    assert (params["condition"], params["covariates"]) == ("dex", ["donor"])


def test_a_named_gene_is_tested_and_shown(planner, paired):
    plan = planner.plan("is FKBP5 induced by dex?", paired).plan
    assert node(plan, "differential_expression").params["genes_of_interest"] == ["FKBP5"]
    assert node(plan, "gene_expression").params["genes"] == ["FKBP5"]


def test_unpaired_means_no_pairing(planner, paired):
    plan = planner.plan("Differential expression treated vs control, ignore the donors", paired).plan
    assert node(plan, "differential_expression").params.get("covariates", []) == []


def test_thresholds_and_genes_become_parameters(planner, paired):
    plan = planner.plan("Is DUSP1 among genes changed by dex at FDR < 0.01 and at least 2-fold?", paired).plan
    assert node(plan, "differential_expression").params["alpha"] == 0.01
    assert node(plan, "differential_expression").params["genes_of_interest"] == ["DUSP1"]
    assert node(plan, "volcano_plot").params["min_abs_lfc"] == 1.0


def test_a_direction_and_a_size_of_change_become_a_list_of_genes(planner, paired):
    plan = planner.plan(
        "what genes go down in treated relative to control with at least 2-fold and FDR < 0.01", paired
    ).plan
    params = node(plan, "select_genes").params
    assert (params["direction"], params["alpha"], params["min_abs_lfc"]) == ("down", 0.01, 1.0)


def test_missing_gene_sets_are_said_and_the_rest_is_planned(planner, paired):
    plan = planner.plan("Which genes change with dex and which pathways?", paired[:2]).plan
    assert node(plan, "differential_expression")
    assert sum("gene set file" in text for text in [*plan.warnings, *plan.not_answered]) == 1


def test_a_question_about_nothing_is_refused(planner, paired):
    with pytest.raises(PlanError, match=r"cannot answer|names nothing"):
        planner.plan("What is the weather in Berlin?", paired)


def test_no_file_is_refused_with_what_to_add(planner):
    with pytest.raises(PlanError, match="No data file") as caught:
        planner.plan("Which genes change?", [])
    assert "Add the file" in caught.value.advice


def test_unusable_files_are_named(planner, folder):
    empty = folder / "empty.csv"
    empty.write_text("")
    with pytest.raises(DataError, match=r"empty\.csv"):
        planner.plan("Which genes change?", profile_files([empty]))


def test_condition_confounded_with_batch_is_a_warning_and_not_a_covariate(planner, folder):
    samples = [f"s{n}" for n in range(6)]
    data = [
        counts_file(folder, samples, "c1.csv"),
        sheet_file(
            folder, "confounded.csv", sample=samples, condition=["a", "a", "a", "b", "b", "b"], batch=list("112334")
        ),
    ]
    plan = planner.plan("Which genes differ by condition?", profile_files(data)).plan
    assert any("cannot be told apart" in warning for warning in plan.warnings)
    assert "batch" not in node(plan, "differential_expression").params.get("covariates", [])


def test_a_separable_batch_enters_the_design(planner, folder):
    samples = [f"s{n}" for n in range(8)]
    data = [
        counts_file(folder, samples, "c2.csv"),
        sheet_file(folder, "batch.csv", sample=samples, condition=["wt", "ko"] * 4, batch=["A"] * 4 + ["B"] * 4),
    ]
    plan = planner.plan("Which genes differ by condition?", profile_files(data)).plan
    assert node(plan, "differential_expression").params["covariates"] == ["batch"]
    assert node(plan, "differential_expression").params["control"] == "wt"


@pytest.mark.parametrize("groups", [["ctrl", "ctrl", "drug"], ["ctrl", "ctrl", "ctrl", "drug"]])
def test_one_sample_in_a_group_is_too_few(planner, folder, groups):
    samples = [f"s{n}" for n in range(len(groups))]
    data = [
        counts_file(folder, samples, f"few{len(groups)}.csv"),
        sheet_file(folder, f"few{len(groups)}_s.csv", id=samples, group=groups),
    ]
    with pytest.raises(PlanError, match="at least 2 samples"):
        planner.plan("Which genes are differentially expressed, drug vs ctrl?", profile_files(data))


def test_two_samples_are_never_compared(planner, folder):
    data = [
        counts_file(folder, ["s0", "s1"], "two.csv"),
        sheet_file(folder, "two_s.csv", id=["s0", "s1"], group=["ctrl", "drug"]),
    ]
    with pytest.raises(PlanError):
        planner.plan("Which genes change with the drug?", profile_files(data))


def test_two_per_group_is_a_warning(planner, folder):
    samples = ["s0", "s1", "s2", "s3"]
    data = [
        counts_file(folder, samples, "four.csv"),
        sheet_file(folder, "four_s.csv", id=samples, group=["ctrl", "drug"] * 2),
    ]
    plan = planner.plan("Which genes change with the drug?", profile_files(data)).plan
    assert any("only 2" in warning for warning in plan.warnings)


def test_normalised_values_are_not_taken_for_counts(planner, folder):
    samples = [f"s{n}" for n in range(6)]
    values = np.random.default_rng(2).normal(6, 2, (100, 6)).clip(0.1)
    data = [
        counts_file(folder, samples, "log.csv", values=values),
        sheet_file(folder, "log_s.csv", id=samples, group=["ctrl", "drug"] * 3),
    ]
    with pytest.raises(PlanError, match="raw counts"):
        planner.plan("Which genes change with the drug?", profile_files(data))


def test_negative_values_are_not_taken_for_counts(planner, folder):
    samples = [f"s{n}" for n in range(6)]
    values = np.random.default_rng(3).integers(-5, 500, (100, 6))
    data = [
        counts_file(folder, samples, "neg.csv", values=values),
        sheet_file(folder, "neg_s.csv", id=samples, group=["ctrl", "drug"] * 3),
    ]
    with pytest.raises(PlanError, match="raw counts") as caught:
        planner.plan("Which genes change with the drug?", profile_files(data))
    assert "negative" in caught.value.advice


def test_unmatched_samples_are_refused(planner, folder):
    data = [counts_file(folder, ["a1", "a2", "a3", "a4"], "un.csv"),
            sheet_file(folder, "un_s.csv", id=["x1", "x2", "x3", "x4"], group=["ctrl", "drug"] * 2)]  # fmt: skip
    with pytest.raises(PlanError, match="No sample of"):
        planner.plan("Which genes change with the drug?", profile_files(data))


def test_several_possible_conditions_are_asked_about_and_naming_one_settles_it(planner, folder):
    samples = [f"s{n}" for n in range(8)]
    profiles = profile_files(
        [
            counts_file(folder, samples, "amb.csv"),
            sheet_file(
                folder, "amb_s.csv", id=samples, treatment=["ctl", "drug"] * 4, genotype=["wt", "wt", "ko", "ko"] * 2
            ),
        ]
    )
    with pytest.raises(PlanError, match="which groups to compare") as caught:
        planner.plan("Find differentially expressed genes", profiles)
    assert set(caught.value.details["choices"]) == {"treatment", "genotype"}
    plan = planner.plan("Find differentially expressed genes by genotype", profiles).plan
    assert node(plan, "differential_expression").params["control"] == "wt"


def test_the_steps_that_answer_lead_the_summary(planner, paired):
    plan = planner.plan(WORDINGS[0], paired).plan
    assert max(plan.nodes, key=lambda item: item.priority).tool == "differential_expression"


# ==== tables and survival ====


@pytest.fixture(scope="module")
def penguins(folder):
    rng = np.random.default_rng(4)
    rows = 90
    path = folder / "birds.csv"
    pd.DataFrame(
        {
            "species": rng.choice(["Adelie", "Gentoo", "Chinstrap"], rows),
            "island": rng.choice(["Biscoe", "Dream", "Torgersen"], rows),
            "bill_length_mm": rng.normal(44, 5, rows).round(1),
            "bill_depth_mm": rng.normal(17, 2, rows).round(1),
            "flipper_length_mm": rng.normal(200, 14, rows).round(0),
            "body_mass_g": rng.normal(4200, 800, rows).round(0),
            "sex": rng.choice(["male", "female"], rows),
        }
    ).to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize(
    ("question", "tool", "params"),
    [
        ("Is bill length different between species?", "compare_groups", {"value": "bill_length_mm", "group": "species"}),
        ("do males weigh more than females", "compare_groups", {"value": "body_mass_g", "group": "sex"}),
        ("is body mass related to flipper length", "correlation", {"x": "body_mass_g", "y": "flipper_length_mm"}),
        ("how does body mass depend on flipper length and sex", "linear_regression",
         {"outcome": "body_mass_g", "predictors": ["flipper_length_mm", "sex"]}),
        ("how much do flipper length and sex together explain of body mass", "linear_regression",
         {"outcome": "body_mass_g", "predictors": ["flipper_length_mm", "sex"]}),
        ("is species associated with island?", "contingency", {}),
        ("two-way anova of body mass by species and sex", "anova", {"value": "body_mass_g", "factors": ["species", "sex"]}),
        ("effect of species and sex on body mass", "anova", {"value": "body_mass_g", "factors": ["species", "sex"]}),
        ("summarise the data by species", "summarize_table", {"group_by": "species"}),
        ("histogram of flipper length", "histogram", {"column": "flipper_length_mm"}),
        ("scatter plot of bill length against bill depth", "scatter_plot", {"x": "bill_depth_mm", "y": "bill_length_mm"}),
        ("keep only rows where species is Adelie and body_mass_g > 4000", "filter_rows",
         {"condition": "`species` in ['Adelie'] and `body_mass_g` > 4000"}),
        ("spearman correlation of bill depth and body mass", "correlation", {"method": "spearman"}),
    ],
)  # fmt: skip
def test_questions_about_a_table_reach_the_right_tool(planner, penguins, question, tool, params):
    chosen = node(planner.plan(question, penguins).plan, tool)
    assert {key: chosen.params.get(key) for key in params} == params


@pytest.fixture(scope="module")
def trial(folder):
    rng = np.random.default_rng(5)
    rows = 120
    path = folder / "trial.csv"
    pd.DataFrame(
        {
            "arm": rng.choice(["placebo", "drug"], rows),
            "age": rng.integers(30, 80, rows),
            "tgrade": rng.choice(["I", "II", "III"], rows),
            "time": rng.exponential(500, rows).round(0) + 1,
            "status": rng.integers(0, 2, rows),
        }
    ).to_csv(path, index=False)
    return profile_files([path])


def test_survival_between_groups_gets_curves_test_and_hazard_ratio(planner, trial):
    plan = planner.plan("Does the drug prolong survival, adjusted for age and grade?", trial).plan
    assert [item.tool for item in plan.nodes] == ["kaplan_meier", "log_rank", "cox_regression"]
    assert plan.nodes[0].params["group"] == "arm"
    assert plan.nodes[2].params["covariates"] == ["arm", "age", "tgrade"]


def test_survival_without_a_time_column_says_what_is_missing(planner, penguins):
    with pytest.raises(PlanError, match="a time column and an event column"):
        planner.plan("Do females survive longer (Kaplan-Meier)?", penguins)


def test_profiles_alone_decide_nothing_without_words(planner, trial: list[Profile]):
    with pytest.raises(PlanError):
        planner.plan("hello", trial)


# ==== what must not be passed over in silence ====


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Does the drug prolong survival, excluding smokers?", "leaves out"),
        ("Does radiation vs sham change survival?", "Neither 'radiation' nor 'sham'"),
    ],
)
def test_what_the_plan_would_ignore_is_refused(planner, trial, question, words):
    with pytest.raises(PlanError, match=words):
        planner.plan(question, trial)


def test_survival_of_some_patients_is_about_their_rows_alone(planner, trial):
    plan = planner.plan("Does the drug prolong survival, only stage III patients?", trial).plan
    kept = node(plan, "filter_rows")
    assert kept.params["condition"] == "`tgrade` in ['III']"
    steps = [item for item in plan.nodes if item.tool != "filter_rows"]
    assert {item.tool for item in steps} >= {"kaplan_meier", "log_rank"}
    assert {item.inputs["survival"] for item in steps} == {f"{kept.id}.filtered"}


def test_samples_to_be_left_out_are_not_kept_silently(planner, paired):
    plan = planner.plan("Which genes change with dex, excluding sample s3?", paired).plan
    assert node(plan, "filter_rows").params["condition"].endswith("not in ['s3']")
    with pytest.raises(PlanError, match="leaves out"):
        planner.plan("Which genes change with dex, excluding sample s33?", paired)


def test_a_subset_of_a_table_is_filtered_first(planner, penguins):
    plan = planner.plan("are bill length and body mass correlated within Gentoo?", penguins).plan
    assert [item.tool for item in plan.nodes] == ["filter_rows", "correlation"]


def test_codes_for_missing_values_are_not_measurements(planner, folder):
    path = folder / "codes.csv"
    glucose = [*np.random.default_rng(2).normal(100, 9, 18).round(1), -99, -99]
    pd.DataFrame({"sex": ["male", "female"] * 10, "glucose": glucose}).to_csv(path, index=False)
    plan = planner.plan("is glucose different between sexes?", profile_files([path])).plan
    assert plan.nodes[0].params["value"] == "glucose"
    assert any("2 cells ('-99') in column 'glucose' are read as missing" in text for text in plan.warnings)


def test_two_columns_are_not_correlated_when_a_paired_test_is_asked(planner, folder):
    path = folder / "wide.csv"
    rng = np.random.default_rng(6)
    pd.DataFrame({"bp_before": rng.normal(140, 9, 20).round(1), "bp_after": rng.normal(133, 9, 20).round(1)}).to_csv(
        path, index=False
    )
    plan = planner.plan("paired t-test of bp after against bp before", profile_files([path])).plan
    assert len(plan.nodes) == 1
    assert plan.nodes[0].tool != "correlation"
    assert (plan.nodes[0].params["first"], plan.nodes[0].params["second"]) == ("bp_after", "bp_before")


def test_running_numbers_are_not_measurements(planner, folder):
    path = folder / "numbered.csv"
    pd.DataFrame({"mouse #": range(1, 21), "arm": ["a", "b"] * 10, "weight": np.arange(20) % 7 + 20.5}).to_csv(
        path, index=False
    )
    plan = planner.plan("compare cholesterol between a and b", profile_files([path])).plan
    assert all("mouse #" not in item.params.values() for item in plan.nodes)
    assert any("cholesterol" in question.text and question.required for question in plan.open_questions)


@pytest.fixture(scope="module")
def visits(folder):
    """24 mice on two diets weighed three times, with a semicolon, decimal commas and a blank after a level."""
    rng = np.random.default_rng(3)
    lines = ["Mouse ID ;Diet;Week;body wt (g)"]
    for mouse in range(24):
        for week in (0, 4, 8):
            grams = 22 + rng.normal(0, 1.5) + (0.5 if mouse % 2 else 0.2) * week
            lines.append(f"M{mouse:02d};{'HFD' if mouse % 2 else 'chow '};{week};{grams:.1f}".replace(".", ","))
    path = folder / "mice.csv"
    path.write_text("\n".join(lines))
    return profile_files([path])


def test_how_fast_something_changes_is_an_interaction_with_time(planner, visits):
    plan = planner.plan("does body weight rise faster on HFD than on chow", visits).plan
    model = node(plan, "mixed_model")
    assert model.params["interaction"] is True
    assert model.params["fixed"] == ["Diet", "Week"]
    assert model.params["outcome"] == "body wt (g)"


def test_what_is_the_same_in_all_rows_of_a_subject_is_not_what_a_model_of_them_explains(planner, visits):
    plan = planner.plan(
        "is body weight different between the diets over the weeks", visits, analysis="mixed_model"
    ).plan
    assert node(plan, "mixed_model").params["outcome"] == "body wt (g)"
    plan = planner.plan("mixed model of the diet in the mice by week", visits).plan
    assert node(plan, "mixed_model").params["outcome"] not in ("Diet", "Week")


# ==== whom a question is about, and what is only proposed ====


@pytest.fixture(scope="module")
def wards(folder):
    """Falls on wards that are numbered, over two years; a card of every person with tests whose names say little."""
    rng = np.random.default_rng(5)
    falls = sheet_file(
        folder, "falls.csv", ward=[n % 6 + 1 for n in range(72)], staff=rng.normal(8, 2, 72).round(1).tolist(),
        bed_days=rng.integers(400, 900, 72).tolist(), falls=rng.poisson(4, 72).tolist(),
    )  # fmt: skip
    ages, sick = rng.normal(60, 9, 120).round(0), rng.random(120) < 0.4
    cards = sheet_file(
        folder, "cards.csv", person=[f"P{n:03d}" for n in range(120)], age=ages.tolist(),
        crp=(rng.normal(20, 6, 120) + 12 * sick).round(1).tolist(), sepsis_confirmed=np.where(sick, "yes", "no").tolist(),
        sex=np.where(rng.random(120) < 0.5, "f", "m").tolist(),
    )  # fmt: skip
    return profile_files([falls]), profile_files([cards])


def test_numbers_of_what_was_observed_explain_nothing(planner, wards):
    plan = planner.plan("Do better staffed wards have fewer falls per bed day?", wards[0], analysis="count_regression")
    assert node(plan.plan, "count_regression").params["predictors"] == ["staff"]


def test_rows_that_do_not_repeat_are_no_clusters(planner, wards):
    plan = planner.plan("Can age and CRP tell the sexes of the persons apart?", wards[1], analysis="classify").plan
    assert not node(plan, "classify").params.get("subject")


def test_a_column_that_no_word_surely_names_is_proposed_by_meaning_and_waited_for(planner, wards):
    plan = planner.plan("How well does crp tell the feverish from the others: ROC curve", wards[1]).plan
    asked = next(q for q in plan.open_questions if q.param == "outcome")
    assert asked.blocking
    assert asked.choices[0] == asked.proposed == "sepsis_confirmed"
    assert "'feverish'" in asked.text
    waiting = [i.code for i in check_plan(plan, builtin_tools()) if i.severity == "error"]
    assert "open_question" in waiting
    first = node(plan, "roc_curve")
    chosen = first.model_copy(update={"settled": {**first.settled, "outcome": "edit"}})
    answered = plan.model_copy(update={"nodes": [chosen if n.id == first.id else n for n in plan.nodes]})
    assert asked.text not in [issue.message for issue in check_plan(answered, builtin_tools())]


def test_of_a_matrix_the_samples_that_are_asked_about_are_kept_in_the_list_and_in_the_matrix(planner, paired):
    plan = planner.plan("heatmap of the top 40 genes, treated samples only", paired).plan
    assert node(plan, "filter_rows").params["condition"] == "`dex` in ['treated']"
    kept = node(plan, "keep_samples")
    assert node(plan, "expression_heatmap").inputs["samples"] == f"{kept.id}.samples"
    assert node(plan, "normalize_counts").inputs["counts"] == f"{kept.id}.kept"


def test_replicates_that_one_word_names_are_all_taken(planner, folder):
    hours = np.arange(0, 12, 0.5)
    wells = {f"{strain}_{n}": 0.05 * 2 ** (rate * hours) / (1 + 0.05 * 2 ** (rate * hours)) + 0.001 * n
             for strain, rate in (("WT", 1.2), ("dhfr", 0.7)) for n in (1, 2, 3)}  # fmt: skip
    file = sheet_file(folder, "plate.csv", time_h=hours.tolist(), **{k: v.round(4).tolist() for k, v in wells.items()})
    plan = planner.plan("maximum growth rate and lag time of WT", profile_files([file])).plan
    assert node(plan, "growth_rate").params["wells"] == ["WT_1", "WT_2", "WT_3"]


def test_a_method_that_several_tools_are_called_by_names_them_all():
    named = methods_named(builtin_tools(), "PCA, coloured by genotype")
    assert {"sample_pca", "principal_component_analysis"} <= named


def test_the_example_of_the_first_page_is_planned_without_asking(planner, tmp_path):
    for example in examples():
        plan = planner.plan(example.question, profile_files(example_files(example.id, tmp_path / example.id))).plan
        assert [q.text for q in plan.open_questions if q.blocking] == []


@pytest.fixture(scope="module")
def herds(folder):
    rng = np.random.default_rng(3)
    herd = np.repeat("Ash Birch Cedar Elm Fir Hazel Larch Maple Oak Pine Rowan Yew".split(), 20)
    cows = len(herd)
    return profile_files([sheet_file(
        folder, "herds.csv", eartag=rng.permutation(np.arange(50_000, 50_000 + cows)), herd=herd,
        housing=np.repeat(rng.permutation(["free", "tied"] * 6), 20), breed=rng.choice(["Jersey", "Holstein"], cows),
        milk_kg=(25 + rng.normal(0, 3, cows) + np.repeat(rng.normal(0, 2, 12), 20)).round(1),
    )])  # fmt: skip


def test_members_of_a_herd_are_compared_where_the_groups_differ_within_herds(planner, herds):
    plan = planner.plan("Is milk_kg different between Jersey and Holstein cows?", herds).plan
    assert "compare_groups" in {item.tool for item in plan.nodes}
    assert any("'herd'" in text and "alike" in text for text in plan.warnings)


def test_what_was_done_to_whole_herds_is_not_compared_cow_by_cow(planner, herds):
    plan = planner.plan("Is milk_kg different between free and tied housing?", herds).plan
    assert "compare_groups" not in {item.tool for item in plan.nodes}
    assert any(question.id == "analysis" for question in plan.open_questions), "the words ask for another test: say so"


def test_two_readings_of_one_thing_go_together(planner, folder):
    rng = np.random.default_rng(4)
    true = rng.integers(10, 30, 40)
    file = sheet_file(folder, "mms.csv", resident=[f"R{n:03d}" for n in range(40)], ward=rng.choice(["A", "B", "C"], 40),
                      MMS_nurse1=true, MMS_nurse2=true + rng.integers(-2, 3, 40))  # fmt: skip
    plan = planner.plan(
        "two nurses did the MMS on the same resident. inter-rater agreement?", profile_files([file])
    ).plan
    step = node(plan, "agreement")
    assert {step.params["first"], step.params["second"]} == {"MMS_nurse1", "MMS_nurse2"}


def test_of_two_tools_for_one_thing_the_one_that_has_its_file_is_taken(planner, herds):
    assert {item.tool for item in planner.plan("show me an overview", herds).plan.nodes} == {"summarize_table"}


def test_a_question_of_which_the_data_know_no_word_is_not_guessed_at(planner, herds):
    with pytest.raises(PlanError):
        planner.plan("Which unicorns fly?", herds)


def test_a_gain_from_an_occasion_without_a_column_of_its_own_is_not_that_of_the_others(planner, folder):
    rng = np.random.default_rng(8)
    birth = rng.normal(40, 3, 60)
    columns = {"group": ["K", "P", "T"] * 20, "birth_weight": birth.round(1).tolist()}
    for day, gain in ((28, 15), (42, 24), (56, 33)):
        columns[f"weight_day{day}"] = (birth + rng.normal(gain, 4, 60)).round(1).tolist()
    calves = profile_files([sheet_file(folder, "calves.csv", **columns)])

    def made(question: str) -> list[str]:
        try:
            nodes = planner.plan(question, calves).plan.nodes
        except PlanError:
            return []
        return [item.params["expression"] for item in nodes if item.tool == "derive_column"]

    assert made("which group gained more weight from day 28 to 56") == ["`weight_day56` - `weight_day28`"]
    assert "`weight_day56` - `weight_day28`" not in made("which group gained more weight from day 0 to 56")
    assert "`weight_day56` - `weight_day28`" not in made("daily gain 0-56 per group, correct for birth_weight")


@pytest.mark.parametrize(
    "question", ["Who gained more weight, FT or CBT?", "did the girls on FT put on more than those on CBT"]
)
def test_a_gain_of_groups_is_the_difference_of_the_two_occasions(planner, folder, question):
    rng = np.random.default_rng(8)
    before = rng.normal(80, 5, 60)
    file = sheet_file(
        folder, "girls.csv", therapy=["FT", "CBT", "Cont"] * 20, Prewt=before.round(1).tolist(),
        Postwt=(before + rng.normal(3, 4, 60)).round(1).tolist(),
    )  # fmt: skip
    plan = planner.plan(question, profile_files([file])).plan
    assert node(plan, "derive_column").params["expression"] == "`Postwt` - `Prewt`"
    step = node(plan, "compare_groups").params
    assert (step["value"], step["group"], step["treated"], step["control"]) == (
        "Postwt - Prewt",
        "therapy",
        "FT",
        "CBT",
    )


def test_a_surely_named_question_is_asked_about_even_where_other_words_are_strange(planner, wards):
    plan = planner.plan(
        "Respected sir, kindly tell whether crp is more in male duty as compare to female duty", wards[1]
    ).plan
    params = node(plan, "compare_groups").params
    assert (params["value"], params["group"], params["treated"]) == ("crp", "sex", "m")
    assert any(q.required for q in plan.open_questions)


def test_columns_that_no_word_names_are_found_by_what_they_are_called_conventionally(planner, folder):
    rng = np.random.default_rng(9)
    trials = sheet_file(
        folder, "trials.csv", Trial=[f"T{n}" for n in range(12)], lnor=rng.normal(-0.4, 0.2, 12).round(3).tolist(),
        se_lnor=rng.uniform(0.1, 0.4, 12).round(3).tolist(), Year=rng.integers(1990, 2020, 12).tolist(),
    )  # fmt: skip
    plan = planner.plan("Pool all the studies with random effects, I want tau2", profile_files([trials])).plan
    params = node(plan, "meta_analysis").params
    assert (params["effect"], params["error"], params["study"]) == ("lnor", "se_lnor", "Trial")
    wells = sheet_file(
        folder, "wells.csv", Sample=[f"S{n // 4}" for n in range(48)], Target=["Il6", "Hprt"] * 24,
        Inj=["PBS"] * 24 + ["LPS"] * 24, CT=rng.normal(24, 2, 48).round(2).tolist(), Tm=rng.normal(82, 0.3, 48).round(2).tolist(),
    )  # fmt: skip
    plan = planner.plan("il6 fold change LPS over PBS, hprt is the housekeeper", profile_files([wells])).plan
    params = node(plan, "qpcr_relative").params
    assert (params["ct"], params["gene"]) == ("CT", "Target")
    assert (params["group"], params["treated"], params["control"]) == ("Inj", "LPS", "PBS")
