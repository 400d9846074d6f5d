"""Which file an input of a step leads back to."""

from __future__ import annotations

from engine.data.catalogue import KINDS
from engine.domain.brief import BriefPart
from engine.domain.plan import DATA_PREFIX, TaskDag, TaskNode
from engine.planning.tables.sheets import Data, Sheet
from engine.toolbox.registry import ToolRegistry


def file_of(plan: TaskDag, node: TaskNode, port: str, registry: ToolRegistry, data: Data) -> Sheet | None:
    """Return the file that an input of a step comes from, through steps that hand data on."""
    ref = node.inputs.get(port, "")
    for _ in plan.nodes:
        if ref.startswith(DATA_PREFIX) or not ref:
            break
        step = plan.node(ref.partition(".")[0])
        ref = next(iter(_handed(step, ref, registry)), "") if step else ""
    name = ref.removeprefix(DATA_PREFIX)
    dataset = plan.dataset(name)  # one file can be two datasets of a plan: as a table, and of survival
    path = dataset.path if dataset else ""
    same = [sheet for sheet in data.sheets if sheet.name == name or (path and sheet.profile.path == path)]
    return same[0] if same else None


def _handed(step: TaskNode, ref: str, registry: ToolRegistry) -> list[str]:
    """Return the inputs of a step that are of the type of its output `ref`: what it hands on, the first one first."""
    spec = registry.get(step.tool)
    port = spec.output(ref.partition(".")[2])
    own = [p for p in spec.inputs if port and p.name in step.inputs]
    same = [p for p in own if port and p.type == port.type]
    # A table is handed on as the list of samples that it is.
    rows = [p for p in own if port and KINDS[port.type].records and KINDS[p.type].records]
    return [step.inputs[p.name] for p in same or rows]


def cells_of(plan: TaskDag, node: TaskNode, registry: ToolRegistry, data: Data) -> list[BriefPart]:
    """Return how many cells the file of a step holds; steps before may leave some out."""
    sheets = (file_of(plan, node, port.name, registry, data) for port in registry.get(node.tool).inputs)
    rows = next((sheet.profile.rows_text for sheet in sheets if sheet and sheet.profile.format == "h5ad"), "")
    return [BriefPart(label="Cells", words=f"{rows} in the file")] if rows else []
