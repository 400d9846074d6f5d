"""Documents that are found by words (BM25F; Robertson, Zaragoza and Taylor 2004), names and vectors together."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.search.postings import Postings
from engine.search.vectors import Vectors, best

_SATURATION = 1.2
"""BM25's k1: how soon a word that comes again counts no more."""
_LEAST_WASTE = 200


@dataclass(frozen=True, slots=True)
class FieldWeight:
    """How a field counts: `weight` for each of its words, `length` (0 to 1) for how much long texts are held back."""

    weight: float
    length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What can be found."""

    id: str
    words: Mapping[str, Sequence[str]]
    """Field -> its words in the form they are compared in; fields that the index does not have are not looked at."""
    names: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Group -> what counts only as a whole: {"tool": ["deseq2"], "entity": ["GSE52778"]}."""
    owner: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is looked for; each part may be missing."""

    words: Mapping[str, float] = field(default_factory=dict)
    """Word -> weight."""
    names: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Group -> name -> weight."""
    vector: np.ndarray | None = None
    """Of length 1."""
    owners: Collection[str] = ()
    """Only documents of these owners; of all when empty."""
    kinds: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreWeights:
    """What each part adds to a score between 0 and 1."""

    words: float = 0.5
    vector: float = 0.5
    names: Mapping[str, float] = field(default_factory=dict)
    """Group -> weight; groups that are not here count nothing."""


EVEN = ScoreWeights()


