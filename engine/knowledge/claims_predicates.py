"""What a clause says of two entities: the relation, its direction, and who does it to whom.

The types of the two entities decide among few relations; stems of verbs, nouns and adjectives decide the rest.
When no cue is found, the plainest relation of the two types is assumed and the result says so
(`Sense.recognised` is False): a drug and a disease are about treatment, a gene and a tissue about expression.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.domain.knowledge import EdgeType, NodeType

GENES = frozenset({NodeType.GENE, NodeType.PROTEIN})
DRUGS = frozenset({NodeType.DRUG, NodeType.DRUG_CLASS, NodeType.EXPOSURE})
PLACES = frozenset({NodeType.ANATOMY, NodeType.CELL_TYPE})
SIGNS = frozenset({NodeType.SYMPTOM, NodeType.PHENOTYPE, NodeType.SIDE_EFFECT})
PROCESSES = frozenset({NodeType.PATHWAY, NodeType.GO_TERM})


@dataclass(frozen=True, slots=True)
class Sense:
    """A relation as a clause states it."""

    type: EdgeType
    accepts: tuple[EdgeType, ...] = ()
    """Further types of edge that state the same."""
    recognised: bool = True
    """False when no word said so and the relation was assumed from the types."""
    reverse: bool = False
    """True when the entity named second is the one that acts (`X is controlled by Y`)."""
    directed: bool = False
    """True when the words settle who acts, so an edge the other way round is the opposite."""
    none: bool = False
    """True when the clause denies any change (`leaves X unchanged`); `type` and `accepts` are all denied."""


_IDIOMS = re.compile(
    r"\bfollow(?:s|ed|ing)?[-\s]?up\b|\bup\s+to(?:\s+date)?\b|\bset\s+up\b|\b(?:came|come|comes)\s+up\s+in\s+the\b|"
    r"\bpicked\s+up\b|\blook(?:ed|s|ing)?\s+up\b|\bwrite[-\s]?up\b|\bback(?:ed|s)?\s+up\b|\babove\s+background\b|"
    r"\bmore\s+(?:than\s+once|precisely|specifically|generally|importantly|likely|evidence|often|recently)\b|"
    r"\bonce\s+more\b|\bwhat\s+is\s+more\b|\bmore\s+or\s+less\b|\bless\s+(?:clear|certain|surprising)\w*|"
    r"\bhigh(?:ly)?[-\s](?:confidence|quality|affinity|likely|plausible|probable|throughput)\b|\bbreak(?:s|ing)?\s+down\b|"
    r"\bhigh\s+affinity\b|\blow\s+affinity\b|\bstrong(?:ly)?\s+(?:evidence|suggest\w*|support\w*|believ\w*)|\bdown\s+to\b|"
    r"\bon\s+the\s+rise\b(?=\s+of)|\bupon\b|\bwritten\s+down\b|\bmoreover\b|\bfurthermore\b|\bat\s+least\b"
)
_ALTERNATIVE = re.compile(
    r"(?:,\s*)?\b(?:rather\s+than|instead\s+of|as\s+opposed\s+to|and\s+not|but\s+not|,\s*not)\s+(?:an?\s+)?\w+(?:ed|ing|er|"
    r"s|ion|e|n|w|p|l|h)?\b(?!\s*@)|,\s*not\s+(?:an?\s+)?\w+\b(?!\s*@)"
)
_MOVE = (
    r"(?:turn|switch|crank|ramp|push|driv|drove|bring|brought|go|goes|going|went|gone|shift|dial|tick|nudg|mov|trend|com|"
    r"head|pull|send|sent|shoot|shot|step|scal|jack|creep|crept|rev|edg|keep|kept|hold|held|tamp|ton|tun|key|bid|prop|tak)"
    r"\w*(?:\s+[\w@'-]+){0,6}?\s+"
)
_UP_CLEAR = (
    r"\bup[-\s]?regulat\w*|\bover[-\s]?express\w*|\bover[-\s]?abundan\w*|\binduc(?:e|es|ed|ing|tion|ible|er|ers|tive)\b|"
    r"\btrans[-\s]?activat\w*|\bderepress\w*|\bup[-\s]?shift\w*|\bover[-\s]?produc\w*|\bup[-\s]?(?:tick|swing)\w*|\bupturn\b|\bpositive(?:ly)?\s+(?:regulat|modulat|influenc|affect)\w*|\btoo\s+much\b"
)
_DOWN_CLEAR = (
    r"\bdown[-\s]?regulat\w*|\bunder[-\s]?express\w*|\brepress\w*|\bsilenc\w*|\btrans[-\s]?repress\w*|"
    r"\bdown[-\s]?shift\w*|\bunder[-\s]?represent\w*|\bunder[-\s]?produc\w*|\bdown[-\s]?(?:tick|swing|trend)\w*|\bdownturn\b|\bnegative(?:ly)?\s+(?:regulat|modulat|influenc|affect)\w*|\btoo\s+little\b|\bhypo[-\s]?express\w*"
)
_UP = (
    r"\belevat\w*|\brais(?:e|es|ed|ing)\b|\bincreas\w*|\bboost\w*|\bheighten\w*|\benhanc\w*|\baugment\w*|\bstimulat\w*|"
    r"\bupward\w*|\bascen[dt]\w*|\bclimb\w*|\bsurg(?:e|es|ed|ing)\b|\bswell\w*|\bsoar\w*|\bjump\w*|\bris(?:e|es|ing|en)\b|"
    r"\brose\b|\bamplif\w*|\bgain(?:s|ed)?\b|\bpotentiat\w*|\bescalat\w*|\binflat\w*|\bhik(?:e|es|ed)\b|\bgrow(?:s|n|ing|th)?\b|"
    r"\bspik(?:e|es|ed)\b|\bmultipl(?:y|ies|ied)\b|\bdoubl(?:e|es|ed|ing)\b|\btripl(?:e|es|ed)\b|\bintensif\w*|"
    r"\baccumulat\w*|\blift(?:s|ed|ing)?\b|\bupped\b|\bups\b|\bstrengthen\w*|\bpromot(?:e|es|ed|ing)\b|\bgreater\b|"
    r"\bhigher\b|\bhighest\b|\bstep\w*\s+up\b|\bexceed\w*|\bstronger\b|\blarger\b|\bbigger\b|\btwice\b|\b\w+-?fold\s+(?:more|higher)\b|\bhyper-?activ\w*|\belevation\w*|\bmore\s+(?:strong|high|abundant|active|plentiful|rich)\w*|\bmount(?:s|ed|ing)?\b|\bbloom\w*|\bflourish\w*|\bexpand\w*|\bmagnif\w*|\bkindl\w*|\bfuel(?:s|led|ed)?\b|"
    rf"\b{_MOVE}(?:up|on|upwards?|higher)\b|\bup\s+(?:under|in|with|after|by|on|when|for|relative|compared|against|versus)\b"
    r"|\bup\s*[.!]?$|\bactivat\w*|\bbuild[-\s]?up\b"
)
_DOWN = (
    r"\breduc\w*|\blower(?:s|ed|ing)?\b|\blowest\b|\bdimin\w*|\bdampen\w*|\bdamp(?:s|ed|ing)?\b|\bdecreas\w*|\bdrop\w*|"
    r"\bfall(?:s|ing|en)?\b|\bfell\b|\bdeclin\w*|\bdeplet\w*|\bblunt\w*|\bcurb\w*|\bcurtail\w*|\battenuat\w*|\bsink\w*|"
    r"\bsank\b|\bslump\w*|\bshrink\w*|\bshrunk\b|\bquench\w*|\bknock\w*\s+(?:\S+\s+){0,4}?(?:down|out|back)\b|\bdip(?:s|ped)?\b|"
    r"\bplung\w*|\bplummet\w*|\bdwindl\w*|\bweaken\w*|\bextinguish\w*|\bshut\w*\s+(?:\S+\s+){0,5}?(?:down|off)\b|\blessen\w*|"
    r"\brestrain\w*|\bmut(?:e|es|ed)\b|\bcut(?:s|ting)?\b|\bdepress(?:es|ed|ing|ion)?\b|\bimpair\w*|\babolish\w*|\bloss\b|"
    r"\blos(?:e|es|ing|t)\b|\bdeficit\b|\bdeficien\w*|\bshort(?:age|fall)\b|\bsuppress\w*|\bhalv(?:e|es|ed|ing)\b|"
    r"\berod\w*|\btrim(?:s|med)?\b|\bslash\w*|\bdownward\w*|\bhinder\w*|\bsubdu\w*|\bquiet\w*|\bdiminution\b|\bsag(?:s|ged)?\b|"
    r"\bcompromis\w*|\bworsen\w*|\binhibit\w*|\bblock\w*|\bstifl\w*|\bsmother\w*|\bsqueez\w*|\bfad(?:e|es|ed|ing)\b|\bwan(?:e|es|ed)\b|"
    rf"\b{_MOVE}(?:down|off|downwards?|lower|low|back)\b|\bdown\s+(?:under|in|with|after|by|on|when|for|relative|compared|"
    r"against|versus)\b|\bdown\s*[.!]?$|\bslow(?:s|ed)?\b|\bdial\w*\s+back\b|\bscarcer\b|\brarer\b|\bfewer\b|\bweaker\b|"
    r"\bsparser\b|\bsmaller\b|\bhalf\s+(?:that|of|as|the)\b|\ba\s+(?:third|quarter|fraction)\s+of\b|\bshort\s+supply\b|\bthinner\b|\bin\s+retreat\b|\bretreat\w*|\bebb\w*|\bon\s+the\s+wane\b|\bswitch(?:es|ed)?\s+off\b|\bscarcit\w*|\bdiminish\w*|\bminimi[sz]\w*|\bsoften\w*|\bpoorer\b|\bthrottl\w*|\bchok(?:e|es|ed)\b|\btemper(?:s|ed)?\b|\bcrash\w*|\bcollaps\w*"
)
_UP_WEAK = (
    r"\bhigh\b|\bhighly\b|\bmore\b|\babundan(?:t|tly|ce)\b|\bexcess\w*|\bsurplus\b|\benrich\w*|\bstrong(?:ly)?\b|"
    r"\bplentiful\w*|\bplenty\b|\brich(?:er|ly)?\b|\bcopious\w*|\babove\b|\bextra\b|\bup\b|\bpeak\w*|\bample\b|\bgenerous\w*|"
    r"\bprominent\w*|\bpronounced\b|\bwealth\b"
)
_DOWN_WEAK = (
    r"\blow\b|\bless\b|\bscarc\w*|\bscant\w*|\bsparse\w*|\bpoor(?:ly)?\b|\bweak(?:ly)?\b|\bbelow\b|\bdown\b|\brare(?:ly)?\b|"
    r"\blittle\b|\bmeagre\b|\bmeager\b|\bunder\s+par\b|\bfaint(?:ly)?\b|\bdearth\b|\bpaucity\b|\bmodest\b|\bminimal\w*"
)
_UP_ALL = re.compile(f"{_UP_CLEAR}|{_UP}")
_DOWN_ALL = re.compile(f"{_DOWN_CLEAR}|{_DOWN}")
_CLEAR = re.compile(f"{_UP_CLEAR}|{_DOWN_CLEAR}")
_UP_ANY = re.compile(_UP_WEAK)
_DOWN_ANY = re.compile(_DOWN_WEAK)
_EXPRESSION = re.compile(
    r"\bexpress\w*|\btranscri(?:pt|pts|ption|ptional\w*|bed|be|bes)\b|\bm?rnas?\b|\bmessages?\b|\bmessengers?\b|"
    r"\blevels?\b|\babundance\b|\boutput\b|\breadouts?\b|\bcopies\b|\bcopy\s+number\b|\bsignals?\b|\bcounts?\b|\breads\b|"
    r"\bamounts?\b|\bactivity\s+of\s+the\s+gene\b|\bgene\s+activity\b"
)
_LESS_OF_MUCH = re.compile(
    r"\b(?:less|least|not\s+as|insufficiently)\s+(?:strong|high|abundant|plentiful|rich|active|elevat|express|transcrib|prominent)\w*"
)
_MORE_OF_LITTLE = re.compile(
    r"\b(?:more|most|rather|very|abnormally|unusually)\s+(?:weak|poor|sparse|faint|scarce|rare|scant|modest|low|meagre|thin)\w*"
)
_BRINGS_ABOUT = re.compile(
    r"\b(?:elicit|trigger|provok|evok|evinc|prompt|spark|call\w*\s+forth|set\w*\s+off|awaken|unleash|unlock)\w*"
)
_UNCHANGED = re.compile(
    r"\bunchanged\b|\bunaltered\b|\bunaffected\b|\buntouched\b|\b(?:no|without|any|little)\s+(?:\w+\s+){0,2}?(?:effect|"
    r"influence|impact|change|bearing)\b|\b(?:not|n't|never|fails?\s+to)\s+(?:\w+\s+)?(?:affect|alter|change|influence|"
    r"touch|shift|move|perturb)\w*"
)
_AGAINST = re.compile(
    r"\b(?:than|compared\s+(?:with|to)|relative\s+to|versus|vs\.?|as\s+against|over)\s+(?:(?!@)[\w'-]+\s+){0,4}?"
    r"(?:@p)(?!\s*(?:-?\s*free|controls))"
)
_REFERENCE = re.compile(
    r"\b(?:controls?|healthy|normal|unaffected|other\s+(?:tissues|organs)|elsewhere|the\s+rest|non-\w+)\b"
)


def direction(words: str, *, weak: bool = True) -> int:
    """Return 1 when the words speak of a rise, -1 of a fall, 0 of neither; the clearest word, then the first, decides."""
    plain = _LESS_OF_MUCH.sub(" lower ", _ALTERNATIVE.sub(" ", _IDIOMS.sub(" ", words)))
    plain = _MORE_OF_LITTLE.sub(" lower ", plain)
    clear = _CLEAR.search(plain)
    if clear:
        return 1 if re.fullmatch(_UP_CLEAR, clear.group()) else -1
    up, down = _UP_ALL.search(plain), _DOWN_ALL.search(plain)
    if not (up or down):
        up = _BRINGS_ABOUT.search(plain) if _EXPRESSION.search(plain) else None
    if not (up or down) and weak:
        up, down = _UP_ANY.search(plain), _DOWN_ANY.search(plain)
    if up and down:
        return 1 if up.start() < down.start() else -1
    return 1 if up else -1 if down else 0


def _change(words: str, place: str | None, *, weak: bool = True) -> int:
    """Return the direction of change in `place` (`@1` or `@2`), reversed when the place is what is compared against."""
    found = direction(words, weak=weak)
    if found and place:
        against = re.compile(_AGAINST.pattern.replace("@p", re.escape(place) + r"\b"))
        match = against.search(words)
        if match and _REFERENCE.search(words[: match.start()]):
            return -found
    return found


_CHANGES = {1: EdgeType.UPREGULATES, -1: EdgeType.DOWNREGULATES}
_BINDING = re.compile(
    r"\bbind\w*|\bbound\b|\bligands?\b|\bengag\w*|\baffinity\b|\bdock\w*|\boccup\w*|\btarget\w*|\breceptors?\s+for\b|"
    r"\bhits?\b|\bcontact\w*|\binteract\w*|\battach\w*|\blatch\w*|\bgrip\w*|\bacts?\s+(?:\w+\s+)?(?:on|at|through|via|upon)\b|"
    r"\bacting\s+(?:on|at|through|via)\b|\bworks?\s+(?:\w+\s+)?(?:through|via|on|at|by)\b|\bcomplex\w*|\bsubstrates?\b|"
    r"\bmetaboli[sz]\w*|\btransport\w*|\bcarrie[rs]\b|\binhibit\w*|\bblock\w*|\bantagoni[sz]\w*|\bagonis\w*|\bmodulat\w*|"
    r"\bactivat\w*|\brecogni[sz]\w*|\bpocket\b|\bphysical\w*|\bmechanism\s+of\s+action\b|\bsite\s+of\s+action\b|\btouch\w*|"
    r"\bseiz\w*|\bassociat\w*|\badher\w*|\bstick\w*|\bsits?\s+(?:in|on)\b|\bnestl\w*|\bpartner\w*|\bhold\s+of\b|\bgrab\w*|"
    r"\bcatalys\w*|\bcatalyz\w*|\bhook\w*|\block\w*\s+on\w*|\bhome\w*\s+in\b|\bcaptur\w*|\bclings?\b|\bdirect(?:ly)?\b|"
    r"\bmade\s+to\s+fit\b|\bfits\b|\bmeets\b|\bhandl\w*|\bpoint\s+of\s+attack\b|\bprotein\s+target\b|\btaken\s+up\s+by\b"
)
_PHYSICAL = re.compile(
    r"\bbind\w*|\bbound\b|\bligands?\b|\baffinity\b|\bdock\w*|\btargets?\b|\bpartner\w*|\bengag\w*|\boccup\w*|\bpocket\b|"
    r"\bsubstrates?\b|\blatch\w*|\battach\w*|\bcontact\w*|\binteract\w*"
)
_GENETIC = re.compile(
    r"\brisk\b|\bsuscepti\w*|\bpredispos\w*|\bvariants?\b|\bvariation\b|\bmutat\w*|\bpolymorphi\w*|\balleles?\b|\bloc(?:us|i)\b|"
    r"\bgenetic\w*|\bgwas\b|\bgenome-wide\b|\bsnps?\b|\bassociation\b|\bhaplotyp\w*|\binherit\w*|\bheritab\w*|\bliabilit\w*"
)
_ASSOCIATED = re.compile(
    r"\bassociat\w*|\blink\w*|\bimplicat\w*|\bcontribut\w*|\bconfer\w*|\binvolv\w*|\bcandidate\b|\brole\b|\bpart\s+in\b|"
    r"\btied\b|\bties?\b|\bconnect\w*|\bcorrelat\w*|\brelat(?:ed|es|ion\w*)\b|\bculprit\b|\bunderl\w*|\bdriv\w+|\bcaus\w+|"
    r"\bmarkers?\b|\bgenes?\s+(?:of|for|behind)\b|\bbearing\s+on\b|\bfeatur\w*|\bplayers?\b|\bhas\s+to\s+do\b|\bmap\w*|"
    r"\bdisease\s+genes?\b|\bbehind\b|\bcount(?:s|ed)?\s+among\b|\bassigned\b|\battribut\w*|\bpathogen\w*|\baetiolog\w*|"
    r"\betiolog\w*|\bmatters\b"
)
_PRESENT = re.compile(
    r"\bexpress\w*|\bdetect\w*|\bfound\b|\bpresent\b|\bpresence\b|\bactive\b|\btranscri\w+|\bm?rnas?\b|\bmessages?\b|\bon\b|"
    r"\bshows?\s+up\b|\bturns?\s+up\b|\bcrops?\s+up\b|\bobserv\w*|\bmeasur\w*|\bseen\b|\bproduc\w*|\bmade\b|\bmak(?:e|es|ing)\b|"
    r"\bcontain\w*|\bharbou?r\w*|\bread\w*|\bswitched\s+on\b|\bpicked\s+up\b|\bresid\w*|\boccur\w*|\btraceable\b|\bhost\w*|"
    r"\bsynthesi[sz]\w*|\byield\w*"
)
_ABSENT = re.compile(r"\bsilent\b|\bswitched\s+off\b|\bturned\s+off\b|\boff\b|\babsent\b")
_PALLIATES = re.compile(
    r"\bpalliat\w*|\bsymptom\w*|\brelie(?:f|ve|ves|ved|ving)\b|\beas(?:e|es|ed|ing)\b|\balleviat\w*|\bsooth\w*|\bcomfort\w*|"
    r"\bbearable\b|\btolerable\b|\bedge\s+off\b|\bmitigat\w*|\beasier\b|\bquality\s+of\s+life\b|\bsuffering\b|\bdiscomforts?\b|"
    r"\bburden\b|\bsupportive\b|\bdulls?\b|\bcomplaints\b|\brespite\b"
)
_TREATS = re.compile(
    r"\btreat\w*|\btherap\w*|\bcur(?:e|es|ed|ing|ative)\b|\bheal\w*|\bindicat\w*|\beffective\w*|\befficac\w*|\bbenefi\w*|"
    r"\bworks?\s+(?:\w+\s+)?(?:against|in|for|on)\b|\brespon[ds]\w*|\bcourse\b|\bmodif\w*|\bprescri(?:be|bes|bed|ption|ptions)\b|\bremission\b|"
    r"\bmanag\w*|\bgiven?\b|\bgives?\b|\bused\b|(?<!the )\buse\b|\bdrugs\s+(?:for|against|in)\b|\buseful\b|\bfirst[-\s]line\b|\bof\s+choice\b|\bhelp\w*|\bcombat\w*|\bfight\w*|"
    r"\bremed\w*|\bactive\s+against\b|\bactivity\s+against\b|\bstandard\s+of\s+care\b|\bmedic\w*|\bin\s+check\b|\bcontrol\w*|"
    r"\bapproved\b|\blicen[sc]ed\b|\bimprov\w*|\bamelior\w*|\bcounter\w*|\breverse\w*|\bslow\w*|\boption\b|\bclear(?:s|ed)?\b|"
    r"\bprotect\w*|\bprevent\w*|\bstop\w*|\bhalt\w*|\bbattl\w*|\btackl\w*|\bsuppress\w*|\bpower\b|\busefulness\b|\brecover\w*|"
    r"\brefractory\b|\bresistan\w*|\bdrug\s+for\b|\bvalue\b|\bput\s+to\s+work\b|\bsucceeds\b|\bdoes\s+(?:nothing|little)\b"
)
_CAUSES = re.compile(
    r"\bcaus\w*|\binduc\w*|\bprovok\w*|\btrigger\w*|\bprecipitat\w*|\badverse\w*|\bside[-\s]effects?\b|\blabel\b|\blead\w*\s+to\b|"
    r"\bbring\w*\s+(?:about|on)\b|\bcomplicat\w*|\bgiv\w+\s+rise\b|\btoxic\w*|\bundesir\w*|\bunwanted\b|\bresult\w*\s+in\b|"
    r"\breport\w*|\bwarn\w*|\bprescribing\s+information\b|\bmentions?\b|\bpackage\s+insert\b|\blists?\b|\bflags?\b|\bsafety\b|\bdevelop\w*|\belicit\w*|\bproduc\w*|\btolerab\w*|\breactions?\b|\bleaflet\b|\bevents?\b|"
    r"\bexperienc\w*|\bsuffer\w*|\bhazard\w*|\bresponsible\b|\bcomes?\s+with\b|\bcost\b|\bprice\b|\bcomplain\w*|\bharm\w*|"
    r"\buntoward\b|\bfollow\w*|\bseen\s+(?:in|with|after|under)\b|\boccurs?\b|\bget\b|\bsets?\s+off\b|\bbehind\b|\bburdens?\b|\bplagu\w*"
)
_BY_NAME = re.compile(r"\bside[-\s]effects?\b|\badverse\b|\buntoward\b|\bunwanted\b|\bundesir\w*")
_EXPOSURE = re.compile(
    r"\b(?:treat(?:ed|ment|ing)|therapy|dos(?:ed|ing)|medicat\w+|given|use|used|using|users?|taking|receiving)\s+(?:with|of|by|on)?\s*@"
    r"|\b(?:patients|people|those|anyone)\s+(?:treated|given|using|on|taking|receiving)\b|\bunder\s+treatment\b|\buse\s+of\b"
)
_CONTRAINDICATED = re.compile(
    r"\bcontra-?indicat\w*|\bmust\s+not\s+be\s+(?:given|used)\b|\bshould\s+not\s+be\s+(?:given|used)\b"
)
_PRESENTS = re.compile(
    r"\bpresent\w*|\bsymptom\w*|\bsigns?\b|\bmanifest\w*|\bcomplain\w*|\bfeature\w*|\baccompan\w*|\bsuffer\w*|\bexperienc\w*|"
    r"\bclinical\w*|\bpatients?\b|\bpicture\b|\bhallmark\w*|\bexhibit\w*|\bdisplay\w*|\bbring\w*|\bcomes?\s+with\b|\bsufferers?\b|"
    r"\bindicat\w*|\bshows?\b|\bseen\s+in\b|\bgo\w*\s+along\b|\bgoes\s+with\b|\bcharacteri[sz]\w*|\bmark(?:s|ed)\b"
)
_RESEMBLES = re.compile(
    r"\bresembl\w*|\bsimilar\w*|\banalog\w*|\balike\b|\blike\b|\bakin\b|\brelated\b|\brelatives?\b|\bcousins?\b|\bclose\b|"
    r"\bparallel\w*|\bcomparable\b|\bcongener\w*|\bderivativ\w*|\bscaffold\b|\bstructur\w*|\bshar\w+|\bhas\s+much\s+in\s+common\b|"
    r"\bin\s+common\b|\bakin\b|\blook\w*|\bsame\b|\bsiblings?\b|\bkin(?:ship)?\b|\bmatch\w*|\bmimic\w*|\bcounterpart\w*|"
    r"\bequivalent\b|\bneighbou?r\w*|\boverlap\w*|\bakin|\bunlike\b|\bdissimilar\w*|\bdiffer\w*|\bdistinct\b"
)
_UNLIKE = re.compile(
    r"\bunlike\b|\bdissimilar\w*|\bdiffers?\b|\bdifferent\s+from\b|\bdistinct\s+from\b|\bbears?\s+no\s+resemblance\b"
)
_LOCATED = re.compile(
    r"\blocali[sz]\w*|\blocat\w*|\boccur\w*|\baris\w*|\baffect\w*|\bfound\b|\bsite\b|\bsits?\b|\binvolv\w*|\bstrik\w*|\bseat\w*|"
    r"\bin\s+the\b|\bof\s+the\b|\bmanifest\w*|\bdevelop\w*|\borigin\w*|\bconfin\w*|\bhits?\b|\bpresent\b|\bresid\w*|\battack\w*|\btarget\w*"
)
_INCLUDES = re.compile(
    r"\binclud\w*|\bmembers?\b|\bbelong\w*|\bclass\w*|\bamong\b|\bone\s+of\b|\bcontain\w*|\bcompris\w*|\bcount\w*|\bcategor\w*|"
    r"\bgroup\w*|\bfalls?\s+(?:under|into|within)\b|\bis\s+an?\b|\bexample\b|\bencompass\w*|\bcover\w*|\brepresentative\b|\btype\s+of\b"
)
_TAKES_PART = re.compile(
    r"\bparticipat\w*|\btak\w+\s+part\b|\binvolv\w*|\bplayers?\b|\bplays?\b|\bacts?\b|\bacting\b|\bmembers?\b|\bcomponents?\b|\bpart\b|\bbelong\w*|"
    r"\bcontribut\w*|\bfunction\w*|\bworks?\b|\bcontain\w*|\binclud\w*|\bassigned\b|\bannotat\w*|\brole\b|\bengag\w*|\bhas\b|\bhave\b|"
    r"\bexhibit\w*|\bdisplay\w*|\bpossess\w*|\bshows?\b|\bcarr(?:y|ies)\b|\bexert\w*|\bcatal\w*|\blocali[sz]\w*|\blocat\w*|\bfound\b|"
    r"\bresid\w*|\bsits?\b|\bsituated\b|\bproduct\b|\bperform\w*|\bcapab\w*|\benabl\w*|\bfeatur\w*|\blist\w*|\bneed\w*|\brequir\w*|\bhelp\w*|"
    r"\bdriv\w*|\bstep\b|\bencod\w*|\bserv\w*|\bsupport\w*|\bmediat\w*|\bpresent\b|\bamong\b|\bone\s+of\b|\bjoins?\b|\bfeeds?\b|\bturns?\s+up\b"
)
_AFFECTS = re.compile(
    r"\baffect\w*|\bacts?\b|\bacting\b|\binfluenc\w*|\bmodulat\w*|\btarget\w*|\binterfer\w*|\bperturb\w*|\bimping\w*|\bworks?\b|\bhits?\b|"
    r"\bengag\w*|\binhibit\w*|\bblock\w*|\bactivat\w*|\bstimulat\w*|\bregulat\w*|\balter\w*|\bchang\w*|\btouch\w*|\bdisrupt\w*|"
    r"\bintervene\w*|\bbears?\s+on\b|\bimpact\w*|\bsuppress\w*|\breach\w*|\btaps?\b|\bsteer\w*|\btweak\w*|\bexert\w*|\bsignals?\b"
)
_COVARIES = re.compile(
    r"\bco-?\s?var\w*|\bco-?\s?express\w*|\bco-?\s?evol\w*|\bco-?\s?regulat\w*|\bcorrelat\w*|\btrack\w*|\bin\s+step\b|\bin\s+concert\b|"
    r"\bhand\s+in\s+hand\b|\bin\s+parallel\b|\bparallel\w*|\bin\s+tandem\b|\bin\s+lockstep\b|\bsynchron\w*|\btogether\b|\bevolution\w*|"
    r"\bevolv\w*|\bjoint(?:ly)?\s+var\w*|\brates?\b|\bmirror\w*|\bfollow\w*|\bco-?\s?occur\w*|\bconcerted\w*|\bcoordinat\w*|\bco-?ordinat\w*|"
    r"\brise\s+and\s+fall\b|\bmove\w*\s+(?:with|as\s+one)\b|\bco-?\s?fluctuat\w*|\bvar(?:y|ies|ied)\b|\bcovarian\w*"
)
_INTERACTS = re.compile(
    r"\binteract\w*|\bbind\w*|\bbound\b|\bpartner\w*|\bcomplex\w*|\bphysical\w*|\bassociat\w*|\bcontact\w*|\bdock\w*|\bpull\w*|"
    r"\bprecipitat\w*|\btwo-hybrid\b|\bdimeri\w*|\bheterodimer\w*|\btouch\w*|\battach\w*|\bmeet\w*|\bpair\w*|\bbinding\b|\brecruit\w*|"
    r"\bengag\w*|\bcoupl\w*|\bcommunicat\w*|\bhandshake\b|\bjoin\w*|\bstick\w*|\binterplay\b|\bcross-?talk\w*|\bliais\w*|\bneighbou?r\w*"
)
_REGULATES = re.compile(
    r"\bregulat\w*|\bcontrol\w*|\bgovern\w*|\bdriv\w*|\bdrove\b|\bupstream\b|\bdownstream\b|\btarget\w*|\bmodulat\w*|\bknock\w*|"
    r"\bperturb\w*|\bsilenc\w*|\brespond\w*|\bresponse\b|\bresponsive\b|\bdepend\w*|\bswitch\w*|\binfluenc\w*|\baffect\w*|\bdirect(?:s|ed)\b|"
    r"\banswers?\s+to\b|\bobeys?\b|\bsteer\w*|\bcommand\w*|\btranscription\s+factor\b|\btrans-?activat\w*|\bactivat\w*|\binhibit\w*|\brepress\w*|\bsuppress\w*|\binduc\w*|"
    r"\bup-?regulat\w*|\bdown-?regulat\w*|\bstimulat\w*|\balter\w*|\bchang\w*|\bshift\w*|\bexpression\b|\bmaster\b|\bdetermin\w*|\bdictat\w*|"
    r"\bsets?\s+the\b|\bshap(?:e|es|ed)\b|\bsway\w*|\bunder\s+the\s+(?:control|influence|command|thumb)\b|\btun(?:e|es|ed|ing)\b|\bacts?\s+on\b"
)
_PASSIVE = re.compile(
    r"@1\b.*\b(?:is|are|was|were|be|been|being|gets?|comes?|stands?|lies?|sits?)\s+(?:[\w-]+\s+){0,3}?(?:\w+(?:ed|en|un|wn|ne|ept|ght)|under)\s+"
    r"(?:[\w-]+\s+){0,4}?(?:by|of|through)\b.*@2|@1\b.*\b(?:downstream\s+of|targets?\s+of|responds?\s+to|responsive\s+to|response\s+to|"
    r"depend\w*\s+(?:up)?on|under\s+(?:the\s+)?(?:\w+\s+)?(?:control|influence|command|direction|regulation)|subject\s+to|answers?\s+to|"
    r"follows?\s+from|obeys?|at\s+the\s+mercy\s+of)\b.*@2|"
    r"\b(?:regulators?|controllers?|drivers?|control|regulation|modulation|repression|activation)\s+of\s+(?:[\w-]+\s+){0,3}?@1\b.*@2|@1\s+(?:\w+\s+)?"
    r"(?:changes?|shifts?|rises?|falls?|drops?|moves?|varies|alters)\b.*\b(?:when|after|upon|once|if|on|following)\b.*@2|@1(?:'s)?\s+"
    r"(?:regulators?|controllers?|drivers?)\b.*@2|@1\b.*\b(?:when|after|upon|once|if|following)\b.*@2\b.*\b(?:knock|silenc|perturb|delet|deplet|los|overexpress)\w*"
)
_ACTIVE_HEAD = re.compile(
    r"\b(?:targets?|effectors?)\s+of\s+(?:[\w-]+\s+){0,3}?@1\b.*@2|\b(?:downstream)\s+of\s+@1\b.*@2"
)
_GENE_UP = re.compile(r"\bactivat\w*|\binduc\w*|\bup-?regulat\w*|\bstimulat\w*|\btrans-?activat\w*")
_GENE_DOWN = re.compile(r"\binhibit\w*|\brepress\w*|\bsuppress\w*|\bdown-?regulat\w*|\bsilenc(?:es|ed)\b")
_CO_EXPRESSED = re.compile(
    r"\bco-?\s?(?:var|express|evol|regulat|fluctuat|occur)\w*|\bcovarian\w*|\bcorrelat\w*|\bevol\w+"
)


def classify(words: str, first: NodeType, second: NodeType) -> Sense | None:
    """Return what a masked clause says of `@1` (of type `first`) and `@2`, or None for types that no edge joins."""
    if first in GENES and second in GENES:
        return _gene_gene(words)
    for a, b, one in ((first, second, "@1"), (second, first, "@2")):
        other = "@2" if one == "@1" else "@1"
        found = _ordered(words, a, b, one, other)
        if found is not None:
            return found
    return None


def _ordered(words: str, a: NodeType, b: NodeType, one: str, other: str) -> Sense | None:
    """Return the sense for a pair in the order its edges are stored, or None when this order has none."""
    if b in GENES and a in DRUGS:
        return _drug_gene(words)
    if b in GENES and a is NodeType.DISEASE:
        return _disease_gene(words, one)
    if b in GENES and a in PLACES:
        return _place_gene(words, one, a)
    if a in GENES and b in PROCESSES:
        accepts = (EdgeType.HAS_FUNCTION, EdgeType.LOCATED_IN, EdgeType.PART_OF)
        return Sense(EdgeType.INVOLVED_IN, accepts, recognised=_TAKES_PART.search(words) is not None)
    if a in DRUGS and b is NodeType.DISEASE:
        return _drug_disease(words)
    return _plain(words, a, b)


def _plain(words: str, a: NodeType, b: NodeType) -> Sense | None:
    """Return the sense of a pair of types that one relation joins."""
    if a is NodeType.DRUG_CLASS and b is NodeType.DRUG:
        return Sense(EdgeType.INCLUDES, (EdgeType.SUBCLASS_OF,), recognised=_INCLUDES.search(words) is not None)
    if a == b and a in {NodeType.DRUG, NodeType.DISEASE}:
        return Sense(EdgeType.RESEMBLES, recognised=_RESEMBLES.search(words) is not None)
    if a in DRUGS and b in SIGNS:
        return _drug_sign(words)
    if a is NodeType.DISEASE and b in {NodeType.SYMPTOM, NodeType.PHENOTYPE}:
        return Sense(EdgeType.PRESENTS, recognised=_PRESENTS.search(words) is not None)
    if a is NodeType.DISEASE and b in PLACES:
        return Sense(EdgeType.LOCATED_IN, recognised=_LOCATED.search(words) is not None)
    if a in DRUGS and b in PROCESSES:
        accepts = (EdgeType.TARGETS, EdgeType.REGULATES, EdgeType.INVOLVED_IN)
        return Sense(EdgeType.RELATED_TO, accepts, recognised=_AFFECTS.search(words) is not None)
    if a is NodeType.DISEASE and b in PROCESSES:
        found = _ASSOCIATED.search(words) or _AFFECTS.search(words)
        return Sense(
            EdgeType.RELATED_TO, (EdgeType.ASSOCIATED_WITH, EdgeType.INVOLVED_IN), recognised=found is not None
        )
    if a in GENES and b in SIGNS:
        return Sense(EdgeType.ASSOCIATED_WITH, recognised=_ASSOCIATED.search(words) is not None)
    return None


def _drug_sign(words: str) -> Sense:
    causes = _CAUSES.search(words) is not None
    helps = _PALLIATES.search(words) or (not causes and _TREATS.search(_EXPOSURE.sub(" ", words)))
    if helps and not _BY_NAME.search(words):
        return Sense(EdgeType.PALLIATES, (EdgeType.TREATS,))
    return Sense(EdgeType.CAUSES, recognised=causes)


def _gene_gene(words: str) -> Sense:
    if _CO_EXPRESSED.search(words):
        return Sense(EdgeType.COVARIES_WITH)
    regulation, physical = _REGULATES.search(words), _INTERACTS.search(words)
    covariation = _COVARIES.search(words)
    if covariation and not physical and not (regulation and _commands(words)):
        return Sense(EdgeType.COVARIES_WITH)
    if physical and not (regulation and _strongly_regulates(words)):
        return Sense(EdgeType.INTERACTS_WITH)
    if regulation:
        reverse = _PASSIVE.search(words) is not None and _ACTIVE_HEAD.search(words) is None
        kind, accepts = EdgeType.REGULATES, (EdgeType.ACTIVATES, EdgeType.INHIBITS, EdgeType.UPREGULATES,
                                             EdgeType.DOWNREGULATES)  # fmt: skip
        if _GENE_UP.search(words):
            kind, accepts = EdgeType.ACTIVATES, (EdgeType.REGULATES, EdgeType.UPREGULATES)
        elif _GENE_DOWN.search(words):
            kind, accepts = EdgeType.INHIBITS, (EdgeType.REGULATES, EdgeType.DOWNREGULATES)
        return Sense(kind, accepts, reverse=reverse, directed=True)
    return Sense(EdgeType.INTERACTS_WITH, recognised=False)


def _commands(words: str) -> bool:
    return (
        re.search(
            r"\bregulat|\bcontrol|\bgovern|\bupstream|\bdownstream|\bknock|\bperturb|\bsilenc|\bdriv|\bdepend|\brespon|\btargets?\b",
            words,
        )
        is not None
    )


def _strongly_regulates(words: str) -> bool:
    return (
        re.search(r"\bregulat|\bcontrol|\btranscri|\bgovern|\bupstream|\bdownstream|\bexpress|\bknock", words)
        is not None
    )


def _drug_gene(words: str) -> Sense:
    physical = (EdgeType.TARGETS, EdgeType.INHIBITS, EdgeType.ACTIVATES, EdgeType.INTERACTS_WITH)
    expression = _EXPRESSION.search(words) is not None
    if expression and _UNCHANGED.search(words):
        return Sense(EdgeType.UPREGULATES, (EdgeType.DOWNREGULATES,), none=True)
    clear = _CLEAR.search(_IDIOMS.sub(" ", words)) is not None
    change = direction(words, weak=expression)
    if change and (expression or clear):
        return Sense(_CHANGES[change])
    if _PHYSICAL.search(words) or (_BINDING.search(words) and (not change or _acts_directly(words))):
        return Sense(EdgeType.BINDS, physical)
    change = change or direction(words)
    if change:
        return Sense(_CHANGES[change])
    if _UNCHANGED.search(words):
        return Sense(EdgeType.UPREGULATES, (EdgeType.DOWNREGULATES,), none=True)
    if expression:
        return Sense(EdgeType.UPREGULATES, (EdgeType.DOWNREGULATES,), recognised=False)
    return Sense(EdgeType.BINDS, physical, recognised=False)


def _acts_directly(words: str) -> bool:
    return re.search(r"\binhibit|\bblock|\bantagoni|\bagonis|\bactivat|\bmodulat|\bmetaboli", words) is not None


def _disease_gene(words: str, place: str) -> Sense:
    expression = _EXPRESSION.search(words) is not None
    if expression and _UNCHANGED.search(words):
        return Sense(EdgeType.UPREGULATES, (EdgeType.DOWNREGULATES,), none=True)
    clear = _CLEAR.search(_IDIOMS.sub(" ", words)) is not None
    change = _change(words, place, weak=expression or _ASSOCIATED.search(words) is None)
    if change and (expression or clear or not _GENETIC.search(words)):
        return Sense(_CHANGES[change])
    if _GENETIC.search(words) or _ASSOCIATED.search(words):
        return Sense(EdgeType.ASSOCIATED_WITH, (EdgeType.MARKER_OF,))
    if expression:
        return Sense(EdgeType.UPREGULATES, (EdgeType.DOWNREGULATES,), recognised=False)
    return Sense(EdgeType.ASSOCIATED_WITH, (EdgeType.MARKER_OF,), recognised=False)


def _place_gene(words: str, place: str, kind: NodeType) -> Sense:
    present = (EdgeType.UPREGULATES, EdgeType.MARKER_OF)
    if re.search(r"\bmarkers?\b", words):
        return Sense(EdgeType.MARKER_OF, (EdgeType.EXPRESSED_IN,) if kind is NodeType.CELL_TYPE else present)
    plain = re.sub(r"\b(?:shows?|turns?|crops?|picked|comes?)\s+up\s+in\b", " found in ", words)
    change = _change(plain, place)
    if change:
        # "strongly expressed" may be meant as expressed or as expressed above other tissues
        loose = change > 0 and re.search(
            r"\b(?:strong|robust|abundant|prominent)(?:ly)?\s+(?:express|present|detect|active)", plain
        )
        return Sense(EdgeType.EXPRESSED_IN, present) if loose else Sense(_CHANGES[change])
    found = _PRESENT.search(words) or _ABSENT.search(words)
    return Sense(EdgeType.EXPRESSED_IN, present, recognised=found is not None)


def _drug_disease(words: str) -> Sense:
    if _CONTRAINDICATED.search(words):
        return Sense(EdgeType.CONTRAINDICATED_FOR)
    if _PALLIATES.search(words) and not re.search(r"\bdisease[-\s]modif|\bcur(?:e|es|ative)\b", words):
        clear = re.search(r"\bpalliat|\bsymptom|\bedge\s+off|\bbearable|\bcomfort", words)
        return Sense(EdgeType.PALLIATES, () if clear else (EdgeType.TREATS,))
    causes = _CAUSES.search(words)
    treats = _TREATS.search(_EXPOSURE.sub(" ", words) if causes else words)
    if causes and not treats:
        return Sense(EdgeType.CAUSES)
    return Sense(EdgeType.TREATS, recognised=treats is not None)


def denies(words: str, sense: Sense, first: NodeType, second: NodeType) -> int:
    """Return further negations that only this relation knows: `resistant to` for a treatment, `unlike` for likeness."""
    pair = {first, second}
    if sense.type in {EdgeType.TREATS, EdgeType.PALLIATES} and re.search(r"\bresist(?:s|ant|ance|ed)\b", words):
        return 1
    if sense.type is EdgeType.RESEMBLES and _UNLIKE.search(words):
        return 1
    if (
        sense.type is EdgeType.EXPRESSED_IN
        and pair & PLACES
        and re.search(r"\bsilent\b|\b(?:switched|turned)\s+off\b", words)
    ):
        return 1
    return 0


_ASSERTS = re.compile(
    r"\b(?:treat|bind|bound|inhibit|activat|induc|repress|regulat|up-?regulat|down-?regulat|over-?express|under-?express|"
    r"associat|implicat|interact|caus|target|engag|palliat|resembl|co-?express|co-?var|block|antagoni|phosphorylat|"
    r"rais|lower|increas|decreas|reduc|elevat|suppress|predispos|trigger|provok|presents?\s+with|localis|localiz|"
    r"participat|respond|encod)\w*"
)


_OWN_DOING = re.compile(r"\s*(?:we|i|samples|cells|mice|rats|animals|patients\s+were)\b(?!.*\bthat\b)")


def asserts_relation(words: str) -> bool:
    """Return True when a lower-case sentence holds a verb of relation, so that it claims something of its entity.

    What was done (`We treated mice with X`) claims nothing.
    """
    return _ASSERTS.search(words) is not None and _OWN_DOING.match(words) is None
