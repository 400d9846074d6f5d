"""The knowledge graph beside NetworkX: start, memory, neighbourhoods and shortest paths, in the same run.

    python benchmarks/bench_graph.py [--rounds N]

Two graphs: Hetionet's training part from `BIODESK_BENCH_DATA` (or `shared/data` beside the project) where it is at
hand, and a simulated one of 47,031 nodes and 2.25 million edges with hubs. NetworkX walks its own dictionaries, the
quickest way it offers, in two forms: as it is mostly used, one multigraph with the type on each edge; and split by type
beforehand, a plain graph each, as the arrays here are. All sides must give the same nodes. Walks are measured with the
compiled loops and as they are in the first second after opening, before those are loaded.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import psutil

from benchmarks.measuring import ROOT, arguments, report, summary, target
from engine.domain.knowledge import (
    EDGE_CODE,
    EDGE_TYPES,
    NODE_TYPES,
    SYMMETRIC,
    EdgeRows,
    EdgeType,
    GraphSource,
    NodeRows,
    NodeType,
)
from engine.knowledge.graph import kernels
from engine.knowledge.graph.csr import open_graph
from engine.knowledge.graph.paths import best_paths
from engine.knowledge.graph.queries import neighbourhood
from engine.knowledge.graph.search import search
from engine.knowledge.graph.view import GraphView
from storage.database import Database
from storage.graph.store import DuckGraphStore

NODES, EDGES, SEED = 47_031, 2_250_000, 20_261_121
TYPES = (EdgeType.INTERACTS_WITH, EdgeType.ASSOCIATED_WITH, EdgeType.BINDS)
METAEDGES = {"GiG": "interacts_with", "DaG": "associated_with", "CbG": "binds", "Gr>G": "regulates", "CtD": "treats",
             "GcG": "covaries_with", "AeG": "expressed_in", "GpBP": "involved_in", "GpPW": "involved_in"}  # fmt: skip


def main() -> None:
    """Measure and report."""
    options = arguments(__doc__ or "", rounds=25)
    rows: list[dict[str, Any]] = []
    targets: list[dict[str, Any]] = []
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="biodesk-bench-") as folder:
        here = Path(folder)
        hetionet = hetionet_folder()
        if hetionet is not None:
            _measure("hetionet_train", _read_hetionet(hetionet), here, options.rounds, rows, targets)
        else:
            notes.append(
                "hetionet_train is not at hand (set BIODESK_BENCH_DATA): only the simulated graph was measured."
            )
        _measure("simulated", _simulate(), here, options.rounds, rows, targets, large=True)
    report("graph", rows, targets, notes, nodes=NODES, edges=EDGES)


def _measure(
    name: str,
    batches: Iterator[NodeRows | EdgeRows],
    here: Path,
    rounds: int,
    rows: list[dict[str, Any]],
    targets: list[dict[str, Any]],
    *,
    large: bool = False,
) -> None:
    made = list(batches)
    database = Database(here / f"{name}.duckdb")
    store = DuckGraphStore(database)
    began = time.perf_counter()
    store.add(GraphSource(id=name, name=name, kind="generic", files={"x": "0"}), made)
    rows.append(summary(f"{name}: import into the store", [time.perf_counter() - began], unit="s", digits=2))
    del made
    database.close()
    # Starts and memory are those of a process of its own.
    first = _child(here, name)
    later = [_child(here, name) for _ in range(3)]
    rows.append(summary(f"{name}: first start", [first["seconds"]], unit="s", digits=3))
    rows.append(summary(f"{name}: later start", [start["seconds"] for start in later], unit="s", digits=3))
    rows.append(summary(f"{name}: memory after a later start", [start["mb"] for start in later], unit="MB"))
    rows.append(summary(f"{name}: memory after the first start", [first["mb"]], unit="MB"))
    database = Database(here / f"{name}.duckdb")
    graph = open_graph(DuckGraphStore(database), here / name)
    before, began = _memory(), time.perf_counter()
    peer = _networkx(graph)
    peer_mb = _memory() - before
    rows.append(summary(f"{name}: NetworkX, building", [time.perf_counter() - began], unit="s", digits=2))
    rows.append(summary(f"{name}: NetworkX, memory", [peer_mb], unit="MB"))
    if large:
        targets.append(target("first start at 2.25 million edges", first["seconds"], 3, unit=" s"))
        targets.append(target("later start", max(start["seconds"] for start in later), 0.1, unit=" s"))
        targets.append(target("memory beside NetworkX", later[0]["mb"] / peer_mb, 0.1))
    kernels.load()
    tasks = _tasks(graph, rounds)
    used = _measured(graph, tasks, partial(_walk_used, peer))
    _shortest_paths(name, graph, peer, rounds, rows, targets)
    del peer  # the two forms would not fit beside each other
    fair = _measured(graph, tasks, partial(_walk_fair, graph))
    _walks(name, graph, tasks, used, fair, rows, targets)
    _queries(name, graph, rounds, rows)
    database.close()


Types = tuple[EdgeType, ...] | None
Walk = Callable[[list[int]], set[int]]
Task = tuple[str, str]
"""Where a walk begins and over what edges."""
Tasks = dict[Task, tuple[Types, list[list[int]]]]


def _tasks(graph: GraphView, rounds: int) -> Tasks:
    """Return the walks of two steps that are measured: edge types, and the nodes that each begins at."""
    chance = np.random.default_rng(1)
    linked = np.flatnonzero(graph.nodes.degrees > 0)
    one = [[int(node)] for node in chance.choice(linked, max(rounds, 25) * 4)]
    fifty = [chance.choice(linked, 50, replace=False).tolist() for _ in range(max(5, rounds // 3))]
    return {
        (begin, kind): (types, seeds)
        for begin, seeds in (("from 50 nodes", fifty), ("from one node", one))
        for kind, types in (("3 edge types", TYPES), ("all edges", None))
    }


def _walks(
    name: str,
    graph: GraphView,
    tasks: Tasks,
    used: dict[Task, list[float]],
    fair: dict[Task, list[float]],
    rows: list,
    targets: list,
) -> None:
    for (begin, kind), (types, seeds) in tasks.items():
        what = f"{name}: 2 hops {begin}, {kind}"
        ours = _times(lambda seed, types=types: graph.reach(seed, 2, types), seeds)
        early = _early(lambda seed, types=types: graph.reach(seed, 2, types), seeds)
        measured = {what: ours, "in the first second": early, "NetworkX as it is used": used[begin, kind],
                    "NetworkX split by type": fair[begin, kind]}  # fmt: skip
        rows.extend(summary(label, _us(times), unit="us") for label, times in measured.items())
        # Totals, because from most single nodes of a sparse graph there is almost nothing to walk.
        beside_used, beside_fair = (sum(ours) / sum(peer[begin, kind]) for peer in (used, fair))
        if types is not None:
            limit = 1 / 50 if len(seeds[0]) > 1 else 1 / 10
            targets.append(target(f"{what}, beside NetworkX as it is used", beside_used, limit))
        targets.append(target(f"{what}, beside NetworkX split by type", beside_fair, 0.1 if len(seeds[0]) > 1 else 1))
        late = f"{what}, in the first second beside NetworkX"
        targets.append(target(f"{late} as it is used", sum(early) / sum(used[begin, kind]), 1))
        targets.append(target(f"{late} split by type", sum(early) / sum(fair[begin, kind]), 1))


def _measured(graph: GraphView, tasks: Tasks, walk_over: Callable[[Types], Walk]) -> dict[Task, list[float]]:
    """Return the seconds of a peer's walks, which must reach what ours do."""
    found = {}
    for task, (types, seeds) in tasks.items():
        walk = walk_over(types)
        for seed in seeds[:3]:
            assert set(graph.reach(seed, 2, types).tolist()) == walk(seed), "all must reach the same nodes"
        found[task] = _times(walk, seeds)
    return found


