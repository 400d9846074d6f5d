"""What a finished run teaches the graph, and what it had taught.

Only what the run itself states: which tools it chained, which data they read and wrote, and which genes,
pathways or cell types its significant findings are about. Everything carries the run's id as its source, so
that `GraphStore.remove_source(run id)` takes it back, and the same run stored again (after a resume) replaces
itself. A gene the graph does not have is added when the finding gives its human Ensembl id; any other name the
graph does not know is passed over, because it could mean anything.

Confidences: 1 for what is a record (a tool read a file), 0.8 for tools used together, 0.6 for what one
experiment found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.domain.datatypes import DataType
from engine.domain.encoding.hashing import sha256_text
from engine.domain.findings import Finding
from engine.domain.knowledge import Edge, EdgeRows, EdgeType, GraphSource, Node, NodeRows, NodeType
from engine.domain.memory import Episode
from engine.domain.plan import DATA_PREFIX, Dataset, TaskDag, TaskNode
from engine.domain.results import DONE, Artifact, NodeResult
from engine.knowledge.graph.view import GraphView
from engine.knowledge.importers.reading.ids import is_ensembl_gene, without_version

Resolve = Callable[[str, NodeType], str | None]
"""Name and expected type -> id of the node it means, or None. `engine.knowledge.lookup.EntityLookup` is one."""

RECORDED = 1.0
USED_TOGETHER = 0.8
FOUND_ONCE = 0.6
SIGNIFICANT = 0.05
"""A finding teaches something when its adjusted p-value (or its only p-value) is below this."""

_MOST_FINDINGS = 200
_ENTITY_COLUMNS: dict[str, tuple[NodeType, ...]] = {
    "feature": (NodeType.GENE,),
    "gene": (NodeType.GENE,),
    "symbol": (NodeType.GENE,),
    "term_id": (NodeType.PATHWAY, NodeType.GO_TERM),
    "term_name": (NodeType.PATHWAY, NodeType.GO_TERM),
    "cell_type": (NodeType.CELL_TYPE,),
}
"""Columns of a finding's row that name an entity, and what it may be."""
_BESIDE = frozenset({DataType.SAMPLE_SHEET, DataType.GENE_SET_LIBRARY, DataType.GENE_LIST})
"""Data that say how to look, not what was measured: findings are not about them."""
_SHOWN = frozenset({"figure", "svg", "text", "log", ""})
"""Artifacts that are looked at, not worked on."""


@dataclass(slots=True)
class Learned:
    """What a run states, ready for `GraphStore.add(source, [nodes, edges])`."""

    source: GraphSource
    nodes: NodeRows = field(default_factory=NodeRows)
    edges: EdgeRows = field(default_factory=EdgeRows)
    passed_over: list[str] = field(default_factory=list)
    """Names in significant findings that no node has."""


@dataclass(frozen=True, slots=True)
class Taught:
    """What a source has in the graph now: nodes it was the first to name, and the edges it states."""

    nodes: list[Node]
    edges: list[Edge]


