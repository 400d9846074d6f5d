"""The decorator that turns a typed Python function into a tool, and the catalogue that holds tools.

The function is returned unchanged and its source is what runs and what the notebook shows. So it takes
data already read (see `engine.data.kind`), calls public libraries directly, imports them inside, and
returns a dict: output name -> value, plus optionally

- `findings`: list of {"text", "values": [{"name", "value", "unit", "low", "high", "n"}], "output", "row"}
- `warnings`: list of sentences the report must carry as limitations.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from engine.domain.datatypes import DataType
from engine.domain.toolspec import (
    Citation,
    InputSpec,
    Method,
    NextStep,
    OutputSpec,
    ParamKind,
    ParamSpec,
    Points,
    Repair,
    TaskType,
    ToolSpec,
)
from engine.errors import NotFoundError
from engine.toolbox.sources import numbers_used, with_called

_KINDS: dict[str, ParamKind] = {"int": "integer", "float": "number", "bool": "boolean", "str": "text",
                                "list[str]": "texts"}  # fmt: skip


def param(
    description: str,
    *,
    kind: ParamKind | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[str] = (),
    unit: str = "",
    of: str = "",
    role: str = "",
    required: bool | None = None,
    needed: bool = False,
    instead_of: Sequence[str] = (),
    most: int = 0,
    least: int = 0,
    distinct: int = 0,
    called: str = "",
    holds: str = "",
    otherwise: str = "",
    decides: str = "",
    made_by: str = "",
    each: Sequence[str] = (),
    says: Sequence[str] = (),
    words: Sequence[str] = (),
) -> dict[str, Any]:
    """Describe a parameter; its name, default and plain type come from the function's signature."""
    return {
        "description": description,
        "kind": "choice" if choices and kind is None else kind,
        "minimum": minimum,
        "maximum": maximum,
        "choices": list(choices),
        "unit": unit,
        "of": of,
        "role": role,
        "required": required,
        "needed": needed,
        "instead_of": list(instead_of),
        "most": most,
        "least": least,
        "distinct": distinct,
        "called": called,
        "holds": holds,
        "otherwise": otherwise,
        "decides": decides,
        "made_by": made_by,
        "each": list(each),
        "says": list(says),
        "words": list(words),
    }


