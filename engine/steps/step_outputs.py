"""What a step gave: checked with suspicion, stored by hash, judged.

What a sandboxed step leaves behind is not trusted: names are checked, JSON is validated, sizes are those of the files
found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from engine.domain.datatypes import DataType
from engine.domain.events import ArtifactSaved, NodeVerdict
from engine.domain.findings import Finding
from engine.domain.results import Artifact, NodeResult
from engine.domain.toolspec import ToolSpec
from engine.ports.sandbox import Limits
from engine.runs.records import RunRecords
from engine.steps.critic import judge
from engine.steps.result_file import MOST_NAME, ResultFile, is_plain_file, read_result
from engine.steps.step_inputs import safe_name
from engine.toolbox.figures import read_figure
from engine.toolbox.large_tables import ROW_BYTES, longest_row_is_short
from engine.trees import excess


class _Unusable(Exception):
    """What a step gave cannot be used; the message says why."""


@dataclass(slots=True)
class _Stored:
    """The files of a step that are stored."""

    artifacts: list[Artifact] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Output -> why it cannot be shown."""


@dataclass(frozen=True, slots=True)
class Collector:
    """Takes over what steps leave in their folders."""

    records: RunRecords
    limits: Limits

    def collect(self, run_id: str, spec: ToolSpec, base: NodeResult, workdir: Path, given: int) -> NodeResult:
        """Store and judge what a step left in its folder; return its result, failed where that cannot be used.

        Args:
            run_id: the run.
            spec: the step's tool.
            base: what is known of the step so far.
            workdir: where it worked.
            given: the bytes of its inputs.
        """
        try:
            return self._judged(run_id, spec, base, workdir, given)
        except _Unusable as why:
            return base.model_copy(update={"status": "failed", "error": str(why)})

    def _judged(self, run_id: str, spec: ToolSpec, base: NodeResult, workdir: Path, given: int) -> NodeResult:
        over = excess([workdir], most_bytes=(self.limits.disk_mb << 20) + given, most_files=self.limits.files)
        if over:
            raise _Unusable(f"The step's files are not kept: {over}.")
        folder = workdir / "outputs"
        result = read_result(folder)
        if isinstance(result, str):
            raise _Unusable(f"The step's result cannot be used: {result}")
        stored = self._stored(run_id, spec, base.node, result, folder)
        warnings = [*stored.left_out.values(), *result.warnings]
        verdict = judge(
            spec,
            params=base.params,
            # Checks read the scratch file: it has the suffix that says how, and the store has the same bytes.
            files={
                a.output: folder / a.name.removeprefix(f"{a.node}_") for a in stored.artifacts if spec.output(a.output)
            },
            findings=[found.model_dump() for found in result.findings],
            warnings=warnings,
            left_out=stored.left_out,
        )
        self.records.log.emit(NodeVerdict(run_id=run_id, node=base.node, verdict=verdict))
        return base.model_copy(
            update={
                "status": "succeeded" if verdict.passed else "failed",
                "error": "" if verdict.passed else f"The result did not pass its checks: {verdict.retry_guidance}",
                "computed_on": result.computed_on,
                "artifacts": stored.artifacts,
                "findings": _findings(base.node, result, stored.artifacts) if verdict.passed else [],
                "warnings": warnings,
                "verdict": verdict,
            }
        )

    def _stored(self, run_id: str, spec: ToolSpec, node: str, result: ResultFile, folder: Path) -> _Stored:
        """Store the files that a step says it gave.

        Raises:
            _Unusable: when one is not what it says.
        """
        stored = _Stored()
        for output, facts in result.outputs.items():
            port, path = spec.output(output), folder / facts.file
            if port is None or safe_name(facts.file) != facts.file or not is_plain_file(path):
                raise _Unusable(f"The step's output {output!r} is not the file it says ({facts.file[:200]!r}).")
            if len(facts.file) > MOST_NAME:
                raise _Unusable(f"The name of the step's output {output!r} has more than {MOST_NAME} characters.")
            if any(artifact.name == f"{node}_{facts.file}" for artifact in stored.artifacts):
                raise _Unusable(f"The step gave the same file ({facts.file!r}) as two of its outputs.")
            if port.type is DataType.FIGURE:
                if problem := _figure_problem(path):
                    stored.left_out[output] = f"The figure {facts.file} was left out: {problem}."
                    continue
            elif path.suffix == ".csv" and path.stat().st_size > ROW_BYTES and not longest_row_is_short(path):
                raise _Unusable(f"The step's output {output!r} has a row of more than {ROW_BYTES >> 20} MB.")
            shape = {"rows": facts.rows, "columns": facts.columns}
            artifact = self._artifact(run_id, node, path, output=output, type=port.type.value, **shape)
            stored.artifacts.append(artifact)
            if facts.drawing and port.type is DataType.FIGURE:
                self._store_drawing(run_id, artifact, facts, folder, stored)
        return stored

    def _store_drawing(
        self, run_id: str, figure: Artifact, facts: ResultFile.Output, folder: Path, stored: _Stored
    ) -> None:
        """Store the SVG of a figure beside it."""
        name = f"{figure.output}.svg"
        taken = {artifact.name for artifact in stored.artifacts}
        named = facts.drawing == name and f"{figure.node}_{name}" not in taken
        problem = _figure_problem(folder / facts.drawing) if named else "it is not the file it says"
        if problem:
            stored.left_out[name] = f"The drawing of figure {facts.file} was left out: {problem}."
            return
        stored.artifacts.append(self._artifact(run_id, figure.node, folder / name, output=name, type="svg"))

    def _artifact(self, run_id: str, node: str, path: Path, **facts: object) -> Artifact:
        own = {"name": f"{node}_{path.name}", "node": node, "sha256": self.records.artifacts.put_file(path)}
        artifact = Artifact.model_validate({**own, "bytes": path.stat().st_size, **facts})
        self.records.log.emit(ArtifactSaved(run_id=run_id, node=node, artifact=artifact))
        return artifact


def _findings(node: str, result: ResultFile, artifacts: list[Artifact]) -> list[Finding]:
    names = {artifact.output: artifact.name for artifact in artifacts}
    return [
        Finding(
            id=f"{node}_f{number}",
            node=node,
            text=found.text,
            values=found.values,
            artifact=names.get(found.output, ""),
            row=found.row,
            first=found.first,
            told_only=found.told_only,
            asserts=found.asserts,
            evidence=[names[found.output]] if found.output in names else [],
        )
        for number, found in enumerate(result.findings, start=1)
    ]


def _figure_problem(path: Path) -> str:
    if path.suffix not in (".png", ".svg") or not is_plain_file(path):
        return "it is neither a PNG nor an SVG"
    return read_figure(path)[1]
