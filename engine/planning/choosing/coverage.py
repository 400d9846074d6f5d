"""What of a question the plan does not answer to: nothing may be passed over in silence.

Every content word is used by the plan, or is a word people ask questions with (learned from the example questions), or stays
unused. Unused words are shown; where a slot was filled without a word naming it while words of the request stayed unused, the plan
asks whether that was meant.
"""

from __future__ import annotations

import re
from itertools import pairwise

from engine.domain.plan import LEFT_ASIDE, OpenQuestion, texts_of
from engine.planning.binding.bound import Bound
from engine.planning.choosing.choose import model
from engine.planning.choosing.spelling import slip_of_asking
from engine.planning.naming.hints import DONE_NEXT, LIVING, WHOM
from engine.planning.naming.lexicon import UNITS, is_term
from engine.planning.naming.mention import FAMILY, PERSONS
from engine.planning.reading.grammar import HOLDS
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, is_group, is_id, is_number
from engine.text.codes import statements_told
from engine.text.names import name_parts
from engine.text.stems import stem
from engine.text.stopwords import STOP
from engine.text.times import time_unit
from engine.text.tokens import Token, tokens

_MANNER = re.compile(r"(?:ly|ing|ed)$")
_SHORT = frozenset("incl excl btw pls plz pt pts thx asap fyi etc vs glm lmm lm glmm ols reml".split())
"""Short forms of letters and of models, which name no data."""
_ACTS = frozenset(
    "affect affects affected influence influences influenced impact impacts matter matters frequent frequently rare rarely rarer "
    "narrower wider thinner thicker deeper shallower steeper brighter paler darker denser sparser fatter slimmer weaker louder quicker earlier later "
    "cooler warmer hotter colder wetter drier cheaper assume assuming suppose supposing your".split()
)
"""Words that say that one thing acts on another, how often something is so, how two compare, or that something is taken for granted."""
_LEAVES = frozenset("omit omitting skip skipping discard discarding disregard disregarding".split())
"""Words that leave rows out, where some are left out."""
_SMALL = frozenset("a an the of in on at to is it as by or and be do if so we i me my no not up for".split())


def unexplained(
    reading: Reading, analyses: list[str], bounds: list[Bound], files: list[str], *, terms: bool = False
) -> list[int]:
    """Return the tokens of the question that nothing explains.

    Args:
        reading: the question; what was used is marked in it.
        analyses: the analyses that the plan answers.
        bounds: its answering steps.
        files: names of the data files and their sheets, whose words are of the data.
        terms: also those that the lexicon knows as names of data, though people ask other questions with them: smoking.
    """
    general = model().general
    whom = WHOM | LIVING if bounds else WHOM
    asked = frozenset[str]().union(*(model().own.get(key, frozenset()) for key in analyses))
    called = {stem(part) for name in files for part in name_parts(name)}
    known = {*called}
    for bound in bounds:
        spec = bound.spec
        told = [] if bound.sheet is None else [c for name in bound.columns() if (c := bound.sheet.column(name))]
        legend = [text for column in told for text in (column.label, *column.codes.values())]
        known |= {t.stem for text in (spec.title, spec.description, *spec.keywords, *legend) for t in tokens(text)}
    gone = any(item.op == "not in" for item in reading.restrictions)
    left, explained = list[int](), _in_other_words(reading) | _done_next(reading) | _held_verbs(reading)
    explained |= (
        _codes_told(reading, bounds) | _whom(reading, bounds) | _topic(reading, called) | _same_ones(reading, bounds)
    )
    listed = {at for at in range(len(reading.words)) if _listed(reading, at)}
    explained -= listed
    if any(bound.sheet is not None and {*bound.columns()} & {*bound.sheet.structure.times} for bound in bounds):
        explained |= {
            at for at, word in enumerate(reading.words) if time_unit(word.text)
        }  # `over the 12 weeks` of `Woche`
    for at, (number, word) in enumerate(pairwise(reading.words)):  # the `wks` of `at 12 wks`
        if at in reading.used and number.number is not None and time_unit(word.text):
            explained.add(at + 1)
    for at, token in enumerate(reading.words):
        if at in listed:
            left.append(at)
            continue
        if at in reading.used or at in explained or (token.number is not None and not _loose(reading, at)):
            continue
        if not _names_group(reading, at) and (
            token.text in _SMALL
            or (token.text in whom and not _PER_ONE.search(reading.question[: token.start]))
            or token.text in _SHORT
            or token.text in _ACTS
            or token.text.removesuffix("s") in PERSONS
            or token.text.removesuffix("s") in FAMILY
            or (token.text.removesuffix("s") in _KINDS and _beside_column(reading, at))
            or len(token.text) < 3
            or (token.stem in general and not (terms and is_term(token.text)))
            or token.stem in asked
            or token.stem in known
            or slip_of_asking(token.text)
            or (gone and token.text in _LEAVES)
        ):
            if token.stem in asked and token.stem not in _SMALL:
                reading.mark(at, at, "asked")
            continue
        left.append(at)
    return left


