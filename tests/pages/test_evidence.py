"""A number is checked at its cell, and the table of an answer holds all rows, what is told of first."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from engine.domain.findings import Finding, FindingValue
from engine.domain.report import ShownTable
from engine.domain.results import Artifact
from pages.asking.answer import _rows_of
from pages.parts.evidence import draw_evidence
from pages.parts.tables import STYLED_ROWS, first_rows


@pytest.fixture
def drawn(monkeypatch):
    """Collect the tables that are drawn: their data and how."""
    found: list = []
    monkeypatch.setattr("streamlit.fragment", lambda draw: draw)
    monkeypatch.setattr("streamlit.dataframe", lambda data, **how: found.append((getattr(data, "data", data), how)))
    return found


def stored(tmp_path, frame: pd.DataFrame):
    path = tmp_path / "cox.csv"
    frame.to_csv(path, index=False)
    artifact = Artifact(
        name=path.name, output="t", type="table", sha256="a" * 64, bytes=1, rows=len(frame), columns=list(frame.columns)
    )
    return SimpleNamespace(artifact=lambda _: path), artifact


COX = pd.DataFrame(
    {"term": ["age", "II", "III"], "z": [1.0, 2.0, 3.0], "hazard_ratio": [1.1, 1.6, 2.3], "lower_95": [1.0, 0.9, 1.4],
     "upper_95": [1.2, 2.7, 3.8], "p_value": [0.5, 0.07, 0.001]}
)  # fmt: skip


def cell(how) -> tuple[int, str]:
    return how["selection_default"]["selection"]["cells"][0]


def test_a_number_leads_to_its_cell_with_its_row_on_top(tmp_path, drawn):
    engine, artifact = stored(tmp_path, COX)
    value = FindingValue(name="hazard_ratio", value=2.3, low=1.4, high=3.8)
    finding = Finding(id="f", node="n", text="t", values=[value], artifact="cox.csv", row={"term": "III"})
    draw_evidence(engine, finding, artifact, "r")
    ((data, how),) = drawn
    assert data["term"].tolist() == ["III", "age", "II"]
    assert list(data.columns) == ["term", "hazard_ratio", "lower_95", "upper_95", "z", "p_value"]
    assert cell(how) == (0, "hazard_ratio")


def test_a_number_called_by_a_level_leads_to_the_cell_of_that_level(tmp_path, drawn):
    engine, artifact = stored(tmp_path, COX)
    values = [FindingValue(name=f"hazard_ratio {level}", value=1.0, low=0.5, high=2.0) for level in ("III", "II")]
    draw_evidence(engine, Finding(id="f", node="n", text="t", values=values, artifact="cox.csv"), artifact, "r")
    ((data, how),) = drawn
    assert data["term"].tolist() == ["III", "II", "age"]
    assert cell(how) == (0, "hazard_ratio")


def test_an_answer_shows_all_rows_of_its_table_and_what_is_told_of_first(tmp_path, drawn):
    genes = pd.DataFrame({"gene": [f"g{n}" for n in range(40)], "p_adj": [0.02 * n for n in range(40)], "se": 1.0})
    engine, artifact = stored(tmp_path, genes)
    table = ShownTable(
        name="cox.csv", columns=["gene", "p_adj"], rows={1: ["g0", "0"], 31: ["g30", "0.6"]}, marked=[31], total=40
    )
    _rows_of(engine, table, artifact, "k")
    ((data, _),) = drawn
    assert list(data.columns) == ["gene", "p_adj"]
    assert data["gene"].tolist()[:3] == ["g0", "g30", "g1"]
    assert sorted(data["gene"]) == sorted(genes["gene"])
    assert data.index[1] == 31  # the marked row is still known by its number


def test_a_table_that_is_gone_is_shown_as_far_as_the_report_holds_it(drawn):
    table = ShownTable(name="gone.csv", columns=["gene", "n"], rows={1: ["a", "2"], 9: ["b", "3"]}, total=40)
    _rows_of(SimpleNamespace(), table, None, "k")
    ((data, _),) = drawn
    assert data.to_dict("list") == {"gene": ["a", "b"], "n": [2, 3]}


def test_rows_on_top_are_not_there_twice():
    frame = pd.DataFrame({"a": range(STYLED_ROWS + 1)})
    assert first_rows(frame, [7, 3])["a"].tolist()[:4] == [7, 3, 0, 1]
    assert len(first_rows(frame, [7, 3])) == len(frame)
