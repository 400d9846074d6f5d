"""What every rendered report is made from, gathered once: the report, the tables' rows, images and code.

A file that is missing from the workspace is said to be missing; it never stops the report.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from engine.domain.findings import Finding
from engine.domain.report import Report, RunView
from engine.domain.results import Artifact
from engine.errors import EngineError
from engine.ports.artifacts import ArtifactStore
from engine.provenance.scripts import recorded_script, split_script
from engine.reporting.compose import report_of
from engine.reporting.forms.excerpts import Excerpt, excerpts
from engine.reporting.forms.links import LinkPlaces, Piece, linked
from engine.reporting.methods import effective_params, spec_of
from engine.reporting.status import is_complete, status_lines
from engine.toolbox.figures import read_figure
from engine.toolbox.registry import ToolRegistry


@dataclass(slots=True)
class Contents:
    """A report with the stored things it shows."""

    view: RunView
    report: Report
    status: list[str]
    complete: bool
    excerpts: dict[str, Excerpt]
    settings: dict[str, dict[str, Any]]
    code: dict[str, str] = field(default_factory=dict)
    """Node id -> the tool's functions and the call, as recorded."""

    def pieces(self, finding: Finding) -> list[Piece]:
        """Return a finding's sentence with its numbers linked to where they can be checked."""
        method = anchor("step", finding.node)
        table = self.excerpts.get(finding.artifact)
        shown = {f.artifact.name for f in self.report.figures}
        if table is None:
            place = anchor("figure", finding.artifact) if finding.artifact in shown else method
            return linked(finding, LinkPlaces(values=place, settings=method), None, self.settings.get(finding.node))
        row = table.located.get(finding.id)
        place = row_anchor(finding.artifact, row) if row else anchor("table", finding.artifact)
        return linked(
            finding, LinkPlaces(values=place, settings=method), table.cells(finding.id), self.settings.get(finding.node)
        )

    def cell(self, finding: Finding, piece: Piece) -> str:
        """Return the anchor of a number: of its cell where the table shows one, else of what shows it."""
        table = self.excerpts.get(finding.artifact)
        if table is None or piece.column not in table.columns or not table.located.get(finding.id):
            return piece.target
        return cell_anchor(piece.target, table.columns.index(piece.column))

    @property
    def cited(self) -> set[str]:
        """The anchors of all cells that a number of a finding stands in."""
        pieces = ((finding, piece) for finding in self.report.findings for piece in self.pieces(finding))
        return {self.cell(finding, piece) for finding, piece in pieces if piece.column}

    def sections(self) -> list[tuple[str, str, list[Finding], list[Artifact]]]:
        """Return (node id, step name, findings, figures) for every step that has some, in plan order."""
        names = {node.id: node.name for node in (self.view.plan.nodes if self.view.plan else [])}
        order = [step.node for step in self.report.methods if step.node]
        order += [f.node for f in self.report.findings if f.node not in order]
        found = []
        for node in dict.fromkeys(order):
            findings = [f for f in self.report.findings if f.node == node]
            figures = [f.artifact for f in self.report.figures if f.artifact.node == node]
            if findings or figures:
                found.append((node, names.get(node, node), findings, figures))
        return found

    def summary(self) -> list[str]:
        """Return the summary without the sentences that the status already says."""
        return [sentence for sentence in self.report.summary if sentence not in self.status]

    def finding_of(self, sentence: str) -> Finding | None:
        """Return the finding a summary sentence repeats, so that its numbers can be linked there too."""
        return next((finding for finding in self.report.findings if finding.text == sentence), None)


def gather(view: RunView, artifacts: ArtifactStore, registry: ToolRegistry) -> Contents:
    """Collect what a rendered report shows."""
    report = report_of(view, registry)
    contents = Contents(
        view=view,
        report=report,
        status=status_lines(view),
        complete=is_complete(view),
        excerpts=excerpts(report.tables, report.findings, artifacts),
        settings={
            node.id: effective_params(spec_of(registry, node.tool), node, view.results.get(node.id))
            for node in (view.plan.nodes if view.plan else [])
        },
    )
    for node_id, result in view.results.items():
        script = recorded_script(result, artifacts)
        if script is not None:
            contents.code[node_id] = _shown_code(script)
    return contents


def _shown_code(script: str) -> str:
    try:
        parts = split_script(script)
    except SyntaxError:
        return script
    return f"{parts.tool_functions()}\n\n{parts.lines}"


def image_bytes(artifact: Artifact, artifacts: ArtifactStore) -> bytes | None:
    """Return a figure's PNG or SVG, or None when it is not in the workspace or is nothing to be shown."""
    try:
        data, problem = read_figure(artifacts.path(artifact.sha256))
    except (EngineError, OSError):
        return None
    return None if problem else data


def anchor(kind: str, name: str) -> str:
    """Return the anchor of a table, figure, step or reference."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}"


def row_anchor(table: str, row: int) -> str:
    """Return the anchor of a table's row (from 1)."""
    return f"{anchor('table', table)}-row-{row}"


def cell_anchor(row: str, column: int) -> str:
    """Return the anchor of a cell, given its row's and the position of its column (from 0)."""
    return f"{row}-cell-{column + 1}"
