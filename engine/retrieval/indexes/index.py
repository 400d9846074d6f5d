"""Everything about the tools that can be found that does not depend on a question, worked out once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from engine.domain.retrieval import CatalogueEntry
from engine.domain.toolspec import ToolSpec
from engine.retrieval.indexes.tool_graph import ToolGraph
from engine.retrieval.question.methods import Operation, elsewhere, load_methods
from engine.retrieval.question.words import Speller, words
from engine.search.index import Document, FieldWeight, SearchIndex
from engine.search.vectors import dots
from engine.text.names import in_one

TEXT_LENGTH = 1500
"""Characters of a text that are embedded; the default model reads about 1,000."""
_FIELDS = {
    "name": FieldWeight(weight=1.0, length=0.4),
    "labels": FieldWeight(weight=1.0, length=0.4),
    "text": FieldWeight(weight=1.0, length=0.45),
    "data": FieldWeight(weight=0.3, length=0.6),
}
_METHOD_FIELDS = {
    "operation": FieldWeight(weight=2.0, length=0.3),
    "synonyms": FieldWeight(weight=1.0, length=0.5),
    "programs": FieldWeight(weight=1.0, length=0.3),
    "phrases": FieldWeight(weight=0.6, length=0.5),
}
_SAME_OPERATION = 12.0
"""Score of a built-in tool's names with a method from which it is taken to be for it."""
_SEPARATORS = re.compile(r"[/_\-\s.:]+")


def spec_entry(spec: ToolSpec) -> CatalogueEntry:
    """Describe a built-in tool as an entry; inputs and outputs are `DataType` values."""
    return CatalogueEntry(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        domain=spec.domain,
        keywords=[*spec.keywords, *([spec.example] if spec.example else [])],
        inputs=list(dict.fromkeys(port.type.value for port in spec.inputs)),
        outputs=list(dict.fromkeys(port.type.value for port in spec.outputs)),
        params=[param.name for param in spec.params],
        suite=spec.domain,
        requires_tool=spec.requires_tool,
        produces_for=spec.produces_for,
        runnable=spec.runnable,
    )


def entry_text(entry: CatalogueEntry) -> str:
    """Return what is embedded of an entry: its names, description, keywords and operations, at most `TEXT_LENGTH`."""
    labels = ", ".join([*entry.keywords, *entry.operations])
    parts = [entry.name, entry.title, entry.description.strip(), labels]
    return ". ".join(part for part in parts if part)[:TEXT_LENGTH]


def method_texts() -> list[str]:
    """Return the texts of all methods (see `Operation.texts`) in the order of `load_methods`, then `elsewhere`."""
    return [*(text for method in load_methods() for text in method.texts), *elsewhere()]


@dataclass(frozen=True, slots=True)
class Nearness:
    """Cosines of a question."""

    names: np.ndarray
    """With the name and synonyms of each method, float32."""
    all_texts: np.ndarray
    """With the nearest of each method's texts."""
    elsewhere: float
    """With the nearest text of what no tool is for."""


@dataclass(frozen=True, slots=True)
class MethodIndex:
    """The table of methods, ready to be matched with a question."""

    methods: Sequence[Operation]
    words: SearchIndex
    synonyms: Sequence[frozenset[str]]
    """For each method, the stems of its name and synonyms."""
    tools: Sequence[np.ndarray]
    """For each method, the rows (int32) of tools that are named after one of its programs."""
    vectors: np.ndarray | None
    """Of `method_texts`."""
    starts: np.ndarray
    """For each method, the place of its first text; at the end that of the first text of no method."""
    elsewhere: SearchIndex
    """What no tool is for."""
    places: Mapping[str, int]
    """Operation -> its position in `methods`."""

    def nearness(self, vector: np.ndarray) -> Nearness:
        """Return how near a unit vector is to each method and to what no tool is for."""
        assert self.vectors is not None
        near = dots(self.vectors, vector)
        nearest = np.maximum.reduceat(near, self.starts)
        return Nearness(near[self.starts[:-1]], nearest[:-1], float(nearest[-1]))


