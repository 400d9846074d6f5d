"""The words by which a question goes on from the one before it, in general language: nothing here knows data or tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from engine.domain.toolspec import ToolSpec
from engine.planning.choosing.choose import model
from engine.planning.choosing.score import Candidate
from engine.planning.choosing.ways import ways_said
from engine.planning.reading.reading import Reading
from engine.text.stopwords import STOP

_LEAD = (
    r"^\W*(?:(?:ok(?:ay)?|thanks?(?: you)?|thx|great|nice|good|perfect|hm+|please|pls|can you|could you|kindly|and|but|so|now|then|also|well)"
    r"\b\W*)*"
)
_SAME = r"(?:do |run |give |show )?(?:me )?(?:the )?same"
_WEAK = re.compile(
    r"^\W*(?:and|but|also|now|then|so|ok(?:ay)?|thanks?|thx|please|pls|use|using|with|take|try|add|include|set|put|what if)\b",
    re.I,
)
_STRONG = re.compile(
    rf"{_LEAD}(?:what about|how about|{_SAME}(?! (?:patient|subject|animal|donor|individual|person|sample)s?\b)|again|repeat|redo|rerun|"
    r"only|just|without|excluding|exclude|except|omit|leave|drop|remove|instead|do (?:it|that|this)|for the|in the|among|limit|restrict|"
    r"adjust\w*|correct\w*|back|swap|switch|flip|revers\w+|skip|pool|merge|combine|compare (?:it |that )?(?:with|to|against)|"
    r"(?:also )?(?:by|per|(?:for|at|in|within) (?:each|every|both)|separat\w*|split\w*)|"
    r"(?:use |on )?(?:an? |the )?log(?:10|2)?[ -]?(?:scale|transform\w*))\b|"
    r"\binstead\b|\bas well\W*$|\btoo\W*$|\bagain\W*$|\bother way\b",
    re.I,
)
_POINTS = re.compile(r"\b(?:that|this|these|those|it|them|they)\b(?!\s+(?:is|was)?\s*(?:true|possible|that)\b)", re.I)
POINTED = re.compile(r"\b(?:that|this|it|them|these|those)\b(?!\s+[\w-]+s\b)", re.I)
SHORT = 7
"""So many words without a sign that they go on still do when they say too little by themselves."""
LONG = 16
"""More words are a question of its own."""
GOING = frozenset(
    "ok okay thanks thank thx great nice good please pls now then also so but and repeat redo rerun same again instead rather without "
    "except exclude excluding leave drop remove omit keep keeping limit restrict restricted only just alone use using try set take put "
    "make run do test analysis analyse analyze model result results threshold cutoff cut level criterion value values everything all "
    "samples rows data patients subjects ones group groups compare comparing comparison against versus vs change changed like before "
    "outlier outliers wrong bad first second it that this adjusted adjusting adjust adjustment corrected correcting correction account "
    "accounting consider considering include including add adding too well what about how if when is was be significant done undo "
    "back other way round reference skip skipping discard ignore disregard".split()
)
"""Words that a follow-up changes something with: they ask for nothing by themselves."""
PICTURE = re.compile(
    r"\b(?:plot\w*|draw\w*|figures?|graphs?|charts?|pictures?|\w*plots?|heat ?maps?|volcano|histograms?|curves?|visuali[sz]e)\b",
    re.I,
)
CLAUSE = re.compile(
    r"(?:only|without|excluding|except|adjust\w*|correct\w*|controll\w*|with|using|for|in|among|at)\b", re.IGNORECASE
)
"""What is said as a part of a sentence."""
_SAME_BUT = re.compile(
    rf"^(?:{_SAME}(?: thing| analysis| test| again)?|again|(?:repeat|redo)(?: (?:it|that|this))?)\b[\s,]*"
    r"(?:but\b|and\b|with (?=only|adjust))?\s*",
    re.I,
)
ADDED = re.compile(
    r"\b(?:take|include|add|put|use|consider)\b.{0,40}\b(?:in(?:to)? (?:the )?(?:model|analysis|account)|to the model|"
    r"as (?:an? )?(?:covariates?|confounders?|factors?))\b",
    re.IGNORECASE,
)
"""What adds columns to the model: `take batch in the model too`."""
ADDS = re.compile(r"\b(?:as well|also|too|add|additional(?:ly)?|in addition|plus|both)\b", re.IGNORECASE)
"""What adds to what was taken before and takes nothing away."""
LIMIT = re.compile(
    r"\b(?:threshold|cut-?off|p(?:-?value)?s?|significance|level)\b\W*(?:(?:of|to|at|is|below|under)\W*)?"
    r"(?P<n>0?[.,]\d+|\d+(?:[.,]\d+)?\s*%)",
    re.I,
)
NOT_ADJUSTED = re.compile(
    r"\b(?:without|no|not|drop|remove|leave out|instead of)\b[^,;.]{0,30}\b(?:adjust|correct|account|controll)\w*", re.I
)
MORE = re.compile(
    r"\b(?:also|as well|too|add\w*|includ\w*|plus|put|in addition|along with|together with)\b|\band\b.*\b(?:in it|with it|in there)\b",
    re.I,
)
"""What puts another group beside those that are compared."""
DEPENDS = re.compile(
    r"\bdepend\w*\W+on\b|\bvar(?:y|ies)\W+(?:with|by|across|between)\b|\binteract\w*\b|\bmodif\w+ by\b|"
    r"\b(?:it|that|this|effects?|differences?|associations?|slopes?|results?)\b.*\b(?:differ(?:s|ent(?:ly)?)?|the same|as (?:strong|big|large)|stronger|weaker|bigger|larger|hold)\W+"
    r"(?:for|in|between|with|by|across|among)\b",
    re.I,
)
"""What asks whether an effect is another one at each level of a column: `does it depend on sex`, `is it different for men and women`."""
SIGNIFICANT = re.compile(
    r"\b(?:significan\w+|p[ -]?values?|by chance|(?:differences?|effects?|it|that|this)\W+(?:is\W+)?(?:real|true|chance|noise)|"
    r"(?:test|tested)\W+(?:it|that|this)?)(?!\w)",
    re.I,
)
"""What asks for a test of what was shown."""
INSTEAD = re.compile(r"\b(?:instead of|rather than|in place of|not)\b", re.I)
SAME_FOR = re.compile(
    rf"{_LEAD}(?:{_SAME} (?:thing |analysis |test |again )?(?:for|with|of|on|but)|repeat|redo|again|what about|how about|instead|"
    r"(?:do|run|try) (?:it|that|this) (?:for|with|on))\b|\binstead\b",
    re.I,
)
"""What puts a column in the place of another."""
BARELY = re.compile(r"^\W*and (?!also|for)(?:the )?[\w -]{1,30}\W*$|^[\w -]{1,30}\?\W*$", re.I)
"""`and cholesterol?`, where nothing else is asked."""
APART = re.compile(r"\b(?:by|per|each|every|within|split\w*|separate\w*|both|strat\w+|groups?)\b", re.IGNORECASE)
OUTRIGHT = re.compile(
    rf"{_LEAD}(?:(?:{_SAME}|do it|do that)\W+)?(?:by|per|(?:for|at|in|within|of) (?:each|every)|each|every)\b|"
    r"\b(?:split|separat|each\b|every\b|log[\d\s-]{0,3}(?:scale|transf))",
    re.I,
)
"""What asks for each level, or for another scale, more than for anything else."""
LOG = re.compile(r"\b(?P<log>log(?:10|2)?)[\s-]?(?:scale|transform\w*|values?)?\b", re.IGNORECASE)
WHOLE = re.compile(
    r"\b(?:back to|again)\b.*\b(?:all|whole|every\w*)\b|\b(?:all|whole|every\w*)\b.*\b(?:again|together)\b|"
    r"\b(?:pool\w*|merge\w*|combin\w*|lump\w*|together|regardless|irrespective|not (?:split|separate\w*))\b",
    re.I,
)
"""What takes back that rows were left out or taken apart."""
JOINED = re.compile(r"\b(?:pool\w*|merge\w*|combin\w*|lump\w*|together)\b", re.I)
EVERY_GROUP = re.compile(
    r"\ball\b(?: (?:the|of the))?(?: \w+)? (?:groups?|levels?|arms?|treatments?|conditions?)\b", re.I
)
SOME_ROWS = re.compile(r"\b(?:without|exclud\w+|except\w*|omit\w*|leave|drop|remove|ignore|only|just)\b", re.I)
BARE = re.compile(
    r"\b(?P<without>without|exclud\w+|except|omit|drop)?(?:only|just|for|in|from)?\s+(?:the\s+)?(?P<n>\d+(?:\.\d+)?)"
    r"(?:\s+(?:data|rows|ones|samples|only|alone))?\W*$",
    re.I,
)
"""A number alone that may be a value of one column: `without 2007 data`."""
OTHER_SIDE = re.compile(
    r"\b(?:the|in|for|and)\s+(?:the\s+)?(?:other|rest|remaining|(?P<less>younger|lower|smaller|lighter|shorter|earlier)|"
    r"(?P<more>older|higher|larger|heavier|longer|later))(?:s|\s+(?:ones?|patients?|people|group|half|women|men|animals|samples))?\W*$",
    re.I,
)
"""`and in the younger ones?`, `the rest`: what is not on the side of a number that was asked about."""
BASE = re.compile(r"\b(?:reference|base ?line|denominator)\b", re.I)
BY = re.compile(r"\b(?:by|per|each|every|coloured|colored)\b", re.I)
ALL = re.compile(r"\ball\b", re.I)
TURNED = re.compile(
    r"\b(?:other|opposite|reverse|wrong) (?:way|direction|order|sign)\b|\b(?:swap\w*|switch\w*|flip\w*|invert\w*|revers\w+|vice versa)\b",
    re.I,
)
"""What turns a comparison round."""
REFERENCE = re.compile(
    r"\b(?:reference|base ?line|denominator|relative to|compar\w+ (?:it |that |them )?(?:with|to|against)|against|versus|vs)\b",
    re.I,
)
"""What says which group the others are compared with."""
_UNDO = re.compile(
    rf"{_LEAD}(?:(?:undo|revert|forget|cancel)(?: (?:that|this|it|the last (?:change|step|one)))?|take (?:that|this|it) back|"
    r"(?:go |step )?back(?: (?:to )?(?:the )?(?:previous|last|one)(?: (?:before|step|one|plan|analysis|question|version))?)?)\W*"
    r"(?:please|again)?\W*$",
    re.I,
)


def takes_back(question: str) -> bool:
    """Say whether a question asks for nothing but the plan before the last (`undo that`)."""
    return _UNDO.search(question) is not None


def said_anew(question: str) -> str:
    """Return a follow-up without the words that only say that it is one."""
    said = re.sub(_LEAD, "", question, flags=re.IGNORECASE).strip() or question
    return (_SAME_BUT.sub("", said).strip() or said).rstrip(" ?!.")


def short(text: str, length: int = 90) -> str:
    """Return a question in quotes, cut where it is long."""
    text = " ".join(text.split())
    cut = text if len(text) <= length else text[:length].rsplit(" ", 1)[0].rstrip(",;: ") + "..."
    return f'"{cut}"'


def asking(own: Reading) -> list[int]:
    """Return the tokens that ask for something, beside those that change the analysis before or how it is done."""
    held = {at for row in own.restrictions for at in range(row.first, row.last + 1)}
    ways = [said.span() for said, _ in ways_said(own.question)]
    return [
        at
        for at, word in enumerate(own.words)
        if at not in own.used
        and at not in held
        and word.number is None
        and word.text not in STOP
        and word.text not in GOING
        and len(word.text) > 2
        and not any(start <= word.start < end for start, end in ways)
    ]


def heard(own: Reading, one: Candidate) -> bool:
    """Say whether a word that asks for something belongs to an analysis by its examples or by its step's own name."""
    spec = one.bound.spec if one.bound is not None else None
    named = " ".join((spec.title, *spec.keywords)).lower() if spec is not None else ""
    stems = model().own.get(one.analysis.id, frozenset())
    names = {at for m in own.mentions for at in range(m.first, m.last + 1)}
    said = [own.words[at] for at in asking(own) if at not in names] or own.words
    return any(word.stem in stems or re.search(rf"\b{re.escape(word.stem)}", named) for word in said)