def _early(call: Callable[[Any], Any], questions: list[Any]) -> list[float]:
    """Return the seconds it takes while the compiled loops are not there yet."""
    compiled, kernels._loaded = kernels._loaded, None
    try:
        return _times(call, questions)
    finally:
        kernels._loaded = compiled


def _shortest_paths(name: str, graph: GraphView, peer: Any, rounds: int, rows: list, targets: list) -> None:
    chance = np.random.default_rng(3)
    linked = np.flatnonzero(graph.nodes.degrees > 0)
    pairs = [(int(a), int(b)) for a, b in chance.choice(linked, (max(rounds, 25) * 4, 2))]

    def peer_path(pair: tuple[int, int]) -> list[int] | None:
        try:
            return nx.bidirectional_shortest_path(peer, *pair)
        except nx.NetworkXNoPath:
            return None

    for pair in pairs[:50]:
        ours_found, theirs_found = graph.shortest(pair[0], pair[1], None, "out"), peer_path(pair)
        assert (ours_found and len(ours_found)) == (theirs_found and len(theirs_found)), "paths must be equally long"
    ours = _times(lambda pair: graph.shortest(pair[0], pair[1], None, "out"), pairs)
    early = _early(lambda pair: graph.shortest(pair[0], pair[1], None, "out"), pairs)
    theirs = _times(peer_path, pairs)
    measured = {f"{name}: shortest path": ours, "in the first second": early, "the same in NetworkX": theirs}
    rows.extend(summary(label, _us(times), unit="us") for label, times in measured.items())
    targets.append(target(f"{name}: shortest path beside NetworkX", sum(ours) / sum(theirs), 2.2))
    targets.append(target(f"{name}: shortest path in the first second beside it", sum(early) / sum(theirs), 1))


