"""Which rows a question is about: those it keeps or leaves out by level (`only women`), by a number or along an order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from engine.domain.profile import ColumnProfile
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.coded import Coded
from engine.planning.reading.cuts import compared, onwards
from engine.planning.reading.grammar import ranges
from engine.planning.reading.leaving_out import LEVELS, SHORT, cut_off, left_out, talked_of
from engine.planning.reading.reading import CUTS, TURNED, Contrast, Part, Restriction
from engine.text.tokens import Token

_ONLY = r"(?:only|just|solely|exclusively|restrict\w* (?:\w+ )?to|limit\w* (?:\w+ )?to|confin\w* to|keep\w*(?: only)?|subset (?:of|to)|nothing but)(?!\s+(?:\d+|<l\d+>)\s+(?:out\s+)?of\b)"


def restrictions(coded: Coded, columns: dict[str, ColumnProfile]) -> list[Restriction]:
    """Return the rows to keep or leave out that the words name, surely (`only women`) or perhaps (`in women`)."""
    gone = list(left_out(coded, columns))
    spared = talked_of(coded, [mention for named in gone for mention in named])
    rows = _Rows([], ranges(coded, columns))
    for named in gone:
        rows.add(named, "not in", sure=True)
    for mention in coded.mentions:  # `..., without the dropouts`: the level says itself who is not meant
        before = coded.question[: coded.words[mention.first].start].rstrip()
        if mention.level and coded.words[mention.first].text == "without" and before.endswith((",", ";", "(")):
            rows.add([mention], "in", sure=True)
    for mention in _on_both_sides(coded):
        rows.add([mention], "in", sure=True)
    for match, sure in _kept_alone(coded):
        rows.add([m for m in coded.inside(match["l"]) if m not in spared], "in", sure=sure)
    rows.found.extend(cut_off(coded, columns, [*onwards(coded, columns), *compared(coded, columns)]))
    for match in _in_passing(coded.text):
        rows.add([m for m in coded.inside(match["l"]) if m not in spared], "in", sure=False)
    found = [item for item in _agreeing(rows.found) if not _says_nothing(item, columns)]
    return _merged([item for item in found if not any(_begins(item, other) for other in found)])


def _begins(item: Restriction, other: Restriction) -> bool:
    """Say whether a level that is kept is only where others begin: III of `only stage III and above`."""
    alike = item.column == other.column and item.op == other.op == "in" and item.first == other.first
    return alike and {*item.values} < {*other.values}


class _Rows(NamedTuple):
    """The restrictions found so far."""

    found: list[Restriction]
    within: Mapping[str, Sequence[str]]
    """Column -> the levels of a range that is named by its ends."""

    def add(self, mentions: Sequence[ColumnMention], op: Literal["in", "not in"], *, sure: bool) -> None:
        """Add levels that are named together, unless rows of them are surely restricted already."""
        for column in dict.fromkeys(mention.column for mention in mentions):
            named = [mention for mention in mentions if mention.column == column]
            values = tuple(dict.fromkeys(mention.level for mention in named if mention.level))
            if column in self.within and {*values} <= {*self.within[column]}:
                values = tuple(self.within[column])
            if values and not any(r.column == column and {*values} <= {*r.values} and r.sure for r in self.found):
                self.found.append(Restriction(column, op, values, named[0].first, named[-1].last, sure))


def _kept_alone(coded: Coded) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield where levels (`l`) are said to be the only ones, and whether surely."""
    text = coded.text
    for match in re.finditer(rf"\b{_ONLY}\b(?:\s+(?:in|for|with|the|those|among|of|from|at|on|use|using|\w+))?{SHORT}(?P<l>{LEVELS})", text, re.IGNORECASE):  # fmt: skip
        yield match, True
        further = re.compile(rf"(?:\s*(?:<c\d+>|(?!<)[\w'-]+))?\s*(?:,\s*)?(?:that|who|which|with|and|but)\s+(?:(?:did|do|does|were|are|was|is|have|had|has|of|in|the|only)\s+){{0,2}}(?P<l>{LEVELS})", re.IGNORECASE)  # fmt: skip
        while match and (match := further.match(text, match.end())):
            yield match, True
    leading = r"^\W*(?:in|among|for|of)\s+(?:(?:the|all|our|those|only)\s+)*(?:(?!<)[\w-]+\s+){0,2}?(?:<c\d+>\s*)?\(?(?P<l><l\d+>)\s*(?:[a-z]{1,3}\s*)?\)?\s*(?:<c\d+>\s*)?[:,]"
    if match := re.match(leading, text, re.IGNORECASE):
        yield match, True  # `In people without diabetes: how does ...`
    for match in re.finditer(
        rf"(?:\b(?:{_ONLY}|where|whose|with|for)\s+(?:the\s+)?|[(,]\s*)<c\d+>\s*(?:==?|is|equals|equal to)\s*{SHORT}(?P<l>{LEVELS})"
        r"(?!\s*\)?\s*(?:vs|versus|against|than|compared|rather)\b)",
        text,
        re.IGNORECASE,
    ):
        before = text[: match.start()]
        named = match[0][0] in "(," and (
            _EFFECT_OF.search(before) or (_WHO_DOES.search(before) and not _SET_AGAINST.search(text))
        )
        # `Where sex is female`, `only breed = A`.
        if not named and len({m.column for m in coded.inside(match[0])}) == 1:
            yield match, True
    for match in re.finditer(
        rf"(?P<l>{LEVELS})(?:\s+(?:<c\d+>|(?!<)[\w'-]+)){{0,1}}\s+(?:only|alone|ones?)\b(?!\s+(?:\d|<l))",
        text,
        re.IGNORECASE,
    ):
        yield match, not _beside_others(coded, match)


