"""The question before, written anew with what a follow-up says: each form gives ways to plan it, likeliest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from engine.errors import PlanError
from engine.planning.followups.turn import HELD, OUTCOMES, Kept, Pair, Turn, flat, in_words
from engine.planning.followups.words import (
    ALL,
    APART,
    BARELY,
    BASE,
    BY,
    EVERY_GROUP,
    INSTEAD,
    JOINED,
    LOG,
    PICTURE,
    POINTED,
    REFERENCE,
    SAME_FOR,
    TURNED,
    WHOLE,
    asking,
    heard,
    known,
    said_anew,
)
from engine.planning.reading import Reading, Restriction
from engine.planning.score import Candidate
from engine.planning.sheets import is_group
from engine.planning.subgroups import each_level
from engine.text.tokens import tokens

NEXT = 0.2
"""How likely by its words another analysis must be to come next."""
MEANT = 0.75
"""From this probability on it is taken as meant; below it is asked."""
DRAWN = 0.02
"""The same among drawings, where the words say that one is wanted."""


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
    lifted: tuple[str, ...] = ()
    """Columns of which rows are no longer kept, left out or taken apart."""


# ==== a comparison: the other way round, another reference, all groups ====


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


def _levels_said(turn: Turn, pair: Pair) -> list[str]:
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


def _turned(turn: Turn, pair: Pair | None, word: str) -> list[Try]:
    if pair is None or not (pair.interest and pair.reference):
        of = f"compares all groups of {pair.column}" if pair is not None else "compares no two groups"
        example = f", as in '{pair.levels[0]} as the reference'" if pair is not None and pair.levels else ""
        message = f"The plan before {of}, so {word!r} turns nothing round."
        raise PlanError(
            message, advice=f"It was read as going on from {turn.kept}. Say which is to be the reference{example}."
        )
    return _with_ends(turn, pair, pair.reference, pair.interest)


def _with_one(turn: Turn, pair: Pair, level: str) -> list[Try]:
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


def _with_ends(turn: Turn, pair: Pair, interest: str, reference: str) -> list[Try]:
    """Return the question before with `interest` set against `reference`."""
    chosen, _ = turn.taken()
    own = dict(chosen.get(pair.tool, {}))
    changed = {old: new for old, new in ((pair.interest, interest), (pair.reference, reference)) if old != new}
    high, low = pair.params
    if high:
        own |= {name: level for name, level in ((high, interest), (low, reference)) if level}
    else:
        own[low] = [
            *(i for i in flat(own.get(low)) if not i.startswith(f"{pair.column}=")),
            f"{pair.column}={reference}",
        ]
    new_level = {interest, reference} - {pair.interest, pair.reference}
    for param in turn.specs[pair.tool].params if new_level and pair.interest else ():
        if param.role == "levels" and own.get(param.name):
            own[param.name] = [changed.get(level, level) for level in flat(own[param.name])]
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


def _of_every_group(turn: Turn, pair: Pair) -> list[Try]:
    """Return the comparison of all groups of the column, in words of its own: the two are what the question before is made of."""
    measured = next(iter(turn.outcomes()), "")
    if not measured:
        return []
    rows = [in_words(row) for row in turn.rows() if row.column != pair.column]
    text = ", ".join([f"Does {measured} differ between the groups of {pair.column}", *rows])
    kept = "; ".join([turn.kept, *rows])
    return [Try(text, turn.last, kept, f"all groups of {pair.column}", lifted=(pair.column,))]


# ==== all rows again ====


def whole_again(turn: Turn) -> list[Try]:
    """Return the question before without the rows it kept or left out, or asked once and not of each level.

    Raises:
        PlanError: when groups are to be made one, which no step does.
    """
    base = turn.base
    each = each_level(base, turn.data)
    able = {row.column for row in turn.rows()} | ({each.column} if each is not None else set())
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
    spans = [_with_name(base, row) for row in turn.rows() if row.column in lifted]
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


# ==== of each level, on another scale ====


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


# ==== what comes next ====


def coming_next(turn: Turn, merged: str, changed: set[str]) -> list[Try]:
    """Return the analyses that a follow-up may ask for next, first by what it says with the pointing words filled in.

    Args:
        turn: the follow-up.
        merged: the question before with it.
        changed: tools whose settings it changes: `only top 10 genes in the heatmap` draws no other.
    """
    question, outcome = turn.question, next(iter(turn.outcomes()), "")
    filled = POINTED.sub(outcome, question, count=1) if outcome else question
    every, reading = turn.judge(filled)
    onward = {tool for spec in turn.specs.values() for tool in spec.produces_for}
    drawn, pair = bool(PICTURE.search(question)), turn.pair()
    able = [c for c in every if _can_follow(c, onward) and (c.analysis.id not in turn.asked or filled != question)]
    if drawn:
        able = [c for c in able if _draws(c)] or able
    named = {*reading.named()}
    least = DRAWN if drawn else NEXT
    worded = [
        c
        for c in able
        if max(c.wording, c.probability) >= least and (drawn or turn.own.named() or heard(turn.fresh, c))
    ]
    # What takes a column that nobody named fits less: `plot it by sex` shows no year.
    worded.sort(
        key=lambda c: (
            _explained_otherwise(c, outcome),
            not {*c.bound.columns()} <= named if c.bound else False,
            -c.probability,
        )
    )
    again = {row.column for row in turn.own.restrictions}
    found: list[Try] = []
    for one in worded[:2]:
        # What runs along a column (`plot that over time`) takes all of its values.
        along = {*one.bound.of_role("x", "over", "time", "dose")} if one.bound is not None else set()
        lifted = tuple(row.column for row in turn.rows() if row.column in along & named)
        rows = [in_words(row) for row in turn.rows() if row.column not in {*again, *lifted}]
        new = "; ".join([one.analysis.name, *(f"all values of {name}" for name in lifted)])
        if one.bound is not None and one.bound.spec.name in changed:
            continue
        sure = drawn and _draws(one)
        sure = sure or (one.probability >= MEANT and all(known(turn.fresh.words[at]) for at in asking(turn.fresh)))
        if len(named) == 1 and outcome and filled == question and not drawn:
            text = ", ".join([f"{said_anew(question)}, for {outcome}", *rows])
            kept = "; ".join([f"{outcome} of {turn.kept}", *rows])
            found.append(Try(text, one.analysis.id, kept, one.analysis.name, sure))
        if len(named) > 1:
            groups = (
                [f"by {pair.column}"]
                if drawn and along & named and pair is not None and not BY.search(question)
                else []
            )
            text = ", ".join([" ".join([said_anew(filled), *groups]), *rows])
            kept = "; ".join([f"{outcome} of {turn.kept}" if filled != question else turn.kept, *groups, *rows])
            found.append(Try(text, one.analysis.id, kept, new, sure, lifted=lifted))
        if one.analysis.id not in turn.asked:
            found.append(Try(merged, one.analysis.id, turn.kept, one.analysis.name, sure))
    return found


def _explained_otherwise(one: Candidate, outcome: str) -> bool:
    """Say whether an analysis explains another column by what was explained before: `does it depend on sex` does not."""
    explained = one.bound.of_role(*OUTCOMES) if one.bound is not None else []
    return (
        bool(outcome and explained)
        and outcome not in explained
        and outcome in (one.bound.columns() if one.bound else [])
    )


def _can_follow(one: Candidate, onward: set[str]) -> bool:
    spec = one.bound.spec if one.bound is not None else None
    return bool(one.analysis.data) and spec is not None and (spec.task_type != "preprocessing" or spec.name in onward)


def _draws(one: Candidate) -> bool:
    return one.bound is not None and one.bound.spec.task_type == "visualization"


def holding(turn: Turn, held: Sequence[str], every: Iterable[Candidate]) -> list[str]:
    """Return the analysis that can hold columns constant: the likeliest, first of those with the parts of the one before."""
    parts = [
        (param.role, column)
        for node in turn.answering()
        for param in turn.specs[node.tool].params
        if param.kind == "column"
        for column in flat(node.params.get(param.name))
    ]
    able = [
        c
        for c in every
        if held and c.bound is not None and c.feasible and not c.bound.missing and {*held} <= {*c.bound.of_role(*HELD)}
    ]  # fmt: skip
    able.sort(key=lambda c: not all(c.bound and column in c.bound.of_role(role) for role, column in parts))
    return [c.analysis.id for c in able[:1]]


# ==== text ====


def overridden(base: Reading, own: Reading, free: Sequence[str]) -> str:
    """Return the question before without what the follow-up says otherwise, and without holding `free` constant."""
    again = {row.column for row in own.restrictions if row.op != "not in"}
    spans = [_with_name(base, row) for row in base.restrictions if row.column in again and row.op != "not in"]
    spans += [(m.first, m.last) for m in base.mentions if m.column in free and "adjust" in base.parts.get(m.column, ())]
    other = {contrast.column for contrast in own.contrasts}
    spans += [_with_name(base, row) for row in base.restrictions if row.column in other - again and row.sure]
    inside = {at for first, last in spans for at in range(first, last + 1)}
    exact = [
        (base.words[m.first].start, base.words[m.last].end)
        for m in base.mentions
        if m.level and m.column in other and m.first not in inside
    ]
    for new, old in ((own.alpha, base.alpha), (own.min_lfc, base.min_lfc), (own.top, base.top)):
        if new is not None and old is not None:
            exact.append((old.start, old.end))
    return re.sub(r",?\s*with as the reference", "", cut(base, spans, exact))


def _with_name(base: Reading, row: Restriction) -> tuple[int, int]:
    """Return the tokens of rows with the name of their column where it stands beside: `day 14`."""
    names = [(m.first, m.last) for m in base.mentions if m.column == row.column and not m.level]
    beside = [(first, last) for first, last in names if last == row.first - 1 or first == row.last + 1]
    return min([row.first, *(first for first, _ in beside)]), max([row.last, *(last for _, last in beside)])


def cut(base: Reading, spans: Iterable[tuple[int, int]], exact: Iterable[tuple[int, int]] = ()) -> str:
    """Return a question without stretches of tokens, each with the small words that belong to it, and of characters."""
    text = base.question
    gone = [_around(text, base.words[first].start, base.words[last].end) for first, last in spans]
    for start, end in sorted([*gone, *exact], reverse=True):
        text = text[:start] + " " + text[end:]
    return re.sub(r"\s+([,;.?!])", r"\1", " ".join(text.split()))


_BEFORE = re.compile(
    r"(?:[,;]?\s*\b(?:and|but|for|in|among|within|only|just|without|the|of|with|on|at|by|per|each|every|those|who|that|are|were|is|all|from|"
    r"sep[ae]rat\w*|split\w*|adjust\w*|correct\w*|controll\w*|account\w*)\s*)+$",
    re.I,
)
_AFTER = re.compile(r"^\s*(?:only|alone|ones?|sep[ae]rately)\b", re.I)


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a stretch with the small words that belong to it."""
    before, after = _BEFORE.search(text[:start]), _AFTER.match(text[end:])
    return (before.start() if before else start), end + (after.end() if after else 0)


