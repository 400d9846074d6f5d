"""Every text is turned into a vector once in a workspace's life.

Vectors lie in the collection `embeddings-<embedder>` of the vector index, under the SHA-256 of their text. They
are stored batch by batch as they are made, so a process that is killed loses at most one batch of work. Vectors
of different models never meet: the embedder's name holds the hash of its files.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import numpy as np

from engine.errors import IntegrityError
from engine.ports.embedder import Embedder
from engine.ports.vectors import VectorFile, VectorIndex

_LOG = logging.getLogger(__name__)
_BATCH = 64
"""Texts embedded between two commits: about a second of work."""
_QUERIES_KEPT = 512

Progress = Callable[[int, int], None]
T = TypeVar("T")


class CachedEmbeddings:
    """An embedder that remembers. Thread-safe."""

    def __init__(
        self, embedder: Embedder, vectors: VectorIndex, shipped: VectorFile | None = None, *, owner: str = ""
    ) -> None:
        """Connect an embedder with the index that keeps its vectors; neither is used yet.

        Args:
            embedder: makes vectors.
            vectors: keeps those of this workspace.
            shipped: keeps those of the program's own texts, for all workspaces of an account.
            owner: who works here, noted with each text that is new.
        """
        self.embedder = embedder
        self.owner = owner
        self._shipped = shipped
        self._vectors = vectors
        self._lock = threading.Lock()
        self._queries: OrderedDict[str, np.ndarray] = OrderedDict()

    @property
    def collection(self) -> str:
        """The collection the vectors are kept in."""
        return f"embeddings-{self.embedder.name}"

    def vectors_of(self, texts: Sequence[str], progress: Progress | None = None, *, kind: str = "") -> np.ndarray:
        """Return float32 rows of length 1, shape (len(texts), dimensions), embedding only texts never seen before.

        Args:
            texts: any texts; equal ones are embedded once.
            kind: what the texts are of, by which their vectors can be searched; noted for new ones.
            progress: called with (new texts embedded so far, new texts), first with 0; not when nothing is new.

        Raises:
            ModelUnavailable: when something is new and the model cannot be used here.
            StorageError: when the vectors cannot be stored.
        """
        if not len(texts):
            return np.empty((0, self.embedder.dimensions), dtype=np.float32)
        keys = [text_key(text) for text in texts]
        new = dict(zip(keys, texts, strict=True))
        found, rows = self._fetch(list(new))
        for key in found:
            del new[key]
        parts, order = [rows] if len(found) else [], list(found)
        for batch_keys, batch_rows in self._embed_new(new, progress, kind):
            order.extend(batch_keys)
            parts.append(batch_rows)
        place = {key: row for row, key in enumerate(order)}
        return np.concatenate(parts)[[place[key] for key in keys]]

    def shipped_vectors_of(self, texts: Sequence[str]) -> np.ndarray:
        """Return rows as `vectors_of` does, for texts that are part of Biodesk: embedded once an account.

        Raises:
            ModelUnavailable: when they were never made and the model cannot be used here.
        """
        if not len(texts):
            return np.empty((0, self.embedder.dimensions), dtype=np.float32)
        content = hashlib.sha256("\0".join(text_key(text) for text in texts).encode()).hexdigest()[:16]
        name = f"{self.embedder.name}-{content}"
        rows = self._shipped.read(name) if self._shipped else None
        if rows is None or rows.shape != (len(texts), self.embedder.dimensions):
            rows = self.embedder.embed(list(texts))
            if self._shipped:
                self._shipped.write(name, rows)
        return rows

    def missing(self, texts: Sequence[str]) -> int:
        """Return how many different texts have no vector yet, which `vectors_of` would embed; needs no model.

        Raises:
            StorageError: when the vectors cannot be read.
        """
        return len(self._lacking({text_key(text) for text in texts}))

    def nearest(self, question: str, texts: Sequence[str], *, top: int, kind: str) -> list[tuple[str, float]]:
        """Return those of some texts that are nearest to a question in meaning, with their cosines, best first.

        They are searched where they are kept, among the rows of their kind; texts without a vector get one first.

        Raises:
            ModelUnavailable: when the model cannot be used here.
            StorageError: when vectors cannot be stored or read.
        """
        found = self._read(lambda: self._nearest(question, texts, top, kind), None)
        return self._nearest(question, texts, top, kind) if found is None else found

    def _nearest(self, question: str, texts: Sequence[str], top: int, kind: str) -> list[tuple[str, float]]:
        keys = {text_key(text): text for text in texts}
        self._embed_new({key: keys[key] for key in self._lacking(keys)}, None, kind)
        asked, most = self.query(question).tolist() if keys else [], top
        while asked:
            hits = self._vectors.search(self.collection, asked, top=most, kinds=[kind])
            found = [(keys[hit.id], hit.score) for hit in hits if hit.id in keys]
            # Texts that were forgotten since have their rows still: as many more are asked for as it takes.
            if len(found) >= min(top, len(keys)) or len(hits) < most:
                return found[:top]
            most *= 4
        return []

    def query(self, text: str) -> np.ndarray:
        """Return the vector of a question, shape (dimensions,). The newest few are remembered, none is stored.

        Raises:
            ModelUnavailable: when the model cannot be used here.
        """
        with self._lock:
            known = self._queries.get(text)
            if known is not None:
                self._queries.move_to_end(text)
                return known
        vector = self.embedder.embed([text])[0]
        vector.setflags(write=False)
        with self._lock:
            self._queries[text] = vector
            while len(self._queries) > _QUERIES_KEPT:
                self._queries.popitem(last=False)
        return vector

    def _embed_new(
        self, new: dict[str, str], progress: Progress | None, kind: str
    ) -> list[tuple[list[str], np.ndarray]]:
        """Embed and store texts (key -> text); return them batch by batch."""
        # Texts of similar length together: the model then computes little on padding.
        keys = sorted(new, key=lambda key: len(new[key]))
        batches: list[tuple[list[str], np.ndarray]] = []
        if keys and progress:
            progress(0, len(keys))
        for start in range(0, len(keys), _BATCH):
            part = keys[start : start + _BATCH]
            rows = self.embedder.embed([new[key] for key in part])
            self._vectors.add(self.collection, part, rows, owner=self.owner, kind=kind)
            batches.append((part, rows))
            if progress:
                progress(start + len(part), len(keys))
        return batches

    def _fetch(self, keys: list[str]) -> tuple[list[str], np.ndarray]:
        """Return what is stored of these keys."""
        nothing: tuple[list[str], np.ndarray] = ([], np.empty((0, 0), dtype=np.float32))
        return self._read(lambda: self._vectors.fetch(self.collection, keys), nothing)

    def _lacking(self, keys: Collection[str]) -> list[str]:
        return self._read(lambda: self._vectors.lacking(self.collection, list(keys)), list(keys))

    def _read(self, read: Callable[[], T], nothing: T) -> T:
        """Return what is read, or nothing of a damaged collection, which is given up: it can be made again."""
        try:
            return read()
        except IntegrityError as error:
            _LOG.warning("%s It is made again.", error.message)
            self._vectors.drop(self.collection)
            return nothing


def text_key(text: str) -> str:
    """Return the key of a text: the SHA-256 of its UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
