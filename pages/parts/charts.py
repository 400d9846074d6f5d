"""Figures whose points have names, drawn so that they can be asked: hover says the numbers, a click shows the row.

Which figure that is, and from which table, its tool declares (`Points` in `engine.domain.toolspec`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from pages.parts.escape import plain
from pages.parts.tables import is_number, is_p, reading_order, row_values, save_button, show_figure, table_of
from pages.parts.words import p_text, size

if TYPE_CHECKING:
    import pandas as pd

    from engine.api import Engine, RunView

MOST_POINTS = 20_000
"""More points take seconds to draw; those far out are drawn and every so many of the rest."""
HINTS = 8
"""Columns shown under the pointer."""
HEIGHT = 400
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#8A949B"]
"""Of groups; told apart by the colour-blind too, on light and on dark."""
_VIEWS = ("Points", "Picture")


class Chart(NamedTuple):
    """A figure's points, ready to be drawn."""

    frame: pd.DataFrame
    label: str
    x: str
    y: str
    colour: str
    colours: dict[str, str]
    log: str
    left_out: int
    """Points that are not drawn."""
    picture_first: bool = False


def draw_figure(engine: Engine, view: RunView, artifact: Any, *, caption: str, key: str) -> None:
    """Draw a figure, with points that can be asked where its tool says what they are, and what saves it."""
    st.fragment(_figure)(engine, view, artifact, caption=caption, key=key)


def _figure(engine: Engine, view: RunView, artifact: Any, *, caption: str, key: str) -> None:
    chart = chart_of(engine, view, artifact)
    chosen = _VIEWS[0] if chart and not chart.picture_first else _VIEWS[1]
    if chart:
        chosen = st.segmented_control(
            "Shown as", _VIEWS, default=chosen, key=f"figure_view_{key}", label_visibility="collapsed", required=True
        )
    if chart and chosen == _VIEWS[0]:
        _points(engine, chart, caption=caption, key=key)
    else:
        show_figure(engine, artifact, caption=caption)
    with st.container(horizontal=True, gap="small", key=f"figure_files_{key}"):
        for one in (artifact, drawing_of(view, artifact)):
            if one is not None:
                kind = one.name.rpartition(".")[2].upper()
                label = f"{kind} ({size(one.bytes)})"
                save_button(engine.artifact(one.sha256), one.name, label=label, key=f"save_{key}_{one.name}")


def drawing_of(view: RunView, artifact: Any) -> Any:
    """Return the SVG of a figure, or None."""
    result = view.results.get(artifact.node)
    wanted = f"{artifact.output}.svg"
    return next((a for a in result.artifacts if a.output == wanted), None) if result else None


def chart_of(engine: Engine, view: RunView, artifact: Any) -> Chart | None:
    """Return the points of a figure, None where its tool names none or the table is not there."""
    result = view.results.get(artifact.node)
    port = engine.tool(result.tool).output(artifact.output) if result else None
    points = port.points if port else None
    if result is None or points is None:
        return None
    table = next((a for a in result.artifacts if a.output == points.table), None)
    if table is None:
        return None
    spec = engine.tool(result.tool)

    def value(name: str) -> str:
        param = spec.param(name)
        return str(result.params.get(name, param.default if param else "") or "")

    frame = table_of(str(engine.artifact(table.sha256)), rows=200_000)

    def column(said: str) -> str:
        names = [value(one[1:]) if one.startswith("=") else one for one in said.split("|")]
        return next((name for name in names if name in frame.columns), "")

    x, y = column(points.x), column(points.y)
    if not x or not y or not is_number(frame[x]) or not is_number(frame[y]):
        return None
    log = value(points.log) if spec.param(points.log) else points.log
    label = column(points.label) or str(frame.columns[0])
    known = frame[x].notna() & frame[y].notna()
    for name, axis in ((x, "x"), (y, "y")):
        if log in (axis, "both"):
            known &= frame[name] > 0
    frame = frame.loc[known].reset_index(drop=True)
    drawn = _thinned(frame, {name: log in (axis, "both") for name, axis in ((x, "x"), (y, "y"))})
    left_out = len(frame) - len(drawn)
    if not len(drawn):
        return None
    return Chart(drawn, label, x, y, column(points.colour), points.colours, log, left_out, points.picture_first)


