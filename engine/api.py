"""The facade: all that pages, the command line and scripts import.

    engine = open_engine(workspace="analysis")
    run_id = engine.ask("Which genes change with treatment?", ["counts.csv", "samples.csv"], auto_approve=True)
    engine.wait(run_id)
    engine.export(run_id, "html", "report.html")

Values it returns are those of `engine.domain`; errors are those of `engine.errors`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.asking.edits import set_params, settled_by_hand, sides_apart
from engine.asking.suggestions import Suggestions
from engine.bootstrap import Parts, build, embedding_state, make_profiler, make_sandbox, try_workspace, workspace_holder
from engine.domain.brief import GoalBrief
from engine.domain.datatypes import accepts
from engine.domain.events import EngineEvent
from engine.domain.knowledge import EDGE_TYPES, EdgeType, Neighbourhood, NodeType
from engine.domain.plan import DATA_PREFIX, TaskDag, TaskNode, WayOn
from engine.domain.profile import Profile
from engine.domain.results import Artifact, Issue, RunRecord
from engine.domain.retrieval import ToolSearch
from engine.domain.run_view import Conversation, RunView
from engine.domain.toolspec import ToolSpec
from engine.errors import (
    DataError,
    EngineError,
    Interrupted,
    LimitExceeded,
    NotFoundError,
    PlanError,
    SandboxUnavailable,
    StorageError,
    UserError,
    WorkspaceInUse,
)
from engine.examples import Example, example_files, examples
from engine.knowledge.service import KnowledgeBase
from engine.memory.service import Memory
from engine.planning.brief import briefs
from engine.ports.cancel import CancelToken
from engine.ports.sandbox import Sandbox
from engine.profiling.matching import cross_check
from engine.provenance.verify import Verification, verify_path
from engine.reporting import bundle, html, markdown, verified
from engine.reporting import run_json as run_json_module
from engine.reporting.contents import image_bytes
from engine.reporting.numbers import shown_cells
from engine.retrieval.service import ToolFinder
from engine.routing.router import route
from engine.runs.deleting import Deleting
from engine.runs.imports import ImportRunner, ImportState, Tell
from engine.runs.requests import request_cancel
from engine.runs.warming import Warming
from engine.settings import Settings, load_settings
from engine.toolbox.analyses import Analysis, load_analyses
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.typecheck import check_plan, offered_type

__all__ = [
    "Analysis",
    "Conversation",
    "DataError",
    "EdgeType",
    "Engine",
    "EngineError",
    "Example",
    "ImportRunner",
    "ImportState",
    "KnowledgeBase",
    "LimitExceeded",
    "Memory",
    "Neighbourhood",
    "NodeType",
    "NotFoundError",
    "PlanError",
    "Profile",
    "RunRecord",
    "RunView",
    "SandboxUnavailable",
    "StorageError",
    "TaskDag",
    "ToolFinder",
    "UserError",
    "Verification",
    "WayOn",
    "WorkspaceInUse",
    "builtin_analyses",
    "builtin_tool_specs",
    "edge_type_names",
    "embedding_state",
    "event_json",
    "examples",
    "graph_formats",
    "open_engine",
    "plan_document",
    "preview_graph_files",
    "profile_paths",
    "public_sources",
    "read_plan",
    "request_cancel",
    "sandbox_self_test",
    "set_params",
    "shown_cells",
    "term_types",
    "try_workspace",
    "verify_path",
    "workspace_state",
]


LONGEST_TITLE = 200
"""Characters of a conversation's name."""


