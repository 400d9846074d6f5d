"""What a remembered statement says, apart from how it is worded, and which statements cannot both be true.

Two people write the same thing differently (`IL-6 activates STAT3`, `stat3 is activated by il6`), so entities and
predicates are brought to one form before they are compared. Statements exclude each other when their predicates
are opposites (activates and inhibits), when one denies the other (treats, does not treat), when a predicate that
can only have one object has two (has_stage), or when they give numbers that differ by more than rounding.
Nothing here decides which of them is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from engine.domain.knowledge import OPPOSITE, SYMMETRIC, EdgeType
from engine.memory.facts.quantities import Quantity, agree, canonical, parse_quantity
from engine.text.letters import plain

FUNCTIONAL: frozenset[str] = frozenset(
    {
        "has_stage", "has_grade", "has_sex", "has_age", "has_strand", "has_taxon", "has_organism", "has_genotype",
        "has_formula", "has_length", "has_molecular_weight", "has_half_life", "has_ploidy", "has_blood_type",
        "located_on_chromosome", "has_accession", "has_genome_build", "has_reference_genome", "has_karyotype",
        "has_date_of_birth", "has_primary_site",
    }
)  # fmt: skip
"""Predicates of which a subject has one object only."""

_WORDS: dict[str, str] = {
    "activate": "activates", "stimulate": "activates", "agonize": "activates", "agonise": "activates",
    "inhibit": "inhibits", "block": "inhibits", "antagonize": "inhibits", "antagonise": "inhibits",
    "upregulate": "upregulates", "induce": "upregulates", "overexpress": "upregulates",
    "downregulate": "downregulates", "repress": "downregulates", "silence": "downregulates",
    "increase": "increases", "raise": "increases", "elevate": "increases", "enhance": "increases",
    "decrease": "decreases", "reduce": "decreases", "lower": "decreases", "diminish": "decreases",
    "treat": "treats", "cure": "treats", "cause": "causes", "bind": "binds", "target": "targets",
    "encode": "encodes", "regulate": "regulates", "palliate": "palliates", "present": "presents",
    "improve": "improves", "worsen": "worsens", "resemble": "resembles", "include": "includes",
    "lack": "lacks", "miss": "lacks", "promote": "promotes", "suppress": "suppresses", "prevent": "prevents",
    "interact": "interacts", "express": "expressed", "associate": "associated", "locate": "located",
    "require": "requires", "contain": "contains",
}  # fmt: skip
"""Stem of a verb -> its relation; the endings -s, -d, -ed and -ing are understood."""

_PHRASES: dict[str, str] = {
    "interacts_with": "interacts_with", "interacts": "interacts_with", "expressed_in": "expressed_in",
    "expressed": "expressed_in", "associated_with": "associated_with", "linked_to": "associated_with",
    "correlates_with": "associated_with", "located_in": "located_in", "located_on": "located_on_chromosome",
    "located_on_chromosome": "located_on_chromosome", "on_chromosome": "located_on_chromosome",
    "has_chromosome": "located_on_chromosome", "chromosome": "located_on_chromosome",
    "marker_of": "marker_of", "marks": "marker_of", "marker_for": "marker_of", "part_of": "part_of",
    "member_of": "part_of", "subclass_of": "subclass_of", "is_a": "subclass_of", "kind_of": "subclass_of",
    "type_of": "subclass_of", "involved_in": "involved_in", "has_function": "has_function",
    "contraindicated_for": "contraindicated_for", "contraindicated_in": "contraindicated_for",
    "indicated_for": "treats", "used_to_treat": "treats", "absent_in": "absent_in", "absent_from": "absent_in",
    "present_in": "present_in", "found_in": "present_in", "up_regulates": "upregulates",
    "down_regulates": "downregulates", "sensitive_to": "sensitive_to", "resistant_to": "resistant_to",
    "protects_against": "protects_against", "protects_from": "protects_against", "risk_factor_for": "raises_risk_of",
    "decreases_risk_of": "protects_against", "decreases_the_risk_of": "protects_against",
    "increases_risk_of": "raises_risk_of", "increases_the_risk_of": "raises_risk_of", "stage": "has_stage",
    "grade": "has_grade", "sex": "has_sex", "age": "has_age", "similar_to": "resembles", "has": "has", "have": "has",
    "had": "has", "is": "is", "are": "is", "was": "is", "were": "is", "be": "is", "without": "lacks",
    "increases_expression_of": "upregulates", "increases_the_expression_of": "upregulates",
    "decreases_expression_of": "downregulates", "reduces_expression_of": "downregulates",
    "decreases_the_expression_of": "downregulates", "reduces_the_expression_of": "downregulates",
}  # fmt: skip

_OPPOSITES: dict[str, frozenset[str]] = {}
for _one, _others in {
    **{one.value: (other.value,) for one, other in OPPOSITE.items()},
    "increases": ("decreases", "downregulates"), "decreases": ("increases", "upregulates"),
    "improves": ("worsens",), "promotes": ("suppresses", "prevents"), "sensitive_to": ("resistant_to",),
    "protects_against": ("raises_risk_of", "causes"), "prevents": ("causes",), "has": ("lacks",),
}.items():  # fmt: skip
    for _other in _others:
        _OPPOSITES[_one] = _OPPOSITES.get(_one, frozenset()) | {_other}
        _OPPOSITES[_other] = _OPPOSITES.get(_other, frozenset()) | {_one}

_ANTONYMS: dict[str, frozenset[str]] = {}
for _one, _other in (
    ("benign", "malignant"), ("benign", "pathogenic"), ("essential", "dispensable"), ("essential", "nonessential"),
    ("positive", "negative"), ("significant", "nonsignificant"), ("sensitive", "resistant"), ("present", "absent"),
    ("oncogene", "tumorsuppressor"), ("viable", "lethal"), ("low", "high"), ("lower", "higher"),
    ("decreased", "increased"), ("reduced", "increased"), ("reduced", "elevated"), ("short", "long"),
    ("small", "large"), ("early", "late"), ("weak", "strong"), ("slow", "fast"), ("mild", "severe"),
    ("thin", "thick"), ("rare", "common"), ("light", "heavy"), ("poor", "good"), ("normal", "abnormal"),
):  # fmt: skip
    _ANTONYMS[_one] = _ANTONYMS.get(_one, frozenset()) | {_other}
    _ANTONYMS[_other] = _ANTONYMS.get(_other, frozenset()) | {_one}

_STATES = frozenset({"is", "has", "shows", "exhibits", "displays", "develops", "causes"})
"""Relations under which a subject cannot have both of two opposite objects."""
_QUALIFIED = re.compile(rf"({'|'.join(_STATES)})_({'|'.join(_ANTONYMS)})")
"""`has low`, whose object is `low` and what follows."""
_MEASURED = re.compile(r"(?:an?\s|the\s)?(.+?)\s(?:of|=)\s(.+)", re.IGNORECASE)
"""`a half-life of 20 minutes`: what is measured, and the quantity."""

_DENIALS: dict[str, str] = {"absent_in": "expressed_in", "lacks": "has"}
"""Relations that are another one denied."""

_SYMMETRIC = {edge.value for edge in SYMMETRIC}
_NEGATION = re.compile(
    r"(?:^|(?<=_))(?:(?:do|does|did)_not|(?:doesn|don|didn)_?t|(?:(?P<verb>is|are|was|were|has|have|had)n_?t)"
    r"|cannot|can_?t|not|never|no|fails_to)(?=_|$)"
)
_AUXILIARY = re.compile(
    r"^(?:(?:is|are|was|were|been|be|has_been|have_been|can|could|may|might|directly|strongly|a|an|the)_)+(?=\w)"
)
_REVERSED: dict[str, tuple[str, bool]] = {
    "upregulates_in": ("upregulates", True), "downregulates_in": ("downregulates", True),
    "treats_with": ("treats", True), "express": ("expressed_in", True), "expresses": ("expressed_in", True),
    "expressing": ("expressed_in", True), "expressed_by": ("expressed_in", False),
}  # fmt: skip
"""Phrases whose direction their grammar does not tell -> relation, and whether the object acts on the subject."""

_ALIASES = {"p53": "tp53", "her2": "erbb2", "pd1": "pdcd1", "pdl1": "cd274", "cmyc": "myc", "tnfalpha": "tnf",
            "tnfa": "tnf", "ifngamma": "ifng", "il1beta": "il1b", "il1alpha": "il1a", "cox2": "ptgs2"}  # fmt: skip
"""Everyday names of one thing that only one entity has; whatever needs more than this is the graph's to link."""
_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5"}


KeyOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Relation:
    """A predicate in one form."""

    name: str
    """As an `EdgeType` where one says it, else the words joined by `_`."""
    denied: bool
    """True for `does not ...`."""
    passive: bool
    """True for `is activated by`: the object acts on the subject."""

    @property
    def edge(self) -> EdgeType | None:
        """The edge type of the same meaning, or None."""
        return _EDGES.get(self.name)


_EDGES = {edge.value: edge for edge in EdgeType}


@dataclass(frozen=True, slots=True)
class FactStatement:
    """What a fact says: equal for facts that say the same."""

    subject: str
    relation: str
    denied: bool
    object: str

    @property
    def pair(self) -> tuple[str, str]:
        """The two entities it is about."""
        return self.subject, self.object


def entity_key(text: str) -> str:
    """Return the form in which entities are compared: no case, blanks or hyphens, Greek letters spelled out.

    A hyphen or blank between two digits stays, as `miR-1-2` is not `miR-12`; so does the sign of a number.
    """
    folded = plain(text).strip()
    quantity = parse_quantity(folded)
    if quantity is not None:
        return canonical(quantity)
    folded = re.sub(r"[\u2010-\u2015\u2212_\s-]+", "-", folded)
    key = re.sub(r"(?<!\d)-|-(?!\d)", "", folded).replace("tumour", "tumor")
    key = re.sub(r"cells$", "cell", key)
    return _ALIASES.get(key, key) or folded


