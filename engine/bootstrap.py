"""The composition root: from settings to a working engine. The only place that names concrete adapters."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engine.adapters.embedding import load_embedder
from engine.adapters.process_profiler import ProcessProfiler
from engine.adapters.process_sandbox import PRELOAD, PRELOAD_SINGLE_CELL, ProcessSandbox
from engine.adapters.system import RandomIds, SystemClock, environment
from engine.adapters.warm_up import compiled_cache
from engine.asking.corrections import Corrections
from engine.asking.plan_desk import PlanDesk
from engine.asking.proposed_plan import PlanMaker
from engine.asking.router import Router
from engine.asking.suggestions import Suggestions
from engine.discovery.tree.space import Spent
from engine.domain.discovery.hypotheses import Aims, Bounds
from engine.domain.profile import Profile
from engine.domain.report import RunView
from engine.errors import ModelUnavailable, StorageError
from engine.knowledge.graph import kernels
from engine.knowledge.service import KnowledgeBase, open_knowledge
from engine.memory.door import MemoryDoor
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.episodes.recalling import Recalling, Usual
from engine.memory.facts.memory import SemanticMemory
from engine.memory.facts.statements import Statements
from engine.memory.service import Memory
from engine.memory.working.memory import Shortening, WorkingMemory
from engine.models.roster import Target, targets
from engine.models.scope import Scope
from engine.models.service import Models
from engine.orchestrator import Orchestrator
from engine.planning.planner import Planner
from engine.ports.cancel import CancelToken
from engine.ports.hypotheses import HypothesisStore
from engine.ports.models.calls import ModelCallStore
from engine.ports.models.chat import ChatProvider, ModelAddress, Role
from engine.ports.profiler import Profiler
from engine.ports.sandbox import Limits, Sandbox
from engine.ports.search_trees import SearchTrees
from engine.ports.system import Clock, IdSource
from engine.retrieval.indexes.embedding_cache import CachedEmbeddings
from engine.retrieval.service import ToolFinder
from engine.retrieval.usage import UsageHistory
from engine.runs.deleting import Deleting
from engine.runs.errands import Errands
from engine.runs.event_log import EventLog
from engine.runs.imports import ImportRunner
from engine.runs.leftovers import mark_interrupted
from engine.runs.locks import RunLocks
from engine.runs.queue import RunQueue
from engine.runs.records import RunRecords
from engine.runs.requests import RequestWatcher
from engine.settings import Settings
from engine.steps.ending import Ending
from engine.steps.executor import Executor
from engine.steps.remember import Remembering
from engine.strategies.dag import DagStrategy
from engine.strategies.mcts.kept_search import KeptSearches
from engine.strategies.mcts.strategy import AdviserOf, SearchStrategy
from engine.strategies.proposing import Proposing
from engine.strategies.react.loop import by_words
from engine.strategies.react.sources import all_lookups
from engine.strategies.react.strategy import ReactStrategy
from engine.strategies.tournament.cast import Cast
from engine.strategies.tournament.executing import TestsByRuns
from engine.strategies.tournament.running import Tournaments
from engine.text.redaction import Redactor
from engine.toolbox.registry import ToolRegistry, builtin_tools
from engine.toolbox.shelf import Shelf
from storage.database import Database
from storage.graph.store import DuckGraphStore
from storage.hypotheses.store import DuckHypotheses
from storage.memory.conversations import DuckConversations
from storage.memory.episodes import DuckEpisodes
from storage.memory.facts import DuckFacts
from storage.models.calls import DuckModelCalls
from storage.models.twin import ModelCallsTwin
from storage.runs.artifacts import FileArtifacts
from storage.runs.corrections import DuckCorrections
from storage.runs.search_trees import DuckSearchTrees
from storage.runs.store import DuckRunStore
from storage.tools.catalogues import DuckCatalogues
from storage.tools.written import DuckWritten
from storage.vectors.shipped import ShippedVectors
from storage.vectors.store import LanceVectors
from storage.workspace import Workspace, is_only_readable

if TYPE_CHECKING:
    import numpy as np

    from engine.agents.claim_reader import ClaimReader
    from engine.agents.opinion import RouteOpinion
    from engine.agents.reader import QuestionReader
    from engine.agents.shortener import TalkShortener
    from engine.agents.tool_ranker import ToolRanker
    from engine.steps.mending import Mending
    from engine.steps.second_reading import SecondReading
    from engine.strategies.react.by_model import ModelDriver
    from engine.strategies.tournament.by_rules.role_set import RoleSet

WARMING_PATIENCE = 30.0
"""Seconds that closing waits for what is being loaded; each part takes a few."""
SHORTENING_PATIENCE = 10.0
"""Seconds that closing waits for old turns being put in short, once the request for it is ended."""


class Closes(Protocol):
    """What has to be let go of at the end."""

    def close(self) -> object:
        """End it."""
        ...


@dataclass(slots=True)
class Beside:
    """What goes on beside a question, and how it all ends."""

    queue: RunQueue
    deleting: Deleting
    sandbox: Sandbox
    imports: ImportRunner
    suggestions: Suggestions
    errands: Errands
    warm_up: list[Callable[[], object]]
    """What loads the parts that a first question waits for: model, search index, memory and graph."""
    closing: Sequence[Closes]
    """All that has to be closed, in that order."""

    def warm(self) -> None:
        """Begin to load them and return at once; a second time does nothing."""
        steps, self.warm_up = self.warm_up, []
        self.errands.add(*steps)

    def close(self) -> None:
        """Stop the runs, write what waits and release the workspace; one that fails to close keeps no other open."""
        with ExitStack() as last_first:
            for part in reversed(self.closing):
                last_first.callback(part.close)


@dataclass(slots=True)
class EngineParts:
    """A built engine."""

    workspace: Workspace
    records: RunRecords
    registry: ToolRegistry
    knowledge: KnowledgeBase
    memory: Memory
    models: Models
    finder: ToolFinder
    trees: SearchTrees
    orchestrator: Orchestrator
    tournaments: Tournaments
    beside: Beside


def build(settings: Settings) -> EngineParts:
    """Open the workspace and connect everything.

    Raises:
        WorkspaceInUse: when another process holds the workspace.
        StorageError: when it cannot be read or written.
        UserError: for a model that is named wrongly.
    """
    roster = _roster(settings)  # a wrong name is said before anything is opened
    workspace = _open(settings)
    try:
        return _connect(settings, workspace, roster)
    except BaseException:
        workspace.close()
        raise


def _open(settings: Settings) -> Workspace:
    return Workspace.open(settings.workspace, read_only=is_only_readable(settings.workspace))


def try_workspace(settings: Settings) -> None:
    """Find out whether the workspace can be opened, making it if it is not there.

    Raises:
        WorkspaceInUse: when another process holds it.
        StorageError: when it cannot be used.
    """
    _open(settings).close()


def _connect(settings: Settings, workspace: Workspace, roster: Roster) -> EngineParts:
    clock, ids, registry = SystemClock(), RandomIds(), builtin_tools()
    read_only = workspace.read_only
    artifacts = FileArtifacts(workspace.artifacts, read_only=read_only)
    database = Database(workspace.db_path, read_only=read_only)
    try:
        workspace.require_history(database.made())
    except BaseException:
        database.close()
        raise
    store = DuckRunStore(database)
    vectors = LanceVectors(workspace.vectors)
    embeddings = make_embeddings(settings, vectors)
    knowledge = open_knowledge(
        store=DuckGraphStore(database),
        folder=workspace.folder / "graph",
        clock=clock,
        starter_wanted=settings.starter_knowledge and not read_only,
    )
    memory = make_memory(settings, database, embeddings, knowledge, clock, ids)
    finder = ToolFinder(
        specs=list(registry),
        store=DuckCatalogues(database),
        embeddings=embeddings,
        clock=clock,
        graph=knowledge.graph.view,
        usage=lambda: UsageHistory.from_episodes(memory.episodic.store.episodes()),
        candidates=settings.search_candidates,
        shown=settings.search_results,
    )
    memory.when_episodes_change = finder.forget_usage
    records = RunRecords(store, artifacts, EventLog(store, clock), clock, ids, environment(), settings.user)
    sandbox = make_sandbox(settings, workspace.runs)
    profiler = make_profiler()
    queue = RunQueue(workers=settings.parallel_runs, size=settings.queue_size)
    executor = Executor(
        registry=registry,
        sandbox=sandbox,
        records=records,
        scratch=workspace.runs,
        limits=Limits(
            seconds=settings.step_seconds,
            memory_mb=settings.step_memory_mb,
            file_mb=settings.step_file_mb,
            disk_mb=settings.step_disk_mb,
        ),
        threads=os.cpu_count() or 1,
        reuse=settings.reuse_results,
        doubted=memory.episodic.doubted_runs,
        slots=threading.BoundedSemaphore(settings.parallel_steps),
    )
    embed = embeddings.embedder.embed if embeddings else None
    planner = Planner(registry, embed)
    models = make_models(settings, roster, ModelCallsTwin() if read_only else DuckModelCalls(database), clock)
    locks = RunLocks()
    shelf = Shelf(DuckWritten(database), registry, clock)
    agents = make_agents(settings, models, planner, registry, shelf, records, queue, memory.episodic.lessons_on)
    executor.mending = agents.mending
    finder.order = agents.ranker or finder.order
    knowledge.claims.reads = agents.claims or knowledge.claims.reads
    shortening = Errands("shortening", patience=SHORTENING_PATIENCE)
    if agents.shortener is not None:
        memory.working.shortening = Shortening(agents.shortener, shortening.add)
    corrections = Corrections(DuckCorrections(database), profiler)
    titles = {spec.name: spec.title for spec in registry}
    remembering = Remembering(settings=settings, memory=memory, knowledge=knowledge, titles=titles)
    maker = PlanMaker(planner, memory, finder, registry, store, agents.reader)
    router = Router(embed, agents.opinion)
    react = ReactStrategy(all_lookups(records, registry, knowledge, memory, planner), agents.driver or by_words)
    plans = PlanDesk(records, queue, locks, corrections, maker, registry)
    trees = DuckSearchTrees(database)
    seconds = {spec.name: spec.seconds for spec in registry}

    def past(user: str) -> Callable[[Collection[str]], float]:
        own = [one for one in memory.episodic.store.episodes() if one.user == user and not one.doubted]
        return UsageHistory.from_episodes(own).share

    search = SearchStrategy(
        knowledge,
        KeptSearches(trees, clock),
        planner,
        lambda tool: seconds.get(tool, 5.0),
        past,
        agents.adviser,
        settings.model_search,
    )
    orchestrator = Orchestrator(
        records=records,
        queue=queue,
        locks=locks,
        plans=plans,
        proposing=Proposing(records, corrections, router, react, search, maker),
        strategy=DagStrategy(records, executor, settings.parallel_steps, shelf),
        ending=Ending(
            records,
            registry,
            knowledge.claims,
            remembering,
            finder.forget_usage,
            models.usage,
            agents.reading,
            trees.of_run,
        ),
    )
    revise_by(agents, settings, orchestrator)

    def forget(run_id: str) -> None:
        remembering.forget(run_id)
        models.forget_answers(run_id)
        trees.forget(run_id)

    ideas = DuckHypotheses(database)

    def given_to_tournaments() -> list[str]:
        return [name for one in ideas.tournaments() for name in one.aims.files]

    tournaments = make_tournaments(settings, ideas, orchestrator, knowledge, models, embed)
    if not read_only:
        mark_interrupted(records, workspace.runs)
        tournaments.mark_left()
    requests = RequestWatcher(
        None if read_only else workspace.folder, lambda run_id: orchestrator.cancel(run_id, user="another process")
    )
    errands, suggestions, imports = Errands("warm-up", patience=WARMING_PATIENCE), Suggestions(), ImportRunner()
    first: list[Callable[[], object]] = [profiler.warm, sandbox.warm, finder.warm, planner.warm, memory.recalling.warm]
    first += [knowledge.graph.view, kernels.load, knowledge.recognising.linker, models.warm]
    # Threads first; what warms up ends once the worker that it may wait for is gone. None may outlive the database.
    threads = (suggestions, imports, requests, models, shortening, tournaments, queue, records.log, sandbox)
    return EngineParts(
        workspace=workspace,
        records=records,
        registry=registry,
        knowledge=knowledge,
        memory=memory,
        models=models,
        finder=finder,
        trees=trees,
        orchestrator=orchestrator,
        tournaments=tournaments,
        beside=Beside(
            queue=queue,
            deleting=Deleting(records, queue, locks, forget, workspace.folder / "uploads", given_to_tournaments),
            sandbox=sandbox,
            imports=imports,
            suggestions=suggestions,
            errands=errands,
            warm_up=first if settings.warm_workers and not read_only else [],
            closing=(*threads, profiler, vectors, errands, store, database, workspace),
        ),
    )


def make_tournaments(
    settings: Settings,
    store: HypothesisStore,
    orchestrator: Orchestrator,
    knowledge: KnowledgeBase,
    models: Models,
    embed: Callable[[Sequence[str]], np.ndarray] | None,
) -> Tournaments:
    """Return the tournaments of hypotheses, whose tests are ordinary runs."""
    records, plans = orchestrator.records, orchestrator.plans

    def finished(run_id: str) -> RunView:
        orchestrator.queue.wait(run_id)
        return records.view(records.newest(run_id))

    tester = TestsByRuns(
        draft=lambda question, files: plans.draft(question, files)[0],
        start=orchestrator.start_plan,
        finished=finished,
        registry=plans.registry,
    )

    def cast_of(tournament_id: str, cancel: CancelToken | None) -> Cast:
        # The graph is read by none of this before somebody asks for a tournament.
        from engine.agents.describe import files_text
        from engine.strategies.tournament.bridges.at_hand import ChangedGene, DataAtHand, changed_genes
        from engine.strategies.tournament.by_rules.alike import similarities
        from engine.strategies.tournament.by_rules.role_set import roles_by_rules
        from engine.strategies.tournament.safety.harm import refuses

        alike = partial(similarities, embed=embed)
        state = store.tournament(tournament_id) if tournament_id else None
        user = state.user if state is not None else settings.user

        def changed(aims: Aims) -> Sequence[ChangedGene]:
            names = [Path(file).name for file in aims.files]
            return changed_genes(records.store, records.artifacts, names, user)

        def at_hand(aims: Aims) -> DataAtHand:
            if not aims.files:
                return DataAtHand()
            found = plans.corrections.profile([Path(file) for file in aims.files])
            return DataAtHand(found, files_text(found, levels=settings.model_levels))

        if not any(models.roster.values()):
            roles = roles_by_rules(knowledge, changed=changed, at_hand=at_hand)
            return _cast(roles, tester=tester, likeness=alike, refuses=refuses(), reads=roles.supervisor.plan)
        from engine.agents.by_models import ByModels
        from engine.strategies.tournament.by_models.role_set import roles_by_models

        def scope(_: str) -> Scope:
            return Scope(run_id=tournament_id, user=user, emit=records.log.emit, cancel=cancel)

        made = roles_by_models(
            ByModels(models, scope),
            knowledge,
            run_id=tournament_id,
            turns=state.bounds.debate_turns if state is not None else Bounds().debate_turns,
            changed=changed,
            at_hand=at_hand,
            with_texts=bool(state is not None and state.aims.literature),
            read_claims=settings.model_claims,
        )

        def spent(runs: Sequence[str]) -> tuple[int, float]:
            totals = [models.totals(name) for name in (tournament_id, *dict.fromkeys(runs))]
            return sum(one.calls for one in totals), sum(one.usd for one in totals)

        # Without a tournament that it counts for, no model is asked: what may be begun is then told by rules.
        refusing = made.refuses if tournament_id else refuses()
        return _cast(made.roles, tester=tester, likeness=alike, refuses=refusing, asserted=made.asserted, spent=spent)

    # A queue of its own: a tournament waits for the runs of its tests, which must not wait for it.
    queue = RunQueue(workers=settings.parallel_runs, size=settings.queue_size)
    return Tournaments(store, cast_of, records.clock, records.ids, records.log.emit, queue, records.user)


def _cast(roles: RoleSet, **more: Any) -> Cast:
    return Cast(
        judge=roles.judge, reviewer=roles.reviewer, makers=roles.makers, evolver=roles.evolver,
        meta_reviewer=roles.meta_reviewer, supervisor=roles.supervisor, **more,
    )  # fmt: skip


Roster = dict[Role, tuple[Target, ...]]
"""The models of each role, first choice first."""


def _roster(settings: Settings) -> Roster:
    """Return the models that the settings name; without any, nothing of the clients is imported."""
    if settings.offline:
        return {}
    from engine.adapters.models.litellm_build import price_table

    return targets(settings, price_table)


def make_models(settings: Settings, roster: Roster, store: ModelCallStore, clock: Clock) -> Models:
    """Return the layer of language models."""
    redact = Redactor()
    if not roster:
        return Models(roster={}, connect=_no_model, store=store, clock=clock, settings=settings, redact=redact)
    from engine.adapters.models.connect import Connections, warm

    connections = Connections(redact)
    return Models(
        roster=roster,
        connect=connections.to,
        store=store,
        clock=clock,
        settings=settings,
        redact=redact,
        when_warmed=lambda: warm(target.address for chain in roster.values() for target in chain),
        when_closed=connections.close,
    )


def _no_model(address: ModelAddress) -> ChatProvider:
    raise ModelUnavailable(f"There is no model {address.name}.", reached=False)


def model_state(settings: Settings, *, test: bool) -> dict[str, Any]:
    """Return the models of each role, which LiteLLM is here, and with `test` what each model says when asked a word."""
    from engine.adapters.models.litellm_build import build as litellm_build

    models = make_models(settings, _roster(settings), ModelCallsTwin(), SystemClock())
    try:
        tests = {role: models.test(role) for role in models.roster if test and models.has(role)}
        return {"roles": models.describe(), "litellm": litellm_build(), "tests": tests}
    finally:
        models.close()


def serve_mailbox(folder: Path, port: int, tell: Callable[[str], object]) -> None:
    """Be a model whose answers somebody writes into a folder, until interrupted."""
    from engine.adapters.models.mailbox import Mailbox

    with Mailbox(folder, port, tell) as mailbox:
        tell(f"A model listens on http://127.0.0.1:{mailbox.port}/v1; its questions and answers are in {folder}.")
        mailbox.serve_forever()


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """What models do, each None where there is no model for it or a setting says no."""

    reader: QuestionReader | None = None
    mending: Mending | None = None
    reading: SecondReading | None = None
    opinion: RouteOpinion | None = None
    driver: ModelDriver | None = None
    claims: ClaimReader | None = None
    ranker: ToolRanker | None = None
    shortener: TalkShortener | None = None
    adviser: AdviserOf | None = None


def make_agents(
    settings: Settings,
    models: Models,
    planner: Planner,
    registry: ToolRegistry,
    shelf: Shelf,
    records: RunRecords,
    queue: RunQueue,
    lessons_on: Callable[[str], Sequence[str]],
) -> Agents:
    """Return what models do, as the settings allow it."""
    if not any(models.roster.values()):
        return Agents()
    # Without a model none of this is imported.
    from engine.agents.by_models import ByModels
    from engine.agents.claim_reader import ClaimReader
    from engine.agents.coder import Coder
    from engine.agents.mender import StepMender
    from engine.agents.opinion import RouteOpinion
    from engine.agents.reader import QuestionReader
    from engine.agents.reviewer import RunReviewer
    from engine.agents.shortener import TalkShortener
    from engine.agents.tool_ranker import ToolRanker
    from engine.agents.writer import AnswerWriter
    from engine.steps.mending import Mending
    from engine.steps.second_reading import SecondReading
    from engine.strategies.mcts.by_model import ModelAdviser
    from engine.strategies.react.by_model import ModelDriver

    def scope(run_id: str) -> Scope:
        if not run_id:
            return Scope(user=settings.user)
        run = records.newest(run_id)
        given = {"user": run.user, "conversation": run.conversation}
        return Scope(run_id=run_id, emit=records.log.emit, cancel=queue.token(run_id), **given)

    def of_talk(conversation: str) -> Scope:
        return Scope(conversation=conversation, user=settings.user)

    def looked_at(run_id: str) -> Sequence[Profile]:
        return records.view(records.newest(run_id)).profiles

    asks, levels = ByModels(models, scope), settings.model_levels

    def adviser(goal: str, files: Sequence[Profile], run_id: str) -> ModelAdviser:
        def spent() -> Spent:
            totals = models.totals(run_id)
            return Spent(totals.calls, totals.usd)

        return ModelAdviser(asks, goal, files, run_id, levels, spent)

    coder, mender = Coder(asks, levels), StepMender(asks, looked_at, levels)
    reads, codes, judges = (models.has(role) for role in ("reasoning", "coder", "judge"))
    writes = coder if settings.model_code and codes else None
    return Agents(
        reader=QuestionReader(asks, planner, registry, levels, writes, shelf)
        if settings.model_plans and reads
        else None,
        mending=Mending(mender, coder, shelf, looked_at, lessons_on, settings.model_code_held)
        if settings.model_repairs and codes
        else None,
        reading=SecondReading(
            records, AnswerWriter(asks), RunReviewer(asks, registry, levels), settings.model_revisions
        )
        if settings.model_report and reads and judges
        else None,
        opinion=RouteOpinion(asks) if models.has("fast") else None,
        driver=ModelDriver(asks, levels) if reads else None,
        ranker=ToolRanker(asks) if settings.model_tools and models.has("fast") else None,
        claims=ClaimReader(asks) if settings.model_claims and reads else None,
        shortener=TalkShortener(
            ByModels(models, lambda talk: Scope(conversation=talk, user=settings.user), reuse=False)
        )
        if settings.model_memory and settings.model_report and models.has("fast")
        else None,
        adviser=adviser if settings.model_search and reads and judges else None,
    )


def revise_by(agents: Agents, settings: Settings, orchestrator: Orchestrator) -> None:
    """Have plans revised by what models do, as the settings allow it."""
    reader = agents.reader if settings.model_revisions else None
    mending = agents.mending if settings.model_code_held else None
    if reader is None and mending is None:
        return
    from engine.strategies.revising import Revising

    revising = Revising(reader, orchestrator.plans, settings.model_revisions, mending)
    orchestrator.revising, orchestrator.ending.when_doubted = revising, revising.after_review


def make_embeddings(settings: Settings, vectors: LanceVectors) -> CachedEmbeddings | None:
    """Return what turns texts into vectors, each text once; None when vectors are switched off."""
    embedder = load_embedder(settings.embedding_model)
    if embedder is None:
        return None
    # The program's own texts are the same in every workspace, so the account's cache keeps their vectors.
    return CachedEmbeddings(embedder, vectors, ShippedVectors(compiled_cache() / "vectors"), owner=settings.user)


def embedding_state(settings: Settings) -> str:
    """Return what turns texts into vectors here, tried now, or why nothing does."""
    embedder = load_embedder(settings.embedding_model)
    if embedder is None:
        return "switched off; search and recall work on words and links"
    try:
        embedder.embed(["a test"])
        return f"{embedder.name}, {embedder.dimensions} numbers"
    except ModelUnavailable as err:
        return f"not available: {err.message} {err.advice}".strip()


def make_memory(
    settings: Settings,
    database: Database,
    embeddings: CachedEmbeddings | None,
    knowledge: KnowledgeBase,
    clock: Clock,
    ids: IdSource,
) -> Memory:
    """Connect the three tiers of memory."""
    episodes, facts = EpisodicMemory(DuckEpisodes(database), clock), SemanticMemory(DuckFacts(database), clock, ids)
    usual = Usual(settings.recall_top, settings.recall_min_relevance, settings.recall_tokens)
    made, asked = (embeddings.vectors_of, embeddings.embedder.embed) if embeddings else (None, None)
    return Memory(
        episodic=episodes,
        recalling=Recalling(episodes, made, asked, clock, usual),
        semantic=facts,
        statements=Statements(facts, partial(embeddings.nearest, kind="fact") if embeddings else None),
        working=WorkingMemory(DuckConversations(database), budget=settings.working_memory_tokens, clock=clock),
        door=MemoryDoor(facts, knowledge),
    )


def make_sandbox(settings: Settings, scratch: Path) -> Sandbox:
    """Return the sandbox the settings ask for."""
    wanted = {"auto": None, "bubblewrap": True, "plain": False}[settings.sandbox]
    hidden = (settings.workspace.expanduser().absolute(),)
    if not settings.warm_workers:
        return ProcessSandbox(scratch, use_bubblewrap=wanted, preload=(), hidden=hidden)
    # Compiled numba functions and the font list are the same for every workspace of this account.
    modules = PRELOAD + PRELOAD_SINGLE_CELL
    return ProcessSandbox(scratch, use_bubblewrap=wanted, preload=modules, cache=compiled_cache(), hidden=hidden)


def make_router(settings: Settings) -> Router:
    """Return what chooses the strategy of a question."""
    embedder = load_embedder(settings.embedding_model)
    return Router(embedder.embed if embedder is not None else None)


def make_profiler() -> Profiler:
    """Return what looks at files, in a process of its own that is started with the first file or by `warm`."""
    return ProcessProfiler("engine.data.service:answer", "engine.data.service:warm")


def workspace_holder(folder: Path) -> str:
    """Return a sentence on who holds the workspace or why it cannot be used, or ""."""
    try:
        Workspace.open(folder, read_only=True).close()
    except StorageError as err:
        return err.message
    return ""