class Engine:
    """Biodesk, opened on a workspace. Methods may be called from any thread."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._orchestrator = parts.orchestrator
        self._imports = ImportRunner()
        self._suggestions = Suggestions()

    def __enter__(self) -> Engine:
        """Return the engine itself, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the engine."""
        self.close()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._parts.settings

    @property
    def read_only(self) -> bool:
        """True when the workspace may only be read: runs can be looked at, verified and exported, none made."""
        return self._parts.workspace.read_only

    @property
    def user(self) -> str:
        """Who runs are attributed to unless told otherwise."""
        return self._parts.settings.user

    # ==== data and tools ====

    def profile(self, paths: Sequence[Path | str]) -> list[Profile]:
        """Look at files and say what each can serve as, its columns as people corrected them in this workspace.

        Raises:
            DataError: when a path leads to nothing that can be read.
        """
        return self._parts.orchestrator.corrections.profile([Path(path) for path in paths])

    def correct_column(self, path: Path | str, column: str, value: str) -> Profile:
        """Remember what a column of a file is and return the file's profile with it.

        It holds in this workspace for every file of the same content, whatever its name and place.

        Args:
            path: the file.
            column: the column's name.
            value: a role or scale (`batch`, `number`), `unit:mg` or `ignore`, several parted by commas; empty to take
                the correction back.

        Raises:
            DataError: when the file cannot be read.
            UserError: when it has no such column.
            PlanError: when the value says nothing of a column.
        """
        return self._parts.orchestrator.corrections.profile([Path(path)], {column: value})[0]

    def analyses(self) -> list[Analysis]:
        """Return what can be asked: every analysis by its field, also those that no tool answers yet."""
        return builtin_analyses()

    def cross_check(self, profiles: Sequence[Profile]) -> list[str]:
        """Return what does not fit between files, e.g. sample names that do not match."""
        return cross_check(list(profiles))

    def tools(self) -> list[ToolSpec]:
        """Return the catalogue."""
        return list(self._parts.registry)

    def tool(self, name: str) -> ToolSpec:
        """Return one tool.

        Raises:
            NotFoundError: when there is none of this name.
        """
        return self._parts.registry.get(name)

    def search_tools(
        self,
        query: str,
        *,
        top: int | None = None,
        data: Sequence[Path | str] = (),
        domains: Sequence[str] = (),
        explain: bool = False,
    ) -> ToolSearch:
        """Find tools for a task over the built-in and all imported catalogues; `top` is the setting by default.

        Raises:
            DataError: when a data file cannot be read.
        """
        kinds = {guess.type.value for profile in profile_paths(data) for guess in profile.types} if data else set()
        top = self.settings.search_results if top is None else top
        return self.catalogue.search(query, top=top, data_types=kinds, domains=domains, explain=explain)

    @property
    def catalogue(self) -> ToolFinder:
        """Every tool that can be found, and the imported catalogues."""
        return self._parts.finder

    @property
    def knowledge(self) -> KnowledgeBase:
        """The knowledge graph: search, neighbourhoods, paths, checking of texts, imports."""
        return self._parts.knowledge

    @property
    def memory(self) -> Memory:
        """What is remembered: past analyses, facts, conversations."""
        return self._parts.memory

    def example_files(self, example_id: str) -> list[Path]:
        """Write an example's data (it ships inside dependencies) into the workspace and return the files."""
        return example_files(example_id, self._parts.workspace.folder / "examples")

    # ==== imports in the background ====

    @property
    def imports(self) -> ImportRunner:
        """The import that is going on or ended last: how far it is, what became of it, and its end."""
        return self._imports

    def start_graph_import(
        self,
        fmt: str,
        files: Sequence[Path | str],
        *,
        name: str | None = None,
        organism: str = "human",
    ) -> ImportState:
        """Begin to read files into the knowledge graph and return at once; see `KnowledgeBase.import_files`.

        Its steps are `reading`, with the entities and relations read so far, and `opening`, when all is stored and
        the new graph is made ready to be asked. What it stated is in the graph after its end, or nothing of it.

        Raises:
            LimitExceeded: when another import is going on.
        """
        paths = [Path(path) for path in files]

        def work(tell: Tell, cancel: CancelToken) -> Any:
            done = self.knowledge.import_files(
                fmt,
                paths,
                name=name,
                organism=organism,
                progress=lambda nodes, edges: tell("reading", nodes, edges),
                cancel=cancel,
            )
            tell("opening", done.nodes_read, done.edges_read)
            # It is stored: a graph that cannot be opened now says so to the next question.
            with contextlib.suppress(EngineError):
                self.knowledge.view()
            return done

        return self._imports.start("graph", _titles(paths), work)

    def start_catalogue_import(self, kind: str, path: Path | str, *, name: str = "") -> ImportState:
        """Begin to import a catalogue of tools and return at once; see `ToolFinder.import_catalogue`.

        Its steps are `reading`, then `embedding` with the descriptions made searchable and all there are. The
        catalogue is replaced as a whole after that, so one that is stopped leaves the one before in place; the
        vectors made until then are kept, and the next attempt need not make them again.

        Raises:
            LimitExceeded: when another import is going on.
        """
        title = _titles([Path(path)])

        def work(tell: Tell, cancel: CancelToken) -> Any:
            def progress(done: int, total: int) -> None:
                if cancel.cancelled:
                    raise Interrupted(f"The import of {title} was stopped, and nothing of it was stored.")
                tell("embedding", done, total)

            return self.catalogue.import_catalogue(kind, Path(path), name=name, progress=progress)

        return self._imports.start("catalogue", title, work)

    # ==== plans ====

    def domains_of(self, question: str) -> list[str]:
        """Return the fields a question belongs to, the hint the planner gives to memory and to the search for tools."""
        return list(route(question, []).domains)

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

    def draft(
        self,
        question: str,
        data: Sequence[Path | str] = (),
        changes: Mapping[str, str] | None = None,
        *,
        analysis: str = "",
        columns: Mapping[str, str] | None = None,
        conversation: str = "",
    ) -> tuple[TaskDag, list[Profile]]:
        """Return the plan for a question and the profiles of the files it was made from, without making a run.

        Args:
            question: what is asked.
            data: the files.
            changes: `NODE.PARAM` -> value as text.
            analysis: the id of the analysis to plan as (see `analyses`); "" to have it chosen.
            columns: column -> what it is, remembered for these files (see `correct_column`).
            conversation: the conversation whose last plan the question follows.

        Raises:
            UserError: for an empty question, or an analysis or column that does not exist.
            PlanError: when it cannot be planned; the message says what is missing.
        """
        _require_words(question)
        _require_analysis(analysis)
        paths = [Path(path) for path in data]
        return self._orchestrator.draft(
            question, paths, changes, analysis=analysis, columns=columns, conversation=conversation, user=self.user
        )

    def replan(
        self,
        run_id: str,
        *,
        analysis: str = "",
        chosen: Mapping[str, Mapping[str, Any]] | None = None,
        alone: bool = False,
        goal: str = "",
    ) -> TaskDag:
        """Plan the question of a run that waits for approval again; see `Orchestrator.replan`."""
        _require_analysis(analysis)
        return self._orchestrator.replan(run_id, analysis=analysis, chosen=chosen, alone=alone, goal=goal)

    def briefs(self, plan: TaskDag, profiles: Sequence[Profile] | None = None) -> list[GoalBrief]:
        """Return in words what a plan answers, goal by goal, with what else each part could be.

        Args:
            plan: the plan as it stands.
            profiles: those of its files; looked at anew when not given.
        """
        known = self.profile([dataset.path for dataset in plan.datasets]) if profiles is None else profiles
        return briefs(plan, known, self._parts.registry, {analysis.id: analysis for analysis in self.analyses()})

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
            planner = self._orchestrator.planner
            if not run_id:
                return planner.suggest(self.profile(data))
            view = self.view(run_id)
            return planner.suggest(view.profiles, view.plan) if view.plan is not None else []

        # The first follow-up is not to wait for what recalling loads.
        return self._suggestions.of(key, make, self.memory.episodic.warm if run_id else None)

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

    def edit_plan(self, run_id: str, plan: TaskDag) -> tuple[str, list[Issue]]:
        """Store an edited plan; see `Orchestrator.edit_plan`."""
        return self._orchestrator.edit_plan(run_id, plan, user=self.user)

    # ==== runs ====

    def ask(
        self,
        question: str,
        data: Sequence[Path | str] = (),
        *,
        auto_approve: bool = False,
        strategy: str = "auto",
        changes: Mapping[str, str] | None = None,
        user: str | None = None,
        conversation: str = "",
        analysis: str = "",
        columns: Mapping[str, str] | None = None,
        chosen: Mapping[str, Mapping[str, Any]] | None = None,
        alone: bool = False,
    ) -> str:
        """Start a run in the background and return its id.

        Without `auto_approve` it stops at `awaiting_approval`, and `approve` lets it go on. A follow-up gives
        the `conversation` of the run it follows (see `RunRecord`); `alone` it takes over nothing from it. `analysis`
        and `columns` are as in `draft`, `chosen` (tool -> parameter -> value) as in `replan`.

        Raises:
            UserError: for an empty question, a strategy this version lacks, or an analysis or column that does
                not exist.
            LimitExceeded: when the queue is full.
        """
        _require_words(question)
        _require_analysis(analysis)
        paths = [Path(path) for path in data]
        if columns:  # remembered before the run is made, whose own look at the files then finds them
            self._orchestrator.corrections.profile(paths, columns)
        return self._orchestrator.ask(
            question,
            paths,
            analysis=analysis,
            user=user or self.user,
            auto_approve=auto_approve,
            strategy=strategy,
            changes=changes,
            conversation=conversation,
            chosen=chosen,
            alone=alone,
        )

    def run_plan(self, plan: TaskDag, data: Sequence[Path | str] = (), *, user: str | None = None) -> str:
        """Run a plan as it stands; `data` replaces the plan's files of the same name.

        Raises:
            PlanError: when it does not fit.
        """
        return self._orchestrator.start_plan(with_data(plan, data), user=user or self.user)

    def approve(self, run_id: str) -> None:
        """Let a run that waits for approval go on."""
        self._orchestrator.approve(run_id, user=self.user)

    def cancel(self, run_id: str) -> None:
        """Stop a run; what finished is kept."""
        self._orchestrator.cancel(run_id, user=self.user)

    def resume(self, run_id: str) -> None:
        """Go on with a run that was interrupted, cancelled or failed."""
        self._orchestrator.resume(run_id, user=self.user)

    def rerun(self, run_id: str, *, from_node: str = "", fresh: bool = False) -> str:
        """Run the same plan again as a new run and return its id; `fresh` takes no step's result from the store."""
        return self._orchestrator.rerun(run_id, user=self.user, from_node=from_node, fresh=fresh)

    def wait(self, run_id: str, timeout: float | None = None) -> RunRecord:
        """Wait until a run is no longer worked on (done or awaiting approval) and return its record."""
        self._parts.queue.wait(run_id, timeout)
        return self.record(run_id)

    def active(self) -> list[str]:
        """Return the ids of the runs that wait in the queue or are at work."""
        return self._parts.queue.active()

    def runs(self, *, user: str | None = None, limit: int = 200) -> list[RunRecord]:
        """Return runs, newest first; those that cannot be read are named by `damaged_runs`."""
        return self._parts.store.runs(user=user, limit=limit)

    def damaged_runs(self) -> dict[str, str]:
        """Return run id -> a sentence on why what is stored of the run cannot be read."""
        return self._parts.store.damaged_runs()

    def record(self, run_id: str) -> RunRecord:
        """Return a run's record.

        Raises:
            NotFoundError: when there is no such run.
        """
        return self._orchestrator.record(run_id)

    def has_run(self, run_id: str) -> bool:
        """Say whether there is such a run."""
        return self._parts.store.run(run_id) is not None

    def view(self, run_id: str) -> RunView:
        """Return everything known of a run: record, plan, results, profiles, report."""
        return self._orchestrator.view(run_id)

    def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EngineEvent]:
        """Return a run's events with `seq` greater than `after`."""
        self.record(run_id)
        return self._parts.store.events(run_id, after=after, limit=limit)

    def artifact(self, sha256: str) -> Path:
        """Return the file that holds an artifact's bytes. Read only."""
        return self._parts.artifacts.path(sha256)

    def figure(self, artifact: Artifact) -> bytes | None:
        """Return a figure's PNG or SVG; None when it is gone or nothing to be shown."""
        return image_bytes(artifact, self._parts.artifacts)

    def space(self, run_ids: Sequence[str]) -> int:
        """Return the bytes that would be free without these runs; what other runs need as well is not counted."""
        return self._deleting.space(run_ids)

    def delete_runs(self, run_ids: Sequence[str]) -> int:
        """Remove runs for good, with what belongs to no other run; return the bytes that are free then.

        With a run go its plan, results, events and seals, what was said in it, what was remembered of it and what it
        taught the knowledge graph. Files of the user outside the workspace stay.

        Raises:
            NotFoundError: when there is no such run.
            PlanError: while any run is at work.
        """
        return self._orchestrator.delete(run_ids, self._deleting)

    @property
    def _deleting(self) -> Deleting:
        parts = self._parts
        forget = self._orchestrator.remembering.forget
        return Deleting(parts.store, parts.artifacts, forget, parts.workspace.folder / "uploads")

    # ==== conversations ====

    def conversations(self, text: str = "", *, limit: int = 200) -> list[Conversation]:
        """Return the conversations of the newest runs, newest turn first; with a text those of all that hold it.

        It is looked for in names, questions and paths of files.
        """
        store, wanted = self._parts.store, text.strip().lower()
        turns: dict[str, list[RunRecord]] = {}
        for record in store.runs(limit=100_000 if wanted else limit):
            turns.setdefault(record.conversation or record.run_id, []).insert(0, record)
        titles = self.memory.conversation_store.titles()
        found = [self._talk(key, runs, titles) for key, runs in turns.items()]
        searched = [" ".join([c.title, *(f"{r.question} {' '.join(r.data)}" for r in c.runs)]).lower() for c in found]
        return [one for one, words in zip(found, searched, strict=True) if wanted in words]

    def conversation(self, conversation: str) -> Conversation:
        """Return one conversation with all its turns, by its id or that of one of its runs.

        Raises:
            NotFoundError: when there is none.
        """
        store = self._parts.store
        record = store.run(conversation)
        key = (record.conversation or record.run_id) if record else conversation
        turns = store.turns(key) or ([record] if record else [])
        if not turns:
            message = f"There is no conversation {conversation[:100]!r}."
            raise NotFoundError(message, advice="`biodesk conversations` lists them.")
        return self._talk(key, turns, self.memory.conversation_store.titles())

    def _talk(self, key: str, turns: list[RunRecord], titles: Mapping[str, str]) -> Conversation:
        whole = turns[0].run_id == key  # the first run's id names it: where that is cut off, it is looked up
        first = turns[0] if whole else self._parts.store.run(key) or turns[0]
        return Conversation(id=key, title=titles.get(key) or first.question, named=key in titles, runs=turns)

    def rename_conversation(self, conversation: str, title: str) -> Conversation:
        """Call a conversation so, or by its first question again where the title is empty; return it.

        Raises:
            NotFoundError: when there is no such conversation.
        """
        found = self.conversation(conversation)
        self.memory.conversation_store.name(found.id, " ".join(title.split())[:LONGEST_TITLE])
        return self.conversation(found.id)

    def delete_conversation(self, conversation: str) -> int:
        """Remove a conversation with its runs for good; return the bytes that are free then. See `delete_runs`."""
        found = self.conversation(conversation)
        freed = self.delete_runs([record.run_id for record in found.runs])
        self.memory.working.forget(found.id)
        return freed

    # ==== reports and proof ====

    def report_markdown(self, run_id: str) -> str:
        """Return the report as Markdown."""
        return markdown.render(self.view(run_id), self._parts.registry)

    def report_html(self, run_id: str) -> str:
        """Return the report as one self-contained HTML page."""
        return html.render(self.view(run_id), self._parts.artifacts, self._parts.registry)

    def run_json(self, run_id: str) -> dict[str, Any]:
        """Return the run as the JSON document of `biodesk ask --json`."""
        return run_json_module.render(self.view(run_id), self._parts.registry)

    def export(self, run_id: str, fmt: str, out: Path | str) -> Path:
        """Write a run as md, html, pdf, notebook or json (provenance) and return the file."""
        return bundle.export(self.view(run_id), self._parts.artifacts, self._parts.registry, fmt, Path(out))

    def bundle(self, run_id: str, out: Path | str) -> list[Path]:
        """Write everything of a run into a folder: reports, notebook, plan, artifacts, provenance, data."""
        return bundle.write_bundle(self.view(run_id), self._parts.artifacts, self._parts.registry, Path(out))

    def verify(self, target: str) -> Verification:
        """Re-hash all of a run (by id) or of an exported folder (by path) and name every difference."""
        if os.path.exists(target):  # noqa: PTH110 - what can be no path is none
            return verify_path(Path(target))
        return verified.verify(target, self._parts.store, self._parts.artifacts, self._parts.registry)

    # ==== the engine itself ====

    def warm(self) -> None:
        """Start what makes the first step fast; returns when it is ready."""
        if self.settings.warm_workers:
            self._parts.sandbox.warm()

    def warm_knowledge(self) -> None:
        """Load the embedding model, the search index, memory and the graph, so that the first question is quick."""
        Warming(self._parts.companions).run()

    def warm_in_background(self) -> None:
        """Start warming and return at once; a step that comes earlier waits for it or starts cold."""
        self._parts.warming.start()

    @property
    def registry(self) -> ToolRegistry:
        """The catalogue, for functions that take one."""
        return self._parts.registry

    def sandbox_report(self) -> dict[str, Any]:
        """Return what isolates steps on this machine, tested."""
        return _sandbox_facts(self._parts.sandbox)

    def close(self) -> None:
        """Stop the runs (they can be resumed) and what is being imported, and release the workspace."""
        try:
            self._suggestions.close()
            self._imports.close()
        finally:
            self._parts.close()


