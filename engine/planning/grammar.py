"""What a sentence makes of the columns it names: outcome, cause, adjusted for, split by, and which rows it is about.

The patterns are of the English of questions, never of a field. They run over the question with its mentions in angle
brackets: `effect of <c0> on <c1>`, `only <l2>`, `<c3> older than 60`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from engine.domain.profile import ColumnProfile
from engine.planning.cuts import compared, onwards
from engine.planning.leaving_out import LEVELS, SHORT, left_out, talked_of
from engine.planning.mentions import Mention
from engine.planning.reading import Contrast, Part, Restriction
from engine.text.tokens import Token

_ITEM = r"(?:(?:the|their|its|his|her|each|every|both|mean|average|median|initial|a|an|of|on|in|for|by)\s+){0,3}<[cl]\d+>(?:\s*\([^)]*\))?"
_LIST = rf"{_ITEM}(?:\s*(?:,\s*and|,|and|or|&|\+|plus|as well as|/|\*|x)\s*{_ITEM})*"
_GAP = r"(?:\s+(?!<)[\w'%-]+){0,4}?\s*,?\s*"
_X, _Y, _A, _B, _E = (rf"(?P<{key}>{_LIST})" for key in ("x", "y", "a", "b", "e"))
_VERBS = (
    r"(?:affect|influence|change|increase|reduce|raise|lower|improve|predict|explain|determine|drive|alter|shorten|prolong|extend|"
    r"modif|impact|decide|matter|help|protect|worsen|lengthen|decrease|cause|delay|prevent|lead)\w*"
)
_VARIES = (
    r"(?:differ|different|differs|differences?|vary|varies|change|changes|rise|rises|fall|falls|increase|increases|decrease|"
    r"decreases|grow|grows|higher|lower|greater|smaller|larger|longer|shorter|heavier|lighter|compare|compared|distributed|same)\w*"
)
_CHANCE = r"(?:odds|(?-i:OR)|risk|hazard|chances?|probability|likelihood|rate|share|proportion|percentage|fraction)(?: ratio)?s?"
_WHOM = rf"{_GAP}<[cl]\d+>\s*(?:(?:<c\d+>|users?|takers?|patients?|people|persons?|groups?|subjects?|animals?)(?!\w)|{_GAP}\b(?:of|to)\b)"
"""`the risk for the users of having a stroke`: whose risk it is, not of what."""
_UNLIKE_IN = r"(?!(?:differ\w*|vary|varies|same|unlike|alike)\s+in\s+(?:(?!<)\w+\s+){0,4}<c)"
"""Of `the diets differ in length` and `length differs in the diets` only the columns' kinds say which is measured."""
_RELATIONS: tuple[tuple[str, dict[str, Part]], ...] = (
    (rf"\b(?:effects?|influence|impact|role|contribution) of{_GAP}{_X}{_GAP}\b(?:on|for|in){_GAP}{_Y}", {"x": "cause", "y": "outcome"}),
    (rf"\b(?:adjust\w*|correct\w*|control\w*|account\w*|allow\w*|stratif\w*|condition\w*) (?:(?:it|this|that|also) )?(?:for|by|on|with){_GAP}{_A}", {"a": "adjust"}),
    (rf"\btak(?:ing|e)\s+(?:also\s+)?account of{_GAP}{_A}", {"a": "adjust"}),
    (rf"\b(?:once|when|after|with){_GAP}{_A}{_GAP}(?:(?:is|are|was|were|ha(?:s|ve) been) )?(?:also )?(?:accounted for|adjusted for|corrected for|controlled(?: for)?|allowed for|taken into account|(?:held|kept) (?:constant|fixed|equal))", {"a": "adjust"}),
    (rf"\b(?:for|per|by) (?:(?:each|every|an?|one|two|five|ten|\d+) )?(?:(?:more|extra|additional|further) )?(?:units?|points?) (?:more )?(?:of|in|higher|more){_GAP}{_X}", {"x": "cause"}),
    (rf"\btak(?:ing|e)\s+(?:\w+\s+)?{_A}{_GAP}into account", {"a": "adjust"}),
    (rf"\b(?:regardless|irrespective|independent(?:ly)?) of{_GAP}{_A}", {"a": "adjust"}),
    (rf"\b(?:mind|given|holding|keeping|at (?:the )?same|at equal|for the same|with (?:the )?(?:same|equal|identical)){_GAP}{_A}(?:\s+(?:constant|fixed|equal|the same))?", {"a": "adjust"}),
    (rf"{_A}(?:\s*,)?\s+(?:is|are|being|was|were)\s+(?:held|kept)\s+(?:constant|fixed|equal)", {"a": "adjust"}),
    (rf"\bcovariates?:?\s+{_A}", {"a": "adjust"}),
    (rf"\bpredict(?:ing|ed|s|ion of)?{_GAP}{_Y}{_GAP}\b(?:from|by|with|using|on){_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"{_Y}{_GAP}\b(?:predicted|explained|determined|driven|affected|influenced|changed) (?:by|from){_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"\b(?:regress|regression of|model|modell?ing|fit|glm of){_GAP}{_Y}{_GAP}\b(?:on|against|with|by|as a function of){_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"{_Y}\s*~\s*{_X}", {"x": "cause", "y": "outcome"}),
    (rf"{_Y}{_GAP}\bdepend(?:s|ent|ing)? on{_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"{_X}{_GAP}\b{_VERBS}\b{_GAP}{_Y}", {"x": "cause", "y": "outcome"}),
    (rf"\b{_CHANCE} (?:of|to|that|for(?!{_WHOM})){_GAP}{_Y}", {"y": "outcome"}),
    (rf"{_Y}\s+(?:more|less)\s+(?:often|frequent|likely|common)", {"y": "outcome"}),
    (rf"\b{_CHANCE} (?:of|to|that){_GAP}{_Y}{_GAP}\b(?:for|in|with|among|between|by){_GAP}{_X}", {"x": "cause"}),
    (rf"\b{_CHANCE} (?:for|in|with|among|between|by){_GAP}{_X}(?:\s*<c\d+>)?{_GAP}\b(?:of|to){_GAP}{_Y}", {"x": "cause", "y": "outcome"}),
    (rf"{_Y}{_GAP}\b{_UNLIKE_IN}{_VARIES}\b{_GAP}\b(?:with|by|between|among|across|over|according to|for|in|per|from){_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"\b(?:plot|draw|show|graph|chart|curves? of|histogram of|distribution of){_GAP}{_Y}{_GAP}\b(?:against|vs\.?|versus|over|by){_GAP}{_X}", {"x": "over", "y": "outcome"}),
    (rf"{_Y}{_GAP}\b(?:over|against|vs\.?|versus|as a function of|along){_GAP}{_X}", {"x": "over", "y": "outcome"}),
    (rf"{_Y}{_GAP}\b(?:per|by|for each|for every|in each|according to|split by|separately for|grouped by|broken down by|within each){_GAP}{_B}", {"b": "by"}),
    (rf"\b(?:per|by|for each|for every|in each|of each|separately for|split by|grouped by|one \w+ per|one \w+ for each){_GAP}{_B}", {"b": "by"}),
    (rf"\b(?:sensitivity|specificity|accuracy|predictive values?){_GAP}{_X}{_GAP}\b(?:against|versus|vs\.?|compared (?:with|to)){_GAP}{_Y}", {"x": "cause", "y": "outcome"}),
    (rf"{_E}\)?\s+(?:as|is|being)\s+(?:the\s+|an?\s+)?(?:exposure|offset)", {"e": "exposure"}),
    (rf"\b(?:slopes?|regression)\s+of{_GAP}{_Y}{_GAP}\bon{_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"\b(?:exposure|offset|per unit of|out of|of a total of|among the total){_GAP}{_E}", {"e": "exposure"}),
    (r"\b(?:two|both|three|four|2|3|4)\s+(?:\w+\s+)?(?P<x><c\d+>)", {"x": "cause"}),
    (rf"{_Y} as (?:the )?(?:outcome|response|dependent)", {"y": "outcome"}),
    (rf"{_X} as (?:the )?(?:predictors?|explanatory|independent)", {"x": "cause"}),
    (r"\b(?:same|repeated\w*|several times|each|within)\s+(?:\w+\s+){0,2}(?P<s><c\d+>)", {"s": "subject"}),
    (rf"\b(?:paired|matched|pair\w*|blocked)\s+(?:by|on|within|per|over)\s+(?:the\s+|each\s+)?(?P<s>{_ITEM})", {"s": "subject"}),
    (rf"\brandom (?:effects?|intercepts?)?(?: of| for| by)?{_GAP}(?P<s>{_ITEM})", {"s": "subject"}),
    (rf"(?P<s>{_ITEM})\s+(?:as|is)\s+(?:a\s+|the\s+)?random", {"s": "subject"}),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), roles) for pattern, roles in _RELATIONS)
_AGAINST = r"(?:vs\.?|versus|against|compared (?:to|with)|relative to|over|than|(?<=er )then|(?<=more )then|(?<=less )then|rather than|minus|instead of|from|better|worse)"
_ONLY = r"(?:only|just|solely|exclusively|restrict\w* (?:\w+ )?to|limit\w* (?:\w+ )?to|confin\w* to|keep\w*(?: only)?|subset (?:of|to)|nothing but)(?!\s+(?:\d+|<l\d+>)\s+(?:out\s+)?of\b)"


class Coded:
    """A question with its mentions as `<c0>` and `<l1>`, and the way back."""

    def __init__(self, question: str, words: Sequence[Token], mentions: Sequence[Mention]) -> None:
        self.question, self.words, self.mentions = question, words, mentions
        pieces: list[str] = []
        numeric: list[str] = []
        at = 0
        for number, mention in enumerate(mentions):
            start, end = words[mention.first].start, words[mention.last].end
            code = f"<{'l' if mention.level else 'c'}{number}>"
            plain = bool(mention.level) and mention.first == mention.last and words[mention.first].number is not None
            pieces += [question[at:start], code]
            numeric += [question[at:start], question[start:end] if plain else code]
            at = end
        self.text = "".join([*pieces, question[at:]])
        self.numbers = "".join([*numeric, question[at:]])
        """The same with numbers that are levels left as they stand, for `age > 60`."""

    def inside(self, text: str | None) -> list[Mention]:
        """Return the mentions in a piece of the coded text."""
        return [self.mentions[int(number)] for number in re.findall(r"<[cl](\d+)>", text or "")]


_REMARK = re.compile(r"(<c\d+>)\s*\((?:[^()<]|<l\d+>)*\)")
"""What a column's codes stand for, between it and the next of a list: `smoking (0 never/1 current) and ASA`."""


def parts_of(coded: Coded) -> dict[str, set[Part]]:
    """Return column -> what the sentence makes of it."""
    found: dict[str, set[Part]] = {}
    text = _REMARK.sub(r"\1", coded.text)
    for pattern, roles in _COMPILED:
        for match in pattern.finditer(text):
            for key, part in roles.items():
                for mention in coded.inside(match[key]):
                    found.setdefault(mention.column, set()).add(part)
    measured = [column for column, parts in found.items() if "outcome" in parts and not parts & {"over", "cause"}]
    for parts in found.values():
        if measured and "over" in parts:
            parts.discard("outcome")  # `does length over the weeks differ`
    return found


def contrasts(coded: Coded, apart: Collection[Mention] = ()) -> list[Contrast]:
    """Return which levels are set against each other, column by column, without mentions that set nothing apart."""
    found: dict[str, Contrast] = {}
    by_column: dict[str, list[Mention]] = {}
    for mention in coded.mentions:
        if mention.level and mention not in apart:
            by_column.setdefault(mention.column, []).append(mention)
    for column, mentions in by_column.items():
        levels = tuple(dict.fromkeys(mention.level for mention in mentions))
        if len(levels) < 2:
            continue
        order = _order(coded, column, levels)
        found[column] = Contrast(column, order or levels, explicit=order is not None)
    return list(found.values())


def _order(coded: Coded, column: str, levels: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the levels with the one of interest first where the words fix it."""
    codes = {n: m.level for n, m in enumerate(coded.mentions) if m.column == column and m.level}
    gap = r"[^.;?!<]{0,45}?(?:<c\d+>[^.;?!<]{0,15}?){0,2}"
    for first in codes:
        for second in codes:
            if codes[first] == codes[second]:
                continue
            if re.search(rf"\bfrom\b{gap}<l{first}>{gap}\bto\b{gap}<l{second}>", coded.text, re.IGNORECASE):
                return (codes[second], codes[first], *(v for v in levels if v not in (codes[first], codes[second])))
    for first in codes:
        for second in codes:
            pattern = rf"<l{first}>{gap}\b{_AGAINST}(?![\w]){gap}<l{second}>"
            if first < second and codes[first] != codes[second] and re.search(pattern, coded.text, re.IGNORECASE):
                return (codes[first], codes[second], *(v for v in levels if v not in (codes[first], codes[second])))
    return None


_FROM_TO = re.compile(
    r"(?P<change>\bfrom\b[^<>.;?!]*(?:<c\d+>\s*)?)?(?P<a><l\d+>)\s*(?:to|through|thru|-|–)\s*(?:<c\d+>\s*)?(?P<b><l\d+>)",
    re.IGNORECASE,
)


def ranges(coded: Coded, columns: dict[str, ColumnProfile]) -> dict[str, list[str]]:
    """Return column -> the levels of a range whose ends are named: `stages I to IV`, not `from stage I to IV` (a change)."""
    found: dict[str, list[str]] = {}
    for match in _FROM_TO.finditer(coded.text):
        ends = coded.inside(match["a"] + match["b"])
        order = columns[ends[0].column].order if ends[0].column in columns else []
        if not match["change"] and ends[0].column == ends[1].column and {m.level for m in ends} <= {*order}:
            low, high = sorted(order.index(m.level) for m in ends)
            found[ends[0].column] = order[low : high + 1]
    return found


def restrictions(coded: Coded, columns: dict[str, ColumnProfile]) -> list[Restriction]:
    """Return the rows to keep or leave out that the words name, surely (`only women`) or perhaps (`in women`)."""
    text = coded.text
    found: list[Restriction] = []
    gone = list(left_out(coded, columns))
    spared = talked_of(coded, [mention for named in gone for mention in named])
    within = ranges(coded, columns)

    def add(meant: re.Match[str] | Sequence[Mention], op: str, sure: bool) -> None:  # noqa: FBT001 - a local helper
        grouped: dict[str, list[Mention]] = {}
        for mention in coded.inside(meant["l"]) if isinstance(meant, re.Match) else meant:
            if op == "not in" or mention not in spared:
                grouped.setdefault(mention.column, []).append(mention)
        for column, named in grouped.items():
            values = tuple(dict.fromkeys(mention.level for mention in named if mention.level))
            if column in within and {*values} <= {*within[column]}:
                values = tuple(within[column])
            if values and not any(r.column == column and set(values) <= set(r.values) and r.sure for r in found):
                found.append(Restriction(column, op, values, named[0].first, named[-1].last, sure))  # type: ignore[arg-type]

    for named in gone:
        add(named, "not in", True)
    for match in re.finditer(rf"\b{_ONLY}\b(?:\s+(?:in|for|with|the|those|among|of|from|at|on|use|using|\w+))?{SHORT}(?P<l>{LEVELS})", text, re.IGNORECASE):  # fmt: skip
        add(match, "in", True)
        further = re.compile(rf"(?:\s*(?:<c\d+>|(?!<)[\w'-]+))?\s*(?:,\s*)?(?:that|who|which|with|and|but)\s+(?:(?:did|do|does|were|are|was|is|have|had|has|of|in|the|only)\s+){{0,2}}(?P<l>{LEVELS})", re.IGNORECASE)  # fmt: skip
        while match and (match := further.match(text, match.end())):
            add(match, "in", True)
    for match in re.finditer(
        rf"(?P<l>{LEVELS})(?:\s+(?:<c\d+>|(?!<)[\w'-]+)){{0,1}}\s+(?:only|alone|ones?)\b(?!\s+(?:\d|<l))",
        text,
        re.IGNORECASE,
    ):
        add(match, "in", not _beside_others(coded, match))
    found += [*onwards(coded, columns), *compared(coded, columns)]
    for match in re.finditer(rf"\b(?:in|among|within|for|at|on|during|of|with|by)\s+(?:(?:the|all|our)\s+)?(?:<c\d+>\s*)?(?P<l>{LEVELS})", text, re.IGNORECASE):  # fmt: skip
        add(match, "in", False)
    for match in re.finditer(rf"(?:^|[:(,]\s*)(?:<c\d+>\s*)?(?P<l>{LEVELS})\s*[:,]", text):
        add(match, "in", False)
    return _merged([item for item in _agreeing(found) if not _says_nothing(item, columns)])


def _beside_others(coded: Coded, match: re.Match[str]) -> bool:
    """Say whether other levels of the column are named too: `the susceptible one and the resistant one` are both meant."""
    if not match[0].lower().endswith(("one", "ones")):
        return False
    named = {(m.column, m.level) for m in coded.inside(match["l"])}
    return any(m.level and (m.column, m.level) not in named and m.column in dict(named) for m in coded.mentions)


def _agreeing(found: Sequence[Restriction]) -> list[Restriction]:
    """Return the restrictions without levels named beside a cut that none of them passes: `days 0 and 1 were training, from day 2 on`."""
    cuts = [item for item in found if item.op not in ("in", "not in")]
    return [
        item
        for item in found
        if item.op != "in" or not any(c.column == item.column and not any(map(c.holds, item.values)) for c in cuts)
    ]


def compared_alone(item: Restriction, found: Sequence[Contrast]) -> bool:
    """Say whether a level kept `alone` is rather set against another: `longer on the combination than on the patch alone`."""
    against = next((c for c in found if c.column == item.column and c.explicit), None)
    return item.op == "in" and against is not None and set(item.values) < set(against.levels)


def claimed_of_one(item: Restriction, parts: dict[str, set[Part]], mentions: Sequence[Mention]) -> bool:
    """Say whether a level kept is only claimed to differ: `significant only in women ... odds ratios by sex`."""
    named = {m.level for m in mentions if m.column == item.column and m.level}
    return item.op == "in" and "by" in parts.get(item.column, ()) and not named <= set(item.values)


def _says_nothing(item: Restriction, columns: dict[str, ColumnProfile]) -> bool:
    """Say whether all levels of a column are named: leaving them out leaves no row, keeping them leaves out none.

    Rows without a value make a difference: a column of remarks that few rows have is told apart by these.
    """
    column = columns.get(item.column)
    if item.op not in ("in", "not in") or column is None or not 0 < len(column.levels) <= len(item.values):
        return False
    apart = item.op == "not in" or (item.sure and len(column.levels) == 1)
    return not (apart and column.missing)


def _merged(found: Sequence[Restriction]) -> list[Restriction]:
    """Return each restriction once, sure ones before those that only may be meant."""
    kept: list[Restriction] = []
    for item in sorted(found, key=lambda r: not r.sure):
        if not any(
            r.column == item.column and (r.values == item.values or set(item.values) <= set(r.values)) for r in kept
        ):
            kept.append(item)
    return sorted(kept, key=lambda r: r.first)
