"""Changes of the graph: sources are read in, learned from runs and facts, shown, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.domain.knowledge import EdgeRows, GraphImport, GraphSource, NodeRows
from engine.errors import NotFoundError
from engine.knowledge.importers import read
from engine.knowledge.learning import Taught, taught
from engine.knowledge.lookup import EntityLookup, LateLookup
from engine.knowledge.newest import NewestGraph
from engine.knowledge.recognising import Recognising
from engine.knowledge.refusals import no_source, refuse_twice, replaced
from engine.knowledge.sources import starter
from engine.knowledge.sources.catalogue import SOURCES
from engine.ports.cancel import CancelToken

Progress = Callable[[int, int], None]

_LEARNED = ("run", "facts")
"""Kinds of sources that name nothing new but tools and files."""


@dataclass(frozen=True, slots=True)
class GraphSources:
    """The sources of a workspace's graph. Methods may be called from any thread."""

    graph: NewestGraph
    recognising: Recognising

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
        store = self.graph.store
        self.graph.view()  # the starter graph comes first
        lookup = LateLookup()
        source, batches, warnings = read.open_import(fmt, files, name=name, organism=organism, resolve=lookup)
        if not even_so:
            refuse_twice(source, store.sources())
        lookup.make = lambda: self._lookup_without(source.id)
        source = source.model_copy(update={"at": self.graph.clock.now()})
        before = next((old for old in store.sources() if old.id == source.id), None)
        done = store.add(source, batches, progress=progress, cancel=cancel)
        self.graph.outdate(names=True)
        if before is not None and not done.unchanged:
            warnings = [replaced(before, again=before.files == source.files), *warnings]
        return done.model_copy(update={"warnings": [*done.warnings, *warnings]})

    def import_fetched(
        self, name: str, files: Sequence[Path], *, even_so: bool = False, progress: Progress | None = None
    ) -> GraphImport:
        """Import what `engine.knowledge.sources.fetch.fetch` brought; `even_so` as in `import_files`."""
        source = SOURCES[name.strip().lower()]
        return self.import_files(source.format, files, name=source.title, even_so=even_so, progress=progress)

    def preview(self, fmt: str, files: Sequence[Path], *, organism: str = "human") -> read.ImportPreview:
        """Return the first nodes and edges an import would read."""
        return read.preview(fmt, files, organism=organism, resolve=self.recognising.lookup())

    def restore_starter(self) -> GraphImport:
        """Load the starter graph, also when it was taken back before or was not wanted at first."""
        self.graph.view()
        done = self.learn(starter.starter_source(), starter.starter_batches())
        self.graph.outdate(names=True)
        return done

    def learn(self, source: GraphSource, batches: Iterable[NodeRows | EdgeRows]) -> GraphImport:
        """Store what a run, a remembered fact or the project itself states."""
        self.graph.view()
        return self.graph.store.add(source.model_copy(update={"at": source.at or self.graph.clock.now()}), batches)

    def taught(self, source_id: str) -> Taught:
        """Return what a run or another source has put into the graph, for review.

        Raises:
            NotFoundError: when there is no such source.
        """
        try:
            return taught(self.graph.view(wait=True), source_id)
        except NotFoundError:
            raise no_source(source_id) from None

    def remove(self, source_id: str) -> None:
        """Take back what a source stated.

        Raises:
            NotFoundError: when there is no such source.
        """
        there = [source for source in self.graph.store.sources() if source.id == source_id]
        if not there:
            raise no_source(source_id)
        self.graph.store.remove_source(source_id)
        self.graph.outdate(names=there[0].kind not in _LEARNED)

    def _lookup_without(self, source_id: str) -> EntityLookup:
        """Return the look-up for a source that is read: without the nodes that it alone mentions."""
        own = self.graph.store.mentioned_only_by(source_id)
        nodes = self.graph.view(wait=True).nodes if own else None
        return EntityLookup(nodes, without=own) if nodes is not None else self.recognising.lookup()
