"""Recognising the entities of a graph in text: symbols, names, aliases and identifiers.

Names are compared as folded tokens (see `text`) with an Aho-Corasick automaton (Aho and Corasick 1975,
Communications of the ACM 18:333), so time grows with the text, not with the number of names. The longest match
wins. What makes a word that is also English an entity, and which of several namesakes is meant, is decided by
case and by the words beside it; the other namesakes stay with the mention.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from engine.domain.knowledge import Mention, Node, NodeType
from engine.knowledge.graph.view import GraphView
from engine.knowledge.linking.abbreviations import with_abbreviations
from engine.knowledge.linking.aliases import add_aliases, add_greek_forms
from engine.knowledge.linking.scores import Entry, Hit, judge
from engine.knowledge.linking.text import find_ids, id_keys, is_number, key, node_id_keys, tokens, variants

UNKNOWN_ID = "identifier that is not in the graph"
"""`Mention.why` of an identifier the graph has no node for; its node's id is the identifier itself."""

_GENES = frozenset({NodeType.GENE, NodeType.PROTEIN})
_SYMBOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._\-/]*")
_PRIOR: dict[NodeType, int] = {
    NodeType.GENE: 0,
    NodeType.PROTEIN: 1,
    NodeType.DRUG: 2,
    NodeType.DISEASE: 3,
    NodeType.PATHWAY: 4,
    NodeType.GO_TERM: 5,
    NodeType.CELL_TYPE: 6,
    NodeType.ANATOMY: 7,
    NodeType.SYMPTOM: 8,
    NodeType.PHENOTYPE: 9,
    NodeType.SIDE_EFFECT: 10,
    NodeType.DRUG_CLASS: 11,
}
_CONTEXT: tuple[tuple[re.Pattern[str], frozenset[NodeType]], ...] = (
    (re.compile(r"\b(pathways?|cascade|signall?ing)\b"), frozenset({NodeType.PATHWAY})),
    (re.compile(r"\b(process|processes|function|activity|compartment)\b"), frozenset({NodeType.GO_TERM})),
    (re.compile(r"\b(genes?|mrna|transcripts?|expression|proteins?|message|product|locus|variants?|encod\w+)\b"),
     _GENES),
    (re.compile(r"\b(adverse|side.effects?|reactions?|toxicity|label)\b"), frozenset({NodeType.SIDE_EFFECT})),
    (re.compile(r"\b(symptoms?|signs?|presents?|presenting|complain\w*)\b"),
     frozenset({NodeType.SYMPTOM, NodeType.PHENOTYPE})),
    (re.compile(r"\b(disease|patients?|treat\w*|therap\w+|indicat\w+|diagnos\w+|sufferers?)\b"),
     frozenset({NodeType.DISEASE})),
    (re.compile(r"\b(drugs?|compounds?|dose[sd]?|administ\w+|tablets?)\b"), frozenset({NodeType.DRUG})),
    (re.compile(r"\b(class|classes|members?|agents)\b"), frozenset({NodeType.DRUG_CLASS})),
    (re.compile(r"\b(tissues?|organs?|samples? of)\b"), frozenset({NodeType.ANATOMY})),
)  # fmt: skip


_HARMS = re.compile(
    r"^[^.;]{0,60}\b(?:cause[sd]?|causing|induce[sd]?|provoke[sd]?|trigger(?:s|ed)?|produce[sd]?|leads?\s+to|led\s+to|gave|"
    r"results?\s+in|resulted\s+in|notorious\s+for|known\s+for|blamed\s+for|complicated\s+by)\b[^.;]{0,40}$"
)
"""Words between a drug and what it does to people: `lamivudine is notorious for anemia` speaks of a side effect."""


