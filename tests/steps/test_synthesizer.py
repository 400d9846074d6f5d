from __future__ import annotations

import re

import pytest
from reporting_run import small_registry, with_failure

from engine.domain.findings import Finding, FindingValue
from engine.domain.plan import OpenQuestion, TaskNode
from engine.domain.profile import Profile
from engine.domain.report import RunView
from engine.domain.results import Issue, NodeResult, RunRecord, Verdict
from engine.reporting.compose import deduplicate, title_of
from engine.reporting.next_steps import next_steps
from engine.reporting.status import headline, status_lines
from engine.steps.synthesizer import synthesize
from engine.toolbox.registry import builtin_tools


@pytest.fixture(scope="module")
def run(small_run):
    return small_run[0]


def test_summary_leads_with_what_was_asked_for(run):
    report = synthesize(run, small_registry())
    assert report.summary[0] == "growth was measured in 40 records of 2 groups."
    assert len(report.summary) == 1  # nothing of another step: that stands with the findings


def test_every_summary_sentence_is_a_finding_word_for_word(run):
    report = synthesize(run, small_registry())
    assert set(report.summary) <= {finding.text for finding in report.findings}


def test_findings_keep_the_tools_words_in_plan_order(run):
    report = synthesize(run, small_registry())
    stated = [f for node in ("n1", "n2", "n3") for f in run.results[node].findings]
    assert report.findings == stated


def test_methods_name_parameters_defaults_units_and_references(run):
    report = synthesize(run, small_registry())
    text = next(step for step in report.methods if step.node == "n1")
    assert "It read the table from growth.csv." in text.text
    assert "Set for this analysis: value (growth) and group ('dose group')." in text.text
    assert "Kept at the default: level (0.95 of 1)." in text.text
    assert report.citations[text.citations[0] - 1].doi == "10.1093/biomet/6.1.1"
    software = report.methods[-1]
    assert f"scipy {run.results['n1'].versions['scipy']}" in software.text
    assert {report.citations[n - 1].doi for n in software.citations} >= {"10.1038/s41592-019-0686-2"}


def test_every_warning_reaches_the_limitations_once(run):
    caveat = Issue(code="odd", severity="warning", message="Two rows are equal.", where="means")
    first = run.results["n1"].model_copy(
        update={"verdict": Verdict(passed=True, quality=0.8, issues=[*run.results["n1"].verdict.issues, caveat])}
    )
    profile = Profile(path="x", name="growth.csv", format="csv", bytes=1, sha256="0", types=[], summary="",
                      warnings=["3 values are missing."])  # fmt: skip
    view = run.model_copy(
        update={
            "results": {**run.results, "n1": first},
            "profiles": [profile],
            "warnings": ["Normality was not tested.", "The clock was wrong."],
        }
    )
    limits = synthesize(view, small_registry()).limitations
    assert limits == [
        "The plate was not recorded.",
        "The clock was wrong.",
        "growth.csv: 3 values are missing.",
        "Growth by dose: Normality was not tested.",
        "Growth by dose: Two rows are equal. (means)",
    ]


def test_what_the_plan_leaves_out_stands_in_the_limitations(run):
    plan = run.plan.model_copy(
        update={"not_answered": ["'site' is named in the question and has no part in this plan."]}
    )
    limits = synthesize(run.model_copy(update={"plan": plan}), small_registry()).limitations
    assert limits[0] == "Not answered: 'site' is named in the question and has no part in this plan."


def test_two_steps_with_the_same_error_are_both_limitations():
    lines = ["Step 'A' (n1) failed: too few samples.", "Step 'B' (n2) failed: too few samples.", "too few samples."]
    assert deduplicate(lines) == lines
    assert deduplicate(["Too few samples", "A: too few samples."]) == ["Too few samples"]


def test_a_failed_step_is_the_first_thing_said(run):
    broken = with_failure(run, small_registry())
    assert status_lines(broken) == [
        "Partial result: 1 of 3 steps finished.",
        "Step 'Logarithm' (n2) failed: Counts must not be negative, found -3.",
        "Step 'Variable genes' (n3) was not run: it needs 'Logarithm'.",
    ]
    report = synthesize(broken, small_registry())
    assert report.summary[0] == "Partial result: 1 of 3 steps finished."
    assert report.limitations[:2] == status_lines(broken)[1:]
    assert "Correct what stopped step 'Logarithm'" in report.next_steps[0]