class ToolIndex:
    """The tools, their words, vectors and groups. Never changes once built; safe to share between threads."""

    def __init__(
        self,
        entries: Sequence[CatalogueEntry],
        texts: SearchIndex,
        vectors: np.ndarray | None,
        methods: MethodIndex,
    ) -> None:
        self.entries = entries
        self.texts = texts
        self.vectors = vectors
        self.methods = methods
        self._tool_for: dict[str, int | None] = {}
        self._suite_words: dict[str, frozenset[str]] = {}
        self.rows: dict[str, int] = {entry.name: row for row, entry in enumerate(entries)}

    @classmethod
    def build(
        cls,
        entries: Sequence[CatalogueEntry],
        vectors: np.ndarray | None,
        method_vectors: np.ndarray | None = None,
    ) -> ToolIndex:
        """Index entries.

        Args:
            entries: the tools; names are unique.
            vectors: a unit vector for each entry's `entry_text`, shape (entries, dimensions); None to search by
                words alone.
            method_vectors: the same for `method_texts()`.

        Raises:
            ValueError: when there are not as many vectors as texts, or their dimensions differ.
        """
        if vectors is not None:
            _check(vectors, len(entries), "tools")
            _check(method_vectors, len(method_texts()), "methods", vectors.shape[1])
        texts = SearchIndex(_FIELDS)
        texts.add(_document(entry) for entry in entries)
        matrix = None if vectors is None else np.ascontiguousarray(vectors, dtype=np.float32)
        methods = _method_index(entries, None if vectors is None else method_vectors)
        return cls(list(entries), texts, matrix, methods)

    def __len__(self) -> int:
        """Return the number of tools."""
        return len(self.entries)

    @cached_property
    def by_key(self) -> Mapping[str, list[int]]:
        """Rows by name, compared by letters and digits only (see `in_one`)."""
        keys: dict[str, list[int]] = {}
        for row, entry in enumerate(self.entries):
            keys.setdefault(in_one(entry.name), []).append(row)
        return keys

    def prepare(self) -> None:
        """Work out now what would otherwise be worked out at the first question that needs it."""
        _ = self.graph, self.by_key, self._built_in_for
        self.speller.correct("alignmnet")

    @cached_property
    def speller(self) -> Speller:
        """Corrects typing errors, from the words of all tools and methods."""
        said = (f"{entry.name} {entry.title} {entry.description} {' '.join(entry.keywords)}" for entry in self.entries)
        return Speller(chain(said, (text for method in self.methods.methods for text in method.texts)))

    @cached_property
    def graph(self) -> ToolGraph:
        """Links between the tools."""
        graph = ToolGraph(self.entries, self.rows)
        graph.prepare()
        return graph

    @cached_property
    def _built_in_for(self) -> Mapping[int, list[int]]:
        """Operation -> runnable tools that are for it, best first.

        A tool is for the one method that its name, title and keywords fit best: descriptions are left out because
        they also say what a tool does not do.
        """
        matches: dict[int, list[tuple[float, int]]] = {}
        for row, entry in enumerate(self.entries):
            if not entry.runnable:
                continue
            said = dict.fromkeys(words(f"{_SEPARATORS.sub(' ', entry.name)} {entry.title}"), 1.0)
            for keyword in entry.keywords:
                for word in words(keyword):
                    said.setdefault(word, 0.5)
            scores = self.methods.words.bm25(said)
            place = int(np.argmax(scores))
            if scores[place] >= _SAME_OPERATION:
                matches.setdefault(place, []).append((-float(scores[place]), row))
        return {place: [row for _, row in sorted(found)] for place, found in matches.items()}

    @cached_property
    def served(self) -> np.ndarray:
        """Whether a tool of these is known to be for each method, bool: what none is for says nothing of a match."""
        return np.array([len(self.tools_of(place)) > 0 for place in range(len(self.methods.methods))], bool)

    def suite_words(self, row: int) -> frozenset[str]:
        """Return the words of the name of a tool's suite."""
        suite = self.entries[row].suite
        if suite not in self._suite_words:
            self._suite_words[suite] = frozenset([*words(_SEPARATORS.sub(" ", suite)), in_one(suite)])
        return self._suite_words[suite]

    def tools_of(self, place: int) -> np.ndarray:
        """Return the rows of the tools known for a method: named after one of its programs, or built in for it."""
        own = self._built_in_for.get(place)
        return np.append(self.methods.tools[place], np.array(own, np.int32)) if own else self.methods.tools[place]

    def tool_for(self, operation: str) -> int | None:
        """Return the row of the tool for an operation of the table of methods, or None.

        A built-in tool when one does it, else the tool named after one of the operation's programs whose text is
        nearest to the operation.
        """
        if operation not in self._tool_for:
            self._tool_for[operation] = self._find_tool_for(operation)
        return self._tool_for[operation]

    def _find_tool_for(self, operation: str) -> int | None:
        place = self.methods.places.get(operation)
        if place is None:
            return None
        for row in self._built_in_for.get(place, ()):
            return row
        named = self.methods.tools[place]
        if not len(named):
            return None
        near = self.likeness(place, named)
        if near is None:
            near = self.texts.bm25(dict.fromkeys(words(operation), 1.0))[named]
        return int(named[np.argmax(near)])

    def likeness(self, place: int, rows: np.ndarray) -> np.ndarray | None:
        """Return the cosines of tools with a method; None without vectors."""
        if self.vectors is None or self.methods.vectors is None:
            return None
        return dots(self.vectors[rows], self.methods.vectors[self.methods.starts[place]])