def _queries(name: str, graph: GraphView, rounds: int, rows: list) -> None:
    """What the pages ask: whole answers with names, edges and scores."""
    chance = np.random.default_rng(2)
    linked = np.flatnonzero(graph.nodes.degrees > 0)
    nodes = [graph.nodes.node(int(number)) for number in chance.choice(linked, rounds)]
    began = time.perf_counter()
    search(graph, "warm")
    rows.append(summary(f"{name}: building the search index", [time.perf_counter() - began], unit="s", digits=2))
    typed = [text for node in nodes for text in (node.name, node.name[:5], _mistyped(node.name), node.id)]
    rows.append(summary(f"{name}: search", _ms(_times(lambda text: search(graph, text), typed)), unit="ms"))
    ids = [node.id for node in nodes]
    for hops in (1, 2):
        times = _times(lambda node_id, hops=hops: neighbourhood(graph, [node_id], hops), ids)
        rows.append(summary(f"{name}: neighbourhood, {hops} hops, in full", _ms(times), unit="ms"))
    ends = list(itertools.pairwise(ids))
    times = _times(lambda pair: best_paths(graph, *pair), ends)
    rows.append(summary(f"{name}: best supported paths", _ms(times), unit="ms"))


def _walk_used(peer: Any, types: Types) -> Walk:
    """Walk two steps over a multigraph, looking at the type of each edge."""
    wanted = None if types is None else set(types)

    def walk(seeds: list[int]) -> set[int]:
        seen = set(seeds)
        edge = list(seen)
        for _ in range(2):
            fresh = []
            for node in edge:
                for neighbours in (peer._succ[node], peer._pred[node]):
                    for other, links in neighbours.items():
                        if other not in seen and (wanted is None or any(d["type"] in wanted for d in links.values())):
                            seen.add(other)
                            fresh.append(other)
            edge = fresh
        return seen

    return walk


def _walk_fair(graph: GraphView, types: Types) -> Walk:
    """Walk two steps over plain NetworkX graphs, one for each type; over one of all edges when no types are given."""
    peers: list[Any] = []
    for rows in [slice(None)] if types is None else [graph.edges.codes == EDGE_CODE[kind] for kind in types]:
        peer: Any = nx.Graph()
        peer.add_edges_from(zip(graph.edges.heads[rows].tolist(), graph.edges.tails[rows].tolist(), strict=True))
        peers.append(peer._adj)

    def walk(seeds: list[int]) -> set[int]:
        seen = set(seeds)
        edge = seen.copy()
        for _ in range(2):
            fresh: set[int] = set()
            for node in edge:
                for near in peers:
                    if node in near:
                        fresh.update(near[node])
            edge = fresh - seen
            seen |= edge
        return seen

    return walk


def _networkx(graph: GraphView) -> Any:
    """The same graph in NetworkX; a symmetric edge in both directions, so that its directed search may take it."""
    peer: Any = nx.MultiDiGraph()
    for node in graph.nodes.named():
        peer.add_node(node.number, name=node.name, type=node.type)
    alike = {code for code, kind in enumerate(EDGE_TYPES) if kind in SYMMETRIC}
    edges = graph.edges
    for a, b, code in zip(edges.heads.tolist(), edges.tails.tolist(), edges.codes.tolist(), strict=True):
        peer.add_edge(a, b, type=EDGE_TYPES[code])
        if code in alike:
            peer.add_edge(b, a, type=EDGE_TYPES[code])
    return peer