_PER_ONE = re.compile(r"\bper\s+$", re.IGNORECASE)
"""What is counted for one of them is another number: `more than 5 eggs per nest`."""
_KINDS = frozenset(
    "score level value measurement measure reading index count result scale rating amount status category variable".split()
)


def _names_group(reading: Reading, at: int) -> bool:
    """Say whether a word is said to name a group: `in the computer group`."""
    around = reading.question[: reading.words[at].start], reading.question[reading.words[at].end :]
    return bool(_IN_THE.search(around[0]) and _GROUP.match(around[1])) and reading.words[at].text not in _ANY_GROUP


_STATED = frozenset(
    "n mean means sd sds median min max total number count percent range iqr se sem ci p ids id name names".split()
)


def _listed(reading: Reading, at: int) -> bool:
    """Say whether a word is an item of its own among listed columns: `boys, age, weight` where nothing is called age."""
    word = reading.words[at]
    if at in reading.used:
        return False
    before, after = reading.question[: word.start].rstrip(), reading.question[word.end :].lstrip()
    beside = [reading.used.get(n, ("", "", 0))[0] for n in (at - 1, at + 1)]
    alone = before.endswith((",", ":")) and after.startswith(",")
    return alone and "column" in beside and word.text not in _STATED and word.text not in STOP


_IN_THE = re.compile(r"\b(?:in|of|for|among|within|from|with)\s+the\s+$", re.IGNORECASE)
_GROUP = re.compile(r"\s+(?:group|arm|cohort)\b", re.IGNORECASE)
_ANY_GROUP = frozenset("same other whole entire two three first second third last both study patient age".split())


def _beside_column(reading: Reading, at: int) -> bool:
    """Say whether a word stands beside the name of a column (`the HADS score`) and is not cut (`score > 0`)."""
    if re.match(r"\s*[<>=≤≥]", reading.question[reading.words[at].end :]):
        return False
    return any(taken == "column" for n in (at - 1, at + 1) for taken, _, _ in [reading.used.get(n, ("", "", 0))])


def _loose(reading: Reading, at: int) -> bool:
    """Say whether a number stands beside nothing that explains it."""
    near = [n for n in (at - 1, at + 1, at - 2) if 0 <= n < len(reading.words)]
    return not any(n in reading.used for n in near)


def things(reading: Reading, left: list[int]) -> list[int]:
    """Return the tokens of a request that nothing answers to and that say more than how something is done."""
    asked = {at for request in reading.requests for at in range(request.first, request.last + 1)}
    words = ((at, reading.words[at].text) for at in left if at in asked)
    return [at for at, text in words if len(text) > 2 and not _MANNER.search(text)]


def named_things(reading: Reading, left: list[int]) -> list[int]:
    """Return the tokens of a request that nothing answers to and that name data, verbs of a person's state too: smoking."""
    texts = ((at, reading.words[at].text) for at in left)
    return [
        at
        for at, text in texts
        if len(text) > 2 and text not in STOP and text not in _KINDS and (is_term(text) or not _MANNER.search(text))
    ]


