"""The analysis as a notebook that runs top to bottom where there is no Biodesk.

It holds the very functions that ran and public packages in the versions that ran, finds the data by content,
and ends by comparing what it computed with what was recorded.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from engine.domain.escaping import in_markdown as _e
from engine.domain.plan import DATA_PREFIX, TaskNode
from engine.domain.results import NodeResult
from engine.domain.run_view import RunView
from engine.errors import EngineError
from engine.ports import ArtifactStore
from engine.provenance import notebook_cells
from engine.provenance.files import artifact_files, data_files, shown_path
from engine.provenance.recorder import maker
from engine.provenance.scripts import StepCode, redirect, step_code
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.script import io_source

ALWAYS = ("matplotlib", "pandas", "ipykernel")
"""What the notebook's own cells need."""

_DONE = frozenset({"succeeded", "cached"})
_Step = tuple[TaskNode, NodeResult, StepCode]


def notebook(view: RunView, registry: ToolRegistry, artifacts: ArtifactStore | None = None) -> NotebookNode:
    """Return the notebook of a run.

    Args:
        artifacts: when given, the code shown is the recorded one; else it is rebuilt from the catalogue.
    """
    steps, left_out = _steps(view, registry, artifacts)
    cells = [
        _markdown("about", _about(view, steps)),
        _code("data", _data_source(view, steps) + "\n\n" + notebook_cells.LOCATE),
        _markdown("reading", "## How data are read and written\n\nThe same functions served every step."),
        _code("functions", f"from __future__ import annotations\n\n\n{io_source()}\n\n{notebook_cells.SHOW}"),
    ]
    for node in view.plan.order() if view.plan else []:
        step = next((item for item in steps if item[0].id == node.id), None)
        cells += _step_cells(view, *step, registry) if step else [_left_out(node, left_out.get(node.id, ""))]
    cells += [
        _markdown("compare-note", "## Comparison with the recorded results"),
        _code("compare", _recorded_source(view, steps) + "\n\n" + notebook_cells.COMPARE),
    ]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    made = new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(made)
    return made


def to_json(made: NotebookNode) -> str:
    """Return the notebook as the text of an `.ipynb` file."""
    return nbformat.writes(made) + "\n"


def _steps(
    view: RunView, registry: ToolRegistry, artifacts: ArtifactStore | None
) -> tuple[list[_Step], dict[str, str]]:
    """Return the steps that can be shown as code, and node id -> why for those that cannot."""
    steps: list[_Step] = []
    left_out: dict[str, str] = {}
    for node in view.plan.order() if view.plan else []:
        result = view.results.get(node.id)
        if result is None or result.status not in _DONE:
            state = result.status if result else "not run"
            reason = (result.error if result else "").strip()
            left_out[node.id] = f"it was not completed ({state}{': ' + reason if reason else ''})"
            continue
        missing = [up for up in node.upstream() if up in left_out and any(r == up for r in _sources(node))]
        if missing:
            left_out[node.id] = f"it reads the output of {', '.join(missing)}, which is left out"
            continue
        try:
            steps.append((node, result, step_code(view, node, result, registry, artifacts)))
        except (EngineError, SyntaxError) as err:
            left_out[node.id] = f"its code is not available here ({err})"
    return steps, left_out


def _sources(node: TaskNode) -> list[str]:
    return [ref.partition(".")[0] for ref in node.inputs.values() if not ref.startswith(DATA_PREFIX)]


def _about(view: RunView, steps: list[_Step]) -> str:
    record = view.record
    pins, unrecorded = _requirements(steps, view)
    python = record.environment.get("python", ".".join(str(part) for part in sys.version_info[:3]))
    lines = [
        f"# {_e(record.question)}",
        "",
        f"Analysis of {record.created_at[:10] or 'unknown date'}, run `{record.run_id}`, written by {maker()} "
        f"from the code that ran. It needs no Biodesk: only Python {python} (or close to it), the "
        "packages below and the data files.",
        "",
        "```",
        f"pip install {' '.join(pins)}",
        "```",
    ]
    if unrecorded:
        lines += ["", f"The versions of {', '.join(unrecorded)} are those of the machine that wrote this notebook; "
                      "the run did not record them."]  # fmt: skip
    lines += [
        "",
        "Each step below says what it did and why, gives its code, runs it into `results/` and shows what came out. "
        "The last cell says which results are the same as those recorded.",
    ]
    if view.plan and view.plan.warnings:
        lines += [
            "",
            "Before believing a result:",
            "",
            *(f"- {_e(warning)}" for warning in view.plan.warnings),
        ]
    return "\n".join(lines)


