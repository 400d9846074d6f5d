"""What a person says a column is, put in place of what was found, with everything that follows from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from engine.data.catalogue import BINARIES, KINDS
from engine.data.reading.excel import read_excel
from engine.data.reading.text_table import read_text_table
from engine.data.reading.textfile import read_text
from engine.data.source import Frame, UnusableFile
from engine.data.structure.rows import look, structure_of
from engine.data.structure.scales import sorted_levels, two_states
from engine.data.tables import rows_of
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile, Profile, Role, RoleGuess, Scale, TypeGuess
from engine.errors import DataError, PlanError

_SCALES = get_args(Scale)
_ROLES = get_args(Role)


def apply(profile: Profile, corrections: dict[str, str]) -> Profile:
    """Return the profile with columns as a person says they are, and its structure found anew from the file.

    Args:
        profile: the profile of a file that is still where it was.
        corrections: column -> a scale, a role, `unit:mg` or `ignore`; several parted by commas.

    Raises:
        PlanError: for an unknown column, scale or role.
        DataError: when the file can no longer be read.
    """
    names = [column.name for column in profile.column_profiles]
    for name in corrections:
        if name not in names:
            message = f"{profile.name} has no column {name!r}."
            raise PlanError(message, advice=f"Its columns are {', '.join(names[:30])}.", details={"choices": names})
    corrected = [
        _corrected(column, corrections[column.name]) if column.name in corrections else column
        for column in profile.column_profiles
    ]
    frame = _read(profile)
    used = [column for column in corrected if column.corrected != "ignore"]
    # Columns that nobody corrected are judged again: what they are may follow from what was said of the others.
    again = {column.name: column for column in look(frame, used)[0]}
    columns = [column.seen_anew(again.get(column.name, column)) for column in corrected]
    structure = structure_of(frame, columns)
    said = {column.roles[0].role: column.name for column in columns if column.corrected and column.roles}
    if {"time", "event"} <= said.keys():  # they are those of one end, whatever was found
        structure = structure.model_copy(update={"survival": {"time": said["time"], "event": said["event"]}})
    changes = {"column_profiles": columns, "structure": structure, "types": _types(profile, said)}
    return profile.model_copy(update=changes)


def _types(profile: Profile, said: dict[str, str]) -> list[TypeGuess]:
    """Return what a file can serve as, with the kinds of table all of whose needed columns a person named."""
    table = profile.serves_as(DataType.TABLE)
    if table is None:
        return profile.types
    needs = {kind: {field.name for field in KINDS[kind].schema.fields if field.needed} for kind in KINDS}
    named = [kind for kind, needed in needs.items() if needed and needed <= said.keys() and not profile.serves_as(kind)]
    return [*(table.model_copy(update={"type": kind, "confidence": 1.0}) for kind in named), *profile.types]


def _corrected(column: ColumnProfile, said: str) -> ColumnProfile:
    words = [word.strip() for word in said.split(",") if word.strip()]
    changes: dict[str, Any] = {"corrected": ", ".join(words)}
    for word in words:
        if word.lower().startswith("unit:"):
            changes["unit"] = word[5:].strip()
        elif word.lower() == "ignore":
            changes |= {"roles": [], "corrected": "ignore"}
        elif word.lower() in (*_SCALES, *_ROLES):
            changes |= _as(column, word.lower())
        else:
            words = []
    if not words:
        choices = [*dict.fromkeys([*_SCALES, *_ROLES]), "unit:...", "ignore"]
        message = f"{column.name!r} cannot be {said!r}."
        raise PlanError(message, advice=f"Say one of {', '.join(choices)}.", details={"choices": choices})
    return column.model_copy(update=changes)


def _as(column: ColumnProfile, word: str) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if word in _SCALES:
        levels = list(column.levels)
        order = two_states(levels) or sorted_levels(column) if word in ("ordered", "binary") else []
        changes |= {"scale": word, "order": order or (levels if word == "ordered" else [])}
    if word in _ROLES:
        changes["roles"] = [RoleGuess.model_validate({"role": word, "confidence": 1.0, "why": "you said so"})]
    return changes


def _read(profile: Profile) -> Frame:
    """Return the rows of the file as the profiler saw them."""
    path = Path(profile.path)
    binary = next((b for b in BINARIES if b.format == profile.format), None)
    try:
        if binary is not None:
            return binary.rows(path)
        kind = KINDS[profile.types[0].type] if profile.types else None
        if kind is not None and kind.in_text is not None:
            return kind.read(path, **profile.types[0].read)
        with path.open("rb") as handle:
            is_zip = handle.read(4) == b"PK\x03\x04"
        sheet = str(profile.types[0].read.get("sheet", "")) if profile.types else ""
        source = read_excel(path, sheet) if is_zip else read_text_table(path, read_text(path))
    except (OSError, UnusableFile) as error:
        message = f"{profile.name} cannot be read again ({error})."
        raise DataError(message, advice="Put the file back where it was, or add it again.") from error
    return rows_of(profile.name, source)
