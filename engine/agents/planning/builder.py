"""Chains tools over data types: what a step needs comes from a file, from a step already planned, or from a new step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.domain.datatypes import DataType, accepts
from engine.domain.plan import DATA_PREFIX, Dataset, TaskNode
from engine.domain.profile import Profile, TypeGuess
from engine.domain.toolspec import ToolSpec
from engine.errors import PlanError
from engine.toolbox.registry import ToolRegistry

LEAST_CONFIDENCE = 0.3
"""A file the profiler believes in less is not used for a type unless it is all there is."""
_DEEPEST = 6


class PlanBuilder:
    """Collects the steps and datasets of a plan."""

    def __init__(self, registry: ToolRegistry, profiles: Sequence[Profile]) -> None:
        self.registry = registry
        self.profiles = list(profiles)
        self.nodes: list[TaskNode] = []
        self.datasets: dict[str, Dataset] = {}

    def add(
        self,
        tool: str,
        params: Mapping[str, Any] | None = None,
        *,
        inputs: Mapping[str, str] | None = None,
        reasons: Sequence[str] = (),
        name: str = "",
        required: Sequence[str] = (),
        priority: int = 0,
        habits: Mapping[str, Any] | None = None,
        _path: tuple[str, ...] = (),
    ) -> str:
        """Add a step and return its id; inputs not given are found by type.

        Args:
            tool: a tool of the catalogue.
            params: values that the question or the data settle; empty ones are left out.
            inputs: input name -> reference.
            reasons: why the step is here, a sentence each.
            name: what the step is called in the plan; the tool's title by default.
            required: optional inputs that this plan needs.
            priority: higher for the steps that answer the question; they lead the report's summary.
            habits: values in place of the tool's defaults that nothing settles, used where `params` has none.

        Raises:
            PlanError: when an input can be made from nothing the user gave.
        """
        spec = self.registry.get(tool)
        wired = dict(inputs or {})
        for port in spec.inputs:
            if port.name in wired:
                continue
            must = not port.optional or port.name in required
            ref = self.source(port.type, taken=set(wired.values()), build=must, path=(*_path, tool))
            if ref is not None:
                wired[port.name] = ref
            elif must:
                raise missing(self.profiles, spec, port.type)
        node_id = f"n{len(self.nodes) + 1}"
        given = {key: value for key, value in (params or {}).items() if value not in (None, "", [])}
        defaults = {p.name: p.default for p in spec.params if p.default not in (None, "", [])}
        defaults |= habits or {}
        node = TaskNode(
            id=node_id,
            name=name or spec.title,
            tool=tool,
            description=spec.description.split(". ")[0].rstrip(".") + ".",
            task_type=spec.task_type,
            domain=spec.domain,
            tools_needed=[tool],
            inputs=wired,
            params={**defaults, **given},
            priority=priority,
            reasons=list(reasons),
            settled=dict.fromkeys(given, "plan"),
        )
        self.nodes.append(node)
        return node_id

    def source(
        self, wanted: DataType, *, taken: set[str] | None = None, build: bool = True, path: tuple[str, ...] = ()
    ) -> str | None:
        """Return a reference to data of a type: newest step first, then files, then (if `build`) a new step."""
        taken = taken or set()
        for node in reversed(self.nodes):
            for port in self.registry.get(node.tool).outputs:
                if port.type == wanted and f"{node.id}.{port.name}" not in taken:
                    return f"{node.id}.{port.name}"
        ref = self.file(wanted, taken=taken)
        if ref is not None or not build or len(path) > _DEEPEST:
            return ref
        for spec in self._producers(wanted):
            if spec.name in path or not self.can_make(wanted, path):
                continue
            if all(port.optional or self.can_make(port.type, (*path, spec.name)) for port in spec.inputs):
                made = self.add(
                    spec.name, reasons=[f"Makes the {wanted.value.replace('_', ' ')} a later step needs."], _path=path
                )
                output = next(port.name for port in spec.outputs if port.type == wanted)
                return f"{made}.{output}"
        return None

    def can_make(self, wanted: DataType, path: tuple[str, ...] = ()) -> bool:
        """Say whether data of a type can be had from the files, directly or through runnable tools."""
        if any(accepts(wanted, guess.type) for profile in self.profiles for guess in usable(profile)):
            return True
        if any(port.type == wanted for node in self.nodes for port in self.registry.get(node.tool).outputs):
            return True
        if len(path) > _DEEPEST:
            return False
        return any(
            spec.name not in path
            and all(port.optional or self.can_make(port.type, (*path, spec.name)) for port in spec.inputs)
            for spec in self._producers(wanted)
        )

    def _producers(self, wanted: DataType) -> list[ToolSpec]:
        # A table any tool could make is not what anyone asks for: only files serve as plain tables. A step
        # that needs choices only the user can make (required parameters) is never slipped in.
        if wanted in (DataType.TABLE, DataType.FIGURE):
            return []
        makers = [spec for spec in self.registry.producers(wanted) if not any(p.required for p in spec.params)]
        return [spec for spec in makers if all(port.type != wanted for port in spec.inputs)]

    def file(self, wanted: DataType, *, taken: set[str] | None = None) -> str | None:
        """Return a reference to the file that serves best as a type, or None."""
        taken = taken or set()
        able = [
            (guess.type == wanted, guess.confidence, -position, profile, guess)
            for position, profile in enumerate(self.profiles)
            for guess in usable(profile)
            if accepts(wanted, guess.type) and (guess.type == wanted or wanted is DataType.TABLE)
        ]
        for _, _, _, profile, guess in sorted(able, key=lambda item: item[:3], reverse=True):
            ref = self.use(profile, guess)
            if ref not in taken:
                return ref
        return None

    def use(self, profile: Profile, guess: TypeGuess, **read: Any) -> str:
        """Put a file into the plan as a type and return the reference to it; `read` overrides how it is read."""
        options = {**guess.read, **read}
        for dataset in self.datasets.values():
            if dataset.path == profile.path and dataset.type == guess.type and dataset.read == options:
                return DATA_PREFIX + dataset.name
        name, number = profile.name, 2
        while name in self.datasets:
            name, number = f"{profile.name}#{number}", number + 1
        self.datasets[name] = Dataset(
            name=name,
            path=profile.path,
            sha256=profile.sha256,
            bytes=profile.bytes,
            type=guess.type,
            read=options,
            summary=profile.summary,
        )
        return DATA_PREFIX + name

    def used_datasets(self) -> list[Dataset]:
        """Return the datasets some step reads, in the order they were added."""
        refs = {ref for node in self.nodes for ref in node.inputs.values()}
        return [dataset for dataset in self.datasets.values() if DATA_PREFIX + dataset.name in refs]


def usable(profile: Profile) -> list[TypeGuess]:
    """Return the types a file may be used as."""
    return [guess for guess in profile.types if guess.confidence >= LEAST_CONFIDENCE] or profile.types[:1]


_HUMAN = {
    DataType.COUNT_MATRIX: "a matrix of raw counts (genes x samples, whole numbers)",
    DataType.SAMPLE_SHEET: "a sample sheet (one row a sample, with the groups to compare)",
    DataType.GENE_SET_LIBRARY: "a gene set file (GMT)",
    DataType.ANNDATA: "single-cell data (h5ad)",
    DataType.SURVIVAL_TABLE: "a table with a time column and an event column",
    DataType.TABLE: "a table",
    DataType.EXPRESSION_MATRIX: "an expression matrix (genes x samples)",
    DataType.DE_TABLE: "a table of differential expression results",
    DataType.GENE_LIST: "a list of genes",
    DataType.RANKED_GENES: "a ranked list of genes",
}


def missing(profiles: Sequence[Profile], spec: ToolSpec, wanted: DataType) -> PlanError:
    """Return the error for an input no file can serve as: what is needed and why each file does not do."""
    need = _HUMAN.get(wanted, wanted.value.replace("_", " "))
    message = f"{spec.title} needs {need}, which the files do not hold."
    said = [(profile.name, why_not(profile)) for profile in profiles]
    reasons = [text if text.startswith(name) else f"{name}: {text}" for name, text in said]
    advice = " ".join(reasons) if reasons else "No data file was given; add one with the question."
    return PlanError(message, advice=advice, details={"missing": wanted.value})


def why_not(profile: Profile) -> str:
    """Return one sentence on what a file is, or why it is nothing usable."""
    if not profile.types or profile.best is None:
        return profile.warnings[0] if profile.warnings else f"{profile.name} cannot be read."
    matrix = {DataType.COUNT_MATRIX, DataType.EXPRESSION_MATRIX}
    if profile.best.type in matrix and profile.warnings:
        return profile.warnings[0]
    return profile.summary.rstrip(".") + "."
