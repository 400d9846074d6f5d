"""Names that are markup, links, images and formulas, in everything that has a name: they are seen, and do nothing."""

from __future__ import annotations

import json
import re

import pytest
from hostile_names import ELSEWHERE, MARK, NAMES, fill
from markdown_it import MarkdownIt
from playwright.sync_api import Locator, Page, expect
from served_app import COLD, ROOT, serving
from waiting import comes_about

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Serve the workspace; give its address, its finished run and a folder with every export of that run."""
    from engine.api import open_engine

    folder = tmp_path_factory.mktemp("hostile")
    run_id = fill(folder / "workspace", folder)
    with open_engine(workspace=folder / "workspace", warm_workers=False) as engine:
        engine.bundle(run_id, folder / "out")
    with serving(ROOT / "app.py", ROOT, BIODESK_WORKSPACE=str(folder / "workspace"), **COLD) as address:
        yield address, run_id, folder / "out"


@pytest.fixture
def watched(open_page):
    """Return a function that opens an address; in the end nothing was asked of others and no script of a name ran."""
    pages, asked = [], []

    def opened(address: str, then: str = "") -> Page:
        page = open_page(
            address,
            heard={
                "request": lambda request: asked.append(request.url),
                "dialog": lambda dialog: (asked.append(f"http://dialog/{dialog.message}"), dialog.dismiss()),
                "popup": lambda other: asked.append(f"http://window/{other.url}"),
            },
        )
        if then:
            ready(page, then)
        pages.append((page, address))
        return page

    yield opened
    for page, address in pages:
        page.wait_for_load_state("networkidle")
        host = re.match(r"\w+://[^/]*", address)[0]
        assert [
            url for url in asked if url.startswith(("http", "ws")) and url.split("//")[1].split("/")[0] not in host
        ] == []
        assert [frame.url for frame in page.frames if frame.evaluate("window.__pwned") is not None] == []
        assert page.locator(f"a[href*='{ELSEWHERE}'], img[src*='{ELSEWHERE}']").count() == 0
    assert pages


def ready(page: Page, title: str) -> None:
    """Wait until a page is drawn to its end."""
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.get_by_text("Built-in planner, no model")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def seen(place: Page | Locator, name: str | re.Pattern[str]) -> None:
    """Wait until a name is seen as it was typed; parts that are folded away may hold it too."""
    expect(place.get_by_text(name).filter(visible=True).first).to_be_visible()


@pytest.mark.slow
def test_ask(watched, hostile):
    address, run_id, _ = hostile
    page = watched(f"{address}/?run={run_id}", "Ask")
    for name in (NAMES["image"], NAMES["directive"], NAMES["formula"]):
        seen(page, name)
    page.get_by_text("Details", exact=True).click()
    page.get_by_role("tab", name="Methods").click()
    seen(page, f"Step {MARK}")


def test_points_of_a_figure_say_their_names_and_do_nothing(watched, hostile):
    address, run_id, _ = hostile
    page = watched(f"{address}/?run={run_id}", "Ask")
    page.get_by_text("Details", exact=True).click()
    page.get_by_role("tab", name="More figures").click()
    marks = page.get_by_test_id("stVegaLiteChart").locator(".mark-symbol.role-mark path")
    expect(marks).to_have_count(24)
    marks.last.scroll_into_view_if_needed()
    marks.last.hover()
    hint = page.locator("#vg-tooltip-element")
    expect(hint).to_contain_text(f"s23 {MARK}")
    expect(hint).to_contain_text("image")
    assert hint.locator("img").count() == 0
    picked = page.locator("[class*=st-key-point_]")
    for _ in range(3):  # a click while the chart is drawn anew is lost
        marks.last.click()
        if comes_about(picked.count, seconds=20):
            break
    seen(picked, f"s23 {MARK}")
    page.get_by_text("Picture", exact=True).click()
    expect(page.get_by_test_id("stImage")).not_to_have_count(0)


def test_plan_and_run(watched, hostile):
    address, run_id, _ = hostile
    page = watched(f"{address}/plan_run?run={run_id}", "Plan & Run")
    seen(page, f"Step {MARK}")
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    step = page.locator("[class*=st-key-graph_] svg path").all()
    for mark in step[:6]:
        mark.hover(force=True)  # the hint of a step is HTML


def test_provenance(watched, hostile):
    address, run_id, _ = hostile
    page = watched(f"{address}/provenance?run={run_id}", "Provenance")
    for tab in ("What ran", "Steps", "Compare", "Lineage"):
        page.get_by_role("tab", name=tab, exact=True).click()
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        if tab == "What ran":
            expect(page.get_by_role("cell", name=f"Step {MARK}", exact=True)).to_be_visible()


@pytest.mark.slow
def test_knowledge_graph(watched, hostile):
    address, *_ = hostile
    page = watched(f"{address}/knowledge_graph?entity=a", "Knowledge Graph")
    expect(page.get_by_role("heading", name=f"AAA1 {MARK}", exact=True)).to_be_visible()
    canvas = page.frame_locator("iframe").first.locator("canvas")
    expect(canvas).to_be_visible()
    canvas.hover()
    page.get_by_role("tab", name="Statistics").click()
    seen(page, f"source {MARK}")


def test_memory(watched, hostile):
    address, *_ = hostile
    page = watched(f"{address}/memory", "Memory")
    card = page.locator(".st-key-episode_ep1")
    for name in (f"Docking {MARK}", f"Found {MARK}", f"Mind {NAMES['table']}", NAMES["link"]):
        seen(card, name)
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def test_tools(watched, hostile):
    address, *_ = hostile
    page = watched(f"{address}/tools", "Tools")
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.get_by_role("tab", name="Catalogues").click()
    seen(page, re.compile(r"^:red\[b\] :material home: :smile:"))


# ==== exports ====


def test_html_report(watched, hostile):
    page = watched((hostile[2] / "report.html").as_uri())
    for name in (f"Step {MARK}", NAMES["directive"], NAMES["formula"]):
        seen(page, name)


@pytest.mark.parametrize("file", ["report.md", "README.md", "notebook.ipynb"])
def test_markdown_of_report_and_notebook(watched, hostile, tmp_path, file):
    text = (hostile[2] / file).read_text(encoding="utf-8")
    if file.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    drawn = tmp_path / "drawn.html"
    # With HTML let through, as GitHub and Jupyter do.
    body = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    drawn.write_text(f"<meta charset=utf-8>{body}", encoding="utf-8")
    page = watched(drawn.as_uri())
    wanted = NAMES["directive"] if file == "README.md" else f"Step {MARK}"
    seen(page, wanted)


# ==== the second wall ====


def test_every_answer_of_the_server_carries_the_policy(open_page, hostile):
    address, *_ = hostile
    page = open_page(f"{address}/knowledge_graph?entity=a")
    ready(page, "Knowledge Graph")
    drawing = page.locator("iframe").first.get_attribute("src")
    for place in (address, f"{address}/_stcore/health", drawing):
        policy = page.request.get(place).headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert not re.search(r"script-src[^;]*'unsafe-", policy)
        assert ("sandbox" in policy) == (place == drawing)
    ran = "() => { const e = document.createElement('div'); e.innerHTML = '<img src=x onerror=window.__ran=1>';" \
          " document.body.append(e); return new Promise(done => e.firstChild.addEventListener('error', () =>" \
          " done(window.__ran))); }"  # fmt: skip
    assert page.evaluate(ran) is None
