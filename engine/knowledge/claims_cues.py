"""The stems that say which relation a clause means.

Every pattern is for masked clauses in lower case (`@1`, `@2` stand for entities) and is written in verbose form.
"""

from __future__ import annotations

import re

BINDING = re.compile(
    r"""
    \bbind\w*|\bbound\b|\bligands?\b|\bengag\w*|\baffinity\b|\bdock\w*|\boccup\w*|\btarget\w*|\breceptors?\s+for\b|
    \bhits?\b|\bcontact\w*|\binteract\w*|\battach\w*|\blatch\w*|\bgrip\w*|
    \bacts?\s+(?:\w+\s+)?(?:on|at|through|via|upon)\b|\bacting\s+(?:on|at|through|via)\b|
    \bworks?\s+(?:\w+\s+)?(?:through|via|on|at|by)\b|\bcomplex\w*|\bsubstrates?\b|\bmetaboli[sz]\w*|\btransport\w*|
    \bcarrie[rs]\b|\binhibit\w*|\bblock\w*|\bantagoni[sz]\w*|\bagonis\w*|\bmodulat\w*|\bactivat\w*|\brecogni[sz]\w*|
    \bpocket\b|\bphysical\w*|\bmechanism\s+of\s+action\b|\bsite\s+of\s+action\b|\btouch\w*|\bseiz\w*|\bassociat\w*|
    \badher\w*|\bstick\w*|\bsits?\s+(?:in|on)\b|\bnestl\w*|\bpartner\w*|\bhold\s+of\b|\bgrab\w*|\bcatalys\w*|
    \bcatalyz\w*|\bhook\w*|\block\w*\s+on\w*|\bhome\w*\s+in\b|\bcaptur\w*|\bclings?\b|\bdirect(?:ly)?\b|
    \bmade\s+to\s+fit\b|\bfits\b|\bmeets\b|\bhandl\w*|\bpoint\s+of\s+attack\b|\bprotein\s+target\b|
    \btaken\s+up\s+by\b
    """,
    re.VERBOSE,
)
PHYSICAL = re.compile(
    r"""
    \bbind\w*|\bbound\b|\bligands?\b|\baffinity\b|\bdock\w*|\btargets?\b|\bpartner\w*|\bengag\w*|\boccup\w*|
    \bpocket\b|\bsubstrates?\b|\blatch\w*|\battach\w*|\bcontact\w*|\binteract\w*
    """,
    re.VERBOSE,
)
GENETIC = re.compile(
    r"""
    \brisk\b|\bsuscepti\w*|\bpredispos\w*|\bvariants?\b|\bvariation\b|\bmutat\w*|\bpolymorphi\w*|\balleles?\b|
    \bloc(?:us|i)\b|\bgenetic\w*|\bgwas\b|\bgenome-wide\b|\bsnps?\b|\bassociation\b|\bhaplotyp\w*|\binherit\w*|
    \bheritab\w*|\bliabilit\w*
    """,
    re.VERBOSE,
)
ASSOCIATED = re.compile(
    r"""
    \bassociat\w*|\blink\w*|\bimplicat\w*|\bcontribut\w*|\bconfer\w*|\binvolv\w*|\bcandidate\b|\brole\b|
    \bpart\s+in\b|\btied\b|\bties?\b|\bconnect\w*|\bcorrelat\w*|\brelat(?:ed|es|ion\w*)\b|\bculprit\b|\bunderl\w*|
    \bdriv\w+|\bcaus\w+|\bmarkers?\b|\bgenes?\s+(?:of|for|behind)\b|\bbearing\s+on\b|\bfeatur\w*|\bplayers?\b|
    \bhas\s+to\s+do\b|\bmap\w*|\bdisease\s+genes?\b|\bbehind\b|\bcount(?:s|ed)?\s+among\b|\bassigned\b|
    \b(?:is|as|be)\s+(?:not\s+)?an?\s+(?:\w+\s+)?@\w\s+(?:\w+\s+)?gene\b|\battribut\w*|\bpathogen\w*|\baetiolog\w*|\betiolog\w*|\bmatters\b
    """,
    re.VERBOSE,
)
PRESENT = re.compile(
    r"""
    \bexpress\w*|\bdetect\w*|\bfound\b|\bpresent\b|\bpresence\b|\bactive\b|\btranscri\w+|\bm?rnas?\b|\bmessages?\b|
    \bon\b|\bshows?\s+up\b|\bturns?\s+up\b|\bcrops?\s+up\b|\bobserv\w*|\bmeasur\w*|\bseen\b|\bproduc\w*|\bmade\b|
    \bmak(?:e|es|ing)\b|\bcontain\w*|\bharbou?r\w*|\bread\w*|\bswitched\s+on\b|\bpicked\s+up\b|\bresid\w*|
    \b(?:positive|negative)\s+for\b|\boccur\w*|\btraceable\b|\bhost\w*|\bsynthesi[sz]\w*|\byield\w*
    """,
    re.VERBOSE,
)
ABSENT = re.compile(
    r"""
    \bsilent\b|\bswitched\s+off\b|\bturned\s+off\b|\boff\b|\babsent\b
    """,
    re.VERBOSE,
)
PALLIATES = re.compile(
    r"""
    \bpalliat\w*|\bsymptom\w*|\brelie(?:f|ve|ves|ved|ving)\b|\beas(?:e|es|ed|ing)\b|\balleviat\w*|\bsooth\w*|
    \bcomfort\w*|\bbearable\b|\btolerable\b|\bedge\s+off\b|\bmitigat\w*|\beasier\b|\bquality\s+of\s+life\b|
    \bsuffering\b|\bdiscomforts?\b|\bburden\b|\bsupportive\b|\bdulls?\b|\bcomplaints\b|\brespite\b
    """,
    re.VERBOSE,
)
TREATS = re.compile(
    r"""
    \b(?:do|does|fare|fares|get|gets)\s+better\b|
    \btreat\w*|\btherap\w*|\bcur(?:e|es|ed|ing|ative)\b|\bheal\w*|\bindicat\w*|\beffective\w*|\befficac\w*|
    \bbenefi\w*|\bworks?\s+(?:\w+\s+)?(?:against|in|for|on)\b|\brespon[ds]\w*|\bcourse\b|\bmodif\w*|
    \bprescri(?:be|bes|bed|ption|ptions)\b|\bremission\b|\bmanag\w*|\bgiven?\b|\bgives?\b|\bused\b|
    (?<!the\ )\buse\b|\bdrugs\s+(?:for|against|in)\b|\buseful\b|\bfirst[-\s]line\b|\bof\s+choice\b|\bhelp\w*|
    \bcombat\w*|\bfight\w*|\bremed\w*|\bactive\s+against\b|\bactivity\s+against\b|\bstandard\s+of\s+care\b|
    \bmedic\w*|\bin\s+check\b|\bcontrol\w*|\bapproved\b|\blicen[sc]ed\b|\bimprov\w*|\bamelior\w*|\bcounter\w*|
    \breverse\w*|\bslow\w*|\boption\b|\bclear(?:s|ed)?\b|\bprotect\w*|\bprevent\w*|\bstop\w*|\bhalt\w*|\bbattl\w*|
    \btackl\w*|\bsuppress\w*|\bpower\b|\busefulness\b|\brecover\w*|\brefractory\b|\bresistan\w*|\bdrug\s+for\b|
    \bvalue\b|\bput\s+to\s+work\b|\bsucceeds\b|\bdoes\s+(?:nothing|little)\b
    """,
    re.VERBOSE,
)
CAUSES = re.compile(
    r"""
    \bblam\w*|\bculprit\b|\battribut\w*|
    \bcaus\w*|\binduc\w*|\bprovok\w*|\btrigger\w*|\bprecipitat\w*|\badverse\w*|\bside[-\s]effects?\b|\blabel\b|
    \blead\w*\s+to\b|\bbring\w*\s+(?:about|on)\b|\bcomplicat\w*|\bgiv\w+\s+rise\b|\btoxic\w*|\bundesir\w*|
    \bunwanted\b|\bresult\w*\s+in\b|\breport\w*|\bwarn\w*|\bprescribing\s+information\b|\bmentions?\b|
    \bpackage\s+insert\b|\blists?\b|\bflags?\b|\bsafety\b|\bdevelop\w*|\belicit\w*|\bproduc\w*|\btolerab\w*|
    \breactions?\b|\bleaflet\b|\bevents?\b|\bexperienc\w*|\bsuffer\w*|\bhazard\w*|\bresponsible\b|\bcomes?\s+with\b|
    \bcost\b|\bprice\b|\bcomplain\w*|\bharm\w*|\buntoward\b|\bfollow\w*|\bseen\s+(?:in|with|after|under)\b|
    \boccurs?\b|\bget\b|\bsets?\s+off\b|\bbehind\b|\bburdens?\b|\bplagu\w*|\bnotorious\b|\binfamous\b|
    \b(?:limit|restrict|curb|curtail)(?:s|ed|ing)?\s+(?:the\s+)?(?:\w+\s+)?use\b|\bdose-limiting\b|\bsecondary\s+to\b|
    \bgave\s+(?:\w+\s+){1,3}?(?=@)|\bgiv(?:es|ing)\s+(?:\w+\s+){0,2}?(?:patients?|people|volunteers?|users?|recipients?)\b
    """,
    re.VERBOSE,
)
RECOVERY = re.compile(
    r"""
    \b(?:bring\w*\s+(?:about|on)|brought\s+(?:about|on)|induc\w*|produc\w*|achiev\w*|lead\w*\s+to|led\s+to|result\w*\s+in|elicit\w*|giv\w+\s+rise\s+to)\s+
    (?:an?\s+|the\s+)?(?:\w+\s+){0,2}?(?:remission|relief|recovery|cure|improvement|regression|response|healing|survival)s?\b
    """,
    re.VERBOSE,
)
"""What is brought about here is the good effect, not the disease."""
BY_NAME = re.compile(
    r"""
    \bside[-\s]effects?\b|\badverse\b|\buntoward\b|\bunwanted\b|\bundesir\w*
    """,
    re.VERBOSE,
)
EXPOSURE = re.compile(
    r"""
    \b(?:treat(?:ed|ment|ing)|therapy|dos(?:ed|ing)|medicat\w+|given|use|used|using|users?|taking|
    receiving)\s+(?:with|of|by|on)?\s*@|
    \b(?:patients|people|those|anyone)\s+(?:treated|given|using|on|taking|receiving)\b|\bunder\s+treatment\b|
    \buse\s+of\b
    """,
    re.VERBOSE,
)
CONTRAINDICATED = re.compile(
    r"""
    \bcontra-?indicat\w*|\bmust\s+not\s+be\s+(?:given|used)\b|\bshould\s+not\s+be\s+(?:given|used)\b
    """,
    re.VERBOSE,
)
PRESENTS = re.compile(
    r"""
    \bpresent\w*|\bsymptom\w*|\bsigns?\b|\bmanifest\w*|\bcomplain\w*|\bfeature\w*|\baccompan\w*|\bsuffer\w*|
    \bexperienc\w*|\bclinical\w*|\bpatients?\b|\bpicture\b|\bhallmark\w*|\bexhibit\w*|\bdisplay\w*|\bbring\w*|
    \bcomes?\s+with\b|\bsufferers?\b|\bindicat\w*|\bshows?\b|\bseen\s+in\b|\bgo\w*\s+along\b|\bgoes\s+with\b|
    \bcharacteri[sz]\w*|\bmark(?:s|ed)\b
    """,
    re.VERBOSE,
)
RESEMBLES = re.compile(
    r"""
    \bresembl\w*|\bsimilar\w*|\banalog\w*|\balike\b|\blike\b|\bakin\b|\brelated\b|\brelatives?\b|\bcousins?\b|
    \bclose\b|\bparallel\w*|\bcomparable\b|\bcongener\w*|\bderivativ\w*|\bscaffold\b|\bstructur\w*|\bshar\w+|
    \bhas\s+much\s+in\s+common\b|\bin\s+common\b|\blook\w*|\bsame\b|\bsiblings?\b|\bkin(?:ship)?\b|\bmatch\w*|
    \bmimic\w*|\bcounterpart\w*|\bequivalent\b|\bneighbou?r\w*|\boverlap\w*|\bakin|\bunlike\b|\bdissimilar\w*|
    \bdiffer\w*|\bdistinct\b
    """,
    re.VERBOSE,
)
UNLIKE = re.compile(
    r"""
    \bunlike\b|\bdissimilar\w*|\bdiffers?\b|\bdifferent\s+from\b|\bdistinct\s+from\b|\bbears?\s+no\s+resemblance\b
    """,
    re.VERBOSE,
)
LOCATED = re.compile(
    r"""
    \blocali[sz]\w*|\blocat\w*|\boccur\w*|\baris\w*|\baffect\w*|\bfound\b|\bsite\b|\bsits?\b|\binvolv\w*|\bstrik\w*|
    \bseat\w*|\bin\s+the\b|\bof\s+the\b|\bmanifest\w*|\bdevelop\w*|\borigin\w*|\bconfin\w*|\bhits?\b|\bpresent\b|
    \bresid\w*|\battack\w*|\btarget\w*
    """,
    re.VERBOSE,
)
INCLUDES = re.compile(
    r"""
    \bheading\b|\bput\s+with\b|\bfile[sd]?\b|
    \binclud\w*|\bmembers?\b|\bbelong\w*|\bclass\w*|\bamong\b|\bone\s+of\b|\bcontain\w*|\bcompris\w*|\bcount\w*|
    \bcategor\w*|\bgroup\w*|\bfalls?\s+(?:under|into|within)\b|\bis\s+an?\b|\bexample\b|\bencompass\w*|\bcover\w*|
    \brepresentative\b|\btype\s+of\b|\bsuch\s+as\b|(?:\b(?:inhibitors?|drugs?|agents?|agonists?|antagonists?|blockers?)|@1)\s+like\b
    """,
    re.VERBOSE,
)
TAKES_PART = re.compile(
    r"""
    \bparticipat\w*|\btak\w+\s+part\b|\binvolv\w*|\bplayers?\b|\bplays?\b|\bacts?\b|\bacting\b|\bmembers?\b|
    \bcomponents?\b|\bpart\b|\bbelong\w*|\bcontribut\w*|\bfunction\w*|\bworks?\b|\bcontain\w*|\binclud\w*|
    \bassigned\b|\bannotat\w*|\brole\b|\bengag\w*\s+in\b|\bhas\b|\bhave\b|\bexhibit\w*|\bdisplay\w*|\bpossess\w*|
    \bshows?\b|\bcarr(?:y|ies)\b|\bexert\w*|\bcatal\w*|\blocali[sz]\w*|\blocat\w*|\bfound\b|\bresid\w*|\bsits?\b|
    \bsituated\b|\bproduct\b|\bperform\w*|\bcapab\w*|\benabl\w*|\bfeatur\w*|\blist\w*|\bneed\w*|\brequir\w*|
    \bhelp\w*|\bdriv\w*|\bstep\b|\bencod\w*|\bserv\w*|\bsupport\w*|\bmediat\w*|\bpresent\b|\bamong\b|\bone\s+of\b|
    \bjoins?\b|\bfeeds?\b|\bturns?\s+up\b|\black\w*|\bdevoid\b|\bwithout\b
    """,
    re.VERBOSE,
)
AFFECTS = re.compile(
    r"""
    \baffect\w*|\bacts?\b|\bacting\b|\binfluenc\w*|\bmodulat\w*|\btarget\w*|\binterfer\w*|\bperturb\w*|\bimping\w*|
    \bworks?\b|\bhits?\b|\bengag\w*|\binhibit\w*|\bblock\w*|\bactivat\w*|\bstimulat\w*|\bregulat\w*|\balter\w*|
    \bchang\w*|\btouch\w*|\bdisrupt\w*|\bintervene\w*|\bbears?\s+on\b|\bimpact\w*|\bsuppress\w*|\breach\w*|
    \btaps?\b|\bsteer\w*|\btweak\w*|\bexert\w*|\bsignals?\b
    """,
    re.VERBOSE,
)
COVARIES = re.compile(
    r"""
    \bco-?\s?var\w*|\bco-?\s?express\w*|\bco-?\s?evol\w*|\bco-?\s?regulat\w*|\bcorrelat\w*|\btrack\w*|\bin\s+step\b|
    \bin\s+concert\b|\bhand\s+in\s+hand\b|\bin\s+parallel\b|\bparallel\w*|\bin\s+tandem\b|\bin\s+lockstep\b|
    \bsynchron\w*|\btogether\b|\bevolution\w*|\bevolv\w*|\bjoint(?:ly)?\s+var\w*|\brates?\b|\bmirror\w*|\bfollow\w*|
    \bco-?\s?occur\w*|\bconcerted\w*|\bcoordinat\w*|\bco-?ordinat\w*|\brise\s+and\s+fall\b|
    \bmove\w*\s+(?:with|as\s+one)\b|\bco-?\s?fluctuat\w*|\bvar(?:y|ies|ied)\b|\bcovarian\w*
    """,
    re.VERBOSE,
)
INTERACTS = re.compile(
    r"""
    \binteract\w*|\bbind\w*|\bbound\b|\bpartner\w*|\bcomplex\w*|\bphysical\w*|\bassociat\w*|\bcontact\w*|\bdock\w*|
    \bpull\w*|\bprecipitat\w*|\btwo-hybrid\b|\bdimeri\w*|\bheterodimer\w*|\btouch\w*|\battach\w*|\bmeet\w*|
    \bpair\w*|\bbinding\b|\brecruit\w*|\bengag\w*|\bcoupl\w*|\bcommunicat\w*|\bhandshake\b|\bjoin\w*|\bstick\w*|
    \binterplay\b|\bcross-?talk\w*|\bliais\w*|\bneighbou?r\w*
    """,
    re.VERBOSE,
)
REGULATES = re.compile(
    r"""
    \bindependent(?:ly)?\s+of\b|\b(?:unaffected|unaltered|unchanged|untouched|uninfluenced)\s+by\b|
    \b(?:insensitive|indifferent|unresponsive|immune|impervious)\s+to\b|
    \borders\s+from\b|\blead\s+of\b|\breact\w*|\bstrings\b|\bsay\s+in\b|
    \bregulat\w*|\bcontrol\w*|\bgovern\w*|\bdriv\w*|\bdrove\b|\bupstream\b|\bdownstream\b|\btarget\w*|\bmodulat\w*|
    \bknock\w*|\bperturb\w*|\bsilenc\w*|\brespond\w*|\bresponse\b|\bresponsive\b|\bdepend\w*|\bswitch\w*|
    \binfluenc\w*|\baffect\w*|\bdirect(?:s|ed)\b|\banswers?\s+to\b|\bobeys?\b|\bsteer\w*|\bcommand\w*|
    \btranscription\s+factor\b|\btrans-?activat\w*|\bactivat\w*|\binhibit\w*|\brepress\w*|\bsuppress\w*|\binduc\w*|
    \bup-?regulat\w*|\bdown-?regulat\w*|\bstimulat\w*|\balter\w*|\bchang\w*|\bshift\w*|\bexpression\b|\bmaster\b|
    \bdetermin\w*|\bdictat\w*|\bsets?\s+the\b|\bshap(?:e|es|ed)\b|\bsway\w*|
    \bblock(?:s|ed|ing)?\b|\bantagoni[sz]\w*|\binactivat\w*|
    \bunder\s+the\s+(?:control|influence|command|thumb)\b|\btun(?:e|es|ed|ing)\b|\bacts?\s+on\b
    """,
    re.VERBOSE,
)
PASSIVE = re.compile(
    r"""
    @1\b.*\bgenes?\s+(?:that\s+|which\s+)?@2\s+(?:regulat|control|govern|driv|steer|modulat)\w*|
    @1\b.*\b(?:takes?\s+orders\s+from|follows?\s+the\s+lead\s+of|reacts?)\b.*@2|
    @1\b.*\b(?:is|are|was|were|be|been|being|gets?|comes?|stands?|lies?|sits?)\s+(?:[\w-]+\s+){0,3}?(?:\w+(?:ed|en|
    un|wn|ne|ept|ght)|under)\s+(?:[\w-]+\s+){0,4}?(?:by|of|through)\b.*@2|
    @1\b.*\b(?:independent(?:ly)?\s+of|(?:unaffected|unaltered|unchanged|untouched|uninfluenced)\s+by|
    (?:insensitive|indifferent|unresponsive|immune|impervious)\s+to)\b.*@2|
    @1\b.*\b(?:downstream\s+of|targets?\s+of|responds?\s+to|responsive\s+to|response\s+to|depend\w*\s+(?:up)?on|
    under\s+(?:the\s+)?(?:\w+\s+)?(?:control|influence|command|direction|regulation)|subject\s+to|answers?\s+to|
    follows?\s+from|obeys?|at\s+the\s+mercy\s+of)\b.*@2|
    \b(?:regulators?|controllers?|drivers?|control|regulation|modulation|repression|
    activation)\s+of\s+(?:[\w-]+\s+){0,3}?@1\b.*@2|
    @1\s+(?:\w+\s+)?(?:changes?|shifts?|rises?|falls?|drops?|moves?|varies|alters)\b.*\b(?:when|after|upon|once|if|
    on|following)\b.*@2|@1(?:'s)?\s+(?:regulators?|controllers?|drivers?)\b.*@2|
    @1\b.*\b(?:when|after|upon|once|if|following)\b.*@2\b.*\b(?:knock|silenc|perturb|delet|deplet|los|
    overexpress)\w*
    """,
    re.VERBOSE,
)
ACTIVE_HEAD = re.compile(
    r"""
    \b(?:targets?|effectors?)\s+of\s+(?:[\w-]+\s+){0,3}?@1\b.*@2|\b(?:downstream)\s+of\s+@1\b.*@2
    """,
    re.VERBOSE,
)
GENE_UP = re.compile(
    r"""
    \bactivat\w*|\binduc\w*|\bup-?regulat\w*|\bstimulat\w*|\btrans-?activat\w*
    """,
    re.VERBOSE,
)
GENE_DOWN = re.compile(
    r"""
    \binhibit\w*|\brepress\w*|\bsuppress\w*|\bdown-?regulat\w*|\bblock(?:s|ed|ing)?\b|\bantagoni[sz]\w*|
    \binactivat\w*
    """,
    re.VERBOSE,
)
LOSS_OF_ACTOR = re.compile(
    r"""
    \b(?:loss|knock-?\s?(?:down|out)|deletion|depletion|silencing)\s+of\s+(?:the\s+)?@\d\s+(?:function\s+|expression\s+)?
    (?:\w+ly\s+)?(?:activat|inhibit|repress|suppress|induc|stimulat|block)(?:s|es|ed)\b
    """,
    re.VERBOSE,
)
"""What a gene's loss brings about, the gene itself does not."""
CO_EXPRESSED = re.compile(
    r"""
    \bco-?\s?(?:var|express|evol|regulat|fluctuat|occur)\w*|\bcovarian\w*|\bcorrelat\w*|\bevol\w+
    """,
    re.VERBOSE,
)
ASSERTS = re.compile(
    r"""
    \b(?:treat|bind|bound|inhibit|activat|induc|repress|regulat|up-?regulat|down-?regulat|over-?express|
    under-?express|associat|implicat|interact|caus|target|engag|palliat|resembl|co-?express|co-?var|block|antagoni|
    phosphorylat|rais|lower|increas|decreas|reduc|elevat|suppress|predispos|trigger|provok|presents?\s+with|localis|
    localiz|participat|respond|encod)\w*
    """,
    re.VERBOSE,
)
OWN_DOING = re.compile(
    r"""
    \s*(?:we|i|samples|cells|mice|rats|animals|patients\s+were)\b(?!.*\bthat\b)
    """,
    re.VERBOSE,
)


