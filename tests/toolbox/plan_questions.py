"""The planner as the app has it, for the tests beside tools: a plain question over a small file plans the tool."""

from __future__ import annotations

import functools

import pandas as pd

from engine.adapters.embedding import load_embedder
from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

__all__ = ["profile_files", "the_planner", "with_codes"]


@functools.cache
def the_planner() -> Planner:
    """Return the planner with every built-in tool and the embedder."""
    embedder = load_embedder("all-MiniLM-L6-v2")
    assert embedder is not None
    return Planner(builtin_tools(), embedder.embed)


def with_codes(table, codes, path):
    """Return the profile of a workbook whose second sheet says of columns of the first what their codes stand for."""
    with pd.ExcelWriter(path) as book:
        table.to_excel(book, sheet_name="data", index=False)
        pd.DataFrame(codes, columns=["variable", "code", "meaning"]).to_excel(book, sheet_name="codes", index=False)
    return profile_files([path])
