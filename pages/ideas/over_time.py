"""How ratings moved as comparisons came in, and which hypotheses say nearly the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.charts import COLOURS
from pages.parts.escape import drawn, plain
from pages.parts.words import counted, shortened

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.discovery.hypotheses import TournamentView

DRAWN = len(COLOURS)
"""So many hypotheses have a line; the table has all."""


def draw_over_time(engine: Engine, view: TournamentView) -> None:
    """Draw the rating of the best over the comparisons, and the table of all."""
    import pandas as pd

    if not view.matches:
        st.caption("Nothing was compared yet.")
        return
    marks = (len(view.matches), len(view.marks), len(view.tests), len(view.hypotheses))
    points = _history(view.tournament.id, marks, engine)
    texts = {one.id: shortened(one.text, 70) for one in view.hypotheses}
    best = [one.hypothesis for one in view.standings[:DRAWN]]
    rows = [
        {"matches": count, "rating": round(one.rating, 1), "low": one.low, "high": one.high, "id": one.hypothesis,
         "text": drawn(texts[one.hypothesis])}
        for count, order in points
        for one in order
        if one.hypothesis in best
    ]  # fmt: skip
    st.vega_lite_chart(
        pd.DataFrame(rows),
        _lines(best),
        height=340,
        key="ideas_lines",
        alt="Ratings over the comparisons; see the table",
    )
    if len(view.standings) > DRAWN:
        st.caption(f"The best {DRAWN} of {len(view.standings)} are drawn.")
    table = pd.DataFrame(
        [{"Comparisons": count, **{one.hypothesis: round(one.rating) for one in order}} for count, order in points]
    )
    with st.expander("The ratings as a table", icon=":material/table:", type="compact", key="ideas_lines_table"):
        st.dataframe(table, hide_index=True, key="ideas_lines_rows", alt="Ratings over the comparisons")


@st.cache_data(show_spinner="Working out earlier ratings...", max_entries=16)
def _history(tournament_id: str, marks: tuple[int, ...], _engine: Engine) -> list[Any]:
    """Return the standings after so many comparisons; `marks` tells a tournament's states apart."""
    return list(_engine.hypotheses.history(tournament_id))


def _lines(best: list[str]) -> dict[str, Any]:
    colour = {
        "field": "id", "type": "nominal", "title": None, "scale": {"domain": best, "range": COLOURS[: len(best)]},
        "legend": {"orient": "top", "columns": 4},
    }  # fmt: skip
    x = {"field": "matches", "type": "quantitative", "title": "Comparisons", "axis": {"tickMinStep": 1}}
    y = {"field": "rating", "type": "quantitative", "title": "Rating (Elo units)", "scale": {"zero": False}}
    hints = [
        {"field": "text", "title": "Hypothesis"},
        {"field": "matches", "title": "Comparisons"},
        {"field": "rating", "title": "Rating", "type": "quantitative"},
        {"field": "low", "title": "90 % from", "type": "quantitative", "format": ".0f"},
        {"field": "high", "title": "to", "type": "quantitative", "format": ".0f"},
    ]
    return {
        "mark": {"type": "line", "point": True, "interpolate": "linear"},
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": hints},
    }


def draw_nearness(view: TournamentView) -> None:
    """Draw the clusters as rows of a chart and as a table."""
    import pandas as pd

    texts = {one.id: one.text for one in view.hypotheses}
    known = [one for one in view.standings if one.cluster]
    if not known:
        st.caption("Likeness was not looked at yet.")
        return
    count = len({one.cluster for one in known})
    st.markdown(
        f"{counted(len(known), 'hypothesis', 'hypotheses')} in {counted(count, 'cluster')}: those of one cluster say "
        "nearly the same, and only one of them is rewritten."
    )
    rows = [
        {"cluster": f"Cluster {one.cluster}", "rating": round(one.rating), "id": one.hypothesis,
         "text": drawn(shortened(texts[one.hypothesis], 70))}
        for one in known
    ]  # fmt: skip
    hints = [{"field": "text", "title": "Hypothesis"}, {"field": "id"}, {"field": "rating", "title": "Rating"}]
    spec = {
        "mark": {"type": "circle", "size": 120, "opacity": 0.8},
        "encoding": {
            "x": {"field": "rating", "type": "quantitative", "title": "Rating (Elo units)", "scale": {"zero": False}},
            "y": {"field": "cluster", "type": "nominal", "title": None, "sort": [r["cluster"] for r in rows]},
            "tooltip": hints,
        },
    }
    st.vega_lite_chart(
        pd.DataFrame(rows), spec, height=60 + 26 * count, key="ideas_near", alt="Clusters; see the table"
    )
    table = sorted(
        ({"Cluster": one.cluster, "Hypothesis": plain(texts[one.hypothesis]), "Rating": f"{one.rating:.0f}",
          "Id": one.hypothesis} for one in known),
        key=lambda row: int(row["Cluster"]),
    )  # fmt: skip
    st.table(table, border="horizontal", hide_index=True)
