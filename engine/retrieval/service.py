"""Every tool that can be found: the built-in catalogue and the imported ones, behind one search.

The index is built when first needed and anew when a catalogue changes, beside the one in use, so that a search never
waits for it. Texts are embedded once in a workspace's life; without vectors the search works on words and links, and
says so.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from engine.domain.retrieval import CatalogueEntry, CatalogueImport, CatalogueInfo, ToolSearch
from engine.domain.toolspec import ToolSpec
from engine.errors import DataError, EngineError, ModelUnavailable, NotFoundError, StorageError
from engine.knowledge.graph.view import GraphView
from engine.ports.system import Clock
from engine.ports.tools.catalogues import CatalogueStore
from engine.retrieval.catalogues.calling import call_entry
from engine.retrieval.catalogues.read import READERS
from engine.retrieval.hybrid import HybridRetriever
from engine.retrieval.indexes.embedding_cache import CachedEmbeddings
from engine.retrieval.indexes.index import entry_text, spec_entry
from engine.retrieval.indexes.kept_index import BUILT_IN, EMBED_NOW, KeptIndex
from engine.retrieval.usage import KeptUsage, UsageHistory

Progress = Callable[[int, int], None]
T = TypeVar("T")


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
    candidates: int = 200
    shown: int = 15
    """How many tools a search gives that does not say how many."""
    embed_now: int = EMBED_NOW
    """Vectors that a search waits for when they are missing; more are made beside the searches."""
    order: Callable[[ToolSearch], ToolSearch] = lambda found: found
    """Has a model order what a person searched for, where there is one."""
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False)
    _importing: threading.Lock = field(default_factory=threading.Lock, init=False)
    """One import at a time: names are made distinct over all catalogues."""
    _kept: KeptIndex = field(init=False)
    _kept_usage: KeptUsage | None = field(default=None, init=False)
    _retriever: HybridRetriever | None = field(default=None, init=False)
    _made_of: tuple[object, ...] = field(default=(), init=False)
    """What the retriever was made of; another one is made when any of it changes."""

    def __post_init__(self) -> None:
        """Connect the parts; nothing is read yet."""
        self._kept = KeptIndex(self.entries, self.embeddings, self.clock, self.embed_now)
        self._kept_usage = KeptUsage(self.usage) if self.usage else None

    def search(
        self,
        query: str,
        *,
        top: int | None = None,
        data_types: Collection[str] = (),
        domains: Collection[str] = (),
        explain: bool = False,
    ) -> ToolSearch:
        """Find tools for a task in words.

        Args:
            query: what is to be done.
            top: how many at most; `shown` when left out.
            data_types: what the user's data can serve as (`DataType` values); tools that take them rank higher.
            domains: fields the task belongs to, as a hint.
            explain: also return everything that entered a stage and why.
        """
        top = self.shown if top is None else top
        return self._current().search(
            query,
            top=top,
            candidates=max(self.candidates, top),
            data_types=data_types,
            domains=domains,
            explain=explain,
        )

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

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool of an installed package (Biomni) and return what it gives. Outside the sandbox: for scripts.

        Raises:
            NotFoundError: when there is none of this name.
            UserError: when it is a description only, its package is missing or it fails.
        """
        return call_entry(self.entry(name), arguments)

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
        if label == BUILT_IN:
            raise DataError(
                "A catalogue cannot be called 'biodesk': that is the built-in one.", advice="Give it another name."
            )
        with self._importing:
            return self._import(kind, path, label, progress, started)

    def _import(self, kind: str, path: Path, label: str, progress: Progress | None, started: float) -> CatalogueImport:
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
        # Before anything else, because it takes longest: searches go on as they were. Also for a catalogue that did
        # not change, since its vectors may be missing (another model, an import that was broken off).
        embedded = self._embed(entries, progress, warnings)
        known = next((c for c in self.store.catalogues() if c.name == label), None)
        unchanged = known is not None and known.sha256 == info.sha256
        now = {entry.name: entry for entry in entries}
        before = now if unchanged else {e.name: e for e in self.store.entries() if e.catalogue == label}
        if not unchanged:
            self._kept.change(lambda: self.store.replace(info, entries))
        return CatalogueImport(
            catalogue=known if known is not None and unchanged else info,
            added=len(now.keys() - before.keys()),
            changed=sum(1 for tool in now.keys() & before.keys() if now[tool] != before[tool]),
            removed=len(before.keys() - now.keys()),
            embedded=embedded,
            unchanged=unchanged,
            warnings=warnings,
            seconds=round(perf_counter() - started, 3),
        )

    def remove_catalogue(self, name: str) -> None:
        """Forget an imported catalogue.

        Raises:
            NotFoundError: when there is none of this name.
        """
        self._kept.change(lambda: self.store.remove(name))

    def forget_usage(self) -> None:
        """Read what finished runs say of tools again at the next search; to be called when memory changed."""
        if self._kept_usage is not None:
            self._kept_usage.forget()

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
        """Embed what is new in entries; return how many texts that were, also when it was broken off."""
        if self.embeddings is None:
            return 0
        new = 0

        def count(done: int, total: int) -> None:
            nonlocal new
            new = done
            if progress:
                progress(done, total)

        try:
            self.embeddings.vectors_of([entry_text(entry) for entry in entries], count, kind="tool")
        except (ModelUnavailable, StorageError) as err:
            warnings.append(f"Vectors could not be made, so the search uses words only: {err.message}")
        return new

    def _current(self) -> HybridRetriever:
        """Return a retriever over the newest catalogues, graph and usage that there are."""
        built = self._kept.newest()
        notes: list[str] = []
        graph = _or_none(self.graph, "The knowledge graph could not be read, so it was not used:", notes)
        read_usage = self._kept_usage.newest if self._kept_usage else None
        usage = _or_none(read_usage, "What earlier runs say of tools could not be read, so it was not used:", notes)
        made_of = (built, graph.version if graph else -1, usage, *notes)
        with self._guard:
            if self._retriever is None or made_of != self._made_of:
                self._retriever = HybridRetriever(
                    built.index,
                    embed_query=self.embeddings.query if self.embeddings is not None else None,
                    graph=graph,
                    usage=usage,
                    no_vectors=built.no_vectors,
                    notes=notes,
                )
                self._made_of = made_of
            return self._retriever


def _or_none(read: Callable[[], T] | None, sentence: str, notes: list[str]) -> T | None:
    """Return what `read` gives; None with a note where it fails, for a search can do without."""
    if read is None:
        return None
    try:
        return read()
    except (EngineError, OSError) as err:
        notes.append(f"{sentence} {err.message if isinstance(err, EngineError) else err}")
        return None