def _titles(paths: Sequence[Path]) -> str:
    """Return what files are called together."""
    named = ", ".join(path.name for path in paths[:3])
    return f"{named} and {len(paths) - 3} more" if len(paths) > 3 else named or "Nothing"


def _require_words(question: str) -> None:
    if not any(character.isalnum() for character in question):
        raise UserError("The question is empty.", advice="Ask in a sentence what you want to know of the data.")


def _require_analysis(analysis: str) -> None:
    if not analysis or analysis in load_analyses():
        return
    import difflib

    close = ", ".join(difflib.get_close_matches(analysis, load_analyses(), n=3, cutoff=0.4))
    advice = f"Did you mean {close}?" if close else "`biodesk analyses` lists them."
    raise UserError(f"There is no analysis called {analysis[:100]!r}.", advice=advice)


def open_engine(**settings: Any) -> Engine:
    """Open Biodesk on a workspace; keyword arguments are settings (see `engine.settings.Settings`).

    Raises:
        WorkspaceInUse: when another process holds the workspace.
        UserError: for a bad setting.
    """
    loaded, _ = load_settings(**settings)
    return Engine(build(loaded))


def profile_paths(paths: Sequence[Path | str]) -> list[Profile]:
    """Look at files without opening a workspace.

    Raises:
        DataError: when a path leads to nothing that can be read.
    """
    with contextlib.closing(make_profiler()) as profiler:
        return profiler.look([Path(path) for path in paths])


