"""Reads a question against the data: which columns, levels, numbers and genes it names, and what it makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.domain.profile import ColumnProfile
from engine.planning import numbers
from engine.planning.coding import codings
from engine.planning.contrast import control_level
from engine.planning.grammar import Coded, claimed_of_one, compared_alone, contrasts, parts_of, ranges, restrictions
from engine.planning.hints import generic_mentions, of_one_measure, only_when, wide_mentions
from engine.planning.leaving_out import AFTER_ROWS, BEFORE_ROWS, talked_of
from engine.planning.mentions import (
    LETTERS,
    POLAR,
    SURE_NAME,
    Mention,
    beginnings,
    beside_own,
    codes_explained,
    column_mentions,
    cover,
    letters_told,
    level_mentions,
    numbered_mentions,
    of_neighbours,
    states_meant,
    undosed,
)
from engine.planning.names import is_term
from engine.planning.reading import Contrast, Reading, Request
from engine.planning.requests import requests_of
from engine.planning.sheets import Data
from engine.text.stopwords import STOP
from engine.text.tokens import Token, tokens

_PAIRED = re.compile(
    r"\b(paired|pairs of|matched|crossover|cross-over|before and after|pre.? ?(?:and|vs\.?|versus) ?post|repeated measures?|"
    r"(?:the )?same (?:\w+ )?(?:donor|patient|subject|individual|animal|mouse|mice|person|people|cell line|tree|plot|driver|bird)s?|"
    r"within (?:each |the same )?(?:donor|patient|subject|individual|animal|person)|(?:each|every) (?:\w+ ){0,2}(?:took|got|had|received) both)\b",
    re.IGNORECASE,
)
_UNPAIRED = re.compile(
    r"\b(unpaired|not paired|independent (?:samples|groups)|ignor\w* (?:the )?(?:pair\w*|donors?|cell lines?|batch\w*))\b",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\b(?:which|what) (?:\w+ )?(?:factors?|variables?|features?|covariates?|characteristics|measurements|things|columns)\b|"
    r"\brisk factors?\b|\b(?:all|every|each) (?:the )?(?:other )?(?:numeric |baseline )?(?:variables|covariates|factors|measurements|columns|characteristics)\b|"
    r"\bprognostic factors?\b|\bwhat (?:affects?|influences?|determines?|drives?|predicts?)\b",
    re.IGNORECASE,
)


_EXPLAINED = re.compile(r"(?<![\w.])-?\d{1,2}\s*[=:]\s*[A-Za-z][^,;.()=]*")
"""`2 = death without relapse` says what a code stands for and leaves out no rows."""


def read(question: str, data: Data, terms: frozenset[tuple[str, ...]] = frozenset()) -> Reading:
    """Return the reading of a question; see `Reading` for what is in it.

    Args:
        question: what is asked.
        data: the files.
        terms: stems of what methods are called in several words; a part of `relative risk` names no column `risk`.
    """
    words = tokens(question)
    inside = _terms_in(words, terms)
    mentions = _not_genes(_mentions(question, words, data, inside), question, words, data)
    coding, told = codings(question, words, mentions, data.columns())
    explained = {at for at, word in enumerate(words) if any(a <= word.start and word.end <= b for a, b in told)}
    mentions = [m for m in mentions if not m.level or not explained.intersection(range(m.first, m.last + 1))]
    reading = interpret(question, words, mentions, data)
    reading.coding, reading.explained = coding, explained
    if len(coding) == 1 and not any("outcome" in parts for parts in reading.parts.values()):
        (only,) = coding  # whose yes and no is told is what happened, unless the sentence says otherwise
        if only not in reading.parts and len(reading.columns()) > 1:
            reading.parts[only] = {"outcome"}
    said = "; ".join(f"{name}: {codes.yes} = yes, {codes.no} = no" for name, codes in coding.items())
    for at in explained:
        reading.mark(at, at, "level", said)
    return reading


def _in_other_words(mentions: list[Mention], words: list[Token], question: str) -> list[Mention]:
    """Return the mentions without those that only paraphrase a name in brackets: `the verified result (rec_ver_tat)`."""
    ends = {
        words[m.first].start - 1
        for m in mentions
        if not m.level
        and m.strength >= SURE_NAME
        and question[max(0, words[m.first].start - 1)] == "("
        and question[words[m.last].end :].lstrip().startswith(")")  # `by arm (status: 0 alive, 1 dead)` says more
    }
    around = [(end, [at for at, w in enumerate(words) if w.end <= end][-PHRASE:]) for end in ends]
    told = {at for end, before in around for at in before if not re.search(r"[.,;:?!]", question[words[at].end : end])}
    return [m for m in mentions if m.level or not {m.first, m.last} <= told]


PHRASE = 3
"""So many words before a name in brackets may say the same."""


def _only_sounds(m: Mention, term: list[Token], first: int) -> bool:
    """Say whether a level is found in the name of a method by another word for it: no `male` in `Mann-Whitney`."""
    within = first <= m.first and m.last < first + len(term) and m.width < len(term)
    return bool(m.level) and within and m.strength < SURE_NAME and not any(word.text in STOP for word in term)


def _part_of(m: Mention, first: int, last: int) -> bool:
    """Say whether a mention is only a part of a term, or one that is not quite it."""
    if m.level:  # `PPV` is no level `positive`
        return first == last == m.first == m.last and m.strength < SURE_NAME
    return first <= m.first and m.last <= last and (m.width < last - first + 1 or m.strength < TERM)


TERM = 0.75
"""From this strength on several words name a column as the term that they are together."""


_STATISTICS = frozenset(
    "sensitivity specificity accuracy precision prevalence significance significant power effect interaction correlation variance "
    "deviation median mean average range percentile quartile interval confidence residual heterogeneity".split()
)


def _is_statistic(m: Mention, words: list[Token]) -> bool:
    """Say whether one word for a statistic only sounds like a part of a name: of `specificity` no `Sp. gravity` is meant."""
    return m.width == 1 and m.strength < TERM and words[m.first].text in _STATISTICS


_PHRASES = frozenset({("as", "well"), ("how", "well"), ("as", "far"), ("so", "far"), ("as", "long")})
"""Words that name nothing after these: `use it as well` is of no plate's wells."""


