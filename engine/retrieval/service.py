"""Every tool that can be found: the built-in catalogue and the imported ones, behind one search.

The index is built when first needed and again after an import. Texts are embedded once in a workspace's life;
without vectors the search works on words and links, and says so.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from engine.domain.retrieval import CatalogueEntry, CatalogueImport, CatalogueInfo, ToolSearch
from engine.domain.toolspec import ToolSpec
from engine.errors import DataError, ModelUnavailable, NotFoundError, StorageError
from engine.knowledge.view import GraphView
from engine.ports import CatalogueStore, ChatModel, Clock
from engine.retrieval.catalogues.read import READERS
from engine.retrieval.embedding_cache import CachedEmbeddings
from engine.retrieval.hybrid import HybridRetriever
from engine.retrieval.index import ToolIndex, entry_text, method_texts, spec_entry
from engine.retrieval.usage import UsageHistory

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class ToolFinder:
    """Searches and keeps the catalogues of tools. Methods may be called from any thread."""

    specs: list[ToolSpec]
    store: CatalogueStore
    embeddings: CachedEmbeddings | None
    clock: Clock
    graph: Callable[[], GraphView] | None = None
    usage: Callable[[], UsageHistory] | None = None
    """What finished runs say of tools."""
    model: ChatModel | None = None
    candidates: int = 200
    _guard: threading.RLock = field(default_factory=threading.RLock)
    _index: ToolIndex | None = None
    _retriever: HybridRetriever | None = None
    _graph_version: int = -1
    _no_vectors: str = ""
    """Why the index has no vectors."""

    def search(
        self,
        query: str,
        *,
        top: int = 15,
        data_types: Collection[str] = (),
        domains: Collection[str] = (),
        explain: bool = False,
    ) -> ToolSearch:
        """Find tools for a task in words.

        Args:
            query: what is to be done.
            top: how many at most.
            data_types: what the user's data can serve as (`DataType` values); tools that take them rank higher.
            domains: fields the task belongs to, as a hint.
            explain: also return everything that entered a stage and why.
        """
        found = self._current().search(
            query,
            top=top,
            candidates=max(self.candidates, top),
            data_types=data_types,
            domains=domains,
            explain=explain,
        )
        # Why there are no vectors says more than that there are none.
        kept = [note for note in found.notes if "Vectors are not available" not in note]
        return found.model_copy(update={"notes": [*kept, self._no_vectors]}) if self._no_vectors else found

    def entries(self) -> list[CatalogueEntry]:
        """Return every tool that can be found, the built-in ones first."""
        return [*(spec_entry(spec) for spec in self.specs), *self.store.entries()]

    def entry(self, name: str) -> CatalogueEntry:
        """Return one tool.

        Raises:
            NotFoundError: when there is none of this name.
        """
        for entry in self.entries():
            if entry.name == name:
                return entry
        raise NotFoundError(
            f"There is no tool called {name!r}.", advice="`biodesk tools search` finds tools by what they do."
        )

    def catalogues(self) -> list[CatalogueInfo]:
        """Return the imported catalogues."""
        return self.store.catalogues()

    def import_catalogue(
        self, kind: str, path: Path, *, name: str = "", progress: Progress | None = None
    ) -> CatalogueImport:
        """Read a catalogue of tools; it replaces what was imported under the same name.

        Args:
            kind: a key of `READERS`.
            path: a file or folder.
            name: what to call it; the kind unless given (for JSONL the file's name).
            progress: called with (texts embedded, texts to embed).

        Raises:
            DataError: for a file that is not such a catalogue; nothing is stored then.
        """
        started = perf_counter()
        if kind not in READERS:
            raise DataError(f"{kind!r} is not a kind of catalogue.", advice=f"It can be {', '.join(sorted(READERS))}.")
        label = name or (path.name.split(".")[0] if kind == "jsonl" else kind)
        if label == "biodesk":
            raise DataError(
                "A catalogue cannot be called 'biodesk': that is the built-in one.", advice="Give it another name."
            )
        warnings: list[str] = []
        entries = self._distinct(READERS[kind](path), label, warnings)
        if not entries:
            raise DataError(f"{path} holds no tools.", advice=f"A catalogue of kind {kind} was expected.")
        digest = hashlib.sha256()
        for entry in entries:
            digest.update(entry.model_dump_json().encode())
        info = CatalogueInfo(
            name=label,
            kind=kind,
            entries=len(entries),
            sha256=digest.hexdigest(),
            at=self.clock.now(),
            license=entries[0].license,
        )
        with self._guard:
            known = next((c for c in self.store.catalogues() if c.name == label), None)
            if known is not None and known.sha256 == info.sha256:
                return CatalogueImport(
                    catalogue=known,
                    added=0,
                    changed=0,
                    removed=0,
                    embedded=0,
                    unchanged=True,
                    warnings=warnings,
                    seconds=round(perf_counter() - started, 3),
                )
            before = {entry.name: entry for entry in self.store.entries() if entry.catalogue == label}
            self.store.replace(info, entries)
            self._index = None
        now = {entry.name: entry for entry in entries}
        embedded = self._embed(entries, progress, warnings)
        return CatalogueImport(
            catalogue=info,
            added=len(now.keys() - before.keys()),
            changed=sum(1 for tool in now.keys() & before.keys() if now[tool] != before[tool]),
            removed=len(before.keys() - now.keys()),
            embedded=embedded,
            warnings=warnings,
            seconds=round(perf_counter() - started, 3),
        )

    def remove_catalogue(self, name: str) -> None:
        """Forget an imported catalogue.

        Raises:
            NotFoundError: when there is none of this name.
        """
        with self._guard:
            self.store.remove(name)
            self._index = None

    def warm(self) -> None:
        """Build the index now, and what the first question would wait for."""
        self._current().warm()

    def _distinct(self, entries: Iterable[CatalogueEntry], label: str, warnings: list[str]) -> list[CatalogueEntry]:
        """Give the entries their catalogue and a name that no other catalogue uses."""
        taken = {spec.name for spec in self.specs} | {e.name for e in self.store.entries() if e.catalogue != label}
        distinct: dict[str, CatalogueEntry] = {}
        twice = 0
        for entry in entries:
            name = entry.name if entry.name not in taken else f"{label}:{entry.name}"
            twice += name in distinct
            distinct[name] = entry.model_copy(update={"name": name, "catalogue": label})
        if twice:
            warnings.append(
                f"{twice} entries had a name that came before in the same catalogue; the last of each was kept."
            )
        return list(distinct.values())

    def _embed(self, entries: list[CatalogueEntry], progress: Progress | None, warnings: list[str]) -> int:
        if self.embeddings is None:
            return 0
        try:
            before = self.embeddings.embedded
            self.embeddings.vectors_of([entry_text(entry) for entry in entries], progress=progress)
        except (ModelUnavailable, StorageError) as err:
            warnings.append(f"Vectors could not be made, so the search uses words only: {err.message}")
            return 0
        return self.embeddings.embedded - before

    def _current(self) -> HybridRetriever:
        """Return a retriever over the newest catalogues and graph; building the index is the slow part and is kept."""
        graph = self.graph() if self.graph else None
        version = graph.version if graph else -1
        with self._guard:
            if self._index is None:
                self._index = self._build()
                self._retriever = None
            if self._retriever is None or version != self._graph_version:
                embed = (
                    self.embeddings.query if self.embeddings is not None and self._index.vectors is not None else None
                )
                usage = self.usage() if self.usage else None
                self._retriever = HybridRetriever(
                    self._index, embed_query=embed, graph=graph, usage=usage, model=self.model
                )
                self._graph_version = version
            return self._retriever

    def _build(self) -> ToolIndex:
        entries = self.entries()
        vectors = methods = None
        self._no_vectors = "Vectors are switched off (embedding_model = none); words and links only."
        if self.embeddings is not None:
            try:
                vectors = self.embeddings.vectors_of([entry_text(entry) for entry in entries])
                methods, self._no_vectors = self.embeddings.vectors_of(method_texts()), ""
            except (ModelUnavailable, StorageError) as err:
                vectors = None
                self._no_vectors = f"Vectors are not available, so words and links only were used: {err.message}"
        return ToolIndex.build(entries, vectors, methods)
