"""What a sentence makes of the columns it names: outcome, cause, adjusted for, split by, and which rows it is about.

The patterns are of the English of questions, never of a field. They run over the question with its mentions in angle
brackets: `effect of <c0> on <c1>`, `only <l2>`, `<c3> older than 60`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from engine.domain.profile import ColumnProfile
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.coded import Coded
from engine.planning.reading.reading import Contrast, Part
from engine.text.numbers import as_number

_ITEM = r"(?:(?:the|their|its|his|her|each|every|both|mean|average|median|initial|a|an|of|on|in|for|by)\s+){0,3}<[cl]\d+>(?:\s*\([^)]*\))?"
_LIST = rf"{_ITEM}(?:\s*(?:,\s*and|,|and|or|&|\+|plus|as well as|/|\*|x)\s*{_ITEM})*"
_GAP = r"(?:\s+(?!<)[\w'%-]+){0,4}?\s*,?\s*"
_X, _Y, _A, _B, _E = (rf"(?P<{key}>{_LIST})" for key in ("x", "y", "a", "b", "e"))
_HELD = rf"(?P<a>{_ITEM}(?:\s*(?:,\s*and|,|and|or|&|\+|plus|as well as|/)?\s*{_ITEM})*)"
"""What is held constant is also listed without commas: `adjusted for age sex smoking`."""
_VERBS = (
    r"(?:affect|influence|change|increase|reduce|raise|lower(?!\s+(?:on|in|than|with|at|for|among|under|after|by|when)\b)|improve|predict|explain|determine|drive|alter|shorten|prolong|extend|"
    r"modif|impact|decide|matter|help|protect|worsen|lengthen|decrease|cause|delay|prevent|lead)\w*"
)
_VARIES = (
    r"(?:differ|different|differs|differences?|vary|varies|change|changes|rise|rises|fall|falls|increase|increases|decrease|"
    r"decreases|grow|grows|higher|lower|greater|smaller|larger|longer|shorter|heavier|lighter|compare|compared|distributed|same)\w*"
)
_HAVING = r"\s+(?:(?:to|have|had|has|get|gets|got|develop\w*|suffer\w*|show\w*|an?|the|some|from)\s+){0,4}"
"""`patients with A have more often a B`: B is what happened."""
_CHANCE = r"(?:odds|(?-i:OR)|risk|hazard|chances?|probability|likelihood|rate|share|proportion|percentage|fraction)(?: ratio)?s?"
_WHOM = rf"{_GAP}<[cl]\d+>\s*(?:(?:<c\d+>|users?|takers?|patients?|people|persons?|groups?|subjects?|animals?)(?!\w)|{_GAP}\b(?:of|to)\b)"
"""`the risk for the users of having a stroke`: whose risk it is, not of what."""
_UNLIKE_IN = r"(?!(?:differ\w*|vary|varies|same|unlike|alike)\s+in\s+(?:(?!<)\w+\s+){0,4}<c)"
"""Of `the diets differ in length` and `length differs in the diets` only the columns' kinds say which is measured."""
_BY = r"(?<!paired )(?<!matched )(?<!blocked )by"
"""What pairs the rows is not what they are compared by."""
HOLDS = r"(?:adj\b\.?|(?:adjust|correct|control|account|allow)\w*)"
"""To correct, control or account for something is to adjust for it."""
_UNIT = r"(?:(?:the|my|our|a|an)\s+)?(?:(?:true|real|experimental|biological|statistical|independent)\s+)?(?:units?|replicates?)\b(?!\s+(?:means?|number))"
"""What rows are of is no group: `colony is the replicate`, `the experimental unit is the pen`."""
_UNITS = re.compile(
    rf"(?P<s>{_ITEM})\s*(?:as|is|are|=)\s+{_UNIT}|\b{_UNIT}\s*(?:of replication\s*)?(?:is|are|=|:)\s*(?P<t>{_ITEM})",
    re.IGNORECASE,
)
_RELATIONS: tuple[tuple[str, dict[str, Part]], ...] = (
    (rf"\b(?:effects?|influence|impact|role|contribution) of{_GAP}{_X}{_GAP}\b(?:on|for|in){_GAP}{_Y}", {"x": "cause", "y": "outcome"}),
    (rf"\b(?:effects?|influence|impact) on{_GAP}(?P<y>{_ITEM}(?:\s*(?:,|and|or|&)\s*(?:on\s+)?(?:the\s+)?{_ITEM})*)", {"y": "outcome"}),
    (rf"\b(?:{HOLDS}|stratif\w*|condition\w*) (?:(?:it|this|that|also) )?(?:for|by|on|with){_GAP}{_HELD}", {"a": "adjust"}),
    (rf"{_A}(?:\s+(?!<)[\w'%-]+){{0,5}}?[\s,]+(?:(?:so|please|then|and)\s+)*(?:adjust|correct|control|account|allow)\s+(?:please\b|pls\b|for (?:that|this|it|them|these|those)\b(?! <))", {"a": "adjust"}),
    (rf"(?P<a>{_ITEM}\s*\)?(?:\s*(?:,|and|or|&|, and)\s*(?:the\s+)?\(?{_ITEM}\)?)*)[^<]{{0,60}}?\b(?:{HOLDS} for|tak(?:e|ing)(?: account of)?|mind)\s+(?:both|these|those|them|all of (?:these|those|them|that))\b(?! <)(?:[^<.]{{0,12}}in(?:to)? (?:the )?account)?", {"a": "adjust"}),
    (rf"{_A}\s+(?:adjusted|corrected|controlled)\s*(?:for\s*)?(?:too|as well|also|please|pls)?\s*(?:[.,;!?)]|$)", {"a": "adjust"}),
    (rf"\btak(?:ing|e)\s+(?:also\s+)?(?:account|care) of(?!\s+(?:both|these|those|them)\b){_GAP}{_A}", {"a": "adjust"}),
    (rf"\b(?:once|when|after|with){_GAP}{_A}{_GAP}(?:(?:is|are|was|were|ha(?:s|ve) been) )?(?:also )?(?:accounted for|adjusted for|corrected for|controlled(?: for)?|allowed for|taken in(?:to)? account|(?:held|kept) (?:constant|fixed|equal))(?!{_GAP}<[cl])", {"a": "adjust"}),
    (rf"\b(?:for|per|by) (?:(?:each|every|an?|one|two|five|ten|\d+) )?(?:(?:more|extra|additional|further) )?(?:units?|points?) (?:more )?(?:of|in|higher|more){_GAP}{_X}", {"x": "cause"}),
    (rf"\btak(?:ing|e)\s+(?:\w+\s+)?{_A}(?:\s*<c\d+>)?{_GAP}in(?:to)? (?:the )?account", {"a": "adjust"}),
    (rf"\btak(?:ing|e)\s+(?P<a>{_ITEM}\s+(?!<|and\b|or\b)[\w-]+\s+(?:and|or)\s+{_ITEM}){_GAP}in(?:to)? (?:the )?account", {"a": "adjust"}),
    (rf"\b(?:regardless|irrespective|independent(?:ly)?) of{_GAP}{_A}", {"a": "adjust"}),
    (rf"\b(?:mind|given|holding|keeping|(?:at|for|of|with) (?:the )?(?:same|equal|identical)){_GAP}{_A}(?:\s+(?:constant|fixed|equal|the same))?", {"a": "adjust"}),
    (rf"{_A}(?:\s*,)?\s+(?:is|are|being|was|were)\s+(?:held|kept)\s+(?:constant|fixed|equal)", {"a": "adjust"}),
    (
        rf"\b(?:when|if|while|where)\s+(?:the\s+|their\s+|its\s+)?(?P<a>{_ITEM}(?:\s*(?:,|and|or|&)\s*(?:the\s+)?{_ITEM})*)\s+"
        r"(?:is|are|was|were|stays?|remains?|would be)\s+(?:held\s+|kept\s+|all\s+)?(?:the\s+same|equal|identical|alike|constant)\b",
        {"a": "adjust"},
    ),
    (rf"\bcovariates?:?\s+{_A}", {"a": "adjust"}),
    (rf"\bwith\s+{_A}\s+(?:(?:also|too|included|put)\s+)?(?:in(?:to)? (?:the|a|one|my|our) (?:same )?(?:model|regression)|as (?:covariates?|confounders?|adjusters?))\b", {"a": "adjust"}),
    (r"\bwith\s+(?:and|or|vs\.?|versus|against)\s+without\s+(?:(?:the|a|an|any)\s+)?(?P<x><c\d+>)", {"x": "cause"}),
    (rf"\bpredict(?:ing|ed|s|ion of)?{_GAP}{_Y}{_GAP}\b(?:from|by|with|using|on){_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"{_Y}{_GAP}\b(?:can|could|may|is|are|be)\s+(?:\w+\s+)?predict(?:ed|able)\b", {"y": "outcome"}),
    (rf"{_Y}{_GAP}\b(?:predicted|explained|determined|driven|affected|influenced|changed) (?:by|from){_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"\b(?:regress|regression of|model|modell?ing|fit|glm of){_GAP}{_Y}{_GAP}\b(?:on|against|with|by|as a function of){_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"{_Y}\s*~\s*{_X}", {"x": "cause", "y": "outcome"}),
    (rf"{_Y}{_GAP}\bdepend(?:s|ent|ing)? on{_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"{_Y}\s+(?:(?:also|really)\s+)?(?:(?:goes|go|going)\s+(?:up|down)|rises?|rising|increases?|increasing|falls?|falling|decreases?|decreasing|drops?|declines?)\s+(?:along\s+)?with\s+{_X}", {"x": "cause", "y": "outcome"}),
    (rf"{_X}{_GAP}\b{_VERBS}\b{_GAP}{_Y}", {"x": "cause", "y": "outcome"}),
    (rf"\b{_CHANCE} (?:of|to|that|for(?!{_WHOM})){_GAP}{_Y}", {"y": "outcome"}),
    (rf"{_Y}\s+(?:more|less)\s+(?:often|frequent|likely|common)(?:ly)?(?!{_HAVING}<[cl])", {"y": "outcome"}),
    (rf"\b(?:with|without|on|taking|after|under)\s+{_X}(?:\s+(?!<)[\w'-]+){{0,3}}?\s+(?:more|less)\s+(?:often|frequently|likely)(?={_HAVING}<){_HAVING}{_Y}", {"x": "cause", "y": "outcome"}),
    (rf"\b(?:tell\w*|distinguish\w*|separat\w*|seperat\w*|discriminat\w*|differentiat\w*){_GAP}{_Y}{_GAP}\b(?:from|and){_GAP}<l\d+>", {"y": "outcome"}),
    (rf"\b(?:do|did|does|will|can)\s+(?:an?\s+|the\s+)?(?:higher|lower|more|less|greater|older|longer|bigger|larger|smaller|heavier|high|low){_GAP}{_X}\s+(?:makes?|leads?|means?|gives?|causes?|goes?|go)\b", {"x": "cause"}),
    (r"(?:^|[.;:?!]\s+|\b(?:but|and)\s+)(?P<a><c\d+>)\s+(?:was|were)\s+not\s+(?:all\s+|exactly\s+|quite\s+)?(?:the\s+)?(?:same|equal|alike|balanced)\b", {"a": "adjust"}),
    (rf"\b(?:do|did|does){_GAP}{_X}\s+(?:have|get|develop|show|suffer|need)\s+(?:from\s+)?(?:more|less|fewer)\s+(?:(?:often|cases of)\s+)?{_Y}", {"x": "cause", "y": "outcome"}),
    (rf"\b{_CHANCE} (?:of|to|that){_GAP}{_Y}{_GAP}\b(?:for|in|with|among|between|by){_GAP}{_X}", {"x": "cause"}),
    (rf"\b{_CHANCE} (?:for|in|with|among|between|by){_GAP}{_X}(?:\s*<c\d+>)?{_GAP}\b(?:of|to){_GAP}{_Y}", {"x": "cause", "y": "outcome"}),
    (rf"{_Y}{_GAP}\b{_UNLIKE_IN}{_VARIES}\b{_GAP}\b(?:with|by|between|among|across|over|according to|for|in|per|from){_GAP}{_X}", {"x": "cause", "y": "outcome"}),
    (rf"\b(?:plot|draw|show|graph|chart|curves? of|histogram of|distribution of){_GAP}{_Y}{_GAP}\b(?:against|vs\.?|versus|over|by){_GAP}{_X}", {"x": "over", "y": "outcome"}),
    (rf"\bwhat\s+(?:\w+\s+)?(?:drives?|determines?|affects?|influences?|explains?|controls?|causes?|changes?)\b{_GAP}{_Y}", {"y": "outcome"}),
    (rf"\bhow many (?:of )?(?:the )?{_X}(?:\s+(?!<)\w+)?\s+(?:(?:who|that|also)\s+)*(?:have|has|had|got|get|develop\w*|show\w*|were|was|are|is)\b{_GAP}{_Y}",
     {"x": "cause", "y": "outcome"}),
    (rf"{_Y}{_GAP}\b(?:over|against|vs\.?|versus|as a function of|along){_GAP}{_X}", {"x": "over", "y": "outcome"}),
    (rf"\bat (?:what|which){_GAP}{_X}{_GAP}\b(?:half|(?:50|ten|10|90) ?%)(?: of)?{_GAP}{_Y}", {"x": "over", "y": "outcome"}),
    (rf"{_Y}{_GAP}\b(?:per|{_BY}|for each|for every|in each|according to|split by|separately for|grouped by|broken down by|within each){_GAP}{_B}", {"b": "by"}),
    (rf"\b(?:per|{_BY}|for each|for every|in each|of each|separately for|split by|grouped by|one \w+ per|one \w+ for each){_GAP}{_B}", {"b": "by"}),
    (rf"{_Y}\s+each\s+{_B}", {"b": "by"}),
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
_AGAINST = r"(?:vs?\.?|versus|against|compared (?:to|with)|relative to|over|than|(?<=er )then|(?<=more )then|(?<=less )then|rather than|minus|instead of|from|better|worse)"
_ALONE = re.compile(r"(?<![>\s])\s*\(\s*(<[cl]\d+>)\s*\)")
"""The name of a column behind the words for it: `with the same tail length (TL)`."""
_REMARK = re.compile(r"(<c\d+>)\s*\((?:[^()<]|<l\d+>)*\)")
"""What a column's codes stand for, between it and the next of a list: `smoking (0 never/1 current) and ASA`."""


_SAME = r"(?:\s+(?!<|(?:\w+er|more|less|different\w*|equal|alike|same|as|than|versus|vs)\b)[\w'%-]+)"
"""A word between two names that sets nothing against each other: what is compared is no share of one in the other."""
_SHARE_OF = re.compile(
    rf"(?:%|\b(?:percent|per cent|percentage|proportion|share|fraction)) of{_SAME}{{0,3}}?\s+(?P<x><l\d+>)(?:\s*<c\d+>)?{_SAME}{{0,2}}?"
    rf"(?:\s+(?:with|having|have|had|has|are|were|is|was)\b|(?=\s+<c))(?P<y>{_SAME}{{0,3}}?\s+{_LIST})",
    re.IGNORECASE,
)


_NESTED = re.compile(
    rf"(?P<a>{_ITEM})\s+(?:\w+\s+)?(?:(?:are|is|were|was)\s+)?nested\s+(?:in|within)\s+(?P<b>[^.;:?!()]*)",
    re.IGNORECASE,
)


def nested_in(coded: Coded) -> set[str]:
    """Return the columns that are said to be nested in each other: `sites are nested in teeth and in patients`."""
    return {m.column for match in _NESTED.finditer(coded.text) for m in coded.inside(match["a"] + match["b"])}


def only_counted_for(coded: Coded, numbered: Iterable[str]) -> set[str]:
    """Return the columns of those that number things which only say what is counted for: `seeds per pod, 6 pods a plant`."""
    found: set[str] = set()
    for column in numbered:
        mine = [m for m in coded.mentions if m.column == column and not m.level]
        around = [
            (coded.question[: coded.words[m.first].start], coded.question[coded.words[m.last].end :]) for m in mine
        ]
        if mine and all(_PER.search(before) or _OF_EACH.match(after) for before, after in around):
            found.add(column)
    return found


_PER = re.compile(r"\b(?:per|\d+|two|three|four|five|six|eight|ten|several|multiple|many)\s+$", re.IGNORECASE)
_OF_EACH = re.compile(r"\s*/|\s+(?:(?:of|from|in|on) (?:each|every|one|a|the same)|per|inside|within)\b", re.IGNORECASE)


def shares_of(coded: Coded) -> list[tuple[ColumnMention, list[ColumnMention]]]:
    """Return the level whose rows a share is of and what is counted in them: `what percentage of E. coli are cipro R`."""
    found = [(coded.inside(match["x"])[0], coded.inside(match["y"])) for match in _SHARE_OF.finditer(coded.text)]
    return [(whom, what) for whom, what in found if all(m.column != whom.column for m in what)]


_DEFINED = re.compile(r"\(\s*(?:i\.?e\.?,?\s*)?<c\d+>\s*(?:==?|is|equals)\s*(?P<l><l\d+>)\s*\)")
_COUNTS = re.compile(r"\bhow (?:many|often)\b|%|\b(?:percent\w*|share|proportion|fraction|rate)s?\b", re.IGNORECASE)


def defined(coded: Coded) -> list[ColumnMention]:
    """Return the level by which a bracket tells what is counted: `how many colonies died over winter (alive_spring = no)`."""
    counts = _COUNTS.search(coded.question)
    told = [coded.inside(match["l"])[0] for match in _DEFINED.finditer(coded.text)] if counts else []
    # `With the drug (arm = 1) against without (arm = 0)` tells the groups.
    apart = {
        what.column for what in told for other in told if what.column == other.column and what.level != other.level
    }
    return [
        what for what in told if counts and counts.start() < coded.words[what.first].start and what.column not in apart
    ]


_SHARES_BY = re.compile(
    rf"(?:%|\b(?:percent|per cent|percentage|proportion|share|fraction)s?) of{_SAME}{{0,2}}?\s+(?P<x><l\d+>)(?:\s*<c\d+>)?"
    rf"(?:\s+(?!<)[\w'-]+){{0,3}}?\s+(?:{_VARIES}|more|less|fewer|better|worse)\b{_GAP}\b(?:with|in|among|between|for|at|under|by|across){_GAP}{_Y}",
    re.IGNORECASE,
)


_STATES_BY = re.compile(
    rf"(?P<x><l\d+>)(?:\s+(?:in|of|among|for)\s+(?:the\s+)?<[cl]\d+>)?(?:\s+(?!<)[\w'-]+){{0,3}}?\s+"
    rf"(?:{_VARIES}|more|less)\b{_GAP}\b(?:with|in|among|between|for|at|under|by|across){_GAP}{_Y}",
    re.IGNORECASE,
)
_STATE = re.compile(r"(?:ance|ence|ity|iage)s?$")
"""How nouns end that say of many how often they are so: resistance, positivity, carriage."""


def shares_compared(coded: Coded) -> list[tuple[ColumnMention, list[ColumnMention]]]:
    """Return the level whose share is compared and the groups it is compared by: `is the share of E. coli higher in ward A`.

    The share is not said where a noun means it: `is cipro resistance higher in ward A`.
    """
    matches = [*_SHARES_BY.finditer(coded.text), *_STATES_BY.finditer(coded.text)]
    every = [(match.re, coded.inside(match["x"])[0], coded.inside(match["y"])) for match in matches]
    found = [(x, y) for said, x, y in every if said is _SHARES_BY or _STATE.search(coded.words[x.last].text)]
    return [(what, groups) for what, groups in found if all(m.column != what.column for m in groups)]


_OF_TWO = re.compile(
    rf"\b(?:relations?|relationship|association|correlation|link|slope)s? (?:of|between|for){_GAP}(?P<y><c\d+>){_GAP}\b(?:and|with|to|on){_GAP}(?P<x><c\d+>)"
    rf"{_GAP}\b(?:differ\w*|depends?|var(?:y|ies)|changes?|(?:the )?same)\b",
    re.IGNORECASE,
)


def _one_with_another(coded: Coded, text: str) -> dict[str, set[Part]]:
    """Return the two columns of which it is asked whether one goes with the other alike everywhere."""
    found: dict[str, set[Part]] = {}
    for match in _OF_TWO.finditer(text):
        found |= {mention.column: {"outcome"} for mention in coded.inside(match["y"])}
        found |= {mention.column: {"cause"} for mention in coded.inside(match["x"])}
    return found


def parts_of(coded: Coded) -> dict[str, set[Part]]:
    """Return column -> what the sentence makes of it."""
    found: dict[str, set[Part]] = {}
    text = _ALONE.sub(r" \1", _REMARK.sub(r"\1", coded.text))
    for pattern, roles in _COMPILED:
        for match in pattern.finditer(text):
            named = {key: {mention.column for mention in coded.inside(match[key])} for key in roles}
            if any(one & other for one, other in combinations(named.values(), 2)):
                continue  # `which breeds differ from breed 1`
            for key, part in roles.items():
                for column in named[key]:
                    found.setdefault(column, set()).add(part)
    for match in _UNITS.finditer(text):
        for mention in coded.inside(match["s"] or match["t"]):
            found[mention.column] = {"subject"}  # `20 bees per colony. Colony is the replicate`
    found |= _one_with_another(coded, text)
    measured = [column for column, parts in found.items() if "outcome" in parts and not parts & {"over", "cause"}]
    for parts in found.values():
        if measured and "over" in parts:
            parts.discard("outcome")  # `does length over the weeks differ`
    return found


_THAN = re.compile(
    r"\bthan\s+(?:(?:in|for|with|at|on|among|of|did|do|was|were|is|are)\s+)?(?:(?:the|those|our|all|other|untreated|one|ones)\s+)*(?:[a-z]+s\s+)?$",
    re.IGNORECASE,
)


_OR_NOT = re.compile(r"\s*,?\s*(?:vs\.?|versus|against|compared (?:to|with))\s+(?:those )?not\b", re.IGNORECASE)
"""`ulcerated vs not`"""


def than_the_other(coded: Coded, columns: Mapping[str, ColumnProfile]) -> list[Contrast]:
    """Return what stands alone behind `than` against the other of two levels: `hold their milk better than the controls`.

    Rows that others are compared with are never the only ones that are meant.
    """
    found: list[Contrast] = []
    for mention in coded.mentions:
        column = columns.get(mention.column)
        levels = list(column.levels) if column is not None else []
        alone = {m.level for m in coded.mentions if m.column == mention.column and m.level} == {mention.level}
        if mention.level and len(levels) == 2 and alone:
            other = next(level for level in levels if level != mention.level)
            if _THAN.search(coded.question[: coded.words[mention.first].start]):
                found.append(Contrast(mention.column, (other, mention.level), explicit=True))
            elif _OR_NOT.match(coded.question, coded.words[mention.last].end):
                found.append(Contrast(mention.column, (mention.level, other), explicit=True))
    return found


def contrasts(coded: Coded, apart: Collection[ColumnMention] = ()) -> list[Contrast]:
    """Return which levels are set against each other, column by column, without mentions that set nothing apart."""
    found: dict[str, Contrast] = {}
    by_column: dict[str, list[ColumnMention]] = {}
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


def _in_order(column: ColumnProfile, ends: Sequence[str]) -> list[str]:
    """Return the levels of a column in their order; of names such as `L01` and `L16` those that are numbered so."""
    heads = {re.sub(r"\d+$", "", level) for level in ends}
    if column.order or len(heads) > 1 or not all(level[-1:].isdigit() for level in ends):
        return list(column.order)
    head = heads.pop() if heads else ""
    own = [level for level in column.levels if head and re.fullmatch(rf"{re.escape(head)}\d+", level)]
    return sorted(own, key=lambda level: int(re.findall(r"\d+$", level)[0]))


_IN_BRACKETS = re.compile(r"\([^()]*\)")


def _by_number(column: ColumnProfile) -> list[str]:
    """Return the levels of a column in the order of their numbers, [] where one is none."""
    numbers = {level: as_number(level) for level in column.levels}
    return [] if None in numbers.values() else sorted(numbers, key=lambda level: numbers[level] or 0.0)


def ranges(coded: Coded, columns: dict[str, ColumnProfile]) -> dict[str, list[str]]:
    """Return column -> the levels of a range whose ends are named: `stages I to IV`, not `from stage I to IV` (a change)."""
    found: dict[str, list[str]] = {}
    apart: set[str] = set()
    for match in _FROM_TO.finditer(coded.text):
        ends = coded.inside(match["a"] + match["b"])
        named = [m.level for m in ends]
        order = _in_order(columns[ends[0].column], named) if ends[0].column in columns else []
        told = _IN_BRACKETS.fullmatch(coded.text, match.start() - 1, match.end() + 1)
        if not order and ends[0].column in columns and told:
            order = _by_number(columns[ends[0].column])  # `visit (1 to 4)` says which there are
        if not match["change"] and ends[0].column == ends[1].column and {m.level for m in ends} <= {*order}:
            low, high = sorted(order.index(m.level) for m in ends)
            apart |= {ends[0].column} & found.keys()
            found[ends[0].column] = order[low : high + 1]
    return {column: levels for column, levels in found.items() if column not in apart}  # two spans are compared