def builtin_tool_specs() -> list[ToolSpec]:
    """Return the built-in catalogue without opening a workspace."""
    from engine.toolbox.registry import builtin_tools

    return list(builtin_tools())


def builtin_analyses() -> list[Analysis]:
    """Return every analysis that can be asked, by field, without opening a workspace."""
    return sorted(load_analyses().values(), key=lambda analysis: analysis.field)


def public_sources() -> list[dict[str, Any]]:
    """Return the public sources of knowledge that can be fetched, without opening a workspace."""
    from engine.knowledge.sources.catalogue import SOURCES

    return [source.model_dump(mode="json") for source in SOURCES.values()]


def graph_formats() -> dict[str, str]:
    """Return the formats of knowledge that can be imported and what each is."""
    from engine.knowledge.importers import read

    return {name: info.description for name, info in read.FORMATS.items()}


def edge_type_names(codes: Any) -> list[str]:
    """Return the names of the edge types in an array of codes, the most frequent first."""
    import numpy as np

    kinds, counts = np.unique(codes, return_counts=True)
    return [EDGE_TYPES[int(kinds[place])].value for place in np.argsort(-counts, kind="stable")]


def term_types() -> list[str]:
    """Return the types of entities that a list of genes can be tested against, see `KnowledgeBase.enrich`."""
    from engine.knowledge.enrichment import NO_NEIGHBOURHOODS

    none = {*NO_NEIGHBOURHOODS, NodeType.GENE, NodeType.PROTEIN}
    return [kind.value for kind in NodeType if kind not in none]


