"""Look-ups in the runs of the workspace: which of them used a tool, a package, a method, or name something."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from engine.domain.base import Value
from engine.domain.findings import Finding, FindingValue
from engine.domain.plan import TaskDag
from engine.domain.results import RunRecord
from engine.errors import IntegrityError, SchemaTooNew
from engine.ports.runs import RunStore
from engine.strategies.react.lookup import Lookup, LookupQuestion, Observation, Step
from engine.toolbox.registry import ToolRegistry

SHOWN, MOST = 10, 10_000

_RUNS = re.compile(
    r"^\W*(?:(?:can|could) you |please |show me |list |tell me )*"
    r"(?:which|what|how many|any|all|list|show|did any|have any)"
    r"(?: of)?(?: (?:the|our|my|all|past|earlier|previous|stored|other))* (?:runs?|analys[ei]s)"
    r"(?: (?:have|has|had|did|do|are|were|we|i|that|which|there))* "
    r"(?:use[ds]?|using|with|ran|run with|made with|done with|of|on|about|involv\w+|contain\w*|mention\w*) "
    r"(?:the |a |an )?(?P<what>[^?.!,;]{2,60}?)\s*[?.!]*\s*$",
    re.IGNORECASE,
)
"""What asks which runs had something."""


class Term(Value):
    """A name: of a tool, a package, a method, a file."""

    name: str


@dataclass(frozen=True, slots=True)
class RunLookups:
    """Look-ups in the runs of a workspace."""

    runs: RunStore
    registry: ToolRegistry

    def __call__(self, asked: LookupQuestion) -> list[Lookup]:
        """Return the look-ups there are for a question."""
        return [
            Lookup(
                "runs_with",
                "Runs of this workspace whose steps use a tool, package or method, or whose question or files name it.",
                Term,
                lambda taken: self._runs(taken, asked.before),
                _terms,
            )
        ]

    def _runs(self, taken: Term, before: str) -> Observation:
        looked = [run for run in self.runs.runs(limit=MOST) if not before or run.created_at < before]
        used: list[str] = []
        named: list[str] = []
        for run in looked:
            label = f"{run.run_id} of {run.created_at[:10]} ({run.status})"
            if steps := self._steps_with(run, taken.name):
                used.append(f'{label}, "{run.question}": {", ".join(steps)}.')
            elif _has(taken.name, [run.question, run.name, *run.data]):
                named.append(f'{label} names it: "{run.question}".')
        if not looked:
            return Observation(lines=["No run is stored in this workspace yet."], whole=True)
        many = f"{len(looked):,} run{'s' if len(looked) != 1 else ''}"
        text = f"Of {many} stored, {len(used)} had a step with {taken.name} in the plan"
        text += f", and {len(named)} more only name it." if named else "."
        told = [*used, *named]
        more = [f"{len(told) - SHOWN} more are not listed."] if len(told) > SHOWN else []
        counted = [FindingValue(name="runs", value=len(looked)), FindingValue(name="with_step", value=len(used))]
        counted.append(FindingValue(name="named_only", value=len(named)))
        first = Finding(id="", node="", text=text, values=counted)
        return Observation(lines=[text, *told[:SHOWN], *more], findings=[first], whole=True)

    def _steps_with(self, run: RunRecord, name: str) -> list[str]:
        """Return the steps of a run's newest plan whose tool is, uses or cites something of a name."""
        plan: TaskDag | None = None
        with suppress(IntegrityError, SchemaTooNew):  # a damaged run is told of elsewhere
            plan = self.runs.plan(run.run_id)
        found: list[str] = []
        for node in plan.nodes if plan is not None else ():
            spec = self.registry.get(node.tool) if node.tool in self.registry else None
            of_tool = [spec.title, *spec.packages, *(c.title for c in spec.citations)] if spec is not None else []
            if _has(name, [node.name, node.tool, *of_tool, *map(str, node.params.values())]):
                found.append(node.name)
        return found


def _terms(asked: LookupQuestion, steps: Sequence[Step]) -> Iterator[Term]:
    # With files, `which analyses of weight` may ask for a plan first.
    asks = asked.plain or not asked.profiles
    if asks and (found := _RUNS.match(asked.question.strip())) is not None:
        yield Term(name=found["what"])


def _has(name: str, texts: Iterable[str]) -> bool:
    """Say whether one of the texts has a name, whatever the case and with `_` and `-` as blanks."""

    def plain(text: str) -> str:
        return re.sub(r"[\s_-]+", " ", text).casefold()

    return any(plain(name) in plain(text) for text in texts)
