"""What is said where a question cannot be planned, or may mean something else: by name, with what is missing and what is near."""

from __future__ import annotations

from typing import get_args

from engine.data.catalogue import KINDS
from engine.data.structure.scales import two_states
from engine.domain.datatypes import DataType
from engine.domain.plan import Alternative, OpenQuestion, WayOn
from engine.domain.profile import ColumnProfile, Profile, Role
from engine.domain.retrieval import ToolSearch
from engine.domain.toolspec import ParamSpec
from engine.errors import DataError, PlanError
from engine.planning.binding.bound import Bound
from engine.planning.binding.slots import slot_of
from engine.planning.choosing.coverage import nothing_called
from engine.planning.choosing.score import Candidate
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Sheet, is_group, is_id, is_number
from engine.planning.telling.lacking import missing, why_not
from engine.planning.telling.offers import WHAT
from engine.toolbox.analyses import Analysis
from engine.toolbox.registry import ToolRegistry

CHOICES = 40
"""At most so many columns are offered."""


class NotUnderstood(PlanError):
    """The words of a question lead to nothing that can be done with these files."""


def no_data(able: list[str]) -> PlanError:
    """Return the error for a question that needs data and came without any: what the desk has and has not.

    Args:
        able: what it can compute from files, a line for each field.
    """
    message = "No data file came with the question."
    add = "Add the file (CSV, TSV, Excel, h5ad, GMT...) with the data to analyse."
    return PlanError(message, advice=f"{add} {WHAT} From files: {'; '.join(able)}.")


def require_data(profiles: list[Profile], data: Data) -> None:
    """Refuse a question with files none of which can be used; without any file the analysis decides.

    Raises:
        DataError: when none can be used.
    """
    if profiles and not data.sheets:
        message = " ".join(why_not(profile) for profile in profiles)
        raise DataError(message, advice="Give a file that holds data, for example a CSV table or an h5ad file.")


def refusal(
    goal: Candidate, reading: Reading, data: Data, registry: ToolRegistry, analyses: dict[str, Analysis]
) -> PlanError:
    """Return the error for an analysis that no tool or no file serves: by its name, with what is nearest."""
    analysis = goal.analysis
    able = [tool for tool in registry if analysis.id in tool.answers]
    if not analysis.data:
        message = "These data cannot answer that question." + nothing_called(reading, data)
        advice = "They hold " + "; ".join(
            f"{s.name}: {', '.join(c.name for c in s.columns[:12])}" for s in data.sheets[:3]
        )
        return NotUnderstood(message, advice=advice + ".", details={"analysis": analysis.id, "ways_on": []})
    if able and not goal.feasible:
        wanted = DataType(analysis.data[0])
        return missing([s.profile for s in data.sheets], able[0], wanted)
    near = [
        a
        for a in analyses.values()
        if a.family == analysis.family and a.id != analysis.id and any(a.id in tool.answers for tool in registry)
    ]
    names = ", ".join(a.name for a in near[:4])
    there = {kind.value for kind in data.types()}
    ways = [WayOn(says=a.name, analysis=a.id).model_dump() for a in near[:4] if there & {*a.data}]
    message = f"The question asks for {analysis.name} ({analysis.asks}), which no tool of this version carries out."
    needs = f" It would need {', '.join(analysis.slots)}." if analysis.slots else ""
    advice = f"Nearest of what can be done, and not the same: {names}.{needs}" if names else needs.strip()
    return NotUnderstood(message, advice=advice, details={"analysis": analysis.id, "ways_on": ways})


def add_ways(err: PlanError, data: Data, every: list[Candidate], analysis: str) -> None:
    """Add to the error for a kind of data that no file holds what could be done: say which columns it is, another analysis.

    Args:
        err: the error.
        data: the files.
        every: what the question may ask for, the likeliest first.
        analysis: what was wanted.
    """
    missed = err.details.get("missing")
    if not missed or err.details.get("ways_on"):
        return
    able = [c for c in every if c.feasible and not c.unmet and c.analysis.data and c.bound is not None
            and not c.bound.missing and c.analysis.id != analysis]  # fmt: skip
    ways = [
        _said_to_be(DataType(str(missed)), data, analysis),
        *(WayOn(says=says(c), analysis=c.analysis.id) for c in able[:3]),
    ]
    err.details["ways_on"] = [way.model_dump() for way in ways if way is not None]


def _said_to_be(wanted: DataType, data: Data, analysis: str) -> WayOn | None:
    """Return the columns that would make a table the kind of data that is wanted, if they were said to be what it needs."""
    schema = KINDS[wanted].schema
    needed = {field.name: field.meaning for field in schema.fields if field.needed and field.name in get_args(Role)}
    sheet = next((sheet for sheet in data.sheets if sheet.serves(DataType.TABLE)), None)
    if not needed or sheet is None:
        return None
    states_first = sorted(sheet.columns, key=lambda column: not two_states(list(column.levels)))
    able = {name: [c.name for c in states_first if _could_be(name, c)][:CHOICES] for name in needed}
    if not all(able.values()):
        return None
    return WayOn(says=f"Say which columns of {sheet.name} these are", analysis=analysis, said=able, meant=needed)


def _could_be(role: str, column: ColumnProfile) -> bool:
    """Say whether a column could be something by its values: the time a number, the event one of few levels."""
    return 2 <= len(column.levels) <= FEW if role == "event" else is_number(column) and column.scale != "binary"


