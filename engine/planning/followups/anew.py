"""The question before, written anew with what a follow-up says: each form gives ways to plan it, likeliest first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.domain.plan import texts_of
from engine.errors import PlanError
from engine.planning.choosing.subgroups import each_level
from engine.planning.followups.rewriting import cut, with_name
from engine.planning.followups.turn import OUTCOMES, ComparedPair, Turn, in_words
from engine.planning.followups.words import (
    ALL,
    APART,
    BASE,
    EVERY_GROUP,
    INSTEAD,
    JOINED,
    LOG,
    MORE,
    PICTURE,
    REFERENCE,
    TURNED,
    WHOLE,
)
from engine.planning.reading.reading import Restriction
from engine.planning.tables.sheets import is_group, is_id
from engine.text.tokens import tokens


class Try(NamedTuple):
    """A way to understand a follow-up: the whole question it makes, and as what to plan it."""

    question: str
    analysis: str
    kept: str
    """What it takes over, in words."""
    new: str
    """What is new, in words."""
    sure: bool = True
    """False where the words hardly say that this is meant: it is asked."""
    holds: str = ""
    """What must stand in the parameters of a plan that does it: a formula, the column that rows are taken apart by."""
    chosen: Mapping[str, Mapping[str, Any]] = {}
    """Tool -> parameter -> what is taken as it was in the steps before."""
    settings: Mapping[tuple[str, str], Any] = {}
    """(Tool, parameter) -> the value it needs."""
    lifted: tuple[str, ...] = ()
    """Columns of which rows are no longer kept, left out or taken apart."""


def compared_anew(turn: Turn) -> list[Try]:
    """Return the same comparison turned round, with another level in it, or of all groups.

    Raises:
        PlanError: when it is not clear what is to be compared with what, or it is so already.
    """
    pair, turned = turn.pair(), TURNED.search(turn.question)
    if PICTURE.search(turn.question) or (pair is not None and {*turn.own.columns()} - {pair.column}):
        return []
    said = _levels_said(turn, pair) if pair is not None else []
    if turned and len(said) != 1 and not (pair is None and turn.own.columns()):
        return _turned(turn, pair, turned.group())
    if pair is None:
        if BASE.search(turn.question) and turn.own.levels_named():
            steps = ", ".join(dict.fromkeys(node.name for node in turn.answering()))
            message = f"No step of the plan before has a reference; what it does is: {steps}."
            raise PlanError(
                message, advice=f"It was read as going on from {turn.kept}. Ask for a model, whose groups have one."
            )
        return []
    everything = EVERY_GROUP.search(turn.question) or (pair.column in turn.own.named() and ALL.search(turn.question))
    column = turn.data.column(pair.column)
    if everything and not said and column is not None and len(column.levels) > len(pair.levels):
        return _of_every_group(turn, pair)
    if len(said) == 2 and INSTEAD.search(turn.question):
        new, old = said
        ends = (pair.interest, pair.reference)
        return (
            _with_ends(turn, pair, *(new if v == old else v for v in ends)) if old in ends and new not in ends else []
        )
    return _with_one(turn, pair, said[0]) if len(said) == 1 else []


def with_more(turn: Turn) -> list[Try]:
    """Return the same comparison with further groups beside those that are compared: `and KX10 too`."""
    column, levels = turn.compared()
    own = turn.own
    said = [m.level for m in own.mentions if m.column == column and m.level]
    more = [level for level in dict.fromkeys(said) if level not in levels]
    every = turn.data.column(column)
    others = {c for c in own.columns() if (o := turn.data.column(c)) is not None and not is_id(o)}
    if not more or every is None or others != {column} or not MORE.search(turn.question):
        return []
    every_one = len(levels) + len(more) == len(every.levels)
    measured = next(iter(turn.outcomes((*OUTCOMES, "time"))), "")
    rows = [in_words(row) for row in turn.rows() if row.column != column]
    rows += [] if every_one else [in_words(Restriction(column, "in", (*levels, *more), 0, -1, sure=True))]
    held = [f"adjusted for {' and '.join(turn.held())}"] if turn.held() else []
    text = ", ".join([f"Does {measured} differ between the groups of {column}", *rows, *held])
    taken, _ = turn.taken([Restriction(column, "in", (*levels, *more), 0, -1, sure=True)])
    new = f"{' and '.join(more)} beside {', '.join(levels)} ({column})"
    lifted, holds = ((column,), "") if every_one else ((), f"`{column}`")
    return [
        Try(text, key, turn.kept, new, holds=holds, lifted=lifted, chosen=chosen)
        for key, chosen in ((turn.last, taken), (turn.last, {}), ("", {}))
        if measured
    ]


def _levels_said(turn: Turn, pair: ComparedPair) -> list[str]:
    """Return the levels of the compared column that are named; `the reference` names none, beside it a number does."""
    words = turn.own.words
    named = [m for m in turn.own.mentions if m.column == pair.column and m.level]
    said = [m.level for m in named if not REFERENCE.match(words[m.first].text)]
    if said or not REFERENCE.search(turn.question):
        return said
    column = turn.data.column(pair.column)
    return [
        v
        for v in (column.levels if column else ())
        if re.search(rf"(?<![\w.]){re.escape(v)}(?![\w]|\.\d)", turn.question)
    ]


def _turned(turn: Turn, pair: ComparedPair | None, word: str) -> list[Try]:
    if pair is None or not (pair.interest and pair.reference):
        of = f"compares all groups of {pair.column}" if pair is not None else "compares no two groups"
        example = f", as in '{pair.levels[0]} as the reference'" if pair is not None and pair.levels else ""
        message = f"The plan before {of}, so {word!r} turns nothing round."
        raise PlanError(
            message, advice=f"It was read as going on from {turn.kept}. Say which is to be the reference{example}."
        )
    return _with_ends(turn, pair, pair.reference, pair.interest)


def _with_one(turn: Turn, pair: ComparedPair, level: str) -> list[Try]:
    """Return the comparison with one level that is named as the reference, or in place of another."""
    against = REFERENCE.search(turn.question)
    if against is None:
        if (
            re.search(r"\binstead\b", turn.question, re.I)
            and pair.interest
            and level not in (pair.interest, pair.reference)
        ):
            message = f"In place of {pair.interest} or of {pair.reference} is not said."
            raise PlanError(
                message, advice=f"Say '{level} instead of {pair.interest}' or '{level} instead of {pair.reference}'."
            )
        return []
    if level == pair.reference:
        message = f"{level} is the reference in the plan before already."
        raise PlanError(message, advice=f"It was read as going on from {turn.kept}. 'The other way round' turns it.")
    if level == pair.interest:
        return _with_ends(turn, pair, pair.reference, level)
    return _with_ends(turn, pair, pair.interest, level)


def _with_ends(turn: Turn, pair: ComparedPair, interest: str, reference: str) -> list[Try]:
    """Return the question before with `interest` set against `reference`."""
    chosen, _ = turn.taken()
    own = dict(chosen.get(pair.tool, {}))
    changed = {old: new for old, new in ((pair.interest, interest), (pair.reference, reference)) if old != new}
    high, low = pair.params
    if high:
        own |= {name: level for name, level in ((high, interest), (low, reference)) if level}
    else:
        own[low] = [
            *(i for i in texts_of(own.get(low)) if not i.startswith(f"{pair.column}=")),
            f"{pair.column}={reference}",
        ]
    new_level = {interest, reference} - {pair.interest, pair.reference}
    for param in turn.specs[pair.tool].params if new_level and pair.interest else ():
        if param.role == "levels" and own.get(param.name):
            own[param.name] = [changed.get(level, level) for level in texts_of(own[param.name])]
    text = turn.base.question.rstrip(" .?!;,")
    if new_level and pair.interest:
        text = _levels_put(turn, pair.column, changed)
    else:
        text = f"{text}, with {reference} as the reference"
    new = f"{interest or 'the others'} against {reference} ({pair.column})"
    return [Try(text, turn.last, turn.kept, new, chosen={**chosen, pair.tool: own})]


def _levels_put(turn: Turn, column: str, changed: Mapping[str, str]) -> str:
    base, text = turn.base, turn.base.question
    for m in sorted(base.mentions, key=lambda m: -m.first):
        if m.column == column and m.level in changed:
            text = text[: base.words[m.first].start] + changed[m.level] + text[base.words[m.last].end :]
    return text


def _of_every_group(turn: Turn, pair: ComparedPair) -> list[Try]:
    """Return the comparison of all groups of the column, in words of its own: the two are what the question before is made of."""
    measured = next(iter(turn.outcomes()), "")
    if not measured:
        return []
    rows = [in_words(row) for row in turn.rows() if row.column != pair.column]
    text = ", ".join([f"Does {measured} differ between the groups of {pair.column}", *rows])
    kept = "; ".join([turn.kept, *rows])
    return [Try(text, turn.last, kept, f"all groups of {pair.column}", lifted=(pair.column,))]


def whole_again(turn: Turn) -> list[Try]:
    """Return the question before without the rows it kept or left out, or asked once and not of each level.

    Raises:
        PlanError: when groups are to be made one, which no step does.
    """
    base = turn.base
    each = each_level(base, turn.data)
    able = {row.column for row in turn.rows()} | ({each.column} if each is not None else set[str]())
    whole = WHOLE.search(turn.question) or (ALL.search(turn.question) and able & {*turn.own.named()})
    if not whole or PICTURE.search(turn.question):
        return []
    # `combine both controls` names what is to be one; `back to all` may name nothing.
    rest = able if not JOINED.search(turn.question) else able & {each.column if each is not None else ""}
    lifted = able & {*turn.own.columns()} or rest
    if not lifted and JOINED.search(turn.question) and (groups := _groups_named(turn)):
        message = f"No step makes one group of {' and '.join(groups)}."
        advice = (
            f"It was read as going on from {turn.kept}. Give them one name in a column of the file and compare by it."
        )
        raise PlanError(message, advice=advice)
    if not lifted:
        return []
    spans = [with_name(base, row) for row in turn.rows() if row.column in lifted]
    spans += [(m.first, m.last) for m in (each.mentions if each is not None and each.column in lifted else ())]
    text = cut(base, spans).rstrip(" .?!;,")
    chosen, _ = turn.taken()
    new = f"all values of {' and '.join(sorted(lifted))} again, together"
    return [
        Try(text, turn.last, turn.kept, new, chosen=taken, lifted=tuple(sorted(lifted)))
        for taken in ([chosen] if chosen else []) + [{}]
    ]


def _groups_named(turn: Turn) -> list[str]:
    """Return two or more levels of the compared column that are named, each or by a word they share (`both controls`)."""
    pair = turn.pair()
    column = turn.data.column(pair.column) if pair is not None else None
    said = {word.stem for word in turn.own.words}
    named = {m.level for m in turn.own.mentions if column is not None and m.column == column.name and m.level}
    levels = [v for v in (column.levels if column else ()) if v in named or said & {t.stem for t in tokens(v)}]
    return sorted(levels) if len(levels) > 1 else []


def other_form(turn: Turn) -> list[Try]:
    """Return the question before asked of the rows of each level (`also by sex`), or of the logarithm of what it measures."""
    own, base, data = turn.own, turn.base, turn.data
    text = base.question.rstrip(" .?!;,")
    apart = [name for name in own.columns() if (column := data.column(name)) is not None and is_group(column)]
    if (
        len(apart) == 1
        and APART.search(turn.question)
        and not base.strength(apart[0])
        and not PICTURE.search(turn.question)
    ):
        told, new = f"{text}, separately for each {apart[0]}", f"one step for each level of {apart[0]}"
        return [Try(told, turn.last, turn.kept, new, holds=f"`{apart[0]}`")]
    said = LOG.search(turn.question)
    explained = [n for n in turn.outcomes(("outcome", "measure", "count")) if base.strength(n)]
    measured = explained if said and not apart else []
    spots = [m for m in base.mentions if m.column in measured[:1] and not m.level]
    if said is not None and spots and {*own.named()} <= {*measured}:
        start, log = base.words[spots[0].first].start, said["log"].lower()
        log = "log10" if log == "log" else log
        told = f"{text[:start]}{log} {text[start:]}"
        return [Try(told, "", turn.kept, f"{log} of {measured[0]}", holds=f"{log}(`{measured[0]}`)")]
    return []
