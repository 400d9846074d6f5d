"""What models can do about a step that failed and that no declared repair helps: another setting, or other code.

A tool of the catalogue keeps its code, and what was decided keeps its value. Code that a model wrote may be written
anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.agents.coder import Coder
from engine.agents.mender import StepMender
from engine.domain.plan import TaskNode
from engine.domain.profile import Profile
from engine.domain.results import NodeResult
from engine.domain.toolspec import Repair, ToolSpec, WrittenTool
from engine.steps.repairs import Failure
from engine.toolbox.shelf import Shelf
from engine.toolbox.written import spec_of


@dataclass(frozen=True, slots=True)
class Mending:
    """Mends steps by models."""

    mender: StepMender
    coder: Coder
    shelf: Shelf
    profiles: Callable[[str], Sequence[Profile]] = lambda run_id: ()
    """Run id -> what was found in its files."""
    lessons: Callable[[str], Sequence[str]] = lambda tool: ()
    """Tool -> what earlier repairs of its steps taught."""
    held: bool = False
    """True when other code has to be read by a person first: then a step with code that fails has failed."""

    def again(
        self,
        run_id: str,
        question: str,
        node: TaskNode,
        result: NodeResult,
        failed: Sequence[Failure],
        spent: Sequence[Repair],
    ) -> tuple[ToolSpec, Repair] | None:
        """Return the tool to try next and what is changed, or None when there is nothing more to try.

        Args:
            run_id: the run that calls are counted for.
            question: what the step helps to answer.
            node: the step.
            result: its result, which failed.
            failed: all tries so far, the newest last.
            spent: the repairs so far.

        Raises:
            ModelUnavailable: when no model gave an answer.
            PlanError: when no answer has the form of a tool.
        """
        spec = failed[-1].spec
        if not self.shelf.has(spec.name):
            lessons = self.lessons(spec.name)
            fix = self.mender.repair(run_id, question, node, spec, result.params, result.error, spent, lessons)
            return (spec, fix) if fix is not None else None
        versions = [(item.spec.name, item.error) for item in failed]
        tool = None if self.held else self.anew(versions, question, run_id)
        if tool is None:
            return None
        return spec_of(tool), Repair(pattern="", change={}, why=f"{tool.model} wrote the code anew as {tool.name}")

    def anew(self, failed: Sequence[tuple[str, str]], question: str, run_id: str) -> WrittenTool | None:
        """Return code written anew, kept as a draft, or None when there is no other or the model gives up.

        Args:
            failed: names of the written tools that failed, the newest last, each with why.
            question: what they help to answer.
            run_id: the run that calls are counted for.

        Raises:
            ModelUnavailable: when no model gave an answer.
            PlanError: when no answer has the form of a tool.
        """
        versions = [(self.shelf.record(name).tool, why) for name, why in failed]
        tool = self.coder.rewrite(versions, question, self.profiles(run_id), run_id=run_id)
        if tool is None or any(tool.name == old.name for old, _ in versions):
            return None
        self.shelf.keep(tool, by=tool.model)
        return tool
