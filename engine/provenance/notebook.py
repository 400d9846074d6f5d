"""The analysis as a notebook that runs top to bottom where there is no Biodesk.

It imports the very functions that ran, once, and public packages in the versions that ran, finds the data by content,
shows what the run gave and ends by comparing what it computed with what was recorded.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from engine.domain.encoding.escaping import in_markdown as _e
from engine.domain.plan import DATA_PREFIX, TaskNode
from engine.domain.report import RunView
from engine.domain.results import DONE, Artifact, NodeResult
from engine.errors import EngineError
from engine.ports.artifacts import ArtifactStore
from engine.provenance import notebook_cells
from engine.provenance.files import artifact_files, data_files, file_name
from engine.provenance.recorder import maker
from engine.provenance.scripts import StepCode, redirect, step_code
from engine.toolbox.registry import ToolRegistry

ALWAYS = ("matplotlib", "pandas", "ipykernel")
"""What the notebook's own cells need."""

MOST_FIGURE = 4 * 2**20
"""Bytes of a figure that is stored in the notebook."""
_SAVING = ("save_result", "linear_algebra")
"""Functions that do without the package they import."""
_Step = tuple[TaskNode, NodeResult, StepCode]


def notebook(view: RunView, registry: ToolRegistry, artifacts: ArtifactStore | None = None) -> NotebookNode:
    """Return the notebook of a run.

    Args:
        artifacts: when given, the code shown is the recorded one; else it is rebuilt from the catalogue.
    """
    steps, left_out = _steps(view, registry, artifacts)
    modules, imported = _modules(steps)
    cells = [
        _markdown("about", _about(view, steps)),
        _code("functions", _packed_source(modules, imported), folded=True),
        _code("data", _data_source(view, steps)),
    ]
    for node in view.plan.order() if view.plan else []:
        step = next((item for item in steps if item[0].id == node.id), None)
        cells += _step_cells(view, *step, registry, imported, artifacts) if step else [
            _left_out(node, left_out.get(node.id, ""))
        ]  # fmt: skip
    cells += [
        _markdown("compare-note", "## Comparison with the recorded results"),
        _code("compare", _recorded_source(view, steps)),
    ]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    made = new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(made)
    return made


def modules_of(view: RunView, registry: ToolRegistry, artifacts: ArtifactStore | None = None) -> dict[str, str]:
    """Return file name -> text of the modules that a run's notebook imports; it writes them where they are missing."""
    modules, _ = _modules(_steps(view, registry, artifacts)[0])
    return {f"{name}.py": text for name, text in modules.items()}


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
        if result is None or result.status not in DONE:
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


def _modules(steps: list[_Step]) -> tuple[dict[str, str], dict[str, str]]:
    """Return module name -> text, and node id -> the module its functions are in; the first is everybody's.

    A step whose functions are others under the same names (its result is from before a change) has its own module.
    """
    shared: dict[str, str] = {}
    groups: dict[str, dict[str, str]] = {"": shared}
    place: dict[str, str] = {}
    for node, _, code in steps:
        clash = any(shared.get(name, text) != text for name, text in code.functions.items())
        place[node.id] = node.id if clash else ""
        groups.setdefault(place[node.id], {}).update(code.functions)
    texts = {
        key: "\n\n\n".join([_HEAD + (notebook_cells.MODULE.rstrip() if not key else ""), *functions.values()]) + "\n"
        for key, functions in groups.items()
    }
    names = {key: f"steps_{hashlib.sha256(text.encode()).hexdigest()[:8]}" for key, text in texts.items()}
    return {names[key]: text for key, text in texts.items()}, {node: names[key] for node, key in place.items()}


_HEAD = """\"\"\"The functions of an analysis as they ran, for the notebook beside this file.\"\"\"

from __future__ import annotations

"""


def _packed_source(modules: dict[str, str], imported: dict[str, str]) -> str:
    main = next(iter(modules))
    lines = "".join(
        f"    {name!r}: ({hashlib.sha256(text.encode()).hexdigest()!r},\n"
        f"        {base64.b85encode(zlib.compress(text.encode(), 9)).decode()!r}),\n"
        for name, text in modules.items()
    )
    others = "".join(f"import {name}\n" for name in modules if name != main)
    return (
        f"# The functions of all steps, as they ran, are in {', '.join(f'{name}.py' for name in modules)}: beside this "
        "notebook, or\n# unpacked from here. Read them there.\n"
        f"PACKED = {{\n{lines}}}\n\n{notebook_cells.UNPACK}\nfrom {main} import *\n{others}"
    )


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
        "Each step below says what it did and why, runs it into `results/` and shows what came out. Shown now is "
        "what the run recorded; running a cell puts its own output there. The last cell compares the two.",
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
    providers = _providers()
    for _, result, code in steps:
        recorded.update(result.versions)
        needed.update(result.versions)
        functions = {name: text for name, text in code.functions.items() if name not in _SAVING}
        imported = StepCode(functions=functions, lines=code.lines).imports() - sys.stdlib_module_names
        needed.update(providers.get(name, [name])[0] for name in imported)
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


