"""Memory and Knowledge Graph in a real browser: what AppTest cannot see (drawing, table rows, themes)."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect
from served_app import COLD, ROOT, SLOW, serving

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
    with serving(ROOT / "app.py", ROOT, BIODESK_WORKSPACE=str(folder / "workspace"), **COLD) as address:
        yield address


def ready(page: Page, title: str) -> None:
    """Wait until a page is drawn to its end: the foot of the sidebar is what comes last."""
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.get_by_text("Built-in planner, no model")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def test_from_a_gene_to_a_drug_in_three_clicks(open_page, know_address):
    page = open_page(f"{know_address}/knowledge_graph")
    ready(page, "Knowledge Graph")
    page.get_by_role("button", name="EGFR", exact=True).click()
    expect(page.get_by_role("heading", name="EGFR", exact=True)).to_be_visible()
    expect(page.locator("iframe").first).to_be_visible()  # the neighbourhood is drawn
    kind = page.get_by_role("button", name=re.compile(r"\bdrug \d"))
    kind.click()
    expect(kind).to_have_attribute("aria-pressed", "true")
    page.wait_for_function(
        "cells => { const found = [...document.querySelectorAll(cells)];"
        " return found.length > 0 && found.every(cell => cell.textContent === 'drug'); }",
        arg="[class*=st-key-near_] td[aria-colindex='2']",
    )
    near = page.locator("[class*=st-key-near_]").get_by_test_id("stDataFrame")
    name = near.get_by_test_id("glide-cell-1-0").text_content()
    # The canvas holds its cells as elements. What is clicked is the mark of the first row, below the header. The
    # grid takes its size after it is drawn, and a click into that moment reaches nobody: it is given again.
    for patience in (10_000, SLOW):
        near.click(position={"x": 16, "y": 50})
        try:
            expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible(timeout=patience)
            break
        except AssertionError:
            if patience == SLOW:
                raise
    expect(page.locator(".st-key-entity_head").get_by_text("drug", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("entity=(?!Gene)"))


@pytest.mark.slow
def test_the_drawing_and_its_table_fit_the_window(open_page, know_address):
    for scheme in ("light", "dark"):
        page = open_page(f"{know_address}/knowledge_graph?entity=Gene%3A%3A1956", scheme=scheme)
        ready(page, "Knowledge Graph")
        expect(page.locator("[class*=st-key-near_]").get_by_test_id("data-grid-canvas")).to_be_visible()
        expect(page.locator("iframe").first).to_be_visible()
        # The layout moves while the page is drawn; what counts is where it comes to rest.
        page.wait_for_function(
            "() => [...document.querySelectorAll('[class*=st-key-near_] [data-testid=data-grid-canvas], iframe')]"
            ".every(drawn => drawn.getBoundingClientRect().bottom < 800)"
        )
        page.wait_for_function("document.documentElement.scrollWidth <= 1280")


@pytest.mark.slow
def test_a_pasted_paragraph_is_checked(open_page, know_address):
    page = open_page(f"{know_address}/knowledge_graph")
    ready(page, "Knowledge Graph")
    page.get_by_role("tab", name="Check a text").click()
    page.get_by_label("Text to check").fill("Trastuzumab targets ERBB2. Imatinib does not inhibit ABL1.")
    page.get_by_role("button", name="Check claims").click()
    score = page.locator(".st-key-check_score_pasted")
    for outcome in ("Score", "Grounded 1", "Contradicted 1"):
        expect(score).to_contain_text(outcome)


@pytest.mark.slow
def test_why_an_episode_was_recalled_is_on_the_screen(open_page, know_address):
    page = open_page(f"{know_address}/memory")
    ready(page, "Memory")
    page.get_by_label("Find by a question").fill("docking ligands into 5KIR")
    page.keyboard.press("Enter")
    expect(page.get_by_text("pass the relevance gate")).to_be_visible()
    card = page.locator(".st-key-episode_ep1")
    expect(card.get_by_text("Docking of celecoxib")).to_be_visible()
    for signal in ("Words", "Tools", "Fields", "Entities", "Meaning"):
        expect(page.locator(".st-key-signals_ep1").get_by_text(signal).first).to_be_visible()
    expect(card.get_by_text("5KIR")).to_have_count(2)  # the task and the reason name it


@pytest.mark.parametrize("path", ["", "plan_run", "memory", "knowledge_graph", "tools", "provenance"])
def test_no_page_asks_anything_of_another_host(open_page, know_address, path):
    ours = (know_address, know_address.replace("http", "ws", 1), "data:", "blob:", "about:")
    asked = []
    page = open_page(f"{know_address}/{path}", heard={"request": lambda request: asked.append(request.url)})
    expect(page.get_by_text("Built-in planner, no model")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    icon = page.locator("link[rel='shortcut icon'], link[rel='icon']").first
    expect(icon).to_have_attribute("href", re.compile("data:image/"))
    assert [url for url in asked if not url.startswith(ours)] == []


def choose(page: Page, pill: Locator) -> None:
    """Choose a kind and wait until the server has drawn by it: only what it has seen does a session keep."""
    expect(pill).to_be_visible()
    ready(page, "Knowledge Graph")
    drawn = page.get_by_text("entities drawn")
    before = drawn.inner_text()
    pill.click()
    expect(pill).to_have_attribute("aria-pressed", "true")
    expect(drawn).not_to_have_text(before)
    ready(page, "Knowledge Graph")


@pytest.mark.slow
def test_where_one_is_survives_tabs_refresh_other_pages_and_back(open_page, know_address):
    page = open_page(f"{know_address}/knowledge_graph")
    ready(page, "Knowledge Graph")
    page.get_by_role("button", name="TP53", exact=True).click()
    expect(page.get_by_role("heading", name="TP53", exact=True)).to_be_visible()
    page.get_by_text("2 steps", exact=True).click()
    drugs = page.get_by_role("button", name=re.compile(r"\bdrug \d"))
    choose(page, drugs)
    page.get_by_role("tab", name="Statistics").click()
    expect(page).to_have_url(re.compile("graph_tabs=Statistics"))
    ready(page, "Knowledge Graph")
    page.reload()
    expect(page.get_by_role("tab", name="Statistics")).to_have_attribute("aria-selected", "true")
    ready(page, "Knowledge Graph")
    page.get_by_role("tab", name="Explore").click()
    expect(page.get_by_role("heading", name="TP53", exact=True)).to_be_visible()
    ready(page, "Knowledge Graph")
    page.get_by_text("2 steps", exact=True).click()  # a refresh is a new session: filters are chosen anew
    choose(page, drugs)
    page.get_by_role("link", name="Tools").click()
    ready(page, "Tools")
    page.get_by_role("link", name="Knowledge Graph").click()
    expect(page.get_by_role("heading", name="TP53", exact=True)).to_be_visible()
    expect(drugs).to_have_attribute("aria-pressed", "true")
    ready(page, "Knowledge Graph")
    page.get_by_label("Find an entity").fill("EGFR")
    page.keyboard.press("Enter")
    page.locator(".st-key-entity_hits").get_by_role("button", name="EGFR", exact=True).click()
    expect(page.get_by_role("heading", name="EGFR", exact=True)).to_be_visible()
    expect(page.get_by_label("Find an entity")).to_have_value("")
    expect(page.locator(".st-key-entity_hits")).to_have_count(0)
    ready(page, "Knowledge Graph")
    page.go_back()
    expect(page.get_by_role("heading", name="TP53", exact=True)).to_be_visible()
    expect(page.locator(".st-key-entity_trail_bar")).to_have_count(0)
    expect(drugs).to_have_count(1)  # until the page is drawn to its end, the choices of the one before stand below
    expect(drugs).to_have_attribute("aria-pressed", "true")


@pytest.mark.slow
def test_back_from_an_entity_is_the_start(open_page, know_address):
    page = open_page(f"{know_address}/knowledge_graph")
    ready(page, "Knowledge Graph")
    page.get_by_role("button", name="imatinib", exact=True).click()
    expect(page.get_by_role("heading", name="imatinib", exact=True)).to_be_visible()
    ready(page, "Knowledge Graph")
    page.go_back()
    expect(page.get_by_role("button", name="imatinib", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="imatinib", exact=True)).to_have_count(0)


def test_a_pasted_list_is_enriched_and_a_term_opened(open_page, know_address):
    page = open_page(f"{know_address}/knowledge_graph?graph_tabs=Enrichment")
    ready(page, "Knowledge Graph")
    page.get_by_label("Genes", exact=True).fill("BRCA1 BRCA2 PALB2 RAD51 NOTAGENE1")
    page.get_by_role("button", name="Find enriched terms").click()
    expect(page.get_by_text("at an FDR of 0.05 or less")).to_contain_text("4 of 5 genes found")
    expect(page.get_by_text("Not in the graph under these names (1): NOTAGENE1")).to_be_visible()
    table = page.locator(".st-key-enriched").get_by_test_id("stDataFrame")
    name = table.get_by_test_id("glide-cell-1-0").text_content()
    # As above: a click into the moment in which the grid takes its size is given again.
    for patience in (10_000, SLOW):
        table.click(position={"x": 16, "y": 50})
        try:
            expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible(timeout=patience)
            break
        except AssertionError:
            if patience == SLOW:
                raise
    expect(page.get_by_role("tab", name="Explore")).to_have_attribute("aria-selected", "true")


@pytest.mark.slow
def test_an_import_outlives_a_touched_field_and_its_outcome_is_found(open_page, know_address):
    entries = "\n".join(
        json.dumps({"name": f"made_up_{number}", "description": f"Counts things of kind {number} in tables"})
        for number in range(300)
    )
    page = open_page(f"{know_address}/tools?tools_tabs=Catalogues")
    ready(page, "Tools")
    page.get_by_label("Kind").click()
    page.get_by_role("option", name=re.compile("^Any other")).click()
    ready(page, "Tools")
    page.locator("input[type=file]").set_input_files(
        [{"name": "many.jsonl", "mimeType": "application/json", "buffer": entries.encode()}]
    )
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_label("Name", exact=True).fill("touched")
    page.get_by_role("tab", name="Find").click()
    page.get_by_role("tab", name="Catalogues").click()
    ended = page.locator(".st-key-import_ended")
    expect(ended).to_contain_text("300 tools added")
    page.reload()
    expect(ended).to_contain_text("300 tools added")
    ended.get_by_role("button", name="Dismiss").click()
    expect(ended).to_have_count(0)
    expect(page.get_by_text("300 tools, jsonl")).to_be_visible()
