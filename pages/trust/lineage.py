"""Where everything in a run came from: data, the step that read it, what the step made, each with its hash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.drawing import graph_color, graph_node, layered_graph, levels_of
from pages.parts.escape import plain
from pages.parts.words import counted, shortened, size, state
from pages.running.plan import ordered

if TYPE_CHECKING:
    from engine.api import RunView


def lineage_rows(view: RunView) -> list[dict[str, Any]]:
    """Return one row for each file read and each file made."""
    if view.plan is None:
        return []
    rows = [
        {
            "Kind": "data",
            "Name": d.name,
            "Made by": "",
            "Type": d.type.value,
            "Size": size(d.bytes),
            "SHA-256": d.sha256,
        }
        for d in view.plan.datasets
    ]
    for node in ordered(view.plan):
        result = view.results.get(node.id)
        for artifact in result.artifacts if result else []:
            rows.append(_file_row("result", artifact.name, node.name, artifact.type, artifact))
    return rows


def _file_row(kind: str, name: str, made_by: str, type_name: str, file: Any) -> dict[str, Any]:
    size_text = size(file.bytes)
    return {
        "Kind": kind,
        "Name": name,
        "Made by": made_by,
        "Type": type_name,
        "Size": size_text,
        "SHA-256": file.sha256,
    }


def draw_lineage(view: RunView) -> None:
    """Draw the lineage as a graph and as a table; a click on a thing shows its hash."""
    import pandas as pd

    assert view.plan is not None
    columns, links = lineage_graph(view)
    rows = lineage_rows(view)
    alt = f"Lineage of {counted(len(rows), 'file')}; the table below says the same"
    clicked = layered_graph(columns, links, key=f"lineage_{view.record.run_id}", alt=alt)
    st.caption(_explained(view, clicked) or "Click a box to see its hash.")
    with st.expander("The lineage as a table", icon=":material/table:", key="lineage_table"):
        st.dataframe(
            pd.DataFrame(rows),
            hide_index=True,
            height="content" if len(rows) <= 12 else 420,
            key="lineage_rows",
            alt="Files of the run with their hashes",
        )


def lineage_graph(view: RunView) -> tuple[list[list[dict[str, Any]]], list[dict[str, str]]]:
    """Return the layers of the lineage (data, step, results, step, ...) and the links between their nodes."""
    assert view.plan is not None
    gray, links = graph_color("gray"), []
    layers: dict[int, list[dict[str, Any]]] = {
        0: [
            graph_node(f"data:{d.name}", _named(d.name, d.sha256), d.name, gray, shape="rect")
            for d in view.plan.datasets
        ]
    }
    for node_id, level in levels_of(view.plan).items():
        node, result = view.plan.node(node_id), view.results.get(node_id)
        assert node is not None
        color = graph_color(state(result.status if result else "pending").color)
        code = f"code {result.code_sha256[:12]}" if result and result.code_sha256 else "not run"
        step = graph_node(node_id, f"{node.name}, {code}", node.name, color)
        layers.setdefault(2 * level + 1, []).append(step)
        for ref in node.inputs.values():
            source = ref if ref.startswith("data:") else f"made:{ref}"
            links.append({"source": source, "target": node_id})
        for artifact in result.artifacts if result else []:
            if artifact.type == "svg":  # the same as its figure
                continue
            made = f"made:{node_id}.{artifact.output}"
            label = artifact.output.replace("_", " ")
            shown = graph_node(made, _named(artifact.name, artifact.sha256), label, gray, shape="rect")
            layers.setdefault(2 * level + 2, []).append(shown)
            links.append({"source": node_id, "target": made})
    return [layers[key] for key in sorted(layers)], links


def _named(name: str, sha256: str) -> str:
    return f"{shortened(name, 60)}, SHA-256 {sha256[:12]}..."


def _explained(view: RunView, clicked: str) -> str:
    assert view.plan is not None
    if clicked.startswith("data:"):
        dataset = view.plan.dataset(clicked.removeprefix("data:"))
        return f"{plain(dataset.name)} SHA-256 `{dataset.sha256}`" if dataset else ""
    if clicked.startswith("made:"):
        node_id, _, output = clicked.removeprefix("made:").partition(".")
        result = view.results.get(node_id)
        artifact = next((a for a in result.artifacts if a.output == output), None) if result else None
        return f"{plain(artifact.name)} SHA-256 `{artifact.sha256}`" if artifact else ""
    result = view.results.get(clicked)
    if result is None:
        return ""
    return f"Step {plain(result.node)} ran tool {plain(result.tool)}, code SHA-256 `{result.code_sha256}`"
