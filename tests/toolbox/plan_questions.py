"""The planner as the app has it, for the tests beside tools: a plain question over a small file plans the tool."""

from __future__ import annotations

import functools

from engine.adapters.embedding import load_embedder
from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

__all__ = ["profile_files", "the_planner"]


@functools.cache
def the_planner() -> Planner:
    """Return the planner with every built-in tool and the embedder."""
    embedder = load_embedder("all-MiniLM-L6-v2")
    assert embedder is not None
    return Planner(builtin_tools(), embedder.embed)
