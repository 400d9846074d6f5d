"""What a careful colleague would do next, given what was done and what came out.

Each rule looks at one kind of analysis and speaks only when its advice applies: it names the genes, groups
and settings of this run. Advice that would suit any analysis is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from engine.domain.findings import Finding
from engine.domain.plan import TaskNode
from engine.domain.results import NodeResult
from engine.domain.run_view import RunView
from engine.reporting.status import DONE, done_nodes, planned

_NAME_COLUMNS = ("symbol", "term_name", "gene", "feature", "term_id", "term")
_Rule = Callable[[TaskNode, NodeResult, set[str]], Iterator[str]]


def next_steps(view: RunView) -> list[str]:
    """Return what to do next, most urgent first: what failed, then what would make the result firmer."""
    advice = list(_after_failure(view))
    done = done_nodes(view)
    tools = {node.tool for node, _ in done}
    for node, result in done:
        for rule in _RULES.get(node.tool, ()):
            advice.extend(rule(node, result, tools))
    if done and not advice:
        advice.append("Repeat the analysis on an independent data set before relying on the result.")
    return list(dict.fromkeys(advice))


def _after_failure(view: RunView) -> Iterator[str]:
    for node, result in planned(view):
        if result is not None and result.status == "failed":
            yield (
                f"Correct what stopped step {node.name!r} (its message is under Limitations), change the plan or the "
                "file, and run again: steps that finished are not repeated."
            )
    waiting = [node for node, result in planned(view) if result is None or result.status not in {*DONE, "failed"}]
    if waiting and view.record.status in ("cancelled", "interrupted"):
        yield f"Resume run {view.record.run_id} to do the {len(waiting)} remaining steps; finished ones are kept."


def _labels(result: NodeResult, limit: int = 3) -> list[str]:
    """Return readable names of the rows the findings point to, first ones first."""
    names = [name for finding in result.findings if (name := _row_name(finding))]
    return list(dict.fromkeys(names))[:limit]


def _row_name(finding: Finding) -> str:
    """Return the symbol the sentence gives beside an identifier, else what selects the row."""
    keys = [key for key in _NAME_COLUMNS if isinstance(finding.row.get(key), str)]
    if not keys:
        return ""
    name = str(finding.row[keys[0]])
    quoted = re.escape(name)
    beside = re.search(rf"([A-Za-z][\w.-]*) \({quoted}\)|{quoted} \(([A-Za-z][\w.-]*)\)", finding.text)
    return (beside.group(1) or beside.group(2)) if beside else name


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _validate_genes(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    names = _labels(result)
    if names:
        contrast = f" ({node.params['treated']} against {node.params['control']})" if "treated" in node.params else ""
        yield f"Confirm {_listed(names)} by RT-qPCR in samples that were not part of this experiment{contrast}."
    if not result.params.get("lfc_threshold"):
        yield (
            f"Run {node.name!r} again with lfc_threshold 1 (log2) to keep only genes whose change is shown to be at "
            "least two-fold, if small changes do not matter to the question."
        )
    if not result.params.get("covariates"):
        yield (
            f"If donor, batch or sex was recorded, run {node.name!r} again with it among the covariates: it is not "
            "accounted for here."
        )


def _enrich_without_cutoff(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    if "gsea_preranked" not in tools:
        yield "Check the enriched terms with gsea_preranked, which ranks all genes and needs no significance cut-off."
    names = _labels(result, 2)
    if names:
        yield f"Look at which genes carry {_listed(names)}: terms that share most of their genes are one result."


def _leading_edge(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    names = _labels(result, 2)
    if names:
        yield f"Look at the leading-edge genes of {_listed(names)} before naming a mechanism."


def _pseudobulk(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    if "sc_pseudobulk_de" not in tools:
        yield (
            "To compare conditions, sum cells per sample (sc_pseudobulk_de): the p-values of markers treat cells as "
            "replicates and cannot carry a claim about donors or animals."
        )


def _check_clusters(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    resolution = result.params.get("resolution", 1.0)
    if isinstance(resolution, int | float):
        yield (
            f"Cluster again at resolution {resolution / 2:g} and {resolution * 2:g} and keep conclusions that hold at "
            "each."
        )


def _check_labels(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    yield "Check the cell type labels against markers known for this tissue, above all those marked unknown."


def _adjust_survival(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    if "cox_regression" not in tools and node.params.get("group"):
        yield (
            f"Fit a Cox model (cox_regression) with {node.params['group']} and the known prognostic factors: the "
            "curves compare groups without adjusting for anything."
        )


def _check_hazards(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    yield (
        f"Look at the proportional-hazards test in the diagnostics of {node.name!r}; a covariate that fails it "
        "belongs in strata or needs a time-varying effect."
    )


def _confounders(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    if "linear_regression" not in tools:
        yield "Adjust the correlation for known confounders (linear_regression) before reading it as an effect."


def _replicate_difference(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    value: Any = node.params.get("value") or node.params.get("outcome")
    if value:
        yield (
            f"Plan a replication of the effect on {value} with a sample size chosen from the interval found here, not "
            "from its midpoint."
        )


def _external_validation(node: TaskNode, result: NodeResult, tools: set[str]) -> Iterator[str]:
    yield (
        f"Test how well {node.name!r} predicts on samples it was not fitted to; the fit on its own data is always too "
        "good."
    )


_RULES: dict[str, tuple[_Rule, ...]] = {
    "differential_expression": (_validate_genes,),
    "sc_pseudobulk_de": (_validate_genes,),
    "over_representation": (_enrich_without_cutoff,),
    "gsea_preranked": (_leading_edge,),
    "sc_markers": (_pseudobulk,),
    "sc_cluster": (_check_clusters,),
    "sc_annotate": (_check_labels,),
    "kaplan_meier": (_adjust_survival,),
    "log_rank": (_adjust_survival,),
    "cox_regression": (_check_hazards,),
    "correlation": (_confounders,),
    "compare_groups": (_replicate_difference,),
    "anova": (_replicate_difference,),
    "logistic_regression": (_external_validation,),
}
"""Tool -> what follows from having used it."""