def _requirements(steps: list[_Step], view: RunView) -> tuple[list[str], list[str]]:
    """Return `name==version` of every package the code needs, and those whose version the run did not record."""
    recorded: dict[str, str] = {}
    needed: set[str] = set(ALWAYS)
    providers = importlib.metadata.packages_distributions()
    for _, result, code in steps:
        recorded.update(result.versions)
        needed.update(result.versions)
        functions = {name: text for name, text in code.functions.items() if text not in io_source()}
        imported = StepCode(functions=functions, lines=code.lines).imports() - sys.stdlib_module_names
        needed.update(providers.get(name, [name])[0] for name in imported)
    if any(dataset.type.value == "anndata" for dataset in (view.plan.datasets if view.plan else [])):
        needed.add("anndata")
    if any(dataset.path.lower().endswith((".xlsx", ".xls")) for dataset in (view.plan.datasets if view.plan else [])):
        needed.add("openpyxl")
    pins, unrecorded = [], []
    known = {name.lower(): version for name, version in recorded.items()}
    for name in sorted({name.lower(): name for name in needed}.values(), key=str.lower):
        version = known.get(name.lower()) or view.record.environment.get(name, "") or _installed(name)
        pins.append(f"{name}=={version}" if version else name)
        if name.lower() not in known and name not in view.record.environment:
            unrecorded.append(name)
    return pins, unrecorded


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _data_source(view: RunView, steps: list[_Step]) -> str:
    used = {
        ref.removeprefix(DATA_PREFIX)
        for node, *_ in steps
        for ref in node.inputs.values()
        if ref.startswith(DATA_PREFIX)
    }
    files = data_files(view.plan)
    facts: dict[str, tuple[list[str], str, str]] = {}
    for dataset in view.plan.datasets if view.plan else []:
        if dataset.name in used:
            names = list(dict.fromkeys([files[dataset.name], re.split(r"[\\/]", dataset.path)[-1]]))
            facts[dataset.name] = (names, shown_path(dataset.path), dataset.sha256)
    rows = "".join(f"    {name!r}: {value!r},\n" for name, value in facts.items())
    return f"# Name in the plan: (file names, where it lay, SHA-256 of its content)\nDATA_FILES = {{\n{rows}}}"


def _recorded_source(view: RunView, steps: list[_Step]) -> str:
    names = {(a.node, a.output, a.sha256): path.split("/", 1)[1] for path, a in artifact_files(view)}
    rows: list[str] = []
    for node, result, _ in steps:
        for artifact in result.artifacts:
            facts: dict[str, Any] = {
                "name": names.get((artifact.node, artifact.output, artifact.sha256), artifact.name),
                "sha256": artifact.sha256,
                "rows": artifact.rows,
            }
            rows.append(f"    {_result_path(node.id, artifact.output, artifact.name)!r}: {json_literal(facts)},\n")
    return f"RECORDED = {{\n{''.join(rows)}}}"


def json_literal(facts: dict[str, Any]) -> str:
    """Return plain data as a Python literal."""
    return repr(json.loads(json.dumps(facts)))


def _result_path(node_id: str, output: str, artifact_name: str) -> str:
    suffix = re.search(r"\.[A-Za-z0-9]+$", artifact_name)
    return f"results/{node_id}/{output}{suffix.group(0) if suffix else ''}"


def _step_cells(
    view: RunView, node: TaskNode, result: NodeResult, code: StepCode, registry: ToolRegistry
) -> list[NotebookNode]:
    paths = {name: _input_expression(view, ref) for name, ref in node.inputs.items()}
    folder = f"results/{node.id}"
    lines = redirect(code.lines, paths, folder)
    return [
        _markdown(f"{node.id}-about", _step_text(node, result, registry)),
        _code(f"{node.id}-tool", f"from __future__ import annotations\n\n\n{code.tool_functions()}"),
        _code(f"{node.id}-run", f"{lines}show({folder!r})\n"),
    ]


def _input_expression(view: RunView, ref: str) -> str:
    if ref.startswith(DATA_PREFIX):
        return f"DATA[{ref.removeprefix(DATA_PREFIX)!r}]"
    upstream, _, output = ref.partition(".")
    source = view.results.get(upstream)
    artifact = next((a for a in source.artifacts if a.output == output), None) if source else None
    return repr(_result_path(upstream, output, artifact.name if artifact else ""))


def _step_text(node: TaskNode, result: NodeResult, registry: ToolRegistry) -> str:
    lines = [f"## {_e(node.name)}", ""]
    if node.reasons:
        lines += ["Why: " + _e(" ".join(node.reasons)), ""]
    if node.tool in registry:
        spec = registry.get(node.tool)
        lines += [spec.description, ""]
        for citation in spec.citations:
            where = f" https://doi.org/{citation.doi}" if citation.doi else f" {citation.url}".rstrip()
            lines.append(f"- {citation.authors} ({citation.year}). {citation.title}.{where}")
        lines += [""] if spec.citations else []
    versions = ", ".join(f"{name} {version}" for name, version in sorted(result.versions.items()))
    lines.append(f"Tool `{node.tool}`" + (f"; {versions}." if versions else "."))
    return "\n".join(lines)


def _left_out(node: TaskNode, reason: str) -> NotebookNode:
    return _markdown(
        f"{node.id}-about",
        f"## {_e(node.name)}\n\nThis step is left out: {_e(reason or 'no result')}.",
    )


def _cell_id(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)[-64:]


def _markdown(name: str, text: str) -> NotebookNode:
    return new_markdown_cell(text.strip() + "\n", id=_cell_id(name))


def _code(name: str, text: str) -> NotebookNode:
    return new_code_cell(text.rstrip() + "\n", id=_cell_id(name))