def stands_alone(
    question: str, own: Reading, every: Sequence[Candidate], specs: Mapping[str, ToolSpec], used: Collection[str]
) -> bool:
    """Say whether a question says all it needs: what is measured, and by what.

    Args:
        question: what is asked.
        own: its reading.
        every: what it may ask for, likeliest first.
        specs: the tools of the plan before: what they make something for goes on from them.
        used: the columns of the plan before: a picture of nothing else is one of its rows.
    """
    if not own.columns() and len(own.words) <= LONG and next(ways_said(question), None) is not None:
        return False  # `data are not normal, take a nonparametric test`
    if own.named() and len(own.words) <= LONG and all("adjust" in own.parts.get(name, ()) for name in own.columns()):
        return False  # `what happens if you control for age and sex`
    if PICTURE.search(question) and len(own.words) <= LONG and own.named() and {*own.columns()} <= {*used}:
        return False
    words, strong, points = len(own.words), bool(_STRONG.search(question)), bool(_POINTS.search(question))
    if words > LONG or (own.every and not points and not strong):
        return True
    if strong:
        return False
    top = every[0] if every else None
    bound = top.bound if top is not None else None
    onward = {tool for spec in specs.values() for tool in spec.produces_for} | {*specs}
    if bound is not None and bound.spec.name in onward and not bound.columns():
        return False
    if words <= SHORT and own.restrictions and {*own.named()} <= {row.column for row in own.restrictions}:
        return False  # `the ones older than 50`: of what was asked before
    if top is not None and bound is not None and not bound.missing and top.feasible and not top.unmet and not points:
        needs_none = not bound.columns() and not own.restrictions and top.wording >= 0.5
        if len(own.named()) > 1 or needs_none or (own.named() and not _WEAK.search(question)):
            return True
    return not points and not _WEAK.search(question) and words > SHORT
