"""What a clause says of two entities: the relation, its direction, and who does it to whom.

The types of the two entities decide among few relations; stems of verbs, nouns and adjectives decide the rest.
When no cue is found, the plainest relation of the two types is assumed and the result says so
(`Sense.recognised` is False): a drug and a disease are about treatment, a gene and a tissue about expression.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.domain.knowledge import EdgeType, NodeType
from engine.knowledge import claims_cues as cues
from engine.knowledge.claims_activity import acted_on, activity
from engine.knowledge.claims_directions import CLEAR, EXPRESSION, IDIOMS, UNCHANGED, change_in, direction

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


_CHANGES = {1: EdgeType.UPREGULATES, -1: EdgeType.DOWNREGULATES}
_ACTS = {1: EdgeType.ACTIVATES, -1: EdgeType.INHIBITS}


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
        return _drug_gene(words, one, other)
    if b in GENES and a is NodeType.DISEASE:
        return _disease_gene(words, one)
    if b in GENES and a in PLACES:
        return _place_gene(words, one, a)
    if a in GENES and b in PROCESSES:
        accepts = (EdgeType.HAS_FUNCTION, EdgeType.LOCATED_IN, EdgeType.PART_OF)
        return Sense(EdgeType.INVOLVED_IN, accepts, recognised=cues.TAKES_PART.search(words) is not None)
    if a in DRUGS and b is NodeType.DISEASE:
        return _drug_disease(words)
    return _plain(words, a, b)


def _plain(words: str, a: NodeType, b: NodeType) -> Sense | None:
    """Return the sense of a pair of types that one relation joins."""
    if a is NodeType.DRUG_CLASS and b is NodeType.DRUG:
        return Sense(EdgeType.INCLUDES, (EdgeType.SUBCLASS_OF,), recognised=cues.INCLUDES.search(words) is not None)
    if a == b and a in {NodeType.DRUG, NodeType.DISEASE}:
        return Sense(EdgeType.RESEMBLES, recognised=cues.RESEMBLES.search(words) is not None)
    if a in DRUGS and b in SIGNS:
        return _drug_sign(words)
    if a is NodeType.DISEASE and b in {NodeType.SYMPTOM, NodeType.PHENOTYPE}:
        return Sense(EdgeType.PRESENTS, recognised=cues.PRESENTS.search(words) is not None)
    if a is NodeType.DISEASE and b in PLACES:
        return Sense(EdgeType.LOCATED_IN, recognised=cues.LOCATED.search(words) is not None)
    if a in DRUGS and b in PROCESSES:
        accepts = (EdgeType.TARGETS, EdgeType.REGULATES, EdgeType.INVOLVED_IN)
        return Sense(EdgeType.RELATED_TO, accepts, recognised=cues.AFFECTS.search(words) is not None)
    if a is NodeType.DISEASE and b in PROCESSES:
        found = cues.ASSOCIATED.search(words) or cues.AFFECTS.search(words)
        return Sense(
            EdgeType.RELATED_TO, (EdgeType.ASSOCIATED_WITH, EdgeType.INVOLVED_IN), recognised=found is not None
        )
    if a in GENES and b in SIGNS:
        return Sense(EdgeType.ASSOCIATED_WITH, recognised=cues.ASSOCIATED.search(words) is not None)
    return None


def _drug_sign(words: str) -> Sense:
    words = cues.RECOVERY.sub(" relieves ", words)
    causes = cues.CAUSES.search(words) is not None
    helps = cues.PALLIATES.search(words) or (not causes and cues.TREATS.search(cues.EXPOSURE.sub(" ", words)))
    if helps and not cues.BY_NAME.search(words):
        return Sense(EdgeType.PALLIATES, (EdgeType.TREATS,))
    return Sense(EdgeType.CAUSES, recognised=causes)


def _gene_gene(words: str) -> Sense:
    if cues.CO_EXPRESSED.search(words):
        return Sense(EdgeType.COVARIES_WITH)
    regulation, physical = cues.REGULATES.search(words), cues.INTERACTS.search(words)
    covariation = cues.COVARIES.search(words)
    if covariation and not physical and not (regulation and _commands(words)):
        return Sense(EdgeType.COVARIES_WITH)
    if physical and not (regulation and _strongly_regulates(words)):
        return Sense(EdgeType.INTERACTS_WITH)
    if regulation:
        reverse = cues.PASSIVE.search(words) is not None and cues.ACTIVE_HEAD.search(words) is None
        kind, accepts = EdgeType.REGULATES, (EdgeType.ACTIVATES, EdgeType.INHIBITS, EdgeType.UPREGULATES,
                                             EdgeType.DOWNREGULATES)  # fmt: skip
        sign = _gene_sign(words)
        if sign:
            kind, accepts = _ACTS[sign], (_CHANGES[sign],)
        return Sense(kind, accepts, reverse=reverse, directed=True)
    return Sense(EdgeType.INTERACTS_WITH, recognised=False)


def _gene_sign(words: str) -> int:
    """Return 1 when a gene is said to activate another, -1 to inhibit, 0 for neither; the first word decides."""
    up, down = cues.GENE_UP.search(words), cues.GENE_DOWN.search(words)
    if up and down:
        return 1 if up.start() < down.start() else -1
    return 1 if up else -1 if down else 0


def _commands(words: str) -> bool:
    return (
        re.search(
            r"\bregulat|\bcontrol|\bgovern|\bupstream|\bdownstream|\bknock|\bperturb|\bsilenc|\bdriv|\bdepend|\brespon|\btargets?\b|\bthe\s+lead\b|\borders\b",
            words,
        )
        is not None
    )


def _strongly_regulates(words: str) -> bool:
    return (
        re.search(r"\bregulat|\bcontrol|\btranscri|\bgovern|\bupstream|\bdownstream|\bexpress|\bknock", words)
        is not None
    )


def _drug_gene(words: str, drug: str, gene: str) -> Sense:
    """Return the sense for a drug and a gene: expression, the protein's activity, or plain binding."""
    if cues.treats_it(words, drug, gene):
        return Sense(EdgeType.TREATS)  # no edge says so of a gene, and none that binds it does
    physical = (EdgeType.TARGETS, EdgeType.INHIBITS, EdgeType.ACTIVATES, EdgeType.INTERACTS_WITH)
    expression = EXPRESSION.search(words) is not None
    if expression and UNCHANGED.search(words):
        return Sense(EdgeType.UPREGULATES, (EdgeType.DOWNREGULATES,), none=True)
    clear = CLEAR.search(IDIOMS.sub(" ", words)) is not None
    change = direction(words, weak=expression)
    if change and (expression or clear):
        return Sense(_CHANGES[change], () if expression else (_ACTS[change],))
    acts = 0 if expression else activity(words, gene, physical=cues.PHYSICAL.search(words) is not None)
    if acts:
        return Sense(_ACTS[acts], reverse=acted_on(words, drug, gene), directed=True)
    if cues.PHYSICAL.search(words) or (cues.BINDING.search(words) and (not change or _acts_directly(words))):
        return Sense(EdgeType.BINDS, physical)
    change = change or direction(words)
    if change:
        return Sense(_CHANGES[change], (_ACTS[change],))
    if UNCHANGED.search(words):
        return Sense(EdgeType.UPREGULATES, (EdgeType.DOWNREGULATES,), none=True)
    if expression:
        return Sense(EdgeType.UPREGULATES, (EdgeType.DOWNREGULATES,), recognised=False)
    return Sense(EdgeType.BINDS, physical, recognised=False)