def test_cancelled_run_says_what_is_missing(run):
    view = run.model_copy(
        update={
            "record": run.record.model_copy(update={"status": "cancelled"}),
            "results": {"n1": run.results["n1"]},
            "report": None,
        }
    )
    assert headline(view) == "The run was cancelled before its end: 1 of 3 steps finished."
    assert "Step 'Logarithm' (n2) was cancelled." in synthesize(view, small_registry()).limitations


def test_status_succeeded_with_a_missing_step_is_not_called_complete(run):
    view = run.model_copy(update={"results": {k: v for k, v in run.results.items() if k != "n3"}})
    assert headline(view) == "Incomplete result: 2 of 3 steps finished."


def test_reused_results_are_said_to_be_reused(run):
    reused = run.results["n1"].model_copy(update={"status": "cached", "from_run": "run_old"})
    view = run.model_copy(update={"results": {**run.results, "n1": reused}})
    assert headline(view) == "All 3 steps finished (1 reused from earlier identical work)."
    text = next(step.text for step in synthesize(view, small_registry()).methods if step.node == "n1")
    assert "reused from run run_old" in text


def test_run_without_a_plan_gets_an_honest_report():
    record = RunRecord(run_id="r", user="u", question="  why? ", status="failed", created_at="2026-11-21T08:00:00Z",
                       error="No tool fits the file")  # fmt: skip
    report = synthesize(RunView(record=record), small_registry())
    assert report.title == "Why"
    assert report.summary == ["The analysis failed: no step was planned.", "No tool fits the file."]
    assert report.limitations == ["No tool fits the file."]


def test_assumptions_name_the_default_that_was_used(run):
    assert synthesize(run, small_registry()).assumptions[-1] == (
        "How many genes? Taken by default: 25 (the question does not say)."
    )
    changed = run.plan.model_copy(
        update={"open_questions": [OpenQuestion(id="q", text="Which?", why="", node="n3", param="number", proposed=7)]}
    )
    view = run.model_copy(update={"plan": changed})
    assert synthesize(view, small_registry()).assumptions[-1] == "Which? Taken as chosen: 25."


def test_titles_keep_gene_names_and_length():
    assert title_of("which genes change ?") == "Which genes change"
    assert title_of("p53 targets?") == "p53 targets"
    assert title_of("miR-21 targets") == "miR-21 targets"
    assert title_of("") == "Analysis"
    assert len(title_of("word " * 100)) <= 123
    assert title_of("word " * 100).endswith("word...")


SHOWN = [FindingValue(name="n_significant", value=1)]


@pytest.mark.parametrize(
    ("values", "params", "replicate"),
    [
        ({"p_value": 0.01}, {}, True),
        ({"p_value": 0.3}, {}, False),
        ({"p_value": 0.01, "p_adj": 0.2}, {}, False),
        ({"p_value": 0.03}, {"alpha": 0.01}, False),
    ],
)
def test_a_replication_is_advised_only_of_an_effect_that_was_found(run, values, params, replicate):
    found = Finding(id="f", node="n1", text="x", values=[FindingValue(name=k, value=v) for k, v in values.items()])
    node = TaskNode(id="n1", name="Compare", tool="compare_groups", params={"value": "weight", **params})
    result = NodeResult(node="n1", tool=node.tool, status="succeeded", findings=[found], params=node.params)
    plan = run.plan.model_copy(update={"nodes": [node]})
    (advice,) = next_steps(run.model_copy(update={"plan": plan, "results": {"n1": result}}), builtin_tools())
    assert ("Plan a replication of the effect on weight" in advice) is replicate
    assert ("which differences in weight are still possible" in advice) is not replicate


