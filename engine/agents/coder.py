"""The coder: a model writes a tool for what no tool of the catalogue answers, and writes it anew when it fails.

What it writes has the form and the contract of every tool, runs in the same sandbox, is checked by postconditions and
is shown as what it is: code of a model, for one question, until people have approved it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from engine.agents.asks import Asks
from engine.agents.describe import files_text
from engine.agents.prompt_files import load_prompt
from engine.data.catalogue import KINDS
from engine.domain.base import Value
from engine.domain.datatypes import DataType
from engine.domain.profile import Profile
from engine.domain.toolspec import InputSpec, OutputSpec, ParamSpec, WrittenTool
from engine.errors import PlanError
from engine.ports.models.chat import Role
from engine.toolbox.checks import CHECKS
from engine.toolbox.typecheck import param_problem
from engine.toolbox.written import GENERAL, written_tool

ROUNDS = 3
"""So many times may code be given that has not the form of a tool."""
REPAIRS = 3
"""So many times is code that failed written anew by the coder, and after that"""
DEEPER = 2
"""so many times by the reasoning model, which sees all that failed."""


class CodeWanted(Value):
    """A part of a question that no tool answers."""

    task: str = Field(min_length=1, description="What the code has to find out, with columns and levels by name.")
    files: list[str] = Field(default=[], description="Names of the files it needs.")
    criteria: list[str] = Field(min_length=1, description="What a good result must meet, so that it can be checked.")


class CodeInput(Value):
    """An argument of the function and the file it is."""

    argument: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    file: str
    type: DataType


class CodeOutput(Value):
    """What the function gives."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    type: Literal["table", "figure", "gene_list"]


