"""Look-ups in files that came with a question: their columns, their rows, and how many rows have a value.

They tell what the look at a file has counted already (`engine.data`); what it has not counted is not told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.domain.base import Value
from engine.domain.findings import Finding, FindingValue
from engine.domain.profile import Profile
from engine.errors import NotFoundError
from engine.planning.reading.reading import Reading
from engine.strategies.react.lookup import Lookup, LookupQuestion, Observation, Step

MOST_COLUMNS = 40
_THINGS = r"(?:rows?|records?|entries|samples?|patients?|people|persons?|subjects?|animals?|individuals?|cells?)"
_PLACE = (
    r"(?:does|do|are|is|has|have|there|in|of|contained|included|the|this|that|my|our|it|its|file|files|table|sheet|"
    r"data|dataset|\S+\.\w{2,6})"
)
_COLUMNS = re.compile(
    rf"^\W*(?:please |can you |show me |tell me |give me )*(?:what|which|list|show|name|how many)(?: are| all| the)* "
    rf"(?:columns?|variables?|fields|headers?)(?: names?)?(?: {_PLACE})*\W*$",
    re.IGNORECASE,
)
_ROWS = re.compile(rf"^\W*(?:please |can you |show me |tell me )*how many {_THINGS}(?: {_PLACE})*\W*$", re.IGNORECASE)
_HOW_MANY = re.compile(r"\b(?:how many|number of|count of|count the)\b", re.IGNORECASE)
_COUNTING = frozenset(
    "how many number of count the are is were there in this that my our file table sheet data dataset rows row records "
    "samples sample patients patient people persons subjects animals individuals cells we have do does please tell me "
    "a an with has who which and it as called marked being from".split()
)
"""Words that ask for a number of rows and narrow it down by nothing."""


class OneFile(Value):
    """A file, by its name."""

    file: str


class RowsWith(Value):
    """Rows of a file in which a column has a value."""

    file: str
    column: str
    level: str


@dataclass(frozen=True, slots=True)
class Files:
    """Look-ups in the files of a question."""

    read: Callable[[str, Sequence[Profile]], Reading | None]
    """What a question names of the files' columns and levels."""

    def __call__(self, asked: LookupQuestion) -> list[Lookup]:
        """Return the look-ups there are for a question."""
        files = {profile.name: profile for profile in asked.profiles}

        def file(name: str) -> Profile:
            if name not in files:
                raise NotFoundError(f"No file called {name!r} came with the question.")
            return files[name]

        return [
            Lookup("columns_of", "The columns of a file and what they hold.", OneFile,
                   lambda taken: _columns(file(taken.file)), lambda of, _: _each(of, _COLUMNS)),
            Lookup("rows_of", "How many rows a file has.", OneFile,
                   lambda taken: _rows(file(taken.file)), lambda of, _: _each(of, _ROWS)),
            Lookup("rows_with", "How many rows of a file have a value in a column.", RowsWith,
                   lambda taken: _rows_with(file(taken.file), taken.column, taken.level), self._levels),
        ]  # fmt: skip

    def _levels(self, asked: LookupQuestion, steps: Sequence[Step]) -> Iterator[RowsWith]:
        """Yield the rows that a question asks to count by nothing but one level of one column."""
        if not asked.plain or not _HOW_MANY.search(asked.question):
            return
        reading = self.read(asked.question, asked.profiles)
        if reading is None:
            return
        words = [word.text for word in reading.words]
        # `samples` narrows nothing down, also where a column is called so.
        named = [m for m in reading.mentions if m.level or not {*words[m.first : m.last + 1]} <= _COUNTING]
        levels = [mention for mention in named if mention.level]
        if len(levels) != 1 or any(mention.column != levels[0].column for mention in named):
            return
        (level,) = levels
        spans = {at for mention in named for at in range(mention.first, mention.last + 1)}
        rest = {word for at, word in enumerate(words) if at not in spans}
        holders = [profile for profile in asked.profiles if profile.column(level.column) is not None]
        if not level.rivals and len(holders) == 1 and rest <= _COUNTING:
            yield RowsWith(file=holders[0].name, column=level.column, level=level.level)


def _each(asked: LookupQuestion, words: re.Pattern[str]) -> Iterable[OneFile]:
    asks = asked.plain and words.match(asked.question) is not None
    return [OneFile(file=profile.name) for profile in asked.profiles] if asks else []


def _columns(profile: Profile) -> Observation:
    columns = profile.column_profiles
    shown = ", ".join(f"{column.name} ({column.scale})" for column in columns[:MOST_COLUMNS])
    more = f" and {len(columns) - MOST_COLUMNS} more" if len(columns) > MOST_COLUMNS else ""
    many = profile.columns if profile.columns is not None else len(columns)
    text = f"{profile.name} has {many:,} columns" + (f"; these are described: {shown}{more}." if shown else ".")
    finding = Finding(id="", node="", text=text, values=[FindingValue(name="columns", value=many)])
    return Observation(lines=[text], findings=[finding], whole=True)


def _rows(profile: Profile) -> Observation:
    if profile.rows is None:
        return Observation(lines=[f"The rows of {profile.name} were not counted."], whole=True)
    text = f"{profile.name} has {profile.rows_text} rows: {profile.summary}"
    finding = Finding(id="", node="", text=text, values=[FindingValue(name="rows", value=profile.rows)])
    return Observation(lines=[text], findings=[finding], limitations=_subjects(profile), whole=True)


def _rows_with(profile: Profile, name: str, level: str) -> Observation:
    column = profile.column(name)
    if column is None or level not in column.levels:
        return Observation(notes=[f"How many rows of {profile.name} have {level!r} in {name!r} was not counted."])
    count, total = column.levels[level], sum(column.levels.values())
    text = f"{count:,} of the {total:,} rows of {profile.name} with a value in {name} have {level} there"
    text += f" ({profile.extent})." if profile.extent else "."
    text += f" In {column.missing:,} rows {name} is empty." if column.missing else ""
    values = [FindingValue(name="rows", value=count), FindingValue(name="with_a_value", value=total)]
    values.append(FindingValue(name="empty", value=column.missing))
    finding = Finding(id="", node="", text=text, values=values)
    return Observation(lines=[text], findings=[finding], limitations=_subjects(profile), whole=True)


def _subjects(profile: Profile) -> list[str]:
    """Return what is to be said where rows are not subjects."""
    several = profile.structure.repeated[:1]
    return [f"Rows were counted, not subjects: each {one.subject} may have several rows." for one in several]
