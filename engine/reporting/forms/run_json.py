"""The run as one JSON object: what `ask --json` prints and `run.json` holds.

Programs compare on these keys, so they are added to and never changed.
"""

from __future__ import annotations

from typing import Any

from engine.domain.plan import TaskNode
from engine.domain.report import RunView
from engine.domain.results import NodeResult
from engine.provenance.recorder import plain
from engine.reporting.checked import checked_lines
from engine.reporting.compose import deduplicate, report_of
from engine.reporting.status import status_lines
from engine.toolbox.registry import ToolRegistry


def render(view: RunView, registry: ToolRegistry) -> dict[str, Any]:
    """Return the run as plain JSON data."""
    record, plan, report = view.record, view.plan, report_of(view, registry)
    stated = [warning for result in view.results.values() for warning in result.warnings]
    data = [warning for profile in view.profiles for warning in profile.warnings]
    return {
        "run_id": record.run_id,
        "status": record.status,
        "status_text": status_lines(view),
        "question": record.question,
        "created_at": record.created_at,
        "finished_at": record.finished_at,
        "error": record.error,
        "error_code": record.error_code,
        "route": plain(view.route) if view.route else None,
        "plan": plain(plan) if plan else None,
        "nodes": [_node(node, view.results.get(node.id)) for node in (plan.nodes if plan else [])],
        "title": report.title,
        "summary": report.summary,
        "summary_spoken": report.spoken,
        "in_words": plain(report.in_words) if report.in_words else None,
        "doubts": [plain(doubt) for doubt in report.doubts],
        "answers": [plain(answer) for answer in report.answers],
        "caveats": report.caveats,
        "findings": [plain(finding) for finding in report.findings],
        "checked": checked_lines(report),
        "claims": {"claims": plain(report.claims)["claims"]} if report.claims else None,
        "limitations": report.limitations,
        "assumptions": report.assumptions,
        "next_steps": report.next_steps,
        "citations": [
            {"n": number, **plain(citation), "passage": ""} for number, citation in enumerate(report.citations, start=1)
        ],
        "usage": plain(record.usage),
        "warnings": deduplicate([*(plan.warnings if plan else []), *view.warnings, *data, *stated]),
        "open_questions": [plain(question) for question in plan.open_questions] if plan else [],
    }


def _node(node: TaskNode, result: NodeResult | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"id": node.id, "name": node.name, "tool": node.tool}
    if result is None:
        return {**facts, "status": "pending", "attempts": 0, "seconds": 0.0, "verdict": None, "artifacts": []}
    data = plain(result)
    keys = ("status", "attempts", "seconds", "error", "from_run", "params", "verdict", "artifacts", "warnings")
    return {**facts, **{key: data[key] for key in keys}}