def learn_run(
    episode: Episode,
    plan: TaskDag,
    results: Mapping[str, NodeResult],
    *,
    resolve: Resolve | None = None,
    titles: Mapping[str, str] | None = None,
    asked: Sequence[str] = (),
) -> Learned:
    """Return what a finished run teaches; empty when no step succeeded.

    Args:
        episode: the run as it is remembered; `run_id` names the source.
        plan: the plan version that ran.
        results: step id -> its newest result.
        resolve: finds the node a name means; without it findings teach nothing.
        titles: tool name -> its title for people.
        asked: ids of the nodes that the question names.
    """
    run_id = episode.run_id or episode.id
    source = GraphSource(id=run_id, name=_name(run_id, episode.task), kind="run", at=episode.at, confidence=FOUND_ONCE)
    learned = Learned(source)
    done = {node.id: node for node in plan.nodes if node.id in results and results[node.id].status in DONE}
    known = titles or {}
    for tool in dict.fromkeys(node.tool for node in done.values()):
        learned.nodes.add(_tool(tool), NodeType.TOOL, known.get(tool) or tool, [tool] if known.get(tool) else [])
    datasets = {dataset.name: dataset for dataset in plan.datasets}
    ids = {name: _add_dataset(learned, run_id, dataset) for name, dataset in datasets.items()}
    for node in done.values():
        _learn_inputs(learned, node, done, ids)
        for artifact in results[node.id].artifacts:
            _learn_artifact(learned, node, artifact)
    _learn_chains(learned, done)
    if resolve is not None:
        for node in done.values():
            about = [ids[name] for name in _data_of(node, plan, datasets)]
            for finding in results[node.id].findings[:_MOST_FINDINGS]:
                _learn_finding(learned, finding, about, resolve)
    for name, dataset in ids.items():
        if datasets[name].type not in _BESIDE:
            for entity in asked:
                learned.edges.add(dataset, EdgeType.RELATED_TO, entity, "was asked about", FOUND_ONCE)
    learned.edges = _each_once(learned.edges)
    edges = learned.edges
    columns = [learned.nodes.ids, learned.nodes.names, edges.sources, edges.types, edges.targets, edges.relations]
    # The content stands for the files of an import: the same run stored twice changes nothing.
    content = sha256_text(json.dumps(columns))
    learned.source = learned.source.model_copy(update={"files": {"run": content}})
    return learned


def taught(view: GraphView, source_id: str) -> Taught:
    """Return what a run, or any other source, has put into the graph, for review.

    Raises:
        NotFoundError: when the graph has no such source.
    """
    numbers, rows = view.of_origin(source_id)
    return Taught([view.nodes.node(int(number)) for number in numbers], view.edges.full(rows))


def _name(run_id: str, task: str) -> str:
    task = " ".join(task.split())
    short = task if len(task) <= 80 else task[:77] + "..."
    return f"Run {run_id}: {short}" if short else f"Run {run_id}"


def _tool(name: str) -> str:
    return f"tool:{name}"


def _add_dataset(learned: Learned, run_id: str, dataset: Dataset) -> str:
    """Add a file, named by its content so that runs on the same file meet in one node."""
    node_id = f"dataset:{dataset.sha256[:16]}" if dataset.sha256 else f"dataset:{run_id}:{dataset.name}"
    file = dataset.path.replace("\\", "/").rpartition("/")[2]
    xrefs = [f"SHA256:{dataset.sha256}"] if dataset.sha256 else []
    learned.nodes.add(node_id, NodeType.DATASET, dataset.name or file, [file] if file else [], xrefs)
    return node_id


def _learn_inputs(learned: Learned, node: TaskNode, done: Mapping[str, TaskNode], ids: Mapping[str, str]) -> None:
    """What a step read: a file of the user's, or what another step made."""
    for name, ref in node.inputs.items():
        if ref.startswith(DATA_PREFIX):
            dataset = ids.get(ref.removeprefix(DATA_PREFIX))
            if dataset is not None:
                learned.edges.add(_tool(node.tool), EdgeType.USES_DATA, dataset, name, RECORDED)
            continue
        maker, _, output = ref.partition(".")
        if maker in done and done[maker].tool != node.tool:
            made_by = _tool(done[maker].tool)
            learned.edges.add(made_by, EdgeType.PRODUCES_FOR, _tool(node.tool), f"{output} as {name}", RECORDED)


def _learn_artifact(learned: Learned, node: TaskNode, artifact: Artifact) -> None:
    """What a step made that others can work on."""
    if not artifact.sha256 or artifact.type in _SHOWN or artifact.output == "log":
        return
    node_id = f"dataset:{artifact.sha256[:16]}"
    learned.nodes.add(node_id, NodeType.DATASET, artifact.name, [], [f"SHA256:{artifact.sha256}"])
    learned.edges.add(_tool(node.tool), EdgeType.PRODUCES_DATA, node_id, artifact.output, RECORDED)


