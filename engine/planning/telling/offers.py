"""What the desk can do, from what its tools answer: by field where there is no file, with their columns where there is one."""

from __future__ import annotations

from collections.abc import Iterable

from engine.domain.brief import Setup, SetupPart
from engine.domain.plan import listed
from engine.domain.toolspec import ParamSpec
from engine.planning.binding.bound import Bound
from engine.planning.binding.slots import slot_of
from engine.planning.choosing.score import Candidate
from engine.toolbox.analyses import Analysis
from engine.toolbox.registry import ToolRegistry

WORDS = 6
"""So many words at most name the analyses of a field."""
WHAT = (
    "The desk computes answers from data files, plans sample sizes without a file, tells what graph and memory "
    "hold, and is no textbook of methods."
)


def offers(registry: ToolRegistry, analyses: dict[str, Analysis]) -> list[str]:
    """Return a line for each field: its name and its first analyses that a tool carries out, in a few words."""
    able = {key for tool in registry for key in tool.answers}
    fields: dict[str, list[Analysis]] = {}
    for one in sorted((a for a in analyses.values() if a.id in able), key=lambda a: a.rank):
        fields.setdefault(one.field, []).append(one)
    return [f"{field.replace('_', ' ')}: {_few([a.name for a in fields[field]])}" for field in sorted(fields)]


def _few(names: list[str]) -> str:
    """Return as many of the names, the first ones first, as the number of words allows."""
    kept: list[str] = []
    for name in names:
        if len(" ".join([*kept, name]).split()) <= WORDS:
            kept.append(name)
    return ", ".join(kept)


def setups(every: Iterable[Candidate]) -> list[Setup]:
    """Return the analyses that files can serve with the columns that each could take, in the order they are given in."""
    found = (
        Setup(analysis=c.analysis.id, title=c.analysis.name, asks=c.analysis.asks, tool=c.bound.spec.name,
              parts=_parts(c.bound))
        for c in every
        if c.bound is not None and c.feasible and c.analysis.data and c.bound.spec.runnable
    )  # fmt: skip
    return [one for one in found if one.parts and all(part.columns for part in one.parts if part.needed)]


def _parts(bound: Bound) -> list[SetupPart]:
    """Return what columns a tool takes; how columns are to be read (`as_groups`) is asked when the plan is there."""
    parts = [
        _part(p, bound)
        for p in bound.spec.params
        if p.kind in ("column", "columns") and p.role not in ("", "as_groups")
    ]
    return sorted((part for part in parts if part.columns or part.needed), key=lambda part: not part.needed)


def _part(param: ParamSpec, bound: Bound) -> SetupPart:
    sheet, fits = bound.sheets.get(param.of) or bound.sheet, slot_of(param.role).fits
    able = {c.name: fit for c in sheet.columns if (fit := fits(c, sheet)) > 0} if sheet is not None else {}
    columns = sorted(able, key=lambda name: -able[name])
    named = [name for name in listed(bound.params.get(param.name)) if name in able]
    return SetupPart(
        param=param.name, label=param.description.rstrip("."), columns=columns, named=named,
        several=param.kind == "columns", needed=param.required or (param.needed and not _stood_for(param, bound)),
    )  # fmt: skip


def _stood_for(param: ParamSpec, bound: Bound) -> bool:
    """Say whether other parameters may stand in the place of one: events and totals in that of a yes or no."""
    return any(param.name in other.instead_of for other in bound.spec.params)
