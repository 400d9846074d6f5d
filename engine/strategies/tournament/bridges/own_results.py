"""Hypotheses from what the user's own runs found: changed genes in a disease's pathways, and drugs against them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.domain.discovery.hypotheses import EvidenceItem, Hypothesis, Prediction
from engine.domain.knowledge import EnrichedNode, NodeType
from engine.errors import NotFoundError
from engine.knowledge import enrichment
from engine.knowledge.service import KnowledgeBase
from engine.strategies.tournament.bridges.at_hand import ChangedGene
from engine.strategies.tournament.bridges.ideas import IdeaFinder, PatternWay
from engine.strategies.tournament.bridges.patterns import (
    ASSOCIATED,
    DISEASE,
    DOWN,
    DRUG,
    GENE,
    INVOLVED,
    PATHWAY,
    UP,
    BridgePattern,
)
from engine.strategies.tournament.bridges.written import BUILT_IN, IdeaWriter
from engine.text.prose import listed

ALPHA = 0.1
"""Adjusted p-value up to which a pathway holds more of the changed genes than chance."""
_SHOWN = 4
_FOUND_ONCE = 0.6
"""What one run's finding is worth, as in what runs teach the graph."""
_MEETING = BridgePattern("meeting", (PATHWAY, GENE, DISEASE), (INVOLVED, ASSOCIATED), 0.5, "")


def from_own_results(
    knowledge: KnowledgeBase,
    finder: IdeaFinder,
    writer: IdeaWriter,
    changed: Sequence[ChangedGene],
    named: Sequence[int],
    most: int,
) -> list[Hypothesis]:
    """Return hypotheses on genes that runs found changed, the kinds in turn.

    Args:
        knowledge: finds the genes.
        finder: of the same version of the graph as `writer`.
        writer: writes ideas down.
        changed: the genes, surest first.
        named: numbers of what the goal names.
        most: at most so many.
    """
    view = finder.view
    ids = knowledge.entities.ids([gene.name for gene in changed])
    genes = {view.nodes.number(ids[gene.name]): gene for gene in changed if gene.name in ids}
    genes = {n: gene for n, gene in genes.items() if n >= 0 and view.nodes.node_type(n) is NodeType.GENE}
    diseases = [number for number in named if view.nodes.node_type(number) is DISEASE]
    kinds = [
        _expression(finder, writer, genes, diseases),
        [made for disease in diseases for made in _pathways(writer, genes, disease)],
        _reversals(finder, writer, genes, named),
    ]
    longest = max((len(items) for items in kinds), default=0)
    return [items[place] for place in range(longest) for items in kinds if place < len(items)][:most]


def _finding(gene: ChangedGene, view_id: str) -> EvidenceItem:
    return EvidenceItem(kind="finding", says=gene.says, nodes=[view_id], source=gene.source, strength=_FOUND_ONCE)


def _expression(
    finder: IdeaFinder, writer: IdeaWriter, genes: dict[int, ChangedGene], diseases: Sequence[int]
) -> list[Hypothesis]:
    """Return changed genes that paths join to a disease of the goal."""
    made: list[tuple[float, Hypothesis]] = []
    for disease in diseases:
        for idea in finder.for_anchor(disease, GENE):
            gene = genes.get(idea.subject)
            if gene is not None:
                one = writer.link(idea)
                found = _finding(gene, one.entities[0])
                text = f"{one.text.removesuffix('.')}; in your data it is {'higher' if gene.up else 'lower'}."
                made.append((idea.strength, one.model_copy(update={"text": text, "support": [found, *one.support]})))
    return [one for _, one in sorted(made, key=lambda item: -item[0])]


def _pathways(writer: IdeaWriter, genes: dict[int, ChangedGene], disease: int) -> list[Hypothesis]:
    """Return pathways that hold more of the changed genes than chance, and genes of the disease."""
    view = writer.view
    of_disease = set(view.adjacent(disease, ASSOCIATED).numbers.tolist())
    ids = [view.nodes.id(number) for number in genes]
    try:
        kinds = (NodeType.PATHWAY, NodeType.GO_TERM)
        tested = enrichment.enrichment(view, ids, edge_types=INVOLVED, node_types=kinds)
    except NotFoundError:  # no gene of the list is a member of anything
        return []
    made: list[Hypothesis] = []
    for term in tested:
        members = set(view.adjacent(view.nodes.number(term.node.id), INVOLVED).numbers.tolist())
        shared = sorted((members & of_disease) - genes.keys(), key=view.nodes.degree)
        if term.p_adj <= ALPHA and term.overlap > 1 and shared:
            made.append(_pathway(writer, genes, disease, term, shared))
    return made