FEW = 6
"""An event has so many levels at most: the kinds of end."""


def unbound(analysis: Analysis, bound: Bound, reading: Reading, data: Data) -> PlanError:
    """Return the error for a step that lacks a column no word names: what is meant by it and what could be named."""
    param = bound.missing[0]
    sheet = bound.sheet
    names = ", ".join(c.name for c in (sheet.columns if sheet else data.columns())[:12])
    message = (
        f"The question asks for {analysis.name}, but names no column for: {param.description.rstrip('.').lower()}."
    )
    message += nothing_called(reading, data)
    where = sheet.name if sheet else "the data"
    ways = [_named_for(param, analysis, bound, sheet)] if sheet and param.kind in ("column", "columns") else []
    return NotUnderstood(
        message,
        advice=f"The columns of {where} are {names}. Name one in the question.",
        details={"analysis": analysis.id, "ways_on": [way.model_dump() for way in ways if way.columns]},
    )


def _named_for(param: ParamSpec, analysis: Analysis, bound: Bound, sheet: Sheet) -> WayOn:
    """Return the choice of a column that no word names: of those that fit, the best first."""
    fits, taken = slot_of(param.role).fits, bound.columns()
    able = {c.name: fit for c in sheet.columns if c.name not in taken and (fit := fits(c, sheet)) > 0}
    return WayOn(
        says=param.description.rstrip("."), analysis=analysis.id, tool=bound.spec.name, param=param.name,
        columns=sorted(able, key=lambda name: -able[name])[:CHOICES], several=param.kind == "columns",
    )  # fmt: skip


def alternatives_of(every: list[Candidate], chosen: set[str]) -> list[Alternative]:
    """Return what else a question could mean and data could serve, at most three, the likeliest first."""
    others = [
        c
        for c in every
        if c.analysis.id not in chosen and c.feasible and not c.unmet and c.probability >= 0.03 and c.analysis.data
    ]
    return [Alternative(id=c.analysis.id, probability=round(c.probability, 3), says=says(c)) for c in others[:3]]


def says(item: Candidate) -> str:
    """Return in a sentence what an analysis would compare or compute here."""
    if item.bound is None:
        return f"{item.analysis.name.capitalize()}: {item.analysis.asks} (no tool carries it out yet)"
    columns = ", ".join(dict.fromkeys(item.bound.columns()))
    return f"{item.analysis.name.capitalize()}: {item.analysis.asks}" + (f", of {columns}" if columns else "")


def did_you_mean(goal: Candidate, alternatives: list[Alternative]) -> OpenQuestion:
    """Return the question whether an unsure analysis is the one that is meant; the plan waits for it."""
    return OpenQuestion(
        id="analysis", text=f"Is this what is meant? {says(goal)}.",
        why=("The wording fits this best, but others come near: " + "; ".join(a.says for a in alternatives) + ".") if alternatives
        else "The wording says little; nothing else comes near.",
        choices=[goal.analysis.id, *(a.id for a in alternatives)], proposed=goal.analysis.id, blocking=True,
    )  # fmt: skip


def too_little(reading: Reading, data: Data, every: list[Candidate]) -> NotUnderstood:
    """Return the error for a question that names hardly anything of the data: what is missing, what is there to be named."""
    message = f"The question does not say which of the data it asks about.{nothing_called(reading, data)}"
    structure = [name for sheet in data.sheets for name in sheet.structure.survival.values()]
    columns = [
        c for sheet in data.sheets for c in sheet.columns
        if not is_id(c) and c.name not in structure and not (c.kind == "integer" and c.distinct == sheet.profile.rows)
    ]  # fmt: skip
    measured = [c.name for c in columns if is_number(c) and not two_states([*c.levels])]
    groups = [c.name for c in columns if is_group(c) and c.name not in measured]
    parts = [("Measured are", measured), ("groups are", groups)]
    told = "; ".join(f"{what} {', '.join(names[:MOST_TOLD])}" for what, names in parts if names)
    meant = [c for c in every[:3] if c.feasible and c.analysis.data and c.bound is not None]
    ways = [WayOn(says=says(c), analysis=c.analysis.id).model_dump() for c in meant]
    advice = f"{told[:1].upper()}{told[1:]}. Say it with these names." if told else ""
    return NotUnderstood(message, advice=advice, details={"ways_on": ways})


MOST_TOLD = 12
"""So many columns of a kind are told at most."""


def not_understood(data: Data, found: ToolSearch | None, every: list[Candidate]) -> NotUnderstood:
    """Return the error for words that lead to nothing: what is nearest here and in the catalogues."""
    files = ", ".join(sheet.name for sheet in data.sheets)
    message = "The question names nothing that can be analysed in these files."
    meant = [c for c in every[:3] if c.feasible and c.analysis.data and c.bound is not None]
    could = "; ".join(map(says, meant))
    ways = [WayOn(says=says(c), analysis=c.analysis.id).model_dump() for c in meant]
    advice = (
        f"Did you mean: {could}?"
        if could
        else f"{files} can be asked about {', '.join(c.name for c in data.columns()[:12])}."
    )
    near = found.tools[:3] if found else []
    if near:
        names = "; ".join(
            f"{t.name} ({'built in' if t.runnable else f'{t.catalogue}, not runnable here'})" for t in near
        )
        advice += f" Nearest in the catalogues: {names}."
    return NotUnderstood(message, advice=advice, details={"ways_on": ways})
