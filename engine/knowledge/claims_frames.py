"""Polarity of a sentence: negations that count, double negatives that do not, hedges, and the frame around a claim.

Text comes in lower case with its entities masked as `@1`, `@2`..., so no word of a name is taken for a cue.
"""

from __future__ import annotations

import re

from engine.knowledge.claims_denials import remark_denies

_ANY = r"(?:[\w'-]+\s+)"

_EMPTY_NEGATIONS = re.compile(
    "|".join(
        (
            # "cannot be denied", "no doubt", "nobody disputes", "no reason to question", "not surprising"
            rf"\b(?:cannot|can't|can\s+not|could\s+not|couldn't|should\s+not|hardly|hard\s+to|difficult\s+to|"
            rf"impossible\s+to|no\s?one|nobody|few|never|not|isn't|wasn't|no|none|little|without|nothing)\s+{_ANY}{{0,3}}?"
            r"(?:den(?:y|ied|ies|ying|iable)|doubt\w*|disput\w*|question(?:s|ed|able)?|overlook\w*|ignor\w*|"
            r"rul\w+\s+out|exclud\w*|dismiss\w*|refut\w*|argu(?:e|ed|ing|ment)|contest\w*|controvers\w*|surpris\w*|"
            r"secret|wonder|mistak\w*|escap\w*|overstat\w*|contradict\w*|challeng\w*|accident|coincidence|overrul\w*|object\w*)",
            r"\bonly\s+(?:a|the)\s+[\w\s]{0,25}?would\s+(?:deny|doubt|dispute)",
            r"\bbeyond\s+(?:any\s+|all\s+|reasonable\s+)*(?:doubt|dispute|question)",
            r"\b(?:undoubtedly|undeniabl[ey]|unquestionabl[ey]|indisputabl[ey]|undisputed\w*|incontestabl[ey]|doubtless)",
            r"\b(?:not|nor|n't)\s+(?:only|just|merely|simply|solely|least|to\s+mention|for\s+the\s+first\s+time|alone)\b",
            r"\bno\s+(?:less|matter|later|fewer|sooner)\b|\bnone\s+other\b|\bwhether\s+or\s+not\b|\bif\s+not\b",
            r"\b(?:never|not|cannot|n't)\s+(?:once\s+)?fail(?:s|ed|ing)?\s+to\b|\bwithout\s+fail\b",
            r"\bnot\s+(?:un|in|im|ir)(?:likely|common|frequent|usual|reasonable|possible|plausible|expected|conceivable|"
            r"related|true|correct|fair|affected|changed|active|effective)\w*",
            r"\bnot\s+(?:in\s+dispute|out\s+of\s+the\s+question|without|far[-\s]fetched|wrong|false|a\s+stretch)\b",
            r"\bnothing\s+(?:but|less|short)\b|\bwhy\s+not\b|\bnot\s+yet\s+another\b|\bno\s+exception\b",
            r"\bnot\s+(?:that\s+)?(?:long|far|too\s+long)\s+ago\b",
        )
    )
)
_NEGATIONS = re.compile(
    "|".join(
        (
            r"\bnot\b|\bcannot\b|n't\b|\bnever\b|\bneither\b|\bnor\b|\bnone\b|\bnothing\b|\bno\s?one\b|\bnobody\b",
            r"\bno\b(?!\.)|\bwithout\b(?!\s+[\w]+ing\b)|\bnowhere\b",
            r"\black(?:s|ed|ing)?\b|\bdevoid\b|\bfree\s+(?:of|from)\b|\babsent\b|\babsence\b|\bmissing\b|\bvoid\s+of\b",
            r"\bfail(?:s|ed|ing|ure)?\b|\bunable\b|\binability\b|\bincapable\b|\brefus(?:e|es|ed|ing)\b|\bpowerless\b",
            r"\bunaffected\b|\bunchanged\b|\bunaltered\b|\buntouched\b|\bunmoved\b|\binsensitive\b|\bunresponsive\b|"
            r"\bindifferent\b|\bimmune\s+to\b|\bimpervious\b|\binert\b|\binactive\b",
            r"\bineffect\w+|\binefficac\w+|\buseless\b|\bworthless\b|\bfutile\b|\bfutility\b|\brefractory\b|\bnon[-\s]?"
            r"(?:responsive|binding|expressed|effective|interacting|ligand|target|functional)\b",
            r"\bunrelated\b|\bunconnected\b|\bindependent(?:ly)?\s+of\b|\bunassociated\b|\bdisconnected\b|\bunlinked\b|"
            r"\buncorrelated\b|\buncoupled\b",
            r"\bnegative\s+for\b|\b(?:refut|disprov|debunk|rebut)\w*|\bunlikely\b|\bimprobable\b|\bhardly\b|\bscarcely\b|\bfar\s+from\b|\banything\s+but\b|\bdoubtful\b",
            r"\bleav(?:e|es|ing)\s+(?:\S+\s+){1,3}alone\b|\b(?:keep|stay|shie)s?\s+away\b|\bsteers?\s+clear\b",
            r"\bspar(?:e|es|ed|ing)\b|\bavoid(?:s|ed|ing)?\b|\bexempt\w*|\bundetect\w+|\bunbound\b|\bunexpressed\b",
            # what is lost is no longer so; the loss of a gene or of its expression is another matter
            r"\b(?:loss|losing|lost|loses?|disappearance|abolition|abrogation)\s+(?:of\s+)?(?:the\s+|any\s+|its\s+|all\s+)?"
            r"(?:[@\w-]+\s+)?(?:inhibition|activation|binding|blockade|suppression|stimulation|induction|repression|"
            r"regulation|interaction|antagonism|agonism|engagement|inhibitory|ability|capacity)\b",
            r"\bexclud(?:e|es|ed|ing)\b|\bruled?\s+out\b|\bwrongly\b|\bfalsely\b|\bescapes?\b|\bbypass(?:es)?\b|\bmiss(?:es)?\b",
        )
    )
)
_FALSE = (
    r"(?:false|wrong|untrue|incorrect|mistaken|erroneous|refuted|disproved|disproven|rejected|dismissed|debunked|unfounded|"
    r"baseless|nonsense|(?:a\s+)?(?:myth|fallacy|misconception|mistake)|not\s+(?:true|the\s+case|so|correct))"
)
_TAIL_NEGATION = re.compile(
    r"(?:(?:,|;|:|-|\u2013|\u2014)\s*(?:which|that|this|it|a\s+claim)?\s*(?:is|was|has\s+been|turned\s+out\s+to\s+be|proved)?|"
    r"\b(?:is|was|has\s+been|turned\s+out\s+to\s+be|proved|proves))\s*(?:\w+\s+)?" + _FALSE + r"\s*[.!]*$"
)
_HEDGES = re.compile(
    r"\b(?:may|might|could(?!\s+(?:not\s+)?be\s+(?:detected|seen|measured|found))|possibly|perhaps|probably|likely|unlikely|maybe|presumably|apparently|seem\w*|appear\w*|"
    r"suggest\w*|believ\w*|think\w*|suspect\w*|speculat\w*|hypothes\w*|putative\w*|potential\w*|candidate|reportedly|"
    r"as\s+far\s+as|unclear|whether|conceivabl\w*|tentative\w*|preliminar\w*|arguably|supposed\w*|not\s+(?:yet\s+)?"
    r"(?:clear|known|certain|sure|established)|(?:cannot|can't|could\s+not)\s+(?:be\s+)?(?:rul\w+\s+out|exclud\w*)|"
    r"(?:would|should)\s+expect)\b|\?\s*$"
)
_NEITHER_NOR = re.compile(r"\bneither\b|\bnor\b")
_CONTRAST = re.compile(r",\s*not\s+(?:an?\s+)?\w+\s*(?=,|[.!]?\s*$|\s(?:under|in|by|with|on|after)\b)")
"""`goes up, not down, under X` denies the other direction only."""
_PADDING = re.compile(
    r"\bin\s+no\s+way\b|\bby\s+no\s+means\b|\bunder\s+no\s+circumstances\b|\bat\s+no\s+point\b|\bon\s+no\s+account\b"
)