# ==== another column ====


def swapped(turn: Turn) -> tuple[str, str, str] | None:
    """Return (column before, column now, the question before with it) where a follow-up puts one column in place of another."""
    own, base, data = turn.own, turn.base, turn.data
    told = [
        name
        for name in own.named()
        if name not in {row.column for row in own.restrictions} and not own.is_a(name, "adjust", "by")
    ]
    known = [name for name in told if base.strength(name)]
    fresh = [name for name in told if name not in known]
    barely = BARELY.search(own.question) and not asking(turn.fresh)
    said = SAME_FOR.search(own.question) or INSTEAD.search(own.question) or barely
    if len(fresh) != 1 or not said or own.restrictions:
        return None
    column = data.column(fresh[0])
    explained = [name for name in turn.outcomes() if base.strength(name)]
    used = {item for node in turn.before.nodes for value in node.params.values() for item in flat(value)}
    alike = [
        name
        for name in [*explained, *(name for name in base.named() if name in used)]
        if column is not None
        and (old := data.column(name)) is not None
        and (old.kind == "text") == (column.kind == "text")
    ]
    old = (known or alike or [""])[0]
    spots = [m for m in base.mentions if m.column == old and not m.level]
    if not spots:
        return None
    text = base.question
    for m in sorted(spots, key=lambda m: -m.first):
        text = text[: base.words[m.first].start] + fresh[0] + text[base.words[m.last].end :]
    new = re.escape(fresh[0])
    text = re.sub(rf"\b(?:[\w-]+ \({new}\)|{new}(?:\s+{new})+)", lambda _: fresh[0], text)  # it was said in two ways
    return old, fresh[0], text


def with_column(kept: Kept, old: str, new: str) -> Kept:
    """Return what was taken over with one column in the place of another."""

    def put(value: Any) -> Any:
        return (
            [new if item == old else item for item in value]
            if isinstance(value, list)
            else new
            if value == old
            else value
        )

    return {tool: {name: put(value) for name, value in params.items()} for tool, params in kept.items()}
