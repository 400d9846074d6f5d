"""Draws plans and lineages as graphs whose nodes can be clicked, each beside a table that says the same."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.escape import drawn, plain
from pages.parts.words import state

if TYPE_CHECKING:
    from engine.api import TaskDag

LIGHT = {"green": "#2f855a", "blue": "#2b6cb0", "orange": "#c05621", "red": "#c53030", "gray": "#718096"}
DARK = {"green": "#68d391", "blue": "#63b3ed", "orange": "#f6ad55", "red": "#fc8181", "gray": "#a0aec0"}
DRAWN_WIDTH = 900
"""In pixels; the drawing is stretched to the page's width."""
ROW_HEIGHT, UPRIGHT_ROW = 96, 58
MOST_COLUMNS = 8
TEXT, PAGE = {"light": "#1b2528", "dark": "#e6ecee"}, {"light": "#ffffff", "dark": "#12191b"}
"""As in `.streamlit/config.toml`: charts cannot ask the page for its colours."""


_BY_WIDTH = """<style>
@media (max-width: 640px) { [class*="st-key-wide_"] { display: none; } }
@media (min-width: 641px) { [class*="st-key-narrow_"] { display: none; } }
</style>"""
"""The server does not know how wide a window is, so both forms are there and the browser shows the one that fits."""


def wide_only(key: str) -> Any:
    """Return a container that only windows wide enough for a drawing show."""
    st.html(_BY_WIDTH)
    return st.container(key=f"wide_{key}")


def narrow_only(key: str) -> Any:
    """Return a container that only the windows show in which `wide_only` is left out."""
    return st.container(key=f"narrow_{key}")


def levels_of(plan: TaskDag) -> dict[str, int]:
    """Return how many steps stand before each step on its longest way; a circle ends at level 0."""
    levels: dict[str, int] = {}

    def level(node_id: str, above: tuple[str, ...] = ()) -> int:
        node = plan.node(node_id)
        if node is None or node_id in above:
            return -1
        if node_id not in levels:
            levels[node_id] = 1 + max((level(up, (*above, node_id)) for up in node.upstream()), default=-1)
        return levels[node_id]

    for node in plan.nodes:
        level(node.id)
    return levels


def task_graph(plan: TaskDag, statuses: dict[str, str], *, key: str, selected: str = "") -> str:
    """Draw a plan with each step's state and return the id of the step that was clicked, or ""."""
    columns: dict[int, list[dict[str, Any]]] = {0: [_dataset_node(d) for d in plan.datasets]}
    for node_id, level in levels_of(plan).items():
        node = plan.node(node_id)
        assert node is not None
        columns.setdefault(level + 1, []).append(_step_node(node, statuses.get(node_id, "pending"), selected))
    links = [
        {"source": ref if ref.startswith("data:") else ref.split(".", 1)[0], "target": node.id}
        for node in plan.nodes
        for ref in [*node.inputs.values(), *node.depends_on]
    ]
    alt = f"Graph of {len(plan.nodes)} steps and {len(plan.datasets)} files; the table below says the same"
    return layered_graph(list(columns.values()), links, key=key, alt=alt)


def layered_graph(columns: list[list[dict[str, Any]]], links: list[dict[str, str]], *, key: str, alt: str) -> str:
    """Draw nodes in layers and return the id of the clicked one, or "".

    A few layers run from left to right; more than fit beside each other run from top to bottom.
    """
    deepest, widest = len(columns), max((len(column) for column in columns), default=1)
    upright = deepest > MOST_COLUMNS
    beside, rows = (widest, deepest) if upright else (deepest, widest)
    room = DRAWN_WIDTH / max(1, beside)
    nodes = [
        _placed(node, depth, (place + 0.5) / len(column), room=room, upright=upright, widest=widest)
        for depth, column in enumerate(columns)
        for place, node in enumerate(column)
    ]
    height = rows * (UPRIGHT_ROW if upright else ROW_HEIGHT)
    with narrow_only(key):
        st.table(_as_rows(columns, links), border="horizontal", hide_index=True)
    return placed_graph(nodes, links, height=height, key=key, alt=alt)


