"""Degree-weighted path counts against paths walked one by one, and what metapaths there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.discovery.links.counts import PathCounts
from engine.discovery.links.typed import MetaStep, TypedEdges, metapaths

SYMMETRIC = frozenset({1})


def graph(types, edges, weights=None):
    heads, codes, tails = (np.array(part, dtype=np.int64) for part in zip(*edges, strict=True)) if edges else (
        np.zeros(0, dtype=np.int64),) * 3  # fmt: skip
    weights = np.ones(len(edges)) if weights is None else np.array(weights)
    return TypedEdges(np.array(types, dtype=np.uint8), heads, tails, codes.astype(np.uint8), weights, SYMMETRIC)


def walked(edges, path, damping):
    """The counts by taking every sequence of nodes, as the definition has it."""

    def entry(step, a, b):
        worth = 0.0
        for head, tail, code, weight in zip(edges.heads, edges.tails, edges.codes, edges.weights, strict=True):
            if code != step.edge or head == tail:
                continue
            along = (head, tail) == ((b, a) if step.back else (a, b))
            either = step.start != step.end or code in SYMMETRIC
            if along or (either and (tail, head) == (a, b)):
                worth = max(worth, weight)
        return worth

    def degree(step, node, of_start):
        others = edges.members(step.end if of_start else step.start)
        return sum(entry(step, node, o) > 0 if of_start else entry(step, o, node) > 0 for o in others)

    kinds = [path[0].start, *(step.end for step in path)]
    found = np.zeros((len(edges.members(kinds[0])), len(edges.members(kinds[-1]))))
    for nodes in itertools.product(*(edges.members(kind) for kind in kinds)):
        if len(set(nodes)) < len(nodes):
            continue
        weight = 1.0
        for step, a, b in zip(path, nodes, nodes[1:], strict=False):
            worth = entry(step, a, b)
            weight *= worth and worth * (degree(step, a, True) * degree(step, b, False)) ** -damping
        found[edges.places[nodes[0]], edges.places[nodes[-1]]] += weight
    return found


def drawn_graphs():
    edge = st.tuples(st.integers(0, 7), st.integers(0, 2), st.integers(0, 7))
    return st.builds(
        lambda types, edges, weights: graph(types, edges, weights[: len(edges)]),
        st.lists(st.integers(0, 2), min_size=8, max_size=8),
        st.lists(edge, min_size=1, max_size=14),
        st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=14, max_size=14),
    )


@settings(max_examples=40, deadline=None)
@given(drawn_graphs(), st.sampled_from([0.0, 0.5]), st.data())
def test_counts_are_those_of_paths_walked_one_by_one(edges, damping, data):
    kinds = [int(kind) for kind in np.unique(edges.node_types)]
    start, end = data.draw(st.sampled_from(kinds)), data.draw(st.sampled_from(kinds))
    paths = data.draw(st.permutations(metapaths(edges, start, end)))[:12]
    counts = PathCounts(edges, damping)
    for path, sparse in counts.all(paths):
        made = sparse.toarray()
        expected = walked(edges, path, damping)
        apart = ~np.eye(*expected.shape, dtype=bool) if start == end else np.ones(expected.shape, dtype=bool)
        np.testing.assert_allclose(made[apart], expected[apart], atol=1e-9, err_msg=str(path))
        for row, column in itertools.product(*map(range, made.shape)):
            ways = counts.between(path, row, column)
            if start != end or row != column:
                assert sum(weight for weight, _ in ways) == pytest.approx(expected[row, column])


@settings(max_examples=25, deadline=None)
@given(drawn_graphs(), st.data())
def test_columns_asked_for_are_those_of_the_whole(edges, data):
    kinds = [int(kind) for kind in np.unique(edges.node_types)]
    start, end = data.draw(st.sampled_from(kinds)), data.draw(st.sampled_from(kinds))
    size = len(edges.members(end))
    some = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1))))
    paths = metapaths(edges, start, end)[:20]
    whole = dict(PathCounts(edges).all(paths))
    for path, part in PathCounts(edges).all(paths, some):
        np.testing.assert_allclose(part.toarray(), whole[path].toarray()[:, some], atol=1e-12)


def test_a_link_is_no_path_to_itself_by_way_of_its_own_ends():
    # drug 0 - treats - disease 1, and nothing else: drug, disease, drug, disease would come back
    edges = graph([0, 2], [(0, 0, 1)])
    treats = MetaStep(0, 0, 2)
    ((_, counts),) = PathCounts(edges).all([(treats, MetaStep(2, 0, 0), treats)])
    assert counts.nnz == 0


def test_a_hub_in_between_counts_less_than_a_node_of_few_edges():
    # drugs 0..3, genes 4 (bound by all) and 5 (bound by 0 only), disease 6 with both genes
    edges = graph([0] * 4 + [3, 3, 2], [(drug, 0, 4) for drug in range(4)] + [(0, 0, 5), (4, 2, 6), (5, 2, 6)])
    path = (MetaStep(0, 0, 3), MetaStep(3, 2, 2))
    ways = {nodes[1]: weight for weight, nodes in PathCounts(edges).between(path, 0, 0)}
    assert ways[1] == pytest.approx(2 * ways[0])  # 4 edges to the power of -0.5 against 1


def test_metapaths_are_the_ways_the_steps_allow():
    edges = graph([0, 3, 2], [(0, 0, 1), (1, 2, 2)])
    paths = metapaths(edges, 0, 2)
    assert (MetaStep(0, 0, 3), MetaStep(3, 2, 2)) in paths
    assert all(len(path) in (2, 3) and path[0].start == 0 and path[-1].end == 2 for path in paths)
    assert all(a.end == b.start for path in paths for a, b in itertools.pairwise(path))
    assert metapaths(edges, 0, 2, inner=[0, 2]) == []
    assert metapaths(edges, 0, 9) == []


def test_an_edge_within_a_type_has_two_steps_unless_it_has_no_direction():
    directed, both = graph([3, 3], [(0, 0, 1)]), graph([3, 3], [(0, 1, 1)])
    assert [step.back for step in directed.steps] == [False, True]
    assert directed.matrix(MetaStep(3, 0, 3)).toarray().tolist() == [[0, 1], [0, 0]]
    assert directed.matrix(MetaStep(3, 0, 3, back=True)).toarray().tolist() == [[0, 0], [1, 0]]
    assert both.steps == [MetaStep(3, 1, 3)]
    assert both.matrix(MetaStep(3, 1, 3)).toarray().tolist() == [[0, 1], [1, 0]]


def test_edges_are_taken_out_of_one_type_only_whichever_way_they_stand():
    edges = graph([0, 2, 2], [(0, 0, 1), (0, 2, 1), (2, 0, 0)])
    left = edges.without(np.array([0, 0]), np.array([1, 2]), 0)
    assert (left.heads.tolist(), left.codes.tolist()) == ([0], [2])
    assert edges.matrix(MetaStep(0, 0, 2)).nnz == 2
    assert left.matrix(MetaStep(0, 0, 2)).nnz == 0