class CodeParam(Value):
    """What the function is told of this question by name, so that it serves another with other columns or values."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    kind: Literal["column", "columns", "level", "number", "text", "texts"]
    of: str = Field(
        default="", description="Of columns: the argument they are of. Of a level: the parameter of its column."
    )
    description: str = Field(min_length=3)
    value: str | float | list[str] = Field(description="For this question.")

    def spec(self) -> ParamSpec:
        """Return it as a parameter of a tool."""
        of = self.of if self.kind in ("column", "columns", "level") else ""
        return ParamSpec(name=self.name, kind=self.kind, of=of, description=self.description, required=True)


class WrittenCode(Value):
    """What the model answers."""

    title: str = Field(min_length=3, max_length=100)
    description: str = Field(min_length=10)
    inputs: list[CodeInput]
    outputs: list[CodeOutput] = Field(min_length=1)
    params: list[CodeParam] = []
    checks: list[str] = []
    code: str
    give_up: str = Field(default="", description="Why no code can answer this with these data; empty otherwise.")


@dataclass(frozen=True, slots=True)
class Wrote:
    """A tool, which file is which of its inputs, and its parameters for this question."""

    tool: WrittenTool
    files: dict[str, str]
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Coder:
    """Has code written by the model of the role `coder`."""

    models: Asks
    levels: bool = True

    def write(self, wanted: CodeWanted, question: str, profiles: Sequence[Profile], *, run_id: str = "") -> Wrote:
        """Return a tool for a part of a question.

        Raises:
            PlanError: when no answer has the form of a tool.
            ModelUnavailable: when no model gave an answer.
        """
        given = [profile for profile in profiles if profile.name in wanted.files] or list(profiles)
        known = {
            "question": question,
            "task": wanted.task,
            "criteria": "\n".join(wanted.criteria),
            "files": files_text(given, levels=self.levels),
            "readers": _readers({guess.type for profile in given for guess in profile.types}),
            "checks": _checks(),
        }
        names = {profile.name for profile in given}
        wrote = self._ask("coder", {**known, "failed": ""}, wanted.criteria, question, names, run_id)
        if isinstance(wrote, str):
            raise PlanError(f"The model does not write code for this part of the question: {wrote}")
        return wrote

    def rewrite(
        self,
        failed: Sequence[tuple[WrittenTool, str]],
        question: str,
        profiles: Sequence[Profile] = (),
        *,
        run_id: str = "",
    ) -> WrittenTool | None:
        """Return the newest tool written anew with the same inputs and outputs, or None when that is of no use.

        Args:
            failed: the versions that failed, the newest last, each with why.
            question: what it helps to answer.
            profiles: the files of the run.
            run_id: the run that the call is counted for.

        Raises:
            PlanError: when no answer has the form of a tool.
            ModelUnavailable: when no model gave an answer.
        """
        if len(failed) > REPAIRS + DEEPER:
            return None
        deep = len(failed) > REPAIRS
        newest = failed[-1][0]
        shown = failed if deep else failed[-1:]
        tried = "\n\n".join(f"Failed with: {why}\n```python\n{tool.source}```" for tool, why in shown)
        ports = [f"{port.name}: {port.type.value}" for port in newest.inputs]
        ports += [
            f"parameter {param.name} ({param.kind}{f' of {param.of}' if param.of else ''})" for param in newest.params
        ]
        known = {
            "question": question,
            "task": newest.description,
            "criteria": "\n".join(newest.criteria),
            "files": "\n".join([*ports, files_text(profiles, levels=self.levels)]),
            "readers": _readers({port.type for port in newest.inputs}),
            "checks": _checks(),
        }
        role: Role = "reasoning" if deep else "coder"
        wrote = self._ask(role, {**known, "failed": tried}, newest.criteria, question, set(), run_id, newest)
        return None if isinstance(wrote, str) else wrote.tool

    def _ask(
        self,
        role: Role,
        known: dict[str, str],
        criteria: list[str],
        question: str,
        files: set[str],
        run_id: str,
        before: WrittenTool | None = None,
    ) -> Wrote | str:
        """Return the tool, or why the model gives up."""
        issues: list[str] = []
        same = before and (_kinds(before.inputs), _kinds(before.outputs), {p.name: p.kind for p in before.params})
        for _ in range(ROUNDS):
            system, user = load_prompt("write_code").filled(**known, complaints="\n".join(issues))
            asked = self.models.ask(role, system, user, WrittenCode, purpose="write code for a step", run_id=run_id)
            code = asked.value
            if code.give_up:
                return code.give_up
            inputs = {item.argument: item.type for item in code.inputs}
            outputs = {item.name: DataType(item.type) for item in code.outputs}
            issues = [f"There is no file {item.file!r}." for item in code.inputs if files and item.file not in files]
            params = [param.spec() for param in code.params]
            if same and (inputs, outputs, {param.name: param.kind for param in params}) != same:
                issues.append("Arguments, parameters and outputs must stay what they were.")
            issues += _of_nothing(params, inputs)
            issues += filter(None, (param_problem(param.spec(), param.value) for param in code.params))
            try:
                tool = written_tool(
                    title=code.title,
                    description=code.description,
                    source=code.code,
                    inputs=inputs,
                    outputs=outputs,
                    params=params,
                    checks=[name for name in code.checks if name in GENERAL] or ["tables_not_empty"],
                    criteria=criteria,
                    question=question,
                    model=asked.model,
                    replaces=before.name if before else "",
                )
            except ValueError as err:
                issues += str(err).splitlines()
            else:
                if not issues:
                    values = {param.name: param.value for param in code.params}
                    return Wrote(tool, {item.argument: item.file for item in code.inputs}, values)
        raise PlanError("No code that was written has the form of a tool.", details={"issues": issues})


def _of_nothing(params: Sequence[ParamSpec], inputs: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with what parameters are of."""
    columns = {param.name for param in params if param.kind == "column"}
    for param in params:
        known = columns if param.kind == "level" else inputs if param.kind in ("column", "columns") else {""}
        if param.of not in known:
            what = "parameter of kind column" if param.kind == "level" else "argument"
            yield f"The parameter {param.name!r} is of {param.of!r}, which is no {what}."


def _kinds(ports: Sequence[InputSpec | OutputSpec]) -> dict[str, DataType]:
    return {port.name: port.type for port in ports}


def _readers(kinds: set[DataType]) -> str:
    """Return what a function is handed for files of these kinds."""
    lines = []
    for kind in sorted(kinds):
        told = (KINDS[kind].read.__doc__ or "").strip().splitlines() if kind in KINDS else []
        lines += [f"- {kind.value}: {told[0]}"] if told else []
    return "\n".join(lines)


def _checks() -> str:
    return "; ".join(f"{name} ({(CHECKS[name].__doc__ or '').strip().splitlines()[0]})" for name in GENERAL)