def relation_of(predicate: str) -> Relation:
    """Return a predicate in one form: `is not activated by` is `activates`, denied and passive."""
    words = re.sub(r"[^\w]+", "_", plain(predicate)).strip("_")
    words = re.sub(r"_+", "_", words)
    bare, denials = _NEGATION.subn(lambda found: found["verb"] or "", words)
    bare = re.sub(r"_+", "_", bare).strip("_") or "is"
    denied = denials % 2 == 1
    name, passive = _directed(bare)
    if name in _DENIALS:
        name, denied = _DENIALS[name], not denied
    return Relation(name, denied, passive)


def _directed(words: str) -> tuple[str, bool]:
    """Return the relation some words name, and whether the object acts on the subject."""
    if words in _PHRASES:
        return _PHRASES[words], False
    plain = _AUXILIARY.sub("", words)
    if plain in _REVERSED:
        return _REVERSED[plain]
    passive = plain.endswith("_by")
    name = _named(plain[:-3] if passive else plain)
    return _REVERSED.get(name, (name, passive))


def _named(words: str) -> str:
    if words in _PHRASES:
        return _PHRASES[words]
    if words in _EDGES:
        return words
    verb, _, rest = words.partition("_")
    relation = _WORDS.get(_stem(verb))
    if relation is None:
        return words
    whole = f"{relation}_{rest}" if rest else relation
    return _PHRASES.get(whole, whole)


def _stem(verb: str) -> str:
    """Return the listed stem a verb's form comes from, or the verb itself.

    Only endings of verbs: the stems of `engine.text.stems` are those of nouns too, and `promoter of` is not `promotes`.
    """
    for ending, instead in (("ies", "y"), ("es", "e"), ("es", ""), ("s", ""), ("ed", "e"), ("ed", ""), ("ing", "e"),
                            ("ing", "")):  # fmt: skip
        if verb.endswith(ending) and verb[: -len(ending)] + instead in _WORDS:
            return verb[: -len(ending)] + instead
    return verb


