"""What a hypothesis asserts: read from its text where nobody said so, and held against the edges of the graph.

Who makes a hypothesis says what it asserts. For a text without that the claims are read: by a model where one is given,
else by the trained models, which are believed only where the text names two things and says little besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.domain.discovery.hypotheses import AssertedLink, EvidenceItem
from engine.domain.knowledge import Mention
from engine.knowledge.claims.relations import possible, sense_of
from engine.knowledge.claims.statements import Statement, read_text
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding.direct import direct_rulings
from engine.knowledge.grounding.told import ReadsClaims, held
from engine.knowledge.service import KnowledgeBase
from engine.strategies.tournament.bridges.goal import LEAST_LINK
from engine.strategies.tournament.bridges.wording import chain
from engine.text.stopwords import EMPTY

READ = 4_000
"""Characters of a hypothesis that are read."""
_BESIDE = 2
"""So many words that say something may stand before or after the two that a text links; with more it says more."""


@dataclass(frozen=True, slots=True)
class LinkInGraph:
    """An asserted link in one version of the graph."""

    link: AssertedLink
    subject: int
    """Number of the node, -1 where the graph has none."""
    object: int
    stated: str = ""
    """What edges state of it already, in words."""
    opposed: str = ""
    """Why it is not so, where edges state the opposite."""

    @property
    def known(self) -> bool:
        """Whether the graph has both, and they are two."""
        return min(self.subject, self.object) >= 0 and self.subject != self.object


def read_links(text: str, knowledge: KnowledgeBase, reads: ReadsClaims | None = None) -> list[AssertedLink]:
    """Return what a text asserts, nothing where it was not read with confidence.

    Args:
        text: the hypothesis.
        knowledge: finds the names of the text.
        reads: a model that reads claims; without it, or without its answer, the trained models do.
    """
    text = text[:READ]
    mentions = [m for m in knowledge.entities.link(text) if m.score >= LEAST_LINK]
    told = reads(text, [mention.text for mention in mentions]) if reads is not None else None
    if told is not None:
        return [_link(one) for one in held(text, mentions, told[0])[0]]
    if len({mention.node.id for mention in mentions}) != 2:
        return []
    found = [statement for one in read_text(text, mentions) for statement in one.statements]
    return [_link(found[0])] if len(found) == 1 and says_little_else(text, mentions) else []


def says_little_else(text: str, mentions: Sequence[Mention]) -> bool:
    """Say whether hardly a word of a text stands outside of what it names and the words between."""
    if not mentions:
        return False
    outside = f"{text[: min(m.start for m in mentions)]} {text[max(m.end for m in mentions) :]}"
    return sum(word not in EMPTY for word in re.findall(r"[^\W\d_]+", outside.casefold())) <= _BESIDE


def _link(one: Statement) -> AssertedLink:
    return AssertedLink(subject=one.subject[0].id, relation=one.sense.type, object=one.object[0].id, denied=one.negated)


def in_graph(link: AssertedLink, view: GraphView) -> LinkInGraph:
    """Return what the edges of a graph say of a link."""
    a, b = view.nodes.number(link.subject), view.nodes.number(link.object)
    if not (found := LinkInGraph(link, a, b)).known:
        return found
    one, other = view.nodes.node(a), view.nodes.node(b)
    if link.relation not in possible(one.type, other.type) and link.relation in possible(other.type, one.type):
        a, b, one, other = b, a, other, one  # `psoriasis is associated with TNF` is said of TNF
    sense = sense_of(link.relation, one.type, other.type)
    rulings = direct_rulings(Statement("", (), (one,), (other,), sense, negated=link.denied), view)
    label = rulings[0].label if rulings else ""
    edges = view.edges.full(view.rows_between(a, b))
    meant = [edge for edge in edges if edge.type in {sense.type, *sense.accepts}]
    return LinkInGraph(
        link, a, b,
        stated=chain(view, (meant or edges)[:1]) if label == "grounded" else "",
        opposed=rulings[0].why if label == "contradicted" else "",
    )  # fmt: skip


def weighed(
    items: Iterable[EvidenceItem], links: Sequence[AssertedLink], knowledge: KnowledgeBase
) -> list[EvidenceItem]:
    """Return evidence with what concerns no link and no step of one as context."""
    return [
        item
        if item.kind in ("user", "fact") or any(_concerns(item, link, knowledge) for link in links)
        else item.model_copy(update={"speaks": "context"})
        for item in items
    ]


def _concerns(item: EvidenceItem, link: AssertedLink, knowledge: KnowledgeBase) -> bool:
    """Say whether a path joins what a link or a step of it joins, a passage names both, a finding is of one of them."""
    steps = [set(step) for step in link.steps]
    if item.kind == "path":
        return bool(item.nodes) and {item.nodes[0], item.nodes[-1]} in steps
    if item.kind == "finding":
        return not set().union(*steps).isdisjoint(item.nodes)
    named = {mention.node.id for mention in knowledge.entities.link(item.says) if mention.score >= LEAST_LINK}
    return any(step <= named for step in steps)