@dataclass(frozen=True, slots=True)
class RowScores:
    """How well each row fits, in arrays over all rows; those of removed documents hold anything."""

    words: np.ndarray
    """BM25F, float32."""
    whole: float
    """What a document would have in `words` that has each word of the query once, words of no document as rare as
    can be: `words / whole` is comparable between queries."""
    cosine: np.ndarray | None
    """float32, NaN where a document has no vector; None for a query without."""
    names: Mapping[str, np.ndarray]
    """Group -> 0 to 1: the share of the query's names, by weight, that the document has; float32."""
    allowed: np.ndarray
    """Whether the document is there and of an owner and kind that was asked for."""

    def scores(self, weights: ScoreWeights) -> np.ndarray:
        """Return the weighted sum of the parts, float32; -inf where a row is not allowed."""
        total = weights.words * np.minimum(1.0, self.words / (self.whole or 1.0))
        if self.cosine is not None:
            total += weights.vector * np.clip(np.nan_to_num(self.cosine), 0, 1)
        for group, share in self.names.items():
            total += weights.names.get(group, 0.0) * share
        return np.where(self.allowed, total, -np.inf).astype(np.float32)


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that was found."""

    id: str
    score: float
    parts: Mapping[str, float]
    """`words` (share of the whole, may exceed 1), `coverage` (share of the query's words, by rarity and weight, that
    the document has), `cosine` (where both have a vector) and each group of names."""


class SearchIndex:
    """Documents by id. Not thread-safe while it grows: whoever adds to an index in use holds a lock.

    Lengths of fields are compared with their mean when a document is added, so the score of a document that came
    alone differs a little from that of one built with all the others at once.
    """

    def __init__(self, fields: Mapping[str, FieldWeight]) -> None:
        self._fields = fields
        self._lengths = dict.fromkeys(fields, 0)
        """Field -> words of all documents together."""
        self._ids: list[str] = []
        self._row_of: dict[str, int] = {}
        self._words = Postings()
        self._names: dict[str, Postings] = {}
        self._vectors = Vectors()
        self._codes: dict[str, int] = {}
        """Owner or kind -> number."""
        self._owners = array("i")
        self._kinds = array("i")
        self._alive = array("b")
        self._added = 0
        """How many documents ever came, removed ones included."""

    # ==== documents ====

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._row_of)

    def __contains__(self, document_id: object) -> bool:
        """Say whether the document is there."""
        return document_id in self._row_of

    @property
    def size(self) -> int:
        """The number of rows, those of removed documents included."""
        return len(self._ids)

    @property
    def ids(self) -> Sequence[str]:
        """Ids by row; rows change only when documents are added or removed."""
        return self._ids

    @property
    def words(self) -> Postings:
        """Rows by word."""
        return self._words

    @property
    def vectors(self) -> Vectors:
        """Vectors by row."""
        return self._vectors

    def row(self, document_id: str) -> int:
        """Return a document's row, -1 for an unknown one."""
        return self._row_of.get(document_id, -1)

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents; one whose id is there takes the place of the older one, without its vector."""
        batch = {document.id: document for document in documents}
        for document in batch.values():
            self.remove(document.id)
            for name in self._fields:
                self._lengths[name] += len(document.words.get(name, ()))
        self._added += len(batch)
        usual = {name: max(1.0, total / max(1, self._added)) for name, total in self._lengths.items()}
        for document in batch.values():
            row = self._row_of[document.id] = len(self._ids)
            self._ids.append(document.id)
            self._owners.append(self._codes.setdefault(document.owner, len(self._codes)))
            self._kinds.append(self._codes.setdefault(document.kind, len(self._codes)))
            self._alive.append(1)
            self._words.add(row, self._impacts(document, usual))
            for group, names in document.names.items():
                self._names.setdefault(group, Postings()).add(row, dict.fromkeys(names, 1.0))

    def remove(self, document_id: str) -> bool:
        """Remove a document; False when it was not there."""
        row = self._row_of.pop(document_id, -1)
        if row < 0:
            return False
        self._alive[row] = 0
        if self.size - len(self) > max(_LEAST_WASTE, len(self) // 3):
            self._compact()
        return True

    def put_vectors(self, document_ids: Sequence[str], vectors: np.ndarray) -> None:
        """Give documents vectors, shape (documents, dimensions), made to length 1; unknown ids are passed over."""
        rows = np.array([self.row(name) for name in document_ids], np.int64)
        self._vectors.put(rows[rows >= 0], np.asarray(vectors)[rows >= 0])

    def without_vector(self, most: int) -> list[str]:
        """Return the ids of the first documents, at most `most`, that have no vector."""
        rows = np.flatnonzero(self._there())
        return [self._ids[row] for row in rows[~self._vectors.has(rows)][:most].tolist()]

    # ==== questions ====

    def knows(self, group: str, name: str) -> bool:
        """Say whether any document has a name of a group."""
        return group in self._names and name in self._names[group]

    def idf(self, word: str) -> float:
        """Return how rare a word is: 0 for an unknown one, about 9 for a word of one document in 10,000."""
        return self._rarity(self._words.count(word)) if word in self._words else 0.0

    @property
    def rarest(self) -> float:
        """How rare a word is that no document has."""
        return self._rarity(0)

    def bm25(self, words: Mapping[str, float]) -> np.ndarray:
        """Return every row's score for words with weights, float32."""
        return self._words.sums({word: weight * self.idf(word) for word, weight in words.items()}, self.size)

    def whole(self, words: Mapping[str, float]) -> float:
        """Return what a document with each of the words once would score, unknown ones as rare as can be."""
        return sum(weight * (self.idf(word) or self.rarest) for word, weight in words.items())

    def parts(self, query: Query) -> RowScores:
        """Return how well every row fits each part of a query."""
        names = {}
        for group, wanted in query.names.items():
            whole = sum(wanted.values()) or 1.0
            shares = {name: weight / whole for name, weight in wanted.items()}
            names[group] = self._names.get(group, Postings()).sums(shares, self.size)
        return RowScores(
            words=self.bm25(query.words),
            whole=self.whole(query.words),
            cosine=None if query.vector is None else self._vectors.cosines(query.vector, self.size),
            names=names,
            allowed=self._allowed(query),
        )

    def search(
        self, query: Query, *, top: int, weights: ScoreWeights = EVEN, least: float = 0.0
    ) -> list[FoundDocument]:
        """Return the documents with the highest scores, best first, equal ones in the order they were added.

        Args:
            query: what is looked for.
            top: how many at most.
            weights: what each part counts.
            least: only scores above this.
        """
        parts = self.parts(query)
        scores = parts.scores(weights)
        rows = [row for row in best(scores, top).tolist() if scores[row] > least]
        return [self._hit(row, query, parts, float(scores[row])) for row in rows]

    def coverage(self, row: int, words: Mapping[str, float]) -> float:
        """Return the share of words, by rarity and weight, that a row has, 0 to 1."""
        there = {word: weight for word, weight in words.items() if self._words.has(row, word)}
        return self.whole(there) / (self.whole(words) or 1.0)

    def _hit(self, row: int, query: Query, parts: RowScores, score: float) -> FoundDocument:
        found = {"words": float(parts.words[row]) / (parts.whole or 1.0), "coverage": self.coverage(row, query.words)}
        if parts.cosine is not None and not np.isnan(parts.cosine[row]):
            found["cosine"] = float(parts.cosine[row])
        return FoundDocument(
            self._ids[row], score, found | {group: float(share[row]) for group, share in parts.names.items()}
        )

    def _allowed(self, query: Query) -> np.ndarray:
        allowed = self._there()
        for wanted, codes in ((query.owners, self._owners), (query.kinds, self._kinds)):
            if wanted:
                numbers = [self._codes.get(name, -1) for name in wanted]
                allowed &= np.isin(np.frombuffer(codes, np.int32), numbers)
        return allowed

    def _there(self) -> np.ndarray:
        """Return for each row whether its document was not removed."""
        return np.array(self._alive, np.int8).astype(bool)

    def _rarity(self, count: int) -> float:
        return math.log1p((max(0, self.size - count) + 0.5) / (count + 0.5))

    def _impacts(self, document: Document, usual: Mapping[str, float]) -> dict[str, float]:
        """Return what each word of a document counts, repeats and fields added up, rarity left out."""
        weights: dict[str, float] = {}
        for name, how in self._fields.items():
            found = document.words.get(name, ())
            weight = how.weight / (1 - how.length + how.length * len(found) / usual[name])
            for word in found:
                weights[word] = weights.get(word, 0.0) + weight
        return {word: tf * (_SATURATION + 1) / (tf + _SATURATION) for word, tf in weights.items()}

    def _compact(self) -> None:
        """Give the rows new numbers, without those of removed documents."""
        alive = self._there()
        rows = np.flatnonzero(alive)
        places = np.where(alive, np.cumsum(alive) - 1, -1)
        self._ids = [self._ids[row] for row in rows.tolist()]
        self._owners, self._kinds, self._alive = (
            array(codes.typecode, np.array(codes)[rows].tobytes()) for codes in (self._owners, self._kinds, self._alive)
        )
        self._row_of = {name: row for row, name in enumerate(self._ids)}
        self._words = self._words.renumbered(places)
        self._names = {group: names.renumbered(places) for group, names in self._names.items()}
        kept = rows[self._vectors.has(rows)]
        vectors, self._vectors = self._vectors, Vectors()
        self._vectors.put(places[kept], vectors.of(kept) if len(kept) else np.zeros((0, 0), np.float32))
