"""What a goal asks of the graph: the entities it names, what is sought for them, and what must not be named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.domain.discovery.hypotheses import Aims
from engine.domain.knowledge import NODE_CODE, EdgeType, Mention, Node, NodeType
from engine.errors import UserError
from engine.knowledge.linking.linker import UNKNOWN_ID
from engine.knowledge.service import KnowledgeBase
from engine.strategies.tournament.bridges.patterns import CELL, DISEASE, DRUG, GENE, PATHWAY, SYMPTOM, TERM, between
from engine.text.prose import quoted
from engine.text.stopwords import technicality

LEAST_LINK = 0.5
"""How surely words must name an entity."""
_SHOWN = 5
_NO_BIOLOGY = (NodeType.TOOL, NodeType.DATASET, NodeType.PROTOCOL, NodeType.DOMAIN, NodeType.PUBLICATION)
_SOUGHT: tuple[tuple[re.Pattern[str], tuple[NodeType, ...]], ...] = (
    (re.compile(r"\b(drugs?|compounds?|repurpos\w+|treat(?:s|ed|ing|ments?)?|therap\w+|medicines?)\b", re.I), (DRUG,)),
    (re.compile(r"\b(genes?|targets?|proteins?|biomarkers?|regulators?|transcription factors?)\b", re.I), (GENE,)),
    (re.compile(r"\b(diseases?|indications?|disorders?|comorbid\w*|illness\w*)\b", re.I), (DISEASE,)),
    (re.compile(r"\b(pathways?|process(?:es)?|functions?)\b", re.I), (PATHWAY, TERM)),
    (re.compile(r"\b(symptoms?|signs?)\b", re.I), (SYMPTOM,)),
    (re.compile(r"\b(cell types?|which cells)\b", re.I), (CELL,)),
)  # fmt: skip
_ELSEWHERE = re.compile(
    r"\b(?:for|of|in|against|treat\w*)\s+(?:an?|any|some)?\s*(?:other|different)\s+(?:diseases?|disorders?|illness\w*|indications?)\b",
    re.IGNORECASE,
)
"""Says of what is sought where it is in use; seeks no disease itself."""
_LINK = re.compile(
    r"\b(why|how|mechanisms?|link(?:s|ed)?|connect\w*|between|explain\w*|comorbid\w*|go(?:es)? with|comes? with|"
    r"together|relat\w+|affects?|influences?|does|could|is|are)\b",
    re.IGNORECASE,
)
_OF_TWO = re.compile(
    r"^\W*(?:why|how)\b.*\b(?:with|affects?|influences?|linked|related|connected|and)\b|"
    r"\b(?:link|connection|relation|relationship)s? between\b|\bwhat (?:links|connects|joins)\b",
    re.IGNORECASE | re.DOTALL,
)
_USUAL: dict[NodeType, tuple[NodeType, ...]] = {
    DISEASE: (DRUG, GENE, DISEASE),
    DRUG: (DISEASE, GENE),
    GENE: (DISEASE, GENE, PATHWAY, TERM),
    PATHWAY: (GENE,),
    TERM: (GENE,),
    SYMPTOM: (DISEASE,),
    CELL: (GENE,),
}
"""What is sought for an entity where the goal does not say."""
_NOT = re.compile(r"\b(?:no|not|non|without|avoid\w*|exclud\w+|except|other than|never|rather than)\b", re.IGNORECASE)
_WITHOUT = re.compile(r"\b(?:without|except|other than|excluding|rather than|but (?:not|no))\b", re.IGNORECASE)
"""Begins what a goal leaves out; a bare `not` may belong to anything (`who do not respond to X`)."""
_WORD = re.compile(r"[A-Za-z][\w'-]{3,}")


@dataclass(frozen=True, slots=True)
class GoalRead:
    """A goal as the graph can take it."""

    named: tuple[Node, ...]
    """Entities that it names, in order."""
    sought: tuple[NodeType, ...]
    """What hypotheses are to be about, for each of these; empty where the link between two of them is asked for."""
    left_out: frozenset[str]
    """Ids that no hypothesis may name."""
    of: Node | None = None
    """What the drugs that are sought must treat already: asthma in `drugs for asthma that could help in migraine`."""
    unfit: frozenset[str] = frozenset()
    """Ids of the drugs that are not of it."""

    @property
    def pairs(self) -> list[tuple[Node, Node]]:
        """Entities whose link is asked for."""
        if self.sought:
            return []
        return [(a, b) for place, a in enumerate(self.named) for b in self.named[place + 1 :]]


def read_goal(aims: Aims, knowledge: KnowledgeBase) -> GoalRead:
    """Return what a goal asks.

    Raises:
        UserError: when it names no entity of the graph, or a name that stands for several.
    """
    linked = [m for m in knowledge.entities.link(aims.goal) if _counts(m)]
    excluding = _WITHOUT.search(aims.goal)
    mentions = [m for m in linked if excluding is None or m.start < excluding.start()]
    excluded = {m.node.id for m in linked if m not in mentions}
    unknown = [m.text for m in mentions if m.why == UNKNOWN_ID]
    if unknown:
        raise UserError(
            f"The knowledge graph has no {unknown[0]}.", advice="Put its name, or import a source that has it."
        )
    for mention in mentions:
        _certain(mention)
    named = tuple({m.node.id: m.node for m in mentions}.values())
    if not named:
        raise UserError(
            "The goal names nothing that the knowledge graph knows, so no hypothesis can be read from it.",
            advice=_near(aims.goal, knowledge),
        )
    if len(named) == 1 and _OF_TWO.search(_without(aims.goal, mentions)):
        raise UserError(
            f"The goal asks for what joins two things, and the knowledge graph knows one of them: {named[0].name}.",
            advice=_near(_without(aims.goal, mentions), knowledge),
        )
    _require_known(_without(aims.goal, linked), knowledge)
    sought, of = _sought(aims.goal, mentions, named), _of_which(aims.goal, mentions)
    if of is None or DRUG not in sought:
        return GoalRead(named, sought, _left_out(aims, knowledge, excluded))
    rest = tuple(node for node in named if node.id != of.id)
    return GoalRead(rest, sought, _left_out(aims, knowledge, excluded), of, _not_for(of, knowledge))


_FOR = re.compile(
    r"\b(?:drugs?|compounds?|medicines?|medications?|therap(?:y|ies)|treatments?)\s+(?:\w+\s+){0,2}?"
    r"(?:for|against|of|in|treating|treat)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_ONLY_JOINED = re.compile(r"[\s,]*(?:and|or|&|plus)?\s*(?:for|in|against)?\s*(?:the\s+)?", re.IGNORECASE)


def _of_which(goal: str, mentions: Sequence[Mention]) -> Node | None:
    """Return the disease whose drugs are tried in another: asthma in `drugs for asthma that could help in migraine`."""
    ill = [mention for mention in mentions if mention.node.type is DISEASE]
    for one, other in pairwise(ill):
        joined = _ONLY_JOINED.fullmatch(goal[one.end : other.start])
        if _FOR.search(goal[: one.start]) and joined is None and one.node.id != other.node.id:
            return one.node
    return None


def _not_for(disease: Node, knowledge: KnowledgeBase) -> frozenset[str]:
    """Return the ids of the drugs that the graph does not state to treat or ease a disease.

    Raises:
        UserError: when it states none.
    """
    view = knowledge.graph.view()
    number = view.nodes.number(disease.id)
    able = {*view.adjacent(number, {EdgeType.TREATS, EdgeType.PALLIATES}, "in").numbers.tolist()}
    if not able:
        raise UserError(
            f"The knowledge graph states no drug that treats {disease.name}, so none can be tried elsewhere.",
            advice="Import a graph that has treatments, or ask for drugs of any kind.",
        )
    drugs = (view.nodes.types == NODE_CODE[DRUG]).nonzero()[0].tolist()
    return frozenset(view.nodes.id(drug) for drug in drugs if drug not in able)


def _require_known(rest: str, knowledge: KnowledgeBase) -> None:
    """Ask about a word that only few outside a trade know, that is part of names of diseases or drugs and names none.

    Left aside without a word, `diabetes` would be answered as if it had not been said.
    """
    for word in dict.fromkeys(_WORD.findall(rest)):
        if technicality(word.casefold()) < 1:
            continue
        hits = [hit.node for hit in knowledge.entities.search(word, top=_SHOWN)]
        near = [n for n in hits if n.type in (DISEASE, DRUG) and word.casefold() in n.name.casefold().split()]
        if near:
            names = ", ".join(f"{node.name} ({node.id})" for node in near)
            raise UserError(
                f"{quoted(word)} alone is no name in the knowledge graph; near are {names}. Which is meant?",
                advice="Put the name or id in its place.",
                details={"choices": [node.id for node in near]},
            )


def _counts(mention: Mention) -> bool:
    return mention.score >= LEAST_LINK and mention.node.type not in _NO_BIOLOGY


def _certain(mention: Mention) -> None:
    """Ask where a name stands for several entities of one type and is the proper name of none or of several."""
    alike = [node for node in (mention.node, *mention.alternatives) if node.type is mention.node.type]
    exact = [node for node in alike if node.name.casefold() == mention.text.casefold()]
    if len(alike) > 1 and len(exact) != 1:
        choices = ", ".join(f"{node.name} ({node.id})" for node in alike[:_SHOWN])
        raise UserError(
            f"{mention.text!r} may be several things: {choices}. Which is meant?",
            advice="Put the id in place of the name.",
            details={"choices": [node.id for node in alike]},
        )


def _sought(goal: str, mentions: Iterable[Mention], named: tuple[Node, ...]) -> tuple[NodeType, ...]:
    words = _without(goal, mentions)  # `breast cancer gene 1` seeks no genes
    kinds = _kinds(_ELSEWHERE.sub(" ", words)) or _kinds(words)
    able = [kind for kind in kinds if any(between(node.type, kind) for node in named)]
    if len(named) > 1 and _LINK.search(words) and not re.search(r"\b(which|what|find|identify|propose)\b", words, re.I):
        able = []
    elif not able and len(named) == 1:
        able = list(_USUAL.get(named[0].type, ()))
        if not able:
            raise UserError(
                f"No pattern leads from {named[0].name} ({named[0].type.value.replace('_', ' ')}).",
                advice="Name a disease, drug, gene, pathway, process, symptom or cell type.",
            )
    return tuple(dict.fromkeys(able))


def _kinds(words: str) -> list[NodeType]:
    return [kind for pattern, group in _SOUGHT if pattern.search(words) for kind in group]


def _without(goal: str, mentions: Iterable[Mention]) -> str:
    rest = list(goal)
    for mention in mentions:
        rest[mention.start : mention.end] = " " * (mention.end - mention.start)
    return "".join(rest)


def _left_out(aims: Aims, knowledge: KnowledgeBase, excluded: set[str]) -> frozenset[str]:
    """Return the ids of what the goal and constraints exclude; with a class of drugs, its members."""
    found = set(excluded)
    for constraint in aims.constraints:
        if (excluding := _NOT.search(constraint)) is not None:
            linked = knowledge.entities.link(constraint)
            found |= {m.node.id for m in linked if _counts(m) and m.start > excluding.start()}
    view = knowledge.graph.view()
    for number in [view.nodes.number(node) for node in found]:
        if number >= 0 and view.nodes.node_type(number) is NodeType.DRUG_CLASS:
            members = view.adjacent(number, {EdgeType.INCLUDES}, "out").numbers.tolist()
            found |= {view.nodes.id(member) for member in members}
    return frozenset(found)


def unknown_exclusions(aims: Aims, knowledge: KnowledgeBase) -> list[str]:
    """Return what goal and constraints say to leave out and the graph does not know, in quotes."""
    match = _WITHOUT.search(aims.goal)
    said = [aims.goal[match.start() :].strip(" .?!")] if match else []
    said += [constraint for constraint in aims.constraints if _NOT.search(constraint)]
    return [quoted(text) for text in said if not any(map(_counts, knowledge.entities.link(text)))]


def _near(goal: str, knowledge: KnowledgeBase) -> str:
    words = sorted(set(_WORD.findall(goal)), key=lambda word: (-len(word), word))[:_SHOWN]
    hits = [hit for word in words for hit in knowledge.entities.search(word, top=2)]
    names = list(dict.fromkeys(f"{hit.node.name} ({hit.node.id})" for hit in hits))[:_SHOWN]
    near = f" Near are: {', '.join(names)}. Is one of them meant?" if names else ""
    return f"Name a disease, drug, gene, pathway, process, symptom or cell type.{near}"
