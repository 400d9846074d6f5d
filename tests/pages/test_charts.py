"""Points that can be asked: taken from the table the tool names, all of them text where they are names."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from engine.domain.datatypes import DataType
from engine.domain.report import RunView
from engine.domain.results import Artifact, NodeResult, RunRecord
from engine.domain.toolspec import OutputSpec, ParamSpec, Points, ToolSpec
from engine.toolbox.registry import builtin_tools
from pages.parts import charts as _charts
from pages.parts.charts import _drawn, _spec, chart_of, drawing_of

POINTS = Points(table="points", x="=across", y="up|height", label="name|id", colour="side", log="axes",
                colours={"neither": "#999999", "higher": "#D55E00"})  # fmt: skip


class OneTool:
    """An engine with one tool and one stored table."""

    def __init__(self, path, points=POINTS):
        self.path = path
        kinds = {"plot": DataType.FIGURE, "points": DataType.TABLE}
        self.spec = ToolSpec(
            name="t", title="T", description="", domain="", task_type="analysis", inputs=[], source="", function="t",
            outputs=[OutputSpec(name=n, type=k, points=points if n == "plot" else None) for n, k in kinds.items()],
            params=[ParamSpec(name="across", kind="column", description="", default="x"),
                    ParamSpec(name="axes", kind="choice", description="", default="none")],
        )  # fmt: skip

    def tool(self, name):
        return self.spec

    def artifact(self, sha256):
        return self.path


def made(tmp_path, frame, **params):
    path = tmp_path / "points.csv"
    frame.to_csv(path, index=False)
    names = {"plot": "n1_plot.png", "plot.svg": "n1_plot.svg", "points": "n1_points.csv"}
    artifacts = [
        Artifact(name=name, output=output, type="figure", sha256=output[0] * 64, bytes=1, node="n1")
        for output, name in names.items()
    ]
    result = NodeResult(node="n1", tool="t", status="succeeded", artifacts=artifacts, params=params)
    record = RunRecord(run_id="r", user="u", question="q", status="succeeded", created_at="")
    return OneTool(path), RunView(record=record, results={"n1": result}), artifacts[0]


FRAME = pd.DataFrame(
    {"id": ["a", "b", "c"], "x": [1.0, 0.0, 3.0], "height": [1.0, 2.0, 3.0], "side": ["higher", "neither", "higher"],
     "p_adj": [0.0, 0.5, None]}
)  # fmt: skip


def test_points_come_from_the_table_and_the_parameters_of_the_step(tmp_path):
    chart = chart_of(*made(tmp_path, FRAME))
    assert (chart.x, chart.y, chart.label, chart.colour, chart.log) == ("x", "height", "id", "side", "none")
    assert chart.left_out == 0
    drawn = _drawn(chart)
    assert drawn["c"].tolist() == ["neither", "higher", "higher"]  # what matters lies on top
    assert drawn["row"].tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("tool", "output", "table"),
    [("meta_analysis", "funnel_plot", "study,effect,se"), ("sc_embed", "umap_plot", "cell,UMAP1,UMAP2,label")],
)
def test_points_of_funnels_and_maps_of_cells_have_the_names_of_their_tables(tool, output, table):
    port = builtin_tools().get(tool).output(output)
    assert port.points.label == ""  # the first column of the table that these functions give
    assert {port.points.x, port.points.y} <= {*table.split(",")}
    assert builtin_tools().get(tool).output(port.points.table) is not None


def test_a_figure_that_shows_limits_opens_as_a_picture(tmp_path):
    engine, view, artifact = made(tmp_path, FRAME)
    assert chart_of(engine, view, artifact).picture_first is False
    limits = OneTool(engine.path, points=POINTS.model_copy(update={"picture_first": True}))
    assert chart_of(limits, view, artifact).picture_first is True


def test_what_a_logarithmic_axis_cannot_show_is_not_drawn(tmp_path):
    chart = chart_of(*made(tmp_path, FRAME, axes="both"))
    assert chart.frame["id"].tolist() == ["a", "c"]
    assert _spec(chart)["encoding"]["x"]["scale"]["type"] == "log"


def test_a_figure_stays_a_picture_where_columns_are_missing_or_no_numbers(tmp_path):
    assert chart_of(*made(tmp_path, FRAME.drop(columns="height"))) is None
    assert chart_of(*made(tmp_path, FRAME.assign(height=["low", "mid", "high"]))) is None
    assert chart_of(*made(tmp_path, FRAME, across="nothing")) is None
    engine, view, artifact = made(tmp_path, FRAME)
    assert chart_of(OneTool(engine.path, points=None), view, artifact) is None


def test_p_values_under_the_pointer_are_whole_and_names_stay_text(tmp_path):
    names = ["<img src=x>", "a\u202eb", "[x](y) $z$"]
    frame = FRAME.assign(id=names).rename(columns={"side": "image"}).assign(side=FRAME["side"])
    chart = chart_of(*made(tmp_path, frame))
    drawn, spec = _drawn(chart).set_index("row").sort_index(), _spec(chart)
    hints = {hint["title"]: hint["field"] for hint in spec["encoding"]["tooltip"]}
    assert drawn[hints["p_adj"]].tolist() == ["< 1e-300", "0.5", ""]
    assert drawn[hints["id"]].loc[0] == "<img src=x>"
    assert "\u202e" not in drawn[hints["id"]].loc[1]
    # A hint called so would be drawn as a picture from wherever its text says.
    assert "image" not in hints
    assert any(title.startswith("image") for title in hints)
    assert all(field in drawn for field in hints.values())
    json.dumps(spec)


def test_of_very_many_points_those_far_out_are_all_drawn_and_the_rest_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(_charts, "MOST_POINTS", 40)
    frame = pd.DataFrame({"id": range(200), "x": [1.0] * 199 + [1e9], "height": [float(n % 7) for n in range(200)],
                          "side": ["neither"] * 200})  # fmt: skip
    chart = chart_of(*made(tmp_path, frame))
    assert len(chart.frame) <= 40
    assert 199 in chart.frame["id"].tolist()
    assert chart.left_out == 200 - len(chart.frame)


def test_the_drawing_of_a_figure_is_the_one_of_its_step(tmp_path):
    _, view, artifact = made(tmp_path, FRAME)
    assert drawing_of(view, artifact).name == "n1_plot.svg"
    assert drawing_of(view, artifact.model_copy(update={"node": "n2"})) is None


@pytest.mark.parametrize(
    ("said", "hits", "link"), [("DUSP1", ["DUSP1"], True), ("DUSP", ["DUSP1"], False), ("x", [], False)]
)
def test_an_entity_is_offered_only_under_its_own_name(said, hits, link, monkeypatch):
    from types import SimpleNamespace

    from engine.domain.knowledge import NodeType

    drawn = []
    monkeypatch.setattr(_charts.st, "page_link", lambda *_, **kept: drawn.append(kept["query_params"]))
    found = [
        SimpleNamespace(node=SimpleNamespace(name=n, id=f"Gene::{n}", type=NodeType.GENE), matched=n) for n in hits
    ]
    engine = SimpleNamespace(knowledge=SimpleNamespace(search=lambda name, top: found))
    _charts.draw_entity_link(engine, said)
    assert bool(drawn) == link