def _check(vectors: np.ndarray | None, texts: int, what: str, width: int | None = None) -> None:
    rows, wide = (0, 0) if vectors is None else vectors.shape
    if rows != texts or wide != (width or wide):
        raise ValueError(f"{rows} vectors for {texts} {what}, {wide} numbers wide; expected one each, all as wide.")


def _document(entry: CatalogueEntry) -> Document:
    fields = {
        "name": words(f"{_SEPARATORS.sub(' ', entry.name)} {entry.title}"),
        "labels": words(" ; ".join([*entry.keywords, *entry.operations])),
        "text": words(entry.description),
        "data": words(" ".join([*entry.inputs, *entry.outputs, entry.domain, entry.suite])),
    }
    return Document(id=entry.name, words=fields, owner=entry.catalogue, kind="tool")


class _Words(NamedTuple):
    """What is said of methods; the same for all tools."""

    methods: SearchIndex
    synonyms: Sequence[frozenset[str]]
    elsewhere: SearchIndex


@cache
def _method_words() -> _Words:
    documents = {
        method.operation: {
            "operation": words(method.operation),
            "synonyms": words(" ; ".join(method.synonyms)),
            "programs": words(" ; ".join(method.programs)),
            "phrases": words(" ; ".join(method.phrases)),
        }
        for method in load_methods()
    }
    found = SearchIndex(_METHOD_FIELDS)
    found.add(Document(id=operation, words=document) for operation, document in documents.items())
    aside = SearchIndex({"text": FieldWeight(weight=1.0, length=0.5)})
    aside.add(Document(id=text, words={"text": words(text)}) for text in elsewhere())
    synonyms = [frozenset([*document["operation"], *document["synonyms"]]) for document in documents.values()]
    return _Words(found, synonyms, aside)


def _method_index(entries: Sequence[CatalogueEntry], vectors: np.ndarray | None) -> MethodIndex:
    methods, said, named = load_methods(), _method_words(), _rows_by_name(entries)
    starts = np.cumsum([0, *(1 + len(method.phrases) for method in methods)])
    return MethodIndex(
        methods=methods,
        words=said.methods,
        synonyms=said.synonyms,
        tools=[_tools_of(method, named) for method in methods],
        vectors=vectors,
        starts=starts,
        elsewhere=said.elsewhere,
        places={method.operation: place for place, method in enumerate(methods)},
    )


def _rows_by_name(entries: Sequence[CatalogueEntry]) -> dict[str, list[int]]:
    """Return name key -> rows of the tools named so: one word of a name or two in a row, with and without a number."""
    named: dict[str, list[int]] = {}
    for row, entry in enumerate(entries):
        for key in {key for name in (entry.name, entry.suite) for key in _name_keys(name)}:
            named.setdefault(key, []).append(row)
    return named


def _name_keys(name: str) -> set[str]:
    parts = [in_one(part) for part in _SEPARATORS.split(name)]
    keys = {*parts, *(a + b for a, b in pairwise(parts))}
    keys |= {key.rstrip("0123456789") for key in keys if len(key.rstrip("0123456789")) > 3}
    return {key for key in keys if len(key) > 1}


def _tools_of(method: Operation, named: Mapping[str, Sequence[int]]) -> np.ndarray:
    rows = {row for program in method.programs for row in named.get(in_one(program), ())}
    return np.array(sorted(rows), dtype=np.int32)