def _acts_directly(words: str) -> bool:
    return re.search(r"\binhibit|\bblock|\bantagoni|\bagonis|\bactivat|\bmodulat|\bmetaboli", words) is not None


def _disease_gene(words: str, place: str) -> Sense:
    if cues.treats_it(words, "@2" if place == "@1" else "@1", place):
        return Sense(EdgeType.TREATS)  # a gene that is said to be a medicine is not one that is associated
    expression = EXPRESSION.search(words) is not None
    if expression and UNCHANGED.search(words):
        return Sense(EdgeType.UPREGULATES, (EdgeType.DOWNREGULATES,), none=True)
    clear = CLEAR.search(IDIOMS.sub(" ", words)) is not None
    change = change_in(words, place, weak=expression or cues.ASSOCIATED.search(words) is None)
    if change and (expression or clear or not cues.GENETIC.search(words)):
        return Sense(_CHANGES[change])
    if cues.GENETIC.search(words) or cues.ASSOCIATED.search(words):
        return Sense(EdgeType.ASSOCIATED_WITH, (EdgeType.MARKER_OF,))
    if expression:
        return Sense(EdgeType.UPREGULATES, (EdgeType.DOWNREGULATES,), recognised=False)
    return Sense(EdgeType.ASSOCIATED_WITH, (EdgeType.MARKER_OF,), recognised=False)


