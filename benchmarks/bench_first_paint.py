"""How soon the app shows its first heading in a real browser, beside an empty Streamlit app served the same way.

    python benchmarks/bench_first_paint.py [--rounds 5]

In every round both servers are started anew and waited for. Then come two sessions, each with an empty browser cache:
the first since the server started (cold) and the second (warm). Time runs from the navigation to the first frame with
a visible heading, by the browser's own clock. Needs Chromium and the package playwright, which `make test`
installs.
"""

from __future__ import annotations

import http.client
import importlib.util
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.measuring import arguments, not_measured, report, summary, target  # noqa: E402

LIMIT = 1.5
CHROMIUM_ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                      "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
EMPTY = 'import streamlit as st\n\nst.set_page_config(page_title="Empty", layout="wide")\nst.title("Empty")\n'
PAINTED = """
() => {
  for (const heading of document.querySelectorAll("h1, h2, h3")) {
    const box = heading.getBoundingClientRect();
    const style = getComputedStyle(heading);
    const shown = box.width > 0 && box.height > 0 && style.visibility === "visible" && style.opacity !== "0";
    if (shown && heading.innerText.trim()) return {at: performance.now(), text: heading.innerText.trim()};
  }
  return null;
}
"""


@contextmanager
def served(script: Path, folder: Path, workspace: Path) -> Iterator[int]:
    """Serve a Streamlit script and yield its port once the server answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    environment = {**os.environ, "BIODESK_WORKSPACE": str(workspace)}
    silent = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=silent, stderr=silent)
    try:
        deadline = time.monotonic() + 60
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"The server of {script.name} did not start.")
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except OSError:
        return False


def first_byte(port: int) -> float:
    """Return milliseconds from connecting to the first byte of the page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    began = time.perf_counter()
    connection.request("GET", "/")
    connection.getresponse().read(1)
    spent = (time.perf_counter() - began) * 1000
    connection.close()
    return spent


def first_heading(browser: Any, port: int) -> tuple[float, str]:
    """Return milliseconds from the navigation to the first visible heading, and its text."""
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{port}/", wait_until="commit")
        found = page.wait_for_function(PAINTED, polling="raf", timeout=60_000).json_value()
        return float(found["at"]), str(found["text"])
    finally:
        context.close()


def main() -> None:
    """Measure, compare, report."""
    options = arguments(__doc__, rounds=5)
    chromium = os.environ.get("BIODESK_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        why = "Chromium is not installed (Debian: apt install chromium), nor named in BIODESK_CHROMIUM."
        return not_measured("first_paint", why)
    if importlib.util.find_spec("playwright") is None:
        return not_measured("first_paint", "The package playwright is not installed; `make test` installs it.")
    from playwright.sync_api import sync_playwright

    apps = ("Biodesk", "empty app")
    times: dict[tuple[str, str], list[float]] = {(app, kind): [] for app in apps for kind in ("byte", "cold", "warm")}
    headings: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="biodesk-bench-") as place, sync_playwright() as playwright:
        bare = Path(place) / "empty"
        shutil.copytree(ROOT / ".streamlit", bare / ".streamlit")
        (bare / "empty.py").write_text(EMPTY, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        with served(bare / "empty.py", bare, Path(place) / "none") as port:
            first_heading(browser, port)  # the browser's own first page is not measured
        for number in range(options.rounds):
            for app in apps if number % 2 == 0 else apps[::-1]:
                script, folder = (ROOT / "app.py", ROOT) if app == "Biodesk" else (bare / "empty.py", bare)
                with served(script, folder, Path(place) / f"workspace{number}") as port:
                    times[app, "byte"].append(first_byte(port))
                    for kind in ("cold", "warm"):
                        spent, headings[app] = first_heading(browser, port)
                        times[app, kind].append(spent)
                        time.sleep(1.0)
        browser.close()
    words = {"byte": "first byte", "cold": "first heading, cold session", "warm": "first heading, warm session"}
    rows = [summary(f"{app}: {words[kind]}", values, unit="ms") for (app, kind), values in times.items()]
    medians = {key: statistics.median(values) for key, values in times.items()}
    ratios = {kind: medians["Biodesk", kind] / medians["empty app", kind] for kind in ("cold", "warm")}
    targets = [target(f"{words[k]}, Biodesk / empty app", ratio, LIMIT, unit="x") for k, ratio in ratios.items()]
    return report("first_paint", rows, targets, headings=headings, browser=chromium)


if __name__ == "__main__":
    main()
