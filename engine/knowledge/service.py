"""The workspace's knowledge graph as one thing: opened when first needed, reopened when it changed.

Reading goes through a view of the newest version that never changes under its reader; an import or a finished
run makes a newer version, and the next question is answered from that. A newer view is built beside the old one:
whoever asks while another thread builds it is answered from the old one, unless an import or a removal asked for
by a person lies between the two. The linker and the resolver are kept for as long as the names are the same.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from engine.domain.findings import Finding
from engine.domain.knowledge import (
    Claim,
    ClaimCheck,
    Edge,
    EdgeRows,
    EdgeType,
    EnrichedNode,
    GraphImport,
    GraphPath,
    GraphSource,
    GraphStats,
    Mention,
    Neighbourhood,
    Node,
    NodeHit,
    NodeRows,
    NodeType,
)
from engine.errors import NotFoundError
from engine.knowledge import enrichment, entities
from engine.knowledge.graph import paths, queries, search
from engine.knowledge.graph.csr import CsrGraph, open_graph
from engine.knowledge.grounding.check import check_text
from engine.knowledge.grounding.direct import opposed
from engine.knowledge.grounding.findings import check_findings
from engine.knowledge.importers import read
from engine.knowledge.importers.reading.text import shown as quoted
from engine.knowledge.learning import Taught, taught
from engine.knowledge.linking.linker import EntityLinker
from engine.knowledge.refusals import ambiguous, no_source, refuse_twice, replaced
from engine.knowledge.resolve import LateResolver, Resolver
from engine.knowledge.sources import fetch, starter
from engine.knowledge.sources.catalogue import SOURCES
from engine.ports.cancel import CancelToken
from engine.ports.chat import ChatModel
from engine.ports.graph import GraphStore
from engine.ports.system import Clock

Progress = Callable[[int, int], None]

_log = logging.getLogger(__name__)

_GENES = (NodeType.GENE, NodeType.PROTEIN)
_LONGEST_NAME = 2_000
"""Characters of what a person types as an entity; more is a text that was put in its place."""

_LEARNED = ("run", "facts")
"""Kinds of sources that name nothing new but tools and files."""


class _LinkerOf(NamedTuple):
    """A linker, the newest version it is right for, and the names it knows."""

    version: int
    names: str
    linker: EntityLinker


class _ResolverOf(NamedTuple):
    """A resolver, the newest version it is right for, and the names it knows."""

    version: int
    names: str
    resolver: Resolver


@dataclass(slots=True)
class KnowledgeBase:
    """The knowledge graph of a workspace. Methods may be called from any thread."""

    store: GraphStore
    folder: Path
    clock: Clock
    model: ChatModel | None = None
    starter_wanted: bool = True
    _view_lock: threading.Lock = field(default_factory=threading.Lock)
    _linker_lock: threading.Lock = field(default_factory=threading.Lock)
    _resolver_lock: threading.Lock = field(default_factory=threading.Lock)
    _state_lock: threading.Lock = field(default_factory=threading.Lock)
    """Held for an instant, never while something is built."""
    _view: CsrGraph | None = None
    _linker: _LinkerOf | None = None
    _resolver: _ResolverOf | None = None
    _oldest: int = 0
    """Versions before this one are not to be shown any more."""
    _oldest_names: int = 0
    """Names before this version are not to be recognised by any more."""
    _renewing: bool = False
    """True while a linker is built in the background."""
    _starter_checked: bool = False

    # ==== the graph itself ====

    def view(self) -> CsrGraph:
        """Return the newest version of the graph, loading the starter graph into a workspace that has none.

        While another thread builds a version that only a finished run made newer, the one before it is returned.
        """
        return self._current(wait=False)

    def outdate(self, *, names: bool = False) -> None:
        """Answer from nothing older than what the store holds now, however long the next question waits for it.

        Args:
            names: entities must be recognised by nothing older either.
        """
        version = self.store.version()
        with self._state_lock:
            self._oldest = max(self._oldest, version)
            if names:
                self._oldest_names = max(self._oldest_names, version)

    def linker(self) -> EntityLinker:
        """Return the entity linker of the newest names.

        What it finds are nodes with their ids, so it may be used with a newer view. After a finished run or a
        remembered fact, the one before is returned while a new one is built in the background.
        """
        view = self.view()
        with self._linker_lock:
            kept = self._linker
            if kept is None or kept.version < self._oldest_names:
                kept = self._linker = self._linker_for(view, kept)
            elif kept.version < view.version:
                self._renew_linker_soon(view)
            return kept.linker

    def resolver(self) -> Resolver:
        """Return the exact lookup of symbols and identifiers in the newest version."""
        view = self.view()
        with self._resolver_lock:
            kept = self._resolver
            if kept is None or kept.version < view.version:
                names = self._names_of(view)
                resolver = kept.resolver if kept is not None and kept.names == names else Resolver(view)
                kept = self._resolver = _ResolverOf(view.version, names, resolver)
            return kept.resolver

    def _current(self, *, wait: bool) -> CsrGraph:
        kept, version = self._view, self.store.version()
        if kept is not None and kept.version == version:
            return kept
        usable = kept if kept is not None and kept.version >= self._oldest and not wait else None
        if not self._view_lock.acquire(blocking=usable is None):
            assert usable is not None
            return usable
        try:
            self._load_starter()
            kept = self._view
            if kept is None or kept.version != self.store.version():
                kept = self._view = open_graph(self.store, self.folder)
            return kept
        finally:
            self._view_lock.release()

    def _load_starter(self) -> None:
        if self._starter_checked:
            return
        # Whoever took the starter graph back does not want it again at the next start.
        if self.starter_wanted and starter.SOURCE_ID not in self.store.removed_sources():
            source = starter.starter_source().model_copy(update={"at": self.clock.now()})
            # It finds nothing new in what others state, so it need not be read again because they changed.
            there = any(old.id == source.id and old.files == source.files for old in self.store.sources())
            if not there:
                self.store.add(source, starter.starter_batches())
        self._starter_checked = True

    def _linker_for(self, view: CsrGraph, kept: _LinkerOf | None) -> _LinkerOf:
        names = self._names_of(view)
        linker = kept.linker if kept is not None and kept.names == names else EntityLinker(view)
        return _LinkerOf(view.version, names, linker)

    def _renew_linker_soon(self, view: CsrGraph) -> None:
        with self._state_lock:
            if self._renewing:
                return
            self._renewing = True
        threading.Thread(target=self._renew_linker, args=[view], name="biodesk-linker", daemon=True).start()

    def _renew_linker(self, view: CsrGraph) -> None:
        try:
            made = self._linker_for(view, self._linker)
            with self._linker_lock:
                if self._linker is None or self._linker.version < made.version:
                    self._linker = made
        except Exception:  # noqa: BLE001 - the old linker stays in use, and the next question tries again
            _log.exception("The entity linker of graph version %d could not be built.", view.version)
        finally:
            with self._state_lock:
                self._renewing = False

    @staticmethod
    def _names_of(view: CsrGraph) -> str:
        """Return a hash of everything entities are recognised by; the files of runs (datasets) are not among it."""
        return view.names_key((NodeType.DATASET,))

    # ==== questions ====

    def stats(self) -> GraphStats:
        """Return how large the graph is and of what."""
        return queries.statistics(self.view(), self.store)

    def search(self, text: str, *, types: Collection[NodeType] = (), top: int = 20) -> list[NodeHit]:
        """Return the nodes a text may mean, best first."""
        view = self.view()
        hits = search.search(view, text, types=types, top=top)
        if hits or not entities.identifier_keys(text[:_LONGEST_NAME]):
            return hits
        # An identifier may be written without its prefix or with a version, as no name is.
        known = entities.identified(view, text, types=types)[:top]
        return [_hit(view, named.number, text.strip()) for named in known]

    def node(self, text: str) -> Node:
        """Return the one node that a text means: an id, an identifier elsewhere, a name or an alias in any spelling.

        Raises:
            NotFoundError: when nothing fits, the advice then names what is near, or when several nodes fit equally;
                then `details["choices"]` has their ids.
        """
        view = self.view()
        number = view.number(text.strip())
        if number >= 0:
            return view.node(number)
        if len(text) > _LONGEST_NAME:
            raise NotFoundError(
                f"{quoted(text)} has {len(text):,} characters, so it is no entity of the knowledge graph.",
                advice="`biodesk kg search TEXT` finds what is there.",
            )
        found = entities.fitting(view, [text]).get(text, [])
        if len(found) == 1:
            return view.node(found[0].number)
        if found:
            raise ambiguous(text, found)
        rephrased = None if entities.is_identifier(text) else self._rephrased(text.strip())
        if rephrased is not None:
            return rephrased
        near = ", ".join(f"{hit.node.name} ({hit.node.id})" for hit in self.search(text, top=3))
        advice = f"Near are: {near}." if near else "`biodesk kg search TEXT` finds what is there."
        raise NotFoundError(f"There is no entity {quoted(text)} in the knowledge graph.", advice=advice)

    def _rephrased(self, text: str) -> Node | None:
        """Return the node that the whole text is recognised as, in the plural or rephrased, unless it may be others."""
        mentions = self.linker().link(text)
        if len(mentions) != 1 or (mentions[0].start, mentions[0].end) != (0, len(text)) or mentions[0].alternatives:
            return None
        number = self.view().number(mentions[0].node.id)
        return self.view().node(number) if number >= 0 else None

    def neighbours(
        self,
        seeds: str | Sequence[str],
        *,
        hops: int = 1,
        node_types: Collection[NodeType] = (),
        edge_types: Collection[EdgeType] = (),
        limit: int = 150,
    ) -> Neighbourhood:
        """Return what is around entities, given by id or name."""
        names = [seeds] if isinstance(seeds, str) else list(seeds)
        ids = [self.node(name).id for name in names]
        return queries.neighbourhood(
            self.view(), ids, hops=hops, edge_types=edge_types or None, node_types=node_types or None, limit=limit
        )

    def paths(self, a: str, b: str, *, max_hops: int = 4, top: int = 5) -> list[GraphPath]:
        """Return the best supported paths between two entities; empty when there is none that short."""
        return paths.best_paths(self.view(), self.node(a).id, self.node(b).id, max_hops=max_hops, top=top)

    def shortest_path(self, a: str, b: str, *, max_hops: int = 6) -> GraphPath | None:
        """Return a path with the fewest edges, or None."""
        return paths.shortest_path(self.view(), self.node(a).id, self.node(b).id, max_hops=max_hops)

    def common_neighbours(self, a: str, b: str) -> list[NodeHit]:
        """Return the nodes linked to both."""
        return queries.common_neighbours(self.view(), self.node(a).id, self.node(b).id)

    def edges_between(self, a: str, b: str) -> list[Edge]:
        """Return everything stated of two entities, with who states it."""
        view = self.view()
        return view.edges(view.rows_between(view.number(self.node(a).id), view.number(self.node(b).id)))

    def subgraph(self, ids: Sequence[str]) -> Any:
        """Return the given nodes and the edges among them as a NetworkX multigraph."""
        return queries.subgraph(self.view(), list(ids))

    def enrich(
        self, genes: Sequence[str], *, background: Sequence[str] | None = None, **options: Any
    ) -> list[EnrichedNode]:
        """Return the neighbourhoods that hold more of the genes than chance would; genes by symbol or id.

        Raises:
            NotFoundError: when none of the genes is in the graph; `unknown_genes` tells which are not.
        """
        found = self.gene_ids(genes)
        if genes and not found:
            some = ", ".join(gene[:40] for gene in genes[:5]) + (", ..." if len(genes) > 5 else "")
            none = "The gene given is not" if len(genes) == 1 else f"None of the {len(genes):,} genes given is"
            message = f"{none} in the knowledge graph ({some})."
            raise NotFoundError(message, advice="Give symbols or ids of genes; `biodesk kg search TEXT` finds them.")
        against = self.gene_ids(background) if background is not None else None
        return enrichment.enrichment(self.view(), found, background=against, **options)

    def gene_ids(self, genes: Sequence[str]) -> list[str]:
        """Return the ids of the genes that are in the graph, by symbol, alias or id."""
        found = self._genes(genes)
        return list(dict.fromkeys(found[gene] for gene in genes if gene in found))

    def unknown_genes(self, genes: Sequence[str]) -> list[str]:
        """Return those genes, as they were given, that are not in the graph."""
        found = self._genes(genes)
        return [gene for gene in dict.fromkeys(genes) if gene not in found]

    def _genes(self, genes: Sequence[str]) -> dict[str, str]:
        """Return text -> id of the genes that are known; those written otherwise are looked for in one pass."""
        resolve = self.resolver()
        asked = list(dict.fromkeys(genes))
        found = {gene: node for gene in asked if (node := resolve.gene(gene)) is not None}
        left = [gene for gene in asked if gene not in found and len(gene) <= _LONGEST_NAME]
        fits = entities.fitting(self.view(), left, types=_GENES) if left else {}
        return found | {gene: nodes[0].id for gene, nodes in fits.items() if len(nodes) == 1}

    # ==== text ====

    def link(self, text: str) -> list[Mention]:
        """Return the entities a text names."""
        return self.linker().link(text)

    def check(self, text: str) -> ClaimCheck:
        """Return a text's claims, each labelled by what the graph says of it."""
        linker = self.linker()  # first, so that the view is at least as new as the names
        return check_text(text, self.view(), linker, model=self.model)

    def opposed(self, edges: Sequence[Edge]) -> list[str]:
        """Return a sentence for each edge of which the graph states the opposite, too."""
        view = self.view()
        return [text for edge in edges if (text := opposed(edge, view))]

    def check_findings(self, findings: Sequence[Finding]) -> dict[str, Claim]:
        """Return finding id -> what the graph says of what it asserts, for those that can be looked up."""
        return check_findings(findings, self.view())

    # ==== changes ====

    def import_files(
        self,
        fmt: str,
        files: Sequence[Path],
        *,
        name: str | None = None,
        organism: str = "human",
        even_so: bool = False,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> GraphImport:
        """Read files into the graph: all of it, or nothing when something is wrong with them.

        The same files are read again when another source changed since, as they may find more to attach to; then
        they do not find what they alone mention.

        Args:
            fmt: a format's name, or `auto`.
            files: the files.
            name: what the source is called; after its files when None.
            organism: whose genes they are where the files do not say.
            even_so: read them also when another source has one of them, of the same organism, already.
            progress: told how many nodes and edges were read so far.
            cancel: stops the import; nothing is stored then.

        Raises:
            UserError: when a file is in the graph already under another name.
            DataError: for a file that is not what the format says; the message names the line.
        """
        self.view()  # the starter graph comes first
        resolve = LateResolver()
        source, batches, warnings = read.open_import(fmt, files, name=name, organism=organism, resolve=resolve)
        if not even_so:
            refuse_twice(source, self.store.sources())
        resolve.make = lambda: self._resolver_without(source.id)
        source = source.model_copy(update={"at": self.clock.now()})
        before = next((old for old in self.store.sources() if old.id == source.id), None)
        done = self.store.add(source, batches, progress=progress, cancel=cancel)
        self.outdate(names=True)
        if before is not None and not done.unchanged:
            warnings = [replaced(before, again=before.files == source.files), *warnings]
        return done.model_copy(update={"warnings": [*done.warnings, *warnings]})

    def _resolver_without(self, source_id: str) -> Resolver:
        """Return the lookup for a source that is read: without the nodes that it alone mentions."""
        own = self.store.mentioned_only_by(source_id)
        return Resolver(self._current(wait=True), without=frozenset(own)) if own else self.resolver()

    def restore_starter(self) -> GraphImport:
        """Load the starter graph, also when it was taken back before or was not wanted at first."""
        self.view()
        source = starter.starter_source().model_copy(update={"at": self.clock.now()})
        done = self.store.add(source, starter.starter_batches())
        self.outdate(names=True)
        return done

    def preview(self, fmt: str, files: Sequence[Path], *, organism: str = "human") -> read.ImportPreview:
        """Return the first nodes and edges an import would read."""
        return read.preview(fmt, files, organism=organism, resolve=self.resolver())

    def fetch(self, name: str, folder: Path, **options: Any) -> list[Path]:
        """Download a public source and return its files (see `engine.knowledge.sources.fetch.fetch`)."""
        return fetch.fetch(name, folder, **options)

    def import_fetched(
        self, name: str, files: Sequence[Path], *, even_so: bool = False, progress: Progress | None = None
    ) -> GraphImport:
        """Import what `fetch` brought; `even_so` as in `import_files`."""
        source = SOURCES[name.strip().lower()]
        return self.import_files(source.format, files, name=source.title, even_so=even_so, progress=progress)

    def learn(self, source: GraphSource, batches: Iterable[NodeRows | EdgeRows]) -> GraphImport:
        """Store what a run or a remembered fact states."""
        self.view()
        return self.store.add(source.model_copy(update={"at": source.at or self.clock.now()}), batches)

    def taught(self, source_id: str) -> Taught:
        """Return what a run or another source has put into the graph, for review.

        Raises:
            NotFoundError: when there is no such source.
        """
        try:
            return taught(self._current(wait=True), source_id)
        except NotFoundError:
            raise no_source(source_id) from None

    def remove(self, source_id: str) -> None:
        """Take back what a source stated.

        Raises:
            NotFoundError: when there is no such source.
        """
        there = [source for source in self.store.sources() if source.id == source_id]
        if not there:
            raise no_source(source_id)
        names = there[0].kind not in _LEARNED
        self.store.remove_source(source_id)
        self.outdate(names=names)


def _hit(view: CsrGraph, number: int, matched: str) -> NodeHit:
    return NodeHit(node=view.node(number), score=1.0, matched=matched, degree=view.degree(number))
