"""The pages Memory and Knowledge Graph against the real engine: empty, with things in them, and after mistakes."""

from __future__ import annotations

import pytest
from test_app import app, opened, release, shown


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Return a workspace with two remembered analyses and two facts."""
    folder = tmp_path_factory.mktemp("know") / "workspace"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIODESK_WORKSPACE", str(folder))
        patch.setenv("BIODESK_WARM_WORKERS", "false")
        engine = opened(folder)
        records = folder.parent / "memory.jsonl"
        records.write_text(
            '{"kind": "episode", "id": "ep1", "task": "Docking of celecoxib analogues into 5KIR", "tools": ["vina"], '
            '"domains": ["structural_biology"], "entities": ["PTGS2", "5KIR"], "result_summary": "RMSD 0.8 A.", '
            '"success": true, "quality": 0.9, "lessons": "Protonation matters.", "at": "2025-05-09T15:21:11Z"}\n'
            '{"kind": "episode", "id": "ep2", "task": "Breeding success of great tits near light poles", '
            '"tools": ["glmm"], "domains": ["ecology"], "entities": ["Parus major"], "result_summary": "Fewer young.", '
            '"success": true, "quality": 0.7, "lessons": "Zero inflation.", "at": "2025-01-24T14:03:40Z"}\n'
        )
        engine.memory.import_file(records)
        engine.memory.semantic.add("sample S7", "is a duplicate of", "sample S3", "lab book")
        yield folder
    release(folder)


@pytest.fixture
def at(workspace, monkeypatch):
    """Return a function that opens a page of the app."""
    monkeypatch.setenv("BIODESK_WORKSPACE", str(workspace))
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")

    def open_page(name: str, tab: str = "", **query: str):
        test = app()
        if tab:
            test.session_state["graph_tabs" if name == "knowledge_graph" else "memory_tabs"] = tab
        for key, value in query.items():
            test.query_params[key] = value
        test.switch_page(f"pages/{name}.py")
        return test.run()

    return open_page


def test_memory_lists_what_is_remembered(at):
    page = at("memory")
    assert not page.exception
    text = shown(page)
    assert "celecoxib" in text
    assert "Zero inflation" in text


def test_a_recall_says_why_and_shows_every_signal(at):
    page = at("memory")
    page.text_input(key="recall_query").set_value("dock ligands into 5KIR").run()
    text = shown(page)
    assert "celecoxib" in text
    assert "great tits" not in text.split("Kept out")[0] or "relevance gate" in text
    for label in ("Words", "Tools", "Fields", "Entities", "Meaning"):
        assert label in text


def test_an_episode_is_pinned(at, workspace):
    page = at("memory")
    page.button(key="pin_ep1").click().run()
    assert opened(workspace).memory.episodic.episode("ep1").pinned
    page.button(key="pin_ep1").click().run()
    assert not opened(workspace).memory.episodic.episode("ep1").pinned


def test_what_the_planner_sees_is_shown(at):
    page = at("memory", tab="What the planner sees")
    page.text_input(key="context_query").set_value("docking into 5KIR").run()
    assert any("Protonation" in block.value for block in page.code)


def test_the_graph_page_offers_a_start_and_goes_to_an_entity(at):
    page = at("knowledge_graph")
    assert not page.exception
    page.button(key="start_EGFR").click().run()
    assert not page.exception
    assert "EGFR" in shown(page)
    assert page.query_params["entity"]


def test_an_entity_in_the_address_is_opened(at):
    page = at("knowledge_graph", entity="EGFR")
    assert not page.exception
    assert any(sub.value == "EGFR" for sub in page.subheader)


def test_an_unknown_entity_is_a_sentence(at):
    page = at("knowledge_graph", entity="NOSUCHTHING99")
    assert not page.exception
    assert "There is no entity" in shown(page)


def test_a_text_is_checked(at):
    page = at("knowledge_graph", tab="Check a text")
    page.text_area(key="check_text").set_value("Trastuzumab targets ERBB2.").run()
    page.button(key="check_go").click().run()
    text = shown(page)
    assert not page.exception
    assert "Trastuzumab targets ERBB2" in text
    assert "Score" in text


def test_paths_are_found(at):
    page = at("knowledge_graph", tab="Paths")
    page.text_input(key="path_from").set_value("trastuzumab").run()
    page.text_input(key="path_to").set_value("breast cancer").run()
    assert not page.exception
    assert "Fewest steps" in shown(page)


@pytest.mark.parametrize(
    ("page", "tab"),
    [
        ("memory", "Facts"),
        ("memory", "Conversation"),
        ("memory", "Export and import"),
        ("knowledge_graph", "Import"),
        ("knowledge_graph", "Statistics"),
    ],
)
def test_every_tab_opens(at, page, tab):
    drawn = at(page, tab=tab)
    assert not drawn.exception
    assert not drawn.warning


def test_a_fact_is_retracted_and_its_source_is_shown(at, workspace):
    page = at("memory", tab="Facts")
    page.button(key="fact_retract").click().run()
    assert not page.exception
    assert opened(workspace).memory.semantic.facts()[0].retracted