def negations(text: str) -> int:
    """Count the negations of a masked clause; an odd number makes a negative."""
    plain = _PADDING.sub(" never ", _EMPTY_NEGATIONS.sub(" ", _CONTRAST.sub(" ", text)))
    found = [match.group() for match in _NEGATIONS.finditer(plain)]
    pairs = [word for word in found if _NEITHER_NOR.fullmatch(word)]
    others = len(found) - len(pairs)
    if pairs and "neither" not in pairs and others:  # "does not bind @1 nor @2" is one negation
        return others
    return others + bool(pairs)


def tail_denies(text: str) -> bool:
    """Return True when what follows a claim takes it back: `..., which is not the case`."""
    stated = _CONDITION.sub(" ", text)
    return _TAIL_NEGATION.search(_EMPTY_NEGATIONS.sub(" ", stated)) is not None or remark_denies(stated)


_CONDITION = re.compile(r"\b(?:unless|if|because|since|while|whereas|when)\b.*$")


def without_verdict(text: str) -> str:
    """Return the words after a claim without the part that takes it back, which `tail_denies` has counted."""
    return _TAIL_NEGATION.sub(" ", text)


def hedged(text: str) -> bool:
    """Return True when the text says it is not sure."""
    return _HEDGES.search(text) is not None


_COMPLEMENTISER = re.compile(r"\b(?:that|whether|how|to\s+the\s+effect|the\s+fact)\s+")
_SEPARATOR = re.compile(r"[:;,\u2013\u2014]\s*|\s-\s")
_TAIL_START = re.compile(
    r"\s*(?:,|;|\u2013|\u2014|\s-\s|\()\s*(?:which|who|a\s|an\s|at\s+least|as\s|according|though|although|if\s|for\s+what|"
    r"so\s|something|i\s|we\s|to\s|but\s+(?:that|this)|and\s+(?:that|this)\s+is|the\s+(?:authors|reviewers?|speaker|"
    r"report|paper|slide|table)|judging|given|based|in\s+(?:our|my|their)|from\s+what|per\s|see\s|cf|no\s+doubt|"
    r"however|by\s+the\s+way|incidentally|surely|of\s+course|indeed|he\s|she\s|they\s|one\s|unless|until|because|since|"
    r"says?|said|reportedly|apparently|it\s+(?:seems|appears|turns))"
)
_TRAILING_CAUSE = re.compile(r"\s+(?:according\s+to|as\s+far\s+as|in\s+our\s+hands|to\s+my\s+knowledge)\b")