class EntityLinker:
    """Finds the entities of one graph in texts. Building reads every name once; a linker never changes.

    It outlives the view it was made of and does not hold it. The files of runs (datasets) are no entities of a
    text: one called `counts` would be found in every other sentence.
    """

    def __init__(self, view: GraphView) -> None:
        """Index the names, aliases and identifiers of all nodes but datasets."""
        self._known = view.nodes.apart()
        self._ids: dict[str, list[int]] = {}
        self._nodes: dict[int, Node] = {}
        names: dict[str, list[Entry]] = {}
        for named in view.nodes.named():
            if named.type is NodeType.DATASET:
                continue
            for spelt in node_id_keys(named.id, named.type):
                self._add_id(spelt, named.number)
            for xref in named.xrefs:
                for spelt in id_keys(xref):
                    self._add_id(spelt, named.number)
            self._add_names(names, named.number, named.type, named.name, named.aliases)
        add_aliases(names)
        add_greek_forms(names)
        self._automaton = _automaton(names)

    def link(self, text: str, *, types: Collection[NodeType] | None = None) -> list[Mention]:
        """Return the entities a text names, in order, without overlaps; only of `types` when given.

        An identifier of a known pattern that the graph lacks is returned too, with `UNKNOWN_ID` as its reason.
        """
        if not text:
            return []
        hits = with_abbreviations(text, self._id_hits(text) + self._name_hits(text))
        if types is not None:
            wanted = frozenset(types)
            kept = ((hit, tuple(e for e in hit.entries if e.type in wanted)) for hit in hits)
            hits = [Hit(h.start, h.end, entries, h.score, h.exact) for h, entries in kept if entries]
        mentions: list[Mention] = []
        for hit in _longest(hits):
            mentions.append(self._mention(text, hit, mentions[-1] if mentions else None))
        return mentions

    def by_id(self, identifier: str) -> Node | None:
        """Return the node of an identifier in any spelling (`DB00331`, `ensembl:ENSG00000146648`), or None."""
        for spelt in (*id_keys(identifier), identifier.strip().upper()):
            numbers = self._ids.get(spelt)
            if numbers:
                return self._node(numbers[0])
        return None

    def _add_id(self, spelt: str, number: int) -> None:
        numbers = self._ids.setdefault(spelt, [])
        if number not in numbers:
            numbers.append(number)

    def _add_names(
        self, names: dict[str, list[Entry]], number: int, kind: NodeType, name: str, aliases: Collection[str]
    ) -> None:
        seen: set[str] = set()
        spellings = [(name, "name"), *((alias, "alias") for alias in aliases)]
        for spelt, how in spellings:
            symbol = kind in _GENES and _SYMBOL.fullmatch(spelt) is not None
            how_named = "symbol" if symbol and how == "name" else how
            _put(names, seen, key(spelt), Entry(number, kind, spelt, how_named, not symbol))
        for spelt, how in spellings:
            if kind in _GENES and _SYMBOL.fullmatch(spelt):
                continue
            for other in variants(spelt, kind):
                _put(names, seen, key(other), Entry(number, kind, other, f"variant of {how}", plain=True))

    def _node(self, number: int) -> Node:
        node = self._nodes.get(number)
        if node is None:
            node = self._nodes[number] = self._known.node(number)
        return node

    def _id_hits(self, text: str) -> list[Hit]:
        hits: list[Hit] = []
        for found in find_ids(text):
            numbers = next((self._ids[k] for k in found.keys if k in self._ids), [])
            if numbers:
                entries = [Entry(n, self._known.node_type(n), found.keys[0], "id", plain=True) for n in numbers]
                hits.append(Hit(found.start, found.end, tuple(entries), 1.0, exact=True))
            elif found.certain:
                unknown = Entry(-1, found.type, found.keys[0], UNKNOWN_ID, plain=True)
                hits.append(Hit(found.start, found.end, (unknown,), 0.4, exact=False))
        return hits

    def _name_hits(self, text: str) -> list[Hit]:
        found = tokens(text)
        if not found or self._automaton is None:
            return []
        starts: dict[int, int] = {}
        position = 1
        for index, (word, _, _) in enumerate(found):
            starts[position] = index
            position += len(word) + 1
        haystack = " " + " ".join([word for word, _, _ in found]) + " "
        hits: list[Hit] = []
        for last, (length, count, entries) in self._automaton.iter(haystack):
            first = starts[last - length + 2]
            start, end = found[first][1], found[first + count - 1][2]
            hit = judge(text, start, end, entries)
            if hit is not None:
                hits.append(hit)
        return hits

    def _mention(self, text: str, hit: Hit, before: Mention | None) -> Mention:
        words = text[hit.start : hit.end]
        best = hit.entries[0]
        if best.number < 0:
            node = Node(id=best.name, type=best.type, name=words)
            return Mention(start=hit.start, end=hit.end, text=words, node=node, score=hit.score, why=UNKNOWN_ID)
        why = best.how
        ranked = list(dict.fromkeys(entry.number for entry in hit.entries))
        if len(ranked) > 1:
            ranked, decided = self._rank(text, hit, before)
            how = {entry.number: entry.how for entry in hit.entries}
            why = f"{how[ranked[0]]}; {decided}"
        return Mention(
            start=hit.start,
            end=hit.end,
            text=words,
            node=self._node(ranked[0]),
            score=hit.score,
            alternatives=[self._node(number) for number in ranked[1:]],
            why=why,
        )

    def _rank(self, text: str, hit: Hit, before: Mention | None) -> tuple[list[int], str]:
        """Order namesakes: by the words beside the mention, then exact spelling, type and number of edges."""
        near = text[max(0, hit.start - 60) : hit.start].lower() + " \0 " + text[hit.end : hit.end + 40].lower()
        words = text[hit.start : hit.end]
        supported: set[NodeType] = set()
        for pattern, kinds in _CONTEXT:
            if pattern.search(near):
                supported |= kinds
        if before is not None and before.node.type is NodeType.DRUG and _HARMS.search(text[before.end : hit.start]):
            supported |= {NodeType.SIDE_EFFECT}

        def order(entry: Entry) -> tuple[bool, bool, bool, int, int]:
            return (
                entry.type not in supported,
                entry.how.startswith("variant"),
                not entry.plain and entry.name != words and words.isascii(),
                _PRIOR.get(entry.type, 20),
                -self._known.degree(entry.number),
            )

        ordered = sorted(hit.entries, key=order)
        ranked = list(dict.fromkeys(entry.number for entry in ordered))
        if ordered[0].type in supported:
            return ranked, f"the words beside it speak of a {ordered[0].type.value.replace('_', ' ')}"
        return ranked, "of several with this name the most likely by spelling, type and number of edges"