def preview_graph_files(fmt: str, files: Sequence[Path], organism: str = "human") -> Any:
    """Return the first nodes and edges an import would read, without opening a workspace."""
    from engine.knowledge.importers import read

    return read.preview(fmt, files, organism=organism)


def plan_document(plan: TaskDag, profiles: Sequence[Profile] = (), goals: Sequence[GoalBrief] = ()) -> dict[str, Any]:
    """Return a plan as the document of `biodesk plan --json`: with the structure of its files and goals in words."""
    structure = [{"file": p.name, **p.structure.model_dump(mode="json")} for p in profiles]
    told = [{"says": goal.sentence(), **goal.model_dump(mode="json")} for goal in goals]
    return {**plan.model_dump(mode="json", by_alias=True), "structure": structure, "goals": told}


def read_plan(path: Path | str) -> TaskDag:
    """Read a plan file.

    Raises:
        PlanError: when it is not a plan this version understands; the message says where.
    """
    from pydantic import ValidationError

    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(document, dict):
            for told in ("structure", "goals"):  # what was found in the files and what it means: no part of the plan
                document.pop(told, None)
        return TaskDag.model_validate(document)
    except OSError as err:
        raise PlanError(f"The plan {path} cannot be read: {err.strerror}.") from err
    except (ValueError, ValidationError) as err:
        reason = str(err).splitlines()[0]
        if isinstance(err, ValidationError):
            first = err.errors()[0]
            reason = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        message = f"{path} is not a Biodesk plan: {reason}."
        raise PlanError(message, advice="`biodesk plan QUESTION --data ... --out PLAN.json` makes one.") from err


