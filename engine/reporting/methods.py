"""How each step was done, in the words and units of the field, with numbered references.

A reader must be able to repeat the analysis from this section, so every parameter is named with the value
it really had: the one recorded with the result, and the tool's default where nothing was given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from engine.domain.plan import DATA_PREFIX, TaskNode
from engine.domain.report import MethodStep, RunView
from engine.domain.results import DONE, NodeResult
from engine.domain.toolspec import Citation, ParamSpec, ToolSpec
from engine.reporting.numbers import format_number
from engine.reporting.software import PAPERS
from engine.reporting.status import planned
from engine.text.prose import listed, one_line
from engine.text.sentences import split_sentences
from engine.toolbox.registry import ToolRegistry

DESCRIPTION_LENGTH = 420
"""A tool's description longer than this is cut after a whole sentence."""


@dataclass(slots=True)
class Bibliography:
    """References numbered in the order in which they are first cited."""

    entries: list[Citation] = field(default_factory=list)

    def number(self, citation: Citation) -> int:
        """Return the number of a reference, adding it when it is new; the same DOI or title is the same work."""
        for position, known in enumerate(self.entries, start=1):
            same_doi = bool(citation.doi) and citation.doi.lower() == known.doi.lower()
            if same_doi or citation.title.strip().lower() == known.title.strip().lower():
                return position
        self.entries.append(citation)
        return len(self.entries)


def spec_of(registry: ToolRegistry, tool: str) -> ToolSpec | None:
    """Return a tool's description, or None when this installation no longer has it."""
    return registry.get(tool) if tool in registry else None


def method_steps(view: RunView, registry: ToolRegistry, bibliography: Bibliography) -> list[MethodStep]:
    """Return the data, every step that gave a result, and the software, one paragraph each."""
    steps = [_data_step(view)] if view.plan and view.plan.datasets else []
    for node, result in planned(view):
        if result is not None and result.status in DONE:
            steps.append(_tool_step(view, node, result, registry, bibliography))
    software = _software_step(view, bibliography)
    return [*steps, software] if software else steps


def _data_step(view: RunView) -> MethodStep:
    assert view.plan is not None
    sentences = []
    for dataset in view.plan.datasets:
        kind = dataset.type.value.replace("_", " ")
        summary = f": {dataset.summary.rstrip('.')}" if dataset.summary else ""
        sentences.append(f"{dataset.name} was read as {kind}{summary} (SHA-256 {dataset.sha256[:12]}...).")
    return MethodStep(node="", name="Data", tool="", text=" ".join(sentences))


def _tool_step(
    view: RunView, node: TaskNode, result: NodeResult, registry: ToolRegistry, bibliography: Bibliography
) -> MethodStep:
    spec = spec_of(registry, node.tool)
    parts = [_task(spec)] if spec else [f"The tool {node.tool} is not in this installation's catalogue."]
    read = [_input_text(view, *item) for item in node.inputs.items()]
    if read:
        parts.append(f"It read {listed(read)}.")
    parts += settings_sentences(spec, node, result)
    if result.status == "cached" and result.from_run:
        parts.append(f"The result was reused from run {result.from_run}: same code, data, settings and versions.")
    numbers = [bibliography.number(citation) for citation in (spec.citations if spec else [])]
    return MethodStep(
        node=node.id, name=node.name, tool=node.tool, text=" ".join(parts), citations=list(dict.fromkeys(numbers))
    )


def _input_text(view: RunView, name: str, ref: str) -> str:
    label = name.replace("_", " ")
    if ref.startswith(DATA_PREFIX):
        return f"the {label} from {ref.removeprefix(DATA_PREFIX)}"
    upstream, _, output = ref.partition(".")
    node = view.plan.node(upstream) if view.plan else None
    which = output.replace("_", " ")
    given = "" if which == label else f" ({which})"
    return f"the {label} from the step {node.name if node else upstream!r}{given}"


