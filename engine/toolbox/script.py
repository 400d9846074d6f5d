"""How a step of a plan becomes code.

One text serves three readers: the sandbox runs it, its hash keys the result cache, and the exported
notebook shows it. So it must be complete, and it holds nothing else: what reads the step's inputs and writes
its outputs, as their kinds declare it, the tool's helpers, the tool, the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.data.catalogue import KINDS
from engine.data.kinds.table import limits_of, read_table
from engine.domain.datatypes import DataType
from engine.domain.encoding.hashing import sha256_text, sha256_value
from engine.domain.plan import Dataset
from engine.domain.toolspec import ToolSpec
from engine.toolbox.results import save_result
from engine.toolbox.sources import with_called
from engine.toolbox.written import WRITTEN


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInput:
    """A file a step reads, relative to its working folder."""

    path: str
    type: DataType
    read: Mapping[str, Any] = field(default_factory=dict)

    def expression(self) -> str:
        """Return the Python expression that reads it."""
        options = "".join(f", {key}={value!r}" for key, value in sorted(self.read.items()))
        return f"{KINDS[self.type].read.__name__}({self.path!r}{options})"


def file_input(path: str, dataset: Dataset, spec: ToolSpec) -> StepInput:
    """Return how a file of the user is read for a tool.

    Cells beyond a limit are missing to tools of the catalogue, which do not know them; written code has them, too.
    """
    limits = limits_of(dataset.read) if WRITTEN in spec.answers and KINDS[dataset.type].read is read_table else []
    read = {**dataset.read, "limits": limits} if limits else dataset.read
    return StepInput(path=path, type=dataset.type, read=read)


def stored_input(path: str, kind: DataType) -> StepInput:
    """Return how another step's output is read."""
    return StepInput(path=path, type=kind, read=KINDS[kind].stored)


def all_io() -> dict[str, str]:
    """Return name -> source of all that reads data of any kind and writes it."""
    return with_called([*(part for kind in KINDS.values() for part in (kind.read, kind.write)), save_result])


def _step_io(spec: ToolSpec, inputs: Iterable[StepInput]) -> str:
    readers = [KINDS[item.type].read for item in inputs]
    writers = [KINDS[port.type].write for port in spec.outputs]
    return "\n\n".join(with_called([*readers, *writers, save_result]).values())


def tool_source(spec: ToolSpec) -> str:
    """Return the tool's function with the helpers it calls."""
    return "\n\n".join([*spec.helper_sources, spec.source])


def call_source(spec: ToolSpec, inputs: Mapping[str, StepInput], params: Mapping[str, Any], folder: str) -> str:
    """Return the lines that read the inputs, call the tool and save what it gives in `folder`."""
    lines = [f"{port.name} = {inputs[port.name].expression()}" for port in spec.inputs if port.name in inputs]
    arguments = [port.name if port.name in inputs else "None" for port in spec.inputs]
    arguments += [f"{param.name}={params[param.name]!r}" for param in spec.params if param.name in params]
    lines.append(f"result = {spec.function}({', '.join(arguments)})")
    outputs = (f"{o.name!r}: ({o.type.value!r}, {KINDS[o.type].write.__name__})" for o in spec.outputs)
    lines.append(f"save_result(result, {{{', '.join(outputs)}}}, {folder!r})")
    return "\n".join(lines) + "\n"


def step_script(spec: ToolSpec, inputs: Mapping[str, StepInput], params: Mapping[str, Any]) -> str:
    """Return the whole code of a step, writing to `outputs/` in the working folder."""
    parts = [_step_io(spec, inputs.values()), tool_source(spec), call_source(spec, inputs, params, "outputs")]
    return "from __future__ import annotations\n\n\n" + "\n\n".join(parts)


def cache_key(
    spec: ToolSpec,
    params: Mapping[str, Any],
    inputs: Mapping[str, tuple[str, StepInput]],
    versions: Mapping[str, str],
) -> str:
    """Return the name under which this step's result can be found again.

    Args:
        inputs: input name -> (SHA-256 of the data, how it is read).
        versions: distribution -> version of what decides the result.
    """
    return sha256_value(
        {
            "code": sha256_text(_step_io(spec, (item for _, item in inputs.values())) + tool_source(spec)),
            "params": dict(params),
            "inputs": {
                name: [sha256, step_input.type.value, dict(step_input.read)]
                for name, (sha256, step_input) in inputs.items()
            },
            "versions": dict(versions),
        }
    )
