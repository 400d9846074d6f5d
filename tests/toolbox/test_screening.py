"""Screening many columns: against SciPy on data that ships with scikit-learn, and what the correction is for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_iris

from engine.data.catalogue import write_data
from engine.domain.datatypes import DataType
from engine.toolbox.script import StepInput, step_script
from engine.toolbox.statistics.screening import compare_columns


@pytest.fixture(scope="module")
def tumours():
    data = load_breast_cancer(as_frame=True)
    return data.frame.assign(target=[data.target_names[value] for value in data.frame["target"]])


def test_two_groups_agree_with_scipy_and_keep_their_direction(tumours):
    result = compare_columns(tumours, group="target", treated="malignant", control="benign")
    row = result["screening"].set_index("column").loc["mean radius"]
    sick, well = (tumours.loc[tumours["target"] == name, "mean radius"] for name in ("malignant", "benign"))
    reference = stats.ttest_ind(sick, well, equal_var=False)
    assert row["statistic"] == pytest.approx(reference.statistic, rel=1e-12)
    assert row["p_value"] == pytest.approx(reference.pvalue, rel=1e-9)
    # Street et al. 1993: malignant nuclei are larger; the means of this data set are 17.46 and 12.15.
    assert (round(row["mean_1"], 2), round(row["mean_2"], 2)) == (17.46, 12.15)
    assert row["lower_95"] < row["difference"] < row["upper_95"]
    assert any("higher in malignant" in finding["text"] for finding in result["findings"])


def test_swapping_the_groups_only_turns_the_sign(tumours):
    one = compare_columns(tumours, group="target", treated="malignant", control="benign")["screening"]
    two = compare_columns(tumours, group="target", treated="benign", control="malignant")["screening"]
    merged = one.merge(two, on="column", suffixes=("", "_swapped"))
    assert np.allclose(merged["difference"], -merged["difference_swapped"])
    assert np.allclose(merged["p_adj"], merged["p_adj_swapped"])


def test_more_groups_use_welchs_analysis_of_variance():
    data = load_iris(as_frame=True)
    frame = data.frame.assign(target=[str(data.target_names[value]) for value in data.frame["target"]])
    table = compare_columns(frame, group="target")["screening"].set_index("column")
    samples = [part["petal length (cm)"] for _, part in frame.groupby("target")]
    # R: oneway.test(Petal.Length ~ Species, iris) gives F = 1828.1.
    assert table.loc["petal length (cm)", "statistic"] == pytest.approx(1828.1, abs=0.05)
    assert table.loc["petal length (cm)", "p_value"] == pytest.approx(stats.f_oneway(*samples, equal_var=False).pvalue)
    assert table.loc["petal length (cm)", "highest_group"] == "virginica"


def test_noise_gives_no_discovery():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(40, 60)), columns=[f"x{n}" for n in range(60)])
    frame["group"] = ["a", "b"] * 20
    table = compare_columns(frame, group="group")["screening"]
    assert (table["p_value"] < 0.05).any(), "without correction some of 60 tests of noise look significant"
    assert not (table["p_adj"] < 0.05).any()


def test_what_is_not_shown_to_differ_is_not_called_higher():
    table = pd.DataFrame({"arm": ["a", "b"] * 10, "x": np.arange(20) % 7, "y": np.arange(20) % 5})
    told = compare_columns(table, group="arm", columns=["x", "y"])["findings"][1:]
    assert all(" is not shown to differ between " in one["text"] for one in told)
    assert not any("higher" in one["text"] or "lower" in one["text"] for one in told)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"group": "nothing"}, "no column 'nothing'"),
        ({"group": "g", "columns": ["missing"]}, "no column 'missing'"),
        ({"group": "same"}, "at least two"),
        ({"group": "g", "treated": "c", "control": "a"}, "not c and a"),
        ({"group": "g", "columns": ["text"]}, "no numbers"),
    ],
)
def test_bad_requests_get_one_sentence(arguments, words):
    frame = pd.DataFrame({"g": ["a", "b"] * 5, "same": "s", "text": "t", "x": np.arange(10.0)})
    with pytest.raises(ValueError, match=words):
        compare_columns(frame, **arguments)


def test_it_runs_alone_as_a_step(tmp_path, monkeypatch, tumours):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inputs").mkdir()
    write_data(tumours, "inputs/tumours", "table")
    inputs = {"table": StepInput(path="inputs/tumours.csv", type=DataType.TABLE)}
    spec = compare_columns.tool_spec
    exec(step_script(spec, inputs, {"group": "target"}), {"__name__": "__main__"})
    assert (tmp_path / "outputs" / "screening.csv").is_file()