_EFFECT_OF = re.compile(
    r"\b(?:OR|RR|HR|IRR|odds|risks?|hazards?|ratios?|effects?|benefits?|impact|influence|efficacy)\s+(?:of|for|with)\s+(?:the\s+)?[\w-]+\s*$"
)
"""`OR of hay (feed = 2), adjusted for`: what is set against the others."""
_WHO_DOES = re.compile(
    r"(?:(?:^|[.?!;,]\s+|\band\s+)(?:do|does|did|has|have)\s+(?:the\s+)?(?:(?!(?:in|of|for|among|within|with|at)\s)[\w-]+\s+){1,3}|"
    r"\b(?:\w{3,}er|more|less|better|worse)\s+(?:often\s+|common\s+|likely\s+)?(?:in|for|with|among)\s+(?:the\s+)?(?:[\w-]+\s+)?[\w-]+\s*)$",
    re.IGNORECASE,
)
"""`does deep ploughing (plough = 1) delay ...`, `is it higher in women (sex = 2)`: set against the others where nothing else is."""
_SET_AGAINST = re.compile(
    r"\b(?:than|vs?\.?|versus|against|compared|between|only|depend\w*|differ\w*)\b", re.IGNORECASE
)


def _on_both_sides(coded: Coded) -> Iterator[ColumnMention]:
    """Yield a level that stands beside each of two that are compared: the spruce of `fertilised spruce ... control spruce`."""
    levels = [m for m in coded.mentions if m.level]
    for one in levels:
        again = [m for m in levels if m.column == one.column]
        if len(again) > 1 and {m.level for m in again} == {one.level}:
            beside = [{(n.column, n.level) for n in levels if n.column != one.column and _touch(m, n)} for m in again]
            if any(a[0] == b[0] and a != b for a in beside[0] for near in beside[1:] for b in near):
                yield one


def _touch(one: ColumnMention, other: ColumnMention) -> bool:
    return 0 < one.first - other.last <= _NEXT or 0 < other.first - one.last <= _NEXT


_NEXT = 2
"""A letter in brackets may stand between: `fertilised (D) spruce`."""


def _in_passing(text: str) -> Iterator[re.Match[str]]:
    """Yield where levels (`l`) may be said to be those meant: `in women`, `women: ...`."""
    yield from re.finditer(rf"\b(?:in|among|within|for|at|on|during|of|with|by)\s+(?:(?:the|all|our)\s+)?(?:<c\d+>\s*)?(?P<l>{LEVELS})", text, re.IGNORECASE)  # fmt: skip
    yield from re.finditer(rf"(?:^|[:(,]\s*)(?:<c\d+>\s*)?(?P<l>{LEVELS})\s*[:,]", text)


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


_COMPARED = (
    r"(?:more|less|further|faster|slower|better|worse|stronger|weaker|bigger|larger|smaller|most|least|quicker|higher|lower|greater|longer|shorter|"
    r"earlier|later|commoner|rarer|(?:less|more|fewer)\s+(?!than\b)[\w-]+)"
)
_MORE = re.compile(
    rf"\b{_COMPARED}(?:\s+(?:common|frequent|often|likely|severe|pronounced|prevalent))?\s+"
    r"(?:in|with|under|on|for|by|among|than(?:\s+in|\s+with)?)\s+(?:the\s+|those\s+|on\s+)*(?:[\w-]+\s+)?$",
    re.IGNORECASE,
)


_AT_THE_END = re.compile(rf"\s*{_COMPARED}\s*(?:[?.!,;]|$)", re.IGNORECASE)
"""Where a German sentence has it: `is the weight in the treated higher?`."""