def _thinned(frame: pd.DataFrame, axes: dict[str, bool]) -> pd.DataFrame:
    """Return at most MOST_POINTS rows: half are those farthest from the middle, the rest are spread over the others."""
    import numpy as np

    if len(frame) <= MOST_POINTS:
        return frame
    places = frame[list(axes)].astype(float)
    for name in (name for name, log in axes.items() if log):
        places[name] = np.log10(places[name])
    far = (((places - places.median()) / np.maximum(places.std(), 1e-300)) ** 2).sum(axis=1)
    order = far.sort_values(ascending=False, kind="stable").index
    inner = order[MOST_POINTS // 2 :]
    return frame.loc[[*order[: MOST_POINTS // 2], *inner[:: -(-2 * len(inner) // MOST_POINTS)]]].sort_index()


def _points(engine: Engine, chart: Chart, *, caption: str, key: str) -> None:
    event = st.vega_lite_chart(
        _drawn(chart),
        _spec(chart),
        height=HEIGHT,
        on_select="rerun",
        selection_mode="point",
        key=f"points_{key}",
        alt=f"{caption} The numbers are in the table below.",
    )
    more = f" {chart.left_out:,} points in the midst are left out." if chart.left_out else ""
    # The picture may show more than its points, which the caption was written for.
    here = (
        f"Here {_on_axis(chart.y)} against {_on_axis(chart.x)}: point at a mark for its numbers, click it for its row."
    )
    st.caption(plain(f"{caption} {here}{more}"))
    picked = event["selection"].get("point") or []
    rows = [int(one["row"]) for one in picked if isinstance(one, dict) and "row" in one]
    rows = [row for row in rows if row in chart.frame.index]
    if rows:
        _row(engine, chart, rows[0], key=key)


def _row(engine: Engine, chart: Chart, row: int, *, key: str) -> None:
    found = chart.frame.loc[row]
    name = str(found[chart.label])
    called = f"{chart.label} {name}" if is_number(chart.frame[chart.label]) else name
    with st.container(border=True, key=f"point_{key}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(called)}**", width="content")
            draw_entity_link(engine, name)
        values = row_values(chart.frame.loc[[row]], reading_order(chart.frame))
        rows = [{"Column": plain(column), "Value": plain(value)} for column, value in values]
        st.table(rows, border="horizontal", hide_index=True)


def draw_entity_link(engine: Engine, name: str) -> None:
    """Draw a link to the entity that has exactly this name in the knowledge graph, or nothing."""
    hits = engine.knowledge.search(name, top=3)
    hit = next((h for h in hits if name.casefold() in (h.node.name.casefold(), h.matched.casefold())), None)
    if hit is not None:
        kind = hit.node.type.value.replace("_", " ")
        st.page_link(
            "pages/knowledge_graph.py",
            label=plain(f"{hit.node.name} ({kind}) in the Knowledge Graph"),
            icon=":material/hub:",
            query_params={"entity": hit.node.id},
        )


def _drawn(chart: Chart) -> pd.DataFrame:
    """Return what is sent to the browser, under names of our own: a chart takes dots and brackets for commands."""
    import pandas as pd

    columns = {"row": chart.frame.index.to_numpy(), "x": chart.frame[chart.x], "y": chart.frame[chart.y]}
    if chart.colour:
        column = chart.frame[chart.colour]
        columns["c"] = column if _scaled(chart) else column.astype(str).where(column.notna(), "missing")
    for place, name in enumerate(_hinted(chart)):
        column = chart.frame[name]
        columns[f"h{place}"] = column if _plain_number(name, column) else _texts(name, column)
    drawn = pd.DataFrame(columns)
    if chart.colours:
        above = {level: place for place, level in enumerate(chart.colours)}
        drawn = drawn.iloc[drawn["c"].map(lambda level: above.get(level, -1)).argsort(kind="stable")]
    return drawn


def _plain_number(name: str, column: Any) -> bool:
    return is_number(column) and not is_p(name, column)


def _texts(name: str, column: Any) -> Any:
    from engine.domain.encoding.escaping import visible

    return column.map(lambda cell: "" if cell != cell else p_text(cell) if is_p(name, column) else visible(cell))


def _hinted(chart: Chart) -> list[str]:
    first = [name for name in (chart.label, chart.x, chart.y, chart.colour) if name]
    return list(dict.fromkeys([*first, *chart.frame.columns]))[:HINTS]


def _scaled(chart: Chart) -> bool:
    return is_number(chart.frame[chart.colour]) and chart.frame[chart.colour].nunique() > 8


def _spec(chart: Chart) -> dict[str, Any]:
    def axis(field: str, name: str) -> dict[str, Any]:
        log = chart.log in (field, "both")
        scale: dict[str, Any] = {"type": "log"} if log else {"zero": False}
        scale["padding"] = 12  # pixels, so that no mark is cut by the edge
        return {"field": field, "type": "quantitative", "title": _on_axis(name), "scale": scale}

    hints = []
    for place, name in enumerate(_hinted(chart)):
        hint: dict[str, Any] = {"field": f"h{place}", "title": _said(name), "type": "nominal"}
        if _plain_number(name, chart.frame[name]):
            hint |= {"type": "quantitative", "format": ".4~g"}
        hints.append(hint)
    encoding: dict[str, Any] = {"x": axis("x", chart.x), "y": axis("y", chart.y), "tooltip": hints}
    if chart.colour:
        colour: dict[str, Any] = {"field": "c", "type": "quantitative" if _scaled(chart) else "nominal"}
        legend = {"orient": "top", "symbolOpacity": 1, "labelLimit": 180, "columns": 4}
        encoding["color"] = {**colour, "title": _said(chart.colour), "legend": legend}
        if chart.colours:
            encoding["color"]["scale"] = {"domain": list(chart.colours), "range": list(chart.colours.values())}
        elif not _scaled(chart):
            encoding["color"]["scale"] = {"range": COLOURS}
            legend["symbolLimit"] = 20
    encoding["opacity"] = {"condition": {"param": "point", "value": 0.85}, "value": 0.25}
    few = len(chart.frame) <= 300
    return {
        "mark": {"type": "circle", "size": 70 if few else 26, "cursor": "pointer"},
        "params": [
            {"name": "point", "select": {"type": "point", "fields": ["row"], "toggle": False}},
            {"name": "zoom", "select": {"type": "interval", "zoom": "wheel![event.shiftKey]"}, "bind": "scales"},
        ],
        "encoding": encoding,
    }


def _on_axis(name: str) -> str:
    """Return what stands at an axis: `-log10 p adj` for a column of our own that holds it."""
    said = _said(name)
    return f"-log10 {said[12:].replace('_', ' ')}" if said.startswith("minus_log10_") else said


def _said(name: str) -> str:
    """Return a column's name for a hint, where `image` and `title` alone would be commands."""
    from engine.domain.encoding.escaping import visible

    shown = " ".join(visible(name).split())
    return f"{shown}\N{WORD JOINER}" if shown in ("image", "title") else shown
