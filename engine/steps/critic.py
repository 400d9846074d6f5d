"""Judges a step by rule: the tool's postconditions and what the step said of itself.

A model, when there is one, is asked after these rules and can only add doubts; it can never pass what a
rule failed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from engine.domain.results import Issue, Verdict
from engine.domain.toolspec import ToolSpec
from engine.toolbox.checks import CHECKS, StepOutputs, TooLarge
from engine.toolbox.large_tables import SIZES, Sizes

COST = {"error": 0.5, "warning": 0.1, "info": 0.02}
"""What an issue takes from a quality of 1."""


def judge(
    spec: ToolSpec,
    *,
    params: Mapping[str, Any],
    files: Mapping[str, Path],
    findings: list[dict[str, Any]],
    warnings: list[str],
    left_out: Collection[str] = (),
    sizes: Sizes = SIZES,
) -> Verdict:
    """Judge a step that ran to its end.

    Args:
        files: output name -> stored file.
        findings: as the step wrote them.
        warnings: caveats the step stated; each lowers the quality a little and none fails the step.
        left_out: outputs that were given but cannot be shown; the warnings say why.
        sizes: of the tables that the checks may hold.
    """
    issues: list[Issue] = []
    for output in spec.outputs:
        if output.name not in files and not output.optional and (output.name not in left_out or not files):
            message = f"The step gave no {output.name}."
            issues.append(Issue(code="missing_output", severity="error", message=message, where=output.name))
    step = StepOutputs(
        params=params,
        files=files,
        types={output.name: output.type.value for output in spec.outputs},
        findings=findings,
        sizes=sizes,
    )
    for name in spec.checks:
        try:
            issues.extend(CHECKS[name](step))
        except TooLarge as large:
            message = f"{large} is too large to be held in memory: of it was not checked that: {_first_line(name)}"
            issues.append(Issue(code="unchecked", severity="warning", message=message, where=str(large)))
        except Exception as err:  # noqa: BLE001 - a check reads what untrusted code wrote: it may find anything
            message = f"The check {name} could not read the result: {err}"
            issues.append(Issue(code="unreadable_result", severity="error", message=message))
    if not findings:
        message = "The step stated no finding; its tables and figures must be read by eye."
        issues.append(Issue(code="no_finding", severity="info", message=message))
    issues.extend(Issue(code="caveat", severity="warning", message=text) for text in warnings)
    passed = not any(issue.severity == "error" for issue in issues)
    quality = max(0.0, 1.0 - sum(COST[issue.severity] for issue in issues))
    guidance = "; ".join(issue.message for issue in issues if issue.severity == "error")
    checks = [_first_line(name) for name in spec.checks]
    return Verdict(passed=passed, quality=round(quality, 3), issues=issues, checks=checks, retry_guidance=guidance)


def _first_line(check: str) -> str:
    """Return what a check is for."""
    return (getattr(CHECKS.get(check), "__doc__", None) or check).strip().splitlines()[0]
