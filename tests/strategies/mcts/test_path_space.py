"""Ways in the graph: the best that the search finds is the best there is, walked one by one."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from engine.discovery.tree.search import TreeSearch
from engine.discovery.tree.space import SearchBudget
from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.knowledge.graph.csr_build import build
from engine.knowledge.graph.view import GraphView
from engine.strategies.mcts.path_space import PathSpace
from storage.graph.twin import GraphStoreTwin


@pytest.fixture(scope="module")
def view():
    chance = np.random.default_rng(9)
    nodes, edges = NodeRows(), EdgeRows()
    kinds = [NodeType.DRUG, NodeType.GENE, NodeType.GENE, NodeType.DISEASE, NodeType.ANATOMY]
    for number in range(40):
        nodes.add(f"n{number}", kinds[number % 5], f"node {number}")
    for a, b in chance.integers(0, 40, (130, 2)).tolist():
        if a != b:
            kind = EdgeType.CONTRAINDICATED_FOR if chance.random() < 0.1 else EdgeType.RELATED_TO
            edges.add(f"n{a}", kind, f"n{b}", "r", float(chance.choice([0.3, 0.6, 1.0])))
    store = GraphStoreTwin()
    store.add(GraphSource(id="made", name="Made", kind="generic", files={"x": "0"}), [nodes, edges])
    return GraphView(build(store.columns()), 1)


def walked(view, first, last, most):
    """All ways that may be taken, by NetworkX over the edges that may be."""
    peer = nx.Graph()
    for a, b, code in zip(view.edges.heads, view.edges.tails, view.edges.codes, strict=True):
        if code != list(EdgeType).index(EdgeType.CONTRAINDICATED_FOR):
            peer.add_edge(int(a), int(b))
    barred = {n for n in range(len(view.nodes)) if view.nodes.node_type(n) is NodeType.ANATOMY}
    for way in nx.all_simple_paths(peer, first, last, cutoff=most) if first in peer and last in peer else []:
        if len(way) > 2 and not barred & set(way[1:-1]):
            yield tuple(way)


def test_the_ways_are_all_there_are_and_the_best_is_found(view):
    pairs = [(0, 3), (5, 18), (10, 33), (1, 38), (20, 8)]
    met = 0
    for first, last in pairs:
        space = PathSpace(view, first, frozenset({last}))
        expected = {way: space.value(way) for way in walked(view, first, last, 4)}
        search = TreeSearch(space)
        search.run(SearchBudget(simulations=20_000))
        assert {state: value for value, state in search.ends(100_000)} == pytest.approx(expected)
        assert search.root.done
        met += bool(expected)
    assert met >= 3


def test_a_way_of_sure_edges_and_specific_nodes_is_worth_more(view):
    space = PathSpace(view, 0, frozenset({3}))
    for state, value in ((state, value) for value, state in itertools.islice(_found(space), 20)):
        path = space.path(state)
        assert path.score == pytest.approx(value, abs=1e-6)
        assert [node.id for node in path.nodes] == space.key(state).split(">")
        assert 0 < value <= np.prod([edge.confidence for edge in path.edges]) * 0.5 ** (len(path.nodes) - 2) + 1e-6


def test_no_way_leads_to_what_is_not_joined(view):
    alone = GraphStoreTwin()
    nodes = NodeRows()
    nodes.add("a", NodeType.DRUG, "a")
    nodes.add("b", NodeType.DISEASE, "b")
    alone.add(GraphSource(id="x", name="x", kind="generic", files={"x": "0"}), [nodes])
    search = TreeSearch(PathSpace(GraphView(build(alone.columns()), 1), 0, frozenset({1})))
    assert search.run(SearchBudget()) is None


def _found(space):
    search = TreeSearch(space)
    search.run(SearchBudget(simulations=3000))
    return search.ends(1000)
