"""Memory and Knowledge Graph in a real browser: what AppTest cannot see (drawing, table rows, themes)."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect
from served_app import ROOT, serving

pytestmark = pytest.mark.browser
EPISODE = {
    "kind": "episode",
    "id": "ep1",
    "task": "Docking of celecoxib analogues into 5KIR",
    "tools": ["vina"],
    "domains": ["structural_biology"],
    "entities": ["PTGS2", "5KIR"],
    "result_summary": "Redocking RMSD 0.8 A.",
    "success": True,
    "quality": 0.9,
    "lessons": "Protonation of the sulfonamide matters.",
    "at": "2025-05-09T15:21:11Z",
}


@pytest.fixture(scope="module")
def know_address(tmp_path_factory):
    """Serve a workspace that remembers one analysis; its graph is the starter graph."""
    from engine.api import open_engine

    folder = tmp_path_factory.mktemp("know")
    records = folder / "memory.jsonl"
    records.write_text(json.dumps(EPISODE))
    with open_engine(workspace=folder / "workspace", warm_workers=False) as engine:
        engine.memory.import_file(records)
    with serving(ROOT / "app.py", ROOT, BIODESK_WORKSPACE=str(folder / "workspace")) as address:
        yield address


def test_from_a_gene_to_a_drug_in_three_clicks(open_page, know_address):
    page = open_page(f"{know_address}/knowledge_graph")
    page.get_by_role("button", name="EGFR", exact=True).click()
    page.get_by_text("entities drawn").wait_for()
    page.locator("iframe").wait_for()  # the neighbourhood is drawn
    page.get_by_role("button", name="drug").first.click()
    page.get_by_text("Click one to go there").wait_for()
    page.wait_for_timeout(1500)
    table = page.get_by_test_id("stDataFrame").first
    box = table.bounding_box()
    page.mouse.click(box["x"] + 16, box["y"] + 50)  # the mark of the first row, below the header
    page.get_by_role("heading", name="EGFR").wait_for(state="detached")
    expect(page.locator("h3").first).to_be_visible()
    page.get_by_text("drug", exact=True).first.wait_for()
    assert "entity=" in page.url
    assert "1956" not in page.url


def test_the_drawing_and_its_table_fit_the_window(open_page, know_address):
    for scheme in ("light", "dark"):
        page = open_page(f"{know_address}/knowledge_graph?entity=Gene%3A%3A1956", scheme=scheme)
        page.get_by_text("entities drawn").wait_for()
        expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
        box = page.get_by_test_id("stDataFrame").first.bounding_box()
        assert box["y"] + box["height"] < 800
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_pasted_paragraph_is_checked(open_page, know_address):
    page = open_page(f"{know_address}/knowledge_graph")
    page.get_by_role("tab", name="Check a text").click()
    page.get_by_label("Text to check").fill("Trastuzumab targets ERBB2. Imatinib does not inhibit ABL1.")
    page.get_by_role("button", name="Check claims").click()
    page.get_by_text("Score").first.wait_for()
    expect(page.get_by_text("Grounded", exact=False).first).to_be_visible()
    expect(page.get_by_text("Contradicted", exact=False).first).to_be_visible()


def test_why_an_episode_was_recalled_is_on_the_screen(open_page, know_address):
    page = open_page(f"{know_address}/memory")
    page.get_by_label("Find by a question").fill("ligands into 5KIR")
    page.keyboard.press("Enter")
    page.get_by_text("pass the relevance gate").wait_for()
    expect(page.get_by_text("Docking of celecoxib").first).to_be_visible()
    for signal in ("Words", "Tools", "Fields", "Entities", "Meaning"):
        expect(page.get_by_text(signal).first).to_be_visible()
    expect(page.get_by_text("5KIR").nth(1)).to_be_visible()  # the task and the reason name it