def test_next_steps_name_the_genes_of_this_run(run):
    node = run.plan.nodes[0].model_copy(
        update={"tool": "differential_expression", "params": {"treated": "dex", "control": "none", "covariates": ["d"]}}
    )
    finding = Finding(id="f", node="n1", text="DUSP1 (ENSG00000120129) is higher in dex than in none.",
                      artifact="t.csv", row={"feature": "ENSG00000120129"}, values=SHOWN)  # fmt: skip
    result = NodeResult(node="n1", tool=node.tool, status="succeeded", findings=[finding], params=node.params)
    plan = run.plan.model_copy(update={"nodes": [node]})
    advice = next_steps(run.model_copy(update={"plan": plan, "results": {"n1": result}}), builtin_tools())
    assert "Confirm DUSP1 by RT-qPCR in samples that were not part of this experiment (dex against none)." in advice
    assert any("lfc_threshold 1" in text for text in advice)
    assert not any("among the covariates" in text for text in advice)


def test_advice_that_this_run_cannot_fill_or_has_followed_is_not_given(run):
    def advice(tool, others=(), findings=(), **params):
        nodes = [TaskNode(id=f"n{k}", name=name, tool=name, params=params) for k, name in enumerate([tool, *others])]
        results = {
            node.id: NodeResult(
                node=node.id, tool=node.tool, status="succeeded", params=params, findings=list(findings)
            )
            for node in nodes
        }
        plan = run.plan.model_copy(update={"nodes": nodes})
        return next_steps(run.model_copy(update={"plan": plan, "results": results}), builtin_tools())

    assert any("Fit a Cox model (cox_regression) with arm and" in text for text in advice("log_rank", group="arm"))
    assert not any("Cox model" in text for text in advice("log_rank", ["cox_regression"], group="arm"))
    assert not any("Cox model" in text for text in advice("kaplan_meier", group=""))
    named = Finding(id="f", node="n0", text="MYC targets", row={"term_name": "MYC targets"}, values=SHOWN)
    assert any("leading-edge genes of MYC targets before" in text for text in advice("gsea_preranked", [], [named]))
    assert not any("leading-edge" in text for text in advice("gsea_preranked"))
    assert advice("no_such_tool") == ["Repeat the analysis on an independent data set before relying on the result."]


def test_every_declared_repair_and_next_step_can_be_carried_out():
    from engine.reporting.next_steps import PLACEHOLDER
    from engine.toolbox.typecheck import param_problem

    specs = {spec.name: spec for spec in builtin_tools()}
    # Each tool whose rules stood in a table of its own before has kept them.
    for name in ("cox_regression", "normalize_counts", "gsea_preranked", "over_representation"):
        assert specs[name].repairs
    for name in ("differential_expression", "sc_pseudobulk_de", "sc_cluster", "kaplan_meier", "anova", "correlation"):
        assert specs[name].next_steps
    for spec in specs.values():
        for fix in spec.repairs:
            re.compile(fix.pattern)
            for name, value in fix.change.items():
                param = spec.param(name)
                assert param is not None, (spec.name, name)
                assert not param_problem(param, value), (spec.name, name, value)
        for step in spec.next_steps:
            named = {match[2] for match in PLACEHOLDER.finditer(step.text)} | {step.unless_param, step.needs_param}
            assert all(spec.param(name) for name in named if name), (spec.name, named)
            assert not step.unless_tool or step.unless_tool in specs, (spec.name, step.unless_tool)
            assert not re.search(r"[{}]", PLACEHOLDER.sub("", step.text)), (spec.name, step.text)


def test_summary_prefers_the_step_the_question_asks_for(run):
    record = run.record.model_copy(update={"question": "Which variable genes stand out?"})
    report = synthesize(run.model_copy(update={"record": record}), small_registry())
    assert report.summary[0].startswith("gene1 varies most")
    assert all("transformed" not in sentence for sentence in report.summary)  # preparation is not an answer


def test_a_step_that_only_draws_names_the_table_it_drew(run):
    first = run.results["n1"]
    figure = first.artifacts[1].model_copy(update={"node": "n3", "name": "n3_plot.png"})
    drawn = run.results["n3"].model_copy(update={"artifacts": [figure], "findings": []})
    report = synthesize(run.model_copy(update={"results": {**run.results, "n3": drawn}}), small_registry())
    assert [(f.artifact.name, f.table) for f in report.figures] == [
        ("n1_means_plot.png", "n1_means.csv"),
        ("n3_plot.png", "n2_expression.csv"),
    ]
