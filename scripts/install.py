"""Installs a lock file and the project itself into this environment, and says in plain words what failed.

Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import re
import subprocess
import sys


def main() -> int:
    """Install the lock file named on the command line."""
    lock = sys.argv[1]
    print(f"Installing the packages of {lock}; the first time takes some minutes ...", flush=True)
    steps = (["-r", lock], ["--no-deps", "--no-build-isolation", "-e", "."])
    for arguments in steps:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            return explain(done.stderr)
    print("Preparing compiled libraries, once ...", flush=True)
    return subprocess.run([sys.executable, "-m", "engine.adapters.warm_up"]).returncode


def explain(errors: str) -> int:
    """Print which package failed and how to go on; return the exit code."""
    lines = [line for line in errors.splitlines() if line.startswith("ERROR")] or errors.splitlines()[-5:]
    named = re.search(r"(?:for|requirement|install|distribution found for)\s+([A-Za-z0-9_.-]+==[\w.+]+)", errors)
    print("\n".join(lines), file=sys.stderr)
    print(f"\nInstalling {named.group(1) if named else 'the packages'} failed.", file=sys.stderr)
    print(
        "Check the network connection (or the package index set for pip) and run the same make command again; what is\n"
        "already installed is not installed twice. `make clean` starts over.",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
