"""A revised plan beside the one that ran: what succeeded keeps its id and so its result, all else runs.

Results are stored under the id of their step. A step of the revised plan has the id of an earlier one only where it
would compute the same: same tool, same parameters, same inputs, all the way up.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping

from engine.domain.encoding.hashing import sha256_value
from engine.domain.plan import DATA_PREFIX, Dataset, TaskDag, TaskNode


def beside(ran: TaskDag, revised: TaskDag, done: Collection[str]) -> TaskDag:
    """Return the revised plan with ids that fit the results of the plan that ran.

    Answers of the plan that ran that are to be kept, with all that they were computed from, stay also where the revised
    plan leaves them out: where it is made because of what failed, what succeeded is not its business.

    Args:
        ran: the plan that ran.
        revised: the plan made anew.
        done: ids of steps of `ran` whose answers are kept.

    """
    revised = _with_names_of(ran, revised)
    known = dict[str, list[str]]()
    for node_id, same in _sames(ran).items():
        known.setdefault(same, []).append(node_id)
    taken = {node.id for node in ran.nodes}
    fresh = (name for number in itertools.count(1) if (name := f"n{number}") not in taken)
    ids = {node_id: known[same].pop(0) if known.get(same) else next(fresh) for node_id, same in _sames(revised).items()}
    nodes = [_named(node, ids) for node in revised.nodes]
    here = {node.id for node in nodes}
    kept = [node for node in ran.nodes if node.id in _answers(ran, done) - here]
    questions = [q.model_copy(update={"node": ids.get(q.node, q.node), "also": [ids.get(one, one) for one in q.also]})
                 for q in revised.open_questions]  # fmt: skip
    # What the reader warns of a step of its own names it by the id that it had there.
    warnings = [re.sub(r"^Step (\w+)", lambda m: f"Step {ids.get(m[1], m[1])}", text) for text in revised.warnings]
    return revised.model_copy(
        update={
            "nodes": [*kept, *nodes],
            "warnings": warnings,
            "datasets": list({one.name: one for one in (*(ran.datasets if kept else ()), *revised.datasets)}.values()),
            "analysis": list({a.id: a for a in (*(ran.analysis if kept else ()), *revised.analysis)}.values()),
            "open_questions": questions,
            "version": ran.version + 1,
            "base": 0,
        }
    )


def new_steps(ran: TaskDag, revised: TaskDag) -> list[TaskNode]:
    """Return the steps of a plan from `beside` that the plan that ran has not."""
    return [node for node in revised.nodes if ran.node(node.id) is None]


def _answers(plan: TaskDag, done: Collection[str]) -> set[str]:
    """Return the steps that succeeded and prepare no other, with all that they were computed from."""
    needed = {up for node in plan.nodes for up in node.upstream()}
    frontier = {node.id for node in plan.nodes if node.id in done and node.id not in needed}
    found = set[str]()
    while frontier:
        found |= frontier
        frontier = {up for node in plan.nodes if node.id in frontier for up in node.upstream()} - found
    return found


def _with_names_of(ran: TaskDag, revised: TaskDag) -> TaskDag:
    """Return a plan in which a file read as in the plan that ran has its name there, and one read otherwise another."""
    names, taken = dict[str, str](), {dataset.name for dataset in ran.datasets}
    for dataset in revised.datasets:
        alike = (old.name for old in ran.datasets if _read_as(old) == _read_as(dataset))
        numbered = (f"{dataset.name}#{number}" for number in itertools.count(2))
        names[dataset.name] = next(alike, "") or next(
            name for name in itertools.chain([dataset.name], numbered) if name not in taken
        )
        taken.add(names[dataset.name])

    def renamed(ref: str) -> str:
        name = ref.removeprefix(DATA_PREFIX)
        return DATA_PREFIX + names.get(name, name) if ref.startswith(DATA_PREFIX) else ref

    nodes = [
        node.model_copy(update={"inputs": {port: renamed(ref) for port, ref in node.inputs.items()}})
        for node in revised.nodes
    ]
    datasets = [one.model_copy(update={"name": names[one.name]}) for one in revised.datasets]
    return revised.model_copy(update={"nodes": nodes, "datasets": datasets})


def _read_as(dataset: Dataset) -> tuple[object, ...]:
    return dataset.sha256, dataset.type.value, dataset.read


def _sames(plan: TaskDag) -> dict[str, str]:
    """Return step -> a hash of what it computes, in the order they run: ids of steps play no part in it."""
    found: dict[str, str] = {}
    files = {one.name: [one.name, *_read_as(one)] for one in plan.datasets}

    def source(ref: str) -> object:
        if ref.startswith(DATA_PREFIX):
            return files.get(ref.removeprefix(DATA_PREFIX), ref)
        step, _, output = ref.partition(".")
        return [found.get(step, step), output]

    for node in plan.order():
        inputs = {name: source(ref) for name, ref in node.inputs.items()}
        found[node.id] = sha256_value([node.tool, node.params, inputs, [found.get(up, up) for up in node.depends_on]])
    return found


def _named(node: TaskNode, ids: Mapping[str, str]) -> TaskNode:
    def renamed(ref: str) -> str:
        step, dot, output = ref.partition(".")
        return ref if ref.startswith(DATA_PREFIX) else ids.get(step, step) + dot + output

    return node.model_copy(
        update={
            "id": ids[node.id],
            "inputs": {name: renamed(ref) for name, ref in node.inputs.items()},
            "depends_on": [ids.get(step, step) for step in node.depends_on],
        }
    )