def statement_of(subject: str, predicate: str, object: str, key_of: KeyOf = entity_key) -> FactStatement:
    """Return what a fact says, in the form in which facts are compared.

    Args:
        subject: what the fact is about.
        predicate: what it says of it.
        object: about what else.
        key_of: gives the form in which entities are compared.
    """
    relation = relation_of(predicate)
    name, denied, what = relation.name, relation.denied, object.strip()
    if qualified := _QUALIFIED.fullmatch(name):
        name, what = qualified[1], f"{qualified[2]} {what}"
    if name == "is" and re.match(r"not\s", what, re.IGNORECASE):
        what, denied = what[4:].strip() or what, not denied
    if name in _STATES and (measured := _MEASURED.fullmatch(what)) and parse_quantity(measured[2]):
        name, what = f"{name}_{entity_key(measured[1])}", measured[2]
    a, b = key_of(subject), _object_key(name, what, key_of)
    if relation.passive:
        a, b = b, a
    if name in _SYMMETRIC and b < a:
        a, b = b, a
    return FactStatement(a, name, denied, b)


def _object_key(relation: str, text: str, key_of: KeyOf) -> str:
    key = key_of(text)
    if relation == "located_on_chromosome":
        return re.sub(r"^(?:chromosome|chr)", "", key) or key
    if relation in ("has_stage", "has_grade"):
        bare = re.sub(r"^(?:stage|grade)", "", key) or key
        roman = re.fullmatch(r"(iv|v|i{1,3})([a-c]\d?)?", bare)
        return _ROMAN[roman.group(1)] + (roman.group(2) or "") if roman else bare
    return key


def quantity_of(statement: FactStatement) -> Quantity | None:
    """Return the number a statement gives as its object, or None."""
    return parse_quantity(statement.object)


def has_one_object(statement: FactStatement, functional: frozenset[str] = FUNCTIONAL) -> bool:
    """Say whether another object for the same subject and relation would deny this one."""
    return not statement.denied and (statement.relation in functional or quantity_of(statement) is not None)


def exclude_each_other(a: FactStatement, b: FactStatement, functional: frozenset[str] = FUNCTIONAL) -> bool:
    """Say whether two statements cannot both be true; symmetric, and never true of a statement and itself."""
    if a.subject != b.subject:
        return False
    if a.object == b.object:
        if a.relation == b.relation:
            return a.denied != b.denied
        return not a.denied and not b.denied and _opposite(a.relation, b.relation)
    both_held = a.relation == b.relation and not a.denied and not b.denied
    if both_held and a.relation in _STATES and _opposed(a.object, b.object):
        return True
    if a.relation != b.relation or not (has_one_object(a, functional) and has_one_object(b, functional)):
        return False
    one, other = quantity_of(a), quantity_of(b)
    if one is not None and other is not None:
        return agree(one, other) is False
    if a.relation not in functional:
        return False
    return not _refines(a.relation, a.object, b.object)


def compared_by_object(statement: FactStatement, functional: frozenset[str] = FUNCTIONAL) -> bool:
    """Say whether a statement can be excluded by one of the same subject and relation with another object."""
    return statement.relation in _STATES or has_one_object(statement, functional)


def _opposed(one: str, other: str) -> bool:
    """Say whether two objects are the same but for a word and its opposite: `low body weight`, `high body weight`."""
    return any(
        one.replace(word, against, 1) == other
        for word, opposites in _ANTONYMS.items()
        if word in one
        for against in opposites
    )


def _opposite(one: str, other: str) -> bool:
    """Say whether two relations deny each other, with the same words after the verb or none."""
    if other in _OPPOSITES.get(one, frozenset()):
        return True
    verb, _, rest = one.partition("_")
    against, _, same = other.partition("_")
    return bool(rest) and rest == same and against in _OPPOSITES.get(verb, frozenset())


def _refines(relation: str, one: str, other: str) -> bool:
    """Say whether one object is the other, said more exactly: 17q21 lies on 17, IIIA is a III."""
    short, long = sorted((one, other), key=len)
    if not long.startswith(short):
        return False
    rest = long[len(short) :]
    if relation == "located_on_chromosome":
        return rest[:1] in ("p", "q", ".") or (rest[:1].isdigit() and bool(re.search(r"[pq]", short)))
    return relation in ("has_stage", "has_grade") and bool(re.fullmatch(r"[a-c]\d?|\d", rest)) and short[-1:].isalnum()
