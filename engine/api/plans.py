"""Calls about plans that are not running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.api.calls import passed_on
from engine.api.conversations import ConversationCalls
from engine.api.data import DataCalls
from engine.asking.domains import domains_of
from engine.asking.edits import of_rows, set_params, settled_by_hand, sides_apart
from engine.asking.plan_desk import PlanDesk
from engine.asking.router import require_question
from engine.data.catalogue import accepts
from engine.data.columns.asked_sheet import of_read_sheets
from engine.domain.brief import GoalBrief, Setup
from engine.domain.models import ModelEstimate
from engine.domain.plan import DATA_PREFIX, TaskDag, TaskNode
from engine.domain.profile import Profile
from engine.domain.results import Issue, Route
from engine.planning.telling.brief import briefs
from engine.planning.telling.kept import kept_rows
from engine.text.codes import meanings
from engine.toolbox.typecheck import check_plan, offered_type


class PlanCalls(DataCalls, ConversationCalls):
    """Making and changing plans."""

    draft = passed_on(PlanDesk.draft, "orchestrator.plans")
    replan = passed_on(PlanDesk.replan, "orchestrator.plans")
    edit_plan = passed_on(PlanDesk.edit, "orchestrator.plans")

    def domains_of(self, question: str) -> list[str]:
        """Return the fields a question belongs to, the hint the planner gives to memory and to the search for tools."""
        return domains_of(question)

    def route(self, task: str) -> Route:
        """Return which strategy answers a task, and why, by its wording.

        Raises:
            UserError: for an empty task.
        """
        require_question(task)
        return self._parts.orchestrator.proposing.router.route(task)

    def plan(
        self,
        question: str,
        data: Sequence[Path | str] = (),
        changes: Mapping[str, str] | None = None,
        *,
        analysis: str = "",
        columns: Mapping[str, str] | None = None,
        conversation: str = "",
    ) -> TaskDag:
        """Return the plan for a question, without making a run; see `draft`."""
        return self.draft(question, data, changes, analysis=analysis, columns=columns, conversation=conversation)[0]

    def briefs(self, plan: TaskDag, profiles: Sequence[Profile] | None = None) -> list[GoalBrief]:
        """Return in words what a plan answers, goal by goal, with what else each part could be.

        Args:
            plan: the plan as it stands.
            profiles: those of its files; looked at anew when not given.
        """
        known = self._profiles_of(plan) if profiles is None else profiles
        return briefs(plan, known, self._parts.registry, {analysis.id: analysis for analysis in self.analyses()})

    def _profiles_of(self, plan: TaskDag) -> list[Profile]:
        looked = self.profile([dataset.path for dataset in plan.datasets])
        return of_read_sheets(looked, plan.datasets)

    def model_estimate(self, plan: TaskDag, profiles: Sequence[Profile] = ()) -> ModelEstimate | None:
        """Return what a plan will ask of models when it runs: calls, tokens, dollars; None without a model."""
        parts = self._parts
        if not any(parts.models.roster.values()):
            return None
        from engine.strategies.expected import Expecting

        return Expecting(parts.models, parts.models.settings, parts.registry).of(plan, profiles)

    def rows_dropped(self, run_id: str) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the conditions on rows that a person replaced, in words -> what makes `replan` take them again."""
        view = self.view(run_id)
        columns = [column for profile in view.profiles for column in profile.column_profiles]
        known = meanings(columns, view.record.question)
        return {
            kept_rows(old, known): {tool: {name: {old: old}}}
            for tool, values in of_rows(view.record.chosen).items()
            for name, places in values.items()
            for old, new in places.items()
            if new != old
        }

    def suggestions(self, data: Sequence[Path | str] = (), *, run_id: str = "") -> list[str] | None:
        """Return up to three questions that plan as they stand, on files or after a run; None while they are found.

        The first who asks starts the search, which goes on in the background.
        """
        if run_id:
            key = f"{run_id} {self.record(run_id).approved_version}"
        else:
            paths = [Path(path) for path in data]
            key = "\n".join(f"{path} {path.stat().st_mtime_ns}" for path in paths if path.is_file())

        def make() -> list[str]:
            planner = self._parts.orchestrator.plans.maker.planner
            if not run_id:
                return planner.suggest(self.profile(data))
            view = self.view(run_id)
            asked = [record.question for record in self.conversation(run_id).runs]
            return planner.suggest(view.profiles, view.plan, asked=asked) if view.plan is not None else []

        # The first follow-up is not to wait for what recalling loads.
        return self._parts.beside.suggestions.of(key, make, self._parts.memory.recalling.warm if run_id else None)

    def setups(self, run_id: str) -> list[Setup]:
        """Return the analyses that the files of a run can serve with the columns each could take, the likeliest first.

        What is chosen of one goes to `ask` or `replan` as `analysis` and `chosen` (see `Setup.chosen`).

        Raises:
            NotFoundError: for a run that does not exist.
        """
        view = self.view(run_id)
        return self._parts.orchestrator.plans.maker.planner.setups(view.record.question, view.profiles)

    def set_params(self, plan: TaskDag, changes: Mapping[str, str]) -> TaskDag:
        """Return a new version of a plan with parameters set from texts, `NODE.PARAM` -> value.

        Raises:
            PlanError: for a step or parameter that is not there, or a value that does not fit.
        """
        return set_params(plan, changes, self._parts.registry)

    def check_plan(self, plan: TaskDag) -> list[Issue]:
        """Return what does not fit in a plan."""
        return check_plan(plan, self._parts.registry)

    def sources(self, plan: TaskDag, node_id: str, input_name: str) -> list[str]:
        """Return the references that fit a step's input without making a circle: the newest steps first, then files."""
        node = plan.node(node_id)
        port = self.tool(node.tool).input(input_name) if node else None
        if port is None:
            return []
        later = plan.descendants(node_id) | {node_id}
        steps = [step for step in reversed(plan.nodes) if step.id not in later and step.tool in self._parts.registry]
        refs = [f"{step.id}.{output.name}" for step in steps for output in self.tool(step.tool).outputs]
        refs += [f"{DATA_PREFIX}{dataset.name}" for dataset in plan.datasets]
        types = {ref: offered_type(plan, ref, self._parts.registry) for ref in refs}
        return [ref for ref, kind in types.items() if kind is not None and accepts(port.type, kind)]

    def add_step(self, plan: TaskDag, tool: str) -> TaskDag:
        """Return the plan with a step at its end, its needed inputs connected to the newest data that fits."""
        spec = self.tool(tool)
        taken = {node.id for node in plan.nodes}
        node_id = next(f"n{k}" for k in range(len(taken) + 1, 2 * len(taken) + 2) if f"n{k}" not in taken)
        node = TaskNode(id=node_id, name=spec.title, tool=tool, domain=spec.domain, task_type=spec.task_type)
        grown = plan.model_copy(update={"nodes": [*plan.nodes, node]})
        found = {p.name: self.sources(grown, node_id, p.name) for p in spec.inputs if not p.optional}
        wired = {name: refs[0] for name, refs in found.items() if refs}
        node = node.model_copy(update={"inputs": wired, "reasons": ["Added by hand."]})
        return plan.model_copy(update={"nodes": [*plan.nodes, node]})

    def as_edited(self, old: TaskDag, new: TaskDag) -> TaskDag:
        """Return a changed plan as it would be stored: no level against itself, and no reason that no longer holds."""
        return settled_by_hand(old, sides_apart(old, new, self._parts.registry))