_HEALS = r"(?:treat|cure|heal|alleviate|palliate|relieve|remedie|ameliorate)(?:s|d|ed)?"
_GIVEN_FOR = (
    r"(?:(?:prescribed|indicated|approved|licen[sc]ed|recommended|given|administered|used|taken)\s+(?:\w+\s+){0,3}?(?:for|against|in|to\s+treat)|"
    r"(?:an?\s+|the\s+)?(?:\w+\s+){0,2}?(?:drug|medicine|medication|treatment|remedy|therapy|cure)\s+(?:of\s+choice\s+)?(?:for|against|of))"
)
_MAY = (
    r"(?:(?:does|do|did|can|cannot|may|might|will|would|could|not|never|also|is|are|was|were|be|been|has|have|\w+ly)"
    r"\s+){0,4}"
)


def treats_it(words: str, agent: str, patient: str) -> bool:
    """Return True when one entity is plainly said to be the treatment of the other: `@1 is prescribed for @2`."""
    forth = rf"{agent}\s+{_MAY}(?:{_HEALS}|{_GIVEN_FOR})\s+(?:the\s+|patients\s+with\s+|people\s+with\s+)?{patient}"
    back = rf"{patient}\s+{_MAY}(?:treated|cured|managed|relieved)\s+(?:\w+\s+){{0,2}}?(?:with|by)\s+(?:the\s+)?{agent}"
    return re.search(forth, words) is not None or re.search(back, words) is not None