def _learn_chains(learned: Learned, done: Mapping[str, TaskNode]) -> None:
    """Tools that worked on one another's results, directly or over steps in between."""
    before: dict[str, set[str]] = {}

    def upstream(node_id: str) -> set[str]:
        if node_id not in before:
            before[node_id] = set()  # a plan has no circles; a damaged one must not hang here
            direct = [up for up in done[node_id].upstream() if up in done]
            before[node_id] = set(direct).union(*(upstream(up) for up in direct))
        return before[node_id]

    for node_id, node in done.items():
        for earlier in sorted({done[up].tool for up in upstream(node_id)} - {node.tool}):
            learned.edges.add(_tool(earlier), EdgeType.USED_WITH, _tool(node.tool), "", USED_TOGETHER)


def _data_of(node: TaskNode, plan: TaskDag, datasets: Mapping[str, Dataset]) -> list[str]:
    """Return the names of the measured data a step's results rest on."""
    names: dict[str, None] = {}
    waiting, seen = [node], {node.id}
    while waiting:
        step = waiting.pop()
        for ref in step.inputs.values():
            if ref.startswith(DATA_PREFIX):
                names.setdefault(ref.removeprefix(DATA_PREFIX))
                continue
            maker = plan.node(ref.partition(".")[0])
            if maker is not None and maker.id not in seen:
                seen.add(maker.id)
                waiting.append(maker)
    known = [name for name in names if name in datasets]
    return [name for name in known if datasets[name].type not in _BESIDE] or known


def _learn_finding(learned: Learned, finding: Finding, about: list[str], resolve: Resolve) -> None:
    """An entity that a significant finding is about is associated with the data."""
    if not _is_significant(finding):
        return
    for column, value in finding.row.items():
        if not isinstance(value, str) or not value.strip():
            continue
        kinds = _ENTITY_COLUMNS.get(column, ())
        entity = next((found for kind in kinds if (found := resolve(value, kind)) is not None), None)
        if entity is None and NodeType.GENE in kinds:
            entity = _gene(learned, value.strip(), finding, resolve)
        if entity is not None:
            for dataset in about:
                learned.edges.add(entity, EdgeType.ASSOCIATED_WITH, dataset, _in_short(finding), FOUND_ONCE)
        elif kinds and value not in learned.passed_over:
            learned.passed_over.append(value)


def _gene(learned: Learned, text: str, finding: Finding, resolve: Resolve) -> str | None:
    """Return the node of a human Ensembl id, added when the graph has none; None for any other text."""
    if not is_ensembl_gene(text) or not text.startswith("ENSG"):
        return None
    bare = without_version(text)
    xref = f"ENSEMBL:{bare}"
    # Tools that know the symbol write `SYMBOL (id)`.
    named = re.match(rf"(\S+) \({re.escape(text)}\)", finding.text)
    symbol = named.group(1) if named else ""
    found = resolve(xref, NodeType.GENE) or (resolve(symbol, NodeType.GENE) if symbol else None)
    if found is None:
        found = xref
        learned.nodes.add(xref, NodeType.GENE, symbol or bare, [], [xref])
    return found


def _is_significant(finding: Finding) -> bool:
    values = {value.name: value.value for value in finding.values}
    judged = values.get("p_adj", values.get("p_value"))
    return isinstance(judged, int | float) and not isinstance(judged, bool) and judged < SIGNIFICANT


def _in_short(finding: Finding) -> str:
    """The finding's effect as the relation's name: `higher (log2 fold change +2.10)`."""
    values = {value.name: value.value for value in finding.values}
    change, fold = values.get("log2_fold_change"), values.get("fold_enrichment")
    if isinstance(change, int | float):
        return f"{'higher' if change > 0 else 'lower'} (log2 fold change {change:+.2f})"
    if isinstance(fold, int | float):
        return f"enriched ({fold:.1f} times the number expected)"
    return f"finding {finding.id}"


def _each_once(edges: EdgeRows) -> EdgeRows:
    """Two steps with the same tool state the same edge; once is enough."""
    once = EdgeRows()
    rows = zip(edges.sources, edges.types, edges.targets, edges.relations, edges.confidences, strict=True)
    for row in dict.fromkeys(rows):
        once.add(*row)
    return once
