"""Which sheet of a workbook a question speaks of, where several hold tables of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.domain.plan import Dataset
from engine.domain.profile import Profile
from engine.text.names import name_parts
from engine.text.stems import stem
from engine.text.stopwords import STOP
from engine.text.tokens import tokens

_TITLE = 2.0
"""The title of a sheet tells more than the name of one of its columns: `rotarod`, whatever a trial is called there."""


def of_asked_sheets(profiles: Sequence[Profile], question: str, kept: Mapping[str, str] | None = None) -> list[Profile]:
    """Return profiles of files, of each workbook as that of its sheet of which a question says most.

    Args:
        profiles: the files; what other sheets of one hold is in its `others`.
        question: what is asked.
        kept: SHA-256 of a workbook -> the sheet that is used unless the question says more of another: that of the
            plan which is followed. Else it is the first.
    """
    asked = {token.stem for token in tokens(question) if token.text not in STOP and token.number is None}
    return [_asked(profile, asked, (kept or {}).get(profile.sha256, "")) for profile in profiles]


def of_read_sheets(profiles: Iterable[Profile], datasets: Iterable[Dataset]) -> list[Profile]:
    """Return profiles of files as a plan reads them: of a workbook that sheet, with what is said of its rows."""
    read = {data.sha256: data.read for data in datasets}
    return [_as_read(profile, read.get(profile.sha256, {})) for profile in profiles]


def _as_read(profile: Profile, read: Mapping[str, Any]) -> Profile:
    sheet = of_sheet(profile, str(read.get("sheet", "")))
    said = {key: read[key] for key in _SAID if key in read}
    types = [guess.model_copy(update={"read": {**guess.read, **said}}) for guess in sheet.types]
    return sheet.model_copy(update={"types": types}) if said else sheet


_SAID = ("once", "zeros", "beyond")
"""Options of `read_table` that a question can ask for: doubled rows, empty cells, values beyond a limit."""


def sheets_of(profile: Profile) -> list[str]:
    """Return the names of a workbook's sheets that hold tables, first the one that is read; [] of other files."""
    return [title for title in map(_title, (profile, *profile.others)) if title]


def of_sheet(profile: Profile, sheet: str) -> Profile:
    """Return the profile of a workbook's sheet; the profile itself where it has no other of this name."""
    chosen = next((other for other in profile.others if _title(other) == sheet), None)
    if chosen is None or _title(profile) == sheet:
        return profile
    rest = [profile.model_copy(update={"others": []}), *(other for other in profile.others if other is not chosen)]
    return chosen.model_copy(update={"others": rest})


def _asked(profile: Profile, asked: set[str], kept: str) -> Profile:
    if not profile.others:
        return profile
    usual = of_sheet(profile, kept)
    sheets = {_title(sheet): sheet for sheet in (usual, *usual.others)}
    own = {title: _words(sheet, [sheets[one["sheet"]] for one in _lists(sheet)]) for title, sheet in sheets.items()}
    # What every sheet has (the number of the animal, the day) speaks of none of them.
    of_all = Counter(word for words in own.values() for word in words)
    said = {
        title: sum(
            weight for word, weight in words.items() if _says(word, weight, asked) and of_all[word] < len(sheets)
        )
        + (_TITLE if sheets[title].structure.survival and asked & _ENDS else 0)
        for title, words in own.items()
    }
    told = {title: said[title] + sum(said[one["sheet"]] for one in _lists(sheet)) for title, sheet in sheets.items()}
    # What a list of animals says alone is asked of animals, and not of each of their days beside which it stands.
    best = max(sheets, key=lambda title: (told[title], said[title]))
    return of_sheet(usual, best)


def _says(word: str, weight: float, asked: set[str]) -> bool:
    """Say whether a question has a word of a sheet, of its title also cut short: `surv` for survival."""
    short = weight == _TITLE and len(word) >= _SHORT
    return word in asked or (short and any(one.startswith(word) for one in asked))


_SHORT = 4
_ENDS = frozenset(map(stem, "survival survive survived hazard kaplan mortality died".split()))
"""What is asked of times to an event."""


def _lists(sheet: Profile) -> list[dict[str, str]]:
    """Return the sheets that stand beside this one's rows, and by which column."""
    return sheet.best.read.get("beside", []) if sheet.best is not None else []


def _title(profile: Profile) -> str:
    return str(profile.best.read.get("sheet", "")) if profile.best is not None else ""


def _words(sheet: Profile, beside: Sequence[Profile]) -> dict[str, float]:
    """Return the stems of what a sheet's title, own columns and levels are called, and how much each tells."""
    by = {one["by"] for one in _lists(sheet)}
    of_others = {column.name for other in beside for column in other.column_profiles} - by
    own = [column for column in sheet.column_profiles if column.name not in of_others]
    called = [text for c in own for text in (c.name, c.label, *c.codes.values(), *c.levels)]
    words = {stem(part): 1.0 for text in called for part in name_parts(text) if len(part) > 1}
    return words | {stem(part): _TITLE for part in name_parts(_title(sheet))}
