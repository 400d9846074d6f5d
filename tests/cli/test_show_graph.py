"""What `kg` prints for people: singular and plural, relations with and without a direction, answers that are empty."""

from __future__ import annotations

import pytest

from engine.cli.know import show as show
from engine.cli.show_words import counted
from engine.domain.knowledge import (
    Edge,
    EdgeType,
    GraphImport,
    GraphPath,
    GraphSource,
    GraphStats,
    Neighbourhood,
    Node,
    NodeHit,
    NodeType,
)

EGFR = Node(id="Gene::1956", type=NodeType.GENE, name="EGFR")
GRB2 = Node(id="Gene::2885", type=NodeType.GENE, name="GRB2")
KRAS = Node(id="Gene::3845", type=NodeType.GENE, name="KRAS")
MEETS = Edge(source=GRB2.id, type=EdgeType.INTERACTS_WITH, target=EGFR.id)
ACTS = Edge(source=GRB2.id, type=EdgeType.REGULATES, target=KRAS.id)


@pytest.mark.parametrize(
    ("count", "noun", "many", "shown"),
    [
        (0, "tool", "", "0 tools"),
        (1, "tool", "", "1 tool"),
        (1, "entity", "entities", "1 entity"),
        (2, "entity", "entities", "2 entities"),
        (12345, "fact", "", "12,345 facts"),
    ],
)
def test_things_are_counted_in_english(count: int, noun: str, many: str, shown: str) -> None:
    assert counted(count, noun, many) == shown


def test_one_of_each_is_singular() -> None:
    source = GraphSource(id="s", name="Mine", kind="generic", nodes=1, edges=1)
    assert "1 entity, 1 relation" in show.sources_text([source])
    stats = GraphStats(nodes=1, edges=1, nodes_by_type={}, edges_by_type={}, sources=[source], version=3)
    assert show.stats_text(stats).startswith("1 entity, 1 relation (version 3)")
    done = GraphImport(source=source, nodes_read=1, edges_read=1, nodes_added=1, edges_added=1, seconds=0.5)
    assert show.graph_import_text(done) == "Mine: 1 new entity, 1 new relation in 0.5 s."
    assert "1 relation)" in show.hits_text([NodeHit(node=EGFR, score=1, matched="EGFR", degree=1)])
    assert show.paths_text([], "A", "B", 1) == "No path of at most 1 relation joins A and B."


def test_a_relation_that_says_the_same_in_both_directions_has_no_arrow() -> None:
    path = GraphPath(nodes=[EGFR, GRB2, KRAS], edges=[MEETS, ACTS], score=0.5)
    assert show.paths_text([path], "EGFR", "KRAS", 2) == "0.500  EGFR -[interacts_with]- GRB2 -[regulates]-> KRAS"
    back = GraphPath(nodes=[KRAS, GRB2, EGFR], edges=[ACTS, MEETS], score=0.5)
    assert show.paths_text([back], "KRAS", "EGFR", 2) == "0.500  KRAS <-[regulates]- GRB2 -[interacts_with]- EGFR"
    stated = show.edges_text([MEETS, ACTS]).splitlines()
    assert stated[0].startswith("Gene::2885 -[interacts_with]- Gene::1956  ")
    assert stated[1].startswith("Gene::2885 -[regulates]-> Gene::3845  ")


def test_a_neighbourhood_of_nothing_and_of_one() -> None:
    alone = Neighbourhood(seeds=[EGFR.id], nodes=[EGFR], hops={EGFR.id: 0}, degrees={EGFR.id: 0}, edges=[], reached=1)
    assert show.neighbourhood_text(alone) == "Nothing is linked to this."
    hops, degrees = {EGFR.id: 0, GRB2.id: 1}, {EGFR.id: 1, GRB2.id: 2}
    two = Neighbourhood(seeds=[EGFR.id], nodes=[EGFR, GRB2], hops=hops, degrees=degrees, edges=[MEETS], reached=2)
    lines = show.neighbourhood_text(two).splitlines()
    assert lines[0] == "2 of 2 entities shown, 1 relation among them"
    assert "EGFR (gene, 1 relation)" in lines[2]
    assert lines[-1] == "  GRB2 -[interacts_with]- EGFR"


def test_no_enriched_neighbourhood_is_said_as_it_was_tested() -> None:
    text = show.enriched_text([])
    assert "one of these genes" in text
    assert "3 to 500" in text
