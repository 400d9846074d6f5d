"""A real Chromium against a real server: one server with a fresh workspace for all tests of this folder."""

from __future__ import annotations

import os

import pytest
from served_app import FLAGS, ROOT, find_chromium, serving


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    path = find_chromium()
    if not path:
        message = "No Chromium was found; install one or set BIODESK_CHROMIUM to its path."
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app_address(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("browser") / "workspace"
    with serving(ROOT / "app.py", ROOT, BIODESK_WORKSPACE=str(workspace)) as address:
        yield address


@pytest.fixture
def open_page(chromium):
    """Return a function that opens an address in a new, empty browser profile of 1280x800."""
    contexts, failures = [], []

    def open_address(address: str, *, scheme: str = "light"):
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(address)
        return page

    yield open_address
    for context in contexts:
        context.close()
    assert not failures, f"scripts of the page failed: {failures}"
