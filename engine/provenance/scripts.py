"""Takes the recorded script of a step apart, so that what is shown is what ran.

The catalogue may have changed since a run; the recorded text has not. Its functions become one cell of the
notebook, its last lines (read, call, save) another, with the sandbox's paths replaced.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from engine.domain.plan import DATA_PREFIX, TaskNode
from engine.domain.report import RunView
from engine.domain.results import NodeResult
from engine.errors import EngineError
from engine.ports.artifacts import ArtifactStore
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.script import StepInput, all_io, file_input, step_script, stored_input


@dataclass(frozen=True, slots=True)
class StepCode:
    """A step's script in its parts."""

    functions: dict[str, str]
    """Name -> source of the functions and of the numbers in capitals that they use, in the order of the script.

    Reading and writing functions are among them."""
    lines: str
    """What reads the inputs, calls the tool and saves the result."""

    def tool_functions(self) -> str:
        """Return the sources that are not today's reading and writing functions, word for word."""
        known = {name: text.rstrip() for name, text in all_io().items()}
        return "\n\n\n".join(text for name, text in self.functions.items() if known.get(name) != text) + "\n"

    def imports(self) -> set[str]:
        """Return the top-level names of the modules the code imports."""
        found: set[str] = set()
        for text in [*self.functions.values(), self.lines]:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Import):
                    found.update(alias.name.split(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    found.add(node.module.split(".")[0])
        return found - {"__future__"}


def split_script(text: str) -> StepCode:
    """Split a script into its functions and its remaining statements.

    Raises:
        SyntaxError: when the text is not Python.
    """
    source = text.splitlines()
    functions: dict[str, str] = {}
    rest: list[str] = []
    for node in ast.parse(text).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        segment = "\n".join(source[first - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = segment
        elif (number := _number(node)) is not None:  # it stands where the functions stand that look it up
            functions[number] = segment
        elif not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            rest.append(segment)
    return StepCode(functions=functions, lines="\n".join(rest) + "\n")


def _number(node: ast.stmt) -> str | None:
    """Return the name of a number in capitals that a statement sets, None for any other statement."""
    if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Constant)):
        return None
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) and target.id.isupper() else None


def step_code(
    view: RunView, node: TaskNode, result: NodeResult, registry: ToolRegistry, artifacts: ArtifactStore | None
) -> StepCode:
    """Return the code of a step: as recorded when the store is at hand, else as the catalogue gives it.

    Raises:
        NotFoundError: when neither has it.
    """
    text = recorded_script(result, artifacts)
    return split_script(text if text is not None else _rebuilt(view, node, result, registry))


def recorded_script(result: NodeResult, artifacts: ArtifactStore | None) -> str | None:
    """Return the script a step ran, or None when it is not stored here."""
    if artifacts is None or not result.code_sha256:
        return None
    try:
        return artifacts.path(result.code_sha256).read_text(encoding="utf-8")
    except (EngineError, OSError):
        return None


def _rebuilt(view: RunView, node: TaskNode, result: NodeResult, registry: ToolRegistry) -> str:
    spec = registry.get(node.tool)
    inputs: dict[str, StepInput] = {}
    for port in spec.inputs:
        ref = node.inputs.get(port.name)
        if ref is None or port.name not in result.inputs:
            continue
        dataset = view.plan.dataset(ref.removeprefix(DATA_PREFIX)) if view.plan else None
        if ref.startswith(DATA_PREFIX) and dataset is not None:
            inputs[port.name] = file_input("", dataset, spec)
            continue
        upstream, _, output = ref.partition(".")
        source = view.plan.node(upstream) if view.plan else None
        given = registry.get(source.tool).output(output) if source else None
        kind = given.type if given else port.type
        inputs[port.name] = stored_input("", kind)
    return step_script(spec, inputs, result.params or node.params)


def redirect(lines: str, paths: Mapping[str, str], folder: str) -> str:
    """Return the closing lines of a script reading from `paths` (input name -> expression) and saving in `folder`.

    Raises:
        ValueError: when an input is read that `paths` does not have.
    """
    edits: list[tuple[int, int, int, str]] = []
    for node in ast.parse(lines).body:
        call = node.value if isinstance(node, ast.Assign | ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if call.func.id.startswith("read_") and isinstance(target, ast.Name) and target.id != "result":
            name = target.id
            if name not in paths:
                message = f"The recorded code reads an input {name!r} that the plan does not give this step."
                raise ValueError(message)
            edits.append((*_span(call.args[0]), paths[name]))
        elif call.func.id == "save_result":
            edits.append((*_span(call.args[2]), repr(folder)))
    changed = [line.encode() for line in lines.splitlines()]  # positions in a syntax tree count bytes
    for line, start, end, text in sorted(edits, reverse=True):
        changed[line] = changed[line][:start] + text.encode() + changed[line][end:]
    return b"\n".join(changed).decode() + "\n"


def _span(node: ast.expr) -> tuple[int, int, int]:
    assert node.end_col_offset is not None
    return node.lineno - 1, node.col_offset, node.end_col_offset
