"""Which LiteLLM is installed and whether it may be used, found out without importing it.

Versions 1.82.7 and 1.82.8 stole credentials (OSV MAL-2026-2144), the second already when Python started, through a file
`litellm_init.pth`. Before 1.83.10 its proxy could be broken into; the proxy is never used here, but nothing older is
taken either.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import site
import sys
from functools import cache
from pathlib import Path
from typing import Any

from engine.errors import ModelUnavailable

OLDEST = (1, 83, 10)
STOLEN = ("1.82.7", "1.82.8")
_PTH = "litellm_init.pth"
_PRICES = "model_prices_and_context_window_backup.json"


def build() -> dict[str, Any]:
    """Return `version` ("" when it is not installed), `usable`, and `warnings` in sentences."""
    try:
        version = importlib.metadata.version("litellm")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    warnings = [
        f"{path} is what a stolen release of LiteLLM left behind: it runs with every start of Python. Remove this "
        "environment, make a new one, and change every key that this account could read."
        for path in _startup_files()
    ]
    if version in STOLEN:
        warnings.append(f"LiteLLM {version} steals credentials. Remove this environment and change your keys.")
    elif version and _numbers(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        warnings.append(f"LiteLLM {version} is older than {oldest} and is not used: `make models` installs another.")
    return {"version": version, "usable": bool(version) and not warnings, "warnings": warnings}


def require() -> None:
    """Refuse to go on where LiteLLM is missing or must not be imported.

    Raises:
        ModelUnavailable: with what to do.
    """
    found = build()
    if not found["version"]:
        message = "Models of this provider are asked through LiteLLM, which is not installed."
        raise ModelUnavailable(message, advice="`make models` in Biodesk's folder installs it.", reached=False)
    if not found["usable"]:
        raise ModelUnavailable(" ".join(found["warnings"]), advice="See docs/models.md.", reached=False)


@cache
def price_table() -> dict[str, dict[str, Any]]:
    """Return LiteLLM's table of models, from its file and without importing it; empty where it is not installed."""
    spec = importlib.util.find_spec("litellm")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        try:
            return json.loads((Path(folder) / _PRICES).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
    return {}


def _startup_files() -> list[Path]:
    folders = dict.fromkeys([*sys.path, *site.getsitepackages(), site.getusersitepackages()])
    return [path for folder in folders if folder and (path := Path(folder) / _PTH).is_file()]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
