"""Whether the frame around a claim denies it: `there is no evidence that`, `the report that ... was retracted`.

A negation in a frame denies the claim only when it governs a word of evidence or belief (`not true`, `failed to
show`, `nobody has found`), or when the frame holds a word that denies by itself (`refute`, `myth`). Any other
negation is about something else (`I cannot stress enough that`, `we failed to mention that`). Two denials cancel.
Text comes in lower case.
"""

from __future__ import annotations

import re

_EVIDENCE = (
    r"(?:true|the\s+case|correct|right|valid|accurate|so|evident|evidence|indications?|signs?|hints?|proof|support\w*|"
    r"suggest\w*|suggestions?|show(?:s|n|ed|ing)?|find|finds|finding|found|indicat(?:e|es|ed|ing|ive)|demonstrat\w*|"
    r"confirm\w*|corroborat\w*|substantiat\w*|verif\w*|validat\w*|establish(?:es)?|prov(?:e|es|ed|en|ing)|reproduc\w*|"
    r"replicat\w*|detect\w*|see|seen|sees|saw|observ\w*|believ\w*|belief|think|thought|accept\w*|agree\w*|conclud\w*|"
    r"conclusions?|convinc\w*|persuad\w*|likely|possible|conceivable|credible|plausible|tenable|follow|implies|imply|"
    r"mean|means|report(?:s|ed)?|justif\w*|warrant\w*|held\s+up|hold(?:s|ing)?|stand\s+up|stood\s+up|endors\w*|"
    r"grounds|favou?r(?:s|ed)?|(?:speaks?|spoke|argues?|argued)\s+(?:for|in)|published|maintain(?:s|ed)?|borne\s+out|bear\s+out)\b"
)
_DENYING = (
    r"(?:den(?:y|ies|ied|ying)|refut\w+|disprov\w+|disconfirm\w*|debunk\w*|reject(?:s|ed|ing|ion)?|"
    r"(?:ruled?|rules|ruling)\s+out|exclud(?:e|es|ed|ing)|contradict\w*|disput(?:e|es|ed|ing)|doubt(?:s|ed|ful|ing)?|"
    r"disagree\w*|dismiss\w*|discount(?:s|ed)?|false(?:ly)?|wrong(?:ly)?|incorrect(?:ly)?|untrue|mistaken(?:ly)?|"
    r"erroneous\w*|mistakes?|errors?|myth|misconception|fallacy|nonsense|fiction|unfounded|baseless|groundless|"
    r"unsubstantiated|unlikely|improbable|implausible|inconceivable|impossible|retract\w*|withdrawn|withdrew|"
    r"overturned|falsified|sceptical|skeptical|challenge[sd]?|question(?:s|ed)|(?:speaks?|spoke|argues?|argued|tells?|told|"
    r"weighs?|evidence|votes?|militates?|count)\s+against|against\s+(?:the|any)|inconsistent\s+with|incompatible\s+with|"
    r"at\s+odds\s+with|contrary\s+to|far\s+from|out\s+of\s+the\s+question|hesitate[sd]?)\b"
)
_EMPTY = re.compile(
    "|".join(
        (
            # a negated feeling, and a negated or blamed silence, leave what is told as it is
            r"\b(?:not|n't|never|no\s?one|nobody|no|none|hardly|cannot|few|nothing|neither|nor|little)\s+(?:[\w'-]+\s+){0,4}?"
            r"(?:surpris|shock|astonish|amaz|startl|puzzl|stun|secret|wonder|accident|coincidence|news|mystery)\w*",
            r"\b(?:wrong|mistake|mistaken|error|unwise|foolish|remiss|impossible|difficult|hard)\s+(?:of\s+\w+\s+)?(?:not\s+)?to\s+(?:\w+ly\s+)?"
            r"(?:forget|overlook|ignore|neglect|omit|hide|conceal|question|escape|miss|overstate|suppress)\w*",
            r"\bno\s+(?:\w+\s+)?question\b|\bnot\s+(?:entirely\s+|wholly\s+)?without\s+\w+|\bnot\s+for\s+nothing\b",
            r"\b(?:not|n't|cannot|never)\s+(?:only|just|merely|simply|solely|least|for\s+the\s+first\s+time|alone)\b",
            r"\bno\s+(?:matter|less|fewer|sooner|later)\b|\bwhether\s+or\s+not\b|\bif\s+not\b|\bwhy\s+not\b",
            r"\b(?:without|needless|not\s+need)\s+(?:any\s+|to\s+be\s+)?(?:saying|say|said|question|exception|fail)\b|\bneedless\s+to\s+say\b",
            r"\bnot\s+(?:yet\s+)?(?:clear|known|certain|sure|obvious|settled|established|decided)\b",
            r"\b(?:only\s+)?(?:a|the)\s+[\w\s]{0,25}?would\s+(?:deny|doubt|dispute)|\bbeyond\s+(?:\w+\s+){0,2}(?:doubt|dispute|question)",
            r"\b(?:not|n't|no|never)\s+(?:\w+\s+){0,3}?(?:in|for|of)\s+(?:every|all|each|any\s+other)\b|"
            r"\bnot\s+(?:always|everywhere)\b|\b(?:not|n't|never)\s+(?:[\w'-]+\s+){0,3}?(?:previously|before|earlier|until)\b",
            r"\b(?:not|nor)\s+(?:long|far|too\s+long)\s+ago\b|\bnull\s+hypothesis\b|\bnot\s+far\s+from\b",
        )
    )
)
_LINK = (
    r"(?:able|possible|enough|(?:seem|appear|manage|come|begin|go|care|want|wish|tend)\w*|willing|prepared|ready|"
    r"inclined|suffice)\s+to\s+"
)
_FEW = rf"(?:{_LINK}|(?!(?:to|but|and|that|which)\b)[@\w'-]+\s+){{0,4}}?"
_SOME = r"(?:(?!(?:but|and|which|because)\b)[@\w'-]+\s+){0,8}?"
_GOVERNING = re.compile(
    "|".join(
        (
            rf"(?:\bnot|\bno\s+longer|\bcannot|n't|\bnever|\bhardly|\bscarcely|\bbarely)\s+(?={_FEW}(?:{_EVIDENCE}|{_DENYING}))",
            rf"\b(?:not\s+one|not\s+a\s+single|nobody|no\s?one|none|nothing|nowhere|neither|few|(?<!a\s)little|no(?!\s+longer))\s+(?={_SOME}(?:{_EVIDENCE}|{_DENYING}))",
            rf"\b(?:fail(?:s|ed|ure|ing)?\s+to|unable\s+to|inability\s+to|incapable\s+of|refus(?:es|ed|e)\s+to|"
            rf"(?:hard|difficult|too\s+early)\s+to|stop(?:s|ped)?)\s+(?=(?:\w+ly\s+)?(?:{_EVIDENCE}|{_DENYING}))",
            r"\b(?:no|without|scant|lack\s+of|absence\s+of|lacks?|lacking|little|devoid\s+of)\s+"
            r"(?=(?:[\w-]+\s+){0,3}?(?:evidence|proof|data|reason|basis|grounds|support|trace|truth|way|case|chance|indications?|"
            r"signs?|hints?|merit|foundation|doubt|dispute|question)\b)",
            r"(?:\bwould|\bcould|\bcan|\bshould|\bmust)(?:\s+not|n't)\s+(?=(?:\w+ly\s+)?(?:say|claim|argue|assert|assume|infer)\b)|"
            r"\bcannot\s+(?=(?:\w+ly\s+)?(?:claim|argue|assert|assume|infer)\b)",
        )
    )
)
_DENIES = re.compile(rf"\b{_DENYING}")
_PADDING = re.compile(
    r"\bin\s+no\s+way\b|\bby\s+no\s+means\b|\bunder\s+no\s+circumstances\b|\bat\s+no\s+point\b|\bon\s+no\s+account\b"
)
_CIRCUMSTANCE = re.compile(
    r"^\s*(?:in\s+the\s+absence\s+of|for\s+(?:lack|want)\s+of|with(?:out|\s+no)|despite|in\s+spite\s+of)\b.*?"
    r"(?=\b(?:we|i|they|he|she|it|one|others|some|the\s+(?:authors?|group|team|paper))\b)"
)
"""`In the absence of better data we note that`: what comes first is not what is said of the claim."""
_ONLY_NOT = re.compile(r"\s*(?:but|and)\s+(?:not|never)(?:\s+(?:\w+ly|the\s+(?:claim|fact|idea|view)))?\s*$")


