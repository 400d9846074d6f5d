"""What tests of whole runs share."""

from __future__ import annotations

from pathlib import Path

import pytest
from held_steps import holding


@pytest.fixture
def held(monkeypatch, tmp_path) -> Path:
    """Return a file that, once it is written, names the steps that engines of this process hold."""
    from engine.adapters.process_sandbox import ProcessSandbox

    switch = tmp_path / "held"
    monkeypatch.setattr(ProcessSandbox, "run", holding(ProcessSandbox.run, switch))
    return switch
