"""What a plan of the rules may have overheard although it leaves nothing open.

The rules can be sure and wrong: a number takes no part, one of two possible times was taken, a word that was passed over
names something of the data, or what was heard is not what the steps do. None of it says that the plan is wrong, so no person is asked; a second reader, where there
is one, looks at the question too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from engine.domain.plan import Span, TaskDag, texts_of
from engine.domain.profile import ColumnProfile, Profile
from engine.domain.toolspec import ToolSpec
from engine.text.names import name_parts
from engine.text.stems import stem
from engine.text.stopwords import STOP

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w])")
_USUAL = re.compile(r"\btable 1\b|\b95 ?(?:%|per ?cent)|\b(?:0\.05|5 ?%)", re.IGNORECASE)
"""Numbers that name what is done anyway: the table of a sample, intervals of 95 %, a level of 5 %."""
_PASSED_OVER = ("filler", "unused")
_LONG = 4
"""A word has so many letters before it names a method: `t` and `auto` stand for too much."""
_ROLE = 0.5
_NUMBERS = ("over", "dose", "x", "y", "exposure")
"""Parts whose columns hold numbers."""
_SURE = 0.95
"""What the chooser gives an analysis whose plan needs no second reader. Of 88 plans of others' questions in which nothing was
doubted, 66 were right; `surely_heard` lets 36 of them pass, of which 31 are right and 3 have another group for reference."""
_WHOM = 1
"""So many words may say only what the rows are (`plants`)."""
_ONE_KEPT = re.compile(r"`([^`]+)` in \[([^,\]]+)\]")


def unheard(plan: TaskDag, profiles: Sequence[Profile], tools: Iterable[ToolSpec]) -> list[str]:
    """Return what a plan may have overheard, one sentence each; [] where all of the question has its part.

    Args:
        plan: made by the rules.
        profiles: its files.
        tools: those of the catalogue, whose choices of a test or method are methods.
    """
    specs = {spec.name: spec for spec in tools}
    found = [_numbers(plan), _times(plan, profiles), _words(plan, profiles, specs.values())]
    many = {column.name for profile in profiles for column in profile.column_profiles if len(column.levels) > 2}
    found += [_levels(plan, specs, many), _kept(plan), _summaries(plan, specs)]
    return list(dict.fromkeys(chain.from_iterable(found)))


def surely_heard(plan: TaskDag) -> bool:
    """Say whether the chooser is sure of a plan and all words of the question that say something have a part in it.

    What the rules take for words that people ask questions with may be what is asked.
    """
    passed = [span for span in plan.understood if span.taken_as in _PASSED_OVER]
    said = [span.taken_as for span in passed if span.text.lower() not in STOP and len(span.text) > 2]
    heard = "unused" not in said and len(said) <= _WHOM
    return heard and all(one.probability >= _SURE for one in plan.analysis)


def _numbers(plan: TaskDag) -> Iterator[str]:
    heard = [(span.start, span.end) for span in plan.understood if span.taken_as not in _PASSED_OVER]
    used = {number for node in plan.nodes for value in node.params.values() for number in _NUMBER.findall(f"{value}")}
    names = [dataset.name for dataset in plan.datasets]
    for found in _NUMBER.finditer(plan.question):
        inside = any(start <= found.start() and found.end() <= end for start, end in heard)
        named = any(found[0] in name and name in plan.question for name in names)
        said = inside or named or found[0].replace(",", "") in used
        if not said and not _USUAL.search(plan.question[max(0, found.start() - 6) : found.end() + 10]):
            yield f"The number {found[0]} has no part in the plan."


def _times(plan: TaskDag, profiles: Sequence[Profile]) -> Iterator[str]:
    """Yield the steps whose time is one of several columns that could be it, where the question names none."""
    named = {span.value.partition(" = ")[0] for span in plan.understood if span.taken_as not in _PASSED_OVER}
    columns = [column for profile in profiles for column in profile.column_profiles]
    able = {c.name: c.role("time") for c in columns if c.role("time") >= _ROLE and c.kind in ("integer", "number")}
    used = named | {text for node in plan.nodes for value in node.params.values() for text in texts_of(value)}
    for taken in dict.fromkeys(str(node.params.get("time") or "") for node in plan.nodes):
        others = [name for name, sure in able.items() if name not in used and sure >= able.get(taken, 1.0)]
        if taken in able and taken not in named and others:
            yield f"The time could be {', '.join(map(repr, others))} as well as {taken!r}."


def _words(plan: TaskDag, profiles: Sequence[Profile], tools: Iterable[ToolSpec]) -> Iterator[str]:
    unused = [span for span in plan.understood if span.taken_as == "unused"]
    if not unused:
        return
    columns = [column for profile in profiles for column in profile.column_profiles]
    data = _stems(chain.from_iterable(_names(column) for column in columns))
    methods = {word for word in _stems(_methods(tools)) if len(word) >= _LONG}
    for span in unused:
        said = _stems([span.text])
        if said & (data | methods):
            yield f"{_shown(span)} is passed over and names something of {'the data' if said & data else 'a method'}."


def _levels(plan: TaskDag, specs: Mapping[str, ToolSpec], many: Collection[str]) -> Iterator[str]:
    """Yield where a step takes another value of a column than the question names, or takes its names for numbers."""
    named: dict[str, list[str]] = {}
    for span in plan.understood:
        column, is_level, level = span.value.partition(" = ")
        if span.taken_as == "level" and is_level:
            named.setdefault(column, []).append(level)
    for node in plan.nodes:
        params = specs[node.tool].params if node.tool in specs else []
        for param in params:
            column = str(node.params.get(param.of if param.kind == "level" else param.name) or "")
            said, taken = named.get(column, []), node.params.get(param.name)
            used = {text for p in params if p.of == param.of for text in texts_of(node.params.get(p.name))}
            other = [level for level in said if level not in used]
            # Of two values the one is what the other is not.
            if param.kind == "level" and taken and other and (len(other) == len(said) or column in many):
                yield f"The question names {_listed(other)} of {column!r}, and a step takes {taken!r} of it."
            if len(said) > 1 and param.role in _NUMBERS and not any(_NUMBER.search(level) for level in said):
                yield f"The question names {_listed(said)} of {column!r}, whose values a step takes for numbers."


def _kept(plan: TaskDag) -> Iterator[str]:
    """Yield the columns of which a single value is kept and that another step goes on with."""
    conditions = [(node, text) for node in plan.nodes for value in node.params.values() for text in texts_of(value)]
    for node, condition in conditions:
        for column, level in _ONE_KEPT.findall(condition):
            after = [other for other in plan.nodes if node.id in other.upstream()]
            if any(column in texts_of(value) for other in after for value in other.params.values()):
                yield f"Only rows with {level} in {column!r} are kept, and a step goes on with that column."


def _summaries(plan: TaskDag, specs: Mapping[str, ToolSpec]) -> Iterator[str]:
    """Yield the summaries (a median, a sum) that were heard and that no step makes."""
    able = {param.name for node in plan.nodes if node.tool in specs for param in specs[node.tool].params}
    for span in plan.understood:
        name = span.value.partition(" = ")[0]
        if span.taken_as == "method" and name == "aggregate" and name not in able:
            yield f"{_shown(span)} is to be computed of something, which no step does."


def _listed(levels: Iterable[str]) -> str:
    return ", ".join(map(repr, dict.fromkeys(levels)))


def _names(column: ColumnProfile) -> list[str]:
    return [column.name, *column.levels]


def _methods(tools: Iterable[ToolSpec]) -> Iterator[str]:
    choices = (param for spec in tools for param in spec.params if re.search("test|method|correct", param.name))
    return (text for param in choices for text in texts_of(param.choices))


def _stems(names: Iterable[str]) -> set[str]:
    return {stem(part.lower()) for name in names for part in name_parts(name) if len(part) > 1 and not part.isdigit()}


def _shown(span: Span) -> str:
    return repr(span.text)