def _put(names: dict[str, list[Entry]], seen: set[str], spelt: str, entry: Entry) -> None:
    if len(spelt) < 3 or spelt in seen:
        return
    if is_number(entry.name):  # a year or a count in a text is never the name of anything
        return
    if len(spelt) == 3 and entry.how != "symbol":  # single letters are names of nothing but genes
        return
    seen.add(spelt)
    names.setdefault(spelt, []).append(entry)


def _automaton(names: dict[str, list[Entry]]) -> Any:
    """Return the automaton over all keys, or None when there are no names."""
    import ahocorasick

    if not names:
        return None
    automaton = ahocorasick.Automaton()
    for spelt, entries in names.items():
        automaton.add_word(spelt, (len(spelt), spelt.count(" ") - 1, tuple(entries)))
    automaton.make_automaton()
    return automaton


def _longest(hits: list[Hit]) -> list[Hit]:
    """Return hits that do not overlap: longest first, surest first among equals; in the order of the text."""
    taken: list[Hit] = []
    ordered = sorted(hits, key=lambda h: (-(h.end - h.start), -h.score, h.start))
    covered: set[int] = set()
    for hit in ordered:
        # A hit is at most a few hundred characters, and a longer one was taken before: its ends tell.
        if hit.start in covered or hit.end - 1 in covered:
            continue
        covered.update(range(hit.start, hit.end))
        taken.append(hit)
    return sorted(taken, key=lambda h: h.start)