def placed_graph(
    nodes: list[dict[str, Any]], links: list[dict[str, str]], *, height: int, key: str, alt: str, arrows: bool = True
) -> str:
    """Draw nodes where they are placed, in windows wide enough, and return the id of the clicked one, or ""."""
    known = {node["id"] for node in nodes}
    shown = list({(link["source"], link["target"]): link for link in links}.values())
    spec = {
        "tooltip": {},  # with a template of ours, braces and dollars in a name would be commands
        "animation": False,
        "series": [
            {
                "type": "graph",
                "layout": "none",
                "left": 0,
                "right": 0,
                "top": 0,
                "bottom": 0,
                "selectedMode": "single",
                "edgeSymbol": ["none", "arrow" if arrows else "none"],
                "edgeSymbolSize": 7,
                "lineStyle": {"width": 1.5, "curveness": 0, "opacity": 0.6},
                "emphasis": {"focus": "none"},
                "select": {"itemStyle": {"borderWidth": 3, "borderColor": TEXT[_theme()]}},
                "data": [*nodes, *_corners(height)],
                "links": [link for link in shown if link["source"] in known and link["target"] in known],
            }
        ],
    }
    with wide_only(key):
        event = st.echarts_chart(spec, height=height, key=key, on_select="rerun", renderer="svg", alt=alt)
    for group in event.get("selection", {}).get("selected", []):
        for index in group.get("data_indices", []):
            if group.get("data_type", "node") == "node" and index < len(nodes):
                return str(nodes[index]["id"])
    return ""


def _as_rows(columns: list[list[dict[str, Any]]], links: list[dict[str, str]]) -> list[dict[str, str]]:
    names = {node["id"]: node["name"] for column in columns for node in column}
    before: dict[str, list[str]] = {}
    for link in links:
        before.setdefault(link["target"], []).append(names.get(link["source"], ""))
    return [
        {"Drawn": plain(name), "Comes after": plain(", ".join(filter(None, dict.fromkeys(before.get(node_id, [])))))}
        for node_id, name in names.items()
    ]


def _corners(height: float) -> list[dict[str, Any]]:
    """Return two invisible nodes that fix the drawing's extent; the chart would stretch whatever it finds."""
    unseen = {"symbolSize": 0.01, "itemStyle": {"opacity": 0}, "label": {"show": False}, "tooltip": {"show": False}}
    return [
        {"id": "_corner_1", "name": " ", "x": 0, "y": 0, **unseen},
        {"id": "_corner_2", "name": "  ", "x": DRAWN_WIDTH, "y": height, **unseen},
    ]


def _placed(
    node: dict[str, Any], depth: int, across: float, *, room: float, upright: bool, widest: int
) -> dict[str, Any]:
    # Room for the label below a mark: a mark stands in the upper part of its cell.
    x = across * DRAWN_WIDTH if upright else (depth + 0.5) * room
    y = (depth + 0.35) * UPRIGHT_ROW if upright else across * widest * ROW_HEIGHT - 0.28 * ROW_HEIGHT
    letters = max(8, int((room - 10) / 6.6))
    name, *below = node["label"]["formatter"].split("\n")
    lines = textwrap.wrap(name, letters, max_lines=1 if upright else 2, placeholder="...") or [""]
    return {**node, "x": x, "y": y, "label": {**node["label"], "formatter": "\n".join([*lines, *below])}}


def graph_node(
    node_id: str, name: str, label: str, color: str, *, shape: str = "circle", selected: bool = False
) -> dict[str, Any]:
    """Return a node of a graph: a coloured mark with its label below; `name` is what hovering shows."""
    from engine.domain.encoding.escaping import visible

    style: dict[str, Any] = {"color": color}
    if selected:
        style |= {"borderWidth": 3, "borderColor": TEXT[_theme()]}
    return {
        "id": node_id,
        "name": visible(name),
        "symbol": shape,
        "symbolSize": 18 if shape == "circle" else 14,
        "itemStyle": style,
        "label": {
            "show": True,
            "position": "bottom",
            "distance": 6,
            "formatter": drawn(label),
            "color": TEXT[_theme()],
            "backgroundColor": PAGE[_theme()],
            "padding": [1, 3],
            "fontSize": 12,
            "lineHeight": 15,
        },
    }


def graph_color(name: str) -> str:
    """Return a colour of the palette that suits the theme in use."""
    return {"light": LIGHT, "dark": DARK}[_theme()][name]


def _theme() -> str:
    return "dark" if st.context.theme.type == "dark" else "light"


def _dataset_node(dataset: Any) -> dict[str, Any]:
    name = f"{dataset.name}: {dataset.type.value}"
    return graph_node(f"data:{dataset.name}", name, dataset.name, graph_color("gray"), shape="rect")


def _step_node(node: Any, status: str, selected: str) -> dict[str, Any]:
    shown = state(status)
    label = f"{node.name}\n{shown.label}"
    name = f"{node.id}: {node.name} ({shown.label})"
    return graph_node(node.id, name, label, graph_color(shown.color), selected=node.id == selected)