def frame_denials(words: str) -> int:
    """Count the denials of a frame (`there is no evidence`, `it would be wrong to deny`); an odd number denies."""
    plain = _EMPTY.sub(" ", _PADDING.sub(" never ", _CIRCUMSTANCE.sub("", _VEHICLE.sub(" ", words))))
    parts = re.split(r"[:;,\u2013\u2014]", plain)
    if len(parts) > 1 and _ONLY_NOT.match(parts[-1]):  # "doubts many things, but not that ..."
        return frame_denials(parts[-2]) + 1
    return len(_DENIES.findall(plain)) + len(_GOVERNING.findall(plain))


_CLAIM_NOUN = (
    r"(?:claim|idea|notion|hypothesis|report|view|belief|suggestion|possibility|finding|conclusion|theory|statement|"
    r"assertion|rumou?r|story|result|observation|proposal|proposition|contention|assumption|impression|allegation|"
    r"postulate|conjecture|suspicion|argument)s?"
)
_VEHICLE = re.compile(rf"\b(?:the|this|an?|our|their|his|her)\s+(?:[\w-]+\s+)?{_CLAIM_NOUN}\s*$")
"""`nothing new in the observation that`: the noun only names the claim, it is not what the negation is about."""
_NOMINAL = re.compile(rf"\b{_CLAIM_NOUN}\s*(?:,[^,]*,\s*)?$")
_VERB_PHRASE = re.compile(
    r"\s*,?\s*(?:(?:has|have|had|is|are|was|were|does|do|did|could|can|cannot|must|should|may|might|will|would|turned|proved|"
    r"proves|lacks?|fails?|failed|rests?|remains?|collapsed|falls?|fell|never|no\s+longer|still|now|also|has\s+since|seems?|"
    r"appears?|found|met|stands?|deserves?|needs?)\b|[a-z]+n't\b)"
)
_SUPPORTS = re.compile(rf"\b(?:{_EVIDENCE}|{_DENYING})")