def leaves_what_is_asked(reading: Reading, left: list[int], *, asks: bool = False) -> bool:
    """Say whether what is left aside is what the request is about: how much there is of it, or a thing of two words.

    Two words name a thing, as `isoform usage` does. Where a plan `asks` which column is meant, an amount needs no second question.

    `breast cancer patients` are whom it is about, and `in the water maze` is where.
    """
    places, texts = things(reading, left), [word.text for word in reading.words]
    whom = {at for at in places if {*texts[at + 1 : at + 3]} & (WHOM | PERSONS | {text + "s" for text in PERSONS})}
    where = [match.span("where") for match in _WHERE.finditer(reading.question)]
    whom |= {at for at in places if any(a <= reading.words[at].start < b for a, b in where)}
    two = any(b - a == 1 and not {a, b} & whom for a, b in pairwise(places))
    sides = [match.span("what") for match in _EACH_SIDE.finditer(reading.question)]
    split = any(a <= reading.words[at].start < b for at in left for a, b in sides)
    return two or split or (not asks and any(amount_of(reading, at) for at in places))


_EACH_SIDE = re.compile(
    r"\b(?:per|by|each|every|both|between(?: the)?)\s+(?P<what>[a-z]+)\s+(?:groups?|arms?)\b", re.IGNORECASE
)
"""`per bathing group`: without it the answer is of all rows together."""


_WHERE = re.compile(
    r"(?<!difference )(?<!differences )(?<!different )(?<!differ )(?<!change )(?<!changes )\b(?:in|during|from|within)\s+(?:the|our|my|this|that)\s+"
    r"(?P<where>(?:[\w-]+\s+){1,2}[\w-]+)(?=\s*(?:[.,;:?!)]|$|(?:over|at|by|than|and|between|with|on|in|for)\b))",
    re.IGNORECASE,
)


_MORE = r"(?:more|less|fewer|most|fewest|least|(?:high|low|larg|great|small|bigg?|tall|long|short|heav|fast|slow)(?:er|est|ly|ier|iest)?|better|best|worse|worst|increase[sd]?|decrease[sd]?)"
_BEFORE = re.compile(rf"\b(?:{_MORE}|many|much)\s+(?:of\s+|the\s+)?$", re.IGNORECASE)
_BEHIND = re.compile(rf"\s+(?:(?:is|are|was|were|be|any|much|also|really|significantly)\s+)*{_MORE}\b", re.IGNORECASE)
"""What stands before, or behind, the thing that is measured."""
_NO_THING = re.compile(
    r"(?:hazard|risk|odds|chance|probabilit|likelihood|rate|effect|trend|variance|correlation|respon)"
)
"""What is said of something measured, and is not it."""


def amount_of(reading: Reading, at: int) -> bool:
    """Say whether a word is what it is asked how much there is of: `more spores`, `is sporulation higher`."""
    word = reading.words[at]
    if _NO_THING.match(word.text):
        return False
    before, behind = reading.question[: word.start], reading.question[word.end :]
    return bool(_BEFORE.search(before) or _BEHIND.match(behind))


def _in_other_words(reading: Reading) -> set[int]:
    """Return the words that a bracket behind them explains: the hormone therapy of `hormone therapy (horTh)`, `with gout (gout yes)`.

    A column or level that fills the bracket says what the words before it mean, back to what is named or joins two parts.
    """
    found: set[int] = set()
    for match in _BRACKET.finditer(reading.question):
        inside = [at for at, word in enumerate(reading.words) if match.start() < word.start < match.end()]
        before = [at for at, word in enumerate(reading.words) if word.end <= match.start()][-4:]
        if not inside or any(at not in reading.used for at in inside):
            continue
        for at in reversed(before):
            if at in reading.used or (reading.words[at].text in STOP and reading.words[at].text != "of"):
                break
            found.add(at)
    return found


