"""Which level is set against which: from the words, else from levels that are called like a control, else asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.data.structure.scales import tokens as parts_of_name
from engine.data.structure.scales import two_states
from engine.domain.plan import OpenQuestion
from engine.domain.profile import ColumnProfile
from engine.planning.naming.mention import NO, YES, ColumnMention
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Sheet, is_group
from engine.text.codes import told_beside
from engine.text.numbers import as_number
from engine.text.stopwords import STOP
from engine.text.tokens import Token, tokens

_CONTROLS = (
    "control controls ctrl ctl con untreated vehicle veh dmso wt wildtype placebo normal healthy mock baseline none "
    "no sham naive unt unstimulated unstim standard std soc usual usualcare standardcare careasusual conventional pbs scramble scrambled nontargeting nt sicontrol before pre "
    "negative neg resting 0 false n adjacent reference benign nontumor parental day0 0h d0 t0 uninfected nc kontrolle "
    "unbehandelt temoin controle absent never nein non"
).split()
_STARTS = re.compile(
    r"(?:si|sh|sg|as)[-_ ]?(?:rna[-_ ]?)?(?:control|ctrl|ctl\b|scr(?:amble\w*)?\b|nt\b)|"
    r"control|ctrl|untreated|vehicle|wild.?type|healthy|placebo|baseline",
    re.IGNORECASE,
)
"""How names of controls begin; `siCtrl`, `sh-scramble` and `sgNT` are those of a knock-down."""


class Comparison(NamedTuple):
    """Two levels of a column, why these, and what is not sure."""

    treated: str
    control: str
    reason: str
    asked: list[OpenQuestion]


def control_level(levels: Sequence[str]) -> str:
    """Return the level that is named like a control, or ""."""
    plain = {re.sub(r"[\s_+/-]+", "", level.lower()): level for level in levels}
    for word in _CONTROLS:
        if word in plain:
            return plain[word]
    starting = [level for level in levels if _STARTS.match(level)]
    denied = [level for level in levels if _DENIES.match(level)] if len(levels) == 2 else []  # ate it, did not
    return starting[0] if len(starting) == 1 else denied[0] if len(denied) == 1 else ""


_DENIES = re.compile(r"(?:(?:did|does|do|was|were|is|has|had|have)\s*n[o'’]?t|not|never)\b", re.IGNORECASE)


def control_of(column: ColumnProfile, levels: Sequence[str]) -> str:
    """Return the one of some levels of a column that is called like a control, or stands for one, or ""."""
    called = {told_beside(column).get(level, level): level for level in levels}
    return called.get(control_level(list(called)), "")


def has_control(levels: Iterable[str]) -> bool:
    """Say whether a level is plainly called a control, a placebo or untreated; `no` and 0 may deny anything."""
    return any(_STARTS.match(level) for level in levels)


def why_reference(level: str, levels: Sequence[str], means: str = "") -> str:
    """Return why a level, which `means` something by what a legend says, is the reference, to stand after it."""
    if means and control_level([means]):
        return f"which stands for {means!r}"
    plain = re.sub(r"[\s_+/-]+", "", level.lower())
    if plain == "0":
        return "as usual with codes from 0"
    if plain in _DENIED:
        return "which says that it is not so"
    if plain in _EARLIER:
        return "which is the earlier"
    return "which is named like a control" if control_level(levels) == level else "which comes first"


_DENIED = frozenset({"no", "n", "false", "none", "never", "nein", "non", "absent"})
_EARLIER = frozenset({"before", "pre", "baseline", "day0", "0h", "d0", "t0"})


def compared(reading: Reading, column: ColumnProfile, levels: Sequence[str]) -> Comparison:
    """Return which of `levels` (those in the data) is compared with which; see the module."""
    named = [level for level in reading.levels(column.name) if level in levels]
    told = next((c for c in reading.contrasts if c.column == column.name), None)
    usual = control_of(column, levels) or (column.order[0] if len(column.order) == 2 == len(levels) else "")
    if told is not None and told.explicit and {*told.levels[:2]} <= set(levels):
        first, second = told.levels[:2]
        why = f"The question compares {first!r} with {second!r}, in this order."
        return Comparison(
            first, second, why, [_order(column, first, second)] if control_of(column, levels) == first else []
        )
    coding, told_so = reading.coded(column.name, levels)
    if coding is not None and {*coding} <= set(levels):
        why = f"In {column.name!r} {coding.yes!r} means yes and {coding.no!r} no, as the question explains its codes."
        return Comparison(coding.yes, coding.no, why, [] if told_so else _ask(column, [*coding], coding.yes, coding.no))
    if len(named) >= 2:
        control = usual if usual in named else named[1]
        treated = next(level for level in named if level != control)
        why = f"The question names {treated!r} and {control!r}; {control!r} is the reference."
        return Comparison(treated, control, why, [] if usual in named else _ask(column, levels, treated, control))
    if len(named) == 1 and named[0] != usual:
        control = usual or next(level for level in levels if level != named[0])
        why = f"The question names {named[0]!r}; it is compared with {control!r}."
        return Comparison(
            named[0], control, why, [] if usual or len(levels) == 2 else _ask(column, levels, named[0], control)
        )
    control = usual or (column.order or sorted(levels))[0]
    treated = next(level for level in levels if level != control)
    why = f"{treated!r} is compared with {control!r}, {why_reference(control, levels, told_beside(column).get(control, ''))}."
    return Comparison(
        treated, control, why, [] if usual and len(levels) == 2 else _ask(column, levels, treated, control)
    )


def _ask(column: ColumnProfile, levels: Sequence[str], treated: str, control: str) -> list[OpenQuestion]:
    asked = [
        OpenQuestion(
            id="control", text=f"Which level of {column.name!r} is the reference?", param="control", choices=sorted(levels),
            why="Differences are positive where the other group is higher, so a swap turns every sign.", proposed=control,
        )
    ]  # fmt: skip
    if len(levels) > 2:
        asked.append(
            OpenQuestion(
                id="treated", text=f"Which level of {column.name!r} is compared with {control!r}?", param="treated",
                why=f"{column.name!r} has {len(levels)} levels and the question does not settle which two.",
                choices=sorted(levels), proposed=treated,
            )
        )  # fmt: skip
    return asked


def _order(column: ColumnProfile, first: str, second: str) -> OpenQuestion:
    return OpenQuestion(
        id="control", text=f"Differences are {first!r} relative to {second!r}, as the question is worded: is that meant?",
        why=f"{first!r} looks like the control, so positive values mean higher in the control, the reverse of the custom.",
        param="control", choices=sorted(column.levels), proposed=second,
    )  # fmt: skip


_HAPPENED = re.compile(
    r"^(?:yes|y|ja|j|oui|si|true|t|1|1\.0|2|dead|died|deceased|death|event|relapse\w*|recurrence|progress\w*|positive|pos|present|failed|case|"
    r"verstorben|tot|gestorben|mort\w*|muerto|infected|diseased|low)$",
    re.IGNORECASE,
)


def event_level(reading: Reading, column: ColumnProfile, known: str = "") -> tuple[str, list[OpenQuestion]]:
    """Return the level that means that the outcome happened, with a question when the coding does not say.

    Args:
        reading: the question; a level of the column that it names, the most often of several, is the event.
        column: the outcome.
        known: what the structure of the data says, if anything.
    """
    levels = list(column.levels)
    coding, told_so = reading.coded(column.name, levels)
    if coding is not None:
        return coding.yes, [] if told_so else [_happened(column, coding.yes)]
    if (told := _told_event(reading.question, column)) is not None:
        return _in_requests(reading, column.name, levels) or told, []
    affirmed = (two_states(levels) or [None])[-1]
    if (named := _named_event(reading, column, known, affirmed)) is not None:
        return named, []
    meant = [level for level, words in told_beside(column).items() if level in levels and _HAPPENED.match(words)]
    if len(meant) == 1:
        return meant[0], []
    if known in levels:
        return known, [_happened(column, known)] if _doubtful(column, known) else []
    if affirmed is not None:
        return affirmed, []
    able = [level for level in levels if _HAPPENED.match(level.strip())]
    control = control_level(levels)
    if set(levels) == {"1", "2"}:
        return "2", [_happened(column, "2", blocking=True)]
    few = len(levels) > 2 and sum(column.levels[level] for level in able) < SELDOM * sum(column.levels.values())
    if len(able) == 1 and not few:
        return able[0], [_happened(column, able[0])] if _doubtful(column, able[0]) else []
    if len(levels) == 2 and control:
        return next(level for level in levels if level != control), []
    return _proposed_event(reading, column)


def _proposed_event(reading: Reading, column: ColumnProfile) -> tuple[str, list[OpenQuestion]]:
    """Return the first of two levels set apart, else one to ask about.

    `Can it separate A from B` says the same the other way round.
    """
    levels = list(column.levels)
    apart = [c.levels for c in reading.contrasts if c.column == column.name and c.explicit]
    if apart and {*apart[0][:2]} == {*levels}:
        return apart[0][0], []
    common = sorted(levels, key=lambda level: -column.levels[level])[:2]
    proposed = (two_states(common) or column.order or sorted(levels))[-1]
    return proposed, [_happened(column, proposed, blocking=True)]


SELDOM = 0.05
"""A `pos` in fewer of the rows, beside two other states, is another word for one of them rather than what happened."""


def _named_event(reading: Reading, column: ColumnProfile, known: str, affirmed: str | None) -> str | None:
    """Return the level that the question names as what happened, the most often of several, or None.

    Args:
        reading: the question.
        column: the outcome.
        known: what the structure of the data says to have happened, if anything.
        affirmed: the level that says yes, where the column has one.
    """
    levels = list(column.levels)
    named = [level for level in reading.levels(column.name) if level in levels]
    if affirmed is not None and named and affirmed not in named and not _asked_of(reading, column.name):
        named = []  # `of the PCR negatives many had a positive strip` asks nothing of the negatives
    said = [m.level for m in reading.mentions if m.column == column.name and m.level in named]
    named.sort(key=said.count, reverse=True)
    if known in levels and named and all(_NOT_YET.search(level) for level in named):
        named = []  # who is alive at a year is told by the deaths
    clear = len(named) == 1 or (len(named) > 1 and said.count(named[0]) > said.count(named[1]))
    if not clear and (asked := _in_requests(reading, column.name, named)):
        return asked
    return named[0] if clear else None


def _in_requests(reading: Reading, column: str, named: Sequence[str]) -> str:
    """Return the only one of some levels that a request names, not what is noted beside it; "" where there is no such one."""
    asked = {
        m.level
        for m in reading.mentions
        if m.column == column
        and any(r.first <= m.first <= r.last for r in reading.requests)
        and reading.words[m.first].number is None  # a code alone is noted
    } & {*named}
    return next(iter(asked)) if len(asked) == 1 else ""


_SHARE_OF = re.compile(
    r"\b(?:odds|risks?|chances?|probabilit\w+|shares?|proportions?|percent\w*|fractions?|rates?|how many|numbers?|predict\w*)\b[^.;:?!]{0,40}$",
    re.IGNORECASE,
)


def _asked_of(reading: Reading, column: str) -> bool:
    """Say whether a share, odds or a number is asked for of a level that is named."""
    starts = [reading.words[m.first].start for m in reading.mentions if m.column == column and m.level]
    return any(_SHARE_OF.search(reading.question[:start]) for start in starts)


_NOT_YET = re.compile(
    r"\b(?:still|without|free|alive|living|lives?|survived|no|not|none|never|censored|lost|fine|ok|healthy|withdrawn|others?|end of)\b",
    re.IGNORECASE,
)
"""What a code says that does not mean that the event came."""
_SAYS_MORE = re.compile(
    r"\s*(?:=|:|(?:is|are|means?|was|were|for)\b|[(]?\s*(?:and|or|/|,)?\s*(?:\w+\s+)?(?:censored|alive|lost|missing|unknown)\b)",
    re.IGNORECASE,
)


def _told_event(question: str, column: ColumnProfile) -> str | None:
    """Return the level of which the question says that it is the event: `0 = it came back, 1 = still without`.

    Of several ends it is the one that is written beside its code (`relapse (1)`), or the only one whose first word the
    question says again apart from explaining the codes (`1 = relapse, 2 = death ... until relapse`).
    """
    codes = [level for level in column.levels if as_number(level) is not None]
    if len(codes) < 2 or len(codes) < len(column.levels) or len(codes) > 4:
        return None
    at = question.lower().find(column.name.lower())
    after = question[at + len(column.name) :] if at >= 0 else ""
    set_to = re.match(r"['\"`]?\s*={1,2}\s*(?P<code>-?\d+)(?![\d.])(?P<rest>.{0,25})", after)
    if set_to and set_to["code"] in codes and not _SAYS_MORE.match(set_to["rest"]):
        return set_to["code"]  # `death (status == 1; 0/2 censored)`
    told = _codes_told(question[at + len(column.name) :] if at >= 0 else question, codes)
    if at < 0 and len(told) < max(3, len(codes)):
        told = {}  # codes of another column
    starts = re.match if len(codes) > 2 else re.search  # `death without relapse` is an end like others
    waiting = [code for code, words in told.items() if starts(_NOT_YET, words.strip())]
    left = [code for code in codes if code not in waiting]
    if waiting and len(left) == 1:
        return left[0]
    if len(codes) < 3:
        return None
    beside = [
        code for code in left if re.search(rf"\w\s*\((?:{re.escape(column.name)}\W*)?{re.escape(code)}\)", question)
    ]
    if len(beside) == 1:
        return beside[0]
    explained = Counter(token.stem for words in told.values() for token in tokens(words))
    again = Counter(token.stem for token in tokens(question)) - explained
    heads = {
        code: next((t.stem for t in tokens(told[code]) if t.text not in STOP), "") for code in left if code in told
    }
    named = [code for code, head in heads.items() if again[head]]
    return named[0] if len(named) == 1 else None


def _codes_told(text: str, codes: Sequence[str]) -> dict[str, str]:
    """Return code -> the words that a text says it stands for."""
    told: dict[str, str] = {}
    for code in codes:
        match = re.search(
            rf"(?<![\w.]){re.escape(code)}\s*(?:=|:|\b(?:is|are|means?|was|were)\b(?: the)?)\s*([^,;.()0-9]+)", text
        )
        match = (
            match or re.search(rf"(?<![\w.]){re.escape(code)}\s+([^,;.()0-9=]+?)(?=[,;.)]|$)", text) if told else match
        )
        if match:
            told[code] = match[1]
    return told


def _doubtful(column: ColumnProfile, level: str) -> bool:
    return level in ("1", "2") and (
        column.name.lower().startswith("cens") or {*column.levels} == {"1", "2"} or len(column.levels) > 2
    )


def _happened(column: ColumnProfile, proposed: str, *, blocking: bool = False) -> OpenQuestion:
    """Ask which level is the event; `blocking` where nothing but a guess speaks for one, as it decides every direction."""
    return OpenQuestion(
        id="event_value", text=f"Which value of {column.name!r} means that it happened?", param="event_value",
        why=f"{column.name!r} has the values {', '.join(list(column.levels)[:8])}, and the coding does not say; all others count as "
        "not happened.",
        choices=list(column.levels), proposed=proposed, blocking=blocking,
    )  # fmt: skip


_EACH = frozenset("each every per both all between the".split())
_GROUPS = frozenset("group groups arm arms treatment treatments".split())
_NAMED = frozenset(
    "group grp grps arm trt tx treatment randomised randomized allocation gruppe groupe grupo bras brazo".split()
)
WEAKLY = 0.7
"""How surely such words name the column: less than its own name."""


def groups_meant(words: Sequence[Token], sheet: Sheet) -> list[ColumnMention]:
    """Return `every group` as a mention of the only column whose names hold a control (`placebo`, `sham`), or that is called so."""
    here = [
        at
        for at, word in enumerate(words)
        if at
        and word.text in _GROUPS
        and words[at - 1].text in _EACH
        and [w.text for w in words[at + 1 : at + 2]] != ["of"]
    ]
    able = [c for c in sheet.columns if here and is_group(c)]
    names = [c.name for c in able if _has_control([*c.levels])] or [
        c.name for c in able if {*parts_of_name(c.name)} & _NAMED
    ]
    return [ColumnMention(names[0], "", at, at, WEAKLY) for at in here] if len(names) == 1 else []


def _has_control(levels: Sequence[str]) -> bool:
    """Say whether one of names, none of them a mere yes or no or a number, is called like a control."""
    plain = {level.strip().lower() for level in levels}
    return bool(levels) and not plain & (YES | NO) and bool(control_level(levels))