def with_data(plan: TaskDag, data: Sequence[Path | str]) -> TaskDag:
    """Return the plan with its files replaced by those given that have the same name.

    Raises:
        DataError: for a file the plan has no dataset for, or one that cannot serve as what the plan needs.
    """
    replaced = {dataset.name: dataset for dataset in plan.datasets}
    for profile in profile_paths(data):
        old = replaced.get(profile.name)
        if old is None:
            known = ", ".join(replaced) or "none"
            raise DataError(f"The plan uses no file called {profile.name!r}.", advice=f"Its files are: {known}.")
        guess = profile.serves_as(old.type)
        if guess is None:
            reason = profile.warnings[0] if profile.warnings else profile.summary
            raise DataError(f"{profile.name} cannot serve as {old.type.value}: {reason}")
        update = {"path": profile.path, "sha256": profile.sha256, "bytes": profile.bytes, "read": guess.read}
        replaced[old.name] = old.model_copy(update=update)
    return plan.model_copy(update={"datasets": list(replaced.values())})


def event_json(event: EngineEvent) -> str:
    """Return an event as one line of JSON."""
    return event.model_dump_json()


def sandbox_self_test(settings: Settings, scratch: Path) -> dict[str, Any]:
    """Try out what would isolate steps with these settings, without opening a workspace."""
    try:
        sandbox = make_sandbox(settings, scratch)
    except SandboxUnavailable as err:
        return {"kind": "none", "available": False, "warm": False, "isolation": {}, "missing": [err.message]}
    try:
        sandbox.warm()  # the process that steps are forks of is what is tried
        return _sandbox_facts(sandbox)
    finally:
        sandbox.close()


def _sandbox_facts(sandbox: Sandbox) -> dict[str, Any]:
    report = sandbox.report()
    return {
        "kind": report.kind,
        "available": report.available,
        "warm": report.warm,
        "isolation": dict(report.isolation),
        "missing": list(report.missing),
    }


def workspace_state(folder: Path) -> str:
    """Return `free`, `new` or who holds the workspace."""
    if not folder.exists():
        return "new"
    return workspace_holder(folder) or "free"
