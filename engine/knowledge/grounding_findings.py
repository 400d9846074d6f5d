"""Findings of a run as evidence: numbers of a sentence that are a finding's, and directions that agree or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.domain.findings import Finding, FindingValue
from engine.knowledge.claims_directions import direction

_NUMBER = re.compile(
    r"(?<![\w.\-])(?P<sign>[-\u2212+]?)(?P<body>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?P<exponent>\s*[x\u00d7*]\s*10\s*\^?\s*[-\u2212]?\d+|[eE][-\u2212+]?\d+)?(?![\w])(?P<after>\s*%|[\s-]*[^\W\d_]+)?"
)
_NOT_DATA = re.compile(
    r"(?:\b(?:fig(?:ure|s)?|tab(?:le)?|ref(?:erence)?s?|eq(?:uation)?|section|chapter|step|page|p\.|pp\.|vol|no|version|v|line|panel|"
    r"supplementary|appendix|day\s+of|type|grade|stage|phase|chromosome|chr|isoform|cluster|group|arm|hour|visit)\.?\s*|\[|#)$",
    re.IGNORECASE,
)
_ROUGHLY = re.compile(
    r"(?:about|around|approximately|roughly|nearly|almost|some|circa|ca\.?|~|\u2248|over|more than)\s*$", re.IGNORECASE
)
_BOUND = re.compile(r"(?P<less><|\u2264|<=|below|under|less than|at most|smaller than)\s*$", re.IGNORECASE)
_COUNTED_WORDS = """
    genes gene samples sample cells cell patients patient proteins protein reads read donors donor mice mouse
    rats rat animals animal plants plant pathways pathway terms term clusters cluster variants variant peaks
    peak compounds compound days day weeks week months month years year hours hour minutes minute events event
    sets set sites site transcripts transcript subjects subject people participants participant hits hit
    features feature species families
"""
_COUNTED = frozenset(_COUNTED_WORDS.split())  # fmt: skip
_EFFECT = re.compile(
    r"log2?_?(?:fold|fc)|lfc|fold|effect|difference|change|delta|coef|slope|estimate|correlation|\bnes\b|\brho\b|score",
    re.I,
)
_RATIO = re.compile(r"hazard|odds|ratio|\bhr\b|\bor\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a text as written: its value, how exactly it was given, and the word after it."""

    text: str
    value: float
    tolerance: float
    unit: str = ""
    bound: bool = False
    """True for `< 0.05`: the true value is smaller."""


def numbers(sentence: str, skip: Sequence[tuple[int, int]] = ()) -> list[Number]:
    """Return the numbers of a sentence that are data: not those of `skip` spans, of references, lists and names."""
    found: list[Number] = []
    for match in _NUMBER.finditer(sentence):
        if any(start < match.end("body") and match.start("body") < end for start, end in skip):
            continue
        before = sentence[max(0, match.start() - 24) : match.start()]
        listed = not before.strip() and re.match(r"[.)]\s", sentence[match.end("body") : match.end("body") + 2])
        if _NOT_DATA.search(before) or listed:
            continue
        found.append(_number(match, before))
    return found


def _number(match: re.Match[str], before: str) -> Number:
    body = match.group("body").replace(",", "")
    power = 0
    if match.group("exponent"):
        power = int(
            re.sub(r"[x\u00d7*\s^eE+]|10(?=\s*\^?\s*[-\u2212]?\d)", "", match.group("exponent")).replace("\u2212", "-")
        )
    decimals = len(body.partition(".")[2])
    scale = 10.0**power
    value = float(body) * scale
    tolerance = 0.5 * 10.0**-decimals * scale * (1 + 1e-9) if "." in body or power else 0.0
    if _ROUGHLY.search(before):
        tolerance = max(tolerance, 0.05 * abs(value))
    if match.group("sign") in {"-", "\u2212"}:
        value = -value
    unit = (match.group("after") or "").strip(" -").lower()
    return Number(match.group().strip(), value, tolerance, unit, bound=_BOUND.search(before) is not None)