def governing_of(head: str) -> str:
    """Return what stands before the last `that` ahead of a sentence's first entity."""
    found = list(_COMPLEMENTISER.finditer(head))
    return head[: found[-1].start()] if found else head


def split_frame(head: str) -> tuple[str, str, int]:
    """Divide what stands before a sentence's first entity: (frame, words that belong to the claim, where it may begin).

    The frame is what introduces the claim (`Taken together, this suggests that`, `Before we order anything:`);
    the frame returned is only the part whose negations reach the claim. The last value is where the claim begins
    when what stands before a comma is part of it (`Compared with controls, ...`).
    """
    cut, governing = 0, ""
    for match in _COMPLEMENTISER.finditer(head):
        cut = match.end()
        governing = head[: match.start()]
    separators = list(_SEPARATOR.finditer(head, cut))
    if separators:
        after_comma = separators[-1].end()
        if _ANEW.match(head, after_comma):  # "this is not to say that the rest is wrong, but A binds B"
            return "", head[after_comma:], cut
        if governing:
            return _reach(governing), head[after_comma:], cut
        return "", head[after_comma:], cut
    return _reach(governing), head[cut:], cut


_ANEW = re.compile(r"\s*(?:but|yet|however|still|nevertheless|nonetheless|so|and)\b")


def _reach(governing: str) -> str:
    """Return the last stretch of a governing clause that says something."""
    parts = [part for part in re.split(r"[:;,\u2013\u2014]", governing) if len(part.split()) > 1]
    if len(parts) > 1 and re.match(r"\s*(?:but|and)\s+(?:not|never)\b", parts[-1]):
        return ",".join(parts[-2:])
    if not parts:
        return governing
    last = parts[-1]
    if len(last.split()) <= 3 and len(parts) > 1 and re.match(r"\s*(?:in|at|on|so|for|as|after|to)\b", last):
        return parts[-2]
    return last


def split_tail(tail: str) -> tuple[str, str]:
    """Divide what stands after a sentence's last entity into (words of the claim, remark)."""
    match = _TAIL_START.search(tail) or _TRAILING_CAUSE.search(tail)
    if match is None:
        return tail, ""
    return tail[: match.start()], tail[match.start() :]
