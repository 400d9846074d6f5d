"""Calls about what is written of a run, and its proof."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from engine.api.runs import RunCalls
from engine.provenance.verify import Verification, verify_path
from engine.reporting import verified
from engine.reporting.forms import bundle, html, markdown
from engine.reporting.forms import run_json as run_json_document


class ReportCalls(RunCalls):
    """Reports, exports and verification."""

    def report_markdown(self, run_id: str) -> str:
        """Return the report as Markdown."""
        return markdown.render(self.view(run_id), self._parts.registry)

    def report_html(self, run_id: str) -> str:
        """Return the report as one self-contained HTML page."""
        return html.render(self.view(run_id), self._parts.records.artifacts, self._parts.registry)

    def run_json(self, run_id: str) -> dict[str, Any]:
        """Return the run as the JSON document of `biodesk ask --json`."""
        return run_json_document.render(self.view(run_id), self._parts.registry)

    def export(self, run_id: str, fmt: str, out: Path | str) -> Path:
        """Write a run as md, html, pdf, notebook or json (provenance) and return the file."""
        return bundle.export(self.view(run_id), self._parts.records.artifacts, self._parts.registry, fmt, Path(out))

    def bundle(self, run_id: str, out: Path | str) -> list[Path]:
        """Write everything of a run into a folder: reports, notebook, plan, artifacts, provenance, data."""
        return bundle.write_bundle(self.view(run_id), self._parts.records.artifacts, self._parts.registry, Path(out))

    def verify(self, target: str) -> Verification:
        """Re-hash all of a run (by id) or of an exported folder (by path) and name every difference."""
        if os.path.exists(target):  # noqa: PTH110 - what can be no path is none
            return verify_path(Path(target))
        return verified.verify(target, self._parts.records.store, self._parts.records.artifacts, self._parts.registry)
