"""A server that is ended while a step computes: nothing goes on without it, and the run can be taken up again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import expect
from served_app import ROOT, SLOW
from waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def biodesk(workspace: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "engine", "--workspace", str(workspace), *words]


def test_what_a_server_was_computing_ends_with_it_and_resumes(open_page, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "BIODESK_EMBEDDING_MODEL": "none"}
    workspace, said = tmp_path / "w", tmp_path / "said"
    with said.open("wb") as log:
        server = subprocess.Popen(
            biodesk(workspace, "serve", "--port", "0"), cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log
        )
    try:
        assert server.stdout is not None
        line = server.stdout.readline().decode()
        found = re.search(r"http://\S+", line)
        assert found, line + said.read_text()
        _wait_for(found[0])
        page = open_page(found[0])
        page.locator(".st-key-example_blood_cells").get_by_role("button", name="Ask this").click()
        page.get_by_role("button", name="Run this plan").click()
        page.wait_for_function("() => /run=run_/.test(location.href)")
        run_id = re.search(r"run_\w+", page.url)
        assert run_id
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        family = psutil.Process(server.pid).children(recursive=True)
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        _, left = psutil.wait_procs(family, timeout=20)
        assert not [child for child in left if child.status() != psutil.STATUS_ZOMBIE]
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
    assert "Traceback" not in said.read_text()

    def call(*words: str) -> tuple[int, dict]:
        done = subprocess.run(biodesk(workspace, *words, "--json"), cwd=ROOT, env=environment, capture_output=True)
        return done.returncode, json.loads(done.stdout)

    assert call("show", run_id[0])[1]["status"] == "interrupted"
    code, answer = call("resume", run_id[0])
    assert (code, answer["status"]) == (0, "succeeded")
    assert call("verify", run_id[0])[0] == 0


def _wait_for(address: str) -> None:
    def answers() -> bool:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}_stcore/health", timeout=10).close()
            return True
        return False

    until(answers, SLOW / 1000)
