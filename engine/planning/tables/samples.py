"""Which file describes the samples of a matrix, and by which column its rows are the matrix' columns."""

from __future__ import annotations

from dataclasses import replace

from engine.data.matching import match_samples, same_samples
from engine.domain.datatypes import MATRICES, DataType
from engine.domain.profile import Profile, TypeGuess
from engine.errors import PlanError
from engine.planning.tables.sheets import Data, Sheet, usable

_SHEETS = {DataType.SAMPLE_SHEET, DataType.TABLE, DataType.SURVIVAL_TABLE}


def matrix_of(data: Data) -> Profile | None:
    """Return the file that is the matrix, raw counts first."""
    for kind in MATRICES:
        for sheet in data.serving(kind):
            guess = sheet.serves(kind)
            if guess is not None and guess.type == kind:
                return sheet.profile
    return None


def with_same_names(data: Data) -> Data:
    """Return the data with the samples of each sheet called as in the matrix, where they are only spelled otherwise."""
    matrix = matrix_of(data)
    return data if matrix is None else Data([_renamed(sheet, matrix) for sheet in data.sheets])


def _renamed(sheet: Sheet, matrix: Profile) -> Sheet:
    """Return a sheet that is read with the matrix's names of its samples."""
    profile = sheet.profile
    found = (
        None if profile is matrix or not {g.type for g in usable(profile)} & _SHEETS else same_samples(matrix, profile)
    )
    guess = profile.serves_as(DataType.SAMPLE_SHEET)
    column = (found[0] if found else "") or str(guess.read.get("index_col", "") if guess else "")
    if found is None or profile.column(column) is None:
        return sheet
    names = found[1]
    types = [
        one.model_copy(update={"read": {**one.read, "same": {**one.read.get("same", {}), column: names}}})
        for one in profile.types
    ]
    columns = [
        c.model_copy(update={"levels": {names.get(level, level): n for level, n in c.levels.items()}})
        if c.name == column
        else c
        for c in profile.column_profiles
    ]
    kept = {
        name: [names.get(one, one) for one in ids] if name == column else ids
        for name, ids in profile.details.get("ids", {}).items()
    }
    details = {**profile.details, "ids": kept} if kept else profile.details
    ids = [names.get(one, one) for one in profile.sample_ids]
    update = {"types": types, "column_profiles": columns, "details": details, "sample_ids": ids}
    return Sheet(profile.model_copy(update=update), sheet.made)


def sample_sheet(data: Data) -> Sheet | None:
    """Return the file whose rows are the matrix' samples, or None when there is no matrix or no other table.

    Raises:
        PlanError: when no sample of the matrix is in it.
    """
    matrix = matrix_of(data)
    if matrix is None:
        return None
    able = [
        s
        for s in data.sheets
        if s.profile is not matrix and {g.type for g in usable(s.profile)} & _SHEETS and s.columns
    ]
    if not able:
        return None
    best = max(able, key=lambda sheet: match_samples(matrix, sheet.profile).fraction)
    if match_samples(matrix, best.profile).fraction == 0:
        ours, theirs = ", ".join(matrix.sample_ids[:3]), ", ".join(best.profile.sample_ids[:3]) or "none recognised"
        message = f"No sample of {matrix.name} is in {best.name}: the matrix has {ours}..., the sheet has {theirs}..."
        raise PlanError(message, advice="Make the sample names the same in both files.")
    return best


def as_list(sheet: Sheet) -> Sheet:
    """Return a table as the list of samples that it also is: without the columns that it holds as a matrix of these."""
    matrix = next((g for g in usable(sheet.profile) if g.type in MATRICES and g.read.get("transpose")), None)
    if matrix is None:
        return sheet
    beside = {*matrix.read.get("drop", ()), matrix.read.get("index_col")}
    columns = [column for column in sheet.columns if column.name in beside]
    if len(columns) == len(sheet.columns):
        return sheet
    return replace(sheet, profile=sheet.profile.model_copy(update={"column_profiles": columns}))


def index_of(data: Data, sheet: Sheet) -> TypeGuess:
    """Return how the sample sheet is read: with the column that holds the samples' names as row names."""
    matrix = matrix_of(data)
    assert matrix is not None
    match = match_samples(matrix, sheet.profile)
    guess = sheet.profile.serves_as(DataType.SAMPLE_SHEET) or sheet.profile.types[0]
    read = {key: value for key, value in guess.read.items() if key != "index_col"}
    if match.column is not None:
        read["index_col"] = match.column
    elif "index_col" in guess.read:
        read["index_col"] = guess.read["index_col"]
    return TypeGuess(type=DataType.SAMPLE_SHEET, confidence=guess.confidence, read=read)


def samples_column(data: Data, sheet: Sheet) -> str:
    """Return the column of a table that names the matrix' samples, "" where none does."""
    key = index_of(data, sheet).read.get("index_col")
    names: list[str] = list(map(str, sheet.frame()))
    name = names[key] if isinstance(key, int) and key < len(names) else str(key or "")
    return name if name in names else ""