def _place_gene(words: str, place: str, kind: NodeType) -> Sense:
    present = (EdgeType.UPREGULATES, EdgeType.MARKER_OF)
    if re.search(r"\bmarkers?\b", words):
        return Sense(EdgeType.MARKER_OF, (EdgeType.EXPRESSED_IN,) if kind is NodeType.CELL_TYPE else present)
    plain = re.sub(r"\b(?:shows?|turns?|crops?|picked|comes?)\s+up\b(?=\s+(?:\w+\s+){0,2}in\b)", " found in ", words)
    change = change_in(plain, place)
    if change:
        # "strongly expressed" may be meant as expressed or as expressed above other tissues
        loose = change > 0 and re.search(
            r"\b(?:strong|robust|abundant|prominent)(?:ly)?\s+(?:express|present|detect|active)", plain
        )
        return Sense(EdgeType.EXPRESSED_IN, present) if loose else Sense(_CHANGES[change])
    found = cues.PRESENT.search(words) or cues.ABSENT.search(words)
    return Sense(EdgeType.EXPRESSED_IN, present, recognised=found is not None)


def _drug_disease(words: str) -> Sense:
    if cues.CONTRAINDICATED.search(words):
        return Sense(EdgeType.CONTRAINDICATED_FOR)
    if cues.PALLIATES.search(words) and not re.search(r"\bdisease[-\s]modif|\bcur(?:e|es|ative)\b", words):
        clear = re.search(r"\bpalliat|\bsymptom|\bedge\s+off|\bbearable|\bcomfort", words)
        return Sense(EdgeType.PALLIATES, () if clear else (EdgeType.TREATS,))
    words = cues.RECOVERY.sub(" treats ", words)
    causes = cues.CAUSES.search(words)
    treats = cues.TREATS.search(cues.EXPOSURE.sub(" ", words) if causes else words)
    if causes and not treats:
        return Sense(EdgeType.CAUSES)
    return Sense(EdgeType.TREATS, recognised=treats is not None)


def denies(words: str, sense: Sense, first: NodeType, second: NodeType) -> int:
    """Return further negations that only this relation knows: `resistant to` for a treatment, `unlike` for likeness."""
    pair = {first, second}
    if sense.type in {EdgeType.TREATS, EdgeType.PALLIATES} and re.search(r"\bresist(?:s|ant|ance|ed)\b", words):
        return 1
    if sense.type in _ACTS.values() and pair <= GENES and cues.LOSS_OF_ACTOR.search(words):
        return 1
    if sense.type is EdgeType.RESEMBLES and cues.UNLIKE.search(words):
        return 1
    if (
        sense.type is EdgeType.EXPRESSED_IN
        and pair & PLACES
        and re.search(r"\bsilent\b|\b(?:switched|turned)\s+off\b", words)
    ):
        return 1
    return 0


def asserts_relation(words: str) -> bool:
    """Return True when a lower-case sentence holds a verb of relation, so that it claims something of its entity.

    What was done (`We treated mice with X`) claims nothing.
    """
    return cues.ASSERTS.search(words) is not None and cues.OWN_DOING.match(words) is None