_BRACKET = re.compile(
    r"\((?![^()]*(?:[<>≤≥]|\b(?:over|above|below|under|least|most|more|less)\b))[^()]{1,60}\)", re.IGNORECASE
)
"""A bracket without a cut: `severe anaemia (age > 60)` are two things."""


_COUNTED = re.compile(
    r"(?:\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|first|last|per|each|every))\s*\Z", re.IGNORECASE
)
_GOES_ON = re.compile(
    r"\s+(?:of|in|on|under|with|from|given|getting|that got)\s+(?:the\s+|a\s+)?(?:\w+\s+)?", re.IGNORECASE
)
_ENDS = re.compile(
    r"\s*(?:[.,;:?!()]|\Z|(?:in|by|with|of|on|at|and|or|versus|vs|than|is|are|was|were|only|for|to|from)\b)"
)
_THESE = re.compile(r"\b(?:this|these|our|the same)\s+(?:[\w-]+\s+)?\Z", re.IGNORECASE)


def _whom(reading: Reading, bounds: list[Bound]) -> set[int]:
    """Return the words that only say what is counted, or what a name is of, where the name stands beside them.

    `the hens of pen 3` and `the squamous cases` are rows of a level that is named, `APOE genotype` is what a column of groups
    is of, `these cuttings` are those of the data, and `hours slept` gives a unit. Where a part of the plan was guessed, any of
    them may be it.
    """
    if not bounds or any(bound.missing or any(not _known(bound, name) for name in bound.guessed) for bound in bounds):
        return set()
    columns = [column for bound in bounds if bound.sheet for column in bound.sheet.columns]
    grouped = {column.name for column in columns if is_group(column)}
    levels = {at for m in reading.mentions if m.level for at in range(m.first, m.last + 1)}
    names = levels | {m.last for m in reading.mentions if not m.level and m.column in grouped}
    return {
        at
        for at, word in enumerate(reading.words)
        if at not in reading.used
        and not amount_of(reading, at)
        and (_is_unit(reading, word) or _of_a_name(reading, at, levels, names))
    }


def _known(bound: Bound, name: str) -> bool:
    """Say whether the data leave no choice of what fills a part: the times that are there, or the only number that is left."""
    sheet, taken = bound.sheet, texts_of(bound.params.get(name))
    if sheet is None:
        return False
    own = sheet.structure
    told = {*own.survival.values(), *own.times, *own.doses, *(item.subject for item in own.repeated)}
    others = [c for c in sheet.columns if c.name not in bound.columns() and not is_id(c)]
    kind = is_number if any((c := sheet.column(one)) and is_number(c) for one in taken) else is_group
    return {*taken} <= told or (bool(taken) and not any(map(kind, others)))


def _is_unit(reading: Reading, word: Token) -> bool:
    """Say whether a word is a unit of nothing that is counted: `the mean of the hours slept`, `lead in ppb`."""
    unit = word.text in UNITS or time_unit(word.text) not in ("", "visit")
    return unit and not _COUNTED.search(reading.question[: word.start])


def _of_a_name(reading: Reading, at: int, levels: set[int], names: set[int]) -> bool:
    """Say whether a word says of what a level or a grouping beside it is, or points to the things of the data."""
    word = reading.words[at]
    ends = _ENDS.match(reading.question[word.end :]) is not None
    if word.text.endswith("s") and (at - 1 in levels or _goes_on(reading, at, levels)):
        return True
    return ends and (at - 1 in names or _THESE.search(reading.question[: word.start]) is not None)


def _goes_on(reading: Reading, at: int, levels: set[int]) -> bool:
    """Say whether a level follows as what a thing has: `the hens of pen 3`, `the cuttings with auxin`."""
    behind = [n for n in range(at + 1, min(at + 4, len(reading.words))) if n in levels]
    between = (reading.question[reading.words[at].end : reading.words[n].start] for n in behind)
    return any(map(_GOES_ON.fullmatch, between))


