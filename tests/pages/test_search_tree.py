"""What a run searched, on the page Plan & Run."""

from __future__ import annotations

import pytest
from test_app import PAGES, app, opened, release, shown


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """Return the engine of an empty workspace that the pages open."""
    folder = tmp_path / "workspace"
    for name, value in {"WORKSPACE": str(folder), "WARM_WORKERS": "false", "EMBEDDING_MODEL": "none"}.items():
        monkeypatch.setenv(f"BIODESK_{name}", value)
    yield opened(folder)
    release(folder)


def at(run_id: str):
    page = app()
    page.query_params["run"] = run_id
    page.switch_page(PAGES[1]).run()
    assert not page.exception
    return page


def test_a_search_is_drawn_with_a_table_of_all_its_choices_and_a_short_one_for_narrow_windows(engine):
    run_id = engine.ask("Why might imatinib affect EGFR?", strategy="mcts")
    assert engine.wait(run_id, 60).status == "succeeded"
    (tree,) = engine.search_trees(run_id)
    assert engine.view(run_id).report.searches == [tree.in_short()]
    page = at(run_id)
    assert tree.told in shown(page)
    assert any("ways through the graph" in one.label for one in page.expander)
    tables = [one.value for one in page.dataframe if "Prior" in one.value]
    assert [len(table) for table in tables] == [len(list(one.rows())) for one in (tree, tree.in_short())]
    rows = list(tree.rows())
    assert tables[0]["Choice"].tolist() == [row.choice for row in rows]
    assert tables[0]["Visits"].tolist() == [row.state.visits for row in rows]
    assert tables[0]["Choice"][tables[0]["Leads to the best"]].iloc[-1].endswith("EGFR")


def test_a_run_without_a_search_has_no_such_part(engine):
    run_id = engine.ask("What is known about EGFR?")
    engine.wait(run_id, 60)
    assert not any("What was searched" in one.label for one in at(run_id).expander)