def verdict_on_clause(governing: str, tail: str) -> tuple[int, bool]:
    """Return what the verb of `the claim that S <verb>` says: (its denials, True when the tail is that verb).

    `governing` stands before `that`; it is empty in `That S is a myth`. `tail` is what follows the last entity.
    """
    if governing.strip() and not _NOMINAL.search(governing):
        return 0, False
    if not _VERB_PHRASE.match(tail):
        return 0, False
    verb = re.split(r"[;:]|,\s*(?:which|but|although|though|and)\b", tail, maxsplit=1)[0]
    plain = _EMPTY.sub(" ", verb)
    if not _SUPPORTS.search(plain) and not _GOVERNING.search(plain):
        return 0, False
    return frame_denials(verb), True


_ABOUT_THE_CLAIM = re.compile(
    r"(?:[,;:(]|\s-|\u2013|\u2014|\bbut|\bthough|\balthough)\s*(?:(?:but|and|though|although|yet|however|then\s+again),?\s+)*"
    rf"(?:which|that|this|it|(?:the|such\s+an?|an?|this|that)\s+(?:[\w-]+\s+)?{_CLAIM_NOUN}(?:\s+that)?)\s+"
    r"(?=(?:has|had|is|was|turned|proved|could|can|cannot|does|did|would|never|no\s+longer|later|failed|fails|lacks)\b|[a-z]+n't)"
    r"(?P<verdict>[^,;:()]*)"
)
_DENIED_BY = re.compile(
    r"[,;:(]\s*(?:(?:and|but|yet|although|though|however),?\s+)*(?:[\w-]+\s+){1,4}?(?:contradict|refut|disprov|debunk|den(?:y|i)|reject|retract|withdr[ae]w)\w*\s+"
    r"(?:it|this|that)\b"
)
_SHORT_DENIAL = re.compile(
    r"\b(?:but|though|although|yet|however),?\s+(?:(?:in\s+fact|actually|really|clearly)\s+)?(?:(?:it|they|this|that|he|she)\s+)?"
    r"(?:(?:in\s+fact|actually|really|clearly)\s+)?(?:(?:does|do|did|is|are|was|were|has|had|have|could|can)\s*(?:not|n't)|cannot|never\s+\w+)"
    r"(?:\s+(?:so|do\s+so|at\s+all))?\s*[.!]*$"
)
_AFTER_VERDICT = re.compile(rf"\b(?:{_EVIDENCE}|{_DENYING})(?P<rest>.*)$")


def remark_denies(tail: str) -> bool:
    """Return True when a remark after a claim takes it back: `..., which is not the case`, `..., but it does not`."""
    if _SHORT_DENIAL.search(tail):
        return True
    denied = _DENIED_BY.search(tail)
    if denied is not None and not re.search(
        r"\b(?:no|not|nobody|none|nothing|never|cannot|few)\b|n't\b", denied.group()
    ):
        return True
    for match in _ABOUT_THE_CLAIM.finditer(tail):
        verdict = match.group("verdict")
        if frame_denials(verdict) % 2 and not re.search(
            r"\b(?:hesitate|surpris\w+|no\s+longer\s+(?:new|in))\b", verdict
        ):
            after = _AFTER_VERDICT.search(_EMPTY.sub(" ", verdict))
            if after is None or len(after.group("rest").split()) <= 6:
                return True
    return False


_CORRECTED = re.compile(
    r"(?:[;:]|\s-\s|\u2013|\u2014|,\s*(?:but|rather|instead|in\s+fact|on\s+the\s+contrary)\b)\s*"
    r"(?:(?:rather|instead|in\s+fact|on\s+the\s+contrary|actually|indeed)\s*,?\s*)?(?:it|they)\s+(?P<does>(?!(?:is|was)\s)[^,;:.]*?)\s*"
    r"\b(?P<what>it|them|its|their)\b(?P<rest>[^,;:.]*)[.!\s]*$"
)


def correction(tail: str) -> str | None:
    """Return the masked clause of a correction by pronouns (`...; it lowers its expression`), or None."""
    match = _CORRECTED.search(tail)
    return None if match is None else f"@1 {match.group('does')} @2 {match.group('rest')}"
