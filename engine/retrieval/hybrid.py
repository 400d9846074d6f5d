"""Finding tools: search, expand, rerank; every stage counted, timed and explained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from time import perf_counter
from typing import Literal

import numpy as np

from engine.domain.retrieval import RetrievedTool, SearchStages, ToolSearch
from engine.errors import ModelUnavailable, StorageError
from engine.knowledge.graph.view import GraphView
from engine.retrieval.evidence import NOTHING, WEAK
from engine.retrieval.expand import Expansion, expand
from engine.retrieval.indexes.index import ToolIndex
from engine.retrieval.reasons import why, written_words
from engine.retrieval.rerank import SHARES, Ranked, rank, seat
from engine.retrieval.search import WEIGHTS, Candidates, search
from engine.retrieval.understanding import understand
from engine.retrieval.usage import UsageHistory
from engine.text.names import in_one

LONGEST_QUERY = 4000
"""Characters of a question that are read."""
SELECTIVE = 0.25
"""Share of all tools that a search may let through: one that passes everything on selects nothing."""
_BESIDE_NAMED = 0.75
"""What the others' scores count when the question is a tool's name."""
_NO_VECTORS = "Vectors are not available, so tools were searched by words and links only."


class HybridRetriever:
    """Searches an index. Thread-safe."""

    def __init__(
        self,
        index: ToolIndex,
        *,
        embed_query: Callable[[str], np.ndarray] | None = None,
        graph: GraphView | None = None,
        usage: UsageHistory | None = None,
        no_vectors: str = "",
        notes: Sequence[str] = (),
    ) -> None:
        """Connect an index with what a search uses beside it; each part may be missing.

        Args:
            index: the tools.
            embed_query: gives a question's unit vector; not used for an index without vectors.
            graph: links between tools and entities.
            usage: what earlier runs say of tools.
            no_vectors: a sentence for the user, why the index has no vectors.
            notes: sentences for the user that every answer carries.
        """
        self._index = index
        self._embed_query = embed_query if index.vectors is not None else None
        self._graph = graph
        self._usage = usage
        self._no_vectors = no_vectors or _NO_VECTORS
        self._notes = notes

    @property
    def index(self) -> ToolIndex:
        """The tools."""
        return self._index

    def warm(self) -> None:
        """Do now what the first question would have to wait for."""
        self._index.prepare()

    def search(
        self,
        query: str,
        *,
        top: int = 15,
        candidates: int = 200,
        data_types: Collection[str] = (),
        domains: Collection[str] = (),
        explain: bool = False,
    ) -> ToolSearch:
        """Find tools for a task in words.

        Args:
            query: what is to be done, in any wording.
            top: tools in the answer, at most.
            candidates: tools that the first stage lets through, at most a quarter of all (and at least `top`).
            data_types: what the user's data can serve as (`DataType` values).
            domains: fields the task belongs to.
            explain: also return everything that entered a stage.

        Returns:
            The tools, best first; none, with a note, for a question that has nothing to do with any tool.
        """
        began = perf_counter()
        notes = list(self._notes)
        asked = query.strip()
        if len(asked) > LONGEST_QUERY:
            asked = asked[:LONGEST_QUERY]
            notes.append(f"Only the first {LONGEST_QUERY:,} characters of the question were read.")
        understood = understand(self._index, asked)
        vector, embed_seconds = self._vector(understood.text, notes)
        count = min(candidates, max(top, 50 if len(self._index) > 200 else 0, int(SELECTIVE * len(self._index))))
        found = search(self._index, understood, count=count, vector=vector)
        self._put_named_first(asked, found)
        notes += found.notes
        notes += [f"`{word}` was read as `{taken}`." for word, taken in found.corrected.items()]
        match = _match(found)
        notes += [WEAK] if match == "weak" else []
        searched = perf_counter()
        expansion = Expansion([], {})
        if len(found.rows):
            expansion = expand(self._index, found, graph=self._graph, usage=self._usage)
        expanded = perf_counter()
        ranked = rank(
            self._index, found, expansion, data_types=data_types, domains=domains, usage=self._usage
        )  # fmt: skip
        method = "hybrid" if vector is not None or (self._embed_query is not None and not asked) else "lexical"
        best = seat(ranked, expansion, top)
        scale = max((tool.score for tool in ranked), default=1.0) or 1.0
        written = written_words(asked, found)
        tools = [self._tool(tool, found, written, scale, data_types) for tool in best]
        ended = perf_counter()
        chosen = {tool.row for tool in best}
        rest = [tool for tool in ranked if tool.row not in chosen] if explain else []
        seconds = {
            "embed": embed_seconds,
            "search": searched - began - embed_seconds,
            "expand": expanded - searched,
            "rerank": ended - expanded,
            "total": ended - began,
        }
        return ToolSearch(
            query=query,
            stages=SearchStages(
                search=len(found.rows),
                expand=len(expansion.added),
                rerank=len(tools),
                seconds={stage: round(value, 6) for stage, value in seconds.items()},
            ),
            tools=tools,
            considered=[*tools, *(self._tool(tool, found, written, scale, data_types) for tool in rest)]
            if explain
            else [],
            method=method,
            match=match,
            evidence=found.evidence.figures() if found.evidence is not None else {},
            weights=_weights(found) if explain else {},
            notes=list(dict.fromkeys(notes)),
        )

    def _vector(self, query: str, notes: list[str]) -> tuple[np.ndarray | None, float]:
        """Return the question's vector, or None with a note why there is none, and the seconds it took."""
        if self._embed_query is None:
            notes.append(self._no_vectors)
            return None, 0.0
        if not query:
            return None, 0.0
        try:
            began = perf_counter()
            vector = np.asarray(self._embed_query(query), dtype=np.float32).reshape(-1)
        except (ModelUnavailable, StorageError) as err:
            notes.append(f"{_NO_VECTORS} {err.message}")
            return None, 0.0
        return vector, perf_counter() - began

    def _put_named_first(self, query: str, found: Candidates) -> None:
        """Let a question that is a tool's name find that tool first."""
        named = self._index.by_key.get(in_one(query), []) if len(query) <= 80 else []
        if not named:
            return
        # Links and the user's data must not lift another tool above the one that was named.
        found.score *= _BESIDE_NAMED
        found.score[named] = 1.0
        others = [row for row in found.rows.tolist() if row not in named]
        found.rows = np.array([*named, *others], dtype=np.int64)
        found.named = True
        found.notes[:] = [note for note in found.notes if note != NOTHING]

    def _tool(
        self, tool: Ranked, found: Candidates, written: dict[str, str], scale: float, data_types: Collection[str]
    ) -> RetrievedTool:
        entry = self._index.entries[tool.row]
        return RetrievedTool(
            name=entry.name,
            score=round(min(1.0, max(0.0, tool.score / scale)), 4),
            why=why(self._index, found, tool, written, data_types=data_types, usage=self._usage),
            domain=entry.domain,
            runnable=entry.runnable,
            title=entry.title,
            description=entry.description,
            catalogue=entry.catalogue,
            entered="search" if tool.searched else "expand",
            because_of=tool.because_of,
            parts={name: round(value, 4) for name, value in tool.parts.items()},
        )


def _match(found: Candidates) -> Literal["good", "weak", "none"]:
    """Say how well the best tools fit the question at all."""
    if not len(found.rows):
        return "none"
    return "weak" if found.evidence is not None and found.evidence.weak and not found.named else "good"


def _weights(found: Candidates) -> dict[str, float]:
    """Return what each part of a score counts: the shares of the sum, and within `text` those of its parts."""
    lexical = 1.0 if found.semantic is None else WEIGHTS.lexical
    within = {"lexical": lexical, "semantic": 1 - lexical, "method": WEIGHTS.program}
    return {**SHARES, **{f"text.{part}": round(share, 4) for part, share in within.items()}}