def states(value: FindingValue, number: Number) -> bool:
    """Return True when a finding's value is this number, as rounded and in its unit."""
    candidates = [v for v in (value.value, value.low, value.high, value.n) if isinstance(v, int | float)]
    if not _units_agree(value.unit, number.unit):
        return False
    for candidate in candidates:
        real = float(candidate)
        if number.bound:
            if 0 <= real <= number.value and value.name.lower().startswith(("p", "q", "fdr")):
                return True
            continue
        forms = [real]
        if number.unit == "%" and "%" not in value.unit:
            forms.append(real * 100)
        if number.value >= 0 > real:  # "falls by 3.69" for -3.69: the direction is checked apart
            forms.append(-real)
        if any(abs(form - number.value) <= max(number.tolerance, 1e-9 * abs(form)) for form in forms):
            return True
    return False


def _units_agree(unit: str, word: str) -> bool:
    mine, theirs = unit.strip().lower(), word.strip().lower()
    if not mine or not theirs or mine == theirs or mine.startswith(theirs) or theirs.startswith(mine.rstrip("s")):
        return True
    both_counted = mine.split()[0] in _COUNTED and theirs in _COUNTED
    both_measured = mine in _MEASURES and theirs in _MEASURES
    return not (both_counted or both_measured)


_MEASURE_WORDS = (
    "% nm \u00b5m um mm cm m km pm nmol umol \u00b5mol mmol mol ng \u00b5g ug mg g kg "
    "ml ul \u00b5l l s ms min h d bp kb mb gb c k"
)
_MEASURES = frozenset(_MEASURE_WORDS.split())


@dataclass(frozen=True, slots=True)
class FindingMatch:
    """What findings say of a sentence: those that state its numbers, and those that agree or disagree in direction."""

    stated: list[Finding]
    missing: list[str]
    """Numbers that are no finding's."""
    agrees: list[Finding]
    opposes: list[Finding]


def match_findings(
    sentence: str, wanted: Sequence[Number], names: Sequence[Sequence[str]], findings: Sequence[Finding], change: int
) -> FindingMatch:
    """Compare a sentence with findings.

    `names` holds, for each entity of the claim, the ways it may be written; `change` is the direction it claims (1, -1
    or 0). A finding speaks of the direction when it names all the entities, or one of them and states a number.
    """
    stated: list[Finding] = []
    missing: list[str] = []
    for number in wanted:
        holders = [f for f in findings if any(states(v, number) for v in f.values)]
        if not holders:
            missing.append(number.text)
            continue
        stated.append(max(holders, key=lambda f: _overlap(sentence, f)))
    agrees: list[Finding] = []
    opposes: list[Finding] = []
    for finding in findings if names and change else ():
        named = sum(any(_mentions(finding, name) for name in spelt) for spelt in names)
        if named < len(names) and not (named and finding in stated):
            continue
        found = finding_direction(finding)
        if found:
            (agrees if found == change else opposes).append(finding)
    unique = list({finding.id: finding for finding in stated}.values())
    return FindingMatch(unique, missing, agrees, opposes)


def finding_direction(finding: Finding) -> int:
    """Return 1 when a finding is of a rise, -1 of a fall, 0 of neither: by its effect's sign, then its words."""
    for value in finding.values:
        if not isinstance(value.value, int | float) or isinstance(value.value, bool):
            continue
        if _RATIO.search(value.name):
            return 1 if value.value > 1 else -1 if value.value < 1 else 0
        if _EFFECT.search(value.name):
            return 1 if value.value > 0 else -1 if value.value < 0 else 0
    return direction(finding.text.lower())


def _mentions(finding: Finding, name: str) -> bool:
    spelt = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE if len(name) > 3 else 0)
    texts = [finding.text, *(v for v in finding.row.values() if isinstance(v, str)), *(v.name for v in finding.values)]
    return any(spelt.search(text) for text in texts)


def _overlap(sentence: str, finding: Finding) -> int:
    words = set(re.findall(r"[a-z]{3,}", sentence.lower()))
    return len(words & set(re.findall(r"[a-z]{3,}", finding.text.lower())))