def _is_phrase(m: Mention, words: list[Token]) -> bool:
    return m.width == 1 and m.first > 0 and (words[m.first - 1].text, words[m.first].text) in _PHRASES


def _whole_terms(mentions: list[Mention], words: list[Token]) -> list[tuple[int, int]]:
    """Return the spans of mentions that are one term: `birth weight` is no weight of a birth."""
    return [
        (m.first, m.last)
        for m in mentions
        if m.width > 1
        and m.strength >= TERM
        and is_term("".join(w.text for w in words[m.first : m.last + 1]))
        and not (m.level and words[m.first].text in POLAR)  # a `positive blood culture` is of the cultures
    ]


def _terms_in(words: list[Token], terms: frozenset[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Return the spans of tokens that are the name of a method."""
    stems = [word.stem for word in words]
    sizes = {len(term) for term in terms}
    return [
        (at, at + size - 1)
        for size in sizes
        for at in range(len(stems) - size + 1)
        if (*stems[at : at + size],) in terms
    ]


def interpret(question: str, words: list[Token], mentions: list[Mention], data: Data) -> Reading:
    """Return what the sentence makes of the columns and levels it names."""
    by_name = {column.name: column for column in data.columns()}
    coded = Coded(question, words, mentions)
    reading = Reading(question=question, words=words, mentions=mentions)
    reading.parts = parts_of(coded)
    reading.ranges = ranges(coded, by_name)
    explained = [match.span() for match in _EXPLAINED.finditer(question)]
    if letters_told(question, [*by_name.values()]):
        explained += [match.span() for match in LETTERS.finditer(question)]
    kept = [
        r
        for r in restrictions(coded, by_name)
        if not any(start <= words[r.first].start and words[r.last].end <= end for start, end in explained)
    ]
    gone = {(r.column, value) for r in kept if r.op == "not in" for value in r.values}
    against = contrasts(coded, {m for m in mentions if (m.column, m.level) in gone or m.column in reading.ranges})
    reading.contrasts = [_with_control(c, question, by_name.values()) for c in against]
    reading.restrictions = [
        r for r in kept if not compared_alone(r, reading.contrasts) and not claimed_of_one(r, reading.parts, mentions)
    ]
    reading.spared = talked_of(coded, [])
    reading.genes = _genes(question, data, mentions, words)
    reading.alpha = numbers.significance(question)
    reading.min_lfc = numbers.minimum_log2_fold_change(question)
    reading.top = numbers.top_n(question)
    reading.direction = numbers.direction(question)
    reading.paired = False if _UNPAIRED.search(question) else True if _PAIRED.search(question) else None
    reading.every = bool(_EVERY.search(question))
    reading.requests = requests_of(question, words)
    reading.masked = masked(reading, by_name)
    _mark(reading)
    return reading


def _with_control(found: Contrast, question: str, columns: Iterable[ColumnProfile]) -> Contrast:
    """Return a contrast of two levels with the one last that the question says is the control: `T = drug, C = control`."""
    told = letters_told(question, [*columns]).get(found.column, {})
    control = [level for level, said in told.items() if control_level([said])]
    if found.explicit or len(control) != 1 or {*found.levels} != {*told} or len(told) != 2:
        return found
    return Contrast(found.column, (*(level for level in told if level != control[0]), control[0]), explicit=True)


def within(reading: Reading, request: Request | Sequence[Request], data: Data) -> Reading:
    """Return what some of several requests say: what they name themselves, what stands in none, and what holds for all.

    For all hold the rows that are kept and the topic before a colon (`Smoking and birth weight: a plot, then a test`).
    """
    own_requests = [request] if isinstance(request, Request) else [*request]
    others = [r for r in reading.requests if r not in own_requests]
    topic = reading.question.find(":")
    shared = {at for r in reading.restrictions if r.sure for at in range(r.first, r.last + 1)}
    shared |= {at for at, word in enumerate(reading.words) if word.end <= topic}
    mentions = [
        m for m in reading.mentions if m.first in shared or not any(r.first <= m.first <= r.last for r in others)
    ]
    own = interpret(reading.question, reading.words, mentions, data)
    own.requests, own.used = own_requests, reading.used
    own.coding, own.explained, own.chosen = reading.coding, reading.explained, reading.chosen
    return own


def _mentions(question: str, words: list[Token], data: Data, inside: list[tuple[int, int]]) -> list[Mention]:
    found: list[Mention] = []
    for sheet in data.sheets:
        named = column_mentions(words, sheet.columns, question)
        named += [*wide_mentions(words, sheet.structure), *generic_mentions(words, sheet)]
        every = [*named, *level_mentions(words, sheet.columns, question)]
        every += beginnings(words, sheet.columns, question)
        every += numbered_mentions(words, sheet.columns, named, question)
        every += codes_explained(words, sheet.columns, named, question)
        states = states_meant(words, sheet.columns, named, question)
        every = [m for m in every if not any(m.column == s.column and s.first <= m.first <= s.last for s in states)]
        every += states
        every += undosed(every, words, sheet.columns)
        every = of_one_measure(every, sheet.structure)
        terms = [*inside, *_whole_terms(every, words)]
        every = [m for m in every if not any(_part_of(m, *term) for term in terms)]
        every = [m for m in every if not any(_only_sounds(m, words[a : b + 1], a) for a, b in inside)]
        every = [m for m in every if not (_is_statistic(m, words) or _is_phrase(m, words) or only_when(m, words))]
        every = _in_other_words(every, words, question)
        found += [mention._replace(file=sheet.name) for mention in every]
    strongest = sorted(found, key=lambda m: -m.strength)
    unique: dict[tuple[int, int, str, str], Mention] = {}
    for mention in strongest:
        unique.setdefault((mention.first, mention.last, mention.column, mention.level), mention)
    return cover(of_neighbours(beside_own(list(unique.values())), words))


def _not_genes(mentions: list[Mention], question: str, words: list[Token], data: Data) -> list[Mention]:
    """Leave out matches of what names the rows of the data: the word gene, and weak ones of genes as written there."""
    known = frozenset(name for sheet in data.sheets for name in sheet.profile.feature_ids)
    spans = [match.span() for match in re.finditer(r"[\w.-]*\w", question) if match.group(0) in known]

    def is_gene(m: Mention) -> bool:
        start, end = words[m.first].start, words[m.last].end
        column = data.column(m.column)
        rows = m.first == m.last and words[m.first].stem == "gene"
        if rows and not m.level and column is not None and column.role("gene") >= 0.5:
            return True
        return m.strength < SURE_NAME and ((rows and bool(known)) or any(a < end and start < b for a, b in spans))

    return [m for m in mentions if not is_gene(m)]


def _genes(question: str, data: Data, mentions: list[Mention], words: list[Token]) -> list[tuple[str, int, int]]:
    genomic = any(sheet.profile.feature_kind or sheet.profile.feature_ids for sheet in data.sheets)
    if not genomic:
        return []
    known = frozenset(name for sheet in data.sheets for name in sheet.profile.feature_ids)
    exclude = {word for sheet in data.sheets for word in (sheet.name.lower().split(".")[0],)}
    exclude |= {column.name.lower() for column in data.columns()}
    exclude |= {level.lower() for column in data.columns() for level in column.levels}
    taken = [(words[m.first].start, words[m.last].end) for m in mentions if m.level or m.strength >= 0.97]
    found = numbers.genes(question, exclude=frozenset(exclude), known=known)
    return [item for item in found if not any(start <= item[1] < end for start, end in taken)]


def kind_of(column: ColumnProfile) -> str:
    """Return the kind a column is masked by; see `engine.planning.wording.KINDS`."""
    if column.role("dose") >= 0.5:
        return "DOSE"
    if column.role("time") >= 0.5 or column.scale == "date":
        return "TIME"
    kinds = {
        "number": "NUM",
        "count": "CNT",
        "share": "NUM",
        "binary": "BIN",
        "category": "CAT",
        "ordered": "CAT",
        "code": "UNIT",
    }
    return kinds.get(column.scale, "UNIT")


def masked(reading: Reading, columns: dict[str, ColumnProfile], first: int = 0, last: int | None = None) -> str:
    """Return the question, or some of its tokens, with kinds in place of the words that name data."""
    words = reading.words
    last = len(words) - 1 if last is None else last
    if not words:
        return ""
    pieces: list[str] = []
    at = 0 if first == 0 else words[first].start
    stop = len(reading.question) if last == len(words) - 1 else words[last].end
    inside = [mention for mention in reading.mentions if first <= mention.first and mention.last <= last]
    gone = [span for span in leaving_words(reading) if at <= span[0] and span[1] <= stop]
    left = [m for m in inside if not any(a <= words[m.first].start < b for a, b in gone)]
    if len({m.column for m in left}) < ENOUGH:  # little is asked beside it: leaving out is what is asked
        gone, left = [], inside
    spans = [(*span, "") for span in gone]
    for mention in left:
        column = columns.get(mention.column)
        if mention.strength < 0.85 and not mention.level:
            continue  # a vague match: the word itself says more than the kind
        kind = "LEV" if mention.level else kind_of(column) if column else "NUM"
        if mention.level and column is not None and column.role("time") >= 0.5:
            kind = "TIME"
        elif mention.level and column is not None and column.scale == "binary" and happened(mention.column, reading):
            kind = "BIN"  # `is mortality higher in men` asks of what happened, not of one group
        spans.append((words[mention.first].start, words[mention.last].end, kind))
    for start, end, kind in sorted(spans):
        pieces += [reading.question[at:start], kind]
        at = end
    text = "".join([*pieces, reading.question[at:stop]])
    for gene, _, _ in reading.genes:
        text = re.sub(rf"(?<!\w){re.escape(gene)}(?!\w)", "GENE", text)
    return text


def happened(name: str, reading: Reading) -> bool:
    """Say whether a column of two states is what the sentence asks the share or odds of."""
    return reading.parts.get(name) == {"outcome"} and not any(c.column == name for c in reading.contrasts)


ENOUGH = 2
"""So many columns are named beside the rows that are left out for the wording to be judged without these."""


def leaving_words(reading: Reading) -> list[tuple[int, int]]:
    """Return the characters that only say which rows are left out: they do not tell what is asked of the others."""
    found = []
    for item in reading.restrictions:
        if item.sure and item.op == "not in":
            start, end = reading.words[item.first].start, reading.words[item.last].end
            before, after = BEFORE_ROWS.search(reading.question[:start]), AFTER_ROWS.match(reading.question, end)
            if before or after:
                found.append((before.start() if before else start, after.end() if after else end))
    return found


def _mark(reading: Reading) -> None:
    for mention in reading.mentions:
        value = f"{mention.column} = {mention.level}" if mention.level else mention.column
        reading.mark(mention.first, mention.last, "level" if mention.level else "column", value, mention.strength)
    for gene, start, end in reading.genes:
        reading.mark_text(start, end, "gene", gene)
    for name, said in (("threshold", reading.alpha), ("threshold", reading.min_lfc), ("number", reading.top)):
        if said is not None:
            reading.mark_text(said.start, said.end, name, f"{said.value:g}")  # type: ignore[arg-type]
