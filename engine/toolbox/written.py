"""From code that a model wrote to a tool: what it must look like to be one, and the catalogue's entry for it.

The code runs where every tool's code runs, in the sandbox. What is checked here is its form: one function whose
signature is its contract, nothing that runs when it is only loaded, nothing imported that is not declared.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence

from engine.data.catalogue import KINDS
from engine.domain.datatypes import DataType
from engine.domain.encoding.hashing import sha256_value
from engine.domain.toolspec import InputSpec, OutputSpec, ParamSpec, ToolSpec, WrittenTool

PACKAGES: Mapping[str, str] = {
    "numpy": "numpy",
    "pandas": "pandas",
    "scipy": "scipy",
    "statsmodels": "statsmodels",
    "sklearn": "scikit-learn",
    "matplotlib": "matplotlib",
    "lifelines": "lifelines",
    "networkx": "networkx",
    "anndata": "anndata",
    "scanpy": "scanpy",
    "igraph": "igraph",
    "gseapy": "gseapy",
    "pydeseq2": "pydeseq2",
}
"""Module -> distribution: what written code may import beside the standard library."""
WRITTEN = "written_code"
"""What a written tool answers: no declared analysis, only the question it was written for."""
GENERAL = ("tables_not_empty", "p_values_valid", "findings_match_tables")
"""The postconditions that fit any tool."""
LONGEST = 20_000
"""Characters of code."""


def written_tool(
    *,
    title: str,
    description: str,
    source: str,
    inputs: Mapping[str, DataType],
    outputs: Mapping[str, DataType],
    params: Sequence[ParamSpec] = (),
    checks: Sequence[str] = (),
    criteria: Sequence[str] = (),
    question: str = "",
    model: str = "",
    replaces: str = "",
) -> WrittenTool:
    """Return code as a tool.

    Raises:
        ValueError: with a sentence a line on everything that keeps it from being one.
    """
    issues = list(_issues(source, list(inputs), [param.name for param in params]))
    issues += [f"There is no check {name!r}; there is {', '.join(GENERAL)}." for name in checks if name not in GENERAL]
    issues += [] if outputs else ["It declares no output."]
    issues += [f"{kind.value} cannot be read by a tool." for kind in inputs.values() if kind not in KINDS]
    issues += [f"{kind.value} cannot be given by a tool." for kind in outputs.values() if kind not in KINDS]
    if issues:
        raise ValueError("\n".join(issues))
    told = [param.model_dump() for param in params]
    whole = {"source": source, "inputs": dict(inputs), "outputs": dict(outputs), "params": told, "checks": [*checks]}
    return WrittenTool(
        name=f"written_{sha256_value(whole)[:10]}",
        title=title,
        description=description,
        source=source.rstrip("\n") + "\n",
        function=_main(ast.parse(source)).name,
        inputs=[InputSpec(name=name, type=kind) for name, kind in inputs.items()],
        outputs=[OutputSpec(name=name, type=kind) for name, kind in outputs.items()],
        params=list(params),
        checks=list(checks),
        packages=sorted({PACKAGES[name] for name in _imported(ast.parse(source)) if name in PACKAGES}),
        criteria=list(criteria),
        question=question,
        model=model,
        replaces=replaces,
    )


def as_module(tool: WrittenTool) -> str:
    """Return a written tool as a module of a field's folder, to be named, declared and tested by a person."""
    name = tool.function
    inputs = {port.name: port.type.value for port in tool.inputs}
    outputs = {port.name: port.type.value for port in tool.outputs}
    before, _, main = tool.source.rpartition(f"def {name}(")
    decorator = [
        "@tool(",
        f"    name={name!r},",
        f"    title={tool.title!r},",
        f"    description={tool.description!r},",
        '    domain="general",',
        '    task_type="analysis",',
        f"    inputs={inputs!r},",
        f"    outputs={outputs!r},",
        f"    checks={tuple(tool.checks)!r},",
        f"    packages={tuple(tool.packages)!r},",
        f"    example={tool.question!r},",
        ")",
    ]
    head = (
        f'"""{tool.title}."""\n\nfrom __future__ import annotations\n\nfrom engine.toolbox.registry import tool\n\n\n'
    )
    return head + before + "\n".join(decorator) + f"\ndef {name}(" + main


def spec_of(tool: WrittenTool) -> ToolSpec:
    """Return the catalogue's entry for a written tool."""
    return ToolSpec(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        domain="written",
        task_type="analysis",
        inputs=tool.inputs,
        params=tool.params,
        outputs=tool.outputs,
        answers=[WRITTEN],
        checks=tool.checks,
        packages=tool.packages,
        example=tool.question,
        source=tool.source,
        function=tool.function,
    )


def _issues(source: str, inputs: list[str], params: list[str]) -> Iterator[str]:
    if len(source) > LONGEST:
        yield f"The code has {len(source):,} characters; at most {LONGEST:,} are taken."
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as err:
        yield f"The code is no Python: {err}"
        return
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not functions:
        yield "The code defines no function."
        return
    if len(functions) != len(tree.body):
        yield "Only functions may stand at the outermost level; imports go inside them."
    main = _main(tree)
    if [argument.arg for argument in main.args.args] != inputs:
        yield f"{main.name} must take exactly its inputs as positional arguments, in this order: {', '.join(inputs)}."
    if [argument.arg for argument in main.args.kwonlyargs] != params:
        yield f"{main.name} must take exactly its parameters as keyword-only arguments: {', '.join(params) or 'none'}."
    if main.args.vararg or main.args.kwarg or main.args.posonlyargs:
        yield f"{main.name} must name each of its arguments."
    for name in sorted(_imported(tree)):
        if name not in PACKAGES and name not in sys.stdlib_module_names:
            yield f"{name!r} cannot be imported here; there are the standard library, {', '.join(PACKAGES)}."


def _main(tree: ast.Module) -> ast.FunctionDef:
    """Return the last function: those before it are its helpers."""
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)][-1]


def _imported(tree: ast.Module) -> set[str]:
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}
