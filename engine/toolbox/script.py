"""How a step of a plan becomes code.

One text serves three readers: the sandbox runs it, its hash keys the result cache, and the exported
notebook shows it. So it must be complete: the reading functions, the tool's helpers, the tool, the call.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.domain.datatypes import DataType
from engine.domain.hashing import sha256_text, sha256_value
from engine.domain.toolspec import ToolSpec
from engine.toolbox import io
from engine.toolbox.registry import function_source

STORED_READ: dict[DataType, dict[str, Any]] = {
    DataType.COUNT_MATRIX: {"index_col": 0},
    DataType.EXPRESSION_MATRIX: {"index_col": 0},
    DataType.SAMPLE_SHEET: {"index_col": 0},
}
"""How a step's own output is read back: only these types have meaningful row names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInput:
    """A file a step reads, relative to its working folder."""

    path: str
    type: DataType
    read: Mapping[str, Any] = field(default_factory=dict)

    def expression(self, path: str | None = None) -> str:
        """Return the Python expression that reads it; `path` (code, not text) replaces the file's own name."""
        options = "".join(f", {key}={value!r}" for key, value in sorted(self.read.items()))
        return f"read_data({path or repr(self.path)}, {self.type.value!r}{options})"


@functools.cache
def io_source() -> str:
    """Return the source of the reading and writing functions."""
    names = ("read_table", "read_matrix", "read_gene_sets", "read_gene_list", "read_anndata", "read_data",
             "write_data", "json_ready", "linear_algebra", "save_result")  # fmt: skip
    return "\n\n".join(function_source(getattr(io, name)) for name in names)


def tool_source(spec: ToolSpec) -> str:
    """Return the tool's function with the helpers it calls."""
    return "\n\n".join([*spec.helper_sources, spec.source])


def call_source(spec: ToolSpec, inputs: Mapping[str, StepInput], params: Mapping[str, Any], folder: str) -> str:
    """Return the lines that read the inputs, call the tool and save what it gives in `folder`."""
    lines = [f"{port.name} = {inputs[port.name].expression()}" for port in spec.inputs if port.name in inputs]
    arguments = [port.name if port.name in inputs else "None" for port in spec.inputs]
    arguments += [f"{param.name}={params[param.name]!r}" for param in spec.params if param.name in params]
    lines.append(f"result = {spec.function}({', '.join(arguments)})")
    kinds = {port.name: port.type.value for port in spec.outputs}
    lines.append(f"save_result(result, {kinds!r}, {folder!r})")
    return "\n".join(lines) + "\n"


def step_script(spec: ToolSpec, inputs: Mapping[str, StepInput], params: Mapping[str, Any]) -> str:
    """Return the whole code of a step, writing to `outputs/` in the working folder."""
    parts = [io_source(), tool_source(spec), call_source(spec, inputs, params, "outputs")]
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
            "code": sha256_text(io_source() + tool_source(spec)),
            "params": dict(params),
            "inputs": {
                name: [sha256, step_input.type.value, dict(step_input.read)]
                for name, (sha256, step_input) in inputs.items()
            },
            "versions": dict(versions),
        }
    )
