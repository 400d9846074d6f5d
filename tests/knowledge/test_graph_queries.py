"""Search, neighbourhoods, paths and enrichment: on a small graph whose answers are known, on both kinds of view."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, fisher_exact

from engine.domain.knowledge import Edge, EdgeRows, EdgeType, GraphSource, Node, NodeRows, NodeType
from engine.errors import LimitExceeded, NotFoundError, UserError
from engine.knowledge.enrichment import enrichment
from engine.knowledge.graph import csr
from engine.knowledge.graph.paths import best_paths, shortest_path
from engine.knowledge.graph.queries import common_neighbours, hub_penalty, neighbourhood, statistics, subgraph
from engine.knowledge.graph.search import normal, search
from engine.knowledge.graph.twin import GraphTwin
from engine.knowledge.graph.view import GraphView
from storage.graph.twin import GraphStoreTwin

T, E = NodeType, EdgeType
NODES: list[tuple[Any, ...]] = [
    ("Gene::1956", T.GENE, "EGFR", ["ERBB1", "HER1"], ["ENSEMBL:ENSG00000146648"]),
    ("Gene::2885", T.GENE, "GRB2"),
    ("Gene::3845", T.GENE, "KRAS"),
    ("Gene::3569", T.GENE, "IL6", ["interleukin 6"]),
    ("Compound::DB00317", T.DRUG, "Gefitinib", ["Iressa"]),
    ("Compound::DB00530", T.DRUG, "Erlotinib"),
    ("Disease::DOID:1324", T.DISEASE, "lung cancer"),
    ("Disease::DOID:8778", T.DISEASE, "Crohn's disease"),
    ("Pathway::1", T.PATHWAY, "EGFR signaling"),
    ("Anatomy::lung", T.ANATOMY, "lung"),
    ("Side Effect::C01", T.SIDE_EFFECT, "Nausea"),
    ("Symptom::S1", T.SYMPTOM, "Nausea"),
]
EDGES: list[tuple[Any, ...]] = [
    ("Gene::1956", E.INTERACTS_WITH, "Gene::2885", "GiG", 0.9),
    ("Gene::1956", E.INTERACTS_WITH, "Gene::2885", "again", 0.4),
    ("Gene::2885", E.INTERACTS_WITH, "Gene::3845", "GiG", 0.8),
    ("Compound::DB00317", E.BINDS, "Gene::1956", "CbG", 1.0),
    ("Compound::DB00530", E.BINDS, "Gene::1956", "CbG", 0.7),
    ("Compound::DB00530", E.TREATS, "Disease::DOID:1324", "CtD", 0.6),
    ("Disease::DOID:1324", E.ASSOCIATED_WITH, "Gene::3845", "DaG", 1.0),
    ("Gene::1956", E.INVOLVED_IN, "Pathway::1", "GpPW", 1.0),
    ("Gene::2885", E.INVOLVED_IN, "Pathway::1", "GpPW", 1.0),
    ("Compound::DB00317", E.CAUSES, "Side Effect::C01", "CcSE", 1.0),
    ("Compound::DB00530", E.CAUSES, "Side Effect::C01", "CcSE", 1.0),
    ("Gene::3569", E.EXPRESSED_IN, "Anatomy::lung", "AeG", 1.0),
    ("Gene::3845", E.EXPRESSED_IN, "Anatomy::lung", "AeG", 1.0),
]
EGFR, KRAS, GEF, ERL, LUNG = "Gene::1956", "Gene::3845", "Compound::DB00317", "Compound::DB00530", "Disease::DOID:1324"


def stored(nodes: list[Any], edges: list[Any]) -> GraphStoreTwin:
    node_rows, edge_rows = NodeRows(), EdgeRows()
    for row in nodes:
        node_rows.add(*row)
    for row in edges:
        edge_rows.add(*row)
    store = GraphStoreTwin()
    store.add(GraphSource(id="s", name="Source", kind="generic"), [node_rows, edge_rows])
    return store


def build(kind: str, nodes: list[Any], edges: list[Any]) -> GraphView:
    if kind == "arrays":
        return GraphView(csr.build(stored(nodes, edges).columns()), 1)
    made = [Node(**dict(zip(("id", "type", "name", "aliases", "xrefs"), row, strict=False))) for row in nodes]
    keys = ("source", "type", "target", "relation", "confidence")
    return GraphTwin(made, [Edge(**dict(zip(keys, row, strict=False)), origin="s") for row in edges])


@pytest.fixture(params=["arrays", "memory"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def view(kind: str) -> GraphView:
    return build(kind, NODES, EDGES)


# ==== search ====


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Gene::1956", "EGFR"), ("gene::1956", "EGFR"), ("DB00317", "Gefitinib"), ("DOID:1324", "lung cancer"),
        ("ENSEMBL:ENSG00000146648", "EGFR"), ("EGFR", "EGFR"), ("egfr", "EGFR"), ("her1", "EGFR"), ("Iressa", "Gefitinib"),
        ("IL-6", "IL6"), ("il 6", "IL6"), ("interleukin-6", "IL6"), ("gefit", "Gefitinib"), ("gefitnib", "Gefitinib"),
        ("erlotinb", "Erlotinib"), ("crohns disease", "Crohn's disease"), ("Crohn’s disease", "Crohn's disease"),
        ("cancer lung", "lung cancer"), ("signaling", "EGFR signaling"), ("lung canc", "lung cancer"),
    ],
)  # fmt: skip
def test_what_a_person_types_is_found(view: GraphView, text: str, first: str) -> None:
    hits = search(view, text)
    assert hits[0].node.name == first
    # Best first; of two that fit within 0.02 of each other the better linked may come first.
    assert all(one.score >= two.score - 0.02 for one, two in itertools.pairwise(hits))
    assert all(0 < hit.score <= 1 for hit in hits)


def test_exact_names_go_before_beginnings_and_the_match_is_told(view: GraphView) -> None:
    hits = search(view, "egfr")
    assert [(hit.node.name, hit.matched) for hit in hits] == [("EGFR", "EGFR"), ("EGFR signaling", "EGFR signaling")]
    assert search(view, "HER1")[0].matched == "HER1"
    assert search(view, "db00317")[0].matched == "Compound::DB00317"
    assert hits[0].degree == 5


def test_types_and_top_limit_the_answer(view: GraphView) -> None:
    assert {hit.node.type for hit in search(view, "nausea")} == {T.SIDE_EFFECT, T.SYMPTOM}
    assert [hit.node.type for hit in search(view, "nausea", types=[T.SYMPTOM])] == [T.SYMPTOM]
    assert len(search(view, "nausea", top=1)) == 1
    assert search(view, "nausea", top=0) == []


@pytest.mark.parametrize("text", ["", "   ", "?!", "-", "xyzzyx", "\x00", "::", "a" * 10_000, "(((", "日本", "\ud800"])
def test_any_text_can_be_searched(view: GraphView, text: str) -> None:
    assert isinstance(search(view, text), list)


def test_names_are_compared_without_case_hyphens_and_punctuation() -> None:
    assert normal("TNF-α") == normal("tnf alpha").replace(" ", "") == "tnfalpha"
    assert normal(" Crohn's (disease) ") == "crohns disease"


# ==== neighbourhoods ====


def test_a_neighbourhood_of_one_step(view: GraphView) -> None:
    got = neighbourhood(view, [EGFR])
    assert got.seeds == [EGFR]
    assert got.hops == {EGFR: 0, ERL: 1, "Gene::2885": 1, GEF: 1, "Pathway::1": 1}
    assert got.degrees[EGFR] == 5
    assert got.reached == 5
    assert got.reached_by_type == {"gene": 2, "drug": 2, "pathway": 1}
    assert sorted(edge.relation for edge in got.edges) == ["CbG", "CbG", "GiG", "GpPW", "GpPW", "again"]
    assert {edge.source for edge in got.edges} | {edge.target for edge in got.edges} <= set(got.hops)


def test_edge_types_limit_the_walk_and_node_types_what_is_wanted(view: GraphView) -> None:
    got = neighbourhood(view, [GEF], 2, edge_types=[E.BINDS])
    assert got.hops == {GEF: 0, EGFR: 1, ERL: 2}
    got = neighbourhood(view, [GEF], 2, edge_types=[E.BINDS], node_types=[T.DRUG])
    assert set(got.hops) == {GEF, EGFR, ERL}  # the gene joins them
    assert (got.reached, got.reached_by_type) == (2, {"drug": 2})
    assert neighbourhood(view, [GEF], edge_types=[], node_types=[]).reached == 3


def test_a_limited_neighbourhood_hangs_together(kind: str) -> None:
    chance = np.random.default_rng(0)
    nodes = [(f"n{i}", T.GENE, f"G{i}") for i in range(400)]
    edges = [(f"n{a}", E.REGULATES, f"n{b}") for a, b in chance.integers(0, 400, (900, 2)) if a != b]
    view = build(kind, nodes, edges)
    for seed, hops, limit in itertools.product(("n0", "n7"), (1, 2, 3), (5, 20, 60)):
        got = neighbourhood(view, [seed], hops, limit=limit)
        assert len(got.nodes) <= limit
        graph = nx.Graph([(edge.source, edge.target) for edge in got.edges])
        graph.add_node(seed)
        steps = nx.single_source_shortest_path_length(graph, seed)
        assert set(steps) == set(got.hops)
        assert all(steps[node] >= got.hops[node] for node in steps)
        assert got.reached == len(nx.single_source_shortest_path_length(nx.Graph([e[::2] for e in edges]), seed, hops))
    one = neighbourhood(view, ["n0"], 1, limit=4)
    every = neighbourhood(view, ["n0"], 1)
    assert sorted(one.degrees[n] for n in one.hops if n != "n0") == sorted(every.degrees[n] for n in every.hops if n != "n0")[-3:]  # fmt: skip


def test_unknown_ids_and_impossible_questions_are_refused(view: GraphView) -> None:
    with pytest.raises(NotFoundError, match="no node 'EGFRR'") as caught:
        neighbourhood(view, [EGFR, "EGFRR"])
    assert "EGFR (Gene::1956)" in caught.value.advice
    with pytest.raises(UserError, match="hops cannot be 0"):
        neighbourhood(view, [EGFR], 0)
    with pytest.raises(UserError, match="limit cannot be -1"):
        neighbourhood(view, [EGFR], limit=-1)
    with pytest.raises(UserError, match="'loves' is not a type of edge"):
        neighbourhood(view, [EGFR], edge_types=["loves"])  # type: ignore[list-item]
    assert neighbourhood(view, []).nodes == []


def test_common_neighbours(view: GraphView) -> None:
    got = common_neighbours(view, GEF, ERL)
    assert [(hit.node.name, hit.matched) for hit in got] == [
        ("Nausea", "causes / causes"),
        ("EGFR", "binds / binds"),
    ]
    assert got[1].score == pytest.approx(0.7 * 0.5)
    assert common_neighbours(view, GEF, ERL, edge_types=[E.BINDS])[0].node.name == "EGFR"
    assert common_neighbours(view, GEF, "Symptom::S1") == []
    assert "Gene::1956" not in {hit.node.id for hit in common_neighbours(view, EGFR, "Gene::2885")}


def test_a_subgraph_for_networkx(view: GraphView) -> None:
    graph = subgraph(view, [EGFR, "Gene::2885", GEF, EGFR])
    assert sorted(graph.nodes) == sorted([EGFR, "Gene::2885", GEF])
    assert graph.nodes[EGFR] == {"name": "EGFR", "type": "gene", "degree": 5}
    assert sorted((a, b, k) for a, b, k in graph.edges(keys=True)) == [
        (GEF, EGFR, "binds"),
        (EGFR, "Gene::2885", "interacts_with"),
        (EGFR, "Gene::2885", "interacts_with 2"),
    ]
    with pytest.raises(LimitExceeded):
        subgraph(view, [EGFR] * 6000)


def test_statistics(view: GraphView) -> None:
    got = statistics(view, stored(NODES, EDGES))
    assert (got.nodes, got.edges, got.nodes_by_type["gene"]) == (12, 13, 4)
    assert got.edges_by_type["interacts_with"] == 3
    assert list(got.edges_by_type.values()) == sorted(got.edges_by_type.values(), reverse=True)
    assert [source.id for source in got.sources] == ["s"]


# ==== paths ====


def test_the_shortest_path_shows_the_most_certain_edges(view: GraphView) -> None:
    got = shortest_path(view, GEF, KRAS)
    assert got is not None
    assert [node.name for node in got.nodes] == ["Gefitinib", "EGFR", "GRB2", "KRAS"]
    assert [edge.confidence for edge in got.edges] == [1.0, 0.9, 0.8]
    assert got.score == pytest.approx(0.9 * 0.8 * 0.25)
    assert shortest_path(view, GEF, KRAS, max_hops=2) is None
    assert shortest_path(view, GEF, "Symptom::S1") is None
    same = shortest_path(view, GEF, GEF)
    assert same is not None
    assert ([n.id for n in same.nodes], same.edges) == ([GEF], [])
    assert shortest_path(view, KRAS, GEF, edge_types=[E.BINDS]) is None


def test_the_best_supported_paths(view: GraphView) -> None:
    got = best_paths(view, GEF, LUNG)
    assert [[node.name for node in path.nodes] for path in got] == [
        ["Gefitinib", "EGFR", "Erlotinib", "lung cancer"],
        ["Gefitinib", "EGFR", "GRB2", "KRAS", "lung cancer"],
        ["Gefitinib", "Nausea", "Erlotinib", "lung cancer"],  # a shared side effect says little
    ]
    assert [path.score for path in got] == pytest.approx([0.7 * 0.6 / 4, 0.9 * 0.8 / 8, 0.6 / 40])
    for path in got:
        for edge, (a, b) in zip(path.edges, itertools.pairwise(path.nodes), strict=True):
            assert {edge.source, edge.target} == {a.id, b.id}
    assert [len(path.edges) for path in best_paths(view, EGFR, "Gene::2885", top=1)] == [1]
    assert best_paths(view, "Gene::3569", KRAS) == []  # both are expressed in the lung: no support
    assert best_paths(view, GEF, GEF) == []
    with pytest.raises(UserError, match="path of 9 steps"):
        best_paths(view, GEF, LUNG, max_hops=9)


def brute(edges: list[tuple[int, int, float]], count: int, a: int, b: int, hops: int) -> list[float]:
    """Scores of all simple paths, by enumeration."""
    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    degree = np.zeros(count)
    for x, y, worth in edges:
        degree[[x, y]] += 1
        if not graph.has_edge(x, y) or graph[x][y]["w"] < worth:
            graph.add_edge(x, y, w=worth)
    scores = []
    for path in nx.all_simple_paths(graph, a, b, cutoff=hops):
        score = float(np.prod([graph[x][y]["w"] for x, y in itertools.pairwise(path)]))
        scores.append(score * float(np.prod(hub_penalty(degree[path[1:-1]]))))
    return sorted(scores, reverse=True)


@settings(max_examples=60, deadline=None)
@given(
    edges=st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from([1.0, 0.75, 0.5, 0.25])).filter(
            lambda edge: edge[0] != edge[1]
        ),
        max_size=14,
    ),
    hops=st.integers(1, 5),
)
def test_best_paths_are_the_best_of_all(edges: list, hops: int) -> None:
    nodes = [(f"n{i}", T.GENE, f"G{i}") for i in range(8)]
    rows = [(f"n{a}", E.REGULATES, f"n{b}", str(i), worth) for i, (a, b, worth) in enumerate(edges)]
    for kind in ("arrays", "memory"):
        got = best_paths(build(kind, nodes, rows), "n0", "n1", max_hops=hops, top=3)
        want = brute(edges, 8, 0, 1, hops)[:3]
        assert len(got) <= len(want)
        assert [path.score for path in got[:1]] == pytest.approx(want[:1], abs=2e-6)
        assert len({tuple(node.id for node in path.nodes) for path in got}) == len(got)
        if hops <= 3:
            assert [path.score for path in got] == pytest.approx(want, abs=2e-6)


# ==== enrichment ====


def gene_sets(chance: np.random.Generator) -> tuple[list[Any], list[Any], dict[str, set[str]]]:
    nodes = [(f"g{i}", T.GENE, f"G{i}") for i in range(120)]
    nodes += [(f"p{i}", T.PATHWAY, f"P{i}") for i in range(12)] + [("d0", T.DISEASE, "D0")]
    sets = {
        f"p{i}": {f"g{j}" for j in chance.choice(100, int(chance.integers(1, 40)), replace=False)} for i in range(12)
    }
    sets["d0"] = {"g1", "g2", "g3", "g4"}
    edges = [(gene, E.INVOLVED_IN, term) for term, genes in sets.items() if term != "d0" for gene in sorted(genes)]
    edges += [("d0", E.ASSOCIATED_WITH, gene) for gene in sorted(sets["d0"])]  # stated the other way round
    edges += [("g1", E.INVOLVED_IN, "p0", "twice"), ("g5", E.REGULATES, "g6")]
    sets["p0"].add("g1")
    return nodes, edges, sets


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_background", [False, True])
def test_enrichment_is_fishers_test_with_benjamini_and_hochberg(kind: str, seed: int, with_background: bool) -> None:
    chance = np.random.default_rng(seed)
    nodes, edges, sets = gene_sets(chance)
    view = build(kind, nodes, edges)
    genes = [f"g{i}" for i in chance.choice(120, 20, replace=False)]
    background = [f"g{i}" for i in chance.choice(120, 90, replace=False)] if with_background else None
    universe = set(background) if background is not None else set().union(*sets.values())
    query = set(genes) & universe
    want: dict[str, tuple[int, int, float]] = {}
    for term, members in sets.items():
        inside = members & universe
        if 3 <= len(inside) <= 30:
            a, n = len(inside & query), len(query)
            table = [[a, n - a], [len(inside) - a, len(universe) - n - len(inside) + a]]
            want[term] = (a, len(inside), float(fisher_exact(table, alternative="greater").pvalue))
    adjusted = dict(zip(want, false_discovery_control([p for _, _, p in want.values()]), strict=True))
    got = enrichment(view, [*genes, "unknown"], background=background, max_size=30)
    assert {hit.node.id for hit in got} == {term for term, (a, _, _) in want.items() if a}
    for hit in got:
        a, size, p = want[hit.node.id]
        assert (hit.overlap, hit.size, hit.query_size, hit.background_size) == (a, size, len(query), len(universe))
        assert hit.p_value == pytest.approx(p, rel=1e-9)
        assert hit.p_adj == pytest.approx(adjusted[hit.node.id], rel=1e-9)
        assert hit.fold_enrichment == pytest.approx(a * len(universe) / (len(query) * size))
        assert hit.members == sorted(f"G{gene[1:]}" for gene in sets[hit.node.id] & query)
    assert [hit.p_value for hit in got] == sorted(hit.p_value for hit in got)


def test_enrichment_of_some_types_only(kind: str) -> None:
    nodes, edges, _ = gene_sets(np.random.default_rng(0))
    view = build(kind, nodes, edges)
    genes = ["g1", "g2", "g3"]
    assert [hit.node.id for hit in enrichment(view, genes, node_types=[T.DISEASE])] == ["d0"]
    assert {hit.node.type for hit in enrichment(view, genes, edge_types=[E.INVOLVED_IN])} == {T.PATHWAY}
    assert len(enrichment(view, genes, top=1)) == 1
    assert enrichment(view, genes, min_size=100, max_size=200) == []


def test_enrichment_of_nothing_is_refused(view: GraphView) -> None:
    with pytest.raises(NotFoundError, match="None of the 2 genes is in the knowledge graph"):
        enrichment(view, ["EGFRX", "nonsense"])
    with pytest.raises(NotFoundError, match="'EGFRX' is no gene of the knowledge graph") as caught:
        enrichment(view, ["EGFRX"])
    assert "EGFR (Gene::1956)" in caught.value.advice
    with pytest.raises(NotFoundError, match="No genes were given"):
        enrichment(view, [])
    with pytest.raises(UserError, match="is in the background"):
        enrichment(view, [EGFR], background=[KRAS])
    with pytest.raises(UserError, match="linked to anything that is tested"):
        enrichment(view, [EGFR], edge_types=[E.MARKER_OF])
    with pytest.raises(UserError, match="5 to 2 genes"):
        enrichment(view, [EGFR], min_size=5, max_size=2)


# ==== on real data ====

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "hetionet_train"


@pytest.mark.skipif(not DATA.is_dir(), reason="the development data are not beside the project")
def test_questions_to_hetionet() -> None:
    import gzip

    def lines(name: str) -> list[str]:
        return gzip.decompress((DATA / name).read_bytes()).decode().splitlines()[1:]

    nodes = [row.split("\t") for row in lines("nodes.tsv.gz")]
    edges = [row.split("\t") for row in lines("edges.sif.gz")]
    names = {"Gene": T.GENE, "Disease": T.DISEASE, "Compound": T.DRUG, "Pathway": T.PATHWAY}
    kinds = {
        "GiG": E.INTERACTS_WITH,
        "CtD": E.TREATS,
        "DaG": E.ASSOCIATED_WITH,
        "CbG": E.BINDS,
        "GpPW": E.INVOLVED_IN,
        "Gr>G": E.REGULATES,
    }
    rows = [(node_id, names.get(kind, T.GO_TERM), name) for node_id, name, kind in nodes]
    links = [(a, kinds.get(kind, E.RELATED_TO), b, kind) for a, kind, b in edges]
    view = GraphView(csr.build(stored(rows, links).columns()), 1)
    assert (len(view.nodes), len(view.edges)) == (47_031, 99_525)
    graph = nx.MultiGraph((a, b) for a, _, b in edges)
    for text in ("EGFR", "lung cancer", "gefitinib"):
        node = search(view, text)[0].node
        assert node.name.casefold() == text.casefold()
        got = neighbourhood(view, [node.id], 2)
        assert got.reached == len(nx.single_source_shortest_path_length(graph, node.id, 2))
        assert got.degrees[node.id] == graph.degree(node.id)
    a, b = search(view, "gefitinib")[0].node.id, search(view, "Parkinson's disease", types=[T.DISEASE])[0].node.id
    path = shortest_path(view, a, b)
    assert path is not None
    assert len(path.edges) == nx.shortest_path_length(graph, a, b)
    pathway = max((n for n in view.nodes.named() if n.type is T.PATHWAY), key=lambda n: view.nodes.degree(n.number))
    genes = [view.nodes.node(int(n)).id for n in view.adjacent(pathway.number).numbers]
    assert enrichment(view, genes)[0].node.id == pathway.id


def test_an_identifier_finds_its_own_node_or_none() -> None:
    graph = GraphTwin(
        [
            Node(id="GO:0001915", type=NodeType.GO_TERM, name="negative regulation of T cell mediated cytotoxicity"),
            Node(id="GO:0006915", type=NodeType.GO_TERM, name="apoptotic process"),
        ],
        [],
    )
    assert [hit.node.id for hit in search(graph, "GO:0006915")] == ["GO:0006915"]
    assert search(graph, "GO:0006916") == []


# ==== what runs leave behind ====

FOUND = [EGFR, "Gene::2885", KRAS, "Gene::3569"]


def after_runs(kind: str, runs: int = 4) -> GraphView:
    """The graph after runs that found the same genes: each has its own file, which the tool read."""
    files = [(f"dataset:{n}", T.DATASET, f"counts{n}.csv") for n in range(runs)]
    links = [(gene, E.ASSOCIATED_WITH, file[0], "higher", 0.6) for file in files for gene in FOUND]
    links += [("tool:de", E.USES_DATA, file[0], "", 1.0) for file in files]
    links += [("tool:plot", E.USES_DATA, file[0], "", 1.0) for file in files]
    tools = [("tool:de", T.TOOL, "de"), ("tool:plot", T.TOOL, "plot")]
    return build(kind, [*NODES, *files, *tools], [*EDGES, *links])


def test_the_files_of_runs_are_no_enriched_neighbourhoods(kind: str) -> None:
    before = enrichment(build(kind, NODES, EDGES), FOUND, min_size=1)
    assert enrichment(after_runs(kind), FOUND, min_size=1) == before  # background and correction are the same too
    asked = enrichment(after_runs(kind), FOUND, min_size=1, node_types=[T.DATASET])
    assert [hit.overlap for hit in asked] == [4] * 4


def test_the_files_of_runs_join_no_genes(kind: str) -> None:
    for a, b in itertools.combinations(FOUND, 2):
        before = best_paths(build(kind, NODES, EDGES), a, b, max_hops=2)
        after = best_paths(after_runs(kind), a, b, max_hops=2)
        assert [[n.id for n in path.nodes] for path in after] == [[n.id for n in path.nodes] for path in before]
    assert best_paths(after_runs(kind), "Gene::3569", EGFR, max_hops=2) == []


def test_shared_files_come_after_what_says_something_of_the_genes(kind: str) -> None:
    got = common_neighbours(after_runs(kind), EGFR, "Gene::2885")
    assert [hit.node.type for hit in got] == [T.PATHWAY, *[T.DATASET] * 4]
    assert got[1].score == pytest.approx(0.6 * 0.6 * 0.5 / 10)
    shared = common_neighbours(after_runs(kind), "tool:de", "tool:plot")
    assert [hit.score for hit in shared] == pytest.approx([0.5] * 4)


def test_a_file_joins_the_tools_that_read_it(kind: str) -> None:
    got = best_paths(after_runs(kind), "tool:de", "tool:plot", max_hops=2)
    assert {path.nodes[1].type for path in got} == {T.DATASET}
    assert got[0].score == pytest.approx(0.5)


# ==== directions ====


def test_a_path_with_a_direction_shows_edges_of_that_direction(kind: str) -> None:
    edges = [
        ("Gene::1956", E.REGULATES, "Gene::2885", "forth", 0.2),
        ("Gene::2885", E.REGULATES, "Gene::1956", "back", 0.9),
        ("Gene::2885", E.INHIBITS, "Gene::3845", "forth", 0.3),
        ("Gene::3845", E.INTERACTS_WITH, "Gene::2885", "either", 0.1),
    ]
    view = build(kind, NODES, edges)

    def relations(a: str, b: str, **options: Any) -> list[str]:
        path = shortest_path(view, a, b, **options)
        return [edge.relation for edge in path.edges] if path else []

    assert relations(EGFR, KRAS) == ["back", "forth"]  # the most certain, whichever way
    assert relations(EGFR, KRAS, direction="out") == ["forth", "forth"]
    assert relations(KRAS, EGFR, direction="in") == ["forth", "forth"]
    assert relations(EGFR, KRAS, direction="in") == ["back", "either"]
    assert relations(KRAS, EGFR, direction="out") == ["either", "back"]
    assert relations(EGFR, KRAS, direction="out", edge_types=[E.REGULATES]) == []


@settings(max_examples=60, deadline=None)
@given(
    edges=st.lists(
        st.tuples(
            st.integers(0, 5), st.sampled_from([E.REGULATES, E.INHIBITS, E.INTERACTS_WITH]), st.integers(0, 5)
        ).filter(lambda edge: edge[0] != edge[2]),
        max_size=12,
    ),
    direction=st.sampled_from(["out", "in", "both"]),
)
def test_every_edge_of_a_shortest_path_points_the_way_asked_for(edges: list, direction: Any) -> None:
    nodes = [(f"n{i}", T.GENE, f"G{i}") for i in range(6)]
    stated = [(f"n{a}", type_, f"n{b}", str(i), 0.1 + i / 20) for i, (a, type_, b) in enumerate(edges)]
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(node[0] for node in nodes)
    for a, type_, b, *_ in stated:
        either = type_ is E.INTERACTS_WITH or direction == "both"
        graph.add_edges_from([(a, b)] if direction != "in" or either else [])
        graph.add_edges_from([(b, a)] if direction == "in" or either else [])
    for kind in ("arrays", "memory"):
        got = shortest_path(build(kind, nodes, stated), "n0", "n1", direction=direction)
        if not nx.has_path(graph, "n0", "n1"):
            assert got is None
            continue
        assert got is not None
        assert len(got.edges) == nx.shortest_path_length(graph, "n0", "n1")
        for edge, (a, b) in zip(got.edges, itertools.pairwise(node.id for node in got.nodes), strict=True):
            ways = {"out": {(a, b)}, "in": {(b, a)}, "both": {(a, b), (b, a)}}[direction]
            if edge.type is E.INTERACTS_WITH:
                ways |= {(b, a), (a, b)}
            assert (edge.source, edge.target) in ways