def _simulate() -> Iterator[NodeRows | EdgeRows]:
    """Nodes of 11 types and edges of 24 types; a few nodes have thousands of edges, as in Hetionet."""
    chance = np.random.default_rng(SEED)
    nodes = NodeRows()
    for number, kind in enumerate(chance.integers(0, 11, NODES).tolist()):
        nodes.add(f"Node::{number}", NODE_TYPES[kind], f"Simulated node {number}")
    yield nodes
    share = 1 / np.arange(1, NODES + 1) ** 0.6
    names = np.array(nodes.ids, dtype=object)[chance.permutation(NODES)]
    ends = [names[chance.choice(NODES, EDGES, p=share / share.sum())] for _ in range(2)]
    kinds = [kind for kind in EDGE_TYPES if kind not in SYMMETRIC][:21]
    kinds += [EdgeType.INTERACTS_WITH, EdgeType.RESEMBLES, EdgeType.ASSOCIATED_WITH]
    chosen = chance.integers(0, len(kinds), EDGES).tolist()
    for first in range(0, EDGES, 50_000):
        part = slice(first, first + 50_000)
        types = [kinds[code] for code in chosen[part]]
        relations = [f"r{code}" for code in chosen[part]]
        yield EdgeRows(ends[0][part].tolist(), types, ends[1][part].tolist(), relations, [None] * len(types))


def hetionet_folder() -> Path | None:
    """Return where the sample of Hetionet is, None when it is not at hand."""
    given = os.environ.get("BIODESK_BENCH_DATA", "")
    root = Path(given).expanduser() if given else ROOT.parent / "shared" / "data"
    folder = root / "hetionet_train"
    return folder if (folder / "edges.sif.gz").is_file() else None


def _read_hetionet(folder: Path) -> Iterator[NodeRows | EdgeRows]:
    nodes, edges = NodeRows(), EdgeRows()
    kinds = {"Gene": NodeType.GENE, "Disease": NodeType.DISEASE, "Compound": NodeType.DRUG, "Pathway": NodeType.PATHWAY}
    for line in _lines(folder / "nodes.tsv.gz"):
        node_id, name, kind = line.split("\t")
        nodes.add(node_id, kinds.get(kind, NodeType.GO_TERM), name)
    for line in _lines(folder / "edges.sif.gz"):
        source, kind, tail = line.split("\t")
        edges.add(source, EdgeType(METAEDGES.get(kind, "causes")), tail, kind)
    yield nodes
    yield edges


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()[1:]


def _child(here: Path, name: str) -> dict[str, float]:
    """Open the graph in a new process; return the seconds it took and how much memory it came to."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    told = subprocess.run(
        [sys.executable, __file__, "--child", str(here), name],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return json.loads(told.stdout.splitlines()[-1])


def _open_and_tell(here: Path, name: str) -> None:
    database = Database(here / f"{name}.duckdb")
    store = DuckGraphStore(database)
    before, began = _memory(), time.perf_counter()
    graph = open_graph(store, here / name)
    seconds = time.perf_counter() - began
    graph.reach([0], 2)
    print(json.dumps({"seconds": seconds, "mb": _memory() - before}))
    database.close()


def _memory() -> float:
    return psutil.Process().memory_info().rss / 1e6


def _mistyped(name: str) -> str:
    return name[:2] + name[3:2:-1] + name[4:] if len(name) > 4 else name


def _times(call: Callable[[Any], Any], questions: list[Any]) -> list[float]:
    """Seconds for each question: the best of three, so that what else the machine does counts little."""
    call(questions[0])
    found = []
    for question in questions:
        best = float("inf")
        for _ in range(3):
            began = time.perf_counter()
            call(question)
            best = min(best, time.perf_counter() - began)
        found.append(best)
    return found


def _us(seconds: list[float]) -> list[float]:
    return [value * 1e6 for value in seconds]


def _ms(seconds: list[float]) -> list[float]:
    return [value * 1e3 for value in seconds]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        _open_and_tell(Path(sys.argv[2]), sys.argv[3])
    else:
        main()
