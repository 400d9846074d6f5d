"""Recognising the entities of a graph in text: symbols, names, aliases and identifiers.

Names are compared as folded tokens (see `linking_text`) with an Aho-Corasick automaton (Aho and Corasick 1975,
Communications of the ACM 18:333), so time grows with the text, not with the number of names. The longest match
wins. What makes a word that is also English an entity, and which of several namesakes is meant, is decided by
case and by the words beside it; the other namesakes stay with the mention.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from engine.domain.knowledge import Mention, Node, NodeType
from engine.knowledge.linking_text import find_ids, id_keys, key, node_id_keys, tokens, variants
from engine.knowledge.linking_words import ENGLISH, EVERYDAY
from engine.knowledge.view import GraphView

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
_GENE_CONTEXT = re.compile(
    r"\b(genes?|m?rnas?|transcripts?|express\w*|proteins?|messages?|products?|alleles?|variants?|mutat\w+|promoter|locus"
    r"|interact\w*|regulat\w*|upregulat\w*|downregulat\w*|bind\w*|encod\w+|pathway|knock\w*|overexpress\w*|levels?)\b",
    re.IGNORECASE,
)
_SWALLOWS = re.compile(r"(?:cellular\s+)?response\s+to\s", re.IGNORECASE)
_AFTER_EFFECT = re.compile(
    r"\b(?:express\w*|increas\w*|decreas\w*|induc\w*|repress\w*|reduc\w*|elevat\w*|up|down|levels?|rises?|falls?|drops?|"
    r"\w*regulat\w*|changes?|transcripts?|mrna|message)\s+in\s+$",
    re.IGNORECASE,
)
"""`increased expression in response to clozapine` names clozapine, not the process `response to clozapine`."""
_SPAN_BREAKS = re.compile(r"[,;:()\[\]!?\"\u201c\u201d]|\.\s|\n\s*\n")


@dataclass(frozen=True, slots=True)
class _Entry:
    number: int
    type: NodeType
    name: str
    how: str
    """symbol, name or alias, with `variant of` before it for a rephrased form."""
    plain: bool
    """True for a name of several words or a long one; False for a symbol, whose case matters."""


@dataclass(frozen=True, slots=True)
class _Hit:
    start: int
    end: int
    entries: tuple[_Entry, ...]
    score: float
    exact: bool


class EntityLinker:
    """Finds the entities of one graph in texts. Building reads every name once; a linker never changes."""

    def __init__(self, view: GraphView) -> None:
        """Index the names, aliases and identifiers of all nodes."""
        self._view = view
        self._ids: dict[str, list[int]] = {}
        self._nodes: dict[int, Node] = {}
        names: dict[str, list[_Entry]] = {}
        for named in view.named_nodes():
            for spelt in node_id_keys(named.id, named.type):
                self._add_id(spelt, named.number)
            for xref in named.xrefs:
                for spelt in id_keys(xref):
                    self._add_id(spelt, named.number)
            self._add_names(names, named.number, named.type, named.name, named.aliases)
        self._automaton = _automaton(names)

    @property
    def view(self) -> GraphView:
        """The graph whose entities are found."""
        return self._view

    def link(self, text: str, *, types: Collection[NodeType] | None = None) -> list[Mention]:
        """Return the entities a text names, in order, without overlaps; only of `types` when given.

        An identifier of a known pattern that the graph lacks is returned too, with `UNKNOWN_ID` as its reason.
        """
        if not text:
            return []
        hits = self._id_hits(text) + self._name_hits(text)
        if types is not None:
            wanted = frozenset(types)
            kept = ((hit, tuple(e for e in hit.entries if e.type in wanted)) for hit in hits)
            hits = [_Hit(h.start, h.end, entries, h.score, h.exact) for h, entries in kept if entries]
        return [self._mention(text, hit) for hit in _longest(hits)]

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
        self, names: dict[str, list[_Entry]], number: int, kind: NodeType, name: str, aliases: Collection[str]
    ) -> None:
        seen: set[str] = set()
        spellings = [(name, "name"), *((alias, "alias") for alias in aliases)]
        for spelt, how in spellings:
            symbol = kind in _GENES and _SYMBOL.fullmatch(spelt) is not None
            how_named = "symbol" if symbol and how == "name" else how
            _put(names, seen, key(spelt), _Entry(number, kind, spelt, how_named, not symbol))
        for spelt, how in spellings:
            if kind in _GENES and _SYMBOL.fullmatch(spelt):
                continue
            for other in variants(spelt, kind):
                _put(names, seen, key(other), _Entry(number, kind, other, f"variant of {how}", plain=True))

    def _node(self, number: int) -> Node:
        node = self._nodes.get(number)
        if node is None:
            node = self._nodes[number] = self._view.node(number)
        return node

    def _id_hits(self, text: str) -> list[_Hit]:
        hits: list[_Hit] = []
        for found in find_ids(text):
            numbers = next((self._ids[k] for k in found.keys if k in self._ids), [])
            if numbers:
                entries = [_Entry(n, self._view.node_type(n), found.keys[0], "id", plain=True) for n in numbers]
                hits.append(_Hit(found.start, found.end, tuple(entries), 1.0, exact=True))
            elif found.certain:
                unknown = _Entry(-1, found.type, found.keys[0], UNKNOWN_ID, plain=True)
                hits.append(_Hit(found.start, found.end, (unknown,), 0.4, exact=False))
        return hits

    def _name_hits(self, text: str) -> list[_Hit]:
        found = tokens(text)
        if not found or self._automaton is None:
            return []
        starts: dict[int, int] = {}
        position = 1
        for index, (word, _, _) in enumerate(found):
            starts[position] = index
            position += len(word) + 1
        haystack = " " + " ".join([word for word, _, _ in found]) + " "
        hits: list[_Hit] = []
        for last, (length, count, entries) in self._automaton.iter(haystack):
            first = starts[last - length + 2]
            start, end = found[first][1], found[first + count - 1][2]
            hit = _judge(text, start, end, entries)
            if hit is not None:
                hits.append(hit)
        return hits

    def _mention(self, text: str, hit: _Hit) -> Mention:
        words = text[hit.start : hit.end]
        best = hit.entries[0]
        if best.number < 0:
            node = Node(id=best.name, type=best.type, name=words)
            return Mention(start=hit.start, end=hit.end, text=words, node=node, score=hit.score, why=UNKNOWN_ID)
        why = best.how
        ranked = list(dict.fromkeys(entry.number for entry in hit.entries))
        if len(ranked) > 1:
            ranked, decided = self._rank(text, hit)
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

    def _rank(self, text: str, hit: _Hit) -> tuple[list[int], str]:
        """Order namesakes: by the words beside the mention, then exact spelling, type and number of edges."""
        near = text[max(0, hit.start - 60) : hit.start].lower() + " \0 " + text[hit.end : hit.end + 40].lower()
        words = text[hit.start : hit.end]
        supported: set[NodeType] = set()
        for pattern, kinds in _CONTEXT:
            if pattern.search(near):
                supported |= kinds

        def order(entry: _Entry) -> tuple[bool, bool, bool, int, int]:
            return (
                entry.type not in supported,
                entry.how.startswith("variant"),
                not entry.plain and entry.name != words,
                _PRIOR.get(entry.type, 20),
                -self._view.degree(entry.number),
            )

        ordered = sorted(hit.entries, key=order)
        ranked = list(dict.fromkeys(entry.number for entry in ordered))
        if ordered[0].type in supported:
            return ranked, f"the words beside it speak of a {ordered[0].type.value.replace('_', ' ')}"
        return ranked, "of several with this name the most likely by spelling, type and number of edges"


def _put(names: dict[str, list[_Entry]], seen: set[str], spelt: str, entry: _Entry) -> None:
    if len(spelt) < 3 or spelt in seen:
        return
    if len(spelt) == 3 and entry.how != "symbol":  # single letters are names of nothing but genes
        return
    seen.add(spelt)
    names.setdefault(spelt, []).append(entry)


def _automaton(names: dict[str, list[_Entry]]) -> Any:
    """Return the automaton over all keys, or None when there are no names."""
    import ahocorasick

    if not names:
        return None
    automaton = ahocorasick.Automaton()
    for spelt, entries in names.items():
        automaton.add_word(spelt, (len(spelt), spelt.count(" ") - 1, tuple(entries)))
    automaton.make_automaton()
    return automaton


def _judge(text: str, start: int, end: int, entries: tuple[_Entry, ...]) -> _Hit | None:
    """Return the hit that a match of folded tokens is in the text as written, or None."""
    if (start and text[start - 1].isalnum()) or (end < len(text) and text[end].isalnum()):
        return None
    words = text[start:end]
    if _SWALLOWS.match(words) and _AFTER_EFFECT.search(text[max(0, start - 40) : start]):
        return None
    if len(words) > 3:
        breaks = _SPAN_BREAKS.findall(words)
        if breaks:
            entries = tuple(e for e in entries if all(mark.strip() in e.name for mark in breaks))
    if text[end : end + 1] in {")", "]"} and all(e.name.endswith(text[end]) for e in entries) and entries:
        end += 1
        words = text[start:end]
    scored = [(score, e) for e in entries if (score := _entry_score(text, start, end, words, e)) > 0]
    if not scored:
        return None
    best = max(score for score, _ in scored)
    return _Hit(start, end, tuple(e for _, e in scored), best, any(e.name == words for _, e in scored))


def _entry_score(text: str, start: int, end: int, words: str, entry: _Entry) -> float:
    """Return how surely `words` name the entry, 0 when they do not."""
    if entry.plain:
        return _name_score(words, entry)
    if re.match(r"-\d", text[end : end + 2]):  # HOXA-1 is not HOXA
        return 0.0
    if " " in words and not re.fullmatch(r"[A-Za-z]+ \d+[A-Za-z]?", words):
        return 0.0
    alphabetic = words.isalpha()
    if words == entry.name:
        if len(words) == 1:
            return 0.6 if _gene_words(text, start, end) else 0.0
        if words.lower() in ENGLISH:
            return _capital_word_score(text, start, end, words)
        return 0.9 if len(words) == 2 else 1.0
    if words.lower() in ENGLISH or len(words) < 3:
        return 0.0
    if not words.isascii():  # a Greek letter spelt out in the name: TNFα
        return 0.9
    if not alphabetic and len(words) <= 3 and words.islower():  # `p53` is long enough, `a1` is not
        return 0.8 if len(words) == 3 and words[1:].isdigit() else 0.0
    if not alphabetic:
        return 0.9
    return 0.6 if len(words) > 2 and not words.isupper() and _gene_words(text, start, end) else 0.8 * words.isupper()


def _name_score(words: str, entry: _Entry) -> float:
    if len(words) <= 3 and words != entry.name and not (words.isdigit() or len(words) == 3):
        return 0.0
    lower = words.lower()
    if lower in EVERYDAY or (lower in ENGLISH and words != entry.name):
        return 0.3
    if entry.name.isupper() and len(words) <= 5 and words.islower():
        return 0.3
    base = 0.8 if entry.how.startswith("variant") else 0.95 if entry.how == "name" else 0.9
    return base if " " in words or len(words) > 3 else base - 0.1


def _gene_words(text: str, start: int, end: int) -> bool:
    return _GENE_CONTEXT.search(text[max(0, start - 40) : start] + " | " + text[end : end + 40]) is not None


def _capital_word_score(text: str, start: int, end: int, words: str) -> float:
    """Return the score of `SET`, `CAT`, `IMPACT` as written: no entity in text set in capitals or in `CAT scan`."""
    if not words.isupper():
        return 0.6 if _gene_words(text, start, end) else 0.0
    before = re.search(r"([A-Za-z]{2,})\W*$", text[max(0, start - 30) : start])
    after = re.match(r"\W*([A-Za-z]{2,})", text[end : end + 30])
    shouted = [m.group(1).isupper() and m.group(1).lower() in ENGLISH for m in (before, after) if m]
    if any(shouted) or (after and after.group(1).lower() in {"scan", "scans", "imaging", "equivalent", "factor"}):
        return 0.0
    return 0.9 if _gene_words(text, start, end) else 0.7


def _longest(hits: list[_Hit]) -> list[_Hit]:
    """Return hits that do not overlap: longest first, surest first among equals; in the order of the text."""
    taken: list[_Hit] = []
    ordered = sorted(hits, key=lambda h: (-(h.end - h.start), -h.score, h.start))
    covered: set[int] = set()
    for hit in ordered:
        # A hit is at most a few hundred characters, and a longer one was taken before: its ends tell.
        if hit.start in covered or hit.end - 1 in covered:
            continue
        covered.update(range(hit.start, hit.end))
        taken.append(hit)
    return sorted(taken, key=lambda h: h.start)