@cache
def _providers() -> Mapping[str, list[str]]:
    """Return which packages bring a module: all that are installed are read for it, a third of a second."""
    return importlib.metadata.packages_distributions()


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
    facts: dict[str, tuple[list[str], str]] = {}
    for dataset in view.plan.datasets if view.plan else []:
        if dataset.name in used:
            names = list(dict.fromkeys([files[dataset.name], file_name(dataset.path)]))
            facts[dataset.name] = (names, dataset.sha256)
    rows = "".join(f"    {name!r}: {value!r},\n" for name, value in facts.items())
    return (
        f"# Name in the plan: (file names, SHA-256 of its content)\nDATA_FILES = {{\n{rows}}}\n"
        "DATA = {name: locate(name, *facts) for name, facts in DATA_FILES.items()}"
    )


def _recorded_source(view: RunView, steps: list[_Step]) -> str:
    names = {(a.node, a.output, a.sha256): path.split("/", 1)[1] for path, a in artifact_files(view)}
    rows: list[str] = []
    for node, result, _ in steps:
        for artifact in result.artifacts:
            if artifact.type == "svg":  # the figure beside it is compared
                continue
            facts: dict[str, Any] = {
                "name": names.get((artifact.node, artifact.output, artifact.sha256), artifact.name),
                "sha256": artifact.sha256,
                "rows": artifact.rows,
            }
            rows.append(f"    {_result_path(node.id, artifact.output, artifact.name)!r}: {json_literal(facts)},\n")
    computed_on = sorted({result.computed_on for _, result, _ in steps} - {""})
    return f"RECORDED = {{\n{''.join(rows)}}}\ncompare_all(RECORDED, {computed_on!r})"


def json_literal(facts: dict[str, Any]) -> str:
    """Return plain data as a Python literal."""
    return repr(json.loads(json.dumps(facts)))


def _result_path(node_id: str, output: str, artifact_name: str) -> str:
    suffix = re.search(r"\.[A-Za-z0-9]+$", artifact_name)
    return f"results/{node_id}/{output}{suffix.group(0) if suffix else ''}"


def _step_cells(
    view: RunView,
    node: TaskNode,
    result: NodeResult,
    code: StepCode,
    registry: ToolRegistry,
    imported: dict[str, str],
    artifacts: ArtifactStore | None,
) -> list[NotebookNode]:
    paths = {name: _input_expression(view, ref) for name, ref in node.inputs.items()}
    folder = f"results/{node.id}"
    lines = redirect(code.lines, paths, folder)
    if len(set(imported.values())) > 1:  # the same names stand for several functions: each step takes its own
        lines = f"from {imported[node.id]} import *\n\n{lines}"
    outputs = list(_outputs(result, folder, artifacts)) if artifacts is not None else []
    return [
        _markdown(f"{node.id}-about", _step_text(node, result, registry)),
        _code(f"{node.id}-run", f"{lines}show({folder!r})\n", outputs=outputs),
    ]


def _outputs(result: NodeResult, folder: str, artifacts: ArtifactStore) -> Iterator[NotebookNode]:
    """Give what `show` shows of a step, from what is recorded, so that the notebook can be read without running it."""
    lines = [f"- {finding.text}" for finding in result.findings] + [f"!  {warning}" for warning in result.warnings]
    for artifact in result.artifacts:
        suffix = Path(artifact.name).suffix
        if suffix not in (".png", ".csv") or not artifacts.has(artifact.sha256):
            lines += [f"{folder}/{artifact.output}{suffix}"] if suffix != ".png" else []
            continue
        lines += [f"{folder}/{artifact.output}.csv ({artifact.rows} rows)"] if suffix == ".csv" else []
        if lines:
            yield new_output("stream", name="stdout", text="\n".join(lines) + "\n")
        lines = []
        shown = _shown(artifact, artifacts.path(artifact.sha256))
        if shown:
            yield new_output("display_data", data=shown)
    if lines:
        yield new_output("stream", name="stdout", text="\n".join(lines) + "\n")


def _shown(artifact: Artifact, path: Path) -> dict[str, str]:
    """Return a figure, or the head of a table, as Jupyter stores it."""
    if Path(artifact.name).suffix == ".png":
        small = artifact.bytes <= MOST_FIGURE
        return {"image/png": base64.b64encode(path.read_bytes()).decode()} if small else {}
    import pandas as pd

    try:
        head = pd.read_csv(path, nrows=10)
    except ValueError:  # pandas cannot read it: the notebook will say so itself
        return {}
    return {"text/plain": repr(head), "text/html": head._repr_html_() or ""}


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


def _code(name: str, text: str, *, outputs: Sequence[NotebookNode] = (), folded: bool = False) -> NotebookNode:
    metadata = {"jupyter": {"source_hidden": True}} if folded else {}
    return new_code_cell(text.rstrip() + "\n", id=_cell_id(name), outputs=list(outputs), metadata=metadata)
