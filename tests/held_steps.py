"""Steps that never end by themselves, so that what a test does to a running run meets one that is running.

As a program it starts another one whose steps are held:

    python held_steps.py SWITCH biodesk run plan.json     the commands of `biodesk`
    python held_steps.py SWITCH streamlit run app.py      the app

While the file SWITCH exists, the steps it names (their ids, apart by blanks; `*` for all) are held: each that begins
then computes for ever, until it is cancelled or its process ends. A step named with `:later` behind its id is put off
instead: it begins when SWITCH is gone.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from waiting import until

IMPORTED = ("numpy.random", "pandas", "scipy.stats", "matplotlib.pyplot", "statsmodels.api", "sklearn", "lifelines")
"""What most steps of tests import; a step forked from a worker that has it starts in milliseconds, not seconds."""
ENDLESS = "import time\nprint('held', flush=True)\nwhile True:\n    time.sleep(1)\n"
"""What a held step runs in place of its own code: a real process in a real sandbox."""


def holding(run: Callable[..., Any], switch: Path) -> Callable[..., Any]:
    """Return `ProcessSandbox.run` with the steps held that the switch names."""

    def held(self: Any, job: Any, **more: Any) -> Any:
        run_id, _, step = str(job.id).rpartition("-")
        named = switch.read_text(encoding="utf-8").split() if switch.is_file() else []
        # What is no step, such as the sandbox's look at its own walls, goes on.
        if run_id.startswith("run_") and (step in named or "*" in named):
            job = replace(job, code=ENDLESS)
        if f"{step}:later" in named:
            until(lambda: not switch.exists() or more["cancel"].cancelled, seconds=math.inf)
        return run(self, job, **more)

    return held


def main(words: list[str]) -> int:
    """Run `biodesk` or `streamlit` with the steps held that the switch names; return the exit code."""
    switch, program, *rest = words
    from engine import bootstrap
    from engine.adapters.process_sandbox import ProcessSandbox

    bootstrap.PRELOAD, bootstrap.PRELOAD_SINGLE_CELL = IMPORTED, ()
    ProcessSandbox.run = holding(ProcessSandbox.run, Path(switch))  # type: ignore[method-assign]
    if program == "streamlit":
        from streamlit.web.cli import main as streamlit

        return int(streamlit(rest, standalone_mode=False) or 0)
    from engine.cli.main import main as biodesk

    return biodesk(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