def _task(spec: ToolSpec) -> str:
    """Return a tool's description as prose: `Find genes that differ.` becomes what the step was to do."""
    text = shorten(_unquoted(spec))
    first = (text.split() or [""])[0]
    lead = "The question was" if first == "How" else "The task was to" if first.lower() in _TOLD else ""
    lead = "This step" if first.removesuffix("s").lower() in _TOLD and first.endswith("s") else lead
    return f"{lead} {text[0].lower()}{text[1:]}" if lead else text


_TOLD = frozenset(
    "add check combine compare compute correlate count cross-tabulate describe do draw estimate find fit give group "
    "keep list look mark model name order plot put rank reduce say scale show spread take test translate write".split()
)
"""The words with which descriptions of tools begin, that say what to do."""


def effective_params(spec: ToolSpec | None, node: TaskNode, result: NodeResult | None) -> dict[str, Any]:
    """Return every parameter with the value it had: recorded, else planned, else the tool's default."""
    given = dict(result.params) if result is not None and result.params else dict(node.params)
    defaults = {param.name: param.default for param in spec.params if not param.required} if spec else {}
    return {**given, **{name: value for name, value in defaults.items() if name not in given}}


def settings_sentences(spec: ToolSpec | None, node: TaskNode, result: NodeResult | None) -> list[str]:
    """Return what was set and what kept its default, one sentence each, with units; empty values are left out."""
    given = set(result.params if result is not None and result.params else node.params)
    texts: dict[bool, list[str]] = {True: [], False: []}
    for name, value in effective_params(spec, node, result).items():
        if value is None or value == "" or value == []:
            continue
        param = spec.param(name) if spec else None
        unit = f" {param.unit}" if param and param.unit else ""
        texts[name in given].append(f"{name.replace('_', ' ')} ({value_text(value, param)}{unit})")
    told = [f"Set for this analysis: {listed(texts[True])}."] if texts[True] else []
    return [*told, f"Kept at the default: {listed(texts[False])}."] if texts[False] else told


def value_text(value: Any, param: ParamSpec | None = None) -> str:
    """Return a parameter's value as a reader expects it; given numbers keep the digits they were given with."""
    if isinstance(value, list | tuple):
        return ", ".join(value_text(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1e6 else format_number(value)
    kind = param.kind if param else ""
    return f"'{value}'" if kind in ("column", "level", "text") and " " in str(value) else str(value)


def _software_step(view: RunView, bibliography: Bibliography) -> MethodStep | None:
    versions: dict[str, str] = {}
    for _, result in planned(view):
        if result is not None and result.status in DONE:
            versions.update(result.versions)
    if not versions:
        return None
    texts, numbers = [], []
    for package in sorted(versions, key=str.lower):
        paper = PAPERS.get(package.lower())
        text = f"{package} {versions[package]}"
        if paper is not None:
            number = bibliography.number(paper)
            numbers.append(number)
            text += f" [{number}]"
        texts.append(text)
    python = view.record.environment.get("python", "")
    system = view.record.environment.get("platform", "")
    base = f"Python {python}" if python else "Python"
    where = f" on {system}" if system else ""
    text = f"Computed with {base}{where} and {listed(texts)}."
    kernels = sorted({r.computed_on for _, r in planned(view) if r is not None and r.status in DONE} - {""})
    text += f" Linear algebra: {'; '.join(kernels)}." if kernels else ""
    return MethodStep(node="", name="Software", tool="", text=text, citations=sorted(set(numbers)))


def _unquoted(spec: ToolSpec) -> str:
    """Return a tool's description as prose: names in backticks lose them, parameters read as in the settings."""

    def plain_name(match: re.Match[str]) -> str:
        return match[1].replace("_", " ") if spec.param(match[1]) else match[1]

    return re.sub(r"`([^`]+)`", plain_name, spec.description)


def shorten(text: str, limit: int = DESCRIPTION_LENGTH) -> str:
    """Return `text`, or its leading whole sentences when it is longer than `limit` characters."""
    text = one_line(text)
    if len(text) <= limit:
        return text
    kept = ""
    for sentence in split_sentences(text):
        if kept and sentence.end > limit:
            break
        kept = text[: sentence.end]
    return kept
