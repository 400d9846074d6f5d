"""Puts steps together: what a step needs comes from a step already planned, from a file, or from a new step.

Tools are chained over data types. A step whose required parameters the question or the data settle may be made on the way to
another; one that needs a choice nobody made is never slipped in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.data.catalogue import KINDS, TABULAR
from engine.domain.datatypes import DataType
from engine.domain.plan import DATA_PREFIX, Dataset, TaskNode
from engine.domain.profile import TypeGuess
from engine.domain.toolspec import ToolSpec
from engine.planning.binding.files import comes_on_the_way
from engine.planning.naming.columns import column_mentions
from engine.planning.tables.samples import sample_sheet
from engine.planning.tables.sheets import Data, Sheet, is_group
from engine.planning.telling.lacking import missing
from engine.text.names import name_parts
from engine.text.stems import stem
from engine.text.tokens import tokens
from engine.toolbox.registry import ToolRegistry

_DEEPEST = 6
ALIKE = 0.9
"""From this strength on the name of a column is the name of what a step would make."""
Maker = Callable[[ToolSpec], str | None]
"""Plans a tool that needs parameters, with all that belongs to it, and returns its step; None when they cannot be settled."""


class StepBuilder:
    """Collects the steps and datasets of a plan."""

    def __init__(self, registry: ToolRegistry, data: Data) -> None:
        self.registry = registry
        self.data = data
        self.nodes: list[TaskNode] = []
        self.datasets: dict[str, Dataset] = {}
        self.make: Maker = lambda spec: None
        self.said: Callable[[ToolSpec], dict[str, Any]] = lambda spec: {}
        """The settings that the question names for a step made on the way."""
        self.words: frozenset[str] = frozenset()
        """The stems of the question."""
        self.rows = ""
        """The condition that the samples of a matrix meet which the steps are about; "" for all."""
        self._samples: str = ""
        self._since = 0

    @property
    def here(self) -> list[TaskNode]:
        """The steps on the samples that are planned for now; those before are of others."""
        return self.nodes[self._since :]

    def about(self, samples: str, rows: str) -> None:
        """Say which samples of a matrix the next steps are about: what was made of others serves none of them."""
        if samples != self._samples:
            self._samples, self._since, self.rows = samples, len(self.nodes), rows

    def back_to(self, steps: int) -> None:
        """Forget all steps but the first so many."""
        del self.nodes[steps:]
        self._since = min(self._since, steps)

    def add(
        self, spec: ToolSpec, params: Mapping[str, Any], *, inputs: Mapping[str, str] | None = None, settled: Sequence[str] = (),
        reasons: Sequence[str] = (), name: str = "", priority: int = 0, path: tuple[str, ...] = (),
    ) -> str:  # fmt: skip
        """Add a step and return its id; inputs not given are found by type.

        Args:
            spec: its tool.
            params: values; empty ones are left out.
            inputs: input name -> reference.
            settled: which of the parameters the question or the data decided; all of them by default.
            reasons: why the step is here, a sentence each.
            name: what the step is called; the tool's title by default.
            priority: higher for the steps that answer the question; they lead the report's summary.
            path: the tools that are being planned above this one.

        Raises:
            PlanError: when an input can be made from nothing the user gave.
        """
        given = {key: value for key, value in params.items() if value not in (None, "", [])}
        given |= self._made_columns(spec, given, (*path, spec.name))
        for tool in spec.requires_tool:
            self._before(spec, tool, path)
        wired = dict(inputs or {})
        for port in spec.inputs:
            twin = port.optional and any(other.type == port.type for other in spec.inputs if other is not port)
            if port.name in wired or twin:  # of two lists the second is never simply the next one
                continue
            ref = self.source(port.type, taken=set(wired.values()), build=not port.optional, path=(*path, spec.name))
            if ref is not None:
                wired[port.name] = ref
            elif not port.optional:
                raise missing([s.profile for s in self.data.sheets], spec, port.type)
        defaults = {p.name: p.default for p in spec.params if p.default not in (None, "", [])}
        same = next(
            (n for n in self.nodes if n.tool == spec.name and n.inputs == wired and n.params == {**defaults, **given}),
            None,
        )
        if same is not None:
            return self.raise_priority(same.id, priority)
        node = TaskNode(
            id=f"n{len(self.nodes) + 1}", name=name or spec.title, tool=spec.name, task_type=spec.task_type, domain=spec.domain,
            description=spec.description.split(". ")[0].rstrip(".") + ".", tools_needed=[spec.name], inputs=wired,
            params={**defaults, **given}, priority=priority, reasons=list(reasons),
            settled=dict.fromkeys((key for key in given if not settled or key in settled), "plan"),
        )  # fmt: skip
        self.nodes.append(node)
        return node.id

    def raise_priority(self, node: str, priority: int) -> str:
        """Let a step that is planned already count as one that answers; returns its id."""
        at = next(at for at, item in enumerate(self.nodes) if item.id == node)
        self.nodes[at] = self.nodes[at].model_copy(update={"priority": max(priority, self.nodes[at].priority)})
        return node

    def _made_columns(self, spec: ToolSpec, given: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, str]:
        """Return the columns that steps make for parameters nothing else fills, and plan the step where there is none.

        A column of the file that is called like the one a step would make is taken; an optional one is made only when the
        words name it.
        """
        found: dict[str, str] = {}
        for param in spec.params:
            makers = [part.split(":") for part in param.made_by.split(",") if part]
            if not makers or given.get(param.name):
                continue
            here = [column for tool, column in makers if any(node.tool == tool for node in self.here)]
            here = here or [column for _, made in makers if (column := self._existing(made))]
            tool, column = makers[-1]
            if not here and (
                param.required or param.default or self.words >= {stem(part) for part in name_parts(column)}
            ):
                self.add(
                    self.registry.get(tool),
                    self.said(self.registry.get(tool)),
                    reasons=[f"Makes {column!r}, by which the next step groups."],
                    path=path,
                )
                here = [column]
            if here:
                found[param.name] = here[0]
        return found

    def _existing(self, made: str) -> str:
        """Return the column of a file that is called like one that a step would make, or ""."""
        text = made.replace("_", " ")
        for sheet in self.data.sheets:
            found = [
                m
                for m in column_mentions(tokens(text), [c for c in sheet.columns if is_group(c)], text)
                if m.strength >= ALIKE
            ]
            if found:
                return max(found, key=lambda m: m.strength).column
        return ""

    def _before(self, spec: ToolSpec, name: str, path: tuple[str, ...]) -> None:
        """Plan a step that this tool needs to have been done to its data: one that takes and gives the same type."""
        if name in path or name not in self.registry or any(node.tool == name for node in self.here):
            return
        other = self.registry.get(name)
        changed = {port.type for port in other.inputs} & {port.type for port in other.outputs}
        if changed & {port.type for port in spec.inputs} and not any(p.required for p in other.params):
            self.add(
                other, self.said(other), path=(*path, spec.name), reasons=["Prepares the data for the steps after it."]
            )

    def source(
        self, wanted: DataType, *, taken: set[str] | None = None, build: bool = True, path: tuple[str, ...] = ()
    ) -> str | None:
        """Return a reference to data of a type: newest step first, then files, then (if `build`) a new step."""
        taken = taken or set()
        for node in reversed(self.here):
            for port in self.registry.get(node.tool).outputs:
                if (
                    port.type == wanted
                    and f"{node.id}.{port.name}" not in taken
                    and wanted not in (DataType.TABLE, DataType.FIGURE)
                ):
                    return f"{node.id}.{port.name}"
        ref = self.file(wanted, taken=taken)
        if ref is not None or not build or len(path) > _DEEPEST:
            return ref
        for spec in self.producers(wanted):
            if spec.name in path or not self.can_make(wanted, path):
                continue
            if not all(port.optional or self.can_make(port.type, (*path, spec.name)) for port in spec.inputs):
                continue
            why = [f"Makes the {wanted.value.replace('_', ' ')} a later step needs."]
            needs = any(p.required for p in spec.params)
            made = self.make(spec) if needs else self.add(spec, self.said(spec), reasons=why, path=path)
            if made:
                output = next(port.name for port in spec.outputs if port.type == wanted)
                return f"{made}.{output}"
        return None

    def can_make(self, wanted: DataType, path: tuple[str, ...] = ()) -> bool:
        """Say whether data of a type can be had from the files, directly or through runnable tools."""
        if any(sheet.serves(wanted) for sheet in self.data.sheets):
            return True
        if wanted is DataType.SAMPLE_SHEET and sample_sheet(self.data) is not None:
            return True
        if any(port.type == wanted for node in self.here for port in self.registry.get(node.tool).outputs):
            return True
        if len(path) > _DEEPEST:
            return False
        return any(
            spec.name not in path
            and all(port.optional or self.can_make(port.type, (*path, spec.name)) for port in spec.inputs)
            for spec in self.producers(wanted)
        )

    def producers(self, wanted: DataType) -> list[ToolSpec]:
        """Return the tools that make data of a type out of data of other types, those without choices first."""
        # A table any tool could make is not what anyone asks for: only files serve as plain tables.
        if wanted in (DataType.TABLE, DataType.FIGURE):
            return []
        makers = [
            spec
            for spec in self.registry.producers(wanted)
            if all(port.type != wanted for port in spec.inputs) and comes_on_the_way(spec)
        ]
        return sorted(makers, key=lambda spec: any(p.required for p in spec.params))

    def file(self, wanted: DataType, *, taken: set[str] | None = None) -> str | None:
        """Return a reference to the file that serves best as a type, or None."""
        taken = taken or set()
        for sheet in self.data.serving(wanted):
            guess = sheet.serves(wanted)
            if guess is None or (guess.type != wanted and wanted is not DataType.TABLE):
                continue
            ref = self.use(sheet, wanted)
            if ref not in taken:
                return ref
        if wanted is DataType.SAMPLE_SHEET:
            sheet = sample_sheet(self.data)
            return self.use(sheet, wanted) if sheet is not None else None
        return None

    def use(self, sheet: Sheet, wanted: DataType) -> str:
        """Put a file into the plan as a type and return the reference to it."""
        if sheet.step:
            return sheet.step
        guess = self._reading_of(sheet, wanted)
        for dataset in self.datasets.values():
            if dataset.path == sheet.profile.path and dataset.type == guess.type and dataset.read == guess.read:
                return DATA_PREFIX + dataset.name
        name, number = sheet.name, 2
        while name in self.datasets:
            name, number = f"{sheet.name}#{number}", number + 1
        profile = sheet.profile
        as_table = guess.type is DataType.TABLE and profile.best is not None and not KINDS[profile.best.type].records
        shape = f"A table of {profile.rows_text or '?'} rows x {profile.columns or '?'} columns"
        self.datasets[name] = Dataset(
            name=name, path=profile.path, sha256=profile.sha256, bytes=profile.bytes, type=guess.type, read=guess.read,
            summary=shape if as_table else profile.summary,
        )  # fmt: skip
        return DATA_PREFIX + name

    def with_columns(self, sheet: Sheet, wanted: DataType, used: Sequence[str]) -> str | None:
        """Plan the steps that make the columns of a view that are used; return where they are, None when none is."""
        ref = None
        for made in sheet.made:
            spec = next((t for t in self.registry if any(p.role == "formula" for p in t.params)), None)
            if made.column not in used or spec is None:
                continue
            roles = {p.role: p.name for p in spec.params}
            params = {roles["new_name"]: made.column, roles["formula"]: made.expression}
            node = self.add(
                spec, params, inputs={spec.inputs[0].name: ref or self.use(sheet, wanted)}, reasons=[made.why]
            )
            ref = f"{node}.{spec.outputs[0].name}"
        return ref

    def _reading_of(self, sheet: Sheet, wanted: DataType) -> TypeGuess:
        if wanted is DataType.SAMPLE_SHEET and sample_sheet(self.data) is sheet:
            from engine.planning.tables.samples import index_of

            return index_of(self.data, sheet)
        guess = sheet.serves(wanted) or sheet.profile.types[0]
        if wanted is DataType.TABLE and guess.type in TABULAR:  # no column becomes row names
            read = {key: value for key, value in guess.read.items() if key != "index_col"}
            kind = guess.type if guess.type is not DataType.SAMPLE_SHEET else DataType.TABLE
            return guess.model_copy(update={"type": kind, "read": read})
        return guess

    def used_datasets(self) -> list[Dataset]:
        """Return the datasets some step reads, in the order they were added."""
        refs = {ref for node in self.nodes for ref in node.inputs.values()}
        return [dataset for dataset in self.datasets.values() if DATA_PREFIX + dataset.name in refs]