def more_in(question: str, words: Sequence[Token], mentions: Sequence[ColumnMention]) -> set[str]:
    """Return the columns of which one level is said to have more of something: `did it drop more with the new drug`.

    It is set against the others of its column; its rows alone could not answer that.
    """
    levels: dict[str, set[str]] = {}
    for mention in mentions:
        levels.setdefault(mention.column, set()).add(mention.level)
    around = {m.column: (question[: words[m.first].start], question[words[m.last].end :]) for m in mentions if m.level}
    return {
        column
        for column, (before, behind) in around.items()
        if len(levels[column] - {""}) == 1 and (_MORE.search(before) or _AT_THE_END.match(behind))
    }


_DIFFERENT = re.compile(
    r"\b(?:differs?|different|altered|affected|abnormal|the same)\s+(?:in|with|under|on|for)\s+(?:(?:the|those|our|all)\s+)*$",
    re.IGNORECASE,
)


def different_in(
    question: str, words: Sequence[Token], mentions: Sequence[ColumnMention], parts: Mapping[str, set[Part]],
    columns: Mapping[str, ColumnProfile],
) -> set[str]:  # fmt: skip
    """Return the column of which one level is said to be different: `is weight different in KO, adjusted for sex`.

    Where another column could be what is compared, the rows of the level may be meant: `does the diet differ in KO`.
    """
    said = {m.column for m in mentions if m.level and _DIFFERENT.search(question[: words[m.first].start])}
    levels = {m.level for m in mentions if m.column in said and m.level}
    beside = {m.column for m in mentions} - said
    measured = {name for name in beside if name in columns and columns[name].scale in _MEASURED}
    adjusted = {name for name in beside if parts.get(name) == {"adjust"}}
    rows = {name for name in beside if all(m.level for m in mentions if m.column == name)}  # `different in KO in males`
    return said if len(said) == len(levels) == 1 and measured and beside == measured | adjusted | rows else set()


_AMONG = re.compile(r"\b(?:in|among|within)\s+(?:(?:the|all|our|those)\s+)*$", re.IGNORECASE)


def among_whom(item: Restriction, coded: Coded, parts: Mapping[str, set[Part]]) -> bool:
    """Say whether a relation of two columns is asked of the rows of one level: `does pain depend on age in the women`."""
    said = [m for m in coded.mentions if m.column == item.column]
    if (
        item.op != "in"
        or len(item.values) != 1
        or any(m.level not in item.values for m in said)
        or item.column in parts
    ):
        return False
    others = [own for name, own in parts.items() if name != item.column]
    related = any("outcome" in own for own in others) and any(own & {"cause", "over"} for own in others)
    return related and bool(_AMONG.search(coded.question[: coded.words[item.first].start]))


def at_one_moment(found: Sequence[Restriction], coded: Coded, times: Collection[str]) -> set[str]:
    """Return the columns of time of which one moment is named beside one level of a group: `up with LPS at 24 h`.

    What is compared then is the group, not the moment with the others.
    """
    single = [item for item in found if item.op == "in" and len(item.values) == 1]
    named = {m.column: {o.level for o in coded.mentions if o.column == m.column and o.level} for m in coded.mentions}
    moments = {
        item.column for item in single
        if item.column in times and len(named[item.column]) == 1
        and _AT.search(coded.question[: coded.words[item.first].start])
    }  # fmt: skip
    return moments if any(item.column not in times for item in single) else set()


_AT = re.compile(r"\bat\s+(?:the\s+|about\s+)?$", re.IGNORECASE)
_MEASURED = ("number", "count", "share")
"""Scales of what is measured: no groups."""


def claimed_of_one(item: Restriction, parts: dict[str, set[Part]], mentions: Sequence[ColumnMention]) -> bool:
    """Say whether a level kept is only claimed to differ: `significant only in women ... odds ratios by sex`."""
    named = {m.level for m in mentions if m.column == item.column and m.level}
    return item.op == "in" and "by" in parts.get(item.column, ()) and not named <= set(item.values)


def with_either(found: Sequence[Restriction], coded: Coded) -> list[Restriction]:
    """Return rows to keep, those marked that a row may meet instead of what is said before them: `below 70 or fewer than 10`.

    Rows that go for one reason or another must not meet any, and those are told as what stays.
    """
    kept: list[Restriction] = []
    for item in sorted(found, key=lambda r: r.first):
        before = kept[-1] if kept else None
        if before is not None and before.column != item.column and (before.op in CUTS or item.op in CUTS):
            between = coded.question[coded.words[before.last].end : coded.words[item.first].start]
            joined = _OR.search(between) is not None
            if joined and before.out and not item.out and item.op in CUTS:
                item = item._replace(op=TURNED[item.op], out=True)  # `leave out those below 70 or with fewer than 10`
            elif joined and not (before.out or item.out or "not in" in (before.op, item.op)):
                item = item._replace(either=True)
        kept.append(item)
    return kept


_OR = re.compile(r"\A(?![^;.?!]*\band\b)[^;.?!]*\bor\b[^;.?!]*\Z", re.IGNORECASE)


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
