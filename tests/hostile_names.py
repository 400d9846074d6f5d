"""A workspace in which everything that can have a name has one that wants to do something."""

from __future__ import annotations

import json
from pathlib import Path

ELSEWHERE = "elsewhere.example"
"""No page and no file may ask this host for anything."""
SCRIPT = '<img src=x onerror="window.__pwned=1">'
NAMES = {
    "html": SCRIPT,
    "image": f"![x](http://{ELSEWHERE}/i.png)",
    "link": f"[a](http://{ELSEWHERE}/a) www.{ELSEWHERE}",
    "directive": ":red[b] :material/home: :smile:",
    "formula": "$x^2$ 'q' \"r\" `c` **d** {b}",
    "table": "# h | a | b | -> 1",
}
MARK = NAMES["html"] + NAMES["image"]
"""The two that would be seen in the list of requests, in one name."""


def fill(workspace: Path, folder: Path) -> str:
    """Fill a workspace with hostile names and return the id of its finished run."""
    from engine.api import open_engine
    from engine.domain.plan import TaskNode

    value, group = f"$v$ {NAMES['directive']}", f"g {NAMES['html']}"
    first, second = f"one {NAMES['image']}", f"two {NAMES['formula']}"
    data = folder / "![x](javascript:1) $d$ <b>.csv"
    header = ",".join('"' + name.replace('"', '""') + '"' for name in ("id", group, value, "image"))
    rows = [(k, (first, second)[k % 2].replace('"', '""'), 10 + k % 7 + 3 * (k % 2)) for k in range(24)]
    named = MARK.replace('"', '""')
    data.write_text(header + "\n" + "".join(f'"s{k} {named}","{level}",{n},{n * n + k}\n' for k, level, n in rows))
    nodes, edges = folder / "nodes.tsv", folder / "edges.tsv"
    nodes.write_text(
        f"id\ttype\tname\taliases\na\tgene\tAAA1 {MARK}\t{NAMES['link']}\nb\tdrug\tjavascript:window.__pwned=1//\t\n"
        + "".join(f"n{k}\tdisease\tnear {name}\t\n" for k, name in enumerate(NAMES.values()))
    )
    edges.write_text("source\ttype\ttarget\nb\ttargets\ta\n" + "".join(f"a\tassociates\tn{k}\n" for k in range(6)))
    memory, tools = folder / "memory.jsonl", folder / f"{NAMES['directive'].replace('/', ' ')}.jsonl"
    episode = {
        "kind": "episode", "id": "ep1", "task": f"Docking {MARK}", "tools": [NAMES["link"]], "user": NAMES["html"],
        "domains": ["structural_biology"], "entities": [NAMES["formula"]], "result_summary": f"Found {MARK}",
        "success": True, "quality": 0.9, "lessons": f"Mind {NAMES['table']}", "at": "2025-05-09T15:21:11Z",
    }  # fmt: skip
    memory.write_text(json.dumps(episode))
    tools.write_text(json.dumps({"name": f"tool {MARK}", "description": f"Docking of ligands {MARK}"}) + "\n")
    with open_engine(workspace=workspace, user=NAMES["image"], warm_workers=False) as engine:
        engine.knowledge.import_files("tables", [nodes, edges], name=f"source {MARK}")
        engine.catalogue.import_catalogue("jsonl", tools)
        engine.memory.import_file(memory)
        engine.memory.state(f"Subject {MARK}", "inhibits", NAMES["table"], NAMES["link"], 0.9)
        question = f"Compare {value} between {group}, {NAMES['link']} {NAMES['table']}"
        run_id = engine.ask(question, [data], analysis="compare_groups")
        engine.wait(run_id, 60)
        view = engine.view(run_id)
        assert view.plan is not None, view.record.error
        params = {"value": value, "group": group, "treated": second, "control": first}
        steps = [
            node.model_copy(update={"name": f"Step {MARK}", "reasons": [NAMES["link"]], "params": node.params | params})
            for node in view.plan.nodes
            if node.tool == "compare_groups"
        ]
        table = next(iter(steps[0].inputs.values()))
        points = {"x": value, "y": "image", "color_by": group}
        steps.append(
            TaskNode(id="drawn", name=f"Drawn {MARK}", tool="scatter_plot", inputs={"table": table}, params=points)
        )
        engine.edit_plan(run_id, view.plan.model_copy(update={"nodes": steps}))
        engine.approve(run_id)
        engine.wait(run_id, 120)
        assert engine.record(run_id).status == "succeeded", engine.record(run_id)
    return run_id
