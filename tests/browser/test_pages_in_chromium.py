"""What only a browser shows: a first visit, a whole analysis by clicks, refresh, a second tab, stop, both themes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from served_app import COLD, ROOT, SLOW, serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def survival_run(profiles, app_address):
    """Click through the survival example once; return the address of its answer."""
    page = profiles.take()
    page.goto(app_address)
    ask_example(page, "breast_cancer_survival")
    expect(page.get_by_text("Nothing has been computed yet")).to_be_visible()
    page.get_by_role("button", name="Run this plan").click()
    expect(page.get_by_text("Details", exact=True)).to_be_visible()
    if folder := os.environ.get("BIODESK_SCREENSHOTS"):
        whole(page.locator("[data-testid=stImage] img").first)
        page.screenshot(animations="disabled", path=Path(folder) / "answer.png")
    address = page.url
    profiles.give_back(page)
    return address


def ask_example(page: Page, example: str) -> None:
    """Ask one of the built-in questions."""
    ready(page, "Ask")
    page.locator(f".st-key-example_{example}").get_by_role("button", name="Ask this").click()


def run_of(address: str) -> str:
    found = re.search(r"run=(run_\w+)", address)
    assert found, f"the address {address} names no run"
    return found.group(1)


def ready(page: Page, title: str) -> None:
    """Wait until a page is drawn to its end: the foot of the sidebar is what comes last."""
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.get_by_text("Built-in planner, no model")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def whole(image: Locator) -> None:
    """Wait until an image has been loaded: it has its place on the page before it has its content."""
    expect(image).to_be_visible()
    expect(image).to_have_js_property("complete", value=True)


def above(page: Page, selector: str, bottom: int) -> None:
    """Wait until all elements a selector finds end above a line: the layout moves while a page is being drawn."""
    page.wait_for_function(
        "([selector, bottom]) => { const found = [...document.querySelectorAll(selector)];"
        " return found.length > 0 && found.every(e => e.getBoundingClientRect().bottom <= bottom); }",
        arg=[selector, bottom],
    )


# ==== first sight ====


@pytest.mark.slow
def test_page_address_right_after_start_shows_the_whole_app(open_page, tmp_path):
    with serving(ROOT / "app.py", ROOT, BIODESK_WORKSPACE=str(tmp_path / "w")) as address:
        page = open_page(f"{address}/plan_run")
        ready(page, "Plan & Run")
        names = ["Ask", "Plan & Run", "Hypotheses", "Memory", "Knowledge Graph", "Tools", "Provenance", "Settings"]
        links = [re.compile(rf"{re.escape(name)}$") for name in names]  # before it stands the name of the icon
        expect(page.get_by_test_id("stSidebarNavLink")).to_have_text(links)


def test_empty_workspace_offers_examples_without_scrolling(open_page, tmp_path):
    with serving(ROOT / "app.py", ROOT, BIODESK_WORKSPACE=str(tmp_path / "w"), **COLD) as address:
        page = open_page(address)
        ready(page, "Ask")
        expect(page.get_by_role("button", name="Ask this")).to_have_count(3)
        above(page, "[class*=st-key-example_] button", 800)


# ==== an analysis by clicks ====


def test_answer_shows_figures_findings_and_limits(open_page, survival_run):
    page = open_page(survival_run)
    ready(page, "Ask")
    expect(page.get_by_text("Details", exact=True)).to_be_visible()
    expect(page.get_by_text("What limits this answer")).to_be_visible()
    figure = page.locator("[data-testid=stImage] img").first
    whole(figure)
    assert figure.evaluate("image => image.naturalWidth") > 300
    # German Breast Cancer Study Group 2: Cox model with age, size and grade; the ratio is below 1.
    expect(page.get_by_text(re.compile(r"horTh.*hazard ratio 0\.\d+")).first).to_be_visible()


def test_finding_opens_the_table_row_behind_it(open_page, survival_run):
    page = open_page(survival_run)
    ready(page, "Ask")
    page.get_by_text("Details", exact=True).click()
    # The innermost ones: what surrounds the answer may be a horizontal block too.
    rows = page.locator("[data-testid=stHorizontalBlock]:not(:has([data-testid=stHorizontalBlock]))")
    check = page.get_by_role("button", name="Check")
    row = rows.filter(has=check).filter(has_text=re.compile(r"The hazard of.*horTh")).first
    row.get_by_role("button", name="Check").click()
    expect(page.get_by_text(re.compile(r"Its row in .*cox_table\.csv")).first).to_be_visible()


def test_refresh_finds_the_run_again(open_page, survival_run):
    page = open_page(survival_run)
    ready(page, "Ask")
    expect(page.get_by_text("Details", exact=True)).to_be_visible()
    page.reload()
    ready(page, "Ask")
    expect(page.get_by_text("Details", exact=True)).to_be_visible()
    assert run_of(page.url) == run_of(survival_run)


def test_click_on_a_node_of_the_graph_chooses_the_step(open_page, app_address, survival_run):
    page = open_page(f"{app_address}/plan_run?run={run_of(survival_run)}")
    ready(page, "Plan & Run")
    expect(page.get_by_role("radio", name=re.compile("Cox"))).to_be_checked()  # the step that answers
    other = page.get_by_test_id("stButtonGroup").get_by_role("radio").filter(has_not_text="Cox").first
    expect(other).not_to_be_checked()
    label = page.locator("svg text", has_text=(other.text_content() or "").split()[0]).first
    # The chart is drawn anew whenever its room changes; a click into that moment reaches nobody, and is given again.
    for patience in (10_000, SLOW):
        label.click()
        try:
            expect(other).to_be_checked(timeout=patience)
            break
        except AssertionError:
            if patience == SLOW:
                raise
    expect(page.get_by_role("tab", name="Checks")).to_be_visible()


def test_report_and_bundle_are_saved(open_page, survival_run):
    page = open_page(survival_run)
    ready(page, "Ask")
    for name, ending, start in (("Report (HTML)", ".html", b"<!"), ("Everything (ZIP)", ".zip", b"PK")):
        with page.expect_download(timeout=SLOW) as waiting:
            page.get_by_role("button", name=name).click()
        assert waiting.value.suggested_filename.endswith(ending)
        assert Path(waiting.value.path()).read_bytes().startswith(start)


@pytest.mark.slow
def test_verify_says_as_recorded(open_page, app_address, survival_run):
    page = open_page(f"{app_address}/provenance?run={run_of(survival_run)}")
    ready(page, "Provenance")
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_text("As recorded")).to_be_visible()


@pytest.mark.slow
def test_the_plan_is_run_by_a_keyboard_within_ten_tabs(open_page, app_address):
    page = open_page(app_address)
    ask_example(page, "tumour_nuclei")
    run = page.get_by_role("button", name="Run this plan")
    expect(run).to_be_enabled()
    ready(page, "Ask")
    page.reload()  # the worst case: nothing is focused yet
    ready(page, "Ask")
    expect(run).to_be_enabled()
    page.keyboard.press("Tab")  # the link that skips the menu
    page.keyboard.press("Enter")
    for _ in range(9):
        page.keyboard.press("Tab")
        if run.evaluate("button => button === document.activeElement"):
            break
    expect(run).to_be_focused()


# ==== while it runs ====


def test_second_tab_finds_the_running_run_and_stop_ends_it(open_page, app_address, switch):
    page = open_page(app_address)
    ask_example(page, "tumour_nuclei")
    start = page.get_by_role("button", name="Run this plan")
    expect(start).to_be_enabled()
    switch.write_text("*")  # the run is at work until it is stopped, however quick the machine or slow this test
    try:
        start.click()
        expect(page.get_by_role("button", name="Stop run")).to_be_visible()
        expect(page.get_by_text(re.compile(r"Step \d of \d")).first).to_be_visible()
        other = open_page(page.url)
        working = other.get_by_test_id("stSidebar").locator("a", has_text=re.compile("nuclei|diagnosis|tumour"))
        expect(other.get_by_role("button", name="Stop run")).to_be_visible()
        expect(working).to_have_count(1)
        other.get_by_role("button", name="Stop run").click()
        expect(other.get_by_role("button", name="Resume")).to_be_visible()
        expect(other.get_by_text("was cancelled").first).to_be_visible()
        expect(working).to_have_count(0)
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
    finally:
        switch.unlink()


# ==== look ====


FURTHER = [("plan_run", "dark"), ("provenance", "light"), ("provenance", "dark")]
LOOKS = [
    ("", "light"),
    ("", "dark"),
    ("plan_run", "light"),
    *(pytest.param(*f, marks=pytest.mark.slow) for f in FURTHER),
]


@pytest.mark.parametrize(("place", "scheme"), LOOKS)
def test_both_themes_fit_the_window(open_page, app_address, survival_run, scheme, place):
    page = open_page(f"{app_address}/{place}?run={run_of(survival_run)}", scheme=scheme)
    ready(page, {"": "Ask", "plan_run": "Plan & Run", "provenance": "Provenance"}[place])
    color = page.get_by_test_id("stApp").evaluate("element => getComputedStyle(element).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", color)[:3])
    assert (brightness < 150) == (scheme == "dark")
    page.wait_for_function("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("place", ["plan_run", pytest.param("provenance", marks=pytest.mark.slow)])
def test_a_narrow_window_has_rows_in_place_of_the_graph(open_page, app_address, survival_run, place):
    page = open_page(f"{app_address}/{place}?run={run_of(survival_run)}")
    ready(page, {"plan_run": "Plan & Run", "provenance": "Provenance"}[place])
    drawing, rows = page.locator("[class*=st-key-wide_]").first, page.locator("[class*=st-key-narrow_]").first
    expect(drawing).to_be_visible()
    expect(rows).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(rows).to_be_visible()
    expect(rows).to_contain_text("Cox")
    expect(drawing).to_be_hidden()


def test_uploaded_table_gets_a_card(open_page, app_address, tmp_path):
    table = tmp_path / "growth.csv"
    table.write_text("plant,treatment,height\n" + "".join(f"p{k},{'ab'[k % 2]},{10 + k % 7}\n" for k in range(20)))
    page = open_page(app_address)
    ready(page, "Ask")
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(table)
    card = page.locator(".st-key-card_attached_0")
    expect(card.get_by_text("growth.csv")).to_be_visible()
    expect(card.get_by_text("20 rows x 3 columns")).to_be_visible()
    # The first rows, headed by what each column was taken for.
    expect(card.get_by_test_id("glide-cell-2-0").first).to_have_text("two states · group")
    expect(card.get_by_test_id("glide-cell-1-1").first).to_have_text("p0")


# ==== what these tests share ====


def test_a_profile_that_is_taken_again_remembers_nothing(profiles, app_address):
    page = profiles.take("dark")
    page.goto(f"{app_address}/_stcore/health")
    page.evaluate("localStorage.a = sessionStorage.a = document.cookie = 'a=1'")
    page.set_viewport_size({"width": 390, "height": 844})
    profiles.give_back(page)
    again = profiles.take()
    assert again is page
    again.goto(f"{app_address}/_stcore/health")
    kept = again.evaluate("[localStorage.length, sessionStorage.length, document.cookie.includes('a=1'), innerWidth]")
    assert kept == [0, 0, False, 1280]
    assert again.evaluate("matchMedia('(prefers-color-scheme: light)').matches")
    profiles.give_back(again)