def tool(
    *,
    name: str,
    title: str,
    description: str,
    domain: str,
    task_type: TaskType,
    inputs: dict[str, str],
    outputs: dict[str, str],
    params: dict[str, dict[str, Any]] | None = None,
    optional_inputs: Sequence[str] = (),
    input_words: Mapping[str, Sequence[str]] | None = None,
    holds: Mapping[str, str] | None = None,
    each_file: Sequence[str] = (),
    optional_outputs: Sequence[str] = (),
    points: Mapping[str, Points] | None = None,
    answers: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
    when: Sequence[str] = (),
    requires_tool: Sequence[str] = (),
    produces_for: Sequence[str] = (),
    checks: Sequence[str] = (),
    keywords: Sequence[str] = (),
    methods: Sequence[str] = (),
    complete: Sequence[str] = (),
    matched: str = "",
    citations: Sequence[Citation] = (),
    packages: Sequence[str] = (),
    seconds: float = 5.0,
    example: str = "",
    shows: Mapping[str, Sequence[str]] | None = None,
    leads: Mapping[str, str] | None = None,
    repairs: Sequence[Repair] = (),
    next_steps: Sequence[NextStep] = (),
) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., dict[str, Any]]]:
    """Describe the decorated function as a tool.

    Args:
        inputs: function argument -> DataType value, optionally followed by `: what it is`.
        outputs: key of the returned dict -> DataType value, optionally followed by `: what it is`.
        params: keyword-only argument -> `param(...)`; every keyword-only argument must be described.
        input_words: input -> patterns of what people say of its file, where two inputs take one type.
        holds: input -> the input whose values it contains.
        points: figure -> the table and columns of its points, where they have names.
        each_file: inputs of which several files make as many steps.
        answers: analyses it carries out; with what is declared of them here and not in `analyses.toml`, by name.
        methods: what it computes, told before it runs, `CONDITION and CONDITION => NAME, because WHY` (see `Method`);
            the first whose conditions hold is told, so the last has none.
        complete: parameters whose columns must hold a value in a row that is used.
        matched: the parameter that says which rows belong together where only those in every group are used.
        shows: output -> columns, in order, of the table (and, with no columns, the figure) that shows the answer.
        leads: number or row of a later finding -> pattern of what a question says that this finding answers.

    Raises:
        ValueError: when the description and the signature disagree.
    """

    def describe(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        called = with_called([function])
        spec = ToolSpec(
            name=name,
            title=title,
            description=description,
            domain=domain,
            task_type=task_type,
            inputs=[
                InputSpec(
                    name=key,
                    optional=key in optional_inputs,
                    words=list((input_words or {}).get(key, ())),
                    holds=(holds or {}).get(key, ""),
                    each_file=key in each_file,
                    **_port(text),
                )
                for key, text in inputs.items()
            ],
            params=_params(function, set(inputs), params or {}),
            outputs=[
                OutputSpec(name=key, optional=key in optional_outputs, points=(points or {}).get(key), **_port(text))
                for key, text in outputs.items()
            ],
            answers=list(answers),
            declares={key: dict(facts) for key, facts in answers.items()} if isinstance(answers, Mapping) else {},
            when=list(when),
            requires_tool=list(requires_tool),
            produces_for=list(produces_for),
            checks=list(checks),
            keywords=list(keywords),
            methods=[_method(text) for text in methods],
            complete=list(complete),
            matched=matched,
            citations=list(citations),
            packages=list(packages),
            seconds=seconds,
            example=example,
            source=called.pop(function.__name__),
            helper_sources=[*numbers_used(function), *called.values()],
            function=function.__name__,
            shows={output: list(columns) for output, columns in (shows or {}).items()},
            leads=dict(leads or {}),
            repairs=list(repairs),
            next_steps=list(next_steps),
        )
        function.tool_spec = spec  # type: ignore[attr-defined]
        return function

    return describe


def _method(text: str) -> Method:
    conditions, arrow, told = text.rpartition(" => ")
    name, _, why = told.partition(", because ")
    return Method(name=name.strip(), why=why.strip(), when=conditions.split(" and ") if arrow else [])


def _port(text: str) -> dict[str, Any]:
    kind, _, description = text.partition(":")
    return {"type": DataType(kind.strip()), "description": description.strip()}


def _params(function: Callable[..., Any], inputs: set[str], described: dict[str, dict[str, Any]]) -> list[ParamSpec]:
    signature = inspect.signature(function).parameters
    keyword_only = {key for key, value in signature.items() if value.kind is inspect.Parameter.KEYWORD_ONLY}
    positional = set(signature) - keyword_only
    if keyword_only != set(described) or positional != inputs:
        message = (
            f"Tool function {function.__name__!r}: inputs {sorted(inputs)} and params {sorted(described)} do not match "
            f"its signature (positional {sorted(positional)}, keyword-only {sorted(keyword_only)})"
        )
        raise ValueError(message)
    specs: list[ParamSpec] = []
    for key in (name for name in signature if name in keyword_only):
        argument = signature[key]
        facts = {k: v for k, v in described[key].items() if v is not None}
        annotation = str(argument.annotation).replace(" | None", "").strip("'\"")
        has_default = argument.default is not inspect.Parameter.empty
        facts.setdefault("kind", _KINDS.get(annotation, "text"))
        facts.setdefault("required", not has_default)
        specs.append(ParamSpec(name=key, default=argument.default if has_default else None, **facts))
    return specs


class ToolRegistry:
    """The catalogue: tools by name. An object that is handed around, so that tests and users can have their own."""

    def __init__(self, specs: Iterable[ToolSpec] = ()) -> None:
        self._specs: dict[str, ToolSpec] = {}
        self._aside: dict[str, ToolSpec] = {}
        for spec in specs:
            self.add(spec)

    def add(self, spec: ToolSpec) -> None:
        """Add a tool.

        Raises:
            ValueError: when the name is taken.
        """
        if spec.name in self._specs:
            message = f"Two tools are called {spec.name!r}: {self._specs[spec.name].title!r} and {spec.title!r}"
            raise ValueError(message)
        self._specs[spec.name] = spec

    def keep_aside(self, spec: ToolSpec) -> None:
        """Let a tool be found by its name, for plans that have it, without being among those that are planned."""
        self._aside[spec.name] = spec

    def is_aside(self, name: str) -> bool:
        """Say whether a tool is found by its name only."""
        return name in self._aside and name not in self._specs

    def get(self, name: str) -> ToolSpec:
        """Return the tool called `name`.

        Raises:
            NotFoundError: naming the closest tools.
        """
        if name in self:
            return self._specs.get(name) or self._aside[name]
        import difflib

        close = difflib.get_close_matches(name, self._specs, n=3, cutoff=0.4)
        message = f"There is no tool called {name!r}."
        advice = f"Did you mean {', '.join(close)}?" if close else "See `biodesk tools list`."
        raise NotFoundError(message, advice=advice)

    def __contains__(self, name: str) -> bool:
        """Say whether a tool has this name."""
        return name in self._specs or name in self._aside

    def __iter__(self) -> Iterator[ToolSpec]:
        """Iterate over the tools in the order they were added."""
        return iter(self._specs.values())

    def __len__(self) -> int:
        """Return the number of tools."""
        return len(self._specs)

    def discard(self, name: str) -> None:
        """Take a tool from those that are planned; plans that have it still find it."""
        if spec := self._specs.pop(name, None):
            self._aside[name] = spec

    def producers(self, wanted: DataType) -> list[ToolSpec]:
        """Return the runnable tools with an output of exactly this type."""
        return [spec for spec in self if spec.runnable and any(port.type == wanted for port in spec.outputs)]


def field_modules() -> list[str]:
    """Return the full names of the modules of tools: every module of every field folder beside this file.

    A field is a folder; putting one there, or a file into one, is all that a new tool takes. Tests may lie beside
    their tool as `test_*.py` and are left out.
    """
    home = Path(__file__).parent
    files = sorted(path for path in home.glob("*/*.py") if not path.name.startswith(("_", "test_")))
    return [f"engine.toolbox.{path.parent.name}.{path.stem}" for path in files]


def tools_of(module: ModuleType) -> list[ToolSpec]:
    """Return the tools that a module defines, in the order they stand in it."""
    found = (value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__)
    return [spec for value in found if (spec := getattr(value, "tool_spec", None)) is not None]


def builtin_tools() -> ToolRegistry:
    """Return the built-in catalogue. Importing the tools' modules is cheap: libraries are imported when called."""
    return ToolRegistry(spec for name in field_modules() for spec in tools_of(importlib.import_module(name)))
