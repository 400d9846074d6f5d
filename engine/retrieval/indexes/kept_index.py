"""The index of all tools, kept up to date without a search having to wait for it."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.domain.retrieval import CatalogueEntry
from engine.errors import EngineError, ModelUnavailable, StorageError
from engine.ports.system import Clock
from engine.retrieval.indexes.embedding_cache import CachedEmbeddings
from engine.retrieval.indexes.index import ToolIndex, entry_text, method_texts

_LOG = logging.getLogger(__name__)
BUILT_IN = "biodesk"
"""The catalogue of Biodesk's own tools; no imported one can have this name."""
EMBED_NOW = 1_000
"""Up to this many missing vectors are made while a search waits (seconds); more are made beside it."""
RETRY_SECONDS = 60.0
"""After vectors could not be stored or read they are tried again at the first search after this time."""


@dataclass(frozen=True, slots=True, eq=False)
class BuiltIndex:
    """An index and what is to be known of it."""

    index: ToolIndex
    edition: int
    """The state of the catalogues that it was built from."""
    no_vectors: str = ""
    """Why it has no vectors, for the user."""
    retry_at: float = math.inf
    """Seconds of the clock at which vectors are to be tried again."""


@dataclass(frozen=True, slots=True, eq=False)
class _Vectors:
    """Vectors of the tools and methods, or why there are none."""

    tools: np.ndarray | None = None
    methods: np.ndarray | None = None
    why_not: str = ""
    retry_at: float = math.inf


class KeptIndex:
    """The index of all tools: one thread at a time builds a newer one while the others use the one before."""

    def __init__(
        self,
        entries: Callable[[], list[CatalogueEntry]],
        embeddings: CachedEmbeddings | None,
        clock: Clock,
        embed_now: int = EMBED_NOW,
    ) -> None:
        self._entries = entries
        self._embeddings = embeddings
        self._clock = clock
        self._embed_now = embed_now
        self._building = threading.Lock()
        """Held while an index is built or the catalogues change; never while many vectors are made."""
        self._edition = 0
        self._built: BuiltIndex | None = None
        self._embedding: threading.Thread | None = None

    def newest(self) -> BuiltIndex:
        """Return the newest index there is; only the very first is waited for, or one that nobody else builds.

        Raises:
            StorageError: when the catalogues cannot be read.
        """
        built = self._built
        if built is not None and not self._outdated(built):
            return built
        if not self._building.acquire(blocking=built is None) and built is not None:
            return built
        try:
            built = self._built
            return self._renew() if built is None or self._outdated(built) else built
        finally:
            self._building.release()

    def change(self, catalogues: Callable[[], None]) -> None:
        """Change the catalogues; when an index is in use, the newer one takes its place before this returns.

        Raises:
            EngineError: what the change raises; the index is as it was then.
        """
        with self._building:
            catalogues()
            self._edition += 1
            if self._built is not None:
                # The change was made all the same; the next search tries again and says what is wrong.
                with contextlib.suppress(StorageError):
                    self._renew()

    def _outdated(self, built: BuiltIndex) -> bool:
        return built.edition != self._edition or self._clock.monotonic() >= built.retry_at

    def _renew(self) -> BuiltIndex:
        """Build and return the newest index; the lock is held."""
        old = self._built if self._built is not None and self._built.edition == self._edition else None
        entries = old.index.entries if old is not None else self._entries()
        return self._put(old, entries, self._vectors(entries))

    def _put(self, old: BuiltIndex | None, entries: Sequence[CatalogueEntry], vectors: _Vectors) -> BuiltIndex:
        """Put an index in use; the lock is held. `old` has the same entries: without vectors its words are kept."""
        index = old.index if old is not None and vectors.tools is None else None
        if index is None:
            index = self._index_of(entries, vectors.tools, vectors.methods)
            if self._built is not None:
                # There is one to search with meanwhile, so the first question to this one need not wait for anything.
                index.prepare()
        self._built = BuiltIndex(index, self._edition, vectors.why_not, vectors.retry_at)
        return self._built

    def _index_of(
        self, entries: Sequence[CatalogueEntry], tools: np.ndarray | None, methods: np.ndarray | None
    ) -> ToolIndex:
        return ToolIndex.build(entries, tools, methods)

    def _vectors(self, entries: Sequence[CatalogueEntry]) -> _Vectors:
        """Return vectors; when many are missing none, and they are made beside the searches."""
        if self._embeddings is None:
            return _Vectors(why_not="Vectors are switched off (embedding_model = none); words and links only.")
        try:
            missing = self._embeddings.missing([entry_text(entry) for entry in entries if not _is_shipped(entry)])
            if missing <= self._embed_now:
                return self._made(entries)
        except (ModelUnavailable, StorageError) as err:
            return self._failed(err)
        if self._embedding is None:
            self._embedding = threading.Thread(
                target=self._embed_beside, args=(list(entries), self._edition), name="tool-vectors", daemon=True
            )
            self._embedding.start()
        return _Vectors(why_not=f"Vectors of {missing:,} tools are still being made; words and links only for now.")

    def _failed(self, err: EngineError) -> _Vectors:
        # A full disk passes; a model that is not here does not come while Biodesk runs, and trying takes seconds.
        retry_at = self._clock.monotonic() + RETRY_SECONDS if isinstance(err, StorageError) else math.inf
        return _Vectors(
            why_not=f"Vectors are not available, so words and links only were used: {err.message}", retry_at=retry_at
        )

    def _made(self, entries: Sequence[CatalogueEntry]) -> _Vectors:
        """Return the vectors of all tools and of the table of methods, in the order of the index."""
        assert self._embeddings is not None
        own = [place for place, entry in enumerate(entries) if _is_shipped(entry)]
        others = [place for place, entry in enumerate(entries) if not _is_shipped(entry)]
        shipped = self._embeddings.shipped_vectors_of([entry_text(entries[place]) for place in own])
        imported = self._embeddings.vectors_of([entry_text(entries[place]) for place in others], kind="tool")
        rows = np.empty((len(entries), self._embeddings.embedder.dimensions), dtype=np.float32)
        rows[own], rows[others] = shipped, imported
        return _Vectors(rows, self._embeddings.shipped_vectors_of(method_texts()))

    def _embed_beside(self, entries: list[CatalogueEntry], edition: int) -> None:
        """Make the vectors of an edition's tools, then put an index with them in use."""
        assert self._embeddings is not None
        try:
            made = self._made(entries)
        except (ModelUnavailable, StorageError) as err:
            made = self._failed(err)
        except Exception as err:  # noqa: BLE001 - a thread that dies silently would leave "still being made" for ever
            _LOG.exception("The vectors of tools could not be made.")
            made = self._failed(ModelUnavailable(f"{type(err).__name__}: {err}"))
        with self._building, contextlib.suppress(StorageError):
            self._embedding = None
            built = self._built
            if built is not None and built.edition == edition == self._edition:
                self._put(built, built.index.entries, made)
            elif built is None or built.index.vectors is None:
                self._renew()


def _is_shipped(entry: CatalogueEntry) -> bool:
    """Say whether a tool is Biodesk's own; names of imported ones may be anything, their catalogue's may not."""
    return entry.catalogue == BUILT_IN
