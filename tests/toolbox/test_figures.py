"""Figures: the numbers beside each picture, and what the picture itself says on its axes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_steps import check_issues, classic, run_step

from engine.toolbox.tables.figures import histogram, scatter_plot
from engine.toolbox.tables.group_figures import bar_plot, box_plot


def iris() -> pd.DataFrame:
    from sklearn.datasets import load_iris

    data = load_iris(as_frame=True)
    frame = data.frame.rename(columns=lambda name: name.replace(" (cm)", "").replace(" ", "_"))
    return frame.assign(species=data.target_names[frame["target"]])


def test_box_table_of_iris_matches_the_summary_r_prints():
    # R: tapply(iris$Sepal.Length, iris$Species, summary): setosa 4.3 4.8 5.0 5.006 5.2 5.8; virginica 4.9 6.225 6.5
    # 6.588 6.9 7.9
    table = box_plot(iris(), value="sepal_length", group="species")["box_table"].set_index("species")
    columns = ["min", "q1", "median", "mean", "q3", "max"]
    assert table.loc["setosa", columns].tolist() == pytest.approx([4.3, 4.8, 5.0, 5.006, 5.2, 5.8])
    assert table.loc["virginica", columns].tolist() == pytest.approx([4.9, 6.225, 6.5, 6.588, 6.9, 7.9])


def test_box_table_of_two_groups_holds_every_combination():
    frame = iris().assign(dose=[0.5, 1, 2] * 50)
    table = box_plot(frame, value="sepal_length", group="species", color_by="dose")["box_table"]
    wanted = frame.groupby(["species", "dose"])["sepal_length"].agg(["size", "mean", "median"])
    found = table.set_index(["species", "dose"])
    assert found.index.tolist() == wanted.index.tolist()
    assert found["n"].tolist() == wanted["size"].tolist()
    assert found[["mean", "median"]].to_numpy() == pytest.approx(wanted[["mean", "median"]].to_numpy())
    with pytest.raises(ValueError, match="combinations"):
        box_plot(frame.assign(id=range(150)), value="sepal_length", group="species", color_by="id")


@pytest.mark.parametrize("kind", ["box", "violin", "points"])
def test_box_plot_shows_every_group_with_its_size_and_unit(kind):
    figure = box_plot(iris(), value="sepal_length", group="species", kind=kind, unit="cm")["box_plot"]
    axis = figure.axes[0]
    assert axis.get_ylabel() == "sepal_length (cm)"
    assert [text.get_text() for text in axis.get_xticklabels()] == [
        f"{name}\nn = 50" for name in ("setosa", "versicolor", "virginica")
    ]


def test_points_without_a_value_are_counted():
    result = scatter_plot(classic("penguins.csv"), x="flipper_length_mm", y="body_mass_g", color_by="species")
    drawn = sum(len(group.get_offsets()) for group in result["scatter"].axes[0].collections)
    assert drawn == 342
    assert any("2 of 344 rows were left out" in text for text in result["warnings"])


def test_values_a_logarithmic_axis_cannot_show_are_counted():
    table = pd.DataFrame({"x": [0.0, -1.0, 1.0, 10.0], "y": [1.0, 2.0, 3.0, 4.0]})
    result = scatter_plot(table, x="x", y="y", log="x")
    assert result["findings"][0]["values"][0] == {"name": "n", "value": 2}
    assert any("2 values of x are zero or below" in text for text in result["warnings"])
    assert result["scatter"].axes[0].get_xscale() == "log"


def test_many_categories_share_the_colour_of_other():
    table = pd.DataFrame({"x": range(30), "y": range(30), "g": [f"g{i % 12}" for i in range(30)]})
    result = scatter_plot(table, x="x", y="y", color_by="g")
    assert any("'other'" in text for text in result["warnings"])
    assert sum(len(group.get_offsets()) for group in result["scatter"].axes[0].collections) == 30


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.integers(2, 40))
def test_histogram_counts_every_value_once(values, bins):
    table = histogram(pd.DataFrame({"x": values}), column="x", bins=bins)["histogram_table"]
    assert table["count"].sum() == len(values)
    assert len(table) == bins


def test_grouped_histograms_share_their_bins():
    table = histogram(iris(), column="petal_length", group_by="species", bins=10)["histogram_table"]
    assert table.groupby("species")["count"].sum().tolist() == [50, 50, 50]
    assert (table.groupby("species")["bin_start"].apply(tuple)).nunique() == 1


def test_bars_of_counts_match_the_published_penguins():
    # palmerpenguins documentation: 152 Adelie, 68 Chinstrap, 124 Gentoo
    table = bar_plot(classic("penguins.csv"), category="species")["bar_table"].set_index("species")
    assert table["count"].to_dict() == {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}


def test_bars_of_means_carry_the_t_interval():
    # By hand: 1, 2, 3 has mean 2, SD 1, and t(0.975, 2) = 4.302653, so 2 +- 4.302653 / sqrt(3)
    table = bar_plot(pd.DataFrame({"g": ["a"] * 3, "y": [1.0, 2, 3]}), category="g", value="y")["bar_table"]
    assert table["lower_95"].iloc[0] == pytest.approx(2 - 4.302653 / np.sqrt(3), rel=1e-6)


def test_bars_beyond_forty_are_in_the_table_only():
    result = bar_plot(pd.DataFrame({"g": [f"g{i}" for i in range(60)]}), category="g")
    assert len(result["bar_table"]) == 60
    assert any("40 tallest of 60" in text for text in result["warnings"])


BAD = {
    "absent column": (box_plot, {"value": "sepal", "group": "species"}, "no column 'sepal'"),
    "too many groups": (box_plot, {"value": "petal_width", "group": "id"}, "at most 40 groups"),
    "text values": (histogram, {"column": "species"}, "not numbers"),
    "unknown kind": (box_plot, {"value": "petal_width", "group": "species", "kind": "pie"}, "box, violin or points"),
    "nothing left on a log axis": (scatter_plot, {"x": "zero", "y": "petal_width", "log": "x"}, "use log none"),
    "unknown aggregate": (
        bar_plot,
        {"category": "species", "value": "petal_width", "aggregate": "mode"},
        "expected mean",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_gives_one_clear_sentence(case):
    function, params, words = BAD[case]
    table = iris().assign(id=range(150), zero=0.0)
    with pytest.raises(ValueError, match=r".") as error:
        function(table, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


STEPS = {
    "box": (box_plot, {"value": "sepal_length", "group": "species", "kind": "violin"}),
    "box of two": (box_plot, {"value": "sepal_length", "group": "species", "color_by": "dose"}),
    "scatter": (scatter_plot, {"x": "sepal_length", "y": "petal_length", "color_by": "species", "log": "both"}),
    "scatter_scale": (scatter_plot, {"x": "sepal_length", "y": "petal_length", "color_by": "petal_width"}),
    "histogram": (histogram, {"column": "petal_length", "bins": 12}),
    "bar_count": (bar_plot, {"category": "species"}),
    "bar_mean": (bar_plot, {"category": "dose", "value": "petal_length"}),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    function, params = STEPS[name]
    record, _, issues = run_step(function, {"table": iris().assign(dose=[0.5, 1, 2] * 50)}, params, tmp_path)
    assert issues == []
    picture = next(e for e in record["outputs"].values() if e["type"] == "figure")
    assert (tmp_path / "outputs" / picture["file"]).read_bytes().startswith(b"\x89PNG")


def test_disordered_quartiles_are_caught(tmp_path):
    table = box_plot(iris(), value="sepal_length", group="species")["box_table"]
    assert check_issues(["quartiles_ordered"], {"box_table": table}, tmp_path) == []
    wrong = table.rename(columns={"q1": "q3", "q3": "q1"})
    assert check_issues(["quartiles_ordered"], {"box_table": wrong}, tmp_path) == ["quartiles_out_of_order"]


def test_lost_histogram_values_are_caught(tmp_path):
    result = histogram(iris(), column="sepal_length")
    name, table, findings = ["histogram_counts_match"], result["histogram_table"], result["findings"]
    assert check_issues(name, {"histogram_table": table}, tmp_path, findings=findings) == []
    assert check_issues(name, {"histogram_table": table.iloc[3:]}, tmp_path, findings=findings) == ["histogram_total"]


@pytest.mark.parametrize("name", ["cost ($)", r"a$\frac{b$", "$x_1$ $y$", "$"])
def test_a_dollar_in_a_name_begins_no_formula(name, tmp_path):
    from matplotlib.figure import Figure

    from engine.data.catalogue import write_data

    def drawn(text):
        figure = Figure(layout="constrained")
        left, right = figure.subplots(1, 2)
        left.bar([text, f"{text}2"], [1, 2], label=text)
        left.set(title=text, xlabel=text)
        left.legend(title=text)
        right.plot([1, 1e5], [1, 2])
        right.set_xscale("log")
        return figure

    figure = drawn(name)
    assert write_data(figure, str(tmp_path / "bars"), "figure").endswith(".png")
    left, right = figure.axes
    typed = [left.title, left.xaxis.label, left.legend_.get_title(), *left.legend_.get_texts(), *left.get_xticklabels()]
    assert [text for text in typed if text.get_text() in (name, f"{name}2") and text.get_parse_math()] == []
    assert [text.get_text() for text in left.get_xticklabels()] == [name, f"{name}2"]
    # The powers of ten of a log axis are formulas of the library's own.
    assert all(text.get_parse_math() for text in right.get_xticklabels())


def drawn_points(count, how="scatter"):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    axis = figure.subplots()
    if how == "scatter":
        axis.scatter(range(count), range(count), label="javascript: <script> -- url(http://x)")
    else:
        axis.plot(range(count), range(count), "o", label="markers of a line")
    axis.legend()
    return figure


def test_a_figure_is_written_as_png_and_as_a_drawing_that_can_be_shown_and_is_the_same_each_time(tmp_path):
    from engine.data.kinds.figure import write_figure
    from engine.toolbox.figures import figure_problem
    from engine.toolbox.results import save_result

    written = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        record = save_result({"plot": drawn_points(30)}, {"plot": ("figure", write_figure)}, folder)
        assert record["outputs"]["plot"]["file"] == "plot.png"
        written.append((folder / record["outputs"]["plot"]["drawing"]).read_bytes())
    assert figure_problem(written[0]) == ""
    assert written[0] == written[1]
    assert written[0].count(b"<use") >= 30  # points and letters are lines, not a picture


def test_a_figure_is_placed_once_for_both_files_and_the_png_is_that_of_the_library(tmp_path):
    from matplotlib.figure import Figure

    from engine.data.catalogue import write_data

    def twins():
        figure = Figure(figsize=(5, 3), layout="constrained")
        for axis in figure.subplots(1, 2):
            axis.plot([1, 1e5], [1, 2], "o", label="a long name of a group")
            axis.set(title="a title above", xlabel="x", ylabel="y", xscale="log")
        figure.legend(loc="outside right upper")
        return figure

    drawn, plain, figure = [], tmp_path / "plain.png", twins()
    figure.draw = lambda renderer, draw=figure.draw: (drawn.append(renderer), draw(renderer))
    write_data(figure, str(tmp_path / "plot"), "figure")
    assert len(drawn) == 3  # to place it, and each file
    twins().savefig(plain, dpi=150, bbox_inches="tight")
    assert (tmp_path / "plot.png").read_bytes() == plain.read_bytes()


@pytest.mark.parametrize("how", ["scatter", "plot"])
def test_thousands_of_points_do_not_make_a_drawing_of_many_parts(how, tmp_path):
    from engine.data.catalogue import write_data
    from engine.toolbox.figures import figure_problem

    write_data(drawn_points(20_000, how), str(tmp_path / "plot"), "figure")
    drawn = (tmp_path / "plot.svg").read_bytes()
    assert len(drawn) < 500_000
    assert b"data:image/png;base64" in drawn
    assert figure_problem(drawn) == ""


@pytest.mark.slow
def test_a_drawing_that_is_too_large_is_not_kept(tmp_path):
    from matplotlib.figure import Figure

    from engine.data.kinds.figure import write_figure
    from engine.toolbox.results import save_result

    figure = Figure()
    rng = np.random.default_rng(0)
    figure.subplots().fill_between(np.arange(300_000), rng.random(300_000))
    record = save_result({"plot": figure}, {"plot": ("figure", write_figure)}, tmp_path)
    assert "drawing" not in record["outputs"]["plot"]
    assert not (tmp_path / "plot.svg").exists()
    assert (tmp_path / "plot.png").exists()


@pytest.mark.parametrize(
    ("more", "first", "names"),
    [
        ({"bird": ["a", "b", "c"], "site": ["x", "x", "y"]}, "bird", ["a", "c"]),
        ({"patient_id": [7, 8, 9], "age": [1, 2, 3]}, "patient_id", [7, 9]),
        ({"age": [1, 2, 3]}, "row", [1, 3]),
    ],
)
def test_points_of_a_scatter_plot_have_the_names_of_their_rows(more, first, names, tmp_path):
    table = pd.DataFrame({**more, "x": [1.0, 2.0, 3.0], "y": [2.0, None, 5.0]})
    _, tables, issues = run_step(scatter_plot, {"table": table}, {"x": "x", "y": "y"}, tmp_path)
    assert issues == []
    points = tables["scatter_table"]
    assert list(points) == [first, "x", "y"]
    assert points[first].tolist() == names
    assert points["y"].tolist() == [2, 5]