def _topic(reading: Reading, called: set[str]) -> set[int]:
    """Return the words behind one that a file is called by: the mites of `these bee mites` where the file is bee.csv."""
    return {
        at
        for at in range(1, len(reading.words))
        if reading.words[at - 1].stem in called
        and at not in reading.used
        and at - 1 not in reading.used
        and not amount_of(reading, at)
        and reading.words[at - 1].end + 1 == reading.words[at].start
    }


def _codes_told(reading: Reading, bounds: list[Bound]) -> set[int]:
    """Return the words in which the question says what codes stand for."""
    columns = [c for sheet in {b.sheet.name: b.sheet for b in bounds if b.sheet}.values() for c in sheet.columns]
    spans = statements_told(columns, reading.question)
    return {at for at, word in enumerate(reading.words) if any(a <= word.start < b for a, b in spans)}


def _same_ones(reading: Reading, bounds: list[Bound]) -> set[int]:
    """Return the words for whom the same ones are that a step pairs: `first against last visit, same goats`."""
    pairs = any(bound.of_role("subject", "pair", "cluster") for bound in bounds)
    return {at for at in range(1, len(reading.words)) if pairs and reading.words[at - 1].text == "same"}


_NEXT = re.compile(
    rf"\bbefore (?:{DONE_NEXT}|(?:send|submitt|us|analy[sz]|shar|publish)ing)\b[^,:;.?!]*", re.IGNORECASE
)


def _done_next(reading: Reading) -> set[int]:
    """Return the words that say what is done with the data afterwards: `before I send this list to the register`."""
    spans = [match.span() for match in _NEXT.finditer(reading.question)]
    return {at for at, word in enumerate(reading.words) if any(a <= word.start < b for a, b in spans)}


def doubts(reading: Reading, left: list[int]) -> list[OpenQuestion]:
    """Return the question whether words of the request that nothing in the plan answers to may be left aside."""
    words = [reading.words[at] for at in things(reading, left)]
    told = list(dict.fromkeys(reading.question[word.start : word.end] for word in words))
    if not told:
        return []
    listed = ", ".join(map(repr, told[:5]))
    why = "No column, group or value of the data is called so, and nothing in the plan answers to it."
    return [
        OpenQuestion(
            id=LEFT_ASIDE,
            text=f"The plan leaves aside {listed}: is that meant?",
            why=why,
            proposed="yes",
            choices=["yes"],
        )
    ]


_HELD = re.compile(
    rf"\b{HOLDS}\s+(?:\w+\s+)?for\b[^.;?!(]*|\btaking\s+[^.;?!(]*\s+in(?:to)?\s+account\b",
    re.IGNORECASE,
)


def _held_verbs(reading: Reading) -> set[int]:
    """Return the verbs that say that something is held constant: `control for age`."""
    starts = {match.start() for match in _HELD.finditer(reading.question)}
    return {at for at, word in enumerate(reading.words) if word.start in starts}


_SAYS_WHAT = frozenset("rate level dose amount value count score status effect group".split())


def not_held(reading: Reading, left: list[int]) -> list[str]:
    """Return a sentence on what is to be held constant and nothing in the data is called: the effect is not adjusted for it."""
    spans = [match.span() for match in _HELD.finditer(reading.question)]
    behind = {m.last + 1 for m in reading.mentions}  # the `rate` of `the N rate` says what N is
    own = [at for at in left if not (at in behind and reading.words[at].text.removesuffix("s") in _SAYS_WHAT)]
    words = [reading.words[at] for at in own if any(a < reading.words[at].start < b for a, b in spans)]
    said = list(dict.fromkeys(reading.question[word.start : word.end] for word in words))
    return [
        f"The question adjusts for {word!r}, which no column is called: the plan does not adjust for it."
        for word in said
    ]


def nothing_called(reading: Reading, data: Data) -> str:
    """Return the words of a question that nothing in the data is called, as the end of a sentence, or ""."""
    left = unexplained(reading, [], [], data.called())
    words = [reading.words[at] for at in left if len(reading.words[at].text) > 3]
    said = list(dict.fromkeys(repr(reading.question[word.start : word.end]) for word in words))
    return f" Nothing in them is called {' or '.join(said[:4])}." if said else ""
