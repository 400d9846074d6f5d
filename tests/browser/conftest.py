"""A real Chromium against a real server: one of each, with a fresh workspace, for the tests of a module.

They end with the module. Browser and server take memory and a processor that the tests after them need, and the
browser's driver leaves a running event loop behind in the thread of the tests for as long as it lives.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from served_app import FLAGS, ROOT, SLOW, find_chromium, serving

LOADING = "Failed to fetch dynamically imported module"
"""What a page says that is left while it still loads a part of itself; nothing is wrong with it then."""


@pytest.fixture(scope="module")
def chromium():
    path = find_chromium()
    if not path:
        message = "No Chromium was found; install one or set BIODESK_CHROMIUM to its path."
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    # The usual five seconds are enough for this machine, not for every machine.
    sync_api.expect.set_options(timeout=SLOW)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=SLOW)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def switch(tmp_path_factory) -> Path:
    """A file that does not exist; while it does, it names the steps that the app holds."""
    return tmp_path_factory.mktemp("switch") / "held"


@pytest.fixture(scope="module")
def app_address(tmp_path_factory, switch):
    workspace = tmp_path_factory.mktemp("browser") / "workspace"
    with serving(ROOT / "app.py", ROOT, switch=switch, BIODESK_WORKSPACE=str(workspace)) as address:
        yield address


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Remember that a test failed, for the fixture that then says what was on the screen."""
    report = yield
    if call.when == "call" and report.failed:
        item.stash[FAILED] = True
    return report


FAILED = pytest.StashKey[bool]()


class Profiles:
    """Browser profiles of 1280x800, each with one page; one that was given back is emptied and taken by the next test.

    What a page loads of Streamlit is then loaded and compiled once for a module: half of what drawing a page costs.
    """

    def __init__(self, browser) -> None:
        self.browser = browser
        self.empty: list = []

    def take(self, scheme: str = "light"):
        """Return a page without an address."""
        if self.empty:
            page = self.empty.pop()
        else:
            page = self.browser.new_context().new_page()
            page.context.set_default_timeout(SLOW)
        page.set_viewport_size({"width": 1280, "height": 800})
        page.emulate_media(color_scheme=scheme)
        return page

    def give_back(self, page) -> None:
        """Take from a profile what the app wrote into it; the session on the server ends with the page's address."""
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
        page.context.clear_cookies()
        page.goto("about:blank")
        self.empty.append(page)


@pytest.fixture(scope="module")
def profiles(chromium):
    return Profiles(chromium)


@pytest.fixture
def open_page(profiles, request) -> Callable:
    """Return a function that opens an address in a page of an empty browser profile of 1280x800.

    `heard` are listeners by the event of the page that they hear; they hear it from before the address is opened.
    """
    pages, failures = [], []

    def failed(error) -> None:
        failures.append(str(error))

    def open_address(address: str, *, scheme: str = "light", heard: dict[str, Callable] | None = None):
        page, listeners = profiles.take(scheme), {"pageerror": failed, **(heard or {})}
        pages.append((page, listeners))
        for event, listener in listeners.items():
            page.on(event, listener)
        page.goto(address)
        return page

    yield open_address
    found = [text for text in failures if LOADING not in text]  # before closing, which breaks off what still loads
    broken = request.node.stash.get(FAILED, False)
    for page, _ in pages:
        if broken:
            print(f"==== on the screen at {page.url} ====\n{page.locator('body').inner_text(timeout=5000)}")
    for page, listeners in pages:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        if broken or found:
            page.context.close()
        else:
            profiles.give_back(page)
    assert not found, f"scripts of the page failed: {found}"