def _pathway(
    writer: IdeaWriter, genes: dict[int, ChangedGene], disease: int, term: EnrichedNode, shared: Sequence[int]
) -> Hypothesis:
    view = writer.view
    own = sorted(
        genes.keys() & set(view.adjacent(view.nodes.number(term.node.id), INVOLVED).numbers.tolist()),
        key=lambda number: (genes[number].p, number),
    )
    mine = [genes[number].name for number in own][:_SHOWN]
    theirs = [view.nodes.node(number).name for number in shared[:_SHOWN]]
    d, name = view.nodes.node(disease).name, term.node.name
    said = (
        f"{name} holds {term.overlap} of the {term.query_size} changed genes that the graph knows, "
        f"{term.fold_enrichment:.1f} times as many as by chance (adjusted p = {term.p_adj:.2g})."
    )
    return Hypothesis(
        id="",
        text=f"{name} is where your data and {d} meet: {listed(mine)}, which changed, act in it with {listed(theirs)}, "
        f"which {'is' if len(theirs) == 1 else 'are'} associated with {d}.",
        explanation=f"{said} {listed(theirs)} of it {'is' if len(theirs) == 1 else 'are'} associated with {d}.",
        experiment=f"Block {name} in the system of your data and measure whether {listed(mine)} go back; do so in a "
        f"cell model of {d} and measure what the disease changes.",
        method="graph",
        support=[
            EvidenceItem(
                kind="finding", says=said, nodes=[term.node.id, *map(view.nodes.id, own[:_SHOWN])],
                source=genes[own[0]].source, strength=_FOUND_ONCE,
            ),
            *(writer.evidence(PatternWay(_MEETING, (view.nodes.number(term.node.id), n, disease))) for n in shared[:2]),
        ],
        predictions=[
            Prediction(
                says=f"In patients with {d} the genes of {name} are changed together, as they are in your data.",
                contradicted_by=f"The genes of {name} are no more changed in patients with {d} than other genes are.",
                direction="any",
            )
        ],
        entities=[term.node.id, view.nodes.id(disease), *(view.nodes.id(number) for number in own[:_SHOWN])],
        by=BUILT_IN,
    )  # fmt: skip


def _reversals(
    finder: IdeaFinder, writer: IdeaWriter, genes: dict[int, ChangedGene], named: Sequence[int]
) -> list[Hypothesis]:
    """Return drugs that move more of the changed genes back than on, against what such drugs do to any genes."""
    view = finder.view
    undone, added = np.zeros(len(view.nodes)), np.zeros(len(view.nodes))
    for up, back, on in ((True, DOWN, UP), (False, UP, DOWN)):
        start = [number for number, gene in genes.items() if gene.up is up]
        for way, total in ((back, undone), (on, added)):
            if start:
                total += finder.walks.reached(start, BridgePattern("moves", (GENE, DRUG), (way,), 1.0, "")).count
    drugs = [n for n in np.argsort(added - undone, kind="stable").tolist() if undone[n] - added[n] >= 2]
    wanted = [n for n in drugs if not set(view.adjacent(n).numbers.tolist()) & set(named)]
    return [_reversal(writer, genes, drug, int(undone[drug]), int(added[drug])) for drug in wanted[:20]]


def _reversal(writer: IdeaWriter, genes: dict[int, ChangedGene], drug: int, undone: int, added: int) -> Hypothesis:
    view = writer.view
    lowered = [n for n in view.adjacent(drug, DOWN, "out").numbers.tolist() if n in genes and genes[n].up]
    raised = [n for n in view.adjacent(drug, UP, "out").numbers.tolist() if n in genes and not genes[n].up]
    some = [*lowered[:_SHOWN], *raised[:_SHOWN]]
    name, names = view.nodes.node(drug).name, [genes[n].name for n in some]
    return Hypothesis(
        id="",
        text=f"{name} would undo part of the change in your data: it moves {undone} of the changed genes back "
        f"({listed(names)}) and {added} of them further.",
        explanation=f"The graph states that {name} lowers {listed([genes[n].name for n in lowered]) or 'none'} of what "
        f"is higher and raises {listed([genes[n].name for n in raised]) or 'none'} of what is lower in your data.",
        experiment=f"Treat the system of your data with {name} in eight doses or vehicle and measure {listed(names)}; "
        "measure also what the change does to the cells.",
        method="graph",
        support=[
            *(_finding(genes[n], view.nodes.id(n)) for n in some),
            *(
                writer.evidence(PatternWay(BridgePattern("moves", (DRUG, GENE), (way,), 1.0, ""), (drug, n)))
                for way, moved in ((DOWN, lowered), (UP, raised))
                for n in moved[:_SHOWN]
            ),
        ],
        predictions=[
            Prediction(
                says=f"With {name}, {listed(names)} move towards the level of the controls of your data.",
                contradicted_by=f"With {name}, most of {listed(names)} stay where they are or move further away.",
            )
        ],
        entities=[view.nodes.id(drug), *(view.nodes.id(n) for n in some)],
        by=BUILT_IN,
    )  # fmt: skip
