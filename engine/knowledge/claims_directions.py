"""Which way a clause says that expression goes: stems of rise and fall, and what they are compared with.

Every pattern is for masked clauses in lower case (`@1`, `@2` stand for entities) and is written in verbose form.
"""

from __future__ import annotations

import re

UP_CLEAR = re.compile(
    r"""
    \bup[-\s]?regulat\w*|\bover[-\s]?express\w*|\bover[-\s]?abundan\w*|
    \binduc(?:e|es|ed|ing|tion|ible|er|ers|tive)\b|\btrans[-\s]?activat\w*|\bderepress\w*|\bup[-\s]?shift\w*|
    \bover[-\s]?produc\w*|\bup[-\s]?(?:tick|swing)\w*|\bupturn\b|
    \bpositive(?:ly)?\s+(?:regulat|modulat|influenc|affect)\w*|\btoo\s+much\b
    """,
    re.VERBOSE,
)
CLEAR = re.compile(
    r"""
    \bup[-\s]?regulat\w*|\bover[-\s]?express\w*|\bover[-\s]?abundan\w*|
    \binduc(?:e|es|ed|ing|tion|ible|er|ers|tive)\b|\btrans[-\s]?activat\w*|\bderepress\w*|\bup[-\s]?shift\w*|
    \bover[-\s]?produc\w*|\bup[-\s]?(?:tick|swing)\w*|\bupturn\b|
    \bpositive(?:ly)?\s+(?:regulat|modulat|influenc|affect)\w*|\btoo\s+much\b|\bdown[-\s]?regulat\w*|
    \bunder[-\s]?express\w*|\brepress\w*|\bsilenc\w*|\btrans[-\s]?repress\w*|\bdown[-\s]?shift\w*|
    \bunder[-\s]?represent\w*|\bunder[-\s]?produc\w*|\bdown[-\s]?(?:tick|swing|trend)\w*|\bdownturn\b|
    \bnegative(?:ly)?\s+(?:regulat|modulat|influenc|affect)\w*|\btoo\s+little\b|\bhypo[-\s]?express\w*
    """,
    re.VERBOSE,
)
UP_ALL = re.compile(
    r"""
    \boutnumber\w*|\bover[-\s]?represent\w*|\bup[-\s]?modulat\w*|\bbump\w*\s+up\b|\bhoist\w*|\bballoon\w*|\bmushroom\w*|
    \b(?:sky)?rocket\w*|\bleap\w*|\bbolster\w*|\bfoster\w*|\bfavou?r(?:s|ed|ing)\b|\bencourag\w*|\bfacilitat\w*|\bspur\w*|
    \breinforc\w*|\binvigorat\w*|\babounds?\b|\bgo(?:es|ing)?\s+through\s+the\s+roof\b|\bskew\w*\s+up\w*|
    \bup[-\s]?regulat\w*|\bover[-\s]?express\w*|\bover[-\s]?abundan\w*|
    \binduc(?:e|es|ed|ing|tion|ible|er|ers|tive)\b|\btrans[-\s]?activat\w*|\bderepress\w*|\bup[-\s]?shift\w*|
    \bover[-\s]?produc\w*|\bup[-\s]?(?:tick|swing)\w*|\bupturn\b|
    \bpositive(?:ly)?\s+(?:regulat|modulat|influenc|affect)\w*|\btoo\s+much\b|\belevat\w*|\brais(?:e|es|ed|ing)\b|
    \bincreas\w*|\bboost\w*|\bheighten\w*|\benhanc\w*|\baugment\w*|\bstimulat\w*|\bupward\w*|\bascen[dt]\w*|
    \bclimb\w*|\bsurg(?:e|es|ed|ing)\b|\bswell\w*|\bsoar\w*|\bjump\w*|\bris(?:e|es|ing|en)\b|\brose\b|\bamplif\w*|
    \bgain(?:s|ed)?\b|\bpotentiat\w*|\bescalat\w*|\binflat\w*|\bhik(?:e|es|ed)\b|\bgrow(?:s|n|ing|th)?\b|
    \bspik(?:e|es|ed)\b|\bmultipl(?:y|ies|ied)\b|\bdoubl(?:e|es|ed|ing)\b|\btripl(?:e|es|ed)\b|\bintensif\w*|
    \baccumulat\w*|\blift(?:s|ed|ing)?\b|\bupped\b|\bups\b|\bstrengthen\w*|\bpromot(?:e|es|ed|ing)\b|\bgreater\b|
    \bhigher\b|\bhighest\b|\bstep\w*\s+up\b|\bexceed\w*|\bstronger\b|\blarger\b|\bbigger\b|\btwice\b|
    \b\w+-?fold\s+(?:more|higher)\b|\bhyper-?activ\w*|\belevation\w*|
    \bmore\s+(?:strong|high|abundant|active|plentiful|rich)\w*|\bmount(?:s|ed|ing)?\b|\bbloom\w*|\bflourish\w*|
    \bexpand\w*|\bmagnif\w*|\bkindl\w*|\bfuel(?:s|led|ed)?\b|
    \b(?:turn|switch|crank|ramp|push|driv|drove|bring|brought|go|goes|going|went|gone|shift|dial|tick|nudg|mov|
    trend|com|head|pull|send|sent|shoot|shot|step|scal|jack|creep|crept|rev|edg|keep|kept|hold|held|tamp|ton|tun|
    key|bid|prop|tak)\w*(?:\s+[\w@'-]+){0,6}?\s+(?:up|on|upwards?|higher)\b|
    \bup\s+(?:under|in|with|after|by|on|when|for|relative|compared|against|versus)\b|\bup\s*[.!]?$|\bactivat\w*|
    \bbuild[-\s]?up\b
    """,
    re.VERBOSE,
)
DOWN_ALL = re.compile(
    r"""
    \b(?<!nothing\ )short\s+of\b|\bunder\s+pressure\b|
    \brein\w*\s+(?:\S+\s+){0,3}?in\b|\bbrakes?\b|\bin\s+check\b|\blid\s+on\b|\bthin(?:s|ned|ning)?\b|\beat(?:s|ing)?\s+(?:into|away)\b|
    \brob(?:s|bed|bing)?\b|\bsap(?:s|ped)?\b|\bdrain\w*|\bstarv\w*|\bclamp\w*|\bstunt\w*|\bhamper\w*|\bobstruct\w*|\bimped\w*|
    \bcounteract\w*|\bslid(?:e|es|ing)?\b|\bslip(?:s|ped)?\b|\btumbl\w*|\bnosediv\w*|\btaper\w*|\btail\w*\s+off\b|\bsubsid\w*|
    \breced\w*|\bdown[-\s]?modulat\w*|\bwip\w*\s+out\b|\beras\w*|\beliminat\w*|\bablat\w*|\bvanish\w*|\bdisappear\w*|\bcapp?(?:s|ed)\b|
    \bdown[-\s]?regulat\w*|\bunder[-\s]?express\w*|\brepress\w*|\bsilenc\w*|\btrans[-\s]?repress\w*|
    \bdown[-\s]?shift\w*|\bunder[-\s]?represent\w*|\bunder[-\s]?produc\w*|\bdown[-\s]?(?:tick|swing|trend)\w*|
    \bdownturn\b|\bnegative(?:ly)?\s+(?:regulat|modulat|influenc|affect)\w*|\btoo\s+little\b|\bhypo[-\s]?express\w*|
    \breduc\w*|\blower(?:s|ed|ing)?\b|\blowest\b|\bdimin\w*|\bdampen\w*|\bdamp(?:s|ed|ing)?\b|\bdecreas\w*|
    \bdrop\w*|\bfall(?:s|ing|en)?\b|\bfell\b|\bdeclin\w*|\bdeplet\w*|\bblunt\w*|\bcurb\w*|\bcurtail\w*|
    \battenuat\w*|\bsink\w*|\bsank\b|\bslump\w*|\bshrink\w*|\bshrunk\b|\bquench\w*|
    \bknock\w*\s+(?:\S+\s+){0,4}?(?:down|out|back)\b|\bdip(?:s|ped)?\b|\bplung\w*|\bplummet\w*|\bdwindl\w*|
    \bweaken\w*|\bextinguish\w*|\bshut\w*\s+(?:\S+\s+){0,5}?(?:down|off)\b|\blessen\w*|\brestrain\w*|
    \bmut(?:e|es|ed)\b|\bcut(?:s|ting)?\b|\bdepress(?:es|ed|ing|ion)?\b|\bimpair\w*|\babolish\w*|\bloss\b|
    \blos(?:e|es|ing|t)\b|\bdeficit\b|\bdeficien\w*|\bshort(?:age|fall)\b|\bsuppress\w*|\bhalv(?:e|es|ed|ing)\b|
    \berod\w*|\btrim(?:s|med)?\b|\bslash\w*|\bdownward\w*|\bhinder\w*|\bsubdu\w*|\bquiet\w*|\bdiminution\b|
    \bsag(?:s|ged)?\b|\bcompromis\w*|\bworsen\w*|\binhibit\w*|\bblock\w*|\bstifl\w*|\bsmother\w*|\bsqueez\w*|
    \bfad(?:e|es|ed|ing)\b|\bwan(?:e|es|ed)\b|
    \b(?:turn|switch|crank|ramp|push|driv|drove|bring|brought|go|goes|going|went|gone|shift|dial|tick|nudg|mov|
    trend|com|head|pull|send|sent|shoot|shot|step|scal|jack|creep|crept|rev|edg|keep|kept|hold|held|tamp|ton|tun|
    key|bid|prop|tak)\w*(?:\s+[\w@'-]+){0,6}?\s+(?:down|off|downwards?|lower|low|back)\b|
    \bdown\s+(?:under|in|with|after|by|on|when|for|relative|compared|against|versus)\b|\bdown\s*[.!]?$|
    \bslow(?:s|ed)?\b|\bdial\w*\s+back\b|\bscarcer\b|\brarer\b|\bfewer\b|\bweaker\b|\bsparser\b|\bsmaller\b|
    \bhalf\s+(?:that|of|as|the)\b|\ba\s+(?:third|quarter|fraction)\s+of\b|\bshort\s+supply\b|\bthinner\b|
    \bin\s+retreat\b|\bretreat\w*|\bebb\w*|\bon\s+the\s+wane\b|\bswitch(?:es|ed)?\s+off\b|\bscarcit\w*|
    \bdiminish\w*|\bminimi[sz]\w*|\bsoften\w*|\bpoorer\b|\bthrottl\w*|\bchok(?:e|es|ed)\b|\btemper(?:s|ed)?\b|
    \bcrash\w*|\bcollaps\w*
    """,
    re.VERBOSE,
)
UP_ANY = re.compile(
    r"""
    \bhigh\b|\bhighly\b|\bmore\b|\babundan(?:t|tly|ce)\b|\bexcess\w*|\bsurplus\b|\benrich\w*|\bstrong(?:ly)?\b|
    \bplentiful\w*|\bplenty\b|\brich(?:er|ly)?\b|\bcopious\w*|\babove\b|\bextra\b|\bup\b|\bpeak\w*|\bample\b|
    \bgenerous\w*|\bprominent\w*|\bpronounced\b|\bwealth\b
    """,
    re.VERBOSE,
)
DOWN_ANY = re.compile(
    r"""
    \blow\b|\bless\b|\bscarc\w*|\bscant\w*|\bsparse\w*|\bpoor(?:ly)?\b|\bweak(?:ly)?\b|\bbelow\b|\bdown\b|
    \brare(?:ly)?\b|\blittle\b|\bmeagre\b|\bmeager\b|\bunder\s+par\b|\bfaint(?:ly)?\b|\bdearth\b|\bpaucity\b|
    \bmodest\b|\bminimal\w*
    """,
    re.VERBOSE,
)
IDIOMS = re.compile(
    r"""
    \bfollow(?:s|ed|ing)?[-\s]?up\b|\bup\s+to(?:\s+date)?\b|\bset\s+up\b|\b(?:came|come|comes)\s+up\s+in\s+the\b|
    \bpicked\s+up\b|\blook(?:ed|s|ing)?\s+up\b|\bwrite[-\s]?up\b|\bback(?:ed|s)?\s+up\b|\babove\s+background\b|
    \bmore\s+(?:than\s+once|precisely|specifically|generally|importantly|likely|evidence|often|recently)\b|
    \bonce\s+more\b|\bwhat\s+is\s+more\b|\bmore\s+or\s+less\b|\bless\s+(?:clear|certain|surprising)\w*|
    \bhigh(?:ly)?[-\s](?:confidence|quality|affinity|likely|plausible|probable|throughput)\b|
    \bbreak(?:s|ing)?\s+down\b|\bhigh\s+affinity\b|\blow\s+affinity\b|
    \bstrong(?:ly)?\s+(?:evidence|suggest\w*|support\w*|believ\w*)|\bdown\s+to\b|\bon\s+the\s+rise\b(?=\s+of)|
    \bupon\b|\bwritten\s+down\b|\bmoreover\b|\bfurthermore\b|\bat\s+least\b
    """,
    re.VERBOSE,
)
ALTERNATIVE = re.compile(
    r"""
    (?:,\s*)?\b(?:rather\s+than|instead\s+of|as\s+opposed\s+to|and\s+not|but\s+not)\s+(?:an?\s+)?\w+\b(?!\s*@)|
    ,\s*not\s+(?:an?\s+)?\w+\b(?!\s*@)
    """,
    re.VERBOSE,
)
LESS_OF_MUCH = re.compile(
    r"""
    \b(?:less|least|insufficiently)\s+(?:strong|high|abundant|plentiful|rich|active|elevat|express|
    transcrib|prominent)\w*
    """,
    re.VERBOSE,
)
MORE_OF_LITTLE = re.compile(
    r"""
    \b(?:more|most|rather|very|abnormally|unusually)\s+(?:weak|poor|sparse|faint|scarce|rare|scant|modest|low|
    meagre|thin)\w*
    """,
    re.VERBOSE,
)
BRINGS_ABOUT = re.compile(
    r"""
    \b(?:elicit|trigger|provok|evok|evinc|prompt|spark|call\w*\s+forth|set\w*\s+off|awaken|unleash|unlock)\w*
    """,
    re.VERBOSE,
)
EXPRESSION = re.compile(
    r"""
    \bexpress\w*|\btranscri(?:pt|pts|ption|ptional\w*|bed|be|bes)\b|\bm?rnas?\b|\bmessages?\b|\bmessengers?\b|
    \blevels?\b|\babundance\b|\boutput\b|\breadouts?\b|\bcopies\b|\bcopy\s+number\b|\bsignals?\b|\bcounts?\b|
    \breads\b|\bamounts?\b|\bactivity\s+of\s+the\s+gene\b|\bgene\s+activity\b
    """,
    re.VERBOSE,
)
UNCHANGED = re.compile(
    r"""
    \bunchanged\b|\bunaltered\b|\bunaffected\b|\buntouched\b|
    \b(?:no|without|any|little)\s+(?:\w+\s+){0,2}?(?:effect|influence|impact|change|bearing)\b|
    \b(?:not|n't|never|fails?\s+to)\s+(?:\w+\s+)?(?:affect|alter|change|influence|touch|shift|move|perturb)\w*
    """,
    re.VERBOSE,
)
_AGAINST = r"""
    \b(?:than|compared\s+(?:with|to)|relative\s+to|versus|vs\.?|as\s+against|over)\s+(?:(?!@)[\w'-]+\s+){0,4}?
    {place}\b(?!\s*(?:-?\s*free|controls))
"""
AGAINST = {place: re.compile(_AGAINST.replace("{place}", place), re.VERBOSE) for place in ("@1", "@2")}
"""What names `@1` or `@2` as that with which something is compared."""
REFERENCE = re.compile(
    r"""
    \b(?:controls?|healthy|normal|unaffected|other\s+(?:tissues|organs)|elsewhere|the\s+rest|non-\w+)\b
    """,
    re.VERBOSE,
)


def direction(words: str, *, weak: bool = True) -> int:
    """Return 1 for words of a rise, -1 of a fall, 0 of neither; the clearest word, then the first, decides."""
    plain = LESS_OF_MUCH.sub(" lower ", ALTERNATIVE.sub(" ", IDIOMS.sub(" ", words)))
    plain = MORE_OF_LITTLE.sub(" lower ", plain)
    clear = CLEAR.search(plain)
    if clear:
        return 1 if UP_CLEAR.fullmatch(clear.group()) else -1
    up, down = UP_ALL.search(plain), DOWN_ALL.search(plain)
    if not (up or down):
        up = BRINGS_ABOUT.search(plain) if EXPRESSION.search(plain) else None
    if not (up or down) and weak:
        up, down = UP_ANY.search(plain), DOWN_ANY.search(plain)
    if up and down:
        return 1 if up.start() < down.start() else -1
    return 1 if up else -1 if down else 0


def change_in(words: str, place: str | None, *, weak: bool = True) -> int:
    """Return the direction of change in `place` (`@1` or `@2`), reversed when the place is what is compared against."""
    found = direction(words, weak=weak)
    if found and place:
        match = AGAINST[place].search(words)
        if match and REFERENCE.search(words[: match.start()]):
            return -found
    return found
